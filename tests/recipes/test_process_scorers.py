"""BiPRM, Fin-PRM and ReasonFlux-PRM: their labels by hand, what they read, and what they train."""

from __future__ import annotations

import math

import pytest
import torch
from refusals import refusal
from small import small_lm

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay, example_tries
from guerdon.core.model import weights_hash
from guerdon.core.pack import pack
from guerdon.core.recipe import Study
from guerdon.engine.player import Player
from guerdon.envs.simple import single_turn
from guerdon.models import load as load_model
from guerdon.models.language_model import lm
from guerdon.recipes.process.biprm.parts import SECOND, labels_for_both, told_twice
from guerdon.recipes.process.fin_prm import known_labels, stated
from guerdon.recipes.process.reasonflux_prm.parts import (
    Trace,
    aligned,
    coherent,
    quality,
    response_from,
    template,
    trace_labels,
    traces_of,
)
from guerdon.recipes.process.scored_uses import imitating, paid_too, ranking
from guerdon.rewards.model.reward_models import backwards
from guerdon.tasks import load
from guerdon.tasks.families.chained_arithmetic import chain
from guerdon.training.catalog import find_recipe

NAN = math.nan
TEXT = "3*4=12\n12-5=7\n= 7"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A small model whose head has opinions, in a folder of its own."""
    place = tmp_path_factory.mktemp("scorer")
    small_lm(place / "lm")
    made = lm(source=str(place / "lm"), value=True)
    made.start(0, {})
    with torch.no_grad():
        made.net.value_head.weight.normal_(generator=torch.Generator().manual_seed(1))
    gd.models.save(made, str(place / "prm"))
    return str(place / "prm")


@pytest.fixture(scope="module")
def scorer(folder):
    made = load_model(folder)
    made.start(0, {})
    return made


def player(model, env, tokens=6, temperature=1.0, **seats):
    how = gd.Sampling(max_tokens=tokens, temperature=temperature)
    return Player({"policy": model, "author": model}, {"policy": "policy", **seats}, env, how, 0, 1)


def recited(play, family, *texts):
    return pack(play([gd.Ask(family.get("test", 0), note={"say": list(texts)})]))


# --- both ways -----------------------------------------------------------------------------------------------------


def along(reward, text):
    (noted,) = gd.score_samples(reward, [{"prompt": "chain 3 *4 -5", "completion": text}]).details
    return noted["along"]


def test_a_line_scores_the_mean_of_its_two_readings(folder):
    there = along(gd.process_model(folder), TEXT)
    back = along(gd.process_model(folder), backwards(TEXT))
    both = [(a + b) / 2 for a, b in zip(there, reversed(back), strict=True)]
    assert len(set(both)) == 3 and there != both
    assert along(gd.two_way(folder), TEXT) == pytest.approx(both, abs=1e-6)
    scores = [gd.score_samples(gd.two_way(folder, how), [{"prompt": "chain 3 *4 -5", "completion": TEXT}]).whole[0]
              for how in ("min", "steps")]  # fmt: skip
    assert scores == pytest.approx([min(both), sum(both)], abs=1e-6)


def test_a_palindrome_reads_the_same_both_ways(folder):
    text = "3*4=12\n12-5=7\n3*4=12"
    (a, b, c), (d, e, f) = along(gd.process_model(folder), text), along(gd.two_way(folder), text)
    assert (d, e, f) == pytest.approx(((a + c) / 2, b, (a + c) / 2), abs=1e-6)


def test_conversations_are_not_told_backwards(folder):
    sample = {"prompt": "2+2", "completion": "4", "turns": ["5", "4"]}
    with pytest.raises(UserError, match="several turns"):
        gd.score_samples(gd.two_way(folder), [sample])


def test_the_second_telling_has_the_labels_of_the_first(scorer):
    family = chain(level=1)
    play = player(scorer, told_twice(), **{SECOND: "policy"})
    batch = recited(play, family, TEXT, "3*4=12\n12-5=6\n= 6")
    batch = gd.rewards.line_labels(family)(batch, play)
    batch = labels_for_both()(batch, play)
    said = [scorer.decode(batch.action[steps].tolist()).strip() for steps in batch.steps_by_track()]
    assert [text.split("\n")[0].strip() for text in said] == ["3*4=12", "3*4=12", "= 7", "= 6"]
    labels = [[x for x in batch["labels"][steps].tolist() if x == x] for steps in batch.steps_by_track()]
    assert labels == [[1, 1, 1], [1, 0], [1, 1, 1], [0, 1]]  # the answer after an error has none
    line = [[x for x in batch["line"][steps].tolist() if x == x] for steps in batch.steps_by_track()]
    assert line == [[0, 1, 2], [3, 4], [2, 1, 0], [4, 3]]


def test_told_twice_in_order_is_the_same_twice(scorer):
    family = chain(level=1)
    play = player(scorer, told_twice(order="forward"), **{SECOND: "policy"})
    batch = gd.rewards.line_labels(family)(recited(play, family, TEXT), play)
    batch = labels_for_both(order="forward")(batch, play)
    one, two = batch.steps_by_track()
    assert torch.equal(batch["labels"][one].nan_to_num(9), batch["labels"][two].nan_to_num(9))
    assert torch.equal(batch["line"][one].nan_to_num(9), batch["line"][two].nan_to_num(9))


def tiny(name, task, model=None, **knobs):
    """A recipe that takes a moment: one step, and its exams of two problems."""
    given = {"task": load(task), "model": model or load_model("sprig")}
    made = find_recipe(name).build(given, {"steps": 1, "prompts": 2, **knobs})
    for exam in [] if isinstance(made, Study) else made.exams:
        exam.tasks, exam.tries = 2, 2
    return made


def test_without_a_second_telling_it_is_the_house_process_reward_model():
    plain, one = tiny("process_reward_model", "chain:1-2"), tiny("biprm", "chain:1-2", second="none")
    assert [exam.name for exam in one.exams] == ["prm", "steps", "farm"]
    plain.exams, one.exams = [], []
    assert plain.hash == one.hash != tiny("biprm", "chain:1-2", second="forward").but(exams=[]).hash


@pytest.mark.slow
def test_biprm_learns_from_both_tellings_and_counts_them(tmp_path, scorer):
    """And is examined by both, on tries of the model that it grew from."""
    made = {
        second: tiny("biprm", "chain:1", scorer, tries=0, max_tokens=8, second=second)
        for second in ("backward", "none")
    }
    made["none"].exams, made["backward"].exams = [], made["backward"].exams[1:2]
    runs = {second: gd.train(recipe, out=tmp_path / second) for second, recipe in made.items()}
    assert runs["backward"].spent["tokens"] == 2 * runs["none"].spent["tokens"] > 0
    weights = {weights_hash(run.model("prm").weights) for run in runs.values()}
    assert len(weights) == 2 and runs["backward"].evaluations[-1]["steps/steps_missing"] == 0.0


def test_biprm_takes_labelled_steps_of_a_file(tmp_path, scorer):
    rows = [
        {"prompt": f"{n}+2+1?", "completions": [f"{n}+2={n + 2}", "= 6"], "labels": [True, n == 3]} for n in range(6)
    ]
    made = find_recipe("biprm").build(
        {"task": gd.tasks.labelled_steps(rows, held_out=0.34), "model": scorer}, {"steps": 1}
    )
    assert [exam.name for exam in made.exams] == ["prm"]
    run = gd.train(made.but(prompts=2), out=tmp_path / "run")
    assert run.spent["updates"] == 1 and "prm/step_accuracy" in run.evaluations[-1]


# --- a domain's knowledge --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_goes_on_from_a_line_labels_it():
    """Greedy tries that go on from any place of a greedy try end as it did."""
    family, model = load("chain:1-2"), load_model("sprig")
    model.start(0, {})
    play = player(model, single_turn(), tokens=40, temperature=0.0)
    truth = gd.rewards.verified(family)
    batch = truth(pack(play([gd.Ask(family.get("train", i)) for i in range(3)])), play)
    batch = gd.rewards.monte_carlo_labels(truth, tries=2, soft=True)(batch, play)
    for k, steps in enumerate(batch.steps_by_track()):
        labels = [x for x in batch["labels"][steps].tolist() if x == x]
        lines = [line for line in model.decode(batch.action[steps].tolist()).split("\n") if line.strip()]
        assert labels == [float(batch["correct"][k])] * len(lines)
    spread = player(model, single_turn(), tokens=40)
    wrong = pack(spread([gd.Ask(family.get("train", 0), note={})]))
    assert gd.rewards.monte_carlo_labels(truth)(truth(wrong, spread), spread).cols["labels"].level == "step"


def test_labels_join_what_is_known(scorer):
    family = chain(level=1)
    play = player(scorer, gd.envs.side_by_side())
    batch = gd.rewards.line_labels(family, "accuracy")(recited(play, family, TEXT, "3*4=12\n12-5=6\n= 6"), play)
    importance = torch.full((batch.S,), NAN)
    for steps in batch.steps_by_track():
        ends = [int(s) for s in steps if "\n" in scorer.decode([int(batch.action[s])])] + [int(steps[-1])]
        importance[ends] = torch.tensor([1.0, 0.5, 0.0])
    reason = torch.where(importance.isnan(), int(Reason.NOT_APPLICABLE), 0).to(torch.int8)
    batch = gd.rewards.verified(family)(batch, play).with_cols({"importance": Column("step", importance, reason)})
    batch = known_labels(family, coverage=0.25)(batch, play)
    labels = [[x for x in batch["labels"][steps].tolist() if x == x] for steps in batch.steps_by_track()]
    half = math.exp(0.5)
    mixed = (math.e + 0.5 * half) / (math.e + half)  # accuracy 1, importance 1/2
    assert labels[0] == pytest.approx([1.0, mixed])
    assert labels[1] == pytest.approx([1.0, 0.5 * half / (1 + half)])
    assert batch["whole"].tolist() == pytest.approx([1.0, 0.25 / 3])


def test_facts_are_stated_in_any_order():
    assert stated("b\na\nc", "a\nb") == 1.0 and stated("", "a\nb") == 0.0


@pytest.mark.slow
def test_fin_prm_is_taught_on_one_domain_and_examined_on_another(tmp_path, scorer):
    knobs = {"tries": 2, "rollouts": 1, "max_tokens": 12}
    made = tiny("fin-prm", "chain:1", scorer, taught_on="addition:1", **knobs)
    assert (made.curriculum.task.name, made.exams[0].source.name) == ("addition", "chain")
    run = gd.train(made, out=tmp_path / "run")
    assert {"choice/best_of@2", "choice/pass@1", "steps/farm_tries"} <= set(run.evaluations[-1])
    assert run.spent["tokens"] > 0
    with refusal(UserError):
        tiny("fin-prm", "parity", scorer, **knobs)


# --- thinking traces -------------------------------------------------------------------------------------------------

SEARCHED = "4+3=7 left 9 7\n9+7=16\n4-3=1 left 9 1\n9+1=10\n= 9+4-3"  # of countdown 4 3 9 make 10


def trace(text, right):
    source = load("countdown:2")
    lines, task = text.split("\n"), source.get("train", 6)
    return Trace(0, task, lines, list(range(len(lines))), response_from(lines, task, source), right), source


def test_every_way_is_checked_by_itself():
    made, source = trace(SEARCHED, 1.0)
    assert quality(made, source) == [1.0, 1.0, 1.0, 1.0, 1.0] and made.first == 2
    assert template(made) == "4-3=1 left 9 1\n"
    false, _ = trace("4+3=8 left 9 8\n9+8=17\n4-3=1 left 9 1\n9+1=10\n= 9+4-4", 0.0)
    assert quality(false, source) == [0.0, 0.0, 1.0, 1.0, 0.0]


def test_a_response_begins_where_thinking_is_said_to_end():
    source = load("countdown:2")
    task = source.get("train", 6)
    assert response_from(["a", "b </think>", "c", "d"], task, source) == 2
    assert response_from(["a", "</think>"], task, source) == 1  # a response of nothing: its last line
    assert response_from(["= 10"], task, source) == 0


def test_alignment_and_coherence_by_hand():
    said = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    assert aligned(said, 2).tolist() == pytest.approx([0.0, 0.8, 1.0])
    near = coherent(said, [torch.tensor([0.0, 1.0])], 0.5).tolist()
    assert math.isnan(near[0])
    assert near[1] == pytest.approx(math.exp(1.2) / (math.exp(1.2) + math.exp(1.6)))
    assert near[2] == pytest.approx(math.exp(1.6) / (math.exp(1.6) + math.exp(2.0)))


def test_traces_are_labelled_but_for_their_last_line():
    family, model = load("countdown:2"), load_model("sprig")
    model.start(0, {})
    play = player(model, gd.envs.side_by_side(), tokens=24)
    batch = pack(play([gd.Ask(family.get("train", 6), note={"say": [SEARCHED, SEARCHED]})]))
    play.env = single_turn()
    truth = gd.rewards.verified(family)
    batch = truth(batch, play)
    for sees, lines in (("trace", 4), ("response", 3)):
        made = trace_labels(family, truth, sees=sees)(batch, play)
        labels = [[x for x in made["labels"][steps].tolist() if x == x] for steps in made.steps_by_track()]
        assert [len(each) for each in labels] == [lines, lines] and all(0 <= x <= 1 for each in labels for x in each)
        assert all(0 <= x <= 1 for x in made["whole"].tolist())
    assert [each.first for each in traces_of(batch, play, family)] == [2, 2]


def test_traces_of_rows_without_a_step_checker_are_labelled_by_what_is_known(scorer):
    rows = gd.tasks.rows([{"prompt": f"{n}+1=", "answer": str(n + 1)} for n in range(4)])
    play = player(scorer, gd.envs.side_by_side(), tokens=4)
    text = "think\nso 1+1\nit is </think>\nthe sum\n2"
    batch = pack(play([gd.Ask(rows.get("train", 1), note={"say": [text]})]))
    play.env, truth = single_turn(), gd.rewards.verified(rows)
    batch = trace_labels(rows, truth)(truth(batch, play), play)
    assert int((~batch["labels"].isnan()).sum()) == 4 and not batch["whole"].isnan().any()


@pytest.mark.slow
@pytest.mark.parametrize(("knobs", "runs"), [({"by": "any"}, 1), ({}, 2), ({"use": "mix"}, 2)])
def test_a_scorer_is_taught_first_where_it_is_used(tmp_path, knobs, runs):
    study = tiny("reasonflux-prm", "countdown:2", tries=2, max_tokens=24, follow=1, **knobs)
    run = gd.train(study, out=tmp_path / "run", budget="60", options=gd.Options(eval_tasks=1, eval_tries=1))
    assert run.spent["steps"] == runs and 0.0 <= run.evaluations[-1]["pass@1"] <= 1.0


def test_the_three_uses_share_one_ranking(scorer):
    teach, knobs = tiny("fin-prm", "chain:1", scorer), {"share": 0.25, "whole": 0.5, "lr": 1e-5}
    mixed, chosen, drawn = (
        made(teach, load("chain:1"), scorer, prm, **knobs)
        for made, prm in ((paid_too, scorer), (imitating, scorer), (imitating, None))
    )
    assert str(mixed.stages.scores[-1].reward) == "0.75 * correct + 0.25 * process_model + 0.5 * process_model"
    assert str(chosen.stages.scores[-1].reward) == str(ranking("prm", 0.5)) == "process_model + 0.5 * process_model"
    selections = [each.stages.learners[0].on for each in (chosen, drawn)]
    assert [(each.column, each.share) for each in selections] == [("reward", 0.25), ("", 0.25)]
    for made in (mixed, chosen, drawn):
        made.check()
    assert chosen.exams[0].seats == {"policy": "policy"}  # the author plays, and the policy is examined


def test_any_share_is_by_lot_and_the_best_share_is_not():
    batch = example_tries([[0.1, 0.9, None], [0.5, 0.7]])
    assert gd.select.top_share("reward", 0.4)(batch, ExamplePlay())["reward"].tolist() == pytest.approx([0.9, 0.7])
    assert gd.select.top_share("", 0.4)(batch, ExamplePlay()).K == 2
    assert gd.select.top_share("reward", 1.0)(batch, ExamplePlay()).K == 4  # one has no score
