"""Query generations: states of the stores, which contexts can read regardless of later saves."""

from __future__ import annotations

from .._abi import lib
from .._abi.call import owned


class QueryGeneration:
    """The token of a generation. The generation exists while the token is referenced or a context is pinned to it.

    Equal tokens identify the same state. Any thread can use a token.
    """

    __slots__ = ("__weakref__", "_handle")

    def __init__(self, handle: int) -> None:
        self._handle = handle

    @classmethod
    def current(cls) -> QueryGeneration:
        """Returns a token for the state that is the newest when a context pinned to the token first reads."""
        return cls(owned(lib.cst_query_generation_current))

    @property
    def is_current(self) -> bool:
        """Whether the token is `QueryGeneration.current()`, which does not identify a state yet."""
        return bool(lib.cst_query_generation_is_current(self._handle))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, QueryGeneration):
            return NotImplemented
        return bool(lib.cst_query_generation_equal(self._handle, other._handle))

    def __hash__(self) -> int:
        return int(lib.cst_query_generation_hash(self._handle))

    def __repr__(self) -> str:
        return f"<QueryGeneration {'current' if self.is_current else hex(hash(self))}>"


def optional_generation(handle: int | None) -> QueryGeneration | None:
    """Returns the generation of an owned handle, or None without a handle."""
    return QueryGeneration(handle) if handle else None
