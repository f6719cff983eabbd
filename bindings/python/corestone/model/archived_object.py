"""Archived objects of unregistered classes.

A separate module, because `dataclasses` takes long to import and few programs use archived objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ArchivedObject:
    """An archived object of a class that is not registered: its class name and its fields."""

    class_name: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    #: The names of the class and its superclasses, in this order; empty for a direct subclass of NSObject.
    classes: tuple[str, ...] = ()
