"""Staged migrations, which migrate a store through several model versions, with application code in between."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Mapping
from ctypes import byref
from typing import TYPE_CHECKING, Any, Callable, Union

from .. import _abi
from .._abi import conversion, lib, optional_text, path_argument, texts
from .._abi.arguments import elements, function, handles, path_list, require_instance, shown
from .._abi.call import call, owned
from .._abi.callbacks import reported
from .._abi.checked import Checked
from .._abi.handles import Token
from .._abi.interrupt import immortal
from ..errors import TypeMismatchError
from ..graph.migration_contexts import context_of, model_of, note_model
from ..model.model import Model

if TYPE_CHECKING:
    from ..graph.context import Context
    from .mapping import MappingModel

Handler = Callable[["Context"], Any]
Transformation = Callable[["Context", "Context"], Any]


class ModelReference(Checked):
    """A reference of a stage to a model version: a model, or a path, which is read when the version is needed.

    version   the version of a bundle; None: its current version
    checksum  the `Model.checksum` that the version must have; None: any checksum
    """

    _cst_attributes = ("checksum",)

    def __init__(
        self, model: Model | str | os.PathLike[str], version: str | None = None, *, checksum: str | None = None
    ) -> None:
        if isinstance(model, Model):
            if version is not None:
                raise TypeMismatchError(
                    f"version is {shown(version)}, but a Model is one version; omit version, or pass the path of a "
                    "bundle",
                    key="version",
                    value=version,
                )
            model.freeze()
            note_model(model)
            handle = owned(lib.cst_model_reference_new, model._handle, optional_text(checksum, "checksum"))
        elif isinstance(model, (str, os.PathLike)):
            handle = owned(
                lib.cst_model_reference_new_with_path, path_argument(model), optional_text(version, "version"),
                optional_text(checksum, "checksum"),
            )  # fmt: skip
        else:
            raise TypeMismatchError(f"model must be a Model or a path, not {shown(model)}", key="model", value=model)
        self._set(handle, model, checksum)

    def _set(self, handle: int, model: Any, checksum: str | None) -> None:
        self._handle = handle
        self._model = model
        self.checksum = checksum

    @classmethod
    def with_hashes(
        cls,
        hashes: Mapping[str, bytes],
        paths: Iterable[str | os.PathLike[str]],
        *,
        checksum: str | None = None,
    ) -> ModelReference:
        """Returns a reference to the version whose entities have these version hashes.

        hashes  version hashes by entity, as in the metadata of a store (NSStoreModelVersionHashes)
        paths   models, bundles and folders that are searched for the version when it is needed
        """
        given = require_instance(Mapping, hashes, "hashes", "a dictionary")
        names = [str(require_instance(str, each, "the name of an entity in hashes")) for each in given]
        content = [bytes(require_instance(bytes, hashes[name], f"hashes[{shown(name)}]")) for name in names]
        buffers = [ctypes.create_string_buffer(each, len(each)) for each in content]
        array = (_abi.Bytes * max(len(names), 1))()
        for place, buffer in enumerate(buffers):
            array[place].data = ctypes.addressof(buffer)
            array[place].size = len(content[place])
        if isinstance(paths, (str, os.PathLike)):
            paths = [paths]
        places = [path_argument(each) for each in elements(paths, "paths", "a list of paths")]
        listed = (_abi.InputString * max(len(places), 1))(*places)
        handle = owned(
            lib.cst_model_reference_new_with_hashes, len(names), texts(names) if names else None, array, len(places),
            listed, optional_text(checksum, "checksum"),
        )  # fmt: skip
        reference = cls.__new__(cls)
        reference._set(handle, dict(hashes), checksum)
        return reference

    def resolve(self) -> Model:
        """Returns the frozen model of the version. MigrationError (134504) if it is missing or its checksum differs."""
        handle = owned(lib.cst_model_reference_resolve, self._handle)
        return self._model if isinstance(self._model, Model) else model_of(handle)

    def __repr__(self) -> str:
        what = f"{len(self._model)} version hashes" if isinstance(self._model, dict) else shown(self._model)
        return f"<ModelReference to {what}>"


VersionLike = Union[ModelReference, Model, str, "os.PathLike[str]"]


def _reference(version: VersionLike, name: str) -> ModelReference:
    if isinstance(version, ModelReference):
        return version
    if isinstance(version, (Model, str, os.PathLike)):
        return ModelReference(version)
    raise TypeMismatchError(
        f"{name} must be a ModelReference, a Model or a path, not {shown(version)}", key=name, value=version
    )


class MigrationStage(Checked):
    """One stage of a staged migration, for the option `stages`. The stage for the store's version runs first."""

    _cst_attributes = ("label",)

    def __init__(self) -> None:
        raise TypeError(
            "a MigrationStage cannot be created directly; call MigrationStage.lightweight, custom, transformation, "
            "mapping or load"
        )

    def _set(self, label: str | None, add: Callable[[int, str | None], None], kind: str) -> MigrationStage:
        #: The name of the stage in errors and plans.
        self.label = label
        self._add = add
        self._kind = kind
        return self

    @classmethod
    def lightweight(cls, versions: Iterable[Model | str], *, label: str | None = None) -> MigrationStage:
        """Returns a stage that migrates through its versions by inferred mappings.

        versions  the versions in their order: models, or checksums (`Model.checksum`) of models that are in
                  `source_models` or `model_paths`
        """
        if isinstance(versions, (str, Model)):
            raise TypeMismatchError(
                f"versions must be a list of models or checksums, not {shown(versions)}", key="versions", value=versions
            )
        found = [
            each.checksum
            if isinstance(each, Model)
            else str(require_instance(str, each, f"versions[{place}]", "a Model or a checksum (str)"))
            for place, each in enumerate(elements(versions, "versions", "a list of models or checksums"))
        ]

        def add(stages: int, label: str | None) -> None:
            checksums = texts(found) if found else None
            call(lib.cst_migration_stages_add_lightweight, stages, len(found), checksums, optional_text(label, "label"))

        return cls.__new__(cls)._set(label, add, "lightweight")

    @classmethod
    def custom(
        cls,
        current: VersionLike,
        next: VersionLike,
        *,
        will_migrate: Handler | None = None,
        did_migrate: Handler | None = None,
        label: str | None = None,
    ) -> MigrationStage:
        """Returns a stage with an inferred mapping between two versions, and functions before and after it.

        will_migrate  receives a context of the store with the current version
        did_migrate   receives a context of the store with the next version

        The contexts belong to the thread of the migration. After a function, its context is saved and closed. An
        exception makes the migration fail, and the store does not change.
        """
        references = _reference(current, "current"), _reference(next, "next")
        handlers = [
            None if each is None else function(each, name)
            for each, name in ((will_migrate, "will_migrate"), (did_migrate, "did_migrate"))
        ]

        def add(stages: int, label: str | None) -> None:
            will, did = (
                _abi.MIGRATION_STAGE_FN() if each is None else callback
                for each, callback in zip(handlers, (_will_callback, _did_callback))
            )
            call(
                lib.cst_migration_stages_add_custom, stages, *(each._handle for each in references),
                optional_text(label, "label"), will, did, conversion.register(handlers), conversion.forget,
            )  # fmt: skip

        return cls.__new__(cls)._set(label, add, "custom")

    @classmethod
    def transformation(
        cls, current: VersionLike, next: VersionLike, transform: Transformation, *, label: str | None = None
    ) -> MigrationStage:
        """Returns a stage in which a function creates the objects of the next version, with both versions open.

        `transform(old, new)` receives a context for each version. Only `new` is saved, at the end. The new store has
        only the objects that the function creates.
        """
        references = _reference(current, "current"), _reference(next, "next")
        body = function(transform, "transform")

        def add(stages: int, label: str | None) -> None:
            call(
                lib.cst_migration_stages_add_transformation, stages, *(each._handle for each in references),
                optional_text(label, "label"), _transform_callback, conversion.register([body]), conversion.forget,
            )  # fmt: skip

        return cls.__new__(cls)._set(label, add, "transformation")

    @classmethod
    def mapping(
        cls, current: VersionLike, next: VersionLike, mapping: MappingModel, *, label: str | None = None
    ) -> MigrationStage:
        """Returns a stage with a mapping model between two versions. The mapping model need not have version hashes."""
        from .mapping import MappingModel

        references = _reference(current, "current"), _reference(next, "next")
        given = require_instance(MappingModel, mapping, "mapping")

        def add(stages: int, label: str | None) -> None:
            call(
                lib.cst_migration_stages_add_mapping, stages, *(each._handle for each in references),
                optional_text(label, "label"), given._handle,
            )  # fmt: skip

        return cls.__new__(cls)._set(label, add, "mapping")

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        models: Iterable[Model] = (),
        search_paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    ) -> list[MigrationStage]:
        """Reads the stages in a JSON file, for the option `stages`; docs/reference/migration.md lists its keys.

        models        versions that the file may name
        search_paths  files, bundles and folders that are searched for more versions

        StoreError if the file cannot be read.
        ModelError if the file is invalid.
        MigrationError (134504) for a version that is not found.
        Other errors are those of validate_stages.
        """
        versions = list(elements(models, "models", "a list of Model"))
        given = handles(versions, Model, "models")
        for version in versions:
            version.freeze()
            note_model(version)
        places = path_list(search_paths, "search_paths")
        loaded = owned(lib.cst_migration_stages_load, path_argument(path), *given, *places)
        return [cls._loaded(loaded, place) for place in range(lib.cst_migration_stages_count(loaded))]

    @classmethod
    def _loaded(cls, stages: Token, place: int) -> MigrationStage:
        """Returns the stage at an index of a loaded list."""
        label = _abi.Buffer()
        status = call(lib.cst_migration_stages_copy_label, stages, place, byref(label))
        found = _abi.take_text(label) if status == _abi.OK else None

        def add(target: int, _: str | None) -> None:
            call(lib.cst_migration_stages_add_stage, target, stages, place)

        return cls.__new__(cls)._set(found, add, "loaded")

    def __repr__(self) -> str:
        return f"<MigrationStage, {self._kind}{'' if self.label is None else f', {shown(self.label)}'}>"


def stages_handle(stages: Iterable[MigrationStage]) -> Token:
    """Returns the handle of a list of stages."""
    handle = owned(lib.cst_migration_stages_new)
    for place, each in enumerate(elements(stages, "stages", "a list of MigrationStage")):
        stage = require_instance(MigrationStage, each, f"stages[{place}]")
        stage._add(handle, stage.label)
    return handle


def validate_stages(stages: Iterable[MigrationStage]) -> None:
    """Performs the checks that opening a store with these stages performs.

    InvalidArgumentError for an empty list, for a lightweight stage without versions, and for a mapping model without
    entity mappings.
    InvalidArgumentError if the two references of a stage are equal, or two stages start or end at the same version, or
    a stage ends at the start of an earlier stage.
    MigrationError (134504) if a model is not found.
    """
    call(lib.cst_migration_stages_validate, stages_handle(stages))


def _run(number: int, place: int, tokens: tuple[int, ...], error: Any) -> int:
    try:
        conversion.registered(number)[place](*map(context_of, tokens))
        return _abi.OK
    except BaseException as raised:
        return reported(raised, error)


_will_callback = immortal(_abi.MIGRATION_STAGE_FN(lambda number, context, error: _run(number, 0, (context,), error)))
_did_callback = immortal(_abi.MIGRATION_STAGE_FN(lambda number, context, error: _run(number, 1, (context,), error)))
_transform_callback = immortal(
    _abi.MIGRATION_TRANSFORMATION_FN(lambda number, old, new, error: _run(number, 0, (old, new), error))
)
