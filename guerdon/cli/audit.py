"""`guerdon audit` and its quick form, `guerdon check`: what a reward pays for, before anything is trained on it.

Leaves out: `guerdon audit scores` (`audit_scores.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from guerdon.cli.audit_scores import EXAMPLES as SCORES_EXAMPLES
from guerdon.cli.audit_scores import audit_scores_verb
from guerdon.cli.options import Json, Model, Task, examples, takes_data
from guerdon.cli.output import UNBOUNDED, Output
from guerdon.cli.typed_names import refuse_typos
from guerdon.core.errors import UserError
from guerdon.runs.headline import plain

if TYPE_CHECKING:
    from guerdon.audits.report import AuditReport

FOUND = 1  # the exit code when something severe was found
WIDTH = 88  # columns if the terminal's width is unknown
VERIFIED = "verified"  # a task's own check, which is no reward by name
REWARD = "reward"  # what is audited when nothing else is named


class Audits(TyperGroup):
    """What can be audited. A word that names none of it is a reward: `audit my.py:right` is `audit reward my.py:right`."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        words = args or ["--help"]
        is_named = words[0] in self.commands or words[0] in ("-h", "--help")
        return super().parse_args(ctx, words if is_named else [REWARD, *words])


audits = typer.Typer(
    cls=Audits,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Find out what a reward pays for, before you train on it.

    `guerdon audit REWARD --task T` audits a reward (`guerdon check` is its quick form); `guerdon audit scores FILE --protocol
    NAME` evaluates the scores of a reward model by a public benchmark's rule. For options see `guerdon audit reward --help`
    and `guerdon audit scores --help`.""",
    epilog=examples(
        "guerdon audit my.py:right --task trace:3                   a reward of your own",
        "guerdon audit verified --task hops:3                       a task's own check, in a multi-turn environment",
        "guerdon audit http://127.0.0.1:8000/score --data my.jsonl  a reward behind an HTTP server",
        "guerdon audit scores scores.json.gz --protocol rewardmath  scores of a reward model",
    ),
)


Reward = Annotated[
    str,
    typer.Argument(
        metavar="REWARD",
        help="FILE.py:NAME (TRL's form too), a built-in reward, a reward model's folder, http://..., or: verified.",
    ),
]
Labels = Annotated[
    str | None,
    typer.Option("--labels", metavar="FILE", help="Human labels: RUN/labels/truth.jsonl, from guerdon view."),
]
Problems = Annotated[int, typer.Option("--problems", metavar="N", min=1, help="Number of problems.")]
Tries = Annotated[int, typer.Option("--tries", metavar="N", min=1, help="Samples of --model for each problem.")]
Out = Annotated[
    str | None,
    typer.Option("--out", metavar="DIR", help="Write audit.html and audit.json there; guerdon view shows them."),
]


@takes_data
def audit_reward_verb(
    reward: Reward,
    task: Task = None,
    rows: Any = None,
    labels: Labels = None,
    model: Model = None,
    problems: Problems = 20,
    tries: Tries = 4,
    adversary: Annotated[
        int,
        typer.Option("--adversary", metavar="CALLS", min=0, help="Calls of a search for new hacks, for example 2000."),
    ] = 0,
    rl: Annotated[bool, typer.Option("--rl", help="Also train sprig on the reward, for some minutes.")] = False,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="Random seed.")] = 0,
    out: Out = None,
    as_json: Json = False,
) -> int:
    """Audit a reward: findings ranked by harm, each with its clearest examples and a fix.

    The reward scores right answers in many formats, near-misses, and known hacks of policies and judges; in a multi-turn
    environment it scores whole episodes. The report has false positive and false negative rates by kind with intervals, the
    AUC of right against wrong, the effect of length, form, place and style on a score, whether partial credit is in order,
    whether scores are deterministic, and the time of a call. The exit code is 1 when something severe was found.
    """
    output = _started("audit", reward, task, rows, labels, model, as_json)
    from guerdon.audits.auditing import audit

    report = audit(
        reward, task, data=rows, labels=labels, model=model, tries=tries, problems=problems, adversary=adversary, rl=rl,
        seed=seed,
    )  # fmt: skip
    return _reported(output, report, out)


@takes_data
def check(
    reward: Annotated[
        str | None,
        typer.Argument(
            metavar="REWARD",
            help="FILE.py:NAME (TRL's form too), a built-in reward, a reward model's folder, http://..., or: verified.",
        ),
    ] = None,
    env: Annotated[
        str | None,
        typer.Option(
            "--env",
            metavar="ID|FILE.py:NAME",
            help="An environment of Gymnasium's kind, and REWARD of its steps, instead of a reward of text.",
        ),
    ] = None,
    reward_option: Annotated[
        str | None, typer.Option("--reward", metavar="FILE.py:NAME", help="Another way to name REWARD.")
    ] = None,
    episodes: Annotated[
        int, typer.Option("--episodes", metavar="N", min=2, help="Episodes of each player of --env.")
    ] = 8,
    task: Task = None,
    rows: Any = None,
    labels: Labels = None,
    model: Model = None,
    problems: Problems = 20,
    tries: Tries = 4,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="Random seed of the model's samples.")] = 0,
    out: Out = None,
    as_json: Json = False,
) -> int:
    """Test a reward before you train on it, in seconds: the quick form of `guerdon audit`.

    Asks it about right answers, the same written otherwise, near-misses, and the tricks that policies find. Severe is what is
    wrong and paid like a right answer, a right answer that is not paid, and a reward that raises or is not deterministic: then
    the exit code is 1. With --model its own tries are judged too. With --labels it is tested on what people called right, wrong
    or a hack, and needs no task.

    With --env an environment is tested, alone or with a reward of its steps: does it repeat under its seed, are `terminated`
    and `truncated` right, is all that it shows and pays finite, do players that act at random, do nothing, or know the way
    (the environment's own method `gold()`) earn what they should, and does the reward agree with the environment's own.
    """
    if reward is not None and reward_option is not None:
        raise UserError(f"two rewards, {reward} and --reward {reward_option}: name one")
    reward = reward if reward is not None else reward_option
    if env is not None:
        for name, given in {"--task": task, "--data": rows, "--labels": labels, "--model": model, "--out": out}.items():
            if given is not None:
                raise UserError(f"{name} is for rewards of text: remove it or --env")
        return check_env(Output(as_json), env, reward, episodes, seed)
    if reward is None:
        raise UserError("check needs a reward (guerdon check my.py:right --task trace:3) or an environment (--env ID)")
    output = _started("check", reward, task, rows, labels, model, as_json)
    from guerdon.audits.auditing import check_reward

    report = check_reward(
        reward, task, data=rows, labels=labels, model=model, tries=tries, problems=problems, seed=seed
    )
    return _reported(output, report, out)


def check_env(output: Output, env: str, reward: str | None, episodes: int, seed: int) -> int:
    """Of an environment, and a reward of its steps: what players earn, then what was found."""
    from guerdon.worlds.checking import check as check_world

    report = check_world(env, reward, episodes=episodes, seed=seed)
    known = [name for name in ("return", "env_return", "success", "steps") if any(name in p for p in report.players)]
    shown = [
        (
            p["player"],
            *(plain(p[name]) if name in p else "" for name in known),
            f"{plain(p['low'])} to {plain(p['high'])}",
        )
        for p in report.players
    ]
    if shown:
        output.table(("player", *(name.replace("_", " ") for name in known), "returns"), shown)
    parts = [
        (p["player"], "  ".join(f"{n} {plain(v)}" for n, v in p["parts"].items()))
        for p in report.players
        if "parts" in p
    ]
    if parts:
        output.say()
        output.table(("player", "components, sums over an episode"), parts)
    if report.agreement is not None:
        output.say(f"rank correlation of {report.reward} with the environment's return: {report.agreement:.2f}")
    for finding in report.findings:
        output.say(f"{finding.harm}: {finding.message}")
    if report.ok:
        about = f"{report.name}{f' with {report.reward}' if report.reward else ''}"
        output.say(f"{about}: nothing severe found in {episodes} episodes of each player")
    output.finish(report.to_dict())
    return 0 if report.ok else FOUND


def _started(
    verb: str, reward: str, task: Any, rows: Any, labels: str | None, model: str | None, as_json: bool
) -> Output:
    if task is None and rows is None and labels is None:
        raise UserError(f"{verb} needs a task: give --task NAME, --data FILE or --labels FILE")
    if model is not None and task is None and rows is None:
        raise UserError("--model needs problems: give --task NAME or --data FILE too")
    refuse_typos(task=task, model=model, reward=reward if reward != VERIFIED else None)
    return Output(as_json)


def _reported(output: Output, report: AuditReport, out: str | None) -> int:
    """The report on the terminal, in a folder where one is named, as JSON; and the exit code."""
    if not output.as_json:
        width = output.console.width
        output.say(report.page(WIDTH if width == UNBOUNDED else min(width, WIDTH)))
    told = report.to_dict()
    if out is not None:
        place = report.save(out)
        output.say(f"\nwritten to {place}/audit.html")
        told["out"] = str(place)
    output.finish(told)
    return 0 if report.ok else FOUND


audits.command(
    REWARD,
    epilog=examples(
        "guerdon audit my.py:right --task trace:3",
        "guerdon audit my.py:right --data sums.jsonl --prompt question --answer result --out audits/right",
        "guerdon audit my.py:right --task trace:3 --model sprig     and what a model writes",
        "guerdon audit my.py:right --task trace:3 --adversary 2000  and what a search finds",
        "guerdon audit runs/reward_model-countdown-2-001 --task countdown:2",
        "guerdon audit verified --task calculator/chain:4 --json",
    ),
)(audit_reward_verb)
audits.command("scores", epilog=SCORES_EXAMPLES)(audit_scores_verb)
