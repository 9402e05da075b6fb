"""The command, asked as a person asks it."""

from click.testing import CliRunner

from benchmarks import crate, report
from benchmarks.__main__ import main


def ask(*words):
    return CliRunner().invoke(main, words)


def test_a_row_is_measured_shown_and_written(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    monkeypatch.setattr(crate, "cargo", lambda: None)
    found = ask("bfs", "--steps", "7", "--times", "20", "--repeats", "1")
    assert found.exit_code == 0, found.output
    assert "us per time" in found.output
    assert "cargo was not found, so ours run without the Rust peer" in " ".join(found.output.split())
    (written,) = tmp_path.iterdir()
    assert written.name in found.output.replace("\n", "")


def test_what_no_row_has_is_said():
    found = ask("startup", "--steps", "3")
    assert found.exit_code == 1 and "No row of the set small is meant by that" in found.output


def test_steps_are_numbers():
    assert "numbers with commas between them" in ask("bfs", "--steps", "one").output
