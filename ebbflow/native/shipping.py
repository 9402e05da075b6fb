"""Shipping: bundles of kernels that are built into a wheel, so that who installs it compiles nothing.

Each is compiled for a level of instructions (see `processor`) and found by a digest of all sources that are compiled
into it. It holds an image only: what cannot be loaded as an image is compiled where it is installed. They are built by
`make wheel`.

Rule: what is shipped is used only for the sources it was compiled from, on a processor that has all its instructions,
and only where nothing was compiled for this very processor.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ebbflow.native import bundle, processor
from ebbflow.native.kernel_cache import PACKAGE, SHAPING, get, kernel_sources, put, source
from ebbflow.native.memory import CHECKED

SHIPPED = PACKAGE / "native" / "shipped"
NO_OTHER_CODE = {"NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS", "NUMBA_THREADING_LAYER"}
"""What may be said to Numba without asking for other code than is shipped."""
_COMPILE = "from ebbflow.native.kernel import compile_all; from ebbflow.native.kernel_cache import bundle_path; " \
    "compile_all(lambda done, total: None); print(bundle_path())"  # fmt: skip


def file_name(level: str) -> str:
    """The name of the bundle of just these sources for a level."""
    shaping = [source(PACKAGE / "native" / f"{name}.py") for name in SHAPING]
    return f"{level}-{hashlib.sha256(repr([shaping, kernel_sources()]).encode()).hexdigest()[:24]}.bundle"


def usable() -> Iterator[Path]:
    """The bundles of this installation that may run here, for the highest level first."""
    is_tuned = any(name.startswith("NUMBA_") and name not in NO_OTHER_CODE for name in os.environ)
    if CHECKED or is_tuned or not SHIPPED.is_dir() or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return
    for level in processor.levels():
        path = SHIPPED / file_name(level)
        if path.is_file():
            yield path


def shipped() -> bundle.Bundle | None:
    """The first of them that can be loaded, loaded; None where there is none."""
    return next((found for path in usable() if (found := bundle.read(path)) is not None), None)


def build(place: Path, level: str) -> Path:
    """Compile all kernels for a level, and write their bundle to a directory."""
    with tempfile.TemporaryDirectory() as cache:
        env = {**os.environ, "NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": "", "EBBFLOW_CACHE_DIR": cache}
        env["PYTHONPATH"] = os.pathsep.join([str(PACKAGE.parent), *filter(None, [env.get("PYTHONPATH")])])
        done = subprocess.run([sys.executable, "-c", _COMPILE], env=env, check=True, capture_output=True, text=True)
        data = get(Path(done.stdout.split()[-1]))
    image = None if data is None else bundle.image_only(data)
    if image is None:
        raise SystemExit(f"No image could be made of the kernels for {level}: they are compiled where they are used.")
    path = place / file_name(level)
    put(path, image)
    return path
