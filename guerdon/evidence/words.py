"""The words of evidence that its pages, the terminal and lists have in common.

Drawn from evidence alone, one claim (or one screening) of a proof at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

NO_MODELS = ("", "tabular")  # of claims that are about no language model
WORDS = ("ahead", "behind", "no difference", "inconclusive")
SCREENED = "screened"
ABLATION = {
    "confirmed": "confirmed by ablation",
    "not confirmed": "not confirmed by ablation",
    "first seeds": "ablation run on the first seeds alone",
    "no ablation": "no ablation",
}
EARLIER = 2  # the edition whose records are read by today's rule


def file_name(recipe: str, student: str = "", screened: bool = False) -> str:
    """What the files of a recipe's evidence are called; those of another student than the shipped model, and of screenings,
    apart.

    >>> file_name("dump"), file_name("dump", "smollm2-135m"), file_name("dump", screened=True)
    ('dump', 'dump@smollm2-135m', 'dump+screening')
    """
    return f"{recipe}+screening" if screened else f"{recipe}@{student}" if student else recipe


def name_of(proof: Mapping[str, Any]) -> str:
    """What the files of a proof are called."""
    return file_name(proof["recipe"], proof.get("student", ""), proof.get("screened", False))


def others_of(proof: Mapping[str, Any], every: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The evidence of the same recipe with other students."""
    return [
        other
        for other in every
        if other["recipe"] == proof["recipe"]
        and other.get("student") != proof.get("student")
        and not other.get("screened")
    ]


def elsewhere(others: Iterable[Mapping[str, Any]]) -> str:
    """The results of a recipe's claims with other students, with links to their pages; empty where there are none."""
    told = [
        f"[{name_of(other)}]({name_of(other)}.md): {' and '.join(f'**{badge(claim)}**' for claim in other['claims'])}"
        for other in others
    ]
    return f"With another model: {'; '.join(told)}." if told else ""


def word(claim: Mapping[str, Any]) -> str:
    """The word of a claim; `screened` of a screening, which has no verdict.

    >>> word({"tier": "registered", "word": "no difference", "claim": {"effect": 0.02}})
    'no difference beyond 0.02'
    """
    if claim["tier"] != "registered":
        return SCREENED
    beyond = f" beyond {claim['claim']['effect']:g}" if claim["word"] == "no difference" else ""
    return f"{claim['word']}{beyond}"


def badge(claim: Mapping[str, Any], others: Iterable[Mapping[str, Any]] = ()) -> str:
    """A word as lists show it, with the model it was measured with; `others` are proofs of the same recipe with other students.

    >>> small = {"tier": "registered", "word": "ahead", "claim": {"says": "More.", "model": "sprig-1.1", "effect": 0.02}}
    >>> badge(small)
    'ahead, on sprig-1.1'
    >>> other = {**small, "claim": {**small["claim"], "model": "smollm2-135m"}}
    >>> badge(small, [{"claims": [other]}])
    'ahead, on sprig-1.1 and smollm2-135m'
    >>> badge(small, [{"claims": [{**other, "word": "behind"}]}])
    'ahead, on sprig-1.1; behind, on smollm2-135m'
    """
    says = claim["claim"]["says"]
    same = [each for proof in others for each in proof["claims"] if each["claim"]["says"] == says]
    models: dict[str, list[str]] = {}
    for each in (claim, *same):
        models.setdefault(word(each), []).append(each["claim"]["model"])
    return "; ".join(f"{each}{_on(where)}" for each, where in models.items())


def _on(models: Iterable[str]) -> str:
    told = " and ".join(model for model in models if model not in NO_MODELS)
    return f", on {told}" if told else ""


def meaning(claim: Mapping[str, Any]) -> str:
    """What the word says, in a line."""
    if claim["tier"] != "registered":
        return f"an estimate in the setting {claim['setting']}, no verdict"
    first, fresh = seeds_of(claim)
    both = f"{first} seeds and {fresh} fresh ones"
    kept = claim["claim"]["keeps"]
    lines = {
        "ahead": f"{both} each show the method ahead" + (f", and {kept} is kept" if kept else ""),
        "behind": f"{both} each show the method behind: the claim is refuted",
        "no difference": "the 95 % interval lies within the minimum effect on both sides of 0",
    }
    if claim["word"] == "behind" and kept and claim["against"]["baseline"]["mean"] > 0:
        return f"{kept} is behind on the first seeds and on fresh ones: the claim is refuted"
    if claim["word"] in lines:
        return lines[claim["word"]]
    if not fresh:
        return "no fresh seeds were run, and the 95 % interval extends beyond the minimum effect"
    return "the two samples of seeds do not confirm each other, and the 95 % interval extends beyond the minimum effect"


def seeds_of(claim: Mapping[str, Any]) -> tuple[int, int]:
    """How many first and how many fresh seeds the estimate is made of."""
    gap = claim["against"]["baseline"]
    return gap["first"], len(gap["differences"]) - gap["first"]


def measured(claim: Mapping[str, Any]) -> str:
    """The estimate in a line: the difference with its interval, its share of what GRPO gains, the seeds, and the effect that so
    many can detect."""
    gap, gain = claim["against"]["baseline"], claim.get("gain")
    first, fresh = seeds_of(claim)
    seeds = f"{first} + {fresh} fresh seeds" if fresh else f"{first} seeds"
    share = f", {100 * gap['mean'] / gain:+.0f} % of what GRPO on the true reward gains" if gain and gain > 0 else ""
    able = plain(gap["detectable"], gap["effect"])
    return f"{claim['claim']['metric']} {difference(gap)} over {seeds}{share}; detectable {able}"


def failed_gates(claim: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [gate for gate in claim["gates"] if not gate["open"]]


def gates_in_words(claim: Mapping[str, Any]) -> str:
    """Which gates failed and why; empty where none did."""
    failed = failed_gates(claim)
    if not failed:
        return ""
    return f"gate{'s' * (len(failed) > 1)} failed: " + "; ".join(f"{g['gate']} ({g['why']})" for g in failed)


def outcome(claim: Mapping[str, Any]) -> list[str]:
    """Notes beside the word: the ablation, the gates that failed, and the edition of the rules that the runs were made with."""
    notes = [ABLATION[claim["ablation"]]] if claim.get("ablation") else []
    if failed := failed_gates(claim):
        notes.append(f"gate{'s' * (len(failed) > 1)} failed: {', '.join(gate['gate'] for gate in failed)}")
    if made := origin(claim):
        notes.append(made)
    return notes


def origin(claim: Mapping[str, Any]) -> str:
    """What made the runs, where that was an earlier edition of the rules; empty where it was this one."""
    return f"runs made with {claim['made_with']}" if claim.get("edition") == EARLIER else ""


def registration(claim: Mapping[str, Any]) -> str:
    """When a claim was registered, if that was before its runs."""
    of = claim["registered"]
    return f"registered {of['date']}, batch {of['batch']}" if of else "not registered before it was run"


def unfinished(claim: Mapping[str, Any]) -> str:
    """How many runs the rule still needs; empty where it needs none."""
    n = len(claim["needs"])
    return f"unfinished: {n} {'run is' if n == 1 else 'runs are'} still needed" if n else ""


def runs_of(claim: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """All records of a claim: of its arms, those of tuning, and the rerun."""
    return [*(run for arm in claim["arms"].values() for run in arm["runs"]), *claim["tried"]]


def signed(value: float, effect: float) -> str:
    """A difference with as many digits as mean something beside its effect.

    >>> signed(0.03125, effect=0.02), signed(-12.34, effect=2)
    ('+0.0312', '-12.3')
    """
    return f"{value:+.{digits(effect)}f}"


def plain(value: float, effect: float) -> str:
    """A score, likewise."""
    return f"{value:.{digits(effect)}f}"


def digits(effect: float) -> int:
    return 4 if effect < 1 else 1


def difference(comparison: Mapping[str, Any], sign: float = 1.0) -> str:
    """A mean difference with its 95 % interval, positive where the method is ahead; reversed where `sign` is -1.

    >>> difference({"mean": 0.05, "low": 0.01, "high": 0.09, "effect": 0.02}, -1)
    '-0.0500 (-0.0900 to -0.0100)'
    """
    low, high = sorted(sign * comparison[end] for end in ("low", "high"))
    mean, low_end, high_end = (signed(v, comparison["effect"]) for v in (sign * comparison["mean"], low, high))
    return f"{mean} ({low_end} to {high_end})"


def is_large(mean: float, effect: float) -> bool:
    """Whether a mean reaches the minimum effect."""
    return abs(mean) >= effect
