"""The reference: every public name with its signature, meaning, example and PySpark's word for it.

The pages of docs/reference are written from the docstrings, which the tests execute:

    python -m docs.reference    # or: make reference

Rule: nothing is said of a name here that its docstring does not say, but what PySpark calls it.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pyspark.sql.functions

import ebbflow as ebb
import ebbflow.functions as F
from docs import pyspark_table
from ebbflow.frontend import aliases
from ebbflow.tools import cli

PLACE = Path(__file__).parent / "reference"

# What PySpark calls it, where that is another word; a name that both have is found by itself.
PYSPARK = {
    "Collection": {
        **{ours: theirs for theirs, ours in reversed(aliases.COLLECTION_ALIASES.items())},
        "with_columns": "withColumns",
        "rename": "withColumnRenamed",
        "union": "unionByName",
        "semijoin": 'join(other, on, "semi")',
        "antijoin": 'join(other, on, "anti")',
        "map_batches": "mapInArrow",
        "map_rows": "a UDF",
        "flat_map": "explode",
    },
    "Grouped": {"top": "row_number over a window", "reduce": "applyInPandas", "reduce_batches": "applyInArrow"},
    "Column": {ours: theirs for theirs, ours in reversed(aliases.COLUMN_ALIASES.items()) if "." not in ours},
    "Table": {"rows": "collect", "to_pandas": "toPandas", "to_arrow": "toArrow"},
    "Session": {"subscribe": "foreachBatch"},
    "Dataflow": {"sql": "spark.sql", "input": "spark.readStream", "output": "writeStream", "stream": "start"},
}
SAME = {  # names that a class of PySpark has too, with the same meaning
    "Dataflow": {"explain"},
    "Collection": {"select", "drop", "filter", "distinct", "join", "agg", "explain", "columns", "schema"},
    "Grouped": {"agg", "count", "sum", "avg", "min", "max"},
    "Ordered": {"limit"},
    "Column": {"cast", "alias", "between", "asc", "desc", "otherwise", "when"},
    "Table": {"show", "schema", "columns"},
}
STREAMS = (
    "changes", "append", "upsert", "debezium", "change_feed", "table", "change_log", "view", "each", "kafka",
)  # fmt: skip
AS_FUNCTIONS = ("functions", "text", "dates")  # pages whose names are functions there


@dataclass(frozen=True)
class Page:
    name: str
    title: str
    about: str
    entries: tuple[tuple[str, Any], ...]  # a heading, and what it names
    kind: type | None = None  # the class whose members these are

    @property
    def owner(self) -> str:
        return self.title if self.kind is not None else ""


def _pages() -> list[Page]:
    edges = ebb.Dataflow().input("edges", "src long, dst long")
    column = ebb.col("src")
    classes = [
        ("dataflow", ebb.Dataflow, "Dataflow", "A program: its inputs, what is computed, its outputs."),
        ("session", ebb.Session, "Session", "A running program: what `flow.run()` gives."),
        ("collection", ebb.Collection, "Collection", "What a program is made of: rows that change."),
        ("grouped", type(edges.group_by("src")), "Grouped", "What `group_by` gives: aggregates and rows by key."),
        ("ordered", type(edges.order_by("src")), "Ordered", "What `order_by` gives: its first rows."),
        ("column", ebb.Column, "Column", "An expression over the columns of a row."),
        ("text", type(column.str), "Column.str", "Functions of text: `col(\"name\").str.lower()`."),
        ("dates", type(column.dt), "Column.dt", "Functions of dates and timestamps: `col(\"at\").dt.year()`."),
        ("reader", ebb.Reader, "Reader", "A checkpoint, read from outside: what `ebb.open(dir)` gives."),
        ("table", ebb.Table, "Table", "A result: rows that stay as they are."),
    ]  # fmt: skip
    second = {*aliases.COLLECTION_ALIASES, *aliases.COLUMN_ALIASES, *aliases.GROUPED_ALIASES, *aliases.TABLE_ALIASES}
    found = [Page(name, title, about, tuple(_members(kind, second)), kind) for name, kind, title, about in classes]
    functions = tuple((name, getattr(F, name)) for name in sorted(F.__all__))
    found.append(
        Page("functions", "Functions", "`import ebbflow.functions as F`; the common ones are in `ebb` too.", functions)
    )
    algorithms = tuple((name, getattr(ebb.algorithms, name)) for name in sorted(ebb.algorithms.__all__))
    found.append(Page("algorithms", "Algorithms", "`ebb.algorithms`: graphs, by networkx's names.", algorithms))
    streams = tuple((name, getattr(ebb, name)) for name in STREAMS)
    found.append(Page("streams", "Sources and sinks", "What `flow.stream` reads and writes: `ebb.NAME`.", streams))
    elsewhere = {*STREAMS, *F.__all__, "functions", "algorithms", "errors", *(title for _, _, title, _ in classes)}
    others = tuple(
        (name, getattr(ebb, name)) for name in dir(ebb) if not name.startswith("_") and name not in elsewhere
    )
    about = "`import ebbflow as ebb`; the other pages have what is not here."
    found.insert(0, Page("ebb", "Names of ebb", about, others))
    return found


def _members(kind: type, second: set[str]) -> Iterator[tuple[str, Any]]:
    for name, member in vars(kind).items():
        if name.startswith("_") or name in second:
            continue
        if isinstance(member, property) or callable(member):
            yield name, member


def signature(name: str, thing: Any) -> str:
    """As one would call it: without self, and without what catches misspelt options."""
    is_property = isinstance(thing, property)
    try:
        found = inspect.signature(thing.fget if is_property else thing)
    except (TypeError, ValueError):
        return name
    returns = "" if found.return_annotation is inspect.Signature.empty else str(found.return_annotation)
    if getattr(thing, "__module__", "").endswith(("text_methods", "date_methods")):
        returns = {"Made": "Column"}.get(returns, returns)  # who makes them says what, and only columns do
    returns = returns.removesuffix("[Column]")
    if is_property:
        return f"{name}: {returns}" if returns else name
    parts, is_starred = [], False
    for parameter in found.parameters.values():
        if parameter.name == "self" or "Never" in str(parameter.annotation):
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            is_starred = True
        elif parameter.kind is parameter.KEYWORD_ONLY and not is_starred:
            parts.append("*")
            is_starred = True
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        typed = "" if parameter.annotation is parameter.empty else f": {parameter.annotation}"
        value = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        parts.append(f"{stars}{parameter.name}{typed}{value}")
    arrow = f" -> {returns}" if returns else ""
    line = f"{name}({', '.join(parts)}){arrow}"
    return line if len(line) <= 96 else name + "(\n    " + ",\n    ".join(parts) + f",\n){arrow}"


def words(page: Page, name: str) -> str:
    theirs = PYSPARK.get(page.owner, {}).get(name)
    if theirs:
        return f"PySpark: `{theirs}`."
    if page.name in AS_FUNCTIONS:
        return f"PySpark: `F.{name}`." if hasattr(pyspark.sql.functions, name) else ""
    return f"PySpark: `{name}`." if name in SAME.get(page.owner, ()) else ""


def filled(prose: str) -> str:
    """Paragraphs in lines of 100 columns; what is indented stays as it is."""
    paragraphs = re.split(r"\n\s*\n", prose.strip())
    return "\n\n".join(one if "\n " in one else _fill(one) for one in paragraphs)


def _fill(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 100, break_long_words=False, break_on_hyphens=False)


def said_of(thing: Any) -> list[str]:
    """What a docstring says, and its example."""
    prose, mark, example = inspect.cleandoc(thing.__doc__ or "").partition(">>> ")
    parts = [filled(prose)]
    if mark:
        shown = re.sub(r" *# doctest: .*", "", (mark + example).strip())  # what the tests alone need
        parts.append(f"```pycon\n{shown}\n```")
    return parts


def entry(page: Page, name: str, thing: Any) -> str:
    prose, *example = said_of(thing)
    parts = [f"## {name}", f"```py\n{signature(name, thing)}\n```", prose, words(page, name), *example]
    return "\n\n".join(part for part in parts if part)


def written(page: Page) -> str:
    head = [f"# {page.title}", page.about, "Made from the docstrings by `python -m docs.reference`."]
    if page.kind is not None:
        head += said_of(page.kind)
    listed = _fill(" · ".join(f"[{name}](#{name.lower()})" for name, _ in page.entries))
    parts = [*head, listed, *(entry(page, name, thing) for name, thing in page.entries)]
    return "\n\n".join(part for part in parts if part) + "\n"


def index(pages: list[Page]) -> str:
    rows = [f"| [{page.title}]({page.name}.md) | {page.about} | {len(page.entries)} |" for page in pages]
    names = "\n".join(["| page | what | names |", "|--|--|--|", *rows])
    return f"""# Reference

Every public name, with its signature, meaning, an example that the tests run, and PySpark's word
for it. PySpark's own spellings (`groupBy`, `withColumn`, `where` ...) work too:
[coming from PySpark](../from-pyspark.md) lists them.

{names}

- [Options of run and stream](../options.md), each explained
- [Errors](../troubleshooting.md), each with its cause and what to do
- [Limits](../limits.md): what is refused because it is too much
- [PySpark's names](pyspark.md), each with ours or with what to write instead
- [Command line](commands.md): `ebbflow --help`, and `ebbflow COMMAND --help`
"""


def commands() -> str:
    """The command line, from its own help."""
    parts = [
        "# Command line",
        "Made from the commands' own help by `python -m docs.reference`. `python -m ebbflow` is the same.\n\n"
        "A command ends with status 0 if all is well, with 1 and a sentence after a refusal (`ebbflow check`\n"
        "also if a step is damaged), and with 2 if the command line itself is not understood. Results go to\n"
        "standard output, refusals and progress to standard error. `--json` prints data for a script.\n"
        "`ebbflow completion` prints what your shell needs to complete commands with the Tab key.",
    ]
    for name, command in sorted(cli.main.commands.items()):
        wide = {"terminal_width": 88, "max_content_width": 88}
        inside = click.Context(command, info_name=f"ebbflow {name}", help_option_names=["-h", "--help"], **wide)
        parts.append(f"## ebbflow {name}\n\n```text\n{command.get_help(inside)}\n```")
    return "\n\n".join(parts) + "\n"


def contents() -> dict[str, str]:
    """Every page of the reference, by the name of its file."""
    pages = _pages()
    texts = {f"{page.name}.md": written(page) for page in pages}
    return {"index.md": index(pages), "commands.md": commands(), "pyspark.md": pyspark_table.page(), **texts}


def main() -> None:
    PLACE.mkdir(exist_ok=True)
    for name, text in contents().items():
        (PLACE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
