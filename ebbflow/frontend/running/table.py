"""Table: a result as users see it.

A table is a fixed set of rows in one order, kept as lanes until it is read, then as Arrow. Whatever reads Arrow reads
it without a copy; it prints as a box, shows as HTML in a notebook and compares as a list of tuples.

Rule: rows are sorted by `_time`, then by record, text by its characters and nulls first, so equal results print
equally.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ebbflow.columns.plain_words import values_of
from ebbflow.columns.schema import LONG, NULL, Field, Schema, Type
from ebbflow.errors import MissingPackage, TypeMismatch
from ebbflow.frontend import aliases
from ebbflow.frontend.aliases import unknown_method
from ebbflow.frontend.plain import plain
from ebbflow.frontend.running.drawing import as_html, boxed
from ebbflow.frontend.running.exchange import as_arrow, comparable, pandas_rounds, python_columns
from ebbflow.frontend.running.plotting import plot
from ebbflow.frontend.running.row_order import (
    FEW_TO_SORT,
    Lanes,
    rows_in_order,
    text_ranks,
)

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from matplotlib.axes import Axes

    from ebbflow.columns.text_pool import Pool


SHOWN_ROWS = 20


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
            return self.schema == other.schema and comparable(mine) == comparable(theirs)
        if isinstance(other, (list, tuple)):
            return comparable(self.rows()) == comparable(other)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    # ---- the rows, in order ----------------------------------------------------------------

    def _put_in_order(self) -> None:
        if not self._sorted:
            with self._arranging:
                if not self._sorted:
                    found = rows_in_order(self.record, self._lanes, self._times, self._weights, self._pool)
                    self._lanes, self._times, self._weights = found
                    self._sorted = True

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
        return self._few() if count <= FEW_TO_SORT else self._first(count)

    def _first(self, n: int) -> list[tuple[Any, ...]]:
        if self._count <= FEW_TO_SORT:
            return self._few()[:n]
        self._put_in_order()
        columns = python_columns(self._lanes[:, :n], self.record, self._pool)
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
            *lanes, times, weights = self._words.tolist()
        else:
            lanes, weights = self._lanes.tolist(), self._weights.tolist()
            if self._times is not None:
                is_one = len(self.coordinates) == 1
                times = self._times[:, 0].tolist() if is_one else list(map(tuple, self._times.tolist()))
        columns, are_plain = self._few_values(lanes)
        columns += [weights] if times is None else [times, weights]
        rows = list(zip(*columns))
        if self._sorted or len(rows) < 2:
            return rows
        if are_plain and (times is None or times.count(times[0]) == len(times)):
            rows.sort()  # by their values: the times are one, and no record is there twice
            return rows
        keys: list[list[Any]] = [] if times is None else [times]
        for at, type_, column in zip(self.record.starts, self.record.types, columns):
            if type_.is_text:
                keys.append([(text is not None, text) for text in column])
            elif type_.is_nested:
                keys.append(text_ranks(self._lanes[at], self._pool).tolist())
            else:
                keys += lanes[at : at + type_.words]
        places = list(zip(*keys)) if keys else [()] * len(rows)
        return [rows[i] for i in sorted(range(len(rows)), key=places.__getitem__)]

    def _few_values(self, lanes: list[list[int]]) -> tuple[list[list[Any]], bool]:
        """The columns of a few rows as Python's values, and whether these order as the rows do."""
        columns: list[list[Any]] = []
        are_plain = True
        for at, type_ in zip(self.record.starts, self.record.types):
            words = lanes[at]
            has_null = NULL in words
            column: list[Any] | None
            if type_.is_integer:
                column = [None if word == NULL else word for word in words] if has_null else words
            elif type_.name == "string":
                assert self._pool is not None, "text needs the pool that holds it"
                column = self._pool.texts(words)
            else:
                column = values_of(type_, words, lanes[at + 1] if type_.is_wide else None)
                if column is None:
                    from ebbflow.columns.lanes_out import python_values

                    column, are_plain = python_values(self._lanes[at], type_, self._pool), False
                elif type_.is_float and any(value != value for value in column):
                    are_plain = False
            are_plain = are_plain and not has_null
            columns.append(column)
        return columns, are_plain

    def to_arrow(self) -> pyarrow.Table:
        """The rows as an Arrow table; several coordinates make `_time` a struct of their names.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("once", flow.input("xs", "x long").distinct())
        >>> flow.compute(xs=[(3,)])["once"].to_arrow().to_pydict()
        {'x': [3], '_count': [1]}
        """
        if self._arrow is None:
            self._put_in_order()
            self._arrow = as_arrow(self.record, self._lanes, self._times, self._weights, self.coordinates, self._pool)
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
        table = self.to_arrow()
        frame = table.to_pandas()
        for name, column in zip(table.column_names, table.columns, strict=True):
            if pandas_rounds(column):
                frame[name] = column.to_pandas(integer_object_nulls=True)
        return frame

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
        return boxed(self.schema, self._first(n), self._times is not None, len(self))

    def _repr_html_(self) -> str:
        return as_html(self.schema, self._first(SHOWN_ROWS), self._times is not None, len(self))


def _revived(
    record: Schema,
    values: pyarrow.Table,
    times: NDArray[np.int64] | None,
    weights: NDArray[np.int64],
    coordinates: tuple[str, ...],
) -> Table:
    """A table that was pickled, with a pool of its own."""
    from ebbflow.columns.lanes_in import encode
    from ebbflow.columns.text_pool import Pool

    pool = Pool()
    return Table(record, encode(values, record, pool), times, weights, coordinates, pool)
