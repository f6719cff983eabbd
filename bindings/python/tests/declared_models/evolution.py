"""Classes with the version hashes of the model CoreDataEvolutionIntegrationModel.xcdatamodel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

from corestone.declarative import Entity, ToMany, attribute, int16, to_one

SOURCE = (
    "fatbobman+CoreDataEvolution/CoreDataEvolutionIntegrationModel.xcdatamodeld/"
    "CoreDataEvolutionIntegrationModel.xcdatamodel"
)


@dataclass(frozen=True)
class CDEItemLocation:
    x: Annotated[float, attribute(default=0.0)]
    y: float | None


class CDEItem(Entity):
    id_: UUID | None
    name: str = ""
    priority: int16 = 0
    status_raw: str | None
    config_blob: bytes | None
    location: CDEItemLocation | None
    keywords_payload: Any = attribute("transformable", transformer="NSSecureUnarchiveFromData", optional=True)
    tag: CDETag | None = to_one(inverse="items")


class CDETag(Entity):
    id_: UUID | None
    label: str = ""
    items: ToMany[CDEItem]


CLASSES = [CDEItem, CDETag]
