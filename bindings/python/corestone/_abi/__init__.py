"""The C interface: its generated part, the library, calls, handles, and the conversion of values.

The package forwards the names of `interface`, as in `_abi.lib`. The first use of a name loads the library, so an import
of another module of the subpackage, such as `_abi.library`, does not.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in `typing`, which need not be imported for LibraryNotFoundError
if TYPE_CHECKING:
    from .interface import *  # noqa: F403
else:

    def __getattr__(name):
        if name.startswith("__"):
            raise AttributeError(f'the module {__name__} does not have an attribute "{name}"')
        from importlib import import_module

        try:
            found = getattr(import_module(f"{__name__}.interface"), name)
        except AttributeError:
            raise AttributeError(f'the module {__name__} does not have an attribute "{name}"') from None
        globals()[name] = found
        return found
