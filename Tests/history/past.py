r"""The past of a store against copies: random changes, with a copy of the store after each step.

PYTHONPATH=bindings/python CORESTONE_LIBRARY=build/lib/libcorestone.so \
    python Tests/history/past.py [--tokens 200] [--seed N] [--mode complete|plain|mixed]

With a complete history the store at a token equals the copy that was made there. Without one, every value that counts
as known equals that of the copy, and no object is missing or too many. In the mixed mode the history is complete from
some token on, without the old values of some transactions, as if another program had written these.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import sqlite3
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from corestone import (
    UNKNOWN,
    BatchDeleteRequest,
    ConflictError,
    Container,
    Context,
    FetchRequest,
    HistoryToken,
    MergePolicy,
    Model,
    ObjectGoneError,
    ObjectID,
    Revision,
    ValidationError,
    check,
)
from replay import MODEL, batch, described, work

PAST: dict[str, dict[str, Any]] = {
    **MODEL,
    "Folder": {**MODEL["Folder"], "count": {"type": "int64", "optional": True, "derived": "parts.@count"},
               "blobs": "to-many Blob", "cover": "to-one Blob? inverse coverOf"},
    "Part": {**MODEL["Part"], "upper": {"type": "string", "optional": True, "derived": "uppercase:(name)"}},
    "Blob": {"label": "string?", "data": {"type": "binary", "optional": True, "external_storage": True},
             "serial": "int64 = 0", "coverOf": "to-one Folder? inverse cover"},
}  # fmt: skip
ROOTS = ("Item", "Tag", "Blob")


class State(NamedTuple):
    """The objects of a store, and whether each value is known."""

    values: dict[str, dict[str, Any]]
    unknown: set[tuple[str, str]]


def state(ctx: Context, model: Model) -> State:
    values: dict[str, dict[str, Any]] = {}
    unknown: set[tuple[str, str]] = set()
    for root in ROOTS:
        for item in ctx.fetch(root):
            uri = item.id.uri
            values[uri] = described(item, model, str)
            unknown.update((uri, name) for name in values[uri] if not item.is_known(name))
    return State(values, unknown)


class Run:
    """A store with a copy of each state."""

    def __init__(self, folder: Path, mode: str, seed: int) -> None:
        self.folder, self.mode, self.rolled = folder, mode, random.Random(seed)
        self.wrong: list[str] = []
        self.compared = self.unknown = 0
        self.tokens: list[tuple[HistoryToken, State]] = []
        self.open(mode == "complete")

    def open(self, complete: bool) -> None:
        options: dict[str, Any] = {"history": True, "complete_history": complete or None, "external_threshold": 200}
        self.container = Container(Model(PAST), self.folder / "source.sqlite", **options)
        self.model = self.container.coordinator.model

    def step(self) -> None:
        with self.container.context() as ctx:
            ctx.merge_policy = MergePolicy.OBJECT_TRUMP
            act = self.rolled.random()
            try:
                if act < 0.2:
                    batch(ctx, self.rolled)
                elif act < 0.3:
                    self.delete_rows(ctx)
                else:
                    child = ctx.child() if act < 0.5 else None
                    work(child or ctx, self.rolled)
                    self.blobs(child or ctx)
                    if child is not None:
                        child.save()
                    ctx.save()
            except (ObjectGoneError, ConflictError, ValidationError):
                pass
            ctx.reset()

    def delete_rows(self, ctx: Context) -> None:
        entity = self.rolled.choice(["Part", "Tag", "Folder", "Blob"])
        ctx.execute(BatchDeleteRequest(FetchRequest(entity, limit=3)))

    def blobs(self, ctx: Context) -> None:
        found = list(ctx.fetch("Blob", limit=6))
        folders = list(ctx.fetch("Folder", limit=3))
        for _ in range(self.rolled.randrange(4)):
            if len(found) < 3 or self.rolled.random() < 0.3:
                found.append(ctx.insert("Blob", label=f"blob {self.rolled.random():.4f}"))
            one = self.rolled.choice(found)
            if one.is_deleted:
                continue
            one.data = self.rolled.choice([None, self.rolled.randbytes(self.rolled.randrange(500))])
            one.serial = one.serial + 1
            if folders and self.rolled.random() < 0.5:
                self.rolled.choice(folders).blobs = set(self.rolled.sample(found, min(len(found), 2)))
            if folders and self.rolled.random() < 0.5:
                one.coverOf = self.rolled.choice([*folders, None])

    def keep(self, number: int) -> None:
        token = self.container.coordinator.history_token()
        assert token is not None
        copy = self.folder / f"copy{number}.sqlite"
        self.container.coordinator.backup(self.container.coordinator.stores[0], copy)
        with Container(Model(PAST), copy, read_only=True) as container, container.context() as ctx:
            self.tokens.append((token, state(ctx, self.model)))
        for path in self.folder.glob(f"copy{number}.*"):
            path.unlink()

    def forget(self, first: int, last: int) -> None:
        """Removes the old values of the transactions between two tokens."""
        low, high = (self.place(self.tokens[each][0]) for each in (first, last))
        self.container.close()
        with contextlib.closing(sqlite3.connect(self.folder / "source.sqlite")) as file, file:
            for table in ("VALUE", "LINK"):
                file.execute(f"DELETE FROM CST_HISTORY{table} WHERE ZTRANSACTION BETWEEN ? + 1 AND ?", (low, high))
            spans = "SELECT ?2 + 1, ZLAST FROM CST_HISTORYSPAN WHERE ZFIRST <= ?1 AND ZLAST > ?2"
            file.execute(f"INSERT INTO CST_HISTORYSPAN {spans}", (low, high))
            file.execute("UPDATE CST_HISTORYSPAN SET ZLAST = ?1 WHERE ZFIRST <= ?1 AND ZLAST > ?1", (low,))
        self.open(complete=True)

    def check(self, token: HistoryToken, wanted: State, exact: bool) -> None:
        with self.container.coordinator.at(token) as past, past.context() as ctx:
            if past.past_token != token:
                self.wrong.append(f"{past.past_token} instead of {token}")
            if exact and not past.is_past_complete:
                self.wrong.append(f"at {token} the past is not complete")
            found = state(ctx, self.model)
        self.unknown += len(found.unknown)
        if found.values.keys() != wanted.values.keys():
            gone, new = wanted.values.keys() - found.values.keys(), found.values.keys() - wanted.values.keys()
            self.wrong.append(f"at {token} objects are missing: {sorted(gone)[:3]}, or too many: {sorted(new)[:3]}")
        for uri, values in wanted.values.items():
            for name, value in values.items():
                self.compared += 1
                there = found.values.get(uri, {}).get(name)
                if (uri, name) in found.unknown:
                    if exact:
                        self.wrong.append(f"at {token} {uri}.{name} is unknown")
                elif there != value:
                    self.wrong.append(f"at {token} {uri}.{name} is {there!r}, not {value!r}")

    def check_difference(self) -> None:
        """The differences between two tokens, against the states there."""
        (first, before), (last, after) = sorted(
            self.rolled.sample(self.tokens, 2), key=lambda each: self.place(each[0])
        )
        revisions = self.container.coordinator.history_diff(first, last)
        changed: dict[str, Revision] = {each.object_id.uri: each for each in revisions}
        for uri in before.values.keys() | after.values.keys():
            old, new = before.values.get(uri), after.values.get(uri)
            for name in old or new or {}:
                one, other = (old or {}).get(name), (new or {}).get(name)
                revision = changed.get(uri)
                if revision is None or name not in revision.values:
                    # Derived values may change without a change of their object. Elements are in their attribute.
                    if one != other and name != "count" and "." not in name:
                        self.wrong.append(f"{first} to {last}: {uri}.{name} is missing: {one!r} to {other!r}")
                    continue
                value = revision.values[name]
                if old is not None and value.old is not UNKNOWN and plain(name, value.old) != one:
                    self.wrong.append(f"{first} to {last}: {uri}.{name} was {one!r}, not {plain(name, value.old)!r}")
                if new is not None and value.new is not UNKNOWN and plain(name, value.new) != other:
                    self.wrong.append(
                        f"{first} to {last}: {uri}.{name} became {other!r}, not {plain(name, value.new)!r}"
                    )

    def check_objects(self) -> None:
        """The changes of single objects: each new value is the next old one, the last one the present value."""
        with self.container.context() as ctx:
            for item in list(ctx.fetch("Part", limit=30)) + list(ctx.fetch("Blob", limit=10)):
                latest: dict[str, Any] = {}
                for revision in self.container.coordinator.history_of(item):
                    for name, value in revision.values.items():
                        known = latest.get(name, UNKNOWN)
                        if UNKNOWN not in (known, value.old) and known != value.old:
                            self.wrong.append(f"{item.id.uri}.{name} was {known!r}, then {value.old!r}")
                        latest[name] = value.new
                now = described(item, self.model, str)
                for name, value in latest.items():
                    if value is not UNKNOWN and "." not in name and plain(name, value) != now[name]:
                        self.wrong.append(f"{item.id.uri}.{name} is {now[name]!r}, not {value!r}")

    def place(self, token: HistoryToken) -> int:
        return token.transaction(self.container.coordinator.stores[0]) or 0


def plain(name: str, value: Any) -> Any:
    """A value of a revision as `described` has it; the relationship `order` is the ordered one."""
    if isinstance(value, list):
        uris = [each.uri for each in value]
        return uris if name == "order" else sorted(uris)
    return value.uri if isinstance(value, ObjectID) else value


def campaign(folder: Path, tokens: int, mode: str, seed: int) -> int:
    run = Run(folder, mode, seed)
    for number in range(tokens):
        for _ in range(run.rolled.randrange(1, 4)):
            run.step()
        run.keep(number)
        if mode == "mixed" and number == tokens // 4:
            run.container.close()
            run.open(complete=True)
    if mode == "mixed":
        run.forget(tokens // 2, tokens * 3 // 5)
    for token, wanted in run.tokens:
        run.check(token, wanted, exact=mode == "complete")
        if len(run.wrong) > 50:
            break
    if mode == "complete":
        for _ in range(max(tokens // 20, 1)):
            run.check_difference()
    run.check_objects()
    run.container.close()
    run.wrong += [str(problem) for problem in check(folder / "source.sqlite")]
    for each in run.wrong[:20]:
        print(f"past: {each}")
    print(
        f"past: {mode}: {len(run.tokens)} tokens, {run.compared} values compared, {run.unknown} unknown, "
        f"{len(run.wrong)} wrong"
    )
    return 1 if run.wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--mode", choices=("complete", "plain", "mixed"), action="append", dest="modes")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    failed = 0
    for mode in given.modes or ("complete", "plain", "mixed"):
        with tempfile.TemporaryDirectory() as folder:
            failed |= campaign(Path(folder), given.tokens, mode, given.seed)
    return failed


if __name__ == "__main__":
    sys.exit(main())
