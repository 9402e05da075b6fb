"""The choice of a table as a sink, by a name and a format.

Rule: what the chosen table cannot do is refused before a stream begins.
"""

from __future__ import annotations

from typing import Any

from ebbflow.errors import TypeMismatch
from ebbflow.frontend.plain import plain
from ebbflow.pipeline import claims
from ebbflow.pipeline.sinks.delta_table import DeltaTable
from ebbflow.pipeline.sinks.parquet_table import ParquetTable
from ebbflow.pipeline.sinks.sink import Sink


def table(name: str, format: str = "parquet", key: Any = None, counts: bool = False, *, replace: bool = False) -> Sink:
    """The collection as it stands, as a table: Parquet at a path, or Delta by name or path.

    Parquet is written anew beside the old one, and the path, a link, then leads to it.  Delta is merged: by `key` where
    the output has one row a key, by the whole row otherwise.  `counts=True` keeps how often a row is there as `_count`.
    A table that another stream began is refused; with `replace=True` it is replaced.  A stream's own is continued.

    >>> import ebbflow as ebb
    >>> print(ebb.table("lake.reach", format="delta", key=["root", "node"]))
    the Delta table lake.reach
    """
    if not isinstance(name, str) or not name:
        raise TypeMismatch(f"table is given a path or a name, not {plain(name)}.", hint='ebb.table("out/reach")')
    keys = () if key is None else (key,) if isinstance(key, str) else tuple(key)
    if format == "parquet":
        if keys:
            raise TypeMismatch(
                "a Parquet table is written anew, so it has no key.", hint='Leave key= out, or format="delta".'
            )
        return ParquetTable(claims.local(name, "a Parquet table"), counts, replace)
    if format == "delta":
        if keys and counts:
            raise TypeMismatch("a table by key has one row a key, and so no counts.", hint="Leave out one of the two.")
        return DeltaTable(name, keys, counts, replace)
    raise TypeMismatch(f"a table is written as parquet or delta, not as {plain(format)}.", hint='format="delta"')
