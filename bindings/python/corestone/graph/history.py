"""Persistent history: the recorded transactions of stores, their changes, and tokens for positions in the history."""

from __future__ import annotations

import ctypes
import json
import math
import struct
import threading
import time
from collections.abc import AsyncIterator, Iterator
from ctypes import byref
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _abi
from .._abi import lib, text, values
from .._abi.arguments import plural, require_integer, shown
from .._abi.call import call, held, owned
from .._abi.conversion import take
from ..codes import HistoryChangeKind
from ..errors import InvalidArgumentError, InvalidHandleError, TypeMismatchError
from .object_id import ObjectID

if TYPE_CHECKING:
    import asyncio

    from ..stores.coordinator import Coordinator
    from ..stores.store import Store
    from .context import Context

_KINDS = tuple(HistoryChangeKind)
# The layouts of cst_history_transaction, cst_history_change and cst_string.
_TRANSACTION = struct.Struct("=qd10QQQ")
_CHANGE = struct.Struct("=qIIQqQQQQQ")
_TEXT = struct.Struct("=QQ")


class HistoryToken:
    """A position in the histories of stores, up to which a reader has read. Immutable; any thread can use it.

        history = ctx.history(since=token, excluding_author="me")
        ctx.merge_history(history)
        file.write_text(history.token.to_json())

    It can be saved in a file and used in another process. A token is less than another one if its position is earlier
    in a store and not later in any store. Tokens of different stores are not ordered: `<`, `<=`, `>`, `>=` and `==` are
    False. A store that is missing in a token counts as being at the beginning of its history.
    """

    __slots__ = ("__weakref__", "_handle", "_text")
    _handle: int
    _text: str | None

    def __init__(self) -> None:
        raise TypeError(
            "a HistoryToken cannot be created directly; call Coordinator.history_token(), HistoryToken.at or "
            "HistoryToken.from_json"
        )

    @classmethod
    def _owned(cls, handle: int) -> HistoryToken:
        self = object.__new__(cls)
        self._handle = handle
        self._text = None
        return self

    @classmethod
    def at(cls, store: Store | str, number: int) -> HistoryToken:
        """Returns the token for the position after a transaction; number 0 is the beginning of the history.

        `store` is a Store or its identifier.
        """
        return cls._owned(
            owned(lib.cst_history_token_new_at, text(_identifier(store)), require_integer(number, "number"))
        )

    @classmethod
    def from_json(cls, json: str) -> HistoryToken:
        """Returns the token for a string that `to_json` returned, possibly in another process."""
        return cls._owned(owned(lib.cst_history_token_new, text(json, "json")))

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> HistoryToken:
        """Returns the token for bytes that `bytes(token)` returned."""
        try:
            return cls.from_json(bytes(memoryview(data)).decode())
        except TypeError:
            raise TypeMismatchError(f"data must be bytes, not {shown(data)}", key="data", value=data) from None
        except UnicodeDecodeError:
            raise InvalidArgumentError(
                "cannot read the history token: the bytes are not UTF-8; pass the result of bytes(token)",
                key="data",
                value=data,
            ) from None

    def to_json(self) -> str:
        """Returns the token as JSON: the number of the last transaction of each store, by the store's UUID."""
        if self._text is None:
            buffer = _abi.Buffer()
            call(lib.cst_history_token_copy_json, self._handle, byref(buffer))
            self._text = _abi.take_text(buffer)
        return self._text

    def __bytes__(self) -> bytes:
        return self.to_json().encode()

    def transaction(self, store: Store | str) -> int | None:
        """Returns the number of a store's last transaction before the position; 0 before the first transaction.

        `store` is a Store or its identifier. None for a store that the token does not contain.
        """
        out = ctypes.c_int64()
        found = call(lib.cst_history_token_transaction, self._handle, text(_identifier(store)), byref(out))
        return out.value if found == _abi.OK else None

    def _cst_value_handle(self) -> tuple[int, int]:
        return _abi.HISTORY_TOKEN, self._handle

    def _order(self, other: HistoryToken) -> int | None:
        """Returns -1, 0 or 1; None if the tokens are not ordered."""
        out = ctypes.c_int32()
        found = call(lib.cst_history_token_compare, self._handle, other._handle, byref(out))
        return out.value if found == _abi.OK else None

    def __eq__(self, other: object) -> bool:
        return self._order(other) == 0 if isinstance(other, HistoryToken) else NotImplemented

    def __lt__(self, other: object) -> bool:
        return self._order(other) == -1 if isinstance(other, HistoryToken) else NotImplemented

    def __le__(self, other: object) -> bool:
        return self._order(other) in (-1, 0) if isinstance(other, HistoryToken) else NotImplemented

    def __gt__(self, other: object) -> bool:
        return self._order(other) == 1 if isinstance(other, HistoryToken) else NotImplemented

    def __ge__(self, other: object) -> bool:
        return self._order(other) in (0, 1) if isinstance(other, HistoryToken) else NotImplemented

    def __hash__(self) -> int:
        # A token with a store at its beginning equals a token without the store.
        return hash(frozenset(each for each in json.loads(self.to_json()).items() if each[1]))

    def __repr__(self) -> str:
        return f"HistoryToken.from_json({self.to_json()!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return HistoryToken.from_json, (self.to_json(),)

    def __copy__(self) -> HistoryToken:
        return self

    def __deepcopy__(self, memo: object) -> HistoryToken:
        return self


def _identifier(store: Store | str) -> str:
    from ..stores.store import Store

    if isinstance(store, str):
        return store
    if isinstance(store, Store):
        return store.identifier
    raise TypeMismatchError(f"store must be a Store or its identifier, not {shown(store)}", key="store", value=store)


class _Stores:
    """The stores of a coordinator by identifier, for the object IDs of changes."""

    __slots__ = ("_coordinator", "_known")

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator
        self._known: dict[str, Store] = {}

    def object_id(self, change: HistoryChange) -> ObjectID:
        """Returns the ID of a change's object."""
        identifier = change._store
        store = self._known.get(identifier)
        if store is None:
            found = (each for each in self._coordinator.stores if each.identifier == identifier)
            store = next(found, None)
            if store is None:
                raise InvalidHandleError(
                    f"the store of {change.object_uri} is not open; use object_uri, or read object_id while the "
                    "store is open",
                    entity=change.entity_name,
                    object_uri=change.object_uri,
                )
            self._known[identifier] = store
        entity = self._coordinator.model[change.entity_name]
        key = _abi.Value(_abi.INT)
        key.payload.integer = change._key
        return ObjectID._owned(held(lib.cst_store_new_object_id, store._handle, entity._handle, byref(key)))


class HistoryChange:
    """The insertion, update or deletion of an object in a transaction."""

    __slots__ = ("_id", "_key", "_store", "_stores", "entity_name", "kind", "number", "tombstone", "updated_properties")

    def __init__(
        self,
        stores: _Stores,
        store: str,
        number: int,
        kind: HistoryChangeKind,
        entity_name: str,
        key: int,
        updated_properties: list[str],
        tombstone: dict[str, Any] | None,
    ) -> None:
        self._stores = stores
        self._store = store
        self._key = key
        self._id: ObjectID | None = None
        #: The number of the change, which increases within a store.
        self.number = number
        self.kind = kind
        #: The name of the object's own entity.
        self.entity_name = entity_name
        #: The names of the properties that an update changed; empty for other changes.
        self.updated_properties = updated_properties
        #: Of a deletion, the values of the attributes that the model preserves, except None values. Values of
        #: transformable attributes are bytes. None for other changes.
        self.tombstone = tombstone

    @property
    def object_id(self) -> ObjectID:
        """The ID of the object, which may no longer exist. InvalidHandleError if its store is no longer open."""
        if self._id is None:
            self._id = self._stores.object_id(self)
        return self._id

    @property
    def object_uri(self) -> str:
        """The URI of the object, even if its store is no longer open."""
        return f"x-coredata://{self._store}/{self.entity_name}/p{self._key}"

    def __repr__(self) -> str:
        return f"<HistoryChange {self.number}: {self.kind.name.lower()} {self.entity_name}/p{self._key}>"


class HistoryTransaction:
    """One transaction of a store: a save, a batch request or a step of a migration."""

    __slots__ = ("_changes", "_seconds", "author", "bundle_identifier", "context_name", "number", "process_identifier",
                 "store_identifier")  # fmt: skip

    def __init__(
        self,
        number: int,
        seconds: float,
        store_identifier: str,
        author: str | None,
        context_name: str | None,
        bundle_identifier: str | None,
        process_identifier: str | None,
        changes: list[HistoryChange] | None,
    ) -> None:
        self._seconds = seconds
        self._changes = changes
        #: The number of the transaction, which increases within a store and is never reused.
        self.number = number
        #: The UUID of the store.
        self.store_identifier = store_identifier
        #: Context.transaction_author of the context that saved.
        self.author = author
        #: Context.name of the context that saved.
        self.context_name = context_name
        #: The bundle identifier of the application that saved, or its program name if it does not have one.
        self.bundle_identifier = bundle_identifier
        #: The name of the process that saved.
        self.process_identifier = process_identifier

    @property
    def timestamp(self) -> datetime:
        """The time of the save, rounded to microseconds. To continue after the transaction, use `token`."""
        return values.date_from_seconds(self._seconds, False)

    @property
    def token(self) -> HistoryToken:
        """The position after the transaction."""
        return HistoryToken.at(self.store_identifier, self.number)

    @property
    def changes(self) -> list[HistoryChange]:
        """The changes, in the order in which they were recorded.

        InvalidArgumentError for a transaction that was read without its changes.
        """
        if self._changes is None:
            raise InvalidArgumentError(
                f"transaction {self.number} was read without its changes; pass changes=True to history",
                key="changes",
                value=self.number,
            )
        return self._changes

    def __repr__(self) -> str:
        author = f' by "{self.author}"' if self.author is not None else ""
        count = "" if self._changes is None else f": {plural(len(self._changes), 'change')}"
        return f"<HistoryTransaction {self.number}{author}{count}>"


class HistoryCursor(Iterator[HistoryTransaction]):
    """The cursor that Coordinator.history returns: an iterator over transactions.

    The cursor reads transactions in batches, and does not hold a lock in between. After the end of a loop, another loop
    returns the transactions that were committed meanwhile. One thread at a time may use the cursor.
    """

    __slots__ = (
        "__weakref__", "_coordinator", "_handle", "_has_changes", "_indexes", "_last", "_lock", "_out",
        "_place", "_stores",
    )  # fmt: skip

    def __init__(self, coordinator: Coordinator, handle: int, has_changes: bool) -> None:
        self._coordinator = coordinator
        self._stores = _Stores(coordinator)
        self._handle = handle
        self._has_changes = has_changes
        self._lock = threading.Lock()
        self._out = ctypes.c_void_p()
        self._place = byref(self._out)
        # The changes of the last transaction, and the index of each, set when values are first requested.
        self._last: list[HistoryChange] = []
        self._indexes: dict[int, int] | None = None

    def _next(self) -> int | None:
        """Advances to the next transaction and returns its address; None at the end."""
        self._coordinator._require_open()
        if call(lib.cst_history_cursor_next, self._handle, self._place) == _abi.END:
            return None
        return self._out.value

    def __next__(self) -> HistoryTransaction:
        # The library's structures are read before another thread advances the cursor.
        with self._lock:
            return self._read_next()

    def _read_next(self) -> HistoryTransaction:
        address = self._next()
        if address is None:
            raise StopIteration
        number, seconds, *texts, count, changes = _TRANSACTION.unpack(ctypes.string_at(address, _TRANSACTION.size))
        store, author, context_name, bundle, process = map(_decoded, texts[::2], texts[1::2])
        listed = self._changes(store or "", count, changes) if self._has_changes else None
        self._last, self._indexes = listed or [], None
        return HistoryTransaction(number, seconds, store or "", author, context_name, bundle, process, listed)

    def _changes(self, store: str, count: int, address: int) -> list[HistoryChange]:
        stores, entity_of = self._stores, self._coordinator.model._entity_of
        found: list[HistoryChange] = []
        entities: dict[int, str] = {}
        # Within a transaction, many changes share one list of names.
        names: dict[tuple[int, int], list[str]] = {}
        for number, kind, _, entity, key, property_count, properties, tombstone_count, keys, kept in (
            _CHANGE.iter_unpack(ctypes.string_at(address, count * _CHANGE.size)) if count else ()
        ):
            name = entities.get(entity)
            if name is None:
                name = entities[entity] = entity_of(entity).name
            updated: list[str] = []
            if property_count:
                place = property_count, properties
                if place not in names:
                    names[place] = _texts(property_count, properties)
                updated = names[place].copy()
            tombstone = None
            if kind == HistoryChangeKind.DELETE:
                tombstone = {}
                if tombstone_count:
                    array = (_abi.Value * tombstone_count).from_address(kept)
                    paths = _texts(tombstone_count, keys)
                    tombstone = dict(zip(paths, values.decode_named(array, paths, None, name)))
            found.append(HistoryChange(stores, store, number, _KINDS[kind], name, key, updated, tombstone))
        return found

    def _require_changes(self) -> None:
        if not self._has_changes:
            raise InvalidArgumentError(
                "the cursor reads transactions without their changes; pass changes=True to history", key="changes"
            )

    @property
    def token(self) -> HistoryToken:
        """The position after the last transaction that was read, from which a later cursor can continue.

        Transactions that the predicate excluded count as read. Before the first transaction, it is the position at
        which the cursor begins.
        InvalidArgumentError for a cursor with sort keys.
        """
        return HistoryToken._owned(owned(lib.cst_history_cursor_copy_token, self._handle))

    # ---- following

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until there may be more transactions, committed by any process; call it after the end of a loop.

        The first call returns immediately, because it only begins to watch the stores. Returns False after `timeout`
        seconds. CancelledError after `cancel`. Ctrl-C cancels the wait.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = _PATIENCE if deadline is None else min(max(deadline - time.monotonic(), 0), _PATIENCE)
            if call(lib.cst_history_cursor_wait, self._handle, math.ceil(left * 1000)) != _abi.END:
                return True
            if deadline is not None and time.monotonic() >= deadline:
                return False

    def cancel(self) -> None:
        """Cancels the wait of another thread, and all later waits."""
        call(lib.cst_history_cursor_cancel, self._handle)

    def fileno(self) -> int:
        """Returns a descriptor that is readable while there may be more transactions, for select and event loops."""
        out = ctypes.c_int32()
        call(lib.cst_history_cursor_descriptor, self._handle, byref(out))
        return out.value

    def follow(self, timeout: float | None = None) -> Iterator[HistoryTransaction]:
        """Yields the transactions, and then those that any process commits; ends after `timeout` seconds without one.

        Each transaction is delivered at least once and in order. Save `token` together with the effects of the last
        transaction, and continue after it. The next transaction is read when the loop requests it, so a slow reader
        does not block other readers and writers.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            for transaction in self:
                yield transaction
                if timeout is not None:
                    deadline = time.monotonic() + timeout
            if not self.wait(None if deadline is None else max(deadline - time.monotonic(), 0)):
                return

    async def __aiter__(self) -> AsyncIterator[HistoryTransaction]:
        """Yields the transactions, and then those that any process commits, without a thread; like `follow`."""
        import asyncio

        loop = asyncio.get_running_loop()
        descriptor = self.fileno()
        while True:
            for transaction in self:
                yield transaction
            more = loop.create_future()
            loop.add_reader(descriptor, _set, more)
            try:
                await more
            finally:
                loop.remove_reader(descriptor)
            call(lib.cst_history_cursor_wait, self._handle, 0)  # CancelledError after `cancel`

    def values(self, change: HistoryChange) -> dict[str, Any] | None:
        """Returns the current values of a changed object.

        These are the values of all properties after an insertion, and of the changed properties after an update. None
        for a deletion, and for an object that was deleted since.

        The values are read from the store, and may be newer than the transaction; a later transaction then contains
        their change. The value of a relationship is an object ID or a list of object IDs. `change` must belong to the
        cursor's last transaction.
        """
        index = self._index(change)
        if change.kind is HistoryChangeKind.DELETE:
            return None
        names = change.updated_properties
        if change.kind is HistoryChangeKind.INSERT:
            entity = self._coordinator.model[change.entity_name]
            names = [each.name for each in entity.properties.values() if not each.is_transient]
        found: dict[str, Any] = {}
        for name in names:
            cell = _abi.Value()
            if call(lib.cst_history_cursor_copy_value, self._handle, index, text(name, "name"), byref(cell)) == _abi.OK:
                found[name] = take(cell)
        return found if found or not names else None

    def _index(self, change: HistoryChange) -> int:
        """Returns the index of a change of the last transaction."""
        if self._indexes is None:
            self._indexes = {id(each): index for index, each in enumerate(self._last)}
        index = self._indexes.get(id(change))
        if index is None:
            raise InvalidArgumentError(
                f"{change!r} is not a change of the cursor's last transaction; "
                "call values(change) before the cursor returns the next transaction",
                entity=change.entity_name,
                key="change",
                value=change,
                object_uri=change.object_uri,
            )
        return index

    def merge(self, context: Context) -> None:
        """Merges the remaining transactions into a context; see Context.merge_history."""
        context.merge_history(self)

    def __repr__(self) -> str:
        return f"<HistoryCursor of {self._coordinator._title}>"


# The interval in seconds at which a wait checks for Ctrl-C.
_PATIENCE = 0.2


def _set(more: asyncio.Future[None]) -> None:
    if not more.done():
        more.set_result(None)


def _decoded(address: int, size: int) -> str | None:
    return ctypes.string_at(address, size).decode() if address else None


def _texts(count: int, address: int) -> list[str]:
    views = ctypes.string_at(address, count * _TEXT.size)
    return [_decoded(*each) or "" for each in _TEXT.iter_unpack(views)]


class HistoryConsumer(NamedTuple):
    """A program that reads the history of a store, registered by name."""

    name: str
    #: The number of the last transaction that the program has read.
    transaction: int
    #: The time of the consumer's last registration or move.
    last_seen: datetime
    #: The time after `last_seen` during which the consumer limits purges.
    lease: timedelta
    #: False if the lease has expired.
    is_living: bool


class HistoryRetention(NamedTuple):
    """The limits of a store's history (`history_retention` of add_store).

    A transaction that exceeds any limit is deleted, unless an active consumer has yet to read it. Without limits, the
    transactions that every active consumer has read are deleted.
    """

    #: Delete transactions older than this.
    older_than: timedelta | None = None
    #: The number of newest transactions to keep.
    keep: int | None = None
    #: The size of the newest transactions to keep, in bytes, estimated by the average size of a change.
    max_bytes: int | None = None


class HistoryPurge(NamedTuple):
    """The numbers of transactions and changes that a purge deleted, and the reasons why others were kept."""

    transactions: int
    changes: int
    #: The consumer for which transactions were kept, because it has not read them; or None.
    held_by: str | None
    #: The names of consumers whose lease has expired.
    expired: list[str]
    #: Another reason why transactions were kept, or None.
    reason: str | None


class HistorySize(NamedTuple):
    """The size of a history."""

    transactions: int
    changes: int
    #: The bytes of the history's tables and indexes.
    bytes: int
    #: Whether `bytes` is an estimate, because the SQLite library does not report table sizes.
    is_estimated: bool
    #: The times of the first and the last transaction; None for an empty history.
    oldest: datetime | None
    newest: datetime | None


class DeletedHistory(NamedTuple):
    """The numbers of transactions and changes that a deletion removed."""

    transactions: int
    changes: int
