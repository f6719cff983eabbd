#!/usr/bin/env python3
"""Builds the readers of foreign bytes with libFuzzer and runs each for a while: `make fuzz`.

usage: fuzz.py [--seconds N] [READER…]

What the fuzzer finds worth keeping stays in build/fuzz/READER/corpus, what breaks a reader in build/fuzz/READER.
SPDX-License-Identifier: MIT
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from damaged_models import FIXTURES, MEGABYTES, READERS, SECONDS
from project import BUILD, ROOT

FUZZ = BUILD / "fuzz"
LARGEST = 65536


def stores() -> list[bytes]:
    """Tests/C/damaged_stores.c does the counted part of the work for whole stores."""
    files = [path for path in sorted(FIXTURES.glob("stores/*/*")) if path.is_file()]
    return [path.read_bytes() for path in files if path.stat().st_size <= LARGEST]


def predicates() -> list[bytes]:
    """The formats of the sample cases, and those of the tests of the language."""
    texts = set(
        re.findall(r'"((?:[^"\\\n]|\\.)+)"', (ROOT / "Tests/CorestonePredicateTests/LanguageTests.swift").read_text())
    )
    cases = FIXTURES.parent / "predicate-cases.json"
    if cases.exists():
        texts |= {str(case["format"]) for case in json.loads(cases.read_text(encoding="utf-8"))}
    return [text.encode() for text in sorted(texts)]


SEEDS: dict[str, Callable[[], list[bytes]]] = {name: reader[0] for name, reader in READERS.items()} | {
    "store": stores,
    "predicate": predicates,
    "evaluation": predicates,
}


def build() -> Path:
    """The program, every module of it with the fuzzer's instruments."""
    scratch = str(BUILD / "swift/fuzz")
    command = [os.environ.get("SWIFT", "swift"), "build", "--configuration", "release", "--scratch-path", scratch]
    command += ["--product", "fuzz-readers", "-Xswiftc", "-sanitize=fuzzer", "-Xswiftc", "-use-ld=lld"]
    environment = {**os.environ, "CORESTONE_FUZZ": "1"}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=sys.stderr)
    shown = subprocess.run([*command, "--show-bin-path"], cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE)
    return Path(shown.stdout.decode().strip(), "fuzz-readers")


def run(program: Path, reader: str, seconds: int) -> bool:
    """One reader from the fixtures and what earlier runs found; whether it held."""
    folder = FUZZ / reader
    corpus, seeds = folder / "corpus", folder / "seeds"
    for place in (corpus, seeds):
        place.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(SEEDS[reader]()):
        (seeds / str(number)).write_bytes(content)
    command = [str(program), f"-max_total_time={seconds}", f"-timeout={SECONDS}", f"-rss_limit_mb={MEGABYTES}"]
    command += [f"-max_len={LARGEST}", "-print_final_stats=1", f"-artifact_prefix={folder}/", str(corpus), str(seeds)]
    environment = {**os.environ, "CORESTONE_READER": reader}
    with (folder / "log").open("wb") as log:
        outcome = subprocess.run(command, env=environment, stdout=log, stderr=subprocess.STDOUT, check=False)
    text = (folder / "log").read_text(errors="replace")
    figures = dict(re.findall(r"stat::(\w+):\s*(\d+)", text))
    print(
        f"{reader}: {'held' if outcome.returncode == 0 else 'FAILED, see ' + str(folder / 'log')}, "
        f"{figures.get('number_of_executed_units', '?')} inputs in {seconds} s, "
        f"{figures.get('new_units_added', '?')} kept, {figures.get('peak_rss_mb', '?')} MB at most",
        flush=True,
    )
    return outcome.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("readers", nargs="*", metavar="READER", help=", ".join(SEEDS))
    options = parser.parse_args()
    program = build()
    held = [run(program, reader, options.seconds) for reader in options.readers or SEEDS]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
