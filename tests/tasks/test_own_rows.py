"""Rows of one's own as problems: columns guessed and told, final answers, options, messages, templates, a separate test."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refusal

import guerdon as gd
from guerdon.core.errors import InputNote, Notice, UserError
from guerdon.core.example import ExamplePlay
from guerdon.core.task import Ask
from guerdon.recipes.house.sft import worked
from guerdon.runs.rollout_files import read_batch
from guerdon.tasks.files import rows, rows_of
from guerdon.tasks.preference_files import preferences
from guerdon.training.build import RunRequest, build, find_task

SUMS = [{"question": f"{n} + 1 =", "answer": str(n + 1)} for n in range(10)]
GSM = [{"question": f"{n} and 1?", "answer": f"{n} + 1 = {n + 1}\n#### {n + 1:,}"} for n in range(995, 1015)]


def first(data, **knobs):
    return rows(data, **knobs).get("train", 0)


@pytest.mark.parametrize(
    ("columns", "prompt", "answer"),
    [
        (("Question", "Answer"), "Question", "Answer"),
        (("id", "problem", "solution", "answer"), "problem", "answer"),
        (("problem", "solution"), "problem", "solution"),
        (("input", "target"), "input", "target"),
        (("prompt", "question", "answerKey"), "prompt", "answerKey"),
        (("instruction", "response"), "instruction", "response"),
    ],
)
def test_usual_names_are_guessed_and_told(columns, prompt, answer):
    source = rows([{name: f"{name}{n}" for name in columns} for n in range(20)])
    task = source.get("train", 3)
    assert (task.prompt, task.answer) == (f"{prompt}3", f"{answer}3")
    assert source.facts()[0] == f"data: 20 rows; prompt from `{prompt}`, answer from `{answer}`; 2 held out"


@pytest.mark.parametrize(
    ("row", "knobs", "says"),
    [
        ({"instruction": "a", "input": "b", "output": "c"}, {}, "the prompt could be `instruction` or `input`: say"),
        ({"x": "a", "answer": "b"}, {}, r"no column looks like the prompt \(columns: x, answer\): say which, --prompt COL"),
        ({"question": "a", "y": "b"}, {}, r"no column looks like the answer .*--answer COL \(or --answer none"),
        ({"question": "a", "output": "b", "label": "c"}, {}, "the answer could be `output` or `label`"),
        ({"question": "a", "answer": "b"}, {"prompt": "quest"}, r"no column 'quest' for --prompt \(columns: question"),
    ],
)  # fmt: skip
def test_what_cannot_be_guessed_says_what_to_type(row, knobs, says):
    with pytest.raises(UserError, match=says) as error:
        rows([row] * 3, **knobs).open()
    assert "\n" not in str(error.value)


def test_a_worked_solution_has_its_answer_after_the_mark():
    source = rows(GSM)
    task = source.get("train", 7)
    assert task.answer == "1,003" and source.solution(task) == "1002 + 1 = 1003\n#### 1,003"
    assert source.check(task, "That makes 1003 in all.") == 1.0 and source.check(task, "1003, no, 1004") == 0.0
    assert "answer from `answer`, after ####" in source.facts()[0] and "(--check number)" in source.facts()[1]
    with refusal(UserError, "101"):
        rows([*GSM * 5, {"question": "?", "answer": "none"}]).open()


def test_only_rows_with_solutions_have_solution():
    assert not hasattr(rows(SUMS), "solution")
    named = rows([{**row, "why": f"because {row['answer']}"} for row in SUMS], solution_in="why")
    assert named.solution(named.get("train", 2)) == "because 3"


def test_sft_recites_the_worked_solution():
    asks = worked(rows(GSM), tries=1).draw(3, ExamplePlay())
    assert [ask.note["solution"].endswith(f"#### {ask.task.answer}") for ask in asks] == [True] * 3


# --- options ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choices", "answer", "label"),
    [
        (["red", "blue", "green"], 1, "B"),
        (["red", "blue", "green"], "blue", "B"),
        (["red", "blue", "green"], "b", "B"),
        ({"A": "red", "B": "blue"}, "B", "B"),
        ({"text": ["red", "blue"], "label": ["1", "2"]}, "2", "2"),
        ('["red", "blue"]', "1", "B"),
    ],
)
def test_options_are_lettered(choices, answer, label):
    source = rows([{"question": "Sky?", "choices": choices, "answer": answer}] * 3)
    task = source.get("train", 0)
    labels = list(task.meta["labelled"])
    assert task.answer == label and task.prompt.splitlines()[:3] == ["Sky?", f"{labels[0]}. red", f"{labels[1]}. blue"]
    assert [source.check(task, text) for text in (label, "blue", f"The answer is ({label}).", labels[0], "")] == [
        1,
        1,
        1,
        0,
        0,
    ]


def test_an_answer_among_no_options_is_a_bad_row():
    with refusal(UserError, "1", "2"):
        rows([{"question": "Sky?", "choices": ["red", "blue"], "answer": "black"}] * 3).open()


# --- prompts ------------------------------------------------------------------------------------------------------------


def test_messages_are_shown_as_they_are():
    talk = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2 + 2?"}]
    answered = [*talk, {"role": "assistant", "content": "4"}]
    for row in ({"messages": answered}, {"prompt": talk, "answer": "4"}):
        source = rows([row] * 3)
        task = source.get("train", 0)
        assert task.prompt == "2 + 2?" and task.view == talk and task.answer == "4" and Ask(task).shown == talk
        assert source.check(task, "It is 4") == 1.0
    shared = {"conversations": [{"from": "human", "value": "2 + 2?"}, {"from": "gpt", "value": "4"}]}
    assert (first([shared] * 3).prompt, first([shared] * 3).view, first([shared] * 3).answer) == ("2 + 2?", None, "4")
    for bad in ([], ["hello"], [{"role": "user"}], [{"role": "assistant", "content": "4"}], [answered]):
        with refusal(UserError, "1"):
            rows([{"messages": bad, "answer": 1}] * 3).open()


def test_a_system_message_and_words_of_an_ask_go_together(tmp_path):
    (tmp_path / "system.txt").write_text("Think first.\n")
    for system in ("Think first.", str(tmp_path / "system.txt")):
        task = first(SUMS, system=system)
        assert [m["content"] for m in task.view] == ["Think first.", "0 + 1 ="] and task.prompt == "0 + 1 ="
        hinted = Ask(task, prompt=f"{Ask(task).shown} (a hint)").shown
        assert [m["content"] for m in hinted] == ["Think first.", "0 + 1 = (a hint)"]


def test_models_without_a_place_for_a_system_message_read_it_before_the_prompt():
    sprig = gd.models.load("sprig")
    talk = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2 + 2?"}]
    assert (
        sprig.encode(talk).tolist() == sprig.encode("Be brief.\n\n2 + 2?").tolist() != sprig.encode("2 + 2?").tolist()
    )


@pytest.mark.parametrize(
    ("template", "prompt"),
    [
        ("Q: {question}\nPut it in \\boxed{}.", "Q: 0 + 1 =\nPut it in \\boxed{}."),
        ("{{ question | upper }}{% if answer == '1' %}!{% endif %}", "0 + 1 =!"),
        ("{{ row['question'] }}", "0 + 1 ="),
    ],
)
def test_templates_are_written_over_columns(template, prompt):
    assert first(SUMS, template=template).prompt == prompt


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("{qestion}", "unknown column in --template 'qestion': did you mean 'question'"),
        ("{{ qestion }}", "unknown column in --template 'qestion'"),
        ("no column", "names no column"),
        ("{{ question", "cannot be read"),
        ("{{ question.__class__.mro() }}", "row 1: --template does not work here"),
        ("{{ 1 / 0 }}{{ question }}", "row 1: --template does not work here: division by zero"),
    ],
)
def test_templates_that_do_not_work_are_refused(template, says):
    with pytest.raises(UserError, match=says):
        rows(SUMS, template=template).open()


# --- held out -----------------------------------------------------------------------------------------------------------


def test_a_test_of_its_own_is_never_trained_on():
    test = [{"question": "9 + 9 =", "answer": "18"}]
    source = rows(SUMS, test=test)
    assert (source.size("train"), source.size("test"), source.get("test", 0).answer) == (10, 1, "18")
    both = [*test, *SUMS[:3]]
    with refusal(UserError, "3", "10"):
        rows(SUMS, test=both).open()
    apart = rows(SUMS, test=both, skip_bad=True)
    assert apart.size("train") == 7 and apart.get("train", 0).prompt == "3 + 1 =" and len(apart.skipped) == 3
    with refusal(UserError):
        rows(SUMS, test=[{"q": 1}]).open()


def test_all_rows_can_be_held_out_where_nothing_is_trained():
    source = rows(SUMS, held_out=1.0)
    assert (source.size("train"), source.size("test"), source.get("test", 0).prompt) == (0, 10, "0 + 1 =")
    with refusal(UserError):
        build(RunRequest("grpo", model="tabular", data={"path": SUMS, "held_out": 1.0}))


def test_kinds_are_the_same_in_a_csv(tmp_path):
    """What is a whole number in JSON is one in a CSV too, and places of kinds survive rows that are dropped."""
    levels = [1, 2, "a", 1, 2, "a", 1, 2, "a", 1]
    data = [{**row, "level": level} for row, level in zip(SUMS, levels, strict=True)]
    lines = ["question,answer,level", *(f"{r['question']},{r['answer']},{r['level']}" for r in data)]
    (tmp_path / "data.csv").write_text("\n".join(lines))
    for path in (data, str(tmp_path / "data.csv")):
        source = rows(path, kind="level", test=[{**SUMS[0], "level": 1}], skip_bad=True)
        kinds = source.kinds()
        assert list(kinds) == ["data:1", "data:2", "data/a:1"] and [k.size("train") for k in kinds.values()] == [
            3,
            3,
            3,
        ]
        assert [kinds["data:2"].get("train", i).prompt for i in range(3)] == ["1 + 1 =", "4 + 1 =", "7 + 1 ="]


# --- runs ---------------------------------------------------------------------------------------------------------------


def test_the_hash_knows_content_and_what_was_guessed(tmp_path):
    def hashed(**data):
        return build(RunRequest("grpo", model="tabular", data=data)).recipe.hash

    path = tmp_path / "my.jsonl"
    path.write_text("\n".join(map(json.dumps, SUMS)))
    plain = hashed(path=str(path))
    assert plain == hashed(path=str(path), prompt="question", answer="answer", check="number", held_out=0.1)
    own = tmp_path / "own.py"
    own.write_text("def right(completion, answer):\n    return completion == answer\n")
    by_own = hashed(path=str(path), check=f"{own}:right")
    own.write_text("def right(completion, answer):\n    return completion != answer\n")
    others = [
        hashed(path=str(path), **{k: v}) for k, v in (("system", "Hm."), ("check", "exact"), ("template", "{question}"))
    ]
    assert len({plain, by_own, hashed(path=str(path), check=f"{own}:right"), *others}) == 6
    path.write_text("\n".join(map(json.dumps, SUMS[1:])))
    assert hashed(path=str(path)) != plain


def test_a_run_on_messages_is_stored_and_read_back(tmp_path):
    data = {"path": SUMS, "system": "Be brief."}
    how = {"model": "tabular", "prompts": 2, "tries": 2, "options": gd.Options(eval_tasks=0)}
    run = gd.train("grpo", data=data, steps=2, out=tmp_path / "run", **how)
    episode = read_batch(run.folder.rollouts(0)).episodes[0]
    assert (
        str(episode.ask.shown) == f"Be brief.\n\n{episode.task.prompt}"
        and episode.segments[0].view == episode.task.view
    )
    assert gd.replay(run, reward=gd.numeric()).total["samples"] > 0
    with refusal(UserError):
        gd.train(resume=run.folder.path)
    assert gd.train(
        "grpo", data=data, resume=run.folder.path, **{k: v for k, v in how.items() if k != "options"}
    ).complete


def test_rows_without_answers_need_a_reward(tmp_path):
    data = {"path": [{"question": row["question"]} for row in SUMS], "answer": "none"}
    with refusal(UserError, "--reward"):
        gd.train("grpo", data=data, model="tabular", steps=1)
    with refusal(UserError):
        gd.evaluate("tabular", data=data)
    brief = gd.reward(lambda completion: -float(len(completion)), isolate=False)
    run = gd.train("grpo", data=data, model="tabular", reward=brief, steps=1, prompts=2, tries=2, out=tmp_path / "run")
    assert run.complete and not run.evaluations
    assert gd.evaluate("tabular", data=data, reward=brief, tries=2, sampling=gd.Sampling(max_tokens=3))["reward"] <= 0


def test_data_is_said_in_one_word_or_with_settings():
    assert rows_of({"path": SUMS, "check": "exact", "solution": "answer"}).check_by == "exact"
    assert rows_of(SUMS).path == SUMS
    for bad, says in (
        ({"pth": SUMS}, "needs its path"),
        ({"path": SUMS, "chek": "exact"}, "unknown knob of rows 'chek'"),
    ):
        with pytest.raises(UserError, match=says):
            rows_of(bad)


def test_what_was_made_of_rows_is_told_once_they_fit():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        gd.evaluate("tabular", data=SUMS, tasks=1, sampling=gd.Sampling(max_tokens=2))
    assert [str(w.message).partition(":")[2][:9] for w in seen if w.category is InputNote] == [" 10 rows;", " checked "]


# --- files that are no good ---------------------------------------------------------------------------------------------


def test_bad_rows_of_a_parquet_file_are_named(tmp_path):
    """Nulls, nested lists, and numbers that are none; a file without rows."""
    path = str(tmp_path / "my.parquet")
    pq.write_table(pa.table({"question": ["a", None, "c"], "answer": [1.0, 2.0, float("nan")]}), path)
    with refusal(UserError, "2", "3"):
        rows(path).open()
    pq.write_table(pa.table({"question": [["a"], ["b"]], "answer": [1, 2]}), path)
    with refusal(UserError, "1"):
        rows(path).open()
    pq.write_table(pa.table({"question": pa.array([], pa.string()), "answer": pa.array([], pa.string())}), path)
    with refusal(UserError, "0"):
        rows(path).open()


def test_many_bad_rows_are_counted_and_not_all_kept():
    many = [*SUMS, *[{"question": None, "answer": 1}] * 3000]
    with refusal(UserError, "15", "2995"):
        rows(many).open()
    source = rows(many, skip_bad=True)
    assert source.size("train") == 9 and len(source.skipped) == 1001 and source.skipped[-1] == "and 2000 more"


def questions(row):
    return rows(row[0], test=row[1], skip_bad=row[2])


def pairs(row):
    return preferences(row[0], test=row[1], skip_bad=row[2])


@pytest.mark.parametrize(("source", "unit"), [(questions, "rows"), (pairs, "prompts")])
def test_problems_and_preferences_have_one_reader(source, unit):
    """Rows are looked through, counted, skipped, left out and refused in the same way, whatever they are made into."""
    own = [{"prompt": f"{n}", "answer": n, "chosen": "x", "rejected": "y"} for n in range(6)]
    bad = {"prompt": None, "answer": 1, "chosen": "x", "rejected": "y"}
    leaky = source(([*own, bad], own[4:], True))
    assert (leaky.size("train"), leaky.size("test")) == (4, 2)
    assert [why.partition(":")[0] for why in leaky.skipped] == ["row 7", "row 5", "row 6"]
    assert leaky.skipped[1:] == ["row 5: also in the test's data", "row 6: also in the test's data"]
    with pytest.raises(UserError, match=f"2 of the 6 {unit} of data are also in the test's data, the test: take them"):
        source((own, own[4:], False)).open()
    with refusal(UserError, "2", "6"):
        source(([own[0], *[bad] * 7], None, False)).open()
    with pytest.raises(UserError, match=rf"data holds 1 good {unit}, 7 bad rows \(row 2: .*; and 6 more\): two are"):
        source(([own[0], *[bad] * 7], None, True)).open()
    many = source(([*own, *[bad] * 1500], None, True))
    many.open()
    assert len(many.skipped) == 1001 and many.skipped[-1] == "and 500 more"
    with pytest.warns(Notice, match=r"data: skipped 1500 bad rows \(row 7: .*; row 9: .*; and 1497 more\)"):
        find_task(None, {"path": [*own, *[bad] * 1500], "skip_bad": True}, "problems" if unit == "rows" else "pairs")


def test_rows_are_not_held_in_memory(tmp_path):
    """What is kept of a row is some dozens of bytes, whatever is in it."""
    path = tmp_path / "my.jsonl"
    with path.open("w") as file:
        for n in range(5_000):
            file.write(json.dumps({"question": f"{n} " + "x" * 200, "answer": n}) + "\n")
    source = find_task(None, str(path))
    own = source.open().own
    kept = sum(each.nbytes for each in (own.good, own.sizes, own.marks, own.rows.starts, own.rows.numbers))
    assert kept <= 41 * 5_000 and source.get("train", 2_345).answer == "2345"
    assert isinstance(own.good, np.ndarray) and Path(source.path) == path
