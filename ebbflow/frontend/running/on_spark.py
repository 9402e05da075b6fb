"""Spark's DataFrames in and out of a session.

A frame is evaluated when it is given, once: its rows are checked and encoded where they lie.  A few come back and are
taken in like any others; many stay in files beside the state until a step takes them in.

Rule: a frame that is refused has left nothing behind, and a delivery is one action on all its frames together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ebbflow.columns.schema import Schema
from ebbflow.dataflow.plan_json import schema_json
from ebbflow.errors import DeliveryRefused, TypeMismatch, UnknownColumn, WrongDiff, WrongTime, did_you_mean
from ebbflow.frontend.running.input_buffer import InputBuffer, as_time, listed, whole
from ebbflow.frontend.running.output_log import END, Antichain, Changes
from ebbflow.frontend.running.table import Table, plain
from ebbflow.runtime.contract import Staging

Session = Any  # the session, which is above: what is used of it are its inputs, its runtime and its step
ORDER = "_order"  # what puts edits of one key at one time in order


def is_frame(rows: object) -> bool:
    """Whether this is a DataFrame of Spark's."""
    return type(rows).__module__.startswith("pyspark.sql") and hasattr(rows, "mapInArrow")


def give(session: Session, given: InputBuffer, verb: str, frame: Any, time: Any, diff: Any) -> None:
    """Take in the rows of a frame, all at one time or each at its own."""
    told, columns = _told(given, verb, frame, time, diff)
    runtime: Staging = session._runtime.staging
    frame = _in_types(_only(frame, columns), given.schema)
    _take_in(session, runtime.stage([(told, frame)], [given.name] if given.key else []))


def _told(given: InputBuffer, verb: str, frame: Any, time: Any, diff: Any) -> tuple[dict[str, Any], list[str]]:
    """What is told to whoever packs the frame, and the columns that it needs."""
    known, width = list(frame.columns), len(given.coordinates)
    parts = time if isinstance(time, (tuple, list)) else [time] * (1 if time is not None else width)
    if len(parts) != width:
        as_time(verb, time, given.coordinates)
    times = [_column(verb, "time", part, known, WrongTime) if part is not None else None for part in parts]
    counted = _column(verb, "diff", diff, known, WrongDiff)
    order = ORDER if ORDER in known and ORDER not in given.schema else 0
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


def _only(frame: Any, columns: list[str]) -> Any:
    """A frame with these columns, which it has; one that has them as they are is left alone, which saves a plan."""
    return frame if len(frame.columns) == len(columns) else frame.select(*(f"`{name}`" for name in columns))


def _in_types(frame: Any, schema: Schema) -> Any:
    """A frame whose timestamps with and without a zone are those of the input; Spark converts by its session's zone."""
    for field in schema:
        if field.type.is_timestamp:
            found = frame.schema[field.name].dataType.simpleString()
            if found in ("timestamp", "timestamp_ntz") and found != field.type.name:
                target = "timestamp_ltz" if field.type.name == "timestamp" else "timestamp_ntz"
                frame = frame.withColumn(field.name, frame[f"`{field.name}`"].cast(target))
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


def _take_in(session: Session, staged: Any) -> None:
    runtime: Staging = session._runtime.staging
    for name, blocks in staged.rows.items():
        given = session._inputs[name]
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
            hint=f'Give the frame a column "{ORDER}" of whole numbers, or keep one row of each key.',
        )
    return lanes[:, at], times[at], diffs[at]


# ---- deliveries ------------------------------------------------------------------------------------------


def deliver(
    session: Session,
    frames: Mapping[str, Any],
    query_id: str,
    batch_id: int,
    frontiers: Any,
    most: int | None = None,
) -> Any:
    """Take in a micro-batch, whole and once, and make it last; `ebbflow.runtime.spark.delivery` has the rules.

    most: that its frames have no more rows than this, if someone has counted.
    """
    from ebbflow.runtime.spark.delivery import Delivery, judge

    runtime: Staging | None = session._runtime.staging
    if runtime is None:
        raise TypeMismatch("deliver belongs to a program that runs on Spark.", hint="flow.run(spark, checkpoint=...)")
    theirs = [given for name, given in session._inputs.items() if name not in session._constants]
    if runtime.since_step or not all(given.is_empty for given in theirs):
        raise DeliveryRefused(
            f"batch {batch_id} comes while other rows wait that were given since the last step.",
            hint="A delivery is a step of its own: commit() or discard() what was given before it.",
        )
    width = len(session._coordinates)
    names = ["_time"] if width == 1 else [f"_time{i}" for i in range(width)]
    told = []
    for name, frame in frames.items():
        given = session._given("deliver", name)
        diff = "_diff" if "_diff" in frame.columns else 1
        facts, columns = _told(given, "deliver", frame, names if names[0] in frame.columns else None, diff)
        told.append((facts, _in_types(_only(frame, columns), given.schema)))
    repeats = runtime.delivery is not None and (query_id, batch_id) == (
        runtime.delivery["query"],
        runtime.delivery["batch"],
    )
    if not repeats:
        judge(runtime.delivery, query_id, batch_id, 0, "")  # before any work is done
    else:
        for facts, _ in told:
            facts["late"] = [[-END] * width]  # it was on time when it came first
    keyed = [name for name in frames if session._inputs[name].key]
    staged = runtime.stage(told, keyed, most) if told else None
    count, hash_ = (staged.count, staged.hash) if staged is not None else (0, "0" * 32)
    if judge(runtime.delivery, query_id, batch_id, count, hash_):
        return Delivery(query_id, batch_id, count, hash_, runtime.step, True)
    if staged is not None:
        _take_in(session, staged)
    before, state = runtime.delivery, runtime.state
    runtime.delivery = {"query": query_id, "batch": batch_id, "rows": count, "hash": hash_}
    try:
        session._work(_targets(session, staged, frontiers))
    except BaseException:
        if runtime.state is state:  # an interruption may come when the step counts already
            runtime.delivery = before
            session._drop_given()  # rows of earlier deliveries, which count, go on waiting
        raise
    return Delivery(query_id, batch_id, count, hash_, runtime.step, False)


def _targets(session: Session, staged: Any, frontiers: Any) -> dict[str, Antichain]:
    """How far the inputs go with a delivery: where they are told to, or past its last time."""
    if frontiers is not None:
        return {name: session._as_frontier(list(value)) for name, value in frontiers.items()}
    last = [given.open_time("deliver") for given in session._inputs.values() if given.frontier]
    if staged is not None:
        last += [tuple(times.max(axis=0).tolist()) for blocks in staged.rows.values() for (_, times, _), _ in blocks]
        last += [tuple(ref["most"]) for refs in staged.files.values() for ref in refs]
    top = tuple(map(max, *last)) if len(last) > 1 else last[0]
    target: Antichain = ((*top[:-1], min(top[-1] + 1, END)),)
    return {name: target for name, given in session._inputs.items() if given.frontier}


def as_frame(session: Session, table: Table) -> Any:
    """A table as a DataFrame."""
    runtime: Staging | None = session._runtime.staging
    if runtime is None:
        raise TypeMismatch(
            "as_spark=True gives a DataFrame, and this program does not run on Spark.",
            hint="flow.run(spark) does; a Table gives .to_arrow(), .to_pandas() and .to_polars() anywhere.",
        )
    from ebbflow.runtime.spark.session import frame_of

    return frame_of(runtime.spark, table.to_arrow())
