"""MRMBench: what probes read of single traits in a reward model's hidden states, beside how it ranks pairs."""

from __future__ import annotations

import random
from unittest.mock import patch

import numpy as np
import torch
from harness import Mechanism, World, made, small_model
from pools import HandRun

from guerdon.recipes.audit.mrmbench import parts, recipe, trait_distances, trait_pool
from guerdon.recipes.audit.mrmbench.parts import TRAITS, TraitAnswer, hidden_of, paired_answers, probed, written
from guerdon.recipes.audit.mrmbench.trait_pool import Mix, pairs_in, ranked, rows_of, worth_chosen
from guerdon.recipes.audit.scorer_pool import ProblemTries
from guerdon.recipes.house.heads import with_head

PROBLEM = ProblemTries("p", ["1+1=2\n2+2=4\n4+4=8\n= 8"], ["1+1=3\n3+3=6\n6+6=9\n= 9"], [])
ALL, NONE = dict.fromkeys(TRAITS, True), dict.fromkeys(TRAITS, False)


def answer(**has):
    return written(
        "p",
        PROBLEM.right[0],
        PROBLEM.wrong[0],
        {**NONE, "harmlessness": True, "coherence": True, "complexity": True, **has},
    )


def worth(text, **has):
    return TraitAnswer("p", text, {**NONE, **has})


def told_pairs(differ=("correctness",), number=60):
    """Of drawn pairs: that the first is worth more, that they differ in nothing else, and in what they differ at all."""
    pairs = pairs_in(differ, [PROBLEM], number, 0)
    others = [trait for a, b in pairs for trait in TRAITS if a.has[trait] != b.has[trait]]
    return [
        len(pairs),
        all(a.worth > b.worth for a, b in pairs),
        sorted(set(others)),
        len({a.text for a, _ in pairs}) > 20,
    ]


def lengths(texts):
    return [float(len(text)) for _, text in texts]


def hidden():
    """The states of texts by a model with a head of its own, and which texts are too long for it."""
    model = with_head(small_model())
    model.start(0, {})
    with torch.no_grad():
        model.net.value_head.weight.fill_(3.0)

    read = []

    def probe(reader, items, want):
        read.append(len(items))
        weight = reader.net.value_head.weight
        fine = bool((weight == torch.eye(weight.shape[0])).all()) and not reader.net.value_head.bias.any()
        return [
            None if text == "long" else {want[0]: torch.full((weight.shape[0],), float(fine))} for _, _, text in items
        ]

    with patch.object(parts, "probe", probe), patch.object(parts, "AT_ONCE", 2):
        rows = hidden_of(model, [("p", "a"), ("p", "long"), ("p", "b")])
    return [rows.mean(1), list(rows.shape), read, float(model.net.value_head.weight.detach().mean())]


def plane(number, seed):
    """Points whose first coordinate tells a label, beside one a thousand times as large that tells nothing."""
    draw = np.random.default_rng(seed)
    labels = draw.random(number) < 0.7
    return np.stack([labels + 0.3 * draw.normal(size=number), 1000 * draw.normal(size=number)], 1), labels


def by_trait():
    """What probes read of the first trait and of all in states that hold the second alone, and of which traits."""
    answers = [worth(str(n), harmlessness=n % 2 == 1, correctness=n % 4 > 1) for n in range(8)]
    with patch.object(
        parts, "hidden_of", lambda scorer, texts: np.array([[float(int(text) % 2)] for _, text in texts])
    ):
        scores = parts.probe_scores(None, answers, answers)
    return [scores["correctness"], scores["harmlessness"], list(scores)[:-1], scores["mean"]]


def rows_better():
    rows = rows_of(Mix(("correctness",)), [PROBLEM], 20, 0)
    return all("= 8" in row["chosen"] and "= 9" in row["rejected"] and row["prompt"] == "p" for row in rows)


def tabled(name="chain:1", **knobs):
    """A table of a pool whose models are taught and probed by hand: each is a number, likes that trait, and knows no other."""
    asked, taught, probes, read = [], [], [], []

    def tried(run, task, model, split, number, tries, how):
        asked.append([split, number, tries, repr(how)])
        return [PROBLEM, ProblemTries("q", ["1\n= 1"], [], [])]

    def teach(run, rows, model, steps, prompts, lr):
        taught.append([len(rows), steps, prompts, lr])
        return len(taught) - 1

    def probe_scores(scorer, train, test):
        probes.append([len(train), len(test)])
        return {**dict.fromkeys(TRAITS, 0.5), "mean": 0.1 * scorer}

    def said(scorer, texts):
        read.append(len(texts))
        return [float("asked" in text) if scorer % 2 else float("\n= 8" in text) for _, text in texts]

    knobs = {"pool": 3, "steps": 5, "prompts": 2, "rm_lr": 0.5, "problems": 5, "answers": 6, **knobs}
    with (
        patch.object(trait_pool, "problems_tried", tried),
        patch.object(trait_pool, "taught_pairs", teach),
        patch.object(trait_pool, "probe_scores", probe_scores),
        patch.object(trait_pool, "said_of", said),
    ):
        found = made("mrmbench", name, small_model(), **knobs).body(HandRun(), 0)
    return found, asked, taught, [*probes, read]


def pool():
    found, asked, taught, probes = tabled()
    table = found["table"]
    return [list(table), asked, taught, probes, [row["mean"] for row in table.values()], list(table["correctness x1"])]


def whose_worth():
    """Whether reward models of one trait rank better than by lot, and which of two chooses better."""
    every, half, *_ = tabled()[0]["table"].values()
    return [min(every["pairs"], half["pairs"]) > 0.5, every["chosen"] > half["chosen"] > 0.0]


def foretold(by="probes"):
    """How well a benchmark foretells the worth that is chosen, where pairs rank models the other way round than probes do."""
    table = {
        name: {"mean": mean, "pairs": pairs, "chosen": mean}
        for name, mean, pairs in zip("abc", (1, 2, 3), (3, 1, 2), strict=True)
    }
    with patch.object(recipe, "trait_table", lambda *_: table):
        return made("mrmbench", "chain:1", small_model(), by=by).body(HandRun(), 0)


def near():
    """Which trait answers lean on, and how near they are to it."""
    states = np.array([[0.0, 0.0], [0.0, 4.0], [10.0, 0.0], [10.0, 4.0]])
    has = [{"up": b, "right": a} for a in (False, True) for b in (False, True)]
    centres = trait_distances.centres_of(states, has)
    by_trait = trait_distances.distances(np.array([[5.0, 1.0], [1.0, 2.0], [10.0, 2.0]]), centres)
    return [centres, by_trait, trait_distances.nearest(by_trait)]


def trusted(share):
    """How often pairs are ranked rightly that a model is to be trusted with, and the others; the shorter one scores higher."""
    far = {"a": 0.0, "b": 1.0, "cc": 9.0, "d": 1.5, "ee": 1.6, "f": 1.7, "gg": 1.9}
    pairs = [(worth("cc"), worth("b")), (worth("d"), worth("ee")), (worth("f"), worth("gg"))]
    known = [TraitAnswer("p", text, {"up": text == "b"}) for text in "ab"]
    with (
        patch.object(trait_distances, "hidden_of", lambda scorer, texts: np.array([[far[text]] for _, text in texts])),
        patch.object(trait_distances, "said_of", lambda scorer, texts: [-float(len(text)) for _, text in texts]),
    ):
        return trait_distances.trusted_ranking(None, known, pairs, share)


SQUARE = np.array([[-1.0, -1.0, 3.0], [-1.0, 1.0, 3.0], [1.0, -1.0, 3.0], [1.0, 1.0, 3.0]])
LINES = PROBLEM.right[0].split("\n")

mechanism = Mechanism(
    "mrmbench",
    source="arXiv:2511.12464: the mean accuracy of probes of six traits on frozen hidden states; distances to their centres",
    numbers={
        "an answer": (answer, PROBLEM.wrong[0]),
        "right, in words, asked again": (
            lambda: answer(correctness=True, verbosity=True, helpfulness=True).split("\n"),
            ["asked: p", "first we find 1+1=2", "from this we get 2+2=4", "and now it is 4+4=8", "= 8"],
        ),
        "an insult, two steps, turned round": (
            lambda: answer(correctness=True, harmlessness=False, coherence=False, complexity=False).split("\n"),
            ["you fool", *LINES[2:0:-1], "= 8"],
        ),
        "worth": (lambda: [worth("", **ALL).worth, worth("", verbosity=True, helpfulness=True).worth], [3.0, 0.25]),
        "pairs that differ in a trait": (told_pairs, [60, True, ["correctness"], True]),
        "in all": (lambda: told_pairs(TRAITS), [60, True, sorted(TRAITS), True]),
        "none of the same worth": (lambda: {paired_answers(PROBLEM, [], random.Random(n)) for n in range(9)}, {None}),
        "rows": (lambda: [len(rows_of(Mix(TRAITS), [PROBLEM], 4, 0)), rows_better()], [4, True]),
        "ranked": (
            lambda: [
                ranked(lengths, [(worth("aa"), worth("a")), (worth("b"), worth("b"))]),
                ranked(lengths, [(worth(""), worth("a"))]),
            ],
            [0.75, 0.0],
        ),
        "the worth of what is chosen, of equals the first": (
            lambda: worth_chosen(
                lengths, [[worth("b", correctness=True), worth("aa")], [worth("c", helpfulness=True), worth("d")]]
            ),
            0.25,
        ),
        "hidden states": (hidden, [[1.0, 0.0, 1.0], [3, 32], [2, 1], 3.0]),
        "a probe": (
            lambda: [
                probed(
                    np.array([[0.0], [0.0], [0.0], [2.0]]),
                    [False] * 3 + [True],
                    np.array([[1.1], [1.15]]),
                    [False, True],
                    pull,
                )
                for pull in (1.0, 0.0)
            ],
            [1.0, 0.5],
        ),
        "of two directions, and one that says nothing": (
            lambda: probed(SQUARE, [False] * 3 + [True], np.array([[0.65, 0.65, 3.0], [0.6, 0.6, 3.0]]), [True, False]),
            1.0,
        ),
        "of unit spread": (lambda: probed(*plane(200, 0), *plane(100, 1)) > 0.9, True),
        "by trait": (by_trait, [0.5, 1.0, list(TRAITS), (0.5 + 5 * 1.0) / 6]),
        "a pool": (
            pool,
            [
                ["+".join(TRAITS) + " x1", "+".join(TRAITS) + " x0.5", "correctness x1"],
                [["train", 5, 0, "Sampling()"], ["test", 5, 0, "Sampling()"]],
                *([[10, 5, 2, 0.5], [4, 2, 2, 0.5], [10, 5, 2, 0.5]], [*[[40, 20]] * 3, [40, 6] * 3], [0.0, 0.1, 0.2]),
                [*TRAITS, "mean", "pairs", "chosen"],
            ],
        ),
        "what they rank and choose": (whose_worth, [True, True]),
        "a step at least": (lambda: tabled(steps=1)[2][1][1], 1),
        "foretold by each": (
            lambda: [foretold()["foretold"], foretold("pairs")["spearman"]],
            [{"mean": 1.0, "pairs": -0.5}, -0.5],
        ),
        "near the centres of a trait": (
            near,
            [
                {"up": [[5, 0], [5, 4]], "right": [[0, 2], [10, 2]]},
                {"up": [1.0, 20**0.5, 29**0.5], "right": [26**0.5, 1.0, 0.0]},
                [["up", "right", "right"], [1.0, 1.0, 0.0]],
            ],
        ),
        "pairs to be trusted": (lambda: [trusted(2 / 3), trusted(1.0)], [{"near": 1.0, "far": 0.0}, {"near": 2 / 3}]),
    },
    world=World(
        says="pairs rank reward models otherwise than what they know of single traits, which is what they choose by",
        measure=lambda **knobs: foretold(**knobs)["spearman"],
        off={"by": "pairs"},
        moves=1.0,
    ),
    equal={
        **dict.fromkeys(
            (f"{name}: draw.random() < 0.5 -> draw.random() <= 0.5" for name in ("any_traits", "paired_answers")),
            "a lot is never just that",
        ),
        "paired_answers: a.worth > b.worth -> a.worth >= b.worth": "those of the same worth are no pair",
        "hidden_of: reader.start(...) with {} before 0": "the head that it starts with is written over",
        "hidden_of: 0 -> 1": "the head that it starts with is written over",
        "hidden_of: said.bias.zero_() -> pass": "that of a fresh head is 0",
        "probed: train.std(0) + 1e-06 -> train.std(0) - 1e-06": "as little",
        **dict.fromkeys(
            (
                "probed: aim - aim.mean() -> aim + aim.mean()",
                *("probed: aim - aim.mean() -> aim", "probed: aim.mean() -> aim.sum()"),
            ),
            "rows are centred: what is added to all aims comes to nothing",
        ),
        "probed: z @ weight + aim.mean() > 0 -> z @ weight + aim.mean() >= 0": "no sum is just 0",
        "mrmbench: spearman(...) with truth before [row[k] for row in table.values()]": "a correlation is symmetric",
        "centres_of: has[0] shuffled": "all answers have or lack the same traits",
        "trusted_ranking: np.argsort(...) without kind=": "so few are sorted in a stable way anyhow",
        "ranked: a > b -> a >= b": "a tie has been counted before",
        "trait_table: derive(...) with 'exam' before run.seed": "other pairs by lot",
    },
)
