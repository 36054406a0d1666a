"""The page on writing a recipe shows the example as it is, and what it tells to do works."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Cli, command_line

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "easy_first.py"
PAGE = ROOT / "docs" / "write_a_recipe.md"


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return command_line(tmp_path, monkeypatch, capsys)


def test_the_page_shows_the_example_as_it_is():
    assert EXAMPLE.read_text().strip() in PAGE.read_text()


def test_it_is_shown_with_what_differs(cli: Cli) -> None:
    told = cli("show", str(EXAMPLE)).out
    shown = PAGE.read_text().partition("```text\n")[2].partition("```")[0]
    assert shown.strip() in told


def test_it_trains_and_opens_one_kind_after_the_other(cli: Cli, tmp_path: Path) -> None:
    words = ["--task", "successor:1-3", "--model", "tabular", "--steps", "8", "--set", "prompts=6", "--set", "tries=2"]
    assert cli("train", str(EXAMPLE), *words, "--eval-tasks", "0", "--out", "run").code == 0
    events = [json.loads(line) for line in (tmp_path / "run" / "events.jsonl").read_text().splitlines()]
    steps = [e["metrics"] for e in events if e["type"] == "StepDone"]
    assert [m["ladder/kinds"] for m in steps] == [1, 2, 2, 3, 3, 3, 3, 3]  # all three from half of the run on
    assert "draws/successor:3" not in steps[0] and steps[-1]["draws/successor:3"] == 2


@pytest.mark.slow
def test_a_quick_look_gives_a_page(cli: Cli, tmp_path: Path) -> None:
    small = ["--task", "successor:1-2", "--model", "tabular", "--budget", "6000", "--jobs", "1"]
    result = cli("prove", str(EXAMPLE), "--quick", *small)
    assert result.code == 0, result.err
    page = (tmp_path / "evidence" / "quick" / "easy-first.md").read_text()
    assert "not evidence" in page and "problems that become harder" in page.lower()
    found = json.loads((tmp_path / "evidence" / "quick" / "easy-first.json").read_text())
    assert list(found["claims"][0]["arms"]) == ["method", "baseline", "ablation"]
