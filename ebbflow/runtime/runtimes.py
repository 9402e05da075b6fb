"""The runtimes there are, by name.

Rule: this is the one list of them; a runtime is loaded when it is asked for, so that writing a program loads none.
"""

from __future__ import annotations

import importlib
from typing import Any

RUNTIMES = {
    "local": "ebbflow.runtime.local.LocalRuntime",
    "durable": "ebbflow.runtime.kept_local.DurableRuntime",
    "spark": "ebbflow.runtime.spark.opening.on",  # makes one in a session of Spark's
    "oracle": "ebbflow.runtime.oracle.runtime.OracleRuntime",
}


def runtime_named(name: str) -> Any:
    """The class of a runtime, or what makes one; the engine, or Spark, is loaded when it is asked for."""
    module, _, kind = RUNTIMES[name].rpartition(".")
    return getattr(importlib.import_module(module), kind)
