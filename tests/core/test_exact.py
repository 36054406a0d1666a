"""Learning adds in a fixed order, on a processor too, where several threads would add to one place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import pytest
import torch
from test_learn import chains, table

from guerdon.core.gradient_passes import UNORDERED, exact
from guerdon.core.learn import Learn
from guerdon.core.pack import pack
from guerdon.core.part import part

THREADS = 4


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(THREADS)
    yield
    torch.set_num_threads(before)


def gradient_of_picks(ordered: bool) -> torch.Tensor:
    """Of eight rows, each of which is picked some thousand times."""
    chance = torch.Generator().manual_seed(0)
    rows = torch.zeros(8, 64, requires_grad=True)
    picked, weight = torch.randint(8, (20_000,), generator=chance), torch.randn(20_000, 64, generator=chance)
    with exact() if ordered else nullcontext():
        (rows[picked] * weight).sum().backward()
    assert rows.grad is not None
    return rows.grad


@pytest.mark.usefixtures("threads")
def test_rows_that_threads_pick_together_have_the_gradient_of_one_thread():
    got = [gradient_of_picks(ordered=True) for _ in range(4)]
    torch.set_num_threads(1)
    want = gradient_of_picks(ordered=False)
    assert all(torch.equal(each, want) for each in got)
    assert not torch.are_deterministic_algorithms_enabled(), "it is left as it was"


@part
class watched_loss:
    """A loss that notes, for every gradient, whether sums are ordered, and may use an operation that torch has no order for."""

    unordered: bool = False
    needs = ()
    wants = ("logp",)

    def __call__(self, batch, live):
        ORDERED.append(torch.are_deterministic_algorithms_enabled())
        if self.unordered and ORDERED[-1]:
            raise RuntimeError(f"put_ {UNORDERED}")
        return live["logp"].sum(), {}


ORDERED = list[bool]()


def test_a_learner_adds_in_order_and_where_that_cannot_be_says_so_and_goes_on():
    for loss, want in ((watched_loss(), [True]), (watched_loss(unordered=True), [True, False])):
        ORDERED.clear()
        play = table()
        learn = Learn("policy", loss)
        learn.start(play)
        learn(pack(chains()), play)
        assert want == ORDERED and play.models["policy"].version == 1
        said = [each for each in play.new_warnings() if "not the same to the last bit every time: put_" in each]
        assert len(said) == loss.unordered
    assert not torch.are_deterministic_algorithms_enabled()
