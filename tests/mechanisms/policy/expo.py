"""ExPO: where no try is right, the policy explains the answer it is shown and learns that as an answer to the bare question."""

from __future__ import annotations

from math import exp

from harness import Mechanism, Scripted, World, made
from strategies import episode, segment

import guerdon as gd
from guerdon.core.learn import row_groups
from guerdon.core.optim import sgd
from guerdon.core.pack import pack

TRIES = {"2+2": ("7", "5"), "3+4": ("7", "1")}  # the second problem is solved, the first is not


class sums:
    """Sums of one digit, which are answered by one."""

    name = "sums"

    def get(self, split, index):
        return gd.Task(str(index), [*TRIES][index % 2], str(eval([*TRIES][index % 2])))

    def size(self, split):
        return 2

    def check(self, task, completion):
        return float(completion == task.answer)


def table():
    model = gd.models.tabular("0123456789", length=1, rows=64)
    model.start(0, {})
    return model


def tries(model):
    """GRPO's tries, with the log-probs of a table."""
    eps = []
    for number, (prompt, texts) in enumerate(TRIES.items()):
        ask = gd.Ask(sums().get("train", number), len(texts))
        for attempt, text in enumerate(texts):
            reply = model.teacher_force(prompt, text)
            turn = segment(reply.actions, view=prompt, context=reply.context, logp=[-2.0], text=text)
            eps.append(episode(turn, ask=ask, number=number, attempt=attempt))
    return pack(eps)


class Explained(Scripted):
    """The policy answers what it is shown with these texts in turn, as a table reads it."""

    def __init__(self, model, *texts):
        super().__init__(lambda ask, attempt: texts[attempt], policy=model)
        self.seats = {"policy": "policy", "explainer": "policy"}
        self.shown = []

    def __call__(self, asks, env=None, seats=None):
        eps = []
        self.shown += [ask.shown for ask in asks]
        for number, ask in enumerate(asks):
            for attempt in range(ask.n):
                reply = self.models["policy"].teacher_force(ask.shown, self.answer(ask, attempt))
                turn = segment(
                    reply.actions, role="explainer", view=ask.shown, context=reply.context, logp=[-3.0],
                    text=self.answer(ask, attempt),
                )  # fmt: skip
                eps.append(episode(turn, ask=ask, number=number, attempt=attempt))
        return eps


def recipe(**knobs):
    return made("expo", sums(), table(), **{"explains": 2, **knobs})


def stepped(*texts, **knobs):
    """The batch after all stages but the last, the learner, the play and its policy."""
    model = table()
    play, made_of = Explained(model, *texts), recipe(**knobs)
    batch = tries(model)
    *stages, learn = made_of.stages
    for stage in stages:
        batch = stage(batch, play)
    return batch, learn, play, model


def learned(*texts, **knobs):
    """Of each term what its tracks were shown and what they said."""
    batch, learn, play, _ = stepped(*texts, **knobs)
    terms = [learn.rows(batch, play, on, loss) for on, loss in row_groups(learn.loss, learn.on)]
    return [
        [[term.episodes[e].segments[0].view for e in term.episode.tolist()], term.action.tolist()] for term in terms
    ]


def asked(**knobs):
    return stepped("4", "4", **knobs)[2].shown


def chance(prompt, text, *texts, **knobs):
    """The probability of an answer to a prompt after one update with rate 1, from 1/10."""
    batch, learn, play, model = stepped(*texts, **knobs)
    learn.opt, learn.clip = sgd(lr=1.0), 0.0
    learn.start(play)
    learn(batch, play)
    reply = model.teacher_force(prompt, text)
    turn = segment(reply.actions, view=prompt, context=reply.context)
    return float(model.read(pack([episode(turn)]), ["logp"])["logp"].detach().exp()[0])


def pulled(times):
    """1/10 after a pull (e - p) of so much."""
    return exp(times * 0.9) / (exp(times * 0.9) + 9 * exp(-times * 0.1))


mechanism = Mechanism(
    "expo",
    source="arXiv:2507.02834, abstract and its summaries: GRPO + beta log pi(c | q), c sampled with the answer shown",
    numbers={
        "problems that no try solves are asked with their answer": (asked, ["2+2\n(The answer is 4.)"]),
        "as a line": (lambda: asked(show="line"), ["2+2\n= 4"]),
        "explanations are learned under the bare question": (
            lambda: learned("4", "4"),
            [[["2+2", "2+2", "3+4", "3+4"], [7, 5, 7, 1]], [["2+2", "2+2"], [4, 4]]],
        ),
        "those that come to the answer": (lambda: learned("4", "5")[1], [["2+2"], [4]]),
        "or all": (lambda: learned("4", "5", checked=False)[1], [["2+2", "2+2"], [4, 5]]),
        "how many": (lambda: learned("4", explains=1)[1], [["2+2"], [4]]),
        "the pull on the bare question": (lambda: chance("2+2", "4", "4", "4", explained=0.5), pulled(0.5)),
        "none on the question with its answer": (
            lambda: chance("2+2\n(The answer is 4.)", "4", "4", "4", explained=0.5),
            0.1,
        ),
        "GRPO beside it": (
            lambda: chance("3+4", "7", "4", "4"),
            pulled(0.1 / exp(-2) * 0.5 / (0.5**0.5 + 1e-4) / 4),  # its ratio, its advantage, of four tries
        ),
        "composed": (
            lambda: repr(recipe(explained=0.5, checked=False).stages.learners[0].loss),
            "total(terms=[clipped(), on(rows=shown_as(show=question, role='explainer'), loss=sft(mean='track'), weight=0.5)])",
        ),
        "the seats": (lambda: recipe().seats, {"policy": "policy", "explainer": "policy"}),
    },
    world=World(
        says="an answer that no try found becomes likelier to the bare question",
        measure=lambda **knobs: chance("2+2", "4", "4", "4", **{"explained": 1.0, **knobs}),
        off={"explained": 0.0},
        moves=0.1,
    ),
    equal={"with_answers.__call__: tried[0] shuffled": "tries of one ask have one ask"},
)
