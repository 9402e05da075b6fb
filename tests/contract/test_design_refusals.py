"""DESIGN 10: a refusal says what, where and what to do, its class is the topic, and the state stays as it was."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import ebbflow as ebb
from ebbflow import col


def parts(error):
    """what, where, what to do."""
    lines = str(error).splitlines()
    assert len(lines) >= 3, f"not three parts: {lines}"
    assert lines[1].startswith("  at ") and ", line " in lines[1], lines
    return lines[0], lines[1], " ".join(lines[2:])


def refused(topic, ask):
    with pytest.raises(ebb.EbbflowError) as raised:
        ask()
    assert type(raised.value).__name__ == topic, raised.value
    what, where, hint = parts(raised.value)
    assert "test_design_refusals.py" in where, where
    return what, where, hint


def test_the_example_of_the_page(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """\
            import ebbflow as ebb
            flow = ebb.Dataflow()
            edges = flow.input("edges", "src long, dst long")
            roots = flow.input("roots", "root long")
            start = roots.select("root", node="root")
            def body(reach):
                # one
                # two
                return (reach.join(edges, on={"node": "scr"})
                        .select("root", node="dst").union(start).distinct())
            reach = start.iterate(body)
            """
        )
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(ebb.__file__).parents[1])}
    found = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False, env=environment)
    last = found.stderr.rstrip().splitlines()[-3:]
    assert last[0].endswith(
        'UnknownColumn: join looks for the column "scr" on its right side, edges, which has: src, dst.'
    )
    assert last[1].startswith("  at program.py, line 9:  ") and 'reach.join(edges, on={"node": "scr"})' in last[1]
    assert last[2] == '  Did you mean "src"?'


def flow_with(make=lambda xs: xs, schema="x long, s string", **options):
    flow = ebb.Dataflow()
    flow.output("out", make(flow.input("xs", schema, **options)))
    return flow


def test_an_unknown_column_with_the_near_names():
    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long, dst long")
    what, where, hint = refused("UnknownColumn", lambda: edges.select("scr"))
    assert what == 'select looks for the column "scr" in edges, which has: src, dst.'
    assert 'edges.select("scr")' in where
    assert hint.strip() == 'Did you mean "src"?'
    for ask in (
        lambda: edges.filter(col("scr") > 1),
        lambda: edges.with_columns(n=lambda r: r.scr),
        lambda: edges.drop("scr"),
        lambda: edges.rename({"scr": "a"}),
        lambda: edges.group_by("scr"),
        lambda: edges.group_by("src").agg(n=ebb.sum("dts")),
        lambda: edges.group_by("src").top(1, order_by="-dts"),
        lambda: edges.order_by("dts").limit(1),
        lambda: edges.join(edges, on="scr"),
        lambda: edges["scr"],
        lambda: edges.scr,
        lambda: flow.input("other", "id long", key="idd"),
    ):
        what, _, hint = refused("UnknownColumn", ask)
        assert ("Did you mean" in hint and "has: " in what) or "columns are: " in what


def test_an_unknown_column_with_no_near_name_still_says_what_to_do():
    edges = ebb.Dataflow().input("edges", "src long, dst long")
    what, _, hint = refused("UnknownColumn", lambda: edges.select("qqqqqq"))
    assert "src, dst" in what and hint.strip()


def test_a_type_that_does_not_fit():
    with flow_with().run() as live:
        for rows in (
            [("text", "a")],
            [(1.5, "a")],
            [(1, 2)],
            [(1,)],
            [(1, "a", 3)],
            [(2**64, "a")],
            {"x": ["a"], "s": ["a"]},
            [(True, "a")],
        ):
            _what, _, _ = refused("TypeMismatch", lambda rows=rows: live.insert("xs", rows, time=0))
        live.insert("xs", [(1, "a")], time=0)
        live.advance_to(1)
        assert live.snapshot("out").rows() == [(1, "a", 1)], "nothing of the refused calls was taken in"


def test_the_type_of_a_value_is_told_by_column_row_and_value():
    with flow_with().run() as live:
        what, _, _ = refused("TypeMismatch", lambda: live.insert("xs", [(1, "a"), ("two", "b")], time=0))
        assert '"x"' in what and "row 1" in what and "two" in what and "long" in what


def test_a_refused_call_takes_in_none_of_its_rows():
    with flow_with().run() as live:
        refused("TypeMismatch", lambda: live.insert("xs", [(i, "a") for i in range(100)] + [("z", "a")]))
        assert live.commit()["out"].rows() == []


def test_columns_of_rows_that_are_missing_or_too_many():
    with flow_with().run() as live:
        what, _, hint = refused("UnknownColumn", lambda: live.insert("xs", {"x": [1]}))
        assert '"s"' in what
        what, _, hint = refused("UnknownColumn", lambda: live.insert("xs", {"x": [1], "s": ["a"], "t": [1]}))
        assert '"t"' in what
        what, _, hint = refused(
            "UnknownColumn", lambda: live.apply("xs", {"x": [1], "s": ["a"], "ts": [1]}, time="tss")
        )
        assert 'Did you mean "ts"?' in hint


def test_a_time_before_the_frontier():
    with flow_with().run() as live:
        live.advance_to(8)
        what, _, hint = refused("LateTime", lambda: live.insert("xs", [(1, "a")], time=7))
        assert "7" in what and "8" in what and "8" in hint
        refused("LateTime", lambda: live.apply("xs", {"x": [1, 2], "s": ["a", "b"], "t": [9, 3]}, time="t"))
        live.insert("xs", [(1, "a")], time=8)
        live.advance_to(9)
        assert live.snapshot("out").rows() == [(1, "a", 1)]


def test_a_frontier_moved_back():
    with flow_with().run() as live:
        live.advance_to(8)
        what, _, _ = refused("FrontierMovedBack", lambda: live.advance_to(7))
        assert "8" in what and "7" in what
        assert live.frontier("out") == [(8,)]


@pytest.mark.parametrize("diff", [1.5, "d", [0.5], None.__class__, [2**70], "1", [True], [None]])
def test_a_diff_that_is_not_an_integer(diff):
    with flow_with().run() as live:
        with pytest.raises(ebb.EbbflowError) as raised:
            live.apply("xs", [(1, "a")], time=0, diff=diff)
        assert type(raised.value).__name__ in ("WrongDiff", "UnknownColumn")
        parts(raised.value)
        live.advance_to(1)
        assert live.snapshot("out").rows() == []


@pytest.mark.parametrize("time", [1.5, "now", (1, 2), [0.5], None.__class__, True, [None]])
def test_a_time_that_is_not_one(time):
    with flow_with().run() as live:
        with pytest.raises(ebb.EbbflowError) as raised:
            live.apply("xs", [(1, "a")], time=time)
        assert type(raised.value).__name__ in ("WrongTime", "UnknownColumn")
        parts(raised.value)
        with pytest.raises(ebb.EbbflowError):
            live.advance_to("later")
        live.advance_to(1)
        assert live.snapshot("out").rows() == []


def test_a_count_of_rows_that_would_overflow():
    with flow_with(lambda xs: xs.distinct()).run() as live:
        with pytest.raises(ebb.EbbflowError) as raised:
            for _ in range(3):
                live.apply("xs", [(1, "a")], time=0, diff=2**62)
            live.advance_to(1)
        assert type(raised.value).__name__ in ("NumberOverflow", "WrongDiff")
        parts(raised.value)
        live.discard()
        live.insert("xs", [(1, "a")], time=0)
        live.advance_to(1)
        assert live.snapshot("out").rows() == [(1, "a", 1)]


def test_if_on_a_column():
    edges = ebb.Dataflow().input("edges", "src long, dst long")

    def body(r):
        if r.src > 1:
            return r.dst
        return r.src

    _, where, hint = refused("NoValueYet", lambda: edges.select(n=body))
    assert "if r.src > 1:" in where and "ebb.when(cond, a).otherwise(b)" in hint


def test_a_reserved_name():
    flow = ebb.Dataflow()
    for name in ("_time", "_diff", "_count"):
        refused("ReservedName", lambda name=name: flow.input("a", {name: int}))
        edges = flow.input(f"edges{name}", "src long, dst long")
        refused("ReservedName", lambda edges=edges, name=name: edges.select(**{name: "src"}))
        refused("ReservedName", lambda edges=edges, name=name: edges.rename({"src": name}))
        refused("ReservedName", lambda edges=edges, name=name: edges.with_columns(**{name: "src"}))
        refused("ReservedName", lambda edges=edges, name=name: edges.group_by("src").agg(**{name: ebb.count()}))
        refused("ReservedName", lambda edges=edges, name=name: edges.map_rows(lambda r: r, {name: int}))


def test_names_used_twice():
    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long, dst long")
    refused("DuplicateName", lambda: flow.input("edges", "src long"))
    flow.output("out", edges)
    refused("DuplicateName", lambda: flow.output("out", edges))
    refused("DuplicateName", lambda: flow.input("other", "a long, a long"))
    refused("DuplicateName", lambda: edges.select("src", src="dst"))


def test_inputs_and_outputs_that_are_not_there():
    with flow_with().run() as live:
        _, _, hint = refused("UnknownInput", lambda: live.insert("x", [(1, "a")]))
        assert "xs" in hint
        _, _, hint = refused("UnknownOutput", lambda: live.changes("ou"))
        assert 'Did you mean "out"?' in hint
        refused("UnknownInput", lambda: live.insert("out", [(1, "a")]))
        refused("UnknownOutput", lambda: live.snapshot("xs"))
        refused("UnknownInput", lambda: live.advance_to(y=3))
    refused("UnknownInput", lambda: flow_with().compute(y=[(1, "a")]))


def test_upsert_without_a_key():
    with flow_with().run() as live:
        _, _, hint = refused("NoKey", lambda: live.upsert("xs", [(1, "a")]))
        assert "key=" in hint


def test_types_that_are_not_there():
    flow = ebb.Dataflow()
    _, _, hint = refused("UnknownType", lambda: flow.input("a", "x lnog"))
    assert 'Did you mean "long"?' in hint
    refused("UnknownType", lambda: flow.input("a", {"x": list}))
    refused("UnknownType", lambda: flow.input("a", 5))
    refused("UnknownType", lambda: flow.input("a", "x"))


def test_collections_of_two_programs_do_not_mix():
    one, two = ebb.Dataflow(), ebb.Dataflow()
    a, b = one.input("a", "x long"), two.input("b", "x long")
    refused("PlanError", lambda: a.union(b))
    refused("PlanError", lambda: a.join(b, on="x"))
    refused("PlanError", lambda: one.output("out", b))


def test_collections_with_other_columns_do_not_unite():
    flow = ebb.Dataflow()
    a, b = flow.input("a", "x long"), flow.input("b", "y long")
    _, _, hint = refused("PlanError", lambda: a.union(b))
    assert "rename" in hint
    c = flow.input("c", "x string")
    refused("TypeMismatch", lambda: a.union(c))


def test_loops_that_are_not_well_formed():
    flow = ebb.Dataflow()
    a = flow.input("a", "x long")
    refused("PlanError", lambda: a.iterate(lambda c: c.select(y="x")))
    refused("PlanError", lambda: a.iterate(lambda c: None))
    refused("PlanError", lambda: a.iterate(lambda: a))
    refused("PlanError", lambda: a.iterate(lambda c, d: c))
    refused("PlanError", lambda: a.iterate(lambda c: c, on_limit=np.arange(3)))
    refused("NotAnExpression", lambda: a.drop(np.arange(3)))
    refused("PlanError", lambda: a.iterate(lambda c: c, max_rounds=0))
    kept = []
    a.iterate(lambda c: (kept.append(c), c)[1])
    refused("PlanError", lambda: flow.output("inside", kept[0]))
    refused("PlanError", lambda: flow.output("inside", kept[0].union(a)))


def test_a_program_without_outputs_does_not_run():
    flow = ebb.Dataflow()
    flow.input("a", "x long")
    refused("PlanError", lambda: flow.run())


def test_a_refused_method_leaves_the_plan_as_it_was():
    flow = ebb.Dataflow()
    a = flow.input("a", "x long")
    before = str(flow.explain())
    for ask in (
        lambda: a.select("y"),
        lambda: a.iterate(lambda c: c.select("y")),
        lambda: a.join(a, on="y"),
        lambda: a.group_by("x").agg(n=ebb.sum("y")),
    ):
        with pytest.raises(ebb.EbbflowError):
            ask()
    assert str(flow.explain()) == before


def test_what_is_not_built_yet_says_so():
    flow = flow_with()
    try:
        flow.sql("select 1")
    except ebb.EbbflowError as error:
        parts(error)


def test_every_refusal_is_an_ebbflow_error_and_is_shown_by_its_topic():
    for name, kind in vars(ebb.errors).items():
        if isinstance(kind, type) and issubclass(kind, Exception):
            assert issubclass(kind, ebb.EbbflowError), name


def test_a_diff_beyond_64_bits_leaves_nothing_behind():
    with flow_with().run() as live:
        refused("WrongDiff", lambda: live.apply("xs", [(1, "a")], time=0, diff=2**63))
        live.insert("xs", [(1, "a")], time=0)
        live.advance_to(1)
        assert live.changes("out").rows() == [(1, "a", 0, 1)]


@pytest.mark.parametrize("rows", [np.array(5), pa.array([1]), "text", b"bytes", 7, object(), None])
def test_what_is_not_rows_is_told_what_rows_are(rows):
    with flow_with().run() as live:
        _, _, hint = refused("TypeMismatch", lambda: live.insert("xs", rows))
        assert "(x, s)" in hint


def test_an_option_that_is_not_there():
    _, _, hint = refused("UnknownOption", lambda: flow_with().run(worker=2))
    assert 'Did you mean "workers"?' in hint
    refused("TypeMismatch", lambda: flow_with().run(workers=0))
    refused("TypeMismatch", lambda: flow_with().run(history=-1))
    flow_with().run(history=0).close()


def test_constants_that_are_no_values():
    edges = ebb.Dataflow().input("edges", "src long, dst long")
    refused("NotAnExpression", lambda: edges.filter(edges.src == np.array([1, 2])))
    refused("NotAnExpression", lambda: edges.select(x=edges.src + object()))
    refused("UnclearJoin", lambda: edges.join(edges, on="src", suffix=3))
    refused("TypeMismatch", lambda: ebb.Dataflow().input("e", "x long", key=3))
    refused("UnknownType", lambda: edges.select(x=edges.src.cast(np.array([1]))))
