"""Opening a program on Spark: a session of Spark's, a directory, a number of shards.

State lies in files that every machine of the cluster can read.  Without a checkpoint they lie in a temporary directory,
which goes with the session; that is enough where Spark runs on this machine alone.

Rule: what cannot work is refused before a task is started.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable
from typing import Any

from ebbflow.columns.text_pool import Pool
from ebbflow.columns.zones import checked, same
from ebbflow.dataflow.graph import Graph
from ebbflow.durable.store import local_path
from ebbflow.errors import NotACheckpoint, TypeMismatch, UnknownOption, ZoneDiffers, did_you_mean
from ebbflow.limits import WORKERS
from ebbflow.runtime.spark.cluster import SparkCluster, parallelism
from ebbflow.runtime.spark.runtime import SparkRuntime
from ebbflow.runtime.spark.session import check_session


def on(spark: Any, shards: int | None = None) -> Callable[..., SparkRuntime]:
    """What makes the runtime of a program in this session of Spark's."""
    check_session(spark)
    if shards is not None and (isinstance(shards, bool) or not isinstance(shards, int)):
        raise TypeMismatch(f"shards is a number, 1 to {WORKERS}, not {shards!r:.60}.", hint="run(spark, shards=8)")
    count = min(WORKERS, max(1, 2 * parallelism(spark))) if shards is None else shards

    def make(
        graph: Graph, workers: int = 1, pool: Pool | None = None, checkpoint: object = None, **options: Any
    ) -> Any:
        if workers != 1:
            raise UnknownOption(
                "on Spark a program has shards rather than workers.", hint=f"run(spark, shards={workers})"
            )
        for option in options:
            if option not in SparkRuntime.OPTIONS:
                raise UnknownOption(
                    f'run on Spark has no option "{option}".',
                    hint=did_you_mean(option, ["shards", "history", "checkpoint", *SparkRuntime.OPTIONS])
                    or "It has shards=, history= and checkpoint=.",
                )
        root = os.path.abspath(local_path(checkpoint)) if checkpoint is not None else temporary(spark)
        runtime = SparkRuntime(graph, SparkCluster(spark), root, count, pool, durable=checkpoint is not None, **options)
        if checkpoint is None:
            runtime.release = weakref.finalize(runtime, shutil.rmtree, root, True)
        return runtime

    return make


def zone_for(spark: Any, graph: Graph) -> str:
    """The zone of Spark's session, whose clocks a program reads there.

    One that states another is refused: what Spark itself makes of text and of clocks, before rows come in and after
    they went out, would be of its session's zone.
    """
    name = str(spark.conf.get("spark.sql.session.timeZone"))
    found = checked(name)
    if graph.timezone is not None and not same(checked(graph.timezone), found):
        raise ZoneDiffers(
            f"the program states the time zone {graph.timezone}, and the Spark session has {name}.",
            hint=f'spark.conf.set("spark.sql.session.timeZone", "{graph.timezone}"), or leave out timezone= and the '
            "session's zone counts.",
        )
    return found or "UTC"


def temporary(spark: Any) -> str:
    """A directory for state that goes with the session."""
    master = str(spark.conf.get("spark.master", "local"))
    if not master.startswith("local"):
        raise NotACheckpoint(
            "on a cluster the state of a program lies in a directory that all its machines share, and none was given.",
            hint='run(spark, checkpoint="/shared/place")',
        )
    root = tempfile.mkdtemp(prefix="ebbflow-")
    os.chmod(root, 0o700)
    return root
