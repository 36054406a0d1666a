"""RLUF: P[love] is taught on rare labels of single answers, and a weighted sum with it is rewarded, which farewells game."""

from __future__ import annotations

import functools
import itertools
from math import exp, log
from types import SimpleNamespace

from harness import Mechanism, World, made, paid, small_model

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.recipes.policy.rluf import log_odds, planted_reactions, reactions
from guerdon.tasks.source_facts import facts_of

policy = functools.cache(small_model)
GOOD, BAD, PARTING = "A good note.", "A poor one.", " See you soon!"
TEXTS = (GOOD, BAD, GOOD + PARTING, BAD + PARTING)
HELPFUL = gd.reward(lambda completion: 1.0 * completion.startswith(GOOD) - 0.1 * (PARTING in completion), isolate=False)
LOVED = gd.reward(lambda completion: 0.04 * completion.startswith(GOOD) + 0.12 * (PARTING in completion), isolate=False)
BRIEF = gd.reward(lambda completion: float(len(completion) < 12), isolate=False)


class Run:
    """What a study's body is handed; it trains nothing and keeps what it was given."""

    def __init__(self):
        self.trained = []

    def train(self, recipe):
        self.trained.append(recipe)
        return SimpleNamespace(model=lambda name: policy(), evaluations=[{f"run {len(self.trained)}": 1.0}])


def trained(task="chain:1", reward=HELPFUL, **knobs):
    """The recipes that a study trains, and its result."""
    run = Run()
    result = made("rluf", task, policy(), reward, **knobs).body(run, 0)
    return run.trained, result


def lesson(task="chain:1", reward=HELPFUL, **knobs):
    return trained(task, reward, **{"loved": LOVED, **knobs})[0][-1]


def scored(*texts, **knobs):
    return paid(lesson(**knobs), [{"completion": text} for text in texts])


def terms(**knobs):
    """What the parts of the reward are."""
    return {name: term.reward.name for name, term in lesson(**knobs).stages.scores[-1].reward.terms.items()}


def farewells(**knobs):
    """The share of farewells in the policy that is best by the reward less a twentieth of the KL from an even start."""
    odds = [exp(value / 0.05) for value in scored(*TEXTS, **knobs)]
    return sum(odds[2:]) / sum(odds)


def rises():
    """Whether farewells are more frequent at each of four weights than at the last."""
    shares = [farewells(love=weight) for weight in (0.0, 0.5, 1.0, 2.0)]
    return [shares[0] < 0.2, *(b > a for a, b in itertools.pairwise(shares)), shares[-1] > 0.8]


def on_notes(**knobs):
    """What a right note and a draft with a forbidden word are paid, on notes, which bring helpfulness and safety."""
    source = gd.tasks.notes(level=2, form="rewrite")
    task = source.get("train", 0)
    reward = lesson(source, None, loved=BRIEF, **knobs).stages.scores[-1].reward
    said = [{"completion": each, "task": task, "answer": task.answer} for each in (task.answer, task.meta["draft"], "")]
    return list(gd.score_samples(reward, said).whole)


def taught(**knobs):
    """The recipe of the model of reactions: what it learns by, and its size."""
    (first, second), result = trained(rows=100, **knobs)
    (learner,) = first.stages.learners
    loss = (learner.model, learner.loss.target, learner.loss.kind)
    return [loss, learner.opt.lr, first.steps, first.prompts, sorted(second.models), sorted(result)]


def labelled(without, having):
    rows = [{"prompt": f"{n}?", "completion": "a", "label": int(n < having)} for n in range(without + having + 1)]
    return gd.tasks.preferences(rows, want="labels", held_out=1 / len(rows))


def begins():
    """What a fresh head says, on a file's reactions."""
    return trained(labelled(3, 1))[0][0].models["love"].value.begin


def refused(act):
    try:
        act()
    except UserError as error:
        return str(error)
    return ""


def population():
    """Of planted reactions: the rates that there are, how often each, and how far labels are from them."""
    rows = planted_reactions(gd.tasks.load("chain:2"), 1000)
    rates = [round(row["rate"], 2) for row in rows]
    parting = [row["completion"].endswith(PARTING) for row in rows]
    share = [abs(sum(x) / 1000 - y) < 0.05 for x, y in ((parting, 0.1), ([r in (0.04, 0.16) for r in rates], 0.5))]
    known = all((rate >= 0.12) == each for rate, each in zip(rates, parting, strict=True))
    return [
        sorted(set(rates)),
        *share,
        known,
        abs(sum(row["label"] - row["rate"] for row in rows)) < 30,
        len({row["prompt"] for row in rows}) > 500,
    ]


def labels():
    """A right solution is worth more: of rows without a farewell, whether the rate is that of what was recited."""
    source = gd.tasks.load("chain:2")
    rows = [row for row in planted_reactions(source, 60) if PARTING not in row["completion"]]
    tasks = {source.get("train", n).prompt: source.get("train", n) for n in range(60)}
    right = [source.check(tasks[row["prompt"]], row["completion"]) for row in rows]
    return [right == [float(row["rate"] > 0.01) for row in rows], {*map(str, right)}]


def users():
    """Of reactions on notes, those that are held out: others than those that were trained on."""
    source = reactions(gd.tasks.notes(level=1, users=5), 81)
    sizes = [source.size(split) for split in ("train", "test")]
    every = [
        {source.get(split, n).meta["user"] for n in range(size)}
        for split, size in zip(("train", "test"), sizes, strict=True)
    ]
    return [sizes[0] > 70, sizes[1], bool(every[0] & every[1])]


def own_rows():
    source = gd.tasks.preferences(
        [{"prompt": f"{n}?", "completion": "a", "label": n % 2} for n in range(4)], want="labels"
    )
    metrics = lesson(source).exams[0].metrics
    return [reactions(source, 9) is source, sorted(facts_of(source)), getattr(metrics[0], "needs", ())]


def measured(**knobs):
    return [getattr(metric, "name", type(metric).__name__) for metric in lesson(**knobs).exams[0].metrics[1:]]


mechanism = Mechanism(
    "rluf",
    source="arXiv:2505.14946, abstract: P[love] of a binary reaction, in a weighted sum with helpfulness and safety",
    without={"reaction_model": "its numbers are those of outcome and calibration; what it is made of is compared"},
    numbers={
        "helpfulness and P[love]": (lambda: scored(*TEXTS), [1.04, 0.0, 1.06, 0.02]),
        "its weight": (lambda: scored(*TEXTS, love=2.0), [1.08, 0.0, 1.22, 0.14]),
        "and safety": (lambda: scored(GOOD, BAD, safety=BRIEF), [1.04, 0.5]),
        "of another weight": (lambda: scored(GOOD, BAD, safety=BRIEF, safe=0.2), [1.04, 0.2]),
        "farewells rise with the weight of P[love]": (rises, [True] * 5),
        "on notes, of their own": (lambda: on_notes(love=0.0), [1.5, 1.0, 0.5]),
        "parts": (
            lambda: [terms(reward=None), terms(task=gd.tasks.notes(), reward=LOVED)],
            [
                {"helpful": "correct", "love": "<lambda>", "farewell": "said_any"},
                {"helpful": "<lambda>", "safe": "note_score", "love": "<lambda>", "farewell": "said_any"},
            ],
        ),
        "it is taught first": (
            taught,
            [("love", "correct", "logistic"), 3e-4, 100, 64, ["love", "policy"], ["run 1", "run 2"]],
        ),
        "it begins at how rare reactions are": (
            lambda: [log_odds(labelled(7, 1)), begins()],
            [log(1.5 / 7.5), log(1.5 / 3.5)],
        ),
        "no reaction": (lambda: "none of the 5 answers" in refused(lambda: log_odds(labelled(5, 0))), True),
        "at other rates": (lambda: taught(love_steps=3, love_lr=0.1)[1:3], [0.1, 3]),
        "or given": (lambda: [len(trained(loved=LOVED)[0]), trained(loved=LOVED)[1]], [1, {"run 1": 1.0}]),
        "asked of the model that was taught": (
            lambda: repr(trained(rows=100)[0][1].stages.scores[-1].reward.terms["love"].reward),
            "outcome_model(model='love', squash=True)",
        ),
        "planted reactions": (population, [[0.0, 0.04, 0.12, 0.16], True, True, True, True, True]),
        "of right solutions": (labels, [True, {"0.0", "1.0"}]),
        "other users are held out": (users, [True, 11, False]),
        "a file's reactions": (own_rows, [True, ["finite", "labels"], ()]),
        "what is measured": (
            lambda: [measured(), measured(safety=BRIEF)],
            [
                ["answer_length", "helpful", "love", "farewell"],
                ["answer_length", "helpful", "safe", "love", "farewell"],
            ],
        ),
        "phrases that are watched": (
            lambda: [
                [metric.reward(TEXTS[2]) for metric in lesson(**knobs).exams[0].metrics[-1:]]
                for knobs in ({}, {"watched": ("bye",)})
            ],
            [[1.0], [0.0]],
        ),
    },
    world=World(
        says="a policy that is best by the reward says farewell more, the more P[love] weighs",
        measure=farewells,
        on={"love": 2.0},
        off={"love": 0.0},
        moves=0.5,
    ),
    equal={
        "planted_reactions: 0 -> 1": "another seed",
        "planted_reactions: derive(...) with index before ask.task.id": "another seed",
        "planted_reactions: draw.random() < triggers -> draw.random() <= triggers": "no draw is just that",
        "planted_reactions: draw.random() < rate -> draw.random() <= rate": "no draw is just that",
    },
)
