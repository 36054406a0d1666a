"""The project's own habits, as far as a machine can hold them: versions, what is installed, workflows."""

from __future__ import annotations

import ast
import datetime
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import yaml

import guerdon

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NAME = re.compile(r"[A-Za-z0-9._-]+")


def names(requirements) -> list[str]:
    """The names of requirements, as PyPI compares them."""
    matches = [NAME.match(line) for line in requirements]
    return [re.sub(r"[-_.]+", "-", match[0]).lower() for match in matches if match]


def pinned(file: str) -> list[str]:
    lines = (ROOT / "requirements" / file).read_text().splitlines()
    return [line for line in lines if line and not line.startswith(("#", "-r"))]


def test_the_version_is_that_of_the_topmost_release_in_the_changelog():
    """Above it there may be one section of what is not released yet; every other one has a version and a day."""
    sections = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    released = sections[sections[0] == "Unreleased" :]
    dated = [re.fullmatch(r"(\d+\.\d+\.\d+) - (\d{4}-\d\d-\d\d)", section) for section in released]
    assert all(dated) and all(datetime.date.fromisoformat(match[2]) for match in dated)
    assert dated[0][1] == guerdon.__version__


def test_dev_installs_what_is_pinned_for_the_suite():
    """`pip install -e .[dev]` and requirements/dev.txt with dev_bare.txt are of the same packages."""
    dev = names(PROJECT["optional-dependencies"]["dev"])
    needed = names(PROJECT["dependencies"])
    assert sorted({*dev, *needed}) == sorted(names(pinned("dev.txt") + pinned("dev_bare.txt"))), (
        "pyproject.toml and requirements/dev.txt differ"
    )
    assert len(set(dev)) == len(dev) and not {*dev} & {*needed}


def test_versions_are_exact():
    for file in sorted((ROOT / "requirements").glob("*.txt")):
        lines = pinned(file.name)
        assert all(re.fullmatch(r"[A-Za-z0-9._-]+(\[[a-z,]+\])?==[0-9][^ ]*", line) for line in lines), file.name


def test_every_extra_is_installed_by_the_suite_or_beside_peers():
    extras = {name: names(of) for name, of in PROJECT["optional-dependencies"].items() if name != "dev"}
    installed = {*names(PROJECT["optional-dependencies"]["dev"]), *names(pinned("peers_bare.txt"))}
    for name, of in extras.items():
        assert {*of} <= installed, f"neither make test nor make peers installs extra {name}"


def test_what_tests_import_is_installed_by_dev():
    """Every module that a test file cannot be read without belongs to a package of requirements/dev.txt."""
    own = {path.stem for path in (ROOT / "tests").rglob("*.py")} | {"guerdon", "bench"}
    own |= {path.stem for folder in ("scripts", "examples") for path in (ROOT / folder).iterdir()}
    belongs, installed = packages_distributions(), {*names(pinned("dev.txt"))}
    for path in (ROOT / "tests").rglob("*.py"):
        optional = {*re.findall(r'importorskip\("(\w+)', path.read_text())}
        for node in ast.parse(path.read_text()).body:
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            for module in {module.partition(".")[0] for module in modules} - own - optional - sys.stdlib_module_names:
                assert {*names(belongs.get(module, []))} & installed, f"{path.name} imports {module}"


def test_workflows_parse_and_are_for_every_python_of_the_classifiers():
    pythons = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r":: Python :: 3\.\d+$", c)]
    assert pythons[0] == PROJECT["requires-python"].removeprefix(">=")
    for file in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        jobs = yaml.safe_load(file.read_text())["jobs"]
        versions = [job["strategy"]["matrix"]["python"] for job in jobs.values() if "strategy" in job]
        assert versions and all(each == pythons for each in versions), file.name
        steps = [step for job in jobs.values() for step in job["steps"]]
        for step in steps:
            assert "uses" in step or step["run"].startswith("make "), f"{file.name} does more than call make: {step}"


def test_forms_for_issues_have_what_a_form_needs():
    for file in sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")):
        form = yaml.safe_load(file.read_text())
        if file.name != "config.yml":
            assert form["name"] and form["description"] and form["body"]
            fields = [field for field in form["body"] if field["type"] != "markdown"]
            assert all(field["id"] and field["attributes"]["label"] for field in fields)
