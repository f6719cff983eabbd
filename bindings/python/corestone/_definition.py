"""The compact form of a model: a dictionary of entities, each a dictionary of properties written as one line of text.

    attribute     TYPE['?'] [indexed] [transient] [external] [preserved] [nan]
                  [min N] [max N] [match REGEX] [transformer NAME] ['=' DEFAULT]
    derived       derived TYPE['?'] '=' EXPRESSION
    relationship  to-one ENTITY['?'] [inverse NAME] [delete RULE]
                  to-many [ordered] ENTITY [inverse NAME] [delete RULE] [min N] [max N]

The bounds of a string are those of its length; a regular expression has no space here.
A derived attribute is computed by the store: "derived int64? = articles.@count". A dictionary without "type" is a
composite attribute, of whose elements it has the definitions: {"latitude": "double?", "longitude": "double?"}.
A '?' means optional; a to-many relationship may always be empty unless `min` says otherwise.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal, InvalidOperation
from inspect import Parameter, signature
from typing import Any, NamedTuple
from uuid import UUID

from .codes import AttributeType, DeleteRule
from .errors import ModelError

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

DELETE_RULES: dict[str, DeleteRule] = {
    "noaction": DeleteRule.NO_ACTION,
    "nullify": DeleteRule.NULLIFY,
    "cascade": DeleteRule.CASCADE,
    "deny": DeleteRule.DENY,
}

_FLAG_WORDS = {
    "indexed": "indexed",
    "transient": "transient",
    "external": "external_storage",
    "preserved": "preserved",
    "nan": "allows_nan",
}

_BOUND_WORDS = {"min": "minimum", "max": "maximum", "match": "pattern"}


def _folded(word: str) -> str:
    return word.lower().replace(" ", "").replace("_", "").replace("-", "")


def attribute_type(name: str | int) -> AttributeType:
    """The type that a name such as "string", "int32" or "Integer 32" stands for."""
    if isinstance(name, int):
        try:
            return AttributeType(name)
        except ValueError:
            raise ModelError(f"{name} is not an attribute type; use a constant of corestone.AttributeType") from None
    known = ATTRIBUTE_TYPES.get(_folded(name)) if isinstance(name, str) else None
    if known is None:
        raise ModelError(f'"{name}" is not an attribute type; use one of {", ".join(sorted(ATTRIBUTE_TYPES))}')
    return known


def delete_rule(name: str | int) -> DeleteRule:
    """The delete rule that a name such as "cascade" stands for."""
    if isinstance(name, int):
        try:
            return DeleteRule(name)
        except ValueError:
            raise ModelError(f"{name} is not a delete rule; use a constant of corestone.DeleteRule") from None
    known = DELETE_RULES.get(_folded(name))
    if known is None:
        raise ModelError(f'"{name}" is not a delete rule; use nullify, cascade, deny or no-action')
    return known


class Line(NamedTuple):
    """What one line of the compact form says: the method of Entity to call, and its arguments after the name."""

    method: str
    argument: str
    options: dict[str, Any]


def parse_default(kind: AttributeType, text: str, where: str) -> Any:
    """The default value written behind '='."""
    try:
        if kind in (AttributeType.INTEGER_16, AttributeType.INTEGER_32, AttributeType.INTEGER_64):
            return int(text)
        if kind in (AttributeType.DOUBLE, AttributeType.FLOAT):
            return float(text)
        if kind == AttributeType.DECIMAL:
            return Decimal(text)
        if kind == AttributeType.BOOLEAN:
            return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[text.lower()]
        if kind in (AttributeType.STRING, AttributeType.URI):
            quoted = len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'"
            return text[1:-1] if quoted else text
        if kind == AttributeType.UUID:
            return UUID(text)
        if kind == AttributeType.DATE:
            return datetime.fromisoformat(text.replace("Z", "+00:00"))
    except (ValueError, KeyError, InvalidOperation):
        raise ModelError(f'{where} is {kind.name} and cannot have the default "{text}"') from None
    raise ModelError(f"the default of {where} cannot be written as text, because its type is {kind.name}")


def _number(words: list[str], word: str, where: str) -> int:
    try:
        return int(words.pop(0))
    except (IndexError, ValueError):
        raise ModelError(f'{where} does not have a number after "{word}"') from None


def _parse_relationship(text: str, where: str) -> Line:
    words = text.split()
    method = words.pop(0).lower().replace("-", "_")
    options: dict[str, Any] = {}
    if method == "to_many" and words and words[0].lower() == "ordered":
        words.pop(0)
        options["ordered"] = True
    if not words:
        raise ModelError(f'{where} does not have a destination in "{text}"; add the name of an entity')
    destination = words.pop(0)
    optional = destination.endswith("?")
    if method == "to_one":
        options["optional"] = optional
    destination = destination.rstrip("?")
    while words:
        word = words.pop(0).lower()
        if word in ("inverse", "delete") and words:
            options[word] = words.pop(0)
        elif word == "ordered" and method == "to_many":
            options["ordered"] = True
        elif word in ("min", "max") and method == "to_many":
            options["minimum" if word == "min" else "maximum"] = _number(words, word, where)
        else:
            raise ModelError(
                f'{where} has an unexpected "{word}" in "{text}"; write to-one Entity? [inverse name] [delete rule], '
                "or to-many [ordered] Entity [inverse name] [delete rule] [min n] [max n]"
            )
    if options.get("minimum"):
        options["optional"] = False
    return Line(method, destination, options)


def _parse_bound(kind: AttributeType, word: str, words: list[str], where: str) -> Any:
    if not words:
        raise ModelError(f'{where} does not have a value after "{word}"')
    if word.lower() == "match":
        return words.pop(0)
    if kind == AttributeType.STRING:
        return _number(words, word, where)
    return parse_default(kind, words.pop(0), where)


def _parse_attribute(text: str, where: str) -> Line:
    head, equals, default = text.partition("=")
    words = head.split()
    is_derived = bool(words) and words[0].lower() == "derived"
    if is_derived:
        words.pop(0)
    if not words:
        raise ModelError(f'{where} does not have a type in "{text}"; begin with a type such as string')
    name = words.pop(0)
    optional = name.endswith("?")
    kind = attribute_type(name.rstrip("?"))
    options: dict[str, Any] = {"optional": optional}
    while words:
        word = words.pop(0)
        if word.lower() == "transformer" and words:
            options["transformer"] = words.pop(0)
            continue
        if word.lower() in ("min", "max", "match"):
            options[_BOUND_WORDS[word.lower()]] = _parse_bound(kind, word, words, where)
            continue
        flag = _FLAG_WORDS.get(word.lower())
        if flag is None:
            raise ModelError(
                f'{where} has an unexpected "{word}" in "{text}"; write type? [indexed] [transient] [external] '
                "[preserved] [nan] [min n] [max n] [match regex] [transformer name] [= default], or "
                "derived type? = expression"
            )
        options[flag] = True
    if is_derived:
        if not default.strip():
            raise ModelError(f"{where} is derived but does not have an expression; write derived type = expression")
        options["derived"] = default.strip()
    elif equals:
        options["default"] = parse_default(kind, default.strip(), where)
    return Line("attribute", name.rstrip("?"), options)


def parse_line(text: str, where: str) -> Line:
    """Reads one property. `where` ("Employee.name") begins the message of a ModelError."""
    start = text.strip().lower()
    if start.startswith(("to-one", "to-many", "to_one", "to_many")):
        return _parse_relationship(text.strip(), where)
    return _parse_attribute(text.strip(), where)


def require_options(options: Mapping[str, Any], method: Callable[..., Any], entity: str, key: str) -> None:
    """Refuses an option that a method of Entity does not have, and names those that it has."""
    known = [one.name for one in signature(method).parameters.values() if one.kind is Parameter.KEYWORD_ONLY]
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, 1)
            remedy = f'did you mean "{near[0]}"?' if near else f"use one of {', '.join(sorted(known))}"
            raise ModelError(f'{entity}.{key} has the unknown option "{name}"; {remedy}', entity=entity, key=key)


def property_line(definition: Any, where: str) -> Line:
    """Reads one property: a line of text, or a mapping of the options of Entity.attribute, to_one or to_many."""
    if isinstance(definition, str):
        return parse_line(definition, where)
    if isinstance(definition, Mapping):
        options = dict(definition)
        for method in ("attribute", "to_one", "to_many"):
            named = "type" if method == "attribute" else method
            if named in options:
                return Line(method, options.pop(named), options)
        if options:
            return Line("attribute", "composite", {"optional": True, "elements": options})
    raise ModelError(
        f'{where} is defined by {definition!r}, which is not a property; write "string?", '
        '"to-one Department? inverse employees" or {"type": "string", "optional": True}'
    )
