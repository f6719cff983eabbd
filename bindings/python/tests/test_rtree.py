"""R-tree indexes: the fetches that use them, and equality of their results."""

from __future__ import annotations

import random
import sqlite3
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from corestone import (
    BatchDeleteRequest,
    BatchUpdateRequest,
    Container,
    Context,
    FetchRequest,
    Model,
    ModelError,
    Predicate,
    PredicateError,
    check,
    log,
)
from corestone import open as open_container

PLACES = {
    "Thing": {"label": "string"},
    "Place": {
        "@parent": "Thing", "x": "double?", "y": "float?", "rank": "int64?", "seen": "date?", "cost": "decimal?",
        "open": "bool?", "code": "string?", "owner": "to-one Owner? inverse places",
        "next": "to-one Place?",
    },
    "Cafe": {"@parent": "Place"},
    "Owner": {"places": "to-many Place inverse owner"},
}  # fmt: skip
START = datetime(2020, 1, 1, tzinfo=timezone.utc)
# Of the last ones SQLite's rounding to 32 bits fails.
HARD = [
    0.1, -0.1, 1e300, -1e300, 3.5e38, -3.5e38, 16777217.0, 1 / 3, 0.0, None,
    1e-46, -1e-46, 1e-45, -1e-45, 1e-40, -1e-40, 5e-324, -5e-324, 1.1754943e-38, -1.1754943e-38, 1.2e-38,
]  # fmt: skip


def place_model() -> Model:
    model = Model(PLACES)
    model["Place"].index("byPlace", "x", "y", kind="rtree")
    model["Place"].index("byRank", "rank", kind="rtree")
    model["Place"].index("bySeen", "seen", kind="rtree")
    model["Place"].index("byCost", "cost", kind="rtree")
    model["Place"].index("byOpen", "open", kind="rtree")
    model["Place"].index("byCode", "code")
    return model


def fill_places(context: Context, count: int) -> None:
    rolled = random.Random(5)
    for number in range(count):
        x = HARD[number] if number < len(HARD) else rolled.uniform(-100, 100)
        y = None if number % 17 == 0 else float(rolled.randrange(-1000, 1000)) / 8
        ranks = [rolled.randrange(-50, 50), 2**62 + rolled.randrange(5), 2**53 + 1]
        rank = None if number % 19 == 0 else rolled.choice(ranks)
        context.insert(
            "Cafe" if number % 5 == 0 else "Place", label=f"p{number}", x=x, y=y, rank=rank,
            seen=START + timedelta(days=number), cost=Decimal(rolled.randrange(-3000, 3000)) / 100,
            open=number % 40 == 0, code=f"c{number}",
        )  # fmt: skip
    context.insert("Thing", label="no place")
    context.save()


def test_r_tree_serves_a_range_condition(tmp_path: Path) -> None:
    with Container(place_model(), tmp_path / "places.sqlite") as container:
        context = container.context()
        fill_places(context, 300)
        for format in (
            "x BETWEEN {-10, 10}", "x >= -10 AND x <= 10", "10 >= x AND -10 < x", "x > -10 AND x < 10 AND label != 'q'",
            "indexed:by:(x, 'byPlace') >= 90", "indexed:by:(x, 'byPlace') == 5", "rank BETWEEN {1, 4}",
            "x BETWEEN {-10, 10} AND y >= 5", "cost BETWEEN {-2, 2}", "indexed:by:(open, 'byOpen') == 1",
        ):  # fmt: skip
            plan = str(context.explain("Place", format))
            assert "VIRTUAL TABLE INDEX" in plan, (format, plan)
            assert "SEARCH t0 USING INTEGER PRIMARY KEY" in plan, (format, plan)
            assert "indexes: Z_RT_Place_by" in plan
        wide = ("x BETWEEN {-100, 100}", "x > -90 AND x < 90")  # of which a scan finds the rows more quickly
        unserved = ("x >= -10", "noindex:(x) BETWEEN {-10, 10}", "x BETWEEN {-10, 10} OR x > 50", "label == 'p1'")
        for format in wide + unserved:
            assert "VIRTUAL TABLE" not in str(context.explain("Place", format)), format


def test_r_tree_results_equal_evaluation_in_memory(tmp_path: Path) -> None:
    found = []
    for kind in ("SQLite", "InMemory"):
        with Container(place_model(), tmp_path / kind, type=kind) as container:
            context = container.context()
            fill_places(context, 300)
            rolled = random.Random(9)
            for moved in context.fetch("Place", "x > 50"):
                moved["x"] = -moved["x"]
            for gone in context.fetch("Place", "x < -90"):
                context.delete(gone)
            context.save()
            bounds = [*(each for each in HARD if each is not None), 100.0, -100.0, 2e300, -2e300, 4e38, 16777216.0]
            answers = []
            for _ in range(300):
                low, high = rolled.choice(bounds), rolled.choice(bounds)
                key = rolled.choice(["x", "y", "indexed:by:(x, 'byPlace')"])
                first, second = rolled.choice([(">=", "<="), (">", "<"), (">=", "<")])
                format = rolled.choice([f"{key} BETWEEN {{%f, %f}}", f"{key} {first} %f AND {key} {second} %f"])
                entity = rolled.choice(["Place", "Cafe", "Thing"]) if "indexed" not in key else "Place"
                answers.append(sorted(each["label"] for each in context.fetch(entity, format, low, high)))
            for low, high in ((2**62, 2**62 + 2), (2**53 + 1, 2**53 + 1), (-50, 2**62 + 1), (-10, 10)):
                found_places = context.fetch("Place", "rank BETWEEN {%d, %d}", low, high)
                answers.append(sorted(each["label"] for each in found_places))
            span = (START + timedelta(days=3), START + timedelta(days=9))
            answers.append(sorted(each["label"] for each in context.fetch("Place", "seen >= %@ AND seen < %@", *span)))
            answers.append([context.fetch_rows("Place", "x BETWEEN {-20, 20}", columns={"n": "count:(label)"})[0]["n"]])
            found.append(answers)
    assert found[0] == found[1]
    assert sum(bool(each) for each in found[0]) > 100


def test_indexed_by_needs_an_existing_index(tmp_path: Path) -> None:
    for kind in ("SQLite", "InMemory"):
        with Container(place_model(), tmp_path / kind, type=kind) as container:
            context = container.context()
            for format, reason in (
                ("indexed:by:(x, 'byPlaces') > 1", 'no index "byPlaces".*did you mean "byPlace"'),
                ("indexed:by:(label, 'byPlace') == 'a'", '"byPlace" of Place does not cover Thing.label'),
            ):
                with pytest.raises(PredicateError, match=reason) as caught:
                    context.fetch("Place", format)
                assert caught.value.entity == "Place"
                assert caught.value.key in ("x", "label")
            assert Predicate("indexed:by:(x, 'byPlace') > 1").format == 'indexed:by:(x, "byPlace") > 1'


@pytest.mark.parametrize(("key", "what"), [("label", "String"), ("key", "UUID")])
def test_r_tree_over_text_is_rejected(key: str, what: str) -> None:
    model = Model({"Place": {"x": "double", "label": "string", "key": "uuid"}})
    model["Place"].index("byLabel", "x", key, kind="rtree")
    with pytest.raises(ModelError, match=rf'"byLabel" of Place contains Place.{key} \({what}\)') as caught:
        model.freeze()
    assert (caught.value.entity, caught.value.key) == ("Place", key)


def test_store_without_its_r_tree_still_returns_results(tmp_path: Path) -> None:
    path = tmp_path / "places.sqlite"
    with Container(place_model(), path) as container:
        context = container.context()
        fill_places(context, 50)
        expected = sorted(each["label"] for each in context.fetch("Place", "x BETWEEN {-10, 10}"))
    connection = sqlite3.connect(path)
    connection.execute("DROP TRIGGER Z_RT_Place_byPlace_UPDATE")
    connection.commit()
    connection.close()
    with Container(place_model(), path, read_only=True) as container:
        context = container.context()
        assert sorted(each["label"] for each in context.fetch("Place", "x BETWEEN {-10, 10}")) == expected
        assert "VIRTUAL TABLE" not in str(context.explain("Place", "x BETWEEN {-10, 10}"))


def labels(context: Context, format: str, *arguments: Any, entity: str = "Place") -> list[str]:
    return sorted(each["label"] for each in context.fetch(entity, format, *arguments))


def is_served(context: Context, format: str, *arguments: Any, **options: Any) -> bool:
    return "VIRTUAL TABLE" in str(context.explain("Place", format, *arguments, **options))


def altered(path: Path, sql: str) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(sql)
    connection.close()


# A plain range leaves the work to what narrows more.


def test_equality_index_is_preferred_to_the_r_tree(tmp_path: Path) -> None:
    with Container(place_model(), tmp_path / "places.sqlite") as container:
        context = container.context()
        fill_places(context, 300)
        place = context.fetch("Place", "code == 'c100'")[0]
        place["owner"] = context.insert("Owner")
        context.save()
        assert is_served(context, "x BETWEEN {-10, 10} AND label == 'p1'")
        for format, argument in (
            ("code == %@ AND x BETWEEN {-100, 100}", "c100"),
            ("x BETWEEN {-10, 10} AND %@ == code", "c100"),
            ("code IN %@ AND x BETWEEN {-10, 10}", ["c100", "c101"]),
            ("SELF == %@ AND x BETWEEN {-10, 10}", place.id),
            ("SELF IN %@ AND x BETWEEN {-10, 10}", [place.id]),
            ("owner == %@ AND x BETWEEN {-10, 10}", place["owner"]),
        ):
            plan = str(context.explain("Place", format, argument))
            assert "VIRTUAL TABLE" not in plan, (format, plan)
            assert "SEARCH t0 USING" in plan, (format, plan)
            assert "Z_ENT=?" not in plan, (format, plan)
        assert is_served(context, "code == %@ AND indexed:by:(x, 'byPlace') BETWEEN {-10, 10}", "c100")
        assert is_served(context, "code == nil AND x BETWEEN {-10, 10}")


def test_r_tree_fetch_with_limit_reads_few_rows(tmp_path: Path) -> None:
    with Container(place_model(), tmp_path / "places.sqlite") as container:
        context = container.context()
        context.insert_many("Place", [{"label": f"p{number}", "x": float(number)} for number in range(2000)])
        context.save()
        assert is_served(context, "x BETWEEN {100, 200}")
        assert is_served(context, "x BETWEEN {100, 200}", sort="label", limit=1)
        assert is_served(context, "x BETWEEN {100, 150}", limit=1)
        assert not is_served(context, "x BETWEEN {100, 200}", limit=1)
        assert [each["label"] for each in context.fetch("Place", "x BETWEEN {100, 200}", limit=1)] == ["p100"]


def test_indexed_by_without_effect_is_logged(tmp_path: Path) -> None:
    with Container(place_model(), tmp_path / "places.sqlite") as container:
        context = container.context()
        fill_places(context, 50)
        with log.recorded(0) as lines:
            for format in (
                "indexed:by:(x, 'byPlace') > 1", "indexed:by:(x, 'byPlace') == 1 AND (label == 'a' OR rank == 1)",
                "1 >= indexed:by:(y, 'byPlace')", "indexed:by:(code, 'byCode') == 'c1' OR label == 'q'",
            ):  # fmt: skip
                context.fetch("Place", format)
        assert lines == []
        of_owner = "SUBQUERY(places, $p, indexed:by:($p.open, 'byOpen') == 1).@count > 0"
        for entity, format, shown in (
            ("Place", "indexed:by:(x, 'byPlace') > 1 OR label == 'secret'", 'indexed:by:(x, "byPlace")'),
            ("Place", "NOT indexed:by:(y, 'byPlace') > 1", 'indexed:by:(y, "byPlace")'),
            ("Place", "indexed:by:(rank, 'byRank') IN {1, 2}", 'indexed:by:(rank, "byRank")'),
            ("Place", "indexed:by:(cost, 'byCost') > x", 'indexed:by:(cost, "byCost")'),
            ("Owner", of_owner, 'indexed:by:(open, "byOpen")'),
            ("Place", "indexed:by:(next.x, 'byPlace') > 1", 'indexed:by:(next.x, "byPlace")'),
        ):
            with log.recorded(0) as lines:
                context.fetch(entity, format)
                context.fetch(entity, format)
            [line] = [line for line in lines if "has no effect" in line]
            assert shown in line
            assert "secret" not in line


# Trees that are not as they should be.


def test_remedy_for_a_lost_trigger_rebuilds_the_r_tree(tmp_path: Path) -> None:
    path = tmp_path / "places.sqlite"
    with Container(place_model(), path) as container:
        fill_places(container.context(), 60)
    altered(
        path, "DROP TRIGGER Z_RT_Place_byPlace_UPDATE; UPDATE ZTHING SET ZX = 500 + Z_PK WHERE ZLABEL IN ('p30', 'p31')"
    )
    # As `corestone check` prints it.
    kinds = {problem.message.partition(". Correct the schema with: ")[2] for problem in check(path)} - {""}
    [remedy] = kinds
    altered(path, remedy)
    assert check(path) == []
    with Container(place_model(), path) as container:
        context = container.context()
        assert is_served(context, "x BETWEEN {500, 600}")
        assert labels(context, "x BETWEEN {500, 600}") == ["p30", "p31"]


def test_check_reports_values_outside_their_r_tree_bounds(tmp_path: Path) -> None:
    path = tmp_path / "places.sqlite"
    with Container(place_model(), path) as container:
        context = container.context()
        fill_places(context, 60)
        uris = {label: str(context.fetch("Place", "label == %@", label)[0].id.uri) for label in ("p30", "p31", "p9")}
    assert check(path) == []
    connection = sqlite3.connect(path)
    [trigger] = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'Z_RT_Place_byPlace_UPDATE'").fetchone()
    connection.close()
    altered(
        path, "DROP TRIGGER Z_RT_Place_byPlace_UPDATE; UPDATE ZTHING SET ZX = 500 WHERE ZLABEL = 'p30'; "
        f"UPDATE ZTHING SET ZX = NULL WHERE ZLABEL = 'p31'; UPDATE ZTHING SET ZX = 1e300 WHERE ZLABEL = 'p9'; {trigger}"
    )  # fmt: skip
    problems = check(path)
    assert sorted(problem.object_uri or "" for problem in problems) == sorted(uris.values())
    assert all("outside its bounds in the R-tree index Z_RT_Place_byPlace" in problem.message for problem in problems)
    altered(path, problems[0].message.partition("Rebuild the index with: ")[2])
    assert check(path) == []


@pytest.mark.parametrize(
    "damage",
    ["DELETE FROM Z_RT_Place_byPlace_node", "DELETE FROM Z_RT_Place_byPlace_node WHERE nodeno > 1",
     "DELETE FROM Z_RT_Place_byPlace_node WHERE nodeno = (SELECT max(nodeno) FROM Z_RT_Place_byPlace_node)",
     "DELETE FROM Z_RT_Place_byPlace_node WHERE nodeno = 2",
     "DROP TRIGGER Z_RT_Place_byPlace_INSERT; DROP TRIGGER Z_RT_Place_byPlace_UPDATE; DROP TRIGGER "
     "Z_RT_Place_byPlace_DELETE; DROP TABLE Z_RT_Place_byPlace"],
)  # fmt: skip
@pytest.mark.parametrize("read_only", [False, True])
def test_damaged_r_tree_does_not_prevent_a_fetch(tmp_path: Path, damage: str, read_only: bool) -> None:
    path = tmp_path / "places.sqlite"
    ranges = [(low, low + 9) for low in range(-100, 100, 10)] + [(-100, 100)]
    with Container(place_model(), path) as container:
        context = container.context()
        fill_places(context, 300)
        expected = [labels(context, "x BETWEEN {%d, %d}", *each) for each in ranges]
    altered(path, damage)
    with Container(place_model(), path, read_only=read_only) as container:
        context = container.context()
        assert [labels(context, "x BETWEEN {%d, %d}", *each) for each in ranges] == expected
        found = [context.fetch_rows("Place", "x BETWEEN {%d, %d}", *each, columns=["label"]) for each in ranges]
        assert [len(each) for each in found] == [len(each) for each in expected]


FOREIGN = """<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
    <entity name="Place" syncable="YES">
        <attribute name="label" optional="YES" attributeType="String"/>
        <attribute name="key" optional="YES" attributeType="UUID" usesScalarValueType="NO"/>
        <attribute name="x" optional="YES" attributeType="Double" usesScalarValueType="YES"/>
        <fetchIndex name="byLabel"><fetchIndexElement property="x" type="RTree" order="ascending"/>
            <fetchIndexElement property="label" type="RTree" order="ascending"/></fetchIndex>
        <fetchIndex name="byKey"><fetchIndexElement property="key" type="RTree" order="ascending"/></fetchIndex>
    </entity>
</model>
"""


def test_unsupported_r_tree_index_of_a_model_file_is_ignored(tmp_path: Path) -> None:
    model = Model.load(FOREIGN.encode())
    findings = [finding for finding in model.lint() if finding.rule == "unserved-rtree"]
    assert [(finding.entity, finding.key) for finding in findings] == [("Place", "label"), ("Place", "key")]
    path = tmp_path / "places.sqlite"
    with Container(model, path) as container:
        context = container.context()
        for number in range(100):
            context.insert("Place", label=f"p{number}", x=float(number))
        context.save()
    for given in (Model.load(FOREIGN.encode()), None):
        with Container(given, path) if given is not None else open_container(path) as container:
            context = container.context()
            assert labels(context, "x BETWEEN {10, 11}") == ["p10", "p11"]
            assert labels(context, "indexed:by:(label, 'byLabel') == 'p3'") == ["p3"]
            assert not is_served(context, "indexed:by:(label, 'byLabel') BETWEEN {'p3', 'p4'}")
    assert check(path) == []


# The tree follows every change of rows.


def test_batch_requests_use_the_r_tree(tmp_path: Path) -> None:
    found = []
    for kind in ("SQLite", "InMemory"):
        with Container(place_model(), tmp_path / kind, type=kind) as container:
            context = container.context()
            fill_places(context, 300)
            context.execute(BatchUpdateRequest("Place", {"x": 70.5}, "x BETWEEN {10, 12}"))
            context.execute(BatchUpdateRequest("Cafe", {"x": 71.5}, "indexed:by:(x, 'byPlace') BETWEEN {-60, -30}"))
            context.execute(BatchDeleteRequest(FetchRequest("Place", "x BETWEEN {30, 40}")))
            ranges = ("{70, 72}", "{10, 12}", "{-60, -30}", "{25, 45}")
            found.append([labels(context, f"x BETWEEN {each}") for each in ranges])
            found[-1].append(labels(context, "cost BETWEEN {%@, %@}", Decimal("-1.01"), Decimal("1.01")))
            found[-1].append(labels(context, "cost BETWEEN {-5, 5}", entity="Cafe"))
    assert found[0] == found[1]
    assert all(found[0][place] for place in (0, 3, 4, 5))


def test_r_tree_fetch_includes_unsaved_and_remote_changes(tmp_path: Path) -> None:
    path = tmp_path / "places.sqlite"
    with Container(place_model(), path) as container, Container(place_model(), path) as other:
        context, second = container.context(), other.context()
        fill_places(context, 300)
        inside = labels(context, "x BETWEEN {20, 25}")
        assert inside
        moved, gone = context.fetch("Place", "x BETWEEN {50, 60}")[0], context.fetch("Place", "x BETWEEN {20, 25}")[0]
        moved["x"] = 22.0
        context.delete(gone)
        context.insert("Cafe", label="new", x=23.0)
        expected = sorted({*inside, moved["label"], "new"} - {gone["label"]})
        assert labels(context, "x BETWEEN {20, 25}") == expected
        assert labels(second, "x BETWEEN {20, 25}") == inside
        context.save()
        assert labels(second, "x BETWEEN {20, 25}") == expected
        assert is_served(second, "x BETWEEN {20, 25}")
        second.fetch("Place", "label == 'new'")[0]["x"] = 99.0
        second.save()
        assert labels(container.context(), "x BETWEEN {20, 25}") == sorted({*expected} - {"new"})
    assert check(path) == []
