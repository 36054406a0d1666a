"""Resuming a run: settings that may not change, and changes that the user did not ask for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError
from guerdon.training.build import Built, RunRequest, model_facts, versions


def other_machine(config: Mapping[str, Any]) -> list[str]:
    """What differs from where the run began, as far as it can change the last bit of a result."""
    then, now = config["versions"], versions()
    kinds = ("torch", "threads", "machine")
    differ = [f"{k} {then.get(k)} then, {now[k]} now" for k in kinds if then.get(k) != now[k]]
    return [f"resumed elsewhere, so the result may differ in the last bits: {'; '.join(differ)}"] if differ else []


def other_code(config: Mapping[str, Any], built: Built) -> list[str]:
    """What differs from the code that the run began with."""
    then, now = config.get("code"), built.code
    differ = f"code {then} then, {now} now"
    return [f"resumed with other code than it began with, so the result may differ: {differ}"] if then != now else []


def base_gone(path: str, config: Mapping[str, Any]) -> UserError | None:
    """Why a run cannot resume that trains an adapter of a model which was moved or removed."""
    for place, _ in _bases(config.get("models")).values():
        if not Path(place).exists():
            return UserError(f"{path} trains an adapter of the model in {place}, which is not there: put it back")
    return None


def refuse_other_base(path: str, config: Mapping[str, Any], built: Built) -> None:
    """An adapter is trained over the weights that it began with: they are not in the run."""
    now = _bases(model_facts(built.recipe))
    for name, (place, then) in _bases(config.get("models")).items():
        if name not in now or now[name][1] != then:
            raise UserError(
                f"{path} trains an adapter of the model in {place}, whose weights have changed: restore the ones that it began"
                " with, or start a new run with --out"
            )


def _bases(models: Any) -> dict[str, tuple[str, str]]:
    """Where the weights below adapters lie, and their hashes, by model."""
    known = models.items() if isinstance(models, dict) else ()
    return {name: (str(facts["base"]), facts.get("base_hash", "")) for name, facts in known if "base" in facts}


def refuse_conflicts(
    path: str, config: Mapping[str, Any], request: RunRequest, steps: int | None, seed: int | None
) -> None:
    """A run resumes as it was started: options that are given again must be the same. What Python objects say is in the
    hash."""
    named = {"recipe": request.recipe, "--task": request.task, "--model": request.model, "--reward": request.reward}
    kept_data = config["data"] or {}
    said_data = {k: v for k, v in request.knobs_of_data.items() if isinstance(v, bool | int | float | str)}
    values: dict[str, tuple[Any, Any]] = {
        "--steps": (steps, config["steps"]),
        "--seed": (seed, config["seed"]),
        **{
            flag: (value, config["recipe"] if flag == "recipe" else config["wish"][flag.removeprefix("--")])
            for flag, value in named.items()
            if isinstance(value, str)
        },
        **{
            "--data" if k == "path" else f"--{k.replace('_', '-')}": (v, kept_data.get(k)) for k, v in said_data.items()
        },
    }
    if isinstance(request.recipe, str | None):
        values |= {f"--set {k}": (v, config["settings"].get(k)) for k, v in request.settings.items()}
    for flag, (now, kept) in values.items():
        if now is not None and _value(now) != _value(kept):
            start = f"with {flag} {kept}, not {now}" if kept is not None else f"without {flag}"
            raise UserError(f"{path} was started {start}: leave it out to resume, or start a new run with --out")


def _value(value: Any) -> Any:
    """`0.01` on a command line and 0.01 in Python are the same value."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value
