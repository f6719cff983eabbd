"""The core of coordinators: creation, and calls that open a store."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from .._abi import lib
from .._abi.arguments import require_instance
from .._abi.call import made, owned
from .._abi.checked import Checked
from .._abi.handles import retained
from ..errors import InvalidHandleError
from ..graph.migration_contexts import note_model
from ..graph.owners import Contexts, Policy, policy_of
from ..model.model import Classes, Model, declared_model
from .migration_upkeep import MigrationUpkeep
from .open_hosts import host_stores_opened

if TYPE_CHECKING:
    from ..graph.context import Context
    from .coordinator import Coordinator
from .store import Store


class CoordinatorCore(Checked, MigrationUpkeep, Contexts):
    """What the parts of `Coordinator` have in common."""

    _another_owner = "coordinator; create another coordinator or container, or open the document again"

    _cst_attributes = ("model",)

    def __init__(self, model: Model | Classes, *, unsaved: Policy = "refuse") -> None:
        policy = policy_of(unsaved)
        given: Any = declared_model(model) if isinstance(model, (type, tuple, list)) else model
        require_instance(Model, given, "model", "a Model, such as Model({...}) or Model.load(path)").freeze()
        self._adopt(owned(lib.cst_coordinator_new, given._handle), given)
        self._unsaved = policy

    def _adopt(self, handle: int, model: Model | None) -> None:
        self._handle = handle
        self._is_closed = False
        self._unsaved = "refuse"
        self._contexts: weakref.WeakSet[Context] = weakref.WeakSet()
        if model is None:
            model = Model._of(retained(made(lib.cst_coordinator_model, handle)))
        note_model(model)
        self.model = model

    @classmethod
    def _owned(cls, handle: int, model: Model | None) -> Coordinator:
        """Returns the coordinator of an owned handle. If `model` is None, the model is that of the handle."""
        coordinator = cls.__new__(cls)
        coordinator._adopt(handle, model)
        return coordinator._beneath

    @property
    def _beneath(self) -> Coordinator:
        """This coordinator. The parts of the class are not a Coordinator for type checkers."""
        return self  # type: ignore[return-value]

    def _require_open(self) -> None:
        if self._is_closed:
            raise InvalidHandleError(
                "the coordinator is closed; create another one with Coordinator(...) or Container(...), or call "
                "Document.open(...) again"
            )

    def _opened(self, function: Any, *arguments: Any) -> Store:
        """Returns the store that a call opens."""
        self._require_open()
        with host_stores_opened(self._beneath):
            return Store(owned(function, *arguments), self._beneath)

    @property
    def is_closed(self) -> bool:
        """Whether the coordinator was closed."""
        return self._is_closed
