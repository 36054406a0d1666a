"""Tests in forked processes: all are run and told as in one process, a process that dies fails its test alone, one that grew
gives way to another, and a quick run leaves out what no change touched."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CONFTEST = """
import forks

pytest_addoption, pytest_configure = forks.add_options, forks.configure
"""
PROJECT = """
[tool.pytest.ini_options]
addopts = "-m 'not slow and not browser'"
markers = ["slow", "browser"]
"""
FIRST = """
import os
import signal

import pytest


@pytest.mark.parametrize("number", range(20))
def test_passes(number, tmp_path, capfd):
    (tmp_path / "a").write_text("b")
    os.system("echo heard")
    assert capfd.readouterr().out == "heard\\n"


def test_dies():
    os.kill(os.getpid(), signal.SIGKILL)


def test_fails():
    print("shown")
    assert [1, 2] == [1, 3]


@pytest.fixture
def broken():
    raise ValueError("no such thing")


def test_errs(broken):
    pass


def test_is_skipped():
    pytest.skip("why not")
"""
SECOND = """
from guerdon.counted import used


def test_it():
    assert used() == 1
"""

PROCESS = """
import os
from pathlib import Path

import pytest


@pytest.mark.parametrize("number", range(2))
def test_it(number):
    with Path("told").open("a") as file:
        file.write(f"NAME {os.getpid()}\\n")
"""


@pytest.fixture
def house(tmp_path):
    """A repository of a module and two test files."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "guerdon").mkdir()
    for name in ("forks.py", "touched.py"):
        shutil.copy(HERE / name, tmp_path / "tests" / name)
    texts = {
        "pyproject.toml": PROJECT,
        "guerdon/__init__.py": "",
        "guerdon/counted.py": "def used():\n    return 1\n\n\ndef unused():\n    return 2\n",
        "tests/conftest.py": CONFTEST,
        "tests/test_second.py": SECOND,
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def run(house: Path, *words: str) -> tuple[int, str]:
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:hypothesispytest", "tests", *words]
    done = subprocess.run(
        line, cwd=house, capture_output=True, text=True, env={"PYTHONPATH": str(house), "PATH": "/usr/bin:/bin"}
    )
    return done.returncode, done.stdout + done.stderr


def test_all_are_run_and_told(house):
    (house / "tests" / "test_first.py").write_text(FIRST)
    code, said = run(house, "--forks", "2")
    assert code == 1, said
    assert "2 failed, 21 passed, 1 skipped, 1 error" in said, said
    assert "ended with exit code -9" in said and "shown" in said and "assert [1, 2] == [1, 3]" in said, said


@pytest.mark.parametrize(("most", "processes"), [(0, 3), (1 << 40, 1)])
def test_a_worker_that_kept_much_ends_with_its_file(house, most, processes):
    conftest = house / "tests" / "conftest.py"
    conftest.write_text(conftest.read_text() + f"forks.MOST_KEPT = {most}\n")
    for name in ("third", "fourth"):
        (house / "tests" / f"test_{name}.py").write_text(PROCESS.replace("NAME", name))
    (house / "tests" / "test_second.py").write_text(PROCESS.replace("NAME", "second"))
    code, said = run(house, "--forks", "1")
    assert code == 0 and "6 passed" in said, said
    told = [line.split() for line in (house / "told").read_text().splitlines()]
    assert len({process for _, process in told}) == processes
    assert all(len({process for name, process in told if name == each}) == 1 for each in ("second", "third", "fourth"))


@pytest.mark.slow
def test_a_quick_run_leaves_out_what_no_change_touched(house):
    (house / "tests" / "test_third.py").write_text("import os\n\n\ndef test_it():\n    assert os.system('true') == 0\n")
    module = house / "guerdon" / "counted.py"
    text = module.read_text()

    def passed() -> list[str]:
        code, said = run(house, "--quick", "-rp")
        assert code == 0, said
        return sorted(set(re.findall(r"PASSED tests/test_(\w+)\.py", said)))

    assert passed() == ["second", "third"], "nothing is known yet"
    assert passed() == ["third"], "it starts a process"
    module.write_text(text.replace("return 2", "return 3"))
    assert passed() == ["third"], "a function that did not run"
    module.write_text(text.replace("return 1", "return 0 + 1"))
    assert passed() == ["second", "third"]
