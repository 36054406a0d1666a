"""`guerdon audit`: what a reward rewards, told before anything is trained on it; `guerdon audit scores` is another file's."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from guerdon.cli.audit_scores import EXAMPLES as SCORES_EXAMPLES
from guerdon.cli.audit_scores import audit_scores_verb
from guerdon.cli.options import Json, Model, Task, examples, takes_data
from guerdon.cli.output import UNBOUNDED, Output
from guerdon.core.errors import UserError

FOUND = 1  # the exit code when something severe was found
WIDTH = 88  # columns where nobody says how many there are
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
    help="""Know what a reward rewards, before you train on it.

    `guerdon audit REWARD --task T` audits a reward; `guerdon audit scores FILE --protocol NAME` holds the scores of a reward
    model to a public benchmark's rule. `guerdon audit reward --help` and `guerdon audit scores --help` tell more.""",
    epilog=examples(
        "guerdon audit my.py:right --task trace:3                   a reward of your own",
        "guerdon audit verified --task hops:3                       a task's own check, in a world of turns",
        "guerdon audit http://127.0.0.1:8000/score --data my.jsonl  one behind an address",
        "guerdon audit scores scores.json.gz --protocol rewardmath  scores of a reward model",
    ),
)


@takes_data
def audit_reward_verb(
    reward: Annotated[
        str,
        typer.Argument(
            metavar="REWARD",
            help="FILE.py:NAME (TRL's form too), one on the shelf, a reward model's folder, http://..., or: verified.",
        ),
    ],
    task: Task = None,
    rows: Any = None,
    model: Model = None,
    problems: Annotated[int, typer.Option("--problems", metavar="N", min=1, help="Problems to ask about.")] = 20,
    tries: Annotated[int, typer.Option("--tries", metavar="N", min=1, help="Tries of --model at a problem.")] = 4,
    adversary: Annotated[
        int, typer.Option("--adversary", metavar="CALLS", min=0, help="Search for hacks with so many calls: 2000.")
    ] = 0,
    rl: Annotated[bool, typer.Option("--rl", help="Train sprig against the reward as well, for some minutes.")] = False,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="Where all chance comes from.")] = 0,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="DIR", help="Write audit.html and audit.json there; guerdon view shows them."),
    ] = None,
    as_json: Json = False,
) -> int:
    """Audit a reward: findings ranked by harm, each with its clearest examples and the mend.

    It is asked about right answers written in many ways, near-misses, and what policies and judges are fooled by; in a world of
    several turns whole episodes are played. Told are false positives and negatives by kind with intervals, how well right is
    told from wrong, what length, form, place and style do to a score, whether partial credit is in order, whether it wavers,
    how long a call takes. The exit code is 1 when something severe was found.
    """
    from guerdon.audits.auditing import audit

    if task is None and rows is None:
        raise UserError("audit a reward on what? give --task NAME or --data FILE")
    output = Output(as_json)
    report = audit(
        reward, task, data=rows, model=model, tries=tries, problems=problems, adversary=adversary, rl=rl, seed=seed
    )
    if not as_json:
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
