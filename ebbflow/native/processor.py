"""Processor: which machine code may run on this machine.

Code that was compiled here uses every instruction the processor has, so it is valid for this processor only. Code that
is built into a wheel is compiled for a *level*, a set of instructions that many processors share.

Rule: a level is listed only if the processor has every instruction of it.
"""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
LEVELS = {
    "x86-64-v2": {"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"},
    "x86-64-v3": {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"},
}
"""The levels that wheels are built for, lowest first: what each adds to the one before it, in Linux's words."""
_TELLING = ("vendor_id", "cpu family", "model", "flags", "CPU implementer", "CPU part", "CPU variant", "Features")


@cache
def identity() -> str:
    """What tells this kind of processor from others."""
    told = _told()
    if told:
        return repr([platform.machine(), sorted(told.items())])
    import llvmlite.binding as ll  # it takes 100 MB, and is needed only where the system does not tell

    return repr([ll.get_process_triple(), ll.get_host_cpu_name(), ll.get_host_cpu_features().flatten()])


@cache
def levels() -> list[str]:
    """The levels whose code runs here, the highest first."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return []
    has = set(_told().get("flags", "").split())
    found: list[str] = []
    for level, needed in LEVELS.items():
        if not needed <= has:
            break
        found.insert(0, level)
    return found


@cache
def _told() -> dict[str, str]:
    """What the system says of its first processor; nothing where it does not."""
    try:
        first = CPUINFO.read_text().split("\n\n")[0]
    except OSError:
        return {}
    lines = [line.partition(":") for line in first.splitlines()]
    told = {name.strip(): value.strip() for name, _, value in lines}
    return {name: told[name] for name in _TELLING if name in told}
