"""Episodes of every shape for property tests, builders for episodes by hand, and plain-Python references to test against.

Structure (who acts, below whom, how long, how it ended) is drawn by hypothesis, so that it shrinks; numbers that only
need to be arbitrary come from one drawn seed.
"""

from __future__ import annotations

import dataclasses
from typing import get_args

import numpy as np
import torch
from hypothesis import strategies as st

from guerdon.core.batch import Batch, Pairs
from guerdon.core.column import Column, Per, Reason
from guerdon.core.episode import End, Episode, Segment
from guerdon.core.pack import pack
from guerdon.core.task import Ask, Prefix, Sampling, Task

ROLES = ("policy", "judge", "second")
VIEWS = ("", "go on", {"seen": [1, 2.5, None]}, ["a", "é\n"], 7, None)
WIDTH = 2  # of a continuous action


# --- by hand ------------------------------------------------------------------------------------------------------


def task(name="t", **fields):
    return Task(id=name, prompt=f"prompt of {name}", **{"answer": "1", **fields})


def segment(actions=(0,), role="policy", parent=-1, context=(1,), logp=None, **fields):
    actions = np.asarray(actions)
    logp = np.full(len(actions), -1.0) if logp is None else np.asarray(logp)
    return Segment(role, fields.pop("view", "seen"), np.asarray(context), actions, logp, parent=parent, **fields)


def episode(*segments, name="t", number=0, attempt=0, step=0, ask=None, **info):
    return Episode(ask or Ask(task(name)), tuple(segments), step, number, attempt, info)


# --- drawn --------------------------------------------------------------------------------------------------------


@st.composite
def skeletons(draw, most=6):
    """[(role, parent)]: a chain, a tree, alternating players, judges below what they judge, or anything at all."""
    size = draw(st.integers(0, most))
    kind = draw(st.sampled_from(["chain", "tree", "players", "judged", "anything"]))
    found = []
    for i in range(size):
        earlier = st.integers(-1, i - 1)
        if kind == "chain":
            found.append(("policy", i - 1))
        elif kind == "tree":
            found.append(("policy", draw(earlier) if i else -1))
        elif kind == "players":
            found.append((("policy", "second")[i % 2], i - 2 if i > 1 else -1))
        elif kind == "judged":
            judged = [j for j, (role, _) in enumerate(found) if role == "policy"]
            hang = bool(judged) and draw(st.booleans())
            last = judged[-1] if judged else -1
            found.append(("judge", draw(st.sampled_from(judged))) if hang else ("policy", last))
        else:
            found.append((draw(st.sampled_from(ROLES)), draw(earlier) if i else -1))
    return found


@st.composite
def segments_of(draw, rng, continuous, skeleton):
    made = []
    for role, parent in skeleton:
        length = draw(st.sampled_from([0, 1, 1, 2, 3]))
        shape = (length, WIDTH) if continuous else (length,)
        actions = rng.normal(size=shape).astype(np.float32) if continuous else rng.integers(0, 4, shape)
        recited = draw(st.sampled_from([False, False, False, True]))
        logp = np.full(length, np.nan) if recited else -rng.random(length)
        made.append(
            Segment(
                role,
                VIEWS[rng.integers(len(VIEWS))],
                rng.integers(0, 4, rng.integers(0, 4)),
                actions,
                logp.astype(np.float32),
                text="".join(map(str, rng.integers(0, 9, 3))),
                parent=parent,
                sampling=Sampling(temperature=float(rng.choice([0.5, 1.0, 2.0])), stop=("\n",) * int(rng.integers(2))),
                version=int(rng.integers(5)),
                given=draw(st.integers(0, length)),
                reward=draw(st.sampled_from([None, 0.0, 0.1, -1.5])),
                rewards=draw(st.sampled_from([None, None, rng.normal(size=length)])),
                end=draw(st.sampled_from([End.DONE, End.DONE, End.DONE, End.CUT, End.FAILED, End.STOPPED])),
                goes_on=draw(st.sampled_from([False, False, False, True])),
            )
        )
    return tuple(made)


@st.composite
def episode_lists(draw, continuous=None, most_asks=3, most_segments=6):
    """The episodes of a step: several asks, some at the same task, some with hints or restarts, some broken."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    continuous = draw(st.sampled_from([False, False, True])) if continuous is None else continuous
    found = []
    for number in range(draw(st.integers(0, most_asks))):
        t = task(draw(st.sampled_from("ab")), level=2, meta={"k": [1, {"x": None}]}, family="f")
        tries = draw(st.integers(1, 2))
        ask = Ask(
            t,
            tries,
            prompt=draw(st.sampled_from([None, "", "a hint"])),
            sampling=draw(st.sampled_from([None, Sampling(top_k=3)])),
            prefix=draw(st.sampled_from([None, Prefix("2.1.0", 1, 2)])),
            note=draw(st.sampled_from([{}, {"budget": 5}])),
        )
        for attempt in range(tries):
            skeleton = draw(skeletons(most_segments))
            info = draw(st.sampled_from([{}, {}, {}, {"won": 1}, {"error": "Traceback: it broke"}]))
            found.append(Episode(ask, draw(segments_of(rng, continuous, skeleton)), 3, number, attempt, dict(info)))
    return found


@st.composite
def columns(draw, batch: Batch, level, width=None):
    """A column with missing entries of every kind, details on some entries, one or several numbers a row."""
    size = batch.size(level)
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    width = draw(st.sampled_from([0, 0, 2])) if width is None else width
    kind = draw(st.sampled_from([torch.float32, torch.float64]))
    value = torch.from_numpy(rng.normal(size=(size, width) if width else (size,))).to(kind)
    reason = torch.from_numpy(rng.choice([0, 0, 0, 1, 2, 3], size).astype(np.int8))
    value[reason != Reason.VALUE] = float("nan")
    detail = {int(i): {"why": f"entry {i}"} for i in np.flatnonzero(rng.random(size) < 0.2)}
    return Column(level, value, reason, detail)


@st.composite
def marked(draw, eps, width=None):
    """A packed batch with a column at every level, named after it, and some steps muted."""
    batch = pack(eps)
    cols = {level: draw(columns(batch, level, width)) for level in get_args(Per)}
    return dataclasses.replace(batch.with_cols(cols), muted=draw(masks(batch.S)))


@st.composite
def pairs_of(draw, batch: Batch):
    if batch.K < 2:
        return None
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    size = draw(st.integers(0, 3))
    better = torch.from_numpy(rng.integers(0, batch.K, size))
    worse = (better + torch.from_numpy(rng.integers(1, batch.K, size))) % batch.K
    return Pairs(better, worse, torch.from_numpy(rng.random(size)).float(), torch.from_numpy(rng.random(size)).float())


def masks(size):
    return st.lists(st.booleans(), min_size=size, max_size=size).map(lambda m: torch.tensor(m, dtype=torch.bool))


# --- references: the same facts, counted the slow way --------------------------------------------------------------


def naive_steps(episodes):
    """[(episode, segment, step in the segment)] of every step."""
    return [
        (e, i, t) for e, ep in enumerate(episodes) for i, s in enumerate(ep.segments) for t in range(len(s.actions))
    ]


def naive_segments(episodes):
    return [(e, i) for e, ep in enumerate(episodes) for i in range(len(ep.segments))]


def naive_tracks(episodes):
    """[(episode, [segments from root to leaf])]: a leaf has no child of its own role."""
    found = []
    for e, ep in enumerate(episodes):
        for i, s in enumerate(ep.segments):
            if any(child.parent == i and child.role == s.role for child in ep.segments):
                continue
            path = [i]
            while ep.segments[path[0]].parent >= 0 and ep.segments[ep.segments[path[0]].parent].role == s.role:
                path.insert(0, ep.segments[path[0]].parent)
            found.append((e, path))
    return found


def naive_groups(episodes, level):
    """[E] the number of each episode's group."""
    if level == "episode":
        return list(range(len(episodes)))
    keys = [(ep.step, ep.number) if level == "ask" else ep.task.key for ep in episodes]
    return [sorted(set(keys), key=keys.index).index(k) for k in keys]


def naive_members(episodes, fine, coarse):
    """[(fine row, coarse row)]: a row of a trunk once for every track through it. The meaning of `up`."""
    steps, segments, tracks = naive_steps(episodes), naive_segments(episodes), naive_tracks(episodes)
    if fine == "step" and coarse == "segment":
        return [(n, segments.index((e, i))) for n, (e, i, _) in enumerate(steps)]
    if fine in ("episode", "ask"):
        inner, outer = naive_groups(episodes, fine), naive_groups(episodes, coarse)
        return sorted(set(zip(inner, outer, strict=True)))
    rows = {
        "step": [(e, i) for e, i, _ in steps],
        "segment": segments,
        "track": None,
    }[fine]
    found = []
    for k, (e, path) in enumerate(tracks):
        to = k if coarse == "track" else naive_groups(episodes, coarse)[e]
        if fine == "track":
            found.append((k, to))
        else:
            found += [(n, to) for n, row in enumerate(rows) if row[0] == e and row[1] in path]
    return found


def expanded(episodes):
    """Every track as an episode of its own, its shared segments copied: the chains a tree stands for."""
    made = []
    for n, (e, path) in enumerate(naive_tracks(episodes)):
        chain = [episodes[e].segments[i].but(parent=j - 1) for j, i in enumerate(path)]
        made.append(episodes[e].but(segments=tuple(chain), attempt=n))
    return made
