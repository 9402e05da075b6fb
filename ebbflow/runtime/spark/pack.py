"""Packing: rows of a DataFrame become lanes where they lie, and are shuffled once, to the shard they begin at.

Each of Spark's tasks encodes its batches, adds up a hash of the rows that does not depend on their order, and sorts
them by shard; behind the shuffle the rows of a few shards are put into one canonical order.  A few rows come back to
the driver with the answer; many stay in a file, named by its content, until a step takes them in.  Where few rows are
expected there is no shuffle, and each task does both with the rows that it has, be they few or not.

Rule: a frame is evaluated once, and what is made of it is a function of the multiset of its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from ebbflow.columns.arrow_in import check_arrow
from ebbflow.columns.lanes_in import encode
from ebbflow.columns.schema import NULL
from ebbflow.columns.text_pool import Pool
from ebbflow.dataflow.plan_json import schema_from
from ebbflow.durable.records import STAGED
from ebbflow.durable.store import Store
from ebbflow.errors import EbbflowError, LateTime, NoKey, TypeMismatch, WrongDiff, WrongTime
from ebbflow.runtime.spark import blobs
from ebbflow.runtime.spark.hosting import refusal_json
from ebbflow.runtime.spark.texts import Texts, add_texts, part_of
from ebbflow.times import lattice

PACKED = "dest int, blob binary"
ANSWERED = "answer binary"
FEW_TO_PACK = 1 << 14  # of one task behind the shuffle, that come back to the driver
FEW_HERE = 1 << 12  # of one task where there is no shuffle, as there may be many of these
TIMES_TOLD = 4096  # distinct times of one task, that the driver is told
PORTION = 1 << 26  # bytes of packed rows that are put in order together
HASH_MIX = np.int64(-7046029254386353131)


def packing(told: dict[str, Any]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What packs the rows of one input.

    told: the input's name, schema, key; `times`: the name of a column or a number for each coordinate, or None for the
    first open time; `diff` and `order` likewise; `late`: the frontier; `shards`, `place`: the lanes that decide the
    shard; `tasks`: how many there are behind the shuffle.
    """

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        packer, refused = Packer(told), None
        for batch in batches:  # to the end, or Spark throws the process away
            if refused is not None or not batch.num_rows:
                continue
            try:
                for dest, blob in packer.packed(batch):
                    yield pa.record_batch(
                        [pa.array([dest], pa.int32()), pa.array([blob], pa.binary())], ["dest", "blob"]
                    )
            except EbbflowError as error:
                refused = blobs.write({"refused": refusal_json(error)})
                yield pa.record_batch([pa.array([0], pa.int32()), pa.array([refused], pa.binary())], ["dest", "blob"])

    return run


class Packer:
    def __init__(self, told: dict[str, Any]):
        self.told, self.schema = told, schema_from(told["schema"])
        self.pool = Pool()
        self.has_text = any(type_.is_pooled for type_ in self.schema.types)

    def packed(self, batch: Any) -> Iterator[tuple[int, bytes]]:
        told, count = self.told, batch.num_rows
        columns = {name: batch.column(name) for name in batch.schema.names}
        lanes = encode({name: columns[name] for name in self.schema.names}, self.schema, self.pool)
        given = np.stack([self.numbers(columns, part, count, WrongTime, "time") for part in told["times"]], axis=1)
        diffs = self.numbers(columns, told["diff"], count, WrongDiff, "diff")
        order = self.numbers(columns, told["order"], count, WrongDiff, "order")
        hashed = hash_rows(lanes, given, diffs, order, told["input"])
        times = np.where(given == NULL, np.array(told["open"], np.int64), given)
        self.check(lanes, times, diffs)
        shards = owners(lanes[told["place"]] if told["place"] else lanes, told["shards"])
        tasks = shards * told["tasks"] // told["shards"]
        by_task = np.argsort(tasks, kind="stable")
        bounds = np.searchsorted(tasks[by_task], np.arange(told["tasks"] + 1))
        for task in range(told["tasks"]):
            mine = by_task[bounds[task] : bounds[task + 1]]
            if len(mine):
                arrays = [np.ascontiguousarray(lanes[:, mine]), times[mine], diffs[mine], order[mine], shards[mine]]
                arrays += [hashed[mine].sum(axis=0)]
                if self.has_text:
                    arrays += part_of(self.pool, self.texts_in(arrays[0]))
                yield task, blobs.write({"input": told["input"]}, arrays)

    def texts_in(self, lanes: np.ndarray) -> np.ndarray:
        columns = zip(self.schema.starts, self.schema.types, strict=True)
        ids = [np.unique(lanes[at]) for at, type_ in columns if type_.is_pooled]
        found = np.unique(np.concatenate(ids))
        return found[found != NULL]

    def numbers(
        self, columns: dict[str, Any], part: Any, count: int, kind: type[EbbflowError], what: str
    ) -> np.ndarray:
        """A column of whole numbers; NULL where there is none."""
        if part is None or isinstance(part, int):
            return np.full(count, NULL if part is None else part, np.int64)
        column = columns[part]
        check_arrow(column, f'the column "{part}"', 0)
        if not pa.types.is_integer(column.type):
            raise kind(
                f'{self.told["verb"]} takes whole numbers as {what}; the column "{part}" is of {column.type}.',
                hint='Cast it first: df.withColumn(name, col(name).cast("bigint")).',
            )
        if column.null_count and what != "time":
            raise kind(
                f'{self.told["verb"]} finds no value in the column "{part}" ({what}=).', hint="Give every row one."
            )
        return np.asarray(column.cast(pa.int64()).fill_null(NULL))

    def check(self, lanes: np.ndarray, times: np.ndarray, diffs: np.ndarray) -> None:
        told = self.told
        late = ~lattice.reached(times, np.array(told["late"], np.int64))
        if late.any():
            time = tuple(times[int(np.argmax(late))].tolist())
            frontier = " and ".join(str(tuple(e) if len(e) > 1 else e[0]) for e in told["late"]) or "closed"
            raise LateTime(
                f"{told['verb']} comes too late at time {time if len(time) > 1 else time[0]}: the input "
                f'"{told["input"]}" is complete before its frontier, {frontier}.',
                hint=f"Use a time from {frontier} on; nothing of this call was taken in.",
            )
        counted = diffs > 0 if told["key"] else diffs != 0  # a deletion by key need not say what the row was
        for i in self.schema.never_null:
            if (counted & (lanes[self.schema.starts[i]] == NULL)).any():
                raise TypeMismatch(
                    f'{told["verb"]} finds no value in the column "{self.schema.names[i]}" of "{told["input"]}" in a '
                    f"row; the schema says not null.",
                    hint="Leave such rows out, or declare the column without not null.",
                )
        if told["key"]:
            if (lanes[told["key"]] == NULL).any():
                raise NoKey(
                    f'{told["verb"]} finds no value for the key of "{told["input"]}" in a row.',
                    hint="A key is never null: it says which row is meant.",
                )
            if (np.abs(diffs) > 1).any():
                raise WrongDiff(
                    f'{told["verb"]} finds a diff beyond 1 and -1; "{told["input"]}" has a key, and a key has one row.',
                    hint="Use 1 for a row that shall be there, -1 for one that shall not.",
                )


def owners(lanes: np.ndarray, count: int) -> np.ndarray:
    """The shard of every row, as the engine's exchanges compute it."""
    h = np.zeros(lanes.shape[1], np.int64)
    with np.errstate(over="ignore"):
        for lane in lanes:
            h = (h ^ lane) * HASH_MIX
            h ^= (h >> 29) & 0x7FFFFFFFF
        h *= np.int64(-4658895280553007687)
        h ^= (h >> 32) & 0xFFFFFFFF
    return ((h & 0x7FFFFFFF) * count) >> 31


def hash_rows(lanes: np.ndarray, times: np.ndarray, diffs: np.ndarray, order: np.ndarray, name: str) -> np.ndarray:
    """Two words for every row, whose sums over a multiset do not depend on order."""
    seed = int.from_bytes(name.encode()[:7].ljust(7, b"\0"), "little") + 31 * len(name)
    out = np.empty((len(diffs), 2), np.int64)
    with np.errstate(over="ignore"):
        for k in range(2):
            h = np.full(len(diffs), seed + 7919 * k + 1, np.int64)
            for column in (*lanes, *times.T, diffs, order):
                h = (h ^ column) * HASH_MIX
                h ^= (h >> (29 + k)) & 0x7FFFFFFFF
                h += np.int64(0x632BE59BD9B4E019 + k)
            h *= np.int64(-4658895280553007687)
            out[:, k] = h ^ ((h >> 32) & 0xFFFFFFFF)
    return out


def staging(root: str, stays: list[str], few: int | None = None) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What runs behind the shuffle.  stays: the inputs whose rows all come back to the driver; few: of others."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        most = FEW_TO_PACK if few is None else few
        for found in portions(bytes(blob) for batch in batches for blob in batch.column(1).to_pylist()):
            yield pa.record_batch([pa.array([stage(Store(root), found, stays, most)], pa.binary())], ["answer"])

    return run


def taking_in(
    told: dict[str, Any], root: str, stays: list[str], few: int | None = None
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What packs the rows of one input and puts them in order where they lie."""
    return lambda batches: staging(root, stays, FEW_HERE if few is None else few)(packing(told)(batches))


def portions(found: Iterator[bytes]) -> Iterator[list[bytes]]:
    """As much at once as a task should hold in memory: what it makes of them is a few times as large."""
    portion: list[bytes] = []
    size = 0
    for blob in found:
        portion.append(blob)
        size += len(blob)
        if size >= PORTION:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


def stage(store: Store, packed: list[bytes], stays: list[str], few: int) -> bytes:
    """The rows of some shards, put in order: as an answer to the driver, or as a file that it names."""
    blocks: dict[str, list[list[np.ndarray]]] = {}
    sums, count, texts = np.zeros(2, np.int64), 0, Texts(Pool())
    for blob in packed:
        facts, arrays = blobs.read(blob)
        if "refused" in facts:
            return blob
        blocks.setdefault(facts["input"], []).append(arrays)
        with np.errstate(over="ignore"):
            sums += arrays[5]
        count += len(arrays[2])
        if len(arrays) > 6:
            add_texts(texts.pool, (arrays[6], arrays[7], arrays[8]))
    sent: list[np.ndarray] = []
    inputs: dict[str, Any] = {}
    for name in sorted(blocks):
        lanes, times, diffs, order, shards = merged(blocks[name])
        distinct = np.unique(times, axis=0)
        told: dict[str, Any] = {
            "rows": len(diffs),
            "least": times.min(axis=0).tolist(),
            "most": times.max(axis=0).tolist(),
            "times": distinct[:, 0].tolist() if times.shape[1] == 1 and len(distinct) <= TIMES_TOLD else None,
        }
        if len(diffs) <= few or name in stays:
            told["at"] = list(range(len(sent), len(sent) + 4))
            sent += [lanes, times, diffs, order]
        else:
            told |= staged_file(store, lanes, times, diffs, shards)
        inputs[name] = told
    facts = {"inputs": inputs, "count": count, "hash": sums.tolist(), "texts": []}
    if len(texts.pool):
        facts["texts"] = list(range(len(sent), len(sent) + 3))
        sent += part_of(texts.pool, texts.fresh())
    return blobs.write(facts, sent)


def merged(parts: list[list[np.ndarray]]) -> list[np.ndarray]:
    """The rows of all blobs, by shard and then in the order of their content."""
    lanes = np.concatenate([part[0] for part in parts], axis=1)
    times, diffs, order, shards = (np.concatenate([part[i] for part in parts]) for i in range(1, 5))
    parts.clear()
    at = np.lexsort([order, diffs, *lanes[::-1], *times.T[::-1], shards])
    return [np.ascontiguousarray(lanes[:, at]), times[at], diffs[at], order[at], shards[at]]


def staged_file(store: Store, lanes: np.ndarray, times: np.ndarray, diffs: np.ndarray, shards: np.ndarray) -> Any:
    found: list[list[int]] = []
    arrays: list[np.ndarray] = []
    for shard in np.unique(shards).tolist():
        a, b = np.searchsorted(shards, shard), np.searchsorted(shards, shard, "right")
        found.append([shard, len(arrays)])
        arrays += [np.ascontiguousarray(lanes[:, a:b]), times[a:b], diffs[a:b]]
    data = blobs.write({"shards": found}, arrays)
    return {"file": [store.put(STAGED, [data]), len(data)], "shards": [shard for shard, _ in found]}
