"""Counts the instructions of calls of the Python package for budgets.py, with its accelerator and without it.

budgets/calls.py makes each call two numbers of times in one process; the difference of the counts, divided by that of
the numbers, is one call with its turn of a loop in Python. Hashes of strings are the same in every run, and no garbage
collection runs while a part is counted. Modules are compiled by a run without callgrind.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import sysconfig
from pathlib import Path

import callgrind
from budget_figures import in_parallel, instructions
from ceilings import PEERS, Figures

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


def interpreter() -> str:
    """Returns what the instructions of Python code depend on: the architecture, the interpreter and its compiler."""
    name = f"{platform.python_implementation()} {platform.python_version()}"
    arguments = str(sysconfig.get_config_var("CONFIG_ARGS") or "")
    optimised = ", optimised" if "--enable-optimizations" in arguments else ""
    return f"{platform.machine()}, {name}, {platform.python_compiler()}{optimised}"


class Calls:
    """The calls of budgets/calls.py. Their names begin with the peer: `python.set`, `python_plain.set`."""

    def __init__(self, out: Path, library: Path) -> None:
        self.out = out
        self.library = library

    def measure(self) -> Figures:
        return in_parallel([lambda peer=peer: self.one(peer) for peer in PEERS])  # type: ignore[misc]

    def one(self, peer: str) -> Figures:
        environment = {
            "CORESTONE_ACCELERATOR": "0" if peer == "python_plain" else "1",
            "CORESTONE_LIBRARY": str(self.library / "libcorestone.so"),
            "PYTHONPATH": str(ROOT / "bindings" / "python"),
            "PYTHONHASHSEED": "0",
            "PYTHONPYCACHEPREFIX": str(self.out / "bytecode"),
            "PYTHONDONTWRITEBYTECODE": "",
        }
        program = [sys.executable, str(HERE / "budgets" / "calls.py")]
        command = [*program, str(self.out / "libmeasure.so"), str(self.out / f"calls_{peer}.sqlite")]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: status {done.returncode}\n{done.stderr[-2000:]}")
        parts, _ = callgrind.count_parts(command, environment=environment)
        counts: dict[str, dict[int, tuple[int, int]]] = {}
        for part, costs in parts.items():
            name, _, times = part.rpartition(":")
            counts.setdefault(name, {})[int(times)] = instructions(costs)
        figures: Figures = {}
        for name, by_times in sorted(counts.items()):
            (few, less), (many, more) = sorted(by_times.items())
            own, total = ((after - before) / (many - few) for before, after in zip(less, more))
            figures[f"{peer}.{name}"] = {"own": own, "total": total}
        return figures
