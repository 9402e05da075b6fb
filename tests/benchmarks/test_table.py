"""The rows to be measured: every workload is there, and what was found before is compared with what it is of."""

from benchmarks import table
from benchmarks.choose import chosen


def ask(*names, size="seed"):
    return chosen(names, size, (), (), None, 42)


def test_every_workload_has_a_row_in_the_small_set():
    assert {row.module for row in ask(size="small")} == set(table.NAMES)


def test_the_whole_is_the_seed_sizes_the_large_ones_and_the_skewed():
    parts = ("seed", "large", "skewed")
    assert {row.label for row in ask(size="all")} == {row.label for s in parts for row in ask(size=s)}


def test_degrees_tells_the_peer_how_many_steps_there_are():
    row, *others = ask("degrees")
    assert all(row.options.get("general") or row.options.get("one_answer") for row in others)
    assert row.rust == ("degrees", "10000", "50000", "100000", "5", "total", "1")


def test_what_is_known_holds_for_its_seed_and_its_graph_only():
    row = next(row for row in ask("reach") if row.step == 1)
    assert table.known_checks(row, 42)["final"] == "0dbe4c08cd7fb359"
    assert table.known_checks(row, 7) is None
    for other in ({"skew": 2}, {"shape": "star"}):
        assert table.known_checks(table.replace(row, options=row.options | other), 42) is None


def test_where_a_step_has_one_answer_what_stands_in_the_end_is_compared():
    row = next(row for row in ask("reach") if row.options.get("one_answer"))
    assert table.known_checks(row, 42) == {"size": 6_230, "final": "0dbe4c08cd7fb359"}


def test_sizes_are_said_as_people_say_them():
    assert [table.short(n) for n in (7, 1_000, 2_000, 50_000_000, 1_500)] == ["7", "1k", "2k", "50M", "1500"]


def test_a_row_says_its_graph():
    size = lambda **options: table.size_of({"nodes": 1_000, "edges": 2_000, **options})
    assert [size(), size(skew=3)] == ["1k/2k", "1k/2k, skew 3"]
    assert [size(shape="star"), size(shape="bipartite", skew=2)] == ["star of 1k", "bipartite of 1k, skew 2"]
