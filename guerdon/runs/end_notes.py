"""Notes at the end of a run: that nothing was learned, or what it could not learn from.

Everything is read from the run's events, so a run that was killed and resumed gives the same notes as an unbroken one.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from guerdon.runs.event_types import Event, ScoresMissing, Started, StepDone
from guerdon.runs.headline import WORTH, finite, percent

MANY = 0.25  # the share of steps in which no group varied that is worth a word
MOST = 0.5  # the share of answers that are cut
TRUTH = "truth"  # a column that nothing is learned from
FEW = 0.1  # the share of answers right below which tasks are hard, and wrong below which they are easy
ALIKE = 1e-9  # numbers closer than that, as a share of their size, are the same


def end_notes(events: Sequence[Event], weights: str) -> list[str]:
    """A sentence each, with what to try. `events` are those of the last attempt at each step, `weights` the hash at the end."""
    done = [e for e in events if isinstance(e, StepDone)]
    if not done:
        return []
    notes = [
        _one_reward(done) or _flat_groups(done),
        _no_update(done) or _same_weights(events, done, weights),
        _cut(done),
        *_failed(events, done),
        _not_applicable(done),
    ]
    return [note for note in notes if note]


def _one_reward(done: Sequence[StepDone]) -> str:
    """Every sample was worth the same, over the whole run."""
    column = _worth(done)
    if not column:
        return ""
    scored = [e.metrics for e in done if finite(e.metrics.get(f"{column}/mean")) is not None]
    means = [m[f"{column}/mean"] for m in scored]
    size = max(map(abs, means), default=0.0) * ALIKE
    if max(means) - min(means) > size or any((finite(m.get(f"{column}/std")) or 0.0) > size for m in scored):
        return ""
    worth = f"{means[0]:.4g}"
    said = {"0": "no answer was right", "1": "every answer was right"}.get(worth, "") if column == "correct" else ""
    said = said or f"{column!r} was {worth} for every sample"
    return f"{said} in {_steps(done)}, so nothing was learned from the reward. {_to_try(column, means[0])}"


def _flat_groups(done: Sequence[StepDone]) -> str:
    """Steps in which all the tries at each prompt were worth the same."""
    grouped = [e for e in done if any(name.endswith("/flat_groups") for name in e.metrics)]
    flat = [e for e in grouped if _is_flat(e)]
    if not grouped or len(flat) < MANY * len(grouped):
        return ""
    column = _worth(flat)
    to_try = _to_try(column, fmean(finite(e.metrics.get(f"{column}/mean")) or 0.0 for e in flat))
    if len(flat) == len(done):
        return (
            f"no group varied in {_steps(done, 'any of ')}, so nothing was learned: every try of a prompt was worth the same."
            f" {to_try}"
        )
    return (
        f"in {len(flat)} of {len(done)} steps no group varied, and those taught nothing: every try of a prompt was worth the"
        f" same. {to_try}"
    )


def _is_flat(event: StepDone) -> bool:
    """Whether no group of the step has two tries of different worth, by any of its advantages."""
    names = [name.removesuffix("/flat_groups") for name in event.metrics if name.endswith("/flat_groups")]
    kinds = ("flat_groups", "single_groups")
    shares = [sum(finite(event.metrics.get(f"{name}/{kind}")) or 0.0 for kind in kinds) for name in names]
    return all(share > 1 - ALIKE for share in shares)


def _to_try(column: str, worth: float) -> str:
    """By what the samples were worth that taught nothing."""
    if column == "correct" and worth > 1 - FEW:
        return "Harder tasks may help"
    if column == "correct":
        kind = "Easier tasks" if worth < FEW else "Tasks that are solved sometimes"
        return f"{kind}, a higher temperature or more tries may help"
    return "A reward that distinguishes answers, easier tasks, a higher temperature or more tries may help"


def _no_update(done: Sequence[StepDone]) -> str:
    if any(e.updates for e in done):
        return ""
    return (
        f"nothing was updated in {_steps(done)}: no try was left to learn from. See which scores failed or do not apply, and"
        " what filters the tries"
    )


def _same_weights(events: Sequence[Event], done: Sequence[StepDone], weights: str) -> str:
    """The weights are those that the run began with. A table's weights differ as soon as it saw something, so a learning rate
    of 0 is reported in any case."""
    updates = sum(e.updates for e in done)
    rates = [v for e in done for name, v in e.metrics.items() if name.endswith("/lr")]
    norms = [v for e in done for name, v in e.metrics.items() if name.endswith("/grad_norm")]
    if rates and not any(rates):
        return f"the learning rate was 0 in {_steps(done, 'all of ')}, so nothing was learned: raise it (--set lr=...)"
    if {e.weights for e in events if isinstance(e, Started) and e.weights} != {weights}:
        return ""
    if norms and not any(norms):
        why = "Every gradient was zero: look at the rewards, and at which samples are masked"
    else:
        why = "The steps may be too small for the precision of the weights: raise the learning rate (--set lr=...)"
    return f"the weights never changed: {updates} update{'s' * (updates != 1)} left them as they were. {why}"


def _cut(done: Sequence[StepDone]) -> str:
    if any(event.env_steps for event in done):  # a world's limit, not an answer's
        return ""
    share = _mean(done, "cut")
    if share <= MOST:
        return ""
    return (
        f"{percent(share)} of the answers were cut at the limit on their length before they ended: give them more room"
        " (--set max_tokens=...)"
    )


def _failed(events: Sequence[Event], done: Sequence[StepDone]) -> list[str]:
    """Scores that failed or timed out, column by column."""
    lost: dict[str, int] = {}
    for event in events:
        if isinstance(event, ScoresMissing):
            lost[event.column] = lost.get(event.column, 0) + event.failed + event.timed_out
    return [
        f"{count:,} scores in {column!r} failed, {percent(_mean(done, _share_failed(column)))} of all"
        f"{'' if column == TRUTH else ', and nothing was learned from those'}: `guerdon show RUN` counts the causes, and the"
        " run folder keeps every exception"
        for column, count in lost.items()
    ]


def _share_failed(column: str) -> str:
    """The metric with the share that failed: episodes have no column."""
    return "failed" if column == "episode" else f"{column}/failed"


def _not_applicable(done: Sequence[StepDone]) -> str:
    """Samples without a score. Where a reward has values it is learned from, and the task's own verdict may be unknown."""
    learned = WORTH[:1] if _worth(done) == WORTH[0] else WORTH
    shares = {name: _mean(done, f"{name}/not_applicable") for name in learned}
    name, share = max(shares.items(), key=lambda item: item[1])
    if share <= 0:
        return ""
    return f"{name!r} did not apply to {percent(share)} of the samples, and nothing was learned from those"


def _worth(done: Sequence[StepDone]) -> str:
    """The column with the score of a sample; empty where there is none."""
    return next((name for name in WORTH if any(finite(e.metrics.get(f"{name}/mean")) is not None for e in done)), "")


def _steps(done: Sequence[StepDone], lead: str = "") -> str:
    return f"{lead}{len(done)} steps" if len(done) != 1 else "the one step"


def _mean(done: Sequence[StepDone], metric: str) -> float:
    """Of a share over all steps, a step weighing as many episodes as it played; a step that does not say it has none."""
    weight = sum(e.episodes for e in done)
    return sum(e.episodes * (finite(e.metrics.get(metric)) or 0.0) for e in done) / weight if weight else 0.0
