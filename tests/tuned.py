"""Sessions with sizes of the engine's own, which people cannot set: the door for tests."""

from __future__ import annotations

from typing import Any

import ebbflow as ebb

PUBLIC = ("workers", "checkpoint", "history")


def tuned(flow: ebb.Dataflow, **options: Any) -> ebb.Session:
    """`flow.run(...)`, with options of the runtime among its own."""
    public = {name: options.pop(name) for name in PUBLIC if name in options}
    return flow._run_tuned(options, **public)
