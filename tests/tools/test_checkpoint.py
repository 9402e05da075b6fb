from click.testing import CliRunner

from ebbflow.tools.cli import main
from tests.runtime.imaged import reach_flow


def ask(*arguments):
    return CliRunner().invoke(main, list(map(str, arguments)))


def made(place):
    live = reach_flow().run(checkpoint=place)
    for time in range(5):
        live.insert("roots", [(time,)], time=time)
        live.advance_to(time + 1)
    live._release()


def test_check_lists_the_steps_that_are_kept(tmp_path):
    made(tmp_path / "state")
    said = ask("check", tmp_path / "state")
    assert said.exit_code == 0 and said.output.count("whole") == 3
    assert "format 4" in said.output and "edges 5, roots 5" in said.output


def test_check_names_what_is_damaged_and_rewind_goes_back(tmp_path):
    made(tmp_path / "state")
    newest = tmp_path / "state" / "ledger" / f"{5:012}"
    newest.write_bytes(newest.read_bytes()[:-5])
    said = ask("check", tmp_path / "state")
    assert said.exit_code == 1 and str(newest) in said.output and said.output.count("damaged") == 1
    said = ask("rewind", tmp_path / "state", 4)
    assert said.exit_code == 0 and "is at step 6, which says what step 4 said" in said.output
    assert "from there on again: edges 4, roots 4" in said.output
    assert ask("check", tmp_path / "state").exit_code == 0
    with reach_flow().run(checkpoint=tmp_path / "state") as live:
        assert live.frontier("reach") == [(4,)]


def test_what_cannot_be_is_refused_in_a_sentence(tmp_path):
    made(tmp_path / "state")
    for arguments in (("check", tmp_path / "nowhere"), ("rewind", tmp_path / "state", 99), ("check", "s3://bucket/x")):
        said = ask(*arguments)
        assert said.exit_code == 1 and "Traceback" not in said.output and ".py" not in said.output
    assert said.output.startswith("NotACheckpoint")
    assert ask("rewind", tmp_path / "state", 99).output.startswith("UnknownStep: step 99")
