"""corestone fetch with computed columns, groups and counts: values, order, formats and errors."""

from __future__ import annotations

import csv
import io
import json
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from conftest import run
from corestone import Container, Model

NOTES: dict[str, dict[str, Any]] = {
    "Folder": {"name": "string", "notes": "to-many Note inverse folder"},
    "Note": {
        "title": "string",
        "words": "int32 = 0",
        "price": "decimal?",
        "modified": "date?",
        "folder": "to-one Folder? inverse notes",
        "tags": "to-many Tag inverse notes",
    },
    "Tag": {"name": "string", "notes": "to-many Note inverse tags"},
}


def make_notes(path: Path, **options: Any) -> Path:
    with Container(Model(NOTES), path, **options) as container:
        context = container.context()
        work, home = (context.insert("Folder", name=name) for name in ("Work", "Home"))
        context.insert("Folder", name="Empty")
        tag = context.insert("Tag", name="red")
        notes = [("tax", work, 100, 3), ("plan", work, 30, 3), ("milk", home, 5, 4), ("=idea", None, 7, 5)]
        for place, (title, folder, words, month) in enumerate(notes):
            note = context.insert("Note", title=title, words=words, price=Decimal(place) + Decimal("0.5"))
            note.modified = datetime(2024, month, 10 + place, tzinfo=timezone.utc)
            note.folder = folder
            if place % 2 == 0:
                note.tags = [tag]
        context.save()
    return path


@pytest.fixture(scope="module", params=["SQLite", "XML"])
def notes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_notes(tmp_path_factory.mktemp("notes") / "notes.store", type=request.param)


def rows(store: Path, *arguments: str) -> list[dict[str, Any]]:
    """The objects of the JSON output. With XML stores, the model is part of the file."""
    found = run("fetch", store, *arguments, "--format", "json")
    assert (found.returncode, found.stderr) == (0, "")
    values: list[dict[str, Any]] = json.loads(found.stdout, parse_float=Decimal)
    return values


def refused(store: Path, *arguments: str) -> str:
    found = run("fetch", store, *arguments)
    assert (found.returncode, found.stdout) == (2, "")
    return found.stderr


def test_columns_are_key_paths_and_operators(notes: Path) -> None:
    found = rows(notes, "Folder", "--columns", "name,notes.@count,total=notes.@sum.words", "--sort", "name")
    assert found == [
        {"name": "Empty", "notes.@count": 0, "total": 0},
        {"name": "Home", "notes.@count": 1, "total": 5},
        {"name": "Work", "notes.@count": 2, "total": 130},
    ]
    found = rows(notes, "Note", "--columns", "title,folder.name", "--sort", "title", "--limit", "2")
    assert found == [{"title": "=idea", "folder.name": None}, {"title": "milk", "folder.name": "Home"}]


def test_columns_are_expressions_with_dates_commas_and_aliases(notes: Path) -> None:
    columns = "year:(modified), startOfMonth:(modified),kind=TERNARY(words > 50, 'a, b', title),twice=words * 2"
    assert rows(notes, "Note", "words >= 30", "--columns", columns, "--sort", "words") == [
        {
            "year:(modified)": 2024,
            "startOfMonth:(modified)": "2024-03-01T00:00:00Z",
            "kind": kind,
            "twice": twice,
        }
        for kind, twice in (("plan", 60), ("a, b", 200))
    ]


def test_computed_columns_stand_beside_properties_of_objects(notes: Path) -> None:
    columns = "@id,@entity,ref=@id,n=tags.@count,tags,folder,label=title"
    found = rows(notes, "Note", "title == 'tax'", "--columns", columns)[0]
    assert list(found) == ["@id", "@entity", "ref", "n", "tags", "folder", "label"]
    assert found["@id"] == found["ref"] and found["@entity"] == "Note" and found["label"] == "tax"
    assert found["n"] == 1 and len(found["tags"]) == 1 and "/Folder/" in found["folder"]


def test_properties_of_subentities_stand_beside_computed_columns(zoo: Path) -> None:
    found = rows(zoo, "Animal", "--columns", "name,depth,wingspan,friends.@count,keeper.years", "--sort", "name")
    assert [(row["name"], row["depth"], row["friends.@count"], row["keeper.years"]) for row in found] == [
        ("", None, 1, -1), ("carp", -3, 2, None), ("eagle", None, 2, 12), ("emu", None, 1, 12),
    ]  # fmt: skip
    assert found[3]["wingspan"] == "Infinity"


@pytest.mark.parametrize(
    ("sort", "names"),
    [
        (["-total"], ["Work", "Home", "Empty"]),
        (["total"], ["Empty", "Home", "Work"]),
        (["-notes.@count"], ["Work", "Home", "Empty"]),
        (["-length:(name)", "-name"], ["Empty", "Work", "Home"]),
        (["+notes.@max.modified"], ["Empty", "Work", "Home"]),
    ],
)
def test_objects_are_sorted_by_columns_and_expressions(notes: Path, sort: list[str], names: list[str]) -> None:
    options = [word for key in sort for word in ("--sort", key)]
    columns = "name,total=notes.@sum.words"
    assert [row["name"] for row in rows(notes, "Folder", "--columns", columns, *options)] == names
    window = rows(notes, "Folder", "--columns", columns, *options, "--offset", "1", "--limit", "1")
    assert [row["name"] for row in window] == names[1:2]
    if sort != ["-total"] and sort != ["total"]:
        assert [row["name"] for row in rows(notes, "Folder", *options)] == names


def test_rows_are_read_in_batches(tmp_path: Path) -> None:
    path = tmp_path / "many.sqlite"
    with Container(Model(NOTES), path) as container:
        context = container.context()
        folder = context.insert("Folder", name="all")
        context.insert_many("Note", [{"title": f"n{i:04}", "words": i % 7, "folder": folder} for i in range(1234)])
        context.save()
    expected = [{"title": f"n{i:04}", "folder.name": "all", "double": i % 7 * 2} for i in range(1234)]
    columns = ["--columns", "title,folder.name,double=words * 2"]
    assert rows(path, "Note", *columns, "--sort", "title") == expected
    assert rows(path, "Note", *columns, "--sort", "-title", "--offset", "3", "--limit", "700") == expected[::-1][3:703]
    by_column = sorted(expected, key=lambda row: (row["double"], row["title"]))
    assert rows(path, "Note", *columns, "--sort", "double", "--sort", "title") == by_column
    assert rows(path, "Note", "words > 9", *columns) == []


def test_count_prints_a_number_in_every_format(notes: Path) -> None:
    for form in ("table", "json", "csv"):
        assert run("fetch", notes, "Note", "words > 5", "--count", "--format", form).stdout == "3\n"
    assert run("fetch", notes, "Note", "--count", "--limit", "2", "--sort", "title").stdout == "2\n"
    assert run("fetch", notes, "Tag", "name == 'blue'", "--count").stdout == "0\n"


def test_groups_have_their_counts_by_default(notes: Path) -> None:
    found = rows(notes, "Note", "--group-by", "folder.name")
    assert found == [
        {"folder.name": None, "@count": 1}, {"folder.name": "Home", "@count": 1}, {"folder.name": "Work", "@count": 2},
    ]  # fmt: skip
    table = run("fetch", notes, "Note", "--group-by", "folder.name", "--sort", "-@count", "--limit", "1").stdout
    assert table == "folder.name  @count\nWork              2\n"


def test_groups_are_aggregated_filtered_and_sorted(notes: Path) -> None:
    by = ["--group-by", "month=startOfMonth:(modified)"]
    columns = ["--columns", "month,@count,total=sum:(words),most=max:(words),mean=average:(words),sum:(price)"]
    assert rows(notes, "Note", *by, *columns, "--having", "total > 6 AND @count < 5", "--sort", "-total") == [
        {
            "month": month + "T00:00:00Z",
            "@count": count,
            "total": total,
            "most": most,
            "mean": mean,
            "sum:(price)": price,
        }
        for month, count, total, most, mean, price in (
            ("2024-03-01", 2, 130, 100, Decimal("65.0"), 2),
            ("2024-05-01", 1, 7, 7, Decimal("7.0"), Decimal("3.5")),
        )
    ]
    assert rows(notes, "Note", *by, "--columns", "@count", "--having", "sum:(words) > 6", "--sort", "-month") == [
        {"@count": 1}, {"@count": 2},
    ]  # fmt: skip
    assert rows(notes, "Note", *by, "--columns", "month", "--having", "@count > 1", "--sort=-sum:(words)") == [
        {"month": "2024-03-01T00:00:00Z"}
    ]


def test_a_key_can_name_a_column_and_a_column_a_key(notes: Path) -> None:
    expected = [{"place": None, "@count": 1}, {"place": "Home", "@count": 1}, {"place": "Work", "@count": 2}]
    assert rows(notes, "Note", "--group-by", "place", "--columns", "place=folder.name,@count") == expected
    assert rows(notes, "Note", "--group-by", "place=folder.name", "--columns", "place,@count") == expected
    assert rows(notes, "Note", "--group-by", "place=folder.name") == expected


def test_groups_of_relationships_and_entities(notes: Path, zoo: Path) -> None:
    found = rows(notes, "Note", "folder != nil", "--group-by", "folder", "--sort", "@count")
    assert [row["folder"].rsplit("/", 2)[1] for row in found] == ["Folder", "Folder"]
    assert rows(zoo, "Animal", "--group-by", "@entity") == [
        {"@entity": "Bird", "@count": 2}, {"@entity": "Fish", "@count": 2},
    ]  # fmt: skip


def test_aggregates_without_groups_are_one_row(notes: Path) -> None:
    assert rows(notes, "Note", "--columns", "@count,sum:(words),first=min:(modified)") == [
        {"@count": 4, "sum:(words)": 142, "first": "2024-03-10T00:00:00Z"}
    ]
    assert rows(notes, "Note", "words > 999", "--columns", "@count,max:(words)") == [{"@count": 0, "max:(words)": None}]


def test_csv_output_of_groups_is_safe_for_spreadsheets(notes: Path) -> None:
    arguments = ["--group-by", "t=title", "--sort", "t", "--limit", "1", "--format", "csv"]
    text = run("fetch", notes, "Note", *arguments).stdout
    assert list(csv.reader(io.StringIO(text))) == [["t", "@count"], ["=idea", "1"]]
    text = run("fetch", notes, "Note", *arguments, "--spreadsheet-safe", "yes").stdout
    assert list(csv.reader(io.StringIO(text))) == [["t", "@count"], ["'=idea", "1"]]


def test_plans_of_groups_and_columns_are_explained(tmp_path: Path) -> None:
    path = make_notes(tmp_path / "notes.sqlite")
    plan = run("fetch", path, "Note", "--group-by", "folder.name", "--explain").stdout
    assert "GROUP BY t1.ZNAME" in plan and "in memory: nothing" in plan
    plan = run("fetch", path, "Note", "--columns", "title,w=words * 2", "--sort", "-w", "--explain").stdout
    assert "ORDER BY (t0.ZWORDS * ?) DESC" in plan


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--columns", "titel"], 'Note does not have a stored property "titel"; did you mean "title"?'),
        (["--columns", "folder.nmae"], 'Folder has no property "nmae"; did you mean "name"?'),
        (["--columns", "sum:(wrods)"], 'Note has no property "wrods"; did you mean "words"?'),
        (["--columns", "smu:(words)"], 'the function "smu:" is not defined; did you mean "sum:"?'),
        (["--columns", "tags.name"], "Note.tags is a to-many relationship and cannot be a column"),
        (["--columns", ","], '--columns takes property names or expressions separated by commas, not ","'),
        (["--columns", "x=words,x=title"], '--columns contains "x" more than once; rename one of the columns'),
        (["--columns", "title,title"], '--columns contains "title" more than once; remove all but one'),
        (["--columns", "@n=words"], '--columns has the name "@n", but a name must not begin with @, - or +'),
        (["--columns", "@count,title"], '"title" has one value per row, not per group; group by it'),
        (["--columns", "@count,@id"], '"@id" has one value for each object, but the rows are groups of Note'),
        (["--group-by", "folder.name", "--sort", "title"], '"title" has one value per row, not per group'),
        (
            ["--group-by", "folder.name", "--columns", "total=sum:(words)", "--sort", "totl"],
            'cannot sort Note by "totl", which is not a column; did you mean "total"?',
        ),
        (
            ["--group-by", "folder.name", "--columns", "total=sum:(words)", "--having", "totl > 1"],
            'the having predicate uses "totl", which is neither a column nor a property to group by; '
            'did you mean "total"?',
        ),
        (["--group-by", "tags"], "Note.tags is a to-many relationship"),
        (["--having", "words > 1"], "--having filters groups; add --group-by KEY"),
        (["--count", "--group-by", "title"], "--count prints one number and cannot be combined with --group-by"),
        (["--count", "--columns", "title"], "--count prints only a number and cannot be combined with --columns"),
        (["--group-by", "title", "--having", "@count >"], "cannot read the predicate at byte 8"),
    ],
)
def test_mistakes_are_explained(notes: Path, arguments: list[str], message: str) -> None:
    assert message in refused(notes, "Note", *arguments)
