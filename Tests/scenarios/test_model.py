"""Models: entities, properties and bundles."""

from __future__ import annotations

import plistlib
from pathlib import Path
from typing import Any

import pytest
from corestone import Model, ModelError, ValidationError


def test_s119_to_many_depends_on_the_maximum_count() -> None:
    def is_to_many(minimum: int, maximum: int) -> bool:
        model = Model(
            {"Item": {"group": "to-many Group inverse items"}, "Group": {"items": "to-many Item inverse group"}}
        )
        model["Item"].change("group", minimum=minimum, maximum=maximum)
        return model["Item"].properties["group"].is_to_many

    assert [is_to_many(*counts) for counts in ((1, 1), (0, 1), (0, 0), (1, 5))] == [False, False, True, True]


def test_s122_unique_constraints_are_in_the_version_hash() -> None:
    model = Model({"Thing": {"code": "string?"}})
    assert model["Thing"].describe()["uniqueConstraints"] == []
    without = model.copy()["Thing"].version_hash
    model["Thing"].unique("code")
    assert model["Thing"].describe()["uniqueConstraints"] == [["code"]]
    assert model["Thing"].version_hash != without


def archive_model() -> Model:
    return Model(
        {
            "Parent": {"@abstract": True, "name": "string"},
            "Item": {
                "@parent": "Parent",
                "note": "string? transient",
                "amount": {"type": "int32", "validation": {"NOT (SELF < 0)": "amount must not be negative"}},
                "group": "to-one Group? inverse items",
            },
            "Group": {"items": "to-many Item inverse group"},
        }
    )


def check_archived(model: Model) -> None:
    """The model is unchanged by archiving."""
    assert sorted(model) == ["Group", "Item", "Parent"]
    item = model["Item"]
    assert model["Parent"].is_abstract and not item.is_abstract
    assert item.parent is model["Parent"]
    amount = item.describe("amount")
    assert (amount["type"], amount.get("optional", False)) == ("Integer 32", False)
    assert amount["validation"] == [{"predicate": "NOT SELF < 0", "message": "amount must not be negative"}]
    assert item.describe("note")["transient"] is True
    assert item.properties["group"].inverse == "items"
    assert item.describe("group")["destination"] == "Group"
    assert model["Group"].properties["items"].is_to_many


def test_s125_bundle_names_its_current_version(tmp_path: Path) -> None:
    bundle = tmp_path / "Stock.momd"
    bundle.mkdir()
    (bundle / "Stock.mom").write_bytes(archive_model().compiled())
    (bundle / "Other.mom").write_bytes(Model({"Other": {"name": "string"}}).compiled())
    for current, entities in (("Stock", ["Group", "Item", "Parent"]), ("Other", ["Other"])):
        information: dict[str, Any] = {"NSManagedObjectModel_CurrentVersionName": current}
        (bundle / "VersionInfo.plist").write_bytes(plistlib.dumps(information))
        model = Model.load(bundle)
        assert (model.version_name, sorted(model)) == (current, entities)
    check_archived(Model.load(bundle, version="Stock"))


def test_s125_written_bundle_names_its_current_version(tmp_path: Path) -> None:
    bundle = tmp_path / "Stock.momd"
    archive_model().write(bundle)
    information = plistlib.loads((bundle / "VersionInfo.plist").read_bytes())
    assert information["NSManagedObjectModel_CurrentVersionName"] == "Stock"
    check_archived(Model.load(bundle))


def test_s125_rules_from_a_bundle_are_enforced(tmp_path: Path, opened: Any) -> None:
    path = tmp_path / "Stock.mom"
    path.write_bytes(archive_model().compiled())
    context = opened(Model.load(path)).context()
    context.insert("Item", name="a", amount=-1)
    with pytest.raises(ValidationError, match="amount must not be negative"):
        context.save()


def test_s128_entity_knows_all_of_its_ancestors() -> None:
    model = Model(
        {
            "Car": {
                "maker": "string?",
                "model": "string?",
                "numberPlate": "string",
                "currentDrivingSpeed": "int32 transient = 0",
                "owner": "to-one Person? inverse cars",
            },
            "SportCar": {"@parent": "Car"},
            "ExpensiveSportCar": {"@parent": "SportCar"},
            "Person": {"firstName": "string", "lastName": "string", "cars": "to-many Car inverse owner"},
        }
    )
    ancestors = []
    entity = model["ExpensiveSportCar"].parent
    while entity is not None:
        ancestors.append(entity.name)
        entity = entity.parent
    assert ancestors == ["SportCar", "Car"]
    assert "numberPlate" in model["ExpensiveSportCar"].properties


def test_s130_user_info_of_a_fetched_property_of_a_used_model_can_change(opened: Any) -> None:
    model = Model({"Author": {"alias": "string"}, "Feedback": {"authorAlias": "string", "comment": "string"}})
    author = model["Author"]
    author.fetched(
        "favFeedbacks",
        "Feedback",
        "authorAlias == $FETCH_SOURCE.alias AND comment CONTAINS $FETCHED_PROPERTY.userInfo.search",
    )
    author.set_user_info("search", "great", of="favFeedbacks")
    context = opened(model).context()
    context.insert("Author", alias="ada")
    for comment in ("great work", "a great pleasure", "interesting"):
        context.insert("Feedback", authorAlias="ada", comment=comment)
    context.save()
    context.reset()
    ada = context.first("Author")
    assert len(ada.favFeedbacks) == 2
    author.set_user_info("search", "interesting", of="favFeedbacks")
    assert author.all_user_info(of="favFeedbacks") == {"search": "interesting"}
    assert [feedback.comment for feedback in ada.favFeedbacks] == ["interesting"]
    for of in ("alias", None):
        with pytest.raises(ModelError, match="is frozen and cannot be changed"):
            author.set_user_info("search", "great", of=of)


def test_s409_model_in_use_cannot_be_changed(opened: Any) -> None:
    model = Model(
        {
            "Employee": {
                "name": "string?",
                "salary": "int32?",
                "hireDate": "date?",
                "department": "to-one Department? inverse employees",
            },
            "Department": {"name": "string?", "employees": "to-many Employee inverse department"},
        }
    )
    opened(model)
    for change in (
        lambda: model["Employee"].attribute("nickname", "string"),
        lambda: model.entity("Project"),
        lambda: model["Employee"].unique("name"),
        lambda: model["Employee"].remove("salary"),
        lambda: model["Employee"].rename("Person"),
        lambda: model.version_identifier("2"),
    ):
        with pytest.raises(ModelError, match="is frozen and cannot be changed"):
            change()
    changed = model.copy()
    changed["Employee"].attribute("nickname", "string", optional=True)
    assert "nickname" in changed["Employee"].properties and "nickname" not in model["Employee"].properties


def test_s126_attribute_is_required_unless_declared_optional() -> None:
    """Apple's are optional (DEVIATIONS, "A new attribute is required"); relationships are so here too."""
    model = Model()
    person = model.entity("Person")
    person.attribute("name", "string")
    person.attribute("age", "int32", optional=True)
    person.to_one("friend", "Person")
    facts = model.describe()["entities"][0]
    assert {each["name"]: each["optional"] for each in facts["attributes"]} == {"name": False, "age": True}
    assert facts["relationships"][0]["optional"] is True
    assert not any("transient" in each for each in facts["attributes"])
