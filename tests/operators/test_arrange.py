from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbflow.columns.text_pool import Pool
from ebbflow.engine.host import Host
from ebbflow.errors import NeverSettles, NumberOverflow
from ebbflow.operators import node as kinds
from ebbflow.runtime.local import LocalRuntime
from tests.meaning.programs import ONE, Sketch, add_mod, call, lit
from tests.meaning.runtimes import arrays, taken
from tests.runtime.states import kept

UPDATES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2), st.integers(-2, 2)), max_size=30)


def joining():
    s = Sketch()
    s.output("out", s.join(s.input("x"), s.input("y"), {"a": "a"}, a="left.a", b="left.b", c="right.b"))
    return s.graph


def rows(updates, start=0):
    """x's rows from (key, value, time, diff)."""
    return arrays([((a, b), (start + time,), diff) for a, b, time, diff in updates], 2, 1)


def consolidated(updates):
    total = Counter()
    for a, b, time, diff in updates:
        total[a, b, time] += diff
    return {key: diff for key, diff in total.items() if diff}


def fed(graph, **options):
    """A host whose y has one row for each key of x."""
    host = Host(graph, 1, Pool(), **options)
    host.advance({"y": arrays([((key, 9), (0,), 1) for key in range(3)], 2, 1)}, (), ())
    return host


@settings(max_examples=60)
@given(st.lists(UPDATES, min_size=1, max_size=4))
def test_a_keys_rows_are_shown_once_together_and_consolidated(slices):
    host = fed(joining())
    (worker,), everything = host.workers, []
    (arranged,) = (c.number for c in worker.plan.cells if c.kind == kinds.ARRANGE and c.values and c.node == 0)
    for number, updates in enumerate(slices):
        everything += updates
        before = worker.counters()
        shown = host.advance({"x": rows(updates, 10 * (number + 1))} if updates else {}, (), ())
        wanted = consolidated(updates)
        assert worker.counters()["changes"] - before["changes"] == len(wanted)
        assert worker.counters()["visits"] - before["visits"] == len({a for a, *_ in updates})
        found = {(*lanes, time): d for out in shown.get("out", []) for lanes, (time,), d in listed(out)}
        assert found == {(a, b, 9, 10 * (number + 1) + time): diff for (a, b, time), diff in wanted.items()}
        stored = {
            (key[0], values[0]): diff
            for key, (family,) in kept(worker)[arranged].items()
            for (_, _, values), diff in family.items()
        }
        assert stored == {(a, b): d for (a, b, _), d in consolidated((a, b, 0, d) for a, b, _, d in everything).items()}


def listed(out):
    lanes, times, diffs = out
    return list(zip(lanes.T.tolist(), times.tolist(), diffs.tolist(), strict=True))


def test_rows_that_cancel_in_a_round_are_not_shown():
    host = fed(joining())
    (worker,) = host.workers
    before = worker.counters()
    assert host.advance({"x": rows([(1, 5, 0, 1), (1, 6, 0, 2), (1, 5, 0, -1), (1, 6, 0, -2)])}, (), ()) == {}
    assert worker.counters()["changes"] == before["changes"]
    assert worker.counters()["visits"] == before["visits"] + 1


@settings(max_examples=30)
@given(st.lists(UPDATES, min_size=1, max_size=4))
def test_many_rows_at_once_are_kept_and_shown_as_one_by_one(slices):
    sizes = [{}, {"seal_rows": 2, "keep_records": 0}, {"seal_rows": 1, "keep_records": 1}]
    hosts = [fed(joining(), **options) for options in sizes]
    for number, updates in enumerate(slices):
        found = []
        for host in hosts:
            given_ = {"x": rows(updates, 10 * (number + 1))} if updates else {}
            shown = host.advance(given_, (), ())
            found.append(sorted(row for out in shown.get("out", []) for row in listed(out)))
        assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("options", [{}, {"seal_rows": 1, "keep_records": 0}], ids=["one by one", "in bulk"])
def test_copies_that_add_up_beyond_a_word_are_refused(options):
    s = Sketch()
    x = s.input("x")
    s.output("out", s.join(s.map(x, a="a"), s.input("y"), {"a": "a"}, a="left.a", b="right.b"))
    host = Host(s.graph, 1, Pool(), **options)
    # as many copies as there are words, so that the sum would come out as none
    with pytest.raises(NumberOverflow):
        host.advance({"x": arrays([((1, b), (0,), 2**61) for b in range(8)], 2, 1)}, (), ())
    host.undo()
    assert not any(kept(host.workers[0]).values())


# ---- settling nodes ---------------------------------------------------------------------------------


def counting_up(on_limit, limit):
    """Every number from its row's on, modulo 6, as many rounds as are given."""
    s = Sketch()
    x = s.input("x", ONE)

    def body(v, loop):
        return s.concat(s.map(v, a=add_mod(s.col(v, "a"), lit(1), 6)))

    s.output("out", s.iterate(x, body, max_rounds=limit, on_limit=on_limit))
    return s.graph


@pytest.mark.parametrize("limit", [1, 2, 7])
def test_a_settling_node_sends_on_what_did_not_cancel(limit):
    runtime = LocalRuntime(counting_up("return", limit))
    (host,) = (part.host for part in runtime.parts)
    (settle,) = (cell for cell in host.plan.cells if cell.kind == kinds.SETTLE)
    runtime.feed("x", *arrays([((0,), (0,), 3)], 1, 1))
    runtime.advance({"x": ((1,),)})
    assert taken(runtime, "out") == {((limit % 6,), (0,)): 3}
    worker = host.workers[0]
    assert not kinds.Node(worker.at[settle.number]).buckets.length
    rows_before = worker.counters()["rows"]
    runtime.feed("x", *arrays([((1,), (1,), 2), ((1,), (1,), -2)], 1, 1))
    runtime.advance({"x": ((2,),)})
    assert taken(runtime, "out") == {}
    # the two rows, and what is taken off for them a round later: nothing went round
    assert worker.counters()["rows"] - rows_before <= 4


def test_a_loop_that_still_changes_after_its_rounds_refuses_and_says_so():
    runtime = LocalRuntime(counting_up("raise", 4))
    runtime.feed("x", *arrays([((0,), (0,), 1)], 1, 1))
    with pytest.raises(NeverSettles, match="4 rounds"):
        runtime.advance({"x": ((1,),)})
    runtime.discard()
    s = Sketch()
    x = s.input("x", ONE)
    settled = s.iterate(
        x, lambda v, _: s.map(v, a=call("least", s.col(v, "a"), lit(3))), max_rounds=4, on_limit="raise"
    )
    s.output("out", settled)
    runtime = LocalRuntime(s.graph)
    runtime.feed("x", *arrays([((9,), (0,), 1)], 1, 1))
    runtime.advance({"x": ((1,),)})
    assert taken(runtime, "out") == {((3,), (0,)): 1}
