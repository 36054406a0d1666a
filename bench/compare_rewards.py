"""All rewards without labels beside the truth, from four starts: what each gains, when it collapses, and what foretells that.

Every start has problems to choose among; the truth's arm is tried on each at several rates, and all arms are run where it gains
most. That arm is also the gate: where it gains less than 12 points over its start, the figures of this start say nothing.
Leaves out: how runs are made and written down (`phases.py`), the arms themselves (`unlabelled.py`), pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from statistics import fmean, median
from typing import Any

from bench.collapse_signs import BLOCK, FALSE, LEAD, WARNED, Watched, chosen, deserves, judged
from bench.compare_figures import ROW, TOP, differences, interval
from bench.phases import COMPARED, TUNED_BY, TUNING, Label, Labelled, Size
from guerdon.core.recipe import Claim
from guerdon.evidence.figure import svg, text
from guerdon.prove.arms import Arm, make_arm
from guerdon.prove.known import Known
from guerdon.prove.records import Record
from guerdon.prove.trial import WantedRun
from guerdon.studies.collapse import Curve, collapse_step, gain_at_best, model_collapse_step
from guerdon.training.catalog import entries_in

NAME = "rewards_without_labels"
FILE = str(Path(__file__).with_name("unlabelled.py"))
TRUTH = "truth"
ARMS = (
    TRUTH, "vote", "cross vote", "weighted vote", "entropy", "self-certainty", "likelihood", "answer confidence",
    "self-judge", "format and length", "random",
)  # fmt: skip
GATE = 0.12  # what the truth's arm has to gain
SIGNS = {  # what foretells a collapse, by the number of a step that it is
    "vote share": "sign/votes",
    "distinct answers": "sign/answers",
    "twins": "watch/identical",
    "entropy": "policy/entropy",
    "length": "length/mean",
    "repetition": "watch/repeated",
    "KL from the start": "sign/kl",
    "disagreement of rewards": "sign/disagreement",
}
RIGHT = "correct/mean"  # of the tries of training
FULL = Size(60, "steps", prompts=16, tries=8, every=4, between=256, whole=512, seeds=8, rates=(1e-5, 2e-5, 4e-5, 8e-5))
PILOT = Size(6, "steps", prompts=2, tries=2, every=2, between=2, whole=2, seeds=2, rates=(3e-5,))


@dataclass(frozen=True)
class Start:
    """A policy that all arms begin with, and problems that it could learn."""

    about: str
    model: str
    tasks: tuple[str, ...]
    before: str = ""  # training that makes it

    def cut(self) -> Start:
        """With the first of its problems, and a brief training."""
        return Start(self.about, self.model, self.tasks[:1], f"{self.before} steps=2 prompts=4" if self.before else "")


STARTS = {  # levels whose answers are numbers, with many problems that some of eight tries solve, none cut at 64 tokens
    "weak": Start("sprig-2, which solves a third of them", "sprig-2", ("equation:5", "equation:6")),
    "strong": Start("sprig-2, which solves more than half of them", "sprig-2", ("equation:3", "lists:4")),
    "mostly right": Start(
        "sprig-1.1 after a few near-misses",
        "sprig-1.1",
        ("chain:3", "trace:2"),
        "misled share=0.3 steps=120 prompts=64 lr=5e-5",
    ),
    "misled": Start(
        "sprig-1.1 after many near-misses", "sprig-1.1", ("chain:3", "trace:2"), "misled steps=120 prompts=64 lr=5e-5"
    ),
}


@dataclass(frozen=True)
class StartArms(Labelled):
    """All arms from one start."""

    name: str = ""
    start: Start = STARTS["weak"]
    size: Size = FULL
    arms: dict[tuple[str, str, float], Arm] = field(default_factory=dict, compare=False)

    def claim(self, task: str, rate: float) -> Claim:
        settings = self.size.settings(rate, 64)
        return Claim(
            NAME, task=task, model=self.start.model, settings=settings, start=self.start.before, budget=self.size.length,
            unit=self.size.unit,
        )  # fmt: skip

    def arm(self, reward: str, task: str, rate: float) -> Arm:
        if (reward, task, rate) not in self.arms:
            claim = self.claim(task, rate)
            made = make_arm("unlabelled", claim, self.size.options, FILE, _entries())
            settings = {**made.request.settings, "by": reward}
            named = f"{reward} {task} from {self.name}"
            self.arms[reward, task, rate] = replace(made, what=named, request=replace(made.request, settings=settings))
        return self.arms[reward, task, rate]

    def label(self, phase: str, reward: str, task: str, rate: float, seed: int) -> Label:
        return {
            "comparison": NAME, "phase": phase, "start": self.name, "reward": reward, "task": task, "rate": rate, "seed": seed,
            "steps": self.size.length,
        }  # fmt: skip

    def run(self, phase: str, reward: str, task: str, rate: float, seed: int) -> tuple[WantedRun, Label]:
        return WantedRun(self.arm(reward, task, rate), seed), self.label(phase, reward, task, rate, seed)

    def wanted(self, known: Known) -> list[WantedRun]:
        tuning = [
            self.run(TUNING, TRUTH, task, rate, TUNED_BY) for task in self.start.tasks for rate in self.size.rates
        ]
        missing = self.missing(tuning, known)
        if missing:
            return missing
        records = [known.get(run.key) for run, _ in tuning]
        task, rate = best_of([record for record in records if record is not None])
        runs = [self.run(COMPARED, reward, task, rate, seed) for seed in range(self.size.seeds) for reward in ARMS]
        return self.missing(runs, known)


@cache
def _entries() -> Any:
    return entries_in(FILE)


def parts(pilot: bool) -> list[StartArms]:
    """Of a pilot one start alone, that which is trained before."""
    if pilot:
        return [StartArms({}, "misled", STARTS["misled"].cut(), PILOT)]
    return [StartArms({}, name, start, FULL) for name, start in STARTS.items()]


SERIES = (*SIGNS.values(), RIGHT)


# --- numbers of a run -------------------------------------------------------------------------------------------------


def exams_of(record: Record) -> Curve:
    return [(point["spent"].get("steps", 0.0), point["result"]["pass@1"]) for point in record["points"]]


def best_of(records: Sequence[Record]) -> tuple[str, float]:
    """The problems and the rate at which the truth's arm ends furthest above its start; of equals the lower rate."""
    gains = {(r["task"], r["rate"]): exams_of(r)[-1][1] - exams_of(r)[0][1] for r in records}
    task, rate = max(gains, key=lambda at: (gains[at], -at[1]))
    return task, rate


def watched(record: Record) -> Watched:
    series = record["series"]
    return Watched(
        {sign: series[name] for sign, name in SIGNS.items() if name in series}, collapse_step(exams_of(record))
    )


def measured(record: Record) -> dict[str, Any]:
    """What a run came to; of one that was stopped the reason alone."""
    if "stopped" in record:
        return {"seed": record["seed"], "stopped": record["stopped"]}
    exams = exams_of(record)
    tries = [(float(step), right) for step, right in enumerate(record["series"].get(RIGHT, []))]
    return {
        "seed": record["seed"],
        "curve": [list(point) for point in exams],
        "start": exams[0][1],
        "end": exams[-1][1],
        "gain_at_best": gain_at_best(exams),
        "collapse_step": collapse_step(exams),
        "model_collapse_step": model_collapse_step(tries, block=4),
    }


# --- telling ------------------------------------------------------------------------------------------------------


def tell(records: Sequence[Record]) -> dict[str, Any]:
    """All that is known, of the longest runs that are there: arms by start, and the signs over all starts."""
    mine = [r for r in records if r["comparison"] == NAME]
    steps = max((r["steps"] for r in mine), default=0)
    mine = [r for r in mine if r["steps"] == steps]
    starts = {}
    for name in STARTS:
        runs = sorted(
            (r for r in mine if r["start"] == name and r["phase"] == COMPARED), key=lambda r: (r["rate"], r["seed"])
        )
        if runs:
            found = {arm: [measured(r) for r in runs if r["reward"] == arm] for arm in ARMS}
            told = {arm: each for arm, each in found.items() if each}
            starts[name] = {"about": STARTS[name].about, "task": runs[0]["task"], "rate": runs[0]["rate"], "arms": told}
    seeds = sorted({r["seed"] for r in mine if r["phase"] == COMPARED})
    halves = seeds[: len(seeds) // 2], seeds[len(seeds) // 2 :]
    whole = [r for r in mine if r["phase"] == COMPARED and "stopped" not in r]
    first, second = ([watched(r) for r in whole if r["seed"] in half] for half in halves)
    machines = sorted({r["versions"]["device"] for r in whole})
    facts = {"comparison": NAME, "steps": steps, "device": ", ".join(machines), "runs": len(mine)}
    return {**facts, "starts": starts, "chosen_on": halves[0], "judged_on": halves[1], "signs": signs(first, second)}


def signs(first: Sequence[Watched], second: Sequence[Watched]) -> list[dict[str, Any]]:
    """Each sign with the rule that was chosen on the first runs, and what it came to on either, the best on top."""
    found: list[dict[str, Any]] = []
    for sign in SIGNS:
        rule = chosen(first, sign)
        if rule is None:
            found.append({"sign": sign, "rule": None})
            continue
        there, here = judged(first, rule), judged(second, rule)
        found.append({"sign": sign, "rule": str(rule), "chosen": there, "judged": here, "deserves": deserves(here)})
    return sorted(found, key=lambda each: -((each.get("judged") or {}).get("warned") or -1.0))


def passes(start: Mapping[str, Any]) -> bool:
    """Whether the truth's arm gains enough from a start for its figures to say anything."""
    gains = [run["end"] - run["start"] for run in start["arms"].get(TRUTH, ()) if "stopped" not in run]
    return bool(gains) and fmean(gains) >= GATE


def table(told: Mapping[str, Any]) -> str:
    """As Markdown: arms by start, then signs."""
    lines = []
    for name, start in told["starts"].items():
        void = "" if passes(start) else " **The truth's arm gains less than 12 points: these figures say nothing.**"
        lines += [f"**{name}**: {start['about']}, {start['task']}, learning rate {start['rate']:g}.{void}", ""]
        lines += ["| reward | at the end | gain at best | collapsed | at step |"]
        lines += ["| --- | ---: | ---: | ---: | ---: |"]
        lines += [f"| {arm} | {' | '.join(_cells(runs))} |" for arm, runs in start["arms"].items()]
        lines.append("")
    lines += [
        f"| sign | warns | in time | of collapses from step {BLOCK + LEAD} on | of runs without a collapse | steps before |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for each in told["signs"]:
        cells = _judged(each["judged"]) if each["rule"] else [""] * 4
        lines.append(f"| {each['sign']} | {each['rule'] or 'no rule warns in time'} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", _sentence(told)])


def _cells(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    ran = [run for run in runs if "stopped" not in run]
    if not ran:
        return ["*stopped*", "", "", ""]
    mean, low, high = interval([100 * run["end"] for run in ran])
    steps = [run["collapse_step"] for run in ran if run["collapse_step"] is not None]
    stopped = f", {len(runs) - len(ran)} *stopped*" if len(ran) < len(runs) else ""
    return [
        f"{mean:.1f} ({low:.1f} to {high:.1f}){stopped}",
        f"{100 * fmean(run['gain_at_best'] for run in ran):+.1f}",
        f"{len(steps)} of {len(ran)}",
        f"{median(steps):g}" if steps else "",
    ]


def _judged(found: Mapping[str, Any]) -> list[str]:
    shares = [
        f"{100 * found[name]:.0f} %" if found[name] is not None else "" for name in ("warned", "warned_late", "false")
    ]
    return [*shares, f"{found['lead']:g}" if found["lead"] is not None else ""]


def _sentence(told: Mapping[str, Any]) -> str:
    """Whether any sign is worth a rule of the watch."""
    if not any((each.get("judged") or {}).get("collapses") for each in told["signs"]):
        return (
            f"No rule could be judged: none was chosen on seeds {_list(told['chosen_on'])}, or no other run collapsed."
        )
    good = [each["rule"] for each in told["signs"] if each.get("deserves")]
    how = f"{LEAD} steps before in {100 * WARNED:.0f} % of the collapses with at most {100 * FALSE:.0f} % false alarms"
    seeds = f"chosen on seeds {_list(told['chosen_on'])}, judged on seeds {_list(told['judged_on'])}"
    return f"Of these signs {'warn' if good else 'none warns'} {how}{': ' + '; '.join(good) if good else ''} ({seeds})."


def _list(seeds: Sequence[int]) -> str:
    return ", ".join(map(str, seeds)) or "none"


def draw(told: Mapping[str, Any]) -> str:
    """From each start, by how many points every arm ends above it."""
    drawn, left, rows = [], 200.0, 0
    for name, start in told["starts"].items():
        gaps = {
            arm: [100 * (run["end"] - run["start"]) for run in runs if "stopped" not in run]
            for arm, runs in start["arms"].items()
        }
        gaps = {arm: each for arm, each in gaps.items() if each}
        rows = max(rows, len(gaps))
        drawn.append(text(f"{name}: points above its start, {start['task']}", left, 16, weight="600"))
        drawn += differences(gaps, left, left + 220.0, named=True)
        left += 460.0
    return svg(drawn, left - 180.0, TOP + ROW * rows + 26)
