"""Linker: object files linked into this process by LLVM, as the compiler makes them.

It is used where kernels are compiled, and where an image of the code cannot be made or loaded. LLVM takes 100 MB of
memory, so a process that finds an image does not load this module.

Rule: machine code that was linked into this process stays for its life.
"""

from __future__ import annotations

import os

import llvmlite.binding as ll

from ebbflow.native.abi import OBJECTS, PREAMBLE, WORDS_ADDRESS, WORDS_AT, Signature

_LINKERS: list[Linker] = []  # whoever has a function of one does not hold it
ll.add_symbol(WORDS_AT, WORDS_ADDRESS)


class Linker:
    """Code that is linked, and where its functions are."""

    def __init__(self) -> None:
        ll.initialize_native_target()
        ll.initialize_native_asmprinter()
        # "large": the interpreter may lie further away than a short jump reaches
        self.machine = ll.Target.from_default_triple().create_target_machine(
            cpu=os.environ.get("NUMBA_CPU_NAME") or ll.get_host_cpu_name(),
            features=os.environ.get("NUMBA_CPU_FEATURES", ll.get_host_cpu_features().flatten()),
            jit=True,
            codemodel="large",
        )
        self.engine = ll.create_mcjit_compiler(ll.parse_assembly(""), self.machine)
        _LINKERS.append(self)
        for name, thing in OBJECTS.items():
            ll.add_symbol(name, id(thing))
        ll.add_symbol("NRT_MemInfo_call_dtor", 1)  # named for arrays that own memory; none that comes in here does

    def object_of(self, borders: list[Signature]) -> bytes:
        """Machine code of the functions that Python calls."""
        text = PREAMBLE + "\n".join(border.text() for border in borders)
        module = ll.parse_assembly(text)
        module.verify()
        return bytes(self.machine.emit_object(module))

    def link(self, code: bytes) -> None:
        self.engine.add_object_file(ll.ObjectFileRef.from_data(code))
        self.engine.finalize_object()

    def address(self, name: str) -> int:
        found = int(self.engine.get_function_address(name))
        assert found, name
        return found

    def name(self, symbol: str, native: str) -> None:
        """From here on machine code that asks for `symbol` gets the function that was linked as `native`."""
        ll.add_symbol(symbol, self.address(native))
