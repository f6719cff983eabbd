#!/usr/bin/env python3
"""Writes the data set of the benchmarks: a company, which is the same in every run.

usage: generate.py DIRECTORY [--seed N] [--scale N]

100 departments, 1,000 projects, 100,000 employees, and for each employee one department and one to five projects, as
tab-separated UTF-8 text without headings (--scale divides these numbers):

    dept.tsv   key, name, budget
    proj.tsv   key, title, budget
    emp.tsv    key, name, email, age, salary, hire date (seconds since 2001-01-01), active (1 or 0), department key
    ep.tsv     employee key, project key: ascending
    ids.tsv    every employee key once, shuffled

The random numbers come from SplitMix64, so the files do not depend on Python's version or on the machine.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

DEPARTMENTS, PROJECTS, EMPLOYEES = 100, 1_000, 100_000
FIRST_NAMES, LAST_NAMES, PROJECT_WORDS = (
    words.split()
    for words in (
        "Alice Boris Chloe Dmitri Elena Farid Grace Hugo Irene Jonas Katya Liam Maria Nadia Oscar Priya Quentin Rosa "
        "Søren Zoë",
        "Andersson Bauer Castellano Dubois Eriksen Fitzgerald Gonzalez Haraldsen Ivanova Johansson Kowalczyk "
        "Lindqvist Marchetti Nakamura O'Sullivan Petrov Quintero Rasmussen Schneider Müller",
        "Apollo Beacon Cobalt Delta Ember Falcon Granite Harbor Indigo Juniper Kestrel Lumen Meridian Nimbus Orchid "
        "Prism",
    )
)
MAIL_SPELLING = str.maketrans({"'": None, "ü": "u"})
WORD = 0xFFFF_FFFF_FFFF_FFFF


def split_mix(seed: int) -> Iterator[int]:
    """Yields the endless sequence of SplitMix64, 64 random bits at each step."""
    state = seed
    while True:
        state = state + 0x9E37_79B9_7F4A_7C15 & WORD
        bits = (state ^ state >> 30) * 0xBF58_476D_1CE4_E5B9 & WORD
        bits = (bits ^ bits >> 27) * 0x94D0_49BB_1331_11EB & WORD
        yield bits ^ bits >> 31


class Company:
    """The data set, created from random numbers. Every file depends on the order in which the numbers are used."""

    def __init__(self, seed: int, scale: int = 1) -> None:
        self._bits = split_mix(seed)
        self._departments, self._projects = DEPARTMENTS // scale, PROJECTS // scale
        self._employees = EMPLOYEES // scale

    def below(self, bound: int) -> int:
        return next(self._bits) % bound

    def one_of(self, words: list[str]) -> str:
        return words[self.below(len(words))]

    def money(self, least: int, cents: int) -> str:
        return f"{least + self.below(cents) / 100:.2f}"

    def departments(self) -> Iterator[str]:
        for key in range(1, self._departments + 1):
            yield f"{key}\tDepartment {key:03d}\t{self.money(100_000, 90_000_000)}\n"

    def projects(self) -> Iterator[str]:
        for key in range(1, self._projects + 1):
            title = f"{self.one_of(PROJECT_WORDS)} {self.one_of(PROJECT_WORDS)} {key:04d}"
            yield f"{key}\t{title}\t{self.money(1_000, 50_000_000)}\n"

    def employees(self) -> Iterator[tuple[str, str]]:
        """Yields the line of emp.tsv and the lines of ep.tsv for each employee."""
        for key in range(1, self._employees + 1):
            first, last = self.one_of(FIRST_NAMES), self.one_of(LAST_NAMES)
            email = f"{first[0].lower()}.{last.lower().translate(MAIL_SPELLING)}{key:06d}@corp.test"
            age = 18 + self.below(50)
            salary = self.money(30_000, 12_000_000)
            hired = self.below(700_000_000)
            active = int(self.below(10) < 8)
            department = 1 + self.below(self._departments)
            line = f"{key}\t{first} {last} {key:05d}\t{email}\t{age}\t{salary}\t{hired}\t{active}\t{department}\n"
            projects = {1 + self.below(self._projects) for _ in range(1 + self.below(5))}
            yield line, "".join(f"{key}\t{project}\n" for project in sorted(projects))

    def shuffled_keys(self) -> list[int]:
        keys = list(range(1, self._employees + 1))
        for last in range(self._employees - 1, 0, -1):
            other = self.below(last + 1)
            keys[last], keys[other] = keys[other], keys[last]
        return keys


def generate(directory: Path, seed: int = 42, scale: int = 1) -> None:
    """Writes the five files. After a failure, some files may be missing, but each existing one is complete."""
    directory.mkdir(parents=True, exist_ok=True)
    company = Company(seed, scale)
    files: dict[str, list[str]] = {
        "dept.tsv": list(company.departments()),
        "proj.tsv": list(company.projects()),
        "emp.tsv": [],
        "ep.tsv": [],
    }
    for employee, links in company.employees():
        files["emp.tsv"].append(employee)
        files["ep.tsv"].append(links)
    files["ids.tsv"] = [f"{key}\n" for key in company.shuffled_keys()]
    for name, lines in files.items():
        partial = directory / f".{name}.part"
        partial.write_text("".join(lines), encoding="utf-8")
        partial.replace(directory / name)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the data set of the benchmarks.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--scale", type=int, default=1)
    arguments = parser.parse_args()
    generate(arguments.directory, arguments.seed, arguments.scale)


if __name__ == "__main__":
    main()
