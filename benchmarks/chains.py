"""Chains: one key that changes at every one of a million times.

A long history of a single key is where an operator that looks at all of it again becomes quadratic.  `join` pairs
the odd counts with the even ones, which are never there together; `min` sees value t come and value t - `live` go.

Rule: all times are handed over at once, and the work is done in one step; among several coordinates, in as many as it
takes, since one step knows at most half a million times there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import ebbflow as ebb
from benchmarks import measure
from benchmarks.generator import Checks

STEP_AMONG_SEVERAL = 250_000  # times

PAIRS = {
    "join": ("odd", "even"),
    "join-general": ("odd", "even"),
    "count": ("key", "count"),
    "min": ("key", "least"),
}


def program(kind: str) -> ebb.Dataflow:
    flow = ebb.Dataflow(time=("time", "still")) if kind == "join-general" else ebb.Dataflow()
    data = flow.input("data", "key long, value long")
    if kind == "min":
        flow.output("chain", data.group_by("key").agg(least=ebb.min("value")))
        return flow
    counts = data.group_by("key").agg(count=ebb.count())
    if kind == "count":
        flow.output("chain", counts)
        return flow
    odd = counts.filter(lambda r: r["count"] % 2 != 0).rename({"count": "odd"})
    even = counts.filter(lambda r: r["count"] % 2 == 0).rename({"count": "even"})
    flow.output("chain", odd.join(even, on="key").select("odd", "even"))
    return flow


def changes(kind: str, times: int, live: int) -> dict[str, Any]:
    """The rows of all times: key, value, t and d."""
    t = np.arange(times)
    if kind != "min":
        return {"key": np.zeros_like(t), "value": np.zeros_like(t), "t": t, "d": np.ones_like(t)}
    gone = t[live:]
    value, time = np.concatenate([t, gone - live]), np.concatenate([t, gone])
    diff = np.concatenate([np.ones_like(t), -np.ones_like(gone)])
    order = np.argsort(time, kind="stable")
    return {"key": np.zeros_like(time), "value": value[order], "t": time[order], "d": diff[order]}


def run(kind: str, times: int, live: int = 1, workers: int = 1) -> dict[str, Any]:
    measure.get_ready()
    rows, checks, clock = changes(kind, times, live), Checks(), measure.Clock()
    general = kind == "join-general"
    with program(kind).run(workers=workers) as session:
        counted = measure.Counted(session)
        began = measure.CLOCK()
        session.apply("data", rows, time=("t", 0) if general else "t", diff="d")
        fed = measure.CLOCK()
        for done in range(STEP_AMONG_SEVERAL, times, STEP_AMONG_SEVERAL) if general else ():
            session.advance_to((done, 0))
        session.advance_to((times, 0) if general else times)
        worked = measure.CLOCK()
        answer = session.changes("chain").to_arrow()
        clock.step(began, fed, worked, measure.CLOCK())
        measure.add(checks, answer, PAIRS[kind])
        counts = {"times": counted.now()}
    told = clock.told(times)
    return {**told, "s": sum(clock.steps), "peak_mb": measure.peak_mb(), "checks": checks.told(), "counts": counts}
