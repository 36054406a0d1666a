"""Several recipes on one task at equal generated tokens, seed by seed: a table and a figure.

`python -m bench.compare algorithms` holds the standard algorithms against each other, `curricula` ways of choosing problems,
`lengths` ways to shape how long a policy thinks, `process` ways to reward steps (`compare_steps.py`). Runs are shared with
`guerdon prove` and go on after an interruption. Nothing is tuned for anyone: all have the same learning rate, and whatever else
is a recipe's own default stays.

`rewards_without_labels` (`compare_rewards.py`) and `losses_under_noise` (`compare_losses.py`) tune the rate on the truth first,
in some 280 small runs each. `--minutes 8` stops in time, and the same command goes on from `records.jsonl` among the runs;
`--tell` writes the numbers, the figure and, with `--page FILE`, the tables between the marks of a page, and runs nothing;
`--pilot` is the whole way on a processor, in minutes, at sizes that say nothing.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench import compare_losses, compare_rewards, compare_steps
from bench.compare_figures import draw
from bench.phases import known_records, run_phases
from guerdon.core.errors import UserError
from guerdon.core.recipe import Claim
from guerdon.core.statistics import t_interval
from guerdon.prove.arms import Arm, make_arm
from guerdon.prove.jobs import RunJob
from guerdon.prove.known import Known
from guerdon.prove.proving import How, model_and_versions, run_trials
from guerdon.prove.records import curve_of, mean_curve, score_of
from guerdon.prove.trial import WantedRun
from guerdon.runs.whole_files import write_readable_json, write_text

SETTINGS = "prompts=16 tries=8 lr=5e-5 max_tokens=64"
COMPARISONS: dict[str, tuple[Claim, tuple[str, ...]]] = {
    "algorithms": (
        Claim(
            "the standard algorithms", task="countdown:2-4", settings="prompts=16 lr=5e-5 max_tokens=64", budget=250_000
        ),
        ("grpo", "rloo", "reinforce_pp", "remax", "ppo", "dapo", "gspo"),
    ),
    "curricula": (
        Claim("which problems to try", task="countdown:1-6", settings=SETTINGS),
        (
            "grpo",
            "dump",
            "sec",
            "pcl",
            "balanced-online-difficulty-filtering",
            "knapsack-rl",
            "masa",
            "clpo",
            "sws",
            "medcco",
            "ghpo how=start",
            "guide how=start",
            "exit times=0",
        ),
    ),
    "lengths": (
        Claim(
            "how long to think",
            task="countdown:1-6",
            settings="prompts=16 tries=8 lr=5e-5 max_tokens=192",
            start="searcher",
            budget=800_000,
        ),
        (
            "grpo",
            "curriculum-grpo budget=128 final=48 announce=nothing",
            "curriculum-grpo budget=48 final=48 announce=nothing",
            "hbpo announce=number",
            "dr-saf aware=false",
        ),
    ),
    "process": (compare_steps.CLAIM, tuple(compare_steps.ARMS)),
}
PHASED: dict[str, Any] = {module.NAME: module for module in (compare_rewards, compare_losses)}
LENGTH = "length"  # of an answer, in tokens
FIRST = "grpo"  # what the others are held against


@dataclass(frozen=True)
class Race:
    """Arms that are run with the same seeds, by what they are called."""

    claim: Claim
    arms: Mapping[str, Arm]
    seeds: range

    def wanted(self, known: Known) -> list[WantedRun]:
        """All that is not known on one machine: arms are held against each other."""
        runs = [WantedRun(arm, seed) for arm in self.arms.values() for seed in self.seeds]
        return [run for run in runs if known.get(run.key) is None]

    def machine(self, known: Known) -> str | None:
        """A machine that has them all; None where none has."""
        return known.together(arm.key(seed) for arm in self.arms.values() for seed in self.seeds)

    def measured(self, known: Known, arm: Arm) -> dict[str, Any]:
        """An arm's runs with their curves, scores and lengths."""
        keys, machine = [arm.key(seed) for seed in self.seeds], self.machine(known) or known.machine
        records = [record for key in keys if (record := known.get(key, machine)) is not None]
        curves = [curve_of(record, self.claim) for record in records]
        lengths = [curve_of(record, self.claim, metric=LENGTH) for record in records]
        runs = [
            {
                "seed": seed,
                "spent": record["spent"],
                "score": score_of(record, self.claim),
                "length": score_of(record, self.claim, LENGTH),
                "curve": curve,
                "steps": compare_steps.stepwise(record),
                "kinds": record["points"][-1]["result"]["kinds"],
                **{key: record[key] for key in ("created", "versions", "at_a_time")},
            }
            for seed, record, curve in zip(self.seeds, records, curves, strict=True)
        ]
        return {**arm.identity(), "curve": mean_curve(curves), "lengths": mean_curve(lengths), "runs": runs}


def compare(name: str, how: How, seeds: range) -> dict[str, Any]:
    """Run what is missing; every arm's runs and how it stands to the first."""
    claim, texts = COMPARISONS[name]
    race = Race(claim, {text: make_arm(text, claim, how.options(claim)) for text in texts}, seeds)
    how = how.from_here()
    known = how.known
    run_trials([race] if race.machine(known) is None else [], known, how, _progress)
    arms = {text: race.measured(known, arm) for text, arm in race.arms.items()}
    shown = {k: getattr(claim, k) for k in ("task", "settings", "start", "budget", "unit")}
    return {"comparison": name, **shown, "arms": arms, **model_and_versions(claim.model, [{"arms": arms}])}


def _progress(done: int, total: int, last: RunJob | None) -> None:
    print(f"{done} of {total}: {last.name if last else 'begin'}", flush=True)


def table(found: Mapping[str, Any]) -> str:
    """Accuracy at the end with its interval, the paired difference from the first arm, easy and hard levels, and cost."""
    arms = found["arms"]
    target = _mean([run["score"] for run in arms[FIRST]["runs"]])
    head = [
        "recipe",
        "accuracy",
        f"less {FIRST}",
        "easy",
        "hard",
        "tokens an answer",
        f"tokens to {100 * target:.1f} %",
        "samples",
        "seconds",
    ]
    rows = [f"| {' | '.join(head)} |", f"| --- |{' ---: |' * (len(head) - 1)}"]
    for text, arm in arms.items():
        runs = arm["runs"]
        mean, low, high, _ = t_interval([run["score"] for run in runs])
        gaps = [a["score"] - b["score"] for a, b in zip(runs, arms[FIRST]["runs"], strict=True)]
        d = t_interval(gaps)
        easy, hard = ([_half(run, end) for run in runs] for end in (0, 1))
        cells = [
            f"`{text}`",
            f"{100 * mean:.1f} ({100 * low:.1f} to {100 * high:.1f})",
            "" if text == FIRST else f"{100 * d[0]:+.1f} ({100 * d[1]:+.1f} to {100 * d[2]:+.1f})",
            f"{100 * _mean(easy):.1f}",
            f"{100 * _mean(hard):.1f}",
            f"{_mean([run['length'] for run in runs]):.1f}",
            _reached(runs, target),
            f"{_mean([run['spent']['samples'] for run in runs]):,.0f}",
            f"{_mean([run['spent']['seconds'] for run in runs]):.0f}",
        ]
        rows.append(f"| {' | '.join(cells)} |")
    before = _mean([run["curve"][0]["value"] for run in arms[FIRST]["runs"]])
    notes = (
        f"{found['task']}, {found['model']['version']}, {found['budget']:,.0f} tokens each, {len(arms[FIRST]['runs'])} seeds;"
        f" before training {100 * before:.1f} %. In brackets 95 % intervals; differences are seed by seed. Easy and hard are"
        f" the lower and the upper half of the levels. Seconds are of training on {found['versions']['device']},"
        f" {found['versions']['at_a_time']} runs at a time."
    )
    return "\n".join([*rows, "", notes])


def _half(run: Mapping[str, Any], end: int) -> float:
    kinds = sorted(run["kinds"].items(), key=lambda item: int(item[0].rpartition(":")[2]))
    middle = (len(kinds) + 1 - end) // 2  # of an odd number of levels the middle one is easy
    return _mean([value for _, value in (kinds[middle:] if end else kinds[:middle])])


def _reached(runs: Sequence[Mapping[str, Any]], target: float) -> str:
    """The median number of tokens at which a run first reached the target, on lines between its evaluations."""
    at = sorted(_first(run["curve"], target) for run in runs)
    middle = at[(len(at) - 1) // 2]
    done = sum(a < float("inf") for a in at)
    return f"{middle:,.0f}" if middle < float("inf") else f"{done} of {len(at)} did"


def _first(curve: Sequence[Mapping[str, Any]], target: float) -> float:
    for a, b in pairwise(curve):
        if b["value"] >= target:
            share = (target - a["value"]) / (b["value"] - a["value"]) if b["value"] > a["value"] else 1.0
            return float(a["spent"] + max(0.0, share) * (b["spent"] - a["spent"]))
    return float("inf")


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def compare_phased(name: str, args: argparse.Namespace) -> None:
    """Run what is missing of a comparison in phases, unless it is only told; its numbers, its figure and its tables."""
    module, runs = PHASED[name], Path(args.runs)
    if not args.tell:
        how = How(runs=runs, jobs=args.jobs)
        run_phases(module.parts(args.pilot), how, module.SERIES, args.minutes)
    told = module.tell(known_records(runs))
    write_readable_json(Path(args.out) / f"{name}.json", told)
    write_text(Path(args.out) / f"{name}.svg", module.draw(told))
    found = module.table(told)
    if args.page:
        write_text(args.page, between_marks(args.page.read_text(encoding="utf-8"), name, found))
    print(found)


def between_marks(page: str, name: str, found: str) -> str:
    """A page with other text between its marks of a comparison.

    >>> between_marks("a\\n<!-- it -->\\nold\\n<!-- end of it -->\\nb\\n", "it", "new")
    'a\\n<!-- it -->\\nnew\\n<!-- end of it -->\\nb\\n'
    """
    first, last = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, begins, rest = page.partition(first)
    _, ends, after = rest.partition(last)
    if not (begins and ends):
        raise UserError(f"the page has no place for these tables: {first.strip()} and {last}, each on a line")
    return f"{before}{first}{found}\n{last}{after}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", choices=[*COMPARISONS, *PHASED])
    parser.add_argument("--out", default="docs/figures", help="where WHICH.json and WHICH.svg go")
    parser.add_argument("--runs", default="runs/prove")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=0.0, help="stop after so many; 0: at the end")
    parser.add_argument("--tell", action="store_true", help="run nothing")
    parser.add_argument("--pilot", action="store_true", help="small sizes, to see all of it run")
    parser.add_argument("--page", type=Path, help="a page whose tables are renewed")
    args = parser.parse_args()
    if args.which in PHASED:
        compare_phased(args.which, args)
        return
    said = f" --seeds {args.seeds}" * (args.seeds != 8) + f" --first-seed {args.first_seed}" * (args.first_seed != 0)
    command = f"python -m bench.compare {args.which}{said}"
    how = How(runs=Path(args.runs), jobs=args.jobs)
    found = {**compare(args.which, how, range(args.first_seed, args.first_seed + args.seeds)), "command": command}
    write_readable_json(Path(args.out) / f"{args.which}.json", found)
    figure = compare_steps.draw(found) if args.which == "process" else draw(found, FIRST)
    write_text(Path(args.out) / f"{args.which}.svg", figure)
    tell = compare_steps.table if args.which == "process" else table
    print(tell(json.loads((Path(args.out) / f"{args.which}.json").read_text())))


if __name__ == "__main__":
    main()
