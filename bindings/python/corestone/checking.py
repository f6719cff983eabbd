"""Checks of stores: their integrity, their leftover files, and whether two are equal."""

from __future__ import annotations

import json
import os
from ctypes import byref
from pathlib import Path
from typing import Any, NamedTuple

from . import _abi
from ._abi import lib, path_argument
from ._arguments import one_of
from ._call import call, read_error
from ._handles import Handle
from .codes import ProblemKind
from .coordinator import Coordinator, given_model
from .model import ModelLike


class Problem(NamedTuple):
    """A problem in a store."""

    kind: ProblemKind
    message: str
    entity: str | None
    key: str | None
    object_uri: str | None

    @property
    def is_warning(self) -> bool:
        """Whether the store is still intact."""
        return self.kind in (ProblemKind.SPEED, ProblemKind.TRIGGER)


def check(path: str | os.PathLike[str], model: ModelLike | None = None) -> list[Problem]:
    """Returns the problems of the store at a path, warnings last; an empty list if it is intact. Changes nothing.

    Checks the database, every reference and pair, versions and primary keys, the metadata against the model that the
    store carries, backing files, the history, the indexes and triggers that the model requires, and unique and derived
    values. The store is read with `model`, or the model at that path, or else with its own. A file that is not a store
    raises the same error as on opening.
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
    sharer: Path | None  # another store with its files in the same folder, so that leftovers cannot be identified


def leftovers(path: str | os.PathLike[str]) -> Leftovers:
    """Returns the files that interrupted saves left beside the store at a path. Changes nothing.

    Such files take space and do no other harm. Files younger than ten minutes may belong to a running save, and are not
    included.
    """
    return _leftovers(lib.cst_store_copy_leftovers, path)


def remove_leftovers(path: str | os.PathLike[str]) -> Leftovers:
    """Removes leftovers under the lock that every save takes, and returns the removed files.

    Raises StoreCorruptError for a damaged database, whose rows do not reliably name their files, and
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
    values: int  # compared values of attributes, to-one relationships and lists of members
    equal: int
    differences: int
    details: list[str]  # the first differences, a sentence for each


def compare(first: Coordinator, second: Coordinator) -> Comparison:
    """Compares the graphs in the first stores of two coordinators, regardless of their types and row keys.

    Objects of an entity are paired in the order of their keys, which a migration keeps. Values are compared to the last
    bit, members of ordered relationships in order. InvalidArgumentError, with entity and key, for models that differ
    in an entity, a stored property or its type.
    """
    buffer = _abi.Buffer()
    handles = [one_of(Coordinator, each, name)._handle for each, name in ((first, "first"), (second, "second"))]
    call(lib.cst_coordinator_compare, *handles, byref(buffer))
    return Comparison(**json.loads(_abi.take_text(buffer)))
