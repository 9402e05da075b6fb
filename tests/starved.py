"""Memory that runs out, in sessions: `python -m tests.starved --workers 2 --cases 100`.

Random programs and a few stories that load much are run with so little memory that every step is refused again and
again.  The cases are judged by the oracle; the stories by a session beside them that has memory enough.

Rule: a hang is a failure: after --patience seconds in one case the process says where its threads are, and ends.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from random import Random
from typing import Any

import ebbflow as ebb
from ebbflow.errors import OutOfMemory
from tests.meaning.cases import make_case
from tests.meaning.starving import FIRED, PLACES, Starving, squeezed, watch
from tests.tuned import tuned

Rows = list[tuple]
Step = dict[str, list[tuple[Rows, int]]]  # by input: rows, and the diff of all of them


def reach() -> ebb.Dataflow:
    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long, dst long")
    flow.output("components", ebb.algorithms.connected_components(edges))
    flow.output("strong", ebb.algorithms.strongly_connected_components(edges))
    return flow


def shop() -> ebb.Dataflow:
    flow = ebb.Dataflow()
    sales = flow.input("sales", "item long, name string, price double, paid decimal(12,2)")
    items = flow.input("items", "item long, kind string")
    joined = sales.join(items, on="item")
    flow.output(
        "totals",
        joined.group_by("kind").agg(n=ebb.count(), worth=ebb.sum("price"), paid=ebb.sum("paid"), last=ebb.max("name")),
    )
    flow.output("names", sales.select("name").distinct())
    flow.output("best", sales.group_by("item").top(2, order_by="-price"))
    return flow


def edges_in(random: Random, nodes: int, count: int) -> Rows:
    return [(random.randrange(nodes), random.randrange(nodes)) for _ in range(count)]


def graph_steps(random: Random, size: int) -> Iterator[Step]:
    there: Rows = []
    for count in (size, 3, size // 3, 1):
        gone = random.sample(there, min(len(there), count // 2))
        new = edges_in(random, size, count)
        there = [*(Counter(there) - Counter(gone)).elements(), *new]
        yield {"edges": [(gone, -1), (new, 1)]}


def shop_steps(random: Random, size: int) -> Iterator[Step]:
    yield {"items": [([(item, f"kind {item % 7}") for item in range(size // 4)], 1)]}
    there: Rows = []
    for count in (size, 2, size // 2):
        gone = random.sample(there, min(len(there), count // 3))
        new = [
            (
                random.randrange(size // 4),
                f"name {random.randrange(count)}",
                random.random(),
                Decimal(random.randrange(9999)),
            )
            for _ in range(count)
        ]
        there = [*(Counter(there) - Counter(gone)).elements(), *new]
        yield {"sales": [(gone, -1), (new, 1)]}


STORIES: dict[str, tuple[Callable[[], ebb.Dataflow], Callable[[Random, int], Iterator[Step]], int, dict[str, Any]]] = {
    "a graph": (reach, graph_steps, 60, {}),
    "a graph, loaded": (reach, graph_steps, 1500, {"seal_rows": 64, "keep_records": 32}),
    "a shop": (shop, shop_steps, 200, {}),
    "a shop, loaded": (shop, shop_steps, 20_000, {"seal_rows": 512, "keep_records": 128}),
    "a shop, kept": (shop, shop_steps, 300, {"checkpoint": True}),
}


def workers_of(live: Any) -> list:
    local = getattr(live._runtime, "local", live._runtime)
    return [worker for part in local.parts for worker in part.host.workers]


def tell_story(name: str, workers: int, seed: int) -> None:
    """Go through the steps of a story beside a session that has memory enough."""
    make, steps, size, options = STORIES[name]
    starving = Starving(f"{name} {workers} {seed}")
    with tempfile.TemporaryDirectory() as place:
        if options.pop("checkpoint", None) or "kept" in name:
            options = {**options, "checkpoint": f"{place}/state"}
        live, twin = tuned(make(), workers=workers, **options), make().run()
        for worker in workers_of(live):
            watch(worker)
        outputs = list(live._outputs)
        for time, step in enumerate(steps(Random(f"{name} {seed}"), size)):
            for given, changes in step.items():
                for rows, diff in changes:
                    for session in (live, twin):
                        (session.insert if diff > 0 else session.delete)(given, rows, time=time)
            starved_step(live, time + 1, outputs, starving)
            twin.advance_to(time + 1)
            for output in outputs:
                found, right = (sorted(s.changes(output).rows()) for s in (live, twin))
                assert found == right, (name, workers, time, output)
        if "checkpoint" in options:
            live._release()
            live = tuned(make(), workers=workers, **options)
        for output in outputs:
            assert sorted(live.snapshot(output).rows()) == sorted(twin.snapshot(output).rows()), (name, output)
        live._release()
    FIRED["stories"] += 1


def starved_step(live: Any, time: int, outputs: list[str], starving: Starving) -> None:
    """A step with ever more memory, until it passes."""
    frontiers = {output: live.frontier(output) for output in outputs}
    for some, words, hides, times in starving.tries(workers_of(live)):
        with squeezed(some, words, hides):
            for _ in range(times):
                try:
                    live.advance_to(time)
                except OutOfMemory as error:
                    assert "does not hold what this step computes" in error.what, error
                    FIRED["faults"] += 1
                else:
                    return
                for output in outputs:
                    assert live.frontier(output) == frontiers[output]
                    assert live.changes(output).rows() == []
    live.advance_to(time)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.starved", description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cases", type=int, default=100, help="random programs, half of them with all rows sealed")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--stories", default="all", help="those whose name contains this; none: cases only")
    parser.add_argument("--patience", type=float, default=120, help="seconds after which a case counts as hanging")
    asked = parser.parse_args(arguments)
    for number in range(asked.first, asked.first + asked.cases):
        faulthandler.dump_traceback_later(asked.patience, exit=True)
        runtime = f"starved-{asked.workers}" + ("-sealed" if number % 2 else "")
        case, pool, right = make_case(asked.seed, number)
        try:
            case.check(runtime, pool, right)
        except BaseException:
            print(f"case {number} of seed {asked.seed} on {runtime}", file=sys.stderr)
            raise
        FIRED["cases"] += 1
    for name in STORIES:
        if asked.stories == "all" or asked.stories in name:
            faulthandler.dump_traceback_later(asked.patience, exit=True)
            tell_story(name, asked.workers, asked.seed)
    faulthandler.cancel_dump_traceback_later()
    print(json.dumps({**FIRED, "places": len(PLACES)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
