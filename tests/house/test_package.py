"""Claims about the package: what is built from this checkout, installed elsewhere, is complete and runs."""

import importlib.util
import os
import site
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from tests.house.layers import PACKAGE, ROOT

BUILD = "import sys; from hatchling import build; print(build.build_{kind}(sys.argv[1]))"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel and the sdist, made by the build backend that pyproject.toml names."""
    if importlib.util.find_spec("hatchling") is None:
        assert not os.environ.get("CI"), "hatchling is missing: it is in the group `test` of pyproject.toml"
        pytest.skip("hatchling is not installed (pip install hatchling): it builds the package")
    place = tmp_path_factory.mktemp("dist")
    return {kind: place / _built(kind, place) for kind in ("wheel", "sdist")}


def _built(kind: str, place: Path, source: Path = ROOT) -> str:
    command = [sys.executable, "-c", BUILD.format(kind=kind), str(place)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def installed(wheel: Path, place: Path) -> Path:
    """The `bin` of an environment that has nothing but this wheel."""
    venv.create(place, with_pip=False, symlinks=True)
    python = place / "bin" / "python"
    command = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "-q",
        "--no-deps",
        "--no-index",
        str(wheel),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return place / "bin"


def run(program: Path, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A program of that environment; what ebbflow depends on comes from this one, ebbflow itself does not."""
    packages = os.pathsep.join(path for path in site.getsitepackages() if Path(path).is_dir())
    env = {**os.environ, "PYTHONPATH": packages, "COLUMNS": "120"}
    return subprocess.run([str(program), *words], cwd=cwd, env=env, capture_output=True, text=True, timeout=300)


def files_of_the_package() -> set[str]:
    found = (path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(ROOT)) for path in found if not path.name.startswith(".")}


def test_the_wheel_has_every_file_of_the_package_and_nothing_else(built):
    names = set(zipfile.ZipFile(built["wheel"]).namelist())
    ours = {name for name in names if ".dist-info/" not in name}
    assert ours == files_of_the_package() | {"pyspark_ebbflow.py"}, "the last is what Spark looks for"
    assert "ebbflow/py.typed" in ours, "type checkers look for it"


def test_the_sdist_has_the_tests_the_docs_and_what_they_need(built):
    with tarfile.open(built["sdist"]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert files_of_the_package() <= names
    for needed in ("README.md", "LICENSE", "Makefile", "conftest.py", "constraints.txt", "mkdocs.yml", "docs/why.md",
                   "docs/figures/loop.svg", "tests/house/test_package.py", "benchmarks/page.py"):  # fmt: skip
        assert needed in names, needed


def test_the_sdist_builds_the_same_wheel(built, tmp_path):
    with tarfile.open(built["sdist"]) as sdist:
        sdist.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.iterdir()
    again = tmp_path / _built("wheel", tmp_path, unpacked)
    contents = lambda wheel: {name: zipfile.ZipFile(wheel).read(name) for name in zipfile.ZipFile(wheel).namelist()}
    assert contents(again) == contents(built["wheel"])


@pytest.mark.slow
def test_installed_in_an_empty_environment_the_demo_runs(built, tmp_path):
    there = installed(built["wheel"], tmp_path / "env")
    found = run(there / "python", "-c", "import ebbflow; print(ebbflow.__file__)", cwd=tmp_path)
    assert found.stdout.startswith(str(tmp_path)), found.stdout + found.stderr
    shown = run(there / "ebbflow", "demo", "--no-spark", "--nodes", "60", "--edges", "120", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "│    1 │    4 │     1 │    -1 │" in shown.stdout
    assert "rows touched by starting over once" in shown.stdout


@pytest.mark.slow
def test_there_the_explorer_has_its_page(built, tmp_path):
    there = installed(built["wheel"], tmp_path / "env")
    program = tmp_path / "program.py"
    program.write_text(
        "import ebbflow as ebb\nflow = ebb.Dataflow()\n"
        'flow.output("once", flow.input("xs", "x long").distinct())\n'
        'with flow.run() as live:\n    live.insert("xs", [(1,)])\n    live.commit()\n'
    )
    done = run(there / "ebbflow", "explore", str(program), "--export", "page.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "page.html").stat().st_size > 10_000
