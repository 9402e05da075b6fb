"""Fingerprint: a short hash of what a program, or a node, computes.

A checkpoint belongs to the program that made it, and a trace to the node that filled it. So a fingerprint depends on
what is computed and on nothing else: not on node numbers, names, lines, or neighbouring nodes.

A node's fingerprint is made from its content and its sources' fingerprints. A loop refers to itself, so the
fingerprints of its variables are refined a few times: each pass includes one more round of every loop.

Rule: every process computes the same fingerprint. Users' functions count by name and bytecode, so a program that has
some gets another fingerprint under another version of Python; values that they close over do not count.
"""

from __future__ import annotations

import hashlib
import json
from types import CodeType
from typing import Any

from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph, renumbered
from ebbflow.dataflow.plan_json import node_json

DEEPEST = 8  # passes: one for each loop inside a loop, with room to spare
DIGEST_LETTERS = 32


def fingerprint(graph: Graph) -> str:
    """The program's: its coordinates, and everything that its outputs depend on."""
    each = fingerprints(graph)
    outputs = sorted(each[i] for i, node in enumerate(graph.nodes) if isinstance(node, n.Output))
    inputs = sorted(each[i] for i, node in enumerate(graph.nodes) if isinstance(node, n.Input))
    return _letters([list(graph.coordinates), inputs, outputs])


def fingerprints(graph: Graph) -> list[str]:
    """One for each node."""
    contents = [_content(node) for node in graph.nodes]
    variables: list[list[int]] = [[] for _ in graph.loops]
    for number, node in enumerate(graph.nodes):
        if isinstance(node, n.Feedback):
            variables[node.loop].append(number)
    passes = DEEPEST if graph.loops else 1
    each, loops = [""] * len(graph.nodes), [""] * len(graph.loops)
    for _ in range(passes):
        each = _pass(graph, contents, loops)
        loops = _loops(graph, variables, each)
    return each


def _pass(graph: Graph, contents: list[Any], loops: list[str]) -> list[str]:
    found: list[str] = []
    for number, node in enumerate(graph.nodes):
        sources = [found[source] for source in n.sources_of(node)]
        match node:
            case n.Linear(_, n.Enter(loop)) | n.Linear(_, n.Leave(loop)) | n.Feedback(_, loop):
                sources.append(loops[loop])
        found.append(_letters([contents[number], sources]))
    return found


def _loops(graph: Graph, variables: list[list[int]], each: list[str]) -> list[str]:
    """A loop is its bounds, the loop around it, and what its variables start with and become."""
    found: list[str] = []
    for number, loop in enumerate(graph.loops):
        around = None if loop.parent is None else found[loop.parent]
        becomes = [[each[v], each[graph.next_of[v]]] for v in variables[number] if v in graph.next_of]
        found.append(_letters([around, loop.max_rounds, loop.on_limit, becomes]))
    return found


class _Zero(dict[int, int]):
    def __missing__(self, number: int) -> int:
        return 0


def _content(node: n.Node) -> Any:
    """A node without the numbers of its sources and of its loop."""
    written = node_json(renumbered(node, _Zero()), _code)
    written.pop("loop", None)
    if isinstance(written.get("action"), dict):
        written["action"].pop("loop", None)
    return written


def _code(function: n.Function) -> Any:
    code = getattr(function.fn, "__code__", None)
    if code is None:
        kind = type(function.fn)
        return [function.name, getattr(function.fn, "__qualname__", f"{kind.__module__}.{kind.__qualname__}")]
    return [function.name, _code_text(code)]


def _code_text(code: CodeType) -> list[Any]:
    constants = [_code_text(each) if isinstance(each, CodeType) else _constant(each) for each in code.co_consts]
    return [code.co_code.hex(), list(code.co_names), list(code.co_varnames), list(code.co_freevars), constants]


def _constant(value: object) -> str:
    """A constant in words that do not depend on the process: sets have no order."""
    return repr(sorted(map(repr, value))) if isinstance(value, frozenset) else repr(value)


def _letters(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=DIGEST_LETTERS // 2).hexdigest()
