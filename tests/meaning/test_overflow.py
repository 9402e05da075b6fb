"""Multiplicities never wrap: a sum of diffs that leaves its word is refused by row, place and time; nothing happened.

One table of programs, one of histories; each is asked of the engine in its ways (one worker, two, sliced, in bulk, by
several coordinates) and, where its own limits allow, of the oracle.
"""

from itertools import permutations

import numpy as np
import pytest

import ebbflow as ebb
from ebbflow.errors import NumberOverflow
from ebbflow.frontend.running.session import Session
from ebbflow.limits import COPIES_KEPT, LARGEST_WORD, MOST_COUNTED
from ebbflow.runtime.oracle.runtime import OracleRuntime

HALF = 2**62
WAYS = {
    "one": lambda flow: flow.run(),
    "two": lambda flow: flow.run(workers=2),
    "all": lambda flow: flow.run(history="all"),
    "sliced": lambda flow: flow._run_tuned({"slice_times": 1}),
    "bulky": lambda flow: flow._run_tuned({"seal_rows": 1, "keep_records": 0}),
    "oracle": lambda flow: Session(flow, runtime=OracleRuntime),
}


def program(make, time="time"):
    flow = ebb.Dataflow(time=time)
    flow.output("out", make(flow.input("xs", "x long, y long")))
    return flow


def copied(xs):
    return xs


LINEAR = {
    "as it is": copied,
    "mapped": lambda xs: xs.select(x=ebb.col("x") * 0, y="y"),
    "filtered": lambda xs: xs.filter(ebb.col("x") < 100),
    "united": lambda xs: xs.union(xs.filter(ebb.col("x") > 100)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", LINEAR)
def test_a_row_that_adds_up_over_times_is_refused_and_the_session_stays(make, way):
    with WAYS[way](program(LINEAR[make])) as live:
        live.apply("xs", [(1, 7)], time=3, diff=HALF)
        live.advance_to(4)
        live.apply("xs", [(1, 7)], time=5, diff=HALF - 1)
        live.advance_to(6)
        assert [row[-1] for row in live.snapshot("out").rows()] == [LARGEST_WORD]
        live.apply("xs", [(1, 7)], time=8, diff=1)
        for _ in range(2):  # it stays so
            with pytest.raises(NumberOverflow) as told:
                live.advance_to(9)
            if way != "oracle":
                assert "y=7" in told.value.what and '"out"' in told.value.what and "at time 8" in told.value.what
            assert "live.discard()" in told.value.hint
            assert live.frontier("xs") == [(6,)] and live.frontier("out") == [(6,)]
        assert [row[-1] for row in live.snapshot("out").rows()] == [LARGEST_WORD]
        live.discard()
        live.apply("xs", [(1, 7)], time=8, diff=-LARGEST_WORD)
        live.advance_to(9)
        assert live.snapshot("out").rows() == []
        live.apply("xs", [(1, 7)], time=9, diff=-LARGEST_WORD)
        live.advance_to(10)
        live.apply("xs", [(1, 7)], time=10, diff=-1)
        with pytest.raises(NumberOverflow):
            live.advance_to(11)
        live.discard()


@pytest.mark.parametrize("way", WAYS)
def test_many_times_of_one_step_are_summed_in_their_order(way):
    with WAYS[way](program(copied)) as live:
        diffs = [HALF, -HALF, HALF, HALF - 1, -LARGEST_WORD, -HALF, HALF]
        live.apply("xs", {"x": [1] * 7, "y": [2] * 7, "t": range(7), "d": diffs}, time="t", diff="d")
        live.advance_to(7)
        assert live.snapshot("out").rows() == []
        live.apply("xs", {"x": [1] * 3, "y": [2] * 3, "t": [7, 8, 9], "d": [HALF, HALF, -HALF]}, time="t", diff="d")
        with pytest.raises(NumberOverflow) as told:
            live.advance_to(10)
        assert way == "oracle" or "at time 8" in told.value.what
        live.discard()


@pytest.mark.parametrize("way", WAYS)
def test_rows_of_one_time_are_summed(way):
    with WAYS[way](program(copied)) as live:
        live.apply("xs", {"x": [1] * 3, "y": [2] * 3, "d": [HALF, HALF, -HALF]}, diff="d", time=0)
        live.apply("xs", [(1, 2)], time=0, diff=HALF)
        with pytest.raises(NumberOverflow):
            live.advance_to(1)
        live.discard()


ORDERS = sorted(set(permutations([HALF, HALF, HALF - 1, -HALF])))


@pytest.mark.parametrize("way", [*WAYS, "three"])
@pytest.mark.parametrize("make", LINEAR)
def test_only_the_sum_of_one_time_counts_not_the_order_of_its_rows(make, way):
    """Some of these orders leave a word on the way; their sum does not."""
    open_ = WAYS.get(way, lambda flow: flow.run(workers=3))
    with open_(program(LINEAR[make])) as live:
        for time, diffs in zip(range(0, 1000, 2), ORDERS):
            live.apply("xs", {"x": [1] * 4, "y": [7] * 4, "d": list(diffs)}, time=time, diff="d")
            live.advance_to(time + 1)
            assert [row[-1] for row in live.snapshot("out").rows()] == [LARGEST_WORD]
            live.apply("xs", [(1, 7), (2, 9)], time=time + 1, diff=1)
            with pytest.raises(NumberOverflow):
                live.advance_to(time + 2)
            live.discard()
            live.apply("xs", [(1, 7)], time=time + 1, diff=-LARGEST_WORD)
            live.advance_to(time + 2)
            assert live.snapshot("out").rows() == []


@pytest.mark.parametrize("workers", [1, 2])
def test_several_coordinates_are_summed_at_every_join_of_times(workers):
    with program(copied, ("a", "b")).run(workers=workers, history="all") as live:
        live.apply("xs", [(1, 2)], time=(0, 1), diff=HALF)
        live.apply("xs", [(1, 2)], time=(2, 2), diff=-HALF)
        live.advance_to((3, 0))
        live.apply("xs", [(1, 2)], time=(3, 0), diff=HALF)  # meets the first at (3, 1)
        with pytest.raises(NumberOverflow) as told:
            live.advance_to((4, 0))
        assert "x=1, y=2" in told.value.what and "(3, 1)" in told.value.what
        live.discard()
        live.apply("xs", [(1, 2)], time=(3, 0), diff=HALF - 1)
        live.advance_to((4, 0))
        assert live.snapshot("out", at=(3, 2)).rows() == [(1, 2, HALF - 1)]
        assert live.snapshot("out", at=(3, 1)).rows() == [(1, 2, LARGEST_WORD)]


def test_a_step_that_was_not_read_counts_too():
    with program(copied).run() as live:  # nobody asks for changes in between
        for time in range(2):
            live.apply(
                "xs", {"x": [1, 5], "y": [7, 5], "t": [3 * time, 3 * time + 1], "d": [HALF, 1]}, time="t", diff="d"
            )
            if time:
                with pytest.raises(NumberOverflow, match="at time 3"):
                    live.advance_to(6)
                live.discard()
            else:
                live.advance_to(3)
        assert live.snapshot("out").rows() == [(1, 7, HALF), (5, 5, 1)]


def test_a_durable_session_keeps_what_it_had(tmp_path):
    flow = program(copied)
    with flow.run(checkpoint=tmp_path / "state") as live:
        live.apply("xs", [(1, 7)], diff=HALF)
        live.commit()
        live.apply("xs", [(1, 7)], diff=HALF)
        with pytest.raises(NumberOverflow, match="at time 1"):
            live.commit()
        live.discard()
    with flow.run(checkpoint=tmp_path / "state") as live:
        assert live.snapshot("out").rows() == [(1, 7, HALF)]
        live.apply("xs", [(1, 7)], diff=HALF)
        with pytest.raises(NumberOverflow):
            live.commit()
        live.discard()


def test_an_output_that_is_added_later_is_looked_at():
    flow = program(copied)
    with flow.run(history="all") as live:
        for x in (1, 2):
            live.apply("xs", [(x, 7)], diff=HALF)
            live.commit()
        flow.output("late", live._at.graph and flow_of(flow).select("y"))
        with pytest.raises(NumberOverflow, match='"late"'):
            live.add_output("late")


def flow_of(flow):
    """The collection behind the input of a flow."""
    return ebb.Collection(flow.graph, 0)


# ---- where rows are kept, and counted ----------------------------------------------------------------

KEPT = {
    "distinct": lambda xs: xs.distinct(),
    "count": lambda xs: xs.group_by("x").count(),
    "sum": lambda xs: xs.group_by("x").agg(s=ebb.sum("y")),
    "max": lambda xs: xs.group_by("x").agg(m=ebb.max("y")),
    "joined": lambda xs: xs.join(xs.distinct(), on=["x", "y"]),
    "looped": lambda xs: xs.iterate(lambda v: v.filter(ebb.col("x") < 0).union(xs).distinct()),
}


@pytest.mark.parametrize("way", [way for way in WAYS if way != "oracle"])
@pytest.mark.parametrize("make", KEPT)
def test_copies_that_are_kept_have_a_limit(make, way):
    with WAYS[way](program(KEPT[make])) as live:
        live.apply("xs", [(1, 7), (2, 8)], diff=COPIES_KEPT)
        live.commit()
        before = live.snapshot("out").rows()
        live.apply("xs", [(3, 9)], diff=COPIES_KEPT + 1)
        with pytest.raises(NumberOverflow) as told:
            live.commit()
        assert (
            f"{COPIES_KEPT + 1:,} times" in told.value.what
            and "x=3" in told.value.what
            and "at time 1" in told.value.what
        )
        live.discard()
        assert live.snapshot("out").rows() == before
        live.apply("xs", [(3, 9)], diff=-COPIES_KEPT)
        live.commit()
        live.apply("xs", [(3, 9)], diff=-COPIES_KEPT - 1)
        with pytest.raises(NumberOverflow):
            live.commit()
        live.discard()


MANY = MOST_COUNTED // COPIES_KEPT  # rows of so many copies that can be counted


COUNTS = {
    "count of one key": (lambda xs: xs.group_by("x").count(), lambda n: (np.zeros(n, int), np.zeros(n, int))),
    "count of all": (lambda xs: xs.group_by().agg(n=ebb.count()), lambda n: (np.arange(n), np.zeros(n, int))),
    "count of two lanes": (lambda xs: xs.group_by("x", "y").count(), lambda n: (np.zeros(n, int), np.zeros(n, int))),
    "sum": (lambda xs: xs.group_by("x").agg(s=ebb.sum("y")), lambda n: (np.zeros(n, int), np.arange(n) % 2)),
    "count of values": (lambda xs: xs.group_by("x").agg(s=ebb.count("y"), m=ebb.max("y")),
                        lambda n: (np.zeros(n, int), np.arange(n))),
    "distinct": (lambda xs: xs.select("x").distinct(), lambda n: (np.zeros(n, int), np.arange(n))),
    "in a loop": (lambda xs: xs.iterate(lambda v: v.union(xs).select(x="x", y=ebb.lit(0)).distinct()),
                  lambda n: (np.zeros(n, int), np.arange(n))),
    "joined": (lambda xs: xs.select("x").join(xs.select("x").distinct(), on="x").group_by("x").count(),
               lambda n: (np.zeros(n, int), np.arange(n))),
}  # fmt: skip


@pytest.mark.parametrize("make", COUNTS)
def test_a_group_that_counts_too_much_is_refused(make):
    build, rows = COUNTS[make]
    with program(build).run() as live:
        x, y = rows(MANY + 2)
        live.insert("xs", [(5, 5)], time=0)
        live.advance_to(1)
        before = live.snapshot("out").rows()
        live.apply("xs", {"x": x, "y": y}, time=1, diff=COPIES_KEPT)
        with pytest.raises(NumberOverflow) as told:
            live.advance_to(2)
        assert "at time 1" in told.value.what
        live.discard()
        assert live.snapshot("out").rows() == before
        live.insert("xs", [(6, 6)], time=1)
        live.advance_to(2)
        assert len(live.snapshot("out").rows()) >= len(before)


def test_a_count_grows_to_its_limit_over_times_and_no_further():
    with program(lambda xs: xs.group_by("x").count()).run() as live:
        rows = {"x": np.zeros(2**12, int), "y": np.zeros(2**12, int)}
        live.apply("xs", rows, diff=2**42)
        live.commit()
        for step in range(7):  # doubled each time, by rows of the largest diffs
            live.apply("xs", {name: np.zeros(2**12 << step, int) for name in rows}, diff=2**42)
            live.commit()
        assert live.snapshot("out").rows() == [(0, 2**61, 1)]
        live.apply("xs", {name: np.zeros(2**19, int) for name in rows}, diff=2**42)
        with pytest.raises(NumberOverflow, match="The group x=0"):
            live.commit()
        live.discard()
        live.apply("xs", {name: np.zeros(2**19, int) for name in rows}, diff=-(2**42))
        live.commit()
        assert live.snapshot("out").rows() == []


def test_a_sum_of_products_beyond_128_bits_is_refused():
    rows = 2**20 + 2**18
    with program(lambda xs: xs.group_by("x").agg(s=ebb.sum("y"))).run() as live:
        y = np.where(np.arange(rows) % 2 == 0, LARGEST_WORD, -LARGEST_WORD)
        diffs = np.where(np.arange(rows) % 2 == 0, COPIES_KEPT, -COPIES_KEPT)
        live.apply("xs", {"x": np.zeros(rows, int), "y": y, "d": diffs, "t": np.zeros(rows, int)}, time="t", diff="d")
        with pytest.raises(NumberOverflow):
            live.advance_to(1)
        live.discard()


@pytest.mark.parametrize("workers", [1, 2])
def test_products_of_a_join_are_refused(workers):
    flow = ebb.Dataflow()
    xs, ys = flow.input("xs", "k long"), flow.input("ys", "k long")
    flow.output("out", xs.join(ys, on="k"))
    with flow.run(workers=workers) as live:
        live.apply("xs", [(1,)], diff=2**31)
        live.apply("ys", [(1,)], diff=2**31 - 1)
        live.commit()
        assert live.snapshot("out").rows() == [(1, 2**31 * (2**31 - 1))]
        live.apply("ys", [(1,)], diff=2**31)
        with pytest.raises(NumberOverflow, match="at time 1"):
            live.commit()
        live.discard()
        for _ in range(3):  # products that fit, and whose sum does not
            live.apply("ys", [(1,)], diff=2**30)
            if _ == 2:
                with pytest.raises(NumberOverflow, match="at time 3"):
                    live.commit()
                live.discard()
            else:
                live.commit()


def test_random_histories_agree_with_whole_numbers():
    """A row at any times, once at each, with any diffs: what is refused is what Python's numbers say."""
    rng = np.random.default_rng(11)
    refused = taken = 0
    for case in range(60):
        with program(copied).run(history="all" if case % 2 else None) as live:
            sums, pending = {}, []
            for step in range(12):
                for _ in range(int(rng.integers(1, 4))):
                    row = int(rng.integers(0, 2))
                    diff = int(rng.integers(-4, 5)) * int(rng.choice([1, HALF // 2, HALF // 2 - 1]))
                    diff = max(-LARGEST_WORD, min(LARGEST_WORD, diff))
                    time = 10 * step + int(rng.integers(0, 3))
                    if any((time, row) == known[:2] for known in pending):
                        continue  # of one time, the order in which rows come may make a sum leave its word on the way
                    live.apply("xs", [(row, row)], time=time, diff=diff)
                    pending.append((time, row, diff))
                after, wraps = dict(sums), False
                for time in sorted({time for time, _, _ in pending}):
                    for row in (0, 1):
                        after[row] = after.get(row, 0) + sum(d for t, r, d in pending if (t, r) == (time, row))
                        wraps |= abs(after[row]) > LARGEST_WORD
                    wraps |= any(
                        abs(sum(d for t, r, d in pending if (t, r) == (time, row))) > LARGEST_WORD for row in (0, 1)
                    )
                if wraps:
                    with pytest.raises(NumberOverflow):
                        live.advance_to(10 * step + 10)
                    live.discard()
                    live.advance_to(10 * step + 10)
                    refused += 1
                else:
                    live.advance_to(10 * step + 10)
                    sums, taken = after, taken + 1
                pending = []
                assert {x: n for x, _, n in live.snapshot("out").rows()} == {r: n for r, n in sums.items() if n}
    assert refused > 50 and taken > 200
