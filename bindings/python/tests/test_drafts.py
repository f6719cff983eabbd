"""Models that were saved half-finished, and the lists of indexes from before there were fetch indexes."""

from __future__ import annotations

import plistlib
import sqlite3
import zlib
from pathlib import Path

import pytest

import corestone
from corestone import Container, Model, ModelError

HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'


def source(folder: Path, entities: str) -> Path:
    path = folder / "Draft.xcdatamodel"
    path.mkdir()
    (path / "contents").write_text(
        HEAD + '<model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">' + entities + "</model>"
    )
    return path


HALF = """
<entity name="Person" parentEntity="Being">
  <attribute name="name" optional="YES" attributeType="String"/>
  <attribute name="age" optional="YES"/>
  <attribute name="odd" attributeType="Quaternion"/>
  <relationship name="boss" optional="YES" maxCount="1"/>
  <relationship name="tags" optional="YES" toMany="YES" destinationEntity="Tag"/>
  <relationship name="pets" optional="YES" toMany="YES" destinationEntity="Pet" inverseName="owner"/>
  <fetchedProperty name="all"/>
  <fetchIndex name="byNothing"><fetchIndexElement property="nothing" type="Binary" order="ascending"/></fetchIndex>
</entity>
<entity name="Pet"><attribute name="name" attributeType="String"/></entity>
"""


def test_draft_model_loads_with_its_problems(tmp_path: Path) -> None:
    path = source(tmp_path, HALF)
    model, problems = Model.load_draft(path)
    named = {(problem.entity, problem.key) for problem in problems}
    assert named >= {
        ("Person", None), ("Person", "age"), ("Person", "odd"), ("Person", "boss"), ("Person", "tags"),
        ("Person", "all"), ("Person", "nothing"),
    }  # fmt: skip
    messages = "\n".join(problem.message for problem in problems)
    assert 'inherits from "Being"' in messages
    assert 'has the destination "Tag"' in messages
    assert "Person.boss does not have a destination; set one" in messages
    assert set(model) == {"Person", "Pet"}


def test_using_a_draft_model_fails_with_the_first_problem(tmp_path: Path) -> None:
    path = source(tmp_path, HALF)
    model, problems = Model.load_draft(path)
    for use in (model.freeze, lambda: Container(model, tmp_path / "x.sqlite"), lambda: Model.load(path).freeze()):
        with pytest.raises(ModelError) as caught:
            use()
        assert caught.value.entity == "Person"
    with pytest.raises(ModelError):
        model.compiled()
    assert problems


def test_complete_model_loads_as_a_draft_without_problems(tmp_path: Path) -> None:
    path = source(tmp_path, '<entity name="Pet"><attribute name="name" attributeType="String"/></entity>')
    model, problems = Model.load_draft(path)
    assert problems == []
    with Container(model, tmp_path / "pets.sqlite") as container:
        container.context().insert("Pet", name="Rex")


COMPOUND = """
<entity name="Being"><attribute name="born" optional="YES" attributeType="Date"/></entity>
<entity name="Person" parentEntity="Being">
  <attribute name="name" optional="YES" attributeType="String"/>
  <compoundIndexes>
    <compoundIndex><index value="name"/><index value="self"/></compoundIndex>
    <compoundIndex><index value="entity"/><index value="name"/></compoundIndex>
  </compoundIndexes>
</entity>
"""


def indexes(path: Path) -> dict[str, str]:
    connection = sqlite3.connect(path)
    found = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE name LIKE 'Z_Person%'"))
    connection.close()
    return found


EXPECTED = {
    name: f"CREATE INDEX {name} ON ZBEING ({first} COLLATE BINARY ASC, {second} COLLATE BINARY ASC)"
    for name, first, second in (
        ("Z_Person_name_self", "ZNAME", "Z_PK"),
        ("Z_Person_entity_name", "Z_ENT", "ZNAME"),
    )
}


def test_source_compound_indexes_with_self_and_entity_are_created(tmp_path: Path) -> None:
    path = source(tmp_path, COMPOUND)
    with Container(Model.load(path), tmp_path / "a.sqlite") as container:
        context = container.context()
        context.insert("Person", name="Ada")
        context.save()
    assert indexes(tmp_path / "a.sqlite") == EXPECTED
    # The store opens again for writing, by its own model, and the source comes back as it was.
    with corestone.open(tmp_path / "a.sqlite", writable=True) as container:
        assert container.read_only_reason is None
    copy = tmp_path / "Copy.xcdatamodel"
    Model.load(path).write(copy)
    text = (copy / "contents").read_text()
    assert '<index value="self"/>' in text
    assert '<index value="entity"/>' in text


def test_compiled_compound_indexes_with_self_and_entity_are_created(tmp_path: Path) -> None:
    compiled = plistlib.loads(Model.load(source(tmp_path, COMPOUND)).compiled())
    objects = compiled["$objects"]
    lists = [
        [objects[name.data] for name in objects[list.data]["NS.objects"]]
        for each in objects if isinstance(each, dict) and "NSCompoundIndexes" in each
        for list in objects[each["NSCompoundIndexes"].data]["NS.objects"]
    ]  # fmt: skip
    assert lists == [["name", "self"], ["entity", "name"]]
    # As compilers wrote them before there were fetch indexes.
    for each in objects:
        if isinstance(each, dict):
            each.pop("NSFetchIndexDescriptions", None)
    old = Model.load(plistlib.dumps(compiled, fmt=plistlib.FMT_BINARY))
    with Container(old, tmp_path / "b.sqlite"):
        pass
    assert indexes(tmp_path / "b.sqlite") == EXPECTED


def test_compound_indexes_of_an_apple_store_are_read(fixtures: Path) -> None:
    """Photos has such lists with self and entity beside its fetch indexes."""
    store = fixtures / "stores" / "osxphotos" / "Photos.sqlite"
    connection = sqlite3.connect(f"file:{store}?immutable=1", uri=True)
    [content] = connection.execute("SELECT Z_CONTENT FROM Z_MODELCACHE").fetchone()
    connection.close()
    archive = plistlib.loads(zlib.decompress(content, -15))
    for each in archive["$objects"]:
        if isinstance(each, dict):
            each.pop("NSFetchIndexDescriptions", None)
    model = Model.load(plistlib.dumps(archive, fmt=plistlib.FMT_BINARY))
    model.freeze()
    found = {index["name"] for index in model["Share"].describe()["indexes"]}
    assert "entity_creationDate" in found
