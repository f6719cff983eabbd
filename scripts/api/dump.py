"""Writes and reads dumps of the binary interface, which libabigail's abidw creates; abi/corestone.abi is one.

The debug information of the library does not describe the C interface, as the functions are written in Swift. Therefore
abidw reads compiled stubs: an empty C body for each function and a variable for each type. The headers declare
constants in unnamed enums, which cannot be the type of a variable; the stubs declare them again in named enums.

A dump does not contain paths, line numbers or versions of tools. Another version of libabigail may write a different
text for the same interface, so dumps are compared by their content.
"""

from __future__ import annotations

import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

from .description import Interface

ABIDW = [
    "abidw", "--no-show-locs", "--no-comp-dir-path", "--no-corpus-path", "--no-parameter-names", "--no-elf-needed",
    "--no-architecture", "--type-id-style", "hash",
]  # fmt: skip
COMPILE = ["gcc", "-std=c11", "-g", "-gdwarf-4", "-O0", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror"]
_TYPE, _CONSTANTS = "type_", "constants_"


class ToolError(Exception):
    """A tool is missing, or has failed."""


@dataclass
class Layout:
    """The size of a struct, and the offset and type of each member in order, with those of anonymous unions."""

    size: int
    members: dict[str, tuple[int, str]] = field(default_factory=dict)


@dataclass
class Dump:
    """The content of a dump. Types are written as in C, without names of parameters."""

    functions: dict[str, tuple[str, list[str]]] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    structs: dict[str, Layout] = field(default_factory=dict)
    constants: dict[str, int] = field(default_factory=dict)


def stubs(interface: Interface) -> tuple[str, str]:
    """Returns two C sources: functions and types, which include the headers, and constants, which do not."""
    lines = ["#include <corestone.h>", '#pragma GCC diagnostic ignored "-Wunused-parameter"']
    for function in interface.functions:
        parameters = ", ".join(f"{each.type} {each.name}" for each in function.parameters) or "void"
        body = "" if function.returns == "void" else f"{function.returns} result = {{0}}; return result; "
        lines.append(f"{function.returns} {function.name}({parameters}) {{ {body}}}")
    lines += [f"{each.type} {_TYPE}{each.name};" for each in interface.structs]
    lines += [f"{each.name} {_TYPE}{each.name};" for each in [*interface.callbacks, *interface.aliases]]
    lines += [f"{each.name} *{_TYPE}{each.name};" for each in interface.handles]
    groups = []
    for group in interface.enumerations:
        name = _CONSTANTS + (group.name or group.constants[0].name)
        values = ", ".join(f"{each.name} = {each.value}" for each in group.constants)
        groups.append(f"enum {name} {{ {values} }} {_TYPE}{name};")
    # Constants that are macros, except the version, which may change.
    for macro in interface.macros:
        if macro.value is not None and not macro.name.startswith("CST_VERSION_") and macro.value < 1 << 63:
            name = _CONSTANTS + macro.name
            groups.append(f"enum {name} {{ {macro.name} = {macro.value} }} {_TYPE}{name};")
    return "\n".join(lines) + "\n", "\n".join(groups) + "\n"


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        raise ToolError(f"{command[0]} is missing; `make deps` installs it") from None
    if done.returncode != 0:
        raise ToolError(f"{command[0]} failed: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def make(interface: Interface, include: Path) -> str:
    """Returns the dump for the headers of a folder, which `interface` describes."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        names = ("interface.c", "constants.c")
        for name, text in zip(names, stubs(interface)):
            (place / name).write_text(text, encoding="utf-8")
        library = place / "corestone.so"
        _run([*COMPILE, f"-I{include}", *(str(place / name) for name in names), "-o", str(library)])
        text = _run([*ABIDW, "--headers-dir", str(include), str(library)])
        return text.replace(f"path='{place}/", "path='")


def report(old: Path, new: str) -> str:
    """Returns the report of abidiff on two dumps, for people."""
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder) / "corestone.abi"
        fresh.write_text(new, encoding="utf-8")
        command = ["abidiff", "--no-show-locs", "--show-bytes", str(old), str(fresh)]
        return subprocess.run(command, capture_output=True, text=True).stdout


def read(text: str) -> Dump:
    """Returns the content of a dump. Raises ValueError for any other text."""
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as failure:
        raise ValueError(f"the text is not a dump of libabigail: {failure}") from None
    return _Reader(root).dump()


class _Reader:
    def __init__(self, root: ElementTree.Element) -> None:
        self.root = root
        self.by_id = {each.get("id", ""): each for each in root.iter() if each.get("id")}
        self.spelled: dict[str, str] = {}

    def dump(self) -> Dump:
        found = Dump()
        for each in self.root.iter("function-decl"):
            if each.get("elf-symbol-id"):
                found.functions[each.get("name", "")] = self.signature(each)
        for each in self.root.iter("enum-decl"):
            for value in each.iter("enumerator"):
                found.constants[value.get("name", "")] = int(value.get("value", "0"))
        for each in self.root.iter("typedef-decl"):
            name = each.get("name", "")
            if name.startswith("cst_"):
                found.types[name] = self.spell(each.get("type-id", ""))
        for each in self.root.iter("class-decl"):
            name = each.get("name", "")
            if each.get("is-declaration-only") != "yes" and name.startswith(("cst_", "Arrow")):
                found.structs[name] = self.layout(each)
        return found

    def signature(self, element: ElementTree.Element) -> tuple[str, list[str]]:
        result = element.find("return")
        returns = "void" if result is None else self.spell(result.get("type-id", ""))
        return returns, [self.spell(each.get("type-id", "")) for each in element.findall("parameter")]

    def layout(self, element: ElementTree.Element) -> Layout:
        layout = Layout(int(element.get("size-in-bits", "0")) // 8)
        self.add_members(element, "", 0, layout)
        return layout

    def add_members(self, element: ElementTree.Element, path: str, base: int, layout: Layout) -> None:
        for member in element.findall("data-member"):
            variable = member.find("var-decl")
            if variable is None:
                continue
            name = path + variable.get("name", "")
            offset = base + int(member.get("layout-offset-in-bits", "0")) // 8
            kind = self.by_id[variable.get("type-id", "")]
            if kind.tag == "union-decl" and kind.get("is-anonymous") == "yes":
                layout.members[name] = (offset, f"union of {int(kind.get('size-in-bits', '0')) // 8} bytes")
                self.add_members(kind, f"{name}.", offset, layout)
            else:
                layout.members[name] = (offset, self.spell(variable.get("type-id", "")))

    def spell(self, key: str) -> str:
        """Returns a type as written in C; for a named type, its name."""
        if key not in self.spelled:
            self.spelled[key] = self.unnamed(self.by_id[key])
        return self.spelled[key]

    def unnamed(self, element: ElementTree.Element) -> str:
        name, inner = element.get("name", ""), element.get("type-id", "")
        if element.tag == "pointer-type-def":
            target = self.by_id[inner]
            if target.tag == "function-type":
                returns, parameters = self.signature(target)
                return f"{returns} (*)({', '.join(parameters) or 'void'})"
            spelled = self.spell(inner)
            return spelled + ("*" if spelled.endswith("*") else " *")
        if element.tag == "qualified-type-def":
            spelled = self.spell(inner)
            return spelled + "const" if spelled.endswith("*") else f"const {spelled}"
        if element.tag == "array-type-def":
            lengths = "".join(f"[{each.get('length')}]" for each in element.iter("subrange"))
            return self.spell(inner) + lengths
        if element.tag == "class-decl":
            return f"struct {name}"
        if element.tag == "enum-decl":
            return f"enum {name}"
        return name
