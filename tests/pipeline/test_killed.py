"""A driver that is killed between the commit of a batch and its publishing: the next one publishes it, once."""

import signal
import subprocess
import sys
from pathlib import Path

import ebbflow as ebb
from tests.pipeline.given import Files, degrees, rows_of, run

DRIVER = """
import os, signal, sys
from pathlib import Path
import ebbflow as ebb
from ebbflow.pipeline.sinks.change_log import ChangeLog
from tests.pipeline.given import degrees, run

place, publish, batches = Path(sys.argv[1]), ChangeLog.publish, []

def killed(self, *given):
    batches.append(given)
    if len(batches) == 2:  # the second one is in the ledger, and nobody was told
        os.kill(os.getpid(), signal.SIGKILL)
    publish(self, *given)

ChangeLog.publish = killed
spark = ebb.spark("local[2]", **{"spark.sql.shuffle.partitions": 2})
reader = spark.readStream.schema("src long, dst long, ts long").option("maxFilesPerTrigger", 1)
frame = reader.json(str(place / "edges"))
log = ebb.change_log(str(place / "log"))
run(degrees(), spark, place, {"edges": ebb.changes(frame, time="ts")}, {"degrees": log}, shards=2)
"""


def test_what_was_committed_when_the_driver_was_killed_is_published_once(spark, tmp_path):
    files = Files(tmp_path / "edges", "src long, dst long, ts long", spark)
    for time in range(3):
        files.put((1, 10 + time, time))
    root = str(Path(__file__).parents[2])
    died = subprocess.run([sys.executable, "-c", DRIVER, str(tmp_path)], cwd=root, capture_output=True, text=True)
    assert died.returncode == -signal.SIGKILL, died.stderr
    log, told = tmp_path / "log", [(1, 1, 0, 1), (1, 1, 1, -1), (1, 2, 1, 1), (1, 2, 2, -1), (1, 3, 2, 1)]
    published = lambda: rows_of(spark.read.parquet(str(log)).select("src", "count", "_time", "_diff"))
    assert published() == told[:1]
    for _ in range(2):  # and once more, with nothing left to do
        sources = {"edges": ebb.changes(files.frame(1), time="ts")}
        run(degrees(), spark, tmp_path, sources, {"degrees": ebb.change_log(str(log))}, shards=2)
        assert published() == told
