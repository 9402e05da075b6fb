from click.testing import CliRunner

from ebbflow.pipeline import claims, marks
from ebbflow.runtime.spark.cluster import Here
from ebbflow.runtime.spark.runtime import SparkRuntime
from ebbflow.tools.cli import main
from tests.runtime.imaged import reach_flow
from tests.tuned import tuned


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
    assert "format 5" in said.output and "edges 5, roots 5" in said.output


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


def test_dump_prints_the_memory_of_each_worker_as_named_fields(tmp_path):
    made(tmp_path / "state")
    said = ask("dump", tmp_path / "state")
    assert said.exit_code == 0, said.output
    assert "part 0, worker 0\nWorker@" in said.output and "  node_count " in said.output
    nodes = [line for line in said.output.splitlines() if line.startswith("Node@")]
    assert any(": arrange " in line for line in nodes) and any(": output " in line for line in nodes)
    arranged = next(line.rsplit(" ", 1)[1] for line in nodes if ": arrange " in line)
    said = ask("dump", tmp_path / "state", "--node", arranged)
    assert said.exit_code == 0 and "  widths " in said.output and "Table@" in said.output
    said = ask("dump", tmp_path / "nowhere")
    assert said.exit_code == 1 and "Traceback" not in said.output


def test_what_cannot_be_is_refused_in_a_sentence(tmp_path):
    made(tmp_path / "state")
    for arguments in (("check", tmp_path / "nowhere"), ("rewind", tmp_path / "state", 99), ("check", "s3://bucket/x")):
        said = ask(*arguments)
        assert said.exit_code == 1 and "Traceback" not in said.output and ".py" not in said.output
    assert said.output.startswith("NotACheckpoint")
    assert ask("rewind", tmp_path / "state", 99).output.startswith("UnknownStep: step 99")


def made_by_a_stream(place, steps=2):
    """What a stream leaves behind: a state as on Spark, and how far an output is."""
    root = str(place / "state")
    on = lambda graph, workers, pool, checkpoint, **options: SparkRuntime(graph, Here(), root, 2, pool, durable=True)
    live = tuned(reach_flow(), runtime=on, checkpoint=root)
    for time in range(steps):
        live.insert("roots", [(time,)], time=time)
        live.advance_to(time + 1)
    live._release()
    claims.owner_of(place / "outputs" / "0", "reach", "plan")
    claims.owner_of(place / "outputs" / "1", "other", "plan")
    marks.write(place / "published.json", {"step": 1, "batch": 0, "of": "", "outdone": {}})
    for number, step in (("0", 1), ("1", steps)):
        marks.write(place / "progress" / f"{number}.json", {"step": step})
    marks.write(place / "refused.json", {"step": steps, "output": "reach", "why": "OSError: no room"})


def test_the_directory_of_a_stream_is_a_checkpoint_too(tmp_path):
    made_by_a_stream(tmp_path / "stream")
    for place in (tmp_path / "stream", f"file://{tmp_path}/stream/", tmp_path / "stream" / "state"):
        said = ask("check", place)
        assert said.exit_code == 0 and said.output.count("whole") == 3, said.output
        assert "published: step 1, batch 0" in said.output
        assert "step 2 waits to be published to: reach\n" in said.output and "reach: OSError: no room" in said.output
    said = ask("rewind", tmp_path / "stream", 1)
    assert said.exit_code == 0 and "is at step 3, which says what step 1 said" in said.output
    assert "query back as far: to batch none" in said.output and "replace=True" in said.output


def test_a_step_that_an_output_does_not_take_is_skipped_by_name(tmp_path):
    stream = tmp_path / "stream"
    made_by_a_stream(stream)
    for step, more, refusal in (
        (1, (), "UnknownStep"),
        (3, (), "UnknownStep"),
        (2, ("--output", "other"), "UnknownOutput"),
    ):
        said = ask("skip", stream, step, *more)
        assert said.exit_code == 1 and said.output.startswith(refusal)
    said = ask("skip", stream, 2)
    assert said.exit_code == 0 and said.output.count("will not be published") == 1
    assert f"step 2 will not be published to reach. Its changes are kept in {stream}/skipped/step=2/0" in said.output
    said = ask("check", stream)
    assert "skipped: step 2 of reach: OSError: no room" in said.output and "waits" not in said.output
    made(tmp_path / "state")
    assert ask("skip", tmp_path / "state", 5).output.startswith("NotACheckpoint")
