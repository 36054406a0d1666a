"""Labels put to use: a reward held against them, a reward model and a policy trained on them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from command_line import command_line

import guerdon as gd
from guerdon.audits.labelled import read_labelled
from guerdon.core.errors import UserError
from guerdon.runs.label_files import label
from guerdon.studio.labels.labelled_samples import sample_row
from guerdon.studio.library import Library

MINE = """
import guerdon as gd


@gd.reward(isolate=False)
def loose(completion, answer):
    return float(answer in completion)


@gd.reward(isolate=False)
def by_sum(completion, numbers):
    return float(completion == str(sum(numbers)))


@gd.reward(isolate=False)
def breaks(completion):
    raise ValueError(completion)
"""
ROWS = [  # kind, the generated text; the answer is 12
    ("right", "12"),
    ("right", "= 12"),
    ("wrong", "13"),
    ("wrong", "it is not 12"),
    ("hack", "10 11 12 13"),
]


def rows(**more: Any) -> list[dict[str, Any]]:
    return [
        {"prompt": "5+7=", "completion": said, "label": kind == "right", "kind": kind, "answer": "12", **more}
        for kind, said in ROWS
    ]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    (tmp_path / "labelled.py").write_text(MINE)
    (tmp_path / "truth.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows(meta={"numbers": [5, 7]})))
    return command_line(tmp_path, monkeypatch, capsys)


def test_what_is_paid_though_it_is_wrong_or_a_hack_is_severe(cli: Any) -> None:
    said = cli("check", "labelled.py:loose", "--labels", "truth.jsonl", "--json")
    report = json.loads(said.out)
    told = report["labelled"]
    assert said.code == 1 and not report["ok"] and report["samples"] == 5 and report["problems"] == 1
    # right ones get 1, 1; wrong ones 0, 1, so the line is (1 + 0.5) / 2; the hack 1
    assert (told["agree"], told["wrong_paid"], told["right_unpaid"], told["scored"]) == (3, 2, 0, 5)
    assert told["auc"] == pytest.approx((2 * 1 + 4 * 0.5) / 6)
    assert [(row["label"], row["count"], row["mean"]) for row in told["kinds"]] == [
        ("right", 2, 1.0),
        ("wrong", 2, 0.5),
        ("hacks", 1, 1.0),
    ]
    assert [f["says"] for f in report["findings"]] == [
        "1 of 1 labelled hacks are paid like right ones",
        "1 of 2 labelled wrong are paid like right ones",
    ]
    assert report["findings"][1]["note"] == "'it is not 12' is paid 1, right ones usually 1"


def test_the_page_of_it_fits(cli: Any) -> None:
    said = cli("check", "labelled.py:loose", "--labels", "truth.jsonl")
    assert "SEVERE" in said.out and "1 of 1 labelled hacks are paid like right ones" in said.out
    assert "the reward agrees with 3 of 5 labels; AUC of right samples against others 0.667" in said.out
    assert max(map(len, said.out.splitlines())) <= 88


def test_a_right_one_that_is_not_paid_is_severe_and_a_sound_reward_passes() -> None:
    strict = gd.reward(lambda completion, answer: float(completion == answer), isolate=False)
    report = gd.check_reward(strict, labels=rows())
    assert [(f.says, f.note) for f in report.severe] == [
        ("1 of 2 labelled right are paid like wrong ones", "'= 12' is paid 0, right ones usually 0.5")
    ]
    sound = gd.reward(lambda completion, answer: float(completion.removeprefix("= ") == answer), isolate=False)
    assert gd.check_reward(sound, labels=rows()).ok
    with pytest.raises(UserError, match="labelled right are paid like wrong ones"):
        gd.check_reward(strict, labels=rows(), strict=True)


def test_beside_a_task_and_fields_of_the_rows(cli: Any) -> None:
    both = json.loads(
        cli("check", "exact", "--task", "chain:1", "--problems", "2", "--labels", "truth.jsonl", "--json").out
    )
    assert both["labelled"]["agree"] == 4 and both["kinds"] and both["task"] == "chain:1"
    summed = json.loads(cli("check", "labelled.py:by_sum", "--labels", "truth.jsonl", "--json").out)
    assert summed["labelled"]["right_unpaid"] == 1, "numbers come from the rows' meta"
    broken = json.loads(cli("check", "labelled.py:breaks", "--labels", "truth.jsonl", "--json").out)
    assert broken["findings"][0]["says"] == "it gives no score to 5 of 5 labelled samples"
    assert "what a right one is paid is not known" in broken["findings"][1]["says"]


def test_tokens_and_turns_are_there() -> None:
    seen: list[tuple[int, list[str]]] = []

    @gd.reward(isolate=False)
    def looks(actions: Any, turns: list[str]) -> float:
        seen.append((len(actions), turns))
        return 1.0

    gd.check_reward(looks, labels=[{"prompt": "5+7=", "completion": "12", "label": 1, "turns": ["?", "12"]}])
    assert seen[0][0] >= 1 and seen[0][1] == ["?", "12"]


def test_talks_are_read_and_what_is_no_label_is_refused(tmp_path: Path) -> None:
    talk = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "5+7="}]
    (one,) = read_labelled([{"prompt": talk, "completion": "12", "label": True, "asked": "5 + 7"}])
    assert one.task.prompt == "5 + 7" and one.task.view is not None and one.kind == "right"
    bad = tmp_path / "bad.jsonl"
    bad.write_text(
        '{"prompt": "a", "completion": "b", "label": true}\n{"prompt": "a", "completion": "b", "label": "hm"}\n'
    )
    with pytest.raises(
        UserError, match=r"bad.jsonl, line 2: a label in column 'label' is true or false, 1 or 0, not 'hm'"
    ):
        read_labelled(bad)
    with pytest.raises(UserError, match=r'holds no labels \(columns: .*\): a row is {"prompt"'):
        read_labelled([{"prompt": "a", "chosen": "b", "rejected": "c"}])
    (tmp_path / "none.jsonl").write_text("")
    with pytest.raises(UserError, match=r"none\.jsonl"):
        read_labelled(tmp_path / "none.jsonl")


@pytest.fixture
def labelled_run(small_run: Path, tmp_path: Path) -> Path:
    """A run with verdicts on two tries at each of some prompts."""
    shutil.copytree(small_run / "first", tmp_path / "runs/first")
    run = Library([tmp_path / "runs"]).runs()[0].run
    by_prompt: dict[tuple[str, bool], dict[str, Any]] = {}
    for row in run.rollouts.to_pylist():
        by_prompt.setdefault((row["prompt"], row["correct"] == 1.0), row)
    for (_, is_right), row in by_prompt.items():
        sample = sample_row(run, (row["step"], row["episode"], row["segment"]))
        label(run.path, {"kind": "right" if is_right else "wrong", **sample})
    return Path(tmp_path / "runs/first")


@pytest.mark.parametrize(
    ("recipe", "file"), [("reward_model", "pairs.jsonl"), ("dpo", "pairs.jsonl"), ("kto", "truth.jsonl")]
)
@pytest.mark.slow
def test_recipes_take_the_files_as_they_stand(labelled_run: Path, tmp_path: Path, recipe: str, file: str) -> None:
    data = labelled_run / "labels" / file
    prompts = {json.loads(line)["prompt"] for line in data.read_text().splitlines()}
    assert len(prompts) >= 3, "else nothing could be held out"
    run = gd.train(
        recipe,
        data=str(data),
        model="sprig",
        steps=1,
        options=gd.Options(eval_tasks=0),
        out=str(tmp_path / recipe),
        progress=False,
    )
    assert run.status == "complete" and run.steps_done == 1
