"""Rewards that remember: what they say by hand, that order does not count, and that a resumed run goes on the same."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest
import torch
from killing import Killed
from refusals import refusal

import guerdon as gd
from guerdon import score_samples
from guerdon.core.column import Reason
from guerdon.core.part import get_state, set_state
from guerdon.rewards.formula.algebra import blend
from guerdon.rewards.memory.likeness import remembered_likeness
from guerdon.rewards.memory.novelty import count_novelty, embedding_novelty, hashed_ngrams, rnd
from guerdon.rewards.stage.score_stages import score
from guerdon.runs.checkpoint import Checkpoint, load_checkpoint, save_checkpoint

sys.path.append(str(Path(__file__).parent.parent / "resume"))
from everything import everything


def like_right(**knobs):
    return remembered_likeness(gd.matches("o|t", how="search"), **knobs)


def unlike_wrong(**knobs):
    return remembered_likeness(gd.matches("the cat"), "wrong", **knobs)


EVERY = [count_novelty, embedding_novelty, rnd, like_right, unlike_wrong]


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


@pytest.mark.slow
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


def vectors(*texts):
    return hashed_ngrams(texts, 256).float()


def test_a_try_between_two_right_ones_is_the_most_like_them():
    like = like_right()
    like.asked, like.prompt_vectors, like.made_at = ["p"], torch.ones(1, 2), ["p", "p"]
    like.try_vectors = torch.tensor([[0.0, 0.0], [2.0, 0.0]])
    tries = torch.tensor([[1.0, 0.0], [0.0, 0.0], [1.0, 3.0]])
    distances = like._distances(torch.ones(3, 2), tries)
    assert distances == [0.0, 1.0, 3.0]
    assert like._between(distances) == pytest.approx([1.0, 2 / 3, 0.0])


def test_likeness_by_hand():
    like = like_right()
    assert told(like, "so 4", "1") == pytest.approx([1.0, 0.0])  # the right one is its own centroid
    middle = vectors("so 4", "to 5").mean(0)
    first, second = ((vectors(text)[0] - middle).norm() for text in ("to 5", "9"))
    wide = (vectors("1")[0] - vectors("so 4")[0]).norm()  # of the step before
    assert told(like, "to 5", "9") == pytest.approx(
        [(1 - float(d / max(second, wide))) for d in (first, second)], abs=1e-6
    )


def test_a_wrong_try_is_never_remembered_as_right_nor_the_other_way_round():
    right, wrong = like_right(), remembered_likeness(gd.matches("o|t", how="search"), "wrong")
    for reward, kept in ((right, "so 4"), (wrong, "9")):
        told(reward, "so 4", "9")
        torch.testing.assert_close(reward.try_vectors, vectors(kept))


def test_what_has_no_verdict_is_rated_and_not_remembered():
    broken = gd.reward(lambda completion: {"so 4": 1.0, "9": None}[completion], isolate=False)
    right, wrong = remembered_likeness(broken), remembered_likeness(broken, "wrong")
    for reward, kept in ((right, 1), (wrong, 0)):
        told(reward, "so 4", "9", "to 5")
        assert len(reward.made_at) == kept
    assert score_samples(right, [{"completion": "9"}, {"completion": "to 5"}]).broken == [False, False]


def test_unlike_wrong_ones_after_a_wait():
    far = unlike_wrong(wait=2)
    assert told(far, "so 4", "9", prompt="2+2?") == [None, None]
    a, b = score_samples(far, [{"completion": "so 5", "prompt": "2+2?"}, {"completion": "1 b", "prompt": "ab"}]).whole
    assert (a, b) == (None, None)  # both are remembered, so no distance differs
    rare = remembered_likeness(gd.matches("so 7"), "wrong")
    assert told(rare, "so 5", "so 7") == [0.0, 1.0]


def test_tries_of_the_nearest_prompts_are_compared():
    near, far = like_right(), like_right(k=2)
    for reward in (near, far):
        told(reward, "so 4", prompt="2+2?")
        told(reward, "to the left", prompt="where?")
    rows = vectors("so 4", "to the left")
    for reward, centre in ((near, rows[0]), (far, rows.mean(0))):
        assert reward._distances(vectors("2+3?"), vectors("4")) == pytest.approx(
            [float((vectors("4")[0] - centre).norm())]
        )


def test_the_oldest_tries_and_prompts_are_forgotten():
    like = like_right(tries=2, prompts=2)
    told(like, "so 1", "so 2", "so 3", prompt="a")
    torch.testing.assert_close(like.try_vectors, vectors("so 2", "so 3"))
    for prompt in "bc":
        told(like, "so 4", prompt=prompt)
    torch.testing.assert_close(like.prompt_vectors, vectors("b", "c"))
    torch.testing.assert_close(like.try_vectors, vectors("so 4", "so 4"))
    told(like, "to 5", prompt="b")
    assert len(like.asked) == 2 and len(like.made_at) == 3


def test_recent_distances_are_those_of_the_newest_steps():
    like = like_right(window=3)
    assert like._between([0.0, 8.0]) == [1.0, 0.0]
    assert like._between([2.0, 4.0]) == [0.75, 0.5]
    assert like._between([3.0]) == [0.5]  # of 2, 3, 4
    assert like._between([2.5]) == [0.75]


def test_likeness_needs_one_reward():
    with refusal(gd.UserError):
        remembered_likeness(gd.exact() + gd.length(9))


@pytest.mark.slow
def test_a_run_that_remembers_resumes_to_the_same_weights(tmp_path, monkeypatch):
    def recipe():
        made = everything.build({}, {"steps": 6})
        parts = {"counted": count_novelty(), "far": embedding_novelty(k=2).weight(0.1), "curious": rnd().weight(0.1)}
        parts |= {"like": like_right().weight(0.1), "unlike": unlike_wrong(k=2).weight(0.1)}
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
