"""Claims about compiling ahead of need."""

from rich.console import Console

from ebbflow.native import kernel_cache
from ebbflow.tools import warm


def test_warming_makes_every_kernel_ready_and_says_where(capsys):
    total = warm.warm()
    assert total > 0
    assert capsys.readouterr().out.startswith(f"{total} kernels are ready in {kernel_cache.directory()}")


def test_without_a_terminal_progress_is_lines(monkeypatch, capsys):
    monkeypatch.setattr(warm, "EVERY", 0.0)
    monkeypatch.setattr(warm, "compile_all", lambda say: [say(done, 3) for done in (1, 2, 3)] and 3)
    assert warm._with_lines(Console(stderr=True, force_terminal=False)) == 3
    assert capsys.readouterr().err.splitlines()[0] == "compiling kernels, once: 1 of 3"
