"""The runtimes that are asked, and how to ask them.

Rule: every claim about meaning is put to every runtime in `RUNTIMES`; a new runtime is one line here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module

import numpy as np

from ebbflow.columns.text_pool import Pool
from ebbflow.dataflow.graph import Graph
from ebbflow.runtime.oracle.histories import Time, complete, lower_envelope
from ebbflow.runtime.oracle.meaning import Meaning
from ebbflow.runtime.oracle.moment import Histories
from ebbflow.runtime.oracle.values import Values, words_of_record
from tests.meaning.histories import Change, Step

Changes = dict[tuple[tuple[int, ...], Time], int]  # (record, time) -> diff


def local(graph: Graph, pool: Pool, workers: int, **options):
    return import_module("ebbflow.runtime.local").LocalRuntime(graph, workers=workers, pool=pool, **options)


def durable(graph: Graph, pool: Pool, **options):
    return import_module("tests.meaning.restarting").Restarting(graph, pool, **options)


def starved(graph: Graph, pool: Pool, **options):
    return import_module("tests.meaning.starving").Starved(graph, pool, **options)


def oracle(graph: Graph, pool: Pool):
    return import_module("ebbflow.runtime.oracle.runtime").OracleRuntime(graph, pool=pool)


def tasks(graph: Graph, pool: Pool, **options):
    """On Spark's runtime, its tasks in this process, each run twice with all that has no order in another one."""
    return import_module("tests.meaning.sparks").twice(graph, pool, **options)


def spark(graph: Graph, pool: Pool, **options):
    """On Spark itself, in the session that all tests of a process share."""
    return import_module("tests.meaning.sparks").real(graph, pool, **options)


RUNTIMES: dict[str, Callable] = {
    "oracle": oracle,
    "local-1": partial(local, workers=1),
    "local-2": partial(local, workers=2, few_rows=0),  # in threads
    "local-3": partial(local, workers=3, few_rows=10**9, turn_fuel=100),  # in turns, and in threads from the middle on
    "local-1-sliced": partial(local, workers=1, slice_times=2, forget_times=4),  # cut again inside, and forgetful
    "local-2-sliced": partial(local, workers=2, slice_times=3, forget_times=4, few_rows=0),
    "local-sealed": partial(local, workers=1, seal_rows=3, keep_records=1, effort=2, near_slots=0),  # all is far away
    "local-bulky": partial(local, workers=1, seal_rows=0, keep_records=0, effort=2, near_slots=0),  # and all is much
    "local-durable": durable,  # opened again between steps
    "local-durable-2": partial(durable, workers=2, slice_times=3, forget_times=4, seal_rows=3, keep_records=1),
    "local-indexed": partial(local, workers=1, index_rows=1, index_entries=1),  # windows by their index
    "local-indexed-sliced": partial(
        local, workers=2, index_rows=2, index_entries=2, slice_times=2, seal_rows=3, keep_records=1, effort=2
    ),
    "local-indexed-durable": partial(durable, index_rows=1, index_entries=1),
    "local-indexed-starved": partial(starved, workers=1, index_rows=1, index_entries=1),
    "local-sealed-sliced": partial(
        local, workers=2, slice_times=2, seal_rows=1, keep_records=0, effort=20, near_slots=0
    ),
}
# memory runs out in the middle of every step, until it is enough
RUNTIMES |= {f"starved-{workers}": partial(starved, workers=workers, few_rows=0) for workers in (1, 2, 3, 4)}
RUNTIMES |= {
    f"starved-{workers}-sealed": partial(
        starved, workers=workers, slice_times=2, seal_rows=1, keep_records=0, effort=20, few_rows=99, turn_fuel=60
    )
    for workers in (1, 2, 3, 4)
}
RUNTIMES |= {
    "tasks-narrow": partial(tasks, shards=3),
    "tasks-indexed": partial(tasks, shards=3, index_rows=1, index_entries=1),
    "tasks-wide": partial(tasks, shards=5, wide_rows=1, narrow_words=-1, width=3),
    "tasks": partial(tasks, shards=4, wide_rows=1, narrow_words=60, width=2),  # wide, and narrow in the middle of it
    "spark": partial(spark, shards=3, wide_rows=12, narrow_words=40, width=2),
}
ON_SPARK = ["tasks", *(["spark"] if os.environ.get("EBBFLOW_SPARK_ALL") else [])]  # asked by claims, a few histories
FEW_HISTORIES = [*ON_SPARK, "local-durable", "local-indexed-durable", "tasks-indexed"]
ASKED = ["local-1", "local-2", "local-3", "local-durable"]  # by every claim; the others are asked in bulk


class Disagreement(AssertionError):
    """A runtime and the oracle do not say the same."""


def histories(graph: Graph, changes: Iterable[Change], values: Values) -> dict[str, list]:
    """Changes of Python values as (record, time, diff), by input; records as the oracle has them."""
    types = {node.name: node.schema.types for node in graph.nodes if type(node).__name__ == "Input"}
    found: dict[str, list] = {name: [] for name in types}
    for name, row, time, diff in changes:
        found[name].append((tuple(map(values.encode, types[name], row)), time, diff))
    return found


def encoded(graph: Graph, changes: Iterable[Change], values: Values) -> dict[str, list]:
    """The same, with the words of lanes as records."""
    schemas = {node.name: node.schema for node in graph.nodes if type(node).__name__ == "Input"}
    return {
        name: [(words_of_record(record, schemas[name]), time, diff) for record, time, diff in rows]
        for name, rows in histories(graph, changes, values).items()
    }


def arrays(rows: list, width: int, coordinates: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    lanes = np.array([record for record, _, _ in rows], np.int64).reshape(len(rows), width).T
    times = np.array([time for _, time, _ in rows], np.int64).reshape(len(rows), coordinates)
    return np.ascontiguousarray(lanes), times, np.array([diff for _, _, diff in rows], np.int64)


def taken(runtime, output: str) -> Changes:
    """What a runtime says has changed; it must say each thing once, and nothing that is nothing."""
    lanes, times, diffs = runtime.take(output)
    records, moments = map(tuple, np.asarray(lanes).T.tolist()), map(tuple, np.asarray(times).tolist())
    listed = list(zip(records, moments, np.asarray(diffs).tolist(), strict=True))
    found = {(record, time): diff for record, time, diff in listed}
    if len(found) != len(listed) or 0 in found.values():
        raise Disagreement(f"the changes of {output} are not consolidated: {sorted(listed, key=lambda c: c[1])}")
    return found


def expected(graph: Graph, steps: list[Step], pool: Pool) -> dict[str, Changes]:
    """The oracle's changes of every output, at all times."""
    meaning = Meaning(graph, pool)
    history = histories(graph, (change for step in steps for change in step.changes), meaning.values)
    asked = Histories(meaning, history)
    outputs = {node.name: i for i, node in enumerate(graph.nodes) if type(node).__name__ == "Output"}
    found = {
        name: {(words_of_record(record, graph.schemas[i]), time): diff for record, time, diff in asked.changes(i)}
        for name, i in outputs.items()
    }
    found["largest weight"] = max((m.largest() for m in asked.moments.values()), default=0)
    return found


def judge(make: Callable, graph: Graph, steps: list[Step], pool: Pool | None = None, right: dict | None = None) -> None:
    """Replay a history on a runtime, and compare what it shows with the oracle, at every time and after every step."""
    pool = pool or Pool()
    right = right if right is not None else expected(graph, steps, pool)
    reads = frontier_sources(graph)
    values = Values(pool)
    runtime = make(graph, pool)
    try:
        outputs = list(reads)
        shown: dict[str, Changes] = {name: {} for name in outputs}
        coordinates = len(graph.coordinates)
        for number, step in enumerate(steps):
            for name, rows in encoded(graph, step.changes, values).items():
                if rows:
                    runtime.feed(name, *arrays(rows, len(rows[0][0]), coordinates))
            frontiers = dict(step.frontiers)
            runtime.advance(frontiers)
            for name in outputs:
                frontier = lower_envelope(frontiers[i] for i in reads[name])
                compare_frontier(runtime.frontier(name), frontier, name, number)
                if step.takes or number == len(steps) - 1:
                    for key, diff in taken(runtime, name).items():
                        if key in shown[name]:
                            raise Disagreement(f"step {number}: {name} says {key} twice")
                        shown[name][key] = diff
                    compare(
                        shown[name], {k: d for k, d in right[name].items() if complete(k[1], frontier)}, name, number
                    )
    finally:
        runtime.close()


def frontier_sources(graph: Graph) -> dict[str, list[str]]:
    """The inputs that each output is computed from."""
    meaning = Meaning(graph)
    outputs = ((i, node) for i, node in enumerate(graph.nodes) if type(node).__name__ == "Output")
    return {node.name: sorted(meaning.inputs(i)) for i, node in outputs}


def compare(shown: Changes, right: Changes, output: str, step: int) -> None:
    if shown != right:
        lines = []
        for key in sorted(shown.keys() | right.keys(), key=lambda k: (k[1], k[0])):
            if shown.get(key, 0) != right.get(key, 0):
                lines.append(f"  at {key[1]}: {key[0]} is {shown.get(key, 0):+}, should be {right.get(key, 0):+}")
        raise Disagreement(f"step {step}, output {output}:\n" + "\n".join(lines[:12]))


def compare_frontier(shown, right: tuple[Time, ...], output: str, step: int) -> None:
    """An output waits for the inputs it is computed from, and for no others."""
    if tuple(sorted(map(tuple, shown))) != right:
        raise Disagreement(f"step {step}: the frontier of {output} is {shown}, should be {right}")
