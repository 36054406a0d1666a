"""The commands and the code of the README, and of the pages that a first reader goes to from there, run as they stand there,
for fewer steps where how many is not the point."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from command_line import command_line

import guerdon as gd

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
FEW = ["--eval-tasks", "2", "--eval-tries", "1", "--set", "prompts=2"]
SMALLEST = "guerdon train grpo --task successor --model tabular --set lr=0.3 --steps 60"
ENDS = "held-out accuracy after 60 steps: 100.0 %"
CLOCK = re.compile(r"^a call takes .*$", re.MULTILINE)  # how long is the machine's to say


def blocks(kind: str, page: str = "README.md") -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


def named(page: str = "README.md") -> list[tuple[str, str]]:
    """The files a page writes: a block that opens with `# name.py` is that file."""
    return [(name[1], block) for block in blocks("python", page) if (name := re.match(r"# (\w+\.py)\n", block))]


def commands(page: str = "README.md") -> list[str]:
    lines = [line.removeprefix("$ ") for block in blocks("console", page) for line in block.splitlines()]
    return [line.partition("  #")[0] for line in lines if line.startswith("guerdon ")]


def shorter(command: str) -> list[str]:
    """A command's words for two small steps."""
    words = shlex.split(command)[1:]
    if words[0] == "train":
        words[words.index("--steps") + 1] = "2"
        words += FEW if "mine.py" not in command else FEW[:-2]  # a recipe of one's own has the knobs it says
    return words


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    return command_line(tmp_path, monkeypatch, capsys)


def test_the_readme_has_five_short_sections_a_picture_and_check_reward():
    assert re.findall(r"^## (.+)$", README, re.MULTILINE) == [
        "Start",
        "Your own reward",
        "Your own method",
        "Where to go next",
    ]
    assert README.startswith("# Guerdon\n") and len(README.splitlines()) < 160
    (picture,) = re.findall(r"!\[[^\]]+\]\((.+?)\)", README)
    assert (ROOT / picture).stat().st_size < 200_000
    assert "gd.check_reward(" in README


@pytest.mark.slow
def test_the_smallest_training_ends_as_the_first_page_shows(cli):
    page = (ROOT / "docs" / "first_run.md").read_text()
    assert SMALLEST in commands() and f"$ {SMALLEST}\n" in page and ENDS in page
    assert ENDS in cli(*shlex.split(SMALLEST)[1:]).out


def files() -> dict[str, str]:
    """The files the README writes, its reward as it was mended."""
    texts = dict(named())
    (mend,) = [block for block in blocks("python") if block.startswith("    return ")]
    return {**texts, "my.py": re.sub(r"    return .*\n", lambda _: mend, texts["my.py"], count=1)}


def test_its_commands(cli, tmp_path):
    for name, text in files().items():
        (tmp_path / name).write_text(text)
    assert [command.split()[1] for command in commands()] == ["list", "train", "show", "train", "train"]
    for command in commands():
        result = cli(*shorter(command))
        assert result.code == 0, f"{command}: {result.err}"


def test_a_reward_is_checked_and_prints_what_the_readme_shows(capsys):
    exec(compile(dict(named())["my.py"], "my.py", "exec"), {"__name__": "__main__"})
    (shown,) = [block for block in blocks("console") if block.startswith("$ python my.py\n")]
    assert CLOCK.sub("", f"$ python my.py\n{capsys.readouterr().out}") == CLOCK.sub("", shown)


def test_the_mended_reward_pays_no_near_miss():
    names: dict = {"__name__": "my"}
    exec(compile(files()["my.py"], "my.py", "exec"), names)
    report = gd.check_reward(gd.reward(isolate=False)(names["right"]), "trace:3", problems=5)
    assert re.search(r"^near-miss +0\.000 ", str(report), re.MULTILINE)


def test_rows_of_a_file(cli, tmp_path):
    page = "docs/your_own_task.md"
    (rows,) = blocks("json", page)
    (tmp_path / "my.jsonl").write_text(rows)
    for name, text in named(page):
        (tmp_path / name).write_text(text)
    (command,) = [line for line in commands(page) if "--data" in line]
    result = cli(*shorter(command))
    assert result.code == 0 and "report" in result.out, result.err


def test_in_python(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("python", "docs/in_python.md")
    space: dict = {}
    exec(compile(code, "docs/in_python.md", "exec"), space)
    assert space["batch"].K == 128 and 0 <= space["run"].evaluations[-1]["pass@1"] <= 1
