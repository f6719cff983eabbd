"""Models from a text in JSON, as C and Swift have them too."""

from __future__ import annotations

import json
import random
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from corestone import CorestoneError, InvalidUTF8Error, Model, ModelError, TypeMismatchError

PEOPLE = """
{
  "Person": {"name": "string indexed", "age": "int16? min 0 = 18", "friends": "to-many Person inverse friends",
             "place": {"latitude": "double?"}},
  "Employee": {"@parent": "Person", "@unique": [["badge"]], "badge": "string", "boss": "to-one Employee? inverse staff",
               "staff": "to-many ordered Employee inverse boss delete deny"}
}
"""


def test_text_and_dictionary_build_the_same_model() -> None:
    read, made = Model.from_text(PEOPLE), Model(json.loads(PEOPLE))
    assert list(read) == ["Person", "Employee"]
    assert not read.is_frozen
    assert read.describe() == made.describe()
    assert read.compiled() == made.compiled()


def test_text_can_be_added_to_a_model() -> None:
    model = Model.from_text('{"A": {"x": "int"}}')
    assert model.add_text('{"B": {"a": "to-one A? inverse bs"}, "A": {"bs": "to-many B"}}') is model
    assert list(model) == ["A", "B"]
    assert list(model["A"].properties) == ["x", "bs"]
    assert model["B"].properties["a"].inverse == "bs"
    with pytest.raises(ModelError, match="is frozen"):
        model.add_text('{"C": {}}')


def test_added_text_resolves_a_forward_reference() -> None:
    model = Model()
    model.entity("A").to_one("b", "B", inverse="a")
    model.add_text('{"B": {"a": "to-many A"}}')
    assert model["A"].properties["b"].inverse == "a"


def test_text_errors_have_line_and_column() -> None:
    with pytest.raises(ModelError, match=r'^the model text is missing a ":", at line 2, column 8$') as caught:
        Model.from_text('{\n  "A"  "int"\n}')
    assert caught.value.offset == 9
    with pytest.raises(ModelError, match=r"^A\.x is in the text more than once; keep one$") as caught:
        Model.from_text('{"A": {"x": "int", "x": "int"}}')
    assert (caught.value.entity, caught.value.key) == ("A", "x")
    with pytest.raises(ModelError, match=r'^A\.b has the destination "Bee", .*; did you mean "Been"\?$') as caught:
        Model.from_text('{"A": {"b": "to-one Bee"}, "Been": {}}')
    assert (caught.value.entity, caught.value.key) == ("A", "b")
    with pytest.raises(InvalidUTF8Error):
        Model.from_text('{"\ud800": {}}')
    with pytest.raises(TypeMismatchError):
        Model.from_text({"A": {}})  # type: ignore[arg-type]


# ---- random models


class Entity:
    """An entity of a random model: options and properties as the methods of Entity take them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.options: dict[str, Any] = {}
        self.attributes: dict[str, tuple[str, dict[str, Any]]] = {}
        self.relationships: dict[str, tuple[str, str, dict[str, Any]]] = {}
        self.unique: list[list[str]] = []
        self.indexes: dict[str, list[str]] = {}


def random_default(kind: str, chance: random.Random) -> Any:
    return {
        "int16": chance.randint(-32768, 32767),
        "int32": chance.randint(-(2**31), 2**31 - 1),
        "int64": chance.randint(-(2**63), 2**63 - 1),
        "double": chance.uniform(-1e6, 1e6),
        "float": chance.randint(-99, 99) / 4,
        "decimal": Decimal(chance.randint(-(10**20), 10**20)).scaleb(-chance.randint(0, 9)),
        "bool": chance.random() < 0.5,
        "string": "".join(chance.choice("ab =?'\"\\é\u2028\n") for _ in range(chance.randint(0, 6))),
        "date": datetime(2001, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=chance.randint(-(10**9), 10**9)),
    }.get(kind)


KINDS = ["int16", "int32", "int64", "double", "float", "decimal", "bool", "string", "date", "binary", "uuid", "uri"]


def random_attribute(chance: random.Random, depth: int = 0) -> tuple[str, dict[str, Any]]:
    options: dict[str, Any] = {"optional": chance.random() < 0.5}
    if depth < 2 and chance.random() < 0.15:
        elements: dict[str, Any] = {}
        for number in range(chance.randint(1, 3)):
            kind, given = random_attribute(chance, depth + 1)
            elements[f"e{number}"] = {"type": kind, **given}
        return "composite", {**options, "elements": elements}
    kind = chance.choice(KINDS)
    default = random_default(kind, chance)
    if default is not None and chance.random() < 0.5:
        options["default"] = default
    if kind == "string" and chance.random() < 0.3:
        options.update(minimum=chance.randint(0, 2), pattern="[a-z ]*")
    if kind == "int32" and chance.random() < 0.3:
        options.update(minimum=-(2**31), maximum=chance.randint(-5, 5))
    if kind == "binary" and chance.random() < 0.5:
        options["external_storage"] = True
    if depth == 0 and kind != "binary" and chance.random() < 0.2:
        options["indexed"] = True
    if depth == 0 and chance.random() < 0.1:
        options["transient"] = not options.get("indexed")
    if chance.random() < 0.2:
        options["user_info"] = {"k": chance.choice(["v", "", "ü"])}
    return kind, options


def random_model(seed: int) -> list[Entity]:
    chance = random.Random(seed)
    entities = [Entity(f"E{number}") for number in range(chance.randint(1, 5))]
    for number, entity in enumerate(entities):
        if number and chance.random() < 0.3:
            entity.options["parent"] = f"E{chance.randrange(number)}"
        if chance.random() < 0.2:
            entity.options["abstract"] = True
        if chance.random() < 0.2:
            entity.options["class_name"] = f"App.{entity.name}"
        if chance.random() < 0.2:
            entity.options["user_info"] = {"colour": "blue"}
        for place in range(chance.randint(0, 5)):
            entity.attributes[f"a{number}_{place}"] = random_attribute(chance)
        plain = [
            name
            for name, (kind, options) in entity.attributes.items()
            if kind != "composite" and not options.get("transient")
        ]
        if plain and chance.random() < 0.4:
            entity.indexes["i"] = [chance.choice(["", "-"]) + name for name in plain]
        if plain and chance.random() < 0.3:
            entity.unique.append(plain[:2])
    for number in range(chance.randint(0, 4)):
        owner, other = chance.choice(entities), chance.choice(entities)
        method = chance.choice(["to_one", "to_many"])
        options: dict[str, Any] = {"delete": chance.choice(["nullify", "cascade", "deny", "no-action"])}
        if method == "to_many":
            options["ordered"] = chance.random() < 0.5
            if chance.random() < 0.4:
                options.update(minimum=1, maximum=chance.randint(2, 5), optional=False)
        if chance.random() < 0.7:
            options["inverse"] = f"back{number}"
            other.relationships[f"back{number}"] = ("to_many", owner.name, {"inverse": f"there{number}"})
        owner.relationships[f"there{number}"] = (method, other.name, options)
    return entities


def by_calls(entities: list[Entity]) -> Model:
    model = Model()
    for entity in entities:
        model.entity(entity.name, **entity.options)
    for entity in entities:
        made = model[entity.name]
        for name, (kind, options) in entity.attributes.items():
            made.attribute(name, kind, **options)
        for name, (method, target, options) in entity.relationships.items():
            getattr(made, method)(name, target, **options)
        for name, properties in entity.indexes.items():
            made.index(name, *properties)
        for names in entity.unique:
            made.unique(*names)
    return model


def as_dictionary(entities: list[Entity]) -> dict[str, dict[str, Any]]:
    content: dict[str, dict[str, Any]] = {}
    for entity in entities:
        body: dict[str, Any] = {f"@{name}": value for name, value in entity.options.items()}
        body.update({name: {"type": kind, **options} for name, (kind, options) in entity.attributes.items()})
        for name, (method, target, options) in entity.relationships.items():
            body[name] = {method: target, **options}
        body["@indexes"], body["@unique"] = entity.indexes, entity.unique
        content[entity.name] = body
    return content


def as_lines(entities: list[Entity]) -> dict[str, dict[str, Any]]:
    """The same with a line for each property that a line can describe."""
    content = as_dictionary(entities)
    for entity in entities:
        for name, (kind, options) in entity.attributes.items():
            words = [kind + "?" * options["optional"]]
            for option in options:
                if option == "default":
                    value = options["default"]
                    text = f'"{value}"' if kind == "string" else value.isoformat() if kind == "date" else str(value)
                    words.append(f"= {text}")
                elif option in ("minimum", "maximum"):
                    words.insert(1, f"{option[:3]} {options[option]}")
                elif option in ("indexed", "transient") and options[option]:
                    words.insert(1, option)
                elif option == "external_storage":
                    words.insert(1, "external")
                elif option not in ("optional", "indexed", "transient"):
                    break
            else:
                content[entity.name][name] = " ".join(words)
        for name, (method, target, options) in entity.relationships.items():
            line = f"{method.replace('_', '-')} {target}?"
            for word in ("inverse", "delete"):
                line += f" {word} {options[word]}" if word in options else ""
            if options.get("minimum"):
                line += f" min {options['minimum']} max {options['maximum']}"
            content[entity.name][name] = line + " ordered" * bool(options.get("ordered"))
    return content


@pytest.mark.parametrize("seed", range(150))
def test_calls_dictionaries_and_texts_build_equal_random_models(seed: int) -> None:
    entities = random_model(seed)
    built = by_calls(entities)
    made = Model(as_dictionary(entities))
    lines = as_lines(entities)
    written = Model(lines)
    assert made.describe() == built.describe()
    assert written.describe() == built.describe()
    models = [made, written]
    if not any(isinstance(value, (Decimal, datetime)) for value in _values(lines)):
        models.append(Model.from_text(json.dumps(lines, ensure_ascii=seed % 2 == 0, indent=seed % 3 or None)))
    for model in models:
        assert [model[name].version_hash for name in model] == [built[name].version_hash for name in built]
        assert model.compiled() == built.compiled()


def _values(content: Any) -> list[Any]:
    if isinstance(content, dict):
        return [value for member in content.values() for value in _values(member)]
    if isinstance(content, list):
        return [value for member in content for value in _values(member)]
    return [content]


def is_read(text: str) -> bool:
    try:
        Model.from_text(text).freeze()
    except CorestoneError:
        return False
    return True


def test_broken_texts_are_parsed_or_rejected() -> None:
    chance = random.Random(7)
    outcomes = {True: 0, False: 0}
    for _ in range(2000):
        text = list(PEOPLE)
        for _ in range(chance.randint(1, 3)):
            place = chance.randrange(len(text))
            text[place : place + chance.choice([0, 1, 1, 8])] = chance.choice(
                ["", '"', "{", "}", "[", ",", ":", "?", "=", "0", "\\", "\0", "é", '"name": "int"', "null", "@", " min"]
            )
        outcomes[is_read("".join(text))] += 1
    assert min(outcomes.values()) > 10
