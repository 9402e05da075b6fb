"""Shapes: which edges a graph has, by their numbers.

`random` draws both ends, `bipartite` a customer and a product, and neither ever ends.  `grid`, `chain` and `star` are
fixed graphs whose edges come one after the other in an order without neighbours, round and round; a window over them
that is a little shorter than the whole leaves a few edges out, others at every time.

A grid is a square of one-way streets: every other row and column runs backwards.  A chain leads from node 0 through all
others, so that what one edge cuts off is half of the graph on average.  A star has an edge from node 0 to each other
node and one back.  The first half of a bipartite graph's nodes are customers, the other half products; every other edge
points back.

Rule: edge number i is the same in peers/rust/src/lib.rs.
"""

from __future__ import annotations

from math import isqrt
from typing import Literal, get_args

import numpy as np

from benchmarks.draws import Whole, narrow, splitmix64, words

Shape = Literal["random", "bipartite", "grid", "chain", "star"]
SHAPES: tuple[Shape, ...] = get_args(Shape)
DRAWN: tuple[Shape, ...] = ("random", "bipartite")  # the others are fixed graphs
LEFT_OUT = 100  # of a fixed graph, one edge in so many is missing at any time
PRIME = 2_654_435_761  # from one edge of a fixed graph to the next, so far among them

Ends = tuple[Whole, Whole]


def stream(shape: Shape, count: int, nodes: int, seed: int, skew: int) -> Ends:
    """The first edges of a graph: where they begin and where they end."""
    numbers = np.arange(count, dtype=np.uint64)
    if shape in DRAWN:
        return _drawn(shape, numbers, nodes, seed, skew)
    return _placed(shape, numbers, nodes, seed)


def edges_of(shape: Shape, nodes: int) -> int:
    """How many edges a fixed graph has when none is left out."""
    side = isqrt(nodes)
    return {"chain": nodes - 1, "star": 2 * (nodes - 1), "grid": 2 * side * (side - 1)}[shape]


def window_of(shape: Shape, nodes: int) -> int:
    """How many edges are there at a time: of a fixed graph nearly all, otherwise two a node."""
    if shape in DRAWN:
        return 2 * nodes
    whole = edges_of(shape, nodes)
    return whole - max(whole // LEFT_OUT, 1) if shape != "chain" else whole - 1


def _drawn(shape: Shape, numbers: np.ndarray, nodes: int, seed: int, skew: int) -> Ends:
    two = numbers * np.uint64(2) + np.uint64(seed)
    x, y = splitmix64(two), splitmix64(two + np.uint64(1))
    if shape == "random":
        return narrow(x, nodes, skew), narrow(y, nodes, skew)
    customers = nodes // 2
    customer, product = narrow(x, customers, 0), customers + narrow(y, nodes - customers, skew)
    there = numbers % np.uint64(2) == 0
    return np.where(there, customer, product), np.where(there, product, customer)


def _placed(shape: Shape, numbers: np.ndarray, nodes: int, seed: int) -> Ends:
    whole = np.uint64(edges_of(shape, nodes))
    start = splitmix64(words([seed])) % whole
    j = ((start + numbers % whole * np.uint64(PRIME)) % whole).astype(np.int64)
    if shape == "chain":
        return j, j + 1
    is_first, half = j % 2 == 0, j // 2
    if shape == "star":
        return np.where(is_first, 0, half + 1), np.where(is_first, half + 1, 0)
    side = isqrt(nodes)
    line, along = half // (side - 1), half % (side - 1)
    here, there = (np.where(is_first, line * side + place, place * side + line) for place in (along, along + 1))
    is_backwards = line % 2 == 1
    return np.where(is_backwards, there, here), np.where(is_backwards, here, there)
