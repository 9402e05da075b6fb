from itertools import combinations
from random import Random

import pytest

from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.layout import picture
from tests.dataflow.random_graphs import race, random_graph
from tests.meaning.programs import Sketch, strong


def sized(random):
    return lambda number: (random.uniform(20, 200), random.uniform(15, 60))


def graphs():
    for seed in range(25):
        yield random_graph(Random(seed), depth=seed % 4), Random(seed)
    s = Sketch()
    s.output("out", strong(s, s.input("edges")))
    yield s.graph, Random(0)


DRAWN = [(graph, picture(graph, sized(random))) for graph, random in graphs()]
EACH = pytest.mark.parametrize("graph, drawn", DRAWN)


def overlap(one, two):
    return one.x < two.right and two.x < one.right and one.y < two.bottom and two.y < one.bottom


def holds(outer, inner):
    return outer.x <= inner.x and inner.right <= outer.right and outer.y <= inner.y and inner.bottom <= outer.bottom


def crosses(box, start, end, slack=0.01):
    """Whether the segment has a point inside the box, by cutting it at the box's sides (Liang and Barsky)."""
    low, high = 0.0, 1.0
    for at, step, least, most in (
        (start[0], end[0] - start[0], box.x + slack, box.right - slack),
        (start[1], end[1] - start[1], box.y + slack, box.bottom - slack),
    ):
        if step == 0:
            if not least < at < most:
                return False
            continue
        near, far = sorted(((least - at) / step, (most - at) / step))
        low, high = max(low, near), min(high, far)
    return low < high


@EACH
def test_every_node_and_loop_has_its_place_in_the_picture(graph, drawn):
    assert set(drawn.boxes) == set(range(len(graph.nodes)))
    assert set(drawn.frames) == {loop for scope in graph.scopes for loop in scope}
    for box in [*drawn.boxes.values(), *drawn.frames.values()]:
        assert box.x >= 0 and box.y >= 0 and box.right <= drawn.width and box.bottom <= drawn.height


@EACH
def test_boxes_do_not_overlap(graph, drawn):
    for one, two in combinations(drawn.boxes.values(), 2):
        assert not overlap(one, two)


@EACH
def test_a_frame_holds_what_is_in_its_loop_and_touches_nothing_else(graph, drawn):
    for loop, frame in drawn.frames.items():
        for number, box in drawn.boxes.items():
            if loop in graph.scopes[number]:
                assert holds(frame, box)
            else:
                assert not overlap(frame, box)
        for other, inner in drawn.frames.items():
            if other != loop:
                assert holds(frame, inner) or holds(inner, frame) or not overlap(frame, inner)


@EACH
def test_every_edge_is_drawn_once_from_its_source_to_its_reader(graph, drawn):
    edges = {(source, i, False) for i, node in enumerate(graph.nodes) for source in n.sources_of(node)}
    edges |= {(source, variable, True) for variable, source in graph.next_of.items()}
    assert sorted((line.source, line.target, line.back) for line in drawn.lines) == sorted(edges)
    for line in drawn.lines:
        source, target = drawn.boxes[line.source], drawn.boxes[line.target]
        assert line.points[0][1] == source.bottom and source.x <= line.points[0][0] <= source.right
        assert line.points[-1][1] == target.y and target.x <= line.points[-1][0] <= target.right


@EACH
def test_a_line_crosses_no_box(graph, drawn):
    for line in drawn.lines:
        for start, end in zip(line.points, line.points[1:], strict=False):
            for number, box in drawn.boxes.items():
                assert not crosses(box, start, end), f"{line.source} -> {line.target} runs through {number}"


@EACH
def test_a_line_crosses_only_frames_it_has_to(graph, drawn):
    for line in drawn.lines:
        around = set(graph.scopes[line.source]) | set(graph.scopes[line.target])
        for loop, frame in drawn.frames.items():
            if loop not in around:
                assert not any(crosses(frame, *ends) for ends in zip(line.points, line.points[1:], strict=False))


def test_readers_stand_below_what_they_read_and_only_the_next_round_goes_up():
    graph, source, b, c = race()
    drawn = picture(graph, lambda number: (50.0, 20.0))
    for line in drawn.lines:
        if not line.back:
            assert drawn.boxes[line.source].bottom < drawn.boxes[line.target].y
    (back,) = (line for line in drawn.lines if line.back)
    assert (back.source, back.target) == (c, b)
    assert max(x for x, _ in back.points) > max(box.right for box in drawn.boxes.values())
    assert source in drawn.boxes


def test_an_empty_graph_is_an_empty_picture():
    assert picture(Sketch().graph, lambda number: (1.0, 1.0)).boxes == {}
