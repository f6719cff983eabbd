"""Migration managers and policies in Python."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import corestone
from corestone import (
    CallbackError,
    CancelledError,
    Container,
    Context,
    Coordinator,
    DynamicObject,
    EntityMapping,
    InvalidArgumentError,
    InvalidHandleError,
    ManagedObject,
    MappingModel,
    MigrationError,
    MigrationManager,
    MigrationPolicy,
    Model,
    ObjectGoneError,
    StoreCorruptError,
    StoreDescription,
    TypeMismatchError,
    WrongThreadError,
    is_migration_policy_registered,
    migration_plan,
    register_migration_policy,
    unregister_migration_policy,
)

OLD = {"Car": {"plate": "string?", "owner": "to-one Person?"}, "Person": {"name": "string?"}}
NEW = {"Car": {"plate": "string?", "label": "string?", "owner": "to-one Person?"}, "Person": {"name": "string?"}}
OWNER = (
    'FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "PersonToPerson", $source.owner)'
)


@pytest.fixture
def models() -> tuple[Model, Model]:
    return Model(OLD), Model(NEW)


@pytest.fixture
def path(tmp_path: Path, models: tuple[Model, Model]) -> Path:
    place = tmp_path / "cars.sqlite"
    with Coordinator(models[0]) as coordinator:
        coordinator.add_store(place)
        with coordinator.context() as context:
            ada = context.insert("Person", name="Ada")
            for plate in "ab":
                context.insert("Car", plate=plate, owner=ada)
            context.save()
    return place


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    yield
    unregister_migration_policy("CarPolicy")


def mapping_of(models: tuple[Model, Model], label: str, policy: str | None = "Garage.CarPolicy") -> MappingModel:
    car = EntityMapping(
        source="Car", destination="Car", policy_class=policy, attributes={"plate": "$source.plate", "label": label},
        relationships={"owner": OWNER},
    )  # fmt: skip
    person = EntityMapping(source="Person", destination="Person", attributes={"name": "$source.name"})
    return MappingModel([car, person], *models)


def labels(path: Path, model: Model, **options: Any) -> dict[str, tuple[str, str]]:
    """Opens a store, which may migrate it, and returns label and owner by plate."""
    with Coordinator(model) as coordinator:
        coordinator.add_store(path, **options)
        with coordinator.context() as context:
            return {each.plate: (each.label, each.owner.name) for each in context.fetch("Car")}


def test_policy_stages_run_in_order_with_one_instance_per_mapping(path: Path, models: tuple[Model, Model]) -> None:
    stages: list[str] = []
    instances: set[int] = set()

    @register_migration_policy("CarPolicy")
    class CarPolicy(MigrationPolicy):
        def note(self, stage: str, mapping: EntityMapping, manager: MigrationManager) -> None:
            assert mapping.name == manager.current_mapping == "CarToCar"
            assert manager is self.manager
            stages.append(stage)
            instances.add(id(self))

        def begin(self, mapping: EntityMapping, manager: MigrationManager) -> None:
            self.note("begin", mapping, manager)

        def create_destination_instances(
            self, source: ManagedObject, mapping: EntityMapping, manager: MigrationManager
        ) -> None:
            self.note("create", mapping, manager)
            made = manager.create_destination_instance(mapping, source)
            assert list(manager.destination_instances(mapping, [source])) == [made]
            assert list(manager.source_instances("CarToCar", [made])) == [source]
            assert source.context is manager.source_context
            assert made.context is manager.destination_context

        def end_instance_creation(self, mapping: EntityMapping, manager: MigrationManager) -> None:
            self.note("created", mapping, manager)
            assert len(manager.destination_instances(mapping)) == 2

        def create_relationships(
            self, destination: ManagedObject, mapping: EntityMapping, manager: MigrationManager
        ) -> None:
            self.note("relate", mapping, manager)
            super().create_relationships(destination, mapping, manager)

        def end_relationship_creation(self, mapping: EntityMapping, manager: MigrationManager) -> None:
            self.note("related", mapping, manager)

        def perform_custom_validation(self, mapping: EntityMapping, manager: MigrationManager) -> None:
            self.note("validate", mapping, manager)

        def end(self, mapping: EntityMapping, manager: MigrationManager) -> None:
            self.note("end", mapping, manager)

        def labelFor_manager(self, plate: str, manager: None) -> str:
            return f"label of {plate}"

    assert is_migration_policy_registered("CarPolicy")
    mapping = mapping_of(models, 'FUNCTION($entityPolicy, "labelFor:manager:", $source.plate, $manager)')
    found = labels(path, models[1], migrate=True, mapping_models=[mapping])
    assert found == {"a": ("label of a", "Ada"), "b": ("label of b", "Ada")}
    assert stages == ["begin", "create", "create", "created", "relate", "relate", "related", "validate", "end"]
    assert len(instances) == 1
    assert unregister_migration_policy("CarPolicy")
    assert not unregister_migration_policy("CarPolicy")


@pytest.mark.parametrize("batch_safe", [False, True])
def test_default_policy_stages_equal_a_mapping_without_a_policy(
    path: Path, models: tuple[Model, Model], batch_safe: bool
) -> None:
    register_migration_policy("CarPolicy", type("Plain", (MigrationPolicy,), {"batch_safe": batch_safe}))
    mapping = mapping_of(models, "$source.plate")
    assert migration_plan(path, models[1], migrate=True, mapping_models=[mapping]).steps == [
        'CarToCar: Car -> Car with the policy "Garage.CarPolicy"', "PersonToPerson: Person -> Person",
    ]  # fmt: skip
    assert labels(path, models[1], migrate=True, mapping_models=[mapping]) == {"a": ("a", "Ada"), "b": ("b", "Ada")}


@pytest.mark.parametrize("stage", ["__init__", "begin", "create_destination_instances", "create_relationships", "end"])
def test_exception_of_a_stage_is_the_cause_of_the_failure(path: Path, models: tuple[Model, Model], stage: str) -> None:
    def fail(self: Any, *_: Any) -> None:
        raise ZeroDivisionError("three wheels")

    register_migration_policy("CarPolicy", type("Failing", (MigrationPolicy,), {stage: fail}))
    with pytest.raises(MigrationError) as caught:
        labels(path, models[1], migrate=True, mapping_models=[mapping_of(models, "$source.plate")])
    assert caught.value.code == 134170
    assert "three wheels" in caught.value.message
    assert '"CarToCar"' in caught.value.message
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    with Coordinator(models[0]) as coordinator:  # the store is as it was
        coordinator.add_store(path)


def test_exception_that_ends_the_program_passes_through(path: Path, models: tuple[Model, Model]) -> None:
    def stop(self: Any, *_: Any) -> None:
        raise KeyboardInterrupt

    register_migration_policy("CarPolicy", type("Stopping", (MigrationPolicy,), {"begin": stop}))
    with pytest.raises(KeyboardInterrupt):
        labels(path, models[1], migrate=True, mapping_models=[mapping_of(models, "$source.plate")])


def test_missing_policy_function_is_named(path: Path, models: tuple[Model, Model]) -> None:
    register_migration_policy("CarPolicy", type("Plain", (MigrationPolicy,), {}))
    for selector in ("begin:", "missing:"):
        mapping = mapping_of(models, f'FUNCTION($entityPolicy, "{selector}", $source.plate)')
        with pytest.raises(MigrationError, match=f'does not have a function "{selector}"'):
            labels(path, models[1], migrate=True, mapping_models=[mapping])


def test_wrappers_are_invalid_after_the_migration(path: Path, models: tuple[Model, Model]) -> None:
    kept: list[Any] = []

    @register_migration_policy("CarPolicy")
    class CarPolicy(MigrationPolicy):
        def create_destination_instances(
            self, source: ManagedObject, mapping: EntityMapping, manager: MigrationManager
        ) -> None:
            made = manager.create_destination_instance(mapping, source)
            kept[:] = source, made, manager.source_context, manager.destination_context, manager

    gc.collect()
    before = corestone.handle_count()
    mapping = mapping_of(models, "$source.plate")
    labels(path, models[1], migrate=True, mapping_models=[mapping])
    source, made, former, new, manager = kept
    for item in source, made:
        with pytest.raises(ObjectGoneError):
            _ = item.plate
    for context in former, new:
        assert context.is_closed
        with pytest.raises(InvalidHandleError):
            context.fetch("Car")
    with pytest.raises(InvalidArgumentError, match="does not run a migration"):
        _ = manager.destination_context
    with pytest.raises(InvalidArgumentError, match="does not run a migration"):
        manager.destination_instances("CarToCar")
    assert manager.current_mapping is None
    assert manager.mapping_model is None
    assert manager.progress == 0
    kept.clear()
    del source, made, former, new, manager, item, context, mapping
    gc.collect()
    assert corestone.handle_count() == before


def test_objects_have_the_classes_of_the_bound_model(path: Path) -> None:
    class Car(DynamicObject, entity="Car"):
        def awake_from_insert(self) -> None:
            self.label = "fresh"

        def shout(self) -> str:
            return str(self.plate).upper()

    models = Model(OLD), Model(NEW)
    models[1].bind(Car)
    shouts: list[str] = []

    @register_migration_policy("CarPolicy")
    class CarPolicy(MigrationPolicy):
        def create_relationships(self, destination: Any, mapping: EntityMapping, manager: MigrationManager) -> None:
            shouts.append(destination.shout())

    car = EntityMapping(
        source="Car", destination="Car", policy_class="CarPolicy", attributes={"plate": "$source.plate"}
    )
    mapping = MappingModel([car], *models)
    with Coordinator(models[1]) as coordinator:
        coordinator.add_store(path, migrate=True, mapping_models=[mapping])
        with coordinator.context() as context:
            assert [each.label for each in context.fetch("Car")] == ["fresh", "fresh"]
    assert sorted(shouts) == ["A", "B"]


# -------- managers -----------------------------------------------------------------------------------------


def test_manager_migrates_into_another_file(tmp_path: Path, path: Path, models: tuple[Model, Model]) -> None:
    label = 'FUNCTION($manager, "twice:prefix:", $source.plate, $manager.userInfo.prefix)'
    mapping = mapping_of(models, label, None)
    manager = MigrationManager(*models)
    reports: list[tuple[int, int]] = []
    manager.set_report(lambda done, total: reports.append((done, total)))
    manager.set_function("twice:prefix:", lambda plate, prefix: prefix + 2 * plate)
    manager.user_info["prefix"] = "x"
    manager.user_info["any"] = {"list": [1, "a"], "object": object}
    assert dict(manager.user_info) == {"prefix": "x", "any": {"list": [1, "a"], "object": object}}
    del manager.user_info["any"]
    with pytest.raises(KeyError):
        del manager.user_info["any"]
    assert len(manager.user_info) == 1
    result = tmp_path / "result.sqlite"
    manager.migrate_store(path, result, mapping, journal="rollback")
    assert labels(result, models[1]) == {"a": ("xaa", "Ada"), "b": ("xbb", "Ada")}
    assert reports[-1][0] <= reports[-1][1] == 3
    assert manager.source_model is models[0]
    assert manager.destination_model is models[1]
    manager.migrate_store(path, tmp_path / "result.xml", mapping, type="XML", source_options={"journal": "wal"})
    manager.set_function("twice:prefix:", None)
    with pytest.raises(MigrationError, match="twice:prefix:"):
        manager.migrate_store(path, tmp_path / "failed.sqlite", mapping)
    assert not (tmp_path / "failed.sqlite").exists()


def test_failure_to_open_the_former_store_has_the_fields_of_its_cause(
    tmp_path: Path, models: tuple[Model, Model]
) -> None:
    path = tmp_path / "cars.xml"
    with Container(models[0], path, type="XML") as container, container.context() as context:
        car = context.insert("Car", plate="plate of a car")
        context.save()
        uri = car.id.uri
    path.write_text(path.read_text(encoding="utf-8").replace("plate of a car", r"\u00d8"), encoding="utf-8")
    with pytest.raises(StoreCorruptError) as caught:
        MigrationManager(*models).migrate_store(path, tmp_path / "new.xml", mapping_of(models, "$source.plate", None))
    error, (cause,) = caught.value, caught.value.details
    assert (error.code, error.entity, error.key, error.object_uri) == (134150, "Car", "plate", uri)
    assert error.offset
    assert error.offset == cause.offset


def test_manager_can_be_cancelled(tmp_path: Path, path: Path, models: tuple[Model, Model]) -> None:
    mapping = mapping_of(models, "$source.plate", None)
    result = tmp_path / "result.sqlite"

    def fail(done: int, total: int) -> None:
        raise ZeroDivisionError("no time")

    manager = MigrationManager(*models)
    manager.set_report(fail)
    with pytest.raises(CallbackError, match="no time") as caught:
        manager.migrate_store(path, result, mapping)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert not result.exists()
    manager = MigrationManager(*models)
    manager.cancel()
    with pytest.raises(CancelledError) as cancelled:
        manager.migrate_store(path, result, mapping)
    assert cancelled.value.code == 134120
    manager = MigrationManager(*models)
    reason = ValueError("not today")
    manager.cancel(reason)
    manager.cancel()
    with pytest.raises(CallbackError, match="not today") as caught:
        manager.migrate_store(path, result, mapping)
    assert caught.value.__cause__ is reason
    assert not result.exists()


def test_another_thread_may_only_cancel_and_read_the_progress(path: Path, models: tuple[Model, Model]) -> None:
    failures: list[type[Exception]] = []

    @register_migration_policy("CarPolicy")
    class CarPolicy(MigrationPolicy):
        def begin(self, mapping: EntityMapping, manager: MigrationManager) -> None:
            def elsewhere() -> None:
                assert 0 <= manager.progress <= 1
                assert manager.current_mapping == "CarToCar"
                for use in (lambda: manager.destination_context, lambda: dict(manager.user_info), manager.reset):
                    try:
                        use()
                    except WrongThreadError as failure:
                        failures.append(type(failure))
                manager.cancel(TimeoutError("too slow"))

            thread = threading.Thread(target=elsewhere)
            thread.start()
            thread.join()

    with pytest.raises(CallbackError, match="too slow"):
        labels(path, models[1], migrate=True, mapping_models=[mapping_of(models, "$source.plate")])
    assert failures == [WrongThreadError] * 3


def test_manager_will_start_prepares_the_manager_of_an_added_store(path: Path, models: tuple[Model, Model]) -> None:
    mapping = mapping_of(models, "$manager.userInfo.prefix", None)

    def refuse(manager: MigrationManager) -> None:
        raise ZeroDivisionError("not today")

    with pytest.raises(MigrationError, match="not today") as caught:
        labels(path, models[1], migrate=True, mapping_models=[mapping], manager_will_start=refuse)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)

    def prepare(manager: MigrationManager) -> None:
        assert manager.destination_model is models[1]
        manager.user_info["prefix"] = "p"

    found = labels(path, models[1], migrate=True, mapping_models=[mapping], manager_will_start=prepare)
    assert found == {"a": ("p", "Ada"), "b": ("p", "Ada")}


def test_container_and_description_pass_mapping_models_on(path: Path, models: tuple[Model, Model]) -> None:
    mapping = mapping_of(models, "$manager.userInfo.prefix", None)
    starts: list[MigrationManager] = []

    def prepare(manager: MigrationManager) -> None:
        starts.append(manager)
        manager.user_info["prefix"] = "p"

    description = StoreDescription(path, mapping_models=[mapping], manager_will_start=prepare)
    del mapping
    gc.collect()
    with Container("cars", models[1], stores=[description]) as container, container.context() as context:
        assert {each.label for each in context.fetch("Car")} == {"p"}
    assert len(starts) == 1


def test_misuse_is_rejected(path: Path, models: tuple[Model, Model]) -> None:
    for bad in (object, MigrationPolicy(), int):
        with pytest.raises(TypeMismatchError, match="subclass of MigrationPolicy"):
            register_migration_policy("CarPolicy", bad)  # type: ignore[type-var]
    with pytest.raises(InvalidArgumentError):
        register_migration_policy("", MigrationPolicy)
    with pytest.raises(InvalidArgumentError):
        MigrationManager(models[0], None)  # type: ignore[arg-type]
    manager = MigrationManager(*models)
    with pytest.raises(TypeMismatchError):
        manager.migrate_store(path, path, "mapping")  # type: ignore[arg-type]
    with pytest.raises(TypeMismatchError):
        manager.associate("CarToCar", "a", "b")  # type: ignore[arg-type]
    with pytest.raises(TypeMismatchError):
        manager.destination_instances(3)  # type: ignore[arg-type]
    with pytest.raises(TypeMismatchError):
        manager.set_function("f", 3)  # type: ignore[arg-type]
    with pytest.raises(TypeMismatchError):
        manager.cancel("now")  # type: ignore[arg-type]
    for options in ({"mapping_models": [3]}, {"manager_will_start": 3}, {"mapping_models": 3}):
        with pytest.raises(TypeMismatchError), Coordinator(models[1]) as coordinator:
            coordinator.add_store(path, migrate=True, **options)


def test_objects_of_other_contexts_are_rejected(path: Path, models: tuple[Model, Model]) -> None:
    messages: list[str] = []

    @register_migration_policy("CarPolicy")
    class CarPolicy(MigrationPolicy):
        def create_destination_instances(
            self, source: DynamicObject, mapping: EntityMapping, manager: MigrationManager
        ) -> None:
            context: Context = manager.destination_context
            made = context.insert("Car", plate=source.plate)
            for misuse in (
                lambda: manager.associate(mapping, made, source),
                lambda: manager.create_relationships(mapping, source),
                lambda: manager.destination_instances(mapping, [made]),
            ):
                with pytest.raises(InvalidArgumentError) as caught:
                    misuse()
                messages.append(caught.value.message)
            with pytest.raises(MigrationError, match='did you mean "CarToCar"'):
                manager.associate("CarToCat", source, made)
            manager.associate(mapping, source, made)

    found: dict[str, Any] = labels(path, models[1], migrate=True, mapping_models=[mapping_of(models, "$source.plate")])
    assert found == {"a": (None, "Ada"), "b": (None, "Ada")}
    assert all("of the migration" in each for each in messages)
