"""Several threads at one session: `python -m tests.threads --runs 200 --seed 7`.

Writers, committers, readers, subscribers, a signal handler, a function of the program and a finalizer call one session
as often as they can while Python changes threads after almost every instruction; in the middle of it one of them closes
the session.  Each writes down what it was answered, and afterwards the history is judged.

Rule: what was acknowledged is there once, at the time it was given or, without one, at or after the frontier its thread
had seen; nothing else is there; and of all that threads read, each change was read once.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import hashlib
import itertools
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from random import Random

import ebbflow as ebb
from ebbflow.errors import FrontierMovedBack, LateTime, SessionClosed, StepUnderWay

MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None
SWITCH = 1e-6  # seconds after which Python lets another thread go on
OPERATIONS = 120  # of each thread, unless the session is closed before
STEPPED = ("copy", "sums", "last")


class Dropped:
    """Something whose finalizer calls the session."""

    def __init__(self, call):
        self.call, self.me = call, self  # a cycle: the collector finds it, wherever a thread happens to be

    def __del__(self):
        self.call()


class History:
    """What every thread was answered."""

    def __init__(self, seed: int, workers: int, place: str | None):
        self.seed, self.random = seed, Random(seed)
        self.counts: Counter = Counter()
        self.order: list[str] = []  # of acknowledgements
        self.acknowledged: list[tuple] = []  # (me, i), diff, time given or None, frontier seen before
        self.refused: set[tuple] = set()
        self.balances: dict[int, list] = {}
        self.read: list[tuple] = []  # changes of "copy", whoever read them
        self.heard: list[tuple] = []
        self.failures: list[str] = []
        self.is_over = self.is_handling = False
        self.numbers = itertools.count()  # of calls that may come in the middle of one another
        self.live = self.program().run(workers=workers, checkpoint=place)
        self.live.subscribe("copy", self.hear)

    def program(self) -> ebb.Dataflow:
        flow = ebb.Dataflow()
        rows = flow.input("rows", "me long, i long, word string")
        flow.output("copy", rows)
        touched = rows if self.seed % 2 else rows.map_rows(self.reenter, "me long, i long, word string")
        flow.output("sums", touched.group_by("me").agg(n=ebb.count(), most=ebb.max("i")))
        flow.output("last", flow.input("accounts", "id long, balance long", key="id"))
        return flow

    # ---- calls that come from within others -------------------------------------------------------

    def reenter(self, row):
        """A function of the program: whatever it calls is refused."""
        if row.i % 7 == 0:
            self.must_be_refused("function")
        return tuple(row)

    def must_be_refused(self, who: str) -> None:
        calls = [
            lambda: self.live.insert("rows", [(-1, 0, who)]),
            lambda: self.live.commit(),
            lambda: self.live.changes("copy"),
            lambda: self.live.close(),
            lambda: self.live.snapshot("copy"),
        ]
        try:
            calls[len(self.order) % len(calls)]()
            self.failures.append(f"a {who} was not refused")
        except StepUnderWay:
            self.counts[f"refused: {who}"] += 1

    def on_signal(self, *_) -> None:
        """One at a time: on a busy machine the next signal comes before the last one is handled."""
        if not self.is_handling:
            self.is_handling = True
            self.at_any_time("signal")
            self.is_handling = False

    def at_any_time(self, who: str) -> None:
        """From a signal handler or a finalizer: it has its turn, or it is refused; it never waits for itself."""
        try:
            self.insert(who, next(self.numbers))
        except StepUnderWay:
            self.counts[f"refused: {who}"] += 1
        except SessionClosed:
            self.counts[f"closed before: {who}"] += 1

    def hear(self, changes, frontier) -> None:
        self.heard += [(frontier, row) for row in changes.rows()]
        if self.counts["heard"] % 3 == 0 and not self.is_over:  # a subscriber may call the session
            self.counts["read by a subscriber"] += 1
            self.read += self.live.changes("copy").rows()
        self.counts["heard"] += 1

    # ---- what threads do ----------------------------------------------------------------------------

    WHO = ("signal", "finalizer")

    def insert(self, who: int | str, i: int, diff: int = 1, time: int | None = None) -> None:
        me = who if isinstance(who, int) else 100 + self.WHO.index(who)
        key = (me, i, f"w{i % 13}")
        try:
            seen = self.live.frontier("rows")
            if diff == 1:
                self.live.insert("rows", [key], time=time)
            elif diff == -1:
                self.live.delete("rows", [key], time=time)
            else:
                self.live.apply("rows", {"me": [me], "i": [i], "word": [key[2]]}, time=time, diff=diff)
        except (SessionClosed, StepUnderWay, LateTime):
            self.refused.add((key, diff))
            raise
        self.acknowledged.append((key, diff, time, seen))
        self.order.append(str(who))

    def write(self, me: int) -> None:
        random = Random(f"{self.seed} {me}")
        for i in range(OPERATIONS):
            early = self.live.frontier("rows")
            if not early:
                return
            when = random.choice((None, None, early[0][0] + random.randrange(3)))
            try:
                self.insert(me, i, random.choice((1, 1, -1, 3)), when)
            except LateTime:
                self.counts["refused: late"] += 1
            if random.random() < 0.2:
                balance = me * 10_000 + i
                self.live.upsert("accounts", [(me, balance)])  # its own key: the last one counts
                self.balances[me] = [(me, balance)]
                self.order.append(f"u{me}")
            if random.random() < 0.05:
                Dropped(lambda: self.at_any_time("finalizer"))

    def commit(self, me: int) -> None:
        random = Random(f"{self.seed} {me}")
        for _ in range(OPERATIONS // 2):
            if random.random() < 0.7:
                self.read += self.live.commit()["copy"].rows()
            else:
                try:
                    at = self.live.frontier("rows")
                    if at:
                        self.live.advance_to(at[0][0] + random.randrange(3))
                except FrontierMovedBack:
                    self.counts["refused: moved back"] += 1
            self.order.append(f"c{me}")

    def look(self, me: int) -> None:
        random = Random(f"{self.seed} {me}")
        ends = []
        for _ in range(OPERATIONS // 2):
            act = random.randrange(6)
            if act == 0:
                self.read += self.live.changes("copy").rows()
            elif act == 1:
                self.live.snapshot(random.choice(STEPPED)).rows()
            elif act == 2:
                ends.append(self.live.subscribe("sums", lambda changes, frontier: changes.rows()))
            elif act == 3 and ends:
                ends.pop()()
            elif act == 4:
                self.live.counters()
                repr(self.live)
            else:
                gc.collect(0)
            self.order.append(f"l{me}")

    def guarded(self, act, me: int) -> None:
        try:
            act(me)
        except SessionClosed:
            self.counts["stopped by close"] += 1
        except BaseException as error:
            self.failures.append(f"thread {me}: {error!r}")

    # ---- a run --------------------------------------------------------------------------------------

    def run(self) -> None:
        acts = [self.write, self.write, self.write, self.commit, self.commit, self.look]
        threads = [threading.Thread(target=self.guarded, args=(act, me)) for me, act in enumerate(acts)]
        was = signal.signal(signal.SIGALRM, self.on_signal)
        for thread in threads:
            thread.start()
        signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
        patience = self.random.choice((0.02, 0.1, 60))
        until = time.monotonic() + patience
        try:
            while any(thread.is_alive() for thread in threads) and time.monotonic() < until:
                try:
                    self.write_one()
                except (SessionClosed, LateTime):
                    break
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, was)
        self.counts["closed in the middle"] += any(thread.is_alive() for thread in threads)
        if self.random.random() < 0.5:
            self.live.close()
        else:
            self.live.__exit__(None, None, None)  # what the end of a `with` block calls
        for thread in threads:
            thread.join()
        self.is_over = True

    def write_one(self) -> None:
        i = self.counts["main"]
        self.counts["main"] += 1
        self.insert(50, i)
        if i % 10 == 9:
            self.read += self.live.commit()["copy"].rows()

    def judge(self) -> None:
        """Compare what is there with what was answered."""
        gc.collect()
        self.read += self.live.changes("copy").rows()
        if not self.live._at.is_closed:  # pragma: no cover
            self.failures.append("it is not closed")
        wanted: Counter = Counter()
        for key, diff, _, _ in self.acknowledged:
            wanted[key] += diff
        there = Counter({tuple(row[:-1]): row[-1] for row in self.live.snapshot("copy").rows()})
        waits = self.live._at.persistence is not None and self.live.frontier("copy") != []  # given early, and kept
        by_row: dict[tuple, list] = {}
        for *key, when, diff in self.read:
            by_row.setdefault(tuple(key), []).append((when, diff))
        for key, diff, when, seen in self.acknowledged:
            found = by_row.pop(key, [])
            if waits and not found and (when is None or when >= self.live.frontier("copy")[0][0]):
                self.counts["waiting"] += 1
                del wanted[key]
                continue
            if len(found) != 1 or found[0][1] != diff:
                self.failures.append(f"{key} {diff:+} at {when} was acknowledged, and read as {found}")
            elif (found[0][0] != when) if when is not None else (found[0][0] < seen[0][0]):
                self.failures.append(f"{key} was acknowledged at {when or seen}, and is there at {found[0][0]}")
        if by_row:
            self.failures.append(f"nobody was told that these are there: {list(by_row.items())[:3]}")
        if there != wanted:
            self.failures.append(f"the snapshot differs: {list(((there - wanted) + (wanted - there)).items())[:5]}")
        if Counter(row for _, row in self.heard) != Counter(self.read):
            self.failures.append(f"{len(self.heard)} changes were heard, and {len(self.read)} read")
        frontiers = [frontier[0] if frontier else (2**63,) for frontier, _ in self.heard]
        if frontiers != sorted(frontiers):
            self.failures.append("a subscriber heard of steps in another order than they were made")
        if not waits:
            last = sorted(row[:-1] for row in self.live.snapshot("last").rows())
            if last != sorted(row for rows in self.balances.values() for row in rows):
                self.failures.append(f"of the rows by key {last} are there")
            sums: Counter = Counter()
            for (me, _, _), diff in wanted.items():
                sums[me] += diff
            found_sums = {row[0]: row[1] for row in self.live.snapshot("sums").rows()}
            if found_sums != {me: n for me, n in sums.items() if n}:
                self.failures.append(f"the sums are {found_sums} instead of {dict(sums)}")


def run(runs: int, seed: int, workers: int, kept: bool) -> Counter:
    counts: Counter = Counter()
    orders = set()
    was = sys.getswitchinterval()
    for number in range(seed, seed + runs):
        place = tempfile.mkdtemp(prefix="ebbflow-threads-", dir=MEMORY) if kept else None
        history = History(number, workers, os.path.join(place, "state") if place else None)
        sys.setswitchinterval(SWITCH)
        try:
            history.run()
        finally:
            sys.setswitchinterval(was)
            if place:
                shutil.rmtree(place, ignore_errors=True)
        history.judge()
        if history.failures:
            raise AssertionError(f"run {number}: {len(history.failures)} failures: " + "\n".join(history.failures[:8]))
        counts += history.counts
        counts["operations"] += len(history.order)
        counts["acknowledged"] += len(history.acknowledged)
        counts["refused"] += sum(n for what, n in history.counts.items() if what.startswith("refused"))
        orders.add(hashlib.sha256(" ".join(history.order).encode()).digest())
    counts["interleavings"] = len(orders)
    return counts


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.threads", description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--kept", action="store_true", help="with a checkpoint")
    asked = parser.parse_args(arguments)
    faulthandler.enable()
    faulthandler.dump_traceback_later(300, exit=True)  # who waits for ever is named
    started = time.monotonic()
    counts = run(asked.runs, asked.seed, asked.workers, asked.kept)
    print(f"seed {asked.seed}: {asked.runs} runs, 0 failures, {time.monotonic() - started:.1f} s")
    print("  " + ", ".join(f"{what} {count}" for what, count in sorted(counts.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
