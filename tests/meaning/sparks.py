"""Spark's runtime as one that can be asked: a directory of its own that goes when it is closed."""

from __future__ import annotations

import shutil
import tempfile

from ebbflow.columns.text_pool import Pool
from ebbflow.dataflow.graph import Graph
from ebbflow.runtime.spark.cluster import SparkCluster
from ebbflow.runtime.spark.runtime import SparkRuntime
from tests import parts
from tests.simulated import RESERVE, Twice, scratch


def twice(graph: Graph, pool: Pool, **options) -> SparkRuntime:
    cluster = Twice()
    runtime = made(graph, pool, cluster, **options)
    remove = runtime.release

    def release() -> None:
        cluster.process.forget()
        remove()

    runtime.release = release
    return runtime


def real(graph: Graph, pool: Pool, **options) -> SparkRuntime:
    return made(graph, pool, SparkCluster(parts.session()), **options)


def made(graph: Graph, pool: Pool, cluster, **options) -> SparkRuntime:
    root = tempfile.mkdtemp(prefix="ebbflow-", dir=scratch())
    runtime = SparkRuntime(graph, cluster, root, pool=pool, reserve=RESERVE, **options)
    runtime.release = lambda: shutil.rmtree(root, ignore_errors=True)
    return runtime
