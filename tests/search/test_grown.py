"""Full trees of segments, of tokens and of lines: their shape, their limit, how their tracks end and what they say."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from refusals import refusal
from strategies import task

from guerdon import models
from guerdon.core.batch import ENDS
from guerdon.core.episode import End
from guerdon.core.errors import UserError
from guerdon.core.pack import pack
from guerdon.core.task import Ask, Sampling
from guerdon.engine.player import Player
from guerdon.envs.simple import single_turn
from guerdon.models.tables import tabular
from guerdon.rewards.asking.samples import completion_of, paths
from guerdon.search.grown_trees import sampled_tree


def played(env, model=None, asks=None, **how):
    model = model or tabular("0123456789", length=9, spread=1.5)
    model.start(1, {})
    play = Player({"policy": model}, {"policy": "policy"}, env, Sampling(**how), 0, 10)
    return play, play(asks or [Ask(task("a"), 1)])


def ends(batch):
    return [ENDS[n] for n in batch.end[batch.leaf].tolist()]


def test_a_full_tree_has_every_way_and_samples_each_segment_once():
    play, (tree,) = played(sampled_tree(branch=(2, 3, 2), tokens=2), max_tokens=20)
    batch = pack([tree])
    assert (batch.G, batch.K) == (2 + 6 + 12, 12)
    assert batch.length.tolist() == [2] * 8 + [5] * 12  # the last level goes on to the end
    assert play.tokens == 2 * 8 + 5 * 12
    assert ends(batch) == [End.DONE] * 12 and [s.end for s in tree.segments[:8]] == [End.CUT] * 8
    assert [s.goes_on for s in tree.segments] == [False] * 2 + [True] * 18


def test_the_limit_is_that_of_the_whole_answer():
    _, (tree,) = played(sampled_tree(branch=(2, 2, 2), tokens=4), max_tokens=7)
    batch = pack([tree])
    assert batch.K == 4 and batch.up(torch.ones(batch.S), "track").tolist() == [7.0] * 4
    assert ends(batch) == [End.CUT] * 4  # 4 and 3 tokens: nothing is left for a third level


def test_what_is_over_is_not_branched():
    model = tabular("01", spread=0.0)  # says an end a third of the time
    _, trees = played(sampled_tree(branch=(2, 2, 2), tokens=1), model, [Ask(task("a"), 8)], max_tokens=6)
    batch = pack(trees)
    over = batch.end == ENDS.index(End.DONE)
    assert over.any() and not over[batch.parent[batch.parent >= 0]].any()
    assert 16 < batch.K < 64


def test_a_tree_of_width_one_is_an_answer_that_never_stopped():
    one = {"temperature": 0.0, "max_tokens": 8}
    _, (whole,) = played(single_turn(), **one)
    for tokens in (1, 3, 20):
        _, (tree,) = played(sampled_tree(branch=(1, 1, 1), tokens=tokens), **one)
        assert np.concatenate([s.actions for s in tree.segments]).tolist() == whole.segments[0].actions.tolist()
        assert tree.segments[-1].end is whole.segments[0].end


def test_log_probs_are_those_it_was_sampled_with():
    model = tabular("0123456789", length=9, spread=1.5)
    _, trees = played(sampled_tree(branch=(2, 2, 2), tokens=2), model)
    batch = pack(trees)
    with torch.no_grad():
        read = model.read(batch, ["logp"])["logp"]
    assert np.allclose(read.numpy(), batch.logp.numpy(), atol=1e-5)


def test_lines_are_whole_and_the_text_has_its_breaks():
    model = tabular("01\n", length=8, spread=0.0)
    _, trees = played(sampled_tree(branch=(2, 2, 2), tokens=0), model, [Ask(task("a"), 6)], max_tokens=8)
    batch = pack(trees)
    for episode, path in paths(batch):
        said = "".join(model.decode(s.actions) for s in path)
        assert completion_of(path) == said
        for s in path[:-1]:
            assert s.text.endswith("\n") and s.text.count("\n") == 1 and s.end is End.STOPPED
        assert path[-1].end in (End.DONE, End.CUT) and len(said) <= 8
        assert episode.segments[0].goes_on is False


def test_a_line_break_that_meets_the_limit_is_a_cut():
    model = tabular("\n", length=9)
    _, (tree,) = played(sampled_tree(branch=(1, 1, 1, 1), tokens=0), model, max_tokens=2)
    assert [(s.end, s.text) for s in tree.segments] == [(End.STOPPED, "\n"), (End.CUT, "\n")]


def test_a_stop_string_ends_an_answer_and_is_not_in_it():
    model = tabular("0123456789", length=9, spread=0.0)
    _, trees = played(sampled_tree(branch=(3, 3), tokens=4), model, [Ask(task("a"), 4)], max_tokens=9, stop=("7",))
    batch = pack(trees)
    stopped = [completion_of(path) for _, path in paths(batch) if path[-1].end is End.STOPPED]
    assert stopped and not any("7" in text for text in stopped)
    assert not any(s.end is End.STOPPED for _, path in paths(batch) for s in path[:-1])


@pytest.mark.slow
def test_sprig_solves_line_by_line():
    model = models.load("sprig-1.1")
    _, trees = played(sampled_tree(branch=(2, 1, 1), tokens=0), model, [Ask(task("chain 3 +4 *2"), 1)], max_tokens=60)
    for _, path in paths(pack(trees)):
        said = model.decode(np.concatenate([s.actions for s in path]))
        assert completion_of(path).strip() == said.strip()


def test_what_cannot_be_grown_says_how_to_mend_it():
    with refusal(UserError, "4", "2", "0"):
        sampled_tree(branch=(2, 0))
    with pytest.raises(UserError, match=r"remove sampling\.stop"):
        played(sampled_tree(tokens=0), stop=("7",))
