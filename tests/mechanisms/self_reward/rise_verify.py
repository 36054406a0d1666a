"""RISE: solutions and verifications of them are paid by one checker and learned in one update."""

from __future__ import annotations

import dataclasses
from math import nan, sqrt

import torch
from harness import Mechanism, Scripted, World, credited, made, said_texts

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.exams.example_sitting import example_sitting
from guerdon.recipes.self_reward.rise_verify import asked_to_verify, verified_vote

TASKS = ("p", ["5", "6", "7"]), ("q", ["8", "9"])
RIGHT = [1.0, 0.0, 1.0, 0.0, nan]
REPLIES = {"5": ["so\n= yes", "so\n= no"], "6": ["= no", "hm"], "7": ["= yes", None], "8": ["= yes", "Verdict: no"]}


def says(ask, attempt):
    """What a verifier replies about the attempt in its question."""
    replies = REPLIES.get(ask.shown.split("\n")[-1], ["= no"])
    return replies[attempt % len(replies)]


def recipe(**knobs):
    return made("rise-verify", **{"verify_tries": 2, **knobs})


def through(right=RIGHT, **knobs):
    """The recipe, its play, and the batch of solutions and verifications."""
    built, play = recipe(**knobs), Scripted(says)
    play.asked, play.seats = 100, built.seats
    value = torch.tensor(right)
    reason = torch.where(value.isnan(), int(Reason.FAILED), 0).to(torch.int8)
    batch = said_texts(*TASKS).with_cols({"correct": Column("track", value, reason)})
    for stage in built.stages[1:]:
        batch = stage(batch, play) if stage.gives == ("earned",) or hasattr(stage, "env") else batch
    return built, play, batch


def verified(**knobs):
    """What is shown, by whom it is answered, and what solutions and verifications earn."""
    _, play, batch = through(**knobs)
    each = [ask.shown for ask in batch.asks[5:]]
    column = batch.cols["earned"]
    logged = [play.metrics.get(f"verifier/{name}") for name in ("asked", "right", "unreadable")]
    why = [next(iter(column.detail[k].items())) for k in sorted(column.detail)]
    return [each, column.value.nan_to_num(-9.0).tolist(), column.reason.tolist(), logged, why]


def advantages(**knobs):
    """Of the first action of each track that has one, with what each is compared."""
    built, _, batch = through(**knobs)
    first = torch.cumsum(torch.bincount(batch.seg), 0) - torch.bincount(batch.seg)
    return torch.nan_to_num(torch.tensor(credited(built, batch)), nan=-9.0)[first][
        torch.bincount(batch.seg) > 0
    ].tolist()


def by_reward():
    """With another reward than the task's verdict."""
    built = recipe(reward=gd.exact(), verify_tries=3)
    given, verify = built.stages[2:4]
    return [repr(given), [repr(each) for each in verify.scores], verify.tells, verify.tries]


def composed(**knobs):
    built = made("rise-verify", **knobs)
    return [[repr(stage) for stage in built.stages[1:]], built.seats, [repr(exam) for exam in built.exams[1:]]]


class Alone:
    """The play of an exam: what a verifier says of a try is one of `replies`, by the try's text."""

    step, seed, seats = 0, 0, {"policy": "policy"}

    def __init__(self, replies):
        self.scripted, self.replies = Scripted(lambda ask, _: replies[ask.shown.split("\n")[-1]]), replies

    def __call__(self, asks, env=None, seats=None):
        assert seats == {"verifier": "policy"} and env.roles == ("verifier",)
        assert all(ask.sampling.temperature == 0.0 and ask.n == 1 for ask in asks)
        return self.scripted(asks, env)


def voted(tries, replies):
    """The vote of those whose verification says yes; the right answer is 4."""
    sitting = example_sitting(tries, answer="4")
    episodes = [e.but(ask=e.ask.but(n=3, view="seen")) for e in sitting.batch.episodes]
    batch = dataclasses.replace(sitting.batch, episodes=episodes)
    sitting = type(sitting)(sitting.exam, batch, Alone(replies), sitting.tries)
    numbers = verified_vote(asked_to_verify())(sitting)
    return {name: x for name, x in numbers.items() if not name.endswith(("low", "high"))}


def told(verified=1, steps=12):
    """How likely it is to say yes of a right solution and no of a wrong one, after policy gradients on what is earned."""
    logits, built = torch.zeros(2, 2), recipe(verify_tries=8, verified=verified)
    dice = torch.Generator().manual_seed(0)
    for _ in range(steps):
        p = logits.softmax(-1)
        drawn = torch.multinomial(p, 8, replacement=True, generator=dice).tolist()
        play = Scripted(lambda ask, n: ("= no", "= yes")[drawn[int(ask.shown.split("\n")[-1])][n % 8]])  # noqa: B023
        play.asked, play.seats = 100, built.seats
        batch = said_texts(("p", ["0"]), ("q", ["1"]))
        batch = batch.with_cols({"correct": Column.full("track", torch.tensor([0.0, 1.0]))})
        for stage in built.stages[1:-1]:
            batch = stage(batch, play)
        if verified:
            worth = (batch.up(batch["advantage"], "track") / batch.up(torch.ones(batch.S), "track"))[2:].reshape(2, 8)
            chosen = torch.nn.functional.one_hot(torch.tensor(drawn), 2)
            logits = logits + 0.4 * (worth[..., None] * (chosen - p[:, None])).sum(1)
    p = logits.softmax(-1)
    return float(p[0, 0] + p[1, 1]) / 2


S = 0.5 / (sqrt(0.5) + 1e-4)
U = 1 / 3 / (sqrt(1 / 3) + 1e-4)  # 1, 0, 1 less their mean, over their deviation
TRIES = [["= 4", "= 5", "= 5"]]
THREE = [f"verify\np\n{n}" for n in (5, 5, 6, 6, 7, 7)] + ["verify\nq\n8"] * 2
EARNED = [1.0, 0.0, 1.0, 0.0, -9.0, 1.0, 0.0, 1.0, -9.0, 1.0, -9.0, 0.0, 1.0], [0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 2, 0, 0]
PAID = [0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 2, 0, 0]
LOST = [("why", "the reply has no verdict"), ("error", "the verification failed")]
ASKED = ["verify\np\n5"] * 2 + ["verify\nq\n8"] * 2
mechanism = Mechanism(
    "rise-verify",
    source="arXiv:2505.13445; xyliu-cs/RISE, verl_utils/reward/reward_func_verification.py: exact match, and -1 unread",
    numbers={
        "the first try of each": (
            verified,
            [ASKED, [1.0, 0.0, 1.0, 0.0, -9.0, 1.0, 0.0, 0.0, 1.0], [0, 0, 0, 0, 2, 0, 0, 0, 0], [2.0, 0.5, 0.0], []],
        ),
        "replies without a verdict are left out": (
            lambda: verified(verified=3),
            [THREE, *EARNED, [4.0, 2 / 3, 1 / 4], LOST],
        ),
        "or paid": (lambda: verified(verified=3, unread=-1.0)[1:3], [[*EARNED[0][:8], -1.0, *EARNED[0][9:]], PAID]),
        "nothing was tried": (lambda: verified(right=[nan] * 5)[3], [0.0, None, None]),
        "a reward of a half is not right": (
            lambda: verified(right=[0.5, 0.0, 0.0, 0.6, 0.0])[1][5:],
            [0.0, 1.0, 1.0, 0.0],
        ),
        "compared with its like": (
            lambda: advantages(verified=3),
            [U, -2 * U, U, 0.0, -9.0, S, -S, 0.0, -9.0, 0.0, -S, S],
        ),
        "composed": (
            lambda: composed(verified=2, unread=-1.0),
            [
                [
                    "earned_by()",
                    "follow_up(env=single_turn(role='verifier'), show=asked_to_verify(first=2), "
                    "scores=[true_verdict(unread=-1.0)], tries=4, tells=('correct',))",
                    "centre(reward='earned', by='ask')",
                    "Learn(model='policy', loss=clipped(), opt=adam(lr=2e-05))",
                ],
                {"policy": "policy", "verifier": "policy"},
                [
                    "Exam(source=parity(), metrics=[accuracy(), majority(), "
                    "verified_vote(asked=asked_to_verify(first=2))], name='vote', tries=4)"
                ],
            ],
        ),
        "without verifications it is GRPO": (
            lambda: [*composed(verified=0)[1:], composed(verified=0)[0] == list(map(repr, made("grpo").stages[1:]))],
            [{"policy": "policy"}, [], True],
        ),
        "another reward": (
            by_reward,
            ["earned_by(column='reward')", ["true_verdict(column='reward')"], ("reward",), 3],
        ),
        "the one that is verified is right": (
            lambda: voted(TRIES, {"= 4": "= yes", "= 5": "= no"}),
            {"verified_vote@3": 1.0, "self_verified": 1.0},
        ),
        "where none is, all vote": (
            lambda: voted(TRIES, {"= 4": "hm", "= 5": "= no"}),
            {"verified_vote@3": 0.0, "self_verified": 1.0},
        ),
        "a wrong one is": (
            lambda: voted([["= 4", "= 5", "= 6"]], {"= 4": "= no", "= 5": "= yes", "= 6": "= no"}),
            {"verified_vote@3": 0.0, "self_verified": 1 / 3},
        ),
        "no verdict at all": (lambda: voted([["= 4"]], {"= 4": None}), {"verified_vote@1": 1.0}),
    },
    world=World(
        says="verdicts of the policy's own tries come to be true, where solving alone teaches nothing about them",
        measure=told,
        off={"verified": 0},
        moves=0.4,
    ),
)
