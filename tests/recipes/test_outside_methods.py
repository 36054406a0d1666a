"""What methods written from outside need, as docs/parts_from_functions.md shows it: every example there runs here."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
import torch
from strategies import episode, segment

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.core.example import ExamplePlay
from guerdon.core.model import Meter
from guerdon.core.pack import pack
from guerdon.core.part import live
from guerdon.rewards.asking.function import ask_all
from guerdon.rewards.asking.samples import Samples

PAGE = (Path(__file__).parents[2] / "docs" / "parts_from_functions.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.S)


def example(name, **given):
    """What the page's example that has this name in it defines."""
    (code,) = [each for each in EXAMPLES if name in each and not each.startswith('"""')]
    assert len([line for line in code.split("\n") if line]) <= 12
    scope = {"gd": gd, "re": re, "random": random, "__name__": "page", **given}
    exec(code, scope)
    return scope


def played(*tries, column="correct"):
    """A batch of one ask of these tries, each a list of (role, value)."""
    batch = pack([episode(*(segment(role=role) for role, _ in turns), attempt=i) for i, turns in enumerate(tries)])
    value = torch.tensor([value for turns in tries for _, value in turns])
    reason = torch.where(value.isnan(), int(Reason.NOT_APPLICABLE), 0).to(torch.int8)
    return batch.with_cols({column: Column("track", value, reason)})


NONE = float("nan")
TWO = [[("proposer", NONE), ("solver", 1.0)], [("proposer", NONE), ("solver", 0.0)]]


def test_the_mean_over_the_tracks_of_another_role():
    batch = played(*TWO)
    assert batch.mean_by("correct", "ask", role="solver").tolist() == [0.5] * 4
    assert batch.mean_by("correct", "episode", role="solver").tolist() == [1.0, 1.0, 0.0, 0.0]
    assert batch.mean_by("correct", "task", role="nobody").isnan().all()
    assert batch.mean_by("correct", "ask")[[1, 3]].tolist() == [0.5, 0.5]


@pytest.mark.parametrize("solved, pay", [((1.0, 0.0), 1.0), ((1.0, 1.0), 0.0), ((0.0, 0.0), 0.0)])
def test_a_proposer_is_paid_by_what_the_solver_achieved(solved, pay):
    batch = played(*([("proposer", NONE), ("solver", each)] for each in solved))
    reward = example("half_solved")["half_solved"]()(batch, ExamplePlay()).cols["reward"]
    assert reward.value[[0, 2]].tolist() == [pay, pay]
    assert reward.missing.tolist() == [False, True, False, True]  # the solver has none by this stage


def says(text):
    model = gd.models.scripted(lambda view, past, seed: text)
    model.meter = Meter()  # of its own: models outside of a run share one
    play = ExamplePlay()
    play.models, play.seats = {"policy": model}, {"policy": "policy"}
    return play


def answers(*texts_and_values):
    ask = gd.Ask(gd.Task("t", ""), len(texts_and_values))
    batch = pack([episode(segment(text=text), ask=ask, attempt=i) for i, (text, _) in enumerate(texts_and_values)])
    return batch.with_cols({"correct": Column.full("track", torch.tensor([value for _, value in texts_and_values]))})


def test_pairs_of_answers_and_changed_copies():
    batch, play = answers(("A", 1.0), ("B", 0.0), ("1", 1.0), ("C", 1.0)), says("")
    after = gd.select.changed_copies(str.lower)(batch, play)
    assert after.texts == ["A", "B", "1", "C", "a", "c"]
    assert after.pairs.better.tolist() == [0, 3] and after.pairs.worse.tolist() == [4, 5]
    assert after.pairs.label.tolist() == after.pairs.margin.tolist() == [1.0, 1.0]
    assert after.cols["correct"].reason[4:].tolist() == [int(Reason.NOT_APPLICABLE)] * 2
    assert play.models["policy"].meter.tokens == 2  # a letter each
    assert len({(e.number, e.attempt) for e in after.episodes}) == 6


@pytest.mark.parametrize("better, sides", [("copy", ([1], [0], [1.0])), ("neither", ([0], [1], [0.5]))])
def test_a_copy_may_be_the_better_one_or_a_tie(better, sides):
    pairs = gd.select.changed_copies(str.lower, better)(answers(("A", 1.0)), says("")).pairs
    assert (pairs.better.tolist(), pairs.worse.tolist(), pairs.label.tolist()) == sides


def test_pairs_that_were_there_stay_and_no_copy_makes_none():
    batch, play = answers(("A", 1.0), ("B", 0.0)), says("")
    both = gd.select.changed_copies(str.lower)(gd.select.paired("correct")(batch, play), play).pairs
    assert (both.better.tolist(), both.worse.tolist()) == ([0, 0], [1, 2])
    none = gd.select.changed_copies(lambda text: None)(batch, play)
    assert none.K == 2 and len(none.pairs) == 0


@pytest.mark.slow
def test_online_dpo_of_changed_copies_trains(tmp_path):
    recipe = example("whole_solutions")["whole_solutions"]
    told = {"tries": 2, "prompts": 4, "max_tokens": 48, "options": gd.Options(eval_tasks=0)}
    run = gd.train(recipe, task="chain:2", model="sprig", steps=1, out=tmp_path / "run", **told)
    assert run.complete and run.metrics["copies"][0].as_py() > 0


@gd.part
class says_always(gd.Answerer):
    """Replies the same to every question, and remembers the questions."""

    reply: str
    asked: list = live()
    waits = False

    def __post_init__(self):
        self.asked = []

    async def answer(self, asked, models):
        self.asked += asked
        return [gd.JudgeAnswer(self.reply) for _ in asked]


def outcome_of(judge):
    return ask_all([(judge, Samples.of([{"prompt": "p", "completion": "mine"}], [0]))])[0][0]


def test_a_judge_with_a_prompt_and_a_reader_of_its_own():
    by = says_always("I think <points>7</points>, all told.")
    assert outcome_of(example("graded", by=by)["graded"]).value == pytest.approx(0.7)
    assert by.asked[0].messages[0][1].startswith("Grade this answer to p\nmine\n")


def test_what_the_reader_cannot_read_is_asked_for_again_counted_and_never_0():
    by = says_always("7 of 10")
    judge = example("graded", by=by)["graded"]
    outcome = outcome_of(judge)
    assert outcome.reason is Reason.FAILED and outcome.value != outcome.value
    assert len(by.asked) == 2 and "could not be read" in by.asked[1].messages[-1][1]
    assert judge.total["unread"] == 1
    endless = gd.judge(says_always("1"), prompt="{completion}", read=lambda reply: float("inf"))
    assert outcome_of(endless).reason is Reason.FAILED


def test_a_judges_prompt_in_a_file_is_its_text(tmp_path):
    (tmp_path / "judge.txt").write_text("How many? {completion}")
    by = says_always("3")
    of_file = gd.judge(by, prompt=tmp_path / "judge.txt", read=float)
    assert of_file.prompt == "How many? {completion}" and outcome_of(of_file).value == 3.0
    with pytest.raises(gd.UserError, match=r"nothing\.txt cannot be read"):
        gd.judge(by, prompt=tmp_path / "nothing.txt")
    with pytest.raises(gd.UserError, match="give prompt="):
        gd.judge(by, read=float)


def test_the_page_shows_a_paraphrase_and_a_refusal(capsys):
    example("paraphrase")
    ((shown),) = re.findall(r"```text\n(equation.*?)```", PAGE, re.S)
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize("name", ["equation:4", "equation:8", "countdown:3", "trace:2", "sorting:3"])
def test_a_paraphrase_is_the_same_problem(name):
    family = gd.tasks.load(name)
    for i in range(40):
        task = family.get("train", i)
        other = gd.tasks.paraphrase(family, task, random.Random(i)).task
        assert other.prompt != task.prompt and family.right(task, other.answer)
        assert family.check(other, family.solution(task)) == 1.0


def test_what_cannot_be_checked_is_refused():
    family = gd.tasks.load("clock:2")
    refused = gd.tasks.paraphrase(family, family.get("train", 0), random.Random(0))
    assert refused.task is None and refused.reason.endswith("give reword=")
    rows = gd.tasks.rows([{"question": "2+2", "answer": "4"}] * 8, prompt="question", answer="answer")
    assert "cannot read problems" in gd.tasks.paraphrase(rows, rows.get("train", 0), random.Random(0)).reason
    for reword in (lambda text: None, lambda text: text):
        assert (
            "no other wording" in gd.tasks.paraphrase(family, family.get("train", 0), random.Random(0), reword).reason
        )
