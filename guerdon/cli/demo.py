"""`guerdon demo`: a laptop, nothing to download, three minutes, and a language model has learned something.

Trains the built-in model with GRPO on a task it does badly (it gets six SQL queries in ten wrong) and shows what
changed.
Ends with exit code 1 when the gain on held-out problems is under 20 points:
a demo that does not learn must not look as if it did.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from guerdon.cli import demo_hack
from guerdon.cli.options import Json
from guerdon.cli.output import Output
from guerdon.cli.train import TakenAtOnce
from guerdon.core.errors import RunStopped, UserError

if TYPE_CHECKING:
    from guerdon.core.task import Task
    from guerdon.training.trained import Trained

TASK, STEPS = "text_to_sql:6", 28
SETTINGS = {"prompts": 8, "lr": 4e-5, "max_tokens": 96}
CHECKER = {"checker": "plain"}  # of queries: boxes are for unknown models
GAIN = 0.20


def demo(
    task: Annotated[str, typer.Option("--task", metavar="NAME[:LEVEL]", help="The task to train on.")] = TASK,
    steps: Annotated[
        int | None, typer.Option("--steps", metavar="N", help=f"Steps to train.  [default: {STEPS}]")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="Random seed.")] = 0,
    out: Annotated[str | None, typer.Option("--out", metavar="DIR", help="The run folder.")] = None,
    hack: Annotated[bool, typer.Option("--hack", help="Show a reward being hacked, and the alarm.")] = False,
    as_json: Json = False,
) -> int:
    """Train the built-in language model on a task it does badly. Fails if it gains less than 20 points.

    With --hack the reward is hackable: the policy finds the hole, the watch raises an alarm, and an audit names the hole.
    """
    from guerdon import models
    from guerdon.cli.progress import Watch
    from guerdon.runs.folder import resume_command
    from guerdon.training import api
    from guerdon.training.record import Options

    output = Output(as_json)
    if hack:
        if task != TASK:
            raise UserError(f"the hackable reward is for {demo_hack.TASK}: remove --task or --hack")
        return demo_hack.demo_hack(output, demo_hack.STEPS if steps is None else steps, seed, out)
    steps = STEPS if steps is None else steps
    plain = _plain(task)
    size = sum(p.numel() for p in models.load("sprig").weights.parameters()) / 1e6
    output.say(
        f"sprig, a language model of {size:.1f} M parameters, learns {task} by GRPO: {SETTINGS['prompts']} problems,"
        f" 8 tries each, {steps} times"
    )
    began = time.monotonic()
    with Watch(output.console) as watch:
        options = Options(eval_tasks=128, eval_tries=2, rollouts_every=5, save_every=steps)
        run = api.train(
            "grpo", task=task, model="sprig", steps=steps, seed=seed, out=out, options=options, listeners=[watch],
            settings=SETTINGS | {f"{task.partition(':')[0]}.{name}": value for name, value in plain.items()},
        )  # fmt: skip
    if not run.complete:
        raise TakenAtOnce(f"interrupted; resume with: {resume_command(run.folder)}")
    before, after = run.evaluations[0], run.evaluations[-1]
    gain = after["pass@1"] - before["pass@1"]
    if not as_json:
        _show_rollouts(output, run, seed)
        _show_accuracy(output, before, after, gain)
        output.pairs({"report": run.folder.shown(run.folder.report)})
    seconds = time.monotonic() - began
    output.finish({"run": run.folder.named, "report": run.folder.shown(run.folder.report),
                   "before": before, "after": after, "gain": gain,
                   "seconds": seconds})  # fmt: skip
    if gain < GAIN:
        raise RunStopped(f"the gain is {100 * gain:.1f} points, under the {100 * GAIN:.0f} this demo promises")
    return 0


def _show_rollouts(output: Output, run: Trained, seed: int) -> None:
    """Two held-out problems, before and after with the same luck: the first two of 32 on which the two differ."""
    from guerdon import models, tasks
    from guerdon.training import api

    task = run.config["wish"]["task"]
    source = tasks.load(task, **_plain(task))
    problems = [source.get("test", i) for i in range(32)]
    old, new = models.load("sprig"), run.model()
    answers = [api.answers(model, problems, seed=seed) for model in (old, new)]
    differ = [
        i
        for i in range(len(problems))
        if source.check(problems[i], answers[0][i]) != source.check(problems[i], answers[1][i])
    ]
    for i in (differ + [j for j in range(len(problems)) if j not in differ])[:2]:
        output.say(f"\n{str(problems[i].prompt).strip()}")
        for name, text in (("before", answers[0][i]), ("after", answers[1][i])):
            output.say(f"  {name:7s}{_mark(source, problems[i], text)}  {' | '.join(text.splitlines())}")


def _plain(task: str) -> dict[str, str]:
    """What the task is to be loaded with."""
    return CHECKER if task.startswith("text_to_sql") else {}


def _mark(source: Any, task: Task, text: str) -> str:
    return "right" if source.check(task, text) == 1.0 else "wrong"


def _show_accuracy(output: Output, before: dict[str, Any], after: dict[str, Any], gain: float) -> None:
    from guerdon.cli.output import rate

    output.say("")
    output.pairs(
        {
            "accuracy": f"{rate(before)} -> {rate(after)}  {before['task']}, {before['tasks']} held-out problems",
            "gain": f"{100 * gain:+.1f} points",
        }
    )
