"""Budgets of length: schedules, rewards, asks and advantages by hand, and the recipes made of them."""

from __future__ import annotations

import math

import pytest
import torch
from killing import killed_at
from refusals import refusal
from scheduling import mostly_slow
from watching import SMALL, TABLE, Watched, train

import guerdon as gd
from guerdon import score_samples
from guerdon.core.column import Column, Reason
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay, example_tries
from guerdon.core.pack import pack
from guerdon.core.schedule import at, linear
from guerdon.core.task import Ask, Sampling, Task
from guerdon.credit.group_relative import centre
from guerdon.curricula.token_budgets import budgeted
from guerdon.models.tables import tabular
from guerdon.recipes.curriculum.dr_saf.parts import first_word, knows_limits, length_by_rate, spare_correct
from guerdon.recipes.curriculum.hbpo import below_promise
from guerdon.rewards.formula.algebra import blend
from guerdon.rewards.formula.scores import Outcome, Scores, Where
from guerdon.rewards.text.length_budgets import keeps_to, used, within_budget
from guerdon.studies.schedules import decayed
from guerdon.tasks.families.tiny import parity
from guerdon.training.catalog import find_recipe

NAMES = ["curriculum-grpo", "hbpo", "dr-saf"]


def words(n, last="x"):
    return {"completion": " ".join(["a"] * (n - 1) + [last])}


def scores(*values):
    """Scores as a formula gets them; None does not apply, "broken" failed."""
    kinds = {None: Outcome(Reason.NOT_APPLICABLE), "broken": Outcome(Reason.FAILED)}
    return Scores.of([kinds[v] if v in kinds else Outcome(Reason.VALUE, float(v)) for v in values])


# --- the budget of the day -----------------------------------------------------------------------------------------


def test_the_papers_schedule_by_hand():
    """256, 179, 125 and 87 tokens, 150 steps each (arXiv:2508.08940, section 4.4: n = 3, d about 0.7)."""
    now = decayed(256, 87)
    found = [at(now, step, 600) for step in (0, 149, 150, 299, 300, 449, 450, 599)]
    assert [round(b) for b in found] == [256, 256, 179, 179, 125, 125, 87, 87]
    assert at(now, 150, 600) / 256 == pytest.approx((87 / 256) ** (1 / 3))


def test_one_decay_comes_half_way_and_seven_every_75_steps():
    assert [round(at(decayed(256, 87, times=1), step, 600)) for step in (299, 300)] == [256, 87]
    changes = [t for t in range(1, 600) if at(decayed(256, 87, 7), t, 600) != at(decayed(256, 87, 7), t - 1, 600)]
    assert changes == [75 * k for k in range(1, 8)]


def test_the_formula_with_a_factor_and_an_interval_is_the_same():
    b0, factor, interval, n = 100.0, 0.5, 10, 4
    now = decayed(b0, b0 * factor**n, times=n, over=(n + 1) * interval)
    for t in range(80):
        assert at(now, t, 80) == pytest.approx(max(b0 * factor**n, b0 * factor ** (t // interval)))


def test_a_run_shorter_than_its_decays_still_ends_low_and_a_budget_of_nothing_is_refused():
    assert [at(decayed(8, 1, times=3), t, 2) for t in range(2)] == pytest.approx([8, 2])
    assert at(decayed(8, 1), 0, 1) == 8
    with refusal(UserError, "0"):
        decayed(8, 0)


# --- rewards -------------------------------------------------------------------------------------------------------


def test_the_triangle_and_the_band_by_hand():
    said = [words(n) for n in (1, 5, 10, 15, 20, 30)]
    assert score_samples(keeps_to(10.0, reward=used("words")), said).whole == pytest.approx([0.1, 0.5, 1, 0.5, 0, 0])
    assert score_samples(keeps_to(10.0, False, used("words")), said).whole == pytest.approx([1, 1, 1, 0.5, 0, 0])


def test_the_triangle_follows_its_schedule():
    shrinking = keeps_to(linear(8.0, 4.0))
    values = [
        shrinking.combine({"used": scores(4.0, None, "broken")}, Where(torch.zeros(3), step, 3)) for step in range(3)
    ]
    assert [float(v.value[0]) for v in values] == pytest.approx([0.5, 4 / 6, 1.0])
    assert values[0].reason.tolist() == [Reason.VALUE, Reason.NOT_APPLICABLE, Reason.FAILED]
    assert str(blend(length=shrinking.weight(0.3))).startswith("0.3 * keeps_to(")


def test_what_a_budget_is_worth_by_hand():
    """Equations 1 to 3 of arXiv:2507.15844 with L = 16: 4 cos(pi b / 32) within, 4 cos(pi n / 32) - (n - b) / 16 beyond."""
    worth = within_budget(16, unit="words")
    inside, outside = 4 * math.cos(math.pi / 4), 4 * math.cos(math.pi * 12 / 32) - 4 / 16
    assert [worth(words(n)["completion"], budget=8) for n in (1, 8)] == pytest.approx([inside] * 2)
    assert worth(words(12)["completion"], budget=8) == pytest.approx(outside)
    assert worth(words(16)["completion"], budget=8) == pytest.approx(-0.5)
    assert worth(words(17)["completion"], budget=8) == 0.0
    assert worth(words(12)["completion"]) == pytest.approx(4 * math.cos(math.pi * 12 / 32))
    with refusal(UserError):  # tokens of what nobody played
        within_budget(16)("a b", budget=8)


def test_short_answers_prefer_small_budgets_and_long_ones_large():
    """Section 3.2.2: below all budgets the smallest pays most, above all of them the largest."""
    worth = within_budget(64, unit="words")
    pays = {n: [worth(words(n)["completion"], budget=b) for b in (8, 16, 32, 40)] for n in (4, 60)}
    assert pays[4] == sorted(pays[4], reverse=True)
    assert pays[60] == sorted(pays[60])


def test_length_counts_by_how_many_are_right():
    judge = length_by_rate(lambda completion: 1.0)

    def paid(right, lengths, group=None):
        where = Where(torch.tensor(group if group else [0] * len(right)))
        return judge.combine({"right": scores(*right), "used": scores(*lengths)}, where).value.tolist()

    assert paid([1, 1, 1, 1], [2, 4, 6, 8]) == [1, 1, 0, 0]  # the median is 5
    assert paid([1, 1, 1], [2, 4, 4]) == [1, 1, 1]
    assert paid([1, 0, 0, 0], [5, 4, 5, 9]) == [0, 0, 1, 1]  # of the right ones the median is 5
    assert paid([0, 0, 0], [1, 2, 3]) == [0, 1, 1]  # none is right: of all
    assert paid([1] * 19 + [0], [1] * 20) == [1] * 19 + [0]  # 0.95 is easy
    assert paid([1] * 12 + [0], [1] * 13) == [0] * 13  # 0.92 is neither
    assert paid([1] * 7 + [0], [1] * 8) == [0] * 7 + [1]  # 0.875 is hard
    assert paid([1, 1, 0, 0], [1, 2, 1, 2], [0, 0, 1, 1]) == [1, 0, 0, 1]  # groups by themselves


def test_a_try_without_a_score_or_a_length_counts_nowhere():
    judge = length_by_rate(lambda completion: 1.0)
    found = judge.combine(
        {"right": scores(1, 1, None, "broken"), "used": scores(2, None, 9, 9)}, Where(torch.zeros(4).long())
    )
    assert found.reason.tolist() == [Reason.VALUE, Reason.NOT_APPLICABLE, Reason.NOT_APPLICABLE, Reason.FAILED]
    assert found.value[0] == 1.0  # both that have a score are right


def test_saying_what_is_within_reach_by_hand():
    judge = knows_limits(lambda completion: 1.0)

    def paid(right, word):
        found = judge.combine({"right": scores(*right), "first_word": scores(*word)}, Where(torch.zeros(len(right))))
        return [round(x, 2) for x in found.value.tolist()]

    assert paid([1, 1, 1], [0, 1, None]) == [0.32, 0.12, 0.0]  # easy: CFRB agrees, PFRB is paid for being said
    assert paid([1, 0, 0, 0], [0, 0, 1, None]) == [0.12, 0.0, 0.32, 0.0]  # hard: CFRB and wrong earns nothing


def test_the_first_word_is_looked_for_in_the_thought():
    word = first_word(("CFRB", "PFRB"))
    assert [word(t) for t in ("Difficulty: [PFRB] or CFRB", "x</think>CFRB", "ACFRB", "CFRB")] == [1.0, None, None, 0.0]
    with refusal(UserError):
        first_word(())


# --- asks ----------------------------------------------------------------------------------------------------------


@gd.part
class drawn:
    """Asks that were made before."""

    asks: list

    def draw(self, n, play):
        return self.asks[:n]


def ask(n=8, **more):
    return Ask(Task("1", "1+1"), n, **more)


def test_tries_are_shared_out_among_budgets():
    for n, shares in [(8, [2, 2, 2, 2]), (10, [3, 3, 2, 2]), (4, [1, 1, 1, 1])]:
        made = budgeted(drawn([ask(n)]), (4, 8, 16, 20)).draw(1, ExamplePlay())
        assert [a.n for a in made] == shares
        assert [a.note["budget"] for a in made] == [4, 8, 16, 20]
        assert {(a.shown, a.sampling, a.task.key) for a in made} == {("1+1", None, "task/1")}
    with refusal(UserError, "4", "3"):
        budgeted(drawn([ask(3)]), (4, 8, 16, 20)).draw(1, ExamplePlay())


def test_a_budget_is_announced_cut_and_moves():
    play = ExamplePlay()
    play.steps = 4
    how = Sampling(max_tokens=40, temperature=0.7)
    stage = budgeted(drawn([ask(note={"hint": 0.5})]), (decayed(32, 4),), "{prompt} in {budget}", 2.0, how)
    found = []
    for play.step in range(4):
        (made,) = stage.draw(1, play)
        found.append((made.shown, made.sampling.max_tokens, made.note["budget"]))
        assert (made.n, made.sampling.temperature, made.note["hint"]) == (8, 0.7, 0.5)
    assert found == [("1+1 in 32", 40, 32), ("1+1 in 16", 32, 16), ("1+1 in 8", 16, 8), ("1+1 in 4", 8, 4)]
    assert play.metrics["budget/mean"] == 4


def test_an_asks_own_prompt_and_sampling_come_first():
    own = ask(prompt="please: 1+1", sampling=Sampling(max_tokens=6))
    (made,) = budgeted(drawn([own]), (4,), "{prompt} in {budget}", 2.0, Sampling()).draw(1, ExamplePlay())
    assert (made.shown, made.sampling.max_tokens) == ("please: 1+1 in 4", 6)


def test_what_makes_no_budget_is_refused():
    with refusal(UserError):
        budgeted(drawn([]), ())
    with refusal(UserError):
        budgeted(drawn([]), (4,), room=2.0)
    with refusal(UserError):
        budgeted(drawn([]), (4,), "be brief")


# --- credit --------------------------------------------------------------------------------------------------------


def test_the_shortfall_of_two_groups_by_hand():
    batch = example_tries([[4.0, 0.0], [1.0, None]], promised=[3.0, 3.0, 2.0, 2.0])
    play = ExamplePlay()
    found = below_promise()(batch, play).cols["shortfall"]
    assert found.value.tolist()[:3] == [-1.0, -1.0, -1.0]
    assert math.isnan(found.value[3]) and found.reason.tolist() == [0, 0, 0, Reason.FAILED]
    assert play.metrics == {"shortfall/shortfall": -1.0}
    assert below_promise()(example_tries([], promised=[]), ExamplePlay())["shortfall"].tolist() == []


def test_groups_are_those_of_an_ask_and_not_of_a_task():
    """Four tries at one problem under two budgets, as HBPO compares them."""
    batch = example_tries([[2.0, 2.0], [0.0, 0.0]], promised=[3.0, 3.0, 1.0, 1.0])
    same = pack([e.but(ask=Ask(Task("same", ""))) for e in batch.episodes]).with_cols(batch.cols)
    assert below_promise()(same, ExamplePlay())["shortfall"].tolist() == [-1.0] * 4
    assert below_promise(by="task")(same, ExamplePlay())["shortfall"].tolist() == [-1.0] * 4
    lopsided = same.with_cols({"promised": Column.full("track", torch.tensor([5.0, 5.0, 1.0, 1.0]))})
    assert below_promise()(lopsided, ExamplePlay())["shortfall"].tolist() == [-3.0, -3.0, -1.0, -1.0]


def test_a_shortfall_adds_one_nth_of_the_gradient():
    """Two arms, the first taken with chance p and paid 1: the gradient of the mean reward by the logit is p (1 - p). The
    expected sum of A dlogp over all pairs of tries, each with weight 1/2, is half of it, whatever was promised."""
    p = 0.3
    for promised in (0.0, 5.0):
        total = 0.0
        for pair in [(1, 1), (1, 0), (0, 1), (0, 0)]:
            chance = math.prod(p if x else 1 - p for x in pair)
            batch = example_tries([[float(x) for x in pair]], promised=[promised] * 2)
            advantage = below_promise()(batch, ExamplePlay())["shortfall"].tolist()
            total += chance * sum(a * (x - p) for a, x in zip(advantage, pair, strict=True)) / 2
        assert total == pytest.approx(p * (1 - p) / 2, abs=1e-6)


def spared(groups, right, **knobs):
    batch = example_tries(groups, correct=right)
    play = ExamplePlay()
    return spare_correct(std=False, **knobs)(batch, play)["advantage"].tolist(), play.metrics["advantage/spared"]


def test_no_right_try_is_pushed_down():
    found, share = spared([[1.5, 1.0, 1.0], [1.0, 0.0]], [1, 1, 1, 1, 0])
    assert found == [0.5, 0.0, 0.0, 0.5, -0.5] and share == 0.5  # the second group's mean is below its right one
    found, _ = spared([[1.5, 1.0, 0.875]], [1, 1, 0])
    assert found == [0.5, 0.0, -0.125]  # the mean would be 1.125
    assert spared([[0.0, 0.5, 1.0]], [0, 0, 0])[0] == [-0.5, 0.0, 0.5]  # none is right: the mean
    assert spared([[1.25]], [1]) == ([0.0], 0.0)
    assert spared([[1.0, 1.0]], [1, 1]) == ([0.0, 0.0], 0.0)


def test_a_try_without_a_score_is_no_bar():
    batch = example_tries([[1.5, 1.0, None]], correct=[1.0, 1.0, 1.0])
    assert spare_correct(std=False)(batch, ExamplePlay())["advantage"].tolist()[:2] == [0.5, 0.0]
    unjudged = batch.with_cols(
        {"correct": Column("track", torch.full((3,), float("nan")), torch.full((3,), 1, dtype=torch.int8))}
    )
    plain = centre(std=False)(batch, ExamplePlay())["advantage"]
    assert torch.equal(spare_correct(std=False)(unjudged, ExamplePlay())["advantage"][:2], plain[:2])


def test_where_nothing_is_spared_it_is_centre():
    batch = example_tries([[0.0, 1.0, 1.0, 0.0], [0.0, 0.0]], correct=[0.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    assert torch.allclose(
        spare_correct()(batch, ExamplePlay())["advantage"], centre()(batch, ExamplePlay())["advantage"]
    )


# --- the recipes ---------------------------------------------------------------------------------------------------


@gd.part
class ponder:
    """Call out, but only after enough thought: easy tasks need none, hard ones at least three dots of it."""

    name = "ponder"

    def size(self, split):
        return 4

    def get(self, split, index):
        need = 0 if index < 2 else 3
        return gd.Task(str(index), f"ponder {index}", "!", "ponder", level=1 + need, meta={"need": need})

    def check(self, task, completion):
        return float(completion.lstrip(".") == "!" and len(completion) > task.meta["need"])


def pondering(name, steps=120, **knobs):
    """Length and accuracy of the first and the last step, of easy problems and of hard ones."""
    settings = {"prompts": 4, "tries": 32, "lr": 0.1, "max_tokens": 8, **knobs}
    made = find_recipe(name).build({"task": ponder(), "model": tabular(".!", rows=1024)}, settings)
    made.check()
    run = Watched(made, steps)
    found = []
    for batch in (run.batches[0], run.batches[-1]):
        need = torch.tensor([e.task.meta["need"] for e in batch.episodes])
        length = batch.up(torch.ones(batch.S), "track")
        found.append([(float(batch["correct"][need == n].mean()), float(length[need == n].mean())) for n in (0, 3)])
    return run, *found


@pytest.mark.slow
def test_hbpo_spends_thought_where_it_is_needed():
    run, first, last = pondering("hbpo", shares=(0.25, 0.5, 0.625))
    (easy_right, easy_length), (hard_right, hard_length) = last
    assert (
        easy_right > 0.9 and hard_right > 0.75
    )  # not given up for the sake of brevity; a row of a table may find nothing
    assert easy_length < hard_length - 1 and easy_length < first[0][1]
    batch = run.batches[-1]
    assert (batch.group("ask")[1], batch.group("task")[1]) == (12, 4)  # three budgets inside each of four prompts
    assert {e.ask.note["budget"] for e in batch.episodes} == {2, 4, 5}
    assert all(f"within {e.ask.note['budget']} tokens" in e.ask.shown for e in batch.episodes)


def test_hbpos_advantage_is_the_papers():
    run, _, _ = pondering("hbpo", steps=1, shares=(0.25, 1.0), tries=8)
    batch = run.batches[0]
    reward, task, ask_K = batch["reward"].double(), batch.task[batch.leaf], batch.ask[batch.leaf]
    for k, episode in enumerate(batch.episodes):
        among, own = reward[task == task[k]], reward[ask_K == ask_K[k]]
        promised = 4 * math.cos(math.pi * episode.ask.note["budget"] / 16)
        want = (reward[k] - among.mean()) / (among.std() + 1e-4) + own.mean() - promised
        steps = batch["advantage"][batch.seg == k]
        assert steps.tolist() == pytest.approx([float(want)] * len(steps), abs=1e-4)


@pytest.mark.slow
def test_the_budget_shrinks_over_the_run_and_answers_with_it():
    """The final budget leaves room for what the hard ones need."""
    run, _, last = pondering("curriculum-grpo", tries=16, budget=8, final=5, announce="nothing", brief=0.3)
    assert [row["budget/mean"] for row in run.rows[::30]] == [8, 7, 6, 5]
    assert last[0][0] > 0.9 and last[1][0] > 0.9
    assert last[0][1] == pytest.approx(5, abs=1)  # easy ones too: the triangle pays for using the budget up


def test_a_wrong_answer_is_paid_for_its_length_alone():
    run, _, _ = pondering("curriculum-grpo", steps=1, budget=4, final=4, correct=0.6, brief=0.3)
    batch = run.batches[0]
    length = batch.up(torch.ones(batch.S), "track")
    want = 0.6 * batch["correct"] + 0.3 * (1 - (length / 4 - 1).abs()).clamp(min=0)
    assert torch.allclose(batch["reward"], want)
    assert int(length.max()) <= 8 and batch.cols["reward.length"].level == "track"


@pytest.mark.slow
def test_dr_saf_is_brief_where_it_is_sure():
    _, first, last = pondering("dr-saf", aware=False, brief=0.3, steps=200)
    assert last[0][0] > 0.9 and last[1][0] > 0.9
    assert last[0][1] < 0.7 * first[0][1]
    assert last[0][1] < last[1][1] - 1


@pytest.mark.parametrize(
    ("name", "part", "alias"),
    [("dr-saf", "sparing", "spare_correct"), ("hbpo", "shortfall", "below_promise")],
)
def test_a_renamed_part_is_set_by_both_of_its_names(name, part, alias):
    built = [
        find_recipe(name).build({"task": parity(), "model": tabular()}, {f"{n}.gives_to": "gap"}) for n in (part, alias)
    ]
    assert built[0].hash == built[1].hash != find_recipe(name).build({"task": parity(), "model": tabular()}, {}).hash


def test_dr_safs_terms_are_those_of_the_code():
    made = find_recipe("dr-saf").build({"task": parity(), "model": tabular()}, {})
    assert str(made.stages[1].reward) == "correct + 0.06 * length_by_rate(correct) + knows_limits(correct)"
    assert repr(made.stages[2]) == "sparing()" and made.stages.credit == [made.stages[2]]
    plain = find_recipe("dr-saf").build({"task": parity(), "model": tabular()}, {"spare": False, "aware": False})
    assert repr(plain.stages[2]) == "centre()"
    assert len(made.stages[1].reward.leaves) == 3  # the truth is asked once


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_slow(NAMES, "hbpo"))
def test_a_run_that_was_broken_off_ends_where_it_would_have(tmp_path, name):
    wish = {"task": "parity", "model": "tabular", "settings": {**TABLE, **SMALL, "tries": 4, "max_tokens": 8}}
    whole = train(name, tmp_path / "whole", wish)
    with killed_at(1):
        train(name, tmp_path / "broken", wish, every=1)
    resumed = gd.train(resume=tmp_path / "broken")
    assert resumed.weights == whole.weights and resumed.batch(1).same(whole.batch(1))
