"""Policy losses on numbers done by hand: ratios of whole tracks, bounds of every kind, the sampler's gap, signs and cuts."""

from __future__ import annotations

import math

import pytest
import torch
from refusals import refusal
from strategies import episode, expanded, segment

from guerdon.core.column import Column
from guerdon.core.episode import End
from guerdon.core.errors import UserError
from guerdon.core.learn import Learn
from guerdon.core.optim import adam
from guerdon.core.pack import pack
from guerdon.core.task import Sampling
from guerdon.engine.player import Player
from guerdon.losses.imitation import advantage_weighted
from guerdon.losses.penalties import kl
from guerdon.losses.policy import clipped, masked, reweighted, sampled, truncated
from guerdon.losses.signs import by_sign, finished

NAN = float("nan")
RATIOS = [1.5, 1.0, 0.5, 0.9]
ADVANTAGES = [1.0, 1.0, -1.0, 2.0]
SURROGATE = [-1.2, -1.0, 0.8, -1.8]  # -min(ratio A, clip(ratio, 0.8, 1.2) A)


def advantaged(eps, advantages):
    return pack(eps).with_cols({"advantage": Column.full("step", torch.tensor(advantages))})


def three_tracks(advantages=ADVANTAGES):
    """Tracks of 2, 1 and 1 steps, sampled with log-prob -1."""
    return advantaged([episode(segment([0] * n), attempt=i) for i, n in enumerate([2, 1, 1])], advantages)


def live(ratios=RATIOS, old=-1.0):
    old = torch.as_tensor(old, dtype=torch.float64)
    logp = (torch.tensor(ratios, dtype=torch.float64).log() + old).requires_grad_()
    return {"logp": logp, "entropy": torch.full((len(ratios),), 0.5)}


# --- the ratio of a whole track ----------------------------------------------------------------------------------------


def test_a_tracks_ratio_is_the_geometric_mean_of_its_steps():
    """sqrt(1.5 * 1.0) = 1.2247 is clipped at 1.2; the other tracks have one step."""
    now = live()
    loss, metrics = clipped(ratio="track")(three_tracks(), now)
    assert float(loss.detach()) == pytest.approx((-1.2 + 0.8 - 1.8) / 3, rel=1e-6)
    assert float(metrics["clipped"]) == pytest.approx(3 / 4)  # both steps of the first track
    loss.backward()
    assert now["logp"].grad.tolist() == pytest.approx([0.0, 0.0, 0.0, -0.9 * 2 / 3], rel=1e-6)


def test_every_step_of_a_track_pulls_through_its_ratio():
    """s = sqrt(1.1 * 0.9); d(-s A)/dlogp_t = -s A / 2 for both steps, the mean over steps and one track."""
    batch, now = advantaged([episode(segment([0, 0]))], [1.0, 1.0]), live([1.1, 0.9])
    loss, _ = clipped(ratio="track")(batch, now)
    loss.backward()
    s = math.sqrt(1.1 * 0.9)
    assert float(loss.detach()) == pytest.approx(-s)
    assert now["logp"].grad.tolist() == pytest.approx([-s / 2, -s / 2])


def test_given_steps_are_not_in_a_tracks_ratio():
    batch = advantaged([episode(segment([0, 0, 0], given=1, logp=[NAN, -1.0, -1.0]))], [9.0, 1.0, 1.0])
    loss, _ = clipped(ratio="track")(batch, live([7.0, 1.1, 0.9]))
    assert float(loss.detach()) == pytest.approx(-math.sqrt(0.99))


def test_tracks_of_one_step_have_the_ratio_of_their_step():
    batch = advantaged([episode(segment([0]), attempt=i) for i in range(4)], ADVANTAGES)
    by_step, by_track = (float(clipped(ratio=r)(batch, live())[0].detach()) for r in ("step", "track"))
    assert by_step == pytest.approx(by_track, rel=1e-12)


@pytest.mark.parametrize("loss", [clipped, reweighted])
@pytest.mark.parametrize("mean", ["step", "track", "constant"])
def test_a_tree_has_the_track_ratios_of_the_chains_it_stands_for(loss, mean):
    """Five nodes: a trunk, a branch that forks, a branch that does not; three tracks of 6, 4 and 3 steps."""
    spans = {0: (2, -1), 1: (1, 0), 2: (3, 1), 3: (1, 1), 4: (1, 0)}
    logp = {g: [-1.0 - 0.1 * g - 0.05 * t for t in range(n)] for g, (n, _) in spans.items()}
    eps = [episode(*(segment([g] * n, parent=p, logp=logp[g]) for g, (n, p) in spans.items()))]
    now = {g: [x + 0.2 * math.sin(5 * g + t) for t, x in enumerate(logp[g])] for g in spans}
    found = []
    for packed in (pack(eps), pack(expanded(eps))):
        batch = packed.with_cols({"advantage": Column.full("step", torch.where(packed.action > 1, 1.0, -0.5))})
        seen: dict[int, int] = {}
        rows = []
        for s, g in enumerate(batch.action.tolist()):  # an action names its node
            t = seen.get(int(batch.seg[s]), 0)
            seen[int(batch.seg[s])] = t + 1
            rows.append(now[g][t])
        reading = {"logp": torch.tensor(rows, dtype=torch.float64), "entropy": torch.zeros(batch.S)}
        made, metrics = loss(ratio="track", mean=mean, constant=3.0)(batch, reading)
        found.append([float(made), *(float(metrics[n]) for n in sorted(metrics))])
    assert found[0] == pytest.approx(found[1], rel=1e-6)


# --- bounds -----------------------------------------------------------------------------------------------------------


def test_the_dual_clip_bounds_what_a_bad_step_may_cost():
    """A = -1 at ratios 5, 2 and 0.5, A = 1 at ratio 5: losses 3 (of 5), 2, 0.8, -1.2."""
    batch = advantaged([episode(segment([0] * 4))], [-1.0, -1.0, -1.0, 1.0])
    now = live([5.0, 2.0, 0.5, 5.0])
    loss, metrics = clipped(dual=3.0, mean="step")(batch, now)
    loss.backward()
    assert float(loss.detach()) == pytest.approx((3 + 2 + 0.8 - 1.2) / 4)
    assert now["logp"].grad.tolist() == pytest.approx([0, 2 / 4, 0, 0])
    assert float(metrics["clipped"]) == pytest.approx(3 / 4)


def test_a_dual_clip_inside_the_clip_is_refused():
    with refusal(UserError, "1", "1.2", "0"):
        clipped(dual=1.1)


def test_a_bound_on_the_log_ratio_stops_a_step_whatever_its_sign():
    batch, now = advantaged([episode(segment([0, 0]))], [-1.0, -1.0]), live([math.exp(3.0), 1.1])
    loss, _ = clipped(old=sampled(bound=1.0), mean="step")(batch, now)
    loss.backward()
    assert float(loss.detach()) == pytest.approx((math.e + 1.1) / 2)
    assert now["logp"].grad.tolist() == pytest.approx([0.0, 1.1 / 2])
    assert clipped(old=sampled(bound=1.0)).needs == ("advantage",)


def test_reweighted_steps_all_pull_by_a_bounded_weight():
    """Weights 1.5 -> 1.3, 1, 0.5, 0.9; the gradient at a step is -weight A / 4."""
    now = live()
    loss, metrics = reweighted(high=0.3)(three_tracks(), now)
    loss.backward()
    assert now["logp"].grad.tolist() == pytest.approx([-1.3 / 4, -1 / 4, 0.5 / 4, -0.9 * 2 / 4])
    assert float(metrics["clipped"]) == pytest.approx(1 / 4)


@pytest.mark.parametrize("loss", [clipped(), reweighted(mean="track"), clipped(ratio="track")])
def test_at_the_first_update_all_of_them_are_the_policy_gradient(loss):
    now = live([1.0] * 4)
    advantages = [0.5, 0.5, -1.0, 2.0]  # one a track, for a track's ratio
    loss(three_tracks(advantages), now)[0].backward()
    assert now["logp"].grad.tolist() == pytest.approx([-0.5 / 6, -0.5 / 6, 1 / 3, -2 / 3])


# --- the sampler's gap ----------------------------------------------------------------------------------------------------


READ = [-1.1, -0.5, 0.5, -1.0]  # by the learner, before the update; sampled with -1: weights e^-0.1, e^0.5, e^1.5, 1


def read_before():
    return three_tracks().with_cols({"policy.logp": Column.full("step", torch.tensor(READ))})


def weighed(old):
    loss, metrics = clipped(mean="step", old=old)(read_before(), live(old=READ))
    return 4 * float(loss.detach()), {n: float(x) for n, x in metrics.items()}


def test_truncated_importance_weights_by_hand():
    found, metrics = weighed(truncated(2.0))
    weights = [math.exp(-0.1), math.exp(0.5), 2.0, 1.0]
    assert found == pytest.approx(sum(w * s for w, s in zip(weights, SURROGATE, strict=True)), rel=1e-6)
    assert metrics["truncated"] == pytest.approx(1 / 4)
    assert clipped(old=truncated()).needs == ("advantage", "policy.logp")


def test_masked_importance_weights_by_hand():
    found, metrics = weighed(masked(0.95, 2.0))
    assert found == pytest.approx(math.exp(0.5) * SURROGATE[1] + SURROGATE[3], rel=1e-6)
    assert metrics["masked"] == pytest.approx(2 / 4)


def test_importance_weights_of_whole_tracks_by_hand():
    """Products over tracks: e^0.4 for the first two steps, e^1.5, 1."""
    first, rest = math.exp(0.4) * (SURROGATE[0] + SURROGATE[1]), SURROGATE[3]
    assert weighed(masked(0.5, 2.0, level="track"))[0] == pytest.approx(first + rest, rel=1e-6)
    found, metrics = weighed(truncated(2.0, level="track"))
    assert found == pytest.approx(first + 2 * SURROGATE[2] + rest, rel=1e-6)
    assert metrics["truncated"] == pytest.approx(1 / 4)


def test_an_old_policy_by_its_name_says_what_to_write():
    with pytest.raises(UserError, match=r"old=truncated\(column='policy\.logp'\)"):
        clipped(old="policy.logp")


# --- what is noted ----------------------------------------------------------------------------------------------------


def test_the_spread_of_ratios_by_hand():
    loss = clipped()
    found = loss.derive({n: float(x) for n, x in loss(three_tracks(), live([1.5, 1.0, 0.6, 0.9]))[1].items()})
    assert found["ratio_mean"] == pytest.approx(4 / 4)
    assert found["effective_samples"] == pytest.approx(4**2 / (4 * (2.25 + 1 + 0.36 + 0.81)))
    for name, ratio in {"ratio_p01": 0.6, "ratio_p50": 0.9, "ratio_p99": 1.5}.items():  # two of four are 0.9 or less
        assert math.log(found[name]) == pytest.approx(math.log(ratio), rel=0.33)
    assert not {"weight_mean", "weight_square"} & set(found)
    assert not [name for name in found if "bin" in name]


def test_on_policy_every_sample_is_effective():
    loss = clipped() + kl(0.0, to="policy")
    batch = three_tracks().with_cols({"policy.logp": Column.full("step", torch.full((4,), -1.0))})
    found = loss.derive({n: float(x) for n, x in loss(batch, live([1.0] * 4))[1].items()})
    assert found["effective_samples"] == pytest.approx(1.0)
    assert found["kl_old"] == pytest.approx(0.0, abs=1e-9)


# --- signs and cuts -------------------------------------------------------------------------------------------------------


def test_signs_weigh_the_advantages():
    now = live()
    by_sign(clipped(mean="step"), positive=0.5, negative=2.0)(three_tracks(), now)[0].backward()
    plain = live()
    clipped(mean="step")(three_tracks([0.5, 0.5, -2.0, 1.0]), plain)[0].backward()
    assert now["logp"].grad.tolist() == plain["logp"].grad.tolist()


def test_a_sign_that_weighs_nothing_is_silent():
    assert by_sign(clipped(), positive=0.0).silent(three_tracks()).tolist() == [True, False, True]
    with refusal(UserError):
        by_sign(clipped() + kl(0.1))


def table(steps=3):
    from guerdon.models.tables import tabular

    model = tabular(vocab="abcd", rows=64)
    model.start(1, {})
    return Player({"policy": model}, {"policy": "policy"}, None, Sampling(), 0, steps)


def test_cut_tracks_are_left_out_and_in_no_denominator():
    ends = [End.DONE, End.CUT, End.FAILED, End.DONE]
    eps = [episode(segment([0] * (n + 1), end=end), attempt=n) for n, end in enumerate(ends)]
    batch = advantaged(eps, [1.0] * 10)
    play = table()
    rows = Learn("policy", clipped(), on=finished()).rows(batch, play)
    assert (rows.count.tracks, rows.count.steps) == (2, 5.0)
    assert play.metrics["cut_share"] == 0.25
    assert Learn("policy", clipped()).rows(batch, play).count.tracks == 3


def test_a_track_that_went_on_after_a_cut_is_finished():
    batch = pack([episode(segment([0], end=End.CUT), segment([0], parent=0))])
    assert finished()(batch, table()).K == 1


def test_advantage_weighted_imitation_by_hand():
    now = live([1.0] * 4)
    loss = advantage_weighted(beta=2.0, most=2.0)
    made, metrics = loss(three_tracks(), now)
    made.backward()
    weights = [math.exp(0.5), math.exp(0.5), math.exp(-0.5), 2.0]  # the last of e
    assert now["logp"].grad.tolist() == pytest.approx([-w / 4 for w in weights], rel=1e-6)
    found = loss.derive({n: float(x) for n, x in metrics.items()})
    assert found["bounded"] == 0.25
    assert found["effective_samples"] == pytest.approx(sum(weights) ** 2 / (4 * sum(w * w for w in weights)))


# --- continuous actions ---------------------------------------------------------------------------------------------------


class Gaussian:
    """A mean and a spread for actions of two numbers: all that a surrogate sees of it is a log-prob per step."""

    def __init__(self):
        self.mean = torch.zeros(2, dtype=torch.float64, requires_grad=True)
        self.log_std = torch.full((2,), -0.5, dtype=torch.float64, requires_grad=True)

    def read(self, action):
        d = torch.distributions.Normal(self.mean, self.log_std.exp())
        return {"logp": d.log_prob(action.double()).sum(1), "entropy": d.entropy().sum().expand(len(action))}


def tries_of(policy, generator, n=64):
    with torch.no_grad():
        action = policy.mean + policy.log_std.exp() * torch.randn(n, 2, generator=generator, dtype=torch.float64)
        logp = policy.read(action.float())["logp"]
    eps = [episode(segment(action[i : i + 1].float().numpy(), logp=[float(logp[i])]), attempt=i) for i in range(n)]
    return pack(eps)


@pytest.mark.slow
@pytest.mark.parametrize(
    "loss",
    [clipped(), *(pytest.param(x, marks=pytest.mark.slow) for x in (clipped(ratio="track"), reweighted(high=0.2)))],
)
def test_continuous_actions_go_through_the_same_surrogate(loss):
    """Four updates on each batch, so that ratios leave 1; the target is (1, -1).

    It ends while an update is smaller than the policy's spread: beyond, the last bits decide where the mean is thrown.
    """
    policy, generator = Gaussian(), torch.Generator().manual_seed(0)
    optimiser = torch.optim.Adam([policy.mean, policy.log_std], lr=0.03)
    first = None
    for _ in range(24):
        batch = tries_of(policy, generator)
        assert batch.action.shape == (64, 2)
        reward = -(batch.action - torch.tensor([1.0, -1.0])).square().sum(1)
        first = float(reward.mean()) if first is None else first
        batch = batch.with_cols({"advantage": Column.full("step", (reward - reward.mean()) / reward.std())})
        for _ in range(4):
            optimiser.zero_grad()
            loss(batch, policy.read(batch.action))[0].backward()
            optimiser.step()
    assert first < -2.5
    assert float(reward.mean()) > -0.5
    assert policy.mean.tolist() == pytest.approx([1.0, -1.0], abs=0.3)


def test_the_gradient_of_a_gaussian_policy_is_the_score_by_hand():
    """d log N(a; mu, s) / d mu = (a - mu) / s^2."""
    policy = Gaussian()
    action, std = torch.tensor([[0.3, -0.2]]), math.exp(-0.5)
    logp = float(policy.read(action)["logp"].detach())
    batch = advantaged([episode(segment(action.numpy(), logp=[logp]))], [2.0])
    clipped()(batch, policy.read(batch.action))[0].backward()
    assert policy.mean.grad.tolist() == pytest.approx([-2 * 0.3 / std**2, 2 * 0.2 / std**2], rel=1e-5)


def test_learning_with_every_policy_loss_moves_the_table():
    losses = [clipped(ratio="track"), reweighted(), by_sign(clipped(), positive=0.1), clipped(old=masked())]
    for loss in losses:
        play = table()
        learn = Learn("policy", loss, opt=adam(lr=0.1))
        learn.start(play)
        batch = three_tracks().with_cols({"policy.logp": Column.full("step", torch.full((4,), -1.0))})
        before = play.models["policy"].weights.logits.detach().clone()
        learn(batch, play)
        assert not torch.equal(before, play.models["policy"].weights.logits)
