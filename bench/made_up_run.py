"""A run of as many rollouts as one wants, for `bench/studio.py`: real files, made-up numbers.

The folder is a real run's (a table that learned for one step), and each file of rollouts is written as training writes them.
Prompts, words, scores and the reasons of missing ones are drawn from a generator, so the same command gives the same files.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import torch

import guerdon as gd
from guerdon.core.column import Reason
from guerdon.runs.folder import RunFolder
from guerdon.runs.rollout_files import write_batch

TRIES = 8
SAYING = (
    "add take carry the then so left check again sum two three five seven nine therefore maybe wait next plus minus"
)
RARE = "marmalade"  # one in some thousand completions says it


def write_run(folder: Path, steps: int, rollouts: int) -> None:
    """`rollouts` segments in each of so many steps."""
    gd.train("grpo", task="successor", model="tabular", steps=1, out=str(folder))
    shutil.rmtree(folder / "rollouts")
    (folder / "rollouts").mkdir()
    for step in range(steps):
        write_batch(RunFolder(folder).rollouts(step), batch_of(step, rollouts), step)


def batch_of(step: int, rollouts: int) -> gd.Batch:
    draw = np.random.default_rng(step)
    vocabulary = np.array(SAYING.split())
    episodes = []
    for number in range(rollouts // TRIES):
        a, b, level = (int(n) for n in draw.integers(1, 100, 3))
        task = gd.Task(f"{a}+{b}", f"countdown {a} {b} make {a + b}", str(a + b), "countdown", 1 + level % 4)
        ask = gd.Ask(task, TRIES)
        for attempt in range(TRIES):
            length = int(draw.integers(60, 200))
            words = " ".join(vocabulary[draw.integers(0, len(vocabulary), length)])
            text = f"{a}+{b}={a + b}\n{words}\n= {a}+{b}" + (f" {RARE}" if draw.random() < 0.0003 else "")
            ids = draw.integers(0, 500, length)
            end = gd.End.CUT if draw.random() < 0.05 else gd.End.DONE
            logp = -draw.random(length).astype(np.float32)
            turn = gd.Segment("policy", task.prompt, ids[:12], ids, logp, text, version=step, end=end)
            episodes.append(gd.Episode(ask, (turn,), step, number, attempt, seed=int(draw.integers(2**60))))
    return scored(gd.pack(episodes), draw)


def scored(batch: gd.Batch, draw: np.random.Generator) -> gd.Batch:
    """With a reward of two parts, one of which fails now and then, and the advantage of each group's mean."""
    right = torch.from_numpy((draw.random(batch.K) < 0.6).astype(np.float32))
    brief = -torch.from_numpy(draw.random(batch.K).astype(np.float32))
    failed = torch.from_numpy(draw.random(batch.K) < 0.01)
    brief[failed] = torch.nan
    reason = torch.where(failed, int(Reason.FAILED), 0).to(torch.int8)
    because = gd.Column("track", brief, reason, {})
    batch = (
        batch.put("correct", "track", right).put("reward.right", "track", right).with_cols({"reward.brief": because})
    )
    batch = batch.put("reward", "track", right + 0.1 * brief, because=because)
    reward = batch["reward"].nan_to_num(0.0)
    advantage = reward - reward.reshape(-1, TRIES).mean(1).repeat_interleave(TRIES)
    return batch.put("advantage", "step", advantage[batch.seg]).recount()
