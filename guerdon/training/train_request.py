"""All that `train` is asked for: what is built, how long it runs, from which seed, how it is kept; and a rerun with changes,
which has all options of an earlier run, except those given now. One of which more steps alone are asked for is extended
(`extended.py`).

What run.json holds of a request is enough: names, paths and settings. Python files that it names are run by the rules of
`--resume` (`trust.py`); those that are replaced are not.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from guerdon.core.budget import NO_END, Budget, read_budget
from guerdon.core.errors import UserError
from guerdon.runs.folder import RunFolder
from guerdon.runs.run import Run
from guerdon.training.build import RunRequest
from guerdon.training.record import Options
from guerdon.training.trust import FILE_OF, check_trust


@dataclass(frozen=True)
class TrainRequest:
    """What was said; None for what was not."""

    run: RunRequest
    steps: int | None = None
    budget: Budget | None = None
    seed: int | None = None
    options: Options | None = None

    @classmethod
    def of(
        cls,
        run: RunRequest,
        steps: int | None,
        budget: str | Budget | None,
        seed: int | None,
        options: Options | None,
    ) -> TrainRequest:
        """A budget may be as it was typed."""
        return cls(run, steps, read_budget(budget) if isinstance(budget, str) else budget, seed, options)


@dataclass(frozen=True)
class Origin:
    """The run that another one is the same as, but for its `changes`: what `again` in run.json says."""

    run: str
    id: str
    hash: str
    changes: Mapping[str, tuple[Any, Any]]  # by name: then and now
    done: int = 0  # the steps of it that are taken over: the new run starts where it ended

    def to_config(self) -> dict[str, Any]:
        return {"run": self.run, "id": self.id, "hash": self.hash, **({"step": self.done} if self.done else {})}


STEPS = "steps"
OF_PROBLEMS = ("task", "check")


def rerun(folder: RunFolder, now: TrainRequest, trust: bool) -> tuple[TrainRequest, Origin]:
    """The request of an earlier run with what is said now in its place; and where it comes from, with what changed."""
    config = folder.read_config()
    if not config["plain"]:
        raise UserError(
            f"{folder.named} was started from Python objects, which its run.json cannot hold: train from where they are made"
        )
    check_trust(folder.named, config, trust, [slot for slot in FILE_OF if not _is_replaced(slot, now, config)])
    then = _then(config)
    joined = TrainRequest(
        _joined(then.run, now.run, folder.named),
        *_length(then, now),
        then.seed if now.seed is None else now.seed,
        now.options or then.options,
    )
    changes = {name: (a, b) for name, (a, b) in _both(_said(then), _said(joined)).items() if _value(a) != _value(b)}
    done = then.steps if _is_extended(folder, then, now) else None
    return joined, Origin(folder.named, str(config.get("id") or ""), config["hash"], changes, done or 0)


def _is_extended(folder: RunFolder, then: TrainRequest, now: TrainRequest) -> bool:
    """Whether all that is asked for is more steps of a finished run. How it is kept does not change what it learns."""
    if now.run != RunRequest(None, text=now.run.text) or now.budget is not None or now.seed is not None:
        return False
    longer = then.steps is not None and now.steps is not None and now.steps > then.steps
    return longer and then.budget is None and Run(folder).status == "complete"


def _is_replaced(slot: str, now: TrainRequest, config: Mapping[str, Any]) -> bool:
    """Whether what a slot names is given again. A check belongs to the problems that it is of."""
    if slot == "truth":
        return now.options is not None and now.options.truth != config["options"].get(slot)
    if slot in OF_PROBLEMS:
        return now.run.task is not None or now.run.data is not None
    if slot == "env":
        return "env" in now.run.settings
    return getattr(now.run, slot) is not None


def _then(config: Mapping[str, Any]) -> TrainRequest:
    budget = Budget(**config["budget"]) if config.get("budget") else None
    steps = None if config["kind"] == "study" or (budget and config[STEPS] == NO_END) else config[STEPS]
    return TrainRequest(RunRequest.of_config(config), steps, budget, config["seed"], Options.of_config(config))


def _length(then: TrainRequest, now: TrainRequest) -> tuple[int | None, Budget | None]:
    """The length of a run is one option: new steps or a new budget replace both."""
    if now.steps is not None or now.budget is not None:
        return now.steps, now.budget
    return (None if STEPS in now.run.settings else then.steps), then.budget


def _joined(then: RunRequest, now: RunRequest, run: str) -> RunRequest:
    text = then.text if then.text == now.text or not now.settings else True
    old, new = (_as_text(r.settings, run) if text and not r.text else dict(r.settings) for r in (then, now))
    has_problems = now.task is not None or now.data is not None
    return dataclasses.replace(
        then,
        recipe=then.recipe if now.recipe is None else now.recipe,
        task=now.task if has_problems else then.task,
        data=now.data if has_problems else then.data,
        model=then.model if now.model is None else now.model,
        reward=then.reward if now.reward is None else now.reward,
        settings={**old, **new},
        text=text,
    )


def _as_text(settings: Mapping[str, Any], run: str) -> dict[str, str]:
    """Settings given in Python as a command line would have them."""
    texts = {}
    for name, value in settings.items():
        if not isinstance(value, str | int | float | bool | list | tuple | None):
            raise UserError(
                f"{name}={value!r} cannot be joined with the settings of {run}, which has them as text: give all in Python"
            )
        texts[name] = value if isinstance(value, str) else json.dumps(value)
    return texts


def _said(request: TrainRequest) -> dict[str, Any]:
    """A request by the names of the command line."""
    run, budget = request.run, request.budget
    data = {"--data" if k == "path" else f"--{k.replace('_', '-')}": v for k, v in run.knobs_of_data.items()}
    return {
        "recipe": run.recipe,
        "--task": run.task,
        **data,
        "--model": run.model,
        "--reward": run.reward,
        **{f"--set {name}": value for name, value in run.settings.items()},
        "--steps": request.steps,
        "--budget": None if budget is None else f"{budget.amount:g}:{budget.unit}",
        "--seed": request.seed,
        **{f"--{k.replace('_', '-')}": v for k, v in (request.options or Options()).to_config().items()},
    }


def _both(then: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {name: (then.get(name), now.get(name)) for name in dict.fromkeys([*now, *then])}


def _value(value: Any) -> Any:
    """`0.30` on a command line and 0.3 in Python are the same value."""
    try:
        return json.loads(value) if isinstance(value, str) else list(value) if isinstance(value, tuple) else value
    except (ValueError, RecursionError):
        return value
