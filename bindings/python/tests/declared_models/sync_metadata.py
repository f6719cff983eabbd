"""Classes with the version hashes of the model SyncMetadata 4.xcdatamodel."""

from __future__ import annotations

from datetime import datetime

from corestone.declarative import Entity, index

SOURCE = "duckduckgo+BrowserServicesKit/SyncMetadata.xcdatamodeld/SyncMetadata 4.xcdatamodel"


class SyncableSettingsMetadata(Entity, unique=["key"]):
    key: str
    lastModified: datetime | None
    by_key = index("key", name="key")
    byKey = index("key")


class SyncFeatureEntity(Entity, unique=["name"]):
    lastModified: str | None
    lastSyncLocalTimestamp: datetime | None
    name: str
    state: str | None
    by_name = index("name", name="name")
    byName = index("name")


CLASSES = [SyncableSettingsMetadata, SyncFeatureEntity]
