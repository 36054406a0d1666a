"""The arms of a claim: what is run, in plain values, so that any process can build it."""

from __future__ import annotations

import functools
from collections.abc import Container
from dataclasses import dataclass, replace
from typing import Any

from guerdon.core.budget import Budget
from guerdon.core.errors import UserError
from guerdon.core.part import fingerprint, knobs
from guerdon.core.recipe import Claim, Recipe
from guerdon.loop.api import set_length
from guerdon.loop.build import Built, Wish, build
from guerdon.loop.catalog import entries_in, in_file
from guerdon.loop.record import Options

METHOD, BASELINE, ABLATION = "method", "baseline", "ablation"


@dataclass(frozen=True)
class Arm:
    """A recipe with its settings, and how long and how closely it is run. `what` is how people call it."""

    what: str
    wish: Wish
    budget: Budget
    options: Options

    def build(self) -> Built:
        """The recipe, given its budget. A study spends what it spends."""
        built = build(self.wish)
        if isinstance(built.recipe, Recipe):
            set_length(built, None, unspent(self.budget))
        return built

    @functools.cached_property
    def hash(self) -> str:
        return self.build().recipe.hash

    def key(self, seed: int) -> str:
        """The same for all runs that would come out the same."""
        return fingerprint([self.hash, knobs(self.budget), knobs(self.options), seed])


def unspent(budget: Budget) -> Budget:
    """The budget, unspent: an arm is run many times."""
    return Budget(**knobs(budget))


def arms_of(recipe: str, claim: Claim, options: Options) -> dict[str, Arm]:
    """The method, the baseline and, where the claim has one, the ablation."""
    file, name = in_file(recipe)
    beside = entries_in(file) if file else {}
    method = f"{name or next(iter(beside))} {claim.method}".strip()
    named = {METHOD: method, BASELINE: claim.baseline, ABLATION: claim.ablation}
    return {name: make_arm(text, claim, options, file, beside) for name, text in named.items() if text}


def make_arm(text: str, claim: Claim, options: Options, file: str = "", beside: Container[str] = ()) -> Arm:
    """An arm from its words: a recipe and, after it, knobs (`grpo kl=0.04`); the claim's settings come first. Recipes
    `beside` the claim's own, in the same `file`, are meant before those of the package."""
    name, *own = text.split()
    settings = {**read_settings(claim.settings.split(), text), **read_settings(own, text)}
    where = f"{file}:{name}" if name in beside else name
    wish = Wish(where, claim.task or None, claim.model or None, settings=settings, text=True)
    return Arm(text, wish, Budget(claim.budget, claim.unit), options)


def read_settings(words: list[str], where: str) -> dict[str, str]:
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise UserError(
                f"an arm is a recipe and its knobs, RECIPE KNOB=VALUE ..., so {word!r} in {where!r} is none"
            )
        found[name] = value
    return found


def changed(claim: Claim, **changes: Any) -> Claim:
    """A claim with what the user asked for in its place."""
    return replace(claim, **{k: v for k, v in changes.items() if v is not None})
