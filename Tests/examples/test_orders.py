"""The order editor, in Python and in C: what a user at the terminal types and sees."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from programs import ROOT, compiled

ORDERS = ROOT / "examples" / "orders"
LANGUAGES = ("python", "c")


class Terminal:
    """A running editor and its output."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=0)
        self.screen = ""
        self.show()

    def show(self, prompt: str = "> ") -> str:
        """Reads up to the next prompt; returns the output before it."""
        assert self.process.stdout is not None
        shown = ""
        while not shown.endswith(prompt):
            character = self.process.stdout.read(1)
            assert character, f"the editor ended:\n{shown}"
            shown += character
        self.screen = shown
        return shown

    def type(self, line: str, prompt: str = "> ") -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        return self.show(prompt)

    def leave(self) -> None:
        self.process.communicate("quit!\n", timeout=30)
        assert self.process.returncode == 0


@pytest.fixture(scope="session")
def in_c(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compiled(ORDERS, tmp_path_factory.mktemp("orders") / "orders")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "orders.store"


@pytest.fixture(params=LANGUAGES)
def editor(request: pytest.FixtureRequest, in_c: str, store: Path) -> Iterator[Terminal]:
    command = [in_c] if request.param == "c" else [sys.executable, str(ORDERS / "orders.py")]
    opened = Terminal([*command, str(store)])
    yield opened
    opened.leave()


@pytest.fixture
def other(store: Path) -> Iterator[list[Terminal]]:
    """Another editor of the same store, when a test opens one."""
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.leave()


def order(editor: Terminal) -> None:
    editor.type('new "Ada Lovelace"')
    editor.type('add "Analytical engine" 1 1200')
    editor.type('add "Punched cards" 500 0.02')


def test_order_can_be_edited_and_saved(editor: Terminal) -> None:
    order(editor)
    assert "customer  Ada Lovelace" in editor.screen
    assert "1210.00" in editor.screen
    assert "Saved." in editor.type("save")
    assert "Orders (saved)" in editor.screen
    moved = editor.type("move 2 1")
    assert moved.index("Punched cards") < moved.index("Analytical engine")
    assert "Orders (unsaved changes)" in moved


def test_edits_can_be_undone_and_redone(editor: Terminal) -> None:
    order(editor)
    editor.type("save")
    editor.type("line 2 quantity 250")
    editor.type("remove 1")
    assert "Analytical" not in editor.screen
    assert "Analytical" in editor.type("undo")
    assert "500 x" in editor.type("undo")
    assert "Orders (saved)" in editor.screen
    assert "500 x" not in editor.type("undo"), "undo works across a save"
    for _ in range(3):
        editor.type("redo")
    assert "250 x" in editor.screen
    assert "Analytical" not in editor.screen
    assert "nothing to redo" in editor.type("redo")


def test_problems_are_shown_by_field(editor: Terminal) -> None:
    order(editor)
    editor.type("line 1 quantity 0")
    editor.type("set customer")
    shown = editor.type("save")
    assert "Not saved: 2 to correct" in shown
    (line,) = (line for line in shown.splitlines() if "Analytical" in line)
    assert "<--" in line
    (line,) = (line for line in shown.splitlines() if line.startswith("  customer"))
    assert "<--" in line
    editor.type("undo")
    editor.type("undo")
    assert "Saved." in editor.type("save")


@pytest.mark.parametrize(
    ("answer", "quantity", "note"), [("m", "7 x", "mine"), ("t", "9 x", "mine"), ("d", "9 x", "-")]
)
def test_conflict_asks_for_a_resolution(
    editor: Terminal, other: list[Terminal], store: Path, answer: str, quantity: str, note: str
) -> None:
    order(editor)
    editor.type("save")
    other.append(Terminal([sys.executable, str(ORDERS / "orders.py"), str(store)]))
    other[0].type("line 1 quantity 9")
    assert "Saved." in other[0].type("save")
    editor.type("line 1 quantity 7")
    editor.type("set note mine")
    question = editor.type("save", prompt="? ")
    (row,) = (line for line in question.splitlines() if line.strip().startswith("quantity"))
    assert row.split() == ["quantity", "1", "7", "9"]
    assert quantity in editor.type(answer)
    assert f"note      {note}" in editor.screen
    assert "Orders (saved)" in editor.screen


def test_conflict_can_be_cancelled(editor: Terminal, other: list[Terminal], store: Path) -> None:
    order(editor)
    editor.type("save")
    other.append(Terminal([sys.executable, str(ORDERS / "orders.py"), str(store)]))
    other[0].type("line 1 price 1")
    other[0].type("save")
    editor.type("line 1 price 2")
    editor.type("save", prompt="? ")
    assert "Not saved." in editor.type("c")
    assert "2.00" in editor.screen


def test_input_errors_are_reported(editor: Terminal) -> None:
    assert "no order is open" in editor.type("add tea 1 2")
    assert 'no command "fly"' in editor.type("fly")
    assert "wrong arguments for" in editor.type("add")
    assert "there is no order 7" in editor.type("open 7")
    invalid = '"x" is not a valid quantity'
    assert invalid in editor.type('new "Grace"') or invalid in editor.type("add tea x 2")
    assert "nothing to redo" in editor.type("redo")
