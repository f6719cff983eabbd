"""The order of the stages of a migration: the outcomes that are reported of Apple's framework, and those here.

The report (https://developer.apple.com/forums/thread/804902) has four versions of a model. Mappings from 1 to 2,
2 to 3, 3 to 4 and 2 to 4 can be inferred; those from 1 to 3 and from 1 to 4 cannot.

Usage: stage_orders.py   prints the table of docs/reference/migration.md
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from corestone import Container, CorestoneError, MigrationStage, Model

# The attribute `a` is removed, and comes back with another type.
VERSIONS = [
    Model({"Item": {"keep": "string", **attributes}})
    for attributes in ({"a": "string?"}, {}, {"a": "int?"}, {"a": "int?", "b": "string?"})
]
MIGRATED = "migrated"
REFUSED = {134140: "no mapping model", 134506: "backward migration (134506)"}


def lightweight(*versions: int) -> tuple[str, tuple[int, ...]]:
    return "lightweight", versions


def custom(current: int, following: int) -> tuple[str, tuple[int, ...]]:
    return "custom", (current, following)


@dataclass(frozen=True)
class Order:
    """Stages that lead the store of the first version to the version `goal`."""

    goal: int
    stages: tuple[tuple[str, tuple[int, ...]], ...]
    apple: str
    here: str

    @property
    def text(self) -> str:
        return "; ".join(
            f"lightweight {', '.join(map(str, versions))}"
            if kind == "lightweight"
            else "custom {}→{}".format(*versions)
            for kind, versions in self.stages
        )


def order(goal: int, *stages: tuple[str, tuple[int, ...]], apple: str = MIGRATED, here: str | None = None) -> Order:
    return Order(goal, stages, apple, here or apple)


NO_MAPPING, BACKWARDS = REFUSED.values()
ORDERS = [
    order(3, lightweight(1, 2, 3), apple=NO_MAPPING, here=MIGRATED),
    order(3, lightweight(1), lightweight(2), lightweight(3), apple=NO_MAPPING, here=MIGRATED),
    order(3, custom(1, 2), lightweight(3)),
    order(3, lightweight(1), custom(2, 3)),
    order(3, custom(1, 2), custom(2, 3)),
    order(4, custom(1, 2), lightweight(3, 4)),
    order(4, lightweight(3, 4), custom(1, 2), apple=BACKWARDS),
    order(4, lightweight(1, 2), lightweight(3, 4), apple=NO_MAPPING, here=MIGRATED),
    order(4, lightweight(1), custom(2, 3), lightweight(4)),
    order(4, lightweight(1, 4), custom(2, 3)),
    order(4, custom(2, 3), lightweight(1, 4), apple=NO_MAPPING),
]


def outcome(each: Order, path: Path) -> tuple[str, list[str]]:
    """The outcome here, and the handlers that were called. The objects must be those of the store before."""
    with Container(VERSIONS[0], path) as container:
        container.view_context.insert("Item", keep="kept", a="text")
        container.view_context.save()
    before = path.read_bytes()
    called: list[str] = []

    def stage(kind: str, versions: tuple[int, ...]) -> MigrationStage:
        models = [VERSIONS[version - 1] for version in versions]
        if kind == "lightweight":
            return MigrationStage.lightweight(models)
        name = "{}→{}".format(*versions)
        return MigrationStage.custom(
            *models,
            will_migrate=lambda context: called.append(f"will {name}"),
            did_migrate=lambda context: called.append(f"did {name}"),
        )

    goal = VERSIONS[each.goal - 1]
    try:
        with Container(
            goal, path, stages=[stage(*given) for given in each.stages], source_models=VERSIONS
        ) as container:
            objects = [item.to_dict() for item in container.view_context.fetch("Item")]
    except CorestoneError as error:
        assert path.read_bytes() == before, "a refused store is unchanged"
        return REFUSED.get(error.code, f"{error.code}: {error}"), called
    expected = {"keep": "kept"} | dict.fromkeys(["a", "b"][: each.goal - 2])
    assert objects == [expected], objects
    return MIGRATED, called


def line(each: Order, here: str) -> str:
    return f"| 1 | {each.goal} | {each.text} | {each.apple} | {here} |"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for number, each in enumerate(ORDERS):
            print(line(each, outcome(each, Path(folder) / f"{number}.sqlite")[0]))


if __name__ == "__main__":
    main()
