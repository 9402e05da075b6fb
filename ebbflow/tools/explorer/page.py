"""The explorer as one HTML file: the plan, what its inputs were given, and an evaluator that runs in the browser.

The file needs no network, no server and no Python.  Positions come from `dataflow.layout`; the page computes every
collection itself, so that a reader can change the inputs.  A figure is the same page without its header, with the parts
that a text is about.

Rule: JSON's numbers are doubles in a browser, so whole numbers beyond 53 bits are written as text; nothing in the data
can end the script element it stands in, and the page's policy names the one script and the one style it may use.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.layout import Box, picture
from ebbflow.dataflow.node_names import detail, kind
from ebbflow.dataflow.plan_json import to_json, value_json
from ebbflow.engine.plan_notes import notes
from ebbflow.errors import DiskRefused, TypeMismatch, UnknownOption, UnknownOutput
from ebbflow.frontend.building.collection import Collection
from ebbflow.tools.explorer.recording import Recording, recorded, refuse_what_needs_python

EXACT = 2**53  # whole numbers below are doubles too
NARROW, WIDE_CELL, LOW_CELL, NEXT_LINE = 70.0, 220.0, 22.0, 13.5  # of a box, in pixels; and each line after its first
LETTER_WIDTH = 6.2
MODULES = ("evaluator", "elements", "provenance", "story", "lattice", "plan_view", "records", "timeline", "inputs",
           "telling", "page")  # fmt: skip  # each imports only from those before it
PAGE_PARTS = ("plan", "lattice", "rows", "story", "inputs")
OF_A_FIGURE = ("lattice", "rows")


@dataclass(frozen=True)
class Page:
    """A page that was written; a notebook shows it in a frame."""

    path: Path
    html: str

    def __repr__(self) -> str:
        return f"Page({str(self.path)!r})"

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self.html)}" width="100%" height="720" title="ebbflow explorer"></iframe>'


@dataclass(frozen=True)
class Look:
    """What of a page is shown: its title, the collection it begins with, its parts; a figure has no header.

    times: whether the page says how long things took; without, two pages of one story are equal.
    """

    title: str | None = None
    show: Any = None
    figure: bool | str | Iterable[str] = False
    times: bool = False

    @property
    def parts(self) -> tuple[str, ...]:
        if isinstance(self.figure, bool):
            return OF_A_FIGURE if self.figure else PAGE_PARTS
        asked = (self.figure,) if isinstance(self.figure, str) else tuple(self.figure)
        for part in asked:
            if part not in PAGE_PARTS:
                raise UnknownOption(f'a page has no part "{part}".', hint=f"It has {', '.join(PAGE_PARTS)}.")
        return tuple(part for part in PAGE_PARTS if part in asked)

    def check(self, graph: Graph) -> None:
        """Refuse what it cannot show, before anything runs."""
        if self.title is not None and not isinstance(self.title, str):
            raise TypeMismatch(
                f"title is a text, not {type(self.title).__name__}.",
                hint="Rows of an input called title are given by a story: explore(None, story).",
            )
        self.node(graph)
        if not self.parts:
            raise UnknownOption("a figure has at least one part.", hint=f"Parts are {', '.join(PAGE_PARTS)}.")

    def node(self, graph: Graph) -> int:
        """The number of the collection that the page begins with."""
        if self.show is None:
            return max((i for i, node in enumerate(graph.nodes) if isinstance(node, n.Output)), default=0)
        if isinstance(self.show, Collection) and self.show._graph is graph:
            return self.show._node
        for i, node in enumerate(graph.nodes):
            if isinstance(node, n.Output | n.Input) and node.name == self.show:
                return i
        named = [i for i, name in graph.names.items() if name == self.show]
        if not named:
            known = [node.name for node in graph.nodes if isinstance(node, n.Output | n.Input)]
            raise UnknownOutput(
                f"the program has no collection {self.show!r:.60} to show.",
                hint=f"A Collection, or one of {', '.join(dict.fromkeys([*known, *graph.names.values()]))}.",
            )
        variables = [i for i in named if isinstance(graph.nodes[i], n.Feedback)]
        return (variables or named)[0]


def explore(
    flow: Any, path: Any, story: Callable[..., object] | None, inputs: dict[str, Any], look: Look | None = None
) -> Page:
    """Write the page; without a path into a directory of the system's, and show it to whoever sits at a terminal."""
    if path is not None and not isinstance(path, str | os.PathLike):
        raise TypeMismatch(
            f"explore takes a path to write first; got {type(path).__name__}.",
            hint='For example explore("page.html", edges=[(1, 2)]), or explore(None, story) without one.',
        )
    refuse_what_needs_python(flow.graph)
    look = look or Look()
    look.check(flow.graph)
    return of_recording(recorded(flow, story, inputs), None if path is None else Path(path), look)


def of_recording(recording: Recording, path: Path | None, look: Look | None = None) -> Page:
    refuse_what_needs_python(recording.graph)
    text = html(recording, look)
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


def html(recording: Recording, look: Look | None = None, live: dict[str, Any] | None = None) -> str:
    """The whole page; `live` is what it needs to follow a session."""
    look = look or Look()
    names = [node.name for node in recording.graph.nodes if isinstance(node, n.Output)]
    held = content(recording, look, timed=look.times or live is not None)
    if live is not None:
        held["live"] = live
    style, script = f"\n{_file('page.css')}", f"\n{_script()}\n"
    policy = ["default-src 'none'", f"script-src '{digest(script)}'", f"style-src '{digest(style)}'", "img-src data:"]
    policy += ["base-uri 'none'", "form-action 'none'", *(["connect-src 'self'"] if live is not None else [])]
    parts = {
        "title": escape(f"ebbflow explorer: {look.title or ', '.join(names) or 'a plan'}"),
        "policy": "; ".join(policy),
        "style": style,
        "script": script,
        "body": "figure" if look.figure else "whole",
        "program": in_a_script(json.dumps(held, allow_nan=False, ensure_ascii=True)),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _file("page.html"))


def digest(text: str) -> str:
    """What a policy calls a script by."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def in_a_script(text: str) -> str:
    """JSON that cannot end the element it stands in."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _file(name: str) -> str:
    return resources.files("ebbflow.tools.explorer").joinpath(name).read_text(encoding="utf-8")


def _script() -> str:
    """All modules as one: without what they export and import."""
    lines = [line for name in MODULES for line in _file(f"{name}.mjs").splitlines()]
    return "\n".join(line for line in lines if not line.startswith(("export ", "import ")))


def content(recording: Recording, look: Look | None = None, timed: bool = False) -> dict[str, Any]:
    """What the page knows: plan, inputs, positions, words.  Rows that never change are a part of the plan."""
    graph, look = recording.graph, look or Look()
    said = notes(graph)
    return {
        "plan": for_javascript(to_json(graph)),
        **state(recording, timed),
        "picture": positions(graph, timed),
        "words": [{**_words(graph, number), "notes": list(said.get(number, ()))} for number in range(len(graph.nodes))],
        "chosen": look.node(graph),
        "parts": look.parts,
    }


def state(recording: Recording, timed: bool) -> dict[str, Any]:
    """What grows while a session runs: the inputs' changes, how far they are, what the engine told."""
    graph = recording.graph
    constants = {node.name for node in graph.nodes if isinstance(node, n.Input) and node.rows is not None}
    return {
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
        "engine": [
            {
                "kind": told.kind,
                "text": f"{told.text}, {told.seconds * 1000:.2f} ms" if timed and told.seconds else told.text,
                **({"rows": told.rows} if told.rows else {}),
            }
            for told in recording.told
        ],
        "lost": recording.lost,
        "spent": {number: round(seconds, 6) for number, seconds in sorted(recording.spent.items()) if timed},
    }


def positions(graph: Graph, timed: bool = False) -> dict[str, Any]:
    """Boxes and frames as [x, y, width, height], lines as points; `timed`: with room for the time spent."""
    drawn = picture(graph, lambda number: _size(graph, number, 13 if timed else 4))

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


def _size(graph: Graph, number: int, beside: int) -> tuple[float, float]:
    words = _words(graph, number)
    more = [words[name] for name in ("detail", "place") if words[name]]
    longest = max(len(words["kind"]) * 1.15 + beside, *map(len, more), 0)  # beside the kind stands a count
    return min(max(NARROW, longest * LETTER_WIDTH + 16), WIDE_CELL), LOW_CELL + NEXT_LINE * len(more)


def _words(graph: Graph, number: int) -> dict[str, str]:
    node, place = graph.nodes[number], graph.places[number]
    named = graph.names.get(number)
    told = detail(node)
    if named and not isinstance(node, n.Input | n.Output):
        told = f'"{named}" {told}'.strip()
    return {
        "kind": kind(node),
        "detail": told,
        "place": f"{place.name}:{place.line}" if place else "",
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
