"""scripts/check_abi.py: changes of the headers that break programs, additions, and the dump that records them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT, Headers

DUMP = ROOT / "abi" / "corestone.abi"
Edit = Callable[[Headers], None]


def test_headers_match_the_recorded_abi(headers: Headers) -> None:
    outcome = headers.check("check_abi.py")
    assert outcome.status == 0, outcome.lines
    assert "all as in corestone.abi" in outcome.output


BREAKS: list[tuple[str, Edit]] = [
    (
        "the function cst_model_freeze was removed",
        lambda headers: headers.edit(r"CST_EXPORT [^;]*\bcst_model_freeze\([^;]*;", ""),
    ),
    (
        "parameter 2 of cst_model_entity_at is `uint32_t` instead of `size_t`",
        lambda headers: headers.edit(r"(cst_model_entity_at\(const cst_model \*model, )size_t", r"\1uint32_t"),
    ),
    (
        "cst_model_is_frozen has 4 parameters instead of 3",
        lambda headers: headers.edit(r"(cst_model_is_frozen\()", r"\1uint32_t flags, "),
    ),
    (
        "cst_handle_count returns `uint32_t` instead of `size_t`",
        lambda headers: headers.edit(r"size_t (cst_handle_count\()", r"uint32_t \1"),
    ),
    (
        "the type cst_log_fn is `bool (*)(void *, cst_string)` instead of `void (*)(void *, cst_string)`",
        lambda headers: headers.edit(r"typedef void (\(\*cst_log_fn\))", r"typedef bool \1"),
    ),
    (
        "the type cst_queue is `int64_t` instead of `int32_t`",
        lambda headers: headers.edit(r"typedef int32_t cst_queue;", "typedef int64_t cst_queue;"),
    ),
    (
        "the member cst_store_options.extra was added at byte 8, but must be after the former end, at byte 248",
        lambda headers: headers.edit_struct("cst_store_options", r"(size_t struct_size;)", r"\1 uint64_t extra;"),
    ),
    (
        "the member cst_store_options.value_limit is at byte 128 instead of 112",
        lambda headers: headers.edit_struct("cst_store_options", r"(size_t struct_size;)", r"\1 uint64_t a, b;"),
    ),
    (
        "the member cst_property_info.kind is `int32_t` instead of `uint32_t`",
        lambda headers: headers.edit_struct("cst_property_info", r"uint32_t kind;", "int32_t kind;"),
    ),
    (
        "the member cst_bytes.data is at byte 8 instead of 0",
        lambda headers: headers.edit_struct(
            "cst_bytes", r"const uint8_t \*data;(.*?)size_t size;", r"size_t size;\1const uint8_t *data;"
        ),
    ),
    (
        "the member cst_renamed_id.former was removed",
        lambda headers: headers.edit_struct("cst_renamed_id", r"\*former, \*", "*"),
    ),
    (
        "the member cst_sort.extra was added, but only a struct with struct_size as its first member can be extended",
        lambda headers: headers.edit_struct("cst_sort", r"\n\}", r"\n    uint64_t extra;\n}"),
    ),
    (
        "the member cst_store_description.extra was added at byte 52, but must be after the former end, at byte 56",
        lambda headers: headers.edit_struct("cst_store_description", r"\n\}", r"\n    uint32_t extra;\n}"),
    ),
    (
        "the struct cst_uuid has 24 bytes instead of 16",
        lambda headers: headers.edit_struct("cst_uuid", r"bytes\[16\]", "bytes[24]"),
    ),
    (
        "the constant CST_END is 7 instead of 2",
        lambda headers: headers.edit(r"\bCST_END = 2,", "CST_END = 7,"),
    ),
    (
        "the constant CST_DELETE_DENY was removed",
        lambda headers: headers.edit(r", CST_DELETE_DENY = 3", ""),
    ),
    (
        "the constant CST_NO_KEY is 4294967294 instead of 4294967295",
        lambda headers: headers.edit(r"0xFFFFFFFFu\)", "0xFFFFFFFEu)"),
    ),
]


@pytest.mark.parametrize(("message", "edit"), BREAKS, ids=[message[:60] for message, _ in BREAKS])
def test_breaking_change_is_reported(headers: Headers, message: str, edit: Edit) -> None:
    edit(headers)
    outcome = headers.check("check_abi.py")
    assert outcome.status == 1
    assert f"check-abi: {message}" in outcome.lines
    assert "restore these declarations" in outcome.lines[-1]
    assert "make abi" not in outcome.lines[-1]
    assert "abidiff reports:" in outcome.output


ADDITIONS: list[tuple[str, Edit]] = [
    (
        "the function cst_model_thaw was added",
        lambda headers: headers.edit(
            r"(CST_EXPORT [^;]*\bcst_model_freeze\([^;]*;)",
            r"\1\nCST_EXPORT CST_ONE_THREAD cst_status cst_model_thaw(cst_model *model, cst_error **error);",
        ),
    ),
    (
        "the member cst_store_options.extra was added",
        lambda headers: headers.edit_struct("cst_store_options", r"\n\}", r"\n    uint64_t extra;\n}"),
    ),
    (
        "the constant CST_DELETE_IGNORE was added",
        lambda headers: headers.edit(r"CST_DELETE_DENY = 3", "CST_DELETE_DENY = 3, CST_DELETE_IGNORE = 4"),
    ),
    (
        "the member cst_value.as.duration was added",
        lambda headers: headers.edit_struct("cst_value", r"double date;", "double date; double duration;"),
    ),
    (
        "the struct cst_point was added",
        lambda headers: headers.edit(
            r"(typedef struct cst_uuid )", r"typedef struct cst_point {\n    double x, y;\n} cst_point;\n\n\1"
        ),
    ),
]


@pytest.mark.parametrize(("message", "edit"), ADDITIONS, ids=[message for message, _ in ADDITIONS])
def test_addition_requires_an_updated_dump(headers: Headers, tmp_path: Path, message: str, edit: Edit) -> None:
    dump = tmp_path / "corestone.abi"
    shutil.copy(DUMP, dump)
    edit(headers)
    outcome = headers.check("check_abi.py", "--dump", str(dump))
    assert outcome.status == 1
    assert outcome.lines[0] == f"check-abi: {message}"
    assert "run `make abi` and commit the file" in outcome.lines[-1]
    assert headers.check("check_abi.py", "--dump", str(dump), "--write").status == 0
    assert headers.check("check_abi.py", "--dump", str(dump)).status == 0


def test_breaking_change_is_written_only_with_the_option(headers: Headers, tmp_path: Path) -> None:
    dump = tmp_path / "corestone.abi"
    shutil.copy(DUMP, dump)
    headers.edit(r"\bCST_END = 2,", "CST_END = 7,")
    outcome = headers.check("check_abi.py", "--dump", str(dump), "--write")
    assert outcome.status == 1
    assert "check-abi: the constant CST_END is 7 instead of 2" in outcome.lines
    assert dump.read_bytes() == DUMP.read_bytes()
    assert headers.check("check_abi.py", "--dump", str(dump), "--write", "--break").status == 0
    assert headers.check("check_abi.py", "--dump", str(dump)).status == 0


def test_abi_ignores_comments_marks_and_parameter_names(headers: Headers) -> None:
    headers.edit(r"(cst_model_merge\(size_t )count(, cst_model \*const \*models)", r"\1number\2")
    headers.edit(r"(/\* )(Returns the number of live handles)", r"\1In other words. \2")
    assert headers.check("check_abi.py").status == 0


def test_dump_is_independent_of_the_machine() -> None:
    text = DUMP.read_text(encoding="utf-8")
    assert str(ROOT) not in text
    assert "path='/" not in text
    for attribute in ("filepath", "comp-dir-path", "architecture", "line"):
        assert f" {attribute}=" not in text
