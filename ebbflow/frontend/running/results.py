"""What the outputs of a session have to show.

The runtime keeps what became complete until somebody asks; then it goes to the output's log, from which changes and
snapshots are read. An output that is declared while the program runs begins with its past, summed up.

Rule: changes are gone from the log only when the table that holds them is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ebbflow import interrupts
from ebbflow.columns.schema import Schema
from ebbflow.dataflow import nodes as n
from ebbflow.errors import ChangesNotKept, HistoryGone, NotComplete, SessionClosed, UnknownOutput, did_you_mean
from ebbflow.frontend.plain import plain
from ebbflow.frontend.running import on_spark
from ebbflow.frontend.running.notation import as_time, listed, told
from ebbflow.frontend.running.output_log import Antichain, Array, Changes, OutputLog, corners, joined, nothing
from ebbflow.frontend.running.standing import Standing
from ebbflow.frontend.running.table import Table
from ebbflow.frontend.running.tables import Tables
from ebbflow.times import lattice
from ebbflow.times.frontier import Time, before


def output_named(here: Standing, verb: str, name: str) -> OutputLog:
    shown = here.outputs.get(name) if isinstance(name, str) else None
    if shown is None and here.declared(name) is not None:
        add_output(here, name)
        shown = here.outputs[name]
    if shown is None:
        if isinstance(name, str) and name in here.inputs:
            hint: str | None = f'"{plain(name)}" is an input; flow.output("{plain(name)}", ...) would show it.'
        else:
            hint = did_you_mean(name, list(here.outputs)) or "Outputs are declared with flow.output(name, collection)."
        raise UnknownOutput(
            f'{verb} looks for the output "{plain(name)}"; this flow has: {listed(list(here.outputs))}.', hint=hint
        )
    return shown


def show(here: Standing, node: n.Output, since: Antichain, frontier: Antichain) -> None:
    schema = here.graph.schemas[node.source]
    shown = here.outputs[node.name] = OutputLog(node.name, schema, node.changes, since, frontier)
    shown.fill = partial(_watch, here)


def pull(here: Standing, shown: OutputLog) -> Changes | None:
    """What became complete since the runtime was last asked."""
    if here.is_closed or here.is_pulled or shown.pulled_at == here.steps:
        return None
    with interrupts.held():  # what the runtime has given, and no output has yet, would be lost
        taken, shown.pulled_at = here.runtime.take(shown.name), here.steps
        if not len(taken[2]):
            return None
        new = Changes(*taken)
        shown.add(new)
    return new


def as_table(here: Standing, shown: OutputLog, changes: Changes) -> Table:
    words = changes.words
    if words is not None:
        return Table.of_words(shown.schema, words, here.coordinates, here.pool)
    return Table(shown.schema, changes.lanes, changes.times, changes.diffs, here.coordinates, here.pool)


def changes(here: Standing, name: str, as_spark: bool, since: Any) -> Any:
    shown = here.outputs.get(name) if type(name) is str else None
    if shown is None:
        shown = output_named(here, "changes", name)
    if not shown.keeps_changes:
        raise ChangesNotKept(
            f'the output "{plain(name)}" was declared with changes=False: its changes are not kept.',
            hint="Leave changes=False out of flow.output, use subscribe to see changes go by, or read snapshot.",
        )
    cursor = None if since is None else here.as_frontier(since, "changes")
    if not here.is_pulled:
        pull(here, shown)
    found = joined(shown.unread) if shown.unread else nothing_of(here, shown)
    table: Any = as_table(here, shown, found if cursor is None else _from(found, cursor))
    if as_spark:
        table = on_spark.as_frame(here, table)
    shown.unread = []  # a list of its own, also if nothing was read: reading is news
    return table


def read_all(here: Standing) -> dict[str, Table]:
    """The changes of every output that keeps them; nothing is gone before all of it is there."""
    kept = [shown for shown in here.outputs.values() if shown.keeps_changes]
    tables = Tables((shown.name, _unread(here, shown)) for shown in kept)
    for shown in kept:
        shown.unread = []
    return tables


def nothing_of(here: Standing, shown: OutputLog) -> Changes:
    return nothing(shown.schema.width, len(here.coordinates))


def snapshot(here: Standing, name: str, at: Any, as_spark: bool) -> Any:
    shown = output_named(here, "snapshot", name)
    time = last_time(here, shown) if at is None else readable(here, "snapshot", shown, at)
    pull(here, shown)
    if time is None:
        lanes, _, counts = nothing_of(here, shown)
    else:
        lanes, counts = shown.at(time)
    table = Table(shown.schema, lanes, None, counts, here.coordinates, here.pool)
    return on_spark.as_frame(here, table) if as_spark else table


def last_time(here: Standing, shown: OutputLog) -> Time | None:
    kept = shown.last_time(len(here.coordinates))
    if kept is None and corners(shown.frontier, len(here.coordinates)):
        raise NotComplete(
            f'snapshot asks for "{plain(shown.name)}", which was declared while the program ran: its past is '
            f"summed up at {told(shown.since)}, and its frontier is {told(shown.frontier)}.",
            hint="Call advance_to for the inputs that are behind.",
        )
    return kept


def readable(here: Standing, verb: str, shown: OutputLog, at: Any) -> Time:
    time = as_time(verb, at, here.coordinates)
    if any(before(element, time) for element in shown.frontier):
        raise NotComplete(
            f'{verb} asks for "{plain(shown.name)}" at {told(time)}, which is not complete: its frontier is '
            f"{told(shown.frontier)}.",
            hint="Call advance_to with a later time first, or leave at= out for the last complete time.",
        )
    if not shown.is_kept(time):
        began = ", where the last advance began" if here.history is None else ""
        raise HistoryGone(
            f'{verb} asks for "{plain(shown.name)}" at {told(time)}, which is no longer kept: '
            f"it reaches back to {told(shown.since)}{began}.",
            hint='To look further back, start with run(history="all"), or run(history=1000), so many time units.',
        )
    return time


def frontier(here: Standing, name: str) -> list[Time]:
    if isinstance(name, str) and name in here.inputs and name not in here.outputs:
        return list(here.inputs[name].frontier)
    return list(output_named(here, "frontier", name).frontier)


def add_output(here: Standing, name: str) -> None:
    if name in here.outputs:
        return
    node = here.declared(name)
    if node is None:
        output_named(here, "add_output", name)
    assert node is not None, "an unknown output is refused above"
    if here.is_closed:
        raise SessionClosed(
            f'the output "{plain(name)}" was declared after the session was closed, which computes nothing more.',
            hint="Declare it before, or start another session with flow.run().",
        )
    late = here.runtime.late_outputs
    if late is None:
        raise UnknownOutput(
            f'the output "{plain(name)}" was declared after the session began, and this runtime shows only those '
            "it was started with.",
            hint="Declare it before flow.run().",
        )
    here.begin_to_show()
    since = late.add_output(name, {shown.name: partial(_past, here, shown) for shown in here.outputs.values()})
    frontier = tuple(tuple(max(number, 0) for number in time) for time in here.runtime.frontier(name))
    show(here, node, since or frontier, frontier)


def _past(here: Standing, shown: OutputLog) -> tuple[Antichain, Changes]:
    """All that an output has shown, and from where on its times can be told apart."""
    pull(here, shown)
    return shown.since, shown.all() or nothing_of(here, shown)


def refuse_overflow(here: Standing, results: Mapping[str, Sequence[tuple[Array, Array, Array]]]) -> None:
    """Refuse results of a step that does not count yet, if a row of an output would be there too often."""
    for name, blocks in results.items():
        shown = here.outputs.get(name)
        if shown is None:  # one that is being added
            node = here.declared(name)
            if node is None:
                continue
            shown = OutputLog(name, here.graph.schemas[node.source], False, (), ())
        else:
            pull(here, shown)  # what earlier steps have shown;
            shown.pulled_at = -1  # this one has more to show when it counts
        shown.refuse_overflow([Changes(*block) for block in blocks], partial(_row_told, here, shown.schema))


def _row_told(here: Standing, schema: Schema, lanes: Array) -> str:
    """A row as people read it."""
    from ebbflow.columns.value_words import row_of

    values = row_of(lanes.tolist(), schema, here.pool)
    return ", ".join(f"{name}={value!r:.60}" for name, value in zip(schema.names, values)) or "()"


def _unread(here: Standing, shown: OutputLog) -> Table:
    if not here.is_pulled:
        pull(here, shown)
    return as_table(here, shown, joined(shown.unread) if shown.unread else nothing_of(here, shown))


def _watch(here: Standing) -> None:
    """From here on the runtime asks of every step."""
    here.runtime.watches = True


def _from(changes: Changes, cursor: Antichain) -> Changes:
    """The changes that are not before the cursor."""
    kept = lattice.reached(changes.times, np.array(cursor, np.int64))
    return Changes(np.ascontiguousarray(changes.lanes[:, kept]), changes.times[kept], changes.diffs[kept])
