"""`python -m tests.mutants.published`: bugs planted in what publishes, each of which its tests must notice.

Rule: those of sinks and claims are caught by random histories, without Spark; the others by one claim on Spark each.
"""

from __future__ import annotations

import sys

from tests.mutants import durable
from tests.mutants.mutants import Mutant

HISTORIES = "tests/pipeline/test_histories.py"
CLAIMS, MARKS, FEED, PUBLISHER = (f"pipeline/{name}.py" for name in ("claims", "marks", "feed", "publisher"))
CHANGE_LOG, DELTA, SINK = (f"pipeline/sinks/{name}.py" for name in ("change_log", "delta_table", "sink"))

PLANTED: list[tuple[Mutant, str]] = [
    (
        Mutant(
            "a mark compares the step only",
            SINK,
            '    if mark is None or mark.get("stream") != owner.id:\n        return BEGINS\n',
            '    if mark is None:\n        return BEGINS\n    if mark["step"] >= progress.step:\n        return DONE\n',
        ),
        HISTORIES,
    ),
    (
        Mutant(
            "what another stream began is taken",
            CLAIMS,
            "    if not replace and (is_begun or not found.is_gone):\n",
            "    if not replace and found.id == mine.id:\n",
        ),
        HISTORIES,
    ),
    (
        Mutant(
            "a place that was taken over is published to",
            CLAIMS,
            "    if owner_from(found).id != mine.id:\n",
            "    if not owner_from(found).id:\n",
        ),
        HISTORIES,
    ),
    (
        Mutant(
            "a table that missed a step is continued",
            SINK,
            '    return FOLLOWS if mark["step"] == progress.step - 1 or progress.so_far is None else BEGINS\n',
            "    return FOLLOWS\n",
        ),
        HISTORIES,
    ),
    (
        Mutant(
            "a place that is further is passed over",
            SINK,
            '    if mark["step"] >= progress.step or mark.get("batch", -1) > progress.batch_id:\n        if replace:\n',
            '    if mark["step"] >= progress.step:\n        return DONE\n'
            '    if mark.get("batch", -1) > progress.batch_id:\n        if replace:\n',
        ),
        HISTORIES,
    ),
    (
        Mutant(
            "steps of another history of the stream count",
            SINK,
            '    if mark["step"] == progress.step and mark.get("record", "") == progress.record:\n',
            '    if mark["step"] == progress.step:\n',
        ),
        HISTORIES,
    ),
    (
        Mutant(
            "another spelling is another place",
            CLAIMS,
            '        text = re.sub(r"^file:/*", "/", text, flags=re.I)\n',
            '        text = re.sub(r"^file:/*", "", text, flags=re.I)\n',
        ),
        HISTORIES,
    ),
    (
        Mutant(
            "a log keeps the steps of the one before",
            CHANGE_LOG,
            "            for old in self._steps():\n                shutil.rmtree(old)\n",
            "",
        ),
        HISTORIES,
    ),
    (
        Mutant(
            "a log forgets that a step was skipped",
            CHANGE_LOG,
            "            if step == BEGINS and set(missing) <= set(skipped):\n                step = FOLLOWS\n",
            "",
        ),
        HISTORIES,
    ),
    (
        Mutant(
            "a claim replaces another",
            MARKS,
            "        os.link(beside, path)\n",
            "        put(path, beside.read_bytes())\n",
        ),
        HISTORIES,
    ),
    (
        Mutant(
            "a new table begins with the last changes",
            SINK,
            "    return changes if progress.so_far is None else progress.so_far()\n",
            "    return changes\n",
        ),
        HISTORIES,
    ),
    (
        Mutant(
            "Delta's numbers are set on the session that is given",
            DELTA,
            "        mine = private(changes.sparkSession)\n",
            "        mine = changes.sparkSession\n",
        ),
        "tests/pipeline/test_surroundings.py::test_a_stream_leaves_the_session_as_it_is",
    ),
    (
        Mutant(
            "the copy of a session becomes that of every RDD",
            DELTA,
            "    mine = SparkSession.__new__(SparkSession)",
            "    mine = spark.newSession()",
        ),
        "tests/pipeline/test_places.py::test_nothing_is_set_on_the_session_while_a_delta_table_is_written",
    ),
    (
        Mutant(
            "the environment of tasks is set on the context",
            "runtime/spark/cluster.py",
            "        frame._jdf.queryExecution().analyzed().functionExpr().func().envVars().put(SEAT, name)\n",
            "        frame.sparkSession.sparkContext.environment[SEAT] = name\n",
        ),
        "tests/pipeline/test_surroundings.py::test_a_run_on_spark_leaves_the_session_as_it_is",
    ),
    (
        Mutant(
            "a session of another thread is given our settings",
            "runtime/spark/session.py",
            "SparkSession.getActiveSession() or _running()",
            "SparkSession.getActiveSession()",
        ),
        "tests/pipeline/test_surroundings.py::test_a_session_that_runs_is_given_as_it_is_to_every_thread",
    ),
    (
        Mutant(
            "dead letters are named by their batch alone",
            FEED,
            'self.dead_letters / f"query={query_id}" / f"batch={batch_id}"',
            'self.dead_letters / f"batch={batch_id}"',
        ),
        "tests/pipeline/test_places.py::test_dead_letters_of_two_queries_are_kept_apart",
    ),
    (
        Mutant(
            "a step that is skipped is handed over",
            PUBLISHER,
            "        if step in skipped:\n",
            "        if step in ():\n",
        ),
        "tests/pipeline/test_skips.py::test_a_step_that_a_function_never_takes_is_skipped_on_somebodys_word",
    ),
    (
        Mutant(
            "a state that was made anew is published over the old",
            FEED,
            'published["of"] != self._ledger.manifest["id"]',
            'published["of"] == ""',
        ),
        "tests/pipeline/test_places.py::test_a_state_that_was_made_anew_is_not_published_over_the_old",
    ),
    (
        Mutant(
            "a second copy of a row is merged into the first",
            DELTA,
            "        first = f\"t.{quoted[0]} = if(s.`_replaces`, s.{quoted[0]}, raise_error('{COPY_SAID}'))\"\n",
            '        first = f"t.{quoted[0]} = s.{quoted[0]}"\n',
        ),
        "tests/pipeline/test_places.py::test_a_row_that_comes_a_second_time_in_a_later_step_is_not_lost_when_one_goes",
    ),
]


if __name__ == "__main__":
    sys.exit(durable.main(planted=PLANTED, prog="python -m tests.mutants.published", about=__doc__))
