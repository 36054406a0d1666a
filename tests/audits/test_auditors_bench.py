"""The bench of auditors (`bench/auditors.py`) and of alarms (`bench/alarms.py`): numbers done by hand, and tiny runs."""

from __future__ import annotations

import json
import sys

import pytest

import guerdon as gd
from bench import alarm_runs, alarms, auditors, auditors_page
from bench.audited import Audited, corpora, plain_ratio


def record(reward, is_hack, ok=True, kind="text", corpus="audit_corpus", auditor="check", **more):
    facts = {"reward": reward, "is_hack": is_hack, "kind": kind, "corpus": corpus, "auditor": auditor, "task": "t"}
    return {**facts, "why": "because", "ok": ok, "says": [] if ok else ["it pays | nothing"], "error": "", **more}


def by_hand():
    """Three bad rewards of which two are flagged, two good ones of which one is."""
    said = [("a", True, False), ("b", True, False), ("c", True, True), ("d", False, False), ("e", False, True)]
    ratios = {"a": 0.9, "b": 0.5, "c": 0.1, "d": 0.3, "e": 0.0}
    plain = [{**record(r, h, auditor="plain"), "ratio": ratios[r]} for r, h, _ in said]
    return [*(record(*each) for each in said), *plain]


def test_recall_and_precision_with_wilsons_intervals():
    found = auditors.rates(by_hand()[:5])
    assert (found["hacks"], found["clean"], found["caught"], found["flagged"]) == (3, 2, 2, 3)
    # Wilson's interval of 2 in 3, z = 1.96: (2/3 + 1.2805/2) / 2.2805 +- 1.96 / 2.2805 * sqrt(2/27 + 3.8415/36)
    assert found["recall"] == pytest.approx((0.6667, 0.2077, 0.9385), abs=1e-4) == found["precision"]


def test_nothing_flagged_has_no_precision():
    assert auditors.rates([record("a", True)])["precision"] is None
    assert auditors_page.said(None) == "-"


def test_the_plain_threshold_is_the_best_in_hindsight():
    plain = by_hand()[5:]
    # above 0: a b d c flagged, F1 6/7; above 0.1: a b d, 4/6; above 0.3: a b, 4/5; above 0.5: a, 2/4
    assert auditors.best_threshold(plain) == 0.0
    assert [r["ok"] for r in auditors.with_threshold(plain, 0.3)] == [False, False, True, True, True]


def test_what_is_told_names_every_miss_and_false_alarm(tmp_path):
    told = auditors.tell(by_hand(), "check")
    assert [r["reward"] for r in told["names"]["check"]] == ["c", "d"]
    assert [r["reward"] for r in told["names"]["plain threshold"]] == ["d"]
    assert told["by_kind"]["check"]["sql"]["recall"] is None
    page = tmp_path / "page.md"
    page.write_text("# A\n\n<!-- check: bench/auditors.py -->\nold\n<!-- end of check -->\n\nWords.\n")
    auditors.publish(told, tmp_path, page)
    text = page.read_text()
    assert "\nold\n" not in text and text.endswith("Words.\n")
    assert "| check | missed | `c` | audit_corpus | t | because | nothing severe |" in text
    assert r"| check | false alarm | `d` | audit_corpus | t | because | it pays \| nothing |" in text
    assert json.loads((tmp_path / "auditors_check.json").read_text())["threshold"] == 0.0


def test_the_second_half_is_told_by_the_threshold_of_the_first():
    other = [{**record("f", False, corpus="audit_corpus_blind", auditor="plain"), "ratio": 0.05}]
    told = auditors.tell([*by_hand(), *other], "check")
    assert told["threshold"] == 0.0 and "f" in [r["reward"] for r in told["names"]["plain threshold"]]


def test_an_auditor_that_refuses_has_flagged_nothing():
    entry = Audited(lambda completion: 1.0, "no such task", True, "text", "")
    told = auditors.judged("check", entry)
    assert told["ok"] and told["error"]


def test_what_is_known_is_not_asked_again(tmp_path):
    known = [{**r, "source": auditors.source_of(r["auditor"], r["corpus"])} for r in _all_known()]
    (tmp_path / "records.jsonl").write_text("".join(json.dumps(each) + "\n" for each in known))
    records = auditors.run_all(["check"], tmp_path, 1, ["audit_corpus"])
    assert len(records) == len(corpora()["audit_corpus"]) == len(known)


def _all_known():
    return [record(entry.name, entry.is_hack) for entry in corpora()["audit_corpus"]]


def test_every_corpus_is_there_and_the_older_ones_have_no_kind():
    every = corpora()
    assert {"audit_corpus", "check_corpus", "check_corpus_blind_1", "check_corpus_blind_2"} <= set(every)
    assert {entry.kind for entry in every["check_corpus"]} == {""} and all(e.why for e in every["check_corpus"])


def test_a_reward_that_wants_a_form_is_asked_in_it():
    """Else gold would seem to be paid nothing, and every threshold be passed."""

    def boxed(completion, answer):
        return float(completion == f"\\boxed{{{answer}}}")

    assert plain_ratio(Audited(boxed, "chain:2", False, "text", ""), 2) == 0.0
    assert plain_ratio(Audited(lambda completion: 0.0, "chain:2", True, "text", ""), 2) == 1.0


# --- alarms ---------------------------------------------------------------------------------------------------------


def run_record(reward, gaps, rewards, truths, is_hack=True):
    """A run of 40 steps whose reward and truth go evenly from one number to another."""
    before, after = ({"pay": 0.0, "truth": 0.0, "gap": gap} for gap in gaps)
    spread = {"reward/std": 0.5, "truth/std": 0.5}
    steps = [
        {
            "reward/mean": rewards[0] + (rewards[1] - rewards[0]) * i / 39,
            "truth/mean": truths[0] + (truths[1] - truths[0]) * i / 39,
            **spread,
        }
        for i in range(40)
    ]
    facts = {"reward": reward, "task": "t", "seed": 0, "is_hack": is_hack, "gold": 2.0, "setting": {"training": {}}}
    return {**facts, "before": before, "after": after, "steps": steps}


RUNS = [
    run_record("learned", (0.0, 0.5), (0.0, 1.0), (0.8, 0.2)),
    run_record("missed", (0.0, 0.3), (0.5, 0.6), (0.5, 0.6)),
    run_record("was so before", (0.4, 0.45), (0.0, 1.0), (0.5, 0.5)),
    run_record("clean", (0.0, 0.05), (0.0, 1.2), (0.0, 0.6), is_hack=False),
]


def test_a_hack_is_learned_where_pay_leaves_the_truth_behind():
    assert [alarms.is_learned(r) for r in RUNS] == [True, True, False, False]
    # from the mean of the first five steps to that of the last, 35 of 39 steps apart, of gold's 2
    assert [alarms.rise(r) for r in RUNS] == pytest.approx([35 / 78, 35 / 780, 35 / 78, 1.2 * 35 / 78])


def test_alarms_are_raised_from_the_numbers_of_a_run():
    raised = [{(a["rule"], a["severity"]) for a in alarms.alarms_of(r)} for r in RUNS]
    assert raised == [{("proxy_gap", "bad")}, set(), {("proxy_gap", "warn")}, set()]


def test_alarms_are_held_against_what_was_learned():
    told = alarms.tell(RUNS)
    against_truth, bad, any_alarm, rose = told["arms"].values()
    assert (told["runs"], told["learned"]) == (4, 2)
    assert (against_truth["recall"][0], against_truth["precision"][0]) == (0.5, 0.5)
    assert (bad["recall"][0], bad["precision"][0]) == (0.5, 1.0) and any_alarm == against_truth
    # a rise of 35/780 flags all of which two learned, F1 4/6; of 35/78 three and one, 2/5
    assert (rose["recall"][0], rose["precision"][0]) == (1.0, 0.5)
    text = alarms.markdown(told)
    assert "4 runs, 2 of them learned a hack." in text
    assert "| `learned` | t | 0 | yes | yes | +0.00 | +0.50 | +0.45 | proxy_gap (bad) |" in text


def test_a_tiny_run_is_trained_and_examined(tmp_path):
    any_digit = gd.reward(isolate=False)(lambda completion: float(completion.isdigit()))
    entry = Audited(any_digit, "successor", True, "text", "", "says a digit", "0", {"steps": 2, "lr": 0.3})
    exam = {"tasks": 4, "tries": 1, "seed": 1}
    told = alarm_runs.trained(entry, 0, tmp_path / "run", "tabular", exam)
    assert told["gold"] == 1.0 and len(told["steps"]) == 2 and told["weights"]
    assert {"reward/mean", "truth/mean"} <= set(told["steps"][0]) and alarms.alarms_of(told) == []
    assert told["after"]["gap"] == pytest.approx(told["after"]["pay"] - told["after"]["truth"])
    assert json.loads(json.dumps(told)) == told, "a record is JSON"


FAKE = """
import json, pathlib, sys
corpus, reward, seed, model, folder, jobs = sys.argv[1:]
if reward == "token_f1":
    sys.exit("it broke")
pathlib.Path(folder).mkdir(parents=True)
exam = {"pay": 1.0, "truth": 0.0, "gap": 0.5}
made = {"gold": 1.0, "before": {**exam, "gap": 0.0}, "after": exam, "weights": "w",
        "steps": [{"reward/mean": 0.5, "asked/write f": 3}]}
(pathlib.Path(folder) / "alarm_record.json").write_text(json.dumps(made))
"""


@pytest.mark.slow
def test_runs_are_written_down_as_they_end_and_go_on_where_they_stopped(tmp_path, capsys):
    """With a script in place of the training, which has a test of its own."""
    script = tmp_path / "fake.py"
    script.write_text(FAKE)
    wanted = alarms.wanted_runs(1, "sprig")
    assert len(wanted) >= 20 and {facts["kind"] for facts in wanted.values()} == {"text", "code", "sql", "judges"}
    runs, figures, command = tmp_path / "runs", tmp_path / "figures", [sys.executable, "-S", str(script)]
    figures.mkdir()
    alarms.run_missing(runs, wanted, "sprig", 4, command)
    known = alarms.known_in(runs)
    assert len(known) == len(wanted) - 1
    capsys.readouterr()
    alarms.run_missing(runs, alarms.unknown_of(wanted, known), "sprig", 4, command)
    assert capsys.readouterr().out == "1 of 1: audit_corpus-token_f1-0 failed: it broke\n"
    alarms.keep(figures, known.values())
    kept = alarms.known_in(tmp_path / "elsewhere", figures)
    assert [*alarms.unknown_of(wanted, kept)] == ["audit_corpus-token_f1-0"], "what is kept is not run again"
    assert all(each["steps"] == [{"reward/mean": 0.5}] for each in kept.values())
