"""Arrow that is not what it says: every kind of lie, told by an array of every type in which it can be told.

A lie is told in buffers whose sizes are known, as pyarrow has them, or through Arrow's C interface, which has no sizes.
Behind every buffer of ours lie bytes that belong to somebody else, `SECRET`: whoever reads too far quotes them.  How
long a foreign buffer is the C interface does not say, so of a lie told there only what its numbers contradict is found.

Rule: a lie is refused by a sentence without foreign bytes, and what is no lie is read as it is.

    python -m tests.columns.lies            # all of them, in this process: a crash is a failure
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import ebbflow as ebb

ROWS = 40
SECRET = b"FOREIGN-BYTES-" * 64
FAR = 1 << 28
BELIEVED = ("no nulls where there are",)  # Arrow itself then leaves the bitmap out

TEXTS = [f"text{i}é"[: 1 + i % 7] for i in range(ROWS)]
TYPES: dict[str, tuple[str, pa.Array]] = {
    "long": ("long", pa.array(range(ROWS), pa.int64())),
    "int": ("int", pa.array(range(ROWS), pa.int32())),
    "short": ("short", pa.array(range(ROWS), pa.int16())),
    "byte": ("byte", pa.array(range(ROWS), pa.int8())),
    "unsigned": ("long", pa.array(range(ROWS), pa.uint32())),
    "double": ("double", pa.array(map(float, range(ROWS)), pa.float64())),
    "float": ("float", pa.array(map(float, range(ROWS)), pa.float32())),
    "boolean": ("boolean", pa.array([i % 3 == 0 for i in range(ROWS)])),
    "date": ("date", pa.array(range(ROWS), pa.date32())),
    "wide date": ("date", pa.array([86_400_000 * i for i in range(ROWS)], pa.date64())),
    "timestamp": ("timestamp", pa.array(range(ROWS), pa.timestamp("us"))),
    "seconds": ("timestamp", pa.array(range(ROWS), pa.timestamp("s"))),
    "decimal": ("decimal(9,2)", pa.array(range(ROWS), pa.int64()).cast(pa.decimal128(21, 2))),
    "wide decimal": ("decimal(9,2)", pa.array(range(ROWS), pa.int64()).cast(pa.decimal256(21, 2))),
    "string": ("string", pa.array(TEXTS)),
    "large string": ("string", pa.array(TEXTS, pa.large_string())),
    "string view": ("string", pa.array([text * 5 for text in TEXTS], pa.string_view())),
    "binary": ("binary", pa.array([text.encode() for text in TEXTS])),
    "large binary": ("binary", pa.array([text.encode() for text in TEXTS], pa.large_binary())),
    "binary view": ("binary", pa.array([text.encode() * 5 for text in TEXTS], pa.binary_view())),
    "fixed binary": ("binary", pa.array([b"%04d" % i for i in range(ROWS)], pa.binary(4))),
    "dictionary": ("string", pa.array(TEXTS).dictionary_encode()),
    "dictionary of numbers": ("long", pa.array([i % 5 for i in range(ROWS)]).dictionary_encode()),
}


@dataclass(frozen=True)
class Lie:
    kind: str
    type: str
    way: str  # how it comes in
    rows: Callable[[], Any]
    schema: str
    true: pa.Array | None = None  # what it holds, where that can be told

    @property
    def name(self) -> str:
        return f"{self.kind}, {self.type}, {self.way}"


class Struct:
    """An array handed over by Arrow's C interface, some numbers of whose struct are other than they were."""

    def __init__(self, array: pa.Array, change: Callable[[np.ndarray, list[np.ndarray]], None]):
        self.array, self.change, self.kept = array, change, []  # type: ignore[var-annotated]

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        schema, array = pa.record_batch([self.array], ["v"]).__arrow_c_array__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        at = pointer(array, b"arrow_array")
        whole = np.frombuffer((ctypes.c_int64 * 10).from_address(at), np.int64)
        (child,) = np.frombuffer((ctypes.c_int64 * 1).from_address(int(whole[6])), np.int64)
        words = np.frombuffer((ctypes.c_int64 * 10).from_address(int(child)), np.int64)
        count = int(words[3])
        addresses = np.frombuffer((ctypes.c_int64 * count).from_address(int(words[5])), np.int64)
        self.change(words, [addresses])
        self.kept.append((whole, words, addresses))
        return schema, array


def beside(data: bytes, cut: int = 0) -> pa.Buffer:
    """Bytes in a buffer, with foreign ones behind; the last `cut` of ours count among those."""
    cut = min(cut, len(data))
    whole = data[: len(data) - cut] + SECRET
    return pa.py_buffer(whole).slice(0, len(data) - cut)


def rebuilt(
    array: pa.Array, replace: dict[int, bytes | None], *, cut: dict[int, int] | None = None, **told: int
) -> pa.Array | None:
    """The same array with some of its buffers replaced or cut short, and other numbers of rows, nulls and offset.

    None where Arrow itself refuses to make it.
    """
    buffers = []
    for i, buffer in enumerate(array.buffers()):
        data = replace[i] if i in replace else None if buffer is None else buffer.to_pybytes()
        buffers.append(None if data is None else beside(data, (cut or {}).get(i, 0)))
    length, nulls, offset = told.get("length", len(array)), told.get("nulls", -1), told.get("offset", array.offset)
    try:
        if pa.types.is_dictionary(array.type):
            indices = pa.Array.from_buffers(array.type.index_type, length, buffers[:2], nulls, offset)
            return pa.DictionaryArray.from_arrays(indices, array.dictionary, safe=False)
        return pa.Array.from_buffers(array.type, length, buffers, nulls, offset)
    except (pa.ArrowInvalid, OverflowError):
        return None


def with_nulls(array: pa.Array) -> pa.Array:
    """The same array with every third value null."""
    return pa.array([None if i % 3 == 1 else value for i, value in enumerate(array.to_pylist())], array.type)


def offsets_of(array: pa.Array) -> np.ndarray | None:
    t = pa.types
    if t.is_string(array.type) or t.is_binary(array.type):
        return np.frombuffer(array.buffers()[1], np.int32).copy()
    if t.is_large_string(array.type) or t.is_large_binary(array.type):
        return np.frombuffer(array.buffers()[1], np.int64).copy()
    return None


def arrays(name: str, array: pa.Array) -> Iterator[tuple[str, pa.Array, pa.Array | None]]:
    """The lies of one type: a kind, the array that tells it, and what it holds if that is known."""
    kind, count = array.type, len(array.buffers())
    t = pa.types
    is_view = t.is_string_view(kind) or t.is_binary_view(kind)
    yield "nothing", array, array
    yield "nothing, sliced", array.slice(7, 20), array.slice(7, 20)
    yield "nothing, with nulls", with_nulls(array), with_nulls(array)
    yield "nothing, with nulls, sliced", with_nulls(array).slice(11, 23), with_nulls(array).slice(11, 23)
    yield "no rows", array.slice(0, 0), array.slice(0, 0)
    yield "a data buffer that is too short", rebuilt(array, {}, cut={1: 9}), None
    yield "a data buffer that is empty", rebuilt(array, {1: b""}), None
    if not is_view:  # of which Arrow cannot make one: it ends the process
        yield "no data buffer", rebuilt(array, {1: None}), None
    yield "more rows than there are", rebuilt(array, {}, length=ROWS * 1000), None
    yield "very many rows", rebuilt(array, {}, length=1 << 40), None
    yield "an offset behind the end", rebuilt(array, {}, offset=ROWS * 1000), None
    yield "a bitmap that is too short", rebuilt(array, {0: b"\xff"}, nulls=1), None
    yield "nulls without a bitmap", rebuilt(array, {0: None}, nulls=5), None
    yield "fewer nulls than there are", rebuilt(array, {0: b"\x55" * 5}, nulls=3), None
    yield "no nulls where there are", rebuilt(array, {0: b"\x55" * 5}, nulls=0), None
    yield "more nulls than rows", rebuilt(array, {0: b"\x55" * 5}, nulls=ROWS * 9), None
    yield "nulls where there are none", rebuilt(array, {0: b"\xff" * 5}, nulls=7), None
    if count > 2 and not is_view:
        yield "text that is too short", rebuilt(array, {}, cut={2: 5}), None
        yield "no text", rebuilt(array, {2: b""}), None
    if is_view:
        views = array.buffers()[1].to_pybytes()
        for what, at, word in (
            ("a view of a buffer that is not there", 8, 77),
            ("a view that is too long", 0, FAR),
            ("a view that begins behind the end", 12, FAR),
            ("a view of less than nothing", 0, -9),
            ("a view of a negative buffer", 8, -1),
            ("a view that begins before the start", 12, -64),
        ):
            row = 16 * 6  # a long one: it lies in a buffer
            yield what, rebuilt(array, {1: views[: row + at] + struct.pack("<i", word) + views[row + at + 4 :]}), None
    offsets = offsets_of(array)
    if offsets is not None:
        for what, at, number in (
            ("an offset that falls", 9, 0),
            ("an offset that is far away", 9, FAR),
            ("a last offset that is far away", ROWS, FAR),
            ("a first offset that is negative", 0, -1000),
            ("an offset that is negative", 9, -1000),
            ("a last offset that is negative", ROWS, -8),
            ("a first offset that is far away", 0, FAR),
            ("an offset just behind the end", 9, int(offsets[-1]) + 1),
            ("an offset within foreign bytes", 9, int(offsets[-1]) + 40),
        ):
            told = offsets.copy()
            told[at] = number
            yield what, rebuilt(array, {1: told.tobytes()}), None
        told = offsets.copy()
        told[9:ROWS] = FAR
        yield "offsets that go far away and come back", rebuilt(array, {1: told.tobytes()}), None
        far = rebuilt(array, {1: told.tobytes()})
        yield "offsets that go far away, sliced", far if far is None else far.slice(5, 30), None
        told = with_nulls(array)
        found = offsets_of(told)
        assert found is not None
        found[11] = FAR  # of a row that is null
        yield "an offset of a null that is far away", rebuilt(told, {1: found.tobytes()}), None
    if t.is_string(kind) or t.is_large_string(kind):
        text = bytearray(array.buffers()[2].to_pybytes())
        for what, at, bytes_ in (
            ("half of a character", 12, b"\xc3"),
            ("a byte out of place", 20, b"\xff"),
            ("too long a form", 20, b"\xc0\x80"),
        ):
            wrong = bytes(text[:at]) + bytes_ + bytes(text[at + len(bytes_) :])
            yield what, rebuilt(array, {2: wrong}), None
    if t.is_dictionary(kind):
        for what, index in (("an index behind the end", 10_000), ("a far index", 2**31 - 1), ("a negative index", -1)):
            indices = np.asarray(array.indices).astype(np.int32).copy()
            indices[9] = index
            yield what, pa.DictionaryArray.from_arrays(pa.array(indices), array.dictionary, safe=False), None
        lying = rebuilt(pa.array(["a", "bb", "ccc"]), {1: np.array([0, 1, FAR, 6], np.int32).tobytes()})
        if t.is_string(kind.value_type) and lying is not None:
            yield (
                "a dictionary whose offsets lie",
                pa.DictionaryArray.from_arrays(pa.array([0, 1, 2] * 10), lying),
                None,
            )
    if t.is_decimal(kind):
        digits = kind.bit_width // 8
        wide = array.buffers()[1].to_pybytes()
        row = (10**30).to_bytes(digits, "little")
        yield "a number with too many digits", rebuilt(array, {1: wide[: 9 * digits] + row + wide[10 * digits :]}), None
        narrow = pa.array(range(ROWS), pa.int64()).cast(pa.decimal128(21, 2)).buffers()
        other = beside(narrow[1].to_pybytes()[: 9 * 16] + (10**6).to_bytes(16, "little") + narrow[1].to_pybytes()[160:])
        yield "a number beyond its own type", pa.Array.from_buffers(pa.decimal128(4, 2), ROWS, [None, other]), None
    if t.is_timestamp(kind) or t.is_date(kind):
        wide = np.frombuffer(array.buffers()[1], np.int32 if t.is_date32(kind) else np.int64).copy()
        for what, number in (
            ("a time beyond the calendar", np.iinfo(wide.dtype).max),
            ("a time before it", np.iinfo(wide.dtype).min),
        ):
            told = wide.copy()
            told[9] = number
            yield what, rebuilt(array, {1: told.tobytes()}), None


def structs(array: pa.Array) -> Iterator[tuple[str, Any, pa.Array | None]]:
    """The lies that a struct of the C interface can tell beside the buffers' own."""

    def set_(at: int, number: int) -> Callable[[np.ndarray, list[np.ndarray]], None]:
        def change(words: np.ndarray, lists: list[np.ndarray]) -> None:
            words[at] = number

        return change

    yield "nothing, as a struct", Struct(array, lambda words, lists: None), array
    yield "a negative length, as a struct", Struct(array, set_(0, -5)), None
    yield "fewer rows than the batch, as a struct", Struct(array, set_(0, ROWS - 3)), None
    yield "a number of nulls, as a struct", Struct(array, set_(1, 17)), None
    yield "a negative offset, as a struct", Struct(array, set_(2, -3)), None
    offsets = offsets_of(array)
    if offsets is not None:
        for what, at, number in (
            ("an offset that falls", 9, 0),
            ("an offset that is negative", 9, -1000),
            ("an offset that is far away", 9, FAR),
        ):
            told = offsets.copy()
            told[at] = number

            def change(words: np.ndarray, lists: list[np.ndarray], told: np.ndarray = told) -> None:
                lists[0][1] = told.ctypes.data

            yield f"{what}, as a struct", Struct(array, change), None


def stream_of(array: pa.Array) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(pa.schema([("v", array.type)]), [pa.record_batch([array], ["v"])])


WAYS: dict[str, Callable[[pa.Array], Any]] = {
    "a table": lambda array: pa.table({"v": array}),
    "a batch": lambda array: pa.record_batch([array], ["v"]),
    "a chunk among others": lambda array: pa.table({"v": pa.chunked_array([array.slice(0, 0), array])}),
    "a column": lambda array: {"v": array},
    "a reader": stream_of,
}


def lies() -> Iterator[Lie]:
    for name, (schema, array) in TYPES.items():
        for kind, told, true in arrays(name, array):
            if told is not None:  # else Arrow itself refuses to make it
                for way, made in WAYS.items():
                    yield Lie(kind, name, way, partial(made, told), schema, true)
        t = pa.types
        if not t.is_dictionary(array.type) and not t.is_string_view(array.type) and not t.is_binary_view(array.type):
            for kind, told, true in structs(array):
                yield Lie(kind, name, "a struct", partial(identity, told), schema, true)


def identity(given: Any) -> Any:
    return given


def outcome(lie: Lie) -> str:
    """What became of a lie: 'read', 'refused', or what is wrong with it."""
    flow = ebb.Dataflow()
    flow.output("out", flow.input("xs", f"v {lie.schema}"))
    with flow.run() as live:
        try:
            rows = lie.rows()
        except (pa.ArrowInvalid, ValueError):
            return "refused"  # by Arrow itself
        try:
            live.insert("xs", rows)
        except ebb.EbbflowError as error:
            told = str(error)
            if "FOREIGN" in told or "BYTES" in told or "EIGN" in told:
                return f"quotes foreign bytes: {told}"
            if live.commit()["out"].rows():
                return "refused, and taken in"
            return "refused"
        found = live.commit()["out"].to_arrow()
    if lie.true is None:
        shown = str(found.to_pydict())
        return f"quotes foreign bytes: {shown[:200]}" if "FOREIGN" in shown or "EIGN" in shown else "read"
    true = lie.true.dictionary_decode() if pa.types.is_dictionary(lie.true.type) else lie.true
    wanted = sorted(map(repr, true.cast(found.column("v").type).to_pylist() if len(true) else []))
    repeated = [
        value
        for value, n in zip(found.column("v").to_pylist(), found.column("_diff").to_pylist(), strict=True)
        for _ in range(n)
    ]
    return "read" if sorted(map(repr, repeated)) == wanted else "read wrongly"


def main() -> int:
    counts = {"read": 0, "refused": 0}
    wrong = 0
    for lie in lies():
        print(f"-> {lie.name}", flush=True)
        found = outcome(lie)
        if found == ("refused" if lie.true is None and lie.kind not in BELIEVED else "read"):
            counts[found] += 1
        else:
            wrong += 1
            print(f"WRONG {lie.name}: {found}", flush=True)
    print(f"{sum(counts.values())} told, {counts['refused']} refused, {counts['read']} read, {wrong} wrong", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
