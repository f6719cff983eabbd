"""Runs a workload with Python's sqlite3 module and tuples, on tables like those of a store of Corestone."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from workload import PRAGMAS, QUERY_NAMES, Clock, copied, keys, raised, rows, run

clock = Clock("sqlite3")
COLUMNS = "Z_PK, Z_OPT, ZAGE, ZACTIVE, ZDEPARTMENT, ZSALARY, ZHIREDATE, ZNAME, ZEMAIL"
SCHEMA = """
CREATE TABLE ZDEPARTMENT ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZBUDGET FLOAT, ZNAME VARCHAR );
CREATE TABLE ZEMPLOYEE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZACTIVE INTEGER, ZAGE INTEGER,
    ZDEPARTMENT INTEGER, ZHIREDATE TIMESTAMP, ZSALARY FLOAT, ZEMAIL VARCHAR, ZNAME VARCHAR );
CREATE TABLE Z_2PROJECTS ( Z_2EMPLOYEES INTEGER, Z_3PROJECTS INTEGER, PRIMARY KEY (Z_2EMPLOYEES, Z_3PROJECTS) );
CREATE TABLE ZPROJECT ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZBUDGET FLOAT, ZTITLE VARCHAR );
CREATE INDEX ZEMPLOYEE_ZDEPARTMENT_INDEX ON ZEMPLOYEE (ZDEPARTMENT);
CREATE INDEX Z_2PROJECTS_Z_3PROJECTS_INDEX ON Z_2PROJECTS (Z_3PROJECTS, Z_2EMPLOYEES);
"""


def connect(path: str) -> sqlite3.Connection:
    database = sqlite3.connect(path, isolation_level=None)
    for pragma, value in PRAGMAS.items():
        database.execute(f"PRAGMA {pragma}={value}")
    return database


def insert(data: str, path: str) -> None:
    departments = [(int(pk), float(budget), name) for pk, name, budget in rows(data, "dept.tsv")]
    projects = [(int(pk), float(budget), title) for pk, title, budget in rows(data, "proj.tsv")]
    employees = [
        (int(pk), int(active), int(age), int(department), float(hired), float(salary), email, name)
        for pk, name, email, age, salary, hired, active, department in rows(data, "emp.tsv")
    ]
    links = [(int(employee), int(project)) for employee, project in rows(data, "ep.tsv")]
    for suffix in ("", "-wal", "-shm"):
        Path(path + suffix).unlink(missing_ok=True)
    database = connect(path)
    database.executescript(SCHEMA)
    clock.begin()
    database.execute("BEGIN IMMEDIATE")
    database.executemany("INSERT INTO ZDEPARTMENT VALUES (?, 1, 1, ?, ?)", departments)
    database.executemany("INSERT INTO ZPROJECT VALUES (?, 3, 1, ?, ?)", projects)
    database.executemany("INSERT INTO ZEMPLOYEE VALUES (?, 2, 1, ?, ?, ?, ?, ?, ?, ?)", employees)
    database.executemany("INSERT INTO Z_2PROJECTS VALUES (?, ?)", links)
    database.execute("COMMIT")
    clock.end("W1", len(employees), len(links))
    database.close()


def read_all(data: str, path: str) -> None:
    database = connect(path)
    clock.begin()
    check = 0.0
    for _, _, age, active, _, salary, _hired, _name, _email in database.execute(
        f"SELECT {COLUMNS} FROM ZEMPLOYEE"
    ).fetchall():
        check += age + salary + active
    clock.end("W3", 100_000, check)


def query(data: str, path: str) -> None:
    database = connect(path)
    columns = ", ".join(f"e.{column}" for column in COLUMNS.split(", "))
    select = (
        f"SELECT {columns} FROM ZEMPLOYEE e JOIN ZDEPARTMENT d ON d.Z_PK = e.ZDEPARTMENT"
        " WHERE e.ZAGE > 40 AND d.ZNAME = ? ORDER BY e.ZSALARY DESC LIMIT 50"
    )
    clock.begin()
    total, check = 0, 0.0
    for name in QUERY_NAMES:
        for row in database.execute(select, (name,)).fetchall():
            check += row[5]
            total += 1
    clock.end("W4", total, check)


def follow(data: str, path: str) -> None:
    database = connect(path)
    clock.begin()
    departments = {row[0]: row for row in database.execute("SELECT Z_PK, ZNAME, ZBUDGET FROM ZDEPARTMENT")}
    check = 0
    for row in database.execute(f"SELECT {COLUMNS} FROM ZEMPLOYEE").fetchall():
        check += len(departments[row[4]][1])
    clock.end("W5a", 100_000, check)


def look_up(data: str, path: str) -> None:
    database, wanted = connect(path), keys(data)
    select = f"SELECT {COLUMNS} FROM ZEMPLOYEE WHERE Z_PK = ?"
    clock.begin()
    check, known = 0.0, {}
    database.execute("BEGIN")
    for key in wanted:
        row = known[key] = database.execute(select, (key,)).fetchone()
        check += row[5]
    database.execute("COMMIT")
    clock.end("W9_cold", len(wanted), check)
    clock.begin()
    check = 0.0
    for key in reversed(wanted):
        check += known[key][5]
    clock.end("W9_hot", len(wanted), check)


SUM = "SELECT TOTAL(ZSALARY) + COUNT(*) FROM ZEMPLOYEE"


def change(data: str, path: str) -> None:
    database = connect(copied(path, "W6"))
    loaded = database.execute(f"SELECT {COLUMNS} FROM ZEMPLOYEE").fetchall()
    clock.begin()
    changes = [(row[1] + 1, raised(row[5]), row[0], row[1]) for row in loaded[3::10]]
    database.execute("BEGIN IMMEDIATE")
    database.executemany("UPDATE ZEMPLOYEE SET Z_OPT = ?, ZSALARY = ? WHERE Z_PK = ? AND Z_OPT = ?", changes)
    database.execute("COMMIT")
    clock.stop()
    clock.report("W6", len(changes), database.execute(SUM).fetchone()[0])


def delete(data: str, path: str) -> None:
    database = connect(copied(path, "W7"))
    loaded = database.execute(f"SELECT {COLUMNS} FROM ZEMPLOYEE").fetchall()
    clock.begin()
    leaving = [(row[0], row[1]) for row in loaded[3::10]]
    database.execute("BEGIN IMMEDIATE")
    database.executemany("DELETE FROM Z_2PROJECTS WHERE Z_2EMPLOYEES = ?", [row[:1] for row in leaving])
    database.executemany("DELETE FROM ZEMPLOYEE WHERE Z_PK = ? AND Z_OPT = ?", leaving)
    database.execute("COMMIT")
    clock.stop()
    clock.report("W7", len(leaving), database.execute(SUM).fetchone()[0])


run({"W1": insert, "W3": read_all, "W4": query, "W5a": follow, "W6": change, "W7": delete, "W9": look_up})
