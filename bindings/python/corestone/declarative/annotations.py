"""Annotations of declared classes: their evaluation, also of forward references, and their parts.

Annotations that are strings are evaluated when a model is made from the classes. Names that are not defined then are
looked up among the entities of the model. `Show | None` in a string works in every supported version of Python.
"""

from __future__ import annotations

import ast
import sys
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ForwardRef, NamedTuple, Union

from .._abi.arguments import described, shown
from ..errors import ModelError

if typing.TYPE_CHECKING:
    from types import FrameType

Lookup = Callable[[str], Any]  # returns the declared class of a name, or None


def own_annotations(body: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the annotations in the namespace of a class body."""
    if sys.version_info >= (3, 14):
        import importlib

        library = importlib.import_module("annotationlib")
        annotate = library.get_annotate_from_class_namespace(body)
        if annotate is not None:
            return dict(library.call_annotate_function(annotate, library.Format.FORWARDREF))
    return dict(body.get("__annotations__", {}))


def local_names(annotations: Mapping[str, Any], frame: FrameType | None) -> dict[str, Any]:
    """Returns the values of names in annotations that are local variables where the class is defined."""
    if frame is None or frame.f_locals is frame.f_globals:
        return {}
    wanted = {name for each in annotations.values() for name in _names(each)}
    found: dict[str, Any] = {}
    while frame is not None and frame.f_locals is not frame.f_globals:
        variables = frame.f_locals
        found.update({name: variables[name] for name in wanted - found.keys() if name in variables})
        frame = frame.f_back if "__qualname__" in variables else None  # from a class body to its surroundings
    return found


def _names(annotation: Any) -> Iterator[str]:
    if isinstance(annotation, ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        try:
            tree = ast.parse(annotation.strip(), mode="eval")
        except SyntaxError:
            return
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                yield node.id
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from _names(node.value)
        return
    for each in typing.get_args(annotation):
        yield from _names(each)


class _Unions(ast.NodeTransformer):
    """Replaces `A | B` with a call, because classes do not have that operator before Python 3.10."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.BitOr):
            return node
        name = ast.Name(id=_UNION, ctx=ast.Load())
        return ast.copy_location(ast.Call(func=name, args=[node.left, node.right], keywords=[]), node)


_UNION = "__corestone_union__"


class _Scope(dict[str, Any]):
    """The names that an annotation can use. An unknown name becomes a forward reference."""

    def __init__(self, scopes: tuple[Mapping[str, Any], ...], lookup: Lookup) -> None:
        super().__init__()
        self.scopes, self.lookup = scopes, lookup

    def __missing__(self, name: str) -> Any:
        import builtins

        if name == _UNION:
            return lambda left, right: Union[left, right]
        local, *others = self.scopes
        if name in local:
            return local[name]
        found = self.lookup(name)
        if found is not None:
            return found
        for scope in (*others, vars(builtins)):
            if name in scope:
                return scope[name]
        return ForwardRef(name)


class Place(NamedTuple):
    """The class variable of an annotation, for evaluation and messages."""

    entity: str
    key: str
    scopes: tuple[Mapping[str, Any], ...]  # local variables, then those of the module
    lookup: Lookup

    def failed(self, problem: str, value: Any = None) -> ModelError:
        """Returns an error about the class variable."""
        return ModelError(f"{self.entity}.{self.key}: {problem}", entity=self.entity, key=self.key, value=value)


def evaluated(annotation: Any, place: Place) -> Any:
    """Returns an annotation in which strings and forward references are evaluated; ForwardRef for an unknown name."""
    if annotation is None:
        return type(None)
    if not isinstance(annotation, (str, ForwardRef)):
        return annotation
    text = annotation if isinstance(annotation, str) else annotation.__forward_arg__
    try:
        tree = ast.fix_missing_locations(_Unions().visit(ast.parse(text.strip(), mode="eval")))
        found = eval(compile(tree, "<annotation>", "eval"), {"__builtins__": {}}, _Scope(place.scopes, place.lookup))
    except Exception as error:
        raise place.failed(
            f"the annotation {shown(text)} cannot be evaluated ({described(error)}); define its names in the module, "
            "or pass the class to Model",
            text,
        ) from error
    if isinstance(found, ForwardRef) and found.__forward_arg__ != text:
        return evaluated(found, place)
    return evaluated(found, place) if isinstance(found, str) else found


class Parts(NamedTuple):
    """An annotation without its wrappers."""

    kind: Any  # a class, a ForwardRef, or a generic type with arguments
    is_optional: bool
    metadata: tuple[Any, ...]  # of Annotated


def parts(annotation: Any, place: Place, wrappers: tuple[Any, ...]) -> Parts:
    """Returns the parts of an annotation. `wrappers` are generic classes whose only argument is the type."""
    optional, metadata = False, ()  # type: tuple[bool, tuple[Any, ...]]
    kind = evaluated(annotation, place)
    while True:
        origin = typing.get_origin(kind)
        if origin is typing.Annotated:
            metadata = (*metadata, *kind.__metadata__)
            kind = evaluated(kind.__origin__, place)
        elif origin is Union or _is_union(kind):
            members = [evaluated(each, place) for each in typing.get_args(kind)]
            left = [each for each in members if each is not type(None)]
            if len(left) != 1:
                raise place.failed(
                    f"the annotation {name_of(kind)} has several types; use one type, or one type and None", annotation
                )
            optional = optional or len(left) < len(members)
            kind = left[0]
        elif origin in wrappers:
            kind = evaluated(typing.get_args(kind)[0], place)
        else:
            return Parts(kind, optional, metadata)


def _is_union(kind: Any) -> bool:
    return type(kind).__name__ in ("UnionType", "Union") and bool(typing.get_args(kind))


def is_class_variable(annotation: Any) -> bool:
    """Whether an annotation is a ClassVar, evaluated or not."""
    if isinstance(annotation, ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        head = annotation.strip().split("[")[0]
        return head.split(".")[-1] == "ClassVar"
    return annotation is typing.ClassVar or typing.get_origin(annotation) is typing.ClassVar


def name_of(kind: Any) -> str:
    """Returns a type for a message, as it is written in Python."""
    if isinstance(kind, ForwardRef):
        return kind.__forward_arg__
    if isinstance(kind, type) and not typing.get_args(kind):
        return kind.__name__
    return str(kind).replace("typing.", "")
