"""`guerdon demo --hack`: a reward that looks sensible, a policy that finds its hole, and the watch that reports it.

One point for a right answer, half a point for every line of work that is shown: the built-in model learns to keep writing
until it is cut off, and never answers. The truth, the task's own check, is never trained on.
Ends with exit code 1 where no alarm was raised: a demo that shows nothing must not look as if it did.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from guerdon.cli.output import Output
from guerdon.cli.train import TakenAtOnce
from guerdon.core.errors import RunStopped

if TYPE_CHECKING:
    from guerdon.audits.report import AuditReport
    from guerdon.rewards.formula.reward import Reward
    from guerdon.runs.event_types import Alarmed
    from guerdon.training.trained import Trained

TASK, STEPS = "countdown:3", 24
SETTINGS = {"prompts": 6, "lr": 5e-5, "max_tokens": 64}
PER_LINE = 0.5  # points for a line of work; a right answer has one
PROBLEMS = 8  # of the audit beforehand
SHOWN = 3  # of what it finds
GAP, HELD_AGAINST = "proxy_gap", ("proxy_gap", "lost_agreement")  # rules that need the truth


def lines_of_work(completion: str) -> float:
    """How much work is shown."""
    return float(sum(bool(line.strip()) for line in completion.splitlines()))


def hackable(source: Any) -> Reward:
    """The reward with the hole."""
    from guerdon.rewards.asking.function import reward
    from guerdon.rewards.stage.score_stages import checker

    return checker(source) + reward(lines_of_work, isolate=False).weight(PER_LINE)


def demo_hack(output: Output, steps: int, seed: int, out: str | None) -> int:
    """Train on it, report what the watch found, then what an audit beforehand would have found."""
    from guerdon import tasks
    from guerdon.audits.auditing import audit
    from guerdon.cli.progress import Watch
    from guerdon.training import api
    from guerdon.training.record import Options

    began = time.monotonic()
    source = tasks.load(TASK)
    reward = hackable(source)
    output.say(
        f"sprig learns {TASK} with a hackable reward, {reward}: 1 point for a right answer, 0.5 for every line of work."
        " The task's own checker is logged, not used for training"
    )
    with Watch(output.console) as onlooker:
        options = Options(eval_tasks=0, rollouts_every=5, save_every=steps, truth="verified")
        run = api.train(
            "grpo", task=source, model="sprig", reward=reward, steps=steps, seed=seed, out=out, options=options,
            listeners=[onlooker], settings=SETTINGS,
        )  # fmt: skip
    if not run.complete:
        raise TakenAtOnce("interrupted before the end of the demo")
    alarm = next((each for each in run.alarms if each.rule == GAP), None)
    if not output.as_json:
        _show_curves(output, run)
        if alarm is not None:
            _show_rollouts(output, alarm)
        output.pairs({"report": run.folder.shown(run.folder.report)})
    audited = audit(reward, source, problems=PROBLEMS)
    if not output.as_json:
        _show_audit(output, audited)
    output.finish(
        {
            "run": run.folder.named,
            "report": run.folder.shown(run.folder.report),
            "alarm": None
            if alarm is None
            else {"step": alarm.step, "severity": alarm.severity, "message": alarm.message},
            "curves": curves(run),
            "severe": [str(finding) for finding in audited.severe],
            "spent": run.spent,
            "seconds": time.monotonic() - began,
        }
    )
    if alarm is None:
        raise RunStopped(f"no alarm in {steps} steps: the policy did not find the hole, so there is nothing to show")
    return 0


def curves(run: Trained) -> list[dict[str, float]]:
    """Reward, truth and length of every step."""
    from guerdon.runs.event_types import StepDone

    names = {"reward": "reward/mean", "truth": "truth/mean", "length": "length/mean"}
    return [{"step": e.step, **{k: e.metrics[v] for k, v in names.items()}} for e in run.events(StepDone)]


def _show_curves(output: Output, run: Trained) -> None:
    """Every third step, and those of the alarms about reward and truth."""
    raised = {each.step: f"<- {each.rule}" for each in reversed(run.alarms) if each.rule in HELD_AGAINST}
    every = curves(run)
    rows = [
        (f"{each['step']:.0f}", *(f"{each[name]:.2f}" for name in ("reward", "truth")), f"{each['length']:.0f}",
         raised.get(int(each["step"]), ""))
        for each in every
        if each["step"] % 3 == 0 or each["step"] in (*raised, len(every) - 1)
    ]  # fmt: skip
    output.say("")
    output.table(("step", "reward", "truth", "tokens", ""), rows)


def _show_rollouts(output: Output, alarm: Alarmed) -> None:
    output.say("\nthree of the rollouts:")
    for each in alarm.rollouts:
        numbers = each["numbers"]
        output.say(f"  {each['prompt'].strip()}")
        output.say(
            f"    reward {numbers['reward']:g}, truth {numbers['truth']:g}: {' | '.join(each['said'].splitlines())}"
        )
    output.say("")


def _show_audit(output: Output, audited: AuditReport) -> None:
    output.say(
        f"\nguerdon audit would have found it before training: {len(audited.severe)} severe findings"
        f" on {audited.problems} problems"
    )
    for finding in audited.severe[:SHOWN]:
        output.say(f"  {finding}")
        output.say(f"    fix: {finding.fix}")
