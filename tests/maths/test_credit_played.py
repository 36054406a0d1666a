"""Baselines that are played: the greedy try and restarts, with a table as the model."""

from __future__ import annotations

import pytest
import torch
from strategies import episode, segment, task

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.core.errors import UserError
from guerdon.core.optim import adam
from guerdon.core.pack import pack
from guerdon.core.part import part
from guerdon.core.task import Ask, Sampling
from guerdon.credit.restart_values import greedy_baseline, restarts
from guerdon.curricula.plain import uniform
from guerdon.engine.player import Player
from guerdon.envs.simple import single_turn
from guerdon.losses.policy import clipped
from guerdon.models.tables import tabular
from guerdon.rewards.stage.placing import paid
from guerdon.rewards.stage.score_stages import score, verified


def digit(completion):
    return float(completion[-1])


def player(env=None, spread=1.0, length=2, roles=("policy",)):
    model = tabular("0123", length=length, spread=spread)
    model.start(3, {})
    play = Player({"policy": model}, dict.fromkeys(roles, "policy"), env or single_turn(), Sampling(), 0, 1)
    play.begin(0)
    return play


def sampled(play, stage, asks):
    return stage(pack(play(asks)), play)


def asks(*names, n=4):
    return [Ask(task(name), n) for name in names]


def greedy_text(play, name):
    (ep,) = play([Ask(task(name), 1, sampling=Sampling(temperature=0.0))])
    return ep.segments[0].text


def test_the_greedy_reward_is_taken_off():
    play, stage = player(), score(digit)
    batch = sampled(play, stage, asks("a", "b"))
    before = play.tokens
    made = greedy_baseline(stage)(batch, play)
    assert play.tokens - before == 2 * 2  # one more try of two actions for each ask, counted
    base = torch.tensor([digit(greedy_text(play, name)) for name in "ab"]).repeat_interleave(4)
    want = (batch["reward"] - base).repeat_interleave(2)
    assert torch.equal(made["advantage"], want)
    assert play.metrics["advantage/greedy"] == pytest.approx(float(base.mean()))
    assert play.metrics["advantage/no_baseline"] == 0.0


def test_an_ask_keeps_its_own_sampling_but_for_the_heat():
    play, stage = player(), score(digit)
    batch = sampled(play, stage, [Ask(task("a"), 2, sampling=Sampling(max_tokens=1))])
    before = play.tokens
    greedy_baseline(stage)(batch, play)
    assert play.tokens - before == 1


@part
class breaks:
    """Breaks when it is played greedily, or always where told to."""

    roles = ("policy",)

    async def play(self, ask, seats):
        if ask.sampling is not None and ask.sampling.temperature == 0 and ask.task.id == "a":
            raise RuntimeError("no greedy today")
        await seats["policy"].act(ask.shown)
        return seats.episode()


def test_without_a_greedy_value_there_is_no_advantage():
    play, stage = player(breaks()), score(digit)
    made = greedy_baseline(stage)(sampled(play, stage, asks("a", "b", n=2)), play).cols["advantage"]
    assert made.reason.tolist() == [Reason.FAILED] * 4 + [0] * 4
    assert play.metrics["advantage/no_baseline"] == 0.5


def test_a_track_without_a_reward_has_no_advantage():
    def odd(completion):
        return None if completion[0] == "0" else 1.0

    play, stage = player(spread=0.0), score(odd)
    batch = sampled(play, stage, asks("a", n=16))
    made = greedy_baseline(stage)(batch, play).cols["advantage"]
    assert batch.cols["reward"].missing.any()
    assert torch.isnan(made.value).any()


@part
class duel:
    """Two roles, each says a digit and is paid its own less the other's."""

    roles = ("first", "second")

    async def play(self, ask, seats):
        mine = float((await seats["first"].act("first")).text)
        theirs = float((await seats["second"].act("second")).text)
        seats.reward(first=mine - theirs, second=theirs - mine)
        return seats.episode()


def test_each_role_has_its_own_greedy_baseline():
    play = player(duel(), length=1, roles=("first", "second"))
    batch = sampled(play, paid(), asks("a", n=3))
    made = greedy_baseline(paid())(batch, play)["advantage"]
    (ep,) = play([Ask(task("a"), 1, sampling=Sampling(temperature=0.0))])
    base = torch.tensor([ep.segments[0].reward, ep.segments[1].reward]).repeat(3)
    assert torch.allclose(made, batch["reward"] - base)


def test_an_empty_batch_plays_nothing():
    play = player()
    made = greedy_baseline(score(digit))(score(digit)(pack([]), play), play)
    assert (made.S, play.episodes) == (0, 0)


@part
class wanting:
    needs, gives = ("critic.value",), ("reward",)


def test_a_stage_that_reads_columns_cannot_score_what_is_played():
    play, stage = player(), score(digit)
    batch = sampled(play, stage, asks("a"))
    with pytest.raises(UserError, match=r"wanting needs critic\.value"):
        greedy_baseline(wanting())(batch, play)


# --- restarts -------------------------------------------------------------------------------------------------------


@part
class two_turns:
    """Two turns, paid by the last digit of each."""

    roles = ("policy",)

    async def play(self, ask, seats):
        for view in ("one", "two"):
            said = await seats["policy"].act(view)
            seats.reward(policy=float(said.text[-1]))
        return seats.episode()


def test_gains_between_restarts_add_up_to_the_reward_less_the_first_value():
    play = player(two_turns())
    batch = sampled(play, paid(), asks("a", n=3))
    made = restarts(paid(), tries=5, every=1)(batch, play)
    assert play.metrics["advantage/places"] == 3 * 4
    total = batch.up(made["advantage"].double(), "track")
    first = made["value"].view(3, 4)[:, 0].double()
    assert torch.allclose(total, batch["reward"].double() - first, atol=1e-6)


def test_the_value_of_a_place_is_what_follows_from_it():
    play = player(two_turns())
    batch = sampled(
        play, paid(), [Ask(task("a"), 2, sampling=Sampling(temperature=0.0))]
    )  # whoever goes on does the same
    made = restarts(paid(), tries=2)(batch, play)
    assert torch.allclose(made["advantage"], torch.zeros(8), atol=1e-6)
    assert torch.allclose(made["value"], batch["reward"][0].expand(8))


def test_a_restart_after_the_last_choice_knows_the_reward():
    play = player(spread=0.0, length=1)
    batch = sampled(play, score(digit), asks("a", n=4))
    made = restarts(score(digit), tries=400)(batch, play)
    assert made["value"].mean().item() == pytest.approx(1.5, abs=0.2)  # the mean of four digits
    assert torch.allclose(made["advantage"], batch["reward"] - made["value"])


def test_tracks_without_a_reward_are_not_played_on():
    def odd(completion):
        return None if completion[0] == "0" else 1.0

    play, stage = player(spread=0.0), score(odd)
    batch = sampled(play, stage, asks("a", n=16))
    left = int((~batch.cols["reward"].missing).sum())
    made = restarts(stage, tries=1)(batch, play).cols["advantage"]
    assert 0 < left < 16
    assert play.metrics["advantage/places"] == left
    assert torch.isnan(made.value.view(16, 2)).all(1)[batch.cols["reward"].missing].all()


def test_trees_are_refused():
    batch = pack([episode(segment([0]), segment([1], parent=0), segment([2], parent=0))])
    batch = batch.with_cols({"reward": Column.full("track", torch.ones(2))})
    with pytest.raises(UserError, match="branches tracks itself"):
        restarts(paid())(batch, player())


# --- in a run -------------------------------------------------------------------------------------------------------


@part
class codes:
    """Answer a prompt with its own digit twice."""

    name = "codes"

    def size(self, split):
        return 3

    def get(self, split, index):
        return task(str(index), answer=str(index) * 2, family="codes")

    def check(self, problem, completion):
        return sum(a == b for a, b in zip(completion, problem.answer, strict=True)) / 2


@pytest.mark.slow
@pytest.mark.parametrize("make", [greedy_baseline, lambda stage: restarts(stage, tries=2, every=1)])
def test_a_run_learns_and_counts_every_token(make, tmp_path):
    stage = verified(codes())
    recipe = gd.Recipe(
        {"policy": tabular("0123", length=2)},
        uniform(codes(), tries=4),
        single_turn(),
        [stage, make(stage), gd.Learn("policy", clipped(), opt=adam(lr=0.2))],
        exams=[gd.Exam(codes())],
        prompts=3,
        steps=25,
    )
    run = gd.train(recipe, out=tmp_path / "run", options=gd.Options(save_every=100, eval_tasks=0), seed=1)
    right, tokens = run.metrics["correct/mean"].to_pylist(), run.metrics["tokens"].to_pylist()
    assert sum(right[-5:]) / 5 > 0.8 > sum(right[:2]) / 2
    own = 3 * 4 * 2
    more = (
        3 * 2 if make is greedy_baseline else 3 * 2 * 2 + 3 * 4 * 2
    )  # two tries of two steps an ask, and of one a try
    assert tokens[0] == own + more
