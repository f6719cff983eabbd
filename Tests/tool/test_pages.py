"""The manual page and the completions, which are made from the help of the tool."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, TOOL

COMMANDS = ("show", "fetch", "init", "model codegen", "model rename")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("share")
    subprocess.run([sys.executable, str(ROOT / "scripts/tool_pages.py"), str(TOOL), str(folder)], check=True)
    return folder


def manual(pages: Path) -> str:
    return gzip.decompress((pages / "man/man1/corestone.1.gz").read_bytes()).decode()


def complete(pages: Path, *words: str) -> list[str]:
    """What bash offers for the last word."""
    program = '. "$0"; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _corestone; printf "%s\\n" "${COMPREPLY[@]}"'
    page = str(pages / "bash-completion/completions/corestone")
    done = subprocess.run(
        ["bash", "-c", program, page, "corestone", *words], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.mark.parametrize("command", COMMANDS)
def test_manual_and_completions_have_every_option(pages: Path, command: str) -> None:
    text = subprocess.run([str(TOOL), "help", *command.split()], capture_output=True, text=True, check=True).stdout
    options = set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.MULTILINE))
    assert "--help" in options
    page = manual(pages).partition(f".SS {command}\n")[2].partition("\n.SS ")[0].replace("\\-", "-")
    assert options <= set(re.findall(r"--[\w-]+", page))
    assert options <= set(complete(pages, *command.split(), "--"))
    zsh = (pages / "zsh/site-functions/_corestone").read_text(encoding="utf-8")
    body = zsh.partition(f"_corestone_{command.replace(' ', '_')}() {{")[2].partition("\n}\n")[0]
    assert options <= set(re.findall(r"--[\w-]+", body))
    fish = (pages / "fish/vendor_completions.d/corestone.fish").read_text(encoding="utf-8")
    lines = [line for line in fish.splitlines() if f"seen_subcommand_from {command.split()[-1]}" in line]
    assert {name.removeprefix("--") for name in options} <= set(re.findall(r" -l ([\w-]+)", "\n".join(lines)))


def test_bash_completes_commands_and_values(pages: Path) -> None:
    assert {"show", "model", "help"} <= set(complete(pages, ""))
    assert complete(pages, "model", "co") == ["compile", "codegen"]
    assert complete(pages, "help", "model", "dec") == ["decompile"]
    assert complete(pages, "fetch", "a.store", "--format", "") == ["table", "json", "csv"]
    assert complete(pages, "fetch", "a.store", "--spreadsheet-safe", "") == ["yes", "no"]
    assert complete(pages, "init", "Notes", "--language", "s") == ["swift"]


def test_pages_are_reproducible(pages: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(ROOT / "scripts/tool_pages.py"), str(TOOL), str(tmp_path)], check=True)
    for page in pages.rglob("*"):
        if page.is_file():
            assert page.read_bytes() == (tmp_path / page.relative_to(pages)).read_bytes()


@pytest.mark.parametrize(
    ("shell", "page"),
    [
        ("bash", "bash-completion/completions/corestone"),
        ("zsh", "zsh/site-functions/_corestone"),
        ("fish", "fish/vendor_completions.d/corestone.fish"),
    ],
)
def test_shells_read_the_completions(pages: Path, shell: str, page: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} on PATH")
    subprocess.run([shell, "-n", str(pages / page)], check=True)


def test_manual_page_is_formatted_without_warnings(pages: Path) -> None:
    if shutil.which("groff") is None:
        pytest.skip("there is no groff on PATH")
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-z"],
        input=manual(pages).encode(),
        capture_output=True,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        check=True,
    )
    assert done.stderr == b""
