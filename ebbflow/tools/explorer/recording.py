"""The inputs of a session, as they were given: what a page of the explorer begins with.

A session runs as always, on a runtime that also notes what it is fed.  A step that is refused leaves no note.

Rule: a recording keeps a bounded number of changes for each input, and counts those it did not keep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebbflow.columns.lanes import decode
from ebbflow.columns.zones import checked
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.zoned import zoned
from ebbflow.errors import PlanError, TypeMismatch
from ebbflow.frontend.session import Session
from ebbflow.runtime.local import LocalRuntime

Array = NDArray[np.int64]
Time = tuple[int, ...]
Change = tuple[tuple[Any, ...], Time, int]  # row, time, diff
KEPT = 5_000  # changes of one input


@dataclass
class Recording:
    """What the inputs of one graph were given, and how far they had advanced; () is closed."""

    graph: Graph
    changes: dict[str, list[Change]] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)
    frontiers: dict[str, tuple[Time, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        least = ((0,) * len(self.graph.coordinates),)
        for node in self.graph.nodes:
            if isinstance(node, n.Input):
                self.changes.setdefault(node.name, [])
                self.dropped.setdefault(node.name, 0)
                self.frontiers.setdefault(node.name, least)

    def runtime(self, graph: Graph, **options: Any) -> Recorder:
        return Recorder(graph, self, **options)


class Recorder(LocalRuntime):
    """The engine, with what it is fed noted once the step is done."""

    advance_moment = None  # type: ignore[assignment]  # every change goes by feed

    def __init__(self, graph: Graph, recording: Recording, **options: Any):
        super().__init__(graph, **options)
        self.recording, self.texts = recording, options.get("pool")
        self.schemas = {node.name: node.schema for node in graph.nodes if isinstance(node, n.Input)}
        self.fed: list[tuple[str, Array, Array, Array]] = []

    def feed(self, name: str, lanes: Array, times: Array, diffs: Array) -> None:
        super().feed(name, lanes, times, diffs)
        self.fed.append((name, np.array(lanes), np.array(times), np.array(diffs)))

    def discard(self) -> None:
        super().discard()
        self.fed.clear()

    def advance(self, frontiers: dict[str, tuple[Time, ...]]) -> None:
        super().advance(frontiers)
        self.recording.frontiers.update(frontiers)
        for name, lanes, times, diffs in self.fed:
            self._note(name, lanes, times.reshape(len(diffs), -1), diffs)
        self.fed.clear()

    def _note(self, name: str, lanes: Array, times: Array, diffs: Array) -> None:
        kept = self.recording.changes[name]
        room = max(0, KEPT - len(kept))
        self.recording.dropped[name] += max(0, len(diffs) - room)
        columns = decode(np.ascontiguousarray(lanes[:, :room]), self.schemas[name], self.texts).columns
        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        kept.extend(zip(rows, map(tuple, times[:room].tolist()), diffs[:room].tolist(), strict=False))


def recorded(flow: Any, story: Callable[[Session], object] | None, inputs: Mapping[str, Any]) -> Recording:
    """What a story, or rows at the first time, give to the inputs of a program."""
    if story is not None and not callable(story):
        raise TypeMismatch(
            f"explore takes a function of a session, which feeds it; got {type(story).__name__}.",
            hint='For example explore("page.html", lambda live: live.insert("edges", [(1, 2)])).',
        )
    recording = Recording(flow.graph)
    if story is None and not inputs:
        recording.frontiers = dict.fromkeys(recording.frontiers, ())
        return recording
    with Session(flow, runtime=recording.runtime) as live:
        for name, rows in inputs.items():
            live._given("explore", name).edit("compute", rows, None, 1)
        if story is not None:
            story(live)
            reached = dict(recording.frontiers)
    if story is not None:  # leaving the session closes it; the story had come this far
        recording.frontiers = reached
    return recording


@contextmanager
def recording_sessions() -> Iterator[list[Recording]]:
    """While the block runs, every session that keeps its state in this process, and no checkpoint, is recorded."""
    found: list[Recording] = []
    begin = Session.__init__

    def recording_too(self: Session, flow: Any, *args: Any, **options: Any) -> None:
        if options.get("runtime") is None and options.get("checkpoint") is None and len(args) < 2:
            recording = Recording(flow.graph)
            found.append(recording)
            options["runtime"] = recording.runtime
        begin(self, flow, *args, **options)

    Session.__init__ = recording_too  # type: ignore[method-assign]
    try:
        yield found
    finally:
        Session.__init__ = begin  # type: ignore[method-assign]


def refuse_what_needs_python(graph: Graph) -> None:
    """A page has the plan, no Python and no tables of time zones."""
    _refuse_own_functions(graph)
    _refuse_zone(graph)


def _refuse_zone(graph: Graph) -> None:
    """A program may state a zone as long as nothing in it reads that zone's clocks."""
    zone = None if graph.timezone is None else checked(graph.timezone)
    for node, moved, place in zip(graph.nodes, zoned(graph, zone).nodes, graph.places, strict=True):
        if node != moved:
            raise PlanError(
                f"the program reads the clocks of the time zone {zone}, and the explorer's page knows UTC only.",
                at=place,
                hint="Explore the part of the program that does without, or the program in UTC.",
            )


def _refuse_own_functions(graph: Graph) -> None:
    for node in graph.nodes:
        match node:
            case n.Linear(_, n.Apply(function)) | n.Reduce(_, _, n.Own(function)):
                pass
            case n.Reduce(_, _, n.Threshold(n.Function() as function)):
                pass
            case _:
                continue
        raise PlanError(
            f"the program calls the function {function.name}, and the explorer's page has no Python to run it.",
            hint="Write it with expressions and aggregates, or explore the part of the program that does without.",
        )
