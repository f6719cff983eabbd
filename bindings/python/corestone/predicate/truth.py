"""Boolean keys as conditions: `Episode.played` is `played == YES`, and `~Episode.played` its negation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._abi.arguments import shown
from ..codes import AttributeType
from ..errors import TypeMismatchError
from .expression import Expression, ExpressionType
from .predicate import CompoundType, Operator, Predicate
from .query import Key, Value

if TYPE_CHECKING:
    from ..model.property import PropertyDescription

_CONNECTIVES = {
    "onesComplement:": CompoundType.NOT,
    "bitwiseAnd:with:": CompoundType.AND,
    "bitwiseOr:with:": CompoundType.OR,
}


def is_boolean(item: object) -> bool:
    """Whether an item is the key of a Boolean attribute, as the model of its class defines it."""
    return isinstance(item, Key) and item._cst_property is not None and _is_flag(item._cst_property)


def _is_flag(description: PropertyDescription) -> bool:
    return description.is_attribute and description.attribute_type == AttributeType.BOOLEAN


def condition(item: Any) -> Predicate:
    """Returns a predicate unchanged, and a Boolean key as the condition that its value is true.

    A key without a class (`key("played")`) can be a condition too, and so can such keys that ~, & and | combine.
    TypeMismatchError for any other item.
    """
    if isinstance(item, Predicate):
        return item
    if not isinstance(item, Value):
        raise TypeMismatchError(
            f"a condition must be a Predicate or a Boolean key such as Employee.active, not {shown(item)}",
            key="predicate",
            value=item,
        )
    if isinstance(item, Key) and item._cst_property is not None:
        _check(item, item._cst_property)
    return _of(item._cst_expression, item)


def _check(item: Key[Any], description: PropertyDescription) -> None:
    """Raises an error for a key that cannot be a condition."""
    path = item._cst_path
    owner = "" if item._cst_owner is None else f"{item._cst_owner.name}."
    if not _is_flag(description):
        kind = "relationship" if description.is_relationship else "Boolean attribute"
        remedy = (
            "count its members, or call any with a condition"
            if description.is_to_many
            else f'compare it, for example with key("{path}").is_not_null()'
            if description.is_relationship
            else "compare it with a value"
        )
        what = f"is a {kind}, which" if description.is_relationship else f"is not a {kind}, so it"
        raise TypeMismatchError(
            f"{owner}{description.name} {what} cannot be a condition; {remedy}",
            entity=item._cst_owner.name if item._cst_owner is not None else None,
            key=path,
        )
    if item._cst_is_many:
        raise TypeMismatchError(
            f'"{path}" has a value for each member of a to-many relationship, so it cannot be a condition; call any, '
            "all or none of the relationship with the key of a member",
            entity=item._cst_owner.name if item._cst_owner is not None else None,
            key=path,
        )


def _of(part: Expression, item: Value[Any]) -> Predicate:
    """Returns the condition that an expression is true."""
    if part.type == ExpressionType.KEY_PATH:
        return Predicate.comparison(part, Operator.EQUAL, True)
    connective = _CONNECTIVES.get(part.name or "") if part.type == ExpressionType.FUNCTION else None
    if connective is None:
        raise TypeMismatchError(
            f"the value {shown(item._cst_expression.format)} is not a condition; compare it with another value",
            key="predicate",
            value=item,
        )
    return Predicate.compound(connective, [_of(each, item) for each in part.operands])


def negated(item: Value[Any]) -> Predicate | None:
    """Returns the negation of a Boolean key; None for another value, whose bits the operator inverts."""
    return ~condition(item) if is_boolean(item) else None


def combined(type: CompoundType, left: Any, right: Any) -> Predicate | None:
    """Returns two conditions combined by AND or OR; None for two values, whose bits the operator combines."""
    if not isinstance(left, (Value, Predicate)) or not isinstance(right, (Value, Predicate)):
        return None
    is_condition = [isinstance(each, Predicate) or is_boolean(each) for each in (left, right)]
    if not any(is_condition):
        return None
    found: Predicate = condition(left)._combined(type, condition(right))
    return found
