"""What went wrong in a run, or may have: one list, whatever found it.

A source is a function from a run to alarms; `@source` puts it into the list that the page, and the count beside each run, is
made of. What watches for hacked rewards, audits or anything else joins here.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from guerdon.core.shown_text import cut
from guerdon.display.text import error_text
from guerdon.runs.event_types import Alarmed, ScoresMissing, Stopped, TimeoutFired, Warned
from guerdon.runs.headline import finite
from guerdon.runs.never_applied import unapplied_columns
from guerdon.runs.run import Snapshot

Level = Literal["bad", "warn", "note"]
LEVELS: tuple[Level, ...] = ("bad", "warn", "note")  # the worst first
EPISODE = "episode"  # what a failed episode is counted under: there is no such column


@dataclass(frozen=True)
class Alarm:
    """`rollouts` is the address of those that caused it, empty where none are stored; `detail` is for who wants all of it."""

    level: Level
    title: str
    message: str
    step: int | None = None
    count: int = 1
    rollouts: str = ""
    detail: str = ""

    def to_dict(self) -> dict[str, Any]:
        """For the page. An exception may hold a whole completion: what is too long to be read has its middle left out."""
        return {**asdict(self), "message": cut(self.message, 2_000), "detail": cut(self.detail, 20_000)}


Address = Callable[[int, str, Sequence[str]], str]  # of a step, a reason why scores are missing and episodes


@dataclass(frozen=True)
class AlarmedRun:
    """What a source is given: a run, the steps whose rollouts are stored, and `shown_at`, which gives the address of those of a
    stored step, empty where they are not shown."""

    run: Snapshot
    stored: Sequence[int]
    shown_at: Address

    def rollouts(self, step: int | None, reason: str = "", episodes: Sequence[str] = ()) -> str:
        """Where the page shows the rollouts of a step, or of the stored one before it; of the step itself, some `episodes`."""
        if not self.stored:
            return ""
        before = [s for s in self.stored if step is None or s <= step] or self.stored[:1]
        return self.shown_at(before[-1], reason, episodes if before[-1] == step else ())


Source = Callable[[AlarmedRun], Iterable[Alarm]]
SOURCES: list[Source] = []


def source(find: Source) -> Source:
    """Have alarms of a run found by one more function."""
    SOURCES.append(find)
    return find


def alarms_of(run: Snapshot, shown_at: Address) -> list[Alarm]:
    """Those of all sources, the worst first."""
    given = AlarmedRun(run, run.rollout_steps, shown_at)
    every = itertools.chain.from_iterable(find(given) for find in SOURCES)
    return sorted(every, key=lambda alarm: LEVELS.index(alarm.level))


@source
def end(given: AlarmedRun) -> Iterator[Alarm]:
    """Why it stopped, if it did."""
    why = given.run.status.partition("stopped: ")[2]
    if why:
        at = max((e.step for e in given.run.log().events if isinstance(e, Stopped)), default=None)
        yield Alarm("bad", "It stopped", why, at, 1, given.rollouts(at))


@source
def watched(given: AlarmedRun) -> Iterator[Alarm]:
    """What the watch found while it trained, and the rollouts that did it."""
    for event in given.run.events(Alarmed):
        level: Level = next((word for word in LEVELS if word == event.severity), "warn")
        episodes = [each.episode for each in rollouts_of(event)]
        message = f"{event.message}; {event.fix}"
        yield Alarm(level, f"Watch: {event.rule}", message, event.step, 1, given.rollouts(event.step, "", episodes))


@source
def damage(given: AlarmedRun) -> Iterator[Alarm]:
    """What of its files is not as it was written."""
    for fault in given.run.damage:
        yield Alarm("bad", "Damaged", fault)


@source
def failures(given: AlarmedRun) -> Iterator[Alarm]:
    """Scores that failed or timed out, column by column, with the causes counted and the first exception of the last step."""
    by_column: dict[str, list[ScoresMissing]] = {}
    for event in given.run.events(ScoresMissing):
        by_column.setdefault(event.column, []).append(event)
    for column, events in by_column.items():
        failed, late = sum(e.failed for e in events), sum(e.timed_out for e in events)
        causes: Counter[str] = Counter()
        for event in events:
            causes.update(event.causes)
        told = "; ".join(f"{error_text(cause).line} ({count:,})" for cause, count in causes.most_common(3))
        more = f" and {len(causes) - 3} other causes" if len(causes) > 3 else ""
        words = " and ".join(f"{n:,} {what}" for n, what in ((failed, "failed"), (late, "timed out")) if n)
        last = next((e for e in reversed(events) if e.step in given.stored), events[-1])
        reason = "" if column == EPISODE else f"{column}:{'failed' if last.failed else 'timed out'}"
        yield Alarm(
            "bad",
            "Episodes failed" if column == EPISODE else f"{column}: scores are missing",
            f"{words} of {sum(e.of for e in events):,} in {len(events)} step{'s' * (len(events) != 1)}: {told}{more}",
            last.step,
            failed + late,
            given.rollouts(last.step, reason),
            last.first.strip(),
        )


@source
def unapplied(given: AlarmedRun) -> Iterator[Alarm]:
    """Parts of a reward that scored no sample."""
    steps = given.run.steps_done
    for column in unapplied_columns(given.run.every):
        whole, _, part = column.rpartition(".")
        yield Alarm(
            "warn",
            f"{part!r} never applied",
            f"it scored no sample in {steps} step{'s' * (steps != 1)}, so it had no effect on {whole!r}; see when it says None",
            None,
            steps,
            given.rollouts(None, f"{column}:not applicable"),
        )


@source
def warnings(given: AlarmedRun) -> Iterator[Alarm]:
    """What the run itself warned of, once each, but what another source reports better; and the clocks that decided
    something."""
    said = {f"{column.rpartition('.')[2]} never applied in " for column in unapplied_columns(given.run.every)}
    failed = {f"scores in {event.column!r} failed" for event in given.run.events(ScoresMissing)}
    by_message: dict[str, list[Warned]] = {}
    for event in given.run.log().events:
        if isinstance(event, Warned):
            by_message.setdefault(event.message, []).append(event)
    for message, events in by_message.items():
        is_said = any(message.startswith(words) for words in said) or any(words in message for words in failed)
        if not is_said:
            at = events[-1].step
            yield Alarm("warn", "Warning", message, at, len(events), given.rollouts(at))
    for event in given.run.events(TimeoutFired):
        message = f"a clock decided, so a resumed run may differ: {event.what}"
        yield Alarm("note", "Out of time", message, event.step, 1, given.rollouts(event.step))


# --- the rollouts of an alarm: an event of a stranger's folder may hold anything there ---------------------------------


@dataclass(frozen=True)
class AlarmedRollout:
    """A rollout as an alarm holds it."""

    step: int
    episode: str
    segment: int
    prompt: str
    said: str
    numbers: dict[str, float]

    @property
    def words(self) -> str:
        """Its numbers in a line."""
        return ", ".join(f"{name} {value:.4g}" for name, value in self.numbers.items())


def rollouts_of(alarm: Alarmed) -> list[AlarmedRollout]:
    """Those of an alarm that are of our form."""
    told = []
    for each in alarm.rollouts:
        if isinstance(each, dict) and isinstance(each.get("step"), int) and isinstance(each.get("segment"), int):
            numbers = each.get("numbers")
            kept = (
                {str(k): float(v) for k, v in numbers.items() if finite(v) is not None}
                if isinstance(numbers, dict)
                else {}
            )
            key, prompt, said = (str(each.get(name, "")) for name in ("episode", "prompt", "said"))
            told.append(AlarmedRollout(each["step"], key, each["segment"], prompt, said, kept))
    return told
