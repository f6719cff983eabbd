"""A reader of XML stores that shares nothing with the library, for tests to compare with."""

from __future__ import annotations

import base64
import re
import struct
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

from corestone import URL, Container, Model, raw_value
from corestone.object import object_id

EPOCH = datetime(2001, 1, 1, tzinfo=timezone.utc)


def unescaped(text: str) -> str:
    """Two backslashes are one, and backslash u with four digits is a unit of UTF-16 with the low byte first."""

    def units(match: re.Match[str]) -> str:
        if match[0] == "\\\\":
            return "\\"
        return bytes.fromhex(match[0].replace("\\u", "")).decode("utf-16-le")

    return re.sub(r"\\\\|(?:\\u[0-9a-fA-F]{4})+", units, text)


READERS: dict[str, Callable[[str], Any]] = {
    "string": unescaped,
    "uri": lambda text: URL(unescaped(text)),
    "bool": lambda text: {"0": False, "1": True}[text],
    "int16": int,
    "int32": int,
    "int64": int,
    # A number of single precision has no more digits than lead back to it.
    "float": lambda text: struct.unpack("f", struct.pack("f", float(text)))[0],
    "double": float,
    "decimal": Decimal,
    "date": lambda text: EPOCH + timedelta(seconds=float(text)),
    "binary": lambda text: base64.b64decode(text, validate=False),
    "transformable": lambda text: base64.b64decode(text, validate=False),
    "uuid": UUID,
}


@dataclass
class Object:
    """One object: the entity's name in capitals; values and IDs of related objects by names in lower case."""

    entity: str
    values: dict[str, Any] = field(default_factory=dict)
    members: dict[str, list[str]] = field(default_factory=dict)


def read(content: bytes) -> dict[str, Object]:
    """The objects of a file, by ID."""
    objects: dict[str, Object] = {}
    root = ElementTree.fromstring(content)
    if root.tag != "database":
        raise ValueError(root.tag)
    for element in root.findall("object"):
        item = Object(element.attrib["type"].upper())
        for child in element:
            if child.tag == "attribute":
                item.values[child.attrib["name"].lower()] = READERS[child.attrib["type"]](child.text or "")
            else:
                item.members[child.attrib["name"].lower()] = child.attrib.get("idrefs", "").split()
        objects[element.attrib["id"]] = item
    return objects


def number(item: Any) -> str:
    """What an XML store calls an object."""
    return "z" + str(object_id(item)).rpartition("/p")[2]


def stored(container: Container, roots: list[str]) -> dict[str, Object]:
    """The objects of an open store in the same form."""
    context = container.context()
    objects: dict[str, Object] = {}
    for root in roots:
        for item in context.fetch(root):
            found = Object(item.entity_name.upper())
            for name, described in item._cst_properties.items():
                if described.is_fetched or described.is_transient:
                    continue
                if described.is_relationship:
                    value = item[name]
                    members = list(value) if described.is_to_many else [value] if value is not None else []
                    found.members[name.lower()] = [number(member) for member in members]
                elif (value := item[name]) is not None:
                    found.values[name.lower()] = value
            objects[number(item)] = found
    return objects


def graph(container: Container) -> dict[str, list[Any]]:
    """The content of a store, independent of object IDs: by root entity, in the order of their keys."""
    context = container.context()
    roots = {}
    for name in container.model:
        entity = container.model[name]
        while entity.parent is not None:
            entity = entity.parent
        roots[name] = entity.name
    objects = {
        root: sorted(context.fetch(root), key=lambda item: int(number(item)[1:]))
        for root in sorted(set(roots.values()))
    }
    places = {object_id(item): (root, place) for root, items in objects.items() for place, item in enumerate(items)}
    found: dict[str, list[Any]] = {}
    for root, items in objects.items():
        for item in items:
            values: dict[str, Any] = {}
            for name, described in item._cst_properties.items():
                if described.is_fetched or described.is_transient:
                    continue
                if described.is_relationship and described.is_to_many:
                    members = [places[object_id(member)] for member in item[name]]
                    values[name] = members if described.is_ordered else sorted(members)
                elif described.is_relationship:
                    values[name] = item[name] and places.get(object_id(item[name]))
                else:
                    values[name] = raw_value(item, name) if described.transforms else item[name]
            found.setdefault(root, []).append((item.entity_name, values))
    return found


def in_any_order(objects: dict[str, Object]) -> dict[str, Object]:
    return {
        name: Object(item.entity, item.values, {key: sorted(value) for key, value in item.members.items()})
        for name, item in objects.items()
    }


def canonical(text: str) -> str:
    """A file with the order of objects, of their properties and of references settled, all else as it is written."""
    head, _, rest = text.partition("    </databaseInfo>\n")
    objects = re.findall(r"    <object type=.*?</object>\n", rest, re.DOTALL)
    assert "".join(objects) + "</database>" == rest

    def settled(text: str) -> str:
        first, *lines = re.split(r"(?=\n        <(?:attribute|relationship) )", text)
        end = ""
        if lines:
            lines[-1], end = lines[-1].rsplit("\n", 1)
        return first + "".join(sorted(map(sorted_references, lines))) + "\n" + end

    def sorted_references(line: str) -> str:
        head, quote, rest = line.partition(' idrefs="')
        references, _, tail = rest.partition('"')
        return head + quote + " ".join(sorted(references.split())) + (f'"{tail}' if quote else "")

    # Some of Apple's frameworks say that the file stands alone, some that it does not.
    head = re.sub(r'standalone="(yes|no)"', 'standalone="yes"', head)
    return head + "".join(sorted(map(settled, objects)))


MAPPING = """<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="">
    <entity name="XDDevAttributeMapping" parentEntity="XDDevPropertyMapping">
        <relationship name="entityMapping" optional="YES" minCount="1" maxCount="1"
            destinationEntity="XDDevEntityMapping" inverseName="attributeMappings" inverseEntity="XDDevEntityMapping"/>
    </entity>
    <entity name="XDDevEntityMapping">
        <attribute name="autoGenerateExpression" optional="YES" attributeType="Boolean"/>
        <attribute name="destinationName" optional="YES" attributeType="String"/>
        <attribute name="mappingNumber" optional="YES" attributeType="Integer 16"/>
        <attribute name="mappingTypeName" optional="YES" attributeType="String"/>
        <attribute name="migrationPolicyClassName" optional="YES" attributeType="String"/>
        <attribute name="name" optional="YES" attributeType="String"/>
        <attribute name="sourceExpressionData" optional="YES" attributeType="Binary"/>
        <attribute name="sourceFilterPredicateString" optional="YES" attributeType="String"/>
        <attribute name="sourceName" optional="YES" attributeType="String"/>
        <attribute name="userInfoData" optional="YES" attributeType="Binary"/>
        <relationship name="attributeMappings" optional="YES" toMany="YES" destinationEntity="XDDevAttributeMapping"
            inverseName="entityMapping" inverseEntity="XDDevAttributeMapping"/>
        <relationship name="mappingModel" optional="YES" minCount="1" maxCount="1" destinationEntity="XDDevMappingModel"
            inverseName="entityMappings" inverseEntity="XDDevMappingModel"/>
        <relationship name="relationshipMappings" optional="YES" toMany="YES"
            destinationEntity="XDDevRelationshipMapping" inverseName="entityMapping"
            inverseEntity="XDDevRelationshipMapping"/>
    </entity>
    <entity name="XDDevMappingModel">
        <attribute name="destinationModelData" attributeType="Binary"/>
        <attribute name="destinationModelPath" attributeType="String"/>
        <attribute name="sourceModelData" attributeType="Binary"/>
        <attribute name="sourceModelPath" attributeType="String"/>
        <relationship name="entityMappings" optional="YES" toMany="YES" destinationEntity="XDDevEntityMapping"
            inverseName="mappingModel" inverseEntity="XDDevEntityMapping"/>
    </entity>
    <entity name="XDDevPropertyMapping">
        <attribute name="name" optional="YES" attributeType="String"/>
        <attribute name="userInfoData" optional="YES" attributeType="Binary"/>
        <attribute name="valueExpressionData" optional="YES" attributeType="Binary"/>
    </entity>
    <entity name="XDDevRelationshipMapping" parentEntity="XDDevPropertyMapping">
        <attribute name="autoGenerateExpression" optional="YES" attributeType="Boolean"/>
        <attribute name="sourceKeyPath" optional="YES" attributeType="String"/>
        <attribute name="sourceMappingName" optional="YES" attributeType="String"/>
        <relationship name="entityMapping" optional="YES" minCount="1" maxCount="1"
            destinationEntity="XDDevEntityMapping" inverseName="relationshipMappings"
            inverseEntity="XDDevEntityMapping"/>
    </entity>
</model>
"""
MAPPING_ROOTS = ["XDDevEntityMapping", "XDDevMappingModel", "XDDevPropertyMapping"]


def mapping_model(folder: Path) -> Model:
    """The model in which Xcode keeps mapping models: the version hashes that its files name are those of this one."""
    source = folder / "Mapping.xcdatamodel"
    source.mkdir(exist_ok=True)
    (source / "contents").write_text(MAPPING, encoding="utf-8")
    return Model.load(source)
