"""Classes that declare entities: the metaclass, and the content of a class body.

A class body is read when the class is created. Its annotations are evaluated when a model is made from the class,
because they can refer to classes that are defined later.
"""

from __future__ import annotations

import keyword
import sys
from collections.abc import Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, cast

from .._abi.arguments import shown
from ..errors import ModelError
from ..graph.object import ManagedObject
from ..model.editing import UNSET
from ..model.entity_type import EntityType, _entity, _key
from ..model.property import nearest, no_attribute
from .annotations import is_class_variable, local_names, own_annotations
from .specs import Index, Spec, Unique, is_callable_default

if TYPE_CHECKING:
    from types import FrameType

_MUTABLE = (list, dict, set, bytearray)
_OPTIONS = (
    "abstract",
    "class_name",
    "configurations",
    "indexes",
    "renaming_identifier",
    "unique",
    "user_info",
    "version_hash_modifier",
)
_HOOK = "awake_from_insert"


class Field(NamedTuple):
    """A class variable that declares a property."""

    variable: str
    name: str  # of the property in the model
    annotation: Any
    default: Any  # UNSET without one
    spec: Spec | None


class Declaration:
    """The content of the body of a declared class."""

    def __init__(
        self, owner: str, entity: str, options: Mapping[str, Any], scopes: tuple[Mapping[str, Any], ...]
    ) -> None:
        self.owner = owner  # the name of the class
        self.entity = entity
        self.options = options
        self.scopes = scopes
        self.fields: dict[str, Field] = {}  # by the name of the property
        self.indexes: list[Index] = []
        self.unique: list[tuple[str, ...]] = []

    def failed(self, problem: str, key: str | None = None, value: Any = None) -> ModelError:
        """Returns an error about the class, or about one of its properties."""
        where = self.entity if key is None else f"{self.entity}.{key}"
        return ModelError(f"{where}: {problem}", entity=self.entity, key=key, value=value)


def declaration_of(kind: Any) -> Declaration | None:
    """Returns the declaration of a class; None if the class does not declare an entity."""
    return vars(kind).get("_cst_declaration") if isinstance(kind, DeclarativeType) else None


def is_declared(kind: Any) -> bool:
    """Whether a value is a class that declares an entity."""
    return declaration_of(kind) is not None


class DeclarativeType(EntityType):
    """The metaclass of classes that declare entities."""

    # By class variable: the names of the properties, including inherited ones.
    _cst_names: Mapping[str, str] = {}

    def __new__(
        mcls, name: str, bases: tuple[type, ...], body: dict[str, Any], *, entity: str | None = None, **options: Any
    ) -> DeclarativeType:
        parents = [base for base in bases if isinstance(base, DeclarativeType)]
        if not parents or "_cst_entity" in body:  # the base class itself, and classes of the objects of an entity
            return cast("DeclarativeType", super().__new__(mcls, name, bases, body, **options))
        own = {each: options.pop(each) for each in _OPTIONS if each in options}
        annotations = own_annotations(body)
        frame: FrameType | None = sys._getframe(1)
        module = sys.modules.get(body.get("__module__", ""))
        scopes = (local_names(annotations, frame), vars(module) if module is not None else {})
        declared = Declaration(name, entity or name, own, scopes)
        _check_parents(declared, parents)
        names = {variable: key for parent in parents for variable, key in parent._cst_names.items()}
        body = dict(body)
        _read(declared, body, annotations, names)
        body.setdefault("__slots__", ())
        body["_cst_declaration"] = declared
        body["_cst_names"] = {**names, **{each.variable: each.name for each in declared.fields.values()}}
        body["_cst_aliases"] = {key: value for key, value in body["_cst_names"].items() if key != value}
        made: list[type] = []
        _add_defaults(declared, parents, body, made)
        made.append(super().__new__(mcls, name, bases, body, entity=declared.entity, **options))
        return cast("DeclarativeType", made[0])

    if not TYPE_CHECKING:  # type checkers report unknown names

        def __getattr__(cls, name: str) -> Any:  # noqa: N805
            """Returns a key for a property."""
            key = cls._cst_names.get(name)
            if key is not None:
                return _key(_entity(cls), key)
            if _entity(cls) is None and not name.startswith("_"):
                known = [*cls._cst_names, *(each for each in dir(cls) if not each.startswith("_"))]
                near = nearest(name, known)
                raise no_attribute(f'the class {cls.__name__} does not have a property "{name}"{near}', name)
            return super().__getattr__(name)

    if sys.version_info < (3, 10):

        def __or__(cls, other: Any) -> Any:  # noqa: N805
            """Returns a union, as of Python 3.10."""
            import typing

            return typing.Union[cls, other]

        def __ror__(cls, other: Any) -> Any:  # noqa: N805
            import typing

            return typing.Union[other, cls]


def _check_parents(declared: Declaration, parents: list[DeclarativeType]) -> None:
    entities = [parent for parent in parents if is_declared(parent)]
    if len(entities) > 1:
        names = " and ".join(parent.__name__ for parent in entities)
        raise declared.failed(
            f"the class {declared.owner} inherits from the entities {names}, but an entity has one superentity; use a "
            "class without properties that does not derive from Entity for shared methods"
        )


def _read(
    declared: Declaration, body: dict[str, Any], annotations: Mapping[str, Any], inherited: Mapping[str, str]
) -> None:
    """Reads the properties, indexes and constraints of a class body, and removes them from the body."""
    _read_options(declared)
    for variable, annotation in annotations.items():
        if is_class_variable(annotation) or (variable.startswith("__") and variable.endswith("__")):
            continue
        value = body.get(variable, UNSET)
        if isinstance(value, property):  # an accessor of the property with the annotated type
            value = UNSET
        else:
            body.pop(variable, None)
        if _is_method(value, variable, body):
            raise declared.failed(
                "the class also has a method of this name; rename the method or the property", variable, value
            )
        field = _field(declared, variable, annotation, value)
        if field.variable in inherited or field.name in inherited.values():
            raise declared.failed(
                f"the superentity already has a property {shown(field.name)}; remove it from {declared.owner}, or "
                "rename it",
                field.name,
            )
        if field.name in declared.fields:
            raise declared.failed("two class variables declare this property; remove one of them", field.name)
        declared.fields[field.name] = field
    for variable, value in list(body.items()):
        if isinstance(value, Spec):
            example = "int" if value.call in ("attribute", "derived") else "Show"
            raise declared.failed(
                f"{value.call}(...) needs an annotation with the type; write {variable}: {example} = {value.call}(...)",
                variable,
                value,
            )
        if isinstance(value, Index):
            value.name = value.name or variable
            declared.indexes.append(value)
            del body[variable]
        elif isinstance(value, Unique):
            declared.unique.append(tuple(value.names))
            del body[variable]


def _is_method(value: Any, variable: str, body: Mapping[str, Any]) -> bool:
    """Whether a value is a method of the class body, and not a function for a default."""
    if isinstance(value, (staticmethod, classmethod)):
        return True
    is_own = getattr(value, "__qualname__", None) == f"{body.get('__qualname__')}.{variable}"
    return isinstance(value, FunctionType) and is_own


def _read_options(declared: Declaration) -> None:
    given = declared.options.get("unique", ())
    for each in (given,) if isinstance(given, str) else given:
        declared.unique.append((each,) if isinstance(each, str) else tuple(each))
    for name, elements in dict(declared.options.get("indexes", {})).items():
        listed = (elements,) if isinstance(elements, str) else tuple(elements)
        declared.indexes.append(Index(listed, None, "binary", name))


def _field(declared: Declaration, variable: str, annotation: Any, value: Any) -> Field:
    spec = value if isinstance(value, Spec) else None
    default = spec.options.get("default", UNSET) if spec is not None else value
    named = spec.options.get("name") if spec is not None else None
    if isinstance(value, (Index, Unique)):
        raise declared.failed("an index or a constraint does not have a type; remove the annotation", variable, value)
    if variable.startswith("_"):
        raise declared.failed(
            f"names that begin with an underscore do not declare properties; rename {variable}, annotate it as a "
            'ClassVar, or write another variable with attribute(name="…")',
            variable,
        )
    reserved = _reserved()
    if variable in reserved:
        raise declared.failed(
            f"every managed object has a member {shown(variable)}; write {variable}_ for a property of that name in "
            "the model, or use another name",
            variable,
        )
    stem = variable[:-1]
    name = named or (stem if variable.endswith("_") and (stem in reserved or keyword.iskeyword(stem)) else variable)
    if not isinstance(name, str):
        raise declared.failed(f"name must be of type str, not {shown(name)}", variable, name)
    if isinstance(default, _MUTABLE):
        remedy = f"attribute(default={type(default).__name__})" if not default else "attribute(default=lambda: …)"
        raise declared.failed(
            f"the default {shown(default)} is mutable and all objects would share it; write {remedy}, which is called "
            "for each object",
            name,
            default,
        )
    return Field(variable, name, annotation, default, spec)


_names: list[frozenset[str]] = []


def _reserved() -> frozenset[str]:
    """Returns the public names of ManagedObject."""
    if not _names:
        _names.append(frozenset(name for name in dir(ManagedObject) if not name.startswith("_")))
    return _names[0]


# -------- defaults that are functions ----------------------------------------------------------------------


def _add_defaults(
    declared: Declaration, parents: list[DeclarativeType], body: dict[str, Any], made: list[type]
) -> None:
    """Adds a hook to a class body that calls functions for defaults when an object is inserted.

    `made` contains the class after its creation.
    """
    inherited = {name: call for parent in parents for name, call in vars(parent).get("_cst_calls", {}).items()}
    own = {each.variable: each.default for each in declared.fields.values() if is_callable_default(each.default)}
    calls = {**inherited, **own}
    body["_cst_calls"] = calls
    written = body.get(_HOOK)
    if own or (calls and written is not None):
        body[_HOOK] = _hook(calls, written, made)


def _hook(calls: Mapping[str, Callable[[], Any]], written: Any, made: list[type]) -> Any:
    def awake_from_insert(self: Any) -> None:
        """Sets the defaults of properties without a value, then calls the method of the class or its superclass."""
        for name, call in calls.items():
            if getattr(self, name) is None:
                setattr(self, name, call())
        if written is not None:
            written(self)
        else:
            cast("Any", super(cast("type[Any]", made[0]), self)).awake_from_insert()

    return awake_from_insert
