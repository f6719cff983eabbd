"""Mapping models, which describe how objects of one version of a model become objects of another."""

from __future__ import annotations

import os
from ctypes import byref
from dataclasses import dataclass, field
from typing import Any

from . import _abi
from ._abi import lib, path_argument
from ._call import call, owned
from .archive import read_json
from .model import Model


@dataclass(frozen=True)
class PropertyMapping:
    """The source of the value of one property of the destination."""

    name: str
    #: A format string; `$source` is the object that is migrated, `$manager` the migration. None keeps the value.
    expression: str | None = None
    #: Whether there is an expression without a counterpart in the library.
    unreadable: bool = False
    user_info: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class EntityMapping:
    """A mapping from the objects of one entity to those of another."""

    name: str
    #: "custom", "add", "remove", "copy", "transform" or "undefined".
    kind: str
    source: str | None
    destination: str | None
    source_hash: bytes | None
    destination_hash: bytes | None
    attributes: tuple[PropertyMapping, ...]
    relationships: tuple[PropertyMapping, ...]
    #: The class of an Apple host that executes a custom mapping.
    policy_class: str | None
    source_expression: str | None
    user_info: dict[str, str]


def _property(fields: dict[str, Any]) -> PropertyMapping:
    return PropertyMapping(
        fields["name"], fields.get("expression"), fields.get("unreadable", False), fields.get("userInfo", {})
    )


def _entity(fields: dict[str, Any]) -> EntityMapping:
    return EntityMapping(
        name=fields["name"],
        kind=fields["kind"],
        source=fields.get("source"),
        destination=fields.get("destination"),
        source_hash=fields.get("sourceHash"),
        destination_hash=fields.get("destinationHash"),
        attributes=tuple(map(_property, fields["attributes"])),
        relationships=tuple(map(_property, fields["relationships"])),
        policy_class=fields.get("policyClass"),
        source_expression=fields.get("sourceExpression"),
        user_info=fields.get("userInfo", {}),
    )


class MappingModel:
    """A mapping model that Xcode wrote. It is immutable; any thread can read it."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        buffer = _abi.Buffer()
        call(lib.cst_mapping_model_copy_json, handle, byref(buffer))
        said = read_json(buffer)
        #: In the order of execution.
        self.entity_mappings: tuple[EntityMapping, ...] = tuple(map(_entity, said["entityMappings"]))
        #: The original paths of the models.
        self.source_path: str | None = said.get("sourcePath")
        self.destination_path: str | None = said.get("destinationPath")

    @classmethod
    def load(cls, source: str | os.PathLike[str] | bytes) -> MappingModel:
        """Reads an .xcmappingmodel, its xcmapping.xml or a compiled .cdm, or the content of one of the latter two.

        ModelError (for bytes StoreCorruptError) if it is damaged.
        """
        if isinstance(source, bytes):
            return cls(owned(lib.cst_mapping_model_load_bytes, _abi.InputString(source, len(source))))
        return cls(owned(lib.cst_mapping_model_load, path_argument(source)))

    @property
    def source(self) -> Model | None:
        """The source model; None for a compiled mapping model, which does not contain it."""
        return self._model(lib.cst_mapping_model_source)

    @property
    def destination(self) -> Model | None:
        """The destination model; None for a compiled mapping model."""
        return self._model(lib.cst_mapping_model_destination)

    def _model(self, function: Any) -> Model | None:
        handle = owned(function, self._handle)
        return Model._of(handle) if handle else None

    def __getitem__(self, name: str) -> EntityMapping:
        for mapping in self.entity_mappings:
            if mapping.name == name:
                return mapping
        raise KeyError(name)
