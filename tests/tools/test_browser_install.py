"""What the build machine does where Chromium or Node is missing."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent.parent / ".ci" / "browser"


def ran(place, **commands):
    """What the script prints where only these commands exist, and what apt-get was asked."""
    if not SCRIPT.exists():
        pytest.skip("this copy of the project has no .ci")
    for name, text in commands.items():
        command = place / name.replace("_", "-")
        command.write_text(f"#!/bin/sh\n{text}\n")
        command.chmod(0o755)
    (place / "timeout").write_text('#!/bin/sh\nshift\nexec "$@"\n')
    (place / "timeout").chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if name != "EBBFLOW_CHROMIUM"}
    done = subprocess.run(
        ["/bin/bash", str(SCRIPT)], env={**kept, "PATH": str(place)}, capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, done.stderr
    asked = place / "asked"
    return done.stdout, asked.read_text().splitlines() if asked.exists() else []


def apt(place, installs):
    ends = "exit 0" if installs else "exit 1"
    return f'echo "$@" >> {place}/asked\n{ends}'


def test_nothing_is_done_where_both_are_there(tmp_path):
    assert ran(tmp_path, chromium="", node="", id="echo 0", apt_get=apt(tmp_path, True)) == ("", [])


def test_root_installs_what_is_missing(tmp_path):
    said, asked = ran(tmp_path, id="echo 0", apt_get=apt(tmp_path, True))
    assert said == "Installing chromium nodejs for the explorer's tests.\n"
    assert len(asked) == 1 and asked[0].endswith("install -y --no-install-recommends chromium nodejs")


def test_another_user_installs_by_sudo(tmp_path):
    said, asked = ran(tmp_path, node="", id="echo 1000", sudo='shift\nexec "$@"', true="", apt_get=apt(tmp_path, True))
    assert "Installing chromium for" in said and asked[0].endswith("recommends chromium")


def test_what_cannot_be_installed_is_named(tmp_path):
    said, asked = ran(tmp_path, node="", id="echo 1000", sudo="exit 1", apt_get=apt(tmp_path, True))
    assert said == "Not installed: chromium. Only root can: apt-get install chromium\n" and not asked
    said, asked = ran(tmp_path, id="echo 0", apt_get=apt(tmp_path, False))
    assert "Not installed: chromium. apt-get failed" in said and len(asked) == 3  # once more with new lists


def test_without_debian_it_says_so(tmp_path):
    said, _ = ran(tmp_path, chromium="", id="echo 0")
    assert said == "Not installed: nodejs. There is no apt-get; install them by hand.\n"
