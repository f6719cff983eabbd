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
    from importlib.machinery import ModuleSpec
    from typing import Any

    from . import log
    from ._abi.library import LibraryNotFoundError
    from ._abi.sqlite import SQLiteWarning
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
    from .graph.arrow import ArrowData
    from .graph.arrow_import import UpsertCounts
    from .graph.asynchronous import AsynchronousFetch, FetchProgress
    from .graph.batch import BatchDeleteRequest, BatchInsertRequest, BatchUpdateRequest
    from .graph.collections import ToManyList, ToManySet
    from .graph.context import Context
    from .graph.context_editors import Editor
    from .graph.controller import FetchedResultsController, ResultsSection
    from .graph.cursor import Cursor
    from .graph.explanation import FetchExplanation, FetchShare, FetchStep
    from .graph.faulting import InaccessibleFaultHandler
    from .graph.generation import QueryGeneration
    from .graph.history import (
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
    from .graph.key_value import set_nil, set_value_for_key_path, value_for_key_path
    from .graph.live import (
        Difference,
        IDChange,
        IndexPath,
        LiveQuery,
        ObjectChange,
        ResultsChangeKind,
        SectionChange,
        Snapshot,
    )
    from .graph.merging import (
        Conflict,
        ConflictKind,
        ConstraintConflict,
        MergeConflict,
        MergePolicy,
        MergePolicyType,
        PropertyDifference,
    )
    from .graph.notifications import ChangedIDs, Notifications
    from .graph.object import DynamicObject, ManagedObject
    from .graph.object_id import ObjectID
    from .graph.observation import (
        ContextChanges,
        Observation,
        RemoteChange,
        StoreChanges,
        StoreReplacement,
        ValueChange,
    )
    from .graph.owners import UnsavedChanges, UnsavedCounts
    from .graph.queue import MainQueue, main_queue
    from .graph.request import FetchRequest, PersistentStoreRequest
    from .graph.results import Results
    from .graph.rows import ExpressionDescription, LazyRows
    from .graph.single_faults import SingleFaults
    from .graph.undo import UndoManager
    from .model.archive import URL, decode_archive, encode_archive, register_archivable, unregister_archivable
    from .model.archived_object import ArchivedObject
    from .model.entity import Entity
    from .model.files import DraftProblem, ModelVersions
    from .model.model import LintFinding, Model, ModelChange
    from .model.property import PropertyDescription
    from .model.transformer import raw_value, register_transformer, set_raw_value, unregister_transformer
    from .predicate.expression import Expression, ExpressionType
    from .predicate.function import register_function, unregister_function
    from .predicate.predicate import CompareOptions, CompoundType, Modifier, Operator, Predicate, PredicateKind
    from .predicate.query import Attribute, Key, ToMany, Value, key
    from .predicate.sort import Sort, SortDescriptor, SortKey, set_sort_locale, sort, sort_locale
    from .stores.apple_check import AppleCheck, AppleFinding, check_apple
    from .stores.checking import Comparison, Leftovers, Problem, check, compare, leftovers, remove_leftovers
    from .stores.container import Container, StoreDescription, data_folder, open_container
    from .stores.coordinator import Coordinator, Statistics
    from .stores.coordinator_stores import Checkpoint
    from .stores.document import Document, DocumentState
    from .stores.host_store import (
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
    from .stores.mapping import EntityMapping, MappingModel, PropertyMapping
    from .stores.metadata import metadata, set_metadata
    from .stores.migration import EntityMigration, MigrationPlan, MigrationProblem, backups, migration_plan
    from .stores.migration_guard import MigrationFinding, ModelRelease, check_migration
    from .stores.migration_manager import (
        MigrationManager,
        MigrationPolicy,
        is_migration_policy_registered,
        register_migration_policy,
        unregister_migration_policy,
    )
    from .stores.past import UNKNOWN, Revision, RevisionValue, Unknown
    from .stores.records import ExactDate
    from .stores.staged_migration import MigrationStage, ModelReference, validate_stages
    from .stores.store import Store
    from .stores.transfer import LoadCounts, dump, load
    from .stores.views import views

    # Not exported by `import *`, because it would hide Python's own `open`.
    open = open_container

__version__ = "0.1.0"

# The modules of the exported names. `import corestone` imports none of them and does not load the library: a name is
# imported when it is first used.
_PLACES = {
    name: module
    for module, names in {
        "graph.context_editors": "Editor",
        "model.archived_object": "ArchivedObject",
        "graph.arrow_import": "UpsertCounts",
        "graph.owners": "UnsavedChanges UnsavedCounts",
        "_abi.library": "LibraryNotFoundError",
        "model.files": "DraftProblem ModelVersions",
        "graph.notifications": "ChangedIDs Notifications",
        "stores.records": "ExactDate",
        "graph.single_faults": "SingleFaults",
        "_abi.sqlite": "SQLiteWarning",
        "model.archive": "URL decode_archive encode_archive register_archivable unregister_archivable",
        "graph.arrow": "ArrowData",
        "graph.asynchronous": "AsynchronousFetch FetchProgress",
        "graph.batch": "BatchDeleteRequest BatchInsertRequest BatchUpdateRequest",
        "stores.checking": "Comparison Leftovers Problem check compare leftovers remove_leftovers",
        "codes": (
            "Aggregate AttributeType ContextNotification CoordinatorNotification CoreDataCode DeleteRule "
            "HistoryChangeKind ProblemKind SnapshotEvents Status StoreFile UndoNotification ValueChangeKind"
        ),
        "graph.collections": "ToManyList ToManySet",
        "stores.container": "Container StoreDescription data_folder open_container",
        "graph.context": "Context",
        "graph.controller": "FetchedResultsController ResultsSection",
        "stores.apple_check": "AppleCheck AppleFinding check_apple",
        "stores.coordinator": "Coordinator Statistics",
        "stores.coordinator_stores": "Checkpoint",
        "stores.metadata": "metadata set_metadata",
        "stores.store": "Store",
        "graph.cursor": "Cursor",
        "stores.document": "Document DocumentState",
        "model.entity": "Entity",
        "errors": (
            "CallbackError CancelledError ConflictError CorestoneError ForkedError HistoryTokenExpiredError "
            "HistoryTokenStoreError InternalError InvalidArgumentError InvalidHandleError InvalidUTF8Error "
            "MigrationError ModelError ModelMismatchError NotAStoreError NumberRangeError ObjectGoneError "
            "OutOfMemoryError PredicateError PredicateSyntaxError StoreBusyError StoreCorruptError StoreError "
            "StoreReadOnlyError TypeMismatchError UnsavedChangesError UnsavedChangesWarning UnsupportedError "
            "ValidationError WrongThreadError"
        ),
        "graph.explanation": "FetchExplanation FetchShare FetchStep",
        "predicate.expression": "Expression ExpressionType",
        "graph.faulting": "InaccessibleFaultHandler",
        "predicate.function": "register_function unregister_function",
        "graph.generation": "QueryGeneration",
        "graph.history": (
            "DeletedHistory HistoryChange HistoryConsumer HistoryCursor HistoryPurge HistoryRetention "
            "HistorySize HistoryToken HistoryTransaction"
        ),
        "stores.host_store": (
            "AtomicStore AtomicStoreCacheNode Fetched HostStore IncrementalStore IncrementalStoreNode "
            "MemberChange RowID SaveChangesRequest StoreOpening UpdatedNode register_store_type "
            "registered_store_types unregister_store_type"
        ),
        "graph.key_value": "set_nil set_value_for_key_path value_for_key_path",
        "graph.live": "Difference IDChange IndexPath LiveQuery ObjectChange ResultsChangeKind SectionChange Snapshot",
        "stores.mapping": "EntityMapping MappingModel PropertyMapping",
        "graph.merging": (
            "Conflict ConflictKind ConstraintConflict MergeConflict MergePolicy MergePolicyType PropertyDifference"
        ),
        "stores.migration": "EntityMigration MigrationPlan MigrationProblem backups migration_plan",
        "stores.migration_guard": "MigrationFinding ModelRelease check_migration",
        "stores.migration_manager": (
            "MigrationManager MigrationPolicy is_migration_policy_registered register_migration_policy "
            "unregister_migration_policy"
        ),
        "model.model": "LintFinding Model ModelChange",
        "graph.object": "DynamicObject ManagedObject",
        "graph.object_id": "ObjectID",
        "graph.observation": "ContextChanges Observation RemoteChange StoreChanges StoreReplacement ValueChange",
        "stores.past": "UNKNOWN Revision RevisionValue Unknown",
        "predicate.predicate": "CompareOptions CompoundType Modifier Operator Predicate PredicateKind",
        "model.property": "PropertyDescription",
        "predicate.query": "Attribute Key ToMany Value key",
        "graph.queue": "MainQueue main_queue",
        "graph.request": "FetchRequest PersistentStoreRequest",
        "graph.results": "Results",
        "graph.rows": "ExpressionDescription LazyRows",
        "predicate.sort": "Sort SortDescriptor SortKey set_sort_locale sort sort_locale",
        "stores.staged_migration": "MigrationStage ModelReference validate_stages",
        "stores.transfer": "LoadCounts dump load",
        "model.transformer": "raw_value register_transformer set_raw_value unregister_transformer",
        "graph.undo": "UndoManager",
        "stores.views": "views",
    }.items()
    for name in names.split()
}
# Names that `import *` does not import.
_ALIASES = {"open": ("stores.container", "open_container")}


def _find_former(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
    """Finds a module by the path that it had before the package had rooms, such as corestone.context."""
    if not name.startswith(f"{__name__}."):
        return None
    from ._former import find

    return find(name)


_former_paths: Any = type(sys)(f"{__name__}._former_paths")  # a finder; a class takes longer to make
_former_paths.find_spec = _find_former
# Last, so that it is asked only for modules that nothing else finds.
sys.meta_path.append(_former_paths)

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
    if f"{__name__}.stores.coordinator" in sys.modules:
        from .stores.at_exit import end

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
    "DynamicObject",
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
    "Conflict",
    "ConflictKind",
    "ConstraintConflict",
    "MergeConflict",
    "MergePolicy",
    "MergePolicyType",
    "PropertyDifference",
]
