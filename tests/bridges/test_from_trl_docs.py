"""docs/from_trl.md does what it says: its files are written and run, and its words are those of both libraries."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest
from small import small_lm

import guerdon as gd
from guerdon.core.part import handles, knobs
from guerdon.tasks import load
from guerdon.training.catalog import find_recipe

PAGE = (Path(__file__).parents[2] / "docs" / "from_trl.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
FILES = {name[1]: block for block in BLOCKS if (name := re.match(r"# (\w+\.py)\n", block))}
CLOCK = re.compile(r"^a call takes .*$", re.MULTILINE)  # how long is the machine's to say


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the reward file, the rows and the model that the page names."""
    (tmp_path / "rewards.py").write_text(FILES["rewards.py"])
    (rows,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "my.jsonl").write_text(rows)
    (tmp_path / "my-model").mkdir()
    small_lm(tmp_path / "my-model")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield tmp_path
    sys.modules.pop("rewards", None)


def run(code: str, names: dict | None = None) -> dict:
    names = {} if names is None else names
    exec(compile(code, "from_trl.md", "exec"), names)
    return names


def test_the_reward_file_works_unchanged_and_prints_what_the_page_shows(folder, capsys):
    names: dict = {}
    for code in BLOCKS:
        if not code.startswith("# "):
            run(code, names)
    shown = "".join(re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL))
    assert CLOCK.sub("", capsys.readouterr().out) == CLOCK.sub("", shown)


@pytest.mark.slow
def test_the_run_of_ours(folder):
    trained = run(FILES["with_guerdon.py"])["run"]
    assert trained.batch(1).K == 16 and (trained.path / "report.html").is_file()


@pytest.mark.filterwarnings("ignore")
def test_the_run_of_theirs(folder):
    for library in ("trl", "datasets"):
        pytest.importorskip(library)
    trainer = run(FILES["with_trl.py"])["trainer"]
    assert trainer.state.global_step == 2 and "rewards/accuracy/mean" in trainer.state.log_history[-1]


def table() -> list[list[str]]:
    section = PAGE.partition("## Words")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in section.splitlines() if "`" in line[:3]]
    assert len(rows) > 20
    return rows


def test_their_words_and_defaults_are_true():
    trl = pytest.importorskip("trl")
    fields = {f.name: f for f in dataclasses.fields(trl.GRPOConfig)}
    for theirs, default, *_ in table():
        names = re.findall(r"`(\w+)", theirs)
        foreign = {"peft_config", "resume_from_checkpoint", "eval_dataset"}  # arguments of the trainer, and of `train`
        assert [name for name in names if name not in fields and name not in foreign | {"LoraConfig"}] == []
        if default and " " not in theirs:
            assert repr(fields[names[0]].default).replace("'", '"') == default.strip("`"), theirs


def test_our_words_and_defaults_are_true(tmp_path):
    recipe = find_recipe("grpo")
    built = recipe(load("chain"), small_lm(tmp_path))
    own = {name: p.default for name, p in inspect.signature(recipe.function).parameters.items()} | {"seed": 0}
    own |= {f"{h}.{knob}": value for h, part in handles(built).items() for knob, value in knobs(part).items()}
    for *_, ours, default in table():
        if default:
            (name, *_rest) = re.findall(r"`([\w.]+)", ours)
            assert repr(own[name]).replace("'", '"') == default.strip("`"), name


def losses() -> list[list[str]]:
    section = PAGE.partition("## Losses over preferences")[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in line[1:-1].split(" | ")] for line in section.splitlines() if line.startswith("| ")
    ]
    return rows[2:]


def test_every_loss_over_pairs_of_theirs_has_a_row():
    trl = pytest.importorskip("trl")
    for module, theirs in (
        ("trainer.dpo_trainer", "DPOTrainer"),
        ("trainer.kto_trainer", "KTOTrainer"),
        ("experimental.cpo.cpo_trainer", "CPOTrainer"),
        ("experimental.online_dpo.online_dpo_trainer", "OnlineDPOTrainer"),
    ):
        trainer, of = "", []
        for first, told, *_ in losses():
            trainer = first.strip("`") or trainer
            of += re.findall(r"`(\w+)", told) if trainer == theirs else []
        source = Path(trl.__file__).parent.joinpath(*module.split(".")).with_suffix(".py").read_text()
        known = set(re.findall(r'loss_type == "(\w+)"', source)) - {"kto_pair"}  # which they refuse by now
        assert known and known <= set(of), theirs


def test_our_losses_are_made_as_the_table_says():
    made, names = 0, {name: getattr(gd.losses, name) for name in dir(gd.losses)}
    for row in losses():
        for code in re.findall(r"`((?:dpo|kto|anchored|odds_ratio|better_nll)\(.*?)`", row[-1]):
            assert isinstance(eval(code, dict(names)), gd.losses.Term)
            made += 1
        for setting in re.findall(r"`([\w.]+=\w[\w.]*)`", row[2] if len(row) > 3 else ""):
            name, _, value = setting.partition("=")
            smoothing = {"smoothing": "0.1"} if value == "reverse" else {}
            find_recipe("dpo").build(
                {"task": load("chain"), "model": gd.models.tabular()}, {name: value, **smoothing}, text=True
            )
            made += 1
    assert made > 20
