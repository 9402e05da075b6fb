"""Progress bar: shown on the terminal while kernels compile.

Rule: it is drawn only if standard error is a terminal, and is erased when compilation ends.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(total: int) -> Iterator[Callable[[int], None]]:
    """A function that is told how many kernels are done."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    text = TextColumn("compiling kernels, once: {task.completed} of {task.total}")
    with Progress(text, BarColumn(), TimeElapsedColumn(), console=Console(stderr=True), transient=True) as drawn:
        task = drawn.add_task("", total=total)
        yield lambda done: drawn.update(task, completed=done)
