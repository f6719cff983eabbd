"""Models in files: read, written, converted, and compared with what stores say."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from ctypes import byref
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from . import _abi
from ._abi import lib, path_argument, text
from ._call import call, owned
from ._handles import Handle
from .archive import read_json
from .errors import InvalidArgumentError, ModelError

if TYPE_CHECKING:
    from .model import Model

M = TypeVar("M", bound="ModelFiles")


class DraftProblem(NamedTuple):
    """Something that keeps a model from being used."""

    entity: str | None
    key: str | None
    message: str


class ModelVersions(list[str]):
    """Names of versions in their natural order, and which one is the current one."""

    def __init__(self, names: Iterable[str], current: str | None) -> None:
        super().__init__(names)
        #: The name of the version that is read unless another is asked for; None when the bundle lacks it.
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
        """Reads a model that Xcode wrote: .xcdatamodeld, .xcdatamodel, .momd or .mom, told from the content.

        `version` names one version of a bundle; without it, the current one is read, or with `for_store`, the path of a
        store, the one that the store was written with (ModelMismatchError: with none of them). Bytes are the content of
        a file, a compiled model or the `contents` of an .xcdatamodel, or what a store keeps in Z_MODELCACHE. The model
        can still be changed until it is used, unless a store chose it.
        """
        if version is not None and for_store is not None:
            raise InvalidArgumentError("version and for_store cannot be combined; pass one of them")
        if isinstance(source, bytes):
            if version is not None or for_store is not None:
                raise ModelError("bytes contain a single model; omit version and for_store, or pass a path")
            return cls._of(owned(lib.cst_model_load_bytes, _abi.InputString(source, len(source))))
        if for_store is not None:
            return cls._of(owned(lib.cst_model_load_for_store, path_argument(source), path_argument(for_store)))
        return cls._of(owned(lib.cst_model_load, path_argument(source), _abi.optional_text(version)))

    @classmethod
    def merge(cls: type[M], models: Iterable[Model], *, store: str | os.PathLike[str] | None = None) -> M:
        """A new model with the entities of several; what is the same in two of them is there once.

        Raises ModelError when entities of one name differ, and says in what. With `store`, the path of a store, it has
        the entities that the store was written with, found by their version hashes; ModelMismatchError names those that
        none of the models has.
        """
        given = list(models)
        array = (ctypes.c_void_p * len(given))(*[model._handle for model in given])
        path = _abi.null_text() if store is None else text(os.fspath(store))
        return cls._of(owned(lib.cst_model_merge, len(given), array, path))

    @classmethod
    def merge_folder(cls: type[M], path: str | os.PathLike[str], *, store: str | os.PathLike[str] | None = None) -> M:
        """As `merge`, of all models in a folder: the current version of each bundle, or for a store every version.

        A source beside its compiled form counts once. Raises ModelError when there is none.
        """
        wanted = _abi.null_text() if store is None else path_argument(store)
        return cls._of(owned(lib.cst_model_merge_folder, path_argument(path), wanted))

    def source(self, *, lossy: bool = False) -> str:
        """The model as the `contents` of an .xcdatamodel, the XML that Xcode edits.

        What was read from one comes back in its order and its words, but for what was changed. ModelError names what a
        source has no way to say (a condition in an author's own words, a binary default) unless `lossy` leaves it out.
        A model that `freeze` would refuse is written as well, so that it can be mended mistake by mistake.
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
        """Writes the model to a path whose extension says as what: .xcdatamodel, .xcdatamodeld, .mom or .momd.

        A bundle (.xcdatamodeld, .momd) gets it as `version`, new or replaced, which becomes the current one unless
        `make_current` is False; without a name it is the version that the model was read as, or else the current one,
        and the current one stays it. Whatever else lies there stays, and so do permissions; where a symbolic link leads
        is written. The path holds the whole of what was there or of what is new at any time, after a crash too. Several
        writers take turns; StoreBusyError: another program keeps the folder locked for long.
        """
        self._check_waiting()
        flags = (0 if make_current else _abi.MODEL_KEEP_CURRENT) | (_abi.MODEL_LOSSY if lossy else 0)
        name = _abi.null_text() if version is None else text(version)
        call(lib.cst_model_write, self._handle, path_argument(path), name, flags)

    @staticmethod
    def convert(
        path: str | os.PathLike[str],
        target: str | os.PathLike[str],
        *,
        module: str | None = None,
        lossy: bool = False,
    ) -> None:
        """Compiles a source with all its versions, or makes a source of a compiled model.

        The extension of `target` says as what; .xcdatamodel and .mom get the current version alone. `module` is the
        Swift module of classes that the source names without one. Of a compiled bundle that is there all versions
        are replaced, and whatever else lies in it stays; a source must not be there yet. InvalidArgumentError: the
        target contains `path`, or holds anything but a compiled model.
        """
        name = _abi.null_text() if module is None else text(module)
        flags = _abi.MODEL_LOSSY if lossy else 0
        call(lib.cst_model_convert, path_argument(path), path_argument(target), name, flags)

    def compiled(self) -> bytes:
        """The model as the bytes of a .mom file. Freezes it."""
        self.freeze()
        buffer = _abi.Buffer()
        call(lib.cst_model_copy_compiled, self._handle, byref(buffer))
        return _abi.take_bytes(buffer)

    @staticmethod
    def versions(path: str | os.PathLike[str]) -> ModelVersions:
        """The versions of a model that a bundle holds."""
        names, count, current = _abi.Buffer(), ctypes.c_size_t(), ctypes.c_size_t()
        call(lib.cst_model_copy_versions, path_argument(path), byref(names), byref(count), byref(current))
        listed = _abi.take_text(names).split("\0")[: count.value]
        return ModelVersions(listed, listed[current.value] if current.value < count.value else None)

    @staticmethod
    def version_checksums(path: str | os.PathLike[str]) -> dict[str, str]:
        """The checksum of every version that a bundle holds, by name."""
        buffer = _abi.Buffer()
        call(lib.cst_model_copy_version_checksums, path_argument(path), byref(buffer), None)
        texts = _abi.take_text(buffer).split("\0")
        return dict(zip(texts[0::2], texts[1::2]))

    @property
    def checksum(self) -> str:
        """One text for the version hashes of all entities: NSStoreModelVersionChecksumKey of stores."""
        self._check_waiting()
        buffer = _abi.Buffer()
        call(lib.cst_model_copy_checksum, self._handle, byref(buffer))
        return _abi.take_text(buffer)

    def is_compatible(self, store: str | os.PathLike[str] | bytes, configuration: str | None = None) -> bool:
        """Whether a store holds the entities of a configuration (None: all), and those alone, as the model has them.

        `store` is its path, or its metadata as the bytes of a property list. A store that says nothing of itself is
        compatible with no model.
        """
        self._check_waiting()
        result = ctypes.c_bool()
        name = _abi.null_text() if configuration is None else text(configuration)
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
        """Reads a source model that may be half-finished, to be looked at, and says what is wrong with it.

        It may have a relationship that leads nowhere, an attribute without a type, an entity whose parent is gone: what
        cannot stand in a model is left out. A model without problems is as one of `load`; one with problems raises the
        first of them, as ModelError, when something would use it.
        """
        buffer = _abi.Buffer()
        handle = Handle()
        call(lib.cst_model_load_draft, path_argument(source), _abi.optional_text(version), byref(handle), byref(buffer))
        return cls._of(handle.token), [DraftProblem(**problem) for problem in read_json(buffer)]

    def load_strings(self, path: str | os.PathLike[str], language: str | None = None) -> bool:
        """Takes over what the parts of the model are called for people; False when there is nothing.

        `path` is a .strings file, or the path of a model beside which they lie, in <Model>Model.strings of
        <language>.lproj or of the model's folder; `Model.load` does that by itself. `language` is "de" or "zh-Hans", by
        default the user's.
        """
        wanted = _abi.null_text() if language is None else text(language)
        return call(lib.cst_model_load_strings, self._handle, path_argument(path), wanted) == _abi.OK
