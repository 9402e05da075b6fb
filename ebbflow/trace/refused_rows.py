"""Refused rows: the row of a failure, kept for the message of its error.

Rule: the row is that of the first failure, with the lanes that its node has.
"""

from __future__ import annotations

from ebbflow.native.kernel import kernel
from ebbflow.native.structs import Words
from ebbflow.trace.failures import NO_NODE, SUM_OVERFLOW, fail
from ebbflow.trace.heap import copy_words, reserve
from ebbflow.trace.worker_fields import Worker


@kernel
def fail_of_row(worker: Worker, code: int, node: int, rank: int, word: int, row: Words, n: int) -> None:
    """The same, of a row that is kept: n lanes."""
    if worker.error == 0:
        fail(worker, code, node, rank, word)
        copy_words(row, reserve(worker, worker.refused, n + 1), n)
        worker.refused.length = n


@kernel
def blame(worker: Worker, node: int, key: Words, nk: int, skip: int) -> None:
    """A sum that failed at no node is one of this node: its row begins with the lanes of a key, but for some it had."""
    if worker.error == SUM_OVERFLOW and worker.error_node == NO_NODE:
        worker.error_node = node
        n = worker.refused.length - skip
        if n >= 0:
            p = reserve(worker, worker.refused, nk + n + skip)
            for k in range(n):
                i = n - 1 - k if nk > skip else k
                p[nk + i] = p[skip + i]
            copy_words(key, p, nk)
            worker.refused.length = nk + n
