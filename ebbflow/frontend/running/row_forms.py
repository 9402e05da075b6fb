"""The columns of rows, in whatever form a person has them.

Rows come as tuples, dicts, data classes, arrays, tables of Arrow, pandas, Polars or Spark. Each form is read as columns
by name, and what cannot be a table is refused with the row and the form that is wanted.

Rule: the columns of a call are of equal length and each name stands once; values are not looked at here.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from ebbflow import limits
from ebbflow.dataflow import nodes as n
from ebbflow.errors import DuplicateName, TypeMismatch
from ebbflow.frontend.plain import plain
from ebbflow.frontend.running.notation import listed


class RowForms:
    """How calls give the rows of one input."""

    def __init__(self, node: n.Input):
        self.name, self.schema = node.name, node.schema
        self.key = tuple(node.schema.index(name) for name in node.key)

    def columns(self, verb: str, rows: Any) -> tuple[dict[str, Any], int]:
        """The columns of the rows by name, and how many rows there are."""
        if isinstance(rows, Mapping):
            return self._from_columns(verb, dict(rows))
        if isinstance(rows, np.ndarray) and rows.dtype.names:
            return {name: rows[name] for name in rows.dtype.names}, len(rows)
        if isinstance(rows, np.ndarray) and rows.ndim == 2:
            return self._by_position(verb, list(rows.T)), len(rows)
        if type(rows).__module__ == "pyarrow.lib" and type(rows).__name__ == "Table":
            return self._from_arrow(verb, rows)
        if type(rows).__module__.partition(".")[0] == "pandas" and hasattr(rows, "columns"):
            return self._from_pandas(verb, rows)
        if type(rows).__module__.startswith("pyspark.sql") and hasattr(rows, "toArrow"):
            return self._from_arrow(verb, rows.toArrow())
        if hasattr(rows, "__arrow_c_stream__") or hasattr(rows, "__arrow_c_array__"):
            import pyarrow  # loaded by whoever has such a table, mostly

            try:
                table = pyarrow.table(rows)
            except (TypeError, ValueError):  # a single column, for example
                self._refuse_form(verb, rows)
            return self._from_arrow(verb, table)
        if isinstance(rows, (str, bytes)) or not hasattr(rows, "__iter__") or getattr(rows, "ndim", 1) == 0:
            self._refuse_form(verb, rows)
        return self._from_rows(verb, list(rows))

    def refuse_many(self, verb: str, count: int) -> NoReturn:
        raise TypeMismatch(
            f'{verb} is given {count:,} rows for "{plain(self.name)}"; one call takes {limits.ROWS_A_CALL:,}.',
            hint="Give them in several calls, at the same time if they belong together.",
        )

    def _refuse_form(self, verb: str, rows: Any) -> NoReturn:
        raise TypeMismatch(
            f'{verb} takes the rows of "{plain(self.name)}" as a list of tuples, a dict of arrays, or anything '
            f"Arrow, not {type(rows).__name__}.",
            hint=f"Write [{self._pattern}].",
        )

    @property
    def _pattern(self) -> str:
        return f"({', '.join(self.schema.names)}{',' if len(self.schema) == 1 else ''})"

    def _from_arrow(self, verb: str, table: Any) -> tuple[dict[str, Any], int]:
        names = table.column_names
        for name in names:
            if names.count(name) > 1:
                self._refuse_twice(verb, name)
        columns = {name: table.column(i) for i, name in enumerate(names)}
        for name, column in columns.items():
            if (count := column.length()) != table.num_rows:  # as a struct of Arrow's C interface may say
                raise TypeMismatch(
                    f'{verb} finds {count:,} rows in the column "{plain(name)}" of an Arrow table that says it '
                    f"has {table.num_rows:,}.",
                    hint="Whoever made it wrote it wrongly: table.validate() tells more.  Nothing of it was read.",
                )
        return columns, table.num_rows

    def _from_pandas(self, verb: str, rows: Any) -> tuple[dict[str, Any], int]:
        import pyarrow

        names = list(rows.columns)
        if len(set(names)) == len(names):
            try:
                return self._from_arrow(verb, pyarrow.Table.from_pandas(rows, preserve_index=False))
            except (pyarrow.ArrowException, TypeError):  # some value is of no type of Arrow: it will be found and named
                return {name: rows[name].tolist() for name in names}, len(rows)
        self._refuse_twice(verb, next(name for name in names if names.count(name) > 1))

    def _refuse_twice(self, verb: str, name: str) -> NoReturn:
        raise DuplicateName(
            f'{verb} finds two columns named "{plain(name)}" in the rows of "{plain(self.name)}".',
            hint="Rename one of them, or leave it out.",
        )

    def _from_columns(self, verb: str, columns: dict[str, Any]) -> tuple[dict[str, Any], int]:
        lengths = {
            name: len(column) if hasattr(column, "__len__") and not isinstance(column, (str, bytes)) else None
            for name, column in columns.items()
        }
        if None in lengths.values() or len(set(lengths.values())) > 1:
            raise TypeMismatch(
                f'{verb} takes columns of equal length for "{plain(self.name)}"; these have: '
                + ", ".join(f"{plain(k)} {'one value' if v is None else v}" for k, v in lengths.items())
                + ".",
                hint="A dict holds an array for every column.",
            )
        return columns, next(iter(lengths.values()), 0) or 0

    def _from_rows(self, verb: str, rows: list[Any]) -> tuple[dict[str, Any], int]:
        if not rows:
            return {name: [] for name in self.schema.names}, 0
        first = rows[0]
        if isinstance(first, Mapping):
            for i, row in enumerate(rows):
                if not isinstance(row, Mapping) or row.keys() != first.keys():
                    raise TypeMismatch(
                        f'{verb} finds other columns in row {i} for "{plain(self.name)}" than in row 0: '
                        f"{listed(list(row)) if isinstance(row, Mapping) else plain(row)} instead of "
                        f"{listed(list(first))}.",
                        hint="Give every row the same columns; None is a value.",
                    )
            return {name: [row[name] for row in rows] for name in first}, len(rows)
        if hasattr(first, "__dataclass_fields__"):
            kind = type(first)
            rows = [
                tuple(getattr(row, name) for name in self.schema.names) if type(row) is kind else row for row in rows
            ]
            first = rows[0]
        if verb == "delete" and len(self.key) == 1 and not any(isinstance(row, (tuple, list)) for row in rows):
            return {self.schema.names[self.key[0]]: rows}, len(rows)
        width = len(first) if isinstance(first, (tuple, list, np.ndarray)) else -1
        if not set(map(type, rows)) <= {tuple, list} or set(map(len, rows)) != {width}:
            for i, row in enumerate(rows):
                if not isinstance(row, (tuple, list, np.ndarray)) or len(row) != width:
                    self._refuse_row(verb, i, row)
        columns = [list(map(operator.itemgetter(i), rows)) for i in range(width)]  # zip(*rows) is far slower
        return self._by_position(verb, columns), len(rows)

    def _by_position(self, verb: str, columns: list[Any]) -> dict[str, Any]:
        """Columns without names: those of the schema in its order, or only the key where rows are deleted by it."""
        names = self.schema.names
        if len(columns) == len(names):
            return dict(zip(names, columns))
        if verb == "delete" and self.key and len(columns) == len(self.key):
            return {names[i]: column for i, column in zip(self.key, columns)}
        self._refuse_row(verb, 0, columns)

    def _refuse_row(self, verb: str, row: int, value: Any) -> NoReturn:
        is_row = isinstance(value, (tuple, list, np.ndarray))
        what = f"{len(value)} value{'' if len(value) == 1 else 's'}" if is_row else plain(value)
        raise TypeMismatch(
            f'{verb} finds {what} in row {row}; a row of "{plain(self.name)}" has {len(self.schema)}: {self.schema}.',
            hint=f"Write each row as a tuple: {self._pattern}.",
        )


def is_iterator(rows: object) -> bool:
    """Whether rows are made one by one when they are asked for; a stream of Arrow is taken as a table."""
    return hasattr(rows, "__next__") and not hasattr(rows, "__arrow_c_stream__")
