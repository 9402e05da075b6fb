"""The explorer as one HTML file: the plan, what its inputs were given, and an evaluator that runs in the browser.

The file needs no network, no server and no Python.  Positions come from `dataflow.layout`; the page computes every
collection itself, so that a reader can change the inputs.

Rule: JSON's numbers are doubles in a browser, so whole numbers beyond 53 bits are written as text; and nothing in the
data can end the script element it stands in.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.layout import Box, picture
from ebbflow.dataflow.plan_json import to_json, value_json
from ebbflow.dataflow.words import detail, kind
from ebbflow.errors import DiskRefused, TypeMismatch
from ebbflow.tools.explorer.recording import Recording, recorded, refuse_what_needs_python

EXACT = 2**53  # whole numbers below are doubles too
NARROW, WIDE, TALL, LOW = 70.0, 220.0, 36.0, 22.0  # of a box, in pixels
LETTER = 6.2


@dataclass(frozen=True)
class Page:
    """A page that was written; a notebook shows it in a frame."""

    path: Path
    html: str

    def __repr__(self) -> str:
        return f"Page({str(self.path)!r})"

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self.html)}" width="100%" height="720" title="ebbflow explorer"></iframe>'


def explore(flow: Any, path: Any, story: Callable[..., object] | None, inputs: dict[str, Any]) -> Page:
    """Write the page; without a path into a directory of the system's, and show it to whoever sits at a terminal."""
    if path is not None and not isinstance(path, str | os.PathLike):
        raise TypeMismatch(
            f"explore takes a path to write first; got {type(path).__name__}.",
            hint='For example explore("page.html", edges=[(1, 2)]), or explore(None, story) without one.',
        )
    refuse_what_needs_python(flow.graph)
    return of_recording(recorded(flow, story, inputs), None if path is None else Path(path))


def of_recording(recording: Recording, path: Path | None, title: str | None = None) -> Page:
    refuse_what_needs_python(recording.graph)
    text = html(recording, title)
    if path is not None:
        return written(text, path)
    page = written(text, Path(tempfile.mkdtemp(prefix="ebbflow-")) / "explorer.html")
    if sys.stdout.isatty():
        webbrowser.open(page.path.as_uri())
    return page


def written(text: str, path: Path) -> Page:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DiskRefused(
            f"the page cannot be written to {path}: {error.strerror}.", hint="Name a file in a directory that is there."
        ) from error
    return Page(path, text)


def html(recording: Recording, title: str | None = None) -> str:
    """The whole page."""
    graph = recording.graph
    names = [node.name for node in graph.nodes if isinstance(node, n.Output)]
    parts = {
        "title": escape(f"ebbflow explorer: {title or ', '.join(names) or 'a plan'}"),
        "style": _file("page.css"),
        "script": _script(),
        "program": in_a_script(json.dumps(content(recording), allow_nan=False, ensure_ascii=True)),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _file("page.html"))


def in_a_script(text: str) -> str:
    """JSON that cannot end the element it stands in."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _file(name: str) -> str:
    return resources.files("ebbflow.tools.explorer").joinpath(name).read_text(encoding="utf-8")


def _script() -> str:
    """Both modules as one: without what the first exports and the second imports."""
    evaluator = [line for line in _file("evaluator.mjs").splitlines() if not line.startswith("export ")]
    page = [line for line in _file("page.mjs").splitlines() if not line.startswith("import ")]
    return "\n".join([*evaluator, *page])


def content(recording: Recording) -> dict[str, Any]:
    """What the page knows: plan, inputs, positions, words.  Rows that never change are a part of the plan."""
    graph = recording.graph
    constants = {node.name for node in graph.nodes if isinstance(node, n.Input) and node.rows is not None}
    return {
        "plan": for_javascript(to_json(graph)),
        "inputs": {
            name: [[[value_for_javascript(value) for value in row], list(time), diff] for row, time, diff in changes]
            for name, changes in recording.changes.items()
            if name not in constants
        },
        "dropped": {name: count for name, count in recording.dropped.items() if name not in constants},
        "frontiers": {
            name: [list(time) for time in frontier]
            for name, frontier in recording.frontiers.items()
            if name not in constants
        },
        "picture": positions(graph),
        "words": [_words(graph, number) for number in range(len(graph.nodes))],
        "chosen": max((i for i, node in enumerate(graph.nodes) if isinstance(node, n.Output)), default=0),
    }


def positions(graph: Graph) -> dict[str, Any]:
    """Boxes and frames as [x, y, width, height], lines as points."""
    drawn = picture(graph, lambda number: _size(graph, number))

    def corners(box: Box) -> list[float]:
        return [box.x, box.y, box.width, box.height]

    return {
        "width": drawn.width,
        "height": drawn.height,
        "boxes": {number: corners(box) for number, box in sorted(drawn.boxes.items())},
        "frames": {loop: corners(box) for loop, box in sorted(drawn.frames.items())},
        "lines": [
            {"source": line.source, "target": line.target, "points": line.points, "back": line.back}
            for line in drawn.lines
        ],
    }


def _size(graph: Graph, number: int) -> tuple[float, float]:
    words = _words(graph, number)
    longest = max(len(words["kind"]) * 1.15, len(words["detail"]))
    return min(max(NARROW, longest * LETTER + 16), WIDE), TALL if words["detail"] else LOW


def _words(graph: Graph, number: int) -> dict[str, str]:
    node, place = graph.nodes[number], graph.places[number]
    named = graph.names.get(number)
    told = detail(node)
    if named and not isinstance(node, n.Input | n.Output):
        told = f'"{named}" {told}'.strip()
    return {
        "kind": kind(node),
        "detail": told,
        "place": f"{os.path.basename(place.file)}:{place.line}" if place else "",
    }


def for_javascript(data: Any) -> Any:
    """JSON, with {"long": "..."} in place of whole numbers that a double cannot hold."""
    match data:
        case bool():
            return data
        case int():
            return data if abs(data) <= EXACT else {"long": str(data)}
        case dict():
            return {name: for_javascript(part) for name, part in data.items()}
        case list() | tuple():
            return [for_javascript(part) for part in data]
    return data


def value_for_javascript(value: object) -> Any:
    return for_javascript(value_json(value))
