"""Ten faults that a person would make, in ten methods whose tests somebody else wrote: each must be detected.

The harness changes one place at a time (`mutants.py`); these change what a wrong idea of the method would.
"""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest
from harness import row
from mutants import Mutant

FAULTS = {
    "prime": (
        "the baseline includes the try itself",
        "return_over_others.__call__",
        (" - known_K", ""),
        ("[group_K] - mean_K.nan_to_num(0.0)", "[group_K]"),
    ),
    "oreal": (
        "a token is weighed by the head's mean before it, not up to it",
        "weigh_tokens._chance",
        ("total[1:] - total[before]", "total[:-1] - total[before]"),
    ),
    "hbpo": (
        "all tries at a problem are one group, whatever budget they were given",
        "below_promise.__call__",
        ("batch.group(self.by)", "batch.group('task')"),
    ),
    "verpo": (
        "pass rates are those of the whole batch, not of the tries at a problem",
        "by_rarity.combine",
        ("groups[int(where.group[i])][i]", "groups[0][i]"),
    ),
    "dump": (
        "a step with tries at a kind counts as one try",
        "ucb.update",
        ("+ len(values)", "+ 1"),
    ),
    "spo": (
        "a segment is credited with its value, not with what it adds to its parent's",
        "prefix_gain.__call__",
        ("tree.gain[:batch.G]", "tree.value[:batch.G]"),
    ),
    "clip-delta-prm-reward": (
        "a step's difference is to the step before it",
        "delta.per_step",
        ("torch.cat([judged[1:], none])", "torch.cat([none, judged[:-1]])"),
    ),
    "biprm": (
        "the logits of the two tellings are averaged, not their probabilities",
        "two_way_labels.__call__",
        ("torch.sigmoid(live['after'].float())", "live['after'].float()"),
        ("both.clamp(1e-06, 1 - 1e-06)", "torch.sigmoid(both).clamp(1e-06, 1 - 1e-06)"),
    ),
    "amft": (
        "the weight of demonstrations is applied to the tries",
        "balanced._backward_that_fits",
        ("(1 - mu) * ours + mu * theirs", "mu * ours + (1 - mu) * theirs"),
    ),
    "starc": (
        "the way from one reward to the other begins at the first and never arrives",
        "told_regret",
        ("* step / steps", "* (step - 1) / steps"),
    ),
}


@pytest.mark.sampled(4, "name")
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_that_a_person_would_make_is_detected(name):
    idea, function, *changes = FAULTS[name]
    (target,) = (each for each in row(name).targets() if each.name == function)
    text = ast.unparse(target.node)
    for old, new in changes:
        assert text.count(old) == 1, f"{function} no longer has {old!r} once: name the same fault in today's words"
        text = text.replace(old, new)
    faulty = replace(target, node=ast.parse(text).body[0])
    mutant = Mutant(idea, "by hand", function, faulty, faulty.node, faulty.node, put=lambda node: None)
    assert row(name).told(mutant), f"not detected: {idea}"
