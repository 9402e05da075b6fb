"""Text exchange: every host holds the whole text pool, and receives what others added to it.

An id follows from the text, so two processes give the same text the same id without communication. Two texts with the
same hash get different ids within one process; two processes could choose differently, so that case is detected and
refused.

Rule: a pool holds exactly the text of the parts it was given, and what a task adds is reported when it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from ebbflow.columns.text_pool import Pool
from ebbflow.errors import PlanError

Part = tuple[np.ndarray, np.ndarray, np.ndarray]  # ids, where each text begins (and the last ends), bytes as words


class Texts:
    """A pool, and which of its text everybody knows: that of the parts by name, and some more."""

    def __init__(self, pool: Pool | None = None):
        self.pool = pool if pool is not None else Pool()
        self.parts: dict[str, np.ndarray] = {}  # the ids of each
        self.known = np.empty(0, np.int64)  # ids, sorted

    def fresh(self) -> np.ndarray:
        """The ids that not everybody knows."""
        if len(self.pool) == len(self.known):
            return np.empty(0, np.int64)
        return np.setdiff1d(self.pool.ids(), self.known, assume_unique=True)

    def tell(self, names: Sequence[str], read: Callable[[str], Part], fresh: Part | None) -> None:
        """What everybody knows are these parts and this; they are added where they are not there yet."""
        if list(self.parts) != list(names):
            old = self.parts
            self.parts = {name: old[name] if name in old else add_texts(self.pool, read(name)) for name in names}
            self._of_parts = np.unique(np.concatenate([np.empty(0, np.int64), *self.parts.values()]))
        of_parts = self._of_parts if self.parts else np.empty(0, np.int64)
        self.known = of_parts if fresh is None else np.union1d(of_parts, add_texts(self.pool, fresh))

    @property
    def is_exact(self) -> bool:
        """Whether it holds nothing but what everybody knows."""
        return len(self.pool) == len(self.known)


def part_of(pool: Pool, ids: Sequence[int] | np.ndarray) -> Part:
    """The text of some ids, in the order of the ids."""
    ids = np.unique(np.asarray(ids, np.int64))
    texts = pool.decode(ids, binary=True)
    if not pa.types.is_large_binary(texts.type):
        texts = texts.cast(pa.large_binary())
    _, ends, data = texts.buffers()
    offsets = np.frombuffer(ends, np.int64, len(ids) + 1).copy()
    raw = np.zeros(-(-int(offsets[-1]) // 8) * 8, np.uint8)
    if len(raw):
        raw[: int(offsets[-1])] = np.frombuffer(data, np.uint8, int(offsets[-1]))
    return ids, offsets, raw.view(np.int64)


def add_texts(pool: Pool, part: Part) -> np.ndarray:
    """Take text in under the ids that others gave it."""
    ids, offsets, words = part
    if not len(ids):
        return ids
    raw = np.ascontiguousarray(words).view(np.uint8)[: int(offsets[-1])]
    ends = pa.py_buffer(np.ascontiguousarray(offsets, np.int64))
    texts = pa.Array.from_buffers(pa.large_binary(), len(ids), [None, ends, pa.py_buffer(raw.tobytes())])
    if not (pool.encode(texts) == ids).all():
        raise PlanError(
            "two texts were given one id by two of Spark's tasks.",
            hint="This happens once in some thousand billion texts. Begin anew with another key for the pool.",
        )
    return np.asarray(ids)
