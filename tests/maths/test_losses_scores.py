"""Losses that teach scores and preferences, on numbers done by hand: critics, reward models, pairs, labels, teachers."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch
from refusals import refusal
from small import small_lm
from strategies import episode, segment
from tolerances import rounding

from guerdon.core.batch import Pairs
from guerdon.core.column import Column, Reason
from guerdon.core.episode import Segment
from guerdon.core.errors import UserError
from guerdon.core.learn import Learn
from guerdon.core.optim import adam
from guerdon.core.pack import pack
from guerdon.core.task import Sampling
from guerdon.engine.player import Player
from guerdon.losses.critic import value
from guerdon.losses.distillation import distilled, divergence
from guerdon.losses.pair import anchored, better_nll, dpo, odds_ratio
from guerdon.losses.penalties import estimate, kl, kl_cost
from guerdon.losses.reward_modelling import bradley_terry, discriminator, implicit_outcome, outcome, step_labels
from guerdon.losses.unpaired import kto, mismatched_kl
from guerdon.models.frozen_copy import snapshot
from guerdon.models.language_model import lm
from guerdon.models.tables import tabular

NAN = float("nan")


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def column(level, values, reason=None):
    x = torch.tensor(values, dtype=torch.float64)
    why = torch.tensor(reason or [0] * len(values), dtype=torch.int8)
    return Column(level, x, why)


def tracks(*lengths, **fields):
    return pack([episode(segment([0] * n, **fields), attempt=i) for i, n in enumerate(lengths)])


def derived(loss, batch, live):
    found, metrics = loss(batch, {n: torch.as_tensor(x, dtype=torch.float64) for n, x in live.items()})
    return float(found), loss.derive({n: float(x) for n, x in metrics.items()})


# --- critics --------------------------------------------------------------------------------------------------------------


def test_a_value_and_what_it_explains_by_hand():
    batch = tracks(2, 1).with_cols({"return": column("step", [1.0, 2.0, 6.0])})
    found, metrics = derived(value(), batch, {"value": [0.0, 3.0, 5.0]})
    assert found == pytest.approx(0.5 * (1 + 1 + 1) / 3)
    assert metrics["value_error"] == pytest.approx(1.0)
    left, aim = torch.tensor([1.0, -1.0, 1.0]), torch.tensor([1.0, 2.0, 6.0])
    want = 1 - left.var(correction=0) / aim.var(correction=0)
    assert metrics["explained_variance"] == pytest.approx(float(want))
    by_track, _ = derived(value(mean="track"), batch, {"value": [0.0, 3.0, 4.0]})
    assert by_track == pytest.approx(0.5 * ((1 + 1) / 2 + 4) / 2)


def test_a_target_that_is_always_the_same_has_no_variance_to_explain():
    batch = tracks(3).with_cols({"return": column("step", [2.0] * 3)})
    assert "explained_variance" not in derived(value(), batch, {"value": [0.0, 1.0, 2.0]})[1]


def test_a_clipped_value_stops_beyond_its_bound_only_where_it_does_better():
    """Old 0, clip 0.2. Target 1: 0.5 counts as 0.2. Target 0.1: 0.5 is the worse of 0.5 and 0.2. Target -1: 0.1 is free."""
    cols = {"return": column("step", [1.0, 0.1, -1.0]), "critic.value": column("step", [0.0] * 3)}
    now = torch.tensor([0.5, 0.5, 0.1], dtype=torch.float64, requires_grad=True)
    loss, metrics = value(weight=1.0, clip=0.2, old="critic.value")(tracks(3).with_cols(cols), {"value": now})
    loss.backward()
    assert float(loss.detach()) == pytest.approx((0.8**2 + 0.4**2 + 1.1**2) / 3)
    assert now.grad.tolist() == pytest.approx([0.0, 0.8 / 3, 2.2 / 3])
    assert float(metrics["value_clipped"]) == pytest.approx(1 / 3)
    with pytest.raises(UserError, match=r"old='critic\.value'"):
        value(clip=0.2)


def test_the_value_of_a_trunk_is_taught_the_mean_of_its_tracks():
    batch = pack([episode(segment([0]), segment([0], parent=0), segment([0], parent=0))])
    batch = batch.put("return", "step", batch.down(torch.tensor([1.0, 3.0]), "track"))
    assert batch["return"].tolist() == [2.0, 1.0, 3.0]
    found, _ = derived(value(weight=1.0), batch, {"value": [0.0, 1.0, 3.0]})
    assert found == pytest.approx(2 * 4 / 4)  # the trunk stands for two


@pytest.mark.slow
def test_heads_learn_values_scores_and_labels(tmp_path):
    """A small model with a head, taught by each of the losses that read one: every loss falls."""
    small_lm(tmp_path)
    for loss in (value(), outcome("reward"), step_labels(), bradley_terry()):
        model = lm(source=str(tmp_path), value=True)
        play = Player({"critic": model}, {}, None, Sampling(), 0, 20)
        model.start(0, {})
        eps = []
        for i, text in enumerate(["so 5", "first 1 then 3", "the answer is 357"]):
            said = model.teacher_force("x + 4 = 9", text)
            eps.append(episode(Segment("policy", "", said.context, said.actions, said.logp, text), number=i))
        batch = pack(eps)
        labelled = torch.arange(batch.S) % 2 == 0
        labels = torch.where(labelled, (batch.seg == 0).float(), NAN)
        batch = batch.with_cols(
            {
                "return": Column.full("step", (batch.seg - 1).float()),
                "reward": Column.full("track", torch.tensor([1.0, -1.0, 0.0])),
                "labels": Column("step", labels, (~labelled).to(torch.int8)),
            }
        )
        batch = dataclasses.replace(batch, pairs=Pairs.of(torch.tensor([0, 0]), torch.tensor([1, 2]))).recount()
        learn = Learn("critic", loss, opt=adam(lr=0.01))
        learn.start(play)
        seen = []
        for _ in range(15):
            learn(batch, play)
            seen.append(play.metrics["critic/loss"])
        assert seen[-1] < 0.3 * seen[0], (loss, seen)


# --- the KL -----------------------------------------------------------------------------------------------------------------


def test_what_the_gradients_of_the_estimates_are():
    """Over all actions: k1 pulls nowhere, k2 as KL(pi || q), k3 as KL(q || pi)."""
    logits = torch.tensor([0.3, -0.5, 1.0, 0.1], dtype=torch.float64, requires_grad=True)
    q = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)

    def gradient(of):
        (found,) = torch.autograd.grad(of(torch.log_softmax(logits, 0)), logits)
        return found

    reverse = gradient(lambda p: (p.exp() * (p - q.log())).sum())
    forward = gradient(lambda p: (q * (q.log() - p)).sum())
    want = {"k1": torch.zeros(4, dtype=torch.float64), "k2": reverse, "k3": forward}
    for kind, right in want.items():
        found = gradient(lambda p, kind=kind: (p.detach().exp() * estimate(p, q.log(), kind)).sum())
        torch.testing.assert_close(found, right, rtol=1e-9, atol=1e-12)
    assert (reverse - forward).abs().max() > 1e-2


@pytest.mark.parametrize("kind", ["k1", "k3"])
def test_the_corrected_estimates_have_the_gradient_of_the_kl_from_any_sampler(kind):
    """Four tracks of one step, one for each action, each counted as often as the sampler draws it."""
    logits = torch.tensor([0.3, -0.5, 1.0, 0.1], dtype=torch.float64, requires_grad=True)
    q, sampler = torch.tensor([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]], dtype=torch.float64)
    batch = pack([episode(segment([a]), attempt=a) for a in range(4)])
    batch = dataclasses.replace(batch, logp=sampler.log(), weight=4 * sampler)
    batch = batch.with_cols({"reference.logp": Column.full("step", q.log())})
    logp = torch.log_softmax(logits, 0)
    found, _ = kl(1.0, kind=kind, mean="step", corrected=True)(batch, {"logp": logp})
    right = (logp.exp() * (logp - q.log())).sum()
    assert float(found.detach()) == pytest.approx(float(right.detach()))
    torch.testing.assert_close(*(torch.autograd.grad(x, logits, retain_graph=True)[0] for x in (found, right)))


class Log:
    """A play that keeps what it is told."""

    step, steps = 0, 1

    def __init__(self, **metrics):
        self.metrics = metrics

    def log(self, **metrics):
        self.metrics |= metrics

    def at(self, x):
        return float(x)


def costed(batch, **knobs):
    play = Log()
    return kl_cost(0.5, **knobs)(batch, play).cols["reward"], play.metrics


def three_paid():
    """Two tracks of 2 and 1 steps sampled with -1, the reference -1.2, -0.6 and -1; paid 1 and nothing known."""
    batch = tracks(2, 1)
    reward = Column("track", torch.tensor([1.0, NAN]), torch.tensor([0, int(Reason.TIMED_OUT)], dtype=torch.int8))
    return batch.with_cols({"reward": reward, "reference.logp": Column.full("step", torch.tensor([-1.2, -0.6, -1.0]))})


def test_the_kl_as_a_cost_of_whole_tracks_by_hand():
    found, metrics = costed(three_paid())
    assert found.level == "track"
    assert found.value[0] == pytest.approx(1 - 0.5 * (0.2 - 0.4), abs=rounding(3, 3.0))
    assert found.reason.tolist() == [0, int(Reason.TIMED_OUT)]
    assert metrics["reward/kl_reference"] == pytest.approx(
        (0.2 - 0.4 + 0.0) / 3, abs=rounding(3, 3.0)
    )  # logps of size 1


def test_the_kl_as_a_cost_of_steps_by_hand():
    found, _ = costed(three_paid(), per="step")
    assert found.value[:2].tolist() == pytest.approx([-0.1, 1 + 0.2], abs=rounding(3, 3.0))
    assert found.reason.tolist() == [0, 0, int(Reason.TIMED_OUT)]
    assert float(found.value[:2].sum()) == pytest.approx(float(costed(three_paid())[0].value[0]))


def test_a_trunk_pays_its_own_cost_once_and_branches_are_paid_apart():
    batch = pack([episode(segment([0]), segment([0], parent=0), segment([], parent=0))])
    cols = {"reward": column("track", [2.0, 6.0]), "reference.logp": column("step", [-1.5, -1.0])}
    found, _ = costed(batch.with_cols(cols), per="step")
    # the second track ends on the trunk: its 6, and the 0 that the first puts there, have the mean 3
    assert found.value.tolist() == pytest.approx([3 - 0.25, 2.0])
    whole, _ = costed(batch.with_cols(cols))
    assert whole.value.tolist() == pytest.approx([2 - 0.25, 6 - 0.25])


def test_given_steps_cost_nothing_and_recited_ones_have_no_cost():
    batch = pack([episode(segment([0, 0], given=1, logp=[NAN, -1.0])), episode(segment([0], logp=[NAN]), attempt=1)])
    cols = {"reward": column("track", [1.0, 1.0]), "reference.logp": column("step", [-1.0, -2.0, -1.0])}
    found, _ = costed(batch.with_cols(cols))
    assert found.value[0] == pytest.approx(1 - 0.5)
    assert found.reason.tolist() == [0, int(Reason.NOT_APPLICABLE)]


def test_a_reward_per_step_keeps_its_steps():
    cols = {"reward": column("step", [0.5, 0.5]), "reference.logp": column("step", [-1.2, -1.0])}
    found, _ = costed(tracks(2).with_cols(cols), per="step")
    assert found.value.tolist() == pytest.approx([0.4, 0.5])
    with pytest.raises(UserError, match="kl_cost\\(per='step'\\)"):
        costed(tracks(2).with_cols(cols))


# --- preferences ------------------------------------------------------------------------------------------------------------


def paired(batch, margin=None, label=None):
    given = (torch.tensor([x]).double() if x is not None else None for x in (margin, label))
    return dataclasses.replace(batch, pairs=Pairs.of(torch.tensor([0]), torch.tensor([1]), *given)).recount()


def preferred(loss, logp=(-1.0, -0.5, -2.0), **pair):
    """Tracks of 2 and 1 steps; the reference has -1 everywhere: gains 0.5 and -1, means 0.25 and -1."""
    batch = tracks(2, 1).with_cols({"reference.logp": column("step", [-1.0] * 3)})
    return derived(loss, paired(batch, **pair), {"logp": list(logp)})


def test_preference_losses_by_hand():
    assert preferred(dpo(0.5))[0] == pytest.approx(-math.log(sigmoid(0.75)))
    assert preferred(dpo(0.5, link="square"))[0] == pytest.approx((1.5 - 1.0) ** 2)
    assert preferred(dpo(0.5, link="square", per="step"))[0] == pytest.approx((1.25 - 1.0) ** 2)
    assert preferred(dpo(0.5, link="hinge"))[0] == pytest.approx(0.25)
    assert preferred(dpo(2.0, to="", per="step", margin=0.5))[0] == pytest.approx(-math.log(sigmoid(2 * 1.25 - 0.5)))


def test_margins_ask_for_more():
    want = -math.log(sigmoid(0.75 - 0.1 * 3.0))
    assert preferred(dpo(0.5, offset=0.1), margin=3.0)[0] == pytest.approx(want)
    assert preferred(dpo(0.5), margin=3.0)[0] == preferred(dpo(0.5))[0]


def test_smoothing_and_soft_labels_are_one_mixture():
    smooth, soft = preferred(dpo(0.5, smoothing=0.2))[0], preferred(dpo(0.5), label=0.8)[0]
    assert smooth == pytest.approx(soft)
    assert soft == pytest.approx(-0.8 * math.log(sigmoid(0.75)) - 0.2 * math.log(sigmoid(-0.75)))
    square = preferred(dpo(0.5, link="square"), label=0.8)[0]
    assert square == pytest.approx(0.8 * (1.5 - 1) ** 2 + 0.2 * (1.5 + 1) ** 2)


def test_labels_of_which_some_are_flipped_cost_what_right_ones_do_on_average():
    robust = dpo(0.5, flips=0.2)
    mean = 0.8 * preferred(robust, label=1.0)[0] + 0.2 * preferred(robust, label=0.0)[0]
    assert mean == pytest.approx(preferred(dpo(0.5))[0])


def test_links_of_published_variants_by_hand():
    """z = 0.75."""
    sure = sigmoid(0.75 / 0.05)
    want = (1 - sure) * -math.log(sigmoid(0.75)) + sure * math.exp(-0.75)
    assert preferred(dpo(0.5, link="discopop"))[0] == pytest.approx(want)
    yes = sigmoid(0.75)
    want = yes * math.log(yes / 0.9) + (1 - yes) * math.log((1 - yes) / 0.1)
    assert preferred(dpo(0.5, link="reverse", smoothing=0.1))[0] == pytest.approx(want)
    assert preferred(dpo(0.5, link="reverse"), label=yes)[0] == pytest.approx(0.0, abs=1e-12)
    with refusal(UserError, "0", "1"):
        preferred(dpo(0.5, link="reverse"))


@pytest.mark.parametrize(
    ("form", "want"),
    [
        ("apo_zero", sigmoid(-0.25) + sigmoid(-0.5)),
        ("apo_down", sigmoid(0.25) + 1 - sigmoid(0.75)),
        ("nca", -math.log(sigmoid(0.25)) - 0.5 * math.log(sigmoid(-0.25)) - 0.5 * math.log(sigmoid(0.5))),
        ("bco", -math.log(sigmoid(0.25)) - math.log(sigmoid(0.5))),
        ("sppo", (0.5 - 1.0) ** 2 + (-1.0 + 1.0) ** 2),
    ],
)
def test_anchored_preferences_by_hand(form, want):
    """Gains 0.5 and -1 at a beta of 0.5; a label mixes the two ways round."""
    loss = anchored(form, beta=0.5)
    found, noted = preferred(loss)
    assert found == pytest.approx(want)
    assert noted == pytest.approx({"margin": 0.75, "accuracy": 1.0, "better_gain": 0.25, "worse_gain": -0.5})
    mixed = 0.7 * found + 0.3 * preferred(loss, label=0.0)[0]
    assert preferred(loss, label=0.7)[0] == pytest.approx(mixed)


def test_what_preferences_note():
    noted = preferred(dpo(0.5))[1]
    want = {"margin": 0.75, "accuracy": 1.0, "better_gain": 0.25, "worse_gain": -0.5}
    assert noted == pytest.approx(want)
    assert preferred(dpo(0.5), label=0.0)[1]["accuracy"] == 0.0


def test_odds_and_imitation_of_the_better_by_hand():
    """Mean log-probs -0.75 and -2."""
    odds = [x - math.log(1 - math.exp(x)) for x in (-0.75, -2.0)]
    assert preferred(odds_ratio(0.1))[0] == pytest.approx(-0.1 * math.log(sigmoid(odds[0] - odds[1])))
    assert preferred(better_nll(2.0))[0] == pytest.approx(2 * 0.75)
    assert math.isfinite(preferred(odds_ratio(), logp=[0.0, 0.0, 0.0])[0])


def test_good_and_bad_tracks_by_hand():
    batch = tracks(2, 1).with_cols({"reference.logp": column("step", [-1.0] * 3), "z": column("track", [0.2, 0.2])})
    batch = batch.with_cols({"correct": column("track", [1.0, 0.0])})
    loss = kto(0.5, good=1.5, bad=0.5, baseline="z")
    found, noted = derived(loss, batch, {"logp": [-1.0, -0.5, -2.0]})
    want = (1.5 * (1 - sigmoid(0.5 * (0.5 - 0.2))) + 0.5 * (1 - sigmoid(0.5 * (0.2 + 1.0)))) / 2
    assert found == pytest.approx(want)
    assert noted == pytest.approx({"good_share": 0.5, "good_gain": 0.25, "bad_gain": -0.5, "baseline": 0.1})
    plain, _ = derived(kto(0.5), batch, {"logp": [-1.0, -0.5, -2.0]})
    assert plain == pytest.approx((1 - sigmoid(0.25) + 1 - sigmoid(0.5)) / 2)


def test_the_distance_on_answers_to_other_prompts():
    """Two tasks, two tries each: every prompt is read with an answer of the other task."""
    models = {"policy": tabular(vocab="abcd", length=2, spread=1.0), "reference": snapshot("policy")}
    for m in models.values():
        m.start(3, models)
    play = Player(models, {"policy": "policy"}, None, Sampling(), 0, 1)
    eps = [
        episode(segment([n % 4, t], context=[n // 2]), name="ab"[n // 2], attempt=n)
        for n, t in zip(range(4), (0, 1, 2, 3), strict=True)
    ]
    batch = pack(eps)
    assert mismatched_kl()(batch, play)["mismatched_kl"].tolist() == [0.0] * 4
    with torch.no_grad():
        models["policy"].weights.logits += torch.randn(16384, 4, generator=torch.Generator().manual_seed(1))
    found = float(mismatched_kl()(batch, play)["mismatched_kl"][0])
    swapped = [
        episode(segment(eps[j].segments[0].actions, context=[i // 2]), attempt=i) for i, j in enumerate([2, 3, 0, 1])
    ]
    gap = [float(m.read(pack(swapped), ["logp"])["logp"].detach().sum()) for m in models.values()]
    assert found == pytest.approx(max(0.0, (gap[0] - gap[1]) / 4), rel=1e-5)
    assert mismatched_kl()(pack(eps[:1]), play)["mismatched_kl"].tolist() == [0.0]


# --- reward models ------------------------------------------------------------------------------------------------------------


def scored(loss, final=(1.5, 0.5), **pair):
    return derived(loss, paired(tracks(2, 1), **pair), {"final": list(final)})


def test_bradley_terry_by_hand():
    assert scored(bradley_terry())[0] == pytest.approx(-math.log(sigmoid(1.0)))
    assert scored(bradley_terry(centre=0.1))[0] == pytest.approx(-math.log(sigmoid(1.0)) + 0.1 * 4)
    assert scored(bradley_terry(margin=0.5), margin=3.0)[0] == pytest.approx(-math.log(sigmoid(-0.5)))
    assert scored(bradley_terry(scaled=True), margin=3.0)[0] == pytest.approx(-3 * math.log(sigmoid(1.0)))
    soft = -0.7 * math.log(sigmoid(1.0)) - 0.3 * math.log(sigmoid(-1.0))
    assert scored(bradley_terry(), label=0.7)[0] == pytest.approx(soft)
    assert scored(bradley_terry(smoothing=0.3))[0] == pytest.approx(soft)
    assert scored(bradley_terry())[1] == pytest.approx({"accuracy": 1.0, "margin": 1.0, "score_mean": 1.0})
    assert scored(bradley_terry(), final=(1.0, 1.0))[1]["accuracy"] == 0.5


def test_outcomes_by_hand():
    batch = tracks(2, 1).with_cols({"reward": column("track", [1.0, 0.25])})
    assert derived(outcome(), batch, {"final": [0.5, 1.25]})[0] == pytest.approx((0.25 + 1) / 2)
    found, noted = derived(outcome(kind="logistic"), batch, {"final": [0.5, 1.25]})
    second = -0.25 * math.log(sigmoid(1.25)) - 0.75 * math.log(sigmoid(-1.25))
    assert found == pytest.approx((-math.log(sigmoid(0.5)) + second) / 2)
    brier = ((1 - sigmoid(0.5)) ** 2 + (sigmoid(1.25) - 0.25) ** 2) / 2
    assert noted["outcome_error"] == pytest.approx(brier)


THIRDS, LESS = [1 / 3] * 3, [0.6, 0.3, 0.1]  # chances of three texts


def test_discriminators_by_hand():
    given = {"side": [1.0, 0.0], "output": [1.0, 0.0], "evened": [0.5, 3.0]}
    batch = tracks(2, 1).with_cols({name: column("track", values) for name, values in given.items()})
    demonstrated, tried = -math.log(sigmoid(0.5)), -math.log(sigmoid(-1.25))
    found, noted = derived(discriminator("side"), batch, {"final": [0.5, 1.25]})
    assert found == pytest.approx((demonstrated + tried) / 2) and noted == pytest.approx({"told_apart": 0.5})
    found, noted = derived(discriminator("side", weight="evened"), batch, {"final": [0.5, 1.25]})
    assert found == pytest.approx((0.5 * demonstrated + 3 * tried) / 2) and noted == pytest.approx({"told_apart": 0.25})
    several = {"final": [[9.0, 0.5], [1.25, -9.0]]}
    assert derived(discriminator("side", "output"), batch, several)[0] == pytest.approx((demonstrated + tried) / 2)
    assert derived(discriminator("side"), batch, {"final": [0.0, 0.0]})[1] == pytest.approx({"told_apart": 0.5})


@pytest.mark.slow
def test_a_discriminator_of_equal_distributions_ends_at_a_half_and_of_others_at_their_ratio():
    """Both sides draw one of three texts, and each text has a score of its own: the optimum is the log-ratio."""
    for own, ends in ((THIRDS, [0.5] * 3), (LESS, [x / (x + y) for x, y in zip(THIRDS, LESS, strict=True)])):
        texts = [0, 1, 2, 0, 1, 2]
        columns = {"side": [1.0] * 3 + [0.0] * 3, "share": [6 * x / 2 for x in (*THIRDS, *own)]}
        batch = tracks(*[1] * 6).with_cols({name: column("track", values) for name, values in columns.items()})
        score = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64, requires_grad=True)
        for _ in range(400):
            (slope,) = torch.autograd.grad(
                discriminator("side", weight="share")(batch, {"final": score[texts]})[0], score
            )
            score = (score - 4.0 * slope).detach().requires_grad_()
        assert torch.sigmoid(score).tolist() == pytest.approx(ends, abs=0.02)


def test_step_labels_by_hand_and_steps_without_one():
    labels = column("step", [1.0, NAN, 0.0, 0.0, 1.0], [0, 1, 0, 0, 0])
    batch = tracks(3, 2).with_cols({"labels": labels})
    model = tabular(vocab="abcd")
    model.start(0, {})
    play = Player({"prm": model}, {}, None, Sampling(), 0, 1)
    rows = Learn("prm", step_labels()).rows(batch, play)
    assert rows.count.steps == 4.0
    after = [2.0, 9.0, -1.0, 1.0, -0.5]
    found, noted = derived(step_labels(good=0.5), rows, {"after": after})
    terms = [0.5 * -math.log(sigmoid(2)), -math.log(sigmoid(1)), -math.log(sigmoid(-1)), 0.5 * -math.log(sigmoid(-0.5))]
    assert found == pytest.approx(sum(terms) / 4)
    want = {"step_accuracy": 0.5, "right_on_good": 0.5, "right_on_bad": 0.5, "step_f1": 0.5}
    assert noted == pytest.approx(want)


def test_labels_of_one_kind_have_no_f1():
    batch = tracks(2).with_cols({"labels": column("step", [1.0, 1.0])})
    assert set(derived(step_labels(), batch, {"after": [1.0, -1.0]})[1]) == {"step_accuracy"}


def test_the_implicit_outcome_by_hand():
    batch = tracks(2, 1).with_cols(
        {"reference.logp": column("step", [-1.0] * 3), "correct": column("track", [1.0, 0.0])}
    )
    found, noted = derived(implicit_outcome(0.5), batch, {"logp": [-1.0, -0.5, -2.0]})
    assert found == pytest.approx((-math.log(sigmoid(0.25)) - math.log(sigmoid(0.5))) / 2)
    assert noted == {"outcome_accuracy": 1.0}


# --- a teacher's tokens -------------------------------------------------------------------------------------------------------


def kl_of(p, q):
    return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))


def told(loss, teacher, student):
    """One step at which the teacher names its first tokens."""
    batch = tracks(1).with_cols(
        {
            "teacher.top_token": column("step", [list(range(len(teacher)))]),
            "teacher.top_logp": column("step", [[math.log(x) for x in teacher]]),
        }
    )
    return derived(loss, batch, {"logp_at": [[math.log(x) for x in student]]})


def test_distillation_by_hand():
    """The teacher has 0.5, 0.3 and 0.2 left over, the student 0.2, 0.2 and 0.6."""
    p, q = (0.5, 0.3), (0.2, 0.2)
    whole_p, whole_q = (*p, 0.2), (*q, 0.6)
    assert told(distilled(mix=0.0), p, q)[0] == pytest.approx(kl_of(whole_p, whole_q))
    assert told(distilled(mix=1.0), p, q)[0] == pytest.approx(kl_of(whole_q, whole_p))
    m = [0.3 * a + 0.7 * b for a, b in zip(whole_p, whole_q, strict=True)]
    assert told(distilled(mix=0.3), p, q)[0] == pytest.approx(0.3 * kl_of(whole_p, m) + 0.7 * kl_of(whole_q, m))
    assert told(distilled(mix=0.0, rest="renormalise"), p, q)[0] == pytest.approx(kl_of((0.625, 0.375), (0.5, 0.5)))
    assert told(distilled(mix=0.0, rest="drop"), p, q)[0] == pytest.approx(kl_of(p, q))
    assert told(distilled(), p, q)[1]["teacher_mass"] == pytest.approx(0.8)


def test_lumping_is_a_lower_bound_that_more_tokens_close():
    p, q = torch.softmax(torch.randn(2, 12, generator=torch.Generator().manual_seed(0)).double() * 2, 1)
    order = p.argsort(descending=True)
    p, q = p[order], q[order]
    for mix in (0.0, 0.5, 1.0):
        full = float(divergence(p.log()[None], q.log()[None], mix))
        found = [told(distilled(mix=mix), p[:k].tolist(), q[:k].tolist())[0] for k in (1, 3, 6, 11)]
        assert found == sorted(found) and found[0] < full
        assert found[-1] == pytest.approx(full, rel=1e-5)


def test_a_student_that_is_its_teacher_is_pulled_nowhere():
    for mix in (0.0, 0.4, 1.0):
        assert told(distilled(mix=mix), (0.5, 0.3), (0.5, 0.3))[0] == pytest.approx(0.0, abs=1e-12)


def test_a_token_the_teacher_cannot_say_costs_nothing_in_the_forward_direction():
    top = torch.tensor([[0.0, float("-inf")]], dtype=torch.float64)
    student = torch.tensor([[0.5, 0.5]], dtype=torch.float64).log().requires_grad_()
    loss = divergence(top, student, 0.0)
    loss.sum().backward()
    assert float(loss.detach()) == pytest.approx(math.log(2)) and torch.isfinite(student.grad).all()
