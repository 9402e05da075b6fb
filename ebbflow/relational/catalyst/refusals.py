"""What a DataFrame asks for that cannot be kept: said before anything runs, by the part of its expression.

Rule: every refusal shows the part as Spark writes it, where it was written if Spark knows, and what to write instead.
"""

from __future__ import annotations

import re
from typing import Any

from ebbflow.errors import DataFrameError
from ebbflow.relational.catalyst.tree import Node

LONGEST_SHOWN = 100
PLACES_IN_JAVA = r"(java|jdk|scala|py4j|org\.apache)\b"
"""Where Spark says that a part was written when it does not know the line of Python."""
PLAN_NUMBERS = re.compile(r"#\d+L?\b|~|\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}, ")  # that Catalyst gives its parts
OWN_PART = "Compute that part with a collection: flow.dataframe of what is below it, then map_rows(fn, schema)."


def shown(node: Node) -> str:
    """A part as Spark writes it."""
    node = node.written or node
    try:
        text = str(node.java.simpleString(25) if node.is_plan else node.java.sql())
    except Exception:  # an expression that has no text, or a plan whose fields have none
        text = node.kind
    text = " ".join(PLAN_NUMBERS.sub("", text).split())
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "..."


def place_of(node: Node) -> str:
    """Where it was written: a line and a column of a query's text, or a line of Python."""
    node = node.written or node
    try:
        origin: Any = node.java.origin()
        if origin.line().isDefined():
            return f" (line {origin.line().get()}, column {origin.startPosition().get() + 1} of the query)"
        if origin.context() is not None and origin.context().contextType().toString() == "DataFrame":
            place = str(origin.context().callSite())
            return "" if re.match(PLACES_IN_JAVA, place) else f" ({place})".replace("\n", " ")
    except Exception:  # not every part knows where it comes from
        pass
    return ""


def refused(what: str, node: Node, hint: str = OWN_PART) -> DataFrameError:
    return DataFrameError(f"{what.rstrip('.')}, in {shown(node)}{place_of(node)}.", hint=hint)


def unsupported(node: Node, what: str | None = None, hint: str = OWN_PART) -> DataFrameError:
    """Something that Spark has and ebbflow does not."""
    return refused(f"{what or _words((node.written or node).kind)} is not supported", node, hint)


def _words(kind: str) -> str:
    """DayOfYear -> day of year"""
    return "".join(f" {c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(kind)).strip()
