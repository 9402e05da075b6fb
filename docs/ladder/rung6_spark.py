"""Rung 6: Spark. The same program in ebbflow; its state lies in shards that Spark's tasks host.

Leave `spark` out of `run`, and it runs in this process instead.
"""

import ebbflow as ebb

EDGES = [
    ((1, 2), 0, +1), ((2, 3), 0, +1), ((3, 1), 0, +1), ((3, 4), 0, +1),
    ((1, 3), 3, +1), ((2, 3), 7, -1), ((1, 3), 9, -1), ((2, 4), 12, +1),
]  # fmt: skip
ROOT = 1


def program():
    flow = ebb.Dataflow()
    edges, roots = flow.input("edges", "src long, dst long"), flow.input("roots", "node long")
    flow.output(
        "reach",
        roots.iterate(lambda reach: reach.join(edges, on={"node": "src"}).select(node="dst").union(roots).distinct()),
    )
    return flow


def answer(spark=None):
    rows = [(src, dst, time, diff) for (src, dst), time, diff in EDGES]
    columns = dict(zip(("src", "dst", "time", "diff"), map(list, zip(*rows))))
    with program().run(spark) as live:
        live.apply("edges", columns, time="time", diff="diff")
        live.insert("roots", [(ROOT,)], time=0)
        live.advance_to(13)
        return live.changes("reach").rows()


if __name__ == "__main__":
    print(*answer(ebb.spark()), sep="\n")
