"""How many runs of a proof are done: a bar, lines, and a file that `prove --status` reads."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from guerdon.cli.progress import clock
from guerdon.cli.streams import live

if TYPE_CHECKING:
    from guerdon.prove.jobs import RunJob


class Tally:
    """Shows how many runs are done: a bar on a terminal, a line for each run elsewhere, and a file that --status reads."""

    def __init__(self, console: Console, runs: Path, words: list[str]) -> None:
        from guerdon.prove.detached import ProofProgress

        self.console, self.progress = console, ProofProgress(runs, words)
        self.bar = Progress(
            MofNCompleteColumn(separator=" of "), TextColumn("runs"), BarColumn(bar_width=24),
            TextColumn("{task.fields[left]}"), console=console, disable=not console.is_terminal,
        )  # fmt: skip
        self.row = self.bar.add_task("", total=None, left="")
        self.live = ExitStack()
        self.total, self.began = 0, time.monotonic()

    def __enter__(self) -> Tally:
        self.live.enter_context(self.progress.kept())
        self.live.enter_context(live(self.bar))
        return self

    def __exit__(self, *raised: Any) -> None:
        self.live.__exit__(*raised)

    def __call__(self, done: int, total: int, last: RunJob | None) -> None:
        """The number of runs may grow; the time left is that of the runs required so far."""
        if last is None:
            self.began = time.monotonic()
            self.console.print(_runs_to_go(total), soft_wrap=True)
            left = ""
        else:
            left = f"{clock((time.monotonic() - self.began) / done * (total - done))} left"
            more = f" ({total - self.total} runs added)" if total > self.total else ""
            if not self.console.is_terminal:
                self.console.print(f"{done} of {total} runs: {last.name}  {left}{more}", soft_wrap=True)
        self.total = total
        self.progress.write(done=done, total=total, last=last.name if last is not None else "")
        self.bar.update(self.row, completed=done, total=total, left=left)


def _runs_to_go(number: int) -> str:
    return "all runs are stored already" if not number else "1 run to go" if number == 1 else f"{number} runs to go"
