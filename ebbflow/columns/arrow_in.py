"""Arrays of Arrow made into lanes through their buffers, after a look at whether they hold together.

Rule: an array whose buffers do not fit its type and length is refused before anything of it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ebbflow.columns import wide_words
from ebbflow.columns.lanes import Lane, nulls_of
from ebbflow.columns.numbers_in import buffer_numbers, numbers_of_arrow, with_nulls
from ebbflow.columns.ranges import BOUNDS
from ebbflow.columns.schema import NULL, Field
from ebbflow.columns.text_pool import Pool
from ebbflow.columns.value_refusals import no_place, refuse, refuse_first, value_hint
from ebbflow.columns.values_in import lane_of_values
from ebbflow.errors import TypeMismatch

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
            refuse(field, start + row, found.to_pybytes(), "which is not UTF-8", hint)


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


def lane_of_arrow(array: pa.Array, field: Field, pool: Pool, start: int) -> Lane:
    kind = array.type
    if pa.types.is_null(kind):
        return nulls_of(field.type, len(array))
    if pa.types.is_dictionary(kind) and not field.type.is_text:
        return lane_of_arrow(array.dictionary_decode(), field, pool, start)
    if isinstance(array, pa.ExtensionArray):
        return lane_of_arrow(array.storage, field, pool, start)
    if not _ARROW[field.type.name](kind):
        valid = pc.is_valid(array).to_numpy(zero_copy_only=False)
        row = int(np.argmax(valid)) if valid.any() else 0
        value = array[row].as_py() if valid.any() else None
        hint = value_hint(field.type, value, f'Cast it first, for example with .cast("{field.type}").')
        refuse(field, start + row, value, f"in an Arrow column of {kind}", hint)
    if field.type.is_nested:
        return _from_nested(array, field, pool, start)
    if field.type.is_text:
        lane = pool.encode(array)
        if field.type.name == "string" and not pool.is_all_utf8:
            _refuse_bytes(array, field, start)
        return lane
    if field.type.name == "decimal":
        return with_nulls(array, field, start, _decimal_words)
    return numbers_of_arrow(array, field, start)


def _from_nested(array: pa.Array, field: Field, pool: Pool, start: int) -> Lane:
    try:
        return lane_of_values(array.to_pylist(), field, pool, start)
    except UnicodeDecodeError:
        refuse(field, start, field.type, "in which some text is not UTF-8", 'Declare that part "binary".')


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
    "array": lambda kind: "list" in str(kind).partition("<")[0],
    "map": pa.types.is_map,
    "struct": pa.types.is_struct,
}
"""The Arrow types whose values a column takes."""


def _decimal_words(array: pa.Array, nulls: np.ndarray | None, field: Field, start: int) -> Lane:
    kind = field.type
    most = kind.most
    if kind.is_wide and pa.types.is_integer(array.type):
        return lane_of_values(array.to_pylist(), field, Pool(), start)
    if pa.types.is_integer(array.type):
        given = buffer_numbers(array, array.type.to_pandas_dtype())
        room = most // 10**kind.scale
        wrong = (given > room) | (given < -room) if given.dtype.kind == "i" else given > room
        if nulls is not None:
            wrong &= ~nulls
        refuse_first(field, wrong, lambda row: int(given[row]), start, no_place(kind))
        return np.where(wrong, 0, given).astype(np.int64) * 10**kind.scale
    try:
        # 38 digits hold every exact rescaling of what can fit; one that is not exact raises
        rescaled = array.cast(pa.decimal128(38, kind.scale))
    except pa.ArrowInvalid:
        return lane_of_values(array.to_pylist(), field, Pool(), start)
    _, data = rescaled.buffers()
    halves = np.frombuffer(data, np.int64, 2 * len(rescaled), rescaled.offset * 16).reshape(-1, 2)
    low, high = halves[:, 0], halves[:, 1]
    if kind.is_wide:
        wrong = _are_beyond(low, high, most)
    else:
        wrong = (high != (low >> 63)) | (low > most) | (low < -most)
    if nulls is not None:
        wrong &= ~nulls
    refuse_first(field, wrong, lambda row: array[row].as_py(), start, no_place(kind))
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
