"""Runs a workload with Corestone's Python package.

usage: corestone_package.py WORKLOAD DATA STORE     W1 W3 W3_rows W4 W5a W6 W7 W9

W3 reads attributes of objects one by one; W3_rows reads the same values with `rows`, a tuple for each object.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import corestone
from corestone._abi import wrappers
from workload import QUERY_NAMES, Clock, copied, keys, raised, rows, run

REFERENCE_DATE = datetime(2001, 1, 1, tzinfo=timezone.utc)
MODEL = {
    "Department": {"name": "string?", "budget": "double?", "employees": "to-many Employee inverse department"},
    "Project": {"title": "string?", "budget": "double?", "employees": "to-many Employee inverse projects"},
    "Employee": {
        "name": "string?",
        "email": "string?",
        "age": "int32?",
        "salary": "double?",
        "hireDate": "date?",
        "active": "bool?",
        "department": "to-one Department? inverse employees",
        "projects": "to-many Project inverse employees",
    },
}
# The accelerator is on or off for a whole process.
clock = Clock("python" if wrappers.accelerator is not None else "python_plain")


def open_container(path: str) -> corestone.Container:
    return corestone.Container(corestone.Model(MODEL), path, sync="normal", cache_kb=32768)


def insert(data: str, path: str) -> None:
    employees = [
        (name, email, int(age), float(salary), REFERENCE_DATE + timedelta(seconds=int(hired)), active == "1", int(key))
        for _, name, email, age, salary, hired, active, key in rows(data, "emp.tsv")
    ]
    links: list[list[int]] = [[] for _ in employees]
    for employee, project in rows(data, "ep.tsv"):
        links[int(employee) - 1].append(int(project))
    heads = [(name, float(budget)) for _, name, budget in rows(data, "dept.tsv")]
    titles = [(title, float(budget)) for _, title, budget in rows(data, "proj.tsv")]
    for suffix in ("", "-wal", "-shm"):
        Path(path + suffix).unlink(missing_ok=True)
    with open_container(path) as container:
        context = container.context()
        clock.begin()
        departments = [context.insert("Department", name=name, budget=budget) for name, budget in heads]
        projects = [context.insert("Project", title=title, budget=budget) for title, budget in titles]
        for (name, email, age, salary, hired, active, department), members in zip(employees, links):
            context.insert(
                "Employee",
                name=name,
                email=email,
                age=age,
                salary=salary,
                hireDate=hired,
                active=active,
                department=departments[department - 1],
                projects=[projects[project - 1] for project in members],
            )
        context.save()
        clock.end("W1", len(employees), sum(map(len, links)))


def read_all(data: str, path: str) -> None:
    with open_container(path) as container:
        clock.begin()
        check = 0.0
        for one in container.context().fetch("Employee"):
            _ = one.name, one.email, one.hireDate
            check += one.age + one.salary + one.active
        clock.end("W3", 100_000, check)


def read_rows(data: str, path: str) -> None:
    with open_container(path) as container:
        clock.begin()
        check = 0.0
        found = container.context().fetch("Employee")
        for _name, _email, _hired, age, salary, active in found.rows(
            "name", "email", "hireDate", "age", "salary", "active"
        ):
            check += age + salary + active
        clock.end("W3_rows", 100_000, check)


def query(data: str, path: str) -> None:
    with open_container(path) as container:
        context = container.context()
        clock.begin()
        total, check = 0, 0.0
        for name in QUERY_NAMES:
            for one in context.fetch(
                "Employee", "age > %d AND department.name == %@", 40, name, sort=["-salary"], limit=50
            ):
                check += one.salary
                total += 1
        clock.end("W4", total, check)


def follow(data: str, path: str) -> None:
    with open_container(path) as container:
        clock.begin()
        check = 0
        for one in container.context().fetch("Employee", prefetch=["department"]):
            check += len(one.department.name)
        clock.end("W5a", 100_000, check)


def look_up(data: str, path: str) -> None:
    with open_container(path) as container:
        context = container.context()
        store = container.store.identifier
        found = (container.object_id(f"x-coredata://{store}/Employee/p{key}") for key in keys(data))
        ids = [object_id for object_id in found if object_id is not None]
        clock.begin()
        check, kept = 0.0, []
        for object_id in ids:
            one = context.get(object_id)
            kept.append(one)
            check += one.salary
        clock.end("W9_cold", len(ids), check)
        clock.begin()
        check = 0.0
        for object_id in reversed(ids):
            check += context.get(object_id).salary
        clock.end("W9_hot", len(ids), check)


def change(data: str, path: str) -> None:
    with open_container(copied(path, "W6")) as container:
        context = container.context()
        employees = list(context.fetch("Employee"))
        clock.begin()
        changed = employees[3::10]
        for one in changed:
            one.salary = raised(one.salary)
        context.save()
        clock.stop()
        report(container, "W6", len(changed))


def delete(data: str, path: str) -> None:
    with open_container(copied(path, "W7")) as container:
        context = container.context()
        employees = list(context.fetch("Employee"))
        clock.begin()
        leaving = employees[3::10]
        for one in leaving:
            context.delete(one)
        context.save()
        clock.stop()
        report(container, "W7", len(leaving))


def report(container: corestone.Container, workload: str, count: int) -> None:
    salaries = [salary for (salary,) in container.context().fetch("Employee").rows("salary")]
    clock.report(workload, count, sum(salaries) + len(salaries))


if __name__ == "__main__":
    run(
        {
            "W1": insert,
            "W3": read_all,
            "W3_rows": read_rows,
            "W4": query,
            "W5a": follow,
            "W6": change,
            "W7": delete,
            "W9": look_up,
        }
    )
