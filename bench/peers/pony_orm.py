# mypy: ignore-errors
"""Runs a workload with Pony, used as in its manual."""

import datetime

from pony.orm import Database, Optional, PrimaryKey, Required, Set, db_session, desc, select
from workload import PRAGMAS, QUERY_NAMES, Clock, keys, run

database = Database()
clock = Clock("pony")


class Department(database.Entity):
    _table_ = "department"
    pk = PrimaryKey(int)
    ent = Optional(int)
    opt = Optional(int)
    name = Required(str)
    budget = Required(float)
    employees = Set("Employee")


class Employee(database.Entity):
    _table_ = "employee"
    pk = PrimaryKey(int)
    ent = Optional(int)
    opt = Optional(int)
    age = Required(int)
    active = Required(bool)
    department = Required(Department, column="dept_fk")
    salary = Required(float)
    hire = Required(datetime.datetime)
    name = Required(str)
    email = Required(str)


def connect(path):
    @database.on_connect
    def set_pragmas(_, connection):
        for name, value in PRAGMAS.items():
            connection.execute(f"PRAGMA {name}={value}")

    database.bind(provider="sqlite", filename=path)
    database.generate_mapping(check_tables=False)


@db_session
def read_all(data, path):
    connect(path)
    clock.begin()
    check = 0.0
    for one in Employee.select()[:]:
        _ = one.name, one.email, one.hire
        check += one.age + one.salary + one.active
    clock.end("W3", 100_000, check)


@db_session
def query(data, path):
    connect(path)
    clock.begin()
    total, check = 0, 0.0
    for name in QUERY_NAMES[:200]:  # as for the other ORMs
        found = select(each for each in Employee if each.age > 40 and each.department.name == name)
        for one in found.order_by(lambda each: desc(each.salary)).limit(50):
            check += one.salary
            total += 1
    clock.end("W4", total, check)


@db_session
def follow(data, path):
    connect(path)
    clock.begin()
    check = 0
    for one in Employee.select().prefetch(Department)[:]:
        check += len(one.department.name)
    clock.end("W5a", 100_000, check)


@db_session
def look_up(data, path):
    connect(path)
    wanted, kept = keys(data, 20_000), []
    clock.begin()
    check = 0.0
    for key in wanted:
        one = Employee[key]
        kept.append(one)
        check += one.salary
    clock.end("W9_cold", len(wanted), check)
    clock.begin()
    check = 0.0
    for key in reversed(wanted):
        check += Employee[key].salary
    clock.end("W9_hot", len(wanted), check)


run({"W3": read_all, "W4": query, "W5a": follow, "W9": look_up})
