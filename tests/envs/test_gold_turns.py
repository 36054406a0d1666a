"""The turns of one who knows everything, without a player: the same as an episode's."""

from __future__ import annotations

import asyncio

import pytest
from refusals import refusal

import guerdon as gd
from guerdon.core.errors import UserError

WORLDS = [
    "hops:3", "claims:2", "rewriting:2", "forms:2", "menus:2", "shop:2", "tables:3", "inbox:2", "asking:6", "nim:3", "hunt:4",
    "with_feedback:chain:3", "planned:chain:2", "chain:3", "parity", "hops:1-2", "text_to_sql:2",
]  # fmt: skip


@pytest.mark.parametrize("name", WORLDS)
def test_turns_are_those_of_a_demonstration(name):
    source = gd.tasks.load(name)
    for index in range(4):
        episode = gd.demonstration(source, index)
        for role in {segment.role for segment in episode.segments}:
            turns = gd.gold_turns(source, episode.task, role=role, seed=episode.seed)
            solved = source.solution(episode.task) if name == "chain:3" else None
            assert [text for _, text in turns] == [solved or s.text for s in episode.segments if s.role == role]
            assert [view for view, _ in turns] == [s.view for s in episode.segments if s.role == role]


def test_what_is_no_text_is_refused():
    source = gd.tasks.load("calculator/chain:1")
    with refusal(UserError):
        gd.gold_turns(source, source.get("train", 0), calls="hermes")


def test_an_env_that_says_it_waits_for_nothing_must_not():
    class waiting(gd.envs.InTurns):
        def open(self, ask, seed):
            return Slow()

    class Slow:
        def begin(self):
            return "?"

        def gold(self):
            return "!"

        async def step(self, said):
            await asyncio.sleep(0)
            return gd.envs.Observed(over=True)

        def outcome(self):
            return {"goal": 1.0}

    class source(gd.envs.PlayedOut):
        name, home = "slow", waiting()

    with pytest.raises(AssertionError, match="awaits its seats alone"):
        gd.gold_turns(source(), gd.Task("1", "?"))
    waiting.waits = True

    async def in_a_notebook():
        return gd.gold_turns(source(), gd.Task("1", "?"))

    assert gd.gold_turns(source(), gd.Task("1", "?")) == asyncio.run(in_a_notebook()) == [("?", "!")]
