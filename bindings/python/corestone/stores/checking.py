"""Checks of stores: integrity, leftover files, and comparison of two stores."""

from __future__ import annotations

import json
import os
from ctypes import byref
from pathlib import Path
from typing import Any, NamedTuple

from .. import _abi
from .._abi import lib, path_argument
from .._abi.arguments import require_instance
from .._abi.call import call, read_error
from .._abi.handles import Handle
from ..codes import ProblemKind
from ..model.model import ModelLike, given_model
from .coordinator import Coordinator


class Problem(NamedTuple):
    """A problem in a store."""

    kind: ProblemKind
    message: str
    entity: str | None
    key: str | None
    object_uri: str | None

    @property
    def is_warning(self) -> bool:
        """Whether the problem is only a warning, and the store is intact."""
        return self.kind in (ProblemKind.SPEED, ProblemKind.TRIGGER)


def check(path: str | os.PathLike[str], model: ModelLike | None = None) -> list[Problem]:
    """Returns the problems of the store at a path, warnings last; an empty list if there are no problems.

    Checks the database, every reference and every pair of a many-to-many relationship, versions and primary keys. Also
    checks the metadata against the model that the store carries, backing files, the history, the indexes and triggers
    that the model requires, and unique and derived values. `model` is a model or its path; None: the model that the
    store carries. A file that is not a store raises the same error as on opening. The check does not change the store.
    """
    given = given_model(model, for_store=path)
    problems = Handle()
    call(lib.cst_store_check, path_argument(path), given._handle if given is not None else None, byref(problems))
    if not problems.value:
        return []
    found = read_error(problems.value)
    return [
        Problem(ProblemKind(each.code), each.message, each.entity, each.key, each.object_uri) for each in found.details
    ]


class Leftovers(NamedTuple):
    """Backing files that no row refers to."""

    folder: Path
    names: list[str]
    bytes: int
    sharer: Path | None  # another store whose backing files are in this folder, so leftovers cannot be identified


def leftovers(path: str | os.PathLike[str]) -> Leftovers:
    """Returns the backing files that interrupted saves left next to the store at a path.

    Such files only waste space, and this call does not remove them. Files younger than ten minutes are not included,
    because a running save may have written them.
    """
    return _leftovers(lib.cst_store_copy_leftovers, path)


def remove_leftovers(path: str | os.PathLike[str]) -> Leftovers:
    """Removes leftovers while no other connection can save, and returns the removed files.

    StoreCorruptError for a damaged database, whose rows do not reliably name their files.
    UnsupportedError for a folder that two stores share.
    """
    return _leftovers(lib.cst_store_remove_leftovers, path)


def _leftovers(function: Any, path: str | os.PathLike[str]) -> Leftovers:
    buffer = _abi.Buffer()
    call(function, path_argument(path), byref(buffer))
    report = json.loads(_abi.take_text(buffer))
    sharer = report["sharer"]
    return Leftovers(Path(report["folder"]), report["names"], report["bytes"], Path(sharer) if sharer else None)


class Comparison(NamedTuple):
    """The result of comparing two stores."""

    objects: int
    values: int  # the number of compared attributes, to-one relationships and lists of members
    equal: int
    differences: int
    details: list[str]  # the first differences, one sentence each


def compare(first: Coordinator, second: Coordinator) -> Comparison:
    """Compares the objects in the first stores of two coordinators, regardless of store types and primary keys.

    Objects of an entity are paired in the order of their primary keys, which a migration does not change. Values are
    compared exactly, and members of ordered relationships in order. InvalidArgumentError, with entity and key, for
    models that differ in an entity, a stored property or its type.
    """
    buffer = _abi.Buffer()
    handles = [
        require_instance(Coordinator, each, name)._handle for each, name in ((first, "first"), (second, "second"))
    ]
    call(lib.cst_coordinator_compare, *handles, byref(buffer))
    return Comparison(**json.loads(_abi.take_text(buffer)))
