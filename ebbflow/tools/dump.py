"""Dump: the memory of a checkpoint, structure by structure: `ebbflow dump DIR`.

The image of each worker is read to the addresses at which it was written, and shown by `engine/show`. No program is
needed, and no session is opened.

Rule: nothing in the directory is changed.
"""

from __future__ import annotations

import click

from ebbflow.durable import ledger
from ebbflow.durable.image import apply_delta
from ebbflow.durable.records import SEGMENTS
from ebbflow.durable.segments import sections
from ebbflow.engine import show
from ebbflow.errors import CheckpointDiffers, NotACheckpoint
from ebbflow.runtime.made_by import engine, has_memory_of
from ebbflow.tools.checkpoint import opened
from ebbflow.trace.reserved_heap import Heap


def dump(place: str, node: int | None = None, empty: bool = False) -> None:
    """Print the heap of every worker as of the last step, or one node of each with its keys."""
    store, _ = opened(place)
    kept = ledger.Ledger.open(store)
    if kept is None or "base" not in kept.manifest or kept.manifest.get("kind") == "spark":
        raise NotACheckpoint(
            f"{store.root} holds no state of workers in one process.",
            hint="Give the directory that run(checkpoint=...) was given, without Spark.",
        )
    if not has_memory_of(engine(), kept.manifest["engine"]):
        raise CheckpointDiffers(f"{store.root} was made by another version, whose memory differs.")
    base, size, workers = (kept.manifest[name] for name in ("base", "reserve", "workers"))
    names = kept.state["segments"]
    read = {name: sections(kept.get(SEGMENTS, name), store.path(SEGMENTS, name)) for name in names}
    for section, chain in kept.state["chains"].items():
        if not section.startswith("heap/"):
            continue
        part, me = (int(number) for number in section.split("/")[1:])
        heap = Heap(size, base + (part * workers + me) * size)
        for i in chain:
            apply_delta(heap, read[names[i]][section])
        click.secho(f"part {part}, worker {me}", bold=True)
        click.echo(show.show_heap(heap.header, node, empty) + "\n")
        heap.close()
