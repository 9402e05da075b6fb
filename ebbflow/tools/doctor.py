"""What this machine has: Python, the packages, Java, the place where kernels are kept.

Most first errors with a data tool are about its surroundings.  Each finding is one line; what is missing comes
with what it is needed for and how to get it.

Rule: looking changes nothing, and a package that is missing or broken is a finding, not a failure.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata

import ebbflow

NEEDED = ("numpy", "numba", "pyarrow", "rich", "click")
OPTIONAL = {"pyspark": "spark", "pandas": "spark", "sqlglot": "sql", "matplotlib": "plot"}
ALONE = ("pandas", "matplotlib")  # of use without the rest of the extra that brings it
OLDEST_JAVA = 17
TESTED = ("x86_64", "AMD64")


@dataclass(frozen=True)
class Finding:
    """`hint` says what to do; it is None where all is well or nothing is needed."""

    topic: str
    found: str
    hint: str | None = None


def examine() -> list[Finding]:
    """Everything, in the order a person would ask."""
    return [*surroundings(), kernels()]


def surroundings() -> list[Finding]:
    """What is found without loading any of it."""
    return [system(), python(), *packages(), java(), workers_python()]


def system() -> Finding:
    """What is tested is Linux; elsewhere it is said plainly what to expect."""
    name, machine = platform.system(), platform.machine()
    shown = f"{name} {platform.release()}, {machine}"
    if name == "Windows":
        return Finding("system", shown, "ebbflow does not run on Windows itself; it runs in WSL 2 (wsl --install).")
    if name != "Linux":
        return Finding(
            "system", shown, f"ebbflow is tested on Linux; on {name} it is not, and checkpoint= relies on Linux."
        )
    if machine not in TESTED:
        return Finding("system", shown, f"ebbflow is tested on {TESTED[0]}; on {machine} it is not.")
    return Finding("system", f"{shown}: tested")


def python() -> Finding:
    version = platform.python_version()
    hint = None if sys.version_info >= (3, 11) else "ebbflow needs Python 3.11 or newer."
    return Finding("Python", f"{version}, {sys.executable}", hint)


def packages() -> list[Finding]:
    found = [Finding("ebbflow", f"{ebbflow.__version__}, {os.path.dirname(ebbflow.__file__)}")]
    for name in NEEDED:
        version = version_of(name)
        hint = None if version else f"ebbflow needs {name}: pip install ebbflow brings it."
        found.append(Finding(name, version or "missing", hint))
    for name, extra in OPTIONAL.items():
        asked = name if name in ALONE else f'"ebbflow[{extra}]"'
        found.append(Finding(name, version_of(name) or f"not installed (pip install {asked} brings it)"))
    return found


def version_of(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def java() -> Finding:
    """Java as Spark would find it: JAVA_HOME first, then the PATH."""
    advice = (
        f"ebbflow's Spark parts need Java {OLDEST_JAVA} or newer. "
        "Debian/Ubuntu: apt-get install openjdk-17-jre-headless. Everything else runs without it."
    )
    home = os.environ.get("JAVA_HOME")
    program = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if program is None or not os.path.exists(program):
        return Finding("Java", "missing", advice)
    try:
        shown = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("Java", f"{program} does not answer: {error}", advice)
    version = java_version(shown.stderr + shown.stdout)
    if version is None:
        return Finding("Java", f"{program} tells no version", advice)
    return Finding("Java", f"{version}, {program}", None if version >= OLDEST_JAVA else advice)


def java_version(text: str) -> int | None:
    """The feature release in what `java -version` prints: 17 for "17.0.15", 8 for "1.8.0_402"."""
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(found.group(1)) if found else None


def workers_python() -> Finding:
    given = os.environ.get("PYSPARK_PYTHON")
    if given is None:
        return Finding("Spark's workers", "PYSPARK_PYTHON is not set; ebb.spark() sets it to this Python")
    if shutil.which(given) and os.path.realpath(shutil.which(given) or "") == os.path.realpath(sys.executable):
        return Finding("Spark's workers", f"{given}, this Python")
    return Finding(
        "Spark's workers",
        f"PYSPARK_PYTHON is {given}, another Python than this one",
        f"Unset PYSPARK_PYTHON, or set it to {sys.executable}.",
    )


def kernels() -> Finding:
    """Where compiled kernels are kept, and how much is there."""
    try:
        from ebbflow.native.kernel_cache import directory  # loads the code generator
        from ebbflow.native.shipping import usable
    except ImportError as error:
        return Finding(
            "kernels", f"the compiler does not load: {error}", "pip install ebbflow brings a numba that fits."
        )
    files = [path for path in directory().rglob("*") if path.is_file()]
    shipped = next(usable(), None)
    if not files and shipped is not None:
        return Finding("kernels", f"installed with ebbflow, for {shipped.name.rpartition('-')[0]}: nothing is compiled")
    if not files:
        return Finding("kernels", f"none kept yet in {directory()} (ebbflow warm compiles them)")
    size = sum(path.stat().st_size for path in files)
    return Finding("kernels", f"{len(files)} kept in {directory()}, {size / 1e6:.1f} MB")
