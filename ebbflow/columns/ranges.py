"""Ranges of values: the least and the greatest that a column of each type can hold.

Lanes, expressions and Arrow columns are checked against the same numbers.

Rule: a value outside of its type's range never becomes a lane.
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Context

EPOCH = datetime(1970, 1, 1)
MICROSECONDS_A_DAY = 86_400_000_000
FIRST_DAY, LAST_DAY = -719_162, 2_932_896  # of the years 1 to 9999, counted from 1970 on
FIRST_MOMENT, LAST_MOMENT = FIRST_DAY * MICROSECONDS_A_DAY, (LAST_DAY + 1) * MICROSECONDS_A_DAY - 1
BOUNDS = {"byte": 2**7, "short": 2**15, "int": 2**31, "long": 2**63}
TWO_TO_64 = 2**64  # so many words there are
EXACT_DECIMALS = Context(prec=120, rounding=ROUND_HALF_UP)  # no result before it is rounded has more digits


def without_zone(moment: datetime) -> datetime:
    """The same moment in UTC, without a zone; one that names no zone is in UTC already."""
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
