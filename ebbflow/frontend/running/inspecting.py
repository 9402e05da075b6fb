"""Inspecting: a user's function receives the changes that pass a node, as a Table.

The runtime hands over words; they become a Table here, with each row once per time.

Rule: inspecting changes no result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ebbflow.columns.schema import Schema
from ebbflow.dataflow.nodes import Function


def inspector(function: Function, schema: Schema, coordinates: tuple[str, ...]) -> Function:
    """The function as the runtime calls it: fn(lanes, times, diffs, pool)."""
    fn: Callable[..., object] = function.fn

    def show(lanes: Any, times: Any, diffs: Any, pool: Any) -> None:
        import numpy as np  # nobody looks before a program runs

        from ebbflow.frontend.running.output_log import consolidated
        from ebbflow.frontend.running.table import Table

        width = schema.width
        rows, sums = consolidated(np.concatenate([lanes, times.T]), diffs)
        if len(sums):
            fn(Table(schema, rows[:width], np.ascontiguousarray(rows[width:].T), sums, coordinates, pool))

    return Function(show, function.identity, function.name)
