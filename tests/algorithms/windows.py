"""Graphs that change: random edges come and go, and an answer is asked for at every time.

A window is a list of (time, edge, diff).  Edges repeat, point to themselves, leave and come back; some times bring
nothing, some several changes, now and then everything goes.  The judge is networkx, asked afresh at every time.
"""

from collections import Counter
from random import Random

import networkx as nx

import ebbflow as ebb

TIMES = 60
SHAPE = (9, 14)  # so many ids, about so many edges at a time


def window(seed, shape=SHAPE, times=TIMES):
    random = Random(seed)
    nodes, width = shape
    present, changes = [], []
    for time in range(times):
        for _ in range(random.choice([0, 1, 1, 1, 2, 5])):
            present.append((random.randrange(nodes), random.randrange(nodes)))
            changes.append((time, present[-1], 1))
        going = len(present) if random.random() < 0.03 else max(0, len(present) - width)
        gone = present[:going] + (present[-1:] if going < len(present) and random.random() < 0.2 else [])
        for edge in gone:
            present.remove(edge)
            changes.append((time, edge, -1))
    return changes


def sources_for(seed, shape=SHAPE, times=TIMES):
    """One to three sources, changed now and then; some are no end of any edge."""
    random = Random(seed + 1000)
    present, changes = [], []
    for time in range(times):
        if len(present) < 2 or random.random() < 0.1:
            present.append((random.randrange(shape[0] + 2),))
            changes.append((time, present[-1], 1))
        if len(present) > 3:
            changes.append((time, present.pop(0), -1))
    return changes


def text(number):
    """An id of text, for which another is the least."""
    return f"n{number * 7 % 101}"


def as_text(changes):
    return [(time, tuple(map(text, row)), diff) for time, row, diff in changes]


def at_each_time(changes, times=TIMES):
    """(time, the collection then) for every time; the collection is a Counter, brought forward."""
    now = Counter()
    for time in range(times):
        for _, row, diff in (change for change in changes if change[0] == time):
            now[row] += diff
            if not now[row]:
                del now[row]
        yield time, now


def random_ends(seed, times=TIMES):
    """Where a run is cut into steps: nowhere, here and there, often."""
    random = Random(seed + 2000)
    return [*sorted(random.sample(range(1, times), [0, 3, times // 2][seed % 3])), times]


def changes_of(flow, inputs, workers=1, ends=(TIMES,)):
    """What the output "out" does, as (time, row, diff): the inputs are given first, then advanced to each end."""
    found = []
    with flow.run(workers=workers) as live:
        for name, changes in inputs.items():
            for time, row, diff in changes:
                (live.insert if diff > 0 else live.delete)(name, [row], time=time)
        for end in ends:
            live.advance_to(end)
            found += [(row[-2], row[:-2], row[-1]) for row in live.changes("out").rows()]
    assert all(time < ends[-1] for time, _, _ in found)
    return sorted(found)


def program(build, edges="src long, dst long", sources="id long"):
    flow = ebb.Dataflow()
    given = [flow.input("edges", edges), flow.input("sources", sources)]
    flow.output("out", build(*given[: build.__code__.co_argcount]))
    return flow


def agrees(build, wanted, seed, workers=1, ids="long", shape=SHAPE, times=TIMES, same=Counter.__eq__):
    """The program `build(edges)` or `build(edges, sources)` gives `wanted(graph, sources)` at every time."""
    inputs = {"edges": window(seed, shape, times), "sources": sources_for(seed, shape, times)}
    if ids == "string":
        inputs = {name: as_text(changes) for name, changes in inputs.items()}
    flow = program(build, f"src {ids}, dst {ids}", f"id {ids}")
    changes = changes_of(flow, inputs, workers, random_ends(seed, times))
    seen = 0
    histories = (at_each_time(changes, times) for changes in (inputs["edges"], inputs["sources"], changes))
    for (time, edges), (_, sources), (_, found) in zip(*histories):
        rows = Counter(wanted(nx.DiGraph(list(edges)), {row[0] for row in sources}))
        assert same(found, rows), f"seed {seed}, time {time}: {dict(found)} is not {dict(rows)}"
        seen += len(rows)
    assert seen > times, "the window has hardly anything in it"
