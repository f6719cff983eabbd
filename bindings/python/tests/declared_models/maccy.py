"""Classes with the version hashes of the model Storage.xcdatamodel."""

from __future__ import annotations

from datetime import datetime

from corestone.declarative import Entity, ToMany, attribute, to_many, to_one

SOURCE = "p0deje+Maccy/Storage.xcdatamodeld/Storage.xcdatamodel"


class HistoryItem(Entity):
    application: str | None
    firstCopiedAt: datetime
    lastCopiedAt: datetime
    numberOfCopies: int | None = 0
    pin: str | None
    title: str | None = attribute(maximum=203)
    contents: ToMany[HistoryItemContent] = to_many(optional=False, delete="cascade")


class HistoryItemContent(Entity):
    type: str | None
    value: bytes | None
    item: HistoryItem | None = to_one(inverse="contents")


CLASSES = [HistoryItem, HistoryItemContent]
