import json
import math
from datetime import date, datetime
from decimal import Decimal

import pytest

from ebbflow.columns.schema import BINARY, BOOLEAN, DATE, DOUBLE, LONG, STRING, TIMESTAMP, Type
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.plan_json import from_json, functions_of, to_json
from ebbflow.errors import Place, PlanError
from ebbflow.expressions.typed import Call, Literal
from tests.meaning.cases import make_case
from tests.meaning.programs import PAIR, Sketch, own, reach, strong


def there_and_back(graph, functions=None):
    text = json.dumps(to_json(graph), allow_nan=False)
    return from_json(json.loads(text), functions_of(graph) if functions is None else functions)


def assert_equal(one, two):
    for part in ("coordinates", "nodes", "schemas", "scopes", "places", "names", "loops", "next_of"):
        assert getattr(one, part) == getattr(two, part), part


@pytest.mark.parametrize("number", range(60))
def test_reading_what_was_written_gives_an_equal_graph(number):
    graph = make_case(41, number)[0].program.graph()
    assert_equal(there_and_back(graph), graph)


def test_names_and_places_are_written_too():
    s = Sketch("valid", "system")
    s.output("out", strong(s, s.graph.add(n.Input("edges", PAIR, ("a",)), Place("p.py", 3))))
    s.graph.names[0] = "edges"
    assert_equal(there_and_back(s.graph), s.graph)


VALUES = [
    (3, LONG),
    (-(2**62), LONG),
    (None, STRING),
    (True, BOOLEAN),
    ("é\n", STRING),
    (b"\x00\xff", BINARY),
    (-0.0, DOUBLE),
    (0.1, DOUBLE),
    (math.inf, DOUBLE),
    (-math.inf, DOUBLE),
    (date(1969, 12, 31), DATE),
    (datetime(2024, 2, 29, 13, 5, 0, 7), TIMESTAMP),
    (Decimal("-3.10"), Type("decimal", 9, 2)),
]


@pytest.mark.parametrize("value, kind", VALUES, ids=lambda x: str(x))
def test_a_constant_comes_back_as_it_was(value, kind):
    s = Sketch()
    s.output("out", s.map(s.input("x"), c=Literal(value, kind)))
    back = there_and_back(s.graph).nodes[1].action.columns[0][1]
    assert (back.value, type(back.value), back.type) == (value, type(value), kind)
    assert str(back.value) == str(value), "the sign of zero, the digits of a decimal"


def test_a_constant_that_is_no_number_comes_back_too():
    s = Sketch()
    s.output("out", s.map(s.input("x"), c=Literal(math.nan, DOUBLE)))
    assert math.isnan(there_and_back(s.graph).nodes[1].action.columns[0][1].value)


def test_options_of_a_call_come_back():
    s = Sketch()
    x = s.input("x")
    s.output("out", s.map(x, c=Call("cast", (s.col(x, "a"),), DOUBLE, ("double",))))
    assert_equal(there_and_back(s.graph), s.graph)


def test_functions_are_brought_by_the_reader_in_the_order_listed():
    s = Sketch()
    x = s.input("x")
    s.output("out", s.threshold(s.apply(x, "swapped", "rows"), own("minus_count")))
    assert to_json(s.graph)["functions"] == ["swapped", "minus_count"]
    assert_equal(there_and_back(s.graph, [function.fn for function in functions_of(s.graph)]), s.graph)
    with pytest.raises(PlanError, match="calls 2 functions"):
        there_and_back(s.graph, [])


def test_a_plan_of_another_version_is_refused():
    with pytest.raises(PlanError, match="version"):
        from_json({"ebbflow_plan": 999})


def test_a_plan_that_breaks_a_rule_is_refused_when_read():
    s = Sketch()
    s.output("out", reach(s, s.input("edges"), s.input("roots", PAIR)))
    data = to_json(s.graph)
    data["next"] = []
    with pytest.raises(PlanError, match="no next value"):
        from_json(data)
