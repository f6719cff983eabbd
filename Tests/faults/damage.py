"""Damages the files of stores and opens them: what is read must be what an independent reader finds in the same bytes.

Each byte of the first 4 KB is changed, the end is cut off at each page, pages are overwritten with zeros: in three
stores that Apple's framework wrote, in XML and in binary stores, of these also beneath a checksum that is right. SQLite
files are compared with the sqlite3 module, the others with readers of the tests' own. All else is an error with a
status of its own: no crash, nothing that takes longer than 10 s or more than 512 MB.

Usage: damage.py [--store NAME…] [--share 1.0] [--seed N] [--processes 2] [--number N]

With a share below 1 that part of the damages is tried, chosen by the seed. The last line counts.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import resource
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bindings/python/tests"), str(ROOT / "Tests/support")]

import binary_reader  # noqa: E402
import corestone  # noqa: E402
import xml_reader  # noqa: E402
from apple_reader import AppleModel, AppleStore, Attribute, Relationship, decoder  # noqa: E402
from binary_reader import ToMany  # noqa: E402
from checkout import FIXTURES  # noqa: E402
from conftest import stored  # noqa: E402
from corestone import Container, CorestoneError, Model, Status  # noqa: E402
from corestone.object import object_id  # noqa: E402
from samples import ROOTS, THINGS, TO_MANY, fill  # noqa: E402

APPLE = {
    "bookmarks": "stores/browserserviceskit/Bookmarks_V5.sqlite",
    "sample": "stores/coredataplus/SampleModel_V1.sqlite",
    "moody": "stores/core-data/Moody-2.moody",
}
MAPPING = "mapping-models/corestore/Advanced.EvolutionDemo.V1.FromV2.xcmappingmodel/xcmapping.xml"
MAPPINGS = {
    "XDDevEntityMapping.attributeMappings": ToMany({"XDDevEntityMapping"}, {"XDDevAttributeMapping"}, "entityMapping"),
    "XDDevEntityMapping.relationshipMappings": ToMany(
        {"XDDevEntityMapping"}, {"XDDevRelationshipMapping"}, "entityMapping"
    ),
    "XDDevMappingModel.entityMappings": ToMany({"XDDevMappingModel"}, {"XDDevEntityMapping"}, "mappingModel"),
}
FIRST, SECONDS, MEGABYTES = 4096, 10, 512
Found = dict[Any, Any]


@dataclass
class Subject:
    """A store that is whole, and how to read it."""

    content: bytes
    # Of the zeroed pieces and of the places where the end is cut off.
    page: int
    model: Model
    type: str | None
    # What there is, read by the library and by the other reader.
    ours: Callable[[Container], Found]
    theirs: Callable[[Path], Found]
    # A file around content that was damaged.
    around: Callable[[bytes], bytes] = bytes
    # Another way to read the same bytes, where these contradict themselves.
    otherwise: Callable[[Path], Found] | None = None

    def damages(self) -> list[tuple[str, int]]:
        whole = len(self.content)
        return [
            *(("byte", place) for place in range(min(whole, FIRST))),
            *(("end", place) for place in range(self.page, whole, self.page)),
            *(("zeros", place) for place in range(0, whole, self.page)),
        ]

    def damaged(self, kind: str, place: int) -> bytes:
        content = self.content
        if kind == "none":
            return self.around(content)
        if kind == "end":
            return self.around(content[:place])
        if kind == "zeros":
            size = min(self.page, len(content) - place)
            return self.around(content[:place] + bytes(size) + content[place + size :])
        mask = random.Random(place).choice([1, 2, 4, 8, 16, 32, 64, 128, 255])
        return self.around(content[:place] + bytes([content[place] ^ mask]) + content[place + 1 :])


def key(item: Any) -> int:
    return int(object_id(item).uri.rpartition("/p")[2])


def rows(container: Container, entities: list[str]) -> Found:
    """The content of a store by entity and key, with the keys of related objects and without null values."""
    context = container.context()
    found: Found = {}
    for entity in entities:
        for item in context.fetch(entity):
            values: dict[str, Any] = {}
            for name, described in item._cst_properties.items():
                if described.is_fetched or described.is_transient:
                    continue
                if not described.is_relationship:
                    value = stored(item, name)
                    parts = (
                        {f"{name}.{part}": each for part, each in value.items()} if described.elements and value else {}
                    )
                    values.update(parts or {name: value})
                elif described.is_to_many:
                    members = [key(member) for member in item[name]]
                    values[name] = (members if described.is_ordered else sorted(members)) or None
                else:
                    values[name] = None if item[name] is None else key(item[name])
            values = {name: value for name, value in values.items() if value is not None}
            found[object_id(item).entity_name, key(item)] = values
    return found


class Apple:
    """Reads a store in Apple's layout with the sqlite3 module."""

    def __init__(self, path: Path) -> None:
        self.decode = decoder(FIXTURES)
        compiled = self.decode.model_from_store(str(path))
        self.model = AppleModel(self.decode.unarchive(compiled)[0], self.decode)
        self.roots = sorted({self.model.root(entity) for entity in self.model.parents})

    def read(self, path: Path, hint: str = "") -> Found:
        store = Rows(path, self.decode, self.model)
        store.hint = hint
        found: Found = {}
        for entity in self.model.parents:
            for number, row in store.rows(entity).items():
                values: dict[str, Any] = {}
                for each in self.model.lineage(entity):
                    for attribute in self.model.attributes[each].values():
                        values[attribute.name] = store.value(attribute, row[attribute.column], path.parent)
                    for relationship in self.model.relationships[each].values():
                        if relationship.is_to_many:
                            values[relationship.name] = store.members(relationship, number) or None
                        else:
                            values[relationship.name] = row[relationship.column] or None
                found[entity, number] = {name: value for name, value in values.items() if value is not None}
        store.connection.close()
        return found


class Rows(AppleStore):
    """Leaves out rows whose key is not a positive number, as documented in docs/reference/store.md."""

    def __init__(self, path: Path, decode: Any, model: AppleModel) -> None:
        super().__init__(path, decode, model)
        self.connection.text_factory = lambda data: data.decode(errors="surrogateescape")

    def rows(self, entity: str) -> dict[int, dict[str, Any]]:
        return {key: row for key, row in super().rows(entity).items() if self.is_key(key)}

    def members(self, relationship: Relationship, key: int) -> list[int]:
        return [key for key in super().members(relationship, key) if self.is_key(key)]

    def value(self, attribute: Attribute, raw: Any, folder: Path) -> Any:
        """Text in the place of bytes counts as its bytes."""
        if attribute.code in (1000, 1800) and isinstance(raw, str):
            raw = raw.encode(errors="surrogateescape")
        return super().value(attribute, raw, folder)

    @staticmethod
    def is_key(key: Any) -> bool:
        return isinstance(key, int) and key > 0


def in_any_order(found: Found, unordered: set[str]) -> Found:
    return {
        where: {name: sorted(value) if name in unordered else value for name, value in values.items()}
        for where, values in found.items()
    }


def xml_rows(container: Container, roots: list[str]) -> Found:
    found = xml_reader.stored(container, roots)
    for item in found.values():
        for part, value in (item.values.pop("where", None) or {}).items():
            item.values["where." + part] = value
    return xml_reader.in_any_order(found)


def subjects(folder: Path) -> dict[str, Callable[[], Subject]]:
    """Makers of the stores by name; each is made once in a process."""

    def apple(name: str) -> Subject:
        path = folder / f"{name}.sqlite"
        path.write_bytes((FIXTURES / APPLE[name]).read_bytes())
        reader = Apple(path)
        with corestone.open(path) as container:
            model = container.model
        content = path.read_bytes()
        size = int.from_bytes(content[16:18], "big")
        subject = Subject(content, size, model, None, lambda opened: rows(opened, reader.roots), reader.read)
        # An index may be damaged where its table is not, and the other way round.
        subject.otherwise = lambda path: reader.read(path, " NOT INDEXED")
        return subject

    def things(kind: str) -> bytes:
        path = folder / f"things.{kind}"
        path.unlink(missing_ok=True)
        with Container(Model(THINGS), path, type=kind) as container:
            fill(container)
        return path.read_bytes()

    def xml(content: bytes, model: Model, roots: list[str]) -> Subject:
        return Subject(
            content,
            64,
            model,
            "XML",
            lambda opened: xml_rows(opened, roots),
            lambda path: xml_reader.in_any_order(xml_reader.read(path.read_bytes())),
        )

    def binary(content: bytes, model: Model, roots: list[str], sides: dict[str, ToMany], is_within: bool) -> Subject:
        unordered = {name.partition(".")[2] for name in sides} - {"things"}
        return Subject(
            plist(content) if is_within else content,
            64,
            model,
            "Binary",
            lambda opened: in_any_order(rows(opened, roots), unordered),
            lambda path: in_any_order(binary_reader.read(path.read_bytes(), sides), unordered),
            binary_reader.file if is_within else bytes,
        )

    def plist(file: bytes) -> bytes:
        import plistlib

        found = plistlib.loads(file)["content"]
        assert isinstance(found, bytes)
        return found

    def mapped() -> tuple[bytes, Model]:
        model, path = xml_reader.mapping_model(folder), folder / "mapping.xml"
        path.write_bytes((FIXTURES / MAPPING).read_bytes())
        (folder / "mapping.binary").unlink(missing_ok=True)
        with Container(model, path, type="XML") as container:
            container.coordinator.migrate_store(container.store, folder / "mapping.binary", type="Binary")
        return (folder / "mapping.binary").read_bytes(), model

    def mapping(is_within: bool) -> Subject:
        content, model = mapped()
        return binary(content, model, xml_reader.MAPPING_ROOTS, MAPPINGS, is_within)

    makers: dict[str, Callable[[], Subject]] = {name: lambda name=name: apple(name) for name in APPLE}  # type: ignore[misc]
    makers["xml"] = lambda: xml(things("XML"), Model(THINGS), ROOTS)
    makers["xml-mapping"] = lambda: xml(
        (FIXTURES / MAPPING).read_bytes(), xml_reader.mapping_model(folder), xml_reader.MAPPING_ROOTS
    )
    for is_within, suffix in ((False, ""), (True, "-content")):
        makers["binary" + suffix] = lambda is_within=is_within: binary(  # type: ignore[misc]
            things("Binary"), Model(THINGS), ROOTS, TO_MANY, is_within
        )
        makers["binary-mapping" + suffix] = lambda is_within=is_within: mapping(is_within)  # type: ignore[misc]
    return makers


# -------- work of the separate process ------------------------------------------------------------------------------


def outcome(subject: Subject, damage: tuple[str, int], path: Path) -> str:
    """ "refused", "read", or a description of the problem."""
    path.write_bytes(subject.damaged(*damage))
    try:
        if subject.type is None:
            container = corestone.open(path, subject.model)
        else:
            container = Container(subject.model, path, type=subject.type, read_only=True)
        with container:
            found = subject.ours(container)
    except CorestoneError as error:
        if error.status == Status.INTERNAL or not str(error):
            return f"wrong: an error that nobody understands: {error!r}"
        return "refused"
    except Exception as error:
        return f"wrong: {error!r}"
    wanted: list[Found] = []
    said = ""
    for reader in filter(None, (subject.theirs, subject.otherwise)):
        try:
            wanted.append(reader(path))
        except Exception as error:
            said = f"wrong: the other reader cannot read it: {error!r}"
    if not wanted:
        return said
    for name in dict.fromkeys([*found, *(name for each in wanted for name in each)]):
        values = [each.get(name) for each in wanted]
        if not agrees(found.get(name), values):
            return f"wrong: {name}: {found.get(name)!r} instead of {' or '.join(map(repr, values))}"
    return "read"


def agrees(found: Any, wanted: list[Any]) -> bool:
    """Whether each value is one of the wanted ones."""
    if any(same(found, each) for each in wanted):
        return True
    present = [each for each in wanted if isinstance(each, dict)]
    if not isinstance(found, dict) or not present:
        return False
    names = {name for each in (found, *present) for name in each}
    return all(any(same(found.get(name), each.get(name)) for each in present) for name in names)


def same(a: Any, b: Any) -> bool:
    """Whether two values are equal; values that are not equal to themselves (NaN) are compared by their text."""
    return a == b or repr(a) == repr(b)


def work(name: str, numbers: list[int], folder: Path) -> None:
    """Prints the outcome of each damage."""
    subject = subjects(folder)[name]()
    damages = subject.damages()
    said = outcome(subject, ("none", 0), folder / "damaged")
    assert said == "read", f"{name} without damage: {said}"
    for number in numbers:
        print(number, end=" ", flush=True)
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        said = outcome(subject, damages[number], folder / "damaged")
        faulthandler.cancel_dump_traceback_later()
        print(said.replace("\n", " "), flush=True)
    print("most", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, flush=True)


# -------- the campaign ------------------------------------------------------------------------------------------------


def parts(numbers: list[int], count: int) -> Iterator[list[int]]:
    size = -(-len(numbers) // count) or 1
    for first in range(0, len(numbers), size):
        yield numbers[first : first + size]


class Campaign:
    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.most = 0

    def add(self, name: str, damage: tuple[str, int], number: int, said: str) -> None:
        self.counts[said if said in ("refused", "read", "crashed") else "wrong"] += 1
        if said not in ("refused", "read"):
            print(f"{name}: damage {number} {damage}: {said[:1500]}", flush=True)

    def run(self, name: str, subject: Subject, numbers: list[int]) -> None:
        """One part, with a new process wherever one has ended."""
        damages, left = subject.damages(), list(numbers)
        while left:
            with tempfile.TemporaryDirectory() as folder:
                command = [sys.executable, "-X", "faulthandler", __file__, "--worker", name, folder]
                process = subprocess.Popen(
                    [*command, ",".join(map(str, left))], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
                )
                output, errors = process.communicate()
            lines = output.split("\n")
            for line in lines:
                number, _, said = line.partition(" ")
                if number == "most":
                    self.most = max(self.most, int(said))
                elif said:
                    self.add(name, damages[int(number)], int(number), said)
                    left.remove(int(number))
            if (process.returncode == 0 and left) or (len(lines[-1].split()) == 0 and left):
                raise SystemExit(f"{name}: the process said nothing of {left[:5]}: {errors[-2000:]}")
            if left:
                self.add(name, damages[left[0]], left[0], "crashed")
                print(errors[-3000:], flush=True)
                del left[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", action="append", dest="stores")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--number", type=int, help="this damage alone")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        name, place, numbers = options.worker
        work(name, [int(number) for number in numbers.split(",")], Path(place))
        return 0
    chance = random.Random(options.seed)
    print(f"seed {options.seed}")
    whole = Campaign()
    with tempfile.TemporaryDirectory() as folder:
        makers = subjects(Path(folder))
        for name in options.stores or makers:
            subject = makers[name]()
            count = len(subject.damages())
            chosen = sorted(chance.sample(range(count), max(round(count * options.share), 1)))
            if options.number is not None:
                chosen = [options.number]
            campaign = Campaign()
            threads = [
                threading.Thread(target=campaign.run, args=(name, subject, part))
                for part in parts(chosen, options.processes)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            print(f"{name}: {len(chosen)} of {count} damages: {dict(sorted(campaign.counts.items()))}", flush=True)
            if sum(campaign.counts.values()) != len(chosen):
                print(f"{name}: not every damage was tried")
                campaign.counts["wrong"] += 1
            whole.counts += campaign.counts
            whole.most = max(whole.most, campaign.most)
    counts = whole.counts
    print(
        f"{sum(counts.values())} damaged files: {counts['refused']} refused, {counts['read']} read as the independent "
        f"reader reads them, {counts['wrong']} wrong, {counts['crashed']} crashes; at most {whole.most} MB"
    )
    return 1 if counts["wrong"] or counts["crashed"] or not counts["read"] or whole.most > MEGABYTES else 0


if __name__ == "__main__":
    sys.exit(main())
