"""XML stores in Apple's format, compared with what a reader of our own finds in the files (xml_reader.py)."""

from __future__ import annotations

import re
import shutil
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from conftest import keep
from conftest import stored as stored_value
from samples import ROOTS, THINGS, fill
from xml_reader import (
    EPOCH,
    MAPPING_ROOTS,
    canonical,
    graph,
    in_any_order,
    mapping_model,
    number,
    read,
    stored,
)

import corestone
from corestone import (
    URL,
    Container,
    CorestoneError,
    MigrationError,
    Model,
    ModelMismatchError,
    StoreCorruptError,
    UnsupportedError,
    ValidationError,
    raw_value,
)


def mappings(fixtures: Path) -> list[Path]:
    found = sorted(fixtures.glob("mapping-models/*/*.xcmappingmodel/xcmapping.xml"))
    assert len(found) == 11
    return found


def test_every_mapping_model_of_xcode_opens_as_a_store(fixtures: Path, tmp_path: Path) -> None:
    model = mapping_model(tmp_path)
    counts = {"objects": 0, "values": 0, "references": 0}
    for file in mappings(fixtures):
        wanted = read(file.read_bytes())
        with Container(model, file, type="XML", read_only=True) as container:
            found = stored(container, MAPPING_ROOTS)
        assert set(found) == set(wanted)
        for name, item in wanted.items():
            assert found[name].entity == item.entity
            assert found[name].values == item.values
            assert {key: sorted(value) for key, value in found[name].members.items()} == {
                key: sorted(value) for key, value in item.members.items()
            }
        counts["objects"] += len(wanted)
        counts["values"] += sum(len(item.values) for item in wanted.values())
        counts["references"] += sum(len(ids) for item in wanted.values() for ids in item.members.values())
    print("read from mapping models as the other reader does:", counts)
    assert (counts["objects"], counts["values"]) == (193, 396)


def test_mapping_model_is_rewritten_as_the_same_text(fixtures: Path, tmp_path: Path) -> None:
    model = mapping_model(tmp_path)
    for file in mappings(fixtures):
        copy = tmp_path / "copy.xml"
        shutil.copyfile(file, copy)
        with Container(model, copy, type="XML") as container:
            context = container.context()
            item = context.fetch("XDDevMappingModel")[0]
            path = item.sourceModelPath
            item.sourceModelPath = path + "!"
            context.save()
            item.sourceModelPath = path
            context.save()
        former, now = (place.read_text(encoding="utf-8") for place in (file, copy))
        assert canonical(now) == canonical(former)


def test_file_has_all_values_of_the_store(tmp_path: Path) -> None:
    path = tmp_path / "things.xml"
    with Container(Model(THINGS), path, type="XML") as container:
        fill(container)
        wanted = stored(container, ROOTS)
    # ElementTree knows nothing of composite attributes, which have a value for each element.
    for item in wanted.values():
        for key, value in (item.values.pop("where", None) or {}).items():
            item.values["where." + key] = value
    assert in_any_order(read(path.read_bytes())) == in_any_order(wanted)
    with Container(Model(THINGS), path, type="XML", read_only=True) as container:
        again = stored(container, ROOTS)
    for item in again.values():
        for key, value in (item.values.pop("where", None) or {}).items():
            item.values["where." + key] = value
    assert again == wanted


def test_nan_and_infinities_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "things.xml"
    with Container(Model(THINGS), path, type="XML") as container:
        context = container.context()
        context.insert("Thing", title="a", real=float("nan"), single=float("inf"))
        context.insert("Thing", title="b", real=float("-inf"), single=float("nan"))
        context.save()
    with Container(Model(THINGS), path, type="XML") as container:
        a, b = container.fetch("Thing", sort="title")
        assert str((a.real, a.single, b.real, b.single)) == "(nan, inf, -inf, nan)"


def test_migration_to_xml_and_back_keeps_all_values(tmp_path: Path) -> None:
    with Container(Model(THINGS), tmp_path / "a.sqlite") as container:
        fill(container)
        wanted = graph(container)
        for name in ["b.xml", "c.sqlite", "d.xml", "e.xml"]:
            kind = "XML" if name.endswith("xml") else "SQLite"
            container.store = container.coordinator.migrate_store(container.store, tmp_path / name, type=kind)
            assert graph(container) == wanted
    # The type of the existing file is detected.
    assert corestone.metadata(tmp_path / "e.xml")["NSStoreType"] == "XML"


def test_every_apple_store_converts_to_xml_and_back(fixtures: Path, tmp_path: Path) -> None:
    stores = compared = 0
    left_out: list[str] = []
    for place, file in enumerate(sorted(path for path in fixtures.glob("stores/*/*") if path.is_file())):
        copy = tmp_path / f"{place}.sqlite"
        shutil.copyfile(file, copy)
        try:
            container = corestone.open(copy)
        except CorestoneError as error:
            left_out.append(f"{file.name}: {error}")
            continue
        with container:
            before = graph(container)
            try:
                container.store = container.coordinator.migrate_store(
                    container.store, tmp_path / f"{place}.xml", type="XML"
                )
            except UnsupportedError as error:
                left_out.append(f"{file.name}: {error}")
                continue
            assert graph(container) == before, file.name
            container.store = container.coordinator.migrate_store(
                container.store, tmp_path / f"{place}-again.sqlite", type="SQLite"
            )
            assert graph(container) == before, file.name
        stores += 1
        compared += sum(len(values) for items in before.values() for _, values in items)
    print(f"{stores} stores there and back: {compared} values compared, {compared} equal; left out: {left_out}")
    assert stores > 20


def test_invalid_xml_error_names_line_and_problem(tmp_path: Path) -> None:
    path = tmp_path / "things.xml"
    with Container(Model(THINGS), path, type="XML") as container:
        fill(container)
    whole = path.read_text(encoding="utf-8")

    def failure(pattern: str, replacement: str) -> CorestoneError:
        text, count = re.subn(pattern, replacement, whole, count=1)
        assert count == 1, pattern
        (tmp_path / "damaged.xml").write_text(text, encoding="utf-8")
        with pytest.raises(CorestoneError) as caught:
            Container(Model(THINGS), tmp_path / "damaged.xml", type="XML")
        return caught.value

    def line(pattern: str) -> str:
        match = re.search(pattern, whole)
        assert match
        return f"line {whole.count(chr(10), 0, match.start()) + 1}"

    for pattern, replacement, kind, entity, key, words in [
        (
            r'"int16">-32768',
            '"int16">-32769',
            StoreCorruptError,
            "Special",
            "small",
            ["-32769", "Integer 16", "Special.small"],
        ),
        (r'"bool">1', '"bool">2', StoreCorruptError, "Special", "flag", ['"2"', "Boolean"]),
        (r'"int16">-32768', '"int32">-32768', ModelMismatchError, "Special", "small", ["int32", "Integer 16"]),
        (r'name="small"', 'name="smell"', ModelMismatchError, "Special", "smell", ["smell"]),
        (r'object type="SPECIAL"', 'object type="SPACIAL"', ModelMismatchError, "SPACIAL", None, ["SPACIAL"]),
        (r'idrefs="z\d+"', 'idrefs="z999"', StoreCorruptError, "Thing", None, ["z999"]),
        (r'name="owner" type="0/1"', 'name="owner" type="0/0"', ModelMismatchError, "Thing", "owner", ["to-many"]),
        (r'destination="OWNER"', 'destination="THING"', ModelMismatchError, "Thing", "owner", ["THING", "Owner"]),
        (r'id="z103"', 'id="z102"', StoreCorruptError, "Thing", None, ["z102"]),
        (r'id="z104"', 'id="z0104"', StoreCorruptError, "Thing", None, ["z0104"]),
        (r'id="z104"', 'id="z9223372036854775808"', StoreCorruptError, "Thing", None, ["z9223372036854775808"]),
        (r'<attribute name="note"', '<attribute name="note" lang="en"', StoreCorruptError, "Special", None, ["lang"]),
        (r"<attribute", "<atribute", StoreCorruptError, None, None, ["atribute"]),
        (r"</object>", "text</object>", StoreCorruptError, None, None, ["text"]),
        (r"  <object", "  <thing/><object", StoreCorruptError, None, None, ["thing"]),
        (r'type="string">\n', r'type="string">\\u00d8\n', StoreCorruptError, "Thing", "title", ["u00d8"]),
        (r'type="string"> ', r'type="string">&nowhere;', StoreCorruptError, None, None, ["undefined entity"]),
        (r'name="title"', 'name="ti&tle;"', StoreCorruptError, None, None, ["undefined entity"]),
        (r"CoreData.dtd\">", 'CoreData.dtd" [<!ENTITY a "b">]>', StoreCorruptError, None, None, ["document type"]),
        (r"134481920", "134481921", StoreCorruptError, None, None, ["134481921"]),
        (r"<UUID>.", "<UUID>G", StoreCorruptError, None, None, ["UUID"]),
        (r"<nextObjectID>\d+", "<nextObjectID>-1", StoreCorruptError, None, None, ["nextObjectID"]),
    ]:
        error = failure(pattern, replacement)
        assert isinstance(error, kind), (pattern, error)
        assert error.code == (134100 if kind is ModelMismatchError else 134080), error
        assert error.entity == entity, error
        if key is not None:
            assert error.key == key, error
        for word in [*words, "damaged.xml"]:
            assert word in str(error), error
        if "UUID" not in pattern and "nextObject" not in pattern and "1344" not in pattern and "z" not in replacement:
            assert line(pattern) in str(error), (error, line(pattern))


def test_inconsistent_inverse_relationships_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "things.xml"
    with Container(Model(THINGS), path, type="XML") as container:
        context = container.context()
        a, b, _ = (context.insert("Thing", title=name) for name in "abc")
        a.friends = {b}
        context.insert("Owner", things=[a, b])
        context.save()
    whole = path.read_text(encoding="utf-8")
    friends = '<relationship name="friends" type="0/0" destination="THING"'
    names = dict(re.findall(r'(z\d+)">\s+<attribute name="title" type="string">(.)', whole))
    ids = {name: number for number, name in names.items()}
    for text in [
        whole.replace(f'{friends} idrefs="{ids["b"]}"', friends),
        whole.replace(f'{friends} idrefs="{ids["b"]}"', f'{friends} idrefs="{ids["c"]}"'),
        whole.replace(f'idrefs="{ids["a"]} {ids["b"]}"', f'idrefs="{ids["a"]}"'),
        whole.replace(f'idrefs="{ids["a"]} {ids["b"]}"', f'idrefs="{ids["a"]} {ids["b"]} {ids["c"]}"'),
        whole.replace(f'{friends} idrefs="{ids["b"]}"', f'{friends} idrefs="{ids["b"]} {ids["b"]}"'),
    ]:
        assert text != whole
        path.write_text(text, encoding="utf-8")
        with pytest.raises(StoreCorruptError) as caught:
            Container(Model(THINGS), path, type="XML")
        assert caught.value.key in ("friends", "things", "owner")
        assert re.search(r"z\d+", str(caught.value))
    # An element that is missing is taken from the other side.
    path.write_text(re.sub(r'\n *<relationship name="things".*', "", whole), encoding="utf-8")
    with Container(Model(THINGS), path, type="XML") as container:
        owner = container.fetch("Owner")[0]
        assert sorted(thing.title for thing in owner.things) == ["a", "b"]


def test_metadata_is_readable_without_a_model(fixtures: Path, tmp_path: Path) -> None:
    file = mappings(fixtures)[0]
    said = corestone.metadata(file)
    text = file.read_text(encoding="utf-8")
    assert said["NSStoreUUID"] in text
    assert said["NSStoreType"] == "XML"
    assert set(said["NSStoreModelVersionHashes"]) == {
        "XDDevAttributeMapping",
        "XDDevEntityMapping",
        "XDDevMappingModel",
        "XDDevPropertyMapping",
        "XDDevRelationshipMapping",
    }
    assert mapping_model(tmp_path).is_compatible(file)


def test_names_that_differ_only_in_case_are_rejected(tmp_path: Path) -> None:
    for model, names in [
        (Model({"Book": {"title": "string?", "Title": "string?"}}), ["Book.title", "Book.Title"]),
        (Model({"Book": {"title": "string?"}, "BOOK": {"title": "string?"}}), ["Book", "BOOK"]),
    ]:
        with pytest.raises(UnsupportedError) as caught:
            Container(model, tmp_path / "a.xml", type="XML")
        assert caught.value.code == 134020
        for name in names:
            assert name in str(caught.value)
        assert not (tmp_path / "a.xml").exists()


def test_hand_written_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "hand.xml"
    path.write_text(
        """<database>
  <databaseInfo><version>134481920</version><UUID>343C8D7F-A000-42C4-8463-43FA1E5EF3FB</UUID>
    <nextObjectID>0</nextObjectID><metadata/></databaseInfo>
  <!-- two things -->
  <object type="Thing" id="first"><attribute name="TITLE" type="string"><![CDATA[a <b>]]> &amp; c\\d</attribute>
    <relationship name="friends" type="0/0" destination="thing" idrefs="
      first   z5"/></object>
  <object type="THING" id="z5"><relationship name="friends" type="0/0" destination="THING" idrefs="first"/></object>
</database>
""",
        encoding="utf-8",
    )
    with Container(Model(THINGS), path, type="XML") as container:
        context = container.context()
        first, other = context.fetch("Thing", sort="-title")
        assert first.title == "a <b> & c\\d"
        assert set(first.friends) == {first, other}
        assert str(other.id).endswith("/p5")
        assert str(first.id).endswith("/p6")
        uri = str(first.id)
        other.title = "z5"
        context.save()
    with Container(Model(THINGS), path, type="XML") as container:
        assert str(container.fetch("Thing", "title BEGINSWITH 'a <'")[0].id) == uri


def test_dangling_reference_of_no_action_is_not_written(tmp_path: Path) -> None:
    model = Model(
        {
            "Author": {"name": "string", "books": "to-many Book inverse author delete no-action"},
            "Book": {"title": "string", "author": "to-one Author? inverse books"},
        }
    )
    path = tmp_path / "books.xml"
    with Container(model, path, type="XML") as container:
        ctx = container.context()
        gone, kept = ctx.insert("Author", name="gone"), ctx.insert("Author", name="kept")
        for title, author in (("a", gone), ("b", kept), ("c", gone)):
            ctx.insert("Book", title=title, author=author)
        ctx.save()
        assert path.read_text().count('idrefs="z') == 5
        ctx.delete(gone)
        ctx.save()
    assert path.read_text().count('idrefs="z') == 2
    with Container(model, path, type="XML") as container:
        found = {book.title: book.author and book.author.name for book in container.context().fetch("Book")}
    assert found == {"a": None, "b": "kept", "c": None}


def test_objects_are_written_in_key_order_and_comments_are_lost(tmp_path: Path) -> None:
    model = Model({"A": {"name": "string"}, "B": {"name": "string"}})
    path = tmp_path / "notes.xml"
    with Container(model, path, type="XML") as container:
        ctx = container.context()
        for entity, name in (("B", "b1"), ("A", "a1"), ("B", "b2")):
            ctx.insert(entity, name=name)
            ctx.save()
    text = path.read_text()
    assert [name for _, name in sorted((text.index(f">{name}<"), name) for name in ("a1", "b1", "b2"))] == [
        "b1",
        "a1",
        "b2",
    ]
    path.write_text(text.replace("</database>", "<!-- by hand --></database>"))
    with Container(model, path, type="XML") as container:
        ctx = container.context()
        assert "by hand" in path.read_text()
        ctx.fetch("A")[0].name = "a2"
        ctx.save()
    assert path.read_text() == text.replace(">a1<", ">a2<")


ATTRIBUTE = re.compile(r'<attribute name="([^"]*)" type="([^"]*)">([^<]*)</attribute>')


@pytest.mark.parametrize(
    ("name", "value", "kind", "text"),
    [
        ("price", Decimal(0), "decimal", "0"),
        ("price", Decimal("12.50"), "decimal", "12.5"),
        ("price", Decimal("-0.001"), "decimal", "-0.001"),
        ("price", Decimal("1E+20"), "decimal", "1" + "0" * 20),
        ("price", Decimal("1E+127"), "decimal", "1" + "0" * 127),
        ("price", Decimal("-7E-128"), "decimal", "-0." + "0" * 127 + "7"),
        ("price", Decimal("9" * 38), "decimal", "9" * 38),
        ("key", UUID("abcdef01-2345-6789-abcd-ef0123456789"), "uuid", "ABCDEF01-2345-6789-ABCD-EF0123456789"),
        ("homepage", URL("a:b?c&d"), "uri", "a:b?c\\u2600d"),
        ("flag", False, "bool", "0"),
        ("large", -(2**63), "int64", str(-(2**63))),
        ("single", 0.1, "float", "0.1"),
        ("real", 1e22, "double", "1e+22"),
        ("made", EPOCH + timedelta(seconds=0.5), "date", "0.50000000000000000000"),
        ("payload", b"\x00\x01", "transformable", "AAE=\n"),
    ],
)
def test_values_are_written_in_their_documented_form_and_read_back(
    tmp_path: Path, name: str, value: Any, kind: str, text: str
) -> None:
    model = Model({**THINGS, "Thing": {**THINGS["Thing"], "payload": "transformable?"}})
    path = tmp_path / "value.xml"
    with Container(model, path, type="XML") as container:
        context = container.context()
        keep(context.insert("Thing"), name, value)
        context.save()
    # A null value has no element.
    assert ATTRIBUTE.findall(path.read_text(encoding="utf-8")) == [(name, kind, text)]
    with Container(model, path, type="XML", read_only=True) as container:
        found = stored_value(container.fetch("Thing")[0], name)
        assert found == (pytest.approx(0.1) if kind == "float" else value)


def test_transformable_bytes_may_be_declared_binary(tmp_path: Path) -> None:
    model = Model({"Thing": {"payload": "transformable?", "data": "binary?"}})
    path = tmp_path / "value.xml"
    with Container(model, path, type="XML") as container:
        context = container.context()
        keep(context.insert("Thing", data=b"d"), "payload", b"p")
        context.save()
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole.replace('"transformable"', '"binary"'), encoding="utf-8")
    with Container(model, path, type="XML", read_only=True) as container:
        (thing,) = container.fetch("Thing")
        assert (raw_value(thing, "payload"), thing.data) == (b"p", b"d")
    path.write_text(whole.replace('"transformable"', '"string"'), encoding="utf-8")
    with pytest.raises(ModelMismatchError) as caught:
        Container(model, path, type="XML", migrate=False)
    assert (caught.value.code, caught.value.entity, caught.value.key) == (134100, "Thing", "payload")
    assert 'has the type "string" in the file, but Transformable in the model' in caught.value.message


def test_migration_names_the_object_whose_value_it_cannot_keep(tmp_path: Path) -> None:
    path, exact = tmp_path / "prices.xml", Decimal("0.12345678901234567890123")
    with Container(Model({"Item": {"price": "decimal?"}}), path, type="XML") as container:
        context = container.context()
        context.insert("Item", price=Decimal("0.5"))
        item = context.insert("Item", price=exact)
        context.save()
        uri = item.id.uri
    with pytest.raises(MigrationError, match="cannot keep exactly") as caught:
        Container(Model({"Item": {"price": "decimal?", "name": "string?"}}), path, type="XML", migrate=True)
    error = caught.value
    assert (error.entity, error.key, error.value, error.object_uri) == ("Item", "price", exact, uri)


def test_relationships_have_bounds_destination_and_order(tmp_path: Path) -> None:
    model = Model(
        {
            "Node": {
                "few": "to-many ordered Node min 2 max 3",
                "some": {"to_many": "Node", "optional": True, "minimum": 1},
                "any": "to-many Leaf",
                "one": "to-one Node",
                "perhaps": "to-one Node?",
            },
            "Leaf": {"@parent": "Node"},
        }
    )
    path = tmp_path / "nodes.xml"
    with Container(model, path, type="XML") as container:
        context = container.context()
        first = context.insert("Leaf")
        second, third = context.insert("Leaf"), context.insert("Leaf")
        for each in (first, second, third):
            each.few, each.one = [third, first, second], each
        first.any = {second}
        context.save()
        one, two, three = (number(each) for each in (first, second, third))
    assert {one, two, three} == {"z102", "z103", "z104"}
    whole = path.read_text(encoding="utf-8")
    start = whole.index(f'id="{one}"')
    own = whole[start : whole.index("</object>", start)]
    assert sorted(re.findall(r"<relationship ([^>]*)></relationship>", own)) == [
        f'name="any" type="0/0" destination="LEAF" idrefs="{two}"',
        f'name="few" type="2/3" destination="NODE" idrefs="{three} {one} {two}"',
        f'name="one" type="0/1" destination="NODE" idrefs="{one}"',
        'name="perhaps" type="0/1" destination="NODE"',
        'name="some" type="1/0" destination="NODE"',
    ]


def test_required_relationship_to_a_deleted_object_fails_the_save(tmp_path: Path) -> None:
    """Without an inverse, no delete rule reaches the reference, and the file cannot hold it."""
    model = Model({"Node": {"name": "string?", "anchor": "to-one Base"}, "Base": {"name": "string?"}})
    path = tmp_path / "store.xml"
    with Container(model, path, type="XML", unsaved="discard") as container:
        context = container.view_context
        base, other = context.insert("Base", name="a"), context.insert("Base", name="b")
        node = context.insert("Node", name="n", anchor=base)
        context.save()
        before = path.read_bytes()
        context.delete(base)
        with pytest.raises(ValidationError, match="refers to a deleted object") as raised:
            context.save()
        assert (raised.value.code, raised.value.entity, raised.value.key) == (1570, "Node", "anchor")
        assert path.read_bytes() == before
        node.anchor = other
        context.save()
    with Container(model, path, type="XML") as container:
        assert container.view_context.first("Node").anchor.name == "b"
