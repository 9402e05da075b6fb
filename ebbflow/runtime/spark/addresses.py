"""The addresses of shards, the same in every process.

State is kept as it lies in memory, so a shard must find its place free wherever a task brings it back. Places are drawn
at random from a region that nothing else is likely to use.

Rule: the heaps of one program lie side by side, and those of two programs hardly ever overlap.
"""

from __future__ import annotations

import random

from ebbflow.native.memory import is_free

LOWEST_ON_SPARK, HIGHEST_ON_SPARK = (
    0x2000_0000_0000,
    0x3000_0000_0000,
)  # above what Arrow's allocator takes, below durable sessions
RESERVE = 1 << 36  # address space of a shard: 64 GiB, of which only touched pages are real
GIB = 1 << 30
DRAWS = 16


def anywhere(heaps: int, reserve: int) -> tuple[int, int]:
    """Addresses drawn at random for heaps that lie side by side, and the size of each: smaller where they are many.

    Where the driver has nothing, if such a place is found soon: of what lies there, other programs of ours give way.
    """
    reserve = min(reserve, (HIGHEST_ON_SPARK - LOWEST_ON_SPARK) // 2 // heaps // GIB * GIB or GIB)
    for _ in range(DRAWS):
        base = random.SystemRandom().randrange(LOWEST_ON_SPARK, HIGHEST_ON_SPARK - heaps * reserve, GIB)
        if is_free(base, heaps * reserve):
            break
    return base, reserve
