"""The durable runtime, closed and opened again between steps, and now and then refused by the disk.

Rule: whoever asks cannot tell it from one that was never closed.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from random import Random

from ebbflow.columns.text_pool import Pool
from ebbflow.dataflow.graph import Graph
from ebbflow.durable.store import Files
from ebbflow.errors import DiskRefused
from ebbflow.runtime.kept_local import DurableRuntime
from ebbflow.runtime.local import together

MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None
RESERVE = 1 << 30


class Hasty(Files):
    """Files that are as safe as the process; the next link fails when told so."""

    refuses = False

    def sync(self, handle: int) -> None:
        if self.refuses:
            self.refuses = False
            raise OSError(28, "No space left on device")

    def sync_directory(self, path: str) -> None:
        pass


class Restarting:
    def __init__(self, graph: Graph, pool: Pool, workers: int = 1, seed: int = 0, **options):
        self.graph, self.outer, self.options = graph, pool, {"workers": workers, "reserve": RESERVE, **options}
        self.random, self.place = Random(seed), tempfile.mkdtemp(prefix="ebbflow-", dir=MEMORY)
        self.outputs = [node.name for node in graph.nodes if type(node).__name__ == "Output"]
        self.done: dict[str, list] = {}
        self.files, self.runtime = Hasty(), None
        self.restart()

    def restart(self) -> None:
        if self.runtime is not None:
            self.runtime.close()
        self.pool = Pool()
        self.told = self.heard = 0
        self.runtime = DurableRuntime(
            self.graph, pool=self.pool, checkpoint=os.path.join(self.place, "state"), files=self.files, **self.options
        )

    def feed(self, name, lanes, times, diffs) -> None:
        assert self.pool.add_entries(self.outer.entries(self.told))
        self.told = self.outer.length
        self.runtime.feed(name, lanes, times, diffs)

    def advance(self, frontiers) -> None:
        self.runtime.advance(frontiers)
        if self.random.random() < 0.3:
            self.files.refuses = True
            for name in self.outputs:
                self.runtime.take(name)
            try:
                self.runtime.commit({})
                raise AssertionError("the disk refused, and nobody noticed")
            except DiskRefused:
                self.runtime.undo()
            self.runtime.advance(frontiers)
        for name in self.outputs:
            self.done.setdefault(name, []).append(self.runtime.take(name))
        self.runtime.commit({})
        assert self.outer.add_entries(self.pool.entries(self.heard))
        self.heard = self.pool.length
        if self.random.random() < 0.5:
            self.restart()

    def discard(self) -> None:
        self.runtime.discard()

    def take(self, output: str):
        blocks = [block for block in self.done.pop(output, []) if len(block[2])]
        return together(blocks) if blocks else self.runtime.take(output)

    def frontier(self, output: str):
        return self.runtime.frontier(output)

    def close(self) -> None:
        self.runtime.close()
        shutil.rmtree(self.place, ignore_errors=True)
