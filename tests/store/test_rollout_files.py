"""A batch read back from its file is the batch that was written, to the last bit."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal
from strategies import columns, episode, episode_lists, marked, masks, pairs_of, segment, task

from guerdon.core.batch import Count, Pairs
from guerdon.core.column import Column, Reason
from guerdon.core.errors import UserError
from guerdon.core.pack import cat, pack
from guerdon.core.task import Ask, Sampling
from guerdon.runs.rollout_files import read_batch, write_batch

NAN = float("nan")


def there_and_back(batch):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "batch.parquet"
        write_batch(path, batch)
        return read_batch(path)


@given(episode_lists(), st.data())
def test_any_batch_comes_back_to_the_last_bit(eps, data):
    batch = data.draw(marked(eps))
    names = {
        "reward": "track",
        "turn": "segment",
        "advantage": "step",
        "policy.logp": "step",
        "weight": "step",
        "text": "track",
    }
    batch = batch.with_cols(
        {n: data.draw(columns(batch, level)) for n, level in names.items() if data.draw(st.booleans())}
    )
    batch = dataclasses.replace(batch, pairs=data.draw(pairs_of(batch)))
    if data.draw(st.booleans()):
        batch = batch.take(data.draw(masks(batch.K)))
    assert there_and_back(batch).same(batch)


def full():
    batch = pack(
        [episode(segment([0, 1], reward=0.25), segment([2], parent=0), segment([3], parent=0), note=[1, None])]
    )
    reward = Column(
        "track", torch.tensor([NAN, 2.0]), torch.tensor([3, 0], dtype=torch.int8), {0: {"error": "slow\nvery"}}
    )
    return batch.with_cols({"reward": reward})


def test_a_column_named_as_a_field_of_the_segment_is_another_thing():
    again = there_and_back(full())
    assert again.episodes[0].segments[0].reward == 0.25
    assert again.cols["reward"].same(full().cols["reward"])


def test_the_table_is_readable_without_guerdon(tmp_path):
    write_batch(tmp_path / "b.parquet", full())
    table = pq.read_table(tmp_path / "b.parquet")
    assert table.column("actions").to_pylist() == [[0, 1], [2], [3]]
    assert table.column("reward").to_pylist() == [0.25, None, None]
    assert table.column("col.reward:reason").to_pylist() == [None, [3], [0]]
    assert table.column("task_id").to_pylist() == ["t"] * 3
    assert len(set(table.column_names)) == len(table.column_names)


def test_counts_and_changed_weights_are_kept():
    batch = dataclasses.replace(full(), weight=torch.tensor([0.1, 0.0, 3.0, 1.0]), count=Count(17.3, 5, 2))
    assert there_and_back(batch).same(batch)


@pytest.mark.parametrize("size", [0, 1])
def test_pairs_are_kept_even_when_there_are_none(size):
    which = torch.zeros(size, dtype=torch.long)
    pairs = Pairs(which, which + 1, torch.full((size,), 0.1), torch.full((size,), 1 / 3, dtype=torch.float64))
    batch = dataclasses.replace(full(), pairs=pairs)
    assert there_and_back(batch).same(batch)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16, torch.float64, torch.int64, torch.bool])
def test_types_of_columns_are_kept(kind):
    batch = full().with_cols({"x": Column.full("track", torch.tensor([1, 0]).to(kind))})
    again = there_and_back(batch)
    assert again["x"].dtype == kind
    assert again.same(batch)


def test_actions_of_any_size_are_kept():
    batch = pack([episode(segment(np.array([2**62 + 1, -(2**53) - 1])))])
    assert there_and_back(batch).same(batch)
    wide = pack([episode(segment(np.array([[0.1, np.inf], [-0.0, 1e-40]], np.float32)), segment([], parent=0))])
    again = there_and_back(wide)
    assert again.same(wide)
    assert again.action.numpy().tobytes() == wide.action.numpy().tobytes()


def test_stops_written_as_a_list_come_back_equal():
    ask = Ask(task("a"), sampling=Sampling(stop=["x"]))
    batch = pack([episode(segment([0], sampling=Sampling(stop=["\n", "END"])), ask=ask)])
    assert there_and_back(batch).same(batch)


def test_unusual_text_is_kept():
    odd = '\x00\u202e 🦫 "quoted" \\n\r\n'
    batch = pack([episode(segment([0], text=odd, view={"k": odd}), ask=Ask(task("a"), prompt=odd), error=odd)])
    assert there_and_back(batch).same(batch)


def test_batches_put_together_come_back():
    batch = full()
    halves = cat([batch.take(torch.tensor([True, False])), batch.take(torch.tensor([False, True])).without("reward")])
    assert there_and_back(halves).same(halves)


def test_a_failed_episode_without_segments_comes_back():
    batch = pack([episode(error="broke", number=1), episode(segment([1]), number=2), episode(number=3)])
    assert there_and_back(batch).same(batch)
    assert there_and_back(pack([])).same(pack([]))


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (pack([episode(segment([0]), score=np.float32(1))]), "the info of episode 0.0.0 cannot be stored"),
        (pack([episode(segment([0], view={1, 2}))]), "what policy was shown cannot be stored"),
        (
            full().with_cols({"x": Column.full("track", torch.ones(2))}).with_cols(
                {"y": Column("track", torch.ones(2), torch.zeros(2, dtype=torch.int8), {0: object()})}
            ),
            "a detail of column 'y' cannot be stored",
        ),
    ],
)  # fmt: skip
def test_what_is_no_json_is_refused_by_name(batch, message, tmp_path):
    with pytest.raises(UserError) as caught:
        write_batch(tmp_path / "b.parquet", batch)
    assert message in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_rollout_file_is_refused(tmp_path):
    path = tmp_path / "b.parquet"
    with pytest.raises(UserError, match="is not a rollout file"):
        read_batch(path)
    path.write_text("not parquet")
    with pytest.raises(UserError, match="is not a rollout file"):
        read_batch(path)
    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(UserError, match="is not a rollout file"):
        read_batch(path)
    write_batch(path, full())
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(UserError, match="is damaged: it does not match its checksum"):
        read_batch(path)


def test_a_file_of_another_format_is_refused(tmp_path):
    path = tmp_path / "b.parquet"
    write_batch(path, full())
    table = pq.read_table(path)
    meta = table.schema.metadata[b"guerdon"].replace(b'"format": 2', b'"format": 99')
    pq.write_table(table.replace_schema_metadata({"guerdon": meta}), path)
    with refusal(UserError):
        read_batch(path)


def test_reasons_are_those_of_the_column():
    assert there_and_back(full()).cols["reward"].reason.tolist() == [Reason.TIMED_OUT, Reason.VALUE]
