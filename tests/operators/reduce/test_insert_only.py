"""Claims about keys that only ever got rows: answered from what was said, they mean what they mean otherwise."""

import numpy as np
import pytest

import ebbflow as ebb
from ebbflow.operators import node as kinds

SEALED = {"seal_rows": 16, "keep_records": 0}


def distances(best=ebb.min):
    flow = ebb.Dataflow()
    edges, roots = flow.input("edges", "src long, dst long"), flow.input("roots", "id long")
    start = roots.select("id", far=0)

    def further(found):
        onward = found.join(edges, on={"id": "src"}).select(id="dst", far=found.far + 1)
        return onward.union(start).group_by("id").agg(far=best("far"))

    flow.output("out", start.iterate(further, max_rounds=12))
    return flow


def reached():
    flow = ebb.Dataflow()
    edges, roots = flow.input("edges", "src long, dst long"), flow.input("roots", "id long")
    start = roots.select("id", root="id")
    flow.output(
        "out",
        start.iterate(
            lambda found: found.join(edges, on={"id": "src"}).select("root", id="dst").union(start).distinct()
        ),
    )
    return flow


def least_names():
    """The least of texts, of which some are null, beside the greatest of numbers."""
    flow = ebb.Dataflow()
    edges, roots = flow.input("edges", "src long, dst long"), flow.input("roots", "id long")
    named = edges.select("src", "dst", name=ebb.when(edges.dst % 3 > 0, edges.dst.cast("string")))
    best = named.group_by("src").agg(name=ebb.min("name"), dst=ebb.max("dst"))
    flow.output("out", best.join(roots, on={"src": "id"}))
    return flow


def graph(seed, nodes, count):
    rng = np.random.default_rng(seed)
    return rng.integers(0, nodes, count), rng.integers(0, nodes, count)


def shown(flow, steps, **options):
    """All changes, and how many records reductions had after each step."""
    records = []
    with flow._run_tuned(options) as live:
        live.insert("roots", [(0,), (1,), (7,)], time=0)
        for time, (src, dst, diffs) in enumerate(steps):
            live.apply("edges", {"src": src, "dst": dst, "d": diffs}, time=time, diff="d")
            live.advance_to(time + 1)
            worker = live._runtime.parts[0].host.workers[0]
            records.append(
                sum(int(kinds.Node(nd).table.count) for nd in worker.at if kinds.Node(nd).kind == kinds.REDUCE)
            )
        return sorted(live.changes("out").rows()), records


PROGRAMS = {"least": distances, "greatest": lambda: distances(ebb.max), "reached": reached, "several": least_names}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("seed", range(4))
def test_a_load_that_is_added_to_and_taken_from_means_what_it_means_one_by_one(program, seed):
    (src, dst), (more_src, more_dst) = graph(seed, 60, 300), graph(seed + 100, 60, 200)
    taken = np.arange(0, 300, 3)
    steps = [
        (src, dst, np.ones(300, np.int64)),
        (more_src, more_dst, np.ones(200, np.int64)),
        (src[taken], dst[taken], -np.ones(len(taken), np.int64)),
        (src[taken], dst[taken], np.ones(len(taken), np.int64)),
    ]
    flow = PROGRAMS[program]()
    assert shown(flow, steps, **SEALED)[0] == shown(flow, steps)[0]


@pytest.mark.parametrize("program", ["least", "reached"])
def test_rows_with_negative_diffs_are_not_taken_for_growth(program):
    src, dst = graph(9, 40, 400)
    diffs = np.where(np.arange(400) % 4, 1, -1)
    steps = [(src, dst, diffs), (src[:50], dst[:50], np.ones(50, np.int64))]
    flow = PROGRAMS[program]()
    assert shown(flow, steps, **SEALED)[0] == shown(flow, steps)[0]


def test_keys_of_a_load_have_no_records():
    src, dst = graph(3, 2_000, 20_000)
    found, records = shown(distances(), [(src, dst, np.ones(20_000, np.int64))], **SEALED)
    assert len(found) > 1_900
    assert records[0] < 100  # those of the rounds with few rows
