"""Makes, migrates and reads the store of chains.py, in a process of its own: migrator.py over five versions of a model.

Kinds: "Routes" goes by inferred mappings and mapping models, one of them with a policy; "History" is the same with a
persistent history, "Rollback" with a rollback journal. "Stages" goes by stages, one of them a transformation; "Mixed"
has a mapping model with a policy instead of that.

Usage: chain_migrator.py make|migrate|again|count|cancel|count-managed|cancel-managed KIND PATH [NUMBER]

count-managed   migrates, and prints how often the migration managers reported progress
cancel-managed  migrates, and calls `cancel` of the manager at its report NUMBER, with a reason if that is even
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from corestone import (
    CallbackError,
    CancelledError,
    Container,
    Context,
    EntityMapping,
    HistoryChange,
    HistoryChangeKind,
    MappingModel,
    MigrationManager,
    MigrationPolicy,
    MigrationStage,
    Model,
    ObjectGoneError,
    register_migration_policy,
)
from migrator import Program

NOTES, TAGS, FOLDERS, AUTHORS, PHOTOS = 60, 5, 3, 4, 3
CONTEXT, AUTHOR = "filling", "the author"
PHOTO = bytes(range(256)) * 800  # more than a row keeps

TAG = {"name": "string", "notes": "to-many Note inverse tags"}
FOLDER = {"name": "string", "notes": "to-many Note ordered inverse folder"}
NOTE = {
    "number": "int preserved = 0",
    "title": "string",
    "author": "string?",
    "price": "int32 = 0",
    "photo": "binary? external",
    "tags": "to-many Tag inverse notes",
    "folder": "to-one Folder? inverse notes",
}
# `draft` is a number in the first version and a text in the third, which keeps a step between them from being inferred;
# so does `price` between the third and the fourth.
FIRST = {"Note": {**NOTE, "draft": "int32?", "color": "string?"}, "Tag": TAG, "Folder": FOLDER}

LABEL = {"@renaming_identifier": "Tag", "name": "string", "notes": "to-many Note inverse labels"}
LABELLED = {each: NOTE[each] for each in NOTE if each != "tags"} | {
    "labels": "to-many Label inverse notes renaming_identifier tags",
    "paint": "string? renaming_identifier color",
    "mark": "string = new",
}
SECOND = {"Note": LABELLED, "Label": LABEL, "Folder": FOLDER}

DRAFTED = {
    **LABELLED,
    "draft": "string?",
    "weight": "int = 0",
    "pinnedIn": "to-many Folder inverse pinned",
}
PINNED = {**FOLDER, "pinned": "to-many Note inverse pinnedIn"}
THIRD = {"Note": DRAFTED, "Label": LABEL, "Folder": PINNED}

WRITTEN = {each: DRAFTED[each] for each in DRAFTED if each != "author"} | {
    "price": "double = 0",
    "writer": "to-one Person? inverse notes",
}
FOURTH = {
    "Note": WRITTEN,
    "Label": LABEL,
    "Folder": PINNED,
    "Person": {"name": "string", "notes": "to-many Note inverse writer"},
}

FIFTH = {
    "Note": {each: WRITTEN[each] for each in WRITTEN if each not in ("title", "mark", "paint", "writer")}
    | {
        "headline": "string renaming_identifier title",
        "paint": "string renaming_identifier color = grey",
        "writer": "to-one Author? inverse notes",
    },
    "Label": LABEL,
    "Folder": PINNED,
    "Author": {"@renaming_identifier": "Person", "name": "string", "notes": "to-many Note inverse writer"},
}


# The store, and what is expected of it


def fill(context: Context) -> None:
    """Three saves: of objects, of an order of its own, and of a deletion."""
    context.name, context.transaction_author = CONTEXT, AUTHOR
    tags = [context.insert("Tag", name=f"tag {number}") for number in range(TAGS)]
    folders = [context.insert("Folder", name=f"folder {number}") for number in range(FOLDERS)]
    for number in range(NOTES + 1):
        note = context.insert(
            "Note",
            number=number,
            title=f"note {number}",
            author=f"author {number % AUTHORS}" if number % 5 else None,
            price=number * 3,
            draft=number,
            color="red" if number % 2 else None,
            photo=PHOTO[number:] if number < PHOTOS else None,
            tags=[tags[number % TAGS], tags[(number + 2) % TAGS]],
            folder=folders[number % 4] if number % 4 < FOLDERS else None,
        )
    context.save()
    for folder in folders:
        folder.notes = list(reversed(folder.notes))
    context.save()
    context.delete(note)
    context.save()


def expected_note(number: int, generation: int) -> dict[str, Any]:
    """Objects are their names; lists without an order are sets."""
    labels = {f"tag {number % TAGS}", f"tag {(number + 2) % TAGS}"}
    author = f"author {number % AUTHORS}" if number % 5 else None
    color = "red" if number % 2 else None
    common = {
        "number": number,
        "photo": PHOTO[number:] if number < PHOTOS else None,
        "folder": f"folder {number % 4}" if number % 4 < FOLDERS else None,
    }
    if generation == 1:
        own = {"title": f"note {number}", "author": author, "price": number * 3, "draft": number, "color": color}
        return {**common, **own, "tags": labels}
    return {
        **common,
        "headline": f"NOTE {number}",
        "draft": f"note {number}",
        "weight": number * 7,
        "price": number * 1.5,
        "paint": color or "grey",
        "labels": labels,
        "pinnedIn": {f"folder {number % 4}"} if number % 4 < FOLDERS and number > NOTES // 2 else set(),
        "writer": author,
    }


def plain(value: Any) -> Any:
    if hasattr(value, "entity_name"):
        return value.name
    if value is None or isinstance(value, (str, bytes, int, float)):
        return value
    return {each.name for each in value}


def problem(context: Context, generation: int) -> str | None:
    tag = "Tag" if generation == 1 else "Label"
    counts = {"Note": NOTES, tag: TAGS, "Folder": FOLDERS} | ({} if generation == 1 else {"Author": AUTHORS})
    found_counts = {entity: context.count(entity) for entity in counts}
    if found_counts != counts:
        return f"{found_counts} objects instead of {counts}"
    for number, note in enumerate(context.fetch("Note", sort="number")):
        expected = expected_note(number, generation)
        found = {name: plain(getattr(note, name)) for name in expected}
        if found != expected:
            different = [name for name in expected if found[name] != expected[name]]
            return f"note {number}: " + ", ".join(
                f"{name} is {str(found[name])[:60]} instead of {str(expected[name])[:60]}" for name in different
            )
    for place, folder in enumerate(context.fetch("Folder", sort="name")):
        numbers = [note.number for note in folder.notes]
        if numbers != [number for number in reversed(range(NOTES)) if number % 4 == place]:
            return f"{folder.name} has the notes {numbers}"
    return None


Change = tuple[str, str, "int | str | None", tuple[str, ...]]


def expected_history(generation: int) -> list[set[Change]]:
    """The changes of each transaction of `fill`, each with a number or a name, which is None for the deleted note."""
    tag = "Tag" if generation == 1 else "Label"
    notes: list[int | None] = [*range(NOTES), None]
    tags, folders = [f"tag {place}" for place in range(TAGS)], [f"folder {place}" for place in range(FOLDERS)]
    inserted: set[Change] = {("INSERT", "Note", number, ()) for number in notes}
    inserted |= {("INSERT", tag, name, ()) for name in tags} | {("INSERT", "Folder", name, ()) for name in folders}
    ordered: set[Change] = {("UPDATE", "Folder", name, ("notes",)) for name in folders}
    deleted: set[Change] = {("UPDATE", tag, tags[place % TAGS], ("notes",)) for place in (NOTES, NOTES + 2)}
    deleted |= {("UPDATE", "Folder", folders[NOTES % 4], ("notes",)), ("DELETE", "Note", None, ())}
    return [inserted, ordered, deleted]


def history_problem(container: Container, generation: int) -> str | None:
    """Migrations keep transactions and their changes, and each step adds a transaction."""
    context = container.context()

    def change(each: HistoryChange) -> Change:
        try:
            found = context.existing(each.object_id)
        except ObjectGoneError:
            return each.kind.name, each.entity_name, None, ()
        name = found.number if each.entity_name == "Note" else found.name
        return each.kind.name, each.entity_name, name, tuple(each.updated_properties)

    transactions = list(container.coordinator.history())
    ours = [each for each in transactions if each.author == AUTHOR and each.context_name == CONTEXT]
    if len(ours) != 3 or len(transactions) != 3 + generation - 1 or transactions[:3] != ours:
        return f"the history has {[(each.number, each.author) for each in transactions]}"
    for each, expected in zip(ours, expected_history(generation)):
        found = list(map(change, each.changes))
        if set(found) != expected or len(found) != len(expected):
            return f"transaction {each.number} has {sorted(set(found) ^ expected, key=str)} too many or too few"
    (tombstone,) = (each.tombstone for each in ours[2].changes if each.kind == HistoryChangeKind.DELETE)
    return None if tombstone == {"number": NOTES} else f"the deleted note has the tombstone {tombstone}"


# The chain of mapping models


def results(mapping: str, path: str) -> str:
    """The expression for the results of an entity mapping."""
    return f'FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "{mapping}", {path})'


def copied(*names: str) -> dict[str, str]:
    return {name: f"$source.{name}" for name in names}


def drafting(second: Model, third: Model) -> MappingModel:
    note = EntityMapping(
        source="Note",
        destination="Note",
        attributes=copied("number", "author", "price", "photo", "paint", "mark")
        | {
            "title": "uppercase:($source.title)",
            "draft": "$source.title",
            "weight": "$source.price * 2 + $source.number",
        },
        relationships={
            "labels": results("LabelToLabel", "$source.labels"),
            "folder": results("FolderToFolder", "$source.folder"),
        },
    )
    pinned = f"SUBQUERY($source.notes, $each, $each.number > {NOTES // 2})"
    folder = EntityMapping(
        source="Folder",
        destination="Folder",
        attributes=copied("name"),
        relationships={"notes": results("NoteToNote", "$source.notes"), "pinned": results("NoteToNote", pinned)},
    )
    label = EntityMapping(
        source="Label",
        destination="Label",
        attributes=copied("name"),
        relationships={"notes": results("NoteToNote", "$source.notes")},
    )
    return MappingModel([note, folder, label], second, third)


@register_migration_policy("WriterPolicy")
class WriterPolicy(MigrationPolicy):
    """Authors become objects, which the notes of one author share."""

    def begin(self, mapping: EntityMapping, manager: MigrationManager) -> None:
        self.persons: dict[str, Any] = {}

    def create_destination_instances(self, source: Any, mapping: EntityMapping, manager: MigrationManager) -> None:
        note = manager.create_destination_instance(mapping, source)
        if source.author is None:
            return
        if source.author not in self.persons:
            self.persons[source.author] = manager.destination_context.insert("Person", name=source.author)
        note.writer = self.persons[source.author]


def writing(third: Model, fourth: Model) -> MappingModel:
    note = EntityMapping(
        source="Note",
        destination="Note",
        policy_class="WriterPolicy",
        attributes=copied("number", "title", "draft", "weight", "photo", "paint", "mark")
        | {"price": "$source.price / 2.0"},
        relationships={"labels": results("LabelToLabel", "$source.labels")},
    )
    label = EntityMapping(
        source="Label",
        destination="Label",
        attributes=copied("name"),
        relationships={"notes": results("NoteToNote", "$source.notes")},
    )
    folder = EntityMapping(
        source="Folder",
        destination="Folder",
        attributes=copied("name"),
        relationships={
            "notes": results("NoteToNote", "$source.notes"),
            "pinned": results("NoteToNote", "$source.pinned"),
        },
    )
    return MappingModel([note, label, folder, EntityMapping(destination="Person")], third, fourth)


# The chain of stages


def stages(kind: str, versions: list[Model]) -> list[MigrationStage]:
    first, second, third, fourth, fifth = versions
    if kind == "Mixed":
        writers = MigrationStage.mapping(third, fourth, writing(third, fourth), label="writers")
    else:
        writers = MigrationStage.transformation(third, fourth, write, label="writers")
    return [
        MigrationStage.lightweight([first, second]),
        MigrationStage.custom(second, third, will_migrate=raise_titles, did_migrate=draft, label="drafts"),
        writers,
        MigrationStage.lightweight([fifth]),
    ]


def raise_titles(context: Context) -> None:
    for note in context.fetch("Note"):
        note.title = note.title.upper()


def draft(context: Context) -> None:
    for note in context.fetch("Note"):
        note.draft = note.title.lower()
        note.weight = note.price * 2 + note.number
        note.pinnedIn = [note.folder] if note.folder is not None and note.number > NOTES // 2 else []
    context.save()


def write(old: Context, new: Context) -> None:
    labels = {each.name: new.insert("Label", name=each.name) for each in old.fetch("Label")}
    persons: dict[str, Any] = {}
    notes: dict[int, Any] = {}
    for each in old.fetch("Note"):
        values = {name: getattr(each, name) for name in ("number", "title", "draft", "weight", "photo", "paint")}
        note = notes[each.number] = new.insert("Note", **values, price=each.price / 2)
        note.labels = [labels[label.name] for label in each.labels]
        if each.author is not None:
            if each.author not in persons:
                persons[each.author] = new.insert("Person", name=each.author)
            note.writer = persons[each.author]
    for each in old.fetch("Folder"):
        folder = new.insert("Folder", name=each.name)
        folder.notes = [notes[note.number] for note in each.notes]
        folder.pinned = [notes[note.number] for note in each.pinned]


class Chain(Program):
    def __init__(self) -> None:
        super().__init__([FIRST, SECOND, THIRD, FOURTH, FIFTH], fill, problem)
        self.actions |= {"count-managed": self.count_managed, "cancel-managed": self.cancel_managed}

    def options(self, kind: str) -> dict[str, Any]:
        journal = "rollback" if kind == "Rollback" else "wal"
        return {"type": "SQLite", "journal": journal, **({"history": True} if kind == "History" else {})}

    def problem_of(self, container: Container, generation: int) -> str | None:
        wrong = super().problem_of(container, generation)
        if wrong is None and container.coordinator.history_token() is not None:
            wrong = history_problem(container, generation)
        return wrong

    def migration(self, kind: str) -> dict[str, Any]:
        versions = [self.model(generation) for generation in range(1, 6)]
        if kind in ("Stages", "Mixed"):
            return {"source_models": versions, "stages": stages(kind, versions)}
        _, second, third, fourth, _ = versions
        return {"source_models": versions, "mapping_models": [drafting(second, third), writing(third, fourth)]}

    def migrate_managed(self, kind: str, path: str, report: Callable[[MigrationManager], Any]) -> None:
        def will_start(manager: MigrationManager) -> None:
            manager.set_report(lambda done, total: report(manager))

        self.migrate(kind, path, manager_will_start=will_start)

    def count_managed(self, kind: str, path: str) -> None:
        reports: list[MigrationManager] = []
        self.migrate_managed(kind, path, reports.append)
        print(len(reports))

    def cancel_managed(self, kind: str, path: str, number: str) -> None:
        def report(manager: MigrationManager) -> None:
            if next(reports) == int(number):
                manager.cancel(reason)

        reports = itertools.count(1)
        reason = ZeroDivisionError("enough") if int(number) % 2 == 0 else None
        try:
            self.migrate_managed(kind, path, report)
            print("migrated")
        except CancelledError as error:
            print("cancelled" if reason is None and str(error) else f"wrong: {error!r}")
        except CallbackError as error:
            print("cancelled" if error.__cause__ is reason and str(error) else f"wrong: {error!r}")


if __name__ == "__main__":
    Chain().main()
