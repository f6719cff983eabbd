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

import atexit
import sys

TYPE_CHECKING = False  # as in `typing`, whose import takes longer than that of this package
if TYPE_CHECKING:
    from . import log
    from ._archived_object import ArchivedObject
    from ._arrow_import import UpsertCounts
    from ._contexts import UnsavedChanges, UnsavedCounts
    from ._editors import Editor
    from ._library import LibraryNotFoundError
    from ._model_files import DraftProblem, ModelVersions
    from ._notifications import ChangedIDs, Notifications
    from ._records import ExactDate
    from ._single_faults import SingleFaults
    from ._sqlite import SQLiteWarning
    from .archive import (
        URL,
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
    from .faulting import InaccessibleFaultHandler
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
    from .live import (
        Difference,
        IDChange,
        IndexPath,
        LiveQuery,
        ObjectChange,
        ResultsChangeKind,
        SectionChange,
        Snapshot,
    )
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
    from .transfer import LoadCounts, dump, load
    from .transformer import raw_value, register_transformer, set_raw_value, unregister_transformer
    from .undo import UndoManager
    from .views import views

    # Not exported by `import *`, because it would hide Python's own `open`.
    open = open_container

__version__ = "0.1.0"

# The modules of the exported names. `import corestone` imports none of them and does not load the library: a name is
# imported when it is first used.
_PLACES = {
    name: module
    for module, names in {
        "_editors": "Editor",
        "_archived_object": "ArchivedObject",
        "_arrow_import": "UpsertCounts",
        "_contexts": "UnsavedChanges UnsavedCounts",
        "_library": "LibraryNotFoundError",
        "_model_files": "DraftProblem ModelVersions",
        "_notifications": "ChangedIDs Notifications",
        "_records": "ExactDate",
        "_single_faults": "SingleFaults",
        "_sqlite": "SQLiteWarning",
        "archive": "URL decode_archive encode_archive register_archivable unregister_archivable",
        "arrow": "ArrowData",
        "asynchronous": "AsynchronousFetch FetchProgress",
        "batch": "BatchDeleteRequest BatchInsertRequest BatchUpdateRequest",
        "checking": "Comparison Leftovers Problem check compare leftovers remove_leftovers",
        "codes": (
            "Aggregate AttributeType ContextNotification CoordinatorNotification CoreDataCode DeleteRule "
            "HistoryChangeKind ProblemKind SnapshotEvents Status StoreFile UndoNotification ValueChangeKind"
        ),
        "collections": "ToManyList ToManySet",
        "container": "Container StoreDescription data_folder open_container",
        "context": "Context",
        "controller": "FetchedResultsController ResultsSection",
        "coordinator": (
            "AppleCheck AppleFinding Checkpoint Coordinator Statistics Store check_apple metadata set_metadata"
        ),
        "cursor": "Cursor",
        "document": "Document DocumentState",
        "entity": "Entity",
        "errors": (
            "CallbackError CancelledError ConflictError CorestoneError ForkedError HistoryTokenExpiredError "
            "HistoryTokenStoreError InternalError InvalidArgumentError InvalidHandleError InvalidUTF8Error "
            "MigrationError ModelError ModelMismatchError NotAStoreError NumberRangeError ObjectGoneError "
            "OutOfMemoryError PredicateError PredicateSyntaxError StoreBusyError StoreCorruptError StoreError "
            "StoreReadOnlyError TypeMismatchError UnsavedChangesError UnsavedChangesWarning UnsupportedError "
            "ValidationError WrongThreadError"
        ),
        "explanation": "FetchExplanation FetchShare FetchStep",
        "expression": "Expression ExpressionType",
        "faulting": "InaccessibleFaultHandler",
        "function": "register_function unregister_function",
        "generation": "QueryGeneration",
        "history": (
            "DeletedHistory HistoryChange HistoryConsumer HistoryCursor HistoryPurge HistoryRetention "
            "HistorySize HistoryToken HistoryTransaction"
        ),
        "host_store": (
            "AtomicStore AtomicStoreCacheNode Fetched HostStore IncrementalStore IncrementalStoreNode "
            "MemberChange RowID SaveChangesRequest StoreOpening UpdatedNode register_store_type "
            "registered_store_types unregister_store_type"
        ),
        "key_value": "set_nil set_value_for_key_path value_for_key_path",
        "live": "Difference IDChange IndexPath LiveQuery ObjectChange ResultsChangeKind SectionChange Snapshot",
        "mapping": "EntityMapping MappingModel PropertyMapping",
        "merging": "ConflictKind ConstraintConflict MergeConflict MergePolicy MergePolicyType PropertyDifference",
        "migration": "EntityMigration MigrationPlan MigrationProblem backups migration_plan",
        "migration_guard": "MigrationFinding ModelRelease check_migration",
        "migration_manager": (
            "MigrationManager MigrationPolicy is_migration_policy_registered register_migration_policy "
            "unregister_migration_policy"
        ),
        "model": "LintFinding Model ModelChange",
        "object": "ManagedObject",
        "object_id": "ObjectID",
        "observation": "ContextChanges Observation RemoteChange StoreChanges StoreReplacement ValueChange",
        "past": "UNKNOWN Revision RevisionValue Unknown",
        "predicate": "CompareOptions CompoundType Modifier Operator Predicate PredicateKind",
        "property": "PropertyDescription",
        "query": "Attribute Key ToMany Value key",
        "queue": "MainQueue main_queue",
        "request": "FetchRequest PersistentStoreRequest",
        "results": "Results",
        "rows": "ExpressionDescription LazyRows",
        "sort": "Sort SortDescriptor SortKey set_sort_locale sort sort_locale",
        "staged_migration": "MigrationStage ModelReference validate_stages",
        "transfer": "LoadCounts dump load",
        "transformer": "raw_value register_transformer set_raw_value unregister_transformer",
        "undo": "UndoManager",
        "views": "views",
    }.items()
    for name in names.split()
}
# Names that `import *` does not import.
_ALIASES = {"open": ("container", "open_container")}


class _Package(type(sys)):  # type: ignore[misc]
    """The class of this module. An import of a module does not hide the function of the same name, such as `sort`."""

    def __setattr__(self, name: str, value: object) -> None:
        if _PLACES.get(name) != name or not isinstance(value, type(sys)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package

if not TYPE_CHECKING:

    def __getattr__(name):
        """Imports an exported name, or a module of the package, when it is first used."""
        if name.startswith("__"):
            raise AttributeError(f'the module corestone does not have an attribute "{name}"')
        from importlib import import_module

        module, attribute = _ALIASES.get(name) or (_PLACES.get(name), name)
        if module is not None:
            found = getattr(import_module(f"{__name__}.{module}"), attribute)
        else:
            try:
                found = import_module(f"{__name__}.{name}")
            except ModuleNotFoundError as failure:
                if failure.name != f"{__name__}.{name}":
                    raise
                raise AttributeError(f'the module corestone does not have an attribute "{name}"') from None
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES, *_ALIASES})


def library_version() -> str:
    """Returns the version of the loaded library."""
    from . import _abi

    return _abi.decode(_abi.lib.cst_version_string()) or ""


def handle_count() -> int:
    """Returns the number of live handles of the library in this process, for leak checks."""
    from . import _abi

    return int(_abi.lib.cst_handle_count())


def _end() -> None:
    """Warns of unsaved changes that are lost at interpreter exit, if the program used the library."""
    if f"{__name__}.coordinator" in sys.modules:
        from ._at_exit import end

        end()


# Functions that the program registers with atexit after this import run earlier, and may save the changes.
atexit.register(_end)

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
    "Editor",
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
    "dump",
    "load",
    "LoadCounts",
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
