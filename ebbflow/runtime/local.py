"""The local runtime: all workers in one process, in threads.

Rows are buffered until the frontier has passed them, then handed to the workers slice by slice; between slices histories
fold, within a slice every row keeps its own time.  How the rows are cut into slices cannot be seen in what comes out.

Rule: an advance happens whole or not at all; after a refusal everything is as it was, the rows still buffered.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ebbflow.columns.evaluate import program
from ebbflow.columns.pool import Pool
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.lower import Begin, Stage, lower
from ebbflow.runtime import walk as w
from ebbflow.runtime.refusals import refusal
from ebbflow.runtime.worker import Worker
from ebbflow.trace import heap as h
from ebbflow.trace.clock import RANKS_AT_MOST

Antichain = tuple[tuple[int, ...], ...]
Rows = tuple[np.ndarray, np.ndarray, np.ndarray]  # lanes [lanes, n], times [n, coordinates], diffs [n]

SLICE_IN_LOOPS, SLICE = 256, 8192  # times handled together: as many as a step's history stays in the cache


class LocalRuntime:
    def __init__(
        self, graph: Graph, workers: int = 1, pool: Pool | None = None, slice_times: int | None = None, **options
    ):
        self.graph, self.pool = graph, pool if pool is not None else Pool()
        self.plan = lower(graph, self.needs_outside)
        self.workers = [Worker(self.plan, i, workers, self.pool, options.get("reserve")) for i in range(workers)]
        self.threads = ThreadPoolExecutor(workers, "ebbflow") if workers > 1 else None
        self.buffered: dict[str, list[Rows]] = {}
        self.done: dict[str, list[Rows]] = {name: [] for name in self.plan.outputs}
        least = tuple(-(2**63) + 1 for _ in graph.coordinates)
        self.lower: Antichain = (least,)
        self.frontiers: dict[str, Antichain] = {}
        loops = any(isinstance(part, Begin) for part in self.plan.program)
        self.slice_times = slice_times or (SLICE_IN_LOOPS if loops else SLICE)

    def needs_outside(self, stage: Stage) -> bool:
        return stage.as_copy() is None and program(stage.columns, stage.condition, stage.schema, self.pool) is None

    # ---- the protocol -----------------------------------------------------------------------

    def feed(self, name: str, lanes: np.ndarray, times: np.ndarray, diffs: np.ndarray) -> None:
        self.buffered.setdefault(name, []).append((lanes, times, diffs))

    def advance(self, frontiers: dict[str, Antichain]) -> None:
        upper = minimal(tuple(time for frontier in frontiers.values() for time in frontier))
        taken, left = self.split(upper)
        results: list[tuple[str, Rows]] = []
        try:
            if self.plan.general:
                self.general_slice(taken, upper, results)
            elif taken:
                self.chain_slices(taken, results)
        except BaseException:
            for worker in self.workers:
                worker.undo()
            raise
        self.buffered = left
        self.lower, self.frontiers = upper, dict(frontiers)
        for name, rows in results:
            self.done[name].append(rows)

    def discard(self) -> None:
        self.buffered = {}

    def take(self, output: str) -> Rows:
        parts, self.done[output] = self.done[output], []
        lanes = len(self.plan.outputs[output].schema)
        if not parts:
            c = len(self.graph.coordinates)
            return np.empty((lanes, 0), np.int64), np.empty((0, c), np.int64), np.empty(0, np.int64)
        if len(parts) == 1:
            return parts[0]
        return tuple(
            np.concatenate(part, axis=axis) for part, axis in zip(zip(*parts, strict=True), (1, 0, 0), strict=True)
        )

    def frontier(self, output: str) -> Antichain:
        return self.lower

    def close(self) -> None:
        if self.threads is not None:
            self.threads.shutdown()

    def counters(self) -> dict[str, int]:
        found = [worker.counters() for worker in self.workers]
        return {name: sum(one[name] for one in found) for name in found[0]}

    # ---- slices -----------------------------------------------------------------------------

    def split(self, upper: Antichain) -> tuple[dict[str, Rows], dict[str, list[Rows]]]:
        """The buffered rows that are complete under a frontier, and the others."""
        taken: dict[str, Rows] = {}
        left: dict[str, list[Rows]] = {}
        for name, parts in self.buffered.items():
            lanes, times, diffs = (
                parts[0]
                if len(parts) == 1
                else tuple(
                    np.concatenate(part, axis=axis)
                    for part, axis in zip(zip(*parts, strict=True), (1, 0, 0), strict=True)
                )
            )
            complete = np.ones(len(diffs), bool)
            for time in upper:
                complete &= ~(times >= np.array(time, np.int64)).all(axis=1)
            if complete.all():
                taken[name] = (lanes, times, diffs)
            else:
                if complete.any():
                    taken[name] = (lanes[:, complete], times[complete], diffs[complete])
                left[name] = [(lanes[:, ~complete], times[~complete], diffs[~complete])]
        return {name: rows for name, rows in taken.items() if len(rows[2])}, left

    def chain_slices(self, taken: dict[str, Rows], results: list) -> None:
        """One coordinate: the times in order, so many at once."""
        alone = len(taken) == 1 and len(next(iter(taken.values()))[2]) == 1
        times = (
            next(iter(taken.values()))[1][:, 0]
            if alone
            else np.unique(np.concatenate([rows[1][:, 0] for rows in taken.values()]))
        )
        ordered = {}
        for name, (lanes, at, diffs) in taken.items():
            at = at[:, 0]
            if len(at) > 1 and (np.diff(at) < 0).any():
                order = np.argsort(at, kind="stable")
                lanes, at, diffs = lanes[:, order], at[order], diffs[order]
            ordered[name] = (lanes, at, diffs)
        many = len(times) > self.slice_times
        for worker in self.workers:
            worker.begin_advance(keeping=many)
        for start in range(0, len(times), self.slice_times):
            here = times[start : start + self.slice_times]
            for worker in self.workers:
                worker.begin_slice((), ())
            for name, (lanes, at, diffs) in ordered.items():
                a, b = (0, len(at)) if not many else np.searchsorted(at, [here[0], here[-1] + 1])
                if b > a:
                    ranks = np.searchsorted(here, at[a:b]) + 1 if len(here) > 1 else np.ones(b - a, np.int64)
                    self.share_out(name, lanes[:, a:b], [ranks] * len(self.workers), diffs[a:b])
            self.run(lambda ranks: here[ranks - 1][:, None])
            for name in self.plan.outputs:
                for worker in self.workers:
                    rows = worker.take(name)
                    if rows.shape[1]:
                        results.append((name, (rows[:-2], here[rows[-2] - 1][:, None], rows[-1])))

    def general_slice(self, taken: dict[str, Rows], upper: Antichain, results: list) -> None:
        """Several coordinates, or delays: all that is complete now, at once."""
        for worker in self.workers:
            worker.begin_advance(keeping=False)
            worker.begin_slice(self.lower, upper)
        for name, (lanes, times, diffs) in taken.items():
            self.share_out(name, lanes, [worker.ranks(times) for worker in self.workers], diffs)
        self.run(self.workers[0].time_of)
        for name in self.plan.outputs:
            for worker in self.workers:
                rows = worker.take(name)
                if rows.shape[1]:
                    results.append((name, (rows[:-2], worker.time_of(rows[-2]), rows[-1])))

    def share_out(self, name: str, lanes: np.ndarray, ranks: list[np.ndarray], diffs: np.ndarray) -> None:
        """Each worker takes in a part of the rows; the exchange brings them where they belong."""
        count = len(self.workers)
        for i, worker in enumerate(self.workers):
            a, b = len(diffs) * i // count, len(diffs) * (i + 1) // count
            worker.feed(name, lanes[:, a:b], ranks[i][a:b], diffs[a:b])

    def run(self, time_of) -> None:
        """All workers walk to the end of the slice, meeting where the plan says so."""
        if self.threads is None:
            (worker,) = self.workers
            if worker.run() == w.FAILED:
                raise refusal(worker, time_of)
            return
        self.meet(None)
        while True:
            reasons = list(self.threads.map(Worker.run, self.workers))
            if w.FAILED in reasons:
                worker = self.workers[reasons.index(w.FAILED)]
                raise refusal(worker, worker.time_of if self.plan.general else time_of)
            if w.FINISHED in reasons:
                assert reasons == [w.FINISHED] * len(reasons), reasons
                return
            self.meet([int(worker.H[worker.W + h.PLACE]) for worker in self.workers])

    def meet(self, loops: list[int] | None) -> None:
        """Mail is delivered; at the head of a loop the workers agree on the next round."""
        mail = [[sender.mail_for(i) for sender in self.workers] for i in range(len(self.workers))]
        for worker, letters in zip(self.workers, mail, strict=True):
            for words in letters:
                if len(words):
                    worker.receive(words)
        if loops is None:
            return
        if loops[0]:
            agreed = min(
                int(w.least_in(worker.H, worker.W, at)) for worker, at in zip(self.workers, loops, strict=True)
            )
            for worker in self.workers:
                worker.H[worker.W + h.AGREED] = agreed
        for worker in self.workers:
            worker.H[worker.W + h.PHASE] = 1


def minimal(times: Antichain) -> Antichain:
    """The times that no other one precedes."""
    distinct = sorted(set(times))
    return tuple(
        t for t in distinct if not any(s != t and all(a <= b for a, b in zip(s, t, strict=True)) for s in distinct)
    )


assert SLICE < RANKS_AT_MOST
