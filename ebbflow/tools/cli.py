"""The command line: small doors to what the package does.

Each command is a few lines; what it does lives in the module it names, which is imported when the command is
given and not before, so that `ebbflow --help` answers at once.

Rule: a refusal is printed as its three parts without a traceback and ends with status 1, a command that is not written
as its help says ends with status 2; a bug shows its traceback.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import click
from click.shell_completion import get_completion_class

import ebbflow
from ebbflow import errors
from ebbflow.tools import checkpoint
from ebbflow.tools import doctor as machine
from ebbflow.tools import program as programs

LONGEST_PAUSE = 86_400.0  # seconds


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(ebbflow.__version__, prog_name="ebbflow")
def main() -> None:
    """Differential dataflow for Python: results that stay right while the inputs change.

    \b
    Examples:
      ebbflow demo --no-spark                     a first look
      ebbflow explain program.py                  the plan of a program
      ebbflow explore program.py --export p.html  every collection at every time, as a page
      ebbflow COMMAND --help                      one command, with examples

    Status: 0 if all is well, 1 after a refusal or an error, 2 if the command itself is not understood. Results go to
    standard output, refusals and progress to standard error.
    """


@main.command()
@click.option("--nodes", default=1000, show_default=True, help="Size of the larger graph.")
@click.option("--edges", default=2000, show_default=True, help="Its edges.")
@click.option("--spark/--no-spark", default=None, help="With the part on Spark, or without; a terminal is asked.")
def demo(nodes: int, edges: int, spark: bool | None) -> None:
    """Show a small program, one change, and what it cost.

    The cost is counted in rows touched, beside those of starting over. At a terminal, it asks whether to go on with the
    same program on Spark.

    \b
    Examples:
      ebbflow demo              asks, at a terminal, whether to go on with Spark
      ebbflow demo --no-spark   ends before Spark
      ebbflow demo --spark --nodes 5000 --edges 20000
    """
    from ebbflow.tools import demo

    with refusals_as_text():
        demo.show(nodes=nodes, edges=edges)
        if spark is None and sys.stdin.isatty() and sys.stdout.isatty():
            spark = click.confirm("\nThe same on Spark? It takes about half a minute.", default=True)
        if spark:
            demo.show_on_spark(nodes=nodes, edges=edges)
        elif spark is None:
            click.echo("\nThe same on Spark: ebbflow demo --spark")


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("program", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run(program: Path, arguments: tuple[str, ...]) -> None:
    """Run PROGRAM, a Python file.  Refusals are shown without a traceback.

    \b
    Examples:
      ebbflow run program.py
      ebbflow run program.py --its-own-option 3
    """
    with refusals_as_text(), programs.problems_as_python_shows_them(program):
        programs.run(program, arguments)


@main.command(context_settings={"ignore_unknown_options": True})
@click.option("--json", "as_json", is_flag=True, help="The plans as one JSON object, by the dataflows' names.")
@click.argument("program", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def explain(program: Path, arguments: tuple[str, ...], as_json: bool) -> None:
    """Show the plan of every dataflow in PROGRAM.

    PROGRAM is run up to where it would first run a dataflow.

    \b
    Examples:
      ebbflow explain program.py
      ebbflow explain --json program.py | jq '.flow.nodes | length'
    """
    from ebbflow.dataflow.plan_json import to_json

    with refusals_as_text(), programs.problems_as_python_shows_them(program):
        flows = programs.dataflows(program, arguments)
        if not flows:
            raise click.ClickException(f"{program} makes no Dataflow at its top level, and runs none.")
        if as_json:
            _print_json({name: to_json(flow.graph) for name, flow in flows})
            return
        for name, flow in flows:
            click.secho(name, bold=True)
            click.echo(str(flow.explain()))


@main.command(context_settings={"ignore_unknown_options": True})
@click.option("--export", type=click.Path(dir_okay=False, path_type=Path), help="Write the page to this file.")
@click.option("--figure", is_flag=True, help="A page to put into a text: only the lattice and its rows.")
@click.option("--part", "parts", multiple=True, help="With --figure: plan, lattice, rows, story, inputs; repeat it.")
@click.option("--session", type=click.IntRange(min=1), help="Which of several sessions; the last, if it is left out.")
@click.option("--show", help="The collection the page begins with, by its name.")
@click.option("--times", is_flag=True, help="Say how long the steps took, and how much of it at each node.")
@click.option("--title", help="The page's title; the program's file name, if it is left out.")
@click.argument("program", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def explore(
    program: Path,
    arguments: tuple[str, ...],
    export: Path | None,
    figure: bool,
    parts: tuple[str, ...],
    session: int | None,
    **shown: Any,
) -> None:
    """Run PROGRAM, and write an explorer page of it.

    The page shows one session (a run or a compute), the last one, if nothing is said: every collection at every time,
    and inputs to change.

    The path of the page is printed; without --export it is in a temporary directory, and opened at a terminal.

    \b
    Examples:
      ebbflow explore reach.py
      ebbflow explore reach.py --export reach.html
      ebbflow explore reach.py --export reach.html --times
      ebbflow explore reach.py --export figure.html --figure --show reached
    """
    from ebbflow.tools.explorer import page, recording

    with refusals_as_text(), programs.problems_as_python_shows_them(program):
        with recording.recording_sessions() as sessions:
            programs.run(program, arguments)
        if not sessions:
            raise click.ClickException(f"{program} runs no dataflow in this process, so there is nothing to show.")
        if session is not None and session > len(sessions):
            raise click.ClickException(f"{program} ran {len(sessions)} sessions: there is no session {session}.")
        look = page.Look(shown["title"] or program.name, shown["show"], parts or figure, shown["times"])
        written = page.of_recording(sessions[session - 1 if session else -1], export, look)
    if len(sessions) > 1 and session is None:
        said = f"{program} ran {len(sessions)} sessions; the page shows the last. --session 1 shows the first."
        click.echo(said, err=True)
    click.echo(str(written.path))


@main.command()
@click.argument("query")
@click.argument("tables", nargs=-1, required=True, metavar="[NAME=]FILE...")
@click.option("--format", "format_", type=click.Choice(["table", "csv", "json", "parquet"]), default="table",
              help="How the answer is written; a table for people, if nothing is said.")  # fmt: skip
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the answer to this file.")
@click.option("--follow", is_flag=True, help="Go on while the files change, and print what changes in the answer.")
@click.option("--every", default=1.0, show_default=True, type=click.FloatRange(min=0.01), metavar="SECONDS",
              help="With --follow: how often the files are looked at.")  # fmt: skip
def sql(query: str, tables: tuple[str, ...], format_: str, output: Path | None, follow: bool, every: float) -> None:
    """Answer a QUERY in SQL over files.

    Files are CSV, Parquet or JSON lines; the QUERY is in Spark's SQL. A FILE is a table by its own name, or by NAME;
    it may be a directory or a pattern, whose files are one table. Types are inferred and printed. With --follow a
    file that changes is read again, and what changes in the answer is computed and printed: +1 for a row that comes,
    -1 for one that goes. With --output as well, that file is replaced by the whole answer instead. Ctrl-C ends it.

    \b
    Examples:
      ebbflow sql "select city, sum(price) from orders group by city" orders.parquet
      ebbflow sql "select * from o join c on o.customer = c.id" o=orders.csv c=customers.json --format csv
      ebbflow sql "select count(*) from logs where level = 'error'" logs='logs/*.jsonl' --follow
      ebbflow sql "select city, count(*) as n from orders group by city" orders.csv --follow --output cities.parquet
    """
    from ebbflow.tools import query as queries

    if not every <= LONGEST_PAUSE:  # nor is it a number that is none
        raise click.BadParameter(f"{every} is not in the range x<={LONGEST_PAUSE:,}.", param_hint="--every")
    if format_ == "parquet" and output is None and (follow or sys.stdout.isatty()):
        raise click.UsageError("Parquet is a file, not lines: give it a place with --output FILE.")
    with refusals_without_a_line():
        asked = queries.Asked(query, queries.tables_of(tables), format_, output, every)
        (queries.follow if follow else queries.answer)(asked)


@main.command()
@click.option("--missing", is_flag=True, help="Print only what is missing; say nothing where nothing is.")
@click.option("--json", "as_json", is_flag=True, help="The findings as a JSON array.")
def doctor(missing: bool, as_json: bool) -> None:
    """Say what this machine has, and what is missing.

    Python, versions of packages, Java, the place where compiled kernels are kept.

    \b
    Examples:
      ebbflow doctor
      ebbflow doctor --missing
      ebbflow doctor --json | jq -r '.[] | select(.hint) | .topic'
    """
    if as_json:
        findings = machine.surroundings() if missing else machine.examine()
        told = [{"topic": one.topic, "found": one.found, "hint": one.hint} for one in findings]
        _print_json([one for one in told if one["hint"] or not missing])
        return
    if missing:
        for finding in machine.surroundings():
            if finding.hint:
                click.echo(finding.hint)
        return
    for finding in machine.examine():
        click.echo(f"{finding.topic:<16} {finding.found}")
        if finding.hint:
            click.echo(f"{'':<16} {finding.hint}")


@main.command()
def warm() -> None:
    """Compile the kernels before they are needed.

    The first program on a machine waits for this otherwise.

    They are kept under ~/.cache/ebbflow, or in EBBFLOW_CACHE_DIR. On a cluster, warm each machine's image once.

    \b
    Examples:
      ebbflow warm
      EBBFLOW_CACHE_DIR=/opt/ebbflow ebbflow warm
    """
    from ebbflow.tools import warm as kernels

    with refusals_without_a_line():
        kernels.warm()


@main.command()
@click.argument("directory", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="The same as a JSON object.")
def check(directory: str, as_json: bool) -> None:
    """Check every step of a checkpoint DIRECTORY.

    Ends with status 1 if one of the steps that are kept is damaged. A stream's directory, as flow.stream was given it,
    is one too: it also says what is published.

    \b
    Examples:
      ebbflow check state/
      ebbflow check --json state/ | jq '.steps[0].inputs'
    """
    with refusals_without_a_line():
        if as_json:
            held, is_whole = checkpoint.as_json(directory)
            _print_json(held)
        else:
            is_whole = checkpoint.show(directory)
    raise SystemExit(0 if is_whole else 1)


@main.command()
@click.argument("directory", type=click.Path())
@click.argument("step", type=int)
def rewind(directory: str, step: int) -> None:
    """Go back to an earlier STEP of a checkpoint.

    `ebbflow check` lists the steps that DIRECTORY keeps. The program goes on from STEP when it runs next.

    \b
    Example:
      ebbflow rewind state/ 41
    """
    with refusals_without_a_line():
        checkpoint.rewind(directory, step)


@main.command()
@click.argument("directory", type=click.Path())
@click.argument("step", type=int)
@click.option("--output", default=None, help="Only this output goes without the step.")
def skip(directory: str, step: int, output: str | None) -> None:
    """Leave out a STEP that a sink refuses.

    The stream in DIRECTORY has committed STEP, and one of its outputs does not take it. It goes on without publishing
    it; the changes are kept in a file.

    \b
    Examples:
      ebbflow skip stream/ 17
      ebbflow skip stream/ 17 --output alerts
    """
    with refusals_without_a_line():
        checkpoint.skip(directory, step, output)


@main.command()
@click.argument("directory", type=click.Path())
@click.option("--node", type=int, default=None, help="Only this node, with the keys of its table and their entries.")
@click.option("--empty", is_flag=True, help="Also the fields that are zero.")
def dump(directory: str, node: int | None, empty: bool) -> None:
    """Print the memory of a checkpoint: each worker's nodes and tables, as named fields.

    \b
    Example:
      ebbflow dump state --node 3
    """
    from ebbflow.tools import dump

    with refusals_as_text():
        dump.dump(directory, node, empty)


@main.command(context_settings={"ignore_unknown_options": True}, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def bench(arguments: tuple[str, ...]) -> None:
    """Run the benchmarks of this checkout.

    `ebbflow bench --help` lists them.

    \b
    Examples:
      ebbflow bench
      ebbflow bench reach --size seed
    """
    place = Path(__file__).resolve().parents[2] / "benchmarks"
    if not (place / "__main__.py").is_file():
        raise click.ClickException(
            "There are no benchmarks here. They are part of a source checkout (benchmarks/), not of the package."
        )
    sys.path.insert(0, str(place.parent))
    importlib.import_module("benchmarks.__main__").main(list(arguments), prog_name="ebbflow bench")


@main.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a SHELL.

    With it, the Tab key completes commands, options and files.

    \b
    Examples:
      ebbflow completion bash > ~/.local/share/bash-completion/completions/ebbflow
      ebbflow completion zsh > ~/.zfunc/_ebbflow   (a directory of your fpath)
      ebbflow completion fish > ~/.config/fish/completions/ebbflow.fish
    """
    written = get_completion_class(shell)
    assert written is not None
    click.echo(written(main, {}, "ebbflow", "_EBBFLOW_COMPLETE").source())


def _print_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, default=str))


@contextmanager
def refusals_as_text() -> Iterator[None]:
    try:
        yield
    except errors.EbbflowError as refusal:
        _tell(refusal, str(refusal))


@contextmanager
def refusals_without_a_line() -> Iterator[None]:
    """For a command that runs no program of the user's: there is no line of theirs to show."""
    try:
        yield
    except errors.EbbflowError as refusal:
        _tell(refusal, f"{refusal.what}\n  {refusal.hint}")


def _tell(refusal: errors.EbbflowError, text: str) -> NoReturn:
    click.secho(type(refusal).__name__, fg="red", bold=True, err=True, nl=False)
    click.echo(f": {text}", err=True)
    for note in getattr(refusal, "__notes__", []):
        click.echo(f"  {note}", err=True)
    raise SystemExit(1) from None
