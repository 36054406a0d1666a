"""Rewards in workers, through the loop: faults named and counted, healthy scores exact, draws repeatable."""

from __future__ import annotations

import os
import random
import sys
import time
from pathlib import Path

import pytest

import guerdon as gd
from guerdon.core.column import Reason
from guerdon.core.pack import pack
from guerdon.rewards.formula.algebra import blend
from guerdon.rewards.stage.score_stages import score
from guerdon.training.loop import start

sys.path.append(str(Path(__file__).parent.parent / "resume"))
from everything import everything


def recipe_with(reward, steps=2):
    recipe = everything.build({}, {"steps": steps})
    recipe.stages[1] = score(reward)
    return recipe


def scored(reward, prompts=20):
    recipe, play = start(recipe_with(reward), seed=0, total=2)
    play.begin(0)
    batch = pack(play(recipe.curriculum.draw(prompts, play)))
    return recipe.stages[1](batch, play)


def texts(batch):
    return [batch.episodes[e].segments[-1].text for e in batch.episode[batch.leaf].tolist()]


def faulty(completion):
    kind = len(completion)
    if kind == 0:
        os._exit(3)
    if kind == 1:
        time.sleep(60)
    if kind == 2:
        raise ValueError("two")
    return float(completion.count("7"))


def test_every_fault_has_its_name_and_no_other_score_moves():
    batch = scored(gd.reward(faulty, isolate=True, timeout=0.5))
    column, completions = batch.cols["reward"], texts(batch)
    assert {len(text) for text in completions} == {0, 1, 2, 3}
    want = {0: Reason.FAILED, 1: Reason.TIMED_OUT, 2: Reason.FAILED, 3: Reason.VALUE}
    for k, text in enumerate(completions):
        assert int(column.reason[k]) == want[len(text)]
        if len(text) == 3:
            assert float(column.value[k]) == text.count("7")
    errors = {len(completions[k]): detail["error"] for k, detail in column.detail.items() if "error" in detail}
    assert "code 3" in errors[0] and "two" in errors[2]


def test_a_worker_gives_what_the_process_itself_gives():
    def judged(completion, answer):
        return gd.Score(len(completion) / 2, why=f"of {answer}", parts={"x": 1.0})

    here, there = (scored(gd.reward(judged, isolate=isolate)).cols["reward"] for isolate in (False, True))
    assert here.same(there)


def lucky(completion):
    return random.random()


@pytest.mark.slow
def test_random_rewards_repeat_themselves(tmp_path):
    options = gd.Options(eval_tasks=0)
    reward = blend(lucky=gd.reward(lucky, isolate=True), size=lambda completion: len(completion))
    runs = [gd.train(recipe_with(reward), seed=4, out=tmp_path / str(n), options=options) for n in range(2)]
    assert runs[0].weights == runs[1].weights
    values = runs[0].batch(0)["reward.lucky"].tolist()
    assert len(set(values)) == len(values)


async def slow(completion):
    import asyncio

    await asyncio.sleep(5 if len(completion) == 1 else 0)
    return 1.0


def test_an_async_reward_has_its_timeout():
    batch = scored(gd.reward(slow, timeout=0.2), prompts=5)
    for k, text in enumerate(texts(batch)):
        assert int(batch.cols["reward"].reason[k]) == (Reason.TIMED_OUT if len(text) == 1 else Reason.VALUE)


def test_a_timeout_that_cannot_be_kept_is_refused():
    with pytest.raises(gd.UserError, match="leave out isolate=False"):
        gd.reward(faulty, isolate=False, timeout=1.0)
