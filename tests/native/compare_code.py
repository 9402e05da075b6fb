"""Comparison of machine code: two bundles, kernel by kernel.

A change of how kernels are written, and not of what they do, shows here that the compiler made the same of both.

    python -m tests.native.compare_code OLD.bundle NEW.bundle

Rule: kernels are the same if every byte of their code is; addresses of what they call are not part of it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import llvmlite.binding as ll

from ebbflow.native.bundle import _parts
from ebbflow.native.kernel_cache import get


def text_of(code: bytes) -> bytes:
    """The instructions in a kernel's machine code."""
    sections = ll.ObjectFileRef.from_data(code).sections()
    return b"".join(section.data() for section in sections if section.is_text())


def kernels_of(path: Path) -> dict[str, bytes]:
    """The instructions of each kernel in a bundle."""
    data = get(path)
    assert data is not None, f"{path} is not a whole bundle."
    head, _, _, _, *kernels = _parts(data)
    return {named[0]: text_of(code) for named, code in zip(json.loads(head)["kernels"], kernels, strict=True)}


def at_new_homes(old: dict[str, bytes], new: dict[str, bytes]) -> dict[str, bytes]:
    """Kernels that moved to another module, by the names they have there."""
    own = lambda name: name.rpartition(".")[2]
    homes = {own(name): name for name in new if name not in old}
    return {name if name in new else homes.get(own(name), name): code for name, code in old.items()}


def main(old_path: str, new_path: str) -> int:
    ll.initialize_native_target()
    ll.initialize_native_asmprinter()
    old, new = kernels_of(Path(old_path)), kernels_of(Path(new_path))
    old = at_new_homes(old, new)
    both = [name for name in old if name in new]
    others = [name for name in both if old[name] != new[name]]
    print(f"{len(both) - len(others)} of {len(both)} kernels have the same machine code.")
    for name in others:
        print(f"  {name}: {len(old[name])} bytes before, {len(new[name])} now")
    for said, missing in (("gone", set(old) - set(new)), ("new", set(new) - set(old))):
        if missing:
            print(f"{said}: {', '.join(sorted(missing))}")
    print(f"{sum(len(old[name]) for name in both)} bytes before, {sum(len(new[name]) for name in both)} now")
    return 1 if others else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
