"""Binary stores, read by a reader of our own (binary_reader.py), and files that were made up to do harm."""

from __future__ import annotations

import plistlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from binary_reader import content, file, numbers, packed, read
from conftest import Run
from samples import THINGS, TO_MANY, fill

from corestone import (
    Container,
    Model,
    ModelMismatchError,
    ObjectGoneError,
    StoreCorruptError,
    UnsupportedError,
    metadata,
)
from corestone.object import object_id

Content = dict[str, Any]


@pytest.fixture
def whole(tmp_path: Path) -> bytes:
    path = tmp_path / "whole.binary"
    with Container(Model(THINGS), path, type="Binary") as container:
        fill(container)
    return path.read_bytes()


def crafted(whole: bytes, change: Callable[[Content], None], path: Path) -> Path:
    """A file with the right checksum whose content was changed."""
    found = content(whole)
    change(found)
    path.write_bytes(file(plistlib.dumps(found, fmt=plistlib.FMT_BINARY, sort_keys=False)))
    return path


def table(found: Content, name: str) -> dict[str, Any]:
    (one,) = (each for each in found["entities"] if each["name"] == name)
    assert isinstance(one, dict)
    return one


def members(found: Content, name: str) -> dict[str, Any]:
    (one,) = (each for each in found["relationships"] if each["name"] == name)
    assert isinstance(one, dict)
    return one


def test_independent_reader_finds_the_saved_values(whole: bytes, tmp_path: Path) -> None:
    rows = read(whole, TO_MANY)
    assert len(rows) == 15
    with Container(Model(THINGS), tmp_path / "whole.binary", type="Binary", read_only=True) as container:
        for item in [*container.fetch("Thing"), *container.fetch("Owner")]:
            row = rows[item.entity_name, int(object_id(item).uri.rpartition("/p")[2])]
            for name in ("title", "price", "made", "data", "key", "homepage", "large", "real", "name"):
                if name in item._cst_properties:
                    assert item[name] == row.get(name), name


def test_inconsistent_files_are_rejected(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "crafted.binary"

    def failure(change: Callable[[Content], None]) -> Any:
        with pytest.raises((StoreCorruptError, ModelMismatchError)) as caught:
            Container(Model(THINGS), crafted(whole, change, path), type="Binary")
        assert str(path) in str(caught.value)
        return caught.value

    def twice(found: Content) -> None:
        found["entities"].append(table(found, "Owner"))

    def unknown(found: Content) -> None:
        columns = table(found, "Owner")["columns"]
        columns["nickname"] = columns["name"]

    def other_type(found: Content) -> None:
        table(found, "Owner")["columns"]["name"]["type"] = "bytes"

    def lists_twice(found: Content) -> None:
        found["relationships"].append(members(found, "Thing.friends"))

    def unknown_list(found: Content) -> None:
        members(found, "Thing.friends")["name"] = "Thing.foes"

    def one_sided(found: Content) -> None:
        friends = members(found, "Thing.friends")
        count = numbers(friends["counts"])[-1]
        for key in ("owners", "counts"):
            friends[key] = friends[key][:-8]
        friends["members"] = friends["members"][: -8 * count]

    def doubled(found: Content) -> None:
        friends = members(found, "Thing.friends")
        counts = numbers(friends["counts"])
        counts[0] += 1
        friends["counts"] = packed(counts)
        friends["members"] = friends["members"][:8] + friends["members"]

    def owner_twice(found: Content) -> None:
        likes = members(found, "Owner.likes")
        likes["owners"], likes["counts"] = likes["owners"] * 2, likes["counts"] + packed([0])

    def more(found: Content) -> None:
        members(found, "Owner.likes")["members"] += packed([1])

    def no_member(found: Content) -> None:
        things = members(found, "Owner.things")
        # The last thing has no owner.
        unowned = numbers(table(found, "Thing")["keys"])[-1]
        things["members"] = packed([unowned]) + things["members"][8:]

    def wrong_owner(found: Content) -> None:
        likes = members(found, "Owner.likes")
        likes["owners"] = packed([4711])

    def no_entity(found: Content) -> None:
        column = table(found, "Thing")["columns"]["owner"]
        values, present = bytearray(column["values"]), column["present"]
        row = next(row for row in range(len(values) // 12) if present[row >> 3] >> (row & 7) & 1)
        values[row * 12 + 8 : row * 12 + 12] = (99).to_bytes(4, "little")
        column["values"] = bytes(values)

    def no_lists(found: Content) -> None:
        del found["relationships"]

    def no_tables(found: Content) -> None:
        del found["entities"]

    for change, entity, key, words in [
        (twice, "Owner", None, "two tables"),
        (unknown, "Owner", "nickname", "nickname"),
        (other_type, "Owner", "name", "Owner.name is of type Binary Data in the store"),
        (lists_twice, "Thing", "friends", "twice"),
        (unknown_list, "Thing", "foes", "Thing.foes, which the model does not have"),
        (one_sided, "Thing", "friends", "does not refer back"),
        (doubled, "Thing", "friends", "twice"),
        (owner_twice, "Owner", "likes", "are listed twice"),
        (more, "Owner", "likes", "exceed"),
        (no_member, "Owner", "things", "does not refer back"),
        (wrong_owner, "Owner", "likes", "the owner 4711, which does not exist"),
        (no_entity, "Thing", "owner", "entity that the file does not list"),
        (no_lists, None, None, "it does not have a list of relationships"),
        (no_tables, None, None, "it does not have a list of entities"),
    ]:
        error = failure(change)
        assert (error.entity, error.key) == (entity, key), (change, error)
        assert words in str(error), error


def test_missing_member_without_an_inverse_is_left_out(whole: bytes, tmp_path: Path) -> None:
    def gone(found: Content) -> None:
        likes = members(found, "Owner.likes")
        likes["counts"], likes["members"] = packed([5]), packed([4711]) + likes["members"]

    path = crafted(whole, gone, tmp_path / "gone.binary")
    with Container(Model(THINGS), path, type="Binary") as container:
        context = container.context()
        (owner,) = context.fetch("Owner", "name == 'Ada'")
        assert len(owner.likes) == 4
        owner.name = "Lovelace"
        context.save()
    assert 4711 not in numbers(members(content(path.read_bytes()), "Owner.likes")["members"])


BOMB = """
import resource, sys
from corestone import Container, CorestoneError, Model
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    Container(Model({"Owner": {"name": "string?", "rank": "int?"}}), sys.argv[1], type="Binary", read_only=True)
    print("opened")
except CorestoneError as error:
    print(type(error).__name__)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_memory_is_bounded_by_the_size_of_the_file(tmp_path: Path, run_python: Run) -> None:
    small = Model({"Owner": {"name": "string?", "rank": "int?"}})
    path = tmp_path / "bomb.binary"
    with Container(small, path, type="Binary") as container:
        context = container.context()
        context.insert("Owner", name="Ada")
        context.save()
    whole = path.read_bytes()
    rows = 100_000
    ends = packed([0] * rows)
    column = {"type": "text", "present": bytes((rows + 7) // 8), "values": b"", "ends": ends}

    def wide(found: Content) -> None:
        """One piece of data for thousands of columns."""
        owner = table(found, "Owner")
        owner["keys"], owner["versions"] = packed(list(range(1, rows + 1))), packed([1] * rows)
        owner["lastKey"] = rows
        owner["columns"] = {f"name{number}": column for number in range(5000)}

    def long(found: Content) -> None:
        """Thousands of tables of one entity."""
        owner = table(found, "Owner")
        owner["keys"], owner["versions"] = packed(list(range(1, rows + 1))), packed([1] * rows)
        owner["lastKey"], owner["columns"] = rows, {"name": column}
        found["entities"] = [owner] * 5000

    for change, most in [(wide, 64), (long, 64)]:
        done = run_python(BOMB, str(crafted(whole, change, path)))
        said, kilobytes = done.stdout.split()
        assert said in ("StoreCorruptError", "ModelMismatchError"), done.stdout + done.stderr
        assert int(kilobytes) < most << 10, (change, said, kilobytes, path.stat().st_size)
    # Two thousand objects that lie within one of a megabyte: a marker each of data of a million bytes, which are there.
    top = {"CorestoneBinaryStore": 1, "a": [b"*" * (1 << 20), *range(1000, 3000)]}
    bomb = bytearray(plistlib.dumps(top, fmt=plistlib.FMT_BINARY))
    place, offsets, width = bomb.index(b"*" * 64), int.from_bytes(bomb[-8:], "big"), bomb[-26]
    for number in range(2000):
        start = place + 8 * number
        bomb[start : start + 6] = b"\x4f\x12" + (1_000_000).to_bytes(4, "big")
        # Behind the dictionary, two keys, a number, the array and the data.
        entry = offsets + width * (number + 6)
        bomb[entry : entry + width] = start.to_bytes(width, "big")
    path.write_bytes(bytes(bomb))
    done = run_python(BOMB, str(path))
    said, kilobytes = done.stdout.split()
    assert said == "StoreCorruptError", done.stdout + done.stderr
    assert int(kilobytes) < 64 << 10, kilobytes


OPENING = """
import sys
from corestone import Container, Model, StoreCorruptError
try:
    with Container(Model({"Owner": {"name": "string?"}}), sys.argv[1], type="Binary", read_only=True) as container:
        print([owner.name for owner in container.fetch("Owner")])
except StoreCorruptError as error:
    print(error.entity, error.key, error)
"""


def test_columns_with_inconsistent_parts_are_rejected(tmp_path: Path, run_python: Run) -> None:
    """Runs in a child process, which crashes if the reader accepts such a column."""
    path = tmp_path / "columns.binary"
    with Container(Model({"Owner": {"name": "string?"}}), path, type="Binary") as container:
        container.insert("Owner", [{"name": f"name {number}"} for number in range(9)])
    whole = path.read_bytes()

    def unchanged(found: Content) -> None:
        pass

    def decreasing(found: Content) -> None:
        column = table(found, "Owner")["columns"]["name"]
        first, second, *more = numbers(column["ends"])
        column["ends"] = packed([second, first, *more])

    def short(found: Content) -> None:
        """Nine rows have their bits in two bytes."""
        column = table(found, "Owner")["columns"]["name"]
        column["present"] = column["present"][:-1]

    for change, said in [
        (unchanged, "['name 0', 'name 1', "),
        (decreasing, "Owner name "),
        (short, "Owner name "),
    ]:
        done = run_python(OPENING, str(crafted(whole, change, path)))
        assert done.stdout.startswith(said), (change, done.stdout + done.stderr)


def test_wrong_store_type_error_names_the_actual_type(tmp_path: Path) -> None:
    model, path = Model(THINGS), tmp_path / "a.store"
    Container(model, path).close()
    for wanted in ("Binary", "XML"):
        with pytest.raises(Exception, match=re.escape(f"an SQLite store, not a store of type {wanted}")) as caught:
            Container(model, path, type=wanted)
        assert caught.value.code == 134000  # type: ignore[attr-defined]


UNIQUE: dict[str, dict[str, Any]] = {
    "Thing": {
        "@unique": [["code"]],
        "code": "string?",
        "rank": "int16?",
        "owner": "to-one Owner? inverse things",
        "first": "to-one Thing? delete no-action",
    },
    "Special": {"@parent": "Thing"},
    "Owner": {
        "things": "to-many ordered Thing inverse owner delete no-action",
        "likes": "to-many Thing",
        "pals": "to-many Owner inverse pals",
    },
}


@pytest.fixture
def small(tmp_path: Path) -> bytes:
    """Things 1, 2 and 3, of which the owner 1 has 3 and 1, the special thing 4, and the owner 2, a pal of 1."""
    path = tmp_path / "small.binary"
    with Container(Model(UNIQUE), path, type="Binary") as container:
        context = container.context()
        kinds = ("Thing", "Thing", "Thing", "Special")
        things = []
        for rank, kind in enumerate(kinds):
            things.append(context.insert(kind, code=f"c{rank}", rank=rank))
            context.save()
        context.insert("Owner", things=[things[2], things[0]], likes=[things[1]])
        context.save()
        first = context.fetch("Owner")[0]
        first.pals = {context.insert("Owner")}
        context.save()
    return path.read_bytes()


def part(found: Content, name: str) -> dict[str, Any]:
    """The whole, a table, a list of members, or a column."""
    if not name:
        return found
    if "." not in name:
        return table(found, name)
    if any(each["name"] == name for each in found["relationships"]):
        return members(found, name)
    entity, _, key = name.partition(".")
    column = table(found, entity)["columns"][key]
    assert isinstance(column, dict)
    return column


@pytest.mark.parametrize(
    ("place", "name", "value", "entity", "key", "words"),
    [
        ("", "uuid", None, None, None, "it does not have a valid UUID"),
        ("", "uuid", "no UUID", None, None, "it does not have a valid UUID"),
        ("", "metadata", None, None, None, "it does not have a dictionary of metadata"),
        ("", "entities", None, None, None, "it does not have a list of entities"),
        ("", "relationships", {}, None, None, "it does not have a list of relationships"),
        ("Thing", "lastKey", None, "Thing", None, "the table for Thing is incomplete"),
        ("Special", "lastKey", 3, "Special", None, "object 4 of Special has an invalid key"),
        ("Thing", "keys", None, "Thing", None, "the table for Thing is incomplete"),
        ("Thing", "keys", packed([1, 2, 3])[:-1], "Thing", None, "the table for Thing is incomplete"),
        ("Thing", "keys", packed([1, 2, 2]), "Thing", None, "two objects of Thing have the key 2"),
        ("Thing", "keys", packed([0, 2, 3]), "Thing", None, "object 0 of Thing has an invalid key"),
        ("Thing", "keys", packed([1, 2, 5]), "Thing", None, "object 5 of Thing has an invalid key"),
        ("Thing", "versions", None, "Thing", None, "the table for Thing is incomplete"),
        ("Thing", "versions", packed([1, 1]), "Thing", None, "the table for Thing is incomplete"),
        ("Thing", "versions", packed([1, 1, 2**31]), "Thing", None, "object 3 of Thing has the version 2147483648"),
        ("Thing", "columns", None, "Thing", None, "the table for Thing is incomplete"),
        ("Thing.code", "type", None, "Thing", "code", "the column Thing.code is incomplete"),
        ("Thing.code", "type", "words", "Thing", "code", "the column Thing.code is incomplete"),
        ("Thing.code", "present", None, "Thing", "code", "the column Thing.code is incomplete"),
        ("Thing.code", "present", b"\x07\x00", "Thing", "code", "the column Thing.code is incomplete"),
        ("Thing.code", "values", None, "Thing", "code", "the column Thing.code is incomplete"),
        ("Thing.code", "values", b"c0c1\xffx", "Thing", "code", "Thing.code of object 3 is not valid UTF-8"),
        ("Thing.code", "values", b"c0c1c", "Thing", "code", "the column Thing.code is incomplete"),
        ("Thing.code", "values", b"c0c1c1", "Thing", "code", "object 3 of Thing has the same code as another"),
        ("Thing.code", "ends", None, "Thing", "code", "the column Thing.code is incomplete"),
        ("Thing.code", "ends", packed([2, 4]), "Thing", "code", "the column Thing.code is incomplete"),
        ("Thing.owner", "values", packed([0]) * 4, "Thing", "owner", "the column Thing.owner is incomplete"),
        ("Owner.things", "owners", None, "Owner", "things", "Owner.things"),
        ("Owner.things", "counts", None, "Owner", "things", "Owner.things"),
        ("Owner.things", "members", None, "Owner", "things", "Owner.things"),
        ("Owner.things", "counts", packed([2, 0]), "Owner", "things", "Owner.things"),
        ("Owner.things", "counts", packed([-1]), "Owner", "things", "Owner.things"),
        ("Owner.things", "counts", packed([3]), "Owner", "things", "Owner.things"),
        ("Owner.things", "counts", packed([1]), "Owner", "things", "exceed the counts of their owners"),
        ("Owner.things", "owners", packed([3]), "Owner", "things", "have the owner 3, which does not exist"),
        ("Owner.things", "members", packed([3, 3]), "Owner", "things", "of object 1 include object 3 twice"),
        ("Owner.things", "members", packed([3, 2]), "Owner", "things", "object 2, but its owner does not refer back"),
        ("Owner.things", "members", packed([3, 9]), "Owner", "things", "include object 9, which does not exist"),
        ("Owner.pals", "members", packed([2, 2]), "Owner", "pals", "object 2, but its pals does not refer back"),
        ("Owner.pals", "members", packed([7, 1]), "Owner", "pals", "include object 7, which does not exist"),
        ("Owner.likes", "name", "Owner.hates", "Owner", "hates", "the relationship Owner.hates"),
        ("Thing", "name", "Nothing", "Nothing", None, "the entity \"Nothing\", which the model does not have"),
        ("Thing.code", "type", "uri", "Thing", "code", "Thing.code is of type URI in the store"),
        ("Thing.code", "type", "bytes", "Thing", "code", "Thing.code is of type Binary Data in the store"),
    ],
)  # fmt: skip
def test_each_part_of_a_file_is_checked(
    small: bytes, tmp_path: Path, place: str, name: str, value: Any, entity: str | None, key: str | None, words: str
) -> None:
    def change(found: Content) -> None:
        changed = part(found, place)
        assert name in changed
        if value is None:
            del changed[name]
        else:
            changed[name] = value

    path = crafted(small, change, tmp_path / "crafted.binary")
    before = path.read_bytes()
    mismatch = "model does not have" in words or "the relationship" in words or " of type " in words
    with pytest.raises(ModelMismatchError if mismatch else StoreCorruptError) as caught:
        Container(Model(UNIQUE), path, type="Binary", migrate=False)
    error = caught.value
    assert (error.entity, error.key) == (entity, key), error
    assert (error.code, error.file) == (134100 if mismatch else 134080, str(path))
    assert words in error.message
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("top", "words"),
    [
        ({"checksum": 1}, "the checksum of its content does not match"),
        ({"checksum": None}, 'it does not have an integer for the key "checksum"'),
        ({"content": None}, 'it does not have data for the key "content"'),
        ({"content": b"bplist00"}, "the checksum of its content does not match"),
        ({"CorestoneBinaryStore": 2}, "binary store of version 2, but only version 1 can be read"),
        ({"CorestoneBinaryStore": 0}, "binary store of version 0, but only version 1 can be read"),
    ],
)
def test_envelope_of_a_file_is_checked(small: bytes, tmp_path: Path, top: dict[str, Any], words: str) -> None:
    found = {key: value for key, value in {**plistlib.loads(small), **top}.items() if value is not None}
    path = tmp_path / "top.binary"
    path.write_bytes(plistlib.dumps(found, fmt=plistlib.FMT_BINARY))
    for look in (lambda: Container(Model(UNIQUE), path, type="Binary"), lambda: metadata(path)):
        with pytest.raises(UnsupportedError if "version" in words else StoreCorruptError, match=words) as caught:
            look()
        assert (caught.value.code, caught.value.file) == (134080, str(path))


def test_file_has_the_documented_content(small: bytes, tmp_path: Path) -> None:
    top = plistlib.loads(small)
    assert set(top) == {"CorestoneBinaryStore", "checksum", "content"}
    found = content(small)
    assert set(found) == {"uuid", "metadata", "entities", "relationships"}
    assert found["metadata"]["NSStoreType"] == "Binary"
    assert set(found["metadata"]["NSStoreModelVersionHashes"]) == set(UNIQUE)
    path = tmp_path / "same.binary"
    path.write_bytes(small)
    with Container(Model(UNIQUE), path, type="Binary") as container:
        assert container.store.identifier == found["uuid"]
    # Each entity alone, its keys and those of the tree.
    assert {each["name"]: (numbers(each["keys"]), each["lastKey"]) for each in found["entities"]} == {
        "Thing": ([1, 2, 3], 4),
        "Special": ([4], 4),
        "Owner": ([1, 2], 2),
    }
    assert {each["name"]: len(numbers(each["versions"])) for each in found["entities"]} == {
        "Thing": 3,
        "Special": 1,
        "Owner": 2,
    }
    things = table(found, "Thing")["columns"]
    assert things["rank"] == {"type": "int16", "present": b"\x07", "values": b"\0\0\1\0\2\0"}
    assert things["code"] == {"type": "text", "present": b"\x07", "values": b"c0c1c2", "ends": packed([2, 4, 6])}
    # The key, then the place of the entity in the list of entities; zeros where there is nothing.
    place = [each["name"] for each in found["entities"]].index("Owner").to_bytes(4, "little")
    target = packed([1]) + place
    assert things["owner"] == {"type": "object", "present": b"\x05", "values": target + bytes(12) + target}
    # Lists of what no row says, or not in which order; both sides of many-to-many ones.
    assert {
        each["name"]: [numbers(each[key]) for key in ("owners", "counts", "members")] for each in found["relationships"]
    } == {
        "Owner.things": [[1], [2], [3, 1]],
        "Owner.likes": [[1], [1], [2]],
        "Owner.pals": [[1, 2], [1, 1], [2, 1]],
    }


def test_members_missing_from_a_list_follow_in_key_order(small: bytes, tmp_path: Path) -> None:
    def shorter(found: Content) -> None:
        things = members(found, "Owner.things")
        things["counts"], things["members"] = packed([0]), b""
        column = part(found, "Thing.owner")
        column["present"], column["values"] = b"\x07", column["values"][:12] * 3

    def first(found: Content) -> None:
        shorter(found)
        things = members(found, "Owner.things")
        things["counts"], things["members"] = packed([1]), packed([2])

    for change, keys in ((shorter, [1, 2, 3]), (first, [2, 1, 3])):
        path = crafted(small, change, tmp_path / "lists.binary")
        with Container(Model(UNIQUE), path, type="Binary", read_only=True) as container:
            (owner,) = container.fetch("Owner", "things.@count > 0")
            assert [int(thing.id.uri.rpartition("/p")[2]) for thing in owner.things] == keys


def test_keys_of_deleted_objects_are_never_reused(small: bytes, tmp_path: Path) -> None:
    path = tmp_path / "keys.binary"
    path.write_bytes(small)
    with Container(Model(UNIQUE), path, type="Binary") as container:
        context = container.context()
        context.delete(context.fetch("Special")[0])
        context.save()
        assert {each["lastKey"] for each in content(path.read_bytes())["entities"] if each["name"] != "Owner"} == {4}
    with Container(Model(UNIQUE), path, type="Binary") as container:
        context = container.context()
        thing = context.insert("Thing")
        context.save()
        assert thing.id.uri.endswith("/Thing/p5")


def test_to_one_relationship_may_refer_to_a_missing_object(small: bytes, tmp_path: Path) -> None:
    path = tmp_path / "gone.binary"
    path.write_bytes(small)
    with Container(Model(UNIQUE), path, type="Binary") as container:
        context = container.context()
        one, other = context.fetch("Thing", "rank < 2", sort="rank")
        one.first = other
        context.save()
        uri = other.id.uri
        context.delete(other)
        context.save()
    with Container(Model(UNIQUE), path, type="Binary") as container:
        context = container.context()
        context.should_delete_inaccessible_faults = False
        (one,) = context.fetch("Thing", "rank == 0")
        fault = one.first
        assert fault.id.uri == uri
        with pytest.raises(ObjectGoneError) as caught:
            _ = fault.code
        assert (caught.value.code, caught.value.entity, caught.value.object_uri) == (133000, "Thing", uri)
