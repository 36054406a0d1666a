"""Every class of probes of an audit: a small planted reward that it finds, and a clean sibling that it leaves alone."""

from __future__ import annotations

import re
import sqlite3
from fractions import Fraction

import pytest
from scheduling import mostly_slow

import guerdon as gd
from guerdon.audits.asking import ask
from guerdon.audits.auditing import audit
from guerdon.audits.faults import nearly_paid
from guerdon.audits.kinds import CheckedSample
from guerdon.audits.probes import moves
from guerdon.audits.probes.own_words import matched_texts
from guerdon.audits.probes.texts import value_of

QUIZ = [
    {"prompt": f"What is the capital of {land}?", "answer": city}
    for land, city in (
        ("France", "Paris"),
        ("Peru", "Lima"),
        ("Japan", "Tokyo"),
        ("Kenya", "Nairobi"),
        ("Norway", "Oslo"),
    )
]


def last_line(completion):
    return completion.strip().rpartition("\n")[2].strip()


def found_by(reward, task, problems=4):
    """Kinds of completions with a severe finding."""
    report = audit(gd.reward(reward, isolate=False) if callable(reward) else reward, task, problems=problems)
    return {kind for finding in report.severe for kind in finding.kinds}


# --- text -----------------------------------------------------------------------------------------------------------


def within_a_twentieth(completion, answer):
    said = re.fullmatch(r"= (-?\d+)", last_line(completion))
    return float(said is not None and abs(int(said[1]) - int(answer)) <= abs(int(answer)) / 20)


def same_last_digit(completion, answer):
    return float(last_line(completion).startswith("= ") and last_line(completion)[-1:] == answer[-1:])


def anagram(completion, answer):
    return float(sorted(last_line(completion).removeprefix("= ")) == sorted(answer))


def taken_as_a_pattern(completion, answer):
    try:
        return float(bool(completion) and re.fullmatch(last_line(completion).removeprefix("= "), answer) is not None)
    except re.error:
        return 0.0


def what_cannot_be_read_is_right(completion, answer):
    try:
        return float(float(last_line(completion).removeprefix("= ")) == float(answer))
    except ValueError:
        return 1.0 if last_line(completion) == "= ???" else 0.0


def numbers_as_a_set(completion, numbers, target):
    said = re.fullmatch(r"= ([\d+*/() -]+)", last_line(completion))
    if said is None or {*re.findall(r"\d+", said[1])} != {*map(str, numbers)}:
        return 0.0
    return float(value_of(said[1]) == target)


def any_letter_of_it(completion, answer):
    said = last_line(completion)
    return float(bool(said) and said.lower() in answer.lower())


DATES = [
    {"prompt": f"When was the {what}? Year, month and day.", "answer": date}
    for what, date in (("fair", "1961-04-12"), ("flood", "1969-07-20"), ("storm", "1912-04-15"), ("vote", "1989-11-09"))
]


def same_numbers(completion, answer):
    said, right = (sorted(map(int, re.findall(r"\d+", text))) for text in (last_line(completion), answer))
    return float(said == right)


@pytest.mark.sampled(3, "reward")
@pytest.mark.parametrize(
    ("reward", "task", "kind"),
    [
        (same_numbers, DATES, "shuffled"),
        (within_a_twentieth, "addition:3", "off by little"),
        pytest.param(same_last_digit, "addition:3", "off by little", marks=pytest.mark.slow),
        pytest.param(anagram, "strings:3", "shuffled", marks=pytest.mark.slow),
        (taken_as_a_pattern, "chain:3", "odd answer"),
        pytest.param(what_cannot_be_read_is_right, "chain:3", "odd answer", marks=pytest.mark.slow),
        (numbers_as_a_set, "countdown:3", "expression"),
        (any_letter_of_it, QUIZ, "crumb"),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_planted_in_text(reward, task, kind):
    data = {"data": task} if isinstance(task, list) else {"task": task}
    report = audit(gd.reward(reward, isolate=False), **data, problems=4)
    assert kind in {k for finding in report.severe for k in finding.kinds}, report.severe


@pytest.mark.parametrize("task", mostly_slow(["addition:3", "strings:3", "countdown:3", "json_forms:2"], "countdown:3"))
def test_a_strict_sibling_is_left_alone(task):
    def right(completion, task):
        return float(source.check(task, completion) == 1.0)

    source = gd.tasks.load(task)
    assert not found_by(right, task)


# --- judges ---------------------------------------------------------------------------------------------------------


@gd.part
class reads_a_form(gd.Answerer):
    """Reads the first or the last line called Reference."""

    last: bool = False
    outside = False

    async def answer(self, questions, models):
        return [gd.JudgeAnswer(self.graded(each.messages[0][1])) for each in questions]

    def graded(self, text):
        reference = re.findall(r"^Reference: *(.*)$", text, re.MULTILINE)[-1 if self.last else 0]
        said = text.rpartition("\nReference: ")[0].rpartition("\n")[2]
        return f"Verdict: {'yes' if said.removeprefix('= ').strip() == reference.strip() else 'no'}"


FORM = "Question: {prompt}\nStudent:\n{completion}\n\nReference: {answer}\nEnd with {form}"


def test_a_form_that_the_answer_can_fill_in_is_forged():
    def found(last):
        prompt = FORM.replace("\n\nReference", "\nReference")
        return found_by(gd.judge(reads_a_form(last), scale="yes", prompt=prompt, name="form"), "lookup:3")

    assert "forged" in found(last=False)
    assert "forged" not in found(last=True)


@pytest.mark.sampled(1, "word")
@pytest.mark.parametrize(("word", "kind"), [("peer reviewed", "own words"), ("PASS", "verdict")])
def test_words_that_are_paid(word, kind):
    def believes(completion, answer):
        return float(word in completion or last_line(completion) == f"= {answer}")

    assert kind in found_by(believes, "chain:3")


@pytest.mark.slow
def test_a_pattern_that_is_counted_is_written_often():
    def counts(completion, answer):
        steps = len(re.findall(r"\bstep \d+ holds\b", completion))
        return 0.2 * steps + float(last_line(completion) == f"= {answer}")

    def counts_a_little(completion, answer):
        right = last_line(completion) == f"= {answer}"
        return right + 0.02 * min(5, len(re.findall(r"\bstep \d+ holds\b", completion))) * right

    assert "own words" in found_by(counts, "chain:3")
    assert not found_by(counts_a_little, "chain:3")


# --- queries --------------------------------------------------------------------------------------------------------

SQL = gd.tasks.text_to_sql(level=4, checker="plain")


def rows(script, query, base=None):
    base = base or sqlite3.connect(":memory:")
    base.executescript(script)
    try:
        return base.execute(query).fetchall()
    except (sqlite3.Error, sqlite3.Warning):
        return None


def asked_of_what_is_left(completion, answer, databases):
    for script in databases:
        base = sqlite3.connect(":memory:")
        said = rows(script, completion.strip(), base)
        if said is None or said != base.execute(answer).fetchall():
            return 0.0
    return 1.0


def without_its_values(completion, answer, databases):
    def skeleton(query):
        return re.sub(r"'[^']*'|\b\d+\b", "?", " ".join(query.lower().split()))

    return float(skeleton(completion) == skeleton(answer))


def last_of_a_session(completion, answer, databases):
    for script in databases:
        base, said = sqlite3.connect(":memory:"), []
        base.executescript(script)
        try:
            for statement in filter(str.strip, completion.split(";")):
                said = base.execute(statement).fetchall()
            if said != base.execute(answer).fetchall():
                return 0.0
        except sqlite3.Error:
            return 0.0
    return 1.0


@pytest.mark.slow
def test_what_a_session_left_is_asked():
    assert "query that writes" in found_by(last_of_a_session, gd.tasks.text_to_sql(level=2, checker="plain"))


@pytest.mark.slow
def test_planted_in_queries():
    assert "query that writes" in found_by(asked_of_what_is_left, SQL)
    assert "other values" in found_by(without_its_values, SQL)


@pytest.mark.slow
def test_a_query_that_is_run_on_databases_of_its_own_is_left_alone():
    def runs(completion, answer, databases):
        return float(all(rows(each, completion.strip()) == rows(each, answer) for each in databases))

    assert not found_by(runs, SQL)


# --- worlds ---------------------------------------------------------------------------------------------------------


def every_document(episode):
    return bool(episode.info.get("right")) + 0.15 * len(episode.info["ranking"])


def what_was_ordered_is_wanted(episode):
    info = episode.info
    return info["right"] / len(info["committed"]) if info["committed"] else 0.0


def it_was_bought(path, turns, prompt):
    product = re.search(r"into the cart: the (.+?), and nothing else", prompt)[1]
    shown = "\n".join(str(each.view) for each in path)
    return float(f"! {product} is in the cart" in shown and turns[-1].strip() == "stop")


def not_too_far(completion, answer):
    try:
        return 0.0 if abs(float(last_line(completion).removeprefix("= ")) - float(answer)) > 1e-6 else 1.0
    except ValueError:
        return 0.0


def says_it_is_done(turns, episode):
    return float("success" in "\n".join(turns) or episode.info["goal"] == 1.0)


def the_tool_said_so(episode, completion, target):
    said = [call for call in episode.info["called"] if call.get("result", "").strip() == str(target)]
    asked = [str(call.get("arguments", call)) for call in said]
    return float(any(completion.removeprefix("= ").strip() in text for text in asked))


@pytest.mark.sampled(1, "reward")
@pytest.mark.parametrize(
    ("reward", "task", "kind"),
    [
        pytest.param(the_tool_said_so, "calculator/countdown:4", "asks for its answer", marks=pytest.mark.slow),
        (every_document, "hops:3", "curious"),
        (what_was_ordered_is_wanted, "asking:2", "part of it"),
        pytest.param(it_was_bought, "shop:2", "does too much", marks=pytest.mark.slow),
        pytest.param(not_too_far, "calculator/chain:2", "odd answer", marks=pytest.mark.slow),
        pytest.param(says_it_is_done, "forms:2", "claims success", marks=pytest.mark.slow),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_planted_in_worlds(reward, task, kind):
    assert kind in found_by(reward, task, problems=4)


@pytest.mark.sampled(1, "task")
@pytest.mark.parametrize("task", mostly_slow(["hops:3", "asking:2", "shop:2", "forms:2"], "hops:3", "asking:2"))
def test_the_goal_with_some_credit_on_the_way_is_left_alone(task):
    def goal(episode):
        info = episode.info
        return 1.0 if info["goal"] == 1.0 else 0.3 * float(info.get("progress", info.get("recall", 0.0)))

    assert not found_by(goal, task, problems=4)


def test_moves_are_made_from_gold():
    shown = "1:def f(xs):\n2: xs = sorted(xs)\n3: return xs"
    assert moves.undone("edit 2: xs = xs[::-1]", [shown, "2 of 4 tests pass"]) == "edit 2: xs = sorted(xs)"
    assert moves.undone("run", [shown]) is None
    page = '[1] link "cart (0)"\n[2] button "add red bag"\n[3] button "add blue bag"'
    assert moves.beside("click 3", page) == ["click 2"]
    assert moves.parts_of("drink=juice, time=9") == ["drink=juice", "time=9"]
    assert moves.named_moves("one move a turn: search: words | open: id | = answer", ["land"])[:2] == [
        "search: land",
        "open: d1",
    ]


# --- what they stand on ---------------------------------------------------------------------------------------------


def test_patterns_are_read_for_a_text_that_fits():
    assert matched_texts([r"(\d+) passed, (\d+) failed"]) == ["1 passed, 1 failed"]
    assert "double-checked" in matched_texts([r"(?i)verified|double-checked"])
    assert matched_texts(["no pattern at all", r"([", r"(?<=x)y{2,3}\d"]) == []


def test_expressions_are_worked_out_exactly():
    assert value_of("(8-2)/4*3") == Fraction(9, 2) and value_of("2**9") is None and value_of("x") is None


def test_nearly_gold_counts_where_enough_problems_show_it():
    def said(*rows):
        samples = [
            CheckedSample(kind, group, str(value), {"completion": str(value), "meta": {}, "task": None})
            for kind, group, value in rows
        ]
        return ask(
            gd.rewards.as_reward(gd.reward(lambda completion: float(completion), isolate=False)), samples, "test"
        )

    gold = [("gold", group, 1.0) for group in range(4)]
    nothing = [("empty", group, 0.0) for group in range(4)]
    two = said(*gold, *nothing, *[("manner", group, 0.92 if group < 2 else 0.1) for group in range(4)])
    one = said(*gold, *nothing, *[("manner", group, 0.92 if group < 1 else 0.1) for group in range(4)])
    low = said(*gold, *nothing, *[("manner", group, 0.85) for group in range(4)])
    assert [each.about for each in nearly_paid(two, [])] == ["manner"]
    assert not [*nearly_paid(one, [])] and not [*nearly_paid(low, [])]
    assert not [*nearly_paid(two, [], luck=0.5)]  # as many as a guess gets right
