"""corestone model new, add, set, rename and remove: a source model changed in place, as Xcode's editor does it."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from conftest import ROOT, run
from corestone import Model

PACKAGES = ROOT / "examples" / "packages" / "Packages.xcdatamodeld"

# The example's entities have no class of their own.
PLAIN = ("representedClassName=NSManagedObject", "codeGenerationType=none")
MANY = ("--to-many",)
BUILDING = [
    ("add", "entity", "Maintainer", *PLAIN),
    ("add", "entity", "Package", *PLAIN),
    ("add", "entity", "Section", *PLAIN),
    ("add", "attribute", "Maintainer.email", "String"),
    ("add", "attribute", "Maintainer.name", "String", "optional=NO"),
    ("add", "attribute", "Package.architecture", "String", "optional=NO"),
    ("add", "attribute", "Package.essential", "Boolean", "optional=NO", "defaultValueString=NO"),
    ("add", "attribute", "Package.homepage", "URI"),
    ("add", "attribute", "Package.importedAt", "Date", "optional=NO"),
    ("add", "attribute", "Package.installedSize", "Integer 64", "optional=NO"),
    ("add", "attribute", "Package.name", "String", "optional=NO", "indexed=YES"),
    ("add", "attribute", "Package.summary", "String"),
    ("add", "attribute", "Package.version", "String", "optional=NO"),
    ("add", "attribute", "Section.name", "String", "optional=NO"),
    ("add", "relationship", "Package.dependencies", "Package", "--inverse", "dependents", *MANY, "--inverse-to-many"),
    ("add", "relationship", "Maintainer.packages", "Package", "--inverse", "maintainer", *MANY, "--delete", "cascade"),
    ("add", "relationship", "Section.packages", "Package", "--inverse", "section", *MANY, "--delete", "deny"),
]  # fmt: skip


def edit(bundle: Path, command: str, *words: str) -> None:
    done = run("model", command, bundle, *words)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), words


def contents(bundle: Path, version: str | None = None) -> Path:
    return bundle / f"{version or bundle.stem}.xcdatamodel" / "contents"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    bundle = tmp_path / "Notes.xcdatamodeld"
    edit(bundle, "new")
    edit(bundle, "add", "entity", "Note")
    edit(bundle, "add", "attribute", "Note.title", "String", "optional=NO")
    edit(bundle, "add", "attribute", "Note.rank", "Integer 16")
    edit(bundle, "add", "entity", "Tag")
    edit(bundle, "add", "relationship", "Note.tags", "Tag", "--ordered", "--inverse", "notes", "--inverse-to-many")
    return bundle


def test_packages_model_can_be_built_by_commands(tmp_path: Path) -> None:
    bundle = tmp_path / "Packages.xcdatamodeld"
    edit(bundle, "new")
    for command, *words in BUILDING:
        edit(bundle, command, *words)
    built, example = Model.load(bundle), Model.load(PACKAGES)
    assert {name: built[name].version_hash for name in built} == {name: example[name].version_hash for name in example}
    assert built.describe()["entities"] == example.describe()["entities"]
    # Line by line, but for the versions of Xcode on top.
    lines = contents(bundle).read_text(encoding="utf-8").splitlines()
    expected = contents(PACKAGES).read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if "<model " not in line] == [line for line in expected if "<model " not in line]
    assert (bundle / ".xccurrentversion").read_bytes() == (PACKAGES / ".xccurrentversion").read_bytes()


def words_of(file: Path) -> dict[str, set[str]]:
    """The attributes that each kind of element has."""
    found: dict[str, set[str]] = {}
    for element in ElementTree.parse(file).iter():
        kind = element.get("attributeType") or ("to-many" if element.get("toMany") else "")
        found.setdefault(f"{element.tag} {kind}".strip(), set()).update(element.attrib)
    return found


def test_edited_source_has_every_attribute_of_xcode(fixtures: Path, tmp_path: Path) -> None:
    """Against a model of the same shape that Xcode wrote, rebuilt from what it says."""
    file = next((fixtures / "source-models").rglob("Moody.xcdatamodel/contents"))
    bundle = tmp_path / "Moody.xcdatamodeld"
    edit(bundle, "new")
    entities = list(ElementTree.parse(file).getroot().iter("entity"))
    for entity in entities:
        kind = f"codeGenerationType={entity.get('codeGenerationType', 'none')}"
        edit(bundle, "add", "entity", entity.get("name", ""), kind)
    for entity in entities:
        words = [f"{key}={entity.get(key)}" for key in ("parentEntity", "isAbstract") if entity.get(key)]
        edit(bundle, "set", entity.get("name", ""), "syncable=YES", *words)
    for entity in entities:
        for attribute in entity.iter("attribute"):
            said = {key: value for key, value in attribute.attrib.items() if key not in ("name", "attributeType")}
            words = [f"{key}={value}" for key, value in {"optional": "NO", **said}.items()]
            words += [f"{key}=" for key in ("usesScalarValueType", "defaultValueString") if key not in said]
            name = f"{entity.get('name')}.{attribute.get('name')}"
            edit(bundle, "add", "attribute", name, attribute.get("attributeType", ""), *words)
        for relationship in entity.iter("relationship"):
            left_out = ("name", "destinationEntity", "inverseName", "inverseEntity")
            said = {key: value for key, value in relationship.attrib.items() if key not in left_out}
            name = f"{entity.get('name')}.{relationship.get('name')}"
            target = relationship.get("destinationEntity", "")
            words = [f"{key}={value}" for key, value in {"optional": "NO", **said}.items()]
            edit(bundle, "add", "relationship", name, target, *words)
    for entity in entities:
        for relationship in entity.iter("relationship"):
            if relationship.get("inverseName"):
                name = f"{entity.get('name')}.{relationship.get('name')}"
                edit(bundle, "set", name, f"inverseName={relationship.get('inverseName')}")
    kinds_of_theirs, kinds_of_ours = words_of(file), words_of(contents(bundle))
    for kind in ("entity", *(kind for kind in kinds_of_theirs if kind.startswith(("attribute", "relationship")))):
        assert kinds_of_ours[kind] == kinds_of_theirs[kind], kind
    assert kinds_of_theirs["model"] <= kinds_of_ours["model"] | {"iOSVersion", "macOSVersion"}


def test_edit_changes_only_the_affected_lines(notes: Path) -> None:
    before = contents(notes).read_text(encoding="utf-8").splitlines()
    edit(notes, "set", "Note.title", "maxValueString=80")
    after = contents(notes).read_text(encoding="utf-8").splitlines()
    changed = [(old, new) for old, new in zip(before, after) if old != new]
    assert len(before) == len(after)
    assert [new.strip() for _, new in changed] == [
        '<attribute name="title" attributeType="String" maxValueString="80"/>'
    ]
    edit(notes, "set", "Note.title", "maxValueString=")
    assert contents(notes).read_text(encoding="utf-8").splitlines() == before


def test_add_and_remove_restore_the_file_byte_for_byte(fixtures: Path, tmp_path: Path) -> None:
    """Something added and removed again leaves the file as it was, byte for byte."""
    tried = 0
    for file in sorted((fixtures / "source-models").rglob("contents"))[::10]:
        version = tmp_path / f"{tried}.xcdatamodel"
        version.mkdir()
        (version / "contents").write_bytes(file.read_bytes())
        added = run("model", "add", version, "entity", "ZzNew")
        if added.returncode == 0:
            edit(version, "remove", "ZzNew")
            assert (version / "contents").read_bytes() == file.read_bytes(), file
            tried += 1
    assert tried > 25


def test_model_versions_can_be_added_selected_and_removed(notes: Path) -> None:
    edit(notes, "add", "version", "Notes 2")
    edit(notes, "add", "attribute", "Note.body", "String")
    assert "body" in Model.load(notes)["Note"].properties
    assert "body" not in Model.load(notes, version="Notes")["Note"].properties
    edit(notes, "set", ".", "currentVersion=Notes")
    assert Model.versions(notes).current == "Notes"
    edit(notes, "set", "Note", "isAbstract=YES", "--version", "Notes 2")
    assert not Model.load(notes)["Note"].is_abstract
    assert Model.versions(notes).current == "Notes"
    edit(notes, "remove", "version:Notes 2")
    assert list(Model.versions(notes)) == ["Notes"]
    assert sorted(path.name for path in notes.iterdir()) == [".xccurrentversion", "Notes.xcdatamodel"]


def test_composite_attributes_can_be_edited(notes: Path) -> None:
    edit(notes, "add", "attribute", "Note.place", "Composite", "latitude:Double", "longitude:Double")
    (place,) = [a for a in Model.load(notes).describe()["entities"][0]["attributes"] if a["name"] == "place"]
    assert [(element["name"], element["type"]) for element in place["elements"]] == [
        ("latitude", "Double"),
        ("longitude", "Double"),
    ]
    assert '<composite name="Place">' in contents(notes).read_text(encoding="utf-8")


def test_every_kind_of_part_can_be_edited(notes: Path) -> None:
    edit(notes, "add", "entity", "Draft", "parentEntity=Note", "isAbstract=NO")
    edit(notes, "add", "fetched", "Note.twins", "Note", "title == $FETCH_SOURCE.title", "fetchLimit=3")
    edit(notes, "add", "index", "Note.byRank", "rank:descending", "title", "--where", "rank > 0")
    edit(notes, "add", "constraint", "Note", "title", "rank")
    edit(notes, "add", "template", "ranked", "Note", "rank == $RANK", "fetchLimit=5")
    edit(notes, "add", "configuration", "Local", "Note")
    edit(notes, "set", "configuration:Local", "entities=Note,Tag", "usedWithCloudKit=YES")
    edit(notes, "set", "template:ranked", "fetchLimit=7")
    edit(notes, "set", "Note", "userInfo.color=red", "versionHashModifier=v2")
    edit(notes, "set", ".", "userDefinedModelVersionIdentifier=1.0")
    edit(notes, "rename", "Note.rank", "grade")
    edit(notes, "rename", "Tag", "Label")
    told = Model.load(notes).describe()
    note = next(entity for entity in told["entities"] if entity["name"] == "Note")
    assert note["indexes"] == [
        {
            "name": "byRank",
            "predicate": "grade > 0",
            "elements": [{"property": "grade", "ascending": False}, {"property": "title", "ascending": True}],
        }
    ]
    assert note["uniqueConstraints"] == [["title", "grade"]]
    assert note["userInfo"] == {"color": "red"}
    assert note["relationships"][0]["destination"] == "Label"
    assert [a["renamingIdentifier"] for a in note["attributes"] if a["name"] == "grade"] == ["rank"]
    assert note["fetchedProperties"][0]["fetchRequest"]["limit"] == 3
    assert told["fetchRequests"]["ranked"] == {"entity": "Note", "predicate": "grade == $RANK", "limit": 7}
    assert told["configurations"] == [{"name": "Local", "entities": ["Note", "Label"], "usedWithCloudKit": True}]
    assert told["versionIdentifiers"] == ["1.0"]
    for part in ("index:Note.byRank", "constraint:Note.grade,title", "template:ranked", "configuration:Local"):
        edit(notes, "remove", part)
    edit(notes, "remove", "Note.twins", "Label")
    told = Model.load(notes).describe()
    assert [entity["name"] for entity in told["entities"]] == ["Draft", "Note"]
    assert told["fetchRequests"] == {}
    assert told["entities"][1]["relationships"] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["new", "{notes}"], "already exists"),
        (["new", "Notes.model"], "use .xcdatamodeld or .xcdatamodel"),
        (["add", "{notes}", "entty", "A"], 'did you mean "entity"'),
        (["add", "{notes}", "entity", "Note"], 'the model already has an entity "Note"'),
        (["add", "{notes}", "entity", "1a"], "is not a valid name for an entity"),
        (["add", "{notes}", "attribute", "Note", "String"], "ENTITY.NAME, such as Note.title"),
        (["add", "{notes}", "attribute", "Nte.a", "String"], 'did you mean "Note"'),
        (["add", "{notes}", "attribute", "Note.a", "Strng"], 'did you mean "String"'),
        (["add", "{notes}", "attribute", "Note.a"], "attribute ENTITY.NAME TYPE"),
        (["add", "{notes}", "attribute", "Note.a", "Date", "x"], 'unexpected argument "x"'),
        (
            ["add", "{notes}", "attribute", "Note.a", "Integer 16", "defaultValueString=70000"],
            'an integer from -32768 to 32767, not "70000"',
        ),
        (["add", "{notes}", "relationship", "Note.a", "Tag", "--delete", "casade"], 'did you mean "cascade"'),
        (["add", "{notes}", "relationship", "Note.a", "Tag", "--inverse", "notes", "ordered=YES"], "to-one"),
        (["add", "{notes}", "template", "t", "Note", "title =="], "cannot read the predicate"),
        (["add", "{notes}", "index", "Note.i", "titel"], "titel"),
        (["set", "{notes}", "Note.title", "optinal=NO"], 'did you mean "optional"'),
        (["set", "{notes}", "Note.title", "optional=maybe"], "optional must be YES or NO"),
        (["set", "{notes}", "Note.title", "optional"], "is not an assignment"),
        (["set", "{notes}", "Note", "codeGenerationType=clas"], 'did you mean "class"'),
        (["set", "{notes}", "template:none", "fetchLimit=1"], 'does not have a fetch request template "none"'),
        (["set", "{notes}", "tempate:none", "fetchLimit=1"], 'did you mean "template:"?'),
        (["set", "{notes}", ".", "currentVersion=9"], 'has no version "9"; use "Notes"'),
        (["remove", "{notes}", "Note.tgas"], 'did you mean "tags"'),
        (["remove", "{notes}", "index:Note.none"], 'Note does not have an index "none"'),
        (["remove", "{notes}", "version:Notes"], "is the only version"),
        (["remove", "{notes}", "version:Nots"], 'did you mean "Notes"'),
        (["remove", "{notes}", "version:Notes", "Note"], '"version:Notes" cannot be removed together'),
        (["add", "{notes}", "attribute", "Note.p", "Composite", "latitude"], "NAME:TYPE"),
        (["rename", "{notes}", "Note", "Tag"], 'the model already has an entity "Tag"'),
        (["set", "{notes}/Notes.xcdatamodel/contents", "Note", "isAbstract=YES"], "is not a source model"),
    ],
)
def test_edit_mistakes_are_reported(notes: Path, arguments: list[str], words: str) -> None:
    before = contents(notes).read_bytes()
    found = run("model", *[argument.replace("{notes}", str(notes)) for argument in arguments])
    assert found.returncode in (2, 3), found.stderr
    assert words in found.stderr
    assert contents(notes).read_bytes() == before


# ---- every key of every part


@pytest.fixture(scope="module")
def every_part(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with a property of each kind, a fetch request and a configuration."""
    bundle = tmp_path_factory.mktemp("parts") / "N.xcdatamodeld"
    edit(bundle, "new")
    edit(bundle, "add", "entity", "Note")
    edit(bundle, "add", "entity", "Tag")
    for name, kind in (
        ("title", "String"), ("rank", "Integer 16"), ("day", "Date"), ("data", "Binary"), ("box", "Transformable"),
    ):  # fmt: skip
        edit(bundle, "add", "attribute", f"Note.{name}", kind)
    edit(bundle, "add", "relationship", "Note.tags", "Tag", *MANY, "--inverse", "notes", "--inverse-to-many")
    edit(bundle, "add", "fetched", "Note.twins", "Note", "title == $FETCH_SOURCE.title")
    edit(bundle, "add", "template", "ranked", "Note", "rank > 1")
    edit(bundle, "add", "configuration", "Local", "Note")
    return bundle


def changed_lines(bundle: Path, command: str, *words: str) -> tuple[list[str], list[str]]:
    """The lines of the source that an edit removes and adds; the model is restored afterwards."""
    file = contents(bundle)
    before = file.read_bytes()
    try:
        edit(bundle, command, *words)
        old, new = before.decode().splitlines(), file.read_text(encoding="utf-8").splitlines()
        return [line.strip() for line in old if line not in new], [line.strip() for line in new if line not in old]
    finally:
        file.write_bytes(before)


ENTITY = '<entity name="Note" representedClassName="Note" syncable="YES" codeGenerationType="class">'
ATTRIBUTE = '<attribute name="title" optional="YES" attributeType="String"/>'
RANK = (
    '<attribute name="rank" optional="YES" attributeType="Integer 16" defaultValueString="0" '
    'usesScalarValueType="YES"/>'
)
DAY = '<attribute name="day" optional="YES" attributeType="Date" usesScalarValueType="NO"/>'
TAGS = (
    '<relationship name="tags" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Tag" '
    'inverseName="notes" inverseEntity="Tag"/>'
)
TEMPLATE = '<fetchRequest name="ranked" entity="Note" predicateString="rank &gt; 1"/>'
FETCHED = (
    '<fetchRequest name="fetchedPropertyFetchRequest" entity="Note" predicateString="title == $FETCH_SOURCE.title"/>'
)
TWINS = '<fetchedProperty name="twins" optional="YES">'
LOCAL = '<configuration name="Local">'
HEAD = 'minimumToolsVersion="Automatic" sourceLanguage="Swift" userDefinedModelVersionIdentifier=""'

# The part, its new setting, the line, the old text in the line, and the new text.
KEYS = [
    ("Note", "representedClassName=Foo", ENTITY, 'representedClassName="Note"', 'representedClassName="Foo"'),
    ("Note", "representedClassName=", ENTITY, 'representedClassName="Note" ', ""),
    ("Note", "representedClassName=NSManagedObject", ENTITY, '"Note" syncable', '"NSManagedObject" syncable'),
    ("Note", "isAbstract=yes", ENTITY, " syncable", ' isAbstract="YES" syncable'),
    ("Note", "parentEntity=Tag", ENTITY, " syncable", ' parentEntity="Tag" syncable'),
    ("Note", "elementID=Old", ENTITY, " syncable", ' elementID="Old" syncable'),
    ("Note", "versionHashModifier=v2", ENTITY, " syncable", ' versionHashModifier="v2" syncable'),
    ("Note", "syncable=NO", ENTITY, 'syncable="YES"', 'syncable="NO"'),
    ("Note", "codeGenerationType=category", ENTITY, '"class"', '"category"'),
    ("Note", "codeGenerationType=none", ENTITY, ' codeGenerationType="class"', ""),
    ("Note", "codeGenerationType=", ENTITY, ' codeGenerationType="class"', ""),
    ("Note.title", "optional=NO", ATTRIBUTE, ' optional="YES"', ""),
    ("Note.title", "transient=1", ATTRIBUTE, " attributeType", ' transient="YES" attributeType'),
    ("Note.title", "spotlightIndexingEnabled=TRUE", ATTRIBUTE, "/>", ' spotlightIndexingEnabled="YES"/>'),
    ("Note.title", "storedInTruthFile=YES", ATTRIBUTE, "/>", ' storedInTruthFile="YES"/>'),
    ("Note.title", "elementID=x", ATTRIBUTE, "/>", ' elementID="x"/>'),
    ("Note.title", "versionHashModifier=m", ATTRIBUTE, "/>", ' versionHashModifier="m"/>'),
    ("Note.title", "syncable=YES", ATTRIBUTE, "/>", ' syncable="YES"/>'),
    ("Note.title", "syncable=NO", ATTRIBUTE, "/>", ' syncable="NO"/>'),
    ("Note.title", "attributeType=uri", ATTRIBUTE, '"String"', '"URI"'),
    ("Note.title", "defaultValueString=abc", ATTRIBUTE, "/>", ' defaultValueString="abc"/>'),
    ("Note.title", "minValueString=2", ATTRIBUTE, "/>", ' minValueString="2"/>'),
    ("Note.title", "maxValueString=9", ATTRIBUTE, "/>", ' maxValueString="9"/>'),
    ("Note.title", "regularExpressionString=a+", ATTRIBUTE, "/>", ' regularExpressionString="a+"/>'),
    ("Note.title", "derivationExpression=rank", ATTRIBUTE, "/>", ' derived="YES" derivationExpression="rank"/>'),
    ("Note.title", "indexed=YES", ATTRIBUTE, "/>", ' indexed="YES"/>'),
    ("Note.title", "usesScalarValueType=YES", ATTRIBUTE, "/>", ' usesScalarValueType="YES"/>'),
    ("Note.title", "usesScalarValueType=NO", ATTRIBUTE, "/>", ' usesScalarValueType="NO"/>'),
    ("Note.title", "allowsCloudEncryption=YES", ATTRIBUTE, "/>", ' allowsCloudEncryption="YES"/>'),
    ("Note.title", "preserveAfterDeletion=true", ATTRIBUTE, "/>", ' preserveAfterDeletion="YES"/>'),
    ("Note.title", "customClassName=X", ATTRIBUTE, "/>", ' customClassName="X"/>'),
    ("Note.rank", "defaultValueString=7", RANK, '"0"', '"7"'),
    ("Note.rank", "defaultValueString=", RANK, ' defaultValueString="0"', ""),
    ("Note.rank", "usesScalarValueType=", RANK, ' usesScalarValueType="YES"', ""),
    ("Note.rank", "minValueString=-1", RANK, " default", ' minValueString="-1" default'),
    ("Note.rank", "maxValueString=9", RANK, " default", ' maxValueString="9" default'),
    ("Note.rank", "attributeType=Integer 64", RANK, "Integer 16", "Integer 64"),
    ("Note.day", "defaultDateTimeInterval=3600", DAY, " uses", ' defaultDateTimeInterval="3600" uses'),
    ("Note.day", "minDateTimeInterval=0", DAY, " uses", ' minDateTimeInterval="0" uses'),
    ("Note.day", "maxDateTimeInterval=86400", DAY, " uses", ' maxDateTimeInterval="86400" uses'),
    ("Note.tags", "toMany=NO", TAGS, 'toMany="YES"', 'maxCount="1"'),
    ("Note.tags", "ordered=YES", TAGS, " destination", ' ordered="YES" destination'),
    ("Note.tags", "minCount=2", TAGS, " deletion", ' minCount="2" deletion'),
    ("Note.tags", "maxCount=5", TAGS, " deletion", ' maxCount="5" deletion'),
    ("Note.tags", "deletionRule=Cascade", TAGS, "Nullify", "Cascade"),
    ("Note.tags", "deletionRule=deny", TAGS, "Nullify", "Deny"),
    ("Note.tags", "deletionRule=No Action", TAGS, "Nullify", "No Action"),
    ("Note.twins", "optional=NO", TWINS, ' optional="YES"', ""),
    ("Note.twins", "elementID=y", TWINS, ">", ' elementID="y">'),
    ("configuration:Local", "usedWithCloudKit=1", LOCAL, ">", ' usedWithCloudKit="YES">'),
    (".", "userDefinedModelVersionIdentifier=a,b", HEAD, '=""', '="a,b"'),
    (".", "minimumToolsVersion=Xcode 9", HEAD, "Automatic", "Xcode 9"),
    (".", "sourceLanguage=Objective-C", HEAD, "Swift", "Objective-C"),
    (".", "usedWithCloudKit=YES", HEAD, " userDefined", ' usedWithCloudKit="YES" userDefined'),
    (".", "usedWithSwiftData=YES", HEAD, " userDefined", ' usedWithSwiftData="YES" userDefined'),
    *(
        (part, f"{key}={value}", line, "/>", f' {key}="{value}"/>')
        for part, line in (("template:ranked", TEMPLATE), ("Note.twins", FETCHED))
        for key, value in (
            ("fetchLimit", "1"), ("fetchOffset", "2"), ("fetchBatchSize", "3"), ("resultType", "1"),
            ("resultType", "2"), ("resultType", "4"), ("includeSubentities", "NO"), ("includePropertyValues", "NO"),
            ("returnObjectsAsFaults", "NO"), ("returnDistinctResults", "YES"),
        )
    ),
    ("template:ranked", "entity=Tag", TEMPLATE, '"Note"', '"Tag"'),
    ("template:ranked", "predicateString=rank < 9", TEMPLATE, "rank &gt; 1", "rank &lt; 9"),
    ("template:ranked", "predicateString=", TEMPLATE, ' predicateString="rank &gt; 1"', ""),
    ("Note.twins", "entity=Tag", FETCHED, '"Note"', '"Tag"'),
    ("Note.twins", "predicateString=", FETCHED, ' predicateString="title == $FETCH_SOURCE.title"', ""),
]  # fmt: skip


def test_each_key_changes_only_its_xml_attribute(every_part: Path) -> None:
    for part, word, line, old, new in KEYS:
        assert line.count(old) == 1, word
        gone, came = changed_lines(every_part, "set", part, word)
        (before,), (after,) = gone, came
        assert line in before, word
        assert after == before.replace(line, line.replace(old, new)), word


def test_binary_and_transformable_keys_can_be_set(every_part: Path) -> None:
    for name, word in (
        ("data", "allowsExternalBinaryDataStorage=YES"),
        ("box", "valueTransformerName=T"),
        ("box", "customClassName=NSArray"),
    ):
        _, (after,) = changed_lines(every_part, "set", f"Note.{name}", word)
        key, _, value = word.partition("=")
        assert after.endswith(f' {key}="{value}"/>') and f'name="{name}"' in after


def test_removing_a_set_value_restores_the_file(every_part: Path) -> None:
    before = contents(every_part).read_bytes()
    for part, word, *_ in KEYS:
        key, _, value = word.partition("=")
        if not value or part == "." or key in (
            "representedClassName", "codeGenerationType", "attributeType", "deletionRule", "syncable", "toMany",
            "entity", "predicateString", "optional", "resultType",
        ) or (part, key) in (("Note.rank", "defaultValueString"), ("Note.rank", "usesScalarValueType")):  # fmt: skip
            continue
        is_yes_at_first = key in ("includeSubentities", "includePropertyValues", "returnObjectsAsFaults")
        edit(every_part, "set", part, word)
        assert contents(every_part).read_bytes() != before, word
        edit(every_part, "set", part, f"{key}=YES" if is_yes_at_first else f"{key}=")
        assert contents(every_part).read_bytes() == before, word


def test_several_keys_are_set_unless_one_is_invalid(every_part: Path) -> None:
    gone, came = changed_lines(every_part, "set", "Note.rank", "minValueString=1", "maxValueString=5", "optional=NO")
    assert (gone, came) == (
        [RANK],
        [
            '<attribute name="rank" attributeType="Integer 16" minValueString="1" maxValueString="5" '
            'defaultValueString="0" usesScalarValueType="YES"/>'
        ],
    )
    before = contents(every_part).read_bytes()
    for words, code, message in (
        (
            ["Note.rank", "optional=NO", "minValueString=x"],
            2,
            'minValueString of Note.rank takes an integer from -32768 to 32767, not "x"',
        ),
        (
            ["Note.rank", "minValueString=5", "maxValueString=4"],
            3,
            "the minimum of Note.rank (5) is greater than its maximum (4)",
        ),
        (
            ["Note.title", "minValueString=x"],
            2,
            'minValueString of Note.title takes a length from 0 to 9223372036854775807, not "x"',
        ),
        (["Note.tags", "minCount=-1"], 2, 'minCount must be an integer from 0 to 4294967295, not "-1"'),
        (["Note.tags", "inverseName=none"], 2, 'Tag has no property "none"'),
        (["template:ranked", "resultType=3"], 2, 'resultType must be 0, 1, 2 or 4, not "3"'),
        (["template:ranked", "entity=Tg"], 2, 'did you mean "Tag"'),
        (["template:ranked", "fetchLimt=1"], 2, 'did you mean "fetchLimit"'),
        (["configuration:Local", "name=x"], 2, "use entities or usedWithCloudKit"),
        (["configuration:Lcal", "usedWithCloudKit=1"], 2, 'did you mean "Local"'),
        (["index:Note.i", "a=b"], 2, "cannot be changed; remove it with corestone model remove"),
        (["constraint:Note.i", "a=b"], 2, "cannot be changed; remove it with corestone model remove"),
        (["version:N", "a=b"], 2, "does not have keys; change its elements with --version"),
        ([".", "currentVersion=N", "sourceLanguage=x"], 2, "currentVersion cannot be set together with other keys"),
        ([".", "currentVersin=N"], 2, 'did you mean "currentVersion"?'),
        (["Note", "userInfo=x"], 2, 'did you mean "userInfo.KEY"?'),
        (["colour:red", "a=b"], 2, "configuration:NAME, or . for the whole model"),
        (["Note", "=x"], 2, "is not an assignment"),
        (["Note.", "a=1"], 2, "is not the name of an entity or property"),
        ([".title", "a=1"], 2, "is not the name of an entity or property"),
    ):
        found = run("model", "set", every_part, *words)
        assert (found.returncode, found.stdout) == (code, ""), words
        assert message in found.stderr, words
        assert contents(every_part).read_bytes() == before


def test_user_info_of_every_part_can_be_edited(every_part: Path) -> None:
    for part in ("Note", "Note.title", "Note.tags", "Note.twins"):
        _, came = changed_lines(every_part, "set", part, "userInfo.a.b=c=d", "userInfo.empty=")
        assert [line for line in came if "entry" in line] == ['<entry key="a.b" value="c=d"/>'], part
    before = contents(every_part).read_bytes()
    edit(every_part, "set", "Note.tags", "userInfo.k=v")
    edit(every_part, "set", "Note.tags", "userInfo.k=")
    assert contents(every_part).read_bytes() == before


def test_configuration_members_can_be_set(every_part: Path) -> None:
    _, came = changed_lines(every_part, "set", "configuration:Local", "entities=Tag,Note")
    assert came == ['<memberEntity name="Tag"/>']
    _, came = changed_lines(every_part, "set", "configuration:Local", "entities=")
    assert came == ['<configuration name="Local"/>']


def test_destinations_and_inverses_can_be_set(every_part: Path) -> None:
    alone = ' inverseName="notes" inverseEntity="Tag"'
    _, came = changed_lines(every_part, "set", "Note.tags", "inverseName=")
    assert came == [
        TAGS.replace(alone, ""),
        '<relationship name="notes" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Note"/>',
    ]
    _, came = changed_lines(every_part, "set", "Note.tags", "destinationEntity=Note")
    assert came[0] == TAGS.replace(alone, "").replace('"Tag"', '"Note"')


# What each kind of attribute has at first, as in Xcode.
FRESH = {
    "Integer 16": ' defaultValueString="0" usesScalarValueType="YES"',
    "Integer 32": ' defaultValueString="0" usesScalarValueType="YES"',
    "Integer 64": ' defaultValueString="0" usesScalarValueType="YES"',
    "Decimal": ' defaultValueString="0.0"',
    "Double": ' defaultValueString="0.0" usesScalarValueType="YES"',
    "Float": ' defaultValueString="0.0" usesScalarValueType="YES"',
    "Boolean": ' usesScalarValueType="YES"',
    "Date": ' usesScalarValueType="NO"',
    "String": "",
    "Binary": "",
    "UUID": ' usesScalarValueType="NO"',
    "URI": "",
    "Transformable": "",
}


def test_new_attribute_of_every_type_has_its_xml(every_part: Path) -> None:
    for kind, more in FRESH.items():
        gone, came = changed_lines(every_part, "add", "attribute", "Note.new", kind)
        assert (gone, came) == ([], [f'<attribute name="new" optional="YES" attributeType="{kind}"{more}/>'])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ["relationship", "Note.r", "Tag"],
            ['<relationship name="r" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Tag"/>'],
        ),
        (
            ["relationship", "Note.r", "Tag", "--ordered", "--delete", "no-action"],
            [
                '<relationship name="r" optional="YES" toMany="YES" deletionRule="No Action" ordered="YES" '
                'destinationEntity="Tag"/>'
            ],
        ),
        (
            ["relationship", "Note.r", "Tag", "--inverse", "back"],
            [
                '<relationship name="r" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Tag" '
                'inverseName="back" inverseEntity="Tag"/>',
                '<relationship name="back" optional="YES" maxCount="1" deletionRule="Nullify" '
                'destinationEntity="Note" inverseName="r" inverseEntity="Note"/>',
            ],
        ),
        (
            [
                *("relationship", "Note.r", "Tag", "--to-many", "--delete", "deny", "--inverse", "back"),
                *("--inverse-ordered", "--inverse-delete", "cascade"),
            ],
            [
                '<relationship name="r" optional="YES" toMany="YES" deletionRule="Deny" destinationEntity="Tag" '
                'inverseName="back" inverseEntity="Tag"/>',
                '<relationship name="back" optional="YES" toMany="YES" deletionRule="Cascade" ordered="YES" '
                'destinationEntity="Note" inverseName="r" inverseEntity="Note"/>',
            ],
        ),
        (
            ["relationship", "Note.r", "Note", "--inverse", "r"],
            [
                '<relationship name="r" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Note" '
                'inverseName="r" inverseEntity="Note"/>'
            ],
        ),
        (
            ["index", "Note.i", "rank", "--rtree"],
            [
                '<fetchIndex name="i">',
                '<fetchIndexElement property="rank" type="RTree" order="ascending"/>',
                "</fetchIndex>",
            ],
        ),
        (
            ["index", "Note.i", "title:descending", "rank", "--where", "rank > 2"],
            [
                '<fetchIndex name="i" partialIndexPredicate="rank &gt; 2">',
                '<fetchIndexElement property="title" type="Binary" order="descending"/>',
                '<fetchIndexElement property="rank" type="Binary" order="ascending"/>',
                "</fetchIndex>",
            ],
        ),
        (["template", "u", "Tag"], ['<fetchRequest name="u" entity="Tag"/>']),
        (
            ["template", "u", "Note", "rank == 1", "fetchBatchSize=4"],
            ['<fetchRequest name="u" entity="Note" predicateString="rank == 1" fetchBatchSize="4"/>'],
        ),
        (["configuration", "Empty"], ['<configuration name="Empty"/>']),
        (
            ["entity", "Draft", "parentEntity=Note", "isAbstract=YES"],
            [
                '<entity name="Draft" representedClassName="Draft" isAbstract="YES" parentEntity="Note" '
                'syncable="YES" codeGenerationType="class"/>'
            ],
        ),
    ],
    ids=lambda value: " ".join(value[:4]) if value[0].isalpha() else "",
)
def test_added_part_has_the_given_options(every_part: Path, words: list[str], expected: list[str]) -> None:
    gone, came = changed_lines(every_part, "add", *words)
    assert gone == []
    assert came == expected


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["template", "ranked", "Note"], 2, 'already has a fetch request template "ranked"; change it with'),
        (
            ["configuration", "Local", "Note"],
            2,
            'already has a configuration "Local"; change it with corestone model set',
        ),
        (["entity", "E", "x"], 2, 'unexpected argument "x"; write corestone model add MODEL entity NAME, and put'),
        (["index", "Note.i"], 2, "model add index has too few arguments; write corestone model add MODEL index"),
        (["attribute", "Note.title", "String"], 3, 'Note already has a property "title"'),
        (["version", "N"], 2, 'already has a version "N"; choose another name'),
        (["version", "V", "extra"], 2, 'unexpected argument "extra"; write corestone model add MODEL version NAME'),
        (["relationship", "Tag.q", "Note", "--inverse", "title"], 2, "Note.title is not a relationship"),
        (["attribute", "Note.c", "Composite"], 3, "Note.c is composite but does not have elements"),
        (["fetched", "Note.f", "Note", "TRUEPREDICATE", "again"], 2, 'unexpected argument "again"'),
        (["constraint", "Note"], 2, "too few arguments; write corestone model add MODEL constraint ENTITY ATTRIBUTE…"),
    ],
)
def test_invalid_additions_are_rejected(every_part: Path, words: list[str], code: int, message: str) -> None:
    before = contents(every_part).read_bytes()
    found = run("model", "add", every_part, *words)
    assert (found.returncode, found.stdout) == (code, "")
    assert message in found.stderr
    assert contents(every_part).read_bytes() == before


def test_renaming_keeps_the_former_name_unless_new_identity(notes: Path) -> None:
    edit(notes, "rename", "Note.rank", "grade", "--new-identity")
    edit(notes, "rename", "Note", "Entry")
    edit(notes, "set", "Tag", "representedClassName=MyTag")
    edit(notes, "rename", "Tag", "Label", "--new-identity")
    told = {entity["name"]: entity for entity in Model.load(notes).describe()["entities"]}
    assert set(told) == {"Entry", "Label"}
    assert (told["Entry"]["className"], told["Entry"]["renamingIdentifier"]) == ("Entry", "Note")
    assert told["Label"]["className"] == "MyTag" and "renamingIdentifier" not in told["Label"]
    assert ["renamingIdentifier" in each for each in told["Entry"]["attributes"]] == [False, False]
    # The first name of all stays.
    edit(notes, "rename", "Entry", "Page")
    edit(notes, "rename", "Page.grade", "rank")
    edit(notes, "rename", "Page.rank", "order")
    (page,) = [each for each in Model.load(notes).describe()["entities"] if each["name"] == "Page"]
    assert page["renamingIdentifier"] == "Note"
    assert [each["renamingIdentifier"] for each in page["attributes"] if each["name"] == "order"] == ["grade"]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (["template:none"], 'does not have a fetch request template "none"'),
        (["template:rankd"], 'did you mean "ranked"'),
        (["configuration:none"], 'does not have a configuration "none"'),
        (["constraint:Note.rank"], 'Note does not have a unique constraint "rank"'),
        (["index:Note"], '"index:Note" does not name an index; write index:Note.NAME'),
        (["."], "model remove cannot remove the whole model"),
        (["Tag", "Nothing"], "Nothing"),
        (["Note.title", "colour:red"], '"colour:" is not a prefix of a model element; write ENTITY, ENTITY.PROPERTY'),
    ],
)
def test_rejected_removals_remove_nothing(every_part: Path, parts: list[str], message: str) -> None:
    before = contents(every_part).read_bytes()
    found = run("model", "remove", every_part, *parts)
    assert (found.returncode, found.stdout) == (2, "")
    assert message in found.stderr
    assert contents(every_part).read_bytes() == before


def test_inherited_index_and_constraint_are_not_removed(notes: Path) -> None:
    edit(notes, "add", "entity", "Draft", "parentEntity=Note")
    edit(notes, "add", "index", "Note.byTitle", "title", "rank")
    edit(notes, "add", "constraint", "Note", "title", "rank")
    for part, message in (
        ("index:Draft.byTitle", 'Draft does not have an index "byTitle" of its own; use index:Note.byTitle'),
        (
            "constraint:Draft.title,rank",
            'Draft does not have a unique constraint "title,rank" of its own; use constraint:Note.title,rank',
        ),
    ):
        found = run("model", "remove", notes, part)
        assert found.returncode == 2 and message in found.stderr


def test_single_model_does_not_have_versions(tmp_path: Path) -> None:
    model = tmp_path / "One.xcdatamodel"
    edit(model, "new")
    edit(model, "add", "entity", "A")
    found = run("model", "add", model, "version", "2")
    assert found.returncode == 2 and "is a single model without versions" in found.stderr
    assert list(Model.load(model)) == ["A"]


def test_version_is_not_added_to_a_compiled_model(notes: Path, tmp_path: Path) -> None:
    compiled = tmp_path / "Compiled.momd"
    assert run("model", "compile", notes, "-o", compiled).returncode == 0
    found = run("model", "add", compiled, "version", "2")
    assert found.returncode == 2 and f"{compiled} is not an .xcdatamodeld folder; pass one, or create" in found.stderr


def test_version_is_not_added_to_a_version(notes: Path) -> None:
    bundle = notes.resolve()
    version = next(bundle.glob("*.xcdatamodel"))
    found = run("model", "add", version, "version", "2")
    assert found.returncode == 2 and f"{version} is a version of {bundle}; pass {bundle}" in found.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["remove", "Note"],
            'Tag.count would be derived by "notes.@count", which refers to the unknown property "notes" of Tag',
        ),
        (["remove", "Tag.notes"], "correct the derivation, or remove Tag.count"),
        (
            ["remove", "Note.rank"],
            'Tag.total would be derived by "notes.rank.@sum", which refers to the unknown property "rank" of Note',
        ),
        (["set", "Tag.count", "derivationExpression=nots.@count"], 'did you mean "notes"?'),
        (
            ["set", "Tag.count", "derivationExpression=notes.@count.rank"],
            "whose operator @count must be the last component",
        ),
        (
            ["set", "Tag.count", "derivationExpression=count:("],
            'Tag.count would be derived by "count:(", which cannot be read',
        ),
        (
            ["add", "attribute", "Tag.more", "String", "derivationExpression=title"],
            'refers to the unknown property "title"',
        ),
    ],
)
def test_invalid_derivation_is_not_written(notes: Path, words: list[str], message: str) -> None:
    edit(notes, "add", "attribute", "Tag.count", "Integer 64", "derivationExpression=notes.@count")
    edit(notes, "add", "attribute", "Tag.total", "Integer 64", "derivationExpression=notes.rank.@sum")
    before = contents(notes).read_bytes()
    found = run("model", words[0], notes, *words[1:])
    assert (found.returncode, found.stdout) == (3, "")
    assert message in found.stderr
    assert contents(notes).read_bytes() == before
    edit(notes, "remove", "Note", "Tag.count", "Tag.total")
    assert list(Model.load(notes)) == ["Tag"]


def test_attribute_with_an_invalid_derivation_is_not_added(notes: Path) -> None:
    found = run("model", "add", notes, "attribute", "Tag.more", "String", "derivationExpression=zzzzzz")
    assert found.returncode == 3
    assert f"cannot write {notes}: Tag.more would be derived by" in found.stderr
    assert "; correct the derivation" in found.stderr
    assert "or remove" not in found.stderr  # the file does not contain the attribute


def test_references_follow_a_renamed_part(notes: Path) -> None:
    edit(notes, "add", "attribute", "Note.upper", "String", "derivationExpression=uppercase:(title)")
    edit(notes, "add", "attribute", "Tag.count", "Integer 64", "derivationExpression=notes.@count")
    edit(notes, "add", "attribute", "Tag.name", "String")
    edit(notes, "add", "entity", "Draft", "parentEntity=Note")
    edit(notes, "add", "fetched", "Tag.similar", "Note", "title == $FETCH_SOURCE.name AND ANY tags.name == 'x'")
    edit(notes, "add", "template", "ranked", "Note", "title == $title AND rank > 1")
    edit(notes, "add", "template", "tagged", "Tag", "ANY notes.title == 'title'")
    edit(notes, "add", "configuration", "Local", "Tag", "Note")
    edit(notes, "add", "index", "Note.byTitle", "title", "rank", "--where", "title != 'x'")
    edit(notes, "add", "constraint", "Note", "title", "rank")
    edit(notes, "rename", "Note.title", "head", "--new-identity")
    edit(notes, "rename", "Note", "Entry", "--new-identity")
    edit(notes, "rename", "Tag.notes", "entries", "--new-identity")
    edit(notes, "rename", "Tag.name", "word", "--new-identity")
    shown = run("model", "show", notes).stdout
    assert [line.strip() for line in shown.splitlines()] == [
        "entity Draft: inherits from Entry, class Draft, codeGenerationType class",
        "entity Entry: class Entry, codeGenerationType class",
        "attribute head: String",
        "attribute rank: Integer 16, optional, default 0, usesScalarValueType YES",
        "attribute upper: String, optional, derived from uppercase:(head)",
        "relationship tags: Tag, optional, to-many, ordered, inverse entries",
        'index byTitle: head, rank where head != "x"',
        "unique head, rank",
        "entity Tag: class Tag, codeGenerationType class",
        "attribute count: Integer 64, optional, default 0, derived from count:(entries), usesScalarValueType YES",
        "attribute word: String, optional",
        "relationship entries: Entry, optional, to-many, inverse tags",
        'fetched property similar: Entry where head == $FETCH_SOURCE.word AND ANY tags.word == "x"',
        "fetch request ranked: Entry where head == $title AND rank > 1",
        'fetch request tagged: Tag where ANY entries.head == "title"',
        "configuration Local: Tag, Entry",
    ]


def test_dependents_are_removed_with_a_part(notes: Path) -> None:
    edit(notes, "add", "entity", "Draft", "parentEntity=Note")
    edit(notes, "add", "index", "Note.byTitle", "rank", "title")
    edit(notes, "add", "index", "Note.byRank", "rank")
    edit(notes, "add", "constraint", "Note", "title", "rank")
    edit(notes, "add", "constraint", "Note", "rank")
    edit(notes, "add", "fetched", "Tag.all", "Note")
    edit(notes, "add", "template", "ranked", "Note", "rank > 1")
    edit(notes, "add", "template", "tags", "Tag")
    edit(notes, "add", "configuration", "Local", "Note", "Tag")

    def kept() -> list[str]:
        return [line.strip().split(":")[0] for line in run("model", "show", notes).stdout.splitlines()]

    before = kept()
    edit(notes, "remove", "Note.title")
    gone = ["attribute title", "index byTitle", "unique title, rank"]
    assert kept() == [line for line in before if line not in gone]
    edit(notes, "remove", "Note.tags")
    gone += ["relationship tags"]
    assert kept() == [line for line in before if line not in gone]
    edit(notes, "remove", "Note")
    assert run("model", "show", notes).stdout.splitlines() == [
        "entity Draft: class Draft, codeGenerationType class",
        "entity Tag: class Tag, codeGenerationType class",
        "fetch request tags: Tag",
        "configuration Local: Tag",
    ]
