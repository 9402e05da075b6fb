"""Which engine, how many workers and which program a checkpoint was made by.

Rule: a checkpoint of another program, or of an engine whose words mean something else, is refused, and the message says
what differs.
"""

from __future__ import annotations

import hashlib
import importlib
from importlib import metadata
from pathlib import Path
from textwrap import shorten
from typing import Any

from ebbflow.columns.text_pool import Pool
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.fingerprint import fingerprints
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.node_names import detail, kind
from ebbflow.dataflow.plan_json import schema_json
from ebbflow.errors import CheckpointDiffers
from ebbflow.native.structs import is_address

MOST_DETAIL = 80  # letters that say what a node does
SAME_MEMORY = {  # this engine, and the one before it, where the two differ by names only; then those before it
    # a word of each node that was always zero is called `visits`; constants that shared a name have their own
    "759f161928a4c3d3": "b5be0f1285ebefce",
}


def manifest_for(graph: Graph, workers: int, pool: Pool) -> dict[str, Any]:
    each = fingerprints(graph)
    return {
        "ebbflow": version(),
        "engine": engine(),
        "workers": workers,
        "coordinates": list(graph.coordinates),
        "pool": pool.key,
        "program": [[letters, told_node(graph, i)] for i, letters in enumerate(each)],
        "outputs": [  # for who reads them without the program
            [node.name, schema_json(graph.schemas[node.source])] for node in graph.nodes if isinstance(node, n.Output)
        ],
    }


def told_node(graph: Graph, number: int) -> str:
    """A node in a few words: its kind, its name, where it was written, and what it does."""
    node, place = graph.nodes[number], graph.places[number]
    name = getattr(node, "name", None) or graph.names.get(number)
    told = kind(node) + (f' "{name}"' if name else "")
    told += "" if place is None else f" ({Path(place.file).name}, line {place.line})"
    return f"{told}: {shorten(detail(node), MOST_DETAIL, placeholder=' ...')}" if detail(node) else told


def refuse_other(made: dict[str, Any], now: dict[str, Any], root: str) -> None:
    """Refuse a checkpoint of another version, number of workers, or program; of that, say which node differs."""
    if made.get("kind", "local") != now.get("kind", "local"):
        raise CheckpointDiffers(
            f"{root} was made by a program that ran on Spark, with {made['workers']} shards.",
            hint=f"Open it with run(spark, checkpoint=..., shards={made['workers']}), or give another directory.",
        )
    if made["ebbflow"] != now["ebbflow"] or not has_memory_of(now["engine"], made["engine"]):
        was = f"ebbflow {made['ebbflow']}"
        if made["ebbflow"] == now["ebbflow"]:
            was = "another state of its source"
        raise CheckpointDiffers(f"{root} was made by {was}; this is ebbflow {now['ebbflow']}, whose memory differs.")
    if made["workers"] != now["workers"]:
        raise CheckpointDiffers(
            f"{root} was made with {made['workers']} worker{'s' * (made['workers'] != 1)}, and this is "
            f"{now['workers']}.",
            hint=f"Open it with run(workers={made['workers']}), or give another directory.",
        )
    if made["coordinates"] != now["coordinates"]:
        raise CheckpointDiffers(
            f"{root} was made by a program whose times are ({', '.join(made['coordinates'])}); "
            f"this one's are ({', '.join(now['coordinates'])})."
        )
    if made["pool"] != now["pool"]:
        raise CheckpointDiffers(f"{root} was made with another key for its text.")
    before, after = [letters for letters, _ in made["program"]], [letters for letters, _ in now["program"]]
    if before != after:
        new = next((told for letters, told in now["program"] if letters not in before), None)
        gone = next((told for letters, told in made["program"] if letters not in after), None)
        what = f"it has no {new}" if new else "its nodes stand in another order"
        what += f"; and it has {gone}, which this one lacks" if gone else ""
        raise CheckpointDiffers(f"{root} was made by another program: {what}.")


def version() -> str:
    try:
        return metadata.version("ebbflow")
    except metadata.PackageNotFoundError:
        return "that is not installed"


def has_memory_of(now: str | None, made: str) -> bool:
    """Whether words that one engine wrote mean the same to another."""
    while now is not None and now != made:
        now = SAME_MEMORY.get(now)
    return now is not None


def engine() -> str:
    """A few letters for what the words of a heap mean: all named numbers and structures of the engine."""
    found: set[str] = set()  # whichever module has them: code that moves leaves them as they are
    house = Path(__file__).parents[1]
    files = [*house.glob("trace/*.py"), *house.glob("operators/**/*.py"), *house.glob("engine/*.py")]
    for path in [*files, house / "expressions/opcodes.py"]:
        part = importlib.import_module(".".join(("ebbflow", *path.relative_to(house).with_suffix("").parts)))
        for name, value in vars(part).items():
            if type(value) is int:
                found.add(f"{name} {value}")
            elif is_address(value):
                found.add(f"{name} {value.LAYOUT}")
    return hashlib.sha256("\n".join(sorted(found)).encode()).hexdigest()[:16]
