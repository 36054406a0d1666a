"""The words of evidence that its pages, the terminal and lists have in common.

Drawn from evidence alone, one claim of a proof at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

NO_MODELS = ("", "tabular")  # of claims that are about no language model
BY_IDEA = ("by its idea", "not by its idea", "whether by its idea is not known")
MEANS = {
    "better": "by more than the effect that counts",
    "worse": "by more than the effect that counts",
    "equal": "any difference is smaller than the effect that counts",
    "not known": "as many seeds as the rule gives it do not tell",
}
OTHERWISE = {  # what the words mean of claims that are no comparison of two scores
    "cheaper": {
        "better": "cheaper by more than the effect that counts",
        "worse": "dearer by more than the effect that counts",
        "equal": "it costs the same, within the effect that counts",
    },
    "bound": {
        "better": "beyond the bound by more than the effect that counts",
        "worse": "short of the bound by more than the effect that counts",
        "equal": "at the bound, within the effect that counts",
    },
    "slope": {
        "better": "every doubling gains more than the effect that counts",
        "worse": "every doubling loses more than the effect that counts",
        "equal": "a doubling changes less than the effect that counts",
    },
}


def file_name(recipe: str, student: str = "") -> str:
    """What the files of a recipe's evidence are called; those of another student than the shipped model, apart.

    >>> file_name("dump"), file_name("dump", "smollm2-135m")
    ('dump', 'dump@smollm2-135m')
    """
    return f"{recipe}@{student}" if student else recipe


def others_of(proof: Mapping[str, Any], every: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The evidence of the same recipe with other students."""
    return [
        other for other in every if other["recipe"] == proof["recipe"] and other.get("student") != proof.get("student")
    ]


def elsewhere(others: Iterable[Mapping[str, Any]]) -> str:
    """What came of a recipe's claims with other students, with links to their pages; empty where there are none."""
    told = [
        f"[{name}]({name}.md): {' and '.join(f'**{badge(claim)}**' for claim in other['claims'])}"
        for other in others
        for name in [file_name(other["recipe"], other.get("student", ""))]
    ]
    return f"With another model: {'; '.join(told)}." if told else ""


def badge(claim: Mapping[str, Any], others: Iterable[Mapping[str, Any]] = ()) -> str:
    """A verdict as lists show it, with the model it was come to on; `others` are proofs of the same recipe with other students.

    >>> small = {"verdict": "better", "claim": {"says": "More.", "model": "sprig-1.1"}}
    >>> badge(small)
    'better, on sprig-1.1'
    >>> badge(small, [{"claims": [{"verdict": "better", "claim": {"says": "More.", "model": "smollm2-135m"}}]}])
    'better, on sprig-1.1 and smollm2-135m'
    >>> badge(small, [{"claims": [{"verdict": "equal", "claim": {"says": "More.", "model": "smollm2-135m"}}]}])
    'better, on sprig-1.1; equal, on smollm2-135m'
    >>> badge({"verdict": "equal", "claim": {"says": "x", "model": "tabular"}})
    'equal'
    """
    says = claim["claim"]["says"]
    same = [each for proof in others for each in proof["claims"] if each["claim"]["says"] == says]
    models: dict[str, list[str]] = {}
    for each in (claim, *same):
        models.setdefault(each["verdict"], []).append(each["claim"]["model"])
    return "; ".join(f"{word}{_on(where)}" for word, where in models.items())


def _on(models: Iterable[str]) -> str:
    told = " and ".join(model for model in models if model not in NO_MODELS)
    return f", on {told}" if told else ""


def meaning(claim: Mapping[str, Any]) -> str:
    """What the verdict says, in a line."""
    word, kind = claim["verdict"], claim["claim"]["kind"]
    if word == "not testable here":
        return "; ".join(gate["why"] for gate in claim["gates"] if not gate["open"])
    if word != claim["alone"] and claim.get("quality", {}).get("alone") == "not known":
        return f"it is *{claim['alone']}* at {claim['claim']['metric']}, but whether it keeps {claim['claim']['keeps']} is open"
    if word != claim["alone"]:
        return f"alone it would be *{claim['alone']}*, but it is no discovery among the claims of its batch"
    if word == "not known" and claim["needs"]:
        return "the seeds so far do not tell"
    return OTHERWISE.get(kind, {}).get(word) or MEANS[word]


def explain(claim: Mapping[str, Any]) -> str:
    """Why the verdict is what it is, in a sentence or two."""
    gap, word = claim["against"]["baseline"], claim["verdict"]
    seen = (
        f"better by {gap['mean']:+.4f} on average, 95 % interval {gap['low']:+.4f} to {gap['high']:+.4f}, over"
        f" {len(gap['differences'])} paired seeds; {gap['effect']:g} or more counts"
    )
    if word == "not testable here":
        return f"Not tried: {'; '.join(g['why'] for g in claim['gates'] if not g['open'])}. ({seen}.)"
    alone = claim["alone"]
    if word != alone:
        return f"{seen}. Alone it would be {alone!r}, but it is no discovery among the claims it was registered with."
    return f"{seen}."


def outcome(claim: Mapping[str, Any]) -> list[str]:
    """What becomes of the claim: whether it stands, by what, and whether it came out again."""
    words = [f"the claim is {claim['stands']}"] if "stands" in claim else []
    if claim["verdict"] == "better" and claim["idea"]:
        words.append(claim["idea"])
    if claim["replication"]:
        words.append("replicated" if claim["replication"]["inside"] else "not replicated")
    return words


def registration(claim: Mapping[str, Any]) -> str:
    """When a claim was written down, if that was before it was run."""
    of = claim["registered"]
    return f"registered {of['date']}, batch {of['batch']}" if of else "not registered before it was run"


def unfinished(claim: Mapping[str, Any]) -> str:
    """How many runs the rule still asks for; empty where it asks for none."""
    n = len(claim["needs"])
    return f"unfinished: {n} {'run is' if n == 1 else 'runs are'} still wanted" if n else ""


def runs_of(claim: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """All records of a claim: of its arms, and those of tuning, fresh seeds and the run made again."""
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
    """A mean difference with its 95 % interval, turned round where `sign` is -1.

    >>> difference({"mean": 0.05, "low": 0.01, "high": 0.09, "effect": 0.02}, -1)
    '-0.0500 (-0.0900 to -0.0100)'
    """
    low, high = sorted(sign * comparison[end] for end in ("low", "high"))
    mean, low_end, high_end = (signed(v, comparison["effect"]) for v in (sign * comparison["mean"], low, high))
    return f"{mean} ({low_end} to {high_end})"


def better_by(comparison: Mapping[str, Any]) -> str:
    """By how much one is better than the other, or worse, with the 95 % interval of that.

    >>> better_by({"mean": -0.05, "low": -0.09, "high": 0.01, "effect": 0.02})
    'worse by +0.0500 (-0.0100 to +0.0900)'
    """
    is_worse = comparison["mean"] < 0
    return f"{'worse' if is_worse else 'better'} by {difference(comparison, -1.0 if is_worse else 1.0)}"


def is_large(mean: float, effect: float) -> bool:
    """Whether a mean is an effect that counts."""
    return abs(mean) >= effect
