"""Plain: a value as text, for tables and for messages.

Rule: the text cannot move the cursor, change colours or reorder what stands beside it, and it is short.
"""

from __future__ import annotations

SHOWN_CHARACTERS = 60


def plain(value: object) -> str:
    """A value as text that cannot move the cursor, change colours or reorder what stands beside it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(plain, value)) + ")"
    if isinstance(value, float):
        return repr(float(value))  # numpy's own would say its type
    if isinstance(value, bytes):
        return repr(value) if len(value) <= SHOWN_CHARACTERS else repr(value[: SHOWN_CHARACTERS - 3]) + "..."
    text = str(value)
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in text)
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 3] + "..."


def shown(value: object) -> str:
    """A value as rich markup that shows as it is written.

    >>> shown("[red]\\x1b")
    '\\\\[red]\\\\x1b'
    """
    from rich.markup import escape

    return escape(plain(value))
