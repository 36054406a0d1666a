"""What SRMs reward: steps told four ways, the pairs they make, and the whole recipe for a step."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from strategies import task

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.core.episode import End, Episode, Segment
from guerdon.core.example import ExamplePlay
from guerdon.core.pack import pack
from guerdon.core.task import Ask
from guerdon.recipes.process.what_srms_reward.parts import THOUGHTS, preferred, thought, told
from guerdon.recipes.process.what_srms_reward.recipe import what_srms_reward

LINES = ["-8x+16+20=-4x+20", "-8x+36=-4x+20", "-4x+36=20", "-4x=-16", "x=4", "= 4"]
TEXT = "\n".join(LINES[:3])


def test_a_thought_says_what_a_line_sets_out_to_do():
    said = [thought(line, before) for line, before in zip(LINES, ["", *LINES], strict=False)]
    assert said == [
        "open the brackets",
        "add up the numbers",
        "bring x to one side",
        "bring the number over",
        "divide by what stands before x",
        "so the answer is",
    ]
    wrong = [thought(line.replace("6", "9"), before) for line, before in zip(LINES, ["", *LINES], strict=False)]
    assert wrong == said  # a slip in a number changes no plan
    assert thought("7+5=12", "") == "work it out" and set(said) < set(THOUGHTS)


def test_four_ways_to_tell_the_same_lines():
    assert told(TEXT, "equations") == TEXT == told(TEXT + "\n", "equations")
    assert told(TEXT, "thoughts").split("\n") == ["open the brackets", "add up the numbers", "bring x to one side"]
    assert told(TEXT, "step") == "-4x+36=20"
    full = told(TEXT, "full").split("\n")
    assert full[1::2] == LINES[:3] and full[::2] == told(TEXT, "thoughts").split("\n")


def test_what_is_spoilt_and_what_is_not():
    other = told(TEXT, "full", "thoughts").split("\n")
    plain = told(TEXT, "full").split("\n")
    assert other[1::2] == LINES[:3] and not any(a == b for a, b in zip(other[::2], plain[::2], strict=True))
    numbers = told(TEXT, "equations", "equations").split("\n")
    assert numbers == ["-1x+49+53=-7x+53", "-1x+69=-7x+53", "-4x+36=20"]  # each digit three on; the step itself stays


def line(text, parent, end=End.STOPPED):
    said = [ord(each) for each in text]
    return Segment("policy", "q", [1], said, np.zeros(len(said)), text, parent, end=end, goes_on=parent >= 0)


def tree(after_b):
    """Two first lines. From a it goes on to the end twice, right and wrong; from b in a line each, with what came of them."""
    segments = (line("a\n", -1), line("b\n", -1), line("c\n= 1", 0, End.DONE), line("d\n= 2", 0, End.DONE),
                line("= 3", 1, End.DONE), line("= 4", 1, End.DONE))  # fmt: skip
    batch = pack([Episode(Ask(task()), segments)])
    right = torch.tensor([1.0, 0.0, *after_b])
    return batch.with_cols({"correct": Column("track", right, torch.full((4,), int(Reason.VALUE), dtype=torch.int8))})


def test_lines_that_came_to_more_are_preferred():
    def pairs(after_b, least):
        return [texts for _, texts in preferred(tree(after_b), ExamplePlay(), "correct", least)]

    assert pairs((0.0, 0.0), 0.5) == [("a", "b")]  # 1/2 over 0; c and d are no lines
    assert pairs((0.0, 0.0), 0.75) == []
    assert pairs((0.0, 1.0), 0.5) == [("b\n= 4", "b\n= 3")]  # a and b are worth the same


@pytest.mark.slow
@pytest.mark.parametrize("sees", ["equations", "step"])
def test_a_step_of_the_recipe_and_its_exams(tmp_path, sees):
    source = gd.tasks.load("equation:6")
    made = what_srms_reward(
        source,
        gd.models.load("sprig-1.1"),
        sees=sees,
        prompts=2,
        branch=(2, 2),
        ways=2,
        exam_tasks=2,
        max_tokens=60,
        steps=1,
    )
    run = gd.train(made, out=tmp_path / "run", options=gd.Options(eval_tasks=2, eval_tries=1))
    before, after = run.evaluations[0], run.evaluations[-1]
    assert run.status == "complete" and after["greedy/tokens"] > 0 and "plain/pass@1" in after
    assert before.get("steps/choice", 0.5) == 0.5  # a fresh head likes all the same
    assert (
        before["steps/pairs_examined"] == after["steps/pairs_examined"]
    )  # the trees are the author's, whatever is learned
