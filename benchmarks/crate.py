"""A peer written in Rust: built where cargo is found, kept, and run as a command.

It is built in the user's cache from a copy of its source, so that checkouts share it and none gets files of cargo's;
it is built again only where the source changed.

Rule: without cargo there is no peer, and that is said; nothing is installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PEERS = Path(__file__).resolve().parent / "peers"


def cache() -> Path:
    """Where the benchmarks keep what is dear to make: the peers and the data."""
    given = os.environ.get("EBBFLOW_BENCH_CACHE")
    if given:
        return Path(given)
    users = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(users) / "ebbflow" / "bench"


def cargo() -> str | None:
    beside = Path.home() / ".cargo" / "bin" / "cargo"
    return shutil.which("cargo") or (str(beside) if beside.is_file() else None)


@dataclass(frozen=True)
class Crate:
    name: str  # where its source lies among the peers, and what was built of it in the cache
    called: str
    package: str  # its own programs, as cargo names them
    crates: int  # about how many are compiled the first time

    def build(self, say: Callable[[str], None], jobs: int | None = None) -> str | None:
        """Build what is not built; None, or a sentence saying why there is no peer."""
        tool = cargo()
        if tool is None:
            return f"cargo was not found, so ours run without {self.called}. https://rustup.rs installs it."
        place = self.copied()
        command = [tool, "build", "--release", *(["-j", str(jobs)] if jobs else [])]
        environment = os.environ | {"CARGO_TARGET_DIR": str(cache() / self.name), "CARGO_TERM_COLOR": "never"}
        with subprocess.Popen(
            command, cwd=place, env=environment, stderr=subprocess.PIPE, text=True, errors="replace"
        ) as running:
            assert running.stderr is not None
            compiled, last = 0, ""
            for line in running.stderr:
                last = line.strip() or last
                if line.strip().startswith("Compiling"):
                    compiled += 1
                    is_own = f" {self.package} " in line
                    what = (
                        "its own programs, the longer half" if is_own else f"{compiled} of about {self.crates} crates"
                    )
                    say(f"building {self.called}, once (about ten minutes): {what}")
        if running.returncode:
            return f"{self.called} was not built, so ours run without it: {last}"
        return None

    def copied(self) -> Path:
        """The source in the cache; files that are the same keep their date, by which cargo knows them."""
        source, place = PEERS / self.name, cache() / f"{self.name}-source"
        for file in [source / "Cargo.toml", *sorted(source.rglob("*.rs"))]:
            there = place / file.relative_to(source)
            if not there.is_file() or there.read_bytes() != file.read_bytes():
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, there)
        return place

    def command(self, arguments: tuple[str, ...]) -> list[str]:
        return [str(cache() / self.name / "release" / arguments[0]), *arguments[1:]]
