"""Transformable attributes: transformers, archives of plain data and of registered classes, the bytes beneath."""

from __future__ import annotations

import ctypes
import sqlite3
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from samples import Colour, colours_registered, items

import corestone
from corestone import (
    URL,
    ArchivedObject,
    CallbackError,
    Container,
    InvalidArgumentError,
    StoreCorruptError,
    TypeMismatchError,
    UnsupportedError,
    _abi,
    decode_archive,
    encode_archive,
    raw_value,
    register_transformer,
    set_raw_value,
    unregister_archivable,
    unregister_transformer,
)
from corestone._abi.call import call

EPOCH = datetime(2001, 1, 1, tzinfo=timezone.utc)


@pytest.fixture(autouse=True)
def colours() -> Iterator[None]:
    with colours_registered():
        yield


def test_value_keeps_its_identity_until_refresh(tmp_path: Path) -> None:
    with Container(items(), tmp_path / "a.sqlite") as container:
        ctx = container.context()
        payload = ["x"]
        item = ctx.insert("Item", name="a", payload=payload)
        assert item.payload is payload
        ctx.save()
        assert item.payload is payload
        assert item["payload"] is payload
        assert item.get("payload")[0] is payload
        ctx.refresh(item)
        again = item.payload
        assert again == payload
        assert again is not payload
        assert item.payload is again
        item.payload = ["y"]
        assert item.committed_value("payload") == ["x"]
        ctx.rollback()
        assert item.payload == ["x"]
        ctx.refresh_all()
        assert item.payload is not again


def test_plain_data_of_every_type_is_archived() -> None:
    value = {
        "none": None,
        "flags": [True, False],
        "numbers": [0, -1, 2**63 - 1, 1.5, 2.0],
        "text": "Zoë",
        "bytes": b"\x00\x01",
        "date": EPOCH + timedelta(seconds=0.5),
        "set": {"a", "b"},
        "uuid": UUID("123e4567-e89b-12d3-a456-426614174000"),
        "url": URL("https://example.org/a"),
        "decimal": Decimal("12345678901234567890.25"),
        "$odd": {"$date": 1},
        "tuple": (1, 2),
        "large": 2**70,
    }
    found = decode_archive(encode_archive(value))
    assert found == {**value, "tuple": [1, 2], "large": Decimal(2**70)}
    assert type(found["url"]) is URL
    assert type(found["numbers"][4]) is float
    assert type(found["flags"][0]) is bool
    assert str(decode_archive(encode_archive(float("nan")))) == "nan"
    assert decode_archive(encode_archive(float("-inf"))) == float("-inf")


def test_unarchivable_value_is_reported(tmp_path: Path) -> None:
    with pytest.raises(TypeMismatchError, match="register_archivable"):
        encode_archive([object()])
    with pytest.raises(TypeMismatchError, match="must be strings"):
        encode_archive({1: 2})
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(InvalidArgumentError, match="contains itself"):
        encode_archive(circle)
    with Container(items(), tmp_path / "a.sqlite", unsaved="discard") as container:
        item = container.context().insert("Item")
        with pytest.raises(TypeMismatchError) as caught:
            item.payload = object()
        assert (caught.value.entity, caught.value.key) == ("Item", "payload")
        set_raw_value(item, "payload", b"no archive")
        with pytest.raises(StoreCorruptError) as damaged:
            _ = item.payload
        assert damaged.value.key == "payload"
        assert raw_value(item, "payload") == b"no archive"


def test_unregistered_classes_are_decoded_as_archived_objects(tmp_path: Path) -> None:
    with Container(items(), tmp_path / "a.sqlite") as container:
        ctx = container.context()
        item = ctx.insert("Item", payload=[Colour(0.5, 0, 1)])
        ctx.save()
        unregister_archivable("Colour")
        ctx.refresh(item)
        assert item.payload == [ArchivedObject("Colour", {"red": 0.5, "green": 0, "blue": 1})]
        item.payload = ArchivedObject("Shade", {"of": item.payload[0]}, ("Shade", "Tint", "NSObject"))
        ctx.save()
        ctx.refresh(item)
        assert item.payload.classes == ("Shade", "Tint", "NSObject")
        assert item.payload.fields["of"].class_name == "Colour"


def test_registered_class_that_rejects_its_fields_fails(tmp_path: Path) -> None:
    archive = encode_archive(ArchivedObject("Colour", {"hue": 1}))
    with pytest.raises(CallbackError, match="Colour"):
        decode_archive(archive)


def test_registered_transformer_converts_values(tmp_path: Path) -> None:
    calls = []

    def reverse(data: bytes) -> Any:
        calls.append(data)
        return data.decode().split(",")

    register_transformer("Commas", lambda value: ",".join(value).encode(), reverse)
    path = tmp_path / "a.sqlite"
    with Container(items(transformer="Commas"), path, unsaved="discard") as container:
        ctx = container.context()
        item = ctx.insert("Item", payload=["a", "b"])
        ctx.save()
        assert raw_value(item, "payload") == b"a,b"
        assert not calls
        ctx.refresh(item)
        assert item.payload == ["a", "b"]
        assert item.payload == ["a", "b"]
        assert calls == [b"a,b"]
        assert ctx.fetch("Item").column("payload") == [["a", "b"]]
        rows: list[dict[str, Any]] = [{"payload": ["c"]}, {"payload": None}]
        assert ctx.insert_many("Item", rows) == 2
        assert sorted(map(str, ctx.fetch("Item").column("payload"))) == ["None", "['a', 'b']", "['c']"]
        with pytest.raises(CallbackError, match='transform of the transformer "Commas"') as caught:
            item.payload = [1]
        assert (caught.value.entity, caught.value.key) == ("Item", "payload")
        assert item.payload == ["a", "b"]
        assert unregister_transformer("Commas")
        assert not unregister_transformer("Commas")
        ctx.refresh(item)
        with pytest.raises(UnsupportedError, match="register_transformer") as missing:
            _ = item.payload
        assert '"Commas"' in missing.value.message
        assert missing.value.key == "payload"
        with pytest.raises(UnsupportedError):
            item.payload = ["x"]
        assert raw_value(item, "payload") == b"a,b"
        set_raw_value(item, "payload", None)
        assert item.payload is None
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT ZPAYLOAD FROM ZITEM WHERE Z_PK = 1").fetchone() == (b"a,b",)


def test_json_transformer_stores_json(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    value = {"name": "Zoë", "sizes": [1, 2.5, None, True]}
    with Container(items(transformer="JSON"), path) as container:
        ctx = container.context()
        item = ctx.insert("Item", name="x", payload=value)
        ctx.save()
        assert raw_value(item, "payload") == '{"name":"Zoë","sizes":[1,2.5,null,true]}'.encode()
        assert [each.name for each in ctx.fetch("Item", "payload.name == 'Zoë'")] == ["x"]
        ctx.refresh(item)
        assert item.payload == value
        with pytest.raises(CallbackError):
            item.payload = {1, 2}


def test_value_class_of_the_model_is_enforced(tmp_path: Path) -> None:
    model = items()
    model["Item"].change("payload", value_class="NSArray")
    with Container(model, tmp_path / "a.sqlite", unsaved="discard") as container:
        item = container.context().insert("Item", payload=[1])
        with pytest.raises(TypeMismatchError, match="NSArray"):
            item.payload = "text"
        item.payload = None


def test_raw_value_needs_a_transformable_attribute(tmp_path: Path) -> None:
    model = items()
    model["Item"].attribute("loud", "string", optional=True, derived="uppercase:(name)")
    with Container(model, tmp_path / "a.sqlite", unsaved="discard") as container:
        item = container.context().insert("Item", name="a")
        with pytest.raises(TypeMismatchError, match=r"^Item\.name is not a transformable attribute; read or set it as"):
            raw_value(item, "name")
        with pytest.raises(TypeMismatchError, match=r"^Item\.loud is not a transformable attribute; read it as"):
            raw_value(item, "loud")
        assert item.to_dict() == {"name": "a", "loud": None, "payload": None}
        assert item.validate_value("payload", [1]) == [1]
        assert corestone.raw_value(item, "payload") is None


def test_failed_reverse_of_a_former_value_does_not_refer_to_raw_value(tmp_path: Path) -> None:
    def reverse(data: bytes) -> Any:
        raise OSError("no key")

    register_transformer("Locked", lambda value: value, reverse)
    with Container(items(transformer="Locked"), tmp_path / "a.sqlite", unsaved="discard") as container:
        ctx = container.context()
        item = ctx.insert("Item", payload=b"A")
        ctx.save()
        item.payload = b"B"
        assert raw_value(item, "payload") == b"B"
        message = r'Item\.payload: reverse of the transformer "Locked" failed: OSError: no key'
        with pytest.raises(CallbackError, match=rf"{message}\. Call corestone\.raw_value"):
            item.changed_values()
        for former in (item.committed_values, item.changed_values_for_current_event):
            with pytest.raises(CallbackError, match=rf"{message}$"):
                former()


def test_value_class_is_enforced_by_every_setter(tmp_path: Path) -> None:
    model = items()
    model["Item"].change("payload", value_class="Colour")
    with Container(model, tmp_path / "a.sqlite", unsaved="discard") as container:
        ctx = container.context()
        item = ctx.insert("Item", payload=Colour(0, 0, 0))
        for value in ("text", ArchivedObject("Shade"), 1):
            with pytest.raises(TypeMismatchError, match="Colour"):
                item.payload = value
            with pytest.raises(TypeMismatchError, match="Colour"):
                ctx.insert_many("Item", [{"payload": value}])
            with pytest.raises(TypeMismatchError, match="Colour"):
                item.set_primitive("payload", value)


def test_values_of_a_foreign_transformer_are_available_only_as_bytes(tmp_path: Path) -> None:
    words = (ctypes.c_void_p * 6)(48, 1, 1, None, None, None)  # never called: Python takes the bytes alone
    callbacks = _abi.TransformerCallbacks.from_buffer(words)
    call(_abi.lib.cst_transformer_register, _abi.text("Foreign"), ctypes.byref(callbacks))
    try:
        with Container(items(transformer="Foreign"), tmp_path / "a.sqlite", unsaved="discard") as container:
            item = container.context().insert("Item")
            set_raw_value(item, "payload", b"theirs")
            assert raw_value(item, "payload") == b"theirs"
            with pytest.raises(UnsupportedError, match="registered in another language") as caught:
                _ = item.payload
            assert caught.value.key == "payload"
    finally:
        call(_abi.lib.cst_transformer_unregister, _abi.text("Foreign"))


@pytest.mark.parametrize(
    "name",
    [
        None,
        "NSSecureUnarchiveFromData",
        "NSSecureUnarchiveFromDataTransformer",
        "NSKeyedUnarchiveFromData",
        "NSKeyedUnarchiveFromDataTransformer",
    ],
)
def test_keyed_archive_transformer_has_five_names(tmp_path: Path, name: str | None) -> None:
    value = {"sizes": [1, 2.5], "day": EPOCH}
    with Container(items(**({"transformer": name} if name else {})), tmp_path / "a.sqlite") as container:
        ctx = container.context()
        item = ctx.insert("Item", payload=value)
        ctx.save()
        assert raw_value(item, "payload") == encode_archive(value)
        ctx.refresh(item, merge=False)
        assert item.payload == value


VALUES: dict[str, Any] = {
    "bool": True,
    "int": 7,
    "double": 0.5,
    "decimal": Decimal("1.5"),
    "string": "text",
    "uri": URL("https://example.org"),
    "bytes": b"\x00",
    "date": EPOCH,
    "uuid": UUID(int=1),
    "array": [1],
    "set": {1},
    "dictionary": {"a": 1},
    "object": Colour(0, 0, 1),
}


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("NSString", "string uri"),
        ("NSMutableString", "string uri"),
        ("NSURL", "string uri"),
        ("NSNumber", "bool int double decimal"),
        ("NSDecimalNumber", "bool int decimal"),
        ("NSDate", "date"),
        ("NSData", "bytes"),
        ("NSMutableData", "bytes"),
        ("NSUUID", "uuid"),
        ("NSArray", "array"),
        ("NSMutableArray", "array"),
        ("NSSet", "set"),
        ("NSMutableSet", "set"),
        ("NSDictionary", "dictionary"),
        ("NSMutableDictionary", "dictionary"),
        ("Colour", "object"),
        ("NSColor", " ".join(VALUES)),
    ],
)
def test_value_class_accepts_compatible_values(tmp_path: Path, name: str, kinds: str) -> None:
    model = items()
    model["Item"].change("payload", value_class=name)
    with Container(model, tmp_path / "a.sqlite", unsaved="discard") as container:
        item = container.context().insert("Item")
        for kind, value in VALUES.items():
            item.payload = None
            if kind in kinds.split():
                item.payload = value
                assert item.payload == value
                continue
            with pytest.raises(TypeMismatchError, match=name) as caught:
                item.payload = value
            assert (caught.value.entity, caught.value.key) == ("Item", "payload")
            assert item.payload is None


def test_predicates_see_decoded_transformable_values(tmp_path: Path) -> None:
    register_transformer("Commas", lambda value: ",".join(value).encode(), lambda data: data.decode().split(","))
    model = items()
    model["Item"].attribute("tags", "transformable", optional=True, transformer="Commas")
    try:
        with Container(model, tmp_path / "a.sqlite", unsaved="discard") as container:
            ctx = container.context()
            ctx.insert("Item", name="list", payload=["blue", "red"], tags=["a", "b"])
            ctx.insert("Item", name="map", payload={"name": "x", "sizes": [3]}, tags=["c"])
            ctx.insert("Item", name="none")
            ctx.save()
            unsaved = ctx.insert("Item", name="unsaved", payload={"name": "x"})
            for predicate, arguments, names in [
                ("payload CONTAINS 'blue'", (), ["list"]),
                ("name != 'list' AND payload.name == 'x'", (), ["map", "unsaved"]),
                ("name != 'list' AND payload.sizes CONTAINS 3", (), ["map"]),
                ("payload == nil", (), ["none"]),
                ("payload != nil", (), ["list", "map", "unsaved"]),
                ("tags == %@", (b"a,b",), ["list"]),
                ("tags == nil", (), ["none", "unsaved"]),
            ]:
                found = ctx.fetch("Item", predicate, *arguments, sort="name")
                assert [each.name for each in found] == names, predicate
            ctx.delete(unsaved)
            assert ctx.count("Item", "name != 'list' AND payload.name == 'x'") == 1
    finally:
        unregister_transformer("Commas")


def test_null_does_not_need_a_transformer_and_overrides_a_default(tmp_path: Path) -> None:
    model = items(transformer="Absent")
    with Container(model, tmp_path / "a.sqlite") as container:
        ctx = container.context()
        item = ctx.insert("Item", payload=None)
        assert item.payload is None
        item.payload = None
        ctx.save()
        with pytest.raises(UnsupportedError, match="Absent") as caught:
            item.payload = []
        assert (caught.value.entity, caught.value.key) == ("Item", "payload")
    model = items(default=["kept"])
    with Container(model, tmp_path / "b.sqlite") as container:
        ctx = container.context()
        first, second = ctx.insert("Item"), ctx.insert("Item")
        assert first.payload == ["kept"]
        second.payload = None
        ctx.save()
        ctx.refresh_all()
        assert (first.payload, second.payload, raw_value(second, "payload")) == (["kept"], None, None)


def test_change_inside_a_value_is_not_tracked(tmp_path: Path) -> None:
    with Container(items(), tmp_path / "a.sqlite") as container:
        ctx = container.context()
        item = ctx.insert("Item", payload=["a"])
        ctx.save()
        item.payload.append("b")
        assert (item.payload, ctx.has_changes) == (["a", "b"], False)
        ctx.save()
        ctx.refresh(item, merge=False)
        assert item.payload == ["a"]
        item.payload = [*item.payload, "b"]
        ctx.save()
        ctx.refresh(item, merge=False)
        assert item.payload == ["a", "b"]
