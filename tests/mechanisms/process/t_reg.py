"""T-REG: a pair's reward spread over tokens, by how much likelier each is where a good answer is asked for than a bad one."""

from __future__ import annotations

import dataclasses
from math import exp, nan

import numpy as np
import torch
from harness import Mechanism, World, made, small_model
from strategies import episode, segment

import guerdon as gd
from guerdon.core.column import Column
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay, example_tries
from guerdon.core.pack import pack
from guerdon.recipes.process.t_reg import opposite_prompts, spread_by_tokens
from guerdon.rewards.stage.score_stages import score
from guerdon.select.other_views import reworded

LINE = 9  # the action that ends a line


class reader:
    """A model to which the n-th token of an answer has the log-prob -n times a tenth of the letters that it was shown."""

    max_positions = None

    def encode(self, view):
        return np.array([len(view if isinstance(view, str) else view[-1]["content"])])

    def decode(self, tokens):
        return "".join("\n" if token == LINE else "x" for token in tokens)

    def readings(self, models):
        return {"logp": "step"}

    def read(self, batch, want):
        assert all(
            np.array_equal(self.encode(each.segments[0].view), each.segments[0].context) for each in batch.episodes
        )
        shown = [sum(int(s.context[0]) for s in each.segments) for each in batch.episodes]
        place = torch.cat([torch.arange(len(steps)) for steps in batch.steps_by_track()])
        return {want[0]: -(place + 1) * torch.tensor(shown)[batch.episode[batch.seg]] / 10}


def rewards(*segments, **knobs):
    play = ExamplePlay()
    play.models, play.seats = {"reference": reader()}, {"policy": "reference"}
    batch = pack([episode(*segments)])
    return score(opposite_prompts("{prompt}", "{prompt}!!", **knobs), "token")(batch, play)["token_steps"]


def sigma(x):
    return 1 / (1 + exp(-x))


class talk(tuple):
    """A conversation of its own kind."""

    saying = ""


def refused(view):
    try:
        return reworded("bad: {prompt}", view)
    except UserError:
        return True


def two_pairs():
    batch = example_tries([[1.0, 0.0], [0.0, 1.0]], reference__logp=[-1.0] * 4)
    batch = batch.with_cols({"token_steps": Column.full("step", torch.tensor([0.5, 0.25, -0.5, 0.1]))})
    read = {"logp": torch.tensor([0.0, -2.0, -4.0, -1.5])}
    return float(spread_by_tokens()(gd.select.paired()(batch, ExamplePlay()), read)[0])


def pair(tokens=(0.5, -0.5, 0.5, -0.25), given=(), **knobs):
    """A pair of answers of two tokens with these rewards, and the loss that spreads its own by them."""
    batch = example_tries([[1.0, 0.0]], steps=2, reference__logp=[-1.0] * 4)
    batch = batch.with_cols({"token_steps": Column.full("step", torch.tensor(tokens))})
    weight = torch.tensor([0.0 if at in given else 1.0 for at in range(4)])
    return gd.select.paired()(dataclasses.replace(batch, weight=weight), ExamplePlay()), spread_by_tokens(**knobs)


def loss(logp=(0.0, 0.0, -2.0, -2.0), **knobs):
    batch, term = pair(**knobs)
    return float(term(batch, {"logp": torch.tensor(logp)})[0])


def pulls(loss_of=None, **knobs):
    """How hard each token of the pair is pulled up at the start, where the policy is the model that it began from."""
    batch, term = pair(**knobs)
    live = torch.full((4,), -1.0).requires_grad_()
    ((loss_of or term)(batch, {"logp": live})[0]).backward()
    return [-x for x in live.grad.tolist()]


def recipe(task="chain:1", **knobs):
    return made("t-reg", task, small_model(), **knobs)


def composed(**knobs):
    made_of = recipe(**knobs)
    return [repr(each) for each in [*made_of.stages[2:], *made_of.exams[1:]]]


def right_token(**knobs):
    """How hard the right token of a wrong answer is pushed down."""
    return -pulls(recipe(**knobs).stages.learners[0].loss, tokens=(0.5, -0.5, 0.5, -0.5))[2]


W = sigma(-0.1 * 2 - 0.1 * 2)  # the better answer has gained 2 over the reference, the worse one lost 2
ROWS = [{"prompt": f"{n}+2", "chosen": f"{n + 2}", "rejected": "0"} for n in range(3)]
TALK = [{"role": "system", "content": "s"}, {"role": "assistant", "content": "1+1"}, {"role": "user", "content": "2+2"}]
PROMPTS = "opposite_prompts(better='a {prompt}', worse='b {prompt}'"

mechanism = Mechanism(
    "t-reg",
    source="arXiv:2412.02685: sigma(log p(y_t | better) - log p(y_t | worse)) - 1/2; DPO's weight of a pair on each token's",
    also=[reworded],
    numbers={
        "tokens": (lambda: rewards(segment([1] * 3, context=[4])), [sigma(0.2 * n) - 0.5 for n in (1, 2, 3)]),
        "lines": (
            lambda: rewards(segment([1, LINE, 1], context=[4]), per="line"),
            [0.0, (sigma(0.2) + sigma(0.4)) / 2 - 0.5, sigma(0.6) - 0.5],
        ),
        "a turn after another is shown what it was": (
            lambda: rewards(segment([1, 1], context=[4]), segment([1, 1], context=[3], parent=0)),
            [sigma(0.2 * n) - 0.5 for n in (1, 2, 3, 4)],
        ),
        "in another wording": (
            lambda: [reworded("bad: {prompt}", "2+2"), reworded("bad: {prompt}", TALK)],
            ["bad: 2+2", [*TALK[:2], {"role": "user", "content": "bad: 2+2"}]],
        ),
        "a conversation of another kind": (lambda: reworded("bad: {prompt}", talk(TALK))[2]["content"], "bad: 2+2"),
        "what has no text": (lambda: [refused(view) for view in (3, [], ["2+2"], [{"content": 3}])], [True] * 4),
        "two pairs": (two_pairs, -0.1 * (sigma(-0.2) * (0.0 - 0.5) + sigma(-0.25) * (-0.15 + 2.0))),
        "a pair's reward": (loss, 2.0 * W * -0.1 * (0.5 * -2.0 - 0.25 * -2.0)),
        "other weights": (
            lambda: loss(alpha=3.0, beta=0.2),
            3.0 * sigma(-0.2 * 4) * -0.2 * (0.5 * -2.0 - 0.25 * -2.0),
        ),
        "not weighed": (lambda: loss(weighted=False), 2.0 * -0.1 * -0.5),
        "a token that was given": (
            lambda: loss((0.0, 0.0, nan, -2.0), given=(2,)),
            2.0 * sigma(-0.1 * 2 - 0.1 * 1) * -0.1 * 0.5,
        ),
        "pulled by their rewards": (pulls, [0.1 * r for r in (0.5, -0.5, 0.5, -0.25)]),
        "all alike": (lambda: pulls(even=True), [0.0, 0.0, 0.1 * 0.125, 0.1 * 0.125]),
        "all that were learned alike": (
            lambda: pulls(even=True, given=(2,)),
            [0.0, 0.0, 0.0, 0.1 * -0.25],
        ),
        "composed": (
            lambda: composed(alpha=3.0, beta=0.2, weighted=False, even=True, better="a {prompt}", worse="b {prompt}"),
            [
                f"score(reward={PROMPTS}), gives_to='token')",
                "Learn(model='policy', loss=total(terms=[dpo(beta=0.2), "
                "spread_by_tokens(alpha=3.0, beta=0.2, weighted=False, even=True)]), opt=adam(lr=1e-05))",
                f"Exam(source=chain(), metrics=[judged_steps(reward={PROMPTS}, per='line'), name='prompts'), "
                "judged_steps(reward=implicit(beta=0.2, per='line'), name='implied'), "
                f"farmed(reward={PROMPTS}, per='line'))], env=single_turn(), name='steps', tasks=64)",
            ],
        ),
        "where nobody checks lines": (lambda: len(recipe(gd.tasks.preferences(ROWS)).exams), 1),
    },
    world=World(
        says="a wrong answer has a right token, of which both prompts are sure: it is not pushed down with the rest",
        measure=right_token,
        off={"even": True},
        moves=-0.04,
    ),
    equal={
        "opposite_prompts.score: reward[piece] shuffled": "a mean has no order",
        **dict.fromkeys(
            (
                "spread_by_tokens.__call__: own(batch) > 0 -> own(batch) >= 0",
                *(f"spread_by_tokens.__call__: 0.0 -> 1.0{n}" for n in ("", " (2)", " (3)")),
            ),
            "a given token weighs nothing in the sum of its answer",
        ),
    },
)
