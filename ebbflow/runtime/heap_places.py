"""The addresses at which the heaps of a durable program lie, the same whenever it is opened.

Rule: a heap that is read back lies where it lay; where something else is there now, nothing is read.
"""

from __future__ import annotations

import gc
import hashlib
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from ebbflow.durable.image import Pages
from ebbflow.errors import AddressTaken
from ebbflow.runtime.local import LocalRuntime
from ebbflow.trace.worker_fields import Worker

LOWEST, HIGHEST, ALIGNED = 0x3000_0000_0000, 0x5000_0000_0000, 1 << 30  # addresses that Linux leaves free

LARGEST = 1 << 38  # bytes reserved for a worker


def layout_of(local: LocalRuntime) -> str:
    """A few letters for where everything lies when nothing has happened yet; limits are not part of it."""
    digest = hashlib.sha256()
    for part in local.parts:
        for worker in part.host.workers:
            delta = Pages(worker).delta()
            words = np.array(delta.words)
            words[[8 + Worker.FIELDS[name].offset for name in ("seal", "keep", "effort")]] = 0
            digest.update(np.int64(delta.size).tobytes() + words.tobytes())
    return digest.hexdigest()[:16]


def aligned(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED


def built_again(build: Callable[[int, int], LocalRuntime], manifest: dict[str, Any]) -> LocalRuntime:
    """The runtime where it lay; a session that nobody holds any more, and Python has not swept away yet, gives way."""
    try:
        return build(manifest["base"], manifest["reserve"])
    except AddressTaken:
        gc.collect()
        return build(manifest["base"], manifest["reserve"])


def build_anywhere(build: Callable[[int, int], LocalRuntime], reserve: int) -> tuple[LocalRuntime, dict[str, int]]:
    """The runtime at an address drawn at random, where nothing else is now and hardly anything will be."""
    for _ in range(16):
        base = random.SystemRandom().randrange(LOWEST, HIGHEST - 64 * reserve, ALIGNED)
        try:
            return build(base, reserve), {"base": base, "reserve": reserve}
        except AddressTaken:
            continue
    raise AddressTaken("no free addresses were found for the memory of a checkpoint.")


def release(local: LocalRuntime) -> None:
    for part in local.parts:
        for worker in part.host.workers:
            worker.H = None  # type: ignore[assignment]  # whoever uses it now is mistaken
            worker.heap.close()
