"""PreRL and DSRL: wrong tries are unlearned without their problem, and from a step on it is GRPO."""

from __future__ import annotations

from math import exp, log

import torch
from harness import Later, Mechanism, World, made
from strategies import episode, segment

import guerdon as gd
from guerdon.core.column import Column
from guerdon.core.example import example_tries
from guerdon.core.learn import row_groups
from guerdon.core.optim import sgd
from guerdon.core.pack import pack
from guerdon.engine.player import Player
from guerdon.select.filters import at_least, during

PROBLEMS = {"2+2": [("4", 1.0), ("5", -1.0)], "3+4": [("5", -0.5)]}


def table():
    model = gd.models.tabular("0123456789", length=1, rows=64)
    model.start(0, {})
    return model


def batch(model):
    """Tries with advantages; every answer is as likely as every other."""
    eps, advantages = [], []
    for number, (prompt, tries) in enumerate(PROBLEMS.items()):
        for attempt, (text, advantage) in enumerate(tries):
            reply = model.teacher_force(prompt, text)
            turn = segment(reply.actions, view=prompt, context=reply.context, logp=[-2.0], text=text)
            eps.append(episode(turn, name=prompt, number=number, attempt=attempt))
            advantages.append(advantage)
    return pack(eps).with_cols({"advantage": Column.full("track", torch.tensor(advantages))})


def at(step, model):
    play = Player({"policy": model}, {"policy": "policy"}, None, gd.Sampling(), 0, 9)
    play.begin(step)
    return play


def learner(**knobs):
    return made("prerl-dsrl", **knobs).stages.learners[0]


def shown(step, **knobs):
    """Of each term what its tracks were shown, and the log-probs that their ratios divide by."""
    learn, model = learner(**knobs), table()
    terms = [learn.rows(batch(model), at(step, model), on, loss) for on, loss in row_groups(learn.loss, learn.on)]
    return [[[term.episodes[e].segments[0].view for e in term.episode.tolist()], term.logp.tolist()] for term in terms]


def chance(view, text, step=0, **knobs):
    """The probability of an answer to a view after one update with rate 1, from 1/10."""
    learn, model = learner(**knobs), table()
    learn.opt, learn.clip, play = sgd(lr=1.0), 0.0, at(step, model)
    learn.start(play)
    learn(batch(model), play)
    reply = model.teacher_force(view, text)
    turn = segment(reply.actions, view=view, context=reply.context)
    return float(model.read(pack([episode(turn)]), ["logp"])["logp"].detach().exp()[0])


def moved(answer, **pulls):
    """1/10 after pulls (e - p) times so much at some of ten answers."""
    total = sum(pulls.values())
    logits = [pulls.get(f"_{n}", 0.0) - total / 10 for n in range(10)]
    return exp(logits[answer]) / sum(map(exp, logits))


def kept(step, **knobs):
    return during(**knobs)(example_tries([[1.0, 0.0]]), Later(step, 9)).K


U = log(0.1)
R = 0.1 / exp(-2.0)  # the ratio of a try that was drawn with log-prob -2
mechanism = Mechanism(
    "prerl-dsrl",
    source="arXiv:2604.14142, abstract: negative sample reinforcement on P(y), then standard RL on P(y | x)",
    also=[during],
    numbers={
        "before: nothing was asked, and tries count as drawn so": (
            lambda: shown(1, before=2),
            [[[], []], [[""] * 3, [U] * 3]],
        ),
        "from then on: as they were made": (
            lambda: shown(2, before=2),
            [[["2+2", "2+2", "3+4"], [-2.0] * 3], [[], []]],
        ),
        "a wrong answer, whatever is asked": (lambda: chance("", "5", before=1), moved(5, _5=-1.5 / 3)),
        "not a right one": (lambda: chance("", "4", before=1), moved(4, _5=-1.5 / 3)),
        "a right one too": (lambda: chance("", "4", before=1, positive=0.5), moved(4, _5=-1.5 / 3, _4=0.5 / 3)),
        "not the answer to the problem": (lambda: chance("2+2", "5", before=1), 0.1),
        "after it the policy gradient": (
            lambda: [chance("2+2", "4", 1, before=1), chance("3+4", "5", 1, before=1), chance("", "5", 1, before=1)],
            [moved(4, _4=R / 3), 0.1, 0.1],  # bad ones are clipped: their ratio is below 0.8
        ),
        "composed": (
            lambda: repr(learner(before=3, positive=0.25).loss),
            "total(terms=[clipped(), on(rows=during(end=3, rows=shown_as(show=nothing_asked, corrected=False)), "
            "loss=by_sign(loss=clipped(), positive=0.25), name='unasked')])",
        ),
        "steps of a selection": (
            lambda: [kept(s, first=1, end=3) for s in range(4)] + [kept(1, rows=at_least("reward"))],
            [0, 2, 2, 0, 1],
        ),
    },
    world=World(
        says="an answer that is wrong to one problem becomes less likely where no problem is asked",
        measure=lambda **knobs: chance("", "5", **knobs),
        off={"before": 0},
        moves=-0.03,
    ),
)
