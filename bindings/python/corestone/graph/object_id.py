"""Object IDs: values that identify an object in any context, on any thread."""

from __future__ import annotations

import ctypes
from ctypes import byref
from typing import TYPE_CHECKING, Any

from .. import _abi
from .._abi import lib, values
from .._abi.call import call, made, owned
from .._abi.handles import Handle, retained_owner
from .._abi.wrappers import IdentifierBase
from ..errors import InvalidArgumentError

if TYPE_CHECKING:
    from ..stores.store import Store


class ObjectID(IdentifierBase):
    """The identity of an object. Equal IDs identify the same object; `uri` is the form to store elsewhere."""

    __slots__ = ("__weakref__", "_argument", "_handle")
    _handle: int
    _argument: Any

    if TYPE_CHECKING:

        def __init__(self) -> None: ...

    else:

        def __init__(self, *given: Any) -> None:
            raise TypeError(
                "an ObjectID cannot be created directly; use the id of an object, or call object_id(uri) of a "
                "container or coordinator"
            )

    @classmethod
    def _owned(cls, hold: Handle) -> ObjectID:
        self = object.__new__(cls)
        self._argument = hold  # owns the handle
        self._handle = hold.value or 0
        return self

    @classmethod
    def _borrowed(cls, handle: int) -> ObjectID:
        return cls._owned(retained_owner(handle))

    def _cst_value_handle(self) -> tuple[int, int]:
        return _abi.OBJECT_ID, self._handle

    @property
    def uri(self) -> str:
        """The URI x-coredata://<store>/<Entity>/p<reference>; the URI of a temporary ID ends with t<UUID>."""
        buffer = _abi.Buffer()
        call(lib.cst_object_id_copy_uri, self._handle, byref(buffer))
        return _abi.take_text(buffer)

    @property
    def is_temporary(self) -> bool:
        """Whether the ID was read before a save or obtain_permanent_ids assigned a permanent ID to the object."""
        out = ctypes.c_bool()
        call(lib.cst_object_id_is_temporary, self._handle, byref(out))
        return out.value

    @property
    def entity_name(self) -> str:
        """The name of the object's entity."""
        return _abi.decode(lib.cst_entity_name(made(lib.cst_object_id_entity, self._handle))) or ""

    @property
    def store(self) -> Store | None:
        """The store with the object's row; None for a temporary ID. The store may be closed meanwhile."""
        from ..stores.store import Store

        handle = owned(lib.cst_object_id_copy_store, self._handle)
        return Store(handle) if handle else None

    @property
    def reference(self) -> int | str | bytes:
        """The store's reference of the object: an int, or in a custom store also a str or bytes.

        InvalidArgumentError for a temporary ID.
        """
        cell = values.Cell()
        if call(lib.cst_object_id_reference, self._handle, cell.ref) == _abi.NOT_FOUND:
            raise InvalidArgumentError(
                f"the object ID {self.uri} is temporary and does not have a reference; call save, and read the id of "
                "the object again",
                entity=self.entity_name,
                object_uri=self.uri,
            )
        found: int | str | bytes = values.decode_cell(cell, None)
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ObjectID):
            return NotImplemented
        return bool(lib.cst_object_id_equal(self._handle, other._handle))

    def __hash__(self) -> int:
        return hash(lib.cst_object_id_hash(self._handle))

    def __repr__(self) -> str:
        return f"ObjectID({self.uri!r})"

    def __str__(self) -> str:
        return self.uri

    def __reduce__(self) -> Any:
        remedy = "call save, pickle the uri of the object's new ID" if self.is_temporary else "pickle its uri"
        raise TypeError(
            f"cannot pickle the object ID {self.uri}, which belongs to its process; {remedy}, and get the ID "
            "with object_id(uri) of a container or coordinator"
        )

    def __copy__(self) -> ObjectID:
        return self

    def __deepcopy__(self, memo: object) -> ObjectID:
        return self
