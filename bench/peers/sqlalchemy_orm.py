# mypy: ignore-errors
# ruff: noqa: RUF012
"""Runs a workload with SQLAlchemy's ORM, with its identity map and version counter."""

import datetime

from sqlalchemy import ForeignKey, create_engine, event, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship, selectinload
from workload import PRAGMAS, QUERY_NAMES, Clock, keys, run

clock = Clock("sqlalchemy")


class Base(DeclarativeBase):
    pass


class Department(Base):
    __tablename__ = "department"
    pk: Mapped[int] = mapped_column(primary_key=True)
    ent: Mapped[int]
    opt: Mapped[int] = mapped_column()
    name: Mapped[str]
    budget: Mapped[float]
    employees: Mapped[list["Employee"]] = relationship(back_populates="department")
    __mapper_args__ = {"version_id_col": opt}


class Employee(Base):
    __tablename__ = "employee"
    pk: Mapped[int] = mapped_column(primary_key=True)
    ent: Mapped[int]
    opt: Mapped[int] = mapped_column()
    age: Mapped[int]
    active: Mapped[bool]
    dept_fk: Mapped[int] = mapped_column(ForeignKey("department.pk"))
    salary: Mapped[float]
    hire: Mapped[datetime.datetime]
    name: Mapped[str]
    email: Mapped[str]
    department: Mapped[Department] = relationship(back_populates="employees")
    __mapper_args__ = {"version_id_col": opt}


def connect(path):
    engine = create_engine(f"sqlite:///{path}")

    @event.listens_for(engine, "connect")
    def set_pragmas(connection, record):
        for name, value in PRAGMAS.items():
            connection.execute(f"PRAGMA {name}={value}")

    engine.connect().close()
    return Session(engine)


def read_all(data, path):
    session = connect(path)
    clock.begin()
    check = 0.0
    for one in session.scalars(select(Employee)).all():
        _ = one.name, one.email, one.hire
        check += one.age + one.salary + one.active
    clock.end("W3", 100_000, check)


def query(data, path):
    session = connect(path)
    clock.begin()
    total, check = 0, 0.0
    for name in QUERY_NAMES[:200]:  # 10 ms each: SQLAlchemy binds LIMIT, so SQLite selects a slower plan
        wanted = select(Employee).join(Employee.department).where(Employee.age > 40, Department.name == name)
        for one in session.scalars(wanted.order_by(Employee.salary.desc()).limit(50)).all():
            check += one.salary
            total += 1
    clock.end("W4", total, check)


def follow(data, path):
    session = connect(path)
    clock.begin()
    check = 0
    for one in session.scalars(select(Employee).options(selectinload(Employee.department))).all():
        check += len(one.department.name)
    clock.end("W5a", 100_000, check)


def look_up(data, path):
    session = connect(path)
    wanted, kept = keys(data, 20_000), []
    clock.begin()
    check = 0.0
    for key in wanted:
        one = session.get(Employee, key)
        kept.append(one)
        check += one.salary
    clock.end("W9_cold", len(wanted), check)
    clock.begin()
    check = 0.0
    for key in reversed(wanted):
        check += session.get(Employee, key).salary
    clock.end("W9_hot", len(wanted), check)


run({"W3": read_all, "W4": query, "W5a": follow, "W9": look_up})
