"""Help from reference solutions: problems that no try solves are asked again, with the beginning of their solution.

`hint` is how a solution helps, `until_solved` gives as much help as it takes, `hinted` gives the same to everything.
What is learned is to answer the question as it was asked, hint included; after `unhinted` it is to answer it without.
What is asked goes through `play`, so it counts in the run's budget.
Leaves out: help that a model writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.episode import Episode, Segment
from guerdon.core.errors import UserError, unknown
from guerdon.core.extra_play import asks_of, check_scores, play_more
from guerdon.core.field_columns import ColumnField, FieldColumns, Gives, Needs
from guerdon.core.pack import pack, unpack
from guerdon.core.part import knob, label, part
from guerdon.core.placeholders import check_template
from guerdon.core.play import Play
from guerdon.core.task import Ask, Prefix, Task
from guerdon.select.other_views import as_learned

NOTE = "hint"  # of an ask: the share of the solution that it brings
PLAIN = "unhinted"  # of an ask: what it showed before the hint, where that was not the task's own prompt


@part
class hint:
    """The first `share` of a task's reference solution, put into an ask.

    `how="prompt"` writes it into the question by `template`; the share is of the solution's characters, as in GHPO's released
    code. `how="start"` teacher-forces it: the answer of `role` begins with it (given actions: seen, scored with the rest
    of the answer, never learned), and the share is of the model's actions for the solution, tokens of a language model.
    That asks no new language of a small model, and needs an environment in which `role` acts first. Both cut anywhere, and
    round to the nearest whole (a very short solution may so give nothing away).

    The solution is `task.solution(problem)` where the source has it, and else column `solution` of the problem's row
    (`"answer"`: its answer, which is the whole secret if it is short).

    Args:
        task: the source of solutions.
        how: write it into the question, or begin the answer with it.
        solution: column with the solution, where the source has none of its own.
        role: the role whose answer begins with it.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay
    >>> source = gd.tasks.chain(level=1)
    >>> problem = source.get("test", 0)
    >>> source.solution(problem)
    '3*4=12\\n12-5=7\\n= 7'
    >>> gd.select.hint(source, template="{prompt} ({hint}...)").into(gd.Ask(problem), 0.3, ExamplePlay()).shown
    'chain 3 *4 -5 (3*4=1...)'
    """

    task: Any
    how: Literal["prompt", "start"] = "prompt"
    template: str = "{prompt}\nThe solution begins like this:\n{hint}"  # in our words: the released code has its own
    solution: str = "solution"
    role: str = "policy"

    def __post_init__(self) -> None:
        check_template("hint.template", self.template, "prompt", "hint")
        if not hasattr(self.task, "solution"):
            for index in range(self.task.size("train") or 1):
                self.of(self.task.get("train", index))

    def of(self, task: Task) -> str:
        """A problem's reference solution."""
        if hasattr(self.task, "solution"):
            return str(self.task.solution(task))
        row = {"answer": task.answer, **task.meta}
        if not isinstance(row.get(self.solution), str | int | float):
            raise UserError(
                f"hints need reference solutions, and {task.key} has no text in column {self.solution!r} (columns:"
                f" {', '.join(row)}): name one with --set hint.solution=COLUMN, or give your task solution(task)"
            )
        return str(row[self.solution])

    def into(self, ask: Ask, share: float, play: Play) -> Ask:
        """The same ask with a hint."""
        text, note = self.of(ask.task), {**ask.note, NOTE: share}
        if self.how == "prompt":
            if ask.prompt is not None and NOTE not in ask.note:
                note[PLAIN] = ask.prompt
            shown = self.template.format(prompt=ask.shown, hint=text[: round(share * len(text))])
            return ask.but(prompt=shown, note=note)
        return ask.but(prefix=begun(ask, text, play, self.role, share), note=note)


def begun(ask: Ask, text: str, play: Play, role: str = "policy", share: float = 1.0) -> Prefix:
    """A start with the first `share` of a text as if the role had generated it; what it would do to end its turn is not part
    of that."""
    seats = ask.seated(play.seats)
    if role not in seats:
        raise unknown("role for a hint", role, seats)
    model = play.models[seats[role]]
    reply = model.teacher_force(ask.shown, text)
    says = len(reply.actions) - len(model.teacher_force(ask.shown, "").actions)
    segment = Segment(role, ask.shown, reply.context, reply.actions, reply.logp, text)
    return Prefix(f"solution of {ask.task.key}", 0, round(share * says), (segment,))


@part
class until_solved(FieldColumns):
    """Asks whose tries all have a `column` of 0 or less are asked again with a hint, with more of it in each of `shares`,
    until a try scores; the last that was asked takes the place of those before it.

    GHPO's difficulty detection and multi-stage guidance (Liu et al. 2025, arXiv:2507.10628). All tries stay in the batch:
    column `gives_to` is the share of the solution that a try was given, and has no value for tries whose place was taken;
    `Learn(on=at_least("hint", 0.0))` learns from the others. Rates over the batch are thus over tries with and without
    help: `hints/alone` is the mean without. Compare tries `by="ask"`: those with different hints answer different questions.

    An ask none of whose tries has a score is not known to be hard and is left alone; one with some scores counts by those.
    Before step `after` nothing is asked. *Biased* on purpose: the policy learns to continue from states that it would not
    have reached by itself. A step costs up to `len(shares)` times more where nothing is solved.

    Notes `hints/asked` (asks with a hint), `hints/needed` (the share of problems that got one) and, where there were some,
    `hints/level` (the mean share that the last of them gave), `hints/solved` (the share of them that was then solved) and
    `hints/hopeless` (how many were not).

    Args:
        hint: the hint.
        scores: stages that score the tries.
        column: column above 0 for a solved try.
        after: step from which hints are given.
        gives_to: column of the share that was shown.

    >>> import guerdon as gd
    >>> task = gd.tasks.load("chain:2")
    >>> helped = gd.select.until_solved(gd.select.hint(task, how="start"), [gd.rewards.verified(task)], shares=(0.5, 1.0))
    >>> helped.needs, helped.gives
    (('correct',), ('correct', 'hint'))
    """

    hint: Any
    scores: Annotated[list[Any], ColumnField("gives")]
    shares: tuple[float, ...] = (0.25, 0.5, 0.75)  # GHPO's released code
    column: Needs = "correct"
    after: int = knob(default=0, ge=0)
    gives_to: Gives = "hint"

    def __post_init__(self) -> None:
        check_scores(self.scores, label(self))
        self.shares = tuple(self.shares)
        if not all(0 < a < b <= 1 for a, b in zip((1e-9, *self.shares), self.shares, strict=False)):
            raise UserError(f"until_solved.shares must rise from above 0 to at most 1, not {list(self.shares)}")

    def __call__(self, batch: Batch, play: Play) -> Batch:
        first, best = asks_of(batch), self._best(batch)
        hard = torch.nonzero(best <= 0).flatten().tolist() if play.step >= self.after else []
        left = [(first[n], n) for n in hard]  # problems as they were first asked, and the number of the latest ask
        taken: list[int] = []
        solved: list[float] = []
        alone = batch[self.column][self._share(batch) == 0]
        for share in self.shares:
            if not left:
                break
            hinted_asks = [self.hint.into(ask, share, play) for ask, _ in left]
            taken += [n for _, n in left]
            batch, asked = play_more(batch, hinted_asks, self.scores, play)
            best = self._best(batch)[asked:]
            solved += [share] * int((best > 0).sum())
            left = [(left[i][0], asked + i) for i in torch.nonzero(best <= 0).flatten().tolist()]
        self._log(play, alone, len(first), len(hard), solved, len(taken))
        return batch.with_cols({self.gives_to: self._column(batch, taken)})

    def _best(self, batch: Batch) -> Tensor:
        """[asks] the best score of each ask's tries, NaN where none has one."""
        return batch.up(batch.track_column(self.column, "until_solved").value, "ask", of="track", by="max")

    def _share(self, batch: Batch) -> Tensor:
        """[K] how much of the solution each try was given."""
        given = torch.tensor([float(episode.ask.note.get(NOTE, 0.0)) for episode in batch.episodes])
        return batch.down(given, of="episode", to="track")

    def _column(self, batch: Batch, taken: Sequence[int]) -> Column:
        """The share that each try was given; none for the tries whose place was taken."""
        past = torch.zeros(batch.size("ask"), dtype=torch.bool)
        past[list(taken)] = True
        gone = past[batch.ask[batch.leaf]]
        reason = torch.where(gone, int(Reason.NOT_APPLICABLE), int(Reason.VALUE)).to(torch.int8)
        return Column("track", self._share(batch).masked_fill(gone, float("nan")), reason)

    def _log(self, play: Play, alone: Tensor, all_asks: int, hard: int, solved: Sequence[float], asked: int) -> None:
        noted = {"hints/asked": float(asked), "hints/needed": hard / max(all_asks, 1)}
        if bool((~torch.isnan(alone)).any()):
            noted["hints/alone"] = float(alone.nanmean())
        if hard:
            failed = hard - len(solved)
            most = self.shares[-1] if self.shares else 0.0
            noted["hints/level"] = (sum(solved) + failed * most) / hard
            noted["hints/solved"] = len(solved) / hard
            noted["hints/hopeless"] = float(failed)
        play.log(**noted)


@part
class hinted:
    """What `curriculum` draws, each with a hint of `share` of its solution, before step `until` (0: always).

    A cold start: GHPO (Liu et al. 2025, arXiv:2507.10628) may begin so, before it looks at what is solved without help. As a
    curriculum that always hints it is the plain idea that adaptive hints are compared with.

    Args:
        curriculum: what draws the asks.
        hint: the hint.
        share: share of the solution.
        until: step at which hints end; 0 for never.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay
    >>> task = gd.tasks.load("chain:1@1")
    >>> some = gd.select.hint(task, template="{prompt} ({hint}...)")
    >>> gd.select.hinted(gd.curricula.uniform(task), some, share=0.3).draw(1, ExamplePlay())[0].shown
    'chain 4 *4 *5 (4*4=16...)'
    """

    curriculum: Any
    hint: Any
    share: float = knob(default=0.5, gt=0.0, le=1.0)
    until: int = knob(default=0, ge=0)

    def draw(self, n: int, play: Play) -> list[Ask]:
        asks: list[Ask] = self.curriculum.draw(n, play)
        if self.until and play.step >= self.until:
            return asks
        return [self.hint.into(ask, play.at(self.share), play) for ask in asks]


@part
class unhinted(FieldColumns):
    r"""Every try that was given a hint, as if it had been made without: what is learned is to answer the plain question.

    Guide (Nath et al. 2025, arXiv:2506.13923). A hinted try $o$ is put under the question $q$ alone and keeps the log-probs it
    was sampled with, so that the ratio of a step is
    $\rho_t = \pi(o_t \mid q, o_{<t})\,/\,\pi_{old}(o_t \mid q, hint, o_{<t})$.
    A hint in the question (`how="prompt"`) goes out of it. One that begins the answer (`how="start"`) becomes part of
    the answer: it was given with certainty, so $\pi_{old} = 1$ there and $\rho_t$ is the policy's own probability. Both
    make a step pull the less, the less likely it is without help.

    Tries without a hint are left as they are. The ask still has the question. Columns that a model read under the hint are
    dropped and read again. With `corrected=False` the log-probs are those of the plain question too, as if it had been sampled
    so: the ratio is then 1 at the first update, which is not what was done. *Biased* by what clipping drops, and by a ratio of
    the single step where the product of all of them would be due. Notes `hints/unhinted`, the tries it changed.

    Args:
        corrected: use the probabilities under the hint in the ratio.

    >>> import guerdon as gd
    >>> gd.select.unhinted().corrected
    True
    """

    corrected: bool = True

    def __call__(self, batch: Batch, play: Play) -> Batch:
        changed_E = torch.tensor([NOTE in episode.ask.note for episode in batch.episodes], dtype=torch.bool)
        play.log(**{"hints/unhinted": float(changed_E.sum())})
        if not bool(changed_E.any()):
            return batch
        episodes = [_unhinted(e, play) if NOTE in e.ask.note else e for e in unpack(batch)]
        return as_learned(pack(episodes), batch, changed_E, play, self.corrected)


def _unhinted(episode: Episode, play: Play) -> Episode:
    """A copy with the plain question in place of the hinted one, and with the given actions as generated ones."""
    ask = episode.ask
    plain = ask.note.get(PLAIN, ask.task.prompt)
    asked = ask.prefix is not None or ask.shown == plain or not episode.segments  # none: a selection left it out
    segments: list[Segment] = []
    seats = ask.seated(play.seats)
    for segment in episode.segments:
        if segment.given and ask.prefix is not None:
            logp = np.where(np.arange(len(segment.logp)) < segment.given, np.float32(0.0), segment.logp)
            segment = segment.but(given=0, logp=logp)
        elif not asked and segment.view == ask.shown and segment.role in seats:
            model = play.models[seats[segment.role]]
            segment, asked = segment.but(view=plain, context=model.encode(plain, _path(segments, segment))), True
        segments.append(segment)
    if not asked:
        raise UserError(
            f"unhinted: nobody was shown the hinted question of {ask.task.key} as it is: use hint(how='start')"
        )
    return episode.but(segments=tuple(segments))


def _path(earlier: Sequence[Segment], segment: Segment) -> list[Segment]:
    """What the role of a segment remembered when it was shown something."""
    path: list[Segment] = []
    at = segment.parent
    while at >= 0 and earlier[at].role == segment.role:
        path.insert(0, earlier[at])
        at = earlier[at].parent
    return path
