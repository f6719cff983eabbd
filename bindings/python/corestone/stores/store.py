"""Stores of coordinators."""

from __future__ import annotations

import ctypes
import weakref
from ctypes import byref
from typing import TYPE_CHECKING, Any

from .. import _abi
from .._abi import conversion, lib
from .._abi.call import call, held
from .._abi.checked import Checked
from ..errors import InvalidHandleError
from ..graph.object_id import ObjectID
from .open_hosts import host_store

if TYPE_CHECKING:
    from ..model.entity import Entity
    from .coordinator import Coordinator
    from .host_store import HostStore


class Store(Checked):
    """An open store of a coordinator."""

    def __init__(self, handle: int, coordinator: Coordinator | None = None) -> None:
        self._handle = handle
        self._coordinator = None if coordinator is None else weakref.ref(coordinator)

    @property
    def host(self) -> HostStore | None:
        """The instance of the class that is registered for the store's type.

        None for a closed store, and for stores that are not written in Python.
        """
        coordinator = self._coordinator() if self._coordinator is not None else None
        return host_store(coordinator, self.identifier, self.path)

    def new_object_id(self, entity: Entity, reference: int | str | bytes) -> ObjectID:
        """Returns the ID of the row that an entity and a reference identify, whether or not the row exists."""
        cell = conversion.Encoded([reference], "reference")
        return ObjectID._owned(held(lib.cst_store_new_object_id, self._handle, entity._handle, cell.address))

    @property
    def identifier(self) -> str:
        """The store's UUID, the host of its objects' URIs."""
        return _abi.decode(lib.cst_store_identifier(self._handle)) or ""

    @property
    def type(self) -> str:
        """The type: "SQLite", "XML", "Binary", "InMemory", or one that the application registered."""
        return _abi.decode(lib.cst_store_type(self._handle)) or ""

    @property
    def path(self) -> str:
        """The path with which the store was added."""
        return _abi.decode(lib.cst_store_path(self._handle)) or ""

    @property
    def configuration(self) -> str | None:
        """The configuration for which the store was added; None for the whole model."""
        return _abi.decode(lib.cst_store_configuration(self._handle))

    @property
    def is_read_only(self) -> bool:
        """Whether saving to the store fails."""
        out = ctypes.c_bool()
        call(lib.cst_store_is_read_only, self._handle, byref(out))
        return out.value

    @property
    def read_only_reason(self) -> str | None:
        """The reason why saving fails and the remedy, as the end of a sentence; None for a writable store."""
        return _abi.decode(lib.cst_store_read_only_reason(self._handle))

    @property
    def options(self) -> dict[str, Any]:
        """The options with which the store was opened, by the names of Coordinator.add_store.

        Only options whose value is not the default are included, and none of those of a migration.
        """
        buffer = _abi.Buffer()
        call(lib.cst_store_copy_options, self._handle, byref(buffer))
        import json

        found: dict[str, Any] = json.loads(_abi.take_text(buffer))
        return found

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata, including entries that were set but not written yet; see Coordinator.set_metadata.

        InvalidHandleError if the coordinator of the store no longer exists, or did not return this Store.
        """
        coordinator = self._coordinator() if self._coordinator is not None else None
        if coordinator is None:
            raise InvalidHandleError(
                f"the metadata of {self.path} cannot be read without its coordinator; use a Store in stores of the "
                "coordinator",
                file=self.path or None,
            )
        return coordinator.metadata(self)

    @property
    def warnings(self) -> list[str]:
        """The options passed to add_store that have no effect, each with the reason."""
        count = lib.cst_store_warning_count(self._handle)
        return [_abi.decode(lib.cst_store_warning(self._handle, each)) or "" for each in range(count)]

    @property
    def model_source(self) -> str:
        """The source of the store's model: "given", "cached" (in the store) or "inferred" (from the tables)."""
        out = ctypes.c_uint32()
        call(lib.cst_store_model_source, self._handle, byref(out))
        return {_abi.MODEL_GIVEN: "given", _abi.MODEL_CACHED: "cached", _abi.MODEL_INFERRED: "inferred"}[out.value]

    def __repr__(self) -> str:
        return f"<Store {self.path}>"
