"""Ratings of people: found by task and completion, read again when they change, refused in one line when they are none."""

from __future__ import annotations

import json
import os

import pytest
from refusals import refusal

from guerdon import score_samples
from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.core.task import Task
from guerdon.rewards.memory.feedback import hash_of, human_feedback


def write(path, *lines, end="\n"):
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + end)
    os.utime(path, ns=(0, path.stat().st_size))  # a clock too coarse to tell two writes apart must not decide a test


@pytest.fixture
def file(tmp_path):
    write(
        tmp_path / "ratings.jsonl",
        {"task": "sums/7", "completion": "so 4", "rating": 1, "by": "Ada"},
        {"task": "7", "hash": hash_of("so 4"), "rating": 0.5},
        {"prompt": "2+2?", "completion": "é\n", "rating": -2},
        "",
    )
    return tmp_path / "ratings.jsonl"


def rated(reward, *samples):
    return score_samples(reward, list(samples))


def test_ratings_are_found_by_task_or_prompt_and_averaged(file):
    task = Task("7", "2+2?", family="sums")
    found = rated(
        human_feedback(str(file)),
        {"completion": "so 4", "task": task, "prompt": "2+2?"},
        {"completion": "é\n", "prompt": "2+2?"},
        {"completion": "so 4", "prompt": "2+2?"},
        {"completion": "so 5", "task": task, "prompt": "2+2?"},
    )
    assert found.whole == [0.75, -2.0, None, None]
    assert found.reasons[2:] == [Reason.NOT_APPLICABLE] * 2 and found.details[0] == {"why": "2 ratings"}


def test_a_file_that_changes_is_read_again(file):
    reward, sample = human_feedback(str(file)), {"completion": "so 5", "prompt": "2+2?"}
    assert rated(reward, sample).whole == [None]
    write(file, {"prompt": "2+2?", "completion": "so 5", "rating": 3})
    assert rated(reward, sample).whole == [3.0]


def test_a_line_that_is_still_being_written_waits(file):
    write(file, {"prompt": "2+2?", "completion": "a", "rating": 3}, '{"prompt": "2+', end="")
    reward = human_feedback(str(file))
    assert rated(reward, {"completion": "a", "prompt": "2+2?"}).whole == [3.0]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{no", r"ratings\.jsonl, line 2: not JSON: "),
        ([1], r"line 2: a rating is an object like .*, not \[1\]"),
        ({"completion": "a", "rating": 1}, "line 2: which task it is about must be in task or prompt"),
        ({"task": "7", "rating": 1}, "line 2: what was rated must be in completion or hash"),
        ({"task": "7", "completion": "a", "rating": "good"}, "line 2: rating must be a number, not 'good'"),
        ({"task": "7", "completion": "a", "rating": True}, "line 2: rating must be a number, not True"),
        ('{"task": "7", "completion": "a", "rating": NaN}', "line 2: NaN is not a JSON number"),
    ],
)
def test_what_is_no_rating_is_refused_in_one_line(file, line, says):
    reward = human_feedback(str(file))
    write(file, {"task": "7", "completion": "a", "rating": 1}, line)
    with pytest.raises(UserError, match=says):
        human_feedback(str(file))
    late = rated(reward, {"completion": "a", "prompt": "2+2?"})  # it came while the run went on
    assert late.reasons == [Reason.FAILED] and "line 2" in late.in_words(0)


def test_a_file_that_is_not_there(tmp_path):
    with refusal(UserError):
        human_feedback(str(tmp_path / "none.jsonl"))


def test_a_queue_asks_once_and_forgets_what_was_rated(tmp_path):
    reward = human_feedback(str(tmp_path), most=2)
    samples = [{"completion": text, "prompt": "2+2?"} for text in ("a", "b", "a", "c")]
    assert rated(reward, *samples).whole == [None] * 4
    asked = [json.loads(path.read_text()) for path in sorted((tmp_path / "asked").iterdir())]
    assert sorted(one["completion"] for one in asked) == ["a", "b"]  # there is room for two
    answers = [{**one, "rating": 1.0} for one in asked if one["completion"] == "a"]
    write(tmp_path / "rated" / "ada.jsonl", *answers)
    assert rated(reward, *samples).whole == [1.0, None, 1.0, None]
    asked = [json.loads(path.read_text())["completion"] for path in (tmp_path / "asked").iterdir()]
    assert sorted(asked) == ["b", "c"]
