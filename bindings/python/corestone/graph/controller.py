"""The results of a request by section and row, for a list in a user interface."""

from __future__ import annotations

import ctypes
import itertools
import threading
import weakref
from collections.abc import Iterator, Sequence
from ctypes import byref
from typing import Any, Callable, Generic, cast

from .. import _abi
from .._abi import lib, values
from .._abi.arguments import MOST, elements, plural, require_instance, require_integer, shown
from .._abi.borrowed import wrapper
from .._abi.call import call, failure
from .._abi.callbacks import isolating_exceptions, reported
from .._abi.checked import Checked
from .._abi.handles import Handle, Token, retained_owner
from .._abi.interrupt import immortal
from .._abi.stamps import Stamp
from ..errors import InvalidArgumentError
from .context import Context
from .live import ALL, IndexPath, Snapshot, difference, id_change, key_path_text, object_change, section_change
from .object import ManagedObject
from .request import FetchRequest
from .results import Results
from .typing import Item


class ResultsSection(Generic[Item]):
    """A section of a controller's results, as of the call that returned it."""

    __slots__ = ("_controller", "index", "name", "number_of_objects")

    def __init__(self, controller: FetchedResultsController[Item], index: int, name: str, count: int) -> None:
        self._controller = controller
        self.index = index
        self.name = name  # empty for objects without a section name, and without sections
        self.number_of_objects = count

    @property
    def index_title(self) -> str | None:
        """The title of the section in an index; None if the index leaves the section out."""
        return self._controller.section_index_title(self.name)

    @property
    def objects(self) -> Results[Item]:
        """The current objects of the section."""
        found = self._controller._objects(self.index)
        if found is None:
            raise InvalidArgumentError(
                f"{self._controller._title} does not have results after a reset or a failure; call perform_fetch again",
                entity=self._controller.request.entity_name,
            )
        return found

    def __len__(self) -> int:
        return self.number_of_objects

    def __getitem__(self, row: int) -> Item:
        if not -self.number_of_objects <= row < self.number_of_objects:
            amount = plural(self.number_of_objects, "object")
            name = f'section "{self.name}"' if self.name else f"section {self.index}"
            raise IndexError(f"index {shown(row)} is out of range: {name} has {amount}")
        return self._controller.object_at(self.index, row % self.number_of_objects)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.objects)

    def __repr__(self) -> str:
        return f"<ResultsSection {self.name!r}: {self.number_of_objects} objects>"


class FetchedResultsController(Checked, Generic[Item]):
    """The results of a request by section and row. A delegate is notified of their changes.

        people = FetchedResultsController(ctx, FetchRequest("Employee", sort=["team", "name"]), "team")
        people.delegate = table
        people.perform_fetch()

    `sections` is the key path whose values name the sections, or a function that returns the name for an object. The
    objects must be sorted so that those of a section are adjacent. `cache_name` names the section cache, which outlives
    the process. `dependencies` are key paths to objects whose changes count as updates of the objects that refer to
    them.

    A delegate implements some of these methods; changes are tracked only while a delegate is set. For each event that
    changes the results, the first four are called in this order, unless the delegate has one of the next two:

        will_change(controller)                  the results are still the former ones
        did_change_section(controller, change)   a SectionChange
        did_change_object(controller, change)    an ObjectChange
        did_change(controller)
        did_change_all(controller, difference) all changes of an event in one call
        did_change_ids(controller, changes)      all changes as a list of IDChange; only without sections
        did_reset(controller, error)             a reset or a failure; no results until perform_fetch
        section_index_title(controller, name)    a str, or None to leave the section out of an index

    Use the controller on the queue of its context. It retains its delegate. An exception of the delegate does not make
    a call fail, because the change has already happened. The exception goes to sys.unraisablehook, with a note that
    names the method, the controller and its context.
    """

    _cst_attributes = ("context", "dependencies", "request")

    def __init__(
        self,
        context: Context,
        request: FetchRequest[Item, Any],
        sections: str | Callable[[Item], str | None] | None = None,
        *,
        cache_name: str | None = None,
        dependencies: Sequence[str] = (),
        delegate: Any = None,
    ) -> None:
        self.context = require_instance(Context, context, "context")
        self.request: FetchRequest[Item, Any] = require_instance(FetchRequest, request, "request")
        self.dependencies = dependencies
        self._sections = sections
        self._cache_name = cache_name
        self._delegate: Any = None
        self._handle: int | None = None
        if delegate is not None:
            self.delegate = delegate

    def perform_fetch(self) -> None:
        """Fetches the results of the request, for the first time or again. The difference is not reported."""
        fresh = self._build()
        former, self._handle = self._handle, fresh
        try:
            self._install()
            paths = list(elements(self.dependencies, "dependencies", "a list of key paths"))
            call(lib.cst_controller_set_dependencies, fresh, len(paths), _abi.texts(paths, "dependencies"))
            self.context._work_on(fresh, lib.cst_controller_perform_fetch)
        except BaseException:
            self._handle = former
            fresh.hold = None
            raise
        if former is not None:
            call(lib.cst_controller_set_delegate, former, None)

    def _build(self) -> Token:
        asked = self.request._build(self.context)
        self._entity = self.request._entity_in(self.context)
        out = Handle()
        if callable(self._sections):
            number = next(_numbers)
            _namers[number] = self._sections
            self.context._work(
                lib.cst_controller_new_with_sections, asked.handle, _name_callback, number, _forget_namer, byref(out)
            )
        else:
            self.context._work(
                lib.cst_controller_new, asked.handle, key_path_text(self._sections), key_path_text(self._cache_name),
                byref(out),
            )  # fmt: skip
        return out.token

    @property
    def delegate(self) -> Any:
        """The object that is notified of changes. If it is None, changes are not tracked."""
        return self._delegate

    @delegate.setter
    def delegate(self, delegate: Any) -> None:
        self._delegate = delegate
        if self._handle is not None:
            self._install()

    def _install(self) -> None:
        delegate = self._delegate
        if delegate is None:
            call(lib.cst_controller_set_delegate, self._handle, None)
            return
        delegate_struct = _abi.ControllerDelegate(struct_size=ctypes.sizeof(_abi.ControllerDelegate))
        for name, callback in _callbacks.items():
            if hasattr(delegate, "section_index_title" if name == "section_title" else name):
                setattr(delegate_struct, name, callback)
        number = next(_numbers)
        _controllers[number] = weakref.ref(self)
        delegate_struct.userdata = number
        delegate_struct.destroy = _forget_controller
        call(lib.cst_controller_set_delegate, self._handle, byref(delegate_struct))

    # ---- results

    @property
    def _title(self) -> str:
        """The name of the controller in messages."""
        name = self.request.entity_name
        return f"the controller of {name}" if name else "the controller"

    def _snapshot(self) -> Snapshot | None:
        out = Handle()
        if self._handle is None:
            return None
        self.context._work_on(self._handle, lib.cst_controller_copy_snapshot, byref(out))
        return Snapshot(out.token) if out else None

    @property
    def snapshot(self) -> Snapshot | None:
        """The current results; None before perform_fetch, and after a reset."""
        return self._snapshot()

    def _objects(self, section: int) -> Results[Item] | None:
        out = Handle()
        if self._handle is None:
            return None
        self.context._work_on(self._handle, lib.cst_controller_copy_objects, section, byref(out))
        return Results(self.context, out.token, self._entity) if out else None

    @property
    def fetched_objects(self) -> Results[Item] | None:
        """All objects; None before perform_fetch, and after a reset."""
        return self._objects(ALL)

    @property
    def sections(self) -> list[ResultsSection[Item]] | None:
        """The current sections; without section names, a single one. None before perform_fetch, and after a reset."""
        found = self._snapshot()
        if found is None:
            return None
        names = found.section_names
        return [ResultsSection(self, index, name, found.count(index)) for index, name in enumerate(names)]

    def object_at(self, section: int, row: int) -> Item:
        """Returns the object at an index path: `object_at(*path)`."""
        section, row = require_integer(section, "section", -MOST), require_integer(row, "row", -MOST)
        if self._handle is None:
            raise InvalidArgumentError(
                f"{self._title} does not have results; call perform_fetch first", entity=self.request.entity_name
            )
        if section < 0 or row < 0:
            raise InvalidArgumentError(
                f"the index path ({section}, {row}) is negative; use indexes from 0",
                entity=self.request.entity_name,
                key="section" if section < 0 else "row",
                value=[section, row],
            )
        out = Handle()
        self.context._work_on(self._handle, lib.cst_controller_copy_object, section, row, byref(out))
        return cast("Item", self.context._adopt(out, None))

    def __getitem__(self, path: tuple[int, int]) -> Item:
        return self.object_at(*require_instance(tuple, path, "path"))

    def index_path(self, item: Any) -> IndexPath | None:
        """Returns the index path of an object; None if it is not among the results."""
        if self._handle is None:
            return None
        path = _abi.IndexPath()
        handle = require_instance(ManagedObject, item, "item")._cst_handle
        status = self.context._work_on(self._handle, lib.cst_controller_index_path, handle, byref(path))
        return IndexPath(path.section, path.row) if status == _abi.OK else None

    # ---- the index

    def section_index_title(self, name: str) -> str | None:
        """Returns the title for a section name, from the delegate or else the name's capitalised first letter."""
        if self._handle is None:
            return name[:1].upper() or None
        buffer = _abi.Buffer()
        found = self.context._work_on(
            self._handle, lib.cst_controller_copy_section_title, _abi.text(name, "name"), byref(buffer)
        )
        return _abi.take_text(buffer) if found == _abi.OK else None

    @property
    def section_index_titles(self) -> list[str]:
        """The index titles of the sections, without repetitions; empty without sections."""
        titles: list[str] = []
        buffer = _abi.Buffer()
        while self._handle is not None:
            found = self.context._work_on(self._handle, lib.cst_controller_copy_title, len(titles), byref(buffer))
            if found != _abi.OK:
                break
            titles.append(_abi.take_text(buffer))
            buffer = _abi.Buffer()
        return titles

    def section_for_index_title(self, title: str, index: int) -> int:
        """Returns the index of the first section that has an index title.

        `index` is the index of the title in section_index_titles.
        """
        out = ctypes.c_size_t()
        if self._handle is None:
            raise InvalidArgumentError(
                f"{self._title} does not have section index titles yet; call perform_fetch first",
                entity=self.request.entity_name,
            )
        index = require_integer(index, "index")
        self.context._work_on(
            self._handle, lib.cst_controller_section_for_title, _abi.text(title, "title"), index, byref(out)
        )
        return out.value

    @staticmethod
    def delete_cache(name: str | None = None) -> None:
        """Deletes the section cache of a name, or all section caches. Results are correct without this call."""
        call(lib.cst_controller_delete_cache, key_path_text(name))

    def __repr__(self) -> str:
        return f"<FetchedResultsController of {self.request.entity_name} in {self.context!r}>"


# ---- callbacks

_controllers: dict[int, weakref.ref[FetchedResultsController[Any]]] = {}
_namers: dict[int, Callable[[Any], str | None]] = {}
_numbers = itertools.count(1)
_given: dict[int, values.Cell] = {}


def _forget(number: int) -> None:
    _controllers.pop(number, None)
    _namers.pop(number, None)


def _delegate_method(number: int, name: str) -> tuple[FetchedResultsController[Any], Any] | None:
    """Returns a controller and its delegate's method; None if one does not exist, or the context is being closed."""
    found = _controllers.get(number, lambda: None)()
    method = getattr(found.delegate, name, None) if found is not None else None
    if found is None or method is None or found.context._is_closing:
        return None
    found.context._mark.stamp = Stamp()
    return found, method


def _call_delegate(
    number: int, name: str, arguments: Callable[[FetchedResultsController[Any]], tuple[Any, ...]]
) -> None:
    """Calls a delegate's method with the arguments that `arguments` returns."""
    found = _delegate_method(number, name)
    if found:
        with isolating_exceptions(f"{name} of the delegate", found[0], found[0].context):
            found[1](found[0], *arguments(found[0]))


def _plain(name: str) -> Any:
    return immortal(
        _abi.ControllerDelegate.DID_CHANGE(lambda number, _handle: _call_delegate(number, name, lambda _: ()))
    )


def _report_section(number: int, _handle: int, change: Any) -> None:
    _call_delegate(number, "did_change_section", lambda _: (section_change(change[0]),))


def _report_object(number: int, _handle: int, change: Any) -> None:
    _call_delegate(number, "did_change_object", lambda of: (object_change(change[0], of.context, of._entity),))


def _report_all(number: int, _handle: int, change: Any) -> None:
    _call_delegate(number, "did_change_all", lambda of: (difference(change[0], of.context, of._entity),))


def _report_ids(number: int, _handle: int, count: int, changes: Any) -> None:
    _call_delegate(number, "did_change_ids", lambda _: ([id_change(changes[index]) for index in range(count)],))


def _report_reset(number: int, _handle: int, error: int | None) -> None:
    _call_delegate(
        number,
        "did_reset",
        lambda _: (failure(lib.cst_error_status(error), retained_owner(error)) if error else None,),
    )


def _return_text(text: str | None, out: Any) -> None:
    """Passes a string to the library. It remains valid until the next call on this thread."""
    cell = values.Cell()
    values.encode(cell.value, text, "section", "name")
    _given[threading.get_ident()] = cell
    ctypes.memmove(out, cell.ref, ctypes.sizeof(_abi.Value))


def _report_title(number: int, _handle: int, name: _abi.String, out: Any, error: Any) -> int:
    try:
        found = _delegate_method(number, "section_index_title")
        if found:
            _return_text(found[1](found[0], _abi.decode(name) or ""), out)
        return _abi.OK
    except BaseException as raised:  # the library then leaves the title out
        return reported(raised, error)


def _name(number: int, token: int, out: Any, error: Any) -> int:
    try:
        _return_text(_namers[number](wrapper(token)), out)
        return _abi.OK
    except BaseException as raised:  # the exception makes the fetch fail
        return reported(raised, error)


_name_callback = immortal(_abi.SECTION_NAME_FN(_name))
_forget_namer = _forget_controller = immortal(_abi.DESTROY_FN(_forget))
_callbacks: dict[str, Any] = {
    "will_change": _plain("will_change"),
    "did_change_section": immortal(_abi.ControllerDelegate.DID_CHANGE_SECTION(_report_section)),
    "did_change_object": immortal(_abi.ControllerDelegate.DID_CHANGE_OBJECT(_report_object)),
    "did_change": _plain("did_change"),
    "did_change_all": immortal(_abi.ControllerDelegate.DID_CHANGE_ALL(_report_all)),
    "did_change_ids": immortal(_abi.ControllerDelegate.DID_CHANGE_IDS(_report_ids)),
    "did_reset": immortal(_abi.ControllerDelegate.DID_RESET(_report_reset)),
    "section_title": immortal(_abi.ControllerDelegate.SECTION_TITLE(_report_title)),
}
