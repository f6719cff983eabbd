"""corestone model show: a model as lines, for people and for git."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from conftest import MODELS, ROOT, TOOL, ZOO, compare, run
from corestone import Model

PACKAGES = ROOT / "examples" / "packages" / "Packages.xcdatamodeld"
ODD = MODELS / "Odd.xcdatamodel"


@pytest.mark.parametrize("options", [(), ("--hashes",)], ids=["plain", "hashes"])
def test_as_text(options: tuple[str, ...]) -> None:
    shown = run("model", "show", ODD, *options)
    assert (shown.returncode, shown.stderr) == (0, "")
    compare(f"model-show{''.join(options)}.txt", shown.stdout)


def test_hashes_are_those_of_the_library() -> None:
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


def test_the_same_model_in_any_file_is_the_same_text(zoo: Path, tmp_path: Path) -> None:
    model = Model(ZOO)
    (tmp_path / "Zoo.mom").write_bytes(model.compiled())
    assert run("model", "show", zoo).stdout == run("model", "show", tmp_path / "Zoo.mom").stdout
    contents = PACKAGES / "Packages.xcdatamodel" / "contents"
    assert run("model", "show", contents).stdout == run("model", "show", PACKAGES).stdout


def test_for_git(tmp_path: Path) -> None:
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
        ([str(PACKAGES), "--version", "9"], 3, "it has Packages"),
        ([str(ROOT / "none.mom")], 3, "none.mom"),
    ],
)
def test_mistakes(arguments: list[str], code: int, words: str) -> None:
    found = run("model", "show", *arguments)
    assert (found.returncode, found.stdout) == (code, "")
    assert words in found.stderr
