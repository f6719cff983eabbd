# mypy: ignore-errors
"""Runs a workload with peewee, used as in its manual."""

from peewee import (
    AutoField,
    BooleanField,
    DateTimeField,
    FloatField,
    ForeignKeyField,
    IntegerField,
    Model,
    SqliteDatabase,
    TextField,
)
from workload import PRAGMAS, QUERY_NAMES, Clock, keys, run

database = SqliteDatabase(None)
clock = Clock("peewee")


class Department(Model):
    pk = AutoField()
    ent = IntegerField()
    opt = IntegerField()
    name = TextField()
    budget = FloatField()

    class Meta:
        database = database
        table_name = "department"


class Employee(Model):
    pk = AutoField()
    ent = IntegerField()
    opt = IntegerField()
    age = IntegerField()
    active = BooleanField()
    department = ForeignKeyField(Department, backref="employees", column_name="dept_fk")
    salary = FloatField()
    hire = DateTimeField()
    name = TextField()
    email = TextField()

    class Meta:
        database = database
        table_name = "employee"


def connect(path):
    database.init(path, pragmas=PRAGMAS)
    database.connect()


def read_all(data, path):
    connect(path)
    clock.begin()
    check = 0.0
    for one in list(Employee.select()):
        _ = one.name, one.email, one.hire
        check += one.age + one.salary + one.active
    clock.end("W3", 100_000, check)


def query(data, path):
    connect(path)
    clock.begin()
    total, check = 0, 0.0
    for name in QUERY_NAMES[:200]:  # 10 ms each: peewee binds LIMIT, so SQLite selects a slower plan
        where = (Employee.age > 40) & (Department.name == name)
        for one in list(Employee.select().join(Department).where(where).order_by(Employee.salary.desc()).limit(50)):
            check += one.salary
            total += 1
    clock.end("W4", total, check)


def follow(data, path):
    connect(path)
    clock.begin()
    check = 0
    for one in list(Employee.select(Employee, Department).join(Department)):
        check += len(one.department.name)
    clock.end("W5a", 100_000, check)


def look_up(data, path):
    connect(path)
    wanted, kept = keys(data, 20_000), []
    clock.begin()
    check = 0.0
    for key in wanted:
        one = Employee.get_by_id(key)
        kept.append(one)
        check += one.salary
    clock.end("W9_cold", len(wanted), check)


run({"W3": read_all, "W4": query, "W5a": follow, "W9": look_up})
