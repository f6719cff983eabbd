"""Looking whether a store is whole, and what lies around it."""

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
    """One thing that is not as it should be in a store."""

    kind: ProblemKind
    message: str
    entity: str | None
    key: str | None
    object_uri: str | None

    @property
    def is_warning(self) -> bool:
        """Whether the store is whole all the same."""
        return self.kind in (ProblemKind.SPEED, ProblemKind.TRIGGER)


def check(path: str | os.PathLike[str], model: ModelLike | None = None) -> list[Problem]:
    """What is wrong with the store at a path, warnings last; nothing for one that is whole. Changes nothing.

    Looks at the database, at every reference and pair, at versions and primary keys, at the metadata against the model
    that the store carries, at files with external data, at the history, at the indexes and triggers that the model asks
    for, and at unique and derived values. The store is read by `model`, or the one at that path, or else by its own.
    What is no store raises the error that opening it would.
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
    """Files with external data that no row refers to."""

    folder: Path
    names: list[str]
    bytes: int
    sharer: Path | None  # another store with its files in the same folder, so that nobody can tell what is left over


def leftovers(path: str | os.PathLike[str]) -> Leftovers:
    """What saves that did not come to their end left beside the store at a path. Changes nothing.

    Such files take room and do no harm otherwise. Files younger than ten minutes may belong to a save that runs, and
    are not among them.
    """
    return _leftovers(lib.cst_store_copy_leftovers, path)


def remove_leftovers(path: str | os.PathLike[str]) -> Leftovers:
    """Removes them, under the lock that every save takes, and returns what was removed.

    Raises StoreCorruptError for a damaged database, whose rows cannot tell which files they need, and UnsupportedError
    for a folder that two stores share.
    """
    return _leftovers(lib.cst_store_remove_leftovers, path)


def _leftovers(function: Any, path: str | os.PathLike[str]) -> Leftovers:
    buffer = _abi.Buffer()
    call(function, path_argument(path), byref(buffer))
    report = json.loads(_abi.take_text(buffer))
    sharer = report["sharer"]
    return Leftovers(Path(report["folder"]), report["names"], report["bytes"], Path(sharer) if sharer else None)


class Comparison(NamedTuple):
    """What two stores have in common."""

    objects: int
    values: int  # of attributes, to-one relationships and lists of members, that were compared
    equal: int
    differences: int
    details: list[str]  # a sentence for each, the first ones


def compare(first: Coordinator, second: Coordinator) -> Comparison:
    """Whether the first stores of two coordinators hold the same graph, whatever their types and the keys of their
    rows.

    Objects of an entity are paired in the order of their keys, which a migration keeps. Values are compared to the last
    bit, members of ordered relationships in order. InvalidArgumentError, with entity and key, for models that differ
    in an entity, a stored property or its type.
    """
    buffer = _abi.Buffer()
    handles = [one_of(Coordinator, each, name)._handle for each, name in ((first, "first"), (second, "second"))]
    call(lib.cst_coordinator_compare, *handles, byref(buffer))
    return Comparison(**json.loads(_abi.take_text(buffer)))
