"""The Python objects of borrowed handles, which the library passes to callbacks."""

from __future__ import annotations

import ctypes
import threading
from ctypes import byref
from typing import Any

from ..errors import ObjectGoneError
from .call import call
from .interface import lib
from .stamps import Stamp, contexts
from .wrappers import find

# `context`: the context that executes a batch request on this thread.
batches = threading.local()


def wrapper(token: int) -> Any:
    """Returns the Python object of a borrowed handle; None if the object was detached and has no Python object."""
    item: Any = find(token)
    if item is None:
        out = ctypes.c_void_p()
        try:
            call(lib.cst_object_context, token, byref(out))
        except ObjectGoneError:
            return None
        # The contexts of batch requests and migrations belong to the library, and may have no Python context yet.
        found = next((context for context in list(contexts) if context._handle == out.value), None)
        if found is None:
            found = getattr(batches, "context", None)
        if found is None:
            if not out.value:
                return None
            from ..graph.migration_contexts import context_of  # here, because contexts use this module

            found = context_of(out.value)
        item = found._object(token, None)
    item._cst_context._mark.stamp = Stamp()  # values that were read ahead may be older than those that are saved
    return item
