"""SaySelf: statements of confidence are imitated from agreement, then paid 2 (1/2 - (c - p)^2)."""

from __future__ import annotations

from math import nan
from types import SimpleNamespace

import torch
from harness import Mechanism, Scripted, World, made, said_texts

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.recipes.self_reward.sayself import WORDING
from guerdon.rewards.text.confidence import brier_pay, stated_confidence
from guerdon.select.second_roles import Tried

MODEL, NEXT = gd.models.tabular("0123456789", length=2), gd.models.tabular("0123456789", length=3)
TASK = gd.tasks.load("equation:4")


class Run:
    """A run that keeps the trainings."""

    def __init__(self, *evaluations):
        self.told, self.evaluations = [], list(evaluations)

    def train(self, lesson, seed):
        self.told.append((lesson, seed))
        return SimpleNamespace(model=lambda: NEXT, evaluations=self.evaluations)


def lessons(*evaluations, **knobs):
    run = Run(*evaluations)
    return run.told, made("sayself", task=TASK, model=MODEL, **knobs).body(run, 3), run


def composed(**knobs):
    told, found, _ = lessons({"pass@1": 0.1}, {"pass@1": 0.2}, {"pass@1": 0.5}, steps=7, **knobs)
    rows = []
    for lesson, seed in told:
        learner = lesson.stages.learners[0]
        models = [getattr(model, "length", repr(model)) for model in lesson.models.values()]
        rows.append([seed, lesson.steps, lesson.seats, models, lesson.exams[0].seats, learner.opt.lr])
        rows[-1] += [type(stage).__name__ for stage in lesson.stages]
    return [rows, found]


def asking(place=-1, **knobs):
    """The stage that asks, of a training."""
    (stage,) = [each for each in lessons(**knobs)[0][place][0].stages if type(each).__name__ == "follow_up"]
    return stage


def answer(ask, attempt):
    return ["= 7", "= 10", "none", None][attempt % 4]


def batch_of(*right):
    value = torch.tensor(right)
    reason = torch.where(value.isnan(), int(Reason.FAILED), 0).to(torch.int8)
    return said_texts(("2x=4", [f"x={n}" for n in range(len(right))])).with_cols(
        {"correct": Column("track", value, reason)}
    )


def paid(*right, **knobs):
    """What is shown to say how sure the policy is of each try; what its statements are paid; and the reasons."""
    stage, play = asking(**knobs), Scripted(answer, policy=MODEL)
    play.seats = {"policy": "policy", "confidence": "policy"}
    batch = stage(batch_of(*right), play)
    mine = batch.tracks_of(["confidence"])
    shown = [episode.segments[0].view for episode in batch.episodes if episode.segments[0].role == "confidence"]
    return [list(dict.fromkeys(shown)), batch["pay"][mine].tolist(), batch.cols["pay"].reason[mine].tolist()]


def imitated(agreed, template=None):
    """What the policy imitates about a try with this share of agreement."""
    show = asking(0).show
    show.template = template or show.template
    episode = said_texts(("2x=4", ["x=2"])).episodes[0]
    ask = show(Tried(episode, episode.segments, {"agreed": agreed}, []))
    return [ask.shown, ask.n, ask.note]


def examined(*right):
    """The numbers of held-out statements."""
    metric, play = (
        lessons()[0][0][0].exams[0].metrics[-1],
        Scripted(lambda ask, n: SAID[ask.note["attempt"]], policy=MODEL),
    )
    play.seats = {"policy": "policy", "confidence": "policy"}
    return metric(SimpleNamespace(batch=batch_of(*right), play=play))


def worth(*pairs):
    noted = [gd.reward(lambda meta, name=name: meta[name], isolate=False) for name in "cp"]
    found = gd.score_samples(brier_pay(*noted), [{"meta": dict(zip("cp", pair, strict=True))} for pair in pairs])
    return [found.whole, [int(each) for each in found.reasons]]


def broken():
    """A confidence that failed is no statement."""

    def fails(completion):
        raise ValueError(completion)

    pay = brier_pay(gd.reward(lambda completion: 1.0, isolate=False), gd.reward(fails, isolate=False))
    return int(gd.score_samples(pay, [{"completion": "7"}]).reasons[0])


def best(rate):
    """The statement of 0 to 10 with the highest expected pay, where the answer is right at this rate."""
    right, wrong = (worth(*[(c, n / 10) for n in range(11)])[0] for c in (1.0, 0.0))
    expected = [rate * r + (1 - rate) * w for r, w in zip(right, wrong, strict=True)]
    return max(range(11), key=expected.__getitem__)


def near(pay="brier", rate=0.8):
    """How near the mean statement comes to the rate of right answers, by policy gradient on the expected pay."""
    right, wrong = ([*map(float, worth(*[(c, n / 10) for n in range(11)])[0])] for c in (1.0, 0.0))
    pays = torch.tensor(
        [rate * r + (1 - rate) * w if pay == "brier" else rate for r, w in zip(right, wrong, strict=True)]
    )
    logits = torch.zeros(11)
    for _ in range(200):
        p = logits.softmax(0)
        logits = logits + p * (pays - p @ pays)
    return -abs((logits.softmax(0) @ torch.arange(11.0)).item() / 10 - rate)


SAID = {"x=0": "= 9", "x=1": "= 2", "x=2": "none", "x=3": "= 4", "x=4": "= 6", "x=5": "= 6"}
SEATS = {"policy": "policy", "confidence": "policy"}
START = {"policy": "start", "confidence": "policy"}
FIRST = [6, 20, START, [2, "snapshot(of='policy')"], SEATS, 5e-5, "verified", "score", "follow_up", "Learn"]
SECOND = [7, 7, SEATS, [3], SEATS, 2e-5, "verified", "follow_up", "centre", "Learn"]
mechanism = Mechanism(
    "sayself",
    source="arXiv:2405.20974; xu1868/SaySelf@e2f6595d, utils/utils.py, lines 55-66: 2 (1/2 - |c - p|^2), and training/"
    "rlhf_train.py, lines 842-852: -1",
    also=[brier_pay, stated_confidence],
    equal={
        "said.__call__: brier(...) with c.tolist() before p.tolist()": "a square of a difference",
        "said.__call__: p[c >= RIGHT] shuffled": "an area knows no order",
        "said.__call__: p[c < RIGHT] shuffled": "an area knows no order",
        "said.__call__: batch[f'{PAY}.{name}'][mine] shuffled": "both columns alike",
        "stated: function_reward(...) without isolate=": "the same scores, from a process of its own",
        "stated: False -> True": "the same scores, from a process of its own",
    },
    numbers={
        "the pay": (
            lambda: worth((1.0, 1.0), (0.0, 1.0), (0.0, 0.0), (1.0, 0.7), (0.5, 0.5)),
            [[1.0, -1.0, 1.0, 0.82, 1.0], [0] * 5],
        ),
        "unreadable, and without a verdict": (
            lambda: worth((1.0, None), (None, 0.5), (None, None)),
            [[-1.0, None, None], [0, 1, 1]],
        ),
        "a confidence that failed": (broken, int(Reason.FAILED)),
        "the best statement is the rate": (lambda: [best(n / 10) for n in range(11)], list(range(11))),
        "what is read": (
            lambda: (
                [stated_confidence()(text) for text in ("= 7", "Confidence: 10 of 10", "11", "sure", "Confidence: 0")]
                + [stated_confidence("trust", 4)("Trust: 3")]
            ),
            [0.7, 1.0, None, None, 0.0, 0.75],
        ),
        "statements about tries": (
            lambda: paid(1.0, 0.0, nan, statements=4),
            [["sure\n2x=4\nx=0", "sure\n2x=4\nx=1"], [0.82, 1.0, -1.0, nan, 0.02, -1.0, -1.0, nan], [0, 0, 0, 2] * 2],
        ),
        "how many": (lambda: [asking().tries, asking(statements=3).tries, asking().sampling.max_tokens], [8, 3, 24]),
        "compared by answer": (
            lambda: [lessons()[0][1][0].stages.credit[0].by, lessons()[0][1][0].stages.credit[0].reward],
            ["ask", "pay"],
        ),
        "what is imitated": (
            lambda: [imitated(0.75), imitated(1.0)[2]],
            [["sure\n2x=4\nx=2", 1, {"solution": "= 8"}], {"solution": "= 10"}],
        ),
        "in plain language": (
            lambda: imitated(0.3, WORDING.plain.format(question="{prompt}", answer="{attempt}"))[2],
            {"solution": "Confidence: 3 of 10"},
        ),
        "agreement": (
            lambda: [repr(lessons(votes=each)[0][0][0].stages[1]) for each in ("number", "text")],
            [
                "score(reward=majority(share=True), gives_to='agreed')",
                "score(reward=majority(answer='text', share=True), gives_to='agreed')",
            ],
        ),
        "the first loss": (
            lambda: repr(lessons()[0][0][0].stages.learners[0].loss),
            "total(terms=[on(rows='policy', loss=sft(), name='answers'), "
            "on(rows='confidence', loss=sft(), name='statements')])",
        ),
        "two stages": (composed, [[FIRST, SECOND], {"pass@1": 0.5}]),
        "the second alone": (lambda: [composed(sft_steps=0)[0][0][3], len(composed(sft_steps=0)[0])], [[2], 1]),
        "no evaluations": (lambda: lessons()[1], {}),
        "examined": (
            lambda: examined(1.0, 0.0, 1.0, 1.0, 0.0, 1.0),
            {"said_ece": 1.1 / 5, "said_brier": 0.93 / 5, "said_mean": 0.54, "said_auroc": 0.75, "said_unread": 1 / 6},
        ),
        "one statement": (lambda: examined(1.0)["said_unread"], 0.0),
        "graded": (lambda: examined(0.5, 0.0)["said_auroc"], 1.0),
        "what each stage is told": (lambda: [asking(place).tells for place in (0, 1)], [("agreed",), ("correct",)]),
        "nothing to tell apart": (
            lambda: sorted(examined(1.0, 1.0)),
            ["said_brier", "said_ece", "said_mean", "said_unread"],
        ),
        "nothing to read": (lambda: examined(nan), {"said_unread": 1.0}),
    },
    world=World(
        says="statements come to be the rate of right answers",
        measure=near,
        off={"pay": "right"},
        moves=0.2,
    ),
)
