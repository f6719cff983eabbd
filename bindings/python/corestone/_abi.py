"""corestone.h for ctypes: structures, constants, and every function with its argument and result types.

The table below follows the header function by function; a test compares the two.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import CFUNCTYPE, POINTER, Structure, Union
from typing import Any

from ._library import LibraryNotFoundError, find_library, load_library
from .errors import InvalidUTF8Error, TypeMismatchError

VERSION = (0, 1)

# cst_status: above zero are expected outcomes; those below are in codes.Status.
OK, NOT_FOUND, END, UNCHANGED = 0, 1, 2, 3
E_INTERNAL, E_CALLBACK, E_CANCELLED = -1, -8, -11

# cst_type
NULL, BOOL, INT, DOUBLE, DECIMAL, STRING, BYTES, DATE, UUID, OBJECT, OBJECT_ID, URI = range(12)
ARRAY, SET, DICTIONARY, HOST, EXPRESSION, DEFAULT = range(12, 18)

NO_KEY = 0xFFFFFFFF

# Flags of a property.
OPTIONAL, TRANSIENT, TO_MANY, ORDERED, INDEXED, EXTERNAL_STORAGE, PRESERVED, ALLOWS_NAN = (1 << bit for bit in range(8))
SPOTLIGHT, EXTERNAL_RECORD, CLOUD_ENCRYPTION, DERIVED, IGNORES_CHANGES = (1 << bit for bit in range(8, 13))
PROPERTY_ATTRIBUTE, PROPERTY_RELATIONSHIP, PROPERTY_FETCHED = 1, 2, 3
INDEX_DESCENDING, INDEX_RTREE = 1, 2
NAMES_TEMPLATES, NAMES_CONFIGURATIONS, NAMES_VERSION_IDENTIFIERS = 1, 2, 3

# cst_store_options.flags
STORE_READ_ONLY, STORE_MUST_EXIST, STORE_NORMAL_SYNC, STORE_ROLLBACK_JOURNAL, STORE_HISTORY, STORE_WRITABLE = (
    1 << bit for bit in range(6)
)
STORE_POSTS_OWN_CHANGES, STORE_ANALYZE, STORE_VACUUM, STORE_IGNORE_VERSIONING = (1 << bit for bit in range(6, 10))
STORE_FORCE_DESTROY = 1 << 10
DESCRIPTION_ASYNCHRONOUS, DESCRIPTION_NO_FOLDER = 1 << 0, 1 << 1
UNSAVED = ("refuse", "save", "discard")
CHANGES_NO_WAIT, CHANGES_TOLD = 1, 2
(
    DOCUMENT_EDITED,
    DOCUMENT_SAVING,
    DOCUMENT_CONFLICT,
    DOCUMENT_FAILED,
    DOCUMENT_UNTITLED,
    DOCUMENT_CHANGED_ON_DISK,
    DOCUMENT_CLOSED,
) = (1 << bit for bit in range(7))
# cst_store_callbacks
STORE_INCREMENTAL, STORE_ATOMIC = 1, 2
STORE_PARALLEL_READS, STORE_UNIQUE_CONSTRAINTS, STORE_DERIVED_ATTRIBUTES = (1 << bit for bit in range(3))
FETCHED_PREDICATE, FETCHED_ORDER, FETCHED_WINDOW, FETCHED_COUNT = (1 << bit for bit in range(4))
CONFLICT_ROW_VERSION, CONFLICT_ROW_UNIQUE = 1, 2
MODEL_KEEP_CURRENT, MODEL_LOSSY = (1 << bit for bit in range(2))
MODEL_GIVEN, MODEL_CACHED, MODEL_INFERRED = 1, 2, 3

QUEUE_CALLER, QUEUE_PRIVATE, QUEUE_MAIN = 0, 1, 2
SCHEDULE_IMMEDIATE, SCHEDULE_ENQUEUED = 0, 1
FAULT_POLICIES = ("batch", "warn", "error")
(
    OPTION_FAULT_POLICY,
    OPTION_FAULT_BATCH_SIZE,
    OPTION_COUNTS_SINGLE_FAULTS,
    OPTION_STALENESS_MS,
    OPTION_RETAINS_REGISTERED_OBJECTS,
    OPTION_DELETES_INACCESSIBLE_FAULTS,
    OPTION_DELETES_AT_END_OF_EVENT,
    OPTION_MERGES_BATCHES,
) = range(1, 9)
REPORT_TEXT, REPORT_JSON = 0, 1
CHANGED_INSERTED, CHANGED_UPDATED, CHANGED_DELETED, CHANGED_REGISTERED = 1, 2, 3, 4

# cst_object_state
(
    OBJECT_INSERTED,
    OBJECT_UPDATED,
    OBJECT_DELETED,
    OBJECT_FAULT,
    OBJECT_TEMPORARY_ID,
    OBJECT_HAS_CHANGES,
) = (1 << bit for bit in range(6))

VALUES_CHANGED, VALUES_BEFORE_EVENT, VALUES_COMMITTED = 1, 2, 3
MUTATION_UNION, MUTATION_MINUS, MUTATION_INTERSECT, MUTATION_SET = 1, 2, 3, 4
OBSERVE_INITIAL, OBSERVE_PRIOR = 4, 8

EXPLAIN_TEXT, EXPLAIN_JSON, EXPLAIN_ROWS = 0, 1, 2
UNDO_NAME, REDO_NAME, UNDO_TITLE, REDO_TITLE = range(4)
VALIDATE_INSERT, VALIDATE_UPDATE, VALIDATE_DELETE, VALIDATE_WITHOUT_HOOK = 1, 2, 3, 16
PREDICATE_NOT, PREDICATE_AND, PREDICATE_OR = 0, 1, 2
SORT_DESCENDING, SORT_CASE_INSENSITIVE, SORT_LOCALIZED, SORT_LOCALIZED_STANDARD, SORT_COMPARATOR = (
    1 << bit for bit in range(5)
)
NULLS = {"memory": 0, "database": 1}
# cst_fetch_request_option
(
    FETCH_LIMIT,
    FETCH_OFFSET,
    FETCH_BATCH_SIZE,
    FETCH_RESULT_TYPE,
    FETCH_INCLUDES_SUBENTITIES,
    FETCH_INCLUDES_PENDING_CHANGES,
    FETCH_INCLUDES_PROPERTY_VALUES,
    FETCH_RETURNS_FAULTS,
    FETCH_REFRESHES_REFETCHED,
    FETCH_DISTINCT,
    FETCH_NULLS,
    FETCH_ALLOWS_SPLIT,
    FETCH_ROWS_IN_MEMORY,
) = range(1, 14)


class String(Structure):
    """cst_string. `data` is an address: use `text` and `decode`, never the field alone."""

    _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_size_t))


class InputString(Structure):
    """cst_string as input: the same layout, but it keeps the bytes object alive."""

    _fields_ = (("data", ctypes.c_char_p), ("size", ctypes.c_size_t))


class Buffer(Structure):
    _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("capacity", ctypes.c_size_t))


class Decimal(Structure):
    _fields_ = (("mantissa", ctypes.c_uint64 * 2),)


class Host(Structure):
    _fields_ = (("callbacks", ctypes.c_void_p), ("object", ctypes.c_void_p))


class Payload(Union):
    _fields_ = (
        ("boolean", ctypes.c_bool),
        ("integer", ctypes.c_int64),
        ("real", ctypes.c_double),
        ("date", ctypes.c_double),
        ("decimal", Decimal),
        ("string", String),
        ("text", InputString),
        ("uuid", ctypes.c_uint8 * 16),
        ("handle", ctypes.c_void_p),
        ("values", String),  # cst_values: the address of the members, and how many
        ("host", Host),
    )


class Value(Structure):
    """cst_value"""

    _fields_ = (("type", ctypes.c_uint32), ("aux", ctypes.c_uint32), ("payload", Payload))


class PropertyInfo(Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("name", String),
        ("kind", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("attribute_type", ctypes.c_int32),
        ("key", ctypes.c_uint32),
        ("destination", ctypes.c_void_p),
        ("inverse", String),
        ("delete_rule", ctypes.c_uint32),
        ("minimum_count", ctypes.c_uint32),
        ("maximum_count", ctypes.c_uint32),
        ("entity", ctypes.c_void_p),
    )


class PredicateInfo(Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("kind", ctypes.c_uint32),
        ("compound", ctypes.c_uint32),
        ("part_count", ctypes.c_size_t),
        ("operator_type", ctypes.c_uint32),
        ("modifier", ctypes.c_uint32),
        ("options", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
    )


class IndexElement(Structure):
    _fields_ = (
        ("property", InputString),
        ("expression", InputString),
        ("type", ctypes.c_int32),
        ("flags", ctypes.c_uint32),
    )


class Pragma(Structure):
    """cst_pragma"""

    _fields_ = (("name", InputString), ("value", InputString))


class StoreOptions(Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("flags", ctypes.c_uint32),
        ("busy_timeout_ms", ctypes.c_uint32),
        ("cache_kb", ctypes.c_uint32),
        ("watch_interval_ms", ctypes.c_uint32),
        ("configuration", InputString),
        ("max_connections", ctypes.c_uint32),
        ("file_mode", ctypes.c_uint32),
        ("external_threshold", ctypes.c_uint64),
        ("pragma_count", ctypes.c_size_t),
        ("pragmas", POINTER(Pragma)),
        ("foreign_option_count", ctypes.c_size_t),
        ("foreign_options", POINTER(InputString)),
        ("host_option_count", ctypes.c_size_t),
        ("host_option_names", POINTER(InputString)),
        ("host_option_values", ctypes.c_void_p),
        ("value_limit", ctypes.c_uint64),
        ("memory_limit", ctypes.c_uint64),
        ("step_limit", ctypes.c_uint64),
        ("external_limit", ctypes.c_uint64),
    )


class ContainerOptions(Structure):
    """cst_container_options"""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("application", InputString),
        ("model_folder_count", ctypes.c_size_t),
        ("model_folders", POINTER(InputString)),
    )


class StoreDescription(Structure):
    """cst_store_description"""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("type", InputString),
        ("path", InputString),
        ("options", POINTER(StoreOptions)),
        ("flags", ctypes.c_uint32),
    )


STATISTICS = [
    "fetches",
    "fetched_rows",
    "faults",
    "faulted_rows",
    "relationship_faults",
    "cache_hits",
    "cache_misses",
    "saves",
    "inserted",
    "updated",
    "deleted",
    "fetch_nanoseconds",
    "save_nanoseconds",
    "row_bytes",
]


class Statistics(Structure):
    _fields_ = (("struct_size", ctypes.c_size_t), *((name, ctypes.c_uint64) for name in STATISTICS))


class UndoState(Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        *((name, ctypes.c_bool) for name in ("can_undo", "can_redo", "is_undoing", "is_redoing", "is_enabled")),
        ("groups_by_event", ctypes.c_bool),
        ("levels", ctypes.c_size_t),
        ("grouping_level", ctypes.c_size_t),
    )


class Sort(Structure):
    _fields_ = (("key_path", InputString), ("flags", ctypes.c_uint32), ("reserved", ctypes.c_uint32))


class Column(Structure):
    _fields_ = (
        ("name", InputString),
        ("expression", ctypes.c_void_p),
        ("type", ctypes.c_int32),
        ("reserved", ctypes.c_uint32),
    )


# What a notification tells of, each as results.
CHANGES = ["inserted", "updated", "deleted", "refreshed", "invalidated"]


class Changes(Structure):
    """cst_changes"""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in CHANGES),
        ("invalidated_all", ctypes.c_bool),
        ("query_generation", ctypes.c_void_p),
    )


class RemoteChange(Structure):
    """cst_remote_change"""

    _fields_ = (
        ("store", ctypes.c_void_p),
        ("store_identifier", String),
        ("path", String),
        ("has_history", ctypes.c_bool),
        ("transaction", ctypes.c_int64),
        ("is_own", ctypes.c_bool),
        ("file", ctypes.c_uint32),
    )


class StoreChanges(Structure):
    """cst_store_changes"""

    _fields_ = (
        ("added_count", ctypes.c_size_t),
        ("added", POINTER(ctypes.c_void_p)),
        ("removed_count", ctypes.c_size_t),
        ("removed", POINTER(ctypes.c_void_p)),
        ("old_store", ctypes.c_void_p),
        ("new_store", ctypes.c_void_p),
        ("migrated_ids", ctypes.c_void_p),
        ("remote", POINTER(RemoteChange)),
    )


FETCH_DONE_FN = CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


class RequestResult(Structure):
    """cst_request_result"""

    _fields_ = (
        ("type", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("count", ctypes.c_uint64),
        ("value", ctypes.c_void_p),
    )


class ValueChange(Structure):
    """cst_value_change"""

    _fields_ = (
        ("kind", ctypes.c_uint32),
        ("is_prior", ctypes.c_bool),
        ("key_path", String),
        ("old_value", Value),
        ("new_value", Value),
        ("indexes", POINTER(ctypes.c_size_t)),
        ("index_count", ctypes.c_size_t),
    )


PAYLOAD_OFFSET = Value.payload.offset
SIZE_OFFSET = PAYLOAD_OFFSET + String.size.offset

DESTROY_FN = CFUNCTYPE(None, ctypes.c_void_p)
UNDO_ACTION_FN = CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, POINTER(ctypes.c_void_p))
UNDO_OBSERVE_FN = CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32)
DONE_FN = CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p)
COORDINATOR_PERFORM_FN = CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, POINTER(ctypes.c_void_p))
PERFORM_FN = CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, POINTER(ctypes.c_void_p))
INTERRUPT_FN = CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)
CONTAINER_LOAD_FN = CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, String, ctypes.c_void_p, ctypes.c_void_p)
RECORDS_FN = CFUNCTYPE(None, ctypes.c_void_p, String, ctypes.c_size_t)
FAILURE_FN = CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
DOCUMENT_OBSERVE_FN = CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32)
PROGRESS_FN = CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64)
CALL_SITE_FN = CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, POINTER(Buffer))
INACCESSIBLE_FN = CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    String,
    POINTER(ctypes.c_bool),
    POINTER(ctypes.c_void_p),
)
LOG_FN = CFUNCTYPE(None, ctypes.c_void_p, String)
VALIDATE_FN = CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, POINTER(Value), POINTER(ctypes.c_void_p)
)
RESOLVE_FN = CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_size_t,
    POINTER(ctypes.c_void_p),
    POINTER(ctypes.c_void_p),
)
HOOK_FN = CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, POINTER(ctypes.c_void_p))
SNAPSHOT_HOOK_FN = CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, POINTER(ctypes.c_void_p)
)
NIL_HOOK_FN = CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, String, POINTER(ctypes.c_void_p))
VALUE_HOOK_FN = CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, String, ctypes.c_uint32, POINTER(Value), POINTER(ctypes.c_void_p)
)


class LifecycleHooks(Structure):
    """cst_lifecycle_hooks"""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("awake_from_insert", HOOK_FN),
        ("awake_from_fetch", HOOK_FN),
        ("awake_from_snapshot_events", SNAPSHOT_HOOK_FN),
        ("will_save", HOOK_FN),
        ("did_save", HOOK_FN),
        ("prepare_for_deletion", HOOK_FN),
        ("will_turn_into_fault", HOOK_FN),
        ("did_turn_into_fault", HOOK_FN),
        ("set_nil_value", NIL_HOOK_FN),
        ("validate", VALIDATE_FN),
        ("validate_value", VALUE_HOOK_FN),
        ("validated_count", ctypes.c_size_t),
        ("validated", ctypes.c_void_p),
        ("userdata", ctypes.c_void_p),
        ("destroy", DESTROY_FN),
    )


PREDICATE_FN = CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_void_p,
    POINTER(Value),
    POINTER(Value),
    POINTER(ctypes.c_bool),
    POINTER(ctypes.c_void_p),
)
EXPRESSION_FN = CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_void_p,
    POINTER(Value),
    ctypes.c_size_t,
    POINTER(Value),
    POINTER(Value),
    POINTER(Value),
    POINTER(ctypes.c_void_p),
)
COMPARE_FN = CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_void_p,
    ctypes.c_size_t,
    POINTER(Value),
    POINTER(Value),
    POINTER(ctypes.c_int32),
    POINTER(ctypes.c_void_p),
)
FUNCTION_FN = CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_void_p,
    POINTER(Value),
    ctypes.c_size_t,
    POINTER(Value),
    POINTER(Value),
    POINTER(ctypes.c_void_p),
)
BATCH_ROWS_FN = CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_void_p,
    POINTER(ctypes.c_size_t),
    POINTER(ctypes.c_void_p),
)
BATCH_OBJECT_FN = CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, POINTER(ctypes.c_bool), POINTER(ctypes.c_void_p)
)
CONTEXT_OBSERVE_FN = CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, POINTER(Changes))
COORDINATOR_OBSERVE_FN = CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, POINTER(StoreChanges))
OBJECT_OBSERVE_FN = CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, POINTER(ValueChange))


class IndexPath(Structure):
    """cst_index_path"""

    _fields_ = (("section", ctypes.c_size_t), ("row", ctypes.c_size_t))


class SectionChange(Structure):
    """cst_section_change"""

    _fields_ = (("kind", ctypes.c_uint32), ("index", ctypes.c_size_t), ("name", String))


class ObjectChange(Structure):
    """cst_object_change"""

    _fields_ = (
        ("kind", ctypes.c_uint32),
        ("object", ctypes.c_void_p),
        ("path", IndexPath),
        ("new_path", IndexPath),
    )


class RenamedID(Structure):
    """cst_renamed_id"""

    _fields_ = (("former", ctypes.c_void_p), ("id", ctypes.c_void_p))


class Difference(Structure):
    """cst_difference"""

    _fields_ = (
        ("section_count", ctypes.c_size_t),
        ("change_count", ctypes.c_size_t),
        ("sections", POINTER(SectionChange)),
        ("changes", POINTER(ObjectChange)),
        ("snapshot", ctypes.c_void_p),
        ("is_reset", ctypes.c_bool),
        ("error", ctypes.c_void_p),
        ("renamed_count", ctypes.c_size_t),
        ("renamed", POINTER(RenamedID)),
    )


class IDChange(Structure):
    """cst_id_change"""

    _fields_ = (
        ("kind", ctypes.c_uint32),
        ("offset", ctypes.c_size_t),
        ("associated", ctypes.c_size_t),
        ("id", ctypes.c_void_p),
    )


OBSERVE_FETCH_FN = CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, POINTER(Difference))
SECTION_NAME_FN = CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, POINTER(Value), POINTER(ctypes.c_void_p))
CONTROLLER_FN = CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
CONTROLLER_SECTION_FN = CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, POINTER(SectionChange))
CONTROLLER_OBJECT_FN = CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, POINTER(ObjectChange))
CONTROLLER_ALL_FN = CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, POINTER(Difference))
CONTROLLER_IDS_FN = CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, POINTER(IDChange))
CONTROLLER_RESET_FN = CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
CONTROLLER_TITLE_FN = CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, String, POINTER(Value), POINTER(ctypes.c_void_p)
)


class ControllerDelegate(Structure):
    """cst_controller_delegate"""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("will_change", CONTROLLER_FN),
        ("did_change_section", CONTROLLER_SECTION_FN),
        ("did_change_object", CONTROLLER_OBJECT_FN),
        ("did_change", CONTROLLER_FN),
        ("did_change_all", CONTROLLER_ALL_FN),
        ("did_change_ids", CONTROLLER_IDS_FN),
        ("did_reset", CONTROLLER_RESET_FN),
        ("section_title", CONTROLLER_TITLE_FN),
        ("userdata", ctypes.c_void_p),
        ("destroy", DESTROY_FN),
    )


class HostCallbacks(Structure):
    """cst_host_callbacks"""

    VALUE_FOR_KEY = CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, String, POINTER(Value), POINTER(ctypes.c_void_p))
    COUNT = CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, POINTER(ctypes.c_size_t), POINTER(ctypes.c_void_p))
    ELEMENT = CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_size_t, POINTER(Value), POINTER(ctypes.c_void_p))
    CLASS_NAME = CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
    IS_EQUAL = CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p)
    HASH = CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)
    COMPARE = CFUNCTYPE(
        ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, POINTER(ctypes.c_int32), POINTER(ctypes.c_void_p)
    )
    KEEP = CFUNCTYPE(None, ctypes.c_void_p)

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("value_for_key", VALUE_FOR_KEY),
        ("count", COUNT),
        ("element", ELEMENT),
        ("class_name", CLASS_NAME),
        ("is_equal", IS_EQUAL),
        ("hash", HASH),
        ("compare", COMPARE),
        ("retain", KEEP),
        ("release", KEEP),
    )


class HostRow(Structure):
    """cst_row"""

    _fields_ = (
        ("entity", ctypes.c_void_p),
        ("reference", Value),
        ("version", ctypes.c_int64),
        ("count", ctypes.c_size_t),
        ("keys", ctypes.c_void_p),
        ("values", ctypes.c_void_p),
        ("targets", ctypes.c_void_p),
    )


class StoreOpening(Structure):
    """cst_store_opening"""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("type", String),
        ("path", String),
        ("model", ctypes.c_void_p),
        ("configuration", String),
        ("read_only", ctypes.c_bool),
        ("must_exist", ctypes.c_bool),
        ("is_new", ctypes.c_bool),
        ("metadata", String),
        ("option_count", ctypes.c_size_t),
        ("option_names", POINTER(String)),
        ("option_values", POINTER(Value)),
    )


class StoreFetch(Structure):
    """cst_store_fetch"""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("entity", ctypes.c_void_p),
        ("includes_subentities", ctypes.c_bool),
        ("result_type", ctypes.c_uint32),
        ("predicate", ctypes.c_void_p),
        ("sort_count", ctypes.c_size_t),
        ("sort", POINTER(Sort)),
        ("limit", ctypes.c_uint64),
        ("offset", ctypes.c_uint64),
        ("key_count", ctypes.c_size_t),
        ("keys", POINTER(ctypes.c_uint32)),
        ("request", ctypes.c_void_p),
    )


class RowUpdate(Structure):
    """cst_row_update"""

    _fields_ = (
        ("row", HostRow),
        ("old_version", ctypes.c_int64),
        ("changed_count", ctypes.c_size_t),
        ("changed", POINTER(ctypes.c_uint32)),
    )


class MemberChange(Structure):
    """cst_member_change"""

    _fields_ = (
        ("owner", HostRow),
        ("relationship", ctypes.c_uint32),
        ("is_ordered", ctypes.c_bool),
        ("added_count", ctypes.c_size_t),
        ("added", POINTER(HostRow)),
        ("removed_count", ctypes.c_size_t),
        ("removed", POINTER(HostRow)),
        ("member_count", ctypes.c_size_t),
        ("members", POINTER(HostRow)),
    )


class SaveChanges(Structure):
    """cst_save_changes"""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("request", ctypes.c_void_p),
        ("inserted_count", ctypes.c_size_t),
        ("inserted", POINTER(HostRow)),
        ("updated_count", ctypes.c_size_t),
        ("updated", POINTER(RowUpdate)),
        ("deleted_count", ctypes.c_size_t),
        ("deleted", POINTER(HostRow)),
        ("locked_count", ctypes.c_size_t),
        ("locked", POINTER(HostRow)),
        ("member_change_count", ctypes.c_size_t),
        ("member_changes", POINTER(MemberChange)),
        ("metadata", String),
        ("author", String),
        ("context_name", String),
    )


def _store_callback(*parameters: Any) -> Any:
    return CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, *parameters, POINTER(ctypes.c_void_p))


class HostStoreCallbacks(Structure):
    """cst_store_callbacks"""

    OPEN = _store_callback(POINTER(StoreOpening), POINTER(ctypes.c_void_p), POINTER(Buffer))
    CLOSE = CFUNCTYPE(None, ctypes.c_void_p)
    SAVE = _store_callback(POINTER(SaveChanges), ctypes.c_void_p)
    OBTAIN = _store_callback(ctypes.c_size_t, POINTER(HostRow), ctypes.c_void_p)
    MOVE = _store_callback(String)
    FETCH = _store_callback(POINTER(StoreFetch), ctypes.c_void_p, POINTER(ctypes.c_uint32), POINTER(ctypes.c_uint64))
    VALUES = _store_callback(ctypes.c_size_t, POINTER(HostRow), ctypes.c_void_p)
    RELATIONSHIP = _store_callback(ctypes.c_void_p, ctypes.c_uint32, ctypes.c_size_t, POINTER(HostRow), ctypes.c_void_p)
    REGISTERED = CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, POINTER(HostRow))
    LOAD = _store_callback(ctypes.c_void_p)
    COPY_METADATA = _store_callback(String, POINTER(Buffer))
    SET_METADATA = _store_callback(String, String)
    DESTROY_STORE = _store_callback(String)
    REPLACE_STORE = _store_callback(String, String)

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("kind", ctypes.c_uint32),
        ("abilities", ctypes.c_uint32),
        ("open", OPEN),
        ("close", CLOSE),
        ("save", SAVE),
        ("obtain_ids", OBTAIN),
        ("move", MOVE),
        ("fetch", FETCH),
        ("values", VALUES),
        ("relationship", RELATIONSHIP),
        ("did_register", REGISTERED),
        ("did_unregister", REGISTERED),
        ("load", LOAD),
        ("copy_metadata", COPY_METADATA),
        ("set_metadata", SET_METADATA),
        ("destroy_store", DESTROY_STORE),
        ("replace_store", REPLACE_STORE),
        ("userdata", ctypes.c_void_p),
        ("destroy", DESTROY_FN),
    )


# Short names for the table: `handle` is any opaque pointer, `out` a place for one, `error` the last parameter.
_TYPES: dict[str, Any] = {
    "void": None,
    "status": ctypes.c_int32,
    "handle": ctypes.c_void_p,
    "pointer": ctypes.c_void_p,
    "out": POINTER(ctypes.c_void_p),
    "error": POINTER(ctypes.c_void_p),
    "handles": POINTER(ctypes.c_void_p),
    "text": String,
    "in": InputString,
    "bytes": InputString,
    "texts": POINTER(InputString),
    "outtext": POINTER(String),
    "value": POINTER(Value),
    "values": ctypes.c_void_p,
    "buffer": POINTER(Buffer),
    "info": POINTER(PropertyInfo),
    "options": POINTER(StoreOptions),
    "sorts": POINTER(Sort),
    "columns": POINTER(Column),
    "elements": POINTER(IndexElement),
    "bool": ctypes.c_bool,
    "bool*": POINTER(ctypes.c_bool),
    "int*": POINTER(ctypes.c_int),
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "i64*": POINTER(ctypes.c_int64),
    "u32": ctypes.c_uint32,
    "u32*": POINTER(ctypes.c_uint32),
    "u64": ctypes.c_uint64,
    "u64*": POINTER(ctypes.c_uint64),
    "size": ctypes.c_size_t,
    "size*": POINTER(ctypes.c_size_t),
    "key": ctypes.c_uint32,
    "keys": POINTER(ctypes.c_uint32),
    "bytes*": ctypes.c_void_p,
    "destroy": DESTROY_FN,
    "perform": PERFORM_FN,
    "done": DONE_FN,
    "alone": COORDINATOR_PERFORM_FN,
    "interrupt": INTERRUPT_FN,
    "progress": PROGRESS_FN,
    "containeroptions": POINTER(ContainerOptions),
    "description": POINTER(StoreDescription),
    "containerload": CONTAINER_LOAD_FN,
    "records": RECORDS_FN,
    "failure": FAILURE_FN,
    "documentobserve": DOCUMENT_OBSERVE_FN,
    "callsite": CALL_SITE_FN,
    "inaccessible": INACCESSIBLE_FN,
    "validate": VALIDATE_FN,
    "resolve": RESOLVE_FN,
    "log": LOG_FN,
    "words": POINTER(ctypes.c_char_p),
    "statistics": POINTER(Statistics),
    "predicateblock": PREDICATE_FN,
    "expressionblock": EXPRESSION_FN,
    "compare": COMPARE_FN,
    "batchrows": BATCH_ROWS_FN,
    "batchobject": BATCH_OBJECT_FN,
    "function": FUNCTION_FN,
    "code": ctypes.c_void_p,
    "undoaction": UNDO_ACTION_FN,
    "undoobserve": UNDO_OBSERVE_FN,
    "undostate": POINTER(UndoState),
    "predicateinfo": POINTER(PredicateInfo),
    "requestresult": POINTER(RequestResult),
    "fetchdone": FETCH_DONE_FN,
    "contextobserve": CONTEXT_OBSERVE_FN,
    "objectobserve": OBJECT_OBSERVE_FN,
    "coordinatorobserve": COORDINATOR_OBSERVE_FN,
    "observefetch": OBSERVE_FETCH_FN,
    "sectionname": SECTION_NAME_FN,
    "controllerdelegate": POINTER(ControllerDelegate),
    "indexpath*": POINTER(IndexPath),
    "hostrows": POINTER(HostRow),
    "hoststore": POINTER(HostStoreCallbacks),
}

# name, result, parameters
FUNCTIONS = """
cst_version void int* int* int*
cst_version_string text
cst_retain pointer handle
cst_release status handle
cst_handle_count size
cst_buffer_fill status buffer bytes error
cst_buffer_dispose void buffer

cst_log_set_sql_detail status u32 error
cst_log_sql_detail u32
cst_log_set_callback status log pointer destroy error
cst_log_take_arguments status size words size* error

cst_error_status status handle
cst_error_code i64 handle
cst_error_domain text handle
cst_error_message text handle
cst_error_entity text handle
cst_error_key text handle
cst_error_predicate text handle
cst_error_object_uri text handle
cst_error_file text handle
cst_error_value status handle value
cst_error_sqlite_code i32 handle
cst_error_offset i64 handle
cst_error_detail_count size handle
cst_error_detail_at pointer handle size
cst_error_copy_description status handle buffer
cst_error_new_custom status in i64 in pointer destroy out
cst_error_userdata pointer handle

cst_model_new status out error
cst_model_add_entity status handle in out error
cst_model_freeze status handle error
cst_model_is_frozen status handle bool* error
cst_model_add_version_identifier status handle in error
cst_model_remove_version_identifier status handle in error
cst_model_entity_count size handle
cst_model_entity_at status handle size out error
cst_model_entity status handle in out error
cst_model_load status in in out error
cst_model_load_draft status in in out buffer error
cst_model_load_bytes status bytes out error
cst_model_load_for_store status in in out error
cst_model_version_name text handle
cst_model_copy status handle out error
cst_model_merge status size handles in out error
cst_model_copy_versions status in buffer size* size* error
cst_model_copy_json status handle buffer error
cst_model_copy_diagram status handle buffer error
cst_model_copy_lint status handle in buffer error
cst_model_copy_diff status handle handle buffer error
cst_model_set_template status handle in handle error
cst_model_copy_template status handle in out error
cst_model_copy_bound_template status handle in size texts values out error
cst_model_set_configuration status handle in size texts error
cst_model_remove_configuration status handle in error
cst_model_copy_configuration status handle in buffer size* error
cst_model_copy_names status handle u32 buffer size* error
cst_model_set_localization status handle in in error
cst_model_localization status handle in outtext error
cst_model_copy_compiled status handle buffer error
cst_model_copy_source status handle u32 buffer error
cst_model_write status handle in in u32 error
cst_model_convert status in in in u32 error
cst_model_merge_folder status in in out error

cst_mapping_model_load status in out error
cst_mapping_model_load_bytes status bytes out error
cst_mapping_model_copy_json status handle buffer error
cst_mapping_model_source status handle out error
cst_mapping_model_destination status handle out error

cst_model_copy_checksum status handle buffer error
cst_model_copy_version_checksums status in buffer size* error
cst_model_is_compatible status handle in in bool* error
cst_model_is_compatible_metadata status handle in bytes bool* error
cst_model_load_strings status handle in in error

cst_entity_name text handle
cst_entity_localized_name text handle
cst_entity_localized_property_name status handle in outtext error
cst_entity_set_parent status handle handle error
cst_entity_parent status handle out error
cst_entity_child_at status handle size out error
cst_entity_is_kind_of status handle handle bool* error
cst_entity_set_abstract status handle bool error
cst_entity_is_abstract status handle bool* error
cst_entity_set_class_name status handle in error
cst_entity_set_user_info status handle in in error
cst_entity_user_info status handle in outtext error
cst_entity_set_version_hash_modifier status handle in error
cst_entity_add_index status handle in size texts error
cst_entity_add_fetch_index status handle in size elements handle error
cst_entity_add_unique_constraint status handle size texts error
cst_entity_version_hash status handle bytes* error
cst_entity_property_version_hash status handle in bytes* error
cst_entity_add_attribute status handle in i32 u32 out error
cst_entity_add_relationship status handle in handle u32 out error
cst_entity_property_count size handle
cst_entity_property_at status handle size info error
cst_entity_key status handle in u32* error
cst_entity_accessor status handle in u32 out error

cst_entity_remove status handle error
cst_entity_rename status handle in error
cst_entity_set_renaming_identifier status handle in error
cst_entity_remove_index status handle in error
cst_entity_remove_unique_constraint status handle size texts error
cst_entity_copy_json status handle in buffer error
cst_entity_copy_user_info status handle in buffer error
cst_entity_attribute status handle in out error
cst_entity_copy_relationships_to status handle handle buffer size* error
cst_entity_relationship status handle in out error
cst_entity_remove_property status handle in error
cst_entity_rename_property status handle in in error
cst_entity_set_property_flags status handle in u32 u32 error
cst_entity_set_property_renaming_identifier status handle in in error
cst_entity_set_property_version_hash_modifier status handle in in error
cst_entity_set_property_user_info status handle in in in error
cst_entity_remove_validation status handle in error
cst_entity_add_validator status handle in validate pointer destroy error
cst_entity_add_validator_function status handle in in error
cst_entity_set_lifecycle status handle pointer error
cst_context_disable_tracking status handle error
cst_context_enable_tracking status handle error
cst_entity_add_fetched_property status handle in handle error
cst_entity_set_fetched_request status handle in handle error
cst_entity_copy_fetched_request status handle in out error

cst_attribute_convert status handle value value error
cst_attribute_set_default status handle value error
cst_attribute_set_user_info status handle in in error
cst_attribute_user_info status handle in outtext error
cst_attribute_set_bounds status handle value value error
cst_attribute_set_pattern status handle in error
cst_attribute_add_validation status handle handle in error
cst_attribute_set_transformer_name status handle in error
cst_attribute_set_derivation status handle in in error
cst_attribute_add_element status handle in i32 u32 out error
cst_attribute_set_type status handle i32 error
cst_attribute_set_value_class status handle in error
cst_relationship_set_inverse status handle handle error
cst_relationship_set_destination status handle handle error
cst_relationship_set_delete_rule status handle u32 error
cst_relationship_set_counts status handle u32 u32 error
cst_relationship_add_validation status handle handle in error
cst_relationship_set_user_info status handle in in error
cst_relationship_user_info status handle in outtext error

cst_value_dispose void value
cst_value_copy_at_key_path status values in value error

cst_archive_copy_json status bytes buffer error
cst_archive_from_json status in buffer error
cst_archive_register_class status in pointer error
cst_archive_unregister_class status in error
cst_archive_copy_class_kinds status in buffer error

cst_transformer_register status in pointer error
cst_transformer_register_functions status in in in error
cst_transformer_unregister status in error
cst_transformer_is_registered status in bool* error

cst_coordinator_new status handle out error
cst_coordinator_add_store status handle in in options out error
cst_coordinator_open_store status in handle options out out error
cst_coordinator_migrate_store status handle handle in in options progress pointer out error
cst_coordinator_compare status handle handle buffer error
cst_coordinator_remove_store status handle handle error
cst_coordinator_close status handle u32 error
cst_coordinator_copy_unsaved_changes status handle u32 buffer error
cst_coordinator_destroy_store status handle in in options error
cst_coordinator_replace_store status handle in in in options error
cst_coordinator_set_store_path status handle handle in error
cst_coordinator_store_count size handle
cst_coordinator_store status handle size out error
cst_coordinator_store_at status handle in out error
cst_coordinator_copy_metadata status handle handle buffer error
cst_coordinator_set_metadata status handle handle bytes error
cst_coordinator_backup_store status handle handle in options progress pointer error
cst_coordinator_checkpoint_store status handle handle u32 u64* u64* error
cst_coordinator_optimize_store status handle handle u64* error
cst_coordinator_model status handle out error
cst_coordinator_statistics status handle statistics error
cst_coordinator_reset_statistics status handle error
cst_coordinator_perform status handle alone pointer destroy error
cst_coordinator_perform_and_wait status handle alone pointer error
cst_coordinator_object_id status handle in out error
cst_store_identifier text handle
cst_store_path text handle
cst_store_type text handle
cst_store_is_read_only status handle bool* error
cst_store_read_only_reason text handle
cst_store_configuration text handle
cst_store_warning_count size handle
cst_store_warning text handle size
cst_store_model_source status handle u32* error
cst_store_copy_metadata status in buffer error
cst_store_set_metadata status in bytes error
cst_store_check_apple status in handle bool* buffer error
cst_store_check status in handle out error
cst_store_copy_leftovers status in buffer error
cst_store_remove_leftovers status in buffer error
cst_store_copy_views status in handle u32 bool buffer error

cst_main_queue_bind status error
cst_main_queue_drain status i32 size* error
cst_main_queue_descriptor status int* error

cst_context_new status handle i32 out error
cst_context_perform status handle perform pointer destroy error
cst_context_perform_and_wait status handle perform pointer error
cst_context_schedule status handle i32 perform done pointer destroy error
cst_context_lock status handle error
cst_context_try_lock status handle error
cst_context_unlock status handle error
cst_context_set_origin status handle in u32 error
cst_context_set_interrupt status handle interrupt pointer destroy error
cst_context_set_name status handle in error
cst_context_set_transaction_author status handle in error
cst_context_copy_name status handle buffer error
cst_context_copy_transaction_author status handle buffer error
cst_context_set_user_info status handle pointer destroy error
cst_context_user_info pointer handle
cst_context_coordinator status handle out error
cst_context_insert status handle handle out error
cst_context_insert_many status handle handle size size keys values handles error
cst_context_insert_object status handle handle error
cst_context_delete status handle handle error
cst_context_has_changes status handle bool* error
cst_context_has_persistent_changes status handle bool* error
cst_context_process_pending_changes status handle error
cst_context_save status handle error
cst_context_validate status handle error
cst_context_rollback status handle error
cst_context_reset status handle error
cst_context_close status handle u32 error
cst_context_copy_changed status handle u32 out error
cst_context_changed_count status handle u32 u64* error
cst_context_execute status handle handle requestresult error
cst_context_fetch status handle handle out error
cst_context_fetch_ids status handle handle out error
cst_context_fetch_cursor status handle handle size out error
cst_context_count status handle handle u64* error
cst_context_explain status handle handle u32 buffer error
cst_context_object_with_id status handle handle out error
cst_context_existing_object status handle handle out error
cst_context_registered_object status handle handle out error
cst_context_assign status handle handle handle error
cst_context_obtain_permanent_ids status handle size handles error
cst_context_refresh_all status handle error
cst_container_new status in handle containeroptions out error
cst_container_open status in handle options out error
cst_container_copy_data_folder status in buffer error
cst_container_add_description status handle description error
cst_container_load status handle containerload pointer destroy error
cst_container_coordinator status handle out error
cst_container_view_context status handle out error
cst_container_new_background_context status handle out error
cst_container_copy_report status handle buffer error
cst_container_save status handle error
cst_container_close status handle u32 error
cst_container_insert status handle in in records failure pointer error
cst_container_read status handle in handle in bool u64 u64 records failure pointer error
cst_container_update status handle in handle in records failure pointer error
cst_container_delete status handle in handle records failure pointer error
cst_container_delete_all status handle in records failure pointer error

cst_document_new status handle in i32 out error
cst_document_open status in handle options i32 out error
cst_document_context status handle out error
cst_document_copy_path status handle buffer error
cst_document_state status handle u32* error
cst_document_has_unsaved_changes status handle bool* error
cst_document_copy_error status handle out error
cst_document_observe status handle documentobserve pointer destroy out error
cst_document_set_autosave status handle u32 u32 error
cst_document_save status handle error
cst_document_save_as status handle in in bool error
cst_document_revert status handle error
cst_document_close status handle u32 error

cst_context_new_child status handle i32 out error
cst_context_parent status handle out error
cst_context_set_automatically_merges status handle bool error
cst_context_automatically_merges status handle bool* error
cst_context_set_merges_remote_changes status handle bool error
cst_context_merges_remote_changes status handle bool* error
cst_context_merge_changes status handle size handles size handles size handles error
cst_context_merge_remote_changes status handle size texts size texts size texts error

cst_query_generation_current status out error
cst_coordinator_query_generation status handle out error
cst_context_query_generation status handle out error
cst_context_set_query_generation status handle handle error
cst_query_generation_is_current bool handle
cst_query_generation_equal bool handle handle
cst_query_generation_hash u64 handle
cst_merge_policy_new status i32 resolve pointer destroy out error
cst_merge_policy_type i32 handle
cst_context_set_merge_policy status handle handle error
cst_context_merge_policy status handle out error
cst_context_detect_conflicts status handle handle error
cst_error_conflict_count size handle
cst_error_conflict_at pointer handle size
cst_conflict_kind i32 handle
cst_conflict_message text handle
cst_conflict_object_count size handle
cst_conflict_object_id_at pointer handle size
cst_conflict_database_id pointer handle
cst_conflict_old_version i64 handle
cst_conflict_new_version i64 handle
cst_conflict_property_count size handle
cst_conflict_property_at text handle size
cst_conflict_value status handle i32 size in value error
cst_conflict_resolve status handle i32 error

cst_context_set_option status handle u32 i64 error
cst_context_option status handle u32 i64* error
cst_context_set_call_site status handle in u32 error
cst_context_set_call_site_finder status handle callsite pointer destroy error
cst_context_copy_fault_report status handle u32 buffer error
cst_context_set_inaccessible_fault_handler status handle inaccessible pointer destroy error

cst_object_new status handle out error
cst_object_get status handle key value error
cst_object_set status handle key value error
cst_object_set_primitive status handle key value error
cst_object_get_many status handle size keys values error
cst_object_set_many status handle size keys values error
cst_object_get_path status handle in value error
cst_object_set_path status handle in value error
cst_object_get_paths status handle size texts values error
cst_object_set_paths status handle size texts values error
cst_object_get_committed status handle key value error
cst_object_copy_bytes status handle key buffer error
cst_object_get_transformed status handle key out error
cst_object_set_transformed status handle key pointer error
cst_object_is_changed status handle key bool* error
cst_object_validate status handle u32 error
cst_object_validate_value status handle key value value error
cst_object_member_count status handle key size* error
cst_object_copy_members status handle key out error
cst_object_copy_fetched status handle in out error
cst_object_has_member status handle key handle bool* error
cst_object_add_member status handle key handle error
cst_object_add_members status handle key size handles error
cst_object_remove_member status handle key handle error
cst_object_set_members status handle key size handles error
cst_object_insert_member status handle key size handle error
cst_object_entity status handle out error
cst_object_context status handle out error
cst_object_copy_id status handle out error
cst_object_state status handle u32* error
cst_object_refresh status handle bool error
cst_object_get_primitive status handle key value error
cst_object_copy_primitive_members status handle key out error
cst_object_set_primitive_members status handle key size handles error
cst_object_will_access status handle key error
cst_object_did_access status handle key error
cst_object_will_change status handle key error
cst_object_did_change status handle key error
cst_object_will_change_members status handle key u32 size handles error
cst_object_did_change_members status handle key u32 size handles error
cst_object_copy_values status handle u32 size keys out error
cst_object_has_persistent_changes status handle bool* error
cst_object_copy_related_ids status handle key out error
cst_object_has_relationship_fault status handle key bool* error
cst_object_clone status handle size size texts bool out error

cst_context_observe status handle u32 contextobserve pointer destroy out error
cst_coordinator_observe status handle u32 coordinatorobserve pointer destroy out error
cst_object_observe status handle in u32 objectobserve pointer destroy out error
cst_observation_cancel status handle error

cst_object_id_copy_uri status handle buffer error
cst_object_id_is_temporary status handle bool* error
cst_object_id_entity status handle out error
cst_object_id_equal bool handle handle
cst_object_id_hash u64 handle
cst_object_id_reference status handle values error
cst_store_new_object_id status handle handle values out error

cst_store_type_register status in hoststore error
cst_store_type_unregister status in error
cst_store_type_copy_names status buffer size* error
cst_store_type_copy_metadata status in in buffer error
cst_store_type_set_metadata status in in bytes error
cst_row_sink_push status handle size hostrows error
cst_row_sink_push_members status handle size size hostrows error
cst_save_request_next status handle size hostrows size* error
cst_save_request_add_conflict status handle u32 hostrows error

cst_undo_manager_new status out error
cst_context_set_undo_manager status handle handle error
cst_context_copy_undo_manager status handle out error
cst_context_undo status handle error
cst_context_redo status handle error
cst_undo_manager_undo status handle error
cst_undo_manager_undo_nested status handle error
cst_undo_manager_redo status handle error
cst_undo_manager_begin_group status handle error
cst_undo_manager_end_group status handle error
cst_undo_manager_register status handle pointer undoaction pointer destroy error
cst_undo_manager_remove_all status handle error
cst_undo_manager_remove_target status handle pointer error
cst_undo_manager_disable status handle error
cst_undo_manager_enable status handle error
cst_undo_manager_set_levels status handle size error
cst_undo_manager_set_groups_by_event status handle bool error
cst_undo_manager_set_action_name status handle in error
cst_undo_manager_copy_text status handle u32 buffer error
cst_undo_manager_state status handle undostate error
cst_undo_manager_observe status handle u32 undoobserve pointer destroy out error

cst_predicate_parse status in size values out error
cst_predicate_new_compound status u32 size handles out error
cst_predicate_new_comparison status handle u32 handle u32 u32 out error
cst_predicate_new_block status predicateblock pointer destroy out error
cst_predicate_new_substituted status handle values out error
cst_predicate_get_info status handle predicateinfo error
cst_predicate_copy_part status handle size out error
cst_predicate_copy_side status handle u32 out error
cst_predicate_copy_format status handle buffer error
cst_predicate_equal bool handle handle
cst_predicate_hash u64 handle
cst_predicate_evaluate status handle handle bool* error
cst_predicate_evaluate_value status handle values values bool* error
cst_predicate_filter status handle size values values bool* error

cst_expression_parse status in size values out error
cst_expression_new_constant status values out error
cst_expression_new_self status out error
cst_expression_new_variable status in out error
cst_expression_new_key_path status handle in out error
cst_expression_new_function status in size handles out error
cst_expression_new_call status handle in size handles out error
cst_expression_new_aggregate status size handles out error
cst_expression_new_subquery status handle in handle out error
cst_expression_new_fetch status handle handle bool out error
cst_expression_new_conditional status handle handle handle out error
cst_expression_new_set_operation status u32 handle handle out error
cst_expression_new_block status expressionblock pointer destroy size handles out error
cst_expression_type status handle u32* error
cst_expression_copy_constant status handle value error
cst_expression_copy_name status handle buffer error
cst_expression_copy_operand status handle size out error
cst_expression_copy_predicate status handle out error
cst_expression_copy_format status handle buffer error
cst_expression_equal bool handle handle
cst_expression_hash u64 handle
cst_expression_value status handle values values value error

cst_function_register status in function pointer destroy error
cst_function_register_typed status in in code error
cst_function_unregister status in error

cst_fetch_request_new status handle out error
cst_fetch_request_new_named status in out error
cst_fetch_request_set_entity_name status handle in error
cst_fetch_request_copy status handle out error
cst_fetch_request_set_option status handle u32 i64 error
cst_fetch_request_option status handle u32 i64* error
cst_fetch_request_set_affected_stores status handle size handles error
cst_fetch_request_copy_json status handle buffer error
cst_fetch_request_copy_archive status handle buffer error
cst_fetch_request_new_from_archive status bytes out error
cst_fetch_request_copy_predicate status handle out error
cst_fetch_request_set_predicate status handle handle error
cst_fetch_request_set_sort status handle size sorts error
cst_sort_set_locale status in error
cst_sort_copy_locale status buffer bool* error
cst_sort_values status size values size sorts compare pointer size* error
cst_fetch_request_set_limit status handle u64 error
cst_fetch_request_set_offset status handle u64 error
cst_fetch_request_set_includes_subentities status handle bool error
cst_fetch_request_set_includes_pending_changes status handle bool error
cst_fetch_request_set_returns_faults status handle bool error
cst_fetch_request_set_nulls status handle u32 error
cst_fetch_request_set_allows_split status handle bool error
cst_fetch_request_set_prefetch status handle size texts error

cst_results_count size handle
cst_results_batch_size size handle
cst_results_get_object status handle size out error
cst_results_get_objects status handle size size handles size* error
cst_results_copy_id status handle size out error
cst_results_get_column status handle key size size values size* error
cst_results_get_column_path status handle in size size values size* error
cst_results_copy_filtered status handle handle values out error
cst_results_copy_sorted status handle size sorts compare pointer out error
cst_results_copy_columns status handle size size size keys buffer error

cst_context_fetch_asynchronously status handle handle u64 fetchdone pointer destroy out error
cst_asynchronous_fetch_cancel status handle error
cst_asynchronous_fetch_progress status handle u64* u64* error
cst_asynchronous_fetch_copy_result status handle requestresult error

cst_fetch_request_set_columns status handle size columns error
cst_fetch_request_set_group_by status handle size texts error
cst_fetch_request_set_having status handle handle error
cst_fetch_request_set_distinct status handle bool error
cst_context_fetch_rows status handle handle out error
cst_context_aggregate status handle handle u32 in out error
cst_batch_insert_new status handle out error
cst_batch_insert_set_rows status handle size size keys values error
cst_batch_insert_set_columns status handle size size pointer error
cst_batch_insert_set_handler status handle size keys batchrows pointer destroy error
cst_batch_insert_set_object_handler status handle batchobject pointer destroy error
cst_batch_update_new status handle out error
cst_batch_update_set_predicate status handle handle error
cst_batch_update_set_includes_subentities status handle bool error
cst_batch_update_set status handle in value error
cst_batch_delete_new status handle out error
cst_batch_delete_new_with_ids status size handles out error
cst_batch_set_stores status handle size handles error
cst_batch_set_merges status handle bool error
cst_context_execute_batch status handle handle u64* out error
cst_context_copy_batch_ids status handle handle u32 out error

cst_rows_count size handle
cst_rows_batch_size size handle
cst_rows_column_count size handle
cst_rows_column_name text handle size
cst_rows_copy_values status handle size size values error

cst_context_fetch_arrow status handle handle size u32 size texts pointer error
cst_results_export_arrow status handle u32 size texts pointer pointer error
cst_results_export_arrow_stream status handle size u32 size texts pointer error
cst_rows_export_arrow status handle u32 pointer pointer error
cst_rows_export_arrow_stream status handle size u32 pointer error
cst_arrow_stream_copy status pointer pointer error

cst_cursor_copy_next status handle out error

cst_context_observe_fetch status handle handle in size texts observefetch pointer destroy out error
cst_snapshot_section_count size handle
cst_snapshot_section_name text handle size
cst_snapshot_object_count size handle size
cst_snapshot_copy_ids status handle size out error
cst_controller_new status handle handle in in out error
cst_controller_new_with_sections status handle handle sectionname pointer destroy out error
cst_controller_set_dependencies status handle size texts error
cst_controller_set_delegate status handle controllerdelegate error
cst_controller_perform_fetch status handle error
cst_controller_copy_snapshot status handle out error
cst_controller_copy_objects status handle size out error
cst_controller_copy_object status handle size size out error
cst_controller_index_path status handle handle indexpath* error
cst_controller_copy_title status handle size buffer error
cst_controller_copy_section_title status handle in buffer error
cst_controller_section_for_title status handle in size size* error
cst_controller_delete_cache status in error
"""


def signatures() -> dict[str, tuple[Any, list[Any]]]:
    """The table: name to (result type, argument types)."""
    table = {}
    for line in FUNCTIONS.split("\n"):
        if line:
            name, result, *parameters = line.split()
            table[name] = (_TYPES[result], [_TYPES[parameter] for parameter in parameters])
    return table


def _declare(library: ctypes.CDLL) -> ctypes.CDLL:
    for name, (result, parameters) in signatures().items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise LibraryNotFoundError(
                f"The library {find_library()} has no function {name}: it is older than this package. "
                "Build or install the version that came with it."
            ) from None
        function.restype = result
        function.argtypes = parameters
    return library


def _checked_version(library: ctypes.CDLL) -> ctypes.CDLL:
    major, minor, patch = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    library.cst_version(ctypes.byref(major), ctypes.byref(minor), ctypes.byref(patch))
    if major.value != VERSION[0] or minor.value < VERSION[1]:
        raise LibraryNotFoundError(
            f"The library {find_library()} is version {major.value}.{minor.value}.{patch.value}; this package needs "
            f"{VERSION[0]}.{VERSION[1]} or a later {VERSION[0]}.x."
        )
    return library


lib = _checked_version(_declare(load_library()))


# A handle or an address as ctypes passes it on, with nothing left to convert at a call.
argument: Any = ctypes.c_void_p.from_param


def raw(name: str, result: Any = ctypes.c_int32) -> Any:
    """A function without argument types, for the few calls that count nanoseconds.

    Pointers must then be ctypes objects or None: a plain int is passed as 32 bits, which suits a key and nothing else.
    """
    function = lib[name]
    function.restype = result
    return function


def utf8(value: str) -> bytes:
    """The bytes of a text, or an error that says what is wrong with it."""
    try:
        return value.encode()
    except UnicodeEncodeError as failure:
        raise InvalidUTF8Error(
            f"The text {value[:40]!r} holds half of a surrogate pair at {failure.start}, which is no character."
        ) from None
    except (AttributeError, TypeError):
        raise TypeMismatchError(f"{value!r:.80} is of type {type(value).__name__}; give text, a str.") from None


def text(value: str) -> InputString:
    """A str as a cst_string that lives as long as the structure does."""
    data = utf8(value)
    return InputString(data, len(data))


def path_argument(path: str | os.PathLike[str]) -> InputString:
    """A path as the library takes it: UTF-8, or it says so."""
    data = os.fsencode(os.fspath(path))
    return InputString(data, len(data))


def null_text() -> InputString:
    return InputString(None, 0)


def optional_text(value: str | None) -> InputString:
    """A null string for None."""
    return null_text() if value is None else text(value)


def texts(values: list[str]) -> Any:
    """Strings as an array of cst_string."""
    return (InputString * len(values))(*[text(value) for value in values])


def decode(value: Any) -> str | None:
    """A cst_string view as a str, at once; None for a null string."""
    if value.data is None:
        return None
    return ctypes.string_at(value.data, value.size).decode()


def take_text(buffer: Buffer) -> str:
    """The text of a buffer, which is disposed."""
    return take_bytes(buffer).decode()


def take_bytes(buffer: Buffer) -> bytes:
    """The bytes of a buffer, which is disposed."""
    try:
        return ctypes.string_at(buffer.data, buffer.size) if buffer.data else b""
    finally:
        lib.cst_buffer_dispose(ctypes.byref(buffer))
