"""Executes mapping models that other programs ship, and compares every object with an interpreter of their XML.

For each `.xcmappingmodel` of the fixtures: a store of its source model is filled with random objects and migrated. The
interpreter (mapping_oracle.py, editor_models.py, stored.py: xml.etree, plistlib, sqlite3) computes from a copy of the
store what the new one has to contain. Each mapping model is executed in several variants: as it is, with filters, with
a policy that keeps all objects in memory, and where it cannot succeed with rows, completed.

A migrated object has another key than the former one. It is matched by the values of its attributes where these are
unique in its entity, else by what it is related to (`Matching`); a wrong value is then a row too many and one missing.

With --inferred, mapping models are inferred for pairs of source models (pairs.tsv) instead, and written as an
`.xcmappingmodel`, which is interpreted in the same way.

The policies that the fixtures name belong to the programs; here are classes that do what those do, twice: for the
migration and for the interpreter.

Usage: mapping_models.py [--inferred N] [--only TEXT] [--rounds N] [--count N] [--seed TEXT] [--keep FOLDER] [--verbose]
"""

from __future__ import annotations

import argparse
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mapping_policies
from corestone import Coordinator, CorestoneError, MappingModel, MigrationError, Model, ModelError
from filling import REFERENCE, Filling, Wishes
from mapping_oracle import NOW, Interpreter, KeyPath, Made, MappingFile
from oracle import Comparison, Key
from pairs import TOOL, digest, sample
from source_models import FIXTURES, Attribute, Pair, Relationship, SourceModel
from stored import Objects, StoreReader

Signature = Any


#: Mapping models and the stores of their programs' own tests.
STORES = [
    ("core-data/Moody-2-Moody-3.xcmappingmodel", "core-data/Moody-2.moody"),
    ("core-data/Moody-3-Moody-4.xcmappingmodel", "core-data/Moody-3.moody"),
    ("core-data/Moody-4-Moody-5.xcmappingmodel", "core-data/Moody-4.moody"),
    ("core-data/Moody-5-Moody-6.xcmappingmodel", "core-data/Moody-5.moody"),
    (
        "coredatamigrationrevised-example/Migration2to3ModelMapping.xcmappingmodel",
        "coredatamigrationrevised-example/CoreDataMigration_Example_2.sqlite",
    ),
    ("coredataplus/V2toV3.xcmappingmodel", "coredataplus/SampleModel_V2.sqlite"),
]


def copy_store(given: Path, path: Path) -> None:
    """Copies a store of another program, in its last state.

    SampleModel_V2.sqlite comes without its log, in which the in-place migration from the first version ends: its
    metadata is that of the second version, but the renamed entity still has its former name.
    """
    shutil.copyfile(given, path)
    if given.name == "SampleModel_V2.sqlite":
        with closing(sqlite3.connect(path)) as file, file:
            file.execute("UPDATE Z_PRIMARYKEY SET Z_NAME = 'LuxuryCar' WHERE Z_NAME = 'ExpensiveSportCar'")


def mapping_models() -> list[Path]:
    return sorted((FIXTURES / "mapping-models").glob("*/*.xcmappingmodel"))


# Variants


@dataclass(frozen=True)
class Variant:
    """A change of the XML, and the rows that the store must have for it."""

    name: str
    change: Callable[[ElementTree.Element], bool]
    rows: Callable[[MappingFile], Wishes] = lambda _: Wishes()


def elements(root: ElementTree.Element, kind: str) -> list[ElementTree.Element]:
    return [each for each in root.iter("object") if each.get("type") == kind]


def text(element: ElementTree.Element, name: str) -> str:
    return next((each.text or "" for each in element.iter("attribute") if each.get("name") == name), "")


def set_text(element: ElementTree.Element, name: str, value: str) -> None:
    for each in element.findall("attribute"):
        if each.get("name") == name:
            element.remove(each)
    added = ElementTree.Element("attribute", {"name": name, "type": "string"})
    added.text = value
    element.insert(0, added)


#: Filters by entity of the source, for the variant with filters.
FILTERS = {
    "Car": "model != nil",
    "Creature": "dnaCode > 0",
    "Driver": "name != nil",
    "Employee": "salary < 100",
    "Mood": "creatorID != 'NULL' AND rating \\u3c00= 32767",
    "Person": "firstName != nil",
    "Post": "content != nil AND hexColor != nil",
    "SportCar": "maker != nil",
}


def with_filters(root: ElementTree.Element) -> bool:
    found = [each for each in elements(root, "XDDEVENTITYMAPPING") if text(each, "sourcename") in FILTERS]
    for each in found:
        set_text(each, "sourcefilterpredicatestring", FILTERS[text(each, "sourcename")])
    return bool(found)


def in_memory(root: ElementTree.Element) -> bool:
    """With a policy that is the default, so that no batch is saved before the end."""
    for each in elements(root, "XDDEVENTITYMAPPING"):
        if text(each, "sourcename") and not text(each, "migrationpolicyclassname"):
            set_text(each, "migrationpolicyclassname", "Tests.PlainPolicy")
    return True


def completed(root: ElementTree.Element) -> bool:
    """With members for a required relationship that the mapping model leaves empty, so that it fails with any row."""
    (mapping,) = (each for each in elements(root, "XDDEVENTITYMAPPING") if text(each, "name") == "EmployeeToCompany")
    for each in elements(root, "XDDEVRELATIONSHIPMAPPING"):
        if text(each, "name") == "employees":
            set_text(each, "sourcekeypath", "$source")
            set_text(each, "sourcemappingname", "EmployeeToEmployee")
    return mapping is not None


def fitting(mapping: MappingFile) -> Wishes:
    """Rows without nulls that the new model refuses, and with different values where it wants them."""
    wishes = Wishes()
    for rule in mapping.rules:
        if rule.source and rule.destination:
            entity = mapping.destination.entities[rule.destination]
            unique = {name for one in entity.lineage for names in one.unique for name in names}
            for name, each in entity.properties().items():
                expression = (rule.attributes if isinstance(each, Attribute) else rule.relationships).get(name)
                is_set = isinstance(each, Attribute) and each.default is not None
                if expression is None and not each.is_optional and not is_set:
                    wishes.empty.add(rule.source)
                if isinstance(expression, KeyPath) and len(expression.keys) == 1:
                    if not each.is_optional:
                        wishes.present.add((rule.source, expression.keys[0]))
                    if name in unique:
                        wishes.unique.add((rule.source, expression.keys[0]))
            if entity.is_abstract:
                wishes.empty.add(rule.source)
    return wishes


AS_IT_IS = Variant("as it is", lambda _: True)


def variants(path: Path) -> list[Variant]:
    found = [
        AS_IT_IS,
        Variant("with filters", with_filters),
        Variant("in memory", in_memory),
    ]
    if path.name.startswith("Version2_to_Version3"):
        found.append(Variant("completed", completed, fitting))
        found.append(Variant("completed, in memory", lambda root: completed(root) and in_memory(root), fitting))
    return found


# Comparison


def signature(entity: str, values: dict[str, Any], without: set[tuple[str, str]]) -> Signature:
    """The attributes of an object: numbers of any type are equal if their values are."""
    return entity, tuple((name, values[name]) for name in sorted(values) if (entity, name) not in without)


class Matching:
    """Finds for each expected object the one that was made.

    Objects have colours: first their attributes, then also the colours of the objects that they are related to. An
    expected and a found object that alone have one colour match, and keep it. Where nothing distinguishes the objects
    that are left, one expected and one found object are matched, and the search goes on.
    """

    def __init__(
        self, expected: Sequence[Made], found: Objects, model: SourceModel, times: set[tuple[str, str]]
    ) -> None:
        self.expected, self.found, self.model = list(expected), found, model
        self.numbers = {id(each): number for number, each in enumerate(self.expected)}
        #: Objects of both sides: a number, or a key.
        self.colours: dict[int | Key, Any] = {}
        for number, each in enumerate(self.expected):
            self.colours[number] = signature(each.entity.name, each.values, times)
        for key, other in found.items():
            self.colours[key] = signature(other.entity, other.values, times)
        self.links = self._find_links()
        self.pairs: dict[int, Key] = {}
        self.is_stable = False
        self.by_values = self._match()
        while self._match() or self._choose() or self._refine():
            pass

    def _groups(self) -> list[tuple[list[int], list[Key]]]:
        """The objects of each colour that are not matched yet."""
        groups: dict[Any, tuple[list[int], list[Key]]] = {}
        done = set(self.pairs.values())
        for each, colour in self.colours.items():
            ours, theirs = groups.setdefault(colour, ([], []))
            if isinstance(each, int):
                if each not in self.pairs:
                    ours.append(each)
            elif each not in done:
                theirs.append(each)
        return [(ours, theirs) for ours, theirs in groups.values() if ours and theirs]

    def _match(self) -> int:
        """Returns how many objects were matched."""
        found = {ours[0]: theirs[0] for ours, theirs in self._groups() if len(ours) == len(theirs) == 1}
        for ours, theirs in found.items():
            self._fix(ours, theirs)
        return len(found)

    def _fix(self, ours: int, theirs: Key) -> None:
        self.pairs[ours] = theirs
        self.colours[ours] = self.colours[theirs] = ("pair", ours)
        self.is_stable = False

    def _choose(self) -> bool:
        """Matches two of several objects, once members tell no more of them apart."""
        groups = self._groups()
        if not groups or not self.is_stable:
            return False
        (ours, *_), (theirs, *_) = groups[0]
        self._fix(ours, theirs)
        return True

    def _refine(self) -> bool:
        """Adds the colours of members to those of objects without a match. Returns whether there is more to do."""
        if not self._groups():
            return False
        done = set(self.pairs) | set(self.pairs.values())
        refined = {each: colour if each in done else self._refined(each) for each, colour in self.colours.items()}
        names: dict[Any, int | tuple[str, int]] = {}
        for each, colour in refined.items():
            names.setdefault(colour, colour if each in done else len(names))
        count = len(set(self.colours.values()))
        self.colours = {each: names[colour] for each, colour in refined.items()}
        self.is_stable = len(set(self.colours.values())) == count
        return True

    def _refined(self, each: int | Key) -> Any:
        return self.colours[each], tuple(sorted((name, repr(self.colours[other])) for name, other in self.links[each]))

    def _find_links(self) -> dict[int | Key, list[tuple[str, int | Key]]]:
        """The members of each object by relationship, and the objects of which it is a member."""
        links: dict[int | Key, list[tuple[str, int | Key]]] = {each: [] for each in self.colours}
        for each in self.colours:
            for name, members in self._members(each).items():
                for member in members:
                    links[each].append((name, member))
                    links[member].append((f"of {name}", each))
        return links

    def _members(self, each: int | Key) -> Mapping[str, Sequence[int | Key]]:
        if not isinstance(each, int):
            return self.found[each].members
        members = self.expected[each].members
        return {name: [self.numbers[id(one)] for one in there] for name, there in members.items()}


def compare(run: Interpreter, found: Objects, started: float, ended: float) -> tuple[Comparison, int]:
    """Returns the comparison, and how many objects were matched by their values alone."""
    result, model = Comparison(), run.mapping.destination
    wanted = Counter(each.entity.name for each in run.objects)
    there = Counter(each.entity for each in found.values())
    for name in model.entities:
        result.check(f"objects of {name}", wanted[name], there[name])
    matching = Matching(run.objects, found, model, run.times)
    pairs = matching.pairs
    for number, each in enumerate(run.objects):
        key = pairs.get(number)
        is_there = "no object" if key is None else "an object"
        result.check(f"{each.entity.name} with {each.values!r:.300}", "an object", is_there)
        if key is None:
            continue
        other = found[key]
        for name, value in each.values.items():
            if value is NOW:
                moment = other.values[name]
                is_now = isinstance(moment, float) and started <= moment <= ended
                result.check(f"{each.entity.name} {key[1]}.{name}", True, is_now)
            else:
                result.check(f"{each.entity.name} {key[1]}.{name}", value, other.values.get(name, "no value"))
        for name, members in each.members.items():
            relationship = each.entity.properties()[name]
            assert isinstance(relationship, Relationship)
            ours = [pairs.get(matching.numbers[id(one)], ("", 0)) for one in members]
            theirs = list(other.members.get(name, []))
            result.members += len(ours)
            if not relationship.is_ordered:
                ours, theirs = sorted(ours), sorted(theirs)
            result.check(f"{each.entity.name} {key[1]}.{name}", ours, theirs)
    for key in sorted(set(found) - set(pairs.values())):
        result.check(f"{found[key].entity} {key[1]} with {found[key].values!r:.300}", "no object", "an object")
    return result, matching.by_values


# One migration


@dataclass
class Outcome:
    """The result of one mapping model in one variant."""

    name: str
    state: str = ""  # "executed", "refused"
    sources: int = 0
    objects: int = 0
    by_values: int = 0
    compared: int = 0
    members: int = 0
    reasons: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


class Trial:
    """A mapping model whose XML is changed, executed on a store of its source model."""

    def __init__(
        self, path: Path, variant: Variant, folder: Path, seed: str, count: int, pair: Pair | None = None
    ) -> None:
        self.variant, self.folder, self.seed, self.count = variant, folder, seed, count
        self.outcome = Outcome(f"{pair or f'{path.parent.name} {path.stem}'}, {variant.name}")
        self.path = folder / path.name
        tree = ElementTree.parse(path / "xcmapping.xml")
        self.applies = variant.change(tree.getroot())
        self.path.mkdir()
        tree.write(self.path / "xcmapping.xml", encoding="UTF-8", xml_declaration=True)
        models = (pair.model(pair.before), pair.model(pair.after)) if pair else ()
        self.mapping = MappingFile(self.path, *models)

    def run(self, given: Path | None = None) -> Outcome:
        """Migrates a copy of a given store, or a filled store."""
        former = self.folder / "former"
        former.mkdir()
        store, copy = self.folder / "store.sqlite", former / "store.sqlite"
        loaded = MappingModel.load(self.path)
        assert loaded.source is not None and loaded.destination is not None
        members = None
        if given is None:
            filling = Filling(self.mapping.source, self.seed, self.variant.rows(self.mapping), self.count)
            members = filling.write(store, loaded.source)
        else:
            copy_store(given, store)
        for each in [*self.folder.glob("store.sqlite*"), *self.folder.glob(".store_SUPPORT")]:
            (shutil.copytree if each.is_dir() else shutil.copyfile)(each, former / each.name)
        objects = StoreReader(copy, self.mapping.source).read()
        found = sum(len(each) for one in objects.values() for each in one.members.values())
        self._require(members in (None, found), f"{members} members written, {found} found by the reader")
        self.outcome.sources = len(objects)
        run = Interpreter(self.mapping, objects, mapping_policies.INTERPRETED)
        run.run()
        self._migrate(store, loaded, run)
        return self.outcome

    def _require(self, holds: bool, failure: str) -> None:
        if not holds:
            self.outcome.failures.append(failure)

    def _migrate(self, store: Path, loaded: MappingModel, run: Interpreter) -> None:
        assert loaded.destination is not None
        content, started = digest(store), now()
        try:
            with mapping_policies.registered(), Coordinator(loaded.destination) as coordinator:
                coordinator.add_store(store, migrate=True, mapping_models=[loaded])
        except CorestoneError as error:
            self._judge_refusal(error, run)
            self._require(digest(store) == content, "the store changed although its migration was refused")
            return
        self.outcome.state = "executed"
        if run.refusals:
            self.outcome.failures.append(f"executed, but expected: {'; '.join(each.reason for each in run.refusals)}")
            return
        found = StoreReader(store, self.mapping.destination).read()
        comparison, self.outcome.by_values = compare(run, found, started, now())
        self.outcome.objects = len(found)
        self.outcome.compared, self.outcome.members = comparison.compared, comparison.members
        self.outcome.failures += comparison.differences[:20]
        done = subprocess.run([TOOL, "check", "--apple", store], capture_output=True, text=True, check=False)
        self._require(done.returncode == 0, f"check --apple: {done.returncode} {(done.stdout + done.stderr)[:500]}")

    def _judge_refusal(self, error: CorestoneError, run: Interpreter) -> None:
        self.outcome.state = "refused"
        self.outcome.reasons += [f"{each.code} {each.reason}" for each in run.refusals]
        if not run.refusals:
            self.outcome.failures.append(f"refused without need: {error.code} {error}")
        elif error.code not in {each.code for each in run.refusals}:
            self.outcome.failures.append(f"{error.code} ({error}) instead of {self.outcome.reasons}")


def now() -> float:
    return time.time() - REFERENCE.timestamp()


def report(outcome: Outcome, is_verbose: bool) -> None:
    counts = f"{outcome.sources} objects to {outcome.objects} ({outcome.by_values} matched by their values)"
    equal = f"{outcome.compared} compared, {outcome.members} members among them, {len(outcome.failures)} unequal"
    print(f"{outcome.name}: {outcome.state}, {counts}; {equal}")
    for line in outcome.reasons if is_verbose or outcome.failures else outcome.reasons[:1]:
        print(f"    {line}")
    for line in outcome.failures:
        print(f"    FAILED {line}")
    sys.stdout.flush()


def summary(outcomes: Iterable[Outcome]) -> None:
    outcomes = list(outcomes)
    states = Counter(each.state for each in outcomes)
    failed = sum(bool(each.failures) for each in outcomes)
    names = {each.name.split(",")[0] for each in outcomes}
    print(
        f"{len(names)} mapping models, {len(outcomes)} migrations: {states['executed']} executed, {states['refused']} "
        f"refused; {sum(each.objects for each in outcomes)} objects made, "
        f"{sum(each.compared for each in outcomes)} values compared, {sum(each.members for each in outcomes)} members "
        f"among them, {sum(len(each.failures) for each in outcomes)} unequal"
    )
    print(f"{len(outcomes) - failed} passed, {failed} failed")


def runs(given: argparse.Namespace) -> Iterator[tuple[Path, Variant, int, Pair | None]]:
    if given.inferred:
        for pair in sample(given.inferred, given.seed):
            for variant in (AS_IT_IS, Variant("fitting rows", lambda _: True, fitting)):
                yield Path(), variant, 0, pair
        return
    for path in mapping_models():
        for variant in variants(path):
            for number in range(given.rounds):
                yield path, variant, number, None


def inferred(pair: Pair, folder: Path) -> Path | None:
    """Writes the mapping model that is inferred for two versions.

    None if there is none, if they are one version, or if an `.xcmappingmodel` cannot represent it.
    """
    path = folder / "written" / "Inferred.xcmappingmodel"
    path.parent.mkdir()
    before, after = (Model.load(pair.path, version=version) for version in (pair.before, pair.after))
    if {name: each.version_hash for name, each in before.items()} == {
        name: each.version_hash for name, each in after.items()
    }:
        return None
    try:
        MappingModel.inferred(before, after).write(path)
    except (MigrationError, ModelError):
        return None
    return path


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="mapping models whose name contains this text")
    parser.add_argument("--inferred", type=int, default=0, help="inferred mapping models of so many pairs instead")
    parser.add_argument("--rounds", type=int, default=5, help="so many stores for each mapping model and variant")
    parser.add_argument("--count", type=int, default=60, help="so many objects of each entity at least")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--keep", type=Path, help="a folder in which the stores stay")
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args(arguments)
    if not FIXTURES.is_dir():
        print(f"{FIXTURES} is not there: 0 passed, 0 failed, 1 skipped")
        return int(os.environ.get("CORESTONE_REQUIRE_FIXTURES", "") == "1")
    outcomes: list[Outcome] = []
    for path, variant, number, pair in runs(given):
        with tempfile.TemporaryDirectory(prefix="corestone-mapping-") as folder:
            name = "".join(each if each.isalnum() else "-" for each in f"{pair or path.stem} {variant.name} {number}")
            place = Path(folder) if given.keep is None else given.keep / name
            place.mkdir(parents=True, exist_ok=True)
            if pair is not None:
                written = inferred(pair, place)
                if written is None:
                    continue
                path = written
            trial = Trial(path, variant, place, f"{given.seed}.{number}", given.count, pair)
            if given.only in trial.outcome.name and trial.applies:
                outcomes.append(trial.run())
                report(outcomes[-1], given.verbose)
    summary(outcomes)
    return 1 if not outcomes or any(each.failures for each in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
