"""The order of the stages decides as in Apple's framework, but for the ladders that it refuses (stage_orders.py)."""

from __future__ import annotations

from pathlib import Path

import pytest
from corestone import Container, CorestoneError
from stage_orders import MIGRATED, ORDERS, VERSIONS, Order, line, outcome

DOCUMENT = Path(__file__).parents[2] / "docs/reference/migration.md"


@pytest.mark.parametrize("start, goal, can", [(0, 1, 1), (1, 2, 1), (2, 3, 1), (1, 3, 1), (0, 2, 0), (0, 3, 0)])
def test_mappings_can_be_inferred_as_reported(start: int, goal: int, can: int, tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    Container(VERSIONS[start], path).close()
    if can:
        # The first step only removes.
        Container(VERSIONS[goal], path, allow_removals=True).close()
        return
    with pytest.raises(CorestoneError) as caught:
        Container(VERSIONS[goal], path)
    assert caught.value.code == 134190


@pytest.mark.parametrize("each", ORDERS, ids=lambda each: f"{each.text} to {each.goal}")
def test_stage_order_has_the_expected_outcome(each: Order, tmp_path: Path) -> None:
    here, called = outcome(each, tmp_path / "a.sqlite")
    assert here == each.here
    # Each custom stage of a migration runs once, both of its handlers.
    handlers = [
        f"{word} {current}→{following}"
        for kind, (current, *rest) in each.stages
        for following in rest
        for word in ("will", "did")
        if kind == "custom"
    ]
    assert called == (handlers if here == MIGRATED else [])


def test_outcome_differs_from_apple_only_for_lightweight_stages() -> None:
    differing = [each for each in ORDERS if each.apple != each.here]
    assert {kind for each in differing for kind, _ in each.stages} == {"lightweight"}


def test_reference_page_has_the_outcomes() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert [line(each, each.here) for each in ORDERS if line(each, each.here) not in text] == []
