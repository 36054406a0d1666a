"""A rollout file's columns are made whole, and hold what rows that are told one by one would hold."""

from __future__ import annotations

import dataclasses
import json

import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small import small_lm
from strategies import episode, episode_lists, marked, masks, segment

from guerdon.core.arrays import dumps
from guerdon.core.column import Column
from guerdon.core.errors import UserError
from guerdon.core.one_turn import OneTurn
from guerdon.core.pack import pack
from guerdon.core.part import knobs
from guerdon.core.task import Ask, Sampling, Task
from guerdon.engine.player import Player
from guerdon.envs.simple import single_turn
from guerdon.runs.rollout_columns import file_columns


def told(batch):
    """The same, row by row: what each column holds, as lists."""
    at = {(e, p): g for g, (e, p) in enumerate(zip(batch.episode.tolist(), batch.place.tolist(), strict=True))}
    track = {g: k for k, g in enumerate(batch.leaf.tolist())}
    ends = torch.cumsum(batch.length, 0).tolist()
    rows = []
    for e, ep in enumerate(batch.episodes):
        for place, s in enumerate(ep.segments) if ep.segments else [(-1, None)]:
            g = at.get((e, place), -1)
            steps = range(ends[g] - int(batch.length[g]), ends[g]) if g >= 0 else ()
            rows.append(
                {"row": g, "episode": e, "place": place, **_of_episode(ep), **_of_segment(s)}
                | {
                    name: [getattr(batch, name)[i].item() for i in steps] if g >= 0 else None
                    for name in ("weight", "muted")
                }
            )
            for name, column in batch.cols.items():
                span = {"step": steps, "segment": [g], "track": [track.get(g, -1)]}[column.level]
                rows[-1] |= _of_column(f"col.{name}", column, None if g < 0 or -1 in span else span)
    return rows


def _of_episode(ep):
    ask, task = ep.ask, ep.task
    prefix = ask.prefix and {name: getattr(ask.prefix, name) for name in ("of", "segment", "step", "seed")}
    asked = {"n": ask.n, "prompt": ask.prompt, "sampling": ask.sampling and knobs(ask.sampling), "prefix": prefix}
    asked |= {"note": ask.note, "view": ask.view, "seats": ask.seats}
    return {
        **{name: getattr(ep, name) for name in ("step", "number", "attempt", "seed")},
        **{name: getattr(task, name) for name in ("family", "level", "prompt", "answer")},
        "task_id": task.id, "meta": dumps(task.meta), "info": dumps(ep.info), "ask": dumps(asked),
    }  # fmt: skip


def _of_segment(s):
    plain = ("role", "parent", "text", "version", "given", "reward", "goes_on")
    lists, texts = ("context", "actions", "logp", "rewards"), ("view", "made", "sampling", "end")
    if s is None:
        return dict.fromkeys((*plain, *lists, *texts))
    return {
        **{name: getattr(s, name) for name in plain},
        **{name: None if getattr(s, name) is None else getattr(s, name).reshape(-1).tolist() for name in lists},
        "view": dumps(s.view), "made": dumps(s.made), "sampling": json.dumps(knobs(s.sampling)), "end": str(s.end),
    }  # fmt: skip


def _of_column(name, column: Column, span):
    if span is None:
        return {name: None, f"{name}:reason": None, f"{name}:detail": None}
    notes = {n: column.detail[i] for n, i in enumerate(span) if i in column.detail}
    values = [x for i in span for x in column.value[i].double().reshape(-1).tolist()]
    return {
        name: values,
        f"{name}:reason": [int(column.reason[i]) for i in span],
        f"{name}:detail": dumps(notes) if notes else None,
    }


def assert_told(batch):
    table, rows = pa.table(file_columns(batch, pa)), told(batch)
    assert table.num_rows == len(rows)
    for name in table.column_names:
        assert repr(table[name].to_pylist()) == repr([row[name] for row in rows]), name  # NaN is NaN
    assert not rows or set(rows[0]) == set(table.column_names)


@given(st.data())
def test_columns_hold_what_rows_would(data):
    batch = data.draw(marked(data.draw(episode_lists())))
    assert_told(batch)
    assert_told(batch.take(data.draw(masks(batch.K))))


def test_columns_of_tries_hold_what_rows_would(tmp_path):
    model = small_lm(tmp_path / "lm")
    model.start(1, {})
    play = Player({"policy": model}, {"policy": "policy"}, single_turn(), Sampling(max_tokens=5), 0, 10)
    tries = play.played([Ask(Task(name, f"{name} + 4", meta={"x": [1]}), 3, note={"n": 2}) for name in "ab"])
    assert isinstance(tries, OneTurn)
    batch = pack(tries)
    arrays = {name: (array.type, array.to_pylist()) for name, array in file_columns(batch, pa).items()}
    assert "episodes" not in vars(tries)  # none was made for it
    assert_told(batch)
    assert_told(batch.take(torch.tensor([True, False, True, True, True, False])))
    told_one_by_one = file_columns(dataclasses.replace(batch, episodes=tuple(tries)), pa)
    assert arrays == {name: (array.type, array.to_pylist()) for name, array in told_one_by_one.items()}


def test_what_cannot_be_stored_is_named():
    with pytest.raises(UserError, match=r"the info of episode 0\.0\.1 cannot be stored"):
        file_columns(pack([episode(segment()), episode(segment(), attempt=1, odd={1, 2})]), pa)
    with pytest.raises(UserError, match="what policy was shown cannot be stored"):
        file_columns(pack([episode(segment(view=object()))]), pa)
