"""Guide by hand: what a hinted try is without its hint, the ratio it is learned by, and the recipe."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
import torch
from killing import killed_at
from refusals import refusal
from small import small_lm
from test_hints import echo, problem
from watching import Watched, train

import guerdon as gd
from guerdon.core.column import Column
from guerdon.core.episode import Episode, Segment
from guerdon.core.errors import UserError
from guerdon.core.learn import Learn
from guerdon.core.optim import adam
from guerdon.core.pack import pack
from guerdon.core.part import part
from guerdon.core.recipe import Recipe
from guerdon.core.seeds import derive
from guerdon.core.task import Ask, Sampling, Task
from guerdon.curricula.plain import uniform
from guerdon.engine.player import Player
from guerdon.envs.simple import dataset_env, single_turn
from guerdon.losses.imitation import sft
from guerdon.losses.policy import clipped
from guerdon.models.tables import tabular
from guerdon.select.hints import hint, hinted, unhinted
from guerdon.training.build import RunRequest, build
from guerdon.training.catalog import listings

HINTED = "prompt 0 | a"


class One:
    """A source whose solutions are one letter."""

    name = "one"

    def solution(self, task):
        return "a"


def table(**chances):
    """A table of one letter a turn that says `a` with the chance of each situation."""
    model = tabular("ab", length=1, rows=4096)
    model.start(0, {})
    for view, chance in chances.values():
        shown = pack([Episode(Ask(problem()), (Segment("policy", view, model.encode(view), [0], [0.0]),))])
        with torch.no_grad():
            model.weights.logits[model._rows(shown)[0]] = torch.tensor([chance, 1 - chance]).log()
    return model


def playing(model, env=None, seats=None, **how):
    return Player({"policy": model}, seats or {"policy": "policy"}, env or single_turn(), Sampling(**how), 1, 1)


@pytest.fixture
def helped():
    """Says `a` in a quarter of its tries, and in nine of ten with the hint."""
    model = table(plain=("prompt 0", 0.25), hinted=(HINTED, 0.9))
    play = playing(model)
    ask = hint(One(), template="{prompt} | {hint}").into(Ask(problem(), 8), 1.0, play)
    return model, play, pack(play([ask, Ask(problem(), 4)]))


# --- a hint in the question --------------------------------------------------------------------------------------


def test_a_hinted_try_stands_under_the_plain_question_and_keeps_its_log_probs(helped):
    model, play, batch = helped
    found = unhinted()(batch, play)
    assert {e.segments[0].view for e in found.episodes} == {"prompt 0"}
    assert found.context.tolist() == list(model.encode("prompt 0")) * 12
    assert torch.equal(found.logp, batch.logp)
    assert torch.equal(found.action, batch.action)
    hinted_a = (found.action == 0)[:8]
    torch.testing.assert_close(found.logp[:8].exp(), torch.where(hinted_a, 0.9, 0.1))
    assert found.episodes[0].ask.shown == HINTED  # the record still says what was asked
    assert play.metrics["hints/unhinted"] == 8.0


def test_the_ratio_is_to_the_policy_that_saw_the_hint(helped):
    """$\\pi(a|q)/\\pi(a|q,hint)$ is 0.25/0.9; 0.75/0.1 for the other letter; 1 for the tries without a hint."""
    model, play, batch = helped
    found = unhinted()(batch, play)
    ratio = (model.read(found, ("logp",))["logp"] - found.logp).exp()
    by_hand = torch.where(found.action == 0, 0.25 / 0.9, 0.75 / 0.1)
    by_hand[8:] = 1.0
    torch.testing.assert_close(ratio, by_hand)


@pytest.mark.parametrize(
    ("letter", "advantage", "loss", "pull"),
    [(0, 1.0, -0.25 / 0.9, -0.25 / 0.9), (0, -1.0, 0.8, 0.0), (1, 1.0, -1.2, 0.0), (1, -1.0, 7.5, 7.5)],
)
def test_what_the_clipped_objective_makes_of_it(helped, letter, advantage, loss, pull):
    model, play, batch = helped
    found = unhinted()(batch, play)
    one = torch.zeros(found.K, dtype=torch.bool)
    one[torch.nonzero(found.action[:8] == letter)[0]] = True
    found = found.put("advantage", "step", torch.full((found.S,), advantage)).take(one)
    logp = model.read(found, ("logp",))["logp"].detach().requires_grad_()
    value, _ = clipped()(found, {"logp": logp, "entropy": torch.zeros(1)})
    value.backward()
    assert value.item() == pytest.approx(loss, rel=1e-5)
    assert float(logp.grad) == pytest.approx(pull, rel=1e-5)


def test_without_correction_it_is_as_if_the_plain_policy_had_said_it(helped):
    _, play, batch = helped
    found = unhinted(corrected=False)(batch, play)
    torch.testing.assert_close(found.logp.exp(), torch.where(found.action == 0, 0.25, 0.75))
    assert not found.logp.requires_grad


def test_the_gradient_is_the_importance_weighted_one():
    """Expected over hinted answers, a step's ratio times its advantage pulls as the plain policy's own answers would."""
    model = table(plain=("prompt 0", 0.25), hinted=(HINTED, 0.6))
    play, ask = playing(model), hint(One(), template="{prompt} | {hint}").into(Ask(problem()), 1.0, None)
    worth, pulls = {0: 1.0, 1: -0.5}, []
    for chance, letter in ((0.6, 0), (0.4, 1)):
        said = Segment("policy", HINTED, model.encode(HINTED), [letter], [math.log(chance)])
        found = unhinted()(pack([Episode(ask, (said,))]), play).put("advantage", "step", torch.tensor([worth[letter]]))
        model.weights.zero_grad()
        clipped(low=1.0, high=100.0)(found, model.read(found, ("logp", "entropy")))[0].backward()
        pulls.append(chance * model.weights.logits.grad.clone())
    model.weights.zero_grad()
    row = model._rows(found)[0]
    (-(model.weights.logits[row].softmax(0) * torch.tensor([1.0, -0.5])).sum()).backward()
    torch.testing.assert_close(sum(pulls)[row], model.weights.logits.grad[row])


# --- a hint in the mouth -----------------------------------------------------------------------------------------


def test_what_was_given_was_said_for_certain():
    """Its old log-prob is 0, so its ratio is the policy's own probability, here a half for every letter."""
    model = tabular("ab", length=4, rows=4096)
    model.start(0, {})
    play, source = playing(model), echo()
    ask = hint(source, how="start").into(Ask(source.get("train", 0), 3), 0.5, play)
    before = pack(play([ask]))
    found = unhinted()(before, play)
    assert (before.weight.view(3, 4) > 0).tolist() == [[False, False, True, True]] * 3
    assert found.weight.tolist() == [1.0] * 12
    assert found.count.steps == 12.0
    assert found.logp.view(3, 4)[:, :2].tolist() == [[0.0, 0.0]] * 3
    ratio = (model.read(found, ("logp",))["logp"] - found.logp).exp().view(3, 4)
    torch.testing.assert_close(ratio, torch.tensor([[0.5, 0.5, 1.0, 1.0]] * 3))
    assert [e.segments[0].text for e in found.episodes] == [e.segments[0].text for e in before.episodes]
    plain = unhinted(corrected=False)(before, play)
    torch.testing.assert_close(plain.logp.exp(), torch.full((12,), 0.5))


# --- edges -------------------------------------------------------------------------------------------------------


def test_scores_stay_and_what_was_read_under_the_hint_goes(helped):
    _, play, batch = helped
    kept = Column.full("track", torch.arange(12.0))
    batch = batch.with_cols({"correct": kept, "policy.logp": Column.full("step", batch.logp)})
    found = unhinted()(batch, play)
    assert list(found.cols) == ["correct"]
    assert found["correct"].tolist() == list(range(12))


def test_nothing_changes_without_a_hint():
    play = playing(table())
    batch = pack(play([Ask(problem(), 2)]))
    assert unhinted()(batch, play) is batch
    assert play.metrics["hints/unhinted"] == 0.0
    assert unhinted()(pack([]), play).K == 0


def test_the_plain_question_is_the_one_that_was_asked_before_the_hint():
    play = playing(table())
    clue = hint(One(), template="{prompt} | {hint}")
    budget = Ask(problem(), prompt="prompt 0, briefly")
    once = clue.into(budget, 1.0, play)
    twice = clue.into(once, 1.0, play)
    for ask in (once, twice):
        found = unhinted()(pack(play([ask])), play)
        assert found.episodes[0].segments[0].view == "prompt 0, briefly"


def test_what_weighs_nothing_for_another_reason_still_does(helped):
    _, play, batch = helped
    batch.weight[10] = 0.0  # a try without a hint
    assert unhinted()(batch, play).weight.tolist() == [1.0] * 10 + [0.0, 1.0]


@part
class wrapped(single_turn):
    """Shows the question with a line before it."""

    async def play(self, ask, seats):
        await seats["policy"].act(f"Now:\n{ask.shown}")
        return seats.episode()


def test_a_question_that_was_shown_otherwise_cannot_be_taken_out():
    play = playing(table(), wrapped())
    ask = hint(One()).into(Ask(problem()), 1.0, play)
    with refusal(UserError, "task/0"):
        unhinted()(pack(play([ask])), play)


class Remembering(tabular):
    """Reads a view after what it said before."""

    def encode(self, view, path=()):
        return np.array([len(path), *super().encode(view)])


def test_the_question_of_a_later_turn_is_read_after_the_turns_before_it():
    model = Remembering("ab", length=1, rows=64)
    model.start(0, {})
    play = playing(model)
    ask = hint(One(), template="{prompt} | {hint}").into(Ask(problem()), 1.0, play)
    hello = Segment("policy", "hello", model.encode("hello"), [0], [0.0])
    said = Segment("policy", HINTED, model.encode(HINTED, (hello,)), [0], [0.0], parent=0)
    found = unhinted()(pack([Episode(ask, (hello, said))]), play)
    first, second = found.episodes[0].segments
    assert first.same(hello)
    assert second.context.tolist() == [1, *tabular.encode(model, "prompt 0")]


# --- the recipe --------------------------------------------------------------------------------------------------


@part
class secrets:
    """Four problems, each with a code of five letters: by chance one guess in 32,768 is right."""

    name = "secrets"
    told: bool = False  # in the question

    def size(self, split):
        return 4

    def get(self, split, index):
        draw = random.Random(derive("secrets", index))
        code = "".join(draw.choice("abcdefgh") for _ in range(5))
        prompt = f"code {index}"
        return Task(str(index), f"{prompt} it is {code}" if self.told else prompt, code, family=self.name)

    def check(self, task, completion):
        return float(completion == task.answer)

    def solution(self, task):
        return task.answer


SETTINGS = {"tabular.vocab": "abcdefgh", "tabular.length": 5, "prompts": 4, "tries": 8, "lr": 0.3}


def made(name="guide", model="tabular", task=None, **settings):
    return build(RunRequest(name, task or secrets(), model, settings={**SETTINGS, **settings})).recipe


def test_what_it_is_made_of():
    recipe = made()
    verified, again, plain, credit, learn = recipe.stages
    assert again.scores == [verified]
    assert (again.shares, again.hint.how, again.column, plain.corrected) == ((0.5,), "prompt", "correct", True)
    assert repr(credit) == "centre(reward='correct', by='ask')"
    assert repr(learn.on) == "at_least(column='hint', least=0.0)"
    recipe.check()
    assert made(corrected=False).stages[2].corrected is False


def test_it_is_listed_with_its_paper():
    assert listings()["guide"].paper == "arXiv:2506.13923"


@pytest.fixture(scope="module")
def follower():
    """A table that was taught to say the code when it stands in the question, though not to be sure of it."""
    model = tabular("abcdefgh", length=5)
    teach = Learn("policy", sft(), opt=adam(lr=0.5))
    lesson = Recipe({"policy": model}, uniform(secrets(told=True), tries=1), dataset_env(), [teach], prompts=4)
    return Watched(lesson, 6).play.models["policy"]


def solves(model, source):
    play = playing(model)
    batch = pack(play([Ask(source.get("test", i), 8) for i in range(4)]))
    return sum(source.check(e.task, e.segments[0].text) for e in batch.episodes) / 32


@pytest.mark.slow
def test_it_learns_without_hints_what_grpo_never_finds(follower):
    """What a hint makes possible is learned for the question without one."""
    template = {"share": 1.0, "hint.template": "{prompt} it is {hint}"}
    assert solves(follower, secrets(told=True)) > 0.3 > 0.1 > solves(follower, secrets())
    after = {}
    for name, own in (("guide", template), ("grpo", {})):
        recipe = made(name, **own)
        recipe.models["policy"].net = type(follower.net)(16384, 8, 0.0, 0)
        recipe.models["policy"].net.load_state_dict(follower.net.state_dict())
        run = Watched(recipe, 80)
        after[name] = solves(run.play.models["policy"], secrets())
    assert after == {"guide": pytest.approx(1.0, abs=0.1), "grpo": pytest.approx(0.0, abs=0.1)}


@pytest.fixture(scope="module")
def guided():
    """A run that is given most of what it cannot find."""
    return Watched(made(how="start", share=0.8), 60)


@pytest.mark.slow
def test_what_was_given_is_learned_too(guided):
    """After the beginning was given often enough it is said without: `ghpo`, which does not learn it, never says it."""
    unlearned = Watched(made("ghpo", how="start", shares=(0.8,)), 60)
    assert solves(guided.play.models["policy"], secrets()) > 0.8
    assert solves(unlearned.play.models["policy"], secrets()) < 0.2


def test_hints_are_counted_and_stop_when_they_are_no_longer_needed(guided):
    first, last = guided.rows[0], guided.rows[-1]
    assert first["episodes"] == 4 * (8 + 8)
    assert (last["episodes"], last["hints/asked"], last["hints/unhinted"]) == (32, 0.0, 0.0)
    given = sum(e.ask.prefix.step for e in guided.batches[0].episodes if e.ask.prefix is not None)
    assert given == 32 * 4
    assert first["tokens"] == guided.batches[0].S - given  # what is given costs nothing


def test_where_all_is_solved_it_is_grpo():
    """With 64 tries at one of two letters nothing needs a hint."""
    small = {"tabular.vocab": "ab", "tabular.length": 4, "tries": 128, "prompts": 2}
    guided, plain = (Watched(made(name, task=echo(), **small, **own), 3) for name, own in
                     (("guide", {}), ("grpo", {"centre.by": "ask"})))  # fmt: skip
    assert [row["hints/asked"] for row in guided.rows] == [0.0] * 3
    assert torch.equal(guided.weights, plain.weights)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["start", pytest.param("prompt", marks=pytest.mark.slow)])
def test_a_run_that_was_broken_off_goes_on_the_same(how, tmp_path):
    small_lm(tmp_path / "lm")
    small = {"prompts": 2, "tries": 2, "lr": 3e-3, "max_tokens": 32, "how": how, "kl": 0.1}
    wish = {"task": "chain", "model": str(tmp_path / "lm"), "settings": small}
    whole = train("guide", tmp_path / "whole", wish)
    with killed_at(1):
        train("guide", tmp_path / "broken", wish, every=1)
    resumed = gd.train(resume=tmp_path / "broken")
    assert resumed.weights == whole.weights
    assert resumed.batch(1).same(whole.batch(1))
    assert whole.metrics["hints/unhinted"].to_pylist() == [4.0, 4.0]


def test_always_hinted_problems_can_be_learned_plain_too(follower):
    """`hinted` and `unhinted` fit together: what is drawn with a hint is learned without."""
    clue = hint(secrets(), template="{prompt} it is {hint}")
    recipe = made("grpo")
    recipe.curriculum = hinted(recipe.curriculum, clue, share=1.0)
    recipe.stages.insert(1, unhinted())
    run = Watched(recipe, 1)
    assert run.rows[0]["hints/unhinted"] == 32.0
    assert {e.segments[0].view for e in run.batches[0].episodes} == {f"code {i}" for i in range(4)}
