"""Jobs: what Spark's pages and listeners see of the jobs that we start, and a line on the terminal for long ones.

A description and a tag are properties of the thread that starts a job. They are set for the time of one action, during
which this thread waits for it, and put back.

Rule: after an action the thread's properties are what they were, whatever it raised. Where a thread of Python has no
thread of Java of its own, and on Spark Connect, nothing is set.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

TAG = "ebbflow"
DESCRIPTION, TAGS = "spark.job.description", "spark.job.tags"
SOON = 2.0  # seconds after which somebody who waits is told what for
OFTEN = 0.5
FEW_NAMES = 3


def titled(names: Sequence[str]) -> str:
    """A program by its outputs."""
    return ", ".join(names[:FEW_NAMES]) + (" ..." if len(names) > FEW_NAMES else "")


@contextlib.contextmanager
def described(spark: Any, doing: str) -> Iterator[None]:
    """Jobs of this thread have this description and our tag; if it takes long, a terminal shows it."""
    text = f"{TAG}: {doing}"
    with waiting_line(text):
        context = _context(spark)
        if context is None:
            yield
            return
        before = {name: context.getLocalProperty(name) for name in (DESCRIPTION, TAGS)}
        try:
            context.setLocalProperty(DESCRIPTION, text)
            context.setLocalProperty(TAGS, ",".join(filter(None, [before[TAGS], TAG])))
            yield
        finally:
            for name, value in before.items():
                context.setLocalProperty(name, value)


def _context(spark: Any) -> Any:
    """Spark's own context, whose properties are those of this thread."""
    if not hasattr(spark, "_jsparkSession") or os.environ.get("PYSPARK_PIN_THREAD", "true").lower() != "true":
        return None
    return spark._jsparkSession.sparkContext()


@contextlib.contextmanager
def waiting_line(text: str) -> Iterator[None]:
    """A line of the terminal that says what is waited for, and for how long, from two seconds on."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    ends, began = threading.Event(), time.monotonic()

    def tells() -> None:
        wait = SOON
        while not ends.wait(wait):
            sys.stderr.write(f"\r\x1b[2K{text}: {time.monotonic() - began:.0f} s")
            sys.stderr.flush()
            wait = OFTEN
        if wait == OFTEN:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()

    teller = threading.Thread(target=tells, name="ebbflow waiting line", daemon=True)
    teller.start()
    try:
        yield
    finally:
        ends.set()
        teller.join()
