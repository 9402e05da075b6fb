"""Turns step: a slice of a few rows at one time, for several workers of one process, in one call.

This is what a single change is with more than one worker: too little for threads to be woken. As with one worker, the
calls from Python would be most of its cost, so tidying, feeding and all turns are one.

Rule: it leaves what the same rows leave that are fed to the workers and walked in several calls.
"""

from __future__ import annotations

import numpy as np

from ebbflow.engine.quick_step import begin_step
from ebbflow.engine.round_robin import take_turns
from ebbflow.engine.take import waiting_rows
from ebbflow.native.kernel import kernel
from ebbflow.native.structs import Words
from ebbflow.operators.flush import flush
from ebbflow.operators.node import OUTPUT, Node, emit
from ebbflow.trace.heap import Worker


@kernel
def rows_to_give(headers: Words, count: int) -> int:
    """How many rows the outputs of all workers have to give."""
    rows = 0
    for i in range(count):
        worker = Worker(headers[i])
        for k in range(worker.node_count):
            node = Node(worker.nodes[k])
            if node.kind == OUTPUT:
                rows += waiting_rows(worker, node)
    return rows


@kernel
def is_loose(headers: Words, count: int) -> int:
    """Whether some worker has memory to return."""
    for i in range(count):
        if Worker(headers[i]).loose:
            return 1
    return 0


@kernel
def turns_step(
    headers: Words, nodes: Words, programs: Words, ids: np.ndarray, count: int, fuel: int, words: np.ndarray
) -> int:
    """A slice of one time, at one input of all workers, in turns; ids: the number of each worker's slice.

    needs:  one coordinate; all workers of the program are here; words: `lanes, time, diff` one after the other.
    leaves: how many rows the outputs have to give, twice, and one more where there is memory to return; or, below
            zero, the number of the worker that needs Python, and one more, with its reason in REASON.
    """
    for i in range(count):
        worker = Worker(headers[i])
        begin_step(worker, programs[i], ids[i])
        worker.quiet = 0
        worker.stage = 0
    node = Node(nodes[0])
    first = Worker(headers[0])
    lanes = node.lanes
    for at in range(0, len(words), lanes + 2):
        e = emit(first, node, 0, 1, words[at + lanes + 1])
        for k in range(lanes):
            e[k] = words[at + k]
    flush(first, node)  # the exchange brings them where they belong
    turn = take_turns(headers, count, 0, 1, fuel)
    return -1 - turn if turn < count else 2 * rows_to_give(headers, count) + is_loose(headers, count)
