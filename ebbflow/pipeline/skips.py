"""Steps that are passed over: committed, never published to an output, on somebody's explicit word.

A sink may refuse a step for good: a function that raises for a row, a table that somebody locked.  The step is part of
the state, so the stream cannot go on as if it had not been.  Whoever accepts that an output is not told says so with
`ebbflow skip`; a table, which is the whole collection, is made good by the next step.

Rule: only the last step can be passed over, by name, before it is published; its changes are kept beside the state.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ebbflow.errors import UnknownOutput, UnknownStep
from ebbflow.frontend.plain import plain
from ebbflow.pipeline import claims, marks

PUBLISHED, REFUSED = "published.json", "refused.json"  # the last step that all sinks have; one that a sink refused
PROGRESS, OUTPUT_HOMES = "progress", "outputs"  # of each output: how far it is, and a directory
SKIPPED = "skipped"  # the changes that nobody was told of
SKIPS_FILE = "skipped.json"  # which steps those are


def skipped_of(place: Path, output: str) -> tuple[int, ...]:
    """The steps that an output is not told of."""
    return tuple(one["step"] for one in all_skipped(place) if one["output"] == output)


def all_skipped(place: Path) -> list[dict[str, Any]]:
    return list((marks.read(place / SKIPS_FILE) or {"steps": []})["steps"])


def unpublished(place: Path, step: int) -> dict[str, Path]:
    """The outputs that do not have a step yet, and where its changes would be kept."""
    found = {}
    for home in sorted((place / OUTPUT_HOMES).iterdir(), key=lambda home: int(home.name)):
        output = claims.owner_of(home).output
        at = marks.read(place / PROGRESS / f"{home.name}.json")
        if (at is None or at["step"] < step) and step not in skipped_of(place, output):
            found[output] = kept_changes(place, home, step)
    return found


def kept_changes(place: Path, home: Path, step: int) -> Path:
    return place / SKIPPED / f"step={step}" / f"{home.name}.parquet"


def skip(place: Path, last: int, step: int, output: str | None) -> dict[str, Path]:
    """Pass over a step: the outputs that will not be told, and where its changes will be kept."""
    published = marks.read(place / PUBLISHED)
    if step != last or (published is not None and published["step"] >= step):
        stands = f"the stream is at step {last}" + ("" if published is None else f", published {published['step']}")
        raise UnknownStep(
            f"step {step} of {place} does not wait to be published: {stands}.",
            hint="Only the last step can be skipped, and only while an output does not have it.",
        )
    waiting = unpublished(place, step)
    if output is not None and output not in waiting:
        raise UnknownOutput(
            f'step {step} does not wait for the output "{plain(output)}".',
            hint=f"It waits for: {', '.join(waiting) or 'none'}.",
        )
    chosen = {name: kept for name, kept in waiting.items() if output in (None, name)}
    why = marks.read(place / REFUSED) or {}
    said = [
        {"step": step, "output": name, "why": why.get("why", "") if why.get("output") == name else ""}
        for name in chosen
    ]
    marks.write(place / SKIPS_FILE, {"steps": [*all_skipped(place), *said]})
    return chosen
