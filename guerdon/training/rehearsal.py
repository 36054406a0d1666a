"""A dry run: all is built as `train` would, a few tries and a step or two are played and learned from, and thrown away.

Nothing is written. No outside service is called: questions to judges behind a server are counted, and stages after the first
one with other outside calls are not tried.
The memory that a run takes is counted where it can be; elsewhere it is the most that it can be.
Leaves out: how it is shown (`cli/before_training.py`), and the memory that libraries and the system take.
"""

from __future__ import annotations

import copy
import dataclasses
import os
import re
import resource
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.budget import NO_END
from guerdon.core.column import Reason
from guerdon.core.episode import Episode
from guerdon.core.learn import Learn
from guerdon.core.model import Model
from guerdon.core.pack import pack, played_at
from guerdon.core.part import label, walk
from guerdon.core.recipe import Recipe
from guerdon.core.seeds import derive, seed_globals
from guerdon.core.task import Ask
from guerdon.display.text import view_text
from guerdon.engine.player import Player
from guerdon.models import template_clock as clock
from guerdon.rewards.stage.score_stages import score
from guerdon.runs.folder import RunFolder, next_name
from guerdon.training.api import Ready
from guerdon.training.build import run_name
from guerdon.training.host import undisturbed
from guerdon.training.loop import start
from guerdon.training.readings import fill_needs
from guerdon.training.record import START
from guerdon.training.rollouts import Rollouts

SHOWN, TRIES = 3, 2  # prompts that are shown, and tries at each that are sampled first
SEARCHED = 2000  # problems among which the longest prompt is looked for
STEPS = 2  # real ones, at most
PATIENCE = 60.0  # seconds: no step that would take so long to sample is tried,
SLOW = 15.0  # and no second one after one that took so long


@dataclass(frozen=True)
class ShownPrompt:
    """What a model is shown first, special tokens as they are, and what it said in one of the tries."""

    role: str
    text: str
    tokens: int
    said: str
    said_tokens: int


@dataclass(frozen=True)
class StepMeasured:
    """A real step: seconds of sampling and of all, and what was counted. `is_whole` says whether all stages ran."""

    sampling: float
    seconds: float
    counts: dict[str, float]
    metrics: dict[str, float]
    is_whole: bool


@dataclass
class Rehearsal:
    """What a dry run has to say. Times are in seconds, memory in bytes; None is what could not be known."""

    recipe: str
    out: str
    config: dict[str, Any]
    steps: int | None  # None: a budget ends it after a number that is not known
    study: bool = False
    prompts: list[ShownPrompt] = field(default_factory=list)
    longest: int | None = None
    searched: int = 0
    context: int | None = None
    max_tokens: int = 0
    turns: int = 1
    asks: int = 0
    rollouts: int = 0
    most_tokens: int = 0  # of a step
    sample: dict[str, float] = field(default_factory=dict)  # of the few tries: tries, tokens, seconds
    env_steps: float = 0.0  # of a step, where worlds are played in lock step
    recited: bool = False  # whether what is learned from is recited, and not sampled
    measured: list[StepMeasured] = field(default_factory=list)
    not_tried: str = ""  # why steps were not measured, or not to their end
    exams: int = 0
    exam_tries: int = 0
    exam_try: float | None = None  # seconds of a try, where exams sample and steps do not
    memory: dict[str, int] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)
    rewards: list[dict[str, Any]] = field(default_factory=list)
    judges: list[dict[str, Any]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def step_tokens(self) -> float:
        """Of a step, as far as was seen: of the last real step, or of as many tries as it has, as long as those few."""
        if self.measured:
            return self.measured[-1].counts["tokens"]
        return self.rollouts * self.sample["tokens"] / self.sample["tries"]

    @property
    def step_seconds(self) -> float:
        """Of the last real step; else of sampling alone, at the speed of a few tries."""
        if self.measured:
            return self.measured[-1].seconds
        return self.step_tokens / self.speed

    @property
    def speed(self) -> float:
        """Tokens sampled in a second."""
        if self.measured and self.measured[-1].counts["tokens"]:
            return self.measured[-1].counts["tokens"] / max(self.measured[-1].sampling, 1e-9)
        return self.sample["tokens"] / max(self.sample["seconds"], 1e-9)

    @property
    def exam_seconds(self) -> float:
        """By the speed of steps; of a recipe that samples nothing, by that of a few tries at the exam."""
        each = self.exam_try
        if each is None:
            each = self.sample["tokens"] / self.sample["tries"] / max(self.speed, 1e-9)
        return self.exams * self.exam_tries * each

    @property
    def bound(self) -> str:
        """What the time is: measured, or a bound."""
        if self.measured and self.measured[-1].is_whole:
            return "about"
        return "at least" if self.measured else "for sampling alone, about"

    @property
    def seconds(self) -> float | None:
        return None if self.steps is None else self.steps * self.step_seconds + self.exam_seconds

    def to_dict(self) -> dict[str, Any]:
        known = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "config"}
        known |= {"prompts": [vars(p) for p in self.prompts], "measured": [vars(m) for m in self.measured]}
        if not self.study:
            names = ("step_tokens", "step_seconds", "exam_seconds", "bound", "seconds")
            known |= {name: getattr(self, name) for name in names}
        return known | {"config": self.config}


def rehearse(ready: Ready, out: str | None, here: Path) -> Rehearsal:
    """Try what `train` would do with this. Refuses what `train` would refuse."""
    folder = (
        next_name(Path("runs"), run_name(ready.built.name, ready.request), here)
        if out is None
        else RunFolder(out, here)
    )
    folder.refuse_others()
    recipe = ready.built.recipe
    if not isinstance(recipe, Recipe):
        return Rehearsal(ready.built.name, folder.named, ready.config, None, study=True)
    told = Rehearsal(ready.built.name, folder.named, ready.config, ready.total)
    with clock.as_of(ready.config):
        recipe, play = start(recipe, ready.seed, ready.total)
        counted = _ask_nobody(recipe)
        with undisturbed(recipe.models.values()):
            _sample(told, recipe, play, ready)
            _measure(told, recipe, play, ready.total, counted)
        _count_exams(told, recipe, ready)
        if told.exams and told.recited:
            told.exam_try = _try_exam(recipe, ready)
    told.rewards = _rewards(recipe)
    told.judges = [
        {
            "judge": name,
            "calls": each.asked / max(1, len(told.measured)),
            "cost": each.cost / max(1, len(told.measured)),
        }
        for name, each in counted.items()
    ]
    if recipe.budget is not None:
        told.steps = _steps_of_budget(told, recipe)
    held = told.rollouts * ((told.longest or 0) + told.max_tokens)
    read = round(told.step_tokens) + told.rollouts * (told.longest or 0)
    told.memory, told.machine = memory_of(recipe, play, held, read), memory_here(recipe.models)
    return told


def _ask_nobody(recipe: Recipe) -> dict[str, Any]:
    """Judges that would ask others count their questions instead; those in this process keep no answers. By name: the
    counts."""
    counted: dict[str, Any] = {}
    for _, part in walk(recipe):
        if getattr(part, "outside", False) and hasattr(part, "rehearse"):
            name = str(getattr(part, "model", None) or label(part))
            counted[name if name not in counted else f"{name} {len(counted) + 1}"] = part.rehearse()
        elif hasattr(part, "fetch") and hasattr(part, "cache"):
            part.cache = False
    return counted


# --- a few tries ------------------------------------------------------------------------------------------------------


def _sample(told: Rehearsal, recipe: Recipe, play: Player, ready: Ready) -> None:
    """The first asks: what is shown, how much of it there is; a few tries at them."""
    seed_globals(play.noise, 0)
    asks = copy.deepcopy(recipe.curriculum).draw(recipe.prompts, play)
    few = Player(recipe.models, recipe.seats, recipe.env, recipe.sampling, ready.seed, ready.total)
    began = time.perf_counter()
    episodes = few([ask.but(n=min(ask.n, TRIES)) for ask in asks[:SHOWN]])
    seconds = time.perf_counter() - began
    told.sample = {"tries": max(1, len(episodes)), "tokens": few.tokens, "seconds": seconds}
    told.asks, told.rollouts = len(asks), sum(ask.n for ask in asks)
    shown = [_shown(e, recipe) for e in episodes if e.segments and not few.meter.env_steps]
    told.prompts = list({prompt.text: prompt for prompt in reversed(shown)}.values())[::-1]
    told.failures += [str(e.info["error"]).strip().splitlines()[-1] for e in episodes if e.failed][:1]
    told.recited = bool(shown) and all(np.isnan(s.logp).all() for e in episodes for s in e.segments if len(s.logp))
    told.turns = max((sum(bool(len(s.actions)) for s in e.segments) for e in episodes), default=1)
    told.max_tokens = max((int((a.sampling or recipe.sampling).max_tokens) for a in asks), default=0)
    _look_for_longest(told, recipe, ready, asks)
    room = told.max_tokens
    if told.context is not None and told.longest is not None:
        room = max(1, min(room, told.context - min(p.tokens for p in told.prompts)) if told.prompts else room)
    told.most_tokens = told.rollouts * room * max(1, told.turns)


def _shown(episode: Episode, recipe: Recipe) -> ShownPrompt:
    first = episode.segments[0]
    model: Any = recipe.models[episode.ask.seated(recipe.seats)[first.role]]
    if hasattr(model, "tokenizer"):
        text = model.tokenizer.decode([int(t) for t in first.context], skip_special_tokens=False)
    else:
        text = view_text(first.view)
    return ShownPrompt(first.role, text, len(first.context), first.text, len(first.actions))


def _look_for_longest(told: Rehearsal, recipe: Recipe, ready: Ready, asks: Sequence[Ask]) -> None:
    """The longest prompt, among what is drawn first and, where problems are shown as they are, many of the task's."""
    model = recipe.models[next(iter(recipe.seats.values()))]
    if model.row:  # it reads rows of numbers
        return
    told.context = model.max_positions
    lengths = [p.tokens for p in told.prompts]
    texts = [ask.shown for ask in asks]
    task = ready.built.task
    drawn = {len(model.encode(text)) for text in texts}
    plain = bool(lengths) and drawn.issuperset(lengths)  # else an environment shows something else
    if task is not None and plain:
        size = task.size("train")
        texts += [task.get("train", i).prompt for i in range(SEARCHED if size is None else min(size, SEARCHED))]
    if plain:
        lengths += [len(model.encode(text)) for text in texts]
        told.searched = len(texts)
    told.longest = max(lengths, default=None)


# --- real steps -------------------------------------------------------------------------------------------------------


def _measure(told: Rehearsal, recipe: Recipe, play: Player, total: int, counted: dict[str, Any]) -> None:
    """A step or two as they would be, thrown away; none where one would take too long."""
    expected = told.rollouts * told.sample["seconds"] / told.sample["tries"]
    if total == 0 or not told.rollouts:
        told.not_tried = "no step to try" if total == 0 else "nothing was drawn for the first step"
        return
    if expected > PATIENCE:
        told.not_tried = f"a step of {told.rollouts} tries would take about {expected:.0f} s to sample: none was tried"
        return
    if any(getattr(part, "outside", False) and not hasattr(part, "rehearse") for _, part in walk(recipe)):
        play.ended = ()  # there are no early questions either
    with Rollouts(recipe, play, min(total, STEPS), None) as rollouts:
        for step in range(min(total, STEPS)):
            measured, why = _step(told, recipe, play, rollouts, step)
            told.measured.append(measured)
            told.not_tried = told.not_tried or why
            if measured.seconds > SLOW:
                break
    told.env_steps = told.measured[-1].counts["env_steps"]
    if counted and not told.not_tried:
        told.not_tried = "judges were not asked, so what they take and what is learned from them is not in the time"
        told.measured = [dataclasses.replace(m, is_whole=False) for m in told.measured]


def _step(told: Rehearsal, recipe: Recipe, play: Player, rollouts: Rollouts, step: int) -> tuple[StepMeasured, str]:
    began = time.perf_counter()
    play.begin(step)
    seed_globals(play.noise, step)
    batch = pack(rollouts.take(step))
    sampled = time.perf_counter() - began
    why = ""
    for stage in recipe.stages:
        others = [
            label(part) for _, part in walk(stage) if getattr(part, "outside", False) and not hasattr(part, "rehearse")
        ]
        if others:
            why = f"{others[0]} asks others, so nothing from there on was tried"
            break
        batch = stage(fill_needs(batch, stage.needs, play), play)
    if not why:
        fresh = played_at(batch, step)
        for part in [part for _, part in walk(recipe) if hasattr(part, "observe")]:
            part.observe(fresh, play)
    told.failures = list(dict.fromkeys([*told.failures, *_failed(batch, told.config["options"]["failed_limit"])]))
    counts = {**{k: float(v) for k, v in play.counts().items()}, "steps": 1.0}
    return StepMeasured(sampled, time.perf_counter() - began, counts, dict(play.metrics), not why), why


def _failed(batch: Batch, limit: float) -> list[str]:
    """A line for every column with scores that failed."""
    lines = []
    for name, column in batch.cols.items():
        errors = [str(each["error"]) for each in column.errors.values()]
        if errors and "dry run" not in errors[0]:
            due = int((column.reason != Reason.NOT_APPLICABLE).sum())
            stops = f" (more than {limit:.0%} of them stop a run)" if len(errors) > limit * due else ""
            lines.append(f"{len(errors)} of {due} scores of {name!r}{stops}: {errors[0].strip().splitlines()[-1]}")
    return lines


# --- what follows -----------------------------------------------------------------------------------------------------


def _count_exams(told: Rehearsal, recipe: Recipe, ready: Ready) -> None:
    """How often exams are run, and tries at each time."""
    options, total = ready.options, ready.total
    tasks = options.tasks_at(START)
    if not recipe.exams or tasks == 0:
        return
    shares = [done / total for done in range(total + 1)] if 0 < total < NO_END else [0.0, 1.0]
    points = [options.evaluation_at(i, shares[i - 1], share) for i, share in enumerate(shares) if i]
    told.exams = 1 + sum(map(bool, points))
    for exam in recipe.exams:
        size = exam.source.size("test") if hasattr(exam.source, "size") else None
        number = exam.tasks or tasks
        told.exam_tries += (number if size is None else min(number, size)) * (exam.tries or options.eval_tries)


def _try_exam(recipe: Recipe, ready: Ready) -> float:
    """Seconds of a try at the first exam, of as few as are asked first: more at once take less each."""
    exam = recipe.exams[0]
    how = (exam.seats or recipe.seats, exam.env or recipe.env, exam.sampling or recipe.sampling)
    play = Player(recipe.models, *how, derive(ready.seed, "evaluate"), 1)
    began = time.perf_counter()
    episodes = play(exam.asks(SHOWN, TRIES, play))
    return (time.perf_counter() - began) / max(1, len(episodes))


def _steps_of_budget(told: Rehearsal, recipe: Recipe) -> int | None:
    assert recipe.budget is not None
    if not told.measured:
        return None
    last = told.measured[-1]
    spent = {**last.counts, "samples": last.counts["episodes"], "seconds": last.seconds}.get(recipe.budget.unit, 0.0)
    return min(recipe.steps, max(1, round(recipe.budget.amount / spent))) if spent else None


def _rewards(recipe: Recipe) -> list[dict[str, Any]]:
    """What gives scores: the column, the formula, and every part that is asked with the arguments it is given."""
    rows: list[dict[str, Any]] = []
    for stage in recipe.stages:
        if isinstance(stage, score):
            leaves = [{"name": leaf.name, "arguments": list(leaf.wants.names)} for leaf in stage.reward.leaves]
            rows.append({"column": stage.gives_to, "formula": str(stage.reward), "terms": leaves})
        elif hasattr(stage, "gives_to") and hasattr(stage, "task"):
            rows.append(
                {
                    "column": stage.gives_to,
                    "formula": f"checked by {getattr(stage.task, 'name', label(stage.task))}",
                    "terms": [],
                }
            )
    return rows


MEMINFO = Path("/proc/meminfo")  # what Linux says about memory
FLOAT = 4  # bytes of a number that an optimiser keeps
MOMENTS = {"adam": 2, "sgd": 1}  # numbers that it keeps of each weight, at most


def memory_of(recipe: Recipe, play: Any, tokens_held: int, tokens_read: int) -> dict[str, int]:
    """Bytes by what takes them. `tokens_held` are the most that are sampled at once, prompts included, `tokens_read` those of
    a step that are learned from."""
    weights = _size(p for model in _started(recipe) for p in _tensors(model))
    needs = {"weights": weights, "gradients": 0, "optimiser": 0, "activations": 0, "sampling": 0}
    learners = [part for _, part in walk(recipe) if isinstance(part, Learn)]
    for learn in learners:
        model = play.models[learn.model]
        trained = [p for p in model.weights.parameters() if p.requires_grad]
        number = sum(p.numel() for p in trained)
        masters = sum(p.numel() for p in trained if p.dtype in (torch.bfloat16, torch.float16))
        needs["gradients"] += max(FLOAT * number, _size(trained)) if masters else _size(trained)
        needs["optimiser"] += FLOAT * (number * MOMENTS.get(type(learn.opt).__name__, 2) + masters)
        at_once = min(learn.at_once(play), tokens_read)
        needs["activations"] = max(needs["activations"], at_once * _kept(model))
    needs["sampling"] = max((tokens_held * _cached(play.models[name]) for name in recipe.seats.values()), default=0)
    if recipe.ahead:
        frozen = _size(p for model in _started(recipe) for p in model.frozen_weights().values())
        needs["copy to play ahead"] = weights - frozen
    return {name: size for name, size in needs.items() if size}


def _started(recipe: Recipe) -> list[Model]:
    return [model for model in recipe.models.values() if model.net is not None]


def _tensors(model: Model) -> list[Tensor]:
    return [*model.weights.parameters(), *model.weights.buffers()]


def _size(tensors: Iterable[Tensor]) -> int:
    """Bytes, what two models share once."""
    unique = {(t.data_ptr(), t.numel()): t.numel() * t.element_size() for t in tensors}
    return sum(unique.values())


def _shape(model: Model) -> Any:
    return getattr(model, "config", None)


def _kept(model: Model) -> int:
    """Bytes that a pass keeps of each token for its gradient; 0 for a model that does not know."""
    return 0 if getattr(model, "recompute", False) else model.kept_bytes


def _cached(model: Model) -> int:
    """Bytes of keys and values of each token while it is sampled."""
    shape = _shape(model)
    if not hasattr(shape, "kept_numbers"):
        return 0
    return 2 * int(shape.layers) * int(shape.kv_heads) * int(shape.head_dim) * _bytes(model)


def _bytes(model: Model) -> int:
    return next((p.element_size() for p in model.weights.parameters()), FLOAT)


def memory_here(models: Mapping[str, Model]) -> dict[str, Any]:
    """What this machine has, and the most that this process has taken of it so far, in bytes."""
    devices = [model.device for model in models.values() if model.net is not None and model.device.type == "cuda"]
    if devices:
        free, total = torch.cuda.mem_get_info(devices[0])
        peak = torch.cuda.max_memory_allocated(devices[0])
        return {"device": torch.cuda.get_device_name(devices[0]), "total": total, "free": free, "peak": peak}
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    free = _available(total)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return {"device": "processor", "total": total, "free": free, "peak": peak}


def _available(total: int) -> int:
    """Bytes that a new program could be given: free pages, and those of caches that the system would give up for it."""
    try:
        said = re.search(r"^MemAvailable:\s*(\d+) kB$", MEMINFO.read_text(), re.MULTILINE)
    except OSError:  # not Linux
        said = None
    if said is not None:
        return int(said[1]) * 1024
    return (
        os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if "SC_AVPHYS_PAGES" in os.sysconf_names else total
    )
