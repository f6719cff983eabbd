"""Migrates stores of source models that other programs ship, and compares every value with an independent oracle.

For each pair of versions of `pairs.tsv`, and the first and last version of each bundle: a store of the former version
is filled with random objects, copied and migrated in place. The oracle (oracle.py, stored.py: plain sqlite3 and the XML
of the models) computes from the copy what every attribute and relationship has to be.

With --random the models are random ones (random_models.py), and the former ones edited at random.

Usage: pairs.py [--sample N] [--random N] [--only TEXT] [--seed TEXT] [--keep FOLDER] [--verbose]
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import zlib
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import corestone
import history
from corestone import Container, Coordinator, CorestoneError, Model, ModelError, ValidationError
from filling import Filling, Wishes
from oracle import Correspondence, Expectation, Migration, compare
from random_models import RandomModels, write_model
from source_models import FIXTURES, Attribute, Pair, pairs
from stored import Objects, StoreReader, hashes, highest_keys, schema

TOOL = os.environ.get("CORESTONE_TOOL") or str(Path(__file__).resolve().parents[2] / "build" / "bin" / "corestone")


@dataclass
class Outcome:
    """The result of one pair."""

    pair: Pair
    state: str = ""  # "inferred", "refused", "same version"
    reasons: list[str] = field(default_factory=list)
    compared: int = 0
    members: int = 0
    changes: int = 0
    objects: int = 0
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Trial:
    """Runs one pair in a separate folder."""

    def __init__(self, pair: Pair, folder: Path, seed: str) -> None:
        self.pair, self.folder, self.seed = pair, folder, seed
        self.before, self.after = pair.model(pair.before), pair.model(pair.after)
        self.outcome = Outcome(pair)
        self.allows_type_changes = False
        # Every other store has a history.
        self.has_history = zlib.crc32(str(pair).encode()) % 2 == 0

    def model(self, version: str) -> Model:
        return Model.load(self.pair.path, version=version)

    def run(self) -> Outcome:
        refusal = self._try("random", Wishes())
        if refusal is not None and self._are_types_alone():
            self.outcome.notes.append("with type changes allowed: inferred")
            self.allows_type_changes = True
            refusal = self._try("other types", Wishes())
        if refusal is not None and refusal.refusals and not self._is_structural(refusal):
            self.outcome.notes.append("with fitting rows: inferred")
            self._try("fitting", self._wishes())
        return self.outcome

    def _is_structural(self, expectation: Expectation) -> bool:
        return any(each.code == 134190 for each in expectation.refusals)

    def _are_types_alone(self) -> bool:
        """Whether nothing but types that the oracle can convert keeps the mapping from being inferred."""
        pairing = self.pairing
        allowed = Correspondence(pairing.before, pairing.after, self.equal, allows_type_changes=True)
        return bool(pairing.refusals) and not allowed.refusals

    def _wishes(self) -> Wishes:
        """What rows must be like so that nothing but the models could keep a migration from being inferred."""
        wishes = Wishes()
        for name, former in self.pairing.sources.items():
            entity = self.after.entities[name]
            if entity.is_abstract:
                wishes.empty.add(former.name)
            for each in entity.properties().values():
                if not isinstance(each, Attribute):
                    continue
                source = self.pairing.properties[name].get(each.name)
                is_unique = any(each.name in names for one in entity.lineage for names in one.unique)
                if source is None and not each.is_optional and each.default is None:
                    wishes.empty.add(former.name)
                if source is not None and not each.is_optional:
                    wishes.present.add((former.name, source.name))
                if source is not None and is_unique:
                    wishes.unique.add((former.name, source.name))
        return wishes

    # One migration

    def _try(self, name: str, wishes: Wishes) -> Expectation | None:
        place = self.folder / name
        place.mkdir()
        store, copy = place / "store.sqlite", place / "former" / "store.sqlite"
        filling = Filling(self.before, f"{self.seed} {self.pair} {name}", wishes)
        members = filling.write(store, self.model(self.pair.before), self.has_history)
        if self.has_history:
            history.scramble(store, self.before, self.seed)
        shutil.copytree(place, copy.parent)
        with Container(self.model(self.pair.after), place / "fresh.sqlite", history=self.has_history):
            pass
        former, wanted = hashes(copy), hashes(place / "fresh.sqlite")
        if former == wanted:
            self.outcome.state = "same version"
            return None
        self.equal = {key for key, value in wanted.items() if former.get(key) == value}
        self.pairing = Correspondence(self.before, self.after, self.equal, self.allows_type_changes)
        objects = StoreReader(copy, self.before).read()
        found = sum(len(each) for one in objects.values() for each in one.members.values())
        self._require(found == members, f"{name}: {members} members written, {found} found by the reader")
        migration = Migration(self.pairing, objects)
        expectation = migration.run()
        self.outcome.objects += len(objects)
        if self.pairing.changed_equal:
            self.outcome.notes.append(f"by name, for equal hashes: {', '.join(self.pairing.changed_equal)}")
        self._migrate(store, copy, migration, expectation)
        return expectation

    def _require(self, holds: bool, failure: str) -> None:
        if not holds:
            self.outcome.failures.append(failure)

    def _migrate(self, store: Path, copy: Path, migration: Migration, expectation: Expectation) -> None:
        content = digest(store)
        try:
            with Coordinator(self.model(self.pair.after)) as coordinator:
                coordinator.add_store(
                    store,
                    migrate=True,
                    allow_removals=True,
                    allow_type_changes=self.allows_type_changes,
                    history=self.has_history,
                )
        except CorestoneError as error:
            self._judge_refusal(error, expectation)
            self._require(digest(store) == content, "the store changed although its migration was refused")
            return
        if not self.allows_type_changes:
            self.outcome.state = "inferred"
        if expectation.refusals:
            self.outcome.failures.append(f"migrated, but expected: {texts(expectation)}")
            return
        for each in expectation.contradictions:
            self.outcome.notes.append(f"the two sides of {each} differ in the former store")
        self._compare(store, copy, migration)

    def _judge_refusal(self, error: CorestoneError, expectation: Expectation) -> None:
        self.outcome.state = "refused"
        codes = {each.code for each in expectation.refusals}
        self.outcome.reasons += [f"{each.code} {each.reason}" for each in expectation.refusals]
        if not codes:
            self.outcome.failures.append(f"refused without need: {error.code} {error}")
        elif error.code not in codes:
            self.outcome.failures.append(f"{error.code} ({error}) instead of {texts(expectation)}")

    def _compare(self, store: Path, copy: Path, migration: Migration) -> None:
        try:
            found = StoreReader(store, self.after).read()
        except (AssertionError, KeyError, IndexError, OSError, sqlite3.Error) as error:
            self.outcome.failures.append(f"the migrated store cannot be read: {type(error).__name__} {error}")
            return
        comparison = compare(migration, found)
        self.outcome.compared += comparison.compared
        self.outcome.members += comparison.members
        self.outcome.failures += comparison.differences[:20]
        self._compare_schemas(store, copy)
        if self.has_history:
            self._compare_histories(store, copy)
        self._check_apple(store)
        self._write(store, found)

    def _compare_histories(self, store: Path, copy: Path) -> None:
        """Changes are of the same objects and properties as before, and one transaction of the migrator comes last."""
        former = history.changes(copy, self.before)
        try:
            now = history.changes(store, self.after)
        except (AssertionError, KeyError) as error:
            self.outcome.failures.append(f"the history cannot be read: {type(error).__name__} {error}")
            return
        for key, change in former.items():
            entity = self.pairing.destinations.get(change.entity)
            if entity is None:
                self._require(key not in now, f"change {key} of {change.entity}, which is gone")
                continue
            names = {each.name: name for name, each in self.pairing.properties[entity.name].items()}
            wanted = frozenset(names[name] for name in change.names if name in names)
            found = now.get(key)
            self.outcome.compared += 1
            self.outcome.changes += 1
            is_same = found is not None and (found.entity, found.kind, found.key, found.transaction, found.names) == (
                entity.name,
                change.kind,
                change.key,
                change.transaction,
                wanted,
            )
            self._require(is_same, f"change {key}: {found} instead of {entity.name} {sorted(wanted)} of {change}")
        authors = history.authors(store)
        added = authors[len(history.authors(copy)) :]
        is_one = len(added) == 1 and (added[0] or "").startswith(history.MIGRATOR)
        self._require(is_one and len(now) <= len(former), f"transactions that the migration added: {added}")

    def _compare_schemas(self, store: Path, copy: Path) -> None:
        fresh = store.with_name("fresh.sqlite")
        wanted, found = schema(fresh), schema(store)
        for key in sorted(set(wanted) | set(found)):
            if key == "table ACHANGE" and set(wanted[key]) < set(found[key]):  # type: ignore[call-overload]
                continue  # columns of preserved attributes stay, empty
            if wanted.get(key) != found.get(key):
                self.outcome.failures.append(f"{key}: {found.get(key)} instead of {wanted.get(key)}"[:300])
        self._require(hashes(store) == hashes(fresh), "version hashes")
        former, now = highest_keys(copy), highest_keys(store)
        for name, entity in self.pairing.destinations.items():
            root = self.before.entities[name].root.name
            self._require(now[entity.root.name] >= former[root], f"the highest key of {entity.root.name}")

    def _check_apple(self, store: Path) -> None:
        command = [TOOL, "check", "--apple", str(store)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        if done.returncode != 0:
            self.outcome.failures.append(f"check --apple: {done.returncode} {(done.stdout + done.stderr)[:500]}")

    def _write(self, store: Path, found: Objects) -> None:
        """Opens the store without a migration and saves a change of it."""
        with Coordinator(self.model(self.pair.after)) as coordinator:
            opened = coordinator.add_store(store, history=self.has_history)
            self._require(not opened.is_read_only, f"read-only: {opened.read_only_reason}")
            counts = Counter(each.entity for each in found.values())
            with coordinator.context() as context:
                for name, entity in self.after.entities.items():
                    if entity.is_abstract:
                        continue
                    objects = context.fetch(name, include_subentities=False)
                    self._require(len(objects) == counts[name], f"{len(objects)} objects of {name} are fetched")
                    self._change(context, objects, entity.properties().values())

    def _change(self, context: corestone.Context, objects: object, properties: object) -> None:
        for each in properties:  # type: ignore[attr-defined]
            if objects and isinstance(each, Attribute) and each.type == "String" and each.maximum is None:
                item = objects[0]  # type: ignore[index]
                item[each.name] = f"changed {id(item)}"
                try:
                    context.save()
                except ValidationError as error:
                    # The new model may ask more of relationships than the former one.
                    self.outcome.notes.append(f"valid no more: {error.message:.100}")
                    context.rollback()
                return


def texts(expectation: Expectation) -> str:
    return "; ".join(f"{each.code} {each.reason}" for each in expectation.refusals)


def digest(path: Path) -> str:
    """A digest of all rows and the schema, whether they are in the file or in its log."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return hashlib.sha256("\n".join(connection.iterdump()).encode("utf-8", "surrogateescape")).hexdigest()


def sample(number: int, seed: str) -> list[Pair]:
    """Pairs of many kinds of changes: those with several kinds are more likely."""
    everything = pairs()
    chance = random.Random(seed)
    weights = [1 + each.change.count(";") for each in everything]
    chosen: list[Pair] = []
    while len(chosen) < min(number, len(everything)):
        (pair,) = chance.choices(everything, weights)
        if pair not in chosen:
            chosen.append(pair)
    return chosen


def random_pair(folder: Path, seed: str) -> Pair:
    bundle = folder / "Random.xcdatamodeld"
    while True:
        models = RandomModels(seed)
        write_model(models.model, bundle / "before.xcdatamodel")
        edits = models.edit()
        write_model(models.model, bundle / "after.xcdatamodel")
        try:
            for version in ("before", "after"):
                Model.load(bundle, version=version).freeze()
            return Pair(f"random {seed}", "before", "after", "; ".join(edits), bundle)
        except ModelError:
            # Edits may leave two properties of one name.
            shutil.rmtree(bundle)
            seed += "+"


def report(outcome: Outcome, is_verbose: bool) -> None:
    if outcome.failures or is_verbose or outcome.state == "refused":
        print(f"{outcome.pair}: {outcome.state} [{outcome.pair.change}]")
        for line in outcome.reasons + outcome.notes:
            print(f"    {line}")
        for line in outcome.failures:
            print(f"    FAILED {line}")
        sys.stdout.flush()


def summary(outcomes: list[Outcome]) -> None:
    states = Counter(each.state for each in outcomes)
    notes = [note for each in outcomes for note in each.notes]
    fitting, typed = (sum(note.startswith(start) for note in notes) for start in ("with fitting", "with type changes"))
    reasons = Counter(
        reason.split(" ")[0] for each in outcomes for reason in {one.split(" ")[0] for one in each.reasons}
    )
    failed = [each for each in outcomes if each.failures]
    compared = sum(each.compared for each in outcomes)
    unequal = sum(len(each.failures) for each in outcomes)
    refusals = ", ".join(f"{code} x {count}" for code, count in sorted(reasons.items())) or "none"
    print(
        f"{len(outcomes)} pairs: {states['inferred']} inferred ({fitting} of them for rows that fit), "
        f"{states['refused']} refused ({typed} of them inferred with type changes allowed), "
        f"{states['same version']} of one version; refusals by code: {refusals}"
    )
    print(
        f"{sum(each.objects for each in outcomes)} objects; {compared} values compared, "
        f"{sum(each.members for each in outcomes)} members and "
        f"{sum(each.changes for each in outcomes)} changes of histories among them, {unequal} unequal"
    )
    print(f"{len(outcomes) - len(failed)} passed, {len(failed)} failed")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, help="so many pairs instead of all")
    parser.add_argument("--random", type=int, help="so many random models instead")
    parser.add_argument("--only", default="", help="pairs whose name contains this text")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--keep", type=Path, help="a folder in which the stores stay")
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args(arguments)
    if given.random:
        return run([], given, given.random)
    if not FIXTURES.is_dir():
        print(f"{FIXTURES} is not there: 0 passed, 0 failed, 1 skipped")
        return int(os.environ.get("CORESTONE_REQUIRE_FIXTURES", "") == "1")
    chosen = sample(given.sample, given.seed) if given.sample else pairs()
    chosen = [each for each in chosen if given.only in str(each)]
    return run(chosen, given, len(chosen))


def run(chosen: list[Pair], given: argparse.Namespace, count: int) -> int:
    outcomes = []
    for number in range(count):
        with tempfile.TemporaryDirectory(prefix="corestone-pair-") as folder:
            place = Path(folder) if given.keep is None else given.keep / str(number)
            place.mkdir(parents=True, exist_ok=True)
            pair = chosen[number] if chosen else random_pair(place, f"{given.seed}.{number}")
            if given.only not in str(pair):
                continue
            outcomes.append(Trial(pair, place, given.seed).run())
        report(outcomes[-1], given.verbose)
    summary(outcomes)
    return 1 if not outcomes or any(each.failures for each in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
