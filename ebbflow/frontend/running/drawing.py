"""A table drawn as a box of characters, and as HTML.

Rule: a cell is shown by `plain`, so that no value can change how others look.
"""

from __future__ import annotations

import html
import sys
from typing import Any

from ebbflow.columns.schema import Schema, Type
from ebbflow.frontend.plain import plain, shown

ADDED_COLOUR, GONE_COLOUR = (
    "rgba(46,160,67,0.2)",
    "rgba(248,81,73,0.2)",
)  # behind a diff: a tint of the page's own colour


def _side(type_: Type) -> str:
    """Numbers stand on the right, all else on the left."""
    return f' style="text-align:{"right" if type_.is_number else "left"}"'


def _cell(value: object, type_: Type) -> str:
    text = html.escape(plain(value))
    if value is None:
        text = f'<span style="opacity:0.6">{text}</span>'
    return f"<td{_side(type_)}>{text}</td>"


def rest_told(total: int, n: int) -> str:
    return f"... {total - n:,} more row{'s' if total - n > 1 else ''}"


def boxed(schema: Schema, rows: list[tuple[Any, ...]], has_diffs: bool, total: int) -> str:
    """The rows as a box, with how many of the total are not among them."""
    from rich import box
    from rich.console import Console
    from rich.table import Table as Box

    screen = Console(file=sys.stdout)
    in_colour = screen.is_terminal and screen.color_system is not None and not screen.no_color
    drawn = Box(box=box.SQUARE, header_style="bold")
    numeric = [type_.is_number for type_ in schema.types]
    for name, is_number in zip(schema.names, numeric, strict=True):
        drawn.add_column(shown(name), justify="right" if is_number else "left", no_wrap=True)
    for row in rows:
        cells = [f"[dim]{shown(value)}[/]" if value is None else shown(value) for value in row]
        if has_diffs:
            cells[-1] = f"[{'green' if row[-1] > 0 else 'red'}]{row[-1]:+d}[/]"
        drawn.add_row(*cells)
    console = Console(
        width=screen.width if screen.is_terminal else 10_000,
        color_system="standard" if in_colour else None,
        force_terminal=in_colour,
        emoji=False,
        highlight=False,
        force_jupyter=False,  # a notebook would show what is captured, too
    )
    with console.capture() as captured:
        console.print(drawn)
    text = captured.get().rstrip("\n")
    return f"{text}\n{rest_told(total, len(rows))}" if total > len(rows) else text


def as_html(schema: Schema, rows: list[tuple[Any, ...]], has_diffs: bool, total: int) -> str:
    """As HTML that takes its ink from the page: it is read on a light and on a dark one."""
    types = schema.types
    heads = zip(schema.names, types, strict=True)
    head = "".join(
        f"<th{_side(type_)}>{html.escape(plain(name))}<br><small>{html.escape(str(type_))}</small></th>"
        for name, type_ in heads
    )
    body = []
    for row in rows:
        cells = [_cell(value, type_) for value, type_ in zip(row, types, strict=True)]
        if has_diffs:
            colour = ADDED_COLOUR if row[-1] > 0 else GONE_COLOUR
            cells[-1] = f'<td style="text-align:right;background:{colour}">{row[-1]:+d}</td>'
        body.append(f"<tr>{''.join(cells)}</tr>")
    rest = f"<p>{rest_told(total, len(rows))}</p>" if total > len(rows) else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>{rest}"
