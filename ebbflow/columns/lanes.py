"""Lanes: values of every type converted to int64 words, and back.

Words order as values do (except text), null is the least word, and equal values have equal words: -0.0 becomes 0.0 and
every nan becomes one nan. Whole columns are converted through Arrow's buffers; no row becomes a Python object on that
path.

Rule: decoding an encoded value gives the value. A value that does not fit its column is refused, with column, row and
value in the message.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Context, Decimal
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.interchange import from_dataframe

from ebbflow.columns import wide_words
from ebbflow.columns.ranges import BOUNDS, EPOCH, FIRST_DAY, FIRST_MOMENT, LAST_DAY, LAST_MOMENT, without_zone
from ebbflow.columns.schema import NULL, TIMESTAMP_NTZ, Field, Schema, Type
from ebbflow.columns.text_pool import Pool
from ebbflow.errors import TypeMismatch, UnknownColumn, did_you_mean

Lane = np.ndarray[Any, np.dtype[np.int64]]
Lanes = np.ndarray[Any, np.dtype[np.int64]]

DAY = date(1970, 1, 1)
OUT_OF_CALENDAR = "which is outside the years 1 to 9999"
NAN = 0x7FF8_0000_0000_0000
MAGNITUDE = 0x7FFF_FFFF_FFFF_FFFF
MICROSECOND = timedelta(microseconds=1)
SHOWN = 200
FEW = 1000  # below that many values, to ask Arrow costs more than it saves
EXACT = Context(prec=100)
FORMS = "Rows are a list of tuples or of dicts, a dict of columns, a numpy structured array, or anything Arrow."


def encode(values: Any, schema: Schema, pool: Pool) -> Lanes:
    """Rows in any form as int64[lanes, rows].

    >>> from ebbflow.columns.schema import LONG, STRING
    >>> schema, pool = Schema((Field("id", LONG), Field("name", STRING))), Pool()
    >>> lanes = encode([(1, "ebb"), (2, None)], schema, pool)
    >>> lanes.shape, decode(lanes, schema, pool).to_pylist()
    ((2, 2), [{'id': 1, 'name': 'ebb'}, {'id': 2, 'name': None}])
    """
    columns = _columns(values, schema)
    found = [_parts(column, field, pool) for column, field in zip(columns, schema, strict=True)]
    lengths = [sum(part.shape[-1] for part in parts) for parts in found]
    if len(set(lengths)) > 1:
        told = ", ".join(f'"{name}" has {length}' for name, length in zip(schema.names, lengths, strict=True))
        raise TypeMismatch(f"the columns have different numbers of rows: {told}.", hint=FORMS)
    lanes = np.empty((schema.width, lengths[0] if found else 0), np.int64)
    for lane, parts in zip(by_column(lanes, schema), found, strict=True):
        at = 0
        for part in parts:
            end = at + part.shape[-1]
            lane[..., at:end] = part
            at = end
    return lanes


def by_column(lanes: Lanes, schema: Schema) -> list[Lane]:
    """The lanes of each column: int64[rows], or int64[2, rows] where its values are two words."""
    if not schema.is_wide:
        return list(lanes)
    starts = zip(schema.starts, schema.types, strict=True)
    return [lanes[at : at + 2] if kind.is_wide else lanes[at] for at, kind in starts]


def decode(lanes: Lanes, schema: Schema, pool: Pool | None) -> pa.Table:
    """int64[lanes, rows] as an Arrow table; timestamps are of the zone UTC, and timestamp_ntz of none."""
    return pa.Table.from_arrays(decode_columns(np.array(lanes), schema, pool), names=list(schema.names))


def decode_columns(lanes: Lanes, schema: Schema, pool: Pool | None) -> list[pa.Array]:
    """The columns of such a table."""
    nulls = schema.has_text or not lanes.size or bool(lanes.min() == NULL)  # the least word there is
    columns = zip(by_column(lanes, schema), schema.types, strict=True)
    return [decode_column(lane, kind, pool, nulls) for lane, kind in columns]


# ---- which column is which


def _columns(values: Any, schema: Schema) -> list[Any]:
    """The columns in the schema's order, each in whatever form it came."""
    if type(values) is list:
        return _of_rows(values, schema)
    if isinstance(values, Mapping):
        return _by_name(values, schema)
    if isinstance(values, np.ndarray):
        if values.dtype.names:
            return _by_name({name: values[name] for name in values.dtype.names}, schema)
        if values.ndim == 2:
            if values.shape[1] != len(schema):
                _refuse_width(schema, 0, values.shape[1], values[0] if len(values) else ())
            return list(values.T)
    table = _as_arrow_table(values)
    if table is not None:
        return _by_name({name: table.column(i) for i, name in enumerate(table.column_names)}, schema)
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise TypeMismatch(f"rows are wanted, and {_shown(values)} is no collection of rows.", hint=FORMS)
    return _of_rows(values if isinstance(values, list | tuple) else list(values), schema)


def _as_arrow_table(values: Any) -> pa.Table | None:
    if isinstance(values, pa.Table):
        return values
    if isinstance(values, pa.RecordBatch):
        return pa.Table.from_batches([values])
    if type(values).__module__.partition(".")[0] == "pandas" and hasattr(values, "iloc"):
        return pa.Table.from_pandas(values, preserve_index=False)  # a missing value is null, however pandas spells it
    if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        return pa.table(values)
    if hasattr(values, "__dataframe__"):
        return from_dataframe(values)
    return None


def _by_name(columns: Mapping[str, Any], schema: Schema) -> list[Any]:
    _check_names(columns, schema, "the rows have")
    return [columns[name] for name in schema.names]


def _check_names(names: Iterable[Any], schema: Schema, where: str) -> None:
    names = list(names)
    if names == list(schema.names):
        return
    told = ", ".join(map(str, names))[:SHOWN] or "none"
    for name in schema.names:
        if name not in names:
            hint = did_you_mean(name, [str(other) for other in names]) or f"Wanted are: {', '.join(schema.names)}."
            raise UnknownColumn(f'the column "{name}" is missing; {where}: {told}.', hint=hint)
    for name in names:
        if name not in schema:
            hint = did_you_mean(name, schema.names) or "Leave it out."
            raise UnknownColumn(
                f"the column {_shown(name)} is not one of those wanted: {', '.join(schema.names)}.", hint=hint
            )


def _of_rows(rows: Sequence[Any], schema: Schema) -> list[Any]:
    if not rows:
        return [[] for _ in schema]
    if isinstance(rows[0], Mapping):
        wanted = set(schema.names)
        for i, row in enumerate(rows):
            if not isinstance(row, Mapping):
                raise TypeMismatch(f"row {i} is {_shown(row)}; the rows before it are dicts.", hint=FORMS)
            if row.keys() != wanted:
                _check_names(row.keys(), schema, f"row {i} has")
        return [[row[name] for row in rows] for name in schema.names]
    width = len(schema)
    plain = set(map(type, rows)) <= {tuple, list} and set(map(len, rows)) == {width}
    for i, row in enumerate(rows if not plain else ()):
        if isinstance(row, Mapping) or not isinstance(row, tuple | list | np.ndarray | np.void):
            hint = f"Write it as a tuple: ({_shown(row)},)." if width == 1 else FORMS
            raise TypeMismatch(f"row {i} is {_shown(row)}, not a tuple of {_counted(width)}: {schema}.", hint=hint)
        if len(row) != width:  # type: ignore[arg-type]  # a void has a length if it has fields
            _refuse_width(schema, i, len(row), row)  # type: ignore[arg-type]
    return [list(column) for column in zip(*rows, strict=True)] if width else []


def _refuse_width(schema: Schema, row: int, width: int, value: Any) -> NoReturn:
    are = "is" if len(schema) == 1 else "are"
    raise TypeMismatch(
        f"row {row} has {_counted(width)}, and {_counted(len(schema))} {are} wanted ({schema}): {_shown(value)}.",
        hint="Give one value for each column, in that order; None is null.",
    )


def _counted(n: int) -> str:
    return f"{n} value" if n == 1 else f"{n} values"


# ---- columns in


def encode_column(column: Any, field: Field, pool: Pool) -> Lane:
    """One column in any form as a lane."""
    parts = _parts(column, field, pool)
    return np.concatenate(parts, axis=-1) if parts else _nothing(field.type, 0)


def _nothing(kind: Type, rows: int) -> Lane:
    """So many nulls."""
    return np.full((2, rows) if kind.is_wide else rows, NULL, np.int64)


def _parts(column: Any, field: Field, pool: Pool) -> list[Lane]:
    """One column in any form as pieces of a lane, which may be the column's own memory."""
    if isinstance(column, pa.ChunkedArray):
        lanes: list[Lane] = []
        for chunk in column.chunks:
            start = sum(lane.shape[-1] for lane in lanes)
            check_arrow(chunk, f'the column "{field.name}"', start)
            lanes.append(_from_arrow(chunk, field, pool, start))
        return lanes
    return [_lane(column, field, pool)]


def _lane(column: Any, field: Field, pool: Pool) -> Lane:
    if type(column) is list:
        return _from_values(column, field, pool)
    if not isinstance(column, pa.Array | pa.ChunkedArray | np.ndarray | list | tuple):
        column = _known_form(column, field)
    if isinstance(column, pa.ChunkedArray):  # of a form that was not known before
        return encode_column(column, field, pool)
    if isinstance(column, pa.Array):
        check_arrow(column, f'the column "{field.name}"', 0)
        return _from_arrow(column, field, pool, 0)
    if isinstance(column, np.ndarray) and column.dtype != object:
        return _from_numpy(column, field, pool)
    return _from_values(list(column), field, pool)


def _known_form(column: Any, field: Field) -> Any:
    if hasattr(column, "__arrow_c_stream__") and not type(column).__module__.startswith("pandas"):
        return pa.chunked_array(column)
    if hasattr(column, "__arrow_c_array__"):
        return pa.array(column)
    if type(column).__module__.partition(".")[0] == "pandas":
        return pa.array(column, from_pandas=True)
    if hasattr(column, "__array__"):
        return np.asarray(column)
    if isinstance(column, Iterable) and not isinstance(column, str | bytes | Mapping):
        return list(column)
    raise TypeMismatch(f'the column "{field.name}" is {_shown(column)}, not a list or an array of values.', hint=FORMS)


def _refuse(field: Field, row: int, value: Any, why: str = "", hint: str | None = None) -> NoReturn:
    kind = type(value).__name__
    raise TypeMismatch(
        f'the column "{field.name}" is {_a(str(field.type))}; row {row} has {_shown(value)}, '
        f"{why or _a(kind) if value is not None else 'nothing'}.",
        hint=hint or _hint(field.type, value),
    )


def _refuse_first(field: Field, wrong: np.ndarray, value_at: Callable[[int], Any], start: int, why: str) -> None:
    """If any row is wrong, refuse the first."""
    if wrong.any():
        row = int(np.argmax(wrong))
        _refuse(field, start + row, value_at(row), why)


_READS = {**dict.fromkeys(("long", "int", "short", "byte"), "int"), "decimal": "Decimal"}


def _hint(kind: Type, value: Any, otherwise: str | None = None) -> str:
    if kind.is_integer and isinstance(value, float | np.floating | Decimal):
        cast = "Cast it first, for example with int(...) or .astype('int64'), so that it is you who rounds."
        missing = " Where pandas made floats of whole numbers because some are missing: .astype('Int64')."
        return cast if isinstance(value, Decimal) else cast + missing
    if kind.is_integer and isinstance(value, bool | np.bool_):
        return 'Cast it with int(...), or declare the column "boolean".'
    if kind.is_integer and isinstance(value, int | np.integer):
        wider = "" if kind.name == "long" else '"long" is wider, '
        bounds = f"{_a(str(kind)).capitalize()} is from {_least(kind)} to {BOUNDS[kind.name] - 1}"
        return f'{bounds}; {wider}"string" holds any number.'
    if kind.name == "date" and isinstance(value, datetime):
        return 'Take its day with .date(), or declare the column "timestamp".'
    if kind.name == "date" and isinstance(value, str):
        return "Make it a date first: datetime.date.fromisoformat(...)."
    if kind.is_timestamp and isinstance(value, str):
        return "Make it a datetime first: datetime.datetime.fromisoformat(...)."
    if kind.name == "timestamp_ntz" and isinstance(value, datetime) and value.tzinfo is not None:
        return 'Declare the column "timestamp", or leave the zone away: .replace(tzinfo=None).'
    if kind.is_timestamp and isinstance(value, date):
        return 'Declare the column "date", or give a datetime.'
    if kind.name == "binary" and isinstance(value, str):
        return 'Encode it first: text.encode(), or declare the column "string".'
    if kind.name == "string":
        return "Make it text first, with str(...) or .decode()."
    if kind.name == "decimal" and isinstance(value, float | np.floating):
        return 'Make it exact first: Decimal(str(x)), or declare the column "double".'
    if kind.name == "boolean":
        return "Give True or False; a number becomes one with bool(...)."
    if isinstance(value, str):
        return otherwise or f'Read it with {_READS.get(kind.name, "float")}(...), or declare the column "string".'
    return otherwise or "Give a value of that type; None is null."


def _least(kind: Type) -> int:
    return max(-BOUNDS[kind.name], NULL + 1)  # the least word of all is kept for null


def _shown(value: Any) -> str:
    text = repr(value.item() if isinstance(value, np.generic) and not isinstance(value, np.void) else value)
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


# ---- columns in, from Arrow


LIES = {
    "offset": "its offsets lead outside its text, or back",
    "null_count": "its number of nulls is not that of its validity bitmap",
    "Null count": "its number of nulls is not that of its validity bitmap",
    "bitmap": "its validity bitmap is too short",
    "Dictionary": "its dictionary has not as many values as its rows speak of",
    "dictionary": "its dictionary has not as many values as its rows speak of",
    "ndices": "its dictionary has not as many values as its rows speak of",
    "ecimal": "a number in it has more digits than its type",
    "precision": "a number in it has more digits than its type",
    "View": "its views lead outside its text",
    "view": "its views lead outside its text",
    "buffer": "a buffer of it is shorter than its rows",
}
"""What is wrong with an array, by a word that Arrow says of it.  What else it says may quote the array's memory."""


def _arrays_in(array: pa.Array) -> Iterable[pa.Array]:
    """An array, and those that it is made of."""
    yield array
    if pa.types.is_dictionary(array.type):
        yield from _arrays_in(array.dictionary)
    elif pa.types.is_struct(array.type):
        for i in range(array.type.num_fields):
            yield from _arrays_in(array.field(i))


def check_arrow(array: pa.Array, what: str, start: int) -> None:
    """Refuse an array of Arrow that is not what it says: whoever read it would read other memory than its own.

    Text that is not UTF-8 is left to whoever reads it as text, and says which.
    """
    try:
        array.validate(full=True)
        if all(part.offset >= 0 for part in _arrays_in(array)):  # which Arrow does not look at
            return
        text = "offset"
    except (pa.ArrowInvalid, pa.ArrowIndexError, pa.ArrowNotImplementedError) as told:
        text = str(told)
    if "UTF8" in text or "UTF-8" in text:
        return
    why = next((said for word, said in LIES.items() if word in text), "its buffers do not fit its type and length")
    raise TypeMismatch(
        f"{what} is an Arrow array that does not hold together, from row {start} on: {why}.",
        hint="Whoever made it wrote it wrongly: array.validate(full=True) tells more.  Nothing of it was read.",
    )


def _refuse_bytes(array: pa.Array, field: Field, start: int) -> None:
    """Refuse text that is not UTF-8, which Arrow does not look for; nobody could read it."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if is_valid(array):
        return
    for row, value in enumerate(array):
        found = value.as_buffer()
        if found is not None and not _is_utf8(found.to_pybytes()):
            hint = 'Declare the column "binary", or repair it: .decode("utf-8", "replace") of its bytes.'
            _refuse(field, start + row, found.to_pybytes(), "which is not UTF-8", hint)


def is_valid(array: pa.Array | pa.ChunkedArray) -> bool:
    """Whether a column of Arrow holds what it says, every text included."""
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _from_arrow(array: pa.Array, field: Field, pool: Pool, start: int) -> Lane:
    kind = array.type
    if pa.types.is_null(kind):
        return _nothing(field.type, len(array))
    if pa.types.is_dictionary(kind) and not field.type.is_text:
        return _from_arrow(array.dictionary_decode(), field, pool, start)
    if isinstance(array, pa.ExtensionArray):
        return _from_arrow(array.storage, field, pool, start)
    if not _ARROW[field.type.name](kind):
        valid = pc.is_valid(array).to_numpy(zero_copy_only=False)
        row = int(np.argmax(valid)) if valid.any() else 0
        value = array[row].as_py() if valid.any() else None
        hint = _hint(field.type, value, f'Cast it first, for example with .cast("{field.type}").')
        _refuse(field, start + row, value, f"in an Arrow column of {kind}", hint)
    if field.type.is_text:
        lane = pool.encode(array)
        if field.type.name == "string" and not pool.is_all_utf8:
            _refuse_bytes(array, field, start)
        return lane
    nulls = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    lane = _ARROW_WORDS[field.type.name](array, nulls, field, start)
    if nulls is not None:
        lane[..., nulls] = NULL
    return lane


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _is_binary(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    t = pa.types
    return t.is_binary(kind) or t.is_large_binary(kind) or t.is_fixed_size_binary(kind) or t.is_binary_view(kind)


_ARROW: dict[str, Callable[[pa.DataType], bool]] = {
    **dict.fromkeys(BOUNDS, pa.types.is_integer),
    **dict.fromkeys(("double", "float"), lambda kind: pa.types.is_floating(kind) or pa.types.is_integer(kind)),
    "decimal": lambda kind: pa.types.is_decimal(kind) or pa.types.is_integer(kind),
    "boolean": pa.types.is_boolean,
    "string": _is_text,
    "binary": _is_binary,
    "date": pa.types.is_date,
    "timestamp": pa.types.is_timestamp,
    "timestamp_ntz": lambda kind: pa.types.is_timestamp(kind) and kind.tz is None,
}
"""The Arrow types whose values a column takes."""


def _numbers(array: pa.Array, word: Any) -> np.ndarray:
    """The values as they lie in Arrow's buffer, of numpy's type `word`; where they are null they mean nothing."""
    _, data = array.buffers()
    size = np.dtype(word).itemsize
    if data is None or not len(array):
        return np.zeros(len(array), word)
    return np.frombuffer(data, word, len(array), array.offset * size)


def _integer_words(array: pa.Array, nulls: np.ndarray | None, field: Field, start: int) -> Lane:
    given = _numbers(array, array.type.to_pandas_dtype())
    return _checked_integers(given, nulls, field, start)


_info = functools.cache(np.iinfo)


def _checked_integers(given: np.ndarray, nulls: np.ndarray | None, field: Field, start: int) -> Lane:
    least, most = _least(field.type), BOUNDS[field.type.name] - 1
    may_be_less, may_be_more = _info(given.dtype).min < least, _info(given.dtype).max > most
    if len(given) and ((may_be_less and given.min() < least) or (may_be_more and given.max() > most)):
        wrong = (given > most) if may_be_more else np.zeros(len(given), bool)
        if may_be_less:
            wrong |= given < least
        if nulls is not None:
            wrong &= ~nulls
        _refuse_first(field, wrong, lambda row: int(given[row]), start, "which does not fit")
    return given.astype(np.int64, copy=nulls is not None)


def _float_words(array: pa.Array, nulls: np.ndarray | None, field: Field, start: int) -> Lane:
    given = _numbers(array, array.type.to_pandas_dtype())
    if pa.types.is_integer(array.type):
        return _checked_floats(given, nulls, field, start)
    return floats_to_lanes(given, field.type.name == "float")


def _checked_floats(given: np.ndarray, nulls: np.ndarray | None, field: Field, start: int) -> Lane:
    """Integers as floats, if they are."""
    floats = given.astype(np.float64)
    wrong = np.abs(floats) >= 2.0**53  # 2**53 + 1 becomes 2**53
    if wrong.any():
        exact = np.array([int(f) == int(i) for f, i in zip(floats[wrong], given[wrong], strict=True)])
        wrong[wrong] = ~exact
        if nulls is not None:
            wrong &= ~nulls
        _refuse_first(field, wrong, lambda row: int(given[row]), start, "which no double equals")
    return floats_to_lanes(floats, field.type.name == "float")


def _decimal_words(array: pa.Array, nulls: np.ndarray | None, field: Field, start: int) -> Lane:
    kind = field.type
    most = kind.most
    if kind.is_wide and pa.types.is_integer(array.type):
        return _from_values(array.to_pylist(), field, Pool(), start)
    if pa.types.is_integer(array.type):
        given = _numbers(array, array.type.to_pandas_dtype())
        room = most // 10**kind.scale
        wrong = (given > room) | (given < -room) if given.dtype.kind == "i" else given > room
        if nulls is not None:
            wrong &= ~nulls
        _refuse_first(field, wrong, lambda row: int(given[row]), start, _no_place(kind))
        return np.where(wrong, 0, given).astype(np.int64) * 10**kind.scale
    try:
        # 38 digits hold every exact rescaling of what can fit; one that is not exact raises
        rescaled = array.cast(pa.decimal128(38, kind.scale))
    except pa.ArrowInvalid:
        return _from_values(array.to_pylist(), field, Pool(), start)
    _, data = rescaled.buffers()
    halves = np.frombuffer(data, np.int64, 2 * len(rescaled), rescaled.offset * 16).reshape(-1, 2)
    low, high = halves[:, 0], halves[:, 1]
    if kind.is_wide:
        wrong = _are_beyond(low, high, most)
    else:
        wrong = (high != (low >> 63)) | (low > most) | (low < -most)
    if nulls is not None:
        wrong &= ~nulls
    _refuse_first(field, wrong, lambda row: array[row].as_py(), start, _no_place(kind))
    return wide_words.pairs(low, high) if kind.is_wide else low.copy()


def _are_beyond(low: Lane, high: Lane, most: int) -> np.ndarray:
    """Which numbers of 128 bits are more than `most`, or less than its negative."""
    found = np.zeros(len(low), bool)
    for bound, sign in ((most, 1), (-most, -1)):
        upper, lower = bound >> 64, (bound & (2**64 - 1)) + NULL  # the lower words are compared without sign
        unsigned = low ^ NULL
        beyond = (unsigned > lower) if sign > 0 else (unsigned < lower)
        found |= ((high > upper) if sign > 0 else (high < upper)) | ((high == upper) & beyond)
    return found


def _no_place(kind: Type) -> str:
    return f"which has no place in {kind}"


def _boolean_words(array: pa.Array, nulls: np.ndarray | None, field: Field, start: int) -> Lane:
    return array.cast(pa.uint8()).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)


def _date_words(array: pa.Array, nulls: np.ndarray | None, field: Field, start: int) -> Lane:
    if pa.types.is_date32(array.type):
        return _days(_numbers(array, np.int32).astype(np.int64), nulls, field, start)
    milliseconds = _numbers(array, np.int64)
    days = milliseconds // 86_400_000
    wrong = days * 86_400_000 != milliseconds
    if nulls is not None:
        wrong &= ~nulls
    _refuse_first(field, wrong, lambda row: int(milliseconds[row]), start, "milliseconds that are no whole days")
    return _days(days, nulls, field, start)


def _days(days: Lane, nulls: np.ndarray | None, field: Field, start: int) -> Lane:
    """Counts of days since 1970, if they are dates."""
    wrong = (days < FIRST_DAY) | (days > LAST_DAY)
    if nulls is not None:
        wrong &= ~nulls
    _refuse_first(field, wrong, lambda row: f"{int(days[row])} days since 1970", start, OUT_OF_CALENDAR)
    return days


def _timestamp_words(array: pa.Array, nulls: np.ndarray | None, field: Field, start: int) -> Lane:
    return _moments(_numbers(array, np.int64), array.type.unit, nulls, field, start)


def _moments(given: np.ndarray, unit: str, nulls: np.ndarray | None, field: Field, start: int) -> Lane:
    """Counts of a unit since 1970 as microseconds, if they are."""
    factor = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": 1}[unit]
    if unit == "ns":
        found = given // 1000
        wrong, why = found * 1000 != given, "nanoseconds, and a timestamp counts microseconds: round it first"
    else:
        wrong, why = (given > LAST_MOMENT // factor) | (given < FIRST_MOMENT // factor), OUT_OF_CALENDAR
        found = np.where(wrong, 0, given) * factor
    if nulls is not None:
        wrong &= ~nulls
    _refuse_first(field, wrong, lambda row: f"{int(given[row])} {unit} since 1970", start, why)
    return found


_ARROW_WORDS: dict[str, Callable[[pa.Array, np.ndarray | None, Field, int], Lane]] = {
    **dict.fromkeys(BOUNDS, _integer_words),
    **dict.fromkeys(("double", "float"), _float_words),
    "decimal": _decimal_words,
    "boolean": _boolean_words,
    "date": _date_words,
    **dict.fromkeys(("timestamp", "timestamp_ntz"), _timestamp_words),
}


def floats_to_lanes(given: np.ndarray, single: bool = False) -> Lane:
    """The order map, for whole arrays."""
    if single:
        with np.errstate(over="ignore"):
            given = given.astype(np.float32)
    floats = given.astype(np.float64) + 0.0  # -0.0 + 0.0 is 0.0
    bits = floats.view(np.int64)
    lane = bits ^ ((bits >> 63) & MAGNITUDE)
    nans = np.isnan(floats)
    if nans.any():
        lane[nans] = NAN
    return lane


def lanes_to_floats(lane: Lane) -> np.ndarray:
    return (lane ^ ((lane >> 63) & MAGNITUDE)).view(np.float64)


# ---- columns in, from numpy and from Python's values


def _from_numpy(column: np.ndarray, field: Field, pool: Pool) -> Lane:
    if column.ndim != 1:
        raise TypeMismatch(f'the column "{field.name}" has {column.ndim} dimensions; a column has one.', hint=FORMS)
    if isinstance(column, np.ma.MaskedArray):
        nulls = np.ma.getmaskarray(column)
        lane = _from_numpy(np.where(nulls, np.zeros(1, column.dtype), column.data), field, pool)
        lane[..., nulls] = NULL
        return lane
    name, form = field.type.name, column.dtype.kind
    if column.dtype.byteorder == ">":
        column = column.astype(column.dtype.newbyteorder("="))
    if form in "iu" and field.type.is_integer:
        return _checked_integers(column, None, field, 0)
    if form == "f" and field.type.is_float:
        return floats_to_lanes(column, name == "float")
    if form in "iu" and field.type.is_float:
        return _checked_floats(column, None, field, 0)
    if form == "b" and name == "boolean":
        return column.astype(np.int64)
    if form == "M" and (name == "date" or field.type.is_timestamp):
        return _from_datetime64(column, field)
    if (form in "UT" and name == "string") or (form in "iu" and name == "decimal"):
        return _from_arrow(pa.array(column if form != "T" else column.astype(object)), field, pool, 0)
    if len(column) == 0:
        return _nothing(field.type, 0)
    return _from_values(column.tolist(), field, pool)


def _from_datetime64(column: np.ndarray, field: Field) -> Lane:
    unit, step = np.datetime_data(column.dtype)
    nulls = np.isnat(column)
    if field.type.name == "date":
        days = column.astype("datetime64[D]")
        wrong = (days.astype(column.dtype) != column) & ~nulls
        _refuse_first(field, wrong, lambda row: str(column[row]), 0, "which is within a day")
        lane = _days(days.astype(np.int64), nulls, field, 0)
    else:
        if step != 1 or unit not in ("s", "ms", "us", "ns"):
            if unit in ("D", "h", "m", "s", "M", "Y", "W"):
                column, unit = column.astype("datetime64[s]"), "s"
            else:
                column, unit = column.astype("datetime64[ns]"), "ns"
        lane = _moments(column.astype(np.int64), unit, nulls, field, 0)
    lane = np.array(lane, np.int64)
    lane[nulls] = NULL
    return lane


_PYTHON: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(BOUNDS, (int, np.integer)),
    **dict.fromkeys(("double", "float"), (float, int, np.floating, np.integer)),
    "decimal": (Decimal, int, np.integer),
    "boolean": (bool, np.bool_),
    "string": (str,),
    "binary": (bytes, bytearray, memoryview),
    "date": (date, np.datetime64),
    **dict.fromkeys(("timestamp", "timestamp_ntz"), (datetime, np.datetime64)),
}
"""The Python types whose values a column takes: those of Spark's createDataFrame, and whole numbers as floats."""


_NATURAL: dict[str, tuple[type, pa.DataType]] = {
    **dict.fromkeys(BOUNDS, (int, pa.int64())),
    **dict.fromkeys(("double", "float"), (float, pa.float64())),
    "boolean": (bool, pa.bool_()),
    "date": (date, pa.date32()),
}
"""Columns of one plain Python type, which Arrow reads at once."""


def _fits(kind: type, field: Field) -> bool:
    if not issubclass(kind, _PYTHON[field.type.name]):
        return False
    if field.type.name == "date":
        return not issubclass(kind, datetime)
    return field.type.name == "boolean" or not issubclass(kind, bool | np.bool_)


def _from_values(values: list[Any], field: Field, pool: Pool, start: int = 0) -> Lane:
    kinds = set(map(type, values))
    if kinds == {int} and field.type.is_integer and len(values) < FEW:
        if _least(field.type) <= min(values) and max(values) < BOUNDS[field.type.name]:
            return np.array(values, np.int64)
    kinds.discard(type(None))
    wrong = {kind for kind in kinds if not _fits(kind, field) and not _is_missing(kind)}
    if wrong:
        row = next(i for i, value in enumerate(values) if type(value) in wrong)
        _refuse(field, start + row, values[row])
    if any(_is_missing(kind) for kind in kinds):
        values = [None if _is_missing(type(value)) else value for value in values]
    natural = _NATURAL.get(field.type.name)
    if natural is not None and kinds <= {natural[0]}:
        try:
            return _from_arrow(pa.array(values, natural[1]), field, pool, start)
        except (OverflowError, pa.ArrowInvalid):
            pass  # beyond 64 bits: the slow way says which
    if field.type.name == "string" and kinds <= {str}:
        try:
            return pool.encode_texts(values)
        except UnicodeEncodeError:
            pass
    word = _WORDS[field.type.name]
    if field.type.is_wide:
        numbers = (None if value is None else word(value, field, start + i) for i, value in enumerate(values))
        return wide_lanes(numbers, len(values))
    lane = np.empty(len(values), np.int64)
    if field.type.is_text:
        found = [value if value is None else word(value, field, start + i) for i, value in enumerate(values)]
        return pool.encode_texts(found)
    for i, value in enumerate(values):
        lane[i] = NULL if value is None else word(value, field, start + i)
    return lane


def wide_lanes(numbers: Iterable[int | None], rows: int) -> Lane:
    """int64[2, rows] of numbers of at most 38 digits, or none."""
    lane = np.full((2, rows), NULL, np.int64)
    for i, number in enumerate(numbers):
        if number is not None:
            lane[:, i] = wide_words.words_of(number)
    return lane


def _is_missing(kind: type) -> bool:
    """Whether it is the type of pandas' NA or NaT: null by other names."""
    return kind.__name__ in ("NAType", "NaTType")


def _integer_word(value: Any, field: Field, row: int) -> int:
    found = int(value)
    if not _least(field.type) <= found < BOUNDS[field.type.name]:
        _refuse(field, row, value, "which does not fit")
    return found


def _float_word(value: Any, field: Field, row: int) -> int:
    if isinstance(value, int | np.integer):
        try:
            exact = int(float(value)) == int(value)
        except OverflowError:
            exact = False
        if not exact:
            _refuse(field, row, value, "which no double equals")
    if field.type.name == "float":
        with np.errstate(over="ignore"):
            value = np.float32(value)
    return float_to_lane(float(value))


def _decimal_word(value: Any, field: Field, row: int) -> int:
    number = value if isinstance(value, Decimal) else Decimal(int(value))
    kind = field.type
    if not number.is_finite() or (number and number.adjusted() > 40) or len(number.as_tuple().digits) > 95:
        _refuse(field, row, value, _no_place(kind))
    scaled = number.scaleb(kind.scale, EXACT)
    if scaled != scaled.to_integral_value() or scaled.copy_abs() > kind.most:
        _refuse(field, row, value, _no_place(kind))
    return int(scaled)


def _text_word(value: str, field: Field, row: int) -> bytes:
    try:
        return str(value).encode()
    except UnicodeEncodeError:
        _refuse(
            field, row, value, "which holds half of a character", 'Repair it: text.encode("utf-8", "replace").decode().'
        )


def _date_word(value: Any, field: Field, row: int) -> int:
    if isinstance(value, np.datetime64):
        return int(_located(_from_datetime64, np.array([value]), field, row, value))
    return (value - DAY).days


def _timestamp_word(value: Any, field: Field, row: int) -> int:
    if isinstance(value, np.datetime64):
        return int(_located(_from_datetime64, np.array([value]), field, row, value))
    if getattr(value, "nanosecond", 0):
        _refuse(field, row, value, "which has nanoseconds", "A timestamp counts microseconds: round it first.")
    if type(value).__module__.startswith("pandas"):
        value = value.to_pydatetime(warn=False)
    if field.type.name == "timestamp_ntz" and value.tzinfo is not None:
        _refuse(field, row, value, "which names a zone")
    try:
        return (without_zone(value) - EPOCH) // MICROSECOND
    except OverflowError:
        _refuse(field, row, value, "which in UTC is outside the years 1 to 9999")


def _located(fn: Callable[..., Lane], array: np.ndarray, field: Field, row: int, value: Any) -> Any:
    try:
        return fn(array, field)[0]
    except TypeMismatch:
        _refuse(field, row, str(value), "which does not fit")


_WORDS: dict[str, Callable[[Any, Field, int], Any]] = {
    **dict.fromkeys(BOUNDS, _integer_word),
    **dict.fromkeys(("double", "float"), _float_word),
    "decimal": _decimal_word,
    "boolean": lambda value, field, row: int(value),
    "string": _text_word,
    "binary": lambda value, field, row: bytes(value),
    "date": _date_word,
    **dict.fromkeys(("timestamp", "timestamp_ntz"), _timestamp_word),
}


# ---- columns out


INT64 = pa.int64()
_ARROW_TYPES = {
    "long": INT64, "int": pa.int32(), "short": pa.int16(), "byte": pa.int8(), "double": pa.float64(),
    "float": pa.float32(), "boolean": pa.bool_(), "string": pa.string(), "binary": pa.binary(), "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": pa.timestamp("us"), "void": pa.null(),
}  # fmt: skip


def arrow_type(kind: Type) -> pa.DataType:
    """The Arrow type that a column comes out as."""
    return pa.decimal128(kind.precision, kind.scale) if kind.name == "decimal" else _ARROW_TYPES[kind.name]


def decode_column(lane: Lane, kind: Type, pool: Pool | None, nulls: bool = True) -> pa.Array:
    """A lane, which is not written to any more, as an Arrow array of the type; the two may share their memory.

    nulls: whether there may be any.
    """
    if not lane.flags.c_contiguous:
        lane = lane.copy()
    if kind.name == "long" and not nulls:
        return pa.Array.from_buffers(INT64, len(lane), [None, pa.py_buffer(lane)])
    if kind.is_text:
        assert pool is not None
        return pool.decode(lane, binary=kind.name == "binary")
    if kind.name == "void":
        return pa.nulls(len(lane))
    bitmap, first = None, lane[0] if kind.is_wide else lane
    if nulls and len(first) and first.min() == NULL:
        missing = first == NULL
        bitmap = pa.py_buffer(np.packbits(~missing, bitorder="little"))
        lane = np.where(missing, 0, lane)
    return pa.Array.from_buffers(arrow_type(kind), len(first), [bitmap, pa.py_buffer(_buffer(lane, kind))])


def python_values(lane: Lane, kind: Type, pool: Pool | None) -> list[Any]:
    """A lane as Python's values; a datetime names no zone, and that of a timestamp is UTC."""
    return decode_column(lane, TIMESTAMP_NTZ if kind.is_timestamp else kind, pool).to_pylist()


def _buffer(lane: Lane, kind: Type) -> np.ndarray:
    if kind.is_float:
        floats = lanes_to_floats(lane)
        return floats if kind.name == "double" else floats.astype(np.float32)
    if kind.name == "boolean":
        return np.packbits(lane.astype(bool), bitorder="little")
    if kind.is_wide:
        return np.stack(wide_words.halves(lane), axis=1)
    if kind.name == "decimal":
        return np.stack([lane, lane >> 63], axis=1)
    width = {"int": np.int32, "short": np.int16, "byte": np.int8, "date": np.int32}.get(kind.name, np.int64)
    return lane.astype(width, copy=False)


# ---- one value


def to_words(value: Any, kind: Type, pool: Pool) -> tuple[int, ...]:
    """The words of one Python value of the type."""
    if not kind.is_wide:
        return (to_lane(value, kind, pool),)
    return (NULL, NULL) if value is None else wide_words.words_of(int(Decimal(value).scaleb(kind.scale, EXACT)))


def from_words(words: Sequence[int], kind: Type, pool: Pool) -> Any:
    """The Python value of the words of the type."""
    if not kind.is_wide:
        return from_lane(words[0], kind, pool)
    high, low = map(int, words)
    return None if high == NULL else Decimal(wide_words.number_of(high, low)).scaleb(-kind.scale, EXACT)


def row_of(lanes: Sequence[int], schema: Schema, pool: Pool) -> list[Any]:
    """The Python values of a row."""
    starts = zip(schema.starts, schema.types, strict=True)
    return [from_words(lanes[at : at + kind.words], kind, pool) for at, kind in starts]


def to_lane(value: Any, kind: Type, pool: Pool) -> int:
    """The word of one Python value of a type that has one; null for None."""
    if value is None:
        return NULL
    if kind.is_text:
        return int(pool.encode_texts([value])[0])
    if kind.is_float:
        return float_to_lane(float(value))
    if kind.name == "decimal":
        return int(Decimal(value).scaleb(kind.scale, EXACT))
    if kind.is_timestamp:
        return (without_zone(value) - EPOCH) // MICROSECOND
    if kind.name == "date":
        return (value - DAY).days
    return int(value)


def from_lane(lane: int, kind: Type, pool: Pool) -> Any:
    """The Python value of the word of a type that has one."""
    lane = int(lane)
    if lane == NULL:
        return None
    if kind.is_text:
        return pool.decode(np.array([lane]), binary=kind.name == "binary")[0].as_py()
    if kind.is_float:
        return lane_to_float(lane)
    if kind.name == "decimal":
        return Decimal(lane).scaleb(-kind.scale)
    if kind.is_timestamp:
        return EPOCH + lane * MICROSECOND
    if kind.name == "date":
        return DAY + timedelta(days=lane)
    return bool(lane) if kind.name == "boolean" else lane


def float_to_lane(x: float) -> int:
    if x != x:
        return NAN
    (bits,) = struct.unpack("<q", struct.pack("<d", x + 0.0))
    return bits if bits >= 0 else bits ^ MAGNITUDE


def lane_to_float(lane: int) -> float:
    return struct.unpack("<d", struct.pack("<q", lane if lane >= 0 else lane ^ MAGNITUDE))[0]
