"""Untrusted models: no name in them becomes code, markup or SQL, and the time for many entities is proportional."""

from __future__ import annotations

import io
import os
import re
import resource
import shutil
import sqlite3
import subprocess
import tokenize
from pathlib import Path
from xml.etree import ElementTree

import pytest
from conftest import TOOL, run
from hostile import STRING, commands_in, escaped, model_text

# Ends comments and literals of C, Python and Swift; accents hide what they stand over from a reader of characters.
ENDINGS = [
    "x */ EVIL(); /*",
    "x *\\ EVIL(); /*",
    "x */\u0301 EVIL(); /*",
    'x""" EVIL() """',
    'x"""""" EVIL() """',
    'x""""" EVIL() """',
    'x"\u0301""\u0301 EVIL() "',
    "x\nEVIL()\n",
    "x\r\nEVIL()",
    "x\u2028EVIL()",
    "x\x85EVIL()",
    "x\x0bEVIL()",
    "x\\",
    'x"); EVIL(); ("',
    'x\\"); EVIL(); (\\"',
    '??/"); EVIL(); //',
    "\\(EVIL())",
    "\u202e EVIL() \u2066",
    "${EVIL()}",
    "`EVIL()`",
    "{EVIL()}",
    "\\N{EVIL()}",
    "--> <script>EVIL()</script> ]]>",
    "'; EVIL(); --",
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with malicious text in the place of every text that is not checked."""
    bundle = tmp_path_factory.mktemp("model") / "Evil.xcdatamodel"
    bundle.mkdir()
    entities = ""
    for number, text in enumerate(ENDINGS):
        words = escaped(text)
        predicate = escaped(f'name == "{text}" AND name != $a{number}'.replace("\\", "\\\\"))
        literal = escaped("name == '" + text.replace("\\", "\\\\").replace("'", "\\'") + "'")
        entities += (
            f'<entity name="Entity{number}" representedClassName="{words}" codeGenerationType="category" '
            f'elementID="{words}" versionHashModifier="{words}">'
            f'<attribute name="name" optional="YES" attributeType="String" defaultValueString="{words}" '
            f'customClassName="{words}"/>'
            f'<attribute name="value" optional="YES" attributeType="Transformable" customClassName="{words}" '
            f'valueTransformerName="{words}"/>'
            f'<fetchedProperty name="found" optional="YES"><fetchRequest name="r" entity="{words}" '
            f'predicateString="{literal}"/></fetchedProperty>'
            f'<userInfo><entry key="{words}" value="{words}"/></userInfo></entity>'
            f'<fetchRequest name="{words}{number}" entity="Entity{number}" predicateString="{literal}"/>'
            f'<fetchRequest name="two{number}" entity="Entity{number}" predicateString="{predicate}"/>'
            f'<configuration name="{words}{number}"><memberEntity name="Entity{number}"/></configuration>'
        )
    (bundle / "contents").write_text(model_text(entities), encoding="utf-8")
    return bundle


def generate(model: Path, language: str, folder: Path) -> dict[str, str]:
    made = run("model", "codegen", model, "--language", language, "-o", folder)
    assert made.returncode == 0, made.stderr
    assert not commands_in(made.stdout + made.stderr)
    files = {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in folder.rglob("*")}
    for name, text in files.items():
        assert "/" not in name and not commands_in(name) and ".." not in name
        assert not commands_in(text), (name, commands_in(text))
    assert any("EVIL" in text for text in files.values())
    return files


def test_names_do_not_inject_c_code(model: Path, tmp_path: Path) -> None:
    for name, text in generate(model, "c", tmp_path).items():
        # As ISO C's first phases of translation have it.
        text = text.replace("??/", "\\").replace("\\\n", "")
        code = re.sub(rf"/\*.*?\*/|{STRING.pattern}", "", text, flags=re.DOTALL)
        assert "EVIL(" not in code, name


def test_names_do_not_inject_python_code(model: Path, tmp_path: Path) -> None:
    for name, text in generate(model, "python", tmp_path).items():
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
        assert not [token for token in tokens if token.type == tokenize.NAME and token.string == "EVIL"], name
        compile(text, name, "exec")


def test_names_do_not_inject_swift_code(model: Path, tmp_path: Path) -> None:
    for name, text in generate(model, "swift", tmp_path).items():
        assert "\\(" not in text.replace("\\\\", "")
        for line in text.splitlines():
            assert "EVIL(" not in re.sub(r"//.*", "", STRING.sub('""', line)), name


def test_class_names_are_not_used_as_paths(tmp_path: Path) -> None:
    bundle = tmp_path / "Paths.xcdatamodel"
    bundle.mkdir()
    names = ["/etc/evil", "a/../../evil", "App.x/evil", "evil\x7f", "{}", " "]
    text = "".join(
        f'<entity name="E{n}" representedClassName="{escaped(name)}" codeGenerationType="class"/>'
        for n, name in enumerate(names)
    )
    (bundle / "contents").write_text(model_text(text), encoding="utf-8")
    for language in ("swift", "python", "c"):
        folder = tmp_path / language
        made = run("model", "codegen", bundle, "--language", language, "-o", folder)
        assert made.returncode == 0, made.stderr
        assert all(path.is_file() and path.parent == folder for path in folder.rglob("*"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["Paths.xcdatamodel", "c", "python", "swift"]
    refused = run("model", "codegen", bundle, "--language", "c", "-o", tmp_path / "c", "--name", "../x")
    assert refused.returncode == 2 and "--name" in refused.stderr


def test_names_do_not_inject_markup_into_diagrams(model: Path, tmp_path: Path) -> None:
    assert shutil.which("dot"), "make deps installs Graphviz"
    drawn = run("model", "diagram", model)
    assert drawn.returncode == 0, drawn.stderr
    assert not commands_in(drawn.stdout)
    # What is in no label.
    assert "EVIL" not in re.sub(r"label=<.*?</table>>\]", "", drawn.stdout, flags=re.DOTALL)
    picture = run("model", "diagram", model, "-o", tmp_path / "a.svg")
    assert (picture.returncode, picture.stderr) == (0, "")
    tree = ElementTree.parse(tmp_path / "a.svg")
    assert not [element for element in tree.iter() if element.tag.endswith("script")]
    shown = "".join(element.text or "" for element in tree.iter()).replace("\N{NO-BREAK SPACE}", " ")
    assert "--> <script>EVIL()</script> ]]>" in shown and "{EVIL()}" in shown


def test_markup_with_combining_marks_is_escaped(tmp_path: Path) -> None:
    bundle = tmp_path / "Accent.xcdatamodel"
    bundle.mkdir()
    words = escaped("<\u0338b>&\u0301lt;\u0301<script>")
    request = f'<fetchRequest name="r" entity="{words}" predicateString="TRUEPREDICATE"/>'
    (bundle / "contents").write_text(
        model_text(
            f'<entity name="E"><fetchedProperty name="found" optional="YES">{request}</fetchedProperty></entity>'
        )
    )
    drawn = run("model", "diagram", bundle)
    assert drawn.returncode == 0, drawn.stderr
    assert "&lt;\u0338b&gt;" in drawn.stdout and "&amp;\u0301lt;" in drawn.stdout


@pytest.mark.parametrize(
    "command", ["show", "model show", "model show --hashes", "model lint", "model diagram", "model check-migration"]
)
def test_model_output_has_no_control_characters(model: Path, command: str) -> None:
    outcome = run(*command.split(), model)
    assert outcome.returncode in (0, 1)
    assert not commands_in(outcome.stdout + outcome.stderr)
    assert not [line for line in outcome.stdout.splitlines() if line.startswith("EVIL")]
    if command != "model diagram":
        for form in ("json",):
            assert not commands_in(run(*command.split(), model, "--format", form).stdout)


def test_diff_and_lint_output_has_no_control_characters(model: Path, tmp_path: Path) -> None:
    other = tmp_path / "Other.xcdatamodel"
    shutil.copytree(model, other)
    contents = other / "contents"
    contents.write_text(contents.read_text(encoding="utf-8").replace("EVIL", "VERY"), encoding="utf-8")
    outcome = run("model", "diff", model, other)
    assert outcome.returncode == 1 and "VERY" in outcome.stdout
    assert not commands_in(outcome.stdout)
    # The others are names of entities, which are identifiers.
    headings = [line for line in outcome.stdout.splitlines() if not line.startswith(("  * ", "    "))]
    assert all(heading.isidentifier() or heading == "(model)" for heading in headings), headings
    checked = run("model", "check-migration", model, other)
    assert checked.returncode in (0, 1, 3)
    assert not commands_in(checked.stdout + checked.stderr)
    assert not [line for line in checked.stdout.splitlines() if line.startswith("EVIL")]


def test_names_do_not_inject_sql_into_views(model: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "Words.xcdatamodel"
    bundle.mkdir()
    # Names that a model may have, and SQL has too.
    attribute = '<attribute name="{}" optional="YES" attributeType="String"/>'
    names = ["select", "order", "Table", "group", "from", "é", "名"]
    text = "".join(
        f'<entity name="{name}">' + "".join(map(attribute.format, names)) + "</entity>" for name in [*names, "Where"]
    )
    (bundle / "contents").write_text(model_text(text), encoding="utf-8")
    store = tmp_path / "a.sqlite"
    assert run("load", store, "--model", bundle, input="").returncode == 0
    made = run("views", store)
    assert made.returncode == 0, made.stderr
    connection = sqlite3.connect(store)
    connection.executescript(made.stdout)
    assert connection.execute('SELECT * FROM "select"').fetchall() == []
    connection.close()
    assert run("views", store, "--into", tmp_path / "b.sqlite").returncode == 0


# ---- Many entities ------------------------------------------------------------------------------------------------

COUNT = 4000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Entities in a ring, a tenth of them subentities of one."""
    bundle = tmp_path_factory.mktemp("large") / "Large.xcdatamodel"
    bundle.mkdir()
    text = '<entity name="Root" codeGenerationType="class"/>'
    for number in range(COUNT):
        there, back = (number + 1) % COUNT, (number - 1) % COUNT
        parent = 'parentEntity="Root" ' if number % 10 == 0 else ""
        text += (
            f'<entity name="Entity{number}" {parent}representedClassName="Entity{number}" codeGenerationType="class">'
            f'<attribute name="title{number % 7}" optional="YES" attributeType="String"/>'
            f'<relationship name="next" optional="YES" maxCount="1" destinationEntity="Entity{there}" '
            f'inverseName="back" inverseEntity="Entity{there}"/>'
            f'<relationship name="back" optional="YES" toMany="YES" destinationEntity="Entity{back}" '
            f'inverseName="next" inverseEntity="Entity{back}"/></entity>'
            f'<fetchRequest name="all{number}" entity="Entity{number}"/>'
        )
    (bundle / "contents").write_text(model_text(text))
    return bundle


def within(seconds: int, *arguments: str | Path) -> str:
    """Runs the tool with a limit of processor time, which is independent of the load of the machine."""
    outcome = subprocess.run(
        [str(TOOL), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds)),
    )
    assert outcome.returncode == 0, (outcome.returncode, outcome.stderr[-500:])
    return outcome.stdout


@pytest.mark.parametrize("language", ["c", "python", "swift"])
def test_codegen_of_many_entities_is_fast(large: Path, tmp_path: Path, language: str) -> None:
    # With every class looked for among all others, and the names of all in a set for each, these were minutes.
    within(10, "model", "codegen", large, "--language", language, "-o", tmp_path / "code")
    files = os.listdir(tmp_path / "code")
    assert len(files) == {"c": 1, "python": 2 * (COUNT + 1) + 2, "swift": COUNT + 1}[language]
    # Nothing changed: nothing is written.
    assert within(10, "model", "codegen", large, "--language", language, "-o", tmp_path / "code") == ""
    assert os.listdir(tmp_path / "code") == files


def test_dump_and_load_of_many_entities_are_fast(large: Path, tmp_path: Path) -> None:
    lines = "".join(f'{{"@id": "{n}", "@entity": "Entity{n}", "next": "{(n + 1) % COUNT}"}}\n' for n in range(COUNT))
    (tmp_path / "all.jsonl").write_text(lines)
    store = tmp_path / "all.xml"
    within(10, "load", store, tmp_path / "all.jsonl", "--model", large, "--type", "XML")
    dumped = within(10, "dump", store, "--model", large)
    assert dumped.count("\n") == COUNT
    within(10, "show", store, "--model", large)
