"""Classes with the version hashes of the model Model.xcdatamodel."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from corestone.declarative import Entity, OrderedToMany, ToMany, int32, to_one

SOURCE = "JohnEstropia+CoreStore/Model.xcdatamodeld/Model.xcdatamodel"


class TestEntity1AAA(Entity):
    testBoolean: bool | None
    testData: bytes | None
    testDate: datetime | None
    testDecimal: Decimal | None
    testEntityID: int | None
    testNil: str | None
    testNumber: int32 | None
    testString: str | None
    testToManyUnordered: ToMany[TestEntity1AAA]
    testToOne: TestEntity1AAA | None = to_one(inverse="testToManyUnordered")


class TestEntity2(Entity):
    testBoolean: bool | None
    testData: bytes | None
    testDate: datetime | None
    testDecimal: Decimal | None
    testEntityID: int | None
    testNil: str | None
    testNumber: int32 | None
    testString: str | None
    testToManyOrdered: OrderedToMany[TestEntity2]
    testToOne: TestEntity2 | None = to_one(inverse="testToManyOrdered")


CLASSES = [TestEntity1AAA, TestEntity2]
