"""A user's program from the outside: run it, or stop it where it would first run a dataflow and look at its plans.

A program is an ordinary Python file.  It is run as `python PROGRAM.py` would run it: its directory is first on the
path, its arguments are its own, `__name__` is "__main__".

Rule: asking for plans feeds nothing and computes nothing; the file's own top-level statements before that do run.
"""

from __future__ import annotations

import runpy
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import click

import ebbflow
from ebbflow.errors import EbbflowError

RUNS = ("run", "compute", "stream")  # the methods of a Dataflow that begin to work


class _WouldRun(BaseException):
    """Ends the user's program at the first call that would run a dataflow; no Exception, since those they may catch."""

    def __init__(self, flow: Any):
        self.flow = flow


def run(path: Path, arguments: Sequence[str] = ()) -> dict[str, Any]:
    """The program's names, after it ended."""
    with _as_the_main_program(path, arguments):
        return runpy.run_path(str(path), run_name="__main__")


@contextmanager
def problems_as_python_shows_them(path: Path) -> Iterator[None]:
    """A program that raises ends with status 1 and its traceback, from its own lines on; refusals go on."""
    try:
        yield
    except (EbbflowError, click.ClickException):
        raise
    except Exception as problem:
        frame = problem.__traceback__
        while frame is not None and frame.tb_frame.f_code.co_filename != str(path):
            frame = frame.tb_next
        traceback.print_exception(type(problem), problem, frame)
        raise SystemExit(1) from None


def plans(path: Path, arguments: Sequence[str] = ()) -> list[tuple[str, str]]:
    """(name, plan as text) of every dataflow of the program."""
    return [(name, str(flow.explain())) for name, flow in dataflows(path, arguments)]


def dataflows(path: Path, arguments: Sequence[str] = ()) -> list[tuple[str, Any]]:
    """(name, dataflow) of every dataflow the program had made when it would first run one, or when it ended."""
    made: list[Any] = []
    names: dict[str, Any] = {}
    with _runs_replaced(made):
        try:
            names = run(path, arguments)
        except _WouldRun:
            pass
    called = {id(value): name for name, value in names.items()}
    return [(called.get(id(flow), "flow"), flow) for flow in made]


@contextmanager
def _as_the_main_program(path: Path, arguments: Sequence[str]) -> Iterator[None]:
    before = sys.argv, sys.path[:]
    sys.argv = [str(path), *arguments]
    sys.path.insert(0, str(path.resolve().parent))
    try:
        yield
    finally:
        sys.argv, sys.path[:] = before


@contextmanager
def _runs_replaced(made: list[Any]) -> Iterator[None]:
    """While the block runs, a new Dataflow is noted in `made`, and running one ends the program."""
    flow_type: Any = ebbflow.Dataflow

    def note(self: Any, *args: Any, **options: Any) -> None:
        made.append(self)
        kept["__init__"](self, *args, **options)

    def stop(self: Any, *args: Any, **options: Any) -> NoReturn:
        raise _WouldRun(self)

    kept = {name: getattr(flow_type, name) for name in ("__init__", *RUNS) if hasattr(flow_type, name)}
    try:
        for name in kept:
            setattr(flow_type, name, note if name == "__init__" else stop)
        yield
    finally:
        for name, method in kept.items():
            setattr(flow_type, name, method)
