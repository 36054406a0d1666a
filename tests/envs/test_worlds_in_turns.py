"""Worlds in turns, their limits and ends; what `check_env` holds an environment to."""

from __future__ import annotations

import asyncio
import itertools
import random
from typing import Any

import pytest

import guerdon as gd
from guerdon.core.part import part
from guerdon.engine.player import Player
from guerdon.training.build import RunRequest, build
from guerdon.training.catalog import find_recipe

WORD = "word"


class Counting:
    """Over after three words."""

    def __init__(self, seed: int) -> None:
        self.seed, self.seen = seed, 0

    def begin(self) -> str:
        return "three words, one a turn"

    def step(self, said: str) -> gd.envs.Observed:
        self.seen += said == WORD
        return gd.envs.Observed(f"{self.seen} of 3", pay=0.25, over=self.seen == 3)

    def gold(self) -> str:
        return WORD

    def outcome(self) -> dict[str, Any]:
        return {"goal": float(self.seen == 3)}


class Later(Counting):
    async def step(self, said: str) -> gd.envs.Observed:  # type: ignore[override]
        await asyncio.sleep(0)
        return super().step(said)


class OutOfOrder(Counting):
    def step(self, said: str) -> gd.envs.Observed:
        raise RuntimeError("out of order")


class Dice(Counting):
    def begin(self) -> str:
        return str(random.random())


class Fragile(Counting):
    def step(self, said: str) -> gd.envs.Observed:
        return {WORD: super().step}[said](said)


class Generous(Counting):
    def step(self, said: str) -> gd.envs.Observed:
        return super().step(WORD)


class Unkept(Counting):
    def outcome(self) -> dict[str, Any]:
        return {"goal": 1.0, "where": {1, 2}}


class Sharing(Counting):
    opened = 0

    def begin(self) -> str:
        Sharing.opened += 1
        return f"number {Sharing.opened}"


@part
class counting(gd.envs.InTurns):
    world: Any = Counting
    role: str = "policy"
    most: int = 5
    seconds: float = 0.0

    def open(self, ask: gd.Ask, seed: int) -> Any:
        return self.world(seed)


@part
class counting_later(counting):
    waits = True


@part
class three_words(gd.envs.PlayedOut):
    @property
    def name(self) -> str:
        return "three_words"

    def size(self, split: str) -> int:
        return 6

    def get(self, split: str, index: int) -> gd.Task:
        return gd.Task(f"{split}-{index}", "three words, one a turn", family=self.name)

    @property
    def home(self) -> Any:
        return counting()


def played(env: Any, say: Any, most: int = 64, model: Any = None) -> gd.Episode:
    model = model or gd.models.scripted(say)
    model.start(0, {})
    player = Player({"policy": model}, {"policy": "policy"}, env, gd.Sampling(max_tokens=most), 0, 1)
    return player([gd.Ask(three_words().get("train", 0))])[0]


def word(*_: Any) -> str:
    return WORD


def test_a_world_that_is_over_ends_done_with_what_it_paid() -> None:
    episode = played(counting(), word)
    assert [(s.view, s.text, s.reward, s.end) for s in episode.segments] == [
        ("three words, one a turn", WORD, 0.25, gd.End.DONE),
        ("1 of 3", WORD, 0.25, gd.End.DONE),
        ("2 of 3", WORD, 0.25, gd.End.DONE),
    ]
    assert episode.info == {"goal": 1.0, "turns": 3}


def test_the_most_turns_end_it_cut_with_what_would_have_been_seen() -> None:
    episode = played(counting(most=2), lambda *_: "no")
    assert episode.info == {"goal": 0.0, "turns": 2, "cut": "turns"}
    last = episode.segments[-1]
    assert (last.view, last.text, len(last.actions), last.end) == ("0 of 3", "", 0, gd.End.CUT)


def test_an_answer_that_ran_out_of_tokens_is_not_given_to_the_world() -> None:
    episode = played(counting(), word, most=3)
    assert episode.info == {"goal": 0.0, "turns": 1, "cut": "tokens"}
    assert episode.segments[-1].end is gd.End.CUT and episode.segments[-1].reward is None


def test_a_view_that_the_context_has_no_room_for_ends_it_cut() -> None:
    class Narrow(gd.models.scripted):  # type: ignore[misc, valid-type]
        max_positions = 33  # the first view has 23 bytes, the word 4, the next view 6: no room to say anything

    assert played(counting(), None, model=Narrow(word)).info == {"goal": 0.0, "turns": 1, "cut": "context"}


def test_a_first_view_that_the_context_has_no_room_for_ends_it_cut() -> None:
    class Narrow(gd.models.scripted):  # type: ignore[misc, valid-type]
        max_positions = 23  # the first view has as many bytes

    episode = played(counting(), None, model=Narrow(word))
    assert episode.info == {"goal": 0.0, "turns": 0, "cut": "context"}
    assert [(s.view, len(s.context), len(s.actions), s.end) for s in episode.segments] == [
        ("three words, one a turn", 23, 0, gd.End.CUT)
    ]


def test_the_time_of_an_episode_ends_it_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count(0.0, 10.0)  # ten seconds between two looks
    monkeypatch.setattr("guerdon.envs.world_turns.time.monotonic", lambda: next(clock))
    assert played(counting(seconds=15.0), word).info == {"goal": 0.0, "turns": 2, "cut": "time"}


def test_a_world_that_raises_ends_it_failed() -> None:
    episode = played(counting(OutOfOrder), word)
    assert episode.failed and "out of order" in episode.info["error"] and "goal" not in episode.info
    assert episode.segments[-1].end is gd.End.FAILED


def test_a_world_may_wait() -> None:
    assert played(counting_later(Later), word).same(played(counting(), word))


def test_a_task_is_trained_and_examined_where_it_is_at_home(tmp_path: Any) -> None:
    sizes: dict[str, Any] = {"steps": 1, "prompts": 2, "tries": 2, "options": gd.Options(eval_tasks=2)}
    model = gd.models.tabular("wordx", length=4)
    run = gd.train("grpo", task=three_words(), model=model, out=tmp_path / "run", **sizes)
    assert all(len(e.segments) > 1 and e.info["cut"] == "turns" for e in run.batch(0).episodes)
    assert gd.evaluate(gd.models.scripted(word), task=three_words(), tasks=4)["pass@1"] == 1.0


def test_a_recipe_called_with_a_task_is_played_where_that_is_at_home(tmp_path: Any) -> None:
    grpo, few = find_recipe("grpo"), {"steps": 1, "prompts": 2, "tries": 2}
    made = grpo(three_words(), gd.models.tabular("wordx", length=4), **few)
    named = RunRequest("grpo", three_words(), gd.models.tabular("wordx", length=4), settings=few)
    assert build(RunRequest(made)).recipe.hash == build(named).recipe.hash
    run = gd.train(made.but(prompts=1), out=tmp_path / "run", options=gd.Options(eval_tasks=2))
    assert [len(e.segments) > 1 and e.info["cut"] for e in run.batch(0).episodes] == ["turns"] * 2
    shown = find_recipe("sft")(three_words(), gd.models.tabular("wordx", length=4))
    assert type(build(RunRequest(shown)).recipe.env).__name__ == "demonstrated"

    def body(study: Any, seed: int) -> dict[str, Any]:
        return {"turns": [len(e.segments) for e in study.train(made).batch(0).episodes]}

    result = gd.train(gd.Study(body), out=tmp_path / "study", options=gd.Options(eval_tasks=0)).result
    assert min(result["turns"]) > 1


def test_an_environment_that_was_chosen_is_kept() -> None:
    made = find_recipe("grpo")(three_words(), gd.models.tabular("wordx", length=4))
    chosen = made.but(env=gd.envs.single_turn())
    written = gd.Recipe(made.models, gd.curricula.uniform(three_words()), gd.envs.single_turn(), made.stages)
    elsewhere = made.but(curriculum=gd.curricula.uniform(gd.tasks.load("chain:1")))
    for recipe in (chosen, written, elsewhere):
        assert isinstance(build(RunRequest(recipe)).recipe.env, gd.envs.single_turn)
    assert made.hash == made.but().hash == find_recipe("grpo")(three_words(), made.models["policy"]).hash


def test_a_mixture_is_played_kind_by_kind() -> None:
    mixed = gd.tasks.mixture("two", [three_words(), gd.tasks.load("chain:1")])
    home = gd.envs.default_env(mixed)
    assert isinstance(home, gd.envs.by_kind) and home.roles == ("policy",)
    assert gd.evaluate(gd.models.scripted(word), task=mixed, tasks=8)["pass@1"] == 0.5


def test_check_env_counts_what_it_held() -> None:
    assert gd.check_env(three_words()) == {"episodes": 6, "turns": 18, "goals": 6, "restarts": 6, "nonsense": 6}


@pytest.mark.parametrize(
    ("env", "says"),
    [
        (counting(Sharing), "goes otherwise"),
        (counting(Dice), "played again with the same seed it goes otherwise"),
        (counting(Fragile), "words that it does not understand broke it"),
        (counting(Generous), "random text reaches the goal in 6 of 6"),
        (counting(most=2), "the oracle policy reaches 0, not 1"),
        (counting(Unkept), "info cannot be kept as JSON"),
        (counting(OutOfOrder), "failed while the oracle policy played.*out of order"),
        (gd.envs.single_turn(), "has no demonstrations"),
        (object(), "is not an environment: it has no `roles`"),
    ],
    ids=["shares", "random", "fragile", "generous", "unreachable", "unkept", "broken", "shows nothing", "none"],
)
def test_check_env_refuses(env: Any, says: str) -> None:
    with pytest.raises(gd.UserError, match=says):
        gd.check_env(env, three_words())


def test_a_transcript_reads_turn_by_turn() -> None:
    text = gd.transcript(played(counting(most=2), lambda view, past, seed: f"say {len(past)}"))
    assert text.splitlines() == [
        "three_words/train-0",
        "  │ three words, one a turn",
        "policy:",
        "  say 0",
        "  (paid 0.25)",
        "  │ 0 of 3",
        "policy:",
        "  say 1",
        "  (paid 0.25)",
        "  │ 0 of 3",
        "(policy did not get to act)",
        "goal 0.0, turns 2, cut turns",
    ]
