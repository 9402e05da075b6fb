"""A claim: what a program computes is what it means, at every time, however its input was cut.

Rule: a claim is put to every runtime, at every width of time it names, over histories that Hypothesis makes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import HealthCheck, given, settings

from ebbflow.columns.schema import LONG, STRING, Schema, Type, array_of
from tests.meaning.histories import Step, histories
from tests.meaning.programs import DOMAINS, PAIR, Sketch
from tests.meaning.runtimes import ASKED, FEW_HISTORIES, ON_SPARK, RUNTIMES, judge

COORDINATES = ("time", "valid", "known")
SMALL = {LONG: [0, 1, 2], STRING: ["", "a", "ab", "b", "é"]}
SMALL[array_of(STRING)] = [(), ("a",), ("b", None, "a"), ("a", "a")]


def domain(type: Type, nulls: bool) -> list:
    return SMALL.get(type, DOMAINS.get(type, [])) + ([None] if nulls else [])


def claim(
    schemas: dict[str, Schema] | None = None,
    widths: tuple[int, ...] = (1, 2),
    examples: int = 12,
    side: int = 3,
    nulls: bool = False,
    runtimes: Sequence[str] = (*ASKED, *ON_SPARK),
) -> Callable:
    """Makes a test of a function that sketches a program: given a sketch and its inputs, it names the output."""
    schemas = schemas or {"x": PAIR, "y": PAIR}

    def make(program: Callable) -> Callable:
        @pytest.mark.parametrize("runtime", runtimes)
        @pytest.mark.parametrize("width", widths, ids="{} wide".format)
        def test(runtime: str, width: int) -> None:
            s = Sketch(*COORDINATES[:width])
            s.output("out", program(s, *(s.input(name, schema) for name, schema in schemas.items())))
            inputs = {name: [domain(t, nulls) for t in schema.types] for name, schema in schemas.items()}

            @settings(
                max_examples=2 if runtime in FEW_HISTORIES else examples if runtime == "local-1" else examples // 2,
                deadline=None,
                derandomize=True,
                database=None,
                suppress_health_check=list(HealthCheck),
            )
            @given(histories(inputs, width, side))
            def holds(steps: list[Step]) -> None:
                judge(RUNTIMES[runtime], s.graph, steps)

            holds()

        test.__name__, test.__doc__ = program.__name__, program.__doc__
        return test

    return make
