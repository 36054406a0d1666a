"""The stage that scores: a formula's parts each in a column, schedules that follow a metric, what fails."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from killing import Killed

import guerdon as gd
from guerdon.core.column import Reason
from guerdon.core.pack import pack
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.formula.algebra import blend, by_metric, normalised
from guerdon.rewards.formula.scores import Outcome
from guerdon.rewards.stage.score_stages import score
from guerdon.training.loop import start

sys.path.append(str(Path(__file__).parent.parent / "resume"))
from everything import everything


@gd.reward
def exact(completion, answer):
    return completion == answer


@gd.reward
def brief(completion):
    return -float(len(completion))


@gd.reward
def picky(completion):
    if len(completion) == 2:
        raise ValueError("two")
    return None if not completion else [0.5] * len(completion)


def scored(formula, steps=3):
    recipe = everything.build({}, {"steps": steps})
    recipe.stages[1] = score(formula)
    recipe, play = start(recipe, seed=0, total=steps)
    play.begin(0)
    batch = pack(play(recipe.curriculum.draw(9, play)))
    return recipe.stages[1], recipe.stages[1](batch, play), play


def texts(batch):
    return [batch.episodes[e].segments[-1].text for e in batch.episode[batch.leaf].tolist()]


def test_every_part_has_its_column():
    _, batch, _ = scored(blend(exact=exact, brief=brief.weight(0.5)))
    assert {"reward", "reward.exact", "reward.brief"} <= set(batch.cols)
    want = batch["reward.exact"] + 0.5 * batch["reward.brief"]
    assert batch["reward"].tolist() == pytest.approx(want.tolist())
    assert batch["reward.brief"].tolist() == [-float(len(t)) for t in texts(batch)]


def test_a_part_that_fails_makes_its_samples_fail_and_no_others():
    _, batch, _ = scored(blend(brief=brief, picky=picky))
    column, said = batch.cols["reward"], texts(batch)
    for k, text in enumerate(said):
        assert bool(column.broken[k]) == (len(text) == 2)
        if len(text) == 0:
            assert float(column.value[k]) == 0.0  # picky does not apply, brief is 0
    assert "two" in next(d["error"] for d in batch.cols["reward.picky"].detail.values() if "error" in d)
    steps = [d["steps"] for d in batch.cols["reward.picky"].detail.values() if "steps" in d]
    assert steps and all(set(s) == {0.5} for s in steps)


def test_groups_are_the_tries_at_a_task():
    _, batch, _ = scored(normalised(brief, scale=False))
    group, n = batch.group("task")
    for g in range(n):
        assert float(batch["reward"][group == g].sum()) == pytest.approx(0.0, abs=1e-5)


def test_a_weight_that_follows_what_was_right(tmp_path):
    weight = by_metric("correct", start=0.0, end=1.0, low=0.0, high=0.5)
    stage, batch, play = scored(blend(exact=exact, brief=brief.weight(weight)))
    assert batch["reward"].tolist() == batch["reward.exact"].tolist()  # nothing is known yet
    stage.before = {"correct": 0.25}
    again = stage(batch.without(*batch.cols), play)
    want = again["reward.exact"] + 0.5 * again["reward.brief"]
    assert again["reward"].tolist() == pytest.approx(want.tolist())


@pytest.mark.slow
def test_a_run_with_it_resumes_to_the_same_weights(tmp_path, monkeypatch):
    weight = by_metric("correct", start=0.0, end=0.1, low=0.0, high=0.5)

    def made():
        recipe = everything.build({}, {"steps": 6})
        recipe.stages[1] = score(blend(exact=exact, brief=brief.weight(weight)))
        return recipe

    options = gd.Options(save_every=2, eval_tasks=0)
    whole = gd.train(made(), seed=2, out=tmp_path / "whole", options=options)
    plain, calls = gd.Learn.update, []

    def breaks(self, *args):
        calls.append(1)
        if len(calls) == 20:
            raise Killed
        return plain(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(gd.Learn, "update", breaks)
        with pytest.raises(Killed):
            gd.train(made(), seed=2, out=tmp_path / "broken", options=options)
    assert gd.train(made(), resume=tmp_path / "broken").weights == whole.weights


class counted(Leaf):
    """Notes how many samples it is asked about at a time."""

    def __init__(self):
        self.sizes = []

    waits = True

    async def score(self, samples):
        self.sizes.append(len(samples))
        return [Outcome(Reason.VALUE, float(len(fields["completion"]))) for fields in samples.fields]


def test_episodes_that_end_together_are_asked_about_together():
    recipe, play = start(everything.build({}, {"steps": 2}), 3, 2)
    episodes = play(recipe.curriculum.draw(2, play))
    stage = score(counted())

    async def end():
        await asyncio.gather(*(stage.prefetch([episode], 3) for episode in episodes))
        await stage.prefetch([episodes[0].but(step=1)], 3)

    asyncio.run(end())
    assert stage.reward.sizes == [len(episodes), 1]
    found = stage(pack(episodes), play)
    assert stage.reward.sizes == [len(episodes), 1], "what is known is not asked again"
    assert found["reward"].tolist() == [float(len(text)) for text in texts(found)]
