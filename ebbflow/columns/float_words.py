"""Float words: a float as a word that orders as floats do.

Rule: equal floats have one word: -0.0 is 0.0, and every nan is one nan, which is the largest.
"""

from __future__ import annotations

import math
import struct

NAN = 0x7FF8_0000_0000_0000
MAGNITUDE = 0x7FFF_FFFF_FFFF_FFFF


def float_to_lane(x: float) -> int:
    if x != x:
        return NAN
    (bits,) = struct.unpack("<q", struct.pack("<d", x + 0.0))
    return int(bits if bits >= 0 else bits ^ MAGNITUDE)


def lane_to_float(lane: int) -> float:
    return float(struct.unpack("<d", struct.pack("<q", lane if lane >= 0 else lane ^ MAGNITUDE))[0])


def as_single(x: float) -> float:
    """The nearest float of 32 bits."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", x))[0])
    except OverflowError:
        return math.copysign(math.inf, x)
