"""corestone model compile, decompile and merge: models turned into each other."""

from __future__ import annotations

import plistlib
from pathlib import Path

import pytest
from conftest import ROOT, ZOO, make_versions, run
from corestone import Container, Model

PACKAGES = ROOT / "examples" / "packages" / "Packages.xcdatamodeld"


def convert(*words: str | Path) -> None:
    done = run("model", *words)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def hashes(path: Path, version: str | None = None) -> dict[str, bytes]:
    model = Model.load(path, version=version)
    return {name: model[name].version_hash for name in model}


def test_compiled_bundle_can_be_decompiled(tmp_path: Path) -> None:
    bundle = make_versions(tmp_path)
    convert("compile", bundle)
    compiled = tmp_path / "App.momd"
    info = plistlib.loads((compiled / "VersionInfo.plist").read_bytes())
    assert info["NSManagedObjectModel_CurrentVersionName"] == "App 2"
    assert set(info["NSManagedObjectModel_VersionHashes"]) == {"App", "App 2"}
    source = tmp_path / "Again.xcdatamodeld"
    convert("decompile", compiled, "-o", source)
    for version in ("App", "App 2"):
        assert hashes(compiled, version) == hashes(bundle, version) == hashes(source, version)
    assert Model.versions(source).current == "App 2"


def test_single_model_is_compiled_and_decompiled(tmp_path: Path) -> None:
    convert("compile", PACKAGES, "-o", tmp_path / "Packages.mom")
    convert("decompile", tmp_path / "Packages.mom")
    assert hashes(tmp_path / "Packages.xcdatamodel") == hashes(PACKAGES)


def test_model_of_a_store_can_be_extracted(tmp_path: Path) -> None:
    model = Model()
    model.entity("Note").attribute("rank", "int16", validation={"SELF > 0": "too small"})
    Container(model, tmp_path / "a.sqlite").close()
    refused = run("model", "decompile", tmp_path / "a.sqlite")
    assert refused.returncode == 3
    assert 'cannot represent the validation predicate "SELF > 0" of Note.rank' in refused.stderr
    convert("decompile", tmp_path / "a.sqlite", "-o", tmp_path / "b.xcdatamodeld", "--lossy")
    assert hashes(tmp_path / "b.xcdatamodeld") == {"Note": model["Note"].version_hash}


def test_models_can_be_merged(tmp_path: Path) -> None:
    (tmp_path / "Zoo.mom").write_bytes(Model(ZOO).compiled())
    convert("merge", PACKAGES, tmp_path / "Zoo.mom", PACKAGES, "-o", tmp_path / "All.mom")
    assert set(Model.load(tmp_path / "All.mom")) == set(ZOO) | set(Model.load(PACKAGES))


def test_merge_selects_the_versions_of_a_store(tmp_path: Path) -> None:
    bundle = make_versions(tmp_path)
    models = [bundle / "App 2.xcdatamodel", bundle / "App.xcdatamodel"]
    convert("merge", *models, "--store", tmp_path / "App.sqlite", "-o", tmp_path / "Old.mom")
    assert hashes(tmp_path / "Old.mom") == hashes(bundle, "App")
    refused = run("model", "merge", *models, "-o", tmp_path / "Both.mom")
    assert refused.returncode == 3
    assert "Note" in refused.stderr
    assert not (tmp_path / "Both.mom").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["compile", str(PACKAGES), "-o", "a.xcdatamodel"], 2, "use .momd or .mom"),
        (["compile", "none.xcdatamodeld"], 3, "none.xcdatamodeld"),
        (["decompile", str(PACKAGES), "-o", "a.mom"], 2, "use .xcdatamodeld or .xcdatamodel"),
        (["decompile", str(PACKAGES), "-o", str(PACKAGES)], 3, "already exists"),
        (["merge", str(PACKAGES)], 2, "--output is missing"),
        (["merge", str(PACKAGES), "-o", "a.txt"], 2, "does not have the extension of a model"),
        (["merge"], 2, "requires MODEL"),
    ],
)
def test_conversion_mistakes_are_reported(arguments: list[str], code: int, words: str) -> None:
    found = run("model", *arguments)
    assert (found.returncode, found.stdout) == (code, "")
    assert words in found.stderr


def test_compiled_model_is_replaced_but_a_source_is_not(tmp_path: Path) -> None:
    bundle = make_versions(tmp_path)
    for name in ("App.momd", "App.mom"):
        convert("compile", bundle, "-o", tmp_path / name)
    # Of a bundle with versions a single file has the current one.
    assert hashes(tmp_path / "App.mom") == hashes(bundle, "App 2") != hashes(bundle, "App")
    assert run("model", "set", bundle, ".", "currentVersion=App").returncode == 0
    for name in ("App.momd", "App.mom"):
        convert("compile", bundle, "-o", tmp_path / name)
    assert hashes(tmp_path / "App.mom") == hashes(bundle, "App")
    assert Model.versions(tmp_path / "App.momd").current == "App"
    assert sorted(path.name for path in (tmp_path / "App.momd").glob("*.mom")) == ["App 2.mom", "App.mom"]
    before = (bundle / "App.xcdatamodel" / "contents").read_bytes()
    refused = run("model", "decompile", tmp_path / "App.momd")
    assert refused.returncode == 3 and "already exists" in refused.stderr
    assert (bundle / "App.xcdatamodel" / "contents").read_bytes() == before
    assert not list(tmp_path.glob("*.tmp"))


def test_module_option_applies_to_unqualified_class_names(tmp_path: Path) -> None:
    model = tmp_path / "M.xcdatamodel"
    model.mkdir()
    entities = "".join(
        f"<entity name='{name}' representedClassName='{kind}'/>"
        for name, kind in (("A", ".A"), ("B", "Other.B"), ("C", "C"))
    )
    (model / "contents").write_text(f"<model>{entities}</model>")
    for words, classes in (((), [".A", "Other.B", "C"]), (("--module", "App"), ["App.A", "Other.B", "C"])):
        convert("compile", model, *words)
        compiled = Model.load(tmp_path / "M.mom")
        assert [compiled[name].class_name for name in "ABC"] == classes


def test_failed_merge_names_the_entity_differences(tmp_path: Path) -> None:
    bundle = make_versions(tmp_path)
    (tmp_path / "Zoo.mom").write_bytes(Model(ZOO).compiled())
    refused = run(
        "model", "merge", tmp_path / "Zoo.mom", bundle / "App.xcdatamodel", bundle, "-o", tmp_path / "All.mom"
    )
    assert refused.returncode == 3
    assert "Note" in refused.stderr and "size" in refused.stderr and "Animal" not in refused.stderr
    # Of several models the store's entities alone.
    words: list[str | Path] = [tmp_path / "Zoo.mom", bundle, "--store", tmp_path / "App 2.sqlite"]
    convert("merge", *words, "-o", tmp_path / "Old.mom")
    assert list(Model.load(tmp_path / "Old.mom")) == ["Note"]
