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
YOUR_OWN_DATA = "docs/your_own_data.md"
FEW = ["--eval-tasks", "2", "--eval-tries", "1"]
SMALL = ["--set", "prompts=2", "--set", "tries=2", "--set", "max_tokens=32"]
SMALLEST = "guerdon train grpo --task successor --model tabular --set lr=0.3 --steps 60"
ENDS = "held-out accuracy after 60 steps: 100.0 %"
CHECK, CHECK_PAGE = "guerdon check my.py:right --task trace:3", "docs/check_a_reward.md"
AUDIT = "guerdon audit my.py:right --task trace:3"
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
        words += FEW if "mine.py" in command else FEW + SMALL  # a recipe of one's own has the knobs it says
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
    verbs = [command.split()[1] for command in commands()]
    assert verbs == ["list", "train", "show", "check", "audit", "train", "train"]
    for command in commands():
        result = cli(*shorter(command))
        assert result.code == 0, f"{command}: {result.err}"


def test_a_reward_is_checked_and_prints_what_the_pages_show(cli, tmp_path):
    (tmp_path / "my.py").write_text(dict(named())["my.py"])
    (shown,) = [block for block in blocks("console") if block.startswith(f"$ {CHECK}\n")]
    (whole,) = [block for block in blocks("console", CHECK_PAGE) if block.startswith(f"$ {CHECK}\n")]
    assert dict(named(CHECK_PAGE))["my.py"] == dict(named())["my.py"]
    said = cli(*shlex.split(CHECK)[1:])
    assert said.code == 1 and CLOCK.sub("", f"$ {CHECK}\n{said.out}") == CLOCK.sub("", whole)
    parts = shown.split("...\n")  # the README leaves lines out
    assert len(parts) == 3 and parts[-1] == "" and whole.startswith(parts[0]) and parts[1] in whole


def test_a_reward_is_audited_and_prints_what_the_readme_shows(cli, tmp_path):
    (tmp_path / "my.py").write_text(dict(named())["my.py"])
    (shown,) = [block for block in blocks("console") if block.startswith(f"$ {AUDIT}\n")]
    said = cli(*shlex.split(AUDIT)[1:])
    head, mend, rest = shown.removeprefix(f"$ {AUDIT}\n").split("...\n")
    assert said.code == 1 and said.out.startswith(head) and mend in said.out and rest == ""


def test_the_mended_reward_has_nothing_severe():
    names: dict = {"__name__": "my"}
    exec(compile(files()["my.py"], "my.py", "exec"), names)
    report = gd.check_reward(gd.reward(isolate=False)(names["right"]), "trace:3", problems=5)
    assert report.ok and all(row["level"] == 0 for row in report.kinds if not row["right"])


def your_own_data(folder: Path) -> None:
    """The files of that page."""
    (csv,) = blocks("csv", YOUR_OWN_DATA)
    (folder / "my.csv").write_text(csv)
    for name, text in zip(("sky.jsonl", "worked.jsonl"), blocks("json", YOUR_OWN_DATA), strict=True):
        (folder / name).write_text(text)
    for name, text in named(YOUR_OWN_DATA):
        (folder / name).write_text(text)


@pytest.mark.slow
@pytest.mark.filterwarnings("default::guerdon.core.errors.InputNote")
def test_your_own_data(cli, tmp_path):
    """The commands of the page, and what they print of the rows."""
    your_own_data(tmp_path)
    shown = "\n".join(blocks("console", YOUR_OWN_DATA))
    assert [command.split()[1] for command in commands(YOUR_OWN_DATA)] == ["eval"] * 4
    for command in commands(YOUR_OWN_DATA):
        result = cli(*shorter(command), "--max-tokens", "32")
        assert result.code == 0, f"{command}: {result.err}"
        told = [line for line in result.err.splitlines() if line.startswith("my.csv: ")]
        assert len(told) == 2 and ("Be brief" in command or all(line in shown for line in told)), result.err


def test_your_own_data_in_python_and_as_it_is_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    your_own_data(tmp_path)
    exec(compile(dict(named(YOUR_OWN_DATA))["mine.py"], "mine.py", "exec"), {})
    assert capsys.readouterr().out == "chain 2 *5 -7 2\n"
    (seen,) = blocks("text", YOUR_OWN_DATA)
    assert gd.tasks.rows("sky.jsonl").get("train", 0).prompt + "\n" == seen
    worked = gd.tasks.rows("worked.jsonl")
    assert worked.get("train", 0).answer == "24" and worked.solution(worked.get("train", 0)).startswith("4+2=6")


def test_in_python(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("python", "docs/in_python.md")
    space: dict = {}
    exec(compile(code, "docs/in_python.md", "exec"), space)
    assert space["batch"].K == 128 and 0 <= space["run"].evaluations[-1]["pass@1"] <= 1
