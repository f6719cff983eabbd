#!/usr/bin/env python3
"""Runs the workloads of every peer, interleaved, and compares them with plain C on sqlite3.

usage: run.py [--rounds N] [--workloads W1,W3,...] [--peers raw,corestone,...] [--gate] ...   (--help lists all)

Each workload of each peer runs in its own process, pinned to one processor. Within a round the peers take turns, and
every round starts with the next peer. A ratio is the median over the rounds of "peer / raw C in the same round". The
benchmark fails if the results of the peers differ.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import compare
import generate
import report
import stores

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
WORKLOADS = [
    "W1",
    "W1_full",
    "batch_insert",
    "W3",
    "W4",
    "W5a",
    "W6",
    "W7",
    "W8",
    "W9",
    "W11",
    "undo",
    "queues",
    "controller",
    "readers",
    "store_save",
    "store_load",
    "store_query",
]

# The types of stores to compare, as passed to cst_coordinator_add_store.
STORE_TYPES = ["SQLite", "InMemory", "Binary", "XML"]

# These are not pinned to one processor.
READERS = ["readers_1", "readers_2", "readers_4"]


@dataclass
class Places:
    """The folders of a run. All files that a run creates are below `out`, except the Python environment."""

    out: Path
    library: Path
    include: Path

    @property
    def data(self) -> Path:
        return self.out / "data"

    @property
    def venv_python(self) -> Path:
        return self.out.parent / "bench-venv" / "bin" / "python"

    def store(self, name: str) -> str:
        return str(self.out / f"{name}.sqlite")


@dataclass
class Peer:
    """A program that prints lines of JSON. `runs` maps each workload to the arguments of its processes."""

    name: str
    command: Callable[[str], list[str]]
    runs: dict[str, list[str]]
    environment: dict[str, str] = field(default_factory=dict)


def make_peers(places: Places) -> dict[str, Peer]:
    def program(name: str) -> Callable[[str], list[str]]:
        def command(run: str) -> list[str]:
            store = f"{name}_{run[3:]}" if run.startswith("W1_") else f"{name}_batch" if run == "batch_insert" else name
            if run.startswith("store_"):
                store = f"{name}_{run}"
            return [str(places.out / name), run, str(places.data), places.store(store)]

        return command

    def script(file: str, python: str, store: str) -> Callable[[str], list[str]]:
        return lambda run: [python, str(HERE / file), run, str(places.data), places.store(store)]

    raw = Peer(
        "raw",
        program("raw"),
        {
            "W1": ["W1"],
            "W1_full": ["W1_full"],
            "batch_insert": ["batch_insert"],
            "W3": ["W3", "W3_objects", "W3_arrow"],
            "W4": ["W4", "W4_any", "W4_subquery"],
            "W5a": ["W5a"],
            "W6": ["W6", "save_mixed"],
            "W7": ["W7"],
            "W8": ["W8"],
            "W9": ["W9"],
            "W11": ["W11", "W11_lazy"],
            "readers": READERS,
        },
    )
    corestone = Peer(
        "corestone",
        program("corestone"),
        {
            "W1": ["W1", "W1_single", "W1_bulk"],
            "W1_full": ["W1_full"],
            "batch_insert": ["batch_insert"],
            "W3": ["W3", "W3_many", "W3_columns", "W3_arrow"],
            "W4": ["W4", "W4_any", "W4_subquery"],
            "W5a": ["W5a"],
            "W6": ["W6", "save_mixed"],
            "W7": ["W7"],
            "W8": ["W8"],
            "W9": ["W9"],
            "W11": ["W11", "W11_objects", "W11_lazy"],
            "undo": ["undo"],
            "queues": ["queues"],
            "controller": ["controller"],
            "readers": READERS,
            **{
                name: [f"{name}_{kind}" for kind in STORE_TYPES] for name in ("store_save", "store_load", "store_query")
            },
        },
    )
    every = {workload: [workload] for workload in ("W1", "W3", "W4", "W5a", "W6", "W7", "W9")}
    package = {
        "CORESTONE_LIBRARY": str(places.library / "libcorestone.so"),
        "PYTHONPATH": str(ROOT / "bindings" / "python"),
    }
    # With and without the accelerator.
    pythons = [
        Peer(
            name,
            script("peers/corestone_package.py", sys.executable, "python"),
            {**every, "W3": ["W3", "W3_rows"]},
            {**package, "CORESTONE_ACCELERATOR": choice},
        )
        for name, choice in (("python", "1"), ("python_plain", "0"))
    ]
    peers = [
        raw,
        corestone,
        *pythons,
        Peer("sqlite3", script("peers/sqlite_module.py", sys.executable, "module"), every),
    ]
    for name in stores.PACKAGES:
        command = script(stores.script(name), str(places.venv_python), "module" if name in stores.TUPLES else "orm")
        workloads = ("W3", "W4", "W9") if name in stores.TUPLES else ("W3", "W4", "W5a", "W9")
        peers.append(Peer(name, command, {workload: [workload] for workload in workloads}))
    return {peer.name: peer for peer in peers}


def run_one(peer: Peer, run: str, processor: int | None) -> list[dict[str, object]]:
    """Runs a process and returns its lines. Raises RuntimeError with its standard error if it fails."""
    command = peer.command(run)
    if processor is not None and run not in READERS:
        command = ["taskset", "-c", str(processor), *command]
    environment = {**os.environ, **peer.environment, "SWIFT_DETERMINISTIC_HASHING": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
    if done.returncode:
        raise RuntimeError(f"{peer.name} {run}: status {done.returncode}\n{done.stderr[-2000:]}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def run_rounds(
    peers: list[Peer], workloads: list[str], package_workloads: list[str], rounds: int, processor: int | None
) -> list[dict[str, object]]:
    samples: list[dict[str, object]] = []
    for number in range(rounds):
        started = time.monotonic()
        for workload in workloads:
            turn = number % len(peers)
            for peer in peers[turn:] + peers[:turn]:
                if peer.name in stores.PACKAGES and workload not in package_workloads:
                    continue
                for run in peer.runs.get(workload, []):
                    for sample in run_one(peer, run, processor):
                        samples.append({**sample, "round": number})
        print(f"round {number + 1} of {rounds}: {time.monotonic() - started:.0f} s", file=sys.stderr)
    return samples


def build_programs(places: Places, targets: list[str]) -> None:
    command = ["make", "--no-print-directory", "-C", str(HERE), f"OUT={places.out}", f"LIB={places.library}"]
    command += [f"INCLUDE={places.include}", *(str(places.out / target) for target in targets)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def measure_opening(places: Places, processor: int | None) -> None:
    """Prints the time to open a store of Apple's framework with its cached model."""
    fixtures = Path(os.environ.get("CORESTONE_FIXTURES") or ROOT.parent / "shared" / "fixtures")
    store = fixtures / "stores" / "osxphotos" / "Photos.sqlite"
    if not store.exists():
        print(f"opening: {store} does not exist; set CORESTONE_FIXTURES to the folder of the fixtures")
        return
    opening = Peer("opening", lambda run: [str(places.out / "opening"), run], {})
    (found,) = run_one(opening, str(store), processor)
    print(
        f"opening a store of {found['entities']} entities with its cached model: {found['corestone_ms']} ms, "
        f"{found['ratio']} times raw SQLite's {found['raw_ms']} ms (budget 30 ms)"
    )


def measure_python_calls(places: Places, results: Path) -> None:
    """Prints the calls of the Python package beside their counterparts, and writes them to a file."""
    options = ["--out", str(places.out), "--library", str(places.library), "--results", str(results)]
    subprocess.run([sys.executable, str(HERE / "python_calls.py"), *options], check=True)


def names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare Corestone with raw C on sqlite3 and with Python packages.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workloads", type=names, default=WORKLOADS, help=",".join(WORKLOADS))
    parser.add_argument(
        "--peers", type=names, help="raw,corestone,python,sqlite3 and packages of PyPI; raw is always run"
    )
    parser.add_argument("--no-packages", action="store_true", help="do not install or run packages of PyPI")
    parser.add_argument("--package-workloads", type=names, default=["W3"], help="some of W3,W4,W5a,W9; default W3")
    parser.add_argument("--cpu", type=int, default=(os.cpu_count() or 1) - 1, help="processor for all runs; -1: any")
    parser.add_argument("--library", type=Path, default=ROOT / "build" / "lib", help="folder of libcorestone.so")
    parser.add_argument("--include", type=Path, default=ROOT / "build" / "include", help="folder of corestone.h")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench", help="folder for programs, data, stores")
    parser.add_argument("--results", type=Path, default=HERE / "results" / "latest.json")
    parser.add_argument("--no-getters", action="store_true", help="do not measure single calls")
    parser.add_argument("--gate", action="store_true", help="exit with 1 if a target is missed")
    arguments = parser.parse_args()
    unknown = set(arguments.workloads) - set(WORKLOADS)
    if unknown or arguments.rounds < 1:
        parser.error(f"unknown workload {unknown.pop()}" if unknown else "--rounds must be 1 or more")
    return arguments


def calls_command(program: Path, data: Path, store: str) -> list[str]:
    """Returns the command of a program that times single calls on a store."""
    return [str(program), str(data), store]


def main() -> int:
    arguments = parse_arguments()
    places = Places(arguments.out.resolve(), arguments.library.resolve(), arguments.include.resolve())
    places.out.mkdir(parents=True, exist_ok=True)
    if not (places.data / "ids.tsv").exists():
        generate.generate(places.data)
    all_peers = make_peers(places)
    chosen = arguments.peers or list(all_peers)
    unknown = set(chosen) - set(all_peers)
    if unknown:
        print(f"run.py: there is no peer {unknown.pop()}; use {', '.join(all_peers)}", file=sys.stderr)
        return 2
    peers = [all_peers[name] for name in dict.fromkeys(["raw", *chosen])]
    if arguments.no_packages or not any(peer.name in stores.PACKAGES for peer in peers):
        peers = [peer for peer in peers if peer.name not in stores.PACKAGES]
    else:
        installed = stores.install_packages(places.venv_python)
        peers = [peer for peer in peers if peer.name not in stores.PACKAGES or peer.name in installed]
        stores.make_orm_store(places.data, Path(places.store("orm")))

    with_corestone = any(peer.name == "corestone" for peer in peers)
    build_programs(places, ["raw", *(["corestone", "getter", "predicate", "opening"] if with_corestone else [])])
    processor = arguments.cpu if arguments.cpu >= 0 else None
    for peer in peers:  # W1 creates the stores of the workloads that read
        missing = not Path(peer.command("W3")[-1]).exists()
        if missing and "W1" in peer.runs and "W1" not in arguments.workloads:
            run_one(peer, "W1", processor)
    try:
        samples = run_rounds(peers, arguments.workloads, arguments.package_workloads, arguments.rounds, processor)
        if with_corestone and not arguments.no_getters:
            for program in (places.out / "getter", places.out / "predicate"):
                calls = Peer(program.name, partial(calls_command, program, places.data), {})
                samples += [{**sample, "round": 0} for sample in run_one(calls, places.store("corestone"), processor)]
    except RuntimeError as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 1

    if with_corestone:
        measure_opening(places, processor)
    problems = report.disagreements(samples)
    if with_corestone:
        problems += stores.differences(places.store("raw"), places.store("corestone"))
    result = report.summarize(samples)
    print(report.table(result))
    print("\n" + report.versions(samples))
    missed = report.targets(result)
    print("\n".join(compare.compare_with_recorded(result)))
    for problem in problems:
        print(f"WRONG: {problem}")
    arguments.results.parent.mkdir(parents=True, exist_ok=True)
    document = {"machine": report.machine(), "rounds": arguments.rounds, "summary": result, "samples": samples}
    arguments.results.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if not arguments.no_getters and any(peer.name == "python" for peer in peers):
        measure_python_calls(places, arguments.results.with_name(f"calls-{arguments.results.name}"))
    return 1 if problems or (arguments.gate and missed) else 0


if __name__ == "__main__":
    sys.exit(main())
