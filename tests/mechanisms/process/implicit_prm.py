"""Implicit PRM: a reward for every line from outcomes alone, the log-ratio of a model taught them to where it began."""

from __future__ import annotations

import dataclasses
from math import exp, log, nan

import torch
from harness import Mechanism, World, made, small_model
from strategies import episode, segment

from guerdon.core.column import Column
from guerdon.core.example import ExamplePlay, example_tries
from guerdon.core.pack import pack
from guerdon.losses.reward_modelling import implicit_outcome
from guerdon.models.tables import tabular
from guerdon.rewards.formula.per_step import overall
from guerdon.rewards.model.reward_models import implicit
from guerdon.rewards.stage.score_stages import score

REFERENCE, PRM = [-1.0, -2.0, -1.0, -3.0], [-0.5, -2.0, -0.5, -6.0]  # log-probs of two answers of two tokens
RATIO = (0.5, 0.5 - 3.0)


def recipe(**knobs):
    return made("implicit-prm", "chain:1", small_model(), **knobs)


def loss(correct=(1.0, 0.0), given=0, **knobs):
    """Of two answers, whose first `given` tokens the policy was given: they have no log-prob."""
    made_of = recipe(**knobs)
    batch = example_tries([list(correct)], steps=2, reference__logp=REFERENCE, correct=list(correct))
    batch = dataclasses.replace(batch, weight=torch.where(torch.arange(batch.S) < given, 0.0, batch.weight))
    *_, learner = stages = made_of.stages[1:]
    for stage in stages[:-1]:
        batch = stage(batch, ExamplePlay())
    return float(
        learner.loss(batch, {"logp": torch.tensor([nan] * given + PRM[given:]), "final": torch.tensor([3.0, 1.0])})[0]
    )


def entropy(*logits):
    """Cross-entropy of one right and one wrong answer."""
    right, wrong = logits
    return (log(1 + exp(-right)) + log(1 + exp(wrong))) / 2


def rewards(reward):
    """The reward of an answer whose tokens have the log-ratios 1, 2, -4 and 0.5, and its steps, if it has any."""
    models = {name: tabular("01", length=4, rows=64) for name in ("prm", "reference")}
    for model in models.values():
        model.start(0, {})
    batch = pack([episode(segment([0, 1, 1, 0], context=models["prm"].encode("seen")))])
    logp = {"prm": [-1.0, -1.0, -6.0, -0.5], "reference": [-2.0, -3.0, -2.0, -1.0]}
    batch = batch.with_cols({f"{name}.logp": Column.full("step", torch.tensor(row)) for name, row in logp.items()})
    play = ExamplePlay()
    play.models, play.seats = models, {"policy": "prm"}
    columns = score(reward)(batch, play).cols
    return [
        columns["reward"].value.tolist(),
        columns["reward_steps"].value.tolist() if "reward_steps" in columns else [],
    ]


def composed(**knobs):
    made_of = recipe(**knobs)
    drawn = [made_of.sampling, made_of.curriculum.tries, made_of.prompts, made_of.steps, made_of.seats]
    return [
        *map(repr, [*made_of.stages[1:], drawn, [*made_of.models, made_of.models["prm"].value]]),
        *map(repr, made_of.exams),
    ]


def taught(**knobs):
    """How much more the second token is paid in the right one of two answers than in the wrong one, less the same of the first,
    which they share, after a step of learning from their outcomes."""
    learner = recipe(**knobs).stages.learners[0]
    first, second = torch.zeros(2, requires_grad=True), torch.zeros(2, requires_grad=True)
    logp = torch.stack(
        [first.log_softmax(0)[0], second.log_softmax(0)[0], first.log_softmax(0)[0], second.log_softmax(0)[1]]
    )
    batch = example_tries([[1.0, 0.0]], steps=2, reference__logp=logp.tolist(), correct=[1.0, 0.0])
    value = learner.loss(batch, {"logp": logp, "final": torch.zeros(2, requires_grad=True)})[0]
    pulls = torch.autograd.grad(value, [first, second], allow_unused=True)
    moved = [-(pull[0] - pull[1]) if pull is not None else torch.tensor(0.0) for pull in pulls]
    return float(moved[1] - moved[0].abs())


LINES = "implicit(model='prm', beta=0.1, per='line'"
CHOICE = "Exam(source=chain(), metrics=[accuracy(), best_of(reward={})], name='choice', tasks=9, tries=4)"
STEPS = (
    f"Exam(source=chain(), metrics=[sound(), judged_steps(reward={LINES}, so_far=True)), farmed(reward={LINES}))], "
    "env=single_turn(), name='steps', tasks=128, tries=1)"
)
DRAWN = "[Sampling(temperature=0.5, max_tokens=7), 5, 3, 11, {'policy': 'reference'}]"
MODELS = "['prm', 'reference', {}]"
KNOBS = {
    "beta": 0.1,
    "prompts": 3,
    "tries": 5,
    "lr": 0.1,
    "temperature": 0.5,
    "max_tokens": 7,
    "exam_tasks": 9,
    "steps": 11,
}

mechanism = Mechanism(
    "implicit-prm",
    source="arXiv:2412.01981, eq. 5; PRIME-RL/ImplicitPRM@c044175, ce_trainer.py, line 103; prm_eval_utils.py, lines 425-458",
    also=[implicit_outcome.__call__, implicit.score, overall.combine],
    numbers={
        "cross-entropy of outcomes": (loss, entropy(*(0.05 * x for x in RATIO))),
        "another beta": (lambda: loss(beta=0.5), entropy(*(0.5 * x for x in RATIO))),
        "given tokens do not count": (lambda: loss(given=1), entropy(0.0, 0.05 * RATIO[1])),
        "of two answers the better": (lambda: loss(loss="dpo"), log(1 + exp(-0.05 * (RATIO[0] - RATIO[1])))),
        "a head": (lambda: loss(loss="head"), entropy(3.0, 1.0)),
        "what a token added": (
            lambda: rewards(implicit("prm", beta=0.1, per="token")),
            [[-0.05], [0.1, 0.2, -0.4, 0.05]],
        ),
        "how the answer stands by then": (
            lambda: rewards(implicit("prm", beta=0.1, per="token", so_far=True))[1],
            [0.1, 0.3, -0.1, -0.05],
        ),
        "of the whole": (lambda: rewards(implicit("prm", beta=0.1)), [[-0.05], []]),
        "of a turn": (lambda: rewards(implicit("prm", beta=0.1, per="turn"))[1], [0.0, 0.0, 0.0, -0.05]),
        "the least token": (lambda: rewards(overall(implicit("prm", beta=0.1, per="token"), "min"))[0], [-0.4]),
        "composed": (
            lambda: composed(**KNOBS),
            [
                "Learn(model='prm', loss=implicit_outcome(beta=0.1), opt=adam(lr=0.1))",
                *(DRAWN, MODELS.format(False), CHOICE.format(f"overall(reward={LINES}))"), STEPS),
            ],
        ),
        "taught by pairs, chosen by the sum": (
            lambda: composed(loss="dpo", choose="sum", **KNOBS)[:2] + composed(loss="dpo", choose="sum", **KNOBS)[4:],
            [
                "paired(column='correct', which='all')",
                "Learn(model='prm', loss=dpo(), opt=adam(lr=0.1))",
                *(CHOICE.format(f"overall(reward={LINES}), how='sum')"), STEPS),
            ],
        ),
        "the plain outcome model": (
            lambda: composed(loss="head", **KNOBS),
            [
                "Learn(model='prm', loss=outcome(target='correct', kind='logistic'), opt=adam(lr=0.1))",
                *(DRAWN, MODELS.format(True), CHOICE.format("outcome_model(model='prm')")),
            ],
        ),
    },
    world=World(
        says="a right and a wrong answer share their first token: what is learned from their outcomes is paid to the second",
        measure=taught,
        off={"loss": "head"},
        moves=0.02,
    ),
    equal={
        "implicit_outcome.__call__: 0.0 -> 1.0": "a given token weighs nothing in the sum of its answer",
        "implicit.score: tokens.batch.episodes[:1] shuffled": "only decides whether to refuse",
        "implicit.score: 1 -> 2": "only decides whether to refuse",
        "implicit.score: ratio[steps] shuffled": "a sum has no order",
        "implicit.score: ratio[piece] shuffled": "a sum has no order",
    },
)
