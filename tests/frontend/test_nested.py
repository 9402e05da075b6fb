"""Arrays, maps and structs through the public interface: functions of them, lists of groups, rows of elements."""

from __future__ import annotations

import random
from collections import Counter

import pytest

import ebbflow as ebb
import ebbflow.functions as F
from ebbflow import col, lit
from ebbflow.errors import NotAnExpression, TypeMismatch, UnknownColumn

ROW = ([3, None, 1, 3], [1, 4], {"b": 2, "a": None}, {"x": 7, "y": ["p"]}, "a,b,,c", [[1], [2, 3]])
CASES = {
    "size": (F.size("xs"), 4),
    "cardinality of a map": (F.cardinality("m"), 2),
    "array": (F.array(lit(1), lit(None), lit(2)), [1, None, 2]),
    "element": (col("xs")[2], 1),
    "element beyond": (col("xs").getItem(9), None),
    "element_at": (F.element_at("xs", -1), 3),
    "get": (F.get("xs", 0), 3),
    "key": (col("m")["b"], 2),
    "key that is not there": (F.element_at("m", "z"), None),
    "field": (col("s.x"), 7),
    "getField": (col("s").getField("y")[0], "p"),
    "withField": (col("s").withField("x", lit("new")), {"x": "new", "y": ["p"]}),
    "contains": (F.array_contains("xs", 1), True),
    "contains null": (F.array_contains("xs", 9), None),
    "position": (F.array_position("xs", 1), 3),
    "remove": (F.array_remove("xs", 3), [None, 1]),
    "append": (F.array_append("ys", 5), [1, 4, 5]),
    "prepend": (F.array_prepend("ys", 5), [5, 1, 4]),
    "insert": (F.array_insert("ys", 4, lit(5)), [1, 4, None, 5]),
    "insert from the end": (F.array_insert("ys", -1, lit(5)), [1, 4, 5]),
    "distinct": (F.array_distinct("xs"), [3, None, 1]),
    "compact": (F.array_compact("xs"), [3, 1, 3]),
    "union": (F.array_union("xs", "ys"), [3, None, 1, 4]),
    "intersect": (F.array_intersect("xs", "ys"), [1]),
    "except": (F.array_except("xs", "ys"), [3, None]),
    "overlap": (F.arrays_overlap("xs", "ys"), True),
    "concat": (F.concat("ys", "ys"), [1, 4, 1, 4]),
    "reverse": (F.reverse("ys"), [4, 1]),
    "join": (F.array_join("xs", "-", "?"), "3-?-1-3"),
    "sort": (F.array_sort("xs"), [1, 3, 3, None]),
    "sort_array": (F.sort_array("xs"), [None, 1, 3, 3]),
    "sort_array down": (F.sort_array("xs", False), [3, 3, 1, None]),
    "ends": (F.array(F.array_min("xs"), F.array_max("xs")), [1, 3]),
    "repeat": (F.array_repeat(lit("a"), 2), ["a", "a"]),
    "slice": (F.slice("xs", 2, 2), [None, 1]),
    "slice from the end": (F.slice("xs", -2, 5), [1, 3]),
    "flatten": (F.flatten("nested"), [1, 2, 3]),
    "zip": (F.arrays_zip("ys", "nested"), [{"ys": 1, "nested": [1]}, {"ys": 4, "nested": [2, 3]}]),
    "sequence": (F.sequence(lit(5), lit(1), lit(-2)), [5, 3, 1]),
    "split": (F.split("text", ","), ["a", "b", "", "c"]),
    "split at most": (F.split("text", ",", 2), ["a", "b,,c"]),
    "all matches": (F.regexp_extract_all("text", "([a-b])"), ["a", "b"]),
    "map": (F.create_map(lit("k"), lit(1)), {"k": 1}),
    "map of arrays": (F.map_from_arrays("ys", "ys"), {1: 1, 4: 4}),
    "map of entries": (F.map_from_entries(F.map_entries("m")), {"a": None, "b": 2}),
    "map_concat": (F.map_concat("m", F.create_map(lit("a"), lit(5))), {"a": 5, "b": 2}),
    "keys": (F.map_keys("m"), ["a", "b"]),
    "values": (F.map_values("m"), [None, 2]),
    "contains_key": (F.map_contains_key("m", "a"), True),
    "str_to_map": (F.str_to_map(lit("a:1,b")), {"a": "1", "b": None}),
    "struct": (F.struct("text", lit(1).alias("one")), {"text": "a,b,,c", "one": 1}),
    "to_json": (F.to_json("s"), '{"x":7,"y":["p"]}'),
    "from_json": (F.from_json(lit('{"a": 1, "b": [1, 2.5]}'), "a long, b array<double>"), {"a": 1, "b": [1.0, 2.5]}),
    "from_json that is none": (F.from_json(lit("{"), "a long"), {"a": None}),
    "get_json_object": (F.get_json_object(lit('{"a": [1, {"b": "x"}]}'), "$.a[1].b"), "x"),
    "json_array_length": (F.json_array_length(lit("[1, 2]")), 2),
    "json_object_keys": (F.json_object_keys(lit('{"a": 1}')), ["a"]),
    "cast": (col("xs").cast("array<string>"), ["3", None, "1", "3"]),
    "cast to text": (F.array(F.col("m")).cast("string"), "[{a -> null, b -> 2}]"),
    "comparison": (col("ys") < F.array(lit(1), lit(5)), True),
}


def test_each_function_has_its_meaning():
    flow = ebb.Dataflow()
    schema = "xs array<long>, ys array<long>, m map<string,long>, s struct<x:int,y:array<string>>, text string"
    rows = flow.input("rows", schema + ", nested array<array<long>>")
    flow.output("out", rows.select(**{f"c{i}": column for i, (column, _) in enumerate(CASES.values())}))
    (found,) = flow.compute(rows=[ROW])["out"].rows()
    for name, value, (_, wanted) in zip(CASES, found, CASES.values()):
        assert (name, value) == (name, wanted)
    nulls = flow.compute(rows=[(None,) * 6])["out"].rows()
    assert len(nulls) == 1


def test_lists_and_elements_follow_the_rows():
    flow = ebb.Dataflow()
    sales = flow.input("sales", "k long, t long, x long")
    lists = sales.group_by("k").agg(
        all=F.collect_list("x"), down=F.collect_list("x", order_by=["-t", "x"]), once=F.collect_set("x"), n=F.count(),
        first=F.first("x", order_by="t"), text=F.string_agg(col("x").cast("string"), "+", order_by="-x"),
    )  # fmt: skip
    flow.output("lists", lists)
    flow.output("again", lists.select("k", F.posexplode("all").alias("pos", "x")))
    rng, here, live = random.Random(5), [], flow.run()
    for time in range(12):
        gone = [row for row in here if rng.random() < 0.3]
        come = [(rng.randrange(3), rng.randrange(4), rng.choice([None, 1, 2, 3])) for _ in range(rng.randrange(4))]
        for row in gone:
            here.remove(row)
        here += come
        live.delete("sales", gone, time=time)
        live.insert("sales", come, time=time)
        live.advance_to(time + 1)
        found = {row[0]: row[1:-1] for row in live.snapshot("lists").rows()}
        assert found == expected(here)
        again = Counter((k, pos, x) for k, lists in found.items() for pos, x in enumerate(lists[0]))
        assert Counter({row[:-1]: row[-1] for row in live.snapshot("again").rows()}) == again
    live.close()


def expected(rows):
    found = {}
    for k in {row[0] for row in rows}:
        mine = [(t, x) for key, t, x in rows if key == k]
        there = sorted(x for _, x in mine if x is not None)
        down = [x for t, x in sorted(mine, key=lambda r: (-r[0], r[1] is not None, r[1] or 0)) if x is not None]
        start = min(mine, key=lambda r: (r[0], r[1] is not None, r[1] or 0))[1]
        text = "+".join(str(x) for x in there[::-1]) or None
        found[k] = (there, down, sorted(set(there)), len(mine), start, text)
    return found


def test_nested_values_are_keys():
    flow = ebb.Dataflow()
    one, two = flow.input("one", "k array<string>, x long"), flow.input("two", "k array<string>, y long")
    flow.output("both", one.join(two, on="k").distinct().select("x", "y"))
    rows = flow.compute(one=[(["a", None], 1), ([], 2), (None, 3)], two=[(["a", None], 5), ([None, "a"], 6), ([], 7)])
    assert rows["both"].rows() == [(1, 5, 1), (2, 7, 1)]


def test_what_does_not_fit_is_refused():
    rows = ebb.Dataflow().input("rows", "x long, xs array<long>, s struct<a:int>")
    with pytest.raises(TypeMismatch, match="explode takes an array or a map"):
        rows.select(y=F.explode("x"))
    with pytest.raises(NotAnExpression, match="takes one array apart"):
        rows.select(y=F.explode("xs"), z=F.explode("xs"))
    with pytest.raises(NotAnExpression, match="makes several rows"):
        rows.filter(F.explode("xs") > 1)
    with pytest.raises(TypeMismatch, match="array_contains finds elements of type long"):
        rows.select(y=F.array_contains("xs", "a"))
    with pytest.raises(UnknownColumn, match='no field "b"'):
        rows.select(y=col("s.b"))
    with pytest.raises(TypeMismatch, match="size takes an array or a map"):
        rows.select(y=F.size("x"))


def test_text_of_different_values_is_put_together_once_each():
    flow = ebb.Dataflow()
    rows = flow.input("rows", "k long, t string")
    together = {"one": F.listagg_distinct("t", lit("|")), "other": F.string_agg_distinct("t", lit("|"))}
    flow.output("out", rows.group_by("k").agg(all=F.listagg("t", lit("|")), **together))
    with flow.run() as live:
        live.insert("rows", [(1, "b"), (1, "a"), (1, "b"), (1, None)])
        assert live.commit()["out"].rows() == [(1, "a|b|b", "a|b", "a|b", 0, 1)]
        live.delete("rows", [(1, "b")])
        assert live.commit()["out"].rows() == [
            (1, "a|b", "a|b", "a|b", 1, 1),
            (1, "a|b|b", "a|b", "a|b", 1, -1),
        ]
