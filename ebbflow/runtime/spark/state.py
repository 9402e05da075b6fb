"""The state of a program on Spark between two steps, as the driver knows it and the ledger has it.

The driver keeps what is small: frontiers, the names of the files that hold each shard's state and the rows that wait in
files. All else lies in the files.

Rule: a state names every file that the program needs, with its length; what no state names may be removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ebbflow.engine.slices import Antichain, Rows
from ebbflow.runtime.spark.hosting import File

Ref = dict[str, Any]  # rows in a file: its name and length, their number, shards, least, most and distinct times


class Staged(NamedTuple):
    """What became of frames: how many rows, their hash, and where they are now, by input."""

    count: int  # type: ignore[assignment]  # a tuple counts otherwise
    hash: str
    rows: dict[str, list[tuple[Rows, np.ndarray]]]  # those that came back, and what puts the edits of a key in order
    files: dict[str, list[Ref]]


@dataclass
class State:
    """Where the program stands, as the ledger has it."""

    chains: dict[str, list[str]] = field(default_factory=dict)  # of every shard "part/shard": names of segments
    lengths: dict[str, int] = field(default_factory=dict)  # of every file that is named
    texts: list[File] = field(default_factory=list)
    frontiers: list[Antichain] = field(default_factory=list)  # of the parts
    inputs: dict[str, Antichain] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)  # of every shard: bytes of memory

    def copy(self) -> State:
        chains = {section: list(names) for section, names in self.chains.items()}
        kept = dict(self.lengths), list(self.texts), list(self.frontiers), dict(self.inputs), dict(self.sizes)
        return State(chains, *kept)

    def as_json(self) -> dict[str, Any]:
        return {
            "chains": self.chains,
            "lengths": self.lengths,
            "texts": self.texts,
            "frontiers": self.frontiers,
            "inputs": self.inputs,
            "sizes": self.sizes,
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> State:
        chain = lambda times: tuple(tuple(time) for time in times)
        return State(
            data["chains"],
            data["lengths"],
            data["texts"],
            [chain(times) for times in data["frontiers"]],
            {name: chain(times) for name, times in data["inputs"].items()},
            data["sizes"],
        )


def is_due(time: Sequence[int], upper: Antichain) -> bool:
    """Whether a time is complete under a frontier."""
    return not any(all(a >= b for a, b in zip(time, element, strict=True)) for element in upper)
