"""The statuses of the library, Core Data's error codes, and other enumerations."""

from __future__ import annotations

import enum


class Status(enum.IntEnum):
    """The kinds of failures: `CorestoneError.status`."""

    INTERNAL = -1
    INVALID_ARGUMENT = -2
    INVALID_HANDLE = -3
    WRONG_THREAD = -4
    INVALID_UTF8 = -5
    TYPE_MISMATCH = -6
    NO_MEMORY = -7
    CALLBACK = -8
    UNSUPPORTED = -9
    FORKED = -10
    CANCELLED = -11
    VALIDATION = -100
    CONFLICT = -101
    OBJECT_GONE = -102
    UNSAVED_CHANGES = -103
    PREDICATE_SYNTAX = -200
    PREDICATE = -201
    STORE_IO = -300
    STORE_BUSY = -301
    STORE_CORRUPT = -302
    STORE_READ_ONLY = -303
    NOT_A_STORE = -304
    MODEL_MISMATCH = -400
    MIGRATION = -401
    MODEL = -402


class CoreDataCode(enum.IntEnum):
    """Core Data's codes in NSCocoaErrorDomain: `CorestoneError.code`, 0 if Core Data has no code."""

    MANAGED_OBJECT_VALIDATION = 1550
    MANAGED_OBJECT_CONSTRAINT_VALIDATION = 1551
    VALIDATION_MULTIPLE_ERRORS = 1560
    VALIDATION_MISSING_MANDATORY_PROPERTY = 1570
    VALIDATION_RELATIONSHIP_LACKS_MINIMUM_COUNT = 1580
    VALIDATION_RELATIONSHIP_EXCEEDS_MAXIMUM_COUNT = 1590
    VALIDATION_RELATIONSHIP_DENIED_DELETE = 1600
    VALIDATION_NUMBER_TOO_LARGE = 1610
    VALIDATION_NUMBER_TOO_SMALL = 1620
    VALIDATION_DATE_TOO_LATE = 1630
    VALIDATION_DATE_TOO_SOON = 1640
    VALIDATION_INVALID_DATE = 1650
    VALIDATION_STRING_TOO_LONG = 1660
    VALIDATION_STRING_TOO_SHORT = 1670
    VALIDATION_STRING_PATTERN_MATCHING = 1680
    VALIDATION_INVALID_URI = 1690
    MANAGED_OBJECT_CONTEXT_LOCKING = 132000
    PERSISTENT_STORE_COORDINATOR_LOCKING = 132010
    MANAGED_OBJECT_REFERENTIAL_INTEGRITY = 133000
    MANAGED_OBJECT_EXTERNAL_RELATIONSHIP = 133010
    MANAGED_OBJECT_MERGE = 133020
    MANAGED_OBJECT_CONSTRAINT_MERGE = 133021
    PERSISTENT_STORE_INVALID_TYPE = 134000
    PERSISTENT_STORE_TYPE_MISMATCH = 134010
    PERSISTENT_STORE_INCOMPATIBLE_SCHEMA = 134020
    PERSISTENT_STORE_SAVE = 134030
    PERSISTENT_STORE_INCOMPLETE_SAVE = 134040
    PERSISTENT_STORE_SAVE_CONFLICTS = 134050
    CORE_DATA = 134060
    PERSISTENT_STORE_OPERATION = 134070
    PERSISTENT_STORE_OPEN = 134080
    PERSISTENT_STORE_TIMEOUT = 134090
    PERSISTENT_STORE_UNSUPPORTED_REQUEST_TYPE = 134091
    PERSISTENT_STORE_INCOMPATIBLE_VERSION_HASH = 134100
    MIGRATION = 134110
    MIGRATION_CONSTRAINT_VIOLATION = 134111
    MIGRATION_CANCELLED = 134120
    MIGRATION_MISSING_SOURCE_MODEL = 134130
    MIGRATION_MISSING_MAPPING_MODEL = 134140
    MIGRATION_MANAGER_SOURCE_STORE = 134150
    MIGRATION_MANAGER_DESTINATION_STORE = 134160
    ENTITY_MIGRATION_POLICY = 134170
    SQLITE = 134180
    INFERRED_MAPPING_MODEL = 134190
    EXTERNAL_RECORD_IMPORT = 134200
    PERSISTENT_HISTORY_TOKEN_EXPIRED = 134301
    PERSISTENT_HISTORY_TOKEN_STORE = 134501
    MANAGED_OBJECT_MODEL_REFERENCE_NOT_FOUND = 134504
    STAGED_MIGRATION_FRAMEWORK_VERSION_MISMATCH = 134505
    STAGED_MIGRATION_BACKWARD_MIGRATION = 134506


class AttributeType(enum.IntEnum):
    """Core Data's codes of attribute types."""

    UNDEFINED = 0
    INTEGER_16 = 100
    INTEGER_32 = 200
    INTEGER_64 = 300
    DECIMAL = 400
    DOUBLE = 500
    FLOAT = 600
    STRING = 700
    BOOLEAN = 800
    DATE = 900
    BINARY = 1000
    UUID = 1100
    URI = 1200
    TRANSFORMABLE = 1800
    OBJECT_ID = 2000
    COMPOSITE = 2100


class ProblemKind(enum.IntEnum):
    """The kinds of problems that `corestone.check` finds in a store."""

    DATABASE = 1  # the SQLite database itself is damaged
    ROW = 2  # a row does not belong to an entity of its table, or lacks its version or primary key
    REFERENCE = 3  # the target of a to-one relationship does not exist or is of another entity
    PAIR = 4  # a join row of a many-to-many relationship refers to a missing row
    PRIMARY_KEY = 5  # a primary key would be assigned again
    METADATA = 6  # the metadata contradicts itself or the store's model, or the model does not match the store
    EXTERNAL_DATA = 7  # a backing file is missing
    HISTORY = 8  # the history refers to missing data
    CONSTRAINT = 9  # values of a unique constraint are duplicated, or the file lacks the index that enforces it
    DERIVED = 10  # a derived attribute has a wrong value, or the file lacks the triggers that compute it
    SPATIAL = 11  # an R-tree index lacks objects, or the file lacks the triggers that update it
    SPEED = 12  # an index is missing, so fetches may be slow: a warning
    LOG = 13  # the write-ahead log is damaged: changes saved in it cannot be read
    TRIGGER = 14  # a trigger is not Core Data's, so the store opens read-only: a warning


class SnapshotEvents(enum.IntFlag):
    """The reasons why all values of an object were replaced: `ManagedObject.awake_from_snapshot_events`."""

    UNDO_INSERTION = 2
    UNDO_DELETION = 4
    UNDO_UPDATE = 8
    ROLLBACK = 16
    REFRESH = 32
    MERGE_POLICY = 64


class ContextNotification(enum.IntEnum):
    """The notifications of a context."""

    WILL_SAVE = 1  # a save begins; further changes are saved too
    DID_SAVE = 2  # the save is complete
    OBJECTS_DID_CHANGE = 3  # pending changes were processed, or objects refreshed or invalidated
    DID_SAVE_OBJECT_IDS = 4  # like DID_SAVE, as IDs
    DID_MERGE_OBJECT_IDS = 5  # changes from outside the context were merged into it; as IDs


class CoordinatorNotification(enum.IntEnum):
    """The notifications of a coordinator."""

    STORES_DID_CHANGE = 1  # a store was added, removed or replaced by another one
    WILL_REMOVE_STORE = 2  # a store is about to be removed; it is still open and its objects can be read
    REMOTE_CHANGE = 3  # another process, or another coordinator of this process, wrote to a store


class StoreFile(enum.IntEnum):
    """The events of a store's file."""

    WRITTEN = 0
    REPLACED = 1  # another file now has the name; the store continues with the file that it opened
    REMOVED = 2  # the name no longer exists


class ValueChangeKind(enum.IntEnum):
    """The kinds of changes of a property."""

    SETTING = 1
    INSERTION = 2  # members were added
    REMOVAL = 3  # members were removed
    REPLACEMENT = 4  # members were replaced or reordered


class HistoryChangeKind(enum.IntEnum):
    """The kinds of changes in a history."""

    INSERT = 0
    UPDATE = 1
    DELETE = 2


class DeleteRule(enum.IntEnum):
    """The effects of deleting an object on the targets of a relationship."""

    NO_ACTION = 0
    NULLIFY = 1
    CASCADE = 2
    DENY = 3


class UndoNotification(enum.IntEnum):
    """The notifications of an undo manager."""

    CHECKPOINT = 1  # before a group is opened or closed, and before an undo or redo: register collected actions now
    DID_OPEN_GROUP = 2
    WILL_CLOSE_GROUP = 3
    DID_CLOSE_GROUP = 4
    WILL_UNDO = 5
    DID_UNDO = 6
    WILL_REDO = 7
    DID_REDO = 8


class Aggregate(enum.IntEnum):
    """The aggregate functions of Context.aggregate."""

    COUNT = 1
    SUM = 2
    AVERAGE = 3
    MINIMUM = 4
    MAXIMUM = 5
    MEDIAN = 6
    DEVIATION = 7
