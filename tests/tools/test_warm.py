"""Claims about compiling ahead of need."""

from ebbflow.native import kernel_cache
from ebbflow.tools import warm


def test_warming_makes_every_kernel_ready_and_says_where(capsys):
    total = warm.warm()
    assert total > 0
    assert capsys.readouterr().out.startswith(f"{total} kernels are ready in {kernel_cache.directory()}")
