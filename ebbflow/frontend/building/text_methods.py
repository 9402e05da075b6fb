"""What `.str` of a column offers.

Rule: plain strings given here are text, not columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, NoReturn, Protocol, TypeVar

from ebbflow.expressions import ast as w
from ebbflow.frontend.aliases import public_names, unknown_method


class Built(Protocol):
    """A column, as far as it is known here."""

    tree: w.Ast


Made = TypeVar("Made", bound=Built)


class Text(Generic[Made]):
    """`.str`: what can be done with text.  Plain strings given here are text, not columns."""

    __slots__ = ("_apply", "_column")

    def __init__(self, column: Made, apply: Callable[..., Made]):
        self._column, self._apply = column, apply

    def lower(self) -> Made:
        """In small letters.

        >>> col("name").str.lower()
        Column<lower(name)>
        """
        return self._apply("lower", self._column)

    def upper(self) -> Made:
        """In capitals.

        >>> col("name").str.upper()
        Column<upper(name)>
        """
        return self._apply("upper", self._column)

    def length(self) -> Made:
        """The number of characters (of bytes, for binary).

        >>> col("name").str.length()
        Column<length(name)>
        """
        return self._apply("length", self._column)

    def substr(self, start: object, length: object) -> Made:
        """From a position (the first is 1; negative ones count from the end), so many characters.

        >>> col("name").str.substr(1, 3)
        Column<substr(name, 1, 3)>
        """
        return self._apply("substr", self._column, start, length)

    def concat(self, *others: object) -> Made:
        """One after the other; null if any is.

        >>> col("name").str.concat("!")
        Column<concat(name, '!')>
        """
        return self._apply("concat", self._column, *others)

    def contains(self, text: object) -> Made:
        """Whether the text occurs in it.

        >>> col("name").str.contains("a")
        Column<contains(name, 'a')>
        """
        return self._apply("contains", self._column, text)

    def starts_with(self, text: object) -> Made:
        """Whether it begins with the text.

        >>> col("name").str.starts_with("a")
        Column<starts_with(name, 'a')>
        """
        return self._apply("starts_with", self._column, text)

    def ends_with(self, text: object) -> Made:
        """Whether it ends with the text.

        >>> col("name").str.ends_with("a")
        Column<ends_with(name, 'a')>
        """
        return self._apply("ends_with", self._column, text)

    def like(self, pattern: object) -> Made:
        """Whether it is like a pattern: % is any text, _ any character; after a backslash they mean themselves.

        >>> col("name").str.like("%b_")
        Column<like(name, '%b_')>
        """
        return self._apply("like", self._column, pattern)

    def ilike(self, pattern: object) -> Made:
        """Whether it is like a pattern, capitals or not.

        >>> col("name").str.ilike("%B_")
        Column<like(lower(name), '%b_')>
        """
        plain = pattern
        if isinstance(pattern, type(self._column)) and isinstance(pattern.tree, w.Constant):
            plain = pattern.tree.value
        return self._apply("like", self.lower(), plain.lower() if isinstance(plain, str) else pattern)

    def trim(self) -> Made:
        """Without spaces at both ends.

        >>> col("name").str.trim()
        Column<trim(name)>
        """
        return self._apply("trim", self._column)

    def ltrim(self) -> Made:
        """Without spaces at the start.

        >>> col("name").str.ltrim()
        Column<ltrim(name)>
        """
        return self._apply("ltrim", self._column)

    def rtrim(self) -> Made:
        """Without spaces at the end.

        >>> col("name").str.rtrim()
        Column<rtrim(name)>
        """
        return self._apply("rtrim", self._column)

    def replace(self, search: object, by: object) -> Made:
        """Every occurrence of a text replaced by another.

        >>> col("name").str.replace("a", "b")
        Column<replace(name, 'a', 'b')>
        """
        return self._apply("replace", self._column, search, by)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            foreign = {"len": "length()", "strip": "trim()", "startswith": "starts_with(text)"}
            foreign |= {"endswith": "ends_with(text)"}
            raise unknown_method(name, ".str", foreign, public_names(Text))
