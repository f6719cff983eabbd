"""Classes with the version hashes of the model Version 3.xcdatamodel."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from corestone.declarative import Entity, ToMany, to_many, to_one

SOURCE = "jessesquires+JSQCoreDataKit/ExampleModel.xcdatamodeld/Version 3.xcdatamodel"


class Company(Entity):
    dateFounded: datetime
    name: str
    profits: Decimal = Decimal("0")
    employees: ToMany[Employee] = to_many(optional=False, delete="cascade")


class Employee(Entity):
    birthDate: datetime
    name: str
    salary: Decimal = Decimal("0")
    company: Company | None = to_one(inverse="employees")


CLASSES = [Company, Employee]
