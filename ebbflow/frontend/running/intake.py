"""Intake: the one way of rows from a call into an input, as words.

A few rows of plain values become words one by one; columns of words are copied; a table of Arrow is read as it lies;
everything else becomes columns, and columns become lanes. Whoever comes first in this order and understands the rows
reads them, and the last one, which understands all there is, refuses what is wrong.

Rule: the quick ways read only what the last one would, and to the same words; a call is read whole or refused whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ebbflow import limits
from ebbflow.columns.plain_words import word_of, words_of
from ebbflow.columns.schema import NULL, Schema, Type
from ebbflow.dataflow import nodes as n
from ebbflow.errors import NoKey, TypeMismatch, UnknownColumn, WrongDiff, did_you_mean
from ebbflow.expressions.typed import Call
from ebbflow.frontend.plain import plain
from ebbflow.frontend.running.notation import is_one_time, is_whole_time, listed
from ebbflow.frontend.running.output_log import END, Antichain, Changes
from ebbflow.frontend.running.row_forms import RowForms
from ebbflow.frontend.running.row_times import RowTimes, names_in
from ebbflow.frontend.running.same_time_rows import SameTimeRows, repeated
from ebbflow.times.frontier import Time
from ebbflow.times.lattice import told_once

if TYPE_CHECKING:  # kernels load when a program runs
    from ebbflow.columns.arrow import Reader
    from ebbflow.columns.patterns import TextMatcher
    from ebbflow.columns.text_pool import Pool

Array = NDArray[np.int64]
Taken = list[int] | SameTimeRows | Changes  # a few rows at one time are words: lanes, time and diff of each

NONE_NAMED: tuple[str | None, str | None] = (None, None)  # of a time and a diff that are given as numbers
FEW = 16  # rows that are taken one by one, without Arrow
REMEMBERED_TEXTS = 1 << 16  # ids remembered beside the pool
RANGES = {"long": 2**63 - 1, "int": 2**31 - 1, "short": 2**15 - 1, "byte": 2**7 - 1}


class TextIds:
    """The ids of texts that came lately, beside the pool: rows that come one by one often have the same."""

    def __init__(self, pool: Pool):
        self._pool, self._known = pool, dict[str, int]()

    def id_of(self, text: str) -> int | None:
        """None where a text cannot be written."""
        known = self._known.get(text)
        if known is None:
            if len(self._known) >= REMEMBERED_TEXTS:
                self._known.clear()
            try:
                known = self._known[text] = int(self._pool.encode_texts([text])[0])
            except UnicodeEncodeError:
                return None
        return known


class Intake:
    """How the rows of one input become words."""

    def __init__(self, node: n.Input, coordinates: tuple[str, ...], pool: Pool, text_id: Callable[[str], int | None]):
        self.times, self._forms = RowTimes(node.name, coordinates), RowForms(node)
        self.name, self.schema, self.key = node.name, node.schema, self._forms.key
        self.room: Array | None = None  # of the lanes of a table that was taken, for the next one
        self._pool, self._text_id = pool, text_id
        self._types = node.schema.types
        self._never_null = tuple(sorted({*self.key, *node.schema.never_null}))
        self._limits = tuple(RANGES.get(type_.name, -1) for type_ in self._types)  # -1: no whole number fits
        self._is_chain = len(coordinates) == 1
        self._takes_words = self._is_chain and not self.key and all(type_.name == "long" for type_ in self._types)
        self._matchers: dict[int, TextMatcher] = {}  # columns of which is given, in place of the text, what it is like
        self._reader: Reader | None = None  # of the tables that came last,
        self._read = NONE_NAMED  # with columns of these names for time and diff

    def answer(self, asked: Mapping[int, Sequence[Call]]) -> None:
        """From here on, in place of the text of these columns goes in what is asked of it."""
        from ebbflow.columns.patterns import TextMatcher

        self._matchers = {i: TextMatcher(calls) for i, calls in asked.items()}

    def read(self, verb: str, rows: Any, time: Any, diff: Any, frontier: Antichain) -> Taken:
        """The rows of a call, none of them before the frontier."""
        found: Taken | None = None
        if type(rows) is list:
            if len(rows) <= FEW and type(diff) is int and -END <= diff <= END and is_one_time(time):
                moment = self.times.one_time(verb, time, frontier)
                if not self.key or diff == 1 or diff == -1:
                    found = self._few(rows, moment, diff)
        elif type(rows) is dict:
            found = self._words(rows, time, diff, frontier)
        elif not self.key and _is_arrow(rows.__class__):
            found = self._arrow(verb, rows, time, diff, frontier)
        return self._any(verb, rows, time, diff, frontier) if found is None else found

    # ---- a few rows of plain values ------------------------------------------------------------------

    def _few(self, rows: list[Any], time: Time, diff: int) -> list[int] | None:
        """The words of rows of plain values; None if one needs a closer look."""
        words: list[int] = []
        limits = self._limits
        for row in rows:
            if type(row) is not tuple or len(row) != len(limits):
                return None
            for value, limit in zip(row, limits):
                if type(value) is not int or not -limit <= value <= limit:
                    found = self._few_words(row)
                    if found is None:
                        return None
                    words += found
                    break
            else:
                words += row
            words += time
            words.append(diff)
        return words if diff else []

    def _few_words(self, row: tuple[Any, ...]) -> list[int] | None:
        """The lanes of a row of plain values; None if one of them needs a closer look."""
        found: list[int] = []
        for i, (value, type_, limit) in enumerate(zip(row, self._types, self._limits)):
            if type(value) is int and -limit <= value <= limit:
                word: int | None = value
            elif i in self._matchers and type(value) is str:
                word = self._matchers[i].at(value) if _is_whole_text(value) else None
            else:
                word = self._word(value, type_)
            if word is None:
                return None
            if type_.is_wide:
                found += words_of(word) if value is not None else (NULL, NULL)
            else:
                found.append(word)
        return None if any(row[i] is None for i in self._never_null) else found

    def _word(self, value: Any, type_: Type) -> int | None:
        """The word of a plain value, or the number that is the two of a wide decimal; None if it is not plain."""
        if value is None:
            return NULL
        if type(value) is str:
            return self._text_id(value) if type_.name == "string" else None
        return word_of(value, type_)

    # ---- columns that are words already ----------------------------------------------------------------

    def _words(self, rows: dict[str, Any], time: Any, diff: Any, frontier: Antichain) -> Changes | None:
        """Columns of numpy's whole numbers that are words already, with a column of times and one of diffs or a number;
        None if there is anything else.
        """
        named = (*self.schema.names, time, diff) if type(diff) is str else (*self.schema.names, time)
        if not self._takes_words or type(time) is not str or rows.keys() != set(named) or len(set(named)) < len(named):
            return None
        columns = [rows[name] for name in named]
        count = len(columns[0]) if type(columns[0]) is np.ndarray else 0
        if count == 0 or any(
            type(column) is not np.ndarray or column.dtype != np.int64 or column.shape != (count,) for column in columns
        ):
            return None
        width = self.schema.width
        found = np.empty((width + 2, count), np.int64)
        found[-1] = diff if type(diff) is int and -END <= diff <= END else 0
        for lane, column in zip(found, columns):
            lane[:] = column
        earliest = int(found[width].min())
        if found.min() == NULL or earliest < frontier[0][0] or not found[-1].all():
            return None
        return Changes(found[:width], found[width][:, None], found[-1])

    # ---- tables of Arrow, as they lie ------------------------------------------------------------------

    def _arrow(self, verb: str, table: Any, time: Any, diff: Any, frontier: Antichain) -> SameTimeRows | Changes | None:
        """The rows of a table of Arrow; None if something in it needs a closer look."""
        named = NONE_NAMED
        if type(time) is str or type(diff) is str:
            named = (time if type(time) is str else None, diff if type(diff) is str else None)
        if not (self._is_chain if named[0] is not None else is_whole_time(time)):
            return None
        if named[1] is None and (type(diff) is not int or not -END <= diff <= END or diff == 0):
            return None
        moment = self.times.one_time(verb, time, frontier) if named[0] is None else None
        if table.num_rows > limits.ROWS_A_CALL:
            self._forms.refuse_many(verb, table.num_rows)
        schema, reader = table.schema, self._reader
        if reader is None or self._read is not named or not schema.equals(reader.schema):
            reader = self._reader_of(schema, named)
            if reader is None:
                return None
        if moment is not None and named[1] is None:  # what most tables are
            found = reader.read(table, self._pool, self.room)
            if found is None or self._lacks(found):
                return None
            self.room = None
            return SameTimeRows(found, moment, diff)
        found = reader.read(table, self._pool)
        if found is None or self._lacks(found):
            return None
        width, count = self.schema.width, found.shape[1]
        times = repeated(moment, count) if moment is not None else found[width : width + 1].T
        if moment is None and count and int(times.min()) < frontier[0][0]:
            return None
        return _that_count(found[:width], times, found[-1] if named[1] is not None else np.full(count, diff, np.int64))

    def _reader_of(self, schema: Any, named: tuple[str | None, str | None]) -> Reader | None:
        """Who reads tables of a schema with these columns for time and diff; None: it is not read as it lies."""
        if self._reader is None or self._read != named or not schema.equals(self._reader.schema):
            from ebbflow.columns.arrow import Reader

            self._reader, self._read = None, named  # whoever interrupts leaves no reader of other names
            numbers = [name for name in named if name is not None]
            self._reader = Reader.of(schema, self.schema.fields, numbers, self._matchers)
        return self._reader

    # ---- anything else ---------------------------------------------------------------------------------

    def _any(self, verb: str, rows: Any, time: Any, diff: Any, frontier: Antichain) -> Changes:
        """Rows in any form; who reads them last refuses them."""
        columns, count = self._forms.columns(verb, rows)
        if count > limits.ROWS_A_CALL:
            self._forms.refuse_many(verb, count)
        times = self.times.times(verb, time, columns, count, frontier)
        diffs = self.times.diffs(verb, diff, columns, count)
        schema = self.schema
        if self.key and (diffs < 0).all() and not set(schema.names) <= set(columns):
            schema = Schema(tuple(schema.fields[i] for i in self.key))  # delete by key
        lanes = self._encode(verb, schema, columns, names_in(time) | names_in(diff), count)
        if self.schema.never_null:
            self._refuse_null(verb, schema, lanes, diffs)
        if self.key:
            lanes = self._edits_by_key(verb, schema, lanes, diffs)
        return _that_count(lanes, times, diffs)

    def _lacks(self, lanes: Array) -> bool:
        """Whether a value is missing in a column that is declared not null."""
        return any((lanes[self.schema.starts[i]] == NULL).any() for i in self._never_null)

    def _refuse_null(self, verb: str, schema: Schema, lanes: Array, diffs: Array) -> None:
        counted = diffs > 0 if self.key else diffs != 0  # a deletion by key need not say what the row was
        for i in schema.never_null:
            missing = counted & (lanes[schema.starts[i]] == NULL)
            if missing.any() and schema.names[i] not in (self.schema.names[k] for k in self.key):
                raise TypeMismatch(
                    f'{verb} finds no value for "{plain(schema.names[i])}" of "{plain(self.name)}" in row '
                    f"{int(np.argmax(missing))}; the schema says not null.",
                    hint="Give the row a value, leave it out, or declare the column without not null.",
                )

    def _encode(self, verb: str, schema: Schema, columns: dict[str, Any], used: set[str], count: int) -> Array:
        from ebbflow.columns.lanes_in import encode

        missing = [name for name in schema.names if name not in columns]
        if missing:
            raise UnknownColumn(
                f'{verb} looks for the column "{plain(missing[0])}" of the input "{plain(self.name)}" in its rows, '
                f"which have: {listed(list(columns))}.",
                hint=did_you_mean(missing[0], list(columns)) or f"The input has: {self.schema}.",
            )
        more = [name for name in columns if name not in schema and name not in used]
        if more:
            raise UnknownColumn(
                f'{verb} finds the column "{plain(more[0])}" in its rows, which the input "{plain(self.name)}" '
                f"does not have: {listed(self.schema.names)}.",
                hint=did_you_mean(more[0], self.schema.names) or "Leave it out, or name it as time= or diff=.",
            )
        if not count:
            return np.empty((schema.width, 0), np.int64)
        lanes = encode({name: columns[name] for name in schema.names}, schema, self._pool)
        for i, look in self._matchers.items():
            at = schema.starts[i]
            lanes[at] = look.at_ids(lanes[at], self._pool)
        return lanes

    def _edits_by_key(self, verb: str, schema: Schema, lanes: Array, diffs: Array) -> Array:
        """Whole rows for edits, with nothing in the columns that a deletion by key leaves out."""
        names = [self.schema.names[i] for i in self.key]
        empty = lanes[[schema.lanes(name).start for name in names]] == NULL
        if empty.any():
            row = int(np.argmax(empty.any(axis=0)))
            column = names[int(np.argmax(empty[:, row]))]
            raise NoKey(
                f'{verb} finds no value for the key "{plain(column)}" of "{plain(self.name)}" in row {row}.',
                hint="A key is never null: it says which row is meant.",
            )
        beyond = np.abs(diffs) > 1
        if beyond.any():
            row = int(np.argmax(beyond))
            raise WrongDiff(
                f'{verb} finds the diff {int(diffs[row])} in row {row}; "{plain(self.name)}" has a key, and a key has '
                "one row.",
                hint="Use 1 for a row that shall be there, -1 for one that shall not.",
            )
        if len(schema) == len(self.schema):
            return lanes
        rows = np.full((self.schema.width, lanes.shape[1]), NULL, np.int64)
        rows[self.schema.lanes_of(names)] = lanes[schema.lanes_of(names)]
        return rows


def _that_count(lanes: Array, times: Array, diffs: Array) -> Changes:
    """These rows, but for those that change nothing."""
    if not told_once(diffs).all():
        kept = diffs != 0
        lanes, times, diffs = lanes[:, kept], times[kept], diffs[kept]
    return Changes(lanes, times, diffs)


def _is_whole_text(text: str) -> bool:
    """Whether it can be written; half of a character cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@cache
def _is_arrow(kind: type) -> bool:
    return kind.__module__ == "pyarrow.lib" and kind.__name__ in ("Table", "RecordBatch")
