"""Self-Critique: two greedy answers to a problem of training have entropies of one shape, whatever either looks like."""

from __future__ import annotations

from math import log, nan, sqrt
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import torch
from harness import Mechanism, World, made

import guerdon as gd
from guerdon.audits.contamination import detectors, probe
from guerdon.audits.contamination.probe import _scores, probe_contamination, separation
from guerdon.core.seeds import generator
from guerdon.core.statistics import auc_interval
from guerdon.studies.halves import even_halves

NAMES = ["self_critique", "perplexity", "min_k", "entropy", "min_k_plus"]


class listed:
    """Problems of two kinds in turn; every fourth is answered wrongly."""

    name = "listed"

    def get(self, split, index):
        return gd.Task(f"{split}{index}", f"{index}?", "yes", "ab"[index % 2], 1, {"hard": index % 4 == 0})

    def size(self, split):
        return 13 if split == "train" else None

    def check(self, task, completion):
        return float(not task.meta["hard"] and completion.startswith("yes"))


class remembering(gd.models.scripted):
    """Says `yes` first and then `no` on and on. Both have entropies of one shape where it was trained and of two elsewhere;
    its first answers are all alike."""

    def __init__(self, members):
        super().__init__(self.said)
        self._members, self._shown = members, []

    def said(self, view, past, seed):
        self._shown.append(view)
        return "no" * 40 if "yes" in view else "yes" * 5

    def readings(self, _):
        return {"logp": "step", "entropy": "step", "top_logp": "step"}

    def read(self, batch, want):
        entropy = torch.arange(batch.S) % 3 + 1.0
        for g, turn in enumerate(s for e in batch.episodes for s in e.segments):
            if "yes" in turn.view and not any(f"{prompt}?" in turn.view.split("\n") for prompt in self._members):
                at = batch.seg == g
                entropy[at] = torch.where(torch.arange(int(at.sum())) == 0, 9.0, 0.0)
        chances = torch.tensor([[0.5, 0.5]]).log().expand(batch.S, 2)
        return {name: {"logp": -entropy, "entropy": entropy, "top_logp": chances}[name] for name in want}


def study(**knobs):
    """What the study finds, the run that it trained, its budget and the model that it asked."""
    trained = []

    def train(recipe, budget):
        trained.append((recipe, budget, remembering({str(i) for i in recipe.curriculum.task.train})))
        return SimpleNamespace(model=lambda: trained[-1][-1])

    few = lambda values, members, strata, draws, seed: auc_interval(values, members, strata, 2, seed)  # noqa: E731
    model = gd.models.tabular("01", length=1, rows=64)
    with patch.object(probe, "auc_interval", few):
        found = made("self-critique", listed(), model, max_tokens=6, **knobs).body(
            SimpleNamespace(train=train, budget="all"), 3
        )
    return found, *trained[0]


def lesson(**knobs):
    """How it trains, on how many problems of each kind, and what the trained model is shown of the first problem."""
    _, recipe, budget, model = study(another_way="{prompt}\n{answer}\nelse?", **knobs)
    kinds = [recipe.curriculum.task.get("train", i).kind for i in range(recipe.curriculum.task.size("train"))]
    how = [recipe.prompts, recipe.steps, recipe.curriculum.tries, recipe.sampling.max_tokens]
    return [*how, recipe.stages.learners[0].opt.lr, budget, sorted(kinds), model._shown[0], model._shown[13]]


def results():
    """Both areas; whether members are those of the seed, and the rates of right answers those of members and others."""
    found, recipe, *_ = study()
    tasks, members = [listed().get("train", i) for i in range(13)], set(recipe.curriculum.task.train)
    right = {
        is_in: [not t.meta["hard"] for i, t in enumerate(tasks) if (i in members) is is_in] for is_in in (True, False)
    }
    drawn = even_halves([task.kind for task in tasks], generator(3, "members"))
    rates = [found["right_members"] - np.mean(right[True]), found["right_others"] - np.mean(right[False])]
    return [found["auc"], found["plain_auc"], members == {i for i, first in enumerate(drawn) if first}, *rates]


def asked(at_once):
    """The answers, members and scores of problems asked in parts."""
    model, tasks = remembering({"0"}), [listed().get("train", i) for i in range(3)]
    keys = [tasks[0].key]
    found = probe_contamination(model, tasks, keys, check=listed().check, max_tokens=6, at_once=at_once, resamples=2)
    first = found.problems[0]
    return [
        *([first.answers[0], len(first.answers[1])], [each.member for each in found.problems]),
        *([each.right for each in found.problems], [each.task.id for each in found.suspects(2)]),
        *([area.auc for area in (found.auc["self_critique"], found.balanced["self_critique"])], list(first.scores)),
    ]


def ranked(**how):
    told = separation([nan, 3.0, 1.0, 2.0], [True, True, True, False], resamples=4, **how)
    return [told.auc, told.members, told.others, told.low <= told.auc <= told.high]


def plus(logp, chances, share):
    chances = np.array(chances)
    return detectors.min_k_plus(np.log(logp), -(chances * np.log(chances)).sum(1), np.log(chances), share)


SAME = np.array([3.0, 0.0, 4.0])
LOGP = np.log([0.5, 0.25, 1.0, 1.0, 0.125])
SPREAD = log(3) * sqrt(3) / 4  # the deviation of the log-prob of one of two tokens that have 3/4 and 1/4
NONE = np.zeros(0)

mechanism = Mechanism(
    "self-critique",
    source="arXiv:2510.09259; yongding-tao/RL-Data-Contamination@602d629, detectors/self_critique.py, lines 4 to 15",
    also=[detectors, even_halves, separation, _scores],
    numbers={
        "a cosine, times the shorter length over the longer": (
            lambda: (
                [
                    detectors.self_critique(SAME, np.array(other))
                    for other in ([3.0, 0.0, 4.0], [6.0, 0.0, 8.0], [3.0], [0.0, 1.0, 0.0], [0.0], [])
                ]
                + [detectors.self_critique(NONE, SAME), detectors.self_critique(SAME[:1], SAME)]
            ),
            [1.0, 1.0, 9 / 15 / 3, 0.0, 0.0, nan, nan, 9 / 15 / 3],
        ),
        "small entropies have a shape too": (lambda: detectors.self_critique(SAME / 1e3, SAME / 1e3), 1.0),
        "perplexity and mean entropy": (
            lambda: [detectors.perplexity(LOGP), detectors.mean_entropy(np.array([0.5, 1.5])), detectors.min_k(LOGP)],
            [-(64**0.2), -1.0, log(0.125)],
        ),
        "the least likely tokens": (
            lambda: [detectors.min_k(LOGP, 0.4), detectors.min_k(LOGP[:2], 0.1)],
            [(log(0.125) + log(0.25)) / 2, log(0.25)],
        ),
        "in deviations from what is expected": (
            lambda: [plus([0.25], [[0.75, 0.25]], 0.2), plus([0.25, 0.75], [[0.75, 0.25]] * 2, 1.0)],
            [
                (log(0.25) - 0.75 * log(0.75) - 0.25 * log(0.25)) / SPREAD,
                (log(0.1875) / 2 - 0.75 * log(0.75) - 0.25 * log(0.25)) / SPREAD,
            ],
        ),
        "where all is expected": (lambda: plus([0.5], [[0.5, 0.5]], 1.0), 0.0),
        "no tokens": (
            lambda: (
                [each(NONE) for each in (detectors.perplexity, detectors.min_k, detectors.mean_entropy)]
                + [detectors.min_k_plus(NONE, NONE, np.zeros((0, 2)))]
            ),
            [nan] * 4,
        ),
        "halves of as many of every kind": (
            lambda: [
                [sum(half), sum(half[::2]), sum(half[1::2])]
                for half in (even_halves(list("ababababa"), torch.Generator().manual_seed(n)) for n in range(9))
            ],
            [[4, 2, 2]] * 9,
        ),
        "the area over those with a score": (ranked, [0.5, 2, 1, True]),
        "the area among equals": (lambda: ranked(strata=["a", "a", "b", "a"]), [1.0, 2, 1, True]),
        "asked twice": (
            lambda: asked(2),
            [["yesyes", 12], [True, False, False], [False, True, True], ["train0", "train1"], [1.0, nan], NAMES],
        ),
        "what it finds": (results, [1.0, 1.0, True, 0.0, 0.0]),
        "how it trains and what it asks": (
            lambda: lesson(prompts=3, tries=5, rl_lr=0.1, steps=7),
            [3, 7, 5, 6, 0.1, "all", ["a:1"] * 3 + ["b:1"] * 3, "0?", "0?\nyesyes\nelse?"],
        ),
    },
    world=World(
        says="only the shape of a second answer gives away what was trained on: perplexity cannot",
        measure=lambda **knobs: study(**knobs)[0]["auc"],
        off={"detector": "perplexity"},
        moves=0.4,
    ),
    equal={
        "self_critique: grpo(...) without tries=": "its curriculum is exchanged for one that has them",
        "self_critique: 0 -> 1 (3)": "a zero before both rows changes no cosine",
        "_scores: detectors.self_critique(...) with other['entropy'] before entropy": "a cosine is symmetric",
    },
)
