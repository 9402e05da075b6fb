"""SQL's `like` patterns, read into their parts.

The plain meaning of `like` and the compiled matcher of `patterns` read a pattern the same way, here.

Rule: a backslash stands before %, _ or another backslash; a pattern with any other one is refused.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

ANY_TEXT, ANY_LETTER = object(), object()  # what % and _ stand for in a pattern


def read_pattern(pattern: str) -> list[Any] | None:
    """The characters of a pattern, ANY_TEXT for % and ANY_LETTER for _; a backslash before one of these, or another,
    means it.

    None where a backslash stands before something else, or at the end.
    """
    found: list[Any] = []
    characters = iter(pattern)
    for character in characters:
        if character == "\\":
            character = next(characters, "")
            if character not in ("%", "_", "\\"):
                return None
            found.append(character)
        else:
            found.append({"%": ANY_TEXT, "_": ANY_LETTER}.get(character, character))
    return found


@lru_cache(1000)
def _expression(pattern: str) -> re.Pattern[str]:
    parts = read_pattern(pattern) or []
    return re.compile(
        "".join(".*" if p is ANY_TEXT else "." if p is ANY_LETTER else re.escape(p) for p in parts), re.DOTALL
    )


def like(x: str, pattern: str) -> bool:
    return _expression(pattern).fullmatch(x) is not None
