"""`compare`: what it says of runs is what their folders hold, by statistics that are checked by hand."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from statistics import fmean

import pytest
from command_line import command_line, refused
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal
from report_pages import Addresses, report_data_of

import guerdon as gd
from guerdon.exams.tries import TriedProblem, packed, unpacked
from guerdon.results.compare.differences import is_share
from guerdon.results.compare.run_arms import RunRead, read_arms
from guerdon.results.compare.words import in_words

SMALL = {"task": "parity", "model": "tabular", "steps": 3, "prompts": 2, "tries": 4}
LENGTH = {"tabular.length": 1}


def train(out: Path, task: str = "parity", **changes):
    options = gd.Options(eval_tasks=16, eval_tries=2)
    return gd.train("grpo", **{**SMALL, "task": task, **changes}, settings=LENGTH, options=options, out=out)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two arms of three seeds each, and one run on another task."""
    folder = tmp_path_factory.mktemp("compared")
    for seed in range(3):
        train(folder / f"slow-{seed}", lr=0.01, seed=seed)
        train(folder / f"fast-{seed}", lr=0.9, seed=seed, steps=6)
    train(folder / "other", task="successor", lr=0.01)
    return folder


# --- what is stored ---------------------------------------------------------------------------------------------------


def test_what_came_of_every_problem_is_stored_and_gives_the_accuracy(runs):
    for name in ("slow-0", "fast-1"):
        events = [json.loads(line) for line in (runs / name / "events.jsonl").read_text().splitlines()]
        for event in (e for e in events if e["type"] == "Evaluated"):
            tried = unpacked(event["problems"][""])
            assert len(tried) == event["result"]["tasks"] and {t.of for t in tried.values()} <= {2, 4, 6, 8}
            assert math.isclose(fmean(t.right / t.of for t in tried.values()), event["result"]["pass@1"])


counts = st.integers(1, 300).flatmap(lambda of: st.tuples(st.just(of), st.integers(0, of)))
names = st.integers(0, 2**32 - 1).map(lambda n: f"{n:08x}")


@given(st.dictionaries(names, st.tuples(st.sampled_from(["a:1", "b:2"]), counts), min_size=1))
def test_packed_problems_come_back(drawn):
    tried = {name: TriedProblem(kind, right, of) for name, (kind, (of, right)) in drawn.items()}
    assert unpacked(json.loads(json.dumps(packed(tried, evenly=False)))) == tried


@pytest.mark.parametrize(
    "broken",
    [None, [], {"kinds": 3}, {"kinds": {"a": {}}}, {"kinds": {"a": {"names": "", "right": "", "of": 1}}},
     {"kinds": {"a": {"names": "0" * 8, "right": "5", "of": 4}}}, {"kinds": {"a": {"names": "0" * 8, "right": "x", "of": 4}}}],
)  # fmt: skip
def test_what_is_not_of_our_writing_is_no_problem_list(broken):
    with pytest.raises(ValueError):
        unpacked(broken)


# --- statistics -------------------------------------------------------------------------------------------------------


def test_two_runs_are_compared_problem_by_problem(runs):
    compared = gd.compare(runs / "slow-0", runs / "fast-0")
    before, after = compared.differences
    assert before.alike and before.value == 0.0
    accuracy = [gd.Run(runs / name).evaluations[-1]["pass@1"] for name in ("slow-0", "fast-0")]
    assert math.isclose(after.value, accuracy[1] - accuracy[0]) and after.low <= after.value <= after.high
    assert after.problems == gd.Run(runs / "slow-0").evaluations[-1]["tasks"] and "paired bootstrap" in after.way
    assert {s.name: s.values for s in compared.settings} == {"--set lr": ["0.01", "0.9"], "steps": ["3", "6"]}
    assert any("leaves out the spread between seeds" in note for note in compared.notes)
    assert any("3 steps (A), 6 steps (B)" in note for note in compared.notes)


def test_seeds_of_one_recipe_are_one_arm(runs):
    compared = gd.compare(*(runs / f"{name}-{seed}" for name in ("slow", "fast") for seed in range(3)))
    slow, fast = ([gd.Run(runs / f"{n}-{s}").evaluations[-1]["pass@1"] for s in range(3)] for n in ("slow", "fast"))
    assert [arm.seeds for arm in compared.arms] == [[0, 1, 2], [0, 1, 2]]
    rate = compared.rates["B"][1]
    assert math.isclose(rate.value, fmean(fast)) and rate.seeds == 3
    spread = math.sqrt(sum((x - fmean(fast)) ** 2 for x in fast) / 2)
    assert math.isclose(rate.spread, spread, abs_tol=1e-12)
    differences = [b - a for a, b in zip(slow, fast, strict=True)]
    after = compared.differences[1]
    error = math.sqrt(sum((d - fmean(differences)) ** 2 for d in differences) / 2 / 3)
    assert math.isclose(after.value, fmean(differences), abs_tol=1e-12)
    assert after.low == pytest.approx(max(-1.0, after.value - 4.302653 * error), rel=1e-6)
    assert f"seed 0 {100 * fast[0]:.1f} %, seed 1 {100 * fast[1]:.1f} %" in " ".join(str(compared).split())
    assert "over the 3 seeds that both have" in after.way and not any("one seed" in note for note in compared.notes)
    assert [setting.name for setting in compared.settings] == ["--set lr", "steps"]


def test_other_seeds_are_compared_by_welch_and_one_seed_by_problems(runs):
    first = [runs / "slow-0", runs / "slow-1"]
    assert "2 and 2 seeds" in gd.compare(*first, runs / "fast-1", runs / "fast-2").differences[1].way
    mixed = gd.compare(*first, runs / "fast-2").differences[1]
    ours = gd.Run(runs / "fast-2").evaluations[-1]["pass@1"]
    theirs = [gd.Run(run).evaluations[-1]["pass@1"] for run in first]
    assert math.isclose(mixed.value, ours - fmean(theirs), abs_tol=1e-12) and "paired" in mixed.way


def test_other_exams_are_not_compared(runs):
    compared = gd.compare(runs / "slow-0", runs / "other")
    assert [d.value for d in compared.differences] == [None, None]
    assert all("different exams, parity and successor" in d.why for d in compared.differences)
    text = str(compared)
    assert text.count("not to be compared") == 1 and "no prompt in common" in text


@pytest.mark.parametrize("sizes", [{"eval_tasks": 12, "eval_tries": 2}, {"eval_tasks": 16, "eval_tries": 1}])
def test_exams_that_are_not_the_same_are_not_paired(runs, tmp_path, sizes):
    """Of one task, and with problems in common: each run's accuracy stands by its own problems."""
    for seed in range(2):
        how = {**SMALL, "lr": 0.9, "seed": seed, "settings": LENGTH, "options": gd.Options(**sizes)}
        gd.train("grpo", **how, out=tmp_path / f"less-{seed}")
    compared = gd.compare(runs / "slow-0", tmp_path / "less-0")
    for apart in compared.differences:
        assert apart.way == "not paired: the exams are not the same" and not apart.problems
    text = " ".join(str(compared).split())
    assert (
        "accuracy, exams that are not the same" in text
        and "bootstrap" not in text
        and "both were evaluated" not in text
    )
    seeds = gd.compare(*(runs / f"slow-{i}" for i in range(2)), *(tmp_path / f"less-{i}" for i in range(2)))
    assert seeds.differences[1].way == "over 2 and 2 seeds (Welch's t), not paired: the exams are not the same"


def test_a_task_that_was_an_object_is_the_same_exam_as_by_its_name(runs, tmp_path):
    train(tmp_path / "objects", task=gd.tasks.load("parity"), lr=0.9)
    compared = gd.compare(runs / "slow-0", tmp_path / "objects")
    assert compared.differences[1].problems and "exams that are not the same" not in str(compared)


def test_exams_with_problems_in_common_on_other_tasks_are_not_compared(runs, monkeypatch):
    shared = read_arms([runs / "slow-0", runs / "other"]).arms[0].first.problems(-1, "")
    monkeypatch.setattr(RunRead, "problems", lambda self, at, exam: shared)
    assert all(d.value is None for d in gd.compare(runs / "slow-0", runs / "other").differences)


def test_runs_that_do_not_tell_of_problems_are_not_paired(runs, monkeypatch):
    paired = gd.compare(runs / "slow-0", runs / "fast-0").differences[1]
    monkeypatch.setattr(RunRead, "problems", lambda self, at, exam: {})
    apart = gd.compare(runs / "slow-0", runs / "fast-0").differences[1]
    assert apart.way.startswith("not paired") and apart.value == pytest.approx(paired.value)
    assert not apart.problems


def test_the_same_name_with_other_problems_is_not_the_same_exam(runs, monkeypatch):
    own = RunRead.problems
    renamed = lambda self, at, exam: {f"{self.named[-6:]}{n}": t for n, t in own(self, at, exam).items()}  # noqa: E731
    monkeypatch.setattr(RunRead, "problems", renamed)
    assert "one name and other problems" in gd.compare(runs / "slow-0", runs / "fast-0").differences[1].why


def test_the_same_run_twice(runs, tmp_path):
    train(tmp_path / "again", lr=0.01, seed=0)
    compared = gd.compare(runs / "slow-0", tmp_path / "again")
    assert "one recipe with one seed, and of the same weights" in compared.notes[0] and not compared.settings
    with refusal(gd.UserError):
        gd.compare(runs / "slow-0", runs / "slow-0")


# --- the prompt -------------------------------------------------------------------------------------------------------


def test_the_tries_at_a_prompt_are_those_of_the_run(runs):
    shown = gd.compare(runs / "slow-0", runs / "fast-0", step=2).prompt
    for run in shown.runs:
        batch = run.run.run.batch(2)
        texts = [e.segments[-1].text for e in batch.episodes if e.task.prompt == shown.prompt]
        assert [t.completion for t in run.tries] == texts and run.step == 2
        rewards = batch["correct"].tolist()
        assert [t.reward for t in run.tries] == [rewards[t.track] for t in run.tries]
    apart = [max(m) - min(m) for m in _means(runs, 2).values()]
    means = [run.mean for run in shown.runs]
    assert math.isclose(max(means) - min(means), max(apart))


def _means(folder: Path, step: int) -> dict[str, list[float]]:
    """Of each prompt of a step, the mean of what was right in two runs."""
    means: dict[str, list[float]] = {}
    for name in ("slow-0", "fast-0"):
        batch = gd.Run(folder / name).batch(step)
        right = batch["correct"].tolist()
        for prompt in {e.task.prompt for e in batch.episodes}:
            means.setdefault(prompt, []).append(
                fmean(r for r, e in zip(right, batch.episodes, strict=True) if e.task.prompt == prompt)
            )
    return {prompt: each for prompt, each in means.items() if len(each) == 2}


def test_a_prompt_by_its_text(runs):
    wanted = gd.Run(runs / "slow-0").batch(1).episodes[0].task
    for word in (wanted.id, wanted.key, wanted.prompt):
        assert gd.compare(runs / "slow-0", runs / "fast-0", prompt=word).prompt.prompt == wanted.prompt
    with pytest.raises(gd.UserError, match="no prompt 'nowhere'"):
        gd.compare(runs / "slow-0", runs / "fast-0", prompt="nowhere")


# --- how it is shown --------------------------------------------------------------------------------------------------


@pytest.fixture
def cli(runs, monkeypatch, capsys):
    return command_line(runs, monkeypatch, capsys)


@pytest.mark.parametrize("width", [80, 40])
def test_lines_keep_to_their_columns(runs, width, monkeypatch):
    names = ("slow-0", "fast-0", "fast-1", "other")
    monkeypatch.chdir(runs)
    for few in (names, names[:3], names[:2]):
        assert max(map(len, gd.compare(*few).text(width).splitlines())) <= width


def test_the_command_line(cli):
    said = cli("compare", "slow-0", "fast-0", "--html", "page/compared.html")
    assert said.code == 0 and "B - A, after" in said.out and "paired bootstrap" in said.out
    as_json = cli("compare", "slow-0", "fast-0", "--json").json
    after = as_json["differences"][1]
    assert after["arm"] == "B" and after["less"] == "A" and after["low"] <= after["value"] <= after["high"]
    assert as_json["settings"]["--set lr"] == {"A": "0.01", "B": "0.9"}
    assert as_json["curves"]["correct"]["A"]["step"] == [0, 1, 2]
    refused(cli("compare", "slow-0"), "two runs or more")
    refused(cli("compare", "slow-0", "fast-0", "--metric", "pas@1"), "did you mean 'pass@1'")
    refused(cli("compare", "slow-0", "fast-0", "--step", "99"), "holds no rollouts of step 99")
    refused(cli("compare", "slow-0", "nowhere"), "nowhere is not a run folder")


def test_the_page_is_one_file_that_loads_nothing(cli, runs):
    page = gd.compare("slow-0", "fast-0").html()
    assert "@import" not in page and Addresses(page).addresses == []
    assert re.search(r"default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'", page)
    data, compared = report_data_of(page), gd.compare("slow-0", "fast-0")
    shown = data["compared"]["steps"]
    assert [arm["letter"] for arm in shown["arms"]] == ["A", "B"] and data["title"] == "slow-0 against fast-0"
    assert shown["curves"]["correct"]["series"]["B"]["value"] == compared.curves["correct"][1].value
    (after,) = [each for each in compared.differences if each.at == "after"]
    assert data["differences"]["B/after"]["value"] == after.value
    assert [side["run"] for side in data["prompt"]["sides"]] == ["slow-0", "fast-0"]
    for side in data["prompt"]["sides"]:
        held = side["answers"]["rollouts"]
        assert side["samples"] and all(f"{side['step']}/{each['episode']}" in held for each in side["samples"])
    noscript = page.partition("<noscript>")[2].partition("</noscript>")[0]
    assert "A: " in noscript and "B - A, after" in noscript


def test_words_of_a_run_are_no_markup(runs, tmp_path):
    evil = tmp_path / "<script>alert(1)<script>"
    train(evil, lr=0.5)
    page = gd.compare(runs / "slow-0", evil).html()
    assert page.count("<script") == 2 and report_data_of(page)["title"] == "slow-0 against <script>alert(1)<script>"


def test_runs_that_are_not_as_they_should_be_are_said_in_a_line(cli, tmp_path):
    options = gd.Options(eval_tasks=4)
    gd.train("./mine.py:twice", task="parity", model="tabular", options=options, out="study", settings={})
    said = cli("compare", "slow-0", "fast-0", "study")
    assert said.code == 0 and "study is a study and is skipped: name runs in study/inner" in said.out
    refused(cli("compare", "slow-0", "study"), "two runs or more to compare: study is a study")
    half = Path("slow-1/events.jsonl").read_text().splitlines()
    Path("half").mkdir()
    Path("half/run.json").write_bytes(Path("slow-1/run.json").read_bytes())
    Path("half/events.jsonl").write_text("\n".join(line for line in half if '"Ended"' not in line) + "\n")
    said = cli("compare", "slow-0", "half")
    assert said.code == 0 and "half is not complete (unfinished): 3 of 3 steps" in " ".join(said.out.split())
    assert "half holds no rollouts" in said.out
    begun = [line for line in half if '"Ended"' not in line and not ('"Evaluated"' in line and '"step": 2' in line)]
    Path("half/events.jsonl").write_text("\n".join(begun) + "\n")
    after = cli("compare", "slow-0", "half", "--json").json
    assert after["arms"][1]["after"] is None and after["differences"][1]["value"] is None
    assert after["arms"][1]["before"]["steps_done"] == 0 and "has not been examined" in after["differences"][1]["why"]
    Path("half/events.jsonl").write_text("\n".join([half[0], "x" + half[1], *half[2:]]) + "\n")
    assert "half is damaged" in cli("compare", "slow-0", "half").out
    Path("half/run.json").write_text("{")
    refused(cli("compare", "slow-0", "half"), "two runs or more to compare: half is skipped")


def test_a_run_is_compared_by_what_it_is_about(runs):
    assert is_share("rm/pair_accuracy") and not is_share("process/first_error_f1") and not is_share("length")
    assert in_words("rm/pair_accuracy") == "rm, pair accuracy" and in_words("pass@1") == "accuracy"
    assert gd.compare(runs / "slow-0", runs / "fast-0").metric == "pass@1"
    by_length = gd.compare(runs / "slow-0", runs / "fast-0", metric="length")
    assert by_length.differences[1].way.startswith("without an interval") and by_length.differences[1].value == 0.0
