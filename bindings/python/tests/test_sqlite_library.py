"""The copy of SQLite that the library uses, and the errors for an unsuitable one."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import pytest
from conftest import Run

from corestone import LibraryNotFoundError, SQLiteWarning, _abi
from corestone._abi import library as loading
from corestone._abi import sqlite


class FakeSQLite:
    """A library with the three functions that the check calls."""

    def __init__(self, number: int, version: bytes, options: tuple[bytes, ...] = (b"ENABLE_FTS5",)) -> None:
        self.sqlite3_libversion_number = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: number)
        self._version = ctypes.create_string_buffer(version)
        self.sqlite3_libversion = ctypes.CFUNCTYPE(ctypes.c_void_p)(lambda: ctypes.addressof(self._version))
        self.sqlite3_compileoption_used = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)(lambda name: name in options)


@pytest.fixture
def hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the interpreter's module, and without a SQLite that all of the process sees."""
    monkeypatch.delitem(sys.modules, "_sqlite3", raising=False)


def check(library: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sqlite.check(library)
    assert all(each.category is SQLiteWarning for each in caught)
    return [str(each.message) for each in caught]


def test_interpreter_and_library_share_one_copy() -> None:
    pytest.importorskip("sqlite3")
    program = ctypes.CDLL(None)
    own = sqlite._address(program) or sqlite._address(_abi.lib._library)
    assert own is not None
    assert sqlite._interpreters_copy(program) == own


def test_module_is_imported_before_the_library(run_python: Run) -> None:
    pytest.importorskip("sqlite3")
    program = """
import ctypes, sys
loaded = []
begin = ctypes.CDLL.__init__
def init(self, name, *rest, **more):
    if name and "corestone" in str(name):
        loaded.append("sqlite3" in sys.modules)
    begin(self, name, *rest, **more)
ctypes.CDLL.__init__ = init
from corestone import Container
print(loaded[-1])
"""
    done = run_python(program)
    assert done.stdout == "True\n", done.stderr


def test_library_loads_without_the_sqlite3_module(run_python: Run) -> None:
    done = run_python("import sys; sys.modules['sqlite3'] = None\nimport corestone; print(corestone.library_version())")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_old_sqlite_version_is_rejected(hidden: None) -> None:
    with pytest.raises(ImportError, match=r"needs SQLite 3\.35\.0 or newer.*has SQLite 3\.34\.1\..*libsqlite3-0"):
        check(FakeSQLite(3034001, b"3.34.1"))
    assert check(FakeSQLite(3035000, b"3.35.0")) == []


def test_missing_fts5_is_a_warning(hidden: None) -> None:
    (message,) = check(FakeSQLite(3045001, b"3.45.1", options=()))
    assert message.startswith("SQLite 3.45.1 was built without FTS5")


def test_hidden_copy_of_the_interpreter_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    # Built into the interpreter, which exports none of it.
    monkeypatch.setitem(sys.modules, "_sqlite3", types.ModuleType("_sqlite3"))
    if sqlite._address(ctypes.CDLL(None)) is not None:
        pytest.skip("all of this process sees one SQLite")
    (message,) = check(_abi.lib)
    assert "has its own copy of SQLite" in message
    assert "drops Corestone's locks" in message


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_copy_within_the_interpreters_module_is_a_warning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source, module = tmp_path / "copy.c", types.ModuleType("_sqlite3")
    source.write_text("int sqlite3_libversion_number(void) { return 3045001; }\n", encoding="utf-8")
    module.__file__ = str(tmp_path / "_sqlite3.so")
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", module.__file__], check=True)
    monkeypatch.setitem(sys.modules, "_sqlite3", module)
    (message,) = check(_abi.lib)
    assert "has its own copy of SQLite" in message


def test_first_use_warns_of_another_copy_and_succeeds(run_python: Run) -> None:
    program = (
        "import sys, types, sqlite3; sys.modules['_sqlite3'] = types.ModuleType('_sqlite3')\n"
        "from corestone import Container\nprint(1)"
    )
    done = run_python(program)
    assert done.stdout == "1\n", done.stderr
    if sqlite._address(ctypes.CDLL(None)) is None:
        assert "SQLiteWarning: the sqlite3 module of this interpreter has its own copy" in done.stderr


def test_missing_library_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> None:
        raise OSError("libsqlite3.so.0: cannot open shared object file: No such file or directory")

    monkeypatch.setattr(ctypes, "CDLL", fail)
    monkeypatch.setattr(loading, "_refuse_subinterpreter", lambda: None)
    monkeypatch.setattr(loading, "find_library", lambda: "/usr/lib/libcorestone.so.1")
    with pytest.raises(LibraryNotFoundError, match=r"needs SQLite.*libsqlite3\.so\.0.*package libsqlite3-0"):
        loading.load_library()


def test_locks_survive_the_interpreters_connections(tmp_path: Path, run_python: Run) -> None:
    """With one copy, connections of Python's module do not drop the library's locks."""
    pytest.importorskip("sqlite3")
    program = """
import sqlite3, sys
from corestone import Container, Model
path = sys.argv[1]
with Container(Model({"Item": {"name": "string"}}), path) as container:
    ctx = container.context()
    ctx.insert("Item", name="a")
    ctx.save()
    def locks():
        import os
        inode = os.stat(path).st_ino, os.stat(path + "-shm").st_ino
        with open("/proc/locks") as file:
            return sum(int(line.split()[5].rsplit(":", 1)[1]) in inode for line in file if str(os.getpid()) in line)
    before = locks()
    sqlite3.connect(path).execute("SELECT count(*) FROM ZITEM").connection.close()
    print(before > 0, locks() == before)
"""
    done = run_python(program, str(tmp_path / "items.sqlite"))
    assert done.stdout == "True True\n", done.stderr
