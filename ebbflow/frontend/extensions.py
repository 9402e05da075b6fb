"""Methods of a Dataflow or a session whose work is done by a layer above.

`flow.stream`, `flow.sql`, `flow.dataframe` and `explore` belong to the interface, and need packages that not every
program has.  The package's `__init__` says where each is found; it is loaded when it is first called.

Rule: a layer below names no module above; it asks for an extension by what it does.
"""

from __future__ import annotations

import importlib
from typing import Any

_offered: dict[str, str] = {}


def offer(**places: str) -> None:
    """Say in which module of which name an extension is: `sql="ebbflow.relational.sql.collection_of"`."""
    _offered.update(places)


def extension(name: str) -> Any:
    module, _, function = _offered[name].rpartition(".")
    return getattr(importlib.import_module(module), function)
