"""Lifecycle hooks in Python: methods of classes that are bound to entities."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Callable

from .. import _abi
from .._abi import lib, texts, values
from .._abi.borrowed import wrapper
from .._abi.call import call
from .._abi.callbacks import reported
from .._abi.interrupt import immortal
from ..codes import SnapshotEvents
from ..model.validators import given
from .object import ManagedObject

if TYPE_CHECKING:
    from ..model.entity import Entity

# Hooks whose only argument is the object. The fields of cst_lifecycle_hooks have the same names.
PLAIN = (
    "awake_from_insert", "awake_from_fetch", "will_save", "did_save", "prepare_for_deletion", "will_turn_into_fault",
    "did_turn_into_fault",
)  # fmt: skip
_PURPOSES = ("validate_for_insert", "validate_for_update", "validate_for_delete")
_NO_KEYS = frozenset((*_PURPOSES, "validate_value"))
_HOOKS = frozenset((*PLAIN, *_PURPOSES, "awake_from_snapshot_events", "set_nil_value_for_key"))


def _guarded(token: int, error: Any, body: Callable[[Any], None]) -> int:
    try:
        item = wrapper(token)
        if item is not None:
            body(item)
        return _abi.OK
    except BaseException as raised:  # any exception makes the hook fail
        return reported(raised, error)


def _plain(name: str) -> Any:
    def hook(_userdata: int, token: int, error: Any) -> int:
        return _guarded(token, error, lambda item: getattr(item, name)())

    return immortal(_abi.LifecycleHooks.WILL_SAVE(hook))


def _awake(_userdata: int, token: int, events: int, error: Any) -> int:
    return _guarded(token, error, lambda item: item.awake_from_snapshot_events(SnapshotEvents(events)))


def _set_nil(_userdata: int, token: int, name: _abi.String, error: Any) -> int:
    return _guarded(token, error, lambda item: item.set_nil_value_for_key(_abi.decode(name)))


def _validate(_userdata: int, token: int, purpose: int, _value: Any, error: Any) -> int:
    return _guarded(token, error, lambda item: getattr(item, _PURPOSES[purpose - 1])())


def _validate_value(_userdata: int, token: int, name: _abi.String, _purpose: int, value: Any, error: Any) -> int:
    key = _abi.decode(name) or ""

    def check(item: Any) -> None:
        method = getattr(item, "validate_" + key, None)  # a copy of a model has the hooks, but not the classes
        if method is None:
            return
        if not value:  # a to-many relationship or a composite attribute, which is read from the object
            method(getattr(item, key))
            return
        asked = values.decode_array((_abi.Value * 1)(value[0]), 1, item._cst_context)[0]
        conversion = item._cst_properties[key].conversion
        if conversion is None:
            given(item, key, method(asked), value)
            return
        other = method(conversion.load(asked) if asked is not None else None)
        given(item, key, None if other is None else conversion.store(other, item._cst_entity.name, key), value)

    return _guarded(token, error, check)


_plain_callbacks = {name: _plain(name) for name in PLAIN}
_awake_callback = immortal(_abi.LifecycleHooks.AWAKE_FROM_SNAPSHOT_EVENTS(_awake))
_set_nil_callback = immortal(_abi.LifecycleHooks.SET_NIL_VALUE(_set_nil))
_validate_callback = immortal(_abi.VALIDATE_FN(_validate))
_validate_value_callback = immortal(_abi.LifecycleHooks.VALIDATE_VALUE(_validate_value))


def own_methods(own: type[ManagedObject]) -> set[str]:
    """Returns the names that a class, and the classes between it and ManagedObject, define themselves."""
    return {name for kind in own.__mro__[: own.__mro__.index(ManagedObject)] for name in vars(kind)}


def set_lifecycle(entity: Entity, own: type[ManagedObject]) -> None:
    """Sets the hooks of an entity to the hook methods of a class that is bound to the entity."""
    names = own_methods(own)
    keys = sorted(name[len("validate_") :] for name in names if name.startswith("validate_") and name not in _NO_KEYS)
    hooks = _abi.LifecycleHooks(struct_size=ctypes.sizeof(_abi.LifecycleHooks))
    for name, callback in _plain_callbacks.items():
        if name in names:
            setattr(hooks, name, callback)
    if "awake_from_snapshot_events" in names:
        hooks.awake_from_snapshot_events = _awake_callback
    if "set_nil_value_for_key" in names:
        hooks.set_nil_value = _set_nil_callback
    if not names.isdisjoint(_PURPOSES):
        hooks.validate = _validate_callback
    if keys:
        hooks.validate_value = _validate_value_callback
        hooks.validated_count = len(keys)
        hooks.validated = texts(keys)
    if not keys and names.isdisjoint(_HOOKS):
        return
    call(lib.cst_entity_set_lifecycle, entity._handle, ctypes.byref(hooks))
    entity._model._is_hooked = True
    if "awake_from_fetch" in names:
        entity._model._reads_ahead = False
