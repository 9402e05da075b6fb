"""Show: the structures of a heap as text, with their fields by name.

A person who debugs the engine, or reads a failed test, sees a node, a table or a key's history as the classes declare
them. Only the declarations are used, so a heap can be shown without the plan that it was laid out from.

Rule: showing reads words and writes none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ebbflow.native.structs import Address, Words
from ebbflow.operators import node as kinds
from ebbflow.trace import table as tables
from ebbflow.trace.segment import Entry, diff_of, rank_of
from ebbflow.trace.worker_fields import Worker

KIND_NAMES = ("input", "arrange", "reduce", "output", "join", "pass", "outside", "delay", "settle", "wait")
MOST_KEYS, MOST_ENTRIES = 20, 100  # that are shown unless more are asked for
_OF_OTHERS = ("left", "left_family", "right", "right_family", "projection", "call_args", "spec", "buffer")


def fields_of(structure: Address, leave_out: tuple[str, ...] = ()) -> dict[str, Any]:
    """The fields of a structure by name: numbers, structures inside it as such, addresses of others as `Table@12`."""
    found: dict[str, Any] = {}
    for name, field in type(structure).FIELDS.items():
        if name in leave_out or name.startswith("unused") or (field.is_inside and field.number == 0):
            continue
        value = getattr(structure, name)
        if not field.is_inside:
            found[name] = int(value) if field.kind is int else _at(value)
        elif field.kind is Words:
            found[name] = [int(value[i]) for i in range(field.number)]
        elif field.number > 1:
            found[name] = [fields_of(value[i]) for i in range(field.number)]
        else:
            found[name] = fields_of(value)
    return found


def _at(address: Address) -> str:
    return f"{type(address).__name__}@{int(address)}" if address else "0"


def lines_of(structure: Address, leave_out: tuple[str, ...] = (), empty: bool = False) -> Iterator[str]:
    """A structure as lines `name  value`; fields that are zero or empty only where that is asked for."""
    yield f"{type(structure).__name__}@{int(structure)}"
    for name, value in fields_of(structure, leave_out).items():
        if isinstance(value, dict):
            value = ", ".join(f"{part} {word}" for part, word in value.items() if word not in (0, "0"))
        elif isinstance(value, list):
            filled = {i: _short(word) for i, word in enumerate(value) if _short(word)}
            value = ", ".join(f"[{i}] {word}" for i, word in filled.items())
        if empty or value not in (0, "0", ""):
            yield f"  {name:<16} {value}"


def _short(word: Any) -> str:
    if isinstance(word, dict):
        return " ".join(f"{part}={one}" for part, one in word.items() if one not in (0, "0"))
    return str(word) if word else ""


def show_worker(worker: Worker, empty: bool = False) -> str:
    """The header of a heap."""
    return "\n".join(lines_of(worker, ("free",), empty))


def show_node(node: kinds.Node, empty: bool = False) -> str:
    """A node, and its table and tally."""
    is_output, is_join = node.kind == kinds.OUTPUT, node.kind == kinds.JOIN
    theirs = (name for kind, names in kinds.OF_KIND.items() if kind != node.kind for name in names)
    leave_out = _OF_OTHERS if is_output else (*theirs, "sides", "side_rows")
    first, *lines = lines_of(node, leave_out if is_output or is_join else (*leave_out, *_OF_OTHERS[:5]), empty)
    lines[:0] = [f"{first}: {KIND_NAMES[int(node.kind)]} {int(node.number)}"]
    if node.table:
        lines += lines_of(node.table, empty=empty)
    if node.tally:
        lines += lines_of(node.tally, empty=empty)
    return "\n".join(lines)


def records_of(table: tables.Table) -> Iterator[tables.Record]:
    """The key records of a table, in the order of its slots."""
    for i in range(int(table.mask) + 1 if table.slots else 0):
        word = int(table.slots[i]) & tables.ADDRESS
        if word:
            yield tables.Record(word)


def show_key(table: tables.Table, record: tables.Record, most: int = MOST_ENTRIES) -> str:
    """A key's lanes and marks, and the entries of each of its families."""
    lanes = [int(record.lanes[k]) for k in range(int(table.keys))]
    marks = tables.Marks(record + int(table.keys))
    lines = [f"key {lanes}: queued {int(marks.queued)}, done {int(marks.done)}, head {int(marks.head)}"]
    for family in range(int(table.families)):
        segment, width = tables.segment_of(table, record, family), int(table.widths[family])
        lines.append(f"  family {family}: {int(segment.length)} entries, {int(segment.old)} of earlier slices")
        for i in range(min(int(segment.length), most)):
            entry = Entry(int(segment.pointer) + i * width)
            values = [int(entry.lanes[k]) for k in range(width - Entry.SIZE)]
            rank, diff = int(rank_of(entry.stamp)), int(diff_of(entry.stamp))
            lines.append(f"    rounds {int(entry.rounds)}, rank {rank}, diff {diff:+}, lanes {values}")
        if segment.length > most:
            lines.append(f"    ... and {int(segment.length) - most} more")
    return "\n".join(lines)


def show_table(table: tables.Table, most: int = MOST_KEYS) -> str:
    """A table and the first of its keys, with their histories; keys in batches are counted."""
    lines = list(lines_of(table))
    for i, record in enumerate(records_of(table)):
        if i == most:
            lines.append(f"... and {int(table.count) - most} more keys")
            break
        lines.append(show_key(table, record))
    return "\n".join(lines)


def show_heap(worker: Worker, node: int | None = None, empty: bool = False) -> str:
    """The header and the nodes of a heap, or one node of it with the keys of its table."""
    nodes = [kinds.Node(int(worker.nodes[i])) for i in range(int(worker.node_count))]
    if node is None:
        return "\n\n".join([show_worker(worker, empty), *(show_node(one, empty) for one in nodes)])
    shown = [
        show_node(one, empty) + ("\n" + show_table(one.table) if one.table else "") for one in nodes[node : node + 1]
    ]
    return "\n".join(shown) or f"There is no node {node}; there are {len(nodes)}."
