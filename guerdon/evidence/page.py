"""The page of a recipe's evidence, as Markdown: in the order in which a sceptical reader needs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.evidence.brief import COSTS
from guerdon.evidence.words import (
    badge,
    difference,
    elsewhere,
    is_large,
    meaning,
    measured,
    name_of,
    outcome,
    plain,
    registration,
    seeds_of,
    signed,
    unfinished,
)  # fmt: skip

IN_WORDS = {"read": "tokens read", "updates": "updates"}
THIRD = 1 / 3  # the share of the variance of pairs that may be the exams'


def page(proof: Mapping[str, Any], stale: str = "", others: Sequence[Mapping[str, Any]] = (), numbers: str = "") -> str:
    """A recipe's evidence, of its verdict; `stale` says why it is not of today's code, `others` are results with other
    students, `numbers` is where every seed's curve is, if not beside the page."""
    name, quick = name_of(proof), proof["quick"]
    parts = [f"# {name}", _origin(proof), proof["about"].replace("\n", " ")]
    if quick:
        parts.append("**A quick look, with few seeds and a tenth of the budget: not evidence.**")
    if stale:
        parts.append(
            f"*Stale*: {stale}. The command at the end runs it again; `--rehearse` keeps it if results are the same."
        )
    parts.append(elsewhere(others))
    for i, claim in enumerate(proof["claims"]):
        parts += _claim(claim, f"{name}{f'-{i + 1}' if i else ''}.svg")
    parts.append(_history(proof))
    parts += ["## Reproduce", f"```console\n$ {proof['command']}\n```", _provenance(proof, numbers)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _origin(proof: Mapping[str, Any]) -> str:
    paper = proof["paper"]
    link = f"[{paper}](https://arxiv.org/abs/{paper.removeprefix('arXiv:')})" if paper.startswith("arXiv:") else paper
    return f"Family *{proof['family']}*" + (f", {link}." if link else ".")


def _claim(claim: Mapping[str, Any], picture: str) -> list[str]:
    says = claim["claim"]["says"]
    return [
        f"## {says[0].upper()}{says[1:]}",
        _verdict(claim),
        f"**{unfinished(claim).capitalize()}.** What stands here may change." if claim["needs"] else "",
        f"![curves and paired differences]({picture})",
        _setting(claim),
        _arms(claim),
        _compared(claim),
        _quality(claim),
        _mechanism(claim),
        _equally(claim),
        "### How it was measured",
        _samples(claim),
        _spread(claim),
        _noise(claim),
        _gates(claim),
        _rates(claim),
        _again(claim),
    ]


def _verdict(claim: Mapping[str, Any]) -> str:
    head = badge(claim)
    first = f"**{head[0].upper()}{head[1:]}**: {meaning(claim)}. {_capital(measured(claim))}."
    notes = [f"{_capital(note)}." for note in outcome(claim)]
    if claim["tier"] == "registered":
        said = f"{_capital(registration(claim))}."
        notes.append(said if claim["registered"] else f"**{said}**")
    return " ".join([first, *notes])


def _capital(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


# --- what was run -------------------------------------------------------------------------------------------------


def _setting(claim: Mapping[str, Any]) -> str:
    claimed = claim["claim"]
    kind = (
        f"A claim to be *{_kind(claimed)}*." if claim["tier"] == "registered" else f"The setting `{claim['setting']}`."
    )
    levels = f"levels {', '.join(map(str, claimed['levels']))}" if claimed["levels"] else ""
    cost = f"{claimed['budget']:,.0f} {claimed['unit']} a run"
    knobs = " and ".join(f"`{text}`" for text in (claimed["settings"], claimed["method"]) if text)
    where = [claimed["task"], levels, claimed["model"], cost, f"with {knobs}" * bool(knobs)]
    return (
        f"{kind} {', '.join(part for part in where if part)}; {claimed['metric']}"
        f" ({claimed['better']} is better); the minimum effect is {claimed['effect']:g}."
        f"{_begun(claimed['start'])}"
    )


def _kind(claimed: Mapping[str, Any]) -> str:
    more = {
        "better": "ahead",
        "equal": "without a difference",
        "cheaper": f"cheaper at {claimed['keeps']} that is at least as good within {claimed['loss']:g}",
        "bound": f"{'above' if claimed['better'] == 'higher' else 'below'} {claimed['bound']:g}",
        "slope": f"ahead with every doubling along {claimed['along']}",
    }
    return more.get(claimed["kind"], str(claimed["kind"]))


def _begun(start: str | Mapping[str, str]) -> str:
    """What was trained first, and for whom."""
    if isinstance(start, str):
        return f" All arms start from the model that `{start}` trained." if start else ""
    return "".join(f" `{model}` is trained by `{text}` in all arms that have it." for model, text in start.items())


def _arms(claim: Mapping[str, Any]) -> str:
    unit = claim["claim"]["unit"]
    costs = [u for u in (*COSTS, *(() if unit in COSTS else (unit,))) if _costs(claim, u)]
    head = ["arm", "recipe", "seeds", "score", "less the method", "learning rate", *costs]
    rows = [f"| {' | '.join(head)} |", f"| --- | --- |{' ---: |' * (len(head) - 2)}"]
    for name, arm in claim["arms"].items():
        cells = [name, f"`{arm['what']}`", str(arm["seeds"]), _score(claim, arm), _less(claim, name)]
        cells += [_rate(claim, name), *(_cost(arm, each) for each in costs)]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _score(claim: Mapping[str, Any], arm: Mapping[str, Any]) -> str:
    """The mean over seeds, and where it began."""
    effect = claim["claim"]["effect"]
    score = plain(arm["score"], effect)
    return f"{score} from {plain(arm['curve'][0]['mean'], effect)}" if arm["curve"] else score


def _less(claim: Mapping[str, Any], name: str) -> str:
    """How an arm differs from the method, as numbers differ: what is better is said elsewhere."""
    comparison = claim["against"].get(name)
    if comparison is None or name not in claim["arms"]:
        return ""
    return difference(comparison, -1.0 if claim["claim"]["better"] == "higher" else 1.0)


def _rate(claim: Mapping[str, Any], name: str) -> str:
    rate = claim["arms"][name]["lr"]
    if rate is None:
        return ""
    default = claim["rates"].get(name, {}).get("default")
    return f"{rate:g}" + ("" if default is None else ", its default" if default == rate else f" (default {default:g})")


def _costs(claim: Mapping[str, Any], unit: str) -> bool:
    return any(_cost(arm, unit) for arm in claim["arms"].values())


def _cost(arm: Mapping[str, Any], unit: str) -> str:
    mean = arm["spent"].get(unit)
    return "" if mean is None else f"{mean:,.0f}" if mean >= 100 else f"{mean:.3g}"


# --- what came out ------------------------------------------------------------------------------------------------


def _compared(claim: Mapping[str, Any]) -> str:
    """The method less every other arm; positive where it is ahead."""
    others = {name: gap for name, gap in claim["against"].items() if name != "baseline"}
    names = {"ablation": "its ablation", "plain": "GRPO on the true reward"}
    lines = [f"- to {names[name]}: {difference(gap)}" for name, gap in others.items()]
    return "\n".join(["The method's difference, positive where it is ahead:", "", *lines]) if lines else ""


def _quality(claim: Mapping[str, Any]) -> str:
    """What a cheaper method had to keep."""
    gap = claim.get("quality")
    return f"What it must keep, {claim['claim']['keeps']}: {difference(gap)}, within {gap['effect']:g}." if gap else ""


def _mechanism(claim: Mapping[str, Any]) -> str:
    """What the method's mechanism is to move."""
    gap = claim.get("mechanism")
    return f"The mechanism's own metric, {gap['metric']}: {difference(gap)}." if gap else ""


def _equally(claim: Mapping[str, Any]) -> str:
    """The same at equal amounts of what the budget does not count."""
    if not claim["equally"]:
        return ""
    gap, effect = claim["against"]["baseline"], claim["claim"]["effect"]
    lines = []
    for unit, equal in claim["equally"].items():
        told = difference({**equal, "effect": effect})
        note = _differs(gap["mean"], equal["mean"], effect)
        lines.append(
            f"- at equal {IN_WORDS[unit]} (the method had {equal['method']:,.0f}, the baseline {equal['baseline']:,.0f}):"
            f" {told}" + (f". **{note}**" if note else "")
        )
    return "\n".join([f"The difference where another quantity than {claim['claim']['unit']} is equal:", "", *lines])


def _differs(mean: float, other: float, effect: float) -> str:
    if mean * other < 0 and (is_large(mean, effect) or is_large(other, effect)):
        return "The sign differs: which arm is ahead depends on what is held equal."
    if is_large(mean, effect) != is_large(other, effect):
        return f"That is {'at least' if is_large(other, effect) else 'less than'} the minimum effect."
    return ""


# --- how it was measured ------------------------------------------------------------------------------------------


def _samples(claim: Mapping[str, Any]) -> str:
    """The means of the two samples of seeds."""
    gap, (first, fresh) = claim["against"]["baseline"], seeds_of(claim)
    parts = [("first", gap["differences"][:first]), ("fresh", gap["differences"][first:])]
    told = [f"{len(part)} {name} {signed(sum(part) / len(part), gap['effect'])}" for name, part in parts if part]
    able, sd = plain(gap["detectable"], gap["effect"]), plain(gap["sd"], gap["effect"])
    return (
        f"Mean paired differences by seeds: {', '.join(told)}. They spread by {sd} (standard deviation), so a t-test of"
        f" {first + fresh} pairs at 5 % detects {able} with 80 % power."
    )


def _spread(claim: Mapping[str, Any]) -> str:
    ratio = claim.get("spread")
    return (
        f"Spread ratio {ratio:.2f}: the spread of the method's scores over seeds, divided by the baseline's."
        if ratio
        else ""
    )


def _noise(claim: Mapping[str, Any]) -> str:
    noise = claim["noise"]
    if not noise:
        return ""
    effect = claim["claim"]["effect"]
    within = "within the required third" if noise["share"] <= THIRD else "**more than the required third**"
    return (
        f"Exams with other problems and tries alone would give paired differences a standard deviation of"
        f" {plain(noise['exam_sd'], effect)}; the paired differences have {plain(noise['paired_sd'], effect)}. That is"
        f" {100 * noise['share']:.0f} % of the variance, {within}."
    )


def _gates(claim: Mapping[str, Any]) -> str:
    if not claim["gates"]:
        return ""
    lines = [f"- *{g['gate']}* {'passed' if g['open'] else '**failed**'}: {g['why']}" for g in claim["gates"]]
    return "\n".join(["Gates:", "", *lines])


def _rates(claim: Mapping[str, Any]) -> str:
    """The score of each learning rate on the tuning seeds."""
    if not claim["rates"]:
        return "No learning rate was tuned."
    effect = claim["claim"]["loss"] if claim["claim"]["keeps"] else claim["claim"]["effect"]
    factors = sorted({f for rates in claim["rates"].values() for f in rates["scores"]}, key=float)
    head = ["learning rate of", "default", *(f"times {f}" for f in factors), "taken"]
    rows = [f"| {' | '.join(head)} |", f"| --- |{' ---: |' * (len(head) - 1)}"]
    for name, rates in claim["rates"].items():
        scores = [plain(rates["scores"][f], effect) if f in rates["scores"] else "" for f in factors]
        rows.append(f"| {name} | {rates['default']:g} | {' | '.join(scores)} | times {rates['factor']:.3g} |")
    return "\n".join(rows)


def _again(claim: Mapping[str, Any]) -> str:
    if not claim["again"]:
        return ""
    same = "ended with the same weights" if claim["again"]["same"] else "ended with **other weights**"
    return f"Seed 0 of the first arm, rerun from the start on the same machine, {same}."


def _history(proof: Mapping[str, Any]) -> str:
    """What was changed after the runs were made."""
    lines = [f"- {note['date']}: {note['what']}" for note in proof.get("history", ())]
    if not lines:
        return ""
    head = "Its runs were made with earlier code. What changed since, and how the results were shown to be unchanged:"
    return "\n".join(["## Changed since, with the same results", "", head, "", *lines])


def _provenance(proof: Mapping[str, Any], numbers: str) -> str:
    v, model = proof["versions"], proof["model"]
    numbers = numbers or f"{name_of(proof)}.json"
    with_model = f"{model['version']}, " if model["version"] else ""
    machines = sorted({machine for claim in proof["claims"] for machine in claim["machines"]})
    several = f" Runs of {len(machines)} machines ({', '.join(machines)}), paired within each." if machines[1:] else ""
    return (
        f"{with_model}guerdon {v['guerdon']}, torch {v['torch']}, {v['device']}, {v['at_a_time']} at a time,"
        f" {proof['created']}.{several} Seconds are those of training, beside the other runs. Every seed's curve is in"
        f" [{numbers.rpartition('/')[2]}]({numbers})."
    )
