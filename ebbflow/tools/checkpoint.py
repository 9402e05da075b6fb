"""A checkpoint, looked at and set back: `ebbflow check DIR`, `ebbflow rewind DIR STEP`, `ebbflow skip DIR STEP`.

Nothing goes back by itself, so whoever has to needs to see what there is and to say so.

A stream's directory holds the state, Spark's own checkpoint and what was published; any of these commands takes it.

Rule: looking changes nothing; going back adds a record, and the steps that are left behind stay in the ledger's count.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from ebbflow.durable import checking, records
from ebbflow.durable.records import STATE
from ebbflow.durable.store import Store, local_path
from ebbflow.errors import NotACheckpoint
from ebbflow.pipeline import marks, skips


def opened(place: str) -> tuple[Store, Path | None]:
    """The state in this directory, and the stream's directory if it is a stream's."""
    root = local_path(place)
    within = os.path.join(root, STATE)
    if os.path.isdir(within) and not {records.MANIFEST, records.LEDGER} & set(os.listdir(root)):
        return Store(within), Path(root)
    above = Path(root).parent
    is_stream = os.path.basename(root) == STATE and (above / skips.OUTPUT_HOMES).is_dir()
    return Store(root), above if is_stream else None


def show(place: str) -> bool:
    """Print every step that is kept and what is wrong with it; whether all of them are whole."""
    store, stream = opened(place)
    manifest = records.manifest_of(store) if records.is_there(store) and records.MANIFEST in store.names() else {}
    if manifest:
        click.echo(f"{store.root}: format {manifest['format']}, {_made_by(manifest)}")
    is_whole = True
    for found in checking.check(store):
        size = f"{found.bytes / 2**20:.1f} MiB in {_counted(found.files, 'file')}"
        click.echo(
            f"step {found.step:>8}  {'damaged' if found.wrong else 'whole  '}  {size}  {_frontiers(found.state)}"
        )
        if found.wrong:
            click.echo(f"               {found.wrong}")
            is_whole = False
    if stream is not None:
        _show_published(stream, _last(store))
    return is_whole


def as_json(place: str) -> tuple[dict[str, Any], bool]:
    """What `show` prints, as data for a script; whether all of it is whole."""
    store, stream = opened(place)
    manifest = records.manifest_of(store) if records.is_there(store) and records.MANIFEST in store.names() else {}
    found = list(checking.check(store))
    held: dict[str, Any] = {
        "directory": store.root,
        "format": manifest.get("format"),
        "ebbflow": manifest.get("ebbflow"),
        "workers": manifest.get("workers"),
        "steps": [
            {"step": one.step, "damage": one.wrong, "files": one.files, "bytes": one.bytes, "inputs": _times(one.state)}
            for one in found
        ],
    }
    if stream is not None:
        last = _last(store)
        waiting = skips.unpublished(stream, last) if last and (stream / skips.OUTPUT_HOMES).is_dir() else {}
        held["published"] = marks.read(stream / skips.PUBLISHED)
        held["waiting"] = {"step": last, "outputs": sorted(waiting)} if waiting else None
        held["skipped"] = list(skips.all_skipped(stream))
    return held, not any(one.wrong for one in found)


def _last(store: Store) -> int:
    return max(records.steps_of(store), default=0)


def _show_published(stream: Path, last: int) -> None:
    """How far the outputs of a stream are, and what they were not told of."""
    published = marks.read(stream / skips.PUBLISHED)
    if published is not None:
        click.echo(f"published: step {published['step']}, batch {published.get('batch')}")
    if last and (published is None or published["step"] < last):
        waiting = skips.unpublished(stream, last) if (stream / skips.OUTPUT_HOMES).is_dir() else {}
        why = marks.read(stream / skips.REFUSED) or {}
        if waiting:
            click.echo(f"step {last} waits to be published to: {', '.join(waiting)}")
        if why.get("step") == last and why["output"] in waiting:
            click.echo(f"               {why['output']}: {why['why']}")
    for one in skips.all_skipped(stream):
        click.echo(f"skipped: step {one['step']} of {one['output']}" + (f": {one['why']}" if one["why"] else ""))


def skip(place: str, step: int, output: str | None) -> None:
    """Go on without publishing a step that an output does not take."""
    store, stream = opened(place)
    if stream is None:
        raise NotACheckpoint(
            f"{local_path(place)} is not the directory of a stream.", hint="Give the one that flow.stream was given."
        )
    checking.opened(store)
    for name, kept in skips.skip(stream, _last(store), step, output).items():
        click.echo(f"step {step} will not be published to {name}. Its changes are kept in {kept}.")
    click.echo("Start the stream again. A table is made good by the step after; a function, a log and Kafka are not.")


def rewind(place: str, step: int) -> None:
    store, stream = opened(place)
    number = checking.rewind(store, step)
    click.echo(f"{store.root} is at step {number}, which says what step {step} said.")
    if stands := next((_frontiers(found.state) for found in checking.check(store) if found.step == number), ""):
        click.echo(f"Give it the input from there on again: {stands}. What changes from there on is shown again.")
    if stream is not None:
        delivery = records.record_of(store, records.manifest_of(store), number).state.get("delivery") or {}
        click.echo(
            f"Set Spark's own checkpoint {stream / 'query'} back as far: to batch {delivery.get('batch', 'none')}. "
            "Tables and logs that are further are refused until their sinks say replace=True."
        )


def _made_by(manifest: dict[str, Any]) -> str:
    made = f"made by ebbflow {manifest['ebbflow']}" if "ebbflow" in manifest else "made by ebbflow"
    return f"{made} with {_counted(manifest['workers'], 'worker')}" if "workers" in manifest else made


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _frontiers(state: dict[str, Any]) -> str:
    told = lambda times: "closed" if not times else " ".join(str(tuple(t)) if len(t) > 1 else str(t[0]) for t in times)
    return ", ".join(f"{name} {told(times)}" for name, times in _times(state).items())


def _times(state: dict[str, Any]) -> dict[str, Any]:
    """The frontier of each input, as the step holds it."""
    inputs = (state.get("session") or {}).get("inputs") or state.get("frontiers") or {}
    return {} if isinstance(inputs, list) else inputs  # on Spark before the first step: of the parts, not of an input
