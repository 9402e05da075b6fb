from xml.etree import ElementTree

import pytest

from benchmarks.chart import Axis, Line, chart, told

LINES = [Line("flat <b>", ((1, 2.0), (10, 2.0), (1000, 2.0))), Line("steep", ((1, 1.0), (10, 100.0)))]


def test_a_chart_is_one_picture_that_names_its_lines():
    root = ElementTree.fromstring(chart("Cost & more", "nodes", "us", LINES))
    texts = [one.text for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"Cost & more", "nodes", "us", "flat <b>", "steep"} <= set(texts)
    assert len(list(root.iter("{http://www.w3.org/2000/svg}circle"))) == 5


def test_equal_factors_are_equal_distances():
    axis = Axis.over([3, 4000], 0, 400)
    assert (axis.low, axis.high) == (0, 4)
    assert axis.at(10) - axis.at(1) == pytest.approx(axis.at(1000) - axis.at(100)) == 100


def test_numbers_on_an_axis():
    assert [told(value) for value in (0.1, 1, 1000, 1e6)] == ["0.1", "1", "1,000", "1,000,000"]
