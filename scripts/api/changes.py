"""Lists the differences between two descriptions of the interface."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from .description import (
    Constant,
    Declaration,
    Function,
    Interface,
    Member,
    Parameter,
    Struct,
)

_Item = TypeVar("_Item")


def changes(old: Interface, new: Interface) -> list[str]:
    """Returns a line for each difference, with the header and the name. A changed order is a difference too."""
    lines = list(_named("function", old.functions, new.functions, _function))
    lines += _named("inline function", old.inline_functions, new.inline_functions, _function)
    lines += _named("struct", old.structs, new.structs, _struct)
    lines += _enumerations(old, new)
    lines += _named("callback", old.callbacks, new.callbacks, _callback)
    lines += _named("handle", old.handles, new.handles, _fields)
    lines += _named("type", old.aliases, new.aliases, _fields)
    lines += _named("macro", old.macros, new.macros, _fields)
    lines += _sections(old, new)
    if old.version != new.version:
        lines.append(f"the version is {new.version}, but was {old.version}")
    return lines


def _named(kind: str, old: list[Any], new: list[Any], compare: Callable[[Any, Any], Iterator[str]]) -> Iterator[str]:
    """Yields the differences between declarations of one kind, which have unique names."""
    before = {each.name: each for each in old}
    after = {each.name: each for each in new}
    for name, each in before.items():
        if name not in after:
            yield f"{each.header}: the {kind} {name} was removed"
            continue
        found = after[name]
        for line in compare(each, found):
            yield f"{found.header}: {name} {line}"
    for name, each in after.items():
        if name not in before:
            yield f"{each.header}: the {kind} {name} was added"
    kept = [name for name in after if name in before]
    if kept != [name for name in before if name in after]:
        former = [name for name in before if name in after]
        moved = next(name for name, other in zip(kept, former) if name != other)
        yield f"{after[moved].header}: the {kind} {moved} was moved"


def _fields(old: Any, new: Any, ignored: tuple[str, ...] = ()) -> Iterator[str]:
    """Yields the differences of fields with plain values."""
    words = {"doc": "comment", "doc_of": "comment", "returns": "result", "text": "definition"}
    seen = set()
    for each in dataclasses.fields(old):
        before, after = getattr(old, each.name), getattr(new, each.name)
        word = words.get(each.name, each.name)
        if (
            before == after
            or each.name in ignored
            or word in seen
            or (isinstance(before, list) and before and (dataclasses.is_dataclass(before[0])))
        ):
            continue
        seen.add(word)
        if each.name == "doc_of":
            yield f"shares the comment of {after}" if after else f"no longer shares the comment of {before}"
        elif word == "comment":
            yield "has a different comment" if after else "no longer has a comment"
        else:
            yield f"has the {word} `{after}` instead of `{before}`"


def _mark(old: str, new: str, word: str) -> Iterator[str]:
    if old != new:
        lost, gained = f"CST_{old.upper()}", f"CST_{new.upper()}"
        if not new:
            yield f"no longer has the {word} {lost}"
        elif not old:
            yield f"has the new {word} {gained}"
        else:
            yield f"has the {word} {gained} instead of {lost}"


def _parameters(old: list[Parameter], new: list[Parameter]) -> Iterator[str]:
    before, after = [each.name for each in old], [each.name for each in new]
    if before != after:
        for name in before:
            if name not in after:
                yield f"no longer has the parameter {name}"
        for name in after:
            if name not in before:
                yield f"has the new parameter {name}"
        if sorted(before) == sorted(after):
            yield f"has its parameters in a different order: {', '.join(after)}"
        return
    for each, found in zip(old, new):
        if each.type != found.type:
            yield f"has the parameter {each.name} of type `{found.type}` instead of `{each.type}`"
        for line in _mark(each.ownership, found.ownership, "ownership mark"):
            yield f"{line} on its parameter {each.name}"


def _function(old: Function, new: Function) -> Iterator[str]:
    yield from _mark(old.thread, new.thread, "thread mark")
    yield from _mark(old.ownership, new.ownership, "ownership mark")
    yield from _fields(old, new, ("thread", "ownership", "parameters"))
    yield from _parameters(old.parameters, new.parameters)


def _callback(old: Any, new: Any) -> Iterator[str]:
    yield from _fields(old, new, ("parameters",))
    yield from _parameters(old.parameters, new.parameters)


def _struct(old: Struct, new: Struct) -> Iterator[str]:
    yield from _members(old.members, new.members)
    yield from _fields(old, new, ("members",))


def _members(old: list[Member], new: list[Member]) -> Iterator[str]:
    after = {each.name: each for each in new}
    before = {each.name: each for each in old}
    for name, each in before.items():
        if name not in after:
            yield f"no longer has the member {name}"
            continue
        found = after[name]
        for line in _fields(each, found, ("members", "parameters")):
            yield f"has a member {name} that {line}"
        for line in _parameters(each.parameters, found.parameters):
            yield f"has a member {name} that {line}"
        for line in _members(each.members, found.members):
            yield f"has a member {name} that {line}"
    for name in after:
        if name not in before:
            yield f"has the new member {name}"


def _enumerations(old: Interface, new: Interface) -> Iterator[str]:
    """Compares constants by name, independent of their groups, then groups by the name of the first constant."""
    before, after = _constants(old), _constants(new)
    for name, (group, each) in before.items():
        if name not in after:
            yield f"{group.header}: the constant {name} was removed"
            continue
        place, found = after[name]
        if each.value != found.value:
            yield f"{place.header}: the constant {name} is {found.value} instead of {each.value}"
        if each.doc != found.doc:
            yield f"{place.header}: the constant {name} " + (
                "has a different comment" if found.doc else "no longer has a comment"
            )
    for name, (group, _) in after.items():
        if name not in before:
            yield f"{group.header}: the constant {name} was added"
    groups = {each.constants[0].name: each for each in old.enumerations}
    for fresh in new.enumerations:
        former = groups.get(fresh.constants[0].name)
        for line in _fields(former, fresh, ("constants",)) if former else ():
            yield f"{fresh.header}: the enumeration of {fresh.constants[0].name} {line}"
    if set(before) == set(after) and list(before) != list(after):
        yield f"{new.enumerations[0].header}: the constants are in a different order"


def _constants(interface: Interface) -> dict[str, tuple[Declaration, Constant]]:
    found: dict[str, tuple[Declaration, Constant]] = {}
    for group in interface.enumerations:
        for each in group.constants:
            found[each.name] = (group, each)
    return found


def _sections(old: Interface, new: Interface) -> Iterator[str]:
    before, after = {each.name: each for each in old.sections}, {each.name: each for each in new.sections}
    for name in before:
        if name not in after:
            yield f"{before[name].header}: the section '{name}' was removed"
        elif before[name] != after[name]:
            yield f"{after[name].header}: the section '{name}' has a different comment"
    for name in after:
        if name not in before:
            yield f"{after[name].header}: the section '{name}' was added"
    if set(before) == set(after) and list(before) != list(after):
        yield f"{new.sections[0].header}: the sections are in a different order"
