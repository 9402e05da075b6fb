"""Claims about the figures of the house: they count what they say, and they do not get worse."""

import json

import pytest

from tests.house import figures
from tests.house.layers import ROOT

NOW = figures.figures(ROOT)
KEPT = json.loads(figures.STORED.read_text())


@pytest.mark.parametrize("name", figures.LESS)
def test_a_figure_is_not_worse_than_the_stored_one(name):
    assert NOW[name] <= KEPT[name], (
        f"{name}: {NOW[name]}, and {KEPT[name]} are stored.  `python -m tests.house.figures --which` names them; where "
        "more are right, `--write` stores the new figures."
    )


SOURCES = {
    "a/one.py": """
from ebbflow.b import two

LIMIT = 1


def used(a, b, c, d, e, f, g, h):
    import os

    return two.wide(*[os] * 9)


def lonely():
    from ebbflow.b import two as again

    return used, again, lonely()  # lonely


def reasoned(a, b, c, d, e, f, g, h, i):  # wide, long: as many as there are
    import numpy

    return reasoned
""",
    "b/two.py": """
from ebbflow.a.one import LIMIT as L

LIMIT, OTHER = 2, L


def wide(a, b, c, d, e, f, g, h, i):
    pass
""",
    "b/large.py": "from ebbflow.b.c import three\n" + "three\n" * 400,
    "b/reasoned.py": "from ebbflow.b import large\n\n\nclass C:  # long: all of it\n" + "    large\n" * 400,
    "b/c/three.py": "from ebbflow.b import two\n\nlong = two\n\n\ndef tall():\n" + "    tall()\n" * 60,
}


@pytest.fixture
def house(tmp_path):
    for name, text in SOURCES.items():
        path = tmp_path / "ebbflow" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "pyproject.toml").write_text(
        '[[tool.mypy.overrides]]\nmodule = ["ebbflow.b.*"]\nignore_errors = true\n'
        '[[tool.mypy.overrides]]\nmodule = ["ebbflow.a.*"]\n'
    )
    return figures.House(tmp_path)


def test_each_figure_counts_what_it_says(house):
    assert figures.large_modules(house) == ["ebbflow/b/large.py"]
    assert figures.long_functions(house) == ["ebbflow/b/c/three.py:tall"]
    assert figures.wide_functions(house) == ["ebbflow/b/two.py:wide"]
    assert figures.repeated_constants(house) == {"LIMIT": ["ebbflow/a/one.py", "ebbflow/b/two.py"]}
    assert figures.mutual_folders(house) == {("ebbflow/a", "ebbflow/b")}
    assert figures.inner_imports(house) == ["ebbflow/a/one.py:14", "ebbflow/a/one.py:8"]
    skipped = ["ebbflow.b.c.three", "ebbflow.b.large", "ebbflow.b.reasoned", "ebbflow.b.two"]
    assert figures.skipped_by_mypy(house) == skipped
    dead = [
        "ebbflow/a/one.py:lonely",
        "ebbflow/a/one.py:reasoned",
        "ebbflow/b/c/three.py:tall",
        "ebbflow/b/reasoned.py:C",
    ]
    assert figures.dead_functions(house) == dead
    assert figures.dead_modules(house) == ["ebbflow/b/reasoned.py"]


def test_what_is_used_from_outside_is_there():
    house = figures.House(ROOT)
    names = {
        f"{path}:{node.name}" for path, tree in house.parsed.items() for node in tree.body if hasattr(node, "name")
    }
    assert set(figures.FROM_OUTSIDE) <= names | {str(path) for path in house.texts}


def test_another_tree_is_shown_beside_this_one(capsys):
    assert figures.main([str(ROOT)]) == 0
    for line in capsys.readouterr().out.splitlines():
        *_, before, now = line.split()
        assert before == now
