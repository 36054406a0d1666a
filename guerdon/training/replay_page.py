"""A replay in a line, and for a notebook: what another reward would have taught, step by step, and which samples moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from guerdon.core.html import note, number, page, pairs, table

if TYPE_CHECKING:
    from guerdon.training.replaying import Replay

STEP = ("samples", "scored", "compared", "flips", "pearson", "spearman", "old_mean", "new_mean")
MOVED = ("step", "task", "completion", "old_reward", "new_reward", "old_advantage", "new_advantage")
SAMPLES = 10


def in_a_line(replayed: Replay) -> str:
    total = replayed.total
    return (
        f"Replay({replayed.reward} on {replayed.run}: {total['samples']} samples, {total['flips']} of {total['compared']}"
        f" advantages change sign, reward {number(total['old_mean'])} -> {number(total['new_mean'])})"
    )


def as_html(replayed: Replay) -> str:
    rows = [(row["step"], *(row[name] for name in STEP)) for row in replayed.steps]
    total = ("all", *(replayed.total[name] for name in STEP))
    lost = [name for name in ("failed", "timed_out", "not_applicable") if replayed.total[name]]
    said = {
        "credit": f"{replayed.credit}, from {replayed.credit_from}",
        **{name.replace("_", " "): replayed.total[name] for name in lost},
    }
    components = [(c["name"], c["mean"], c["count"], c["old_mean"]) for c in replayed.components]
    failures = [(f["step"], f["task"], f["error"], f["completion"]) for f in replayed.failures]
    return page(
        f"{replayed.reward}, in place of {replayed.column!r}, on the samples of {replayed.run}",
        *(note(each) for each in replayed.notes),
        pairs(said),
        table(("step", *(name.replace("_", " ") for name in STEP)), [total, *rows], most=SAMPLES + 1),
        table(("component", "mean", "of", "in the run"), components) if components else "",
        table([name.replace("_", " ") for name in MOVED], [[m[name] for name in MOVED] for m in replayed.moved]),
        table(("step", "task", "failed with", "completion"), failures, most=SAMPLES) if failures else "",
    )
