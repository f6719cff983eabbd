"""corestone model codegen --language c: the header that Tests/c puts to work, and how strictly it compiles."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from conftest import MODELS, ROOT, run

GENERATED = ROOT / "Tests" / "c" / "generated"
PACKAGES = ROOT / "examples" / "packages" / "Packages.xcdatamodeld"


def generate(model: Path, folder: Path, *more: str) -> None:
    written = run("model", "codegen", model, "--language", "c", "-o", folder, *more)
    assert written.returncode == 0, written.stderr


def check_compiles(header: Path) -> None:
    name = header.stem.lstrip("_")
    source = f'#define {name.upper()}_IMPLEMENTATION\n#include "{header.name}"\nint main(void) {{ return 0; }}\n'
    strict = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", f"-I{ROOT / 'include'}", f"-I{header.parent}"]
    command = ["gcc", *strict, "-fsyntax-only", "-xc", "-"]
    compiled = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    assert (compiled.stderr, compiled.returncode) == ("", 0)


def test_generated_header_matches_expected_source(tmp_path: Path) -> None:
    folder = GENERATED if os.environ.get("CORESTONE_WRITE_GOLDEN") else tmp_path
    generate(MODELS / "Odd.xcdatamodel", folder)
    assert {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()} == {
        path.name: path.read_text(encoding="utf-8") for path in GENERATED.iterdir()
    }


def test_headers_are_strict_c99(tmp_path: Path) -> None:
    check_compiles(GENERATED / "Odd.h")
    generate(PACKAGES, tmp_path)
    check_compiles(tmp_path / "Packages.h")


SPELLINGS = {
    "name": "name",
    "installedSize": "installed_size",
    "HTMLPage": "html_page",
    "myHTMLPage": "my_html_page",
    "URL": "url",
    "baseURL": "base_url",
    "aURLOf": "a_url_of",
    "size2D": "size2_d",
    "v1Beta": "v1_beta",
    "my_Name": "my_name",
    "My_Own": "my_own",
    "my_HTMLText": "my_html_text",
    "my__Other": "my__other",
    "A_B": "a_b",
    "SOME_NAME": "some_name",
    "x_Y2z": "x_y2z",
    "wegÜberAlles": "weg_über_alles",
    "trailing_": "trailing_",
}


def test_c_names_are_valid_identifiers(tmp_path: Path) -> None:
    model = tmp_path / "Names.xcdatamodel"
    model.mkdir()
    attributes = "".join(f'<attribute name="{name}" optional="YES" attributeType="String"/>' for name in SPELLINGS)
    entities = "".join(f'<entity name="an_{name}"/>' for name in SPELLINGS)
    parameters = " OR ".join(f"name == ${name}" for name in SPELLINGS)
    requests = "".join(f'<fetchRequest name="an_{name}" entity="My_Thing"/>' for name in SPELLINGS)
    (model / "contents").write_text(
        f'<model><entity name="My_Thing">{attributes}</entity>{entities}{requests}'
        f'<fetchRequest name="find" entity="My_Thing" predicateString="{parameters}"/></model>',
        encoding="utf-8",
    )
    generate(model, tmp_path)
    header = (tmp_path / "_Names.h").read_text(encoding="utf-8")
    keys = dict(re.findall(r'#define NAMES_MY_THING_KEY_(\w+) "(\w+)"', header))
    assert {name: key.lower() for key, name in keys.items()} == SPELLINGS
    for name, spelling in SPELLINGS.items():
        for function in (
            f"names_my_thing_{spelling}", f"names_my_thing_set_{spelling}", f"names_an_{spelling}_fetch_request",
            f"names_fetch_an_{spelling}",
        ):  # fmt: skip
            assert re.search(rf"\b{function}\(", header), (name, function)
        assert re.search(rf"\bcst_value {spelling}_\b", header), name
    check_compiles(tmp_path / "Names.h")


def test_headers_of_fixtures_compile(fixtures: Path, tmp_path: Path) -> None:
    for number, contents in enumerate(sorted((fixtures / "source-models").rglob("contents"))[::8]):
        generate(contents.parent, tmp_path / f"m{number}", "--all", "--name", f"M{number}")
        check_compiles(tmp_path / f"m{number}" / f"_M{number}.h")
