"""Tasks hold no more state than they may: more of them share it, and what was not used for long is let go."""

import numpy as np

import ebbflow as ebb
from ebbflow.runtime.local import LocalRuntime
from ebbflow.runtime.spark.cluster import Here
from ebbflow.runtime.spark.hosting import Process
from ebbflow.runtime.spark.runtime import SparkRuntime

MAY_HOLD = 1 << 20


def reachability() -> ebb.Dataflow:
    flow = ebb.Dataflow()
    edges, roots = flow.input("edges", "src long, dst long"), flow.input("roots", "root long")
    start = roots.select("root", node="root")
    step = lambda reach: reach.join(edges, on={"node": "src"}).select("root", node="dst").union(start).distinct()
    flow.output("reach", start.iterate(step))
    flow.output("degrees", edges.group_by("src").count().select(degree="count").group_by("degree").count())
    return flow


class Watched(Here):
    """Remembers how many tasks a superstep had, and what the process held after each."""

    def __init__(self):
        super().__init__(width=2, process=Process())
        self.tasks, self.held = [], []

    def superstep(self, order, tasks, functions):
        self.tasks.append(tasks)
        answers = super().superstep(order, tasks, functions)
        (hosting,) = self.process.programs.values()
        self.held.append(sum(8 * shard.pages.live for shard in hosting.shards.values()))
        return answers


def history(runtime):
    """A load, and some changes; what came out of each."""
    random = np.random.default_rng(3)
    src, dst = random.integers(0, 4_000, (2, 12_000))
    feed = lambda name, lanes, time, diffs: runtime.feed(name, lanes, np.full((len(diffs), 1), time), diffs)
    feed("edges", np.stack([src, dst]), 0, np.ones(12_000, np.int64))
    feed("roots", np.array([[1, 2]]), 0, np.ones(2, np.int64))
    for time in range(1, 4):
        runtime.advance({"edges": ((time,),), "roots": ((time,),)})
        yield {name: shown(runtime.take(name)) for name in ("reach", "degrees")}
        few = slice(40 * time, 40 * time + 3)
        feed("edges", np.stack([src[few], dst[few]]), time, np.full(3, -1))


def shown(rows):
    lanes, times, diffs = rows
    found = [tuple(row) for row in np.concatenate([lanes, times.T, diffs[None]]).T.tolist()]
    return sorted(found)


def made(tmp_path, cluster, name="state", **options):
    graph = reachability().graph
    return SparkRuntime(graph, cluster, str(tmp_path / name), 6, reserve=1 << 30, wide_rows=5_000, **options)


def test_state_that_one_task_may_not_hold_is_shared_by_more(tmp_path):
    right = list(history(LocalRuntime(reachability().graph)))
    assert all(step["reach"] or step["degrees"] for step in right)

    free = Watched()
    assert list(history(made(tmp_path, free, name="free"))) == right
    assert free.tasks[-1] == 1 and free.held[-1] > 2 * MAY_HOLD

    bound = Watched()
    assert list(history(made(tmp_path, bound, name="bound", task_bytes=MAY_HOLD))) == right
    assert min(bound.tasks[-3:]) >= 2
    load = next(i for i, tasks in enumerate(bound.tasks) if tasks > bound.width)
    assert max(bound.held[load:]) < 1.1 * MAY_HOLD, "what a process holds is what its tasks may"


def test_it_is_known_how_large_the_state_is_when_it_is_opened_again(tmp_path):
    options = {"task_bytes": MAY_HOLD, "durable": True}
    first = made(tmp_path, Watched(), **options)
    steps = history(first)
    next(steps)
    first.commit({})
    first.cluster.process.forget()
    again = Watched()
    runtime = made(tmp_path, again, **options)
    assert sum(runtime.state.sizes.values()) > 2 * MAY_HOLD
    runtime.feed("edges", np.array([[1], [2]]), np.full((1, 1), 1), np.ones(1, np.int64))
    runtime.advance({"edges": ((2,),), "roots": ((2,),)})
    assert min(again.tasks) >= 2
