"""The library's callbacks for stores that are written in Python."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import plistlib
import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from ctypes import byref
from typing import Any, Callable

from .. import _abi
from .._abi import conversion, lib, values
from .._abi.arguments import plural, shown
from .._abi.call import call
from .._abi.callbacks import reported
from .._abi.handles import retained
from .._abi.interrupt import immortal
from .._abi.wrappers import releases_can_wait
from ..errors import CorestoneError, InvalidArgumentError, TypeMismatchError
from ..graph.request import FetchRequest, result_type_name
from ..model.model import Model
from ..predicate.predicate import Predicate
from ..predicate.sort import SortDescriptor, selector_of
from .host_rows import CELL, Rows, decoded, identity, node, push, reading_of, row_ids
from .host_store import (
    AtomicStore,
    Fetched,
    HostStore,
    IncrementalStore,
    MemberChange,
    RowID,
    SaveChangesRequest,
    StoreOpening,
    UpdatedNode,
)
from .open_hosts import note, opened

_types: dict[int, type[HostStore]] = {}  # registered types, and those with open stores
_numbers = itertools.count(1)


# -------- the callbacks --------------------------------------------------------------------------------------


def _failed(raised: BaseException, error: Any) -> int:
    """Reports an exception with its traceback; a CorestoneError is reported without one."""
    if isinstance(raised, CorestoneError):
        return reported(raised, error)
    words = "".join(traceback.format_exception(type(raised), raised, raised.__traceback__)).rstrip()
    return reported(raised, error, f"{type(raised).__name__}: {raised}\n{words}" if str(raised) else words)


def _guarded(body: Callable[..., int | None]) -> Callable[..., int]:
    """Returns a callback whose first argument is the number of a store, and whose last argument is the error."""

    def run(number: int, *arguments: Any, stores: dict[int, HostStore] = opened) -> int:
        try:
            store = stores[number]
            ended, store._cst_ended = store._cst_ended, None
            if ended is not None:
                raise ended
            return body(store, *arguments[:-1]) or _abi.OK
        except BaseException as raised:  # including KeyboardInterrupt: the call that needed the store fails with it
            return _failed(raised, arguments[-1])

    return run


def _of_class(body: Callable[..., None]) -> Callable[..., int]:
    """Returns a callback for stores that are not open. Its first argument is the number of the store type."""

    def run(number: int, *arguments: Any, types: dict[int, type[HostStore]] = _types) -> int:
        try:
            body(types[number], *arguments[:-1])
            return _abi.OK
        except FileNotFoundError:
            return _abi.NOT_FOUND
        except BaseException as raised:
            return _failed(raised, arguments[-1])

    return run


def _run_open(
    number: int, opening: Any, out_store: Any, out_metadata: Any, error: Any,
    types: dict[int, type[HostStore]] = _types,
) -> int:  # fmt: skip
    said = None
    try:
        said = _opening(opening[0])
        store = types[number](said)
        try:
            _begin(store, types[number].__name__, said.path, out_metadata)
        except BaseException:
            # The store may have opened files or connections, which no other code closes. The first failure is reported.
            with contextlib.suppress(Exception):
                store.close()
            raise
        place = next(_numbers)
        opened[place] = store
        out_store[0] = place
        note(store)
        return _abi.OK
    except FileNotFoundError as raised:
        if said is not None and said.must_exist:
            return _abi.NOT_FOUND
        return _failed(raised, error)
    except BaseException as raised:
        return _failed(raised, error)


def _begin(store: Any, kind: str, path: str, out_metadata: Any) -> None:
    """Loads the metadata of a new store instance, and passes it to the library."""
    if not isinstance(store, HostStore) or getattr(store, "opening", None) is None:
        fault = (
            f"{kind}.__init__ must call super().__init__(opening), which initialises the store"
            if isinstance(store, HostStore)
            else f"{kind}() must return a HostStore, but returned an object of type {type(store).__name__}"
        )
        raise TypeMismatchError(fault, file=path or None)
    metadata = store.load_metadata()
    if metadata is not None:
        plist = _plist(metadata, f"{kind}.load_metadata", store.opening.path)
        call(lib.cst_buffer_fill, out_metadata, _abi.InputString(plist, len(plist)))
        store.metadata = dict(metadata)


def _opening(given: Any) -> StoreOpening:
    options = {
        _abi.decode(given.option_names[place]) or "": decoded(given.option_values[place])
        for place in range(given.option_count)
    }
    return StoreOpening(
        _abi.decode(given.type) or "",
        _abi.decode(given.path) or "",
        Model._of(retained(given.model)),
        _abi.decode(given.configuration),
        given.read_only,
        given.must_exist,
        given.is_new,
        _from_plist(given.metadata) or {},
        options,
    )


def _plist(metadata: Any, whose: str, path: str) -> bytes:
    if not isinstance(metadata, Mapping):
        raise TypeMismatchError(
            f"{whose} must return a dictionary, not {shown(metadata)}", value=metadata, file=path or None
        )
    try:
        return plistlib.dumps(dict(metadata), fmt=plistlib.FMT_BINARY)
    except (TypeError, OverflowError, ValueError) as failure:
        # For a value of another type or a large integer, the exception has only the value.
        wrong = failure.args[0] if failure.args else None
        reason = str(failure) if isinstance(wrong, str) else f"{shown(wrong)} is not supported"
        raise TypeMismatchError(
            f"{whose} returned metadata that cannot be stored as a property list: {reason}. Use bool, int (64 bits), "
            "float, str, bytes, datetime (without a time zone), or lists and dictionaries (with strings as keys) of "
            "these",
            value=metadata,
            file=path or None,
        ) from failure


def _from_plist(data: Any) -> dict[str, Any] | None:
    if not data.data or not data.size:
        return None
    found: dict[str, Any] = plistlib.loads(ctypes.string_at(data.data, data.size))
    return found


def _run_close(number: int, stores: dict[int, HostStore] = opened) -> None:
    store = stores.pop(number, None)
    if store is not None:
        store.close()


def _run_save(store: HostStore, changes: Any, sink: int) -> None:
    given = changes[0]
    request = SaveChangesRequest(
        [node(given.inserted[place], store) for place in range(given.inserted_count)],
        [_updated(given.updated[place], store) for place in range(given.updated_count)],
        [node(given.deleted[place], store) for place in range(given.deleted_count)],
        [node(given.locked[place], store) for place in range(given.locked_count)],
    )
    request.member_changes = [
        _member_change(given.member_changes[place], store) for place in range(given.member_change_count)
    ]
    request.metadata = _from_plist(given.metadata)
    request.author, request.context_name = _abi.decode(given.author), _abi.decode(given.context_name)
    request._cst_handle, request._cst_store = given.request or 0, store
    try:
        became: Any = store.save(request)
        if isinstance(became, Iterator):
            # If `save` is a generator, it runs only now, and may fail.
            became = list(became)
    finally:
        request._cst_handle, request._cst_store = 0, None
    if request.metadata is not None:
        store.metadata = dict(request.metadata)
    if became is not None:
        _write_results(became, sink, store)


def _write_results(became: Any, sink: int, store: HostStore) -> None:
    """Passes the rows that `save` returned to the library: saved rows that differ from the request.

    The store has already saved, so this function must not fail. For an invalid result, it issues a warning, and the
    library reads the rows again.
    """
    try:
        push(became, sink, store, "save")
    except Exception as refused:
        lib.cst_row_sink_push(sink, 1, None, None)  # after an invalid push the library reads the rows again
        what = (
            f"{type(store).__name__}.save saved the changes but returned invalid rows, which are read again: {refused}"
        )
        try:
            warnings.warn(what, RuntimeWarning, stacklevel=2)
        except RuntimeWarning:  # with -W error
            traceback.print_exc()


def _updated(update: Any, store: HostStore) -> UpdatedNode:
    found: UpdatedNode = node(update.row, store, UpdatedNode)
    found.old_version = update.old_version
    paths = reading_of(update.row.entity, store).paths
    found.changed = frozenset(paths[update.changed[place]][1][0] for place in range(update.changed_count))
    return found


def _member_change(change: Any, store: HostStore) -> MemberChange:
    reading = reading_of(change.owner.entity, store)
    return MemberChange(
        row_ids(1, [change.owner], store)[0],
        reading.paths[change.relationship][0].name,
        change.is_ordered,
        row_ids(change.added_count, change.added, store),
        row_ids(change.removed_count, change.removed, store),
        row_ids(change.member_count, change.members, store),
    )


def _run_obtain(store: HostStore, count: int, rows: Any, out: Any) -> None:
    given = store.obtain_permanent_ids([node(rows[place], store) for place in range(count)])
    if isinstance(given, (str, bytes)) or not isinstance(given, Sequence) or len(given) != count:
        amount = plural(len(given), "ID") if isinstance(given, (list, tuple)) else shown(given)
        raise TypeMismatchError(
            f"{type(store).__name__}.obtain_permanent_ids returned {amount} for {plural(count, 'object')}; return a "
            "list with one ID per object, in the same order",
            value=given,
            file=store.opening.path or None,
        )
    store._cst_references = encoded = conversion.Encoded(
        [identity(each, store, accepts_node=False)[2] for each in given]
    )
    ctypes.memmove(out, encoded.address, CELL * count)


def _run_fetch(store: HostStore, fetch: Any, sink: int, out_done: Any, out_count: Any) -> None:
    assert isinstance(store, IncrementalStore)
    request = _request(fetch[0], store)
    answer = store.execute_fetch(request)
    if isinstance(answer, int) and not isinstance(answer, bool):
        if request.result_type != "count":
            raise TypeMismatchError(
                f"{type(store).__name__}.execute_fetch returned the number {shown(answer)} for a request of "
                f'{request.entity.name} with result type "{request.result_type}"; return rows',
                entity=request.entity.name,
                value=answer,
                file=store.opening.path or None,
            )
        out_count[0] = answer
        out_done[0] = _abi.FETCHED_COUNT | _abi.FETCHED_PREDICATE | _abi.FETCHED_WINDOW
        return
    rows: Any = answer
    fetched = answer if isinstance(answer, Fetched) else Fetched(rows)
    push(fetched.rows, sink, store, "execute_fetch", request.entity)
    out_done[0] = (
        (_abi.FETCHED_PREDICATE if fetched.predicate else 0)
        | (_abi.FETCHED_ORDER if fetched.order else 0)
        | (_abi.FETCHED_WINDOW if fetched.window else 0)
    )


def _request(fetch: Any, store: HostStore) -> FetchRequest:
    request = FetchRequest(store.model._entity_of(fetch.entity))
    if fetch.predicate:
        request.predicate = Predicate._owned(retained(fetch.predicate))
    if fetch.sort_count:
        sorts = [fetch.sort[place] for place in range(fetch.sort_count)]
        request.sort = [
            SortDescriptor(
                _abi.decode(_abi.String.from_buffer(each)),
                not each.flags & _abi.SORT_DESCENDING,
                selector_of(each.flags),
            )
            for each in sorts
        ]
    request.limit, request.offset = fetch.limit, fetch.offset
    request.include_subentities = fetch.includes_subentities
    request.result_type = result_type_name(fetch.result_type)
    if fetch.key_count:
        paths = reading_of(fetch.entity, store).paths
        request.columns = list(dict.fromkeys(paths[fetch.keys[place]][1][0] for place in range(fetch.key_count)))
    return request


def _run_values(store: HostStore, count: int, rows: Any, sink: int) -> None:
    assert isinstance(store, IncrementalStore)
    push(store.new_values(row_ids(count, rows, store)), sink, store, "new_values")


def _run_relationship(store: HostStore, entity: int, key: int, count: int, owners: Any, sink: int) -> None:
    assert isinstance(store, IncrementalStore)
    reading = reading_of(entity, store)
    description, owner = reading.paths[key][0], reading.entity.name
    ids = row_ids(count, owners, store)
    given = list(store.new_values_for_relationship(description.name, ids))
    if len(given) != count:
        raise TypeMismatchError(
            f"{type(store).__name__}.new_values_for_relationship returned {plural(len(given), 'value')} of "
            f"{owner}.{description.name} for {plural(count, 'object')}; return one per object, in the same order",
            entity=owner,
            key=description.name,
            value=given,
            file=store.opening.path or None,
        )
    destination = reading_of(description.destination, store).entity
    for place, value in enumerate(given):
        if not description.is_to_many:
            value = [] if value is None else [value]
        elif value is None or isinstance(value, (str, bytes, RowID, Mapping)) or not isinstance(value, Iterable):
            method, remedy = "new_values_for_relationship", "return a list for each object"
            if not _has_own(type(store), method):
                method, remedy = "new_value_for_relationship", "return a list"
            raise TypeMismatchError(
                f"{type(store).__name__}.{method} returned {shown(value)} for the to-many relationship "
                f"{owner}.{description.name} of {ids[place]!r}; {remedy}",
                entity=owner,
                key=description.name,
                value=value,
                file=store.opening.path or None,
            )
        try:
            members = Rows(list(value), store, destination)
        except CorestoneError as error:
            raise values.located(error, owner, description.name, None) from None
        if members.count:
            call(lib.cst_row_sink_push_members, sink, place, members.count, members.array)


def _run_load(store: HostStore, sink: int) -> None:
    assert isinstance(store, AtomicStore)
    push(store.load(), sink, store, "load")


def _notifying(body: Callable[[IncrementalStore, Any], None]) -> Callable[..., None]:
    """Returns a callback without an error parameter.

    An exception is passed to sys.unraisablehook. An exception that is not an Exception, such as KeyboardInterrupt,
    makes the next call that needs the store fail.
    """

    def run(number: int, count: int, rows: Any, stores: dict[int, HostStore] = opened) -> None:
        store = stores.get(number)
        if not isinstance(store, IncrementalStore):
            return
        try:
            body(store, row_ids(count, rows, store))
        except Exception:
            raise
        except BaseException as raised:
            store._cst_ended = raised

    return run


def _run_move(store: HostStore, path: Any) -> None:
    to = _abi.decode(path) or ""
    store.move(to)
    store.opening = store.opening._replace(path=to)


def _run_copy_metadata(kind: type[HostStore], path: Any, out: Any) -> None:
    file = _abi.decode(path) or ""
    plist = _plist(kind.metadata_for_store(file), f"{kind.__name__}.metadata_for_store", file)
    call(lib.cst_buffer_fill, out, _abi.InputString(plist, len(plist)))


def _run_set_metadata(kind: type[HostStore], path: Any, plist: Any) -> None:
    kind.set_metadata_for_store(_abi.decode(path) or "", _from_plist(plist) or {})


def _run_destroy(kind: type[HostStore], path: Any) -> None:
    kind.destroy_store(_abi.decode(path) or "")


def _run_replace(kind: type[HostStore], path: Any, source: Any) -> None:
    kind.replace_store(_abi.decode(path) or "", _abi.decode(source) or "")


def _forget(number: int, types: dict[int, type[HostStore]] = _types) -> None:
    types.pop(number, None)


def _telling(body: Callable[[HostStore], None]) -> Callable[[int], None]:
    """Returns a callback without further parameters. Exceptions are treated as in `_notifying`."""

    def run(number: int, stores: dict[int, HostStore] = opened) -> None:
        store = stores.get(number)
        if store is None:
            return
        try:
            body(store)
        except Exception:
            raise
        except BaseException as raised:
            store._cst_ended = raised

    return run


_TABLE = _abi.StoreCallbacks
_ALWAYS = {
    "open": immortal(_TABLE.OPEN(_run_open)),
    "close": immortal(_TABLE.CLOSE(_run_close)),
}
# By field of the callback table: the method that a class must override so that the field is set, and the callback.
_OPTIONAL = {
    "save": ("save", immortal(_TABLE.SAVE(_guarded(_run_save)))),
    "obtain_ids": ("obtain_permanent_ids", immortal(_TABLE.OBTAIN_IDS(_guarded(_run_obtain)))),
    "move": ("move", immortal(_TABLE.MOVE(_guarded(_run_move)))),
    "fetch": ("execute_fetch", immortal(_TABLE.FETCH(_guarded(_run_fetch)))),
    "values": ("new_values", immortal(_TABLE.VALUES(_guarded(_run_values)))),
    "did_register": (
        "did_register",
        immortal(_TABLE.DID_REGISTER(_notifying(lambda store, ids: store.did_register(ids)))),
    ),
    "did_unregister": (
        "did_unregister",
        immortal(_TABLE.DID_UNREGISTER(_notifying(lambda store, ids: store.did_unregister(ids)))),
    ),
    "did_add": ("did_add", immortal(_TABLE.DID_ADD(_telling(lambda store: store.did_add())))),
    "will_remove": ("will_remove", immortal(_TABLE.WILL_REMOVE(_telling(lambda store: store.will_remove())))),
    "load": ("load", immortal(_TABLE.LOAD(_guarded(_run_load)))),
    "copy_metadata": ("metadata_for_store", immortal(_TABLE.COPY_METADATA(_of_class(_run_copy_metadata)))),
    "set_metadata": ("set_metadata_for_store", immortal(_TABLE.SET_METADATA(_of_class(_run_set_metadata)))),
    "destroy_store": ("destroy_store", immortal(_TABLE.DESTROY_STORE(_of_class(_run_destroy)))),
    "replace_store": ("replace_store", immortal(_TABLE.REPLACE_STORE(_of_class(_run_replace)))),
}
_relationship = immortal(_TABLE.RELATIONSHIP(_guarded(_run_relationship)))
_forget_callback = immortal(_abi.DESTROY_FN(_forget))


def register(name: str, kind: Any) -> None:
    """Registers a class as a store type."""
    if not isinstance(kind, type) or not issubclass(kind, (IncrementalStore, AtomicStore)):
        raise TypeMismatchError(
            f'cannot register the store type "{name}": {shown(kind)} is not a subclass of IncrementalStore or '
            "AtomicStore",
            key="store_class",
            value=kind,
        )
    releases_can_wait()
    table = _TABLE()
    table.struct_size = ctypes.sizeof(table)
    table.kind = _abi.STORE_INCREMENTAL if issubclass(kind, IncrementalStore) else _abi.STORE_ATOMIC
    table.abilities = sum(
        bit
        for bit, has in (
            (_abi.STORE_PARALLEL_READS, kind.parallel_reads),
            (_abi.STORE_UNIQUE_CONSTRAINTS, kind.unique_constraints),
            (_abi.STORE_DERIVED_ATTRIBUTES, kind.derived_attributes),
        )
        if has
    )
    needed = ("execute_fetch", "new_values") if issubclass(kind, IncrementalStore) else ("load",)
    missing = [method for method in needed if not _has_own(kind, method)]
    if missing:
        raise InvalidArgumentError(
            f'{kind.__name__} must implement {" and ".join(missing)} to be registered as the store type "{name}"',
            key="store_class",
            value=kind,
        )
    for field, callback in _ALWAYS.items():
        setattr(table, field, callback)
    for field, (method, callback) in _OPTIONAL.items():
        if _has_own(kind, method):
            setattr(table, field, callback)
    if _has_own(kind, "new_value_for_relationship") or _has_own(kind, "new_values_for_relationship"):
        table.relationship = _relationship
    number = next(_numbers)
    _types[number] = kind
    table.userdata, table.destroy = number, _forget_callback
    call(lib.cst_store_type_register, _abi.text(name, "name"), byref(table))


def _has_own(kind: type[HostStore], method: str) -> bool:
    base: Any = IncrementalStore if issubclass(kind, IncrementalStore) else AtomicStore
    mine, known = getattr(kind, method, None), getattr(base, method, None)
    return mine is not None and getattr(mine, "__func__", mine) is not getattr(known, "__func__", known)
