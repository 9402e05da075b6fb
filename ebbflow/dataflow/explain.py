"""A graph as people see it: text, a picture, DOT.

The text has one line per node and loops as indented blocks; what is shared, and what the planner left out or cut
short, is said beside the node it concerns.  JSON and fingerprints are asked for here too.

Rule: showing a graph changes nothing, and equal graphs show alike.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from html import escape

from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.fingerprint import fingerprint, fingerprints
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.order import Block, blocks
from ebbflow.dataflow.plan_json import from_json, functions_of, to_json
from ebbflow.dataflow.words import detail, kind

__all__ = ["dot", "fingerprint", "fingerprints", "from_json", "functions_of", "text", "to_json"]

Notes = Mapping[int, Sequence[str]]  # what the planner has to say of a node


def text(graph: Graph, notes: Notes | None = None) -> str:
    """The graph in lines: number, what it does, what it reads; then its name, its place in the user's file, notes."""
    lines = _block_lines(graph, blocks(graph), notes or {}, 0)
    wide = min(max((len(left) for left, _ in lines), default=0), 100)
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
    if number in graph.names:
        words.append(f'"{graph.names[number]}"')
    if place := graph.places[number]:
        words.append(f"{os.path.basename(place.file)}:{place.line}")
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


def _xml(words: str) -> str:
    return escape(words, quote=True)
