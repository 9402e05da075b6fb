"""Nested values against Spark: the same questions to Spark and `flow.sql`, of edge values.

Rule: lists and maps are compared in the order of their values, which Spark does not promise; everything else exactly.
"""

from __future__ import annotations

import pytest

import ebbflow as ebb
from ebbflow.errors import DataFrameError
from tests.relational.of_spark import now

SCHEMA = "id int, xs array<int>, ys array<int>, ss array<string>, m map<string,int>, s struct<a:int,b:string>, t string"
ROWS = [
    (1, [3, None, 1, 3], [1, 4], ["b", "", None], {"b": 2, "a": None}, (7, "p"), "a,b,,c"),
    (2, [], [2], [], {}, (None, None), ""),
    (3, None, None, None, None, None, None),
    (4, [5], [5, 5], ["é", "z"], {"k": 1}, (1, "é\"\\"), "oneAtwoBthree"),
    (5, [None], [], ["a"], {"a": 5}, (2, None), '{"a": {"b": [1, 2.50, "x"]}, "c": null, "d": 1}'),
]  # fmt: skip
ASKED = """size(xs); array_contains(xs, 1); array_contains(xs, 9); array_position(xs, 3); array_remove(xs, 3)
array_distinct(xs); array_union(xs, ys); array_intersect(xs, ys); array_except(xs, ys); arrays_overlap(xs, ys)
array_append(xs, 9); array_prepend(ys, 9); array_insert(ys, 2, 8); array_insert(ys, -1, 8); array_insert(ys, 5, 8)
array_insert(ys, -4, 8); array_compact(xs); concat(xs, ys); reverse(xs); reverse(t); array_join(ss, '-')
array_join(ss, '-', '?'); array_sort(xs); sort_array(xs); sort_array(xs, false); array_min(xs); array_max(ss)
array_repeat(id, 2); slice(xs, 2, 2); slice(xs, -1, 3); flatten(array(xs, ys)); sequence(1, id); sequence(id, 1, -1)
get(xs, 0); get(xs, -1); try_element_at(xs, 2); try_element_at(xs, -1); try_element_at(m, 'a'); split(t, ',')
split(t, ',', 2); split(t, '[A-Z]'); split(t, ''); split(t, ',', -1); regexp_extract_all(t, '([a-z])', 1)
array(id, 2, null); struct(id, t as u).u; named_struct('a', id).a; map_keys(m); map_values(m); map_entries(m)
map_contains_key(m, 'a'); map_from_entries(map_entries(m))
map('q', id)['q']; map_from_arrays(array('a', 'b'), array(1, id)); cardinality(m)
map_concat(m, map('zz', 1)); str_to_map('a:1,b'); m['k']; s.a; s.b; arrays_zip(xs, ys); to_json(s); to_json(xs)
to_json(m); from_json(t, 'a struct<b: array<string>>, d int'); from_json(t, 'd string, c int')
get_json_object(t, '$.a'); get_json_object(t, '$.a.b[1]'); get_json_object(t, '$.a.b[2]')
get_json_object(t, '$.c'); get_json_object(t, '$.a.b[*]')
json_array_length('[1, [2]]'); json_array_length(t); json_object_keys(t); cast(xs as string); cast(s as string)
cast(m as string); cast(xs as array<string>); xs = ys; xs < ys; array(1, 2.5); element_at(array('a', 'b'), 1)
array_size(xs); map_from_entries(map_entries(m)); sequence(date'2024-01-31', date'2024-06-01', interval 1 month)
sequence(date'2024-03-01', date_add(date'2024-03-01', -id * 9), interval -1 week); array(id, 2)[1]
sequence(date'2020-02-29', date'2031-01-01', interval 1 year)
sequence(date'2024-01-31', date'2025-01-01', interval 2 months)
sequence(timestamp'2024-02-28 22:00:00', timestamp'2024-03-01 00:00:00', interval 7 hours)"""
QUESTIONS = [one.strip() for line in ASKED.splitlines() for one in line.split(";")]
QUERIES = [
    "select id, e from rows lateral view explode(xs) v as e",
    "select id, e from rows lateral view outer explode(xs) v as e",
    "select id, p, e from rows lateral view posexplode(ss) v as p, e", "select id, explode(m) from rows",
    "select id, posexplode_outer(xs) as (p, e) from rows",
    "select id, k, v from rows lateral view explode(m) w as k, v",
    "select id, inline(arrays_zip(xs, ys)) from rows", "select * from range(4)",
    "select size(xs) as n, sort_array(collect_list(id)), sort_array(collect_set(t)) from rows group by size(xs)",
    "select listagg(t, '|') within group (order by id desc) from rows",
    "select listagg(distinct t, '|') within group (order by t) from rows",
    "select array_sort(array_agg(id)) from rows where id > 9", "select id, coalesce(xs, array()) from rows",
    "select xs, count(*) from rows group by xs", "select id, e.a from (select id, explode(array(s, s)) as e from rows)",
]  # fmt: skip


def shown(value):
    if hasattr(value, "asDict"):
        return {name: shown(part) for name, part in value.asDict().items()}
    if isinstance(value, dict):
        return {name: shown(part) for name, part in value.items()}
    return [shown(part) for part in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def frame(spark):
    found = spark.createDataFrame(ROWS, SCHEMA)
    found.createOrReplaceTempView("rows")
    return found


def ours(query):
    flow = ebb.Dataflow()
    flow.input("rows", SCHEMA)
    flow.output("out", flow.sql(query))
    return [row[:-1] for row in flow.compute(rows=ROWS)["out"].rows() for _ in range(row[-1])]


def test_functions(spark, frame):
    columns = ", ".join(f"{question} as q{i}" for i, question in enumerate(QUESTIONS))
    theirs = {
        row[0]: [shown(part) for part in row[1:]] for row in spark.sql(f"select id, {columns} from rows").collect()
    }
    mine = {row[0]: list(row[1:]) for row in ours(f"select id, {columns} from rows")}
    wrong = [
        (question, number, mine[number][i], theirs[number][i])
        for number in theirs
        for i, question in enumerate(QUESTIONS)
        if repr(mine[number][i]) != repr(theirs[number][i])
        and not (isinstance(theirs[number][i], dict) and mine[number][i] == theirs[number][i])
        and not (
            "map_" in question and str(sorted(map(str, theirs[number][i]))) == str(sorted(map(str, mine[number][i])))
        )
    ]
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("query", QUERIES)
def test_queries(spark, frame, query):
    theirs = sorted(repr(tuple(map(shown, row))) for row in spark.sql(query).collect())
    assert sorted(repr(tuple(row)) for row in ours(query)) == theirs


MORE_QUERIES = [
    "select coalesce(m, map('z', 1)), array(1.5, 2) from rows",
    "select m, count(*) from rows where id <> 1 group by m",  # Spark makes 0 of the null in a map that is a key
    "select count(distinct m) from rows", "select map_keys(m), sum(id) from rows group by m, xs",
    "select listagg(distinct t, '|') within group (order by t) from rows",
    "select sort_array(collect_list(distinct size(ys)) filter (where id > 1)) from rows",
    "select id, e from rows lateral view explode(array(s, named_struct('a', 9, 'b', 'z'))) v as e where e.a > 1",
]  # fmt: skip
OF_FRAMES = [
    "select id, transform(xs, x -> x) from rows", "select id, array_sort(xs, (a, b) -> b - a) from rows",
    "select id, filter(xs, x -> x > 1) from rows",
]  # fmt: skip


def test_functions_of_a_dataframe(spark, frame):
    for at in range(0, len(QUESTIONS), 40):
        part = QUESTIONS[at : at + 40]
        asked = spark.sql(f"select id, {', '.join(f'{one} as q{i}' for i, one in enumerate(part))} from rows")
        theirs = {row[0]: [shown(value) for value in row[1:]] for row in asked.collect()}
        mine = {row[0]: list(row[1:-1]) for row in now(asked).rows()}
        in_any_order = lambda one, value: (
            sorted(map(repr, value)) if "map_" in one and isinstance(value, list) else value
        )
        wrong = [
            (one, number, mine[number][i], theirs[number][i])
            for number in theirs
            for i, one in enumerate(part)
            if in_any_order(one, mine[number][i]) != in_any_order(one, theirs[number][i])
        ]
        assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("query", [*QUERIES, *MORE_QUERIES])
def test_queries_of_a_dataframe(spark, frame, query):
    asked = spark.sql(query)
    theirs = sorted(repr(tuple(map(shown, row))) for row in asked.collect())
    assert sorted(repr(tuple(row)) for *row, count in now(asked) for _ in range(count)) == theirs


@pytest.mark.parametrize("query", OF_FRAMES)
def test_a_function_of_ones_own_in_an_array_is_refused_by_name(spark, frame, query):
    with pytest.raises(DataFrameError) as found:
        now(spark.sql(query))
    assert "not supported" in str(found.value) and found.value.hint
