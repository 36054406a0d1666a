"""ExIt by hand: what joins the buffer of histories, what is drawn from it, the chain of revisions, and the recipe."""

from __future__ import annotations

import json
import math
from collections import Counter

import numpy as np
import pytest
import torch
from killing import killed_at
from refusals import refusal
from test_hints import echo
from watching import Watched

import guerdon as gd
from guerdon.core.column import Column
from guerdon.core.episode import End, Episode, Segment
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay
from guerdon.core.pack import pack
from guerdon.core.part import get_state, part, set_state
from guerdon.core.seeds import derive
from guerdon.core.task import Ask, Sampling, Task
from guerdon.engine.player import Player
from guerdon.envs.simple import single_turn
from guerdon.models.tables import tabular
from guerdon.recipes.curriculum.exit.parts import histories, revised
from guerdon.tasks import load
from guerdon.training.build import RunRequest, build
from guerdon.training.catalog import listings
from guerdon.training.evaluate import evaluate

TEMPLATE = "{prompt} < {attempt}"


class At(ExamplePlay):
    """A play whose dice follow its step and place."""

    def __init__(self, step=0, seed=0):
        super().__init__()
        self.step, self.seed = step, seed

    def generator(self, *path):
        return torch.Generator().manual_seed(derive(self.seed, self.step, *path))


def drawer(**knobs):
    return histories(load("countdown:3"), TEMPLATE, **{"tries": 2, "least": 1, **knobs})


def played(asks, values, play, said="attempt", end=End.DONE):
    """A batch of tries at asks: their scores, and what each said."""
    episodes, flat = [], []
    for number, (ask, scores) in enumerate(zip(asks, values, strict=True)):
        for attempt, value in enumerate(scores):
            text = f"{said} {number}.{attempt}"
            segment = Segment("policy", ask.shown, np.zeros(1, np.int64), [0], [0.0], text, end=end)
            episodes.append(Episode(ask, (segment,), play.step, number, attempt))
            flat.append(math.nan if value is None else value)
    return pack(episodes).with_cols(
        {"correct": Column("track", value := torch.tensor(flat), value.isnan().to(torch.int8))}
    )


# --- what joins --------------------------------------------------------------------------------------------------


def test_a_try_of_each_ask_that_disagreed_joins_with_the_variance_of_its_group():
    play, draws = At(), drawer()
    asks = draws.draw(4, play)
    assert [ask.note for ask in asks] == [{"depth": 0}] * 4
    draws.observe(played(asks, [[0.0, 1.0], [1.0, 1.0], [0.0, 0.0, 0.0, 1.0], [0.0, None]], play), play)
    assert [(k["variance"], k["depth"]) for k in draws.buffer.values()] == [(0.25, 1), (0.1875, 1)]
    assert [Task(**k["task"]) for k in draws.buffer.values()] == [asks[0].task, asks[2].task]
    for name, kept in draws.buffer.items():
        _, number, attempt = name.split(".")
        assert kept["attempt"] == f"attempt {number}.{attempt}"


def test_which_try_joins_is_a_matter_of_lot():
    joined = Counter()
    for step in range(60):
        play, draws = At(step), drawer()
        draws.observe(played(draws.draw(1, play), [[0.0, 1.0, 0.0]], play), play)
        joined.update(k["attempt"] for k in draws.buffer.values())
    assert set(joined) == {"attempt 0.0", "attempt 0.1", "attempt 0.2"}  # right and wrong alike


def test_a_history_that_was_asked_has_the_variance_of_its_own_tries():
    play, draws = At(), drawer(share=1.0)
    draws.observe(played(draws.draw(1, play), [[0.0, 1.0]], play), play)
    (name,) = draws.buffer
    play = At(1)
    (ask,) = draws.draw(1, play)
    assert ask.note == {"history": name, "depth": 1}
    draws.observe(played([ask], [[0.0, 0.0, 0.0, 1.0]], play, "again"), play)
    first, second = draws.buffer.values()
    assert (first["variance"], first["depth"]) == (0.1875, 1)
    assert (second["variance"], second["depth"]) == (0.1875, 2)  # one step deeper
    assert second["attempt"].startswith("again")
    assert first["task"] == second["task"]


def test_one_that_is_always_solved_is_never_asked_again():
    play, draws = At(), drawer(share=1.0)
    draws.observe(played(draws.draw(1, play), [[0.0, 1.0]], play), play)
    (ask,) = draws.draw(1, At(1))
    draws.observe(played([ask], [[1.0, 1.0]], At(1)), At(1))
    assert [k["variance"] for k in draws.buffer.values()] == [0.0]
    assert draws.draw(1, At(2))[0].note == {"depth": 0}


def test_the_buffer_keeps_what_varies_most_and_of_equals_the_latest():
    draws = drawer(keep=3)
    for step, scores in enumerate(([0, 1], [0, 0, 0, 1], [0, 1], [0, 1], [0, 0, 0, 0, 0, 0, 0, 1])):
        play = At(step)
        fresh = drawer().draw(1, play)
        draws.observe(played(fresh, [[float(s) for s in scores]], play, f"step {step}"), play)
    assert [k["attempt"][:6] for k in draws.buffer.values()] == ["step 0", "step 2", "step 3"]
    late = At(9)
    draws.observe(played(drawer().draw(1, late), [[0.0, 1.0]], late, "step 9"), late)
    assert [k["attempt"][:6] for k in draws.buffer.values()] == ["step 2", "step 3", "step 9"]


def test_what_was_cut_short_or_runs_on_does_not_join():
    play, draws = At(), drawer()
    asks = draws.draw(1, play)
    draws.observe(played(asks, [[0.0, 1.0]], play, end=End.CUT), play)
    draws.observe(played(asks, [[0.0, 1.0]], play, said="x" * 1000), play)
    assert draws.buffer == {}


def test_an_empty_batch_changes_nothing():
    draws = drawer()
    draws.observe(played([], [], At()), At())
    assert (draws.buffer, draws.draw(0, At())) == ({}, [])


# --- what is drawn -----------------------------------------------------------------------------------------------


def filled(variances, **knobs):
    """A drawer whose buffer holds histories of such variances."""
    draws = drawer(**knobs)
    task = {"id": "t", "prompt": "1 2 = 3", "answer": "3", "family": "countdown", "level": 3, "meta": {"goal": 3}}
    for n, variance in enumerate(variances):
        draws.buffer[str(n)] = {"task": task, "attempt": f"try {n}", "variance": variance, "depth": n}
    return draws


def test_a_history_is_the_problem_with_the_attempt():
    (ask,) = filled([0.25], share=1.0).draw(1, At())
    assert ask.shown == "1 2 = 3 < try 0"
    assert (ask.task.prompt, ask.task.kind, ask.task.meta, ask.n) == ("1 2 = 3", "countdown:3", {"goal": 3}, 2)


@pytest.mark.sampled(1, "power")
@pytest.mark.parametrize(
    ("power", "shares"), [(1.0, [0.6, 0.3, 0.1]), (0.0, [1 / 3] * 3), (2.0, [36 / 46, 9 / 46, 1 / 46])]
)
def test_histories_are_drawn_in_proportion_to_a_power_of_their_variance(power, shares):
    draws, found = filled([0.24, 0.12, 0.0, 0.04], share=1.0, power=power), Counter()
    for step in range(1500):
        found.update(ask.note["history"] for ask in draws.draw(1, At(step)))
    assert [found[n] / 1500 for n in ("0", "1", "3")] == pytest.approx(shares, abs=0.03)
    assert found["2"] == 0


def test_half_of_the_asks_are_histories_once_there_are_enough():
    few, many = filled([0.2] * 15, least=16), filled([0.2] * 200, least=16)
    assert all("history" not in ask.note for ask in few.draw(40, At()))
    share = np.mean(["history" in ask.note for step in range(50) for ask in many.draw(40, At(step))])
    assert share == pytest.approx(0.5, abs=0.04)


def test_a_history_comes_once_a_draw_and_problems_fill_up():
    play, draws = At(), filled([0.2, 0.1], share=1.0)
    asks = draws.draw(5, play)
    assert sorted(ask.note.get("history", "-") for ask in asks) == ["-", "-", "-", "0", "1"]
    assert (draws.drawn, draws.asked) == (3, 5)
    assert play.metrics == {
        "histories/kept": 2.0,
        "histories/asked": 2 / 5,
        "histories/depth": 0.5,
        "histories/variance": pytest.approx(0.15),
    }
    fresh = [ask.task for ask in asks if "history" not in ask.note]
    assert fresh == [load("countdown:3").get("train", i) for i in range(3)]


def test_two_draws_of_a_step_differ():
    draws = filled([0.2] * 50, share=1.0)
    first, second = ([ask.note["history"] for ask in draws.draw(5, At())] for _ in range(2))
    assert first != second


def test_a_template_without_its_fields_is_refused():
    with refusal(UserError):
        histories(load("countdown:3"), "{prompt}")
    with refusal(UserError):
        revised("{attempt} {prompt} {more}")


def test_the_state_is_plain_and_goes_on_as_if_never_saved():
    play, draws = At(), drawer(share=0.5)
    draws.observe(played(draws.draw(3, play), [[0.0, 1.0]] * 3, play), play)
    saved = json.loads(json.dumps(get_state(draws)))
    other = drawer(share=0.5)
    set_state(other, saved)
    for step in range(1, 4):
        ours, theirs = draws.draw(4, At(step)), other.draw(4, At(step))
        assert ours == theirs
        for each, asks in ((draws, ours), (other, theirs)):
            each.observe(played(asks, [[0.0, 1.0]] * 4, At(step)), At(step))
    assert json.dumps(draws.buffer) == json.dumps(other.buffer)


# --- the chain ---------------------------------------------------------------------------------------------------


def player(env, model=None):
    model = model or tabular("ab", length=2, rows=64, spread=1.0)
    model.start(0, {})
    return Player({"policy": model}, {"draft": "policy", "policy": "policy"}, env, Sampling(), seed=1, steps=1)


def test_an_answer_is_shown_again_and_the_last_one_counts():
    play = player(revised(TEMPLATE, times=2))
    (episode,) = play([Ask(Task("0", "p"))])
    first, second, last = episode.segments
    assert [s.role for s in episode.segments] == ["draft", "draft", "policy"]
    assert first.view == "p"
    assert second.view == f"p < {first.text}"
    assert last.view == f"p < {second.text}"  # of the problem and the latest attempt alone
    assert [s.parent for s in episode.segments] == [-1, -1, -1]


def test_a_step_of_training_is_one_answer_from_where_it_starts():
    play = player(made(times=3).env)
    (episode,) = play([Ask(Task("0", "p"), prompt="p < ab", note={"depth": 1})])
    assert [(s.role, s.view) for s in episode.segments] == [("policy", "p < ab")]


@part
class dawning(tabular):
    """Knows nothing of a problem, and all of an attempt: it copies it with its first `b` made an `a`."""

    def act(self, requests):
        return [self.teacher_force(r.view, r.view.partition("< ")[2].replace("b", "a", 1) or "bbb") for r in requests]


class Says:
    """Right is `aaa`."""

    name = "says"

    def size(self, split):
        return 2

    def get(self, split, index):
        return Task(str(index), f"p{index}")

    def check(self, task, completion):
        return float(completion == "aaa")


@pytest.mark.parametrize(("times", "found"), [(0, 0.0), (2, 0.0), (3, 1.0), (5, 1.0)])
def test_the_exam_is_the_quality_after_so_many_revisions(times, found):
    model = dawning("ab", length=3)
    model.start(0, {})
    seats = {"draft": "policy", "policy": "policy"}
    exam = gd.Exam(Says(), env=revised(TEMPLATE, times=times), seats=seats)
    result = evaluate([exam], {"policy": model}, {"policy": "policy"}, single_turn(), Sampling(), tries=2)
    assert (result["pass@1"], result["tasks"], result["missing"]) == (found, 2, 0.0)


# --- the recipe --------------------------------------------------------------------------------------------------


def made(name="exit", **settings):
    table = {"tabular.vocab": "ab", "tabular.length": 4, "tabular.rows": 4096, "prompts": 4, "tries": 8, "lr": 0.3}
    own = {"histories.least": 2} if name == "exit" else {}
    return build(RunRequest(name, echo(), "tabular", settings={**table, **own, **settings})).recipe


def test_what_it_is_made_of():
    recipe = made(times=3, share=0.25, power=0.5, keep=9)
    draws, credit = recipe.curriculum, recipe.stages[1]
    chain = recipe.exams[0].env
    assert draws.template == chain.template == "revise\n{prompt}\n{attempt}"
    assert (draws.tries, draws.share, draws.power, draws.keep, chain.times) == (8, 0.25, 0.5, 9, 3)
    assert repr(credit) == "centre(reward='correct', by='ask')"
    recipe.check()


def test_its_wording_is_that_of_the_role_the_model_knows():
    source = load("revise/countdown:3")
    shown = source.get("train", 0)
    problem, attempt = shown.meta["problem"], shown.prompt.split("\n", 2)[2]
    assert made().curriculum.template.format(prompt=problem, attempt=attempt) == shown.prompt


def test_it_is_listed_with_its_paper():
    assert listings()["exit"].paper == "arXiv:2509.04575"


def test_without_histories_it_learns_what_grpo_does():
    assert torch.equal(Watched(made(share=0.0), 4).weights, Watched(made("grpo", **{"centre.by": "ask"}), 4).weights)


@pytest.mark.slow
def test_it_trains_on_its_own_attempts_and_goes_deeper():
    run = Watched(made(), 40)
    notes = [[e.ask.note for e in batch.episodes[::8]] for batch in run.batches]
    assert all("history" not in note for note in notes[0])
    assert any("history" in note for step in notes for note in step)
    assert max(note["depth"] for step in notes for note in step) >= 2
    for batch in run.batches:
        assert {len(e.segments) for e in batch.episodes} == {1}  # one step at a time
        for e in batch.episodes[::8]:
            assert e.ask.shown.startswith("revise\n") == ("history" in e.ask.note)
    assert len(run.recipe.curriculum.buffer) <= 256


@pytest.mark.slow
def test_a_run_that_was_broken_off_goes_on_the_same(tmp_path):
    table = {"tabular.vocab": "01", "tabular.length": 1, "tabular.rows": 256, "prompts": 4, "lr": 0.3}
    wish = {"task": "parity", "model": "tabular", "settings": {**table, "histories.least": 2}}

    def train(out, every):
        options = gd.Options(save_every=every, eval_tasks=2)
        return gd.train("exit", out=tmp_path / out, seed=2, options=options, steps=6, **wish)

    whole = train("whole", 1000)
    with killed_at(4):
        train("broken", 2)
    resumed = gd.train(resume=tmp_path / "broken")
    assert resumed.weights == whole.weights
    for step in range(6):
        assert resumed.batch(step).same(whole.batch(step))
    asked = [e.ask.note for step in range(6) for e in whole.batch(step).episodes]
    assert any("history" in note for note in asked)
