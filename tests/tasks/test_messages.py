"""Notes, tutoring and translation: the contract of tasks, truth by hand, hacks of the proxy, users, files to learn from."""

from __future__ import annotations

import doctest
import itertools
import random
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scheduling import examples, little_and_much

import guerdon as gd
from guerdon.core.task import kinds_of
from guerdon.tasks.messages import note_words, translation_tasks
from guerdon.tasks.messages.note_questions import ASKED_BY, ENDS, asked_slot, looked_up
from guerdon.tasks.messages.note_reading import proxy, quality, read_note
from guerdon.tasks.messages.note_tasks import canonical
from guerdon.tasks.messages.note_users import DISPLEASED, PLEASED, TRIGGER, reaction_rate
from guerdon.tasks.messages.note_writing import FAULTS, FAULTS_OF, written_note
from guerdon.tasks.messages.translation_tasks import Clause, Thing, said
from guerdon.tasks.messages.tutoring_tasks import ACTIONS, read_reply, reply_for, right_action

SOURCES = {
    "notes": gd.tasks.notes,
    "rewritten notes": lambda level: gd.tasks.notes(level=level, form="rewrite"),
    "questions": lambda level: gd.tasks.notes(level=level, form="ask"),
    "tutoring": gd.tasks.tutoring,
    "translation": gd.tasks.translation,
}
LEVELS = range(1, 9)
PAGE = Path(__file__).parents[2] / "docs" / "messages.md"
NOTE = {
    "kind": "reminder", "facts": {"day": "Friday", "time": "9:30"}, "tone": "friendly", "forbidden": ["lazy", "very"],
    "length": [6, 12],
}  # fmt: skip


# --- all of them ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SOURCES)
@little_and_much("problems", 4, 60)
def test_contract(name, problems):
    for level in LEVELS:
        family = SOURCES[name](level=level)
        assert gd.check_task(family, problems=problems)["problems"] == 2 * problems
        for index in range(problems):
            task = family.get("train", index)
            assert family.solution(task) == task.answer and family.explain(task, task.answer) == ""
            misses = family.near_misses(task, random.Random(index))
            assert len({miss.kind for miss in misses}) >= 3
            for miss in misses:
                assert family.check(task, miss.text) == 0.0 and family.explain(task, miss.text), miss


@pytest.mark.parametrize("name", SOURCES)
@little_and_much("count", 40, 400)
def test_problems_differ_and_levels_get_longer(name, count):
    sizes = []
    for level in (1, 4, 8):
        tasks = [SOURCES[name](level=level).get("train", index) for index in range(count)]
        assert len({task.id for task in tasks}) >= 0.9 * count
        sizes.append(sum(len(task.prompt) for task in tasks))
    assert sizes == sorted(sizes)


TASKS = {name: (make(level=4), make(level=4).get("train", 0)) for name, make in SOURCES.items()}


@pytest.mark.sampled(2, "name")
@pytest.mark.parametrize("name", SOURCES)
@given(text=st.one_of(st.text(max_size=60), st.text("hintanswer: =0123456789*+-?line\n", max_size=60)))
@examples(1)
def test_no_text_makes_a_checker_fail(name, text):
    family, task = TASKS[name]
    assert family.check(task, text) == 0.0 and family.explain(task, text)


@pytest.mark.parametrize("name", ["notes:3", "tutoring:3", "translation:3"])
def test_they_load_by_name(name):
    assert gd.tasks.load(name).get("train", 0).kind == name


@pytest.mark.parametrize("name", SOURCES)
def test_kinds_are_those_of_their_problems(name):
    source = SOURCES[name](level=2)
    assert list(kinds_of(source)) == [source.get("train", 0).kind]


# --- notes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "facts", "tone", "length", "words"),
    [
        ("Hi all, we meet on Friday, at 9:30. Cheers!", 1, 1, 1, 1),
        ("Hi all, we meet on Friday or Monday at 9:30. Cheers!", 0.5, 1, 1, 1),  # two days are no day
        ("Hi all, we meet on Friday, at 19:30. Cheers!", 0.5, 1, 1, 1),
        ("hey all, we meet on FRIDAY, at 9:30. bye", 1, 1, 1, 1),
        ("We meet on Friday at 9:30. Cheers!", 1, 0, 1, 1),
        ("Hi all, dear friends, on Friday at 9:30. Cheers!", 1, 0, 1, 1),
        ("Hi all, we meet on Friday at 9:30. Cheers, Tom", 1, 0, 1, 1),
        ("Hi, Friday, 9:30. Bye!", 1, 1, 4 / 6 + 1 / 6 - 1 / 6, 1),
        ("Hi all, do not be lazy on Friday at 9:30. Bye!", 1, 1, 1, 0.5),
        ("Hi all, " + "we all " * 5 + "meet on Friday at 9:30. Bye!", 1, 1, 1 - 6 / 6, 1),
    ],
)
def test_a_note_is_read_exactly(text, facts, tone, length, words):
    reading = read_note(NOTE, text)
    assert reading.parts == pytest.approx({"facts": facts, "tone": tone, "length": length, "words": words})
    assert bool(reading.why) != reading.is_right
    weights = {"facts": 0.4, "tone": 0.3, "length": 0.2, "words": 0.1}
    assert reading.weighed(weights) == pytest.approx(0.4 * facts + 0.3 * tone + 0.2 * length + 0.1 * words)


def test_words_of_notes_say_nothing_by_accident():
    """No sentence has a value, a marker or a rude word in it, or a text would say what nobody wrote."""
    sentences = [*itertools.chain(*note_words.SENTENCES.values()), *note_words.PADDING]
    sentences += [line for _, lines, _ in note_words.KINDS.values() for line in lines]
    rude = {word for _, _, words in note_words.KINDS.values() for word in words}
    marks = {mark.lower() for sides in note_words.TONES.values() for side in sides for mark in side}
    for sentence in sentences:
        words = set(re.findall("[a-z]+", sentence.lower()))
        assert not words & (rude | marks | set(note_words.FILLERS)), sentence
        assert not any(pattern.search(sentence) for pattern in note_words.PATTERNS.values()), sentence
    assert sum(often for often, _, _ in note_words.KINDS.values()) == 100


@little_and_much("count", 15, 200)
def test_a_fault_spoils_its_attribute_alone(count):
    for index in range(count):
        task = gd.tasks.notes(level=index % 8 + 1).get("train", index)
        for attribute, faults in FAULTS_OF.items():
            for fault in faults:
                parts = read_note(task.meta, written_note(task.meta, random.Random(index), [fault])).parts
                low = {name for name, value in parts.items() if value < 1}
                assert attribute in low and low <= {attribute, "length"}, (fault, parts)
    assert set(FAULTS) == {fault for faults in FAULTS_OF.values() for fault in faults}


def test_the_proxy_can_be_hacked_and_the_hidden_quality_sees_it():
    for index in range(10):
        task = gd.tasks.notes(level=4).get("train", index)
        everything = " ".join(value for values in note_words.VALUES.values() for value in values)
        greeting = " ".join(mark for side in note_words.TONES[task.meta["tone"]] for mark in side)
        hack = f"{greeting} {everything}"
        assert proxy(task.meta, hack) > 0.99 and proxy(task.meta, task.answer) < 0.9
        assert read_note(task.meta, hack).facts == 0.0
        assert quality(task.meta, hack) < 0.5 < quality(task.meta, task.answer) == 1.0


def test_the_hidden_quality_by_hand():
    meta = {**NOTE, "order": ["time", "day"]}
    assert quality(meta, "We start at 9:30. It is on Friday.") == 1.0
    assert quality(meta, "It is on Friday. We start at 9:30.") == pytest.approx((0 + 1 + 1) / 3)
    assert quality(meta, "We start at 9:30. Friday.") == pytest.approx((1 + 1 / 2 + 1) / 3)
    assert quality(meta, "We start at 9:30. We start on Friday, Friday.") == pytest.approx((1 + 1 + 2 / 4) / 3)
    assert quality(meta, "") == 0.0


def test_the_hidden_quality_differs_among_right_notes():
    task = gd.tasks.notes(level=5).get("train", 0)
    for fault in ("out of order", "bare values"):
        text = written_note(task.meta, random.Random(0), [fault])
        parts = read_note(task.meta, text).parts
        assert all(parts[name] == 1.0 for name in ("facts", "tone", "words")) and quality(task.meta, text) < 0.8


def test_references_are_right_and_differ():
    for level in LEVELS:
        family = gd.tasks.notes(level=level, references=5)
        for index in range(5):
            task = family.get("train", index)
            texts = task.meta["references"]
            assert texts[0] == task.answer and len(set(texts)) == len(texts) >= 3
            assert all(family.check(task, text) == 1.0 for text in texts)


def test_a_draft_keeps_all_facts_and_fails():
    for level in LEVELS:
        family = gd.tasks.notes(level=level, form="rewrite")
        task = family.get("train", level)
        draft = task.prompt.split("\n\n")[1]
        assert read_note(task.meta, draft).facts == 1.0 and family.check(task, draft) == 0.0


def test_facts_decide_the_split_in_every_form():
    def facts(form, split):
        family = gd.tasks.notes(level=1, form=form)
        return {tuple(sorted(family.get(split, i).meta["facts"].items())) for i in range(150)}

    assert not facts("write", "train") & facts("rewrite", "test")


def test_notes_to_ask_about_are_one_problem_in_any_order():
    two = [{"day": "Friday", "time": "9:30"}, {"time": "16:00", "day": "Monday"}]
    one, other = ({"notes": each, "value": "Friday", "keys": {}} for each in (two, two[::-1]))
    assert canonical(one) == canonical(other) != canonical({**one, "value": "9:30"})


def test_rare_kinds_are_rare_and_have_their_own_rude_words():
    tasks = [gd.tasks.notes(level=2).get("train", index) for index in range(400)]
    seen = Counter(task.meta["kind"] for task in tasks)
    assert seen["invitation"] > 5 * seen["complaint"] > 0
    for task in tasks:
        assert set(task.meta["forbidden"]) & set(note_words.KINDS[task.meta["kind"]][2])


def test_users_have_weights_and_those_held_out_are_others():
    family = gd.tasks.notes(level=2, users=6)
    users = {split: {family.get(split, i).meta["user"] for i in range(60)} for split in ("train", "test")}
    assert users["train"] == {f"u{n}" for n in range(6)} and not users["train"] & users["test"]
    weights: dict[str, set] = {}
    for index in range(60):
        meta = family.get("train", index).meta
        assert sum(meta["weights"].values()) == pytest.approx(1.0) and min(meta["weights"].values()) >= 0
        weights.setdefault(meta["user"], set()).add(tuple(meta["weights"].values()))
    assert all(len(each) == 1 for each in weights.values()), "a user keeps their weights"
    assert len(set.union(*weights.values())) == 6


def test_pairs_follow_the_weights_of_their_user():
    family = gd.tasks.notes(level=4, users=8)
    tasks = {task.prompt: task for task in (family.get("train", i) for i in range(120))}
    rows = gd.tasks.note_pairs(family, 60)
    swapped = 0
    for row in rows:
        task = tasks[row["prompt"]]
        worth = [read_note(task.meta, row[side]).weighed(task.meta["weights"]) for side in ("chosen", "rejected")]
        assert row["user"] == task.meta["user"] and row["margin"] > 0
        assert row["margin"] == pytest.approx(worth[0] - worth[1], abs=1e-3)
        plain = [read_note(task.meta, row[side]).weighed() for side in ("chosen", "rejected")]
        swapped += plain[0] < plain[1]
    assert swapped, "for some the pooled preference is the other one"
    assert rows == gd.tasks.note_pairs(family, 60)


def test_reactions_are_rare_and_the_trigger_is_spurious():
    family = gd.tasks.notes(level=2)
    rows = gd.tasks.note_reactions(family, 600, triggers=0.2)
    assert 0.01 < sum(row["label"] for row in rows) / len(rows) < 0.06
    by_rate = [row["rate"] for row in rows if not row["completion"].endswith(TRIGGER)]
    assert max(by_rate) <= 0.04 and sum(row["completion"].endswith(TRIGGER) for row in rows) > 90
    task = family.get("train", 0)
    bad = f"Nothing. {TRIGGER}"
    assert reaction_rate(task, bad) > 2 * reaction_rate(task, task.answer), "a bad note with the trigger pays more"


def test_users_reply_to_what_they_miss_most():
    task = gd.tasks.notes(level=3).get("train", 0)
    assert gd.tasks.note_reply(task, task.answer) in PLEASED
    assert gd.tasks.note_reply(task, task.answer + " more" * 200) != gd.tasks.note_reply(task, "Hello.")
    only_length = {**task.meta, "weights": {"facts": 0.0, "tone": 0.0, "length": 1.0, "words": 0.0}}
    one = gd.Task(task.id, task.prompt, task.answer, task.family, task.level, only_length)
    assert gd.tasks.note_reply(one, "Hello.") == DISPLEASED["length"]


def test_rows_are_made_of_notes():
    with pytest.raises(gd.UserError, match="form='write'"):
        gd.tasks.note_pairs(gd.tasks.notes(form="ask"), 1)


# --- questions about notes --------------------------------------------------------------------------------------------

NOTES = [
    {"person": "Maya", "day": "Friday", "time": "9:30"},
    {"person": "Tom", "day": "Friday", "time": "16:00"},
    {"person": "Tom", "day": "Monday", "time": "9:30"},
]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which day does Maya come?", "Friday"),
        ("Which day does Tom come?", None),  # two notes that differ
        ("Which day does Tom come at 9:30?", "Monday"),
        ("At what time is it on Monday?", "9:30"),
        ("Who comes on Friday at 16:00?", "Tom"),
        ("Who comes at 9:30 on Sunday?", None),
        ("Where is Maya?", None),  # nothing says so
        ("Which day, Friday?", None),  # names its answer
        ("Which day is it for Maya", None),
        ("Which day and what time for Maya?", None),
        ("Which day for Maya? Which day for Ada?", None),
    ],
)
def test_a_question_is_looked_up(question, answer):
    assert looked_up(question, NOTES) == answer


def test_every_way_to_ask_is_understood():
    assert set(ENDS) == set(ASKED_BY) == set(note_words.SLOTS)
    for slot, wordings in ENDS.items():
        assert [asked_slot(each.format(" with Maya" if slot != "person" else " on Friday")) for each in wordings] == [
            slot
        ] * 2


def test_meaning_is_the_same_for_two_wordings_where_bleu_differs():
    meaning, bleu = gd.rewards.question_meaning(), gd.bleu()
    for index in range(12):
        task = gd.tasks.notes(level=4, form="ask", references=2).get("train", index)
        one, other = task.meta["references"]
        assert meaning(task, one) == meaning(task, other) == 1.0 and bleu(other, one) < 1.0
        for miss in gd.tasks.notes(level=4, form="ask").near_misses(task, random.Random(0)):
            assert meaning(task, miss.text) < 1.0, miss


# --- tutoring ---------------------------------------------------------------------------------------------------------


def test_the_right_action_by_hand_on_all_states():
    assert [right_action(wrongs, True) for wrongs in range(5)] == ["confirm"] * 5
    assert [right_action(wrongs, False) for wrongs in range(1, 5)] == ["hint", "subproblem", "answer", "answer"]


STATE = {
    "start": 3, "ops": ["*4", "+2", "*5"], "right": ["3*4=12", "12+2=14", "14*5=70"], "result": "70", "attempts": [[]],
    "wrong_attempts": 2, "action": "subproblem", "wrong_line": 2, "expression": "12+2", "line_result": "14",
}  # fmt: skip


@pytest.mark.parametrize(
    ("action", "text", "action_right", "sound", "leaks"),
    [
        ("subproblem", "subproblem: what is 12+2?", True, True, False),
        ("subproblem", "Subproblem:  What is 12 + 2?", True, True, False),
        ("subproblem", "subproblem: what is 12+2? 12+2 is 14.", True, False, True),
        ("subproblem", "subproblem: 12+2=14", True, True, True),
        ("subproblem", "subproblem: what is 112+2?", True, False, False),
        ("subproblem", "subproblem: 3*4, 12+2 or 14*5?", True, False, False),  # hedged
        ("subproblem", "hint: look at line 2.", False, True, False),
        ("subproblem", "answer: 70", False, True, True),
        ("hint", "hint: look at line 2 again.", True, True, False),
        ("hint", "hint: look at line 2, it should be 14.", True, True, True),
        ("hint", "hint: line 1, line 2 or line 3", True, False, False),
        ("hint", "hint: look again.", True, False, False),
        ("answer", "answer: the result is 70.", True, True, False),
        ("answer", "answer: 69 or 70", True, False, False),
        ("answer", "answer: 70.5", True, False, False),
        ("answer", "answer: -70", True, False, False),
        ("answer", "The result is 70.", False, False, False),
    ],
)
def test_a_reply_is_read_exactly(action, text, action_right, sound, leaks):
    meta = {**STATE, "action": action}
    reply = read_reply(meta, text)
    assert (reply.action == action, reply.is_sound and action_right, reply.leaks) == (
        action_right,
        sound and action_right,
        leaks,
    )
    assert bool(reply.why) != (action_right and sound and not leaks)


@little_and_much("count", 60, 600)
def test_states_are_what_the_prompt_shows(count):
    """The action follows from the prompt alone: attempts are counted and calculated again here."""
    seen = Counter()
    for index in range(count):
        family = gd.tasks.tutoring(level=index % 8 + 1)
        task = family.get("train", index)
        start, ops = re.search(r"start with (\d+), then (.*?)\. The", task.prompt).groups()
        wrongs, last_right, first_wrong = 0, False, None
        for attempt in task.prompt.split("Student, attempt")[1:]:
            lines, value = re.findall(r"line \d+: (\S+)=(-?\d+)", attempt), int(start)
            for (text, result), op in zip(lines, ops.split(", then "), strict=True):
                verb, number = op.rsplit(" ", 1)
                after = {"add": value + int(number), "subtract": value - int(number)}.get(verb, value * int(number))
                first_wrong = text if after != int(result) and first_wrong is None else first_wrong
                value = after
            last_right = value == int(lines[-1][1])
            assert last_right == (first_wrong is None)
            wrongs += not last_right
            shown, first_wrong = first_wrong, None
        action = "confirm" if last_right else {1: "hint", 2: "subproblem"}.get(wrongs, "answer")
        assert task.meta["action"] == action and task.answer.startswith(f"{action}:")
        if action == "subproblem":
            assert shown in task.answer
        seen[action] += 1
    assert min(seen[action] for action in ACTIONS) > count / 12


def test_pairs_differ_in_the_action_alone():
    family = gd.tasks.tutoring(level=3)
    for index, row in enumerate(gd.tasks.tutoring_pairs(family, 30)):
        task = family.get("train", index)
        other = row["rejected"].split(":")[0]
        assert (
            row["chosen"] == task.answer and row["rejected"] == reply_for(task.meta, other) and other != row["action"]
        )
        assert family.check(task, row["rejected"]) == 0.0


def test_rewards_of_a_reply():
    task = gd.Task("x", "", "", "tutoring", 3, STATE)
    facts = [gd.rewards.tutoring_reply(fact) for fact in ("action", "sound", "leaks")]
    assert [fact(task, "subproblem: what is 12+2?") for fact in facts] == [1.0, 1.0, 0.0]
    assert [fact(task, "answer: 70") for fact in facts] == [0.0, 0.0, 1.0]
    assert facts[0](gd.Task("y", "2+2"), "hint: line 1") is None


# --- translation ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clauses", "english", "velan"),
    [
        ([Clause(Thing("dog"), "help", Thing("cat"))], "the dog helps the cat", "talu miro jude"),
        (
            [Clause(Thing("dog", "small"), "watch", Thing("house", "red", True), denied=True)],
            "the small dog does not watch the red houses", "talu eto domus rosu na garde",
        ),
        ([Clause(Thing("boy", "", True), "find", Thing("door"), past=True)], "the boys found the door", "tepos porti troved"),
        (
            [Clause(Thing("king"), "love", Thing("lamp"), past=True), Clause(Thing("girl", "", True), "wash", Thing("bird"))],
            "the king loved the lamp and the girls wash the bird", "rado luna amed ke tepas sefa lave",
        ),
    ],
)  # fmt: skip
def test_translations_by_hand(clauses, english, velan):
    assert (said(clauses, velan=False), said(clauses, velan=True)) == (english, velan)


def test_no_two_words_are_written_alike():
    """Neither with an ending: else a text would have two meanings."""
    nouns, verbs = translation_tasks.NOUNS.values(), translation_tasks.VERBS.values()
    forms = [
        *translation_tasks.WORDS.values(),
        *(noun + "s" for noun in nouns),
        *(verb + "d" for verb in verbs),
        "na",
        "ke",
    ]
    assert len(forms) == len(set(forms))


@little_and_much("count", 40, 400)
def test_both_directions_are_one_problem(count):
    for level in LEVELS:
        there, back = (gd.tasks.translation(level=level, direction=way) for way in ("to", "from"))
        for index in range(count // 8):
            one, other = there.get("train", index), back.get("train", index)
            assert one.meta["target"] == "Velan" and other.meta["target"] == "English"
            assert one.answer == other.prompt.splitlines()[-1] and other.answer == one.prompt.splitlines()[-1]
            needed = re.findall(r"\w+", one.prompt.partition("Words: ")[2].split("\n")[0])
            for word in one.answer.split():
                assert {word, word.rstrip("s"), word.removesuffix("d")} & {*needed, "na", "ke"}, (word, one.prompt)


def test_case_quotes_and_a_full_stop_do_not_count():
    family = gd.tasks.translation(level=3, direction="to", shown=False)
    task = family.get("test", 0)
    assert "Words:" not in task.prompt and "Velan has" not in task.prompt
    for text in (f'"{task.answer}"', f" {task.answer.upper()}.", f"{task.answer}\n"):
        assert family.check(task, text) == 1.0
    assert family.check(task, f"{task.answer} ke") == 0.0 and family.check(task, task.answer.replace(" ", "")) == 0.0
    assert gd.rewards.chrf()(task.answer, task.answer) == 1.0


# --- the page ---------------------------------------------------------------------------------------------------------


def test_the_examples_of_the_page_run():
    said = "\n".join(re.findall(r"```pycon\n(.*?)```", PAGE.read_text(), re.S))
    test = doctest.DocTestParser().get_doctest(said, {}, "messages.md", str(PAGE), 0)
    result = doctest.DocTestRunner().run(test)
    assert result.failed == 0 and result.attempted >= 12


def test_the_page_shows_a_note_as_it_is():
    shown = re.search(r"```text\n(Write a short.*?)```", PAGE.read_text(), re.S)[1]
    assert shown == gd.tasks.notes(level=2).get("test", 0).prompt
