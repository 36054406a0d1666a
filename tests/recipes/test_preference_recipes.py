"""Recipes that learn from files of answers: what they make of the rows, what they are examined by, and that they resume."""

from __future__ import annotations

import json
import math
import shutil
from types import SimpleNamespace

import pytest
import torch
from killing import killed_at
from refusals import refusal
from scheduling import mostly_slow
from small import small_lm, table

import guerdon as gd
from guerdon.cli.main import main
from guerdon.core.column import Column
from guerdon.core.errors import Notice, UserError
from guerdon.core.example import ExamplePlay
from guerdon.core.pack import pack
from guerdon.core.part import describe
from guerdon.curricula.demonstrations import dataset_rows
from guerdon.engine.player import Player
from guerdon.envs.contrasting import side_by_side
from guerdon.exams.exam import Exam, Sitting
from guerdon.exams.scorers import first_error, implicit_pairs
from guerdon.models.language_model import lm
from guerdon.models.tables import tabular
from guerdon.rewards.stage.score_stages import verified
from guerdon.rewards.stage.step_labels import given_labels, labelled_solutions
from guerdon.tasks.families.chained_arithmetic import chain
from guerdon.tasks.preference_files import preferences
from guerdon.tasks.step_files import labelled_steps
from guerdon.training.catalog import find_recipe

QUIETLY = pytest.mark.filterwarnings("ignore::guerdon.core.errors.Notice")
KEPT = gd.Options(save_every=1, eval_tasks=2)
PAIRS = [{"prompt": f"{n} + 4 =", "chosen": f"so {n + 4}", "rejected": f"the sum of {n}"} for n in range(8)]
LABELS = [{"prompt": f"{n} + 4 =", "completion": f"so {n + n % 2}", "label": n % 2 == 0} for n in range(20)]
STEPS = [{"prompt": f"{n} + 4 =", "completions": [f"x = {n}", f"= {n + 4}"], "labels": [1, n % 2]} for n in range(8)]
RECIPES = {"reward_model": PAIRS, "dpo": PAIRS, "kto": LABELS, "process_reward_model": STEPS}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A small model, `lm`, and a file of each kind."""
    folder = tmp_path_factory.mktemp("place")
    small_lm(folder / "lm")
    for name, rows in {"pairs": PAIRS, "labels": LABELS, "steps": STEPS}.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def recited(source, model, split="train", count=None):
    play = Player({"policy": model}, {"policy": "policy"}, side_by_side(), gd.Sampling(), 0, 1)
    asks = [gd.Ask(source.get(split, n), note={"say": source.get(split, n).meta["say"]}) for n in range(count or 1)]
    return pack(play(asks)), play


# --- what is drawn ----------------------------------------------------------------------------------------------------


def test_a_lap_has_every_task_once_and_those_of_a_prompt_together():
    rows = [{"prompt": "abcdef"[n % 6], "chosen": f"{n}", "rejected": "-"} for n in range(24)]
    source = preferences(rows, held_out=0.2)  # two of the six prompts
    asks, play = dataset_rows(source), ExamplePlay()
    first = [ask.task for ask in asks.draw(10, play) + asks.draw(6, play)]
    second = [ask.task for ask in asks.draw(16, play)]
    assert {t.id for t in first} == {t.id for t in second} and len({t.id for t in first}) == 16
    assert {t.prompt for t in first} == set("abcd") and [t.id for t in first] != [t.id for t in second]
    for lap in (first, second):
        assert [t.prompt for t in lap] == [p for p in dict.fromkeys(t.prompt for t in lap) for _ in range(4)]
    again = dataset_rows(source)
    again.drawn = 10  # as after a resume
    assert [ask.task.id for ask in again.draw(6, ExamplePlay())] == [t.id for t in first[10:]]
    assert {ask.task.prompt for ask in asks.exam_asks(99, 1, play)} == {"e", "f"}
    with refusal(UserError):
        dataset_rows(gd.tasks.load("chain:1"))


# --- labels of steps --------------------------------------------------------------------------------------------------


def test_a_label_lies_where_its_step_ends(place):
    model = lm(source=str(place / "lm"))
    model.start(0, {})
    rows = [
        {"prompt": "x + 4 = 9", "completions": ["x = 9\n\n  so 5", "the sum", "= 5"], "labels": [1, 0, 1]},
        {"prompt": "x + 4 = 8", "completions": ["so 4", "= 4"], "labels": [0, 1]},
        {"prompt": "x", "completions": ["so"], "labels": [-1]},
    ]
    source = labelled_steps(rows, held_out=0.0)
    batch, play = recited(source, model, count=3)
    labels = given_labels()(batch, play)["labels"].tolist()
    ends = [s for s in range(batch.S) if not math.isnan(labels[s])]
    said = [model.decode(batch.action[: s + 1].tolist()) for s in ends]
    first = "x = 9\n\n  so 5\nthe sum\n= 5"
    second = f"{first}so 4\n= 4"
    # the first step ends on its second line; neutral ones have no label; the third row's only step is wrong
    assert [labels[s] for s in ends] == [1.0, 1.0, 1.0, 0.0]
    assert [text.strip() for text in said] == ["x = 9\n\n  so 5", first, second, f"{second}so"]
    solutions = labelled_solutions(batch, play)
    assert [each.wrong for each in solutions] == [None, None, 0] and len(solutions[0].ends) == 3
    other = pack(play([gd.Ask(source.get("train", 0), note={"say": ["x = 9"]})]))  # not what was labelled
    assert labelled_solutions(other, play) == []


def test_the_exam_of_labelled_steps_by_hand(place):
    model = lm(source=str(place / "lm"))
    model.start(0, {})
    rows = [
        {"prompt": "a", "completions": ["so 1", "= 1"], "labels": [1, 1]},
        {"prompt": "b", "completions": ["so 2", "= 3"], "labels": [1, -1]},
        {"prompt": "c", "completions": ["so 4", "= 4"], "labels": [0, 1]},
    ]
    source = labelled_steps(rows, held_out=0.0)
    batch, play = recited(source, model, count=3)
    after = torch.zeros(batch.S)
    says = [[2.0, 1.0], [1.0, -3.0], [-1.0, 1.0]]
    for solution, values in zip(labelled_solutions(batch, play), says, strict=True):
        after[solution.ends] = torch.tensor(values)
    batch = batch.with_cols({"prm.after": Column.full("step", after)})
    exam = Exam(dataset_rows(source), [first_error("prm")])
    numbers = first_error("prm")(Sitting(exam, batch, play, 1))
    # the neutral step is in no rate of steps, but is called wrong, so that its solution is not cleared
    assert numbers["steps_examined"] == 5 and numbers["step_accuracy"] == 1.0
    chance = [1 / (1 + math.exp(-v)) for v in (2.0, 1.0, 1.0, -3.0, 1.0)]
    want = sum((p - y) ** 2 for p, y in zip(chance, (1, 1, 1, 0, 1), strict=True)) / 5
    assert numbers["step_brier"] == pytest.approx(want)
    assert (numbers["found_share"], numbers["cleared_share"]) == (1.0, 0.5)


# --- the exam of a policy on pairs --------------------------------------------------------------------------------------


def test_the_implied_pairs_by_hand():
    """0 became likelier by a factor of 1.5, 1 less likely by one half."""
    rows = [
        {"prompt": p, "chosen": c, "rejected": r}
        for p, c, r in (("a", "00", "01"), ("b", "11", "10"), ("c", "01", "10"))
    ]
    source = preferences(rows, held_out=0.0)
    policy, reference = table(3, 1), table(1, 1)
    batch, play = recited(source, policy, count=3)
    batch = verified(source)(batch, play)
    for name, model in (("policy", policy), ("reference", reference)):
        batch = batch.with_cols({f"{name}.logp": Column.full("step", model.read(batch, ["logp"])["logp"].detach())})
    up, down = math.log(1.5), math.log(0.5)
    sitting = Sitting(Exam(dataset_rows(source), [implicit_pairs()]), batch, play, 1)
    numbers = implicit_pairs(beta=2.0)(sitting)
    assert numbers["pairs_examined"] == 3 and numbers["pair_accuracy"] == 0.5  # right, wrong, a tie
    assert numbers["pair_margin"] == pytest.approx(0.0, abs=1e-6)
    across = implicit_pairs(beta=2.0, across=True)(sitting)
    better, worse = [2 * up, 2 * down, up + down], [up + down, up + down, up + down]
    margins = [2 * (b - w) for b in better for w in worse]
    assert across["pairs_examined"] == 9 and across["pair_margin"] == pytest.approx(sum(margins) / 9, abs=1e-6)
    assert across["pair_accuracy"] == pytest.approx((3 + 0 + 1.5) / 9)
    none = Sitting(sitting.exam, verified(SimpleNamespace(check=lambda task, text: None))(batch, play), play, 1)
    assert implicit_pairs()(none) == {"pairs_examined": 0}


# --- recipes ------------------------------------------------------------------------------------------------------------


def train(name, place, out, **more):
    data = {"path": str(place / f"{ {'kto': 'labels', 'process_reward_model': 'steps'}.get(name, 'pairs') }.jsonl")}
    how = {"data": data, "model": str(place / "lm"), "prompts": 3, "steps": 2, "lr": 1e-3, "seed": 3, "options": KEPT}
    return gd.train(name, out=out, **{**how, **more})


@QUIETLY
@pytest.mark.parametrize("name", mostly_slow([*RECIPES], "dpo"))
def test_a_recipe_learns_from_a_file_and_resumes(name, place, tmp_path):
    whole = train(name, place, tmp_path / "whole")
    with killed_at(1):
        train(name, place, tmp_path / "broken")
    again = gd.train(resume=tmp_path / "broken")
    assert again.weights == whole.weights and again.evaluations == whole.evaluations
    start, end = whole.evaluations
    if name in ("dpo", "kto"):
        assert (start["pairs/pair_accuracy"], start["pairs/pair_margin"]) == (0.5, 0.0) and end[
            "pairs/pair_margin"
        ] != 0
        assert not any(key.startswith("pass@") for key in end)  # nobody knows what else would be right
    elif name == "reward_model":
        assert start["rm/pair_accuracy"] == 0.5 and start["rm/pairs_examined"] == 1 and end["rm/pair_brier"] != 0.25
    else:
        assert start["prm/step_brier"] == 0.25 and end["prm/step_brier"] != 0.25
    batch = whole.batch(0)
    rows = {row["prompt"]: row for row in RECIPES[name]}
    said = {(e.task.prompt, s.text) for e in batch.episodes for s in e.segments}
    assert len(batch.episodes) == 3 and {prompt for prompt, _ in said} <= set(rows)
    for prompt, text in said:  # nothing but what the file says, and no try of the model's
        row = rows[prompt]
        assert text in (
            row.get("chosen"),
            row.get("rejected"),
            row.get("completion"),
            "\n".join(row.get("completions", ())),
        )


@QUIETLY
def test_messages_are_shown_whole_and_a_scorer_reads_them(place, tmp_path):
    talk = [{"role": "user", "content": "x + 4 = 9"}, {"role": "assistant", "content": "so 5"}]
    rows = [
        {
            "chosen": [*talk, {"role": "user", "content": f"{n}?"}, {"role": "assistant", "content": "357"}],
            "rejected": [*talk, {"role": "user", "content": f"{n}?"}, {"role": "assistant", "content": "12"}],
        }
        for n in range(4)
    ]
    model = lm(source=str(place / "lm"))
    model.start(0, {})
    batch, _ = recited(preferences(rows, held_out=0.25), model)
    assert batch.episodes[0].segments[0].view == [*talk, {"role": "user", "content": "0?"}]
    path = tmp_path / "talks.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = gd.train(
        "reward_model",
        data={"path": str(path)},
        model=str(place / "lm"),
        prompts=2,
        steps=1,
        out=tmp_path / "rm",
        options=KEPT,
    )
    assert run.complete and run.evaluations[-1]["rm/pairs_examined"] == 1


@pytest.mark.parametrize(
    ("settings", "loss"),
    [
        ({"dpo.link": "hinge", "beta": 0.2}, gd.losses.dpo(0.2, link="hinge")),
        ({"dpo.flips": 0.1}, gd.losses.dpo(0.1, flips=0.1)),
        ({"anchored": "apo_zero", "beta": 0.2}, gd.losses.anchored("apo_zero", beta=0.2)),
    ],
)
def test_dpo_takes_the_losses_of_its_relatives(settings, loss):
    entry, slots = find_recipe("dpo"), {"task": chain(level=1), "model": tabular("01", length=1)}
    made = entry.build(slots, settings)
    made.check()
    assert describe(made.stages[-1].loss) == describe(loss)
    with refusal(UserError):
        entry.build(slots, {"anchored": "bco", "smoothing": 0.1})


@pytest.mark.slow
def test_labels_and_margins_of_a_file_reach_the_loss(tmp_path):
    """Where nobody knows which is better a policy that is its own reference has nothing to learn."""
    rows = [{"prompt": f"{n}", "chosen": "1", "rejected": "0", "margin": float(n)} for n in range(4)]

    def trained(name, label, recipe="dpo", **settings):
        path, sure = tmp_path / f"{name}.jsonl", {} if label is None else {"label": label}
        path.write_text("".join(json.dumps({**row, **sure}) + "\n" for row in rows))
        model, out = tabular("01", length=1), tmp_path / name
        return gd.train(
            recipe, data=str(path), model=model, prompts=3, steps=1, lr=0.1, out=out, options=KEPT, **settings
        )

    even, sure, plain = trained("even", 0.5), trained("sure", 1.0), trained("plain", None)
    assert not even.model().net.logits.any() and plain.model().net.logits.any()
    assert torch.equal(sure.model().net.logits, plain.model().net.logits)
    assert even.batch(0).pairs.label.tolist() == [0.5] * 3
    assert sorted(even.batch(0).pairs.margin.tolist()) == sorted(
        float(e.ask.task.prompt) for e in even.batch(0).episodes
    )
    losses = [
        run.metrics.column("policy/loss")[0].as_py()
        for run in (plain, trained("wide", None, settings={"dpo.offset": 5.0}))
    ]
    assert losses[0] == pytest.approx(math.log(2)) and losses[1] > 1.0
    task = preferences([{**row, "label": 0.9} for row in rows])
    (learn,) = find_recipe("reward_model").build({"task": task, "model": small_lm(tmp_path / "lm")}, {}).stages[-1:]
    assert learn.loss.margin == 1.0, "as TRL's reward trainer does"


@QUIETLY
def test_rows_that_are_too_long_are_refused_or_skipped(place, tmp_path):
    long = {"prompt": "x", "chosen": "so " * 2000, "rejected": "12"}
    path = tmp_path / "long.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in (*PAIRS, long)))
    slots = {"model": str(place / "lm"), "out": tmp_path / "run", "steps": 0, "options": gd.Options(eval_tasks=0)}
    with refusal(UserError):
        gd.train("dpo", data={"path": str(path)}, **slots)
    with pytest.warns(Notice, match="skipped 1 bad rows"):
        run = gd.train("dpo", data={"path": str(path), "skip_bad": True}, **slots)
    assert run.recipe.curriculum.task.size("train") == 7 and "skipped: line 9" in run.warnings[0]


@pytest.mark.filterwarnings("default::guerdon.core.errors.Notice")
def test_what_a_recipe_takes_is_said_where_it_is_given_something_else(place, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copy(place / "labels.jsonl", "labels.jsonl")
    for name, rows in (
        ("sums", [{"prompt": f"{n}+1=", "answer": f"{n + 1}"} for n in range(4)]),
        ("odd", [{"q": f"{n}", "a": "so", "b": "12"} for n in range(4)]),
    ):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def refused(*words):
        assert main(["train", *words, "--model", str(place / "lm"), "--steps", "0"]) == 2
        (line,) = [each for each in capsys.readouterr().err.splitlines() if each.startswith("guerdon: ")]
        return line

    assert 'sums.jsonl holds no preferences (columns: prompt, answer): a row is {"prompt": ..., "chosen"' in refused(
        "dpo", "--data", "sums.jsonl"
    )
    assert 'a row is {"prompt": ..., "completion": ..., "label": true}' in refused("kto", "--data", "sums.jsonl")
    assert "holds no labelled steps" in refused("process_reward_model", "--data", "sums.jsonl")
    assert "labels.jsonl holds no preferences" in refused("reward_model", "--data", "labels.jsonl")
    assert "--kind is for problems with an answer to find" in refused(
        "dpo", "--data", "labels.jsonl", "--kind", "label"
    )
    assert "--column takes WHAT=COL" in refused("dpo", "--data", "odd.jsonl", "--column", "a")
    assert "--column needs --data FILE" in refused("dpo", "--task", "chain", "--column", "chosen=a")
    assert "unknown use of a column 'chosn': did you mean 'chosen'?" in refused(
        "dpo", "--data", "odd.jsonl", "--column", "chosn=a"
    )
    named = ["--prompt", "q", "--column", "chosen=a", "--column", "rejected=b", "--eval-tasks", "0", "--out", "d"]
    assert main(["train", "dpo", "--data", "odd.jsonl", "--model", str(place / "lm"), "--steps", "0", *named]) == 0
    assert (
        "odd.jsonl: prompt from `q`, chosen from `a`, rejected from `b`; 4 to learn from at 4 prompts"
        in capsys.readouterr().err
    )
    assert main(["train", "--resume", "d"]) == 0
    assert main(["eval", "d"]) == 2
    assert "d was trained on stored answers, and its file has no problems to solve" in capsys.readouterr().err


def test_recipes_say_what_rows_are_to_them():
    takes = {name: find_recipe(name).needs.rows for name in ("grpo", "sft", "online_dpo", *RECIPES)}
    assert takes == {
        "grpo": "problems",
        "sft": "problems",
        "online_dpo": "problems",
        "reward_model": "pairs",
        "dpo": "pairs",
        "kto": "labels",
        "process_reward_model": "steps",
    }
    on = gd.recipe("mine", on=find_recipe("dpo"))(lambda base: base)
    assert on.needs.rows == "pairs"
