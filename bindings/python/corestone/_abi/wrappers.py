"""The map from tokens to wrappers of objects, in a Python and an accelerated implementation.

The accelerator is an optional extension module for CPython. It creates wrappers, and reads and sets their attributes
without ctypes. Without it, the classes and functions of this module do the same. `CORESTONE_ACCELERATOR=0` disables the
accelerator, and 1 requires it.
"""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Iterable, Iterator
from ctypes import addressof, c_void_p, cast
from functools import partial
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Callable, Optional

from .. import _abi
from ..codes import AttributeType
from .handles import Handle, retain_directly

if TYPE_CHECKING:
    from ..graph.ahead import Ahead
    from ..graph.context import Context
    from ..graph.object import ManagedObject
    from ..model.entity import Entity

try:
    from _weakref import _remove_dead_weakref  # type: ignore[attr-defined]
except ImportError:  # not CPython

    def _remove_dead_weakref(known: dict[Any, Any], token: Any) -> None:
        reference = known.get(token)
        if reference is not None and reference() is None:
            known.pop(token, None)


Missing = Callable[[Any, str], Any]
Refusal = Callable[[Any, str], Optional[AttributeError]]

VARIABLE = "CORESTONE_ACCELERATOR"
_INTERFACE = 3


def _load() -> Any:
    """Returns the accelerator; None if it is disabled, or if it is not required and cannot be used."""
    choice = os.environ.get(VARIABLE, "")
    if choice not in ("", "0", "1"):
        raise ImportError(
            f'{VARIABLE} is "{choice}"; set it to 1 to require the accelerator or to 0 to disable it, or unset it',
            name="corestone",
        )
    if choice == "0":
        return None
    remedy = (
        "Run `make build` in the source tree with Python's headers (Debian: python3-dev), install a wheel for this "
        f"Python, or unset {VARIABLE}"
    )
    try:
        if not getattr(sys, "_is_gil_enabled", lambda: True)():
            remedy = f"Unset {VARIABLE}, or use a Python with the GIL"
            raise ImportError("it does not support free-threaded Python")
        from .. import _accelerator  # type: ignore[attr-defined]

        if _accelerator.INTERFACE != _INTERFACE:
            raise ImportError(f"{_accelerator.__file__} belongs to another version of the package")
    except ImportError as failure:
        if choice == "1":
            raise ImportError(
                f"cannot load the accelerator of Corestone, which {VARIABLE}=1 requires: {failure}. {remedy}",
                name="corestone._accelerator",
            ) from failure
        return None
    _accelerator.bind(lambda name: cast(_abi.lib[name], c_void_p).value)
    return _accelerator


accelerator: Any = _load()

# Type checkers see the classes and functions in Python.
if not TYPE_CHECKING and accelerator is not None:
    Base = accelerator.Object
    IdentifierBase = accelerator.Identifier
    ContextBase = accelerator.ContextBase
    releases_can_wait = accelerator.releases_can_wait
    find = accelerator.find
    registered = accelerator.registered
    remember = accelerator.remember
    objects = accelerator.objects

    def wrap(kind: type[ManagedObject], context: ContextBase, hold: Handle) -> ManagedObject:
        return accelerator.wrap(kind, context, hold, hold.value or 0)  # type: ignore[no-any-return]

    def wrap_all(
        kind: type[ManagedObject], context: ContextBase, array: Any, count: int, ahead: Ahead | None
    ) -> list[ManagedObject]:
        return accelerator.wrap_all(kind, context, addressof(array), count)  # type: ignore[no-any-return]

    def place(item: ManagedObject, ahead: Ahead | None, row: int) -> None:
        pass

    def set_functions(refusal: Refusal, missing: Missing) -> None:
        global _missing
        _missing = missing
        accelerator.set_functions(_abi.argument, refusal, missing)

    class _Attributes:
        """A base of classes with a __getattr__ or a __getattribute__ of their own; see `with_attributes`."""

        __slots__ = ()

        def __getattr__(self, name: str) -> Any:
            return _missing(self, name)

    def with_attributes(bases: tuple[type, ...], body: dict[str, Any]) -> tuple[type, ...]:
        if _Attributes in {each for base in bases for each in base.__mro__}:
            return bases
        if body.keys().isdisjoint(_HOOKS) and not any(_HOOKS & vars(each).keys() for each in _python_classes(bases)):
            return bases
        return (*bases, _Attributes)

    _HOOKS = {"__getattr__", "__getattribute__"}

    def _python_classes(bases: tuple[type, ...]) -> Iterator[type]:
        for base in bases:
            yield from (each for each in base.__mro__ if each not in (object, Base))

    def make_property(
        getter: Callable[[Any], Any], setter: Callable[[Any, Any], None], doc: str, key: int, target: Entity | None,
        kind: int,
    ) -> property:  # fmt: skip
        made = accelerator.Property(getter, setter, None, doc)
        made.configure(doc, key, target, kind)
        return made  # type: ignore[no-any-return]

    def own_properties(kind: type[ManagedObject], properties: Iterable[Any]) -> None:
        for each in properties:
            if type(each) is accelerator.Property:
                each.own(kind)

    def make_insertion(entity: Entity) -> Any:
        from .call import failure, raisable

        def failed(status: int, error: int) -> BaseException:
            return raisable(failure(status, Handle(error)))

        known = {
            name: each.key << 2 | 2 * (each.attribute_type == AttributeType.DECIMAL) | each.is_to_many
            for name, each in entity.properties.items()
            if not each.is_made and not each.is_fetched
        }
        return accelerator.Insertion(entity._handle, entity.object_class, known, failed).insert

else:

    class IdentifierBase:
        """The base class of object IDs."""

        __slots__ = ()

    class ContextBase:
        """The base class of contexts."""

        _cst_is_held = False  # whether the context owns its handle

    def releases_can_wait() -> None:
        """Releases the interpreter lock around later releases of objects, which can then call the host."""

    def registered(context: ContextBase, which: Any) -> Any:
        """Returns the object of an ID; None if it is not registered with the accelerator."""
        return None

    def remember(which: Any, item: Any, handle: int, context: int) -> None:
        """Registers the object of an ID with the accelerator."""

    def make_insertion(entity: Entity) -> Any:
        """Returns the accelerator's function that inserts an object, or None."""
        return None

    class Base:
        """The storage of an object."""

        __slots__ = ("_cst_ahead", "_cst_context", "_cst_handle", "_cst_row", "_cst_token")

        _cst_context: Context
        _cst_handle: Any  # the token in a form that ctypes need not convert at each call
        _cst_token: int
        _cst_ahead: Ahead | None  # the last block of results that contained the object, and its row there
        _cst_row: int

        if not TYPE_CHECKING:  # type checkers report unknown names; see DynamicObject

            def __setattr__(self, name: str, value: Any) -> None:
                try:
                    object.__setattr__(self, name, value)
                except AttributeError:
                    other = _refusal(self, name)
                    if other is None:
                        raise
                    raise other from None

            # Called if no property and no method has that name, or if a getter raises AttributeError.
            def __getattr__(self, name: str) -> Any:
                return _missing(self, name)

    class Reference(weakref.ref["ManagedObject"]):
        """The map's weak reference to a wrapper. When the wrapper is freed, the reference removes itself from the map.

        A callback removes it, not the wrapper's `__del__`: there, another thread could still find the wrapper in the
        map and revive it with a handle that is being released. On CPython, the callback does not run Python code, in
        which a signal handler could raise an exception and so prevent the removal. The wrapper owns the handle, which
        is released afterwards.
        """

        __slots__ = ("remove",)

        remove: Any

    # The map may already have a new wrapper of the same object, so only a dead reference is removed, atomically.
    _ended = methodcaller("remove")

    # Every wrapper of the process by its token; each context has different tokens for its objects. The map is global,
    # so that the references are never part of a garbage cycle, in which their callbacks would not run.
    _known: dict[int, Reference] = {}

    _new = object.__new__
    _set_ahead = Base.__dict__["_cst_ahead"].__set__
    _set_row = Base.__dict__["_cst_row"].__set__
    _set_context = Base.__dict__["_cst_context"].__set__
    _set_handle = Base.__dict__["_cst_handle"].__set__
    _set_token = Base.__dict__["_cst_token"].__set__

    def find(token: int) -> ManagedObject | None:
        """Returns the wrapper of a handle; None if the handle does not have a wrapper."""
        reference = _known.get(token)
        return reference() if reference is not None else None

    def objects() -> list[ManagedObject]:
        """Returns all wrappers."""
        return [item for item in [reference() for reference in list(_known.values())] if item is not None]

    def wrap(kind: type[ManagedObject], context: ContextBase, hold: Handle) -> ManagedObject:
        """Returns a new wrapper that owns the handle. The caller must have checked that there is no wrapper yet."""
        token = hold.value or 0
        self = _new(kind)
        _set_context(self, context)
        _set_token(self, token)
        _set_ahead(self, None)
        _set_handle(self, hold)
        reference = Reference(self, _ended)
        reference.remove = partial(_remove_dead_weakref, _known, token)
        _known[token] = reference
        return self

    def place(item: ManagedObject, ahead: Ahead | None, row: int) -> None:
        """Sets the block of results that contains an object, and its row there."""
        _set_ahead(item, ahead)
        _set_row(item, row)

    def wrap_all(
        kind: type[ManagedObject], context: ContextBase, array: Any, count: int, ahead: Ahead | None
    ) -> list[ManagedObject]:
        """Returns wrappers of borrowed handles of one entity: existing ones, or new ones that retain their handles."""
        known = _known
        found_objects = []
        for row, token in enumerate(array[:count]):
            reference = known.get(token)
            found = reference() if reference is not None else None
            if found is None:
                hold = retain_directly(token)
                found = _new(kind)
                _set_context(found, context)
                _set_token(found, token)
                _set_handle(found, hold)
                reference = Reference(found, _ended)
                reference.remove = partial(_remove_dead_weakref, known, token)
                known[token] = reference
            _set_ahead(found, ahead)
            _set_row(found, row)
            found_objects.append(found)
        return found_objects

    def set_functions(refusal: Refusal, missing: Missing) -> None:
        """Sets the functions to be called for attributes that cannot be set or are not found.

        refusal  returns the exception; None means that Python's own one is raised
        missing  returns the value, or raises an exception
        """
        global _refusal, _missing
        _refusal, _missing = refusal, missing

    _refusal: Refusal
    _missing: Missing

    def with_attributes(bases: tuple[type, ...], body: dict[str, Any]) -> tuple[type, ...]:
        """Returns the bases of a class of objects, so that `super().__getattr__` exists."""
        return bases

    def make_property(
        getter: Callable[[Any], Any], setter: Callable[[Any, Any], None], doc: str, key: int, target: Entity | None,
        kind: int,
    ) -> property:  # fmt: skip
        """Returns the descriptor of a property; for a relationship, `target` is the entity of its targets.

        `kind` is the type of an attribute that the accelerator can set, or 0.
        """
        return property(getter, setter, doc=doc)

    def own_properties(kind: type[ManagedObject], properties: Iterable[Any]) -> None:
        """Makes a class the owner of the descriptors that were created for it."""
