"""What stands where a column is wanted, and is none.

Rule: a refusal shows what was given, and how the same is written here.
"""

from __future__ import annotations

from typing import NoReturn, Protocol, runtime_checkable

from ebbflow.errors import NotAnExpression, NoValueYet


@runtime_checkable
class Rows(Protocol):
    """What has rows and no value for each: a collection, or a DataFrame of one."""

    def semijoin(self, other: object) -> object: ...


def is_no_value(says: str, hint: str) -> NoReturn:
    raise NoValueYet(f"{says}; a column has a value only for each row, when the program runs.", hint=hint)


def refuse_pyspark(value: object) -> None:
    """Columns and DataFrames of PySpark look like ours, answer to every name, and belong to another program."""
    if not type(value).__module__.startswith("pyspark."):
        return
    kind, shown = type(value).__name__, f"{value!r:.80}"
    hint = {
        "Column": "Write it with ebbflow's: from ebbflow import col, and import ebbflow.functions as F.",
        "DataFrame": "A collection comes from flow.input(name, df.schema); live.insert(name, df) feeds it.",
    }
    raise NotAnExpression(
        f"{shown} is PySpark's {kind}, and stands where ebbflow wants its own.",
        hint=hint.get(kind, "Use columns, constants and collections of ebbflow."),
    )
