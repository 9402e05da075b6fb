"""A checkpoint, looked at and set back: `ebbflow check DIR`, `ebbflow rewind DIR STEP`.

Nothing goes back by itself, so whoever has to needs to see what there is and to say so.

Rule: looking changes nothing; going back adds a record, and the steps that are left behind stay in the ledger's count.
"""

from __future__ import annotations

from typing import Any

import click

from ebbflow.runtime import ledger
from ebbflow.trace.store import Store, local_path


def show(place: str) -> bool:
    """Print every step that is kept and what is wrong with it; whether all of them are whole."""
    store = Store(local_path(place))
    manifest = ledger.manifest_of(store) if ledger.is_there(store) and ledger.MANIFEST in store.names() else {}
    if manifest:
        click.echo(f"{store.root}: format {manifest['format']}, {_made_by(manifest)}")
    is_whole = True
    for found in ledger.check(store):
        size = f"{found.bytes / 2**20:.1f} MiB in {_counted(found.files, 'file')}"
        click.echo(
            f"step {found.step:>8}  {'damaged' if found.wrong else 'whole  '}  {size}  {_frontiers(found.state)}"
        )
        if found.wrong:
            click.echo(f"               {found.wrong}")
            is_whole = False
    return is_whole


def rewind(place: str, step: int) -> None:
    store = Store(local_path(place))
    number = ledger.rewind(store, step)
    click.echo(f"{store.root} is at step {number}, which says what step {step} said.")
    if stands := next((_frontiers(found.state) for found in ledger.check(store) if found.step == number), ""):
        click.echo(f"Give it the input from there on again: {stands}. What changes from there on is shown again.")


def _made_by(manifest: dict[str, Any]) -> str:
    made = f"made by ebbflow {manifest['ebbflow']}" if "ebbflow" in manifest else "made by ebbflow"
    return f"{made} with {_counted(manifest['workers'], 'worker')}" if "workers" in manifest else made


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _frontiers(state: dict[str, Any]) -> str:
    told = lambda times: "closed" if not times else " ".join(str(tuple(t)) if len(t) > 1 else str(t[0]) for t in times)
    inputs = (state.get("session") or {}).get("inputs") or state.get("frontiers") or {}
    return ", ".join(f"{name} {told(times)}" for name, times in inputs.items())
