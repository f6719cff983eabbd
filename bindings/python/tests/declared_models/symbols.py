"""Classes with the version hashes of the model Symbols.xcdatamodel."""

from __future__ import annotations

from corestone.declarative import Entity, ToMany, int16, to_many, to_one

SOURCE = "willbur1984+WabbitStudio-CoreData/Symbols.xcdatamodeld/Symbols.xcdatamodel"


class CalledLabel(Entity):
    labelName: str | None
    lineNumber: int | None = 0
    location: int | None = 0
    name: str | None
    range: str | None
    fileContainer: FileContainer | None = to_one(inverse="calledLabels", minimum=1)


class Symbol(Entity, abstract=True):
    lineNumber: int | None = 0
    location: int | None = 0
    name: str | None
    range: str | None
    type: int16 | None = 0
    fileContainer: FileContainer | None = to_one(inverse="symbols", minimum=1)


class Define(Symbol):
    arguments: str | None
    value: str | None


class Equate(Symbol):
    value: str | None


class FileContainer(Entity):
    path: str | None
    uuid: str
    calledLabels: ToMany[CalledLabel]
    symbols: ToMany[Symbol] = to_many(delete="cascade")


class Label(Symbol):
    isCalled: bool | None = False


class Macro(Symbol):
    arguments: str | None
    value: str | None


CLASSES = [CalledLabel, Symbol, Define, Equate, FileContainer, Label, Macro]
