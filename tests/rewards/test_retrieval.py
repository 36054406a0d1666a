"""Rewards for ranked lists, by hand and against other code; what a completion is worth to a reader."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal
from small import small_lm
from strategies import episode

from guerdon import score_samples
from guerdon.core.column import Reason
from guerdon.core.episode import Segment
from guerdon.core.errors import UserError
from guerdon.core.pack import pack
from guerdon.core.task import Ask, Sampling, Task
from guerdon.engine.player import Player
from guerdon.rewards.asking.function import ask_all
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.model.confidence import perplexity_gain
from guerdon.rewards.text.retrieval import ndcg, rank_incentive, recall, reciprocal_rank

EVERY = [recall(), ndcg(), reciprocal_rank(), rank_incentive()]


def test_recall_by_hand():
    assert recall(3)("a, b, c, d", relevant=["a", "d", "x"]) == pytest.approx(1 / 3)
    assert recall(4)("a, b, c, d", relevant=["a", "d", "x"]) == pytest.approx(2 / 3)
    assert recall(0)("- a\n- b\n- c", relevant=["c"]) == 1.0


def test_ndcg_by_hand():
    """Found: 0, 3, 0, 1 at places 1 to 4; best: 3, 2, 1."""
    found = ndcg()("x, a, y, c", relevant={"a": 3, "b": 2, "c": 1, "d": 0})
    gained, best = 3 / math.log2(3) + 1 / math.log2(5), 3 + 2 / math.log2(3) + 1 / math.log2(4)
    assert found == pytest.approx(gained / best)
    assert ndcg(2)("x, a, y, c", relevant={"a": 3, "b": 2, "c": 1}) == pytest.approx(
        3 / math.log2(3) / (3 + 2 / math.log2(3))
    )


@given(st.lists(st.integers(0, 3), min_size=2, max_size=8).filter(any), st.randoms(), st.integers(1, 9))
def test_ndcg_is_one_for_the_best_order_alone(given_grades, random, k):
    relevant = {f"d{i}": g for i, g in enumerate(given_grades)}
    order = sorted(relevant, key=lambda one: -relevant[one])
    assert ndcg(k)(ranking=order, relevant=relevant) == pytest.approx(1.0)
    random.shuffle(order)
    found = ndcg(k)(ranking=order, relevant=relevant)
    assert 0 <= found <= 1 + 1e-12
    gains = torch.tensor([float(relevant[one]) for one in order[:k]], dtype=torch.float64)
    best = torch.tensor(sorted(map(float, given_grades), reverse=True)[:k], dtype=torch.float64)
    discount = torch.log2(torch.arange(2, 2 + len(gains), dtype=torch.float64))
    assert found == pytest.approx(float((gains / discount).sum() / (best / discount).sum()))


def test_ndcg_is_that_of_scikit_learn():
    """What scikit-learn 1.9.1 says: ndcg_score([[3, 2, 0, 1, 0]], [[0.1, 0.9, 0.5, 0.8, 0.2]], k=k)."""
    theirs = {1: 0.6666666666666666, 3: 0.5525004989384911, 5: 0.7962200836853229}
    for k, want in theirs.items():
        assert ndcg(k)(ranking=[1, 3, 2, 4, 0], relevant={0: 3, 1: 2, 2: 0, 3: 1, 4: 0}) == pytest.approx(want)


def test_ranks_by_hand():
    assert [reciprocal_rank(3)(text, relevant=["a"]) for text in ("a, b", "b, a", "b, c, a", "b, c, d, a")] == (
        pytest.approx([1.0, 1 / 2, 1 / 3, 0.0])
    )
    step = rank_incentive(k=5, near=3)
    assert [step(ranking=[*"vwxyz"], relevant=[one]) for one in "vwxyzq"] == pytest.approx([2, 1.5, 1, 0.5, 0, 0])


def test_an_id_counts_once_and_as_text():
    assert recall(2)("a, a, b", relevant=["b"]) == 1.0
    assert reciprocal_rank()(ranking=[7, "8 "], relevant=[8]) == 0.5


def test_where_the_list_stands():
    assert recall(mark="Ranking:")("I like a. Ranking: [b, c]", relevant=["b"]) == 1.0
    assert recall(mark="Ranking:")("a, b", relevant=["a"]) == 0.0
    found = score_samples(ndcg(), [{"completion": "b", "relevant": ["a"], "ranking": ["a"]}])
    assert found.whole == [1.0]


@pytest.mark.parametrize("reward", EVERY, ids=str)
def test_nothing_relevant_does_not_apply_and_nothing_found_earns_nothing(reward):
    assert reward("a, b", relevant=[]) is None and reward("a, b") is None and reward("a", relevant={"a": 0}) is None
    assert reward("", relevant=["a"]) == 0.0 and reward(ranking=[], relevant=["a"]) == 0.0
    found = score_samples(reward, [{"completion": "a", "relevant": "a"}])
    assert found.reasons == [Reason.FAILED] and "relevant is a list of ids" in found.in_words(0)


def test_what_is_refused():
    with refusal(UserError, "rank_incentive.near"):
        rank_incentive(k=10, near=10)
    with refusal(UserError):
        recall(separator="(")


# --- what a text is worth to a reader -------------------------------------------------------------------------------------


def mean_logp(model, view, answer):
    reply = model.teacher_force(view, answer)
    turn = Segment("policy", view, reply.context, reply.actions, reply.logp, answer)
    return model.read(pack([episode(turn)]), ["logp"])["logp"].detach().double().mean().item()


def gains(model, *samples, reward=None):
    """Each sample: its prompt, completion and answer."""
    made = []
    for i, (prompt, text, answer) in enumerate(samples):
        reply = model.teacher_force(prompt, text)
        turn = Segment("policy", prompt, reply.context, reply.actions, reply.logp, text)
        made.append(episode(turn, number=i, ask=Ask(Task(f"t{i}", prompt, answer))))
    play = Player({"policy": model}, {"policy": "policy"}, None, Sampling(), 0, 1)
    return ask_all([(reward or perplexity_gain(), Samples.of_batch(pack(made), play, "policy"))])[0]


def test_the_gain_is_the_difference_of_two_means(tmp_path):
    model = small_lm(tmp_path)
    found = gains(model, ("x + 4 = 9", "so 5", "5"), ("x + 4 = 9", "the sum", "5"), ("sort [3, 1]", "first 1", ""))
    before = mean_logp(model, "x + 4 = 9", "5")
    want = [mean_logp(model, f"x + 4 = 9\n\n{text}", "5") - before for text in ("so 5", "the sum")]
    assert [o.value for o in found[:2]] == pytest.approx(want, abs=1e-5)
    assert found[2].reason is Reason.NOT_APPLICABLE


def test_what_is_too_long_to_read_failed_alone(tmp_path):
    model = small_lm(tmp_path, max_positions=24)
    found = gains(model, ("x", "so", "5"), ("x", "x + 4 = 9 x + 4 = 9 x + 4 = 9", "5"))
    assert [o.reason for o in found] == [Reason.VALUE, Reason.FAILED]
    with refusal(UserError, "perplexity_gain"):
        score_samples(perplexity_gain(), [{"completion": "5"}])
