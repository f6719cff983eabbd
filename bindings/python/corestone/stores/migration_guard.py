"""Migration guards: checks whether stores of earlier model versions can be migrated, and stored model releases."""

from __future__ import annotations

import base64
import ctypes
import os
from collections.abc import Iterable, Mapping
from ctypes import byref
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Union

from .. import _abi
from .._abi import lib, optional_text, path_argument, text, texts
from .._abi.arguments import elements, flag, handles, path_list, require_instance, shown
from .._abi.call import call, owned
from ..errors import InvalidArgumentError, TypeMismatchError
from ..graph.progress import progress_callback
from ..model.archive import read_json
from ..model.model import Model
from .migration_upkeep import optional_path
from .store_options import StoreOptions
from .store_options import store_options as options_of_stores

if TYPE_CHECKING:
    Paths = Union[str, os.PathLike[str], Iterable[Union[str, os.PathLike[str]]]]


class MigrationFinding(NamedTuple):
    """A problem in the migration from earlier versions of a model to a newer one, or in the migration of one store."""

    #: The name of the rule; docs/reference/lint.md explains each rule.
    rule: str
    #: "error", "warning" or "note"
    severity: str
    #: The earlier versions whose migration has the problem, the oldest first; empty for a store.
    versions: list[str]
    #: The path of the store; None for a finding about models.
    store: str | None
    entity: str | None
    key: str | None
    message: str
    remedy: str

    def __str__(self) -> str:
        subject = f"{self.store}: " if self.store else ""
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{self.severity}: {subject}{self.message}{remedy} [{self.rule}]"


def check_migration(
    old: str | os.PathLike[str] | Mapping[str, Model],
    new: str | os.PathLike[str] | Model | None = None,
    *,
    versions: Iterable[str] = (),
    version: str | None = None,
    related: Iterable[Model] = (),
    profile: str = "standard",
    allow_type_changes: bool = False,
    model_paths: Paths = (),
    stores: Paths = (),
    store_options: StoreOptions | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> list[MigrationFinding]:
    """Returns the problems that would prevent migrations from earlier model versions, or lose data unintentionally.

        assert not [each for each in check_migration("released", "Notes.xcdatamodeld") if each.severity == "error"]

    old       the path of a model, of a bundle of versions, or of a folder of releases (ModelRelease), which are also
              compared with the versions of the same name in `new`; or a dictionary of models by name, the oldest first
    new       the path of a model or a bundle; None: `old`, whose earlier versions are checked. If `old` is a
              dictionary, the newer model
    versions  the versions of `old` to check; empty: all
    version   the version of `new`; None: the current one
    related   if `old` is a dictionary, further versions, used only to find former names of model elements
    profile   "cloudkit": changes must only add to the model
    allow_type_changes  True: the application allows type changes if every value can be kept exactly
    model_paths  files, bundles and folders that are searched for mapping models, intermediate versions and the models
              of stores. A migration with a mapping model has no findings
    stores    stores, and folders that are searched for stores recursively: a copy of each store is migrated and opened
    store_options  limits and time-outs for these stores: keyword arguments of Coordinator.add_store
    progress  progress(done, total) is called with the numbers of checked stores and of all stores. An exception that it
              raises ends the check and propagates

    StoreError if a model, a store or a folder cannot be read.
    ModelError for a damaged model.
    InvalidArgumentError for a version that does not exist.
    """
    if isinstance(versions, str):
        raise TypeMismatchError(
            f"versions must be a list of names, not {shown(versions)}", key="versions", value=versions
        )
    given = _abi.MigrationGuardOptions()
    given.struct_size = ctypes.sizeof(given)
    given.flags = _abi.GUARD_ALLOW_TYPE_CHANGES if flag(allow_type_changes, "allow_type_changes") else 0
    given.profile = text(profile, "profile")
    names = [str(require_instance(str, each, f"versions[{place}]")) for place, each in enumerate(
        elements(versions, "versions", "a list of names"))]  # fmt: skip
    given.version_count, given.versions = len(names), texts(names or [""])
    given.version = optional_text(version, "version")
    further = _frozen(related, "related")
    given.related_count, given.related = handles(further, Model, "related")
    given.model_path_count, given.model_paths = path_list(model_paths, "model_paths")
    given.store_count, given.stores = path_list(stores, "stores")
    settings = options_of_stores(**(store_options or {}))
    given.store_options = ctypes.pointer(settings)
    buffer = _abi.Buffer()
    with progress_callback(progress) as callback:
        given.progress = callback
        if isinstance(old, Mapping) and not isinstance(old, Model):
            _check_models(old, new, given, buffer)
        else:
            paths = path_argument(_path(old, "old")), optional_path(None if new is None else _path(new, "new"))
            call(lib.cst_migration_guard_check, *paths, byref(given), byref(buffer))
    return [MigrationFinding(**each) for each in read_json(buffer)["findings"]]


def _check_models(older: Mapping[str, Model], new: Any, options: Any, buffer: _abi.Buffer) -> None:
    newest = require_instance(Model, new, "new")
    newest.freeze()
    names = [str(require_instance(str, each, "the name of a version in old")) for each in older]
    models = _frozen(older.values(), "old")
    call(
        lib.cst_migration_guard_check_models, text(newest.version_name or "new"), newest._handle, len(names),
        texts(names or [""]), handles(models, Model, "old")[1], byref(options), byref(buffer),
    )  # fmt: skip


def _frozen(models: Iterable[Model], name: str) -> list[Model]:
    found = [require_instance(Model, each, f"{name}[{place}]") for place, each in enumerate(
        elements(models, name, "a list of Model"))]  # fmt: skip
    for each in found:
        each.freeze()
    return found


def _path(value: Any, name: str) -> str | os.PathLike[str]:
    if isinstance(value, (str, os.PathLike)):
        return value
    expected = "a path, or a dictionary of models by name" if name == "old" else "a path if old is one"
    raise TypeMismatchError(f"{name} must be {expected}, not {shown(value)}", key=name, value=value)


class ModelRelease(NamedTuple):
    """A released version of a model, stored as a compiled file, NAME.mom, with a manifest, NAME.json.

    ModelRelease.keep(Model.load("Notes.xcdatamodeld"), "released")
    """

    name: str
    #: The path of the compiled model.
    path: str
    #: Model.checksum of the version.
    checksum: str
    #: The version hash of each entity.
    version_hashes: dict[str, bytes]

    @staticmethod
    def keep(model: Model, folder: str | os.PathLike[str], name: str | None = None) -> bool:
        """Stores a version of a model in a folder, which is created if it does not exist.

        Returns False if the folder already contains the version. Commit both files to version control; their bytes are
        deterministic. `name` is by default the version from which the model was read (Model.version_name).

        InvalidArgumentError if the folder contains another model of this name, and for a name that is not a valid file
        name.
        ModelError for an invalid model.
        """
        require_instance(Model, model, "model")._check_waiting()
        status = call(lib.cst_model_release_keep, model._handle, optional_text(name, "name"), path_argument(folder))
        return bool(status == _abi.OK)

    @classmethod
    def releases(cls, folder: str | os.PathLike[str]) -> list[ModelRelease]:
        """Returns the releases in a folder, in the order of their names.

        StoreError if the folder does not exist.
        ModelError for a manifest that cannot be read.
        """
        buffer = _abi.Buffer()
        call(lib.cst_model_release_copy_list, path_argument(folder), byref(buffer))
        return [
            cls(
                each["name"], each["path"], each["checksum"],
                {entity: base64.b64decode(each["versionHashes"][entity]) for entity in each["versionHashes"]},
            )
            for each in read_json(buffer)
        ]  # fmt: skip

    @staticmethod
    def check(folder: str | os.PathLike[str], model: str | os.PathLike[str]) -> list[MigrationFinding]:
        """Returns the differences between the releases in a folder and the versions of the same name in a bundle.

        Releases whose files were changed are findings too. `model` is the path of the bundle or of a single version.
        """
        buffer = _abi.Buffer()
        call(lib.cst_model_release_check, path_argument(folder), path_argument(model), byref(buffer))
        return [MigrationFinding(**each) for each in read_json(buffer)]

    def model(self) -> Model:
        """Reads the model. ModelError if the file does not match its manifest."""
        folder = os.path.dirname(self.path) or "."
        handle = owned(lib.cst_model_release_load, path_argument(folder), text(self.name))
        if not handle:
            manifest = os.path.join(folder, f"{self.name}.json")
            raise InvalidArgumentError(
                f'the folder {folder} does not contain the release "{self.name}"; restore {self.name}.json and '
                f"{self.name}.mom from version control",
                key="name",
                value=self.name,
                file=manifest,
            )
        return Model._of(handle)
