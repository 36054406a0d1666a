"""An audit of a reward: what is named first, what it measures, what it refuses, and what it leaves alone."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from refusals import refusal
from scheduling import mostly_slow
from scipy import stats

import guerdon as gd
from guerdon.audits.asking import TextFields, ask
from guerdon.audits.auditing import audit, the_reward
from guerdon.audits.kinds import CheckedSample
from guerdon.audits.probes.worlds import played
from guerdon.audits.rates import auc_of, error_rates, rate_of, whole_rates
from guerdon.audits.report import AuditReport
from guerdon.core.renamed import Renamed
from guerdon.core.task import Task, truth_of
from guerdon.rewards.asking.samples import FIELDS, fields_of_text

PLAIN = (
    *("addition:3", "bases:3", "boolean:3", "chain:3", "clock:3", "countdown:3", "counting:3", "equation:3", "grid:3"),
    *("json_forms:2", "lists:3", "lookup:3", "modular:3", "parity:1", "sorting:3", "strings:3", "successor:1"),
    *("trace:3", "units:3", "verify/chain:3", "prefer/chain:3", "score/chain:3", "revise/chain:3", "critique/chain:3"),
    *("rubric/chain:3", "propose/chain:2", "reasons/chain:3", "rewrite/chain:3"),
)
WORLDS = (
    *("hops:3", "claims:3", "calculator/chain:4", "forms:2", "menus:2", "shop:2", "tables:2", "inbox:2", "cursor:2"),
    *("nim:3", "hunt:2", "asking:2", "rewriting:2"),
)
SANDBOXED = ("functions:3", "text_to_sql:3", "python/lists:3", "repairs:2")


@gd.reward(isolate=False)
def substring(completion, answer):
    return float(answer in completion)


def said(*values: float, kinds: str, groups: str | None = None):
    """What a reward said about completions: of each its worth, kind (g gold, n near-miss, e empty) and problem."""
    names = {"g": "gold", "n": "near-miss", "e": "empty", "p": "padded"}
    samples = [
        CheckedSample(names[kind], int(group), str(value), {"completion": str(value), "meta": {}, "task": None})
        for value, kind, group in zip(values, kinds, groups or "0" * len(values), strict=True)
    ]
    worth = gd.reward(lambda completion: float(completion), isolate=False)
    return ask(gd.rewards.as_reward(worth), samples, "test")


def test_fields_of_a_probe_are_those_of_a_sample_and_only_what_is_asked_for_is_tokenized():
    task, tokenized = Task("t", "2 + 2 =", "4", level=3, meta={"key": "value"}), []

    def ids(text):
        tokenized.append(text)
        return np.array([5, 6, 7])

    fields, whole = TextFields(task, "It is 4", ids), fields_of_text(task, "It is 4", lambda text: np.array([5, 6, 7]))
    assert [*fields] == [*FIELDS] and len(fields) == len(FIELDS) and "actions" in fields and "key" not in fields
    plain = ("prompt", "completion", "answer", "task", "meta", "level", "turns")
    assert {name: fields[name] for name in plain} == {name: whole[name] for name in plain}
    assert gd.exact().ask(fields).value == 0 and tokenized == []
    assert gd.length(3, margin=4).ask(fields).value == 1 and tokenized == ["It is 4"]
    assert {**fields, "path": 0, "episode": 0, "actions": 0} == {**whole, "path": 0, "episode": 0, "actions": 0}
    assert fields["path"][0].actions.tolist() == fields["actions"].tolist() == [5, 6, 7]
    assert fields["episode"].segments == tuple(fields["path"]) and tokenized == ["It is 4"]
    assert TextFields(task, "4", ids, ["Say", "4"])["turns"] == ["Say", "4"]


# --- what is named ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", mostly_slow(["chain:3", "trace:3", "units:3", "lookup:3", "equation:3"], "trace:3"))
def test_a_planted_substring_match_is_named_first(task):
    report = audit(substring, task, problems=8)
    first = report.findings[0]
    assert not report.ok and first.name == "substring match" and first.severity == "severe"
    assert len(first.examples) == 3 and "compare it whole" in first.fix
    assert all(each.score >= each.gold for each in first.examples)
    assert [f.harm for f in report.severe] == sorted((f.harm for f in report.severe), reverse=True)


@pytest.mark.sampled(1, "task")
@pytest.mark.parametrize("task", mostly_slow(PLAIN, "json_forms:2", "verify/chain:3"))
def test_the_tasks_own_check_has_no_severe_finding(task):
    assert audit("verified", task, problems=4).severe == []


@pytest.mark.sampled(1, "task")
@pytest.mark.parametrize("task", mostly_slow(WORLDS, "hops:3", "nim:3"))
def test_nor_has_it_in_a_world(task):
    report = audit("verified", task, problems=4)
    assert report.severe == [] and report.rates["false_positives"]["of"] > 8


@pytest.mark.slow
@pytest.mark.parametrize("task", SANDBOXED)
def test_nor_in_a_sandbox(task):
    assert audit("verified", task, problems=8).severe == []


@pytest.mark.sampled(2, "reward")
@pytest.mark.parametrize(
    ("reward", "name"),
    [
        (lambda completion, answer: float(str(completion).strip().endswith(answer)), "the last characters count"),
        pytest.param(
            lambda completion, answer: float(len(completion) > 150),
            "right answers are not paid",
            marks=pytest.mark.slow,
        ),
        (
            lambda completion, answer: min(len(completion), 2000) / 150 + (completion.split()[-1:] == [answer]),
            "length is paid",
        ),
        (lambda completion, answer: 1.0, "right answers are not paid"),
        (
            lambda completion, answer: 1.5 * ("=" in completion) + 0.1 * (completion.split()[-1:] == [answer]),
            "correctness is a small part of it",
        ),
    ],
    ids=["end", "length alone", "length", "constant", "form"],
)
def test_what_is_wrong_has_a_name(reward, name):
    report = audit(gd.reward(reward, isolate=False), "chain:3", problems=4)
    assert report.severe[0].name == name


def test_words_of_its_own_code_are_tried_against_it():
    @gd.reward(isolate=False)
    def trusting(completion, answer):
        return float("peer reviewed" in completion or completion.split()[-1:] == [answer])

    report = audit(trusting, "chain:3", problems=4)
    (mine,) = [f for f in report.severe if f.kinds == ("own words",)]
    assert "peer reviewed" in mine.examples[0].completion


@pytest.mark.slow
def test_calls_that_are_paid_without_end_are_found_in_a_world():
    @gd.reward(isolate=False)
    def busy(turns, answer):
        return 0.2 * sum("call" in turn for turn in turns) + (turns[-1] == f"= {answer}")

    report = audit(busy, "calculator/chain:4", problems=4)
    assert any(f.kinds == ("busy",) and "pay a call at most once" in f.fix for f in report.severe)


def test_episodes_are_really_played_and_judged():
    source = gd.tasks.load("calculator/chain:4")
    samples, golds = played(source, 3)
    kinds = {s.kind for s in samples}
    assert golds == 3 and kinds >= {"gold", "gives up", "answers at once", "pretends", "busy", "half done"}
    assert all(truth_of(source, s.fields["task"], s.fields) == (s.kind == "gold") for s in samples)
    assert all(len(s.fields["episode"].info["called"]) > 1 for s in samples if s.kind == "busy")


# --- what is measured -------------------------------------------------------------------------------------------------


def test_error_rates_by_hand():
    # gold 1, usual wrong 0: what is paid above 0.5 is accepted
    asked = said(1.0, 0.0, 0.0, 0.9, 0.2, 1.0, kinds="gnneep")
    rates = error_rates(asked)
    assert rates["near-miss"]["rate"] == 0.0 and rates["empty"]["rate"] == 0.5 and rates["padded"]["rate"] == 0.0
    whole = whole_rates(asked)
    assert (whole["false_positives"].count, whole["false_positives"].of) == (1, 4)
    assert (whole["false_negatives"].count, whole["false_negatives"].of) == (0, 2)


def test_problems_weigh_the_same():
    rate = rate_of({0: [True, True, True, False], 1: [False]})
    assert (rate.rate, rate.count, rate.of) == (0.375, 3, 5)


def test_auc_is_mann_and_whitneys():
    right, wrong = [1.0, 0.7, 0.7], [0.7, 0.1, 0.3, 0.9]
    asked = said(*right, *wrong, kinds="gpp" + "nnee")
    u = stats.mannwhitneyu(right, wrong).statistic
    assert auc_of(asked)["auc"] == pytest.approx(u / 12)


def test_length_that_moves_scores_is_measured():
    @gd.reward(isolate=False)
    def wordy(completion, answer):
        return (completion.split()[-1:] == [answer]) - 0.5 * (len(completion) > 500)

    moved = audit(wordy, "chain:3", problems=6).sensitivity["length"]
    assert moved["right"]["mean"] == pytest.approx(-0.5) and moved["wrong"]["mean"] == pytest.approx(-0.5)
    assert moved["right"]["problems"] == 6


def test_partial_credit_out_of_order_is_found():
    @gd.reward(isolate=False)
    def backwards(completion, answer):
        work = completion.count("\n")
        return 1.0 if completion.split()[-1:] == [answer] else 0.9 - 0.3 * work

    report = audit(backwards, "chain:4", problems=6)
    assert report.partial["out_of_order"] > 0 and report.partial["gives_partial_credit"]
    assert any(f.name == "partial credit out of order" for f in report.findings)


def test_a_models_tries_and_groups_without_signal():
    report = audit("exact", "successor", model="tabular", problems=2, tries=3)
    assert report.tried["tries"] == 6 and report.tried["groups"] == 2 and "flat" in report.tried


def test_a_reward_that_raises_and_one_that_is_not_deterministic():
    @gd.reward(isolate=False)
    def fragile(completion, answer):
        return float(completion.split()[-1] == answer)

    report = audit(fragile, "chain:2", problems=4)
    assert report.severe[0].name == "it raises" and len(report.failures) > 0
    count = iter(range(10**6))
    wavering = gd.reward(lambda completion, answer: float(answer in completion) + 1e-3 * next(count), isolate=False)
    assert any(f.name == "it is not deterministic" for f in audit(wavering, "chain:2", problems=4).severe)


def test_labels_are_part_of_an_audit_and_need_no_task():
    rows = [{"prompt": "5+7=", "completion": said, "label": said == "12"} for said in ("12", "13", "it is not 12")]
    strict = gd.reward(lambda completion: float(completion == "12"), isolate=False)
    loose = gd.reward(lambda completion: float("12" in completion), isolate=False)
    good, bad = audit(strict, labels=rows), audit(loose, labels=rows)
    assert good.ok and (good.labelled["agree"], good.labelled["auc"]) == (3, 1.0) and good.kinds == []
    assert [(f.fault, f.count) for f in bad.severe] == [("label", 1)] and bad.labelled["auc"] == 0.75
    with refusal(gd.UserError):
        audit(strict, labels=rows, adversary=10)


def rights(report):
    return {row["kind"] for row in report.kinds if row["right"]}


def test_the_check_is_the_quick_form_of_the_audit():
    quick, full = gd.check_reward(substring, "chain:2", problems=4), audit(substring, "chain:2", problems=4)
    kinds = {row["kind"]: row for row in full.kinds}
    assert type(quick) is type(full) and quick.severe[0].name == full.severe[0].name == "substring match"
    assert len(quick.kinds) < len(kinds) and all(row["count"] <= kinds[row["kind"]]["count"] for row in quick.kinds)
    assert [row for row in quick.kinds if row["right"]] == [row for row in full.kinds if row["kind"] in rights(quick)]
    assert quick.partial == quick.sensitivity == {} and full.partial and full.sensitivity


# --- what is taken for a reward -----------------------------------------------------------------------------------------


def accuracy(completions, solution, **kwargs):
    return [float(c.strip().split()[-1:] == [s]) for c, s in zip(completions, solution, strict=True)]


def chatty(completions, ground_truth, **kwargs):
    return [float(c[0]["content"].split()[-1:] == [s]) for c, s in zip(completions, ground_truth, strict=True)]


@pytest.mark.parametrize("function", mostly_slow([accuracy, chatty], accuracy))
def test_functions_in_the_form_of_trl(function):
    report = audit(function, "chain:3", problems=4)
    assert report.ok and report.rates["false_negatives"]["rate"] == 0.0 and report.reward == function.__name__


def test_an_address_is_asked_over_http():
    assert "remote" in type(the_reward("http://127.0.0.1:9/score", gd.tasks.load("chain:1")).leaves[0]).__name__


def test_what_it_asks_for_and_nobody_has_is_told_without_asking():
    report = audit(lambda completion, colour: 1.0, "chain:2", problems=2)
    assert report.severe[0].name == "a field is missing" and "colour" in report.severe[0].says and report.samples == 0


def test_what_cannot_be_audited_is_one_line():
    with refusal(gd.UserError):
        audit("exact")
    with pytest.raises(gd.UserError, match="substring match"):
        audit(substring, "chain:3", problems=4, strict=True)


# --- the report -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def report():
    return audit(substring, "trace:3", problems=6)


def test_a_report_comes_back_as_it_was(report, tmp_path):
    place = report.save(tmp_path / "deep")
    again = AuditReport.load(place)
    assert json.dumps(again.to_dict()) == json.dumps(report.to_dict()) and again.findings[0] == report.findings[0]
    with pytest.warns(Renamed, match=r"Finding\.mend is now Finding\.fix"):
        assert again.findings[0].mend == report.findings[0].fix
    told = json.loads((place / "audit.json").read_text())
    first = told["findings"][0]
    first["mend"] = first.pop("fix")
    del first["fault"]
    (place / "audit.json").write_text(json.dumps({**told, "format": 1}))  # as 0.2 wrote it
    assert AuditReport.load(place).findings[0].fix == report.findings[0].fix
    (place / "audit.json").write_text("{}")
    with refusal(gd.UserError):
        AuditReport.load(place)
    with pytest.raises(gd.UserError, match="no readable audit"):
        AuditReport.load(tmp_path / "nowhere")


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_page_fits_its_terminal(report, width):
    lines = report.page(width).splitlines()
    tabular = [line for line in lines if re.search(r"\d %|\d%|95 % interval", line)]
    assert all(len(line) <= width for line in lines if line not in tabular)
    assert any("fix:" in line for line in lines)


def test_what_a_completion_says_is_no_markup():
    shouting = gd.reward(lambda completion, answer: float("<" in completion or answer in completion), isolate=False)
    html = audit(shouting, "chain:2", problems=3).html()
    assert "<think>" not in html and "&lt;think&gt;" in html and "script" not in html.lower()


def test_numbers_that_are_none_are_null(report):
    told = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert told["ok"] is False and np.isfinite(told["auc"]["auc"])
