"""Limits: the widest and the most of everything in a program.

Inside the engine a number is in a field of so many bits, or in a buffer of so many items. Each such width is stated
here once, and refused with a message before it is reached. `docs/limits.md` is written from this table.

Rule: a limit is checked where its number enters, and a test tries one less, the limit, and one more; where it is too
large to be tried, it is tried with a smaller one in its place, and the fields are compared with it.
"""

from __future__ import annotations

from dataclasses import dataclass

LARGEST_WORD = (1 << 63) - 1  # the largest number of a word; the least one of all is kept for null

COLUMNS = 4096
COORDINATES = 32
LOOPS_NESTED = 12
NODES = 100_000
PATHS = 1 << 16
TERMS = 20_000
WORKERS = 64
TIMES_AT_ONCE = (1 << 19) - 1
COPIES_KEPT = (1 << 43) - 1
MOST_COUNTED = (1 << 62) - 1
TEXT_BYTES = (1 << 31) - 1
ROWS_A_CALL = (1 << 31) - 1
KEYS_A_BATCH = (1 << 32) - 1


@dataclass(frozen=True)
class Limit:
    """What is limited, to how many, and what happens beyond it."""

    what: str
    most: str
    beyond: str


def rounds(depth: int) -> int:
    """How often the loops of a program go round at most, where they are nested so deep."""
    return (1 << (62 // depth - 1)) - 1


LIMITS = (
    Limit("columns of a collection", f"{COLUMNS:,}", "`PlanError` at `run`"),
    Limit("coordinates of a time", f"{COORDINATES:,}", "`PlanError` at `run`"),
    Limit("loops inside each other", f"{LOOPS_NESTED:,}", "`PlanError` at `run`"),
    Limit(
        "rounds of a loop",
        "; ".join(f"{rounds(depth):,} ({depth} deep)" for depth in (1, 2, 3, 4, LOOPS_NESTED)),
        "`NeverSettles` at the step",
    ),
    Limit("nodes of a program, inputs and outputs among them", f"{NODES:,}", "`PlanError` at `run`"),
    Limit("ways of a row through unions, up to what keeps or shows it", f"{PATHS:,}", "`PlanError` at `run`"),
    Limit("terms of an expression, a part that is used twice counted twice", f"{TERMS:,}", "`NotAnExpression`"),
    Limit(
        "terms of an expression inside each other, and linear steps in a row",
        "what `sys.getrecursionlimit()` lets Python follow, 300 by default",
        "`NotAnExpression`, `PlanError`",
    ),
    Limit("keys of a join or of a group, aggregates of a group", f"{COLUMNS:,}", "they are columns: `PlanError`"),
    Limit("workers, and shards on Spark", f"{WORKERS:,}", "`PlanError` at `run`"),
    Limit(
        "distinct times, of several coordinates or delayed, that are alive at once",
        f"{TIMES_AT_ONCE:,}",
        "`NumberOverflow` at the step",
    ),
    Limit(
        "a coordinate of a time, a diff",
        f"from -{LARGEST_WORD:,} to {LARGEST_WORD:,}",
        "`WrongTime`, `WrongDiff` where it is given",
    ),
    Limit(
        "copies of a row where a join, a loop or a reduction keeps it",
        f"{COPIES_KEPT:,}",
        "`NumberOverflow` at the step",
    ),
    Limit("copies of a row at an output, at every time", f"{LARGEST_WORD:,}", "`NumberOverflow` at the step"),
    Limit("rows that a group counts, with their copies", f"{MOST_COUNTED:,}", "`NumberOverflow` at the step"),
    Limit("bytes of a text", f"{TEXT_BYTES:,}", "`TypeMismatch` where it is given"),
    Limit("rows of a call of `insert` or `apply`", f"{ROWS_A_CALL:,}", "`TypeMismatch` where they are given"),
    Limit("memory of a worker", "4 times the machine's, or what `ulimit -v` leaves", "`OutOfMemory` at the step"),
)  # fmt: skip


def page() -> str:
    """docs/limits.md: the table."""
    lines = [
        "# Limits",
        "",
        "What is beyond one of these is refused with a sentence that names it; nothing wraps round and nothing is cut",
        "off. A step that is refused leaves the session at its last frontier, with the input still pending.",
        "",
        "| what | at most | beyond |",
        "|--|--|--|",
    ]
    lines += [f"| {limit.what} | {limit.most} | {limit.beyond} |" for limit in LIMITS]
    return "\n".join(lines) + "\n"
