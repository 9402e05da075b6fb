"""Host: some workers in one process that run one plan together.

Rows are given to the workers slice by slice; between slices histories are compacted, within a slice every row keeps its
own time. How rows are cut into slices cannot be seen in the output. Workers run in threads or in turns, and wait for
each other at barriers where the plan exchanges rows. A host that has only some of a program's workers stops at every
barrier: it hands out what they send to workers elsewhere, and takes in what these sent, before it goes on.

Rule: the output of a host depends on the multiset of its input rows, not on their order or on how they were cut.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from ebbflow import interrupts
from ebbflow.columns.sorting import tell_apart
from ebbflow.columns.text_pool import Pool
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.lower import Begin, Plan, Stage, lower
from ebbflow.dataflow.plan_check import check_plan
from ebbflow.engine import round_robin
from ebbflow.engine import walk as w
from ebbflow.engine.compact_after_load import LARGE_STEP, compact_after_load, release_unused
from ebbflow.engine.refusals import refusal, refuse_broken
from ebbflow.engine.result_buffer import ResultBuffer
from ebbflow.engine.threads import WorkerThreads
from ebbflow.engine.worker import WORKERS_AT_MOST, Worker
from ebbflow.errors import NoThread, PlanError
from ebbflow.expressions.interpreter import program
from ebbflow.limits import TIMES_AT_ONCE
from ebbflow.native.kernel import address_of, cache_lines
from ebbflow.native.structs import Words
from ebbflow.operators.exchange import barrier
from ebbflow.times.frontier import antichain
from ebbflow.times.lattice import told_once

Antichain = tuple[tuple[int, ...], ...]
Rows = tuple[np.ndarray, np.ndarray, np.ndarray]  # lanes [lanes, n], times [n, coordinates], diffs [n]

NEVER = -(2**63) + 1  # the coordinates of the frontier of what has not begun
FEW = 64  # rows that Python looks at faster than numpy
SLICE_IN_LOOPS, SLICE = 128, 8192  # times handled together: as many as a step's history stays in the cache
GENERAL_SLICE = 32768  # the same without loops where times are only partly ordered: to cut costs more there
BARRIER_SLICE = 512  # the same for workers that exchange in every round of a loop: more work between two barriers

FIRST_RANK = np.int64(1)
NO_BUFFERS: Mapping[str, ResultBuffer] = {}
Outboxes = dict[tuple[int, int], np.ndarray]  # words by (from, to)


def best_slice(plan: Plan, at_barrier: bool) -> int:
    """How many times to handle together; meet: whether workers in threads wait for each other."""
    depth = max((part.depth for part in plan.program if isinstance(part, Begin)), default=0)
    if depth == 0:
        return GENERAL_SLICE if plan.general else SLICE
    return BARRIER_SLICE if at_barrier and depth == 1 and not plan.general else SLICE_IN_LOOPS


class AtBarrier(NamedTuple):
    """The state of a host at a barrier with workers that are elsewhere."""

    finished: bool
    outboxes: Outboxes  # for workers elsewhere
    at_loop: bool  # whether the next round of a loop is to be agreed upon
    least: int  # the least rounds pending in it, outboxes included
    pending: int  # pending words, outboxes included: how much there is to do
    loop: tuple[int, int, int] | None = None  # which one, and where its round stands in `least`: shift and bits


class Host:
    """All the workers of a program, or only `mine`, made by `make(plan, number)` where they are not new."""

    def __init__(
        self,
        graph: Graph,
        workers: int,
        pool: Pool,
        slice_times: int | None = None,
        threads: bool = True,
        mine: Iterable[int] | None = None,
        make: Callable[[Plan, int], Worker] | None = None,
        **tuning,
    ):
        if not 1 <= workers <= WORKERS_AT_MOST:
            raise PlanError(
                f"A program runs on 1 to {WORKERS_AT_MOST} workers, not on {workers}.", hint="run(workers=2)"
            )
        assert slice_times is None or 1 <= slice_times <= TIMES_AT_ONCE, "ranks have so many bits"
        self.graph, self.pool = graph, pool
        try:
            self.plan = lower(graph, self.needs_outside)
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
        if self.plan.general:
            self.general_slices(rows, lower, upper, results)
        elif rows:
            times = distinct([at[:, 0] for _, at, _ in rows.values()])
            if len(rows) == len(times) == len(self.workers) == 1:
                self.quick_slice(rows, times, results)
            else:
                self.chain_slices(rows, times, results)
        else:
            for worker in self.workers:  # nothing to do: a moment to keep the state small
                worker.tidy()
        self.fed = sum(len(diffs) for _, _, diffs in rows.values())
        for worker in self.workers:
            if worker.header.pair.wide_shown:
                worker.header.pair.wide_shown, self.is_wide = 0, True
        return results

    def keep_last(self) -> None:
        """The last advance counts, and is not taken back by what happens before the next has begun."""
        for worker in self.workers:
            worker.keep_last()

    def rest(self) -> None:
        """What the last advance left is put in order, at once where it was large; it is not taken back after that."""
        is_large, self.fed = self.fed >= LARGE_STEP, 0
        for worker in self.workers:
            if is_large:
                compact_after_load(worker)
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
        self.is_wide = told & w.IS_WIDE != 0
        self.collect([told & w.REASON], results)

    def takes_moments(self, name: str) -> bool:
        """Whether rows of an input at one time are one walk of one worker."""
        return self.is_quick and name in self.plan.inputs

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
        if type(rows) is list:
            told, self.fed = worker.few_step(name, np.array(rows, np.int64)), 0
        else:
            lanes, diffs = rows
            assert isinstance(lanes, np.ndarray) and isinstance(diffs, np.ndarray)
            if len(diffs) > 1:
                diffs = np.ascontiguousarray(told_once(diffs))
            told, self.fed = worker.quick_step(name, np.ascontiguousarray(lanes), diffs), lanes.shape[1]
        if told & w.REASON:
            raise refusal(worker)
        self.is_wide = told & w.IS_WIDE != 0
        if count := told >> w.GIVES:
            known = count if len(worker.outputs) == 1 else None
            for output in worker.outputs:
                found = worker.take(output, None, known)
                if found is not None:
                    results[output] = found
        return told & w.IS_LOOSE != 0 or self.fed >= LARGE_STEP

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
            w.feed_everywhere(self.headers_at, self.inputs_at[name], len(self.workers), rows, ranks, diffs)

    def share_out(self, name: str, lanes: np.ndarray, ranks: list[np.ndarray], diffs: np.ndarray) -> None:
        """The same where each worker has ranks of its own."""
        count = len(self.workers)
        for i, worker in enumerate(self.workers):
            a, b = len(diffs) * i // count, len(diffs) * (i + 1) // count
            worker.feed(name, lanes[:, a:b], ranks[i][a:b], diffs[a:b])

    def walk(self, results: dict[str, list[Rows]], buffers: Mapping[str, ResultBuffer] = NO_BUFFERS) -> None:
        """All workers walk to the end of the slice; what the outputs took in is added to the results, or gathered."""
        interrupts.look()
        if self.worker_threads is not None:
            reasons = self.run_all()
        elif len(self.workers) == 1:
            reasons = [self.workers[0].run()]
        else:
            reasons = self.take_turns(alone=True)
        self.collect(reasons, results, buffers)

    def collect(
        self,
        reasons: list[int],
        results: dict[str, list[Rows]],
        buffers: Mapping[str, ResultBuffer] = NO_BUFFERS,
    ) -> None:
        """What the outputs took in, once the walk is finished; a refusal, if it failed."""
        if w.FAILED in reasons:
            raise refusal(self.workers[reasons.index(w.FAILED)])
        for name in self.plan.outputs:
            if name not in buffers and len(self.workers) > 1 and not self.plan.general:
                self.take_together(name, results)
                continue
            for worker in self.workers:
                rows = worker.take(name, buffers.get(name))
                if rows is not None:
                    results.setdefault(name, []).append(self.timed(worker, rows))

    def take_together(self, name: str, results: dict[str, list[Rows]]) -> None:
        """What all workers have to give as one array, so that nobody has to join its parts."""
        headers, nodes, count = self.headers_at, self.outputs_at[name], len(self.workers)
        if total := int(w.waiting_everywhere(headers, nodes, count)):
            rows = np.empty((self.plan.outputs[name].schema.width + 2, total), np.int64)
            w.give_everywhere(headers, nodes, count, rows, self.workers[0].slice_times)
            results.setdefault(name, []).append(self.timed(self.workers[0], rows))

    def take_turns(self, alone: bool) -> list[int]:
        """Walk one worker after the other until all are finished, one has failed, or others are to be met."""
        at, count = self.headers_at, len(self.workers)
        turn = 0
        while (turn := int(round_robin.take_turns(at, count, turn, int(alone)))) < count:
            worker = self.workers[turn]
            reason = worker.serve(int(worker.header.reason))
            if reason != w.PAUSED:
                return [w.AT_BARRIER] * turn + [reason]  # by worker, as far as they came
        return [int(worker.header.reason) for worker in self.workers]

    # ---- some of the workers -------------------------------------------------------------------

    def begin(
        self,
        rows: dict[str, Rows],
        times: np.ndarray,
        lower: Antichain,
        upper: Antichain,
        first: bool,
        placed: dict[str, list[tuple[int, Rows]]] | None = None,
    ) -> None:
        """Begin a slice: its rows are taken in by the workers that are here, `placed` ones by the worker named."""
        for worker in self.workers:
            if first:
                worker.begin_advance(keeping=False, lower=lower)
            worker.slice_times = times
            worker.begin_slice(upper if self.plan.general else ())
        for name, (lanes, at, diffs) in rows.items():
            if self.plan.general:
                self.share_out(name, lanes, [worker.ranks(at) for worker in self.workers], diffs)
            else:
                self.feed(name, lanes, np.searchsorted(times, at[:, 0]) + 1, diffs)
        here = {worker.me: worker for worker in self.workers}
        for name, blocks in (placed or {}).items():
            for number, (lanes, at, diffs) in blocks:
                worker = here[number]
                ranks = worker.ranks(at) if self.plan.general else np.searchsorted(times, at[:, 0]) + 1
                worker.feed(name, lanes, ranks, diffs)

    def resume(self, outboxes: Outboxes, agreed: int) -> None:
        """Bring in what was sent, from here and elsewhere, in the order of the senders; then all may go on."""
        senders = sorted({worker.me for worker in self.workers} | {sender for sender, _ in outboxes})
        here = {worker.me: worker for worker in self.workers}
        for worker in self.workers:
            for sender in senders:
                words = outboxes.get((sender, worker.me))  # sent off, though the sender may be here by now
                if words is None and sender in here:
                    words = here[sender].outbox_for(worker.me)
                if words is not None and len(words):
                    worker.receive(np.ascontiguousarray(words))
        for worker in self.workers:
            worker.header.agreed = agreed
            worker.header.phase = 1

    def to_barrier(self, results: dict[str, list[Rows]]) -> AtBarrier:
        """Walk to the next barrier, or to the end of the slice."""
        reasons = self.take_turns(alone=False)
        if w.FAILED in reasons or w.AT_BARRIER not in reasons:
            self.collect(reasons, results)
            return AtBarrier(True, {}, False, w.NOTHING, 0)
        at_loop = bool(self.workers[0].header.loop_at)
        least, pending = w.NOTHING, 0
        here = {worker.me for worker in self.workers}
        outboxes: Outboxes = {}
        for worker in self.workers:
            header = worker.header
            pending += int(round_robin.pending_words(header))
            if at_loop:
                least = min(least, int(w.least_in(header, w.Instruction(header.loop_at))))
            for other in range(int(header.workers)):
                if size := int(header.outboxes[other].length):
                    pending += size
                    if at_loop:
                        least = min(least, int(round_robin.least_sent(header, other, worker.program)))
                    if other not in here:
                        outboxes[worker.me, other] = worker.outbox_for(other)
        return AtBarrier(False, outboxes, at_loop, least, pending, self.loop_ahead() if at_loop else None)

    def loop_ahead(self) -> tuple[int, int, int]:
        """The loop at whose head the workers are, and where its round stands in a word of rounds."""
        worker = self.workers[0]
        at = (int(worker.header.loop_at) - worker.program) // w.Instruction.SIZE
        begin = worker.around[at][-1]
        return begin.loop, worker.shift[begin.depth - 1], int(worker.header.bits)

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
        if self.worker_threads is not None:
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


def distinct(times: list[np.ndarray]) -> np.ndarray:
    """The distinct times, in order."""
    if len(times) == 1 and len(times[0]) <= FEW:
        return np.array(sorted(set(times[0].tolist())), np.int64)
    first = times[0][0]
    if all(bool((told_once(part) == first).all()) for part in times):
        return times[0][:1]
    whole = times[0] if len(times) == 1 else np.concatenate(times)
    found = np.empty(len(whole), np.int64)
    count = int(tell_apart(np.ascontiguousarray(whole), found))
    return np.unique(whole) if count < 0 else found[:count]


def ranks_of(at: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Which of the times, which are in order and distinct, each of these is: the first is 1."""
    if len(times) == 1:
        return np.broadcast_to(FIRST_RANK, len(at))  # in memory it stands once
    if times[-1] - times[0] == len(times) - 1:  # none is left out
        return at - (times[0] - 1)
    return np.searchsorted(times, at) + 1


def is_in_order(times: np.ndarray) -> bool:
    return bool((times[1:] >= times[:-1]).all())


def cuts_of(times: list[np.ndarray], most: int) -> tuple[int, list[int]]:
    """The coordinate that moves most, and where it is cut, so that at most so many of its numbers come together."""
    if sum(len(part) for part in times) <= most:
        return 0, []
    numbers = [distinct([part[:, k] for part in times]) for k in range(times[0].shape[1])]
    axis = max(range(len(numbers)), key=lambda k: len(numbers[k]))
    return axis, numbers[axis][most::most].tolist()


def split_at(rows: dict[str, Rows], axis: int, cut: int) -> tuple[dict[str, Rows], dict[str, Rows]]:
    """The rows before a number of the coordinate that they are in the order of, and those from it on."""
    here: dict[str, Rows] = {}
    left: dict[str, Rows] = {}
    for name, (lanes, times, diffs) in rows.items():
        at = int(np.searchsorted(times[:, axis], cut))
        here[name] = lanes[:, :at], times[:at], diffs[:at]
        left[name] = lanes[:, at:], times[at:], diffs[at:]
    return here, left


def least_of(lower: Antichain, times: list[np.ndarray], upper: Antichain) -> list[int]:
    """For each coordinate a number that is not above that of any time to come."""
    if any(number > NEVER for time in lower for number in time):
        return [min(numbers) for numbers in zip(*lower, strict=True)]
    rows = [part.min(axis=0).tolist() for part in times if len(part)]  # nothing is older than what comes first
    return [min(numbers) for numbers in zip(*rows, *upper, strict=True)]


def in_order(lanes: np.ndarray, times: np.ndarray, diffs: np.ndarray, axis: int = 0) -> Rows:
    """The same rows in the order of their times, by one coordinate."""
    if is_in_order(times[:, axis]):
        return lanes, times, diffs
    order = np.argsort(times[:, axis], kind="stable")
    return lanes[:, order], times[order], diffs[order]
