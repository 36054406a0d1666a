"""SPO, TEMPO and TPO: what they are made of, that they learn a task that can be learned, and run on rows of your own."""

from __future__ import annotations

import json

import pytest
import torch
from small import small_lm
from strategies import episode, segment

import guerdon as gd
from guerdon.core.pack import pack
from guerdon.core.part import part
from guerdon.core.task import Sampling
from guerdon.credit.tree import branch_gain, prefix_gain
from guerdon.engine.player import Player
from guerdon.envs.simple import single_turn
from guerdon.losses.pair import list_ranking
from guerdon.models.tables import tabular
from guerdon.rewards.stage.step_labels import line_ends
from guerdon.search.grown_trees import sampled_tree
from guerdon.select.filters import unlikely
from guerdon.select.pairs import step_pairs
from guerdon.tasks.files import rows
from guerdon.training.catalog import find_recipe

QUIET = gd.Options(save_every=100, eval_tasks=0)


@part
class same_digits:
    """Say the prompt's digit three times; two of three are two thirds right."""

    name = "same_digits"

    def size(self, split):
        return 3

    def get(self, split, index):
        return gd.Task(str(index), f"digit {index}", str(index) * 3, family="same_digits")

    def check(self, problem, completion):
        return float(completion == problem.answer)


def shares(completion, answer):
    return sum(a == b for a, b in zip(completion, answer, strict=False)) / 3


def made(name, model=None, task=None, reward=None, **knobs):
    return find_recipe(name)(task or same_digits(), model or tabular("012", length=3), reward, **knobs)


ARMS = {
    "tempo": ("tempo", {}),
    "tree": ("spo", {"branch": (4, 2, 2), "tokens": 1, "mask": 1.0}),
    "chain": ("spo", {"form": "chain", "cuts": 1, "more": 4, "mask": 1.0}),
    "lists": ("tpo", {"branch": (4, 2, 2), "tokens": 1, "adapt": 0.0}),
    "pairs": ("tpo", {"branch": (4, 2, 2), "tokens": 1, "learn_from": "pairs"}),
}


@pytest.mark.slow
@pytest.mark.sampled(1, "arm")
@pytest.mark.parametrize("arm", ARMS)
def test_each_learns_what_can_be_learned(arm, tmp_path):
    name, knobs = ARMS[arm]
    recipe = made(name, reward=shares, prompts=3, lr=0.3, steps=10, **knobs)
    run = gd.train(recipe, out=tmp_path / "run", options=QUIET, seed=1)
    right = run.metrics["reward/mean"].to_pylist()
    assert sum(right[-2:]) / 2 > 0.6 > 0.45 > right[0]


def test_tempo_is_grpo_with_another_credit():
    recipe = made("tempo", kl=0.1, outcome=0.5)
    (credit,) = recipe.stages.credit
    assert isinstance(credit, branch_gain) and (credit.reward, credit.outcome, credit.std) == ("correct", 0.5, True)
    assert isinstance(recipe.env, single_turn) and recipe.curriculum.tries == 8


def test_a_tree_is_trained_on_and_the_exam_asks_plainly():
    for recipe in (made("spo", reward=shares, kl=0.1), made("tpo", reward=shares)):
        assert isinstance(recipe.env, sampled_tree) and isinstance(recipe.exams[0].env, single_turn)
        assert recipe.curriculum.tries == 1
    (credit,), (learner,) = made("spo").stages.credit, made("spo", kl=0.1).stages.learners
    assert isinstance(credit, prefix_gain) and (credit.mean, credit.once) == ("child", True)
    assert isinstance(learner.on, unlikely) and [term.mean for term in learner.loss.terms] == ["step", "step"]
    assert made("spo", mask=1.0).stages.learners[0].on is None


def test_lists_and_the_ends_of_them_are_of_the_same_trees():
    lists, pairs = made("tpo", beta=0.3, least=0.25), made("tpo", beta=0.3, least=0.25, learn_from="pairs")
    assert repr(lists.env) == repr(pairs.env) == "sampled_tree(branch=(4, 2, 2), tokens=0)"
    of_lists, of_pairs = lists.stages.learners[0], pairs.stages.learners[0]
    assert isinstance(of_lists.loss, list_ranking) and of_lists.loss.beta == of_pairs.loss.beta == 0.3
    for learner, which in ((of_lists, "all"), (of_pairs, "extremes")):
        assert isinstance(learner.on, step_pairs)
        assert (learner.on.column, learner.on.least, learner.on.which) == ("correct", 0.25, which)


@pytest.mark.sampled(1, "name")
@pytest.mark.parametrize("name", ["tempo", "spo", "tpo"])
def test_each_runs_on_rows_of_your_own_and_another_model(name, tmp_path):
    file = tmp_path / "mine.jsonl"
    file.write_text("".join(json.dumps({"prompt": f"{i} + 1 =", "answer": str(i + 1)}) + "\n" for i in range(12)))
    tree = {} if name == "tempo" else {"branch": (2, 2), "tokens": 2}
    recipe = made(name, small_lm(tmp_path / "lm"), rows(str(file)), prompts=2, max_tokens=6, steps=1, **tree)
    run = gd.train(recipe, out=tmp_path / "run", options=QUIET)
    assert run.metrics["tokens"].to_pylist()[0] > 0


def test_hidden_states_are_read_and_differ(tmp_path):
    """One step of a language model with the adaptive weight, a reward that tells every answer apart."""

    def length(completion):
        return float(len(completion))

    model = small_lm(tmp_path / "lm")
    recipe = made("tpo", model, reward=length, branch=(3, 2), tokens=2, prompts=2, max_tokens=5, steps=1)
    run = gd.train(recipe, out=tmp_path / "run", options=QUIET)
    assert run.metrics["step_pairs"].to_pylist()[0] > 2 and run.metrics["policy/grad_norm"].to_pylist()[0] > 0


def test_lines_end_where_text_follows():
    model = tabular("01\n", length=7)
    model.start(0, {})
    play = Player({"policy": model}, {"policy": "policy"}, single_turn(), Sampling(), 0, 1)
    said = segment([0, 2, 1, 1, 2, 2, 0], text="0\n11\n\n0")  # 0, 11 and a blank line, 0
    ends = line_ends()(pack([episode(said)]), play)["line_ends"]
    assert torch.nan_to_num(ends).tolist() == [0, 1, 0, 0, 0, 2, 3]
