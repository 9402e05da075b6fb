"""Errors for users: what happened, where in their file, and what to do.

Every refusal is one of these classes; the class name is the topic. The text has three parts, always in this order: a
sentence that says what, the user's own line, a hint.

Rule: an error raised for a user's mistake is an `EbbflowError`; an `assert` is for our own.
"""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from types import FrameType
from typing import ClassVar

_HERE = os.path.dirname(os.path.abspath(__file__))
_RUNNERS = tuple(f"{os.sep}site-packages{os.sep}{name}{os.sep}" for name in ("click", "pyspark", "py4j"))
_RUNNERS += (f"pyspark.zip{os.sep}",)  # as Spark hands it to its workers
_COMMAND = os.path.join(_HERE, "tools", "cli.py")
_PYTHON = tuple(os.path.join(os.path.dirname(os.__file__), part) for part in ("threading.py", "concurrent" + os.sep))


@dataclass(frozen=True)
class Place:
    """A line of the user's program."""

    file: str
    line: int

    @property
    def text(self) -> str:
        return linecache.getline(self.file, self.line).strip()

    @property
    def name(self) -> str:
        """What people call the file; in a notebook that is the cell, In[3], whose file has a number for a name."""
        shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
        cell = getattr(getattr(shell, "compile", None), "format_code_name", lambda file: None)(self.file)
        return str(cell[1]) if cell else os.path.basename(self.file)

    def __str__(self) -> str:
        shown = f"at {self.name}, line {self.line}"
        return f"{shown}:  {self.text}" if self.text else shown


def users_place() -> Place | None:
    """The innermost line on the stack that is not ours."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if file == _COMMAND:  # whoever called the command line wrote a word, not a program
            return None
        ours = file.startswith((_HERE, "<frozen", *_PYTHON))  # or Python's own, that runs our threads
        ours = ours or (
            file == "<string>" and frame.f_globals.get("__name__", "").startswith("ebbflow.")
        )  # dataclasses
        if not ours and not any(runner in file for runner in _RUNNERS):  # nor who calls us: a command, a Spark task
            return Place(file, frame.f_lineno)
        frame = frame.f_back
    return None


class EbbflowError(Exception):
    """The base of every refusal: `what` happened, `at` which line of the program, and a `hint` what to do.

    >>> import ebbflow as ebb
    >>> edges = ebb.Dataflow().input("edges", "src long, dst long")
    >>> try:
    ...     edges.select("scr")
    ... except ebb.EbbflowError as refusal:
    ...     print(type(refusal).__name__, refusal.hint)
    UnknownColumn Did you mean "src"?
    """

    otherwise: ClassVar[str] = "The documentation has a page on it: docs/index.md."  # the hint, where none is given

    def __init__(self, what: str, *, at: Place | None = None, hint: str | None = None):
        self.what, self.at, self.hint = what, at if at is not None else users_place(), hint or self.otherwise
        parts = [what]
        if self.at is not None:
            parts.append(f"  {self.at}")
        parts.append(f"  {self.hint}")
        super().__init__("\n".join(parts))

    def __reduce__(self) -> tuple[object, ...]:  # it may travel between processes
        return _told_again, (type(self), self.what, self.at, self.hint)


def _told_again(kind: type[EbbflowError], what: str, at: Place | None, hint: str) -> EbbflowError:
    return kind(what, at=at, hint=hint)


STAYS = "The session stays at its last frontier with this input still pending; live.discard() drops it."


class NeverSettles(EbbflowError):
    """A loop still changes after the rounds it was given."""


class UnknownInput(EbbflowError):
    """The program has no input of this name."""


class UnknownOutput(EbbflowError, KeyError):
    """The program has no output of this name."""

    __str__ = Exception.__str__  # a KeyError would show its text in quotes


class LateTime(EbbflowError):
    """A change at a time that is already complete."""


class FrontierMovedBack(EbbflowError):
    """A frontier never moves back: what was complete stays complete."""


class WrongTime(EbbflowError):
    """Not a time of this program: another kind of value, or another number of coordinates."""


class WrongDiff(EbbflowError):
    """A diff that is not a whole number that fits."""


class NotComplete(EbbflowError):
    """A time at which results may still change."""


class HistoryGone(EbbflowError):
    """A time further back than the session keeps."""


class ChangesNotKept(EbbflowError):
    """The changes of an output that keeps none."""


class NoKey(EbbflowError):
    """Rows replaced by key, where there is none."""


class SessionClosed(EbbflowError):
    """More input for a session that was told there is none."""


class StepUnderWay(EbbflowError):
    """A call to a session from within a step of it, or from within another call in the same thread."""


class UsedAfterFork(EbbflowError):
    """A session of another process, of which this one is a fork."""


class MissingPackage(EbbflowError):
    """Something optional that is not installed."""


class TypeMismatch(EbbflowError):
    """A value or column of another type than the one asked for."""

    otherwise = "Give a value of that type, or convert it first."


class UnknownColumn(EbbflowError, AttributeError):
    """A column that is not there.  An AttributeError too, so that hasattr and editors that probe are answered."""

    otherwise = "Name one of the columns it has."


class PlanError(EbbflowError):
    """A program that breaks a rule of dataflow: the page docs/rules.md lists them all."""

    otherwise = "The rules that every program obeys are listed in docs/rules.md."


class UnknownMethod(EbbflowError, AttributeError):
    """A method that is not there, often another tool's word for one that is."""

    otherwise = "dir() lists what there is."


class UnknownType(EbbflowError):
    """A type that no column can have."""


class UnknownZone(EbbflowError):
    """A time zone that is not known here."""


class ZoneDiffers(EbbflowError):
    """A program that states one time zone, on a Spark session with another."""


class ReservedName(EbbflowError):
    """A column name that is kept for results."""

    otherwise = "Choose another name."


class DuplicateName(EbbflowError):
    """Two columns, inputs or outputs of one name."""

    otherwise = "Give each a name of its own."


class NoValueYet(EbbflowError, TypeError):
    """A column or collection asked for a value while the plan is made: by if, and, for, int(), len(), an
    f-string ...
    """


class NotAnExpression(EbbflowError):
    """Something that cannot be computed for each row."""

    otherwise = 'Write it with columns, for example col("x") + 1.'


class SqlError(EbbflowError):
    """A query that cannot be read, or asks for what cannot be kept up to date."""


class DataFrameError(EbbflowError):
    """A DataFrame asks for something that cannot be kept up to date."""


class UnclearJoin(EbbflowError):
    """A join that does not say which rows belong together, or what its columns are called."""


class NoOrder(EbbflowError, AttributeError):
    """The first rows of a collection, which has no order."""


class NumberOverflow(EbbflowError, OverflowError):
    """A number, or a count of rows, that has no place in 64 bits."""

    otherwise = 'Compute in doubles where the last digit does not count: .cast("double").'


class FunctionFailed(EbbflowError):
    """A user's own function raised, or returned what does not fit."""

    otherwise = "Correct the function; live.discard() drops the input on which it failed."


class StepRefused(FunctionFailed):
    """Rows for which what a query asks for has no answer."""


class NotKept(EbbflowError):
    """The past of an input that the session keeps no copy of."""


class UnknownOption(EbbflowError, TypeError):
    """An option that is not there."""


class MissingJava(EbbflowError):
    """Spark without Java."""


class OtherPython(EbbflowError):
    """Spark's workers run another Python than the program."""


class AddressTaken(EbbflowError):
    """The addresses that a checkpoint's memory was laid out for are in use in this process."""

    otherwise = "Open it in another process."


class NotACheckpoint(EbbflowError):
    """A place where no checkpoint can be, or that holds something else."""

    otherwise = "Give a directory on a local disk that is new, empty, or was made by run(checkpoint=...)."


class CheckpointDiffers(EbbflowError):
    """A checkpoint that another program, version or number of workers made."""

    otherwise = "Open it with what made it, or give another directory and feed it the input again."


class DamagedFile(EbbflowError):
    """A file of a checkpoint that is missing, or not as it was written."""

    otherwise = "`ebbflow check DIR` lists what is damaged; `ebbflow rewind DIR STEP` goes back to a whole step."


class SecondSession(EbbflowError):
    """Another session has gone on with the same checkpoint."""

    otherwise = "One session at a time; this one's results stay readable. Open the checkpoint again to go on."


class DiskRefused(EbbflowError):
    """The disk did not take what a step had to write."""

    otherwise = "Nothing of the step has happened. When there is room again, repeat it."


class OutOfMemory(EbbflowError, MemoryError):
    """A step needs more memory than there is."""

    otherwise = "Nothing of the step has happened. Repeat it when there is memory again, or take it in smaller steps."


class NoThread(EbbflowError, RuntimeError):
    """The system does not start the threads in which workers run."""

    otherwise = "Run it with fewer workers, or raise the system's limit of processes and threads (ulimit -u)."


class DeliveryRefused(EbbflowError):
    """A micro-batch that is neither the next one nor the last one again."""


STEP_FAILED = "Spark could not run a step: "


class ClusterFailed(EbbflowError):
    """Spark gave up on a step: tasks failed more often than it repeats them, or the session is gone."""


class DeadLetters(EbbflowError):
    """Rows of a stream that cannot be taken in, and no place to keep them."""


class UnknownStep(EbbflowError):
    """A step that a checkpoint does not keep."""


class UnreadableFile(EbbflowError):
    """A file that is not there, or cannot be read as the table that it should hold."""


class NotATable(EbbflowError):
    """A place where a table is to be written, and something else is."""


class PlaceTaken(EbbflowError):
    """A place to publish to that belongs to another stream, or holds another part of this one's history."""


class NotPublished(EbbflowError):
    """A step that is committed, and that an output's sink did not take."""


def did_you_mean(name: object, names: Iterable[str]) -> str:
    """A question with the names that look like this one, or nothing."""
    import difflib  # only who errs waits for it

    lowered = {str(other).lower(): other for other in reversed(list(names))}
    found = difflib.get_close_matches(str(name).lower(), lowered, n=3, cutoff=0.6)
    return f"Did you mean {' or '.join(f'{chr(34)}{lowered[other]}{chr(34)}' for other in found)}?" if found else ""
