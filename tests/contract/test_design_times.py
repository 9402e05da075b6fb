"""What DESIGN 1 and 9 say of times: two coordinates, antichains, structs, delay, the one rule at every time."""

import numpy as np
import pyarrow as pa
import pytest

import ebbflow as ebb

CHANGES = [("a", (0, 0), 1), ("b", (1, 2), 1), ("a", (2, 1), -1), ("c", (0, 3), 2), ("b", (3, 3), -1)]


def bitemporal(make=lambda xs: xs):
    flow = ebb.Dataflow(time=("valid", "system"))
    flow.output("out", make(flow.input("xs", "x string")))
    return flow


def test_two_coordinates_take_tuples():
    with bitemporal().run(history="all") as live:
        live.insert("xs", [("a",)], time=(3, 0))
        live.insert("xs", [("b",)], time=(0, 5))
        live.delete("xs", [("a",)], time=(4, 4))
        live.advance_to((9, 9))
        live.close()
        assert live.changes("out").rows() == [("b", (0, 5), 1), ("a", (3, 0), 1), ("a", (4, 4), -1)]
        assert live.snapshot("out", at=(3, 4)).rows() == [("a", 1)]
        assert live.snapshot("out", at=(3, 5)).rows() == [("a", 1), ("b", 1)]
        assert live.snapshot("out", at=(4, 5)).rows() == [("b", 1)]


def test_bulk_takes_one_column_name_per_coordinate():
    table = pa.table({"x": ["a", "b"], "v": [1, 2], "s": [5, 4], "d": [1, 3]})
    for time in (("v", "s"), ["v", "s"], (np.array([1, 2]), np.array([5, 4]))):
        with bitemporal().run() as live:
            given = table if not isinstance(time[0], np.ndarray) else table.drop(["v", "s"])
            live.apply("xs", given, time=time, diff="d")
            live.close()
            assert live.changes("out").rows() == [("a", (1, 5), 1), ("b", (2, 4), 3)]


def test_bulk_takes_an_array_of_tuples_and_one_tuple():
    with bitemporal().run() as live:
        live.apply("xs", [("a",), ("b",)], time=np.array([[1, 5], [2, 4]]))
        live.apply("xs", [("c",), ("d",)], time=[(7, 7), (8, 8)])
        live.apply("xs", [("e",)], time=(9, 9))
        live.close()
        assert [row[1] for row in live.changes("out")] == [(1, 5), (2, 4), (7, 7), (8, 8), (9, 9)]


def test_times_are_a_struct_of_the_named_coordinates():
    with bitemporal().run() as live:
        live.insert("xs", [("a",)], time=(3, 1))
        live.close()
        table = live.changes("out")
    arrow = table.to_arrow()
    assert arrow.schema.field("_time").type == pa.struct([("valid", pa.int64()), ("system", pa.int64())])
    assert arrow.column("_time").to_pylist() == [{"valid": 3, "system": 1}]
    assert table.rows() == [("a", (3, 1), 1)]


def test_frontiers_are_antichains():
    with bitemporal().run(history="all") as live:
        for x, time, diff in CHANGES:
            live.apply("xs", [(x,)], time=time, diff=diff)
        live.advance_to([(3, 0), (0, 3)])
        assert sorted(live.frontier("out")) == [(0, 3), (3, 0)]
        assert live.changes("out").rows() == [("a", (0, 0), 1), ("b", (1, 2), 1), ("a", (2, 1), -1)]
        assert live.snapshot("out", at=(2, 2)).rows() == [("b", 1)]
        with pytest.raises(ebb.errors.NotComplete):
            live.snapshot("out", at=(0, 3))
        live.insert("xs", [("late",)], time=(0, 4))
        with pytest.raises(ebb.errors.LateTime):
            live.insert("xs", [("late",)], time=(2, 2))
        live.advance_to((3, 3))
        assert live.changes("out").rows() == [("c", (0, 3), 2), ("late", (0, 4), 1)]
        live.advance_to([(4, 4)])
        assert live.changes("out").rows() == [("b", (3, 3), -1)]


def test_elements_that_others_precede_are_no_part_of_a_frontier():
    with bitemporal().run() as live:
        live.advance_to([(2, 2), (3, 3), (1, 5)])
        assert sorted(live.frontier("out")) == [(1, 5), (2, 2)]


def test_a_frontier_never_moves_back():
    with bitemporal().run() as live:
        live.advance_to([(3, 0), (0, 3)])
        with pytest.raises(ebb.errors.FrontierMovedBack):
            live.advance_to((2, 2))
        live.advance_to((3, 3))
    with ebb_one().run() as live:
        live.advance_to(5)
        live.advance_to(5)
        with pytest.raises(ebb.errors.FrontierMovedBack):
            live.advance_to(4)
        assert live.frontier("out") == [(5,)]


def ebb_one():
    flow = ebb.Dataflow()
    flow.output("out", flow.input("xs", "x long"))
    return flow


def test_inputs_advance_separately_with_two_coordinates():
    flow = ebb.Dataflow(time=("valid", "system"))
    a, b = flow.input("a", "k long"), flow.input("b", "k long")
    flow.output("only a", a.distinct())
    flow.output("both", a.semijoin(b, on="k"))
    with flow.run() as live:
        live.insert("a", [(1,)], time=(0, 1))
        live.insert("b", [(1,)], time=(1, 0))
        live.advance_to(a=(2, 2), b=[(2, 0), (0, 1)])
        assert live.frontier("only a") == [(2, 2)]
        assert sorted(live.frontier("both")) == [(0, 1), (2, 0)]
        assert live.changes("both").rows() == []
        live.advance_to(b=(2, 2))
        assert live.changes("both").rows() == [(1, (1, 1), 1)]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("cuts", [[], [(1, 1)], [[(0, 2), (2, 0)], (2, 2), [(2, 4), (4, 2)]]])
def test_the_one_rule_at_every_time(workers, cuts):
    """sum(operator(changes), t) == operator(sum(changes, t)) for distinct and count over a grid."""
    make = lambda xs: xs.distinct().group_by().count().union(xs.group_by().count())
    with bitemporal(make).run(workers=workers) as live:
        for x, time, diff in CHANGES:
            live.apply("xs", [(x,)], time=time, diff=diff)
        for cut in cuts:
            live.advance_to(cut)
        live.close()
        changes = live.changes("out").rows()
    for valid in range(5):
        for system in range(5):
            bag, found = {}, {}
            for x, (v, s), diff in CHANGES:
                if v <= valid and s <= system:
                    bag[x] = bag.get(x, 0) + diff
            for n, (v, s), diff in changes:
                if v <= valid and s <= system:
                    found[n] = found.get(n, 0) + diff
            expected = {}
            for n in (sum(count > 0 for count in bag.values()), sum(bag.values())):
                if n:
                    expected[n] = expected.get(n, 0) + 1
            assert {n: c for n, c in found.items() if c} == expected, (valid, system)


def test_loops_with_two_coordinates():
    flow = ebb.Dataflow(time=("valid", "system"))
    edges = flow.input("edges", "src long, dst long")
    flow.output(
        "paths",
        edges.iterate(
            lambda p: p.join(edges, on={"dst": "src"}, suffix="2").select("src", dst="dst2").union(edges).distinct()
        ),
    )
    with flow.run() as live:
        live.insert("edges", [(1, 2)], time=(0, 1))
        live.insert("edges", [(2, 3)], time=(1, 0))
        live.delete("edges", [(2, 3)], time=(2, 2))
        live.close()
        assert live.changes("paths").rows() == [
            (1, 2, (0, 1), 1), (2, 3, (1, 0), 1), (1, 3, (1, 1), 1), (1, 3, (2, 2), -1), (2, 3, (2, 2), -1),
        ]  # fmt: skip


def test_three_coordinates():
    flow = ebb.Dataflow(time=("a", "b", "c"))
    flow.output("out", flow.input("xs", "x long").distinct())
    with flow.run() as live:
        for time in ((1, 0, 0), (0, 1, 0), (0, 0, 1)):
            live.insert("xs", [(9,)], time=time)
        live.close()
        total = {}
        for _, time, diff in live.changes("out"):
            total[time] = diff
        at = lambda t: sum(diff for time, diff in total.items() if all(a <= b for a, b in zip(time, t)))
        assert [at(t) for t in ((1, 0, 0), (1, 1, 0), (0, 1, 1), (1, 1, 1), (0, 0, 0))] == [1, 1, 1, 1, 0]


def test_delay_moves_times_later():
    flow = ebb.Dataflow()
    xs = flow.input("xs", "x long")
    flow.output("later", xs.delay(lambda t: t + 10))
    flow.output("window", (xs - xs.delay(lambda t: t + 3)).group_by().count())
    with flow.run() as live:
        live.insert("xs", [(1,)], time=2)
        live.insert("xs", [(2,)], time=4)
        live.close()
        assert live.changes("later").rows() == [(1, 12, 1), (2, 14, 1)]
        assert live.changes("window").rows() == [(1, 2, 1), (1, 4, -1), (2, 4, 1), (1, 5, 1), (2, 5, -1), (1, 7, -1)]


def test_delayed_results_wait_for_their_time():
    flow = ebb.Dataflow()
    xs = flow.input("xs", "x long")
    flow.output("later", xs.delay(lambda t: t + 10))
    with flow.run() as live:
        live.insert("xs", [(1,)], time=2)
        live.advance_to(5)
        assert live.changes("later").rows() == []
        live.advance_to(12)
        assert live.changes("later").rows() == []
        live.advance_to(13)
        assert live.changes("later").rows() == [(1, 12, 1)]


def test_delay_to_the_end_of_an_hour():
    flow = ebb.Dataflow()
    flow.output("later", flow.input("xs", "x long").delay(lambda t: (t // 60 + 1) * 60))
    with flow.run() as live:
        live.insert("xs", [(1,)], time=61)
        live.insert("xs", [(2,)], time=119)
        live.close()
        assert live.changes("later").rows() == [(1, 120, 1), (2, 120, 1)]


def test_delay_with_two_coordinates():
    flow = ebb.Dataflow(time=("valid", "system"))
    xs = flow.input("xs", "x long")
    flow.output("one", xs.delay(lambda valid, system: (valid + 1, system)))
    flow.output("two", xs.delay(lambda t: (t.valid, t.system + 5)))
    with flow.run() as live:
        live.insert("xs", [(1,)], time=(2, 3))
        live.close()
        assert live.changes("one").rows() == [(1, (3, 3), 1)]
        assert live.changes("two").rows() == [(1, (2, 8), 1)]


def test_a_delay_that_goes_back_is_refused():
    flow = ebb.Dataflow()
    flow.output("out", flow.input("xs", "x long").delay(lambda t: t // 5 * 7))
    with flow.run() as live:
        live.insert("xs", [(1,)], time=5)
        live.insert("xs", [(2,)], time=9)
        with pytest.raises(ebb.EbbflowError, match="delay") as raised:
            live.advance_to(11)
        assert "time 9" in str(raised.value) and "test_design_times.py, line" in str(raised.value)
        live.discard()
        live.insert("xs", [(1,)], time=5)
        live.advance_to(11)
        assert live.changes("out").rows() == [(1, 7, 1)]
    flow = ebb.Dataflow()
    flow.output("out", flow.input("xs", "x long").delay(lambda t: t - 1))
    with pytest.raises(ebb.EbbflowError, match="earlier"):
        flow.run()
    flow = ebb.Dataflow(time=("valid", "system"))
    flow.output("out", flow.input("xs", "x long").delay(lambda valid, system: (system, valid)))
    with flow.run() as live:
        live.insert("xs", [(1,)], time=(0, 3))
        with pytest.raises(ebb.EbbflowError, match=r"a coordinate of a change back at time \(0, 3\): to 0"):
            live.advance_to((1, 1))
        live.discard()


def test_resolution_is_never_traded_for_speed():
    """Many updates at many times in one go: each change of the result carries its own exact time."""
    n = 20_000
    flow = ebb.Dataflow()
    flow.output("count", flow.input("xs", "x long").group_by().count())
    with flow.run() as live:
        live.apply("xs", {"x": np.arange(n), "t": np.arange(n) * 3}, time="t")
        live.close()
        changes = live.changes("count").to_arrow()
    up = changes.filter(pa.compute.equal(changes["_diff"], 1))
    assert up["count"].to_numpy().tolist() == list(range(1, n + 1))
    assert up["_time"].to_numpy().tolist() == list(range(0, 3 * n, 3))


def test_times_may_be_far_apart_and_large():
    with ebb_one().run() as live:
        far = 2**62
        live.insert("xs", [(1,)], time=far)
        live.insert("xs", [(2,)], time=0)
        live.advance_to(far + 1)
        assert live.changes("out").rows() == [(2, 0, 1), (1, far, 1)]


def test_epoch_microseconds_are_fine_as_times():
    now = 1_731_700_000_000_000
    flow = ebb.Dataflow()
    flow.output("out", flow.input("xs", "x long").group_by().agg(most=ebb.max("x")))
    with flow.run() as live:
        live.insert("xs", [(1,)], time=now)
        live.insert("xs", [(2,)], time=now + 1)
        live.advance_to(now + 2)
        assert live.changes("out").rows() == [(1, now, 1), (1, now + 1, -1), (2, now + 1, 1)]
