"""Differential dataflow for Python: results that stay right while their inputs change.

The public names, on one screen.  What is heavy to load (the engine, Arrow, Spark) comes with the first program that
runs.

Rule: importing this loads no other package.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ebbflow import errors, functions
from ebbflow.columns.schema import Schema
from ebbflow.errors import EbbflowError
from ebbflow.frontend import aliases
from ebbflow.frontend.aliases import unknown_name
from ebbflow.frontend.building.collection import Collection
from ebbflow.frontend.building.column import Column, col, lit, when
from ebbflow.frontend.building.dataflow import Dataflow
from ebbflow.frontend.building.windows import Window
from ebbflow.frontend.extensions import offer
from ebbflow.functions import (
    abs,
    any_value,
    avg,
    ceil,
    coalesce,
    concat,
    count,
    count_distinct,
    cume_dist,
    dense_rank,
    exp,
    first_value,
    floor,
    greatest,
    lag,
    last_value,
    lead,
    least,
    length,
    log,
    lower,
    max,
    mean,
    min,
    nth_value,
    ntile,
    percent_rank,
    rank,
    root_mean_square,
    round,
    row_number,
    sqrt,
    sum,
    upper,
)

if TYPE_CHECKING:  # a type checker sees at once what is loaded on first use
    from ebbflow import algorithms
    from ebbflow.frontend.running.reader import Reader
    from ebbflow.frontend.running.reader import open as open
    from ebbflow.frontend.running.session import Session
    from ebbflow.frontend.running.table import Table
    from ebbflow.pipeline.formats import append as append
    from ebbflow.pipeline.formats import change_feed as change_feed
    from ebbflow.pipeline.formats import changes as changes
    from ebbflow.pipeline.formats import debezium as debezium
    from ebbflow.pipeline.formats import upsert as upsert
    from ebbflow.pipeline.keep import keep as keep
    from ebbflow.pipeline.sinks.change_log import change_log as change_log
    from ebbflow.pipeline.sinks.each import each as each
    from ebbflow.pipeline.sinks.kafka import kafka as kafka
    from ebbflow.pipeline.sinks.tables import table as table
    from ebbflow.pipeline.sinks.view import view as view
    from ebbflow.runtime.spark.session import spark as spark

__version__ = "0.1.0"

# fmt: off
__all__ = [
    "Collection", "Column", "Dataflow", "EbbflowError", "Reader", "Schema", "Session", "Table", "Window", "abs",
    "algorithms", "any_value", "avg", "ceil", "coalesce", "col", "concat", "count", "count_distinct", "cume_dist",
    "dense_rank", "errors", "exp", "first_value", "floor", "functions", "greatest", "lag", "last_value", "lead",
    "least", "length", "lit", "log", "lower", "max", "mean", "min", "nth_value", "ntile", "open", "percent_rank",
    "rank", "root_mean_square", "round", "row_number", "sqrt", "sum", "upper", "when",
]
# fmt: on

offer(
    stream="ebbflow.pipeline.stream.stream",
    sql="ebbflow.relational.sql.collection_of",
    dataframe="ebbflow.relational.catalyst.dataframe.collection_of",
    explore="ebbflow.tools.explorer.page.explore",
    look="ebbflow.tools.explorer.page.Look",
    recorded_session="ebbflow.tools.explorer.recording.session",
    serve="ebbflow.tools.explorer.serving.serve",
)
_LATER = {
    "Session": "ebbflow.frontend.running.session",
    "Table": "ebbflow.frontend.running.table",
    **dict.fromkeys(("Reader", "open"), "ebbflow.frontend.running.reader"),
}
_ON_SPARK = {
    "spark": "ebbflow.runtime.spark.session",
    **dict.fromkeys(("changes", "append", "upsert", "debezium", "change_feed"), "ebbflow.pipeline.formats"),
    "keep": "ebbflow.pipeline.keep",
    **{name: f"ebbflow.pipeline.sinks.{name}" for name in ("change_log", "view", "each", "kafka")},
    "table": "ebbflow.pipeline.sinks.tables",
}


def _loaded(name: str) -> Any:
    if name == "algorithms":
        return importlib.import_module("ebbflow.algorithms")
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    if name in _ON_SPARK:
        try:
            return getattr(importlib.import_module(_ON_SPARK[name]), name)
        except ModuleNotFoundError as missing:
            raise errors.MissingPackage(
                f"ebb.{name} belongs to running on Spark, and {missing.name} is not installed.",
                hint='pip install "ebbflow[spark]"; flow.run() runs a program in this process.',
            ) from None
    foreign = {
        word: f"ebbflow.functions has it: import ebbflow.functions as F, then F.{word}" for word in functions.__all__
    }
    raise unknown_name("ebb", name, __dir__(), {**aliases.FOREIGN_FUNCTION, **aliases.FOREIGN_MODULE, **foreign})


if not TYPE_CHECKING:
    __getattr__ = _loaded


def __dir__() -> list[str]:
    return sorted([*__all__, *_ON_SPARK])
