"""`guerdon audit scores`: a reward model's scores in a file, evaluated by the protocol of a public benchmark."""

from __future__ import annotations

from typing import Annotated

import typer

from guerdon.cli.options import Json, Reward, examples
from guerdon.cli.output import UNBOUNDED, Output
from guerdon.core.errors import UserError

WIDTH = 80  # columns if the terminal's width is unknown
PROTOCOLS = (  # by name, so that --help need not load what reads them
    "contrast, dimensions, judgebench, pairs, prmbench, processbench, rewardbench, rewardbench-2, rewardmath, rm-bench,"
    " trajectory-pairs"
)
EXAMPLES = examples(
    "guerdon audit scores                                       the protocols, and what a row of each holds",
    "guerdon audit scores scores.json.gz --protocol rewardmath",
    "guerdon audit scores scores.csv --protocol rewardbench --json",
    "guerdon audit scores steps.jsonl --protocol processbench --threshold gsm8k",
    "guerdon audit scores texts.jsonl --protocol pairs --reward my.py:right",
)


def audit_scores_verb(
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="Rows of scores: JSON, JSON lines, CSV, Parquet, JSON in gzip.")
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option("--protocol", metavar="NAME", help=f"Benchmark rule: {PROTOCOLS}."),
    ] = None,
    reward: Reward = None,
    threshold: Annotated[
        str,
        typer.Option("--threshold", metavar="X|SPLIT", help="Above it a step is right; a split: its best threshold."),
    ] = "0.5",
    draws: Annotated[
        int, typer.Option("--draws", metavar="N", min=0, help="Bootstrap samples of problems for intervals; 0: none.")
    ] = 1000,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="Random seed of the bootstrap.")] = 0,
    as_json: Json = False,
) -> int:
    """Evaluate a reward model by a file of its scores, exactly as a public benchmark does.

    Prints the benchmark's own numbers, each with its 95 % interval over problems, and what else the file permits: calibration,
    correlation with length, what best of N gains. Scores that are missing are counted, never guessed. With --reward rows that
    have texts and no scores are scored first. Without FILE the protocols are listed.
    """
    from guerdon.audits.scores.scoring import audit_scores, find_protocol, score_protocols

    output = Output(as_json)
    if file is None:
        for name, says in score_protocols().items():
            output.say(f"{name:<17}{says}")
            output.say(f"{'':<17}a row holds {find_protocol(name).holds}")
        output.finish({"protocols": score_protocols()})
        return 0
    if protocol is None:
        raise UserError(f"no benchmark rule: give --protocol NAME: {PROTOCOLS}")
    report = audit_scores(file, protocol, reward=reward, threshold=_number_or_word(threshold), draws=draws, seed=seed)
    if not as_json:
        width = output.console.width
        output.say(report.page(WIDTH if width == UNBOUNDED else min(width, WIDTH)))
    output.finish(report.to_dict())
    return 0


def _number_or_word(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
