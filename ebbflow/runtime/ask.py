"""Asking Python: users' functions and expressions that need text, called from the walk.

The walk hands over whole buffers: all rows that came to a function, or all the groups of a round, one per key and time.
A function's answer is encoded and handed back; the walk goes on from there.

Rule: a function that raises, or returns what does not fit its schema, refuses the step and says for which row and when.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ebbflow.columns.evaluate import lanes_of, outside, values_of
from ebbflow.columns.lanes import to_lane
from ebbflow.columns.schema import NULL, Schema, Type
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.lower import Cell, Plan, Stage
from ebbflow.errors import EbbflowError, FunctionFailed
from ebbflow.operators import node as kinds
from ebbflow.runtime import walk as w
from ebbflow.trace import heap as h

SHOWN = 200
STAYS = "The session stays at its last frontier with this input still pending; live.discard() drops it."


class Asker:
    """Calls what the cells of a plan need from outside."""

    def __init__(self, plan: Plan, pool):
        self.plan, self.pool = plan, pool
        self.rows: dict[int, type] = {}

    # ---- rows -------------------------------------------------------------------------------

    def call(self, worker, cell: Cell) -> None:
        """Empty the buffer of a cell that asks, and fill that of the cell behind it with the answers."""
        H, W, a = worker.H, worker.W, worker.at[cell.number]
        width = len(cell.schema) + 3
        rows = np.ascontiguousarray(worker.heap.vector(a + kinds.BUFFER).reshape(-1, width).T)
        H[a + kinds.BUFFER + h.LEN] = 0
        H[a + kinds.LEAST] = w.NOTHING
        lanes, source = self.apply(cell, rows[3:], rows[1], worker)
        (behind,) = (other for other in self.plan.cells if other.follows is cell)
        stamps = rows[:3][:, source].reshape(-1)
        w.put_rows(H, W, worker.at[behind.number], np.ascontiguousarray(lanes), np.ascontiguousarray(stamps))

    def apply(self, cell: Cell, lanes: np.ndarray, ranks: np.ndarray, worker) -> tuple[np.ndarray, np.ndarray]:
        """The rows an action makes of rows, and which row each came from."""
        everything = np.arange(lanes.shape[1])
        match cell.action:
            case Stage(schema, condition, columns):
                found, keep = outside(columns, condition, schema, self.pool, np.ascontiguousarray(lanes))
                return found[:, keep], everything[keep]
            case n.Inspect(function):
                self.guarded(cell, function, lambda: None, function.fn, self.table(cell.schema, lanes))
                return lanes, everything
            case n.Apply(function, "batches", given):
                columns = self.table(cell.schema, lanes)
                answer = self.guarded(cell, function, lambda: f"{lanes.shape[1]} rows", function.fn, columns)
                return self.guarded(
                    cell, function, lambda: "its answer", self.encode_columns, answer, given, lanes.shape[1]
                ), everything
            case n.Apply(function, how, given):
                made: list[list[int]] = []
                source: list[int] = []
                for i, row in enumerate(self.decoded(cell.schema, lanes)):
                    answer = self.guarded(
                        cell, function, lambda row=row: repr(row), self.one, function.fn, row, how, given
                    )
                    made += answer
                    source += [i] * len(answer)
                return np.array(made, np.int64).reshape(-1, len(given)).T, np.array(source, np.int64)
        raise AssertionError(cell.action)

    def one(self, fn: Callable, row: tuple, how: str, given: Schema) -> list[list[int]]:
        answer = fn(row)
        return [self.encode_row(given, out) for out in (answer if how == "flat" else [answer])]

    # ---- groups -----------------------------------------------------------------------------

    def answer(self, worker, cell: Cell) -> None:
        """Ask about every group in the cell's ASK vector, and write the answers to its ANSWER vector."""
        a = worker.at[cell.number]
        words = worker.heap.vector(a + kinds.ASK)
        node = self.plan.graph.nodes[cell.node]
        source = self.plan.graph.schemas[node.source]
        values = Schema(tuple(f for f in source if f.name in cell.values))
        step = len(values) + 1
        groups: list[np.ndarray] = []
        at = 0
        while at < len(words):
            rows = int(words[at + 2])
            groups.append(words[at + 3 : at + 3 + rows * step].reshape(rows, step))
            at += 3 + rows * step
        match node.reducer:
            case n.Threshold(function):
                answers = [self.threshold(cell, function, group) for group in groups]
            case n.Own(function, "rows", given):
                answers = [self.own_rows(cell, function, group, values, given) for group in groups]
            case n.Own(function, _, given):
                answers = self.own_batches(cell, function, groups, values, given)
        out = np.concatenate([np.concatenate([[len(rows)], rows.reshape(-1)]) for rows in answers])
        worker.heap.load(a + kinds.ANSWER, out.astype(np.int64))

    def threshold(self, cell: Cell, function: n.Function, group: np.ndarray) -> np.ndarray:
        if not len(group):
            return np.empty((0, 1), np.int64)
        count = int(group[0, 0])
        copies = self.guarded(cell, function, lambda: f"a count of {count}", lambda: int(function.fn(count)))
        return np.array([[copies]] if copies else np.empty((0, 1)), np.int64)

    def own_rows(
        self, cell: Cell, function: n.Function, group: np.ndarray, values: Schema, given: Schema
    ) -> np.ndarray:
        if not len(group):
            return np.empty((0, len(given) + 1), np.int64)
        rows = self.sorted_rows(group, values)
        answer = self.guarded(
            cell, function, lambda: repr(rows), lambda: [self.encode_row(given, row) for row in function.fn(rows)]
        )
        return np.array([[1, *row] for row in answer], np.int64).reshape(-1, len(given) + 1)

    def own_batches(
        self, cell: Cell, function: n.Function, groups: list, values: Schema, given: Schema
    ) -> list[np.ndarray]:
        """All the groups of a round in one call; those with no rows answer nothing."""
        order = [self.order(group, values) for group in groups]
        full = [(i, group[order[i]]) for i, group in enumerate(groups) if len(group)]
        answers = [np.empty((0, len(given) + 1), np.int64)] * len(groups)
        if not full:
            return answers
        everything = np.concatenate([group for _, group in full])
        offsets = np.cumsum([0, *(len(group) for _, group in full)])
        columns = {**self.table(values, np.ascontiguousarray(everything[:, 1:].T)), "_count": everything[:, 0].copy()}

        def ask() -> tuple[np.ndarray, np.ndarray]:
            answered, bounds = function.fn(columns, offsets)
            bounds = np.asarray(bounds, np.int64)
            return self.encode_columns(answered, given, None), bounds

        lanes, bounds = self.guarded(cell, function, lambda: f"{len(full)} groups", ask)
        if len(bounds) != len(full) + 1 or bounds[-1] != lanes.shape[1]:
            raise self.failed(
                cell, function, f"it was given {len(full)} groups and returned offsets for {len(bounds) - 1}"
            )
        for j, (i, _) in enumerate(full):
            rows = lanes[:, bounds[j] : bounds[j + 1]].T
            answers[i] = np.concatenate([np.ones((len(rows), 1), np.int64), rows], axis=1)
        return answers

    # ---- values -----------------------------------------------------------------------------

    def row_type(self, schema: Schema) -> type:
        key = hash(schema)
        if key not in self.rows:
            self.rows[key] = namedtuple("Row", schema.names, rename=True)
        return self.rows[key]

    def decoded(self, schema: Schema, lanes: np.ndarray) -> Iterable[tuple]:
        row_type = self.row_type(schema)
        if not len(schema):
            return (row_type() for _ in range(lanes.shape[1]))
        columns = [values_of(lane, field.type, self.pool) for lane, field in zip(lanes, schema, strict=True)]
        return (row_type(*row) for row in zip(*columns, strict=True))

    def order(self, group: np.ndarray, values: Schema) -> list[int]:
        """The places of a group's rows in the order of rows, text by text, nulls first."""
        if len(group) < 2:
            return list(range(len(group)))
        columns = [
            [
                b"" if x is None else x.encode() if isinstance(x, str) else x
                for x in values_of(lane, field.type, self.pool)
            ]
            if field.type.is_text
            else lane.tolist()
            for lane, field in zip(group.T[1:], values, strict=True)
        ]
        nulls = group[:, 1:] != NULL
        return sorted(range(len(group)), key=lambda i: [(bool(nulls[i, k]), c[i]) for k, c in enumerate(columns)])

    def sorted_rows(self, group: np.ndarray, values: Schema) -> list[tuple[tuple, int]]:
        group = group[self.order(group, values)]
        rows = self.decoded(values, np.ascontiguousarray(group[:, 1:].T))
        return list(zip(rows, group[:, 0].tolist(), strict=True))

    def table(self, schema: Schema, lanes: np.ndarray) -> dict[str, np.ndarray]:
        """Columns as numpy arrays; where a column has nulls, an array of objects with None."""
        return {field.name: self.array(lane, field.type) for lane, field in zip(lanes, schema, strict=True)}

    def array(self, lane: np.ndarray, type: Type) -> np.ndarray:
        if type.is_integer and not (lane == NULL).any():
            return lane.copy()
        return np.array(values_of(lane, type, self.pool))

    def encode_row(self, schema: Schema, row: Sequence[object]) -> list[int]:
        row = tuple(row)
        if len(row) != len(schema):
            raise ValueError(f"it returned {len(row)} values for ({schema})")
        return [to_lane(plain(value), field.type, self.pool) for value, field in zip(row, schema, strict=True)]

    def encode_columns(self, answer: Any, schema: Schema, rows: int | None) -> np.ndarray:
        """Lanes from a mapping of columns."""
        columns = []
        for field in schema:
            if field.name not in answer:
                raise ValueError(f'it returned no column "{field.name}"')
            column = np.asarray(answer[field.name])
            if rows is not None and len(column) != rows:
                raise ValueError(f'it was given {rows} rows and returned {len(column)} in "{field.name}"')
            if field.type.is_integer and column.dtype.kind in "iu":
                columns.append(column.astype(np.int64))
            else:
                columns.append(lanes_of(column.tolist(), field.type, self.pool))
        return np.stack(columns) if columns else np.empty((0, rows or 0), np.int64)

    # ---- what goes wrong --------------------------------------------------------------------

    def guarded(
        self, cell: Cell, function: n.Function, shown: Callable[[], str | None], call: Callable, *arguments: Any
    ) -> Any:
        try:
            return call(*arguments)
        except EbbflowError:
            raise
        except Exception as error:
            asked = shown()
            what = f"it raised {type(error).__name__}: {error}" + (f", for {asked[:SHOWN]}" if asked else "")
            raise self.failed(cell, function, what) from error

    def failed(self, cell: Cell, function: n.Function, what: str) -> FunctionFailed:
        graph = self.plan.graph
        return FunctionFailed(
            f"The function {function.name} could not be used: {what}.", at=graph.places[cell.node], hint=STAYS
        )


def plain(value: object) -> object:
    """A Python value for a numpy scalar."""
    return value.item() if isinstance(value, np.generic) else value
