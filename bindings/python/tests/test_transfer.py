"""corestone.dump and corestone.load: the format of the tool, exact values, names, nesting and errors."""

from __future__ import annotations

import io
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from samples import LIBRARY, THINGS, fill

import corestone
from corestone import ConflictError, Container, InvalidArgumentError, Model, TypeMismatchError, ValidationError

TOOL = ROOT / "build/bin/corestone"
BLOG: dict[str, dict[str, Any]] = {
    "Folder": {"name": "string", "notes": "to-many Note inverse folder", "@unique": ["name"]},
    "Note": {
        "title": "string", "made": "date?", "size": "int16 = 0", "price": "decimal?", "ratio": "double?",
        "folder": "to-one Folder inverse notes", "next": "to-one Note? inverse previous",
        "previous": "to-one Note? inverse next",
    },
}  # fmt: skip


@pytest.fixture
def blog(tmp_path: Path) -> Iterator[Container]:
    with Container(Model(BLOG), tmp_path / "blog.sqlite", unsaved="discard") as container:
        yield container


def things(path: Path) -> Container:
    return Container(Model(THINGS), path, unsaved="discard")


def records(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.split("\n") if line]


def without_names(text: str) -> list[str]:
    return sorted(re.sub(r'"[A-Z]\w+/p\d+"', '"name"', line) for line in text.split("\n"))


def test_a_dump_is_that_of_the_tool_and_loads_exactly(tmp_path: Path) -> None:
    with things(tmp_path / "a.sqlite") as container:
        fill(container)
        text = corestone.dump(container)
    if TOOL.exists():
        printed = subprocess.run([TOOL, "dump", tmp_path / "a.sqlite"], capture_output=True, check=True, text=True)
        assert records(printed.stdout) == records(text)
    with things(tmp_path / "b.sqlite") as copy:
        assert corestone.load(copy, io.StringIO(text)) == (15, 0)
        assert without_names(corestone.dump(copy)) == without_names(text)
    if TOOL.exists():
        (tmp_path / "text.jsonl").write_text(text)
        command: list[str | Path] = [TOOL, "load", tmp_path / "c.sqlite", tmp_path / "text.jsonl"]
        command += ["--model", tmp_path / "a.sqlite"]
        subprocess.run(command, capture_output=True, check=True)
        assert without_names(corestone.dump(tmp_path / "c.sqlite")) == without_names(text)


def test_derived_values_are_dumped_and_ignored_by_loads(tmp_path: Path) -> None:
    with Container(Model(LIBRARY), tmp_path / "a.sqlite") as container:
        context = container.context()
        context.insert("Article", title="T", wordCount=2, author=context.insert("Author", name="Ada"))
        context.save()
        text = corestone.dump(container)
        assert records(text)[0]["articlesCount"] == 1
    with Container(Model(LIBRARY), tmp_path / "b.sqlite") as copy:
        corestone.load(copy, io.StringIO(text.replace('"articlesCount": 1', '"articlesCount": 7')))
        assert copy.first("Author").articlesCount == 1


def test_files_and_formats(blog: Container, tmp_path: Path) -> None:
    given = [{"title": "One", "folder": "w", "made": "2024-01-31"}, {"@entity": "Folder", "@id": "w", "name": "Work"}]
    assert corestone.load(blog, given, "Note") == (2, 0)
    for name in ("blog.jsonl", "blog.json"):
        path = tmp_path / name
        assert corestone.dump(blog, path) == 2
        assert corestone.load(Container(Model(BLOG), tmp_path / f"{name}.sqlite"), path) == (2, 0)
    assert json.loads((tmp_path / "blog.json").read_text())[1]["made"] == "2024-01-31T00:00:00Z"
    assert [each["@entity"] for each in records((tmp_path / "blog.jsonl").read_text())] == ["Folder", "Note"]
    assert corestone.dump(blog, None, "Note", "title == %@", "x") == ""
    assert corestone.dump(blog, None, "Note", "title == %@", "x", format="json") == "[]\n"
    with io.BytesIO((tmp_path / "blog.jsonl").read_bytes()) as data:
        assert corestone.load(tmp_path / "blog.jsonl.sqlite", data, upsert=True) == (1, 1)
    assert sorted(each.name for each in tmp_path.iterdir() if each.name.endswith(".part")) == []


def test_a_context_is_dumped_with_its_unsaved_changes(blog: Container) -> None:
    context = blog.context()
    counts = corestone.load(context, [{"title": "One", "folder": {"name": "Work"}}], "Note")
    assert counts == (2, 0)
    assert context.has_changes
    assert [each["@entity"] for each in records(corestone.dump(context))] == ["Folder", "Note"]
    assert corestone.dump(blog) == ""
    with pytest.raises(InvalidArgumentError, match=r'^record 2: Note does not have a property "titel"'):
        corestone.load(context, [{"title": "Two", "folder": {"name": "Work"}}, {"titel": "x"}], "Note", upsert=True)
    assert context.count("Note") == 1


def test_nested_records_and_upserts(blog: Container) -> None:
    given = [
        {"@entity": "Folder", "name": "Work", "notes": [{"title": "One", "next": {"title": "Two", "folder": "f"}}]},
        {"@entity": "Folder", "@id": "f", "name": "Home"},
    ]
    assert corestone.load(blog, given) == (4, 0)
    assert corestone.load(blog, [{"name": "Work", "notes": [{"title": "Three"}]}], "Folder", upsert=True) == (1, 1)
    context = blog.context()
    one = context.first("Note", "title == 'One'")
    assert (one.next.title, one.next.folder.name) == ("Two", "Home")
    assert {each.title for each in one.folder.notes} == {"One", "Three"}
    uri = one.id.uri
    assert corestone.load(blog, [{"@id": uri, "title": "Uno"}], "Note", upsert=True) == (0, 1)
    with pytest.raises(InvalidArgumentError, match="already exists; pass upsert=True to update it"):
        corestone.load(blog, [{"@id": uri, "title": "Uno"}], "Note")


def test_numbers_keep_their_digits(blog: Container) -> None:
    text = '{"title": "a", "price": 12345678901234567890.123, "ratio": 0.1, "size": "7", "folder": {"name": "x"}}'
    context = blog.context()
    corestone.load(context, io.StringIO(text), "Note")
    note = context.first("Note")
    assert (str(note.price), note.ratio, note.size) == ("12345678901234567890.123", 0.1, 7)


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ('{"title": "a"}\n{"title": ', InvalidArgumentError, r":2: cannot read JSON: Expecting value at column 11$"),
        ('{"title": "a", "size": "many"}', TypeMismatchError, r':1: Note\.size takes Integer 16, but "many" cannot'),
        ('{"title": "a"}', ValidationError, r":1: Note\.folder is required"),
        ('{"title": "a", "folder": "x"}', InvalidArgumentError, r':1: Note\.folder refers to "x", which is not'),
        ('{"titel": "a"}', InvalidArgumentError, r':1: Note does not have a property "titel"; did you mean "title"'),
        ('{"@entity": "Nope"}', KeyError, 'does not have an entity "Nope"'),
        ('{"@id": "a", "title": "a"}\n{"@id": "a"}', InvalidArgumentError, r':2: the "@id" "a" belongs to an earlier'),
        ("[1]", TypeMismatchError, r":1: a record must be a dictionary, not \[1\]"),
        (
            '{"@entity": "Folder", "name": "a"}\n{"@entity": "Folder", "name": "a"}', ConflictError,
            r":[12]: Folder\.name is \"a\" in",
        ),
    ],
)  # fmt: skip
def test_errors_name_the_line(blog: Container, tmp_path: Path, text: str, kind: Any, message: str) -> None:
    path = tmp_path / "wrong.jsonl"
    path.write_text(text)
    with pytest.raises(kind, match=message):
        corestone.load(blog, path, "Note")
    assert corestone.dump(blog) == ""


def test_other_mistakes(blog: Container, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="does not exist; check the path"):
        corestone.load(blog, tmp_path / "missing.jsonl")
    (tmp_path / "latin.jsonl").write_bytes(b'{"title": "\xe9"}')
    with pytest.raises(corestone.InvalidUTF8Error, match=r"the file is not valid UTF-8"):
        corestone.load(blog, tmp_path / "latin.jsonl", "Note")
    with pytest.raises(InvalidArgumentError, match="not csv; call corestone dump or corestone load"):
        corestone.dump(blog, tmp_path / "a.csv")
    with pytest.raises(InvalidArgumentError, match="the file is a store; choose another path"):
        corestone.dump(blog, blog.path)
    with pytest.raises(corestone.StoreError, match="check the path"):
        corestone.dump(blog, tmp_path / "none/a.jsonl")
    with pytest.raises(InvalidArgumentError, match="cannot have a predicate; pass the entity"):
        corestone.dump(blog, None, None, "title == 'x'")
    with pytest.raises(TypeMismatchError, match="needs a Container, a Context or the path of a store, not 5"):
        corestone.dump(5)  # type: ignore[call-overload]
    with pytest.raises(TypeMismatchError, match="source must be a path, a file object or an iterable of dictionaries"):
        corestone.load(blog, {"title": "x"})
    with pytest.raises(InvalidArgumentError, match='does not have an entity; pass entity, or add the key "@entity"'):
        corestone.load(blog, [{"title": "x"}])
    assert corestone.load(blog, [{"name": "x", "colour": 1}], "Folder", skip_unknown=True) == (1, 0)
