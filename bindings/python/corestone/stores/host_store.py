"""Custom stores, written in Python: docs/HOST-STORES.md.

An IncrementalStore loads data when contexts need it, for example from a service, a database or a folder of files. An
AtomicStore, for example for a file format, loads all of its objects when it is opened, and writes all of them at each
save.

    @corestone.register_store_type("Notes")
    class NotesStore(corestone.IncrementalStore):
        def load_metadata(self): ...
        def execute_fetch(self, request): ...
        def new_values(self, ids): ...
        def save(self, request): ...

    Container(model, "https://…", type="Notes")

Methods run on the thread of the call that needs them, one at a time for each store unless `parallel_reads` is set;
did_register and did_unregister may run at any time. Methods must not use contexts or coordinators. An exception in a
method becomes a detail of a CallbackError. The cause of the detail is the exception. The message of the detail contains
the traceback, unless the exception is a CorestoneError.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from ctypes import byref
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, TypeVar, Union, overload

from .. import _abi
from .._abi import lib
from .._abi.arguments import choice, shown
from .._abi.call import call
from .._abi.checked import Checked
from ..errors import InvalidHandleError, TypeMismatchError
from ..graph.object_id import ObjectID
from ..graph.request import FetchRequest, PersistentStoreRequest

if TYPE_CHECKING:
    from ..model.entity import Entity
    from ..model.model import Model
    from ..model.property import PropertyDescription
    from .coordinator import Coordinator

Reference = Union[int, str, bytes]


class RowID(NamedTuple):
    """The identity of a row in its store: the entity and the store's reference.

    A reference is an int, or a non-empty str or bytes. It is permanent and unique within an entity tree. If the library
    cannot determine the row's own entity, `entity` is one of its superentities.
    """

    entity: Entity
    reference: Reference

    def __repr__(self) -> str:
        # Error messages may contain an ID whose entity is not an Entity.
        return f"RowID({getattr(self.entity, 'name', self.entity)}, {self.reference!r})"


class IncrementalStoreNode:
    """A row: its identity, its values by name, and its version.

    object_id  a RowID, or an ObjectID of the store
    values     attributes as Python values; transformable attributes as bytes, composite ones as dictionaries of their
               elements. The value of a to-one relationship is None or a RowID, or only a reference if the target's own
               entity is the relationship's destination. The value of a to-many relationship is a list of RowIDs or
               references, in order. Keys that the entity does not have are ignored. A missing attribute is None. A
               missing to-one relationship is requested once, a missing to-many relationship when its members are needed
    version    0 to 2147483647, for optimistic locking
    """

    __slots__ = ("object_id", "values", "version")

    def __init__(self, object_id: RowID | ObjectID, values: Mapping[str, Any] | None = None, version: int = 0) -> None:
        if not isinstance(object_id, (RowID, ObjectID)):
            raise TypeMismatchError(
                f"object_id must be a RowID or an ObjectID, not {shown(object_id)}", key="object_id", value=object_id
            )
        self.object_id = object_id
        self.values: dict[str, Any] = {}
        self.version = 0
        self.update(values or {}, version)

    def update(self, values: Mapping[str, Any], version: int) -> None:
        """Replaces the values and the version."""
        if not isinstance(values, Mapping):
            raise TypeMismatchError(
                f"the values of {self.object_id!r} must be a dictionary, not {shown(values)}",
                entity=self.object_id.entity.name if isinstance(self.object_id, RowID) else self.object_id.entity_name,
                key="values",
                value=values,
                object_uri=self.object_id.uri if isinstance(self.object_id, ObjectID) else None,
            )
        known = self.object_id.entity.properties if isinstance(self.object_id, RowID) else None
        self.values = {name: value for name, value in values.items() if known is None or name in known}
        self.version = version

    @property
    def reference(self) -> Reference:
        """The reference of the row."""
        return self.object_id.reference

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.object_id!r} version {self.version}: {self.values!r:.200}>"


class AtomicStoreCacheNode(IncrementalStoreNode):
    """A row of an atomic store."""

    __slots__ = ()


class UpdatedNode(IncrementalStoreNode):
    """An updated row in a save: all of its values, and the version to write.

    old_version  the version on which the changes are based
    changed      the names of the changed properties, without to-many relationships
    """

    __slots__ = ("changed", "old_version")

    def __init__(
        self,
        object_id: RowID | ObjectID,
        values: Mapping[str, Any] | None = None,
        version: int = 0,
        old_version: int = 0,
        changed: Collection[str] = (),
    ) -> None:
        super().__init__(object_id, values, version)
        self.old_version = old_version
        self.changed = frozenset(changed)


class MemberChange(NamedTuple):
    """A change of the members of one object's to-many relationship.

    Many-to-many relationships are reported for both sides; relationships without an inverse are always reported. A
    relationship whose inverse is to-one is reported only if it is ordered, because the members' rows contain the
    change.
    """

    owner: RowID
    relationship: str
    is_ordered: bool
    added: list[RowID]
    removed: list[RowID]
    #: All members of an ordered relationship, in order.
    members: list[RowID]


class Fetched(NamedTuple):
    """The rows of a fetch, and the parts of the request that the store has applied.

    The library applies the other parts to these rows.
    """

    rows: Iterable[Any]
    #: Whether all rows satisfy the predicate.
    predicate: bool = False
    #: Whether the rows are in the order of the sort descriptors.
    order: bool = False
    #: Whether offset and limit were applied. Requires `predicate` and `order`.
    window: bool = False


class SaveChangesRequest(Checked, PersistentStoreRequest):
    """The changes since the last save, which the store must save in one transaction.

    A request can be empty.

    inserted_objects  nodes with all values that are not None, the version to write, and the ID that
                      obtain_permanent_ids returned
    updated_objects   UpdatedNodes
    deleted_objects   nodes without values, with the version on which the deletion is based
    locked_objects    unchanged nodes; the save must fail if they have another version in the store
    member_changes    MemberChanges of to-many relationships
    metadata          the new metadata of the store; None if it does not change
    author, context_name  the transaction author and the name of the context that saves, or None
    """

    request_type = 2

    _cst_attributes = (
        "author", "context_name", "deleted_objects", "inserted_objects", "locked_objects", "member_changes", "metadata",
        "updated_objects",
    )  # fmt: skip

    def __init__(
        self,
        inserted_objects: Collection[Any] | None = None,
        updated_objects: Collection[Any] | None = None,
        deleted_objects: Collection[Any] | None = None,
        locked_objects: Collection[Any] | None = None,
    ) -> None:
        self.inserted_objects: Collection[Any] = frozenset() if inserted_objects is None else inserted_objects
        self.updated_objects: Collection[Any] = frozenset() if updated_objects is None else updated_objects
        self.deleted_objects: Collection[Any] = frozenset() if deleted_objects is None else deleted_objects
        self.locked_objects: Collection[Any] = frozenset() if locked_objects is None else locked_objects
        self.member_changes: list[MemberChange] = []
        self.metadata: dict[str, Any] | None = None
        self.author: str | None = None
        self.context_name: str | None = None
        self._cst_handle = 0
        self._cst_store: HostStore | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the request does not contain any change, including a change of the metadata."""
        changes = (self.inserted_objects, self.updated_objects, self.deleted_objects, self.locked_objects)
        return not any(changes) and not self.member_changes and self.metadata is None

    def add_conflict(self, row: IncrementalStoreNode | RowID | ObjectID, kind: str = "version") -> None:
        """Reports that a row of the save is in conflict with the store.

        The kind is "version" if the row has another version or was deleted, or a new row already exists. It is "unique"
        if another row has the same values of a unique constraint. The store must then not save any change; the result
        of `save` is ignored. The context's merge policy resolves the conflict with the rows that the store returns
        next, or the save fails. A batch request or a migration always fails.
        """
        from .host_rows import Rows

        number = _CONFLICTS[choice(kind, "kind", _CONFLICTS)]
        rows = Rows([row], self._cst_open_store())
        call(lib.cst_save_request_add_conflict, self._cst_handle, number, rows.array)

    def cache_nodes(self) -> Iterator[AtomicStoreCacheNode]:
        """Yields all rows of an atomic store after this save, entity by entity.

        The rows have all relationships, on both sides. Each call continues after the last row of the previous call.
        """
        from .host_rows import node

        store = self._cst_open_store()
        array, count = (_abi.Row * 256)(), ctypes.c_size_t()
        while call(lib.cst_save_request_next, self._cst_handle, len(array), array, byref(count)) == _abi.OK:
            yield from [node(row, store, AtomicStoreCacheNode) for row in array[: count.value]]

    def _cst_open_store(self) -> HostStore:
        if self._cst_store is None:
            raise InvalidHandleError(
                "the SaveChangesRequest does not belong to a running save; use the request that is passed to save, and "
                "only until save returns"
            )
        return self._cst_store


_CONFLICTS = {"version": _abi.CONFLICT_ROW_VERSION, "unique": _abi.CONFLICT_ROW_UNIQUE}


class StoreOpening(NamedTuple):
    """A store that is about to be opened.

    type           the registered name of the type
    path           the path that was passed to add_store, any string
    model          the model, frozen
    configuration  the name of the configuration; None: the whole model
    is_read_only   True: the store is never saved
    must_exist     True: raise FileNotFoundError if the store does not exist
    is_new         True: the path is a path of the file system at which there is no file, or an empty file. A store with
                   other paths must check whether it is new
    metadata       the metadata for a new store: type, a new NSStoreUUID, the version hashes of the model
    options        the `options` that were passed to add_store
    """

    type: str
    path: str
    model: Model
    configuration: str | None
    is_read_only: bool
    must_exist: bool
    is_new: bool
    metadata: dict[str, Any]
    options: dict[str, Any]


class HostStore:
    """The base class of incremental and atomic stores; each opened store has its own instance.

    Attributes of a subclass can have any name that is not documented here, except names that begin with `_cst_`.
    """

    #: Whether several threads may read concurrently, even during a save.
    parallel_reads = False
    #: Whether `save` rejects duplicate values of unique constraints (add_conflict). Not needed for atomic stores.
    unique_constraints = False
    #: Whether `save` computes derived attributes, and returns the rows that have them.
    derived_attributes = False

    def __init__(self, opening: StoreOpening) -> None:
        self.opening = opening
        #: The metadata of the store: from load_metadata, then from the saves that change it.
        self.metadata: dict[str, Any] = dict(opening.metadata)
        self._cst_owner: weakref.ref[Coordinator] | None = None
        self._cst_entities: dict[int, Any] = {}  # the Reading of each entity, by its handle
        self._cst_references: Any = None  # the result of obtain_permanent_ids, until the library has copied it
        self._cst_ended: BaseException | None = None  # an exception that ends the program, raised in a notification

    @property
    def type(self) -> str:
        """The name under which the class is registered."""
        return self.opening.type

    @property
    def path(self) -> str:
        """The path of the store, as passed to add_store or to the last `move`."""
        return self.opening.path

    @property
    def model(self) -> Model:
        """The model with which the store was opened."""
        return self.opening.model

    @property
    def options(self) -> dict[str, Any]:
        """The `options` that were passed to add_store."""
        return self.opening.options

    @property
    def is_read_only(self) -> bool:
        """Whether the store is read-only."""
        return self.opening.is_read_only

    @property
    def identifier(self) -> str:
        """The store's UUID."""
        return str(self.metadata.get("NSStoreUUID", ""))

    def row_id(self, entity: Entity | str, reference: Reference) -> RowID:
        """Returns the identity of a row; `entity` is the row's own entity."""
        return RowID(self.model[entity] if isinstance(entity, str) else entity, reference)

    def destination(self, relationship: PropertyDescription) -> Entity:
        """Returns the destination entity of a relationship."""
        return self.model._entity_of(relationship.destination)

    def inverse(self, relationship: PropertyDescription) -> PropertyDescription | None:
        """Returns the inverse of a relationship, or None."""
        return self.destination(relationship).properties[relationship.inverse] if relationship.inverse else None

    def load_metadata(self) -> Mapping[str, Any] | None:
        """Opens the store, or creates a new one, and returns its metadata.

        None, for example for a new store, means opening.metadata. The NSStoreUUID is the store's identifier; it must
        not change, so that IDs and URIs stay valid. If the version hashes are not those of the model, the call that
        opens the store raises ModelMismatchError.

        An empty file is a new store. Raise FileNotFoundError if there is no store and opening.must_exist is True.
        """
        return None

    def save(self, request: SaveChangesRequest) -> Iterable[IncrementalStoreNode] | None:
        """Saves the changes in one transaction.

        Call request.add_conflict for a row if its version in the store is not the version on which a change, a deletion
        or a lock is based.

        Returns nodes for saved rows that differ from the request: with another version, or with computed values. An
        invalid result does not make the save fail: it causes a log line or a RuntimeWarning, and the rows are read
        again. The stores of a class without this method are read-only.
        """
        raise NotImplementedError

    def obtain_permanent_ids(self, objects: Sequence[IncrementalStoreNode]) -> Sequence[RowID | Reference]:
        """Returns the references of new rows, in the same order.

        The nodes have the attributes that are not None; their own reference is "". After a failed save, the next save
        uses the same references. Without this method the library generates references: UUIDs as strings.
        """
        raise NotImplementedError

    def move(self, path: str) -> None:
        """Moves the store to another path (Coordinator.set_store_path)."""
        raise NotImplementedError

    def did_add(self) -> None:
        """Called once, after a coordinator added the store and before its observers are notified."""

    def will_remove(self) -> None:
        """Called before the coordinator closes the store, because it was removed or the coordinator is closed.

        It is not called if the coordinator is discarded without being closed.
        """

    def close(self) -> None:
        """Closes the store; also called if it could not be opened (load_metadata raised) or added."""

    @classmethod
    def metadata_for_store(cls, path: str) -> Mapping[str, Any]:
        """Returns the metadata of the store at a path, without opening it.

        Raise FileNotFoundError if there is no store.
        """
        raise NotImplementedError

    @classmethod
    def set_metadata_for_store(cls, path: str, values: Mapping[str, Any]) -> None:
        """Replaces the metadata of the store at a path."""
        raise NotImplementedError

    @classmethod
    def destroy_store(cls, path: str) -> None:
        """Removes the store at a path, or raises FileNotFoundError if there is no store."""
        raise NotImplementedError

    @classmethod
    def replace_store(cls, path: str, source: str) -> None:
        """Replaces the store at `path` by a copy of the store at `source`."""
        raise NotImplementedError


class IncrementalStore(HostStore):
    """A store that loads data when contexts need it. Subclass it, and register the subclass."""

    def execute_fetch(self, request: FetchRequest) -> Iterable[Any] | Fetched | int:
        """Returns the rows of a request: IncrementalStoreNodes, or only RowIDs, ObjectIDs or references.

        Without a node, the values of a row are requested when they are needed. The rows must include all matching rows
        of request.entity, and of its subentities if request.include_subentities is True. A Fetched reports which of
        predicate, order, limit and offset the store applied; a plain iterable means that it applied none of these.
        Return an int if the result_type is "count".
        """
        raise NotImplementedError

    def new_values(self, ids: Sequence[RowID]) -> Iterable[IncrementalStoreNode]:
        """Returns the rows of IDs, in any order. Rows that no longer exist are left out."""
        raise NotImplementedError

    def new_value_for_relationship(self, relationship: str, object_id: RowID) -> Any:
        """Returns the target or the members of a relationship of an object.

        To-one: None, a RowID, a reference or a node. To-many: an iterable of these, in order. A class without this
        method must return rows with all of their relationships.
        """
        raise NotImplementedError

    def new_values_for_relationship(self, relationship: str, ids: Sequence[RowID]) -> Iterable[Any]:
        """Returns the result of new_value_for_relationship for each of several objects, in the same order.

        The default implementation calls new_value_for_relationship for each object.
        """
        return [self.new_value_for_relationship(relationship, each) for each in ids]

    def did_register(self, ids: Sequence[RowID]) -> None:
        """Called after a context registered objects; for new objects after their save.

        One call reports all objects that were registered together. It may run on any thread, even during other calls.
        An exception is passed to sys.unraisablehook. An exception that is not an Exception, such as KeyboardInterrupt,
        makes the next call that needs the store fail.
        """

    def did_unregister(self, ids: Sequence[RowID]) -> None:
        """Called like did_register after a context deregistered objects, also when the context is reset or closed."""


class AtomicStore(HostStore):
    """A store that is loaded and saved as a whole. Subclass it, and register the subclass."""

    def load(self) -> Iterable[AtomicStoreCacheNode]:
        """Returns all rows of all entities, with all relationships.

        One of the two sides of a relationship suffices. Called after load_metadata, unless the store is new and
        load_metadata returned None, and again after a save that reported conflicts.
        """
        raise NotImplementedError


StoreClass = TypeVar("StoreClass", bound="type[HostStore]")


@overload
def register_store_type(name: str, store_class: StoreClass) -> StoreClass: ...
@overload
def register_store_type(name: str) -> Callable[[StoreClass], StoreClass]: ...
def register_store_type(name: str, store_class: Any = None) -> Any:
    """Registers a store type for the whole process; the class is instantiated for each store that is opened.

    The name is the `type` when a store is added, case-insensitively. InvalidArgumentError for a name that is already
    registered. The call can also be a decorator: `@register_store_type("Notes")`.
    """
    from .host_callbacks import register

    if store_class is None:
        return lambda decorated: register_store_type(name, decorated)
    register(name, store_class)
    return store_class


def unregister_store_type(name: str) -> bool:
    """Deregisters a type, and returns whether it was registered; its open stores stay open."""
    return call(lib.cst_store_type_unregister, _abi.text(name, "name")) == _abi.OK


def registered_store_types() -> list[str]:
    """Returns the names of all store types, the built-in ones first."""
    buffer, count = _abi.Buffer(), ctypes.c_size_t()
    call(lib.cst_store_type_copy_names, byref(buffer), byref(count))
    return _abi.take_text(buffer).split("\0")[: count.value]
