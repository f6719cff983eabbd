"""Results: a sequence, and whole columns."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pytest

from corestone import Container, Context, InternalError, Model, ModelError, ObjectGoneError, Predicate, SortDescriptor
from corestone._abi import conversion
from corestone.graph.columns import unpack
from corestone.graph.results import BLOCK


def test_results_are_a_sequence(staff: Context) -> None:
    people = staff.fetch("Employee", sort=["name"])
    assert isinstance(people, Sequence)
    assert [person.name for person in people] == ["Ada", "Boris", "Chloé", "Dmitri", "Elena", "Grace"]
    assert len(people) == 6
    assert people[0].name == "Ada"
    assert people[-1].name == "Grace"
    assert [person.name for person in people[1:3]] == ["Boris", "Chloé"]
    assert [person.name for person in people[::-2]] == ["Grace", "Dmitri", "Boris"]
    assert people[4:2] == []
    assert people[0] in people
    assert "Ada" not in people
    assert people.index(people[2]) == 2
    assert people.first is people[0]
    for wrong in (6, -7):
        with pytest.raises(IndexError, match="the results have 6 objects"):
            people[wrong]


def test_empty_results_are_false(staff: Context) -> None:
    empty = staff.fetch("Employee", "age > 200")
    assert not empty
    assert list(empty) == []
    assert empty.first is None
    assert empty.column("name") == []
    assert empty.columns("name", "department.name") == [[], []]
    assert empty.rows("name") == []
    assert empty.to_dicts() == []
    assert empty.ids() == []
    assert repr(empty) == "<Results: 0 Employee objects>"
    assert "<table>" in (empty._repr_html_() or "")


def test_results_read_several_blocks(ctx: Context) -> None:
    count = 3 * BLOCK + 7
    ctx.insert_many("Project", [{"title": f"{at:05}"} for at in range(count)])
    ctx.save()
    found = ctx.fetch("Project", sort=["title"])
    assert [project.title for project in found] == [f"{at:05}" for at in range(count)]
    assert found[BLOCK].title == f"{BLOCK:05}"
    assert [each.title for each in found[BLOCK - 1 : BLOCK + 2]] == [f"{BLOCK + at:05}" for at in (-1, 0, 1)]
    assert found.column("title") == [f"{at:05}" for at in range(count)]
    assert len(found.ids()) == count


def test_columns_return_attribute_values(ctx: Context) -> None:
    hired = datetime(2020, 5, 17, 10, 30, tzinfo=timezone.utc)
    key = UUID("00112233-4455-6677-8899-aabbccddeeff")
    rows = [
        {"name": "Zoë", "age": 7, "floor": 2**31 - 1, "number": -(2**63), "salary": Decimal("12.50"), "rating": 1.5,
         "factor": 0.25, "active": False, "hired": hired, "photo": b"\x00\xff", "badge": key, "site": "https://a.b"},
        {"name": "漢字 👩‍🚀\0x", "age": -1, "floor": None, "number": None, "salary": None, "rating": None,
         "factor": None, "active": True, "hired": None, "photo": None, "badge": None, "site": None},
    ]  # fmt: skip
    for row in rows:
        ctx.insert("Employee", **row)
    names = list(rows[0])
    for _ in ("pending", "saved"):
        found = ctx.fetch("Employee", sort=["-age"])
        assert found.to_dicts(*names) == rows
        assert found.rows("name", "active") == [("Zoë", False), ("漢字 👩‍🚀\0x", True)]
        assert found.column("hired") == [hired, None]
        assert all(
            type(got) is type(row[name])
            for row in rows
            for name, got in zip(names, found.rows(*names)[rows.index(row)])
        )
        ctx.save()


def test_columns_are_by_default_those_of_all_attributes(staff: Context) -> None:
    found = staff.fetch("Department", sort="name")
    assert found.to_dicts() == [{"name": "R&D", "budget": 1000}, {"name": "Sales", "budget": None}]
    assert found.rows() == [("R&D", 1000), ("Sales", None)]


def test_columns_accept_relationships_and_key_paths(staff: Context) -> None:
    people = staff.fetch("Employee", "name != 'Grace'", sort=["name"])
    assert [each and each.name for each in people.column("department")] == ["R&D", "R&D", "Sales", "Sales", None]
    assert people.column("department.name") == ["R&D", "R&D", "Sales", "Sales", None]
    assert people.columns("name", "manager.name", "name")[1] == ["Grace"] * 5
    assert [len(each) for each in people.column("tasks")] == [3, 0, 0, 0, 0]
    with pytest.raises(ModelError, match='did you mean "name"'):
        people.column("nam")


def test_columns_do_not_share_lists(staff: Context) -> None:
    first, second = staff.fetch("Employee").columns("name", "name")
    first.clear()
    assert len(second) == 6


def test_columns_show_pending_changes(staff: Context) -> None:
    people = staff.fetch("Employee", sort=["name"])
    people[0].age = 99
    assert people.column("age")[0] == 99


def test_columns_include_subentities(staff: Context) -> None:
    assert sorted(staff.fetch("Employee").column("name"))[-1] == "Grace"
    assert staff.fetch("Manager").column("bonus") == [0.5]


def test_columns_of_deleted_objects_are_none(staff: Context) -> None:
    people = staff.fetch("Employee", sort=["name"])
    elena = people[4]
    staff.delete(elena)
    staff.save()
    assert people.column("name") == ["Ada", "Boris", "Chloé", "Dmitri", None, "Grace"]
    assert people.to_dicts("age")[4] == {"age": None}
    assert people.columns("department.name", "salary")[0][4] is None
    assert len(people.filtered("age >= 0 OR age == nil")) == 5
    assert len(people.ordered("-age")) == 6
    for _ in range(3):
        assert people[0].name == "Ada"
        with pytest.raises(ObjectGoneError):
            _ = people[4].name
        with pytest.raises(ObjectGoneError):
            _ = [person.name for person in people]
    staff.should_delete_inaccessible_faults = False
    with pytest.raises(ObjectGoneError, match="at index 4 of the results"):
        people.column("name")
    staff.should_delete_inaccessible_faults = True
    staff.reset()
    with pytest.raises(ObjectGoneError):
        people.column("name")


def test_ids_return_object_ids(staff: Context) -> None:
    people = staff.fetch("Employee", sort=["name"])
    assert people.ids() == [person.id for person in people]
    assert staff.fetch_ids("Employee", sort=["name"]) == people.ids()
    assert staff.fetch_ids("Employee", "age > 50", limit=1) != []


def test_html_escapes_values_and_limits_rows(staff: Context) -> None:
    staff.first("Employee", "name == 'Ada'").name = "<Ada & co>"
    page = staff.fetch("Employee", sort=["name"])._repr_html_() or ""
    assert "<th>name</th>" in page
    assert "<td>&lt;Ada &amp; co&gt;</td>" in page
    assert "6 Employee objects" in page
    staff.insert_many("Project", [{"title": str(at)} for at in range(50)])
    assert "the first 20 shown" in (staff.fetch("Project")._repr_html_() or "")


def test_results_repr_lists_the_first_objects(staff: Context) -> None:
    shown = repr(staff.fetch("Employee", sort="name"))
    assert shown.startswith("<Results: 6 Employee objects: <Employee p")
    assert shown.endswith(", …>")


def packed(*parts: bytes) -> memoryview:
    return memoryview(b"".join(part + b"\0" * (-len(part) % 8) for part in parts))


def test_packed_columns_are_unpacked() -> None:
    words = struct.Struct("=q").pack
    text = "aé漢".encode()
    data = packed(
        words(2), words(4),
        words(1), b"\0\1", words(7), words(0),
        words(2), b"\0\0", struct.pack("=d", 1.5), struct.pack("=d", -2.0),
        words(3), b"\0\0", words(len(text)), words(0), words(2), words(3), text,
        words(5), b"\1\0", bytes(16), bytes(range(16)),
    )  # fmt: skip
    assert unpack(data) == [
        (1, [False, True], [7, 0]),
        (2, None, [1.5, -2.0]),
        (3, None, ["aé", "漢"]),
        (5, [True, False], [bytes(16), bytes(range(16))]),
    ]
    assert unpack(packed(words(0), words(1), words(4), b"", words(0), words(0))) == [(4, None, [])]
    with pytest.raises(InternalError):
        unpack(packed(words(0), words(1), words(9)))


def test_indexes_and_slices_behave_like_those_of_a_list(staff: Context) -> None:
    people = staff.fetch("Employee", sort="name")
    assert people[5] is people[-1]
    assert people[-6] is people[0]
    assert [each.name for each in people[4:99]] == ["Elena", "Grace"]
    assert [each.name for each in people[-2:]] == ["Elena", "Grace"]
    assert [each.name for each in people[:-5]] == ["Ada"]
    assert [each.name for each in people[4:1:-2]] == ["Elena", "Chloé"]
    assert [each.name for each in people[::3]] == ["Ada", "Dmitri"]
    assert people[6:] == people[3:3] == []
    assert people[:1][0] is people.first
    assert list(reversed(people)) == people[::-1]


@pytest.mark.parametrize("count", [1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 2 * BLOCK + 1])
def test_columns_of_key_paths_span_blocks(staff: Context, count: int) -> None:
    owner = staff.first("Employee", "name == 'Ada'")
    staff.insert_many("Task", [{"title": f"t{at:04}", "owner": owner} for at in range(count)])
    staff.save()
    found = staff.fetch("Task", "title BEGINSWITH 't0'", sort="title")
    assert len(list(found)) == len(found) == count
    assert found.column("owner") == [owner] * count
    assert found.column("owner.name") == ["Ada"] * count
    assert found.columns("title", "owner.age") == [[f"t{at:04}" for at in range(count)], [36] * count]


def test_prefetched_block_values_belong_to_their_rows(staff: Context) -> None:
    """Prefetched values of a block belong to its rows."""
    staff.insert_many("Project", [{"title": f"{at:05}"} for at in range(BLOCK + 3)])
    staff.save()
    fresh = staff.container.context()
    found = fresh.fetch("Project", "title BEGINSWITH '0'", sort="title")
    everyone = list(found)
    assert [each.title for each in everyone] == [each.title for each in everyone] == found.column("title")
    assert everyone[BLOCK].title == f"{BLOCK:05}"
    part = found[BLOCK - 1 : BLOCK + 1]
    assert [each.title for each in part for _ in range(2)] == [f"{at:05}" for at in (BLOCK - 1,) * 2 + (BLOCK,) * 2]
    assert part[0] is everyone[BLOCK - 1]


def test_filtered_and_ordered_return_new_results(staff: Context) -> None:
    people = staff.fetch("Employee", sort="name")
    old = people.filtered("age > $least", least=40)
    assert [each.name for each in old] == ["Boris", "Dmitri", "Grace"]
    assert (old.entity, len(people)) == (people.entity, 6)
    assert [each.name for each in people.filtered(Predicate("age < %d", 34))] == ["Chloé", "Elena"]
    assert [each.name for each in people.filtered("age == %d OR name == %@", 36, "Grace")] == ["Ada", "Grace"]
    assert [each.name for each in people.ordered("department.name", "-age")] == [
        "Elena", "Grace", "Boris", "Ada", "Dmitri", "Chloé",
    ]  # fmt: skip
    by_length = SortDescriptor("name", selector=lambda first, second: len(first) - len(second))
    assert [each.name for each in people.ordered(by_length, "name")] == [
        "Ada", "Boris", "Chloé", "Elena", "Grace", "Dmitri",
    ]  # fmt: skip
    assert [each.name for each in people.ordered()] == [each.name for each in people]


def test_notebook_html_shows_a_limited_table(staff: Context) -> None:
    staff.insert_many("Project", [{"title": str(at)} for at in range(17)])
    page = staff.fetch("Project")._repr_html_() or ""
    assert page.count("<tr>") == 21
    assert "20 Project objects</caption>" in page
    staff.insert("Project", title="last")
    page = staff.fetch("Project")._repr_html_() or ""
    assert page.count("<tr>") == 21
    assert "1 more object<" in page
    assert "21 Project objects, the first 20 shown</caption>" in page
    heads = staff.fetch("Employee", "name == 'Elena'")._repr_html_() or ""
    assert heads.count("<th>") == 12
    assert heads.count("<td") == 12
    assert '<td class="null">&ndash;</td>' in heads
    assert "columns not shown: " in heads
    assert "None" not in heads


def test_results_repr_shows_five_objects(staff: Context) -> None:
    for limit, more in ((4, False), (5, False), (6, True)):
        shown = repr(staff.fetch("Employee", sort="name", limit=limit))
        assert shown.startswith(f"<Results: {limit} Employee objects: <Employee p")
        assert (", …>" in shown) == more
        assert shown.count("<Employee") == min(limit, 5)
    staff.insert("Project", title="x")
    assert repr(staff.inserted).startswith("<Results: 1 managed objects: <Project new")
    assert staff.inserted.entity is None
    assert staff.fetch("Employee").entity is staff.model["Employee"]
    assert staff.fetch("Employee").batch_size == 0


def test_comparator_is_released_after_sorting(staff: Context) -> None:
    before = set(conversion._functions)
    people = staff.fetch("Employee")
    by_length = SortDescriptor("name", selector=lambda first, second: len(first) - len(second))
    assert people.ordered(by_length)[0].name == "Ada"
    assert set(conversion._functions) == before


def test_rows_without_names_include_transient_attributes(tmp_path: Path) -> None:
    model = Model({"Person": {"name": "string", "mood": "string? transient"}})
    with Container(model, tmp_path / "a.sqlite", unsaved="discard") as container, container.context() as ctx:
        ctx.insert("Person", name="Ada", mood="fine")
        ctx.insert("Person", name="Boris")
        people = ctx.fetch("Person", sort="name")
        assert people.to_dicts() == [{"name": "Ada", "mood": "fine"}, {"name": "Boris", "mood": None}]
        assert people.rows() == [("Ada", "fine"), ("Boris", None)]
        assert people.column("mood") == ["fine", None]
