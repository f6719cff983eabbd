"""Compares range queries with an R-tree index and by a scan, and prints their plans.

PYTHONPATH=bindings/python CORESTONE_LIBRARY=build/lib/libcorestone.so python bench/rtree.py [ROWS]
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable

from corestone import BatchInsertRequest, Container, Context, Model

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
ROUNDS = 15


def model() -> Model:
    made = Model({"Place": {"name": "string", "code": "int64", "latitude": "double", "longitude": "double"}})
    made["Place"].index("byPlace", "latitude", "longitude", kind="rtree")
    made["Place"].index("byCode", "code")
    return made


def fill(context: Context) -> None:
    rolled = random.Random(1)
    rows = [
        {
            "name": f"place {number}", "code": number, "latitude": rolled.uniform(-90, 90),
            "longitude": rolled.uniform(-180, 180),
        }
        for number in range(ROWS)
    ]  # fmt: skip
    context.execute(BatchInsertRequest("Place", rows))


def milliseconds(body: Callable[[], int]) -> tuple[float, int]:
    times = []
    found = body()
    for _ in range(ROUNDS):
        start = time.perf_counter()
        found = body()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times), found


# The same ranges with noindex: scan the table.
QUERIES = [
    ("a box of 1 by 1 degrees", "{0} BETWEEN {{48, 49}} AND {1} BETWEEN {{11, 12}}"),
    ("a box of 10 by 10 degrees", "{0} BETWEEN {{40, 50}} AND {1} BETWEEN {{10, 20}}"),
    ("a strip of 1 degree", "{0} >= 48 AND {0} <= 49"),
    ("a strip of 20 degrees", "{0} >= 40 AND {0} <= 60"),
    ("everything", "{0} BETWEEN {{-90, 90}}"),
    ("one value of another index, and half of all", "code == 4711 AND {0} BETWEEN {{0, 90}}"),
    ("one value of another index, and a strip of 1 degree", "code == 4711 AND {0} BETWEEN {{48, 49}}"),
]
# Ranges of which only the first row is fetched.
FIRST = [("the first of a strip of 1 degree", QUERIES[2][1]), ("the first of half of all", "{0} BETWEEN {{0, 90}}")]


def compare(context: Context, title: str, format: str) -> None:
    served = format.format("latitude", "longitude")
    scanned = format.format("noindex:(latitude)", "noindex:(longitude)")

    def fetched(predicate: str) -> int:
        context.reset()
        return len(context.fetch("Place", predicate))

    tree, found = milliseconds(lambda: context.count("Place", served))
    scan, same = milliseconds(lambda: context.count("Place", scanned))
    assert found == same
    print(f"{title}: {found} rows")
    print(f"  count: {tree:.3f} ms with the R-tree, {scan:.3f} ms by a scan, {scan / tree:.1f} times")
    tree, _ = milliseconds(lambda: fetched(served))
    scan, _ = milliseconds(lambda: fetched(scanned))
    print(f"  fetch: {tree:.3f} ms with the R-tree, {scan:.3f} ms by a scan, {scan / tree:.1f} times")


def compare_first(context: Context, title: str, format: str) -> None:
    def fetched(*keys: str) -> int:
        context.reset()
        return len(context.fetch("Place", format.format(*keys), limit=1))

    tree, found = milliseconds(lambda: fetched("latitude"))
    scan, same = milliseconds(lambda: fetched("noindex:(latitude)"))
    assert found == same
    print(f"{title}")
    print(f"  fetch: {tree:.3f} ms with the R-tree, {scan:.3f} ms by a scan, {scan / tree:.1f} times")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, Container(model(), Path(folder) / "places.sqlite") as container:
        context = container.context()
        fill(context)
        print(f"{ROWS} rows, the median of {ROUNDS} counts and fetches\n")
        for title, format in QUERIES:
            compare(context, title, format)
        for title, format in FIRST:
            compare_first(context, title, format)
        print()
        print(context.explain("Place", QUERIES[0][1].format("latitude", "longitude")))
        print(context.explain("Place", "indexed:by:(latitude, 'byPlace') > 89"))
        print(context.explain("Place", QUERIES[0][1].format("noindex:(latitude)", "noindex:(longitude)")))


if __name__ == "__main__":
    main()
