"""PySpark's names, one by one: which are here as they are, and what to write for the others.

Each name is asked of ebbflow itself, so the page says what a program would be told. `python -m docs.reference` writes
it with the rest of the reference.

Rule: every public name of PySpark's functions, DataFrame, Column and GroupedData is on the page, once.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

import pyspark.sql.functions as theirs
from pyspark.sql import Column, DataFrame, GroupedData

import ebbflow as ebb
import ebbflow.functions as F
from ebbflow.errors import EbbflowError


def public(thing: Any) -> list[str]:
    return [name for name in dir(thing) if not name.startswith("_")]


def functions() -> list[str]:
    """What `import pyspark.sql.functions as F` offers: its list, and functions that are not on it."""
    defined = [name for name in public(theirs) if inspect.isfunction(getattr(theirs, name))]
    own = [name for name in defined if getattr(theirs, name).__module__.startswith("pyspark.sql.functions")]
    return sorted({*theirs.__all__, *own}, key=lambda name: (name.lower(), name))


def asked(thing: Any, names: Iterable[str]) -> tuple[list[str], dict[str, list[str]]]:
    """The names that are here, and the others by what is said of them."""
    here: list[str] = []
    said: dict[str, list[str]] = {}
    for name in names:
        try:
            getattr(thing, name)
            here.append(name)
        except EbbflowError as refusal:
            hint = refusal.hint.removeprefix("Here: ").rstrip(".")
            said.setdefault(hint, []).append(name)
    return here, said


def first_sentence(thing: Any) -> str:
    return " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].partition(">>>")[0].split()).rstrip(".")


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def section(title: str, here: list[str], said: dict[str, list[str]]) -> list[str]:
    rows = sorted(said.items(), key=lambda item: item[1][0].lower())
    table = ["| PySpark | here |", "|--|--|", *(f"| {listed(names)} | {cell(hint)} |" for hint, names in rows)]
    count = sum(len(names) for names in said.values())
    return [
        f"## {title}",
        f"{len(here)} names work as they are:",
        "| |\n|--|\n| " + listed(here) + " |",
        f"{count} others, and what to write:",
        "\n".join(table),
    ]


def page() -> str:
    edges = ebb.Dataflow().input("edges", "src long, dst long")
    names = functions()
    here, said = asked(F, names)
    table = [f"| [`{name}`](functions.md#{name.lower()}) | {cell(first_sentence(getattr(F, name)))} |" for name in here
             if name in F.__all__]  # fmt: skip
    rest = [name for name in here if name not in F.__all__]
    count = sum(map(len, said.values()))
    rows = sorted(said.items(), key=lambda item: item[1][0].lower())
    others = ["| PySpark | here |", "|--|--|", *(f"| {listed(names)} | {cell(hint)} |" for hint, names in rows)]
    parts = [
        "# PySpark's names",
        "Every public name of PySpark 4.2, asked of ebbflow when this page was made, by\n"
        "`python -m docs.reference`. A program that uses a name of the second kind is refused with the same\n"
        "sentence. [Coming from PySpark](../from-pyspark.md) has whole programs side by side.",
        "## Functions that are here",
        f"`import ebbflow.functions as F`: {len(here)} of {len(names)}, with PySpark's meaning"
        + (f"; besides those of the table {listed(rest)}." if rest else "."),
        "\n".join(["| function | what it gives |", "|--|--|", *table]),
        "## Functions that are not",
        f"{count} names, and what to write:",
        "\n".join(others),
        *section("DataFrame", *asked(edges, public(DataFrame))),
        *section("Column", *asked(ebb.col("x"), public(Column))),
        *section("GroupedData", *asked(edges.group_by("src"), public(GroupedData))),
    ]
    return "\n\n".join(parts) + "\n"
