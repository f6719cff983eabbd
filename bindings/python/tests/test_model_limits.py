"""The limits of models, each reached and passed by one (docs/reference/model.md)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from corestone import Container, Model, ModelError, PredicateError, StoreCorruptError

ATTRIBUTE = "<attribute name='{}' optional='YES' attributeType='Integer 16'/>"


def attributes(first: int, count: int) -> str:
    return "".join(ATTRIBUTE.format(f"a{number}") for number in range(first, first + count))


def nested(count: int) -> str:
    """Elements within each other, the model among them."""
    return "<model>" + "<a>" * (count - 1) + "</a>" * (count - 1) + "</model>"


def wide(count: int) -> str:
    """Properties of an entity, half of them inherited."""
    half = count // 2
    return (
        f"<model><entity name='A'>{attributes(0, half)}</entity>"
        f"<entity name='B' parentEntity='A'>{attributes(half, count - half)}</entity></model>"
    )


def lineage(count: int) -> str:
    """Entities that inherit from each other in a row."""
    return (
        "<model><entity name='E0'/>"
        + "".join(f"<entity name='E{number}' parentEntity='E{number - 1}'/>" for number in range(1, count))
        + "</model>"
    )


def composite(count: int) -> str:
    """Composite attributes within each other, the last with a plain element."""
    types = "".join(
        f"<composite name='C{number}'><attribute name='a' optional='YES' attributeType='Composite' "
        f"composite='C{number + 1}'/></composite>"
        for number in range(1, count)
    )
    return (
        "<model><entity name='E'><attribute name='a' optional='YES' attributeType='Composite' composite='C1'/></entity>"
        f"{types}<composite name='C{count}'>{attributes(0, 1)}</composite></model>"
    )


@pytest.mark.parametrize(
    ("made", "most", "words"),
    [
        (nested, 64, "elements are nested more than 64 levels deep, which is the limit"),
        (wide, 4_095, "has 4096 properties, but the limit is 4095"),
        (lineage, 128, "would have more than 127 superentities"),
        (composite, 15, "is nested 16 levels deep, which is the limit"),
    ],
)
def test_model_beyond_a_limit_is_rejected(made: Callable[[int], str], most: int, words: str) -> None:
    Model.load(made(most).encode()).freeze()
    with pytest.raises((ModelError, StoreCorruptError)) as caught:
        Model.load(made(most + 1).encode()).freeze()
    assert words in str(caught.value)


def list_of(count: int) -> str:
    return "a IN {" + ", ".join(map(str, range(count))) + "}"


def test_compiled_predicate_is_limited_to_10000_parts() -> None:
    for count in (9_000, 10_001):
        model = Model({"E": {"a": "int32"}})
        model.template("many", "E", list_of(count))
        if count < 10_000:
            assert Model.load(model.compiled()).describe()["fetchRequests"]["many"]["predicate"] == list_of(count)
            continue
        with pytest.raises(
            ModelError, match=r"has more than 10000 parts, which is the limit; simplify it .* \$variable"
        ) as caught:
            model.compiled()
        assert "many" in caught.value.message


@pytest.mark.parametrize(("count", "fits"), [(1, True), (5, True), (6, False)])
def test_r_tree_index_has_1_to_5_elements(count: int, fits: bool, tmp_path: Path) -> None:
    names = [f"a{number}" for number in range(count)]
    model = Model({"E": dict.fromkeys(names, "double?")})
    model["E"].index("spatial", *names, kind="rtree")
    if fits:
        with Container(model, tmp_path / "e.sqlite") as container:
            container.insert("E", [dict.fromkeys(names, 1.0)])
        with sqlite3.connect(tmp_path / "e.sqlite") as connection:
            made = connection.execute("SELECT sql FROM sqlite_master WHERE sql LIKE '%rtree%'").fetchall()
        assert len(made) == 1
        return
    with pytest.raises(ModelError, match='"spatial" of E has 6 elements instead of 1 to 5') as caught:
        model.freeze()
    assert caught.value.entity == "E"


@pytest.mark.parametrize(("depth", "fits"), [(8, True), (9, False)])
def test_fetched_properties_in_predicates_nest_8_levels_deep(depth: int, fits: bool, tmp_path: Path) -> None:
    model = Model({"E": {"rank": "int32"}})
    for number in range(depth):
        inner = f"ANY f{number + 1}.rank >= 0" if number + 1 < depth else "rank >= 0"
        model["E"].fetched(f"f{number}", "E", inner)
    with Container(model, tmp_path / "e.sqlite") as container:
        context = container.context()
        context.insert("E", rank=1)
        context.save()
        if fits:
            assert context.count("E", "ANY f0.rank >= 0") == 1
            return
        with pytest.raises(PredicateError, match=r"cannot fetch E\.f8: .* more than 8 levels deep") as caught:
            context.count("E", "ANY f0.rank >= 0")
        assert caught.value.key == "f8"


def test_strings_file_is_limited_to_16_megabytes(tmp_path: Path) -> None:
    model = Model({"Run": {"date": "date"}})
    strings = tmp_path / "RunsModel.strings"
    strings.write_bytes(b'"Entity/Run" = "Lauf";'.ljust((16 << 20) + 1))
    with pytest.raises(ModelError, match="RunsModel") as caught:
        model.load_strings(strings)
    assert "16777216" in caught.value.message
    assert model["Run"].localized_name == "Run"
