"""Learn: the size of micro-batches never matters, what has no value teaches nothing, and faults stop the run."""

from __future__ import annotations

import copy
import dataclasses

import pytest
import torch
from refusals import refusal
from strategies import episode, segment

from guerdon.core.batch import Pairs
from guerdon.core.column import Column, Reason
from guerdon.core.episode import End
from guerdon.core.errors import UserError
from guerdon.core.learn import Learn, NonFinite
from guerdon.core.optim import adam, sgd
from guerdon.core.pack import cat, pack
from guerdon.core.part import part
from guerdon.core.schedule import linear
from guerdon.core.task import Sampling
from guerdon.engine.player import Player
from guerdon.losses.imitation import sft
from guerdon.losses.pair import dpo
from guerdon.losses.penalties import entropy, kl
from guerdon.losses.policy import clipped
from guerdon.models.frozen_copy import snapshot
from guerdon.models.tables import tabular
from guerdon.training.readings import fill_needs

pytestmark = pytest.mark.sampled(12, "case")
NAN = float("nan")
MICROS = [1, 8, 64, 10**9]


def table(seats=("policy",), steps=10):
    """A run with a policy that has moved away from its reference, as `Learn` is handed it."""
    models = {"policy": tabular(vocab="abcd", rows=512, spread=1.0), "reference": snapshot("policy")}
    for name, model in models.items():
        model.start(7, models)
        assert name in models
    with torch.no_grad():
        models["policy"].weights.logits += torch.randn(512, 5, generator=torch.Generator().manual_seed(5))
    return Player(models, dict.fromkeys(seats, "policy"), None, Sampling(), 0, steps)


def draw(seed, shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def some_segment(n, length, **fields):
    actions = [(n * 7 + 3 * t) % 4 for t in range(length)]
    return segment(actions, context=[n % 5], logp=[-1.0 - 0.1 * t for t in range(length)], **fields)


def chains():
    return [episode(some_segment(n, 1 + n % 5), number=n // 4, attempt=n % 4) for n in range(20)]


def trees():
    return [
        episode(
            some_segment(n, 3, given=1),
            some_segment(n + 1, 2, parent=0),
            some_segment(n + 2, 4, parent=0),
            some_segment(n + 3, n % 3, parent=1),
            some_segment(n + 4, 1, parent=1),
            attempt=n,
        )
        for n in range(6)
    ]


def several_roles():
    return [
        episode(
            some_segment(n, 2),
            some_segment(n, 3, role="second"),
            some_segment(n + 1, 2, parent=0),
            some_segment(n + 1, 1, role="second", parent=1),
            some_segment(n + 2, 2, role="judge", parent=2),
            attempt=n,
        )
        for n in range(6)
    ]


def advantaged(eps, **more):
    batch = pack(eps)
    column = Column.full("track", draw(2, batch.K))
    return batch.put("advantage", "step", batch.down(column.value, "track"), because=column)


def paired():
    batch = pack(chains())
    better, worse = torch.tensor([0, 2, 5, 19, 7]), torch.tensor([1, 3, 6, 0, 8])
    return dataclasses.replace(batch, pairs=Pairs(better, worse, torch.zeros(5), draw(3, 5).sigmoid())).recount()


CASES = {
    "chains, by step": (chains, clipped(mean="step") + kl(0.3, mean="step") + entropy(0.1, mean="step")),
    "chains, by track": (chains, clipped(mean="track")),
    "chains, by a constant": (chains, clipped(mean="constant", constant=9.0)),
    "trees, by step": (trees, clipped(mean="step") + kl(0.3, mean="step")),
    "trees, by track": (trees, clipped(mean="track") + entropy(0.1)),
    "trees, imitated": (trees, sft()),
    "roles, by track": (several_roles, clipped(mean="track")),
    "roles, by step": (several_roles, clipped(mean="step")),
}


def gradient(play, learn, batch):
    """The gradient of one update over the rows that are learned from, and the metrics."""
    batch = fill_needs(batch, learn.needs, play)
    rows = learn.rows(batch, play)
    play.models["policy"].weights.zero_grad()
    metrics = learn.backward([(rows, learn.loss)], play)
    found = play.models["policy"].weights.logits.grad
    return (torch.zeros(512, 5) if found is None else found.clone()), metrics


def relative_gap(a, b):
    return float((a - b).norm() / b.norm())


@pytest.mark.parametrize("micro", MICROS)
@pytest.mark.parametrize("case", CASES)
def test_micro_batches_do_not_change_the_gradient(case, micro):
    build, loss = CASES[case]
    batch = advantaged(build())
    play = table(seats=("policy", "second", "judge"))
    whole, metrics = gradient(play, Learn("policy", loss, micro=10**9), batch)
    found, own = gradient(play, Learn("policy", loss, micro=micro), batch)
    assert whole.norm() > 1e-3
    assert relative_gap(found, whole) < 1e-6
    assert {k: pytest.approx(v, rel=1e-5, abs=1e-7) for k, v in metrics.items()} == own


@pytest.mark.parametrize("micro", MICROS)
def test_micro_batches_do_not_change_the_gradient_of_pairs(micro):
    play, batch = table(), paired()
    whole, metrics = gradient(play, Learn("policy", dpo(beta=0.5), micro=10**9), batch)
    found, own = gradient(play, Learn("policy", dpo(beta=0.5), micro=micro), batch)
    assert whole.norm() > 1e-3
    assert relative_gap(found, whole) < 1e-6
    assert own["loss"] == pytest.approx(metrics["loss"], rel=1e-6)


def test_micro_one_really_is_many_passes():
    play, batch = table(), advantaged(chains())
    learn = Learn("policy", clipped(), micro=1)
    assert len(learn.rows(batch, play).split(learn.micro)) == 20


@pytest.mark.parametrize("case", CASES)
def test_two_halves_of_a_role_on_one_model_are_one_role(case):
    """Seats only say who learns: with every seat on the model, a role's name changes nothing."""
    build, loss = CASES[case]
    play = table(seats=("policy", "second", "judge", "other"))
    eps = build()
    renamed = [ep.but(segments=tuple(s.but(role=f"{s.role}!") for s in ep.segments)) for ep in eps]
    batch, other = advantaged(eps), advantaged(renamed)
    play_other = table(seats=("policy!", "second!", "judge!"))
    assert torch.equal(
        gradient(play, Learn("policy", loss), batch)[0], gradient(play_other, Learn("policy", loss), other)[0]
    )


# --- which rows ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mean", ["step", "track", "constant"])
@pytest.mark.parametrize("why", [Reason.NOT_APPLICABLE, Reason.FAILED, Reason.TIMED_OUT])
def test_tracks_without_a_value_are_as_if_they_were_not_there(mean, why):
    eps = [*chains(), *trees()]
    eps = [ep.but(number=n) for n, ep in enumerate(eps)]
    batch = pack(eps)
    missing = torch.arange(batch.K) % 3 == 1
    value = torch.where(missing, NAN, draw(4, batch.K))
    column = Column("track", value, torch.where(missing, int(why), 0).to(torch.int8))
    holes = batch.put("advantage", "step", batch.down(value, "track"), because=column)
    small = batch.take(~missing)
    small = small.put("advantage", "step", small.down(value[~missing], "track"))
    play, learn = table(), Learn("policy", clipped(mean=mean))
    assert learn.rows(holes, play).count == small.count
    assert torch.equal(gradient(play, learn, holes)[0], gradient(play, learn, small)[0])


def test_a_track_without_a_value_that_ends_in_silence_is_in_no_denominator():
    eps = [episode(some_segment(1, 3), some_segment(2, 0, parent=0)), episode(some_segment(2, 2), attempt=1)]
    batch = pack(eps)
    column = Column("track", torch.tensor([NAN, 1.0]), torch.tensor([2, 0], dtype=torch.int8))
    batch = batch.put("advantage", "step", batch.down(column.value, "track"), because=column)
    rows = Learn("policy", clipped()).rows(batch, table())
    assert (rows.count.tracks, rows.count.steps) == (1, 2.0)


def test_steps_without_a_value_are_left_out_of_their_track():
    batch = pack([episode(some_segment(1, 3))])
    column = Column("step", torch.tensor([1.0, NAN, 2.0]), torch.tensor([0, 1, 0], dtype=torch.int8))
    rows = Learn("policy", clipped()).rows(batch.with_cols({"advantage": column}), table())
    assert rows.weight.tolist() == [1.0, 0.0, 1.0]
    assert rows.count.steps == 2.0


def test_failed_tracks_are_never_learned():
    good = episode(some_segment(1, 3))
    broken = [
        episode(some_segment(2, 2, end=End.FAILED), attempt=1),
        episode(some_segment(3, 2, end=End.FAILED), some_segment(4, 2, parent=0), attempt=2),
        episode(some_segment(1, 2), attempt=3, error="the environment broke"),
        episode(attempt=4, error="broke before acting"),
    ]
    play, learn = table(), Learn("policy", sft())
    assert learn.rows(pack([good, *broken]), play).count.tracks == 1
    assert torch.equal(gradient(play, learn, pack([good, *broken]))[0], gradient(play, learn, pack([good]))[0])


def test_a_cut_track_is_learned():
    assert Learn("policy", sft()).rows(pack([episode(some_segment(1, 3, end=End.CUT))]), table()).K == 1


def test_a_failed_judge_does_not_fail_what_it_judged():
    eps = [episode(some_segment(1, 2), some_segment(2, 2, role="judge", parent=0, end=End.FAILED))]
    rows = Learn("policy", sft()).rows(pack(eps), table(seats=("policy", "judge")))
    assert [rows.roles[r] for r in rows.role_K] == ["policy"]


def test_only_the_seats_of_the_model_learn():
    rows = Learn("policy", sft()).rows(pack(several_roles()), table(seats=("policy",)))
    assert {rows.roles[r] for r in rows.role_K} == {"policy"}
    everyone = Learn("reference", sft()).rows(pack(several_roles()), table(seats=("policy",)))
    assert everyone.K == pack(several_roles()).K


def test_given_steps_get_no_gradient():
    batch = pack([episode(segment([0, 1, 2], context=[1], given=2))])
    play = table()
    found, _ = gradient(play, Learn("policy", sft()), batch)
    model = play.models["policy"]
    learned = model._rows(batch)[2]
    found[learned] = 0
    assert not found.any()


@part
class first_half:
    """A selection: the first half of the tracks."""

    needs = ()
    gives = ()

    def __call__(self, batch, play):
        return batch.take(torch.arange(batch.K) < batch.K // 2)


def test_a_selection_of_one_learner_hides_nothing_from_the_others():
    play, batch = table(), pack(chains())
    learn = Learn("policy", sft(), on=first_half(), opt=sgd(lr=0.1))
    learn.start(play)
    assert learn.rows(batch, play).K == 10
    assert learn(batch, play).K == 20


# --- updates ------------------------------------------------------------------------------------------------------


def test_epochs_and_updates_count_the_optimiser_steps():
    play, batch = table(), pack(chains())
    learn = Learn("policy", sft(), opt=sgd(lr=0.1), epochs=3, updates=4)
    learn.start(play)
    learn(batch, play)
    assert play.models["policy"].version == 12
    assert play.metrics["policy/lr"] == 0.1


def test_one_update_is_one_step_of_the_optimiser_by_hand():
    play, batch = table(), pack(chains())
    learn = Learn("policy", sft(), opt=sgd(lr=0.5), clip=0.0)
    learn.start(play)
    before = play.models["policy"].weights.logits.detach().clone()
    want, _ = gradient(play, learn, batch)
    learn(batch, play)
    assert torch.allclose(play.models["policy"].weights.logits, before - 0.5 * want, atol=1e-7)


def test_shares_of_an_update_each_have_their_own_mean():
    play, batch = table(), pack(chains())
    one = Learn("policy", sft(), opt=sgd(lr=0.0), updates=1)
    four = Learn("policy", sft(), opt=sgd(lr=0.0), updates=4)
    for learn in (one, four):
        learn.start(play)
    one(batch, play)
    whole = play.metrics["policy/loss"]
    four(batch, play)
    shares = pack(chains()).shares(4, play.generator("learn", "policy", 0))
    by_hand = [float(-play.models["policy"].read(s, ["logp"])["logp"].detach().mean()) for s in shares]
    assert play.metrics["policy/loss"] == pytest.approx(sum(by_hand) / 4, rel=1e-5)
    assert whole != pytest.approx(play.metrics["policy/loss"], rel=1e-5)


def test_the_gradient_is_clipped_to_the_norm():
    batch = pack(chains())
    moved = {}
    for clip in (0.0, 0.01, 100.0):
        play = table()
        learn = Learn("policy", sft(), opt=sgd(lr=1.0), clip=clip)
        learn.start(play)
        before = play.models["policy"].weights.logits.detach().clone()
        learn(batch, play)
        moved[clip] = play.models["policy"].weights.logits.detach() - before
        assert play.metrics["policy/grad_norm"] == pytest.approx(
            float(gradient(table(), learn, batch)[0].norm()), rel=1e-5
        )
    assert moved[0.01].norm() == pytest.approx(0.01, rel=1e-3)
    assert torch.allclose(moved[0.01] / 0.01, moved[0.0] / moved[0.0].norm(), atol=1e-3)
    assert torch.equal(moved[100.0], moved[0.0])


def test_learning_rate_and_clip_follow_their_schedules():
    play, batch = table(steps=3), pack(chains())
    learn = Learn("policy", sft(), opt=sgd(lr=linear(0.2, 0.0)), clip=linear(0.01, 0.03))
    learn.start(play)
    moved = []
    for step in range(3):
        play.begin(step)
        before = play.models["policy"].weights.logits.detach().clone()
        learn(batch, play)
        moved.append(float((play.models["policy"].weights.logits.detach() - before).norm()))
        assert play.metrics["policy/lr"] == pytest.approx([0.2, 0.1, 0.0][step])
    assert moved == [pytest.approx(0.2 * 0.01, rel=1e-2), pytest.approx(0.1 * 0.02, rel=1e-2), 0.0]


def test_nothing_to_learn_is_said_and_changes_nothing():
    play = table()
    learn = Learn("policy", sft(), opt=adam(lr=0.1))
    learn.start(play)
    before = copy.deepcopy(play.models["policy"].weights.state_dict())
    learn(pack([episode(error="broke")]), play)
    assert play.metrics == {"policy/skipped": 1.0}
    assert torch.equal(play.models["policy"].weights.logits, before["logits"])
    assert play.models["policy"].version == 0


@part
class broken_loss:
    """A loss that is what it is told to be: not a number, or a number with a gradient that is not."""

    nan_gradient: bool = False
    needs = ()
    wants = ("logp",)

    def __call__(self, batch, live):
        logp = live["logp"].sum()
        return (torch.sqrt(logp - logp.detach()) if self.nan_gradient else logp * NAN), {}


@pytest.mark.parametrize(("loss", "what"), [(broken_loss(), "the loss of"), (broken_loss(True), "the gradient of")])
def test_a_loss_or_gradient_that_is_no_number_stops_with_its_rows(loss, what):
    play, batch = table(), pack(chains())
    learn = Learn("policy", loss)
    learn.start(play)
    before = play.models["policy"].weights.logits.detach().clone()
    with pytest.raises(NonFinite, match=what) as caught:
        learn(batch, play)
    assert caught.value.batch.K > 0
    assert caught.value.exit_code == 1
    assert torch.equal(play.models["policy"].weights.logits, before)


def test_the_rows_of_a_restart_are_learned_only_where_they_are_new():
    old = episode(segment([0, 1], context=[1], logp=[NAN, NAN], given=2), segment([2], parent=0, logp=[-1.0]))
    whole, alone = pack([old]), pack([old])
    assert cat([whole]).count == alone.count
    assert Learn("policy", sft()).rows(whole, table()).count.steps == 1.0


def test_knobs_of_a_learner_are_checked():
    with refusal(UserError, "0"):
        Learn("policy", sft(), micro=-1)
    with refusal(UserError):
        Learn("policy", sft(), epoch=2)


# --- tracks that cannot change anything are not read -----------------------------------------------------------------


def half_silent(eps, silent):
    batch = pack(eps)
    keep = torch.arange(batch.K) % 2 == 0 if silent == "half" else torch.zeros(batch.K, dtype=torch.bool)
    column = Column.full("track", torch.where(keep, draw(2, batch.K), 0.0))
    return batch.put("advantage", "step", batch.down(column.value, "track"), because=column)


class Everything(clipped):
    """The same loss, asked about every track."""

    silent = property()  # type: ignore[assignment]  # hasattr is False: getting it raises


@pytest.mark.parametrize("mean", ["track", "step", "constant"])
@pytest.mark.parametrize("make", [chains, trees, several_roles])
def test_silent_tracks_change_nothing_but_the_time(make, mean, monkeypatch):
    batch = half_silent(make(), "half")
    gradients, read = [], []
    for loss in (clipped(mean=mean), Everything(mean=mean)):
        play = table()
        plain = play.models["policy"].read
        monkeypatch.setattr(play.models["policy"], "read", lambda b, w, plain=plain: read.append(b.K) or plain(b, w))
        learn = Learn("policy", loss, opt=sgd(), clip=0.0)
        learn.start(play)
        learn(batch, play)
        gradients.append(play.models["policy"].weights.logits.grad.clone())
    torch.testing.assert_close(*gradients)
    assert read[0] < read[1] or make is trees  # there a trunk speaks for all its branches


def test_metrics_are_of_the_tracks_that_were_read():
    batch, play = half_silent(chains(), "half"), table()
    learn = Learn("policy", clipped(), opt=sgd())
    learn.start(play)
    learn(batch, play)
    alone = batch.take(torch.arange(batch.K) % 2 == 0)
    live = table().models["policy"].read(alone, ("logp", "entropy"))
    assert play.metrics["policy/entropy"] == pytest.approx(float(live["entropy"].detach().mean()), rel=1e-5)
    assert play.metrics["policy/silent"] == 0.5


def test_a_silent_batch_is_a_gradient_of_zero():
    """Momentum goes on: the weights move as they do where a zero gradient was computed the long way."""
    ends = []
    for loss in (clipped(), Everything()):
        play = table()
        learn = Learn("policy", loss, opt=adam(lr=0.1))
        learn.start(play)
        learn(half_silent(chains(), "half"), play)
        learn(half_silent(chains(), "all"), play)
        ends.append(play.models["policy"].weights.logits.detach().clone())
    torch.testing.assert_close(*ends)
    assert play.models["policy"].version == 2


# --- half precision --------------------------------------------------------------------------------------------------


def test_masters_keep_what_half_precision_would_lose():
    weight = torch.nn.Parameter(torch.full((4,), 256.0, dtype=torch.bfloat16))
    optimiser = sgd().build([weight])
    optimiser.param_groups[0]["lr"] = 1.0
    for _ in range(8):
        (weight.sum() * 0.5).backward()  # half a unit: bfloat16 has steps of two at 256
        optimiser.step()
        optimiser.zero_grad()
    assert weight.grad is None and weight.tolist() == [252.0] * 4


def test_masters_add_up_gradients_in_full_precision_and_survive_a_checkpoint():
    def start():
        weight = torch.nn.Parameter(torch.linspace(1, 2, 6).bfloat16())
        optimiser = adam().build([weight])
        optimiser.param_groups[0]["lr"] = 1e-3
        return weight, optimiser

    def step(weight, optimiser, n):
        optimiser.zero_grad()
        for k in range(3):
            (weight * torch.arange(6).bfloat16() * (0.1 * n + k)).sum().backward()
        optimiser.step()

    weight, optimiser = start()
    for n in range(3):
        step(weight, optimiser, n)
    saved, held = copy.deepcopy(optimiser.state_dict()), weight.detach().clone()
    for n in range(3, 6):
        step(weight, optimiser, n)
    other, again = start()
    with torch.no_grad():
        other.copy_(held)
    again.load_state_dict({"state": saved["state"], "param_groups": again.state_dict()["param_groups"]})
    for n in range(3, 6):
        step(other, again, n)
    assert torch.equal(weight, other)
    assert torch.equal(optimiser.param_groups[0]["params"][0], again.param_groups[0]["params"][0])


# --- memory ----------------------------------------------------------------------------------------------------------


@part
class narrow(tabular):
    """A model with room for so many steps at a time."""

    room: int = 9

    def read(self, batch, want):
        if self.room < batch.S:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 3.00 GiB")
        return super().read(batch, want)


def learned(model, micro=10**9):
    model.start(7, {})
    play = Player({"policy": model}, {"policy": "policy"}, None, Sampling(), 0, 10)
    learn = Learn("policy", clipped(), opt=sgd(lr=0.1), micro=micro)
    learn.start(play)
    learn(advantaged(chains()), play)
    return model.weights.logits.detach(), play, learn


def test_a_micro_batch_that_does_not_fit_is_halved_and_changes_nothing():
    right, _, _ = learned(tabular(vocab="abcd", rows=512, spread=1.0))
    found, play, learn = learned(narrow(vocab="abcd", rows=512, spread=1.0), micro=64)
    torch.testing.assert_close(found, right)
    assert learn.fits == 8
    told = play.new_warnings()
    assert (
        told[-1].startswith("a micro-batch of 16 does not fit in memory: continuing with 8") and not play.new_warnings()
    )


def test_a_single_track_that_does_not_fit_says_what_to_change():
    with refusal(UserError, "6"):
        learned(narrow(vocab="abcd", rows=512, spread=1.0, room=2))
