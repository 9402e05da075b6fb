# ruff: noqa: F401
"""Every name that a printed case uses, so that it can be pasted into a test as it stands."""

import datetime
from decimal import Decimal
from math import inf, nan

from ebbflow.columns.ddl import schema_of as Schema  # as a schema is printed
from ebbflow.columns.schema import BOOLEAN, DATE, DOUBLE, LONG, STRING, Field, Type
from ebbflow.dataflow.graph import Loop
from ebbflow.dataflow.nodes import (
    Aggregate,
    Aggregates,
    Apply,
    Arrange,
    Concat,
    Delay,
    Enter,
    Feedback,
    Filter,
    Input,
    Inspect,
    Join,
    Leave,
    Linear,
    Map,
    Negate,
    Output,
    Own,
    Reduce,
    Threshold,
    Top,
    Wait,
)
from ebbflow.expressions.typed import Call, Column, Literal
from tests.meaning.histories import Step
from tests.meaning.programs import DECIMAL, WIDE, Program, own
from tests.meaning.runtimes import RUNTIMES, judge

__all__ = [name for name in dir() if not name.startswith("_")]
