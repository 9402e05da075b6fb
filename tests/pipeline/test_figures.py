"""Claims about what Spark shows of a stream: descriptions and tags of jobs, and our figures in its progress."""

import time

from pyspark.sql.streaming import StreamingQueryListener

import ebbflow as ebb
from ebbflow.pipeline.figures import LONGS
from ebbflow.runtime.spark import jobs
from tests.pipeline.given import Files, run


class Heard(StreamingQueryListener):
    def __init__(self):
        self.metrics = {}

    def onQueryStarted(self, event): ...

    def onQueryIdle(self, event): ...

    def onQueryTerminated(self, event): ...

    def onQueryProgress(self, event):
        self.metrics[event.progress.batchId] = event.progress.observedMetrics["ebbflow"]


def described(spark, since):
    """The description and the tags of each job since a number."""
    found = spark._jsparkSession.sparkContext().statusStore().jobsList(None)
    shown = [found.apply(i) for i in range(found.size())]
    return [
        (job.description().getOrElse(None) if job.description().isDefined() else "", job.jobTags().mkString(","))
        for job in shown
        if job.jobId() >= since
    ]


def test_progress_carries_our_figures_and_every_job_says_what_it_is_for(spark, tmp_path):
    heard, first = Heard(), 1 + max((int(job) for job in _ids(spark)), default=-1)
    spark.streams.addListener(heard)
    files = Files(tmp_path / "words", "word string, at long", spark)
    files.put(("ebb", 4), ("flow", 2), ("flow", 2))
    files.put(("ebb", 9), ("it's late", 0))
    flow = ebb.Dataflow()
    flow.output("it's \\ counts", flow.input("words", "word string, at long").group_by("word").count())
    source = ebb.changes(files.frame(1), time="at", lateness=3)
    try:
        query = run(
            flow, spark, tmp_path, {"words": source}, {"it's \\ counts": ebb.table(f"{tmp_path}/counts")},
            dead_letters=f"{tmp_path}/dead", shards=1,
        )  # fmt: skip
        until = time.monotonic() + 30
        while len(heard.metrics) < 2 and time.monotonic() < until:
            time.sleep(0.05)
    finally:
        spark.streams.removeListener(heard)
    last = query.lastProgress["observedMetrics"]["ebbflow"]
    assert (last.step, last.rowsIn, last.deadLetters, last.lag) == (2, 1, 1, 3)
    assert last.supersteps >= 1 and last.jobs >= 1 and last.stateBytes > 0 and last.frontier == "it's \\ counts 7"
    assert [progress["batchId"] for progress in query.recentProgress] == [0, 1]
    assert {name: heard.metrics[1][name] for name in LONGS} == {name: last[name] for name in LONGS}
    assert heard.metrics[1].frontier == last.frontier and heard.metrics[0].step == 1
    assert query.snapshot("it's \\ counts").rows() == [("ebb", 1, 1), ("flow", 2, 1)]
    assert "aggregate by word" in str(query.explain())
    shown = described(spark, first)
    texts = {text.removeprefix("ebbflow: it's \\ counts, ") for text, _ in shown}
    wanted = {"looking at a batch", "rows of words", "step 2", "dead letters of batch 1"}
    assert wanted | {"publishing step 2 of it's \\ counts"} <= texts, texts
    assert all("ebbflow" in tags.split(",") for text, tags in shown if text.startswith("ebbflow: "))
    assert all(text.startswith("ebbflow: ") for text, _ in shown), shown


def _ids(spark):
    found = spark._jsparkSession.sparkContext().statusStore().jobsList(None)
    return [found.apply(i).jobId() for i in range(found.size())]


def test_a_thread_has_its_own_description_and_tags_again_after_a_job(spark):
    context = spark.sparkContext
    context.setLocalProperty(jobs.DESCRIPTION, "mine")
    context.addJobTag("mine")
    try:
        with jobs.described(spark, "a step"):
            assert context.getLocalProperty(jobs.DESCRIPTION) == "ebbflow: a step"
            assert set(context.getJobTags()) == {"mine", "ebbflow"}
        assert context.getLocalProperty(jobs.DESCRIPTION) == "mine" and set(context.getJobTags()) == {"mine"}
        try:
            with jobs.described(spark, "a step"):
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            pass
        assert context.getLocalProperty(jobs.DESCRIPTION) == "mine" and set(context.getJobTags()) == {"mine"}
    finally:
        context.setLocalProperty(jobs.DESCRIPTION, None)
        context.clearJobTags()
    with jobs.described(spark, "a step"):
        pass
    assert context.getLocalProperty(jobs.DESCRIPTION) is None and set(context.getJobTags()) == set()
