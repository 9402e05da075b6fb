"""Tables by the name of their output: what a commit or a computation gives, as a dict that can be looked at.

Rule: it is a dict; only how it is shown, and what it says of a name that it lacks, is its own.
"""

from __future__ import annotations

import html
from typing import NoReturn

from ebbflow.errors import UnknownOutput, did_you_mean
from ebbflow.frontend.plain import plain
from ebbflow.frontend.running.notation import listed
from ebbflow.frontend.running.table import Table

ONE_WITHOUT_CHANGES = (
    "Outputs are declared by flow.output(name, collection); one with changes=False has a snapshot only."
)


class Tables(dict[str, Table]):
    """A table for each output.

    >>> import ebbflow as ebb
    >>> flow = ebb.Dataflow()
    >>> edges = flow.input("edges", "src long, dst long")
    >>> flow.output("copy", edges)
    >>> flow.output("loops", edges.filter(edges.src == edges.dst))
    >>> flow.compute(edges=[(1, 2)])
    copy:
    ┌─────┬─────┬────────┐
    │ src │ dst │ _count │
    ├─────┼─────┼────────┤
    │   1 │   2 │      1 │
    └─────┴─────┴────────┘
    loops: no rows
    """

    def __missing__(self, name: object) -> NoReturn:
        raise UnknownOutput(
            f'there is no table "{plain(name)}"; there are: {listed(list(self))}.',
            hint=(did_you_mean(name, list(self)) if isinstance(name, str) else None) or ONE_WITHOUT_CHANGES,
        )

    def __repr__(self) -> str:
        return "\n".join(f"{shown}:\n{table}" if len(table) else f"{shown}: no rows" for shown, table in self._shown())

    def _repr_html_(self) -> str:
        shown = [(html.escape(name), table) for name, table in self._shown()]
        return "".join(
            f"<p>{name}:</p>{table._repr_html_()}" if len(table) else f"<p>{name}: no rows</p>" for name, table in shown
        )

    def _shown(self) -> list[tuple[str, Table]]:
        return [(plain(name), table) for name, table in self.items()]
