"""`run.rollouts`: a row a segment, with documented columns, numbers as numbers and reasons in words."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from run_configs import config
from strategies import episode, segment

import guerdon as gd
from guerdon.core.column import Column
from guerdon.core.pack import pack
from guerdon.runs.folder import RunFolder
from guerdon.runs.rollout_files import write_batch
from guerdon.runs.rollout_table import COLUMNS
from guerdon.runs.run import Run

NAN = float("nan")


def run_of(tmp_path, *batches):
    folder = RunFolder(tmp_path / "run")
    folder.create(config(recipe="grpo"))
    for step, batch in enumerate(batches):
        write_batch(folder.rollouts(step), batch, step)
    return Run(folder.path)


@pytest.fixture
def table(tmp_path):
    """Two tries of one segment and one of two; one score failed, one did not apply."""
    ask = gd.Ask(gd.Task("7", "2 + 2 =", "4", family="sums"), n=3, prompt="think: 2 + 2 =")
    turns = [segment([0, 1]), segment([2]), segment([3, 4, 5])]
    tries = [gd.Episode(ask, (turn,), step=0, attempt=i) for i, turn in enumerate(turns[:2])]
    tries.append(gd.Episode(ask, (turns[2], segment([6], parent=0)), step=0, attempt=2))
    batch = pack(tries)
    reason = torch.tensor([0, 2, 1], dtype=torch.int8)
    columns = {
        "reward": Column("track", torch.tensor([0.5, NAN, NAN]), reason, {0: {"why": "close"}, 1: {"error": "broke"}}),
        "advantage": Column.full("step", torch.tensor([1.0, 3.0, 5.0, -1.0, -2.0, -3.0, 7.0])),
        "length": Column.full("track", torch.tensor([9.0, 9.0, 9.0])),  # a column that has the name of one of ours
        "wide": Column.full("track", torch.ones(3, 2)),
    }
    other = pack([gd.Episode(ask, (), info={"error": "broke"})])
    return run_of(tmp_path, batch.with_cols(columns), other).rollouts


def test_plain_columns_come_first_and_lists_last(table):
    names = table.column_names
    everyday = [name for name in COLUMNS if name in names]
    assert names[: len(everyday) + 2] == [*everyday[:-2], "reward", "reward:reason", "advantage", "advantage:reason"]
    plain = [
        name for name in names if str(table.schema.field(name).type) in ("string", "int64", "int32", "bool", "double")
    ]
    first_list = min(i for i, name in enumerate(names) if "list" in str(table.schema.field(name).type))
    assert set(names[:first_list]) <= set(plain) and names[first_list] == "context"
    assert table.column("col.reward").to_pylist()[0] == [0.5]  # as the files have it


def test_a_row_is_a_segment(table):
    rows = table.select(["step", "episode", "segment", "role", "task_id", "prompt", "answer", "length"]).to_pylist()
    said = {"role": "policy", "task_id": "7", "prompt": "think: 2 + 2 =", "answer": "4"}
    assert rows[:4] == [
        {"step": 0, "episode": "0.0.0", "segment": 0, **said, "length": 2},
        {"step": 0, "episode": "0.0.1", "segment": 0, **said, "length": 1},
        {"step": 0, "episode": "0.0.2", "segment": 0, **said, "length": 3},
        {"step": 0, "episode": "0.0.2", "segment": 1, **said, "length": 1},
    ]
    assert rows[4] == {"step": 1, "episode": "0.0.0", "segment": -1, **said, "role": None, "length": None}
    assert table.column("learned").to_pylist() == [True, True, True, True, False]


def test_numbers_are_numbers_and_reasons_are_words(table):
    assert table.column("reward").to_pylist() == [0.5, None, None, None, None]
    assert table.column("reward:reason").to_pylist() == [None, "failed", None, "not applicable", None]
    assert table.column("advantage").to_pylist() == [2.0, 5.0, -2.0, 7.0, None]  # means over the steps
    assert "wide" not in table.column_names and table.column("col.wide").to_pylist()[0] == [1.0, 1.0]


def test_the_files_are_as_they_were(tmp_path):
    batch = pack([episode(segment([0, 1]))]).with_cols({"reward": Column.full("track", torch.ones(1))})
    run = run_of(tmp_path, batch)
    before = run.folder.rollouts(0).read_bytes()
    assert run.rollouts.num_rows == 1
    assert run.folder.rollouts(0).read_bytes() == before and run.batch(0).same(batch)


def test_the_page_tells_every_column():
    page = (Path(__file__).parents[2] / "docs" / "in_python.md").read_text()
    for name, meaning in COLUMNS.items():
        assert f"| `{name}` | {meaning} |" in page
