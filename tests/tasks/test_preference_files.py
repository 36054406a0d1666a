"""Files of preferences and of labelled steps: the forms that are understood, what is refused, and what is held out."""

from __future__ import annotations

import csv
import gzip
import json
import re
from pathlib import Path

import pytest
from refusals import refusal

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.core.part import describe
from guerdon.tasks.preference_files import preferences
from guerdon.tasks.step_files import labelled_steps

HH = Path(__file__).parent.parent.parent.parent / "shared" / "data" / "hh_harmless_test.jsonl.gz"
ASKED = [{"role": "user", "content": "2+2?"}]


def said(text):
    return {"role": "assistant", "content": text}


def lines(path, rows):
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return str(path)


PAIR = (["4", "5"], [1.0, 0.0])
FORMS = {
    "plain": ({"prompt": "2+2?", "chosen": "4", "rejected": "5"}, None),
    "other names": ({"instruction": "2+2?", "preferred": "4", "dispreferred": "5"}, None),
    "answers in messages": ({"prompt": "2+2?", "chosen": [said("4")], "rejected": [said("5")]}, None),
    "the prompt again in messages": (
        {"prompt": "2+2?", "chosen": [*ASKED, said("4")], "rejected": [*ASKED, said("5")]},
        None,
    ),
    "all in messages": ({"prompt": ASKED, "chosen": [said("4")], "rejected": [said("5")]}, ASKED),
    "an implicit prompt": ({"chosen": [*ASKED, said("4")], "rejected": [*ASKED, said("5")]}, ASKED),
    "a transcript": (
        {
            "chosen": "\n\nHuman: 2+2?\n\nAssistant: 4",
            "rejected": "\n\nHuman: 2+2?\n\nAssistant: 5",
        },
        ASKED,
    ),
    "as OpenAI has them": (
        {"input": {"messages": ASKED}, "preferred_output": [said("4")], "non_preferred_output": [said("5")]},
        ASKED,
    ),
    "scores": ({"prompt": "2+2?", "completions": ["5", "4"], "scores": [2, 7.5]}, None),
    "scores beside answers": (
        {"prompt": "2+2?", "completions": [{"response": "5", "overall_score": 2}, {"response": "4", "score": 3}]},
        None,
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_understood(form):
    row, view = FORMS[form]
    source = preferences([row, _moved(row)])
    task = source.get("train", 0)
    assert (task.meta["say"], task.meta["worth"]) == PAIR
    assert task.prompt == "2+2?" and task.view == view
    assert [source.check(task, text) for text in ("4", "5", "6")] == [1.0, 0.0, None]
    assert gd.Ask(task).shown == (view or "2+2?")


def _moved(row):
    """The same row at another prompt."""
    return json.loads(json.dumps(row).replace("2+2?", "1+3?"))


def test_a_conversation_parts_at_its_last_answer():
    before = [*ASKED, said("4"), {"role": "user", "content": "sure?"}]
    row = {"chosen": [*before, said("yes")], "rejected": [*before, said("no")]}
    task = preferences([row, _moved(row)]).get("train", 0)
    assert task.view == before and task.meta["say"] == ["yes", "no"] and task.prompt == "sure?"
    twice = "\n\nHuman: 2+2?\n\nAssistant: 4\n\nAssistant: surely"  # one who speaks twice in a row says one thing
    task = preferences([{"chosen": twice, "rejected": "\n\nHuman: 2+2?\n\nAssistant: 5"}] * 2 + [_moved(row)]).get(
        "train", 0
    )
    assert task.meta["say"] == ["4\n\nsurely", "5"]


def test_scores_become_all_pairs_that_differ_and_ties_are_counted():
    row = {"prompt": "a", "responses": ["w", "x", "y", "z"], "ratings": [1, 3, 3, 2]}
    source = preferences([row, {**row, "prompt": "b"}], held_out=0.5)
    assert source.size("train") == source.size("test") == 5 and source.open().own.ties == 2
    pairs = {tuple(source.get("train", n).meta["say"]) for n in range(5)}
    assert pairs == {("x", "w"), ("y", "w"), ("z", "w"), ("x", "z"), ("y", "z")}
    (told,) = source.facts()
    assert told.endswith("scores from `ratings`; 10 to learn from at 2 prompts, 2 ties left out; 5 held out")
    level = {"prompt": "a", "responses": ["w", "x"], "ratings": [1, 1]}
    with refusal(UserError, "0", "2"):
        preferences([level, level]).open()


SOFT = {"prompt": "2+2?", "chosen": "4", "rejected": "5"}


def test_a_pair_may_say_how_sure_it_is_and_by_how_much(tmp_path):
    rows = [{**SOFT, "prompt": f"{n}?", "label": 0.75, "margin": n, "user": "a"} for n in range(3)]
    source = preferences(rows)
    assert source.tells == {"label", "margin"} and source.get("train", 1).meta["margin"] == 1.0
    assert source.get("train", 0).meta == {
        "say": ["4", "5"],
        "worth": [1.0, 0.0],
        "label": 0.75,
        "margin": 0.0,
        "user": "a",
    }
    assert "label from `label`, margin from `margin`, users from `user` (fspo learns them apart);" in source.facts()[0]
    with (tmp_path / "soft.csv").open("w") as file:
        file.write("prompt,chosen,rejected,probability\n" + "".join(f"{n}?,4,5,0.{n}\n" for n in range(3)))
    source = preferences(str(tmp_path / "soft.csv"))
    assert [source.get("train", n).meta["label"] for n in range(2)] == [0.0, 0.1]
    named = preferences([{**SOFT, "prompt": f"{n}?", "agreed": 0.5} for n in range(2)], columns={"label": "agreed"})
    assert named.get("train", 0).meta["label"] == 0.5


def test_columns_of_such_names_that_hold_something_else_are_left_alone():
    rows = [{**SOFT, "prompt": f"{n}?", "label": "arithmetic"} for n in range(2)]
    assert preferences(rows).tells == frozenset() and "not used: label" in preferences(rows).facts()[0]
    labelled = preferences([{**SOFT, "prompt": f"{n}?", "label": 0.75} for n in range(2)], want="labels")
    assert labelled.tells == frozenset() and set(labelled.get("train", 0).meta) == {"say", "worth"}


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({"label": 1.5}, "the label of a pair in column 'label' is a probability, 0 to 1, not 1.5"),
        ({"margin": -1}, "a margin in column 'margin' is 0 or more, not -1"),
        ({"margin": "inf"}, "a margin in column 'margin' is 0 or more, not inf"),
        ({"label": None}, "no number in 'label' but None"),
    ],
)
def test_labels_and_margins_that_cannot_be_are_refused(told, why):
    sound = {**SOFT, "label": 0.5, "margin": 1.0}
    rows = [sound, {**sound, "prompt": "3?", **told}]
    with pytest.raises(UserError, match=re.escape(why)):
        preferences(rows).open()


def test_labels_stand_alone():
    rows = [{"prompt": f"{n}", "completion": "yes", "label": n % 2 == 0} for n in range(4)]
    source = preferences(rows, want="labels", held_out=0.25)
    assert [source.get("train", n).meta["worth"] for n in range(3)] == [[1.0], [0.0], [1.0]]
    pair = preferences([{"prompt": str(n), "chosen": "4", "rejected": "5"} for n in range(2)], want="labels")
    assert pair.get("train", 0).meta["worth"] == [1.0, 0.0]
    with refusal(UserError):
        preferences(rows).open()
    graded = [{"prompt": str(n), "completions": ["a", "b"], "scores": [4, 2]} for n in range(2)]
    with refusal(UserError):
        preferences(graded, want="labels").open()


def test_rows_of_one_prompt_are_held_out_together():
    rows = [{"prompt": "abcde"[n % 5], "chosen": f"{n}", "rejected": "-"} for n in range(20)]
    source = preferences(rows, held_out=0.2)
    assert {source.get("test", n).prompt for n in range(source.size("test"))} == {"e"} and source.size("test") == 4
    assert [[*each] for each in source.together()] == [[*range(n, n + 4)] for n in (0, 4, 8, 12)]
    assert [source.get("train", n).id for n in range(4)] == ["1", "6", "11", "16"]


BAD = (
    ({"prompt": "a", "chosen": "x", "rejected": "x"}, "chosen and rejected are the same text"),
    ({"prompt": "a", "chosen": "x"}, "no text and no messages in column 'rejected'"),
    ({"prompt": None, "chosen": "x", "rejected": "y"}, "no text and no messages in column 'prompt'"),
    ({"prompt": "a", "chosen": [said("x"), said("y")], "rejected": "z"}, "column 'chosen' continues for 2 turns"),
    (
        {"prompt": "a", "chosen": ASKED, "rejected": "z"},
        "column 'chosen' does not end with an answer of the assistant's",
    ),
    ({"prompt": "a", "chosen": [{"role": "assistant"}], "rejected": "z"}, "a message in column 'chosen' has no text"),
    ("{", "not JSON"),
    ("[1]", ""),
)


def test_a_bad_row_is_refused_by_its_line_or_skipped(tmp_path):
    good = [{"prompt": f"{n}", "chosen": "x", "rejected": "y"} for n in range(3)]
    path = lines(tmp_path / "pairs.jsonl", [*good, *(row for row, _ in BAD)])
    with pytest.raises(UserError) as refused:
        preferences(path).open()
    assert str(refused.value).startswith(f"{path}, line 4: chosen and rejected are the same text; line 5: ")
    assert str(refused.value).endswith("and 3 more. Fix the file, or skip bad rows with --skip-bad")
    source = preferences(path, skip_bad=True)
    assert source.size("train") == 2 and len(source.skipped) == len(BAD)
    for why, (_, want), line in zip(source.skipped, BAD, range(4, 12), strict=True):
        assert why.startswith(f"line {line}: {want}"), why
    with refusal(UserError, "1"):
        preferences([good[0], {"chosen": 1}], skip_bad=True).open()
    with pytest.raises(UserError, match="cannot read --data"):
        preferences(str(tmp_path / "gone.jsonl")).open()


def test_scores_and_steps_that_make_no_sense_are_refused():
    for row, want in (
        ({"prompt": "a", "completions": ["x"], "scores": [1]}, "no list of two answers or more"),
        ({"prompt": "a", "completions": ["x", "y"], "scores": [1]}, "not a list with a score for each of 2 answers"),
        ({"prompt": "a", "completions": ["x", "y"], "scores": [1, "high"]}, "no number in 'scores' but 'high'"),
        ({"prompt": "a", "completions": ["x", "x"], "scores": [1, 2]}, "the same answer occurs twice"),
    ):
        with pytest.raises(UserError, match=re.escape(want)):
            preferences([row, row]).open()
    for row, want in (
        ({"prompt": "a", "completions": ["x", "y"], "labels": [True]}, "2 steps and 1 labels"),
        ({"prompt": "a", "completions": ["x", " "], "labels": [1, 1]}, "a step without text: ' '"),
        ({"prompt": "a", "completions": ["x"], "labels": [2]}, "is true or false, 1 or 0, not 2"),
        ({"prompt": "a", "completions": "x", "labels": [1]}, "no list of steps in column 'completions'"),
        ({"question": "a", "label": "x +"}, "neither a list of labels nor steps that begin with 'Step 1:'"),
        ({"question": "a", "label": "b Step 1: x"}, "a step that ends with neither + nor -: 'Step 1: x'"),
        ({"prompt": "a", "answer": "x"}, 'holds no labelled steps (columns: prompt, answer): a row is {"prompt"'),
    ):
        with pytest.raises(UserError, match=re.escape(want)):
            labelled_steps([row, row]).open()


def test_columns_are_guessed_or_named(tmp_path):
    rows = [{"q": f"{n}", "a": "x", "b": "y"} for n in range(2)]
    source = preferences(rows, columns={"prompt": "q", "chosen": "a", "rejected": "b"})
    assert source.get("train", 0).meta["say"] == ["x", "y"]
    assert (
        "prompt from `q`, chosen from `a`, rejected from `b`; 2 to learn from at 2 prompts; 1 held out"
        in source.facts()[0]
    )
    with refusal(UserError):
        preferences(rows, columns={"prompt": "q", "chosen": "c", "rejected": "b"}).open()
    with open(tmp_path / "pairs.csv", "w", newline="") as file:
        csv.writer(file).writerows([("prompt", "chosen", "rejected"), ("1", "x\ny", "z"), ("2", "x", "z")])
    task = preferences(str(tmp_path / "pairs.csv")).get("train", 0)
    assert task.prompt == "1" and task.meta["say"] == ["x\ny", "z"]
    with open(tmp_path / "labels.csv", "w", newline="") as file:
        csv.writer(file).writerows([("prompt", "completion", "label"), ("1", "x", "True"), ("2", "x", "0")])
    marked = preferences(str(tmp_path / "labels.csv"), want="labels", held_out=0.0)
    assert [marked.get("train", n).meta["worth"] for n in (0, 1)] == [[1.0], [0.0]]


def test_what_a_source_is_follows_its_content_and_not_its_place(tmp_path):
    rows = [{"prompt": f"{n}", "chosen": "x", "rejected": "y"} for n in range(3)]
    first, second = lines(tmp_path / "a.jsonl", rows), lines(tmp_path / "b.jsonl", rows)
    third = lines(tmp_path / "c.jsonl", [*rows, {"prompt": "3", "chosen": "y", "rejected": "x"}])
    assert describe(preferences(first)) == describe(preferences(second)) != describe(preferences(third))


def test_steps_are_labelled_up_to_the_first_wrong_one():
    rows = [
        {"prompt": "a", "completions": ["x", "y", "z"], "labels": [True, False, True]},
        {"prompt": "b", "completions": ["x", "y"], "labels": [1, 1]},
        {"prompt": "c", "completions": ["x", "y"], "labels": [1, 0]},
    ]
    source = labelled_steps(rows, held_out=0.0)
    assert [source.get("train", n).meta["labels"] for n in range(3)] == [[1.0, 0.0], [1.0, 1.0], [1.0, 0.0]]
    assert source.get("train", 0).meta["say"] == ["x\ny\nz"]
    assert [source.check(source.get("train", n), source.get("train", n).meta["say"][0]) for n in range(3)] == [0, 1, 0]
    signed = labelled_steps([*rows, {"prompt": "d", "completions": ["x", "y"], "labels": [0, -1]}], held_out=0.0)
    assert [signed.get("train", n).meta["labels"] for n in (2, 3)] == [[1.0, None], [None, 0.0]]  # 0 is neither now


def test_other_forms_of_labelled_steps():
    shepherd = {
        "input": "... ки",
        "label": "Ann has 3. How many? Step 1: 3-1=2 +\nStep 2: The answer is: 4 -\n",
    }
    task = labelled_steps([shepherd, {**shepherd, "label": shepherd["label"].replace("3", "5")}]).get("train", 0)
    assert task.prompt == "Ann has 3. How many?" and task.meta["labels"] == [1.0, 0.0]
    assert task.meta["steps"] == ["Step 1: 3-1=2", "Step 2: The answer is: 4"]
    bare = {"label": shepherd["label"]}  # the marked text is all there is to know
    assert labelled_steps([bare, {"label": bare["label"].replace("3", "5")}]).get("train", 0).meta == task.meta
    beside = {"problem": "a", "steps": [{"text": "x", "rating": 1}, {"text": "y", "rating": -1}]}
    task = labelled_steps([beside, {**beside, "problem": "b"}]).get("train", 0)
    assert task.meta["steps"] == ["x", "y"] and task.meta["labels"] == [1.0, 0.0]


def test_another_file_may_be_held_out(tmp_path):
    rows = [{"prompt": f"{n}", "chosen": "x", "rejected": "y"} for n in range(5)]
    own, test = lines(tmp_path / "own.jsonl", rows[:4]), lines(tmp_path / "test.jsonl", rows[4:])
    source = preferences(own, test=test)
    assert source.size("train") == 4 and source.get("test", 0).prompt == "4" and source.size("test") == 1
    assert source.facts()[0].endswith("4 prompts; 1 held out, those of " + test)
    leaky = lines(tmp_path / "leaky.jsonl", rows[3:])
    with refusal(UserError, "1", "4"):
        preferences(own, test=leaky).open()
    apart = preferences(own, test=leaky, skip_bad=True)
    assert apart.size("train") == 3 and apart.skipped == [f"line 4: also in {leaky}"]


@pytest.mark.skipif(not HH.is_file(), reason="the preferences are not here")
def test_real_preferences_are_read_to_the_last_row(tmp_path):
    (tmp_path / "hh.jsonl").write_bytes(gzip.decompress(HH.read_bytes()))
    source = preferences(str(tmp_path / "hh.jsonl"))
    looked = source.open().own
    assert (len(looked), looked.bad, looked.ties) == (2312, (), 0)
    for n in range(0, source.size("train"), 97):
        task = source.get("train", n)
        assert task.view[-1]["role"] == "user" and {each["role"] for each in task.view} <= {"user", "assistant"}
        row = looked.rows[int(task.id) - 1].value
        for text, column in zip(task.meta["say"], ("chosen", "rejected"), strict=True):
            assert row[column].endswith(text) and text.strip()


def test_columns_of_weights_are_refused_and_users_are_kept():
    rows = [{**SOFT, "prompt": f"{n}?", "weight": 2.0} for n in range(3)]
    with refusal(UserError):
        preferences(rows).open()
    with pytest.raises(UserError, match="'weight'"):
        preferences(
            [{"prompt": f"{n}", "completion": "a", "label": True, "weight": 1} for n in range(3)], want="labels"
        ).open()
    assert preferences([{**row, "weight": "heavy"} for row in rows]).size("train") == 2
    whose = preferences([{**SOFT, "prompt": f"{n}?", "by": n or None} for n in range(3)], columns={"user": "by"})
    assert [whose.get("train", n).meta.get("user") for n in range(2)] == [None, "1"]
