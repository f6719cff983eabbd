"""Results controllers: sections, and the notifications of a delegate."""

from __future__ import annotations

from typing import Any, Callable

import corestone
from corestone import Container, FetchedResultsController, FetchRequest, Model, ObjectChange, SectionChange
from corestone.object import object_id
from scenario_models import CARS

Opened = Callable[..., Container]
EMPLOYEES = {"Employee": {"name": "string?", "team": "string?", "salary": "int32?"}}


class Table:
    """A delegate that records its notifications."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.sections: list[SectionChange] = []
        self.objects: list[ObjectChange] = []

    def will_change(self, _: FetchedResultsController) -> None:
        self.calls.append("will")

    def did_change_section(self, _: FetchedResultsController, change: SectionChange) -> None:
        self.calls.append("section")
        self.sections.append(change)

    def did_change_object(self, _: FetchedResultsController, change: ObjectChange) -> None:
        self.calls.append(change.kind.name.lower())
        self.objects.append(change)

    def did_change(self, _: FetchedResultsController) -> None:
        self.calls.append("did")

    def moved(self) -> list[Any]:
        return [(change.kind.name, change.path, change.new_path) for change in self.objects]


def employees(opened: Opened, *staff: tuple[str, str]) -> corestone.Context:
    context = opened(Model(EMPLOYEES)).context()
    for name, team in staff:
        context.insert("Employee", name=name, team=team)
    context.save()
    return context


def by_team(context: corestone.Context, predicate: str | None = None) -> tuple[FetchedResultsController, Table]:
    table = Table()
    request = FetchRequest("Employee", predicate, sort=["team", "name"])
    controller = FetchedResultsController(context, request, "team", delegate=table)
    controller.perform_fetch()
    return controller, table


def named(context: corestone.Context, name: str) -> Any:
    return context.fetch("Employee", "name == %@", name)[0]


def test_s241_sections_are_built_from_the_key_path(opened: Opened) -> None:
    context = employees(opened, ("Carol", "Sales"), ("Alice", "Engineering"), ("Bob", "Engineering"))
    controller, _ = by_team(context)
    assert [(each.name, len(each)) for each in controller.sections or []] == [("Engineering", 2), ("Sales", 1)]


def test_s244_new_section_is_reported_once(opened: Opened) -> None:
    context = employees(opened, ("Alice", "Engineering"))
    controller, table = by_team(context)
    context.insert("Employee", name="Carol", team="Sales")
    context.process_pending_changes()
    assert [(each.kind.name, each.index, each.name) for each in table.sections] == [("INSERT", 1, "Sales")]
    assert len(controller.sections or []) == 2


def test_s247_changing_the_section_moves_the_object(opened: Opened) -> None:
    context = employees(opened, ("Alice", "Engineering"), ("Bob", "Engineering"))
    controller, table = by_team(context)
    bob = named(context, "Bob")
    bob.team = "Sales"
    context.process_pending_changes()
    assert len(controller.sections or []) == 2
    assert controller.index_path(bob) == (1, 0)
    assert table.moved() == [("MOVE", (0, 1), (1, 0))]


def test_s250_unrelated_changes_are_not_reported(opened: Opened) -> None:
    context = employees(opened, ("Alice", "Engineering"))
    controller, table = by_team(context, "team == 'Engineering'")
    context.insert("Employee", name="Carol", team="Sales")
    context.process_pending_changes()
    assert table.calls == []
    assert len(controller.fetched_objects or []) == 1


def test_s254_merged_section_change_is_one_move(opened: Opened) -> None:
    fields = {"testEntityID": "int64", "testBoolean": "bool", "testNumber": "int32?", "testString": "string?"}
    container = opened(Model({"TestEntity1": fields}))
    context, other = container.context(), container.context()
    for number in (101, 102, 103, 104, 105):
        context.insert("TestEntity1", testEntityID=number, testBoolean=number % 2 == 1)
    context.save()
    context.automatically_merges = True
    table = Table()
    request = FetchRequest("TestEntity1", sort=["testBoolean", "testEntityID"])
    controller = FetchedResultsController(context, request, "testBoolean", delegate=table)
    controller.perform_fetch()
    assert [[item.testEntityID for item in each] for each in controller.sections or []] == [[102, 104], [101, 103, 105]]
    other.fetch("TestEntity1", "testEntityID == 102")[0].testBoolean = True
    other.save()
    context.process_pending_changes()
    assert table.calls == ["will", "move", "did"]
    assert table.moved() == [("MOVE", (0, 0), (1, 1))]


def test_s257_object_that_leaves_the_predicate_is_reported_once(opened: Opened) -> None:
    context = opened(Model(CARS)).context()
    car = context.insert("Car", numberPlate="304")
    context.save()
    table = Table()
    request = FetchRequest("Car", "numberPlate == '304'", sort="numberPlate")
    controller = FetchedResultsController(context, request, delegate=table)
    controller.perform_fetch()
    car.numberPlate = "304 no more"
    context.save()
    assert table.calls == ["will", "delete", "did"]
    assert controller.snapshot is not None
    assert len(controller.snapshot) == 0


def test_s260_merge_adds_only_objects_that_match_the_request(opened: Opened) -> None:
    container = opened(Model(CARS))
    context, other = container.context(), container.context()
    edythe = context.insert("Person", firstName="Edythe", lastName="Moreton")
    ellis = context.insert("Person", firstName="Ellis", lastName="Khoury")
    car = context.insert("Car", numberPlate="1", owner=edythe)
    context.save()
    table = Table()
    controller = FetchedResultsController(context, FetchRequest("Person", sort=[]), delegate=table)
    controller.perform_fetch()
    sport = other.insert("SportCar", numberPlate="2")
    other.insert("Person", firstName="Third", lastName="Person")
    other.get(object_id(edythe)).cars = [sport]
    told = []
    with other.observe("did_save_object_ids", lambda _, changes: told.append(changes.ids)):
        other.save()
    context.merge_changes(told[0])
    assert table.calls.count("update") + table.calls.count("move") == 1
    assert table.calls.count("insert") == 1
    assert len(context.known) == 4
    assert {object_id(item).entity_name for item in context.known} == {"Person", "Car"}
    assert ellis in (controller.fetched_objects or []) and car.numberPlate == "1"


def test_s263_order_and_index_paths_follow_changes(opened: Opened) -> None:
    context = opened(Model({"Person": {"name": "string", "age": "int32"}})).context()
    people = {
        name: context.insert("Person", name=name, age=age) for name, age in (("Ada", 32), ("Bea", 25), ("Cleo", 41))
    }
    context.save()
    controller = FetchedResultsController(context, FetchRequest("Person", sort="age"))
    controller.perform_fetch()
    assert [item.name for item in controller.fetched_objects or []] == ["Bea", "Ada", "Cleo"]
    assert [len(each) for each in controller.sections or []] == [3]
    assert controller[0, 1] is people["Ada"]
    assert controller.index_path(people["Cleo"]) == (0, 2)
    assert controller.section_index_titles == []


def test_s252_section_is_deleted_after_its_objects(opened: Opened) -> None:
    container = opened(Model({"Thing": {"name": "string?", "testBoolean": "bool?"}}))
    context, other = container.context(), container.context()
    for number in range(5):
        context.insert("Thing", name=str(number), testBoolean=number > 1)
    context.save()
    context.automatically_merges = True
    table = Table()
    request = FetchRequest("Thing", sort=["testBoolean", "name"])
    controller = FetchedResultsController(context, request, "testBoolean", delegate=table)
    controller.perform_fetch()
    for thing in other.fetch("Thing", "testBoolean == NO"):
        other.delete(thing)
    other.save()
    context.process_pending_changes()
    assert table.calls == ["will", "delete", "delete", "section", "did"]
    assert sorted(table.moved()) == [("DELETE", (0, 0), None), ("DELETE", (0, 1), None)]
    assert [(change.kind.name, change.index, change.name) for change in table.sections] == [("DELETE", 0, "0")]


def test_s261_reset_reports_no_objects_and_the_next_save_is_reported(opened: Opened) -> None:
    context = opened(Model(CARS)).context()
    context.insert("Person", firstName="Ada", lastName="L")
    context.save()
    table = Table()
    saves: list[Any] = []
    controller = FetchedResultsController(context, FetchRequest("Person", sort=["lastName"]), delegate=table)
    controller.perform_fetch()
    context.insert("Person", firstName="Bob", lastName="M")
    with context.observe("did_save", lambda _, changes: saves.append(changes.inserted_ids + changes.updated_ids)):
        context.reset()
        context.save()
    assert saves == [[]]
    assert not table.objects
