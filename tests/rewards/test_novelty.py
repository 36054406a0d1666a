"""Rewards that remember: what they say by hand, that order does not count, and that a resumed run goes on the same."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest
import torch
from killing import Killed

import guerdon as gd
from guerdon import score_samples
from guerdon.core.column import Reason
from guerdon.core.part import get_state, set_state
from guerdon.rewards.formula.algebra import blend
from guerdon.rewards.memory.novelty import count_novelty, embedding_novelty, hashed_ngrams, rnd
from guerdon.rewards.stage.score_stages import score
from guerdon.runs.checkpoint import Checkpoint, load_checkpoint, save_checkpoint

sys.path.append(str(Path(__file__).parent.parent / "resume"))
from everything import everything

EVERY = [count_novelty, embedding_novelty, rnd]


def told(reward, *texts, seed=0, **fields):
    return score_samples(reward, [{"completion": t, **fields} for t in texts], seed=seed).whole


def test_counts_by_hand():
    new = count_novelty()
    assert told(new, "so 4", "So  4", "so 5") == pytest.approx([1 / math.sqrt(2), 1 / math.sqrt(2), 1.0])
    assert told(new, "so 4") == pytest.approx([1 / math.sqrt(3)])


def test_counts_are_of_a_task_or_of_the_run():
    apart, together = count_novelty(), count_novelty(by="run")
    for reward, want in ((apart, 1.0), (together, 1 / math.sqrt(2))):
        assert told(reward, "4", prompt="2+2?") == [1.0]
        assert told(reward, "4", prompt="3+1?") == pytest.approx([want])


def test_keys_of_numbers_and_marks():
    new = count_novelty(key="number", mark="Answer:")
    assert told(new, "Answer: 4", "I say 4", "Answer: 4.0", "Answer: four") == pytest.approx(
        [1 / math.sqrt(2), None, 1 / math.sqrt(2), None]
    )


def test_the_oldest_keys_are_forgotten():
    new = count_novelty(most=2)
    for text in "abc":
        told(new, text)
    assert len(new.counts) == 2
    assert told(new, "c") == pytest.approx([1 / math.sqrt(2)]) and told(new, "a") == [1.0]


def test_hashed_texts_are_of_length_one_even_without_letters():
    found = hashed_ngrams(["", "a", "the cat"], 64)
    torch.testing.assert_close(found.norm(dim=1), torch.ones(3, dtype=torch.float64))


def test_distance_to_the_nearest_by_hand():
    new = embedding_novelty(k=2, memory=3)
    assert told(new, "the cat", "the dog", "a bird") == [None] * 3
    rows = hashed_ngrams(["the cow", "the cat", "the dog", "a bird"], 256)
    distance = sorted((1 - rows[0] @ rows[1:].t()).tolist())
    assert told(new, "the cow") == pytest.approx([sum(distance[:2]) / 2])
    assert len(new.seen) == 3  # the cat is forgotten
    assert told(embedding_novelty(), "", "") == [None, None]


def test_saying_nothing_is_new_once():
    new = embedding_novelty(k=1)
    told(new, "")
    assert told(new, "") == pytest.approx([0.0], abs=1e-12)


def test_what_was_learned_is_no_longer_surprising():
    curious = rnd()
    first = told(curious, "the cat sat", "so 4")
    for _ in range(100):
        told(curious, "the cat sat")
    again, other = told(curious, "the cat sat", "357 + 12")
    assert again < 0.05 * first[0] and other > 10 * again


def test_the_first_surprises_are_over_their_own_size():
    found = told(rnd(), "the cat sat", "so 4", "x + 4 = 9")
    assert sum(x * x for x in found) / 3 == pytest.approx(1.0)
    assert (
        found
        == told(rnd(), "the cat sat", "so 4", "x + 4 = 9")
        != told(rnd(), "the cat sat", "so 4", "x + 4 = 9", seed=1)
    )


@pytest.mark.parametrize("made", EVERY)
def test_order_does_not_count_and_a_sample_without_a_completion_is_not_rated(made):
    texts = ["the cat", "so 4", "the cat", "x"]
    one, other = made(), made()
    for reward, order in ((one, texts), (other, texts[::-1])):
        told(reward, *order)
    assert told(one, *texts) == pytest.approx(told(other, *texts[::-1])[::-1])
    assert score_samples(one, [{"completion": "x"}, {}]).reasons == [Reason.VALUE, Reason.NOT_APPLICABLE]


@pytest.mark.parametrize("made", EVERY)
def test_what_is_saved_goes_on_the_same(made, tmp_path):
    whole, half = made(), made()
    for reward in (whole, half):
        told(reward, "the cat", "so 4")
        told(reward, "so 4", "x")
    save_checkpoint(tmp_path, Checkpoint(1, {}, {"parts": get_state(score(blend(new=half)))}), keep=1)
    resumed = made()
    set_state(score(blend(new=resumed)), load_checkpoint(tmp_path, pytest.fail).state["parts"])
    assert told(resumed, "the cat", "y") == told(whole, "the cat", "y")
    assert told(resumed, "z") == told(whole, "z")


@pytest.mark.slow
def test_a_run_that_remembers_resumes_to_the_same_weights(tmp_path, monkeypatch):
    def recipe():
        made = everything.build({}, {"steps": 6})
        parts = {"counted": count_novelty(), "far": embedding_novelty(k=2).weight(0.1), "curious": rnd().weight(0.1)}
        made.stages[1] = score(blend(**parts))
        return made

    options = gd.Options(save_every=2, eval_tasks=0)
    whole = gd.train(recipe(), seed=2, out=tmp_path / "whole", options=options)
    plain, calls = gd.Learn.update, []

    def breaks(self, *args):
        calls.append(1)
        if len(calls) == 20:
            raise Killed
        return plain(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(gd.Learn, "update", breaks)
        with pytest.raises(Killed):
            gd.train(recipe(), seed=2, out=tmp_path / "broken", options=options)
    assert gd.train(recipe(), resume=tmp_path / "broken").weights == whole.weights
