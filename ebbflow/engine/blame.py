"""Which row a user's function failed on, and what its answer is, for the messages of refusals.

Rule: what is looked for here costs only where a step is refused.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

SEARCHED = 1000  # rows that are looked through for the one on which a function of whole arrays raised
Blamed = Callable[[int], tuple[str, np.ndarray]]


def rows_in(answer: Any) -> list[Any] | None:
    """The rows of an answer; None where it is not a collection of rows."""
    if isinstance(answer, str | bytes | Mapping) or not isinstance(answer, Iterable):
        return None
    return list(answer)


def whole(answer: Any) -> int | None:
    try:
        number = operator.index(answer)
    except TypeError:
        return None
    return number if abs(number) < 2**63 else None


def culprit(fn: Callable[..., Any], columns: dict[str, np.ndarray], rows: int) -> int | None:
    """The first row on which a function of whole arrays raises alone."""
    for i in range(min(rows, SEARCHED)):
        try:
            fn({name: column[i : i + 1] for name, column in columns.items()})
        except Exception:
            return i
    return None


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def shown(row: tuple) -> str:
    """A named tuple as its names and values."""
    return "(" + ", ".join(f"{name}={value!r}" for name, value in zip(row._fields, row, strict=True)) + ")"  # type: ignore[attr-defined]
