"""Store options: keyword arguments of coordinators, containers and documents."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypedDict

from .. import _abi
from .._abi import optional_text, path_argument, text
from .._abi.arguments import (
    MOST_SMALL,
    choice,
    elements,
    flag,
    function,
    handles,
    milliseconds,
    require_instance,
    require_integer,
    shown,
)
from .._abi.callbacks import reported
from .._abi.values import encode_all
from ..errors import InvalidArgumentError, TypeMismatchError

if TYPE_CHECKING:
    from ..graph.history import HistoryRetention
    from ..model.model import Model
    from .mapping import MappingModel
    from .migration_manager import MigrationManager
    from .staged_migration import MigrationStage


class StoreOptions(TypedDict, total=False):
    """The keyword arguments of Coordinator.add_store, which describes them."""

    read_only: bool
    must_exist: bool
    sync: str
    journal: str
    busy_timeout: float
    cache_kb: int
    max_connections: int
    history: bool | None
    complete_history: bool | None
    history_retention: HistoryRetention | None
    configuration: str | None
    posts_own_changes: bool
    watch_interval: float
    pragmas: Mapping[str, str | int] | None
    analyze: bool
    vacuum: bool
    ignore_versioning: bool
    file_mode: int | None
    external_threshold: int | None
    foreign_options: Iterable[str]
    options: Mapping[str, Any] | None
    value_limit: int | None
    memory_limit: int | None
    step_limit: int | None
    external_limit: int | None
    migrate: bool | None
    infer_mapping: bool | None
    allow_removals: bool
    allow_type_changes: bool
    source_models: Iterable[Model]
    model_paths: Iterable[str | os.PathLike[str]]
    migration_progress: Callable[[int, int], Any] | None
    mapping_models: Iterable[MappingModel]
    stages: Iterable[MigrationStage] | None
    manager_will_start: Callable[[MigrationManager], Any] | None
    backup: bool | str | os.PathLike[str]
    backups_kept: int | None
    verify_migration: bool
    defer_cleanup: bool


def refuse_unknown(call_name: str, options: Iterable[str], known: Iterable[str] = (), also: Iterable[str] = ()) -> None:
    """Raises TypeError for an option that a call does not have. Without `known`, those of StoreOptions are known."""
    names = [*(known or StoreOptions.__annotations__), *also]
    for name in options:
        if name not in names:
            from ..model.property import nearest

            raise TypeError(f'{call_name} does not have an option "{name}"{nearest(name, names)}')


def refuse_memory(path: Any, type: str | None) -> None:
    """Raises the error for SQLite's name of a database in memory, which would become a file of that name."""
    if path in (":memory:", b":memory:") and type in (None, "SQLite"):
        raise InvalidArgumentError(
            'the path ":memory:" would create a file of that name; pass type="InMemory" and any path for a store in '
            "memory",
            key="path",
            value=path,
        )


def store_options(
    flags: int = 0,
    *,
    read_only: bool = False,
    must_exist: bool = False,
    sync: str = "full",
    journal: str = "wal",
    busy_timeout: float = 5.0,
    cache_kb: int = 0,
    max_connections: int = 0,
    history: bool | None = None,
    complete_history: bool | None = None,
    history_retention: HistoryRetention | None = None,
    configuration: str | None = None,
    posts_own_changes: bool = False,
    watch_interval: float = 0.0,
    pragmas: Mapping[str, str | int] | None = None,
    analyze: bool = False,
    vacuum: bool = False,
    ignore_versioning: bool = False,
    file_mode: int | None = None,
    external_threshold: int | None = None,
    foreign_options: Iterable[str] = (),
    options: Mapping[str, Any] | None = None,
    value_limit: int | None = None,
    memory_limit: int | None = None,
    step_limit: int | None = None,
    external_limit: int | None = None,
    migrate: bool | None = None,
    infer_mapping: bool | None = None,
    allow_removals: bool = False,
    allow_type_changes: bool = False,
    source_models: Iterable[Model] = (),
    model_paths: Iterable[str | os.PathLike[str]] = (),
    migration_progress: Callable[[int, int], Any] | None = None,
    mapping_models: Iterable[MappingModel] = (),
    stages: Iterable[MigrationStage] | None = None,
    manager_will_start: Callable[[MigrationManager], Any] | None = None,
    backup: bool | str | os.PathLike[str] = False,
    backups_kept: int | None = None,
    verify_migration: bool = False,
    defer_cleanup: bool = False,
) -> _abi.StoreOptions:
    """Returns the structure for the options of a store, with additional `flags`."""
    choice(sync, "sync", ("full", "normal"))
    choice(journal, "journal", ("wal", "rollback"))
    given = _abi.StoreOptions()
    given.struct_size = ctypes.sizeof(given)
    given.flags = (
        flags
        | (_abi.STORE_READ_ONLY if read_only else 0)
        | (_abi.STORE_MUST_EXIST if must_exist else 0)
        | (_abi.STORE_HISTORY if history else 0)
        | (_abi.STORE_NO_HISTORY if history is False else 0)
        | (_abi.STORE_COMPLETE_HISTORY if complete_history else 0)
        | (_abi.STORE_DROP_OLD_VALUES if complete_history is False else 0)
        | (_abi.STORE_POSTS_OWN_CHANGES if posts_own_changes else 0)
        | (_abi.STORE_NORMAL_SYNC if sync == "normal" else 0)
        | (_abi.STORE_ROLLBACK_JOURNAL if journal == "rollback" else 0)
        | (_abi.STORE_ANALYZE if flag(analyze, "analyze") else 0)
        | (_abi.STORE_VACUUM if flag(vacuum, "vacuum") else 0)
        | (_abi.STORE_IGNORE_VERSIONING if flag(ignore_versioning, "ignore_versioning") else 0)
        | (_abi.STORE_ALLOW_REMOVALS if flag(allow_removals, "allow_removals") else 0)
        | (_abi.STORE_ALLOW_TYPE_CHANGES if flag(allow_type_changes, "allow_type_changes") else 0)
        | (_abi.STORE_VERIFY_MIGRATION if flag(verify_migration, "verify_migration") else 0)
        | (_abi.STORE_DEFER_MIGRATION_CLEANUP if flag(defer_cleanup, "defer_cleanup") else 0)
        | _migration_flags(migrate, infer_mapping)
    )
    given.busy_timeout_ms = max(milliseconds(busy_timeout, "busy_timeout"), 1)
    given.cache_kb = require_integer(cache_kb, "cache_kb", most=MOST_SMALL)
    given.watch_interval_ms = milliseconds(watch_interval, "watch_interval")
    given.max_connections = require_integer(max_connections, "max_connections", most=MOST_SMALL)
    if file_mode is not None:
        given.file_mode = require_integer(file_mode, "file_mode", least=1, most=MOST_SMALL)
    if external_threshold is not None:
        # 0 means every value, but the C structure uses 0 for the library's default.
        given.external_threshold = max(require_integer(external_threshold, "external_threshold"), 1)
    for name, limit in (
        ("value_limit", value_limit),
        ("memory_limit", memory_limit),
        ("step_limit", step_limit),
        ("external_limit", external_limit),
    ):
        if limit is not None:
            setattr(given, name, require_integer(limit, name, least=1))
    _set_pragmas(given, pragmas)
    if isinstance(foreign_options, str):
        raise TypeMismatchError(
            f"foreign_options must be a list of names, not {shown(foreign_options)}",
            key="foreign_options",
            value=foreign_options,
        )
    listed = elements(foreign_options, "foreign_options", "a list of names")
    names = [text(each, f"foreign_options[{place}]") for place, each in enumerate(listed)]
    given.foreign_option_count = len(names)
    given.foreign_options = (_abi.InputString * max(len(names), 1))(*names)
    _set_host_options(given, options)
    given.configuration = optional_text(configuration, "configuration")
    _set_sources(given, source_models, model_paths)
    _set_progress(given, migration_progress)
    _set_migration(given, mapping_models, stages, manager_will_start)
    _set_backup(given, backup, backups_kept)
    _set_retention(given, history_retention)
    return given


def _set_retention(options: _abi.StoreOptions, retention: HistoryRetention | None) -> None:
    if retention is None:
        return
    from ..graph.history import HistoryRetention
    from .history_functions import retention_struct

    given = retention_struct(require_instance(HistoryRetention, retention, "history_retention"))
    options.history_retention = ctypes.pointer(given)
    options.kept_retention = given  # stays alive as long as the structure


def _migration_flags(migrate: bool | None, infer_mapping: bool | None) -> int:
    """Returns the migration flags. If `migrate` is None, containers and documents migrate, coordinators do not."""
    if migrate is None:
        return _abi.STORE_INFER_MAPPING if infer_mapping else 0
    if not flag(migrate, "migrate"):
        return _abi.STORE_NO_MIGRATION
    return _abi.STORE_MIGRATE | (0 if infer_mapping is False else _abi.STORE_INFER_MAPPING)


def _set_sources(options: _abi.StoreOptions, models: Iterable[Model], paths: Iterable[str | os.PathLike[str]]) -> None:
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    given = list(models)
    options.source_model_count = len(given)
    options.source_models = (ctypes.c_void_p * max(len(given), 1))(*(model._handle for model in given))
    names = [text(os.fspath(path), f"model_paths[{place}]") for place, path in enumerate(paths)]
    options.model_path_count = len(names)
    options.model_paths = (_abi.InputString * max(len(names), 1))(*names)
    options.kept_models = given  # stay alive as long as the structure


def _set_progress(options: _abi.StoreOptions, progress: Callable[[int, int], Any] | None) -> None:
    """Sets the progress function. Its first exception cancels the migration and is stored in `raised`."""
    options.raised = []
    if progress is None:
        return
    report = function(progress, "migration_progress")

    def call_progress(_: Any, done: int, total: int) -> bool:
        try:
            report(done, total)
        except BaseException as exception:
            options.raised.append(exception)
        return not options.raised

    options.kept_progress = _abi.PROGRESS_FN(call_progress)
    options.migration_progress = options.kept_progress


def _set_migration(
    options: _abi.StoreOptions,
    mapping_models: Iterable[MappingModel],
    stages: Iterable[MigrationStage] | None,
    will_start: Callable[[MigrationManager], Any] | None,
) -> None:
    """Sets the mapping models, stages and callback of a migration. The structure keeps them alive."""
    if mapping_models:
        from .mapping import MappingModel

        options.kept_mappings = given = list(elements(mapping_models, "mapping_models", "a list of MappingModel"))
        options.mapping_model_count, options.mapping_models = handles(given, MappingModel, "mapping_models")
    if stages is not None:
        from .staged_migration import stages_handle

        options.kept_stages = stages_handle(stages)
        options.stages = options.kept_stages
    if will_start is not None:
        report = function(will_start, "manager_will_start")

        def start(_: Any, manager: int, error: Any) -> int:
            from .migration_manager import MigrationManager

            try:
                report(MigrationManager._borrowed(manager))
                return _abi.OK
            except BaseException as raised:
                return reported(raised, error)

        options.kept_will_start = _abi.StoreOptions.MANAGER_WILL_START(start)
        options.manager_will_start = options.kept_will_start


def _set_backup(options: _abi.StoreOptions, backup: bool | str | os.PathLike[str], kept: int | None) -> None:
    if not isinstance(backup, (bool, str, os.PathLike)):
        raise TypeMismatchError(
            f"backup must be True, False or the path of a folder, not {shown(backup)}", key="backup", value=backup
        )
    count = 0 if kept is None else require_integer(kept, "backups_kept", least=1)
    if backup is False:
        if kept is not None:
            raise InvalidArgumentError(
                f"backups_kept is {kept}, but backup is False; set backup to True or a folder",
                key="backups_kept",
                value=kept,
            )
        return
    given = _abi.MigrationBackup()
    given.struct_size = ctypes.sizeof(given)
    given.folder = optional_text(None) if backup is True else path_argument(backup)
    given.keep = count
    options.backup = ctypes.pointer(given)
    options.kept_backup = given  # stays alive as long as the structure


def _set_host_options(options: _abi.StoreOptions, given: Mapping[str, Any] | None) -> None:
    if given is not None and not isinstance(given, Mapping):
        raise TypeMismatchError(f"options must be a dictionary, not {shown(given)}", key="options", value=given)
    for name in given or {}:
        if not isinstance(name, str):
            raise TypeMismatchError(
                f"the names in options must be of type str, not {shown(name)}", key="options", value=name
            )
    names = [text(name, "options") for name in given or {}]
    options.host_option_count = len(names)
    options.host_option_names = (_abi.InputString * max(len(names), 1))(*names)
    row = encode_all(list((given or {}).values()), None, list(given or {}))
    options.host_option_values = row.address
    options.kept = row  # stays alive as long as the structure


def _set_pragmas(options: _abi.StoreOptions, pragmas: Mapping[str, str | int] | None) -> None:
    if pragmas is not None and not isinstance(pragmas, Mapping):
        raise TypeMismatchError(
            f"pragmas must be a dictionary of names and values, not {shown(pragmas)}", key="pragmas", value=pragmas
        )
    found = []
    for name, value in (pragmas or {}).items():
        if not isinstance(name, str):
            raise TypeMismatchError(
                f"the names in pragmas must be of type str, not {shown(name)}", key="pragmas", value=name
            )
        if not isinstance(value, (str, int)):
            raise TypeMismatchError(
                f'the pragma "{name}" must be a str or an int, not {shown(value)}', key=name, value=value
            )
        found.append(_abi.Pragma(text(name, "pragmas"), text(str(value), name)))
    options.pragma_count = len(found)
    options.pragmas = (_abi.Pragma * max(len(found), 1))(*found)
