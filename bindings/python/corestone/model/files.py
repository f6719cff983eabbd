"""Model files: reading, writing, converting, and comparing models with stores."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from ctypes import byref
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from .. import _abi
from .._abi import lib, path_argument, text
from .._abi.call import call, owned
from .._abi.handles import Handle
from ..errors import InvalidArgumentError, ModelError
from .archive import read_json

if TYPE_CHECKING:
    from .model import Model

M = TypeVar("M", bound="ModelFiles")


class DraftProblem(NamedTuple):
    """A problem that makes a model unusable."""

    entity: str | None
    key: str | None
    message: str


class ModelVersions(list[str]):
    """The names of a bundle's versions in natural order, and the name of the current version."""

    def __init__(self, names: Iterable[str], current: str | None) -> None:
        super().__init__(names)
        #: The name of the version that is read by default; None if the bundle does not contain it.
        self.current = current


class ModelFiles:
    """The part of Model that reads and writes files."""

    _handle: int

    if TYPE_CHECKING:

        @classmethod
        def _of(cls: type[M], handle: int) -> M: ...

        def _check_waiting(self) -> None: ...

        def freeze(self) -> None: ...

    @classmethod
    def load(
        cls: type[M],
        source: str | os.PathLike[str] | bytes,
        *,
        version: str | None = None,
        for_store: str | os.PathLike[str] | None = None,
    ) -> M:
        """Reads a model in a format of Xcode: .xcdatamodeld, .xcdatamodel, .momd or .mom, recognised by the content.

        `version` names one version of a bundle; by default, the current one is read. `for_store` is the path of a store
        and selects the version with which the store was written. If the store's version cannot be determined, or the
        model has only one version, the current version is read. Bytes are the content of a file (a compiled model or
        the `contents` of an .xcdatamodel) or of a store's Z_MODELCACHE. With `for_store`, the model is frozen;
        otherwise it can be changed until it is used.

        ModelMismatchError if the store was written with a version that the bundle does not contain.
        """
        if version is not None and for_store is not None:
            raise InvalidArgumentError(
                "version and for_store cannot be combined; pass one of them", key="version", value=version
            )
        if isinstance(source, bytes):
            for name, value in (("version", version), ("for_store", for_store)):
                if value is not None:
                    raise ModelError(
                        f"{name} selects one of several models, but bytes contain a single model; omit {name}, or pass "
                        "a path",
                        key=name,
                        value=value,
                    )
            return cls._of(owned(lib.cst_model_load_bytes, _abi.InputString(source, len(source))))
        if for_store is not None:
            return cls._of(owned(lib.cst_model_load_for_store, path_argument(source), path_argument(for_store)))
        return cls._of(owned(lib.cst_model_load, path_argument(source), _abi.optional_text(version, "version")))

    @classmethod
    def merge(cls: type[M], models: Iterable[Model], *, store: str | os.PathLike[str] | None = None) -> M:
        """Returns a new model with the entities of several models; equal entities are added once.

        With `store`, the path of a store, the model has only the entities with which the store was written, found by
        their version hashes.

        ModelError if entities of the same name differ; the message names the difference.
        ModelMismatchError if no model has an entity of the store; the message names the entity.
        """
        given = list(models)
        array = (ctypes.c_void_p * len(given))(*[model._handle for model in given])
        path = _abi.null_text() if store is None else path_argument(store)
        return cls._of(owned(lib.cst_model_merge, len(given), array, path))

    @classmethod
    def merge_folder(cls: type[M], path: str | os.PathLike[str], *, store: str | os.PathLike[str] | None = None) -> M:
        """Merges all models in a folder: the current version of each bundle or, with `store`, every version.

        The result and the errors are those of `merge`. A source next to its compiled form counts once.

        ModelError if the folder does not contain a model.
        """
        wanted = _abi.null_text() if store is None else path_argument(store)
        return cls._of(owned(lib.cst_model_merge_folder, path_argument(path), wanted))

    def source(self, *, lossy: bool = False) -> str:
        """Returns the model as the `contents` of an .xcdatamodel, the XML that Xcode edits.

        Unchanged parts of a source that was read keep their order and wording. A model that `freeze` rejects is also
        returned, so that its errors can be corrected one by one.

        ModelError if a source cannot express a part (for example a condition other than bounds and patterns, or a
        binary default), unless `lossy` is true, which omits such parts.
        """
        self._check_waiting()
        buffer = _abi.Buffer()
        call(lib.cst_model_copy_source, self._handle, _abi.MODEL_LOSSY if lossy else 0, byref(buffer))
        return _abi.take_text(buffer)

    def write(
        self,
        path: str | os.PathLike[str],
        version: str | None = None,
        *,
        make_current: bool = True,
        lossy: bool = False,
    ) -> None:
        """Writes the model to a path whose extension selects the format: .xcdatamodel, .xcdatamodeld, .mom or .momd.

        In a bundle (.xcdatamodeld, .momd), this adds or replaces `version`, which becomes the current version unless
        `make_current` is False. If `version` is None, the version from which the model was read is replaced, or the
        current version if the model was not read from a version of this bundle. In both cases, the current version
        stays the same. Other files in a bundle and permissions are kept; a symbolic link is followed. At any time, even
        after a crash, the path has either the complete former content or the complete new content (for a folder, only
        if the file system can exchange two folders). Writers are serialised by a lock.

        StoreBusyError if another process or coordinator still holds the lock of the folder after 30 seconds.
        """
        self._check_waiting()
        flags = (0 if make_current else _abi.MODEL_KEEP_CURRENT) | (_abi.MODEL_LOSSY if lossy else 0)
        name = _abi.null_text() if version is None else text(version, "version")
        call(lib.cst_model_write, self._handle, path_argument(path), name, flags)

    @staticmethod
    def convert(
        path: str | os.PathLike[str],
        target: str | os.PathLike[str],
        *,
        module: str | None = None,
        lossy: bool = False,
    ) -> None:
        """Compiles a source with all its versions, or converts a compiled model to a source.

        The extension of `target` selects the format; .xcdatamodel and .mom receive only the current version. `module`
        is the Swift module of classes that the source names without a module. In an existing compiled bundle, all
        versions are replaced and other files are kept. An existing .mom is replaced.

        InvalidArgumentError if the target contains `path`, is an existing source, or is a .momd with other files than
        those of a model.
        """
        name = _abi.null_text() if module is None else text(module, "module")
        flags = _abi.MODEL_LOSSY if lossy else 0
        call(lib.cst_model_convert, path_argument(path), path_argument(target), name, flags)

    def compiled(self) -> bytes:
        """Returns the model as the bytes of a .mom file. Freezes the model."""
        self.freeze()
        buffer = _abi.Buffer()
        call(lib.cst_model_copy_compiled, self._handle, byref(buffer))
        return _abi.take_bytes(buffer)

    @staticmethod
    def versions(path: str | os.PathLike[str]) -> ModelVersions:
        """Returns the names of the versions in a bundle."""
        names, count, current = _abi.Buffer(), ctypes.c_size_t(), ctypes.c_size_t()
        call(lib.cst_model_copy_versions, path_argument(path), byref(names), byref(count), byref(current))
        listed = _abi.take_text(names).split("\0")[: count.value]
        return ModelVersions(listed, listed[current.value] if current.value < count.value else None)

    @staticmethod
    def version_checksums(path: str | os.PathLike[str]) -> dict[str, str]:
        """Returns the checksum of every version in a bundle, by name."""
        buffer = _abi.Buffer()
        call(lib.cst_model_copy_version_checksums, path_argument(path), byref(buffer), None)
        texts = _abi.take_text(buffer).split("\0")
        return dict(zip(texts[0::2], texts[1::2]))

    @property
    def checksum(self) -> str:
        """A checksum of the version hashes of all entities.

        A store's metadata contains it under NSStoreModelVersionChecksumKey.
        """
        self._check_waiting()
        buffer = _abi.Buffer()
        call(lib.cst_model_copy_checksum, self._handle, byref(buffer))
        return _abi.take_text(buffer)

    def is_compatible(self, store: str | os.PathLike[str] | bytes, configuration: str | None = None) -> bool:
        """Whether a store has exactly the entities of a configuration (None: all) with the same version hashes.

        `store` is the path of the store, or the store's metadata as the bytes of a property list. A store without
        version hashes is not compatible with any model.
        """
        self._check_waiting()
        result = ctypes.c_bool()
        name = _abi.null_text() if configuration is None else text(configuration, "configuration")
        if isinstance(store, bytes):
            content = _abi.InputString(store, len(store))
            call(lib.cst_model_is_compatible_metadata, self._handle, name, content, byref(result))
        else:
            call(lib.cst_model_is_compatible, self._handle, name, path_argument(store), byref(result))
        return result.value

    @classmethod
    def load_draft(
        cls: type[M], source: str | os.PathLike[str], *, version: str | None = None
    ) -> tuple[M, list[DraftProblem]]:
        """Reads a source model that may be incomplete, for inspection, and returns it with its problems.

        The source may have a relationship without a destination, an attribute without a type, or an entity whose
        superentity is missing. Parts that a model cannot contain are left out. If there are no problems, `load` returns
        the same model. A model with problems can only be inspected; every other use raises the first problem as
        ModelError.
        """
        buffer = _abi.Buffer()
        handle = Handle()
        call(
            lib.cst_model_load_draft,
            path_argument(source),
            _abi.optional_text(version, "version"),
            byref(handle),
            byref(buffer),
        )
        return cls._of(handle.token), [DraftProblem(**problem) for problem in read_json(buffer)]

    def load_strings(self, path: str | os.PathLike[str], language: str | None = None) -> bool:
        """Loads the localised names of model elements. Returns False if the model does not have a strings file.

        `path` is a .strings file, or the path of a model. The strings of a model are in <Model>Model.strings, in
        <language>.lproj or in the model's folder; `Model.load` loads them automatically. `language` is for example "de"
        or "zh-Hans", by default the user's.

        StoreIOError if a .strings file does not exist or cannot be read.
        """
        wanted = _abi.null_text() if language is None else text(language, "language")
        return call(lib.cst_model_load_strings, self._handle, path_argument(path), wanted) == _abi.OK
