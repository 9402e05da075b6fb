"""NumPy's functions: which operations they are when they are called with columns.

Rule: a function is here only if it means on every row what it means on an array's element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# the name of an operation, or what is built of several by a function that applies one
OPERATIONS_BY_NUMPY: dict[str, str | Callable[..., Any]] = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div",
    "floor_divide": "floordiv", "fmod": "mod", "negative": "neg", "positive": lambda apply, x: x,
    "absolute": "abs", "fabs": lambda apply, x: apply("abs", x).cast("double"),
    "remainder": lambda apply, x, y: apply("sub", x, apply("mul", apply("floordiv", x, y), y)),
    "equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt",
    "greater_equal": "ge", "logical_and": "and", "logical_or": "or", "logical_not": "not",
    "bitwise_and": "and", "bitwise_or": "or", "invert": "not", "isnan": "is_nan",
    "maximum": "greatest", "minimum": "least", "fmax": "greatest", "fmin": "least",
    "sqrt": "sqrt", "exp": "exp", "log": "log", "log2": "log2", "log10": "log10",
    "power": "pow", "float_power": "pow", "square": lambda apply, x: apply("mul", x, x), "floor": "floor",
    "ceil": "ceil", "sin": "sin", "cos": "cos", "tan": "tan", "sign": "sign",
}  # fmt: skip
