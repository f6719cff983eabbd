"""Classes that declare the entities of a model."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, ClassVar, Optional
from uuid import UUID, uuid4

import pytest

from corestone import AttributeType, Container, Context, InvalidArgumentError, Model, TypeMismatchError, ValidationError
from corestone.declarative import (
    URI,
    Attribute,
    Entity,
    OrderedToMany,
    ToMany,
    attribute,
    derived,
    fetched,
    float32,
    index,
    int16,
    int32,
    now,
    to_many,
    to_one,
    unique,
)


class State(enum.Enum):
    NEW = "new"
    PLAYED = "played"


class Rating(enum.IntEnum):
    POOR = 1
    GOOD = 2


@dataclass(frozen=True)
class Point:
    latitude: float
    longitude: float = 0.0


@dataclass
class Studio:
    name: str
    point: Point | None = None
    state: Optional[State] = None


class Base(Entity, abstract=True):
    guid: UUID = attribute(default=uuid4, unique=True)
    id_: str | None


class Show(Base, user_info={"kind": "show"}, configurations="Library"):
    limit: ClassVar[int] = 3
    title: Attribute[str] = attribute(indexed=True, minimum=1, renaming_identifier="name")
    homepage: URI | None
    class_: str | None
    episodes: ToMany[Episode] = to_many(delete="cascade")
    episode_count: int | None = derived("episodes.@count")
    studio: Studio | None


class Episode(Base, unique=[("show", "number")], configurations=["Library"]):
    title: str
    number: int32 = 0
    show: Show | None = to_one(inverse="episodes")
    tags: ToMany[Tag]
    chapters: list[Chapter]
    plays: int = attribute("int16", default=0, minimum=0, maximum=1000)
    at: datetime = now
    day: Optional[date] = date(2024, 2, 29)
    length: float32 | None
    price: Decimal = Decimal("1.50")
    cover: bytes | None = attribute(external_storage=True)
    state: State = State.NEW
    rating: Rating | None = attribute("int16")
    extras: Any = attribute("transformable", optional=True)
    cache: Any = attribute(transient=True, optional=True)
    size: Annotated[int, AttributeType.INTEGER_32] = 7
    siblings: tuple[Episode, ...] = fetched("show == $FETCH_SOURCE.show AND SELF != $FETCH_SOURCE", sort="number")
    by_date = index("-at", "number")
    by_place = index("number", "plays", kind="rtree")
    by_sum = index(("number + plays", "int64"), where="plays > 0")
    one_title = unique("title", "at")

    def validate_title(self, value: str) -> str | None:
        if not value.strip():
            raise ValueError("a title cannot be blank")
        return value.strip() if value != value.strip() else None

    def validate_state(self, value: State) -> None:
        assert isinstance(value, State)

    def play(self) -> None:
        self.plays += 1
        self.state = State.PLAYED


class Special(Episode):
    reason: str = "unknown"


class Tag(Entity):
    name: str
    episodes: ToMany[Episode]


class Chapter(Entity, renaming_identifier="Part", version_hash_modifier="2"):
    title: str
    start: int16
    episode: Episode | None


MODEL = Model(Show, Episode, Special)


@pytest.fixture
def context(tmp_path: Path) -> Iterator[Context]:
    with Container(MODEL, tmp_path / "a.sqlite", unsaved="discard", sync="normal") as container:
        yield container.context()


def test_the_model_is_that_of_the_dictionary_form() -> None:
    common = {"@parent": "Base"}
    expected = Model(
        {
            "Base": {"@abstract": True, "@unique": ["guid"], "guid": "uuid", "id": "string?"},
            "Show": {
                **common, "@user_info": {"kind": "show"},
                "title": "string indexed min 1 renaming_identifier name", "homepage": "uri?", "class": "string?",
                "episodes": "to-many Episode inverse show delete cascade",
                "episode_count": "derived int? = episodes.@count",
                "studio": {"name": "string", "point": {"latitude": "double", "longitude": "double"},
                           "state": "string?"},
            },
            "Episode": {
                **common, "@unique": [["show", "number"], ["title", "at"]], "title": "string", "number": "int32 = 0",
                "show": "to-one Show? inverse episodes", "tags": "to-many Tag inverse episodes",
                "chapters": "to-many ordered Chapter inverse episode", "plays": "int16 min 0 max 1000 = 0",
                "at": "date",
                "day": "date? = 2024-02-29T00:00:00Z", "length": "float?", "price": "decimal = 1.50",
                "cover": "binary? external", "state": "string = new", "rating": "int16?", "extras": "transformable?",
                "cache": "undefined? transient", "size": "int32 = 7",
                "@indexes": {"by_date": ["-at", "number"]},
            },
            "Special": {"@parent": "Episode", "reason": "string = unknown"},
            "Tag": {"name": "string", "episodes": "to-many Episode inverse tags"},
            "Chapter": {"@renaming_identifier": "Part", "title": "string", "start": "int16",
                        "episode": "to-one Episode? inverse chapters"},
        }
    )  # fmt: skip
    expected["Episode"].index("by_place", "number", "plays", kind="rtree")
    expected["Episode"].index("by_sum", ("number + plays", "int64"), where="plays > 0")
    expected["Episode"].fetched(
        "siblings", "Episode", "show == $FETCH_SOURCE.show AND SELF != $FETCH_SOURCE", sort="number"
    )
    expected["Chapter"].version_hash_modifier = "2"
    expected.configuration("Library", "Show", "Episode")
    assert [change.text for change in expected.diff(MODEL)] == []
    assert MODEL.checksum == expected.checksum


def test_values_have_the_annotated_types(context: Context) -> None:
    show = context.insert(
        Show, title="News", class_="a", homepage="https://example.org", studio=Studio("A", Point(1.0))
    )
    before = datetime.now(timezone.utc)
    episode = context.insert(Episode, title="Pilot", show=show, extras=[1, {"a": 2}], rating=Rating.GOOD)
    assert (episode.state, episode.rating, episode.price, episode.size) == (State.NEW, Rating.GOOD, Decimal("1.5"), 7)
    assert isinstance(episode.rating, Rating)
    assert episode.day == date(2024, 2, 29)
    assert before <= episode.at <= before + timedelta(minutes=1)
    assert isinstance(episode.guid, UUID)
    assert show.studio == Studio("A", Point(1.0, 0.0))
    assert (show.class_, show["class"], show.homepage) == ("a", "a", "https://example.org")
    chapter = context.insert(Chapter, title="Intro", start=0)
    episode.chapters.append(chapter)
    episode.tags = {context.insert(Tag, name="x")}
    context.save()
    context.refresh(episode)
    context.refresh(show)
    assert (episode.state, show.studio, show.episode_count) == (State.NEW, Studio("A", Point(1.0, 0.0)), 1)
    assert chapter.episode is episode
    assert episode.extras == [1, {"a": 2}]
    episode.play()
    assert episode.changed_values() == {"plays": 1, "state": State.PLAYED}
    assert episode.committed_value("state") is State.NEW
    context.save()
    other = context.insert(Special, title=" Two ", show=show, number=2)
    context.save()
    assert other.title == "Two"  # the validation method replaced the value
    assert episode.siblings == (other,)
    assert isinstance(other, Episode)
    assert episode.get("state", "day") == (State.PLAYED, date(2024, 2, 29))
    assert episode.to_dict("state", "rating") == {"state": State.PLAYED, "rating": Rating.GOOD}


def test_functions_for_defaults_are_called_for_each_insertion(context: Context) -> None:
    first, second = context.insert(Episode, title="1"), context.insert(Special, title="2")
    assert first.guid != second.guid
    given = uuid4()
    assert context.insert(Episode, title="3", guid=given).guid == given
    later = context.new(Episode, title="4", guid=given)
    context.insert_object(later)
    assert later.guid == given
    context.insert_many(Episode, [{"title": "5"}, {"title": "6"}])
    many = context.fetch(Episode, "title >= '5'", sort="title")
    assert len({each.guid for each in many}) == 2


def test_an_own_hook_runs_after_the_defaults(tmp_path: Path) -> None:
    class Note(Entity):
        at: datetime = now
        copy: datetime | None

        def awake_from_insert(self) -> None:
            self.copy = self.at

    class Reminder(Note):
        text: str = "?"
        token: UUID = attribute(default=uuid4)

        def awake_from_insert(self) -> None:
            self.text = str(self.token)
            super().awake_from_insert()

    with Container([Note, Reminder], tmp_path / "a.sqlite", unsaved="discard") as container:
        reminder = container.context().insert(Reminder)
        assert reminder.copy == reminder.at
        assert reminder.text == str(reminder.token)


def test_class_variables_are_keys_of_queries(context: Context) -> None:
    show = context.insert(Show, title="News", id_="7")
    context.insert(Episode, title="Pilot", show=show, state=State.PLAYED)
    context.insert(Episode, title="Other", number=1)
    context.save()
    state: Any = Episode.state
    assert [each.title for each in context.fetch(Episode, state == State.PLAYED)] == ["Pilot"]
    assert [each.title for each in context.fetch(Episode, "state == %@", State.NEW)] == ["Other"]
    assert [each.title for each in context.fetch(Episode, "state IN %@", [State.NEW])] == ["Other"]
    owner: Any = Episode.show
    assert [each.title for each in context.fetch(Episode, owner.title == "News")] == ["Pilot"]
    identifier: Any = Show.id_
    assert context.fetch(Show, identifier == "7")[0] is show
    rows = context.fetch(Episode, sort="title").to_dicts("title", "state")
    assert rows == [{"title": "Other", "state": State.NEW}, {"title": "Pilot", "state": State.PLAYED}]


def test_a_value_outside_an_enumeration_is_refused(context: Context) -> None:
    episode: Any = context.insert(Episode, title="a")
    episode.state = "played"
    assert episode.state is State.PLAYED
    with pytest.raises(InvalidArgumentError, match=r"Episode\.state takes a member of State .* not \"gone\"") as caught:
        episode.state = "gone"
    assert (caught.value.entity, caught.value.key, caught.value.value) == ("Episode", "state", "gone")
    with pytest.raises(InvalidArgumentError, match=r"Episode\.state takes a member"):
        context.insert(Episode, title="b", state="gone")
    with pytest.raises(TypeMismatchError, match=r"Episode\.day takes a date without a time"):
        episode.day = datetime.now(timezone.utc)
    with pytest.raises(TypeMismatchError, match=r"Show\.studio takes an instance of Studio"):
        context.insert(Show, title="c", studio=3)
    assert context.insert(Show, title="d", studio={"name": "A"}).studio == Studio("A")
    context.save()  # the point is None
    context.insert(Show, title="e", studio={"state": State.NEW})
    with pytest.raises(ValidationError, match=r"Show\.studio\.name is required"):
        context.save()


def test_validation_methods_and_bounds(context: Context) -> None:
    context.insert(Episode, title="  ")
    with pytest.raises(ValidationError, match="a title cannot be blank") as caught:
        context.save()
    assert (caught.value.entity, caught.value.key) == ("Episode", "title")
    context.rollback()
    context.insert(Episode, title="a", plays=1001)
    with pytest.raises(ValidationError) as caught:
        context.save()
    assert caught.value.key == "plays"


def test_an_object_does_not_take_unknown_attributes(context: Context) -> None:
    episode: Any = context.insert(Episode, title="a")
    with pytest.raises(AttributeError, match='did you mean "title"'):
        episode.titel = "b"


def test_classes_work_before_they_belong_to_a_model() -> None:
    class Draft(Entity):
        title: str

    assert str(Draft.title) == "title"
    with pytest.raises(AttributeError, match='does not have a property "titel"; did you mean "title"'):
        Draft.titel  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(TypeError, match="cannot be created without a context"):
        Draft()


def test_a_class_belongs_to_several_models(tmp_path: Path) -> None:
    for number in range(2):
        with Container([Show, Special], tmp_path / f"{number}.sqlite", unsaved="discard") as container:
            assert container.context().insert(Special, title="a").state is State.NEW


def test_one_class_can_be_the_model_of_a_container(tmp_path: Path) -> None:
    class Note(Entity):
        text: str = ""

    with Container(Note, tmp_path / "a.sqlite") as container:
        container.context().insert(Note)
        container.save()
    with Container("Notes", Note, application="corestone-test") as container:
        assert list(container.model) == ["Note"]


def test_the_inverse_is_inferred_or_named_on_one_side() -> None:
    class Node(Entity):
        parent: Node | None
        children: OrderedToMany[Node]
        friends: ToMany[Node] = to_many(inverse="friends")
        last: Node | None = to_one(inverse=None)

    model = Model(Node)
    properties = model["Node"].properties
    assert [properties[name].inverse for name in ("parent", "children", "friends", "last")] == [
        "children", "parent", "friends", None,
    ]  # fmt: skip
    assert properties["children"].is_ordered


def test_an_entity_can_have_another_name_and_options() -> None:
    class Thing(Entity, entity="Item", class_name="CDItem", abstract=True, indexes={"byName": ["-name", "size"]}):
        name: str
        size: int = attribute(name="extent", default=1)

    model = Model(Thing)
    assert list(model) == ["Item"]
    described = model["Item"].describe()
    assert (described["className"], described["abstract"]) == ("CDItem", True)
    assert [each["property"] for each in described["indexes"][0]["elements"]] == ["name", "extent"]
    assert "extent" in model["Item"].properties
