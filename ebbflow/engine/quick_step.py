"""Quick step: a slice of one time at one input, from its rows to the end of the walk, in one call.

This is what a single change is. The call from Python is most of its cost, so tidying, feeding and walking are one.

Rule: a quick step leaves what the same rows leave that are fed and walked in several calls.
"""

from __future__ import annotations

import numpy as np

from ebbflow.engine.take import outcome
from ebbflow.engine.tidy import tidy
from ebbflow.engine.walk import FULL, walk
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Words
from ebbflow.operators.flush import SINGLE, flush, flush_edges, pour_columns
from ebbflow.operators.node import Node, emit
from ebbflow.trace.worker_fields import Worker


@inline
def begin_step(worker: Worker, program: int, step: int) -> None:
    """A slice of one time begins, in which rows are in order."""
    tidy(worker, step - 1, worker.effort)
    worker.step = step
    worker.error = 0
    worker.pc = program
    worker.rounds = 0
    worker.phase = 0
    worker.fuel = FULL
    worker.in_order = 1


@kernel
def few_step(worker: Worker, node: Node, program: int, step: int, words: np.ndarray) -> int:
    """A slice of one time, at one input, from a few rows to the end of the walk.  Returns the outcome.

    needs:  one coordinate, one worker; words: `lanes, time, diff` one after the other.
    """
    begin_step(worker, program, step)
    lanes = node.lanes
    for at in range(0, len(words), lanes + 2):
        e = emit(worker, node, 0, 1, words[at + lanes + 1])
        for k in range(lanes):
            e[k] = words[at + k]
    flush(worker, node)
    return outcome(worker, walk(worker))


@kernel
def quick_step(worker: Worker, node: Node, program: int, step: int, rows: np.ndarray, words: np.ndarray) -> int:
    """A slice of one time, at one input, from its rows to the end of the walk.  Returns the outcome.

    needs:  one coordinate, one worker; words: the diffs, or the one that all rows have.
    """
    begin_step(worker, program, step)
    n = rows.shape[1]
    dstep = 1 if len(words) == n else 0
    # the rank of every row is 1, and so is the word for their being in order
    at = Words(np.int64(words.ctypes.data) // 8 - 1)
    if pour_columns(worker, node, Words(np.int64(rows.ctypes.data) // 8 - 1), n, worker.in_order_word, 0, at, dstep, n):
        worker.delivers_bulk = 1 if n >= worker.seal else 0
        for i in range(n):
            e = emit(worker, node, 0, 1, words[i * dstep])
            for k in range(rows.shape[0]):
                e[k] = rows[k, i]
            if i % 4096 == 4095:
                flush_edges(worker, node, SINGLE)
                if worker.error:
                    break
        flush_edges(worker, node, SINGLE)
        worker.delivers_bulk = 0
    return outcome(worker, walk(worker))
