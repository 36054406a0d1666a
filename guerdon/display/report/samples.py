"""The rollouts that a report holds: the best, a middle and the worst of the first and the last stored step and of one that
broke the run, and those that raised an alarm; each as the studio shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from guerdon.core.batch import Batch
from guerdon.core.errors import UserError
from guerdon.display.reading import ask_groups
from guerdon.display.reading.episode_view import Reader, python_line
from guerdon.display.reading.opened_steps import StepFile, believed
from guerdon.display.reading.token_pieces import Tokenizers
from guerdon.display.report.examples import StoredBatch, choose
from guerdon.display.run.alarms import rollouts_of
from guerdon.runs.event_types import Alarmed
from guerdon.runs.rollout_files import read_table
from guerdon.runs.run import Run

ALARMS = 12  # with their rollouts; of more there are the words


class Samples:
    """`data` has `sections` of labelled rollouts, and by "STEP/EPISODE" and "STEP/ASK" what the studio answers about them."""

    def __init__(self, run: Run, note: Callable[[str], None]) -> None:
        self.run, self.note = run, note
        self.data: dict[str, Any] = {"sections": [], "rollouts": {}, "groups": {}}
        self._files: dict[int, StepFile | None] = {}
        self._tokenizers = Tokenizers()
        self._alarms = 0

    def add_examples(self, stored: StoredBatch) -> None:
        """Chosen tracks of a stored batch."""
        batch, samples = stored.batch, []
        for label, track in choose(batch):
            episode, segment = place_of(batch, track)
            if self.hold(stored.step, episode, stored.is_fault):
                samples.append({"label": label, "episode": episode, "segment": segment})
        if samples:
            title = f"Step {stored.step:,}, which broke" if stored.is_fault else f"Step {stored.step:,}"
            self._add(title, stored.step, samples)

    def add_alarmed(self, alarm: Alarmed) -> None:
        """The rollouts of an alarm; in the event's words where they are not stored."""
        each = rollouts_of(alarm)
        self._alarms += bool(each)
        if not each or self._alarms > ALARMS:
            return
        samples, told = [], []
        for one in each:
            numbers = ", ".join(f"{name} {value:.4g}" for name, value in one.numbers.items())
            if self.hold(one.step, one.episode):
                samples.append({"label": numbers or alarm.rule, "episode": one.episode, "segment": one.segment})
            else:
                told.append({"label": numbers, "prompt": one.prompt, "said": one.said})
        self._add(f"The rollouts that show it: {alarm.rule}, step {alarm.step:,}", alarm.step, samples, told)

    def _add(self, title: str, step: int, samples: list[Any], told: Sequence[Any] = ()) -> None:
        self.data["sections"].append({"title": title, "step": step, "samples": samples, "told": [*told]})

    def address(self, step: int, reason: str, episodes: Sequence[str]) -> str:
        """Where the page shows rollouts of a step; empty where it holds none."""
        return f"#step-{step}" if any(each["step"] == step for each in self.data["sections"]) else ""

    def hold(self, step: int, episode: str, is_fault: bool = False) -> bool:
        """Keep what the page asks about a rollout; whether it is there."""
        try:
            file = self._file(step, is_fault)
            if file is None or episode not in file.episodes:
                return False
            with believed(self.run, step):
                rollout = Reader(self.run, file, self._tokenizers).episode(episode)
                ask = rollout["ask_key"]
                self.data["groups"][f"{step}/{ask}"] = ask_groups.numbers_alone(ask_groups.group(file, ask))
        except UserError as error:
            self.note(str(error))
            return False
        name = self.run.folder.named
        opened = {"run_name": name, "python": python_line(name, step, episode)}
        self.data["rollouts"][f"{step}/{episode}"] = rollout | opened
        return True

    def _file(self, step: int, is_fault: bool) -> StepFile | None:
        if step not in self._files:
            self._files[step] = None
            path = self.run.folder.fault(step) if is_fault else self.run.folder.rollouts(step)
            if path.is_file():
                table, meta = read_table(path, step)
                with believed(self.run, step):
                    self._files[step] = StepFile(table, meta, step)
        return self._files[step]


def place_of(batch: Batch, track: int) -> tuple[str, int]:
    """The episode of a track, and the segment in which it ends."""
    leaf = int(batch.leaf[track])
    return batch.episodes[int(batch.episode[leaf])].key, int(batch.place[leaf])
