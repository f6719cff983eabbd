"""Compares two dumps of the interface, and decides whether programs built with the old one run with the new one."""

from __future__ import annotations

from dataclasses import dataclass, field

from .dump import Dump, Layout


@dataclass
class Verdict:
    """The incompatible changes and the additions; with the same soname, only additions are allowed."""

    breaks: list[str] = field(default_factory=list)
    additions: list[str] = field(default_factory=list)


def compare(old: Dump, new: Dump) -> Verdict:
    verdict = Verdict()
    _functions(old, new, verdict)
    for name in old.structs.keys() | new.structs.keys():
        _struct(name, old.structs.get(name), new.structs.get(name), verdict)
    _types(old, new, verdict)
    for name, value in old.constants.items():
        if name not in new.constants:
            verdict.breaks.append(f"the constant {name} was removed")
        elif new.constants[name] != value:
            verdict.breaks.append(f"the constant {name} is {new.constants[name]} instead of {value}")
    verdict.additions += [f"the constant {name} was added" for name in new.constants.keys() - old.constants.keys()]
    verdict.breaks.sort()
    verdict.additions.sort()
    return verdict


def _functions(old: Dump, new: Dump, verdict: Verdict) -> None:
    for name, (returns, parameters) in old.functions.items():
        if name not in new.functions:
            verdict.breaks.append(f"the function {name} was removed")
            continue
        fresh_returns, fresh = new.functions[name]
        if returns != fresh_returns:
            verdict.breaks.append(f"{name} returns `{fresh_returns}` instead of `{returns}`")
        if len(parameters) != len(fresh):
            verdict.breaks.append(f"{name} has {len(fresh)} parameters instead of {len(parameters)}")
            continue
        for number, (before, after) in enumerate(zip(parameters, fresh), 1):
            if before != after:
                verdict.breaks.append(f"parameter {number} of {name} is `{after}` instead of `{before}`")
    verdict.additions += [f"the function {name} was added" for name in new.functions.keys() - old.functions.keys()]


def _types(old: Dump, new: Dump, verdict: Verdict) -> None:
    for name, spelled in old.types.items():
        if name not in new.types:
            if name not in old.structs:  # the removal of a struct is in the list already
                verdict.breaks.append(f"the type {name} was removed")
        elif new.types[name] != spelled:
            verdict.breaks.append(f"the type {name} is `{new.types[name]}` instead of `{spelled}`")
    added = new.types.keys() - old.types.keys() - new.structs.keys()
    verdict.additions += [f"the type {name} was added" for name in added]


def _struct(name: str, old: Layout | None, new: Layout | None, verdict: Verdict) -> None:
    if old is None:
        verdict.additions.append(f"the struct {name} was added")
        return
    if new is None:
        verdict.breaks.append(f"the struct {name} was removed")
        return
    has_size = next(iter(old.members), "") == "struct_size"
    for member, (offset, kind) in old.members.items():
        path = f"{name}.{member}"
        if member not in new.members:
            verdict.breaks.append(f"the member {path} was removed")
            continue
        fresh_offset, fresh_kind = new.members[member]
        if fresh_offset != offset:
            verdict.breaks.append(f"the member {path} is at byte {fresh_offset} instead of {offset}")
        if fresh_kind != kind:
            verdict.breaks.append(f"the member {path} is `{fresh_kind}` instead of `{kind}`")
    for member, (offset, _) in new.members.items():
        path = f"{name}.{member}"
        if member in old.members:
            continue
        union = member.rpartition(".")[0]
        if union and old.members.get(union) == new.members.get(union):
            verdict.additions.append(f"the member {path} was added")
        elif not has_size:
            verdict.breaks.append(
                f"the member {path} was added, but only a struct with struct_size as its first member can be extended"
            )
        elif offset < old.size:
            verdict.breaks.append(
                f"the member {path} was added at byte {offset}, but must be after the former end, at byte {old.size}"
            )
        else:
            verdict.additions.append(f"the member {path} was added")
    if new.size < old.size or (new.size != old.size and not has_size):
        verdict.breaks.append(f"the struct {name} has {new.size} bytes instead of {old.size}")
