"""Traces outside of training: scored with a reward, and written from what a run stored.

Leaves out: what a trace is (`data/trace_files.py`), learning from traces (`tasks/trace_turns.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from guerdon.core.arguments import check_arguments
from guerdon.core.episode import Episode
from guerdon.core.errors import UserError
from guerdon.data.trace_files import read_traces, write_traces
from guerdon.rewards.asking.by_name import find_reward
from guerdon.rewards.asking.samples import fields_of
from guerdon.rewards.stage.scorer import SampleScores, score_samples
from guerdon.runs.run import Run


def score_traces(traces: Any, reward: Any) -> SampleScores:
    """Score conversations of another agent: a file of traces, or what `read_traces` returned. The reward is one, or
    is named as `--reward` names it; it sees what it sees in a run: `turns`, `completion` (the last of them), `answer`, the
    line's other keys, and in `episode.info["called"]` every call with its result. Traces of one prompt are a group.

    Args:
        traces: file of traces, or what `read_traces` returned.
        reward: a reward, or its name.

    >>> import guerdon as gd
    >>> def few_calls(episode) -> float:
    ...     return float(episode.info["calls"] <= 1)
    >>> rows = [{"messages": [{"role": "user", "content": "2+3?"}, {"role": "assistant", "content": "5"}], "answer": "5"}]
    >>> gd.score_traces(rows, gd.exact() + gd.reward(few_calls)).whole
    [2.0]
    """
    check_arguments("gd.score_traces", score_traces, locals())
    given = isinstance(traces, list | tuple) and traces and all(isinstance(each, Episode) for each in traces)
    episodes: Sequence[Episode] = traces if given else read_traces(traces)
    formula = find_reward(reward) if isinstance(reward, str) else reward
    prompts = {prompt: n for n, prompt in enumerate(dict.fromkeys(episode.task.prompt for episode in episodes))}
    samples = [fields_of(episode, list(episode.segments)) for episode in episodes]
    return score_samples(formula, samples, [prompts[episode.task.prompt] for episode in episodes])


def export_traces(run: str | Path | Run, path: str | Path, steps: Sequence[int] | None = None) -> int:
    """Write what a run's policy said in its stored rollouts as conversations, a line each; how many there are is returned."""
    stored = run if isinstance(run, Run) else Run(run)
    kept = stored.rollout_steps
    chosen = kept if steps is None else sorted(set(steps))
    lost = [step for step in chosen if step not in kept]
    if lost or not kept:
        has = f"it has {kept[0]} to {kept[-1]}" if kept else "train with --rollouts-every 1"
        raise UserError(f"{stored.folder.named} holds no rollouts{f' of step {lost[0]}' if lost else ''}: {has}")
    return write_traces(_episodes(stored, chosen), path)


def _episodes(run: Run, steps: Sequence[int]) -> Iterator[Episode]:
    for step in steps:
        yield from run.batch(step).episodes
