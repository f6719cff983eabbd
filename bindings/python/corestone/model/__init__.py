"""Models: entities, properties, model files and text, and the values of attributes.

The package forwards the names of its module `model`, which was `corestone.model` before the package had subpackages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .model import *  # noqa: F403
else:

    def __getattr__(name):
        if name.startswith("__"):
            raise AttributeError(f'the module {__name__} does not have an attribute "{name}"')
        from importlib import import_module

        try:
            found = getattr(import_module(f"{__name__}.model"), name)
        except AttributeError:
            raise AttributeError(f'the module {__name__} does not have an attribute "{name}"') from None
        globals()[name] = found
        return found
