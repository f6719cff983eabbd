"""Predicates: their parts, and equal results in memory and in the store."""

from __future__ import annotations

from typing import Any

import pytest
from corestone import CompoundType, Model, Operator, Predicate, PredicateKind, PredicateSyntaxError
from host_places import HOST_TYPES
from scenario_models import CARS

leaves_predicates = pytest.mark.not_in(
    "it leaves predicates to Corestone, which the request does not allow", *HOST_TYPES
)


def names(found: Any, key: str = "name") -> list[str]:
    return sorted(getattr(item, key) for item in found)


def parent_and_child() -> Model:
    return Model(
        {
            "PParent": {"name": "string?", "children": "to-many PChild inverse parent delete deny"},
            "PChild": {"name": "string?", "parent": "to-one PParent? inverse children"},
        }
    )


def entity() -> Model:
    return Model({"PEntity": {"name": "string?", "counter": "int32 = 7", "score": "double?"}})


def family(container: Any) -> Any:
    """A context with parents A and B, childA1 and childA2 of A, childB of B; nothing is saved."""
    context = container.context()
    a, b = (context.insert("PParent", name=name) for name in "AB")
    for name, parent in (("childA1", a), ("childA2", a), ("childB", b)):
        context.insert("PChild", name=name, parent=parent)
    return context, a, b


@pytest.mark.parametrize(
    ("spelling", "operator"),
    [
        ("=", Operator.EQUAL),
        ("==", Operator.EQUAL),
        (">", Operator.GREATER_THAN),
        ("<", Operator.LESS_THAN),
        (">=", Operator.GREATER_THAN_OR_EQUAL),
        ("<=", Operator.LESS_THAN_OR_EQUAL),
        ("!=", Operator.NOT_EQUAL),
        ("contains", Operator.CONTAINS),
        ("in", Operator.IN),
    ],
)
def test_s346_operators_are_parsed_in_every_spelling(spelling: str, operator: Operator) -> None:
    right: Any = ["v", "w"] if spelling == "in" else "v"
    predicate = Predicate(f"key {spelling} %@", right)
    assert predicate.kind == PredicateKind.COMPARISON
    assert predicate.operator == operator


def test_s349_and_binds_tighter_than_or() -> None:
    predicate = Predicate("available = true or value >= 1 and value <= 10.5")
    assert predicate.compound_type == CompoundType.OR
    first, second = predicate.parts
    assert first.kind == PredicateKind.COMPARISON and first.left is not None and first.left.format == "available"
    assert second.compound_type == CompoundType.AND
    lower, upper = second.parts
    assert (lower.operator, upper.operator) == (Operator.GREATER_THAN_OR_EQUAL, Operator.LESS_THAN_OR_EQUAL)
    assert lower.right is not None and upper.right is not None
    assert lower.right.constant_value == 1 and isinstance(lower.right.constant_value, int)
    assert upper.right.constant_value == 10.5 and isinstance(upper.right.constant_value, float)


def test_s352_chains_of_and_flatten() -> None:
    predicate = Predicate(
        "a.b = 'x' and isOpen = true and deletedAt = null and beginDate <= '2021-05-25 23:11:32.050000' "
        "and (endDate = null or endDate >= '2021-05-25 23:11:32.050000')"
    )
    assert predicate.compound_type == CompoundType.AND and len(predicate.parts) == 5
    parts = predicate.parts
    assert parts[0].left is not None and parts[0].left.format == "a.b"
    assert parts[2].right is not None and parts[2].right.constant_value is None
    assert parts[3].right is not None and parts[3].right.constant_value == "2021-05-25 23:11:32.050000"
    assert parts[4].compound_type == CompoundType.OR and len(parts[4].parts) == 2


def test_s355_arithmetic_operators_are_named_functions() -> None:
    predicate = Predicate("(key ^ 1) > 0")
    assert predicate.operator == Operator.GREATER_THAN
    assert predicate.left is not None and predicate.right is not None
    assert predicate.left.name == "bitwiseXor:with:"
    assert [operand.format for operand in predicate.left.operands] == ["key", "1"]
    assert predicate.right.constant_value == 0


def test_s358_objects_and_their_ids_are_interchangeable(opened: Any) -> None:
    context, a, b = family(opened(parent_and_child()))
    context.save()
    assert names(context.fetch("PChild", "parent == %@", a)) == ["childA1", "childA2"]
    assert names(context.fetch("PChild", "parent == %@", b.id)) == ["childB"]
    assert len(context.fetch("PParent", "SELF IN %@", [a])) == 1


@pytest.mark.parametrize("is_saved", [False, True])
def test_s361_like_supports_wildcards(opened: Any, is_saved: bool) -> None:
    context = opened(entity()).context()
    for name in ("invoice-2026-001.pdf", "invoice-2026-001.txt", "receipt-2026-001.pdf"):
        context.insert("PEntity", name=name)
    if is_saved:
        context.save()
    assert len(context.fetch("PEntity", "name LIKE 'invoice-*.pdf'")) == 1
    found = context.fetch("PEntity", "name LIKE '*-2026-00?.pdf'")
    assert names(found) == ["invoice-2026-001.pdf", "receipt-2026-001.pdf"]


def test_s363_unsaved_objects_can_be_arguments(opened: Any) -> None:
    context, a, b = family(opened(parent_and_child()))
    assert a.id.is_temporary
    assert names(context.fetch("PChild", "parent == %@", a)) == ["childA1", "childA2"]
    assert names(context.fetch("PChild", "parent != %@", a)) == ["childB"]
    assert len(context.fetch("PChild", "parent IN %@", [a, b])) == 3


def test_s366_operators_do_not_need_spaces(opened: Any) -> None:
    context = opened(entity()).context()
    for counter, name in enumerate("abc", 1):
        context.insert("PEntity", name=name, counter=counter)
    context.save()
    assert names(context.fetch("PEntity", "counter==1 AND(name=='a')")) == ["a"]
    assert names(context.fetch("PEntity", "counter==1||counter==2")) == ["a", "b"]
    assert names(context.fetch("PEntity", "counter>=1&&!(counter==2)")) == ["a", "c"]


@pytest.mark.parametrize("is_saved", [False, True])
def test_s369_key_path_on_the_right_is_evaluated(opened: Any, is_saved: bool) -> None:
    context = opened(Model({"E": {"name": "string?", "alias": "string?"}})).context()
    context.insert("E", name="same", alias="same")
    context.insert("E", name="distinct", alias="other")
    if is_saved:
        context.save()
    assert names(context.fetch("E", "name == alias")) == ["same"]


@pytest.mark.parametrize("format", ["name ==", ""])
def test_s372_invalid_format_is_an_error(opened: Any, format: str) -> None:
    """As Apple's: a port gives a predicate that matches nothing instead, which hides the mistake."""
    with pytest.raises(PredicateSyntaxError) as failure:
        Predicate(format)
    assert "expected" in str(failure.value)
    with pytest.raises(PredicateSyntaxError):
        opened(entity()).context().fetch("PEntity", format)


def users() -> Model:
    return Model(
        {
            "User": {
                "name": "string?",
                "age": "int32?",
                "admin": "bool?",
                "posts": "to-many Post inverse user delete cascade",
                "hasTags": "to-many Tag? inverse hasUsers",
            },
            "Post": {"title": "string?", "body": "string?", "timestamp": "date?", "user": "to-one User? inverse posts"},
            "Tag": {"name": "string?", "hasUsers": "to-many User? inverse hasTags"},
        }
    )


@leaves_predicates
def test_s375_constant_predicates_are_compiled_to_sql(opened: Any) -> None:
    context = opened(users()).context()
    for number in range(30):
        context.insert("User", name=f"user {number}", admin=number % 3 == 0)
    context.save()
    for format, count in (
        ("TRUEPREDICATE && FALSEPREDICATE", 0),
        ("TRUEPREDICATE || FALSEPREDICATE", 30),
        ("!TRUEPREDICATE", 0),
        ("TRUEPREDICATE", 30),
        ("FALSEPREDICATE", 0),
    ):
        assert context.count("User", format, split=False) == count, format


@leaves_predicates
def test_s378_relationship_to_its_own_entity_keeps_its_direction(opened: Any) -> None:
    model = Model(
        {
            "Account": {
                "accountID": "string",
                "transferToAccounts": "to-many Account? inverse transferFromAccounts",
                "transferFromAccounts": "to-many Account? inverse transferToAccounts",
            }
        }
    )
    context = opened(model).context()
    a0, a1, a2 = (context.insert("Account", accountID=f"a{number}") for number in range(3))
    a0.transferToAccounts.add(a1)
    a0.transferToAccounts.add(a2)
    a1.transferToAccounts.add(a2)
    counts = [(len(a.transferFromAccounts), len(a.transferToAccounts)) for a in (a0, a1, a2)]
    assert counts == [(0, 2), (1, 1), (2, 0)]
    format = "transferToAccounts.@count > 0 AND transferFromAccounts.@count > 0"
    assert names(context.fetch("Account", format), "accountID") == ["a1"]
    context.save()
    assert names(context.fetch("Account", format, split=False), "accountID") == ["a1"]


@pytest.mark.parametrize("is_saved", [False, True])
def test_s379_list_may_mix_constants_and_key_paths(opened: Any, is_saved: bool) -> None:
    """Asserted by a port alone."""
    model = Model(
        {
            "User": {"name": "string?", "hasTags": "to-many Tag? inverse hasUsers"},
            "Tag": {"name": "string?", "hasUsers": "to-many User? inverse hasTags"},
        }
    )
    context = opened(model).context()
    for name in ("tag 1", "Tag 2", "Täg 3"):
        context.insert("Tag", name=name)
    user = context.insert("User", name="user")
    user.hasTags = [context.insert("Tag", name=f"User Tag {number}") for number in (1, 2)]
    if is_saved:
        context.save()
    found = ["Tag 2", "User Tag 1", "User Tag 2"]
    for format in (
        "name IN {'Tag 2', hasUsers.hasTags.name}",
        "{'Tag 2', hasUsers.hasTags.name} CONTAINS name",
        "name IN {hasUsers.hasTags.name, 'Tag 2', 'other', hasUsers.name}",
        "SELF IN {SUBQUERY(hasUsers.hasTags, $tag, $tag.name != nil), nil} OR name == 'Tag 2'",
    ):
        assert names(context.fetch("Tag", format)) == found, format
        everything = context.fetch("Tag")
        assert names(tag for tag in everything if Predicate(format).evaluate(tag)) == found, format
        others = names(tag for tag in everything if tag.name not in found)
        assert names(context.fetch("Tag", f"NOT ({format})")) == others, format
    # A list that is an argument of a predicate is not a key path.
    assert not context.fetch("Tag", "name IN %@", [["Tag 2"]])
    text = "name IN {'Tag 2', hasUsers.hasTags.name}"
    assert Predicate(str(Predicate(text))) == Predicate(text)


@pytest.mark.parametrize("is_saved", [False, True])
def test_s381_subqueries_see_unsaved_objects(opened: Any, is_saved: bool) -> None:
    model = Model(CARS)
    context = opened(model).context()
    for number in range(8):
        owner = context.insert("Person", firstName=f"P{number}", lastName="L")
        for place in range(number):
            kind = "SportCar" if place % 2 else "Car"
            maker = "FIAT" if place % 3 else "Lamborghini"
            context.insert(kind, maker=maker, numberPlate=f"{number}-{place}", owner=owner)
    if is_saved:
        context.save()
    by_hand = [p for p in context.fetch("Person") if sum(car.maker == "FIAT" for car in p.cars) > 2]
    found = context.fetch("Person", 'SUBQUERY(cars, $car, $car.maker == "FIAT").@count > 2')
    assert by_hand and names(found, "firstName") == names(by_hand, "firstName")
