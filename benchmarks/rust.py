"""The Rust original as a peer: built where cargo is found, run like a workload, its result in our words.

It is built in the user's cache from a copy of its source, so that checkouts share it and none gets files of cargo's;
it is built again only where the source changed.

Rule: without cargo there is no peer, and that is said; nothing is installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parent / "peers" / "rust"
CRATES = 60  # about how many are compiled the first time


def cache() -> Path:
    """Where the benchmarks keep what is dear to make: the peer and the data."""
    given = os.environ.get("EBBFLOW_BENCH_CACHE")
    if given:
        return Path(given)
    users = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(users) / "ebbflow" / "bench"


def cargo() -> str | None:
    beside = Path.home() / ".cargo" / "bin" / "cargo"
    return shutil.which("cargo") or (str(beside) if beside.is_file() else None)


def build(say: Callable[[str], None], jobs: int | None = None) -> str | None:
    """Build what is not built; None, or a sentence saying why there is no peer."""
    tool = cargo()
    if tool is None:
        return "cargo was not found, so ours run alone. https://rustup.rs installs it."
    place = copied()
    command = [tool, "build", "--release", *(["-j", str(jobs)] if jobs else [])]
    environment = os.environ | {"CARGO_TARGET_DIR": str(cache() / "rust"), "CARGO_TERM_COLOR": "never"}
    with subprocess.Popen(
        command, cwd=place, env=environment, stderr=subprocess.PIPE, text=True, errors="replace"
    ) as running:
        assert running.stderr is not None
        compiled, last = 0, ""
        for line in running.stderr:
            last = line.strip() or last
            if line.strip().startswith("Compiling"):
                compiled += 1
                what = (
                    "its own programs, the longer half"
                    if " rust-dd " in line
                    else f"{compiled} of about {CRATES} crates"
                )
                say(f"building the Rust peer, once (about ten minutes): {what}")
    if running.returncode:
        return f"the Rust peer was not built, so ours run alone: {last}"
    return None


def copied() -> Path:
    """The source in the cache; files that are the same keep their date, by which cargo knows them."""
    place = cache() / "rust-source"
    for file in [SOURCE / "Cargo.toml", *sorted(SOURCE.rglob("*.rs"))]:
        there = place / file.relative_to(SOURCE)
        if not there.is_file() or there.read_bytes() != file.read_bytes():
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, there)
    return place


def command(arguments: tuple[str, ...]) -> list[str]:
    return [str(cache() / "rust" / "release" / arguments[0]), *arguments[1:]]


def in_our_words(found: dict[str, Any]) -> dict[str, Any]:
    """The peer's result, under the names that our workloads use."""
    told: dict[str, Any] = {}
    if "ns_rounds" in found:
        told["us_per_time"] = sum(found["ns_rounds"]) / len(found["ns_rounds"]) / 1e3
    for theirs, ours in _SAME.items():
        if theirs in found:
            told[ours] = found[theirs]
    for theirs, ours in (("all", "steps"), ("first", "first_steps"), ("last", "last_steps"), ("lat", "steps")):
        if found.get(theirs):
            told[ours] = {name: found[theirs][f"{name}_us"] for name in ("p50", "p99", "max")}
    if "lat_orders" in found:
        told["steps"] = {name: found["lat_orders"][f"{name}_us"] for name in ("p50", "p99", "max")}
    if "first_steps" in told and found.get("rss_mb"):
        for share in ("p50", "p99"):
            told[f"drift_{share}"] = told["last_steps"][share] / told["first_steps"][share]
        told["memory_growth"] = found["rss_mb"][-1] / max(found["rss_mb"][0], 1)
    checks = {ours: found[theirs] for theirs, ours in _CHECKS.items() if theirs in found}
    if found.get("prog") == "q1":
        checks = {"updates": found["out_updates"], "result": sorted(_q1(line) for line in found["result"])}
    elif found.get("prog") == "q13":
        checks["result"] = sorted([str(orders), str(customers)] for orders, customers, _ in found["result"])
    if checks:
        told["checks"] = checks
    return told


def _q1(line: str) -> list[str]:
    """'AF qty=1 ext_cents=2 ... n=6 x1' as the columns of our report."""
    group, *sums = line.split()
    return [group[0], group[1], *(part.partition("=")[2] for part in sums[:-1])]


_SAME = {
    "us_per_time": "us_per_time",
    "load_s": "load_s",
    "secs": "s",
    "bytes_per_edge": "bytes_per_edge",
    "peak_mb": "peak_mb",
    "rss_load_mb": "resident_load_mb",
}
_CHECKS = {
    "out_updates": "updates",
    "out_updates_after_load": "later",
    "sum_diffs": "size",
    "check_final": "final",
    "check_times": "times",
}
