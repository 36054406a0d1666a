"""reasoning-gym as a task: its entries, its scores, its levels, and answers that are programs."""

from __future__ import annotations

import importlib.util
import os
import random
import subprocess
import sys

import pytest

import guerdon as gd

if importlib.util.find_spec("reasoning_gym") is None:
    pytest.skip("reasoning-gym is not installed", allow_module_level=True)

from guerdon.tasks.field.gym_datasets import given_answer
from guerdon.tasks.field.gym_library import dataset_names, is_harmless, levels_of, library, opened

SLOW = {
    "acre",
    "arc_agi",
    "futoshiki",
    "intermediate_integration",
    "knight_swap",
    "rearc",
    "sokoban",
    "zebra_puzzles",
}  # seconds each
# What the library's own scores pay in full besides the answer: the answer with one more line below it.
LOOSE = {"fraction_simplification", "gsm_symbolic", "knights_knaves", "letter_jumble", "polynomial_equations"}
LOOSE |= {"propositional_logic", "sokoban", "spell_backward", "time_intervals"}
NO_ANSWER = {"boxnet", "rush_hour"}  # has none written out


def test_its_problems_are_the_librarys_and_are_scored_by_it():
    source = gd.tasks.gym("leg_counting", max_animals=3)
    problem = source.get("train", 0)
    made = library().create_dataset("leg_counting", seed=0, size=1 << 31, max_animals=3)
    entry = made[problem.meta["number"]]
    assert (problem.prompt, problem.answer) == (entry["question"], entry["answer"])
    for said in (problem.answer, f"{problem.answer} legs", "1", "", f"of {problem.answer} or {problem.answer}1"):
        assert source.check(problem, said) == made.score_answer(said, entry)
    assert source.check(problem, f"1 + 1?\n<answer>9</answer> no <answer>{problem.answer}</answer>") == 1.0
    assert 0 < source.check(problem, f"{problem.answer} legs") < 1, "partial scores are kept"
    assert gd.check_task(source, problems=20)["problems"] == 40


def test_generators_of_the_process_are_left_as_they_were():
    random.seed(5)
    expected = random.random()
    random.seed(5)
    first = gd.tasks.gym("list_functions").get("train", 3)
    assert random.random() == expected
    opened.cache_clear()
    assert gd.tasks.gym("list_functions").get("train", 3) == first


@pytest.mark.slow
def test_what_is_drawn_from_sets_is_the_same_in_every_process():
    names = ("isomorphic_strings", "polynomial_multiplication", "ransom_note", "word_ladder")
    code = f"import guerdon as gd; print([gd.tasks.gym(n).get('train', i) for n in {names} for i in range(3)])"
    told = [
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        )
        for seed in ("1", "2")
    ]
    assert told[0].stdout == told[1].stdout


def test_levels_are_the_librarys_and_mix():
    source = gd.tasks.load("gym:leg_counting:1-2+gym:gcd+chain:2")
    assert sorted(source.kinds()) == ["chain:2", "gym:gcd:0", "gym:leg_counting:1", "gym:leg_counting:2"]
    curriculum = library().CURRICULA["leg_counting"]()
    curriculum.set_global_level(1)
    made, wanted = opened("leg_counting", 2, "{}").made.config, curriculum.generate_configuration()
    assert (made.min_animals, made.max_animals) == (wanted.min_animals, wanted.max_animals)
    task = gd.tasks.load("gym:gcd", system="direct").get("test", 0)
    assert task.view[0]["role"] == "system" and "<answer>" in task.view[0]["content"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gym:leg_countin", "leg_counting"),
        ("gym:composite", "name these"),
        ("gym:leg_counting:99", "levels 1 to 36"),
        ("gym:leg_counting:two", "whole number"),
        ("gym:acre:1", "no levels"),
    ],
)
def test_what_is_not_there_is_refused_in_a_line(name, words):
    with pytest.raises(gd.UserError, match=words):
        gd.tasks.load(name)


def test_settings_that_do_not_fit_are_refused():
    for settings, words in (
        ({"max_animal": 3}, "max_animals"),
        ({"max_animals": 99}, "set up"),
        ({"seed": 3}, "number"),
    ):
        with pytest.raises(gd.UserError, match=words):
            gd.tasks.gym("leg_counting", **settings)


@pytest.mark.parametrize("dataset", ["spiral_matrix", "countdown"])
def test_answers_that_are_programs_are_wrong_and_never_run(dataset, tmp_path):
    """The library calls eval on answers, or SymPy's parser, which does."""
    source, gone = gd.tasks.gym(dataset), tmp_path / "gone"
    problem = source.get("train", 0)
    program = f"__import__('pathlib').Path({str(gone)!r}).touch()"
    spelled = "exec(" + "+".join(f"chr({ord(letter)})" for letter in program) + ")"
    for answer in (program, f" {program}", spelled, f"[{program}]", f"lambda: {program}"):
        assert source.check(problem, answer) == 0.0
    assert not gone.exists()
    assert source.check(problem, problem.answer) == 1.0


def test_values_written_out_are_harmless():
    assert all(is_harmless("n_queens", text) for text in ("[['Q', '_']]", "Q _\n_ Q", "[-1]", "'", "Q"))
    assert not any(is_harmless("n_queens", text) for text in ("f()", "[x for x in y]", "9**9", "f'{x}'", "a.b"))
    assert all(is_harmless("countdown", text) for text in ("(3 + 4)*5 = 35", "x**2/2 + sin(x) + C", "2^3"))
    assert not any(is_harmless("countdown", text) for text in ("chr(1)", "x.y", "x_1", "[1]", "'a'", "open(1)"))


def test_the_answer_is_what_stands_in_the_last_tags():
    assert given_answer("a <answer> 4\n</answer> b <answer>5</answer>") == "5"
    assert given_answer("2+2=4\n= 4") == "4" and given_answer(" 4 ") == "4"


def promises(dataset: str, problems: int) -> None:
    source = gd.tasks.gym(dataset)
    seen = {split: [source.get(split, i) for i in range(problems)] for split in ("train", "test")}
    assert not {task.prompt for task in seen["train"]} & {task.prompt for task in seen["test"]}
    for task in (*seen["train"], *seen["test"]):
        assert task.prompt.strip()
        assert source.check(task, "") == 0.0
        if dataset not in NO_ANSWER:
            assert source.check(task, task.answer) == 1.0
            more = source.check(task, f"{task.answer}\n{task.answer.splitlines()[-1]}0")
            assert 0 <= more < 1 or dataset in LOOSE


@pytest.mark.slow
@pytest.mark.parametrize("dataset", sorted({*dataset_names()} - SLOW))
def test_every_data_set_keeps_its_promises(dataset):
    promises(dataset, 4)
    if levels_of(dataset):
        assert gd.tasks.gym(dataset, level=1).get("train", 0).prompt


@pytest.mark.slow
@pytest.mark.parametrize("dataset", sorted(SLOW - {"futoshiki"}))
def test_slow_data_sets_keep_their_promises(dataset):
    if dataset == "zebra_puzzles":
        pytest.importorskip("pycosat")
    promises(dataset, 1)
