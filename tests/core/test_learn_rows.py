"""Which steps Learn learns from, what it keeps together, how it mixes steps, and that it says when there is nothing."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
import torch
from refusals import refusal
from scheduling import mostly_slow
from strategies import episode
from test_learn import (
    MICROS,
    advantaged,
    chains,
    draw,
    gradient,
    relative_gap,
    several_roles,
    some_segment,
    table,
    trees,
)

from guerdon.core.column import Column, Reason
from guerdon.core.errors import UserError
from guerdon.core.learn import Learn, NonFinite, together
from guerdon.core.levels import gather_up
from guerdon.core.model import Model
from guerdon.core.optim import sgd
from guerdon.core.pack import pack
from guerdon.core.part import get_state, part, set_state
from guerdon.core.task import Sampling
from guerdon.engine.player import Player
from guerdon.losses.imitation import sft, weighed
from guerdon.losses.pair import dpo
from guerdon.losses.penalties import entropy
from guerdon.losses.policy import clipped
from guerdon.losses.reduce import per_track
from guerdon.losses.signs import by_sign
from guerdon.losses.terms import Term
from guerdon.models.tables import tabular
from guerdon.runs.rollout_files import read_batch, write_batch

NAN = float("nan")


def column(level, values, why=Reason.NOT_APPLICABLE):
    value = torch.tensor(values)
    return Column(level, value, torch.where(value.isnan(), int(why), 0).to(torch.int8))


def rows(batch, loss=None, **cols):
    return Learn("policy", loss or clipped()).rows(batch.with_cols(cols), table())


# --- steps without a value ----------------------------------------------------------------------------------------


def test_a_tail_without_an_advantage_is_muted_and_its_track_learned():
    batch = pack([episode(some_segment(1, 2), some_segment(2, 3, parent=0))])
    kept = rows(batch, advantage=column("step", [1.0, 2.0, NAN, NAN, NAN]))
    assert kept.weight.tolist() == [1.0, 1.0, 0.0, 0.0, 0.0]
    assert kept.muted.tolist() == [False, False, True, True, True]
    assert (kept.count.tracks, kept.count.steps) == (1, 2.0)


def test_a_segment_without_a_value_leaves_its_steps_without_one():
    batch = pack([episode(some_segment(1, 2), some_segment(2, 3, parent=0)), episode(some_segment(3, 1), attempt=1)])
    kept = rows(batch, advantage=column("segment", [NAN, 1.0, NAN]))
    assert (kept.K, kept.weight.tolist()) == (1, [0.0, 0.0, 1.0, 1.0, 1.0])


def test_a_track_is_judged_by_what_it_shares_with_nobody():
    # a trunk of one step with a value, and branches whose turns have one, none, and one in the first of two
    branches = [some_segment(n, 1, parent=0) for n in (1, 2, 3)]
    batch = pack([episode(some_segment(0, 1), *branches, some_segment(4, 2, parent=3))])
    kept = rows(batch, advantage=column("step", [1.0, 1.0, NAN, 1.0, NAN, NAN]))
    assert kept.K == 2
    assert kept.weight.tolist() == [2.0, 1.0, 1.0, 0.0, 0.0]


def test_what_a_stage_muted_is_not_learned_and_not_held_against_a_track():
    batch = pack([episode(some_segment(0, 2), some_segment(1, 1, parent=0), some_segment(2, 2, parent=0))])
    batch = dataclasses.replace(batch, muted=torch.tensor([True, False, True, True, False]))
    kept = rows(batch, advantage=column("step", [1.0, 1.0, NAN, 1.0, NAN]))
    # the first branch is muted as a whole; the second has a value, though where nothing is learned
    assert (kept.K, kept.weight.tolist()) == (2, [0.0, 2.0, 0.0, 0.0, 0.0])
    assert kept.count.steps == 2.0
    assert rows(batch, sft()).weight.tolist() == [0.0, 2.0, 0.0, 0.0, 1.0]


def test_muted_steps_get_no_gradient():
    batch = advantaged(chains())
    muted = torch.arange(batch.S) % 3 == 1
    play, learn = table(), Learn("policy", clipped(mean="step"))
    found, _ = gradient(play, learn, dataclasses.replace(batch, muted=muted))
    value = batch["advantage"].masked_fill(muted, NAN)
    want, _ = gradient(play, learn, batch.with_cols({"advantage": column("step", value.tolist())}))
    assert torch.equal(found, want) and want.norm() > 1e-3


# --- what stays together ------------------------------------------------------------------------------------------


@part
class choice(Term):
    """A loss over a group: how likely each of an ask's tries is among them, by the policy's own log-probs."""

    needs = ("advantage",)
    wants = ("logp",)
    together = "ask"

    def __call__(self, batch, live):
        score_K = per_track(live["logp"].double(), batch)
        group, size = batch.group("ask")
        total_K = gather_up(score_K.exp(), group, size)[group].log()
        worth_K = batch.up(batch["advantage"].double(), "track", by="mean").exp()
        return (worth_K * (total_K - score_K)).sum() / max(batch.count.tracks, 1), {}


@pytest.mark.parametrize("micro", MICROS)
@pytest.mark.parametrize("build", [chains, trees])
def test_micro_batches_do_not_change_the_gradient_of_a_group_loss(build, micro):
    play, batch = table(), advantaged(build())
    whole, metrics = gradient(play, Learn("policy", choice(), micro=10**9), batch)
    found, own = gradient(play, Learn("policy", choice(), micro=micro), batch)
    assert whole.norm() > 1e-3
    assert relative_gap(found, whole) < 1e-6
    assert own["loss"] == pytest.approx(metrics["loss"], rel=1e-6)


def test_a_group_loss_that_is_split_would_be_another():
    play, batch = table(), advantaged(chains())
    found = Learn("policy", choice()).rows(batch, play)
    assert (len(found.split(1, "ask")), len(found.split(1))) == (5, 20)
    alone = sum(choice()(m, play.models["policy"].read(m, ["logp"]))[0].item() for m in found.split(1))
    assert alone == pytest.approx(0.0, abs=1e-9)  # each is all there is


def test_shares_keep_groups_whole():
    play, batch = table(), advantaged(chains())
    learn = Learn("policy", choice(), updates=5)
    shares = [rows for ((rows, _),) in learn._shares([(learn.rows(batch, play), learn.loss)], play, 0)]
    assert [len(set(s.group_of_track("ask").tolist())) for s in shares] == [1] * 5


def test_a_sum_keeps_together_what_its_coarsest_term_does():
    @part
    class wider(choice):
        """All tries at a task."""

        together = "task"

    assert together(clipped()) == "episode"
    assert together(clipped() + choice()) == together(choice() + clipped() + entropy()) == "ask"
    assert together(clipped() + choice() + wider()) == "task"
    assert together(weighed(clipped() + choice(), by="x")) == "ask"
    assert together(by_sign(clipped())) == "episode"


def test_a_word_that_is_no_group_is_refused():
    @part
    class odd(choice):
        """No group at all."""

        together = "step"

    with refusal(UserError):
        Learn("policy", odd()).start(table())


# --- shares of steps ----------------------------------------------------------------------------------------------


@part
class by_sight(tabular):
    """A table that sees what its segment was shown and nothing before it: every step of a segment alike."""

    apart = True

    def _rows(self, batch):
        shown = torch.zeros(batch.G, dtype=torch.long).index_add(0, batch.context_seg, batch.context * 7)
        return shown[batch.seg] % self.rows


@part
class masking(by_sight):
    """The same, though it does not say so."""

    apart = False


def sighted(apart=True):
    model = (by_sight if apart else masking)(vocab="abcd", rows=512, spread=1.0)
    model.start(7, {})
    return Player({"policy": model}, dict.fromkeys(("policy", "second", "judge"), "policy"), None, Sampling(), 0, 10)


def after(updates, mix, mean="step", micro=0, apart=True, build=chains):
    """The weights and metrics after a step of learning."""
    play = sighted(apart)
    learn = Learn("policy", clipped(mean=mean), opt=sgd(lr=0.5), epochs=2, updates=updates, mix=mix, micro=micro)
    learn.start(play)
    learn(advantaged(build()), play)
    return play.models["policy"].weights.logits.detach().clone(), play.metrics


BUILDS = {"chains": chains, "trees": trees, "roles": several_roles}


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("apart", [True, False])
def test_one_share_of_steps_is_all_tracks(build, apart):
    one, said = after(1, "step", apart=apart, build=BUILDS[build])
    other, noted = after(1, "track", apart=apart, build=BUILDS[build])
    assert torch.equal(one, other) and said == noted


PLAIN = ("chains", "constant"), ("trees", "step"), ("roles", "track")


@pytest.mark.sampled(1, "build")
@pytest.mark.parametrize(
    ("build", "mean"), mostly_slow(itertools.product(BUILDS, ["step", "track", "constant"]), *PLAIN)
)
def test_leaving_steps_out_is_masking_them_and_micro_batches_change_nothing(build, mean):
    whole, said = after(4, "step", mean, build=BUILDS[build])
    for apart, micro in ((True, 1), (True, 8), (False, 0), (False, 1)):
        found, noted = after(4, "step", mean, micro, apart, BUILDS[build])
        assert torch.allclose(found, whole, atol=1e-5)
        assert noted == {n: pytest.approx(x, rel=1e-3, abs=1e-5) for n, x in said.items()}
    assert not torch.allclose(whole, after(4, "track", mean, build=BUILDS[build])[0], atol=1e-4)


def test_shares_of_steps_are_those_of_all_tracks_by_hand():
    play, batch = sighted(), pack(chains())
    learn = Learn("policy", sft(), updates=4, mix="step", opt=sgd(lr=0.0))
    shares = [rows for ((rows, _),) in learn._shares([(learn.rows(batch, play), learn.loss)], play, 0)]
    assert [s.S for s in shares] == [15] * 4  # 60 steps in all
    assert all(s.count.steps == 15.0 for s in shares)
    learn.start(play)
    learn(batch, play)
    by_hand = [-play.models["policy"].read(s, ["logp"])["logp"].mean().item() for s in shares]
    assert play.metrics["policy/loss"] == pytest.approx(sum(by_hand) / 4, rel=1e-5)


def test_models_read_steps_after_one_another_unless_they_say_otherwise():
    assert Model.apart is False and tabular.apart is False


@pytest.mark.parametrize("loss", [dpo(), choice()])
def test_losses_that_compare_tracks_take_no_shares_of_steps(loss):
    with pytest.raises(UserError, match="mix='step' splits tracks"):
        Learn("policy", loss, mix="step").start(table())


def test_a_share_of_steps_that_breaks_leaves_rows_that_can_be_stored(tmp_path):
    @part
    class broken(Term):
        """Not a number."""

        needs = ()
        wants = ("logp",)

        def __call__(self, batch, live):
            return live["logp"].sum() * NAN, {}

    play = sighted()
    learn = Learn("policy", broken(), updates=4, mix="step")
    learn.start(play)
    with pytest.raises(NonFinite) as caught:
        learn(pack(chains()), play)
    write_batch(tmp_path / "b.parquet", caught.value.batch)
    assert read_batch(tmp_path / "b.parquet").same(caught.value.batch)


# --- when nothing is learned --------------------------------------------------------------------------------------


def idle(batch, loss=None, steps=7, learn=None):
    """What each of several steps on the same batch says."""
    play = table()
    learn = learn or Learn("policy", loss or clipped(), opt=sgd(lr=0.1))
    learn.start(play)
    told = []
    for step in range(steps):
        play.begin(step)
        learn(batch, play)
        told.append(play.new_warnings())
    return told


def unscored(why=Reason.NOT_APPLICABLE):
    batch = pack(chains())
    return batch.with_cols({"advantage": Column.empty("step", batch.S, why)})


def test_five_steps_without_a_value_are_said_once_with_the_column():
    told = idle(unscored())
    assert [len(t) for t in told] == [0, 0, 0, 0, 1, 0, 0]
    assert told[4][0].startswith("'policy' has learned nothing for 5 steps: 'advantage' has no value at all")
    assert "does not apply to any try" in told[4][0]
    assert "its scores fail" in idle(unscored(Reason.FAILED))[4][0]


def test_five_steps_without_a_gradient_are_said():
    batch = pack(chains())
    told = idle(batch.with_cols({"advantage": Column.full("step", torch.zeros(batch.S))}))
    assert "every gradient was zero" in told[4][0]


def test_five_steps_without_pairs_or_tracks_are_said():
    assert "there are no pairs" in idle(pack(chains()), dpo(to=""))[4][0]
    assert "no track was left" in idle(pack([episode(error="broke")]), sft())[4][0]


def test_a_step_that_teaches_starts_the_count_again():
    play, batch = table(), pack(chains())
    learn = Learn("policy", clipped(), opt=sgd(lr=0.1))
    learn.start(play)
    good, bad = batch.with_cols({"advantage": Column.full("step", draw(1, batch.S))}), unscored()
    for each in (bad, bad, bad, bad, good, bad, bad, bad, bad):
        learn(each, play)
    assert learn.idle == 4
    assert play.new_warnings() == []


def test_the_count_is_in_the_checkpoint():
    learn, again = (Learn("policy", clipped(), opt=sgd(lr=0.1)) for _ in range(2))
    idle(unscored(), steps=3, learn=learn)
    set_state([again], get_state([learn]))
    assert [len(t) for t in idle(unscored(), steps=4, learn=again)] == [0, 1, 0, 0]
