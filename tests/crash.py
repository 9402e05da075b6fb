"""Real deaths: `python -m tests.crash --kills 1000 --seed 7`.

A session with two nested loops, rows by key and text is fed a history; its process is killed at a random instant, and
another goes on from what is on disk.  Whatever was answered before must be there, whole, and the end must be right.

Rule: the seed says everything but the instants; a run in which nothing was killed in the middle of a step has failed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from random import Random

import ebbflow as ebb
from ebbflow import algorithms
from ebbflow.errors import SecondSession

OUTPUTS = ("components", "reach", "wealth")
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None


def program() -> ebb.Dataflow:
    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long, dst long")
    flow.output("components", algorithms.strongly_connected_components(edges))
    start = flow.input("roots", "root long").select("root", node="root")
    step = lambda reach: reach.join(edges, on={"node": "src"}).select("root", node="dst").union(start).distinct()
    flow.output("reach", start.iterate(step))
    accounts = flow.input("accounts", "id long, owner string, balance long", key="id")
    flow.output("wealth", accounts.group_by("owner").agg(total=ebb.sum("balance")))
    return flow


def edit(live, seed: int, step: int) -> None:
    """One step of the history: a function of the seed and its number."""
    random = Random(f"{seed} {step}")
    for _ in range(random.randrange(3)):
        live.insert("edges", [(random.randrange(7), random.randrange(7))], time=step + random.choice((0, 0, 3)))
    if step >= 6 and random.random() < 0.5:
        old = Random(f"{seed} {step - 6}")
        if old.randrange(3):
            live.delete("edges", [(old.randrange(7), old.randrange(7))], time=step)
    if random.random() < 0.3:
        live.insert("roots", [(random.randrange(4),)], time=step)
    row = (random.randrange(5), random.choice(["ann", "bob", f"new {step}"]), random.randrange(50))
    live.upsert("accounts", [row], time=step + random.choice((0, 1, 4)))
    live.advance_to(step + 1)


def answers(live) -> list:
    return [live.snapshot(name).rows() for name in OUTPUTS]


def expected(seed: int, steps: int) -> list:
    live = program().run()
    found = [answers(live)]
    for step in range(steps):
        edit(live, seed, step)
        found.append(answers(live))
    return found


def live_on(place: str, seed: int, right: list, told: int, out: int) -> None:
    """In a child: open, compare, and go on with the history until it ends or somebody kills us."""
    live = program().run(checkpoint=place)
    at = live.frontier("reach")[0][0]
    assert at >= told, f"step {told} was answered, and {at} is there"
    assert answers(live) == right[at], f"step {at} is not as it was"
    os.write(out, b"o%d\n" % at)
    for step in range(at, len(right) - 1):
        os.write(out, b"b%d\n" % step)
        edit(live, seed, step)
        os.write(out, b"d%d\n" % (step + 1))
    assert answers(live) == right[-1]
    live._release()
    os.write(out, b"e\n")


def in_child(work) -> int:
    """Fork; the child does the work and ends, by itself or not.  Its process id."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    return child


def run(kills: int, seed: int, steps: int = 40) -> Counter:
    """So many deaths, over as many histories as that takes."""
    counts: Counter = Counter()
    random = Random(seed)
    history = seed
    while counts["kills"] < kills:
        right = expected(history, steps)
        with_place(history, right, kills, random, counts)
        counts["histories"] += 1
        history += 1
    return counts


def with_place(history: int, right: list, kills: int, random: Random, counts: Counter) -> None:
    place = tempfile.mkdtemp(prefix="ebbflow-crash-", dir=MEMORY)
    told, is_over = 0, False
    try:
        while not is_over:
            reading, writing = os.pipe()
            child = in_child(lambda t=told, w=writing: live_on(os.path.join(place, "state"), history, right, t, w))
            os.close(writing)
            first = b""
            if counts["kills"] < kills:
                first = os.read(reading, 1 << 16) if random.random() < 0.8 else b""  # mostly, when it is at work
                time.sleep(random.random() ** 2 * (0.15 if first else 0.3))
                os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            with os.fdopen(reading, "rb") as file:
                lines = (first + file.read()).decode().split()
            told = max([told, *(int(line[1:]) for line in lines if line[0] in "od")])
            is_over = "e" in lines
            if os.WIFSIGNALED(status):
                counts["kills"] += 1
                counts[
                    "killed while opening"
                    if not lines
                    else "killed within a step"
                    if lines[-1][0] == "b"
                    else "killed between steps"
                ] += 1
            elif os.WEXITSTATUS(status):
                raise AssertionError(
                    f"history {history}: a session that was opened after {counts['kills']} kills failed"
                )
    finally:
        shutil.rmtree(place, ignore_errors=True)


# ---- several writers ------------------------------------------------------------------------------------


def compete(writers: int, each: int) -> Counter:
    """Several processes on one directory, each adding its rows; one that is told it lost opens again and repeats."""
    place = os.path.join(tempfile.mkdtemp(prefix="ebbflow-race-", dir=MEMORY), "state")
    make = race
    make().run(checkpoint=place)._release()
    reading, writing = os.pipe()
    try:
        children = [in_child(lambda me=me: write_rows(make, place, me, each, writing)) for me in range(writers)]
        for child in children:
            _, status = os.waitpid(child, 0)
            assert status == 0, "a writer failed"
        os.close(writing)
        with os.fdopen(reading) as file:
            counts = Counter(file.read().split())
        live = make().run(checkpoint=place)
        rows = sorted(live.snapshot("rows").rows())
        assert rows == [(me, i, 1) for me in range(writers) for i in range(each)], rows
        assert live._runtime.ledger.step == writers * each == counts["won"]
        live._release()
        return counts
    finally:
        shutil.rmtree(os.path.dirname(place), ignore_errors=True)


def race() -> ebb.Dataflow:
    flow = ebb.Dataflow()
    flow.output("rows", flow.input("rows", "me long, i long"))
    return flow


def write_rows(make, place: str, me: int, each: int, out: int) -> None:
    i, live = 0, None
    while i < each:
        try:
            live = live or make().run(checkpoint=place)
            live.insert("rows", [(me, i)])
            live.commit()
        except SecondSession:
            os.write(out, b"lost\n")
            if live is not None:
                live._release()
            live = None
            continue
        os.write(out, b"won\n")
        i += 1
    live._release()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--steps", type=int, default=40, help="of a history")
    asked = parser.parse_args(arguments)
    started = time.monotonic()
    counts = run(asked.kills, asked.seed, asked.steps)
    print(f"seed {asked.seed}: {counts['kills']} kills, 0 failures, {time.monotonic() - started:.1f} s")
    print("  " + ", ".join(f"{what} {count}" for what, count in sorted(counts.items())))
    return 0 if counts["killed within a step"] else 1


if __name__ == "__main__":
    sys.exit(main())
