"""A model of a company, and a fresh store of it for each test that asks."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest
from checkout import COMPANY
from checkout import ROOT as ROOT
from checkout import fixtures as fixtures

from corestone import Container, Context, Model, WrongThreadError, raw_value, set_raw_value


def stored(item: Any, name: str) -> Any:
    """The stored value of a property; of a transformable attribute, the bytes without decoding."""
    return raw_value(item, name) if item._cst_properties[name].transforms else item[name]


def keep(item: Any, name: str, value: Any) -> None:
    """Sets what `stored` reads."""
    if item._cst_properties[name].transforms:
        set_raw_value(item, name, value)
    else:
        item[name] = value


@pytest.fixture
def model() -> Model:
    return Model(COMPANY)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "company.store"


def check_unsaved(container: Container) -> None:
    """The unsaved changes that a close reports equal those that the contexts report."""
    # A released context is deallocated when the thread of its queue finishes.
    deadline = time.monotonic() + 10
    while not container.is_closed:
        held = container.unsaved_changes
        if any(each.entities is None for each in held):
            return  # a context of another thread
        changed = 0
        for context in list(container._contexts):
            if not context.is_closed:
                with contextlib.suppress(WrongThreadError):  # without changes, since it was counted
                    changed += context.perform_and_wait(lambda context=context: context.has_persistent_changes)
        if changed == len(held):
            return
        assert time.monotonic() < deadline, held
        time.sleep(0.01)


@pytest.fixture
def container(model: Model, path: Path) -> Iterator[Container]:
    with Container(model, path, sync="normal", unsaved="discard") as opened:
        yield opened
        check_unsaved(opened)


@pytest.fixture
def ctx(container: Container) -> Context:
    return container.context()


@pytest.fixture
def staff(ctx: Context) -> Context:
    """Two departments, six people, three projects, saved."""
    research = ctx.insert("Department", name="R&D", budget=1000)
    sales = ctx.insert("Department", name="Sales")
    boss = ctx.insert("Manager", name="Grace", age=60, department=research, salary=9000)
    people = [
        ctx.insert("Employee", name=name, age=age, department=department, salary=salary, active=True, manager=boss)
        for name, age, department, salary in [
            ("Ada", 36, research, 5200),
            ("Boris", 45, research, 4100),
            ("Chloé", 28, sales, 3900),
            ("Dmitri", 51, sales, 6100),
            ("Elena", 33, None, None),
        ]
    ]
    for title, members in [("Apollo", people[:3]), ("Beacon", people[2:4]), ("Cobalt", [])]:
        ctx.insert("Project", title=title, members=members)
    people[0].tasks = [ctx.insert("Task", title=title) for title in ("think", "write", "prove")]
    ctx.save()
    return ctx


Run = Callable[..., "subprocess.CompletedProcess[str]"]


def environment() -> dict[str, str]:
    """The environment for a program that imports the package from the source tree."""
    paths = [str(ROOT / "bindings/python"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


@pytest.fixture
def run_python(tmp_path: Path) -> Run:
    """Runs a program in a process of its own, in an empty folder."""

    def run(program: str, *arguments: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-X", "faulthandler", "-c", program, *arguments],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    return run
