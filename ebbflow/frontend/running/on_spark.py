"""Spark's DataFrames in and out of a session.

A frame is evaluated when it is given, once: its rows are checked and encoded where they lie.  A few come back and are
taken in like any others; many stay in files beside the state until a step takes them in.

Rule: a frame that is refused has left nothing behind, and a delivery is one action on all its frames together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ebbflow.columns.schema import Schema, in_backticks
from ebbflow.dataflow.plan_json import schema_json
from ebbflow.errors import TypeMismatch, UnknownColumn, WrongDiff, WrongTime, did_you_mean
from ebbflow.frontend.plain import plain
from ebbflow.frontend.running.input_buffer import InputBuffer
from ebbflow.frontend.running.notation import as_time, listed, whole
from ebbflow.frontend.running.output_log import Changes
from ebbflow.frontend.running.standing import Standing
from ebbflow.frontend.running.table import Table
from ebbflow.runtime.contract import Staging
from ebbflow.runtime.spark.session import frame_of

ORDER_COLUMN = "_order"  # what puts edits of one key at one time in order


def is_frame(rows: object) -> bool:
    """Whether this is a DataFrame of Spark's."""
    return type(rows).__module__.startswith("pyspark.sql") and hasattr(rows, "mapInArrow")


def give(here: Standing, given: InputBuffer, verb: str, frame: Any, time: Any, diff: Any) -> None:
    """Take in the rows of a frame, all at one time or each at its own."""
    told, columns = told_of(given, verb, frame, time, diff)
    runtime = _staging(here)
    frame = in_types(only(frame, columns), given.schema)
    take_in(here, runtime.stage([(told, frame)], [given.name] if given.key else []))


def _staging(here: Standing) -> Staging:
    assert here.runtime.staging is not None, "frames are given only to a runtime that reads them"
    return here.runtime.staging


def told_of(given: InputBuffer, verb: str, frame: Any, time: Any, diff: Any) -> tuple[dict[str, Any], list[str]]:
    """What is told to whoever packs the frame, and the columns that it needs."""
    known, width = list(frame.columns), len(given.coordinates)
    parts = time if isinstance(time, (tuple, list)) else [time] * (1 if time is not None else width)
    if len(parts) != width:
        as_time(verb, time, given.coordinates)
    times = [_column(verb, "time", part, known, WrongTime) if part is not None else None for part in parts]
    counted = _column(verb, "diff", diff, known, WrongDiff)
    order = ORDER_COLUMN if ORDER_COLUMN in known and ORDER_COLUMN not in given.schema else 0
    used = [name for name in (*times, counted, order) if isinstance(name, str)]
    missing = [name for name in given.schema.names if name not in known]
    if missing:
        raise UnknownColumn(
            f'{verb} looks for the column "{plain(missing[0])}" of the input "{plain(given.name)}" in the frame, which '
            f"has: {listed(known)}.",
            hint=did_you_mean(missing[0], known) or f"The input has: {given.schema}.",
        )
    more = [name for name in known if name not in given.schema and name not in used]
    if more:
        raise UnknownColumn(
            f'{verb} finds the column "{plain(more[0])}" in the frame, which the input "{plain(given.name)}" does not '
            f"have: {listed(given.schema.names)}.",
            hint=did_you_mean(more[0], list(given.schema.names)) or "Leave it out, or name it as time= or diff=.",
        )
    told = {
        "verb": verb,
        "input": given.name,
        "schema": schema_json(given.schema),
        "key": given.key_lanes,
        "times": times,
        "diff": counted,
        "order": order,
        "late": [list(element) for element in given.frontier],
        "open": list(given.open_time(verb) if None in times or len(given.frontier) == 1 else given.frontier[0]),
    }
    return told, list(dict.fromkeys([*given.schema.names, *used]))


def only(frame: Any, columns: list[str]) -> Any:
    """A frame with these columns, which it has; one that has them as they are is left alone, which saves a plan."""
    return frame if len(frame.columns) == len(columns) else frame.select(*(in_backticks(name) for name in columns))


def in_types(frame: Any, schema: Schema) -> Any:
    """A frame whose timestamps with and without a zone are those of the input; Spark converts by its session's zone."""
    for field in schema:
        if field.type.is_timestamp:
            found = frame.schema[field.name].dataType.simpleString()
            if found in ("timestamp", "timestamp_ntz") and found != field.type.name:
                target = "timestamp_ltz" if field.type.name == "timestamp" else "timestamp_ntz"
                frame = frame.withColumn(field.name, frame[in_backticks(field.name)].cast(target))
    return frame


def _column(verb: str, what: str, part: Any, known: list[str], kind: Any) -> str | int:
    """A part of time= or diff=: the name of a column, or a number for every row."""
    if isinstance(part, str):
        if part not in known:
            raise UnknownColumn(
                f'{verb} looks for the column "{plain(part)}" ({what}=) in the frame, which has: {listed(known)}.',
                hint=did_you_mean(part, known) or f"{what}= takes the name of a column, or a number.",
            )
        return part
    number = whole(part)
    if number is None:
        raise kind(
            f"{verb} takes as {what} of a frame's rows a whole number or the name of a column, not {plain(part)}.",
            hint=f'{what}=1, or {what}="name".',
        )
    return number


def take_in(here: Standing, staged: Any) -> None:
    runtime = _staging(here)
    for name, blocks in staged.rows.items():
        given = here.inputs[name]
        lanes = np.concatenate([rows[0] for rows, _ in blocks], axis=1)
        times, diffs = (np.concatenate([rows[i] for rows, _ in blocks]) for i in (1, 2))
        if given.key:  # edits of a key may come from several tasks
            lanes, times, diffs = _in_turn(given, lanes, times, diffs, np.concatenate([order for _, order in blocks]))
        kept = np.flatnonzero(diffs)
        given.take(Changes(np.ascontiguousarray(lanes[:, kept]), times[kept], diffs[kept]))
    for name, refs in staged.files.items():
        runtime.feed_staged(name, refs)


def _in_turn(given: InputBuffer, lanes: Any, times: Any, diffs: Any, order: Any) -> tuple[Any, Any, Any]:
    """Edits of keys in the order in which they count."""
    keys = lanes[given.key_lanes]
    at = np.lexsort([order, times[:, 0], *keys[::-1]])
    same = (keys[:, at[1:]] == keys[:, at[:-1]]).all(axis=0) & (times[at[1:], 0] == times[at[:-1], 0])
    again = same & (order[at[1:]] == order[at[:-1]]) & (lanes[:, at[1:]] != lanes[:, at[:-1]]).any(axis=0)
    if again.any():
        raise WrongTime(
            f'two rows of a frame give one key of "{plain(given.name)}" at one time, and nothing says which is later.',
            hint=f'Give the frame a column "{ORDER_COLUMN}" of whole numbers, or keep one row of each key.',
        )
    return lanes[:, at], times[at], diffs[at]


def as_frame(here: Standing, table: Table) -> Any:
    """A table as a DataFrame."""
    runtime: Staging | None = here.runtime.staging
    if runtime is None:
        raise TypeMismatch(
            "as_spark=True gives a DataFrame, and this program does not run on Spark.",
            hint="flow.run(spark) does; a Table gives .to_arrow(), .to_pandas() and .to_polars() anywhere.",
        )
    return frame_of(runtime.spark, table.to_arrow())
