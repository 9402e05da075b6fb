"""What two updates of one key make together, and whether it can be counted.

Rule: a product of diffs that leaves 62 bits is refused, never wrong.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Words
from ebbflow.operators.node import Node, emit
from ebbflow.trace.append import are_countable
from ebbflow.trace.diff_limits import is_large
from ebbflow.trace.failures import COUNT_OVERFLOW, PRODUCT_OVERFLOW
from ebbflow.trace.heap import Worker, fail
from ebbflow.trace.segment import Entry

# a projection: per output lane, where it comes from (0 key, 1 left, 2 right) and which lane there
FROM_KEY, FROM_LEFT, FROM_RIGHT = 0, 1, 2


@inline
def product(worker: Worker, join: Node, a: int, b: int, rank: int) -> int:
    """a * b, refused when it leaves 62 bits: asked before it is computed, as compiled products are taken to fit."""
    if a != 0 and (abs(a) | abs(b)) >= (1 << 31) and abs(b) > ((1 << 62) - 1) // abs(a):
        fail(worker, PRODUCT_OVERFLOW, join.number, rank, a)
        return 0
    return a * b


@kernel
def are_paired(  # wide: the rows of both sides
    worker: Worker, join: Node, key: Words, deltas: Words, dn: int, dw: int, b: Words, m: int, w: int
) -> bool:
    """Whether whatever is summed of the diffs of deltas, or of m entries of the other side, has 62 bits."""
    total = 0
    for j in range(dn):
        total += abs(deltas[j * dw + 1])
        if is_large(total):
            break
    if is_large(total) or not are_countable(b, m, w):
        worker.key_at = key
        fail(worker, COUNT_OVERFLOW, join.number, deltas[0], 0)
        return False
    return True


@inline
def joined_row(
    worker: Worker, join: Node, key: Words, left: int, right: int, rounds: int, rank: int, diff: int
) -> None:
    e = Entry(emit(worker, join, rounds, rank, diff))
    p = join.projection
    for i in range(join.lanes):
        where = p[2 * i]
        base = key if where == FROM_KEY else (Words(left if where == FROM_LEFT else right))
        Words(e)[i] = base[p[2 * i + 1]]
