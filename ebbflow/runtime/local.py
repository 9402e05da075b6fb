"""Local runtime: a whole program in one process.

Rows are buffered until the frontier has passed them. A program whose outputs depend on different inputs runs in stages,
each with a host that is as far as its own inputs are.

Rule: an advance happens completely or not at all; after a refusal everything is as before, and the rows are still
buffered.
"""

from __future__ import annotations

import functools
import time
from typing import Any

import numpy as np

from ebbflow import events
from ebbflow.columns.text_pool import Pool
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow import stages
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.rewrite import rewrite
from ebbflow.dataflow.rules.check import check
from ebbflow.dataflow.text_predicates import TextPredicates, find_text_predicates
from ebbflow.engine.host import Host
from ebbflow.engine.node_work import NodeWork
from ebbflow.engine.refusals import refuse_plainly
from ebbflow.engine.slices import BEFORE_ALL, FEW_TIMES, Antichain, Rows
from ebbflow.engine.worker import LIMIT_FIELDS
from ebbflow.errors import EbbflowError
from ebbflow.runtime.contract import NOT_TAKEN, RESTLESS, TAKEN, Guard, LateOutputs, Moments, Past
from ebbflow.runtime.late_outputs import SHOWN, reading, recall, refuse_lost_times
from ebbflow.times import lattice
from ebbflow.times.frontier import Frontier, antichain


class Part:
    """A stage of the program at work: its host, what it has been given and not yet taken, and how far it is."""

    def __init__(self, stage: stages.Stage, workers: int, pool: Pool, **options):
        self.stage = stage
        self.host = Host(stage.graph, workers, pool, **options)
        self.buffered: dict[str, list[Rows]] = {}
        self.frontier: Antichain = ((BEFORE_ALL,) * len(stage.graph.coordinates),)


class LocalRuntime:
    OPTIONS = (
        "rewriting",
        "slice_times",
        "few_rows",
        "turn_fuel",
        "reserve",
        "forget_times",
        "replays_only",
        *LIMIT_FIELDS,
    )  # for those who measure
    staging, keeper = None, None
    recording: Any = None

    def __init__(
        self,
        graph: Graph,
        workers: int = 1,
        pool: Pool | None = None,
        rewriting: bool = True,
        glancing: bool = False,
        **options,
    ):
        """`glancing`: whoever feeds gives, in place of the text of the columns in `glances`, what is asked of it."""
        check(graph)
        self.program, self.workers, self.rewriting, self.options = graph, workers, rewriting, options
        self.pool = pool if pool is not None else Pool()
        self.text_predicates: TextPredicates = {}
        if rewriting:
            graph, _ = rewrite(graph)
        if rewriting and glancing:
            graph, self.text_predicates = find_text_predicates(graph)
        self.coordinates = len(graph.coordinates)
        self.parts = [
            Part(stage, workers, self.pool, **placed(options, i * workers)) for i, stage in enumerate(stages.cut(graph))
        ]
        self.inputs = [node.name for node in graph.nodes if isinstance(node, n.Input)]
        self.done: dict[str, list[Rows]] = {}
        self.guard: Guard | None = None  # who refuses results, before they count, in which rows come very often
        self.watches = False  # whether it is asked of all results
        self.begun: list[Part] = []  # where an advance has begun that neither counts yet nor was taken back
        self.frontiers: dict[str, Antichain] = {}
        self.lanes = {name: cell.schema.width for part in self.parts for name, cell in part.host.plan.outputs.items()}
        self.part_of = {name: part for part in self.parts for name in part.host.plan.outputs}

    @property
    def moments(self) -> Moments | None:
        return self

    @property
    def late_outputs(self) -> LateOutputs | None:
        return self

    def abandon(self) -> None:
        """Nothing of it outlives the process."""

    def feed(self, name: str, lanes: np.ndarray, times: np.ndarray, diffs: np.ndarray) -> None:
        for part in self.parts:
            if name in part.host.plan.inputs:
                part.buffered.setdefault(name, []).append((lanes, times, diffs))

    def advance(self, frontiers: dict[str, Antichain]) -> None:
        """Do all the work that these frontiers of the inputs complete."""
        try:
            if events.is_heard():
                self.advance_aloud(frontiers)
            else:
                self.advance_quietly(frontiers)
        except MemoryError as error:
            refuse_plainly(error)
            raise

    def advance_aloud(self, frontiers: dict[str, Antichain]) -> None:
        """The same, and what happens is told."""
        events.tell(events.StepBegan(tuple(frontiers.items())))
        before, began = self.counters(), time.perf_counter()
        was = {name: (len(self.done.get(name, ())), part.frontier) for name, part in self.part_of.items()}
        try:
            self.advance_quietly(frontiers)
        except EbbflowError as error:
            events.tell(events.Refused(type(error).__name__, error.what))
            raise
        after = self.counters()
        for name, (blocks, frontier) in was.items():
            if rows := sum(len(block[2]) for block in self.done.get(name, [])[blocks:]):
                events.tell(events.Emitted(name, rows))
            if self.frontier(name) != frontier:
                events.tell(events.FrontierMoved(name, self.frontier(name)))
        if merges := after["merges"] - before["merges"]:
            events.tell(events.Merged(merges, *(after[name] - before[name] for name in ("merged from", "merged to"))))
        counted = {name: after[name] - before[name] for name in ("visits", "rows")}
        events.tell(events.StepEnded(**counted, seconds=time.perf_counter() - began))

    def advance_quietly(self, frontiers: dict[str, Antichain]) -> None:
        self.take_back()
        for part in self.parts:
            part.host.keep_last()
        if len(self.parts) == 1 and not self.parts[0].stage.exports:
            self.advance_alone(self.parts[0], frontiers)
        else:
            self.advance_in_stages(frontiers)
        self.frontiers = dict(frontiers)

    def advance_alone(self, part: Part, frontiers: dict[str, Antichain]) -> None:
        """A program of one stage."""
        upper = minimal([time for name in part.stage.inputs for time in frontiers[name]])
        rows, left = split(part.buffered, upper)
        if not rows and upper == part.frontier:
            return
        self.begun = [part]
        try:
            results = part.host.advance(rows, part.frontier, upper)
            if self.guard is not None and (part.host.is_wide or self.watches):
                self.guard(results)
        except BaseException:
            self.take_back()
            raise
        part.frontier, part.buffered, self.begun = upper, left, []
        for name, blocks in results.items():
            self.done.setdefault(name, []).extend(blocks)

    def advance_moment(
        self,
        name: str,
        moment: int,
        rows: list[int] | tuple[np.ndarray, np.ndarray],
        upper: Antichain,
        results: dict[str, np.ndarray],
    ) -> int:
        """Advance all inputs alike, past rows of one at one time: lanes, and a diff for each or for all; a few may be
        words, `lanes, time, diff` each.

        What changes goes into the results, and not to `take`: one array for each output, lanes, times and diffs.
        NOT_TAKEN, and nothing happened, where that takes more than one walk of one worker; RESTLESS where `rest` has
        something to do after it.
        """
        part = self.parts[0]
        host = part.host
        if len(self.parts) > 1 or part.buffered or not host.takes_moments(name, rows) or events.is_heard():
            return NOT_TAKEN
        if self.begun:
            self.take_back()
        host.keep_last()
        self.begun = [part]
        try:
            is_restless = host.advance_moment(name, moment, rows, results)
            if self.guard is not None and (host.is_wide or self.watches):
                self.guard({output: [host.timed(host.workers[0], found)] for output, found in results.items()})
        except BaseException as error:
            self.take_back()
            refuse_plainly(error)
            raise
        part.frontier, self.begun = upper, []
        for one in self.inputs:
            self.frontiers[one] = upper
        return RESTLESS if is_restless else TAKEN

    def take_back(self) -> None:
        """Undo an advance that did not come to its end; if that is interrupted, the next one begins with it."""
        for part in self.begun:
            part.host.undo()
        self.begun = []

    def rest(self) -> None:
        """The last advance is done and shown: what it left is put in order, as far as there is memory for it."""
        for part in self.parts:
            try:
                part.host.rest()
            except MemoryError:
                if part.host.is_broken:
                    self.begun = [part]  # the next advance says so

    def advance_in_stages(self, frontiers: dict[str, Antichain]) -> None:
        exported: dict[str, list[Rows]] = {}
        news: list[tuple[Part, Antichain, dict[str, list[Rows]]]] = []
        shown: list[tuple[str, list[Rows]]] = []
        try:
            for part in self.parts:
                upper = minimal([time for name in part.stage.inputs for time in frontiers[name]])
                held = {name: list(blocks) for name, blocks in part.buffered.items()}
                for name in part.stage.imports:
                    held.setdefault(name, []).extend(exported.get(name, ()))
                rows, left = split(held, upper)
                if rows or upper != part.frontier:
                    self.begun.append(part)
                    for name, blocks in part.host.advance(rows, part.frontier, upper).items():
                        if name in part.stage.exports:
                            exported[name] = blocks
                        else:
                            exported[SHOWN + name] = blocks
                            shown.append((name, blocks))
                news.append((part, upper, left))
            if self.guard is not None and (self.watches or any(part.host.is_wide for part in self.begun)):
                self.guard(dict(shown))
        except BaseException:
            self.take_back()
            raise
        self.begun = []
        for part, upper, left in news:
            part.frontier, part.buffered = upper, left
        for name, blocks in shown:
            self.done.setdefault(name, []).extend(blocks)

    def add_output(self, name: str, past: dict[str, Past]) -> Antichain:
        """Show an output that the graph was given since; the frontier from which on its times can be told apart.

        past: of every output that is shown already, how to ask for all its changes.
        """
        check(self.program)
        self.leave_out(name)
        graph, read = reading(self.program, name, past)
        graph, _ = rewrite(graph)
        known = recall([part.host for part in self.parts], graph, name)
        owners = {source: next(p for p in self.parts if p.host is host) for source, (host, _, _) in known.items()}
        shown = {output: past[output]() for output in read}
        nothing = ((0,) * self.coordinates,)
        folded = bool(known) or any(since != nothing for since, _ in shown.values())
        is_general = self.coordinates != 1 or any(part.host.plan.general for part in self.parts)
        refuse_lost_times(name, graph, folded, {source: owners[source].frontier for source in known}, is_general)
        begin = [((max(part.frontier[0][0] - 1, 0),),) for part in owners.values()]
        since = functools.reduce(
            Frontier.join, map(Frontier, [nothing, *begin, *(one for one, _ in shown.values())])
        ).times
        # an output of a loop waits for all that the loop waits for
        waits_for = frozenset(known).union(*(self.part_of[output].stage.inputs for output in read))
        imports = {SHOWN + output for output in read}
        part = Part(stages.Stage(graph, waits_for, imports), self.workers, self.pool, **self.options)
        begins = np.array(since, np.int64)
        for output, (_, (lanes, times, diffs)) in shown.items():
            if len(diffs):
                part.buffered[SHOWN + output] = [(lanes, lattice.advance(times, begins), diffs)]
        for source, (_, lanes, diffs) in known.items():
            if len(diffs):
                part.buffered[source] = [(lanes, np.repeat(begins, len(diffs), axis=0), diffs)]
            for lanes, times, diffs in owners[source].buffered.get(source, ()):
                part.buffered.setdefault(source, []).append((lanes, np.maximum(times, begins), diffs))
        try:
            self.advance_alone(part, {source: self.frontiers.get(source, part.frontier) for source in waits_for})
        except BaseException:
            part.host.close()
            self.done.pop(name, None)
            raise
        self.lanes[name], self.part_of[name] = part.host.plan.outputs[name].schema.width, part
        self.parts.append(part)
        return since

    def leave_out(self, name: str) -> None:
        """Forget an output that was added and not heard of, because somebody interrupted."""
        if part := self.part_of.pop(name, None):
            self.parts = [other for other in self.parts if other is not part]
            self.done.pop(name, None)
            part.host.close()

    def discard(self) -> None:
        """Drop the rows that no advance has passed; what one stage has taken, a later one keeps waiting for."""
        for part in self.parts:
            for name in set(part.buffered) - part.stage.imports:
                passed, _ = split({name: part.buffered.pop(name)}, self.frontiers.get(name, part.frontier))
                if passed:
                    part.buffered[name] = [passed[name]]

    def take(self, output: str) -> Rows:
        blocks = self.done.get(output)
        if blocks:
            whole = together(blocks)  # for which there may be no memory: then they stay
            del self.done[output]
            return whole
        return nothing(self.lanes[output], self.coordinates)

    def frontier(self, output: str) -> Antichain:
        return self.part_of[output].frontier

    def close(self) -> None:
        for part in self.parts:
            part.host.close()

    def counters(self) -> dict[str, int]:
        found = [part.host.counters() for part in self.parts]
        return {name: sum(one[name] for one in found) for name in found[0]} if found else {}

    def work_by_node(self) -> dict[int, NodeWork]:
        numbers = self.numbers_in_program()
        found = {
            (at, node): work for at, part in enumerate(self.parts) for node, work in part.host.work_by_node().items()
        }
        return {numbers[place]: work for place, work in found.items() if place in numbers}

    def numbers_in_program(self) -> dict[tuple[int, int], int]:
        """Of a part and a node there, the number in the program as it was written; of nodes that became one, the first
        one's.
        """
        found = {}
        moved = rewrite(self.program)[1] if self.rewriting else {i: i for i in range(len(self.program.nodes))}
        for number, there in sorted(moved.items(), reverse=True):
            for at, part in enumerate(self.parts):
                if there in part.stage.moved:
                    found[at, part.stage.moved[there]] = number
        return found


def placed(options: dict, workers: int) -> dict:
    """The options of a stage, whose memory, if it has a chosen place, lies behind that of so many workers."""
    return {**options, "base": options["base"] + workers * options["reserve"]} if "base" in options else options


@functools.cache
def nothing(lanes: int, coordinates: int) -> Rows:
    """No rows; nobody can write to them."""
    return np.empty((lanes, 0), np.int64), np.empty((0, coordinates), np.int64), np.empty(0, np.int64)


def together(blocks: list[Rows]) -> Rows:
    """Blocks of rows as one."""
    if len(blocks) == 1:
        return blocks[0]
    lanes, times, diffs = zip(*blocks, strict=True)
    return np.concatenate(lanes, axis=1), np.concatenate(times), np.concatenate(diffs)


def split(held: dict[str, list[Rows]], upper: Antichain) -> tuple[dict[str, Rows], dict[str, list[Rows]]]:
    """The rows that are complete under a frontier, and the others."""
    taken: dict[str, Rows] = {}
    left: dict[str, list[Rows]] = {}
    for name, blocks in held.items():
        if not blocks:
            continue
        lanes, times, diffs = together(blocks)
        if len(upper) == 1 and times.shape[1] == 1:
            if len(diffs) <= FEW_TIMES and max(times[:, 0].tolist(), default=0) < upper[0][0]:
                taken[name] = (lanes, times, diffs)
                continue
            complete = lattice.told_once(times)[:, 0] < upper[0][0]
        else:
            complete = ~lattice.reached(times, np.array(upper, np.int64))
        if complete.all():
            taken[name] = (lanes, times, diffs)
            continue
        if len(complete) < len(diffs):  # all at one time
            left[name] = [(lanes, times, diffs)]
            continue
        if complete.any():
            taken[name] = (lanes[:, complete], times[complete], diffs[complete])
        left[name] = [(lanes[:, ~complete], times[~complete], diffs[~complete])]
    return {name: rows for name, rows in taken.items() if len(rows[2])}, left


def minimal(times: list[tuple[int, ...]]) -> Antichain:
    """The times that no other one precedes."""
    return (min(times),) if times and len(times[0]) == 1 else antichain(times)
