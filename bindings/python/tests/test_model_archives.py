"""Compiled models that we write, against Apple's: decoded by plistlib alone, object by object."""

from __future__ import annotations

import base64
import hashlib
import plistlib
import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corestone import Container, Model, ModelError

#: What refers to one of these stands for it by its name; each is compared where it belongs.
NAMED = {
    "NSManagedObjectModel",
    "NSEntityDescription",
    "NSAttributeDescription",
    "NSDerivedAttributeDescription",
    "NSCompositeAttributeDescription",
    "NSRelationshipDescription",
    "NSFetchedPropertyDescription",
}


class Archive:
    """A keyed archive as plain data: objects by number, their classes by name."""

    def __init__(self, content: bytes) -> None:
        top = plistlib.loads(content)
        self.objects = top["$objects"]
        self.root = self.at(top["$top"]["root"])

    def at(self, value: Any) -> Any:
        """The target of a reference; strings, numbers and data are returned unchanged."""
        found = self.objects[value.data] if isinstance(value, plistlib.UID) else value
        return None if isinstance(found, str) and found == "$null" else found

    def kind(self, value: Any) -> str:
        found = self.at(value)
        if isinstance(found, dict):
            return str(self.at(found["$class"])["$classname"]) if "$class" in found else "dict"
        return type(found).__name__

    def entries(self, value: Any) -> dict[str, Any]:
        """The entries of a dictionary, also of one with fixed keys."""
        found = self.at(value)
        if found is None:
            return {}
        if "searchMapping" in found:
            keys = self.at(self.at(found["searchMapping"])["keys"])["NS.objects"]
            values = self.at(found["values"])["NS.objects"]
        else:
            keys, values = found["NS.keys"], found["NS.objects"]
        return {self.at(key): entry for key, entry in zip(keys, values)}

    def describe(self, value: Any, depth: int = 0) -> Any:
        """The graph below a value; entities, properties and the model are represented by their names."""
        found = self.at(value)
        if not isinstance(found, dict):
            return found
        kind = self.kind(value)
        if kind == "NSMutableString":
            return found["NS.string"]
        if kind in NAMED or (kind == "NSFetchIndexDescription" and depth > 2):
            name = found.get("NSEntityName") or found.get("NSPropertyName") or found.get("NSIndexName")
            return (kind, self.at(name))
        assert depth < 40
        if "NS.keys" in found or "searchMapping" in found:
            return {key: self.describe(entry, depth + 1) for key, entry in self.entries(value).items()}
        if "NS.objects" in found and kind.endswith("Set"):
            return (
                kind.replace("Mutable", ""),
                sorted(str(self.describe(each, depth + 1)) for each in found["NS.objects"]),
            )
        if "NS.objects" in found:
            return [self.describe(each, depth + 1) for each in found["NS.objects"]]
        return (kind, {key: self.describe(each, depth + 1) for key, each in found.items() if key != "$class"})


def parts(archive: Archive) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every object of a model that has a name, as its path, its class and its keys."""
    root = archive.root
    yield "", archive.kind(root), {key: archive.describe(each, 1) for key, each in root.items() if key != "NSEntities"}
    for name, reference in archive.entries(root["NSEntities"]).items():
        entity = archive.at(reference)
        fields = {key: archive.describe(each, 1) for key, each in entity.items() if key != "NSProperties"}
        yield name, archive.kind(reference), fields
        for key, each in archive.entries(entity["NSProperties"]).items():
            fields = dict(archive.at(each))
            if archive.kind(each) == "_NSPropertyDescriptionProxy":
                # The property of the parent, and the entity that inherits it.
                each, owner = fields["NSUnderlyingProperty"], fields["NSEntityDescription"]
                fields = {**archive.at(each), "NSEntity": owner}
            yield f"{name}.{key}", archive.kind(each), {k: archive.describe(v, 1) for k, v in fields.items()}


def differences(apple: bytes, ours: bytes) -> Counter[tuple[str, str, str, str]]:
    found: Counter[tuple[str, str, str, str]] = Counter()
    theirs = {path: (kind, fields) for path, kind, fields in parts(Archive(apple))}
    mine = {path: (kind, fields) for path, kind, fields in parts(Archive(ours))}
    for path in theirs.keys() | mine.keys():
        (kind, fields), (own, written) = theirs.get(path, ("", {})), mine.get(path, ("", {}))
        if kind != own:
            found[(kind, "$class", kind, own)] += 1
        for key in (fields.keys() | written.keys()) - {"$class"}:
            one, two = fields.get(key, "absent"), written.get(key, "absent")
            if one != two:
                found[(kind, key, repr(one), repr(two))] += 1
    return found


def compiled_models(fixtures: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted((fixtures / "compiled-models").rglob("*.mom")):
        yield str(path.relative_to(fixtures)), path.read_bytes()
    for path in sorted((fixtures / "stores").glob("*/*")):
        try:
            with sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True) as store:
                row = store.execute("SELECT Z_CONTENT FROM Z_MODELCACHE").fetchone()
        except sqlite3.Error:
            continue
        if row and row[0]:
            yield str(path.relative_to(fixtures)), zlib.decompress(row[0], -15)


def written(model: Model, folder: Path, name: str) -> bytes:
    """As a file, or as a store keeps it."""
    if not name.endswith(".mom"):
        return model.compiled()
    model.write(folder / "model.mom")
    return (folder / "model.mom").read_bytes()


def explain(kind: str, key: str, apple: str, ours: str) -> str | None:
    """The reason why a difference does not change the model; None without a reason."""
    nothing = ("'absent'", "[]", "None", "{}", "0")
    if apple in nothing and ours in nothing:
        return "nothing is said in another way: no entry, null, or an empty container"
    if key.startswith("CDMCompiler"):
        return "the compiler's name and version"
    if key == "NSFetchIndexDescriptions" and apple == "'absent'":
        return "a model from before fetch indexes: its indexes are written in the newer form too"
    if key == "NSIsIndexed" and ours == "'absent'":
        return "an attribute marked as indexed beside fetch indexes that say otherwise"
    if key == "NSDefaultValue" and apple.startswith("('CoreDataPlus_Tests."):
        return "a default value of one of the application's own classes"
    return None


def explain_pair(kind: str, key: str, apple: str, ours: str) -> str | None:
    """The same between a compiled model and the source that it may have been made of."""
    if key == "NSClassNameForEntity" and apple == "None":
        return "a class that the application did not have when the store cached the model"
    if key == "NSAttributeValueClassName" and apple == "None":
        return "a class of values that the application did not have when the store cached the model"
    if key == "NSClassNameForEntity" and ours.startswith("'.") and apple.endswith(ours[1:]):
        return "the compiler puts the module's name before the class"
    if key == "NSFetchIndexDescriptions" and sorted(apple) == sorted(ours):
        return "indexes in another order"
    return explain(kind, key, apple, ours)


def report(title: str, reasons: Counter[str]) -> None:
    print(title)
    for reason, count in reasons.most_common():
        print(f"  {count} times: {reason}")


def test_compiled_models_round_trip(fixtures: Path, tmp_path: Path) -> None:
    total = same = 0
    reasons: Counter[str] = Counter()
    for name, content in compiled_models(fixtures):
        total += 1
        found = differences(content, written(Model.load(content), tmp_path, name))
        same += not found
        for difference, count in found.items():
            reason = explain(*difference)
            assert reason, (name, difference)
            reasons[reason] += count
    report(f"compiled models read and written: {total}, the same object graph {same}", reasons)
    assert total > 40


def test_compiled_model_equals_that_of_apple(fixtures: Path, tmp_path: Path) -> None:
    sources: dict[tuple[tuple[str, bytes], ...], Path] = {}
    for path in sorted((fixtures / "source-models").rglob("contents")):
        try:
            sources.setdefault(hashes(Model.load(path)), path)
        except ModelError as error:
            if "has the type Undefined" not in str(error):  # what Xcode's compiler refuses too
                raise
    pairs = same = 0
    reasons: Counter[str] = Counter()
    for name, content in compiled_models(fixtures):
        source = sources.get(hashes(Model.load(content)))
        if source is None:
            continue
        pairs += 1
        found = differences(content, written(Model.load(source), tmp_path, name))
        same += not found
        for difference, count in found.items():
            reason = explain_pair(*difference)
            assert reason, (name, source, difference)
            reasons[reason] += count
    report(f"pairs of a source and a compiled model: {pairs}, the same object graph {same}", reasons)
    assert pairs == 30


def hashes(model: Model) -> tuple[tuple[str, bytes], ...]:
    return tuple(sorted((name, entity.version_hash) for name, entity in model.items()))


def test_written_property_lists_are_readable_by_plistlib(fixtures: Path, tmp_path: Path) -> None:
    """VersionInfo.plist and Z_METADATA, and the two keys that are derived from the hashes."""
    bundle = tmp_path / "Sample.momd"
    Model.convert(fixtures / "compiled-models/coredataplus/SampleModel3.momd", bundle)
    ours = plistlib.loads((bundle / "VersionInfo.plist").read_bytes())
    apple = plistlib.loads((fixtures / "compiled-models/coredataplus/SampleModel3.momd/VersionInfo.plist").read_bytes())
    assert ours == apple
    store = tmp_path / "sample.sqlite"
    with Container(Model.load(bundle), store):
        pass
    with sqlite3.connect(f"file:{store}?mode=ro&immutable=1", uri=True) as connection:
        metadata = plistlib.loads(connection.execute("SELECT Z_PLIST FROM Z_METADATA").fetchone()[0])
    assert derived(metadata["NSStoreModelVersionHashes"]) == (
        metadata["NSStoreModelVersionHashesDigest"],
        metadata["NSStoreModelVersionChecksumKey"],
    )


def derived(hashes: dict[str, bytes]) -> tuple[str, str]:
    """The digest and the checksum, by the rule of the format's description."""
    names = sorted(hashes)
    digest = hashlib.sha512(b"".join(name.encode() + hashes[name] for name in names)).digest()
    checksum = hashlib.sha256(b"".join(hashes[name] for name in names)).digest()
    return base64.b64encode(digest).decode(), base64.b64encode(checksum).decode()


def test_derived_keys_of_every_fixture_are_reproduced(fixtures: Path) -> None:
    digests = checksums = 0
    for path in sorted((fixtures / "stores").glob("*/*")):
        try:
            with sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True) as store:
                content = store.execute("SELECT CAST(Z_PLIST AS BLOB) FROM Z_METADATA").fetchone()
                cached = store.execute("SELECT Z_CONTENT FROM Z_MODELCACHE").fetchone()
        except sqlite3.Error:
            continue
        if not (content and content[0] and cached and cached[0]):
            continue
        metadata = plistlib.loads(content[0])
        model = Model.load(cached[0])
        digest, checksum = derived({name: entity.version_hash for name, entity in model.items()})
        assert model.checksum == checksum
        if "NSStoreModelVersionHashesDigest" in metadata:
            digests += 1
            assert metadata["NSStoreModelVersionHashesDigest"] == digest, path
        if "NSStoreModelVersionChecksumKey" in metadata:
            checksums += 1
            assert metadata["NSStoreModelVersionChecksumKey"] == checksum, path
    print(f"derived keys of stores recomputed: {digests} digests, {checksums} checksums, all equal")
    assert (digests, checksums) == (22, 4)
