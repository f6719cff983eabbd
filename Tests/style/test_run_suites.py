"""The runner of suites: the environment of their commands."""

from __future__ import annotations

from pathlib import Path

import pytest
import run_suites
from project import BUILD, ROOT


def test_commands_use_the_checkout_when_the_caller_exports_other_paths(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("PYTHONPATH", "CORESTONE_LIBRARY", "CORESTONE_SEED"):
        monkeypatch.setenv(name, "/other")
    log = tmp_path / "log"
    command = ["sh", "-c", 'echo "$PYTHONPATH $CORESTONE_LIBRARY $CORESTONE_SEED $MORE"']
    run_suites.run(command, run_suites.Suite("a", [], environment={"MORE": "more"}), log)
    assert log.read_text(encoding="utf-8").split() == [
        str(ROOT / "bindings/python"),
        str(BUILD / "lib/libcorestone.so"),
        "/other",
        "more",
    ]


def test_time_is_compared_with_the_goal() -> None:
    assert run_suites.compared_with_goal(1080.2) == "suites: 1080 s of the goal of 1800 s"
    assert run_suites.compared_with_goal(1801) == "warning: suites: 1801 s of the goal of 1800 s"
