"""Counts of single faults. A separate module, because few programs need one: `dataclasses` takes long to import."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SingleFaults:
    """The number of single faults that one line of a program caused through one relationship."""

    #: The entity that has the relationship; without a relationship, the entity of the objects.
    entity: str
    #: None for objects that were requested by ID.
    relationship: str | None
    count: int
    #: The call site; None if it cannot be determined.
    file: str | None
    line: int | None
