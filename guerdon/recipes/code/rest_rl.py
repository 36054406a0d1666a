"""ReST-RL: GRPO from starts whose tries differ, and then a value model of lines that a tree search decodes by.

Paper: Zhoubian, Zhang and Tang 2025 (arXiv:2508.19576), with the released code (github.com/THUDM/ReST-RL). `stage="policy"`
(experiment/process_gen_data.py): sampled problems with a spread of rewards below 0.05 are dropped, prefixes of the best answers
become starts too, and GRPO continues from all starts. `starts=false` is GRPO with the same reward, the share of tests passed.
`stage="decoding"` (algorithms/MCTS/mcts.py), with `--model` the first stage's run: UCT over lines of programs gives each line's
value, a value model learns it, and the exam searches by it. `by="outcome"`, the paper's baseline, values whole programs.
Different: starts are sampled during training, rollouts from each new line. Leaves out: rewards for code blocks; thoughts.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from statistics import fmean, pstdev
from typing import Any, ClassVar, Literal

import torch

from guerdon.core.episode import End, Episode
from guerdon.core.extra_play import play_scored
from guerdon.core.learn import Learn
from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.optim import adam
from guerdon.core.part import knob, live, part, state
from guerdon.core.play import Play
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.core.task import Ask, Task
from guerdon.credit.tree import tree_values
from guerdon.curricula.plain import EpochSampler, uniform
from guerdon.exams.exam import Exam
from guerdon.exams.rates import accuracy, tokens_spent
from guerdon.losses.imitation import step_values, whole_value
from guerdon.models.frozen_copy import snapshot
from guerdon.recipes.code.debugging_claims import DECODING, STARTS
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.heads import with_head
from guerdon.recipes.house.shared import paid_by
from guerdon.rewards.stage.score_stages import score, verified
from guerdon.rewards.text.programs import tests_passed
from guerdon.search.step_scorers import monte_carlo_scorer, value_scorer
from guerdon.search.uct import mcts
from guerdon.search.whole_answers import best_whole
from guerdon.select.hints import begun

LINES = "lines"  # the note of an ask: length of its prefix in lines
EXPLORE, BRANCH, GROWN, DECODED = 0.2, 3, 6, 12  # the released constant; simulations: the released search has 100 of 5
WHOLE = 6  # whole programs that cost about as many tokens as the search that decodes


@recipe(
    "rest-rl",
    family="code",
    paper="arXiv:2508.19576",
    claim=(
        Claim(
            says="GRPO from problems whose tries differ, and lines of the best of them, solves more than GRPO from all.",
            **{**STARTS, "baseline": "rest-rl starts=false", "ablation": "rest-rl share=0"},
        ),
        Claim(
            says="A search by values of lines solves more than the best of whole programs by an outcome model.",
            baseline="rest-rl by=outcome stage=decoding",
            **DECODING,
        ),
    ),
    on=grpo,
    needs=Needs(tests=True, text=True, sandbox=True),
    helps=("sparse",),
)
def rest_rl(
    base: Recipe,
    task: Any,
    model: Model,
    *,
    stage: Literal["policy", "decoding"] = "policy",
    starts: bool = True,
    by: Literal["lines", "outcome"] = "lines",
    sample: int = 5,  # this and what follows: the released defaults
    spread: float = 0.05,
    least: float = 0.9,
    share: float = 0.5,
    decay: float = 0.95,
    tries: int = 8,
    lr: float = 2e-5,  # as grpo; a value model wants more, as reward_model has it: 3e-4
) -> Recipe:
    """GRPO from promising starts; or a value model of lines, and search by it."""
    if stage == "decoding":
        return taught_values(base, task, model, by, lr)
    (credit,), (_, scored) = base.stages.credit, paid_by(base, tests_passed(task)).stages.scores
    credit.by = "ask"
    if starts:
        base.curriculum = promising_starts(task, scored, tries, sample, spread, least, share, decay)
    return base


def beginnings(text: str, share: float, decay: float, dice: torch.Generator) -> list[int]:
    r"""Lengths in lines of `share` of a text's proper prefixes, drawn with replacement, $p_i \propto decay^i$."""
    if not (count := text.count("\n")):
        return []
    weights = decay ** torch.arange(count, dtype=torch.float64)
    drawn = torch.multinomial(weights, math.ceil(share * count), replacement=True, generator=dice)
    return [int(i) + 1 for i in drawn]


@part
class promising_starts:
    r"""Problems of `task` whose answers differ in score, and prefixes of their best answers, `tries` tries each.

    A problem is tried `sample` times and dropped if the standard deviation of `score` is under `spread`; else it is a start,
    and so are prefixes of its best answer, if that reaches `least`: `share` of as many as it has lines. Problems are sampled at
    most `MOST` times a step, which counts in the budget. *Biased* towards problems that are solved sometimes.
    """

    task: Any
    score: Any
    tries: int = knob(default=8, ge=2)
    sample: int = knob(default=5, ge=2)
    spread: float = knob(default=0.05, ge=0.0)
    least: float = 0.9
    share: float = knob(default=0.5, ge=0.0, le=1.0)
    decay: float = knob(default=0.95, gt=0.0, le=1.0)
    drawn: int = state(default=0)
    waiting: list[dict[str, Any]] = state(factory=list)  # starts that are left: a task and a prefix
    laps: EpochSampler | None = live()
    MOST: ClassVar[int] = 4

    def draw(self, n: int, play: Play) -> list[Ask]:
        for again in range(self.MOST):
            if len(self.waiting) >= n:
                break
            self.waiting += self._sampled(n, play, again)
        asks, self.waiting = [self._ask(start, play) for start in self.waiting[:n]], self.waiting[n:]
        asks += [Ask(self._next(play), self.tries) for _ in range(n - len(asks))]
        play.log(**{"starts/inside": fmean(float(ask.note.get(LINES, 0) > 0) for ask in asks)})
        return asks

    def _sampled(self, n: int, play: Play, again: int) -> list[dict[str, Any]]:
        batch = play_scored([Ask(self._next(play), self.sample) for _ in range(n)], [self.score], play)
        value, tried = batch[self.score.gives[0]].tolist(), dict[int, list[tuple[float, Episode]]]()
        for k, e in enumerate(batch.episode[batch.leaf].tolist()):
            if value[k] == value[k]:
                tried.setdefault(int(batch.ask_E[e]), []).append((value[k], batch.episodes[e]))
        dice = play.generator("starts", self.drawn, again)
        kept = [tries for tries in tried.values() if pstdev(score for score, _ in tries) >= self.spread]
        play.log(**{"starts/kept": len(kept) / n})
        starts = [start for tries in kept for start in self._starts(tries, dice)]
        return [starts[i] for i in torch.randperm(len(starts), generator=dice).tolist()]

    def _starts(self, tries: Sequence[tuple[float, Episode]], dice: torch.Generator) -> list[dict[str, Any]]:
        score, episode = max(tries, key=lambda each: each[0])
        task, last = dataclasses.asdict(episode.task), episode.segments[-1]
        text, starts = last.text.rstrip(), [{"task": task, "said": ""}]
        if self.share and score >= self.least and last.end is not End.CUT:
            lines, counts = text.splitlines(keepends=True), beginnings(text, self.share, self.decay, dice)
            starts += [{"task": task, "said": "".join(lines[:count])} for count in counts]
        return starts

    def _ask(self, start: dict[str, Any], play: Play) -> Ask:
        ask = Ask(Task(**start["task"]), self.tries, note={LINES: start["said"].count("\n")})
        return ask.but(prefix=begun(ask, start["said"], play)) if start["said"] else ask

    def _next(self, play: Play) -> Task:
        if self.laps is None or self.laps.source is not self.task:
            self.laps = EpochSampler(self.task)
        self.drawn += 1
        return self.laps.task(self.drawn - 1, play.seed)


def taught_values(base: Recipe, task: Any, model: Model, by: Literal["lines", "outcome"], lr: float) -> Recipe:
    """A model `vm` of a program's value after each line or at its end, trained on samples of the model it starts from."""
    base.models, base.seats = {"vm": with_head(model), "author": snapshot("vm")}, {"policy": "author"}
    liked = value_scorer("vm", reduce_steps="last")
    scored = [verified(task), score(tests_passed(task))]
    if by == "lines":
        base.curriculum = uniform(task, tries=1)
        base.env = mcts(GROWN, BRANCH, monte_carlo_scorer(task, tries=1), EXPLORE)
        base.stages = [*scored, tree_values(), Learn("vm", step_values(), opt=adam(lr=lr))]
        decode: Any = mcts(DECODED, BRANCH, liked, EXPLORE, keep="chosen")
    else:
        base.stages = [*scored, Learn("vm", whole_value("reward"), opt=adam(lr=lr))]
        decode = best_whole(WHOLE, liked, keep="chosen")
    base.exams = [Exam(task, [accuracy(), tokens_spent()], env=decode)]
    return base
