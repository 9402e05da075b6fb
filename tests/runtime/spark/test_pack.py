"""Packing: what is made of rows is a function of their multiset, and a row begins where the engine would send it."""

from random import Random

import numpy as np
import pyarrow as pa
import pytest

from ebbflow.columns.text_pool import Pool
from ebbflow.engine.host import Host
from ebbflow.errors import LateTime, NoKey, TypeMismatch, WrongDiff, WrongTime
from ebbflow.operators import node as kinds
from ebbflow.operators.exchange import outbox
from ebbflow.runtime.spark import blobs, pack, texts
from ebbflow.runtime.spark.cluster import Here
from ebbflow.runtime.spark.hosting import refusal_from
from ebbflow.runtime.spark.runtime import SparkRuntime
from tests.engine.test_host import program
from tests.meaning.programs import Sketch


def told(**more):
    facts = {
        "verb": "insert", "input": "x", "schema": [["a", "long"], ["b", "string"]], "key": [], "times": ["ts"],
        "diff": 1, "order": 0, "late": [[0]], "open": [0], "shards": 5, "tasks": 3, "place": [0],
    }  # fmt: skip
    return facts | more


def table(rows):
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    kinds_ = (pa.int64(), pa.string(), pa.int64())
    return pa.table(
        {name: pa.array(column, kind) for name, column, kind in zip(("a", "b", "ts"), columns, kinds_, strict=True)}
    )


def staged(rows, root, batch=7, tasks=3, **more):
    frame = told(tasks=tasks, **more), pa.Table.from_batches(table(rows).to_batches(batch))
    return sorted(Here().stage([frame], tasks, str(root), []))


ROWS = [(i % 5 if i % 7 else None, f"text {i % 4}", i % 3) for i in range(60)]


@pytest.mark.parametrize("tasks", [1, 3])
@pytest.mark.parametrize("few", [0, 1000])
def test_what_is_made_of_rows_does_not_depend_on_their_order_or_their_cuts(tmp_path, monkeypatch, few, tasks):
    monkeypatch.setattr(pack, "FEW_TO_PACK", few)
    monkeypatch.setattr(pack, "FEW_HERE", few)
    (tmp_path / "staged").mkdir()
    first = staged(ROWS, tmp_path, tasks=tasks)
    assert len(first) == tasks
    for seed in range(4):
        shuffled = ROWS[:]
        Random(seed).shuffle(shuffled)
        assert staged(shuffled, tmp_path, batch=3 + 9 * seed, tasks=tasks) == first
    assert len(list((tmp_path / "staged").iterdir())) == (len(first) if few == 0 else 0)


def taken(frames, tasks, root, **more):
    """Of the rows of frames: how many, their hash, and all of them, wherever they are now."""
    root.mkdir()
    runtime = SparkRuntime(program(), Here(), str(root), 5, reserve=1 << 26)
    runtime.staging_tasks = tasks
    found = runtime.stage([(told(**more), table(rows)) for rows in frames], [])
    rows = []
    for (lanes, times, diffs), _ in found.rows.get("x", []):
        rows += zip(*lanes.tolist(), times[:, 0].tolist(), diffs.tolist(), strict=True)
    shards = 0
    for ref in found.files.get("x", []):
        facts, arrays = blobs.read(runtime.store.get_checked("staged", *ref["file"]))
        assert ref["shards"] == [shard for shard, _ in facts["shards"]]
        for shard, first in facts["shards"]:
            lanes, times, diffs = arrays[first : first + 3]
            assert (pack.owners(lanes[[0]], 5) == shard).all()
            rows += zip(*lanes.tolist(), times[:, 0].tolist(), diffs.tolist(), strict=True)
            shards += 1
    return found.count, found.hash, sorted(rows), shards


@pytest.mark.parametrize("few", [0, 8, 1000])
def test_without_a_shuffle_the_same_rows_are_taken_in_however_they_lie(tmp_path, monkeypatch, few):
    monkeypatch.setattr(pack, "FEW_HERE", few)
    right = taken([ROWS], 3, tmp_path / "right")
    assert len(right[2]) == 60 and right[3] == 0
    for number, cuts in enumerate([[60], [30, 60], [5, 10, 11, 60]]):
        frames = [ROWS[a:b] for a, b in zip([0, *cuts], cuts, strict=False)]
        found = taken(frames, 1, tmp_path / str(number))
        assert found[:3] == right[:3]
        assert (found[3] > 0) == (few < max(map(len, frames)))


def test_count_and_hash_tell_multisets_apart(tmp_path):
    def key(rows, **more):
        facts = [blobs.read(answer)[0] for answer in staged(rows, tmp_path, **more)]
        return sum(one["count"] for one in facts), *(sum(one["hash"][i] for one in facts) % 2**64 for i in (0, 1))

    right = key(ROWS)
    assert right[0] == 60
    others = [ROWS[1:], [*ROWS, ROWS[0]], [*ROWS[1:], (9, "text 0", 0)], [*ROWS[1:], (ROWS[0][0], ROWS[0][1], 2)]]
    others += [[*ROWS[2:], ROWS[0], ROWS[0]]]
    assert len({right, *map(key, others)}) == len(others) + 1
    assert key(ROWS, open=[5]) == right, "the open time is not part of what was delivered"


def test_rows_without_a_time_come_at_the_open_one(tmp_path):
    facts, arrays = blobs.read(staged([(1, "a", None), (1, "b", 4)], tmp_path, open=[3])[0])
    assert sorted(arrays[facts["inputs"]["x"]["at"][1]][:, 0].tolist()) == [3, 4]


def test_every_text_that_rows_name_comes_with_them(tmp_path):
    pool, ids = Pool(), set()
    for answer in staged(ROWS, tmp_path):
        facts, arrays = blobs.read(answer)
        texts.add_texts(pool, tuple(arrays[i] for i in facts["texts"]))
        ids |= set(arrays[facts["inputs"]["x"]["at"][0]][1].tolist())
    assert sorted(pool.decode(np.array(sorted(ids))).to_pylist()) == [f"text {i}" for i in range(4)]


@pytest.mark.parametrize(
    ("rows", "more", "kind", "says"),
    [
        ([(1, "a", 2)], {"late": [[3]]}, LateTime, "too late at time 2"),
        ([(1, "a", 2)], {"times": ["b"]}, WrongTime, 'the column "b" is of string'),
        ([(1, "a", None)], {"diff": "ts"}, WrongDiff, "no value in the column"),
        ([(None, "a", 1)], {"key": [0]}, NoKey, "no value for the key"),
        ([(1, "a", 2)], {"key": [0], "diff": 2}, WrongDiff, "a diff beyond 1 and -1"),
        ([(1, "a", 2)], {"schema": [["b", "long"]], "place": []}, TypeMismatch, "b"),
    ],
)
def test_rows_that_cannot_be_are_refused_in_our_words(tmp_path, rows, more, kind, says):
    (answer,) = staged(rows, tmp_path, **more)
    error = refusal_from(blobs.read(answer)[0]["refused"])
    assert type(error) is kind and says in str(error)


@pytest.mark.parametrize("shards", [2, 3, 64])
def test_rows_begin_at_the_shard_that_owns_them(shards, tmp_path):
    """As the engine's own exchange has it, so that what begins there stays there."""
    graph = program()
    runtime = SparkRuntime(graph, Here(), str(tmp_path), shards, reserve=1 << 26)
    lanes = np.array([[i * 37 % 11 for i in range(50)], [i * 53 % 13 for i in range(50)]], np.int64)
    place = runtime.place_of("y")
    host = Host(graph, shards, Pool(), threads=False, reserve=1 << 26)
    worker = host.workers[0]
    cells = [cell for cell in host.plan.cells if cell.kind == kinds.ARRANGE and cell.partition_key == ("a",)]
    assert place == [0] and cells
    nd = worker.at[cells[0].number]
    right = [int(outbox.owner_of(worker.W, nd, worker.heap.keep(row))) for row in lanes.T]
    assert pack.owners(lanes[place], shards).tolist() == right


def test_a_sketch_without_exchanges_places_rows_by_all_their_lanes(tmp_path):
    s = Sketch()
    x = s.input("x")
    s.output("same", x)
    runtime = SparkRuntime(s.graph, Here(), str(tmp_path), 2, reserve=1 << 26)
    assert runtime.place_of("x") in ([], [0, 1])
