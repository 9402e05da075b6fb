"""Claims about very many rows, which wait in parts: they mean what they mean one by one."""

import numpy as np
import pytest

import ebbflow as ebb
from ebbflow.operators import hash_sort, partitions
from ebbflow.operators import node as kinds
from ebbflow.trace import packed_rows
from ebbflow.trace.hashing import hash_lanes
from ebbflow.trace.reserved_heap import Heap
from ebbflow.trace.worker_fields import Vector, Worker
from tests.trace.heaps import Bench

SEALED = {"seal_rows": 16, "keep_records": 0}  # 256 rows are very many


def edges_and_names(more=False):
    """Edges joined with names at their ends; with `more`, a second input comes to the same arrangement."""
    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long, dst long")
    if more:
        edges = edges.union(flow.input("others", "src long, dst long"))
    names = flow.input("names", "id long, name string")
    kept = edges.filter(edges.dst != 3).with_columns(size=edges.dst * edges.dst)
    flow.output("named", kept.join(names, on={"src": "id"}))
    return flow


def some(seed, rows, keys):
    rng = np.random.default_rng(seed)
    made = {"src": rng.integers(0, keys, rows), "dst": rng.integers(0, 50, rows), "d": rng.integers(-1, 3, rows)}
    return {**made, "t": rng.integers(0, 3, rows)}


def shown(flow, tables, **options):
    with flow._run_tuned(options) as live:
        live.insert("names", [(key, f"n{key}") for key in range(0, 2000, 3)], time=0)
        for name, table in tables:
            live.apply(name, table, time="t", diff="d")
        live.advance_to(1)
        live.advance_to(9)
        return sorted(live.changes("named").rows())


@pytest.mark.parametrize("rows, keys", [(300, 20), (5_000, 40), (20_000, 2_000), (20_000, 3)])
def test_very_many_rows_mean_what_they_mean_one_by_one(rows, keys):
    tables = [("edges", some(rows, rows, keys))]
    assert shown(edges_and_names(), tables, **SEALED) == shown(edges_and_names(), tables)


def test_rows_that_come_after_are_not_forgotten():
    tables = [("edges", some(1, 5_000, 300)), ("others", some(2, 40, 300))]
    expected = shown(edges_and_names(more=True), tables)
    assert shown(edges_and_names(more=True), tables, **SEALED) == expected
    assert shown(edges_and_names(more=True), tables[::-1], **SEALED) == expected


def test_a_row_that_is_refused_while_rows_are_parted_leaves_everything_as_it_was():
    flow = edges_and_names()
    poisoned = some(4, 1_000, 10)
    poisoned["dst"][700] = 2**40
    poisoned["d"][700] = 1
    with flow._run_tuned(SEALED) as live:
        live.insert("names", [(key, "n") for key in range(10)], time=0)
        live.apply("edges", poisoned, time="t", diff="d")
        with pytest.raises(ebb.errors.NumberOverflow):
            live.advance_to(9)
        live.discard()
        live.insert("names", [(key, "n") for key in range(10)], time=0)
        live.apply("edges", some(5, 1_000, 10), time="t", diff="d")
        live.advance_to(9)
        found = sorted(live.changes("named").rows())
    with flow.run() as live:
        live.insert("names", [(key, "n") for key in range(10)], time=0)
        live.apply("edges", some(5, 1_000, 10), time="t", diff="d")
        live.advance_to(9)
        assert found == sorted(live.changes("named").rows())


@pytest.mark.parametrize("seed", range(20))
def test_rows_that_are_alike_are_put_in_the_order_that_sorting_gives(seed):
    rng = np.random.default_rng(seed)
    heap = Heap(1 << 26)
    n, w = int(rng.integers(1, 24)), int(rng.integers(4, 7))
    rows = np.zeros((n, w), np.int64)
    rows[:, 0], rows[:, 1], rows[:, 2 : w - 1] = 7, rng.integers(-2, 3, n), 11
    rows[:, w - 1] = rng.integers(-3, 4, n)
    p, o = heap.keep(rows.ravel()), heap.zeros(n * w)
    assert hash_sort.are_alike(p, n, w)
    hash_sort.put_alike(p, n, w, o)
    found = np.array(heap.H[o : o + n * w]).reshape(n, w)
    assert found.tolist() == rows[np.argsort(rows[:, w - 1], kind="stable")].tolist()
    if n > 1:
        heap.H[p + w] = 8
        assert not hash_sort.are_alike(p, n, w)


@pytest.mark.parametrize("rows", [100, 400])
def test_room_for_rows_that_do_not_come_is_given_back(rows):
    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long, dst long")
    none = edges.filter(edges.dst > 1000)
    flow.output("least", none.group_by("src").agg(least=ebb.min("dst")))
    flow.output("pairs", none.join(none, on="dst", suffix="2"))
    table = {key: values for key, values in some(1, rows, 20).items() if key in ("src", "dst")}
    with flow._run_tuned(SEALED) as live:
        used = []
        for t in range(6):
            live.apply("edges", table, time=t)
            live.advance_to(t + 1)
            used.append(live.counters()["words"])
        assert used[2:] == [used[2]] * 4


def waiting(bench, rng, rows, keys, lanes, odd):
    """Rows as they wait, `link, rank, diff, hash, lanes`; some of another rank, diff or size if they are odd."""
    made = np.zeros((rows, kinds.PendingRow.SIZE + lanes), np.int64)
    made[:, 0], made[:, 1], made[:, 2] = -1, 1, 1
    made[:, kinds.PendingRow.SIZE] = rng.integers(-keys, keys, rows)
    made[:, kinds.PendingRow.SIZE + 1 :] = rng.integers(-5, 5, (rows, lanes - 1))
    if odd:
        which = rng.random(rows) < odd
        made[which, 1], made[which, 2] = rng.integers(1, 3, which.sum()), rng.integers(-1, 2, which.sum())
        made[which, -1] *= 2**40
    at = bench.heap.zeros(1)
    for row in made:
        bench.H[at] = row[kinds.PendingRow.SIZE]
        row[3] = hash_lanes(at, 1)
    return made


def consolidated(made):
    """Rows `hash, key, values, rank` in order, and the sums of their diffs."""
    sums: dict[tuple, int] = {}
    for _, rank, diff, hash_, *values in made.tolist():
        sums[hash_, *values, rank] = sums.get((hash_, *values, rank), 0) + diff
    return [(row, diff) for row, diff in sorted(sums.items()) if diff]


SHAPES = [
    (50, 5, 2, 0),
    (2_000, 300, 2, 0),
    (2_000, 2, 2, 0),
    (2_000, 300, 2, 0.01),
    (700, 90, 1, 0),
    (700, 90, 4, 0.3),
]


@pytest.mark.parametrize("rows, keys, lanes, odd", SHAPES)
def test_parts_in_their_order_are_all_rows_in_order_and_summed(rows, keys, lanes, odd):
    bench, rng = Bench(reserve=1 << 26), np.random.default_rng(rows + keys)
    nd = bench.node(kinds.ARRANGE, 1, [1 + lanes])
    made = waiting(bench, rng, rows, keys, lanes, odd)
    parts = int(partitions.new_partitions(bench.W, nd, rows))
    partitions.partition_pending(bench.W, parts, bench.heap.keep(made.ravel()), made.size)
    found = []
    for i in range(int(packed_rows.Pack(parts).list_count)):
        n = int(partitions.take_partition(bench.W, parts, i, 1))
        p = int(Worker(bench.W).bulk.pointer)
        for rank, diff, *rest in np.array(bench.H[p : p + n * (3 + lanes)]).reshape(n, 3 + lanes).tolist():
            found.append(((*rest, rank), diff))
    assert found == consolidated(made)


@pytest.mark.parametrize("odd", [0, 0.2])
def test_rows_of_parts_that_wait_side_by_side_again_are_the_same(odd):
    bench, rng = Bench(reserve=1 << 26), np.random.default_rng(5)
    nd = bench.node(kinds.ARRANGE, 1, [3])
    made = waiting(bench, rng, 500, 40, 2, odd)
    parts = int(partitions.new_partitions(bench.W, nd, 500))
    partitions.partition_pending(bench.W, parts, bench.heap.keep(made.ravel()), made.size)
    v = Vector(bench.heap.zeros(Vector.SIZE))
    bench.heap.load(v, made[:1].ravel())
    partitions.spill_partitions(bench.W, parts, v, 1)
    found = np.array(bench.vector(v)).reshape(-1, made.shape[1]).tolist()
    assert sorted(found) == sorted([*made.tolist(), made[0].tolist()])
