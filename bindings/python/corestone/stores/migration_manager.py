"""Migration managers, which execute mapping models, and migration policies, which customise entity mappings."""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Iterable, Iterator, MutableMapping
from ctypes import byref
from typing import TYPE_CHECKING, Any, Callable, TypeVar, Union, overload

from .. import _abi
from .._abi import conversion, lib, optional_text, path_argument, text
from .._abi.arguments import flag, function, require_instance, shown
from .._abi.borrowed import wrapper
from .._abi.call import call, held, made, owned
from .._abi.callbacks import reported
from .._abi.checked import Checked
from .._abi.handles import Handle, retained
from .._abi.interrupt import immortal
from ..errors import InvalidArgumentError, InvalidHandleError, TypeMismatchError
from ..graph.migration_contexts import closing_migration_contexts, context_of, model_of, note_model
from ..graph.object import ManagedObject
from ..graph.results import Results
from ..model.model import Model, ModelLike, given_model
from .mapping import EntityMapping, MappingModel
from .store_options import StoreOptions, store_options

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..graph.context import Context

Policy = TypeVar("Policy", bound="type[MigrationPolicy]")
MappingLike = Union[str, EntityMapping]

# The Python instances of migration managers, by handle.
_managers: weakref.WeakValueDictionary[int, MigrationManager] = weakref.WeakValueDictionary()


def _name(mapping: MappingLike) -> _abi.InputString:
    if isinstance(mapping, EntityMapping):
        return text(mapping.name, "mapping")
    if isinstance(mapping, str):
        return text(mapping, "mapping")
    raise TypeMismatchError(
        f"mapping must be an EntityMapping or its name, not {shown(mapping)}", key="mapping", value=mapping
    )


def _object(item: Any, name: str) -> int:
    return int(require_instance(ManagedObject, item, name)._cst_token)


def _objects(items: Iterable[Any], name: str) -> tuple[int, Any]:
    if isinstance(items, ManagedObject):
        raise TypeMismatchError(f"{name} must be a list of managed objects, not {shown(items)}", key=name, value=items)
    found = [_object(each, f"{name}[{place}]") for place, each in enumerate(items)]
    return len(found), (ctypes.c_void_p * max(len(found), 1))(*found)


class UserInfo(MutableMapping[str, Any]):
    """The user info of a migration manager, for policies. Expressions read it as $manager.userInfo.name."""

    def __init__(self, manager: MigrationManager) -> None:
        self._manager = manager

    def _all(self) -> dict[str, Any]:
        cell = _abi.Value()
        call(lib.cst_migration_manager_copy_user_info, self._manager._handle, _abi.null_text(), byref(cell))
        found: dict[str, Any] = conversion.take(cell)
        return found

    def __getitem__(self, key: str) -> Any:
        cell = _abi.Value()
        status = call(lib.cst_migration_manager_copy_user_info, self._manager._handle, text(key, "key"), byref(cell))
        if status == _abi.NOT_FOUND:
            raise KeyError(key)
        return conversion.take(cell)

    def __setitem__(self, key: str, value: Any) -> None:
        encoded = conversion.encode_one(value, "value")
        call(lib.cst_migration_manager_set_user_info, self._manager._handle, text(key, "key"), encoded.address)

    def __delitem__(self, key: str) -> None:
        if key not in self:
            raise KeyError(key)
        call(lib.cst_migration_manager_set_user_info, self._manager._handle, text(key, "key"), None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return repr(self._all())


class MigrationManager(Checked):
    """A manager that migrates the objects of one store into another by a mapping model.

    A migration has three passes over all entity mappings, in their order. The first creates objects with their
    attributes, the second sets relationships, the third validates. Policies and functions of the manager run on the
    thread of the migration, and can use the manager, its contexts and their objects there. The contexts are closed
    after the migration. Any thread may call `cancel`, `progress` and `current_mapping`.
    """

    _models: tuple[Model, Model] | None = None

    def __init__(self, source: ModelLike, destination: ModelLike) -> None:
        """Creates a manager for migrations from one model to another, and freezes both."""
        models = given_model(source), given_model(destination)
        for model, name in zip(models, ("source", "destination")):
            if model is None:
                raise InvalidArgumentError(f"{name} is None; pass the {name} model of the migration", key=name)
            note_model(model)
        former, new = require_instance(Model, models[0], "source"), require_instance(Model, models[1], "destination")
        self._adopt(owned(lib.cst_migration_manager_new, former._handle, new._handle))
        self._models = former, new

    def _adopt(self, handle: int) -> None:
        self._handle = handle
        self._mappings: dict[str, EntityMapping] = {}
        _managers[handle] = self

    @classmethod
    def _borrowed(cls, handle: int) -> MigrationManager:
        """Returns the manager of a borrowed handle."""
        known = _managers.get(handle)
        if known is None:
            known = cls.__new__(cls)
            known._adopt(retained(handle))
        return known

    def migrate_store(
        self,
        source: str | os.PathLike[str],
        destination: str | os.PathLike[str],
        mapping: MappingModel,
        *,
        source_type: str | None = None,
        source_options: StoreOptions | None = None,
        type: str | None = None,
        **options: Unpack[StoreOptions],
    ) -> None:
        """Migrates the store at a path into the store at another path. The source store does not change.

        An existing store at `destination` keeps its objects, and the migrated objects are added. A store that this call
        created is removed if the migration fails.

        source_type     the type of the source store; None: the type of its file
        source_options  the options of the source store, as for Coordinator.add_store; `options` are those of the new
                        store
        type            the type of the new store; None: the type of the source store

        MigrationError (134110) with the failure in its details.
        MigrationError (134111) for duplicate values of a unique constraint.
        MigrationError (134140) if the mapping model does not match the models.
        MigrationError (134170) for a failed policy, whose exception is the cause.
        CancelledError after `cancel`.
        """
        former, new = store_options(**(source_options or {})), store_options(**options)
        self._mappings = {}
        with closing_migration_contexts():
            call(
                lib.cst_migration_manager_migrate_store, self._handle, optional_text(source_type, "source_type"),
                path_argument(source), byref(former), require_instance(MappingModel, mapping, "mapping")._handle,
                optional_text(type, "type"), path_argument(destination), byref(new),
            )  # fmt: skip

    def cancel(self, reason: BaseException | None = None) -> None:
        """Cancels the migration at the next object, and all later migrations of the manager. Any thread may call it.

        The migration raises a CallbackError whose cause is `reason`, or a CancelledError (134120) without `reason`.
        Further calls have no effect.
        """
        error = Handle()
        if reason is not None:
            reported(require_instance(BaseException, reason, "reason"), byref(error))
        call(lib.cst_migration_manager_cancel, self._handle, error)

    @property
    def progress(self) -> float:
        """The progress of the running migration, 0 to 1; 0 between migrations. Any thread may read it."""
        found = ctypes.c_double()
        call(lib.cst_migration_manager_progress, self._handle, byref(found))
        return found.value

    @property
    def current_mapping(self) -> str | None:
        """The name of the entity mapping that is executed; None between migrations. Any thread may read it."""
        buffer = _abi.Buffer()
        status = call(lib.cst_migration_manager_copy_current_mapping, self._handle, byref(buffer))
        name = _abi.take_text(buffer)
        return None if status == _abi.NOT_FOUND else name

    @property
    def mapping_model(self) -> MappingModel | None:
        """The mapping model of the running migration; None between migrations."""
        handle = owned(lib.cst_migration_manager_mapping_model, self._handle)
        return MappingModel._of(handle) if handle else None

    def _mapping(self, name: str) -> EntityMapping:
        """Returns an entity mapping of the running migration."""
        found = self._mappings.get(name)
        if found is None:
            model = self.mapping_model
            self._mappings = {each.name: each for each in model.entity_mappings} if model is not None else {}
            found = self._mappings[name]
        return found

    def _model(self, place: int) -> Model:
        if self._models is None:
            read = lib.cst_migration_manager_source_model, lib.cst_migration_manager_destination_model
            former, new = (model_of(made(each, self._handle)) for each in read)
            models: tuple[Model, Model] = former, new
            self._models = models
            return models[place]
        return self._models[place]

    @property
    def source_model(self) -> Model:
        """The model of the source store."""
        return self._model(0)

    @property
    def destination_model(self) -> Model:
        """The model of the new store."""
        return self._model(1)

    @property
    def user_info(self) -> MutableMapping[str, Any]:
        """The user info for policies, by name. Expressions read it as $manager.userInfo.name."""
        return UserInfo(self)

    def set_report(self, report: Callable[[int, int], Any] | None) -> None:
        """Sets a function(done, total) that is called with the numbers of migrated rows and of all rows.

        An exception of the function cancels the migration. In a migration by add_store the function replaces
        `migration_progress`.
        """
        if report is None:
            call(lib.cst_migration_manager_set_report, self._handle, _abi.PROGRESS_FN(), None, _abi.DESTROY_FN())
            return
        number = conversion.register(_Report(function(report, "report"), self))
        call(lib.cst_migration_manager_set_report, self._handle, _report_callback, number, conversion.forget)

    def set_function(self, name: str, function: Callable[..., Any] | None) -> None:
        """Sets a function that expressions call as FUNCTION($manager, "name", …) with arguments. None removes it.

        As arguments, $manager and $entityPolicy are passed as None, $entityMapping and $propertyMapping as their names.
        """
        if function is None:
            call(
                lib.cst_migration_manager_set_function, self._handle, text(name, "name"), _abi.FUNCTION_FN(), None,
                _abi.DESTROY_FN(),
            )  # fmt: skip
            return
        if not callable(function):
            raise TypeMismatchError(
                f"function must be a function, not {shown(function)}", key="function", value=function
            )
        number = conversion.register(function)
        call(
            lib.cst_migration_manager_set_function,
            self._handle,
            text(name, "name"),
            _function_callback,
            number,
            conversion.forget,
        )

    # ---- during a migration

    @property
    def source_context(self) -> Context:
        """The context of the source store, for reading only; closed at the end of the migration."""
        return context_of(made(lib.cst_migration_manager_source_context, self._handle))

    @property
    def destination_context(self) -> Context:
        """The context of the new store. At the end of the migration, its objects are validated and it is closed."""
        return context_of(made(lib.cst_migration_manager_destination_context, self._handle))

    def associate(self, mapping: MappingLike, source: ManagedObject, destination: ManagedObject) -> None:
        """Records that an object was created for an object of the source store.

        The migration uses these records to set relationships, so a policy that inserts objects itself must call this
        method for each of these objects.
        """
        call(
            lib.cst_migration_manager_associate, self._handle, _name(mapping), _object(source, "source"),
            _object(destination, "destination"),
        )  # fmt: skip

    def create_destination_instance(self, mapping: MappingLike, source: ManagedObject) -> Any:
        """Creates the object of a mapping for an object of the source store, and associates the two.

        The attributes are set by the mapping's expressions. Returns None for a mapping without a destination.
        """
        out = held(
            lib.cst_migration_manager_create_destination_instance, self._handle, _name(mapping),
            _object(source, "source"),
        )  # fmt: skip
        return self.destination_context._adopt(out, None) if out else None

    def create_relationships(self, mapping: MappingLike, destination: ManagedObject) -> None:
        """Sets the relationships of an object that a mapping created, by the mapping's expressions."""
        call(
            lib.cst_migration_manager_create_relationships, self._handle, _name(mapping),
            _object(destination, "destination"),
        )  # fmt: skip

    def destination_instances(self, mapping: MappingLike, sources: Iterable[ManagedObject] | None = None) -> Results:
        """Returns the objects that a mapping created for objects of the source store; None: for all of them."""
        given = (0, None) if sources is None else _objects(sources, "sources")
        handle = owned(lib.cst_migration_manager_destination_instances, self._handle, _name(mapping), *given)
        return Results(self.destination_context, handle, None)

    def source_instances(self, mapping: MappingLike, destinations: Iterable[ManagedObject]) -> Results:
        """Returns the objects of the source store for which a mapping created the objects `destinations`."""
        given = _objects(destinations, "destinations")
        handle = owned(lib.cst_migration_manager_source_instances, self._handle, _name(mapping), *given)
        return Results(self.source_context, handle, None)

    def reset(self) -> None:
        """Resets both contexts of the migration. Unsaved objects of the new store are lost."""
        call(lib.cst_migration_manager_reset, self._handle)

    def __repr__(self) -> str:
        current = self.current_mapping
        return f"<MigrationManager{'' if current is None else f', at {current}'}>"


class _Report:
    """A progress function of a manager. An exception of the function cancels the migrations of the manager."""

    def __init__(self, report: Callable[[int, int], Any], manager: MigrationManager) -> None:
        self._report, self._manager = report, weakref.ref(manager)

    def __call__(self, done: int, total: int) -> bool:
        try:
            self._report(done, total)
        except BaseException as raised:
            manager = self._manager()
            if manager is None:
                return False
            manager.cancel(raised)
        return True


def _report_progress(number: int, done: int, total: int) -> bool:
    return bool(conversion.registered(number)(done, total))


def _call_function(number: int, _receiver: Any, count: int, arguments: Any, out: Any, error: Any) -> int:
    try:
        conversion.return_value(
            conversion.registered(number)(*(conversion.decode(arguments[place]) for place in range(count))), out
        )
        return _abi.OK
    except BaseException as raised:
        return reported(raised, error)


_report_callback = immortal(_abi.PROGRESS_FN(_report_progress))
_function_callback = immortal(_abi.FUNCTION_FN(_call_function))


# -------- policies -----------------------------------------------------------------------------------------


class MigrationPolicy:
    """The base class of policies, which customise the migration of the objects of an entity mapping.

        @register_migration_policy("MakerPolicy")
        class MakerPolicy(MigrationPolicy):
            def create_destination_instances(self, source, mapping, manager):
                maker = manager.create_destination_instance(mapping, source)
                maker.name = maker.name.strip()

    Register a subclass. Each migration creates an instance for each entity mapping that names the policy. The stages
    run in the order below: the first three for all mappings, then the next two, then the last two. A stage that the
    subclass does not override has the same effect as for a mapping without a policy. An exception makes the migration
    fail with a MigrationError (134170), whose cause is the exception.
    """

    #: Whether each stage uses only objects of the same batch. If True, the mapping runs in batches, and the objects of
    #: each batch are saved and released. Otherwise all objects are in memory until one save at the end, and objects
    #: that a policy inserted are in `manager.destination_context.known`.
    batch_safe = False

    #: The manager of the migration, which functions called by expressions can use too.
    manager: MigrationManager

    def begin(self, mapping: EntityMapping, manager: MigrationManager) -> None:
        """Called before the first object of the mapping."""

    def create_destination_instances(self, source: Any, mapping: EntityMapping, manager: MigrationManager) -> None:
        """Creates the objects for an object of the source store; by default one, with the attributes of the mapping."""
        manager.create_destination_instance(mapping, source)

    def end_instance_creation(self, mapping: EntityMapping, manager: MigrationManager) -> None:
        """Called after all objects of the mapping were created."""

    def create_relationships(self, destination: Any, mapping: EntityMapping, manager: MigrationManager) -> None:
        """Sets the relationships of an object that the mapping created; by default by the mapping's expressions."""
        manager.create_relationships(mapping, destination)

    def end_relationship_creation(self, mapping: EntityMapping, manager: MigrationManager) -> None:
        """Called after the relationships of all objects of the mapping were set."""

    def perform_custom_validation(self, mapping: EntityMapping, manager: MigrationManager) -> None:
        """Checks the result before the model's own validation."""

    def end(self, mapping: EntityMapping, manager: MigrationManager) -> None:
        """Called after all other stages of the mapping."""

    def call(self, selector: str, *arguments: Any) -> Any:
        """Computes FUNCTION($entityPolicy, "selector:", …) in an expression of the mapping.

        The default calls the method of the subclass whose name is the selector with "_" instead of ":"; a final "_" may
        be left out: `label_for` or `label_for_` for "label_for:". For a selector without a method, the default returns
        NotImplemented, which makes the migration fail. The arguments are those of MigrationManager.set_function.
        """
        name = selector.replace(":", "_")
        for each in (name, name.rstrip("_")):
            if each and not each.startswith("_") and not hasattr(MigrationPolicy, each) and hasattr(self, each):
                return getattr(self, each)(*arguments)
        return NotImplemented


_PLAIN = ("begin", "end_instance_creation", "end_relationship_creation", "perform_custom_validation", "end")
_WITH_OBJECT = ("create_destination_instances", "create_relationships")
_Callbacks = _abi.MigrationPolicyCallbacks


def _create(number: int, _mapping: Any, out: Any, error: Any) -> int:
    try:
        out[0] = conversion.register(conversion.registered(number)())
        return _abi.OK
    except BaseException as raised:
        return reported(raised, error)


def _stage(name: str, instance: int, manager: int, mapping: Any, error: Any, token: int | None = None) -> int:
    try:
        policy: MigrationPolicy = conversion.registered(instance)
        policy.manager = found = MigrationManager._borrowed(manager)
        given = found._mapping(_abi.decode(mapping) or "")
        objects = () if token is None else (_borrowed_object(token, given.name),)
        getattr(policy, name)(*objects, given, found)
        return _abi.OK
    except BaseException as raised:
        return reported(raised, error)


def _borrowed_object(token: int, mapping: str) -> ManagedObject:
    item = wrapper(token)
    if item is None:
        raise InvalidHandleError(
            f'an object of the entity mapping "{mapping}" was detached from its context; do not call reset in a policy',
            key="mapping",
            value=mapping,
        )
    return item  # type: ignore[no-any-return]


def _plain_callback(name: str) -> Any:
    def stage(instance: int, manager: int, mapping: Any, error: Any) -> int:
        return _stage(name, instance, manager, mapping, error)

    return immortal(getattr(_Callbacks, name.upper())(stage))


def _object_callback(name: str) -> Any:
    def stage(instance: int, manager: int, mapping: Any, token: int, error: Any) -> int:
        return _stage(name, instance, manager, mapping, error, token)

    return immortal(getattr(_Callbacks, name.upper())(stage))


def _call_policy(instance: int, manager: int, selector: Any, count: int, arguments: Any, out: Any, error: Any) -> int:
    try:
        policy: MigrationPolicy = conversion.registered(instance)
        policy.manager = MigrationManager._borrowed(manager)
        given = [conversion.decode(arguments[place]) for place in range(count)]
        value = policy.call(_abi.decode(selector) or "", *given)
        if value is NotImplemented:
            return _abi.NOT_FOUND
        conversion.return_value(value, out)
        return _abi.OK
    except BaseException as raised:
        return reported(raised, error)


_stages = {name: _plain_callback(name) for name in _PLAIN} | {name: _object_callback(name) for name in _WITH_OBJECT}
_create_callback = immortal(_Callbacks.CREATE(_create))
_free_callback = immortal(_Callbacks.FREE_INSTANCE(lambda _, instance: conversion.drop(instance)))
_call_callback = immortal(_Callbacks.CALL(_call_policy))


@overload
def register_migration_policy(name: str, policy: Policy) -> Policy: ...
@overload
def register_migration_policy(name: str) -> Callable[[Policy], Policy]: ...
def register_migration_policy(name: str, policy: Any = None) -> Any:
    """Registers a subclass of MigrationPolicy for the whole process, by the class name in mapping models.

    Replaces a policy that is already registered under the name. "MakerPolicy" is also used for a name with a module
    ("Garage.MakerPolicy") if the full name is not registered. The call can also be a decorator:
    `@register_migration_policy("MakerPolicy")`.
    """
    if policy is None:
        return lambda decorated: register_migration_policy(name, decorated)
    if not isinstance(policy, type) or not issubclass(policy, MigrationPolicy):
        raise TypeMismatchError(
            f"policy must be a subclass of MigrationPolicy, not {shown(policy)}", key="policy", value=policy
        )
    table = _Callbacks(struct_size=ctypes.sizeof(_Callbacks))
    table.batch_safe = flag(policy.batch_safe, "batch_safe")
    table.create, table.free_instance, table.call = _create_callback, _free_callback, _call_callback
    for stage, callback in _stages.items():
        if getattr(policy, stage) is not getattr(MigrationPolicy, stage):
            setattr(table, stage, callback)
    table.userdata, table.destroy = conversion.register(policy), conversion.forget
    call(lib.cst_migration_policy_register, text(name, "name"), byref(table))
    return policy


def unregister_migration_policy(name: str) -> bool:
    """Deregisters a policy; running migrations keep it. Returns False if there is no policy of that name."""
    return bool(call(lib.cst_migration_policy_unregister, text(name, "name")) == _abi.OK)


def is_migration_policy_registered(name: str) -> bool:
    """Whether a policy is registered under exactly that name, in any language."""
    found = ctypes.c_bool()
    call(lib.cst_migration_policy_is_registered, text(name, "name"), byref(found))
    return found.value
