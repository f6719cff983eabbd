"""Dumps of objects as JSON, and loads, in the format of the tool's `dump` and `load`."""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple, Union, overload

from .._abi.arguments import choice, shown
from ..errors import CorestoneError, InvalidArgumentError, InvalidUTF8Error, StoreError, TypeMismatchError

if TYPE_CHECKING:
    from ..graph.context import Context, EntityLike
    from ..graph.loading import Loader
    from ..predicate.predicate import Predicate
    from .container import Container

#: A container, a context, or the path of a store.
Place = Union["Container", "Context", str, "os.PathLike[str]"]
_FORMATS = ("jsonl", "json")
_BATCH = 500  # the number of objects that a dump reads at a time


class LoadCounts(NamedTuple):
    """The numbers of objects that a load inserted and updated."""

    inserted: int
    #: The existing objects of records, also those whose values did not change.
    updated: int


# -------- dump ---------------------------------------------------------------------------------------------


@overload
def dump(
    source: Place,
    file: None = None,
    entity: EntityLike | None = None,
    predicate: str | Predicate | bool | None = None,
    *arguments: Any,
    format: str | None = None,
) -> str: ...
@overload
def dump(
    source: Place,
    file: str | os.PathLike[str] | Any,
    entity: EntityLike | None = None,
    predicate: str | Predicate | bool | None = None,
    *arguments: Any,
    format: str | None = None,
) -> int: ...
def dump(
    source: Place,
    file: Any = None,
    entity: EntityLike | None = None,
    predicate: str | Predicate | bool | None = None,
    *arguments: Any,
    format: str | None = None,
) -> Any:
    """Writes objects as JSON, from which `load` and the tool's `load` create the same objects.

        corestone.dump(container, "notes.jsonl")
        text = corestone.dump(context, None, "Note", "folder.name == %@", "Work")

    source     a container or the path of a store (opened read-only): its saved objects. A context: the objects as the
               context has them, including unsaved changes; call this on its queue
    file       a path, whose file is written completely or not at all, or a file object for text; None: returns the text
    entity     dumps this entity and its subentities; None: all objects
    predicate  a condition for the objects of `entity`, followed by its arguments
    format     "jsonl", an object on each line, or "json", one array; None: "json" for a file of that extension

    Returns the number of objects, or the text. A record has "@id" (its name in the dump, such as "Note/p12"),
    "@entity", and the values of stored properties; relationships are names of objects. A dump of all objects contains
    only one side of a relationship whose inverse has the same content. Every value can be read back exactly: decimals
    are text with all digits, binary data is base64, dates are ISO 8601 or the seconds since 2001. Memory does not grow
    with the number of objects, except for the returned text.
    """
    form = _form(format, file)
    with _context_of(source, writable=False) as (context, _):
        if entity is None and (predicate is not None or arguments):
            raise InvalidArgumentError(
                "a dump of all entities cannot have a predicate; pass the entity of the predicate", key="predicate"
            )
        records = _records(context, entity, predicate, arguments)
        if file is None:
            target = io.StringIO()
            _write(records, target, form)
            return target.getvalue()
        if hasattr(file, "write"):
            return _write(records, file, form)
        return _write_file(records, os.fspath(file), form)


def _form(format: str | None, file: Any) -> str:
    if format is not None:
        return choice(format, "format", _FORMATS)
    name = os.fspath(file) if isinstance(file, (str, os.PathLike)) else getattr(file, "name", None)
    extension = os.path.splitext(name)[1].lower() if isinstance(name, str) else ""
    if extension == ".csv":
        raise InvalidArgumentError(
            "Python dumps and loads jsonl and json, not csv; call corestone dump or corestone load for csv files",
            key="format",
            value=format,
            file=str(name),
        )
    return "json" if extension == ".json" else "jsonl"


@contextlib.contextmanager
def _context_of(place: Place, *, writable: bool) -> Iterator[tuple[Context, bool]]:
    """Yields a context of a place, and whether the context belongs to this call, which closes it."""
    from ..graph.context import Context
    from .container import Container, open_container

    if isinstance(place, Context):
        yield place, False
    elif isinstance(place, Container):
        with place.context(unsaved="discard") as context:
            yield context, True
    elif isinstance(place, (str, os.PathLike)):
        with open_container(place, writable=writable, unsaved="discard") as container, container.context() as context:
            yield context, True
    else:
        raise TypeMismatchError(
            f"a dump or load needs a Container, a Context or the path of a store, not {shown(place)}",
            key="source",
            value=place,
        )


def _records(
    context: Context, entity: EntityLike | None, predicate: Any, arguments: tuple[Any, ...]
) -> Iterator[dict[str, Any]]:
    from .dumping import parts_of, record_of

    if entity is None:
        chosen = list(context.model.values())
    else:
        chosen = [context._entity(entity)]
        for each in chosen:  # grows by the subentities of its elements
            chosen += each.children
    for part in parts_of(chosen, is_whole=entity is None):
        prefetch = [each.name for each in part.to_many]
        found = context.stream(
            part.entity, predicate, *arguments, prefetch=prefetch, batch=_BATCH, include_subentities=False
        )
        for item in found:
            yield record_of(item, part)


def _write(records: Iterable[dict[str, Any]], target: Any, form: str) -> int:
    count = 0
    if form == "json":
        target.write("[")
    for record in records:
        line = json.dumps(record, ensure_ascii=False, allow_nan=False)
        target.write(f"{line}\n" if form == "jsonl" else f"{',' if count else ''}\n  {line}")
        count += 1
    if form == "json":
        target.write("\n]\n" if count else "]\n")
    return count


def _write_file(records: Iterable[dict[str, Any]], path: str, form: str) -> int:
    """Writes a new file, which replaces the file at the path when it is complete."""
    folder, name = os.path.split(path)
    draft = os.path.join(folder, f".{name}.{os.getpid()}.part")
    try:
        _refuse_store(path)
        with open(draft, "x", encoding="utf-8", newline="\n") as target:
            count = _write(records, target, form)
            target.flush()
            os.fsync(target.fileno())
        os.replace(draft, path)
    except CorestoneError:
        _remove(draft)
        raise
    except OSError as error:
        _remove(draft)
        raise StoreError(f"cannot write {path}: {error.strerror or error}; check the path", file=path) from error
    except BaseException:
        _remove(draft)
        raise
    return count


def _refuse_store(path: str) -> None:
    with contextlib.suppress(FileNotFoundError, IsADirectoryError), open(path, "rb") as existing:
        if existing.read(16).startswith(b"SQLite format 3"):
            raise InvalidArgumentError(f"cannot write {path}: the file is a store; choose another path", file=path)


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


# -------- load ---------------------------------------------------------------------------------------------


def load(
    target: Place,
    source: Any,
    entity: EntityLike | None = None,
    *,
    upsert: bool = False,
    skip_unknown: bool = False,
    format: str | None = None,
) -> LoadCounts:
    """Inserts the objects of a dump, or of other JSON, and returns the numbers of inserted and updated objects.

        corestone.load(container, "notes.jsonl")
        corestone.load(container, [{"@id": "a", "title": "One"}, {"title": "Two", "folder": {"name": "Work"}}], "Note")

    target        a container or the path of a store: the call saves the objects in one transaction. A context: the
                  objects are not saved; call this on its queue
    source        a path, a file object for text or bytes, or an iterable of dictionaries
    entity        the entity of records without "@entity"
    upsert        True: a record updates the object that has its unique values, or whose URI is its "@id"; see
                  Context.upsert. The number of updates includes objects whose values do not change
    skip_unknown  True: properties that the model does not have are ignored
    format        "jsonl" or "json"; None: "json" for a file of that extension

    The value of a relationship is the "@id" of any record, the URI of an object, a record, or a list of these. A nested
    record becomes an object of the relationship's entity. Members of a to-many relationship are added, and those of an
    ordered one replaced. Values are converted to the types of the model, like those of Container.upsert. Derived and
    transient attributes are ignored. If the call fails, nothing is changed, and the error names the file and the line.
    """
    from ..graph.loading import Loader, at, placed

    with _context_of(target, writable=True) as (context, is_own):
        default = None if entity is None else context._entity(entity)
        loader = Loader(context, upserts=upsert, skips_unknown=skip_unknown, is_own=is_own)
        try:
            for place, record in _given(source, format):
                try:
                    loader.add(default, record, place)
                except CorestoneError as error:
                    raise placed(error, place) from None
                except RecursionError:
                    raise InvalidArgumentError(
                        f'{at(place)}the record is nested too deeply; refer to inner records by their "@id"',
                        key="record",
                    ) from None
            loader.finish()
            counts = LoadCounts(len(loader.inserted), len(loader.updated))
            if is_own:
                _save(context, loader)
        except BaseException:
            if not is_own:
                loader.undo()
            raise
        return counts


def _save(context: Context, loader: Loader) -> None:
    """Saves the objects. An error of an object begins with the place of its record."""
    from ..graph.loading import placed
    from ..graph.object import object_id

    try:
        context.save()
    except CorestoneError as error:
        places = {object_id(item).uri: place for item, place in loader.places.items()}
        for each in (error, *error.details):
            if each.object_uri in places:
                placed(each, places[each.object_uri])
        conflicting = [id.uri for each in error.conflicts for id in getattr(each, "object_ids", ())]
        place = next((places[uri] for uri in conflicting if uri in places), "")
        raise placed(error, place) from None


def _given(source: Any, format: str | None) -> Iterator[tuple[str, Any]]:
    """Yields the place and the contents of each record."""
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        if not path:
            raise InvalidArgumentError("source is empty; pass the path of a file", key="source")
        try:
            with open(path, encoding="utf-8-sig") as file:
                yield from _parsed(file, _form(format, path), path)
        except FileNotFoundError:
            raise InvalidArgumentError(f"{path} does not exist; check the path", file=path) from None
        except OSError as error:
            raise StoreError(f"cannot read {path}: {error.strerror or error}", file=path) from error
        return
    if hasattr(source, "read"):
        name = getattr(source, "name", None)
        name = name if isinstance(name, str) else "the file"
        is_text = isinstance(source.read(0), str)
        lines = source if is_text else io.TextIOWrapper(source, encoding="utf-8-sig")
        yield from _parsed(lines, _form(format, source), name)
        return
    if isinstance(source, (bytes, Mapping)) or not isinstance(source, Iterable):
        raise TypeMismatchError(
            f"source must be a path, a file object or an iterable of dictionaries, not {shown(source)}",
            key="source",
            value=source,
        )
    for number, record in enumerate(source, 1):
        yield f"record {number}", record


def _parsed(lines: Iterable[str], form: str, name: str) -> Iterator[tuple[str, Any]]:
    place = name
    try:
        if form == "json":
            found = _json("".join(lines), place)
            for number, record in enumerate(found if isinstance(found, list) else [found], 1):
                yield f"{name}: record {number}", record
            return
        for number, line in enumerate(lines, 1):
            place = f"{name}:{number}"
            if line.strip():
                yield place, _json(line, place)
    except UnicodeDecodeError as error:
        raise InvalidUTF8Error(
            f"{place}: the file is not valid UTF-8; convert it first, for example with iconv -t UTF-8", file=name
        ) from error


def _json(text: str, place: str) -> Any:
    try:
        return json.loads(text, parse_float=_number, parse_int=_integer)
    except (ValueError, RecursionError) as error:
        what = f"{error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)
        raise InvalidArgumentError(f"{place}: cannot read JSON: {what}", key="record", value=text[:60]) from None


def _number(text: str) -> float | Decimal:
    """Returns a number with all of its digits, of which a float has 15."""
    return float(text) if len(text) <= 16 else Decimal(text)


def _integer(text: str) -> int | Decimal:
    if len(text) <= 18:
        return int(text)
    found = Decimal(text)
    return int(found) if -(2**63) <= found < 2**63 else found
