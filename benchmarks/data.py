"""The tables of TPC-H, made when they are first wanted and kept in the user's cache.

Each scale stands once as text, which the Rust peer reads, and once as Parquet, which we read; both come from one
generator and hold the same rows.

Rule: a directory is there whole or not at all.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.crate import cache

TABLES = "lineitem,orders,customer"
PACKAGE = "tpchgen-cli>=4,<5"


def tpch(scale: str, say: Callable[[str], None]) -> Path | str:
    """The directory with the tables of a scale; or a sentence saying why there is none."""
    place = cache() / "tpch" / f"sf{scale}"
    if place.is_dir():
        return place
    tool = _tool(say)
    if tool is None:
        return "tpchgen-cli could not be installed, so TPC-H is left out. `pip install tpchgen-cli` brings it."
    say(f"making the tables of TPC-H at scale {scale}, once")
    unfinished = place.with_name(f"{place.name}.{os.getpid()}")
    try:
        for form in ("tbl", "parquet"):
            subprocess.run(
                [tool, form, "-s", scale, f"--tables={TABLES}", "-o", str(unfinished)],
                check=True,
                capture_output=True,
            )
        unfinished.rename(place)
    except (OSError, subprocess.CalledProcessError) as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        return f"the tables of TPC-H could not be made, so it is left out: {error}"
    return place


def _tool(say: Callable[[str], None]) -> str | None:
    """tpchgen-cli: on the path, or installed into the cache."""
    found = shutil.which("tpchgen-cli")
    if found:
        return found
    place = cache() / "tpch" / "tool"
    tool = place / "bin" / "tpchgen-cli"
    if not tool.is_file():
        say("installing tpchgen-cli into the cache, once (4 MB)")
        if shutil.which("uv"):
            command = ["uv", "pip", "install", "--no-deps", "--target", str(place), PACKAGE]
        else:
            command = [sys.executable, "-m", "pip", "install", "--no-deps", "--target", str(place), PACKAGE]
        if subprocess.run(command, capture_output=True).returncode:
            return None
    return str(tool) if tool.is_file() else None
