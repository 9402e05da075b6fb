"""Regular expressions as functions of text, read by Python, with Spark's meanings.

Rule: classes such as \\d and \\w are those of ASCII, as in Java; a group is named as in Java, and referred to by $.
"""

from __future__ import annotations

import re
from functools import lru_cache

_GROUP_NAME = re.compile(r"\(\?<([A-Za-z][A-Za-z0-9]*)>")
_REFERENCE = re.compile(r"\\(.)|\$(\d+)|\$\{([A-Za-z][A-Za-z0-9]*)\}", re.DOTALL)
_POSIX = {"Alpha": "a-zA-Z", "Digit": "0-9", "Alnum": "a-zA-Z0-9", "Lower": "a-z", "Upper": "A-Z", "Space": r"\s",
          "Punct": r"!-/:-@\[-`{-~", "XDigit": "0-9a-fA-F", "ASCII": "\\x00-\\x7f", "Blank": " \\t"}  # fmt: skip


@lru_cache(1000)
def pattern(text: str) -> re.Pattern[str]:
    """A pattern of Java's as Python reads it; re.error where it cannot."""
    inside = re.sub(r"\[[^\]]*\]", lambda found: _classes(found[0], "{}"), text)
    return re.compile(_GROUP_NAME.sub(r"(?P<\1>", _classes(inside, "[{}]")), re.ASCII)


def _classes(text: str, written: str) -> str:
    return re.sub(
        r"\\p\{(\w+)\}", lambda found: written.format(_POSIX[found[1]]) if found[1] in _POSIX else found[0], text
    )


def is_pattern(text: str) -> bool:
    try:
        pattern(text)
    except re.error:
        return False
    return True


def regexp_like(x: str, regex: str) -> bool:
    return pattern(regex).search(x) is not None


def regexp_extract(x: str, regex: str, group: int = 1) -> str | None:
    """A group of the first match; nothing where there is none, null where the pattern has no such group."""
    compiled = pattern(regex)
    if not 0 <= group <= compiled.groups:
        return None
    found = compiled.search(x)
    return (found[group] or "") if found else ""


def regexp_substr(x: str, regex: str) -> str | None:
    found = pattern(regex).search(x)
    return found[0] if found else None


def regexp_count(x: str, regex: str) -> int:
    return sum(1 for _ in pattern(regex).finditer(x))


def regexp_instr(x: str, regex: str, group: int = 0) -> int:
    found = pattern(regex).search(x)
    return found.start() + 1 if found else 0


def regexp_replace(x: str, regex: str, by: str, start: int = 1) -> str:
    """Every match replaced; $1 is a group of it, \\$ a dollar."""
    if start < 1 or start > max(len(x), 1):
        return x
    return x[: start - 1] + pattern(regex).sub(lambda found: _filled(by, found), x[start - 1 :])


def _filled(by: str, found: re.Match[str]) -> str:
    def one(reference: re.Match[str]) -> str:
        if reference[1] is not None:
            return reference[1]
        if reference[3] is not None:
            return found[reference[3]] or ""
        digits = reference[2]
        number, used = int(digits[0]), 1
        while used < len(digits) and number * 10 + int(digits[used]) <= found.re.groups:  # as Java: as far as it is one
            number, used = number * 10 + int(digits[used]), used + 1
        return (found[number] or "") + digits[used:]

    return _REFERENCE.sub(one, by)
