"""Models from declared classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .._abi.arguments import shown
from ..errors import TypeMismatchError
from ..graph.lifecycle import _NO_KEYS
from ..graph.object import ManagedObject
from ..model.conversions import Conversion
from ..model.editing import UNSET
from ..model.property import nearest
from .annotations import Place
from .declaration import Declaration, declaration_of, is_declared
from .types import Read, read_field

if TYPE_CHECKING:
    from ..model.model import Model

# The options of properties that Model does not read, but Entity.change sets.
_CHANGES = ("spotlight", "external_record", "cloud_encryption", "value_class", "version_hash_modifier")


class Declared(NamedTuple):
    """A declared class with the properties that its own body declares."""

    own: type[ManagedObject]
    declaration: Declaration
    parent: type[ManagedObject] | None
    properties: dict[str, Read]

    @property
    def name(self) -> str:
        return self.declaration.entity


class Declarations:
    """The declared classes of a model: the given ones, their superclasses, and the destinations of relationships."""

    def __init__(self, classes: Iterable[Any]) -> None:
        self.entities: dict[str, Declared] = {}
        self._given: dict[str, type[ManagedObject]] = {}
        self._waiting: list[type[ManagedObject]] = []
        for own in classes:
            self._add(own)
        while self._waiting:
            self._read(self._waiting.pop(0))
        self._match_inverses()

    @property
    def classes(self) -> list[type[ManagedObject]]:
        return [each.own for each in self.entities.values()]

    def _add(self, own: Any) -> None:
        declaration = declaration_of(own)
        if declaration is None:
            raise TypeMismatchError(
                f"{shown(own)} does not declare an entity; derive it from corestone.declarative.Entity, or pass it "
                "to Model.bind",
                key="classes",
                value=own,
            )
        other = self._given.get(declaration.entity)
        if other is own:
            return
        if other is not None:
            raise declaration.failed(
                f"two classes declare this entity, {_full(other)} and {_full(own)}; remove one of them, or name the "
                f'entity with class {own.__name__}(Entity, entity="…")',
                value=own,
            )
        parent = parent_of(own)
        if parent is not None:
            self._add(parent)
        self._given[declaration.entity] = own
        self._waiting.append(own)

    def _read(self, own: type[ManagedObject]) -> None:
        declaration = declaration_of(own)
        assert declaration is not None
        found: dict[str, Read] = {}
        self.entities[declaration.entity] = Declared(own, declaration, parent_of(own), found)
        for name, field in declaration.fields.items():
            place = Place(declaration.entity, name, declaration.scopes, self._given.get)
            read = read_field(field, place)
            if isinstance(read.target, str):
                if read.target not in self._given:
                    raise place.failed(
                        f"the annotation {shown(read.target)} is not defined{nearest(read.target, self._given)}; "
                        "import it where the class is defined, or pass the class to Model",
                        read.target,
                    )
                read = read._replace(target=self._given[read.target])
            if read.target is not None:
                self._add(read.target)
            found[name] = read
        _check_names(self, self.entities[declaration.entity])

    def family(self, entity: Declared) -> list[Declared]:
        """Returns the entity and its superentities, the nearest first."""
        found = [entity]
        while found[-1].parent is not None:
            found.append(self._of(found[-1].parent))
        return found

    def _of(self, own: Any) -> Declared:
        declaration = declaration_of(own)
        assert declaration is not None
        return self.entities[declaration.entity]

    # ---- inverse relationships

    def _relationships(self, entity: Declared) -> dict[str, tuple[Declared, Read]]:
        """Returns the relationships of an entity, including inherited ones."""
        return {
            name: (each, read)
            for each in reversed(self.family(entity))
            for name, read in each.properties.items()
            if read.call in ("to_one", "to_many")
        }

    def _match_inverses(self) -> None:
        """Sets the inverse of each relationship on both sides."""
        every = [
            (entity, name, read)
            for entity in self.entities.values()
            for name, read in entity.properties.items()
            if read.call in ("to_one", "to_many")
        ]
        for entity, name, read in every:
            if read.options.get("inverse", UNSET) not in (UNSET, None):
                self._check_inverse(entity, name, read)
        # Inverses that only one side names.
        for entity, name, read in every:
            inverse = read.options.get("inverse", UNSET)
            if isinstance(inverse, str):
                other = self._relationships(self._of(read.target))[inverse][1]
                if other.options.get("inverse", UNSET) is UNSET:
                    other.options["inverse"] = name
                elif other.options["inverse"] != name:
                    target = self._of(read.target).name
                    raise entity.declaration.failed(
                        f"the inverse is {target}.{inverse}, but the inverse of {target}.{inverse} is "
                        f"{shown(other.options['inverse'])}; name each other's relationship in both",
                        name,
                        inverse,
                    )
        found = {id(read): self._candidates(entity, name, read) for entity, name, read in every if _is_open(read)}
        for entity, name, read in every:
            if _is_open(read):
                self._infer(entity, name, read, found[id(read)])
        for _, _, read in every:
            if read.options.get("inverse") is None:
                read.options.pop("inverse", None)

    def _check_inverse(self, entity: Declared, name: str, read: Read) -> None:
        inverse = read.options["inverse"]
        target = self._of(read.target)
        known = self._relationships(target)
        if inverse not in known:
            raise entity.declaration.failed(
                f"the inverse {shown(inverse)} is not a relationship of {target.name}"
                f"{nearest(str(inverse), known) or f'; declare it in the class {target.own.__name__}'}",
                name,
                inverse,
            )
        if self._of(known[inverse][1].target) not in self.family(entity):
            raise entity.declaration.failed(
                f"the inverse {target.name}.{inverse} refers to {self._of(known[inverse][1].target).name}, not to "
                f"{entity.name}; name a relationship to {entity.name}",
                name,
                inverse,
            )

    def _candidates(self, entity: Declared, name: str, read: Read) -> list[str]:
        return [
            other
            for other, (_, back) in self._relationships(self._of(read.target)).items()
            if back is not read and _is_open(back) and self._of(back.target) is entity
        ]

    def _infer(self, entity: Declared, name: str, read: Read, candidates: list[str]) -> None:
        target = self._of(read.target)
        where = f"{target.name}.{candidates[0]}" if candidates else ""
        if not candidates:
            is_self = " Write inverse with its own name for a symmetric relationship." if target is entity else ""
            raise entity.declaration.failed(
                f"{target.name} does not have a relationship to {entity.name} that can be the inverse. Declare one in "
                f"the class {target.own.__name__}, or write {read.call}(inverse=None) for a relationship without an "
                f"inverse.{is_self}".rstrip("."),
                name,
            )
        back = self._relationships(target)[candidates[0]][1]
        others = self._candidates(target, candidates[0], back)
        if len(candidates) > 1 or len(others) > 1:
            places = [f"{target.name}.{each}" for each in candidates]
            if len(candidates) == 1:
                raise entity.declaration.failed(
                    f"the inverse is ambiguous: {where} can be the inverse of {' and of '.join(others)}; write "
                    f"{read.call}(inverse={shown(candidates[0])}) for one of them",
                    name,
                    others,
                )
            raise entity.declaration.failed(
                f"the inverse is ambiguous, because {' and '.join(places)} refer to {entity.name}; write "
                f"{read.call}(inverse={shown(candidates[0])})",
                name,
                candidates,
            )
        read.options["inverse"], back.options["inverse"] = candidates[0], name

    # ---- the model

    def definition(self) -> dict[str, dict[str, Any]]:
        """Returns the classes in the form of Model, without the parts that `finish` adds."""
        return {name: self._entity(entity) for name, entity in self.entities.items()}

    def _entity(self, entity: Declared) -> dict[str, Any]:
        given = entity.declaration.options
        body: dict[str, Any] = {}
        if entity.parent is not None:
            body["@parent"] = self._of(entity.parent).name
        for option in ("abstract", "class_name", "user_info", "renaming_identifier"):
            if given.get(option) is not None:
                body[f"@{option}"] = given[option]
        constraints = [list(each) for each in entity.declaration.unique]
        for name, read in entity.properties.items():
            if read.call == "fetched":
                continue
            omitted = (*_CHANGES, "unique", *(("minimum",) if read.call == "to_one" else ()))
            options = {key: value for key, value in read.options.items() if key not in omitted}
            if read.options.get("unique"):
                constraints.append([name])
            if read.target is not None:
                options[read.call] = self._of(read.target).name
            body[name] = options
        if constraints:
            body["@unique"] = [[self._property(entity, each) for each in constraint] for constraint in constraints]
        return body

    def _property(self, entity: Declared, variable: str) -> str:
        """Returns the name of the property of a class variable."""
        names: Mapping[str, str] = entity.own._cst_names
        return names.get(variable, variable)

    def finish(self, model: Model) -> None:
        """Adds the parts that the dictionary form does not have, and binds the classes."""
        configurations: dict[str, list[str]] = {}
        for name, entity in self.entities.items():
            described, given = model[name], entity.declaration.options
            for key, read in entity.properties.items():
                changes = {each: read.options[each] for each in _CHANGES if each in read.options}
                if read.call == "to_one" and read.options.get("minimum"):
                    changes.update(minimum=read.options["minimum"], maximum=1)
                if read.call == "fetched":
                    self._add_fetched(model, entity, key, read)
                elif changes:
                    described.change(key, **changes)
            for index in entity.declaration.indexes:
                elements = [self._element(entity, each) for each in index.elements]
                described.index(index.name or "", *elements, where=index.where, kind=index.kind)
            if given.get("version_hash_modifier") is not None:
                described.version_hash_modifier = given["version_hash_modifier"]
            listed = given.get("configurations", ())
            for configuration in (listed,) if isinstance(listed, str) else listed:
                configurations.setdefault(configuration, []).append(name)
        for configuration, names in configurations.items():
            model.configuration(configuration, *names)

    def _element(self, entity: Declared, element: Any) -> Any:
        if not isinstance(element, str):
            return element
        sign = element[:1] if element[:1] in ("-", "+") else ""
        return sign + self._property(entity, element[len(sign) :])

    def _add_fetched(self, model: Model, entity: Declared, key: str, read: Read) -> None:
        options = {name: value for name, value in read.options.items() if name not in ("predicate", "user_info")}
        model[entity.name].fetched(key, self._of(read.target).name, read.options.get("predicate"), **options)
        for name, value in read.options.get("user_info", {}).items():
            model[entity.name].set_user_info(name, value, of=key)

    def conversions(self, entity: Declared) -> dict[str, Conversion]:
        """Returns the conversions of an entity's attributes and elements, including inherited ones."""
        found: dict[str, Conversion] = {}
        for each in reversed(self.family(entity)):
            for name, read in each.properties.items():
                if read.conversion is not None:
                    found[name] = read.conversion
                found.update({f"{name}.{path}": conversion for path, conversion in read.elements.items()})
        return found

    def bind(self, model: Model) -> None:
        """Binds the classes to their entities."""
        for name, entity in self.entities.items():
            model[name]._bind(entity.own, self.conversions(entity))


def _is_open(read: Read) -> bool:
    return read.call in ("to_one", "to_many") and read.options.get("inverse", UNSET) is UNSET


def _full(own: type) -> str:
    return f"{own.__module__}.{own.__qualname__}"


def parent_of(own: type[ManagedObject]) -> type[ManagedObject] | None:
    """Returns the class of the superentity; None for a root entity."""
    return next((base for base in own.__mro__[1:] if is_declared(base)), None)


def _check_names(known: Declarations, entity: Declared) -> None:
    """Raises ModelError for a validation method or a constraint of a property that does not exist."""
    names = {**entity.own._cst_names}
    keys = {*names.values()}
    for member in vars(entity.own):
        if not member.startswith("validate_") or member in _NO_KEYS or not callable(vars(entity.own)[member]):
            continue
        key = member[len("validate_") :]
        if key not in keys:
            raise entity.declaration.failed(
                f"the method {member} validates a property {shown(key)}, which {entity.name} does not have"
                f"{nearest(key, keys)}",
                key,
            )
    for each in entity.declaration.unique:
        for name in each:
            if name not in names and name not in keys:
                raise entity.declaration.failed(
                    f"the unique constraint {' and '.join(each)} names {shown(name)}, which is not a property"
                    f"{nearest(name, names)}",
                    name,
                )
