"""get_or_create, upsert, count, first and exists of contexts, containers and results; conflicts of nested records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from corestone import (
    ConflictError,
    Container,
    Context,
    InvalidArgumentError,
    Model,
    ModelError,
    TypeMismatchError,
    ValidationError,
)

PODCASTS: dict[str, dict[str, Any]] = {
    "Show": {
        "feed": "string", "title": "string?", "rating": "double = 0", "since": "date?", "cover": "binary?",
        "kind": {"type": "transformable", "optional": True}, "place": {"latitude": "double?", "town": "string?"},
        "episodes": "to-many Episode inverse show", "top": "to-many ordered Episode inverse ranking",
        "@unique": ["feed"],
    },
    "Serial": {"@parent": "Show", "parts": "int16 = 1"},
    "Episode": {
        "guid": "string", "title": "string?", "show": "to-one Show? inverse episodes",
        "ranking": "to-one Show? inverse top", "tags": "to-many Tag inverse episodes", "@unique": ["guid"],
    },
    "Tag": {"name": "string", "episodes": "to-many Episode inverse tags", "@unique": ["name"]},
    "Note": {"text": "string", "plays": "int16 = 0"},
}  # fmt: skip

RECORD: dict[str, Any] = {
    "feed": "u", "title": "T", "since": "2024-01-31", "cover": "AAEC", "kind": [1, 2],
    "place": {"latitude": "1.5", "town": "Ulm"},
    "episodes": [{"guid": "a", "tags": [{"name": "x"}, {"name": "y"}]}, {"guid": "b", "tags": [{"name": "x"}]}],
}  # fmt: skip


@pytest.fixture
def container(tmp_path: Path) -> Iterator[Container]:
    with Container(Model(PODCASTS), tmp_path / "podcasts.sqlite", unsaved="discard") as container:
        yield container


@pytest.fixture
def ctx(container: Container) -> Context:
    return container.context()


def counts(container: Container) -> list[int]:
    return [container.count(entity) for entity in ("Show", "Episode", "Tag")]


def test_get_or_create_returns_one_object(ctx: Context) -> None:
    made, is_new = ctx.get_or_create("Show", {"rating": 3.5}, feed="u", title=None)
    assert is_new
    assert made.rating == 3.5
    assert ctx.get_or_create("Show", {"rating": 5}, feed="u", title=None) == (made, False)
    assert made.rating == 3.5
    ctx.save()
    assert ctx.get_or_create("Show", feed="u") == (made, False)
    episode, is_new = ctx.get_or_create("Episode", guid="a", show=made)
    assert (episode.show, is_new) == (made, True)
    assert ctx.fetch("Show").get_or_create({"title": "V"}, feed="v")[0].title == "V"


def test_get_or_create_needs_values_that_identify_one_object(ctx: Context) -> None:
    with pytest.raises(InvalidArgumentError, match="get_or_create of Tag does not have values") as caught:
        ctx.get_or_create("Tag")
    assert caught.value.entity == "Tag"
    ctx.insert_many("Note", [{"text": "a"}, {"text": "a"}])
    with pytest.raises(InvalidArgumentError, match=r'^several objects of Note have the values text="a"; pass more'):
        ctx.get_or_create("Note", text="a")
    with pytest.raises(ModelError, match='Note does not have a property "txt"; did you mean "text"'):
        ctx.get_or_create("Note", txt="a")
    with pytest.raises(InvalidArgumentError, match=r"^Tag\.episodes is a to-many relationship, by which"):
        ctx.get_or_create("Tag", episodes=[])
    with pytest.raises(InvalidArgumentError, match="these results can contain objects of any entity"):
        ctx.inserted.get_or_create(name="a")


def test_upsert_inserts_and_updates_nested_records(ctx: Context) -> None:
    show = ctx.upsert("Show", RECORD)
    assert show.is_inserted
    assert (show.place, show.cover, show.kind) == ({"latitude": 1.5, "town": "Ulm"}, b"\x00\x01\x02", [1, 2])
    assert [ctx.count(entity) for entity in ("Show", "Episode", "Tag")] == [1, 2, 2]
    ctx.save()
    assert ctx.upsert("Show", RECORD) == show
    assert not ctx.has_changes, "equal values must not count as changes"
    again = ctx.upsert("Show", feed="u", rating="4.5", episodes=[{"guid": "c"}], **{"place.town": "Bonn"})
    assert (again, show.rating, show.title, show.place["town"]) == (show, 4.5, "T", "Bonn")
    assert sorted(each.guid for each in show.episodes) == ["a", "b", "c"]
    ctx.save()


def test_upsert_finds_unsaved_objects_of_the_caller(ctx: Context) -> None:
    tag = ctx.insert("Tag", name="x")
    show = ctx.upsert("Show", RECORD)
    assert {each.name for episode in show.episodes for each in episode.tags} == {"x", "y"}
    assert ctx.upsert("Tag", name="x") == tag
    ctx.save()
    tag.name = "renamed"
    assert ctx.upsert("Tag", name="renamed") == tag
    assert ctx.upsert("Tag", name="x") != tag
    ctx.save()


def test_upsert_matches_other_attributes_and_uris(ctx: Context) -> None:
    note = ctx.upsert("Note", text="a", plays="3", match="text")
    assert note.plays == 3
    ctx.save()
    assert ctx.upsert("Note", {"text": "a", "plays": 4}, match=["text"]) == note
    assert ctx.upsert("Note", {"@id": note.id.uri, "text": "b"}) == note
    assert ctx.fetch("Note").upsert(text="b", match="text") == note
    with pytest.raises(
        InvalidArgumentError, match=r"Note does not have a unique constraint; pass match, the properties"
    ):
        ctx.upsert("Note", text="a")
    with pytest.raises(
        InvalidArgumentError, match=r"does not have a value for the unique constraint \(feed\); pass match"
    ):
        ctx.upsert("Show", title="a")
    with pytest.raises(
        InvalidArgumentError, match=r"^Note\.plays is part of match, but the record does not have a value"
    ):
        ctx.upsert("Note", text="a", match="plays")


def test_upsert_replaces_ordered_members_and_accepts_objects(ctx: Context) -> None:
    show = ctx.upsert("Show", {"feed": "u", "top": [{"guid": "b"}, {"guid": "a"}]})
    ctx.save()
    ctx.upsert("Show", {"feed": "u", "top": [{"guid": "a"}, {"guid": "c"}]})
    assert [each.guid for each in show.top] == ["a", "c"]
    episode = ctx.upsert("Episode", guid="d", show=show)
    assert ctx.upsert("Episode", guid="e", show=show.id if not show.is_inserted else show).show == show
    assert ctx.upsert("Episode", guid="d", show=None) == episode
    assert episode.show is None


CHAPTERS: dict[str, dict[str, Any]] = {
    "Episode": {
        "guid": "string", "@unique": ["guid"],
        "chapters": "to-many Chapter inverse episode", "parts": "to-many ordered Part inverse episode",
    },
    "Chapter": {"start": "int", "title": "string?", "episode": "to-one Episode? inverse chapters"},
    "Part": {"start": "int", "title": "string?", "episode": "to-one Episode? inverse parts"},
}  # fmt: skip


@pytest.fixture
def chapters(tmp_path: Path) -> Iterator[Container]:
    model = Model(CHAPTERS)
    for entity in ("Chapter", "Part"):
        model[entity].unique("episode", "start")
    with Container(model, tmp_path / "chapters.sqlite", unsaved="discard") as container:
        yield container


@pytest.mark.parametrize("key", ["chapters", "parts"])
def test_upsert_matches_a_constraint_with_the_owner_of_a_nested_record(chapters: Container, key: str) -> None:
    entity = "Chapter" if key == "chapters" else "Part"
    for title in ("one", "two"):
        members = [{"start": 0}, {"start": 9, "title": title}]
        chapters.upsert("Episode", [{"guid": "a", key: members}, {"guid": "b", key: members}])
    assert chapters.count(entity) == 4
    assert sorted(item.title for item in chapters.fetch(entity, "start == 9")) == ["two", "two"]
    assert {item.episode.guid for item in chapters.fetch(entity)} == {"a", "b"}


def test_upsert_matches_a_constraint_with_a_relationship(chapters: Container) -> None:
    ctx = chapters.context()
    episode = ctx.insert("Episode", guid="a")
    first = ctx.upsert("Chapter", episode=episode, start=1, title="new")
    assert first.is_inserted
    assert ctx.upsert("Chapter", episode=episode, start=1, title="unsaved") is first
    ctx.save()
    other = chapters.context()
    for target in (episode.id, episode.id.uri, {"guid": "a"}):
        found = other.upsert("Chapter", {"episode": target, "start": 1, "title": str(target)})
        assert (found.is_inserted, found.title, found.episode.guid) == (False, str(target), "a")
    assert other.upsert("Chapter", episode={"guid": "b"}, start=1).is_inserted
    assert other.upsert("Chapter", episode={"guid": "a"}, start=2, match=["episode", "start"]).is_inserted
    with pytest.raises(InvalidArgumentError, match=r"Chapter\.episode is part of match"):
        other.upsert("Chapter", start=2, match=["episode", "start"])
    assert [each.count("Chapter") for each in (ctx, other)] == [1, 3]


def test_upsert_accepts_keys_of_a_class_as_match(ctx: Context) -> None:
    cls: Any = ctx.model["Note"].object_class
    note = ctx.upsert(cls, {"text": "a"}, match=cls.text)
    assert ctx.upsert(cls, {"text": "a", "plays": 2}, match=[cls.text]) is note
    with pytest.raises(TypeMismatchError, match="is not a key path"):
        ctx.upsert(cls, {"text": "a"}, match=3)  # type: ignore[call-overload]


def test_upsert_of_a_context_rejects_a_list(ctx: Context) -> None:
    with pytest.raises(TypeMismatchError, match="takes a dictionary, not a list; call it for each dictionary"):
        ctx.upsert("Show", [RECORD])  # type: ignore[call-overload]


def test_a_failed_upsert_restores_the_context(ctx: Context) -> None:
    show = ctx.upsert("Show", {"feed": "u", "title": "T", "episodes": [{"guid": "a"}]})
    ctx.save()
    with pytest.raises(InvalidArgumentError, match='Episode does not have a property "titel"; did you mean "title"'):
        ctx.upsert("Show", feed="u", title="new", episodes=[{"guid": "b"}, {"guid": "a", "titel": "x"}])
    assert (show.title, [each.guid for each in show.episodes], list(ctx.inserted)) == ("T", ["a"], [])
    with pytest.raises(
        TypeMismatchError, match=r"^Show\.place\.latitude takes Double, but \"x\" cannot be converted"
    ) as caught:
        ctx.upsert("Show", feed="v", place={"latitude": "x"})
    assert (caught.value.entity, caught.value.key) == ("Show", "place.latitude")
    for wrong, message in (
        ({"feed": "u", "episodes": {"guid": "a"}}, r"^Show\.episodes takes a list of records"),
        ({"feed": "u", "episodes": [1.5]}, r"^Show\.episodes takes a record or the name of an object"),
        ({"feed": "u", "episodes": [{"@entity": "Tag"}]}, r"^a record of Tag cannot be the value of a relationship to"),
        ({"feed": "u", "place": 5}, r"^Show\.place is composite and takes a dictionary of its elements, not 5$"),
    ):
        with pytest.raises(TypeMismatchError, match=message):
            ctx.upsert("Show", wrong)
    assert ctx.fetch("Show")[0].title == "T"


def test_upsert_of_a_subentity(ctx: Context) -> None:
    serial = ctx.upsert("Show", {"@entity": "Serial", "feed": "s", "parts": 3})
    assert serial.parts == 3
    assert ctx.upsert("Show", feed="s", title="found") == serial
    ctx.insert("Show", feed="plain")
    with pytest.raises(TypeMismatchError, match=r"^the unique value of Serial\.feed belongs to an object of Show"):
        ctx.upsert("Serial", feed="plain")


def test_containers_upsert_records_in_one_transaction(container: Container) -> None:
    record = container.upsert("Show", RECORD)
    assert (record["title"], len(record["episodes"])) == ("T", 2)
    both = container.upsert("Show", [{"feed": "v", "episodes": [{"guid": "a"}]}, {"feed": "u", "title": None}])
    assert [each["feed"] for each in both] == ["v", "u"]
    assert both[1]["@id"] == record["@id"]
    assert counts(container) == [2, 2, 2]
    with pytest.raises(ValidationError, match="feed"):
        container.upsert("Show", {"feed": None, "title": "T"}, match="title")
    with pytest.raises(TypeMismatchError, match=r"^record 2: Show\.since takes Date"):
        container.upsert("Show", [{"feed": "w"}, {"feed": "x", "since": "soon"}])
    with pytest.raises(InvalidArgumentError, match=r'^Episode\.show refers to "nobody", which is not the "@id"'):
        container.upsert("Episode", {"guid": "q", "show": "nobody"})
    assert counts(container) == [2, 2, 2]


def test_containers_count_find_and_create(container: Container) -> None:
    assert not container.exists("Tag")
    record, is_new = container.get_or_create("Tag", name="news")
    assert (record["name"], is_new) == ("news", True)
    assert container.get_or_create("Tag", name="news") == (record, False)
    assert container.first("Tag", "name == %@", "news").name == "news"
    assert container.first("Tag", "name == 'x'") is None
    assert container.count("Tag", "name == %@", "news") == 1
    assert container.count("Tag", by="name") == {"news": 1}
    assert container.exists("Tag", "name == %@", "news")


def test_results_count_and_test_in_memory(ctx: Context) -> None:
    ctx.insert_many("Note", [{"text": "a", "plays": 1}, {"text": "b", "plays": 2}])
    notes = ctx.fetch("Note", sort="text")
    assert notes.count() == 2
    assert notes.count("plays > %d", 1) == 1
    assert notes.count(notes[0]) == 1
    assert notes.exists()
    assert not notes.exists("plays > 5")
    assert notes[0].text == "a"


def test_conflicts_of_nested_records_offer_the_existing_object(container: Container) -> None:
    show = container.insert("Show", {"feed": "u"})
    with pytest.raises(ConflictError, match=rf'pass {{"@id": "{show["@id"]}"}} to refer.*or call upsert') as caught:
        container.insert("Episode", {"guid": "a", "show": {"feed": "u"}})
    [existing] = caught.value.existing
    assert existing.uri == show["@id"]
    episode = container.insert("Episode", {"guid": "a", "show": existing})
    assert episode["show"] == show["@id"]
    assert container.upsert("Episode", {"guid": "b", "show": {"feed": "u"}})["show"] == show["@id"]
    ctx = container.context()
    ctx.insert("Show", feed="u")
    with pytest.raises(ConflictError) as caught:
        ctx.save()
    assert ctx.get(caught.value.existing[0]).feed == "u"
    assert ConflictError("x").existing == ()
