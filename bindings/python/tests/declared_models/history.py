"""Classes with the version hashes of the model BrowsingHistory.xcdatamodel."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from corestone.declarative import URI, Entity, ToMany, attribute, to_many, to_one

SOURCE = "duckduckgo+BrowserServicesKit/BrowsingHistory.xcdatamodeld/BrowsingHistory.xcdatamodel"


class BrowsingHistoryEntryManagedObject(Entity):
    blockedTrackingEntities: str | None
    failedToLoad: bool = False
    identifier: UUID
    lastVisit: datetime
    numberOfTotalVisits: int | None = attribute(renaming_identifier="numberOfVisits", default=0)
    numberOfTrackersBlocked: int | None = 0
    title: str | None = attribute(transformer="NSStringTransformer")
    trackersFound: bool | None
    url: URI = attribute(transformer="NSURLTransformer")
    visits: ToMany[PageVisitManagedObject] = to_many(delete="cascade")


class PageVisitManagedObject(Entity):
    date: datetime
    historyEntry: BrowsingHistoryEntryManagedObject = to_one(inverse="visits")


CLASSES = [BrowsingHistoryEntryManagedObject, PageVisitManagedObject]
