"""A lane read as a float, and a float as a lane, in compiled code.

Rule: the words are those of `float_words`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ebbflow.columns.float_words import MAGNITUDE, NAN
from ebbflow.native.kernel import inline


@inline
def to_float(lane: int) -> Any:
    """needs: a lane of a float, not NULL.  leaves: the float."""
    return np.int64(lane if lane >= 0 else lane ^ MAGNITUDE).view(np.float64)


@inline
def from_float(x: float) -> Any:
    """needs: any float.  leaves: its lane: one nan, one zero, and the order of floats."""
    if x != x:
        return np.int64(NAN)
    bits = np.float64(x + 0.0).view(np.int64)
    return bits if bits >= 0 else bits ^ MAGNITUDE
