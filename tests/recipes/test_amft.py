"""AMFT by hand: two losses in one update, the weight between them and where it moves, and the recipe."""

from __future__ import annotations

import copy

import pytest
import torch
from killing import killed_at
from refusals import refusal
from scheduling import mostly_slow
from small import small_lm
from test_hints import echo
from watching import TABLE, Watched, train

import guerdon as gd
from guerdon.core.episode import Episode, Segment
from guerdon.core.errors import UserError
from guerdon.core.learn import Learn
from guerdon.core.optim import adam, sgd
from guerdon.core.pack import pack
from guerdon.core.schedule import linear
from guerdon.core.task import Ask, Sampling, Task
from guerdon.credit.group_relative import centre
from guerdon.curricula.plain import uniform, validation_problems
from guerdon.engine.player import Player
from guerdon.envs.simple import single_turn
from guerdon.losses.imitation import sft
from guerdon.losses.policy import clipped
from guerdon.models.tables import tabular
from guerdon.recipes.curriculum.amft.parts import balanced, climbing
from guerdon.select.hints import hint
from guerdon.tasks import load
from guerdon.training.build import RunRequest, build
from guerdon.training.catalog import listings


class Letters:
    """Problems answered with one letter of three: the solution is `a`, and `a` and `b` are right."""

    name = "letters"

    def solution(self, task):
        return "a"


def player(vocab="abc", seed=5, **knobs):
    model = tabular(vocab, length=1, rows=64, spread=1.0, **knobs)
    model.start(seed, {})
    return Player({"policy": model}, {"policy": "policy"}, single_turn(), Sampling(), seed=1, steps=10)


def learner(play, loss=None, **knobs):
    made = balanced("policy", loss or clipped(), solve=hint(Letters()), clip=0.0, **{"opt": sgd(lr=0.1), **knobs})
    made.start(play)
    return made


def tried(play, letters, advantages, name="0"):
    """One ask, a try for each letter, as the model itself would have said it."""
    model, task = play.models["policy"], Task(name, f"prompt {name}")
    said = [Segment("policy", task.prompt, model.encode(task.prompt), [x], [0.0]) for x in letters]
    batch = pack([Episode(Ask(task), (s,), number=int(name), attempt=i) for i, s in enumerate(said)])
    batch.logp.copy_(model.read(batch, ("logp",))["logp"].detach())
    return batch.put("advantage", "step", torch.tensor(advantages))


def after(play, made, batch):
    """The table after one update, from the start each time."""
    model = play.models["policy"]
    before = model.weights.logits.detach().clone()
    made(batch, play)
    found = model.weights.logits.detach().clone()
    with torch.no_grad():
        model.weights.logits.copy_(before)
    return found


# --- two losses in one update ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mu", [0.0, 0.3, 1.0])
def test_the_update_follows_both_gradients_by_hand(mu):
    """In the row of the question: lr [(1-mu) mean_k A_k (e_k - p) + mu (e_a - p)]."""
    play = player()
    model = play.models["policy"]
    batch = tried(play, [0, 1, 2, 2], [2.0, 0.5, -1.0, -1.5])
    row = model._rows(batch)[0]
    before = model.weights.logits.detach().clone()
    p, one = before[row].softmax(0), torch.eye(3)
    explore = sum(a * (one[x] - p) for a, x in zip([2.0, 0.5, -1.0, -1.5], [0, 1, 2, 2], strict=True)) / 4
    by_hand = before.clone()
    by_hand[row] += 0.1 * ((1 - mu) * explore + mu * (one[0] - p))
    torch.testing.assert_close(after(play, learner(play, weight=mu), batch), by_hand)


def test_at_the_ends_it_is_the_one_or_the_other():
    play = player()
    batch = tried(play, [0, 1, 2], [1.0, 0.0, -1.0])
    plain = Learn("policy", clipped(), opt=sgd(lr=0.1), clip=0.0)
    plain.start(play)
    assert torch.equal(after(play, learner(play, weight=0.0), batch), after(play, plain, batch))
    teach = Learn("policy", sft(), opt=sgd(lr=0.1), clip=0.0)
    teach.start(play)
    shown = learner(play).demonstrations(batch, play)
    assert torch.equal(after(play, learner(play, weight=1.0), batch), after(play, teach, shown))


def test_every_problem_is_shown_once_however_often_it_was_tried():
    play = player()
    one, other = tried(play, [0, 1, 2], [1.0, 0.0, -1.0]), tried(play, [1], [0.0], name="1")
    both = pack([*one.episodes, *other.episodes])
    shown = learner(play).demonstrations(both, play)
    assert [(e.task.id, e.segments[0].text, e.segments[0].view) for e in shown.episodes] == [
        ("0", "a", "prompt 0"),
        ("1", "a", "prompt 1"),
    ]
    assert shown.logp.isnan().all()


def test_each_has_its_own_denominator():
    """Two more tries that say nothing halve the exploring part, and leave the imitation as it was."""
    play = player()
    few, many = (tried(play, [0, 2] * n, [1.0, -1.0] + [0.0] * (2 * n - 2)) for n in (1, 2))
    move = {n: after(play, learner(play, weight=0.5), b) - play.models["policy"].weights.logits.detach()
            for n, b in (("few", few), ("many", many))}  # fmt: skip
    taught = after(play, learner(play, weight=1.0), few) - play.models["policy"].weights.logits.detach()
    torch.testing.assert_close(move["many"] - 0.5 * taught, 0.5 * (move["few"] - 0.5 * taught))


def test_where_no_try_says_anything_the_demonstrations_still_do():
    play = player()
    made = learner(play, weight=0.5)
    made(tried(play, [0, 1], [0.0, 0.0]), play)
    assert (play.metrics["policy/silent"], play.metrics["policy/silent_tries"]) == (0.0, 1.0)
    assert play.metrics["policy/grad_norm"] > 0
    assert play.metrics["policy/imitation"] > 0


def test_what_is_shown_is_in_no_batch_and_is_spent():
    play = player()
    batch = tried(play, [0, 1], [1.0, -1.0])
    assert learner(play)(batch, play) is not None
    assert (len(batch.episodes), play.tokens) == (2, 1)  # both tries are of one ask, whose solution is one action


def test_small_micro_batches_give_the_same():
    play = player()
    batch = tried(play, [0, 1, 2, 2], [2.0, 0.5, -1.0, -1.5])
    whole, small = (after(play, learner(play, weight=0.3, micro=m), batch) for m in (0, 1))
    torch.testing.assert_close(whole, small)


def test_the_weight_may_be_a_schedule():
    play = player()
    batch = tried(play, [0, 2], [1.0, -1.0])
    play.step = 5
    scheduled = learner(play, weight=linear(1.0, 0.1))  # at step 5 of 10: 1 - 0.9 * 5/9
    torch.testing.assert_close(after(play, scheduled, batch), after(play, learner(play, weight=0.5), batch))


def test_without_solutions_it_is_refused():
    with refusal(UserError):
        balanced("policy", clipped())


# --- where the weight moves --------------------------------------------------------------------------------------


def exact(play, names, n=4000):
    """Held-out tries in the very proportions of the policy, with advantages from the plain mean: no chance is left."""
    model, episodes, worth = play.models["policy"], [], []
    for number, name in enumerate(names):
        task = Task(name, f"prompt {name}")
        context = model.encode(task.prompt)
        probe = pack([Episode(Ask(task), (Segment("policy", task.prompt, context, [0], [0.0]),))])
        p = model.weights.logits.detach()[model._rows(probe)[0]].log_softmax(0)
        for x in range(3):
            for _ in range(round(float(p[x].exp()) * n)):
                said = Segment("policy", task.prompt, context, [x], [float(p[x])])
                episodes.append(Episode(Ask(task, n), (said,), number=number, attempt=len(episodes)))
                worth.append(float(x < 2))
    batch = pack(episodes).put("correct", "track", torch.tensor(worth))
    return centre("correct", std=False)(batch, play)


def utility(model, names):
    """The exact expected reward."""
    total = 0.0
    for name in names:
        task = Task(name, f"prompt {name}")
        probe = pack([Episode(Ask(task), (Segment("policy", task.prompt, model.encode(task.prompt), [0], [0.0]),))])
        total += float(model.weights.logits.detach()[model._rows(probe)[0]].softmax(0)[:2].sum())
    return total / len(names)


@pytest.mark.slow
def test_the_slope_is_the_derivative_of_held_out_reward_through_the_update():
    """Against finite differences of the whole: another mu, another update, another expected reward."""
    play = player(seed=8)
    model = play.models["policy"]
    batch = tried(play, [0, 1, 2, 2], [2.0, -1.0, 0.5, -1.5])
    start, lr, mu, names = model.weights.logits.detach().clone(), 0.1, 0.6, ["0"]

    def reached(weight):
        with torch.no_grad():
            model.weights.logits.copy_(start)
        made = learner(play, weight=weight)
        made(batch, play)
        return made, utility(model, names)

    rise = (reached(mu + 0.01)[1] - reached(mu - 0.01)[1]) / 0.02
    made, _ = reached(mu)
    slope = climbing(None, []).slope(exact(play, names), made, play)
    assert abs(rise) > 1e-3  # there is something to find
    assert lr * slope == pytest.approx(rise, rel=0.01)


def test_measuring_changes_neither_weights_nor_optimiser():
    play = player()
    made = learner(play, weight=0.5, opt=adam(lr=0.1))
    made(tried(play, [0, 2], [1.0, -1.0]), play)
    weights, kept = play.models["policy"].weights.logits.detach().clone(), copy.deepcopy(made.optimiser.state_dict())
    climbing(None, []).slope(exact(play, ["0"], n=20), made, play)
    assert torch.equal(play.models["policy"].weights.logits.detach(), weights)
    assert str(made.optimiser.state_dict()) == str(kept)


class Flat:
    """A learner that was just updated, with so much entropy."""

    def __init__(self, entropy):
        self.entropy = entropy


def test_lost_entropy_asks_for_imitation():
    play, mu = player(), climbing(None, [], start=0.5, rate=0.0, entropy_rate=0.1)
    path = []
    for entropy in (2.0, 1.5, 2.5, float("nan")):
        mu.move(Flat(entropy), play)
        path.append(mu.at(0, 1))
    assert path == pytest.approx([0.5, 0.55, 0.5, 0.5])  # the first says what is lacking later; unknown moves nothing


def test_it_stays_within_its_bounds():
    play, mu = player(), climbing(None, [], start=0.9, rate=0.0, entropy_rate=10.0)
    found = [mu.move(Flat(e), play) or mu.mu for e in (1.0, 0.0, 5.0)]
    assert found == [0.9, 0.95, 0.05]


def test_held_out_problems_are_tried_every_so_often_and_counted():
    recipe = made(every=3)
    run = Watched(recipe, 7)
    assert [("mu/slope" in row) for row in run.rows] == [True, False, False, True, False, False, True]
    assert [row["episodes"] for row in run.rows] == [32, 16, 16, 32, 16, 16, 32]
    both = run.recipe.stages[-1]
    assert both.weight.held.drawn == 3 * 4
    assert run.recipe.curriculum.drawn == 7 * 4
    path = [row["policy/mu"] for row in run.rows]
    assert path[0] == 0.8
    assert path[1] == path[2] != path[0]
    assert path[1] - 0.8 == pytest.approx(0.2 * run.rows[0]["mu/slope"], abs=1e-6)


def test_problems_apart_are_others_than_those_trained_on():
    play, source = player(), load("countdown:3")
    ours, theirs = uniform(source), validation_problems(source)
    seen = {a.task.prompt for a in ours.draw(64, play)}
    first, second = theirs.draw(3, play), theirs.draw(2, play)
    assert [a.task for a in first + second] == [source.get("train", 2**20 * play.seed + 2**19 + i) for i in range(5)]
    assert not seen & {a.task.prompt for a in first + second}
    assert theirs.drawn == 5


# --- the recipe --------------------------------------------------------------------------------------------------


def made(name="amft", **settings):
    table = {"tabular.vocab": "ab", "tabular.length": 4, "tabular.rows": 4096, "prompts": 4, "tries": 4, "lr": 0.3}
    own = {"entropy_rate": 0.0} if name == "amft" else {}
    return build(RunRequest(name, echo(), "tabular", settings={**table, **own, **settings})).recipe


def test_what_it_is_made_of():
    recipe = made(entropy_rate=5e-4, prompts=3)
    verified, credit, both = recipe.stages
    mu = both.weight
    assert repr(credit) == "centre(reward='correct')"
    assert (both.loss.low, both.opt.lr, both.solve.task) == (0.2, 0.3, recipe.curriculum.task)
    assert mu.stages[0] is verified
    assert repr(mu.stages[1]) == "centre(reward='correct', std=False, others=True)"
    assert (mu.start, mu.rate, mu.entropy_rate, mu.within, mu.every, mu.prompts) == (
        0.8,
        0.2,
        5e-4,
        (0.05, 0.95),
        20,
        3,
    )
    assert (mu.held.tries, mu.held.task) == (4, recipe.curriculum.task)
    recipe.check()


def test_it_is_listed_with_its_paper():
    assert listings()["amft"].paper == "arXiv:2508.06944"


def test_without_a_rate_the_weight_stays_and_nothing_is_held_out():
    run = Watched(made(rate=0.0, start=0.5), 4)
    assert [row["policy/mu"] for row in run.rows] == [0.5] * 4
    assert [row["episodes"] for row in run.rows] == [16] * 4


def test_on_a_table_without_any_weight_it_is_grpo():
    recipe = made(rate=0.0, start=0.0)
    recipe.stages[-1].weight.within = (0.0, 1.0)
    assert torch.equal(Watched(recipe, 3).weights, Watched(made("grpo"), 3).weights)


@pytest.mark.slow
@pytest.mark.parametrize("model", mostly_slow(["lm", "table"], "table"))
def test_a_run_that_was_broken_off_goes_on_the_same(model, tmp_path):
    small = {"every": 1, "entropy_rate": 0.1}
    if model == "lm":
        small_lm(tmp_path / "lm")
        small |= {"prompts": 2, "tries": 2, "lr": 3e-3, "max_tokens": 16}
        wish = {"task": "chain", "model": str(tmp_path / "lm"), "settings": small}
    else:
        wish = {"task": "parity", "model": "tabular", "settings": {**TABLE, **small, "lr": 0.3, "solution": "answer"}}
    whole = train("amft", tmp_path / "whole", wish)
    with killed_at(1):
        train("amft", tmp_path / "broken", wish, every=1)
    resumed = gd.train(resume=tmp_path / "broken")
    assert resumed.weights == whole.weights
    assert resumed.metrics.drop_columns(["seconds"]) == whole.metrics.drop_columns(["seconds"])
    if model == "table":
        first, second = whole.metrics["policy/mu"].to_pylist()
        assert first == 0.8 != second  # where the weight stood was kept
