"""The exit of rows from the plan at its outputs, once a walk is finished.

An output counts its rows, gives them as columns with the times of their ranks, and forgets them. What a step came to is
one word, so that a caller in Python asks once.

Rule: an output gives each row once; where all of its rows cancelled, it gives none and keeps none.
"""

from __future__ import annotations

import numpy as np

from ebbflow.engine.walk import FINISHED
from ebbflow.native.kernel import kernel
from ebbflow.native.structs import Words
from ebbflow.operators.consolidate import count_rows, forget_rows, take_rows
from ebbflow.operators.node import OUTPUT, Node
from ebbflow.trace.worker_fields import Worker

# ---- how a step ended: the reason, then -----------------------------------------------------------
REASON_MASK, IS_LOOSE, IS_WIDE = 7, 8, 16  # a mask; bits: there is memory to return, a row comes very often
GIVES = 5  # by how many bits the rows are shifted


@kernel
def outcome(worker: Worker, reason: int) -> int:
    """How a step ended, in one word: the reason, IS_LOOSE, IS_WIDE, and from GIVES on how many rows the outputs have to
    give.
    """
    if reason != FINISHED:
        return reason
    rows = 0
    wide = 0
    for i in range(worker.node_count):
        node = Node(worker.nodes[i])
        if node.kind == OUTPUT:
            n = count_rows(node)
            if n == 0:  # all cancelled
                forget_rows(worker, node)
            rows += n
            if node.shows_wide:
                node.shows_wide = 0
                wide = IS_WIDE
    return (rows << GIVES) + (IS_LOOSE if worker.loose else 0) + wide


@kernel
def waiting_rows(worker: Worker, node: Node) -> int:
    """How many rows an output has to give; where all cancelled, they are forgotten.

    leaves: in WIDE_SHOWN, whether one of them comes very often.
    """
    n = count_rows(node)
    if node.shows_wide:
        node.shows_wide = 0
        worker.pair.wide_shown = 1
    if n == 0:
        forget_rows(worker, node)
    return n


@kernel
def give_rows(worker: Worker, node: Node, out: np.ndarray, first: int, words: np.ndarray) -> int:
    """Copy an output's rows to the columns of out from the first on, with the times of their ranks; forget them.
    Returns where they end.
    """
    end = take_rows(node, out, first, words)
    forget_rows(worker, node)
    return end


@kernel
def waiting_everywhere(headers: Words, nodes: Words, count: int) -> int:
    """How many rows an output has to give at all workers, whose headers and nodes of it are listed at these addresses.

    Where all of a worker's cancelled, they are forgotten.
    """
    total = 0
    for i in range(count):
        total += waiting_rows(Worker(headers[i]), Node(nodes[i]))
    return total


@kernel
def give_everywhere(headers: Words, nodes: Words, count: int, out: np.ndarray, words: np.ndarray) -> None:
    """Copy the rows of an output at all workers to the columns of out, one worker after the other; forget them."""
    first = 0
    for i in range(count):
        first = give_rows(Worker(headers[i]), Node(nodes[i]), out, first, words)
