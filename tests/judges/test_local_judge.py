"""sprig as a judge, for real: it tells planted errors from right solutions, in every role, and a run is judged by its own
policy."""

from __future__ import annotations

import asyncio
import math
import random

import numpy as np
import pytest
import torch
from refusals import refusal
from strategies import episode, segment

import guerdon as gd
from guerdon import models, tasks
from guerdon.core.column import Reason
from guerdon.core.pack import pack
from guerdon.core.part import fingerprint
from guerdon.judges.answerer import JudgeQuestion
from guerdon.judges.cache import default_place
from guerdon.rewards.asking.function import ask_all
from guerdon.rewards.asking.samples import Samples
from guerdon.runs.event_types import StepDone
from guerdon.runs.events import read_events
from guerdon.tasks.roles import verify_view

MANY = pytest.mark.slow  # the same with more problems, or asked in another way


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="module", params=[3, pytest.param(12, marks=MANY)])
def attempts(request):
    """Right and planted-wrong solutions by turns, two of each problem."""
    family, draw = tasks.load("chain:2"), random.Random(0)
    fields = []
    for index in range(request.param):
        task = family.get("test", index)
        for text in (family.solution(task), draw.choice(family.near_misses(task, draw)).text):
            fields.append({"prompt": task.prompt, "completion": text})
    return Samples.of(fields, list(range(len(fields))), [n // 2 for n in range(len(fields))])


@pytest.mark.sampled(1, "reward")
@pytest.mark.parametrize(
    "reward",
    [
        pytest.param(gd.judge("sprig"), id="score"),
        pytest.param(gd.judge("sprig", scale="yes"), id="verify", marks=MANY),
        pytest.param(gd.judge("sprig", sure=True), id="score sure", marks=MANY),
        pytest.param(gd.yes("sprig"), id="yes"),
        pytest.param(gd.pairwise("sprig"), id="prefer", marks=MANY),
        pytest.param(gd.pairwise("sprig", sure=True), id="prefer sure"),
    ],
)
def test_sprig_tells_right_from_wrong(reward, attempts):
    (found,) = ask_all([(reward, attempts)])
    assert {o.reason for o in found} == {Reason.VALUE}
    right, wrong = [o.value for o in found[0::2]], [o.value for o in found[1::2]]
    assert sum(a > b for a, b in zip(right, wrong, strict=True)) >= len(right) - 1
    assert np.mean(right) > 0.9 and np.mean(wrong) < 0.7
    assert all(o.detail["why"] for o in found)


@pytest.mark.slow
def test_the_probability_of_yes_is_that_of_the_weights():
    """Recomputed from the model's own logits at the place of the verdict."""
    prompt, solution = "chain 8 +9 -6", "8+9=17\n17-6=12\n= 12"
    sample = Samples.of([{"prompt": prompt, "completion": solution}])
    ((outcome,),) = ask_all([(gd.yes(gd.local("sprig", cache=False)), sample)])
    model = models.load("sprig")
    model.start(0, {})
    stem = outcome.detail["why"].removesuffix("no").removesuffix("yes")
    context = model.encode(verify_view(prompt, solution)).tolist()
    yes, no = (model.chat.tokens(stem + word) for word in ("yes", "no"))
    at = next(i for i in range(len(yes)) if yes[i] != no[i])
    assert yes[:at] == no[:at]
    logp = {}
    for word, said in (("yes", yes), ("no", no)):
        with torch.no_grad():
            read = model.read(pack([episode(segment(said, context=context))]), ["logp"])["logp"]
        logp[word] = float(read[at:].double().sum())
    expected = 1 / (1 + math.exp(logp["no"] - logp["yes"]))
    assert outcome.value == pytest.approx(expected, abs=1e-6)
    assert outcome.value < 0.5  # 17-6 is 11


def test_what_sprig_cannot_do_is_refused_in_one_line(attempts):
    for reward, said in (
        (gd.judge("sprig", question="Is it polite?"), "sprig reads no question"),
        (gd.judge("sprig", scale=(1, 10)), "sprig scores from 1 to 5"),
        (gd.listwise("sprig"), "sprig does not rank"),
        (gd.rubric(["It is polite."], "sprig"), "sprig reads no criteria"),
    ):
        with pytest.raises(gd.UserError, match=said):
            ask_all([(reward, attempts)])
    with refusal(gd.UserError):
        ask_all([(gd.judge("tabular"), attempts)])


@pytest.mark.slow
def test_a_prompt_of_ones_own_goes_to_sprig_as_it_is(attempts):
    rubric = gd.rubric([gd.criterion("right", veto=True)], "sprig", sure=True, prompt="verify\n{prompt}\n{completion}")
    (found,) = ask_all([(rubric, attempts.pick([0, 1]))])
    assert found[0].value > 0.9 and found[1].value == 0.0 and found[1].detail["parts"]["right"] < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("count", [4, pytest.param(24, marks=MANY)])
def test_what_is_asked_again_goes_the_same_way_whatever_the_seed(count):
    """One of these, the first, gets no verdict at first. A second one is drawn, by the question and not by the sample."""
    family = tasks.load("chain:2")
    fields = [{"prompt": family.get("train", n).prompt, "completion": ""} for n in range(4, 4 + count)]
    reward = gd.judge(gd.local("sprig-1.1", cache=False), scale="yes")
    first, second = ask_all([(reward, Samples.of(fields, [seed] * len(fields))) for seed in (0, 1)])
    assert [(o.reason, str(o.value)) for o in first] == [(o.reason, str(o.value)) for o in second]
    assert reward.total["asked"] > 2 * len(fields)


def test_a_completion_that_does_not_fit_is_failed_alone():
    fields = [{"prompt": "chain 8 +9", "completion": text} for text in ("8+9=17\n= 17", "1+1=2\n" * 2000)]
    (found,) = ask_all([(gd.judge("sprig", scale="yes"), Samples.of(fields))])
    assert [o.reason for o in found] == [Reason.VALUE, Reason.FAILED]
    assert "leaves no room" in found[1].detail["error"]


def test_the_cache_knows_the_weights_and_not_the_place(tmp_path):
    by = gd.local("sprig")
    asked = [JudgeQuestion((("user", verify_view("chain 8 +9", "8+9=17\n= 17")),))]
    first, again = (asyncio.run(by.answer(asked, {})) for _ in range(2))
    assert (first[0].cached, again[0].cached) == (False, True) and first[0].text == again[0].text
    assert default_place().is_file()
    models.save(models.load("sprig"), tmp_path / "copy")
    copied = gd.local(str(tmp_path / "copy"))
    assert asyncio.run(copied.answer(asked, {}))[0].cached
    assert fingerprint(copied) == fingerprint(by)


def test_the_policy_judges_itself(tmp_path):
    run = gd.train(
        "grpo", model="sprig", task="chain:2", reward=gd.self_judge(), steps=1, prompts=2, out=tmp_path / "run",
        options=gd.Options(eval_tasks=0),
    )  # fmt: skip
    assert run.complete
    batch = run.batch(0)
    assert {d["why"].splitlines()[-1] for d in batch.cols["reward"].detail.values()} <= {"= yes", "= no"}
    (done,) = [e for e in read_events(run.folder.events) if isinstance(e, StepDone)]
    assert done.metrics["self_judge/asked"] >= batch.K
    judged = int(done.metrics["self_judge/tokens_out"])
    assert judged > 0 and done.tokens == batch.S + judged  # a judge's tokens are part of the budget


def test_the_policy_cannot_judge_outside_of_a_run(attempts):
    with refusal(gd.UserError):
        ask_all([(gd.self_judge(), attempts)])
