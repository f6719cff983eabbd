"""dump and load: dumps can be loaded again, and invalid lines are reported."""

from __future__ import annotations

import base64
import csv
import io
import json
import plistlib
import re
import shutil
import sqlite3
import subprocess
from contextlib import closing
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import corestone
import pytest
from conftest import TOOL, run
from corestone import Container, Model, set_raw_value

THINGS: dict[str, dict[str, Any]] = {
    "Thing": {
        "title": "string?",
        "flag": "bool?",
        "small": "int16?",
        "large": "int64?",
        "price": "decimal?",
        "single": "float?",
        "real": "double?",
        "made": "date?",
        "data": "binary?",
        "key": "uuid?",
        "homepage": "uri?",
        "box": "transformable?",
        "where": {"latitude": "double?", "town": "string?"},
        "owner": "to-one Owner? inverse things",
        "friends": "to-many Thing inverse friends",
        "tags": "to-many ordered Tag inverse things",
    },
    "Special": {"@parent": "Thing", "note": "string?"},
    "Owner": {"name": "string", "things": "to-many ordered Thing inverse owner", "likes": "to-many Thing"},
    "Tag": {"name": "string", "things": "to-many Thing inverse tags"},
}
PEOPLE: dict[str, dict[str, Any]] = {
    "Person": {
        "@unique": ["mail"],
        "mail": "string",
        "name": "string?",
        "age": "int16?",
        "born": "date?",
        "group": "to-one Group? inverse people",
    },
    "Group": {"title": "string", "people": "to-many Person inverse group"},
}
EPOCH = datetime(2001, 1, 1, tzinfo=timezone.utc)


@pytest.fixture
def things(tmp_path: Path) -> Path:
    path = tmp_path / "things.sqlite"
    with Container(Model(THINGS), path) as container:
        context = container.context()
        texts = ["", " ", "\n", 'a "b", c\r\n\td', "\x00\x01\x7f", "😀é", "1e5", "null"]
        made = [
            context.insert("Thing", title=text, made=EPOCH + timedelta(seconds=n, microseconds=n))
            for n, text in enumerate(texts)
        ]
        made.append(
            context.insert(
                "Special", note="x", flag=True, small=-(2**15), large=-(2**63), price=Decimal("-1234567890.123"),
                single=0.10000000149011612, real=-1.7976931348623157e308, made=datetime(1, 1, 1, tzinfo=timezone.utc),
                data=bytes(range(256)), key=UUID(int=7), homepage="https://example.org/?a=b",
                where={"latitude": 5e-324, "town": "Zoë"},
            )
        )  # fmt: skip
        made.append(context.insert("Thing", flag=False, real=1e300, single=-0.0, data=b"", large=2**63 - 1))
        made.append(context.insert("Thing", real=-0.0, made=EPOCH + timedelta(days=-700000, microseconds=1)))
        tags = [context.insert("Tag", name=name) for name in "abc"]
        made[0].tags = [tags[2], tags[0], tags[1]]
        made[1].tags = [tags[1], tags[2]]
        made[0].friends = {made[1], made[2], made[0]}
        context.insert("Owner", name="Ada", things=list(reversed(made[:5])), likes=set(made[3:7]))
        context.insert("Owner", name="Eve", things=[made[8]])
        context.save()
    return path


def same(first: Path, second: Path, model: Any = None) -> None:
    with corestone.open(first, model) as a, corestone.open(second, model) as b:
        found = corestone.compare(a.coordinator, b.coordinator)
    assert found.differences == 0, found.details
    assert found.objects > 0


@pytest.mark.parametrize("form", ["jsonl", "json"])
def test_dump_can_be_loaded_again(things: Path, tmp_path: Path, form: str) -> None:
    file = tmp_path / f"things.{form}"
    found = run("dump", things, "-o", file)
    assert (found.returncode, found.stderr) == (0, "")
    text = file.read_text(encoding="utf-8")
    objects = json.loads(text) if form == "json" else [json.loads(line) for line in text.splitlines()]
    assert len(objects) == 16
    special = next(each for each in objects if each["@entity"] == "Special")
    assert (special["price"], special["large"], special["where.town"]) == ("-1234567890.123", -(2**63), "Zoë")
    loaded = run("load", tmp_path / "again.sqlite", file, "--model", things)
    assert (loaded.returncode, loaded.stderr) == (0, "")
    assert "loaded 16 objects" in loaded.stdout
    run("dump", tmp_path / "again.sqlite", "-o", tmp_path / "again.jsonl")

    def named(path: Path) -> list[Any]:
        """The objects with titles in the place of their names, since a load assigns other names."""
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        names = {each["@id"]: each.get("title") or each.get("name") or json.dumps(each["@entity"]) for each in lines}

        def settled(value: Any, key: str) -> Any:
            if isinstance(value, list):
                members = [str(names.get(each, each)) for each in value]
                return members if key in ("things", "tags") else sorted(members)
            return names.get(value, value) if isinstance(value, str) else value

        return sorted(json.dumps({key: settled(value, key) for key, value in each.items()}) for each in lines)

    if form == "jsonl":
        assert named(file) == named(tmp_path / "again.jsonl")


def test_csv_per_entity_can_be_loaded_again(things: Path, tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    found = run("dump", things, "--format", "csv", "-o", folder)
    assert (found.returncode, found.stderr) == (0, "")
    assert sorted(path.name for path in folder.iterdir()) == ["Owner.csv", "Special.csv", "Tag.csv", "Thing.csv"]
    files = sorted(folder.iterdir())
    loaded = run("load", tmp_path / "again.sqlite", *files, "--model", things)
    assert (loaded.returncode, loaded.stderr) == (0, "")
    with corestone.open(things) as a, corestone.open(tmp_path / "again.sqlite") as b:
        for title in ("", " ", "\n", 'a "b", c\r\n\td', "1e5", "null"):
            (one,), (other,) = (each.fetch("Thing", "title == %@", title) for each in (a, b))
            assert one.made == other.made
            assert [tag.name for tag in one.tags] == [tag.name for tag in other.tags]
            assert {friend.title for friend in one.friends} == {friend.title for friend in other.friends}
        (one,), (other,) = (each.fetch("Special") for each in (a, b))
        for name in (
            "note",
            "flag",
            "small",
            "large",
            "price",
            "single",
            "real",
            "made",
            "data",
            "key",
            "homepage",
            "where",
        ):
            assert getattr(one, name) == getattr(other, name), name
        (one,), (other,) = (each.fetch("Owner", "name == 'Ada'") for each in (a, b))
        assert [thing.title for thing in one.things] == [thing.title for thing in other.things]
        assert {thing.title for thing in one.likes} == {thing.title for thing in other.likes}


def test_dumps_of_fixtures_can_be_loaded_again(fixtures: Path, tmp_path: Path) -> None:
    objects = 0
    for place, file in enumerate(sorted(path for path in fixtures.glob("stores/*/*") if path.is_file())):
        old, new = tmp_path / f"{place}.sqlite", tmp_path / f"{place}-again.sqlite"
        shutil.copyfile(file, old)
        dumped = run("dump", old)
        assert dumped.returncode == 0, f"{file.name}: {dumped.stderr}"
        loaded = run("load", new, "--model", old, input=dumped.stdout)
        assert loaded.returncode == 0, f"{file.name}: {loaded.stderr}"
        if not dumped.stdout:
            continue
        # By the same model: that of an old store may be a guess.
        with corestone.open(old) as a, corestone.open(new, a.model) as b:
            found = corestone.compare(a.coordinator, b.coordinator)
        assert found.differences == 0, f"{file.name}: {found.details}"
        objects += found.objects
    print(f"{objects} objects of fixtures came back")
    assert objects > 5000


def test_dump_can_select_objects(things: Path) -> None:
    found = run("dump", things, "Thing", "owner.name == 'Eve'")
    assert [json.loads(line)["@entity"] for line in found.stdout.splitlines()] == ["Special"]
    table = run("dump", things, "Tag", "--format", "csv").stdout.splitlines()
    assert table[0] == "@id,@entity,name,things"
    assert (
        table[1:] == ["Tag/p1,Tag,a,Thing/p1", "Tag/p2,Tag,b,Thing/p1 Thing/p2", "Tag/p3,Tag,c,Thing/p1 Thing/p2"]
        or len(table) == 4
    )
    assert "-o FOLDER" in run("dump", things, "--format", "csv").stderr
    assert run("dump", things, "Tagg").returncode == 2


def test_dump_and_load_use_constant_memory(tmp_path: Path) -> None:
    """100,000 objects, each with a relationship, there and back in little memory."""
    path = tmp_path / "large.sqlite"
    with Container(Model(PEOPLE), path, sync="normal") as container:
        for start in range(0, 100_000, 20_000):
            with container.context() as context:
                group = context.insert("Group", title=f"group {start}")
                for number in range(start, start + 20_000):
                    context.insert(
                        "Person",
                        mail=f"person{number}@example.org",
                        name=f"Person {number}",
                        age=number % 90,
                        group=group,
                    )
                context.save()

    def measured(*arguments: str | Path) -> tuple[str, int]:
        words = "import resource, subprocess, sys; r = subprocess.run(sys.argv[1:]); " + (
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr); sys.exit(r.returncode)"
        )
        done = subprocess.run(
            ["python3", "-c", words, str(TOOL), *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )
        return done.stdout, int(done.stderr.splitlines()[-1]) // 1024

    file = tmp_path / "large.jsonl"
    told, dumping = measured("dump", path, "-o", file)
    assert "100005 objects" in told
    told, loading = measured("load", tmp_path / "again.sqlite", file, "--model", path)
    assert "loaded 100005 objects" in told
    same(path, tmp_path / "again.sqlite")
    print(f"100,005 objects: dump took {dumping} MB, load {loading} MB")
    assert dumping < 100
    assert loading < 200


# Loading foreign files


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.sqlite"
    with Container(Model(PEOPLE), path) as container:
        context = container.context()
        context.insert("Person", mail="ada@example.org", name="Ada", group=context.insert("Group", title="Founders"))
        context.save()
    return path


def test_foreign_csv_can_be_loaded_with_mapped_columns(people: Path, tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_text(
        "\ufeffFull name,E-mail,Age,Born,Group,Remark\r\n"
        'Eve,eve@example.org,33,1990-05-01,Founders,"a, b"\r\n'
        "Ada Lovelace,ada@example.org,36,1815-12-10T00:00:00Z,,\r\n"
        '"Bob\nthe third",bob@example.org,,,Founders,\r\n',
        encoding="utf-8",
    )
    words = [
        "--entity",
        "Person",
        "--map",
        "Full name=name",
        "--map",
        "E-mail=mail",
        "--map",
        "Age=age",
        "--map",
        "Born=born",
    ]
    words += ["--map", "Group=group.title", "--map", "Remark="]
    refused = run("load", people, file, *words)
    assert refused.returncode == 1
    assert "because a line cannot be loaded" in refused.stdout
    assert f"{file}:3: " in refused.stderr and "mail" in refused.stderr and "ada@example.org" in refused.stderr
    trial = run("load", people, file, *words, "--upsert", "--dry-run")
    assert (trial.returncode, trial.stderr) == (0, "")
    assert "would load 2 objects, change 1" in trial.stdout
    done = run("load", people, file, *words, "--upsert")
    assert (done.returncode, done.stderr) == (0, "")
    with corestone.open(people) as container:
        found = {
            person.mail: (person.name, person.age, person.group and person.group.title)
            for person in container.fetch("Person")
        }
        assert found == {
            "ada@example.org": ("Ada Lovelace", 36, None),
            "eve@example.org": ("Eve", 33, "Founders"),
            "bob@example.org": ("Bob\nthe third", None, "Founders"),
        }
        assert container.fetch("Person", "mail BEGINSWITH 'eve'")[0].born == datetime(1990, 5, 1, tzinfo=timezone.utc)


def test_invalid_csv_lines_are_reported(people: Path, tmp_path: Path) -> None:
    file = tmp_path / "Person.csv"
    file.write_text(
        "mail,age,born,group.title\n"
        "a@x,12,,\n"
        "b@x,many,,\n"
        "c@x,99999,,\n"
        "d@x,1,yesterday,\n"
        ",1,,\n"
        "e@x,1,,Nobody\n"
        "f@x,1\n"
        "a@x,2,,\n"
        "g@x,3,,Founders\n"
    )
    found = run("load", people, file, "--keep-going")
    assert found.returncode == 1
    told = {int(line): text for line, text in re.findall(rf"{re.escape(str(file))}:(\d+): (.*)", found.stderr)}
    assert set(told) == {3, 4, 5, 6, 7, 8, 9} or set(told) == {2, 3, 4, 5, 6, 7, 8}, found.stderr
    for words in (
        ("Person.age", "many"),
        ("Person.age", "99999"),
        ("Person.born", "yesterday"),
        ("mail",),
        ("Nobody", "title"),
    ):
        assert any(all(word in text for word in words) for text in told.values()), (words, found.stderr)
    with corestone.open(people) as container:
        assert {person.mail for person in container.fetch("Person")} == {"ada@example.org", "a@x", "g@x"}
    stopped = run("load", people, file)
    assert stopped.returncode == 1
    assert stopped.stderr.count(f"{file}:") == 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"@entity": "Person", "mail": "x"', "JSON"),
        ('{"@entity": "Persn", "mail": "x"}', "Person"),
        ('{"mail": "x"}', "--entity"),
        ('{"@entity": "Person", "mail": "x", "nme": "y"}', 'did you mean "name"'),
        ('{"@entity": "Person", "mail": "x", "group": "Group/p9"}', "Group/p9"),
        ('{"@entity": "Person", "mail": "x", "group": ["a", "b"]}', "Person.group"),
        ('{"@entity": "Person", "mail": null}', "mail"),
        ("[1]", "is not a JSON object"),
    ],
)
def test_invalid_json_lines_are_reported(people: Path, line: str, words: str) -> None:
    found = run("load", people, "--format", "jsonl", input=line + "\n")
    assert found.returncode == 1, found.stderr
    assert "standard input:1: " in found.stderr
    assert words in found.stderr


def test_forward_and_required_references_are_loaded(tmp_path: Path) -> None:
    model = {
        "Folder": {"name": "string", "items": "to-many Item inverse folder",
                   "parent": "to-one Folder? inverse children", "children": "to-many ordered Folder inverse parent"},
        "Item": {"name": "string", "folder": "to-one Folder inverse items"},
    }  # fmt: skip
    source = tmp_path / "model.sqlite"
    Container(Model(model), source).close()
    lines: list[dict[str, Any]] = [
        {"@entity": "Item", "@id": "i1", "name": "one", "folder": "b"},
        {"@entity": "Folder", "@id": "a", "name": "a", "children": ["c", "b"]},
        {"@entity": "Folder", "@id": "b", "name": "b"},
        {"@entity": "Item", "name": "two", "folder": "a"},
        {"@entity": "Folder", "@id": "c", "name": "c"},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    found = run("load", tmp_path / "new.sqlite", "--model", source, input=text)
    assert (found.returncode, found.stderr) == (0, "")
    with corestone.open(tmp_path / "new.sqlite") as container:
        (top,) = container.fetch("Folder", "name == 'a'")
        assert [child.name for child in top.children] == ["c", "b"]
        assert {item.name: item.folder.name for item in container.fetch("Item")} == {"one": "b", "two": "a"}
    lines[0]["folder"] = "zz"
    text = "".join(json.dumps(line) + "\n" for line in lines)
    trial = run("load", tmp_path / "other.sqlite", "--model", source, "--keep-going", "--dry-run", input=text)
    assert trial.returncode == 1
    assert "Item.folder" in trial.stderr
    assert not (tmp_path / "other.sqlite").exists()
    found = run("load", tmp_path / "other.sqlite", "--model", source, "--keep-going", input=text)
    assert found.returncode == 1
    assert "zz" in found.stderr and "standard input:1" in found.stderr


def test_load_into_a_new_store_needs_a_model(tmp_path: Path) -> None:
    found = run("load", tmp_path / "new.sqlite", input="")
    assert found.returncode == 2
    assert "--model" in found.stderr
    assert not (tmp_path / "new.sqlite").exists()


def test_dump_does_not_overwrite_a_store(things: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.xml"
    assert run("convert", things, other, "--type", "XML").returncode == 0
    for target in (things, other):
        before = target.read_bytes()
        done = run("dump", things, "-o", target)
        assert done.returncode != 0 and "the file is a store" in done.stderr
        assert target.read_bytes() == before


@pytest.mark.parametrize("name", ["no", "yes", "first", "size", "in", "any"])
def test_attribute_names_may_be_predicate_keywords(tmp_path: Path, name: str) -> None:
    model = Model({"Customer": {"@unique": [name], name: "int32", "nick": "string?"}})
    path = tmp_path / "customers.sqlite"
    with Container(model, path) as container:
        context = container.context()
        for number in (5, 6):
            context.insert("Customer", **{name: number, "nick": str(number)})
        context.save()
    file = tmp_path / "more.jsonl"
    file.write_text("".join(json.dumps({"@entity": "Customer", name: n, "nick": f"new {n}"}) + "\n" for n in (0, 6)))
    done = run("load", path, file, "--upsert")
    assert (done.returncode, done.stderr) == (0, "")
    with Container(model, path) as container:
        found = {each.get(name)[0]: each.nick for each in container.context().fetch("Customer")}
    assert found == {0: "new 0", 5: "5", 6: "new 6"}


def test_csv_quotes_with_combining_marks_round_trip(tmp_path: Path) -> None:
    model = Model({"Note": {"text": "string?"}})
    texts = ['a"\u0301b', '"\ufe0f', 'x"\u200dy,z']
    with Container(model, tmp_path / "notes.sqlite") as container:
        context = container.context()
        for text in texts:
            context.insert("Note", text=text)
        context.save()
    file = tmp_path / "notes.csv"
    assert run("dump", tmp_path / "notes.sqlite", "Note", "-o", file).returncode == 0
    assert run("load", tmp_path / "back.sqlite", file, "--model", tmp_path / "notes.sqlite").returncode == 0
    with Container(model, tmp_path / "back.sqlite") as container:
        assert sorted(each.text for each in container.context().fetch("Note")) == sorted(texts)


def test_dump_lines_have_the_documented_form(zoo: Path) -> None:
    keepers = [
        {
            "@id": "Keeper/p1", "@entity": "Keeper", "badge": "12345678-1234-5678-1234-567812345678",
            "name": 'Ada "the eagle" Lovelace, head keeper', "page": "https://zoo.example/ada", "photo": "AAECAwQFBgc=",
            "steps": 2**53 + 1, "wage": "4200.5", "weight": 61.5, "years": 12, "animals": ["Bird/p1", "Bird/p2"],
        },
        {
            "@id": "Keeper/p2", "@entity": "Keeper", "badge": None, "name": "Bøb\nΩ 漢字", "page": None, "photo": "",
            "steps": None, "wage": None, "weight": None, "years": -1, "animals": ["Fish/p4"],
        },
    ]  # fmt: skip
    shared = [
        ("Bird/p1", "eagle", "2024-01-01T00:00:00Z", "Keeper/p1", ["Bird/p2", "Fish/p3"]),
        ("Bird/p2", "emu", None, "Keeper/p1", ["Bird/p1"]),
        ("Fish/p3", "carp", "1969-03-29T23:59:59.75Z", None, ["Bird/p1", "Fish/p4"]),
        ("Fish/p4", "", None, "Keeper/p2", ["Fish/p3"]),
    ]
    own: list[dict[str, Any]] = [
        {"canFly": True, "wingspan": None},
        {"canFly": False, "wingspan": "Infinity"},
        {"depth": -3, "freshwater": True},
        {"depth": None, "freshwater": False},
    ]
    animals = [
        {"@id": name, "@entity": name[:4], "born": born, "name": title, **more, "keeper": keeper, "friends": friends}
        for (name, title, born, keeper, friends), more in zip(shared, own)
    ]
    whole = run("dump", zoo).stdout
    assert [json.loads(line) for line in whole.splitlines()] == [*keepers, *animals]
    assert list(json.loads(whole.splitlines()[2])) == list(animals[0])
    assert json.loads(run("dump", zoo, "--format", "json").stdout) == [*keepers, *animals]
    assert json.loads(run("dump", zoo, "Animal", "name != ''", "--format", "json").stdout) == animals[:3]
    assert json.loads(run("dump", zoo, "Fish", "--format", "json").stdout) == animals[2:]
    assert run("dump", zoo, "Keeper", "years == 100", "--format", "json").stdout == "[]\n"
    assert run("dump", zoo, "Keeper", "years == 100").stdout == ""
    assert run("dump", zoo, "Keeper", "years == 100", "--format", "csv").stdout == (
        "@id,@entity,badge,name,page,photo,steps,wage,weight,years,animals\n"
    )


def test_csv_of_several_entities_has_a_column_per_property(zoo: Path) -> None:
    assert run("dump", zoo, "Animal", "--format", "csv").stdout == (
        "@id,@entity,born,name,canFly,wingspan,keeper,friends,depth,freshwater\n"
        "Bird/p1,Bird,2024-01-01T00:00:00Z,eagle,true,,Keeper/p1,Bird/p2 Fish/p3,,\n"
        "Bird/p2,Bird,,emu,false,Infinity,Keeper/p1,Bird/p1,,\n"
        "Fish/p3,Fish,1969-03-29T23:59:59.75Z,carp,,,,Bird/p1 Fish/p4,-3,true\n"
        'Fish/p4,Fish,,"",,,Keeper/p2,Fish/p3,,false\n'
    )


def test_file_extension_selects_the_format(zoo: Path, tmp_path: Path) -> None:
    whole = {form: run("dump", zoo, "Fish", "--format", form).stdout for form in ("jsonl", "json", "csv")}
    for name, form in (("a.JSON", "json"), ("a.csv", "csv"), ("a.jsonl", "jsonl"), ("a", "jsonl"), ("a.txt", "jsonl")):
        done = run("dump", zoo, "Fish", "-o", tmp_path / name)
        assert (done.returncode, done.stdout) == (0, f"{tmp_path / name} has 2 objects of {zoo}\n")
        assert (tmp_path / name).read_text(encoding="utf-8") == whole[form]
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o644
    assert run("dump", zoo, "Fish", "--format=jsonl", f"--output={tmp_path / 'b.csv'}").returncode == 0
    assert (tmp_path / "b.csv").read_text(encoding="utf-8") == whole["jsonl"]
    one = run("dump", zoo, "Fish", "name == 'carp'", "-o", tmp_path / "a")
    assert one.stdout == f"{tmp_path / 'a'} has 1 object of {zoo}\n"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--format", "xml"], 2, '--format must be jsonl, json or csv, not "xml"'),
        (["Keeper", "nme == 1"], 2, 'did you mean "name"?'),
        (["Keeper", "name =="], 2, "name =="),
        (["Keeper", "TRUEPREDICATE", "more"], 2, 'unexpected argument "more"'),
        (["-o", "none/a.jsonl"], 3, "cannot write none/a.jsonl: No such file or directory"),
        (["-o", "none/tables", "--format", "csv"], 3, "cannot write none/tables: No such file or directory"),
        (["-o"], 2, "-o requires a value: FILE"),
    ],
)
def test_invalid_dumps_are_rejected(zoo: Path, tmp_path: Path, words: list[str], code: int, message: str) -> None:
    done = run("dump", zoo, *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr
    assert not list(tmp_path.iterdir())


def test_entities_follow_those_they_refer_to(tmp_path: Path) -> None:
    """Required relationships count more than optional ones, and of equal entities the name decides."""
    model = Model(
        {
            "A": {"b": "to-one B", "c": "to-one C?"},
            "B": {"a": "to-one A?", "d": "to-one D?"},
            "C": {"self": "to-one C?"},
            "D": {},
            "E": {"many": "to-many D"},
        }
    )
    with Container(model, tmp_path / "order.sqlite") as container:
        context = container.context()
        b = context.insert("B")
        context.insert("A", b=b, c=context.insert("C"))
        context.insert("E", many=[context.insert("D")])
        context.save()
    found = [json.loads(line)["@entity"] for line in run("dump", tmp_path / "order.sqlite").stdout.splitlines()]
    assert found == ["C", "D", "E", "B", "A"]


def test_inverse_relationships_are_dumped_on_one_side(tmp_path: Path) -> None:
    model = Model(
        {
            "A": {
                "ones": "to-many B inverse one", "sets": "to-many B inverse set", "lists": "to-many B inverse list",
                "alone": "to-many B", "both": "to-many ordered B inverse both",
            },
            "B": {
                "one": "to-one A? inverse ones", "set": "to-many A inverse sets",
                "list": "to-many ordered A inverse lists", "both": "to-many ordered A inverse both",
            },
        }
    )  # fmt: skip
    path = tmp_path / "sides.sqlite"
    with Container(model, path) as container:
        context = container.context()
        one, two = context.insert("B"), context.insert("B")
        context.insert("A", ones=[one], sets=[one], lists=[two], alone=[one], both=[two, one])
        context.save()
    dumped = {each["@id"]: each for each in map(json.loads, run("dump", path).stdout.splitlines())}
    assert {key: value for key, value in dumped["A/p1"].items() if not key.startswith("@")} == {
        "alone": ["B/p1"], "both": ["B/p2", "B/p1"], "sets": ["B/p1"],
    }  # fmt: skip
    assert {key: value for key, value in dumped["B/p1"].items() if not key.startswith("@")} == {
        "one": "A/p1", "both": ["A/p1"], "list": [],
    }  # fmt: skip
    # Of one entity alone all that its inverse to-one relationships do not tell.
    (alone,) = map(json.loads, run("dump", path, "A").stdout.splitlines())
    assert set(alone) == {"@id", "@entity", "sets", "lists", "alone", "both"}
    second = json.loads(run("dump", path, "B").stdout.splitlines()[1])
    assert (second["one"], second["set"], second["list"], second["both"]) == (None, [], ["A/p1"], ["A/p1"])


def test_dates_and_archives_are_dumped_losslessly(tmp_path: Path) -> None:
    model = Model({"Note": {"name": "string", "made": "date?", "box": "transformable?", "data": "binary?"}})
    path = tmp_path / "notes.sqlite"
    archive = plistlib.dumps({"$archiver": "NSKeyedArchiver", "$objects": ["$null", "x"]}, fmt=plistlib.FMT_BINARY)
    seconds = {
        "0.0": "2001-01-01T00:00:00Z",
        "0.5": "2001-01-01T00:00:00.5Z",
        "-0.25": "2000-12-31T23:59:59.75Z",
        # Digits that no text of a date has.
        "1e-300": 1e-300,
        "1e300": 1e300,
    }
    with Container(model, path) as container:
        context = container.context()
        for name in seconds:
            set_raw_value(context.insert("Note", name=name, data=b"\0\1"), "box", archive)
        context.save()
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE ZNOTE SET ZMADE = CAST(ZNAME AS REAL)")
        database.commit()
    dumped = {each["name"]: each for each in map(json.loads, run("dump", path).stdout.splitlines())}
    assert {name: each["made"] for name, each in dumped.items()} == seconds
    assert {(each["box"], each["data"]) for each in dumped.values()} == {(base64.b64encode(archive).decode(), "AAE=")}
    table = run("dump", path, "Note", "--format", "csv").stdout
    assert {row["name"]: row["made"] for row in csv.DictReader(io.StringIO(table))} == {
        name: text if isinstance(text, str) else str(text) for name, text in seconds.items()
    }
    for form in ("jsonl", "csv"):
        again = tmp_path / f"{form}.sqlite"
        done = run(
            "load", again, "--model", path, "--format", form, input=run("dump", path, "Note", "--format", form).stdout
        )
        assert (done.returncode, done.stderr) == (0, "")
        with closing(sqlite3.connect(again)) as database:
            assert dict(database.execute("SELECT ZNAME, ZMADE FROM ZNOTE")) == {each: float(each) for each in seconds}
