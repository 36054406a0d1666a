"""Evidence for the page: every claim that ships with the package, and one recipe's in full. Read from verdicts alone."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from guerdon.evidence import proof_files
from guerdon.evidence.words import (
    badge,
    difference,
    gates_in_words,
    meaning,
    measured,
    name_of,
    others_of,
    outcome,
    plain,
    registration,
    unfinished,
)
from guerdon.runs.run import Missing
from guerdon.training.catalog import listings

Proof = Mapping[str, Any]
SETTING = (
    "task", "levels", "model", "budget", "unit", "settings", "method", "metric", "better", "effect", "kind", "keeps", "bound",
    "along",
)  # fmt: skip
GAP = ("differences", "first", "mean", "low", "high", "effect")
_lock = threading.Lock()
_read: dict[str, Any] = {}


def proofs() -> dict[str, dict[str, Any]]:
    """Every proof by its name with why it is `stale`, read again when a file changed."""
    with _lock:
        marks = proof_files.marks(proof_files.SHIPPED)
        if _read.get("marks") != marks:
            every = proof_files.verdicts(proof_files.SHIPPED)
            _read.update(
                marks=marks, every={name: {**proof, "stale": proof_files.stale(proof)} for name, proof in every.items()}
            )
        every_proof: dict[str, dict[str, Any]] = _read["every"]
        return every_proof


def claims() -> list[dict[str, Any]]:
    """A row for every claim."""
    every = proofs()
    return [
        {
            "name": name,
            "recipe": proof["recipe"],
            "family": proof["family"],
            "says": claim["claim"]["says"],
            "word": claim.get("word", claim["tier"]),
            "badge": badge(claim, [] if proof.get("student") else others_of(proof, every.values())),
            "difference": difference(claim["against"]["baseline"]),
            "seeds": len(claim["against"]["baseline"]["differences"]),
            "notes": [note for note in (*outcome(claim), unfinished(claim)) if note],
            "stale": proof["stale"],
            "size": _size(claim["against"]["baseline"]),
            "command": proof["command"],
        }
        for name, proof in every.items()
        for claim in proof["claims"]
    ]


def _size(gap: Proof) -> float | None:
    """What an order by result goes by: the lower end of the difference's interval, or the mean where it has none."""
    return next((float(gap[name]) for name in ("low", "mean") if gap.get(name) is not None), None)


def proof_of(name: str) -> dict[str, Any]:
    """One recipe's evidence: what it claims, what came of it, and what that was measured with."""
    every = proofs()
    if name not in every:
        raise Missing(f"there is no evidence of {name[:80]!r} in this package")
    proof = every[name]
    model = proof["model"]
    return {
        "name": name,
        "recipe": proof["recipe"],
        "family": proof["family"],
        "paper": proof["paper"],
        "about": proof["about"],
        "needs": known[proof["recipe"]].needs.in_full if proof["recipe"] in (known := listings()) else "",
        "stale": proof["stale"],
        "quick": proof["quick"],
        "command": proof["command"],
        "created": proof["created"],
        "versions": {**proof["versions"], "model": model["version"] or model["name"]},
        "others": [name_of(other) for other in others_of(proof, every.values())],
        "claims": [_claim(claim) for claim in proof["claims"]],
    }  # fmt: skip


def _claim(claim: Proof) -> dict[str, Any]:
    claimed, effect = claim["claim"], claim["claim"]["effect"]
    against = {name: {key: gap[key] for key in GAP} for name, gap in claim["against"].items()}
    return {
        "says": claimed["says"],
        "word": claim.get("word", claim["tier"]),
        "badge": badge(claim),
        "meaning": meaning(claim),
        "outcome": [note for note in outcome(claim) if not note.startswith("gate")],
        "registration": registration(claim) if claim["tier"] == "registered" else "",
        "unfinished": unfinished(claim),
        "measured": measured(claim),
        "failed": gates_in_words(claim),
        "setting": {key: claimed[key] for key in SETTING if claimed.get(key)},
        "arms": [_arm(name, arm, effect) for name, arm in claim["arms"].items()],
        "against": [{"name": name, **gap, "words": difference(gap)} for name, gap in against.items()],
        "quality": claim.get("quality") and {"keeps": claimed["keeps"], "words": difference(claim["quality"])},
        "gates": claim["gates"],
        "noise": claim["noise"],
    }  # fmt: skip


def _arm(name: str, arm: Proof, effect: float) -> dict[str, Any]:
    return {
        "name": name,
        "what": arm["what"],
        "seeds": arm["seeds"],
        "score": plain(arm["score"], effect),
        "lr": arm["lr"],
        "curve": arm["curve"],
    }


def has_proof(recipe: str) -> bool:
    """Whether a recipe's evidence ships with the package; whatever name a run gives."""
    return recipe in proof_files.marks(proof_files.SHIPPED).keys() - {proof_files.CALIBRATION}
