"""Problems from a file: what is held out, and which completions are right."""

from __future__ import annotations

import json

import pytest
from refusals import refusal

from guerdon.core.errors import UserError
from guerdon.tasks.files import rows


def source(tmp_path, count):
    path = tmp_path / "my.jsonl"
    path.write_text("".join(json.dumps({"prompt": f"p{n}", "answer": n}) + "\n" for n in range(count)))
    return rows(str(path))


@pytest.mark.parametrize(("count", "held_out"), [(2, 1), (4, 1), (10, 1), (11, 2), (40, 4)])
def test_held_out_rows_are_never_trained_on(tmp_path, count, held_out):
    made = source(tmp_path, count)
    train, test = ({made.get(split, i).id for i in range(made.size(split))} for split in ("train", "test"))
    assert len(test) == held_out and len(train) == count - held_out and not train & test


def test_one_row_is_refused(tmp_path):
    with refusal(UserError, "1"):
        source(tmp_path, 1).open()


@pytest.mark.parametrize(
    ("completion", "right"), [("3", 1.0), (" 3\n", 1.0), ("1+2=3\n= 3", 1.0), ("= 30", 0.0), ("3 or 4", 0.0), ("", 0.0)]
)
def test_the_answer_alone_or_on_the_last_line_is_right(tmp_path, completion, right):
    made = source(tmp_path, 10)
    assert made.check(made.get("train", 3), completion) == right
