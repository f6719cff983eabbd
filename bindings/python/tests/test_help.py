"""help() of every public name is useful: each has a summary, and so has each public method and property."""

from __future__ import annotations

import inspect
import pydoc
from typing import Any

import pytest

import corestone

# Values whose class or module documents them.
VALUES = {"InaccessibleFaultHandler", "SortKey", "UNKNOWN", "__version__", "main_queue"}
NAMES = sorted(set(corestone.__all__) - VALUES)


def members(kind: type) -> dict[str, Any]:
    """Returns the public methods and properties of a class that the package defines."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if not base.__module__.startswith("corestone"):
            continue
        for name, member in vars(base).items():
            plain = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
            if not name.startswith("_") and (inspect.isfunction(plain) or isinstance(plain, property)):
                found[name] = plain
    return found


def summary_of(item: Any) -> str:
    return (inspect.getdoc(item) or "").partition("\n")[0]


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_has_a_summary(name: str) -> None:
    item = getattr(corestone, name)
    documented = {name: item}
    if inspect.isclass(item):
        documented.update((f"{name}.{each}", member) for each, member in members(item).items())
    missing = [each for each, what in documented.items() if len(summary_of(what).split()) < 2]
    # A class of the standard library, such as NamedTuple, makes the text "Name(field, ...)" itself.
    missing += [each for each, what in documented.items() if summary_of(what).startswith(f"{name}(")]
    assert missing == []


def test_help_prints_the_summary_and_the_parameters() -> None:
    text = pydoc.plain(pydoc.render_doc(corestone.dump))
    assert "Writes objects as JSON" in text
    assert "predicate" in text
    assert "Context.upsert" not in pydoc.plain(pydoc.render_doc(corestone.Context.get_or_create))
    help_of_class = pydoc.plain(pydoc.render_doc(corestone.Context))
    assert "get_or_create" in help_of_class
    employee = corestone.Model({"Employee": {"name": "string?", "boss": "to-one Employee?"}})["Employee"].object_class
    shown = pydoc.plain(pydoc.render_doc(employee))
    assert "Objects of the entity Employee." in shown
    assert "optional string" in shown
