"""What the explorer's page holds: a plan and its inputs' changes, as JSON that JavaScript reads without loss.

Rule: JSON's numbers are doubles in a browser, so whole numbers beyond 53 bits are written as text.
"""

from __future__ import annotations

from typing import Any

from ebbflow.dataflow.plan_json import value_json

EXACT = 2**53  # whole numbers below are doubles too


def for_javascript(data: Any) -> Any:
    """JSON, with {"long": "..."} in place of whole numbers that a double cannot hold."""
    match data:
        case bool():
            return data
        case int():
            return data if abs(data) <= EXACT else {"long": str(data)}
        case dict():
            return {name: for_javascript(part) for name, part in data.items()}
        case list() | tuple():
            return [for_javascript(part) for part in data]
    return data


def value_for_javascript(value: object) -> Any:
    return for_javascript(value_json(value))
