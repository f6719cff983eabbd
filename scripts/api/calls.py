"""Generates Tests/c/calls.inc: a table of every function of the interface, for the misuse tests and the random calls.

A new type of parameter needs a kind in `classify`: without one the table is not generated, so that no function is
missing in the tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .description import Function, Interface
from .headers import HeaderError

HEAD = """/* Written by scripts/generate.py from include/corestone-api.json. `make generate` writes it again.
 *
 * One line per function: its name, the kind of its result, its thread mark, and its parameters, each with its index,
 * name and kind. calls.c includes the table twice, with different definitions of these macros:
 *
 *     HANDLE(index, name, type)             a handle
 *     TYPED(index, name, kind, type)        an array of handles, or an output for handles that the library owns
 *     OWNED(index, name, kind, type)        an output that the caller has to release
 *     NUMBER(index, name, kind)             a number
 *     POINTER(index, name, kind)            another pointer
 *     BY_VALUE(index, name, kind, member)   a struct or a function, and its member of `union argument`
 *     ERROR(index)                          the output for an error
 *     NONE                                  without parameters
 *
 * SPDX-License-Identifier: MIT
 */
"""
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
NUMBERS = ("SCALAR", "COUNT")
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


def classify(c_type: str, name: str, handles: set[str]) -> tuple[str, str]:
    """Returns the kind of argument for a parameter, and its handle type, or "" if it is not a handle.

    HeaderError for a type without a kind.
    """
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
        "cst_object_stamp *",
        "cst_undo_state *",
        "cst_request_result *",
        "cst_index_path *",
        "cst_row *",
        "const cst_history_transaction **",
        "const cst_revision **",
    }
    if c_type in plain_outputs:
        return "OUT", ""
    raise HeaderError(
        f"the parameter `{c_type} {name}` has a type without a kind; add it to classify in scripts/api/calls.py"
    )


def _parameters(function: Function, handles: set[str]) -> Iterator[str]:
    """Yields the parameters of a function as macros."""
    for index, each in enumerate(function.parameters):
        kind, handle = classify(each.type, each.name, handles)
        place = f"{index}, {each.name}"
        if kind == "ERROR":
            yield f"ERROR({index})"
        elif each.ownership == "owned":
            yield f"OWNED({place}, {kind}, {handle.upper() or 'NONE'})"
        elif kind == "HANDLE":
            yield f"HANDLE({place}, {handle.upper()})"
        elif handle:
            yield f"TYPED({place}, {kind}, {handle.upper()})"
        elif kind in NUMBERS:
            yield f"NUMBER({place}, {kind})"
        elif kind in BY_VALUE:
            yield f"BY_VALUE({place}, {kind}, {kind.lower()})"
        else:
            yield f"POINTER({place}, {kind})"


def table(interface: Interface) -> str:
    """Returns the text of Tests/c/calls.inc.

    HeaderError for a function with a result or a parameter of an unknown type.
    """
    handles = {each.name.removeprefix("cst_") for each in interface.handles}
    lines = []
    for function in interface.functions:
        if function.returns not in RETURNS:
            raise HeaderError(
                f"{function.name} returns `{function.returns}`, for which scripts/api/calls.py does not have a kind"
            )
        listed = ", ".join(_parameters(function, handles)) or "NONE"
        returns, mark = RETURNS[function.returns], function.thread.upper()
        lines.append(f"CALL({function.name}, {returns}, {mark}, {len(function.parameters)}, ({listed}))")
    return HEAD + "\n".join(lines) + "\n"
