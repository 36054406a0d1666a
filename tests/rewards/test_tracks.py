"""What rewards and checkers are given of a track: its own path, what it made, did and was shown; of one role or several."""

from __future__ import annotations

import asyncio
import dataclasses
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from refusals import refusal
from strategies import episode, segment

import guerdon as gd
from guerdon.bridges.serve.scoring_queue import check_servable
from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.core.pack import pack
from guerdon.core.seeds import derive
from guerdon.core.task import Ask, Sampling, Task, truth_of
from guerdon.engine.player import Player
from guerdon.models.tables import tabular
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.algebra import normalised
from guerdon.rewards.formula.scores import cause
from guerdon.rewards.stage.score_stages import checker, score, verified
from guerdon.rewards.stage.step_labels import line_labels
from guerdon.tasks.changed_source import ChangedSource
from guerdon.tasks.families.chained_arithmetic import chain
from guerdon.tasks.mixtures import mixture

sys.path.append(str(Path(__file__).parent.parent / "shapes"))
from spiral import deals, kuhn

DARK, GREY = np.zeros((2, 2, 3), np.uint8), np.full((2, 2, 3), 51, np.uint8)


@gd.part
class painter(tabular):
    """Paints a picture in the grey that its first action names."""

    def act(self, requests):
        return [
            dataclasses.replace(r, made=np.full((2, 2, 3), 28 * int(r.actions[0]), np.uint8))
            for r in super().act(requests)
        ]


@gd.part
class studio:
    """Two pictures after a look at one, and then time is up."""

    roles = ("policy",)

    async def play(self, ask, seats):
        await seats["policy"].act(ask.shown)
        await seats["policy"].act("again")
        seats.cut(policy={"seen": GREY})
        return seats.episode()


def played(env, model, seats=("policy",), tasks=3, tries=4):
    model.start(0, {"policy": model})
    play = Player({"policy": model}, dict.fromkeys(seats, "policy"), env, Sampling(max_tokens=2), 0, 1)
    asks = [Ask(Task(str(i), f"paint {i}", str(i), "paint"), tries, view=["like this", DARK]) for i in range(tasks)]
    return pack(play(asks)), play


def grey(made, actions):
    """In a worker, where arrays must arrive as they are."""
    assert (made.dtype.name, made.shape, actions.dtype.name) == ("uint8", (2, 2, 3), "int64")
    assert (made == 28 * actions[0]).all()
    return float(made.mean())


def paths_are_own(path, view, completion, turns, prompt):
    assert [s.role for s in path] == ["policy"] * 3 and len(path[2].actions) == 0
    assert view[0] == "like this" and view[1].dtype.name == "uint8" and path[2].view["seen"].max() == 51
    assert turns == [path[0].text, path[1].text] and completion == path[1].text
    assert prompt.startswith("paint ")
    return [float(s.made.max()) for s in path[:2]]


@pytest.mark.parametrize("isolate", [True, False])
def test_rewards_are_given_what_a_track_made_did_and_was_shown(isolate):
    batch, play = played(studio(), painter(length=2))
    formula = gd.blend(grey=gd.reward(grey, isolate=isolate), own=gd.reward(paths_are_own, isolate=isolate))
    found = score(formula)(batch, play)
    last = [e.segments[1] for e in (batch.episodes[i] for i in batch.episode[batch.leaf])]
    assert found["reward.grey"].tolist() == [28.0 * s.actions[0] for s in last]
    first = [e.segments[0].made.max() for e in (batch.episodes[i] for i in batch.episode[batch.leaf])]
    assert found["reward.own"].tolist() == [float(a) + 28.0 * s.actions[0] for a, s in zip(first, last, strict=True)]
    assert not bool(found.cols["reward"].broken.any())


def test_a_number_a_turn_lies_on_turns_and_not_on_what_was_only_shown():
    batch, play = played(studio(), painter(length=2), tasks=1, tries=1)
    assert score(gd.reward(lambda turns: [1.0] * len(turns), isolate=False))(batch, play)["reward_steps"].tolist() == [
        0.0, 1.0, 0.0, 1.0,
    ]  # fmt: skip


def test_a_track_is_its_own_among_those_of_others():
    """Two tracks of one role and another role below: each is given its own."""
    tree = episode(
        segment([1], text="a", made=1),
        segment([2, 2], parent=0, text="b", made=2),
        segment([3], parent=0, text="c", made=3),
        segment([9], role="judge", parent=2, text="good", made=9),
    )
    fields = Samples.of_batch(pack([tree]), None, "policy").fields
    assert [[s.text for s in each["path"]] for each in fields] == [["a", "b"], ["a", "c"]]
    assert [(each["made"], each["actions"].tolist(), each["turns"]) for each in fields] == [
        (2, [2, 2], ["a", "b"]),
        (3, [3], ["a", "c"]),
    ]
    silent = Samples.of_batch(pack([episode(segment([]))]), None, "policy").fields[0]
    assert (silent["completion"], silent["turns"], len(silent["actions"]), silent["made"]) == ("", [""], 0, None)


def test_a_turn_that_went_on_is_one_turn_with_all_that_was_done_in_it():
    gone_on = segment([4], parent=1, text="so", view=" well, ", goes_on=True, made=4)
    said = episode(segment([1], text="hm"), segment([2, 3], parent=0, text="but"), gone_on, segment([], parent=2))
    (fields,) = Samples.of_batch(pack([said]), None, "policy").fields
    assert fields["turns"] == ["hm", "but well, so"] and fields["completion"] == "but well, so"
    assert fields["actions"].tolist() == [2, 3, 4] and fields["made"] == 4 and len(fields["path"]) == 4


# --- checkers -------------------------------------------------------------------------------------------------------


@gd.part
class paintings:
    """Right if the picture is as bright as the task says; text says nothing about it."""

    name = "paintings"

    def size(self, split):
        return 3

    def get(self, split, index):
        return Task(str(index), f"paint {index}", str(index), "paint")

    def check(self, task, completion):
        return None

    def check_track(self, task, track):
        return float(track["made"].max() == 28 * int(task.answer))


@gd.part
class framed(ChangedSource):
    """The same paintings in a frame."""

    source: object


@pytest.mark.parametrize(
    "source",
    [paintings(), framed(paintings()), mixture("both", [paintings(), chain(level=2)])],
    ids=["plain", "around", "mixed"],
)
def test_a_checker_may_look_at_what_was_made(source):
    batch, play = played(studio(), painter(length=1), tries=16)
    want = [float(e.segments[1].actions[0] == int(e.task.answer)) for e in batch.episodes]
    assert set(want) == {0.0, 1.0}
    assert verified(source)(batch, play)["correct"].tolist() == want
    assert score(checker(source))(batch, play)["reward"].tolist() == want


def test_a_checker_of_text_looks_at_the_text():
    source = chain(level=2)
    task = source.get("test", 0)
    for text, want in ((source.solution(task), 1.0), ("= nothing", 0.0)):
        assert truth_of(source, task, {"completion": text, "made": DARK}) == want
        assert truth_of(mixture("one", [source]), task, {"completion": text}) == want


@gd.part
class moods:
    """Returns, or raises, what the text names."""

    name = "moods"

    def size(self, split):
        return 1

    def get(self, split, index):
        return Task("0", "how?", "half", "moods")

    def check(self, task, completion):
        if completion == "breaks":
            raise ValueError("no such mood")
        if completion == "late":
            raise TimeoutError("asleep")
        if completion == "waits":
            return self.later()
        if completion == "nests":
            return asyncio.run(self.later())
        return {"half": 0.5, "nothing": None, "nan": float("nan"), "words": "good", "steps": [0.25, 0.5]}[completion]

    async def later(self):
        return 0.75


def test_the_truth_is_what_the_checker_gives_as_a_reward():
    """Called a track at a time, without the machinery of rewards: the same numbers, reasons and causes."""
    texts = ("half", "breaks", "late", "nothing", "nan", "words", "steps", "waits", "nests")
    source = moods()
    steps = [gd.Segment("policy", "", [], [0, 0], [0.0, 0.0], text=text) for text in texts]
    batch = pack([gd.Episode(gd.Ask(source.get("train", 0)), (each,)) for each in steps])
    play = Player({}, {}, studio(), Sampling(), 0, 1)
    truth = verified(source)(batch, play).cols["correct"]
    assert truth.reason.tolist() == [0, 2, 3, 1, 2, 2, 0, 0, 0]
    assert torch.nan_to_num(truth.value, nan=-1.0).tolist() == [0.5, -1, -1, -1, -1, -1, 0.75, 0.75, 0.75]
    assert "no such mood" in truth.detail[1]["error"] and truth.detail[6] == {"steps": [0.25, 0.5]}
    asked = score(checker(source))(batch, play).cols["reward"]
    assert torch.equal(truth.reason, asked.reason) and torch.equal(truth.value.nan_to_num(), asked.value.nan_to_num())
    causes = {k: cause(detail) for k, detail in truth.detail.items()}
    assert causes == {k: cause(detail) for k, detail in asked.detail.items()} and len(causes) == 5


# --- roles ----------------------------------------------------------------------------------------------------------


@gd.reward(isolate=False)
def bold(completion, role):
    return {"first": 10.0, "second": 20.0}[role] + completion.count("b")


@pytest.fixture
def games():
    model = tabular("pb", length=1)
    model.start(0, {"policy": model})
    play = Player({"policy": model}, {"first": "policy", "second": "policy"}, kuhn(), Sampling(), 0, 1)
    return pack(play(deals(tries=8).draw(6, play))), play


def test_several_roles_are_scored_at_once_and_never_compared(games):
    batch, play = games
    first, second = (batch.tracks_of([role]) for role in ("first", "second"))
    one, other, both = (
        score(bold, role=role)(batch, play).cols["reward"] for role in ("first", "second", ("first", "second"))
    )
    assert bool((one.reason[second] == Reason.NOT_APPLICABLE).all()) and bool((other.reason[first] == 1).all())
    assert torch.equal(both.value[first], one.value[first]) and torch.equal(both.value[second], other.value[second])
    centred = score(normalised(bold, scale=False), role=("first", "second"))(batch, play)["reward"]
    group, n = batch.group("task")
    assert n == 12 and batch.K == 96
    for g in range(n):
        assert float(centred[group == g].sum()) == pytest.approx(0.0, abs=1e-5)


def test_the_truth_of_several_roles(games):
    @gd.part
    class hands(paintings):
        def check_track(self, task, track):
            return float(track["role"] == "first")

    batch, play = games
    found = verified(hands(), role=("first", "second"))(batch, play)["correct"]
    assert found.tolist() == batch.tracks_of(["first"]).float().tolist()
    assert bool(verified(hands(), role="second")(batch, play)["correct"].isnan().any())


@pytest.mark.parametrize("role", [(), ("first", 2), 3, ""])
def test_a_role_that_is_none_is_refused(role):
    for make in (
        lambda: score(bold, role=role),
        lambda: verified(chain(), role=role),
        lambda: line_labels(chain(), role=role),
    ):
        with refusal(UserError):
            make()


def test_a_replay_scores_the_roles_that_the_run_did(tmp_path):
    from spiral import spiral

    recipe = spiral.build({}, {"steps": 1})
    recipe.stages[0] = score(bold, role=("first", "second"))
    run = gd.train(recipe, out=tmp_path / "run", options=gd.Options(eval_tasks=0, rollouts_every=1))
    found = gd.replay(run, reward=bold)
    assert found.total["samples"] == found.total["scored"] == run.batch(0).K
    assert found.total["old_mean"] == found.total["new_mean"]


def test_a_path_is_not_served():
    with refusal(UserError):
        check_servable(gd.reward(lambda path: 1.0))


def test_the_task_of_the_docs_checks_pictures():
    text = (Path(__file__).parent.parent.parent / "docs" / "your_own_task.md").read_text()
    block = next(b for b in re.findall(r"```python\n(.*?)```", text, re.S) if "check_track" in b)
    names: dict[str, Any] = {"__name__": __name__}
    exec(block, names)
    source = names["squares"]()
    task = source.get("test", 3)
    assert [truth_of(source, task, {"made": made}) for made in (np.eye(4), np.eye(5))] == [1.0, 0.0]


def test_a_track_has_the_seed_of_its_place_whoever_looks():
    episodes = [episode(segment([1]), segment([2], parent=0)).but(step=3, number=n) for n in range(3)]
    seeds = Samples.of_batch(pack(episodes), None, "policy", seed=7).seeds
    want = [derive(7, 3, f"3.{n}.0", 1) for n in range(3)]
    assert (list(seeds), seeds[1], list(seeds[1:]), len(seeds)) == (want, want[1], want[1:], 3)
