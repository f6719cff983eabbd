"""Models: entities, their attributes and relationships."""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Iterable, Iterator, Mapping
from ctypes import byref
from typing import TYPE_CHECKING, Any, NamedTuple, Union

from . import _abi
from ._abi import lib, path_argument, text, texts
from ._call import call, made
from ._definition import attribute_type, delete_rule, property_line
from ._editing import UNSET, EntityEditing, add_validation
from .archive import read_json
from .codes import AttributeType, DeleteRule
from .errors import CorestoneError, InvalidArgumentError, ModelError
from .predicate import Predicate
from .property import PropertyDescription, nearest, read_properties

if TYPE_CHECKING:
    from ._request import Request
    from .object import ManagedObject


class _Waiting:
    """A relationship that waits for its destination or its inverse to be added."""

    __slots__ = ("handle", "inverse", "name", "options", "owner", "target")

    def __init__(self, owner: Entity, name: str, target: str, inverse: str | None, options: dict[str, Any]) -> None:
        self.owner, self.name, self.target, self.inverse, self.options = owner, name, target, inverse, options
        self.handle = 0


class Entity(EntityEditing):
    """An entity of a model. Its methods return it, so that calls can be chained."""

    def __init__(self, model: Model, handle: int, name: str) -> None:
        self._model = model
        self._handle = handle
        self._argument = _abi.argument(handle)
        self.name = name
        self._properties: dict[str, PropertyDescription] | None = None
        self._class: type[ManagedObject] | None = None
        self._bound_class: type[ManagedObject] | None = None

    def attribute(
        self,
        name: str,
        type: str | AttributeType,
        *,
        optional: bool = False,
        default: Any = UNSET,
        indexed: bool = False,
        transient: bool = False,
        external_storage: bool = False,
        preserved: bool = False,
        allows_nan: bool = False,
        minimum: Any = None,
        maximum: Any = None,
        pattern: str | None = None,
        validation: Mapping[str | Predicate, str] | None = None,
        transformer: str | None = None,
        derived: str | None = None,
        derived_filter: str | None = None,
        elements: Mapping[str, Any] | None = None,
        user_info: Mapping[str, str] | None = None,
    ) -> Entity:
        """Adds an attribute.

        type is a name ("string", "int16", "int32", "int64", "decimal", "double", "float", "bool", "date", "binary",
        "uuid", "uri", "transformable", "composite") or an AttributeType. An attribute that is not optional must have a
        value when its object is saved; `default` is the value of a fresh object. `indexed` adds an index of its own.

        A save refuses a number or a date below `minimum` or above `maximum`, a string whose length is, a string that
        does not match the regular expression `pattern` as a whole, and a value that does not meet a condition of
        `validation`, which maps predicates (SELF is the value) to what the error says.

        `transformer` names what stands between the values of a transformable attribute and their bytes; see
        corestone.register_transformer. `derived` is an expression by which the store computes the attribute at each
        save: "name", "author.name", "articles.@count", "articles.words.@sum", "canonical:(name)", "uppercase:(name)",
        "lowercase:(name)", "now()". `elements` are those of a composite attribute, whose value is a dictionary: by
        name, in the compact form of Model, or a dictionary of elements again.
        """
        flags = (
            (_abi.OPTIONAL if optional else 0)
            | (_abi.INDEXED if indexed else 0)
            | (_abi.TRANSIENT if transient else 0)
            | (_abi.EXTERNAL_STORAGE if external_storage else 0)
            | (_abi.PRESERVED if preserved else 0)
            | (_abi.ALLOWS_NAN if allows_nan else 0)
        )
        handle = made(lib.cst_entity_add_attribute, self._handle, text(name), int(attribute_type(type)), flags)
        self._fill(
            handle,
            name,
            attribute_type(type),
            default=default,
            minimum=minimum,
            maximum=maximum,
            pattern=pattern,
            validation=validation,
            transformer=transformer,
            derived=derived,
            derived_filter=derived_filter,
            elements=elements,
            user_info=user_info,
        )
        return self

    def to_one(
        self,
        name: str,
        destination: Entity | str,
        *,
        inverse: str | None = None,
        delete: str | DeleteRule = "nullify",
        optional: bool = True,
        transient: bool = False,
        validation: Mapping[str | Predicate, str] | None = None,
        user_info: Mapping[str, str] | None = None,
    ) -> Entity:
        """Adds a relationship to at most one object of `destination`, an entity or the name of one added later.

        `inverse` names the relationship that leads back, which may be added later too; `delete` says what deleting an
        object does to its target: "nullify", "cascade", "deny" or "no-action". `validation` maps predicates on the
        target to what the error says when a save finds that they do not hold.
        """
        flags = (_abi.OPTIONAL if optional else 0) | (_abi.TRANSIENT if transient else 0)
        options: dict[str, Any] = {
            "flags": flags,
            "delete": delete_rule(delete),
            "user_info": user_info,
            "counts": None,
        }
        options["validation"] = validation
        return self._relationship(name, destination, inverse, options)

    def to_many(
        self,
        name: str,
        destination: Entity | str,
        *,
        inverse: str | None = None,
        delete: str | DeleteRule = "nullify",
        ordered: bool = False,
        optional: bool = True,
        minimum: int = 0,
        maximum: int = 0,
        transient: bool = False,
        validation: Mapping[str | Predicate, str] | None = None,
        user_info: Mapping[str, str] | None = None,
    ) -> Entity:
        """Adds a relationship to any number of objects, a set unless `ordered`. Maximum 0 is no bound.

        In the predicates of `validation`, SELF is the collection of the members.
        """
        flags = _abi.TO_MANY | (_abi.OPTIONAL if optional else 0) | (_abi.ORDERED if ordered else 0)
        flags |= _abi.TRANSIENT if transient else 0
        counts = (minimum, maximum) if minimum or maximum else None
        options: dict[str, Any] = {
            "flags": flags,
            "delete": delete_rule(delete),
            "user_info": user_info,
            "counts": counts,
        }
        options["validation"] = validation
        return self._relationship(name, destination, inverse, options)

    def _relationship(
        self, name: str, destination: Entity | str, inverse: str | None, options: dict[str, Any]
    ) -> Entity:
        target = destination.name if isinstance(destination, Entity) else destination
        self._model._add_relationship(_Waiting(self, name, target, inverse, options))
        return self

    def unique(self, *attributes: str) -> Entity:
        """Requires the combination of these attributes to be unique among the entity's objects."""
        call(lib.cst_entity_add_unique_constraint, self._handle, len(attributes), texts(list(attributes)))
        return self

    @property
    def parent(self) -> Entity | None:
        """The entity from which this one inherits."""
        handle = made(lib.cst_entity_parent, self._handle)
        return self._model._entity_of(handle) if handle else None

    @parent.setter
    def parent(self, parent: Entity | None) -> None:
        call(lib.cst_entity_set_parent, self._handle, parent._handle if parent else None)
        self._model._note_parents()

    @property
    def children(self) -> list[Entity]:
        """The entities that inherit from this one directly."""
        found: list[Entity] = []
        while handle := made(lib.cst_entity_child_at, self._handle, len(found)):
            found.append(self._model._entity_of(handle))
        return found

    def is_kind_of(self, other: Entity) -> bool:
        """Whether it is the other entity or inherits from it."""
        out = ctypes.c_bool()
        call(lib.cst_entity_is_kind_of, self._handle, other._handle, byref(out))
        return out.value

    def relationships_to(self, destination: Entity) -> list[str]:
        """The names of the relationships, inherited ones included, that lead to an entity itself."""
        known = read_properties(self._handle).values()
        return [each.name for each in known if each.is_relationship and each.destination == destination._handle]

    @property
    def is_abstract(self) -> bool:
        """Whether only entities that inherit from it have objects."""
        out = ctypes.c_bool()
        call(lib.cst_entity_is_abstract, self._handle, byref(out))
        return out.value

    @is_abstract.setter
    def is_abstract(self, is_abstract: bool) -> None:
        call(lib.cst_entity_set_abstract, self._handle, is_abstract)

    def user_info(self, key: str) -> str | None:
        """A value of the entity's user info, or None."""
        out = _abi.String()
        call(lib.cst_entity_user_info, self._handle, text(key), byref(out))
        return _abi.decode(out)

    @property
    def localized_name(self) -> str:
        """What the model's localisation calls the entity; its name when there is no entry."""
        return _abi.decode(lib.cst_entity_localized_name(self._handle)) or self.name

    def localized_property_name(self, name: str) -> str:
        """What the localisation calls a property: the most specific of its entries, or the name. Freezes the model."""
        out = _abi.String()
        self._key(name)
        call(lib.cst_entity_localized_property_name, self._handle, text(name), byref(out))
        return _abi.decode(out) or name

    @property
    def version_hash(self) -> bytes:
        """The 32 bytes by which Core Data recognises the entity in a store. Freezes the model."""
        self._model.freeze()
        out = (ctypes.c_uint8 * 32)()
        call(lib.cst_entity_version_hash, self._handle, out)
        return bytes(out)

    def property_version_hash(self, name: str) -> bytes | None:
        """The 32 bytes that a property adds to the entity's hash; None when it is transient, fetched, or not there."""
        self._model.freeze()
        out = (ctypes.c_uint8 * 32)()
        status = call(lib.cst_entity_property_version_hash, self._handle, text(name), out)
        return bytes(out) if status == _abi.OK else None

    @property
    def properties(self) -> Mapping[str, PropertyDescription]:
        """The properties by name, inherited ones first. Freezes the model."""
        if self._properties is None:
            self._model.freeze()
            self._properties = read_properties(self._handle)
        return self._properties

    @property
    def object_class(self) -> type[ManagedObject]:
        """The Python class of the entity's objects, for isinstance. Freezes the model."""
        if self._class is None:
            from ._entity_class import make_class

            self._class = make_class(self)
        return self._class

    def _bind(self, own: type[ManagedObject]) -> None:
        if self._class is not None and self._bound_class is not own:
            raise InvalidArgumentError(
                f"Objects of {self.name} have a class already. Bind classes before objects are fetched or inserted."
            )
        self._bound_class = own
        own._cst_bound = weakref.ref(self)

    def _element_at(self, path: str) -> PropertyDescription | None:
        """An element of a composite attribute."""
        head, *rest = path.split(".")
        found = self.properties.get(head)
        for name in rest:
            found = next((each for each in found.elements if each.name == name), None) if found is not None else None
        return found

    def _key(self, name: str) -> PropertyDescription:
        """The property of a name, else a ModelError with the nearest one."""
        found = self.properties.get(name)
        if found is None and "." in name:
            found = self._element_at(name)
        if found is None:
            raise ModelError(
                f"The entity {self.name} has no property '{name}'.{nearest(name, self.properties)}",
                entity=self.name,
                key=name,
            )
        return found

    def __repr__(self) -> str:
        return f"<Entity {self.name}>"


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


class ModelVersions(list[str]):
    """Names of versions in their natural order, and which one is the current one."""

    def __init__(self, names: Iterable[str], current: str | None) -> None:
        super().__init__(names)
        #: The name of the version that is read unless another is asked for; None when the bundle lacks it.
        self.current = current


class Model(Mapping[str, Entity]):
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
    "@indexes" (a dictionary of name to list of properties), "@class_name" and "@user_info".
    """

    def __init__(self, definition: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self._begin(made(lib.cst_model_new))
        if definition is not None:
            self._define(definition)

    def _begin(self, handle: int) -> None:
        """Takes over the handle of a model, which may have entities already."""
        self._handle = handle
        self._entities: dict[str, Entity] = {}
        self._by_handle: dict[int, Entity] = {}
        self._waiting: list[_Waiting] = []
        self._fetched_by: dict[str, Entity] | None = None
        self._frozen = self.is_frozen
        for index in range(lib.cst_model_entity_count(handle)):
            entity = made(lib.cst_model_entity_at, handle, index)
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

    @classmethod
    def load(
        cls,
        source: str | os.PathLike[str] | bytes,
        *,
        version: str | None = None,
        for_store: str | os.PathLike[str] | None = None,
    ) -> Model:
        """Reads a model that Xcode wrote: .xcdatamodeld, .xcdatamodel, .momd or .mom, told from the content.

        `version` names one version of a bundle; without it, the current one is read, or with `for_store`, the path of a
        store, the one that the store was written with (ModelMismatchError: with none of them). Bytes are the content of
        a file, a compiled model or the `contents` of an .xcdatamodel, or what a store keeps in Z_MODELCACHE. The model
        can still be changed until it is used, unless a store chose it.
        """
        if version is not None and for_store is not None:
            raise InvalidArgumentError("Give the version or the store that chooses it, not both.")
        if isinstance(source, bytes):
            if version is not None or for_store is not None:
                raise ModelError("Bytes hold one model; leave the version out.")
            return cls._of(made(lib.cst_model_load_bytes, _abi.InputString(source, len(source))))
        if for_store is not None:
            return cls._of(made(lib.cst_model_load_for_store, path_argument(source), path_argument(for_store)))
        return cls._of(made(lib.cst_model_load, path_argument(source), _abi.optional_text(version)))

    def copy(self) -> Model:
        """An equal model that can be changed, whether this one is frozen or not."""
        if self._waiting:
            self.freeze()  # names the relationship that leads nowhere yet
        return Model._of(made(lib.cst_model_copy, self._handle))

    @classmethod
    def merge(cls, models: Iterable[Model], *, store: str | os.PathLike[str] | None = None) -> Model:
        """A new model with the entities of several; what is the same in two of them is there once.

        Raises ModelError when entities of one name differ, and says in what. With `store`, the path of a store, it has
        the entities that the store was written with, found by their version hashes; ModelMismatchError names those that
        none of the models has.
        """
        given = list(models)
        array = (ctypes.c_void_p * len(given))(*[model._handle for model in given])
        path = _abi.null_text() if store is None else text(os.fspath(store))
        return cls._of(made(lib.cst_model_merge, len(given), array, path))

    def source(self, *, lossy: bool = False) -> str:
        """The model as the `contents` of an .xcdatamodel, the XML that Xcode edits.

        What was read from one comes back in its order and its words, but for what was changed. ModelError names what a
        source has no way to say (a condition in an author's own words, a binary default) unless `lossy` leaves it out.
        A model that `freeze` would refuse is written as well, so that it can be mended mistake by mistake.
        """
        self._check_waiting()
        buffer = _abi.Buffer()
        call(lib.cst_model_copy_source, self._handle, _abi.MODEL_LOSSY if lossy else 0, byref(buffer))
        return _abi.take_text(buffer)

    def write(
        self,
        path: str | os.PathLike[str],
        version: str | None = None,
        *,
        make_current: bool = True,
        lossy: bool = False,
    ) -> None:
        """Writes the model to a path whose extension says as what: .xcdatamodel, .xcdatamodeld, .mom or .momd.

        A bundle (.xcdatamodeld, .momd) gets it as `version`, new or replaced, which becomes the current one unless
        `make_current` is False; without a name it is the version that the model was read as, or else the current one,
        and the current one stays it. Whatever else lies there stays, and so do permissions; where a symbolic link leads
        is written. The path holds the whole of what was there or of what is new at any time, after a crash too. Several
        writers take turns; StoreBusyError: another program keeps the folder locked for long.
        """
        self._check_waiting()
        flags = (0 if make_current else _abi.MODEL_KEEP_CURRENT) | (_abi.MODEL_LOSSY if lossy else 0)
        name = _abi.null_text() if version is None else text(version)
        call(lib.cst_model_write, self._handle, path_argument(path), name, flags)

    @staticmethod
    def convert(
        path: str | os.PathLike[str],
        target: str | os.PathLike[str],
        *,
        module: str | None = None,
        lossy: bool = False,
    ) -> None:
        """Compiles a source with all its versions, or makes a source of a compiled model.

        The extension of `target` says as what; .xcdatamodel and .mom get the current version alone. `module` is the
        Swift module of classes that the source names without one. Of a compiled bundle that is there all versions
        are replaced, and whatever else lies in it stays; a source must not be there yet. InvalidArgumentError: the
        target contains `path`, or holds anything but a compiled model.
        """
        name = _abi.null_text() if module is None else text(module)
        flags = _abi.MODEL_LOSSY if lossy else 0
        call(lib.cst_model_convert, path_argument(path), path_argument(target), name, flags)

    @classmethod
    def merge_folder(cls, path: str | os.PathLike[str], *, store: str | os.PathLike[str] | None = None) -> Model:
        """As `merge`, of all models in a folder: the current version of each bundle, or for a store every version.

        A source beside its compiled form counts once. Raises ModelError when there is none.
        """
        wanted = _abi.null_text() if store is None else path_argument(store)
        return cls._of(made(lib.cst_model_merge_folder, path_argument(path), wanted))

    @property
    def checksum(self) -> str:
        """One text for the version hashes of all entities: NSStoreModelVersionChecksumKey of stores."""
        self._check_waiting()
        buffer = _abi.Buffer()
        call(lib.cst_model_copy_checksum, self._handle, byref(buffer))
        return _abi.take_text(buffer)

    @staticmethod
    def version_checksums(path: str | os.PathLike[str]) -> dict[str, str]:
        """The checksum of every version that a bundle holds, by name."""
        buffer = _abi.Buffer()
        call(lib.cst_model_copy_version_checksums, path_argument(path), byref(buffer), None)
        texts = _abi.take_text(buffer).split("\0")
        return dict(zip(texts[0::2], texts[1::2]))

    def is_compatible(self, store: str | os.PathLike[str] | bytes, configuration: str | None = None) -> bool:
        """Whether a store holds the entities of a configuration (None: all), and those alone, as the model has them.

        `store` is its path, or its metadata as the bytes of a property list. A store that says nothing of itself is
        compatible with no model.
        """
        self._check_waiting()
        result = ctypes.c_bool()
        name = _abi.null_text() if configuration is None else text(configuration)
        if isinstance(store, bytes):
            content = _abi.InputString(store, len(store))
            call(lib.cst_model_is_compatible_metadata, self._handle, name, content, byref(result))
        else:
            call(lib.cst_model_is_compatible, self._handle, name, path_argument(store), byref(result))
        return result.value

    def load_strings(self, path: str | os.PathLike[str], language: str | None = None) -> bool:
        """Takes over what the parts of the model are called for people; False when there is nothing.

        `path` is a .strings file, or the path of a model beside which they lie, in <Model>Model.strings of
        <language>.lproj or of the model's folder; `Model.load` does that by itself. `language` is "de" or "zh-Hans", by
        default the user's.
        """
        wanted = _abi.null_text() if language is None else text(language)
        return call(lib.cst_model_load_strings, self._handle, path_argument(path), wanted) == _abi.OK

    @staticmethod
    def versions(path: str | os.PathLike[str]) -> ModelVersions:
        """The versions of a model that a bundle holds."""
        names, count, current = _abi.Buffer(), ctypes.c_size_t(), ctypes.c_size_t()
        call(lib.cst_model_copy_versions, path_argument(path), byref(names), byref(count), byref(current))
        listed = _abi.take_text(names).split("\0")[: count.value]
        return ModelVersions(listed, listed[current.value] if current.value < count.value else None)

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

    def _define(self, definition: Mapping[str, Mapping[str, Any]]) -> None:
        for name, body in definition.items():
            self.entity(
                name,
                abstract=bool(body.get("@abstract", False)),
                class_name=body.get("@class_name"),
                user_info=body.get("@user_info"),
            )
        for name, body in definition.items():
            if body.get("@parent") is not None:
                self._set_parent(self[name], body["@parent"])
        known = {"@abstract", "@class_name", "@indexes", "@parent", "@unique", "@user_info"}
        for name, body in definition.items():
            entity = self[name]
            for key, line in body.items():
                if not key.startswith("@"):
                    method, argument, options = property_line(line, f"{name}.{key}")
                    getattr(entity, method)(key, argument, **options)
                elif key not in known:
                    raise ModelError(f"{name}: '{key}' is not understood. There are: {', '.join(sorted(known))}.")
            for index, properties in (body.get("@indexes") or {}).items():
                entity.index(index, *properties)
            for attributes in body.get("@unique") or []:
                entity.unique(*([attributes] if isinstance(attributes, str) else attributes))

    def _add_relationship(self, relationship: _Waiting) -> None:
        self._waiting.append(relationship)
        self._settle()

    def _settle(self) -> None:
        """Adds the relationships whose destination is known by now, and joins those whose inverse is."""
        for waiting in self._waiting:
            destination = self._entities.get(waiting.target)
            if destination is not None and not waiting.handle:
                self._create(waiting, destination)
        for waiting in [each for each in self._waiting if each.handle]:
            if waiting.inverse is not None:
                other = made(lib.cst_entity_relationship, self[waiting.target]._handle, text(waiting.inverse))
                if not other:
                    continue
                call(lib.cst_relationship_set_inverse, waiting.handle, other)
            self._waiting.remove(waiting)

    def _create(self, waiting: _Waiting, destination: Entity) -> None:
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
        for key, value in (options["user_info"] or {}).items():
            call(lib.cst_relationship_set_user_info, waiting.handle, text(key), text(value))

    def version_identifier(self, identifier: str) -> Model:
        """Labels the version of the model. Returns the model."""
        call(lib.cst_model_add_version_identifier, self._handle, text(identifier))
        return self

    def remove_version_identifier(self, identifier: str) -> bool:
        """Removes a label of the version; False when there is none."""
        return call(lib.cst_model_remove_version_identifier, self._handle, text(identifier)) == _abi.OK

    @property
    def version_identifiers(self) -> list[str]:
        """The labels of the version."""
        return self._names(_abi.NAMES_VERSION_IDENTIFIERS)

    def template(
        self, name: str, entity: Entity | str, predicate: str | Predicate | None = None, **options: Any
    ) -> Model:
        """Adds a fetch request that belongs to the model, or changes it. Returns the model.

        `$names` in the predicate are variables, to which Context.fetch_template gives values. `options` are `sort`,
        `limit`, `offset`, `prefetch`, `include_subentities` and `as_faults`, as Context.fetch takes them.
        """
        request = self._request(entity, predicate, options)
        call(lib.cst_model_set_template, self._handle, text(name), request.handle)
        return self

    def remove_template(self, name: str) -> Model:
        """Removes a fetch request of the model. Returns the model."""
        call(lib.cst_model_set_template, self._handle, text(name), None)
        return self

    @property
    def templates(self) -> list[str]:
        """The names of the model's fetch requests, sorted; `describe` tells what they fetch."""
        return self._names(_abi.NAMES_TEMPLATES)

    def configuration(self, name: str, *entities: Entity | str) -> Model:
        """Makes these entities a configuration: what one store of several holds. Returns the model."""
        names = [entity if isinstance(entity, str) else entity.name for entity in entities]
        call(lib.cst_model_set_configuration, self._handle, text(name), len(names), texts(names))
        return self

    def remove_configuration(self, name: str) -> bool:
        """Removes a configuration; False when there is none of that name."""
        return call(lib.cst_model_remove_configuration, self._handle, text(name)) == _abi.OK

    @property
    def configurations(self) -> list[str]:
        """The names of the configurations; the whole model is not among them."""
        return self._names(_abi.NAMES_CONFIGURATIONS)

    def entities_of(self, configuration: str | None = None) -> list[Entity]:
        """The entities of a configuration; of the whole model for None."""
        buffer, count = _abi.Buffer(), ctypes.c_size_t()
        name = _abi.optional_text(configuration)
        call(lib.cst_model_copy_configuration, self._handle, name, byref(buffer), byref(count))
        return [self[name] for name in _abi.take_text(buffer).split("\0")[: count.value]]

    def _names(self, which: int) -> list[str]:
        buffer, count = _abi.Buffer(), ctypes.c_size_t()
        call(lib.cst_model_copy_names, self._handle, which, byref(buffer), byref(count))
        return _abi.take_text(buffer).split("\0")[: count.value]

    def _request(self, entity: Entity | str, predicate: str | Predicate | None, options: dict[str, Any]) -> Request:
        """What the model shall keep of a fetch."""
        from ._request import Request, fill_request

        request = Request(self[entity] if isinstance(entity, str) else entity)
        fill_request(request, predicate, (), **options)
        return request

    def _template_entity(self, name: str) -> Entity:
        """The entity that a fetch request of a model in use fetches."""
        if self._fetched_by is None:
            requests = self.describe()["fetchRequests"]
            self._fetched_by = {key: self[said["entity"]] for key, said in requests.items()}
        return self._fetched_by[name]

    def localize(self, entries: Mapping[str, str | None]) -> Model:
        """Sets what parts of the model are called for people, and what its conditions say. Returns the model.

        The keys are Core Data's: "Entity/E", "Property/P/Entity/E", "Property/P", and "ErrorString/W" for the warning W
        of a condition. None removes an entry.
        """
        for key, words in entries.items():
            call(
                lib.cst_model_set_localization,
                self._handle,
                text(key),
                _abi.optional_text(words),
            )
        return self

    def localization(self, key: str) -> str | None:
        """The words of one entry of the localisation, or None."""
        out = _abi.String()
        call(lib.cst_model_localization, self._handle, text(key), byref(out))
        return _abi.decode(out)

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
            if not waiting.handle:
                raise ModelError(
                    f"The relationship {where} leads to an entity '{waiting.target}', which the model does not have."
                    f"{nearest(waiting.target, self._entities)}",
                    entity=waiting.owner.name,
                    key=waiting.name,
                )
            known = read_properties(self[waiting.target]._handle)
            names = [name for name, each in known.items() if each.is_relationship]
            raise ModelError(
                f"The relationship {where} names '{waiting.inverse}' as its inverse, but {waiting.target} has no such "
                f"relationship.{nearest(waiting.inverse or '', names)}",
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
                    f"{own.__name__} does not say whose objects it is for: class {own.__name__}(ManagedObject, "
                    'entity="...").'
                )
            self[name]._bind(own)
        return self

    def compiled(self) -> bytes:
        """The model as the bytes of a .mom file. Freezes it."""
        self.freeze()
        buffer = _abi.Buffer()
        call(lib.cst_model_copy_compiled, self._handle, byref(buffer))
        return _abi.take_bytes(buffer)

    def lint(self, profile: str = "standard") -> list[LintFinding]:
        """What is wrong or doubtful in the model; docs/reference/lint.md explains each rule.

        The profile "cloudkit" asks besides what CloudKit asks of the models that it mirrors.
        """
        buffer = _abi.Buffer()
        call(lib.cst_model_copy_lint, self._handle, text(profile), byref(buffer))
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
        found = self._entities.get(name)
        if found is None:
            raise _NoEntityError(f"The model has no entity '{name}'.{nearest(name, self._entities)}", entity=name)
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

    def __del__(self, release: Any = lib.cst_release) -> None:
        handle = getattr(self, "_handle", None)
        if handle:
            release(handle)


class _NoEntityError(ModelError, KeyError):
    """Also a KeyError, as a mapping's look-up has to be."""

    __str__ = CorestoneError.__str__


# A model, or the path of one that Model.load reads.
ModelLike = Union[Model, str, "os.PathLike[str]"]
