"""The arms of a claim: what is run, in plain values, so that any process can build it."""

from __future__ import annotations

import functools
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from guerdon.core.budget import Budget
from guerdon.core.errors import UserError
from guerdon.core.learn import Learn
from guerdon.core.part import fingerprint, knobs, walk
from guerdon.core.recipe import Claim, Recipe, RecipeEntry, Study
from guerdon.evidence.identity import tree_hash
from guerdon.prove.failure_modes import MEASURES, failure_mode
from guerdon.prove.judges import judge_of
from guerdon.prove.records import is_about_accuracy
from guerdon.prove.setting_suite import NamedSetting
from guerdon.runs.folder import RunFolder
from guerdon.training.api import set_length
from guerdon.training.build import Built, RunRequest, build, find_task, versions
from guerdon.training.catalog import entries_in, find_recipe, in_file
from guerdon.training.record import Options

METHOD, BASELINE, ABLATION, PLAIN = "method", "baseline", "ablation", "plain"
GRPO = "grpo"  # what is plain: it stands beside every method that learns by reinforcement
RATE = "lr"  # the knob of a learning rate
SAME = 1e-6  # factors of a rate that differ by less are one, as their six digits are
POLICY = "policy"
START_SEED = 0  # of what arms begin with: one model, as one that was downloaded is


@dataclass(frozen=True)
class Arm:
    """A recipe with its settings, and how long and how closely it is run: without a budget, for the recipe's length. `what`
    is how people call it; `starts` are what it begins with, by the model that each prepares."""

    what: str
    request: RunRequest
    budget: Budget | None
    options: Options
    starts: Mapping[str, Arm] = field(default_factory=dict)
    judge: str = ""  # what it learns from, where that is not the truth: a judge of a setting
    measure: str = ""  # of a failure mode, taken on every batch

    def begun(self, runs: Path) -> Arm:
        """The arm as it is run: it begins with what its starts left among the runs."""
        left = {name: RunFolder(runs / start.folder(START_SEED)) for name, start in self.starts.items()}
        model = str(left.pop(POLICY).path) if POLICY in left else self.request.model
        named = {name: str(run.models / self.starts[name].trains(name)) for name, run in left.items()}
        return replace(self, request=replace(self.request, model=model, prepared=named))

    def trains(self, name: str) -> str:
        """Which of its models prepares another recipe's `name`: the one called so, or the only one that learns."""
        learners = [part.model for _, part in walk(self.build().recipe) if isinstance(part, Learn)]
        if name not in learners and len(set(learners)) != 1:
            raise UserError(
                f"start: {self.what!r} trains {', '.join(learners) or 'nothing'}, none of which is {name!r}"
            )
        return name if name in learners else learners[0]

    def has(self, name: str) -> bool:
        """Whether a start can give it this model."""
        return name == POLICY or name in getattr(self.build().recipe, "models", ())

    def build(self) -> Built:
        """The recipe, given its judge, its budget, and what is measured beside it."""
        request = self.request
        if self.judge:
            request = replace(request, reward=judge_of(self.judge, find_task(request.task)))
        built = build(request)
        if self.measure and isinstance(built.recipe, Recipe):
            _measure(built.recipe, self.measure)
        if self.budget is not None:
            set_length(built, None, unspent(self.budget))
        return built

    @functools.cached_property
    def _made(self) -> tuple[str, bool, tuple[str, ...]]:
        """The recipe's hash, whether it is a study, and files of its own outside of the package."""
        built = self.build()
        return built.recipe.hash, isinstance(built.recipe, Study), built.own_files

    @property
    def hash(self) -> str:
        return self._made[0]

    @property
    def is_study(self) -> bool:
        return self._made[1]

    @property
    def code(self) -> str:
        """The hash of all the code that is there, files of its own among it."""
        return tree_hash(*self._made[2])

    @property
    def beside(self) -> Path | None:
        """Where files of its own lie, if it has some."""
        return next((Path(file).parent for file in self._made[2]), None)

    def identity(self) -> dict[str, Any]:
        """Its entry in an evidence file: its name, and its settings."""
        return {"what": self.what, "hash": self.hash}

    def key(self, seed: int) -> str:
        """The same for all runs that are the same experiment, whatever code runs it: the code is in the record."""
        if seed not in self._keys:  # a trial asks for each many times
            before = [[name, start.key(START_SEED)] for name, start in sorted(self.starts.items())]
            spends = None if self.budget is None else knobs(self.budget)
            self._keys[seed] = fingerprint([self.hash, spends, self.options.keeping, seed, *before])
        return self._keys[seed]

    def folder(self, seed: int) -> str:
        """What the folder of a run is called: by its key, and by the machine that its numbers come of."""
        return f"{self.key(seed)}-{machine()}"

    @functools.cached_property
    def rate(self) -> float | None:
        """Its learning rate without tuning; None where it has no knob for one."""
        default = find_recipe(self.request.recipe).knobs().get(RATE)
        rate = self.request.settings.get(RATE, default)
        return float(rate) if isinstance(rate, int | float | str) else None

    def at_rate(self, factor: float) -> Arm:
        """The same with a learning rate so many times as high."""
        if self.rate is None or abs(factor - 1.0) < SAME:
            return self
        if factor not in self._at_rates:
            settings = {**self.request.settings, RATE: f"{self.rate * factor:.6g}"}
            self._at_rates[factor] = replace(self, request=replace(self.request, settings=settings))
        return self._at_rates[factor]

    @functools.cached_property
    def _at_rates(self) -> dict[float, Arm]:
        return {}

    @functools.cached_property
    def _keys(self) -> dict[int, str]:
        return {}


@functools.cache
def machine() -> str:
    """What the same experiment may come out otherwise on: the device and the library of its arithmetic."""
    return fingerprint([versions()[name] for name in ("torch", "device", "machine")])[:8]


def _measure(recipe: Recipe, measure: str) -> None:
    """Take a measure of every batch, when it has been scored."""
    last = recipe.stages.scores[-1]
    place = 1 + next(i for i, stage in enumerate(recipe.stages) if stage is last)
    recipe.stages = [*recipe.stages[:place], failure_mode(measure), *recipe.stages[place:]]


def unspent(budget: Budget) -> Budget:
    """The budget, unspent: an arm is run many times."""
    return Budget(**knobs(budget))


def arms_of(recipe: str, claim: Claim, options: Options) -> dict[str, Arm]:
    """The method and what it is compared with; each with the starts that it has a model for. Where the method is GRPO's kin,
    its paper's baseline is not plain GRPO and the claim is about accuracy, that stands beside them."""
    file, name = in_file(recipe)
    beside = entries_in(file) if file else {}
    method = f"{name or next(iter(beside))} {claim.method}".strip()
    if claim.kind == "slope":
        named = {f"{METHOD} {value}": f"{method} {value}" for value in points_of(claim)}
    elif claim.kind == "bound":
        named = {METHOD: method}
    else:
        named = {METHOD: method, BASELINE: claim.baseline, ABLATION: claim.ablation}
    arms = {name: make_arm(text, claim, options, file, beside) for name, text in named.items() if text}
    first = next(iter(arms.values()))
    is_against_another = BASELINE in arms and claim.baseline.split()[0] != GRPO
    if is_against_another and is_about_accuracy(claim) and learns_by_grpo(first):
        arms[PLAIN] = make_arm(GRPO, claim, options, file, beside)
    if METHOD not in arms:
        return arms
    for model, start in arms[METHOD].starts.items():
        if model != POLICY:
            start.trains(model)
        if not any(arm.has(model) for arm in arms.values()):
            raise UserError(
                f"start prepares the model {model!r}, which no arm has: name one of the models of its recipes"
            )
    return {n: replace(a, starts={m: s for m, s in a.starts.items() if a.has(m)}) for n, a in arms.items()}


def arms_in_setting(recipe: str, claim: Claim, setting: NamedSetting, options: Options) -> dict[str, Arm]:
    """The method, the baseline and the ablation under the setting's judge, and GRPO on the truth. The failure mode is measured
    in the baseline, so that GRPO on the truth is one arm in all settings of one task."""
    file, name = in_file(recipe)
    beside = entries_in(file) if file else {}
    texts = {
        METHOD: f"{name or next(iter(beside))} {claim.method}".strip(),
        BASELINE: claim.baseline,
        ABLATION: claim.ablation,
    }
    arms = {
        role: replace(make_arm(text, claim, options, file, beside), judge=setting.judge)
        for role, text in texts.items()
        if text
    }
    if setting.failure.measure in MEASURES:
        arms[BASELINE] = replace(arms[BASELINE], measure=setting.failure.measure)
    arms[PLAIN] = replace(arms[BASELINE], judge="", measure="") if setting.judge else arms[BASELINE]
    return arms


def learns_by_grpo(arm: Arm) -> bool:
    """Whether it is one run of a recipe based on GRPO with the same kind of exam, so that plain GRPO is comparable."""
    entry: RecipeEntry | None = find_recipe(arm.request.recipe)
    recipe = arm.build().recipe
    if not isinstance(recipe, Recipe) or (recipe.exams and recipe.exams[0].env is not None):
        return False
    while entry is not None and entry.name != GRPO:
        entry = entry.on
    return entry is not None


def points_of(claim: Claim) -> list[str]:
    """The settings that a slope goes along: `tries=2`, `tries=4`, ..."""
    knob, equals, values = claim.along.partition("=")
    if not equals or values.count(",") < 1:
        raise UserError(f"a slope goes along values of a knob, along='tries=2,4,8', not {claim.along!r}")
    return [f"{knob}={value}" for value in values.split(",")]


def starts_of(claim: Claim) -> dict[str, str]:
    """What is trained first, by the model that it prepares: the policy, by default."""
    return {POLICY: claim.start} if claim.start and isinstance(claim.start, str) else dict(claim.start or {})


def make_arm(text: str, claim: Claim, options: Options, file: str = "", beside: Container[str] = ()) -> Arm:
    """An arm from its words: a recipe and, after it, knobs (`grpo kl=0.04`); the claim's settings come first. Recipes
    `beside` the claim's own, in the same `file`, are meant before those of the package."""
    alone = replace(claim, settings="", start="")
    starts = {
        model: replace(make_arm(first, alone, options, file, beside), budget=None)
        for model, first in starts_of(claim).items()
    }
    name, *own = text.split()
    where = f"{file}:{name}" if name in beside else name
    settings = {**read_settings(claim.settings.split(), text), **read_settings(own, text)}
    request = RunRequest(where, claim.task or None, claim.model or None, settings=settings, text=True)
    return Arm(text, request, Budget(claim.budget, claim.unit), options, starts)


def read_settings(words: list[str], where: str) -> dict[str, str]:
    settings = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise UserError(
                f"an arm is a recipe and its knobs, RECIPE KNOB=VALUE ..., so {word!r} in {where!r} is none"
            )
        settings[name] = value
    return settings


def changed(claim: Claim, **changes: Any) -> Claim:
    """A claim with what the user asked for in its place."""
    return replace(claim, **{k: v for k, v in changes.items() if v is not None})
