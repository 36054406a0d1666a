"""What a reward is asked about on the bench: a typed text, or a stored sample, as it is or edited."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from guerdon.core.batch import Batch
from guerdon.core.episode import Episode, Segment
from guerdon.core.errors import UserError
from guerdon.core.task import Task
from guerdon.rewards.asking.samples import fields_of, fields_of_text, paths
from guerdon.rewards.asking.token_ids import ids_by
from guerdon.runs.run import Run

TOKENIZER = "sprig"  # where the run's own model has none that can be read
Ids = Callable[[str], np.ndarray]
Place = tuple[int, str, int]
Fields = dict[str, Any]


def typed(row: Mapping[str, Any], fields: Mapping[str, Any], base: Fields | None, ids: Ids) -> Fields:
    """The fields of one row: what was typed over what the stored sample `base` has, where there is one."""
    said = str(row.get("completion", ""))
    others = {name: value for name, value in fields.items() if name not in ("prompt", "answer", "completion", "level")}
    if base is None:
        task = Task("bench", _text(fields, "prompt"), _text(fields, "answer"), level=_level(fields, 1), meta=others)
        return fields_of_text(task, said, ids)
    before: Task = base["task"]
    task = dataclasses.replace(
        before,
        prompt=_text(fields, "prompt") if "prompt" in fields else before.prompt,
        answer=_text(fields, "answer") if "answer" in fields else before.answer,
        level=_level(fields, before.level),
        meta={**before.meta, **others},
    )
    kept = {**base, "task": task, "meta": {**base["meta"], **others}, "answer": task.answer, "level": task.level}
    if "prompt" in fields:
        kept["prompt"] = task.prompt
    return kept if said == base["completion"] else _with_words(kept, said, ids)


def _with_words(kept: Fields, said: str, ids: Ids) -> Fields:
    """A stored sample with another last text."""
    path: list[Segment] = kept["path"]
    actions = ids(said)
    last = path[-1].but(
        text=said, actions=actions, logp=np.full(len(actions), np.nan, np.float32), given=0, rewards=None
    )
    episode: Episode = kept["episode"]
    segments = tuple(last if each is path[-1] else each for each in episode.segments)
    return {
        **kept,
        "completion": said,
        "turns": [*kept["turns"][:-1], said],
        "actions": actions,
        "path": [*path[:-1], last],
        "episode": episode.but(segments=segments),
    }


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name, "")
    return value if isinstance(value, str) else str(value)


def _level(fields: Mapping[str, Any], otherwise: int) -> int:
    value = fields.get("level", otherwise)
    return value if isinstance(value, int) else otherwise


def stored_fields(batch: Batch, place: Place) -> Fields:
    """What a reward was asked about a stored sample: its track as far as that segment."""
    _, key, at = place
    episode = next((each for each in batch.episodes if f"{each.step}.{each.number}.{each.attempt}" == key), None)
    if episode is None or not 0 <= at < len(episode.segments):
        raise UserError(f"step {place[0]} has no segment {at} of {key[:40]}")
    for each, path in paths(batch):
        if each is episode and any(segment is episode.segments[at] for segment in path):
            until = next(n for n, segment in enumerate(path) if segment is episode.segments[at])
            return fields_of(episode, path[: until + 1])
    return fields_of(episode, [episode.segments[at]])


def tokenizer_of(run: Run | None) -> Ids:
    """What counts tokens: the model that the run trained, the one it began with, or the one that comes with Guerdon."""
    wish = run.config.get("wish") if run is not None else None
    names = [str(run.folder.models / "policy"), wish.get("model") if isinstance(wish, dict) else None] if run else []
    for name in (*names, TOKENIZER):
        try:
            if isinstance(name, str):
                return functools.cache(ids_by(name))
        except UserError:  # a model without a tokenizer, or one that is not here
            continue
    raise AssertionError(TOKENIZER)
