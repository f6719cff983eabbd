"""The comparison of declared classes with a model, such as one from a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._abi.arguments import shown
from ..errors import ModelError

if TYPE_CHECKING:
    from ..model.model import Model, ModelChange
    from .models import Declarations

# Parts of a model that a class may leave out.
_LENIENT = ("className", "userInfo", "extras", "validation", "renamingIdentifier", "composite", "valueClass")


def check(model: Model, declared: Declarations, expected: Model) -> None:
    """Raises ModelError with each difference between a model and the model of declared classes.

    Entities of the model without a class are ignored, as are user info, validation rules, indexes and other parts that
    do not change the version hash and that the class does not set.
    """
    problems: list[ModelError] = []
    for change in model.diff(expected):
        if change.entity not in declared.entities or change.part not in _PARTS:
            continue
        problem = _difference(change)
        if problem is not None:
            problems.append(problem)
    if not problems:
        return
    if len(problems) == 1:
        raise problems[0]
    lines = "".join(f"\n- {each.message}" for each in problems)
    error = ModelError(
        f"the classes differ from the model in {len(problems)} places; change the classes or the model:{lines}",
        entity=problems[0].entity,
        key=problems[0].key,
    )
    error.details = tuple(problems)
    raise error


_PARTS = ("entity", "attribute", "relationship", "fetched property", "index")


def _difference(change: ModelChange) -> ModelError | None:
    where = f"{change.entity}.{change.name}" if change.name else f"{change.entity}"
    if change.field is None:
        if change.action == "added":
            problem = f"the class declares this {change.part}, but the model does not have it"
        elif change.part == "index":
            return None
        else:
            problem = f"the model has this {change.part}, but the class does not declare it"
    else:
        head = change.field.split(".")[0]
        if change.new in (None, [], False) and head in _LENIENT and not change.changes_hash:
            return None
        if head in ("extras", "composite"):
            return None
        if head == "elements" and _plain(change.new) == _plain(change.old):
            return None
        problem = f"{change.field} is {_shown(change.new)} in the class, but {_shown(change.old)} in the model"
    return ModelError(f"{where}: {problem}", entity=change.entity, key=change.name, value=change.new)


def _plain(elements: Any) -> list[dict[str, Any]]:
    """Returns the elements of a composite attribute without the parts that a class may leave out."""
    return [
        {key: _plain(each[key]) if key == "elements" else each[key] for key in each if key not in _LENIENT}
        for each in elements or ()
    ]


def _shown(value: Any) -> str:
    return "not set" if value is None else shown(value)
