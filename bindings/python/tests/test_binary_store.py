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

from corestone import Container, Model, ModelMismatchError, StoreCorruptError
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


def test_another_reader_finds_what_was_saved(whole: bytes, tmp_path: Path) -> None:
    rows = read(whole, TO_MANY)
    assert len(rows) == 15
    with Container(Model(THINGS), tmp_path / "whole.binary", type="Binary", read_only=True) as container:
        for item in [*container.fetch("Thing"), *container.fetch("Owner")]:
            row = rows[item.entity_name, int(object_id(item).uri.rpartition("/p")[2])]
            for name in ("title", "price", "made", "data", "key", "homepage", "large", "real", "name"):
                if name in item._cst_properties:
                    assert item[name] == row.get(name), name


def test_files_that_contradict_themselves_are_refused(whole: bytes, tmp_path: Path) -> None:
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
        # The last thing of all belongs to nobody.
        stranger = numbers(table(found, "Thing")["keys"])[-1]
        things["members"] = packed([stranger]) + things["members"][8:]

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
        (other_type, "Owner", "name", "bytes"),
        (lists_twice, "Thing", "friends", "twice"),
        (one_sided, "Thing", "friends", "does not lead back"),
        (doubled, "Thing", "friends", "twice"),
        (owner_twice, "Owner", "likes", "do not belong"),
        (more, "Owner", "likes", "more than"),
        (no_member, "Owner", "things", "does not lead back"),
        (wrong_owner, "Owner", "likes", "do not belong"),
        (no_entity, "Thing", "owner", "leads nowhere"),
        (no_lists, None, None, "no list"),
        (no_tables, None, None, "no list"),
    ]:
        error = failure(change)
        assert (error.entity, error.key) == (entity, key), (change, error)
        assert words in str(error), error


def test_a_member_that_is_gone_is_left_out_where_nothing_leads_back(whole: bytes, tmp_path: Path) -> None:
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


def test_columns_whose_parts_do_not_fit_are_refused(tmp_path: Path, run_python: Run) -> None:
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


def test_what_is_no_binary_store_is_called_what_it_is(tmp_path: Path) -> None:
    model, path = Model(THINGS), tmp_path / "a.store"
    Container(model, path).close()
    for wanted in ("Binary", "XML"):
        with pytest.raises(Exception, match=re.escape(f"an SQLite store, and no {wanted} store")) as caught:
            Container(model, path, type=wanted)
        assert caught.value.code == 134000  # type: ignore[attr-defined]
