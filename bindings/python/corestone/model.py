"""Models: entities, their attributes and relationships."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Iterator, Mapping
from ctypes import byref
from typing import TYPE_CHECKING, Any, NamedTuple, Union

from . import _abi
from ._abi import lib, text
from ._arguments import one_of
from ._call import call, made, owned
from ._editing import add_validation
from ._model_contents import ModelContents
from ._model_files import ModelFiles
from ._model_text import model_text
from .archive import read_json
from .codes import DeleteRule
from .entity import Entity, Waiting
from .errors import CorestoneError, InvalidArgumentError, ModelError
from .property import nearest, read_properties

if TYPE_CHECKING:
    from .object import ManagedObject


class LintFinding(NamedTuple):
    """Something in a model that is wrong, or that people regret later."""

    rule: str
    severity: str  # "error", "warning" or "note"
    entity: str | None
    key: str | None
    message: str
    remedy: str


class ModelChange(NamedTuple):
    """One way in which a model differs from an older one."""

    action: str  # "added", "removed", "changed" or "renamed"
    part: str  # "model", "entity", "attribute", "relationship", "fetched property", "index", "fetch request", …
    entity: str | None
    name: str | None  # of the property, index, request or configuration
    field: str | None  # as describe() calls it; None when the whole thing changed
    old: Any
    new: Any
    changes_hash: bool  # stores need a migration
    text: str

    def __str__(self) -> str:
        return self.text


_CHANGE_FIELDS = {"changesHash": "changes_hash"}


class Model(ModelFiles, ModelContents, Mapping[str, Entity]):
    """Describes the entities of a store. Build it on one thread; its first container freezes it.

    `Model()` starts empty; `Model({...})` takes the compact form:

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

    Beside properties an entity may have "@parent", "@abstract" (True), "@unique" (a list of lists of attributes),
    "@indexes" (a dictionary of name to list of properties), "@class_name", "@user_info" and
    "@renaming_identifier" (its name in older versions). `Model.from_text` reads the same as JSON.
    """

    def __init__(self, definition: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self._begin(owned(lib.cst_model_new))
        if definition is not None:
            self._define(definition)

    def _begin(self, handle: int) -> None:
        """Takes over the handle of a model, which may have entities already."""
        self._handle = handle
        self._entities: dict[str, Entity] = {}
        self._by_handle: dict[int, Entity] = {}
        self._waiting: list[Waiting] = []
        self._fetched_by: dict[str, Entity] | None = None
        self._frozen = self.is_frozen
        self._is_hooked = False  # whether bound classes have hooks
        self._reads_ahead = True  # unless one of them is told when faults fire
        self._note_entities()

    def _note_entities(self) -> None:
        """Makes the entities that the library has and this object does not know."""
        for index in range(len(self._entities), lib.cst_model_entity_count(self._handle)):
            entity = made(lib.cst_model_entity_at, self._handle, index)
            name = _abi.decode(lib.cst_entity_name(entity)) or ""
            self._by_handle[entity] = self._entities[name] = Entity(self, entity, name)
        self._note_parents()

    def _note_parents(self) -> None:
        """Entities whose objects may be of others, by name."""
        parents = (entity.parent for entity in self._entities.values())
        self._parents = {parent.name for parent in parents if parent is not None}

    def remove(self, entity: Entity | str) -> Model:
        """Takes an entity out. Returns the model.

        What cannot be without it goes too: relationships that lead to it, fetched properties and fetch requests that
        fetch it, its places in configurations. Entities that inherit from it inherit from its parent then.
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
        """A relationship that waits keeps its way to what was renamed, itself or the inverse that it names."""
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
        """The model of a handle, which it takes over."""
        model = cls.__new__(cls)
        model._begin(handle)
        return model

    def copy(self) -> Model:
        """An equal model that can be changed, whether this one is frozen or not."""
        if self._waiting:
            self.freeze()  # names the relationship that leads nowhere yet
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
        """Adds an entity, which inherits the properties of `parent`."""
        entity = Entity(self, made(lib.cst_model_add_entity, self._handle, text(name)), name)
        self._entities[name] = entity
        self._by_handle[entity._handle] = entity
        if parent is not None:
            self._set_parent(entity, parent)
        if abstract:
            call(lib.cst_entity_set_abstract, entity._handle, True)
        if class_name is not None:
            call(lib.cst_entity_set_class_name, entity._handle, text(class_name))
        if version_hash_modifier is not None:
            call(lib.cst_entity_set_version_hash_modifier, entity._handle, text(version_hash_modifier))
        for key, value in (user_info or {}).items():
            call(lib.cst_entity_set_user_info, entity._handle, text(key), text(value))
        self._settle()
        return entity

    def _set_parent(self, entity: Entity, parent: Entity | str) -> None:
        ancestor = self[parent] if isinstance(parent, str) else parent
        self._parents.add(ancestor.name)
        call(lib.cst_entity_set_parent, entity._handle, ancestor._handle)

    @classmethod
    def from_text(cls, content: str) -> Model:
        """The model of a text in JSON, the compact form as C and Swift read it: docs/reference/model.md.

        Its relationships lead to entities of the text. ModelError names entity, key and word of a mistake, and for text
        that is not JSON line and column.
        """
        return cls._of(owned(lib.cst_model_new_from_text, text(content)))

    def add_text(self, content: str) -> Model:
        """Adds the entities of a text like that of `from_text`; one that the model has already gets the properties of
        the text too. Returns the model."""
        call(lib.cst_model_add_text, self._handle, text(content), None)
        self._note_entities()
        self._settle()
        return self

    def _define(self, definition: Mapping[str, Mapping[str, Any]]) -> None:
        """Adds entities and properties in the compact form. What a relationship leads to may be added later."""
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
        """Adds the relationships whose destination is known by now, and joins those whose inverse is."""
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
            call(lib.cst_relationship_set_user_info, waiting.handle, text(key), text(value))

    def freeze(self) -> None:
        """Checks the model and ends its construction. A container does this by itself."""
        if self._frozen:
            return
        self._check_waiting()
        call(lib.cst_model_freeze, self._handle)
        self._frozen = True

    def _check_waiting(self) -> None:
        """Raises when a relationship still waits for what it names: the library does not know of it yet."""
        self._settle()
        for waiting in self._waiting:
            where = f"{waiting.owner.name}.{waiting.name}"
            if not waiting.has_destination:
                raise ModelError(
                    f'{where} is a relationship to "{waiting.target}", which is not an entity of the model'
                    f"{nearest(waiting.target, self._entities)}",
                    entity=waiting.owner.name,
                    key=waiting.name,
                )
            known = read_properties(self[waiting.target]._handle)
            names = [name for name, each in known.items() if each.is_relationship]
            raise ModelError(
                f'the inverse of {where} is "{waiting.inverse}", but {waiting.target} does not have a relationship of '
                f"that name{nearest(waiting.inverse or '', names)}",
                entity=waiting.owner.name,
                key=waiting.name,
            )

    @property
    def is_frozen(self) -> bool:
        """Whether it can be changed no more."""
        out = ctypes.c_bool()
        call(lib.cst_model_is_frozen, self._handle, byref(out))
        return out.value

    @property
    def version_name(self) -> str | None:
        """Which version of a bundle the model was read from; None for any other model."""
        return _abi.decode(lib.cst_model_version_name(self._handle))

    def describe(self) -> dict[str, Any]:
        """All that the model says, as dictionaries and lists: entities with what they declare, indexes, constraints,
        derivations, fetched properties, fetch requests, configurations, and what a source model says beyond."""
        buffer = _abi.Buffer()
        call(lib.cst_model_copy_json, self._handle, byref(buffer))
        described: dict[str, Any] = read_json(buffer)
        return described

    def diagram(self) -> str:
        """A picture of the model in DOT, which Graphviz's `dot` makes SVG or PNG of: a box for each entity, one line
        for a relationship and its inverse, double heads for to-many, hollow ones for inheritance."""
        buffer = _abi.Buffer()
        call(lib.cst_model_copy_diagram, self._handle, byref(buffer))
        return _abi.take_text(buffer)

    def bind(self, *classes: type[ManagedObject]) -> Model:
        """Gives the objects of entities classes of one's own. Returns the model.

            class Employee(ManagedObject, entity="Employee"):
                name: str
                __slots__ = ()

                def greet(self) -> str:
                    return f"Hello {self.name}"

        What a class defines itself wins over the entity's property of that name, which is primitive_value(name) then. A
        class may be bound to any number of models, before objects of the entity were met.
        """
        for own in classes:
            name = own._cst_entity_name
            if name is None:
                raise InvalidArgumentError(
                    f'{own.__name__} does not name its entity; write class {own.__name__}(ManagedObject, entity="...")'
                )
            self[name]._bind(own)
        return self

    def lint(self, profile: str = "standard", *, former: Iterable[Model] = ()) -> list[LintFinding]:
        """The mistakes and doubtful parts of the model; docs/reference/lint.md explains each rule.

        The profile "cloudkit" adds the restrictions that CloudKit puts on the models that it mirrors. `former` are
        earlier versions of the model, the oldest first: renaming identifiers are compared with them.
        """
        versions = list(former)
        array = (ctypes.c_void_p * len(versions))(*[version._handle for version in versions])
        buffer = _abi.Buffer()
        call(lib.cst_model_copy_version_lint, self._handle, text(profile), len(versions), array, byref(buffer))
        return [LintFinding(**finding) for finding in read_json(buffer)]

    def diff(self, newer: Model) -> list[ModelChange]:
        """How a newer model differs from this one, and which changes alter version hashes."""
        buffer = _abi.Buffer()
        call(lib.cst_model_copy_diff, self._handle, newer._handle, byref(buffer))
        changes = read_json(buffer)
        return [ModelChange(**{_CHANGE_FIELDS.get(key, key): change[key] for key in change}) for change in changes]

    def _entity_of(self, handle: int) -> Entity:
        """The entity of a handle that the library gave."""
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
            near = nearest(one_of(str, name, "entity"), self._entities)
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

    def __repr__(self) -> str:
        return f"<Model of {', '.join(self._entities) or 'no entities'}>"


class _NoEntityError(ModelError, KeyError):
    """Also a KeyError, as a mapping's look-up has to be."""

    __str__ = CorestoneError.__str__


# A model, or the path of one that Model.load reads.
ModelLike = Union[Model, str, "os.PathLike[str]"]
