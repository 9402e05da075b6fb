"""Windows: what is said of a row is true of its place among the rows of its partition at that time."""

from ebbflow.columns.schema import DATE, DOUBLE, LONG, STRING
from ebbflow.dataflow.nodes import Frame, WindowFunction
from tests.meaning.claims import claim
from tests.meaning.programs import DECIMAL, WIDE, schema
from tests.meaning.test_loops import bounded

RUNNING = Frame("range", None, 0)


def over(op, column=None, name=None, frame=None, **more):
    return WindowFunction(op, column, name or "found", frame, **more)


EVERY = ["local-1", "local-2", "local-durable", "local-indexed", "local-indexed-sliced", "local-indexed-durable"]
EVERY += ["local-indexed-starved", "tasks", "tasks-indexed"]


def windows(*functions, order="b", key=("a",), b=LONG, c=STRING, widths=(1,), examples=6, runtimes=("local-1",)):
    @claim(schemas={"x": schema(a=LONG, b=b, c=c)}, examples=examples, nulls=True, widths=widths, runtimes=runtimes)
    def test_window(s, x):
        named = [
            WindowFunction(f.op, f.column, f"f{i}", f.frame, f.number, f.default, f.skips_nulls)
            for i, f in enumerate(functions)
        ]
        return s.window(x, key, order, *named)

    return test_window


PLACES = [over(op) for op in ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist")]
test_places = windows(*PLACES, over("ntile", number=2), over("ntile", number=3), widths=(1, 2), runtimes=EVERY)
test_places_descending = windows(*PLACES[1:], order="-b", widths=(1, 3))
test_places_by_text_with_nulls_last = windows(*PLACES, order="c! -b")
test_places_of_the_whole_collection = windows(*PLACES, key=())
test_places_without_an_order = windows(*PLACES, order="")
test_a_rank_alone_keeps_copies_together = windows(over("rank"), over("sum", "b", frame=RUNNING))
test_other_rows = windows(
    over("lead", "c", number=1), over("lead", "c", number=-1), over("lead", "b", number=-2, default="b"),
    over("lead", "b", number=0), over("lead", "c", number=1, skips_nulls=True),
    over("lead", "b", number=-1, skips_nulls=True, default="b"), order="-b!", widths=(1, 2),
)  # fmt: skip
FRAMES = [
    RUNNING, Frame("rows", None, 0), Frame("rows", -1, 1), Frame("rows", 1, 2), Frame("rows", -3, -2),
    Frame("rows", 0, None), Frame("rows", 2, 1), None, Frame("range", 0, 0), Frame("rows", None, -1),
]  # fmt: skip
for number, frame in enumerate(FRAMES):
    globals()[f"test_frame_{number}"] = windows(
        *(over(op, "b", frame=frame) for op in ("sum", "avg", "count", "min", "max")),
        over("count_rows", frame=frame),
        *(over(op, "b", frame=frame, number=2, skips_nulls=skips)
          for op in ("first_value", "last_value", "nth_value") for skips in (False, True)),
        order="c" if number % 2 else "b", examples=5, runtimes=EVERY if number == 2 else ("local-1",),
    )  # fmt: skip
RANGES = [
    Frame("range", -1, 0),
    Frame("range", -1, 1),
    Frame("range", 1, 2),
    Frame("range", None, -1),
    Frame("range", 1, None),
]
SUMS = [over(op, "b", frame=frame) for frame in RANGES for op in ("sum", "min")]
test_ranges_of_longs = windows(*SUMS)
test_ranges_descending = windows(*SUMS, order="-b")
test_ranges_with_nulls_last = windows(*SUMS, order="b!")
test_ranges_of_doubles = windows(*SUMS, b=DOUBLE, examples=20)
test_ranges_of_decimals = windows(*SUMS, b=DECIMAL)
test_ranges_of_wide_decimals = windows(*SUMS, b=WIDE, examples=5)
test_ranges_of_dates = windows(*(over("count", "b", frame=frame) for frame in RANGES), b=DATE)
test_sums_of_doubles = windows(
    *(over(op, "b", frame=Frame("rows", -1, 1)) for op in ("sum", "avg", "max")), order="c", b=DOUBLE, widths=(1,)
)
test_sums_of_decimals = windows(
    *(over(op, "b", frame=RUNNING) for op in ("sum", "avg", "max")), order="c", b=DECIMAL, widths=(1,)
)
test_sums_of_wide_decimals = windows(
    *(over(op, "b", frame=RUNNING) for op in ("sum", "avg", "max", "last_value")), order="c", b=WIDE, widths=(1,)
)
test_extremes_of_text_go_by_text = windows(
    over("min", "c", frame=Frame("rows", -1, 1)), over("max", "c", frame=RUNNING), widths=(1,)
)


@claim(examples=10, runtimes=("local-1", "local-2"))
def test_rows_with_negative_counts_are_not_there(s, x, y):
    return s.window(s.minus(s.concat(x, x), y), ("a",), "b", over("row_number", name="n"), over("count_rows", name="m"))


@claim(examples=8, runtimes=("local-1", "local-2"))
def test_a_window_is_joined_and_reduced(s, x, y):
    numbered = s.window(x, ("a",), "-b", over("rank", name="n"))
    both = s.join(numbered, y, {"a": "a"}, a="left.n", b="right.b")
    return s.aggregate(both, ("a",), b=("max", "b"))


test_a_window_inside_a_bounded_loop = bounded(
    3,
    lambda s, v, y: s.map(
        s.window(s.concat(v, y), ("a",), "b", over("rank", name="n"), over("max", "b", "m", RUNNING)), a="a", b="m"
    ),
)
