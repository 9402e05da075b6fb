"""Edge: a fused chain of linear actions, from a node's buffer of rows into the next node.

An edge has stages that compute lanes or drop rows, a sign, and what happens to the rounds (a mask for leaving loops, an
addition for the feedback of a loop). Rows arrive in the lane order of the receiving node.

Rule: a row is delivered once, to the worker that owns its key, at its own time; a row whose time is not complete is
held until it is.
"""

from __future__ import annotations

from ebbflow.expressions.interpreter import interpret
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import At, Struct, Words, several
from ebbflow.operators.block import (
    PICK_LANES,
    Stage,
)
from ebbflow.operators.deliver import deliver
from ebbflow.operators.exchange.outbox import (
    owner_of,
    send_row,
)
from ebbflow.operators.node import (
    Node,
)
from ebbflow.trace.failures import ROUNDS_OVERFLOW, ROW_OVERFLOW, fail
from ebbflow.trace.heap import copy_words, reserve
from ebbflow.trace.worker_fields import Worker


class Edge(Struct):
    """An edge."""

    to: At[Node]
    sign: int
    mask: int
    add: int
    field: int
    most: int
    raises: int
    exchange: int
    stage_count: int
    to_lanes: int
    stages: Words = several(0)


@inline
def rounds_behind(worker: Worker, node: Node, edge: Edge, rounds: int, rank: int) -> int:
    """The rounds that a row of these has behind an edge; -1 when it goes no further: a loop has had its rounds."""
    rounds = (rounds & edge.mask) + edge.add
    if edge.add:
        if rounds & worker.guard:
            fail(worker, ROUNDS_OVERFLOW, node.number, rank, 0)
            return -1
        if edge.most >= 0 and ((rounds >> edge.field) & ((1 << worker.bits) - 1)) >= edge.most:
            if edge.raises == 0:
                return -1
    return rounds


@kernel
def refuse_row(worker: Worker, stage: Stage, row: Words, node: Node, rank: int) -> None:
    """An expression overflowed: remember the first such row, and where."""
    if worker.error == 0:
        copy_words(row, reserve(worker, worker.refused, stage.reads + 1), stage.reads)
        worker.refused.length = stage.reads
        fail(worker, ROW_OVERFLOW, node.number, rank, stage)


@kernel
def through(worker: Worker, edge: Edge, row: Words, node: Node, rank: int) -> Words:
    """Run the stages of an edge on a row.  Returns the address of the new row, 0 when it was dropped."""
    at = row
    bank = worker.row
    for i in range(edge.stage_count):
        stage = Stage(edge.stages[i])
        to = bank.pointer
        if stage.kind == PICK_LANES:
            for k in range(stage.count):
                to[k] = at[stage.lanes[k]]
        else:
            kept = interpret(stage.program, at, to)
            if kept <= 0:
                if kept < 0:
                    refuse_row(worker, stage, at, node, rank)
                return Words(0)
        at = to
        bank = worker.row2 if bank == worker.row else worker.row
    return at


# ---- blocks of rows -----------------------------------------------------------------------------------


# ---- rows one by one -----------------------------------------------------------------------------------


@kernel
def deliver_buffer(worker: Worker, node: Node, edge: Edge) -> None:
    """The rows in a node's buffer go through an edge one by one."""
    n = node.buffer.length
    width = node.lanes + 3
    to = edge.to
    exchange = worker.workers > 1 and edge.exchange
    at = 0
    while at < n:
        e = node.buffer.pointer + at  # the buffer may move when an edge leads back to it
        at += width
        rounds = rounds_behind(worker, node, edge, e[0], e[1])
        if rounds < 0:
            if worker.error:
                break
            continue
        rank = e[1]
        diff = e[2] * edge.sign
        row = through(worker, edge, e + 3, node, rank)
        if row == 0:
            continue
        if exchange:
            owner = owner_of(worker, to, row)
            if owner != worker.me:
                send_row(worker, to, owner, row, rounds, rank, diff, edge.to_lanes)
                continue
        deliver(worker, to, row, rounds, rank, diff)
    worker.inserts += n // width
