"""Queries that would find nothing, or ignore a part of the request, are reported."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from corestone import (
    Container,
    Context,
    FetchRequest,
    InvalidArgumentError,
    LazyRows,
    Model,
    ObjectID,
    Predicate,
    PredicateError,
    WrongThreadError,
    log,
)

NOTES = {
    "Note": {
        "title": "string", "stars": "int = 0", "written": "date?", "tags": "to-many Tag inverse notes",
        "author": "to-one Author? inverse notes",
    },
    "Tag": {"name": "string", "notes": "to-many Note inverse tags"},
    "Author": {"name": "string", "notes": "to-many Note inverse author"},
}  # fmt: skip
KINDS = ["SQLite", "InMemory", "XML"]


def filled(context: Context) -> Context:
    tags = [context.insert("Tag", name=name) for name in ("red", "blue")]
    author = context.insert("Author", name="Ada")
    for number in range(30):
        note = context.insert("Note", title=f"note {number:02}", stars=number, author=author)
        if number % 3 == 0:
            note["tags"] = {tags[number % 2]}
    context.save()
    context.reset()
    return context


@pytest.fixture(params=KINDS)
def notes(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Context]:
    with Container(Model(NOTES), tmp_path / "notes", type=request.param) as container:
        yield filled(container.context())


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[Context]:
    with Container(Model(NOTES), tmp_path / "notes.sqlite") as container:
        yield filled(container.context())


def warnings(lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith("CoreData: warning: ")]


def selects(lines: list[str]) -> list[str]:
    found = [line.removeprefix("CoreData: sql: ") for line in lines if line.startswith("CoreData: sql: SELECT")]
    return [line for line in found if " FROM ZNOTE t0" in line]


# What compares a collection with one value.


def test_comparison_of_a_to_many_without_quantifier_warns_once(notes: Context, request: pytest.FixtureRequest) -> None:
    # What was warned of in one store is not warned of again in the next.
    operation = {"SQLite": "==[c]", "InMemory": "==[d]", "XML": "==[n]"}[request.node.callspec.id]
    with log.recorded(0) as lines:
        assert len(notes.fetch("Note", f"tags.name {operation} %@", "secret 1")) == 0
        assert len(notes.fetch("Note", f"tags.name {operation} %@", "secret 2")) == 0
        assert notes.count("Note", f"tags.name {operation} %@", "secret 3") == 0
    [line] = warnings(lines)
    assert "Note.tags.name" in line
    assert f"ANY tags.name {operation} %@" in line
    assert "is not true for any object" in line
    assert "secret" not in line


def test_warning_appears_once_for_a_loop_over_values(stored: Context) -> None:
    with log.recorded(0) as lines:
        for value in range(1100):
            stored.count("Note", "author.notes.stars == %d OR 77 == author.notes.stars", 4000 + value)
        stored.count("Note", "tags.name IN[c] {'secret', %@}", "another secret")
    first, second, third = warnings(lines)
    assert first.startswith('CoreData: warning: "author.notes.stars == %@" is not true for any object')
    assert second.startswith('CoreData: warning: "%@ == author.notes.stars" is not true for any object')
    assert "ANY tags.name IN[c] %@" in third
    assert not re.search(r"secret|77|4\d\d\d", "".join(lines))


@pytest.mark.parametrize(
    ("format", "remedy"),
    [
        ("tags.name != 'green'", "ANY tags.name != %@"),
        ("tags.name IN {'red', 'green'}", "ANY tags.name IN %@"),
        ("'mauve' == tags.name", "ANY tags.name == %@"),
        ("stars > 100 AND tags.name ==[cd] 'pink'", "ANY tags.name ==[cd] %@"),
        ("author.notes.title == 'x'", "ANY author.notes.title == %@"),
        ("tags == NULL", "tags.@count == 0"),
    ],
)
def test_warning_proposes_a_remedy(stored: Context, format: str, remedy: str) -> None:
    with log.recorded(0) as lines:
        stored.fetch("Note", format)
        stored.fetch("Note", format)
    [line] = warnings(lines)
    assert f"write {remedy} to find" in line


@pytest.mark.parametrize(
    "format",
    ["ANY tags.name == 'red'", "tags.name CONTAINS 'red'", "'red' IN tags.name", "tags.@count == 0", "tags == tags",
     "SUBQUERY(tags, $t, $t.name == 'red').@count > 0", "tags.name == {'red'}", "author.name == 'Ada'"],
)  # fmt: skip
def test_comparison_with_a_collection_does_not_warn(stored: Context, format: str) -> None:
    with log.recorded(0) as lines:
        stored.fetch("Note", format)
    assert warnings(lines) == []


@pytest.mark.parametrize(
    "format",
    ["author.notes.stars > 5", "author.notes.stars <= 5", "5 < author.notes.stars",
     "stars > 0 AND author.notes.stars < 5", "author.notes.stars BETWEEN {1, 2}"],
)  # fmt: skip
def test_ordering_a_collection_is_rejected(notes: Context, format: str) -> None:
    with log.recorded(0) as lines, pytest.raises(PredicateError, match="cannot compare a collection") as caught:
        notes.fetch("Note", format)
    assert (caught.value.entity, caught.value.key) == ("Note", "author.notes.stars")
    assert "Write ANY author.notes.stars" in str(caught.value)
    assert warnings(lines) == []


def test_key_path_through_nil_is_nil(notes: Context) -> None:
    notes.insert("Note", title="of no author")
    notes.save()
    with log.recorded(0) as lines:
        assert [each["title"] for each in notes.fetch("Note", "author.notes == nil")] == ["of no author"]
        assert len(notes.fetch("Note", "author.notes != nil")) == 30
        assert len(notes.fetch("Note", "author.notes.stars > nil")) == 0
    assert warnings(lines) == []


# Errors name the entity and the key.


@pytest.mark.parametrize("format", ["title < 5", "5 > title", "title BETWEEN {1, 2}"])
def test_comparison_of_different_types_names_entity_and_key(notes: Context, format: str) -> None:
    with pytest.raises(PredicateError, match="cannot be ordered") as caught:
        notes.fetch("Note", format)
    assert (caught.value.entity, caught.value.key) == ("Note", "title")
    assert "Note.title is a string (String)" in str(caught.value)
    assert "a number" in str(caught.value)


def test_comparison_error_in_memory_names_entity_and_key(notes: Context) -> None:
    note = notes.fetch("Note")[0]
    with pytest.raises(PredicateError, match="cannot be ordered") as caught:
        Predicate("title < 5").evaluate(note)
    assert (caught.value.entity, caught.value.key) == ("Note", "title")
    with pytest.raises(PredicateError) as caught:
        notes.fetch("Note", "stars BEGINSWITH 'x'")
    assert (caught.value.entity, caught.value.key) == ("Note", "stars")
    for format in ("stars BEGINSWITH 'x'", "'x' BEGINSWITH stars", "stars MATCHES 'x'"):
        with pytest.raises(PredicateError, match=r"compares strings.*Note\.stars") as caught:
            Predicate(format).evaluate(note)
        assert (caught.value.entity, caught.value.key) == ("Note", "stars"), format
    with pytest.raises(PredicateError, match=r"TOKENMATCHES compares strings.*Note\.stars"):
        Predicate("stars TOKENMATCHES 'x'").evaluate(note)


@pytest.mark.parametrize(
    ("derived", "reason"),
    [
        ("derived string? = uppercase:(", "cannot be derived"),
        ("derived string? = titel", 'did you mean "title"'),
        ("derived int? = tagz.@count", 'did you mean "tags"'),
        ("derived int? = uppercase:(title)", "cannot compute"),
    ],
)
def test_derivation_error_names_the_attribute(tmp_path: Path, derived: str, reason: str) -> None:
    with (
        pytest.raises(Exception, match=reason) as caught,
        Container(Model({**NOTES, "Note": {**NOTES["Note"], "loud": derived}}), tmp_path / "notes.sqlite"),
    ):
        pass
    error: Any = caught.value
    assert (error.entity, error.key) == ("Note", "loud")
    assert "Note.loud" in str(error)


# Columns and batches.


def test_dictionaries_are_read_in_batches(stored: Context) -> None:
    request = FetchRequest(
        "Note", sort="title", result_type="dictionaries", columns=["title", "objectID"], batch_size=10
    )
    with log.recorded() as lines:
        rows = stored.execute(request)
    assert isinstance(rows, LazyRows)
    assert (len(rows), rows.batch_size) == (30, 10)
    assert [re.sub(r" ORDER.*", "", line) for line in selects(lines)] == ["SELECT t0.Z_PK FROM ZNOTE t0"]
    with log.recorded() as lines:
        assert rows[12]["title"] == "note 12"
        assert rows[19]["title"] == "note 19"
        assert rows[-20]["title"] == "note 10"
    [select] = selects(lines)
    assert "ZTITLE" in select
    assert "Z_PK IN" in select
    assert [row["title"] for row in rows] == [f"note {number:02}" for number in range(30)]
    assert isinstance(rows[0]["objectID"], ObjectID)


def test_batched_dictionaries_equal_unbatched_ones(notes: Context) -> None:
    columns: list[Any] = ["title", {"twice": "stars * 2"}, "author.name", "objectID"]
    for predicate, limit, offset in [(None, 0, 0), ("stars > 7", 11, 3), ("ANY tags.name == 'red'", 0, 1)]:
        found = [
            list(notes.execute(FetchRequest(
                "Note", predicate, sort="-title", limit=limit, offset=offset, result_type="dictionaries",
                columns=columns, batch_size=size)))
            for size in (0, 1, 4, 100)
        ]  # fmt: skip
        assert found[0]
        assert all(each == found[0] for each in found)


def test_batched_row_has_the_values_at_the_time_of_reading(stored: Context) -> None:
    request = FetchRequest(
        "Note", sort="title", result_type="dictionaries", columns=["title", "objectID"], batch_size=10
    )
    rows: Any = stored.execute(request)
    gone, changed = stored.fetch("Note", "title == 'note 20'")[0], stored.fetch("Note", "title == 'note 21'")[0]
    stored.delete(gone)
    changed["title"] = "other"
    stored.save()
    assert rows[20]["title"] is None
    assert isinstance(rows[20]["objectID"], ObjectID)
    assert rows[21]["title"] == "other"


def test_batch_size_without_object_id_warns_once(stored: Context) -> None:
    request = FetchRequest("Note", result_type="dictionaries", columns=["title"], batch_size=10)
    groups = FetchRequest(
        "Note", result_type="dictionaries", columns=["author.name", {"n": "count:(title)"}], group_by="author.name",
        batch_size=10,
    )  # fmt: skip
    with log.recorded(0) as lines:
        assert isinstance(stored.execute(request), list)
        stored.execute(request)
        stored.execute(groups)
    first, second = warnings(lines)
    assert "batch size 10" in first
    assert "Note" in first
    assert "objectID" in first
    assert "groups are always read at once" in second


def test_batched_objects_read_only_the_requested_columns(stored: Context) -> None:
    request = FetchRequest("Note", sort="title", columns=["title"], batch_size=10)
    with log.recorded() as lines:
        results: Any = stored.execute(request)
        assert [results[at]["title"] for at in (3, 4, 9)] == ["note 03", "note 04", "note 09"]
    _, select = selects(lines)
    assert "ZTITLE" in select
    assert "ZSTARS" not in select
    assert results[3]["stars"] == 3


def test_small_batch_uses_one_statement(stored: Context) -> None:
    for size, expected in ((7, 5), (3, 10), (16, 2)):
        request = FetchRequest("Note", sort="-title", batch_size=size)
        stored.reset()
        with Container(stored.model, stored.coordinator.stores[0].path) as other:
            context = other.context()
            with log.recorded() as lines:
                results: Any = context.execute(request)
                assert [each["stars"] for each in results] == list(range(29, -1, -1))
            assert len(selects(lines)) == 1 + expected, size


def test_scattered_keys_use_one_statement(stored: Context) -> None:
    ids = [note.id for note in stored.fetch("Note", sort="title")]
    with Container(stored.model, stored.coordinator.stores[0].path) as other:
        context = other.context()
        for places in ([1, 5], [2, 9, 17, 25], [0, 2, 4, 6, 8, 10, 12, 14, 16]):
            request = FetchRequest("Note", "SELF IN %@", [ids[place] for place in places], batch_size=100, sort="title")
            context.reset()
            with log.recorded() as lines:
                found: Any = context.execute(request)
                assert [each["stars"] for each in found] == places
            assert len(selects(lines)) == 2, places


def test_having_predicate_may_refer_to_a_column_by_variable(notes: Context) -> None:
    for having in ("$n > 9", "n > 9", "$n > 9 AND $n < 31"):
        found = notes.fetch_rows(
            "Note", columns=["author.name", {"n": "count:(title)"}], group_by="author.name", having=having
        )
        assert found == [{"author.name": "Ada", "n": 30}]
    assert notes.fetch_rows(
        "Note", columns=["author.name", {"n": "count:(title)"}], group_by="author.name", having="$n > 30"
    ) == []  # fmt: skip
    with pytest.raises(InvalidArgumentError, match=r"\$nn.*did you mean \$n\?"):
        notes.fetch_rows(
            "Note", columns=["author.name", {"n": "count:(title)"}], group_by="author.name", having="$nn > 1"
        )


def test_lazy_rows_compare_equal_to_lists(stored: Context) -> None:
    columns: Any = ["title", "objectID"]
    request = FetchRequest("Note", sort="title", result_type="dictionaries", columns=columns, batch_size=10)
    rows: Any = stored.execute(request)
    whole = stored.fetch_rows("Note", sort="title", columns=columns)
    assert rows == whole
    assert whole == rows
    assert rows == stored.execute(request)
    assert rows != whole[:-1]
    assert rows != whole[::-1]
    assert rows != 5
    none: Any = stored.execute(
        FetchRequest("Note", "stars > 99", result_type="dictionaries", columns=columns, batch_size=10)
    )
    assert none == []
    with pytest.raises(TypeError):
        hash(rows)


def test_lazy_rows_cannot_be_read_off_their_queue(stored: Context) -> None:
    request = FetchRequest("Note", result_type="dictionaries", columns=["title", "objectID"], batch_size=10)
    rows: Any = stored.execute(request)
    caught: list[BaseException] = []

    def read() -> None:
        try:
            rows[0]
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    assert isinstance(caught[0], WrongThreadError)
