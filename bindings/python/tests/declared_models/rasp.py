"""Classes with the version hashes of the model CoreData.xcdatamodel."""

from __future__ import annotations

from datetime import datetime

from corestone.declarative import Entity

SOURCE = "Hery77771+mik_altunin_rasp_v1/CoreData.xcdatamodeld/CoreData.xcdatamodel"


class AMObjects(Entity):
    """An entity without properties of its own."""


class AMCustomVSchedule(AMObjects):
    courseArray: bytes | None
    groupName: str | None
    scheduleName: str | None


class AMNotes(AMObjects):
    addTime: datetime | None
    endTime: datetime | None
    name: str | None
    text: str | None


class AMxlsFile(AMObjects):
    changeDate: datetime | None
    name: str | None


CLASSES = [AMObjects, AMCustomVSchedule, AMNotes, AMxlsFile]
