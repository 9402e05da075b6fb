"""Twenty thousand random programs through the public interface; `python -m tests.bulk --public` runs any number."""

import pytest

import ebbflow as ebb
from tests.meaning import plain
from tests.meaning import public_programs as programs
from tests.meaning.public_author import OURS
from tests.meaning.public_cases import Case, Let, Meaning, Wrong, judge
from tests.meaning.public_programs import failure, shrunk

PARTS, CASES, SEED = 20, 20_000, 17

# The share of programs, in percent, below which a method, a kind or a saving of the planner counts as forgotten.
FLOORS = {
    "select": 45, "rename": 20, "with_columns": 14, "drop": 7, "renamed column": 50, "swapped names": 18, "suffix": 20,
    "computed column": 18, "overwritten column": 12, "column of an earlier collection": 1, "filter": 25,
    "inner join": 20, "left join": 4, "right join": 3, "full join": 3, "semi join": 5, "anti join": 2, "cross join": 2,
    "union": 18, "minus": 1, "union of types": 0.5, "distinct": 16, "negate": 2.5, "threshold": 1, "delay": 1,
    "agg": 8, "several aggregates": 4, "count": 1.5, "computed key": 3, "top": 10, "order_by": 8, "map_rows": 1,
    "flat_map": 1, "loop": 12, "bounded loop": 4, "nested loops": 2, "mutual recursion": 1, "rounds": 2,
    "several outputs": 50, "collection used several ways": 35, "changes shown": 90, "retractions": 50, "nulls": 20,
    "1 coordinates": 60, "2 coordinates": 15, "2 workers": 4, "3 workers": 1.5,
    "type long": 35, "type int": 12, "type double": 10, "type string": 12, "type boolean": 6, "type date": 5,
    "type timestamp": 3, "type decimal(10,2)": 3, "type decimal(38,10)": 4, "type array<long>": 2,
    "type array<decimal(38,10)>": 1.5, "type struct<p:long,q:string>": 2, "type map<string,long>": 1.5, "explode": 0.1,
    "type struct<p:decimal(38,10),q:array<timestamp>>": 1.5, "large keys": 10,
    "saving: map_of_map": 20, "saving: selection_of_join": 10, "saving: filter_before_map": 1,
    "saving: filter_of_filter": 1.5, "saving: flattened": 6, "saving: already_distinct": 1.5,
    "saving: out_of_the_loop": 4, "saving: nothing_selected": 1, "saving: twice_negated": 0.2,
    "saving: there_and_back": 0.2,
    "plan: stages of a program": 20, "plan: read as an arrangement by its own key": 15,
    "plan: read by its own key where the loop begins again": 2, "plan: text answered as it arrives": 0.6,
}  # fmt: skip


@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs_of_collections_mean_the_same_rewritten_and_as_written(part):
    size = CASES // PARTS
    try:
        counts = programs.run(range(part * size, (part + 1) * size), SEED)
    except Exception as error:
        pytest.fail(programs.explain(SEED, error.case))
    print(programs.report(counts, SEED, 0))
    assert counts["cases"] == size
    forgotten = {tag: counts[tag] for tag, floor in FLOORS.items() if counts[tag] < floor / 100 * size}
    assert not forgotten, f"of {size} programs too few have these: {forgotten}"


# ---- the judge can judge --------------------------------------------------------------------------


def small(text, outputs=("c",), **inputs):
    return Case(("time",), inputs, (Let("c", text, ("t",)),), outputs, (("t", (1, 9), (0,), 1), ("t", (7, 8), (2,), 1)))


def test_a_program_is_the_same_case_whenever_it_is_asked_for():
    one, two = programs.make_case(3, 14)[0], programs.make_case(3, 14)[0]
    assert one == two and one.source() == two.source() and one != programs.make_case(3, 15)[0]


def test_changes_follow_from_what_a_program_means_at_every_time():
    meaning = Meaning(small('t.filter(col("a") < 5).select(b="a", a="b")', t="a long, b long"))
    assert meaning.columns == {"c": [("b", "long"), ("a", "long")]}
    assert meaning.changes == {"c": {((1, 9), (0,)): 1}}


def test_a_wrong_answer_is_told_with_its_row_and_time():
    case = small('t.filter(col("a") < 5)', t="a long, b long")
    meaning = Meaning(case)
    meaning.changes["c"][(3, 3), (1,)] = 2
    with pytest.raises(Wrong, match=r"with rewriting: the changes of c\n  at \(1,\): \(3, 3\) is \+0, should be \+2"):
        judge(case, meaning)


def test_columns_in_another_order_are_wrong():
    case = small('t.select("b", "a")', t="a long, b long")
    meaning = Meaning(case)
    meaning.columns["c"].reverse()
    with pytest.raises(Wrong, match="the columns of c are"):
        judge(case, meaning)


def test_a_program_without_meaning_is_no_case():
    with pytest.raises(plain.Refused):
        Meaning(small('t.select("z")', t="a long, b long"))
    assert failure(small('t.select("z")', t="a long, b long")) is None


def test_a_failing_program_is_made_smaller_and_printed_as_source():
    case, _ = programs.make_case(3, 14)
    less = shrunk(case, lambda smaller: "flow.output" in smaller.source() and Meaning(smaller) is not None)
    assert len(less.program()) < len(case.program()) and len(less.changes) <= len(case.changes)
    compile(less.source(), "<shrunk>", "exec")


def test_the_source_of_a_case_runs_as_it_is_printed(capsys):
    case = small('t.rename({"a": "b", "b": "a"})', t="a long, b long")
    exec(compile(case.source(), "<case>", "exec"), {})
    assert "│ b │ a │ _time │ _diff │" in capsys.readouterr().out


def test_names_that_the_package_uses_itself_are_tried():
    assert ebb.Dataflow().input("t", ", ".join(f"`{name}` long" for name in OURS)).columns == OURS
