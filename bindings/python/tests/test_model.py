"""Models built call by call, and what they say about themselves."""

from __future__ import annotations

import base64
import hashlib
import plistlib
from pathlib import Path

import pytest

import corestone
from corestone import (
    AttributeType,
    Container,
    DeleteRule,
    InvalidArgumentError,
    ManagedObject,
    Model,
    ModelError,
    ModelMismatchError,
    StoreCorruptError,
    StoreError,
)


def test_calls_and_compact_form_build_the_same_model() -> None:
    model = Model()
    team = model.entity("Team").attribute("name", "string")
    person = model.entity("Person").attribute("name", "string", indexed=True).attribute("age", "int16", default=0)
    person.to_one("team", team, inverse="people", delete="nullify")
    team.to_many("people", person, inverse="team", delete="deny")
    other = Model(
        {
            "Team": {"name": "string", "people": "to-many Person inverse team delete deny"},
            "Person": {"name": "string indexed", "age": "int16 = 0", "team": "to-one Team? inverse people"},
        }
    )
    for entity in ("Team", "Person"):
        assert model[entity].version_hash == other[entity].version_hash
        assert len(model[entity].version_hash) == 32


def test_properties_report_their_settings(model: Model) -> None:
    employee = model["Employee"]
    name = employee.properties["name"]
    assert (name.attribute_type, name.is_optional, name.is_relationship) == (AttributeType.STRING, False, False)
    tasks = employee.properties["tasks"]
    assert tasks.is_to_many
    assert tasks.is_ordered
    assert (tasks.inverse, tasks.delete_rule) == ("owner", DeleteRule.CASCADE)
    manager = model["Manager"]
    assert manager.parent is employee
    assert employee.parent is model["Person"]
    assert model["Person"].parent is None
    assert manager.properties["name"].key == name.key
    assert set(employee.properties) < set(manager.properties)


def test_model_behaves_like_a_mapping_of_entities() -> None:
    model = Model({"Item": {}})
    assert list(model) == ["Item"]
    assert "Item" in model
    assert "Thing" not in model
    assert repr(model) == "<Model of Item>"
    with pytest.raises(KeyError):
        model["Thing"]
    with pytest.raises(ModelError, match=r'does not have an entity "Itme"; did you mean "Item"\?'):
        model["Itme"]


def test_relationships_may_refer_to_entities_defined_later() -> None:
    model = Model()
    model.entity("A").to_many("bs", "B", inverse="a")
    model.entity("B").to_one("a", "A")
    assert model["B"].properties["a"].inverse == "bs"


def test_inverse_may_be_inherited() -> None:
    model = Model()
    model.entity("Base").to_one("owner", "Owner", inverse="things")
    model.entity("Derived", parent="Base")
    model.entity("Owner").to_many("things", "Base", inverse="owner")
    assert model["Derived"].properties["owner"].inverse == "things"


def test_relationship_may_be_its_own_inverse() -> None:
    model = Model({"Person": {"friends": "to-many Person inverse friends", "spouse": "to-one Person? inverse spouse"}})
    assert model["Person"].properties["friends"].inverse == "friends"
    assert model["Person"].properties["spouse"].inverse == "spouse"


def test_inverse_with_the_same_name_does_not_change_the_hash() -> None:
    same, none = (
        Model({"A": {"peer": f"to-one B? {inverse}"}, "B": {"peer": f"to-one A? {inverse}"}})
        for inverse in ("inverse peer", "")
    )
    assert same["A"].properties["peer"].inverse == "peer"
    assert none["A"].properties["peer"].inverse is None
    for entity in ("A", "B"):
        assert same[entity].version_hash == none[entity].version_hash


def test_missing_destination_and_inverse_are_reported() -> None:
    with pytest.raises(ModelError, match=r'A\.b has the destination "Bee".*did you mean "Been"') as caught:
        Model({"A": {"b": "to-one Bee?"}, "Been": {}}).freeze()
    assert (caught.value.entity, caught.value.key) == ("A", "b")
    with pytest.raises(ModelError, match=r'the inverse of A\.b is "ass", but B does not have'):
        Model({"A": {"b": "to-one B? inverse ass"}, "B": {"as_": "to-many A"}}).freeze()


def test_frozen_model_cannot_be_changed() -> None:
    model = Model({"Item": {"name": "string"}})
    assert not model.is_frozen
    model.freeze()
    assert model.is_frozen
    with pytest.raises(ModelError):
        model["Item"].attribute("more", "string")


def test_failed_definition_prevents_freezing() -> None:
    model = Model()
    item = model.entity("Item").attribute("name", "string")
    with pytest.raises(ModelError) as first:
        item.attribute("name", "string")
    with pytest.raises(ModelError) as again:
        item.attribute("other", "string")
    assert again.value.message == first.value.message
    with pytest.raises(ModelError):
        model.freeze()


@pytest.mark.parametrize("name", ["", "1st", "two words"])
def test_invalid_entity_name_is_rejected(name: str) -> None:
    with pytest.raises(ModelError):
        Model().entity(name)


def test_model_details_survive_compilation() -> None:
    model = Model(
        {
            "Base": {"@abstract": True, "@user_info": {"colour": "blue"}, "name": "string"},
            "Item": {"@parent": "Base", "@indexes": {"byCode": ["code"]}, "@unique": [["code"]], "code": "string"},
        }
    ).version_identifier("v1")
    assert model["Base"].is_abstract
    assert not model["Item"].is_abstract
    assert model["Base"].user_info("colour") == "blue"
    assert model["Base"].user_info("size") is None
    assert model.compiled()[:8] == b"bplist00"


def test_object_classes_follow_the_entity_hierarchy(model: Model) -> None:
    person, employee, manager = (model[name].object_class for name in ("Person", "Employee", "Manager"))
    assert issubclass(manager, employee)
    assert issubclass(employee, person)
    assert issubclass(person, ManagedObject)
    assert employee.__name__ == "Employee"
    assert vars(person)["name"].__doc__ == "string"
    assert "to-many Project, inverse members" in vars(employee)["projects"].__doc__
    with pytest.raises(TypeError, match="context"):
        employee()


PLACE = b"<model><entity name='Place'><attribute name='title' optional='YES' attributeType='String'/></entity></model>"


def test_model_versions_are_loaded_from_bundles(tmp_path: Path) -> None:
    bundle = tmp_path / "Map.xcdatamodeld"
    for name, content in {"Map": b"<model><entity name='Spot'/></model>", "Map 2": PLACE}.items():
        folder = bundle / f"{name}.xcdatamodel"
        folder.mkdir(parents=True)
        (folder / "contents").write_bytes(content)
    versions = Model.versions(bundle)
    assert (versions, versions.current) == (["Map", "Map 2"], "Map")
    assert list(Model.load(bundle)) == ["Spot"]
    model = Model.load(bundle, version="Map 2")
    assert not model.is_frozen
    model.entity("More", parent="Place").attribute("size", "int32")
    assert list(model["More"].properties) == ["title", "size"]
    with pytest.raises(InvalidArgumentError, match='use "Map" or "Map 2"'):
        Model.load(str(bundle), version="Map 3")
    with pytest.raises(StoreError):
        Model.load(tmp_path / "none")


def test_models_are_loaded_from_bytes(model: Model) -> None:
    assert list(Model.load(PLACE)["Place"].properties) == ["title"]
    again = Model.load(model.compiled())
    assert {name: again[name].version_hash for name in again} == {name: model[name].version_hash for name in model}
    with pytest.raises(StoreCorruptError, match="at byte"):
        Model.load(PLACE[:-3])
    with pytest.raises(ModelError):
        Model.load(PLACE, version="1")


def test_loaded_model_can_create_a_store(tmp_path: Path) -> None:
    with corestone.Container(Model.load(PLACE), tmp_path / "a.sqlite") as container:
        context = container.context()
        context.insert("Place", title="Kyoto")
        context.save()
        assert [place.title for place in context.fetch("Place")] == ["Kyoto"]


def test_loaded_model_describes_its_content() -> None:
    source = b"""<model userDefinedModelVersionIdentifier='2'>
        <entity name='Place' elementID='Spot' syncable='YES'>
          <attribute name='title' attributeType='String' maxValueString='40'/>
          <attribute name='since' optional='YES' attributeType='Date' defaultDateTimeInterval='0'/>
          <attribute name='count' optional='YES' attributeType='Integer 64' derived='YES'
              derivationExpression='parts.@count'/>
          <relationship name='parts' optional='YES' toMany='YES' deletionRule='Cascade' destinationEntity='Place'/>
          <fetchIndex name='byTitle' partialIndexPredicate='count &gt; 1'>
            <fetchIndexElement property='title' type='Binary' order='descending'/>
          </fetchIndex>
        </entity>
        <configuration name='Local'><memberEntity name='Place'/></configuration>
        <fetchRequest name='top' entity='Place' predicateString='title == $T' fetchLimit='3'/>
      </model>"""
    described = Model.load(source).describe()
    (place,) = described["entities"]
    title, since, count = place["attributes"]
    assert title == {
        "name": "title",
        "optional": False,
        "type": "String",
        "validation": [{"predicate": "length <= 40", "code": 1660}],
    }
    assert since["default"].isoformat() == "2001-01-01T00:00:00+00:00"
    assert count["derivation"] == "count:(parts)"
    assert place["relationships"][0]["deleteRule"] == "Cascade"
    assert place["renamingIdentifier"] == "Spot"
    assert place["extras"] == {"attributes": {"syncable": "YES"}}
    assert place["indexes"] == [
        {"name": "byTitle", "predicate": "count > 1", "elements": [{"property": "title", "ascending": False}]}
    ]
    assert described["fetchRequests"]["top"] == {"entity": "Place", "predicate": "title == $T", "limit": 3}
    assert described["configurations"] == [{"name": "Local", "entities": ["Place"]}]
    assert described["versionIdentifiers"] == ["2"]


def test_unknown_xml_is_preserved_in_place() -> None:
    source = b"""<model lang='Swift'><x:tool xmlns:x='urn:x'>by <b/>hand</x:tool>
        <entity name='Place'><attribute name='n' attributeType='String'><note level='2'/></attribute>
          <userInfo><entry key='k' value='v' kind='t'/></userInfo></entity>
      </model>"""
    described = Model.load(source).describe()
    tool = {
        "place": 0,
        "name": "x:tool",
        "attributes": {"xmlns:x": "urn:x"},
        "elements": [{"place": 0, "text": "by "}, {"place": 1, "name": "b"}, {"place": 2, "text": "hand"}],
    }
    assert described["extras"] == {"attributes": {"lang": "Swift"}, "elements": [tool]}
    (place,) = described["entities"]
    note = {"place": 0, "name": "note", "attributes": {"level": "2"}}
    assert place["attributes"][0]["extras"] == {"elements": [note]}
    entry = {"place": 0, "name": "entry", "attributes": {"key": "k", "value": "v", "kind": "t"}}
    assert place["userInfo"] == {"k": "v"}
    assert place["extras"] == {"elements": [{"place": 1, "name": "userInfo", "elements": [entry]}]}


def test_composite_attribute_of_a_source_model_is_loaded(tmp_path: Path) -> None:
    source = b"""<model>
        <entity name='Place'><attribute name='at' optional='YES' attributeType='Composite' composite='Point'/></entity>
        <composite name='Point'><attribute name='x' optional='YES' attributeType='Double'/></composite>
      </model>"""
    model = Model.load(source)
    assert model["Place"].properties["at"].attribute_type is AttributeType.COMPOSITE
    assert model.describe()["entities"][0]["attributes"][0]["elements"][0]["name"] == "x"
    with corestone.Container(model, tmp_path / "a.sqlite") as container:
        assert container.context().insert("Place", at={"x": 1}).at == {"x": 1.0}


def test_fractional_default_of_an_integer_keeps_its_sign() -> None:
    source = b"""<model><entity name='Place'>
        <attribute name='height' attributeType='Integer 32' defaultValueString='-5.0'/>
      </entity></model>"""
    assert Model.load(source)["Place"].describe("height")["default"] == -5


def test_models_can_be_copied_and_merged(tmp_path: Path) -> None:
    base = Model(
        {
            "Book": {"title": "string", "shelf": "to-one Shelf? inverse books"},
            "Shelf": {"books": "to-many Book inverse shelf"},
        }
    )
    base.freeze()
    copy = base.copy()
    assert not copy.is_frozen
    assert copy.describe() == base.describe()
    copy.entity("Film").attribute("title", "string")
    merged = Model.merge([base, copy])
    assert list(merged) == ["Book", "Shelf", "Film"]
    with Container(base, tmp_path / "books.sqlite"):
        pass
    assert sorted(Model.merge([copy], store=tmp_path / "books.sqlite")) == ["Book", "Shelf"]
    other = Model({"Book": {"title": "string?"}})
    with pytest.raises(ModelError, match=r"Book.*shelf"):
        Model.merge([base, other])
    with pytest.raises(ModelMismatchError, match=r"the versions of Book and Shelf in .*books\.sqlite are not"):
        Model.merge([other], store=tmp_path / "books.sqlite")
    unfinished = Model()
    unfinished.entity("Book").to_one("shelf", "Shelf")
    with pytest.raises(ModelError, match="Shelf"):
        unfinished.copy()


def test_merged_configuration_uses_cloudkit_when_one_part_does() -> None:
    cloud, local = (
        Model.load(
            f"<model><entity name='{entity}'/><configuration name='Synced' usedWithCloudKit='{flag}'>"
            f"<memberEntity name='{entity}'/></configuration></model>".encode()
        )
        for entity, flag in (("Book", "YES"), ("Film", "NO"))
    )
    for models, entities in [([cloud, local], ["Book", "Film"]), ([local, cloud], ["Film", "Book"])]:
        assert Model.merge(models).describe()["configurations"] == [
            {"name": "Synced", "entities": entities, "usedWithCloudKit": True}
        ]
    assert "usedWithCloudKit" not in Model.merge([local, local]).describe()["configurations"][0]


def test_model_is_exported_as_a_diagram() -> None:
    model = Model({"Note": {"title": "string", "tag": "to-one Tag? inverse notes"}, "Tag": {"notes": "to-many Note"}})
    dot = model.diagram()
    assert dot.startswith("digraph model {\n")
    assert '"Note":r0 -> "Tag":r0 [arrowhead=normal, arrowtail=normalnormal, dir=both]' in dot
    assert not model.is_frozen


def test_models_are_written_in_every_format(tmp_path: Path) -> None:
    model = Model({"Book": {"title": "string = untitled", "pages": "int32"}})
    source = model.source()
    assert '<entity name="Book" syncable="YES">' in source
    assert Model.load(source.encode()).source() == source
    bundle = tmp_path / "Library.xcdatamodeld"
    model.write(bundle)
    changed = Model.load(bundle)
    changed["Book"].attribute("year", "int16", optional=True)
    changed.write(bundle, "Library 2")
    changed.write(bundle, "Library 3", make_current=False)
    assert list(Model.versions(bundle)) == ["Library", "Library 2", "Library 3"]
    assert Model.versions(bundle).current == "Library 2"
    compiled = tmp_path / "Library.momd"
    Model.convert(bundle, compiled)
    assert Model.versions(compiled).current == "Library 2"
    assert Model.load(compiled)["Book"].version_hash == changed["Book"].version_hash
    info = plistlib.loads((compiled / "VersionInfo.plist").read_bytes())
    assert info["NSManagedObjectModel_VersionHashes"]["Library"]["Book"] == model["Book"].version_hash
    current = plistlib.loads((bundle / ".xccurrentversion").read_bytes())
    assert current == {"_XCCurrentVersionName": "Library 2.xcdatamodel"}
    with pytest.raises(InvalidArgumentError, match=r"\.xcdatamodeld"):
        model.write(tmp_path / "Library.sqlite")


def test_source_export_fails_when_content_would_be_lost() -> None:
    model = Model()
    model.entity("Run").attribute("number", "int32", validation={"SELF > 0": "Number < 1"})
    with pytest.raises(ModelError, match="SELF > 0"):
        model.source()
    assert "number" in model.source(lossy=True)


def test_compatible_model_versions_are_found(tmp_path: Path) -> None:
    first = Model({"Book": {"title": "string"}, "Shelf": {"number": "int16"}})
    second = Model({"Book": {"title": "string", "pages": "int32"}, "Shelf": {"number": "int16"}})
    hashes = [model["Book"].property_version_hash("title") for model in (first, second)]
    assert hashes[0] == hashes[1] is not None
    assert first["Book"].property_version_hash("pages") is None
    bundle = tmp_path / "Library.momd"
    first.write(bundle)
    second.write(bundle, "Library 2")
    assert Model.version_checksums(bundle) == {"Library": first.checksum, "Library 2": second.checksum}
    ordered = sorted(("Book", "Shelf"))
    digest = hashlib.sha256(b"".join(first[name].version_hash for name in ordered)).digest()
    assert first.checksum == base64.b64encode(digest).decode()
    store = tmp_path / "library.sqlite"
    with Container(first, store):
        pass
    assert first.is_compatible(store)
    assert not second.is_compatible(store)
    assert not first.is_compatible(plistlib.dumps({}))
    metadata = plistlib.dumps({"NSStoreModelVersionHashes": {name: first[name].version_hash for name in first}})
    assert first.is_compatible(metadata)
    with pytest.raises(InvalidArgumentError, match="configuration"):
        first.is_compatible(store, "Nowhere")
    assert Model.merge_folder(tmp_path)["Book"].version_hash == second["Book"].version_hash
    assert Model.merge_folder(tmp_path, store=store)["Book"].version_hash == first["Book"].version_hash


def test_localised_names_are_loaded(tmp_path: Path) -> None:
    model = Model({"Run": {"date": "date"}})
    model.write(tmp_path / "Runs.mom")
    for language, words in (("de", "Lauf"), ("zh-Hans", "\u8dd1\u6b65")):
        (tmp_path / f"{language}.lproj").mkdir()
        lines = f'/* {language} */ "Entity/Run" = "{words}";'
        (tmp_path / f"{language}.lproj" / "RunsModel.strings").write_text(lines, encoding="utf-16")
    loaded = Model.load(tmp_path / "Runs.mom")
    assert loaded.load_strings(tmp_path / "Runs.mom", "zh_CN")
    assert loaded["Run"].localized_name == "\u8dd1\u6b65"
    assert loaded.load_strings(tmp_path / "de.lproj" / "RunsModel.strings")
    assert loaded["Run"].localized_name == "Lauf"
    assert not loaded.load_strings(tmp_path / "Runs.mom", "fr")
    broken = tmp_path / "broken.strings"
    broken.write_text('"a" = ')
    with pytest.raises(ModelError, match=r"broken\.strings"):
        loaded.load_strings(broken)


def test_control_character_escapes_in_localised_names_are_decoded(tmp_path: Path) -> None:
    model = Model({"Run": {"date": "date"}})
    strings = tmp_path / "RunsModel.strings"
    for escape, character in zip("nrtabfv", "\n\r\t\a\b\f\v"):
        strings.write_text(f'"Entity/Run" = "x\\{escape}y";')
        assert model.load_strings(strings)
        assert model["Run"].localized_name == f"x{character}y"


def test_loading_a_store_or_missing_version_as_a_model_fails(tmp_path: Path) -> None:
    store, bundle = tmp_path / "a.sqlite", tmp_path / "Map.xcdatamodeld"
    model = Model({"Place": {"title": "string"}})
    Container(model, store).close()
    with pytest.raises(InvalidArgumentError) as caught:
        Model.load(store)
    assert caught.value.file == str(store)
    for name in ("Map", "Map 2", "Map 10"):
        model.write(bundle, name)
    assert (Model.versions(bundle), Model.versions(bundle).current) == (["Map", "Map 2", "Map 10"], "Map 10")
    with pytest.raises(InvalidArgumentError, match='use "Map", "Map 2" or "Map 10"'):
        Model.load(bundle, version="Map 3")


def test_model_is_written_to_the_version_it_was_read_from(tmp_path: Path) -> None:
    bundle = tmp_path / "Map.xcdatamodeld"
    model = Model({"Place": {"title": "string"}})
    for name in ("Map", "Map 2", "Map 3"):
        model.write(bundle, name)
    model.write(bundle, "Map 2")

    def written(changed: Model, entity: str) -> list[str]:
        """The versions that have the entity, once the model was written with it and without a name."""
        changed.entity(entity)
        changed.write(bundle)
        assert Model.versions(bundle).current == "Map 2"
        return [name for name in Model.versions(bundle) if entity in Model.load(bundle, version=name)]

    assert written(Model.load(bundle, version="Map 3"), "Third") == ["Map 3"]
    assert written(Model.load(bundle), "Second") == ["Map 2"]
    # One that was read as no version takes the place of the current one.
    assert written(Model({"Place": {"title": "string"}}), "Own") == ["Map 2"]
    assert Model.load(bundle, version="Map 3").version_name == "Map 3"
    model.write(bundle, "Map 4", make_current=False)
    assert (Model.versions(bundle).current, len(Model.versions(bundle))) == ("Map 2", 4)
    model.write(bundle, "Map 5")
    assert Model.versions(bundle).current == "Map 5"


@pytest.mark.parametrize("name", ["a/b", "a\0b", ".a", "", "x" * 256])
def test_invalid_version_name_is_rejected(tmp_path: Path, name: str) -> None:
    bundle = tmp_path / "Map.xcdatamodeld"
    with pytest.raises(InvalidArgumentError):
        Model({"Place": {}}).write(bundle, name)
    assert not bundle.exists()
