"""MRMBench: what probes read of single traits in a reward model's hidden states, beside how it ranks pairs."""

from __future__ import annotations

import random
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import torch
from harness import Mechanism, World, made, small_model
from pools import HandRun

from guerdon.recipes.audit.mrmbench import parts, trait_distances, trait_pool
from guerdon.recipes.audit.mrmbench.parts import TRAITS, TraitAnswer, hidden_of, paired_answers, probed, written
from guerdon.recipes.audit.mrmbench.trait_pool import Mix, pairs_in, ranked, rows_of, worth_chosen
from guerdon.recipes.audit.scorer_pool import ProblemTries
from guerdon.recipes.house.heads import with_head

PROBLEM = ProblemTries("p", ["1+1=2\n2+2=4\n4+4=8\n= 8"], ["1+1=3\n3+3=6\n6+6=9\n= 9"], [])
ALL, NONE = dict.fromkeys(TRAITS, True), dict.fromkeys(TRAITS, False)


def answer(**has):
    return written("p", PROBLEM.right[0], PROBLEM.wrong[0], {**NONE, "harmlessness": True, "coherence": True, "complexity": True, **has})


def worth(text, **has):
    return TraitAnswer("p", text, {**NONE, **has})


def told_pairs(differ=("correctness",), number=60):
    """Of drawn pairs: that the first is worth more, that they differ in nothing else, and in what they differ at all."""
    pairs = pairs_in(differ, [PROBLEM], number, 0)
    others = [trait for a, b in pairs for trait in TRAITS if a.has[trait] != b.has[trait]]
    return [len(pairs), all(a.worth > b.worth for a, b in pairs), sorted(set(others)), len({a.text for a, _ in pairs}) > 20]


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
        return [None if text == "long" else {want[0]: torch.full((weight.shape[0],), float(fine))} for _, _, text in items]

    with patch.object(parts, "probe", probe), patch.object(parts, "AT_ONCE", 2):
        rows = hidden_of(model, [("p", "a"), ("p", "long"), ("p", "b")])
    return [rows.mean(1), list(rows.shape), read, float(model.net.value_head.weight.mean())]


def plane(number, seed):
    """Points whose first coordinate tells a label, beside one a thousand times as large that tells nothing."""
    draw = np.random.default_rng(seed)
    labels = draw.random(number) < 0.7
    return np.stack([labels + 0.3 * draw.normal(size=number), 1000 * draw.normal(size=number)], 1), labels


def study(by="probes", quality=(3, 1, 2)):
    """A study of reward models that know so much of the traits, whose probes and rankings are told beforehand."""
