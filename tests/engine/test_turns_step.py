"""Single changes with several workers: one call, and the same answers."""

from random import Random

import pytest

import ebbflow as ebb
from ebbflow.engine import host
from ebbflow.runtime.local import LocalRuntime
from tests.tuned import tuned

EDGES = "src long, dst long"


def reached(edges):
    start = edges.filter(ebb.col("src") == 0).select(id="src").distinct()
    return start.iterate(lambda r: r.join(edges, on={"id": "src"}).select(id="dst").union(start).distinct())


def counted_by_python(edges):
    return edges.group_by("src").reduce(lambda rows: [(sum(n for _, n in rows),)], "n long")


PROGRAMS = {
    "reach": reached,
    "components": lambda e: ebb.algorithms.connected_components(e),
    "degrees": lambda e: e.group_by("src").count().group_by("count").agg(n=ebb.count()),
    "function": counted_by_python,
}


def program(*names):
    flow = ebb.Dataflow()
    edges = flow.input("edges", EDGES)
    for name in names:
        flow.output(name, PROGRAMS[name](edges))
    return flow


def edits(seed, count=40, ids=6):
    random, here = Random(seed), []
    for t in range(count):
        gone = [here.pop(random.randrange(len(here)))] if len(here) > 4 else []
        come = [(random.randrange(ids), random.randrange(ids)) for _ in range(random.randint(1, 2))]
        here += come
        yield t, gone, come


def shown(names, seed, **options):
    found = []
    with tuned(program(*names), **options) as live:
        for t, gone, come in edits(seed):
            live.insert("edges", come, time=t)
            if gone:
                live.delete("edges", gone, time=t)
            live.advance_to(t + 1)
            found.append([sorted(live.changes(name).rows(), key=repr) for name in names])
    return found


@pytest.fixture
def turns(monkeypatch):
    """How often all turns of a step were one call."""
    taken = []
    whole = host.Host.turns_moment
    monkeypatch.setattr(host.Host, "turns_moment", lambda *given: (taken.append(1), whole(*given))[1])
    return taken


@pytest.mark.parametrize("names", [*[(name,) for name in PROGRAMS], ("reach", "degrees")], ids=str)
def test_single_changes_come_to_the_same_with_any_number_of_workers(names, turns):
    right = shown(names, 1)
    assert not turns
    for options in ({"workers": 2}, {"workers": 3, "seal_rows": 1, "keep_records": 0}, {"workers": 2, "turn_fuel": 1}):
        assert shown(names, 1, **options) == right
    assert len(turns) == 3 * len(right)


def test_many_rows_of_one_time_are_no_turns(turns):
    with program("degrees").run(workers=2) as live:
        live.insert("edges", [(i, i) for i in range(host.ROWS_IN_TURNS + 1)], time=0)
        live.advance_to(1)
        assert live.changes("degrees").rows() == [(1, host.ROWS_IN_TURNS + 1, 0, 1)]
    assert not turns


def test_a_change_that_is_refused_leaves_everything_as_it_was(turns):
    flow = ebb.Dataflow()
    edges = flow.input("edges", EDGES)
    flow.output("sums", edges.group_by("src").agg(total=ebb.sum("dst")))
    flow.output("far", edges.select("src", dst=ebb.col("dst") + 2**62))
    with flow.run(workers=2) as live:
        live.insert("edges", [(1, 5), (2, 7)], time=0)
        live.advance_to(1)
        live.insert("edges", [(1, 2**62), (2, 1)], time=1)
        with pytest.raises(ebb.EbbflowError):
            live.advance_to(2)
        live.discard()
        live.insert("edges", [(2, 1)], time=1)
        live.advance_to(2)
        assert sorted(live.snapshot("sums").rows()) == [(1, 5, 1), (2, 8, 1)]
    assert len(turns) >= 2


def test_a_part_of_the_workers_takes_no_turns_alone():
    runtime = LocalRuntime(program("degrees").graph, 2)
    at = runtime.parts[0].host
    assert at.takes_moments("edges", [1, 2, 0, 1]) and not at.takes_moments("edgy", [1, 2, 0, 1])
    at.are_all = False
    assert not at.takes_moments("edges", [1, 2, 0, 1])
    runtime.close()
