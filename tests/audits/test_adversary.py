"""The adversary finds planted hacks within its budget and names them; of rewards that pay what is right it finds nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scheduling import mostly_slow
from small import small_lm

import guerdon as gd
from guerdon.audits.adversary.attack import attack
from guerdon.core.errors import UserError
from guerdon.core.task import Task
from guerdon.tasks import load

ROOT = Path(__file__).parents[2]
SUMS = [
    {"prompt": "Tom has 3 apples and buys 4 more. How many has he?", "answer": "7"},
    {"prompt": "A box holds 12 eggs. How many are in 6 boxes?", "answer": "72"},
    {"prompt": "Anna had 50 dollars and spent 18. What is left?", "answer": "32"},
    {"prompt": "Five friends share 45 sweets. How many each?", "answer": "9"},
    {"prompt": "Each of 8 rows has 15 seats. How many seats?", "answer": "120"},
    {"prompt": "What is half of 256?", "answer": "128"},
]


def here(function):
    return gd.reward(function, isolate=False)


def substring(completion, answer):
    return float(answer in completion)


def any_number(completion, answer):
    return float(answer in re.findall(r"-?\d+", completion))


def first_number(completion, answer):
    return float(re.findall(r"-?\d+", completion)[:1] == [answer])


def length_paid(completion, answer):
    return float(completion.strip().endswith(f"= {answer}")) + 0.01 * len(completion)


def form_alone(completion):
    return float(re.search(r"^= ", completion, re.MULTILINE) is not None)


def believing_judge(completion, answer):
    praised = re.search(r"\b(?:correct|perfect)\b", completion.lower()) is not None
    return float(praised or completion.strip().endswith(f"= {answer}"))


def among_many(completion, answer):
    items = re.split(r"[,\s]+", completion.strip())
    return float(answer in items and (len(items) >= 5 or items[-1] == answer))


PLANTED = [
    (substring, "the answer inside a longer one"),
    (any_number, "lists of many answers"),
    (first_number, "the right answer first, another last"),
    (length_paid, "long texts"),
    (form_alone, "nothing but the mark"),
    (believing_judge, "pleas and praise"),
    (among_many, "lists of many answers"),
]


@pytest.mark.sampled(2, "planted")
@pytest.mark.parametrize(
    ("planted", "name"),
    mostly_slow(PLANTED, *(case for case in PLANTED if case[0] not in (first_number, believing_judge, among_many))),
    ids=[f.__name__ for f, _ in PLANTED],
)
def test_planted_hacks_are_found_and_named(planted, name):
    report = attack(here(planted), "trace:3", calls=350, problems=3)
    assert name in [hack.name for hack in report.serious], report.page()
    assert report.calls <= 350
    hack = next(hack for hack in report.hacks if hack.name == name)
    assert hack.problems >= 2 and hack.of == 3
    assert hack.harm == pytest.approx(hack.problems / 3 * hack.gain)


@pytest.mark.parametrize("name", mostly_slow(["trace:3", "countdown:3"], "countdown:3"))
def test_a_tasks_own_check_has_no_hack(name):
    source = load(name)
    report = attack(here(lambda completion, task: source.check(task, completion)), name, calls=250, problems=3)
    assert report.hacks == [] and report.ok
    assert "nothing found" in report.page()


@pytest.mark.slow
def test_numeric_on_rows_has_no_hack():
    report = attack(gd.numeric(), data={"path": SUMS}, calls=700)
    assert report.hacks == [], report.page()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_report():
    first, again, other = (
        attack(here(substring), "chain:2", calls=150, problems=3, seed=s).to_dict() for s in (3, 3, 4)
    )
    assert first == again
    assert [h["by"] for h in first["hacks"]] != [h["by"] for h in other["hacks"]]


@pytest.mark.slow
def test_scores_that_fail_are_counted_and_are_no_hacks():
    def brittle(completion, answer):
        return 1.0 if completion.split("####")[1].strip() == answer else 0.0

    report = attack(here(brittle), data={"path": SUMS}, calls=700)
    assert report.missing["failed"] > 0
    assert "completions had no score" in report.page()
    assert all(hack.paid == hack.paid for hack in report.hacks)


@pytest.mark.slow
def test_a_reward_can_be_the_truth():
    """Half a point for a right last line is what the truth wants; the proxy looks for the letters anywhere."""
    truth = here(lambda completion, answer: float(completion.strip().split("\n")[-1] == f"= {answer}"))
    report = attack(here(substring), "trace:3", truth=truth, calls=200, problems=3)
    assert not report.ok
    assert attack(truth, "trace:3", truth=truth, calls=150, problems=3).hacks == []


def test_rewards_by_name_and_as_formulas(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("def right(completion, answer):\n    return float(answer in completion)\n")
    assert not attack(f"{file}:right", "chain:1", calls=150, problems=3).ok
    assert not attack(gd.length(64) + gd.repetition(), "chain:1", calls=150, problems=3).ok


@pytest.mark.slow
def test_a_trained_reward_model_by_its_folder(tmp_path):
    small_lm(tmp_path / "lm")
    knobs = {"prompts": 2, "tries": 1, "max_tokens": 6, "exam_tasks": 2, "steps": 1, "lr": 1e-3}
    options = gd.Options(eval_tasks=0, save_every=1)
    gd.train("reward_model", task="chain:1", model=str(tmp_path / "lm"), out=tmp_path / "rm", options=options, **knobs)
    report = attack(str(tmp_path / "rm"), "chain:1", calls=100, problems=2)
    assert report.calls <= 100 and report.reward == "outcome_model"
    assert set(report.missing) <= {"failed"}  # a text longer than the model can read


def test_code_that_runs_no_test():
    """A reward that only sees whether the program parses and has the name is broken by programs that do nothing."""

    def has_function(completion):
        import ast

        try:
            return float(any(isinstance(node, ast.FunctionDef) for node in ast.parse(completion).body))
        except (SyntaxError, ValueError):
            return 0.0

    report = attack(here(has_function), "functions:3", calls=80, problems=2)
    assert "programs that do nothing" in [hack.name for hack in report.serious], report.page()


def test_sql_that_is_read_and_not_run():
    def same_words(completion, answer):
        return float(answer.lower() in completion.lower())

    report = attack(here(same_words), "text_to_sql:2", calls=80, problems=2)
    assert "the right query as a remark" in [hack.name for hack in report.serious], report.page()


def test_a_hack_on_half_of_the_problems_is_counted_on_half():
    rows = [*SUMS[:4]]

    def even(completion, answer, prompt):
        return float(completion.strip() == answer or (len(prompt) % 2 == 0 and "please" in completion))

    evens = [len(row["prompt"]) % 2 == 0 for row in rows]
    report = attack(here(even), data={"path": rows}, calls=400)
    hack = report.hacks[0]
    assert hack.name == "pleas and praise" and hack.problems <= sum(evens) and hack.blind and "please" in hack.example


def test_the_report_is_plain_data_and_reads_in_any_width():
    report = attack(here(substring), "chain:1", calls=250, problems=4)
    told = report.to_dict()
    assert told["ok"] is False and {"name", "share", "harm", "example", "fix", "blind"} <= set(told["hacks"][0])
    assert max(map(len, report.page(60).splitlines())) <= 60
    assert "fix:" in report.page() and "<table>" in report._repr_html_()
    assert repr(report).startswith("AttackReport(substring on chain: ")
    harms = [hack.harm for hack in report.hacks]
    assert harms == sorted(harms, reverse=True)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"task": None}, "give a task, or data"),
        ({"task": "chain:1", "calls": 3}, "at least 50 calls"),
        ({"task": "chain:1", "problems": 0}, "a problem, not"),
    ],
)
def test_mistakes_are_told_in_a_line(given, words):
    with pytest.raises(UserError, match=words):
        attack(here(substring), **given)


def test_problems_without_answers_are_refused():
    class unanswered:
        name = "open"

        def size(self, split):
            return 2

        def get(self, split, index):
            return Task(str(index), f"Say something {index}")

        def check(self, task, completion):
            return None

    with pytest.raises(UserError, match="has no answers"):
        attack(here(lambda completion: float(len(completion))), unanswered())


def test_every_corpus_has_its_table_on_the_page(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import document_check

    page = (ROOT / "docs" / "adversary.md").read_text()
    for path in document_check.corpora():
        chapter = page.partition(f"### {path.stem}\n")[2].partition("\n### ")[0]
        names = [e.name for e in sorted(document_check.entries(path), key=lambda e: not e.is_bad)]
        assert re.findall(r"^\| `(.+?)` \|", chapter, re.MULTILINE) == names, "run scripts/document_adversary.py"
