"""The command line: small doors to what the package does.

Each command is a few lines; what it does lives in the module it names, which is imported when the command is
given and not before, so that `ebbflow --help` answers at once.

Rule: a refusal is printed as its three parts without a traceback and ends with status 1; a bug shows its traceback.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import click

import ebbflow
from ebbflow import errors
from ebbflow.tools import doctor as machine


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(ebbflow.__version__, prog_name="ebbflow")
def main() -> None:
    """Differential dataflow for Python: results that stay right while the inputs change."""


@main.command()
@click.option("--nodes", default=1000, show_default=True, help="Size of the larger graph.")
@click.option("--edges", default=2000, show_default=True, help="Its edges.")
@click.option("--spark/--no-spark", default=None, help="With the part on Spark, or without; a terminal is asked.")
def demo(nodes: int, edges: int, spark: bool | None) -> None:
    """A small program, one change, and what it cost beside starting over.

    Example: ebbflow demo --no-spark
    """
    from ebbflow.tools import demo

    with refusals_as_text():
        demo.show(nodes=nodes, edges=edges)
        if spark is None and sys.stdin.isatty() and sys.stdout.isatty():
            spark = click.confirm("\nThe same on Spark? It takes about half a minute.", default=True)
        if spark is not False:
            demo.show_on_spark(nodes=nodes, edges=edges)


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("program", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run(program: Path, arguments: tuple[str, ...]) -> None:
    """Run PROGRAM, a Python file.  Refusals are shown without a traceback."""
    from ebbflow.tools import program as programs

    with refusals_as_text(), programs.problems_as_python_shows_them(program):
        programs.run(program, arguments)


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("program", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def explain(program: Path, arguments: tuple[str, ...]) -> None:
    """Show the plan of every dataflow in PROGRAM, up to where it would first run one."""
    from ebbflow.tools import program as programs

    with refusals_as_text(), programs.problems_as_python_shows_them(program):
        plans = programs.plans(program, arguments)
    if not plans:
        raise click.ClickException(f"{program} makes no Dataflow at its top level, and runs none.")
    for name, plan in plans:
        click.secho(name, bold=True)
        click.echo(plan)


@main.command(context_settings={"ignore_unknown_options": True})
@click.option("--export", type=click.Path(dir_okay=False, path_type=Path), help="Write the page to this file.")
@click.option("--figure", is_flag=True, help="A page to put into a text: only the lattice and its rows.")
@click.option("--part", "parts", multiple=True, help="With --figure: plan, lattice, rows, story, inputs; repeat it.")
@click.option("--show", help="The collection the page begins with, by its name.")
@click.option("--title", help="The page's title; the program's file name, if it is left out.")
@click.argument("program", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def explore(
    program: Path,
    arguments: tuple[str, ...],
    export: Path | None,
    figure: bool,
    parts: tuple[str, ...],
    show: str | None,
    title: str | None,
) -> None:
    """Run PROGRAM, and show its last dataflow as a page: every collection at every time.

    Examples:

    ebbflow explore reach.py --export reach.html

    ebbflow explore reach.py --export figure.html --figure --show reached
    """
    from ebbflow.tools import program as programs
    from ebbflow.tools.explorer import page, recording

    with refusals_as_text(), programs.problems_as_python_shows_them(program):
        with recording.recording_sessions() as sessions:
            programs.run(program, arguments)
        if not sessions:
            raise click.ClickException(f"{program} runs no dataflow in this process, so there is nothing to show.")
        written = page.of_recording(sessions[-1], export, page.Look(title or program.name, show, parts or figure))
    if len(sessions) > 1:
        click.echo(f"{program} ran {len(sessions)} sessions; the page shows the last.")
    click.echo(str(written.path))


@main.command()
@click.option("--missing", is_flag=True, help="Print only what is missing; say nothing where nothing is.")
def doctor(missing: bool) -> None:
    """What this machine has: Python, versions, Java, the place of the kernels."""
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
    """Compile the kernels now, so that the first program need not wait."""
    from ebbflow.tools import warm as kernels

    with refusals_without_a_line():
        kernels.warm()


@main.command()
@click.argument("directory", type=click.Path())
def check(directory: str) -> None:
    """Look at every step that the checkpoint DIRECTORY keeps; status 1 if the last one is damaged.

    A stream's directory, as flow.stream was given it, is one too: it also says what is published.
    """
    from ebbflow.tools import checkpoint

    with refusals_without_a_line():
        is_whole = checkpoint.show(directory)
    raise SystemExit(0 if is_whole else 1)


@main.command()
@click.argument("directory", type=click.Path())
@click.argument("step", type=int)
def rewind(directory: str, step: int) -> None:
    """Go on from an earlier STEP of the checkpoint DIRECTORY, which `ebbflow check` lists."""
    from ebbflow.tools import checkpoint

    with refusals_without_a_line():
        checkpoint.rewind(directory, step)


@main.command()
@click.argument("directory", type=click.Path())
@click.argument("step", type=int)
@click.option("--output", default=None, help="Only this output goes without the step.")
def skip(directory: str, step: int, output: str | None) -> None:
    """Go on without publishing STEP, which the stream in DIRECTORY has committed and a sink does not take."""
    from ebbflow.tools import checkpoint

    with refusals_without_a_line():
        checkpoint.skip(directory, step, output)


@main.command(context_settings={"ignore_unknown_options": True}, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def bench(arguments: tuple[str, ...]) -> None:
    """Run the benchmarks of this checkout; `ebbflow bench --help` tells which."""
    place = Path(__file__).resolve().parents[2] / "benchmarks"
    if not (place / "__main__.py").is_file():
        raise click.ClickException(
            "There are no benchmarks here. They are part of a source checkout (benchmarks/), not of the package."
        )
    sys.path.insert(0, str(place.parent))
    importlib.import_module("benchmarks.__main__").main(list(arguments), prog_name="ebbflow bench")


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
