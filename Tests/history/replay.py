r"""Random changes by contexts, child contexts, batch requests and processes; the feed, replayed, gives an equal store.

PYTHONPATH=bindings/python CORESTONE_LIBRARY=build/lib/libcorestone.so \
    python Tests/history/replay.py [--changes 100000] [--processes 2] [--seed N]

The copy is a store of the same model, filled by nothing but the changes of the history and their values, while the
writers run and after they ended. Every object of the source, with its values and members, must then be in the copy.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from corestone import (
    BatchDeleteRequest,
    BatchInsertRequest,
    BatchUpdateRequest,
    ConflictError,
    Container,
    Context,
    FetchRequest,
    HistoryChangeKind,
    HistoryTransaction,
    ManagedObject,
    MergePolicy,
    Model,
    ObjectGoneError,
    ObjectID,
)
from corestone.object import object_id

MODEL: dict[str, dict[str, Any]] = {
    "Item": {"name": "string?", "code": "int64 = 0", "when": "date?", "amount": "decimal?", "data": "binary?"},
    "Folder": {
        "@parent": "Item",
        "parts": "to-many Part inverse folder delete cascade",
        "tags": "to-many Tag inverse folders",
        "best": "to-one Part? inverse bestOf",
    },
    "Part": {"@parent": "Item", "folder": "to-one Folder? inverse parts", "bestOf": "to-many Folder inverse best",
             "listed": "to-many Tag inverse order", "place": {"type": "composite", "optional": True, "elements": {
        "x": "double?", "label": "string?"}}},
    "Tag": {"name": "string", "folders": "to-many Folder inverse tags", "order": "to-many ordered Part inverse listed"},
}  # fmt: skip


#: Deletions of members are changes of their own, so the copy has no rule that deletes them.
COPY = {**MODEL, "Folder": {**MODEL["Folder"], "parts": "to-many Part inverse folder"}}


def opened(store: Path, model: dict[str, dict[str, Any]] = MODEL, **options: Any) -> Container:
    return Container(Model(model), store, busy_timeout=60.0, **options)


# ---- the writers


def write(store: Path, number: int, changes: int) -> None:
    rolled = random.Random(number)
    with opened(store, history=True) as container:
        contexts = [container.context() for _ in range(3)]
        for index, ctx in enumerate(contexts):
            ctx.name, ctx.transaction_author = f"context {index}", f"writer {number}"
        done = 0
        while done < changes:
            ctx = rolled.choice(contexts)
            ctx.reset()
            if rolled.random() < 0.15:
                done += batch(ctx, rolled)
                continue
            ctx.merge_policy = MergePolicy.OBJECT_TRUMP
            child = ctx.child() if rolled.random() < 0.3 else None
            try:
                done += work(child or ctx, rolled)
                if child is not None:
                    child.save()
                ctx.save()
            except (ObjectGoneError, ConflictError):  # another writer deleted it
                ctx.reset()


def batch(ctx: Context, rolled: random.Random) -> int:
    act = rolled.random()
    if act < 0.5:
        count = rolled.randrange(1, 40)
        ctx.execute(BatchInsertRequest("Part", [{"name": f"part {each}", "code": each} for each in range(count)]))
        return count
    code = rolled.randrange(40)
    if act < 0.8:
        request = BatchUpdateRequest("Part", {"name": f"name {rolled.random():.3f}"}, "code == %d", code)
        return int(ctx.execute(request) or 0) or 1
    ctx.execute(BatchDeleteRequest(FetchRequest("Part", "code == %d AND folder == nil", code, limit=5)))
    return 5


def work(ctx: Context, rolled: random.Random) -> int:
    """Some changes of objects, inserted and fetched ones."""
    folders = list(ctx.fetch("Folder", limit=5, sort=rolled.choice(["name", "-code"])))
    parts = list(ctx.fetch("Part", "code >= %d", rolled.randrange(60), limit=8, sort="code"))
    tags = list(ctx.fetch("Tag", limit=4, sort=rolled.choice(["name", "-name"])))
    count = rolled.randrange(3, 25)
    for _ in range(count):
        act = rolled.random()
        if act < 0.25 or not folders or not parts or not tags:
            kind = rolled.choice(["Folder", "Part", "Part", "Part", "Tag"])
            made = ctx.insert(kind, name=f"{kind} {rolled.random():.6f}")
            if kind != "Tag":
                made.code = rolled.randrange(100)
                made.data = rolled.randbytes(rolled.randrange(50))
            {"Folder": folders, "Part": parts, "Tag": tags}[kind].append(made)
        elif act < 0.45:
            rolled.choice(parts + folders).name = f"name {rolled.random():.3f}" if rolled.random() < 0.9 else None
        elif act < 0.6:
            rolled.choice(parts).folder = rolled.choice([*folders, None])
        elif act < 0.7:
            part = rolled.choice(parts)
            part.place = {"x": rolled.random(), "label": f"label {rolled.randrange(9)}"}
        elif act < 0.8:
            folder = rolled.choice(folders)
            folder.tags = set(rolled.sample(tags, rolled.randrange(len(tags) + 1)))
        elif act < 0.88:
            rolled.choice(tags).order = rolled.sample(parts, rolled.randrange(min(len(parts), 4) + 1))
        elif act < 0.95:
            rolled.choice(folders).best = rolled.choice([*parts, None])
        else:
            gone = rolled.choice([parts, folders, tags])
            if len(gone) > 1:
                ctx.delete(gone.pop(rolled.randrange(len(gone))))
                for listed in (folders, parts, tags):
                    listed[:] = [each for each in listed if not each.is_deleted]
    return count


# ---- the replay


class Copy:
    """A store that follows another one by its history."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.objects: dict[str, ManagedObject] = {}
        self.changes = 0

    def made(self, entity: str, uri: str) -> ManagedObject:
        found = self.objects.get(uri)
        if found is None:
            found = self.objects[uri] = self.ctx.insert(entity)
        return found

    def apply(self, transaction: HistoryTransaction, values: list[dict[str, Any] | None]) -> None:
        for change, found in zip(transaction.changes, values):
            self.changes += 1
            uri = change.object_uri
            if change.kind is HistoryChangeKind.DELETE:
                gone = self.objects.pop(uri, None)
                if gone is not None and not gone.is_deleted:
                    self.ctx.delete(gone)
            elif found is not None:  # else its deletion comes
                target = self.made(change.entity_name, uri)
                for name, value in found.items():
                    self.set(target, name, value)
        self.ctx.process_pending_changes()

    def set(self, target: ManagedObject, name: str, value: Any) -> None:
        if isinstance(value, ObjectID):
            value = self.made(value.entity_name, value.uri)
        elif isinstance(value, list):
            value = [self.made(each.entity_name, each.uri) for each in value]
        if "." in name:
            whole, element = name.split(".")
            value = {**(getattr(target, whole) or {}), element: value}
            name = whole
        setattr(target, name, value)


def described(item: ManagedObject, model: Model, named: Callable[[str], Any]) -> dict[str, Any]:
    """The values of an object, with its targets by the names that `named` gives to their URIs."""
    found: dict[str, Any] = {}
    for name, each in model[item.entity_name].properties.items():
        value = getattr(item, name)
        if isinstance(value, ManagedObject):
            value = named(object_id(value).uri)
        elif each.is_relationship and value is not None:
            targets = [named(object_id(target).uri) for target in value]
            value = targets if each.is_ordered else sorted(targets)
        found[name] = value
    return found


def campaign(folder: Path, changes: int, processes: int, seed: int) -> int:
    store = folder / "source.sqlite"
    opened(store, history=True).close()
    writers = [
        subprocess.Popen(
            [sys.executable, __file__, "--role", str(store), str(seed + number), str(changes // processes)]
        )
        for number in range(processes)
    ]
    wrong: list[str] = []
    with opened(store, history=True) as source, opened(folder / "copy.sqlite", COPY) as target:
        copy = Copy(target.context())
        history = source.coordinator.history()
        while True:
            running = any(each.poll() is None for each in writers)
            for transaction in history:
                copy.apply(transaction, [history.values(change) for change in transaction.changes])
            if not running:
                break
            history.wait(0.2)
        wrong += [f"a writer ended with {each.returncode}" for each in writers if each.returncode != 0]
        copy.ctx.save()
        ctx, model, checked = source.context(), source.coordinator.model, 0
        numbers = {item.id.uri: number for number, item in enumerate(ctx.fetch("Item")[:] + ctx.fetch("Tag")[:])}
        names = {copied.id.uri: numbers.get(uri, -1) for uri, copied in copy.objects.items()}
        if set(numbers) != set(copy.objects):
            wrong.append(f"{len(numbers)} objects in the store, {len(copy.objects)} in the copy")
        for entity in ("Item", "Tag"):
            for item in ctx.fetch(entity):
                copied = copy.objects.get(item.id.uri)
                if copied is None:
                    continue
                here, there = described(item, model, numbers.__getitem__), described(copied, model, names.__getitem__)
                checked += len(here)
                for name in here:
                    if here[name] != there[name]:
                        wrong.append(f"{item.id.uri}.{name} is {here[name]!r}, {there[name]!r} in the copy")
    for each in wrong[:20]:
        print(f"replay: {each}")
    print(
        f"replay: {copy.changes} changes replayed, {len(numbers)} objects, {checked} values compared, "
        f"{len(wrong)} wrong"
    )
    return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--changes", type=int, default=100_000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--role", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.role:
        write(Path(given.role[0]), int(given.role[1]), int(given.role[2]))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return campaign(Path(folder), given.changes, given.processes, given.seed)


if __name__ == "__main__":
    sys.exit(main())
