"""Problems together with an earlier attempt at them, and answers that their author revises: the parts of ExIt.

`histories` is a curriculum: a buffer of attempts grows out of what is tried, is kept for how much their tries disagree, and
what is drawn from it is tried again. `revised` is an environment: a chain of several revisions, for exams.
Leaves out: what to do with an attempt (`template` says it to the model).
"""

from __future__ import annotations

import dataclasses
import statistics
from typing import Any, ClassVar

import torch

from guerdon.core.batch import Batch
from guerdon.core.episode import End, Episode
from guerdon.core.part import knob, live, part, state
from guerdon.core.placeholders import check_template
from guerdon.core.play import Play, Seats, seats_alone
from guerdon.core.task import Ask, Task
from guerdon.curricula.plain import EpochSampler
from guerdon.tasks.role_wordings import ROLE_WORDINGS

HISTORY, DEPTH = (
    "history",
    "depth",
)  # notes of an ask: the start's name in the buffer, and how many attempts came before it


@part
class histories:
    r"""Each ask is with probability `share` a history of the buffer, drawn by $p_i \propto v_i^{power}$, and else the next
    problem of `task`; `tries` tries each. $v$ is the variance of `column` over the tries of the latest ask.

    Exploratory iteration (Jiang et al. 2025, arXiv:2509.04575): the more the tries at a start disagree, the more there is to
    learn from it. After a step one try of every ask whose tries disagreed, chosen by lot, joins the buffer with the ask's
    variance, as a new start: the problem and this attempt, by `template`. A history that was asked gets the variance of its own
    tries. The buffer keeps the `keep` of largest variance (of equal ones the latest), and is drawn from when `least` of them
    have any; one is drawn at most once a draw. Attempts that were cut short, or are longer than `longest`, do not join.

    With `power=0` all that have any variance are drawn alike. *Biased* on purpose towards problems solved now and then.
    The state holds the buffer itself, problems and all. Compare tries `by="ask"`: several starts may be of one problem.

    Notes `histories/kept`, `histories/asked` (the share of a step's asks) and, where there are any, `histories/depth`, their
    mean number of attempts, and `histories/variance`.
    """

    task: Any
    template: str = ROLE_WORDINGS["revise"].knob(required=True, joined=False, question="prompt", answer="attempt")
    tries: int = knob(default=8, ge=2)
    share: float = knob(default=0.5, ge=0.0, le=1.0)
    power: float = knob(default=1.0, ge=0.0)
    keep: int = knob(default=256, ge=1)
    least: int = knob(default=16, ge=1)
    column: str = "correct"

    drawn: int = state(default=0)  # problems of the source so far
    asked: int = state(default=0)  # asks of both kinds so far
    buffer: dict[str, dict[str, Any]] = state(factory=dict)
    laps: EpochSampler | None = live()

    longest: ClassVar[int] = 1000  # characters of an attempt, so that the state stays small

    def __post_init__(self) -> None:
        check_template("histories.template", self.template, "prompt", "attempt")

    def draw(self, n: int, play: Play) -> list[Ask]:
        dice = play.generator("histories", self.asked)
        ready = [name for name, kept in self.buffer.items() if kept["variance"] > 0]
        wanted = int((torch.rand(n, generator=dice) < play.at(self.share)).sum())
        wanted = min(wanted, len(ready)) if len(ready) >= self.least else 0
        picked = [ready[i] for i in self._picked(ready, wanted, play, dice)]
        asks = [self._ask(name) for name in picked] + [self._fresh(i, play) for i in range(n - wanted)]
        self.drawn, self.asked = self.drawn + n - wanted, self.asked + n
        play.log(**{"histories/kept": float(len(self.buffer)), "histories/asked": wanted / max(n, 1)})
        if picked:
            of = [self.buffer[name] for name in picked]
            play.log(**{f"histories/{x}": statistics.fmean(each[x] for each in of) for x in ("depth", "variance")})
        return asks

    def _picked(self, ready: list[str], wanted: int, play: Play, dice: torch.Generator) -> list[int]:
        if not wanted:
            return []
        variance = torch.tensor([self.buffer[name]["variance"] for name in ready], dtype=torch.float64)
        places: list[int] = torch.multinomial(variance ** play.at(self.power), wanted, generator=dice).tolist()
        return places

    def _ask(self, name: str) -> Ask:
        kept = self.buffer[name]
        task = Task(**kept["task"])
        shown = self.template.format(prompt=task.prompt, attempt=kept["attempt"])
        return Ask(task, self.tries, prompt=shown, note={HISTORY: name, DEPTH: kept["depth"]})

    def _fresh(self, number: int, play: Play) -> Ask:
        if self.laps is None or self.laps.source is not self.task:
            self.laps = EpochSampler(self.task)
        return Ask(self.laps.task(self.drawn + number, play.seed), self.tries, note={DEPTH: 0})

    def observe(self, batch: Batch, play: Play) -> None:
        tried: dict[int, list[tuple[float, Episode]]] = {}
        for e, value in zip(batch.episode[batch.leaf].tolist(), batch[self.column].tolist(), strict=True):
            if value == value:
                tried.setdefault(int(batch.ask_E[e]), []).append((value, batch.episodes[e]))
        dice = play.generator("histories", "joins")
        for tries in tried.values():
            variance = statistics.pvariance(value for value, _ in tries)
            ask = tries[0][1].ask
            if ask.note.get(HISTORY) in self.buffer:
                self.buffer[ask.note[HISTORY]]["variance"] = variance
            one = tries[int(torch.randint(len(tries), (1,), generator=dice))][1]
            if variance > 0 and self._may_join(one):
                self.buffer[one.key] = {
                    "task": dataclasses.asdict(ask.task),
                    "attempt": one.segments[-1].text,
                    "variance": variance,
                    "depth": int(ask.note.get(DEPTH, 0)) + 1,
                }
        order = sorted(self.buffer, key=lambda name: self.buffer[name]["variance"])  # of equals the latest comes last
        kept = set(order[-self.keep :])
        self.buffer = {name: entry for name, entry in self.buffer.items() if name in kept}

    def _may_join(self, episode: Episode) -> bool:
        last = episode.segments[-1]
        return last.end in (End.DONE, End.STOPPED) and len(last.text) <= self.longest


@part
class revised:
    """The problem is answered, and the answer shown again `times` times to be revised, each time by itself, as `template`
    writes it. Everything but the last answer is said by `draft`, so that the last alone is the `role`'s, and what is scored.

    >>> revised("{prompt}\\n{attempt}", times=2).roles
    ('draft', 'policy')
    """

    template: str = ROLE_WORDINGS["revise"].knob(required=True, joined=False, question="prompt", answer="attempt")
    times: int = knob(default=1, ge=0)
    role: str = "policy"
    draft: str = "draft"

    def __post_init__(self) -> None:
        check_template("revised.template", self.template, "prompt", "attempt")

    @property
    def roles(self) -> tuple[str, ...]:
        return (self.draft, self.role)

    @seats_alone
    async def play(self, ask: Ask, seats: Seats) -> Episode:
        view = ask.shown
        for _ in range(self.times):
            attempt = await seats[self.draft].act(view, fresh=True)
            view = self.template.format(prompt=ask.shown, attempt=attempt.text)
        await seats[self.role].act(view, fresh=True)
        return seats.episode()
