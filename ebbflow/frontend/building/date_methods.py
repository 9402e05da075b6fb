"""What `.dt` of a column offers.

Rule: what is asked of a null is null.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Protocol, TypeVar

from ebbflow.frontend.aliases import public_names, unknown_method


class Built(Protocol):
    """A column, as far as it is known here."""

    def cast(self, kind: object) -> Any: ...


Made = TypeVar("Made", bound=Built)


class Moment(Generic[Made]):
    """`.dt`: what can be done with dates and timestamps."""

    __slots__ = ("_apply", "_column")

    def __init__(self, column: Made, apply: Callable[..., Made]):
        self._column, self._apply = column, apply

    def year(self) -> Made:
        """The year.

        >>> col("at").dt.year()
        Column<year(at)>
        """
        return self._apply("year", self._column)

    def month(self) -> Made:
        """1 to 12.

        >>> col("at").dt.month()
        Column<month(at)>
        """
        return self._apply("month", self._column)

    def day(self) -> Made:
        """The day of the month.

        >>> col("at").dt.day()
        Column<day(at)>
        """
        return self._apply("day", self._column)

    def hour(self) -> Made:
        """0 to 23; 0 for a date.

        >>> col("at").dt.hour()
        Column<hour(at)>
        """
        return self._apply("hour", self._column)

    def minute(self) -> Made:
        """0 to 59.

        >>> col("at").dt.minute()
        Column<minute(at)>
        """
        return self._apply("minute", self._column)

    def second(self) -> Made:
        """0 to 59.

        >>> col("at").dt.second()
        Column<second(at)>
        """
        return self._apply("second", self._column)

    def weekday(self) -> Made:
        """0 is Monday.

        >>> col("at").dt.weekday()
        Column<weekday(at)>
        """
        return self._apply("weekday", self._column)

    def date(self) -> Made:
        """The day of a moment.

        >>> col("at").dt.date()
        Column<cast(at, date)> as at
        """
        found: Made = self._column.cast("date")
        return found

    def add_days(self, days: object) -> Made:
        """So many days later.

        >>> col("at").dt.add_days(7)
        Column<date_add(at, 7)>
        """
        return self._apply("date_add", self._column, days)

    def days_since(self, start: object) -> Made:
        """Days from a start to it.

        >>> col("at").dt.days_since(col("start"))
        Column<date_diff(at, start)>
        """
        return self._apply("date_diff", self._column, start)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise unknown_method(name, ".dt", {"dayofweek": "weekday()"}, public_names(Moment))
