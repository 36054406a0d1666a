"""Episode memory: what is kept, what is drawn, what comes along with it, by hand; and what it must not touch."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch
from refusals import refusal
from scheduling import little_and_much
from strategies import episode, segment
from watching import Watched

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay
from guerdon.core.optim import sgd
from guerdon.core.pack import of_episodes, pack, played_at
from guerdon.credit.group_relative import centre
from guerdon.curricula.plain import uniform
from guerdon.envs.simple import single_turn
from guerdon.losses.penalties import kl
from guerdon.losses.policy import clipped
from guerdon.models.frozen_copy import snapshot
from guerdon.models.tables import tabular
from guerdon.rewards.stage.score_stages import score, verified
from guerdon.runs.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from guerdon.runs.summary import batch_metrics
from guerdon.select.filters import at_least, best
from guerdon.select.memory import remembered
from guerdon.tasks.families.tiny import parity
from guerdon.training.readings import fill_needs


class At(ExamplePlay):
    models = {"policy": None}

    def __init__(self, step):
        super().__init__()
        self.step = step

    def generator(self, *path):
        return torch.Generator().manual_seed(self.step)


def step_of(step, rewards, families="", names=""):
    """One try for each reward (None: it failed), each of a task of its own."""
    eps = []
    for n, _ in enumerate(rewards):
        task = gd.Task(names[n] if names else f"{step}.{n}", "p", family=families[n] if families else "f")
        eps.append(episode(segment([n], logp=[-0.5 - step]), ask=gd.Ask(task), number=n, step=step))
    value = torch.tensor([math.nan if r is None else float(r) for r in rewards])
    reason = torch.where(value.isnan(), int(Reason.FAILED), 0).to(torch.int8)
    return pack(eps).with_cols({"reward": Column("track", value, reason)})


def keys(batch):
    return [e.key for e in batch.episodes]


def after(memory, *rewards, **fields):
    """The memory after steps of these rewards."""
    for step, each in enumerate(rewards):
        memory(step_of(step, each, **fields), At(step))
    return memory


# --- keeping -------------------------------------------------------------------------------------------------------


def test_the_newest_are_kept():
    memory = after(remembered(keep=3, draw=0), [1, 2], [3, 4])
    assert keys(memory.bank) == ["0.1.0", "1.0.0", "1.1.0"] and memory.bank["reward"].tolist() == [2.0, 3.0, 4.0]


def test_only_what_is_chosen_and_did_not_fail_is_kept():
    memory = after(remembered(draw=0, which=at_least("reward", 1.0)), [1, 0, None], [None, 2])
    assert memory.bank["reward"].tolist() == [1.0, 2.0]
    broken = pack([episode(segment([0]), error="it broke"), episode(segment([1]), attempt=1)])
    every = remembered(draw=0)
    every(broken, At(0))
    assert keys(every.bank) == ["0.0.1"]


def test_the_best_of_each_task_is_chosen_among_old_and_new():
    memory = after(remembered(draw=0, which=best("reward")), [1, 5], [3, 4], [2, 2], names="ab")
    assert keys(memory.bank) == ["0.1.0", "1.0.0"] and memory.bank["reward"].tolist() == [5.0, 3.0]


def test_what_is_too_old_is_forgotten():
    memory = after(remembered(draw=8, older=1), [1], [2], [3])
    assert keys(memory.bank) == ["1.0.0", "2.0.0"]
    found = memory(step_of(3, [4]), At(3))
    assert found["age"].tolist() == [0.0, 1.0] and found["reward"].tolist() == [4.0, 3.0]


# --- drawing -------------------------------------------------------------------------------------------------------


def test_what_is_drawn_comes_with_its_columns_and_log_probs():
    memory = after(remembered(draw=2), [1, 2])
    play = At(4)
    batch = memory(step_of(4, [7]).with_cols({"policy.logp": Column.full("step", torch.zeros(1))}), play)
    assert sorted(batch["reward"].tolist()) == [1.0, 2.0, 7.0] and batch["age"].tolist() == [0.0, 4.0, 4.0]
    assert batch.logp.tolist() == [-4.5, -0.5, -0.5]  # those they were sampled with
    assert "policy.logp" not in batch.cols and "policy.logp" not in memory.bank.cols  # read anew where needed
    assert play.metrics == {"memory/size": 3, "memory/drawn": 2, "memory/age": 4.0}
    assert batch.count.tracks == 3


def test_nothing_is_there_twice():
    one, other = (after(remembered(draw=4), [1, 2]) for _ in range(2))
    twice = other(one(step_of(1, [3]), At(1)), At(1))  # both remember the same
    assert sorted(keys(twice)) == ["0.0.0", "0.1.0", "1.0.0"] and twice.K == 3
    assert keys(one.bank) == keys(other.bank) == ["0.0.0", "0.1.0", "1.0.0"]  # what was joined is not kept again


def often(by, rewards, draws, **knobs):
    """How often each episode of the bank is drawn, one at a time."""
    memory = after(remembered(draw=1, by=by, **knobs), *rewards)
    bank, count = memory.bank, torch.zeros(len(memory.bank.episodes))
    play = At(len(rewards))
    for seed in range(draws):
        play.generator = lambda *path, seed=seed: torch.Generator().manual_seed(seed)
        count += memory._drawn(bank, pack([]), play)
    return (count / draws).tolist()


@pytest.mark.slow
@little_and_much("draws", 300, 2000)
def test_chances_are_those_that_are_said(draws):
    near = 1.4 / math.sqrt(draws)
    assert often("chance", [[0, 0], [0, 0]], draws) == pytest.approx([0.25] * 4, abs=near)
    old, new = math.exp(-2), math.exp(-1)
    assert often("age", [[0], [0]], draws) == pytest.approx([old / (old + new), new / (old + new)], abs=near)
    weights = torch.softmax(torch.tensor([0.0, 1.0, 2.0]) / 2.0, 0).tolist()
    assert often("reward", [[0, 1, 2]], draws, temperature=2.0) == pytest.approx(weights, abs=near)
    assert often("age", [[0], [0]], draws, temperature=0.01) == [0.0, 1.0]


def test_as_many_of_each_family():
    memory = after(remembered(draw=4, by="family"), [0] * 9, families="aaaaaaabc")
    drawn = memory._drawn(memory.bank, pack([]), At(1))
    found = [e.task.family for e, is_in in zip(memory.bank.episodes, drawn.tolist(), strict=True) if is_in]
    assert sorted(found) == ["a", "a", "b", "c"]


def test_where_all_tries_at_a_task_are_alike_the_newest_joins_them():
    memory = remembered(by="alike", which=at_least("reward"))
    assert memory.needs == ("reward",)
    memory(step_of(0, [1.0, 1.0, 1.0, 0.0], names="abdc"), At(0))
    memory(step_of(1, [1.0, 1.0], names="ae"), At(1))
    alike, mixed, failed = [0.0, 0.0], [0.0, 1.0], [None]
    batch = memory(step_of(2, [*alike, *mixed, *failed, 0.0], names="aabbdc"), At(2))
    assert keys(batch) == [*(f"2.{n}.0" for n in range(6)), "1.0.0"], "b differs, d has no value, of c nothing is kept"
    assert keys(memory(step_of(3, [1.0, 0.0], names="ed"), At(3)))[2:] == ["0.2.0", "1.1.0"]
    few = remembered(draw=1, by="alike")
    few(step_of(0, [1.0, 1.0], names="ab"), At(0))
    assert keys(few(step_of(1, [0.0, 0.0], names="ba"), At(1)))[2:] == ["0.1.0"]


def test_what_has_no_value_is_not_drawn_by_it():
    memory = remembered(draw=4, by="reward")
    batch = step_of(0, [1, 2])
    value = Column("track", torch.tensor([1.0, math.nan]), torch.tensor([0, 1], dtype=torch.int8))
    memory(batch.with_cols({"reward": value}), At(0))
    assert keys(memory(step_of(1, []), At(1))) == ["0.0.0"]


def test_what_cannot_be_is_refused():
    with refusal(UserError, "4", "5"):
        remembered(keep=4, draw=5)
    with refusal(UserError):
        memory = remembered(by="reward", column="x")
        for step in (0, 1):
            memory(step_of(step, [1]).put("x", "step", torch.ones(1)), At(step))


def test_groups_are_those_of_the_ask_and_of_the_task():
    old = step_of(0, [1], names="a")
    memory = remembered(draw=1)
    memory(old, At(0))
    batch = memory(step_of(1, [3, 5], names="ab"), At(1))
    by_task = centre("reward", std=False, by="task")(batch, At(1))["advantage"].tolist()
    by_ask = centre("reward", std=False, by="ask")(batch, At(1))["advantage"].tolist()
    assert by_task == [1.0, 0.0, -1.0] and by_ask == [0.0, 0.0, 0.0]


# --- trees, and episodes alone --------------------------------------------------------------------------------------


def test_episodes_alone_are_as_if_there_had_been_no_others():
    tree = episode(
        segment([0]), segment([1], parent=0), segment([2], "judge", parent=0), segment([3], parent=0), number=1
    )
    batch = pack([episode(segment([5], "critic")), tree, episode(segment([6]), number=2, name="u")])
    batch = batch.put("x", "track", torch.arange(5.0)).put("y", "step", torch.arange(6.0))
    alone = of_episodes(batch, torch.tensor([False, True, True]))
    plain = pack(batch.episodes[1:]).put("x", "track", torch.arange(1.0, 5.0))
    assert alone.same(plain.put("y", "step", torch.arange(1.0, 6.0)))
    turns = batch.put("z", "segment", torch.arange(6.0))
    turns = dataclasses.replace(turns, muted=torch.tensor([True, False, True, False, False, True]))
    alone = of_episodes(turns, torch.tensor([False, True, False]))
    assert alone["z"].tolist() == [1.0, 2.0, 3.0, 4.0] and alone.muted.tolist() == [False, True, False, False]
    half = of_episodes(batch.take(batch["x"] != 1.0), torch.tensor([False, True, False]))  # one branch less
    assert half["x"].tolist() == [2.0, 3.0] and half.weight.tolist() == [1.0, 1.0, 1.0]
    assert [s.parent for s in half.episodes[0].segments] == [-1, 0, 0]
    assert played_at(batch, 0) is batch and played_at(batch, 1).K == 0


def test_a_bank_comes_back_from_a_checkpoint(tmp_path):
    memory = after(remembered(draw=0), [1, 2], [3])
    state = {"parts": {"stages.1": {"bank": memory.bank, "both": [pack([]), torch.ones(2)], "n": 1}}}
    save_checkpoint(tmp_path, Checkpoint(3, {"w": torch.zeros(1)}, state, memory.bank), 2)
    found = load_checkpoint(tmp_path, lambda message: pytest.fail(message))
    own = found.state["parts"]["stages.1"]
    assert own["bank"].same(memory.bank) and own["both"][0].K == 0 and own["both"][1].tolist() == [1.0, 1.0]
    assert found.ahead.same(memory.bank) and list(found.tensors) == ["w"]
    (tmp_path / "step-00000003" / "state-0.parquet").unlink()
    with pytest.raises(UserError, match="every checkpoint"):
        load_checkpoint(tmp_path, lambda message: None)


# --- in a run ------------------------------------------------------------------------------------------------------


@gd.part
class listening(uniform):
    """A curriculum that writes down what it is shown."""

    heard: list = gd.state(factory=list)

    def observe(self, batch, play):
        self.heard.append(sorted({e.step for e in batch.episodes}))


def recipe(micro=0, epochs=1, where=1, **knobs):
    loss = clipped() + kl(0.1, to="start")
    models = {"policy": tabular("01", length=1, rows=256), "start": snapshot("policy")}
    stages = [score(lambda completion: float(completion == "1")), centre(by="ask")]
    stages.insert(where, remembered(**{"keep": 12, "draw": 4, **knobs}))
    stages = [verified(parity()), *stages, gd.Learn("policy", loss, opt=sgd(lr=1.0), micro=micro, epochs=epochs)]
    return gd.Recipe(models, listening(parity(), tries=2), single_turn(), stages, prompts=4)


@pytest.mark.parametrize("where", [1, 2])
def test_old_tries_are_learned_from_beside_new_ones(where):
    seen = Watched(recipe(where=where), 4)
    assert [len(b.episodes) for b in seen.batches] == [8, 12, 12, 12]
    assert [row["memory/size"] for row in seen.rows] == [8, 12, 12, 12]
    learn = seen.recipe.stages[-1]
    for batch in seen.batches[1:]:
        rows = learn.rows(fill_needs(batch, learn.needs, seen.play), seen.play)
        assert rows.K == 12  # every one has an advantage and was read by the reference
        assert len(set(keys(batch))) == 12 and (batch["age"] > 0).sum() == 4
        assert bool((~batch.cols["advantage"].missing).all()) and bool((~batch.cols["correct"].missing).all())


def test_old_tries_are_in_no_report_and_seen_by_no_curriculum():
    seen = Watched(recipe(which=at_least("reward", 1.0)), 4)
    assert seen.recipe.curriculum.heard == [[0], [1], [2], [3]]
    batch = seen.batches[-1]
    fresh = batch["age"] == 0
    assert batch_metrics(batch)["reward/mean"] == pytest.approx(float(batch["reward"][fresh].mean()))
    assert float(batch["reward"].mean()) > float(batch["reward"][fresh].mean())


@pytest.mark.slow
def test_micro_batches_change_nothing():
    whole, small = (Watched(recipe(micro=micro), 4) for micro in (0, 1))
    assert torch.allclose(whole.weights, small.weights, rtol=1e-6, atol=1e-8)
    assert [keys(b) for b in whole.batches] == [keys(b) for b in small.batches]
