"""A part of Context: policies and counts of faults, and other options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _abi
from .._abi.arguments import flag, require_instance, require_integer
from .._abi.arguments import function as function_given
from . import faulting

if TYPE_CHECKING:
    from .single_faults import SingleFaults
from .context_core import ContextCore


class ContextFaulting(ContextCore):
    """Policies and counts of faults, and other options."""

    def _option(self, which: int) -> int:
        return faulting.option(self._open, which)

    def _set_option(self, which: int, value: int) -> None:
        faulting.set_option(self._open, which, value)

    @property
    def fault_policy(self) -> str:
        """The policy for single faults, which a prefetch would have avoided.

        "batch" (initially; no effect), "warn" (logs once for each line of the program) or "error" (UnsupportedError).
        """
        return _abi.FAULT_POLICIES[self._option(_abi.OPTION_FAULT_POLICY)]

    @fault_policy.setter
    def fault_policy(self, policy: str) -> None:
        self._set_option(_abi.OPTION_FAULT_POLICY, faulting.policy_number(policy))
        faulting.follow(self._open)

    @property
    def fault_batch_size(self) -> int:
        """The maximum number of objects that one fault loads: the object and its siblings; 256 by default."""
        return self._option(_abi.OPTION_FAULT_BATCH_SIZE)

    @fault_batch_size.setter
    def fault_batch_size(self, size: int) -> None:
        self._set_option(_abi.OPTION_FAULT_BATCH_SIZE, require_integer(size, "fault_batch_size"))

    @property
    def counts_single_faults(self) -> bool:
        """Whether single faults are counted. Setting True restarts the count."""
        return bool(self._option(_abi.OPTION_COUNTS_SINGLE_FAULTS))

    @counts_single_faults.setter
    def counts_single_faults(self, counts: bool) -> None:
        self._set_option(_abi.OPTION_COUNTS_SINGLE_FAULTS, flag(counts, "counts_single_faults"))
        faulting.follow(self._open)

    @property
    def single_faults(self) -> list[SingleFaults]:
        """The counted single faults, by relationship and line of the program, most frequent first."""
        return faulting.report(self._open)

    @property
    def single_fault_report(self) -> str:
        """The counted single faults as human-readable lines."""
        return faulting.report_text(self._open)

    @property
    def staleness_interval(self) -> float | None:
        """The maximum age, in seconds, of a cached row that may fill a fault; None, the initial value: any age."""
        value = self._option(_abi.OPTION_STALENESS_MS)
        return None if value < 0 else value / 1000

    @staleness_interval.setter
    def staleness_interval(self, seconds: float | None) -> None:
        if seconds is not None:
            require_instance((int, float), seconds, "staleness_interval", "a number of seconds or None")
        self._set_option(_abi.OPTION_STALENESS_MS, -1 if seconds is None or seconds < 0 else round(seconds * 1000))

    @property
    def retains_registered_objects(self) -> bool:
        """Whether the context retains every registered object, not only those with changes."""
        return bool(self._option(_abi.OPTION_RETAINS_REGISTERED_OBJECTS))

    @retains_registered_objects.setter
    def retains_registered_objects(self, retains: bool) -> None:
        self._set_option(_abi.OPTION_RETAINS_REGISTERED_OBJECTS, flag(retains, "retains_registered_objects"))

    @property
    def should_delete_inaccessible_faults(self) -> bool:
        """Whether an object whose row is missing counts as deleted, with None for its values; initially True.

        If False, reading it raises ObjectGoneError.
        """
        return bool(self._option(_abi.OPTION_DELETES_INACCESSIBLE_FAULTS))

    @should_delete_inaccessible_faults.setter
    def should_delete_inaccessible_faults(self, deletes: bool) -> None:
        self._set_option(_abi.OPTION_DELETES_INACCESSIBLE_FAULTS, flag(deletes, "should_delete_inaccessible_faults"))

    @property
    def inaccessible_fault_handler(self) -> faulting.InaccessibleFaultHandler | None:
        """The callback (fault, id, property) -> bool that replaces should_delete_inaccessible_faults.

        The getter of the property raises the exceptions of the callback. Calls that look up the row, such as
        `existing`, do not call the callback.
        """
        return self._inaccessible

    @inaccessible_fault_handler.setter
    def inaccessible_fault_handler(self, handler: faulting.InaccessibleFaultHandler | None) -> None:
        if handler is not None:
            function_given(handler, "inaccessible_fault_handler")
        faulting.set_handler(self._open, handler)
        self._inaccessible = handler

    @property
    def propagates_deletes_at_end_of_event(self) -> bool:
        """Whether processing pending changes applies delete rules; initially True. If False, a save applies them."""
        return bool(self._option(_abi.OPTION_DELETES_AT_END_OF_EVENT))

    @propagates_deletes_at_end_of_event.setter
    def propagates_deletes_at_end_of_event(self, propagates: bool) -> None:
        self._set_option(_abi.OPTION_DELETES_AT_END_OF_EVENT, flag(propagates, "propagates_deletes_at_end_of_event"))

    @property
    def merges_batches(self) -> bool:
        """Whether changes by batch requests are merged automatically; initially True."""
        return bool(self._option(_abi.OPTION_MERGES_BATCHES))

    @merges_batches.setter
    def merges_batches(self, merges: bool) -> None:
        self._set_option(_abi.OPTION_MERGES_BATCHES, flag(merges, "merges_batches"))
