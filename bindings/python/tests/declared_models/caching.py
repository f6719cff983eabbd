"""Classes with the version hashes of the model Caching.xcdatamodel."""

from __future__ import annotations

from corestone.declarative import URI, Entity, int16

SOURCE = "IvanHahan+CoreDataNetworkSyncingPlayground/Caching.xcdatamodeld/Caching.xcdatamodel"


class CachedRequest(Entity):
    body: bytes | None
    methodString: str
    name: str | None
    pathOptional: str
    priorityRaw: int16 | None = 0


class ModelChange(Entity):
    localId: URI | None
    modelName: str | None
    remoteId: str | None
    timestamp: float = 0.0
    type: str


CLASSES = [CachedRequest, ModelChange]
