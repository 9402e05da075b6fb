"""Programs that only ask what text is like, against the same programs fed with the text itself."""

import numpy as np
import pyarrow as pa
import pytest

import ebbflow as ebb
from ebbflow.columns.schema import BOOLEAN, LONG
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.rewrite import rewrite
from ebbflow.dataflow.text_predicates import find_text_predicates
from ebbflow.errors import NotKept, TypeMismatch
from ebbflow.runtime.oracle.runtime import OracleRuntime
from tests.tuned import tuned

NOTES = "id long, note string, tag string"
ROWS = [
    (1, "the special requests", "x"),
    (2, "special", None),
    (3, None, "y"),
    (4, "", "x"),
    (5, "requests, then special", "z"),
    (6, "a special kind of requests", None),
    (7, "100% special", "x"),
    (7, "é_", "xx"),
]
LIKE = "%special%requests%"

ASKING = {
    "one": lambda c: c.filter(c.note.str.like(LIKE)).select("id"),
    "not": lambda c: c.filter(~c.note.str.like(LIKE)).select("id"),
    "null": lambda c: c.filter(c.note.is_null() | c.note.str.like(LIKE)).select("id"),
    "twice": lambda c: c.filter(c.note.str.like(LIKE)).select("id").union(c.filter(c.note.is_null()).select("id")),
    "several": lambda c: c.filter(
        c.note.str.like(LIKE) | (c.note.str.contains("kind") & ~c.note.str.starts_with("a"))
    ).select("id"),
    "as a column": lambda c: c.select("id", special=c.note.str.ends_with("special"), gone=c.note.is_null()),
    "renamed": lambda c: c.select("id", text="note").filter(lambda r: r.text.str.like("%é\\_")).select("id"),
    "both": lambda c: c.filter(c.note.str.like(LIKE) & c.tag.str.contains("x")).select("id"),
    "counted": lambda c: c.filter(c.note.str.like("%s%")).group_by("id").agg(n=ebb.count()),
}
NEEDING = {
    "shown": lambda c: c.filter(c.note.str.like(LIKE)),
    "grouped": lambda c: c.filter(c.note.str.like(LIKE)).group_by("note").agg(n=ebb.count()),
    "compared": lambda c: c.filter(c.note.str.like(LIKE) | (c.note == "x")).select("id"),
    "changed": lambda c: c.filter(c.note.str.lower().str.like(LIKE)).select("id"),
    "by rows": lambda c: c.map_rows(lambda r: (r.id,), "id long"),
    "not asked": lambda c: c.select("id"),
    "of columns": lambda c: c.filter(c.note.str.contains(c.tag)).select("id"),
    "joined": lambda c: c.filter(c.note.str.like(LIKE)).join(c.select("id", other="note"), on="id").select("other"),
}


def program(shape):
    flow = ebb.Dataflow()
    flow.output("out", shape(flow.input("notes", NOTES)))
    return flow


def found(flow):
    return find_text_predicates(rewrite(flow.graph)[0])


@pytest.mark.parametrize("name", ASKING)
def test_what_is_only_asked_is_answered_at_the_input(name):
    graph, asked = found(program(ASKING[name]))
    (node,) = (node for node in graph.nodes if isinstance(node, n.Input))
    assert 1 in asked["notes"] and node.schema.types[1] in (BOOLEAN, LONG)
    assert (2 in asked["notes"]) == (name == "both")


@pytest.mark.parametrize("name", NEEDING)
def test_text_that_is_needed_otherwise_stays_text(name):
    before, _ = rewrite(program(NEEDING[name]).graph)
    graph, asked = find_text_predicates(before)
    assert asked == {} and graph is before


def test_rows_that_are_replaced_by_key_keep_their_text():
    flow = ebb.Dataflow()
    c = flow.input("notes", NOTES, key="id")
    flow.output("out", c.filter(c.note.str.like(LIKE)).select("id"))
    assert found(flow)[1] == {}


def forms():
    columns = {name: [row[i] for row in ROWS] for i, name in enumerate(("id", "note", "tag"))}
    table = pa.table(columns)
    spread = [None if i % 2 else note for i, note in enumerate(columns["note"]) for _ in range(2)]
    return {
        "rows": ROWS,
        "many rows": ROWS * 9,
        "columns": columns,
        "numpy": {**columns, "id": np.array(columns["id"])},
        "arrow": table,
        "batch": table.to_batches()[0],
        "sliced": table.slice(2, 5),
        "chunks": pa.concat_tables([table.slice(0, 3), table.slice(3, 0), table.slice(3)]),
        "large": table.set_column(1, "note", table["note"].cast(pa.large_string())),
        "dictionary": table.set_column(1, "note", table["note"].dictionary_encode()),
        "view": table.set_column(1, "note", table["note"].cast(pa.string_view())),
        "nulls": table.set_column(1, "note", pa.nulls(len(table))),
        "half null": table.set_column(1, "note", pa.array(spread[: len(table)])),
        "empty": table.slice(0, 0),
        "dicts": [dict(zip(columns, row)) for row in ROWS],
    }


@pytest.mark.parametrize("form", forms())
@pytest.mark.parametrize("name", ASKING)
def test_answers_are_those_of_the_text_in_whatever_form_it_comes(name, form):
    def lived(**options):
        with tuned(program(ASKING[name]), **options) as live:
            live.apply("notes", forms()[form], time=0)
            live.delete("notes", ROWS[:1], time=1)
            live.insert("notes", [(9, "special requests", "x")], time=1)
            live.advance_to(1)
            first = live.changes("out").rows()
            live.advance_to(2)
            return first, live.changes("out").rows(), live.snapshot("out").rows()

    assert lived() == lived(runtime=OracleRuntime)


@pytest.mark.parametrize("form", ["arrow", "sliced", "chunks", "large", "batch", "half null"])
def test_text_that_is_only_asked_about_is_not_kept(form):
    with program(ASKING["one"]).run() as live:
        live.apply("notes", forms()[form], time=0)
        live.advance_to(1)
        assert len(live._at.pool) <= 4  # the tags


@pytest.mark.parametrize("value", ["\ud800", 5, b"x"])
def test_what_is_no_text_is_refused_as_ever(value):
    told = []
    for shape in (ASKING["one"], NEEDING["shown"]):
        with program(shape).run() as live:
            for rows in ([(1, value, None)], [(1, value, None)] * 30, {"id": [1], "note": [value], "tag": [None]}):
                with pytest.raises(TypeMismatch) as refused:
                    live.insert("notes", rows, time=0)
                told.append((refused.value.what, refused.value.hint))
    assert told[:3] == told[3:]


def test_a_refusal_calls_the_answer_by_what_was_asked():
    flow = ebb.Dataflow()
    c = flow.input("notes", NOTES)
    flow.output("out", c.filter(c.note.str.like(LIKE)).select(x=lambda r: r.id * 2**62))
    with flow.run() as live:
        live.insert("notes", [(4, "special requests", None)])
        with pytest.raises(ebb.errors.NumberOverflow, match=r"like\(note, '%special%requests%'\)=True"):
            live.commit()
        live.discard()


def test_an_output_that_comes_later_cannot_read_what_was_not_kept():
    flow = ebb.Dataflow()
    c = flow.input("notes", NOTES)
    flow.output("out", c.filter(c.note.str.like(LIKE)).select("id"))
    with flow.run() as live:
        live.insert("notes", ROWS, time=0)
        live.advance_to(1)
        flow.output("late", c.select("note").distinct())
        with pytest.raises(NotKept):
            live.changes("late")


def test_a_durable_session_keeps_the_text(tmp_path):
    for day in range(2):
        with program(ASKING["not"]).run(checkpoint=tmp_path / "state") as live:
            live.insert("notes", [(day, "special requests", "x"), (day + 10, "plain", "y")], time=day)
            live.advance_to(day + 1)
            assert live.changes("out") == [(day + 10, day, 1)]
