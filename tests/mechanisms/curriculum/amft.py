"""AMFT: imitation and exploration in one update, with a weight between them that climbs held-out reward."""

from __future__ import annotations

from math import nan

import torch
from harness import Mechanism, World, _reasons, made
from strategies import episode, segment

import guerdon as gd
from guerdon.core.column import Column
from guerdon.core.optim import sgd
from guerdon.core.pack import pack
from guerdon.core.task import Sampling
from guerdon.engine.player import Player
from guerdon.envs.simple import single_turn
from guerdon.recipes.curriculum.amft.parts import climbing

START = torch.tensor([0.2, 0.3, 0.5])  # the chances of a, b and c before an update


class Letters:
    """One letter answers a problem: the solution shows `a`, and `b` is right."""

    name = "letters"

    def size(self, split):
        return None

    def get(self, split, index):
        return gd.Task(str(index), "which?", "b", meta={"solution": "a", "other": "c"})

    def check(self, task, completion):
        return float(completion == "b")


def table(length=1):
    model = gd.models.tabular("abc", length=length, rows=64)
    model.start(0, {})
    with torch.no_grad():
        model.weights.logits[:, :3] = START.log()
    return model


def player(model, steps=10):
    return Player({"policy": model}, {"policy": "policy"}, single_turn(), Sampling(), 1, steps)


def tried(model, letters, advantages, number=0):
    ask = gd.Ask(Letters().get("train", number), len(letters))
    tries = [
        episode(
            segment([x], context=model.encode("which?"), logp=[float(START[x].log())]),
            ask=ask,
            number=number,
            attempt=n,
        )
        for n, x in enumerate(letters)
    ]
    return pack(tries).put("advantage", "step", torch.tensor(advantages))


def learner(play, **knobs):
    both = made("amft", Letters(), play.models["policy"], **{"lr": 0.1, **knobs}).stages.learners[0]
    both.opt, both.clip = sgd(lr=0.1), 0.0
    both.start(play)
    return both


def moved(letters, advantages, weight=0.0, length=1, **knobs):
    """How one update moves the logits of the question."""
    model = table(length)
    play, batch = player(model), tried(model, letters, advantages)
    both = learner(play, **knobs)
    both.weight = weight
    before = model.weights.logits.detach().clone()
    both(batch, play)
    return (model.weights.logits - before)[model._rows(batch)[0]].tolist()


def explored(letters, advantages, p=START):
    return sum(a * (torch.eye(3)[x] - p) for a, x in zip(advantages, letters, strict=True)) / len(letters)


def imitated(letter, p=START):
    return torch.eye(3)[letter] - p


def noted():
    """Two problems, the first tried twice: what is recited, and what is noted."""
    model = table()
    play = player(model)
    both = learner(play, rate=0.0)
    batch = pack([*tried(model, [0, 1], [0.0, 0.0]).episodes, *tried(model, [2], [0.0], 1).episodes])
    shown = both.demonstrations(batch, play)
    both(batch.put("advantage", "step", torch.zeros(3)), play)
    names = ("silent", "silent_tries", "imitation", "mu")
    return [
        [
            [e.task.id, e.number, e.step, e.segments[0].text, e.segments[0].view, e.segments[0].role]
            for e in shown.episodes
        ],
        shown.context.tolist() == [*model.encode("which?")] * 2,
        play.meter.tokens,
        [play.metrics[f"policy/{name}"] for name in names],
    ]


class Held:
    """Held-out problems, and a stage that says what tries at them are worth; both keep what they saw."""

    needs = ()

    def __init__(self, worth=(-1.0, 2.0, 0.5), tries=4):
        self.worth, self.tries = torch.tensor(worth), tries

    def draw(self, n, play):
        self.drawn = n
        return [gd.Ask(Letters().get("train", i), self.tries) for i in range(n)]

    def __call__(self, batch, play):
        self.first = batch.action[batch.length.cumsum(0) - batch.length]
        worth = self.worth[self.first][batch.seg]
        return batch.with_cols({"advantage": Column("step", worth, _reasons(worth))})


def climbed(*steps, length=1, held=None, **knobs):
    """The weight after updates at these steps, and by hand: its start and rate * <grad U, grad L - grad L_demo>."""
    model, held = table(length), held or Held()
    play = player(model)
    both = learner(play)
    both.weight, by_hand = climbing(held, [held], **{"prompts": 3, **knobs}, entropy_rate=0.0), knobs.get("start", 0.8)
    for step in steps:
        play.begin(step)
        p = model.weights.logits.detach()[model._rows(tried(model, [0], [0.0]))[0]].softmax(0)
        batch = tried(model, [1, 2, 2], [2.0, -1.0, 0.5])
        batch.logp.copy_(p.log()[batch.action])
        both(batch, play)
        if step % knobs.get("every", 20) == 0:
            after = model.weights.logits.detach()[model._rows(batch)[0]].softmax(0)
            utility = explored(held.first.tolist(), held.worth[held.first].tolist(), after)
            apart = imitated(0, p) - explored([1, 2, 2], [2.0, -1.0, 0.5], p)
            slope = float((utility * apart).sum())
            assert abs(slope - play.metrics["mu/slope"]) < 1e-5 and held.drawn == both.weight.prompts
            by_hand += knobs.get("rate", 0.2) * slope
    return [both.weight.at(0, 1) - by_hand, abs(by_hand - knobs.get("start", 0.8)) > 0.001]


def unmoved():
    """The weight where no held-out try has a value, and where none that was learned from has one."""
    model, nothing = table(), Held((nan, nan, nan))
    play = player(model)
    both = learner(play)
    both.weight = climbing(nothing, [nothing], 3, entropy_rate=0.0)
    both(tried(model, [0, 1], [1.0, -1.0]), play)
    held = both.weight.mu
    both.weight = climbing(Held(), [Held()], 3, entropy_rate=0.0)
    both(tried(model, [0, 1], [1.0, -1.0]).with_cols({"advantage": Column.empty("step", 2)}), play)
    return [held, both.weight.mu]


def entropy(advantages):
    model = table()
    play = player(model)
    both = learner(play, rate=0.0)
    both(tried(model, [0, 1], advantages), play)
    return both.entropy


class Updated:
    def __init__(self, entropy):
        self.entropy = entropy


def by_entropy(*entropies, **knobs):
    """The path of the weight after updates whose tries had these entropies, at a step at which nothing is held out."""
    play, mu = player(table()), climbing(None, [], **{"start": 0.5, "entropy_rate": 0.1, **knobs})
    play.begin(1)
    return [mu.move(Updated(entropy), play) or mu.mu for entropy in entropies]


def composed(**knobs):
    both = made("amft", Letters(), table(), tries=3, prompts=5, **knobs).stages.learners[0]
    mu = both.weight
    return [
        [mu.start, mu.rate, mu.entropy_rate, mu.within, mu.every, mu.prompts, mu.held.tries, mu.held.task.name],
        [repr(stage) for stage in mu.stages[1:]],
        [both.solve.of(Letters().get("train", 0)), both.updates, both.opt.lr, both.loss.low],
    ]


def ended(**knobs):
    """The weight of demonstrations after some steps, where they show what is wrong and the tries are right now and then."""
    recipe = made("amft", Letters(), table(), lr=0.05, prompts=2, tries=8, entropy_rate=0.0, every=1, **knobs)
    play, (both,) = player(recipe.models["policy"]), recipe.stages.learners
    both.start(play)
    for step in range(6):
        play.begin(step)
        batch = pack(play(recipe.curriculum.draw(2, play)))
        for stage in recipe.stages:
            batch = stage(batch, play)
    return both.weight.mu


LETTERS, WORTH = [0, 1, 2, 2], [2.0, 0.5, -1.0, -1.5]
mechanism = Mechanism(
    "amft",
    source="TSYJ-He/AMFT@0e030f47, src/trainer/amft_trainer.py, line 145, and src/controller/adaptive_weight_controller.py,"
    " lines 36 to 44 (entropy); arXiv:2508.06944, dU(theta')/dmu by the chain rule",
    numbers={
        "tries alone": (lambda: moved(LETTERS, WORTH), 0.1 * explored(LETTERS, WORTH)),
        "demonstrations alone": (lambda: moved(LETTERS, WORTH, 1.0), 0.1 * imitated(0)),
        "both": (
            lambda: moved(LETTERS, WORTH, 0.3),
            0.1 * (0.7 * explored(LETTERS, WORTH) + 0.3 * imitated(0)),
        ),
        "tries that say nothing": (lambda: moved([0, 1], [0.0, 0.0], 0.5), 0.05 * imitated(0)),
        "a column that holds the solution": (lambda: composed(solution="other")[2][0], "c"),
        "each problem once": (
            noted,
            [
                [[str(n), n, 0, "a", "which?", "policy"] for n in (0, 1)],
                True,
                4,
                [0.0, 1.0, -float(START[0].log()), 0.8],
            ],
        ),
        "climbed": (lambda: climbed(0), [0.0, True]),
        "by all that was said of a try": (lambda: climbed(0, length=2), [0.0, True]),
        "by a single one": (lambda: climbed(0, held=Held((3.0, 5.0, 9.0), tries=1), prompts=1), [0.0, True]),
        "not where nothing has a value": (unmoved, [0.8, None]),
        "climbed at every second step, with another rate": (
            lambda: climbed(0, 1, 2, every=2, rate=0.1, start=0.5, within=(-9.0, 9.0)),
            [0.0, True],
        ),
        "the entropy of the tries, unknown where they say nothing": (
            lambda: [entropy([1.0, -1.0]), entropy([0.0, 0.0])],
            [-float((START * START.log()).sum()), nan],
        ),
        "entropy that is lacking asks for demonstrations": (
            lambda: by_entropy(2.0, 1.5, 2.5, nan, 2.0),
            [0.5, 0.55, 0.5, 0.5, 0.5],
        ),
        "within bounds": (lambda: by_entropy(1.0, -9.0, 99.0), [0.5, 0.95, 0.05]),
        "composed": (
            composed,
            [
                [0.8, 0.2, 5e-4, [0.05, 0.95], 20, 5, 3, "letters"],
                ["centre(reward='correct', std=False, others=True)"],
                ["a", 1, 2e-5, 0.2],
            ],
        ),
        "with other knobs": (
            lambda: composed(start=0.1, rate=0.3, entropy_rate=0.4, every=7)[0][:5],
            [0.1, 0.3, 0.4, [0.05, 0.95], 7],
        ),
        "on the knobs of grpo": (
            lambda: composed(lr=0.5, clip=0.3)[2],
            ["a", 1, 0.5, 0.3],
        ),
    },
    world=World(
        says="demonstrations show what is not rewarded: their weight falls",
        measure=ended,
        off={"rate": 0.0},
        moves=-0.1,
    ),
    equal={
        "climbing.move: self.at(...) with play.steps before play.step": "the weight does not follow the step",
        "balanced.demonstrations: Segment(...) without sampling=": "the default",
        "amft: balanced(...) without updates=": "GRPO takes one update",
    },
)
