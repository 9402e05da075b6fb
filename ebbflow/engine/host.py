"""Host: some workers in one process that run one plan together.

Rows are given to the workers slice by slice; between slices histories are compacted, within a slice every row keeps its
own time. How rows are cut into slices cannot be seen in the output. Workers run in threads or in turns, and wait for
each other at barriers where the plan exchanges rows.

Rule: the output of a host depends on the multiset of its input rows, not on their order or on how they were cut.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from ebbflow import interrupts
from ebbflow.columns.text_pool import Pool
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.lower import lower
from ebbflow.dataflow.plan import Plan, Stage
from ebbflow.dataflow.plan_check import check_plan
from ebbflow.engine import feed, round_robin, take, turns_step
from ebbflow.engine import walk as w
from ebbflow.engine.compact_after_load import LARGE_STEP, compact_after_load, release_unused
from ebbflow.engine.node_work import NodeWork, added
from ebbflow.engine.refusals import refusal, refuse_broken
from ebbflow.engine.result_buffer import ResultBuffer
from ebbflow.engine.slices import Antichain, Rows, best_slice, cuts_of, distinct, in_order, least_of, ranks_of, split_at
from ebbflow.engine.threads import WorkerThreads
from ebbflow.engine.worker import Worker
from ebbflow.errors import NoThread, PlanError
from ebbflow.expressions.program import program
from ebbflow.limits import TIMES_AT_ONCE, WORKERS
from ebbflow.native.kernel import address_of, cache_lines
from ebbflow.native.structs import Words
from ebbflow.operators.exchange import barrier
from ebbflow.times.frontier import antichain
from ebbflow.times.lattice import told_once

NO_BUFFERS: Mapping[str, ResultBuffer] = {}

ROWS_IN_TURNS = 32  # rows of an advance for which workers begin in turns: waking their threads costs more than the work
TURN_FUEL = 1 << 13  # visits and pairs of one worker after which they go on in threads


class Host:
    """All the workers of a program, or only `mine`, made by `make(plan, number)` where they are not new."""

    def __init__(  # wide: the options of a run, by name
        self,
        graph: Graph,
        workers: int,
        pool: Pool,
        slice_times: int | None = None,
        threads: bool = True,
        few_rows: int = ROWS_IN_TURNS,
        turn_fuel: int = TURN_FUEL,
        mine: Iterable[int] | None = None,
        make: Callable[[Plan, int], Worker] | None = None,
        replays_only: bool = False,
        **tuning,
    ):
        if not 1 <= workers <= WORKERS:
            raise PlanError(f"A program runs on 1 to {WORKERS} workers, not on {workers}.", hint="run(workers=2)")
        assert slice_times is None or 1 <= slice_times <= TIMES_AT_ONCE, "ranks have so many bits"
        self.graph, self.pool = graph, pool
        try:
            self.plan = lower(graph, self.needs_outside, replays_only)
        except RecursionError:
            raise PlanError(
                f"more linear steps follow each other than Python follows, which is {sys.getrecursionlimit():,} calls.",
                hint="Unite many collections pairwise, in halves, or sys.setrecursionlimit(20_000).",
            ) from None
        check_plan(self.plan)
        make = make or (lambda plan, i: Worker(plan, i, workers, pool, **tuning))
        self.workers = [make(self.plan, i) for i in (range(workers) if mine is None else mine)]
        self.is_quick = len(self.workers) == 1 and not self.plan.general  # rows of one time are one walk of one worker
        several = threads and workers > 1
        self.few_rows, self.turn_fuel = few_rows, turn_fuel
        self.is_few = False  # whether workers that have threads begin in turns
        self.may_walk = False  # whether a thread may still be at work on what an interrupted one was waiting for
        self.fed = 0  # rows of the last advance
        self.is_wide = False  # whether it gave rows that come very often: sums of them are looked at
        self.headers = np.array([worker.W for worker in self.workers], np.int64)
        self.headers_at = Words(address_of(self.headers))
        self.worker_threads = (
            WorkerThreads(self.headers[1:].tolist()) if several else None
        )  # the first one walks in the thread that asks
        # the node of each worker, for every cell
        nodes = np.array([worker.at for worker in self.workers], np.int64)
        self.nodes = nodes.reshape(len(self.workers), len(self.plan.cells)).T.copy()
        self.inputs_at = {name: Words(address_of(self.nodes[cell.number])) for name, cell in self.plan.inputs.items()}
        self.outputs_at = {name: Words(address_of(self.nodes[cell.number])) for name, cell in self.plan.outputs.items()}
        self.programs = np.array([worker.program for worker in self.workers], np.int64)
        self.programs_at = Words(address_of(self.programs))
        self.are_all = len(self.workers) == int(self.workers[0].header.workers)
        self.lines = cache_lines(len(self.workers) + 1)  # where workers in threads meet
        self.lines_at = Words(address_of(self.lines))
        self.slice_times = slice_times or best_slice(self.plan, several)

    def needs_outside(self, stage: Stage) -> bool:
        return stage.as_copy() is None and program(stage.columns, stage.condition, stage.schema, self.pool) is None

    def advance(self, rows: dict[str, Rows], lower: Antichain, upper: Antichain) -> dict[str, list[Rows]]:
        """Retire the times between two frontiers, whose rows these are; the changes of every output.

        Whatever is raised, `undo` leaves everything as it was.
        """
        results: dict[str, list[Rows]] = {}
        self.is_wide = False
        given = sum(len(diffs) for _, _, diffs in rows.values())
        self.is_few = given <= self.few_rows
        if self.plan.general:
            self.general_slices(rows, lower, upper, results)
        elif rows:
            times = distinct([at[:, 0] for _, at, _ in rows.values()])
            if self.is_quick and len(rows) == len(times) == 1:
                self.quick_slice(rows, times, results)
            else:
                self.chain_slices(rows, times, results)
        else:
            for worker in self.workers:  # nothing to do: a moment to keep the state small
                worker.tidy()
        self.fed = given
        self.is_wide = self.is_wide or self.was_wide()
        return results

    def was_wide(self) -> bool:
        """Whether an output has shown, since this was last asked, a row that comes very often."""
        found = False
        for worker in self.workers:
            if worker.header.pair.wide_shown:
                worker.header.pair.wide_shown, found = 0, True
        return found

    def keep_last(self) -> None:
        """The last advance counts, and is not taken back by what happens before the next has begun."""
        for worker in self.workers:
            worker.keep_last()

    def rest(self) -> None:
        """What the last advance left is put in order, at once where it was large; it is not taken back after that."""
        rows, self.fed = self.fed, 0
        for worker in self.workers:
            if rows >= LARGE_STEP:
                compact_after_load(worker, rows)
            worker.rest()

    def undo(self) -> None:
        """Take back the last advance, finished or not."""
        self.stop_all()
        refuse_broken(self.workers)
        for worker in self.workers:
            worker.undo()
            if worker.heap.is_overdrawn:
                release_unused(worker)
        refuse_broken(self.workers)

    @property
    def is_broken(self) -> bool:
        """Whether memory ended in the middle of a kernel."""
        return any(bool(worker.header.broken) for worker in self.workers)

    def close(self) -> None:
        self.stop_all()
        if self.worker_threads is not None:
            self.worker_threads.end()

    def work_by_node(self) -> dict[int, NodeWork]:
        return added(each for worker in self.workers for each in worker.work_by_node().items())

    def counters(self) -> dict[str, int]:
        found = [worker.counters() for worker in self.workers]
        return {name: sum(one[name] for one in found) for name in found[0]}

    # ---- slices -----------------------------------------------------------------------------

    def quick_slice(self, rows: dict[str, Rows], times: np.ndarray, results: dict[str, list[Rows]]) -> None:
        """One time at one input of one worker, which is what a single change is."""
        (worker,) = self.workers
        ((name, (lanes, _, diffs)),) = rows.items()
        worker.slice_times = np.ascontiguousarray(times)
        told = worker.quick_step(name, np.ascontiguousarray(lanes), np.ascontiguousarray(told_once(diffs)))
        self.is_wide = told & take.IS_WIDE != 0
        self.collect([told & take.REASON_MASK], results)

    def takes_moments(self, name: str, rows: list[int] | tuple[np.ndarray, np.ndarray]) -> bool:
        """Whether rows of an input at one time are one walk of one worker, or few enough for several to take turns."""
        cell = self.plan.inputs.get(name)
        if cell is None or len(self.workers) == 1 or self.plan.general or not self.are_all:
            return self.is_quick and cell is not None
        return type(rows) is list and len(rows) <= self.few_rows * (cell.schema.width + 2)

    def advance_moment(
        self, name: str, moment: int, rows: list[int] | tuple[np.ndarray, np.ndarray], results: dict[str, np.ndarray]
    ) -> bool:
        """The same as `advance`, for rows at one time: lanes, and a diff for each or for all; a few may be words:
        `lanes, time, diff` one after the other.  The results get lanes, times and diffs as one array for each output.

        Returns whether something is to be put in order after it.
        """
        worker = self.workers[0]
        worker.moment[0] = moment
        worker.slice_times = worker.moment
        if len(self.workers) > 1:
            assert isinstance(rows, list)
            return self.turns_moment(name, rows, results)
        if type(rows) is list:
            told, self.fed = worker.few_step(name, np.array(rows, np.int64)), 0
        else:
            lanes, diffs = rows
            assert isinstance(lanes, np.ndarray) and isinstance(diffs, np.ndarray)
            if len(diffs) > 1:
                diffs = np.ascontiguousarray(told_once(diffs))
            told, self.fed = worker.quick_step(name, np.ascontiguousarray(lanes), diffs), lanes.shape[1]
        if told & take.REASON_MASK:
            raise refusal(worker)
        self.is_wide = told & take.IS_WIDE != 0
        if count := told >> take.GIVES:
            known = count if len(worker.outputs) == 1 else None
            for output in worker.outputs:
                found = worker.take(output, None, known)
                if found is not None:
                    results[output] = found
        return told & take.IS_LOOSE != 0 or self.fed >= LARGE_STEP

    def turns_moment(self, name: str, rows: list[int], results: dict[str, np.ndarray]) -> bool:
        """The same for a few rows and several workers."""
        first, count = self.workers[0], len(self.workers)
        for worker in self.workers:
            worker.step += 2  # one to tidy, one to walk
            worker.slice_times = first.moment
        ids = np.array([worker.step for worker in self.workers], np.int64)
        self.is_few, self.fed, words = True, 0, np.array(rows, np.int64)
        fuel = self.turn_fuel if self.worker_threads is not None else w.FULL
        told = int(
            turns_step.turns_step(self.headers_at, self.inputs_at[name], self.programs_at, ids, count, fuel, words)
        )
        if told < 0:
            interrupts.look()
            self.refuse_failed(self.go_on(-1 - told))
            told = 2 * int(turns_step.rows_to_give(self.headers_at, count)) + int(
                turns_step.is_loose(self.headers_at, count)
            )
        for output in self.plan.outputs if told > 1 else ():
            nodes = self.outputs_at[output]
            total = (
                told >> 1
                if len(self.plan.outputs) == 1
                else int(take.waiting_everywhere(self.headers_at, nodes, count))
            )
            if total:
                results[output] = self.given_everywhere(output, total)
        self.is_wide = self.was_wide()
        return told & 1 != 0

    def go_on(self, turn: int) -> list[int]:
        """All workers go on from where one of them needs Python, in threads where they have any."""
        if self.worker_threads is None:
            return self.take_turns(True, 0, turn)
        return self.take_turns(True, self.turn_fuel, turn) or self.run_all()

    def chain_slices(self, rows: dict[str, Rows], times: np.ndarray, results: dict[str, list[Rows]]) -> None:
        """One coordinate: the times in order, so many at once."""
        many = len(times) > self.slice_times
        ordered = {name: in_order(*part) for name, part in rows.items()} if many else rows
        buffers = self.result_buffers() if many else {}
        for worker in self.workers:
            worker.begin_advance(keeping=many)
        for start in range(0, len(times), self.slice_times):
            here = times[start : start + self.slice_times]
            self.call_up()
            for worker in self.workers:
                worker.slice_times = np.ascontiguousarray(here)
                worker.begin_slice()
                if len(self.workers) == 1:
                    for name, whole in buffers.items():
                        worker.direct_to(name, whole)
            for name, (lanes, at, diffs) in ordered.items():
                if many:
                    a, b = np.searchsorted(at[:, 0], here[0]), np.searchsorted(at[:, 0], here[-1], "right")
                    lanes, at, diffs = lanes[:, a:b], at[a:b], diffs[a:b]
                if len(diffs):
                    self.feed(name, lanes, ranks_of(at[:, 0], here), diffs)
            self.walk(results, buffers)
        self.hand_over(buffers, results)

    def general_slices(self, rows: dict[str, Rows], lower: Antichain, upper: Antichain, results: dict) -> None:
        """Several coordinates, or delays: what is complete, cut along the coordinate that moves most."""
        at = [times for _, times, _ in rows.values()]
        axis, cuts = cuts_of(at, self.slice_times)
        least = least_of(lower, at, upper) if cuts else []
        for worker in self.workers:
            worker.begin_advance(keeping=bool(cuts), lower=lower)
        left = {name: in_order(*part, axis) if cuts else part for name, part in rows.items()}
        buffers = self.result_buffers() if cuts and len(self.workers) == 1 else {}  # ranks are those of one worker
        for cut in [*cuts, None]:
            here, end = left, upper
            if cut is not None:
                here, left = split_at(left, axis, cut)
                end = antichain([*upper, (*least[:axis], cut, *least[axis + 1 :])])
            self.call_up()
            for worker in self.workers:
                worker.begin_slice(end)
            for name, (lanes, times, diffs) in here.items():
                if len(diffs):
                    self.share_out(name, lanes, [worker.ranks(times) for worker in self.workers], diffs)
            self.walk(results, buffers)
            if cut is not None:
                for worker in self.workers:
                    worker.set_lower(end)
        self.hand_over(buffers, results)

    def result_buffers(self) -> dict[str, ResultBuffer]:
        """Where the rows of all slices go."""
        return {name: ResultBuffer(cell.schema.width) for name, cell in self.plan.outputs.items()}

    def hand_over(self, buffers: Mapping[str, ResultBuffer], results: dict[str, list[Rows]]) -> None:
        for name, whole in buffers.items():
            found = whole.rows()
            if found.shape[1]:
                results[name] = [self.timed(self.workers[0], found)]

    def timed(self, worker: Worker, found: np.ndarray) -> Rows:
        """Rows as an output gives them: lanes, times and diffs."""
        return found[:-2], worker.time_of(found[-2]) if self.plan.general else found[-2][:, None], found[-1]

    def feed(self, name: str, lanes: np.ndarray, ranks: np.ndarray, diffs: np.ndarray) -> None:
        """Each worker takes in a part of the rows, whose times have the same ranks with all."""
        if name in self.inputs_at:
            rows, ranks, diffs = map(np.ascontiguousarray, (lanes, told_once(ranks), told_once(diffs)))
            feed.feed_everywhere(self.headers_at, self.inputs_at[name], len(self.workers), rows, ranks, diffs)

    def share_out(self, name: str, lanes: np.ndarray, ranks: list[np.ndarray], diffs: np.ndarray) -> None:
        """The same where each worker has ranks of its own."""
        count = len(self.workers)
        for i, worker in enumerate(self.workers):
            a, b = len(diffs) * i // count, len(diffs) * (i + 1) // count
            worker.feed(name, lanes[:, a:b], ranks[i][a:b], diffs[a:b])

    def walk(self, results: dict[str, list[Rows]], buffers: Mapping[str, ResultBuffer] = NO_BUFFERS) -> None:
        """All workers walk to the end of the slice; what the outputs took in is added to the results, or gathered."""
        interrupts.look()
        if len(self.workers) == 1:
            reasons = [self.workers[0].run()]
        elif self.worker_threads is None:
            reasons = self.take_turns(alone=True)
        else:
            reasons = (self.take_turns(alone=True, fuel=self.turn_fuel) if self.is_few else []) or self.run_all()
        self.collect(reasons, results, buffers)

    def collect(
        self,
        reasons: list[int],
        results: dict[str, list[Rows]],
        buffers: Mapping[str, ResultBuffer] = NO_BUFFERS,
    ) -> None:
        """What the outputs took in, once the walk is finished; a refusal, if it failed."""
        self.refuse_failed(reasons)
        for name in self.plan.outputs:
            if name not in buffers and len(self.workers) > 1 and not self.plan.general:
                self.take_together(name, results)
                continue
            for worker in self.workers:
                rows = worker.take(name, buffers.get(name))
                if rows is not None:
                    results.setdefault(name, []).append(self.timed(worker, rows))

    def refuse_failed(self, reasons: list[int]) -> None:
        if w.FAILED in reasons:
            raise refusal(self.workers[reasons.index(w.FAILED)])

    def take_together(self, name: str, results: dict[str, list[Rows]]) -> None:
        """What all workers have to give as one array, so that nobody has to join its parts."""
        headers, nodes, count = self.headers_at, self.outputs_at[name], len(self.workers)
        if total := int(take.waiting_everywhere(headers, nodes, count)):
            rows = self.given_everywhere(name, total)
            results.setdefault(name, []).append(self.timed(self.workers[0], rows))

    def given_everywhere(self, name: str, total: int) -> np.ndarray:
        """So many rows, which is all that an output has to give at all workers."""
        rows = np.empty((self.plan.outputs[name].schema.width + 2, total), np.int64)
        headers, nodes, count = self.headers_at, self.outputs_at[name], len(self.workers)
        take.give_everywhere(headers, nodes, count, rows, self.workers[0].slice_times)
        return rows

    def take_turns(self, alone: bool, fuel: int = 0, waits: int = -1) -> list[int]:
        """Walk one worker after the other until all are finished, one has failed, or others are to be met; with so
        much fuel, until one has used it: nothing is returned then, and they can go on in threads.

        waits: the worker that needs Python first, -1: none does.
        """
        at, count = self.headers_at, len(self.workers)
        walk_on = lambda turn: int(round_robin.take_turns(at, count, turn, int(alone), fuel or w.FULL))
        turn = walk_on(0) if waits < 0 else waits
        while turn < count:
            worker = self.workers[turn]
            interrupts.look()
            if fuel and worker.header.reason == w.PAUSED:
                return []
            reason = worker.serve(int(worker.header.reason))
            if reason != w.PAUSED:
                return [w.AT_BARRIER] * turn + [reason]  # by worker, as far as they came
            turn = walk_on(turn)
        return [int(worker.header.reason) for worker in self.workers]

    def run_all(self) -> list[int]:
        """Every worker at once, the first in this thread and the others beside it, meeting each other on their way; if
        this one is interrupted, they are stopped first.
        """
        assert self.worker_threads is not None
        barrier.open_barrier(self.headers_at, len(self.workers), self.lines_at)
        self.may_walk = True
        try:
            self.worker_threads.dispatch([worker.go_on for worker in self.workers[1:]])
            reasons = [self.workers[0].run_to_barrier()]
            with interrupts.allowed():
                reasons += self.worker_threads.answers()
        except BaseException:
            self.stop_all()
            raise
        self.may_walk = False
        self.close_barrier()
        return reasons

    def call_up(self) -> None:
        """Workers that walk beside this one will be wanted in a moment."""
        if self.worker_threads is not None and not self.is_few:
            self.worker_threads.call_up()

    def stop_all(self) -> None:
        """Nobody walks any more, however often this is interrupted: what they work on is about to be put back.

        A thread may have begun of which the one who was interrupted does not know; so all of them end.
        """
        while self.may_walk:
            try:
                for worker in self.workers:
                    worker.stopped = True
                self.lines[barrier.STOPPED] = 1
                assert self.worker_threads is not None
                self.worker_threads.end()
                self.close_barrier()
                try:
                    self.worker_threads = WorkerThreads(self.headers[1:].tolist())
                except NoThread:
                    self.worker_threads = None  # from here on they take turns
                self.may_walk = False
            except KeyboardInterrupt:  # the first one is told
                continue

    def close_barrier(self) -> None:
        for worker in self.workers:
            worker.stopped = False
        barrier.close_barrier(self.headers_at, len(self.workers))
