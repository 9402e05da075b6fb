"""A host: some workers in one process that together run one plan.

Rows are handed to the workers slice by slice; between slices histories fold, within a slice every row keeps its own
time.  How rows are cut into slices cannot be seen in what comes out.  Workers run in threads and meet where the plan
exchanges.

Rule: what a host gives back depends on the multiset of what it was fed, not on its order or its cuts.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np

from ebbflow.columns.evaluate import program
from ebbflow.columns.pool import Pool
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.lower import Begin, Stage, lower
from ebbflow.errors import PlanError
from ebbflow.runtime import walk as w
from ebbflow.runtime.refusals import refusal
from ebbflow.runtime.worker import WORKERS_AT_MOST, Worker
from ebbflow.trace import heap as h

Antichain = tuple[tuple[int, ...], ...]
Rows = tuple[np.ndarray, np.ndarray, np.ndarray]  # lanes [lanes, n], times [n, coordinates], diffs [n]

FEW = 16  # rows that Python looks at faster than numpy
SLICE_IN_LOOPS, SLICE = 256, 8192  # times handled together: as many as a step's history stays in the cache


class Host:
    def __init__(self, graph: Graph, workers: int, pool: Pool, slice_times: int | None = None, **tuning):
        if not 1 <= workers <= WORKERS_AT_MOST:
            raise PlanError(f"A program runs on 1 to {WORKERS_AT_MOST} workers, not on {workers}.")
        self.graph, self.pool = graph, pool
        self.plan = lower(graph, self.needs_outside)
        self.workers = [Worker(self.plan, i, workers, pool, **tuning) for i in range(workers)]
        self.threads = ThreadPoolExecutor(workers, "ebbflow") if workers > 1 else None
        loops = any(isinstance(part, Begin) for part in self.plan.program)
        self.slice_times = slice_times or (SLICE_IN_LOOPS if loops else SLICE)

    def needs_outside(self, stage: Stage) -> bool:
        return stage.as_copy() is None and program(stage.columns, stage.condition, stage.schema, self.pool) is None

    def advance(self, rows: dict[str, Rows], lower: Antichain, upper: Antichain) -> dict[str, list[Rows]]:
        """Retire the times between two frontiers, whose rows these are; the changes of every output.

        Whatever is raised, `undo` leaves everything as it was.
        """
        results: dict[str, list[Rows]] = {}
        if self.plan.general:
            self.general_slice(rows, lower, upper, results)
        elif rows:
            times = distinct([at[:, 0] for _, at, _ in rows.values()])
            if len(rows) == len(times) == len(self.workers) == 1:
                self.quick_slice(rows, times, results)
            else:
                self.chain_slices(rows, times, results)
        return results

    def undo(self) -> None:
        """Take back the last advance, finished or not."""
        for worker in self.workers:
            worker.undo()

    def close(self) -> None:
        if self.threads is not None:
            self.threads.shutdown()

    def counters(self) -> dict[str, int]:
        found = [worker.counters() for worker in self.workers]
        return {name: sum(one[name] for one in found) for name in found[0]}

    # ---- slices -----------------------------------------------------------------------------

    def quick_slice(self, rows: dict[str, Rows], times: np.ndarray, results: dict[str, list[Rows]]) -> None:
        """One time at one input of one worker, which is what a single change is."""
        (worker,) = self.workers
        ((name, (lanes, _, diffs)),) = rows.items()
        worker.slice_times = times
        reason = worker.quick_step(name, np.ascontiguousarray(lanes), np.ascontiguousarray(diffs))
        self.collect([reason], results)

    def chain_slices(self, rows: dict[str, Rows], times: np.ndarray, results: dict[str, list[Rows]]) -> None:
        """One coordinate: the times in order, so many at once."""
        many = len(times) > self.slice_times
        ordered = {name: in_order(*part) for name, part in rows.items()} if many else rows
        for worker in self.workers:
            worker.begin_advance(keeping=many)
        for start in range(0, len(times), self.slice_times):
            here = times[start : start + self.slice_times]
            for worker in self.workers:
                worker.slice_times = here
                worker.begin_slice()
            for name, (lanes, at, diffs) in ordered.items():
                if many:
                    a, b = np.searchsorted(at[:, 0], here[0]), np.searchsorted(at[:, 0], here[-1], "right")
                    lanes, at, diffs = lanes[:, a:b], at[a:b], diffs[a:b]
                if len(diffs):
                    ranks = np.searchsorted(here, at[:, 0]) + 1 if len(here) > 1 else np.ones(len(diffs), np.int64)
                    self.share_out(name, lanes, [ranks] * len(self.workers), diffs)
            self.walk(results)

    def general_slice(self, rows: dict[str, Rows], lower: Antichain, upper: Antichain, results: dict) -> None:
        """Several coordinates, or delays: all that is complete now, at once."""
        for worker in self.workers:
            worker.begin_advance(keeping=False, lower=lower)
            worker.begin_slice(upper)
        for name, (lanes, times, diffs) in rows.items():
            self.share_out(name, lanes, [worker.ranks(times) for worker in self.workers], diffs)
        self.walk(results)

    def share_out(self, name: str, lanes: np.ndarray, ranks: list[np.ndarray], diffs: np.ndarray) -> None:
        """Each worker takes in a part of the rows; the exchange brings them where they belong."""
        count = len(self.workers)
        for i, worker in enumerate(self.workers):
            a, b = len(diffs) * i // count, len(diffs) * (i + 1) // count
            worker.feed(name, lanes[:, a:b], ranks[i][a:b], diffs[a:b])

    def walk(self, results: dict[str, list[Rows]]) -> None:
        """All workers walk to the end of the slice; what the outputs took in is added to the results."""
        self.collect([self.workers[0].run()] if self.threads is None else self.walk_together(), results)

    def collect(self, reasons: list[int], results: dict[str, list[Rows]]) -> None:
        """What the outputs took in, once the walk is finished; a refusal, if it failed."""
        if w.FAILED in reasons:
            raise refusal(self.workers[reasons.index(w.FAILED)])
        for name in self.plan.outputs:
            for worker in self.workers:
                rows = worker.take(name)
                if rows is not None:
                    results.setdefault(name, []).append((rows[:-2], worker.time_of(rows[-2]), rows[-1]))

    def walk_together(self) -> list[int]:
        """Walk until all are finished or one has failed, meeting where the plan says so."""
        assert self.threads is not None
        self.exchange()
        while True:
            reasons = self.run_all()
            if w.MEETS not in reasons or w.FAILED in reasons:
                return reasons
            self.exchange()
            if loop := int(self.workers[0].H[self.workers[0].W + h.PLACE]):
                self.agree(loop)
            for worker in self.workers:
                worker.H[worker.W + h.PHASE] = 1

    def run_all(self) -> list[int]:
        """Every worker runs in its thread; if this one is interrupted meanwhile, they are stopped first."""
        assert self.threads is not None
        running = [self.threads.submit(worker.run) for worker in self.workers]
        try:
            return [one.result() for one in running]
        except BaseException:
            for worker in self.workers:
                worker.stopped = True
            wait(running)
            raise
        finally:
            for worker in self.workers:
                worker.stopped = False

    def exchange(self) -> None:
        """Deliver the mail."""
        mail = [[sender.mail_for(i) for sender in self.workers] for i in range(len(self.workers))]
        for worker, letters in zip(self.workers, mail, strict=True):
            for words in letters:
                if len(words):
                    worker.receive(words)

    def agree(self, loop: int) -> None:
        """At the head of a loop, the next round is the least that is pending anywhere."""
        offset = loop - self.workers[0].program
        agreed = min(int(w.least_in(worker.H, worker.W, worker.program + offset)) for worker in self.workers)
        for worker in self.workers:
            worker.H[worker.W + h.AGREED] = agreed


def distinct(times: list[np.ndarray]) -> np.ndarray:
    """The distinct times, in order."""
    if len(times) == 1 and len(times[0]) <= FEW:
        return times[0][:1] if len(set(times[0].tolist())) == 1 else np.unique(times[0])
    first = times[0][0]
    if all(bool((part == first).all()) for part in times):
        return times[0][:1]
    return np.unique(times[0] if len(times) == 1 else np.concatenate(times))


def in_order(lanes: np.ndarray, times: np.ndarray, diffs: np.ndarray) -> Rows:
    """The same rows in the order of their times."""
    if (np.diff(times[:, 0]) >= 0).all():
        return lanes, times, diffs
    order = np.argsort(times[:, 0], kind="stable")
    return lanes[:, order], times[order], diffs[order]
