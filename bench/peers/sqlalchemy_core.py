# mypy: ignore-errors
"""Runs a workload with SQLAlchemy Core: rows of named columns, without the ORM."""

from sqlalchemy import (
    Boolean,
    Column,
    DateTime,
    Float,
    ForeignKey,
    Integer,
    MetaData,
    String,
    Table,
    bindparam,
    create_engine,
    event,
    select,
)
from workload import PRAGMAS, QUERY_NAMES, Clock, keys, run

clock = Clock("sqlalchemy_core")
metadata = MetaData()
department = Table(
    "department",
    metadata,
    Column("pk", Integer, primary_key=True),
    Column("name", String),
    Column("budget", Float),
)
employee = Table(
    "employee",
    metadata,
    Column("pk", Integer, primary_key=True),
    Column("age", Integer),
    Column("active", Boolean),
    Column("dept_fk", ForeignKey("department.pk")),
    Column("salary", Float),
    Column("hire", DateTime),
    Column("name", String),
    Column("email", String),
)


def connect(path):
    engine = create_engine(f"sqlite:///{path}")

    @event.listens_for(engine, "connect")
    def set_pragmas(connection, record):
        for name, value in PRAGMAS.items():
            connection.execute(f"PRAGMA {name}={value}")

    return engine.connect()


def read_all(data, path):
    connection = connect(path)
    clock.begin()
    check = 0.0
    for one in connection.execute(select(employee)).all():
        _ = one.name, one.email, one.hire
        check += one.age + one.salary + one.active
    clock.end("W3", 100_000, check)


def query(data, path):
    connection = connect(path)
    wanted = (
        select(employee)
        .join(department)
        .where(employee.c.age > 40, department.c.name == bindparam("department"))
        .order_by(employee.c.salary.desc())
        .limit(50)
    )
    clock.begin()
    total, check = 0, 0.0
    for name in QUERY_NAMES[:200]:  # as for the ORM
        for one in connection.execute(wanted, {"department": name}).all():
            check += one.salary
            total += 1
    clock.end("W4", total, check)


def follow(data, path):
    connection = connect(path)
    clock.begin()
    check = 0
    joined = select(employee, department.c.name.label("department_name")).join(department)
    for one in connection.execute(joined).all():
        check += len(one.department_name)
    clock.end("W5a", 100_000, check)


def look_up(data, path):
    connection = connect(path)
    wanted, kept = keys(data, 20_000), []
    by_key = select(employee).where(employee.c.pk == bindparam("key"))
    clock.begin()
    check = 0.0
    for key in wanted:
        one = connection.execute(by_key, {"key": key}).one()
        kept.append(one)
        check += one.salary
    clock.end("W9_cold", len(wanted), check)


run({"W3": read_all, "W4": query, "W5a": follow, "W9": look_up})
