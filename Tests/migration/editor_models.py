"""The models inside an `.xcmappingmodel`, which are archives of Xcode's editor, as source models. No Corestone code."""

from __future__ import annotations

import plistlib
from typing import Any

from source_models import Attribute, Entity, Relationship, SourceModel

TYPES = {
    100: "Integer 16", 200: "Integer 32", 300: "Integer 64", 400: "Decimal", 500: "Double", 600: "Float",
    700: "String", 800: "Boolean", 900: "Date", 1000: "Binary", 1100: "UUID", 1200: "URI", 1800: "Transformable",
}  # fmt: skip
LISTS = {"NSArray", "NSMutableArray", "NSSet", "NSMutableSet", "NSOrderedSet", "NSMutableOrderedSet"}
DICTIONARIES = {"NSDictionary", "NSMutableDictionary"}


class Archived:
    """An object of a keyed archive whose class is not one of Foundation's."""

    def __init__(self, name: str) -> None:
        self.class_name = name
        self.fields: dict[str, Any] = {}

    def __getitem__(self, key: str) -> Any:
        return self.fields.get(key)


class Unarchiver:
    """Reads a keyed archive. Objects that are shared in it are shared in the result."""

    def __init__(self, data: bytes) -> None:
        content = plistlib.loads(data)
        self._objects = content["$objects"]
        self._done: dict[int, Any] = {}
        (root,) = content["$top"].values()
        self.root = self._value(root)

    def _value(self, value: Any) -> Any:
        if isinstance(value, plistlib.UID):
            return self._object(value.data)
        return value

    def _object(self, number: int) -> Any:
        if number == 0:
            return None
        if number in self._done:
            return self._done[number]
        value = self._objects[number]
        if not isinstance(value, dict) or "$class" not in value:
            return value
        name = self._objects[value["$class"].data]["$classname"]
        if name in LISTS:
            items: list[Any] = []
            self._done[number] = items
            items += map(self._value, value["NS.objects"])
            return items
        if name in DICTIONARIES:
            entries: dict[Any, Any] = {}
            self._done[number] = entries
            entries.update(zip(map(self._value, value["NS.keys"]), map(self._value, value["NS.objects"])))
            return entries
        if name in ("NSString", "NSMutableString"):
            return value["NS.string"]
        if name in ("NSData", "NSMutableData"):
            return value["NS.data"]
        found = self._done[number] = Archived(name)
        found.fields = {key: self._value(each) for key, each in value.items() if key != "$class"}
        return found


def _values(element: Archived) -> dict[str, Any]:
    """The named values of all stereotypes of an element."""
    found: dict[str, Any] = {}
    for stereotype in (element["XDBucketForStereotypesstorage"] or {}).values():
        for name, value in (stereotype["XDBucketForOwnedAttributesstorage"] or {}).items():
            found[name] = value["_default"]
    return found


def read_editor_model(data: bytes) -> SourceModel:
    root = Unarchiver(data).root
    assert root.class_name == "XDPMModel", root.class_name
    model = SourceModel()
    for name, element in root["_xd_rootPackage"]["XDBucketForClassesstorage"].items():
        assert element.class_name == "XDPMEntity", element.class_name
        model.entities[name] = _entity(name, element, model)
    return model


def _entity(name: str, element: Archived, model: SourceModel) -> Entity:
    values = _values(element)
    parents = element["XDBucketForGeneralizationsstorage"] or []
    parent = parents[0]["_general"]["_name"] if parents else None
    is_abstract = values.get("XD_PSK_isAbstract", element["_isAbstract"])
    entity = Entity(name, model, parent, bool(is_abstract), values.get("XD_PSK_elementID") or name)
    for key, each in (element["XDBucketForOwnedAttributesstorage"] or {}).items():
        if each.class_name == "XDPMAttribute":
            entity.own.append(_attribute(key, _values(each), entity))
        elif each.class_name == "XDPMRelationship":
            entity.own.append(_relationship(key, _values(each), entity))
        else:
            assert each.class_name == "XDPMFetchedProperty", each.class_name
    entity.unique += [
        [each if isinstance(each, str) else each["_name"] for each in names]
        for names in values.get("XDPMUniquenessConstraints") or []
    ]
    return entity


def _attribute(name: str, values: dict[str, Any], entity: Entity) -> Attribute:
    code = values.get("XD_PAttK_attributeType") or 0
    default = values.get("XD_PAttK_defaultValueAsString")
    assert default is None or code != 900, f"{entity.name}.{name} has a date as its default"
    return Attribute(
        name,
        entity,
        TYPES.get(code, "Undefined"),
        bool(values.get("XD_PPSK_isOptional")),
        bool(values.get("XD_PPSK_isTransient")) or code not in TYPES,
        values.get("XD_PPSK_elementID") or name,
        default,
        bool(values.get("XD_PAttK_allowsExternalBinaryDataStorage")),
        values.get("XD_PAttK_minValueString"),
        values.get("XD_PAttK_maxValueString"),
    )


def _relationship(name: str, values: dict[str, Any], entity: Entity) -> Relationship:
    inverse = values.get("XD_PRK_inverseRelationship")
    maximum = values.get("XD_PRK_maxCount") or 0
    is_to_many = values.get("XD_PRK_isToMany")
    return Relationship(
        name,
        entity,
        values["XD_PRK_destination"]["_name"],
        None if inverse is None else inverse["_name"],
        maximum != 1 if is_to_many is None else bool(is_to_many),
        bool(values.get("XD_PRK_ordered")),
        bool(values.get("XD_PPSK_isOptional")),
        bool(values.get("XD_PPSK_isTransient")),
        values.get("XD_PPSK_elementID") or name,
        values.get("XD_PRK_minCount") or 0,
        maximum,
    )
