# mypy: ignore-errors
"""Runs a workload with apsw and tuples. apsw contains its own SQLite."""

import apsw
from workload import PRAGMAS, QUERY_NAMES, Clock, keys, run

clock = Clock("apsw", apsw.sqlite_lib_version())
COLUMNS = "Z_PK, Z_OPT, ZAGE, ZACTIVE, ZDEPARTMENT, ZSALARY, ZHIREDATE, ZNAME, ZEMAIL"


def connect(path):
    database = apsw.Connection(path)
    for pragma, value in PRAGMAS.items():
        database.execute(f"PRAGMA {pragma}={value}")
    return database


def read_all(data, path):
    database = connect(path)
    clock.begin()
    check = 0.0
    for _, _, age, active, _, salary, _, _, _ in database.execute(f"SELECT {COLUMNS} FROM ZEMPLOYEE").fetchall():
        check += age + salary + active
    clock.end("W3", 100_000, check)


def query(data, path):
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


def look_up(data, path):
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


run({"W3": read_all, "W4": query, "W9": look_up})
