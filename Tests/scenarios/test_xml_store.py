"""The store in one file of XML, as Apple's framework writes it."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import corestone
import pytest
from corestone import Model
from test_pending_changes_fetch import STAFF

REFERENCE = datetime(2001, 1, 1, tzinfo=timezone.utc)
APPLES = """<?xml version="1.0"?>
<!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">

<database>
    <databaseInfo>
        <version>134481920</version>
        <UUID>7DFA6DAB-A071-4B34-8DFB-BAC65DD66FDE</UUID>
        <nextObjectID>105</nextObjectID>
        <metadata>
            <plist version="1.0">
                <dict/>
            </plist>
        </metadata>
    </databaseInfo>
    <object type="DEPARTMENT" id="z104">
        <attribute name="name" type="string">Engineering</attribute>
        <relationship name="employees" type="0/0" destination="EMPLOYEE" idrefs="z102"></relationship>
    </object>
    <object type="EMPLOYEE" id="z102">
        <attribute name="name" type="string">Alice</attribute>
        <attribute name="salary" type="int32">100</attribute>
        <attribute name="hiredate" type="date">445103622.25000000000000000000</attribute>
        <relationship name="department" type="1/1" destination="DEPARTMENT" idrefs="z104"></relationship>
    </object>
    <object type="EMPLOYEE" id="z103">
        <attribute name="name" type="string">Bob</attribute>
        <attribute name="salary" type="int32">90</attribute>
        <relationship name="department" type="1/1" destination="DEPARTMENT"></relationship>
    </object>
</database>
"""
in_xml = pytest.mark.only_in("it is no XML", "XML")


def staff() -> Model:
    return Model(STAFF)


@pytest.mark.needs_file("it reads the store again from its file")
def test_s283_nil_is_not_an_empty_string(opened: Any) -> None:
    with opened(staff()) as container:
        context = container.context()
        context.insert("Employee", name="Bob", salary=5)
        context.save()
    bob = opened(staff()).context().first("Employee")
    assert (bob.name, bob.salary, bob.hireDate) == ("Bob", 5, None)


@pytest.mark.needs_file("it reads the metadata of a file")
def test_s286_uuid_of_the_file_is_the_store_identifier(
    opened: Any, place: str, store_type: str, host_type: str | None
) -> None:
    container = opened(staff())
    container.context().insert("Employee", name="Bob")
    container.context().save()
    known = corestone.metadata(place, type=host_type)
    assert known["NSStoreUUID"] == container.store.identifier
    assert known.get("NSStoreType", store_type) == store_type


@in_xml
def test_s288_file_of_apple_is_read(opened: Any, store: Path) -> None:
    """Apple's framework rejects it without the option. DEVIATIONS explains why missing hashes are not a mismatch."""
    store.write_text(APPLES, encoding="utf-8")
    context = opened(staff(), ignore_versioning=True).context()
    alice, bob = context.fetch("Employee", sort="name")
    assert (alice.name, alice.salary, bob.name, bob.salary) == ("Alice", 100, "Bob", 90)
    assert abs(alice.hireDate - REFERENCE - timedelta(seconds=445103622.25)) < timedelta(milliseconds=1)
    assert alice.department.name == "Engineering"
    assert bob.department is None
    assert [each.name for each in alice.department.employees] == ["Alice"]
