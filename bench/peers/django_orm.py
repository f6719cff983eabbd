# mypy: ignore-errors
"""Runs a workload with Django's ORM, without a Django project."""

import django
from django.conf import settings
from workload import PRAGMAS, QUERY_NAMES, Clock, keys, run

DATABASE = {
    "ENGINE": "django.db.backends.sqlite3",
    "NAME": ":memory:",
    "OPTIONS": {"init_command": ";".join(f"PRAGMA {name}={value}" for name, value in PRAGMAS.items())},
}
settings.configure(USE_TZ=False, DEFAULT_AUTO_FIELD="django.db.models.BigAutoField", DATABASES={"default": DATABASE})
django.setup()

from django.db import connection, models, transaction  # noqa: E402  (possible only after setup)

clock = Clock("django")


class Department(models.Model):
    id = models.AutoField(primary_key=True, db_column="pk")
    ent = models.IntegerField()
    opt = models.IntegerField()
    name = models.TextField()
    budget = models.FloatField()

    class Meta:
        app_label = "bench"
        db_table = "department"


class Employee(models.Model):
    id = models.AutoField(primary_key=True, db_column="pk")
    ent = models.IntegerField()
    opt = models.IntegerField()
    age = models.IntegerField()
    active = models.BooleanField()
    department = models.ForeignKey(Department, models.DO_NOTHING, related_name="employees", db_column="dept_fk")
    salary = models.FloatField()
    hire = models.DateTimeField()
    name = models.TextField()
    email = models.TextField()

    class Meta:
        app_label = "bench"
        db_table = "employee"


def connect(path):
    connection.close()
    connection.settings_dict["NAME"] = path
    connection.connect()


def read_all(data, path):
    connect(path)
    clock.begin()
    check = 0.0
    for one in list(Employee.objects.all()):
        _ = one.name, one.email, one.hire
        check += one.age + one.salary + one.active
    clock.end("W3", 100_000, check)


def query(data, path):
    connect(path)
    clock.begin()
    total, check = 0, 0.0
    for name in QUERY_NAMES:
        for one in list(Employee.objects.filter(age__gt=40, department__name=name).order_by("-salary")[:50]):
            check += one.salary
            total += 1
    clock.end("W4", total, check)


def follow(data, path):
    connect(path)
    clock.begin()
    check = 0
    for one in list(Employee.objects.select_related("department")):
        check += len(one.department.name)
    clock.end("W5a", 100_000, check)


def look_up(data, path):
    connect(path)
    wanted, kept = keys(data, 20_000), []
    clock.begin()
    check = 0.0
    with transaction.atomic():
        for key in wanted:
            one = Employee.objects.get(pk=key)
            kept.append(one)
            check += one.salary
    clock.end("W9_cold", len(wanted), check)


run({"W3": read_all, "W4": query, "W5a": follow, "W9": look_up})
