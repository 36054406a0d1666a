"""A finished run that is extended: another run of more steps, which starts from the last checkpoint of the first and ends with
the weights of one unbroken run of that many steps.

It is refused where these weights would differ: something follows a schedule over the whole run, or the recipe plays ahead.
Leaves out: which requests ask for it (`train_request.py`).
"""

from __future__ import annotations

import dis
import inspect
import itertools
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.function_parts import FunctionStage
from guerdon.core.knob_values import is_schedule
from guerdon.core.learn import Learn
from guerdon.core.part import describe, fingerprint, knobs, label, spelled, walk
from guerdon.core.recipe import Recipe
from guerdon.rewards.stage.early_asking import AsksEarly
from guerdon.runs.belonging import owners
from guerdon.runs.checkpoint import load_checkpoint, save_checkpoint
from guerdon.runs.folder import RunFolder

BEGUN = ("clock", "noise")  # what run.json says of how a run began, and one that extends it keeps
SETTLES = (Learn, FunctionStage, AsksEarly)  # these read the length of a run for the schedules of their knobs


def refuse_extension(parent: RunFolder, recipe: Recipe, steps: int) -> None:
    """Refuse what would not end as one unbroken run of so many steps does. `recipe` is as long as the new run."""
    config = parent.read_config()
    then = config["steps"]
    restart = f"rerun from the start with --again {parent.named} --steps {steps} --seed {config['seed']}"
    recipe.steps = then
    same = fingerprint(describe(recipe)) == config["hash"]
    recipe.steps = steps
    if not same:
        raise UserError(
            f"{parent.named} was started with another version of this recipe, its data or its reward: {restart}"
        )
    if recipe.ahead:
        raise UserError(
            f"{parent.named} plays ahead, and a finished run has no episodes of the step after its last: {restart}"
        )
    if schedule := next(_schedules(recipe, then, steps), None):
        raise UserError(
            f"{schedule} changes over the whole run, so {then} steps of it are not part of {steps}: {restart}"
        )


def inherit(parent: RunFolder, folder: RunFolder, keep: int) -> list[str]:
    """Give a new run the last checkpoint of the run that it extends; what to say of it."""
    faults: list[str] = []
    checkpoint = load_checkpoint(parent.checkpoints, faults.append, owners(parent))
    if checkpoint is None or faults:
        why = faults[0].partition(";")[0] if faults else "it has no checkpoint"
        return [f"{parent.named} has lost its final weights ({why}): its steps are trained again"]
    save_checkpoint(folder.checkpoints, checkpoint, keep, owner=folder.run_id())
    return []


def _schedules(recipe: Recipe, then: int, steps: int) -> Iterator[str]:
    """What depends on the length of a run within its first `then` steps: schedules, and parts that read it."""
    for path, member in walk(recipe):
        for name, value in {path: member, **{f"{path}.{name}": value for name, value in knobs(member).items()}}.items():
            if is_schedule(value) and any(value.at(step, then) != value.at(step, steps) for step in range(then)):
                yield f"{name}={spelled(value)}"
        if any(map(_reads_length, _code_of(member))):
            yield f"{path}={label(member)}"


def _code_of(member: Any) -> Iterator[CodeType]:
    """The code of a part: of its methods, and of the function that it was made of."""
    for each in type(member).__mro__:
        if each not in SETTLES:
            functions = (getattr(value, "__func__", value) for value in vars(each).values())
            for function in functions:
                if isinstance(function, FunctionType):
                    yield from _with_inner(inspect.unwrap(function).__code__)


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_inner(constant)


def _reads_length(code: CodeType) -> bool:
    """Whether it reads `play.steps`."""
    pairs = itertools.pairwise(dis.get_instructions(code))
    return any(b.opname == "LOAD_ATTR" and b.argval == "steps" and a.argval == "play" for a, b in pairs)
