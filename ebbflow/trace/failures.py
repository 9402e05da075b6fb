"""Failures: what can go wrong inside compiled code, as a code that the walk's caller words as an error.

Rule: the first failure is kept; the walk stops at its next look, and the step is undone.
"""

from __future__ import annotations

from ebbflow.native.kernel import kernel
from ebbflow.trace.worker_fields import Worker

OVERFLOW, DIFF_OVERFLOW, ROUNDS_OVERFLOW, LIMIT_REACHED, BACKWARDS, TOO_MANY_TIMES = 1, 2, 3, 4, 5, 6
ROW_OVERFLOW = 7  # in an expression: the word is the stage, the row is kept in REFUSED
USED_UP = 8  # the memory that may be used: the instruction, whether at a barrier, and how many words there are
COUNT_OVERFLOW = 16  # what a group counts, or its sum of 128 bits; the group is at KEY_AT
SUM_OVERFLOW = 17  # the diffs of equal rows at one time do not sum up to a word; the row is in REFUSED
PRODUCT_OVERFLOW = 18  # the copies of two rows that a join pairs
PARTITION_OVERFLOW = 19  # the rows of a window's partition; the key is at KEY_AT
NO_NODE = -1  # whoever called knows which it is


@kernel
def fail(worker: Worker, code: int, node: int, rank: int, word: int) -> None:
    """Remember the first thing that went wrong; the walk stops at its next look."""
    if worker.error == 0:
        worker.error = code
        worker.error_node = node
        worker.error_rank = rank
        worker.error_word = word
