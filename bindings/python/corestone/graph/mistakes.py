"""Errors of plausible mistakes with objects and IDs. Other modules call these functions after a check has failed."""

from __future__ import annotations

from typing import Any, NoReturn

from .._abi.arguments import shown
from ..errors import InvalidArgumentError, TypeMismatchError
from .collections import _ToMany
from .object import ManagedObject, object_id
from .object_id import ObjectID
from .results import Results


def wrong_id(which: Any) -> NoReturn:
    """Raises the error for a value in place of an ID."""
    remedy = "pass the id of an object, or call fetch to find objects by their values"
    if isinstance(which, ManagedObject):
        remedy = "pass its id"
    elif isinstance(which, type) and issubclass(which, ManagedObject):
        remedy = f"pass the ID too, as in get({which.__name__}, id), or call fetch({which.__name__})"
    raise TypeMismatchError(
        f"which must be an ObjectID or a URI, not {shown(which)}; {remedy}", key="which", value=which
    )


def wrong_object(item: Any, call: str, name: str = "item") -> NoReturn:
    """Raises the error for a value in place of a managed object. `call` is the method that was called."""
    remedy = ""
    if isinstance(item, (Results, _ToMany, list, tuple, set, frozenset)):
        remedy = f"; call {call} for each of the objects"
        if call == "delete" and isinstance(item, Results):
            remedy += ", or batch_delete with their entity and predicate"
    elif isinstance(item, (ObjectID, str)):
        remedy = "; get the object with get"
    elif isinstance(item, type):
        remedy = "; pass an object of the class"
    elif item is None:
        remedy = "; first returns None if there are no results"
    raise TypeMismatchError(f"{name} must be a managed object, not {shown(item)}{remedy}", key=name, value=item)


def other_context(item: ManagedObject, call: str) -> NoReturn:
    """Raises the error for an object that belongs to another context."""
    uri = object_id(item).uri
    raise InvalidArgumentError(
        f"{item._cst_entity.name} {uri} belongs to another context; call {call} of that context, or get the object in "
        "this context with get",
        entity=item._cst_entity.name,
        key="item",
        object_uri=uri,
    )
