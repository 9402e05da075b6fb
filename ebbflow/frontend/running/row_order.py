"""Row order: rows of a result sorted by their times, then by their values.

Rule: text is ordered by its characters, nulls come first, and rows that are in order already are not copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ebbflow.columns.schema import Schema
from ebbflow.engine.result_buffer import has_spare, reserve_rows
from ebbflow.native.kernel import lanes_of

if TYPE_CHECKING:
    from ebbflow.columns.text_pool import Pool

Lanes = NDArray[np.int64]

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
    texts = {at for at, type_ in zip(schema.starts, schema.types, strict=True) if type_.is_pooled}
    return [text_ranks(lane, pool) if i in texts else lane for i, lane in enumerate(lanes)]


def text_ranks(ids: Lanes, pool: Pool | None) -> Lanes:
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


def rows_in_order(
    record: Schema, lanes: Lanes, times: NDArray[np.int64] | None, weights: NDArray[np.int64], pool: Pool | None
) -> tuple[Lanes, NDArray[np.int64] | None, NDArray[np.int64]]:
    """Lanes, times and weights of the rows in their order."""
    quickly = _quickly(record, lanes, times, weights)
    if quickly is not None:
        return quickly
    keys = sort_keys(lanes, record, pool)
    if times is not None:
        keys = [*times.T, *keys]
    order = sorted_order(keys) if keys else np.arange(len(weights))
    return in_order(lanes, order), None if times is None else times[order], weights[order]


def _quickly(
    record: Schema, lanes: Lanes, times: NDArray[np.int64] | None, weights: NDArray[np.int64]
) -> tuple[Lanes, NDArray[np.int64] | None, NDArray[np.int64]] | None:
    """The same for many rows, numbers all of them; None where they are others, or too mixed."""
    count = len(weights)
    if count <= FEW_TO_SORT or record.has_text:
        return None
    several = times is not None and times.shape[1] > 1
    if not several and not lanes.flags.c_contiguous and _stand_in_order(lanes, times, count):
        return lanes, times, weights  # without a copy
    from ebbflow.columns.digit_sort import DIGIT_VALUES
    from ebbflow.columns.sorting import MIXED, SORTED, put_in_order

    moments = NO_TIME_WORDS if times is None else np.ascontiguousarray(times[:, 0])
    rows = np.ascontiguousarray(lanes if times is None or not several else np.concatenate([times[:, 1:].T, lanes]))
    out = space_for(len(rows) + 1 + (times is not None), count)
    room = space_for(1, 4 * count + 1 + DIGIT_VALUES)[0]
    told = put_in_order(rows, moments, np.ascontiguousarray(weights), out, room)
    if told == SORTED:
        others = len(rows) - len(lanes)  # coordinates, but the first
        lanes, weights = out[others : len(rows)], out[-1]
        if times is not None:
            times = out[[len(rows), *range(others)]].T if several else out[len(rows)][:, None]
    return None if told == MIXED else (lanes, times, weights)


def _stand_in_order(lanes: Lanes, times: NDArray[np.int64] | None, count: int) -> bool:
    """Whether many rows came in order, as those of a reduction do; asked once, it saves the sorting."""
    from ebbflow.columns.row_sums import are_sorted

    keys = [*lanes] if times is None else [times[:, 0], *lanes]
    _held, starts = lanes_of(keys)
    return bool(are_sorted(starts, count))
