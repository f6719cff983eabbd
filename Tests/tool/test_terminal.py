"""Interactive use of the tool: help, typing errors, and terminals of any width."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
import unicodedata
from pathlib import Path

import pytest
from conftest import TOOL, compare, run, settled
from corestone import Container, Model

HISTORY_COMMANDS = ["history", "history object", "history diff", "history at"]
STORE_COMMANDS = [
    "metadata",
    "copy",
    "backup",
    "convert",
    "migrate",
    "views",
    "dump",
    "load",
    "destroy",
    *HISTORY_COMMANDS,
]
MODEL_COMMANDS = [
    f"model {name}"
    for name in (
        "show",
        "lint",
        "diff",
        "check-migration",
        "freeze",
        "compile",
        "decompile",
        "merge",
        "diagram",
        "codegen",
        "new",
        "add",
        "set",
        "rename",
        "remove",
    )
]


def on_terminal(width: int, *arguments: str | Path, **environment: str) -> str:
    """What the tool prints on a terminal of that width."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    surroundings = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")}
    process = subprocess.Popen(
        [str(TOOL), *map(str, arguments)], stdout=slave, env={**surroundings, "TERM": "xterm", **environment}
    )
    os.close(slave)
    printed = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        printed += piece
    os.close(master)
    assert process.wait(timeout=60) == 0
    return printed.decode().replace("\r\n", "\n")


def columns(line: str) -> int:
    plain = re.sub(r"\x1b\[\d*m", "", line)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in plain)


@pytest.mark.parametrize("width", [20, 40, 60, 80, 132])
@pytest.mark.parametrize("command", ["show", "Animal", "Keeper"])
def test_no_line_is_wider_than_the_terminal(zoo: Path, width: int, command: str) -> None:
    arguments: list[str | Path] = ["show", zoo] if command == "show" else ["fetch", zoo, command]
    lines = on_terminal(width, *arguments).splitlines()
    # A path is printed whole, for copying, and so is the closing line.
    tables = lines[4:] if command == "show" else lines[:-1]
    assert max(columns(line) for line in tables) <= width, "\n".join(lines)
    if command != "show":
        assert "…" in "\n".join(lines) or "columns more" in lines[-1] or width > 100


def test_wide_characters_stay_in_their_columns(zoo: Path) -> None:
    compare("terminal-60.txt", settled(on_terminal(60, "fetch", zoo, "Keeper", "--sort", "name", NO_COLOR="1"), zoo))
    lines = on_terminal(70, "fetch", zoo, "Keeper", "--columns", "name,years", "--sort", "name").splitlines()
    assert columns(lines[1]) == columns(lines[2]) == columns(lines[0])


def test_colour_and_counts_appear_only_on_a_terminal(zoo: Path) -> None:
    assert "\x1b[" in on_terminal(80, "fetch", zoo, "Bird")
    assert "\x1b[" not in on_terminal(80, "fetch", zoo, "Bird", NO_COLOR="1")
    assert "\x1b[" not in on_terminal(80, "fetch", zoo, "Bird", TERM="dumb")
    assert "2 objects of Bird" in on_terminal(80, "fetch", zoo, "Bird")
    piped = run("fetch", zoo, "Bird").stdout
    assert "\x1b[" not in piped and "objects of" not in piped and "…" not in piped
    assert columns(on_terminal(200, "fetch", zoo, "Animal", COLUMNS="50").splitlines()[0]) <= 50


def test_control_characters_are_shown_escaped(zoo: Path, tmp_path: Path) -> None:
    path = tmp_path / "evil.sqlite"
    with Container(Model({"Evil": {"text": "string"}}), path) as container:
        context = container.context()
        context.insert("Evil", text="a\x1b[31mred\x07\r\nb\tc\x9b\u202e")
        context.save()
    printed = on_terminal(80, "fetch", path, "Evil", NO_COLOR="1")
    assert "\x1b" not in printed and "\x07" not in printed and "\x9b" not in printed
    assert "␛[31mred␇␍⏎b c\\u{9B}\\u{202E}" in printed


@pytest.mark.parametrize("arguments", [["--help"], ["help"], ["-h"]])
def test_help_matches_expected_text(arguments: list[str]) -> None:
    found = run(*arguments)
    assert (found.returncode, found.stderr) == (0, "")
    compare("help.txt", found.stdout)


@pytest.mark.parametrize("command", ["show", "fetch", "check", *STORE_COMMANDS, *MODEL_COMMANDS])
def test_every_command_has_help_with_its_options(command: str) -> None:
    found = run(*command.split(), "--help")
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout == run("help", *command.split()).stdout
    assert max(map(len, found.stdout.split("Examples")[0].splitlines())) <= 100
    compare(f"help-{command.replace(' ', '-')}.txt", found.stdout)
    documented = (Path(__file__).resolve().parents[2] / "docs" / "tool.md").read_text(encoding="utf-8")
    for option in set(re.findall(r"--[a-z]+", found.stdout)):
        assert option in documented, option


def test_command_group_has_help() -> None:
    found = run("model", "--help")
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout == run("help", "model").stdout
    compare("help-model.txt", found.stdout)


def test_version_is_printed() -> None:
    assert re.fullmatch(r"corestone \d+\.\d+\.\d+\n", run("--version").stdout)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["shwo"], 'did you mean "show"'),
        (["chekc", "x"], 'did you mean "check"'),
        (["zebra"], "see corestone --help"),
        (["--verbose"], "--verbose"),
        (["--verison"], "did you mean --version?"),
        (["model", "--hepl"], "did you mean --help?"),
        (["help", "fetsh"], 'did you mean "fetch"'),
        (["show", "--formt", "json", "x"], "did you mean --format"),
        (["show", "-x", "y"], 'does not have an option "-x"'),
    ],
)
def test_misspelt_commands_are_reported(arguments: list[str], words: str) -> None:
    found = run(*arguments)
    assert (found.returncode, found.stdout) == (2, "")
    assert words in found.stderr


def test_missing_command_prints_help_as_an_error() -> None:
    found = run()
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr == run("--help").stdout


def test_command_fails_when_output_cannot_be_written(zoo: Path) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        found = subprocess.run(
            [str(TOOL), "show", str(zoo)], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert found.returncode == 3
    assert "cannot write" in found.stderr


def names_of(*arguments: str | Path) -> list[str]:
    """The lines of a table of names."""
    found = run(*arguments)
    assert (found.returncode, found.stderr) == (0, ""), arguments
    return found.stdout.splitlines()


def test_every_spelling_of_an_option_is_accepted(zoo: Path) -> None:
    expected = ["name", "eagle"]
    spellings: list[list[str | Path]] = [
        ["fetch", zoo, "Bird", "--columns", "name", "--limit", "1", "--sort", "name"],
        ["fetch", zoo, "Bird", "--columns=name", "--limit=1", "--sort=name"],
        ["fetch", "--limit", "1", zoo, "--columns", "name", "Bird", "--sort=name"],
        ["fetch", "--limit=1", "--sort=name", "--columns=name", "--", zoo, "Bird"],
        ["--file-limit", "value_limit=70000", "fetch", zoo, "Bird", "--limit=1", "--columns=name", "--sort=name"],
        ["fetch", zoo, "Bird", "--file-limit=memory_limit=70000000", "--limit=1", "--columns=name", "--sort=name"],
    ]
    for words in spellings:
        assert names_of(*words) == expected, words
    assert names_of("fetch", zoo, "Bird", "--columns=name", "--limit=0", "--sort=name") == ["name", "eagle", "emu"]
    assert names_of("fetch", zoo, "Bird", "--columns=name", "--offset=1", "--sort=name") == ["name", "emu"]
    assert names_of("fetch", zoo, "Bird", "--columns=name", "--offset=2", "--sort=name") == ["name"]
    assert names_of("fetch", zoo, "Bird", "--columns=name", "--", "name == 'emu'") == ["name", "emu"]
    # The first key counts most.
    for keys, names in (
        (["canFly", "-name"], ["emu", "eagle"]),
        (["-canFly", "name"], ["eagle", "emu"]),
        (["-name"], ["emu", "eagle"]),
    ):
        sort = [word for key in keys for word in ("--sort", key)]
        assert names_of("fetch", zoo, "Bird", "--columns=name", *sort) == ["name", *names]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fetch", "{zoo}", "Bird", "--raw=1"], "--raw does not take a value"),
        (["fetch", "{zoo}", "Bird", "--explain=yes"], "--explain does not take a value"),
        (["fetch", "{zoo}", "Bird", "--format", "json", "--format", "csv"], "--format can only be used once"),
        (["fetch", "{zoo}", "Bird", "--raw", "--raw"], "--raw can only be used once"),
        (["fetch", "{zoo}", "Bird", "name != ''", "more"], 'unexpected argument "more"'),
        (["fetch", "{zoo}", "Bird", "--", "--limit", "1"], 'unexpected argument "1"'),
        (["fetch"], "fetch requires STORE: a store of Core Data"),
        (["fetch", "{zoo}"], "fetch requires ENTITY: the entity"),
        (["fetch", "{zoo}", "Bird", "--offset", "1.5"], "--offset must be an integer from 0 to"),
        (["fetch", "{zoo}", "Bird", "-o", "x"], 'fetch does not have an option "-o"'),
        (["fetch", "{zoo}", "Bird", "--spreadsheet-safe"], "--spreadsheet-safe requires a value: yes|no"),
        (["--file-limit"], "--file-limit takes NAME=NUMBER"),
        (["show", "{zoo}", "--file-limit", "size=1"], "value_limit, memory_limit, step_limit, external_limit"),
        (["show", "{zoo}", "--file-limit", "valu_limit=70000"], 'did you mean "value_limit"?'),
        (
            ["show", "{zoo}", "--file-limit", "value_limit=0"],
            "the value_limit for the store is 0, but must be 65536 to",
        ),
        (
            ["show", "{zoo}", "--file-limit", f"step_limit={2**63}"],
            f'step_limit must be an integer (10000 to {2**63 - 1}), not "{2**63}"',
        ),
        (["show", "{zoo}", "--file-limit", "value_limit=1=2"], "--file-limit takes NAME=NUMBER"),
        (["show", "{zoo}", "--file-limit=value_limit=9"], "the value_limit for the store is 9, but must be 65536 to"),
    ],
)
def test_invalid_options_are_rejected(zoo: Path, arguments: list[str], words: str) -> None:
    found = run(*[argument.replace("{zoo}", str(zoo)) for argument in arguments])
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr.startswith("corestone: ")
    assert words in found.stderr


def test_file_limit_option_applies_to_the_command(tmp_path: Path) -> None:
    path = tmp_path / "large.sqlite"
    with Container(Model({"Note": {"text": "string"}}), path) as container:
        context = container.context()
        context.insert("Note", text="x" * 100_000)
        context.save()
    assert run("fetch", path, "Note", "--format", "json").returncode == 0
    refused = run("fetch", path, "Note", "--format", "json", "--file-limit", "value_limit=70000")
    assert refused.returncode == 3
    assert "value_limit" in refused.stderr
    assert "70000" in refused.stderr
    # After -- it is an operand.
    operand = run("fetch", path, "--", "Note", "--file-limit=value_limit=70000")
    assert operand.returncode == 2
    assert "--file-limit=value_limit=70000" in operand.stderr


def test_help_option_is_accepted_anywhere(zoo: Path) -> None:
    whole = run("help", "fetch").stdout
    for words in (
        ["fetch", "--help"],
        ["fetch", "-h"],
        ["fetch", "a", "b", "c", "d", "-h"],
        ["fetch", "--limit", "1", "-h"],
    ):
        found = run(*words)
        assert (found.returncode, found.stdout, found.stderr) == (0, whole, "")
    group = run("help", "model").stdout
    assert (run("model", "-h").stdout, run("model").stdout, run("model").stderr) == (group, "", group)
    assert run("model").returncode == 2
    assert run("help", "model", "show").stdout == run("model", "show", "-h").stdout


def test_omitted_columns_are_counted_in_the_last_line(zoo: Path) -> None:
    names = ["@id", "born", "name", "canFly", "wingspan", "depth", "freshwater", "keeper", "friends"]
    for width, shown in ((6, 1), (24, 2), (40, 4), (60, 6), (132, 9)):
        lines = on_terminal(width, "fetch", zoo, "Animal", "--sort", "name", NO_COLOR="1").splitlines()
        assert lines[0].split() == names[:shown], width
        more = f"; {9 - shown} columns more with --columns, --format json or a wider terminal" if shown < 9 else ""
        assert lines[-1] == f"4 objects of Animal{more}", width
    one = on_terminal(80, "fetch", zoo, "Fish", "name == 'carp'", NO_COLOR="1")
    assert one.splitlines()[-1] == "1 object of Fish"


def test_widest_columns_shrink_first(zoo: Path) -> None:
    words: list[str | Path] = ["fetch", zoo, "Animal", "--sort", "name", "--columns", "name,born,keeper"]
    for width, born in ((41, "1969-03-29T23:59:59.75Z"), (40, "1969-03-29T23:59:59.7…"), (28, "1969-03-2…")):
        lines = on_terminal(width, *words, NO_COLOR="1").splitlines()
        assert lines[2].split() == ["carp", born], width
        assert lines[3].split()[::2] == ["eagle", "Keeper/p1"], width
        assert max(map(len, lines[:-1])) <= width


def test_column_is_omitted_when_all_have_minimum_width(tmp_path: Path) -> None:
    path = tmp_path / "pairs.sqlite"
    with Container(Model({"Pair": {"a": "string", "b": "string"}}), path) as container:
        container.insert("Pair", {"a": "a" * 20, "b": "b" * 20})
    for width, cells in ((42, ["a" * 20, "b" * 20]), (22, ["a" * 9 + "…", "b" * 9 + "…"]), (21, ["a" * 9 + "…"])):
        lines = on_terminal(width, "fetch", path, "Pair", "--columns", "a,b", NO_COLOR="1").splitlines()
        assert lines[1].split() == cells, width
        assert lines[-1].startswith("1 object of Pair; 1 columns more") == (len(cells) == 1), width


def test_long_metadata_line_is_truncated_in_the_middle(zoo: Path, tmp_path: Path) -> None:
    store = tmp_path / "zoo.sqlite"
    store.write_bytes(zoo.read_bytes())
    # The name and the space behind it are a part of the line.
    width = len("NSStoreModelVersionHashesVersion") + 2
    for size in (10_000 - width, 10_001 - width):
        text = "".join(chr(ord("a") + place % 26) for place in range(size))
        run("metadata", store, "--set", f"own={text}")
        whole = "own".ljust(width) + text
        (line,) = [line for line in run("metadata", store).stdout.splitlines() if line.startswith("own ")]
        if len(whole) <= 10_000:
            assert line == whole
        else:
            assert line.startswith(whole[:7500]) and line.endswith(whole[-2500:]) and "1 bytes left out" in line
        assert json.loads(run("metadata", store, "--format", "json").stdout)["own"] == text


def test_progress_bar_appears_after_half_a_second_and_is_removed(zoo: Path, tmp_path: Path) -> None:
    master, slave = pty.openpty()
    words = [str(TOOL), "load", str(tmp_path / "new.sqlite"), "--model", str(zoo), "--entity", "Fish"]
    pipe, surroundings = subprocess.PIPE, {**os.environ, "TERM": "xterm"}
    start = time.monotonic()
    process = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=slave, text=True, env=surroundings)
    os.close(slave)
    assert process.stdin is not None
    for number in range(2000):
        process.stdin.write(json.dumps({"name": str(number)}) + "\n")
        process.stdin.flush()
        if select.select([master], [], [], 0.01)[0]:
            break
    assert time.monotonic() - start >= 0.5
    told, _ = process.communicate(timeout=60)
    assert (process.returncode, told.split()[:2]) == (0, ["loaded", str(number + 1)])
    printed = b""
    with contextlib.suppress(OSError):
        while piece := os.read(master, 65536):
            printed += piece
    os.close(master)
    assert printed.startswith(b"\rloading ") and printed.endswith(b"\r\x1b[K")


def test_several_file_limits_apply_together(tmp_path: Path) -> None:
    path = tmp_path / "large.sqlite"
    with Container(Model({"Note": {"text": "string"}}), path) as container:
        container.insert("Note", {"text": "x" * 100_000})
    tight, wide = "--file-limit=value_limit=99999", "--file-limit=memory_limit=70000000"
    for words in ([tight, wide], [wide, tight], [tight], [wide, "--file-limit", "value_limit=100000", tight]):
        refused = run("fetch", path, "Note", *words)
        assert (refused.returncode, refused.stdout.splitlines()[1:]) == (3, []), words
        assert "99999" in refused.stderr
    for words in ([wide], [wide, "--file-limit", "value_limit=100000"], [tight, "--file-limit", "value_limit=100000"]):
        assert run("fetch", path, "Note", *words).returncode == 0, words
