"""Terms with rows of their own, `clipped() + on("teacher", sft())`: one update, its gradient the sum of each term's alone."""

from __future__ import annotations

import pytest
import torch
from refusals import refusal
from strategies import episode, segment
from watching import Watched

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.core.errors import UserError
from guerdon.core.learn import Learn, row_groups
from guerdon.core.pack import pack
from guerdon.core.task import Sampling
from guerdon.engine.player import Player
from guerdon.losses.imitation import sft, weighed
from guerdon.losses.pair import dpo
from guerdon.losses.penalties import entropy, kl
from guerdon.losses.policy import clipped
from guerdon.losses.terms import on
from guerdon.models.tables import tabular
from guerdon.select.filters import at_least
from guerdon.training.build import RunRequest, build

SEATS = {"policy": "policy", "teacher": "policy"}
TRIED, TAUGHT = [[0, 1], [2], [1, 1, 3]], [[3, 2], [0]]


def player(seed=3):
    model = tabular(vocab="abcd", rows=512, spread=1.0)
    model.start(seed, {})
    return Player({"policy": model}, SEATS, None, Sampling(), 0, 4)


def batch_of(tried=TRIED, taught=TAUGHT):
    """Tries with an advantage, and then demonstrations of a teacher, to which it does not apply."""
    eps = [episode(segment(a, context=[i]), attempt=i) for i, a in enumerate(tried)]
    eps += [
        episode(segment(a, role="teacher", context=[i], logp=[float("nan")] * len(a)), number=1, attempt=i)
        for i, a in enumerate(taught)
    ]
    K = len(eps)
    advantage = torch.tensor([1.0, -2.0, 0.5, 1.0, 1.0][: len(tried)] + [float("nan")] * len(taught))
    reason = torch.tensor([0] * len(tried) + [int(Reason.NOT_APPLICABLE)] * len(taught), dtype=torch.int8)
    correct = torch.tensor([1.0, 0.0, 1.0, 0.0, 1.0][: len(tried)] + [float("nan")] * len(taught))
    assert len(reason) == K
    return pack(eps).with_cols(
        {"advantage": Column("track", advantage, reason), "correct": Column("track", correct, reason)}
    )


def gradient(loss, batch=None, **knobs):
    """What one update is made of, and what it notes."""
    play, learn = player(), Learn("policy", loss, clip=0.0, **knobs)
    learn.start(play)
    learn(batch_of() if batch is None else batch, play)
    return play.models["policy"].weights.logits.grad.clone(), play.metrics


def test_the_gradient_is_the_sum_of_each_terms_alone():
    both, noted = gradient(clipped() + on("teacher", sft(), weight=0.5))
    tries, alone = gradient(clipped())
    teacher, taught = gradient(on("teacher", sft()))
    assert torch.allclose(both, tries + 0.5 * teacher, atol=1e-7) and float(teacher.abs().max()) > 0.1
    assert noted["policy/loss"] == pytest.approx(alone["policy/loss"] + 0.5 * taught["policy/loss"], rel=1e-6)
    assert noted["policy/teacher/loss"] == pytest.approx(0.5 * taught["policy/loss"], rel=1e-6)
    assert noted["policy/clipped"] == alone["policy/clipped"]


def test_the_term_by_hand():
    """Imitation over the teacher's three steps alone: its mean is not diluted by the six steps of the tries."""
    play, batch = player(), batch_of()
    with torch.no_grad():
        logp = play.models["policy"].read(batch, ["logp"])["logp"]
    _, noted = gradient(clipped() + on("teacher", sft(), weight=0.1), batch)
    assert noted["policy/teacher/loss"] == pytest.approx(-0.1 * float(logp[-3:].double().mean()), rel=1e-6)


def test_a_selection_of_the_tries_counts_over_its_own_rows():
    both, noted = gradient(clipped() + kl(0.0) + on(at_least("correct"), sft(mean="track"), weight=2.0), batch_read())
    plain, _ = gradient(clipped() + kl(0.0), batch_read())
    chosen, _ = gradient(sft(mean="track"), batch_read(), on=at_least("correct"))
    assert torch.allclose(both, plain + 2.0 * chosen, atol=1e-6)
    assert "policy/at_least/loss" in noted and noted["kept_share"] == 0.4


def batch_read():
    batch = batch_of()
    return batch.with_cols({"reference.logp": Column.full("step", torch.full((batch.S,), -1.0))})


@pytest.mark.parametrize("micro", [1, 3, 1000])
def test_micro_batches_change_nothing(micro):
    whole, _ = gradient(clipped() + entropy(0.1) + on("teacher", sft()))
    parts, _ = gradient(clipped() + entropy(0.1) + on("teacher", sft()), micro=micro)
    assert torch.allclose(whole, parts, atol=1e-7)


def test_each_update_has_a_share_of_every_term():
    seen = []

    class Watched(Learn):
        def update(self, share, play):
            seen.append([(sorted({r.roles[i] for i in r.role.tolist()}), r.K) for r, _ in share])
            return super().update(share, play)

    play = player()
    learn = Watched("policy", clipped() + on("teacher", sft()), updates=2, epochs=2)
    learn.start(play)
    learn(batch_of(), play)
    assert [sorted(update) for update in seen] == [
        [(["policy"], 2), (["teacher"], 1)],
        [(["policy"], 1), (["teacher"], 1)],
    ] * 2


def test_more_shares_than_a_term_has_rows():
    grad, noted = gradient(clipped() + on("teacher", sft()), batch_of(TRIED, [[3]]), updates=3)
    assert noted["policy/teacher/loss"] > 0 and torch.isfinite(grad).all()


def test_a_step_without_rows_for_a_term_is_learned_without_it():
    none, noted = gradient(clipped() + on("teacher", sft()), batch_of(taught=[]))
    plain, _ = gradient(clipped(), batch_of(taught=[]))
    assert torch.equal(none, plain) and "policy/teacher/loss" not in noted
    only, _ = gradient(clipped() + on("teacher", sft()), batch_of(tried=[]))
    assert torch.equal(only, gradient(sft(), batch_of(tried=[]))[0])


def test_without_such_a_term_a_loss_has_one_group_and_is_its_own():
    loss = clipped() + kl(0.1)
    assert row_groups(loss) == [(None, loss)]
    (first, second) = row_groups(loss + on("teacher", sft()))
    assert (first[0], repr(first[1]), second[0]) == (None, repr(loss), "teacher")
    assert [rows for rows, _ in row_groups(clipped() + on("a", sft()) + on("b", sft()))] == [None, "a", "b"]


def test_the_rows_of_a_learner_are_those_of_its_first_term():
    play, batch = player(), batch_of()
    rows = Learn("policy", clipped() + on("teacher", sft())).rows(batch, play)
    assert len(TRIED) == rows.K and rows.roles[int(rows.role[0])] == "policy"


def test_two_terms_of_one_name_are_refused():
    with pytest.raises(UserError, match="two terms on"):
        clipped() + on("teacher", sft()) + on("teacher", sft(), weight=0.1)
    loss = clipped() + on("teacher", sft()) + on("teacher", sft(), weight=0.1, name="again")
    assert "policy/again/loss" in gradient(loss)[1]


def test_pairs_may_be_the_rows_of_a_term():
    loss = clipped() + on(gd.select.paired("correct"), dpo())
    assert Learn("policy", loss).needs == ("advantage", "correct", "reference.logp")
    eps = [episode(segment([i], context=[0]), attempt=i) for i in range(2)]
    correct = Column.full("track", torch.tensor([1.0, 0.0]))
    batch = pack(eps).with_cols({"advantage": correct, "correct": correct})
    batch = batch.with_cols({"reference.logp": Column.full("step", torch.tensor([-1.0, -1.0]))})
    both, _ = gradient(loss, batch)
    alone, _ = gradient(dpo(), batch, on=gd.select.paired("correct"))
    assert torch.allclose(both, alone + gradient(clipped(), batch)[0], atol=1e-7)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: on(0.1, sft()), "takes a selection or a role first, not 0.1"),
        (lambda: on("teacher", 0.1), "takes a loss second, not 0.1"),
        (lambda: on("a", clipped() + on("b", sft())), "holds none itself"),
        (lambda: weighed(sft() + on("teacher", sft()), by="care"), "has its own"),
        (lambda: Learn("policy", clipped() + on("teacher", sft()), mix="step").start(player()), "leave mix out"),
    ],
)
def test_what_it_refuses(make, says):
    with pytest.raises(UserError, match=says):
        make()


def test_a_recipe_learns_from_tries_and_from_a_teacher_at_once():
    """The teacher's role recites the answers of the problems that were tried, and is the policy's own: its tokens are."""
    made = build(
        RunRequest(
            "grpo",
            "countdown:1",
            "tabular",
            settings={"prompts": 2, "tries": 2, "max_tokens": 4, "tabular.vocab": "0123456789+-*/()"},
        )
    ).recipe
    learn = made.stages[-1]
    learn.loss = learn.loss + on("teacher", sft(), weight=0.1)
    with refusal(UserError):
        made.check()
    made.seats["teacher"] = "policy"
    told = gd.select.follow_up(gd.envs.dataset_env("teacher"), lambda tries: tries[0].prompt, per="ask")
    made.stages.insert(0, told)
    made.check()
    (row,) = Watched(made, 1).rows
    assert row["policy/teacher/loss"] > 0 and row["teacher/asked"] == 2
