"""corestone model codegen --language swift: the files that Tests/swift/corestone compiles and puts to work."""

from __future__ import annotations

import os
from pathlib import Path

from conftest import MODELS, ROOT, run

GENERATED = ROOT / "Tests" / "swift" / "corestone" / "generated"


def test_generated_swift_matches_expected_source(tmp_path: Path) -> None:
    folder = GENERATED if os.environ.get("CORESTONE_WRITE_GOLDEN") else tmp_path
    written = run("model", "codegen", MODELS / "Odd.xcdatamodel", "--language", "swift", "-o", folder)
    assert written.returncode == 0, written.stderr
    assert {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()} == {
        path.name: path.read_text(encoding="utf-8") for path in GENERATED.iterdir()
    }


def test_constants_include_properties_of_parents_without_a_class(tmp_path: Path) -> None:
    model = tmp_path / "Shapes.xcdatamodel"
    model.mkdir()
    attribute = "<attribute name='{}' optional='YES' attributeType='String'/>"
    (model / "contents").write_text(
        f"<model><entity name='Shape'>{attribute.format('label')}</entity>"
        f"<entity name='Figure' parentEntity='Shape'>{attribute.format('colour')}</entity>"
        f"<entity name='Circle' parentEntity='Figure' codeGenerationType='class'>{attribute.format('size')}</entity>"
        f"<entity name='Ring' parentEntity='Circle' codeGenerationType='class'>{attribute.format('gap')}</entity>"
        "</model>"
    )
    folder = tmp_path / "code"
    written = run("model", "codegen", model, "--language", "swift", "-o", folder)
    assert written.returncode == 0, written.stderr
    constants = {
        path.name: [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if "static let" in line]
        for path in folder.iterdir()
    }
    assert constants == {
        "_Circle.swift": [
            'public static let label = "label"',
            'public static let colour = "colour"',
            'public static let size = "size"',
        ],
        "_Ring.swift": ['public static let gap = "gap"'],
    }
