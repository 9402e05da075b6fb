"""Refusals: error codes of the walk, worded as errors for the user.

Rule: every message says what happened, to which value, in which operator of the user's program, and at which time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ebbflow.columns.schema import Type
from ebbflow.columns.value_words import from_words
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.plan import Cell
from ebbflow.dataflow.written_names import as_written
from ebbflow.errors import STAYS, EbbflowError, NeverSettles, NumberOverflow, OutOfMemory, Place, WrongTime
from ebbflow.expressions.columnwise import overflowed
from ebbflow.limits import COPIES_KEPT, LARGEST_WORD, MOST_COUNTED
from ebbflow.operators import node as kinds
from ebbflow.operators.reduce.window_order import MOST_CELLS, MOST_ROWS
from ebbflow.trace import failures
from ebbflow.trace import table as tables

SMALLER_STEPS = f"Advance in smaller steps, or spread the work over more workers.  {STAYS}"
LOST = "Close the session and begin again; one with a checkpoint opens again with its last step."


def told(times: np.ndarray) -> str:
    """The end of a sentence: when."""
    rows = np.unique(times, axis=0).tolist()
    if not rows:
        return ""
    first, last = (row[0] if len(row) == 1 else tuple(row) for row in (rows[0], rows[-1]))
    return f" at time {first}" if len(rows) == 1 else f" at times from {first} to {last}"


class Failure(NamedTuple):
    """What a walk wrote down when it stopped, and how it is told."""

    worker: Any
    cell: Cell
    name: str  # of the node, as the user calls it
    place: Place | None  # in the user's file
    when: str
    word: int  # what the code says more of

    @property
    def group(self) -> str:
        told_group = ", ".join(f"{key}={value!r}" for key, value in group_of(self.worker, self.cell).items())
        return told_group or "of all rows"


def refusal(worker) -> EbbflowError:
    """What to raise for the error that the worker's walk wrote down."""
    header, graph = worker.header, worker.plan.graph
    code, number = int(header.error), int(header.error_node)
    rank, word = int(header.error_rank), int(header.error_word)
    if code == failures.USED_UP:
        what = (
            f"The memory of worker {worker.me}, {word * 8 / (1 << 20):,.0f} MB, does not hold what this step computes."
        )
        return OutOfMemory(what, hint=SMALLER_STEPS)
    cell = worker.plan.cells[number] if number >= 0 else holder_of(worker)
    try:
        when = told(worker.time_of(np.array([rank])))
    except IndexError:
        when = ""
    failed = Failure(worker, cell, graph.called(cell.node), graph.places[cell.node], when, word)
    return numbers_refused(code, failed) or times_refused(code, failed)


def numbers_refused(code: int, failed: Failure) -> EbbflowError | None:
    """Numbers and counts that have no place in their words."""
    worker, cell, name, place, when, word = failed
    match code:
        case failures.ROW_OVERFLOW:
            return row_refused(failed)
        case failures.OVERFLOW if cell.kind == kinds.REDUCE:
            sum_, leaves, hint = aggregate_of(worker, cell, word)
            what = f"{sum_} in {name} {leaves}, for the group {failed.group}{when}."
            return NumberOverflow(what, at=place, hint=f"{hint}{STAYS}")
        case failures.OVERFLOW:
            return NumberOverflow(f"A number in {name} leaves 64 bits{when}.", at=place, hint=STAYS)
        case failures.DIFF_OVERFLOW:
            what = f"{row_told(worker, cell)} would be there {word:,} times in {name}{when}; at most {COPIES_KEPT:,} "
            return NumberOverflow(f"{what}copies of a row can be kept.", at=place, hint=STAYS)
        case failures.SUM_OVERFLOW:
            what = f"{row_told(worker, cell)} would be there more than {LARGEST_WORD:,} times in {name}{when}"
            return NumberOverflow(f"{what}: its diffs leave 64 bits.", at=place, hint=STAYS)
        case failures.PRODUCT_OVERFLOW:
            what = f"{name} pairs {abs(word):,} copies of a row with so many of another{when} that the product"
            most = f"at most {MOST_COUNTED:,} can be counted"
            return NumberOverflow(f"{what} leaves 62 bits; {most}.", at=place, hint=STAYS)
        case failures.COUNT_OVERFLOW:
            what = f"The group {failed.group} of {name} has more than {MOST_COUNTED:,} rows{when}, copies and"
            return NumberOverflow(f"{what} corrections counted.", at=place, hint=STAYS)
        case failures.PARTITION_OVERFLOW:
            what = f"The partition {failed.group} of {name} has {word:,} rows{when}, copies counted; a window"
            most = f"numbers {MOST_CELLS:,} one by one, and ranks {MOST_ROWS:,}"
            return NumberOverflow(f"{what} {most}.", at=place, hint=STAYS)
    return None


def row_refused(failed: Failure) -> EbbflowError:
    """A row for which an expression overflowed."""
    worker = failed.worker
    stage, graph = worker.stages[failed.word], worker.plan.graph
    exprs = [*stage.columns, *([] if stage.condition is None else [stage.condition])]
    told_row = overflowed(exprs, stage.schema, worker.pool, worker.heap.vector(worker.header.refused).tolist())
    return NumberOverflow(
        f"{told_row.what.rstrip('.')}{failed.when}.",
        at=graph.places[stage.node] if stage.node >= 0 else failed.place,
        hint=f"{told_row.hint} {STAYS}",
    )


def times_refused(code: int, failed: Failure) -> EbbflowError:
    """Rounds and times beyond those that there can be."""
    worker, cell, name, place, when, word = failed
    most = (1 << int(worker.header.bits)) - 1
    match code:
        case failures.ROUNDS_OVERFLOW if cell.kind == kinds.WAIT:
            what = f"A row waits for round {word:,} of its loop{when}; loops here have at most {most:,}."
            return NumberOverflow(what, at=place, hint=STAYS)
        case failures.ROUNDS_OVERFLOW:
            return NeverSettles(f"A loop went round {most:,} times and still changes{when}.", at=place, hint=STAYS)
        case failures.LIMIT_REACHED:
            return NeverSettles(
                f"The loop of {name} still changes{when} after the {word:,} rounds it was given.",
                at=place,
                hint=f'Give it more with max_rounds=, or take what it has with on_limit="return".  {STAYS}',
            )
        case failures.BACKWARDS:
            what = "a change" if len(worker.plan.graph.coordinates) == 1 else "a coordinate of a change"
            return WrongTime(
                f"delay moves {what} back{when}: to {word}.", at=place, hint="A delay may only add to a time."
            )
        case failures.TOO_MANY_TIMES:
            return NumberOverflow(
                "More distinct times are alive at once than can be told apart.",
                at=place,
                hint="Advance the frontier in smaller steps, so that older times can be folded together.",
            )
    raise AssertionError(code)


def refuse_plainly(error: BaseException) -> None:
    """Where Python itself ran out of memory, raise an error that says so."""
    if isinstance(error, MemoryError) and not isinstance(error, EbbflowError):
        what = f"This process has too little memory for the step: {str(error) or 'Python had none'}."
        raise OutOfMemory(what, hint=STAYS) from error


def refuse_broken(workers) -> None:
    """Say so if memory ended in the middle of a kernel, even behind the limit: what a worker holds means nothing."""
    for worker in workers:
        if worker.header.broken:
            raise OutOfMemory(
                f"The memory of worker {worker.me} ended so suddenly that what it held is lost.", hint=LOST
            )


def aggregate_of(worker, cell, number: int) -> tuple[str, str, str]:
    """The aggregate that found no room: what it is called, how it left its type, and what to do."""
    match worker.plan.graph.nodes[cell.node]:
        case n.Reduce(source, _, n.Aggregates(aggregates), gives) if (
            each := aggregates[answered(number, (gives[a.name] for a in aggregates))]
        ).column is not None:
            assert each.column is not None
            column = as_written(worker.plan.graph, source, each.column)
            said = f"{each.op}({column})" if not each.column.startswith("_of") else f'"{each.name}", a {each.op},'
            if worker.plan.graph.schemas[source][each.column].name == "decimal":
                hint = (
                    f'Sum it as doubles where the last digit does not count: ebb.{each.op}(col(...).cast("double")). '
                )
                return said, f"needs more than {gives[each.name].precision} digits", hint
            return said, "leaves 64 bits", ""
        case n.Reduce(source, _, n.Window(_, functions), gives) if (
            over := functions[answered(number, (gives[f.name] for f in functions))]
        ).column is not None:
            decimal = worker.plan.graph.schemas[source][over.column or ""].name == "decimal"
            return (
                f"a {over.op} over rows"
                if (over.column or "").startswith("_")
                else f"{over.op}({as_written(worker.plan.graph, source, over.column or '')}) over rows",
                f"needs more than {gives[over.name].precision} digits" if decimal else "leaves 64 bits",
                "",
            )
    return "A sum", "leaves 64 bits", ""


def holder_of(worker):
    """The cell in whose table a record lies, of which REFUSED has a segment; its row takes the place of that."""
    v = worker.header.refused
    segment, *values = worker.heap.vector(v).tolist()
    for cell, node in zip(worker.plan.cells, worker.at, strict=True):
        table = node.table
        for i in range(int(table.mask) + 1 if table and table.slots else 0):
            record = tables.Record(int(table.slots[i]) & tables.ADDRESS)
            if record and 0 < segment - record < int(table.record):
                key = [int(record.lanes[k]) for k in range(int(table.keys))]
                is_output = segment >= tables.segment_of(table, record, 1)
                worker.heap.load(v, np.array([] if is_output else key + values, np.int64))
                return cell
    worker.heap.load(v, np.empty(0, np.int64))
    return worker.plan.cells[0]


def row_told(worker, cell) -> str:
    """The row that was refused, if it is known: the columns in which it came."""
    lanes = worker.heap.vector(worker.header.refused).tolist()
    taken = cell.taken(worker.plan.graph)
    if not lanes or len(lanes) > taken.width:
        return "A row"
    told = []
    for at, field in zip(taken.starts, taken, strict=True):
        if at + field.type.words <= len(lanes):
            value = from_words(lanes[at : at + field.type.words], field.type, worker.pool)
            told.append(f"{field.name}={value!r:.60}")
    return f"The row {', '.join(told)}"


def group_of(worker, cell) -> dict[str, object]:
    """The key that a reduce looked at last."""
    of, schema = cell.node, worker.plan.graph.schemas[cell.node]
    at = int(worker.header.key_at)
    if cell.kind == kinds.JOIN:
        of = cell.left.cell.node
        key, schema = cell.left.key, worker.plan.graph.schemas[of]
    else:
        key = cell.key
    found = {}
    for name in key:
        words = schema[name].words if name in schema else 1
        if name in schema:
            said = as_written(worker.plan.graph, of, name)
            said = name if said in found else said  # a key is not told in another's place
            found[said] = from_words([worker.H[at + i] for i in range(words)], schema[name], worker.pool)
        at += words
    return found


def answered(number: int, gives: Iterable[Type]) -> int:
    """Which of several results a word of them all is a word of."""
    return [i for i, type_ in enumerate(gives) for _ in range(type_.words)][number]
