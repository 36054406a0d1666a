"""`replay`: the same samples under another reward, against numbers computed anew from the Parquet files."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from command_line import Cli, command_line, refused

import guerdon as gd
from guerdon.cli.main import main
from guerdon.credit.group_relative import centre
from guerdon.models.tables import tabular
from guerdon.recipes.curriculum.dr_saf.parts import spare_correct
from guerdon.recipes.house.grpo import grpo
from guerdon.runs.checksums import sealed
from guerdon.runs.folder import RunFolder
from guerdon.runs.whole_files import write_json
from guerdon.tasks.families.tiny import successor

WEIGHTS = """
import guerdon as gd


def right(answer, completion):
    return float(answer == completion)


def low(completion):
    return -float(ord(completion[-1])) if completion else None


def picky(completion):
    if completion in ("0", "1"):
        raise ValueError("neither nought nor one")
    return None if completion == "2" else 1.0


def strange(colour):
    return 1.0


trained = gd.blend(right=right, low=gd.reward(low).weight(0.01))
changed = gd.blend(right=gd.reward(right).weight(0.2), low=gd.reward(low).weight(-0.05), picky=gd.reward(right).weight(0))
"""
TRAIN = ("train", "grpo", "--task", "successor", "--model", "tabular", "--set", "tabular.length=1", "--steps", "3")
HOW = ("--set", "prompts=4", "--set", "tries=6", "--set", "lr=0.3", "--eval-tasks", "0")


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    run = command_line(tmp_path, monkeypatch, capsys)
    Path("formulas.py").write_text(WEIGHTS)
    return run


@pytest.fixture(scope="module")
def trained_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run's folder; nobody changes it."""
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("formulas.py").write_text(WEIGHTS)
        assert main((*TRAIN, *HOW, "--reward", "formulas.py:trained", "--out", "a")) == 0
    return folder / "a"


@pytest.fixture
def trained(cli: Cli, trained_once: Path) -> Cli:
    """The command line beside a copy of that run."""
    shutil.copytree(trained_once, "a")
    return cli


def stored(path: str = "a") -> list[list[dict[str, object]]]:
    return [pq.read_table(p).to_pylist() for p in sorted(Path(path, "rollouts").glob("*.parquet"))]


def changed_reward(row) -> float:
    hit = float(row["answer"] == row["text"])
    return 0.2 * hit + (0.05 * ord(row["text"][-1]) if row["text"] else 0.0)


def expected(rows, reward) -> dict[str, object]:
    """One step by other means: plain numpy over the rows of its file."""
    new = np.array([reward(r) for r in rows], np.float32)
    groups = np.array([r["task_id"] for r in rows])
    gap = np.array(
        [x - np.float32(new[groups == g].astype(np.float64).mean()) for x, g in zip(new, groups, strict=True)]
    )
    was, now = np.array([np.sign(r["col.advantage"][0]) for r in rows]), np.sign(gap)
    old = np.array([r["col.reward"][0] for r in rows])
    return {
        "flips": int((was * now == -1).sum()),
        "zero_to_nonzero": int(((was == 0) & (now != 0)).sum()),
        "nonzero_to_zero": int(((was != 0) & (now == 0)).sum()),
        "pearson": np.corrcoef(old, new.astype(np.float64))[0, 1],
    }


def test_sign_flips_are_those_of_the_stored_rows(trained: Cli) -> None:
    found = gd.replay("a", reward="formulas.py:changed")
    files = stored()
    assert [row["step"] for row in found.steps] == [0, 1, 2]
    for row, rows in zip(found.steps, files, strict=True):
        assert row["samples"] == row["scored"] == row["compared"] == row["correlated"] == len(rows) == 24
        for name, value in expected(rows, changed_reward).items():
            assert row[name] == (pytest.approx(value) if name == "pearson" else value)
    assert found.total["flips"] == sum(row["flips"] for row in found.steps) > 0
    every = [r for rows in files for r in rows]
    assert found.total["new_mean"] == pytest.approx(np.mean([changed_reward(r) for r in every]), rel=1e-6)
    assert found.total["old_mean"] == pytest.approx(np.mean([r["col.reward"][0] for r in every]))
    assert (found.column, found.credit_from, found.old_advantage) == ("reward", "the run's recipe", "stored")
    assert found.credit == "centre()" and found.notes == []
    means = {c["name"]: c for c in found.components}
    assert set(means) == {"right", "low", "picky"} and math.isnan(means["picky"]["old_mean"])
    assert means["right"]["mean"] == means["right"]["old_mean"] == np.mean([r["col.reward.right"][0] for r in every])


def test_the_samples_that_moved_most_come_first(trained: Cli) -> None:
    found = gd.replay("a", reward="formulas.py:changed", top=1000).moved
    far = [abs(m["new_advantage"] - m["old_advantage"]) for m in found]
    assert far == sorted(far, reverse=True) and far[0] > 1
    files = stored()
    for m in found:
        rows = [r for r in files[m["step"]] if r["task_id"] == m["task"] and r["text"] == m["completion"]]
        assert m["old_reward"] in [r["col.reward"][0] for r in rows]
        assert m["new_reward"] == pytest.approx(changed_reward(rows[0]), rel=1e-6)
    assert gd.replay("a", reward="formulas.py:changed", top=2).moved == found[:2]


def test_the_same_reward_changes_nothing(trained: Cli) -> None:
    found = gd.replay("a", reward="formulas.py:trained")
    for row in (*found.steps, found.total):
        assert row["flips"] == row["zero_to_nonzero"] == row["nonzero_to_zero"] == 0
        assert row["pearson"] == pytest.approx(1.0) and row["spearman"] == pytest.approx(1.0)
        assert row["old_mean"] == row["new_mean"]
    assert found.moved == [] and found.failures == [] and found.notes == []


def test_a_reward_that_breaks_on_some_samples(trained: Cli) -> None:
    found = gd.replay("a", reward="formulas.py:picky", steps=[1], top=3)
    texts = [r["text"] for r in stored()[1]]
    broken, absent = sum(t in ("0", "1") for t in texts), texts.count("2")
    total = found.total
    assert broken and absent and len(found.steps) == 1
    assert (total["failed"], total["not_applicable"]) == (broken, absent)
    assert total["scored"] == total["compared"] == total["correlated"] == len(texts) - broken - absent
    assert math.isnan(total["pearson"]) and math.isnan(total["spearman"])  # it is 1 wherever it is anything
    assert {f["error"] for f in found.failures} == {"ValueError: neither nought nor one"}
    assert len(found.failures) == min(3, broken)
    said = trained("replay", "a", "--reward", "formulas.py:picky")
    assert said.code == 0 and "ValueError: neither nought nor one" in said.out


def test_json_and_words_say_the_same(trained: Cli) -> None:
    words = ("replay", "a", "--reward", "formulas.py:changed", "--step", "2", "--step", "0", "--top", "4")
    found = trained(*words, "--json").json
    fields = "run reward column credit credit_from old_advantage steps total components moved failures notes"
    assert set(found) == {*fields.split(), "version", "old_version"}
    assert [row["step"] for row in found["steps"]] == [0, 2] and len(found["moved"]) == 4
    assert found["components"][2] == {"name": "picky", "mean": found["components"][0]["mean"], "count": 48} | {
        "old_mean": None
    }
    assert set(found["moved"][0]) == {
        *("step", "task", "completion", "old_reward", "new_reward", "old_advantage", "new_advantage")
    }
    said = trained(*words)
    assert said.code == 0 and said.err == ""
    line = next(line for line in said.out.splitlines() if line.startswith("all ")).split()
    assert line[1:5] == [str(found["total"][n]) for n in ("samples", "scored", "compared", "flips")]
    assert "0.2 * right - 0.05 * low" in said.out and "centre(), from the run's recipe" in said.out


def test_a_run_without_a_reward_of_its_own_is_compared_with_the_truth(cli: Cli) -> None:
    assert cli(*TRAIN, *HOW, "--out", "b").code == 0
    found = gd.replay("b", reward="formulas.py:right")
    assert found.column == "correct" and found.credit == "centre(reward='correct')"
    assert found.total["flips"] == 0 and found.total["pearson"] == pytest.approx(1.0)


def test_a_run_that_says_nothing_of_its_rewards_is_replayed(trained: Cli) -> None:
    folder = RunFolder("a")
    write_json(folder.config_file, sealed({**folder.read_config(), "rewards": None}))
    assert trained("replay", "a", "--reward", "formulas.py:low").code == 0 and trained("show", "a").code == 0


def test_where_credit_is_found(cli: Cli) -> None:
    assert cli(*TRAIN, *HOW, "--reward", "formulas.py:trained", "--out", "a").code == 0

    def correct(answer, completion):
        return answer == completion

    by_recipe = gd.replay("a", reward=correct)
    Path("formulas.py").rename("moved.py")
    by_config = gd.replay("a", reward=correct)
    assert by_config.credit_from == "the run's config" and by_config.total == by_recipe.total
    plain = gd.replay("a", reward=correct, credit=centre(std=False))
    assert plain.credit == "centre(std=False)" and plain.old_advantage == "made by the same credit"
    assert plain.total["flips"] == by_recipe.total["flips"]
    other = gd.replay("a", reward=correct, column="correct")
    assert other.credit_from.startswith("the default") and other.total["flips"] == 0
    assert other.old_advantage == "made by the same credit"


def test_credit_that_lives_with_a_recipe_is_found_too(cli: Cli) -> None:
    task, model = successor(), tabular(length=1)
    recipe = grpo(task, model, prompts=4, tries=6, lr=0.3, steps=2)
    gd.train(recipe.but(centre=spare_correct("correct")), out="a", options=gd.Options(eval_tasks=0))
    replayed = gd.replay("a", reward="formulas.py:right")
    assert (replayed.credit, replayed.credit_from) == ("sparing(reward='correct')", "the run's config")
    assert replayed.total["flips"] == 0 and replayed.notes == []


def test_another_credit_than_the_runs_is_said(cli: Cli) -> None:
    cli(*TRAIN, *HOW, "--set", "centre.std=false", "--reward", "formulas.py:trained", "--out", "a")
    assert gd.replay("a", reward="formulas.py:trained").notes == []
    config = Path("a/run.json")
    text = config.read_text().replace('"part": "centre"', '"part": "mine"').replace('"plain": true', '"plain": false')
    config.write_text(json.dumps(sealed(json.loads(text))))
    found = gd.replay("a", reward="formulas.py:trained")
    assert found.credit_from == "the default: the run was started from Python objects"
    assert found.total["flips"] == 0 and "another advantage than the stored one" in found.notes[0]


def test_what_cannot_be_replayed_is_refused_in_a_line(trained: Cli) -> None:
    def replayed(*words: str):
        return trained("replay", *words)

    refused(replayed("a", "--reward", "formulas.py:strange"), "argument of reward strange", "colour")
    refused(replayed("a", "--reward", "formulas.py:rigt"), "did you mean 'right'")
    refused(replayed("a", "--reward", "formulas.py:right", "--step", "7"), "no rollouts of step 7", "0 to 2")
    refused(replayed("a", "--reward", "formulas.py:right", "--column", "rewards"), "did you mean 'reward'")
    refused(replayed("nowhere", "--reward", "formulas.py:right"), "is not a run folder")
    trained(*TRAIN, *HOW, "--rollouts-every", "0", "--out", "bare")
    refused(replayed("bare", "--reward", "formulas.py:right"), "stores no rollouts", "--rollouts-every 1")
    trained("train", "mine.py:twice", "--task", "parity", "--model", "tabular", "--out", "study")
    refused(replayed("study", "--reward", "formulas.py:right"), "is a study")


@pytest.mark.slow
def test_the_page_on_replay_is_right(cli: Cli) -> None:
    page = (Path(__file__).parent.parent / "docs" / "replay.md").read_text()
    (block,) = re.findall(r"```python\n# my\.py\n(.*?)```", page, re.S)
    Path("my.py").write_text(block)
    train, replay = (line.removeprefix("$ guerdon ").split() for line in re.findall(r"^\$ .*$", page, re.M))
    assert cli(*train).code == 0
    said = cli(*replay)
    assert said.code == 0 and said.out.splitlines()[:4] == page.partition("--top 3\n")[2].splitlines()[:4]
    (code,) = re.findall(r"## In Python\n\n```python\n(.*?)```", page, re.S)
    space: dict[str, object] = {}
    exec(compile(code, "replay.md", "exec"), space)
    assert [row["step"] for row in space["found"].steps] == [0, 2]
