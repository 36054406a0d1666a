"""The verdict of a proof: all that lists, pages and figures show of it, without its runs."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Any

from guerdon.evidence.words import runs_of

COSTS = ("tokens", "read", "updates", "seconds")  # besides the budget's own unit
HEX = 8  # digits of the hash of a run's weights
RUNS, TRIED, HOW, MACHINES = "runs", "tried", "how", "machines"
OF_RUNS = ("seeds", "score", "spent", "weights")  # of an arm, in place of its runs


def brief(proof: Mapping[str, Any]) -> dict[str, Any]:
    """A proof, or a calibration, without its runs. Of its code it keeps units and files, which say whether it is stale, and
    the names of the sets of units that its runs executed."""
    verdict = {k: v for k, v in proof.items() if k != RUNS}
    if "code" in proof:
        code = proof["code"]
        verdict["code"] = {**code, "sets": sorted(code["sets"])} if "sets" in code else {}
    if "claims" in proof:
        verdict["claims"] = [_claim(claim) for claim in proof["claims"]]
    return verdict


def _claim(claim: Mapping[str, Any]) -> dict[str, Any]:
    costs = dict.fromkeys((*COSTS, claim["claim"]["unit"]))
    return {
        **{k: v for k, v in claim.items() if k not in (TRIED, HOW)},
        "arms": {name: _arm(arm, costs) for name, arm in claim["arms"].items()},
        MACHINES: sorted({run["machine"] for run in runs_of(claim)}),
    }


def _arm(arm: Mapping[str, Any], costs: Mapping[str, Any]) -> dict[str, Any]:
    """What it is, its curve, and of its runs how many there are, what they scored and cost on average, and their weights."""
    runs = arm[RUNS]
    spent = {unit: [run["spent"][unit] for run in runs if unit in run["spent"]] for unit in costs}
    of_runs = (
        len(runs),
        fmean(run["score"] for run in runs),
        {unit: fmean(values) for unit, values in spent.items() if values},
        " ".join(run["weights"][:HEX] for run in runs),
    )
    return {**{k: v for k, v in arm.items() if k != RUNS}, **dict(zip(OF_RUNS, of_runs, strict=True))}
