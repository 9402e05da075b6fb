"""The rows to be measured: what a person asks for is what runs."""

from benchmarks import table


def ask(*names, size="seed", steps=(), workers=(), times=None, seed=42):
    return table.chosen(names, size, steps, workers, times, seed)


def test_every_workload_has_a_row_in_the_small_set():
    assert {row.module for row in ask(size="small")} == set(table.NAMES)


def test_the_whole_is_the_seed_sizes_and_the_large_ones():
    assert {row.label for row in ask(size="all")} == {row.label for s in ("seed", "large") for row in ask(size=s)}


def test_a_step_of_the_table_keeps_its_goal_and_another_has_none():
    (ten, seven) = ask("scc", steps=(10, 7))
    assert (ten.step, ten.measures[0].first) == (10, 0.4)
    assert (seven.step, seven.options["step"], seven.measures[0].first) == (7, 7, None)
    assert seven.rust == ("scc", "1000", "2000", "7", "2000", "1")


def test_workers_are_chosen_likewise():
    assert {row.workers for row in ask("reach", workers=(2,))} == {2}
    assert all(row.options["workers"] == 2 for row in ask("reach", workers=(2,)))


def test_other_times_and_seeds_are_those_of_the_peer_too():
    for row in ask("reach", "bfs", times=50, seed=7):
        assert row.options["times"] == 50 and row.options["seed"] == 7
        assert row.rust is None if row.options.get("one_answer") else "50" in row.rust
    (count,) = (row for row in ask("chains", times=50) if row.workload == "chains, count")
    assert count.rust == ("chains", "count-total", "50", "1")


def test_degrees_tells_the_peer_how_many_steps_there_are():
    row, *others = ask("degrees")
    assert all(row.options.get("general") or row.options.get("one_answer") for row in others)
    assert row.rust == ("degrees", "10000", "50000", "100000", "5", "total", "1")


def test_what_is_known_holds_for_its_seed_only():
    row = next(row for row in ask("reach") if row.step == 1)
    assert table.known_checks(row, 42)["final"] == "0dbe4c08cd7fb359"
    assert table.known_checks(row, 7) is None


def test_where_a_step_has_one_answer_what_stands_in_the_end_is_compared():
    row = next(row for row in ask("reach") if row.options.get("one_answer"))
    assert table.known_checks(row, 42) == {"size": 6_230, "final": "0dbe4c08cd7fb359"}


def test_sizes_are_said_as_people_say_them():
    assert [table.short(n) for n in (7, 1_000, 2_000, 50_000_000, 1_500)] == ["7", "1k", "2k", "50M", "1500"]
