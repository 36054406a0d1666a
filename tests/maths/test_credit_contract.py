"""What holds for every part of credit: order, trees, missing values, empty batches, its words."""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import episode, episode_lists, expanded, segment

import guerdon.credit
from guerdon.core.column import Column, Reason
from guerdon.core.example import ExamplePlay
from guerdon.core.levels import gather_up
from guerdon.core.pack import pack
from guerdon.core.part import PARTS
from guerdon.core.stages import shelf_of
from guerdon.credit.advantage_estimation import gae
from guerdon.credit.baselines import cross_baseline, role_baseline, weighted_baseline, whiten
from guerdon.credit.group_relative import centre
from guerdon.credit.mix import mixed, only, separately, teacher_log_ratio
from guerdon.credit.pass_at_k import best_of_k
from guerdon.credit.returns import redistribute, reward_to_go
from guerdon.credit.track_steps import track_steps
from guerdon.credit.tree import branch_gain, prefix_gain
from guerdon.credit.turns import turn_baseline
from guerdon.recipes.curriculum.dr_saf.parts import spare_correct
from guerdon.recipes.curriculum.hbpo import below_promise
from guerdon.recipes.preference.writing_zero_brpo import won_or_lost
from guerdon.recipes.process.oreal.parts import weigh_tokens
from guerdon.recipes.process.prime import return_over_others
from guerdon.recipes.process.scope.parts import parted
from guerdon.select.filters import with_rate
from guerdon.training.catalog import part_modules

pytestmark = pytest.mark.sampled(12, "name")
MODULES = sorted(m.name for m in pkgutil.iter_modules(guerdon.credit.__path__))
PLAYED = {"greedy_baseline", "restarts"}  # tested in test_credit_played.py
SPELLED = {
    "thoughts",
    "by_spans",
}  # read texts, which these batches have none of: test_process_guided.py, test_ledex.py

CHAINS = {  # a tree gives what the chains it stands for give
    "centre": lambda: centre(),
    "centre_ask": lambda: centre(by="ask", std=False),
    "centre_others": lambda: centre(std=False, others=True),
    "centre_position": lambda: centre(by="position"),
    "centre_steps": lambda: centre("process"),
    "centre_steps_others": lambda: centre("process", std=False, others=True),
    "centre_turns": lambda: centre("turns"),
    "centre_turns_others": lambda: centre("turns", by="ask", std=False, others=True),
    "centre_turns_position": lambda: centre("turns", by="position"),
    "whiten": lambda: whiten("reward"),
    "whiten_turns": lambda: whiten("turns"),
    "whiten_tracks": lambda: whiten("process", over="track"),
    "whiten_steps": lambda: whiten("process"),
    "gae": lambda: gae(gamma=0.9, lam=0.8),
    "gae_steps": lambda: gae("process", gamma=0.9, lam=0.8),
    "gae_turns": lambda: gae("turns", gamma=0.9, lam=0.8),
    "reward_to_go_of_turns": lambda: reward_to_go("turns", gamma=0.9),
    "reward_to_go_of_turns_by_turn": lambda: reward_to_go("turns", gamma=0.9, per="turn"),
    "reward_to_go": lambda: reward_to_go("process", gamma=0.9),
    "reward_to_go_turns": lambda: reward_to_go("process", gamma=0.9, per="turn"),
    "redistribute": lambda: redistribute(weights="care"),
    "redistribute_turns": lambda: redistribute("turns", weights="turns"),
    "mixed": lambda: mixed(("reward", "process", "turns"), (1.0, 0.5, 2.0)),
    "separately": lambda: separately(("reward", "process", "turns")),
    "role_baseline": lambda: role_baseline(start=0.5),
    "weighted_baseline": lambda: weighted_baseline(),
    "cross_baseline": lambda: cross_baseline(value="critic.final"),
    "cross_baseline_own": lambda: cross_baseline(value="process", own=True),
    "won_or_lost": lambda: won_or_lost(),
    "below_promise": lambda: below_promise(mark="process"),
    "spare_correct": lambda: spare_correct(right="reward"),
    "best_of_k": lambda: best_of_k(k=1),
    "return_over_others": lambda: return_over_others("process", gamma=0.9, bounded=False),
    "branch_gain": lambda: branch_gain(),
    "branch_gain_alone": lambda: branch_gain("turns", outcome=0.0, std=False),
    "teacher_log_ratio": lambda: teacher_log_ratio(gives_to="advantage"),
    "turn_baseline": lambda: turn_baseline("process"),
    "role_baseline_turns": lambda: role_baseline("turns"),
    "weighted_baseline_turns": lambda: weighted_baseline("turns", weights="turns", others=True),
    "turn_baseline_turns": lambda: turn_baseline("turns"),
    "turn_baseline_steps": lambda: turn_baseline("process", per="step"),
}
STAGES = {
    **CHAINS,
    "centre_parent": lambda: centre(by="parent"),
    "centre_turn": lambda: centre("process", by="turn"),
    "centre_turn_turns": lambda: centre("turns", by="turn", others=True),
    "centre_parent_turns": lambda: centre("turns", by="parent"),
    "centre_episode": lambda: centre(by="episode"),
    "prefix_gain": lambda: prefix_gain(),
    "parted": lambda: parted("process", at="care"),
    "weigh_tokens": lambda: weigh_tokens("reward", right="reward", model="critic"),
    "only": lambda: only(with_rate("reward", 0.0, 1.0), "process"),
    "prefix_gain_of_children": lambda: prefix_gain(mean="child", once=True),
}


def filled(batch, seed):
    """Columns of every kind that credit reads, with holes."""
    generator = torch.Generator().manual_seed(seed)

    def column(level, holes):
        size = batch.size(level)
        value = torch.randn(size, generator=generator, dtype=torch.float64)
        reason = torch.where(torch.rand(size, generator=generator) < holes, int(Reason.FAILED), 0).to(torch.int8)
        value[reason > 0] = float("nan")
        return Column(level, value, reason)

    cols = {"reward": column("track", 0.2), "process": column("step", 0.1), "care": column("step", 0.0)}
    cols["turns"] = column("segment", 0.1)
    return batch.with_cols({**cols, "critic.value": column("step", 0.05), "critic.final": column("track", 0.0),
                            "teacher.logp": column("step", 0.05)})  # fmt: skip


def same(a, b):
    return torch.allclose(a.double(), b.double(), atol=1e-5, rtol=1e-5, equal_nan=True)


def parts():
    """The credit stages of the package by name: those of the shelf, and those that live with their recipe."""
    for name in (*(f"guerdon.credit.{module}" for module in MODULES), *part_modules()):
        importlib.import_module(name)
    ours = [part for place, part in PARTS.items() if place.startswith("guerdon.")]
    return {part.__name__: part for part in ours if shelf_of(part) == "credit"}


def test_every_part_is_held_to_the_contract():
    assert set(parts()) - PLAYED - SPELLED == {type(make()).__name__ for make in STAGES.values()}


def test_every_part_says_what_it_assumes_and_where_it_is_biased():
    for name, part in parts().items():
        text = part.__doc__ or ""
        assert "$" in text and "*Assumes*" in text and re.search("nbiased|iased", text), name
        assert ">>>" in text or name in PLAYED, name


# --- on any batch: drawn once, for every part -----------------------------------------------------------------------


@functools.cache
def drawn():
    """[(episodes, a seed, their batch with columns)], as many as the profile says."""
    cases = []

    @given(eps=episode_lists(continuous=False), seed=st.integers(0, 99))
    def draw(eps, seed):
        cases.append((eps, seed, filled(pack(eps), seed)))

    draw()
    return cases


@functools.cache
def shuffled():
    """Each with its episodes in another order, and where the rows of that one are in the first: [(batch, other, index)]."""
    cases = []
    for eps, seed, batch in drawn():
        order = torch.randperm(len(eps), generator=torch.Generator().manual_seed(seed)).tolist()
        index = {}
        for level, episode_of in (
            ("step", batch.episode[batch.seg]),
            ("track", batch.episode[batch.leaf]),
            ("segment", batch.episode),
        ):
            first = [0, *torch.cumsum(torch.bincount(episode_of, minlength=len(eps)), 0).tolist()]
            rows = [row for e in order for row in range(first[e], first[e + 1])]
            index[level] = torch.tensor(rows, dtype=torch.long)
        other = pack([eps[i] for i in order])
        cases.append((batch, other.with_cols({n: c.take(index[c.level]) for n, c in batch.cols.items()}), index))
    return cases


@functools.cache
def unfolded():
    """Each with the chains that its trees stand for: [(tree, chains, the tree's step for each of theirs)]."""
    cases = []
    for eps, _, tree in drawn():
        chains, step_M = pack(expanded(eps)), track_steps(tree).step
        assert len(step_M) == chains.S
        index = {"step": step_M, "segment": tree.path_seg, "track": torch.arange(tree.K)}
        cases.append((tree, chains.with_cols({n: c.take(index[c.level]) for n, c in tree.cols.items()}), step_M))
    return cases


@pytest.mark.sampled(5, "name")
@pytest.mark.hypothesis
@pytest.mark.parametrize("name", STAGES)
def test_the_order_of_episodes_changes_nothing(name):
    for batch, other, index in shuffled():
        stage, again = STAGES[name](), STAGES[name]()
        column = stage.gives[0]
        given_first, given_moved = stage(batch, ExamplePlay()).cols[column], again(other, ExamplePlay()).cols[column]
        assert same(given_first.value[index["step"]], given_moved.value), batch.episodes
        assert torch.equal(given_first.reason[index["step"]], given_moved.reason), batch.episodes


@pytest.mark.hypothesis
@pytest.mark.parametrize("name", STAGES)
def test_what_it_reads_stays_as_it_was(name):
    for _, _, batch in drawn():
        before = {n: (c.value.clone(), c.reason.clone()) for n, c in batch.cols.items()}
        STAGES[name]()(batch, ExamplePlay())
        for column, (value, reason) in before.items():
            assert torch.equal(batch[column].nan_to_num(9.0), value.nan_to_num(9.0)), (column, batch.episodes)
            assert torch.equal(batch.cols[column].reason, reason), (column, batch.episodes)


@pytest.mark.sampled(5, "name")
@pytest.mark.hypothesis
@pytest.mark.parametrize("name", CHAINS)
def test_a_tree_is_the_chains_it_stands_for(name):
    for tree, chains, step_M in unfolded():
        stage, again = CHAINS[name](), CHAINS[name]()
        column = stage.gives[0]
        apart = again(chains, ExamplePlay())[column].double()
        assert same(stage(tree, ExamplePlay())[column], gather_up(apart, step_M, tree.S, "mean")), tree.episodes


@pytest.mark.hypothesis
@pytest.mark.parametrize("name", sorted({*STAGES} - {"only"}))
def test_what_is_not_learned_from_a_failed_score_does_not_depend_on_it(name):
    """A track without a reward gets no advantage on its own steps from a part that reads it.

    Not so `only`: rewards decide which groups it keeps, and what it keeps is another column.
    """
    for _, _, batch in drawn():
        stage = STAGES[name]()
        if "reward" not in stage.needs or batch.S == 0:
            continue
        column = stage(batch, ExamplePlay()).cols[stage.gives[0]]
        unrolled = track_steps(batch)
        alive = gather_up((~batch.cols["reward"].missing)[unrolled.track].double(), unrolled.step, batch.S, "max")
        assert column.missing[alive == 0].all(), batch.episodes


@pytest.mark.parametrize("name", STAGES)
def test_empty_and_one_step_episodes(name):
    for eps in ([], [episode(error="broke")], [episode(segment([]))], [episode(segment([0]))]):
        batch = filled(pack(eps), 3)
        stage = STAGES[name]()
        assert len(stage(batch, ExamplePlay())[stage.gives[0]]) == batch.S


COMPARED = ["centre", "centre_others", "centre_position", "centre_parent", "separately", "weighted_baseline"]


@pytest.mark.hypothesis
@pytest.mark.parametrize("name", [*COMPARED, "best_of_k", "prefix_gain", "whiten"])
def test_a_constant_added_to_the_reward_changes_no_comparison(name):
    for _, seed, batch in drawn():
        shift = (seed - 50) / 10
        moved = batch.with_cols({"reward": Column("track", batch["reward"] + shift, batch.cols["reward"].reason)})
        one, other = STAGES[name]()(batch, ExamplePlay()), STAGES[name]()(moved, ExamplePlay())
        assert same(one["advantage"], other["advantage"]), batch.episodes
