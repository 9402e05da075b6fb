"""The record of a program on Spark in the ledger, and how a later process goes on from it.

A record has the state of the driver, the chains of the session's journals, the rows that wait, the results that nobody
took, and the delivery that was taken in last.

Rule: a record names every file that it needs, and all of them are written before it.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ebbflow.columns.text_pool import Pool
from ebbflow.dataflow.graph import Graph
from ebbflow.durable.journal import Journal
from ebbflow.durable.ledger import Ledger, begin
from ebbflow.durable.records import LEDGER, LETTERS, OUTPUTS, SEGMENTS, STAGED, TEXTS, Files
from ebbflow.durable.segments import Delta, sections
from ebbflow.durable.store import Store, disk_refusals
from ebbflow.engine.slices import Rows
from ebbflow.errors import CheckpointDiffers, DamagedFile
from ebbflow.runtime.local import together
from ebbflow.runtime.made_by import manifest_for, refuse_other
from ebbflow.runtime.spark import blobs
from ebbflow.runtime.spark.hosting import File
from ebbflow.runtime.spark.state import Ref, State
from ebbflow.runtime.spark.texts import Texts

STATE_DIRECTORIES = (SEGMENTS, LETTERS, OUTPUTS, STAGED, TEXTS)


class Recorded(Protocol):
    """What of a runtime is recorded, and what a record brings back."""

    graph: Graph
    store: Store
    ledger: Ledger
    pool: Pool
    texts: Texts
    program: dict[str, Any]
    state: State
    buffered: list[dict[str, list[Rows]]]
    staged: list[dict[str, list[Ref]]]
    done: dict[str, list[Any]]
    journals: dict[str, Journal]
    words: dict[str, Any]
    delivery: dict[str, Any] | None
    count: int
    is_durable: bool
    found: dict[str, list[tuple[str, Delta]]]  # links of journals that nobody has asked for yet


def record_of(of: Recorded, name: str, length: int, words: dict[str, Any]) -> tuple[dict[str, Any], Files]:
    """What the record says, and which files it needs."""
    state = of.state
    journals = {section: one.next_chain(name) for section, one in of.journals.items()}
    inbox, outputs = _kept_rows(of), {output: _kept_blocks(of, of.done[output]) for output in of.done}
    lengths = {**state.lengths, name: length}
    used = {link for chain in [*journals.values(), *state.chains.values()] for link in chain}
    said = {
        **state.as_json(),
        "journals": {section: chain for section, chain in journals.items() if chain},
        "staged": of.staged,
        "inbox": inbox,
        "outputs": {output: files for output, files in outputs.items() if files},
        "delivery": of.delivery,
        "session": words,
    }
    refs = [ref["file"] for part in of.staged for refs in part.values() for ref in refs]
    files = {
        SEGMENTS: {link: lengths[link] for link in sorted(used)},
        TEXTS: dict(map(tuple, state.texts)),
        STAGED: dict(map(tuple, [*refs, *inbox])),
        OUTPUTS: dict(map(tuple, [file for found in outputs.values() for file in found])),
        LETTERS: {},
    }
    return said, files


def _kept_rows(of: Recorded) -> list[File]:
    """Rows that a stage was given and has not taken, as a file."""
    told: list[list[Any]] = []
    arrays: list[np.ndarray] = []
    for part, held in enumerate(of.buffered):
        for name, blocks in held.items():
            if blocks:
                told.append([part, name, len(arrays)])
                arrays += together(blocks)
    if not told:
        return []
    data = blobs.write(told, arrays)
    return [[of.store.put(STAGED, [data]), len(data)]]


def _kept_blocks(of: Recorded, blocks: list[Any]) -> list[File]:
    """What an output has shown and nobody took, as files."""
    found = []
    for i, block in enumerate(blocks):
        if isinstance(block, tuple):
            data = blobs.write(None, block)
            blocks[i] = {"file": [of.store.put(OUTPUTS, [data]), len(data)]}
        found.append(blocks[i]["file"])
    return found


def begin_records(of: Recorded) -> None:
    """Make the directories, and the first record where records are kept."""
    with disk_refusals(f"{of.store.root} could not be begun"):
        if of.is_durable:
            begin(of.store)
        of.store.make()
        for directory in (*STATE_DIRECTORIES, *([LEDGER] if of.is_durable else [])):
            of.store.make(directory)
        if of.is_durable:
            program = of.program
            place = {"base": program["base"], "reserve": program["reserve"], "layout": "spark"}
            manifest = {**manifest_for(of.graph, of.count, of.pool), **place, "kind": "spark"}
            manifest["rewriting"] = program["rewriting"]
            of.ledger = Ledger.create(of.store, manifest, *record_of(of, "", 0, {}))


def resume(of: Recorded, ledger: Ledger) -> None:
    """The last step, from what the ledger says."""
    of.ledger, manifest, root = ledger, ledger.manifest, of.store.root
    if manifest.get("kind") != "spark":
        raise CheckpointDiffers(
            f"{root} was made by a program that ran in one process.",
            hint=f"Open it with run(workers={manifest['workers']}, checkpoint=...), or give another directory.",
        )
    if manifest["workers"] != of.count:
        raise CheckpointDiffers(
            f"{root} was made with {manifest['workers']} shards, and this is {of.count}.",
            hint=f"Open it with run(spark, shards={manifest['workers']}), or give another directory.",
        )
    refuse_other(manifest, {**manifest_for(of.graph, of.count, of.pool), "kind": "spark"}, root)
    of.program |= {name: manifest[name] for name in ("base", "reserve", "rewriting")}
    said = ledger.state
    of.state = State.from_json(said)
    lengths = dict(map(tuple, of.state.texts))
    of.texts.tell(list(lengths), lambda name: (*blobs.read(ledger.get(TEXTS, name))[1],), None)  # type: ignore[arg-type, return-value]
    read: dict[str, dict[str, Delta]] = {}
    for section, chain in said["journals"].items():
        for name in chain:
            if name not in read:
                read[name] = sections(ledger.get(SEGMENTS, name), of.store.path(SEGMENTS, name))
            if section not in read[name]:
                raise DamagedFile(f"the file {of.store.path(SEGMENTS, name)} lacks what the ledger says it has.")
        of.found[section] = [(name, read[name][section]) for name in chain]
    of.staged = said["staged"]
    for file in said["inbox"]:
        told, arrays = blobs.read(ledger.get(STAGED, file[0]))
        for part, name, at in told:
            of.buffered[part][name] = [tuple(np.array(array) for array in arrays[at : at + 3])]
    of.done = {output: [{"file": file} for file in files] for output, files in said["outputs"].items()}
    of.delivery, of.words = said["delivery"], said["session"]
    for names in ledger.head.files.values():
        for name, length in names.items():
            of.state.lengths[name] = length
