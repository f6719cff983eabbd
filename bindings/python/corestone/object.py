"""The functions of objects, for objects whose properties hide members of their class: `object_id(person)`."""

from __future__ import annotations

from .graph.object import ManagedObject, context_of, object_id, state

__all__ = ["ManagedObject", "context_of", "object_id", "state"]
