"""The declarations for ctypes say what corestone.h and its headers say."""

from __future__ import annotations

import ctypes
import re
import runpy
from typing import Any

import pytest
from conftest import ROOT

from corestone import (
    Aggregate,
    AttributeType,
    CompareOptions,
    ConflictKind,
    ContextNotification,
    CoordinatorNotification,
    CoreDataCode,
    DeleteRule,
    ExpressionType,
    MergePolicyType,
    Modifier,
    Operator,
    PredicateKind,
    ProblemKind,
    SnapshotEvents,
    Status,
    StoreFile,
    UndoNotification,
    ValueChangeKind,
    _abi,
)

HEADERS: str = runpy.run_path(str(ROOT / "scripts/project.py"))["header_text"]()


def plain_header() -> str:
    text = re.sub(r"/\*.*?\*/", "", HEADERS, flags=re.DOTALL)
    text = re.sub(r"\\\n", "", text)
    text = re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE)
    return re.sub(r"\bCST_(ANY_THREAD|ON_QUEUE|ONE_THREAD|OWNED|BORROWED)\b", "", text)


def declared() -> dict[str, tuple[str, list[str]]]:
    """Every function of the header: result and parameters, each without its name."""
    found = {}
    for match in re.finditer(r"CST_EXPORT\s+([^;()]*?)(cst_\w+)\s*\(([^;]*?)\)\s*;", plain_header()):
        result, name, parameters = (" ".join(part.split()) for part in match.groups())
        kinds = [] if parameters == "void" else [re.sub(r"\w+$", "", each).strip() for each in parameters.split(",")]
        found[name] = (result, kinds)
    return found


PLAIN = {
    "cst_status": ctypes.c_int32,
    "cst_attribute_type": ctypes.c_int32,
    "cst_queue": ctypes.c_int32,
    "cst_schedule": ctypes.c_int32,
    "cst_key": ctypes.c_uint32,
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "bool": ctypes.c_bool,
    "cst_destroy_fn": _abi.DESTROY_FN,
    "cst_fetch_done_fn": _abi.FETCH_DONE_FN,
    "cst_validate_fn": _abi.VALIDATE_FN,
    "cst_resolve_conflicts_fn": _abi.RESOLVE_FN,
    "cst_log_fn": _abi.LOG_FN,
    "cst_context_perform_fn": _abi.PERFORM_FN,
    "cst_context_done_fn": _abi.DONE_FN,
    "cst_coordinator_perform_fn": _abi.COORDINATOR_PERFORM_FN,
    "cst_context_interrupt_fn": _abi.INTERRUPT_FN,
    "cst_progress_fn": _abi.PROGRESS_FN,
    "cst_container_load_fn": _abi.CONTAINER_LOAD_FN,
    "cst_records_fn": _abi.RECORDS_FN,
    "cst_failure_fn": _abi.FAILURE_FN,
    "cst_document_observe_fn": _abi.DOCUMENT_OBSERVE_FN,
    "cst_call_site_fn": _abi.CALL_SITE_FN,
    "cst_inaccessible_fault_fn": _abi.INACCESSIBLE_FN,
    "cst_predicate_block_fn": _abi.PREDICATE_FN,
    "cst_expression_block_fn": _abi.EXPRESSION_FN,
    "cst_compare_fn": _abi.COMPARE_FN,
    "cst_batch_rows_fn": _abi.BATCH_ROWS_FN,
    "cst_batch_object_fn": _abi.BATCH_OBJECT_FN,
    "cst_function_fn": _abi.FUNCTION_FN,
    "cst_undo_action_fn": _abi.UNDO_ACTION_FN,
    "cst_undo_observe_fn": _abi.UNDO_OBSERVE_FN,
    "cst_function": ctypes.c_void_p,
    "cst_context_observe_fn": _abi.CONTEXT_OBSERVE_FN,
    "cst_object_observe_fn": _abi.OBJECT_OBSERVE_FN,
    "cst_coordinator_observe_fn": _abi.COORDINATOR_OBSERVE_FN,
    "cst_observe_fetch_fn": _abi.OBSERVE_FETCH_FN,
    "cst_section_name_fn": _abi.SECTION_NAME_FN,
}


def suits(kind: str, argument: Any) -> bool:
    """Whether a ctypes type passes what a C type wants."""
    if kind in PLAIN:
        return argument is PLAIN[kind]
    if kind == "cst_string":
        return argument in (_abi.String, _abi.InputString)
    if kind == "cst_bytes":
        return argument is _abi.InputString
    return "*" in kind and ctypes.sizeof(argument) == ctypes.sizeof(ctypes.c_void_p)


HEADER_FUNCTIONS = declared()


def test_every_function_of_the_header_is_declared_and_no_other() -> None:
    assert len(HEADER_FUNCTIONS) > 130
    assert set(_abi.signatures()) == set(HEADER_FUNCTIONS)


@pytest.mark.parametrize("name", sorted(HEADER_FUNCTIONS))
def test_arguments(name: str) -> None:
    result, kinds = HEADER_FUNCTIONS[name]
    declared_result, arguments = _abi.signatures()[name]
    assert len(arguments) == len(kinds), f"{name} takes {len(kinds)} arguments"
    for kind, argument in zip(kinds, arguments):
        assert suits(kind, argument), f"{name}: {kind} is declared as {argument}"
    if result == "void":
        assert declared_result is None
    else:
        assert suits(result.replace("const ", ""), declared_result), f"{name} returns {result}"
    assert getattr(_abi.lib, name).argtypes == arguments


def enumerators(prefix: str) -> dict[str, int]:
    found = re.findall(rf"\b{prefix}(\w+)\s*=\s*(-?\d+)\s*[,}}\n]", plain_header())
    return {name: int(value) for name, value in found}


@pytest.mark.parametrize(
    ("kind", "prefix"),
    [
        (Status, "CST_E_"),
        (CoreDataCode, "CST_CODE_"),
        (AttributeType, "CST_ATTRIBUTE_"),
        (DeleteRule, "CST_DELETE_"),
        (Operator, "CST_OPERATOR_"),
        (Modifier, "CST_MODIFIER_"),
        (PredicateKind, "CST_PREDICATE_IS_"),
        (ExpressionType, "CST_EXPRESSION_"),
    ],
)
def test_constants(kind: Any, prefix: str) -> None:
    assert {each.name: each.value for each in kind} == enumerators(prefix)


@pytest.mark.parametrize(
    ("kind", "prefix"),
    [
        (ProblemKind, "CST_PROBLEM_"),
        (SnapshotEvents, "CST_SNAPSHOT_"),
        (ContextNotification, "CST_NOTIFICATION_"),
        (CoordinatorNotification, "CST_COORDINATOR_"),
        (StoreFile, "CST_STORE_FILE_"),
        (ValueChangeKind, "CST_CHANGE_"),
        (UndoNotification, "CST_UNDO_"),
        (Aggregate, "CST_AGGREGATE_"),
        (ConflictKind, "CST_CONFLICT_"),
        (MergePolicyType, "CST_MERGE_"),
    ],
)
def test_numbers_of_kinds(kind: Any, prefix: str) -> None:
    """Each member has its number in the header; some prefixes have other constants too."""
    known = enumerators(prefix)
    assert {each.name: known.get(each.name) for each in kind} == {each.name: each.value for each in kind}


def test_plain_constants() -> None:
    known = {name: getattr(_abi, name, None) for name in enumerators("CST_")}
    own = {name: value for name, value in known.items() if type(value) is int}
    assert len(own) > 60
    header = enumerators("CST_")
    assert own == {name: header[name] for name in own}


def test_value_types() -> None:
    names = (
        "NULL",
        "BOOL",
        "INT",
        "DOUBLE",
        "DECIMAL",
        "STRING",
        "BYTES",
        "DATE",
        "UUID",
        "OBJECT",
        "OBJECT_ID",
        "URI",
        "ARRAY",
        "SET",
        "DICTIONARY",
        "HOST",
        "EXPRESSION",
    )
    known = enumerators("CST_")
    assert {name: getattr(_abi, name) for name in names} == {name: known[name] for name in names}


def test_flags() -> None:
    text = plain_header()
    bits = {name: 1 << int(bit) for name, bit in re.findall(r"\bCST_(\w+)\s*=\s*1u\s*<<\s*(\d+)", text)}
    for name, value in bits.items():
        if name.startswith("COMPARE_"):
            assert CompareOptions[name[len("COMPARE_") :]].value == value
            continue
        python = name.replace("PROPERTY_", "")
        assert getattr(_abi, python) == value, name


def test_layout() -> None:
    assert ctypes.sizeof(_abi.Value) == 24
    assert _abi.PAYLOAD_OFFSET == 8
    assert ctypes.sizeof(_abi.Host) == 16
    assert ctypes.sizeof(_abi.HostCallbacks) == 10 * ctypes.sizeof(ctypes.c_void_p)
    assert ctypes.sizeof(_abi.PredicateInfo) == 40
    assert ctypes.sizeof(_abi.InputString) == ctypes.sizeof(_abi.String) == 2 * ctypes.sizeof(ctypes.c_void_p)


def test_version() -> None:
    major, minor = re.findall(r"#define CST_VERSION_(?:MAJOR|MINOR) (\d+)", HEADERS)
    assert (int(major), int(minor)) == _abi.VERSION
