"""Claims about DataFrames as collections: Spark's answers and types, its errors as refusals, its session left alone."""

import datetime
from decimal import Decimal

import pytest
from pyspark.sql import functions as F

import ebbflow as ebb
from ebbflow.errors import DataFrameError, NeverSettles, NumberOverflow, TypeMismatch, UnknownInput, ZoneDiffers
from ebbflow.relational.catalyst import expressions, plan
from tests.relational.of_spark import compare, now, program

SCHEMA = (
    "k int, a int, b int, n long, s string, t string, d decimal(10,2), e decimal(12,4), x double, f float, day date, "
    "at timestamp, is boolean"
)


def row(k, a, b, n, s, t, d, e, x, f, at, is_):
    at = at and datetime.datetime.fromisoformat(at)
    return (k, a, b, n, s, t, d and Decimal(d), e and Decimal(e), x, f, at and at.date(), at, is_)


ROWS = [
    row(1, 7, 2, 70, " Ab ", "a%", "7.25", "1.5000", 2.5, 0.5, "2024-02-29 13:05:09", True),
    row(2, -7, 2, -3, "ab", "12", "-0.05", "0.3333", -0.5, -1.25, "1999-12-31 23:59:59", False),
    row(3, 0, -3, 5, "", "-4", "100.00", "9999.9999", 0.0, 3.0, "2000-01-01", None),
    row(4, None, 1, None, None, None, None, None, None, None, None, True),
]
WORDS = [(1, "one"), (1, "uno"), (3, None), (None, "none")]


@pytest.fixture(scope="module")
def things(spark):
    spark.createDataFrame(ROWS, SCHEMA).createOrReplaceTempView("things")
    spark.createDataFrame(WORDS, "k int, w string").createOrReplaceTempView("words")
    return spark.table("things")


@pytest.fixture()
def legacy(spark):
    """A session in which ANSI is off, which shares everything else."""
    other = spark.newSession()
    other.conf.set("spark.sql.ansi.enabled", "false")
    other.createDataFrame(ROWS, SCHEMA).createOrReplaceTempView("things")
    yield other
    spark._jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(spark._jsparkSession)


EXPRESSIONS = """a + b; a - b; a * b; a / b; a % b; a div b; n + a; n * 2; d + e; d - a; d * e; d / e; d % 3; x + d
x / 2; -a; abs(a); -d; abs(x); +a; round(d, 1); round(x, 1); round(a, -1); floor(x); ceil(x); floor(d); ceil(a)
sqrt(abs(x)); exp(x); ln(abs(x) + 1); log10(abs(x) + 1); log2(abs(x) + 1); pow(x, 2); sin(x); cos(x); tan(x)
sign(x); isnan(x); a = b; a < b; a <= b; d > e; d >= 1; a <=> n; a = 7 and b = 2; a = 7 or b = 1; not (a = 7); a is null
a is not null; coalesce(a, b); if(a > 0, s, t); case when a > 0 then 'p' when a < 0 then 'm' end; greatest(a, b, k)
least(d, e)
a in (7, 0); a in (b, k); s like '%b%'; startswith(s, 'a'); endswith(s, 'b'); contains(s, 'b'); upper(s); lower(s)
length(s); substring(s, 2, 1); trim(s); ltrim(s); rtrim(s); concat(s, t); s || '!'; replace(s, 'b', 'c'); left(s, 1)
year(day); month(day); day(day); dayofweek(day); weekday(day); quarter(day); date_add(day, 3); date_sub(day, a)
date_diff(day, date'2000-01-01'); hour(at); minute(at); second(at); year(at); cast(at as date); day > date'2000-01-01'
cast(a as string); cast(a as double); cast(d as int); cast(d as decimal(12,4)); cast(a as decimal(12,2)); cast(x as int)
cast(k as short); cast(k as byte); cast(a as boolean); cast(day as string); cast(x as decimal(8,3)); cast(f as double)
try_cast(s as int); try_divide(a, a - a); try_add(a, b); try_divide(d, e); nullif(a, 7); nvl(a, -1); f; f + 1; is
shiftright(n, 1); n & 1; cast('5' as int) + a; a between -7 and 0; timestamp'2024-02-29 13:05:09' = at; 1.5 * a; null"""
KEPT_FROM_TABLE = {
    "KnownFloatingPointNormalized", "NormalizeNaNAndZero", "KnownNotNull", "KnownNullable", "AtLeastNNonNulls",
    "PromotePrecision", "TempResolvedColumn", "UnaryPositive", "Alias", "MapSort",
}  # fmt: skip
"""Kinds that no expression of the list is made of: Catalyst puts them in or takes them out itself."""


def listed():
    return [one.strip() for one in EXPRESSIONS.replace("\n", ";").split(";")]


def test_every_expression_has_the_values_and_the_type_that_spark_gives_it(spark, things):
    columns = [f"{one} as c{i}" for i, one in enumerate(listed())]
    df = spark.sql(f"select k, {', '.join(columns)} from things")
    found = now(df)
    assert compare(found, df) == 4
    theirs = [field.dataType.simpleString() for field in df.schema.fields]
    spelt = {"long": "bigint", "short": "smallint", "byte": "tinyint"}
    mine = [spelt.get(str(kind), str(kind)) for kind in found.schema.types[: len(theirs)]]
    differ = {one: (m, t) for one, m, t in zip(["k", *listed()], mine, theirs) if m != t}
    assert differ == {"null": ("bigint", "void")}
    asked = {part.kind for part in plan.optimised(df).walk()}
    known = {*expressions.SAME, *expressions.EXPRESSIONS, *expressions.AS_THEY_ARE} - KEPT_FROM_TABLE
    assert known <= asked, f"no expression of the list is made of {known - asked}"


QUERIES = """select a, count(*), count(b), sum(n), avg(d), min(s), max(day), any_value(is) from things group by a
select count(*), sum(a), avg(x), stddev(a), var_pop(x), count(distinct a), sum(distinct b) from things
select count(*), sum(a), max(s) from things where a > 1000
select b, stddev_samp(x), stddev_pop(x), var_samp(d), count(distinct a, s), count_if(a > 0) from things group by b
select b, sum(a) filter (where is), count(*) filter (where a < 0) from things group by b
select a, b, grouping(a), grouping_id(), sum(n) from things group by cube(a, b)
select distinct b, is from things
select * from things where k in (select k from words)
select * from things where a not in (select k from words)
select * from things where b not in (select k from words where k is not null)
select k, (select max(w) from words w where w.k = things.k), exists (select 1 from words w where w.k = a) from things
select * from things left join words on things.k = words.k and w > 'o'
select * from things full join words using (k)
select * from things right join words on things.k < words.k
select * from things t1 join things t2 on t1.b = t2.b and t1.k < t2.k
select * from things left semi join words on things.k <=> words.k
select k, d from things where d > (select avg(d) from things) and x < (select max(x) from things)
select k, s from things order by d desc nulls last, k limit 2
select k from things order by k limit 2 offset 1
select k, s from things union all select k, w from words union all select null, null
select k from things intersect select k from words
select k from things except select k from words
select k, sum(a) over (partition by b), count(*) over (), max(s) over (partition by is) from things
with w as (select b, sum(n) as total from things group by b) select * from w where total = (select max(total) from w)
select * from (values (1, 'x'), (2, null)) as v(i, j)
select 1 as one, 'x' as text
select approx_count_distinct(a), bool_or(is), every(is) from things"""


@pytest.mark.parametrize("query", QUERIES.split("\n"))
def test_a_query_has_the_rows_that_spark_gives_it(spark, things, query):
    df = spark.sql(query)
    has_none = "a not in (select k from words)" in query  # a null is among them
    assert (compare(now(df), df) == 0) is has_none


def test_dataframes_have_their_own_words(spark, things):
    words = spark.table("words")
    for df in (
        things.groupBy("b").agg(F.sum("n").alias("n"), F.countDistinct("a")).orderBy("b"),
        things.dropDuplicates(["b"]).select("b"),
        things.dropna(subset=["a", "x"]).select("k"),
        things.dropna(thresh=2, subset=["a", "s", "x"]).select("k"),
        things.fillna(0, subset=["a"]).withColumn("z", F.col("a") * 2).select("k", "z"),
        things.join(words, "k", "left_anti").select("k"),
        things.select("k").unionByName(words.select("k")).distinct(),
        things.withColumnRenamed("k", "key").drop("s").where("key > 1").limit(10),
        things.groupBy().count(),
        spark.range(5).select((F.col("id") % 2).alias("odd")).groupBy("odd").count(),
        things.repartition(3).hint("broadcast").select("k"),
    ):
        assert compare(now(df), df) > 0


RECURSIVE = """
    with recursive reach(a, b) as (
        select k, w from steps union all select reach.a, steps.w from reach join steps on reach.b = steps.k)
    select a, b, count(*) from reach group by a, b"""


def test_a_recursive_table_is_a_loop_with_as_many_rounds_as_spark_allows(spark):
    steps = [(i, i + 1) for i in range(6)] + [(1, 3)]
    spark.createDataFrame(steps, "k int, w int").createOrReplaceTempView("steps")
    df = spark.sql(RECURSIVE)
    flow = program(df)
    with flow.run() as live:
        live.commit()
        assert compare(live.snapshot("answer"), df) == 21
        live.delete("steps", [(1, 3)])
        live.insert("steps", [(0, 4)])
        live.commit()
        spark.createDataFrame([*steps[:-1], (0, 4)], "k int, w int").createOrReplaceTempView("steps")
        assert compare(live.snapshot("answer"), spark.sql(RECURSIVE)) == 21
        live.insert("steps", [(4, 0)])  # goes round for ever: Spark raises after so many rounds
        with pytest.raises(NeverSettles, match="after the 101 rounds"):
            live.commit()
        live.discard()


def test_rows_that_are_kept_by_some_columns_are_rows_that_are_there(spark, things):
    found = now(spark.table("words").dropDuplicates(["k"]))
    there = {tuple(row) for row in spark.table("words").collect()}
    assert {tuple(row[:-1]) for row in found} <= there and len(found) == 3


# ---- errors ---------------------------------------------------------------------------------

NULL_WITHOUT_ANSI = (
    "a / zero", "a % zero", "a div zero", "d / (d - d)", "cast(s as int)", "cast(d as decimal(2,1))", "cast(s as date)",
)  # fmt: skip
RAISE = (
    *NULL_WITHOUT_ANSI, "most + a", "most * 2", "-least", "abs(least)", "cast(big as int)", "cast(huge as int)",
)  # fmt: skip


def odd(spark, expression):
    frame = spark.createDataFrame(
        [(1, 0, 2**31 - 1, -(2**31), 2**40, 1e300, "x", Decimal("77.77"))],
        "a int, zero int, most int, least int, big long, huge double, s string, d decimal(4,2)",
    )
    frame.createOrReplaceTempView("odd")
    return spark.sql(f"select {expression} as found from odd")


@pytest.mark.parametrize("expression", RAISE)
def test_what_raises_in_spark_refuses_the_step(spark, expression):
    df = odd(spark, expression)
    with pytest.raises(Exception, match=r"\[[A-Z_.]+\]"):
        df.collect()
    with pytest.raises(NumberOverflow):
        now(df)


@pytest.mark.parametrize("expression", RAISE)
def test_without_ansi_it_is_null_or_refused_and_never_another_number(legacy, expression):
    df = odd(legacy, expression)
    if expression in NULL_WITHOUT_ANSI:
        assert now(df).rows() == [(None, 1)] == [(df.first()[0], 1)]
    else:  # Spark wraps around
        with pytest.raises(NumberOverflow):
            now(df)


def test_how_an_expression_errs_is_as_it_was_written(spark, legacy):
    """Not as the session is set when the DataFrame is kept."""
    df = odd(legacy, "a / zero")
    legacy.conf.set("spark.sql.ansi.enabled", "true")
    assert now(df).rows() == [(None, 1)]


def test_what_is_not_computed_is_no_error(spark):
    assert now(odd(spark, "if(zero = 0, 0, a / zero)")).rows() == [(0, 1)]
    assert now(odd(spark, "try_divide(a, zero)")).rows() == [(None, 1)]
    assert now(odd(spark, "cast(null as int) / zero")).rows() == [(None, 1)]


# ---- inputs ---------------------------------------------------------------------------------


def test_a_session_begins_with_the_rows_of_the_tables_and_is_told_what_changes(spark, things):
    flow = program(spark.sql("select b, count(*) as n from things group by b"))
    assert repr(flow) == "Dataflow(things -> answer)"
    with flow.run() as live:
        live.commit()
        live.insert("things", [(2,), (9,)])
        live.delete("things", [(1,)])
        assert live.commit()["answer"].rows() == [(1, 1, 1, -1), (2, 2, 1, -1), (2, 3, 1, 1), (9, 1, 1, 1)]


def test_a_session_that_goes_on_does_not_load_tables_again(spark, things, tmp_path):
    for more in ([], [(2,)]):
        flow = program(spark.sql("select b, count(*) as n from things group by b"))
        with flow.run(checkpoint=str(tmp_path / "kept")) as live:
            if more:
                live.insert("things", more)
            live.commit()
    assert live.snapshot("answer").rows() == [(-3, 1, 1), (1, 1, 1), (2, 3, 1)]


def test_what_is_there_from_the_first_time_on_is_there_once(spark, tmp_path):
    """Whatever happens before the first step: rows are dropped, or the session is closed and begins again."""
    for _ in range(2):
        flow = ebb.Dataflow()
        flow.input("xs", "x long")
        flow.output("n", flow.sql("select count(*) as n from xs"))
        with flow.run(checkpoint=str(tmp_path / "kept")) as live:
            live.insert("xs", [(1,)], time=0)
            live.discard()
    with flow.run(checkpoint=str(tmp_path / "kept")) as live:
        live.advance_to(1)
        assert live.snapshot("n").rows() == [(0, 1)]


def test_a_leaf_is_one_input_however_often_it_is_read(spark, things):
    flow = ebb.Dataflow()
    flow.output("one", flow.dataframe(spark.sql("select t.k, u.a from things t join things u on t.k = u.b")))
    flow.output("two", flow.dataframe(things.select("s", "k")))
    assert list(flow._leaves) == ["things"]
    assert flow._leaves["things"].schema.names == ("k", "a", "b", "s")
    tables = flow.compute()
    assert compare(tables["one"], spark.sql("select t.k, u.a from things t join things u on t.k = u.b"))
    assert compare(tables["two"], things.select("s", "k"))


def test_inputs_are_called_as_people_call_them(spark, things, tmp_path):
    things.select("k").write.parquet(str(tmp_path / "places"))
    files = spark.read.parquet(str(tmp_path / "places"))
    stream = spark.readStream.schema("k int").parquet(str(tmp_path / "places"))
    assert list(program(files)._leaves) == ["places"]
    assert list(program(stream.groupBy("k").count())._leaves) == ["places"]
    assert list(program(spark.createDataFrame([(1,)], "x int").alias("mine"))._leaves) == ["mine"]
    assert list(program(spark.createDataFrame([(1,)], "x int"))._leaves) == ["table"]
    both = spark.createDataFrame([(1,)], "x int").crossJoin(spark.createDataFrame([(2,)], "y int"))
    assert list(program(both)._leaves) == ["table", "table 2"]


def test_a_collection_stands_for_a_table(spark, things):
    flow = ebb.Dataflow()
    mine = flow.input("things", "k int, b int, more long")
    with pytest.raises(DataFrameError, match='reads "things", and the program has an input of that name'):
        flow.dataframe(things.groupBy("b").count())
    big = mine.filter(lambda row: row.more > 1)
    flow.output("n", flow.dataframe(things.groupBy("b").count(), inputs={"things": big}))
    assert flow.compute(things=[(1, 5, 1), (2, 5, 2), (3, 6, 3)])["n"].rows() == [(5, 1, 1), (6, 1, 1)]
    with pytest.raises(UnknownInput, match='names the table "thing"; the DataFrame reads: things'):
        flow.dataframe(things, inputs={"thing": mine})
    with pytest.raises(UnknownInput, match='reads the column "a" of "things"'):
        flow.dataframe(things.select("a"), inputs={"things": mine})
    other = flow.input("others", "k long")
    with pytest.raises(TypeMismatch, match='"k" of "things" is a int in the DataFrame and a long'):
        flow.dataframe(things.select("k"), inputs={"things": other})


def test_clocks_are_those_of_the_session(spark):
    spark.createDataFrame([(datetime.datetime(2024, 1, 1, 3),)], "at timestamp").createOrReplaceTempView("clocks")
    other = spark.newSession()
    other.conf.set("spark.sql.session.timeZone", "America/New_York")
    df = other.createDataFrame([(datetime.datetime(2024, 1, 1, 3),)], "at timestamp").select(F.hour("at"))
    with pytest.raises(ZoneDiffers, match="America/New_York"):
        program(df)
    assert compare(now(df, timezone="America/New_York"), df) == 1
    spark._jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(spark._jsparkSession)


# ---- the user's session ---------------------------------------------------------------------


def settings(spark):
    pairs = spark._jsparkSession.conf().getAll()
    return {pair._1(): pair._2() for pair in (pairs.toSeq().apply(i) for i in range(pairs.size()))}


def test_nothing_is_set_on_the_users_session(spark, things):
    sessions = spark._jvm.org.apache.spark.sql.classic.SparkSession
    before = settings(spark)
    program(spark.sql("select b, sum(a) from things group by b order by 2 limit 1"))
    with pytest.raises(DataFrameError):
        program(things.selectExpr("json_tuple(s, 'a')"))
    assert settings(spark) == before and plan.EXCLUDED_RULES not in before
    assert sessions.getActiveSession().get().equals(spark._jsparkSession)
    sessions.clearActiveSession()  # a thread that has none has none afterwards
    try:
        plan.optimised(things)
        assert not sessions.getActiveSession().isDefined()
    finally:
        sessions.setActiveSession(spark._jsparkSession)


def test_rules_that_the_user_left_out_are_left_out(spark, things):
    other = spark.newSession()
    rule = "org.apache.spark.sql.catalyst.optimizer.CombineFilters"
    other.conf.set(plan.EXCLUDED_RULES, rule)
    df = other.createDataFrame([(1, 2)], "a int, b int").where("a > 0").where("b > 0")
    assert compare(now(df), df) == 1 and other.conf.get(plan.EXCLUDED_RULES) == rule
    spark._jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(spark._jsparkSession)


# ---- refusals -------------------------------------------------------------------------------

REFUSALS = {
    "select rand() from things": "what has another value whenever it is computed is not supported, in rand",
    "select current_date() from things": "what has another value whenever it is computed",
    "select uuid() from things": "what has another value whenever it is computed",
    "select collect_list(a) over (order by a) from things": "CollectList over a part of its window is not supported",
    "select json_tuple(s, 'a') from things": "a function that makes several rows of one in its own way",
    "select transform(array(k), x -> x + 1) from things": "by a function is not supported",
    "select filter(array(k), x -> x > 1) from things": "filter of an array by a function is not supported",
    "select count_min_sketch(k, 0.5d, 0.5d, 1) from things": "the aggregate CountMinSketchAgg is not supported",
    "select try_sum(k) from things": "try_sum is not supported",
    "select s like 'a/%' escape '/' from things": "like with an escape of its own",
    "select * from things tablesample (50 percent)": "a random sample is not supported",
    "select s collate UTF8_LCASE = 'a' from things": "text compared by a collation",
}


@pytest.mark.parametrize("query", REFUSALS)
def test_what_cannot_be_kept_is_refused_by_its_part_and_leaves_the_program_as_it_was(spark, things, query):
    flow = ebb.Dataflow()
    before = flow.dataframe(spark.table("words").select("w"))
    count = len(flow.graph.nodes)
    with pytest.raises(DataFrameError) as refused:
        flow.dataframe(spark.sql(query))
    assert REFUSALS[query] in refused.value.what and refused.value.hint
    assert len(flow.graph.nodes) == count and list(flow._leaves) == ["words"] and before.columns == ["w"]


def test_a_refusal_says_where_it_was_written(spark, things):
    said = r"parse url is not supported, in parse_url\(.*s, 'HOST'\) \(line 2, column 3 of the query\)"
    with pytest.raises(DataFrameError, match=said):  # Catalyst puts a call into Java for it, which has no place
        program(spark.sql("select k,\n  parse_url(s, 'HOST')\nfrom things"))


def test_watermarks_and_functions_of_your_own_are_refused(spark, things, tmp_path):
    stream = spark.readStream.schema("at timestamp, k int").json(str(tmp_path))
    with pytest.raises(DataFrameError, match=r"a watermark \(Spark drops the rows behind it\) is not supported"):
        program(stream.withWatermark("at", "1 minute").groupBy("k").count())
    with pytest.raises(DataFrameError, match="a Python function is not supported"):
        program(things.select(F.udf(lambda x: x, "int")("k")))
    with pytest.raises(DataFrameError, match="a value of type variant is not supported"):
        program(spark.sql("select parse_json('1') as v"))
    with pytest.raises(TypeMismatch, match="dataframe takes a DataFrame of PySpark; got list"):
        ebb.Dataflow().dataframe([1])
