"""Looking: a person's function is shown what passes, as a Table.

The runtime knows words; what it hands over becomes a Table only here, each row once for each of its times.

Rule: whoever looks changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ebbflow.columns.schema import Schema
from ebbflow.dataflow.nodes import Function


def shown_to(function: Function, schema: Schema, coordinates: tuple[str, ...]) -> Function:
    """The function as the runtime calls it: fn(lanes, times, diffs, pool)."""
    fn: Callable[..., object] = function.fn

    def show(lanes: Any, times: Any, diffs: Any, pool: Any) -> None:
        import numpy as np  # nobody looks before a program runs

        from ebbflow.frontend.shown import consolidated
        from ebbflow.frontend.table import Table

        width = len(schema)
        rows, sums = consolidated(np.concatenate([lanes, times.T]), diffs)
        if len(sums):
            fn(Table(schema, rows[:width], np.ascontiguousarray(rows[width:].T), sums, coordinates, pool))

    return Function(show, function.identity, function.name)
