"""What a run says of itself at its end, held against events written by hand and against small runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import SMALL, Cli, command_line

import guerdon as gd
from guerdon.core.example import ExamplePlay, example_tries
from guerdon.credit import centre
from guerdon.recipes.policy.copo import by_problem
from guerdon.runs.end_notes import end_notes
from guerdon.runs.event_types import Event, ScoresMissing, Started, StepDone, Warned
from guerdon.runs.events import read_events

VARIED = {"correct/mean": 0.5, "correct/std": 0.5, "advantage/flat_groups": 0.5, "advantage/single_groups": 0.0}
FLAT = {**VARIED, "advantage/flat_groups": 0.75, "advantage/single_groups": 0.25}


def steps(*metrics: dict[str, Any], updates: int = 1, episodes: int = 8) -> list[Event]:
    done = [StepDone(i, metrics=m, updates=updates, episodes=episodes) for i, m in enumerate(metrics)]
    return [Started(0, weights="before"), *done]


def test_a_run_that_learned_has_nothing_to_say() -> None:
    assert end_notes(steps(VARIED, VARIED, VARIED, VARIED, FLAT), "after") == []
    assert end_notes([Started(0, weights="before")], "before") == []  # no step at all


def test_groups_that_never_vary() -> None:
    (note,) = end_notes(steps(FLAT, FLAT, FLAT), "after")
    assert note == (
        "no group varied in any of 3 steps, so nothing was learned: every try of a prompt was worth the same."
        " Tasks that are solved sometimes, a higher temperature or more tries may help"
    )
    (note,) = end_notes(steps(FLAT, VARIED, VARIED, VARIED), "after")
    assert note.startswith("in 1 of 4 steps no group varied, and those taught nothing: ")
    easy, hard = ({**FLAT, "correct/mean": mean} for mean in (0.95, 0.05))
    assert end_notes(steps(easy, VARIED), "after")[0].endswith("Harder tasks may help")
    assert end_notes(steps(hard, VARIED), "after")[0].endswith(
        "Easier tasks, a higher temperature or more tries may help"
    )


@pytest.mark.parametrize("value", [None, "0.5", [0.5], True, 10**400])
@pytest.mark.parametrize("name", FLAT)
def test_a_line_of_events_that_something_changed_ends_in_notes(name: str, value: Any) -> None:
    """Numbers of an event file may be gone or no numbers: whoever resumes such a run reads what is left."""
    harmed = {**FLAT, name: value}
    assert all(isinstance(note, str) for note in end_notes(steps(harmed, harmed), "after"))


def test_a_step_varies_if_any_of_its_advantages_does() -> None:
    both = {**FLAT, "style/flat_groups": 0.5}
    assert end_notes(steps(both, both), "after") == []


@pytest.mark.parametrize(
    ("column", "worth", "begins", "ends"),
    [
        (
            "correct",
            0.0,
            "no answer was right in 2 steps, so nothing was learned from the reward. Easier tasks, ",
            "may help",
        ),
        ("correct", 1.0, "every answer was right in 2 steps", "Harder tasks may help"),
        ("reward", 0.3, "'reward' was 0.3 for every sample in 2 steps", "may help"),
    ],
)
def test_one_reward_for_every_sample_is_told_once(column: str, worth: float, begins: str, ends: str) -> None:
    alike = {"advantage/flat_groups": 1.0, f"{column}/mean": worth, f"{column}/std": worth * 1e-16}
    (note,) = end_notes(steps(alike, alike), "after")
    assert note.startswith(begins) and note.endswith(ends)
    (note,) = end_notes(steps(alike, {**alike, f"{column}/mean": 0.5}), "after")
    assert note.startswith("no group varied")


def test_nothing_updated_and_weights_that_stay() -> None:
    (note,) = end_notes(steps(VARIED, VARIED, updates=0), "before")
    assert note.startswith("nothing was updated in 2 steps: no try was left to learn from")
    small = {**VARIED, "policy/lr": 1e-9, "policy/grad_norm": 0.5}
    (note,) = end_notes(steps(small, small), "before")
    assert note.startswith("the weights never changed: 2 updates left them as they were. The steps may be too small")
    (note,) = end_notes(steps({**small, "policy/grad_norm": 0.0}), "before")
    assert note.startswith("the weights never changed: 1 update left") and "Every gradient was zero" in note
    (note,) = end_notes(steps({**small, "policy/lr": 0.0}), "after")
    assert note == "the learning rate was 0 in the one step, so nothing was learned: raise it (--set lr=...)"


def test_answers_that_are_cut_and_scores_that_are_none() -> None:
    cut = [{**VARIED, "cut": 0.75}, {**VARIED, "cut": 0.5}]
    assert end_notes(steps(*cut), "after")[0].startswith("62.5 % of the answers were cut at the limit on their length")
    assert end_notes(steps({**VARIED, "cut": 0.5}), "after") == []  # not most
    missing = [{**VARIED, "correct/not_applicable": 0.5}, VARIED]
    assert end_notes(steps(*missing), "after") == [
        "'correct' did not apply to 25.0 % of the samples, and nothing was learned from those"
    ]
    unlabelled = {**VARIED, "correct/not_applicable": 1.0, "reward/mean": 0.5, "reward/std": 0.5}
    assert end_notes(steps(unlabelled), "after") == []  # the reward is learned from
    lost = [
        ScoresMissing(0, column="correct", failed=2, timed_out=1, of=8),
        ScoresMissing(1, column="episode", failed=1, of=8),
    ]
    numbers = [{**VARIED, "correct/failed": 0.375}, {**VARIED, "failed": 0.125}]
    first, second = end_notes([*steps(*numbers), *lost], "after")
    assert first.startswith("3 scores in 'correct' failed, 18.8 % of all, and nothing was learned from those")
    assert second.startswith("1 scores in 'episode' failed, 6.2 % of all")


def test_groups_alike_teach_where_problems_are_compared() -> None:
    """Under `copo` a problem that all tries solve and one that none does differ; two that all tries solve do not."""

    def noted(*problems: list[float]) -> dict[str, Any]:
        batch, play = example_tries(list(problems)), ExamplePlay()
        batch = batch.put("answer_entropy", "track", torch.zeros(batch.K))
        by_problem()(centre()(batch, play), play)
        return {**play.metrics, "reward/mean": 0.5, "reward/std": 0.5}

    assert end_notes(steps(noted([1.0, 1.0], [0.0, 0.0])), "after") == []
    (note,) = end_notes(steps(noted([1.0, 1.0], [1.0, 1.0])), "after")
    assert note.startswith("no group varied in the one step")


# --- runs ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return command_line(tmp_path, monkeypatch, capsys)


def test_what_a_run_says_is_in_its_lines_its_events_its_json_and_its_report(cli: Cli) -> None:
    Path("alike.py").write_text("def alike(completion):\n    return 1.0\n")
    words = ("train", "grpo", "--task", "parity", *SMALL, "--steps", "2", "--reward", "alike.py:alike")
    said = cli(*words, "--out", "a")
    note = "'reward' was 1 for every sample in 2 steps, so nothing was learned from the reward."
    same = "the weights never changed: 2 updates left them as they were. Every gradient was zero"
    assert said.code == 0 and f"warning: {note}" in said.out and f"warning: {same}" in said.out
    run = gd.Run("a")
    assert [n.startswith(begins) for n, begins in zip(run.warnings, (note, same), strict=True)] == [True, True]
    assert cli("show", "a", "--json").json["warnings"] == run.warnings
    page = (Path("a") / "report.html").read_text()
    assert "for every sample in 2 steps" in page and "the weights never changed" in page


def test_it_is_said_once_however_the_end_is_cut(cli: Cli) -> None:
    words = ("train", "grpo", "--task", "parity", *SMALL, "--steps", "2", "--set", "lr=0", "--out", "a")
    assert cli(*words).code == 0
    events = Path("a/events.jsonl")
    lines = events.read_bytes().splitlines(keepends=True)
    assert b"Ended" in lines[-1]
    events.write_bytes(b"".join(lines[:-1]))  # a kill after the warning
    assert cli("train", "--resume", "a").code == 0
    warned = [e.message for e in read_events(events) if isinstance(e, Warned)]
    assert len([m for m in warned if m.startswith("the learning rate was 0 in all of 2 steps")]) == 1
