"""Table: a result as users see it.

A table is a fixed set of rows in one order, kept as lanes until it is read, then as Arrow. Whatever reads Arrow reads
it without a copy; it prints as a box, shows as HTML in a notebook and compares as a list of tuples.

Rule: rows are sorted by `_time`, then by record, text by its characters and nulls first, so equal results print
equally.
"""

from __future__ import annotations

import html
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ebbflow.columns.schema import LONG, NULL, Field, Schema, Type
from ebbflow.engine.result_buffer import has_spare, reserve_rows
from ebbflow.errors import MissingPackage, TypeMismatch
from ebbflow.frontend import aliases
from ebbflow.frontend.aliases import unknown_method
from ebbflow.frontend.running.plotting import plot
from ebbflow.native.kernel import lanes_of

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from matplotlib.axes import Axes

    from ebbflow.columns.text_pool import Pool

Lanes = NDArray[np.int64]

SHOWN_ROWS = 20
SHOWN_CHARACTERS = 60
ADDED_COLOUR, GONE_COLOUR = (
    "rgba(46,160,67,0.2)",
    "rgba(248,81,73,0.2)",
)  # behind a diff: a tint of the page's own colour
SOME_NAN = object()  # equals itself, as every NaN does here
FEW_TO_SORT = 64  # rows below which setting up a clever sort costs more than sorting
SHARED = 256  # rows to a time, on average, up to which times are sorted one by one
NO_TIME_WORDS = np.empty(0, np.int64)
MUCH = 1 << 16  # words that a system hands out page by page
MOST_DISTINCT = 2**31  # rows above which two numbers of rows no longer fit one word


def space_for(lanes: int, n: int) -> Lanes:
    """int64[lanes, n]; if it is much, memory that was used before, where there is any: fresh memory costs as much as
    sorting.
    """
    return reserve_rows(lanes, n) if lanes * n > MUCH and has_spare(lanes * n) else np.empty((lanes, n), np.int64)


def sorted_order(keys: Sequence[Lanes]) -> NDArray[np.int64]:
    """The permutation that sorts rows by these columns, the most significant first; equal rows stay in their order.

    Columns are packed into one word as far as their ranges allow, with the row's number in its low bits if there is
    room, so that most tables cost a single sort of plain numbers; columns too wide for that are replaced by ranks.
    """
    n = len(keys[0]) if keys else 0
    if n <= FEW_TO_SORT or n > MOST_DISTINCT:
        return np.lexsort(keys[::-1]) if n > 1 else np.arange(n)
    if len(keys) > 1 and _is_almost_sorted(keys[0]):
        from ebbflow.columns.sorting import sort_nearly  # loads the kernels: only for many rows

        order = np.arange(n)
        sort_nearly(np.stack(keys[1:]), np.ascontiguousarray(keys[0]), order, np.empty(n, np.int64))
        return order
    number_bits = (n - 1).bit_length()
    parts = []
    for key in keys:
        low, high = int(key.min()), int(key.max())
        bits = (high - low).bit_length()
        if bits > 63 - number_bits:
            parts.append((_ranks(key), number_bits))
        elif bits:
            parts.append((key - low, bits))
    while sum(bits for _, bits in parts) > 63:  # ranks fit one word with whatever comes next, so this ends
        few = next(i for i in range(len(parts)) if sum(bits for _, bits in parts[: i + 1]) > 63)
        parts[:few] = [(_ranks(_packed(parts[:few])), number_bits)]
    packed = _packed(parts) if parts else np.zeros(n, np.int64)
    if sum(bits for _, bits in parts) <= 63 - number_bits:
        return _by_number(packed, np.arange(n), number_bits)
    order = np.argsort(packed)
    ordered = packed[order]
    steps = ordered[1:] != ordered[:-1]
    return order if steps.all() else _by_number(np.concatenate([[0], np.cumsum(steps)]), order, number_bits)


def _is_almost_sorted(key: Lanes) -> bool:
    """Whether a column never falls and its values are shared by few rows each, as the times of changes are."""
    if not (key[1:] >= key[:-1]).all():
        return False
    return len(key) <= SHARED * (int(np.count_nonzero(key[1:] != key[:-1])) + 1)


def _packed(parts: Sequence[tuple[Lanes, int]]) -> Lanes:
    words = parts[0][0]
    for key, bits in parts[1:]:
        words = (words << bits) | key
    return words


def _by_number(ranks: Lanes, numbers: Lanes, number_bits: int) -> Lanes:
    """The numbers, sorted by rank and then by number."""
    words = (ranks << number_bits) | numbers
    words.sort()
    return words & ((1 << number_bits) - 1)


def _ranks(key: Lanes) -> Lanes:
    """Each value's place among the distinct values."""
    order = np.argsort(key)
    ordered = key[order]
    ranks = np.empty(len(key), np.int64)
    ranks[order] = np.concatenate([[0], np.cumsum(ordered[1:] != ordered[:-1])])
    return ranks


def in_order(lanes: Lanes, order: NDArray[np.int64]) -> Lanes:
    """Rows chosen by their numbers; lane by lane, which is several times faster than numpy's way with both."""
    chosen = np.empty((len(lanes), len(order)), np.int64)
    for lane, out in zip(lanes, chosen, strict=True):
        np.take(lane, order, out=out, mode="clip")
    return chosen


def sort_keys(lanes: Lanes, schema: Schema, pool: Pool | None) -> list[Lanes]:
    """Columns of numbers that order rows as the values do: lanes, but text by its text."""
    texts = {at for at, type_ in zip(schema.starts, schema.types, strict=True) if type_.is_text}
    return [_text_ranks(lane, pool) if i in texts else lane for i, lane in enumerate(lanes)]


def _text_ranks(ids: Lanes, pool: Pool | None) -> Lanes:
    import pyarrow

    assert pool is not None, "text needs the pool that holds it"
    if len(ids) < 2:
        return ids
    numbered = pyarrow.array(ids).dictionary_encode()
    distinct = numbered.dictionary.to_numpy().copy()  # Arrow's is read-only, which kernels are not compiled for
    texts = pool.decode(distinct, binary=True).to_pylist()
    ranks = np.empty(len(distinct), np.int64)
    ranks[sorted(range(len(texts)), key=lambda i: (texts[i] is not None, texts[i] or b""))] = np.arange(len(texts))
    return ranks[numbered.indices.to_numpy()]


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


class Table:
    """Rows of a result: the columns, then `_time` and `_diff` of a change, or `_count` of a snapshot.

    Made by a session; it never changes.

    >>> import ebbflow as ebb
    >>> flow = ebb.Dataflow()
    >>> flow.output("copy", flow.input("edges", "src long, dst long"))
    >>> table = flow.compute(edges=[(1, 2), (1, 3)])["copy"]
    >>> table
    ┌─────┬─────┬────────┐
    │ src │ dst │ _count │
    ├─────┼─────┼────────┤
    │   1 │   2 │      1 │
    │   1 │   3 │      1 │
    └─────┴─────┴────────┘
    >>> len(table), list(table), table.columns
    (2, [(1, 2, 1), (1, 3, 1)], ['src', 'dst', '_count'])
    >>> table.to_arrow().column_names
    ['src', 'dst', '_count']
    """

    __slots__ = (
        "_arranging",
        "_arrow",
        "_count",
        "_lanes",
        "_pool",
        "_sorted",
        "_times",
        "_weights",
        "_words",
        "coordinates",
        "record",
    )

    _lanes: Lanes
    _times: NDArray[np.int64] | None
    _weights: NDArray[np.int64]

    def __init__(
        self,
        record: Schema,
        lanes: Lanes,
        times: NDArray[np.int64] | None,
        weights: NDArray[np.int64],
        coordinates: tuple[str, ...] = ("time",),
        pool: Pool | None = None,
    ):
        """`times`: int64[rows, coordinates] and `weights` are diffs; or None, and they are counts."""
        self.record, self.coordinates = record, coordinates
        self._lanes, self._times, self._weights, self._pool = lanes, times, weights, pool
        self._words: Lanes | None = None
        self._count = len(weights)
        self._sorted = self._count < 2
        self._arrow: pyarrow.Table | None = None
        self._arranging = RLock()  # of who puts the rows in order: several threads may read one table

    @classmethod
    def of_words(cls, record: Schema, words: Lanes, coordinates: tuple[str, ...], pool: Pool | None) -> Table:
        """Changes that are one array: lanes, then the one coordinate of their times, then diffs."""
        made = cls.__new__(cls)
        made.record, made.coordinates, made._words, made._pool = record, coordinates, words, pool
        made._count = words.shape[1]
        made._sorted, made._arrow, made._arranging = made._count < 2, None, RLock()
        return made

    # ---- what it is ------------------------------------------------------------------------

    @property
    def columns(self) -> list[str]:
        """The names of the columns, with `_time` and `_diff`, or `_count`, at the end.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("once", flow.input("xs", "x long").distinct())
        >>> flow.compute(xs=[(3,)])["once"].columns
        ['x', '_count']
        """
        return list(self.schema.names)

    @property
    def schema(self) -> Schema:
        """The names and types of the columns.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("once", flow.input("xs", "x long").distinct())
        >>> print(flow.compute(xs=[(3,)])["once"].schema)
        x long, _count long
        """
        if self._times is None:
            ours: tuple[Field, ...] = (Field("_count", LONG),)
        else:
            several = "struct<" + ",".join(f"{name}:long" for name in self.coordinates) + ">"
            ours = (Field("_time", LONG if len(self.coordinates) == 1 else Type(several)), Field("_diff", LONG))
        return Schema(self.record.fields + ours)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows())

    def __eq__(self, other: object) -> bool:
        """Equal columns and rows; a list or tuple of rows is compared by its rows alone."""
        if isinstance(other, Table):
            mine, theirs = self.rows(), other.rows()
            return self.schema == other.schema and _comparable(mine) == _comparable(theirs)
        if isinstance(other, (list, tuple)):
            return _comparable(self.rows()) == _comparable(other)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    # ---- the rows, in order ----------------------------------------------------------------

    def _put_in_order(self) -> None:
        if not self._sorted:
            with self._arranging:
                if not self._sorted and not self._is_quickly_sorted():
                    self._sort()

    def _sort(self) -> None:
        keys = sort_keys(self._lanes, self.record, self._pool)
        if self._times is not None:
            keys = [*self._times.T, *keys]
        order = sorted_order(keys) if keys else np.arange(len(self))
        self._lanes, self._weights = in_order(self._lanes, order), self._weights[order]
        if self._times is not None:
            self._times = self._times[order]
        self._sorted = True

    def _is_quickly_sorted(self) -> bool:
        """Whether many rows, numbers all of them, are in order now."""
        if self._count <= FEW_TO_SORT or self.record.has_text:
            return False
        lanes, times = self._lanes, self._times
        several = times is not None and times.shape[1] > 1
        if not several and not lanes.flags.c_contiguous and self._stands_in_order():
            return True  # without a copy
        from ebbflow.columns.sorting import (  # loads the kernels: only for many rows
            DIGITS,
            MIXED,
            WRITTEN,
            put_in_order,
        )

        moments = NO_TIME_WORDS if times is None else np.ascontiguousarray(times[:, 0])
        rows = np.ascontiguousarray(lanes if times is None or not several else np.concatenate([times[:, 1:].T, lanes]))
        out = space_for(len(rows) + 1 + (times is not None), self._count)
        room = space_for(1, 4 * self._count + 1 + DIGITS)[0]
        told = put_in_order(rows, moments, np.ascontiguousarray(self._weights), out, room)
        if told == WRITTEN:
            others = len(rows) - len(lanes)  # coordinates, but the first
            self._lanes, self._weights = out[others : len(rows)], out[-1]
            if times is not None:
                self._times = out[[len(rows), *range(others)]].T if several else out[len(rows)][:, None]
        self._sorted = told != MIXED
        return self._sorted

    def _stands_in_order(self) -> bool:
        """Whether many rows came in order, as those of a reduction do; asked once, it saves the sorting."""
        from ebbflow.columns.sorting import are_sorted  # loads the kernels: only for many rows

        keys = [*self._lanes] if self._times is None else [self._times[:, 0], *self._lanes]
        _held, starts = lanes_of(keys)
        self._sorted = bool(are_sorted(starts, len(self)))
        return self._sorted

    def rows(self) -> list[tuple[Any, ...]]:
        """The rows as tuples; `_time` is a number, or a tuple where time has several coordinates.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("once", flow.input("xs", "x long").distinct())
        >>> flow.compute(xs=[(3,), (5,)])["once"].rows()
        [(3, 1), (5, 1)]
        """
        words, count = self._words, self._count
        if words is not None and 0 < count <= FEW_TO_SORT:
            texts, pool = self.record.texts, self._pool
            if texts is not None and pool is not None and (found := pool.rows(words, texts)) is not None:
                return found
        return self._few() if count <= FEW_TO_SORT and not self.record.is_wide else self._first(count)

    def _first(self, n: int) -> list[tuple[Any, ...]]:
        if self._count <= FEW_TO_SORT and not self.record.is_wide:
            return self._few()[:n]
        self._put_in_order()
        columns = _values(self._lanes[:, :n], self.record, self._pool)
        if self._times is not None:
            times = self._times[:n].tolist()
            columns.append([time[0] for time in times] if len(self.coordinates) == 1 else list(map(tuple, times)))
        columns.append(self._weights[:n].tolist())
        return list(zip(*columns, strict=True))

    def _few(self) -> list[tuple[Any, ...]]:
        """A few rows: Python sorts them before numpy has begun."""
        if not self._count:
            return []
        with self._arranging:  # another thread may be at putting them in order
            return self._few_rows()

    def _few_rows(self) -> list[tuple[Any, ...]]:
        times: list[Any] | None = None
        if self._words is not None:
            columns = self._words.tolist()
            times = columns[-2]
        else:
            columns = self._lanes.tolist()
            if self._times is not None:
                is_one = len(self.coordinates) == 1
                times = self._times[:, 0].tolist() if is_one else list(map(tuple, self._times.tolist()))
                columns.append(times)
            columns.append(self._weights.tolist())
        are_plain = self._few_values(columns)
        rows = list(zip(*columns))
        if self._sorted or len(rows) < 2:
            return rows
        if are_plain and (times is None or times.count(times[0]) == len(times)):
            rows.sort()  # by their values: the times are one, and no record is there twice
            return rows
        keys: list[list[Any]] = [
            [(text is not None, text) for text in column] if type_.is_text else lane
            for type_, column, lane in zip(self.record.types, columns, self._lanes.tolist())
        ]
        if times is not None:
            keys.insert(0, times)
        places = list(zip(*keys)) if keys else [()] * len(rows)
        return [rows[i] for i in sorted(range(len(rows)), key=places.__getitem__)]

    def _few_values(self, columns: list[list[Any]]) -> bool:
        """Columns of a few rows, words so far, become Python values in place.  Whether they order as the rows do."""
        are_plain, schema = True, self.record
        for i in range(len(schema)):
            if NULL in columns[i]:
                are_plain = False
                if i not in schema.not_whole:
                    columns[i] = [None if word == NULL else word for word in columns[i]]
        for i in schema.not_whole:
            if schema.types[i].name == "string":
                assert self._pool is not None, "text needs the pool that holds it"
                columns[i] = self._pool.texts(columns[i])
            else:
                from ebbflow.columns.lanes import python_values

                columns[i], are_plain = python_values(self._lanes[i], schema.types[i], self._pool), False
        return are_plain

    def to_arrow(self) -> pyarrow.Table:
        """The rows as an Arrow table; several coordinates make `_time` a struct of their names.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("once", flow.input("xs", "x long").distinct())
        >>> flow.compute(xs=[(3,)])["once"].to_arrow().to_pydict()
        {'x': [3], '_count': [1]}
        """
        if self._arrow is None:
            import pyarrow

            from ebbflow.columns.lanes import (  # loads the kernels: only when somebody looks
                decode_column,
                decode_columns,
            )

            self._put_in_order()
            columns = decode_columns(self._lanes, self.record, self._pool)
            if self._times is not None:
                times = [decode_column(column, LONG, None, nulls=False) for column in self._times.T]
                several = len(times) > 1
                columns.append(
                    pyarrow.StructArray.from_arrays(times, names=list(self.coordinates)) if several else times[0]
                )
            columns.append(decode_column(self._weights, LONG, None, nulls=False))
            ours = None if self._times is None else self.coordinates
            self._arrow = pyarrow.Table.from_arrays(columns, schema=arrow_schema(self.record, ours))
        return self._arrow

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle and copy: the values themselves, since the text of a session stays with it."""
        values = self.to_arrow().select(list(range(len(self.record.fields))))
        return _revived, (self.record, values, self._times, self._weights, self.coordinates)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas DataFrame.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("once", flow.input("xs", "x long").distinct())
        >>> flow.compute(xs=[(3,)])["once"].to_pandas()
           x  _count
        0  3       1
        """
        try:
            import pandas  # noqa: F401
        except ImportError:
            raise MissingPackage("to_pandas needs pandas, which is not installed.", hint="pip install pandas") from None
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The rows as a Polars DataFrame.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("once", flow.input("xs", "x long").distinct())
        >>> flow.compute(xs=[(3,)])["once"].to_polars().rows()
        [(3, 1)]
        """
        try:
            import polars
        except ImportError:
            raise MissingPackage("to_polars needs polars, which is not installed.", hint="pip install polars") from None
        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame

    toPandas = to_pandas  # PySpark's spellings
    toArrow = to_arrow

    if not TYPE_CHECKING:  # a type checker knows the methods there are

        def __getattr__(self, name: str) -> Any:
            if name in ("_lanes", "_times", "_weights"):  # nobody asked for it yet
                with self._arranging:
                    if (words := self._words) is not None:
                        self._lanes, self._times, self._weights = words[:-2], words[-2][:, None], words[-1]
                        self._words = None  # from here on the parts may be put in order
                    return object.__getattribute__(self, name)
            known = [x for x in dir(Table) if not x.startswith("_")]
            raise unknown_method(name, "A Table", aliases.FOREIGN_TABLE, known)

    # ---- the rows, to look at --------------------------------------------------------------

    def show(self, n: int = SHOWN_ROWS) -> None:
        """Print the first n rows.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("once", flow.input("xs", "x long").distinct())
        >>> flow.compute(xs=[(3,), (5,)])["once"].show(1)
        ┌───┬────────┐
        │ x │ _count │
        ├───┼────────┤
        │ 3 │      1 │
        └───┴────────┘
        ... 1 more row
        """
        if isinstance(n, bool) or not isinstance(n, int) or n < 0:
            raise TypeMismatch(f"show takes a number of rows, not {plain(n)}.", hint="Write .show(20).")
        print(self._box(n))

    def plot(
        self, x: str | None = None, y: str | None = None, by: str | Iterable[str] | None = None, ax: Axes | None = None
    ) -> Axes:
        """Draw the table with matplotlib: changes as lines over `_time`, a snapshot as bars.

        A line is the number of rows that are there, or the sum of the column `y` over them, one for each value of `by`.
        It begins at 0 before the table's first change. Where times have several coordinates, `x` names the one to draw
        along. A bar is the number of rows with one value of `x` (the first column, if it is left out), or the sum of
        `y` over them. Give `ax` to draw into axes of your own; the axes are returned.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("totals", flow.input("sales", "shop string, amount long").group_by("shop").sum("amount"))
        >>> with flow.run() as live:
        ...     for time, amount in enumerate((10, 7, 4)):
        ...         live.insert("sales", [("north", amount), ("south", 2 * amount)], time=time)
        ...     live.advance_to(3)
        ...     axes = live.changes("totals").plot(y="amount", by="shop")
        >>> axes.get_ylabel()
        'amount'
        """
        return plot(self, x, y, by, ax)

    def __repr__(self) -> str:
        return self._box(SHOWN_ROWS)

    def _box(self, n: int) -> str:
        from rich import box
        from rich.console import Console
        from rich.table import Table as Box

        screen = Console(file=sys.stdout)
        in_colour = screen.is_terminal and screen.color_system is not None and not screen.no_color
        drawn = Box(box=box.SQUARE, header_style="bold")
        numeric = [type_.is_number for type_ in self.schema.types]
        for name, is_number in zip(self.columns, numeric, strict=True):
            drawn.add_column(shown(name), justify="right" if is_number else "left", no_wrap=True)
        for row in self._first(n):
            cells = [f"[dim]{shown(value)}[/]" if value is None else shown(value) for value in row]
            if self._times is not None:
                cells[-1] = f"[{'green' if row[-1] > 0 else 'red'}]{row[-1]:+d}[/]"
            drawn.add_row(*cells)
        console = Console(
            width=screen.width if screen.is_terminal else 10_000,
            color_system="standard" if in_colour else None,
            force_terminal=in_colour,
            emoji=False,
            highlight=False,
        )
        with console.capture() as captured:
            console.print(drawn)
        text = captured.get().rstrip("\n")
        return f"{text}\n{_rest(len(self), n)}" if len(self) > n else text

    def _repr_html_(self) -> str:
        """As HTML that takes its ink from the page: it is read on a light and on a dark one."""
        types = self.schema.types
        heads = zip(self.columns, types, strict=True)
        head = "".join(
            f"<th{_side(type_)}>{html.escape(plain(name))}<br><small>{html.escape(str(type_))}</small></th>"
            for name, type_ in heads
        )
        body = []
        for row in self._first(SHOWN_ROWS):
            cells = [_cell(value, type_) for value, type_ in zip(row, types, strict=True)]
            if self._times is not None:
                colour = ADDED_COLOUR if row[-1] > 0 else GONE_COLOUR
                cells[-1] = f'<td style="text-align:right;background:{colour}">{row[-1]:+d}</td>'
            body.append(f"<tr>{''.join(cells)}</tr>")
        rest = f"<p>{_rest(len(self), SHOWN_ROWS)}</p>" if len(self) > SHOWN_ROWS else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>{rest}"


def _side(type_: Type) -> str:
    """Numbers stand on the right, all else on the left."""
    return f' style="text-align:{"right" if type_.is_number else "left"}"'


def _cell(value: object, type_: Type) -> str:
    text = html.escape(plain(value))
    if value is None:
        text = f'<span style="opacity:0.6">{text}</span>'
    return f"<td{_side(type_)}>{text}</td>"


@lru_cache(maxsize=256)
def arrow_schema(record: Schema, coordinates: tuple[str, ...] | None) -> pyarrow.Schema:
    """The columns of such a table; coordinates: those of its times, None where it has none."""
    import pyarrow

    from ebbflow.columns.lanes import arrow_type

    fields = [(field.name, arrow_type(field.type)) for field in record]
    long = pyarrow.int64()
    if coordinates is None:
        return pyarrow.schema([*fields, ("_count", long)])
    time = long if len(coordinates) == 1 else pyarrow.struct([(name, long) for name in coordinates])
    return pyarrow.schema([*fields, ("_time", time), ("_diff", long)])


def _rest(total: int, n: int) -> str:
    return f"... {total - n:,} more row{'s' if total - n > 1 else ''}"


def _values(lanes: Lanes, schema: Schema, pool: Pool | None) -> list[list[Any]]:
    """The columns as Python values; whole numbers need no Arrow between."""
    columns: list[list[Any]] = []
    for at, field in zip(schema.starts, schema):
        if field.type.is_integer:
            column = lanes[at].tolist()
            columns.append([None if value == NULL else value for value in column] if NULL in column else column)
        else:
            from ebbflow.columns.lanes import python_values

            lane = lanes[at : at + 2] if field.type.is_wide else lanes[at]
            columns.append(python_values(lane, field.type, pool))
    return columns


def _comparable(rows: Sequence[Any]) -> list[Any]:
    """Rows that compare by value: every NaN equals every other."""
    return [
        tuple(SOME_NAN if isinstance(value, float) and value != value else value for value in row)
        if isinstance(row, (list, tuple))
        else row
        for row in rows
    ]


def _revived(
    record: Schema,
    values: pyarrow.Table,
    times: NDArray[np.int64] | None,
    weights: NDArray[np.int64],
    coordinates: tuple[str, ...],
) -> Table:
    """A table that was pickled, with a pool of its own."""
    from ebbflow.columns.lanes import encode  # loads the kernels: only when somebody looks
    from ebbflow.columns.text_pool import Pool

    pool = Pool()
    return Table(record, encode(values, record, pool), times, weights, coordinates, pool)
