"""A graph as people see it: text, a picture, DOT.

The text has one line per node and loops as indented blocks; what is shared, and what the planner left out or cut
short, is said beside the node it concerns.  JSON and fingerprints are asked for here too.

Rule: showing a graph changes nothing, and equal graphs show alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.fingerprint import fingerprint, fingerprints
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.layout import Box, Line, picture
from ebbflow.dataflow.node_names import detail, kind
from ebbflow.dataflow.order import Block, blocks
from ebbflow.dataflow.plan_json import from_json, functions_of, to_json

__all__ = ["dot", "fingerprint", "fingerprints", "from_json", "functions_of", "html", "text", "to_json"]

Notes = Mapping[int, Sequence[str]]  # what the planner has to say of a node


def text(graph: Graph, notes: Notes | None = None) -> str:
    """The graph in lines: number, what it does, what it reads; then its name, its place in the user's file, notes."""
    lines = _block_lines(graph, blocks(graph), notes or {}, 0)
    wide = min(max((len(left) for left, _ in lines if not left.lstrip().startswith("- ")), default=0), 100)
    return "\n".join(f"{left:<{wide}}  {right}".rstrip() for left, right in lines)


def _block_lines(graph: Graph, block: Block, notes: Notes, depth: int) -> list[tuple[str, str]]:
    lines: list[tuple[str, str]] = []
    for part in block.parts:
        if isinstance(part, Block):
            assert part.loop is not None
            lines.append((f"     {'  ' * depth}loop {part.loop}{_bound(graph, part.loop)}", ""))
            lines += _block_lines(graph, part, notes, depth + 1)
        else:
            lines.append((f"{part:>4} {'  ' * depth}{line(graph, part)}", aside(graph, part)))
            lines += [(f"     {'  ' * depth}  - {note}", "") for note in notes.get(part, ())]
    return lines


def line(graph: Graph, number: int) -> str:
    """What a node does, and the numbers of what it reads."""
    node = graph.nodes[number]
    words = [kind(node), detail(node)]
    if sources := n.sources_of(node):
        words.append("<- " + ", ".join(map(str, sources)))
    if number in graph.next_of:
        words.append(f"then {graph.next_of[number]}")
    return " ".join(word for word in words if word)


def aside(graph: Graph, number: int) -> str:
    """Who reads an arrangement, what people call the node, and where they made it."""
    words = []
    if isinstance(graph.nodes[number], n.Arrange):
        readers = sum(n.sources_of(node).count(number) for node in graph.nodes)
        words.append("1 reader" if readers == 1 else f"{readers} readers")
    if number in graph.names and not isinstance(
        graph.nodes[number], n.Input | n.Output
    ):  # they say their names already
        words.append(f'"{graph.names[number]}"')
    if place := graph.places[number]:
        words.append(f"{place.name}:{place.line}")
    return "  ".join(words)


def _bound(graph: Graph, loop: int) -> str:
    rounds, on_limit = graph.loops[loop].max_rounds, graph.loops[loop].on_limit
    if rounds is None:
        return ""
    counted = "1 round" if rounds == 1 else f"{rounds} rounds"
    return f", at most {counted}" + (", then raises" if on_limit == "raise" else "")


# ---- DOT ------------------------------------------------------------------------------------


def dot(graph: Graph) -> str:
    """The graph for Graphviz, loops as clusters."""
    lines = ["digraph plan {", "  rankdir=TB", '  node [shape=box, style=rounded, fontname="sans-serif", fontsize=10]']
    lines += _dot_block(graph, blocks(graph), "  ")
    for number, node in enumerate(graph.nodes):
        lines += [f"  n{source} -> n{number}" for source in n.sources_of(node)]
    for variable, source in graph.next_of.items():
        lines.append(f"  n{source} -> n{variable} [style=dashed, constraint=false]")
    return "\n".join([*lines, "}"])


def _dot_block(graph: Graph, block: Block, indent: str) -> list[str]:
    lines = []
    for part in block.parts:
        if isinstance(part, Block):
            assert part.loop is not None
            lines += [f"{indent}subgraph cluster_{part.loop} {{", f'{indent}  label="loop {part.loop}"']
            lines += [*_dot_block(graph, part, indent + "  "), f"{indent}}}"]
        else:
            words = f"{kind(graph.nodes[part])}\\n{_quoted(detail(graph.nodes[part]))}"
            lines.append(f'{indent}n{part} [label="{words}"]')
    return lines


def _quoted(words: str) -> str:
    return words.replace("\\", "\\\\").replace('"', '\\"')


# ---- a picture ------------------------------------------------------------------------------

LETTER, LEADING, PADDING, LONGEST = 6.7, 14.0, 7.0, 34
COLOURS = {"input": "#3b82c4", "output": "#3b82c4", "join": "#b7791f", "arrange": "#718096", "variable": "#b83280"}
REDUCES, OTHER = "#2f855a", "#718096"  # all of middle lightness: they show on light and on dark


def html(graph: Graph, notes: Notes | None = None) -> str:
    """The graph as an SVG to put into a page; it takes its ink from the page's text, so dark pages are fine."""
    shown = {number: _shown(graph, number) for number in range(len(graph.nodes))}
    drawn = picture(graph, lambda number: _size(shown[number]))
    inside = [_frame(graph, loop, box) for loop, box in drawn.frames.items()]
    inside += [_line(line) for line in drawn.lines]
    inside += [_box(graph, number, drawn.boxes[number], shown[number], notes or {}) for number in sorted(drawn.boxes)]
    width, height = f"{drawn.width:.0f}", f"{drawn.height:.0f}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
            ' role="img" aria-label="dataflow graph" font-family="ui-monospace, Menlo, Consolas, monospace"'
            ' font-size="11" style="max-width: 100%; height: auto">',
            '<defs><marker id="ebbflow-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
            ' orient="auto"><path d="M0 0 8 4 0 8z" fill="currentColor" fill-opacity="0.6"/></marker></defs>',
            *inside,
            "</svg>",
        ]
    )


def _shown(graph: Graph, number: int) -> list[str]:
    """The lines of text in a node's box: what it does, with what, and what people call it."""
    node = graph.nodes[number]
    lines = [f"{number} {kind(node)}", detail(node), aside(graph, number)]
    if isinstance(node, n.Linear) and isinstance(node.action, n.Enter | n.Leave):
        lines[1] = ""  # the frame says which loop
    return [line if len(line) <= LONGEST else line[: LONGEST - 1] + "…" for line in lines if line]


def _size(lines: list[str]) -> tuple[float, float]:
    return max(map(len, lines)) * LETTER + 2 * PADDING, len(lines) * LEADING + PADDING


def _box(graph: Graph, number: int, box: Box, lines: list[str], notes: Notes) -> str:
    node = graph.nodes[number]
    colour = REDUCES if isinstance(node, n.Reduce) else COLOURS.get(kind(node), OTHER)
    words = [line(graph, number), f"({graph.schemas[number]})", aside(graph, number), *notes.get(number, ())]
    parts = [
        f'<g data-node="{number}"><title>{_xml(chr(10).join(word for word in words if word))}</title>',
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="5"'
        f' fill="{colour}" fill-opacity="0.12" stroke="{colour}"/>',
    ]
    for index, text_line in enumerate(lines):
        y = box.y + (index + 1) * LEADING
        style = ' font-weight="600"' if index == 0 else ' fill-opacity="0.75"'
        parts.append(f'<text x="{box.x + PADDING:.1f}" y="{y:.1f}" fill="currentColor"{style}>{_xml(text_line)}</text>')
    return "".join([*parts, "</g>"])


def _frame(graph: Graph, loop: int, box: Box) -> str:
    return (
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="8"'
        ' fill="currentColor" fill-opacity="0.03" stroke="currentColor" stroke-opacity="0.35" stroke-dasharray="4 3"/>'
        f'<text x="{box.x + 8:.1f}" y="{box.bottom - 6:.1f}" fill="currentColor" fill-opacity="0.75">'
        f"{_xml(f'loop {loop}{_bound(graph, loop)}')}</text>"
    )


def _line(line: Line) -> str:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in line.points)
    dashes = ' stroke-dasharray="5 3"' if line.back else ""
    return (
        f'<polyline points="{points}" fill="none" stroke="currentColor" stroke-opacity="0.6"{dashes}'
        ' stroke-linejoin="round" marker-end="url(#ebbflow-tip)"/>'
    )


def _xml(words: str) -> str:
    return escape(words, quote=True)
