"""The pages of evidence, as Markdown: one for each recipe, and an index over them with the machine's own calibration."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

WORDS = {
    "holds": "the claim holds here",
    "reversed": "the opposite holds here",
    "no difference": "there is no difference here that counts",
    "inconclusive": "these runs do not tell",
}


def page(proof: Mapping[str, Any], stale: str = "") -> str:
    """A recipe's evidence, to be read from top to bottom by somebody who doubts it; `stale` says why it is not today's."""
    name, quick = proof["recipe"], proof["quick"]
    parts = [f"# {name}", _origin(proof), proof["about"].replace("\n", " ")]
    if quick:
        parts.append("**A quick look, with few seeds and a tenth of the budget: not evidence.**")
    if stale:
        parts.append(f"*Stale*: {stale}. The command at the end makes it anew.")
    for i, claim in enumerate(proof["claims"]):
        parts += _claim(claim, f"{name}{f'-{i + 1}' if i else ''}.svg", quick)
    parts += ["## Reproduce", f"```console\n$ {proof['command']}\n```", _provenance(proof)]
    return "\n\n".join(parts) + "\n"


def _origin(proof: Mapping[str, Any]) -> str:
    paper = proof["paper"]
    link = f"[{paper}](https://arxiv.org/abs/{paper.removeprefix('arXiv:')})" if paper.startswith("arXiv:") else paper
    return f"Family *{proof['family']}*" + (f", {link}." if link else ".")


def _claim(claim: Mapping[str, Any], picture: str, quick: bool) -> list[str]:
    claimed, verdict = claim["claim"], claim["verdict"]
    levels = f"levels {', '.join(map(str, claimed['levels']))}" if claimed["levels"] else ""
    is_study = "result" in claim["arms"]["method"]["runs"][0]
    cost = f"{claimed['budget']:,.0f} {claimed['unit']} {'a run' if is_study else 'an arm'}"
    knobs = " and ".join(f"`{text}`" for text in (claimed["settings"], claimed["method"]) if text)
    where = ", ".join(
        part for part in (claimed["task"], levels, claimed["model"], cost, f"with {knobs}" * bool(knobs)) if part
    )
    begun = _begun(claimed.get("start") or "")
    return [
        f"## {claimed['says'][0].upper()}{claimed['says'][1:]}",
        f"**{verdict.capitalize()}**: {WORDS[verdict]}." + (" (Quick look.)" if quick else ""),
        f"![curves and paired differences]({picture})",
        f"{where}; {claimed['metric']} ({claimed['better']} is better); the smallest effect that counts is"
        f" {claimed['effect']:g}.{begun}",
        _arms(claim),
        claim.get("how", ""),
    ]


def _begun(start: str | Mapping[str, str]) -> str:
    """What was trained first, and for whom."""
    if isinstance(start, str):
        return f" All arms begin with what `{start}` trained." if start else ""
    return "".join(f" `{model}` is what `{text}` trained, in all arms that have it." for model, text in start.items())


def _arms(claim: Mapping[str, Any]) -> str:
    units = [
        unit
        for unit in ("tokens", "read", "updates", "samples", "steps", "seconds")
        if _mean(claim["arms"]["method"]["runs"], unit)
    ]
    head = ["arm", "recipe", "score", "less the method", *units]
    rows = [f"| {' | '.join(head)} |", f"| --- | --- |{' ---: |' * (len(head) - 2)}"]
    for name, arm in claim["arms"].items():
        runs = arm["runs"]
        score = sum(run["score"] for run in runs) / len(runs)
        against = claim["against"].get(name)
        gap = f"{-against['mean']:+.4f} ({-against['high']:+.4f} to {-against['low']:+.4f})" if against else ""
        if against and claim["claim"]["better"] == "lower":
            gap = f"{against['mean']:+.4f} ({against['low']:+.4f} to {against['high']:+.4f})"
        cells = [name, f"`{arm['what']}`", f"{score:.4f}", gap, *(_mean(runs, unit) for unit in units)]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _mean(runs: Sequence[Mapping[str, Any]], unit: str) -> str:
    values = [run["spent"][unit] for run in runs if unit in run["spent"]]
    return f"{sum(values) / len(values):,.0f}" if values else ""


def _provenance(proof: Mapping[str, Any]) -> str:
    v, model = proof["versions"], proof["model"]
    with_model = f"{model['version']}, " if model["version"] else ""
    return (
        f"{with_model}guerdon {v['guerdon']}, torch {v['torch']}, {v['device']}, {v['at_a_time']} runs at a time,"
        f" {proof['created']}. Seconds are those of training, beside the other runs. Every seed's curve is in"
        f" [{proof['recipe']}.json]({proof['recipe']}.json)."
    )


def index(every: Mapping[str, Mapping[str, Any]], null: Mapping[str, Any] | None, stale: Collection[str] = ()) -> str:
    """All recipes with evidence, by family, and how far a verdict may be trusted. Those that are `stale` are marked."""
    parts = [
        "# Evidence",
        "What came of the claims of published methods: each against its baseline at an equal budget, over paired seeds, with"
        " the smallest effect that counts stated before the run. A verdict is reported as it came out.",
        "By the 95 % interval of the mean difference, seed by seed: a claim **holds** where the interval lies above 0 and the"
        " mean is at least the smallest effect; it is **reversed** where the same is true the other way round; there is **no"
        " difference** where the interval lies within the effect on both sides of 0; anything else is **inconclusive**, and"
        " so is what is no discovery among the claims of its family (false discovery rate 5 %).",
        "What is *stale* came of other code than today's.",
    ]
    for family in sorted({proof["family"] for proof in every.values()}):
        rows = ["| recipe | claim | difference | verdict |", "| --- | --- | ---: | --- |"]
        for name, proof in sorted(every.items()):
            mark = ", *stale*" if name in stale else ""
            for claim in proof["claims"] if proof["family"] == family else ():
                gap = claim["against"]["baseline"]
                difference = f"{gap['mean']:+.4f} ({gap['low']:+.4f} to {gap['high']:+.4f})"
                rows.append(
                    f"| [{name}]({name}.md) | {claim['claim']['says']} | {difference} | **{claim['verdict']}**{mark} |"
                )
        parts += [f"## {family}", "\n".join(rows)]
    if null is not None:
        parts += ["## A method against itself", _null(null)]
    return "\n\n".join(parts) + "\n"


def _null(null: Mapping[str, Any]) -> str:
    claim, shares = null["claim"], null["verdicts"]
    verdicts = ", ".join(f"{verdict} {100 * share:.1f} %" for verdict, share in shares.items())
    return (
        f"`{null['command']}`: {len(null['differences'])} pairs of runs of `{null['recipe']}` that differ in nothing but their"
        f" seeds ({claim['task']}, {claim['model']}, {claim['budget']:,.0f} {claim['unit']}), and {null['draws']:,} proofs of"
        f" {null['proofs_of']} pairs drawn from them: {verdicts}. **{100 * null['wrong']:.1f} % of the proofs saw a difference"
        " where there is none.**"
    )
