"""Options of stores: settings of SQLite, permissions, external values, options without effect."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from corestone import Container, InvalidArgumentError, Model, ModelMismatchError, TypeMismatchError, _abi
from corestone._abi.values import decode_value
from corestone.stores.store_options import store_options


def setting(path: Path, name: str) -> Any:
    with sqlite3.connect(path) as file:
        return file.execute(f"PRAGMA {name}").fetchone()[0]


def test_pragmas_are_applied(model: Model, path: Path) -> None:
    with Container(model, path, pragmas={"page_size": 8192, "Journal_Mode": "PERSIST"}, file_mode=0o600) as container:
        ctx = container.context()
        ctx.insert("Employee", name="Ada")
        ctx.save()
        assert container.store.warnings == []
    assert setting(path, "page_size") == 8192
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("type", ["SQLite", "XML", "Binary"])
def test_file_mode_sets_permissions(model: Model, tmp_path: Path, type: str) -> None:
    def mode(path: Path) -> int:
        return path.stat().st_mode & 0o777

    path, copy, asked = tmp_path / "mine", tmp_path / "copy", tmp_path / "asked"
    with Container(model, path, type=type, file_mode=0o600) as container:
        ctx = container.context()
        ctx.insert("Employee", name="Ada")
        ctx.save()
        assert mode(path) == 0o600
        path.chmod(0o440)
        container.coordinator.backup(container.store, copy)
        container.coordinator.backup(container.store, asked, file_mode=0o660)
    assert (mode(copy), mode(asked)) == (0o640, 0o660)
    with Container(model, copy) as container:
        assert container.context().count("Employee") == 1


@pytest.mark.parametrize(
    ("pragmas", "key", "words"),
    [
        ({"journal_mode": "memory"}, "journal_mode", '"wal", "delete", "truncate" or "persist"'),
        ({"synchronus": "1"}, "synchronus", 'did you mean "synchronous"'),
        ({"cache_size": "1; DROP TABLE ZEMPLOYEE"}, "cache_size", "an integer from"),
        ({"page_size": 1000}, "page_size", "a power of two"),
    ],
)
def test_unsupported_pragmas_are_rejected(model: Model, path: Path, pragmas: Any, key: str, words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words) as raised:
        Container(model, path, pragmas=pragmas)
    assert raised.value.key == key
    assert raised.value.file == str(path)
    assert not path.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        {"pragmas": ["fullfsync"]},
        {"pragmas": {"fullfsync": 1.5}},
        {"pragmas": {1: "x"}},
        {"file_mode": "600"},
        {"analyze": "yes"},
        {"external_threshold": 1.5},
        {"foreign_options": "NSPersistentStoreFileProtectionKey"},
        {"foreign_options": 3},
    ],
)
def test_options_of_wrong_types_are_rejected(model: Model, path: Path, arguments: dict[str, Any]) -> None:
    with pytest.raises(TypeMismatchError):
        Container(model, path, **arguments)
    assert not path.exists()


def test_options_out_of_range_are_rejected(model: Model, path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="0400"):
        Container(model, path, file_mode=0o400)
    with pytest.raises(InvalidArgumentError, match="must be at least 0"):
        Container(model, path, external_threshold=-1)
    with pytest.raises(InvalidArgumentError, match="read-only"):
        Container(model, path, read_only=True, vacuum=True)
    assert not path.exists()


def test_analyze_and_vacuum_run_when_opening(model: Model, path: Path) -> None:
    with Container(model, path) as container:
        ctx = container.context()
        for place in range(2000):
            ctx.insert("Employee", name=f"{place}" * 50)
        ctx.save()
        for employee in ctx.fetch("Employee"):
            ctx.delete(employee)
        ctx.insert("Employee", name="Ada")
        ctx.save()
    before = path.stat().st_size
    with Container(model, path, analyze=True, vacuum=True) as container:
        assert container.context().count("Employee") == 1
    assert path.stat().st_size < before
    with sqlite3.connect(path) as file:
        assert file.execute("SELECT count(*) FROM sqlite_stat1").fetchone()[0] > 0


def test_ignore_versioning_opens_a_store_of_another_model(path: Path) -> None:
    def other() -> Model:
        return Model({"Note": {"text": "string?"}})

    Container(Model({"Note": {"text": "string"}}), path).close()
    with pytest.raises(ModelMismatchError):
        Container(other(), path, migrate=False)
    Container(other(), path, ignore_versioning=True).close()
    Container(other(), path).close()


def test_external_threshold_selects_values_in_files(path: Path) -> None:
    model = Model({"Photo": {"data": "binary external"}})
    folder = path.parent / f".{path.stem}_SUPPORT" / "_EXTERNAL_DATA"
    for threshold, files in ((100, 1), (None, 1), (2**40, 1), (0, 2)):
        with Container(model, path, external_threshold=threshold) as container:
            ctx = container.context()
            ctx.insert("Photo", data=b"x" * 1000)
            ctx.save()
        assert len(list(folder.iterdir())) == files


def test_foreign_options_are_ignored_with_a_warning(model: Model, path: Path) -> None:
    name = "NSPersistentStoreUbiquitousContentNameKey"
    with Container(model, path, foreign_options=[name]) as container:
        (warning,) = container.store.warnings
    assert name in warning
    assert "not synchronised with iCloud" in warning
    with pytest.raises(InvalidArgumentError, match="read_only"):
        Container(model, path, foreign_options=["NSReadOnlyPersistentStoreOption"])


def test_dev_null_is_a_store_in_memory(model: Model) -> None:
    with Container(model, "/dev/null") as container, Container(model, "/dev/null") as other:
        ctx = container.context()
        ctx.insert("Employee", name="Ada")
        ctx.save()
        assert container.context().count("Employee") == 1
        assert other.context().count("Employee") == 0


def told(**options: Any) -> dict[str, Any]:
    """The fields passed to the library that differ from the defaults."""

    def plain(given: Any) -> dict[str, Any]:
        names = [each[0] for each in given._fields_ if each[0] != "host_option_values"]  # an address
        return {name: getattr(given, name) for name in names if isinstance(getattr(given, name), int)}

    usual = plain(store_options())
    return {name: value for name, value in plain(store_options(**options)).items() if usual[name] != value}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"read_only": True}, {"flags": _abi.STORE_READ_ONLY}),
        ({"must_exist": True}, {"flags": _abi.STORE_MUST_EXIST}),
        ({"history": True}, {"flags": _abi.STORE_HISTORY}),
        ({"posts_own_changes": True}, {"flags": _abi.STORE_POSTS_OWN_CHANGES}),
        ({"sync": "normal"}, {"flags": _abi.STORE_NORMAL_SYNC}),
        ({"journal": "rollback"}, {"flags": _abi.STORE_ROLLBACK_JOURNAL}),
        ({"analyze": True}, {"flags": _abi.STORE_ANALYZE}),
        ({"vacuum": True}, {"flags": _abi.STORE_VACUUM}),
        ({"ignore_versioning": True}, {"flags": _abi.STORE_IGNORE_VERSIONING}),
        ({"flags": _abi.STORE_WRITABLE, "history": True}, {"flags": _abi.STORE_WRITABLE | _abi.STORE_HISTORY}),
        ({"busy_timeout": 1.5}, {"busy_timeout_ms": 1500}),
        ({"busy_timeout": 0}, {"busy_timeout_ms": 1}),
        ({"busy_timeout": 0.0001}, {"busy_timeout_ms": 1}),
        ({"cache_kb": 512}, {"cache_kb": 512}),
        ({"max_connections": 3}, {"max_connections": 3}),
        ({"watch_interval": 0.25}, {"watch_interval_ms": 250}),
        ({"watch_interval": 0.0001}, {"watch_interval_ms": 1}),
        ({"file_mode": 0o640}, {"file_mode": 0o640}),
        ({"external_threshold": 7}, {"external_threshold": 7}),
        ({"external_threshold": 0}, {"external_threshold": 1}),
        ({"value_limit": 70_000}, {"value_limit": 70_000}),
        ({"memory_limit": 80_000}, {"memory_limit": 80_000}),
        ({"step_limit": 90_000}, {"step_limit": 90_000}),
        ({"external_limit": 95_000}, {"external_limit": 95_000}),
        ({"pragmas": {"a": 1, "b": "c"}}, {"pragma_count": 2}),
        ({"foreign_options": ["a", "b", "c"]}, {"foreign_option_count": 3}),
        ({"sync": "full", "journal": "wal", "busy_timeout": 5, "cache_kb": 0, "file_mode": None}, {}),
    ],
)
def test_each_option_sets_its_own_field(options: dict[str, Any], expected: dict[str, Any]) -> None:
    assert told(**options) == expected


def test_custom_options_and_pragmas_keep_their_order() -> None:
    given = store_options(pragmas={"a": 1, "b": "c"}, options={"n": 5, "flag": True, "text": "Zoë", "none": None})
    names = [_abi.decode(given.host_option_names[place]) for place in range(given.host_option_count)]
    assert names == ["n", "flag", "text", "none"]
    cells = (_abi.Value * 4).from_address(given.host_option_values)
    assert [decode_value(cell) for cell in cells] == [5, True, "Zoë", None]
    assert [(_abi.decode(each.name), _abi.decode(each.value)) for each in given.pragmas[:2]] == [("a", "1"), ("b", "c")]


@pytest.mark.parametrize(
    ("options", "kind", "key", "words"),
    [
        ({"sync": "off"}, InvalidArgumentError, "sync", 'sync must be "full" or "normal", not "off"'),
        ({"journal": "off"}, InvalidArgumentError, "journal", 'journal must be "wal" or "rollback", not "off"'),
        (
            {"busy_timeout": -0.1},
            InvalidArgumentError,
            "busy_timeout",
            "busy_timeout must be at least 0 seconds, not -0.1",
        ),
        ({"busy_timeout": float("nan")}, InvalidArgumentError, "busy_timeout", "must be at least 0 seconds, not nan"),
        ({"busy_timeout": "5"}, TypeMismatchError, "busy_timeout", "must be a number of seconds"),
        ({"busy_timeout": 2**31 / 1000}, InvalidArgumentError, "busy_timeout", "at most 2147483.647 seconds"),
        ({"watch_interval": -1}, InvalidArgumentError, "watch_interval", "must be at least 0 seconds"),
        (
            {"cache_kb": 2**31},
            InvalidArgumentError,
            "cache_kb",
            "cache_kb must be 0 to 2147483647, not 2147483648",
        ),
        ({"max_connections": -1}, InvalidArgumentError, "max_connections", "must be at least 0"),
        ({"file_mode": 0}, InvalidArgumentError, "file_mode", "file_mode must be at least 1, not 0"),
        ({"value_limit": 0}, InvalidArgumentError, "value_limit", "value_limit must be at least 1, not 0"),
        ({"external_limit": 0}, InvalidArgumentError, "external_limit", "must be at least 1"),
        ({"vacuum": 2.0}, TypeMismatchError, "vacuum", "vacuum must be True or False, not 2.0"),
        ({"pragmas": {"a": None}}, TypeMismatchError, "a", 'the pragma "a" must be a str or an int, not None'),
        ({"pragmas": {1: "x"}}, TypeMismatchError, "pragmas", "the names in pragmas must be of type str, not 1"),
        (
            {"foreign_options": ["a", 2]},
            TypeMismatchError,
            "foreign_options[1]",
            "foreign_options[1] must be a str, not 2",
        ),
        ({"model_paths": [b"a"]}, TypeMismatchError, "model_paths[0]", "model_paths[0] must be a str, not b'a'"),
        ({"options": ["a"]}, TypeMismatchError, "options", "must be a dictionary"),
        ({"options": {1: 2}}, TypeMismatchError, "options", "the names in options must be of type str, not 1"),
    ],
)
def test_invalid_options_are_rejected_by_name(options: dict[str, Any], kind: type[Any], key: str, words: str) -> None:
    with pytest.raises(kind) as caught:
        store_options(**options)
    assert words in str(caught.value)
    assert caught.value.key == key


def test_option_units_and_bounds_are_converted() -> None:
    assert store_options(busy_timeout=2147483.647).busy_timeout_ms == 2**31 - 1
    assert store_options(cache_kb=2**31 - 1).cache_kb == 2**31 - 1
    assert store_options(busy_timeout=0.0015).busy_timeout_ms == 2
    numbers: dict[str, Any] = {"analyze": 1, "vacuum": 0}
    assert store_options(**numbers).flags == _abi.STORE_ANALYZE
