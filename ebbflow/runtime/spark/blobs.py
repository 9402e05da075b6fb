"""Blob: some facts and some arrays of words as bytes, sent between driver and tasks.

Nothing is pickled: facts are JSON, rows and outboxes are words as they are in memory.

Rule: a blob reads back equal to what was written, and one that is truncated or inconsistent is refused.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from ebbflow.errors import DamagedFile

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]  # lanes [lanes, n], times [n, coordinates], diffs [n]


def write(facts: Any, arrays: Sequence[np.ndarray] = ()) -> bytes:
    head = json.dumps([facts, [list(array.shape) for array in arrays]], separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    parts = [len(head).to_bytes(8, "little"), head]
    parts += [np.ascontiguousarray(array, "<i8").tobytes() for array in arrays]
    return b"".join(parts)


def read(data: bytes) -> tuple[Any, list[np.ndarray]]:
    """The facts and the arrays, which are views of the data, aligned where the data is."""
    try:
        length = int.from_bytes(data[:8], "little")
        facts, shapes = json.loads(data[8 : 8 + length])
        arrays, at = [], 8 + length
        for shape in shapes:
            count = int(np.prod(shape, dtype=np.int64))
            arrays.append(np.frombuffer(data, "<i8", count, at).reshape(shape))
            at += 8 * count
        if at != len(data):
            raise ValueError
    except (ValueError, TypeError):
        raise DamagedFile("a message between Spark's tasks is not whole.") from None
    return facts, arrays


def canonical(rows: Rows) -> Rows:
    """The same rows in an order that follows from their content."""
    lanes, times, diffs = rows
    if len(diffs) < 2:
        return np.array(lanes), np.array(times), np.array(diffs)  # arrays of a message cannot be written to
    order = np.lexsort([diffs, *lanes[::-1], *times.T[::-1]])
    return np.ascontiguousarray(lanes[:, order]), times[order], diffs[order]


def together(blocks: Sequence[Rows]) -> Rows:
    if len(blocks) == 1:
        return blocks[0]
    lanes, times, diffs = zip(*blocks, strict=True)
    return np.concatenate(lanes, axis=1), np.concatenate(times), np.concatenate(diffs)
