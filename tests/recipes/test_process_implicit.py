"""Rewards that models imply: PRIME, implicit PRM, OREAL and InTRO, by hand and against plain loops."""

from __future__ import annotations

import dataclasses
import math
from statistics import fmean, stdev

import pytest
import torch
from refusals import refusal
from scheduling import mostly_slow
from small import small_lm
from watching import SMALL, TABLE, Watched

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.core.episode import Episode, Segment
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay, example_tries
from guerdon.core.pack import pack
from guerdon.core.task import Ask, Sampling, Task
from guerdon.engine.player import Player
from guerdon.envs.simple import single_turn
from guerdon.models.frozen_copy import snapshot
from guerdon.models.tables import tabular
from guerdon.models.without_adapter import base
from guerdon.recipes.process.intro import candidates, weighed_candidates
from guerdon.recipes.process.oreal.parts import one_of_each, weigh_tokens
from guerdon.recipes.process.prime import return_over_others
from guerdon.recipes.process.second_models import begun, beside, scorer_beside
from guerdon.rewards.stage.score_stages import score
from guerdon.tasks import load
from guerdon.tasks.shown_answers import with_answer
from guerdon.training.build import RunRequest, build
from guerdon.training.catalog import find_recipe
from guerdon.training.loop import start


@gd.part
class pairs_of_bits:
    """Prompts with a secret of two bits each."""

    name = "pairs of bits"

    def size(self, split):
        return 8

    def get(self, split, index):
        return gd.Task(str(index), f"secret {index}", f"{index % 4:02b}")

    def check(self, task, completion):
        return float(completion == task.answer)


def made(name, **knobs):
    settings = {**SMALL, **TABLE, "tabular.length": 2, **knobs}
    return build(RunRequest(name, pairs_of_bits(), "tabular", settings=settings)).recipe


# --- PRIME ---------------------------------------------------------------------------------------------------------


def returns_by_loops(rewards, groups):
    """The paper's sum over later tokens, less the mean over the other tries of their mean token; rewards try by try."""
    largest = max(abs(sum(each[t:])) for each in rewards for t in range(len(each)))
    rewards = [[r / largest for r in each] for each in rewards]
    answer = []
    for i, own in enumerate(rewards):
        others = [fmean(each) for j, each in enumerate(rewards) if groups[j] == groups[i] and j != i]
        answer += [[sum(r - fmean(others) for r in own[t:]) for t in range(len(own))]]
    return answer


def test_returns_of_token_rewards_are_the_papers_sums():
    torch.manual_seed(0)
    rewards = torch.randn(2 * 3 * 4, dtype=torch.float64)
    batch = example_tries([[0.0] * 3] * 2, steps=4).put("process_steps", "step", rewards)
    by_hand = returns_by_loops(rewards.reshape(6, 4).tolist(), [0, 0, 0, 1, 1, 1])
    computed = return_over_others()(batch, ExamplePlay())["process_return"].reshape(6, 4)
    torch.testing.assert_close(computed, torch.tensor(by_hand, dtype=torch.float64))


def test_a_try_without_token_rewards_is_in_no_mean_and_has_no_return():
    value = torch.tensor([1.0, 1.0, 5.0, math.nan, 2.0, 4.0])
    reason = torch.tensor([0, 0, 0, int(Reason.FAILED), 0, 0], dtype=torch.int8)
    batch = example_tries([[0.0] * 3], steps=2).with_cols({"process_steps": Column("step", value, reason)})
    computed = return_over_others(bounded=False)(batch, ExamplePlay()).cols["process_return"]
    assert computed.value[[0, 1, 4, 5]].tolist() == [-4.0, -2.0, 4.0, 3.0]  # 1 - 3 twice; 2 - 1 and 4 - 1
    assert computed.reason[3] == int(Reason.FAILED) and bool(computed.value[3].isnan())


def test_credit_for_some_tracks_leaves_the_others_on_record():
    batch = example_tries([[0.0, 1.0], [1.0, 1.0]], steps=2, advantage=[1.0] * 8)
    kept = gd.credit.only(gd.select.with_spread())(batch, ExamplePlay())
    assert kept.K == 4
    assert kept.cols["advantage"].reason.tolist() == [0] * 4 + [int(Reason.NOT_APPLICABLE)] * 4


@pytest.mark.parametrize("process", [1.0, 0.0])
def test_prime_learns_from_both_returns_of_the_problems_in_its_band(process):
    run = Watched(made("prime", process=process, prm_lr=0.3, tries=6), steps=2)
    batch, low, high = run.batches[-1], 0.2, 0.8
    correct, task = batch["correct"].tolist(), batch.task[batch.leaf].tolist()
    rates = {t: fmean(c for c, s in zip(correct, task, strict=True) if s == t) for t in task}
    tokens = batch["process_steps"].reshape(batch.K, -1).tolist()
    advantages = []
    for i, later in enumerate(returns_by_loops(tokens, task)):
        others = fmean(c for j, (c, s) in enumerate(zip(correct, task, strict=True)) if s == task[i] and j != i)
        kept = low <= rates[task[i]] <= high
        advantages += [correct[i] - others + process * g if kept else math.nan for g in later]
    valued = [a for a in advantages if a == a]
    assert 0 < len(valued) < len(advantages)
    by_hand = torch.tensor([(a - fmean(valued)) / stdev(valued) for a in advantages])
    torch.testing.assert_close(batch["advantage"], by_hand, rtol=1e-4, atol=1e-5, equal_nan=True)


def test_the_prm_of_prime_is_taught_before_it_is_read():
    run = Watched(made("prime", prm_lr=0.3), steps=1)
    batch, models = run.batches[0], run.recipe.models
    ratio = models["prm"].read(batch, ["logp"])["logp"] - models["reference"].read(batch, ["logp"])["logp"]
    torch.testing.assert_close(batch["process_steps"], 0.05 * ratio.detach(), rtol=1e-4, atol=1e-6)
    assert float(ratio.detach().abs().max()) > 0.1


def test_models_beside_each_other_share_what_their_adapters_leave_frozen(tmp_path):
    policy = small_lm(tmp_path)
    plain = beside(policy)
    assert next(plain.weights.parameters()) is not next(policy.weights.parameters())
    assert isinstance(begun("prm", policy), snapshot)
    policy.lora = 2
    models = {"policy": policy, "prm": beside(policy), "reference": begun("prm", policy)}
    assert isinstance(models["reference"], base)
    for model in models.values():
        model.start(0, models)
    own, other = (dict(models[name].weights.named_parameters()) for name in ("policy", "prm"))
    shared = [name for name in own if own[name] is other[name]]
    assert shared and not [name for name in own if ("adapter" in name) == (name in shared)]


def test_prime_refuses_nothing_that_grpo_takes_and_holds_three_models():
    recipe = made("prime", kl=0.1)
    assert list(recipe.models) == ["policy", "reference", "prm"]
    assert [term.mean for term in recipe.stages.learners[-1].loss.terms] == ["step", "step"]


# --- implicit PRM ----------------------------------------------------------------------------------------------------


def recited(models, texts, prompt="p"):
    """Tracks that say texts, as the model `prm` does, and a player whose models are given."""
    play = Player(models, {"policy": "prm"}, single_turn(), Sampling(), seed=1, steps=1)
    replies = [models["prm"].teacher_force(prompt, text) for text in texts]
    said = [Segment("policy", prompt, r.context, r.actions, r.logp, r.text) for r in replies]
    return pack([Episode(Ask(Task("0", prompt)), (s,), number=i) for i, s in enumerate(said)]), play


def test_what_is_implied_so_far_is_the_soft_value_of_the_outcome():
    """The paper's Proposition: q_t = beta log E_ref[exp(r / beta)] over what the reference says after the first t tokens."""
    models = {name: tabular("01", length=2, rows=64, spread=1.0) for name in ("prm", "reference")}
    for seed, model in enumerate(models.values()):
        model.start(seed, {})
    batch, play = recited(models, ["00", "01", "10", "11"])
    beta = 0.3
    chance = models["reference"].read(batch, ["logp"])["logp"].detach().double().reshape(4, 2)
    whole = score(gd.implicit("prm", beta=beta))(batch, play)["reward"].double()
    so_far = score(gd.implicit("prm", beta=beta, per="token", so_far=True))(batch, play)["reward_steps"].reshape(4, 2)
    for first in (0, 1):
        rows = [2 * first, 2 * first + 1]
        value = beta * (chance[rows, 1].exp() * (whole[rows] / beta).exp()).sum().log()
        torch.testing.assert_close(so_far[rows, 0].double(), value.expand(2), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(so_far[:, 1].double(), whole, rtol=1e-4, atol=1e-5)


@pytest.fixture(scope="module")
def greedy():
    """Two problems solved by the likeliest token each time, checked, and who played them."""
    task = load("equation:2")
    recipe = find_recipe("math_shepherd").build({"task": task, "model": gd.models.load("sprig-1.1")}, {"rollouts": 2})
    recipe.sampling = Sampling(temperature=0.0, max_tokens=48)
    recipe, play = start(recipe, seed=0, total=1)
    batch = pack(play([Ask(task.get("train", i), 1) for i in (0, 1)]))
    return recipe.stages[0](batch, play), recipe.stages[1], play


@pytest.mark.slow
def test_a_line_played_on_greedily_is_as_right_as_the_greedy_solution(greedy):
    batch, stage, play = greedy
    labels = stage(batch, play).cols["labels"]
    decode = play.models["author"].shell().decode
    for track, steps in enumerate(batch.steps_by_track()):
        text = decode(batch.action[steps].tolist())
        lines = [label for label in labels.value[steps].tolist() if label == label]
        assert len(lines) == len(text.strip().splitlines()) > 1
        assert set(lines) == {float(batch["correct"][track])}


@pytest.mark.parametrize(("soft", "labels"), [(False, [1.0, 0.0]), (True, [0.25, 0.0])])
def test_one_try_that_gets_there_is_enough_for_a_hard_label(greedy, monkeypatch, soft, labels):
    batch, stage, play = greedy
    stage = dataclasses.replace(stage, soft=soft, tries=4)
    asked = []

    def played(asks, play):
        asked.extend(asks)
        return torch.tensor([0.25, 0.0] + [math.nan] * (len(asks) - 2)), torch.tensor(
            [0, 0] + [int(Reason.FAILED)] * (len(asks) - 2), dtype=torch.int8
        )

    monkeypatch.setattr(stage, "_played", played)
    column = stage(batch, play).cols["labels"]
    spoken = [v for v in column.value.tolist() if v == v]
    assert spoken[:2] == labels and len(spoken) == 2 + batch.K  # and the own verdict of each solution
    assert int((column.reason == int(Reason.FAILED)).sum()) == len(asked) - 2
    assert [ask.n for ask in asked] == [4] * len(asked) and play.metrics["labels/rollouts"] == 4 * len(asked)


@pytest.mark.slow
@pytest.mark.parametrize("loss", mostly_slow(["ce", "dpo", "head"], "ce"))
def test_each_form_of_the_outcome_model_is_taught_on_the_same_tries(loss):
    recipe = find_recipe("implicit-prm").build(
        {"task": load("equation:6"), "model": gd.models.load("sprig-1.1")},
        {"loss": loss, "prompts": 2, "tries": 4, "max_tokens": 64},
    )
    run = Watched(recipe, steps=1)
    assert run.recipe.seats == {"policy": "reference"}
    assert set(run.batches[0]["correct"].tolist()) == {0.0, 1.0} and run.rows[0]["prm/grad_norm"] > 0
    liked = run.recipe.exams[0].metrics[1].reward
    assert not score(liked)(run.batches[0], run.play).cols["reward"].missing.any()


# --- OREAL -----------------------------------------------------------------------------------------------------------


def test_one_right_and_one_wrong_try_are_kept_and_the_same_ones_each_time():
    play = ExamplePlay()
    batch = example_tries([[1.0, 1.0, 0.0, None], [1.0, 1.0], [0.0, None]])
    kept = [one_of_each("reward")(batch, play) for _ in range(2)]
    assert sorted(kept[0]["reward"].tolist()) == [0.0, 1.0] and play.metrics["pairs_share"] == pytest.approx(1 / 3)
    assert kept[0]["reward"].tolist() == kept[1]["reward"].tolist()


def test_token_weights_are_those_of_the_released_code():
    """Its loss, try by try: imitation over the tokens of right tries, the policy gradient over those of wrong ones."""
    torch.manual_seed(1)
    head, shaped = torch.randn(2 * 3, dtype=torch.float64), [1.5, -0.5]
    batch = example_tries([[1.0, 0.0]], steps=3, token_rm__value=head.tolist(), shaped=shaped)
    logp = torch.randn(6, dtype=torch.float64, requires_grad=True)
    total = 0.0
    for i, (said, sign) in enumerate(((head[:3], 1.0), (head[3:], -1.0))):
        mean_so_far = torch.cumsum(said, 0) / torch.arange(1, 4)
        weight = (2 * sign * (torch.sigmoid(mean_so_far) - 0.5)).clamp(0, 1)
        factor = 1.0 if sign > 0 else 0.5
        total = total - factor * (weight * shaped[i] * logp[3 * i : 3 * i + 3]).sum() / 3
    advantage = weigh_tokens(right="reward")(batch, ExamplePlay())["advantage"]
    ours = -(advantage * logp).sum() / 6
    torch.testing.assert_close(ours, total, rtol=1e-5, atol=1e-7)
    plain = weigh_tokens(right="reward", weighed=False)(batch, ExamplePlay())["advantage"]
    torch.testing.assert_close(plain, torch.tensor([3.0] * 3 + [-0.5] * 3))  # 1.5 * 6 / 3 and -0.5 * 0.5 * 6 / 3


@pytest.mark.slow
def test_oreal_waits_for_its_head_and_then_learns_from_pairs(tmp_path):
    recipe = find_recipe("oreal").build(
        {"task": load("equation:6"), "model": gd.models.load("sprig-1.1")},
        {"prompts": 2, "tries": 4, "max_tokens": 64, "warm": 0.5},
    )
    before = [p.detach().clone() for p in recipe.models["policy"].weights.parameters()]
    run = Watched(recipe, steps=2)
    assert [row["policy/lr"] for row in run.rows] == [0.0, 2e-5]
    after = list(run.recipe.models["policy"].weights.parameters())
    assert any(not torch.equal(a, b) for a, b in zip(before, after, strict=True))
    batch = run.batches[-1]
    learned = batch.up((~batch.cols["advantage"].missing).double(), "track") > 0
    assert sorted(batch["correct"][learned].tolist()) == [0.0] * (int(learned.sum()) // 2) + [1.0] * (
        int(learned.sum()) // 2
    )


def test_a_scorer_beside_an_adapted_policy_shares_its_frozen_weights(tmp_path):
    policy = small_lm(tmp_path)
    policy.lora = 2
    models = {"policy": policy, "token_rm": scorer_beside(policy)}
    for model in models.values():
        model.start(0, models)
    own, other = (dict(models[name].weights.named_parameters()) for name in models)
    assert {name for name in own if own[name] is other[name]} == {name for name in own if "adapter" not in name}
    assert any(name.startswith("value_head") for name in other)


# --- InTRO -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def spoken(tmp_path_factory):
    """A small model, two answers of its own to one question whose answer is 9, and who played."""
    model = small_lm(tmp_path_factory.mktemp("spoken"))
    play = Player({"policy": model}, {"policy": "policy"}, single_turn(), Sampling(max_tokens=5), seed=1, steps=1)
    model.start(0, {})
    batch = pack(play([Ask(Task("0", "x + 4 = 9", "9"), 2)]))
    with torch.no_grad():
        read = model.read(batch, ["top_token", "top_logp"])
    return batch.with_cols({f"policy.{name}": Column.full("step", x) for name, x in read.items()}), play


def chances(model, view, batch, track):
    """[T, V] log-probs of the likeliest tokens at each step of a track as if `view` had been shown; others are not known."""
    steps = batch.steps_by_track()[track]
    (reading,) = gd.models.probe(model, [((), view, batch.action[steps].numpy())], ["top_token", "top_logp"])
    known = torch.full((len(steps), 320), math.nan)
    return known.scatter_(1, reading["top_token"].long(), reading["top_logp"])


def test_a_candidate_weighs_what_the_answer_makes_of_it(spoken):
    batch, play = spoken
    stage = candidates(n=40, show="line", most=1.5)
    drawn = stage(batch, play)
    assert not [name for name in drawn.cols if name.startswith("policy.")]
    checked = 0
    for track, steps in enumerate(batch.steps_by_track()):
        plain, knowing = (chances(play.models["policy"], v, batch, track) for v in ("x + 4 = 9", "x + 4 = 9\n= 9"))
        token, weight = drawn["candidates.top_token"][steps].long(), drawn["candidates.weight"][steps]
        ratio = (knowing.gather(1, token) - plain.gather(1, token)).exp()
        known = ~ratio.isnan()  # among the likeliest both times
        torch.testing.assert_close(weight[known], ratio[known].clamp(max=1.5), rtol=1e-3, atol=1e-5)
        checked += int(known.sum())
    assert checked > 100 and 0 < play.metrics["candidates/cut"] < 1


def test_many_candidates_are_the_cross_entropy_from_the_policy_that_knows(spoken):
    batch, play = spoken
    drawn = candidates(n=20_000, show="line")(batch, play)
    loss = weighed_candidates(mean="step")
    token = drawn["candidates.top_token"].long()
    plain = torch.cat([chances(play.models["policy"], "x + 4 = 9", batch, k) for k in range(2)])
    knowing = torch.cat([chances(play.models["policy"], "x + 4 = 9\n= 9", batch, k) for k in range(2)])
    value = float(loss(drawn, {"logp_at": plain.gather(1, token)})[0])
    both = ~(plain.isnan() | knowing.isnan())
    mass = plain.exp().nansum(1, keepdim=True)  # candidates are drawn among the likeliest
    cross = -torch.where(both, knowing.exp() * plain, 0.0) / mass
    assert value == pytest.approx(float(cross.sum(1).mean()), rel=0.15)


def test_a_problem_without_an_answer_is_refused_in_a_line(spoken):
    batch, play = spoken
    episodes = [dataclasses.replace(e, ask=Ask(Task("0", "x"), 2)) for e in batch.episodes]
    with refusal(UserError):
        candidates()(dataclasses.replace(batch, episodes=tuple(episodes)), play)


def test_messages_show_the_answer_in_the_last_of_them():
    talk = [{"role": "system", "content": "s"}, {"role": "user", "content": "2+2?"}]
    assert (
        with_answer(talk, "4", "sentence")[1]["content"] == "2+2?\n(The answer is 4.)" and len(talk[1]["content"]) == 4
    )


@pytest.mark.slow
def test_intro_learns_from_right_tries_alone():
    slots = {"task": load("equation:6"), "model": gd.models.load("sprig-1.1")}
    knobs = {"prompts": 2, "tries": 4, "max_tokens": 64, "show": "line"}
    run = Watched(find_recipe("intro").build(slots, knobs), steps=1)
    assert run.rows[0]["kept_share"] == pytest.approx(float(run.batches[0]["correct"].mean()))
    assert run.rows[0]["policy/grad_norm"] > 0 and run.rows[0]["candidates/weight"] > 0
    imitated = find_recipe("intro").build(slots, {"candidates": 0})
    assert [type(stage).__name__ for stage in imitated.stages] == ["verified", "Learn"]
