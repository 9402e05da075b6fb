"""Functions of text computed by Arrow, a whole column at once, where its answer is Python's.

Rule: None where Arrow's answer may differ, or the call has a form that is not known here; then the meaning is asked.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ebbflow.columns.patterns import TextMatcher
from ebbflow.columns.schema import NULL
from ebbflow.columns.text_pool import Pool
from ebbflow.expressions.typed import Call, Literal

Fast = Callable[[Call, list[np.ndarray | None], Pool], np.ndarray | None]


def _of_ascii(fn: Callable[[pa.Array], pa.Array]) -> Fast:
    def run(call: Call, known: list[np.ndarray | None], pool: Pool) -> np.ndarray | None:
        if known[0] is None:
            return None
        texts = pool.decode(known[0])
        plain = pc.all(pc.string_is_ascii(texts)).as_py()  # other letters have rules on which the two differ
        return pool.encode(fn(texts)) if plain else None

    return run


def _of_text(fn: Callable[..., pa.Array], only: int = 9) -> Fast:
    """A function of a text and constants; of `only` so many arguments."""

    def run(call: Call, known: list[np.ndarray | None], pool: Pool) -> np.ndarray | None:
        constants = [arg.value for arg in call.args[1:] if isinstance(arg, Literal) and arg.value is not None]
        if known[0] is None or len(constants) + 1 < len(call.args) or call.args[0].type.name != "string":
            return None
        if len(call.args) > only:
            return None
        found = fn(pool.decode(known[0]), *constants)
        if call.type.is_text:
            return pool.encode(found)
        return np.asarray(found.cast(pa.int64()).fill_null(NULL))

    return run


def _of_pattern(call: Call, known: list[np.ndarray | None], pool: Pool) -> np.ndarray | None:
    return None if known[0] is None else TextMatcher([call]).at_ids(known[0], pool)


FAST: dict[str, Fast] = {
    "lower": _of_ascii(pc.ascii_lower),
    "upper": _of_ascii(pc.ascii_upper),
    "trim": _of_text(lambda texts: pc.utf8_trim(texts, " "), only=1),
    "ltrim": _of_text(lambda texts: pc.utf8_ltrim(texts, " "), only=1),
    "rtrim": _of_text(lambda texts: pc.utf8_rtrim(texts, " "), only=1),
    "contains": _of_text(lambda texts, part: pc.match_substring(texts, part)),
    "starts_with": _of_text(lambda texts, part: pc.starts_with(texts, part)),
    "ends_with": _of_text(lambda texts, part: pc.ends_with(texts, part)),
    "like": _of_pattern,
    "replace": _of_text(lambda texts, part, by: pc.replace_substring(texts, part, by) if part else texts),
}
