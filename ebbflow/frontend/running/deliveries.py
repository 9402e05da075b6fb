"""Deliveries: micro-batches of a stream, each taken in whole and once.

A delivery is a step of its own. It is known by its query and number and by its rows, so that one that comes again after
a crash is answered and not taken in; the rules stand in `ebbflow.runtime.spark.delivery`.

Rule: after a delivery returned it is durable; one that raised has changed nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ebbflow.errors import DeliveryRefused, TypeMismatch
from ebbflow.frontend.running import on_spark, stepping
from ebbflow.frontend.running.output_log import END, Antichain
from ebbflow.frontend.running.standing import Standing
from ebbflow.runtime.contract import Staging
from ebbflow.runtime.spark.delivery import Delivery, judge


def deliver(
    here: Standing,
    frames: Mapping[str, Any],
    query_id: str,
    batch_id: int,
    frontiers: Any,
    most: int | None = None,
) -> Any:
    """Take in a micro-batch, whole and once, and make it last; `ebbflow.runtime.spark.delivery` has the rules.

    most: that its frames have no more rows than this, if someone has counted.
    """
    runtime: Staging | None = here.runtime.staging
    if runtime is None:
        raise TypeMismatch("deliver belongs to a program that runs on Spark.", hint="flow.run(spark, checkpoint=...)")
    theirs = [given for name, given in here.inputs.items() if name not in here.constants]
    if runtime.since_step or not all(given.is_empty for given in theirs):
        raise DeliveryRefused(
            f"batch {batch_id} comes while other rows wait that were given since the last step.",
            hint="A delivery is a step of its own: commit() or discard() what was given before it.",
        )
    width = len(here.coordinates)
    names = ["_time"] if width == 1 else [f"_time{i}" for i in range(width)]
    told = []
    for name, frame in frames.items():
        given = here.input_named("deliver", name)
        diff = "_diff" if "_diff" in frame.columns else 1
        facts, columns = on_spark.told_of(given, "deliver", frame, names if names[0] in frame.columns else None, diff)
        told.append((facts, on_spark.in_types(on_spark.only(frame, columns), given.schema)))
    repeats = runtime.delivery is not None and (query_id, batch_id) == (
        runtime.delivery["query"],
        runtime.delivery["batch"],
    )
    if not repeats:
        judge(runtime.delivery, query_id, batch_id, 0, "")  # before any work is done
    else:
        for facts, _ in told:
            facts["late"] = [[-END] * width]  # it was on time when it came first
    keyed = [name for name in frames if here.inputs[name].key]
    staged = runtime.stage(told, keyed, most) if told else None
    count, hash_ = (staged.count, staged.hash) if staged is not None else (0, "0" * 32)
    if judge(runtime.delivery, query_id, batch_id, count, hash_):
        return Delivery(query_id, batch_id, count, hash_, runtime.step, True)
    if staged is not None:
        on_spark.take_in(here, staged)
    before, state = runtime.delivery, runtime.state
    runtime.delivery = {"query": query_id, "batch": batch_id, "rows": count, "hash": hash_}
    try:
        stepping.work(here, _targets(here, staged, frontiers))
    except BaseException:
        if runtime.state is state:  # an interruption may come when the step counts already
            runtime.delivery = before
            stepping.drop_given(here)  # rows of earlier deliveries, which count, go on waiting
        raise
    return Delivery(query_id, batch_id, count, hash_, runtime.step, False)


def _targets(here: Standing, staged: Any, frontiers: Any) -> dict[str, Antichain]:
    """How far the inputs go with a delivery: where they are told to, or past its last time."""
    if frontiers is not None:
        return {name: here.as_frontier(list(value)) for name, value in frontiers.items()}
    last = [given.open_time("deliver") for given in here.inputs.values() if given.frontier]
    if staged is not None:
        last += [tuple(times.max(axis=0).tolist()) for blocks in staged.rows.values() for (_, times, _), _ in blocks]
        last += [tuple(ref["most"]) for refs in staged.files.values() for ref in refs]
    top = tuple(map(max, *last)) if len(last) > 1 else last[0]
    target: Antichain = ((*top[:-1], min(top[-1] + 1, END)),)
    return {name: target for name, given in here.inputs.items() if given.frontier}
