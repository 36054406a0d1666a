"""Mechanism tests: a published method's numbers, a world with the problem it is for, and mutants that these must tell from it.

A method has a file in the folder of its family (`curriculum/dump.py`) with one `Mechanism`; `test_mechanisms.py` runs them all.
A house recipe may have one (`house/remax.py`).
`numbers` hold the method's own function to its paper's formula or to its authors' released one, `world` to what it is for.
Both are then run with one mutant of the method's code after another in its place (`mutants.py`), and one of them must fail.
A mutant that computes the same is named in `equal`, with the reason.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import importlib.util
import math
import random
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mutants import Mutant, Target, mutants_of, put_in, targets_of
from small import small_lm
from strategies import episode, segment

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.core.example import ExamplePlay
from guerdon.core.pack import pack
from guerdon.core.seeds import seed_torch
from guerdon.envs.simple import single_turn
from guerdon.models.tables import FNV_START, _mix, _place
from guerdon.training.catalog import find_recipe, listings

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"
RECIPES = listings()
PUBLISHED = {name: listing for name, listing in RECIPES.items() if listing.family != "house"}
SAMPLED = 2  # mutants of a method in `make test`, drawn anew for every release; `make slow` runs all
LEAST = 4  # mutants that a method must have
SECONDS, TIMES = 0.2, 10  # a mutant that takes longer than so many times the method, and this, runs without end
AGAIN = 1.0  # seconds after which it is stopped once more: what is raised in a destructor is passed over
NEAR = 1e-5  # numbers are equal up to float32's rounding


@dataclass(frozen=True)
class World:
    """A small world with the problem planted. `measure(**knobs)` is the mechanism's own target in it; the method moves it by at
    least `moves` (a negative number: it must fall) from where it is with the method `off`."""

    says: str
    measure: Callable[..., float]
    off: Mapping[str, Any]
    moves: float
    on: Mapping[str, Any] = field(default_factory=dict)

    def move(self) -> float:
        """How far the method moves its target, in the direction it must."""
        here = float(quietly(functools.partial(self.measure, **self.on)))
        return (here - self._off) * (1 if self.moves > 0 else -1)

    @functools.cached_property
    def _off(self) -> float:
        """Without the method, which no mutant of it changes."""
        return float(quietly(functools.partial(self.measure, **self.off)))


@dataclass(frozen=True)
class Mechanism:
    """What is tested of a published method.

    `source` says where the numbers are from: a formula of the paper, or a file of the released code at a commit. `numbers` are
    {what: (a function of no arguments, what it must come to)}. Mutants are made of the recipe's own file or folder, and of
    `also`, shared parts whose code is the method's; not of the functions `without`, {name: why} ("part.*": all of
    a class). `equal` names mutants that
    compute the same: {name: why}.
    """

    recipe: str
    source: str
    numbers: Mapping[str, tuple[Callable[[], Any], Any]]
    world: World
    also: Sequence[Any] = ()
    without: Mapping[str, str] = field(default_factory=dict)
    equal: Mapping[str, str] = field(default_factory=dict)

    def targets(self) -> list[Target]:
        """The functions that are mutated."""
        every = [target for thing in (*own_modules(self.recipe), *self.also) for target in targets_of(thing)]
        names = [{target.name, f"{target.holder}.*"} for target in every]
        unknown = set(self.without).difference(*names)
        assert not unknown, f"{self.recipe}: `without` names functions that are not there: {sorted(unknown)}"
        return [target for target, own in zip(every, names, strict=True) if not own & set(self.without)]

    @functools.cached_property
    def mutants(self) -> list[Mutant]:
        made = [mutant for target in self.targets() for mutant in mutants_of(target)]
        left = [mutant for mutant in made if mutant.name not in self.equal]
        assert len(left) >= LEAST, f"{self.recipe}: {len(left)} mutants; name the parts that are its code in `also`"
        unknown = set(self.equal) - {mutant.name for mutant in made}
        assert not unknown, f"{self.recipe}: `equal` names mutants that are not there: {sorted(unknown)}"
        assert len(made) - len(left) <= len(made) / 4, f"{self.recipe}: over a quarter of its mutants are called equal"
        return made

    def check_numbers(self) -> None:
        """Each number, with the message of the first that differs."""
        assert self.numbers and self.source, f"{self.recipe}: needs numbers, and where they are from"
        for what, (compute, expected) in self.numbers.items():
            assert_near(quietly(compute), expected, f"{self.recipe}: {what}")

    def check_world(self) -> None:
        moved = self.world.move()
        assert moved >= abs(self.world.moves), (
            f"{self.recipe}: {self.world.says}: moved by {moved}, not {self.world.moves}"
        )

    @functools.cached_property
    def seconds(self) -> float:
        """The processor's time that numbers and world take, of the method itself, which must pass."""
        begun = time.process_time()
        self.check_numbers()
        self.check_world()
        return time.process_time() - begun

    def told(self, mutant: Mutant, first: bool = False) -> set[str]:
        """Which of "numbers" and "world" tell the mutant from the method; with `first` one is enough."""
        by, limit = set[str](), max(SECONDS, TIMES * self.seconds)
        with put_in(mutant):
            for name, check in (("numbers", self.check_numbers), ("world", self.check_world)):
                if by and first:
                    break
                try:
                    with time_limit(limit):
                        check()
                except Endless:
                    return {"numbers", "world"}
                except Exception:  # noqa: BLE001 a mutant may raise anything, and has then been told
                    by.add(name)
        return by

    def sample(self) -> list[Mutant]:
        """Some mutants that are not equal, the same ones until the next release: one of each kind first, then others."""
        dice = random.Random(f"{gd.__version__} {self.recipe}")
        left = [mutant for mutant in self.mutants if mutant.name not in self.equal]
        dice.shuffle(left)
        first = {mutant.kind: mutant for mutant in reversed(left)}.values()
        return [*first, *(mutant for mutant in left if mutant not in first)][:SAMPLED]

    def survivors(self, mutants: Sequence[Mutant]) -> list[Mutant]:
        return [mutant for mutant in mutants if not self.told(mutant, first=True)]

    def check_mutants(self, mutants: Sequence[Mutant]) -> None:
        """The method passes, and no mutant survives."""
        alive = self.survivors(mutants)
        assert not alive, f"{self.recipe}: {len(alive)} of {len(mutants)} mutants survive:\n" + "\n".join(
            map(str, alive)
        )

    def check_all_mutants(self) -> None:
        """The method passes; those that are called equal survive and no others do; both numbers and the world tell some."""
        told = {mutant.name: self.told(mutant) for mutant in self.mutants}
        alive = [mutant for mutant in self.mutants if not told[mutant.name] and mutant.name not in self.equal]
        assert not alive, f"{self.recipe}: {len(alive)} of {len(told)} mutants survive:\n" + "\n".join(map(str, alive))
        wrong = [name for name in self.equal if told[name]]
        assert not wrong, f"{self.recipe}: told from the method, so not equal: {wrong}"
        for part in ("numbers", "world"):
            assert any(part in by for by in told.values()), f"{self.recipe}: its {part} tell no mutant from it"


# --- what rows are written with -----------------------------------------------------------------------------------


def made(name: str, task: Any = "parity:1", model: Any = None, reward: Any = None, **knobs: Any) -> Any:
    """The recipe, built with a table as the model unless another is given; a setting of its `on` is a knob too."""
    source = _task(task) if isinstance(task, str) else task
    slots = {"task": source, "model": model or gd.models.tabular("01", length=1, rows=64)}
    return entry_of(name).build({**slots, **({"reward": reward} if reward is not None else {})}, knobs)


def small_model() -> Any:
    """A language model of a few thousand weights, for what a table cannot be: a scorer, a critic."""
    return gd.models.load(_small_folder())


@functools.cache
def _small_folder() -> str:
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    small_lm(Path(folder.name))
    return folder.name


_entry = functools.cache(find_recipe)  # it reads the list of all recipes


def entry_of(name: str) -> Any:
    """A recipe of the package, or of a file in `examples` with this name."""
    return _entry(name if name in RECIPES or "." in name else str(EXAMPLES / f"{name}.py"))


@functools.cache
def _task(name: str) -> Any:
    return gd.tasks.load(name)


class Later(ExamplePlay):
    """A `play` at a step of a run."""

    def __init__(self, step: int, steps: int) -> None:
        super().__init__()
        self.step, self.steps = step, steps


class Scripted(Later):
    """A `play` in which the policy's answer to try number `attempt` at an ask is `answer(ask, attempt)`, one action for each
    character; an answer of None fails. Actions that the ask gives in advance are kept as given."""

    def __init__(self, answer: Callable[[Any, int], str | None], step: int = 0, steps: int = 1, **models: Any) -> None:
        super().__init__(step, steps)
        self.answer, self.models, self.asked = answer, models, 0
        self.seats = {name: name for name in models}

    def __call__(self, asks: Sequence[Any], env: Any = None, seats: Mapping[str, str] | None = None) -> list[Any]:
        episodes = []
        for ask in asks:
            for attempt in range(ask.n):
                text = self.answer(ask, attempt)
                turn = segment([*map(ord, text or "")], role=(env or _ALONE).roles[-1], view=ask.shown, text=text or "")
                if ask.prefix is not None:
                    turn = turn.but(given=ask.prefix.step)
                episodes.append(episode(turn, ask=ask, number=self.asked, attempt=attempt))
                if text is None:
                    episodes[-1] = episodes[-1].but(info={"error": "no answer"})
            self.asked += 1
        return episodes


_ALONE = single_turn()


def credited(recipe: Any, batch: Any, play: Any = None) -> list[float]:
    """The advantage of every step of the batch by the recipe's stages of credit."""
    for stage in recipe.stages.credit:
        batch = stage(batch, play or ExamplePlay())
    advantages: list[float] = batch["advantage"].tolist()
    return advantages


def paid(recipe: Any, samples: Sequence[Mapping[str, Any]]) -> list[float]:
    """What the recipe's last reward pays samples, which are the tries at one problem."""
    return list(gd.score_samples(recipe.stages.scores[-1].reward, list(samples)).whole)


def steps_paid(reward: Any, scores: Sequence[float]) -> list[float]:
    """What a formula around a reward of steps makes of these scores, from the inside out."""
    around = []
    while reward.of:
        around.append(reward)
        (reward,) = reward.of.values()
    steps = torch.tensor(scores)
    for each in reversed(around):
        steps = each.per_step(steps)
    made_of: list[float] = steps.tolist()
    return made_of


def table_after(odds: Mapping[str, Mapping[str, float]], vocab: str = "01", length: int = 2) -> Any:
    """A table with odds of its first action after each view, 1 where none are given; every later step is even."""
    model = gd.models.tabular(vocab, length=length, rows=4096)
    model.start(0, {})
    with torch.no_grad():
        for view, given in odds.items():
            row = model.weights.logits[_place(_mix(FNV_START, model.encode(view)), model.rows)]
            row[: len(vocab)] = torch.tensor([given.get(action, 1.0) for action in vocab]).log()
    return model


def forced_tries(model: Any, view: str | list[Any], *texts: str, number: int = 0) -> list[Any]:
    """Episodes of texts as tries at one problem, in a model's own actions."""
    episodes = []
    for attempt, text in enumerate(texts):
        reply = model.teacher_force(view, text)
        turn = segment(reply.actions, view=view, context=reply.context, logp=reply.logp, text=text)
        ask = gd.Ask(gd.Task(str(number), view if isinstance(view, str) else ""))
        episodes.append(episode(turn, ask=ask, number=number, attempt=attempt))
    return episodes


def said_tries(*problems: Sequence[tuple[Sequence[int], float]], column: str = "correct") -> Any:
    """A batch of tries at problems, each by its actions and what it is worth in a column per track."""
    episodes, worth = [], []
    for number, tries in enumerate(problems):
        for attempt, (actions, value) in enumerate(tries):
            episodes.append(episode(segment(list(actions)), name=str(number), number=number, attempt=attempt))
            worth.append(float(value))
    value = torch.tensor(worth)
    return pack(episodes).with_cols({column: Column("track", value, _reasons(value))})


def said_texts(*asks: tuple[Any, Sequence[str]]) -> Any:
    """A batch of tries by what they say, an action for each character: (an ask, or the name of a problem, and texts)."""
    episodes, attempts = [], dict[str, int]()
    for number, (asked, texts) in enumerate(asks):
        ask = gd.Ask(gd.Task(asked, asked)) if isinstance(asked, str) else asked
        for text in texts:
            attempts[ask.task.key] = attempts.get(ask.task.key, -1) + 1
            turn = segment([*map(ord, text)], view=ask.shown, text=text)
            episodes.append(episode(turn, ask=ask, number=number, attempt=attempts[ask.task.key]))
    return pack(episodes)


def learned(
    recipe: Any, draw: Callable[[int, torch.Tensor], Any], logits: torch.Tensor, steps: int, lr: float = 1.0
) -> torch.Tensor:
    """[R, A] the probabilities of answers in each of some rows after plain policy gradients on the advantages of the recipe's
    last reward and its credit. `draw(step, p)` gives a batch, and of each of its tracks the row and the answer."""
    for step in range(steps):
        p = logits.softmax(-1)
        batch, row, answer = draw(step, p)
        for stage in (recipe.stages.scores[-1], *recipe.stages.credit):
            batch = stage(batch, ExamplePlay())
        advantage = torch.nan_to_num(batch.up(batch["advantage"], "track") / batch.up(torch.ones(batch.S), "track"))
        pull = torch.nn.functional.one_hot(answer, logits.shape[-1]) - p[row]
        logits = logits.index_add(0, row, lr / len(row) * advantage[:, None] * pull)
    return logits.softmax(-1)


def _reasons(value: torch.Tensor) -> torch.Tensor:
    return torch.where(value.isnan(), int(Reason.FAILED), 0).to(torch.int8)


def tries_at(seen: Mapping[str, Sequence[float]], column: str = "advantage") -> Any:
    """A batch of tries of two steps at problems of kinds ("family:level"), each with what it has in a column per step."""
    episodes, values = [], []
    for kind, numbers in seen.items():
        family, _, level = kind.rpartition(":")
        for value in numbers:
            ask = gd.Ask(gd.Task(str(len(values)), "", family=family, level=int(level)))
            episodes.append(episode(segment([0, 0]), ask=ask, number=len(values)))
            values.append(value)
    every = torch.tensor(values).repeat_interleave(2)
    reason = _reasons(every)
    columns = {column: Column("step", every, reason), f"not_{column}": Column("step", every + 9, reason)}
    return pack(episodes).with_cols(columns)


def seen_by(curriculum: Any, *steps: Mapping[str, Sequence[float]]) -> Any:
    """The curriculum after steps whose tries had these advantages, kind by kind."""
    for seen in steps:
        if seen:
            curriculum.observe(tries_at(seen), ExamplePlay())
    return curriculum


# --- how they are run ---------------------------------------------------------------------------------------------


@functools.cache
def example(name: str) -> Any:
    """The module of a method in `examples`, as its recipe was loaded from it."""
    _entry(str(EXAMPLES / f"{name}.py"))
    return sys.modules[f"guerdon_user_{name}"]


def own_modules(recipe: str) -> list[Any]:
    """The module of a recipe, and those beside it in a folder of its own."""
    if recipe not in RECIPES:
        return [example(recipe)]
    place = RECIPES[recipe].module
    home, _, last = place.rpartition(".")
    if last != "recipe":
        return [importlib.import_module(place)]
    files = sorted(Path(str(importlib.import_module(home).__file__)).parent.glob("*.py"))
    return [importlib.import_module(f"{home}.{file.stem}") for file in files if file.stem != "__init__"]


def row_file(recipe: str) -> Path:
    family = RECIPES[recipe].family if recipe in RECIPES else EXAMPLES.name
    return HERE / family / f"{recipe.replace('-', '_')}.py"


@functools.cache
def row(recipe: str) -> Mechanism:
    """The mechanism that a recipe's file defines."""
    spec = importlib.util.spec_from_file_location(f"mechanism_of_{recipe.replace('-', '_')}", row_file(recipe))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (mechanism,) = (each for each in vars(module).values() if isinstance(each, Mechanism))
    assert mechanism.recipe == recipe, f"{row_file(recipe)} is about {mechanism.recipe}"
    return mechanism


def quietly(compute: Callable[[], Any]) -> Any:
    """With random numbers that are the same every time, and nothing that numpy warns of let through."""
    random.seed(0)
    np.random.seed(0)
    seed_torch(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        return compute()


def assert_near(here: Any, there: Any, what: str) -> None:
    """Numbers are near, NaN is NaN, and all else is the same."""
    here, there = _plain(here), _plain(there)
    assert _near(here, there), f"{what}: {here} is not {there}"


def _near(here: Any, there: Any) -> bool:
    if isinstance(there, dict):
        return isinstance(here, dict) and list(here) == list(there) and all(_near(here[k], there[k]) for k in there)
    if isinstance(there, list):
        return isinstance(here, list) and len(here) == len(there) and all(map(_near, here, there))
    if isinstance(there, int | float) and isinstance(here, int | float):
        return math.isclose(here, there, rel_tol=NEAR, abs_tol=NEAR / 10) or (math.isnan(here) and math.isnan(there))
    return bool(here == there)


def _plain(value: Any) -> Any:
    if isinstance(value, torch.Tensor | np.ndarray):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return {key: _plain(each) for key, each in value.items()} if isinstance(value, dict) else value


class Endless(Exception):
    """A mutant ran longer than any method does."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Of this process's own time, so that a busy machine changes nothing."""

    def stop(number: int, frame: Any) -> None:
        raise Endless

    plain = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, plain)
