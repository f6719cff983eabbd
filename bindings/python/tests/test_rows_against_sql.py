"""Fetches of dictionaries give what hand-written SQL gives on the same store, and what an evaluation in memory gives.

The stores are the example's: packages that depend on each other, made up, and those of this machine. The SQL is made
here, beside each request and without a look at the library's; Python's sqlite3 runs it. CORESTONE_SEED chooses another
sequence, CORESTONE_ROWS how many requests there are.
"""

from __future__ import annotations

import math
import os
import random
import sqlite3
import statistics
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, NamedTuple, Optional

import pytest

from corestone import Container, Context, CorestoneError, Model, ObjectID

REFERENCE = datetime(2001, 1, 1, tzinfo=timezone.utc)
MODEL = Path(__file__).resolve().parents[3] / "examples" / "packages" / "Packages.xcdatamodeld"


class Field(NamedTuple):
    """A path or an expression, and the same in SQL; kind is int, bool, real, text, date or object."""

    path: str
    sql: str
    kind: str


def dependency(result: str) -> str:
    """Over the packages on which one depends; `pairs` finds the names of the join table."""
    return f"(SELECT {result} FROM @PAIRS@ j JOIN ZPACKAGE d ON d.Z_PK = j.@MEMBER@ WHERE j.@OWNER@ = p.Z_PK)"


PATHS = [
    Field("name", "p.ZNAME", "text"),
    Field("architecture", "p.ZARCHITECTURE", "text"),
    Field("essential", "p.ZESSENTIAL", "bool"),
    Field("homepage", "p.ZHOMEPAGE", "text"),
    Field("importedAt", "p.ZIMPORTEDAT", "date"),
    Field("installedSize", "p.ZINSTALLEDSIZE", "int"),
    Field("summary", "p.ZSUMMARY", "text"),
    Field("version", "p.ZVERSION", "text"),
    Field("section.name", "s.ZNAME", "text"),
    Field("maintainer.name", "m.ZNAME", "text"),
    Field("maintainer.email", "m.ZEMAIL", "text"),
    Field("section", "p.ZSECTION", "object"),
    Field("maintainer", "p.ZMAINTAINER", "object"),
]
COMPUTED = [
    Field("installedSize * 2", "p.ZINSTALLEDSIZE * 2", "int"),
    Field("installedSize / 1000", "p.ZINSTALLEDSIZE / 1000", "int"),
    Field("installedSize / 7.0", "p.ZINSTALLEDSIZE / 7.0", "real"),
    Field("installedSize + 1 - essential", "p.ZINSTALLEDSIZE + 1 - p.ZESSENTIAL", "int"),
    Field("modulus:by:(installedSize, 10)", "p.ZINSTALLEDSIZE % 10", "int"),
    Field("TERNARY(essential == YES, installedSize, 0)", "iif(p.ZESSENTIAL, p.ZINSTALLEDSIZE, 0)", "int"),
    Field("length(name)", "length(p.ZNAME)", "int"),
    Field("name.length * 2", "length(p.ZNAME) * 2", "int"),
    Field("uppercase(name)", "upper(p.ZNAME)", "text"),
    Field("dependencies.@count", dependency("COUNT(*)"), "int"),
    Field("dependencies.@sum.installedSize", dependency("COALESCE(SUM(d.ZINSTALLEDSIZE), 0)"), "int"),
    Field("dependencies.@max.installedSize", dependency("MAX(d.ZINSTALLEDSIZE)"), "int"),
    Field("dependencies.@min.name", dependency("MIN(d.ZNAME)"), "text"),
    Field("dependencies.@avg.installedSize", dependency("COALESCE(AVG(d.ZINSTALLEDSIZE), 0.0)"), "real"),
    Field("importedAt.timeIntervalSinceReferenceDate", "p.ZIMPORTEDAT", "real"),
    Field(
        "section.packages.@count",
        "iif(p.ZSECTION IS NULL, NULL, (SELECT COUNT(*) FROM ZPACKAGE o WHERE o.ZSECTION = p.ZSECTION))",
        "int",
    ),
    Field(
        "SUBQUERY(dependencies, $d, $d.installedSize > 500).@count",
        dependency("COALESCE(SUM(d.ZINSTALLEDSIZE > 500), 0)"),
        "int",
    ),
]
CONDITIONS = [
    ("installedSize > {0}", "p.ZINSTALLEDSIZE > {0}"),
    ("installedSize BETWEEN {{10, {0}}}", "p.ZINSTALLEDSIZE BETWEEN 10 AND {0}"),
    ("section.name == 'libs'", "s.ZNAME = 'libs'"),
    ("NOT (section.name == 'libs')", "s.ZNAME IS NOT 'libs'"),
    ("section.name IN {{'admin', 'utils', 'python'}}", "s.ZNAME IN ('admin', 'utils', 'python')"),
    ("summary == nil OR homepage == nil", "(p.ZSUMMARY IS NULL OR p.ZHOMEPAGE IS NULL)"),
    ("name BEGINSWITH 'lib'", "substr(p.ZNAME, 1, 3) = 'lib'"),
    ("name LIKE '*-dev'", "p.ZNAME GLOB '*-dev'"),
    ("essential == YES", "p.ZESSENTIAL = 1"),
    ("essential == NO AND maintainer != nil", "p.ZESSENTIAL = 0 AND p.ZMAINTAINER IS NOT NULL"),
    ("dependencies.@count > 2", dependency("COUNT(*)") + " > 2"),
    ("ANY dependencies.installedSize > {0}", dependency("MAX(d.ZINSTALLEDSIZE)") + " > {0}"),
    ("length(name) * 2 > 16", "length(p.ZNAME) * 2 > 16"),
    ("maintainer.name > 'M'", "m.ZNAME > 'M'"),
    ("installedSize > 1000000000", "p.ZINSTALLEDSIZE > 1000000000"),
]
SOURCE = (
    " FROM ZPACKAGE p LEFT JOIN ZSECTION s ON s.Z_PK = p.ZSECTION LEFT JOIN ZMAINTAINER m ON m.Z_PK = p.ZMAINTAINER"
)


class Asked(NamedTuple):
    """A request for fetch_rows, the SQL that gives the same, and how to read its columns."""

    request: dict[str, Any]
    sql: str
    kinds: list[str]
    is_ordered: bool


class Generator:
    """Requests and their SQL, both from one sequence of random numbers."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)

    def chance(self, percent: int) -> bool:
        return self.dice.randrange(100) < percent

    def condition(self) -> tuple[Optional[str], str]:
        if self.chance(45):
            return None, ""
        size = self.dice.choice([50, 200, 1000, 5000])
        parts = [self.dice.choice(CONDITIONS) for _ in range(self.dice.randint(1, 2))]
        word = self.dice.choice([" AND ", " OR "])
        return (
            word.join(f"({text})".format(size) for text, _ in parts),
            " WHERE " + word.join(f"({sql})".format(size) for _, sql in parts),
        )

    def window(self, is_ordered: bool) -> tuple[dict[str, int], str]:
        if not is_ordered or self.chance(60):
            return {}, ""
        limit, offset = self.dice.randint(1, 12), self.dice.choice([0, 0, 1, 5])
        return {"limit": limit, "offset": offset}, f" LIMIT {limit} OFFSET {offset}"

    def direction(self) -> tuple[str, str]:
        return self.dice.choice([("", ""), ("-", " DESC")])

    def make(self) -> Asked:
        return self.groups() if self.chance(60) else self.rows()

    # Rows

    def rows(self) -> Asked:
        predicate, where = self.condition()
        fields = self.dice.sample(PATHS, self.dice.randint(1, 3)) + self.dice.sample(COMPUTED, self.dice.randint(0, 2))
        named = [(f"c{place}" if field in COMPUTED else field.path, field) for place, field in enumerate(fields)]
        columns = [name if name == field.path else {name: field.path} for name, field in named]
        sort, terms = [], []
        for field in self.dice.sample([field for field in PATHS if field.kind != "object"], self.dice.randint(0, 2)):
            minus, descending = self.direction()
            sort.append(minus + field.path)
            terms.append(field.sql + descending)
        window, cut = self.window(bool(sort))
        distinct = self.chance(25)
        selected = ", ".join(f"{field.sql} AS c{place}" for place, field in enumerate(fields))
        order = f"ORDER BY {', '.join([*terms, 'p.Z_PK'])}"
        if distinct:
            names = ", ".join(f"c{place}" for place in range(len(fields)))
            sql = (
                f"WITH r AS (SELECT {selected}, row_number() OVER ({order}) AS place{SOURCE}{where}) "
                f"SELECT {names} FROM r GROUP BY {names} ORDER BY MIN(place){cut}"
            )
        else:
            sql = f"SELECT {selected}{SOURCE}{where} {order}{cut}"
        request = {"predicate": predicate, "columns": columns, "sort": sort, "distinct": distinct, **window}
        return Asked(request, sql, [field.kind for field in fields], bool(sort))

    # Groups

    def statistic(self) -> Field:
        numbers = [field for field in PATHS + COMPUTED if field.kind in ("int", "real")]
        function = self.dice.choice(["sum", "sum", "average", "min", "max", "count", "self", "median", "stddev"])
        if function == "self":
            return Field("count:(self)", "COUNT(*)", "int")
        if function in ("min", "max", "count") and self.chance(50):
            numbers = [field for field in PATHS if field.kind != "object" and field.kind != "bool"]
        if function == "stddev":
            # Of times that are nearly the same, rounding is all that there is.
            numbers = [field for field in numbers if field.kind == "int"]
        field = self.dice.choice(numbers)
        path, argument = f"{function}:({field.path})", field.sql
        if function == "sum":
            # Without values the integer 0, whatever they would be.
            return Field(path, f"COALESCE(SUM({argument}), 0)", "number" if field.kind == "real" else "int")
        if function in ("average", "median", "stddev"):
            word = {"average": "AVG", "median": "median", "stddev": "pstdev"}[function]
            return Field(path, f"{word}({argument})", "real")
        return Field(path, f"{function.upper()}({argument})", "int" if function == "count" else field.kind)

    def groups(self) -> Asked:
        predicate, where = self.condition()
        keys = self.dice.sample(PATHS, self.dice.choice([0, 1, 1, 1, 2]))
        computed = [field for field in COMPUTED if field.kind != "real"]
        named = [(field.path, field) for field in keys]
        if self.chance(30):
            named.append(("k", self.dice.choice(computed)))
        found = [(f"s{place}", self.statistic()) for place in range(self.dice.randint(1, 3))]
        shown = [pair for pair in named if pair[0] == "k" or self.chance(85)] + found
        self.dice.shuffle(shown)
        columns = [name if name == field.path else {name: field.path} for name, field in shown]
        group = f" GROUP BY {', '.join(field.sql for _, field in named)}" if named else ""
        having, condition = self.having(found) if named else (None, "")
        sort, terms = [], []
        # Deviations that are equal but for rounding would come in either order.
        sortable = [
            (name, field)
            for name, field in named + found
            if field.kind != "object" and not field.sql.startswith("pstdev")
        ]
        for name, field in self.dice.sample(sortable, min(len(sortable), self.dice.randint(0, 2))):
            minus, descending = self.direction()
            sort.append(minus + name)
            terms.append(field.sql + descending)
        terms += [field.sql for _, field in named]
        window, cut = self.window(bool(named))
        selected = ", ".join(field.sql for _, field in shown)
        order = f" ORDER BY {', '.join(terms)}" if named else ""
        request = {
            "predicate": predicate, "columns": columns, "group_by": [name for name, _ in named], "having": having,
            "sort": sort, **window,
        }  # fmt: skip
        sql = f"SELECT {selected}{SOURCE}{where}{group}{condition}{order}{cut}"
        return Asked(request, sql, [field.kind for _, field in shown], True)

    def having(self, found: list[tuple[str, Field]]) -> tuple[Optional[str], str]:
        if self.chance(55):
            return None, ""
        name, field = self.dice.choice(found)
        choices = [
            ("count:(self) > 2", "COUNT(*) > 2"),
            ("max:(installedSize) > 1000", "MAX(p.ZINSTALLEDSIZE) > 1000"),
            ("sum:(installedSize) < 5000 OR min:(name) > 'm'", "(SUM(p.ZINSTALLEDSIZE) < 5000 OR MIN(p.ZNAME) > 'm')"),
            (f"{name} != nil", f"({field.sql}) IS NOT NULL"),
        ]
        text, sql = self.dice.choice(choices)
        return text, f" HAVING {sql}"


# The store


class Median:
    def __init__(self) -> None:
        self.values: list[float] = []

    def step(self, value: Optional[float]) -> None:
        if value is not None:
            self.values.append(float(value))

    def finalize(self) -> Optional[float]:
        return self.compute(self.values) if self.values else None

    def compute(self, values: list[float]) -> float:
        return statistics.median(values)


class Deviation(Median):
    def compute(self, values: list[float]) -> float:
        return statistics.pstdev(values)


def fill(context: Context) -> None:
    """Packages as a Debian system has them: names, sizes and sections of many kinds, some of it missing."""
    dice = random.Random(8)
    sections = [
        context.insert("Section", name=name) for name in ("libs", "admin", "utils", "python", "doc", "libdevel")
    ]
    people = [
        context.insert("Maintainer", name=f"{name} Team") for name in ("Ada", "Debian Python", "GNOME", "Zoë", "ann")
    ]
    for person in people[::2]:
        person.email = f"{person.name.split()[0].lower()}@example.org"
    packages = []
    for number in range(400):
        version = f"{dice.randint(0, 3)}.{number % 7}"
        stem = dice.choice(["lib", "python3-", "apt-", "gtk", "x"]) + dice.choice(["ssl", "core", "z", "doc", "parse"])
        package = context.insert(
            "Package", name=f"{stem}{number}{dice.choice(['', '', '-dev', '-doc'])}", version=version,
            architecture=dice.choice(["amd64", "all"]), essential=dice.random() < 0.1,
            installedSize=dice.choice([0, 12, 12, 80, 512, 512, 1024, dice.randint(0, 90_000)]),
            importedAt=REFERENCE + timedelta(days=dice.randint(0, 40), seconds=0.5 * dice.randint(0, 3)),
        )  # fmt: skip
        if dice.random() < 0.9:
            package.section = dice.choice(sections)
        if dice.random() < 0.85:
            package.maintainer = dice.choice(people)
        if dice.random() < 0.7:
            package.summary = dice.choice(["A library", "a tool", "Tools for émigrés", "Documentation", ""])
        if dice.random() < 0.5:
            package.homepage = f"https://example.org/{number % 9}"
        packages.append(package)
    for package in packages:
        package.dependencies = dice.sample(packages, dice.choice([0, 0, 1, 2, 3, 7]))
    context.save()


STATUS = Path("/var/lib/dpkg/status")


@pytest.fixture(scope="module", params=["made up", "this machine's"])
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Context, sqlite3.Connection]]:
    path = tmp_path_factory.mktemp("packages") / "packages.sqlite"
    is_real = request.param != "made up"
    if is_real:
        if not os.access(STATUS, os.R_OK):
            pytest.skip(f"there is no {STATUS}, the package database of a Debian system")
        subprocess.run([sys.executable, MODEL.with_name("importer.py"), path, STATUS], check=True, capture_output=True)
    with Container(Model.load(MODEL), path) as container:
        if not is_real:
            fill(container.context())
        plain = sqlite3.connect(path)
        plain.create_aggregate("median", 1, Median)  # type: ignore[arg-type]
        plain.create_aggregate("pstdev", 1, Deviation)  # type: ignore[arg-type]
        yield container.context(), plain
        plain.close()


def pairs(plain: sqlite3.Connection) -> dict[str, str]:
    """The join table: Z_1DEPENDENCIES with Z_1DEPENDENTS, the owner of dependencies, and the member."""
    [table] = [
        name
        for (name,) in plain.execute(
            "SELECT name FROM sqlite_master WHERE name LIKE 'Z\\__DEPEND%' ESCAPE '\\' AND type = 'table'"
        )
    ]
    columns = [row[1] for row in plain.execute(f"PRAGMA table_info({table})")]
    member = next(name for name in columns if "DEPENDENCIES" in name)
    owner = next(name for name in columns if "DEPENDENTS" in name)
    return {"@PAIRS@": table, "@MEMBER@": member, "@OWNER@": owner}


TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,), "bool": (bool,), "real": (float,), "number": (int, float), "text": (str,), "date": (datetime,),
    "object": (ObjectID,),
}  # fmt: skip


def compared(value: Any, kind: str) -> Any:
    """A value of the library as SQL has it, of the type that it should have."""
    if value is None:
        return None
    assert isinstance(value, TYPES[kind]), (value, kind)
    assert kind not in ("int", "number") or not isinstance(value, bool)
    if isinstance(value, datetime):
        return (value - REFERENCE).total_seconds()
    if isinstance(value, ObjectID):
        return int(value.uri.rpartition("/p")[2])
    return value


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float) or isinstance(b, float):
        return a is not None and b is not None and math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    return bool(a == b)


def agree(one: list[tuple[Any, ...]], other: list[tuple[Any, ...]], is_ordered: bool) -> bool:
    if not is_ordered:
        one, other = sorted(one, key=repr), sorted(other, key=repr)
    if len(one) != len(other):
        return False
    place = 0
    while place < len(one):
        if not equal(one[place], other[place]):
            # Neighbours whose averages differ in their last bits only may be in either order.
            pair, exchanged = one[place : place + 2], other[place : place + 2][::-1]
            if len(pair) < 2 or not all(map(equal, pair, exchanged)) or not nearly_tied(*pair):
                return False
            place += 1
        place += 1
    return True


def equal(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return len(one) == len(other) and all(same(x, y) for x, y in zip(one, other))


def nearly_tied(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    reals = [(x, y) for x, y in zip(one, other) if isinstance(x, float) and isinstance(y, float)]
    return any(math.isclose(x, y, rel_tol=1e-12) for x, y in reals)


def test_rows_equal_hand_written_sql_and_evaluation_in_memory(store: tuple[Context, sqlite3.Connection]) -> None:
    context, plain = store
    seed = int(os.environ.get("CORESTONE_SEED", "20261122"))
    count = int(os.environ.get("CORESTONE_ROWS", "1000")) // 2
    print(f"seed {seed}, {count} requests")
    names = pairs(plain)
    generator = Generator(seed)
    by_store = with_rows = 0
    for number in range(count):
        asked = generator.make()
        sql = asked.sql
        for word, name in names.items():
            sql = sql.replace(word, name)
        told = f"seed {seed} number {number}: {asked.request}\n{sql}"
        expected = [tuple(row) for row in plain.execute(sql)]
        request = dict(asked.request)
        predicate = request.pop("predicate")
        for in_memory in (False, True):
            try:
                found = context.fetch_rows("Package", predicate, in_memory=in_memory, **request)
                rows = [tuple(compared(value, kind) for value, kind in zip(row.values(), asked.kinds)) for row in found]
            except (CorestoneError, AssertionError) as error:
                raise AssertionError(f"{error}\n{told}\nin memory: {in_memory}") from error
            assert agree(rows, expected, asked.is_ordered), (
                f"{told}\nin memory: {in_memory}\ngave {rows[:20]}\nSQL    {expected[:20]}"
            )
        with_rows += bool(expected)
        if number % 10 == 0:
            explained = {key: request[key] for key in ("columns", "group_by", "having") if key in request}
            by_store += (
                not context.explain("Package", predicate, **explained)
                .shares[0]
                .sql.startswith("SELECT t0.Z_PK, t0.Z_OPT")
            )
    print(f"{count} requests agree three ways, {with_rows} found rows; {by_store} of {(count + 9) // 10} were SQL")
    assert with_rows * 10 > count * 8
    assert by_store * 10 >= (count + 9) // 10 * 10
