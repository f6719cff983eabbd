"""Plausible mistakes of newcomers: each has an error that names the mistake and its remedy."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import threading
import traceback
from collections.abc import Iterator
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import corestone
from corestone import (
    Attribute,
    BatchDeleteRequest,
    BatchUpdateRequest,
    ConflictError,
    Container,
    Context,
    Coordinator,
    CorestoneError,
    DynamicObject,
    Entity,
    FetchedResultsController,
    FetchRequest,
    InvalidArgumentError,
    ManagedObject,
    MergePolicy,
    Model,
    ObjectID,
    Predicate,
    QueryGeneration,
    Sort,
    StoreDescription,
    UndoManager,
    ValidationError,
    WrongThreadError,
    declarative,
)
from corestone.object import object_id

LIBRARY: dict[str, Any] = {
    "Show": {
        "title": "string",
        "guid": "string?",
        "price": "decimal?",
        "published": "date?",
        "cover": "binary?",
        "key": "uuid?",
        "active": "bool = true",
        "rank": "int32 = 0",
        "episodes": "to-many Episode inverse show",
        "@unique": "guid",
    },
    "Episode": {
        "title": "string",
        "plays": "int = 0",
        "at": "date?",
        "show": "to-one Show? inverse episodes",
        "tags": "to-many ordered Tag inverse episodes",
        "place": {"town": "string?"},
    },
    "Tag": {"name": "string", "episodes": "to-many Episode inverse tags"},
}


class Show(ManagedObject, entity="Show"):
    __slots__ = ()

    title: Attribute[str]


class Episode(ManagedObject, entity="Episode"):
    __slots__ = ()


class Tag(ManagedObject, entity="Tag"):
    __slots__ = ()


class Chapter(declarative.Entity):
    title: str


class Unknown(ManagedObject, entity="Unknown"):
    __slots__ = ()


@pytest.fixture
def names(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """The names that the mistakes use: a container, two contexts, and saved objects."""
    model = Model(LIBRARY).bind(Show, Episode, Tag)
    with Container(model, tmp_path / "a.store", sync="normal", unsaved="discard") as container:
        ctx, other = container.context(), container.context()
        show = ctx.insert(Show, title="Science", guid="1")
        episode = ctx.insert(Episode, title="Stars")
        tag = ctx.insert(Tag, name="sky")
        ctx.save()
        yield {
            **{name: value for name, value in globals().items() if not name.startswith("_")},
            "model": model,
            "path": tmp_path / "b.store",
            "folder": tmp_path,
            "container": container,
            "ctx": ctx,
            "other": other,
            "show": show,
            "episode": episode,
            "tag": tag,
            "theirs": other.get(Show, show.id),
        }


# The mistake, the class of its error, and a regular expression of the message.
Mistake = tuple[str, type[Exception], str]

CONTEXTS: list[Mistake] = [
    (
        "ctx.merge_policy = 'nonsense'",
        TypeError,
        '^merge_policy must be a MergePolicy, .* or a function, not "nonsense"',
    ),
    ("ctx.merge_policy = MergePolicy", TypeError, "^merge_policy must be .*, not <class"),
    ("ctx.nope = 1", AttributeError, '^Context does not have an attribute "nope"; keep data .* in context.user_info'),
    (
        "ctx.transaction_auther = 'x'",
        AttributeError,
        'attribute "transaction_auther"; did you mean "transaction_author"',
    ),
    ("ctx.get(1)", TypeError, "^which must be an ObjectID or a URI, not 1; pass the id of an object, or call fetch"),
    ("ctx.existing(1)", TypeError, "^which must be an ObjectID or a URI, not 1"),
    ("ctx.registered(1.5)", TypeError, "^which must be an ObjectID or a URI, not 1.5"),
    ("ctx.get(episode)", TypeError, "not <Episode .*>; pass its id$"),
    ("ctx.get(Episode)", TypeError, r"pass the ID too, as in get\(Episode, id\), or call fetch\(Episode\)$"),
    ("ctx.get(None)", InvalidArgumentError, "^which is None; pass the ID or the URI"),
    ("ctx.get(Show, episode.id)", InvalidArgumentError, "is the ID of an object of Episode, not of Show"),
    ("ctx.get('Episode')", InvalidArgumentError, '^"Episode" is not the URI of an object'),
    ("ctx.delete(ctx.fetch(Episode))", TypeError, "not <Results: .*; call delete for each .*, or batch_delete"),
    (
        "ctx.delete([episode])",
        TypeError,
        "^item must be a managed object, not .*; call delete for each of the objects$",
    ),
    ("ctx.delete(episode.tags)", TypeError, "; call delete for each of the objects$"),
    ("ctx.delete(episode.id)", TypeError, "^item must be a managed object, not ObjectID.*; get the object with get$"),
    ("ctx.delete(None)", TypeError, "not None; first returns None if there are no results$"),
    ("ctx.delete(Episode)", TypeError, "not <class .*>; pass an object of the class$"),
    ("ctx.insert_object('x')", TypeError, '^item must be a managed object, not "x"'),
    ("ctx.refresh(None)", TypeError, "^item must be a managed object, not None"),
    ("other.refresh(show)", InvalidArgumentError, "^Show .* belongs to another context; call refresh of that context"),
    ("other.delete(show)", InvalidArgumentError, r"^Show .* belongs to another context; call .*\(delete\) there"),
    ("ctx.detect_conflicts('x')", TypeError, "^item must be a managed object"),
    ("ctx.assign(episode, 'x')", TypeError, '^store must be a Store, such as container.store, not "x"'),
    ("ctx.obtain_permanent_ids(episode)", TypeError, "^items must be a list of managed objects"),
    ("ctx.obtain_permanent_ids([1])", TypeError, r"^items\[0\] must be a managed object, not 1"),
    (
        "ctx.undo_manager = True",
        TypeError,
        r"^undo_manager must be an UndoManager, as in UndoManager\(\), or None, not True",
    ),
    ("ctx.undo_manager = UndoManager", TypeError, "^undo_manager must be an UndoManager"),
    ("ctx.execute(5)", Exception, "^execute takes a FetchRequest or a batch request, not 5"),
    ("ctx.execute('SELECT 1')", Exception, '^execute takes a FetchRequest or a batch request, not "SELECT 1"'),
    ("ctx.execute(FetchRequest)", Exception, "^execute takes a FetchRequest or a batch request, not <class"),
    ("ctx.observe('did_sav', print)", Exception, '^notification must be .*"did_save".*, not "did_sav"'),
    ("ctx.observe('did_save')", InvalidArgumentError, "function is None; pass a function"),
    ("ctx.name = 5", TypeError, "^name must be a str, not 5"),
    ("ctx.fault_policy = 'x'", InvalidArgumentError, '^fault_policy must be "batch", "warn" or "error"'),
    ("ctx.staleness_interval = 'x'", TypeError, '^staleness_interval must be a number of seconds or None, not "x"'),
    ("ctx.merges_batches = None", TypeError, "^merges_batches must be True or False, not None"),
    ("ctx.retains_registered_objects = 'x'", TypeError, "^retains_registered_objects must be True or False"),
    ("ctx.propagates_deletes_at_end_of_event = 'x'", TypeError, "^propagates_deletes_.* must be True or False"),
    ("ctx.should_delete_inaccessible_faults = 'x'", TypeError, "^should_delete_.* must be True or False"),
    ("ctx.counts_single_faults = 'x'", TypeError, "^counts_single_faults must be True or False"),
    ("ctx.inaccessible_fault_handler = 5", TypeError, "^inaccessible_fault_handler must be a function, not 5"),
    ("ctx.pin('x')", TypeError, '^generation must be a QueryGeneration or None, not "x"'),
    ("ctx.child(queue='x')", InvalidArgumentError, '^queue must be "caller", "private" or "main", not "x"'),
    ("ctx.perform(print)", InvalidArgumentError, "is confined to its thread and does not have a queue"),
]

FETCHES: list[Mistake] = [
    ("ctx.fetch('Epsiode')", KeyError, 'does not have an entity "Epsiode"; did you mean "Episode"'),
    ("ctx.fetch(Unknown)", KeyError, 'does not have an entity "Unknown"'),
    ("ctx.fetch(episode)", TypeError, "^entity must be a name, a subclass of ManagedObject or an Entity, not <Episode"),
    ("ctx.fetch([Episode])", TypeError, "^entity must be a name"),
    (
        "ctx.fetch(int)",
        TypeError,
        "^entity must be a name, a subclass of ManagedObject or an Entity, not <class 'int'>",
    ),
    ("ctx.fetch(Episode, {'title': 'a'})", TypeError, "^the predicate for Episode must be a str, a Predicate or"),
    ("ctx.fetch(Episode, ('title == %@', 'a'))", TypeError, "^the predicate for Episode must be a str"),
    ("ctx.fetch(Episode, lambda each: True)", TypeError, "^the predicate for Episode must be a str"),
    ("ctx.fetch(Episode, title='a')", TypeError, "unexpected keyword argument 'title'"),
    ("ctx.fetch(Episode, 'titel == 1')", Exception, 'property "titel"; did you mean "title"'),
    ("ctx.fetch(Episode, 'title = ?', 'x')", InvalidArgumentError, "0 conversions such as %@, but 1 argument"),
    ("ctx.fetch(Episode, 'title == %@')", Exception, "%@ needs argument 1"),
    ("ctx.fetch(Episode, 'title == %@', 'a', 'b')", InvalidArgumentError, "1 conversion .*, but 2 arguments"),
    ("ctx.fetch(Episode, Episode.title == 'a' and Episode.plays > 1)", TypeError, r"Write \(a\) & \(b\)"),
    ("ctx.fetch(Episode, Episode.title in ['a'])", TypeError, r"key.in_\(values\)"),
    ("ctx.fetch(Episode, 1 < Episode.plays < 3)", TypeError, 'split "1 < key < 3"'),
    ("ctx.fetch(Episode, Episode.titel == 'x')", AttributeError, 'property "titel"; did you mean "title"'),
    ("Episode.title.startswith('a')", TypeError, '"title.startswith" is a key path, .*; did you mean "begins_with"'),
    ("Episode.title.begin_with('a')", TypeError, 'cannot be called; did you mean "begins_with"'),
    ("Episode.title('a')", TypeError, '"title" is a key, and cannot be called; compare it with a value'),
    ("ctx.fetch(Episode, Episode.plays > 'a')", Exception, "compare Episode.plays with a number"),
    ("ctx.fetch(Episode, 'at > %@', datetime.now())", InvalidArgumentError, "does not have a time zone; add one"),
    ("ctx.fetch(Episode, Episode.at > datetime.now())", InvalidArgumentError, "does not have a time zone; add one"),
    ("ctx.fetch(Episode, Episode.at > '2027')", Exception, "compare Episode.at with a date"),
    ("ctx.fetch(Episode, sort=True)", TypeError, '^True is not a sort key; write "name", "-name"'),
    ("ctx.fetch(Episode, sort='titel')", Exception, 'property "titel"; did you mean "title"'),
    ("ctx.fetch(Episode, limit='5')", TypeError, '^limit must be an integer, not "5"'),
    ("ctx.fetch(Episode, limit=-1)", InvalidArgumentError, "^limit must be at least 0, not -1"),
    ("list(ctx.count(Episode))", TypeError, "'int' object is not iterable"),
    ("list(ctx.first(Episode))", TypeError, "'Episode' object is not iterable"),
    ("'x' in episode", TypeError, "'Episode' (object|is).*not.*(container|iterable)"),
    ("ctx.fetch(Episode)['title']", TypeError, '^index must be an integer, not "title"'),
    ("ctx.sum(Episode, 'title')", InvalidArgumentError, "Episode.title is of type String, but must be a number"),
    ("ctx.count(Episode, by='titel')", InvalidArgumentError, 'property "titel"; did you mean "title"'),
    ("Predicate(5)", TypeError, "^5 is of type int; pass the format of the Predicate as a str"),
    ("sorted([show, theirs])", TypeError, "'<' not supported"),
]

OBJECTS: list[Mistake] = [
    ("Tag(name='x')", TypeError, r"^an object of the class Tag cannot be .*; call context.insert\(Tag, name=...\)"),
    ("Tag()", TypeError, r"call context.insert\(Tag\), or context.fetch for stored objects$"),
    ("Tag('x')", TypeError, r"call context.insert\(Tag\)"),
    ("ObjectID('x')", TypeError, "^an ObjectID cannot be created directly; use the id of an object"),
    ("episode.titel", AttributeError, '^Episode does not have a property "titel"; did you mean "title"'),
    ("episode.titel = 'x'", AttributeError, '^Episode does not have a property "titel"; did you mean "title"'),
    ("episode.save()", AttributeError, '^Episode does not have a property "save"; call save of its context$'),
    ("episode.delete()", AttributeError, "; call delete of its context$"),
    ("episode.id = 5", AttributeError, "id"),
    ("ctx.insert(Episode, titel='x')", Exception, 'property "titel"; did you mean "title"'),
    ("ctx.insert(Episode(title='x'))", TypeError, r"call context.insert\(Episode, title=...\)"),
    ("ctx.insert(episode)", TypeError, "^entity must be a name"),
    ("ctx.insert_many(Episode, {'title': 'x'})", InvalidArgumentError, 'row 1 is "title", not a dictionary'),
    ("episode.plays = '3'", TypeError, "^Episode.plays takes Integer 64, not a string"),
    ("episode.title = 5", TypeError, r"^Episode.title takes String, not an integer \(5\)"),
    ("show.price = '1.1'", TypeError, "^Show.price takes Decimal, not a string"),
    ("show.published = datetime(2027, 1, 1)", InvalidArgumentError, "^Show.published: .* does not have a time zone"),
    ("show.published = date(2027, 1, 1)", TypeError, "is a date without a time; use a datetime"),
    ("show.published = '2027-01-01'", TypeError, "^Show.published takes Date, not a string"),
    ("show.cover = 'text'", TypeError, "^Show.cover takes Binary Data, not a string"),
    ("show.key = 'abc'", TypeError, "^Show.key takes UUID, not a string"),
    ("show.active = 'yes'", TypeError, "^Show.active takes Boolean, not a string"),
    ("show.rank = 2**40", ValidationError, "^Show.rank takes -2147483648 to 2147483647"),
    ("episode.show = 'Science'", TypeError, "^Episode.show takes an object of Show, not a string"),
    ("episode.show = tag", TypeError, "^Episode.show takes an object of Show, not of Tag"),
    ("episode.show = theirs", InvalidArgumentError, "belongs to another context; get the object in this context"),
    ("episode.show = show.id", TypeError, "^Episode.show takes an object of Show, not the ID"),
    ("episode.tags = tag", TypeError, "^Episode.tags must be a list or set of managed objects, not <Tag"),
    ("episode.tags.extend(tag)", TypeError, "^Episode.tags must be a list or set of managed objects, not <Tag"),
    ("episode.tags = 'x'", TypeError, "^the members of Episode.tags must be managed objects"),
    ("episode.tags.append('x')", TypeError, "^the members of Episode.tags must be managed objects"),
    ("episode.place = 5", TypeError, "^Episode.place is composite and takes a dictionary of its elements"),
]

MODELS: list[Mistake] = [
    ("Model({'A': {'x': {'typ': 'date'}}})", Exception, '^A.x has no option "typ"; did you mean "type".*composite'),
    ("Model({'A': {'x': {'Type': 'string?', 'optional': True}}})", Exception, 'no option "Type"; did you mean "type"'),
    ("Model({'Show': Show})", Exception, r"^Show is a class \(Show\), .*; pass those, and bind the class to the model"),
    ("Model({'A': {'x': str}})", Exception, r'^A.x is a class \(str\).*; write "string", or "string\?"'),
    ("Model({'A': {'x': datetime}})", Exception, '; write "date"'),
    ("Model({'A': {'x': 'sting'}})", Exception, '^A.x: "sting" is not an attribute type; did you mean "string"'),
    ("Model({'A': 5})", Exception, r"^A is a number \(5\), but must be an object of properties"),
    ("Model({'A': {'@uniqe': ['x']}})", Exception, 'no option "@uniqe"; did you mean "@unique"'),
    ("Model({'A': {'@unique': 5}})", Exception, '"@unique" is a number'),
    ("Coordinator(Model({'A': {'@unique': 'gid', 'guid': 'string?'}}))", Exception, "gid"),
    ("Model({Show: {}})", Exception, "^the model has the key .*, but keys must be strings"),
    (
        "Model(Show)",
        TypeError,
        "Show.* does not declare an entity; derive it from .*, or pass it to Model.bind$",
    ),
    ("Model({'Chapter': Chapter})", Exception, r"^Chapter is a class .*properties; write Model\(Chapter\)$"),
    ("Model([Chapter])", TypeError, r"^definition must be a dictionary of entities, .*; write Model\(Chapter\)$"),
    ("Chapter.titel", AttributeError, '^the class Chapter does not have a property "titel"; did you mean "title"'),
    (
        "Chapter(title='x')",
        TypeError,
        r"cannot be created without a context; call context.insert\(Chapter, title=...\)",
    ),
    ("Model([Show])", TypeError, "^definition must be a dictionary of entities, not .*; bind classes"),
    ("Model('a.xcdatamodeld')", TypeError, "^definition must be a dictionary .*; call Model.load for a file"),
    ("Model.load('nowhere.xcdatamodel')", Exception, "^nowhere.xcdatamodel cannot be read: .*; check the path"),
    ("Model.load(5)", TypeError, "^path must be a str or an os.PathLike, not 5"),
    ("model['Shw']", KeyError, 'does not have an entity "Shw"; did you mean "Show"'),
    ("Model(LIBRARY).bind(Unknown)", KeyError, 'does not have an entity "Unknown"'),
    ("Model(LIBRARY).bind([Show])", TypeError, "^classes must be subclasses of ManagedObject, not .*; pass each class"),
    ("Model(LIBRARY).bind('Show')", TypeError, '^classes must be subclasses of ManagedObject, not "Show"'),
    ("Model(LIBRARY).bind(int)", TypeError, "^classes must be subclasses of ManagedObject"),
]

CONTAINERS: list[Mistake] = [
    ("Container(model, ':memory:')", InvalidArgumentError, 'path ":memory:" would create .*; pass type="InMemory"'),
    ("Coordinator(model).add_store(':memory:')", InvalidArgumentError, 'path ":memory:" would create'),
    ("corestone.open(':memory:')", InvalidArgumentError, 'path ":memory:" would create'),
    ("StoreDescription(':memory:')", InvalidArgumentError, 'path ":memory:" would create'),
    (
        "Container('x.sqlite', model)",
        InvalidArgumentError,
        r"looks like the path of a store; write Container\(model, path",
    ),
    (
        "Container(LIBRARY, path)",
        TypeError,
        r"^model must be a Model, such as Model\({...}\) or Model.load\(path\), not",
    ),
    ("Container(Show, path)", TypeError, "Show.* does not declare an entity; derive it from"),
    ("Container()", TypeError, "^model must be a Model, .*, not None"),
    ("Container(model)", InvalidArgumentError, "^path is None; pass the path of the store"),
    ("Container(model, 5)", TypeError, "^path must be a str or an os.PathLike, not 5"),
    ("Container(model, folder)", Exception, "is a folder; pass the path of a file"),
    ("Container(model, path, unsavd='save')", TypeError, '^Container .* option "unsavd"; did you mean "unsaved"'),
    ("Container(model, path, unsaved='never')", InvalidArgumentError, '^unsaved must be "refuse", "save" or "discard"'),
    (
        "Container('Name', model, store=[])",
        TypeError,
        '^Container does not have an option "store"; did you mean "stores"',
    ),
    ("StoreDescription(path, readonly=True)", TypeError, 'option "readonly"; did you mean "read_only"'),
    ("Coordinator(model).add_store(path, jurnal='wal')", TypeError, 'option "jurnal"; did you mean "journal"'),
    ("StoreDescription(5)", TypeError, "^path must be a str or an os.PathLike, not 5"),
    ("Coordinator('x')", TypeError, '^model must be a Model, .*, not "x"'),
    ("corestone.open(model)", TypeError, "^path must be a str or an os.PathLike, not <Model"),
    ("corestone.open('nowhere.store')", Exception, "does not exist; check the path"),
    ("container.insert('Show', {'titel': 'x'})", InvalidArgumentError, 'property "titel"; did you mean "title"'),
    ("container.insert('Show', 'x')", InvalidArgumentError, "pass a record of Show"),
    ("container.nope = 1", AttributeError, '^Container does not have an attribute "nope"'),
]


def run(code: str, names: dict[str, Any]) -> None:
    exec(compile(code, "<mistake>", "exec"), names)


def identifiers(mistakes: list[Mistake]) -> list[str]:
    return [code for code, _, _ in mistakes]


ALL = [*CONTEXTS, *FETCHES, *OBJECTS, *MODELS, *CONTAINERS]


@pytest.mark.parametrize(("code", "kind", "message"), ALL, ids=identifiers(ALL))
def test_mistake_is_reported(names: dict[str, Any], code: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message) as caught:
        run(code, names)
    text = str(caught.value)
    assert "_cst" not in text
    assert "?;" not in text
    assert "?." not in text


def test_name_in_unique_is_a_constraint(tmp_path: Path) -> None:
    with Container(Model(LIBRARY), tmp_path / "a.store", unsaved="discard") as container:
        ctx = container.context()
        for _ in range(2):
            ctx.insert("Show", title="x", guid="same")
        with pytest.raises(ConflictError, match="guid"):
            ctx.save()


def test_composite_attribute_may_have_an_element_named_like_an_option() -> None:
    model = Model(
        {"A": {"x": {"types": "string?", "count": "int?"}, "y": {"type": "composite", "elements": {"typ": "date?"}}}}
    )
    assert [each.name for each in model["A"].properties["x"].elements] == ["types", "count"]
    assert [each.name for each in model["A"].properties["y"].elements] == ["typ"]


def test_float_is_stored_as_its_shortest_decimal(names: dict[str, Any]) -> None:
    show = names["show"]
    show.price = 1.1
    assert show.price == Decimal("1.1")


def test_objects_of_other_contexts_are_compared_by_identity(names: dict[str, Any]) -> None:
    """They differ, but a predicate finds the object with the same ID."""
    ctx, show, theirs = names["ctx"], names["show"], names["theirs"]
    names["episode"].show = show
    ctx.save()
    assert show != theirs
    assert show.id == theirs.id
    assert len(ctx.fetch(Episode, "show == %@", theirs.id)) == 1


def test_unloaded_container_names_load(tmp_path: Path) -> None:
    stores = [StoreDescription(tmp_path / "a.store")]
    container = Container("Library", Model(LIBRARY).bind(Show), stores=stores, unsaved="discard")
    ctx = container.context()
    ctx.insert(Show, title="x")
    uses: list[Any] = [
        lambda: container.context().fetch(Show),
        lambda: container.context().count(Show),
        ctx.save,
        container.save,
        lambda: container.fetch(Show),
        lambda: container.read("Show"),
        lambda: container.store,
    ]
    for use in uses:
        with pytest.raises(CorestoneError, match=r"\bload\b"):
            use()
    container.load()
    ctx.save()
    assert ctx.count(Show) == 1
    container.close()


def test_view_context_on_a_worker_names_both_threads(names: dict[str, Any]) -> None:
    container: Container = names["container"]
    raised: list[BaseException] = []
    view = container.view_context

    def work() -> None:
        for use in (lambda: view.fetch(Show), lambda: container.view_context.insert(Show, title="x"), view.save):
            try:
                use()
            except WrongThreadError as error:
                raised.append(error)

    worker = threading.Thread(target=work, name="importer")
    worker.start()
    worker.join()
    assert len(raised) == 3
    for error in raised:
        for word in ("(importer)", 'context "view"', "(MainThread)", "perform"):
            assert word in str(error)


def test_closed_containers_and_contexts_say_so(tmp_path: Path) -> None:
    container = Container(Model(LIBRARY).bind(Show), tmp_path / "a.store", unsaved="discard")
    ctx = container.context()
    show = ctx.insert(Show, title="x")
    ctx.save()
    container.close()
    closed: list[Any] = [
        lambda: ctx.fetch(Show),
        lambda: ctx.insert(Show),
        ctx.save,
        ctx.undo,
        container.save,
        container.context,
        container.load,
        lambda: container.fetch(Show),
        lambda: container.view_context,
        lambda: container.read("Show"),
        lambda: show.title,
        lambda: setattr(show, "title", "y"),
    ]
    for use in closed:
        with pytest.raises(Exception, match="closed"):
            use()


# ---- classes


def bound(kind: Any, folder: Path) -> Context:
    container = Container(Model(LIBRARY).bind(kind), folder / "bound.store", sync="normal", unsaved="discard")
    return container.context()


def test_class_may_override_id_and_context(tmp_path: Path) -> None:
    """The package itself does not use the overridden members."""

    class Overriding(ManagedObject, entity="Show"):
        __slots__ = ()

        context = None
        is_fault = None  # type: ignore[assignment]

        @property
        def id(self) -> Any:
            return f"show {self['title']}"

        def get(self, *names: str) -> Any:
            return None

    ctx = bound(Overriding, tmp_path)
    show = ctx.insert(Overriding, title="x", guid="g")
    episode = ctx.insert("Episode", title="e", show=show)
    ctx.obtain_permanent_ids([show])
    ctx.save()
    assert (show.id, show.context, show.get("title")) == ("show x", None, None)
    identity = object_id(show)
    assert ctx.get(Overriding, identity) is show
    assert ctx.fetch(Overriding, "SELF == %@", show)[0] is show
    assert list(ctx.fetch(Overriding).ids()) == [identity]
    assert repr(show).startswith("<Overriding p1 title='x'") or repr(show).startswith("<Show p1 title='x'")
    assert show.to_dict("title", "guid") == {"title": "x", "guid": "g"}
    assert list(show["episodes"]) == [episode]
    ctx.refresh(show)
    ctx.detect_conflicts(show)
    assert ctx.fetch(Overriding).rows("title") == [("x",)]
    ctx.delete(show)
    ctx.save()
    assert ctx.count("Show") == 0
    ctx.container.close()


def test_value_that_hides_a_property_is_rejected(tmp_path: Path) -> None:
    class Defaulting(ManagedObject, entity="Show"):
        __slots__ = ()
        title = "untitled"

    ctx = bound(Defaulting, tmp_path)
    with pytest.raises(
        InvalidArgumentError,
        match=r'Defaulting.title is "untitled", which hides Show.title .*; remove the value, and set',
    ) as caught:
        ctx.insert(Defaulting)
    assert (caught.value.entity, caught.value.key, caught.value.value) == ("Show", "title", "untitled")
    ctx.container.close()


def test_reserved_names_are_rejected() -> None:
    with pytest.raises(TypeError, match=r'^Reserved\._cst_handle: names that begin with "_cst_" are reserved'):

        class Reserved(ManagedObject, entity="Show"):
            _cst_handle = 3


@pytest.mark.parametrize(
    "use", ["object.titel", "type(object).titel", "Show.titel", "object.titel = 1", "ctx.nope = 1"]
)
def test_traceback_has_one_suggestion(names: dict[str, Any], use: str) -> None:
    """Python 3.10 and later add a suggestion of their own to an AttributeError."""
    try:
        run(use, {**names, "object": names["show"]})
    except AttributeError as error:
        shown = "".join(traceback.format_exception_only(type(error), error))
        assert shown.lower().count("did you mean") == (0 if "nope" in use else 1), shown
        assert "?." not in shown
        assert "?;" not in shown
    else:
        pytest.fail("no error")


# ---- unknown attributes


def test_every_public_class_refuses_unknown_attributes(names: dict[str, Any]) -> None:
    ctx, show = names["ctx"], names["show"]
    controller = FetchedResultsController(ctx, FetchRequest(Show, sort="title"))
    controller.perform_fetch()
    instances = [
        ctx, names["container"], names["container"].store, Coordinator(names["model"]), names["model"],
        names["model"]["Show"], names["model"]["Show"].properties["title"], ctx.fetch(Show), ctx.stream(Show),
        FetchRequest(Show), BatchUpdateRequest("Show", {"rank": 1}), BatchDeleteRequest(FetchRequest(Show)),
        UndoManager(), controller, (controller.sections or [])[0], Predicate("title == 1"), Sort("title"), show,
        show.id, show.episodes, names["episode"].tags, MergePolicy.ERROR, corestone.main_queue,
        QueryGeneration.current(), StoreDescription(), Show.title, ctx.observe("did_save", print),
        ctx.observe(FetchRequest(Show)),
        ctx.arrow(Show), ctx.explain(Show), ctx.notifications("did_save_object_ids"),
    ]  # fmt: skip
    for each in instances:
        with pytest.raises(AttributeError, match="nope"):
            each.nope = 1


def is_strict(kind: type) -> bool:
    """Whether instances refuse unknown attributes, by slots or otherwise."""
    is_frozen = dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
    return is_frozen or hasattr(kind, "_cst_attributes") or "__dict__" not in dir(kind)


def test_public_classes_are_strict_or_meant_for_subclasses() -> None:
    subclassed = {"HostStore", "IncrementalStore", "AtomicStore", "MigrationPolicy"}
    subclassed |= {"Attribute", "Editor", "ToMany"}  # without instances
    subclassed |= {"ExactDate", "ModelVersions"}  # a datetime and a list
    open_classes = set()
    for name in corestone.__all__:
        kind = getattr(corestone, name)
        if inspect.isclass(kind) and not issubclass(kind, (BaseException, enum.Enum)) and not is_strict(kind):
            open_classes.add(name)
    assert open_classes - subclassed == set()


def test_subclass_may_have_attributes_of_its_own(names: dict[str, Any]) -> None:
    class Own(UndoManager):
        pass

    manager: Any = Own()
    manager.label = "x"
    assert manager.label == "x"


def test_user_info_takes_any_data(names: dict[str, Any]) -> None:
    names["ctx"].user_info = {"at": datetime(2027, 1, 1, tzinfo=timezone.utc), "on": date(2027, 1, 1)}
    assert set(names["ctx"].user_info) == {"at", "on"}
    assert issubclass(DynamicObject, ManagedObject)
    assert isinstance(names["model"]["Show"], Entity)
    assert isinstance(names["show"].id, ObjectID)
