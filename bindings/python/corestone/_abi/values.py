"""Conversion between Python values and cst_value.

None · bool · int (64 bits) · float · decimal.Decimal (38 digits) · str · bytes · datetime (with a time zone) ·
uuid.UUID · managed objects · object IDs. The value of a URI attribute is a str.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, Callable
from uuid import UUID

from .. import _abi
from ..codes import AttributeType
from ..errors import CorestoneError, InternalError, InvalidArgumentError, NumberRangeError, TypeMismatchError
from .arguments import shown
from .handles import Handle, retained

if TYPE_CHECKING:
    from ..graph.context import Context
    from ..model.entity import Entity

EPOCH = datetime(2001, 1, 1, tzinfo=timezone.utc)
#: The seconds of datetime.min and datetime.max in UTC. The latter is rounded: in the year 9999, a double is less
#: precise than a microsecond.
_FIRST_SECONDS, _LAST_SECONDS = -63113904000.0, 252423993600.0
#: The distance between _FIRST_SECONDS and the next lower number.
_FIRST_STEP = 2.0**-17
INT_MIN, INT_MAX = -(1 << 63), (1 << 63) - 1
_DECIMAL_LIMIT = 10**38
_MASK = (1 << 64) - 1
_WORDS = struct.Struct("=IIqq")
_double_from_bits = struct.Struct("=d").unpack
_bits = struct.Struct("=q").pack
_two_words = struct.Struct("=qq").pack


class Cell:
    """One cst_value, with views of its parts for fast access, and an output handle for an error."""

    __slots__ = (
        "address",
        "aux",
        "error",
        "error_ref",
        "handle",
        "kind",
        "numbers",
        "real",
        "ref",
        "size",
        "text",
        "value",
    )

    def __init__(self) -> None:
        self.value = value = _abi.Value()
        self.ref = ctypes.byref(value)
        self.error: Handle | None = Handle()
        self.error_ref = ctypes.byref(self.error)
        at = _abi.PAYLOAD_OFFSET
        self.text: Any  # bytes up to the first NUL
        self.address: Any
        self.handle: Any = ctypes.c_void_p.from_buffer(value, 0)  # for a call whose output is a handle, not a value
        self.kind = ctypes.c_uint32.from_buffer(value, 0)
        self.aux = ctypes.c_uint32.from_buffer(value, 4)
        self.real = ctypes.c_double.from_buffer(value, at)
        # By type: the values that the cell stores directly.
        self.numbers: dict[int, Any] = {
            _abi.BOOL: ctypes.c_bool.from_buffer(value, at),
            _abi.INT: ctypes.c_int64.from_buffer(value, at),
            _abi.DOUBLE: self.real,
        }
        self.text = ctypes.c_char_p.from_buffer(value, at)
        self.address = ctypes.c_void_p.from_buffer(value, at)
        self.size = ctypes.c_size_t.from_buffer(value, _abi.SIZE_OFFSET)


# The pool of cells. Taking a cell and putting it back are atomic: another thread, a signal handler or a finalizer that
# reads an attribute in between cannot get the same cell.
_cells: list[Cell] = []
put_cell = _cells.append
take_cell = _cells.pop  # IndexError: the pool is empty, create a Cell


# A cell keeps its last string or bytes alive. Bytes can be large, so a cell with bytes is not put back.
BULKY = frozenset((bytes, bytearray, memoryview))

# -------- Python to cst_value ------------------------------------------------------------------------------


def date_to_seconds(value: datetime) -> float:
    """Returns seconds since 2001-01-01 UTC. Rejects a datetime without a time zone or outside the years 1 to 9999."""
    if value.tzinfo is None or value.utcoffset() is None:
        raise InvalidArgumentError(
            f"{value!r} does not have a time zone; add one with value.replace(tzinfo=timezone.utc), or with "
            "value.astimezone() for the local time zone",
            value=value,
        )
    seconds = (value - EPOCH).total_seconds()
    if not _FIRST_SECONDS <= seconds <= _LAST_SECONDS:
        raise InvalidArgumentError(f"{value!r} is outside the years 1 to 9999 in UTC", value=value)
    return seconds


def refuse_day(value: Any) -> None:
    """Raises TypeMismatchError for a date that is not a datetime, because it does not identify a moment."""
    if isinstance(value, date) and not isinstance(value, datetime):
        raise TypeMismatchError(
            f"{value!r} is a date without a time; use a datetime with a time zone, such as "
            "datetime.combine(value, time(), timezone.utc) for midnight in UTC",
            value=value,
        )


def moment(value: Any, name: str, what: str) -> float:
    """Returns the seconds since 2001-01-01 UTC of a datetime argument. Errors name the parameter."""
    try:
        refuse_day(value)
        if isinstance(value, datetime):
            return date_to_seconds(value)
    except CorestoneError as error:
        raise located(error, None, name, value) from None
    raise TypeMismatchError(f"{name} must be {what}, not {shown(value)}", key=name, value=value)


def _short(value: Decimal) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def decimal_parts(value: Decimal) -> tuple[int, int]:
    """Returns the mantissa (128 bits) and the aux field of a decimal."""
    sign, digits, power = value.as_tuple()
    if not isinstance(power, int):
        raise InvalidArgumentError(
            f"a decimal cannot be {_short(value)}; use a finite number, or None for a missing value", value=value
        )
    exponent: int = power
    mantissa = 0
    for digit in digits:
        mantissa = mantissa * 10 + digit
    if mantissa == 0:
        exponent = min(max(exponent, -128), 127)
    while mantissa and (mantissa >= _DECIMAL_LIMIT or exponent < -128) and mantissa % 10 == 0:
        mantissa //= 10
        exponent += 1
    while exponent > 127 and mantissa * 10 < _DECIMAL_LIMIT:
        mantissa *= 10
        exponent -= 1
    if mantissa >= _DECIMAL_LIMIT or not -128 <= exponent <= 127:
        rounded = max(exponent, power + len(digits) - 38)  # the exponent after rounding to 38 digits
        if rounded > 127:
            remedy = ""
        elif rounded >= -128:
            remedy = "; round it with decimal.Context(prec=38).plus(value)"
        else:
            remedy = '; round it with decimal.Context(prec=38).quantize(value, Decimal("1E-128"))'
        raise InvalidArgumentError(
            f"{_short(value)} does not fit a decimal, which has up to 38 digits and exponents -128 to 127{remedy}",
            value=value,
        )
    return mantissa, (exponent & 0xFF) | (0x100 if sign else 0)


def _encode_str(slot: _abi.Value, value: str) -> None:
    data = _abi.utf8(value)
    slot.type = _abi.STRING
    slot.payload.text.data = data
    slot.payload.text.size = len(data)


def _encode_bool(slot: _abi.Value, value: bool) -> None:
    slot.type = _abi.BOOL
    slot.payload.integer = 0
    slot.payload.boolean = value


def _encode_int(slot: _abi.Value, value: int) -> None:
    if not INT_MIN <= value <= INT_MAX:
        # Python does not print integers of more than 4300 digits.
        given = str(value) if value.bit_length() <= 256 else f"an integer of {value.bit_length()} bits"
        raise NumberRangeError(
            f"{given} does not fit a 64-bit integer ({INT_MIN} to {INT_MAX}); use a Decimal and a decimal attribute "
            "for numbers of up to 38 digits",
            value=value,
        )
    slot.type = _abi.INT
    slot.payload.integer = value


def _encode_float(slot: _abi.Value, value: float) -> None:
    slot.type = _abi.DOUBLE
    slot.payload.real = value


def _encode_bytes(slot: _abi.Value, value: bytes) -> None:
    slot.type = _abi.BYTES
    slot.payload.text.data = value
    slot.payload.text.size = len(value)


def _encode_buffer(slot: _abi.Value, value: bytearray | memoryview) -> None:
    _encode_bytes(slot, bytes(value))


def _encode_datetime(slot: _abi.Value, value: datetime) -> None:
    slot.payload.date = date_to_seconds(value)
    slot.type = _abi.DATE


def _encode_decimal(slot: _abi.Value, value: Decimal) -> None:
    mantissa, aux = decimal_parts(value)
    slot.type = _abi.DECIMAL
    slot.aux = aux
    slot.payload.decimal.mantissa[0] = mantissa & _MASK
    slot.payload.decimal.mantissa[1] = mantissa >> 64


def _encode_uuid(slot: _abi.Value, value: UUID) -> None:
    slot.type = _abi.UUID
    ctypes.memmove(ctypes.addressof(slot) + _abi.PAYLOAD_OFFSET, value.bytes, 16)


_ENCODERS: dict[type, Callable[[_abi.Value, Any], None]] = {
    str: _encode_str,
    bool: _encode_bool,
    int: _encode_int,
    float: _encode_float,
    bytes: _encode_bytes,
    bytearray: _encode_buffer,
    memoryview: _encode_buffer,
    datetime: _encode_datetime,
    Decimal: _encode_decimal,
    UUID: _encode_uuid,
}


def _encode_other(slot: _abi.Value, value: Any) -> None:
    handle = getattr(value, "_cst_value_handle", None)
    if handle is not None:
        slot.type, slot.payload.handle = handle()
        return
    if isinstance(value, Enum):
        encode(slot, value.value)
        return
    for kind, encoder in _ENCODERS.items():
        if isinstance(value, kind):
            encoder(slot, value)
            return
    if hasattr(value, "__index__"):
        _encode_int(slot, value.__index__())
        return
    if hasattr(value, "__float__"):
        _encode_float(slot, float(value))
        return
    refuse_day(value)
    raise TypeMismatchError(
        f"cannot convert a value of type {type(value).__name__}: {shown(value)}; use None, bool, int, float, Decimal, "
        "str, bytes, datetime, UUID, a managed object or an object ID",
        value=value,
    )


def encode(slot: _abi.Value, value: Any, entity: str | None = None, key: str | None = None) -> None:
    """Fills a cst_value, which keeps strings and bytes alive. Errors name the entity and the key, if passed."""
    slot.aux = 0
    if value is None:
        slot.type = _abi.NULL
        return
    try:
        encoder = _ENCODERS.get(type(value))
        if encoder is not None:
            encoder(slot, value)
        else:
            _encode_other(slot, value)
    except CorestoneError as error:
        raise located(error, entity, key, value) from None


def suited(kind: int, value: Any) -> Any:
    """Returns the value for an attribute of a type: an int becomes an exact Decimal for a decimal attribute."""
    if kind == AttributeType.DECIMAL and isinstance(value, int) and not isinstance(value, bool):
        return Decimal(value)
    return value


def located(error: CorestoneError, entity: str | None, key: str | None, value: Any) -> CorestoneError:
    """Returns the error with entity, key and value, unless it already has a key or `key` is None."""
    if key is None or error.key is not None:
        return error
    named = type(error)(
        f"{entity}.{key}: {error.message}" if entity else f"{key}: {error.message}",
        status=error.status,
        code=error.code,
        entity=entity,
        key=key,
        value=error.value if value is None else value,
        object_uri=error.object_uri,
        file=error.file,
    )
    return named.with_traceback(error.__traceback__)


class Row:
    """An array of cst_value with views of the parts of its elements, to be filled without a struct per value.

    Each value is three words of 64 bits: type and aux, then two of payload.
    """

    __slots__ = ("address", "array", "error", "error_ref", "integers", "kinds", "reals", "ref", "sizes", "texts")

    def __init__(self, count: int) -> None:
        array: Any = (_abi.Value * max(count, 1))()
        words = 3 * count
        self.array = array
        self.address = ctypes.addressof(array)
        self.ref = ctypes.byref(array)
        self.error: Handle | None = Handle()
        self.error_ref = ctypes.byref(self.error)
        self.kinds: Any = (ctypes.c_uint32 * (2 * words)).from_buffer(array)
        self.integers: Any = (ctypes.c_int64 * words).from_buffer(array)
        self.reals: Any = (ctypes.c_double * words).from_buffer(array)
        self.texts: Any = (ctypes.c_char_p * words).from_buffer(array)
        self.sizes: Any = (ctypes.c_size_t * words).from_buffer(array)

    def fill(self, values: Iterable[Any], entity: str | None, keys: Sequence[str] | None) -> None:
        """Sets the elements to values. Errors name the entity and the key, if passed."""
        kinds = self.kinds
        for index, value in enumerate(values):
            kind, word = type(value), 3 * index
            if kind is str and value.isascii():
                data = value.encode()
                kinds[2 * word] = _abi.STRING
                self.texts[word + 1] = data
                self.sizes[word + 2] = len(data)
            elif value is None:
                kinds[2 * word] = _abi.NULL
            elif kind is bool:
                kinds[2 * word] = _abi.BOOL
                self.integers[word + 1] = value
            elif kind is int and INT_MIN <= value <= INT_MAX:
                kinds[2 * word] = _abi.INT
                self.integers[word + 1] = value
            elif kind is float:
                kinds[2 * word] = _abi.DOUBLE
                self.reals[word + 1] = value
            else:
                encode(self.array[index], value, entity, keys[index] if keys else None)
                continue
            kinds[2 * word + 1] = 0


def encode_all(values: Sequence[Any], entity: str | None = None, keys: Sequence[str] | None = None) -> Row:
    """Returns a Row of the values, with an array of cst_value at its `address`."""
    row = Row(len(values))
    row.fill(values, entity, keys)
    return row


# -------- cst_value to Python ------------------------------------------------------------------------------


def date_from_seconds(seconds: float, is_attribute: bool = True) -> datetime:
    """Returns a datetime in UTC, rounded to microseconds.

    Seconds that round to a limit of datetime return that limit. If `is_attribute` is true, the error
    names another way to read the attribute.
    """
    try:
        return EPOCH + timedelta(0, seconds)
    except (OverflowError, ValueError):
        if seconds == _LAST_SECONDS:
            return datetime.max.replace(tzinfo=timezone.utc)
        if _FIRST_SECONDS - _FIRST_STEP <= seconds < _FIRST_SECONDS:
            return datetime.min.replace(tzinfo=timezone.utc)
        remedy = "; read the seconds with Expression(\"CAST(key, 'NSNumber')\").value(object)" if is_attribute else ""
        raise InvalidArgumentError(
            f"a date of {seconds!r} seconds since 2001-01-01 does not fit a datetime, which has the years 1 to 9999"
            f"{remedy}",
            value=seconds,
        ) from None


def decimal_from_parts(low: int, high: int, aux: int) -> Decimal:
    mantissa = (high & _MASK) << 64 | (low & _MASK)
    exponent = aux & 0xFF
    if exponent > 127:
        exponent -= 256
    return Decimal(f"{'-' if aux & 0x100 else ''}{mantissa}E{exponent}")


def _decode_text(low: int, high: int) -> str:
    return ctypes.string_at(low & _MASK, high).decode() if low else ""


def decode_words(
    kind: int, aux: int, low: int, high: int, context: Context | None, target: Entity | None = None
) -> Any:
    """Returns the Python value of a cst_value from its four fields. Strings and bytes are copied, handles retained.

    `context` is that of the object with the value, or None for a value that is not read from an object.
    """
    if kind == _abi.NULL:
        return None
    if kind in (_abi.STRING, _abi.URI):
        return _decode_text(low, high)
    if kind == _abi.INT:
        return low
    if kind == _abi.DOUBLE:
        return _double_from_bits(_bits(low))[0]
    if kind == _abi.BOOL:
        return bool(low & 0xFF)
    if kind == _abi.DATE:
        return date_from_seconds(_double_from_bits(_bits(low))[0], context is not None)
    if kind == _abi.DECIMAL:
        return decimal_from_parts(low, high, aux)
    if kind == _abi.BYTES:
        return ctypes.string_at(low & _MASK, high) if low else b""
    if kind == _abi.UUID:
        return UUID(bytes=_two_words(low, high))
    if kind == _abi.OBJECT_ID:
        from ..graph.object_id import ObjectID

        return ObjectID._borrowed(low & _MASK)
    if kind == _abi.OBJECT:
        return context._object(low & _MASK, target) if context is not None else None
    if kind == _abi.HISTORY_TOKEN:
        from ..graph.history import HistoryToken

        return HistoryToken._owned(retained(low & _MASK))
    if kind == _abi.HOST:
        from .conversion import held_object

        return held_object(high & _MASK)
    raise InternalError(
        f"the library returned a value of the unknown type {kind}; "
        "install the same version of the package and the library",
        value=kind,
    )


def decode_cell(cell: Cell, context: Context | None, entity: str | None = None, key: str | None = None) -> Any:
    """Returns the Python value of a cell. Errors name the entity and the key, if passed."""
    kind, aux, low, high = _WORDS.unpack_from(cell.value)
    try:
        return decode_words(kind, aux, low, high, context)
    except CorestoneError as error:
        raise located(error, entity, key, None) from None


def decode_value(value: _abi.Value) -> Any:
    """Returns the Python value of a cst_value; None for a managed object."""
    kind, aux, low, high = _WORDS.unpack_from(value)
    return decode_words(kind, aux, low, high, None)


def decode_array(array: Any, count: int, context: Context | None, target: Entity | None = None) -> list[Any]:
    """Returns the Python values of the first `count` cst_values; `target` is the entity of objects."""
    view = memoryview(array).cast("B")[: count * _WORDS.size]
    return [decode_words(kind, aux, low, high, context, target) for kind, aux, low, high in _WORDS.iter_unpack(view)]


def decode_named(array: Any, names: Sequence[str], context: Context | None, entity: str) -> list[Any]:
    """Returns the Python values of an entity's properties. Errors name the entity and the property."""
    view = memoryview(array).cast("B")[: len(names) * _WORDS.size]
    found: list[Any] = []
    try:
        # Unlike a comprehension, `extend` keeps the values before the error.
        found.extend(decode_words(kind, aux, low, high, context) for kind, aux, low, high in _WORDS.iter_unpack(view))
    except CorestoneError as error:
        raise located(error, entity, names[len(found)], None) from None
    return found
