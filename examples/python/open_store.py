"""Opens any Core Data store, without a separate model, and prints a page about it. Usage: open_store.py STORE"""

from __future__ import annotations

import sys

import corestone

ENTITIES, OBJECTS, COLUMNS, WIDTH = 20, 10, 4, 24


def cell(value: object) -> str:
    """Returns a value as one short line."""
    if value is None:
        return ""
    text = f"{len(value)} bytes" if isinstance(value, bytes) else " ".join(str(value).split())
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"


def print_page(path: str) -> None:
    """Prints a summary of the store, its entities, and the first objects of the largest entity."""
    version = corestone.metadata(path).get("NSPersistenceFrameworkVersion", "an unknown version")
    with corestone.open(path) as container:
        ctx = container.context()
        counts = {name: ctx.count(name, include_subentities=False) for name in container.model}
        print(f"{path}: written by Core Data {version}, its model is {container.model_source}")
        print(f"{sum(counts.values())} objects of {len(counts)} entities\n")
        by_count = sorted(counts, key=lambda name: (-counts[name], name))
        for name in by_count[:ENTITIES]:
            print(f"{counts[name]:>9}  {name}")
        if len(by_count) > ENTITIES:
            print(f"{'…':>9}  and {len(by_count) - ENTITIES} more")
        if not counts or not counts[by_count[0]]:
            return
        most = container.model[by_count[0]]
        columns = [name for name, each in most.properties.items() if not each.is_relationship][:COLUMNS]
        print(f"\n{most.name}: the first {min(OBJECTS, counts[most.name])}")
        rows = ctx.fetch(most, limit=OBJECTS, include_subentities=False).rows(*columns)
        for row in [tuple(columns), *rows] if columns else rows:
            print("  " + "  ".join(f"{cell(value):<{WIDTH}}" for value in row).rstrip())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} STORE")
    try:
        print_page(sys.argv[1])
    except corestone.CorestoneError as error:
        sys.exit(f"{sys.argv[0]}: {error}")
