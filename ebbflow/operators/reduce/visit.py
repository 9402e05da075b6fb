"""Reduce: compute a key at every time at which its result may differ, and emit the corrections.

A visit folds what earlier slices left, notes the rounds at which the key is owed another visit, asks the tactics of the
node in the order of their table, and stores and sends the corrections of the one that did not decline.

Rule: after a visit, the sum of what was emitted up to any complete time at these rounds equals the answer there.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.operators.gather import note_rounds, owe_noted, refuse_group
from ebbflow.operators.node import Node
from ebbflow.operators.reduce.answers import DISTINCT_BY_VALUE
from ebbflow.operators.reduce.chain_scan import visit_chain, visit_settled
from ebbflow.operators.reduce.choose import (
    CHAIN,
    COUNT_SCAN,
    EXTREMES,
    ORDER_STATISTICS,
    PRESENCE_BY_ROUND,
    PRESENCE_BY_VALUE,
    REPLAY,
    SETTLED_CHAIN,
    STEADY,
    SUM_SCAN,
    VALUE_SCAN,
    WINDOW_INDEX,
)
from ebbflow.operators.reduce.corrections import store_and_send
from ebbflow.operators.reduce.count_scan import visit_counts
from ebbflow.operators.reduce.extremes import visit_extremes
from ebbflow.operators.reduce.order_statistics import visit_ordered
from ebbflow.operators.reduce.presence_by_round import visit_by_round
from ebbflow.operators.reduce.presence_by_value import visit_by_value
from ebbflow.operators.reduce.replay import visit_replay
from ebbflow.operators.reduce.steady import is_likely_steady, is_steady, note_steady
from ebbflow.operators.reduce.sum_scan import visit_sums
from ebbflow.operators.reduce.totals.accumulators import touch_input
from ebbflow.operators.reduce.value_scan import visit_values
from ebbflow.operators.reduce.window_changes import visit_window
from ebbflow.trace.append import is_crowded, touch
from ebbflow.trace.segment import VALUE, rank_of
from ebbflow.trace.table import Marks, Record, Table, segment_of
from ebbflow.trace.worker_fields import Worker


@inline
def fits(bits: int, tactic: int) -> bool:
    return (bits >> tactic) & 1 != 0


@kernel
def reduce_key(worker: Worker, node: Node, table: Table, record: Record, rounds: int) -> int:
    """Ask the tactics that the node has, in the order of their table.  Returns the number of the one that fits.

    leaves: the corrections in DELTA, or sent where nobody keeps them.
    """
    bits = node.choice.bits
    if fits(bits, PRESENCE_BY_ROUND) and visit_by_round(worker, node, table, record, rounds):
        return PRESENCE_BY_ROUND
    if fits(bits, PRESENCE_BY_VALUE) and visit_by_value(worker, node, table, record, rounds):
        return PRESENCE_BY_VALUE
    if fits(bits, SETTLED_CHAIN) and visit_settled(worker, node, table, record, rounds):
        return SETTLED_CHAIN
    if fits(bits, CHAIN) and visit_chain(worker, node, table, record, rounds):
        return CHAIN
    if fits(bits, COUNT_SCAN) and visit_counts(worker, node, table, record, rounds):
        return COUNT_SCAN
    if fits(bits, SUM_SCAN) and visit_sums(worker, node, table, record, rounds):
        return SUM_SCAN
    if fits(bits, WINDOW_INDEX) and visit_window(worker, node, table, record, rounds):
        return WINDOW_INDEX
    if fits(bits, ORDER_STATISTICS) and visit_ordered(worker, node, table, record, rounds):
        return ORDER_STATISTICS
    if fits(bits, EXTREMES) and visit_extremes(worker, node, table, record, rounds):
        return EXTREMES
    if fits(bits, VALUE_SCAN) and visit_values(worker, node, table, record, rounds):
        return VALUE_SCAN
    visit_replay(worker, node, table, record, rounds)
    return REPLAY


@kernel
def visit_reduce(worker: Worker, node: Node, table: Table, record: Record, rounds: int) -> None:
    """Everything a key owes at these rounds."""
    w = table.widths[0]
    w1 = table.widths[1]
    si = segment_of(table, record, 0)
    so = segment_of(table, record, 1)
    touch_input(worker, table, record, si, w)
    worker.fuel -= si.length + so.length
    worker.delta.length = 0
    if is_crowded(worker, si, w) or is_crowded(worker, so, w1):
        refuse_group(worker, node, record, rank_of(si.pointer[(si.length - 1) * w + 1]))
        return
    steady = False
    if fits(node.choice.bits, STEADY) and Marks(record + table.keys).index == 0 and is_likely_steady(worker, node):
        steady = is_steady(worker, node, si, w, rounds)
        note_steady(node, steady)
    if steady and (so.stamp != worker.step or so.length == so.old):
        node.choice.counts[STEADY] += 1  # and nothing was emitted in this slice that would have to be taken back
        return
    if node.op == DISTINCT_BY_VALUE:
        touch(worker, so, w1)  # each value owes visits of its own
    elif steady:
        touch(worker, so, w1)
    elif not node.short:
        touch(worker, so, w1)
        note_rounds(worker, node, si, w, rounds)
        note_rounds(worker, node, so, w1, rounds)
        if table.folds:
            worker.fuel -= segment_of(table, record, 2).length * table.folds[0]
            note_rounds(worker, node, segment_of(table, record, 2), table.folds[0] + VALUE, rounds)
        owe_noted(worker, node, record)
    tactic = reduce_key(worker, node, table, record, rounds)
    node.choice.counts[tactic] += 1
    store_and_send(worker, node, table, record, rounds)
