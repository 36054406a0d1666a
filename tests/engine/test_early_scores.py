"""Async rewards are asked as episodes end: while others play, once each, with the same scores as afterwards."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from scheduling import mostly_slow

import guerdon as gd
from guerdon.core.pack import pack
from guerdon.rewards.stage.score_stages import score
from guerdon.training.loop import start

sys.path.append(str(Path(__file__).parent.parent / "resume"))
from everything import everything


def played(reward, ahead=False):
    recipe = everything.build({}, {"steps": 3, "ahead": ahead})
    recipe.stages[1] = score(reward)
    return recipe


def plain(completion, answer):
    return float(completion == answer) + 0.1 * len(completion)


async def slow(completion, answer):
    await asyncio.sleep(0.001)
    return plain(completion, answer)


async def breaks(completion, answer):
    await asyncio.sleep(0)
    if len(completion) == 3:
        raise ValueError("too long")
    return 1.0


@pytest.mark.slow
@pytest.mark.parametrize("ahead", mostly_slow([False, True], True))
def test_an_async_reward_gives_what_a_plain_one_gives(tmp_path, ahead):
    options = gd.Options(eval_tasks=0)
    runs = [
        gd.train(played(reward, ahead), seed=1, out=tmp_path / reward.__name__, options=options)
        for reward in (plain, slow)
    ]
    assert runs[0].weights == runs[1].weights


def test_it_is_asked_while_others_play_and_only_once():
    asked, order = [], []

    async def watched(completion, episode):
        asked.append(episode.key)
        order.append("score")
        return 1.0

    recipe, play = start(played(watched), seed=0, total=3)
    act = play.models["policy"].act
    object.__setattr__(play.models["policy"], "act", lambda requests: order.append("act") or act(requests))
    play.begin(0)
    batch = pack(play(recipe.curriculum.draw(7, play)))
    assert len(asked) == batch.K == len(set(asked))
    stage = recipe.stages[1]
    scored = stage(batch, play)
    assert len(asked) == batch.K and not stage.early
    assert scored["reward"].tolist() == [1.0] * batch.K


def test_how_it_broke_is_recorded():
    recipe, play = start(played(breaks), seed=0, total=3)
    play.begin(0)
    batch = recipe.stages[1](pack(play(recipe.curriculum.draw(7, play))), play)
    column = batch.cols["reward"]
    failed = column.missing
    assert bool(failed.any()) and not bool(failed.all())
    assert all("too long" in column.detail[k]["error"] for k in failed.nonzero()[:, 0].tolist())


def test_an_async_reward_can_be_asked_alone():
    assert gd.reward(slow).ask({"completion": "7", "answer": "7", "meta": {}}).value == pytest.approx(1.1)
