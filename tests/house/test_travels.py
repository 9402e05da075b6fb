"""Claims about the two walks in CONTRIBUTING.md: they are those of the code, and they are short."""

import re
from itertools import groupby

import pytest

from tests.house import layers, travels

PAGE = (layers.ROOT / "CONTRIBUTING.md").read_text()
WALKS = PAGE.partition("## Two walks")[2].partition("\n## ")[0]
WALK, _, FILES = WALKS.partition("**The files")
LEVEL = {name: height for height, names in enumerate(layers.layer_order()) for name in names}


def test_the_walk_of_a_row_names_the_modules_that_it_passes_in_this_order():
    named = [word for word in re.findall(r"`([\w.]+)`", WALK) if "." in word and not word.startswith("tests.")]
    assert named == travels.stations()


def test_calls_on_the_way_of_a_row_go_down():
    for function, module, caller in travels.calls():
        if caller.startswith("ebbflow."):
            there, here = module.split(".")[1], caller.split(".")[1]
            assert LEVEL[there] <= LEVEL[here], f"{caller} calls {module}.{function}, which is above it"


def test_no_folder_is_entered_again_more_than_twice_before_compiled_code_and_after_it():
    """What compiled code calls is its own affair: operators and trace take turns there."""
    station = [name.split(".")[0] for name in travels.stations()]
    visible = [folder for folder, _ in groupby(f for f in station if f not in ("operators", "trace"))]
    assert visible == ["frontend", "runtime", "engine", "frontend"]


@pytest.mark.parametrize("kind", travels.EXAMPLES)
def test_a_new_thing_touches_the_files_that_are_listed(kind):
    word = kind.partition(" ")[2]
    (row,) = re.findall(rf"^\| {word} \| `\w+` \| (.*) \|$", FILES, re.MULTILINE)
    assert [f"ebbflow/{name}.py" for name in re.findall(r"`([^`]+)`", row)] == travels.travels(kind)


def test_things_that_are_added_often_touch_few_files():
    few = {kind: len(travels.travels(kind)) for kind in travels.EXAMPLES}
    assert few["a sink"] <= 2 and few["a runtime"] <= 2
    assert few["a function of columns"] <= 2 and few["an aggregate"] <= 2
    assert few["a kind of node"] <= 8
