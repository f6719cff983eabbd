"""What the tests of the examples share: building one in C, and a terminal in which a program runs."""

from __future__ import annotations

import codecs
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["CORESTONE_LIBRARY"]).resolve().parents[1]
CLEAR = "\033[2J\033[H"


def compiled(folder: Path, program: Path) -> str:
    """Builds the C files of an example's folder; the path of the program."""
    files = [str(path) for path in sorted(folder.glob("*.c"))]
    warnings = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    link = [f"-I{BUILD}/include", f"-L{BUILD}/lib", f"-Wl,-rpath,{BUILD}/lib", "-lcorestone"]
    subprocess.run([os.environ.get("CC", "cc"), *warnings, *files, "-o", str(program), *link], check=True)
    return str(program)


def built_in_swift(program: str) -> str:
    """The path of a program of examples/swift, which is built first.

    The place is that of scripts/run_example.sh, because the first build takes minutes.
    """
    package = ["--package-path", str(ROOT / "examples" / "swift"), "--scratch-path", str(BUILD / "swift" / "example")]
    build = [os.environ.get("SWIFT", "swift"), "build", *package]
    subprocess.run(build, check=True, stdout=sys.stderr)
    folder = subprocess.run([*build, "--show-bin-path"], check=True, capture_output=True, text=True).stdout.strip()
    return f"{folder}/{program}"


def read_if_allowed(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError as error:
        return str(error.strerror)


class Terminal:
    """A program that runs in a separate terminal, and the content of its screen."""

    PROMPT = ""  # a pattern that a screen matches once it is drawn down to its last line
    QUIT = "quit\n"
    PATIENCE = 60.0  # seconds after which a program hangs; a save waits for the disk, which others keep busy at times

    def __init__(self, command: list[str], environment: Mapping[str, str] | None = None) -> None:
        self.master, slave = pty.openpty()
        variables = {**os.environ, **(environment or {})}
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=variables)
        os.close(slave)
        self.decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.shown = ""
        self.wait_for("> ")

    @property
    def screen(self) -> str:
        """The output since the screen was last cleared."""
        return self.shown.rpartition(CLEAR)[2].replace("\r\n", "\n")

    def screens(self, since: int) -> list[str]:
        """What was drawn since `shown` was so long, one screen after the other."""
        return self.shown[since:].replace("\r\n", "\n").split(CLEAR)

    def read(self, timeout: float) -> None:
        if select.select([self.master], [], [], timeout)[0]:
            try:
                self.shown += self.decoder.decode(os.read(self.master, 65536))
            except OSError:  # it ended
                pytest.fail(f"the program ended:\n{self.screen}")

    def shows(self, text: str, within: float, since: int | None = None) -> bool:
        """Whether the screen is drawn before so many seconds are over, and matches a pattern. With `since`, an earlier
        screen may match too, if it was drawn since `shown` was so long."""
        end = time.monotonic() + within
        while not (
            re.search(self.PROMPT, self.screen)
            and any(re.search(text, each) for each in ([self.screen] if since is None else self.screens(since)))
        ):
            left = end - time.monotonic()
            if left <= 0:
                return False
            self.read(left)
        return True

    def wait_for(self, text: str, since: int | None = None) -> float:
        """Waits until `shows` holds; the seconds that this took."""
        start = time.monotonic()
        if not self.shows(text, self.PATIENCE, since):
            pytest.fail(f"{text!r} does not appear in {self.PATIENCE} s:\n{self.screen}\n{self.threads()}")
        return time.monotonic() - start

    def threads(self) -> str:
        """What each thread of the program does, as the system knows it: what a program that hangs waits for."""
        told = []
        for thread in sorted(Path(f"/proc/{self.process.pid}/task").iterdir()):
            facts = {name: read_if_allowed(thread / name) for name in ("comm", "wchan", "syscall", "stat")}
            told.append(" ".join([thread.name, *(f"{name}: {text}" for name, text in facts.items())]))
        return "\n".join(told)

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def type(self, line: str, answer: str) -> None:
        """Types a line and waits for its result. What another process saves may take its place at once."""
        before = len(self.shown)
        self.press(line + "\n")
        self.wait_for(answer, since=before)

    def leave(self) -> None:
        self.press(self.QUIT)
        deadline = time.monotonic() + self.PATIENCE
        while self.process.poll() is None and time.monotonic() < deadline:
            try:
                if select.select([self.master], [], [], 0.1)[0]:
                    os.read(self.master, 65536)
            except OSError:  # the program has closed the terminal
                break
        assert self.process.wait(self.PATIENCE) == 0
        os.close(self.master)
