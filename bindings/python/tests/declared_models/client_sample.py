"""Classes with the version hashes of the model CoreDataClientSample.xcdatamodel."""

from __future__ import annotations

from datetime import datetime

from corestone.declarative import Entity, ToMany, to_many, to_one

SOURCE = "Browncoat+NCCCoreDataClient/CoreDataClientSample.xcdatamodeld/CoreDataClientSample.xcdatamodel"


class Comment(Entity):
    createdTime: datetime | None
    id_: str | None
    text: str | None
    from_: User | None = to_one(inverse=None, delete="no-action")


class ItemScope(Entity):
    descriptionString: str | None
    id_: str | None
    imagePath: str | None
    name: str | None
    type: str | None


class Media(Entity):
    id_: str | None
    link: str | None
    type: str | None


class Moment(Entity):
    id_: str | None
    kind: str | None
    startdate: datetime | None
    title: str | None
    type: str | None
    object: ItemScope | None = to_one(inverse=None, delete="no-action")


class Person(Entity):
    displayName: str | None
    id_: str | None
    url: str | None


class User(Entity):
    bio: str | None
    fullName: str | None
    id_: str | None
    profilePicturePath: str | None
    userName: str | None
    website: str | None
    comments: ToMany[Comment] = to_many(inverse=None, delete="no-action")


CLASSES = [Comment, ItemScope, Media, Moment, Person, User]
