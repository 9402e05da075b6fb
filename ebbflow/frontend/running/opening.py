"""The beginning of a session, from a program and the options of `run`.

The options are looked at first, then inputs, runtime and outputs are made in this order, and a session that is kept
finds what an earlier process left. Rows that a program has from its beginning are its first input.

Rule: an opening that raises leaves no runtime behind.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from ebbflow.columns.zones import checked
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.zoned import zoned
from ebbflow.errors import NoKey, TypeMismatch, UnknownOption, did_you_mean
from ebbflow.frontend.plain import plain
from ebbflow.frontend.running import results, stepping
from ebbflow.frontend.running.input_buffer import InputBuffer
from ebbflow.frontend.running.intake import TextIds
from ebbflow.frontend.running.notation import listed, whole
from ebbflow.frontend.running.persistence import Persistence
from ebbflow.frontend.running.standing import Standing
from ebbflow.native.kernel import compile_all
from ebbflow.runtime.contract import Runtime
from ebbflow.runtime.runtimes import runtime_named

UTC = "UTC"


class Program(Protocol):
    """What a session needs of a Dataflow."""

    graph: Graph
    _leaves: dict[str, Any]  # inputs that are tables of Spark's


def opened(
    flow: Program,
    workers: int,
    checkpoint: object,
    history: int | str | None,
    runtime: Callable[..., Runtime] | None,
    timezone: str | None,
    options: dict[str, Any],
) -> Standing:
    """A session's standing at its beginning, or where an earlier process left it."""
    compile_all()  # the kernels load when a program runs, not when one is written
    from ebbflow.columns.text_pool import Pool

    _refuse_numbers(workers, history)
    make, options = _chosen(runtime, checkpoint, options)
    here = Standing(flow.graph, zoned(flow.graph, checked(timezone or flow.graph.timezone or UTC)), history, Pool())
    _make_inputs(here, flow)
    here.runtime = make(here.graph, workers=workers, pool=here.pool, **options)
    try:
        _connect(here)
        stepping.feed_first(here)
    except BaseException:
        here.runtime.close()
        raise
    return here


def _refuse_numbers(workers: object, history: object) -> None:
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise TypeMismatch(
            f"workers is a number of threads, 1 or more, not {plain(repr(workers))[:60]}.", hint="run(workers=2)"
        )
    how_far = 0 if history is None or (isinstance(history, str) and history == "all") else whole(history)
    if how_far is None or how_far < 0:
        raise TypeMismatch(
            f"history says how far back snapshots reach, not {plain(history)}.",
            hint='Leave it out, or write run(history="all") or run(history=1000), a number of time units.',
        )


def _chosen(
    runtime: Callable[..., Runtime] | None, checkpoint: object, options: dict[str, Any]
) -> tuple[Callable[..., Runtime], dict[str, Any]]:
    """Who makes the runtime, and with which options."""
    if runtime is None:
        runtime = chosen = runtime_named("local" if checkpoint is None else "durable")
        for option in options:
            if option not in chosen.OPTIONS:
                known = ["workers", "history", "checkpoint", *chosen.OPTIONS]
                raise UnknownOption(
                    f'run has no option "{plain(option)}".',
                    hint=did_you_mean(option, known) or "It has workers=, history= and checkpoint=.",
                )
        if checkpoint is None:
            options = {**options, "glancing": True}
    return runtime, options if checkpoint is None else {**options, "checkpoint": checkpoint}


def _make_inputs(here: Standing, flow: Program) -> None:
    coordinates, ids = here.coordinates, TextIds(here.pool)
    for node in here.graph.nodes:
        if isinstance(node, n.Input):
            if node.key and len(coordinates) > 1:
                raise NoKey(
                    f'the input "{plain(node.name)}" has a key, and this flow\'s times have {len(coordinates)} '
                    f"coordinates ({listed(coordinates)}); rows are replaced by key along one coordinate only.",
                    hint="Leave out key=, and delete the row that is replaced.",
                )
            here.inputs[node.name] = InputBuffer(node, coordinates, here.pool, ids.id_of)
            if node.rows is not None:
                here.constants[node.name] = node.rows
    here.tables = {name: leaf for name, leaf in flow._leaves.items() if not leaf.is_streaming}


def _connect(here: Standing) -> None:
    """Inputs and outputs with the runtime, and with what is kept of them."""
    runtime, width = here.runtime, len(here.coordinates)
    for name, columns in runtime.text_predicates.items():
        here.inputs[name].answer(columns)
    runtime.guard = partial(results.refuse_overflow, here)
    moments = runtime.moments if width == 1 else None
    here.advance_moment = moments.advance_moment if moments is not None else None
    here.stages = runtime.staging is not None
    for node in here.graph.nodes:
        if isinstance(node, n.Output):
            results.show(here, node, ((0,) * width,), ((0,) * width,))
    if runtime.keeper is not None:
        here.persistence = Persistence(runtime.keeper, here.inputs, here.outputs, width)
