"""Mapping models, which describe how a migration converts objects of one model version to another."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from ctypes import byref, c_bool
from dataclasses import dataclass, field
from typing import Any, Optional, Union

from .. import _abi
from .._abi import lib, path_argument
from .._abi.arguments import elements, require_instance, shown
from .._abi.call import call, owned
from .._abi.checked import Checked
from ..errors import TypeMismatchError
from ..model.archive import read_json, tagged
from ..model.model import Model


@dataclass(frozen=True)
class PropertyMapping:
    """The source of the value of one property of the destination."""

    name: str
    #: A format string; `$source` is the migrated object, `$manager` the migration manager. None: the default value.
    expression: str | None = None
    #: Whether the file has an expression that this library does not support.
    unreadable: bool = False
    user_info: Mapping[str, str] = field(default_factory=dict)


PropertyMappings = Union[Iterable[PropertyMapping], Mapping[str, Optional[str]]]


@dataclass(frozen=True, init=False)
class EntityMapping:
    """A mapping from the objects of one entity to objects of another.

    `attributes` and `relationships` can be dictionaries of expressions by property name:
    `EntityMapping("CarToCar", source="Car", destination="Car", attributes={"name": "$source.title"})`.
    """

    #: The default is Core Data's default name: "CarToBus", or the name of the added or removed entity.
    name: str
    #: "custom", "add", "remove", "copy", "transform" or "undefined". The default depends on the other fields.
    kind: str | None
    source: str | None
    destination: str | None
    #: Version hashes. A mapping model sets them to those of its models.
    source_hash: bytes | None
    destination_hash: bytes | None
    attributes: tuple[PropertyMapping, ...]
    relationships: tuple[PropertyMapping, ...]
    #: The name of the class that executes a custom mapping.
    policy_class: str | None
    #: The format of an expression for the objects to be migrated. The default is all objects of the source entity.
    source_expression: str | None
    user_info: Mapping[str, str]
    #: A predicate for the objects to be migrated, instead of a source expression; None for all objects.
    filter: str | None

    def __init__(
        self,
        name: str = "",
        kind: str | None = None,
        source: str | None = None,
        destination: str | None = None,
        source_hash: bytes | None = None,
        destination_hash: bytes | None = None,
        attributes: PropertyMappings = (),
        relationships: PropertyMappings = (),
        policy_class: str | None = None,
        source_expression: str | None = None,
        user_info: Mapping[str, str] | None = None,
        filter: str | None = None,
    ) -> None:
        values = dict(locals())
        del values["self"]
        values["user_info"] = dict(user_info or {})
        for key in ("attributes", "relationships"):
            values[key] = _property_mappings(values[key], key)
        for key, value in values.items():
            object.__setattr__(self, key, value)


def _property_mappings(given: Any, name: str) -> tuple[PropertyMapping, ...]:
    if isinstance(given, Mapping):
        return tuple(PropertyMapping(*each) for each in given.items())
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeMismatchError(
            f"{name} must be a dictionary of names and expressions, or a list of PropertyMapping, not {shown(given)}",
            key=name,
            value=given,
        )
    return tuple(require_instance(PropertyMapping, each, f"{name}[{place}]") for place, each in enumerate(given))


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
        filter=fields.get("filter"),
    )


def _property_fields(mapping: PropertyMapping) -> dict[str, Any]:
    return {
        "name": mapping.name,
        "expression": mapping.expression,
        "unreadable": mapping.unreadable,
        "userInfo": tagged(dict(mapping.user_info)),
    }


def _entity_fields(mapping: EntityMapping) -> dict[str, Any]:
    """Returns an entity mapping in the library's JSON form, in which a missing key means the default."""
    fields = {
        "name": mapping.name or None,
        "kind": mapping.kind,
        "source": mapping.source,
        "destination": mapping.destination,
        "sourceHash": tagged(mapping.source_hash),
        "destinationHash": tagged(mapping.destination_hash),
        "attributes": list(map(_property_fields, mapping.attributes)),
        "relationships": list(map(_property_fields, mapping.relationships)),
        "policyClass": mapping.policy_class,
        "sourceExpression": mapping.source_expression,
        "filter": mapping.filter,
        "userInfo": tagged(dict(mapping.user_info)),
    }
    return {key: value for key, value in fields.items() if value is not None}


class MappingModel(Checked):
    """A description of how a migration converts objects of one model version to another.

    It is immutable; any thread can read it. Two mapping models are equal if their entity mappings are equal, apart from
    the order of property mappings.
    """

    _cst_attributes = ("destination_path", "entity_mappings", "source_path")

    def __init__(
        self,
        entity_mappings: Iterable[EntityMapping],
        source: Model | None = None,
        destination: Model | None = None,
        *,
        source_path: str | os.PathLike[str] | None = None,
        destination_path: str | os.PathLike[str] | None = None,
    ) -> None:
        """Creates a mapping model from entity mappings in the order of execution, and validates it like `validate`.

        The mapping model contains copies of the models, from which it also takes the version hashes.
        """
        given = elements(entity_mappings, "entity_mappings", "a list of EntityMapping")
        mappings = [
            require_instance(EntityMapping, each, f"entity_mappings[{place}]") for place, each in enumerate(given)
        ]
        fields: dict[str, Any] = {"entityMappings": list(map(_entity_fields, mappings))}
        for key, path in (("sourcePath", source_path), ("destinationPath", destination_path)):
            fields[key] = None if path is None else os.fspath(path)
        self._set(_created(json.dumps(fields, ensure_ascii=False), source, destination))
        self.validate()

    def _set(self, handle: int) -> None:
        self._handle = handle
        buffer = _abi.Buffer()
        call(lib.cst_mapping_model_copy_json, handle, byref(buffer))
        content = read_json(buffer)
        #: The entity mappings in the order of execution.
        self.entity_mappings: tuple[EntityMapping, ...] = tuple(map(_entity, content["entityMappings"]))
        #: The original paths of the models.
        self.source_path: str | None = content.get("sourcePath")
        self.destination_path: str | None = content.get("destinationPath")

    @classmethod
    def _of(cls, handle: int) -> MappingModel:
        made = cls.__new__(cls)
        made._set(handle)
        return made

    @classmethod
    def load(cls, source: str | os.PathLike[str] | bytes) -> MappingModel:
        """Reads an .xcmappingmodel, its xcmapping.xml or a compiled .cdm; bytes are the content of one of these files.

        ModelError (for bytes StoreCorruptError) if the file is damaged.
        """
        if isinstance(source, bytes):
            return cls._of(owned(lib.cst_mapping_model_load_bytes, _abi.InputString(source, len(source))))
        return cls._of(owned(lib.cst_mapping_model_load, path_argument(source)))

    @classmethod
    def inferred(cls, source: Model, destination: Model, *, allow_type_changes: bool = False) -> MappingModel:
        """Infers the mapping model of a lightweight migration, and freezes both models.

        MigrationError (134190) for changes that cannot be inferred; its details list every change.
        """
        flags = _abi.MAPPING_ALLOW_TYPE_CHANGES if allow_type_changes else 0
        former, new = _model(source, "source"), _model(destination, "destination")
        return cls._of(owned(lib.cst_mapping_model_new_inferred, former, new, flags))

    @classmethod
    def from_json(cls, content: str, source: Model | None = None, destination: Model | None = None) -> MappingModel:
        """Creates a mapping model from the JSON of `to_json`, without validating it.

        ModelError names the entity mapping and the key of an invalid value.
        """
        return cls._of(_created(content, source, destination))

    def to_json(self) -> str:
        """Returns the mapping model as JSON, without the two models: docs/reference/mapping.md."""
        buffer = _abi.Buffer()
        call(lib.cst_mapping_model_copy_json, self._handle, byref(buffer))
        return _abi.take_text(buffer)

    @classmethod
    def find(cls, paths: Iterable[str | os.PathLike[str]], source: Model, destination: Model) -> MappingModel | None:
        """Returns the first mapping model in files and folders that matches two models, or None.

        Folders are searched for .cdm and .xcmappingmodel, including bundles in them. Files that cannot be read are
        skipped, with a warning in the log.
        """
        places = [path_argument(each) for each in paths]
        array = (_abi.InputString * max(len(places), 1))(*places)
        former, new = _model(source, "source"), _model(destination, "destination")
        handle = owned(lib.cst_mapping_model_find, array, len(places), former, new)
        return cls._of(handle) if handle else None

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the mapping model: an .xcmappingmodel or a compiled .cdm, by the extension of the path.

        ModelError if an .xcmappingmodel cannot represent the mapping model. An .xcmappingmodel contains the models
        instead of version hashes, so a mapping model from a .cdm must be created with its models first:
        `MappingModel(m.entity_mappings, old, new)`.
        """
        call(lib.cst_mapping_model_write, self._handle, path_argument(path))

    def validate(self, source: Model | None = None, destination: Model | None = None) -> None:
        """Checks kinds and names against the models, by default those that the mapping model contains.

        MigrationError for a problem; if there are several, its details list every problem.
        """
        former, new = _optional_model(source, "source"), _optional_model(destination, "destination")
        call(lib.cst_mapping_model_validate, self._handle, former, new)

    def matches(self, source: Model, destination: Model) -> bool:
        """Whether the version hashes of all entity mappings equal those of two models."""
        found = c_bool()
        former, new = _model(source, "source"), _model(destination, "destination")
        call(lib.cst_mapping_model_matches, self._handle, former, new, byref(found))
        return found.value

    @property
    def source(self) -> Model | None:
        """The source model; None if the mapping model does not contain its models, such as one from a .cdm."""
        return self._copy(lib.cst_mapping_model_source)

    @property
    def destination(self) -> Model | None:
        """The destination model; None if the mapping model does not contain its models."""
        return self._copy(lib.cst_mapping_model_destination)

    def _copy(self, function: Any) -> Model | None:
        handle = owned(function, self._handle)
        return Model._of(handle) if handle else None

    def __getitem__(self, name: str) -> EntityMapping:
        for mapping in self.entity_mappings:
            if mapping.name == name:
                return mapping
        raise KeyError(name)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MappingModel):
            return NotImplemented
        return list(map(_ordered, self.entity_mappings)) == list(map(_ordered, other.entity_mappings))

    def __hash__(self) -> int:
        return hash(tuple((each.name, each.kind, each.source, each.destination) for each in self.entity_mappings))

    def __repr__(self) -> str:
        names = ", ".join(f"{each.name} ({each.kind})" for each in self.entity_mappings)
        return f"<MappingModel of {names or 'nothing'}>"


def _ordered(mapping: EntityMapping) -> dict[str, Any]:
    """Returns the fields of an entity mapping, with property mappings sorted by name, for comparisons."""
    fields = dict(vars(mapping))
    for key in ("attributes", "relationships"):
        fields[key] = sorted(fields[key], key=lambda each: each.name)
    return fields


def _model(model: Model, name: str) -> int:
    handle: int = require_instance(Model, model, name)._handle
    return handle


def _optional_model(model: Model | None, name: str) -> int | None:
    return None if model is None else _model(model, name)


def _created(content: str, source: Model | None, destination: Model | None) -> int:
    former, new = _optional_model(source, "source"), _optional_model(destination, "destination")
    return owned(lib.cst_mapping_model_new_from_json, _abi.text(content, "content"), former, new)
