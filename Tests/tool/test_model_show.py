"""corestone model show: a model as lines, for people and for git."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from conftest import MODELS, ROOT, TOOL, ZOO, compare, make_versions, run
from corestone import Model

PACKAGES = ROOT / "examples" / "packages" / "Packages.xcdatamodeld"
ODD = MODELS / "Odd.xcdatamodel"


@pytest.mark.parametrize("options", [(), ("--hashes",)], ids=["plain", "hashes"])
def test_show_prints_the_model_as_text(options: tuple[str, ...]) -> None:
    shown = run("model", "show", ODD, *options)
    assert (shown.returncode, shown.stderr) == (0, "")
    compare(f"model-show{''.join(options)}.txt", shown.stdout)


def test_shown_hashes_equal_those_of_the_library() -> None:
    model = Model.load(PACKAGES)
    told = json.loads(run("model", "show", PACKAGES, "--hashes", "--format", "json").stdout)
    assert {name: told["versionHashes"][name]["hash"] for name in model} == {
        name: model[name].version_hash.hex() for name in model
    }
    assert set(told["versionHashes"]["Section"]["properties"]) == {"name", "packages"}
    assert told["model"] == model.describe()
    text = run("model", "show", PACKAGES, "--hashes").stdout
    assert text.splitlines()[0] == f"checksum {told['checksum']}"
    for name in model:
        assert f"entity {name}\n  hash {model[name].version_hash.hex()}\n" in text


def test_show_prints_equal_models_alike_from_any_file(zoo: Path, tmp_path: Path) -> None:
    model = Model(ZOO)
    (tmp_path / "Zoo.mom").write_bytes(model.compiled())
    assert run("model", "show", zoo).stdout == run("model", "show", tmp_path / "Zoo.mom").stdout
    contents = PACKAGES / "Packages.xcdatamodel" / "contents"
    assert run("model", "show", contents).stdout == run("model", "show", PACKAGES).stdout


def test_show_works_as_a_git_textconv(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        names = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", f"diff.coredata.textconv={TOOL} model show"]
        done = subprocess.run(["git", *names, *words], cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout

    git("init", "-q")
    bundle = tmp_path / "N.xcdatamodeld"
    run("model", "new", bundle)
    run("model", "add", bundle, "entity", "Note")
    (tmp_path / ".gitattributes").write_text("contents diff=coredata\n")
    git("add", ".")
    git("commit", "-q", "-m", "a")
    run("model", "add", bundle, "attribute", "Note.title", "String", "optional=NO")
    changed = [line for line in git("diff").splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert changed == ["+  attribute title: String"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([str(PACKAGES), "--format", "csv"], 2, "text or json"),
        ([str(PACKAGES), "--version", "9"], 3, 'has no version "9"; use "Packages"'),
        ([str(ROOT / "none.mom")], 3, "none.mom"),
    ],
)
def test_show_mistakes_are_reported(arguments: list[str], code: int, words: str) -> None:
    found = run("model", "show", *arguments)
    assert (found.returncode, found.stdout) == (code, "")
    assert words in found.stderr


def rich() -> Model:
    """A model with every kind of setting."""
    model = Model()
    base = model.entity(
        "Base", abstract=True, class_name="App.Base", version_hash_modifier="v1", user_info={"k": "v", "a": "b"}
    )
    base.attribute("code", "string", minimum=2, maximum=8, pattern="[a-z]+", user_info={"z": "1"})
    base.unique("code")
    item = model.entity("Item", parent="Base")
    item.attribute("price", "decimal", optional=True, default=3, minimum=0)
    item.attribute("photo", "binary", optional=True, external_storage=True)
    item.attribute("note", "string", transient=True, optional=True)
    item.attribute("upper", "string", optional=True, derived="uppercase:(code)")
    item.attribute("x", "double", optional=True)
    item.attribute("y", "float", optional=True)
    item.to_many("parts", "Part", inverse="item", ordered=True, delete="cascade", minimum=1, maximum=3)
    item.to_one("twin", "Item", inverse="twin", optional=True, delete="deny")
    part = model.entity("Part").attribute("n", "int16", default=-1, optional=True)
    part.to_one("item", "Item", inverse="parts", optional=False, delete="no-action")
    item.index("byPlace", "x", "y", kind="rtree")
    item.index("byCode", "-code", "price", where="price > 1")
    item.index("expr", ("price * 2", "decimal"))
    item.unique("price", "x")
    item.fetched("cheap", "Item", "price < $FETCH_SOURCE.price", limit=5, offset=2)
    item.fetched("every", "Part")
    item.renaming_identifier = "Thing"
    item.change("x", renaming_identifier="lat", version_hash_modifier="m", spotlight=True)
    model.template("t2", "Item", "price > 1", limit=2, offset=1)
    model.template("t1", "Part")
    model.configuration("Local", "Item", "Part")
    return model.version_identifier("one").version_identifier("two")


def test_show_prints_every_setting(tmp_path: Path) -> None:
    rich().write(tmp_path / "Rich.mom")
    shown = run("model", "show", tmp_path / "Rich.mom")
    assert (shown.returncode, shown.stderr) == (0, "")
    compare("model-show-rich.txt", shown.stdout)


def test_tables_and_json_have_every_setting(tmp_path: Path) -> None:
    rich().write(tmp_path / "Rich.mom")
    shown = run("show", tmp_path / "Rich.mom")
    assert (shown.returncode, shown.stderr) == (0, "")
    compare("show-rich.txt", shown.stdout.replace(f"{tmp_path}/", ""))
    told = json.loads(run("show", tmp_path / "Rich.mom", "--format", "json").stdout)
    assert {key: told[key] for key in told if key != "entities"} == {
        "versions": [{"name": "Rich", "current": True}],
        "problems": [],
        "versionIdentifiers": ["one", "two"],
        "configurations": [{"name": "Local", "entities": ["Item", "Part"]}],
        "fetchRequests": ["t1", "t2"],
    }
    base, item, part = told["entities"]
    assert [(each["name"], each["parent"], each["abstract"], each["class"]) for each in (base, item, part)] == [
        ("Base", None, True, "App.Base"),
        ("Item", "Base", False, "NSManagedObject"),
        ("Part", None, False, "NSManagedObject"),
    ]
    assert [tuple(each.values()) for each in item["attributes"]] == [
        ("code", "String", False, False, None, None, False, "Base"),
        ("note", "String", True, True, None, None, False, None),
        ("photo", "Binary", True, False, None, None, True, None),
        ("price", "Decimal", True, False, 3, None, False, None),
        ("upper", "String", True, False, None, "uppercase:(code)", False, None),
        ("x", "Double", True, False, None, None, False, None),
        ("y", "Float", True, False, None, None, False, None),
    ]
    assert [tuple(each.values()) for each in item["relationships"]] == [
        ("parts", "Part", "item", True, True, True, "cascade", 1, 3, None),
        ("twin", "Item", "twin", False, False, True, "deny", 0, 1, None),
    ]
    assert [tuple(each.values()) for each in part["relationships"]] == [
        ("item", "Item", "parts", False, False, False, "noAction", 0, 1, None),
    ]
    assert item["fetchedProperties"] == [
        {"name": "cheap", "destination": "Item", "predicate": "price < $FETCH_SOURCE.price"},
        {"name": "every", "destination": "Part", "predicate": None},
    ]
    indexes = {each["name"]: (each["predicate"], each["elements"]) for each in item["indexes"]}
    assert indexes["byCode"] == (
        "price > 1",
        [
            {"property": "code", "ascending": False, "type": "binary"},
            {"property": "price", "ascending": True, "type": "binary"},
        ],
    )
    assert indexes["byPlace"] == (
        None,
        [{"property": name, "ascending": True, "type": "rTree"} for name in ("x", "y")],
    )
    assert indexes["expr"] == (None, [{"property": "price * 2", "ascending": True, "type": "binary"}])
    assert (base["uniqueConstraints"], item["uniqueConstraints"]) == ([["code"]], [["price", "x"]])


def test_hashes_cover_only_stored_settings(tmp_path: Path) -> None:
    model = rich()
    model.write(tmp_path / "Rich.mom")
    lines = run("model", "show", tmp_path / "Rich.mom", "--hashes").stdout.splitlines()
    assert lines[:2] == ["version one, two", f"checksum {model.checksum}"]
    hashed = {line.strip().split(":")[0].split()[-1]: line for line in lines if line.startswith("  ") and ":" in line}
    for name in ("price", "photo", "upper", "x", "y", "parts", "twin"):
        digits = model["Item"].property_version_hash(name)
        assert digits is not None and hashed[name].endswith(f", hash {digits.hex()}"), name
    for name in ("note", "cheap", "every"):
        assert ", hash " not in hashed[name]
    told = json.loads(run("model", "show", tmp_path / "Rich.mom", "--hashes", "--format", "json").stdout)
    assert set(told["versionHashes"]["Item"]["properties"]) == {"price", "photo", "upper", "x", "y", "parts", "twin"}


def test_tables_and_json_list_the_versions_of_a_bundle(tmp_path: Path) -> None:
    bundle = make_versions(tmp_path)
    shown = run("show", bundle)
    assert shown.stdout.splitlines()[1:4] == ["  model", "  versions: App, App 2 (current)", "  1 entity"]
    told = json.loads(run("show", bundle, "--version", "App", "--format", "json").stdout)
    assert told["versions"] == [{"name": "App", "current": False}, {"name": "App 2", "current": True}]
    assert [each["type"] for each in told["entities"][0]["attributes"]] == ["Integer 16"]
    commands: list[tuple[str, ...]] = [("show",), ("model", "show"), ("model", "diagram")]
    for command in commands:
        both = [run(*command, bundle, "--version", name).stdout for name in ("App", "App 2")]
        assert run(*command, bundle).stdout == both[1]
        assert both[0] != both[1]
