"""Keyed archives as plain data, written by Python's own plistlib."""

from __future__ import annotations

import plistlib
from datetime import datetime, timedelta, timezone
from plistlib import UID
from typing import Any
from uuid import UUID

import pytest

from corestone import ArchivedObject, InvalidArgumentError, StoreCorruptError, decode_archive, encode_archive

EPOCH = datetime(2001, 1, 1, tzinfo=timezone.utc)


def archive(*objects: Any) -> bytes:
    """An archive whose root is the first object; the others are referred to from 2 on."""
    top = {"$version": 100000, "$archiver": "NSKeyedArchiver", "$top": {"root": UID(1)}}
    return plistlib.dumps({**top, "$objects": ["$null", *objects]}, fmt=plistlib.FMT_BINARY)


def named(name: str) -> dict[str, Any]:
    return {"$classname": name, "$classes": [name, "NSObject"]}


def container(name: str, *members: Any) -> bytes:
    places = [UID(3 + place) for place in range(len(members))]
    return archive({"$class": UID(2), "NS.objects": places}, named(name), *members)


@pytest.mark.parametrize("value", ['Zoë " \\ \n \x01', 42, -7, 1.5, 2.0, True, b"\x00\xff"])
def test_scalars_are_decoded_with_their_type(value: Any) -> None:
    decoded = decode_archive(archive(value))
    assert decoded == value
    assert type(decoded) is type(value)


def test_foundation_value_classes_are_decoded() -> None:
    uuid = UUID("00112233-4455-6677-8899-aabbccddeeff")
    assert decode_archive(archive({"$class": UID(2), "NS.time": 2.5}, named("NSDate"))) == EPOCH + timedelta(
        seconds=2.5
    )
    assert decode_archive(archive({"$class": UID(2), "NS.uuidbytes": uuid.bytes}, named("NSUUID"))) == uuid
    url = {"$class": UID(2), "NS.base": UID(0), "NS.relative": UID(3)}
    assert decode_archive(archive(url, named("NSURL"), "https://example.org")) == "https://example.org"


@pytest.mark.parametrize("seconds", [float("inf"), float("-inf"), float("nan")])
def test_date_outside_years_1_to_9999_is_rejected(seconds: float) -> None:
    with pytest.raises(InvalidArgumentError, match="does not fit a datetime, which has the years 1 to 9999"):
        decode_archive(archive({"$class": UID(2), "NS.time": seconds}, named("NSDate")))


def test_archived_object_needs_its_own_class_first() -> None:
    shade = ArchivedObject("Shade", {"tone": 1}, ("Shade", "Tint", "NSObject"))
    assert decode_archive(encode_archive(shade)) == shade
    with pytest.raises(InvalidArgumentError, match=r'the JSON tag "\$object"'):
        encode_archive(ArchivedObject("Shade", {}, ("Tint", "NSObject")))


def test_containers_are_decoded() -> None:
    assert decode_archive(container("NSMutableArray", 1, "x")) == [1, "x"]
    assert decode_archive(container("NSSet", 1, "x")) == {1, "x"}
    entries = {"$class": UID(2), "NS.keys": [UID(3), UID(4)], "NS.objects": [UID(5), UID(0)]}
    assert decode_archive(archive(entries, named("NSDictionary"), "$date", "b", 1)) == {"$date": 1, "b": None}


def test_sets_with_unhashable_members_are_decoded_as_lists() -> None:
    key = UUID("00112233-4455-6677-8899-aabbccddeeff")
    date = {"$class": UID(9), "NS.time": 2.5}
    objects = [
        named("NSSet"), {"$class": UID(7), "NS.keys": [UID(4)], "NS.objects": [UID(5)]}, "k", date,
        {"$class": UID(10), "NS.uuidbytes": key.bytes}, named("NSDictionary"), named("NSArray"), named("NSDate"),
        named("NSUUID"), {"$class": UID(8), "NS.objects": [UID(5), UID(6)]},
        {"$class": UID(2), "NS.objects": [UID(5), UID(6)]}, b"bytes",
    ]  # fmt: skip
    when = EPOCH + timedelta(seconds=2.5)
    dictionary, array, inner = {"k": when}, [when, key], {when, key}

    def decoded(*places: int) -> Any:
        return decode_archive(archive({"$class": UID(2), "NS.objects": [UID(place) for place in places]}, *objects))

    # What can be hashed makes a set.
    assert decoded(5, 6, 4, 13) == {when, key, "k", b"bytes"}
    assert decoded() == set()
    # One that cannot is enough.
    for place, member in ((3, dictionary), (11, array), (12, inner)):
        assert decoded(place) == [member]
        found = decoded(5, place, 6, 13)
        assert type(found) is list
        assert len(found) == 4
        assert all(each in found for each in (when, member, key, b"bytes"))
    assert sorted(decoded(3, 11, 12), key=str) == sorted([dictionary, array, inner], key=str)
    assert type(decoded(12)[0]) is set
    again = decode_archive(encode_archive({"list": decoded(11), "set": decoded(5, 6)}))
    assert again == {"list": [array], "set": {when, key}}


@pytest.mark.parametrize(("keys", "values"), [(2, 1), (1, 2)])
def test_dictionary_with_unequal_counts_of_keys_and_values_is_corrupt(keys: int, values: int) -> None:
    entries = {"$class": UID(2), "NS.keys": [UID(3), UID(4)][:keys], "NS.objects": [UID(5), UID(6)][:values]}
    with pytest.raises(StoreCorruptError, match=rf"{keys} keys? but {values} values?;"):
        decode_archive(archive(entries, named("NSDictionary"), "a", "b", 1, 2))


@pytest.mark.parametrize("name", ["NSOrderedSet", "NSMutableOrderedSet"])
def test_ordered_sets_are_decoded_as_lists(name: str) -> None:
    assert decode_archive(container(name, "b", "a")) == ["b", "a"]
    numbered = {"$class": UID(2), "NS.object.0": UID(3), "NS.object.1": UID(4)}
    assert decode_archive(archive(numbered, named(name), "b", "a")) == ["b", "a"]


def test_xml_archives_are_decoded() -> None:
    # Python's plistlib writes no references in XML; the library reads them as CF$UID.
    root = {"$class": {"CF$UID": 2}, "NS.objects": [{"CF$UID": 3}, {"CF$UID": 4}]}
    objects = ["$null", root, named("NSSet"), "x", b"\x01"]
    top = {"$version": 100000, "$archiver": "NSKeyedArchiver", "$top": {"root": {"CF$UID": 1}}, "$objects": objects}
    assert decode_archive(plistlib.dumps(top, fmt=plistlib.FMT_XML)) == {"x", b"\x01"}


def test_unknown_classes_are_decoded_as_archived_objects() -> None:
    found = decode_archive(archive({"$class": UID(2), "UIRed": 1.0, "name": UID(3)}, named("UIColor"), "red"))
    assert found == ArchivedObject("UIColor", {"UIRed": 1.0, "name": "red"})
    assert decode_archive(encode_archive(found)) == found


@pytest.mark.parametrize("data", [b"", b"nonsense", plistlib.dumps({"a": 1}, fmt=plistlib.FMT_BINARY)])
def test_bytes_that_are_not_an_archive_are_corrupt(data: bytes) -> None:
    with pytest.raises(StoreCorruptError):
        decode_archive(data)


def nested(depth: int) -> bytes:
    """Arrays within each other around a number."""
    objects: list[Any] = []
    for level in range(depth):
        objects.append({"$class": UID(depth + 2), "NS.objects": [UID(level + 2)]})
    return archive(*objects, 7, named("NSArray"))


def test_archive_may_be_nested_128_levels_deep() -> None:
    found: Any = decode_archive(nested(128))
    value: Any = 7
    for _ in range(128):
        (found,), value = found, [value]
    assert found == 7
    assert decode_archive(encode_archive(value)) == value
    with pytest.raises(StoreCorruptError, match="nested more than 128 levels deep"):
        decode_archive(nested(129))
    with pytest.raises(InvalidArgumentError, match="nested more than 128 levels deep"):
        encode_archive([value])


def test_archive_is_limited_to_a_million_values_with_repetitions() -> None:
    """An array of a thousand numbers that another one holds often, itself and its members counted each time."""
    thousand = {"$class": UID(2), "NS.objects": [UID(4)] * 999}

    def shared(times: int) -> bytes:
        root = {"$class": UID(2), "NS.objects": [UID(3)] * times}
        return archive(root, named("NSArray"), thousand, 7)

    found = decode_archive(shared(999))
    assert (len(found), {len(each) for each in found}) == (999, {999})
    with pytest.raises(StoreCorruptError, match="1000000 values"):
        decode_archive(shared(1001))
