"""Predicates written in Python, on classes of objects and by key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corestone import (
    Container,
    Context,
    InvalidArgumentError,
    ManagedObject,
    Model,
    Predicate,
    SortDescriptor,
    UnsupportedError,
    key,
)


def names(found: Any) -> list[str]:
    return sorted(each.name for each in found)


class Worker(ManagedObject, entity="Employee"):
    __slots__ = ()


@pytest.mark.parametrize(
    ("predicate", "format_"),
    [
        (key("age") > 40, "age > 40"),
        (key("age") <= 40.5, "age <= 40.5"),
        (key("department.name") == "R&D", 'department.name == "R&D"'),
        (key("department").name != "R&D", 'department.name != "R&D"'),
        (key("name").in_(["Ada", "Bob"]), 'name IN {"Ada", "Bob"}'),
        (key("age").between(1, 2), "age BETWEEN {1, 2}"),
        (key("age").between(key("low"), 2), "age BETWEEN {low, 2}"),
        (key("name").contains("d", case_insensitive=True), 'name CONTAINS[c] "d"'),
        (
            key("name").begins_with("A", case_insensitive=True, diacritic_insensitive=True),
            'name BEGINSWITH[cd] "A"',
        ),
        (key("name").ends_with("a", diacritic_insensitive=True), 'name ENDSWITH[d] "a"'),
        (key("name").like("A*"), 'name LIKE "A*"'),
        (key("name").matches("A.*"), 'name MATCHES "A.*"'),
        (key("name").equals("ada", case_insensitive=True), 'name ==[c] "ada"'),
        (key("name").is_null(), "name == nil"),
        (key("name").is_not_null(), "name != nil"),
        (key("salary") * 12 + key("bonus") > 1000, "(salary * 12) + bonus > 1000"),
        (1 - key("a") == 2 / key("b"), "1 - a == 2 / b"),
        (-key("a") < abs(key("b")), "-a < abs:(b)"),
        (key("a") ** 2 % 3 == 1, "modulus:by:(a ** 2, 3) == 1"),
        (key("name").lower() == key("name").upper(), "lowercase:(name) == uppercase:(name)"),
        (key("name").length() > 3, "length:(name) > 3"),
        (key("projects").count() > 2, "projects.@count > 2"),
        (key("projects").sum("budget") > 2, "projects.@sum.budget > 2"),
        (key("projects").avg(key("budget")) > 2, "projects.@avg.budget > 2"),
        (key("numbers").max() == key("numbers").min(), "numbers.@max.#self == numbers.@min.#self"),
        (key("projects").any(key("budget") > 1e6), "ANY projects.budget > 1000000"),
        (key("projects").none(key("budget") > 1e6), "NOT ANY projects.budget > 1000000"),
        (key("projects").any(key("budget") != 1), "SUBQUERY(projects, $each, $each.budget != 1).@count > 0"),
        (key("projects").any(key("budget") == None), "SUBQUERY(projects, $each, $each.budget == nil).@count > 0"),  # noqa: E711
        (key("projects").all(key("budget") > 1), "SUBQUERY(projects, $each, NOT $each.budget > 1).@count == 0"),
        (
            key("a").any(key("b").any((key("c") == 1) | (key("d") == 2)) & (key("e") == 3)),
            "SUBQUERY(a, $each1, SUBQUERY($each1.b, $each, $each.c == 1 OR $each.d == 2).@count > 0 AND $each1.e == 3)"
            ".@count > 0",
        ),
        (key("x")["count"] == 1, "x.count == 1"),
        (key("a").any(Predicate("b[FIRST] == c")), "SUBQUERY(a, $each, ($each.b)[FIRST] == $each.c).@count > 0"),
        ((key("a") == 1) & ~(key("b") == 2) | (key("c") == 3), "(a == 1 AND (NOT b == 2)) OR c == 3"),
        ((key("a") == 1) & (key("b") == 2) & (key("c") == 3), "a == 1 AND b == 2 AND c == 3"),
        ((key("a") == 1) & (Predicate("b == 2 AND c == 3")), "a == 1 AND (b == 2 AND c == 3)"),
    ],
)
def test_query_has_the_expected_format(predicate: Predicate, format_: str) -> None:
    assert predicate.format == format_
    assert Predicate(format_) == predicate


def test_object_classes_build_predicates(staff: Context) -> None:
    employee: Any = staff.model["Employee"].object_class
    project: Any = staff.model["Project"].object_class
    assert names(staff.fetch(employee, employee.age > 40)) == ["Boris", "Dmitri", "Grace"]
    both = (employee.department.name == "Sales") & employee.projects.any(project.title == "Beacon")
    assert both.format == 'department.name == "Sales" AND ANY projects.title == "Beacon"'
    assert names(staff.fetch(employee, both)) == ["Chloé", "Dmitri"]
    assert names(staff.fetch(employee, employee.projects.count() == 0)) == names(
        staff.fetch("Employee", "projects.@count == 0")
    )
    assert names(staff.fetch(employee, employee.department == None)) == ["Elena"]  # noqa: E711
    sales = staff.first("Department", "name == 'Sales'")
    assert names(staff.fetch(employee, employee.department == sales)) == ["Chloé", "Dmitri"]
    oldest = staff.fetch(employee, sort=[employee.age.desc(), employee.name.asc()])
    assert [each.age for each in oldest] == sorted((each.age for each in oldest), reverse=True)
    assert employee.name.asc("localizedStandardCompare:") == SortDescriptor(
        "name", selector="localizedStandardCompare:"
    )
    everyone = list(oldest)
    assert (employee.age > 40).filter(everyone) == [each for each in everyone if each.age > 40]


def test_query_attributes_do_not_change_objects(staff: Context) -> None:
    """On an object a property is a value, and introspection of its class is unchanged."""
    ada = staff.first("Employee", "name == 'Ada'")
    assert ada.name == "Ada"
    ada.age = 37
    assert ada.age == 37
    employee: Any = type(ada)
    assert isinstance(vars(employee).get("name") or employee.__mro__, (property, tuple))
    assert employee.id is ManagedObject.id
    assert not hasattr(employee, "nmae")
    assert not hasattr(ManagedObject, "name")


def test_bound_classes_build_predicates(model: Model, path: Path) -> None:
    cls: Any = Worker
    assert (cls.whatever > 1).format == "whatever > 1"  # not bound: the keys cannot be checked
    model.bind(Worker)
    with Container(model, path, unsaved="discard") as container:
        context = container.context()
        context.insert(Worker, name="Ada", age=36, department=context.insert("Department", name="R&D"))
        assert names(context.fetch(Worker, (cls.age > 30) & (cls.department.name == "R&D"))) == ["Ada"]
        with pytest.raises(AttributeError, match='does not have a property "nmae"; did you mean "name"'):
            _ = cls.nmae
        with pytest.raises(AttributeError, match='Department does not have a property "nam"'):
            _ = cls.department.nam


def test_misuse_of_queries_is_reported() -> None:
    with pytest.raises(TypeError, match=r"Write \(a\) & \(b\), \(a\) \| \(b\)"):
        _ = key("a") == 1 and key("b") == 2
    with pytest.raises(TypeError, match='split "1 < key < 3"'):
        _ = 1 < key("a") < 3
    with pytest.raises(TypeError):
        _ = 3 in key("a")  # type: ignore[operator]
    with pytest.raises(TypeError):
        list(key("a"))  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="unhashable"):
        hash(key("a"))
    with pytest.raises(InvalidArgumentError, match="write a format string with a SUBQUERY"):
        key("list").any(Predicate("a == ($x := 1)") & Predicate("b == 1"))


def test_long_chain_of_conditions_is_evaluated() -> None:
    whole = key("a") == 0
    for number in range(1, 1000):
        whole |= key("a") == number
    assert whole.evaluate({"a": 999})
    assert len(whole.parts) == 1000


def test_queries_filter_plain_values() -> None:
    people = [{"name": "Ada", "tags": ["x", "y"]}, {"name": "Bob", "tags": []}]
    assert key("tags").contains("x").filter(people) == people[:1]
    assert (key("tags").count() == 0).filter(people) == people[1:]
    assert key("name").desc().sorted(people) == people[::-1]


OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({}, ""),
    ({"case_insensitive": True}, "[c]"),
    ({"diacritic_insensitive": True}, "[d]"),
    ({"case_insensitive": True, "diacritic_insensitive": True}, "[cd]"),
    ({"case_insensitive": False, "diacritic_insensitive": False}, ""),
]


@pytest.mark.parametrize(("options", "brackets"), OPTIONS)
def test_text_comparisons_accept_options(options: dict[str, Any], brackets: str) -> None:
    name = key("name")
    for predicate, word in (
        (name.equals("é", **options), "=="), (name.contains("é", **options), "CONTAINS"),
        (name.begins_with("é", **options), "BEGINSWITH"), (name.ends_with("é", **options), "ENDSWITH"),
        (name.like("é", **options), "LIKE"), (name.matches("é", **options), "MATCHES"),
    ):  # fmt: skip
        assert predicate.format == f'name {word}{brackets} "é"'
        assert predicate.evaluate({"name": "é"})
        assert predicate.evaluate({"name": "É"}) == ("c" in brackets)
        assert predicate.evaluate({"name": "e"}) == ("d" in brackets)
        assert predicate.evaluate({"name": "E"}) == (brackets == "[cd]")


def test_comparison_operators_accept_either_side() -> None:
    n = key("n")
    for predicate, format_, holds in (
        (n == 5, "n == 5", [5]),
        (n != 5, "n != 5", [4, 6]),
        (n < 5, "n < 5", [4]),
        (n <= 5, "n <= 5", [4, 5]),
        (n > 5, "n > 5", [6]),
        (n >= 5, "n >= 5", [5, 6]),
        (5 < n, "n > 5", [6]),  # noqa: SIM300
        (5 >= n, "n <= 5", [4, 5]),  # noqa: SIM300
        (n.between(4, 5), "n BETWEEN {4, 5}", [4, 5]),
        (n.in_([4, 6]), "n IN {4, 6}", [4, 6]),
        (n.in_(range(5)), "n IN {0, 1, 2, 3, 4}", [4]),
        (n.in_(key("many")), "n IN many", [6]),
        (n + 1 == 5, "n + 1 == 5", [4]),
        (10 - n == 5, "10 - n == 5", [5]),
        (n - 1 == 5, "n - 1 == 5", [6]),
        (2 * n == 8, "2 * n == 8", [4]),
        (30 / n == 5, "30 / n == 5", [6]),
        (n / 2 == 3, "n / 2 == 3", [6]),
    ):
        assert predicate.format == format_
        items = [{"n": number, "many": [6, 7]} for number in (4, 5, 6)]
        assert [item["n"] for item in predicate.filter(items)] == holds, format_


def test_quantifiers_test_members() -> None:
    numbers = {"a": [1, 2], "b": [2, 3], "c": []}
    items: list[dict[str, Any]] = [{"name": name, "tags": [{"n": n} for n in numbers[name]]} for name in numbers]
    tags, n = key("tags"), key("n")
    for predicate, expected in (
        (tags.any(n == 2), "ab"), (tags.any(n > 2), "b"), (tags.none(n == 2), "c"), (tags.none(n > 2), "ac"),
        (tags.all(n < 3), "ac"), (tags.all(n == 2), "c"), (tags.any(n != 2), "ab"), (tags.none(n != 2), "c"),
        (tags.any((n == 1) | (n == 3)), "ab"), (tags.none((n == 1) & (n == 3)), "abc"), (tags.any(~(n == 2)), "ab"),
        (tags.count() == 0, "c"), (tags.sum("n") == 5, "b"), (tags.max(n) == 2, "a"), (tags.min("n") == 1, "a"),
        (tags.avg(n) == 2.5, "b"), (tags.any(n.in_([3, 4])), "b"), (tags.any(n.between(0, 1)), "a"),
        (tags.any(n + 1 == 2), "a"), (tags.any(Predicate("n == 2 AND NOT (n == 3)")), "ab"),
    ):  # fmt: skip
        assert "".join(item["name"] for item in predicate.filter(items)) == expected, predicate.format


def test_member_conditions_bind_to_the_member() -> None:
    for text, expected in (
        ("TERNARY(n == 1, a, b) == 2", "TERNARY($each.n == 1, $each.a, $each.b) == 2"),
        ("n UNION m == {1}", "$each.n UNION $each.m == {1}"),
        ("n INTERSECT m == {1}", "$each.n INTERSECT $each.m == {1}"),
        ("n MINUS m == {1}", "$each.n MINUS $each.m == {1}"),
        ("{n, 2} CONTAINS $x", "{$each.n, 2} CONTAINS $x"),
        ("SELF == n", "$each == $each.n"),
        ("FUNCTION(n, 'f', m) == 1", 'FUNCTION($each.n, "f" , $each.m) == 1'),
        ("list[SIZE] == n", "($each.list)[SIZE] == $each.n"),
        ("TRUEPREDICATE", "TRUEPREDICATE"),
        ("ANY a.b == n", "ANY $each.a.b == $each.n"),
    ):
        found = key("m").any(Predicate(text))
        assert found.format == f"SUBQUERY(m, $each, {expected}).@count > 0"
    with pytest.raises(InvalidArgumentError, match=r'cannot apply "ANYKEY" .*; use @allValues instead'):
        key("m").any(Predicate("ANYKEY == 1"))
    with pytest.raises(UnsupportedError, match="a block predicate cannot be applied to members of a collection"):
        key("m").any(Predicate.block(lambda *_: True))
