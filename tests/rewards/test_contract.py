"""The check that authors run on their rewards: what a sound one shows, and what each kind of fault is called."""

from __future__ import annotations

import json
import random
import re

import pytest
from refusals import refusal

import guerdon as gd
from guerdon import tasks
from guerdon.rewards.formula.algebra import normalised
from guerdon.tasks.family import read_solution

COUNTDOWN = tasks.load("countdown:3")


@gd.reward(isolate=False)
def right(task, completion):
    return COUNTDOWN.check(task, completion)


def lines(task, completion):
    """How far the steps are right."""
    steps, _ = read_solution(completion)
    wrong = COUNTDOWN.first_wrong(task, steps)
    return (len(steps) if wrong is None else wrong) / 10


def found(reward, problems=2, task="countdown:3", **more):
    report = gd.check_reward(quick(reward), task, problems=problems, **more)
    return report, [f.fault for f in report.severe]


def quick(reward):
    """Plain functions are asked here: workers are not what is tested."""
    return gd.reward(isolate=False)(reward) if type(reward).__name__ == "function" else reward


def rows_of(report):
    return {row["kind"]: row for row in report.kinds}


def misses(report):
    return sum(row["count"] for kind, row in rows_of(report).items() if kind in ("near-miss", "close"))


def says(report, severity="severe"):
    return [f.says for f in report.findings if f.severity == severity]


def test_a_good_reward_has_no_findings():
    report, kinds = found(right, problems=6, strict=True)
    assert report.ok and kinds == [] and report.findings == [] and report.problems == 6
    rows = rows_of(report)
    assert rows["gold"]["mean"] == 1.0 and rows["gold"]["scored"] == 6 and rows["near-miss"]["mean"] == 0.0
    tricks = {"empty", "blank", "long", "unicode", "mention", "list", "prompt", "no answer", "marks", "begging"}
    assert tricks | {"padded", "repeated", "other answer"} < set(rows)
    assert all(row["mean"] == float(row["right"]) for row in rows.values())
    assert report.samples == sum(row["scored"] for row in report.kinds)
    assert report.auc["auc"] == 1.0 and rows["near-miss"]["level"] == 0  # wrong is wrong, and that is no finding
    assert 0 < report.seconds["median"] <= report.seconds["worst"] and report.components == []
    said = str(report).splitlines()
    assert said[0].startswith("right on countdown:3: 6 problems") and said[1] == "nothing found"
    assert "tokens counted by sprig" in " ".join(said[:2]) or "sprig" in said[0]
    assert any(line.startswith("gold ") and "1.000" in line for line in said)


def test_one_that_raises_on_nothing_is_caught_with_its_exception():
    def last(completion, answer):
        return float(completion.strip().splitlines()[-1] == f"= {answer}")

    report, kinds = found(last, task="chain:2")
    assert kinds == ["failure"]
    (failure,) = report.severe
    assert failure.says == "last fails on 4 completions (empty, blank): IndexError: list index out of range"
    assert failure.note == "on ''" and failure.count == 4
    assert [f["kind"] for f in report.failures] == ["empty", "blank"] * 2
    assert report.failures[0]["completion"] == "" and "IndexError" in str(report)
    with refusal(gd.UserError, "4"):
        found(last, task="chain:2", strict=True)


def test_one_that_is_random_is_not_deterministic():
    def luck(task, completion):
        return right.ask({"task": task, "completion": completion, "meta": {}}).value + random.random() / 10

    report, kinds = found(luck)
    assert "nondeterministic" in kinds and "another score when asked again" in str(
        report.severe[kinds.index("nondeterministic")]
    )


def test_one_that_remembers_is_not_deterministic():
    seen = []

    def novel(completion, task):
        seen.append(completion)
        return float(seen[-2:-1] != [completion] and COUNTDOWN.check(task, completion) == 1.0) + 0.1 * (
            len(seen) > 1 and len(seen[-2]) > len(completion)
        )

    _, kinds = found(novel)
    assert "nondeterministic" in kinds


def test_one_that_is_constant_teaches_nothing():
    report, kinds = found(lambda completion: 1.0)
    assert kinds == ["worth"] and says(report) == ["it says 1 about every completion: there is nothing to learn"]
    assert rows_of(report)["near-miss"]["level"] == rows_of(report)["near-miss"]["count"]


def test_one_that_returns_words_is_no_reward():
    report, kinds = found(lambda completion: "good")
    assert kinds == ["failure"]
    assert "a reward returned 'good', not a number" in str(report.severe[0])
    assert len(report.failures) == report.samples


def test_one_that_asks_for_what_there_is_not():
    def wrong(complettion, colour="red"):
        raise AssertionError("asked")

    report, kinds = found(wrong)
    assert (
        kinds == ["argument"] and "wrong asks for 'complettion', which 2 of 2 problems do not have" in says(report)[0]
    )
    assert report.kinds == []


def test_one_that_pays_for_the_wrong_thing():
    report, kinds = found(lambda completion: -float(len(completion)))
    assert kinds == ["worth"] and report.severe[0].name == "right answers are not paid"  # which says the rest as well
    assert report.severe[0].count == 2 and rows_of(report)["empty"]["level"] == 2
    never, kinds = found(lambda completion: None)
    assert kinds == ["worth"] and says(never) == ["it does not apply to any completion"]


def test_what_is_level_with_gold_is_found_with_an_example():
    report, _ = found(lambda completion, answer: float(answer in completion), task="trace:3", problems=4)
    first, rows = report.severe[0], rows_of(report)
    assert first.name == "substring match" and {"suffix", "prefix", "mention", "list"} <= set(first.kinds)
    assert "empty" not in first.kinds and first.count == sum(rows[kind]["level"] for kind in first.kinds)
    assert rows["suffix"]["level"] == rows["suffix"]["count"] == 16  # two of each sort, four problems
    assert "16 of 16 wrong answers that end in the right one score as much as the right answer" in first.says
    assert all((each.score, each.gold) == (1.0, 1.0) for each in first.examples) and "compare" in first.fix


def test_an_empty_answer_that_is_worth_gold():
    def generous(completion, answer):
        numbers = [word for word in completion.split() if word.lstrip("-").isdigit()]
        return float((numbers or [answer])[-1] == answer)

    report, _ = found(generous, task="successor:2", problems=4)
    assert {"empty", "blank", "unicode", "no answer"} <= {kind for f in report.severe for kind in f.kinds}
    assert rows_of(report)["empty"]["level"] == 4


def test_right_answers_that_are_padded_keep_their_worth(tmp_path):
    data = rows_file(tmp_path, *({"prompt": f"{n}+{n}=", "answer": str(2 * n)} for n in range(3, 9)))
    strict = gd.check_reward(quick(lambda completion, answer: float(completion == answer)), data=data)
    assert [f.about for f in strict.severe] == ["padded"] and "space around them" in says(strict)[0]
    assert gd.check_reward(quick(lambda completion, answer: float(completion.strip() == answer)), data=data).ok
    # `successor` itself takes nothing but the answer, so a reward need not pay more
    assert found(lambda completion, answer: float(completion == answer), task="successor:2", problems=5)[0].ok


def test_a_form_that_the_rows_do_not_have_is_asked_about_in_it(tmp_path):
    data = rows_file(tmp_path, *({"prompt": f"{n}+{n}=", "answer": str(2 * n)} for n in range(3, 9)))
    data["check"] = "exact"  # by the last number the task would know the form

    def tagged(completion, answer):
        return float(re.findall(r"\[FINAL\](.*?)\[/FINAL\]", completion)[-1:] == [answer])

    report = gd.check_reward(quick(tagged), data=data)
    assert report.ok and report.form == "[FINAL]..[/FINAL]" and rows_of(report)["gold"]["mean"] == 1.0
    assert "written as '[FINAL]..[/FINAL]'" in says(report, "warning")[0]
    anywhere = gd.check_reward(quick(lambda completion, answer: float(f"[FINAL]{answer}" in completion)), data=data)
    assert {"list", "prefix"} <= {kind for f in anywhere.severe for kind in f.kinds}


def test_a_form_that_is_worth_more_than_the_truth(tmp_path):
    data = rows_file(tmp_path, *({"prompt": f"{n}+{n}=", "answer": str(2 * n)} for n in range(3, 9)))

    def tags(completion, answer, form, truth):
        match = re.fullmatch(r"<think>.*</think>\s*<answer>(.*)</answer>", completion.strip(), re.DOTALL)
        return form * bool(match) + truth * (match is not None and match[1].strip() == answer)

    heavy = gd.check_reward(quick(lambda completion, answer: tags(completion, answer, 2.0, 0.5)), data=data)
    assert "the form of an answer is worth more than its being right" in says(heavy)
    light = gd.check_reward(quick(lambda completion, answer: tags(completion, answer, 0.2, 1.0)), data=data)
    assert light.ok


@pytest.mark.slow
def test_terms_that_never_vary_are_named_and_tokens_are_counted():
    report, kinds = found(right + gd.length(100_000).weight(0.1) + gd.length(40, margin=1).weight(0.01), problems=2)
    assert kinds == []
    terms = [f.says for f in report.findings if f.fault == "term"]
    assert len(terms) == 1 and terms[0].endswith("is 1 for every completion: it adds nothing")
    by_name = {row["name"]: row for row in report.components}
    assert sorted(row["lowest"] for row in by_name.values()) == [0.0, 0.0, 1.0]  # 20,000 characters are over 40 tokens
    own = gd.check_reward(gd.length(5, margin=1) + right.weight(3), "countdown:3", problems=1, model="sprig", tries=1)
    assert own.tokens == "sprig"


def test_a_models_own_tries_are_judged(tmp_path):
    source = tasks.load("chain:2")
    gold = [source.solution(source.get("train", n)) for n in range(2)]
    wrong = "1+1=3\n= 3"
    completions = {0: [gold[0], gold[0], wrong, wrong], 1: [gold[1], wrong, wrong, ""]}
    fair = gd.check_reward(quick(last_line), "chain:2", problems=2, completions=completions)
    assert fair.ok and {k: fair.tried[k] for k in ("tries", "judged", "right", "agree", "flat", "groups")} == {
        "tries": 8, "judged": 8, "right": 3, "agree": 8, "flat": 0, "groups": 2,
    }  # fmt: skip
    never = gd.check_reward(
        quick(lambda completion: float("3" in completion)), "chain:2", problems=2, completions=completions
    )
    assert never.tried["wrong_paid_as_gold"] >= 4 and not never.ok
    flat = gd.check_reward(quick(last_line), "chain:2", problems=2, completions={0: [wrong, wrong], 1: [wrong, wrong]})
    assert flat.ok and "there is nothing to learn from" in says(flat, "warning")[-1]


def last_line(completion, answer):
    return float(completion.strip().split("\n")[-1].strip() == f"= {answer}")


def test_a_mixture_lends_the_near_misses_of_its_families():
    report, kinds = found(last_line, task="chain:1-2+modular:2", problems=6)
    assert kinds == [] and misses(report) > 12  # at least two kinds of near-miss each
    alone = [found(last_line, task=name, problems=2)[0] for name in ("chain:1", "chain:2", "modular:2")]
    assert misses(report) == sum(map(misses, alone))


def test_answers_that_several_are_right_to():
    def one_alone(completion, answer):
        return float(completion.strip().split("\n")[-1] == f"= {answer}")

    report, _ = found(one_alone, problems=6)
    assert [f.about for f in report.severe] == ["another answer"]
    assert report.severe[0].says.endswith("other right answers are paid like wrong ones")


@pytest.mark.slow
def test_a_formula_is_looked_at_part_by_part():
    def fragile(completion):
        if not completion:
            raise ValueError("nothing")
        return 0.0

    report, _ = found(gd.blend(right=right, steps=gd.reward(lines).weight(0.5), fragile=fragile))
    parts = {row["name"]: row for row in report.components}
    assert set(parts) == {"right", "steps", "fragile"}
    assert parts["right"]["gold"] == 1.0 and parts["fragile"]["failed"] == 2 and parts["right"]["failed"] == 0
    assert {f["component"] for f in report.failures} == {"fragile"}
    assert found(normalised(right))[0].ok


def test_a_task_without_near_misses_has_wrong_answers_made():
    def exact(completion, answer):
        return completion == answer

    report, kinds = found(exact, task="successor", problems=5)
    assert kinds == [] and misses(report) > 10 and rows_of(report)["near-miss"]["level"] == 0


def test_no_problems_is_refused():
    with refusal(gd.UserError):
        gd.check_reward(right, "countdown:3", problems=0)
    with refusal(gd.UserError):
        gd.check_reward(right)


def test_the_page_keeps_to_its_width():
    report, _ = found(lambda completion, answer: float(answer in completion), task="trace:3", problems=2)
    assert max(map(len, str(report).splitlines())) <= 88
    assert json.loads(json.dumps(report.to_dict()))["ok"] is False


def rows_file(folder, *rows):
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {"path": str(path)}
