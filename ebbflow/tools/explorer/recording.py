"""A session as it ran, for a page of the explorer: what its inputs were given, and what the engine told of its work.

A session runs as always, on a runtime that also notes what it is fed.  A step that is refused leaves no change behind.
Nothing is recorded unless somebody asks for it: `flow.explore`, or `flow.run(explore=True)`.

Rule: a recording keeps a bounded number of changes for each input and of events, and counts those it did not keep.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock, get_ident
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebbflow import events
from ebbflow.columns.lanes_out import decode
from ebbflow.columns.zones import checked
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.zoned import zoned
from ebbflow.errors import PlanError, TypeMismatch
from ebbflow.frontend.running.session import Session
from ebbflow.runtime.local import LocalRuntime
from ebbflow.tools.explorer.node_clock import NodeClock

Array = NDArray[np.int64]
Time = tuple[int, ...]
Change = tuple[tuple[Any, ...], Time, int]  # row, time, diff
EVENTS_KEPT = 5_000  # changes of one input
KEPT_EVENTS = 2_000
WORK = {"owed": "times owed", "replayed": "times replayed", "sealed": "words sealed"}  # counters of the engine


@dataclass(frozen=True)
class Told:
    """An event of the engine, in words; how long a step took that ended, and how many rows it touched."""

    kind: str
    text: str
    seconds: float | None = None
    rows: int = 0


@dataclass
class Recording:
    """What the inputs of one graph were given, and how far they had advanced; () is closed."""

    graph: Graph
    changes: dict[str, list[Change]] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)
    frontiers: dict[str, tuple[Time, ...]] = field(default_factory=dict)
    told: deque[Told] = field(default_factory=lambda: deque(maxlen=KEPT_EVENTS))
    spent: dict[int, float] = field(default_factory=dict)  # seconds at each node, by its number
    heard: int = 0  # events, those included that are no longer kept
    version: int = 0  # grows with every step
    has_ended: bool = False
    guard: Lock = field(default_factory=Lock)  # of whoever changes it, and of whoever reads it in another thread

    @property
    def lost(self) -> int:
        return self.heard - len(self.told)

    def copy(self) -> Recording:
        """As it is now, to be read while the session goes on."""
        with self.guard:
            changes = {name: list(each) for name, each in self.changes.items()}
            kept = Recording(
                self.graph, changes, dict(self.dropped), dict(self.frontiers), deque(self.told), dict(self.spent)
            )
            kept.heard, kept.version, kept.has_ended = self.heard, self.version, self.has_ended
            return kept

    def tell(self, kind: str, text: str, seconds: float | None = None, rows: int = 0) -> None:
        self.heard += 1
        self.told.append(Told(kind, text, seconds, rows))

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

    moments = None  # every change goes by feed

    def __init__(self, graph: Graph, recording: Recording, **options: Any):
        super().__init__(graph, **options)
        self.recording, self.texts = recording, options.get("pool")
        self.clock = NodeClock(self, graph)
        self.rounds: dict[int, int] = {}  # of each loop, the one told last
        self.schemas = {node.name: node.schema for node in graph.nodes if isinstance(node, n.Input)}
        self.fed: list[tuple[str, Array, Array, Array]] = []

    def feed(self, name: str, lanes: Array, times: Array, diffs: Array) -> None:
        super().feed(name, lanes, times, diffs)
        self.fed.append((name, np.array(lanes), np.array(times), np.array(diffs)))

    def discard(self) -> None:
        super().discard()
        self.fed.clear()

    def advance(self, frontiers: dict[str, tuple[Time, ...]]) -> None:
        here, happened = get_ident(), []

        def listen(event: events.Event) -> None:
            if get_ident() == here:  # another session may run in another thread
                happened.append(event)

        arrived = [events.Arrived(name, len(diffs)) for name, _, _, diffs in self.fed]
        before = self.counters()
        try:
            with events.listening(listen):
                super().advance(frontiers)
        except BaseException:
            self._note_step([*arrived, *happened], before)
            raise
        self._note_step([*arrived, *happened], before, frontiers)
        self.fed.clear()

    def close(self) -> None:
        super().close()
        with self.recording.guard:
            self.recording.has_ended = True
            self.recording.version += 1

    def _note_step(
        self, happened: list[events.Event], before: dict[str, int], frontiers: dict[str, tuple[Time, ...]] | None = None
    ) -> None:
        """What happened; and, of a step that counts, what it was fed and how far it came."""
        with self.recording.guard:
            for event in happened:
                self._tell(event, before)
            self.recording.spent = dict(self.clock.spent)
            if frontiers is not None:
                self.recording.frontiers.update(frontiers)
                for name, lanes, times, diffs in self.fed:
                    self._note(name, lanes, times.reshape(len(diffs), -1), diffs)
            self.recording.version += 1

    def _note(self, name: str, lanes: Array, times: Array, diffs: Array) -> None:
        kept = self.recording.changes[name]
        room = max(0, EVENTS_KEPT - len(kept))
        self.recording.dropped[name] += max(0, len(diffs) - room)
        columns = decode(np.ascontiguousarray(lanes[:, :room]), self.schemas[name], self.texts).columns
        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        kept.extend(zip(rows, map(tuple, times[:room].tolist()), diffs[:room].tolist(), strict=False))

    def _tell(self, event: events.Event, before: dict[str, int]) -> None:
        tell = self.recording.tell
        match event:
            case events.Arrived(name, rows):
                tell("arrived", f"{name}: {counted(rows, 'change')}")
            case events.StepBegan(frontiers):
                self.rounds = {}
                moved = ", ".join(f"{name} to {antichain_text(frontier)}" for name, frontier in frontiers)
                tell("step", f"a step began: {moved}")
            case events.RoundBegan(loop, number):
                if self.rounds.get(loop) != number:
                    tell("round", f"round {number} of loop {loop} began")
                self.rounds[loop] = number
            case events.Merged(merges, earlier, later):
                said = "a batch was merged" if merges == 1 else f"{merges} batches were merged"
                tell("merged", f"{said}: {earlier} keys and entries became {later}")
            case events.Emitted(name, rows):
                tell("stepped", f"output {name}: {counted(rows, 'complete change')}")
            case events.FrontierMoved(name, frontier):
                tell("frontier", f"output {name} is complete up to {antichain_text(frontier)}")
            case events.Refused(topic, what):
                tell("refused", f"{topic}: {what}")
            case events.StepEnded(visits, rows, seconds):
                after = self.counters()
                work = [
                    f"{after[name] - before[name]} {said}" for name, said in WORK.items() if after[name] != before[name]
                ]
                done = ", ".join([f"{counted(visits, 'key')} visited", f"{counted(rows, 'row')} touched", *work])
                tell("work", f"the step is done: {done}", seconds, rows)


def counted(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")


def antichain_text(frontier: tuple[Time, ...]) -> str:
    if not frontier:
        return "the end"
    return " and ".join(str(time[0]) if len(time) == 1 else f"({', '.join(map(str, time))})" for time in frontier)


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


def session(flow: Any, **options: Any) -> Session:
    """A session that is recorded from its beginning."""
    refuse_what_needs_python(flow.graph)
    return Session(flow, runtime=Recording(flow.graph).runtime, **options)


@contextmanager
def recording_sessions() -> Iterator[list[Recording]]:
    """While the block runs, every session that keeps its state in this process, and no checkpoint, is recorded."""
    found: list[Recording] = []
    begin = Session.__init__

    def recording_too(self: Session, flow: Any, *args: Any, **options: Any) -> None:
        asked = getattr(options.get("runtime"), "__self__", None)
        if isinstance(asked, Recording):  # by run(explore=True)
            found.append(asked)
        elif options.get("runtime") is None and options.get("checkpoint") is None and len(args) < 2:
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
