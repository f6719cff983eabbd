"""corestone load with records within records: matching, counts, mistakes, and the same result as Container.upsert."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import run
from corestone import Container, Model

SHOWS: dict[str, dict[str, Any]] = {
    "Show": {
        "feed": "string",
        "title": "string?",
        "episodes": "to-many Episode inverse show delete cascade",
        "picks": "to-many ordered Episode inverse pickers",
        "@unique": ["feed"],
    },
    "Episode": {
        "guid": "string",
        "minutes": "int16 = 0",
        "show": "to-one Show inverse episodes",
        "pickers": "to-many Show inverse picks",
        "tags": "to-many Tag inverse episodes",
        "@unique": ["guid"],
    },
    "Special": {"@parent": "Episode", "host": "string?"},
    "Tag": {"name": "string", "episodes": "to-many Episode inverse tags", "@unique": ["name"]},
}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "shows.sqlite"
    with Container(Model(SHOWS), path) as container:
        context = container.context()
        show = context.insert("Show", feed="f1", title="One")
        for guid, minutes in (("a", 1), ("b", 2)):
            context.insert("Episode", guid=guid, minutes=minutes, show=show).tags = []
        context.insert("Tag", name="old")
        context.save()
    return path


def lines(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def contents(path: Path) -> dict[str, Any]:
    """The values of the store by unique value, without keys of objects."""
    objects = [json.loads(line) for line in run("dump", path).stdout.splitlines()]
    keys = {each["@id"]: each.get("feed") or each.get("guid") or each.get("name") for each in objects}

    def named(value: Any) -> Any:
        if isinstance(value, list):
            return [keys[each] for each in value]
        return keys.get(value, value) if isinstance(value, str) else value

    found = {}
    for each in objects:
        values = {key: named(value) for key, value in each.items() if key != "@id"}
        found[f"{each['@entity']} {keys[each['@id']]}"] = {
            key: sorted(value) if key == "tags" else value for key, value in values.items()
        }
    return found


NESTED: list[dict[str, Any]] = [
    {
        "feed": "f1",
        "title": "Uno",
        "episodes": [
            {"guid": "a", "minutes": 10, "tags": [{"name": "old"}, {"name": "new"}]},
            {"guid": "c", "tags": [{"name": "new"}], "@entity": "Special", "host": "Ada"},
        ],
        "picks": [{"guid": "c"}, {"guid": "b"}, {"guid": "a"}],
    },
    {"feed": "f2", "episodes": [{"guid": "d", "show": {"feed": "f2", "title": "Two"}}], "picks": [{"guid": "d"}]},
]


def test_nested_records_are_matched_by_unique_values_or_inserted(store: Path) -> None:
    done = run("load", store, "--entity", "Show", "--upsert", input=lines(*NESTED))
    # Inserted: Special c, Tag new, Show f2, Episode d. Changed: Show f1, Episodes a and b, Tag old.
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"loaded 4 objects, changed 4 into {store}\n"
    found = contents(store)
    assert found["Show f1"]["title"] == "Uno" and found["Show f1"]["picks"] == ["c", "b", "a"]
    assert found["Episode a"] == {
        "@entity": "Episode",
        "guid": "a",
        "minutes": 10,
        "show": "f1",
        "tags": ["new", "old"],
    }
    assert found["Special c"]["host"] == "Ada" and found["Special c"]["show"] == "f1"
    assert found["Episode b"]["minutes"] == 2 and found["Show f2"]["title"] == "Two"
    again = run("load", store, "--entity", "Show", "--upsert", input=lines(*NESTED))
    assert again.stdout == f"loaded 0 objects, changed 8 into {store}\n" and contents(store) == found


@pytest.mark.parametrize("options", [[], ["--batch", "1"], ["--keep-going"]])
def test_result_is_that_of_the_library(store: Path, tmp_path: Path, options: list[str]) -> None:
    other = tmp_path / "other.sqlite"
    other.write_bytes(store.read_bytes())
    assert run("load", store, "--entity", "Show", "--upsert", *options, input=lines(*NESTED)).returncode == 0
    with Container(Model(SHOWS), other) as container:
        container.upsert("Show", NESTED)
    assert contents(store) == contents(other)


def test_one_to_one_records_are_counted_once(store: Path) -> None:
    text = lines(*({"guid": f"e{i}", "show": {"feed": f"f{i % 2 + 1}", "title": "T"}} for i in range(10)))
    for options in ([], ["--batch", "3"]):
        done = run("load", store, "--entity", "Episode", "--upsert", "--dry-run", *options, input=text)
        assert done.stdout == f"would load 11 objects, change 1 into {store}\n"
    done = run("load", store, "--entity", "Episode", "--upsert", "--batch", "3", input=text)
    assert done.stdout == f"loaded 11 objects, changed 1 into {store}\n"
    assert contents(store)["Episode e7"]["show"] == "f2"


def test_records_are_inserted_without_upsert(store: Path) -> None:
    record = {"feed": "f2", "episodes": [{"guid": "c", "tags": [{"name": "x"}]}, {"guid": "d"}]}
    done = run("load", store, "--entity", "Show", input=lines(record))
    assert (done.stdout, done.stderr) == (f"loaded 4 objects into {store}\n", "")
    record = {"feed": "f3", "episodes": [{"guid": "e", "tags": [{"name": "old"}]}]}
    done = run("load", store, "--entity", "Show", "--keep-going", input=lines(record, {"feed": "f4"}))
    assert done.stderr == (
        'corestone: standard input:1: Show.episodes[0]: Episode.tags[0]: Tag.name ("old") is also in Tag/p1 of the '
        "store, but must be unique; change the value, or add --upsert to update the existing object\n"
    )
    assert done.stdout == f"loaded 1 object into {store}; 1 mistake\n" and "Show f3" not in contents(store)


def test_names_and_records_can_be_mixed(store: Path) -> None:
    text = lines(
        {
            "feed": "f2",
            "picks": ["later", {"guid": "c", "show": "s3"}, {"@id": "own", "guid": "d", "show": {"feed": "f1"}}],
        },
        {"@entity": "Show", "@id": "s3", "feed": "f3", "picks": [{"@id": "own"}]},
        {"@entity": "Episode", "@id": "later", "guid": "z", "show": "s3", "tags": [{"@id": "t", "name": "t"}, "t"]},
    )
    for options in ([], ["--batch", "1"]):
        done = run("load", store, "--entity", "Show", "--upsert", *options, input=text)
        assert (done.returncode, done.stderr) == (0, "")
        found = contents(store)
        assert found["Show f2"]["picks"] == ["z", "c", "d"] and found["Show f3"]["picks"] == ["d"]
        assert found["Episode c"]["show"] == "f3" and found["Episode z"]["tags"] == ["t"]


def test_record_with_the_uri_of_an_object_changes_it(store: Path) -> None:
    uri = next(
        row["@id"]
        for row in json.loads(run("fetch", store, "Episode", "--format", "json").stdout)
        if row["guid"] == "b"
    )
    record = {"feed": "f2", "picks": [{"@id": uri, "minutes": 77}]}
    done = run("load", store, "--entity", "Show", input=lines(record))
    assert done.stdout == f"loaded 1 object, changed 1 into {store}\n"
    assert contents(store)["Episode b"]["minutes"] == 77 and contents(store)["Show f2"]["picks"] == ["b"]


@pytest.mark.parametrize(
    "options", [["--keep-going"], ["--keep-going", "--batch", "2"], ["--keep-going", "--dry-run"], []]
)
def test_rejected_line_has_no_effect(store: Path, options: list[str]) -> None:
    before = contents(store)
    wrong = {
        "feed": "f1",
        "title": "changed",
        "episodes": [
            {"guid": "a", "minutes": 99, "tags": [{"name": "old"}, {"name": "n1"}]},
            {"guid": "c"},
            {"minutes": 1},
        ],
    }
    done = run("load", store, "--entity", "Show", "--upsert", *options, input=lines(wrong, {"feed": "f2"}))
    assert done.returncode == 1
    assert done.stderr == (
        "corestone: standard input:1: Show.episodes[2]: Episode.guid is required and cannot be null; set it before "
        "saving\n"
    )
    after = contents(store)
    assert after.pop("Show f2", None) is None or (options and "--dry-run" not in options)
    assert after == before


def test_required_relationship_of_a_nested_object_can_be_set_by_its_line(store: Path) -> None:
    done = run(
        "load",
        store,
        "--entity",
        "Tag",
        "--upsert",
        "--dry-run",
        input=lines({"name": "x", "episodes": [{"guid": "q"}]}),
    )
    assert done.returncode == 1 and "Episode.show is required" in done.stderr
    record = {"name": "x", "episodes": [{"guid": "q", "show": {"feed": "f1"}}]}
    assert run("load", store, "--entity", "Tag", "--upsert", input=lines(record)).returncode == 0
    assert contents(store)["Episode q"]["show"] == "f1"


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (
            {"feed": "x", "episodes": [{"guid": "q", "minutes": "many"}]},
            'Show.episodes[0]: Episode.minutes takes Integer 16, but "many" cannot be converted to this type',
        ),
        (
            {"feed": "x", "episodes": [{"guid": "q", "tags": [{"nmae": "t"}]}]},
            'Show.episodes[0]: Episode.tags[0]: Tag does not have a property "nmae"',
        ),
        (
            {"feed": "x", "episodes": [{"guid": "q", "@entity": "Tag"}]},
            'Show.episodes[0]: @entity is "Tag", which does not inherit from Episode; use a subentity of Episode',
        ),
        (
            {"feed": "x", "episodes": [{"guid": "q", "@entity": "Sepcial"}]},
            'Show.episodes[0]: the model has no entity "Sepcial"; did you mean "Special"?',
        ),
        (
            {"feed": "x", "episodes": {"guid": "q"}},
            'Show.episodes takes a list of object names (@id) or records, not {"guid": "q"}',
        ),
        (
            {"feed": "x", "episodes": [{"guid": "q"}, 1.5]},
            "Show.episodes[1]: Show.episodes takes a list of object names (@id) or records, not 1.5",
        ),
        (
            {"@entity": "Episode", "guid": "q", "show": [{"feed": "x"}, {"feed": "y"}]},
            "Episode.show takes the name of one object (@id) or one record, not",
        ),
        (
            {"@entity": "Episode", "guid": "q", "show": {"feed": None}},
            "Episode.show: Show.feed is required and cannot be null; set it before saving",
        ),
        (
            {"feed": "x", "episodes": [{"@id": ["a"], "guid": "q"}]},
            'Show.episodes[0]: @id must be a string or a 64-bit integer, not ["a"]',
        ),
        (
            {
                "@entity": "Special",
                "guid": "q",
                "show": {"feed": "f1"},
                "tags": [{"name": "t", "episodes": [{"guid": "a", "@entity": "Special"}]}],
            },
            'Episode.tags[0]: Tag.episodes[0]: the unique value of Special.guid ("a") belongs to an object of Episode',
        ),
    ],
)
def test_mistake_in_a_nested_record_has_its_place(store: Path, record: dict[str, Any], message: str) -> None:
    before = contents(store)
    done = run("load", store, "--entity", "Show", "--upsert", "--keep-going", input=lines({"feed": "f1"}, record))
    assert done.returncode == 1 and done.stderr.startswith(f"corestone: standard input:2: {message}"), done.stderr
    assert contents(store) == before


def test_every_mistake_of_a_line_is_reported(store: Path) -> None:
    record = {"feed": "x", "episodes": [{"guid": 1.5, "minutes": "m"}, {"guid": "q"}, {"nmae": 1}]}
    done = run("load", store, "--entity", "Show", "--dry-run", "--keep-going", input=lines(record))
    assert [line.split(": ")[2] for line in done.stderr.splitlines()] == ["Show.episodes[0]", "Show.episodes[2]"]
