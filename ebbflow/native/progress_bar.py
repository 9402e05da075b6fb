"""Progress bar: shown on the terminal while kernels compile; lines, where there is no terminal.

Rule: a bar is erased when compilation ends. A line is written only by who waits longer than two seconds, and no more
than one in ten seconds, so that a log and a notebook say why nothing happens.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SILENT_FOR, LINE_EVERY = 2.0, 10.0  # seconds before the first line, and between lines


@contextmanager
def progress_bar(total: int) -> Iterator[Callable[[int], None]]:
    """A function that is told how many kernels are done."""
    if sys.stderr is None:
        yield lambda done: None
        return
    if not sys.stderr.isatty():
        yield _lines(total)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    text = TextColumn("compiling kernels, once: {task.completed} of {task.total}")
    with Progress(text, BarColumn(), TimeElapsedColumn(), console=Console(stderr=True), transient=True) as drawn:
        task = drawn.add_task("", total=total)
        yield lambda done: drawn.update(task, completed=done)


def _lines(total: int) -> Callable[[int], None]:
    due = time.monotonic() + SILENT_FOR

    def show(done: int) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + LINE_EVERY
            sys.stderr.write(f"ebbflow compiles its kernels, once: {done} of {total}\n")
            sys.stderr.flush()

    return show
