"""`Batch.up` and `Batch.down` against sums counted in plain Python over the episodes, and the arithmetic under them."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scheduling import examples
from strategies import episode, episode_lists, naive_members, naive_tracks, segment

from guerdon.core.batch import ORDER
from guerdon.core.levels import expand, gather_up, has_holes, moments, starts
from guerdon.core.pack import pack
from guerdon.credit.returns import later_sum

NAN = float("nan")
CLIMBS = [(f, c) for i, f in enumerate(ORDER) for c in ORDER[i + 1 :]]


def numbers(size, seed):
    return torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def close(a, b):
    return torch.allclose(a, torch.as_tensor(b, dtype=a.dtype), rtol=1e-12, atol=1e-12, equal_nan=True)


@examples(2)
@given(climb=st.sampled_from(CLIMBS), eps=episode_lists())
def test_a_sum_up_is_the_sum_over_the_members(climb, eps):
    fine, coarse = climb
    batch = pack(eps)
    x = numbers(batch.size(fine), 1)
    want = [0.0] * batch.size(coarse)
    for n, to in naive_members(eps, fine, coarse):
        want[to] += float(x[n])
    assert close(batch.up(x, coarse, of=fine), want)


@pytest.mark.sampled(2, "by")
@pytest.mark.parametrize("by", ["mean", "std", "max", "min", "count"])
@examples(0.5)
@given(
    climb=st.sampled_from([("step", "track"), ("segment", "track"), ("track", "task"), ("ask", "task")]),
    eps=episode_lists(),
    holes=st.integers(0, 1000),
)
def test_a_statistic_up_is_over_the_members_that_have_a_value(by, climb, eps, holes):
    fine, coarse = climb
    batch = pack(eps)
    x = numbers(batch.size(fine), 1)
    x[numbers(len(x), holes) > 0.5] = NAN
    members = defaultdict(list)
    for n, to in naive_members(eps, fine, coarse):
        if not math.isnan(x[n]):
            members[to].append(float(x[n]))
    of = {
        "mean": statistics.fmean,
        "std": lambda v: statistics.stdev(v) if len(v) > 1 else 0.0,
        "max": max,
        "min": min,
        "count": len,
    }[by]
    empty = 0.0 if by == "count" else NAN
    want = [of(members[i]) if members[i] else empty for i in range(batch.size(coarse))]
    assert close(batch.up(x, coarse, of=fine, by=by), want)


@given(eps=episode_lists())
def test_going_up_by_way_of_any_level_between_is_the_same(eps):
    batch = pack(eps)
    for i, fine in enumerate(ORDER):
        x = numbers(batch.size(fine), 2)
        for j in range(i + 1, len(ORDER)):
            for between in ORDER[i + 1 : j]:
                composed = batch.up(batch.up(x, between, of=fine), ORDER[j], of=between)
                assert close(batch.up(x, ORDER[j], of=fine), composed)


@given(eps=episode_lists())
def test_ones_up_to_tracks_count_the_steps_along_each_path(eps):
    batch = pack(eps)
    want = [sum(len(eps[e].segments[i].actions) for i in path) for e, path in naive_tracks(eps)]
    assert batch.up(torch.ones(batch.S), "track").tolist() == want


@examples(2)
@given(climb=st.sampled_from(CLIMBS), eps=episode_lists())
def test_down_gives_the_mean_over_the_tracks_that_share_a_row(climb, eps):
    fine, coarse = climb
    batch = pack(eps)
    x = numbers(batch.size(coarse), 4)
    if len(x):
        x[0] = NAN
    above = defaultdict(list)
    for n, to in naive_members(eps, fine, coarse):
        above[n].append(float(x[to]))
    want = []
    for n in range(batch.size(fine)):
        valued = [v for v in above[n] if not math.isnan(v)]
        want.append(statistics.fmean(valued) if valued else NAN)
    assert close(batch.down(x, coarse, to=fine), want)


@given(eps=episode_lists())
def test_down_then_the_weighted_sum_gives_each_track_its_number_once_a_step(eps):
    eps = [ep.but(segments=tuple(s.but(given=0) for s in ep.segments)) for ep in eps]
    batch = pack(eps)
    x = numbers(batch.K, 5)
    total = (batch.down(x, "track") * batch.weight).sum()
    assert close(total, float((x * batch.up(torch.ones(batch.S, dtype=torch.float64), "track")).sum()))


def test_levels_count_episodes_without_segments():
    eps = [
        episode(name="a", number=0, error="broke before acting"),
        episode(segment([0, 1]), name="a", number=1),
        episode(name="b", number=2, error="broke before acting"),
    ]
    batch = pack(eps)
    assert (batch.size("episode"), batch.size("ask"), batch.size("task"), batch.K) == (3, 3, 2, 1)
    assert batch.up(torch.ones(2), "episode").tolist() == [0, 2, 0]
    assert batch.up(torch.ones(2), "task").tolist() == [2, 0]
    assert batch.up(torch.ones(1), "ask", of="track", by="mean").isnan().tolist() == [True, False, True]
    assert batch.down(torch.tensor([5.0, 7.0]), "task", to="ask").tolist() == [5, 5, 7]
    assert batch.down(torch.tensor([1.0, 2.0, 3.0]), "ask").tolist() == [2, 2]


def test_a_missing_part_makes_a_sum_missing_and_leaves_a_statistic_alone():
    batch = pack([episode(segment([0, 1, 2])), episode(segment([0]), attempt=1)])
    x = torch.tensor([1.0, NAN, 3.0, 5.0])
    assert batch.up(x, "track").isnan().tolist() == [True, False]
    assert batch.up(x, "track", by="mean").tolist() == [2.0, 5.0]
    assert batch.up(x, "track", by="max").tolist() == [3.0, 5.0]
    assert batch.up(x, "track", by="count").tolist() == [2.0, 1.0]


def test_up_and_down_refuse_the_wrong_direction_and_undefined_means():
    batch = pack([episode(segment([0]))])
    with pytest.raises(ValueError, match="fine to coarse"):
        batch.up(torch.ones(1), "step", of="track")
    with pytest.raises(ValueError, match="coarse to fine"):
        batch.down(torch.ones(1), "step", to="track")
    with pytest.raises(ValueError, match="what a track's mean is"):
        batch.up(torch.ones(1), "task", by="mean")


def test_a_long_sum_keeps_its_digits_and_its_type():
    n = 1_000_000
    total = gather_up(torch.full((n,), 0.1), torch.zeros(n, dtype=torch.long), 1)
    assert total.dtype == torch.float32
    assert total.item() == pytest.approx(float(torch.tensor(0.1)) * n, rel=1e-7)


def test_sum_and_mean_carry_gradients():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    group = torch.tensor([0, 0, 1])
    (gather_up(x, group, 2) * torch.tensor([1.0, 10.0])).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 10.0]
    x.grad = None
    (gather_up(x, group, 2, "mean") * torch.tensor([1.0, 10.0])).sum().backward()
    assert x.grad.tolist() == [0.5, 0.5, 10.0]


def test_std_of_one_value_is_zero_and_of_equal_values_is_zero():
    x = torch.tensor([3.0, 0.1, 0.1, 0.1, NAN])
    assert gather_up(x, torch.tensor([0, 1, 1, 1, 2]), 3, "std")[:2].tolist() == [0.0, 0.0]
    assert gather_up(x, torch.tensor([0, 1, 1, 1, 2]), 3, "std")[2].isnan()


@given(st.lists(st.lists(st.floats(-10, 10) | st.just(NAN), max_size=4), max_size=4))
def test_later_sum_is_over_the_rest_of_the_own_group_alone(groups):
    x = torch.tensor([v for g in groups for v in g], dtype=torch.float64)
    group = torch.tensor([i for i, g in enumerate(groups) for _ in g], dtype=torch.long)
    want = [sum(g[i:]) for g in groups for i in range(len(g))]
    found = later_sum(x, group)
    assert torch.allclose(found, torch.tensor(want, dtype=torch.float64), atol=1e-9, equal_nan=True)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=5), st.data())
def test_expand_lists_the_ranges_one_after_the_other(lengths, data):
    index = data.draw(st.lists(st.integers(0, len(lengths) - 1), max_size=4))
    length = torch.tensor(lengths)
    found = expand(torch.tensor(index, dtype=torch.long), starts(length), length).tolist()
    begin = [sum(lengths[:i]) for i in range(len(lengths))]
    assert found == [b for i in index for b in range(begin[i], begin[i] + lengths[i])]


def test_a_hole_is_never_overlooked():
    assert not has_holes(torch.tensor([1.0, math.inf, 3e38, 3e38])) and not has_holes(torch.zeros(0))
    assert all(has_holes(torch.tensor(x)) for x in ([NAN], [1.0, NAN, math.inf], [-math.inf, NAN]))
    assert has_holes(torch.tensor([math.inf, -math.inf]))  # there is none; looked at more closely, none is found


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_moments_by_hand_with_holes_infinities_and_a_group_without_a_value(kind):
    """Groups 0: 1, 3 and a hole; 1: a hole alone; 2: 5 alone; 3: nobody; 4: infinities that cancel."""
    x = torch.tensor([1.0, NAN, NAN, 3.0, 5.0, math.inf, -math.inf], dtype=kind)
    group = torch.tensor([0, 0, 1, 0, 2, 4, 4])
    count, mean, spread = moments(x, group, 5)
    assert count.tolist() == [2.0, 0.0, 1.0, 0.0, 2.0]
    assert close(mean, [2.0, NAN, 5.0, NAN, NAN])
    assert close(spread[:4], [math.sqrt(2.0), NAN, 0.0, NAN])
    assert group.tolist() == [0, 0, 1, 0, 2, 4, 4] and count.dtype == mean.dtype == spread.dtype == torch.float64
