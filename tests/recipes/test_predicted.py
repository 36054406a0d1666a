"""Problems chosen by a forecast: the choice by hand, what is read and taught, that it costs no token; and PCL."""

from __future__ import annotations

import json

import pytest
import torch
from killing import killed_at
from refusals import refusal
from small import small_lm
from strategies import episode, segment

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay
from guerdon.core.learn import Learn
from guerdon.core.optim import sgd
from guerdon.core.pack import pack
from guerdon.core.part import get_state, set_state
from guerdon.core.task import Ask, Task
from guerdon.curricula.forecast_problems import forecasts, nearest, predicted, prompts_alone
from guerdon.curricula.plain import uniform
from guerdon.losses.reward_modelling import outcome
from guerdon.models import value_head
from guerdon.models.language_model import lm
from guerdon.models.tables import tabular
from guerdon.tasks import load
from guerdon.tasks.families.tiny import parity, successor
from guerdon.training.catalog import find_recipe
from guerdon.training.loop import start


def reader(folder, opinion=True):
    """A small model with a head, which says different numbers for different prompts or, fresh, 0."""
    small_lm(folder)
    model = lm(source=str(folder), value=True)
    model.start(0, {})
    head = value_head.head_of(model.decoder)
    if opinion:
        with torch.no_grad():
            head.weight.copy_(torch.linspace(-1, 1, len(head.weight)))
            head.bias.fill_(0.25)
    return model


def aside(**models):
    play = ExamplePlay()
    play.models = models
    return play


def came_of(asks, values, words=((0,),), column="correct"):
    """The batch of some asks: each one's tries were worth so much, None where the score failed."""
    episodes = [
        episode(segment(words[j % len(words)]), ask=ask, number=i, attempt=j)
        for i, (ask, own) in enumerate(zip(asks, values, strict=True))
        for j in range(len(own))
    ]
    value = torch.tensor([float("nan") if v is None else float(v) for own in values for v in own])
    reason = torch.where(value.isnan(), int(Reason.FAILED), 0).to(torch.int8)
    return pack(episodes).with_cols({column: Column("track", value, reason)})


# --- the choice --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "forecast", "n", "chosen"),
    [
        ("abcde", [0.1, 0.45, 0.9, 0.5, 0.52], 2, [3, 4]),
        ("abcde", [0.52, 0.9, 0.5, 0.1, 0.45], 3, [0, 2, 4]),  # in the order they were read in
        ("abcde", [0.25, 0.75, 0.25, 0.75, 0.0], 3, [0, 1, 2]),  # as far on either side: the first
        ("abcde", [0.0, 0.0, 0.0, 0.0, 0.0], 3, [0, 1, 2]),  # no opinion: in order
        ("abcde", [-3.0, 0.1, 0.2, 4.0, 1.1], 3, [1, 2, 4]),  # a forecast need not be a chance
        ("aabbc", [0.5, 0.5, 0.9, 0.9, 0.0], 3, [0, 2, 4]),  # the same problem again only when nothing else is there
        ("aabbc", [0.5, 0.5, 0.9, 0.9, 0.0], 4, [0, 1, 2, 4]),
    ],
)
def test_the_nearest_are_chosen(names, forecast, n, chosen):
    assert nearest([Task(name, name) for name in names], forecast, 0.5, n) == chosen


def test_it_chooses_by_what_the_model_says(tmp_path):
    source, play = load("countdown:1-3"), aside(forecaster=reader(tmp_path))
    read = [uniform(source).draw(12, play)[i].task for i in range(12)]
    says = forecasts([Ask(task) for task in read], "forecaster", play)
    assert len(set(says)) == 12
    want = sorted(sorted(range(12), key=lambda i: abs(says[i] - 0.3))[:4])
    asks = predicted(source, tries=5, times=3, target=0.3).draw(4, play)
    assert [ask.task for ask in asks] == [read[i] for i in want]
    assert [ask.note["forecast"] for ask in asks] == [says[i] for i in want] and {ask.n for ask in asks} == {5}
    assert play.metrics["forecast/mean"] == pytest.approx(sum(says) / 12)
    assert play.metrics["forecast/chosen"] == pytest.approx(sum(says[i] for i in want) / 4)
    second = [says[i] for i in range(12) if read[i].kind == "countdown:2"]
    assert play.metrics["forecast/countdown:2"] == pytest.approx(sum(second) / 4)


def test_a_fresh_head_takes_them_in_order(tmp_path):
    source, play = load("countdown:1-3"), aside(forecaster=reader(tmp_path, opinion=False))
    asks = predicted(source).draw(4, play)
    assert [ask.task for ask in asks] == [ask.task for ask in uniform(source).draw(4, play)]
    assert play.metrics["forecast/std"] == 0.0


def test_candidates_that_were_not_chosen_are_passed_over(tmp_path):
    source, play = load("countdown:1@8"), aside(forecaster=reader(tmp_path))
    made = predicted(source, times=2)
    for lap in (1, 2):  # two draws of two of four are a lap of the eight
        assert len({ask.task.key for _ in range(2) for ask in made.draw(2, play)}) == 4
        assert made.drawn == 8 * lap


def test_a_forecast_is_the_value_before_the_first_word_of_a_try(tmp_path):
    model = reader(tmp_path / "lm")
    made = find_recipe("pcl").build({"task": successor(), "model": lm(source=str(tmp_path / "lm"))}, {"max_tokens": 6})
    _, play = start(made, 0, 1)
    asks = [Ask(successor(level=2).get("train", i), 2) for i in range(5)]
    batch = pack(play(asks))
    first = torch.cumsum(batch.length, 0) - batch.length
    with torch.no_grad():
        said = model.read(batch, ["value"])["value"][first]
    found = forecasts([Ask(ask.task) for ask in asks], "forecaster", aside(forecaster=model))
    assert len({round(f, 4) for f in found}) > 1
    torch.testing.assert_close(said, torch.tensor(found).repeat_interleave(2), check_dtype=False, atol=1e-5, rtol=1e-5)


def test_all_candidates_are_read_at_once_and_no_token_is_counted(tmp_path, monkeypatch):
    small_lm(tmp_path)
    made = find_recipe("pcl").build({"task": successor(), "model": lm(source=str(tmp_path))}, {"prompts": 3})
    made, play = start(made, 0, 1)
    reads, plain = [], lm.read
    monkeypatch.setattr(lm, "read", lambda self, batch, want: reads.append(batch.K) or plain(self, batch, want))
    assert len(made.curriculum.draw(3, play)) == 3
    assert len(reads) == 1 and reads[0] <= 12  # one that occurs twice is read once
    assert play.meter.read > 0  # and counted as that
    assert not any(count for name, count in play.counts().items() if name != "read")


def test_what_cannot_forecast_is_refused(tmp_path):
    small_lm(tmp_path)
    plain = lm(source=str(tmp_path))
    plain.start(0, {})
    with refusal(UserError):
        predicted(parity()).draw(2, aside(forecaster=plain))
    with refusal(UserError):
        predicted(parity()).draw(2, aside(policy=plain))


# --- what came of it ---------------------------------------------------------------------------------------------


def noted(*forecast):
    return [Ask(Task(str(i), str(i)), note={"forecast": f}) for i, f in enumerate(forecast)]


def test_forecasts_are_held_against_the_rates():
    play = ExamplePlay()
    predicted(parity()).observe(came_of(noted(0.2, 0.6, 0.5), [[1, 0], [1, 1], [None]]), play)
    assert play.metrics["forecast/error"] == pytest.approx((0.3 + 0.4) / 2)
    assert play.metrics["forecast/correlation"] == pytest.approx(1.0)
    predicted(parity()).observe(came_of(noted(0.0, 0.5, 1.0), [[0], [0], [1]]), play)
    assert play.metrics["forecast/correlation"] == pytest.approx(3**0.5 / 2)


def test_where_nothing_differs_there_is_no_correlation():
    for asks, values in (
        (noted(0.5, 0.5), [[1], [0]]),
        (noted(0.2, 0.5), [[1], [1]]),
        (noted(0.2), [[None]]),
        ([], []),
    ):
        play = ExamplePlay()
        predicted(parity()).observe(came_of(asks, values), play)
        assert "forecast/correlation" not in play.metrics
        assert ("forecast/error" in play.metrics) == (values not in ([[None]], []))


def test_asks_that_others_made_are_left_alone():
    play = ExamplePlay()
    asks = [*noted(0.25), Ask(Task("other", ""))]
    predicted(parity()).observe(came_of(asks, [[1], [0]]), play)
    assert play.metrics == {"forecast/error": 0.75}


# --- what is taught ----------------------------------------------------------------------------------------------


def test_prompts_alone_are_one_row_an_ask_with_its_rate(tmp_path):
    play = aside(forecaster=reader(tmp_path))
    asks = [Ask(successor().get("train", i)) for i in (0, 2, 3)] + [Ask(Task("x", "x"), prompt="with a hint: x")]
    rows = prompts_alone()(came_of(asks, [[1, 0, 0, None], [1, 1], [None], [0.5]]), play)
    assert (rows.K, rows.S) == (3, 0) and rows["rate"].tolist() == pytest.approx([1 / 3, 1.0, 0.5])
    shown = [e.segments[0].context.tolist() for e in rows.episodes]
    encode = play.models["forecaster"].encode
    assert shown == [encode(text).tolist() for text in (asks[0].shown, asks[1].shown, "with a hint: x")]


def test_the_same_task_asked_twice_is_two_prompts(tmp_path):
    ask = Ask(successor().get("train", 0))
    rows = prompts_alone()(came_of([ask, ask], [[1], [0]]), aside(forecaster=reader(tmp_path)))
    assert rows["rate"].tolist() == [1.0, 0.0]


def taught(folder, values, words, lr=0.1):
    """A fresh reader after one plain gradient step."""
    play = aside(forecaster=reader(folder, opinion=False))
    learn = Learn("forecaster", outcome("rate"), on=prompts_alone(), opt=sgd(lr=lr), clip=0.0)
    learn.start(play)
    learn(came_of([Ask(successor().get("train", i)) for i in (0, 2, 3)], values, words), play)
    return play


def test_the_step_is_towards_the_mean_of_each_prompts_tries(tmp_path):
    play = taught(tmp_path, [[1, 0, 0, 0], [1, 1], [0.5]], [(0,)])
    head = value_head.head_of(play.models["forecaster"].decoder)
    # V is 0 everywhere, so d/db of the mean of (V - rate)^2 is -2 mean(rate): one step of 0.1 goes to 0.1 * 2 * 1.75 / 3
    assert head.bias.item() == pytest.approx(0.2 * 1.75 / 3)
    assert play.metrics["forecaster/loss"] == pytest.approx((0.0625 + 1 + 0.25) / 3)


def test_what_tries_said_and_how_many_there_were_changes_nothing(tmp_path):
    one = taught(tmp_path / "a", [[1, 0], [1, 1], [0.5]], [(0,)])
    other = taught(tmp_path / "b", [[0, 1, 0, 1], [1], [0, 1]], [(3, 1, 4, 1, 5), (9, 2)])
    first, second = (play.models["forecaster"].weights.state_dict() for play in (one, other))
    assert all(torch.equal(first[name], second[name]) for name in first)


# --- PCL ---------------------------------------------------------------------------------------------------------


def test_what_pcl_is_made_of(tmp_path):
    small_lm(tmp_path)
    made = find_recipe("pcl").build({"task": parity(), "model": lm(source=str(tmp_path))}, {})
    assert [repr(stage) for stage in made.stages] == [
        "verified(task=parity())",
        "centre(reward='correct', std=False)",
        "Learn(model='policy', loss=clipped(), opt=adam(lr=2e-05))",
        "Learn(model='forecaster', loss=outcome(target='rate'), on=prompts_alone(), opt=adam(lr=0.0001), epochs=4)",
    ]
    assert repr(made.curriculum) == "predicted(task=parity())"
    assert made.models["forecaster"].value and not made.models["policy"].value
    with refusal(UserError):
        find_recipe("pcl").build({"task": parity(), "model": tabular()}, {})


SMALL = {"prompts": 3, "tries": 4, "max_tokens": 24, "lr": 5e-5}


def train(out, name="pcl", every=1000, steps=3, **knobs):
    options = gd.Options(save_every=every, eval_tasks=0)
    chosen = {"task": "countdown:1-3", "model": "sprig", "settings": {**SMALL, **knobs}}
    return gd.train(name, out=out, seed=2, options=options, steps=steps, **chosen)


@pytest.mark.slow
def test_with_one_candidate_for_each_prompt_it_is_grpo(tmp_path):
    one = train(tmp_path / "a", times=1, steps=2)
    other = train(tmp_path / "b", "grpo", steps=2, **{"centre.std": False})
    for step in (0, 1):  # the second is sampled by what the first taught
        a, b = one.batch(step), other.batch(step)
        assert torch.equal(a.action, b.action) and torch.equal(a.logp, b.logp)
    assert one.metrics["policy/grad_norm"] == other.metrics["policy/grad_norm"]


@pytest.mark.slow
def test_killed_and_resumed_it_draws_the_same(tmp_path):
    whole = train(tmp_path / "whole")
    assert whole.metrics["forecast/std"].to_pylist()[1] > 0  # it had learned to choose before the kill
    with killed_at(2):
        train(tmp_path / "broken", every=1)
    resumed = gd.train(resume=tmp_path / "broken")
    assert resumed.weights == whole.weights
    assert resumed.metrics.drop_columns(["seconds"]) == whole.metrics.drop_columns(["seconds"])
    assert resumed.batch(2).same(whole.batch(2))


@pytest.mark.slow
def test_played_ahead_it_asks_the_forecaster_of_a_step_ago(tmp_path):
    spread = train(tmp_path / "run", ahead=True).metrics["forecast/std"].to_pylist()
    assert spread[:2] == [0.0, 0.0] and spread[2] > 0


def test_its_state_draws_the_same_again(tmp_path):
    source, play = load("countdown:1-3"), aside(forecaster=reader(tmp_path))
    made, other = predicted(source), predicted(source)
    made.draw(3, play)
    saved = json.loads(json.dumps(get_state(made)))
    assert saved == {"": {"drawn": 12}}
    set_state(other, saved)
    assert made.draw(3, play) == other.draw(3, play)
