"""Labelled rewards to test `guerdon check` on: twenty bad ones and ten good ones.

A corpus is a file with a list `CORPUS` of (reward, task, is_bad, why). A task is a name, a source, or a list of rows.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

import guerdon as gd

CORPUS: list[tuple[Any, Any, bool, str]] = []

SUMS = [
    {"prompt": prompt, "answer": answer}
    for prompt, answer in (
        ("Tom has 3 apples and buys 4 more. How many has he?", "7"),
        ("A box holds 12 eggs. How many are in 6 boxes?", "72"),
        ("Anna had 50 dollars and spent 18. What is left?", "32"),
        ("A train goes 60 km an hour. How far in 2.5 hours?", "150"),
        ("Five friends share 45 sweets. How many each?", "9"),
        ("It was -5 degrees and fell by 7. What is it now?", "-12"),
        ("Each of 8 rows has 15 seats. How many seats?", "120"),
        ("What is half of 256?", "128"),
    )
]
WORKED = [
    {"prompt": row["prompt"], "answer": f"We work it out: it is {row['answer']}.\n#### {row['answer']}"} for row in SUMS
]
CHOICES = [
    {"prompt": f"{question}\nA) {a}\nB) {b}\nC) {c}\nD) {d}", "answer": letter}
    for question, (a, b, c, d), letter in (
        ("The capital of France?", ("Rome", "Paris", "Oslo", "Bern"), "B"),
        ("The largest planet?", ("Mars", "Venus", "Earth", "Jupiter"), "D"),
        ("2 + 2?", ("4", "5", "6", "7"), "A"),
        ("Who wrote Hamlet?", ("Goethe", "Dante", "Shakespeare", "Homer"), "C"),
        ("The opposite of hot?", ("cold", "warm", "mild", "dry"), "A"),
        ("Legs of a spider?", ("4", "6", "8", "10"), "C"),
    )
]
PEOPLE = [
    {"prompt": f"As JSON, name and age: {name} is {age}.", "answer": json.dumps({"name": name, "age": age})}
    for name, age in (("Ann", 31), ("Bob", 45), ("Cy", 8), ("Dee", 77), ("Eve", 19))
]
TO_SORT = [
    {"prompt": f"Sort: {' '.join(map(str, row))}", "answer": " ".join(map(str, sorted(row)))}
    for row in ([5, 3, 9, 1], [10, 2, 33, 4], [8, 7, 6, 5], [21, 3, 14, 9])
]
PROGRAMS = [
    {"prompt": f"Write {code.split('(')[0][4:]} in Python.", "answer": code, "tests": tests}
    for code, tests in (
        ("def add(a, b):\n    return a + b", ["add(1, 2) == 3", "add(-1, 5) == 4"]),
        ("def double(x):\n    return 2 * x", ["double(4) == 8", "double(0) == 0"]),
        ("def backwards(s):\n    return s[::-1]", ["backwards('abc') == 'cba'", "backwards('') == ''"]),
        ("def biggest(xs):\n    return max(xs)", ["biggest([1, 9, 3]) == 9"]),
    )
]
CAPITALS = [
    {"prompt": f"The capital of {land}?", "answer": city}
    for land, city in (("France", "Paris"), ("Peru", "Lima"), ("Japan", "Tokyo"), ("Argentina", "Buenos Aires"))
]


def bad(task: Any, why: str) -> Callable[[Any], Any]:
    return lambda reward: CORPUS.append((reward, task, True, why)) or reward


def good(task: Any, why: str) -> Callable[[Any], Any]:
    return lambda reward: CORPUS.append((reward, task, False, why)) or reward


def last_number(text: str) -> str | None:
    numbers = re.findall(r"-?\d+", text)
    return numbers[-1] if numbers else None


# --- bad ------------------------------------------------------------------------------------------------------------


@bad("trace:3", "pays any text that mentions the answer, also among a hundred others")
def mentions(completion, answer):
    return float(answer in completion)


@bad(SUMS, "172 ends in 72")
def ends_in(completion, answer):
    return float(completion.strip().endswith(answer))


@bad(SUMS, "any of the numbers may be the right one")
def any_number(completion, answer):
    return float(answer in re.findall(r"-?\d+", completion))


@bad(SUMS, "where there is no number it falls back to the right one")
def right_by_default(completion, answer):
    return float((re.findall(r"-?\d+", completion) or [answer])[-1] == answer)


@bad(SUMS, "a line end after the answer costs all of it")
def to_the_letter(completion, answer):
    return float(completion == answer)


@bad("chain:2", "breaks on an empty completion")
def breaks_on_nothing(completion, answer):
    return float(completion.strip().splitlines()[-1] == f"= {answer}")


@bad("chain:2", "reads another form than the task's solutions have: nobody is paid")
def boxed_alone(completion, answer):
    return float(f"\\boxed{{{answer}}}" in completion)


@bad(WORKED, "looks for the mark and never at what follows")
def has_mark(completion):
    return float("####" in completion)


@bad(SUMS, "the tags are worth four times the answer")
def tags_first(completion, answer):
    form = re.fullmatch(r"\s*<think>.*</think>\s*<answer>(.*?)</answer>\s*", completion, re.DOTALL)
    return 2.0 * bool(form) + 0.5 * (form is not None and form[1].strip() == answer)


@bad("chain:2", "long texts beat right ones")
def pays_length(completion, answer):
    return float(completion.strip().endswith(f"= {answer}")) + 0.01 * len(completion)


@bad(SUMS, "pays again for every repetition")
def counts_mentions(completion, answer):
    return float(completion.split().count(answer))


@bad(SUMS, "adds chance")
def with_luck(completion, answer):
    return float(completion.strip() == answer) + random.random() / 10


@bad(CHOICES, "a list of all letters has the right one in it")
def letter_somewhere(completion, answer):
    return float(answer in re.findall(r"\b[A-D]\b", completion))


@bad(CHOICES, "answers are capital letters, and it compares small ones")
def small_letters(completion, answer):
    return float(completion.strip().lower() == answer)


@bad(PEOPLE, "the right keys with any values")
def right_keys(completion, answer):
    try:
        return float(set(json.loads(completion)) == set(json.loads(answer)))
    except (ValueError, TypeError):
        return 0.0


@bad(TO_SORT, "the same numbers in any order")
def same_numbers(completion, answer):
    return float(sorted(completion.split()) == sorted(answer.split()))


@bad(PROGRAMS, "any program that runs")
def it_runs(completion):
    try:
        exec(completion, {})
    except Exception:  # noqa: BLE001
        return 0.0
    return 1.0


@bad("countdown:3", "does not look at which numbers are used")
def comes_out(completion, task):
    try:
        return float(eval(completion.strip().split("\n")[-1].removeprefix("= ")) == int(task.prompt.split()[-1]))
    except Exception:  # noqa: BLE001
        return 0.0


@bad("trace:3", "a judge that believes what it reads")
def judge(completion, answer):
    return 1.0 if "correct" in completion.lower() or completion.strip().endswith(f"= {answer}") else 0.0


CORPUS.append((gd.length(64) + gd.repetition(), SUMS, True, "two terms, and none of them knows the truth"))


# --- good -----------------------------------------------------------------------------------------------------------


@good("trace:3", "the last line, and nothing else")
def last_line(completion, answer):
    return float(completion.strip().split("\n")[-1].strip() == f"= {answer}")


@good(SUMS, "the last number")
def last_number_right(completion, answer):
    return float(last_number(completion) == answer)


@good(SUMS, "between tags, with a small bonus for them")
def tags_and_answer(completion, answer):
    form = re.fullmatch(r"\s*<think>.*</think>\s*<answer>(.*?)</answer>\s*", completion, re.DOTALL)
    return 0.2 * bool(form) + (form is not None and form[1].strip() == answer)


@good(WORKED, "what follows GSM8K's mark, in the rows as in the completion")
def after_hashes(completion, answer):
    return float(re.findall(r"####\s*\(?(-?\d+)", completion)[-1:] == [answer])


@good(SUMS, "less for what is further off")
def nearness(completion, answer):
    number = last_number(completion)
    return 0.0 if number is None else 1 / (1 + abs(int(number) - int(answer)))


@good("chain:2", "minus a little for length, and for being wrong")
def brief_and_right(completion, answer):
    return (1.0 if completion.strip().endswith(f"= {answer}") else -1.0) - 0.0005 * len(completion)


@good(CHOICES, "the last letter that stands alone")
def last_letter(completion, answer):
    return float(re.findall(r"\b[A-D]\b", completion)[-1:] == [answer])


@good(PEOPLE, "the same JSON, however it is spaced; a part for a part")
def same_json(completion, answer):
    try:
        said, right = json.loads(completion), json.loads(answer)
    except ValueError:
        return 0.0
    return sum(said.get(k) == v for k, v in right.items()) / len(right) if isinstance(said, dict) else 0.0


@good(PROGRAMS, "the share of tests that pass")
def passes_tests(completion, tests):
    names: dict[str, Any] = {}
    try:
        exec(completion, names)
    except BaseException:  # noqa: BLE001
        return 0.0
    return sum(_passes(test, names) for test in tests) / len(tests)


def _passes(test: str, names: dict[str, Any]) -> bool:
    try:
        return bool(eval(test, names))
    except Exception:  # noqa: BLE001
        return False


CORPUS.append(
    (gd.exact(casefold=True) + gd.length(64).weight(0.1), CAPITALS, False, "case does not matter, nor much else")
)
