"""Claims about what the project stands on: its dependencies, their versions, and the commands everyone uses."""

import ast
import os
import re
import subprocess
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from ebbflow.tools import doctor
from tests.house.layers import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
BASE = PROJECT["project"]["dependencies"]
EXTRAS = PROJECT["project"]["optional-dependencies"]
GROUPS = PROJECT["dependency-groups"]
PINNED = dict(re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
EVERY = [*BASE, *(r for group in (*EXTRAS.values(), *GROUPS.values()) for r in group)]


def test_the_base_is_five_packages_and_nothing_more():
    assert {Requirement(r).name for r in BASE} == {"numpy", "numba", "pyarrow", "rich", "click"}
    assert {Requirement(r).name for r in BASE} == set(doctor.NEEDED)


def test_every_package_that_is_required_is_used():
    imported = {
        (node.module or "" if isinstance(node, ast.ImportFrom) else node.names[0].name).partition(".")[0]
        for path in (ROOT / "ebbflow").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    wanted = {Requirement(r).name for r in (*BASE, *(r for rs in EXTRAS.values() for r in rs))}
    assert wanted <= imported


def test_the_doctor_knows_every_extra():
    assert {Requirement(r).name: extra for extra, rs in EXTRAS.items() for r in rs} == doctor.OPTIONAL


@pytest.mark.parametrize("requirement", EVERY)
def test_every_requirement_has_an_exact_version_that_fits_it(requirement):
    wanted = Requirement(requirement)
    versions = {canonicalize_name(name): version for name, version in PINNED.items()}
    assert canonicalize_name(wanted.name) in versions, f"{wanted.name} is not in constraints.txt"
    assert wanted.specifier.contains(versions[canonicalize_name(wanted.name)])


def test_constraints_are_names_and_versions_only():
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        assert line.startswith("#") or re.fullmatch(r"[\w.-]+==[\w.]+", line), line


def test_there_is_no_lock_file():
    assert not [name for name in ("uv.lock", "poetry.lock", "Pipfile.lock") if (ROOT / name).exists()]


def run(*command, **env):
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, **env}, capture_output=True, text=True, timeout=60, errors="replace"
    )


@pytest.mark.parametrize("target", ["demo", "test", "check", "bench", "docs", "layers", "clean"])
def test_every_target_of_the_readme_is_there(target):
    result = run("make", "--dry-run", target)
    assert result.returncode == 0, result.stderr
    assert f"make {target}" in run("make", "help").stdout


def test_the_build_machine_runs_the_tests_and_prints_their_counts(tmp_path):
    fake = tmp_path / "make"
    fake.write_text('#!/bin/sh\necho "asked for $1"\necho "===== 3 failed, 12 passed in 1.50s ====="\nexit 2\n')
    fake.chmod(0o755)
    result = run(str(ROOT / ".ci" / "run"), PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert result.returncode == 2
    assert "asked for test" in result.stdout
    assert "tests: 3 failed, 12 passed in 1.50s" in result.stdout


def test_the_build_machine_does_not_take_silence_for_success(tmp_path):
    fake = tmp_path / "make"
    fake.write_text("#!/bin/sh\nexit 0\n")
    fake.chmod(0o755)
    assert run(str(ROOT / ".ci" / "run"), PATH=f"{tmp_path}:{os.environ['PATH']}").returncode == 1
