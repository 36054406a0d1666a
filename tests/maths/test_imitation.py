"""Cross-entropy on what was recited."""

from __future__ import annotations

import pytest
import torch
from strategies import episode, segment

from guerdon.core.pack import pack
from guerdon.losses.imitation import sft

NAN = float("nan")


@pytest.mark.parametrize(
    ("mean", "want"), [("step", (1 + 2 + 6) / 3), ("track", ((1 + 2) / 2 + 6) / 2), ("constant", (1 + 2 + 6) / (2 * 4))]
)
def test_the_negative_log_likelihood_by_hand(mean, want):
    batch = pack([episode(segment([0, 1], logp=[NAN, NAN])), episode(segment([2], logp=[NAN]), attempt=1)])
    loss, _ = sft(mean=mean, constant=4.0)(batch, {"logp": torch.tensor([-1.0, -2.0, -6.0])})
    assert float(loss) == pytest.approx(want)


def test_given_steps_are_not_imitated():
    batch = pack([episode(segment([0, 1, 2], given=2))])
    loss, _ = sft()(batch, {"logp": torch.tensor([-100.0, -100.0, -3.0])})
    assert float(loss) == pytest.approx(3.0)
