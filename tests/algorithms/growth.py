"""What algorithms cost on graphs of known shapes, counted: `python -m tests.algorithms.growth` prints the table.

A shape is a list of edges over ids from 0 that rise along it; the same with ids that fall, and shuffled.  Counted is
what the engine does (visits, rows, changes, answers, rows looked at again), for loading the graph and for single
edges that go and come back: the last, the one in the middle, and some others.

Rule: counts, not seconds; so a table is the same on every machine.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from random import Random

import ebbflow as ebb
from ebbflow import algorithms

COUNTED = ("visits", "rows", "changes", "answers", "replayed")
OTHERS = 4  # edges that go and come back, beside the last and the middle one


def chain(edges):
    return [(i, i + 1) for i in range(edges)]


def cycle(edges):
    return [(i, (i + 1) % edges) for i in range(edges)]


def star(edges):
    return [(0, i + 1) for i in range(edges)]


def tree(edges):
    return [((i - 1) // 2, i) for i in range(1, edges + 1)]


def grid(edges):
    side = math.isqrt(edges // 2) + 1
    across = [(i * side + j, i * side + j + 1) for i in range(side) for j in range(side - 1)]
    return across + [(i * side + j, (i + 1) * side + j) for i in range(side - 1) for j in range(side)]


def clique(edges):
    return [(j, i) for i in range(math.isqrt(2 * edges) + 1) for j in range(i)]


def mixed(x):
    """splitmix64, of one number."""
    x = (x + 0x9E3779B97F4A7C15) % 2**64
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
    return x ^ x >> 31


def power_law(edges, skew=2):
    """Half of the ends fall anywhere, a quarter among the first fourth of the ids, and so on."""

    def end(x):
        halvings = (mixed(x) & -mixed(x)).bit_length() - 1
        return x % max((edges // 2) >> (skew * halvings), 1)

    return [(end(mixed(42 + 2 * i)), end(mixed(43 + 2 * i))) for i in range(edges)]


SHAPES = {shape.__name__: shape for shape in (chain, cycle, star, tree, grid, clique, power_law)}


def rising(ids):
    return ids


def falling(ids):
    return ids[::-1]


def shuffled(ids):
    return Random(1).sample(ids, len(ids))


ORDERS = {order.__name__: order for order in (rising, falling, shuffled)}


def graph(shape, order, edges):
    """The shape with its ids in that order, and the id that is its first."""
    found = SHAPES[shape](edges)
    ids = sorted({id for edge in found for id in edge})
    named = dict(zip(ids, ORDERS[order](ids)))
    return [(named[src], named[dst]) for src, dst in found], named[ids[0]]


PROGRAMS: dict[str, Callable[..., ebb.Collection]] = {
    "connected_components": lambda edges, first: algorithms.connected_components(edges),
    "strongly_connected_components": lambda edges, first: algorithms.strongly_connected_components(edges),
    "reachable": algorithms.reachable,
    "bfs_layers": algorithms.bfs_layers,
    "shortest_paths": algorithms.shortest_paths,
    "transitive_closure": lambda edges, first: algorithms.transitive_closure(edges),
    "topological_generations": lambda edges, first: algorithms.topological_generations(edges),
    "degree": lambda edges, first: algorithms.degree(edges),
    "core_number": lambda edges, first: algorithms.core_number(edges),
    "k_core": lambda edges, first: algorithms.k_core(edges, 2),
    "all_triangles": lambda edges, first: algorithms.all_triangles(edges),
    "triangles": lambda edges, first: algorithms.triangles(edges),
    "clustering": lambda edges, first: algorithms.clustering(edges),
    "pagerank": lambda edges, first: algorithms.pagerank(edges, tol=0.1),
}


@dataclass(frozen=True)
class Cost:
    edges: int
    rows: int  # of the answer
    load: int
    changes: tuple[tuple[int, int], ...]  # what each change cost, and how many rows of the answer it changed

    def dearest(self) -> float:
        """The most that a change cost for each edge and row that changed."""
        return max(cost / (1 + rows) for cost, rows in self.changes)

    def most(self) -> int:
        return max(cost for cost, _ in self.changes)


def work(live) -> int:
    counted = live.counters()
    return sum(counted[name] for name in COUNTED)


def program(name) -> ebb.Dataflow:
    flow = ebb.Dataflow()
    flow.output("out", PROGRAMS[name](flow.input("edges", "src long, dst long"), flow.input("first", "id long")))
    return flow


@cache
def cost(name, shape, order, size, workers=1) -> Cost:
    edges, first = graph(shape, order, size)
    random, changes = Random(size), []
    at = [len(edges) - 1, len(edges) // 2, *(random.randrange(len(edges)) for _ in range(OTHERS))]
    with program(name).run(workers=workers) as live:
        live.insert("edges", edges, time=0)
        live.insert("first", [(first,)], time=0)
        live.advance_to(1)
        load, rows = work(live), len(live.changes("out"))
        for time, (place, change) in enumerate(((i, way) for i in at for way in (live.delete, live.insert)), 1):
            before = work(live)
            change("edges", [edges[place]], time=time)
            live.advance_to(time + 1)
            changes.append((work(live) - before, len(live.changes("out"))))
    return Cost(len(edges), rows, load, tuple(changes))


def exponent(few: float, many: float, by: float) -> float:
    """The power of the size in which something grows that grew so much when the size grew `by`."""
    return math.log(max(many, 1) / max(few, 1)) / math.log(by)


def main() -> None:
    names = sys.argv[1:] or list(PROGRAMS)
    counted = f"{'edges':>6} {'rows':>7} {'load/edge':>9} {'change/row':>10} {'most':>8}"
    print(f"{'algorithm':30} {'shape':10} {'ids':9} {counted}")
    for name in names:
        for shape in SHAPES:
            for order in ORDERS:
                for size in (100, 400) if name == "transitive_closure" else (250, 1000):
                    c = cost(name, shape, order, size)
                    figures = f"{c.edges:6} {c.rows:7} {c.load / c.edges:9.1f} {c.dearest():10.1f} {c.most():8}"
                    print(f"{name:30} {shape:10} {order:9} {figures}", flush=True)


if __name__ == "__main__":
    main()
