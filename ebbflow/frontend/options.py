"""Options: the keyword arguments of public methods, checked by name, type and range.

What only tests and benchmarks set, sizes of the engine that no result depends on, is passed through
`Dataflow._run_tuned`.

Rule: an unknown name is refused, with the one that was probably meant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ebbflow.errors import TypeMismatch, UnknownOption, did_you_mean

OF_A_RUN = ("workers", "history", "checkpoint", "explore")
ON_SPARK = ("shards", "history", "checkpoint", "task_bytes")
OF_A_STREAM = ("shards", "history", "task_bytes")
LEAST_TASK_BYTES = 1 << 20


def refuse_unknown(verb: str, given: Mapping[str, object], known: Sequence[str]) -> None:
    """Refuse the first of some options that a method does not have."""
    for option in given:
        if option not in known:
            listed = [f"{name}=" for name in known]
            has = f"{', '.join(listed[:-1])} and {listed[-1]}" if len(listed) > 1 else listed[0]
            raise UnknownOption(
                f'{verb} has no option "{option:.60}".', hint=did_you_mean(option, known) or f"It has {has}."
            )


def check_task_bytes(given: object) -> None:
    """Refuse what is no size of a task's state."""
    is_number = isinstance(given, int) and not isinstance(given, bool)
    if not is_number or not LEAST_TASK_BYTES <= given < 1 << 62:  # type: ignore[operator]
        raise TypeMismatch(
            f"task_bytes is how much state one task holds, from {LEAST_TASK_BYTES:,} bytes on, not {given!r:.60}.",
            hint="run(spark, task_bytes=2**30)",
        )
