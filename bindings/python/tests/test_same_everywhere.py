"""One answer, whatever the type of the store: where a database and memory could differ, and Core Data's stores do."""

from __future__ import annotations

import ctypes.util
import json
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from conftest import environment

from corestone import (
    ConflictError,
    Container,
    Context,
    FetchRequest,
    InvalidArgumentError,
    Model,
    Predicate,
    PredicateError,
    TypeMismatchError,
    ValidationError,
    log,
)

TYPES = ["SQLite", "XML", "Binary", "InMemory"]
SPEC: dict[str, dict[str, Any]] = {
    "Author": {"name": "string?", "age": "int32?", "books": "to-many Book inverse author"},
    "Book": {
        "title": "string?",
        "rank": "int32 = 0",
        "price": "decimal?",
        "real": "double? nan",
        "place": {"latitude": "double?", "town": "string?"},
        "author": "to-one Author? inverse books",
        "loose": "to-many Author",
    },
}


@pytest.fixture(params=TYPES)
def container(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Container]:
    with Container(Model(SPEC), tmp_path / "books.store", type=request.param, unsaved="discard") as opened:
        yield opened


@pytest.fixture
def ctx(container: Container) -> Context:
    return container.context()


def titles(found: Any) -> list[Any]:
    return [book.title for book in found]


def test_ties_are_ordered_by_key_with_unsaved_objects_last(ctx: Context) -> None:
    for title in "dbac":
        ctx.insert("Book", title=title)
        ctx.save()
    for title in "zy":
        ctx.insert("Book", title=title)
    for sort in ("rank", "-rank", ["price", "-rank"]):
        whole = titles(ctx.fetch("Book", sort=sort))
        assert whole[:4] == ["d", "b", "a", "c"]
        assert set(whole[4:]) == {"y", "z"}
        for limit in (1, 2, 3):
            pages = [titles(ctx.fetch("Book", sort=sort, limit=limit, offset=n)) for n in range(0, 6, limit)]
            assert [title for page in pages for title in page] == whole, (sort, limit)


def test_nil_has_memory_semantics_by_default(ctx: Context) -> None:
    for title in ("x", "y", None):
        ctx.insert("Book", title=title)
    cases = [
        ("title != 'x'", {"y", None}, {"y"}),
        ("NOT (title == 'x')", {"y", None}, {"y"}),
        ("title == 'x'", {"x"}, {"x"}),
        ("title == nil", {None}, {None}),
        ("title != nil", {"x", "y"}, {"x", "y"}),
        ("author.name != 'a'", {"x", "y", None}, set()),
    ]
    for saved in (False, True):
        if saved:
            ctx.save()
        for text, memory, database in cases:
            assert set(titles(ctx.fetch("Book", text))) == memory, (text, saved)
            assert set(titles(ctx.fetch("Book", text, nulls="database"))) == database, (text, saved)


def test_quantifiers_are_logical(ctx: Context) -> None:
    for name, ranks in (("none", []), ("low", [1, 2]), ("mixed", [1, 9]), ("high", [8, 9])):
        author = ctx.insert("Author", name=name)
        author.books = {ctx.insert("Book", rank=rank) for rank in ranks}
    ctx.save()
    for text, names in (
        ("ANY books.rank > 5", {"mixed", "high"}),
        ("SOME books.rank > 5", {"mixed", "high"}),
        ("NOT (ANY books.rank > 5)", {"none", "low"}),
        ("NONE books.rank > 5", {"none", "low"}),
        ("ALL books.rank > 5", {"none", "high"}),
        ("NOT (ALL books.rank > 5)", {"low", "mixed"}),
        ("books.rank == 9", set()),
        ("count:(books) == 2", {"low", "mixed", "high"}),
    ):
        assert {author.name for author in ctx.fetch("Author", text)} == names, text


def test_invalid_predicate_fails_without_rows(ctx: Context) -> None:
    for text, error, words in (
        ("rank > 3 OR title < 5", TypeMismatchError, "title"),
        ("TRUEPREDICATE OR nothing == 1", InvalidArgumentError, "nothing"),
        ("author.nothing == 1", InvalidArgumentError, "nothing"),
    ):
        for call in (ctx.fetch, ctx.count, ctx.fetch_ids):
            with pytest.raises((error, PredicateError), match=words):
                call("Book", text)
    with pytest.raises(PredicateError, match=r'"books.rank > 5" cannot be evaluated: .* Write ANY books.rank > 5'):
        ctx.fetch("Author", "books.rank > 5")
    with pytest.raises(
        PredicateError, match=r'cannot sort Book by "author.books.title": .* such as author.books.@count$'
    ):
        ctx.fetch("Book", sort="author.books.title")


def test_undefined_arithmetic_is_nil_only_in_a_fetch(ctx: Context) -> None:
    ctx.insert("Book", title="a", rank=0)
    ctx.insert("Book", title="b", rank=2, price=3)
    for saved in (False, True):
        if saved:
            ctx.save()
        for text, found in (
            ("4 / rank == 2", ["b"]),
            ("4 / rank == nil", ["a"]),
            ("price + 1 == nil", ["a"]),
            ("price + 1 == 4", ["b"]),
            ("ln:(rank - 3) == nil", ["a", "b"]),
        ):
            assert titles(ctx.fetch("Book", text, sort="title")) == found, (text, saved)
    for text in ("4 / rank == 2", "4 / rank == nil", "price + 1 == nil"):
        with pytest.raises(PredicateError):
            Predicate(text).evaluate({"rank": 0, "price": None})


def test_text_comparison_without_options_is_bytewise(ctx: Context) -> None:
    texts = ["e\u0301", "\u00e9", "E", "e", "Z", "z", "\u212a", "K"]
    for text in texts:
        ctx.insert("Book", title=text)
    ctx.save()
    assert titles(ctx.fetch("Book", sort="title")) == sorted(texts, key=str.encode)
    for text, found in (
        ("title == '\u00e9'", {"\u00e9"}),
        ("title < 'a'", {"E", "Z", "K"}),
        ("title BEGINSWITH '\u00e9'", {"\u00e9", "e\u0301"}),
        ("title ENDSWITH 'e\u0301'", {"\u00e9", "e\u0301"}),
        ("title CONTAINS '\u00e9'", {"\u00e9", "e\u0301"}),
        ("title BEGINSWITH[n] '\u00e9'", {"\u00e9"}),
        ("title BEGINSWITH 'e'", {"e"}),
        ("title BEGINSWITH[n] 'e'", {"e", "e\u0301"}),
        ("title ==[c] 'e'", {"e", "E"}),
        ("title ==[cd] 'e'", {"e", "E", "\u00e9", "e\u0301"}),
        ("title CONTAINS 'K'", {"K"}),
        ("title CONTAINS '\u212a'", {"\u212a"}),
        ("title CONTAINS ''", set()),
    ):
        assert set(titles(ctx.fetch("Book", text))) == found, text


def test_patterns_match_the_whole_text_within_limits(ctx: Context) -> None:
    for title in ("abc", "xabcx", "caf\u00e9", "a" * 40, "ab" * 250_000):
        ctx.insert("Book", title=title)
    for saved in (False, True):
        if saved:
            ctx.save()
        for pattern, found in (("abc", {"abc"}), (".?abc.?", {"abc", "xabcx"}), (r"caf\\u00e9", {"caf\u00e9"})):
            assert set(titles(ctx.fetch("Book", f"title MATCHES '{pattern}'"))) == found, pattern
        for pattern, words in (
            ("[a-z&&[^aeiou]]", "nested set or set operation at byte 4"),
            ("(a+)+[xyz]", "exceeds the limit of 1000000 steps on a string of 40 bytes. Shorten the string, or avoid"),
            ("(a|b)*", "exceeds the limit of 64 MB of memory on a string of 500000 bytes. Shorten the string"),
            ("a" * 40_000, "regular expression is too large"),
        ):
            with pytest.raises(PredicateError, match=words):
                ctx.fetch("Book", "title MATCHES %@", pattern)


def test_groups_are_sorted_by_key(ctx: Context) -> None:
    for number, title in enumerate(["c", "a", None, "b", "a", "c"]):
        ctx.insert("Book", title=title, rank=number % 3, price=Decimal("0.1") * number)
    ctx.save()
    columns: list[Any] = ["title", {"n": "count:(rank)"}, {"total": "sum:(rank)"}]
    rows = ctx.fetch_rows("Book", columns=columns, group_by="title")
    assert [tuple(row.values()) for row in rows] == [(None, 1, 2), ("a", 2, 2), ("b", 1, 0), ("c", 2, 2)]
    for having in ("n > 1", "$n > 1", "count:(rank) > 1"):
        rows = ctx.fetch_rows("Book", columns=columns, group_by="title", having=having)
        assert [row["title"] for row in rows] == ["a", "c"], having
    [row] = ctx.fetch_rows("Book", "rank > 100", columns={"s": "sum:(rank)", "a": "average:(rank)", "m": "max:(price)"})
    assert row == {"s": 0, "a": None, "m": None}
    assert isinstance(row["s"], int)
    [row] = ctx.fetch_rows("Book", columns={"modes": "mode:(rank)"})
    assert row["modes"] == [0, 1, 2]
    wrongs: list[Any] = [{"x": "max:(rank) + rank"}, ["title", {"n": "count:(rank)"}]]
    for wrong in wrongs:
        with pytest.raises(InvalidArgumentError):
            ctx.fetch_rows("Book", columns=wrong)


def test_batch_size_without_effect_is_logged_once(container: Container) -> None:
    ctx = container.context()
    for number in range(4):
        ctx.insert("Book", title=str(number // 2))
    ctx.save()
    # The names are new for each type: the log warns of a fetch once in a process.
    name = f"n{container.store.type}"
    count = {name: "count:(rank)"}
    for more, reason in (
        ({"columns": [{name: "rank"}]}, "rows without an object ID are read at once"),
        ({"columns": [{f"d{name}": "title"}], "distinct": True}, "distinct rows are always read at once"),
        ({"columns": ["title", count], "group_by": "title"}, "groups are always read at once"),
        ({"columns": [{f"i{name}": "SELF"}, "title"]}, None),
    ):
        requests = [FetchRequest("Book", result_type="dictionaries", batch_size=size, **more) for size in (0, 2, 2)]
        with log.recorded(0) as told:
            sizes = [len(ctx.execute(request)) for request in requests]
        assert len(set(sizes)) == 1
        batches = [line for line in told if "batch size 2 of a fetch of dictionaries of Book" in line]
        assert len(batches) == (reason is not None), (reason, told)
        assert reason is None or reason in batches[0], batches


def test_to_many_key_without_quantifier_is_logged_once(tmp_path: Path) -> None:
    for kind in TYPES:
        # The log warns of a key once in a process.
        key = f"of{kind}"
        model = Model({"Author": {key: f"to-many Book{kind}"}, f"Book{kind}": {"title": "string"}})
        with Container(model, tmp_path / kind, type=kind, unsaved="discard") as container:
            ctx = container.context()
            ctx.insert("Author", **{key: {ctx.insert(f"Book{kind}", title="x")}})
            ctx.save()
            with log.recorded(0) as told:
                assert [len(ctx.fetch("Author", f"{key}.title == 'x'")) for _ in range(2)] == [0, 0]
                assert len(ctx.fetch("Author", f"ANY {key}.title == 'x'")) == 1
        lines = [line for line in told if "is not true for any object" in line]
        assert len(lines) == 1, kind
        assert f"write ANY {key}.title == " in lines[0]


def test_to_many_key_without_quantifier_is_a_collection(ctx: Context) -> None:
    ctx.insert("Author", name="a", books=[ctx.insert("Book", title="t", rank=7)])
    for saved in (False, True):
        if saved:
            ctx.save()
        for text, count in (
            ("books.rank == 7", 0), ("books.title IN {'t'}", 0), ("books.rank != 7", 1), ("7 IN books.rank", 1),
            ("books.title CONTAINS 't'", 1),
        ):  # fmt: skip
            assert len(ctx.fetch("Author", text)) == count, text
        for text in ("books.rank > 5", "5 < books.rank", "books.rank <= 7", "books.rank BETWEEN {1, 9}"):
            with pytest.raises(PredicateError, match=r"cannot compare a collection\. Write ANY"):
                ctx.fetch("Author", text)
        for text in ("books.title BEGINSWITH 't'", "books.title LIKE 't'", "books.title MATCHES 't'"):
            with pytest.raises(PredicateError, match=r"compares strings, .* Write ANY books\.title") as caught:
                ctx.fetch("Author", text)
            assert (caught.value.entity, caught.value.key) == ("Author", "books.title")


@pytest.mark.parametrize("symbol", ["BEGINSWITH", "ENDSWITH[cd]", "LIKE", "MATCHES"])
def test_pattern_over_a_to_many_key_fails_without_rows(ctx: Context, symbol: str) -> None:
    for text in (f"books.title {symbol} 't'", f"name == 'nobody' AND books.title {symbol} 't'"):
        with pytest.raises(PredicateError, match=r"Write ANY books\.title"):
            ctx.fetch("Author", text)
    assert len(ctx.fetch("Author", f"ANY books.title {symbol} 't'")) == 0
    assert len(ctx.fetch("Author", f"books.title {symbol} nil")) == 0


def test_unique_values_can_be_exchanged_within_a_save(tmp_path: Path) -> None:
    model = Model({"Seat": {"@unique": ["number"], "number": "int32", "name": "string"}})
    for kind in TYPES:
        with Container(model, tmp_path / kind, type=kind, unsaved="discard") as container:
            ctx = container.context()
            seats = [ctx.insert("Seat", number=number, name=name) for number, name in enumerate("abc")]
            ctx.save()
            for seat, number in zip(seats, (1, 2, 0)):
                seat.number = number
            ctx.save()
            seats[0].number = 7
            ctx.delete(seats[1])
            ctx.insert("Seat", number=2, name="d")
            ctx.save()
            with container.context() as other:
                found = {seat.name: seat.number for seat in other.fetch("Seat")}
            assert found == {"a": 7, "c": 0, "d": 2}, kind
            ctx.insert("Seat", number=0, name="e")
            with pytest.raises(ConflictError) as caught:
                ctx.save()
            assert caught.value.code == 133021, kind


def test_to_many_without_inverse_has_one_owner_only_in_sqlite(container: Container) -> None:
    """In an SQLite store a member has one owner, the last one that added it; in other types it may have several."""
    ctx = container.context()
    one, two = (ctx.insert("Author", name=name) for name in ("one", "two"))
    first = ctx.insert("Book", title="first", loose={one, two})
    second = ctx.insert("Book", title="second", loose={two})
    ctx.save()
    second.loose = {one, two}
    ctx.save()
    with container.context() as other:
        found = {book.title: {author.name for author in book.loose} for book in other.fetch("Book")}
    several = container.store.type != "SQLite"
    assert found == {"first": {"one", "two"} if several else set(), "second": {"one", "two"}}
    assert first.title == "first"


def test_nan_and_infinities_are_kept_when_allowed(container: Container) -> None:
    ctx = container.context()
    for title, value in (("nan", float("nan")), ("inf", float("inf")), ("-inf", float("-inf"))):
        ctx.insert("Book", title=title, real=value)
    ctx.save()
    with container.context() as other:
        found = {book.title: book.real for book in other.fetch("Book")}
    assert (found["inf"], found["-inf"]) == (float("inf"), float("-inf"))
    # SQLite has no way to write it.
    assert found["nan"] is None if container.store.type == "SQLite" else found["nan"] != found["nan"]


def test_composite_omits_elements_without_a_value(container: Container) -> None:
    ctx = container.context()
    whole = {"latitude": 1.5, "town": "Bern"}
    for title, given, expected in (
        ("whole", whole, whole),
        ("half", {"town": "Bern"}, {"town": "Bern"}),
        ("nil", {"latitude": None, "town": "Ulm"}, {"town": "Ulm"}),
        ("empty", {"latitude": None}, None),
        ("none", None, None),
    ):
        book = ctx.insert("Book", title=title, place=given)
        assert book.place == expected, title
        ctx.save()
        with container.context() as other:
            assert other.fetch("Book", "title == %@", title)[0].place == expected, title
    assert titles(ctx.fetch("Book", "place.town == 'Bern'", sort="title")) == ["half", "whole"]
    assert set(titles(ctx.fetch("Book", "place.latitude == nil"))) == {"half", "nil", "empty", "none"}


def test_required_elements_are_validated_when_the_composite_has_a_value(tmp_path: Path) -> None:
    model = Model({"Note": {"place": {"latitude": "double", "town": "string?"}}})
    for kind in TYPES:
        with Container(model, tmp_path / kind, type=kind, unsaved="discard") as container:
            ctx = container.context()
            ctx.insert("Note", place={"town": "Bern"})
            with pytest.raises(ValidationError) as caught:
                ctx.save()
            assert (caught.value.entity, caught.value.key) == ("Note", "place.latitude"), kind


ORDERS = """
import json, sys
from corestone import Container, Model, SortDescriptor
for kind in ("SQLite", "InMemory"):
    with Container(Model({"N": {"t": "string"}}), f"{kind}.store", type=kind, unsaved="discard") as container:
        ctx = container.context()
        for texts in json.loads(sys.argv[2]):
            ctx.insert_many("N", [{"t": text} for text in reversed(texts)])
            ctx.save()
            found = [each.t for each in ctx.fetch("N", sort=SortDescriptor("t", selector=sys.argv[1]))]
            print(json.dumps(found))
            for each in ctx.fetch("N"):
                ctx.delete(each)
            ctx.save()
"""


@pytest.mark.parametrize("icu", ["off", ""])
@pytest.mark.parametrize("selector", ["localizedCompare:", "localizedStandardCompare:"])
def test_locale_sort_order_is_correct_with_and_without_icu(tmp_path: Path, icu: str, selector: str) -> None:
    """Symbols, digits, letters; then accents; then small letters before capitals. Only ICU supports Swedish."""
    swedish = ["a", "z", "\u00e4"] if not icu and ctypes.util.find_library("icui18n") else ["a", "\u00e4", "z"]
    orders = [["-", "1", "a", "A", "\u00e1", "ab", "b", "z"], swedish]
    # Numbers in their order, with ICU and without.
    orders += [["file-1", "file-01", "file-2", "file-10"]] if "Standard" in selector else []
    surroundings = {**environment(), "LC_ALL": "sv_SE.UTF-8", "CORESTONE_ICU": icu}
    words = [sys.executable, "-c", ORDERS, selector, json.dumps(orders)]
    done = subprocess.run(words, cwd=tmp_path, env=surroundings, capture_output=True, text=True, check=True)
    assert [json.loads(line) for line in done.stdout.splitlines()] == orders * 2, done.stderr


def test_fetch_sees_unsaved_values_of_the_fetched_objects_only(ctx: Context) -> None:
    author = ctx.insert("Author", name="old")
    for title in "ab":
        ctx.insert("Book", title=title, author=author)
    ctx.save()
    author.name = "new"
    for text, found in (("author.name == 'old'", ["a", "b"]), ("author.name == 'new'", [])):
        assert titles(ctx.fetch("Book", text, sort="title")) == found, text
    # An object with changes of its own is judged by what it leads to now.
    ctx.fetch("Book", "title == 'a'")[0].rank = 5
    assert titles(ctx.fetch("Book", "author.name == 'new'")) == ["a"]
    assert titles(ctx.fetch("Book", "author.name == 'old'")) == ["b"]
    ctx.save()
    assert titles(ctx.fetch("Book", "author.name == 'new'", sort="title")) == ["a", "b"]


def test_refresh_keeps_unsaved_objects_unchanged(ctx: Context) -> None:
    saved = ctx.insert("Book", title="saved")
    ctx.save()
    new = ctx.insert("Book", title="new", rank=7)
    saved.title = "changed"
    for merge in (True, False):
        ctx.refresh(new, merge=merge)
        assert (new.title, new.rank, new.is_inserted) == ("new", 7, True)
    ctx.refresh(saved, merge=True)
    assert saved.title == "changed"
    ctx.refresh(saved, merge=False)
    assert saved.title == "saved"


def test_changed_values_follow_inverse_relationships(ctx: Context) -> None:
    author = ctx.insert("Author", name="a")
    book = ctx.insert("Book", title="b", author=author)
    assert book.changed_values() == {"title": "b", "rank": 0, "author": author}
    assert author.has_persistent_changed_values
    ctx.save()
    for obj in (book, author):
        assert (obj.changed_values(), obj.has_persistent_changed_values) == ({}, False)
    for name, value, former in (
        ("title", "c", "b"),
        ("rank", 1, 0),
        ("author", None, author),
        ("price", Decimal(1), None),
    ):
        setattr(book, name, value)
        assert book.changed_values() == {name: value}
        assert book.has_persistent_changed_values
        setattr(book, name, former)
        assert (book.changed_values(), book.has_persistent_changed_values) == ({}, False), name
    ctx.rollback()
    ctx.refresh_all()
    # Members that were not loaded yet stay so.
    book.author = None
    assert author.changed_values() == {"books": None}


def test_unknown_variable_of_a_fetched_property_fails_when_read(tmp_path: Path) -> None:
    model = Model({"Note": {"name": "string?"}})
    model["Note"].fetched(
        "same", "Note", "name == $FETCH_SOURCE.name AND $FETCHED_PROPERTY.name == 'same'", sort="name"
    )
    model["Note"].fetched("wrong", "Note", "name == $OTHER")
    model["Note"].fetched("info", "Note", "name == $FETCHED_PROPERTY.userInfo.key")
    for kind in TYPES:
        with Container(model, tmp_path / kind, type=kind, unsaved="discard") as container:
            ctx = container.context()
            note = ctx.insert("Note", name="a")
            ctx.save()
            assert [each.name for each in note.same] == ["a"]
            assert list(note.info) == []
            with pytest.raises(PredicateError, match="OTHER"):
                list(note.wrong)


def test_value_changed_in_place_is_saved_when_set_again(tmp_path: Path) -> None:
    model = Model({"Note": {"box": "transformable?"}})
    for kind in TYPES:
        with Container(model, tmp_path / kind, type=kind, unsaved="discard") as container:
            ctx = container.context()
            note = ctx.insert("Note", box=[1, 2])
            ctx.save()
            note.box.append(3)
            note.box = list(note.box)
            assert ctx.has_changes
            ctx.save()
            with container.context() as other:
                assert other.fetch("Note")[0].box == [1, 2, 3], kind


@pytest.mark.parametrize("kind", [kind for kind in TYPES if kind != "InMemory"])
def test_object_ids_are_equal_across_coordinators_with_equal_models(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "books.store"
    with Container(Model(SPEC), path, type=kind) as one:
        ctx = one.context()
        author = ctx.insert("Author", name="Ada", books=[ctx.insert("Book", title="A")])
        ctx.save()
        ids = [author.id, *(book.id for book in author.books)]
        with Container(Model(SPEC), path, type=kind, read_only=True) as other:
            found = other.context()
            same = [found.fetch(name)[0].id for name in ("Author", "Book")]
            # Both have the same key.
            assert ids == same
            assert len({*ids, *same}) == 2
            assert ids[0] != same[1]
            for text, argument in (("author == %@", ids[0]), ("author IN %@", [ids[0]]), ("SELF == %@", ids[1])):
                assert titles(found.fetch("Book", text, argument)) == ["A"], text
                assert [book.title for book in found.fetch("Book") if Predicate(text, argument).evaluate(book)] == ["A"]
            assert len(found.fetch("Book", "author == %@", ids[1])) == 0
