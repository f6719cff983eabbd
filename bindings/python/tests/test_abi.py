"""The raw layer and the enumerations of the package agree with corestone-api.json, which describes the headers."""

from __future__ import annotations

import ctypes
import json
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
    HistoryChangeKind,
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

DESCRIPTION = json.loads((ROOT / "include/corestone-api.json").read_text(encoding="utf-8"))
CONSTANTS = {each["name"]: each["value"] for group in DESCRIPTION["enumerations"] for each in group["constants"]}


def test_declared_functions_equal_those_of_the_header() -> None:
    assert len(DESCRIPTION["functions"]) > 500
    assert set(_abi.signatures()) == {each["name"] for each in DESCRIPTION["functions"]}
    for each in DESCRIPTION["functions"]:
        declared = getattr(_abi.lib, each["name"])
        assert len(declared.argtypes) == len(each.get("parameters", []))
        assert (declared.restype is None) == (each["returns"] == "void")


def places(struct: type, members: list[dict[str, Any]]) -> dict[str, tuple[int, int]]:
    """Offset and size of each member, as ctypes has them."""
    names = {each["name"]: "payload" if each["name"] == "as" else each["name"] for each in members}
    found = {name: getattr(struct, python) for name, python in names.items()}
    return {name: (each.offset, each.size) for name, each in found.items()}


def test_struct_layouts_match_the_header() -> None:
    assert set(_abi.STRUCTS) == {each["name"] for each in DESCRIPTION["structs"]}
    members = 0
    for each in DESCRIPTION["structs"]:
        struct = _abi.STRUCTS[each["name"]]
        expected = {member["name"]: (member["offset"], member["size"]) for member in each["members"]}
        assert ctypes.sizeof(struct) == each["size"], each["name"]
        assert ctypes.alignment(struct) == each["alignment"], each["name"]
        assert places(struct, each["members"]) == expected, each["name"]
        assert len(struct._fields_) == len(expected), each["name"]
        members += len(expected)
        for member in each["members"]:
            if inner := member.get("members"):
                union = dict(struct._fields_)["payload"]
                at = member["offset"]
                assert places(union, inner) == {one["name"]: (one["offset"] - at, one["size"]) for one in inner}
                members += len(inner)
    assert ctypes.sizeof(_abi.InputString) == ctypes.sizeof(_abi.String)
    print(f"layout in Python: {len(_abi.STRUCTS)} structs, {members} members")


def enumerators(prefix: str) -> dict[str, int]:
    return {name[len(prefix) :]: value for name, value in CONSTANTS.items() if name.startswith(prefix)}


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
def test_enumerations_equal_the_constants_of_the_header(kind: Any, prefix: str) -> None:
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
        (HistoryChangeKind, "CST_HISTORY_"),
    ],
)
def test_kind_numbers_match_the_header(kind: Any, prefix: str) -> None:
    """Each member has its number in the header; some prefixes have other constants too."""
    known = enumerators(prefix)
    assert {each.name: known.get(each.name) for each in kind} == {each.name: each.value for each in kind}


def test_raw_layer_has_every_constant_of_the_header() -> None:
    assert {name: getattr(_abi, name[len("CST_") :]) for name in CONSTANTS} == CONSTANTS


def test_keyword_order_matches_the_constants() -> None:
    assert [_abi.UNSAVED.index(word) for word in ("refuse", "save", "discard")] == [
        _abi.UNSAVED_REFUSE,
        _abi.UNSAVED_SAVE,
        _abi.UNSAVED_DISCARD,
    ]
    assert [_abi.FAULT_POLICIES.index(word) for word in ("batch", "warn", "error")] == [
        _abi.FAULT_BATCH,
        _abi.FAULT_WARN,
        _abi.FAULT_ERROR,
    ]
    assert {"memory": _abi.NULLS_MEMORY, "database": _abi.NULLS_DATABASE} == _abi.NULLS


def test_compare_options_equal_the_flags_of_the_header() -> None:
    flags = enumerators("CST_COMPARE_")
    assert flags == {each.name: each.value for each in CompareOptions if each.name in flags}
    assert len(flags) >= 4


def test_abi_version_is_that_of_the_description() -> None:
    assert DESCRIPTION["version"].startswith(".".join(map(str, _abi.VERSION)))
