"""Build hook: compiled kernels are put into the wheel where they are asked for.

`make wheel` asks for them (EBBFLOW_WHEEL_KERNELS names the levels of instructions, or is 1 for all). Without it the
wheel is plain Python, and kernels are compiled where it is installed.
"""

import os
import platform
import sys
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Kernels(BuildHookInterface):
    def initialize(self, version, build_data):
        asked = os.environ.get("EBBFLOW_WHEEL_KERNELS", "0")
        if asked in ("", "0") or version == "editable":
            return
        if sys.platform != "linux" or platform.machine() != "x86_64":
            raise SystemExit("Kernels are built into wheels on Linux for x86-64. Leave EBBFLOW_WHEEL_KERNELS out here.")
        sys.path.insert(0, self.root)
        from ebbflow.native import processor, shipping

        self.place = tempfile.TemporaryDirectory()
        for level in processor.LEVELS if asked == "1" else asked.split(","):
            path = shipping.build(Path(self.place.name), level)
            build_data["force_include"][str(path)] = f"ebbflow/native/shipped/{path.name}"
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-manylinux_2_17_x86_64"
