"""Layout: the coordinates of boxes, frames and lines of a drawn graph.

Each block is laid out by itself, inner loops first, so that a loop is one box of its size in the block around it.
Within a block the parts are in rows by longest path, ordered by the mean position of what they read; a line that spans
several rows gets a track of its own in each row it crosses.

Rule: boxes of one block never overlap, a loop's frame contains all parts of the loop, and a line touches no box but the
two it connects and frames it has to cross.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.order import Block, blocks

Size = tuple[float, float]
Point = tuple[float, float]

ACROSS, GAP, LANE_GAP, MARGIN, TITLE = 18.0, 30.0, 10.0, 16.0, 20.0
SWEEPS = 6


@dataclass(frozen=True)
class Box:
    """A rectangle, from its upper left corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return self.x + self.width / 2

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    def moved(self, x: float, y: float) -> Box:
        return Box(self.x + x, self.y + y, self.width, self.height)


@dataclass(frozen=True)
class Line:
    """From one node to another, by these points; `back`: to the next round."""

    source: int
    target: int
    points: tuple[Point, ...]
    back: bool = False


@dataclass
class Picture:
    width: float = 0.0
    height: float = 0.0
    boxes: dict[int, Box] = field(default_factory=dict)
    frames: dict[int, Box] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)


def picture(graph: Graph, size: Callable[[int], Size]) -> Picture:
    """Where everything goes; `size` says how large a node's box must be."""
    drawn = _Drawn(graph, blocks(graph), size)
    found = Picture(drawn.width, drawn.height)
    drawn.partition_key(0.0, 0.0, found)
    found.lines.sort(key=lambda line: (line.back, line.source, line.target))
    return found


# ---- one block ------------------------------------------------------------------------------


@dataclass
class _Part:
    """What stands in a row of a block: a node, a loop, a lane for a passing line, or a way out at the bottom."""

    width: float
    height: float
    row: int = 0
    x: float = 0.0
    node: int | None = None
    loop: _Drawn | None = None


@dataclass
class _Edge:
    """From a node to a node, as this block sees it: parts, and the lanes between them."""

    source: int
    target: int
    start: int
    end: int
    lanes: list[int] = field(default_factory=list)


class _Drawn:
    """A block with all its parts in place, from its own corner."""

    width: float
    height: float

    def __init__(self, graph: Graph, block: Block, size: Callable[[int], Size]):
        self.graph, self.block = graph, block
        self.parts: list[_Part] = []
        self.part_of: dict[int, int] = {}  # every node inside -> the part it is in
        for part in block.parts:
            if isinstance(part, Block):
                inner = _Drawn(graph, part, size)
                self.parts.append(_Part(inner.width, inner.height, loop=inner))
                self.part_of |= dict.fromkeys(inner.part_of, len(self.parts) - 1)
            else:
                self.parts.append(_Part(*size(part), node=part))
                self.part_of[part] = len(self.parts) - 1
        self.edges = self._inner_edges()
        self._rows_by_longest_path()
        self.exits = self._ways_out()
        self._lanes()
        self.rows = self._ordered_rows()
        self._coordinates()

    def _inner_edges(self) -> list[_Edge]:
        """The lines between different parts of this block."""
        found = []
        for target, here in self.part_of.items():
            for source in dict.fromkeys(n.sources_of(self.graph.nodes[target])):
                if source in self.part_of and self.part_of[source] != here:
                    found.append(_Edge(source, target, self.part_of[source], here))
        return found

    def _rows_by_longest_path(self) -> None:
        """Parts come in an order in which what is read stands first."""
        for number, part in enumerate(self.parts):
            above = [self.parts[edge.start].row for edge in self.edges if edge.end == number]
            part.row = max(above, default=-1) + 1

    def _ways_out(self) -> dict[int, int]:
        """For each node that is read outside the loop, a part below all rows through which its line leaves."""
        if self.block.loop is None:
            return {}
        below = max((part.row for part in self.parts), default=0) + 1
        found = {}
        for target, node in enumerate(self.graph.nodes):
            if target in self.part_of:
                continue
            for source in n.sources_of(node):
                if source in self.part_of and source not in found:
                    self.parts.append(_Part(LANE_GAP, 0.0, below))
                    found[source] = len(self.parts) - 1
                    self.edges.append(_Edge(source, target, self.part_of[source], found[source]))
        return found

    def _lanes(self) -> None:
        for edge in self.edges:
            for row in range(self.parts[edge.start].row + 1, self.parts[edge.end].row):
                edge.lanes.append(len(self.parts))
                self.parts.append(_Part(LANE_GAP, 0.0, row))

    def _ordered_rows(self) -> list[list[int]]:
        """The parts of each row from left to right, moved toward the mean place of their neighbours."""
        rows: list[list[int]] = [[] for _ in range(max((part.row for part in self.parts), default=-1) + 1)]
        for number, part in enumerate(self.parts):
            rows[part.row].append(number)
        above: dict[int, list[int]] = {number: [] for number in range(len(self.parts))}
        below: dict[int, list[int]] = {number: [] for number in range(len(self.parts))}
        for edge in self.edges:
            chain = [edge.start, *edge.lanes, edge.end]
            for one, two in pairwise(chain):
                above[two].append(one)
                below[one].append(two)
        for sweep in range(SWEEPS):
            neighbours, order = (above, rows) if sweep % 2 == 0 else (below, rows[::-1])
            place = {number: index / max(len(row) - 1, 1) for row in rows for index, number in enumerate(row)}
            for row in order:
                row.sort(key=lambda number: _mean([place[near] for near in neighbours[number]], place[number]))
                place |= {number: index / max(len(row) - 1, 1) for index, number in enumerate(row)}
        return rows

    def _coordinates(self) -> None:
        widths = [sum(self.parts[i].width for i in row) + ACROSS * (len(row) - 1) for row in self.rows]
        backs = [v for v in self.graph.next_of if v in self.part_of and self._is_own(v)]
        left, top = (MARGIN, TITLE) if self.block.loop is not None else (MARGIN, MARGIN)
        inner = max(widths, default=0.0)
        self.tops: list[float] = []
        self.bottoms: list[float] = []
        y = top + (GAP / 2 if backs else 0.0)
        for row, width in zip(self.rows, widths, strict=True):
            x = left + (inner - width) / 2
            for number in row:
                self.parts[number].x = x
                x += self.parts[number].width + ACROSS
            self.tops.append(y)
            self.bottoms.append(y + max(self.parts[number].height for number in row))
            y = self.bottoms[-1] + GAP
        self.height = (self.bottoms[-1] if self.bottoms else y) + (GAP if backs else 0.0) + MARGIN
        self.lane_of = {variable: left + inner + LANE_GAP * (index + 1) for index, variable in enumerate(backs)}
        self.width = left + inner + LANE_GAP * len(backs) + MARGIN

    def _is_own(self, node: int) -> bool:
        return self.parts[self.part_of[node]].node == node

    # ---- putting it down

    def partition_key(self, x: float, y: float, found: Picture) -> None:
        """Everything in this block, its corner at (x, y)."""
        self.x, self.y = x, y
        if self.block.loop is not None:
            found.frames[self.block.loop] = Box(x, y, self.width, self.height)
        for part in self.parts:
            if part.node is not None:
                found.boxes[part.node] = Box(x + part.x, y + self.tops[part.row], part.width, part.height)
            elif part.loop is not None:
                part.loop.partition_key(x + part.x, y + self.tops[part.row], found)
        for edge in self.edges:
            if edge.end not in self.exits.values():
                found.lines.append(Line(edge.source, edge.target, tuple(self._path(edge, found))))
        for variable, lane in self.lane_of.items():
            following = self.graph.next_of[variable]
            found.lines.append(Line(following, variable, tuple(self._path_back(variable, lane, found)), back=True))

    def _path(self, edge: _Edge, found: Picture) -> list[Point]:
        points = self._way_down(edge, found)
        end = self.parts[edge.end]
        target = found.boxes[edge.target]
        return _straightened([*points, (target.middle, self.y + self.tops[end.row]), (target.middle, target.y)])

    def _way_down(self, edge: _Edge, found: Picture) -> list[Point]:
        """From the source to the gap above the row of the end."""
        start = self.parts[edge.start]
        if start.loop is not None:
            points = start.loop.way_out(edge.source, found)
        else:
            box = found.boxes[edge.source]
            points = [(box.middle, box.bottom)]
        points.append((points[-1][0], self.y + self.bottoms[start.row]))
        for lane in edge.lanes:
            part = self.parts[lane]
            middle = self.x + part.x + part.width / 2
            points += [(middle, self.y + self.tops[part.row]), (middle, self.y + self.bottoms[part.row])]
        return points

    def way_out(self, source: int, found: Picture) -> list[Point]:
        """From a node in this loop to the lower edge of its frame."""
        out = self.exits[source]
        edge = next(edge for edge in self.edges if edge.end == out)
        part = self.parts[out]
        middle = self.x + part.x + part.width / 2
        return [*self._way_down(edge, found), (middle, self.y + self.tops[part.row]), (middle, self.y + self.height)]

    def _path_back(self, variable: int, lane: float, found: Picture) -> list[Point]:
        """Down from the next value, to the right, up beside everything, and into the variable from above."""
        target, row = found.boxes[variable], self.parts[self.part_of[variable]].row
        following = self.graph.next_of[variable]
        source, below = found.boxes[following], self.parts[self.part_of[following]].row
        step = GAP / (2 * (len(self.lane_of) + 1)) * (list(self.lane_of).index(variable) + 1)
        down, up, side = self.y + self.bottoms[below] + step, self.y + self.tops[row] - step, self.x + lane
        enters, leaves = target.middle + target.width / 4, source.middle + source.width / 4
        return [
            (leaves, source.bottom),
            (leaves, down),
            (side, down),
            (side, up),
            (enters, up),
            (enters, target.y),
        ]


def _mean(places: Iterable[float], otherwise: float) -> float:
    found = list(places)
    return sum(found) / len(found) if found else otherwise


def _straightened(points: list[Point]) -> list[Point]:
    """Without points that lie between their neighbours on a vertical line, or twice in one place."""
    kept: list[Point] = []
    for point in points:
        if kept and kept[-1] == point:
            continue
        if len(kept) > 1 and kept[-2][0] == kept[-1][0] == point[0]:
            kept.pop()
        kept.append(point)
    return kept
