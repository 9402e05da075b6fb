"""Choose: which tactics may reduce a key of a reduction, as one table; the first that fits reduces it.

What is known before a program runs (the reducer, the loops around it, who reads it) leaves a few rows of the table.
Among those, a tactic that suits only some keys looks at the key and may decline; the next one is then asked. `explain`
prints the rows that are left, and a worker writes them to the node as bits, in the same order.

Rule: every condition on a reduction stands here, every condition on a key in the kernel that the row names; the last
row, replay, fits whatever the others leave, and each of them emits what it would.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ebbflow.operators.reduce.answers import (
    BAGGED,
    COUNT_OF_ROWS,
    DISTINCT,
    DISTINCT_BY_VALUE,
    SUMMED,
    TOPPED,
    USER_FUNCTION,
    WINDOWED,
)
from ebbflow.operators.reduce.opcodes import (
    COUNT_DISTINCT,
    COUNT_ROWS,
    COUNT_VALUES,
    MAX,
    MIN,
    QUANTILE,
    QUANTILE_OF_VALUES,
)


class Reduction(NamedTuple):
    """What is known of a reduction before it runs."""

    op: int
    depth: int  # how many loops it is in
    is_general: bool  # times are only partly ordered
    is_read: bool  # a join reads its output
    lanes: int = 0  # of a value; a column may have two
    aggregates: frozenset[int] = frozenset()  # their opcodes
    joins_itself: bool = False  # a join reads its output on both sides
    replays_only: bool = False  # for tests: nothing but the general tactic
    is_wide: bool = False  # some value has a column of two lanes

    @property
    def is_short(self) -> bool:
        """What was emitted before follows from the entries before: no output needs to be kept to know it."""
        return self.depth == 0 and not self.is_general and self.op != USER_FUNCTION

    @property
    def is_kept(self) -> bool:
        return not self.is_short or self.is_read

    @property
    def counts(self) -> bool:
        """Nothing but the number of rows decides the answer."""
        return self.op in (DISTINCT, COUNT_OF_ROWS)

    @property
    def adds(self) -> bool:
        return self.counts or self.op == SUMMED

    @property
    def has_ends(self) -> bool:
        """Counts, least and greatest of one lane."""
        return self.op == BAGGED and self.lanes == 1 and self.aggregates <= END_OPS

    @property
    def has_first(self) -> bool:
        """The answer is the first of the values in some order, or that there is one."""
        is_an_end = self.op == BAGGED and self.lanes == 1 and self.aggregates in ({MIN}, {MAX}) and not self.is_wide
        return self.op in (DISTINCT, TOPPED) or is_an_end

    @property
    def has_order(self) -> bool:
        """The answer is at the ends of the values in order, or at a place among them."""
        return self.op == TOPPED or (
            self.op == BAGGED and self.lanes == 1 and self.aggregates <= END_OPS | QUANTILE_OPS
        )

    @property
    def only_improves(self) -> bool:
        """While rows are only added, the answer follows from the last one and the new rows."""
        is_one_word = self.op == BAGGED and self.aggregates <= {MIN, MAX} and not self.is_wide
        return self.op in (DISTINCT, DISTINCT_BY_VALUE) or is_one_word


class Tactic(NamedTuple):
    name: str
    visit: str  # the kernel that reduces a key, in this folder
    when: Callable[[Reduction], bool]
    keys: str = ""  # which keys it suits, where it may decline

    @property
    def short_name(self) -> str:
        return self.name.partition(",")[0]

    @property
    def words(self) -> str:
        return f"{self.name}, for {self.keys}" if self.keys else self.name


END_OPS = frozenset({COUNT_ROWS, COUNT_VALUES, COUNT_DISTINCT, MIN, MAX})
QUANTILE_OPS = frozenset({QUANTILE, QUANTILE_OF_VALUES})
(
    TOTALS,
    FUNCTION_CALL,
    INSERT_ONLY,
    STEADY,
    PRESENCE_BY_ROUND,
    PRESENCE_BY_VALUE,
    SETTLED_CHAIN,
    CHAIN,
    COUNT_SCAN,
    SUM_SCAN,
    WINDOW_INDEX,
    ORDER_STATISTICS,
    EXTREMES,
    VALUE_SCAN,
    REPLAY,
) = range(15)

TACTICS = (
    Tactic(
        "totals, a hash table of sums",
        "totals.fold.run_block",  # of rows, before there is a key record
        when=lambda r: r.adds and r.is_short and not r.is_read,
    ),
    Tactic(
        "your function, asked once for each time",
        "user_functions.request_visit",
        when=lambda r: r.op == USER_FUNCTION,
    ),
    Tactic(
        "insert only",
        "insert_only.visit_insert_only",  # of rows that come in bulk, before there is a key record
        when=lambda r: r.only_improves and r.is_kept and r.depth <= 1 and not r.is_general and not r.joins_itself,
        keys="keys that come in bulk and have lost no row",
    ),
    Tactic(
        "steady",
        "steady.is_steady",
        when=lambda r: r.has_first and not r.is_general,
        keys="keys whose answer the changes do not reach",
    ),
    Tactic(
        "presence by round",
        "presence_by_round.visit_by_round",
        when=lambda r: r.op == DISTINCT_BY_VALUE and r.depth == 1,
        keys="keys that have a past",
    ),
    Tactic("presence by value", "presence_by_value.visit_by_value", when=lambda r: r.op == DISTINCT_BY_VALUE),
    Tactic(
        "settled chain",
        "chain_scan.visit_settled",
        when=lambda r: r.counts and r.is_general,
        keys="keys whose times form a chain behind a past of one moment",
    ),
    Tactic(
        "chain scan",
        "chain_scan.visit_chain",
        when=lambda r: r.counts and r.is_general,
        keys="keys whose times form a chain",
    ),
    Tactic("count scan", "count_scan.visit_counts", when=lambda r: r.counts and not r.is_general),
    Tactic("sum scan", "sum_scan.visit_sums", when=lambda r: r.op == SUMMED and not r.is_general),
    Tactic(
        "window index",
        "window_changes.visit_window",
        when=lambda r: r.op == WINDOWED and r.is_short,
        keys="large partitions",
    ),
    Tactic(
        "order statistics",
        "order_statistics.visit_ordered",
        when=lambda r: r.has_order and r.is_short,
        keys="keys with many values",
    ),
    Tactic(
        "extremes",
        "extremes.visit_extremes",
        when=lambda r: r.has_ends and not r.is_general,
        keys="keys with a dozen entries",
    ),
    Tactic("value scan", "value_scan.visit_values", when=lambda r: not r.is_general),
    Tactic("replay", "replay.visit_replay", when=lambda r: True),
)


def chosen(r: Reduction) -> tuple[int, ...]:
    """The numbers of the tactics that may reduce a key of it, in the order in which they are asked; the last one
    declines no key.
    """
    if r.replays_only:
        return (FUNCTION_CALL,) if r.op == USER_FUNCTION else (REPLAY,)
    found = []
    for number, tactic in enumerate(TACTICS):
        if tactic.when(r):
            found.append(number)
            if not tactic.keys:
                break
    return tuple(found)


def described(r: Reduction) -> str:
    return "; else ".join(TACTICS[number].words for number in chosen(r))


def bits_of(r: Reduction) -> int:
    return sum(1 << number for number in chosen(r))
