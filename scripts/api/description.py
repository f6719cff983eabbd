"""Classes for the declarations of the interface, and their JSON form (include/corestone-api.json).

The JSON omits empty fields. Sizes and offsets are in bytes, for 64-bit machines (LP64).
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

FORMAT = 1
WIDTH = 120


@dataclass
class Parameter:
    """A parameter. `ownership` is "owned", "borrowed" or empty."""

    name: str = ""
    type: str = ""
    ownership: str = ""


@dataclass
class Declaration:
    """A declaration, with its header and section. `doc_of` names the first declaration below a shared comment."""

    name: str = ""
    header: str = ""
    section: str = ""
    doc: str = ""
    doc_of: str = ""


@dataclass
class Function(Declaration):
    """A function. `thread` is "any_thread", "one_thread" or "on_queue"; `ownership` is that of the result."""

    returns: str = "void"
    ownership: str = ""
    thread: str = ""
    parameters: list[Parameter] = field(default_factory=list)


@dataclass
class Callback(Declaration):
    """A type of function that the caller of the library implements."""

    returns: str = "void"
    parameters: list[Parameter] = field(default_factory=list)


@dataclass
class Member:
    """A member of a struct. A function pointer also has `returns` and `parameters`, an anonymous union `members`."""

    name: str
    type: str
    offset: int
    size: int
    doc: str = ""
    returns: str = ""
    parameters: list[Parameter] = field(default_factory=list)
    members: list[Member] = field(default_factory=list)


@dataclass
class Struct(Declaration):
    """A struct with its members. `type` is its type in C. The first member of a struct of options is `struct_size`."""

    type: str = ""
    size: int = 0
    alignment: int = 0
    members: list[Member] = field(default_factory=list)


@dataclass
class Constant:
    name: str
    value: int
    doc: str = ""


@dataclass
class Enumeration(Declaration):
    """A group of constants. The name is that of the integer type declared with them, or empty."""

    constants: list[Constant] = field(default_factory=list)


@dataclass
class Alias(Declaration):
    """A name for another type."""

    type: str = ""
    size: int = 0


@dataclass
class Macro(Declaration):
    """A macro. `value` is its value if it is an integer constant."""

    text: str = ""
    parameters: list[str] = field(default_factory=list)
    value: int | None = None


@dataclass
class Section:
    """A section of the interface: a header of include/corestone/, or the part of a header below a title."""

    name: str
    header: str
    doc: str = ""


@dataclass
class Interface:
    format: int = FORMAT
    version: str = ""
    sections: list[Section] = field(default_factory=list)
    handles: list[Declaration] = field(default_factory=list)
    aliases: list[Alias] = field(default_factory=list)
    enumerations: list[Enumeration] = field(default_factory=list)
    structs: list[Struct] = field(default_factory=list)
    callbacks: list[Callback] = field(default_factory=list)
    macros: list[Macro] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    inline_functions: list[Function] = field(default_factory=list)

    def constants(self) -> dict[str, int]:
        """Returns the value of every constant, by name."""
        return {each.name: each.value for group in self.enumerations for each in group.constants}

    def names(self) -> set[str]:
        """Returns every name that the interface declares, except members of structs."""
        groups: list[list[Any]] = [self.handles, self.aliases, self.structs, self.callbacks, self.macros]
        groups += [self.functions, self.inline_functions]
        return {each.name for group in groups for each in group} | set(self.constants())


# The classes of the elements of lists, for reading.
_CLASSES: dict[type, dict[str, type]] = {
    Interface: {
        "sections": Section, "handles": Declaration, "aliases": Alias, "enumerations": Enumeration, "structs": Struct,
        "callbacks": Callback, "macros": Macro, "functions": Function, "inline_functions": Function,
    },
    Function: {"parameters": Parameter},
    Callback: {"parameters": Parameter},
    Member: {"parameters": Parameter, "members": Member},
    Struct: {"members": Member},
    Enumeration: {"constants": Constant},
}  # fmt: skip

_Kind = TypeVar("_Kind")


def _read(kind: type[_Kind], data: dict[str, Any]) -> _Kind:
    lists = _CLASSES.get(kind, {})
    return kind(**{key: [_read(lists[key], each) for each in value] if key in lists else value
                   for key, value in data.items()})  # fmt: skip


def _plain(thing: Any) -> Any:
    """Converts dataclasses to dictionaries, without empty fields."""
    if isinstance(thing, list):
        return [_plain(each) for each in thing]
    if not dataclasses.is_dataclass(thing):
        return thing
    result = {}
    for each in dataclasses.fields(thing):
        value = getattr(thing, each.name)
        if value in ("", None) or value == []:
            continue
        result[each.name] = _plain(value)
    return result


def _lines(thing: Any, indent: str) -> str:
    """Returns JSON, in which each value that fits on a line is on one line."""
    flat = json.dumps(thing, ensure_ascii=False)
    if len(indent) + len(flat) < WIDTH or not isinstance(thing, (dict, list)):
        return flat
    inner = indent + " "
    if isinstance(thing, list):
        return "[\n" + ",\n".join(inner + _lines(each, inner) for each in thing) + f"\n{indent}]"
    parts = [f"{inner}{json.dumps(key)}: {_lines(value, inner)}" for key, value in thing.items()]
    return "{\n" + ",\n".join(parts) + f"\n{indent}}}"


def to_json(interface: Interface) -> str:
    return _lines(_plain(interface), "") + "\n"


def from_json(text: str) -> Interface:
    data = json.loads(text)
    if data.get("format") != FORMAT:
        raise ValueError(f"the description has format {data.get('format')}, but this program reads format {FORMAT}")
    return _read(Interface, data)


def load(path: Path) -> Interface:
    """Reads the interface from a corestone-api.json."""
    return from_json(path.read_text(encoding="utf-8"))
