"""Claims about what is said while kernels compile."""

from ebbflow.native import progress_bar as bars


def test_without_a_terminal_who_waits_is_told_in_lines(monkeypatch, capsys):
    now = 100.0
    monkeypatch.setattr(bars.time, "monotonic", lambda: now)
    with bars.progress_bar(50) as show:
        show(1)  # at once: nobody has waited yet
        for now in (102.0, 103.0, 113.0):  # the clock reads it
            show(int(now) - 100)
    said = [f"ebbflow compiles its kernels, once: {done} of 50" for done in (2, 13)]
    assert capsys.readouterr().err.splitlines() == said
