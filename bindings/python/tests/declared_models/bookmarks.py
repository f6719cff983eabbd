"""Classes with the version hashes of the model BookmarksModel 4.xcdatamodel."""

from __future__ import annotations

from datetime import datetime

from corestone.declarative import Entity, OrderedToMany, ToMany, attribute, index, to_many, to_one

SOURCE = "duckduckgo+BrowserServicesKit/BookmarksModel.xcdatamodeld/BookmarksModel 4.xcdatamodel"


class BookmarkEntity(Entity):
    isFolder: bool
    isPendingDeletion: bool | None = attribute(version_hash_modifier="3", default=False)
    modifiedAt: datetime | None
    title: str | None
    url: str | None = attribute(version_hash_modifier="3")
    uuid: str = attribute(version_hash_modifier="3")
    children: OrderedToMany[BookmarkEntity] = to_many(delete="cascade")
    favoriteFolders: ToMany[BookmarkEntity] = to_many(inverse="favorites", renaming_identifier="favoriteFolder")
    favorites: OrderedToMany[BookmarkEntity]
    parent: BookmarkEntity | None = to_one(inverse="children")
    by_isPendingDeletion = index("isPendingDeletion", name="isPendingDeletion")
    byUUID = index("uuid", "isPendingDeletion")
    byURL = index("url", "isPendingDeletion")
    byIsPendingDeletion = index("isPendingDeletion")


CLASSES = [BookmarkEntity]
