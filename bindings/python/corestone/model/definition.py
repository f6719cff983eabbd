"""The names of attribute types and delete rules. The library reads the same names in model text."""

from __future__ import annotations

from .._abi.arguments import shown
from ..codes import AttributeType, DeleteRule
from ..errors import ModelError

ATTRIBUTE_TYPES: dict[str, AttributeType] = {
    "undefined": AttributeType.UNDEFINED,
    "int16": AttributeType.INTEGER_16,
    "integer16": AttributeType.INTEGER_16,
    "int32": AttributeType.INTEGER_32,
    "integer32": AttributeType.INTEGER_32,
    "int": AttributeType.INTEGER_64,
    "integer": AttributeType.INTEGER_64,
    "int64": AttributeType.INTEGER_64,
    "integer64": AttributeType.INTEGER_64,
    "decimal": AttributeType.DECIMAL,
    "double": AttributeType.DOUBLE,
    "float": AttributeType.FLOAT,
    "string": AttributeType.STRING,
    "str": AttributeType.STRING,
    "bool": AttributeType.BOOLEAN,
    "boolean": AttributeType.BOOLEAN,
    "date": AttributeType.DATE,
    "datetime": AttributeType.DATE,
    "binary": AttributeType.BINARY,
    "bytes": AttributeType.BINARY,
    "uuid": AttributeType.UUID,
    "uri": AttributeType.URI,
    "transformable": AttributeType.TRANSFORMABLE,
    "composite": AttributeType.COMPOSITE,
    "binarydata": AttributeType.BINARY,
    "objectid": AttributeType.OBJECT_ID,
}

_TYPES = '; use a member of corestone.AttributeType, or a name such as "int64" or "string"'

DELETE_RULES: dict[str, DeleteRule] = {
    "noaction": DeleteRule.NO_ACTION,
    "nullify": DeleteRule.NULLIFY,
    "cascade": DeleteRule.CASCADE,
    "deny": DeleteRule.DENY,
}


def _folded(word: str) -> str:
    return word.lower().replace(" ", "").replace("_", "").replace("-", "")


def _place(entity: str | None, key: str | None) -> str:
    """Returns the beginning of a message about a property; empty if the property is unknown."""
    return f"{entity}.{key}: " if entity is not None else ""


def attribute_type(
    name: str | int, entity: str | None = None, key: str | None = None, place: str | None = None
) -> AttributeType:
    """Returns the attribute type of a name such as "string", "int32" or "Integer 32".

    `place` is the beginning of an error message about anything other than a property.
    """
    begin = _place(entity, key) if place is None else f"{place}: "
    if isinstance(name, int):
        try:
            return AttributeType(name)
        except ValueError:
            raise ModelError(
                f"{begin}{shown(name)} is not an attribute type; use a member of corestone.AttributeType",
                entity=entity,
                key=key,
                value=name,
            ) from None
    known = ATTRIBUTE_TYPES.get(_folded(name)) if isinstance(name, str) else None
    if known is None:
        from .property import nearest

        near = nearest(name, ATTRIBUTE_TYPES) if isinstance(name, str) else ""
        raise ModelError(
            f"{begin}{shown(name)} is not an attribute type{near or _TYPES}",
            entity=entity,
            key=key,
            value=name,
        )
    return known


def delete_rule(name: str | int, entity: str | None = None, key: str | None = None) -> DeleteRule:
    """Returns the delete rule of a name such as "cascade"."""
    if isinstance(name, int):
        try:
            return DeleteRule(name)
        except ValueError:
            raise ModelError(
                f"{_place(entity, key)}{shown(name)} is not a delete rule; use a member of corestone.DeleteRule",
                entity=entity,
                key=key,
                value=name,
            ) from None
    known = DELETE_RULES.get(_folded(name)) if isinstance(name, str) else None
    if known is None:
        raise ModelError(
            f'{_place(entity, key)}{shown(name)} is not a delete rule; use "nullify", "cascade", "deny" or "no-action"',
            entity=entity,
            key=key,
            value=name,
        )
    return known
