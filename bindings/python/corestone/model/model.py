"""Models: entities, their attributes and relationships."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from ctypes import byref
from typing import TYPE_CHECKING, Any, NamedTuple, Union

from .. import _abi
from .._abi import lib, text
from .._abi.arguments import require_instance, shown
from .._abi.call import call, made, owned
from .._abi.checked import Checked
from ..codes import DeleteRule
from ..errors import CorestoneError, ModelError, TypeMismatchError
from .archive import read_json
from .contents import ModelContents
from .editing import add_validation, user_info_texts
from .entity import Entity, Waiting, declared_entity
from .files import ModelFiles
from .property import nearest, read_properties
from .text import model_text

if TYPE_CHECKING:
    from ..graph.object import ManagedObject


class LintFinding(NamedTuple):
    """A mistake in a model, or a questionable part of it."""

    rule: str
    severity: str  # "error", "warning" or "note"
    entity: str | None
    key: str | None
    message: str
    remedy: str


class ModelChange(NamedTuple):
    """A difference between a model and an older one."""

    action: str  # "added", "removed", "changed" or "renamed"
    part: str  # "model", "entity", "attribute", "relationship", "fetched property", "index", "fetch request", …
    entity: str | None
    name: str | None  # of the property, index, request or configuration
    field: str | None  # the key in describe(); None if the whole part changed
    old: Any
    new: Any
    changes_hash: bool  # stores need a migration
    text: str

    def __str__(self) -> str:
        return self.text


_CHANGE_FIELDS = {"changesHash": "changes_hash"}


class Model(Checked, ModelFiles, ModelContents, Mapping[str, Entity]):
    """A description of the entities of a store. One thread builds it; its first container or coordinator freezes it.

    `Model()` creates an empty model; `Model({...})` creates one from the compact form:

        Model({
            "Employee": {
                "name": "string",
                "nickname": "string?",
                "salary": "decimal = 0",
                "department": "to-one Department? inverse employees",
            },
            "Manager": {"@parent": "Employee", "budget": "double?"},
            "Department": {"name": "string indexed", "employees": "to-many Employee inverse department delete deny"},
        })

    Besides properties, an entity can have "@parent", "@abstract" (True), "@unique" (a list of lists of attributes, or
    the name of one attribute), "@indexes" (a dictionary of name to list of properties), "@class_name", "@user_info" and
    "@renaming_identifier" (the entity's name in older versions). `Model.from_text` reads the same form as JSON.

    `Model(Employee, Department)` creates the model that classes declare: see corestone.declarative.
    """

    def __init__(
        self,
        definition: Mapping[str, Mapping[str, Any]] | type[ManagedObject] | None = None,
        *classes: type[ManagedObject],
    ) -> None:
        self._begin(owned(lib.cst_model_new))
        if isinstance(definition, type) or classes:
            self._declare((definition, *classes))
        elif definition is not None:
            self._define(definition)

    def _declare(self, classes: Iterable[Any], is_bound: bool = True) -> None:
        """Adds the entities of classes that derive from corestone.declarative.Entity, and binds the classes."""
        from ..declarative.models import Declarations

        declared = Declarations(classes)
        self._define(declared.definition())
        declared.finish(self)
        if is_bound:
            declared.bind(self)

    def _begin(self, handle: int) -> None:
        """Takes ownership of the handle of a model, which may already have entities."""
        self._handle = handle
        self._entities: dict[str, Entity] = {}
        self._by_handle: dict[int, Entity] = {}
        self._waiting: list[Waiting] = []
        self._fetched_by: dict[str, Entity] | None = None
        self._frozen = self.is_frozen
        self._is_hooked = False  # whether bound classes have lifecycle hooks
        self._classes: dict[int, type[ManagedObject]] = {}  # by the handle of the entity, for the accelerator
        self._reads_ahead = True  # False if a bound class has a hook for fired faults
        self._note_entities()

    def _note_entities(self) -> None:
        """Creates Entity instances for the entities of the library's model that do not have one."""
        for index in range(len(self._entities), lib.cst_model_entity_count(self._handle)):
            entity = made(lib.cst_model_entity_at, self._handle, index)
            name = _abi.decode(lib.cst_entity_name(entity)) or ""
            self._by_handle[entity] = self._entities[name] = Entity(self, entity, name)
        self._note_parents()

    def _note_parents(self) -> None:
        """Records the names of the entities that have subentities, to which their objects may belong."""
        parents = (entity.parent for entity in self._entities.values())
        self._parents = {parent.name for parent in parents if parent is not None}

    def remove(self, entity: Entity | str) -> Model:
        """Removes an entity. Returns the model.

        Also removes relationships to the entity, fetched properties and fetch requests for it, and its entries in
        configurations. The subentities then inherit from the superentity.
        """
        gone = self[entity] if isinstance(entity, str) else entity
        call(lib.cst_entity_remove, gone._handle)
        del self._entities[gone.name]
        self._by_handle.pop(gone._handle, None)
        self._waiting = [waiting for waiting in self._waiting if gone.name not in (waiting.owner.name, waiting.target)]
        self._note_parents()
        return self

    def _forget_waiting(self, entity: str, name: str) -> None:
        self._waiting = [each for each in self._waiting if (each.owner.name, each.name) != (entity, name)]

    def _rename_waiting(self, entity: str, former: str, name: str) -> None:
        """Updates waiting relationships after a rename of the relationship itself or of its inverse."""
        for waiting in self._waiting:
            if (waiting.owner.name, waiting.name) == (entity, former):
                waiting.name = name
            if (waiting.target, waiting.inverse) == (entity, former):
                waiting.inverse = name

    def _renamed(self, former: str, name: str) -> None:
        self._entities = {name if key == former else key: entity for key, entity in self._entities.items()}
        for waiting in self._waiting:
            waiting.target = name if waiting.target == former else waiting.target
        self._parents = {name if parent == former else parent for parent in self._parents}

    @classmethod
    def _of(cls, handle: int) -> Model:
        """Returns the model of a handle, and takes ownership of the handle."""
        model = cls.__new__(cls)
        model._begin(handle)
        return model

    def copy(self) -> Model:
        """Returns an equal model that can be changed, whether this one is frozen or not."""
        if self._waiting:
            self.freeze()  # the error names the incomplete relationship
        return Model._of(owned(lib.cst_model_copy, self._handle))

    def entity(
        self,
        name: str,
        *,
        parent: Entity | str | None = None,
        abstract: bool = False,
        class_name: str | None = None,
        version_hash_modifier: str | None = None,
        user_info: Mapping[str, str] | None = None,
    ) -> Entity:
        """Adds an entity and returns it. The entity inherits the properties of `parent`."""
        entity = Entity(self, made(lib.cst_model_add_entity, self._handle, text(name, "name")), name)
        self._entities[name] = entity
        self._by_handle[entity._handle] = entity
        if parent is not None:
            self._set_parent(entity, parent)
        if abstract:
            call(lib.cst_entity_set_abstract, entity._handle, True)
        if class_name is not None:
            call(lib.cst_entity_set_class_name, entity._handle, text(class_name, "class_name"))
        if version_hash_modifier is not None:
            call(
                lib.cst_entity_set_version_hash_modifier,
                entity._handle,
                text(version_hash_modifier, "version_hash_modifier"),
            )
        for key, value in (user_info or {}).items():
            call(lib.cst_entity_set_user_info, entity._handle, *user_info_texts(key, value))
        self._settle()
        return entity

    def _set_parent(self, entity: Entity, parent: Entity | str) -> None:
        ancestor = self[parent] if isinstance(parent, str) else parent
        self._parents.add(ancestor.name)
        call(lib.cst_entity_set_parent, entity._handle, ancestor._handle)

    @classmethod
    def from_text(cls, content: str) -> Model:
        """Returns the model for JSON text in the compact form of C and Swift: docs/reference/model.md.

        Destinations of relationships must be entities of the text. ModelError names the entity, the key and the invalid
        word, or the line and column of text that is not JSON.
        """
        return cls._of(owned(lib.cst_model_new_from_text, text(content, "content")))

    def add_text(self, content: str) -> Model:
        """Adds the entities of model text in the form of `from_text`. Returns the model.

        The properties of the text are added to existing entities.
        """
        call(lib.cst_model_add_text, self._handle, text(content, "content"), None)
        self._note_entities()
        self._settle()
        return self

    def _define(self, definition: Mapping[str, Mapping[str, Any]]) -> None:
        """Adds entities and properties in the compact form. Destinations of relationships can be added later."""
        content, conditions = model_text(definition)
        buffer = _abi.Buffer()
        call(lib.cst_model_add_text, self._handle, text(content), byref(buffer))
        self._note_entities()
        for missing in read_json(buffer):
            owner, name = self._entities[missing["entity"]], missing["key"]
            handle = made(lib.cst_entity_relationship, owner._handle, text(name))
            self._waiting.append(Waiting(owner, name, missing["destination"], missing["inverse"], {}, handle))
        self._settle()
        for entity, key, validation in conditions:
            self._entities[entity]._add_validation(key, validation)

    def _add_relationship(self, relationship: Waiting) -> None:
        self._waiting.append(relationship)
        self._settle()

    def _settle(self) -> None:
        """Adds the relationships whose destination now exists, and sets the inverses that now exist."""
        for waiting in self._waiting:
            destination = self._entities.get(waiting.target)
            if destination is None or waiting.has_destination:
                continue
            if waiting.handle:
                call(lib.cst_relationship_set_destination, waiting.handle, destination._handle)
            else:
                self._create(waiting, destination)
            waiting.has_destination = True
        for waiting in [each for each in self._waiting if each.has_destination]:
            if waiting.inverse is not None:
                other = made(lib.cst_entity_relationship, self[waiting.target]._handle, text(waiting.inverse))
                if not other:
                    continue
                call(lib.cst_relationship_set_inverse, waiting.handle, other)
            self._waiting.remove(waiting)

    def _create(self, waiting: Waiting, destination: Entity) -> None:
        options = waiting.options
        owner = waiting.owner._handle
        waiting.handle = made(
            lib.cst_entity_add_relationship, owner, text(waiting.name), destination._handle, options["flags"]
        )
        if options["delete"] != DeleteRule.NULLIFY:
            call(lib.cst_relationship_set_delete_rule, waiting.handle, int(options["delete"]))
        if options["counts"] is not None:
            call(lib.cst_relationship_set_counts, waiting.handle, *options["counts"])
        add_validation(lib.cst_relationship_add_validation, waiting.handle, options["validation"])
        waiting.owner._set_renaming_identifier(waiting.name, options["renaming_identifier"])
        for key, value in (options["user_info"] or {}).items():
            call(lib.cst_relationship_set_user_info, waiting.handle, *user_info_texts(key, value))

    def freeze(self) -> None:
        """Checks and freezes the model. The first use in a container or coordinator does this automatically."""
        if self._frozen:
            return
        self._check_waiting()
        call(lib.cst_model_freeze, self._handle)
        self._frozen = True

    def _check_waiting(self) -> None:
        """Raises ModelError for a relationship whose destination or inverse was not added."""
        self._settle()
        for waiting in self._waiting:
            where = f"{waiting.owner.name}.{waiting.name}"
            if not waiting.has_destination:
                raise ModelError(
                    f'{where} has the destination "{waiting.target}", which is not an entity of the model'
                    f"{nearest(waiting.target, self._entities)}",
                    entity=waiting.owner.name,
                    key=waiting.name,
                    value=waiting.target,
                )
            known = read_properties(self[waiting.target]._handle)
            names = [name for name, each in known.items() if each.is_relationship]
            raise ModelError(
                f'the inverse of {where} is "{waiting.inverse}", but {waiting.target} does not have a relationship of '
                f"that name{nearest(waiting.inverse or '', names)}",
                entity=waiting.owner.name,
                key=waiting.name,
                value=waiting.inverse,
            )

    @property
    def is_frozen(self) -> bool:
        """Whether the model is frozen, so that it can no longer be changed."""
        out = ctypes.c_bool()
        call(lib.cst_model_is_frozen, self._handle, byref(out))
        return out.value

    @property
    def version_name(self) -> str | None:
        """The version of a bundle from which the model was read; None for a model that was not read from a bundle."""
        return _abi.decode(lib.cst_model_version_name(self._handle))

    def describe(self) -> dict[str, Any]:
        """Returns the whole model as dictionaries and lists.

        The result contains entities with the properties that they declare, indexes, constraints, derivations, fetched
        properties, fetch requests, configurations, and the further content of a source model.
        """
        buffer = _abi.Buffer()
        call(lib.cst_model_copy_json, self._handle, byref(buffer))
        described: dict[str, Any] = read_json(buffer)
        return described

    def diagram(self) -> str:
        """Returns a diagram of the model in DOT, which Graphviz's `dot` converts to SVG or PNG.

        The diagram has a box for each entity, and one line for a relationship and its inverse. To-many relationships
        have double arrowheads, inheritance has hollow arrowheads.
        """
        buffer = _abi.Buffer()
        call(lib.cst_model_copy_diagram, self._handle, byref(buffer))
        return _abi.take_text(buffer)

    def bind(self, *classes: type[ManagedObject]) -> Model:
        """Sets custom classes for the objects of entities. Returns the model.

            class Employee(ManagedObject, entity="Employee"):
                __slots__ = ()
                name: Attribute[str]

                def greet(self) -> str:
                    return f"Hello {self.name}"

        Annotations declare properties for type checkers only: `Attribute[str]`, `Attribute[Department | None]`,
        `ToMany[ToManySet[Project], Project]`. The objects of a class with `__slots__ = ()` refuse unknown attributes.

        A method or Python property that the class defines overrides the entity's property of that name. The value of
        the overridden property is primitive_value(name). A class can be bound to any number of models, before objects
        of the entity are fetched or inserted.

        Classes that derive from corestone.declarative.Entity are first compared with the model, together with the
        classes that they refer to. ModelError lists each difference, with entity and key.
        """
        from ..graph.object import ManagedObject

        for own in classes:
            if not isinstance(own, type) or not issubclass(own, ManagedObject):
                raise TypeMismatchError(
                    f"classes must be subclasses of ManagedObject, not {shown(own)}; pass each class as an argument",
                    key="classes",
                    value=own,
                )
        declared = [own for own in classes if "_cst_declaration" in vars(own)]
        if declared:
            self._bind_declared(declared)
        for own in classes:
            if own not in declared:
                self[declared_entity(own, "classes")]._bind(own)
        return self

    def _bind_declared(self, classes: list[type[ManagedObject]]) -> None:
        """Compares declared classes, and the classes that they refer to, with the model, and binds them."""
        from ..declarative.check import check
        from ..declarative.models import Declarations

        declared = Declarations(classes)
        expected = Model()
        expected._declare(classes, False)
        for name, each in declared.entities.items():
            if name not in self:
                raise ModelError(
                    f"the class {each.own.__name__} declares the entity {name}, which the model does not have"
                    f"{nearest(name, self)}",
                    entity=name,
                )
        check(self, declared, expected)
        declared.bind(self)

    def lint(self, profile: str = "standard", *, former: Iterable[Model] = ()) -> list[LintFinding]:
        """Returns the mistakes and questionable parts of the model; docs/reference/lint.md explains each rule.

        The profile "cloudkit" adds the restrictions of CloudKit on the models that it mirrors. `former` lists earlier
        versions of the model, the oldest first: renaming identifiers are compared with them.
        """
        versions = list(former)
        array = (ctypes.c_void_p * len(versions))(*[version._handle for version in versions])
        buffer = _abi.Buffer()
        call(
            lib.cst_model_copy_version_lint, self._handle, text(profile, "profile"), len(versions), array, byref(buffer)
        )
        return [LintFinding(**finding) for finding in read_json(buffer)]

    def diff(self, newer: Model) -> list[ModelChange]:
        """Returns the changes from this model to a newer one, and whether they alter version hashes."""
        buffer = _abi.Buffer()
        call(lib.cst_model_copy_diff, self._handle, newer._handle, byref(buffer))
        changes = read_json(buffer)
        return [ModelChange(**{_CHANGE_FIELDS.get(key, key): change[key] for key in change}) for change in changes]

    def _class_of(self, handle: int) -> type[ManagedObject]:
        return self._entity_of(handle).object_class

    def _entity_of(self, handle: int) -> Entity:
        """Returns the entity of a handle from the library."""
        found = self._by_handle.get(handle)
        if found is None:
            found = self._entities[_abi.decode(lib.cst_entity_name(handle)) or ""]
            self._by_handle[handle] = found
        return found

    def __getitem__(self, name: str) -> Entity:
        try:
            found = self._entities.get(name)
        except TypeError:
            found = None
        if found is None:
            near = nearest(require_instance(str, name, "entity"), self._entities)
            raise _NoEntityError(f'the model does not have an entity "{name}"{near}', entity=name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._entities)

    def __len__(self) -> int:
        return len(self._entities)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def _repr_html_(self) -> str | None:
        from ..graph.html import guarded, of_model

        return guarded(of_model, self)

    def __repr__(self) -> str:
        return f"<Model of {', '.join(self._entities) or 'no entities'}>"


class _NoEntityError(ModelError, KeyError):
    """A ModelError that is also a KeyError, as the look-up of a mapping requires."""

    __str__ = CorestoneError.__str__


# Classes that derive from corestone.declarative.Entity.
Classes = Union["type[ManagedObject]", Sequence["type[ManagedObject]"]]

# A model, declared classes, or the path of a model that Model.load reads.
ModelLike = Union[Model, str, "os.PathLike[str]", Classes]


def declared_model(classes: Classes) -> Model:
    """Returns the model that a class or several classes declare."""
    return Model(*([classes] if isinstance(classes, type) else classes))


def given_model(model: ModelLike | None, for_store: str | os.PathLike[str] | None = None) -> Model | None:
    """Freezes and returns a model, or the model at a path; from a bundle, the version of the store at `for_store`."""
    if model is None:
        return None
    if isinstance(model, (type, tuple, list)):
        given = declared_model(model)
    elif isinstance(model, Model):
        given = model
    else:
        given = Model.load(model, for_store=for_store)  # type: ignore[arg-type]
    given.freeze()
    return given
