"""Values of a tree's nodes and gains between them: played trees, tries that begin alike, chains that are played on.

By hand, by what they must equal, and against exact values where those can be listed.
"""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from strategies import episode, segment, task

from guerdon.core.column import Column
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay, example_tries
from guerdon.core.pack import pack
from guerdon.core.task import Ask, Sampling
from guerdon.credit.group_relative import centre
from guerdon.credit.restart_values import restarts
from guerdon.credit.tree import Tree, branch_gain, prefix_gain
from guerdon.engine.player import Player
from guerdon.envs.simple import single_turn
from guerdon.models.probing import probe
from guerdon.models.tables import tabular
from guerdon.rewards.stage.score_stages import score
from guerdon.search.grown_trees import sampled_tree


def rewarded(episodes, *rewards):
    value = torch.tensor([float("nan") if r is None else r for r in rewards])
    reason = torch.where(value.isnan(), 2, 0).to(torch.int8)
    return pack(episodes).with_cols({"reward": Column("track", value, reason)})


def given(stage, batch):
    play = ExamplePlay()
    return stage(batch, play)["advantage"].tolist(), play.metrics


def uneven():
    """a ends at once (0); b goes on to c (1), d (0) and e (1)."""
    return [episode(segment([0]), segment([1, 2]), *(segment([i], parent=1) for i in (3, 4, 5)))]


# --- played trees -------------------------------------------------------------------------------------------------


def test_a_tree_by_hand():
    tree = Tree(torch.tensor([-1, 0, 0, 2]), torch.tensor([0.5, 1.0, 0.25, 1.0]).double(), torch.tensor([1, 3, -1]))
    assert tree.gain.nan_to_num(9).tolist() == [9.0, 0.5, -0.25, 0.75] and tree.children.tolist() == [2, 0, 1, 0]
    assert tree.gained().nan_to_num(9).tolist() == [0.5, 0.75, 9.0]
    assert tree.begun().nan_to_num(9).tolist() == [0.5, 0.25, 9.0]


def test_each_track_counts_or_each_child():
    batch = rewarded(uneven(), 0.0, 1.0, 0.0, 1.0)
    by_track, _ = given(prefix_gain(), batch)  # the start is worth 1/2, b 2/3
    assert by_track == pytest.approx([-1 / 2, 1 / 6, 1 / 6, 1 / 3, -2 / 3, 1 / 3])
    by_child, _ = given(prefix_gain(mean="child"), batch)  # the start is worth (0 + 2/3) / 2
    assert by_child == pytest.approx([-1 / 3, 1 / 3, 1 / 3, 1 / 3, -2 / 3, 1 / 3])
    once, _ = given(prefix_gain(mean="child", once=True), batch)  # b stands for three tracks
    assert once == pytest.approx([-1 / 3, 1 / 9, 1 / 9, 1 / 3, -2 / 3, 1 / 3])


def test_a_value_that_is_missing_is_in_no_mean():
    batch = rewarded(uneven(), 0.0, 1.0, None, 0.0)
    gains, _ = given(prefix_gain(mean="child"), batch)
    assert gains[:3] == pytest.approx([-0.25, 0.25, 0.25]) and gains[3] == 0.5 and math.isnan(gains[4])


@pytest.mark.parametrize("mean", ["track", "child"])
def test_a_tree_of_depth_one_is_dr_grpo(mean):
    batch = example_tries([[0.0, 1.0, 1.0, None], [2.0, 0.5]], steps=3)
    gains, centred = given(prefix_gain(mean=mean, once=True), batch)[0], given(centre(std=False), batch)[0]
    assert gains == pytest.approx(centred, nan_ok=True)


@pytest.mark.parametrize("mean", ["track", "child"])
def test_a_tree_of_width_one_is_a_chain_whose_first_segment_has_it_all(mean):
    chains = [episode(segment([0]), segment([1], parent=0), segment([2], parent=1), attempt=i) for i in range(2)]
    gains, noted = given(prefix_gain(mean=mean, once=True), rewarded(chains, 1.0, 0.0))
    assert gains == [0.5, 0.0, 0.0, -0.5, 0.0, 0.0] and noted["advantage/only_children"] == pytest.approx(4 / 6)


# --- tries that begin alike ---------------------------------------------------------------------------------------


def tries(*said, rewards, context=(1,)):
    return rewarded([episode(segment(s, context=context), attempt=i) for i, s in enumerate(said)], *rewards)


def test_tries_that_part_by_hand():
    """0 1 2 (1), 0 1 3 (0), 0 4 4 (1), 5 0 1 (0): V = 1/2 at the start, 2/3 after 0, 1/2 after 01."""
    batch = tries([0, 1, 2], [0, 1, 3], [0, 4, 4], [5, 0, 1], rewards=[1.0, 0.0, 1.0, 0.0])
    gains, noted = given(branch_gain(outcome=0.0, std=False), batch)
    up, down = 2 / 3 - 1 / 2, 1 / 2 - 2 / 3
    assert gains == pytest.approx([up, down, 0.5, up, down, -0.5, up, 1 - 2 / 3, 0.0, -0.5, 0.0, 0.0])
    whole, _ = given(branch_gain(eps=0.0), batch)
    deviation = math.sqrt(1 / 3)  # of 1, 0, 1, 0
    gap = [0.5] * 3 + [-0.5] * 3 + [0.5] * 3 + [-0.5] * 3
    assert whole == pytest.approx([(r + g) / deviation for r, g in zip(gap, gains, strict=True)])
    assert noted["advantage/branching"] == pytest.approx(9 / 12)  # at the start four, after 0 three, after 01 two
    assert noted["advantage/shared"] == pytest.approx(5 / 12)


def test_corrections_along_a_try_add_up_to_its_reward_less_the_mean():
    said = [[0, 1, 2, 0], [0, 1, 2, 1], [0, 1], [0, 2, 2], [3]]
    batch = tries(*said, rewards=[1.0, 0.0, 0.25, 2.0, 0.0])
    made = branch_gain(outcome=0.0, std=False)(batch, ExamplePlay())
    total = batch.up(made["advantage"].double(), "track")
    want = batch["reward"].double() - batch["reward"].double().mean()
    ended_inside = batch["reward"].double()[:3].mean()  # 0 1 is where two others are still on their way
    want[2] = ended_inside - batch["reward"].double().mean()
    assert total.tolist() == pytest.approx(want.tolist())


def test_tries_that_share_nothing_have_grpos_advantage_and_their_first_step_twice_that():
    batch = tries([0, 1, 1], [1, 1, 1], [2, 1, 1], rewards=[1.0, 0.0, 0.5])
    made, plain = given(branch_gain(), batch)[0], given(centre(), batch)[0]
    assert made == pytest.approx([a * (2 if i % 3 == 0 else 1) for i, a in enumerate(plain)])


def test_tries_that_never_part_have_grpos_advantage():
    batch = tries([0, 1], [0, 1], rewards=[1.0, 0.0])  # a reward that is random
    made, noted = given(branch_gain(), batch)
    assert made == pytest.approx(given(centre(), batch)[0]) and noted["advantage/branching"] == 0.0


def test_what_was_shown_tells_tries_apart():
    def turns(answer, last):
        return segment([0]), segment([last], parent=0, context=[answer])

    same = [episode(*turns(7, 3), attempt=0), episode(*turns(7, 4), attempt=1)]
    other = [episode(*turns(7, 3), attempt=0), episode(*turns(8, 3), attempt=1)]
    for episodes in (same, other):
        gains, _ = given(branch_gain(outcome=0.0, std=False), rewarded(episodes, 1.0, 0.0))
        assert gains == [0.0, 0.5, 0.0, -0.5]


def test_a_try_without_a_value_is_in_no_mean_and_tasks_are_apart():
    first = [episode(segment([0]), attempt=0), episode(segment([1]), attempt=1), episode(segment([1]), attempt=2)]
    batch = rewarded([*first, episode(segment([0]), name="other", number=1)], 1.0, 0.0, None, 5.0)
    gains, _ = given(branch_gain(outcome=0.0, std=False), batch)
    assert gains[:2] == [0.5, -0.5] and math.isnan(gains[2]) and gains[3] == 0.0


# --- chains that are played on ------------------------------------------------------------------------------------


class Replay(ExamplePlay):
    """Plays nothing anew: what comes of a place is as many actions as stand before it."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __call__(self, asks, env=None, seats=None):
        self.seen += [(ask.prefix.of, ask.prefix.step, ask.n) for ask in asks]
        return [
            episode(segment([0] * ask.prefix.step), number=n, ask=ask, attempt=i)
            for n, ask in enumerate(asks)
            for i in range(ask.n)
        ]


class Length:
    """A score: how many actions a track has, of ten."""

    needs, gives = (), ("reward",)

    def __call__(self, batch, play):
        return batch.put("reward", "track", batch.up(torch.ones(batch.S), "track") / 10)


SURE, UNSURE = math.log(0.95), math.log(0.5)


def chain(logp, **fields):
    batch = pack([episode(segment([0] * len(logp), logp=logp, **fields), attempt=i) for i in range(2)])
    return Length()(batch, None)


def placed(batch, **knobs):
    play = Replay()
    made = restarts(Length(), tries=2, **knobs)(batch, play)
    return play, made


def test_a_segment_holds_so_many_unlikely_steps():
    batch = chain([SURE, UNSURE, SURE, UNSURE, UNSURE, SURE, UNSURE, SURE])
    play, made = placed(batch, below=0.9, every=2)  # the third unlikely step is number 4
    assert play.seen == [("0.0.0", 0, 2), ("0.0.0", 4, 2), ("0.0.1", 4, 2)]  # the start of both tries is played once
    assert made["value"].tolist() == pytest.approx(([0.0] * 4 + [0.4] * 4) * 2)
    assert made["advantage"].tolist() == pytest.approx(([0.4] * 4 + [0.8 - 0.4] * 4) * 2)
    assert [at for _, at, _ in placed(batch, below=0.9, every=1)[0].seen] == [0, 3, 4, 6, 3, 4, 6]


def test_every_so_many_steps_and_line_ends():
    batch = chain([SURE] * 5)
    assert [at for _, at, _ in placed(batch, every=2)[0].seen] == [0, 2, 4, 2, 4]
    marks = torch.tensor([float("nan"), 1.0, 2.0, float("nan"), 3.0]).repeat(2)
    lined = batch.with_cols({"ends": Column("step", marks, marks.isnan().to(torch.int8))})
    assert [at for _, at, _ in placed(lined, lines="ends", every=1)[0].seen] == [0, 2, 3, 2, 3]  # not behind the last
    assert [at for _, at, _ in placed(lined, lines="ends", every=2)[0].seen] == [0, 3, 3]


def test_what_is_given_is_not_cut():
    batch = chain([UNSURE] * 5, given=2)
    assert [at for _, at, _ in placed(batch, below=0.9, every=1)[0].seen] == [2, 3, 4, 2, 3, 4]


def test_a_chain_is_a_tree_of_width_one():
    """Values that are played, put on the nodes of a chain by hand, give the same gains."""
    _, made = placed(chain([UNSURE] * 6), every=2)
    tree = Tree(torch.tensor([-1, 0, 1, 2]), torch.tensor([0.0, 0.2, 0.4, 0.6]), torch.tensor([1, 1, 2, 2, 3, 3]))
    assert made["advantage"].tolist() == pytest.approx(tree.gained().tolist() * 2)
    assert made["value"].tolist() == pytest.approx(tree.begun().tolist() * 2)


def test_how_a_chain_is_cut_must_be_said():
    with pytest.raises(UserError, match="every=1 or more"):
        restarts(Length(), below=0.9)
    with pytest.raises(UserError, match="leave one out"):
        restarts(Length(), below=0.9, every=1, lines="ends")


# --- against the truth --------------------------------------------------------------------------------------------

LENGTH = 4


def ones(completion):
    return float(completion.count("1") % 3 == 1)


@pytest.fixture(scope="module")
def exact():
    """The policy, and the exact value of every beginning of an answer to problem a."""
    model = tabular("01", length=LENGTH, spread=1.5)
    model.start(5, {})
    words = ["".join(w) for w in itertools.product("01", repeat=LENGTH)]
    view = Ask(task("a")).shown
    read = probe(model, [((), view, w) for w in words], ["logp"])
    logp = {w: each["logp"].tolist() for w, each in zip(words, read, strict=True)}
    value = {w: ones(w) for w in words}
    for size in range(LENGTH - 1, -1, -1):
        for w in map("".join, itertools.product("01", repeat=size)):
            likely = {a: math.exp(next(lp for word, lp in logp.items() if word.startswith(w + a))[size]) for a in "01"}
            assert sum(likely.values()) == pytest.approx(1.0, abs=1e-5)
            value[w] = sum(p * value[w + a] for a, p in likely.items())
    return model, value


def errors(stage, env, exact, n):
    """The mean squared error of a stage's advantages against the exact ones, and their correlation, over tracks' steps."""
    model, value = exact
    play = Player({"policy": model}, {"policy": "policy"}, env, Sampling(max_tokens=LENGTH), 3, 1)
    play.begin(0)
    batch = score(ones)(pack(play([Ask(task("a"), n)])), play)
    made, (step, track) = stage(batch, play)["advantage"].double(), batch.track_steps
    said, truth = [""] * batch.K, []
    for s, k in zip(step.tolist(), track.tolist(), strict=True):
        before, said[k] = said[k], said[k] + model.decode([int(batch.action[s])])
        truth.append(value[said[k]] - value[before])
    truth = torch.tensor(truth, dtype=torch.float64)
    both = torch.stack([made[step], truth])
    return float((both[0] - both[1]).square().mean()), float(torch.corrcoef(both)[0, 1])


@pytest.mark.slow
def test_credit_of_segments_is_closer_to_the_truth_than_that_of_answers(exact):
    grpo = errors(centre(std=False), single_turn(), exact, 64)
    merged = errors(branch_gain(outcome=0.0, std=False), single_turn(), exact, 64)
    tempo = errors(branch_gain(std=False), single_turn(), exact, 64)
    chains = errors(restarts(score(ones), tries=16, every=1), single_turn(), exact, 64)
    grown_by_one = errors(prefix_gain(mean="child"), sampled_tree(branch=(8, 4, 4, 4), tokens=1), exact, 1)
    for error, likeness in (merged, chains, grown_by_one):
        assert error < grpo[0] / 3 and likeness > grpo[1] + 0.2
    assert tempo[1] > grpo[1] + 0.05  # GRPO's term is still in it
