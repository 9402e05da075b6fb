"""Hosts at fixed addresses, and a program with a loop to run on them."""

from __future__ import annotations

import ebbflow as ebb
from ebbflow.columns.text_pool import Pool
from ebbflow.durable.image import Pages
from ebbflow.engine.host import Host

RESERVE = 1 << 30
BASE = 0x5100_0000_0000


def reach_flow() -> ebb.Dataflow:
    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long, dst long")
    start = flow.input("roots", "root long").select("root", node="root")
    step = lambda reach: reach.join(edges, on={"node": "src"}).select("root", node="dst").union(start).distinct()
    flow.output("reach", start.iterate(step))
    return flow


def host_of(graph, workers=1, base=BASE, pool=None, **options) -> Host:
    return Host(graph, workers, pool or Pool(), reserve=RESERVE, base=base, **options)


def close(host: Host) -> None:
    host.close()
    for worker in host.workers:
        worker.heap.close()


def bytes_of(worker) -> bytes:
    """All that is written of a worker, however it got there."""
    delta = Pages(worker).delta()
    return delta.words.tobytes() + delta.starts.tobytes() + delta.beside.tobytes() + delta.cleared.tobytes()
