"""How well every process reward that has evidence judges lines, and what a policy could farm of it: a table.

`python -m bench.judged_rewards` reads guerdon/evidence and records/ and runs nothing: the numbers are those of the exam `steps`
at the end of the runs of methods and of what they are held against, their mean over seeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Any

from guerdon.evidence import proof_files

HEAD = {  # what stands above a column, the number of the exam, and how it is written
    "first-error F1": ("first_error_f1", "{:.2f}"),
    "step AUC": ("step_auc", "{:.2f}"),
    "calibration error": ("step_ece", "{:.3f}"),
    "farmed a step": ("farm_step", "{:+.3f}"),
    "at most, a try": ("farm_most", "{:+.2f}"),
    "sound answers": ("sound@1", "{:.1%}"),
    "right by wrong lines": ("false_positive_share", "{:.1%}"),
}


def measured(arm: Mapping[str, Any]) -> dict[str, float]:
    """Of an arm's runs, the mean of each number of the exam of steps at the end, where all have it."""
    last = [run["points"][-1]["result"] for run in arm["runs"] if run.get("points")]
    numbers = {}
    for name, _ in HEAD.values():
        known = [result.get(f"steps/{name}", result.get(name)) for result in last]
        if known and None not in known:
            numbers[name] = fmean(known)
    return numbers


def rows(family: str = "process") -> list[str]:
    """A line of the table for every arm of every recipe that has the exam: the method and what it is held against."""
    lines: dict[str, str] = {}
    for proof in proof_files.read_all(proof_files.SHIPPED).values():
        for claim in proof["claims"] if proof["family"] == family else ():
            for role in ("method", "baseline"):
                arm = claim["arms"][role]
                numbers = measured(arm)
                if numbers:
                    cells = [form.format(numbers[name]) if name in numbers else "" for name, form in HEAD.values()]
                    lines[arm["what"]] = f"| `{arm['what']}` | {' | '.join(cells)} |"
    return list(lines.values())


def main() -> None:
    print(f"| recipe | {' | '.join(HEAD)} |")
    print(f"| --- |{' ---: |' * len(HEAD)}")
    print("\n".join(rows()))


if __name__ == "__main__":
    main()
