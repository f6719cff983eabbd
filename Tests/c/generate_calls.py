#!/usr/bin/env python3
"""Writes a table of every function of the C interface, with a thunk for each, so that tests can call them all.

usage: generate_calls.py corestone-api.json > calls.inc

A parameter of a type that is not known here stops the build: a new function cannot slip past the misuse tests.
SPDX-License-Identifier: MIT
"""

import json
import re
import sys
from typing import Any, NamedTuple

SCALARS = {"bool", "double", "size_t", "int32_t", "int64_t", "uint32_t", "uint64_t"} | {
    f"cst_{each}" for each in ("key", "attribute_type", "queue", "schedule")
}
COUNTS = {"count", "path_count", "sort_count", "rows", "columns", "capacity", "batch_size"} | {
    f"{each}_count" for each in ("inserted", "updated", "deleted")
}
RETURNS = {
    "void": "NOTHING",
    "cst_status": "STATUS",
    "cst_string": "STRING",
    "size_t": "NUMBER",
    "int64_t": "NUMBER",
    "int32_t": "NUMBER",
    "uint32_t": "NUMBER",
    "uint64_t": "NUMBER",
    "bool": "NUMBER",
    "void *": "POINTER",
    "const cst_error *": "POINTER",
    "const cst_conflict *": "POINTER",
    "const cst_object_id *": "POINTER",
}
# Structs and functions, each with its own member in `union argument`.
BY_VALUE = {
    *("STRING", "BYTES", "DESTROY", "PERFORM", "DONE", "INTERRUPT", "VALIDATE", "LOG", "RESOLVE"),
    *("CALL_SITE", "INACCESSIBLE", "PROGRESS", "CONTAINER_LOAD"),
    *("RECORDS", "FAILURE", "DOCUMENT_OBSERVE"),
    *("PREDICATE_BLOCK", "EXPRESSION_BLOCK", "COMPARE", "FUNCTION", "CODE"),
    *("BATCH_ROWS", "BATCH_OBJECT"),
    *("CONTEXT_OBSERVE", "OBJECT_OBSERVE", "COORDINATOR_OBSERVE", "UNDO_ACTION", "UNDO_OBSERVE"),
    "FETCH_DONE",
    *("OBSERVE_FETCH", "SECTION_NAME", "HISTORY_PROGRESS", "HISTORY", "HISTORY_ENDED"),
    *("STAGE", "TRANSFORMATION"),
}


class Parameter(NamedTuple):
    """One parameter: its C type without its name, and its properties for the tests."""

    c_type: str
    name: str
    kind: str
    handle: str
    owned: bool


def classify(c_type: str, name: str, handles: set[str]) -> tuple[str, str]:
    """The kind of argument that a parameter takes, and the handle type if it is one."""
    handle = re.fullmatch(r"(?:const )?cst_(\w+) \*", c_type)
    if handle and handle[1] in handles:
        return "HANDLE", handle[1]
    out = re.fullmatch(r"cst_(\w+) \*\*", c_type)
    if c_type == "cst_error **" and name == "error":
        return "ERROR", "error"
    if out and out[1] in handles:
        return ("OUT_HANDLES" if name.endswith("s") else "OUT_HANDLE"), out[1]
    many = re.fullmatch(r"(?:const )?cst_(\w+) \*const \*", c_type)
    if many and many[1] in handles:
        return "HANDLES", many[1]
    if c_type == "const void *" and name == "request":
        return "HANDLE", "fetch_request"
    if c_type in SCALARS:
        return ("COUNT" if name in COUNTS else "SCALAR"), ""
    fixed = {
        "cst_string": "STRING",
        "cst_bytes": "BYTES",
        "void *": "ANY_HANDLE" if name == "handle" else "USERDATA",
        "cst_destroy_fn": "DESTROY",
        "cst_validate_fn": "VALIDATE",
        "cst_resolve_conflicts_fn": "RESOLVE",
        "cst_log_fn": "LOG",
        "cst_context_observe_fn": "CONTEXT_OBSERVE",
        "cst_object_observe_fn": "OBJECT_OBSERVE",
        "cst_coordinator_observe_fn": "COORDINATOR_OBSERVE",
        "const char *const *": "WORDS",
        "cst_context_perform_fn": "PERFORM",
        "cst_context_done_fn": "DONE",
        "cst_coordinator_perform_fn": "UNDO_ACTION",
        "cst_context_interrupt_fn": "INTERRUPT",
        "cst_call_site_fn": "CALL_SITE",
        "cst_progress_fn": "PROGRESS",
        "cst_container_load_fn": "CONTAINER_LOAD",
        "cst_records_fn": "RECORDS",
        "cst_failure_fn": "FAILURE",
        "cst_document_observe_fn": "DOCUMENT_OBSERVE",
        "cst_inaccessible_fault_fn": "INACCESSIBLE",
        "cst_predicate_block_fn": "PREDICATE_BLOCK",
        "cst_expression_block_fn": "EXPRESSION_BLOCK",
        "cst_compare_fn": "COMPARE",
        "cst_batch_rows_fn": "BATCH_ROWS",
        "cst_batch_object_fn": "BATCH_OBJECT",
        "cst_function_fn": "FUNCTION",
        "cst_function": "CODE",
        "cst_undo_action_fn": "UNDO_ACTION",
        "cst_undo_observe_fn": "UNDO_OBSERVE",
        "cst_fetch_done_fn": "FETCH_DONE",
        "cst_observe_fetch_fn": "OBSERVE_FETCH",
        "cst_section_name_fn": "SECTION_NAME",
        "cst_history_progress_fn": "HISTORY_PROGRESS",
        "cst_history_fn": "HISTORY",
        "cst_history_ended_fn": "HISTORY_ENDED",
        "cst_migration_stage_fn": "STAGE",
        "cst_migration_transformation_fn": "TRANSFORMATION",
        "const cst_migration_policy_callbacks *": "POLICY_CALLBACKS",
        "const cst_bytes *": "HASHES",
        "const cst_history_options *": "HISTORY_OPTIONS",
        "const cst_history_retention *": "HISTORY_RETENTION",
        "const cst_migration_guard_options *": "GUARD_OPTIONS",
        "const cst_fetch_options *": "FETCH_OPTIONS",
        "const cst_arrow_import_options *": "IMPORT_OPTIONS",
        "const cst_controller_delegate *": "DELEGATE",
        "const void *": "USERDATA",
        "const cst_string *": "STRINGS",
        "const cst_value *": {"variables": "VARIABLES", "value": "VALUE", "least": "VALUE", "greatest": "VALUE"}.get(
            name, "VALUES"
        ),
        "const cst_key *": "KEYS",
        "const cst_sort *": "SORTS",
        "const cst_column *": "COLUMNS",
        "const cst_batch_column *": "BATCH_COLUMNS",
        "const cst_index_element *": "ELEMENTS",
        "const cst_store_options *": "OPTIONS",
        "const cst_container_options *": "CONTAINER_OPTIONS",
        "const cst_store_description *": "DESCRIPTION",
        "const cst_transformer_callbacks *": "CALLBACKS",
        "const cst_archive_class_callbacks *": "CLASS_CALLBACKS",
        "const cst_lifecycle_hooks *": "HOOKS",
        "const cst_store_callbacks *": "STORE_CALLBACKS",
        "const cst_row *": "HOST_ROWS",
        "cst_buffer *": "BUFFER",
        "struct ArrowSchema *": "ARROW_SCHEMA",
        "struct ArrowArray *": "ARROW_ARRAY",
        "struct ArrowArrayStream *": "ARROW_STREAM" if name.startswith("out_") else "ARROW_SOURCE",
        "const struct ArrowArrayStream *": "ARROW_SOURCE",
    }
    if c_type in fixed:
        return fixed[c_type], ""
    plain_outputs = {
        "cst_value *",
        "cst_string *",
        "cst_key *",
        "bool *",
        "size_t *",
        "uint32_t *",
        "uint64_t *",
        "int32_t *",
        "int64_t *",
        "uint8_t *",
        "int *",
        "double *",
        "void **",
        "cst_property_info *",
        "cst_predicate_info *",
        "cst_function *",
        "cst_statistics *",
        "cst_undo_state *",
        "cst_request_result *",
        "cst_index_path *",
        "cst_row *",
        "const cst_history_transaction **",
        "const cst_revision **",
    }
    if c_type in plain_outputs:
        return "OUT", ""
    sys.exit(f"generate_calls.py: no kind for the parameter `{c_type} {name}`; teach classify() about it")


def parameters(function: dict[str, Any], handles: set[str]) -> list[Parameter]:
    """The parameters of one function."""
    found = []
    for each in function.get("parameters", []):
        kind, handle = classify(each["type"], each["name"], handles)
        found.append(Parameter(each["type"], each["name"], kind, handle, each.get("ownership") == "owned"))
    return found


def main() -> None:
    """Reads the description, writes the table."""
    with open(sys.argv[1], encoding="utf-8") as file:
        described = json.load(file)
    handles = {each["name"].removeprefix("cst_") for each in described["handles"]}
    rows, thunks = [], []
    for function in described["functions"]:
        name, mark, returns = function["name"], function["thread"], function["returns"]
        owned_result = function.get("ownership") == "owned"
        if returns not in RETURNS:
            sys.exit(f"generate_calls.py: {name} returns `{returns}`, which is not known here")
        arguments = []
        listed = parameters(function, handles)
        for index, p in enumerate(listed):
            if p.kind in ("SCALAR", "COUNT"):
                arguments.append(f"({p.c_type})a[{index}].number")
            elif p.kind in BY_VALUE:
                arguments.append(f"a[{index}].{p.kind.lower()}")
            else:
                arguments.append(f"a[{index}].pointer")
        call = f"{name}({', '.join(arguments)})"
        kind = RETURNS[returns]
        body = {
            "NOTHING": f"{call};\n    return result_of_nothing();",
            "STATUS": f"return result_of_status({call});",
            "STRING": f"return result_of_string({call});",
            "NUMBER": f"return result_of_number((int64_t){call});",
            "POINTER": f"return result_of_pointer({call});",
        }[kind]
        unused = "" if listed else "    (void)a;\n"
        thunks.append(f"static struct result thunk_{name}(const union argument *a) {{\n{unused}    {body}\n}}\n")
        described = ", ".join(
            f'{{"{p.name}", KIND_{p.kind}, {"TYPE_" + p.handle.upper() if p.handle else "TYPE_NONE"}, '
            f"{'true' if p.owned else 'false'}}}"
            for p in listed
        )
        owned = "true" if owned_result else "false"
        rows.append(
            f'    {{"{name}", thunk_{name}, RETURNS_{kind}, MARK_{mark.upper()}, {owned}, {len(listed)}, '
            f"{{{described or '{NULL, KIND_SCALAR, TYPE_NONE, false}'}}}}},"
        )
    print("/* Written by generate_calls.py; not to be edited. */")
    print("\n".join(thunks))
    print("const struct call calls[] = {")
    print("\n".join(rows))
    print("};")
    print(f"const size_t call_count = {len(rows)};")


if __name__ == "__main__":
    main()
