"""A key with very many values: what one change of it costs does not depend on how many there are."""

import random

import numpy as np
import pytest

import ebbflow as ebb
import ebbflow.functions as F
from ebbflow.engine import host
from ebbflow.engine.index_after_load import SLOTS_A_ROW, index_large_keys
from ebbflow.operators.node import ARRANGE, REDUCE
from ebbflow.trace.spine import Sealed
from tests.tuned import tuned

EDGES = "src long, dst long"
PROGRAMS = {
    "join": lambda e, asked: e.join(asked, on="src").select("by", "dst"),
    "semijoin": lambda e, asked: e.semijoin(asked, on="src"),
    "distinct": lambda e, asked: e.distinct().join(asked, on="src").select("by", "dst"),
    "min": lambda e, asked: e.group_by("src").agg(least=ebb.min("dst"), most=ebb.max("dst")),
    "top": lambda e, asked: e.group_by("src").top(3, "-dst"),
    "median": lambda e, asked: e.group_by("src").agg(m=F.median("dst")),
}


def program(name):
    flow = ebb.Dataflow()
    edges, asked = flow.input("edges", EDGES), flow.input("asked", "src long, by long")
    flow.output("out", PROGRAMS[name](edges, asked))
    return flow


def words_moved(live):
    """The longest piece of memory in which an entry of some key may have to move others."""
    longest = 0
    for part in live._runtime.parts:
        for worker in part.host.workers:
            for node in worker.at:
                longest = max(longest, *map(int, pieces(node))) if node.table else longest
    return longest


def pieces(node):
    from ebbflow.trace import table as t
    from ebbflow.trace.ordered_index import OrderedIndex

    table = node.table
    yield 0
    for i in range(int(table.mask) + 1):
        record = t.Record(int(table.slots[i]) & t.ADDRESS)
        if record:
            for family in range(int(table.families)):
                segment = t.segment_of(table, record, family)
                yield segment.length * table.widths[family]
            if index := OrderedIndex(t.Marks(record + int(table.keys)).index) if table.hangs_index else 0:
                yield index.chunks * 4
                yield from (index.directory[k].values * index.step for k in range(index.chunks))


def work_of(name, values):
    """Comparisons that single changes cost at most, and the longest piece of memory that one moves a part of."""
    rng, spent = random.Random(1), []
    with program(name).run() as live:
        live.apply("edges", {"src": np.zeros(values, np.int64), "dst": np.arange(values) * 2}, time=0)
        live.insert("asked", [(0, 7)], time=0)
        live.advance_to(1)
        live.changes("out")
        for t in range(1, 12):
            before = live.counters()
            live.delete("edges", [(0, 2 * rng.randrange(values // 2))], time=t)
            live.insert("edges", [(0, 2 * rng.randrange(values) + 1)], time=t)
            live.advance_to(t + 1)
            after = live.counters()
            spent.append(sum(after[name] - before[name] for name in ("replayed", "changes", "answers")))
        return max(spent), words_moved(live)


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_change_of_a_key_with_many_values_looks_at_few_of_them(name):
    few, _ = work_of(name, 4_000)
    many, moved = work_of(name, 200_000)
    assert many <= few + 30, (few, many)  # fifty times as many values: some comparisons more
    assert moved <= 8 * 200_000**0.5


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_key_that_a_load_made_large_is_indexed_before_it_changes(name):
    with program(name).run() as live:
        live.apply("edges", {"src": np.zeros(40_000, np.int64), "dst": np.arange(40_000) * 2}, time=0)
        live.insert("asked", [(0, 7)], time=0)
        live.advance_to(1)
        assert words_moved(live) <= 8 * 40_000**0.5


def test_indexes_after_a_load_take_a_part_of_the_memory_that_is_free(monkeypatch):
    monkeypatch.setattr(host, "LARGE_STEP", 1)
    with tuned(program("min"), reserve=1 << 21) as live:
        live.apply("edges", {"src": np.zeros(4_000, np.int64), "dst": np.arange(4_000) * 2}, time=0)
        live.advance_to(1)
        assert words_moved(live) > 2 * 4_000, "too many for so little memory"
        live.delete("edges", [(0, 0)], time=1)
        live.advance_to(2)
        assert live.snapshot("out").rows() == [(0, 2, 7998, 1)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_index_shows_at_every_time_what_looking_through_shows(name, monkeypatch):
    rng = random.Random(name)
    steps, here, t = [], [], 0
    for _ in range(12):
        changes = []
        for _ in range(rng.choice([1, 2, 3, 25])):
            if here and rng.random() < 0.45:
                changes.append((here.pop(rng.randrange(len(here))), t + rng.randint(0, 1), -1))
            else:
                row = (rng.choice([0, 0, 0, 1]), rng.randint(0, 20))
                changes.append((row, t, 1))
                here.append(row)
        t += 2
        asked = [((rng.randint(0, 1), rng.randint(0, 3)), t - 1, rng.choice([1, 1, -1]))] if rng.random() < 0.4 else []
        steps.append((t, changes, asked))

    def shown(**options):
        found = []
        with tuned(program(name), **options) as live:
            for frontier, changes, asked in steps:
                for input_, rows in (("edges", changes), ("asked", asked)):
                    for row, time, diff in rows:
                        names = ("src", "dst") if input_ == "edges" else ("src", "by")
                        live.apply(input_, dict(zip(names, ([x] for x in row), strict=True)), time=time, diff=diff)
                live.advance_to(frontier)
                found.append(sorted(live.changes("out").rows(), key=repr))
        return found

    plain = shown()
    assert any(plain)
    monkeypatch.setattr(host, "LARGE_STEP", 1)  # what a load leaves is put in order after every step
    for sizes in ({"seal_rows": 1, "keep_records": 0}, {}):
        assert shown(index_rows=2, index_entries=2, **sizes) == plain
    monkeypatch.undo()
    assert shown(index_rows=1, index_entries=1) == plain
    assert shown(index_rows=3, index_entries=3, slice_times=1, workers=2) == plain


def loaded(live, kind):
    """A worker with 200 values of each of 200 keys, none of which counted as large in the load, and who has them."""
    worker = live._runtime.parts[0].host.workers[0]
    worker.header.index_rows = worker.header.index_entries = 1 << 40
    live.apply("edges", {"src": np.arange(40_000) // 200, "dst": np.arange(40_000) * 2}, time=0)
    live.advance_to(1)
    worker.header.index_rows = worker.header.index_entries = 128
    has_rows = lambda node: node.kind == kind and (node.table.count or node.table.spine)
    return worker.header, next(filter(has_rows, worker.at))


def test_a_batch_is_looked_through_for_large_keys_once():
    with tuned(program("join"), keep_records=0) as live:  # a load goes into a batch, however large it is
        header, node = loaded(live, ARRANGE)
        assert index_large_keys(header, node, 0) == 0
        assert node.table.spine and not node.table.count
        batches = node.table.spine.batches
        for k in range(int(batches.length)):
            Sealed(batches.pointer[k]).searched = 0
        assert index_large_keys(header, node, 0) == 40_000


def test_records_are_looked_through_only_after_a_step_of_about_as_many_rows():
    with program("min").run() as live:
        header, node = loaded(live, REDUCE)
        few = int(node.table.mask) // SLOTS_A_ROW
        assert index_large_keys(header, node, few) == 0
        assert index_large_keys(header, node, few + 1) == 40_000
