"""Output about an untrusted file: no command to the terminal, no forged line, no formula."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import TOOL, run
from corestone import Container, Model
from hostile import EVIL, commands_in, edit_metadata, make_store
from test_terminal import on_terminal

FORGED = "corestone: all is well"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("evil") / "evil.sqlite"
    make_store(path, metadata={EVIL: EVIL, "list": [EVIL, {EVIL: 1}]})
    return path


@pytest.fixture(scope="module")
def invalid_names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with names of entities that are invalid in a model."""
    path = tmp_path_factory.mktemp("invalid") / "invalid.sqlite"
    make_store(path)
    edit_metadata(path, EVIL, {}, {EVIL: bytes(32)})
    return path


def check_words(outcome: subprocess.CompletedProcess[str]) -> None:
    """Asserts that both outputs are readable text without commands."""
    for text in (outcome.stdout, outcome.stderr):
        assert not commands_in(text), repr(text)
        assert not any(line.startswith(FORGED) for line in text.splitlines()), text
        assert len(text) < 100_000


@pytest.mark.parametrize(
    "arguments",
    [
        "show {}",
        "fetch {} Note",
        "fetch {} Note --explain",
        "check {}",
        "check {} --apple",
        "metadata {}",
        "copy {} {}.copy",
        "backup {} {}.backup",
        "convert {} {}.xml",
        "convert {} {}.bin --check --through XML",
        "views {}",
        "views {} --list",
        "views {} --into {}.views",
        "dump {} -o {}.jsonl",
        "dump {} --format csv -o {}.csv",
        "destroy {} --yes",
        "model show {}",
        "model show {} --hashes",
        "model lint {}",
        "model diff {} {}",
        "model diagram {}",
        "model decompile {} -o {}.xcdatamodel",
        "load {}",
        "fetch {} Nothing",
        "fetch {} Note nothing=1",
    ],
)
@pytest.mark.parametrize("kind", ["store", "invalid_names"])
def test_text_output_has_no_control_characters(
    kind: str, arguments: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    path = tmp_path / "evil.sqlite"
    path.write_bytes(request.getfixturevalue(kind).read_bytes())
    outcome = run(*arguments.format(*[path] * 3).split(), input='{"@entity": "Note"}\n')
    assert outcome.returncode in (0, 1, 2, 3)
    check_words(outcome)


def test_output_for_atomic_stores_has_no_control_characters(store: Path, tmp_path: Path) -> None:
    for name in ("evil.xml", "evil.bin"):
        made = run("convert", store, tmp_path / name, "--type", "XML" if name.endswith("xml") else "Binary")
        check_words(made)
        for command in ("show", "check", "metadata"):
            check_words(run(command, tmp_path / name))
    # Names of objects that lead nowhere.
    (tmp_path / "ids.xml").write_text(
        '<?xml version="1.0"?><!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">'
        "<database><databaseInfo><version>134481920</version><UUID>x&#27;[31m&#10;" + FORGED + "</UUID>"
        "<nextObjectID>103</nextObjectID></databaseInfo>"
        "<object type='NOTE&#x202e;&#x85;&#10;" + FORGED + "' id='z&#x9b;31m&#10;" + FORGED + "'></object></database>",
        encoding="utf-8",
    )
    for command in ("show", "check", "metadata", "dump"):
        model = [] if command == "metadata" else [f"--model={store}"]
        check_words(run(command, tmp_path / "ids.xml", *model))


def test_json_and_csv_output_is_lossless(store: Path) -> None:
    told = run("metadata", store, "--format", "json")
    assert not commands_in(told.stdout)
    assert json.loads(told.stdout)[EVIL] == EVIL
    assert json.loads(told.stdout)["list"] == [EVIL, {EVIL: 1}]
    shown = run("show", store, "--format", "json")
    assert not commands_in(shown.stdout)
    assert json.loads(shown.stdout)["store"]["identifier"] == EVIL
    both: list[list[str | Path]] = [
        ["fetch", store, "Note", "--format", "json"],
        ["dump", store, "--format", "json"],
    ]
    for arguments in both:
        printed = run(*arguments)
        assert not commands_in(printed.stdout)
        assert json.loads(printed.stdout)[0]["title"] == EVIL
    for command in ("fetch", "dump"):
        piped = subprocess.run([TOOL, command, store, "Note", "--format", "csv"], capture_output=True, check=True)
        # RFC 4180 has no escapes: in a pipe the bytes are the author's.
        (row,) = csv.DictReader(io.StringIO(piped.stdout.decode(), newline=""))
        assert row["title"] == EVIL


@pytest.mark.parametrize("form", ["csv", "json", "table"])
def test_terminal_output_in_every_format_has_no_control_characters(store: Path, form: str) -> None:
    # The environment may have no colours of the tool's own.
    printed = on_terminal(80, "fetch", store, "Note", "--format", form, NO_COLOR="1")
    assert not commands_in(printed), repr(printed)
    dumped = on_terminal(80, "dump", store, "Note", "--format", "csv" if form == "table" else form, NO_COLOR="1")
    assert not commands_in(dumped), repr(dumped)


def test_only_the_tool_emits_colour_codes(store: Path) -> None:
    printed = on_terminal(80, "show", store)
    assert "\x1b[1m" in printed
    assert not commands_in(printed.replace("\x1b[1m", "").replace("\x1b[0m", ""))


def test_arguments_in_messages_are_escaped(tmp_path: Path) -> None:
    path = tmp_path / EVIL.replace("/", "").replace("\0", "")
    mistakes: list[list[str | Path]] = [
        ["show", path],
        ["check", path],
        ["metadata", path],
        [EVIL],
        ["show", f"--{EVIL}"],
        ["help", EVIL],
        ["model", EVIL],
        ["show", "a", EVIL],
        ["model", "diagram", "a", "-o", EVIL],
    ]
    for arguments in mistakes:
        outcome = run(*arguments)
        assert outcome.returncode in (2, 3)
        check_words(outcome)
    make_store(path)
    for command in ("show", "check", "metadata"):
        outcome = run(command, path)
        assert outcome.returncode == 0
        check_words(outcome)


def test_loaded_lines_in_messages_are_escaped(store: Path, tmp_path: Path) -> None:
    (tmp_path / "evil.jsonl").write_text(
        "\n".join(
            json.dumps(line)
            for line in (
                {"@entity": "Note", EVIL: 1},
                {"@entity": EVIL},
                {"@entity": "Note", "size": EVIL},
                {"@entity": "Note", "@id": EVIL},
                {"@entity": "Note", "@id": EVIL},
            )
        )
    )
    outcome = run("load", store, tmp_path / "evil.jsonl", "--dry-run", "--keep-going")
    assert outcome.returncode == 1
    assert outcome.stderr.count("\ncorestone: ") >= 3
    check_words(outcome)
    (tmp_path / "evil.csv").write_text(f'"{EVIL}","{EVIL}"\n1,2\n', newline="")
    check_words(run("load", store, tmp_path / "evil.csv", "--entity", "Note", "--dry-run"))


# ---- Formulas -----------------------------------------------------------------------------------------------------

FORMULAS = [
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "\uff1d1",
    "\uff0b1",
    "\uff0d1",
    "\uff201",
    "'=1",
    "''=1",
    "'",
    "'plain",
    "''",
    "plain",
    "a=b",
    " =1",
    "",
    "=",
]


@pytest.fixture(scope="module")
def sheet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sheet") / "sheet.sqlite"
    model = Model({"Row": {"number": "int64", "text": "string?", "share": "double? nan", "bytes": "binary?"}})
    with Container(model, path) as container:
        context = container.context()
        for number, text in enumerate(FORMULAS):
            context.insert("Row", number=-number, text=text, share=-0.5, bytes=b"\xf8\x00\x00")
        context.save()
    return path


def cells(text: str) -> list[dict[str, Any]]:
    return sorted(csv.DictReader(io.StringIO(text, newline="")), key=lambda row: -int(row["number"]))


def is_safe(text: str) -> bool:
    return not text.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20"))


@pytest.mark.parametrize("command", ["fetch", "dump"])
def test_csv_in_files_and_terminals_has_no_formulas(sheet: Path, tmp_path: Path, command: str) -> None:
    with open(tmp_path / "a.csv", "wb") as file:
        subprocess.run([TOOL, command, sheet, "Row", "--format", "csv"], stdout=file, check=True)
    rows = cells((tmp_path / "a.csv").read_bytes().decode())
    assert all(is_safe(row["text"]) and is_safe(row["bytes"]) for row in rows)
    assert [row["text"] for row in rows[:4]] == ["'" + text for text in FORMULAS[:4]]
    # Numbers stay numbers, and other text is what it was.
    assert rows[5]["number"] == "-5" and rows[5]["share"] == "-0.5"
    assert [row["text"] for row in rows[13:20]] == FORMULAS[13:20]
    assert "'=cmd" in on_terminal(80, command, sheet, "Row", "--format", "csv")
    # Machine-readable output has the stored values.
    piped = subprocess.run([TOOL, command, sheet, "Row", "--format", "csv"], stdout=subprocess.PIPE, check=True)
    told = [row["text"] for row in cells(piped.stdout.decode())]
    assert told[:11] == FORMULAS[:11]
    if command == "fetch":
        assert told == FORMULAS


@pytest.mark.parametrize("choice", ["yes", "no"])
@pytest.mark.parametrize("command", ["fetch", "dump"])
def test_spreadsheet_safe_option_controls_apostrophes(sheet: Path, command: str, choice: str) -> None:
    arguments = [command, str(sheet), "Row", "--format", "csv", "--spreadsheet-safe", choice]
    piped = subprocess.run([str(TOOL), *arguments], stdout=subprocess.PIPE, check=True)
    first = cells(piped.stdout.decode())[0]["text"]
    assert first == ("'" if choice == "yes" else "") + FORMULAS[0]
    assert run(command, sheet, "Row", "--spreadsheet-safe", "maybe").returncode == 2


@pytest.mark.parametrize("choice", ["yes", "no"])
def test_load_removes_apostrophes(sheet: Path, tmp_path: Path, choice: str) -> None:
    dumped = run("dump", sheet, "Row", "-o", tmp_path / "Row.csv", "--spreadsheet-safe", choice)
    assert dumped.returncode == 0, dumped.stderr
    loaded = run("load", tmp_path / "again.sqlite", tmp_path / "Row.csv", "--model", sheet)
    assert loaded.returncode == 0, loaded.stderr

    def content(path: Path) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = json.loads(run("dump", path, "--format", "json").stdout)
        return sorted(({k: v for k, v in row.items() if k != "@id"} for row in rows), key=lambda row: row["number"])

    assert content(tmp_path / "again.sqlite") == content(sheet)


def test_load_keeps_apostrophes_on_request(sheet: Path, tmp_path: Path) -> None:
    (tmp_path / "Row.csv").write_text("number,text\n1,'=1\n")
    for choice, text in (("no", "'=1"), ("yes", "=1")):
        store = tmp_path / f"{choice}.sqlite"
        loaded = run("load", store, tmp_path / "Row.csv", "--model", sheet, "--spreadsheet-safe", choice)
        assert loaded.returncode == 0, loaded.stderr
        assert json.loads(run("dump", store).stdout)["text"] == text


# ---- Large ones ---------------------------------------------------------------------------------------------------


def test_names_of_5_megabytes_are_truncated(tmp_path: Path) -> None:
    path, long = tmp_path / "long.sqlite", "n" * 5_000_000
    make_store(path, metadata={long: 1, "words": "w " * 2_500_000})
    for command in ("show", "check", "metadata", "model show"):
        outcome = run(*command.split(), path)
        assert outcome.returncode in (0, 1, 3), outcome.stderr
        check_words(outcome)
    told = json.loads(run("metadata", path, "--format", "json").stdout)
    assert told[long] == 1
    (tmp_path / "long.jsonl").write_text(json.dumps({"@entity": long}) + "\n" + json.dumps({long: long}) + "\n")
    outcome = run("load", path, tmp_path / "long.jsonl", "--entity", "Note", "--keep-going", "--dry-run")
    assert outcome.returncode in (1, 3)
    check_words(outcome)
    assert os.path.getsize(path) > 10_000_000


def test_identifiers_of_5_megabytes_are_rejected_briefly(tmp_path: Path) -> None:
    path = tmp_path / "long.sqlite"
    make_store(path, uuid="u" * 5_000_000)
    for command in ("show", "check", "metadata", "fetch"):
        outcome = run(*command.split(), path, *(["Note"] if command == "fetch" else []))
        assert outcome.returncode == (1 if command == "check" else 3), outcome.stdout
        assert "255" in outcome.stdout + outcome.stderr
        check_words(outcome)
