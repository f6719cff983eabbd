"""Classes with the version hashes of the model Model.xcdatamodel."""

from __future__ import annotations

from decimal import Decimal

from corestone.declarative import Entity, ToMany, index, to_one

SOURCE = "Drvolks+nutrientwise/Model.xcdatamodel"


class ConversionFactor(Entity):
    conversionFactor: Decimal | None = Decimal("0")
    foodName: FoodName | None = to_one(inverse="conversionFactors", minimum=1)
    maesure: Measure | None = to_one(inverse=None, minimum=1)


class FoodName(Entity):
    englishName: str | None
    foodId: float = 0.0
    frenchName: str | None
    conversionFactors: ToMany[ConversionFactor]
    nutritiveValues: ToMany[NutritiveValue]
    by_englishName = index("englishName", name="englishName")
    by_foodId = index("foodId", name="foodId")
    by_frenchName = index("frenchName", name="frenchName")


class Measure(Entity):
    englishName: str | None
    frenchName: str | None
    measureId: float | None = 0.0


class NutritiveName(Entity):
    englishName: str | None
    frenchName: str | None
    nutritiveNameId: float | None = 0.0
    nutritiveSymbol: str | None
    unit: str | None


class NutritiveValue(Entity):
    nutritiveValue: Decimal | None = Decimal("0")
    foodName: FoodName | None = to_one(inverse="nutritiveValues", minimum=1)
    nutritiveName: NutritiveName | None = to_one(inverse=None, minimum=1)


CLASSES = [ConversionFactor, FoodName, Measure, NutritiveName, NutritiveValue]
