"""Functions of columns, under PySpark's names: `import ebbflow.functions as F`.

Where a function takes a column, a plain string is the column's name; a constant of text is `lit("text")`.  Aggregates
stand in `group_by(...).agg(...)`.  Each function is written in a module of `frontend.functions`, and is here by that.

Rule: each function is one operation, one aggregate, or a short composition of them.
"""

from __future__ import annotations

import builtins
from types import FunctionType
from typing import TYPE_CHECKING, NoReturn

from ebbflow.frontend import aliases
from ebbflow.frontend.aliases import unknown_name
from ebbflow.frontend.building.column import col, lit, when
from ebbflow.frontend.functions import (
    aggregates,
    arithmetic,
    arrays,
    bits,
    calendar,
    choosing,
    collecting,
    dates,
    encodings,
    exploding,
    instants,
    json,
    maps,
    numbers,
    ordered,
    refused,
    statistics,
    text_building,
    text_search,
    texts,
    trigonometry,
    windows,
)
from ebbflow.frontend.functions.aggregates import *  # noqa: F403
from ebbflow.frontend.functions.arithmetic import *  # noqa: F403
from ebbflow.frontend.functions.arrays import *  # noqa: F403
from ebbflow.frontend.functions.bits import *  # noqa: F403
from ebbflow.frontend.functions.calendar import *  # noqa: F403
from ebbflow.frontend.functions.choosing import *  # noqa: F403
from ebbflow.frontend.functions.collecting import *  # noqa: F403
from ebbflow.frontend.functions.dates import *  # noqa: F403
from ebbflow.frontend.functions.encodings import *  # noqa: F403
from ebbflow.frontend.functions.exploding import *  # noqa: F403
from ebbflow.frontend.functions.instants import *  # noqa: F403
from ebbflow.frontend.functions.json import *  # noqa: F403
from ebbflow.frontend.functions.maps import *  # noqa: F403
from ebbflow.frontend.functions.numbers import *  # noqa: F403
from ebbflow.frontend.functions.ordered import *  # noqa: F403
from ebbflow.frontend.functions.refused import *  # noqa: F403
from ebbflow.frontend.functions.statistics import *  # noqa: F403
from ebbflow.frontend.functions.text_building import *  # noqa: F403
from ebbflow.frontend.functions.text_search import *  # noqa: F403
from ebbflow.frontend.functions.texts import *  # noqa: F403
from ebbflow.frontend.functions.trigonometry import *  # noqa: F403
from ebbflow.frontend.functions.windows import *  # noqa: F403

column = col

_MODULES = (
    aggregates,
    arithmetic,
    arrays,
    bits,
    calendar,
    choosing,
    collecting,
    dates,
    encodings,
    exploding,
    instants,
    json,
    maps,
    numbers,
    ordered,
    refused,
    statistics,
    text_building,
    text_search,
    texts,
    trigonometry,
    windows,
)
__all__ = ["col", "column", "lit", "when"]
__all__ += [
    name
    for module in _MODULES
    for name, value in vars(module).items()
    if isinstance(value, FunctionType) and value.__module__ == module.__name__ and not name.startswith("_")
]


if not TYPE_CHECKING:  # a type checker knows the functions there are

    def __getattr__(name: builtins.str) -> NoReturn:
        raise unknown_name("ebbflow.functions", name, __all__, aliases.FOREIGN_FUNCTION)


def __dir__() -> list[builtins.str]:
    return __all__
