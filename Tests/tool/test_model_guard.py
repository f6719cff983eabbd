"""corestone model check-migration and freeze: a guard for teams, in a sample repository with planted mistakes."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from conftest import compare, run

Parts = dict[str, list[str]]


def attribute(name: str, kind: str = "String", more: str = "optional='YES'") -> str:
    return f"<attribute name='{name}' attributeType='{kind}' {more}/>"


def relationship(name: str, destination: str, inverse: str, more: str = "maxCount='1'") -> str:
    return (
        f"<relationship name='{name}' optional='YES' deletionRule='Nullify' destinationEntity='{destination}' "
        f"inverseName='{inverse}' {more}/>"
    )


TO_MANY = "toMany='YES'"


def first() -> Parts:
    """The first release."""
    return {
        "Author": [attribute("surname"), relationship("books", "Book", "author", TO_MANY)],
        "Book": [
            attribute("title"),
            attribute("pages", "Integer 16", "optional='YES' defaultValueString='0' usesScalarValueType='YES'"),
            attribute("createdAt", "Date"),
            attribute("fax"),
            relationship("author", "Author", "books"),
            relationship("loans", "Loan", "book", TO_MANY),
        ],
        "Loan": [
            attribute("since", "Date"),
            attribute("until", "Date"),
            relationship("book", "Book", "loans"),
        ],
        "Member": [
            attribute("number", "Integer 32"),
            attribute("phone"),
            attribute("left"),
            attribute("right", "Date"),
        ],
    }


def second() -> Parts:
    """The second release, with a rename."""
    parts = first()
    parts["Author"][0] = attribute("familyName", more="optional='YES' elementID='surname'")
    parts["Member"].append(attribute("nickname"))
    return parts


def third() -> Parts:
    """The version in development. It has three changes that look like mistakes:

    - Member.left and Member.right exchange their names, and Author.lastName keeps the first identifier;
    - Book.fax is removed and Book.language added, which are unrelated although both are strings;
    - required attributes have a default or belong to a new entity, as does a unique constraint.
    """
    parts = second()
    parts["Author"][0] = attribute("lastName", more="optional='YES' elementID='surname'")
    parts["Book"][3] = attribute("language")
    parts["Book"].append(attribute("rating", "Integer 16", "defaultValueString='3'"))
    parts["Member"][2] = attribute("right", more="optional='YES' elementID='left'")
    parts["Member"][3] = attribute("left", "Date", "optional='YES' elementID='right'")
    parts["Branch"] = [
        attribute("code", more=""),
        "<uniquenessConstraints><uniquenessConstraint><constraint value='code'/></uniquenessConstraint>"
        "</uniquenessConstraints>",
    ]
    return parts


class Repository:
    """A bundle with three versions, two of which are released: frozen, and with a store of each."""

    def __init__(self, folder: Path) -> None:
        self.bundle = folder / "Library.xcdatamodeld"
        self.released = folder / "released"
        self.stores = folder / "stores"
        for name, parts in (("Library", first()), ("Library 2", second())):
            self.write(name, parts)
            assert run("model", "freeze", self.bundle, self.released, "--version", name).returncode == 0
            lines = [{"@entity": "Member", "number": number} for number in (1, 2)]
            self.add_store(name, [*lines, {"@entity": "Book", "title": "Emma", "pages": 474}])
        self.write("Library 3", third())

    def write(self, name: str, parts: Parts) -> None:
        version = self.bundle / f"{name}.xcdatamodel"
        version.mkdir(parents=True, exist_ok=True)
        entities = "".join(f"<entity name='{entity}'>{''.join(lines)}</entity>" for entity, lines in parts.items())
        (version / "contents").write_text(f"<model>{entities}</model>")
        current = f"<plist><dict><key>_XCCurrentVersionName</key><string>{name}.xcdatamodel</string></dict></plist>"
        (self.bundle / ".xccurrentversion").write_text(current)

    def add_store(self, name: str, lines: list[dict[str, Any]]) -> None:
        self.stores.mkdir(exist_ok=True)
        text = "".join(json.dumps(line) + "\n" for line in lines)
        model = self.bundle / f"{name}.xcdatamodel"
        assert run("load", self.stores / f"{name}.sqlite", "--model", model, input=text).returncode == 0

    def check(self, *words: str | Path, code: int) -> list[dict[str, Any]]:
        words = (self.released, self.bundle, "--stores", self.stores, *words)
        done = run("model", "check-migration", *words, "--format", "json")
        assert (done.returncode, done.stderr) == (code, ""), done.stdout
        found: list[dict[str, Any]] = json.loads(done.stdout)["findings"]
        return found


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def places(findings: list[dict[str, Any]], severity: str = "error") -> set[tuple[str, str | None, str | None]]:
    return {(each["rule"], each["entity"], each["key"]) for each in findings if each["severity"] == severity}


def plant_type(parts: Parts) -> None:
    parts["Book"][1] = attribute("pages", "Integer 32")


def plant_rename(parts: Parts) -> None:
    parts["Book"][2] = attribute("creationDate", "Date")


def plant_chain(parts: Parts) -> None:
    parts["Author"][0] = attribute("lastName", more="optional='YES' elementID='familyName'")


def plant_dropped_identifier(parts: Parts) -> None:
    parts["Author"][0] = attribute("familyName")


def plant_required(parts: Parts) -> None:
    parts["Book"].append(attribute("shelf", more=""))


def plant_twins(parts: Parts) -> None:
    parts["Member"].append(attribute("mobile", more="optional='YES' elementID='phone'"))


def plant_misspelling(parts: Parts) -> None:
    parts["Member"][1] = attribute("mobile", more="optional='YES' elementID='phnoe'")


def plant_to_one(parts: Parts) -> None:
    parts["Author"][1] = relationship("books", "Book", "author")


def plant_entity(parts: Parts) -> None:
    parts["Lending"] = [parts["Loan"][0], parts["Loan"][1], parts["Loan"][2]]
    del parts["Loan"]
    parts["Book"][5] = relationship("lendings", "Lending", "book", TO_MANY)


def plant_swap(parts: Parts) -> None:
    """The hash of Loan is the same: nothing is migrated."""
    parts["Loan"][0] = attribute("until", "Date", "optional='YES' elementID='since'")
    parts["Loan"][1] = attribute("since", "Date", "optional='YES' elementID='until'")


def plant_constraint(parts: Parts) -> None:
    parts["Book"].append(
        "<uniquenessConstraints><uniquenessConstraint><constraint value='title'/></uniquenessConstraint>"
        "</uniquenessConstraints>"
    )


# Each with what the guard calls it.
MISTAKES = [
    (plant_type, ("type-change", "Book", "pages")),
    (plant_rename, ("missing-identifier", "Book", "creationDate")),
    (plant_chain, ("chained-identifier", "Author", "lastName")),
    (plant_dropped_identifier, ("changed-identifier", "Author", "familyName")),
    (plant_required, ("required-without-default", "Book", "shelf")),
    (plant_twins, ("ambiguous-identifier", "Member", "phone")),
    (plant_misspelling, ("unknown-identifier", "Member", "mobile")),
    (plant_to_one, ("not-inferable", "Author", "books")),
    (plant_swap, ("unapplied-rename", "Loan", "until")),
    (plant_entity, ("missing-identifier", "Lending", None)),
]


def test_valid_repository_has_no_errors_and_stores_are_unchanged(repository: Repository) -> None:
    before = {path: hashlib.sha256(path.read_bytes()).digest() for path in repository.stores.iterdir()}
    findings = repository.check(code=0)
    assert places(findings) == set()
    # What a migration deletes is a warning, which the team may accept.
    assert places(findings, "warning") == {("removed-property", "Book", "fax")}
    assert places(repository.check("--ignore", "removed-property:Book.fax", "--strict", code=0), "warning") == set()
    assert {path: hashlib.sha256(path.read_bytes()).digest() for path in repository.stores.iterdir()} == before


@pytest.mark.parametrize(("plant", "place"), MISTAKES, ids=lambda each: getattr(each, "__name__", ""))
def test_planted_mistake_is_found_and_named(repository: Repository, plant: Any, place: tuple[str, str, str]) -> None:
    parts = third()
    plant(parts)
    repository.write("Library 3", parts)
    findings = repository.check(code=1)
    found = places([each for each in findings if each["rule"] != "store-fails"])
    assert place in found
    # A renamed destination cannot be inferred either; there is no other error.
    assert {rule for rule, _, _ in found - {place}} <= {"not-inferable", "unapplied-rename"}
    named = next(each for each in findings if (each["rule"], each["entity"], each["key"]) == place)
    assert named["remedy"] and named["versions"] and named["store"] is None


def test_ten_mistakes_are_found_at_once(repository: Repository) -> None:
    parts = third()
    expected = set()
    for plant, place in MISTAKES:
        if plant not in (plant_dropped_identifier, plant_misspelling, plant_swap):
            plant(parts)
            expected.add(place)
    parts["Member"][0] = attribute("numero", "Integer 32", "optional='YES' elementID='nubmer'")
    expected.add(("unknown-identifier", "Member", "numero"))
    repository.write("Library 3", parts)
    edited = second()
    edited["Member"][4] = attribute("nickname", "Binary")
    repository.write("Library 2", edited)
    expected.add(("edited-release", "Member", "nickname"))
    repository.write("Library 3", parts)
    findings = repository.check(code=1)
    found = places(findings)
    assert expected <= found
    assert {Path(each["store"]).name for each in findings if each["rule"] == "store-fails"} == {
        "Library.sqlite",
        "Library 2.sqlite",
    }
    # Each mistake is one finding, whichever steps have it.
    pages = [each for each in findings if each["rule"] == "type-change"]
    assert [each["versions"] for each in pages] == [["Library", "Library 2"]]


def test_store_with_duplicate_objects_is_named(repository: Repository) -> None:
    parts = third()
    plant_constraint(parts)
    repository.write("Library 3", parts)
    findings = repository.check(code=0)
    assert ("added-constraint", "Book", "title") in places(findings, "warning")
    repository.add_store("Library 2", [{"@entity": "Book", "title": "Emma"}])
    findings = repository.check(code=1)
    (failure,) = [each for each in findings if each["severity"] == "error"]
    assert (failure["rule"], failure["entity"]) == ("store-fails", "Book")
    assert failure["store"].endswith("/Library 2.sqlite") and "Emma" in failure["message"]


def test_unknown_version_and_other_files_are_reported(repository: Repository, tmp_path: Path) -> None:
    (repository.stores / "README").write_text("Stores of released versions.\n")
    (repository.stores / "old").mkdir()
    other = tmp_path / "Other.xcdatamodeld"
    run("model", "new", other)
    run("model", "add", other, "entity", "Book")
    run("model", "add", other, "attribute", "Book.title", "Integer 64")
    assert run("load", repository.stores / "old" / "other.sqlite", "--model", other, input="").returncode == 0
    with closing(sqlite3.connect(repository.stores / "cache.sqlite")) as connection:
        connection.execute("CREATE TABLE t (x)")
    findings = repository.check(code=1)
    (skipped,) = [each for each in findings if each["severity"] == "note"]
    assert skipped["rule"] == "store-skipped" and skipped["store"].endswith("/cache.sqlite")
    (failure,) = [each for each in findings if each["severity"] == "error"]
    assert failure["store"].endswith("/old/other.sqlite")
    assert (failure["entity"], failure["key"]) == ("Book", "title")
    empty = tmp_path / "empty"
    empty.mkdir()
    refused = run("model", "check-migration", repository.bundle, "--stores", empty)
    assert refused.returncode == 3 and "does not contain stores" in refused.stderr


def test_removals_are_warnings_of_the_last_step(repository: Repository) -> None:
    parts = third()
    del parts["Member"][1]
    repository.write("Library 3", parts)
    findings = repository.check(code=0)
    assert ("removed-property", "Member", "phone") in places(findings, "warning")
    repository.check("--strict", code=1)
    # The next version does not repeat what the released one removed.
    run("model", "freeze", repository.bundle, repository.released)
    repository.write("Library 4", parts)
    assert [each for each in repository.check(code=0) if each["severity"] == "warning"] == []


def test_one_bundle_checks_its_earlier_versions(repository: Repository) -> None:
    parts = third()
    plant_chain(parts)
    repository.write("Library 3", parts)
    done = run("model", "check-migration", repository.bundle)
    assert done.returncode == 1
    compare("model-check-migration.txt", done.stdout)
    only = run("model", "check-migration", repository.bundle, "--from", "Library", "--format", "json")
    assert json.loads(only.stdout)["older"] == ["Library"]
    # A step to an earlier version is not one of the bundle's steps.
    earlier = run("model", "check-migration", repository.bundle, "--to", "Library 2")
    assert (earlier.returncode, earlier.stdout) == (0, '"Library" -> "Library 2": no findings\n')
    alone = run("model", "check-migration", repository.bundle, "--to", "Library")
    assert (alone.returncode, alone.stdout) == (0, '"Library" does not have an earlier version: no findings\n')


def test_source_and_compiled_models_can_be_checked(repository: Repository, tmp_path: Path) -> None:
    parts = third()
    plant_type(parts)
    repository.write("Library 3", parts)
    assert run("model", "compile", repository.bundle, "-o", tmp_path / "Library.momd").returncode == 0
    old, new = tmp_path / "Library.momd" / "Library.mom", tmp_path / "Library.momd" / "Library 3.mom"
    for words in ([old, new], [old, repository.bundle], [tmp_path / "Library.momd"]):
        done = run("model", "check-migration", *words)
        assert done.returncode == 1 and "[type-change, from" in done.stdout, words
    assert run("model", "check-migration", old, new, "--allow-casts").returncode == 0
    assert run("model", "check-migration", old, old).returncode == 0


def test_modifiers_and_indexes_without_effect_are_reported(repository: Repository) -> None:
    parts = third()
    repository.write("Library 4", {**parts, "Book' versionHashModifier='again": parts["Book"]} | {"Book": []})
    contents = repository.bundle / "Library 4.xcdatamodel" / "contents"
    contents.write_text(contents.read_text().replace("<entity name='Book'></entity>", ""))
    done = run("model", "check-migration", repository.bundle, "--from", "Library 3", "--format", "json")
    assert done.returncode == 0
    assert places(json.loads(done.stdout)["findings"], "note") == {("modifier-only", "Book", None)}
    index = (
        "<fetchIndex name='byTitle'><fetchIndexElement property='title' type='Binary' order='ascending'/></fetchIndex>"
    )
    parts["Book"].append(index)
    repository.write("Library 4", parts)
    done = run("model", "check-migration", repository.bundle, "--from", "Library 3", "--format", "json")
    assert places(json.loads(done.stdout)["findings"], "warning") == {("index-only", "Book", "byTitle")}


def test_cloudkit_only_allows_additions(repository: Repository) -> None:
    findings = repository.check("--profile", "cloudkit", code=1)
    assert places(findings) == {
        ("cloudkit-not-additive", "Author", "lastName"),
        ("cloudkit-not-additive", "Book", "fax"),
        ("cloudkit-not-additive", "Member", "left"),
        ("cloudkit-not-additive", "Member", "right"),
    }


def test_freeze_is_reproducible_and_never_overwrites(repository: Repository, tmp_path: Path) -> None:
    first_mom = repository.released / "Library.mom"
    before = first_mom.read_bytes()
    manifest = json.loads((repository.released / "Library.json").read_text())
    assert list(manifest) == ["version", "checksum", "sha256", "versionHashes"]
    again = run("model", "freeze", repository.bundle, repository.released, "--version", "Library")
    assert again.returncode == 0 and "has this version already" in again.stdout
    assert run("model", "freeze", repository.bundle, tmp_path / "other", "--version", "Library").returncode == 0
    assert (tmp_path / "other" / "Library.mom").read_bytes() == before
    assert (tmp_path / "other" / "Library.json").read_text() == (repository.released / "Library.json").read_text()
    edited = first()
    plant_type(edited)
    repository.write("Library", edited)
    refused = run("model", "freeze", repository.bundle, repository.released)
    assert refused.returncode == 3 and "contains another model" in refused.stderr and "Book.pages" in refused.stderr
    assert first_mom.read_bytes() == before


def test_freeze_check_names_the_changes(repository: Repository) -> None:
    words = ("model", "freeze", repository.bundle, repository.released, "--check")
    done = run(*words)
    assert (done.returncode, done.stdout) == (0, "2 frozen versions unchanged\n")
    edited = first()
    plant_type(edited)
    repository.write("Library", edited)
    done = run(*words)
    assert done.returncode == 1 and "[edited-release" in done.stdout and "Book.pages" in done.stdout
    repository.write("Library", first())
    (repository.bundle / "Library 2.xcdatamodel" / "contents").unlink()
    (repository.bundle / "Library 2.xcdatamodel").rmdir()
    assert "[missing-release" in run(*words).stdout
    mom = repository.released / "Library.mom"
    mom.write_bytes(mom.read_bytes() + b"\0")
    assert "[damaged-release" in run(*words).stdout
    (repository.released / "Library.json").write_text("{}")
    assert run(*words).returncode == 3


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["check-migration", "Library.xcdatamodeld", "--ignore", "type-chnge"], 2, 'did you mean "type-change"?'),
        (["check-migration", "Library.xcdatamodeld", "--from", "9"], 3, "choose one of"),
        (["check-migration", "Library.xcdatamodeld", "--stores", "nothing"], 3, "nothing"),
        (["check-migration", "nothing.xcdatamodeld"], 3, "nothing.xcdatamodeld"),
        (["freeze", "Library.xcdatamodeld", "empty", "--check"], 2, "does not contain a frozen version"),
        (["freeze", "Library.xcdatamodeld", "x", "--check", "--version", "Library"], 2, "omit --version"),
    ],
)
def test_usage_mistakes_are_reported(repository: Repository, arguments: list[str], code: int, words: str) -> None:
    folder = repository.bundle.parent
    done = run("model", *arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (code, "")
    assert words in done.stderr
    assert not (folder / "x").exists()


def test_ignored_rule_without_finding_is_reported(repository: Repository) -> None:
    done = run("model", "check-migration", repository.bundle, "--ignore", "type-change:Book.title")
    assert done.returncode == 0 and "does not match a finding" in done.stderr
