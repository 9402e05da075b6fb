"""Writer: a program while it is written: its steps, its registers and its tables.

The writer knows where values are and how steps lie in words; which steps a call becomes is `program`'s to say.

Rule: a register is written once, but for those of outputs and of calls that are decided in turn; an expression that was
computed is known, and not computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ebbflow.columns.ranges import FIRST_MOMENT, LAST_MOMENT, MICROSECONDS_A_DAY
from ebbflow.columns.schema import Schema, Type
from ebbflow.columns.text_pool import Pool
from ebbflow.columns.value_words import to_lane, to_words
from ebbflow.columns.zones import table_of
from ebbflow.expressions import opcodes as o
from ebbflow.expressions import operations
from ebbflow.expressions.typed import Call, Column, Expr, Literal


class NotInside(Exception):
    """This needs more than words, or more than there are registers."""


@dataclass(frozen=True)
class Operand:
    value: int
    is_word: bool = False

    @property
    def second(self) -> Operand:
        """The second word of a value that is two, neither of them a constant."""
        assert not self.is_word
        return Operand(self.value + 1 if self.value >= 0 else self.value - 1)


NO_OPERAND = Operand(0, True)


def word(value: int) -> Operand:
    return Operand(value, is_word=True)


@dataclass
class Writer:
    """A program while it is written."""

    schema: Schema
    pool: Pool
    registers: int
    write: Callable[[Writer, Call, int | None], Operand]  # the steps of a call, and where its result is
    steps: list[tuple[int, ...]] = field(default_factory=list)
    tables: list[tuple[int, Sequence[int]]] = field(default_factory=list)
    known: dict[Expr, Operand] = field(default_factory=dict)

    def words(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        start = 1 + len(self.steps) * o.STEP_WORDS
        steps = [list(step) for step in self.steps]
        data: list[int] = []
        known: dict[tuple[int, ...], int] = {}  # a zone's table is there once
        for at, table in self.tables:
            steps[at][3] = known.setdefault(tuple(table), start + len(data))
            if steps[at][3] == start + len(data):
                data += table
        return np.array([len(steps), *(word for step in steps for word in step), *data], np.int64)

    def output(self, expr: Expr, into: int) -> None:
        operand = self.operand(expr, into)
        if operand == Operand(into):
            return
        self.copy(operand, into)
        if expr.type.is_wide:
            self.copy(operand.second, into + 1)

    def copy(self, operand: Operand, into: int) -> None:
        if operand.value < 0 and not operand.is_word:
            self.steps.append((o.COPY_LANE, into, ~operand.value, 0, 0))
        else:
            self.step(o.COPY, operand, into=into)

    def operand(self, expr: Expr, into: int | None = None) -> Operand:
        """Where the value is; of one that is two words, where the first is: the second is behind it."""
        if isinstance(expr, Column):
            return Operand(~self.schema.lanes(expr.name).start)
        expr = operations.constant(expr)
        if isinstance(expr, Literal) and not expr.type.is_wide:
            return Operand(to_lane(expr.value, expr.type, self.pool), is_word=True)
        if expr not in self.known:
            if isinstance(expr, Literal):
                first, second = to_words(expr.value, expr.type, self.pool)
                self.known[expr] = self.pair(word(first), word(second), into)
            else:
                assert isinstance(expr, Call)
                self.known[expr] = self.write(self, expr, into)
        return self.known[expr]

    def pair(self, first: Operand, second: Operand, into: int | None) -> Operand:
        """Two registers side by side with these words."""
        into = self.two() if into is None else into
        self.step(o.COPY, first, into=into)
        self.step(o.COPY, second, into=into + 1)
        return Operand(into)

    def two(self) -> int:
        """Two registers side by side."""
        first = self.register()
        self.register()
        return first

    def wide(self, op: int, a: Operand, b: Operand = NO_OPERAND, c: int = 0, *, into: int | None = None) -> Operand:
        """A step whose result is two words."""
        return self.step(op, a, b, word(c), into=self.two() if into is None else into)

    def step(
        self, op: int, a: Operand, b: Operand = NO_OPERAND, c: Operand = NO_OPERAND, *, into: int | None = None
    ) -> Operand:
        into = self.register() if into is None else into
        flags = a.is_word * o.A_IS_WORD | b.is_word * o.B_IS_WORD | c.is_word * o.C_IS_WORD
        self.steps.append((op | flags, into, a.value, b.value, c.value))
        return Operand(into)

    def register(self) -> int:
        self.registers += 1
        if self.registers > o.REGISTERS:
            raise NotInside
        return self.registers - 1

    def chain(self, op: int, parts: Sequence[Operand], into: int | None, c: Operand = NO_OPERAND) -> Operand:
        """Fold operands from the left; only the last step writes `into`, which an operand may not share."""
        found = parts[0]
        for i, part in enumerate(parts[1:], 2):
            found = self.step(op, found, part, c, into=into if i == len(parts) else None)
        return found

    def skip(self, op: int, a: Operand, b: Operand) -> int:
        """A step that passes over others; `lands` says where it ends."""
        self.step(op, a, b, into=0)
        return len(self.steps) - 1

    def lands(self, skip: int) -> None:
        self.steps[skip] = (*self.steps[skip][:4], len(self.steps) - skip - 1)

    def pool_word(self) -> Operand:
        return word(self.pool.address)

    def clock(self, op: int, moment: Operand, zone: tuple[Any, ...]) -> Operand:
        """A moment moved between UTC and a zone's clocks; without a zone it stays."""
        if not zone:
            return moment
        found = self.step(op, moment)
        self.tables.append((len(self.steps) - 1, table_of(zone[0])))
        return found

    def local(self, moment: Operand, zone: tuple[Any, ...]) -> Operand:
        """What the clocks of a zone show at a timestamp, if it is of the years 1 to 9999."""
        return self.of_calendar(self.clock(o.TO_LOCAL, moment, zone)) if zone else moment

    def instant(self, shown: Operand, zone: tuple[Any, ...], into: int | None = None) -> Operand:
        """The timestamp at which the clocks of a zone show this."""
        return self.of_calendar(self.clock(o.FROM_LOCAL, shown, zone) if zone else shown, into)

    def of_calendar(self, moment: Operand, into: int | None = None) -> Operand:
        return self.step(o.NULL_OUTSIDE, moment, word(FIRST_MOMENT), word(LAST_MOMENT), into=into)

    def days(self, moment: Operand, kind: Type) -> Operand:
        return moment if kind.name == "date" else self.step(o.FLOORDIV, moment, word(MICROSECONDS_A_DAY))
