"""Migration plans, which list the changes of a migration without making them, and backups of migrated stores."""

from __future__ import annotations

import ctypes
import json
import os
from ctypes import byref
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _abi
from .._abi import lib, path_argument
from .._abi.call import call
from ..errors import InvalidArgumentError
from ..model.model import ModelLike, given_model
from .migration_upkeep import optional_path
from .store_options import StoreOptions, store_options

if TYPE_CHECKING:
    from typing_extensions import Unpack


class EntityMigration(NamedTuple):
    """The changes that a migration makes to one entity."""

    #: The name in the store's model; None for an added entity.
    source: str | None
    #: The name in the new model; None for a removed entity.
    destination: str | None
    #: "add", "remove", "copy" or "transform"
    kind: str
    #: The number of objects of the entity itself.
    objects: int
    added: list[str]
    removed: list[str]
    #: The new names of renamed properties by their former names.
    renamed: dict[str, str]
    #: Attributes whose default is set in existing objects.
    filled: list[str]
    type_changes: list[str]
    #: The number of lost values (not null) or join rows, by removed attribute or relationship.
    lost_values: dict[str, int]


class MigrationProblem(NamedTuple):
    """Data in the store that the new model does not allow. The migration fails until the data is changed."""

    message: str
    entity: str | None
    key: str | None
    #: The code of the error, such as 134110.
    code: int
    #: The URI of an object with such data, or None.
    object_uri: str | None


class MigrationPlan(NamedTuple):
    """The changes that a migration would make."""

    #: Whether the store's model differs from the new one.
    is_needed: bool
    #: Whether objects or values would be lost.
    loses_data: bool
    entities: list[EntityMigration]
    #: Renames that appear to be chained over several versions, which would lose values.
    warnings: list[str]
    #: The SQL statements, in order.
    statements: list[str]
    #: Objects, values and join rows that the new model does not allow.
    problems: list[MigrationProblem]
    #: The steps of a migration by mapping models; `entities` and `statements` are then empty.
    steps: list[str]


def migration_plan(path: str | os.PathLike[str], model: ModelLike, **options: Unpack[StoreOptions]) -> MigrationPlan:
    """Returns the plan of a migration of the store at a path to a model. The store does not change.

    The options are those of Coordinator.add_store; only the migration options and the limits have an effect.
    MigrationError for a change that cannot be inferred. Objects that the new model does not allow are `problems`.
    """
    wanted = given_model(model)
    if wanted is None:
        raise InvalidArgumentError(
            f"cannot plan the migration of {os.fsdecode(path)}: model is None; pass the model to migrate to",
            key="model",
            file=os.fsdecode(path),
        )
    buffer = _abi.Buffer()
    given = store_options(**options)
    call(lib.cst_store_copy_migration_plan, path_argument(path), wanted._handle, byref(given), byref(buffer))
    found: dict[str, Any] = json.loads(_abi.take_bytes(buffer))
    return MigrationPlan(
        found["needed"], found["losesData"], [_entity(each) for each in found["entities"]], found["warnings"],
        found["statements"],
        [MigrationProblem(each["message"], each["entity"], each["key"], each["code"], each["object"])
         for each in found["problems"]],
        found["steps"],
    )  # fmt: skip


def backups(path: str | os.PathLike[str], folder: str | os.PathLike[str] | None = None) -> list[str]:
    """Returns the paths of a store's migration backups (`backup` of Coordinator.add_store), the newest one first.

    The store may be missing. `folder` is the folder of the backups, by default the folder of the store; StoreError if
    it cannot be read. Coordinator.restore_store restores a backup.
    """
    paths, count = _abi.Buffer(), ctypes.c_size_t()
    call(lib.cst_store_copy_backups, path_argument(path), optional_path(folder), byref(paths), byref(count))
    return _abi.take_text(paths).split("\0")[: count.value]


def _entity(found: dict[str, Any]) -> EntityMigration:
    return EntityMigration(
        found["source"], found["destination"], found["kind"], found["objects"], found["added"], found["removed"],
        {each["from"]: each["to"] for each in found["renamed"]}, found["filled"], found["typeChanges"],
        {each["attribute"]: each["count"] for each in found["lostValues"]},
    )  # fmt: skip
