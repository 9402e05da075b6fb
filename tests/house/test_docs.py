"""Claims about the docs: links lead somewhere, figures are current, every error and option has its entry.

Code blocks are executed elsewhere (conftest.py); here is what a reader would trip over besides.
"""

import inspect
import re
from pathlib import Path
from xml.etree import ElementTree

import pyspark.sql.functions
import pytest
from pyspark.sql import Column, DataFrame, GroupedData

import ebbflow as ebb
import ebbflow.functions as F
from docs import figures, reference
from ebbflow import errors
from ebbflow.frontend import aliases, options
from ebbflow.tools import cli
from tests.house.layers import ROOT

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.S | re.M)
WIDE = 100
WIDER_TABLES = {"benchmarks.md"}  # data, not reading
ELSEWHERE = {
    "dataframes.md",
    "spark-differences.md",
}  # not wrapped yet
WRITTEN = {"layers.md", "rules.md", "limits.md"}  # by a command, from what the code says


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def prose(path: Path) -> str:
    return FENCE.sub("", path.read_text())


def anchors(path: Path) -> set[str]:
    """The places in a page that a link can name, as GitHub and the site spell them."""
    heads = re.findall(r"^#+ (.+)$", prose(path), re.M)
    plain = [re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", head).strip().lower() for head in heads]
    return {re.sub(r"[^\w\- ]", "", head).replace(" ", "-") for head in plain}


# ---- links ----------------------------------------------------------------------------------


def broken(path: Path) -> list[str]:
    """The links of a page that lead nowhere in this checkout."""
    found = []
    for link in LINK.findall(prose(path)):
        if re.match(r"https?:|mailto:", link):
            continue
        target, _, anchor = link.partition("#")
        there = (path.parent / target).resolve() if target else path
        if there.parent == DOCS / "explore":  # written beside the site, from the figures
            if there.stem not in {figure.name for figure in [*figures.figures(), *figures.questions()]}:
                found.append(link)
        elif not there.exists() or (anchor and anchor not in anchors(there)):
            found.append(link)
    return found


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_links_lead_somewhere(path):
    assert broken(path) == []


def test_a_link_that_leads_nowhere_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# One two\n[a](#one-two) [b](#three) [c](page.md#one-two) [d](other.md) `[e](x.md)`\n")
    assert broken(page) == ["#three", "other.md", "x.md"]


def test_every_page_is_in_the_navigation_or_linked_from_one_that_is():
    listed = set(re.findall(r": ([\w/.-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M))
    assert all((DOCS / name).exists() for name in listed), "mkdocs.yml names a page that is not there"
    reached = {DOCS / name for name in listed}
    todo = list(reached)
    while todo:
        page = todo.pop()
        for link in LINK.findall(prose(page)):
            there = (page.parent / link.partition("#")[0]).resolve()
            if there.suffix == ".md" and there.exists() and there not in reached:
                reached.add(there)
                todo.append(there)
    unreached = {named(path) for path in DOCS.rglob("*.md")} - {
        named(path) for path in reached if path.is_relative_to(ROOT)
    }
    assert unreached <= {"docs/decisions/template.md"}, "pages that nobody finds"


# ---- reading --------------------------------------------------------------------------------


def too_wide(path: Path) -> list[str]:
    lines = prose(path).splitlines()
    return [line for line in lines if len(line) > WIDE and not line.startswith("|") and "](" not in line]


def tables_too_wide(path: Path) -> list[str]:
    rows = re.findall(r"^\|(?:\s*:?-+:?\s*\|)+$", prose(path), re.M)
    return [row for row in rows if row.count("|") - 1 > 6]


READ = [path for path in PAGES if path.name not in WRITTEN | ELSEWHERE]


@pytest.mark.parametrize("path", READ, ids=named)
def test_lines_are_at_most_a_hundred_columns_wide(path):
    assert too_wide(path) == []


@pytest.mark.parametrize("path", [path for path in READ if path.name not in WIDER_TABLES], ids=named)
def test_tables_have_at_most_six_columns(path):
    assert tables_too_wide(path) == []


# ---- figures --------------------------------------------------------------------------------


@pytest.mark.parametrize("figure", figures.figures(), ids=lambda figure: figure.name)
def test_a_figure_shows_what_the_oracle_computes(figure):
    path = figures.PLACE / f"{figure.name}.svg"
    assert path.read_text() == figure.svg(), f"{path.name} is stale: run python -m docs.figures"
    ElementTree.fromstring(path.read_text())


@pytest.mark.parametrize("figure", figures.figures(), ids=lambda figure: figure.name)
def test_the_engine_says_the_same_of_a_figure_s_outputs(figure):
    live = figure.flow.run()
    for name, row, time, diff in figure.history:
        live.apply(name, [row], time=time[0] if len(time) == 1 else time, diff=diff)
    live.close()
    for node in figure.flow.graph.nodes:
        if type(node).__name__ == "Output":
            said = [(row[:-2], row[-2] if len(figure.flow.graph.coordinates) > 1 else (row[-2],), row[-1])
                    for row in live.changes(node.name).rows()]  # fmt: skip
            shown = figures.changes(ebb.Collection(figure.flow.graph, node.source), figure.history)
            assert sorted(said) == sorted(shown)


def test_the_picture_of_the_readme_shows_what_the_oracle_computes():
    picture = (DOCS / "pictures" / "loop.svg").read_text()
    ElementTree.fromstring(picture)
    shown = [tuple(map(int, said.split())) for said in re.findall(r'data-change="([^"]+)"', picture)]
    figure = figures.a_loop()
    _, variable, _ = figures.reach()
    said = [(row[0], *time, diff) for row, time, diff in figures.changes(variable, figure.history, 5)]
    assert sorted(shown) == sorted(said)


def test_a_figure_is_an_explorer_page_too(tmp_path):
    figures.a_loop().explore(tmp_path / "loop.html")
    assert "<html" in (tmp_path / "loop.html").read_text()[:200].lower()


# ---- the reference --------------------------------------------------------------------------


def test_the_reference_is_current():
    written = reference.contents()
    assert {path.name for path in reference.PLACE.glob("*.md")} == set(written)
    stale = [name for name, text in written.items() if (reference.PLACE / name).read_text() != text]
    assert stale == [], "run `make reference`"


def test_every_name_has_a_sentence_and_an_example():
    for page in reference._pages():
        for name, thing in page.entries:
            prose, *example = reference.said_of(thing)
            assert prose and example, f"{page.title}: {name}"


def test_every_public_name_is_in_the_reference():
    said = "\n".join(reference.contents().values())
    heads = set(re.findall(r"^## (\w+)$", said, re.M)) | set(re.findall(r"^# (\w+)", said, re.M))
    modules = {"errors", "functions", "algorithms"}
    assert {name for name in dir(ebb) if not name.startswith("_")} - modules - heads == set()
    assert set(F.__all__) <= heads


def test_what_it_calls_pyspark_s_words_are_pyspark_s():
    kinds = {
        "Collection": DataFrame,
        "Grouped": GroupedData,
        "Column": Column,
        "Ordered": DataFrame,
        "Table": DataFrame,
    }
    for owner, kind in kinds.items():
        words = {*reference.SAME.get(owner, ()), *reference.PYSPARK.get(owner, {}).values()}
        unknown = [word for word in words if word.isidentifier() and not hasattr(kind, word)]
        unknown = [word for word in unknown if not hasattr(pyspark.sql.functions, word)]
        assert unknown == [], owner


def test_every_command_is_in_the_reference():
    said = reference.contents()["commands.md"]
    assert re.findall(r"^## ebbflow (\w+)$", said, re.M) == sorted(cli.main.commands)
    assert "--no-spark" in said


def test_signatures_leave_out_what_nobody_writes():
    said = reference.signature("input", ebb.Dataflow.input)
    assert said == "input(name: str, schema: object, key: str | Iterable[str] | None = None) -> Collection"
    assert reference.signature("columns", ebb.Collection.columns) == "columns: list[str]"


def test_every_option_of_run_and_stream_is_explained():
    of_run, of_stream = re.findall(r"^## `flow.*?(?=^## )", (DOCS / "options.md").read_text(), re.S | re.M)
    for page, names in ((of_run, {*options.OF_A_RUN, *options.ON_SPARK}), (of_stream, options.OF_A_STREAM)):
        for name in names:
            assert re.search(rf"^\| [^|]*`{name}`", page, re.M), name


def test_every_option_of_sources_and_sinks_is_explained():
    page = (DOCS / "options.md").read_text()
    for word in (
        "changes",
        "append",
        "upsert",
        "debezium",
        "change_feed",
        "table",
        "change_log",
        "view",
        "each",
        "kafka",
    ):
        for option in list(inspect.signature(getattr(ebb, word)).parameters)[1:]:
            assert option == "options" or f"`{option}`" in page, f"ebb.{word}({option}=)"
    for option in inspect.signature(ebb.Dataflow.stream).parameters:
        assert option in ("self", "spark", "options") or f"`{option}`" in page, f"stream({option}=)"


def test_every_spelling_of_pyspark_s_is_listed():
    page = (DOCS / "from-pyspark.md").read_text()
    for word in {
        **aliases.COLLECTION_ALIASES,
        **aliases.COLUMN_ALIASES,
        **aliases.GROUPED_ALIASES,
        **aliases.TABLE_ALIASES,
    }:
        assert f"`{word}`" in page, word


# ---- errors ---------------------------------------------------------------------------------

ERRORS = [
    name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, ebb.EbbflowError)
    if kind is not ebb.EbbflowError
]  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_every_error_has_an_entry(name):
    entry = re.search(rf"^### {name}\n(.+?)(?=^##|\Z)", (DOCS / "troubleshooting.md").read_text(), re.S | re.M)
    assert entry is not None, f"docs/troubleshooting.md says nothing of {name}"
    assert len(entry[1].split()) >= 10


def test_no_entry_is_of_an_error_that_is_gone():
    assert set(re.findall(r"^### (\w+)$", (DOCS / "troubleshooting.md").read_text(), re.M)) == set(ERRORS)


def test_hints_that_name_a_page_name_one_that_is_there():
    texts = [path.read_text() for path in (ROOT / "ebbflow").rglob("*.py")]
    named_pages = {page for text in texts for page in re.findall(r"docs/[\w/-]+\.md", text)}
    assert named_pages and all((ROOT / page).exists() for page in named_pages), named_pages


# ---- coming from PySpark --------------------------------------------------------------------


def idioms() -> list[str]:
    """The right column of the table of idioms: expressions over `df`, `other` and `same`."""
    table = (DOCS / "from-pyspark.md").read_text().partition("## Idioms")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| .+ \| (.+) \|$", table, re.M)
    return [code for row in rows for code in re.findall(r"`([^`]+)`", row) if code.startswith(("df.", "F."))]


@pytest.mark.parametrize("code", [code for code in idioms() if "(f, " not in code])
def test_an_idiom_of_pyspark_s_is_written_as_the_page_says(code):
    flow = ebb.Dataflow()
    names = {"F": F, "df": flow.input("orders", "id long, customer string, price double, day date")}
    names["same"] = flow.input("same", "id long, customer string, price double, day date")
    column = "name" if '"name"' in code else "customer"
    names["other"] = flow.input("customers", f"{column} string, country string")
    made = eval(code, names)
    flow.output("it", made if isinstance(made, ebb.Collection) else names["df"].select(it=made))
    assert flow.graph


def test_the_table_of_idioms_is_there():
    assert len(idioms()) > 20
