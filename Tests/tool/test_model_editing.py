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


def test_the_packages_model_built_from_nothing(tmp_path: Path) -> None:
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


def test_xcodes_own_attributes_are_all_there(fixtures: Path, tmp_path: Path) -> None:
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


def test_a_difference_is_as_small_as_the_edit(notes: Path) -> None:
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


def test_editing_leaves_what_xcode_wrote(fixtures: Path, tmp_path: Path) -> None:
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


def test_versions(notes: Path) -> None:
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


def test_composite_attributes(notes: Path) -> None:
    edit(notes, "add", "attribute", "Note.place", "Composite", "latitude:Double", "longitude:Double")
    (place,) = [a for a in Model.load(notes).describe()["entities"][0]["attributes"] if a["name"] == "place"]
    assert [(element["name"], element["type"]) for element in place["elements"]] == [
        ("latitude", "Double"),
        ("longitude", "Double"),
    ]
    assert '<composite name="Place">' in contents(notes).read_text(encoding="utf-8")


def test_every_kind(notes: Path) -> None:
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
    edit(notes, "rename", "Note.rank", "grade", "--keep-identity")
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
        (["new", "{notes}"], "is there already"),
        (["new", "Notes.model"], "ends in .xcdatamodeld or .xcdatamodel"),
        (["add", "{notes}", "entty", "A"], 'did you mean "entity"'),
        (["add", "{notes}", "entity", "Note"], "the model has an entity Note already"),
        (["add", "{notes}", "entity", "1a"], "cannot name an entity"),
        (["add", "{notes}", "attribute", "Note", "String"], "write Note.PROPERTY"),
        (["add", "{notes}", "attribute", "Nte.a", "String"], 'did you mean "Note"'),
        (["add", "{notes}", "attribute", "Note.a", "Strng"], 'did you mean "String"'),
        (["add", "{notes}", "attribute", "Note.a"], "attribute ENTITY.NAME TYPE"),
        (["add", "{notes}", "attribute", "Note.a", "Date", "x"], "one word too many"),
        (["add", "{notes}", "attribute", "Note.a", "Integer 16", "defaultValueString=70000"], 'which "70000" is not'),
        (["add", "{notes}", "relationship", "Note.a", "Tag", "--delete", "casade"], 'did you mean "Cascade"'),
        (["add", "{notes}", "relationship", "Note.a", "Tag", "--inverse", "notes", "ordered=YES"], "to-one"),
        (["add", "{notes}", "template", "t", "Note", "title =="], "cannot read the predicate"),
        (["add", "{notes}", "index", "Note.i", "titel"], "titel"),
        (["set", "{notes}", "Note.title", "optinal=NO"], "did you mean optional"),
        (["set", "{notes}", "Note.title", "optional=maybe"], "optional is YES or NO"),
        (["set", "{notes}", "Note.title", "optional"], "sets nothing"),
        (["set", "{notes}", "Note", "codeGenerationType=clas"], 'did you mean "class"'),
        (["set", "{notes}", "template:none", "fetchLimit=1"], 'no fetch request "none"'),
        (["set", "{notes}", "tempate:none", "fetchLimit=1"], "did you mean template:"),
        (["set", "{notes}", ".", "currentVersion=9"], "it has Notes"),
        (["remove", "{notes}", "Note.tgas"], 'did you mean "tags"'),
        (["remove", "{notes}", "index:Note.none"], 'Note has no index "none"'),
        (["remove", "{notes}", "version:Notes"], "is the current version"),
        (["remove", "{notes}", "version:Nots"], 'did you mean "Notes"'),
        (["remove", "{notes}", "version:Notes", "Note"], "by themselves"),
        (["add", "{notes}", "attribute", "Note.p", "Composite", "latitude"], "NAME:TYPE"),
        (["rename", "{notes}", "Note", "Tag"], "the model has an entity Tag already"),
        (["set", "{notes}/Notes.xcdatamodel/contents", "Note", "isAbstract=YES"], "is no source model"),
    ],
)
def test_mistakes(notes: Path, arguments: list[str], words: str) -> None:
    before = contents(notes).read_bytes()
    found = run("model", *[argument.replace("{notes}", str(notes)) for argument in arguments])
    assert found.returncode in (2, 3), found.stderr
    assert words in found.stderr
    assert contents(notes).read_bytes() == before
