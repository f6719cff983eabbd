"""scripts/generate.py: the description of the headers, the files that follow from it, and the check of `make lint`."""

from __future__ import annotations

import ctypes
import importlib.util
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import generate
import pytest
from api import changes, description
from api import headers as parser
from conftest import ROOT, Headers
from project import DESCRIPTION, HEADERS

Edit = Callable[[Headers], None]
INTERFACE = description.load(DESCRIPTION)

CHANGES: list[tuple[str, Edit]] = [
    (
        r"the function cst_model_copy_names was removed",
        lambda headers: headers.edit(r"CST_EXPORT [^;]*\bcst_model_copy_names\([^;]*;", ""),
    ),
    (
        r"cst_object_get no longer has the thread mark CST_ON_QUEUE",
        lambda headers: headers.edit(r"CST_EXPORT CST_ON_QUEUE ([^;]*\bcst_object_get\()", r"CST_EXPORT \1"),
    ),
    (
        r"cst_model_freeze has the thread mark CST_ANY_THREAD instead of CST_ONE_THREAD",
        lambda headers: headers.edit(r"CST_ONE_THREAD ([^;]*\bcst_model_freeze\()", r"CST_ANY_THREAD \1"),
    ),
    (
        r"cst_entity_name no longer has the ownership mark CST_BORROWED",
        lambda headers: headers.edit(r"CST_BORROWED (cst_string cst_entity_name\()", r"\1"),
    ),
    (
        r"cst_model_new no longer has the ownership mark CST_OWNED on its parameter out_model",
        lambda headers: headers.edit(r"(cst_model_new\(cst_model \*\*out_model) CST_OWNED", r"\1"),
    ),
    (
        r"cst_log_fn no longer has the ownership mark CST_BORROWED on its parameter line",
        lambda headers: headers.edit(r"(\(\*cst_log_fn\)\([^;]*line) CST_BORROWED", r"\1"),
    ),
    (
        r"cst_model_freeze no longer has the parameter error",
        lambda headers: headers.edit(r"(cst_model_freeze\(cst_model \*model), cst_error \*\*error", r"\1"),
    ),
    (
        r"cst_store_options no longer has the member cache_kb",
        lambda headers: headers.edit_struct("cst_store_options", r"\bcache_kb;", "reserved_kb;"),
    ),
    (
        r"cst_value has a member as that no longer has the member uuid",
        lambda headers: headers.edit_struct("cst_value", r"uint8_t uuid\[16\];", ""),
    ),
    (
        r"the constant CST_UNCHANGED was removed",
        lambda headers: headers.edit(r"CST_UNCHANGED = 3,[^\n]*", ""),
    ),
    (
        r"the callback cst_log_fn was moved|the callback cst_failure_fn was removed",
        lambda headers: headers.edit(r"\bcst_failure_fn\b(?=\)\()", "cst_failed_fn"),
    ),
    (
        r"the handle cst_save_request was removed",
        lambda headers: headers.edit(r"typedef struct cst_save_request cst_save_request;", ""),
    ),
    (
        r"cst_handle_count has a different comment",
        lambda headers: headers.edit(r"Returns the number of live handles", "Counts the live handles"),
    ),
    (
        r"cst_sort no longer has the member flags",
        lambda headers: headers.edit_struct("cst_sort", r"\bflags;", "bits;"),
    ),
]


# Handles, types of callbacks and members that others use leave headers that do not compile: the compiler names them.
@pytest.mark.parametrize(("message", "edit"), CHANGES, ids=[message for message, _ in CHANGES])
def test_header_change_is_named(headers: Headers, message: str, edit: Edit) -> None:
    edit(headers)
    outcome = headers.check("generate.py", "--check")
    assert outcome.status == 1
    named = re.compile(rf"generate: [\w/]+\.h: {message}")
    missing = re.compile(r"generate: .*(unknown type name 'cst_(failure_fn|save_request)'|no member named 'uuid')")
    assert [line for line in outcome.lines if named.match(line) or missing.match(line)], outcome.lines


def test_missing_mark_of_every_function_is_named() -> None:
    """The comparison itself, on descriptions: a mark less, and a function less, for each function."""
    changed = description.from_json(description.to_json(INTERFACE))
    for place, function in enumerate(INTERFACE.functions):
        kept = changed.functions[place]
        changed.functions[place] = type(function)(**{**vars(kept), "thread": ""})
        expected = f"{function.header}: {function.name} no longer has the thread mark CST_{function.thread.upper()}"
        assert changes.changes(INTERFACE, changed) == [expected]
        del changed.functions[place]
        assert changes.changes(INTERFACE, changed) == [f"{function.header}: the function {function.name} was removed"]
        changed.functions.insert(place, kept)


def test_function_without_a_thread_mark_is_rejected(headers: Headers) -> None:
    headers.edit(r"CST_EXPORT CST_ON_QUEUE ([^;]*\bcst_object_get\()", r"CST_EXPORT \1")
    found = parser.rule_problems(parser.parse(headers.include))
    assert len(found) == 1
    assert "cst_object_get has no thread mark; write one of CST_ANY_THREAD" in found[0]


def test_header_that_does_not_compile_is_reported(headers: Headers) -> None:
    headers.edit(r"(cst_model_freeze\()cst_model \*", r"\1cst_modell *")
    outcome = headers.check("generate.py", "--check")
    assert outcome.status == 1
    assert re.match(r"generate: [\w/]+\.h:\d+: unknown type name 'cst_modell'", outcome.lines[0])


@pytest.mark.parametrize("path", generate.OUTPUTS, ids=lambda path: path.name)
def test_manual_edit_of_a_generated_file_is_reported(tmp_path: Path, path: Path) -> None:
    copy = tmp_path / path.name
    shutil.copy(path, copy)
    outputs = {copy: generate.OUTPUTS[path]}
    assert generate.differences(HEADERS, outputs, DESCRIPTION) == []
    copy.write_text(copy.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    found = generate.differences(HEADERS, outputs, DESCRIPTION)
    assert found == [f"{copy} differs from the output of `make generate`: run it and commit the file"]


def test_description_round_trips() -> None:
    text = DESCRIPTION.read_text(encoding="utf-8")
    assert description.to_json(INTERFACE) == text
    assert str(ROOT) not in text
    assert "/usr/" not in text


def test_description_has_marks_sections_and_comments() -> None:
    functions = {each.name: each for each in INTERFACE.functions}
    get = functions["cst_object_get"]
    assert (get.thread, get.returns) == ("on_queue", "cst_status")
    assert [each.type for each in get.parameters] == ["const cst_object *", "cst_key", "cst_value *", "cst_error **"]
    assert functions["cst_error_detail_at"].ownership == "borrowed"
    assert functions["cst_model_new"].parameters[0].ownership == "owned"
    assert {each.thread for each in INTERFACE.functions} == set(parser.THREADS)
    assert all(each.section for each in INTERFACE.functions)
    assert INTERFACE.constants()["CST_PROPERTY_IGNORES_CHANGES"] == 1 << 12
    assert next(each.value for each in INTERFACE.macros if each.name == "CST_NUL") == (1 << 64) - 1


def raw_layer() -> Any:
    """The generated module of the Python package alone, which needs no library."""
    path = ROOT / "bindings/python/corestone/_abi/generated.py"
    spec = importlib.util.spec_from_file_location("raw_layer", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_struct_layouts_agree_in_every_language(tmp_path: Path) -> None:
    """In C by a compiler, in Python by ctypes; EveryStructTests.swift has the same numbers for Swift."""
    program = tmp_path / "layout"
    source = ROOT / "Tests/c/headers/layout.c"
    subprocess.run(["cc", "-std=c11", f"-I{ROOT / 'include'}", str(source), "-o", str(program)], check=True)
    done = subprocess.run([str(program)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    structs = raw_layer().STRUCTS
    swift = (ROOT / "Tests/swift/abi/EveryStructTests.swift").read_text(encoding="utf-8")
    members = 0
    for each in INTERFACE.structs:
        python = structs[each.name]
        assert ctypes.sizeof(python) == each.size, each.name
        assert f"size({each.name}.self, {each.size})" in swift
        for member in each.members:
            field = getattr(python, "payload" if member.name == "as" else member.name)
            assert (field.offset, field.size) == (member.offset, member.size), f"{each.name}.{member.name}"
            assert f"member(\\{each.name}.{member.name}, {member.offset})" in swift
            members += 1
    assert len(structs) == len(INTERFACE.structs) == len(re.findall(r"\bsize\(\w+\.self, \d+\)", swift))
    print(f"{done.stdout.strip()}; in Python and Swift {len(structs)} structs, {members} members")
