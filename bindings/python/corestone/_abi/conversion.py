"""The conversion of Python values to cst_value, for predicates, expressions and sort descriptors, and back.

Dictionaries, lists, tuples, sets and other collections, the types of values.py (numbers, text, dates …) and managed
objects are converted; predicates read the attributes of any other object with callbacks. The arguments of a call become
one block of cst_value cells, so that a whole list requires only one call.
"""

from __future__ import annotations

import ctypes
import enum
import struct
import threading
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from itertools import chain, count
from sys import intern
from types import BuiltinMethodType, MemberDescriptorType, MethodType
from typing import Any
from uuid import UUID

from .. import _abi
from ..errors import CorestoneError, InvalidArgumentError, TypeMismatchError
from . import values
from .arguments import shown
from .borrowed import wrapper
from .callbacks import reported
from .handles import retained
from .interface import lib
from .interrupt import immortal

_SUSPICIOUS = 12  # the nesting depth at which the encoder looks for a collection that contains itself
_NESTING = 64  # the deepest nesting of collections, as in the library
_CELLS = 1 << 24  # the maximum number of cells in one call
_CELL = ctypes.sizeof(_abi.Value)
_words = struct.Struct("=qqq")
_KIND = [struct.unpack("=q", struct.pack("=II", kind, 0))[0] for kind in range(_abi.HISTORY_TOKEN + 1)]
_TRUE = struct.unpack("=q", b"\x01" + bytes(7))[0]
_NULL, _BOOL, _INT, _DOUBLE = (_KIND[kind] for kind in (_abi.NULL, _abi.BOOL, _abi.INT, _abi.DOUBLE))
_NOTHING, _TEXT_ONLY = (_NULL, 0, 0), {str}
_STRING, _BYTES, _DATE = _KIND[_abi.STRING], _KIND[_abi.BYTES], _KIND[_abi.DATE]
_ARRAY, _SET, _DICTIONARY = _KIND[_abi.ARRAY], _KIND[_abi.SET], _KIND[_abi.DICTIONARY]

# -------- objects that the library retains -----------------------------------------------------------------

_retained: dict[int, list[Any]] = {}  # by id: the object, and its retain count
_lock = threading.RLock()  # reentrant: deallocating an object may make the library release another one


def _retain_item(item: Any) -> int:
    token = id(item)
    with _lock:
        entry = _retained.setdefault(token, [item, 0])
        entry[1] += 1
    return token


def _release(token: int, held: dict[int, list[Any]] = _retained, holding: Any = _lock) -> None:
    with holding:  # the defaults of the parameters, because the globals of a module are cleared at interpreter exit
        entry = held.get(token)
        if entry is not None:
            entry[1] -= 1
            if entry[1] <= 0:
                del held[token]


def _retain(token: int) -> None:
    with _lock:
        _retained[token][1] += 1


def retain_object(slot: Any, value: Any) -> int:
    """Fills a cst_value with a reference to an object. Returns the token to be passed to `release_object`."""
    token = _retain_item(value)
    slot.type, slot.aux = _abi.HOST, 0
    slot.payload.host.callbacks, slot.payload.host.object = _CALLBACKS, token
    return token


release_object = _release


def held_object(token: int) -> Any:
    """Returns the object of a value of the type CST_HOST."""
    return _retained[token][0]


# -------- Python to cst_value ------------------------------------------------------------------------------


class Encoded:
    """An array of cst_value at `address`, which lives as long as this object. `name` is the parameter in errors."""

    __slots__ = ("_cells", "_given", "_retained", "_texts", "address", "count")

    def __init__(self, items: Sequence[Any], name: str | None = None) -> None:
        self._retained: list[int] = []
        self._given: list[Any] = []  # the owners of handles
        self.count = len(items)
        encoder = _Encoder(self._retained, self._given)
        try:
            encoder.run(items)
        except CorestoneError as error:
            raise values.located(error, None, name, None) from None
        self._texts = array("b", b"\0".join(encoder.texts) + b"\0")
        self._cells = array("q", encoder.words) if encoder.words else array("q", (0,))
        self.address = self._cells.buffer_info()[0]
        texts, cells = self._texts.buffer_info()[0], self._cells
        for place in encoder.text_words:
            cells[place] += texts
        for place in encoder.member_words:
            cells[place] = cells[place] * _CELL + self.address
        if encoder.reals:
            view = memoryview(cells).cast("B").cast("d")
            for place, real in encoder.reals:
                view[place] = real

    def __del__(self, release: Any = _release) -> None:
        for token in self._retained:
            release(token)


class Entries(list[Any]):
    """Alternating keys and values, to be encoded as a dictionary."""

    __slots__ = ()


class _Encoder:
    """An encoder that adds values level by level, so that the members of each collection are adjacent."""

    def __init__(self, held: list[int], given: list[Any]) -> None:
        self.words: list[int] = []
        self.texts: list[bytes] = []
        self.text_words: list[int] = []  # words that are offsets into the texts
        self.member_words: list[int] = []  # words that are indexes of cells
        self.reals: list[tuple[int, float]] = []
        self._end = 0
        self._retained = held
        self._given = given
        # The next level: its collections, each with the index of the word that receives the index of its first cell.
        self._next: list[tuple[int, Sequence[Any]]] = []

    def run(self, items: Sequence[Any]) -> None:
        level: list[tuple[int, Sequence[Any]]] = [(-1, items)]
        known: dict[str, tuple[int, int, int]] = {}
        for depth in range(_NESTING + 2):
            if depth == _SUSPICIOUS and _holds_itself(items):
                raise InvalidArgumentError(
                    "a collection contains itself and cannot be used as a value; use a copy without the cycle",
                    value=items[0] if len(items) == 1 else items,
                )
            self._next = []
            self._add_level(level, known, items)
            level = self._next
            if not level:
                return
        raise InvalidArgumentError(
            f"collections are nested more than {_NESTING} levels deep; use a flatter value",
            value=items[0] if len(items) == 1 else items,
        )

    def _add_level(
        self, level: list[tuple[int, Sequence[Any]]], known: dict[str, tuple[int, int, int]], items: Sequence[Any]
    ) -> None:
        words, member_words, note_text, wait = self.words, self.member_words, self.text_words.append, self._next.append
        for place, members in level:
            if place >= 0:
                words[place] = len(words) // 3
                member_words.append(place)
            total = len(words) // 3 + len(members)
            if total > _CELLS:
                raise InvalidArgumentError(
                    f"the values have at least {total} elements in total, but the limit is {_CELLS}; use fewer values "
                    "or smaller collections",
                    value=items[0] if len(items) == 1 else items,
                )
            for value in members:
                kind = type(value)
                if kind is str:
                    found = known.get(value)
                    if found is None:
                        found = known[value] = (_STRING, *self._text(_abi.utf8(value)))
                    note_text(len(words) + 1)
                    words += found
                elif kind is int and values.INT_MIN <= value <= values.INT_MAX:
                    words += (_INT, value, 0)
                elif kind is float:
                    self.reals.append((len(words) + 1, value))
                    words += (_DOUBLE, 0, 0)
                elif value is None:
                    words += _NOTHING
                elif kind is bool:
                    words += (_BOOL, _TRUE if value else 0, 0)
                elif kind is Entries:
                    wait((len(words) + 1, value))
                    words += (_DICTIONARY, 0, len(value))
                elif kind is dict:
                    wait((len(words) + 1, _flat(value)))
                    words += (_DICTIONARY, 0, 2 * len(value))
                elif kind is list or kind is tuple:
                    wait((len(words) + 1, value))
                    words += (_ARRAY, 0, len(value))
                else:
                    self._add_other(value)

    def _text(self, data: bytes) -> tuple[int, int]:
        place = self._end, len(data)
        self.texts.append(data)
        self._end += len(data) + 1
        return place

    def _add_members(self, kind: int, members: Sequence[Any]) -> None:
        self._next.append((len(self.words) + 1, members))
        self.words += (kind, 0, len(members))

    def _add_as(self, value: Any) -> None:
        """Adds a value that the caller converted to a plain type."""
        self._add_level([(-1, (value,))], {}, (value,))

    def _add_other(self, value: Any) -> None:
        words = self.words
        handle = getattr(type(value), "_cst_value_handle", None)
        if handle is not None:
            kind, token = handle(value)
            self._given.append(value)
            words += (_KIND[kind], token - (1 << 64) if token >> 63 else token, 0)
        elif isinstance(value, enum.Enum) and isinstance(value.value, (str, int, float)):
            self._add_as(value.value)
        elif isinstance(value, datetime):
            self.reals.append((len(words) + 1, values.date_to_seconds(value)))
            words += (_DATE, 0, 0)
        elif isinstance(value, (bytes, bytearray, memoryview)):
            self.text_words.append(len(words) + 1)
            words += (_BYTES, *self._text(bytes(value)))
        elif isinstance(value, int):
            self._add_as(int(value) if values.INT_MIN <= value <= values.INT_MAX else Decimal(int(value)))
        elif isinstance(value, str):
            self._add_as(str.__str__(value))
        elif isinstance(value, (Decimal, UUID, date)) or _is_number(value):
            cell = _abi.Value()
            values.encode(cell, value)
            words += _words.unpack_from(cell)
        elif isinstance(value, float):
            self._add_as(float(value))
        elif isinstance(value, Mapping):
            self._add_members(_DICTIONARY, _flat(value))
        elif isinstance(value, tuple) and hasattr(value, "_asdict"):
            self._add_members(_DICTIONARY, _flat(value._asdict()))
        elif isinstance(value, Set):
            self._add_members(_SET, list(value))
        elif isinstance(value, (Collection, Iterable)) and not isinstance(value, (type, enum.Enum)):
            self._add_members(_ARRAY, list(value))
        elif getattr(type(value), "_cst_is_condition", False):
            raise TypeMismatchError(
                f"{shown(value)} is a predicate and cannot be used as a value; combine predicates with &, | and ~, or "
                "use the result of evaluate",
                value=value,
            )
        else:
            self._retained.append(_retain_item(value))
            words += (_KIND[_abi.HOST], _CALLBACKS, id(value))


def _holds_itself(items: Sequence[Any]) -> bool:
    """Whether a dictionary, list or tuple contains itself, directly or through others of these types."""
    done, way, waiting = set[int](), set[int](), [(items, False)]
    while waiting:
        members, is_left = waiting.pop()
        mark = id(members)
        if is_left:
            way.discard(mark)
            done.add(mark)
        elif mark in way:
            return True
        elif mark not in done:
            way.add(mark)
            waiting.append((members, True))
            inner = members.values() if isinstance(members, dict) else members
            waiting += [(each, False) for each in inner if type(each) in (dict, list, tuple)]
    return False


def _is_number(value: Any) -> bool:
    """Whether a value can be converted to a number, such as one of NumPy; False for members of an Enum."""
    kind = type(value)
    return not isinstance(value, enum.Enum) and (hasattr(kind, "__index__") or hasattr(kind, "__float__"))


def _flat(members: Mapping[Any, Any]) -> list[Any]:
    """Returns alternating keys and values. Keys become strings, which predicates require."""
    if set(map(type, members)) <= _TEXT_ONLY:
        return list(chain.from_iterable(members.items()))
    return list(chain.from_iterable((str(key), value) for key, value in members.items()))


def encode_one(value: Any, name: str | None = None) -> Encoded:
    return Encoded((value,), name)


_NO_VARIABLES = Encoded(({},))


def encode_variables(variables: Mapping[str, Any] | None) -> Encoded:
    """Returns the encoded dictionary of the variables `$name`; empty for None, so that `$name := …` can add to it."""
    return Encoded((dict(variables),), "variables") if variables else _NO_VARIABLES


# -------- cst_value to Python ------------------------------------------------------------------------------


def decode(cell: Any) -> Any:
    """Returns the Python value of a cst_value and its members. Text is copied, and handles are retained.

    A set with members that Python cannot hash becomes a list.
    """
    kind = cell.type
    if kind in (_abi.ARRAY, _abi.SET, _abi.DICTIONARY):
        count = cell.payload.values.size
        members = (
            [decode(each) for each in (_abi.Value * count).from_address(cell.payload.values.data or 0)] if count else []
        )
        if kind == _abi.ARRAY:
            return members
        if kind == _abi.DICTIONARY:
            return dict(zip(members[::2], members[1::2]))
        try:
            return set(members)
        except TypeError:  # dictionaries and lists are not hashable in Python
            return members
    if kind == _abi.HOST:
        return held_object(cell.payload.host.object)
    if kind == _abi.OBJECT:
        return wrapper(cell.payload.handle)
    if kind == _abi.EXPRESSION:
        from ..predicate.expression import Expression

        return Expression._borrowed(cell.payload.handle)
    if kind == _abi.HISTORY_TOKEN:
        from ..graph.history import HistoryToken

        return HistoryToken._owned(retained(cell.payload.handle))
    low, high = struct.unpack_from("=qq", cell, _abi.PAYLOAD_OFFSET)
    return values.decode_words(kind, cell.aux, low, high, None)


def take(cell: _abi.Value) -> Any:
    """Returns the Python value of a cst_value that a call returned, and disposes of the cst_value."""
    try:
        return decode(cell)
    finally:
        lib.cst_value_dispose(ctypes.byref(cell))


# -------- callbacks of the library -------------------------------------------------------------------------

_results = threading.local()  # the last result of each thread, whose cells the library reads after the callback


def return_value(value: Any, out: Any) -> None:
    """Stores a value in the output parameter of a callback."""
    encoded = _results.last = encode_one(value)
    ctypes.memmove(out, encoded.address, _CELL)


class NoSuchKey(Exception):
    """The error for a name that is not an attribute of the object, or that predicates must not read."""


def attribute(item: Any, key: str) -> Any:
    """Returns the value for a key, in the order of key-value coding.

    The order is: the method `getKey`, the attribute or method `key`, the method `isKey`. A method is called; a method
    that needs arguments is not a key.
    """
    kind, (getter, asker) = type(item), _accessors(key)
    if getter and callable(getattr(kind, getter, None)):
        method = getattr(item, getter)
        if _needs_nothing(method):
            return method()
    try:
        found = plain_attribute(item, key)
    except NoSuchKey:
        if not asker or not callable(getattr(kind, asker, None)):
            raise
        found = getattr(item, asker)
    if not is_own_method(found, item):
        return found
    if not _needs_nothing(found):
        raise NoSuchKey(key)
    return found()


@lru_cache(1024)
def _accessors(key: str) -> tuple[str, str]:
    """Returns the names `getKey` and `isKey` as interned strings, which Python looks up fast."""
    if key.startswith("_"):
        return "", ""
    tail = key[:1].upper() + key[1:]
    return intern("get" + tail), intern("is" + tail)


def is_own_method(found: Any, item: Any) -> bool:
    """Whether the value of an attribute is a method of the object, not a function stored in it."""
    return isinstance(found, (MethodType, BuiltinMethodType)) and (
        found.__self__ is item or found.__self__ is type(item)
    )


def _needs_nothing(method: Any) -> bool:
    if isinstance(method, MethodType):
        return _takes_only_itself(method.__func__)
    import inspect

    try:
        inspect.signature(method).bind()
        return True
    except (TypeError, ValueError):
        return False


@lru_cache(256)
def _takes_only_itself(function: Any) -> bool:
    import inspect

    try:
        inspect.signature(function).bind(None)
        return True
    except (TypeError, ValueError):
        return False


def plain_attribute(item: Any, key: str) -> Any:
    """Returns an attribute without calling it.

    A predicate may contain text from users. So NoSuchKey is also raised for a name that begins with an underscore,
    unless it names a value in the object itself or a property of its entity, and for every name that begins with two
    underscores.
    """
    kind = type(item)
    if key.startswith("_"):
        is_value = (
            key in getattr(item, "__dict__", ())
            or key in getattr(item, "_cst_properties", ())
            or isinstance(getattr(kind, key, None), MemberDescriptorType)
        )
        if key.startswith("__") or not is_value:
            raise NoSuchKey(key)
    try:
        return getattr(item, key)
    except AttributeError:
        if hasattr(kind, key):
            raise  # the property itself raised the error
        raise NoSuchKey(key) from None


def _value_for_key(token: int, key: Any, out: Any, error: Any) -> int:
    try:
        return_value(attribute(_retained[token][0], _abi.decode(key) or ""), out)
        return _abi.OK
    except NoSuchKey:
        return _abi.NOT_FOUND
    except BaseException as raised:
        return reported(raised, error)


_names: dict[str, Any] = {}


def _class_name(token: int) -> int:
    name = type(_retained[token][0]).__name__
    return ctypes.addressof(_names.setdefault(name, ctypes.create_string_buffer(name.encode())))


def _is_equal(token: int, other: int) -> bool:
    try:
        return bool(_retained[token][0] == _retained[other][0])
    except Exception:
        return False


def _hash(token: int) -> int:
    try:
        return hash(_retained[token][0]) & (1 << 64) - 1
    except Exception:  # not hashable: equal objects still have the same hash
        return 0


def _compare(token: int, other: int, out: Any, error: Any) -> int:
    a, b = _retained[token][0], _retained[other][0]
    try:
        out[0] = -1 if a < b else 1 if b < a else 0
        return _abi.OK
    except TypeError:
        return _abi.NOT_FOUND
    except BaseException as raised:
        return reported(raised, error)


_callbacks = immortal(
    _abi.HostCallbacks(
        ctypes.sizeof(_abi.HostCallbacks),
        immortal(_abi.HostCallbacks.VALUE_FOR_KEY(_value_for_key)),
        _abi.HostCallbacks.COUNT(),
        _abi.HostCallbacks.ELEMENT(),
        immortal(_abi.HostCallbacks.CLASS_NAME(_class_name)),
        immortal(_abi.HostCallbacks.IS_EQUAL(_is_equal)),
        immortal(_abi.HostCallbacks.HASH(_hash)),
        immortal(_abi.HostCallbacks.COMPARE(_compare)),
        immortal(_abi.HostCallbacks.RETAIN(_retain)),
        immortal(_abi.HostCallbacks.RELEASE(_release)),
    )
)
_CALLBACKS = ctypes.addressof(_callbacks)


# -------- Python functions that the library keeps ----------------------------------------------------------

_functions: dict[int, Any] = {}
_numbers = count(1)


def register(function: Any) -> int:
    """Stores a function or another object, and returns its number, which the library passes to callbacks."""
    with _lock:
        number = next(_numbers)
        _functions[number] = function
    return number


def registered(number: int) -> Any:
    return _functions[number]


def drop(number: int, functions: dict[int, Any] = _functions) -> None:
    """Removes a function or object that `register` stored."""
    functions.pop(number, None)


forget = immortal(_abi.DESTROY_FN(lambda number, functions=_functions: functions.pop(number, None) and None))
