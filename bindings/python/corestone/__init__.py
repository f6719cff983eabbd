"""The Python binding of Corestone: Core Data for every language.

A complete example, from a model to saved objects:

    from corestone import Container, Model

    model = Model({"Person": {"name": "string", "age": "int = 0"}})
    with Container(model, "people.store") as container:
        ctx = container.context()
        ctx.insert("Person", name="Ada", age=36)
        ctx.save()
        for person in ctx.fetch("Person", "age > %d", 30, sort=["name"]):
            print(person.name, person.age)
"""

from __future__ import annotations

from . import _abi, log
from . import _at_exit as _at_exit
from ._arrow_import import UpsertCounts
from ._contexts import UnsavedChanges, UnsavedCounts
from ._library import LibraryNotFoundError
from ._model_files import DraftProblem, ModelVersions
from ._notifications import ChangedIDs, Notifications
from ._records import ExactDate
from ._sqlite import SQLiteWarning
from .archive import (
    URL,
    ArchivedObject,
    decode_archive,
    encode_archive,
    register_archivable,
    unregister_archivable,
)
from .arrow import ArrowData
from .asynchronous import AsynchronousFetch, FetchProgress
from .batch import BatchDeleteRequest, BatchInsertRequest, BatchUpdateRequest
from .checking import Comparison, Leftovers, Problem, check, compare, leftovers, remove_leftovers
from .codes import (
    Aggregate,
    AttributeType,
    ContextNotification,
    CoordinatorNotification,
    CoreDataCode,
    DeleteRule,
    HistoryChangeKind,
    ProblemKind,
    SnapshotEvents,
    Status,
    StoreFile,
    UndoNotification,
    ValueChangeKind,
)
from .collections import ToManyList, ToManySet
from .container import Container, StoreDescription, data_folder, open_container
from .context import Context
from .controller import FetchedResultsController, ResultsSection
from .coordinator import (
    AppleCheck,
    AppleFinding,
    Checkpoint,
    Coordinator,
    Statistics,
    Store,
    check_apple,
    metadata,
    set_metadata,
)
from .cursor import Cursor
from .document import Document, DocumentState
from .entity import Entity
from .errors import (
    CallbackError,
    CancelledError,
    ConflictError,
    CorestoneError,
    ForkedError,
    HistoryTokenExpiredError,
    HistoryTokenStoreError,
    InternalError,
    InvalidArgumentError,
    InvalidHandleError,
    InvalidUTF8Error,
    MigrationError,
    ModelError,
    ModelMismatchError,
    NotAStoreError,
    NumberRangeError,
    ObjectGoneError,
    OutOfMemoryError,
    PredicateError,
    PredicateSyntaxError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreReadOnlyError,
    TypeMismatchError,
    UnsavedChangesError,
    UnsavedChangesWarning,
    UnsupportedError,
    ValidationError,
    WrongThreadError,
)
from .explanation import FetchExplanation, FetchShare, FetchStep
from .expression import Expression, ExpressionType
from .faulting import InaccessibleFaultHandler, SingleFaults
from .function import register_function, unregister_function
from .generation import QueryGeneration
from .history import (
    DeletedHistory,
    HistoryChange,
    HistoryConsumer,
    HistoryCursor,
    HistoryPurge,
    HistoryRetention,
    HistorySize,
    HistoryToken,
    HistoryTransaction,
)
from .host_store import (
    AtomicStore,
    AtomicStoreCacheNode,
    Fetched,
    HostStore,
    IncrementalStore,
    IncrementalStoreNode,
    MemberChange,
    RowID,
    SaveChangesRequest,
    StoreOpening,
    UpdatedNode,
    register_store_type,
    registered_store_types,
    unregister_store_type,
)
from .key_value import set_nil, set_value_for_key_path, value_for_key_path
from .live import Difference, IDChange, IndexPath, LiveQuery, ObjectChange, ResultsChangeKind, SectionChange, Snapshot
from .mapping import EntityMapping, MappingModel, PropertyMapping
from .merging import (
    ConflictKind,
    ConstraintConflict,
    MergeConflict,
    MergePolicy,
    MergePolicyType,
    PropertyDifference,
)
from .migration import EntityMigration, MigrationPlan, MigrationProblem, backups, migration_plan
from .migration_guard import MigrationFinding, ModelRelease, check_migration
from .migration_manager import (
    MigrationManager,
    MigrationPolicy,
    is_migration_policy_registered,
    register_migration_policy,
    unregister_migration_policy,
)
from .model import LintFinding, Model, ModelChange
from .object import ManagedObject
from .object_id import ObjectID
from .observation import ContextChanges, Observation, RemoteChange, StoreChanges, StoreReplacement, ValueChange
from .past import UNKNOWN, Revision, RevisionValue, Unknown
from .predicate import CompareOptions, CompoundType, Modifier, Operator, Predicate, PredicateKind
from .property import PropertyDescription
from .query import Attribute, Key, ToMany, Value, key
from .queue import MainQueue, main_queue
from .request import FetchRequest, PersistentStoreRequest
from .results import Results
from .rows import ExpressionDescription, LazyRows
from .sort import Sort, SortDescriptor, SortKey, set_sort_locale, sort, sort_locale
from .staged_migration import MigrationStage, ModelReference, validate_stages
from .transformer import raw_value, register_transformer, set_raw_value, unregister_transformer
from .undo import UndoManager
from .views import views

__version__ = "0.1.0"


def library_version() -> str:
    """Returns the version of the loaded library."""
    return _abi.decode(_abi.lib.cst_version_string()) or ""


# Not exported by `import *`, because it would hide Python's own `open`.
open = open_container


def handle_count() -> int:
    """Returns the number of live handles of the library in this process, for leak checks."""
    return int(_abi.lib.cst_handle_count())


__all__ = [
    "FetchedResultsController",
    "ResultsSection",
    "Difference",
    "IDChange",
    "IndexPath",
    "LiveQuery",
    "ObjectChange",
    "ResultsChangeKind",
    "SectionChange",
    "Snapshot",
    "EntityMapping",
    "MappingModel",
    "PropertyMapping",
    "LintFinding",
    "DraftProblem",
    "Model",
    "ModelChange",
    "ModelVersions",
    "Entity",
    "PropertyDescription",
    "AttributeType",
    "DeleteRule",
    "SnapshotEvents",
    "Container",
    "StoreDescription",
    "Document",
    "DocumentState",
    "ExactDate",
    "UnsavedChanges",
    "data_folder",
    "metadata",
    "EntityMigration",
    "MigrationPlan",
    "MigrationProblem",
    "migration_plan",
    "backups",
    "MigrationFinding",
    "ModelRelease",
    "check_migration",
    "MigrationManager",
    "MigrationPolicy",
    "register_migration_policy",
    "unregister_migration_policy",
    "is_migration_policy_registered",
    "MigrationStage",
    "ModelReference",
    "validate_stages",
    "set_metadata",
    "Checkpoint",
    "check_apple",
    "AppleCheck",
    "AppleFinding",
    "check",
    "Problem",
    "ProblemKind",
    "compare",
    "Comparison",
    "views",
    "leftovers",
    "remove_leftovers",
    "Leftovers",
    "Coordinator",
    "Statistics",
    "SingleFaults",
    "InaccessibleFaultHandler",
    "FetchExplanation",
    "FetchRequest",
    "FetchProgress",
    "AsynchronousFetch",
    "BatchInsertRequest",
    "BatchUpdateRequest",
    "BatchDeleteRequest",
    "FetchShare",
    "FetchStep",
    "log",
    "Store",
    "HostStore",
    "IncrementalStore",
    "IncrementalStoreNode",
    "AtomicStore",
    "AtomicStoreCacheNode",
    "Fetched",
    "UpdatedNode",
    "MemberChange",
    "RowID",
    "StoreOpening",
    "PersistentStoreRequest",
    "SaveChangesRequest",
    "register_store_type",
    "registered_store_types",
    "unregister_store_type",
    "Context",
    "UndoManager",
    "UndoNotification",
    "ManagedObject",
    "ObjectID",
    "Notifications",
    "Observation",
    "ChangedIDs",
    "ContextChanges",
    "ContextNotification",
    "QueryGeneration",
    "CoordinatorNotification",
    "HistoryConsumer",
    "HistoryCursor",
    "HistoryPurge",
    "HistoryRetention",
    "HistorySize",
    "HistoryTransaction",
    "Revision",
    "RevisionValue",
    "UNKNOWN",
    "Unknown",
    "HistoryChange",
    "HistoryChangeKind",
    "HistoryToken",
    "DeletedHistory",
    "StoreChanges",
    "RemoteChange",
    "StoreFile",
    "StoreReplacement",
    "ValueChange",
    "ValueChangeKind",
    "Results",
    "ExpressionDescription",
    "LazyRows",
    "Aggregate",
    "Cursor",
    "ArrowData",
    "UpsertCounts",
    "ToManySet",
    "ToManyList",
    "Predicate",
    "PredicateKind",
    "CompoundType",
    "Operator",
    "Modifier",
    "CompareOptions",
    "Expression",
    "ExpressionType",
    "Key",
    "Value",
    "key",
    "Attribute",
    "ToMany",
    "register_function",
    "unregister_function",
    "value_for_key_path",
    "set_value_for_key_path",
    "set_nil",
    "Sort",
    "SortDescriptor",
    "SortKey",
    "sort",
    "sort_locale",
    "set_sort_locale",
    "MainQueue",
    "main_queue",
    "Status",
    "CoreDataCode",
    "CorestoneError",
    "CallbackError",
    "CancelledError",
    "ConflictError",
    "ForkedError",
    "HistoryTokenExpiredError",
    "HistoryTokenStoreError",
    "InternalError",
    "InvalidArgumentError",
    "InvalidHandleError",
    "InvalidUTF8Error",
    "LibraryNotFoundError",
    "SQLiteWarning",
    "MigrationError",
    "ModelError",
    "ModelMismatchError",
    "NotAStoreError",
    "NumberRangeError",
    "ObjectGoneError",
    "OutOfMemoryError",
    "PredicateError",
    "PredicateSyntaxError",
    "StoreBusyError",
    "StoreCorruptError",
    "StoreError",
    "StoreReadOnlyError",
    "TypeMismatchError",
    "UnsavedChangesError",
    "UnsavedChangesWarning",
    "UnsavedCounts",
    "UnsupportedError",
    "ValidationError",
    "WrongThreadError",
    "decode_archive",
    "encode_archive",
    "ArchivedObject",
    "URL",
    "register_archivable",
    "unregister_archivable",
    "register_transformer",
    "unregister_transformer",
    "raw_value",
    "set_raw_value",
    "library_version",
    "handle_count",
    "__version__",
    "ConflictKind",
    "ConstraintConflict",
    "MergeConflict",
    "MergePolicy",
    "MergePolicyType",
    "PropertyDifference",
]
