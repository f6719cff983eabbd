"""Merge policies: what a save does with objects that another context changed meanwhile."""

from __future__ import annotations

from typing import Any

import pytest
from corestone import ConflictError, Context, MergeConflict, MergePolicy, MergePolicyType, Model

PERSON: dict[str, dict[str, Any]] = {"Person": {"name": "string?", "salary": "int32?"}}


def alice(opened: Any) -> tuple[Context, Any, Context, Any]:
    """Alice, read by two contexts."""
    container = opened(Model(PERSON))
    first, second = container.context(), container.context()
    mine = first.insert("Person", name="Alice", salary=10)
    first.save()
    same = second.first("Person")
    assert same.name == "Alice"
    return first, mine, second, same


def test_s148_shared_merge_policies_have_their_types() -> None:
    policies = [
        MergePolicy.ERROR,
        MergePolicy.STORE_TRUMP,
        MergePolicy.OBJECT_TRUMP,
        MergePolicy.OVERWRITE,
        MergePolicy.ROLLBACK,
    ]
    assert [policy.type for policy in policies] == [0, 1, 2, 3, 4]
    assert [policy.type for policy in policies] == list(MergePolicyType)


def test_s151_store_trump_keeps_the_stored_value_of_a_conflict(opened: Any) -> None:
    first, mine, second, same = alice(opened)
    mine.name = "FromCtx1"
    first.save()
    second.merge_policy = MergePolicy.STORE_TRUMP
    same.name, same.salary = "FromCtx2", 99
    second.save()
    assert (same.name, same.salary) == ("FromCtx1", 99)
    first.refresh(mine, merge=False)
    assert (mine.name, mine.salary) == ("FromCtx1", 99)


def test_s154_rollback_policy_discards_changes_in_memory(opened: Any) -> None:
    first, mine, second, same = alice(opened)
    mine.name = "FromCtx1"
    first.save()
    second.merge_policy = MergePolicy.ROLLBACK
    same.name = "FromCtx2"
    second.save()
    assert same.name == "FromCtx1"
    assert not same.has_changes
    assert not second.has_changes
    first.refresh(mine, merge=False)
    assert mine.name == "FromCtx1"


def test_s150_object_snapshot_has_the_last_read_values(opened: Any) -> None:
    first, mine, second, same = alice(opened)
    mine.name = "FromCtx1"
    first.save()
    same.name = "FromCtx2"
    with pytest.raises(ConflictError) as raised:
        second.save()
    (conflict,) = raised.value.conflicts
    assert isinstance(conflict, MergeConflict)
    assert conflict.source_object is same
    assert conflict.object_snapshot["name"] == "Alice"
    assert conflict.current_snapshot["name"] == "FromCtx2"
    assert conflict.cached_snapshot is not None
    assert conflict.cached_snapshot["name"] == "FromCtx1"
    assert conflict.persisted_snapshot is None
