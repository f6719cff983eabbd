"""Installs the packages of the Python peers, creates their store, and compares the tables of the stores."""

from __future__ import annotations

import datetime
import sqlite3
import subprocess
import sys
import venv
from pathlib import Path

# The Python peers from PyPI, and the module that each imports. Those of `TUPLES` read the store of the sqlite3 module.
PACKAGES = {
    "apsw": "apsw",
    "sqlalchemy_core": "sqlalchemy",
    "peewee": "peewee",
    "django": "django",
    "sqlalchemy": "sqlalchemy",
    "pony": "pony",
}
TUPLES = ["apsw"]
REFERENCE_DATE = datetime.datetime(2001, 1, 1)


def install_packages(python: Path) -> list[str]:
    """Returns the peers that can run. Installs the missing ones from PyPI in the environment of `python`."""
    if not python.exists():
        venv.create(python.parent.parent, with_pip=True)
    found = [peer for peer, module in PACKAGES.items() if has_module(python, module)]
    missing = sorted({module for peer, module in PACKAGES.items() if peer not in found})
    if missing:
        command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *missing]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            print(f"{', '.join(missing)} could not be installed; recorded ratios are used", file=sys.stderr)
        found = [peer for peer, module in PACKAGES.items() if has_module(python, module)]
    return found


def script(peer: str) -> str:
    """Returns the path of the program of a peer, relative to this folder."""
    kind = {"apsw": "_module", "sqlalchemy_core": ""}.get(peer, "_orm")
    return f"peers/{peer}{kind}.py"


def has_module(python: Path, module: str) -> bool:
    return subprocess.run([str(python), "-c", f"import {module}"], capture_output=True).returncode == 0


def rows(data: Path, file: str) -> list[list[str]]:
    return [line.split("\t") for line in (data / file).read_text(encoding="utf-8").splitlines()]


def make_orm_store(data: Path, path: Path) -> None:
    """Creates one store for all ORMs, with tables and dates like those that they create for the same model."""
    if path.exists():
        return
    partial = path.with_suffix(".part")
    partial.unlink(missing_ok=True)
    database = sqlite3.connect(partial)
    database.executescript(
        "CREATE TABLE department (pk INTEGER PRIMARY KEY, ent INTEGER, opt INTEGER, name TEXT, budget REAL);"
        "CREATE TABLE employee (pk INTEGER PRIMARY KEY, ent INTEGER, opt INTEGER, age INTEGER, active INTEGER,"
        " dept_fk INTEGER, salary REAL, hire DATETIME, name TEXT, email TEXT);"
        "CREATE INDEX employee_dept_fk ON employee (dept_fk);"
    )
    database.executemany("INSERT INTO department VALUES (?, 1, 1, ?, ?)", rows(data, "dept.tsv"))
    database.executemany(
        "INSERT INTO employee VALUES (?, 2, 1, ?, ?, ?, ?, ?, ?, ?)",
        (
            (pk, int(age), int(active), int(department), float(salary), hired_text(hired), name, email)
            for pk, name, email, age, salary, hired, active, department in rows(data, "emp.tsv")
        ),
    )
    database.commit()
    database.execute("PRAGMA journal_mode=WAL")
    database.close()
    partial.replace(path)


def hired_text(seconds: str) -> str:
    return (REFERENCE_DATE + datetime.timedelta(seconds=int(seconds))).strftime("%Y-%m-%d %H:%M:%S.%f")


def schema(path: str) -> dict[str, str]:
    """Returns the name and SQL of the tables and indexes of the company, without Core Data's own, and the pragmas."""
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        found = dict(database.execute("SELECT name, sql FROM sqlite_master WHERE sql NOT NULL"))
        for pragma in ("page_size", "auto_vacuum", "encoding", "journal_mode"):
            found[pragma] = str(database.execute(f"PRAGMA {pragma}").fetchone()[0])
    finally:
        database.close()
    return {name: sql for name, sql in found.items() if name not in ("Z_PRIMARYKEY", "Z_METADATA", "Z_MODELCACHE")}


def differences(raw: str, corestone: str) -> list[str]:
    """Returns the differences between the schemas of the two stores, which make a comparison unfair."""
    ours, theirs = schema(corestone), schema(raw)
    return [
        f"{name}: Corestone's store has {ours.get(name)!r}, the raw program's {theirs.get(name)!r}"
        for name in sorted(ours.keys() | theirs.keys())
        if ours.get(name) != theirs.get(name)
    ]
