#!/usr/bin/env python3
"""Shows how the time of a workload is distributed over groups of functions.

usage: where.py [--tool perf|callgrind] [--functions N] [--library DIR] [WORKLOAD ...]

It samples with perf (the processor's clock, kernel included) if perf is installed. Otherwise it counts instructions
with callgrind, which omits the kernel and is about 50 times slower. Only the timed part of a workload is included. The
library must have its symbols; the default is the library in SwiftPM's folder, not the stripped library in build/lib.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import callgrind
from run import Places, build_programs

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
WORKLOADS = ["W1", "W3", "W4", "W5a", "W6", "W7", "save_mixed", "W9", "W11"]
# A function belongs to the first group whose patterns match its object file and its name.
GROUPS = [
    ("SQLite", r"libsqlite3", r""),
    ("kernel", r"kernel|vdso", r""),
    (
        "allocation",
        r"",
        r"^_?_?(libc_)?(malloc|free|calloc|realloc|cfree|aligned_alloc|posix_memalign)|_int_|malloc_|"
        r"unlink_chunk|sysmalloc|tcache|swift_(slow)?[aA]lloc|swift_(slow)?[dD]ealloc|swift_initStackObject|"
        r"swift_allocObject|swift_deallocClassInstance|^_swift_release_dealloc|arena_get|alloc_perturb",
    ),
    (
        "reference counts",
        r"",
        r"swift_(retain|release|bridgeObject|isUniquely|unknownObject|nonatomic|beginAccess|"
        r"weak|unowned)|RefCount|swift::.*(Release|Retain)|_swift_retain|_swift_release",
    ),
    ("Swift runtime", r"", r"^swift_|^_swift|swift::"),
    ("copying and comparing", r"libc[.-]", r"^_?_?(mem|str|bcmp)"),
    ("handles and boundary", r"", r"CorestoneABI|^cst_"),
    ("SQL and statements", r"", r"\d+Corestone(SQL|SQLite)\d*[A-Z]?"),
    ("predicates", r"", r"CorestonePredicate"),
    ("records", r"", r"(Record|Layout|ByteBuffer|RowCache)"),
    ("objects and contexts", r"", r"CorestoneGraph"),
    ("model", r"", r"CorestoneModel"),
    ("values", r"", r"CorestoneValues"),
    ("Swift's collections", r"", r"^\$s[sS]"),
    ("platform", r"", r"platform"),
    ("the C program", r"/(corestone|raw)$", r""),
    ("libc", r"libc[.-]|ld-linux", r""),
]


def group_of(file: str, function: str) -> str:
    for group, file_pattern, function_pattern in GROUPS:
        if re.search(file_pattern, file) and re.search(function_pattern, function):
            return group
    return "other"


def perf_costs(command: list[str], environment: dict[str, str], folder: Path) -> callgrind.Costs:
    """Counts the samples of each function in the timed part, whose begin and end the program reports (measure.c)."""
    control, data = folder / "control", folder / "perf.data"
    os.mkfifo(control)
    record = ["perf", "record", "--quiet", "-e", "cpu-clock", "-F", "5000", "--delay=-1", f"--control=fifo:{control}"]
    environment = {**environment, "MEASURE_CONTROL": str(control)}
    done = subprocess.run([*record, "-o", str(data), *command], capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: status {done.returncode}\n{done.stderr[-2000:]}")
    script = ["perf", "script", "-i", str(data), "-F", "ip,sym,dso"]
    costs: callgrind.Costs = Counter()
    for line in subprocess.run(script, capture_output=True, text=True, check=True).stdout.splitlines():
        match = re.fullmatch(r"\s*[0-9a-f]+ (.*) \((.*)\)", line)
        if match:
            costs[match.group(2), match.group(1)] += 1
    return costs


def with_symbols(library: Path, folder: Path) -> dict[str, str]:
    """Returns an environment in which the programs load a copy of `library`, by either of its names.

    The copy has the symbols, but not the rest of the debug information, which is too new for valgrind.
    """
    copy = folder / "libcorestone.so"
    subprocess.run(["strip", "--strip-debug", "-o", str(copy), str(library.resolve())], check=True)
    (folder / "libcorestone.so.1").symlink_to(copy)
    return {**os.environ, "LD_LIBRARY_PATH": str(folder), "SWIFT_DETERMINISTIC_HASHING": "1"}


def demangled(names: list[str]) -> list[str]:
    tool = shutil.which("swift-demangle") or shutil.which("swift")
    if not tool:
        return names
    command = [tool, *(["demangle"] if tool.endswith("swift") else []), "--compact", "--simplified"]
    done = subprocess.run(command, input="\n".join(names) + "\n", capture_output=True, text=True)
    lines = done.stdout.splitlines()
    return lines if done.returncode == 0 and len(lines) == len(names) else names


def show(workload: str, costs: callgrind.Costs, functions: int) -> None:
    total = sum(costs.values()) or 1
    groups: Counter[str] = Counter()
    for (file, function), cost in costs.items():
        groups[group_of(file, function)] += cost
    print(f"\n{workload}: {total} samples or instructions")
    for group, cost in groups.most_common():
        print(f"  {100 * cost / total:5.1f} %  {group}")
    top = [(file, function, cost) for (file, function), cost in costs.most_common(functions)]
    for (file, function, cost), name in zip(top, demangled([function for _, function, _ in top])):
        print(f"  {100 * cost / total:8.2f} %  {group_of(file, function):<22} {name[:150]}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Show how the time of a workload is distributed.")
    parser.add_argument("workloads", nargs="*", default=WORKLOADS)
    parser.add_argument(
        "--tool", choices=["perf", "callgrind"], default="perf" if shutil.which("perf") else "callgrind"
    )
    parser.add_argument("--program", default="corestone", choices=["corestone", "raw"])
    parser.add_argument("--functions", type=int, default=25, help="how many functions to list")
    parser.add_argument(
        "--library", type=Path, default=ROOT / "build" / "swift" / "release" / "release" / "libcorestone.so"
    )
    parser.add_argument("--include", type=Path, default=ROOT / "build" / "include")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench")
    arguments = parser.parse_args()
    if not arguments.library.exists():
        print(f"where.py: {arguments.library} does not exist; pass a library with --library", file=sys.stderr)
        return 2
    # The programs are linked with the shipped library, as for run.py, which uses the same ones.
    places = Places(arguments.out.resolve(), ROOT / "build" / "lib", arguments.include.resolve())
    build_programs(places, [arguments.program])
    for workload in arguments.workloads:
        store = places.store(f"where_{workload}" if workload.split("_")[0] == "W1" else arguments.program)
        command = [str(places.out / arguments.program), workload, str(places.data), store]
        with tempfile.TemporaryDirectory() as name:
            environment = with_symbols(arguments.library, Path(name))
            try:
                if arguments.tool == "perf":
                    costs = perf_costs(command, environment, Path(name))
                else:
                    costs = callgrind.count(command, "--instr-atstart=no", environment=environment)
            except RuntimeError as error:
                print(f"where.py: {error}", file=sys.stderr)
                return 1
        show(workload, costs, arguments.functions)
    return 0


if __name__ == "__main__":
    sys.exit(main())
