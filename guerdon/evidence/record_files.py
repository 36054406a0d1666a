"""Files with the runs of proofs, compressed: each run stands once, however many claims it serves.

`records/FAMILY.jsonl.xz` beside the package has a line for each run and then one for each proof, in which runs are numbers of
those lines. With what `verdicts.json` says (`evidence/verdict_file.py`) a line makes a proof again, to the last digit.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from guerdon.evidence.brief import HOW, MACHINES, OF_RUNS, RUNS, TRIED
from guerdon.runs.checksums import KEY, sealed

FORMAT = 1
ENDING = ".jsonl.xz"
PRESET = 6 | lzma.PRESET_EXTREME
SCORES = "scores"  # of an arm: what each of its runs scored for the claim, which other claims may score otherwise
Number = Callable[[Mapping[str, Any]], int]
Run = Callable[[int], dict[str, Any]]


def text_of(proofs: Mapping[str, Mapping[str, Any]]) -> str:
    """The lines of some proofs: a head, the runs in the order in which they are met, the proofs."""
    lines: dict[str, int] = {}

    def number(run: Mapping[str, Any]) -> int:
        return lines.setdefault(json.dumps(run), len(lines))

    kept = [json.dumps(_rest(proofs[name], number)) for name in sorted(proofs)]
    head = json.dumps({"format": FORMAT, RUNS: len(lines), "proofs": sorted(proofs)})
    return "".join(f"{line}\n" for line in (head, *lines, *kept))


def compressed(text: str) -> bytes:
    return lzma.compress(text.encode(), preset=PRESET)


def text_in(data: bytes) -> str:
    return lzma.decompress(data).decode()


def proof_in(lines: Sequence[str], name: str, verdict: Mapping[str, Any]) -> dict[str, Any]:
    """A proof of the lines of a text and of its verdict, with the checksum that it was sealed with."""
    head = json.loads(lines[0])
    rest = json.loads(lines[1 + head[RUNS] + head["proofs"].index(name)])

    def run(number: int) -> dict[str, Any]:
        return dict(json.loads(lines[1 + number]))

    proof = {**verdict, KEY: rest[KEY]}
    if RUNS in rest:
        proof[RUNS] = [*map(run, rest[RUNS])]
    if "sets" in rest:
        proof["code"] = {**verdict["code"], "sets": rest["sets"]}
    if "claims" in rest:
        proof["claims"] = [_claim(*each, run) for each in zip(verdict["claims"], rest["claims"], strict=True)]
    return proof


def _claim(verdict: Mapping[str, Any], rest: Mapping[str, Any], run: Run) -> dict[str, Any]:
    arms = {role: _arm(arm, rest["arms"][role], run) for role, arm in verdict["arms"].items()}
    more = {HOW: rest[HOW]} if HOW in rest else {}
    claim = {k: v for k, v in verdict.items() if k != MACHINES}
    return {**claim, "arms": arms, TRIED: [*map(run, rest[TRIED])], **more}


def _arm(verdict: Mapping[str, Any], rest: Mapping[str, Any], run: Run) -> dict[str, Any]:
    scored = zip(rest[RUNS], rest[SCORES], strict=True)
    arm = {k: v for k, v in verdict.items() if k not in OF_RUNS}
    return {**arm, RUNS: [{**run(number), "score": score} for number, score in scored]}


def _rest(proof: Mapping[str, Any], number: Number) -> dict[str, Any]:
    """What the verdict of a proof does not say, runs by their numbers."""
    rest: dict[str, Any] = {KEY: sealed(proof)[KEY]}
    if "sets" in (proof.get("code") or {}):
        rest["sets"] = proof["code"]["sets"]
    if RUNS in proof:
        rest[RUNS] = [*map(number, proof[RUNS])]
    if "claims" in proof:
        rest["claims"] = [_rest_of_claim(claim, number) for claim in proof["claims"]]
    return rest


def _rest_of_claim(claim: Mapping[str, Any], number: Number) -> dict[str, Any]:
    arms = {
        role: {
            RUNS: [number({k: v for k, v in run.items() if k != "score"}) for run in arm[RUNS]],
            SCORES: [run["score"] for run in arm[RUNS]],
        }
        for role, arm in claim["arms"].items()
    }
    return {"arms": arms, TRIED: [*map(number, claim[TRIED])], **({HOW: claim[HOW]} if HOW in claim else {})}
