"""Standing: what a session holds, and every call looks at.

The session itself has only names and words for people; a class that knows what to say of a method it does not have
(`__getattr__`) takes three times as long to read an attribute, so all state stands here.

Rule: inputs and outputs are looked up here, by name, and whoever asks for what is not there is told what is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn

from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.zoned import follow
from ebbflow.errors import SessionClosed, UnknownInput, did_you_mean
from ebbflow.frontend.plain import plain
from ebbflow.frontend.running.input_buffer import InputBuffer
from ebbflow.frontend.running.notation import as_time, listed, whole
from ebbflow.frontend.running.output_log import END, Antichain, OutputLog
from ebbflow.frontend.running.persistence import Persistence
from ebbflow.frontend.running.table import Table
from ebbflow.runtime.contract import Runtime
from ebbflow.times.frontier import Time, antichain
from ebbflow.turns import Turns

if TYPE_CHECKING:  # kernels load when a program runs
    from ebbflow.columns.text_pool import Pool

Notice = tuple[Callable[[Table, list[Time]], object], Table, list[Time]]


class Standing:
    """The state of a session."""

    __slots__ = (
        "advance_moment",
        "constants",
        "coordinates",
        "graph",
        "history",
        "inputs",
        "is_closed",
        "is_pulled",
        "is_restless",
        "notices",
        "outputs",
        "persistence",
        "pool",
        "refused",
        "runtime",
        "stages",
        "steps",
        "tables",
        "telling",
        "turns",
        "written",
    )

    def __init__(self, written: Graph, graph: Graph, history: int | str | None, pool: Pool):
        self.written, self.graph, self.history, self.pool = written, graph, history, pool  # graph: with its time zone
        self.coordinates = tuple(graph.coordinates)
        self.runtime: Runtime
        self.inputs: dict[str, InputBuffer] = {}
        self.outputs: dict[str, OutputLog] = {}
        self.constants: dict[str, Any] = {}  # rows of inputs that never change
        self.tables: dict[str, Any] = {}  # of Spark's: what they hold is there from the first time on
        self.persistence: Persistence | None = None
        self.refused: dict[str, Antichain] = {}  # where the last step would have led, if it was refused
        self.turns = Turns()
        self.advance_moment: Callable[..., int] | None = None  # of a runtime that takes rows of one time at once
        self.is_closed = False
        self.is_pulled = False  # whether it is known that the runtime has nothing to show that no output has
        self.steps = 0  # how many were begun in which the runtime may have got something to show
        self.is_restless = False  # whether the last step left something to put in order
        self.stages = False  # whether the runtime takes frames of Spark
        self.notices: deque[Notice] = deque()  # what subscribers have not been told yet, in the order of the steps
        self.telling = Lock()  # of the thread that tells them

    def input_named(self, verb: str, name: str) -> InputBuffer:
        """An input that still takes rows."""
        given = self.inputs.get(name) if isinstance(name, str) else None
        if given is None:
            if isinstance(name, str) and name in self.outputs:
                hint: str | None = f'"{plain(name)}" is an output: it follows from the inputs.'
            elif any(isinstance(node, n.Input) and node.name == name for node in self.written.nodes):
                hint = "It was declared after the session began: start another with flow.run()."
            else:
                hint = did_you_mean(name, list(self.inputs)) or "Inputs are declared with flow.input(name, schema)."
            raise UnknownInput(
                f'{verb} looks for the input "{plain(name)}"; this flow has: {listed(list(self.inputs))}.', hint=hint
            )
        if self.is_closed or not given.frontier:
            self.refuse_closed(verb, f'the input "{plain(name)}"')
        return given

    def refuse_closed(self, verb: str, what: str) -> NoReturn:
        whose = "the session" if self.is_closed else what
        raise SessionClosed(
            f"{verb} comes after {whose} was closed, which said that no more input follows.",
            hint="Results stay readable. Start another session with flow.run() for more input.",
        )

    def declared(self, name: object) -> n.Output | None:
        """An output of the program as it is now, which may have been given more since it began to run."""
        follow(self.graph, self.written)
        return next((node for node in self.graph.nodes if isinstance(node, n.Output) and node.name == name), None)

    def begin_to_show(self) -> None:
        """From here on the runtime may have something to show that no output has."""
        self.is_pulled = False
        self.steps += 1

    def as_frontier(self, value: Any, verb: str = "advance_to") -> Antichain:
        """A frontier as a person writes it: a time, or several."""
        if type(value) is int and len(self.coordinates) == 1 and -END <= value <= END:
            return ((value,),)
        several = isinstance(value, (list, set, frozenset)) and not (
            len(self.coordinates) > 1 and len(value) > 0 and all(whole(part) is not None for part in value)
        )
        return antichain(as_time(verb, part, self.coordinates) for part in (value if several else [value]))
