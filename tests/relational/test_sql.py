"""SQL means what DuckDB says it means, at every time, while rows come and go."""

import datetime
from decimal import Decimal

import pytest

import ebbflow as ebb
from ebbflow.errors import SqlError, StepRefused
from tests.relational.against_duckdb import compare

duckdb = pytest.importorskip("duckdb", reason="DuckDB, which answers the same queries, is not installed")

QUERIES = [
    "select a, b from t where a > 1",
    "select a + b as x, s from t where s like 'a%' or b is null",
    "select t.a, u.x from t join u on t.b = u.b",
    "select t.a, u.x from t left join u on t.b = u.b and u.k > 1",
    "select t.a, u.x from t full outer join u on t.b = u.b",
    "select t.a, u.x from t right join u on t.b = u.b and t.a < u.k",
    "select t.a, u.k from t, u where t.a < u.k and t.b = u.b",
    "select a, count(*), sum(b), min(s), count(b) from t group by a",
    "select count(*), sum(a), min(b), max(b), avg(a) from t",
    "select count(*) from t where a > 100",
    "select a, count(*) c from t group by a having count(*) > 1",
    "select distinct a, b from t",
    "select a from t union select b from u",
    "select a from t union all select k from u",
    "select a from t except select k from u",
    "select a from t intersect select k from u",
    "select a from t except all select k from u",
    "select a from t intersect all select k from u",
    "select a from t where a in (select k from u)",
    "select a from t where a not in (select k from u)",
    "select a from t where a not in (select k from u where k is not null)",
    "select a from t where exists (select 1 from u where u.k = t.a)",
    "select a from t where not exists (select 1 from u where u.k = t.a and u.b > t.b)",
    "select a, (select max(x) from u where u.k = t.a) m from t",
    "select a, (select count(*) from u where u.k = t.a) m from t",
    "select a, (select count(*) from u where u.k > t.a) m from t",
    "select a from t where b > (select avg(b) from t)",
    "select a, (select sum(x) from u) from t",
    "select a from t where b = (select max(b) from u where u.k = t.a)",
    "select a, a in (select k from u) from t",
    "select a, exists (select 1 from u where u.b = t.b) ex from t",
    "select a, case when a > 2 then 'big' when a is null then 'none' else s end from t",
    "with x as (select a, count(*) n from t group by a) select x.a, y.n from x join x y on x.n = y.n",
    "with recursive r as (select src, dst from e union select r.src, e.dst from r join e on r.dst ="
    " e.src) select * from r",
    "with recursive r(n) as (select 1 union all select n + 1 from r where n < 5) select n from r",
    "select * from (values (1, 'x'), (2, 'y')) v(i, n)",
    "select a, sum(b) from t group by rollup (a)",
    "select a, s, count(*) from t group by cube (a, s)",
    "select a, s, count(*) from t group by grouping sets ((a), (s), ())",
    "select a, s, grouping(a), grouping(s), grouping_id(a, s), count(*) from t group by cube (a, s)",
    "select a, sum(b) from t group by rollup (a) having grouping(a) = 0",
    "select a, stddev(b), stddev_pop(b), variance(b), var_pop(b) from t group by a",
    "select stddev(x), var_samp(x) from u",
    "select a, s from t union all select null, 'x' from u union all select k, null from u",
    "select d, null as n from t union select null, null from u union all select null, x from u",
    "select k, null from u except select null, null from t",
    "select a from t order by a desc nulls last, b nulls first, s nulls first, d nulls first limit 3",
    "select a, b from t order by b nulls last, a nulls last limit 2 offset 1",
    "select a, count(*) filter (where b > 1) from t group by a",
    "select coalesce(a, b, 0), nullif(a, 2), abs(b), upper(s), length(s) from t",
    "select a between 1 and 3, a is not distinct from b, not (a > b) from t",
    "select t.a, w.m from t, lateral (select max(x) m from u where u.b = t.b) w",
    "select t.a, w.x from t cross join lateral (select x from u where u.b = t.b and u.k > t.a) w",
    "select a from t where a > 1 and (exists (select 1 from u where k = a) or b in (select b from u))",
    "select a, (select min(u.x) from u where u.b = t.b and u.k in (select e.src from e where e.dst = t.a)) from t",
    "select sum(b) from t group by a having sum(b) > (select avg(x) from u)",
    "select a from t where (a, b) in (select k, b from u)",
    "select max(c) from (select count(*) c from t group by a) z",
    "select a, b from t where a = 1 or a = 2 and not b = 3",
    "select t1.a, t2.a from t t1 join t t2 on t1.b = t2.b where t1.a < t2.a",
    "select a from t natural join (select k as a, b from u) z",
    "select count(*) from t, u, e where t.a = u.k and u.b = e.src and e.dst > 0",
    "select b, a, s, d, k, x from t join u using (b)",
    "select b, a, k from t full join u using (b)",
    "select a, count(distinct b), sum(distinct b) from t group by a",
    "select s || 'x', substring(s, 1, 1), trim(s) from t",
    "select year(d), month(d), extract(day from d) from t",
    "select a from t where s not like 'a%' and b not between 1 and 3 and a not in (1, 2)",
    "select count(*) from t where (a = 1 and b = 2) or (a = 1 and s = 'a')",
    "select t.a, u.x from t, u where (t.b = u.b and t.a > 1) or (t.b = u.b and u.x > 1)",
    "select (select u.x from u where u.k = t.a order by u.x nulls last, u.b nulls last limit 1) from t",
    "select a from t where b <> all (select b from u)",
    "select a from t where b = any (select b from u)",
    "select sum(a) from t where a > (select min(k) from u) group by b having count(*) >= (select"
    " count(*) from e where e.src = b)",
    "with recursive walk(n, d) as (select src, 0 from e where src = 1 union select e.dst, d + 1 from"
    " walk join e on e.src = walk.n where d < 4) select n, min(d) from walk group by n",
    "select x.a, y.total from (select distinct a from t) x left join (select k, sum(x) total from u"
    " group by k) y on x.a = y.k",
    "select a, max(b) - min(b), avg(b) * 2 from t group by a",
    "select s, count(*) from t group by s order by count(*) desc, s nulls first limit 2",
    "select a, s from t group by rollup (a, s)",
    "select a from t group by grouping sets ((a), ())",
    "select 1 as x from t having true",
    "select true as x, a, count(*) from t group by rollup (true, a)",
    "select count(distinct b) from t where a > 100",
    "select a from t where a is distinct from b and not s is distinct from 'a'",
    "select * from (values (-1, upper('x')), (2 + 3, null), ((select max(k) from u), 'z')) v(i, n)",
    "select a, count(*) from t group by (a, b)",
    "select exists (select 1 from u where u.k = t.a) as known, count(*) from t group by 1",
    "select (select max(x) from u where u.b = t.b) as m, sum(a) from t group by rollup (m)",
]


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect() as found:
        yield found


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_is_kept_up_to_date(connection, query):
    assert sum(compare(connection, query, seed) for seed in range(3)) >= 0


def test_the_queries_have_answers(connection):
    """A table of queries that all answer nothing would show nothing."""
    assert sum(compare(connection, query, 7) > 0 for query in QUERIES) > 0.8 * len(QUERIES)


@pytest.mark.parametrize("query", QUERIES[:4] + QUERIES[20:26])
def test_workers_cannot_be_seen(connection, query):
    compare(connection, query, 11, workers=2)


def flow_of(**inputs):
    flow = ebb.Dataflow()
    for name, schema in inputs.items():
        flow.input(name, schema)
    return flow


def once(flow, query, **rows):
    flow.output("out", flow.sql(query))
    return sorted(flow.compute(**rows)["out"].rows(), key=repr)


# ---- where Spark and DuckDB differ, Spark is followed ---------------------------------------------


def test_the_columns_of_using_come_first():
    flow = flow_of(t="a long, b long", u="k long, b long")
    assert flow.sql("select * from t join u using (b)").columns == ["b", "a", "k"]
    assert flow.sql("select * from t natural full join u").columns == ["b", "a", "k"]


def test_longs_beside_text_are_compared_to_their_last_digit():
    """A double has one value for several ids of that size, and a join would pair them."""
    number = 2**60 + 1
    rows = {
        "t": [(number,), (7,)],
        "u": [(text,) for text in (str(number), str(number - 1), "7.0", "7.5", "1e30", "x")],
    }
    asked = {
        "joined": "select id, text from t join u on id = text",
        "using": "select id from t join (select text as id from u) v using (id)",
        "found": "select id from t where id in (select text from u where text like '%6')",
        "missing": "select id from t where id not in (select text from u where text like '%6')",
        "less": "select text from t join u on text < id where id > 7",
        "literal": f"select text from u where text = {number} or text <=> {number - 2}",
    }
    flow = flow_of(t="id long", u="text string")
    for name, query in asked.items():
        flow.output(name, flow.sql(query))
    assert {name: [row[:-1] for row in table.rows()] for name, table in flow.compute(**rows).items()} == {
        "joined": [(7, "7.0"), (number, str(number))], "using": [(7,), (number,)], "found": [],
        "missing": [(7,), (number,)], "less": [(str(number - 1),), ("7.0",), ("7.5",)], "literal": [(str(number),)],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("(select * from a) join (select * from b) using (k)", "k x z y"),
        ("(select * from a) natural full join (select * from c)", "k z x w"),
        ("(values (1, 2)) join b on true join a using (k)", "k col1 col2 y x z"),
        ("a join b using (k) join c using (z)", "z k x y w k_2"),
        ("a join b using (k) left join c using (z, k)", "z k x y w"),
        ("a join (b join c using (k)) using (z)", "z x k k_2 y w"),
        ("a left semi join b using (k)", "k x z"),
        ("a left anti join c using (z, k)", "z k x"),
    ],
)
def test_the_columns_of_using_come_first_whatever_stands_beside(query, columns):
    flow = flow_of(a="x int, k int, z int", b="y int, k int", c="w int, z int, k int")
    assert flow.sql(f"select * from {query}").columns == columns.split()


def test_concat_with_a_null_is_null():
    assert once(flow_of(t="s string"), "select concat(s, '-') as c from t", t=[("a",), (None,)]) == [
        ("a-", 1),
        (None, 1),
    ]


def test_days_and_months_are_added_to_dates():
    found = once(
        flow_of(t="d date"),
        "select d + interval 3 days as x, date '2024-01-31' + interval 1 month as y, d - 1 as z from t",
        t=[(datetime.date(2024, 2, 28),)],
    )
    day = datetime.date
    assert found == [(day(2024, 3, 2), day(2024, 2, 29), day(2024, 2, 27), 1)]


def test_several_columns_are_counted_together():
    rows = [(1, "a"), (1, "a"), (1, "b"), (None, "a"), (2, None)]
    assert once(flow_of(t="a long, s string"), "select count(distinct a, s) as n, count(a, s) as m from t", t=rows) == [
        (2, 3, 1)
    ]


def test_several_columns_are_counted_together_and_nothing_else_is_asked():
    rows = [(1, "a"), (1, "a"), (1, "b"), (None, "a"), (2, None)]
    assert once(flow_of(t="a long, s string"), "select count(distinct a, s) as n from t", t=rows) == [(2, 1)]
    assert once(flow_of(t="a long, s string"), "select count(distinct a, s) as n from t", t=[]) == [(0, 1)]


def test_division_of_whole_numbers_goes_towards_zero():
    found = once(flow_of(t="a long, b long"), "select a div b as q, a % b as r, a / b as x from t", t=[(-7, 2), (7, 0)])
    assert found == [(-3, -1, -3.5, 1), (None, None, None, 1)]


def test_names_are_compared_without_regard_to_capitals():
    assert once(flow_of(Orders="Id long"), "SELECT o.ID AS x FROM ORDERS o WHERE o.iD > 1", Orders=[(1,), (2,)]) == [
        (2, 1)
    ]


# ---- rows that never change ------------------------------------------------------------------------


def test_an_aggregate_without_keys_has_one_row_from_the_first_time_on():
    flow = flow_of(t="a long")
    flow.output("n", flow.sql("select count(*) as n, sum(a) as s from t"))
    with flow.run() as live:
        live.advance_to(1)
        assert live.changes("n").rows() == [(0, None, 0, 1)]
        live.insert("t", [(5,)], time=3)
        live.advance_to(4)
        assert live.changes("n").rows() == [(0, None, 3, -1), (1, 5, 3, 1)]
        live.delete("t", [(5,)], time=6)
        live.advance_to(9)
        assert live.changes("n").rows() == [(0, None, 6, 1), (1, 5, 6, -1)]


def test_inputs_that_advance_apart_are_not_held_back_by_a_constant():
    flow = flow_of(t="a long", u="k long")
    flow.output("n", flow.sql("select count(*) as n from t"))
    with flow.run() as live:
        live.advance_to(t=5)
        assert live.frontier("n") == [(5,)]
        live.advance_to(u=3)
        live.advance_to(t=8)
        assert live.frontier("n") == [(8,)]
        assert live.changes("n").rows() == [(0, 0, 1)]
        live.advance_to(9)
        assert live.frontier("n") == [(9,)]


def test_times_of_two_coordinates():
    flow = ebb.Dataflow(time=("valid", "system"))
    flow.input("t", "a long")
    flow.output("n", flow.sql("select count(*) as n from t"))
    with flow.run() as live:
        live.insert("t", [(1,)], time=(1, 0))
        live.insert("t", [(2,)], time=(0, 1))
        live.advance_to([(2, 2)])
        for at, n in {(0, 0): 0, (1, 0): 1, (0, 1): 1, (1, 1): 2}.items():
            assert live.snapshot("n", at=at).rows() == [(n, 1)]


def test_a_constant_is_fed_once_through_restarts(tmp_path):
    def program():
        flow = flow_of(t="a long")
        flow.output("n", flow.sql("select a from t union all select * from values (7) as v(a)"))
        return flow

    for time in range(3):
        with program().run(checkpoint=tmp_path / "kept") as live:
            live.insert("t", [(time,)], time=time)
            live.advance_to(time + 1)
            assert sorted(live.snapshot("n").rows()) == [*((i, 1) for i in range(time + 1)), (7, 1)]


def test_a_scalar_subquery_with_two_rows_refuses_the_step():
    flow = flow_of(t="a long", u="k long")
    flow.output("x", flow.sql("select a, (select k from u) as k from t"))
    with flow.run() as live:
        live.insert("t", [(1,)], time=0)
        live.insert("u", [(5,)], time=0)
        live.advance_to(1)
        assert live.changes("x").rows() == [(1, 5, 0, 1)]
        live.insert("u", [(6,)], time=1)
        said = (
            r"a subquery that stands for one value has more than one row, in \(SELECT k FROM u\) \(line 1, column 19\)"
        )
        with pytest.raises(StepRefused, match=said + r", at time 1\.") as refusal:
            live.advance_to(2)
        assert "Choose one: max(...)" in refusal.value.hint and "_" not in refusal.value.what
        live.discard()
        live.advance_to(2)
        assert live.snapshot("x").rows() == [(1, 5, 1)]


def test_a_collection_from_sql_is_like_any_other():
    flow = flow_of(edges="src long, dst long")
    flow.output(
        "reach",
        flow.sql(
            "with recursive r as (select src, dst from edges"
            " union select r.src, e.dst from r join edges e on r.dst = e.src) select * from r"
        ),
    )
    flow.output("n", flow.sql("select src, count(*) as n from reach group by src").filter(ebb.col("n") > 1))
    assert flow.compute(edges=[(1, 2), (2, 3), (3, 1)])["n"].rows() == [(1, 3, 1), (2, 3, 1), (3, 3, 1)]


# ---- texts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, read",
    [("'it''s'", "it's"), ("''''", "'"), (r"'a\'b'", "a'b"), ('"a""b"', 'a"b'), ("''", ""), ("'\"\"'", '""')],
)
def test_a_doubled_quote_in_a_text_is_a_quote(text, read):
    flow = ebb.Dataflow()
    flow.input("t", "s string")
    flow.output("out", flow.sql(f"select s, {text} as written from t where s = {text}"))
    assert flow.compute(t=[(read,), ("its",)])["out"].rows() == [(read, read, 1)]


def test_a_query_that_ends_too_early_is_refused_in_words():
    with pytest.raises(ebb.EbbflowError, match=r'something is missing, near "where" \(line 1, column 17\)'):
        ebb.Dataflow().sql("select a from t where")


def test_parts_of_structs_are_named_with_their_table_and_all_at_once():
    flow = flow_of(t="k long, s struct<p:long,q:struct<r:string>>", u="k long")
    row = (1, {"p": 5, "q": {"r": "x"}})
    asked = {
        "select t.s.p, s.q.r, t.s.q.r as again from t": ([5, "x", "x"], "p r again"),
        "select s.*, k from t": ([5, {"r": "x"}, 1], "p q k"),
        "select t.s.* from t join u on t.s.p = u.k + 4": ([5, {"r": "x"}], "p q"),
        "select q.* from (select s.q from t)": (["x"], "r"),
    }
    for number, query in enumerate(asked):
        flow.output(f"out{number}", flow.sql(query))
    found = flow.compute(t=[row], u=[(1,)])
    for number, (values, names) in enumerate(asked.values()):
        table = found[f"out{number}"]
        assert table.columns[:-1] == names.split() and table.rows() == [(*values, 1)]
    for query in ("select t.z.p from t", "select t.k.p from t", "select k.* from t", "select s.* except (p) from t"):
        with pytest.raises(SqlError):
            flow.sql(query)


def test_aggregates_are_called_as_they_are_written():
    flow = flow_of(t="k long")
    assert flow.sql("select percentile(k, 0.5), Max_By(k, k) + 1 from t").columns == [
        "percentile(k, 0.5)",
        "max_by(k, k) + 1",
    ]


def test_whole_numbers_beyond_a_long_are_decimals():
    flow = flow_of(t="k decimal(38,0)")
    flow.output("out", flow.sql("select k + 12345678901234567890 as n from t where k < 100000000000000000000"))
    assert flow.compute(t=[(Decimal(10) ** 19,), (Decimal(10) ** 20,)])["out"].rows() == [
        (Decimal("22345678901234567890"), 1)
    ]


def test_a_sum_without_room_is_told_in_the_words_of_the_query():
    """Of a column through a join, of an expression, of a window: no name of the planner's."""
    far = 2**62
    told = {
        "select shop, sum(price) as total from orders group by shop": "sum(price) in orders leaves 64 bits, for the "
        "group shop='a' at time 0.",
        "select s.city, sum(o.price) as t from orders o join shops s on o.shop = s.name group by s.city": "sum(price) "
        "in a collection leaves 64 bits, for the group city='B' at time 0.",
        "select upper(shop) as big, sum(price + 1) as t from orders group by upper(shop)": "sum(add(price, 1)) in "
        "orders leaves 64 bits, for the group upper(shop)='A' at time 0.",
    }
    for query, wanted in told.items():
        flow = ebb.Dataflow()
        flow.input("orders", "shop string, price long")
        flow.input("shops", "name string, city string")
        flow.output("out", flow.sql(query))
        with pytest.raises(ebb.EbbflowError) as refused:
            flow.compute(orders=[("a", far), ("a", far)], shops=[("a", "B")])
        assert str(refused.value).splitlines()[0] == wanted
