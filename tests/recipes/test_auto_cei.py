"""Auto-CEI by hand: what a refusal is worth, tries told otherwise and more often, hill climbing, and the study."""

from __future__ import annotations

import json
import math
from collections import Counter

import numpy as np
import pytest
import torch
from killing import Killed
from refusals import refusal
from scheduling import mostly_slow
from small import small_lm
from strategies import episode, segment

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.core.episode import End, Episode, Segment
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay, example_tries
from guerdon.core.learn import Learn
from guerdon.core.pack import pack
from guerdon.core.part import part
from guerdon.core.task import Ask, Task
from guerdon.exams.drawing import draw_problems
from guerdon.losses.imitation import sft
from guerdon.losses.signs import finished
from guerdon.models.tables import tabular
from guerdon.recipes.curriculum.auto_cei.parts import abstention, examined_on, held, or_refused, resampled, retold
from guerdon.select.filters import in_turn
from guerdon.studies.climb import climb
from guerdon.tasks import load
from guerdon.training.catalog import find_recipe, listings


def said(texts, right, end=End.DONE, task=None):
    """A batch of tries at one problem, with what they said and whether it was right."""
    ask = Ask(task or Task("0", "p"))
    made = [
        Episode(ask, (Segment("policy", "p", np.zeros(1, np.int64), [0], [0.0], text, end=end),), attempt=n)
        for n, text in enumerate(texts)
    ]
    value = torch.tensor([math.nan if r is None else float(r) for r in right])
    reason = torch.where(value.isnan(), int(Reason.FAILED), 0).to(torch.int8)
    return pack(made).with_cols({"correct": Column("track", value, reason)})


# --- what a refusal is worth -------------------------------------------------------------------------------------


def test_right_is_one_wrong_is_minus_one_and_refusals_lie_between():
    """At the bar a refusal is worth 0; one step above it 2/(1+e^-0.5) - 1; two steps below 2/(1+e^1) - 1."""
    texts = ["= 3", "= 4", "a\nb\nc\n= no", "a\nb\nc\nd\n= no", "a\n= no", "no answer", "= 3"]
    batch = said(texts, [1, 0, 0, 0, 0, 0, None])
    found = or_refused(c1=3.0, c2=0.5)(batch, ExamplePlay())["worth"].tolist()
    by_hand = [1.0, -1.0, 0.0, 2 / (1 + math.exp(-0.5)) - 1, 2 / (1 + math.exp(1.0)) - 1, -1.0]
    assert found[:-1] == pytest.approx(by_hand, abs=1e-6)
    assert math.isnan(found[-1])


def test_far_from_the_bar_nothing_overflows_and_without_a_slope_nothing_counts():
    long = "\n".join(["a"] * 2000 + ["= no"])
    batch = said([long, "= no"], [0, 0])
    assert or_refused(c1=1000.0, c2=5.0)(batch, ExamplePlay())["worth"].tolist() == [1.0, -1.0]
    assert or_refused(c1=1000.0, c2=0.0)(batch, ExamplePlay())["worth"].tolist() == [0.0, 0.0]


def test_a_refusal_is_a_wrong_answer_to_every_family():
    for name in ("trace:3", "countdown:3", "chain:3", "boolean:2"):
        source = load(name)
        assert source.check(source.get("train", 0), "x\n= no") == 0.0


# --- told more often ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_how_often_a_try_is_there_follows_its_worth():
    """Three tries worth 1, 0 and -1 at temperature 0.5: of three draws e^2/(e^2+1+e^-2) are the first, and so on."""
    often = torch.zeros(2)
    for seed in range(200):
        play = ExamplePlay()
        play.generator = lambda *path, seed=seed: torch.Generator().manual_seed(seed)
        found = resampled("reward", temperature=0.5)(example_tries([[1.0, 0.0, -1.0]]), play)
        assert found["reward"].tolist() == [1.0, 0.0]  # -1 is left out, however often it was drawn
        often += found.weight
    chance = torch.softmax(torch.tensor([2.0, 0.0, -2.0]), 0)[:2]
    torch.testing.assert_close(often / 200, 1 + 3 * chance, atol=0.1, rtol=0.0)


def test_groups_are_drawn_by_themselves_and_denominators_count_the_copies():
    batch = example_tries([[1.0, 0.0], [0.5], [-1.0, -2.0], [None, 1.0]], steps=2)
    found = resampled("reward", temperature=0.01)(batch, ExamplePlay())
    assert found["reward"].tolist() == [1.0, 0.0, 0.5, 1.0]
    assert found.weight.view(4, 2)[:, 0].tolist() == [3.0, 1.0, 2.0, 2.0]
    assert (found.count.steps, found.count.tracks) == (16.0, 4)


def test_a_copy_counts_as_often_in_the_loss():
    found = resampled("reward", temperature=0.01)(example_tries([[1.0, 0.0]]), ExamplePlay())
    loss, _ = sft()(found, {"logp": torch.tensor([-1.0, -5.0])})
    assert loss.item() == pytest.approx((3 * 1.0 + 1 * 5.0) / 4)


def test_a_trunk_stands_for_all_copies_of_the_tracks_through_it():
    tree = episode(segment([0]), segment([0], parent=0), segment([0], parent=0))
    batch = pack([tree]).with_cols({"reward": Column.full("track", torch.tensor([1.0, 0.0]))})
    found = resampled("reward", temperature=0.01, by="ask")(batch, ExamplePlay())
    assert found.weight.tolist() == [4.0, 3.0, 1.0]
    alone = resampled("reward", temperature=0.01, by="ask", least=0.0)(batch, ExamplePlay())
    assert alone.weight.tolist() == [3.0, 3.0]


def test_edges_of_resampling():
    assert resampled("reward")(example_tries([]), ExamplePlay()).K == 0
    assert resampled("reward")(example_tries([[-1.0, None]]), ExamplePlay()).K == 0
    batch = example_tries([[1.0, 0.0]]).put("each", "step", torch.zeros(2))
    with refusal(UserError):
        resampled("each")(batch, ExamplePlay())


# --- told otherwise ----------------------------------------------------------------------------------------------


class Seated(ExamplePlay):
    def __init__(self):
        super().__init__()
        model = tabular("abcno= \n", rows=64)
        model.start(0, {})
        self.models, self.seats = {"clerk": model}, {"policy": "clerk"}


def test_wrong_answers_become_refusals_and_keep_the_way_that_was_gone():
    play = Seated()
    texts = ["a\nb\n= c", "a\n= b", "a\n= no", "b", "a\nb\n= a"]
    batch = said(texts, [0, 1, 0, 0, None])
    found = retold("= no")(batch, play)
    assert [e.segments[0].text for e in found.episodes] == ["a\nb\n= no", "a\n= b", "a\n= no", "= no", "a\nb\n= a"]
    model = play.models["clerk"]
    assert found.action[found.seg == 0].tolist() == model.teacher_force("p", "a\nb\n= no").actions.tolist()
    assert found.logp[found.seg == 0].isnan().all() and not found.logp[found.seg == 1].isnan().any()
    assert found["correct"].tolist()[:4] == [0.0, 1.0, 0.0, 0.0]
    assert play.metrics["retold_share"] == 3 / 5
    assert [e.segments[0].text for e in batch.episodes] == texts  # others see the generated text


def test_the_other_end_alone_may_be_learned():
    """What is told and the generated text begin alike; `= no` and the end of the turn are what is left to learn."""
    play = Seated()
    model = play.models["clerk"]
    reply = model.teacher_force("p", "a\n= b")
    segment = Segment("policy", "p", reply.context, reply.actions, np.zeros(6, np.float32), "a\n= b")
    batch = pack([Episode(Ask(Task("0", "p")), (segment,))]).put("correct", "track", torch.zeros(1))
    found = retold("= no", only_end=True)(batch, play)
    assert found.weight.tolist() == [0.0] * 4 + [1.0] * 3
    assert model.decode(found.action[found.weight > 0].tolist()) == "no"
    assert retold("= no")(batch, play).weight.tolist() == [1.0] * 7


def test_after_a_selection_it_tells_what_is_left():
    whole, cut = said(["a\n= b"], [0]), said(["a\nb"], [0], end=End.CUT)
    both = pack([*cut.episodes, *whole.episodes]).put("correct", "track", torch.zeros(2))
    found = in_turn([finished(), retold("= no")])(both, Seated())
    assert [e.segments[0].text for e in found.episodes] == ["a\n= no"]
    assert found["correct"].tolist() == [0.0]


def test_several_turns_are_refused():
    two = pack([episode(segment([0]), segment([0], parent=0))]).put("correct", "track", torch.zeros(1))
    with refusal(UserError):
        retold("= no")(two, Seated())


# --- measuring and climbing --------------------------------------------------------------------------------------


class Threes:
    """Right is 3."""

    def check(self, task, completion):
        return float(completion.endswith("= 3"))


def test_the_objective_weighs_precision_and_refusals():
    texts = ["= 3", "a\n= 4", "a\nb\n= 3", "a\nb\nc\n= no", "= no"]
    found = abstention(Threes(), said(texts, [0] * 5).episodes, weight=0.25)
    lengths = [0, 1, 2, 3, 0]
    assert found == pytest.approx(
        {
            "objective": 0.75 * 2 / 3 + 0.25 * 3 / 5,
            "precision": 2 / 3,
            "refused": 2 / 5,
            "accuracy": 2 / 5,
            "depth": 1.5,
            "spread": float(np.std(lengths)),
        }
    )
    lazy = abstention(Threes(), said(["= no"], [0]).episodes)
    assert (lazy["objective"], lazy["precision"], lazy["refused"]) == (0.0, 0.0, 1.0)
    bold = abstention(Threes(), said(["a\nb\n= 3"], [0]).episodes)
    assert (bold["objective"], bold["depth"]) == (1.0, 2.0)


def test_what_it_is_measured_on_is_apart_from_training():
    source = load("trace:2")
    assert [ask.task for ask in held(source, 2)] == [source.get("train", 2**19 + i) for i in range(2)]
    few = load("trace:2@8")
    assert len(held(few, 10)) == 10


@pytest.mark.slow
def test_the_exam_is_drawn_by_the_seed_with_as_many_tries_at_every_level():
    source = load("trace:1-3")
    asks = examined_on(source, 600, seed=4)
    tries = Counter(dict.fromkeys(source.kinds(), 0))
    for ask in asks:
        tries[ask.task.kind] += ask.n
    assert sum(ask.task.kind == "trace:1" for ask in asks) < 100 == sum(ask.task.kind == "trace:3" for ask in asks) // 2
    assert max(tries.values()) == 200 and min(tries.values()) > 150
    assert [ask.task for ask in asks] == draw_problems(source, 600, 4)
    assert len(examined_on(source, 0, 4)) > 150  # a run that does not say how many


def hill(place):
    return -((place - 3.0) ** 2)


def test_it_goes_on_while_it_gets_better_and_back_where_it_does_not():
    made = climb("", 1.0, 1.0, 7, lambda best, place, n: f"{best}{n}", lambda x: 0.0)
    assert (made.best, made.place) == ("0", 1.0)  # none is better than the first
    assert [place for place, _ in made.path] == [1.0, 2.0, 0.0, 2.0, 0.0, 2.0, 0.0]
    places = {}

    def go(best, place, number):
        places[number] = place
        return number

    found = climb(-1, 1.0, 1.0, 6, go, lambda number: hill(places[number]))
    assert [places[n] for n in range(6)] == [1.0, 2.0, 3.0, 4.0, 2.0, 4.0]
    assert (found.best, found.place) == (2, 3.0)
    assert found.path == [(p, hill(p)) for p in places.values()]


def test_every_round_goes_on_from_the_best():
    started = []

    def go(best, place, number):
        started.append(best)
        return number

    climb(-1, 0.0, 1.0, 4, go, {0: 1.0, 1: 0.5, 2: 2.0, 3: 0.0}.__getitem__)
    assert started == [-1, 0, 0, 2]
    assert climb("s", 0.5, 1.0, 0, go, len).best == "s"


# --- the study ---------------------------------------------------------------------------------------------------


@part
class sums:
    """Sums of one line: two of four can be known, for their letter never changes; the others are drawn by lot."""

    name = "sums"

    def size(self, split):
        return 4

    def get(self, split, index):
        return Task(str(index), f"sum {index}", "aa" if index < 2 else "cc", family="sums")

    def check(self, task, completion):
        return float(completion == f"= {task.answer}")


def study(out, **settings):
    table = {"rounds": 2, "steps": 3, "lr": 0.3}
    model = tabular("=acno ", length=4, rows=256)
    options = gd.Options(eval_tasks=0, save_every=1)
    return gd.train(
        "auto-cei", out=out, seed=3, task=sums(), model=model, settings={**table, **settings}, options=options
    )


def result(run):
    return json.loads((run.path / "result.json").read_text())


def test_it_is_listed_with_its_paper():
    assert listings()["auto-cei"].paper == "arXiv:2410.07627"
    (claim,) = find_recipe("auto-cei").claims
    assert claim.metric == "objective"


@pytest.mark.slow
@pytest.mark.parametrize("refusal", mostly_slow(["curriculum", "constant", "none"], "curriculum"))
def test_it_runs_to_its_end_and_says_what_came_of_it(refusal, tmp_path):
    found = result(study(tmp_path / "run", refusal=refusal))
    assert found["objective"] == pytest.approx(0.8 * found["precision"] + 0.2 * (1 - found["refused"]))
    assert [point["spent"] for point in found["curve"]] == [6, 9]
    inner = sorted((tmp_path / "run" / "inner").glob("*/run.json"))
    assert len(inner) == 3  # R-tuning and two rounds


@pytest.mark.slow
def test_first_it_learns_to_refuse(tmp_path):
    """By chance almost nothing is right, so almost everything is retold, and soon most is refused."""
    assert result(study(tmp_path / "run", rounds=0, steps=25))["refused"] > 0.6


@pytest.mark.slow
def test_a_study_that_was_broken_off_goes_on_the_same(tmp_path, monkeypatch):
    small_lm(tmp_path / "lm")
    update, seen = Learn.update, []

    def start(out):
        wish = {"task": "chain:1", "model": str(tmp_path / "lm"), "settings": {"rounds": 1, "steps": 2, "lr": 3e-3}}
        return gd.train("auto-cei", out=tmp_path / out, seed=2, options=gd.Options(eval_tasks=0, save_every=1), **wish)

    def dies(self, rows, play):
        seen.append(play.step)
        if len(seen) == 2:  # in the second step of R-tuning
            raise Killed
        return update(self, rows, play)

    whole = start("whole")
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Learn, "update", dies)
        start("broken")
    seen.clear()
    with monkeypatch.context() as patch:
        patch.setattr(Learn, "update", lambda self, rows, play: seen.append(play.step) or update(self, rows, play))
        again = gd.train(resume=tmp_path / "broken")
    assert seen[0] == 1  # what was done is read, not redone
    assert result(again) == result(whole)
