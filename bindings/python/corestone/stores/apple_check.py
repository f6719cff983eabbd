"""Checks of stores against Apple's framework: a report on whether it would accept a store."""

from __future__ import annotations

import ctypes
import json
import os
from ctypes import byref
from typing import TYPE_CHECKING, NamedTuple

from .. import _abi
from .._abi import lib, path_argument
from .._abi.call import call
from ..model.model import ModelLike

if TYPE_CHECKING:
    pass
from ..model.model import given_model


class AppleFinding(NamedTuple):
    """A finding of an AppleCheck: the entity and the property concerned, if any, and a description."""

    entity: str | None
    property: str | None
    text: str


class AppleCheck(NamedTuple):
    """The result of checking whether Apple's framework would accept a store.

    Problems make Apple's framework reject the store, or fail later. Extrapolations are features that no known file from
    Apple's framework confirms.
    """

    accepted: bool
    problems: list[AppleFinding]
    extrapolations: list[AppleFinding]


def check_apple(path: str | os.PathLike[str], model: ModelLike | None = None) -> AppleCheck:
    """Returns a report on whether Apple's framework would accept a store with a model, as far as the file shows.

    `model` is a model or its path; of a bundle, the current version is read, as in an application. None: the model in
    the store. The check does not change the store.
    """
    model = given_model(model)
    accepted, buffer = ctypes.c_bool(), _abi.Buffer()
    handle = model._handle if model is not None else None
    call(lib.cst_store_check_apple, path_argument(path), handle, byref(accepted), byref(buffer))
    report = json.loads(_abi.take_text(buffer))
    return AppleCheck(
        accepted.value,
        [AppleFinding(**finding) for finding in report["problems"]],
        [AppleFinding(**finding) for finding in report["extrapolations"]],
    )
