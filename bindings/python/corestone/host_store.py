"""Stores of a program's own kinds, written in Python: docs/HOST-STORES.md.

An IncrementalStore is asked for what contexts need, when they need it: a service, a database, a folder of files. An
AtomicStore gives all of its objects when it is opened, and is given all of them to keep after each save: a file format.

    @corestone.register_store_type("Notes")
    class NotesStore(corestone.IncrementalStore):
        def load_metadata(self): ...
        def execute_fetch(self, request): ...
        def new_values(self, ids): ...
        def save(self, request): ...

    Container(model, "https://…", type="Notes")

Methods run on the thread of the call that needs them, one at a time for each store unless `parallel_reads` is set. They
may use neither contexts nor coordinators. What they raise comes back as a detail of a CallbackError, with the
traceback's text as its message and the exception as its cause.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from ctypes import byref
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, TypeVar, Union, overload

from . import _abi
from ._abi import lib
from ._arguments import shown
from ._call import call
from .errors import InvalidArgumentError, InvalidHandleError, TypeMismatchError
from .object_id import ObjectID
from .request import FetchRequest, PersistentStoreRequest

if TYPE_CHECKING:
    from .coordinator import Coordinator
    from .entity import Entity
    from .model import Model
    from .property import PropertyDescription

Reference = Union[int, str, bytes]


class RowID(NamedTuple):
    """The identity of a row as its store knows it: the entity and a reference of the store's own.

    A reference is an int, a str or bytes, the latter two not empty; it is unique within an inheritance tree, and for
    ever. Where the library does not know the row's own entity, `entity` is one that it inherits from.
    """

    entity: Entity
    reference: Reference

    def __repr__(self) -> str:
        return f"RowID({self.entity.name}, {self.reference!r})"


class IncrementalStoreNode:
    """A row: its identity, its values by name, and its version.

    object_id  a RowID; also an ObjectID of the store
    values     attributes as Python values: of transformable attributes the bytes, of composite ones a dictionary of
               their elements. Of to-one relationships None or a RowID (a reference alone will do where the target is of
               the relationship's own destination); of to-many relationships a list of these, in order. Keys that the
               entity does not have are left out. An attribute that is missing is None; a to-one
               relationship that is missing is asked for once, a to-many one when somebody needs its members
    version    0 to 2147483647: what conflicts are found by
    """

    __slots__ = ("object_id", "values", "version")

    def __init__(self, object_id: RowID | ObjectID, values: Mapping[str, Any] | None = None, version: int = 0) -> None:
        if not isinstance(object_id, (RowID, ObjectID)):
            raise TypeMismatchError(
                f"object_id must be a RowID or an ObjectID, not {shown(object_id)}", key="object_id"
            )
        self.object_id = object_id
        self.values: dict[str, Any] = {}
        self.version = 0
        self.update(values or {}, version)

    def update(self, values: Mapping[str, Any], version: int) -> None:
        """Puts other values in the place of those that are there, and a version."""
        if not isinstance(values, Mapping):
            raise TypeMismatchError(f"values must be a dictionary, not {shown(values)}", key="values")
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
    """A changed row in a save: all of its values, and the version that it is to have.

    old_version  the version that the changes are based on
    changed      the names of the properties that changed, but for members of relationships
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
    """What became of the members of one object's to-many relationship.

    Many-to-many relationships are told from both sides; those whose inverse is to-one only if they are ordered, since
    the members' own rows tell them; those without inverse always.
    """

    owner: RowID
    relationship: str
    is_ordered: bool
    added: list[RowID]
    removed: list[RowID]
    #: All members in order, of an ordered relationship.
    members: list[RowID]


class Fetched(NamedTuple):
    """What a store has done of a fetch. The library does the rest, with the rows that were given."""

    rows: Iterable[Any]
    #: No row was given that does not satisfy the predicate.
    predicate: bool = False
    #: The rows are in the order of the sort descriptors.
    order: bool = False
    #: Offset and limit were applied: only by who has done both of these.
    window: bool = False


class SaveChangesRequest(PersistentStoreRequest):
    """What changed since the last save, all of it to be kept or none. It comes also when nothing did.

    inserted_objects  nodes with all values that are not None, the version to be written, and the ID that
                      obtain_permanent_ids gave
    updated_objects   UpdatedNodes
    deleted_objects   nodes without values, of the version that the deletion is based on
    locked_objects    not changed, but the save is to fail unless they are still of that version
    member_changes    of to-many relationships: MemberChange
    metadata          what the store says about itself from now on; None when that stays
    author, context_name  of the context that saves, if it has them
    """

    request_type = 2

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
        self._handle = 0
        self._store: HostStore | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing changed, the metadata included."""
        changes = (self.inserted_objects, self.updated_objects, self.deleted_objects, self.locked_objects)
        return not any(changes) and not self.member_changes and self.metadata is None

    def add_conflict(self, row: IncrementalStoreNode | RowID | ObjectID, kind: str = "version") -> None:
        """Says that a row of the save stands against what the store has: "version", it has another version or is
        gone, or is new and there already; "unique", another row has the values that must be unique. Then nothing is to
        be kept: the save ends with the error of such a conflict, or goes on as the context's merge policy says upon
        what the store gives next, whatever `save` returns. A batch request, or a migration, ends with that error."""
        from ._host_rows import Rows

        if kind not in _CONFLICTS:
            raise InvalidArgumentError(f'kind must be "version" or "unique", not {shown(kind)}', key="kind")
        rows = Rows([row], self._open_store())
        call(lib.cst_save_request_add_conflict, self._handle, _CONFLICTS[kind], rows.array)

    def cache_nodes(self) -> Iterator[AtomicStoreCacheNode]:
        """All rows that an atomic store holds once this save is done, entity by entity, with all relationships from
        both sides. Each call goes on where the last one ended."""
        from ._host_rows import node

        store = self._open_store()
        array, count = (_abi.Row * 256)(), ctypes.c_size_t()
        while call(lib.cst_save_request_next, self._handle, len(array), array, byref(count)) == _abi.OK:
            yield from [node(row, store, AtomicStoreCacheNode) for row in array[: count.value]]

    def _open_store(self) -> HostStore:
        if self._store is None:
            raise InvalidHandleError(
                "this request does not belong to a running save; use the request that is passed to save, and only "
                "until save returns"
            )
        return self._store


_CONFLICTS = {"version": _abi.CONFLICT_ROW_VERSION, "unique": _abi.CONFLICT_ROW_UNIQUE}


class StoreOpening(NamedTuple):
    """A store that is to be opened.

    type           as registered
    path           as add_store was given it, whatever that text is
    model          frozen
    configuration  None: the whole model
    is_read_only   nothing will be saved
    must_exist     a store that is not there yet is a FileNotFoundError
    is_new         nothing lies at the path, if it is one of the file system, or a file of no bytes: a new store. A
                   store whose paths are something else knows better
    metadata       what a new store is to say about itself: type, a new NSStoreUUID, the version hashes of the model
    options        what add_store was given as `options`
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
    """What incremental and atomic stores have in common. One instance is made for each store that is opened."""

    #: Several threads may read at a time, also during a save.
    parallel_reads = False
    #: `save` refuses what is not unique and must be (SaveChangesRequest.add_conflict). Atomic stores need not.
    unique_constraints = False
    #: `save` computes derived attributes, and returns the rows that have them.
    derived_attributes = False

    def __init__(self, opening: StoreOpening) -> None:
        self.opening = opening
        #: What the store says about itself: from load_metadata, then from the saves that change it.
        self.metadata: dict[str, Any] = dict(opening.metadata)
        self._owner: weakref.ref[Coordinator] | None = None
        self._entities: dict[int, Any] = {}  # what rows of an entity are read by
        self._references: Any = None  # the last ones of obtain_permanent_ids, until the library has copied them
        self._ended: BaseException | None = None  # what a notice raised that is to end the program

    @property
    def type(self) -> str:
        """The name under which the class is registered."""
        return self.opening.type

    @property
    def path(self) -> str:
        """Where the store is, as add_store was given it."""
        return self.opening.path

    @property
    def model(self) -> Model:
        """The model that the store was opened with."""
        return self.opening.model

    @property
    def options(self) -> dict[str, Any]:
        """What add_store was given as `options`."""
        return self.opening.options

    @property
    def is_read_only(self) -> bool:
        """Whether nothing will be saved."""
        return self.opening.is_read_only

    @property
    def identifier(self) -> str:
        """The store's UUID."""
        return str(self.metadata.get("NSStoreUUID", ""))

    def row_id(self, entity: Entity | str, reference: Reference) -> RowID:
        """The identity of a row; `entity` is the row's own."""
        return RowID(self.model[entity] if isinstance(entity, str) else entity, reference)

    def destination(self, relationship: PropertyDescription) -> Entity:
        """The entity to which a relationship leads."""
        return self.model._entity_of(relationship.destination)

    def inverse(self, relationship: PropertyDescription) -> PropertyDescription | None:
        """The inverse of a relationship, if it has one."""
        return self.destination(relationship).properties[relationship.inverse] if relationship.inverse else None

    def load_metadata(self) -> Mapping[str, Any] | None:
        """Opens the store, or begins a new one, and returns what it says about itself; None: opening.metadata, as for
        a new store. The NSStoreUUID is the store's identifier: without one that stays the same, IDs and URIs are worth
        nothing later. Version hashes that are not the model's are a ModelMismatchError for who opens it.

        A file of no bytes is a new store. FileNotFoundError where there is none and opening.must_exist."""
        return None

    def save(self, request: SaveChangesRequest) -> Iterable[IncrementalStoreNode] | None:
        """Keeps what changed, all or nothing. A row that has not the version there that a change, a deletion or a lock
        is based on is told by request.add_conflict.

        Returns nodes for saved rows that are not what was to be written: of another version, with values that the
        store computed. What cannot be taken of that does not fail the save: it is logged, or a RuntimeWarning, and the
        rows are read again. A class without this method has stores that are read-only."""
        raise NotImplementedError

    def obtain_permanent_ids(self, objects: Sequence[IncrementalStoreNode]) -> Sequence[RowID | Reference]:
        """Gives new rows their references, in the same order. The nodes have the attributes that are not None; their
        own reference is "". A save that failed keeps them: the next one names the same rows.

        Without this method references are made, UUIDs as text."""
        raise NotImplementedError

    def move(self, path: str) -> None:
        """The store lies at another path from now on (Coordinator.set_store_path)."""
        raise NotImplementedError

    def close(self) -> None:
        """The store is not used any more. Also called when it could not be opened (load_metadata raised) or added."""

    @classmethod
    def metadata_for_store(cls, path: str) -> Mapping[str, Any]:
        """What the store at a path says about itself, which is not opened. FileNotFoundError where there is none."""
        raise NotImplementedError

    @classmethod
    def set_metadata_for_store(cls, path: str, values: Mapping[str, Any]) -> None:
        """Has the store at a path say something else about itself."""
        raise NotImplementedError

    @classmethod
    def destroy_store(cls, path: str) -> None:
        """Removes the store at a path. FileNotFoundError where there is none."""
        raise NotImplementedError

    @classmethod
    def replace_store(cls, path: str, source: str) -> None:
        """Puts a copy of the store at `source` in the place of the one at `path`."""
        raise NotImplementedError


class IncrementalStore(HostStore):
    """A store that is asked for what contexts need. Subclass it, and register the subclass."""

    def execute_fetch(self, request: FetchRequest) -> Iterable[Any] | Fetched | int:
        """The rows that a request asks for: IncrementalStoreNodes, or RowIDs, ObjectIDs or references alone, whose
        values are asked for when somebody needs them.

        All rows of request.entity at least, with those of its subentities if request.include_subentities. A Fetched
        says what was done of predicate, order, limit and offset; an iterable alone says nothing of it was. An int
        answers a request whose result_type is "count"."""
        raise NotImplementedError

    def new_values(self, ids: Sequence[RowID]) -> Iterable[IncrementalStoreNode]:
        """The rows of IDs, in any order; those that are no more are left out."""
        raise NotImplementedError

    def new_value_for_relationship(self, relationship: str, object_id: RowID) -> Any:
        """What a relationship of an object leads to. To-one: None, a RowID, a reference or a node. To-many: an iterable
        of these, in order. A class without this method gives rows with all of their relationships."""
        raise NotImplementedError

    def new_values_for_relationship(self, relationship: str, ids: Sequence[RowID]) -> Iterable[Any]:
        """What a relationship of several objects leads to: for each, in the same order, what
        new_value_for_relationship gives, which this asks for one after the other."""
        return [self.new_value_for_relationship(relationship, each) for each in ids]

    def did_register(self, ids: Sequence[RowID]) -> None:
        """A context knows objects from now on; new ones after their save. Those that come together are told together.
        From any thread, also during other calls. What it raises goes to sys.unraisablehook, but for Ctrl-C and what
        else ends the program: the next call that needs the store raises that."""

    def did_unregister(self, ids: Sequence[RowID]) -> None:
        """A context knows objects no longer, also since it was reset or has ended. As did_register."""


class AtomicStore(HostStore):
    """A store that is read and written as a whole. Subclass it, and register the subclass."""

    def load(self) -> Iterable[AtomicStoreCacheNode]:
        """All rows of all entities, with all relationships: of a relationship and its inverse one side is enough.
        Called after load_metadata, unless the store is new and that gave None, and again after a save that reported
        conflicts."""
        raise NotImplementedError


StoreClass = TypeVar("StoreClass", bound="type[HostStore]")


@overload
def register_store_type(name: str, store_class: StoreClass) -> StoreClass: ...
@overload
def register_store_type(name: str) -> Callable[[StoreClass], StoreClass]: ...
def register_store_type(name: str, store_class: Any = None) -> Any:
    """Makes a type of stores known in the whole process: the class is instantiated for each store that is opened.

    The name is that of `type` when a store is added, in any case of letters. InvalidArgumentError for a name that is
    taken, also by a type that was registered before. Also a decorator: `@register_store_type("Notes")`.
    """
    from ._host_store import register

    if store_class is None:
        return lambda decorated: register_store_type(name, decorated)
    register(name, store_class)
    return store_class


def unregister_store_type(name: str) -> bool:
    """Forgets a type; stores of it that are open stay so. False when none of that name was registered."""
    return call(lib.cst_store_type_unregister, _abi.text(name)) == _abi.OK


def registered_store_types() -> list[str]:
    """The names of all types, the built-in ones first."""
    buffer, count = _abi.Buffer(), ctypes.c_size_t()
    call(lib.cst_store_type_copy_names, byref(buffer), byref(count))
    return _abi.take_text(buffer).split("\0")[: count.value]
