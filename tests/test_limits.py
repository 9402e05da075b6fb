"""Every limit is refused with a sentence before it is reached: tried at one less, at the limit, and at one more.

Where a limit is too large to be tried, a smaller one is put in its place, and the fields that hold such a number are
compared with the one that is stated.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import ebbflow as ebb
from ebbflow import limits
from ebbflow.columns import text_pool as pools
from ebbflow.engine.slices import BARRIER_SLICE, GENERAL_SLICE, SLICE, SLICE_IN_LOOPS
from ebbflow.errors import NotAnExpression, NumberOverflow, PlanError, TypeMismatch, WrongDiff, WrongTime
from ebbflow.operators import block, consolidate
from ebbflow.operators.reduce import presence_by_round, presence_by_value
from ebbflow.trace import batch, clock, segment, table
from ebbflow.trace.diff_limits import MANY_ENTRIES, is_large, size_bits
from ebbflow.trace.worker_fields import Worker
from tests.trace.heaps import Bench

PAGE = Path(__file__).parents[1] / "docs" / "limits.md"


def test_an_is_in_that_is_too_long_names_the_line_and_the_semijoin():
    rows = ebb.Dataflow().input("xs", "x long")
    with pytest.raises(ebb.EbbflowError) as told:
        rows.filter(rows.x.is_in(list(range(30_000))))
    assert "test_limits.py" in str(told.value.at) and "semijoin" in told.value.hint


def test_the_page_is_up_to_date():
    assert PAGE.read_text() == limits.page(), "write limits.page() to docs/limits.md again"


# ---- tried --------------------------------------------------------------------------------------------


def wide(columns):
    flow = ebb.Dataflow()
    xs = flow.input("xs", {f"c{i}": "long" for i in range(columns)})
    return flow, xs


COLUMNS = {
    "distinct": lambda xs, n: xs.distinct(),
    "as it is": lambda xs, n: xs,
    "all but one grouped": lambda xs, n: xs.group_by(*[f"c{i}" for i in range(n - 1)]).count(),
}


@pytest.mark.parametrize("make", COLUMNS)
def test_columns(make):
    for columns in (limits.COLUMNS - 1, limits.COLUMNS) if make == "distinct" else (limits.COLUMNS,):
        flow, xs = wide(columns)
        flow.output("out", COLUMNS[make](xs, columns))
        with flow.run() as live:
            live.insert("xs", {f"c{i}": np.arange(40) % 7 + i for i in range(columns)})
            live.close()
            assert len(live.snapshot("out")) == 7
    flow, xs = wide(limits.COLUMNS + 1)
    flow.output("out", COLUMNS[make](xs, limits.COLUMNS + 1))
    with pytest.raises(PlanError, match=f"has {limits.COLUMNS + 1:,} columns; there can be {limits.COLUMNS:,}"):
        flow.run()


def test_columns_that_a_join_brings_together():
    flow = ebb.Dataflow()
    half = limits.COLUMNS // 2 + 1
    left = flow.input("left", {"k": "long", **{f"l{i}": "long" for i in range(half)}})
    right = flow.input("right", {"k": "long", **{f"r{i}": "long" for i in range(half)}})
    flow.output("out", left.join(right, on="k"))
    with pytest.raises(PlanError, match="columns; there can be"):
        flow.run()


def test_a_wide_distinct_by_several_workers():
    flow, xs = wide(2000)  # more than there once was room for, and written behind it
    flow.output("out", xs.distinct())
    with flow.run(workers=2) as live:
        live.insert("xs", {f"c{i}": np.arange(100) % 9 + i for i in range(2000)})
        assert sorted(row[0] for row in live.commit()["out"].rows()) == list(range(9))


def test_terms_of_an_expression():
    def balanced(terms):  # two columns and a sum are three terms
        return ebb.col("x") if terms == 1 else balanced(terms // 2 | 1) + balanced(terms - 1 - (terms // 2 | 1))

    flow = ebb.Dataflow()
    flow.output("out", flow.input("xs", "x long").select(s=balanced(limits.TERMS - 1)))
    assert flow.compute(xs=[(1,)])["out"].rows() == [(limits.TERMS // 2, 1)]
    with pytest.raises(NotAnExpression, match="more than 20,000 terms; a part that is used twice counts twice"):
        balanced(limits.TERMS + 1)


def test_an_expression_that_doubles_is_refused_at_once():
    e = ebb.col("x")
    with pytest.raises(NotAnExpression, match="more than 20,000 terms"):
        for _ in range(60):
            e = e + e


def test_coordinates():
    for count in (limits.COORDINATES - 1, limits.COORDINATES):
        flow = ebb.Dataflow(time=[f"t{i}" for i in range(count)])
        flow.output("out", flow.input("xs", "x long").group_by("x").count())
        with flow.run() as live:
            live.insert("xs", [(1,)], time=(0,) * count)
            live.insert("xs", [(1,)], time=(0,) * (count - 1) + (1,))
            live.insert("xs", [(1,)], time=(1,) + (0,) * (count - 1))
            live.close()
            assert [row[0:2] for row in live.snapshot("out").rows()] == [(1, 3)]
    flow = ebb.Dataflow(time=[f"t{i}" for i in range(limits.COORDINATES + 1)])
    flow.output("out", flow.input("xs", "x long"))
    with pytest.raises(PlanError, match=f"{limits.COORDINATES + 1} coordinates; there can be {limits.COORDINATES}"):
        flow.run()


def nested(depth):
    flow = ebb.Dataflow()
    xs = flow.input("xs", "x long")

    def body(left):
        return lambda v: v.iterate(body(left - 1), max_rounds=1) if left else v.filter(ebb.col("x") > 0)

    flow.output("out", xs.iterate(body(depth - 1), max_rounds=1))
    return flow


def test_loops_inside_each_other():
    for depth in (limits.LOOPS_NESTED - 1, limits.LOOPS_NESTED):
        assert nested(depth).compute(xs=[(0,), (1,)])["out"].rows() == [(1, 1)]
    with pytest.raises(PlanError, match=f"stands in {limits.LOOPS_NESTED + 1} loops"):
        nested(limits.LOOPS_NESTED + 1).run()


def test_nodes(monkeypatch):
    flow = ebb.Dataflow()
    xs = flow.input("xs", "x long")
    flow.output("out", xs.distinct())
    nodes = len(flow.graph.nodes)
    monkeypatch.setattr(limits, "NODES", nodes + 1)
    flow.run().close()
    monkeypatch.setattr(limits, "NODES", nodes)
    flow.run().close()
    monkeypatch.setattr(limits, "NODES", nodes - 1)
    with pytest.raises(PlanError, match=f"has {nodes} nodes; there can be {nodes - 1}"):
        flow.run()


def test_workers():
    flow = ebb.Dataflow()
    flow.output("out", flow.input("xs", "x long").distinct())
    for workers in (limits.WORKERS - 1, limits.WORKERS):
        runtime = flow._run_tuned({"reserve": 1 << 26}, workers=workers)
        with runtime as live:
            live.insert("xs", [(i % 50,) for i in range(200)])
            assert len(live.commit()["out"].rows()) == 50
    with pytest.raises(PlanError, match=f"1 to {limits.WORKERS} workers"):
        flow.run(workers=limits.WORKERS + 1)


def test_times_of_several_coordinates_that_are_alive_at_once():
    for times, fits in (
        (limits.TIMES_AT_ONCE - 1, True),
        (limits.TIMES_AT_ONCE, True),
        (limits.TIMES_AT_ONCE + 1, False),
    ):
        bench = Bench(coordinates=2, general=True, reserve=1 << 29)
        rows = np.stack([np.arange(times), times - np.arange(times)], axis=1)
        ranks = np.empty(times, np.int64)
        clock.intern_rows(bench.W, np.ascontiguousarray(rows), ranks)
        assert (bench.header.error == 0) == fits
        assert not fits or ranks.max() == times - 1


def test_rows_of_a_call(monkeypatch):
    monkeypatch.setattr(limits, "ROWS_A_CALL", 50)
    flow = ebb.Dataflow()
    flow.output("out", flow.input("xs", "x long"))
    forms = (lambda n: pa.table({"x": range(n)}), lambda n: {"x": np.arange(n)}, lambda n: [(i,) for i in range(n)])
    with flow.run() as live:
        for form in forms:
            for n in (49, 50):
                live.insert("xs", form(n))
            with pytest.raises(TypeMismatch, match=r"is given 51 rows .*; one call takes 50"):
                live.insert("xs", form(51))
            with pytest.raises(TypeMismatch, match=r"is given 51 rows .*; one call takes 50"):
                live.apply("xs", form(51), diff=2, time=np.zeros(51, int))
        assert sum(row[-1] for row in live.commit()["out"].rows()) == 3 * 99


def test_bytes_of_a_text(monkeypatch):
    monkeypatch.setattr(limits, "TEXT_BYTES", 100)
    pool = pools.Pool()
    assert pool.encode_texts(["a" * 99, "b" * 100, "c"]).shape == (3,)
    with pytest.raises(TypeMismatch, match="a text has 101 bytes; it can have 100"):
        pool.encode_texts(["c", "a" * 101])


def test_times_and_diffs():
    flow = ebb.Dataflow()
    flow.output("out", flow.input("xs", "x long"))
    with flow.run(history="all") as live:
        for diff in (limits.LARGEST_WORD - 1, limits.LARGEST_WORD, -limits.LARGEST_WORD, 1 - limits.LARGEST_WORD):
            live.apply("xs", [(diff % 1000,)], time=abs(diff) - limits.LARGEST_WORD + 1, diff=diff)
        with pytest.raises(WrongDiff):
            live.apply("xs", [(1,)], diff=limits.LARGEST_WORD + 1)
        with pytest.raises(WrongDiff):
            live.apply("xs", [(1,)], diff=-limits.LARGEST_WORD - 1)
        live.insert("xs", [(1,)], time=limits.LARGEST_WORD)
        with pytest.raises(WrongTime):
            live.insert("xs", [(1,)], time=limits.LARGEST_WORD + 1)
        live.close()


@pytest.mark.parametrize("depth", range(1, limits.LOOPS_NESTED + 1))
def test_rounds_fit_their_fields(depth):
    bits = limits.rounds(depth).bit_length()
    assert bits >= 1 and depth * (bits + 1) <= 62  # a guard bit above each field
    assert limits.rounds(depth) == (1 << bits) - 1


def test_a_round_too_many_is_refused():
    """Of loops so deep that a field is full soon."""
    flow = ebb.Dataflow()
    xs = flow.input("xs", "x long")
    most = limits.rounds(limits.LOOPS_NESTED)

    def body(left):
        if left:
            return lambda v: v.iterate(body(left - 1), max_rounds=1)
        return lambda v: v.iterate(lambda w: w.select(x=ebb.col("x") - 1).filter(ebb.col("x") > 0).union(xs).distinct())

    flow.output("out", xs.iterate(body(limits.LOOPS_NESTED - 2), max_rounds=1))
    with flow.run() as live:
        live.insert("xs", [(most - 1,)])
        live.commit()
        live.insert("xs", [(3 * most,)])
        with pytest.raises(ebb.errors.NeverSettles, match=f"went round {most} times"):
            live.commit()
        live.discard()


# ---- compared with the fields ---------------------------------------------------------------------------


def test_a_rank_and_a_diff_fit_one_word():
    assert limits.COPIES_KEPT == segment.DIFF_AT_MOST == (1 << (segment.DIFF_BITS - 1)) - 1
    for rank in (0, limits.TIMES_AT_ONCE):
        for diff in (0, limits.COPIES_KEPT, -limits.COPIES_KEPT):
            word = segment.stamped(rank, diff)
            assert word < 2**63 and segment.rank_of(word) == rank and segment.diff_of(word) == diff


def test_a_rank_fits_below_the_place_of_a_value():
    assert limits.TIMES_AT_ONCE <= presence_by_value.RANK_MASK == (1 << presence_by_value.INDEX_BITS) - 1


def test_no_slice_has_more_times_than_ranks():
    assert max(SLICE, SLICE_IN_LOOPS, GENERAL_SLICE, BARRIER_SLICE) <= limits.TIMES_AT_ONCE == clock.RANKS_AT_MOST


def test_the_list_of_columns_has_room_for_the_widest():
    assert limits.COLUMNS <= block.MOST_COLUMNS and block.Block.FIELDS["columns"].number >= limits.COLUMNS


def test_there_is_mail_for_every_worker():
    assert Worker.FIELDS["outboxes"].number >= limits.WORKERS


def test_an_entry_of_the_directory_holds_the_number_of_any_key_of_a_batch():
    assert limits.KEYS_A_BATCH == 0xFFFFFFFF == (1 << 32) - 1
    assert batch.GROUP <= 64


def test_slots_tell_lives_and_places_apart():
    assert consolidate.LIVES << consolidate.WHERE <= 2**62
    assert table.ADDRESS == (1 << 44) - 1  # words: 2**47 bytes, all that a process has
    assert presence_by_round.RUN_BITS + 43 <= 63


def test_sums_of_counted_copies_stay_words():
    assert limits.MOST_COUNTED == (1 << 62) - 1
    assert MANY_ENTRIES * limits.COPIES_KEPT < limits.MOST_COUNTED  # fewer entries need not be looked at
    in_a_block = block.BLOCK_ROWS * limits.COPIES_KEPT  # after which they are looked at
    assert limits.MOST_COUNTED + in_a_block < limits.LARGEST_WORD


def test_a_sum_that_fits_no_count_is_told_by_its_bits():
    most = limits.MOST_COUNTED
    for number, large in ((0, False), (most, False), (most + 1, True), (limits.LARGEST_WORD, True)):
        assert bool(is_large(size_bits(number))) == large
        assert bool(is_large(size_bits(-number - 1))) == large


def test_too_many_steps_in_a_row_are_refused():
    flow = ebb.Dataflow()
    xs = flow.input("xs", "x long")
    out = xs
    for _ in range(1000):
        out = out.union(xs)
    flow.output("out", out)
    with pytest.raises(PlanError, match="linear steps follow each other"):
        flow.run()


def test_a_rank_beyond_the_clock_is_a_sentence():
    assert issubclass(NumberOverflow, OverflowError)


# ---- unions -------------------------------------------------------------------------------------------

DOUBLED = {
    "as it is": lambda c: c.union(c),
    "filtered": lambda c: c.union(c).filter(c.x > 0),
    "mapped": lambda c: c.union(c.select(x=c.x + 0)),
    "mapped after": lambda c: c.union(c).select(x=ebb.col("x") + 0),
    "signed": lambda c: c.union(c, c, c.negate()),
}


@pytest.mark.parametrize("make", DOUBLED)
def test_unions_of_unions(make):
    """Each doubles the rows; the plan does not double, and too many are refused before they run."""
    flow = ebb.Dataflow()
    c = flow.input("xs", "x long")
    times = 16 if make != "signed" else 8
    for _ in range(times):
        c = DOUBLED[make](c)
    flow.output("out", c)
    assert flow.compute(xs=[(1,)])["out"].rows() == [(1, 2**times)]
    refused = ebb.Dataflow()
    c = refused.input("xs", "x long")
    for _ in range(40):
        c = DOUBLED[make](c)
    refused.output("out", c)
    with pytest.raises(PlanError, match="times") as told:
        refused.run()
    assert "test_limits.py" in str(told.value.at) and "distinct()" in told.value.hint


def test_distinct_unions_of_unions_are_few():
    flow = ebb.Dataflow()
    c = flow.input("xs", "x long")
    for _ in range(40):
        c = c.union(c).distinct()
    flow.output("out", c)
    assert flow.compute(xs=[(1,)])["out"].rows() == [(1, 1)]
