"""corestone.h for ctypes: constants, structures, callback types, and the types of every function.

Written by scripts/generate.py from include/corestone-api.json. `make generate` writes it again.
"""
# ruff: noqa: E501

from __future__ import annotations

import ctypes
from ctypes import CFUNCTYPE, POINTER, Structure, Union, c_void_p
from typing import Any

OK = 0
NOT_FOUND = 1
END = 2
UNCHANGED = 3
E_INTERNAL = -1
E_INVALID_ARGUMENT = -2
E_INVALID_HANDLE = -3
E_WRONG_THREAD = -4
E_INVALID_UTF8 = -5
E_TYPE_MISMATCH = -6
E_NO_MEMORY = -7
E_CALLBACK = -8
E_UNSUPPORTED = -9
E_FORKED = -10
E_CANCELLED = -11
E_VALIDATION = -100
E_CONFLICT = -101
E_OBJECT_GONE = -102
E_UNSAVED_CHANGES = -103
E_PREDICATE_SYNTAX = -200
E_PREDICATE = -201
E_STORE_IO = -300
E_STORE_BUSY = -301
E_STORE_CORRUPT = -302
E_STORE_READ_ONLY = -303
E_NOT_A_STORE = -304
E_MODEL_MISMATCH = -400
E_MIGRATION = -401
E_MODEL = -402
CODE_MANAGED_OBJECT_VALIDATION = 1550
CODE_MANAGED_OBJECT_CONSTRAINT_VALIDATION = 1551
CODE_VALIDATION_MULTIPLE_ERRORS = 1560
CODE_VALIDATION_MISSING_MANDATORY_PROPERTY = 1570
CODE_VALIDATION_RELATIONSHIP_LACKS_MINIMUM_COUNT = 1580
CODE_VALIDATION_RELATIONSHIP_EXCEEDS_MAXIMUM_COUNT = 1590
CODE_VALIDATION_RELATIONSHIP_DENIED_DELETE = 1600
CODE_VALIDATION_NUMBER_TOO_LARGE = 1610
CODE_VALIDATION_NUMBER_TOO_SMALL = 1620
CODE_VALIDATION_DATE_TOO_LATE = 1630
CODE_VALIDATION_DATE_TOO_SOON = 1640
CODE_VALIDATION_INVALID_DATE = 1650
CODE_VALIDATION_STRING_TOO_LONG = 1660
CODE_VALIDATION_STRING_TOO_SHORT = 1670
CODE_VALIDATION_STRING_PATTERN_MATCHING = 1680
CODE_VALIDATION_INVALID_URI = 1690
CODE_MANAGED_OBJECT_CONTEXT_LOCKING = 132000
CODE_PERSISTENT_STORE_COORDINATOR_LOCKING = 132010
CODE_MANAGED_OBJECT_REFERENTIAL_INTEGRITY = 133000
CODE_MANAGED_OBJECT_EXTERNAL_RELATIONSHIP = 133010
CODE_MANAGED_OBJECT_MERGE = 133020
CODE_MANAGED_OBJECT_CONSTRAINT_MERGE = 133021
CODE_PERSISTENT_STORE_INVALID_TYPE = 134000
CODE_PERSISTENT_STORE_TYPE_MISMATCH = 134010
CODE_PERSISTENT_STORE_INCOMPATIBLE_SCHEMA = 134020
CODE_PERSISTENT_STORE_SAVE = 134030
CODE_PERSISTENT_STORE_INCOMPLETE_SAVE = 134040
CODE_PERSISTENT_STORE_SAVE_CONFLICTS = 134050
CODE_CORE_DATA = 134060
CODE_PERSISTENT_STORE_OPERATION = 134070
CODE_PERSISTENT_STORE_OPEN = 134080
CODE_PERSISTENT_STORE_TIMEOUT = 134090
CODE_PERSISTENT_STORE_UNSUPPORTED_REQUEST_TYPE = 134091
CODE_PERSISTENT_STORE_INCOMPATIBLE_VERSION_HASH = 134100
CODE_MIGRATION = 134110
CODE_MIGRATION_CONSTRAINT_VIOLATION = 134111
CODE_MIGRATION_CANCELLED = 134120
CODE_MIGRATION_MISSING_SOURCE_MODEL = 134130
CODE_MIGRATION_MISSING_MAPPING_MODEL = 134140
CODE_MIGRATION_MANAGER_SOURCE_STORE = 134150
CODE_MIGRATION_MANAGER_DESTINATION_STORE = 134160
CODE_ENTITY_MIGRATION_POLICY = 134170
CODE_SQLITE = 134180
CODE_INFERRED_MAPPING_MODEL = 134190
CODE_EXTERNAL_RECORD_IMPORT = 134200
CODE_PERSISTENT_HISTORY_TOKEN_EXPIRED = 134301
CODE_PERSISTENT_HISTORY_TOKEN_STORE = 134501
CODE_MANAGED_OBJECT_MODEL_REFERENCE_NOT_FOUND = 134504
CODE_STAGED_MIGRATION_FRAMEWORK_VERSION_MISMATCH = 134505
CODE_STAGED_MIGRATION_BACKWARD_MIGRATION = 134506
NULL = 0
BOOL = 1
INT = 2
DOUBLE = 3
DECIMAL = 4
STRING = 5
BYTES = 6
DATE = 7
UUID = 8
OBJECT = 9
OBJECT_ID = 10
URI = 11
ARRAY = 12
SET = 13
DICTIONARY = 14
HOST = 15
EXPRESSION = 16
DEFAULT = 17
HISTORY_TOKEN = 18
ATTRIBUTE_UNDEFINED = 0
ATTRIBUTE_INTEGER_16 = 100
ATTRIBUTE_INTEGER_32 = 200
ATTRIBUTE_INTEGER_64 = 300
ATTRIBUTE_DECIMAL = 400
ATTRIBUTE_DOUBLE = 500
ATTRIBUTE_FLOAT = 600
ATTRIBUTE_STRING = 700
ATTRIBUTE_BOOLEAN = 800
ATTRIBUTE_DATE = 900
ATTRIBUTE_BINARY = 1000
ATTRIBUTE_UUID = 1100
ATTRIBUTE_URI = 1200
ATTRIBUTE_TRANSFORMABLE = 1800
ATTRIBUTE_OBJECT_ID = 2000
ATTRIBUTE_COMPOSITE = 2100
NAMES_TEMPLATES = 1
NAMES_CONFIGURATIONS = 2
NAMES_VERSION_IDENTIFIERS = 3
MODEL_KEEP_CURRENT = 1
MODEL_LOSSY = 2
INDEX_DESCENDING = 1
INDEX_RTREE = 2
PROPERTY_OPTIONAL = 1
PROPERTY_TRANSIENT = 2
PROPERTY_TO_MANY = 4
PROPERTY_ORDERED = 8
PROPERTY_INDEXED = 16
PROPERTY_EXTERNAL_STORAGE = 32
PROPERTY_PRESERVED = 64
PROPERTY_ALLOWS_NAN = 128
PROPERTY_SPOTLIGHT = 256
PROPERTY_EXTERNAL_RECORD = 512
PROPERTY_CLOUD_ENCRYPTION = 1024
PROPERTY_DERIVED = 2048
PROPERTY_IGNORES_CHANGES = 4096
PROPERTY_ATTRIBUTE = 1
PROPERTY_RELATIONSHIP = 2
PROPERTY_FETCHED = 3
MODEL_TEXT_CLASS_NAME = 1
MODEL_TEXT_RENAMING_IDENTIFIER = 2
MODEL_TEXT_VERSION_HASH_MODIFIER = 3
MODEL_TEXT_PATTERN = 4
MODEL_TEXT_TRANSFORMER_NAME = 5
MODEL_TEXT_DERIVATION = 6
MODEL_TEXT_DERIVATION_FILTER = 7
VALIDATE_INSERT = 1
VALIDATE_UPDATE = 2
VALIDATE_DELETE = 3
VALIDATE_WITHOUT_HOOK = 16
DELETE_NO_ACTION = 0
DELETE_NULLIFY = 1
DELETE_CASCADE = 2
DELETE_DENY = 3
ACCESSOR_GET = 1
ACCESSOR_SET = 2
ACCESSOR_IS_NULL = 3
ACCESSOR_SET_NULL = 4
ACCESSOR_GET_PRIMITIVE = 5
ACCESSOR_SET_PRIMITIVE = 6
ACCESSOR_COUNT = 7
ACCESSOR_CONTAINS = 8
ACCESSOR_ADD = 9
ACCESSOR_REMOVE = 10
ACCESSOR_ADD_MANY = 11
ACCESSOR_REMOVE_MANY = 12
ACCESSOR_MEMBER_AT = 13
ACCESSOR_INSERT_AT = 14
ACCESSOR_REMOVE_AT = 15
ACCESSOR_REPLACE_AT = 16
ACCESSOR_MOVE = 17
MAPPING_ALLOW_TYPE_CHANGES = 1
SNAPSHOT_UNDO_INSERTION = 2
SNAPSHOT_UNDO_DELETION = 4
SNAPSHOT_UNDO_UPDATE = 8
SNAPSHOT_ROLLBACK = 16
SNAPSHOT_REFRESH = 32
SNAPSHOT_MERGE_POLICY = 64
STORE_READ_ONLY = 1
STORE_MUST_EXIST = 2
STORE_NORMAL_SYNC = 4
STORE_ROLLBACK_JOURNAL = 8
STORE_HISTORY = 16
STORE_WRITABLE = 32
STORE_POSTS_OWN_CHANGES = 64
STORE_ANALYZE = 128
STORE_VACUUM = 256
STORE_IGNORE_VERSIONING = 512
STORE_FORCE_DESTROY = 1024
STORE_MIGRATE = 2048
STORE_INFER_MAPPING = 4096
STORE_NO_MIGRATION = 8192
STORE_ALLOW_REMOVALS = 16384
STORE_ALLOW_TYPE_CHANGES = 32768
STORE_NO_HISTORY = 65536
STORE_COMPLETE_HISTORY = 131072
STORE_DROP_OLD_VALUES = 262144
STORE_VERIFY_MIGRATION = 524288
STORE_DEFER_MIGRATION_CLEANUP = 1048576
UNSAVED_REFUSE = 0
UNSAVED_SAVE = 1
UNSAVED_DISCARD = 2
CHANGES_NO_WAIT = 1
CHANGES_TOLD = 2
CHECKPOINT_PASSIVE = 0
CHECKPOINT_FULL = 1
CHECKPOINT_RESTART = 2
CHECKPOINT_TRUNCATE = 3
COORDINATOR_STORES_DID_CHANGE = 1
COORDINATOR_WILL_REMOVE_STORE = 2
COORDINATOR_REMOTE_CHANGE = 3
STORE_FILE_WRITTEN = 0
STORE_FILE_REPLACED = 1
STORE_FILE_REMOVED = 2
MODEL_GIVEN = 1
MODEL_CACHED = 2
MODEL_INFERRED = 3
PROBLEM_DATABASE = 1
PROBLEM_ROW = 2
PROBLEM_REFERENCE = 3
PROBLEM_PAIR = 4
PROBLEM_PRIMARY_KEY = 5
PROBLEM_METADATA = 6
PROBLEM_EXTERNAL_DATA = 7
PROBLEM_HISTORY = 8
PROBLEM_CONSTRAINT = 9
PROBLEM_DERIVED = 10
PROBLEM_SPATIAL = 11
PROBLEM_SPEED = 12
PROBLEM_LOG = 13
PROBLEM_TRIGGER = 14
DATES_TEXT = 0
DATES_UNIX = 1
DATES_REFERENCE = 2
QUEUE_CALLER = 0
QUEUE_PRIVATE = 1
QUEUE_MAIN = 2
SCHEDULE_IMMEDIATE = 0
SCHEDULE_ENQUEUED = 1
CHANGED_INSERTED = 1
CHANGED_UPDATED = 2
CHANGED_DELETED = 3
CHANGED_REGISTERED = 4
RESULT_OBJECTS = 0
RESULT_OBJECT_IDS = 1
RESULT_DICTIONARIES = 2
RESULT_COUNT = 4
REQUEST_FETCH = 1
REQUEST_SAVE = 2
REQUEST_BATCH_INSERT = 5
REQUEST_BATCH_UPDATE = 6
REQUEST_BATCH_DELETE = 7
EXPLAIN_TEXT = 0
EXPLAIN_JSON = 1
EXPLAIN_ROWS = 2
AGGREGATE_COUNT = 1
AGGREGATE_SUM = 2
AGGREGATE_AVERAGE = 3
AGGREGATE_MINIMUM = 4
AGGREGATE_MAXIMUM = 5
AGGREGATE_MEDIAN = 6
AGGREGATE_DEVIATION = 7
GUARD_ALLOW_TYPE_CHANGES = 1
DESCRIPTION_ASYNCHRONOUS = 1
DESCRIPTION_NO_FOLDER = 2
DOCUMENT_EDITED = 1
DOCUMENT_SAVING = 2
DOCUMENT_CONFLICT = 4
DOCUMENT_FAILED = 8
DOCUMENT_UNTITLED = 16
DOCUMENT_CHANGED_ON_DISK = 32
DOCUMENT_CLOSED = 64
FETCH_LIMIT = 1
FETCH_OFFSET = 2
FETCH_BATCH_SIZE = 3
FETCH_RESULT_TYPE = 4
FETCH_INCLUDES_SUBENTITIES = 5
FETCH_INCLUDES_PENDING_CHANGES = 6
FETCH_INCLUDES_PROPERTY_VALUES = 7
FETCH_RETURNS_FAULTS = 8
FETCH_REFRESHES_REFETCHED = 9
FETCH_DISTINCT = 10
FETCH_NULLS = 11
FETCH_ALLOWS_SPLIT = 12
FETCH_ROWS_IN_MEMORY = 13
SORT_DESCENDING = 1
SORT_CASE_INSENSITIVE = 2
SORT_LOCALIZED = 4
SORT_LOCALIZED_STANDARD = 8
SORT_COMPARATOR = 16
NULLS_MEMORY = 0
NULLS_DATABASE = 1
FETCH_WITHOUT_SUBENTITIES = 1
FETCH_WITHOUT_PENDING_CHANGES = 2
FETCH_WITHOUT_PROPERTY_VALUES = 4
FETCH_WITHOUT_FAULTS = 8
FETCH_WITHOUT_SPLIT = 16
FETCH_WITH_REFRESH = 32
FETCH_WITH_DISTINCT_ROWS = 64
FETCH_WITH_ROWS_IN_MEMORY = 128
HISTORY_INSERT = 0
HISTORY_UPDATE = 1
HISTORY_DELETE = 2
HISTORY_TRANSACTIONS = 0
HISTORY_CHANGES = 1
MERGE_ERROR = 0
MERGE_STORE_TRUMP = 1
MERGE_OBJECT_TRUMP = 2
MERGE_OVERWRITE = 3
MERGE_ROLLBACK = 4
CONFLICT_CONTEXT = 1
CONFLICT_STORE = 2
CONFLICT_CONSTRAINT = 3
SNAPSHOT_OBJECT = 0
SNAPSHOT_CURRENT = 1
SNAPSHOT_CACHED = 2
SNAPSHOT_PERSISTED = 3
SNAPSHOT_THEIRS = 4
FAULT_BATCH = 0
FAULT_WARN = 1
FAULT_ERROR = 2
OPTION_FAULT_POLICY = 1
OPTION_FAULT_BATCH_SIZE = 2
OPTION_COUNTS_SINGLE_FAULTS = 3
OPTION_STALENESS_MS = 4
OPTION_RETAINS_REGISTERED_OBJECTS = 5
OPTION_DELETES_INACCESSIBLE_FAULTS = 6
OPTION_DELETES_AT_END_OF_EVENT = 7
OPTION_MERGES_BATCHES = 8
REPORT_TEXT = 0
REPORT_JSON = 1
OBJECT_INSERTED = 1
OBJECT_UPDATED = 2
OBJECT_DELETED = 4
OBJECT_FAULT = 8
OBJECT_TEMPORARY_ID = 16
OBJECT_HAS_CHANGES = 32
MUTATION_UNION = 1
MUTATION_MINUS = 2
MUTATION_INTERSECT = 3
MUTATION_SET = 4
VALUES_CHANGED = 1
VALUES_BEFORE_EVENT = 2
VALUES_COMMITTED = 3
NOTIFICATION_WILL_SAVE = 1
NOTIFICATION_DID_SAVE = 2
NOTIFICATION_OBJECTS_DID_CHANGE = 3
NOTIFICATION_DID_SAVE_OBJECT_IDS = 4
NOTIFICATION_DID_MERGE_OBJECT_IDS = 5
OBSERVE_INITIAL = 4
OBSERVE_PRIOR = 8
CHANGE_SETTING = 1
CHANGE_INSERTION = 2
CHANGE_REMOVAL = 3
CHANGE_REPLACEMENT = 4
UNDO_NAME = 0
REDO_NAME = 1
UNDO_TITLE = 2
REDO_TITLE = 3
UNDO_CHECKPOINT = 1
UNDO_DID_OPEN_GROUP = 2
UNDO_WILL_CLOSE_GROUP = 3
UNDO_DID_CLOSE_GROUP = 4
UNDO_WILL_UNDO = 5
UNDO_DID_UNDO = 6
UNDO_WILL_REDO = 7
UNDO_DID_REDO = 8
PREDICATE_NOT = 0
PREDICATE_AND = 1
PREDICATE_OR = 2
OPERATOR_LESS_THAN = 0
OPERATOR_LESS_THAN_OR_EQUAL = 1
OPERATOR_GREATER_THAN = 2
OPERATOR_GREATER_THAN_OR_EQUAL = 3
OPERATOR_EQUAL = 4
OPERATOR_NOT_EQUAL = 5
OPERATOR_MATCHES = 6
OPERATOR_LIKE = 7
OPERATOR_BEGINS_WITH = 8
OPERATOR_ENDS_WITH = 9
OPERATOR_IN = 10
OPERATOR_CUSTOM_SELECTOR = 11
OPERATOR_CONTAINS = 99
OPERATOR_BETWEEN = 100
MODIFIER_DIRECT = 0
MODIFIER_ALL = 1
MODIFIER_ANY = 2
COMPARE_CASE_INSENSITIVE = 1
COMPARE_DIACRITIC_INSENSITIVE = 2
COMPARE_NORMALIZED = 4
COMPARE_LOCALE_SENSITIVE = 8
PREDICATE_IS_FALSE = 0
PREDICATE_IS_TRUE = 1
PREDICATE_IS_COMPARISON = 2
PREDICATE_IS_COMPOUND = 3
PREDICATE_IS_BLOCK = 4
EXPRESSION_CONSTANT = 0
EXPRESSION_SELF = 1
EXPRESSION_VARIABLE = 2
EXPRESSION_KEY_PATH = 3
EXPRESSION_FUNCTION = 4
EXPRESSION_UNION = 5
EXPRESSION_INTERSECT = 6
EXPRESSION_MINUS = 7
EXPRESSION_SUBQUERY = 13
EXPRESSION_AGGREGATE = 14
EXPRESSION_ANY_KEY = 15
EXPRESSION_BLOCK = 19
EXPRESSION_CONDITIONAL = 20
EXPRESSION_FETCH = 50
EXPRESSION_CALL = 100
EXPRESSION_ASSIGNMENT = 101
ARROW_KEYS = 1
ARROW_DECIMAL_TEXT = 2
ARROW_IMPORT_NAIVE_UTC = 1
ARROW_IMPORT_IGNORE_UNKNOWN = 2
ARROW_IMPORT_NULL_IF_MISSING = 4
ARROW_IMPORT_VALIDATE = 8
ARROW_IMPORT_UPDATE = 16
FETCHED_PREDICATE = 1
FETCHED_ORDER = 2
FETCHED_WINDOW = 4
FETCHED_COUNT = 8
STORE_INCREMENTAL = 1
STORE_ATOMIC = 2
STORE_PARALLEL_READS = 1
STORE_UNIQUE_CONSTRAINTS = 2
STORE_DERIVED_ATTRIBUTES = 4
CONFLICT_ROW_VERSION = 1
CONFLICT_ROW_UNIQUE = 2
COLUMN_INT64 = 1
COLUMN_INT32 = 2
COLUMN_DOUBLE = 3
COLUMN_STRING = 4
COLUMN_BYTES = 5
COLUMN_UUID = 6
COLUMN_VALUE = 7
BATCH_INSERTED = 1
BATCH_UPDATED = 2
BATCH_DELETED = 3
BATCH_REFRESHED = 4
RESULT_INSERT = 1
RESULT_DELETE = 2
RESULT_MOVE = 3
RESULT_UPDATE = 4
VERSION_MAJOR = 0
VERSION_MINOR = 1
VERSION_PATCH = 0
NO_KEY = 0xFFFFFFFF
NUL = 0xFFFFFFFFFFFFFFFF
ARROW_FLAG_DICTIONARY_ORDERED = 1
ARROW_FLAG_NULLABLE = 2
ARROW_FLAG_MAP_KEYS_SORTED = 4


class String(Structure):
    """cst_string. `data` is an address; read it with `text` or `decode`, which use the size."""

    _fields_ = (("data", c_void_p), ("size", ctypes.c_size_t))


class InputString(Structure):
    """cst_string as input, with the same layout. It keeps the bytes object alive."""

    _fields_ = (("data", ctypes.c_char_p), ("size", ctypes.c_size_t))


class Bytes(Structure):
    """cst_bytes"""

    _fields_ = (
        ("data", c_void_p),
        ("size", ctypes.c_size_t),
    )


class Buffer(Structure):
    """cst_buffer"""

    _fields_ = (
        ("data", c_void_p),
        ("size", ctypes.c_size_t),
        ("capacity", ctypes.c_size_t),
    )


class Decimal(Structure):
    """cst_decimal"""

    _fields_ = (("mantissa", ctypes.c_uint64 * 2),)


class Values(Structure):
    """cst_values"""

    _fields_ = (
        ("data", c_void_p),
        ("size", ctypes.c_size_t),
    )


class Host(Structure):
    """cst_host"""

    _fields_ = (
        ("callbacks", c_void_p),
        ("object", c_void_p),
    )


class Payload(Union):
    """cst_value.as"""

    _fields_ = (
        ("boolean", ctypes.c_bool),
        ("integer", ctypes.c_int64),
        ("real", ctypes.c_double),
        ("date", ctypes.c_double),
        ("decimal", Decimal),
        ("string", String),
        ("bytes", Bytes),
        ("uuid", ctypes.c_uint8 * 16),
        ("object", c_void_p),
        ("object_id", c_void_p),
        ("expression", c_void_p),
        ("values", Values),
        ("host", Host),
        ("history_token", c_void_p),
        ("text", InputString),
        ("handle", c_void_p),
    )


class Value(Structure):
    """cst_value"""

    _fields_ = (
        ("type", ctypes.c_uint32),
        ("aux", ctypes.c_uint32),
        ("payload", Payload),
    )


class IndexElement(Structure):
    """cst_index_element"""

    _fields_ = (
        ("property", InputString),
        ("expression", InputString),
        ("type", ctypes.c_int32),
        ("flags", ctypes.c_uint32),
    )


class PropertyInfo(Structure):
    """cst_property_info"""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("name", String),
        ("kind", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("attribute_type", ctypes.c_int32),
        ("key", ctypes.c_uint32),
        ("destination", c_void_p),
        ("inverse", String),
        ("delete_rule", ctypes.c_uint32),
        ("minimum_count", ctypes.c_uint32),
        ("maximum_count", ctypes.c_uint32),
        ("entity", c_void_p),
    )


class Uuid(Structure):
    """cst_uuid"""

    _fields_ = (("bytes", ctypes.c_uint8 * 16),)


class HostCallbacks(Structure):
    """cst_host_callbacks"""

    VALUE_FOR_KEY = CFUNCTYPE(ctypes.c_int32, c_void_p, String, POINTER(Value), POINTER(c_void_p))
    COUNT = CFUNCTYPE(ctypes.c_int32, c_void_p, POINTER(ctypes.c_size_t), POINTER(c_void_p))
    ELEMENT = CFUNCTYPE(ctypes.c_int32, c_void_p, ctypes.c_size_t, POINTER(Value), POINTER(c_void_p))
    CLASS_NAME = CFUNCTYPE(c_void_p, c_void_p)
    IS_EQUAL = CFUNCTYPE(ctypes.c_bool, c_void_p, c_void_p)
    HASH = CFUNCTYPE(ctypes.c_uint64, c_void_p)
    COMPARE = CFUNCTYPE(ctypes.c_int32, c_void_p, c_void_p, POINTER(ctypes.c_int32), POINTER(c_void_p))
    RETAIN = CFUNCTYPE(None, c_void_p)
    RELEASE = CFUNCTYPE(None, c_void_p)

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("value_for_key", VALUE_FOR_KEY),
        ("count", COUNT),
        ("element", ELEMENT),
        ("class_name", CLASS_NAME),
        ("is_equal", IS_EQUAL),
        ("hash", HASH),
        ("compare", COMPARE),
        ("retain", RETAIN),
        ("release", RELEASE),
    )


DESTROY_FN = CFUNCTYPE(None, c_void_p)


class ArchiveClassCallbacks(Structure):
    """cst_archive_class_callbacks"""

    TO_FIELDS = CFUNCTYPE(ctypes.c_int32, c_void_p, c_void_p, POINTER(Buffer), POINTER(c_void_p))
    FROM_FIELDS = CFUNCTYPE(ctypes.c_int32, c_void_p, String, POINTER(c_void_p), POINTER(c_void_p))
    FREE_VALUE = CFUNCTYPE(None, c_void_p, c_void_p)

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("to_fields", TO_FIELDS),
        ("from_fields", FROM_FIELDS),
        ("free_value", FREE_VALUE),
        ("userdata", c_void_p),
        ("destroy", DESTROY_FN),
    )


class TransformerCallbacks(Structure):
    """cst_transformer_callbacks"""

    TRANSFORM = CFUNCTYPE(ctypes.c_int32, c_void_p, c_void_p, POINTER(Buffer), POINTER(c_void_p))
    REVERSE = CFUNCTYPE(ctypes.c_int32, c_void_p, Bytes, POINTER(c_void_p), POINTER(c_void_p))
    FREE_VALUE = CFUNCTYPE(None, c_void_p, c_void_p)

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("transform", TRANSFORM),
        ("reverse", REVERSE),
        ("free_value", FREE_VALUE),
        ("userdata", c_void_p),
        ("destroy", DESTROY_FN),
    )


VALIDATE_FN = CFUNCTYPE(ctypes.c_int32, c_void_p, c_void_p, ctypes.c_uint32, POINTER(Value), POINTER(c_void_p))


class LifecycleHooks(Structure):
    """cst_lifecycle_hooks"""

    AWAKE_FROM_INSERT = CFUNCTYPE(ctypes.c_int32, c_void_p, c_void_p, POINTER(c_void_p))
    AWAKE_FROM_FETCH = CFUNCTYPE(ctypes.c_int32, c_void_p, c_void_p, POINTER(c_void_p))
    AWAKE_FROM_SNAPSHOT_EVENTS = CFUNCTYPE(ctypes.c_int32, c_void_p, c_void_p, ctypes.c_uint32, POINTER(c_void_p))
    WILL_SAVE = CFUNCTYPE(ctypes.c_int32, c_void_p, c_void_p, POINTER(c_void_p))
    DID_SAVE = CFUNCTYPE(ctypes.c_int32, c_void_p, c_void_p, POINTER(c_void_p))
    PREPARE_FOR_DELETION = CFUNCTYPE(ctypes.c_int32, c_void_p, c_void_p, POINTER(c_void_p))
    WILL_TURN_INTO_FAULT = CFUNCTYPE(ctypes.c_int32, c_void_p, c_void_p, POINTER(c_void_p))
    DID_TURN_INTO_FAULT = CFUNCTYPE(ctypes.c_int32, c_void_p, c_void_p, POINTER(c_void_p))
    SET_NIL_VALUE = CFUNCTYPE(ctypes.c_int32, c_void_p, c_void_p, String, POINTER(c_void_p))
    VALIDATE_VALUE = CFUNCTYPE(
        ctypes.c_int32, c_void_p, c_void_p, String, ctypes.c_uint32, POINTER(Value), POINTER(c_void_p)
    )

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("awake_from_insert", AWAKE_FROM_INSERT),
        ("awake_from_fetch", AWAKE_FROM_FETCH),
        ("awake_from_snapshot_events", AWAKE_FROM_SNAPSHOT_EVENTS),
        ("will_save", WILL_SAVE),
        ("did_save", DID_SAVE),
        ("prepare_for_deletion", PREPARE_FOR_DELETION),
        ("will_turn_into_fault", WILL_TURN_INTO_FAULT),
        ("did_turn_into_fault", DID_TURN_INTO_FAULT),
        ("set_nil_value", SET_NIL_VALUE),
        ("validate", VALIDATE_FN),
        ("validate_value", VALIDATE_VALUE),
        ("validated_count", ctypes.c_size_t),
        ("validated", POINTER(InputString)),
        ("userdata", c_void_p),
        ("destroy", DESTROY_FN),
    )


class Pragma(Structure):
    """cst_pragma"""

    _fields_ = (
        ("name", InputString),
        ("value", InputString),
    )


class MigrationBackup(Structure):
    """cst_migration_backup"""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("folder", InputString),
        ("keep", ctypes.c_uint64),
    )


PROGRESS_FN = CFUNCTYPE(ctypes.c_bool, c_void_p, ctypes.c_uint64, ctypes.c_uint64)


class HistoryRetention(Structure):
    """cst_history_retention"""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("has_age", ctypes.c_bool),
        ("has_count", ctypes.c_bool),
        ("has_bytes", ctypes.c_bool),
        ("age", ctypes.c_double),
        ("count", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
    )


class StoreOptions(Structure):
    """cst_store_options"""

    MANAGER_WILL_START = CFUNCTYPE(ctypes.c_int32, c_void_p, c_void_p, POINTER(c_void_p))

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
        ("host_option_values", c_void_p),
        ("value_limit", ctypes.c_uint64),
        ("memory_limit", ctypes.c_uint64),
        ("step_limit", ctypes.c_uint64),
        ("external_limit", ctypes.c_uint64),
        ("source_model_count", ctypes.c_size_t),
        ("source_models", POINTER(c_void_p)),
        ("model_path_count", ctypes.c_size_t),
        ("model_paths", POINTER(InputString)),
        ("migration_progress", PROGRESS_FN),
        ("migration_userdata", c_void_p),
        ("history_retention", POINTER(HistoryRetention)),
        ("mapping_model_count", ctypes.c_size_t),
        ("mapping_models", POINTER(c_void_p)),
        ("stages", c_void_p),
        ("manager_will_start", MANAGER_WILL_START),
        ("manager_will_start_userdata", c_void_p),
        ("backup", POINTER(MigrationBackup)),
    )


class RemoteChange(Structure):
    """cst_remote_change"""

    _fields_ = (
        ("store", c_void_p),
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
        ("added", POINTER(c_void_p)),
        ("removed_count", ctypes.c_size_t),
        ("removed", POINTER(c_void_p)),
        ("old_store", c_void_p),
        ("new_store", c_void_p),
        ("migrated_ids", c_void_p),
        ("remote", POINTER(RemoteChange)),
    )


class Statistics(Structure):
    """cst_statistics"""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("fetches", ctypes.c_uint64),
        ("fetched_rows", ctypes.c_uint64),
        ("faults", ctypes.c_uint64),
        ("faulted_rows", ctypes.c_uint64),
        ("relationship_faults", ctypes.c_uint64),
        ("cache_hits", ctypes.c_uint64),
        ("cache_misses", ctypes.c_uint64),
        ("saves", ctypes.c_uint64),
        ("inserted", ctypes.c_uint64),
        ("updated", ctypes.c_uint64),
        ("deleted", ctypes.c_uint64),
        ("fetch_nanoseconds", ctypes.c_uint64),
        ("save_nanoseconds", ctypes.c_uint64),
        ("row_bytes", ctypes.c_uint64),
    )


class RequestResult(Structure):
    """cst_request_result"""

    _fields_ = (
        ("type", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("count", ctypes.c_uint64),
        ("value", c_void_p),
    )


class MigrationPolicyCallbacks(Structure):
    """cst_migration_policy_callbacks"""

    CREATE = CFUNCTYPE(ctypes.c_int32, c_void_p, String, POINTER(c_void_p), POINTER(c_void_p))
    FREE_INSTANCE = CFUNCTYPE(None, c_void_p, c_void_p)
    BEGIN = CFUNCTYPE(ctypes.c_int32, c_void_p, c_void_p, String, POINTER(c_void_p))
    CREATE_DESTINATION_INSTANCES = CFUNCTYPE(ctypes.c_int32, c_void_p, c_void_p, String, c_void_p, POINTER(c_void_p))
    END_INSTANCE_CREATION = CFUNCTYPE(ctypes.c_int32, c_void_p, c_void_p, String, POINTER(c_void_p))
    CREATE_RELATIONSHIPS = CFUNCTYPE(ctypes.c_int32, c_void_p, c_void_p, String, c_void_p, POINTER(c_void_p))
    END_RELATIONSHIP_CREATION = CFUNCTYPE(ctypes.c_int32, c_void_p, c_void_p, String, POINTER(c_void_p))
    PERFORM_CUSTOM_VALIDATION = CFUNCTYPE(ctypes.c_int32, c_void_p, c_void_p, String, POINTER(c_void_p))
    END = CFUNCTYPE(ctypes.c_int32, c_void_p, c_void_p, String, POINTER(c_void_p))
    CALL = CFUNCTYPE(
        ctypes.c_int32, c_void_p, c_void_p, String, ctypes.c_size_t, POINTER(Value), POINTER(Value), POINTER(c_void_p)
    )

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("batch_safe", ctypes.c_bool),
        ("create", CREATE),
        ("free_instance", FREE_INSTANCE),
        ("begin", BEGIN),
        ("create_destination_instances", CREATE_DESTINATION_INSTANCES),
        ("end_instance_creation", END_INSTANCE_CREATION),
        ("create_relationships", CREATE_RELATIONSHIPS),
        ("end_relationship_creation", END_RELATIONSHIP_CREATION),
        ("perform_custom_validation", PERFORM_CUSTOM_VALIDATION),
        ("end", END),
        ("call", CALL),
        ("userdata", c_void_p),
        ("destroy", DESTROY_FN),
    )


class MigrationGuardOptions(Structure):
    """cst_migration_guard_options"""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("flags", ctypes.c_uint32),
        ("profile", InputString),
        ("version_count", ctypes.c_size_t),
        ("versions", POINTER(InputString)),
        ("version", InputString),
        ("related_count", ctypes.c_size_t),
        ("related", POINTER(c_void_p)),
        ("model_path_count", ctypes.c_size_t),
        ("model_paths", POINTER(InputString)),
        ("store_count", ctypes.c_size_t),
        ("stores", POINTER(InputString)),
        ("store_options", POINTER(StoreOptions)),
        ("progress", PROGRESS_FN),
        ("progress_userdata", c_void_p),
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


class Sort(Structure):
    """cst_sort"""

    _fields_ = (
        ("key_path", InputString),
        ("flags", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
    )


class Column(Structure):
    """cst_column"""

    _fields_ = (
        ("name", InputString),
        ("expression", c_void_p),
        ("type", ctypes.c_int32),
        ("reserved", ctypes.c_uint32),
    )


class FetchOptions(Structure):
    """cst_fetch_options"""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("flags", ctypes.c_uint32),
        ("result_type", ctypes.c_uint32),
        ("nulls", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("entity", c_void_p),
        ("entity_name", InputString),
        ("predicate", c_void_p),
        ("sort_count", ctypes.c_size_t),
        ("sort", POINTER(Sort)),
        ("limit", ctypes.c_uint64),
        ("offset", ctypes.c_uint64),
        ("batch_size", ctypes.c_uint64),
        ("prefetch_count", ctypes.c_size_t),
        ("prefetch", POINTER(InputString)),
        ("column_count", ctypes.c_size_t),
        ("columns", POINTER(Column)),
        ("group_by_count", ctypes.c_size_t),
        ("group_by", POINTER(InputString)),
        ("having", c_void_p),
        ("store_count", ctypes.c_size_t),
        ("stores", POINTER(c_void_p)),
    )


class HistoryChange(Structure):
    """cst_history_change"""

    _fields_ = (
        ("number", ctypes.c_int64),
        ("kind", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("entity", c_void_p),
        ("primary_key", ctypes.c_int64),
        ("property_count", ctypes.c_size_t),
        ("properties", POINTER(String)),
        ("tombstone_count", ctypes.c_size_t),
        ("tombstone_keys", POINTER(String)),
        ("tombstone_values", POINTER(Value)),
    )


class HistoryTransaction(Structure):
    """cst_history_transaction"""

    _fields_ = (
        ("number", ctypes.c_int64),
        ("timestamp", ctypes.c_double),
        ("store_identifier", String),
        ("author", String),
        ("context_name", String),
        ("bundle_identifier", String),
        ("process_identifier", String),
        ("change_count", ctypes.c_size_t),
        ("changes", POINTER(HistoryChange)),
    )


class HistoryOptions(Structure):
    """cst_history_options"""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("after", c_void_p),
        ("has_after_date", ctypes.c_bool),
        ("omits_changes", ctypes.c_bool),
        ("subject", ctypes.c_uint32),
        ("after_date", ctypes.c_double),
        ("predicate", c_void_p),
        ("excluded_author", InputString),
        ("store_count", ctypes.c_size_t),
        ("stores", POINTER(c_void_p)),
        ("sort_count", ctypes.c_size_t),
        ("sort", POINTER(Sort)),
        ("limit", ctypes.c_size_t),
        ("batch_size", ctypes.c_size_t),
    )


class RevisionValue(Structure):
    """cst_revision_value"""

    _fields_ = (
        ("key", String),
        ("has_old", ctypes.c_bool),
        ("has_new", ctypes.c_bool),
    )


class Revision(Structure):
    """cst_revision"""

    _fields_ = (
        ("kind", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("entity", c_void_p),
        ("primary_key", ctypes.c_int64),
        ("store_identifier", String),
        ("transaction", ctypes.c_int64),
        ("timestamp", ctypes.c_double),
        ("author", String),
        ("context_name", String),
        ("bundle_identifier", String),
        ("process_identifier", String),
        ("value_count", ctypes.c_size_t),
        ("values", POINTER(RevisionValue)),
    )


class ObjectStamp(Structure):
    """cst_object_stamp"""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("changes", POINTER(ctypes.c_uint32)),
        ("thread", POINTER(ctypes.c_uint64)),
    )


class Changes(Structure):
    """cst_changes"""

    _fields_ = (
        ("inserted", c_void_p),
        ("updated", c_void_p),
        ("deleted", c_void_p),
        ("refreshed", c_void_p),
        ("invalidated", c_void_p),
        ("invalidated_all", ctypes.c_bool),
        ("query_generation", c_void_p),
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


class UndoState(Structure):
    """cst_undo_state"""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("can_undo", ctypes.c_bool),
        ("can_redo", ctypes.c_bool),
        ("is_undoing", ctypes.c_bool),
        ("is_redoing", ctypes.c_bool),
        ("is_enabled", ctypes.c_bool),
        ("groups_by_event", ctypes.c_bool),
        ("levels", ctypes.c_size_t),
        ("grouping_level", ctypes.c_size_t),
    )


class PredicateInfo(Structure):
    """cst_predicate_info"""

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


class ArrowSchema(Structure):
    """ArrowSchema"""

    RELEASE = CFUNCTYPE(None, c_void_p)

    _fields_ = (
        ("format", c_void_p),
        ("name", c_void_p),
        ("metadata", c_void_p),
        ("flags", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("children", POINTER(c_void_p)),
        ("dictionary", c_void_p),
        ("release", RELEASE),
        ("private_data", c_void_p),
    )


class ArrowArray(Structure):
    """ArrowArray"""

    RELEASE = CFUNCTYPE(None, c_void_p)

    _fields_ = (
        ("length", ctypes.c_int64),
        ("null_count", ctypes.c_int64),
        ("offset", ctypes.c_int64),
        ("n_buffers", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("buffers", POINTER(c_void_p)),
        ("children", POINTER(c_void_p)),
        ("dictionary", c_void_p),
        ("release", RELEASE),
        ("private_data", c_void_p),
    )


class ArrowArrayStream(Structure):
    """ArrowArrayStream"""

    GET_SCHEMA = CFUNCTYPE(ctypes.c_int, c_void_p, POINTER(ArrowSchema))
    GET_NEXT = CFUNCTYPE(ctypes.c_int, c_void_p, POINTER(ArrowArray))
    GET_LAST_ERROR = CFUNCTYPE(c_void_p, c_void_p)
    RELEASE = CFUNCTYPE(None, c_void_p)

    _fields_ = (
        ("get_schema", GET_SCHEMA),
        ("get_next", GET_NEXT),
        ("get_last_error", GET_LAST_ERROR),
        ("release", RELEASE),
        ("private_data", c_void_p),
    )


class ArrowColumn(Structure):
    """cst_arrow_column"""

    _fields_ = (
        ("column", InputString),
        ("property", InputString),
    )


class ArrowImportOptions(Structure):
    """cst_arrow_import_options"""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("flags", ctypes.c_uint64),
        ("column_count", ctypes.c_size_t),
        ("columns", POINTER(ArrowColumn)),
        ("key_count", ctypes.c_size_t),
        ("keys", POINTER(InputString)),
        ("progress", PROGRESS_FN),
        ("progress_userdata", c_void_p),
    )


class Row(Structure):
    """cst_row"""

    _fields_ = (
        ("entity", c_void_p),
        ("reference", Value),
        ("version", ctypes.c_int64),
        ("count", ctypes.c_size_t),
        ("keys", c_void_p),
        ("values", c_void_p),
        ("targets", c_void_p),
    )


class StoreOpening(Structure):
    """cst_store_opening"""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("type", String),
        ("path", String),
        ("model", c_void_p),
        ("configuration", String),
        ("read_only", ctypes.c_bool),
        ("must_exist", ctypes.c_bool),
        ("is_new", ctypes.c_bool),
        ("metadata", Bytes),
        ("option_count", ctypes.c_size_t),
        ("option_names", POINTER(String)),
        ("option_values", POINTER(Value)),
    )


class StoreFetch(Structure):
    """cst_store_fetch"""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("entity", c_void_p),
        ("includes_subentities", ctypes.c_bool),
        ("result_type", ctypes.c_uint32),
        ("predicate", c_void_p),
        ("sort_count", ctypes.c_size_t),
        ("sort", POINTER(Sort)),
        ("limit", ctypes.c_uint64),
        ("offset", ctypes.c_uint64),
        ("key_count", ctypes.c_size_t),
        ("keys", POINTER(ctypes.c_uint32)),
        ("request", c_void_p),
    )


class RowUpdate(Structure):
    """cst_row_update"""

    _fields_ = (
        ("row", Row),
        ("old_version", ctypes.c_int64),
        ("changed_count", ctypes.c_size_t),
        ("changed", POINTER(ctypes.c_uint32)),
    )


class MemberChange(Structure):
    """cst_member_change"""

    _fields_ = (
        ("owner", Row),
        ("relationship", ctypes.c_uint32),
        ("is_ordered", ctypes.c_bool),
        ("added_count", ctypes.c_size_t),
        ("added", POINTER(Row)),
        ("removed_count", ctypes.c_size_t),
        ("removed", POINTER(Row)),
        ("member_count", ctypes.c_size_t),
        ("members", POINTER(Row)),
    )


class SaveChanges(Structure):
    """cst_save_changes"""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("request", c_void_p),
        ("inserted_count", ctypes.c_size_t),
        ("inserted", POINTER(Row)),
        ("updated_count", ctypes.c_size_t),
        ("updated", POINTER(RowUpdate)),
        ("deleted_count", ctypes.c_size_t),
        ("deleted", POINTER(Row)),
        ("locked_count", ctypes.c_size_t),
        ("locked", POINTER(Row)),
        ("member_change_count", ctypes.c_size_t),
        ("member_changes", POINTER(MemberChange)),
        ("metadata", Bytes),
        ("author", String),
        ("context_name", String),
    )


class StoreCallbacks(Structure):
    """cst_store_callbacks"""

    OPEN = CFUNCTYPE(
        ctypes.c_int32, c_void_p, POINTER(StoreOpening), POINTER(c_void_p), POINTER(Buffer), POINTER(c_void_p)
    )
    CLOSE = CFUNCTYPE(None, c_void_p)
    SAVE = CFUNCTYPE(ctypes.c_int32, c_void_p, POINTER(SaveChanges), c_void_p, POINTER(c_void_p))
    OBTAIN_IDS = CFUNCTYPE(ctypes.c_int32, c_void_p, ctypes.c_size_t, POINTER(Row), POINTER(Value), POINTER(c_void_p))
    MOVE = CFUNCTYPE(ctypes.c_int32, c_void_p, String, POINTER(c_void_p))
    FETCH = CFUNCTYPE(
        ctypes.c_int32,
        c_void_p,
        POINTER(StoreFetch),
        c_void_p,
        POINTER(ctypes.c_uint32),
        POINTER(ctypes.c_uint64),
        POINTER(c_void_p),
    )
    VALUES = CFUNCTYPE(ctypes.c_int32, c_void_p, ctypes.c_size_t, POINTER(Row), c_void_p, POINTER(c_void_p))
    RELATIONSHIP = CFUNCTYPE(
        ctypes.c_int32, c_void_p, c_void_p, ctypes.c_uint32, ctypes.c_size_t, POINTER(Row), c_void_p, POINTER(c_void_p)
    )
    DID_REGISTER = CFUNCTYPE(None, c_void_p, ctypes.c_size_t, POINTER(Row))
    DID_UNREGISTER = CFUNCTYPE(None, c_void_p, ctypes.c_size_t, POINTER(Row))
    LOAD = CFUNCTYPE(ctypes.c_int32, c_void_p, c_void_p, POINTER(c_void_p))
    COPY_METADATA = CFUNCTYPE(ctypes.c_int32, c_void_p, String, POINTER(Buffer), POINTER(c_void_p))
    SET_METADATA = CFUNCTYPE(ctypes.c_int32, c_void_p, String, Bytes, POINTER(c_void_p))
    DESTROY_STORE = CFUNCTYPE(ctypes.c_int32, c_void_p, String, POINTER(c_void_p))
    REPLACE_STORE = CFUNCTYPE(ctypes.c_int32, c_void_p, String, String, POINTER(c_void_p))
    DID_ADD = CFUNCTYPE(None, c_void_p)
    WILL_REMOVE = CFUNCTYPE(None, c_void_p)

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("kind", ctypes.c_uint32),
        ("abilities", ctypes.c_uint32),
        ("open", OPEN),
        ("close", CLOSE),
        ("save", SAVE),
        ("obtain_ids", OBTAIN_IDS),
        ("move", MOVE),
        ("fetch", FETCH),
        ("values", VALUES),
        ("relationship", RELATIONSHIP),
        ("did_register", DID_REGISTER),
        ("did_unregister", DID_UNREGISTER),
        ("load", LOAD),
        ("copy_metadata", COPY_METADATA),
        ("set_metadata", SET_METADATA),
        ("destroy_store", DESTROY_STORE),
        ("replace_store", REPLACE_STORE),
        ("userdata", c_void_p),
        ("destroy", DESTROY_FN),
        ("did_add", DID_ADD),
        ("will_remove", WILL_REMOVE),
    )


class BatchColumn(Structure):
    """cst_batch_column"""

    _fields_ = (
        ("key", ctypes.c_uint32),
        ("form", ctypes.c_uint32),
        ("values", c_void_p),
        ("present", c_void_p),
    )


class IndexPath(Structure):
    """cst_index_path"""

    _fields_ = (
        ("section", ctypes.c_size_t),
        ("row", ctypes.c_size_t),
    )


class SectionChange(Structure):
    """cst_section_change"""

    _fields_ = (
        ("kind", ctypes.c_uint32),
        ("index", ctypes.c_size_t),
        ("name", String),
    )


class ObjectChange(Structure):
    """cst_object_change"""

    _fields_ = (
        ("kind", ctypes.c_uint32),
        ("object", c_void_p),
        ("path", IndexPath),
        ("new_path", IndexPath),
    )


class RenamedID(Structure):
    """cst_renamed_id"""

    _fields_ = (
        ("former", c_void_p),
        ("id", c_void_p),
    )


class Difference(Structure):
    """cst_difference"""

    _fields_ = (
        ("section_count", ctypes.c_size_t),
        ("change_count", ctypes.c_size_t),
        ("sections", POINTER(SectionChange)),
        ("changes", POINTER(ObjectChange)),
        ("snapshot", c_void_p),
        ("is_reset", ctypes.c_bool),
        ("error", c_void_p),
        ("renamed_count", ctypes.c_size_t),
        ("renamed", POINTER(RenamedID)),
    )


class IDChange(Structure):
    """cst_id_change"""

    _fields_ = (
        ("kind", ctypes.c_uint32),
        ("offset", ctypes.c_size_t),
        ("associated", ctypes.c_size_t),
        ("id", c_void_p),
    )


class ControllerDelegate(Structure):
    """cst_controller_delegate"""

    WILL_CHANGE = CFUNCTYPE(None, c_void_p, c_void_p)
    DID_CHANGE_SECTION = CFUNCTYPE(None, c_void_p, c_void_p, POINTER(SectionChange))
    DID_CHANGE_OBJECT = CFUNCTYPE(None, c_void_p, c_void_p, POINTER(ObjectChange))
    DID_CHANGE = CFUNCTYPE(None, c_void_p, c_void_p)
    DID_CHANGE_ALL = CFUNCTYPE(None, c_void_p, c_void_p, POINTER(Difference))
    DID_CHANGE_IDS = CFUNCTYPE(None, c_void_p, c_void_p, ctypes.c_size_t, POINTER(IDChange))
    DID_RESET = CFUNCTYPE(None, c_void_p, c_void_p, c_void_p)
    SECTION_TITLE = CFUNCTYPE(ctypes.c_int32, c_void_p, c_void_p, String, POINTER(Value), POINTER(c_void_p))

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("will_change", WILL_CHANGE),
        ("did_change_section", DID_CHANGE_SECTION),
        ("did_change_object", DID_CHANGE_OBJECT),
        ("did_change", DID_CHANGE),
        ("did_change_all", DID_CHANGE_ALL),
        ("did_change_ids", DID_CHANGE_IDS),
        ("did_reset", DID_RESET),
        ("section_title", SECTION_TITLE),
        ("userdata", c_void_p),
        ("destroy", DESTROY_FN),
    )


LOG_FN = CFUNCTYPE(None, c_void_p, String)

COORDINATOR_OBSERVE_FN = CFUNCTYPE(None, c_void_p, c_void_p, ctypes.c_uint32, POINTER(StoreChanges))
COORDINATOR_PERFORM_FN = CFUNCTYPE(ctypes.c_int32, c_void_p, POINTER(c_void_p))
CONTEXT_PERFORM_FN = CFUNCTYPE(ctypes.c_int32, c_void_p, c_void_p, POINTER(c_void_p))
CONTEXT_DONE_FN = CFUNCTYPE(None, c_void_p, c_void_p, ctypes.c_int32, c_void_p)
CONTEXT_INTERRUPT_FN = CFUNCTYPE(ctypes.c_bool, c_void_p)
FUNCTION_FN = CFUNCTYPE(
    ctypes.c_int32, c_void_p, POINTER(Value), ctypes.c_size_t, POINTER(Value), POINTER(Value), POINTER(c_void_p)
)
MIGRATION_STAGE_FN = CFUNCTYPE(ctypes.c_int32, c_void_p, c_void_p, POINTER(c_void_p))
MIGRATION_TRANSFORMATION_FN = CFUNCTYPE(ctypes.c_int32, c_void_p, c_void_p, c_void_p, POINTER(c_void_p))
CONTAINER_LOAD_FN = CFUNCTYPE(None, c_void_p, ctypes.c_size_t, String, c_void_p, c_void_p)
RECORDS_FN = CFUNCTYPE(None, c_void_p, String, ctypes.c_size_t)
FAILURE_FN = CFUNCTYPE(None, c_void_p, c_void_p)
DOCUMENT_OBSERVE_FN = CFUNCTYPE(None, c_void_p, ctypes.c_uint32)
COMPARE_FN = CFUNCTYPE(
    ctypes.c_int32,
    c_void_p,
    ctypes.c_size_t,
    POINTER(Value),
    POINTER(Value),
    POINTER(ctypes.c_int32),
    POINTER(c_void_p),
)
FETCH_DONE_FN = CFUNCTYPE(None, c_void_p, c_void_p)
HISTORY_FN = CFUNCTYPE(ctypes.c_int32, c_void_p, c_void_p, POINTER(HistoryTransaction), POINTER(c_void_p))
HISTORY_ENDED_FN = CFUNCTYPE(None, c_void_p, c_void_p)
HISTORY_PROGRESS_FN = CFUNCTYPE(ctypes.c_bool, c_void_p, ctypes.c_uint64, ctypes.c_uint64)
RESOLVE_CONFLICTS_FN = CFUNCTYPE(
    ctypes.c_int32, c_void_p, c_void_p, ctypes.c_size_t, POINTER(c_void_p), POINTER(c_void_p)
)
CALL_SITE_FN = CFUNCTYPE(ctypes.c_uint32, c_void_p, POINTER(Buffer))
INACCESSIBLE_FAULT_FN = CFUNCTYPE(
    ctypes.c_int32, c_void_p, c_void_p, c_void_p, String, POINTER(ctypes.c_bool), POINTER(c_void_p)
)
CONTEXT_OBSERVE_FN = CFUNCTYPE(None, c_void_p, c_void_p, ctypes.c_uint32, POINTER(Changes))
OBJECT_OBSERVE_FN = CFUNCTYPE(None, c_void_p, c_void_p, POINTER(ValueChange))
UNDO_ACTION_FN = CFUNCTYPE(ctypes.c_int32, c_void_p, POINTER(c_void_p))
UNDO_OBSERVE_FN = CFUNCTYPE(None, c_void_p, c_void_p, ctypes.c_uint32)
PREDICATE_BLOCK_FN = CFUNCTYPE(
    ctypes.c_int32, c_void_p, POINTER(Value), POINTER(Value), POINTER(ctypes.c_bool), POINTER(c_void_p)
)
EXPRESSION_BLOCK_FN = CFUNCTYPE(
    ctypes.c_int32,
    c_void_p,
    POINTER(Value),
    ctypes.c_size_t,
    POINTER(Value),
    POINTER(Value),
    POINTER(Value),
    POINTER(c_void_p),
)
BATCH_ROWS_FN = CFUNCTYPE(
    ctypes.c_int32, c_void_p, ctypes.c_size_t, POINTER(Value), POINTER(ctypes.c_size_t), POINTER(c_void_p)
)
BATCH_OBJECT_FN = CFUNCTYPE(ctypes.c_int32, c_void_p, c_void_p, POINTER(ctypes.c_bool), POINTER(c_void_p))
OBSERVE_FETCH_FN = CFUNCTYPE(None, c_void_p, c_void_p, POINTER(Difference))
SECTION_NAME_FN = CFUNCTYPE(ctypes.c_int32, c_void_p, c_void_p, POINTER(Value), POINTER(c_void_p))
# The classes by the names of the structs in C.
STRUCTS: dict[str, Any] = {
    "cst_string": String,
    "cst_bytes": Bytes,
    "cst_buffer": Buffer,
    "cst_decimal": Decimal,
    "cst_values": Values,
    "cst_host": Host,
    "cst_value": Value,
    "cst_index_element": IndexElement,
    "cst_property_info": PropertyInfo,
    "cst_uuid": Uuid,
    "cst_host_callbacks": HostCallbacks,
    "cst_archive_class_callbacks": ArchiveClassCallbacks,
    "cst_transformer_callbacks": TransformerCallbacks,
    "cst_lifecycle_hooks": LifecycleHooks,
    "cst_pragma": Pragma,
    "cst_migration_backup": MigrationBackup,
    "cst_store_options": StoreOptions,
    "cst_remote_change": RemoteChange,
    "cst_store_changes": StoreChanges,
    "cst_statistics": Statistics,
    "cst_request_result": RequestResult,
    "cst_migration_policy_callbacks": MigrationPolicyCallbacks,
    "cst_migration_guard_options": MigrationGuardOptions,
    "cst_container_options": ContainerOptions,
    "cst_store_description": StoreDescription,
    "cst_sort": Sort,
    "cst_column": Column,
    "cst_fetch_options": FetchOptions,
    "cst_history_change": HistoryChange,
    "cst_history_transaction": HistoryTransaction,
    "cst_history_options": HistoryOptions,
    "cst_revision_value": RevisionValue,
    "cst_revision": Revision,
    "cst_history_retention": HistoryRetention,
    "cst_object_stamp": ObjectStamp,
    "cst_changes": Changes,
    "cst_value_change": ValueChange,
    "cst_undo_state": UndoState,
    "cst_predicate_info": PredicateInfo,
    "ArrowSchema": ArrowSchema,
    "ArrowArray": ArrowArray,
    "ArrowArrayStream": ArrowArrayStream,
    "cst_arrow_column": ArrowColumn,
    "cst_arrow_import_options": ArrowImportOptions,
    "cst_row": Row,
    "cst_store_opening": StoreOpening,
    "cst_store_fetch": StoreFetch,
    "cst_row_update": RowUpdate,
    "cst_member_change": MemberChange,
    "cst_save_changes": SaveChanges,
    "cst_store_callbacks": StoreCallbacks,
    "cst_batch_column": BatchColumn,
    "cst_index_path": IndexPath,
    "cst_section_change": SectionChange,
    "cst_object_change": ObjectChange,
    "cst_renamed_id": RenamedID,
    "cst_difference": Difference,
    "cst_id_change": IDChange,
    "cst_controller_delegate": ControllerDelegate,
}

# The types by their names in the table.
TYPES: dict[str, Any] = {
    "ArchiveClassCallbacks*": POINTER(ArchiveClassCallbacks),
    "ArrowImportOptions*": POINTER(ArrowImportOptions),
    "BATCH_OBJECT_FN": BATCH_OBJECT_FN,
    "BATCH_ROWS_FN": BATCH_ROWS_FN,
    "BatchColumn*": POINTER(BatchColumn),
    "Buffer*": POINTER(Buffer),
    "Bytes*": POINTER(Bytes),
    "CALL_SITE_FN": CALL_SITE_FN,
    "COMPARE_FN": COMPARE_FN,
    "CONTAINER_LOAD_FN": CONTAINER_LOAD_FN,
    "CONTEXT_DONE_FN": CONTEXT_DONE_FN,
    "CONTEXT_INTERRUPT_FN": CONTEXT_INTERRUPT_FN,
    "CONTEXT_OBSERVE_FN": CONTEXT_OBSERVE_FN,
    "CONTEXT_PERFORM_FN": CONTEXT_PERFORM_FN,
    "COORDINATOR_OBSERVE_FN": COORDINATOR_OBSERVE_FN,
    "COORDINATOR_PERFORM_FN": COORDINATOR_PERFORM_FN,
    "Column*": POINTER(Column),
    "ContainerOptions*": POINTER(ContainerOptions),
    "ControllerDelegate*": POINTER(ControllerDelegate),
    "DESTROY_FN": DESTROY_FN,
    "DOCUMENT_OBSERVE_FN": DOCUMENT_OBSERVE_FN,
    "EXPRESSION_BLOCK_FN": EXPRESSION_BLOCK_FN,
    "FAILURE_FN": FAILURE_FN,
    "FETCH_DONE_FN": FETCH_DONE_FN,
    "FUNCTION_FN": FUNCTION_FN,
    "FetchOptions*": POINTER(FetchOptions),
    "HISTORY_ENDED_FN": HISTORY_ENDED_FN,
    "HISTORY_FN": HISTORY_FN,
    "HISTORY_PROGRESS_FN": HISTORY_PROGRESS_FN,
    "HistoryOptions*": POINTER(HistoryOptions),
    "HistoryRetention*": POINTER(HistoryRetention),
    "INACCESSIBLE_FAULT_FN": INACCESSIBLE_FAULT_FN,
    "IndexElement*": POINTER(IndexElement),
    "IndexPath*": POINTER(IndexPath),
    "InputString": InputString,
    "InputString*": POINTER(InputString),
    "LOG_FN": LOG_FN,
    "LifecycleHooks*": POINTER(LifecycleHooks),
    "MIGRATION_STAGE_FN": MIGRATION_STAGE_FN,
    "MIGRATION_TRANSFORMATION_FN": MIGRATION_TRANSFORMATION_FN,
    "MigrationGuardOptions*": POINTER(MigrationGuardOptions),
    "MigrationPolicyCallbacks*": POINTER(MigrationPolicyCallbacks),
    "OBJECT_OBSERVE_FN": OBJECT_OBSERVE_FN,
    "OBSERVE_FETCH_FN": OBSERVE_FETCH_FN,
    "ObjectStamp*": POINTER(ObjectStamp),
    "PREDICATE_BLOCK_FN": PREDICATE_BLOCK_FN,
    "PROGRESS_FN": PROGRESS_FN,
    "PredicateInfo*": POINTER(PredicateInfo),
    "PropertyInfo*": POINTER(PropertyInfo),
    "RECORDS_FN": RECORDS_FN,
    "RESOLVE_CONFLICTS_FN": RESOLVE_CONFLICTS_FN,
    "RequestResult*": POINTER(RequestResult),
    "Row*": POINTER(Row),
    "SECTION_NAME_FN": SECTION_NAME_FN,
    "Sort*": POINTER(Sort),
    "Statistics*": POINTER(Statistics),
    "StoreCallbacks*": POINTER(StoreCallbacks),
    "StoreDescription*": POINTER(StoreDescription),
    "StoreOptions*": POINTER(StoreOptions),
    "String": String,
    "String*": POINTER(String),
    "TransformerCallbacks*": POINTER(TransformerCallbacks),
    "UNDO_ACTION_FN": UNDO_ACTION_FN,
    "UNDO_OBSERVE_FN": UNDO_OBSERVE_FN,
    "UndoState*": POINTER(UndoState),
    "VALIDATE_FN": VALIDATE_FN,
    "bool": ctypes.c_bool,
    "bool*": POINTER(ctypes.c_bool),
    "char_p*": POINTER(ctypes.c_char_p),
    "double": ctypes.c_double,
    "double*": POINTER(ctypes.c_double),
    "int*": POINTER(ctypes.c_int),
    "int32": ctypes.c_int32,
    "int32*": POINTER(ctypes.c_int32),
    "int64": ctypes.c_int64,
    "int64*": POINTER(ctypes.c_int64),
    "pointer": c_void_p,
    "pointer*": POINTER(c_void_p),
    "size_t": ctypes.c_size_t,
    "size_t*": POINTER(ctypes.c_size_t),
    "uint32": ctypes.c_uint32,
    "uint32*": POINTER(ctypes.c_uint32),
    "uint64": ctypes.c_uint64,
    "uint64*": POINTER(ctypes.c_uint64),
    "void": None,
}

# The name, the result and the parameters of each function.
FUNCTIONS = """
cst_version void int* int* int*
cst_version_string String
cst_retain pointer pointer
cst_release int32 pointer
cst_handle_count size_t
cst_buffer_fill int32 Buffer* InputString pointer*
cst_buffer_dispose void Buffer*
cst_log_set_sql_detail int32 uint32 pointer*
cst_log_sql_detail uint32
cst_log_set_callback int32 LOG_FN pointer DESTROY_FN pointer*
cst_log_take_arguments int32 size_t char_p* size_t* pointer*
cst_error_status int32 pointer
cst_error_code int64 pointer
cst_error_domain String pointer
cst_error_message String pointer
cst_error_entity String pointer
cst_error_key String pointer
cst_error_object_uri String pointer
cst_error_file String pointer
cst_error_value int32 pointer pointer
cst_error_predicate String pointer
cst_error_sqlite_code int32 pointer
cst_error_offset int64 pointer
cst_error_detail_count size_t pointer
cst_error_detail_at pointer pointer size_t
cst_error_copy_description int32 pointer Buffer*
cst_error_new_custom int32 InputString int64 InputString pointer DESTROY_FN pointer*
cst_error_userdata pointer pointer
cst_model_new int32 pointer* pointer*
cst_model_new_from_text int32 InputString pointer* pointer*
cst_model_add_text int32 pointer InputString Buffer* pointer*
cst_model_add_entity int32 pointer InputString pointer* pointer*
cst_model_freeze int32 pointer pointer*
cst_model_is_frozen int32 pointer bool* pointer*
cst_model_add_version_identifier int32 pointer InputString pointer*
cst_model_remove_version_identifier int32 pointer InputString pointer*
cst_model_entity_count size_t pointer
cst_model_entity_at int32 pointer size_t pointer* pointer*
cst_model_entity int32 pointer InputString pointer* pointer*
cst_model_load int32 InputString InputString pointer* pointer*
cst_model_load_draft int32 InputString InputString pointer* Buffer* pointer*
cst_model_load_for_store int32 InputString InputString pointer* pointer*
cst_model_version_name String pointer
cst_model_load_bytes int32 InputString pointer* pointer*
cst_model_copy_versions int32 InputString Buffer* size_t* size_t* pointer*
cst_model_copy int32 pointer pointer* pointer*
cst_model_merge int32 size_t pointer* InputString pointer* pointer*
cst_model_copy_json int32 pointer Buffer* pointer*
cst_model_copy_diagram int32 pointer Buffer* pointer*
cst_model_set_template int32 pointer InputString pointer pointer*
cst_model_copy_template int32 pointer InputString pointer* pointer*
cst_model_copy_bound_template int32 pointer InputString size_t InputString* pointer pointer* pointer*
cst_model_set_configuration int32 pointer InputString size_t InputString* pointer*
cst_model_remove_configuration int32 pointer InputString pointer*
cst_model_copy_configuration int32 pointer InputString Buffer* size_t* pointer*
cst_model_copy_names int32 pointer uint32 Buffer* size_t* pointer*
cst_model_copy_lint int32 pointer InputString Buffer* pointer*
cst_model_copy_version_lint int32 pointer InputString size_t pointer* Buffer* pointer*
cst_model_copy_diff int32 pointer pointer Buffer* pointer*
cst_model_set_localization int32 pointer InputString InputString pointer*
cst_model_localization int32 pointer InputString String* pointer*
cst_model_copy_compiled int32 pointer Buffer* pointer*
cst_model_copy_source int32 pointer uint32 Buffer* pointer*
cst_model_write int32 pointer InputString InputString uint32 pointer*
cst_model_convert int32 InputString InputString InputString uint32 pointer*
cst_model_merge_folder int32 InputString InputString pointer* pointer*
cst_model_copy_checksum int32 pointer Buffer* pointer*
cst_model_copy_version_checksums int32 InputString Buffer* size_t* pointer*
cst_model_is_compatible int32 pointer InputString InputString bool* pointer*
cst_model_is_compatible_metadata int32 pointer InputString InputString bool* pointer*
cst_model_load_strings int32 pointer InputString InputString pointer*
cst_entity_name String pointer
cst_entity_localized_name String pointer
cst_entity_localized_property_name int32 pointer InputString String* pointer*
cst_entity_set_parent int32 pointer pointer pointer*
cst_entity_parent int32 pointer pointer* pointer*
cst_entity_child_at int32 pointer size_t pointer* pointer*
cst_entity_is_kind_of int32 pointer pointer bool* pointer*
cst_entity_set_abstract int32 pointer bool pointer*
cst_entity_is_abstract int32 pointer bool* pointer*
cst_entity_set_class_name int32 pointer InputString pointer*
cst_entity_set_user_info int32 pointer InputString InputString pointer*
cst_entity_user_info int32 pointer InputString String* pointer*
cst_entity_set_version_hash_modifier int32 pointer InputString pointer*
cst_entity_add_index int32 pointer InputString size_t InputString* pointer*
cst_entity_add_fetch_index int32 pointer InputString size_t IndexElement* pointer pointer*
cst_entity_add_unique_constraint int32 pointer size_t InputString* pointer*
cst_entity_version_hash int32 pointer pointer pointer*
cst_entity_property_version_hash int32 pointer InputString pointer pointer*
cst_entity_add_attribute int32 pointer InputString int32 uint32 pointer* pointer*
cst_entity_add_relationship int32 pointer InputString pointer uint32 pointer* pointer*
cst_entity_property_count size_t pointer
cst_entity_property_at int32 pointer size_t PropertyInfo* pointer*
cst_entity_copy_text int32 pointer InputString uint32 Buffer* pointer*
cst_entity_copy_validation int32 pointer InputString size_t pointer* Buffer* int64* pointer*
cst_entity_copy_index int32 pointer size_t Buffer* size_t* pointer* pointer*
cst_entity_copy_index_element int32 pointer size_t size_t Buffer* bool* uint32* int32* pointer*
cst_entity_copy_unique_constraint int32 pointer size_t Buffer* size_t* pointer*
cst_entity_key int32 pointer InputString uint32* pointer*
cst_entity_remove int32 pointer pointer*
cst_entity_rename int32 pointer InputString pointer*
cst_entity_set_renaming_identifier int32 pointer InputString pointer*
cst_entity_remove_index int32 pointer InputString pointer*
cst_entity_remove_unique_constraint int32 pointer size_t InputString* pointer*
cst_entity_copy_json int32 pointer InputString Buffer* pointer*
cst_entity_copy_user_info int32 pointer InputString Buffer* pointer*
cst_entity_attribute int32 pointer InputString pointer* pointer*
cst_entity_relationship int32 pointer InputString pointer* pointer*
cst_entity_copy_relationships_to int32 pointer pointer Buffer* size_t* pointer*
cst_entity_remove_property int32 pointer InputString pointer*
cst_entity_rename_property int32 pointer InputString InputString pointer*
cst_entity_set_property_flags int32 pointer InputString uint32 uint32 pointer*
cst_entity_set_property_renaming_identifier int32 pointer InputString InputString pointer*
cst_entity_set_property_version_hash_modifier int32 pointer InputString InputString pointer*
cst_entity_set_property_user_info int32 pointer InputString InputString InputString pointer*
cst_entity_remove_validation int32 pointer InputString pointer*
cst_entity_add_fetched_property int32 pointer InputString pointer pointer*
cst_entity_set_fetched_request int32 pointer InputString pointer pointer*
cst_entity_copy_fetched_request int32 pointer InputString pointer* pointer*
cst_entity_add_validator int32 pointer InputString VALIDATE_FN pointer DESTROY_FN pointer*
cst_entity_add_validator_function int32 pointer InputString InputString pointer*
cst_attribute_set_default int32 pointer pointer pointer*
cst_attribute_set_user_info int32 pointer InputString InputString pointer*
cst_attribute_user_info int32 pointer InputString String* pointer*
cst_attribute_convert int32 pointer pointer pointer pointer*
cst_attribute_set_bounds int32 pointer pointer pointer pointer*
cst_attribute_set_pattern int32 pointer InputString pointer*
cst_attribute_add_validation int32 pointer pointer InputString pointer*
cst_attribute_set_transformer_name int32 pointer InputString pointer*
cst_attribute_set_derivation int32 pointer InputString InputString pointer*
cst_attribute_add_element int32 pointer InputString int32 uint32 pointer* pointer*
cst_attribute_element_at int32 pointer size_t pointer* pointer*
cst_attribute_get_info int32 pointer PropertyInfo* pointer*
cst_attribute_copy_default int32 pointer pointer pointer*
cst_attribute_copy_bounds int32 pointer pointer pointer pointer*
cst_attribute_set_type int32 pointer int32 pointer*
cst_attribute_set_value_class int32 pointer InputString pointer*
cst_relationship_set_inverse int32 pointer pointer pointer*
cst_relationship_set_destination int32 pointer pointer pointer*
cst_relationship_set_delete_rule int32 pointer uint32 pointer*
cst_relationship_set_counts int32 pointer uint32 uint32 pointer*
cst_relationship_add_validation int32 pointer pointer InputString pointer*
cst_relationship_set_user_info int32 pointer InputString InputString pointer*
cst_relationship_user_info int32 pointer InputString String* pointer*
cst_entity_accessor int32 pointer InputString uint32 pointer* pointer*
cst_value_dispose void pointer
cst_value_copy_at_key_path int32 pointer InputString pointer pointer*
cst_archive_copy_json int32 InputString Buffer* pointer*
cst_archive_from_json int32 InputString Buffer* pointer*
cst_archive_register_class int32 InputString ArchiveClassCallbacks* pointer*
cst_archive_unregister_class int32 InputString pointer*
cst_archive_copy_class_kinds int32 InputString Buffer* pointer*
cst_transformer_register int32 InputString TransformerCallbacks* pointer*
cst_transformer_register_functions int32 InputString InputString InputString pointer*
cst_transformer_unregister int32 InputString pointer*
cst_transformer_is_registered int32 InputString bool* pointer*
cst_mapping_model_load int32 InputString pointer* pointer*
cst_mapping_model_load_bytes int32 InputString pointer* pointer*
cst_mapping_model_new_from_json int32 InputString pointer pointer pointer* pointer*
cst_mapping_model_new_inferred int32 pointer pointer uint32 pointer* pointer*
cst_mapping_model_validate int32 pointer pointer pointer pointer*
cst_mapping_model_matches int32 pointer pointer pointer bool* pointer*
cst_mapping_model_find int32 InputString* size_t pointer pointer pointer* pointer*
cst_mapping_model_write int32 pointer InputString pointer*
cst_mapping_model_copy_json int32 pointer Buffer* pointer*
cst_mapping_model_source int32 pointer pointer* pointer*
cst_mapping_model_destination int32 pointer pointer* pointer*
cst_entity_set_lifecycle int32 pointer LifecycleHooks* pointer*
cst_context_disable_tracking int32 pointer pointer*
cst_context_enable_tracking int32 pointer pointer*
cst_coordinator_new int32 pointer pointer* pointer*
cst_coordinator_set_name int32 pointer InputString pointer*
cst_coordinator_copy_name int32 pointer Buffer* pointer*
cst_coordinator_add_store int32 pointer InputString InputString StoreOptions* pointer* pointer*
cst_store_copy_migration_plan int32 InputString pointer StoreOptions* Buffer* pointer*
cst_coordinator_open_store int32 InputString pointer StoreOptions* pointer* pointer* pointer*
cst_coordinator_remove_store int32 pointer pointer pointer*
cst_coordinator_close int32 pointer uint32 pointer*
cst_coordinator_copy_unsaved_changes int32 pointer uint32 Buffer* pointer*
cst_coordinator_destroy_store int32 pointer InputString InputString StoreOptions* pointer*
cst_coordinator_replace_store int32 pointer InputString InputString InputString StoreOptions* pointer*
cst_coordinator_set_store_path int32 pointer pointer InputString pointer*
cst_coordinator_store_count size_t pointer
cst_coordinator_store int32 pointer size_t pointer* pointer*
cst_coordinator_store_at int32 pointer InputString pointer* pointer*
cst_coordinator_copy_metadata int32 pointer pointer Buffer* pointer*
cst_coordinator_set_metadata int32 pointer pointer InputString pointer*
cst_coordinator_backup_store int32 pointer pointer InputString StoreOptions* PROGRESS_FN pointer pointer*
cst_coordinator_checkpoint_store int32 pointer pointer uint32 uint64* uint64* pointer*
cst_coordinator_optimize_store int32 pointer pointer uint64* pointer*
cst_coordinator_migrate_store int32 pointer pointer InputString InputString StoreOptions* PROGRESS_FN pointer pointer* pointer*
cst_coordinator_compare int32 pointer pointer Buffer* pointer*
cst_coordinator_model int32 pointer pointer* pointer*
cst_coordinator_observe int32 pointer uint32 COORDINATOR_OBSERVE_FN pointer DESTROY_FN pointer* pointer*
cst_coordinator_statistics int32 pointer Statistics* pointer*
cst_coordinator_reset_statistics int32 pointer pointer*
cst_coordinator_perform int32 pointer COORDINATOR_PERFORM_FN pointer DESTROY_FN pointer*
cst_coordinator_perform_and_wait int32 pointer COORDINATOR_PERFORM_FN pointer pointer*
cst_coordinator_object_id int32 pointer InputString pointer* pointer*
cst_store_identifier String pointer
cst_store_type String pointer
cst_store_path String pointer
cst_store_configuration String pointer
cst_store_copy_options int32 pointer Buffer* pointer*
cst_store_is_read_only int32 pointer bool* pointer*
cst_store_warning_count size_t pointer
cst_store_warning String pointer size_t
cst_store_read_only_reason String pointer
cst_store_model_source int32 pointer uint32* pointer*
cst_store_copy_metadata int32 InputString Buffer* pointer*
cst_store_set_metadata int32 InputString InputString pointer*
cst_store_check_apple int32 InputString pointer bool* Buffer* pointer*
cst_store_check int32 InputString pointer pointer* pointer*
cst_store_copy_leftovers int32 InputString Buffer* pointer*
cst_store_remove_leftovers int32 InputString Buffer* pointer*
cst_store_copy_views int32 InputString pointer uint32 bool Buffer* pointer*
cst_main_queue_bind int32 pointer*
cst_main_queue_drain int32 int32 size_t* pointer*
cst_main_queue_descriptor int32 int* pointer*
cst_thread_id uint64
cst_context_new int32 pointer int32 pointer* pointer*
cst_context_perform int32 pointer CONTEXT_PERFORM_FN pointer DESTROY_FN pointer*
cst_context_perform_and_wait int32 pointer CONTEXT_PERFORM_FN pointer pointer*
cst_context_schedule int32 pointer int32 CONTEXT_PERFORM_FN CONTEXT_DONE_FN pointer DESTROY_FN pointer*
cst_context_lock int32 pointer pointer*
cst_context_try_lock int32 pointer pointer*
cst_context_unlock int32 pointer pointer*
cst_context_set_origin int32 pointer InputString uint32 pointer*
cst_context_set_interrupt int32 pointer CONTEXT_INTERRUPT_FN pointer DESTROY_FN pointer*
cst_context_begin_editing int32 pointer CONTEXT_PERFORM_FN CONTEXT_PERFORM_FN pointer DESTROY_FN pointer* pointer*
cst_context_commit_editing int32 pointer pointer*
cst_context_discard_editing int32 pointer pointer*
cst_context_set_name int32 pointer InputString pointer*
cst_context_set_transaction_author int32 pointer InputString pointer*
cst_context_copy_name int32 pointer Buffer* pointer*
cst_context_copy_transaction_author int32 pointer Buffer* pointer*
cst_context_set_user_info int32 pointer pointer DESTROY_FN pointer*
cst_context_user_info pointer pointer
cst_context_coordinator int32 pointer pointer* pointer*
cst_context_insert int32 pointer pointer pointer* pointer*
cst_context_insert_many int32 pointer pointer size_t size_t uint32* pointer pointer* pointer*
cst_context_insert_object int32 pointer pointer pointer*
cst_context_delete int32 pointer pointer pointer*
cst_context_has_changes int32 pointer bool* pointer*
cst_context_has_persistent_changes int32 pointer bool* pointer*
cst_context_process_pending_changes int32 pointer pointer*
cst_context_save int32 pointer pointer*
cst_context_validate int32 pointer pointer*
cst_context_rollback int32 pointer pointer*
cst_context_reset int32 pointer pointer*
cst_context_close int32 pointer uint32 pointer*
cst_context_copy_changed int32 pointer uint32 pointer* pointer*
cst_context_changed_count int32 pointer uint32 uint64* pointer*
cst_request_type int32 pointer uint32* pointer*
cst_context_execute int32 pointer pointer RequestResult* pointer*
cst_context_fetch int32 pointer pointer pointer* pointer*
cst_context_fetch_ids int32 pointer pointer pointer* pointer*
cst_context_fetch_cursor int32 pointer pointer size_t pointer* pointer*
cst_context_count int32 pointer pointer uint64* pointer*
cst_context_explain int32 pointer pointer uint32 Buffer* pointer*
cst_context_fetch_rows int32 pointer pointer pointer* pointer*
cst_context_aggregate int32 pointer pointer uint32 InputString pointer* pointer*
cst_context_object_with_id int32 pointer pointer pointer* pointer*
cst_context_existing_object int32 pointer pointer pointer* pointer*
cst_context_registered_object int32 pointer pointer pointer* pointer*
cst_context_assign int32 pointer pointer pointer pointer*
cst_context_obtain_permanent_ids int32 pointer size_t pointer* pointer*
cst_context_refresh_all int32 pointer pointer*
cst_function_register int32 InputString FUNCTION_FN pointer DESTROY_FN pointer*
cst_function_register_typed int32 InputString InputString pointer pointer*
cst_function_unregister int32 InputString pointer*
cst_migration_manager_new int32 pointer pointer pointer* pointer*
cst_migration_manager_migrate_store int32 pointer InputString InputString StoreOptions* pointer InputString InputString StoreOptions* pointer*
cst_migration_manager_cancel int32 pointer pointer pointer*
cst_migration_manager_progress int32 pointer double* pointer*
cst_migration_manager_copy_current_mapping int32 pointer Buffer* pointer*
cst_migration_manager_source_model int32 pointer pointer* pointer*
cst_migration_manager_destination_model int32 pointer pointer* pointer*
cst_migration_manager_mapping_model int32 pointer pointer* pointer*
cst_migration_manager_set_report int32 pointer PROGRESS_FN pointer DESTROY_FN pointer*
cst_migration_manager_set_function int32 pointer InputString FUNCTION_FN pointer DESTROY_FN pointer*
cst_migration_manager_copy_user_info int32 pointer InputString pointer pointer*
cst_migration_manager_set_user_info int32 pointer InputString pointer pointer*
cst_migration_manager_source_context int32 pointer pointer* pointer*
cst_migration_manager_destination_context int32 pointer pointer* pointer*
cst_migration_manager_associate int32 pointer InputString pointer pointer pointer*
cst_migration_manager_create_destination_instance int32 pointer InputString pointer pointer* pointer*
cst_migration_manager_create_relationships int32 pointer InputString pointer pointer*
cst_migration_manager_destination_instances int32 pointer InputString size_t pointer* pointer* pointer*
cst_migration_manager_source_instances int32 pointer InputString size_t pointer* pointer* pointer*
cst_migration_manager_reset int32 pointer pointer*
cst_migration_policy_register int32 InputString MigrationPolicyCallbacks* pointer*
cst_migration_policy_unregister int32 InputString pointer*
cst_migration_policy_is_registered int32 InputString bool* pointer*
cst_model_reference_new int32 pointer InputString pointer* pointer*
cst_model_reference_new_with_path int32 InputString InputString InputString pointer* pointer*
cst_model_reference_new_with_hashes int32 size_t InputString* Bytes* size_t InputString* InputString pointer* pointer*
cst_model_reference_resolve int32 pointer pointer* pointer*
cst_migration_stages_new int32 pointer* pointer*
cst_migration_stages_add_lightweight int32 pointer size_t InputString* InputString pointer*
cst_migration_stages_add_custom int32 pointer pointer pointer InputString MIGRATION_STAGE_FN MIGRATION_STAGE_FN pointer DESTROY_FN pointer*
cst_migration_stages_add_transformation int32 pointer pointer pointer InputString MIGRATION_TRANSFORMATION_FN pointer DESTROY_FN pointer*
cst_migration_stages_add_mapping int32 pointer pointer pointer InputString pointer pointer*
cst_migration_stages_load int32 InputString size_t pointer* size_t InputString* pointer* pointer*
cst_migration_stages_add_stage int32 pointer pointer size_t pointer*
cst_migration_stages_count size_t pointer
cst_migration_stages_copy_label int32 pointer size_t Buffer* pointer*
cst_migration_stages_validate int32 pointer pointer*
cst_store_copy_backups int32 InputString InputString Buffer* size_t* pointer*
cst_coordinator_restore_store int32 pointer InputString InputString InputString StoreOptions* Buffer* pointer*
cst_coordinator_deferred_migration_task_count int32 pointer pointer size_t* pointer*
cst_coordinator_finish_deferred_migration_task int32 pointer pointer bool* pointer*
cst_coordinator_finish_deferred_migration int32 pointer pointer PROGRESS_FN pointer pointer*
cst_migration_guard_check int32 InputString InputString MigrationGuardOptions* Buffer* pointer*
cst_migration_guard_check_models int32 InputString pointer size_t InputString* pointer* MigrationGuardOptions* Buffer* pointer*
cst_model_release_keep int32 pointer InputString InputString pointer*
cst_model_release_copy_list int32 InputString Buffer* pointer*
cst_model_release_load int32 InputString InputString pointer* pointer*
cst_model_release_check int32 InputString InputString Buffer* pointer*
cst_container_new int32 InputString pointer ContainerOptions* pointer* pointer*
cst_container_open int32 InputString pointer StoreOptions* pointer* pointer*
cst_container_copy_data_folder int32 InputString Buffer* pointer*
cst_container_add_description int32 pointer StoreDescription* pointer*
cst_container_load int32 pointer CONTAINER_LOAD_FN pointer DESTROY_FN pointer*
cst_container_coordinator int32 pointer pointer* pointer*
cst_container_view_context int32 pointer pointer* pointer*
cst_container_new_background_context int32 pointer pointer* pointer*
cst_container_perform_background_task int32 pointer CONTEXT_PERFORM_FN CONTEXT_DONE_FN pointer DESTROY_FN pointer*
cst_container_copy_report int32 pointer Buffer* pointer*
cst_container_save int32 pointer pointer*
cst_container_close int32 pointer uint32 pointer*
cst_container_insert int32 pointer InputString InputString RECORDS_FN FAILURE_FN pointer pointer*
cst_container_read int32 pointer InputString pointer InputString bool uint64 uint64 RECORDS_FN FAILURE_FN pointer pointer*
cst_container_update int32 pointer InputString pointer InputString RECORDS_FN FAILURE_FN pointer pointer*
cst_container_delete int32 pointer InputString pointer RECORDS_FN FAILURE_FN pointer pointer*
cst_container_delete_all int32 pointer InputString RECORDS_FN FAILURE_FN pointer pointer*
cst_document_new int32 pointer InputString int32 pointer* pointer*
cst_document_open int32 InputString pointer StoreOptions* int32 pointer* pointer*
cst_document_context int32 pointer pointer* pointer*
cst_document_copy_path int32 pointer Buffer* pointer*
cst_document_state int32 pointer uint32* pointer*
cst_document_has_unsaved_changes int32 pointer bool* pointer*
cst_document_copy_error int32 pointer pointer* pointer*
cst_document_observe int32 pointer DOCUMENT_OBSERVE_FN pointer DESTROY_FN pointer* pointer*
cst_document_set_autosave int32 pointer uint32 uint32 pointer*
cst_document_save int32 pointer pointer*
cst_document_save_as int32 pointer InputString InputString bool pointer*
cst_document_revert int32 pointer pointer*
cst_document_close int32 pointer uint32 pointer*
cst_context_new_child int32 pointer int32 pointer* pointer*
cst_context_parent int32 pointer pointer* pointer*
cst_context_set_automatically_merges int32 pointer bool pointer*
cst_context_automatically_merges int32 pointer bool* pointer*
cst_context_merge_changes int32 pointer size_t pointer* size_t pointer* size_t pointer* pointer*
cst_context_merge_remote_changes int32 pointer size_t InputString* size_t InputString* size_t InputString* pointer*
cst_query_generation_current int32 pointer* pointer*
cst_coordinator_query_generation int32 pointer pointer* pointer*
cst_context_query_generation int32 pointer pointer* pointer*
cst_context_set_query_generation int32 pointer pointer pointer*
cst_query_generation_is_current bool pointer
cst_query_generation_equal bool pointer pointer
cst_query_generation_hash uint64 pointer
cst_context_set_merges_remote_changes int32 pointer bool pointer*
cst_context_merges_remote_changes int32 pointer bool* pointer*
cst_fetch_request_new int32 pointer pointer* pointer*
cst_fetch_request_new_named int32 InputString pointer* pointer*
cst_fetch_request_set_entity_name int32 pointer InputString pointer*
cst_fetch_request_copy int32 pointer pointer* pointer*
cst_fetch_request_set_option int32 pointer uint32 int64 pointer*
cst_fetch_request_option int32 pointer uint32 int64* pointer*
cst_fetch_request_set_affected_stores int32 pointer size_t pointer* pointer*
cst_fetch_request_copy_json int32 pointer Buffer* pointer*
cst_fetch_request_copy_archive int32 pointer Buffer* pointer*
cst_fetch_request_new_from_archive int32 InputString pointer* pointer*
cst_fetch_request_copy_predicate int32 pointer pointer* pointer*
cst_fetch_request_set_predicate int32 pointer pointer pointer*
cst_sort_set_locale int32 InputString pointer*
cst_sort_copy_locale int32 Buffer* bool* pointer*
cst_sort_values int32 size_t pointer size_t Sort* COMPARE_FN pointer size_t* pointer*
cst_fetch_request_set_sort int32 pointer size_t Sort* pointer*
cst_fetch_request_set_limit int32 pointer uint64 pointer*
cst_fetch_request_set_offset int32 pointer uint64 pointer*
cst_fetch_request_set_includes_subentities int32 pointer bool pointer*
cst_fetch_request_set_includes_pending_changes int32 pointer bool pointer*
cst_fetch_request_set_returns_faults int32 pointer bool pointer*
cst_fetch_request_set_nulls int32 pointer uint32 pointer*
cst_fetch_request_set_allows_split int32 pointer bool pointer*
cst_fetch_request_set_prefetch int32 pointer size_t InputString* pointer*
cst_context_fetch_asynchronously int32 pointer pointer uint64 FETCH_DONE_FN pointer DESTROY_FN pointer* pointer*
cst_asynchronous_fetch_cancel int32 pointer pointer*
cst_asynchronous_fetch_progress int32 pointer uint64* uint64* pointer*
cst_asynchronous_fetch_copy_result int32 pointer RequestResult* pointer*
cst_fetch_request_set_columns int32 pointer size_t Column* pointer*
cst_fetch_request_set_group_by int32 pointer size_t InputString* pointer*
cst_fetch_request_set_having int32 pointer pointer pointer*
cst_fetch_request_set_distinct int32 pointer bool pointer*
cst_fetch_request_new_with_options int32 FetchOptions* pointer* pointer*
cst_coordinator_copy_history_token int32 pointer size_t pointer* pointer* pointer*
cst_history_token_new int32 InputString pointer* pointer*
cst_history_token_new_at int32 InputString int64 pointer* pointer*
cst_history_token_copy_json int32 pointer Buffer* pointer*
cst_history_token_transaction int32 pointer InputString int64* pointer*
cst_history_token_compare int32 pointer pointer int32* pointer*
cst_context_copy_history_token int32 pointer pointer* pointer*
cst_coordinator_fetch_history int32 pointer HistoryOptions* pointer* pointer*
cst_history_cursor_next int32 pointer pointer* pointer*
cst_history_cursor_copy_object_id int32 pointer size_t pointer* pointer*
cst_history_cursor_copy_token int32 pointer pointer* pointer*
cst_coordinator_count_history int32 pointer HistoryOptions* uint64* pointer*
cst_coordinator_fetch_history_ids int32 pointer HistoryOptions* pointer* pointer*
cst_context_merge_history int32 pointer pointer pointer*
cst_history_cursor_wait int32 pointer int64 pointer*
cst_history_cursor_cancel int32 pointer pointer*
cst_history_cursor_descriptor int32 pointer int32* pointer*
cst_history_cursor_copy_value int32 pointer size_t InputString pointer pointer*
cst_coordinator_follow_history int32 pointer HistoryOptions* HISTORY_FN HISTORY_ENDED_FN pointer DESTROY_FN pointer* pointer*
cst_coordinator_open_past int32 pointer pointer size_t pointer* pointer* pointer*
cst_coordinator_open_past_at int32 pointer double size_t pointer* pointer* pointer*
cst_coordinator_copy_past_token int32 pointer pointer* pointer*
cst_coordinator_is_past_complete int32 pointer bool* pointer*
cst_object_is_known int32 pointer uint32 bool* pointer*
cst_object_fetch_history int32 pointer pointer* pointer*
cst_coordinator_fetch_object_history int32 pointer pointer pointer* pointer*
cst_coordinator_diff_history int32 pointer pointer pointer size_t pointer* pointer* pointer*
cst_revisions_count int32 pointer size_t* pointer*
cst_revisions_at int32 pointer size_t pointer* pointer*
cst_revisions_copy_value int32 pointer size_t size_t bool pointer pointer*
cst_revisions_copy_object_id int32 pointer size_t pointer* pointer*
cst_coordinator_delete_history int32 pointer pointer HISTORY_PROGRESS_FN pointer uint64* uint64* pointer*
cst_coordinator_delete_history_before int32 pointer double size_t pointer* HISTORY_PROGRESS_FN pointer uint64* uint64* pointer*
cst_coordinator_register_history_consumer int32 pointer pointer InputString pointer double pointer*
cst_coordinator_move_history_consumer int32 pointer pointer InputString pointer pointer*
cst_coordinator_unregister_history_consumer int32 pointer pointer InputString pointer*
cst_coordinator_copy_history_consumers int32 pointer pointer Buffer* pointer*
cst_coordinator_purge_history int32 pointer pointer HistoryRetention* HISTORY_PROGRESS_FN pointer Buffer* pointer*
cst_coordinator_copy_history_size int32 pointer pointer Buffer* pointer*
cst_merge_policy_new int32 int32 RESOLVE_CONFLICTS_FN pointer DESTROY_FN pointer* pointer*
cst_merge_policy_type int32 pointer
cst_context_set_merge_policy int32 pointer pointer pointer*
cst_context_merge_policy int32 pointer pointer* pointer*
cst_context_detect_conflicts int32 pointer pointer pointer*
cst_error_conflict_count size_t pointer
cst_error_conflict_at pointer pointer size_t
cst_conflict_kind int32 pointer
cst_conflict_message String pointer
cst_conflict_object_count size_t pointer
cst_conflict_object_id_at pointer pointer size_t
cst_conflict_database_id pointer pointer
cst_conflict_old_version int64 pointer
cst_conflict_new_version int64 pointer
cst_conflict_property_count size_t pointer
cst_conflict_property_at String pointer size_t
cst_conflict_value int32 pointer int32 size_t InputString pointer pointer*
cst_conflict_resolve int32 pointer int32 pointer*
cst_context_set_option int32 pointer uint32 int64 pointer*
cst_context_option int32 pointer uint32 int64* pointer*
cst_context_set_call_site int32 pointer InputString uint32 pointer*
cst_context_set_call_site_finder int32 pointer CALL_SITE_FN pointer DESTROY_FN pointer*
cst_context_copy_fault_report int32 pointer uint32 Buffer* pointer*
cst_context_set_inaccessible_fault_handler int32 pointer INACCESSIBLE_FAULT_FN pointer DESTROY_FN pointer*
cst_object_new int32 pointer pointer* pointer*
cst_object_get int32 pointer uint32 pointer pointer*
cst_object_try_get int32 pointer uint32 pointer
cst_object_try_set int32 pointer uint32 pointer
cst_object_get_stamp int32 pointer ObjectStamp* pointer*
cst_object_copy_bytes int32 pointer uint32 Buffer* pointer*
cst_object_set int32 pointer uint32 pointer pointer*
cst_object_get_many int32 pointer size_t uint32* pointer pointer*
cst_object_set_many int32 pointer size_t uint32* pointer pointer*
cst_object_get_path int32 pointer InputString pointer pointer*
cst_object_set_path int32 pointer InputString pointer pointer*
cst_object_get_paths int32 pointer size_t InputString* pointer pointer*
cst_object_set_paths int32 pointer size_t InputString* pointer pointer*
cst_object_set_primitive int32 pointer uint32 pointer pointer*
cst_object_get_committed int32 pointer uint32 pointer pointer*
cst_object_get_transformed int32 pointer uint32 pointer* pointer*
cst_object_set_transformed int32 pointer uint32 pointer pointer*
cst_object_is_changed int32 pointer uint32 bool* pointer*
cst_object_validate int32 pointer uint32 pointer*
cst_object_validate_value int32 pointer uint32 pointer pointer pointer*
cst_object_member_count int32 pointer uint32 size_t* pointer*
cst_object_copy_members int32 pointer uint32 pointer* pointer*
cst_object_copy_fetched int32 pointer InputString pointer* pointer*
cst_object_has_member int32 pointer uint32 pointer bool* pointer*
cst_object_add_member int32 pointer uint32 pointer pointer*
cst_object_add_members int32 pointer uint32 size_t pointer* pointer*
cst_object_remove_member int32 pointer uint32 pointer pointer*
cst_object_set_members int32 pointer uint32 size_t pointer* pointer*
cst_object_insert_member int32 pointer uint32 size_t pointer pointer*
cst_object_entity int32 pointer pointer* pointer*
cst_object_copy_store int32 pointer pointer* pointer*
cst_object_context int32 pointer pointer* pointer*
cst_object_copy_id int32 pointer pointer* pointer*
cst_object_state int32 pointer uint32* pointer*
cst_object_refresh int32 pointer bool pointer*
cst_object_get_primitive int32 pointer uint32 pointer pointer*
cst_object_copy_primitive_members int32 pointer uint32 pointer* pointer*
cst_object_set_primitive_members int32 pointer uint32 size_t pointer* pointer*
cst_object_will_access int32 pointer uint32 pointer*
cst_object_did_access int32 pointer uint32 pointer*
cst_object_will_change int32 pointer uint32 pointer*
cst_object_did_change int32 pointer uint32 pointer*
cst_object_will_change_members int32 pointer uint32 uint32 size_t pointer* pointer*
cst_object_did_change_members int32 pointer uint32 uint32 size_t pointer* pointer*
cst_object_copy_values int32 pointer uint32 size_t uint32* pointer* pointer*
cst_object_has_persistent_changes int32 pointer bool* pointer*
cst_object_copy_related_ids int32 pointer uint32 pointer* pointer*
cst_object_has_relationship_fault int32 pointer uint32 bool* pointer*
cst_object_clone int32 pointer size_t size_t InputString* bool pointer* pointer*
cst_context_observe int32 pointer uint32 CONTEXT_OBSERVE_FN pointer DESTROY_FN pointer* pointer*
cst_object_observe int32 pointer InputString uint32 OBJECT_OBSERVE_FN pointer DESTROY_FN pointer* pointer*
cst_observation_cancel int32 pointer pointer*
cst_object_id_copy_uri int32 pointer Buffer* pointer*
cst_object_id_is_temporary int32 pointer bool* pointer*
cst_object_id_entity int32 pointer pointer* pointer*
cst_object_id_copy_store int32 pointer pointer* pointer*
cst_object_id_equal bool pointer pointer
cst_object_id_hash uint64 pointer
cst_undo_manager_new int32 pointer* pointer*
cst_context_set_undo_manager int32 pointer pointer pointer*
cst_context_copy_undo_manager int32 pointer pointer* pointer*
cst_context_undo int32 pointer pointer*
cst_context_redo int32 pointer pointer*
cst_undo_manager_undo int32 pointer pointer*
cst_undo_manager_undo_nested int32 pointer pointer*
cst_undo_manager_redo int32 pointer pointer*
cst_undo_manager_begin_group int32 pointer pointer*
cst_undo_manager_end_group int32 pointer pointer*
cst_undo_manager_register int32 pointer pointer UNDO_ACTION_FN pointer DESTROY_FN pointer*
cst_undo_manager_remove_all int32 pointer pointer*
cst_undo_manager_remove_target int32 pointer pointer pointer*
cst_undo_manager_disable int32 pointer pointer*
cst_undo_manager_enable int32 pointer pointer*
cst_undo_manager_set_levels int32 pointer size_t pointer*
cst_undo_manager_set_groups_by_event int32 pointer bool pointer*
cst_undo_manager_set_action_name int32 pointer InputString pointer*
cst_undo_manager_copy_text int32 pointer uint32 Buffer* pointer*
cst_undo_manager_state int32 pointer UndoState* pointer*
cst_undo_manager_observe int32 pointer uint32 UNDO_OBSERVE_FN pointer DESTROY_FN pointer* pointer*
cst_predicate_parse int32 InputString size_t pointer pointer* pointer*
cst_predicate_new_compound int32 uint32 size_t pointer* pointer* pointer*
cst_predicate_new_comparison int32 pointer uint32 pointer uint32 uint32 pointer* pointer*
cst_predicate_new_block int32 PREDICATE_BLOCK_FN pointer DESTROY_FN pointer* pointer*
cst_predicate_new_substituted int32 pointer pointer pointer* pointer*
cst_predicate_get_info int32 pointer PredicateInfo* pointer*
cst_predicate_copy_part int32 pointer size_t pointer* pointer*
cst_predicate_copy_side int32 pointer uint32 pointer* pointer*
cst_predicate_copy_format int32 pointer Buffer* pointer*
cst_predicate_equal bool pointer pointer
cst_predicate_hash uint64 pointer
cst_predicate_evaluate int32 pointer pointer bool* pointer*
cst_predicate_evaluate_value int32 pointer pointer pointer bool* pointer*
cst_predicate_filter int32 pointer size_t pointer pointer bool* pointer*
cst_expression_parse int32 InputString size_t pointer pointer* pointer*
cst_expression_new_constant int32 pointer pointer* pointer*
cst_expression_new_self int32 pointer* pointer*
cst_expression_new_variable int32 InputString pointer* pointer*
cst_expression_new_key_path int32 pointer InputString pointer* pointer*
cst_expression_new_function int32 InputString size_t pointer* pointer* pointer*
cst_expression_new_call int32 pointer InputString size_t pointer* pointer* pointer*
cst_expression_new_aggregate int32 size_t pointer* pointer* pointer*
cst_expression_new_subquery int32 pointer InputString pointer pointer* pointer*
cst_expression_new_fetch int32 pointer pointer bool pointer* pointer*
cst_expression_new_conditional int32 pointer pointer pointer pointer* pointer*
cst_expression_new_set_operation int32 uint32 pointer pointer pointer* pointer*
cst_expression_new_block int32 EXPRESSION_BLOCK_FN pointer DESTROY_FN size_t pointer* pointer* pointer*
cst_expression_type int32 pointer uint32* pointer*
cst_expression_copy_constant int32 pointer pointer pointer*
cst_expression_copy_name int32 pointer Buffer* pointer*
cst_expression_copy_operand int32 pointer size_t pointer* pointer*
cst_expression_copy_predicate int32 pointer pointer* pointer*
cst_expression_copy_format int32 pointer Buffer* pointer*
cst_expression_equal bool pointer pointer
cst_expression_hash uint64 pointer
cst_expression_value int32 pointer pointer pointer pointer pointer*
cst_results_count size_t pointer
cst_results_batch_size size_t pointer
cst_results_get_object int32 pointer size_t pointer* pointer*
cst_results_get_objects int32 pointer size_t size_t pointer* size_t* pointer*
cst_results_copy_id int32 pointer size_t pointer* pointer*
cst_results_get_column int32 pointer uint32 size_t size_t pointer size_t* pointer*
cst_results_get_column_path int32 pointer InputString size_t size_t pointer size_t* pointer*
cst_results_copy_filtered int32 pointer pointer pointer pointer* pointer*
cst_results_copy_sorted int32 pointer size_t Sort* COMPARE_FN pointer pointer* pointer*
cst_results_copy_columns int32 pointer size_t size_t size_t uint32* Buffer* pointer*
cst_rows_count size_t pointer
cst_rows_batch_size size_t pointer
cst_rows_column_count size_t pointer
cst_rows_column_name String pointer size_t
cst_rows_copy_values int32 pointer size_t size_t pointer pointer*
cst_context_fetch_arrow int32 pointer pointer size_t uint32 size_t InputString* pointer pointer*
cst_results_export_arrow int32 pointer uint32 size_t InputString* pointer pointer pointer*
cst_results_export_arrow_stream int32 pointer size_t uint32 size_t InputString* pointer pointer*
cst_rows_export_arrow int32 pointer uint32 pointer pointer pointer*
cst_rows_export_arrow_stream int32 pointer size_t uint32 pointer pointer*
cst_arrow_stream_copy int32 pointer pointer pointer*
cst_context_insert_arrow int32 pointer pointer pointer ArrowImportOptions* uint64* pointer*
cst_context_upsert_arrow int32 pointer pointer pointer ArrowImportOptions* uint64* uint64* pointer*
cst_batch_insert_set_arrow int32 pointer pointer ArrowImportOptions* pointer*
cst_store_type_register int32 InputString StoreCallbacks* pointer*
cst_store_type_unregister int32 InputString pointer*
cst_store_type_copy_names int32 Buffer* size_t* pointer*
cst_store_type_copy_metadata int32 InputString InputString Buffer* pointer*
cst_store_type_set_metadata int32 InputString InputString InputString pointer*
cst_row_sink_push int32 pointer size_t Row* pointer*
cst_row_sink_push_members int32 pointer size_t size_t Row* pointer*
cst_save_request_next int32 pointer size_t Row* size_t* pointer*
cst_save_request_add_conflict int32 pointer uint32 Row* pointer*
cst_object_id_reference int32 pointer pointer pointer*
cst_store_new_object_id int32 pointer pointer pointer pointer* pointer*
cst_batch_insert_new int32 pointer pointer* pointer*
cst_batch_insert_set_rows int32 pointer size_t size_t uint32* pointer pointer*
cst_batch_insert_set_columns int32 pointer size_t size_t BatchColumn* pointer*
cst_batch_insert_set_handler int32 pointer size_t uint32* BATCH_ROWS_FN pointer DESTROY_FN pointer*
cst_batch_insert_set_object_handler int32 pointer BATCH_OBJECT_FN pointer DESTROY_FN pointer*
cst_batch_update_new int32 pointer pointer* pointer*
cst_batch_update_set_predicate int32 pointer pointer pointer*
cst_batch_update_set_includes_subentities int32 pointer bool pointer*
cst_batch_update_set int32 pointer InputString pointer pointer*
cst_batch_delete_new int32 pointer pointer* pointer*
cst_batch_delete_new_with_ids int32 size_t pointer* pointer* pointer*
cst_batch_set_stores int32 pointer size_t pointer* pointer*
cst_batch_set_merges int32 pointer bool pointer*
cst_context_execute_batch int32 pointer pointer uint64* pointer* pointer*
cst_context_copy_batch_ids int32 pointer pointer uint32 pointer* pointer*
cst_cursor_copy_next int32 pointer pointer* pointer*
cst_context_observe_fetch int32 pointer pointer InputString size_t InputString* OBSERVE_FETCH_FN pointer DESTROY_FN pointer* pointer*
cst_snapshot_section_count size_t pointer
cst_snapshot_section_name String pointer size_t
cst_snapshot_object_count size_t pointer size_t
cst_snapshot_copy_ids int32 pointer size_t pointer* pointer*
cst_controller_new int32 pointer pointer InputString InputString pointer* pointer*
cst_controller_new_with_sections int32 pointer pointer SECTION_NAME_FN pointer DESTROY_FN pointer* pointer*
cst_controller_set_dependencies int32 pointer size_t InputString* pointer*
cst_controller_set_delegate int32 pointer ControllerDelegate* pointer*
cst_controller_perform_fetch int32 pointer pointer*
cst_controller_copy_snapshot int32 pointer pointer* pointer*
cst_controller_copy_objects int32 pointer size_t pointer* pointer*
cst_controller_copy_object int32 pointer size_t size_t pointer* pointer*
cst_controller_index_path int32 pointer pointer IndexPath* pointer*
cst_controller_copy_title int32 pointer size_t Buffer* pointer*
cst_controller_copy_section_title int32 pointer InputString Buffer* pointer*
cst_controller_section_for_title int32 pointer InputString size_t size_t* pointer*
cst_controller_delete_cache int32 InputString pointer*
"""
