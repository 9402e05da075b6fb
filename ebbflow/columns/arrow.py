"""Arrow columns: record batches read in place into lanes.

Arrow exports a batch as one C struct with the addresses of all column buffers, and one kernel converts all columns: a
batch costs a few calls, however many columns it has. Types that need conversion, and values that must be refused, are
left to `lanes.encode`, which words the error.

The batch's own metadata is not trusted: `RecordBatch.validate` compares lengths with buffer sizes, and the kernels
check that offsets do not decrease, that the null count is right and that text is UTF-8.

Rule: the lanes are those that `encode` would give; of a batch that this module cannot read completely, nothing is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from ebbflow.columns.arrow_in import is_valid
from ebbflow.columns.arrow_text import are_ascii, are_rising, is_there, text_begins
from ebbflow.columns.exact_sums import lower_half
from ebbflow.columns.lanes import MAGNITUDE, NAN
from ebbflow.columns.patterns import TextMatcher, match_texts
from ebbflow.columns.ranges import BOUNDS, FIRST_DAY, FIRST_MOMENT, LAST_DAY, LAST_MOMENT
from ebbflow.columns.schema import LONG, NULL, Field, Type
from ebbflow.columns.text_intern import intern
from ebbflow.columns.text_pool import Pool
from ebbflow.columns.text_table import TextPool
from ebbflow.limits import TEXT_BYTES
from ebbflow.native.kernel import address_of, inline, kernel
from ebbflow.native.memory import H, call_back, load_lane, store_lane

# A struct of Arrow's C interface, in words; `RELEASE` is a function, the lists are addresses of addresses.
ARRAY_LENGTH, NULL_COUNT, ARRAY_OFFSET, BUFFERS_AT, CHILDREN_AT, RELEASE, STRUCT = 0, 1, 2, 5, 6, 8, 10
# Behind it, how far the reading is.
LANE_NOW, ROW_NOW, BYTES_NEEDED, BELIEVED = 10, 11, 12, 13
PROGRESS_WORDS = 4
# How a lane is read: which column, in which form, the least and the largest number it may hold, whether nulls may be.
# Of text that is only looked at, what is asked stands for the least number.
CHILD, FORM, LEAST_ALLOWED, MOST_ALLOWED, NULLS = 0, 1, 2, 3, 4
RECIPE = 5
(
    INT64,
    INT32,
    INT16,
    INT8,
    UINT32,
    UINT16,
    UINT8,
    FLOAT64,
    BIT,
    DECIMAL128,
    UTF8,
    LARGE_UTF8,
    MATCHED_UTF8,
    MATCHED_LARGE_UTF8,
) = range(14)
READ, NO_ROOM, NOT_READ, READ_ODDLY, NOT_ASCII = 0, 1, 2, 3, 4

ANY_WORD = (NULL + 1, -(NULL + 1))


@inline
def element(form, data, i):
    """needs: a form of numbers; data: the address of whole elements.  leaves: element i as a lane."""
    if form == INT64:
        return H[(data >> 3) - 1 + i]
    if form == INT32 or form == UINT32:
        at = data + 4 * i
        w = H[(at >> 3) - 1] >> ((at & 4) << 3)
        return (w << 32) >> 32 if form == INT32 else w & 0xFFFFFFFF
    if form == INT16 or form == UINT16:
        at = data + 2 * i
        w = H[(at >> 3) - 1] >> ((at & 6) << 3)
        return (w << 48) >> 48 if form == INT16 else w & 0xFFFF
    if form == INT8 or form == UINT8:
        at = data + i
        w = H[(at >> 3) - 1] >> ((at & 7) << 3)
        return (w << 56) >> 56 if form == INT8 else w & 0xFF
    if form == FLOAT64:
        w = H[(data >> 3) - 1 + i]
        if w & MAGNITUDE > 0x7FF0000000000000:
            return w * 0 + NAN
        return w if w >= 0 else w * 0 if w == NULL else w ^ MAGNITUDE
    at = data + (i >> 3)
    return (H[(at >> 3) - 1] >> (((at & 7) << 3) + (i & 7))) & 1


@kernel
def read_numbers(form, least, most, data, start, n, to):
    """Elements of a form, none of them null, as a lane.  Returns whether all are within their bounds."""
    outside = 0
    if form == INT64:
        p = (data >> 3) - 1 + start
        for i in range(n):
            w = load_lane(p + i)
            outside |= (w < least) | (w > most)
            store_lane(to + i, w)
        return outside == 0
    if form == INT32:
        p = ((data + 4 * start) >> 2) - 2
        first = p & 1 if n else 0  # the upper half of a word of which the lower one is not meant
        if first:
            w = H[p >> 1] >> 32
            outside |= (w < least) | (w > most)
            H[to] = w
        p = (p + first) >> 1
        pairs = (n - first) >> 1
        for i in range(pairs):
            w = load_lane(p + i)
            v = lower_half(w)
            w = w >> 32
            outside |= (v < least) | (v > most) | (w < least) | (w > most)
            store_lane(to + first + 2 * i, v)
            store_lane(to + first + 2 * i + 1, w)
        if first + 2 * pairs < n:
            w = lower_half(H[p + pairs])
            outside |= (w < least) | (w > most)
            H[to + n - 1] = w
        return outside == 0
    for i in range(n):
        w = element(form, data, start + i)
        outside |= (w < least) | (w > most)
        H[to + i] = w
    return outside == 0


@kernel
def read_some(form, least, most, bits, data, start, n, to):
    """The same where some are null."""
    for i in range(n):
        w = NULL
        if is_there(bits, start + i):
            w = element(form, data, start + i)
            if w < least or w > most:
                return False
        H[to + i] = w
    return True


@kernel
def read_decimals(most, bits, data, start, n, to):
    """The same for numbers of two words each."""
    for i in range(n):
        w = NULL
        if is_there(bits, start + i):
            p = (data >> 3) - 1 + 2 * (start + i)
            w = H[p]
            if H[p + 1] != w >> 63 or w < -most or w > most:
                return False
        H[to + i] = w
    return True


@kernel
def count_nulls(bits, start, n):
    """How many of n bits from `start` on are not set."""
    there = 0
    i = start
    end = start + n
    while i < end and ((bits + (i >> 3)) & 7 != 0 or i & 7 != 0):
        there += is_there(bits, i)
        i += 1
    p = ((bits + (i >> 3)) >> 3) - 1
    words = (end - i) >> 6 if i < end else 0
    for k in range(words):
        x = load_lane(p + k)
        x = x - ((x >> 1) & 0x5555555555555555)
        x = (x & 0x3333333333333333) + ((x >> 2) & 0x3333333333333333)
        x = (x + ((x >> 4) & 0x0FFFFFFFFFFFFFFF)) & 0x0F0F0F0F0F0F0F0F
        there += ((x * 0x0101010101010101) >> 56) & 0xFF
    i += words << 6
    while i < end:
        there += is_there(bits, i)
        i += 1
    return n - there


@inline
def read_lanes(pool, words, ids, rows, first):
    """The same, and whoever made the struct is not told."""
    n = words[ARRAY_LENGTH]
    lanes_at = np.int64(rows.ctypes.data) // 8 - 1
    while words[LANE_NOW] < rows.shape[0]:
        lane = words[LANE_NOW]
        r = lane * RECIPE
        form = ids[r + FORM]
        c = (H[(words[CHILDREN_AT] >> 3) - 1 + ids[r + CHILD]] >> 3) - 1
        start = words[ARRAY_OFFSET] + H[c + ARRAY_OFFSET]
        if words[ARRAY_OFFSET] < 0 or H[c + ARRAY_OFFSET] < 0 or H[c + ARRAY_LENGTH] < n:
            return NOT_READ
        buffers = (H[c + BUFFERS_AT] >> 3) - 1
        bits = H[buffers]
        if bits and words[ROW_NOW] == 0:
            nulls = count_nulls(bits, start, n)
            if H[c + NULL_COUNT] >= 0 and H[c + NULL_COUNT] != nulls:
                return NOT_READ
            if nulls == 0:
                bits = 0
        data = H[buffers + 1]
        to = lanes_at + lane * rows.shape[1] + first
        if bits and ids[r + NULLS] == 0:
            return NOT_READ
        if n and UTF8 <= form and words[ROW_NOW] == 0:
            wide = form == LARGE_UTF8 or form == MATCHED_LARGE_UTF8
            if data & (7 if wide else 3) or not are_rising(data, wide, start, n):
                return NOT_READ
            if wide and text_begins(data, wide, start + n) - text_begins(data, wide, start) > TEXT_BYTES:
                return NOT_READ  # one of them may be too long
        if form == MATCHED_UTF8 or form == MATCHED_LARGE_UTF8:
            wide = form == MATCHED_LARGE_UTF8
            if n:
                begin = H[buffers + 2] + text_begins(data, wide, start)
                end = H[buffers + 2] + text_begins(data, wide, start + n)
                if words[BELIEVED] == 0 and not are_ascii(begin, end):
                    return NOT_ASCII
                match_texts(ids[r + LEAST_ALLOWED], bits, data, wide, H[buffers + 2], start, n, to)
        elif form == UTF8 or form == LARGE_UTF8:
            wide = form == LARGE_UTF8
            if n:
                row = intern(pool, bits, data, wide, H[buffers + 2], start, n, to, words[ROW_NOW])
                if row < n:
                    words[ROW_NOW] = row
                    row += start
                    words[BYTES_NEEDED] = text_begins(data, wide, row + 1) - text_begins(data, wide, row)
                    return NO_ROOM
        elif n and data & 7 != 0:
            return NOT_READ
        elif form == DECIMAL128:
            if not read_decimals(ids[r + MOST_ALLOWED], bits, data, start, n, to):
                return NOT_READ
        elif bits:
            if not read_some(form, ids[r + LEAST_ALLOWED], ids[r + MOST_ALLOWED], bits, data, start, n, to):
                return NOT_READ
        elif not read_numbers(form, ids[r + LEAST_ALLOWED], ids[r + MOST_ALLOWED], data, start, n, to):
            return NOT_READ
        words[LANE_NOW] = lane + 1
        words[ROW_NOW] = 0
    return READ if TextPool(pool).odd == 0 else READ_ODDLY


@kernel
def read_batch(pool, words, ids, rows, first):
    """Make lanes of the columns of a batch.

    needs:  words: the batch's struct, and how far the reading is; ids: the recipe of every lane; rows: the lanes, with
            room for the batch from row `first` on; the pool's lock is held.
    leaves: READ, or READ_ODDLY: some text of the pool is not UTF-8; or NOT_READ; and the struct is released, ready for
            the next one.  Or NO_ROOM: the pool must grow for the text at ROW_NOW of LANE_NOW, of BYTES_NEEDED bytes.
            Or NOT_ASCII: whoever asks has to see whether text that is only looked at is UTF-8, and say so in BELIEVED.
    """
    outcome = read_lanes(pool, words, ids, rows, first)
    if outcome != NO_ROOM and outcome != NOT_ASCII:
        words[LANE_NOW] = 0
        words[ROW_NOW] = 0
        call_back(words[RELEASE], np.int64(words.ctypes.data))
    return outcome


# ---- from Python ---------------------------------------------------------------------------------------

_INTEGER_FORMS = {
    pa.int64(): INT64,
    pa.int32(): INT32,
    pa.int16(): INT16,
    pa.int8(): INT8,
    pa.uint32(): UINT32,
    pa.uint16(): UINT16,
    pa.uint8(): UINT8,
}
_TEXT_FORMS = {
    "string": {pa.string(): UTF8, pa.large_string(): LARGE_UTF8},
    "binary": {pa.binary(): UTF8, pa.large_binary(): LARGE_UTF8},
}


def recipe_of(kind: pa.DataType, type_: Type) -> tuple[int, int, int] | None:
    """The form in which a column of Arrow holds values of our type, and their bounds; None: `encode` knows how."""
    if type_.is_integer and kind in _INTEGER_FORMS:
        bound = BOUNDS[type_.name]
        return _INTEGER_FORMS[kind], max(-bound, NULL + 1), bound - 1
    if type_.is_text and kind in _TEXT_FORMS[type_.name]:
        return _TEXT_FORMS[type_.name][kind], *ANY_WORD
    if type_.name == "double" and pa.types.is_float64(kind):
        return FLOAT64, *ANY_WORD
    if type_.name == "date" and pa.types.is_date32(kind):
        return INT32, FIRST_DAY, LAST_DAY
    if type_.is_timestamp and pa.types.is_timestamp(kind) and kind.unit == "us":
        if type_.name == "timestamp_ntz" and kind.tz is not None:
            return None
        return INT64, FIRST_MOMENT, LAST_MOMENT
    if type_.name == "boolean" and pa.types.is_boolean(kind):
        return BIT, *ANY_WORD
    if type_.name == "decimal" and not type_.is_wide and pa.types.is_decimal128(kind) and kind.scale == type_.scale:
        most = min(type_.most, 10**kind.precision - 1)
        return DECIMAL128, -most, most
    return None


class Reader:
    """Reads tables of one Arrow schema.

    >>> table = pa.table({"id": [1, 2], "name": ["ebb", None]})
    >>> fields = [Field("name", Type("string")), Field("id", LONG)]
    >>> reader, pool = Reader.of(table.schema, fields), Pool()
    >>> lanes = reader.read(table, pool)
    >>> pool.decode(lanes[0]).to_pylist(), lanes[1].tolist()
    (['ebb', None], [1, 2])
    """

    def __init__(self, schema: pa.Schema, recipes: Sequence[tuple[int, int, int, int, int]], matchers: object = None):
        self.schema, self._matchers = schema, matchers  # kept, since recipes speak of where they lie
        self._recipes = np.array(recipes, np.int64).reshape(-1)
        self._lanes = len(recipes)
        self._texts = [name for name in schema.names if schema.field(name).type in _TEXT_FORMS["string"]]
        self._struct = np.zeros(STRUCT + PROGRESS_WORDS, np.int64)
        self._address = 8 * (address_of(self._struct) + 1)

    @staticmethod
    def of(
        schema: pa.Schema,
        fields: Sequence[Field],
        numbers: Sequence[str] = (),
        matchers: Mapping[int, TextMatcher] | None = None,
    ) -> Reader | None:
        """A reader of columns by their names, and then of columns of whole numbers that are never null.

        `matchers`: by their positions, fields of text of which is read what they are like.  None where the schema has
        other columns than these, or they are not read here.
        """
        names = schema.names
        if sorted(names) != sorted([field.name for field in fields] + [*numbers]):
            return None
        recipes: list[tuple[int, int, int, int, int]] = []
        for field, nulls in [*((field, 1) for field in fields), *((Field(name, LONG), 0) for name in numbers)]:
            found = recipe_of(schema.field(field.name).type, field.type)
            if found is None:
                return None
            asked = (matchers or {}).get(len(recipes))
            if asked is not None:
                found = MATCHED_UTF8 if found[0] == UTF8 else MATCHED_LARGE_UTF8, asked.address, 0
            recipes.append((names.index(field.name), *found, nulls))
        return Reader(schema, recipes, matchers)

    def read(self, table: pa.Table | pa.RecordBatch, pool: Pool, room: np.ndarray | None = None) -> np.ndarray | None:
        """The lanes of a table of the schema, in `room` if they have its shape; None where there is something that is
        not read here.
        """
        shape = self._lanes, table.num_rows
        lanes = room if room is not None and room.shape == shape else np.empty(shape, np.int64)
        at, is_odd = 0, False
        with pool.lock:
            for batch in table.to_batches() if isinstance(table, pa.Table) else [table]:
                try:
                    batch.validate()
                except pa.ArrowInvalid:
                    return None
                try:
                    batch._export_to_c(self._address)
                    self._struct[BELIEVED] = 0
                    while (
                        outcome := read_batch(pool.address, self._struct, self._recipes, lanes, at)
                    ) == NO_ROOM or outcome == NOT_ASCII:
                        if outcome == NO_ROOM:
                            pool.make_room(int(self._struct[BYTES_NEEDED]))
                        elif all(is_valid(batch.column(name)) for name in self._texts):
                            self._struct[BELIEVED] = 1
                        else:
                            self._let_go()
                            return None
                except BaseException:
                    self._let_go()
                    raise
                if outcome == NOT_READ:
                    return None
                is_odd |= outcome == READ_ODDLY
                at += batch.num_rows
        if is_odd and self._texts and not all(is_valid(table.column(name)) for name in self._texts):
            return None
        return lanes

    def _let_go(self) -> None:
        """Whoever was interrupted between a batch and its lanes: the batch is released."""
        self._struct[LANE_NOW] = self._struct[ROW_NOW] = 0
        if release := int(self._struct[RELEASE]):
            call_back(release, self._address)
