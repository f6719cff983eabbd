"""A part of Coordinator: the history of its stores, and their past states."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import byref
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Callable

from .. import _abi
from .._abi import lib, text
from .._abi.arguments import handles, require_instance, shown
from .._abi.call import call, owned
from ..errors import TypeMismatchError
from ..graph.history import (
    DeletedHistory,
    HistoryConsumer,
    HistoryCursor,
    HistoryPurge,
    HistorySize,
    HistoryToken,
    HistoryTransaction,
)
from ..graph.object_id import ObjectID
from ..predicate.predicate import Predicate
from ..predicate.sort import SortKey
from . import past
from .history_functions import (
    HistoryPart,
    Since,
    delete_transactions,
    history_options,
    purge,
    read_consumers,
    read_ids,
    read_size,
    register_consumer,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..graph.object import ManagedObject
    from .coordinator import Coordinator
from .coordinator_core import CoordinatorCore
from .store import Store


class CoordinatorHistory(CoordinatorCore):
    """Reading, deleting and purging the history of stores, its consumers, and past states."""

    def history(
        self,
        predicate: str | Predicate | None = None,
        *arguments: Any,
        subject: str = "transactions",
        since: Since = None,
        excluding_author: str | None = None,
        stores: Sequence[Store] = (),
        sort: SortKey | Sequence[SortKey] = (),
        limit: int | None = None,
        batch_size: int = 0,
        changes: bool = True,
    ) -> HistoryCursor:
        """Returns a cursor over the transactions of the stores that have a history (`history` of add_store).

            for transaction in coordinator.history("author == %@", "import", since=token):
                for change in transaction.changes:
                    ...

        predicate   a Predicate, or a predicate format, followed by its arguments; an argument can be a HistoryToken:
                    "token >= %@"
        subject     "transactions" or "changes": the subject of the predicate, the sort keys and the limit. Transactions
                    have the keys author, bundleID, contextName, processID, storeID, timestamp, token and
                    transactionNumber; changes have these, and changeID, changeType (HistoryChangeKind), changedEntity
                    (the name; without subentities), changedObjectID, updatedProperties and transaction. With "changes",
                    a transaction has only the changes that satisfy the predicate; without such changes it is left out
        since       the position after which to begin: a HistoryToken or a datetime; None: the first transaction. Of a
                    store that the token does not contain, all transactions are returned
        excluding_author  excludes the transactions of this author, but not those without an author
        stores      the stores to read; empty: all
        sort        key paths as for Context.fetch. Without them, transactions are in commit order, those of several
                    stores by time. With them, all transactions are read before the first is returned, and each sorted
                    change has its own transaction
        limit       the maximum number of transactions or changes (None and 0: all)
        batch_size  the number of transactions that are read at a time (0: the library's default)
        changes     False: transactions without changes, which are faster to read

        HistoryTokenExpiredError if transactions after the token were deleted, or the file was replaced by an older one.
        HistoryTokenStoreError if the token does not contain any of the stores.
        PredicateError for a key that the subject does not have.
        """
        self._require_open()
        options = history_options(
            predicate, arguments, handles(stores, Store, "stores"), subject, since, excluding_author, sort, limit,
            batch_size, changes,
        )  # fmt: skip
        return HistoryCursor(
            self._beneath,
            owned(lib.cst_coordinator_fetch_history, self._handle, byref(options)),
            not options.omits_changes,
        )

    def history_count(
        self, predicate: str | Predicate | None = None, *arguments: Any, **part: Unpack[HistoryPart]
    ) -> int:
        """Returns the number of transactions in a part of the history, or of changes if they are the subject.

        coordinator.history_count("changeType == %d", HistoryChangeKind.DELETE, subject="changes", since=token)
        """
        out = ctypes.c_uint64()
        options = self._history_part("history_count", predicate, arguments, part)
        call(lib.cst_coordinator_count_history, self._handle, byref(options), byref(out))
        return out.value

    def history_ids(
        self, predicate: str | Predicate | None = None, *arguments: Any, **part: Unpack[HistoryPart]
    ) -> list[ObjectID]:
        """Returns the IDs of all objects that a part of the history changed, each once. They may no longer exist."""
        return read_ids(self._beneath, self._history_part("history_ids", predicate, arguments, part))

    def _history_part(
        self, method: str, predicate: str | Predicate | None, arguments: tuple[Any, ...], part: HistoryPart
    ) -> _abi.HistoryOptions:
        self._require_open()
        unknown = set(part) - HistoryPart.__annotations__.keys()
        if unknown:
            *former, last = HistoryPart.__annotations__
            known = f"{', '.join(former)} or {last}"
            raise TypeError(f'"{min(unknown)}" is not a keyword argument of {method}; use {known}')
        given: dict[str, Any] = {**part}
        return history_options(predicate, arguments, handles(given.pop("stores", ()), Store, "stores"), **given)

    def history_token(self, *stores: Store) -> HistoryToken | None:
        """Returns the token of the current position, after the last transaction of each store.

        Without arguments, the token contains all stores that have a history. None if no store has a history.
        """
        self._require_open()
        handle = owned(lib.cst_coordinator_copy_history_token, self._handle, *handles(stores, Store, "stores"))
        return HistoryToken._owned(handle) if handle else None

    def at(self, place: HistoryToken | HistoryTransaction | datetime, stores: Sequence[Store] = ()) -> Coordinator:
        """Opens a past state of stores (empty: all), read-only: at a token, after a transaction, or at a date.

            with coordinator.at(token) as past:
                names = [note.title for note in past.context().fetch("Note")]

        The returned coordinator has the same model, and its objects have the same URIs. Each store is copied into
        TMPDIR, where the later changes are undone. The time this takes grows with the size of the stores and the number
        of later changes. Later saves do not change the past. With a complete history (`complete_history` of add_store)
        every value is known. Without it, a value that a later transaction replaced is unknown: it reads as None,
        including in predicates, and ManagedObject.is_known returns False.

        InvalidArgumentError for a store without history.
        HistoryTokenStoreError for a store that the token does not contain.
        HistoryTokenExpiredError if later transactions were deleted, for a date before the first remaining transaction,
        and if the store was migrated since.
        """
        from .coordinator import Coordinator  # here, because it derives from this class

        self._require_open()
        return Coordinator._owned(past.open_past(self._beneath, place, handles(stores, Store, "stores")), self.model)

    @property
    def past_token(self) -> HistoryToken | None:
        """The position at which a coordinator of the past was opened (`at`); None for other coordinators."""
        handle = owned(lib.cst_coordinator_copy_past_token, self._handle)
        return HistoryToken._owned(handle) if handle else None

    @property
    def is_past_complete(self) -> bool:
        """Whether all values of a coordinator of the past are known; True for other coordinators."""
        out = ctypes.c_bool()
        call(lib.cst_coordinator_is_past_complete, self._handle, byref(out))
        return out.value

    def history_of(self, subject: ManagedObject | ObjectID) -> list[past.Revision]:
        """Returns the revisions of an object, oldest first: time, author and changed properties of each change.

            for revision in coordinator.history_of(note):
                print(revision.timestamp, revision.author, revision.values)

        The object may have been deleted. A complete history has the values of attributes and to-one relationships
        before and after each change. Otherwise only values that no later change replaced are known. To-many
        relationships and derived attributes are listed without values.

        InvalidArgumentError for a store without history.
        """
        return past.object_revisions(self._beneath, subject)

    def history_diff(
        self, start: HistoryToken, end: HistoryToken | None = None, stores: Sequence[Store] = ()
    ) -> list[past.Revision]:
        """Returns the differences between two positions, by object. If `end` is None, it is the current position.

        To-many relationships are included; objects that were inserted and deleted in between are not. Objects that
        differ only in derived values or members are listed last, as far as old values were recorded. Both states are
        opened as by `at`, with its errors. InvalidArgumentError if `end` is before `start`.
        """
        return past.differences(self._beneath, start, end, handles(stores, Store, "stores"))

    def delete_history(
        self,
        before: HistoryToken | HistoryTransaction | datetime,
        stores: Sequence[Store] = (),
        *,
        progress: Callable[[int, int], Any] | None = None,
    ) -> DeletedHistory:
        """Deletes the transactions before a position and their changes, and returns the numbers of both.

            coordinator.delete_history(datetime.now(timezone.utc) - timedelta(days=30))

        Objects do not change. Reading with an older token then raises HistoryTokenExpiredError, and the reader must
        fetch its objects again. So keep the transactions that the slowest reader has not read.

        before    a token or a transaction, whose own transaction is kept; or a datetime: the transactions before the
                  first one of that time or later
        stores    with a datetime, the stores; empty: all. A token names its stores
        progress  progress(transactions, changes) is called with the numbers deleted so far, after each step; other
                  contexts can save between two steps. An exception that it raises cancels the deletion and propagates;
                  deleted transactions are not restored

        StoreReadOnlyError for a read-only store.
        HistoryTokenStoreError for a token of other stores.
        """
        self._require_open()
        return delete_transactions(self._beneath, before, handles(stores, Store, "stores"), progress)

    def register_history_consumer(
        self, name: str, store: Store, *, at: HistoryToken | None = None, lease: timedelta | None = None
    ) -> None:
        """Registers a consumer of a store's history by name: purges keep the transactions that it has not read.

        A new consumer begins at `at` (None: after the last transaction); a registered one keeps its position. A
        consumer limits purges until its lease (None: 30 days) expires, counted from its last registration or move.
        InvalidArgumentError for a store without history. HistoryTokenStoreError for a token of another store.
        StoreReadOnlyError for a read-only store.
        """
        self._require_open()
        register_consumer(self._beneath, require_instance(Store, store, "store"), name, at, lease)

    def move_history_consumer(self, name: str, store: Store, to: HistoryToken) -> None:
        """Moves a consumer to the position up to which it has read, and renews its lease.

        An earlier position does not move the consumer. InvalidArgumentError for a consumer that is not registered.
        """
        self._require_open()
        if not isinstance(to, HistoryToken):
            raise TypeMismatchError(f"to must be a HistoryToken, not {shown(to)}", key="to", value=to)
        store = require_instance(Store, store, "store")
        call(lib.cst_coordinator_move_history_consumer, self._handle, store._handle, text(name, "name"), to._handle)

    def unregister_history_consumer(self, name: str, store: Store) -> bool:
        """Deregisters a consumer. Returns False if it was not registered."""
        self._require_open()
        store = require_instance(Store, store, "store")
        found = call(lib.cst_coordinator_unregister_history_consumer, self._handle, store._handle, text(name, "name"))
        return bool(found == _abi.OK)

    def history_consumers(self, store: Store) -> list[HistoryConsumer]:
        """Returns the consumers of a store's history, by name, including those whose lease has expired."""
        self._require_open()
        return read_consumers(self._beneath, require_instance(Store, store, "store"))

    def purge_history(
        self,
        store: Store,
        *,
        older_than: timedelta | None = None,
        keep: int | None = None,
        max_bytes: int | None = None,
        progress: Callable[[int, int], Any] | None = None,
    ) -> HistoryPurge:
        """Deletes the transactions that exceed a limit and that every active consumer has read.

            coordinator.purge_history(store, older_than=timedelta(days=30), keep=10_000)

        Without limits, deletes the transactions that every active consumer has read, and nothing if there is no
        consumer. A store that CloudKit mirrors keeps the transactions of at least seven days, and those that were not
        exported.

        older_than  delete transactions older than this
        keep        the number of newest transactions to keep
        max_bytes   the size of the newest transactions to keep, in bytes, estimated by the average size of a change
        progress    progress(transactions, changes) is called with the numbers deleted so far, after each step; other
                    contexts can save between two steps. An exception that it raises cancels the purge and propagates
        """
        self._require_open()
        return purge(self._beneath, require_instance(Store, store, "store"), older_than, keep, max_bytes, progress)

    def history_size(self, store: Store) -> HistorySize:
        """Returns the size of a store's history. Reads all pages of the history tables."""
        self._require_open()
        return read_size(self._beneath, require_instance(Store, store, "store"))
