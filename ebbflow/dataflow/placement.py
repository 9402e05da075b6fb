"""Placement: which columns of a row decide the worker that has it, chosen so that few pipes need an exchange.

Rule: rows that a cell compares with each other are on one worker; a pipe is local only where its rows are there
already.
"""

from __future__ import annotations

from ebbflow.dataflow.plan import Cell, Pipe
from ebbflow.operators import node as kinds


def choose_partition_keys(cells: list[Cell]) -> None:
    """Which columns decide the worker of a row, chosen so that few pipes need an exchange."""
    for cell in cells:
        if cell.kind in (kinds.ARRANGE, kinds.REDUCE, kinds.SETTLE):
            cell.partition_key = cell.key
    for cell in cells:  # an index of a reduction by part of its key: the reduction is placed by that part
        if cell.kind != kinds.ARRANGE:
            continue
        for pipe in cell.pipes:
            origin = pipe.origin(cell.key, cell.key + cell.values)
            reduction = pipe.source
            if reduction.kind == kinds.REDUCE and reduction.partition_key == reduction.key and not reduction.readers:
                if origin and set(origin) < set(reduction.key):
                    reduction.partition_key = origin
    for cell in cells:
        if cell.kind == kinds.OUTPUT:
            come = {output_partition(pipe, cell.schema.names) for pipe in cell.pipes}
            cell.partition_key = (come.pop() if len(come) == 1 else ()) or cell.schema.names
        local = [pipe for pipe in cell.pipes if is_local(pipe, cell)]
        cell.local = frozenset(map(id, local))
        if local and cell.kind != kinds.OUTPUT:
            cell.notes.append(f"{len(local)} of {len(cell.pipes)} exchanges left out: the rows are there already")


def partitioned_by(cell: Cell) -> tuple[str, ...] | None:
    """The columns of the rows a cell emits by which they are placed on workers, where that is known."""
    if cell.kind in (kinds.REDUCE, kinds.SETTLE):
        return cell.partition_key
    if cell.kind == kinds.JOIN and cell.left is not None and cell.left.cell.partition_key is not None:
        shown = {(side, column): name for name, side, column in cell.columns}
        names = [shown.get((0, column), shown.get((1, other))) for column, other in key_pairs(cell)]
        return tuple(name for name in names if name) if all(names) else None
    return None


def output_partition(pipe: Pipe, names: tuple[str, ...]) -> tuple[str, ...]:
    """The columns of rows called `names` by which the pipe's source has placed them; none where that is not known, or
    not all of them are shown.
    """
    origins = [pipe.origin((name,), names) for name in names]
    wanted = [(column,) for column in partitioned_by(pipe.source) or ()]
    return tuple(names[origins.index(column)] for column in wanted) if all(w in origins for w in wanted) else ()


def key_pairs(join: Cell) -> list[tuple[str, str]]:
    """The columns that place a join's two sides: both hash the same values, in the order of the key."""
    assert join.left is not None and join.right is not None
    pairs = dict(zip(join.left.key, join.right.key, strict=True))
    return [(column, pairs[column]) for column in join.left.cell.partition_key or ()]


def is_local(pipe: Pipe, cell: Cell) -> bool:
    """Whether the rows of a pipe are on the right worker already."""
    if cell.partition_key is None:
        return True
    names = cell.key + cell.values if cell.kind in (kinds.ARRANGE, kinds.REDUCE) else cell.schema.names
    origin = pipe.origin(cell.partition_key, names)
    return origin is not None and origin == partitioned_by(pipe.source)
