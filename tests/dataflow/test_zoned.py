"""Graphs in a zone: the zone is in what depends on it and nowhere else."""

from datetime import date, datetime

import pytest

import ebbflow as ebb
import ebbflow.functions as F
from ebbflow import col
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.fingerprint import fingerprint
from ebbflow.dataflow.plan_json import from_json, to_json
from ebbflow.dataflow.zoned import follow, zoned
from ebbflow.errors import CheckpointDiffers
from ebbflow.expressions.conversions import BY_ZONE
from ebbflow.expressions.operations import CLOCKS
from ebbflow.expressions.typed import Call

NEW_YORK, BERLIN = "America/New_York", "Europe/Berlin"
COLUMNS = "ts timestamp, n timestamp_ntz, d date, s string, x long"


def program(timezone=None, **columns):
    flow = ebb.Dataflow(timezone=timezone)
    flow.output("out", flow.input("rows", COLUMNS).select(**columns))
    return flow


DEPEND = {
    **{name: getattr(F, name)("ts") for name in CLOCKS},
    "days": F.dayofweek("ts"), "date": F.to_date("ts"), "text": col("ts").cast("string"),
    "ntz": col("ts").cast("timestamp_ntz"), "later": F.date_add("ts", 1), "since": F.date_diff("d", "ts"),
    "midnight": col("d").cast("timestamp"), "instant": col("n").cast("timestamp"), "read": F.to_timestamp("s"),
    "text beside": col("ts") > "2024-01-01", "a day beside": col("ts") >= date(2024, 1, 1),
    "mixed": col("n") < col("ts"), "one of": col("ts").is_in(["2024-01-01", "2024-01-02"]),
    "between": col("ts").between("2024-01-01", "2024-02-01"),
}  # fmt: skip
STAY = {
    "same": col("ts"), "hour_n": F.hour("n"), "date_n": F.to_date("n"), "text_n": col("n").cast("string"),
    "midnight_n": col("d").cast("timestamp_ntz"), "read_n": col("s").cast("timestamp_ntz"), "year_d": F.year("d"),
    "seconds": col("ts").cast("long"), "of_number": col("x").cast("timestamp"), "beside": col("n") > "2024-01-01",
    "exact": col("ts") > "2024-01-01 00:00:00Z", "constant": col("ts") > datetime(2024, 1, 1), "sum": col("x") + 1,
}  # fmt: skip


@pytest.mark.parametrize("name", [*DEPEND, *STAY])
def test_the_plan_names_the_zone_where_it_matters(name):
    flow = program(out={**DEPEND, **STAY}[name])
    utc, here, there = (fingerprint(zoned(flow.graph, zone)) for zone in (None, NEW_YORK, BERLIN))
    assert len({utc, here, there}) == (3 if name in DEPEND else 1)
    assert utc == fingerprint(flow.graph)


def test_every_cast_that_depends_on_a_zone_is_asked_above():
    asked = {
        (call.args[0].type, call.type)
        for expr in DEPEND.values()
        for node in program(out=expr).graph.nodes
        if isinstance(node, n.Linear)
        for call in calls_of(node.action.columns[0][1])
        if call.op == "cast"
    }
    assert asked & BY_ZONE == BY_ZONE


def calls_of(expr):
    if isinstance(expr, Call):
        yield expr
        for arg in expr.args:
            yield from calls_of(arg)


def test_what_is_written_is_read_again():
    flow = program(BERLIN, hour=F.hour("ts"), at=col("n").cast("timestamp"))
    for graph in (flow.graph, zoned(flow.graph, NEW_YORK)):
        again = from_json(to_json(graph))
        assert (again.nodes, again.timezone) == (graph.nodes, graph.timezone)
        assert fingerprint(again) == fingerprint(graph)


def test_nodes_keep_their_numbers_and_new_ones_follow():
    flow = program(hour=F.hour("ts"))
    assert zoned(flow.graph, None) is flow.graph
    graph = zoned(flow.graph, NEW_YORK)
    rows = ebb.frontend.building.collection.Collection(flow.graph, 0)
    flow.output("later", rows.filter(F.hour("ts") > 12).select(day=F.day("ts")))
    follow(graph, flow.graph)
    assert len(graph.nodes) == len(flow.graph.nodes) and graph.schemas == flow.graph.schemas
    assert [type(node) for node in graph.nodes] == [type(node) for node in flow.graph.nodes]
    assert NEW_YORK in str(graph.nodes[-2]) and NEW_YORK not in str(flow.graph.nodes[-2])


def test_an_output_that_is_declared_later_reads_the_same_clocks():
    flow = ebb.Dataflow(timezone=NEW_YORK)
    rows = flow.input("rows", "ts timestamp")
    flow.output("rows", rows.distinct())
    with flow.run() as live:
        live.insert("rows", [(datetime(2024, 7, 2, 2),)])
        live.commit()
        flow.output("hours", rows.distinct().select(hour=F.hour("ts")))
        assert live.snapshot("hours").rows() == [(22, 1)]


def test_a_checkpoint_is_not_continued_in_another_zone(tmp_path):
    place, moment = tmp_path / "hours", datetime(2024, 7, 2, 2)
    row = (moment, moment, moment.date(), "", 1)
    with program(NEW_YORK, hour=F.hour("ts")).run(checkpoint=place) as live:
        live.insert("rows", [row])
        live.commit()
    for zone in (None, BERLIN):
        with pytest.raises(CheckpointDiffers):
            program(zone, hour=F.hour("ts")).run(checkpoint=place)
    with program(NEW_YORK, hour=F.hour("ts")).run(checkpoint=place) as live:  # the zone's table lies in its memory
        live.insert("rows", [row])
        live.commit()
        assert live.snapshot("out").rows() == [(22, 2)]
    with program(NEW_YORK, ts="ts").run(checkpoint=tmp_path / "same") as live:
        live.insert("rows", [row])
    with program(BERLIN, ts="ts").run(checkpoint=tmp_path / "same") as live:  # where nothing depends on it
        live.commit()
        assert live.snapshot("out").rows() == [(moment, 1)]
