"""Parts written as plain functions: stages of columns and losses of log-probs; and the numbers a Batch gives them."""

from __future__ import annotations

from math import nan

import pytest
import torch
from refusals import refusal
from strategies import episode, segment

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.core.example import ExamplePlay, example_tries
from guerdon.core.part import fingerprint
from guerdon.core.user_file import load_file
from guerdon.losses.policy import clipped
from guerdon.losses.terms import total


@gd.stage(gives="gap")
def gap(reward, batch, *, scale: float = gd.knob(default=1.0, ge=0.0)):
    """[K] a track's reward over the mean of its task."""
    return scale * (reward - batch.mean_by(reward))


@gd.losses.loss()
def ratio_loss(logp, old, advantage, *, low: float = 0.2, high: float = 0.2):
    """PPO's clipped loss as a plain function."""
    ratio = torch.exp(logp - old)
    bounded = ratio.clamp(1 - low, 1 + high)
    loss = -torch.minimum(ratio * advantage, bounded * advantage)
    return loss, {"moved": ratio}


def two_roles():
    """Two solvers with a reward each, and a verifier of the first that has none."""
    solved = [episode(segment([0, 1], text="a\nb"), attempt=0), episode(segment([1], text="c"), attempt=1)]
    verified = episode(segment([0], role="verifier", text="yes"), number=1)
    batch = gd.pack([*solved, verified])
    reason = torch.tensor([0, 0, int(Reason.NOT_APPLICABLE)], dtype=torch.int8)
    return batch.with_cols({"reward": Column("track", torch.tensor([1.0, 0.0, nan]), reason)})


def test_a_stage_computes_a_column_from_columns_and_knobs():
    batch = gap(scale=2.0)(example_tries([[1.0, 0.0], [1.0]]), ExamplePlay())
    assert batch["gap"].tolist() == [1.0, -1.0, 0.0]
    assert (gap().needs, gap().gives, str(gap(scale=2.0))) == (("reward",), ("gap",), "gap(scale=2.0)")


def test_columns_of_a_stage_are_knobs():
    batch = example_tries([[nan, nan]]).with_cols({"other": Column.full("track", torch.tensor([3.0, 1.0]))})

    @gd.stage(gives="double")
    def double(reward):
        return 2 * reward

    part = double(reward="other", gives_to="mine")
    assert part(batch, ExamplePlay())["mine"].tolist() == [6.0, 2.0] and part.needs == ("other",)


def test_a_missing_number_has_the_worst_reason_of_what_it_was_computed_from():
    @gd.stage(gives="sum")
    def summed(reward, second):
        return reward + second

    second = Column("track", torch.tensor([nan, 1.0, nan]), torch.tensor([1, 0, 3], dtype=torch.int8))
    batch = example_tries([[None, 1.0, 2.0]]).with_cols({"second": second})
    made = summed()(batch, ExamplePlay()).cols["sum"]
    assert [Reason(r).name for r in made.reason.tolist()] == ["FAILED", "VALUE", "TIMED_OUT"]


def test_a_nan_that_no_column_explains_is_refused():
    @gd.stage(gives="bad")
    def bad(reward):
        return reward / 0 - reward / 0

    with refusal(gd.UserError, "1"):
        bad()(example_tries([[1.0]]), ExamplePlay())


def test_a_stage_per_step_reads_columns_of_tracks_at_their_steps():
    @gd.stage(gives="signed", per="step")
    def signed(reward, advantage):
        return reward * advantage

    batch = example_tries([[1.0, -1.0]], steps=2, advantage=[1.0, 2.0, 3.0, 4.0])
    assert signed()(batch, ExamplePlay())["signed"].tolist() == [1.0, 2.0, -3.0, -4.0]


def test_a_stage_per_track_refuses_a_column_per_step():
    with refusal(gd.UserError):
        gap(reward="advantage")(example_tries([[1.0]], advantage=[1.0]), ExamplePlay())


def test_a_stage_for_one_role_keeps_what_others_have():
    @gd.stage(gives="reward", role="verifier")
    def paid_as_the_solver(batch):
        return torch.full((batch.K,), 7.0)

    batch = paid_as_the_solver()(two_roles(), ExamplePlay())
    assert batch["reward"].tolist() == [1.0, 0.0, 7.0]
    fresh = paid_as_the_solver(gives_to="pay")(two_roles(), ExamplePlay()).cols["pay"]
    assert fresh.reason.tolist() == [1, 1, 0] and fresh.value[2] == 7.0


def test_a_stage_may_give_a_whole_batch_and_use_play():
    @gd.stage(gives="", shelf="select")
    def right_alone(reward, batch, play):
        play.log(kept=float((reward > 0).sum()))
        return batch.take(reward > 0)

    play = ExamplePlay()
    assert right_alone()(example_tries([[1.0, 0.0]]), play).K == 1 and play.metrics == {"kept": 1.0}


def test_a_knob_of_a_stage_takes_a_schedule_and_keeps_its_limits():
    play = ExamplePlay()
    play.step, play.steps = 2, 3
    assert gap(scale=gd.linear(0.0, 4.0))(example_tries([[1.0, 0.0]]), play)["gap"].tolist() == [2.0, -2.0]
    with refusal(gd.UserError, "0"):
        gap(scale=-1.0)
    with refusal(gd.UserError):
        gap(scal=1.0)


def test_parameters_that_cannot_be_are_refused():
    with refusal(gd.UserError):

        @gd.stage(gives="x")
        def taken(reward, *, role: float = 1.0):
            return reward

    with refusal(gd.UserError):

        @gd.losses.loss()
        def many(logp, *rest):
            return logp


def test_hashes_follow_knobs_and_source(tmp_path):
    assert fingerprint(gap()) == fingerprint(gap()) != fingerprint(gap(scale=2.0))
    parts = []
    for factor in (1, 2):
        path = tmp_path / f"mine{factor}.py"
        path.write_text(
            f"import guerdon as gd\n\n\n@gd.stage(gives='x')\ndef scaled(reward):\n    return {factor} * reward\n"
        )
        parts.append(load_file(str(path), "stage").scaled())
    assert fingerprint(parts[0]) != fingerprint(parts[1])


@pytest.mark.parametrize("mean", ["track", "step", "constant"])
def test_a_plain_loss_is_the_built_in_one(mean):
    torch.manual_seed(0)
    batch = example_tries([[1.0, 0.0], [0.5]], steps=3, advantage=torch.randn(9).tolist())
    gradients = []
    for loss in (ratio_loss(mean=mean, constant=3.0), clipped(mean=mean, constant=3.0)):
        logp = (0.3 * torch.randn(9, generator=torch.Generator().manual_seed(1))).requires_grad_()
        value, noted = loss(batch, {"logp": logp, "entropy": torch.zeros(9)})
        value.backward()
        gradients.append((value.detach(), logp.grad, noted))
    torch.testing.assert_close(gradients[0][:2], gradients[1][:2])
    torch.testing.assert_close(gradients[0][2]["moved"].detach(), gradients[1][2]["ratio_mean"])


def test_a_plain_loss_reads_old_log_probs_as_constants_and_adds_to_others():
    batch = example_tries([[1.0]], advantage=[1.0])
    both = ratio_loss() + gd.losses.kl(0.1)
    assert isinstance(both, total) and both.needs == ("advantage", "reference.logp") and ratio_loss().wants == ("logp",)
    assert ratio_loss(advantage="mine").needs == ("mine",)
    logp = torch.tensor([-1.0], requires_grad=True)
    (value, _) = ratio_loss()(batch.without(), {"logp": logp})
    value.backward()
    assert logp.grad is not None


def test_texts_and_statistics_of_groups():
    batch = two_roles()
    assert batch.texts == ["a\nb", "c", "yes"]
    assert batch.mean_by("reward").tolist()[:2] == [0.5, 0.5] and batch.mean_by("reward")[2].isnan()
    assert batch.per_group("reward", "max")[:1].tolist() == [1.0]


def test_turns_walk_all_tracks_at_once():
    """Two answers to one first turn, and a track of one turn."""
    tree = episode(segment([0]), segment([1], parent=0), segment([2], parent=0))
    batch = gd.pack([tree, episode(segment([3]), number=1)])
    walked = [(segments.tolist(), tracks.tolist()) for segments, tracks in batch.turns()]
    assert walked == [([0, 0, 3], [0, 1, 2]), ([1, 2], [0, 1])]
    assert list(example_tries([]).turns()) == []


@gd.stage(gives="half", optional=True)
def halved(reward, batch):
    """[K] half of the reward, where it is above 1."""
    return torch.where(reward > 1, reward / 2, torch.nan)


def test_a_stage_that_may_give_no_value_says_why():
    batch = example_tries([[4.0, 1.0, None]])
    column = halved()(batch, ExamplePlay()).cols["half"]
    assert column.value[0] == 2.0 and column.missing.tolist() == [False, True, True]
    assert column.reason.tolist()[1] == int(gd.Reason.NOT_APPLICABLE)
    assert column.reason.tolist()[2] == batch.cols["reward"].reason.tolist()[2]
