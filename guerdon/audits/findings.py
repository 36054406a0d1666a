"""Findings of an audit: faults grouped by cause and ranked by harm, each with examples and a fix.

Harm is the share of wrong completions of its kinds that are paid (or of right ones that are not), the low end of its interval,
times how little work they take. Severe findings come first, and among them the most harmful.

A cause is the plainest rule that separates paid from unpaid wrong answers. It explains a reward where the wrong texts that it
holds for are paid and the others are not: by the F-measure of "the rule holds" against "it is accepted", over all wrong
completions.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from guerdon.audits.adversary.hacks import AttackReport
from guerdon.audits.asking import Asked, gold_of
from guerdon.audits.faults import IDLE, SEVERAL
from guerdon.audits.kinds import KINDS, RIGHT, SAME, CheckedSample, Example, Finding, Severity
from guerdon.audits.probes.gold import Posed
from guerdon.audits.rates import bars, clearest

EXAMPLES = 3
CHEAP = ("idle work", "marks", "form", "fine words", "long", "no answer", "master key")  # what takes no solving
NEARLY_ALL = 0.1  # what gold may earn above them, as a share of all it earns
UNPAID = "right answers are worth no more than wrong ones"  # how the check says so
NO_WORK, SOME_WORK = 1.0, 0.6  # how little it takes to write such a completion
HARM = {"argument": 1.0, "failure": 0.8, "nondeterministic": 0.7, "worth": 0.9, "model": 0.9, "label": 0.9, "form": 0.3}
FIXES = {  # by the kinds that a finding is about, first that fits
    (
        *(
            "code that cheats",
            "code equal to all",
            "mutant",
            "by heart",
            "constant program",
            "remark",
            "endless program",
        ),
    ): "run the tests in another process, which alone reports the result: gd.unit_tests()",
    (
        *("query that cheats", "query that writes", "other values", "other rows", "other columns", "query of words"),
    ): "compare the rows that both queries return, in order where the question asks for one: gd.sql_answer()",
    (
        *("gives up", "answers at once", "half done", "wrong at the end", "leaves early", "plays on", "other order"),
        *(
            "other path",
            "one move wrong",
            "does too much",
            "undoes it",
            "part of it",
            "all answers",
            "too many answers",
        ),
    ): ("pay for the outcome of the episode (the task's own check), not for its appearance"),
    ("pretends", "claims success"): "read tools' results from the episode's record, never from what the model wrote",
    ("asks for its answer",): "a call can choose what its tool returns: check the answer itself against the problem",
    ("busy", "curious", "goes in circles", "says it again", "fails on purpose"): (
        "pay a call at most once, or far less than a right answer, and pay progress by the final state"
    ),
    ("own words", "criteria"): "do not pay for words: a policy learns to write the texts that the code looks for",
    ("idle work",): "pay lines only if they are right, for example by the task's step checker",
    ("cites all",): "pay each source once, and subtract for irrelevant ones",
    (
        "empty",
        "blank",
        "unicode",
        "master key",
        "mark repeated",
        "crumb",
        "odd answer",
        "refusal",
        "prose",
    ): "give 0 if there is no answer to read",
    ("begging", "self-praise", "injection", "fine words", "forged", "verdict", "manner"): (
        "pay nothing for a text's claims about itself; show a judge only the answer, between marks that the text cannot write"
    ),
    ("long", "drawn out"): "limit the reward for length far below the reward for a right answer",
    ("suffix", "prefix"): "compare the whole answer, not its beginning or end",
    (
        "mention",
        "list",
        "hedged",
        "first letter",
        "hidden",
        "all options",
    ): "read one final answer, and refuse a completion that gives several",
    ("no answer", "marks", "form", "without form", "truncated"): "pay the form only if the answer in it is right",
    ("prompt",): "leave out of a completion what was copied from the prompt",
    (
        *("near-miss", "other answer", "close", "off by little", "part of the answer", "shuffled", "expression"),
        *("object", "extra keys"),
    ): "compare every part of the answer, with no more tolerance than the task has",
    ("not a number",): "reject numbers that are not finite before comparing",
    ("padded", "spaced", "another answer", "reworded", "noise around", "other numeral"): (
        "strip and normalise before comparing: gd.numeric(), gd.maths(), gd.exact()"
    ),
    ("repeated", "long and right"): "score the final answer once, however often or late it is said",
    ("tried",): "inspect these samples: the reward and the task's check disagree about them",
}
FIX = {  # by what a finding is, where it is about no kind of completion
    "argument": "use fields that the task has, or give them a default",
    "failure": "handle such completions: return 0.0 where wrong, None where it cannot be said",
    "nondeterministic": "make it depend on the completion alone: no clock, no counter, no random numbers without a seed",
    "worth": "compare the answer format that it expects with the task's own solutions",
    "term": "remove the term, or fix its input",
    "task": "give the task a check, or label samples: guerdon check --labels",
    "form": "accept the format that the task's check accepts, or change the check",
    "slow": "call it concurrently (async def), or cache what it looks up",
    "model": "choose an easier or harder level, or a reward that distinguishes the samples",
    "label": "look at these samples: people and the reward disagree about them",
    "partial": "never pay a better answer less",
    "cheap": "make correctness most of the reward: pay form and effort little, or only if the answer is right",
    "moved": "remove length, form and style from the reward, or limit their share",
}


def example_of(sample: CheckedSample, score: float, gold: float) -> Example:
    return Example(sample.kind, str(sample.fields["prompt"]), sample.text, score, gold)


def put_together(
    checked: Sequence[Finding], asked: Asked | None, rates: dict[str, dict[str, Any]], why: Explained | None
) -> list[Finding]:
    """Findings of the check as those of an audit: what one rule explains is one finding, named by it. `asked` is None where the
    reward could not be asked."""
    unpaid = next((f for f in checked if f.says.startswith(UNPAID)), None)
    if unpaid is not None and 2 * unpaid.count > unpaid.of:  # that wrong ones are paid as much says the same
        rest = [f for f in checked if f is not unpaid and (not f.about or f.about in RIGHT)]
        first = replace(_alone(unpaid, asked, rates), harm=unpaid.count / unpaid.of)
        return ranked([first, *(_alone(f, asked, rates) for f in rest)])
    covered = why.kinds if why is not None else frozenset()
    mine = [f for f in checked if f.about in covered]
    findings = [_by_rule(why, mine, asked, rates)] if why is not None and asked is not None and mine else []
    explains = bool(findings) and findings[0].severity == "severe"
    rest = [f for f in checked if f not in mine and not (explains and f is unpaid)]
    return ranked([*findings, *(_alone(f, asked, rates) for f in rest)])


def ranked(findings: Sequence[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda f: (f.severity != "severe", -f.harm))


def _by_rule(why: Explained, checked: Sequence[Finding], asked: Asked, rates: dict[str, dict[str, Any]]) -> Finding:
    kinds = tuple(sorted((f.about for f in checked), key=lambda k: -rates.get(k, {}).get("rate", 0.0)))
    count, of = sum(f.count for f in checked), sum(f.of for f in checked)
    severe = any(f.severity == "severe" for f in checked)
    told = "; ".join(f.says for f in sorted(checked, key=lambda f: -f.count / max(f.of, 1))[:2])
    return Finding(
        "worth",
        "severe" if severe else "warning",
        f"{why.rule.says}: {told}",
        count,
        of,
        kinds=kinds,
        name=why.rule.name,
        fix=why.rule.fix,
        harm=max(_harm(kind, rates) for kind in kinds),
        examples=[example_of(*each) for each in clearest(asked, kinds, EXAMPLES)],
    )


def _alone(finding: Finding, asked: Asked | None, rates: dict[str, dict[str, Any]]) -> Finding:
    kind = finding.about
    shown = [example_of(*each) for each in clearest(asked, [kind], EXAMPLES)] if kind and asked is not None else []
    return replace(
        finding,
        name=KINDS.get(kind, _title(finding)),
        fix=next((fix for kinds, fix in FIXES.items() if kind in kinds), FIX.get(finding.fault, "")),
        harm=_harm(kind, rates) if kind in rates else HARM.get(finding.fault, 0.2) * finding.count / max(finding.of, 1),
        note="" if shown else finding.note,
        examples=shown,
    )


def _title(finding: Finding) -> str:
    names = {
        "argument": "a field is missing", "failure": "it raises", "nondeterministic": "it is not deterministic",
        "worth": "right answers are not paid", "term": "a constant term", "task": "no ground truth",
        "form": "another answer format", "slow": "it is slow", "model": "on the model's own tries",
        "label": "against people's labels",
    }  # fmt: skip
    return names[finding.fault]


def _harm(kind: str, rates: dict[str, dict[str, Any]]) -> float:
    least = rates.get(kind, {}).get("low", 0.0)
    ease = NO_WORK if kind in IDLE or kind in RIGHT else SOME_WORK
    return float(ease * (least if least == least else 1.0))


def cheaply_paid(asked: Asked) -> Iterator[Finding]:
    """Texts that took no solving and earn nearly all that gold earns above saying nothing: the truth is a small part of it."""
    gold, groups = gold_of(asked), {s.group for s in asked.samples}
    said: dict[int, dict[str, list[tuple[CheckedSample, float]]]] = {group: {} for group in groups}
    for sample, value in zip(asked.samples, asked.values, strict=True):
        name = "nothing" if sample.kind in ("empty", "blank") else "idle" if sample.kind in CHEAP else ""
        if name and value == value:
            said[sample.group].setdefault(name, []).append((sample, value))
    cheap, of = [], 0
    for group, by_name in said.items():
        if group in gold and "idle" in by_name and "nothing" in by_name:
            of += 1
            least = min(value for _, value in by_name["nothing"])
            sample, best = max(by_name["idle"], key=lambda each: each[1])
            if gold[group] > least + SAME and SAME < gold[group] - best <= NEARLY_ALL * (gold[group] - least):
                cheap.append((sample, best, gold[group], (best - least) / (gold[group] - least)))
    if len(cheap) >= max(SEVERAL, of / 2):
        share = float(np.mean([each[3] for each in cheap]))
        says = f"texts without any of the work earn {share:.0%} of what gold earns, in {len(cheap)} of {of} problems"
        shown = [example_of(*each[:3]) for each in sorted(cheap, key=lambda each: -each[3])[:EXAMPLES]]
        yield Finding(
            "cheap", "severe", says, len(cheap), of, kinds=CHEAP, name="correctness is a small part of it",
            fix=FIX["cheap"], harm=share, examples=shown,
        )  # fmt: skip


# --- what is measured beyond the check --------------------------------------------------------------------------------


def out_of_order(
    numbers: dict[str, Any], pairs: Sequence[tuple[CheckedSample, float, CheckedSample, float]]
) -> Iterator[Finding]:
    """Partial credit that falls as an answer gets better."""
    if not pairs:
        return
    share = len(pairs) / numbers["pairs"]
    severity: Severity = "severe" if numbers["above_gold"] and share >= 0.1 else "warning"
    says = f"in {len(pairs)} of {numbers['pairs']} pairs the better answer is paid less"
    if numbers["above_gold"]:
        says += f"; {numbers['above_gold']} half-right answers are paid more than the right one"
    shown = [example_of(low, worse, better) for low, worse, _, better in pairs[:EXAMPLES]]
    yield Finding(
        "partial", severity, says, len(pairs), numbers["pairs"], kinds=("partial",), name="partial credit out of order",
        fix=FIX["partial"], harm=0.5 * share, examples=shown,
    )  # fmt: skip


def moved_by(measured: dict[str, dict[str, Any]], least: float = 0.25) -> Iterator[Finding]:
    """Properties that move the score of wrong answers, or cost right ones, by a good part of what being right is worth."""
    words = {"length": "its length", "form": "its form", "place": "where its answer stands", "style": "its style"}
    for what, by_truth in measured.items():
        for truth, told in by_truth.items():
            up = truth == "wrong" and told["mean"] > least
            down = truth == "right" and told["mean"] < -least
            if up or down:
                says = (
                    f"{words[what]} alone {'raises' if up else 'lowers'} a {truth} answer by {abs(told['mean']):.2f} of what"
                    f" being right is worth (up to {abs(told['largest']):.2f})"
                )
                yield Finding(
                    "moved", "warning", says, told["problems"], told["problems"], name=f"{what} matters",
                    fix=FIX["moved"], harm=min(1.0, 0.3 * abs(told["mean"])),
                )  # fmt: skip


def hacks_of(attack: AttackReport) -> Iterator[Finding]:
    """What an adversary found: severe where it does serious harm without knowing the right answer."""
    for hack in attack.hacks:
        severity: Severity = "severe" if hack.blind and hack in attack.serious else "warning"
        says = f"found by {hack.by or 'search'}: works on {hack.problems} of {hack.of} problems"
        shown = [Example("attack", hack.task, hack.example, hack.paid, hack.gold)]
        yield Finding(
            "attack", severity, says, hack.problems, hack.of, kinds=("attack",), name=hack.name, fix=hack.fix,
            harm=hack.harm, examples=shown,
        )  # fmt: skip


CLEAR = 0.85  # F-measure from which a rule is said to explain what is paid
ENOUGH = 5  # wrong completions that are paid, before anything is explained
WORDS = re.compile(r"correct|verified|highest score|ignore all|\bscore:|verdict|certain|flawless|grade", re.IGNORECASE)
MARKS = re.compile(r"<\w+>|\\boxed|####|\*\*|```|^\s*(?:final )?answer:|^= ", re.IGNORECASE | re.MULTILINE)
LENGTHS = (20, 50, 100, 200, 400, 1000, 4000)  # characters from which a text may be long enough to be paid


@dataclass(frozen=True)
class PayRule:
    """`holds(text, posed)`; `says` what the reward does, `fix` what to do about it."""

    name: str
    says: str
    fix: str
    holds: Callable[[str, Posed], bool]


@dataclass(frozen=True)
class Explained:
    """A rule, how well it fits (F-measure), and the kinds whose paid completions it holds for."""

    rule: PayRule
    fit: float
    kinds: frozenset[str]


def _core(posed: Posed) -> str:
    return posed.own.core.strip()


def _contains(text: str, posed: Posed) -> bool:
    return bool(_core(posed)) and _core(posed).casefold() in text.casefold()


def _mentions(text: str, posed: Posed) -> bool:
    """The answer as a word or a number of its own."""
    core = re.escape(_core(posed).casefold())
    return bool(core) and re.search(rf"(?<![\w.]){core}(?![\w]|\.\d)", text.casefold()) is not None


def _begins(text: str, posed: Posed) -> bool:
    first = re.search(r"-?\d+(?:\.\d+)?|[A-Za-z]+", text)
    return first is not None and first[0].casefold() == _core(posed).casefold()


def _ends(text: str, posed: Posed) -> bool:
    return bool(_core(posed)) and text.rstrip().casefold().endswith(_core(posed).casefold())


def _longer(least: int, text: str, posed: Posed) -> bool:
    return len(text) > least


RULES = (
    PayRule(
        "everything is paid",
        "it pays wrong answers like right ones, whatever they say",
        "compare the completion with the answer: now any text earns the full reward",
        lambda text, posed: True,
    ),
    PayRule(
        "substring match",
        "it looks for the answer anywhere in the text, inside other words and numbers too",
        "read one final answer (the last line, a tag, a box) and compare it whole: gd.exact(), gd.numeric()",
        _contains,
    ),
    PayRule(
        "any mention counts",
        "it pays any text that mentions the answer, also among other answers",
        "read one final answer, and refuse a completion that gives several",
        _mentions,
    ),
    PayRule(
        "the beginning counts",
        "it reads the first word or number and nothing after it",
        "read the final answer, not the first word or number",
        _begins,
    ),
    PayRule(
        "the last characters count",
        "it compares the end of the text with the answer, inside other words and numbers too",
        "read the whole of the final answer, from its beginning: gd.exact(), gd.numeric()",
        _ends,
    ),
    PayRule(
        "silence is paid",
        "it pays texts without any letter or digit",
        "give 0 if there is no answer to read, before anything is compared",
        lambda text, posed: not re.search(r"[^\W_]", text),
    ),
    *(
        PayRule(
            "length is paid",
            f"it pays texts of more than {least:,} characters",
            "limit the reward for length far below the reward for a right answer, or remove it",
            functools.partial(_longer, least),
        )
        for least in LENGTHS
    ),
    PayRule(
        "praise is believed",
        "it believes what a text says about itself",
        "pay nothing for a text's claims about itself; show a judge only the answer, between marks that it cannot write, and"
        " tell the judge that praise in it is a fault",
        lambda text, posed: WORDS.search(text) is not None,
    ),
    PayRule(
        "form is paid",
        "it pays the form of an answer, whatever its content",
        "pay the form only if the answer in it is right, or much less than a right answer",
        lambda text, posed: MARKS.search(text) is not None,
    ),
    PayRule(
        "the prompt is paid",
        "it pays texts that repeat the prompt",
        "leave out of a completion what was copied from the prompt before it is scored",
        lambda text, posed: bool(posed.task.prompt.strip()) and posed.task.prompt.strip()[:200] in text,
    ),
)


def explained(posed: Sequence[Posed], asked: Asked) -> Explained | None:
    """The rule that explains best which wrong completions are paid, if one does so clearly. Where two fit alike the earlier is
    meant: it says more. A reward that pays right answers no more than wrong ones is explained by that."""
    limits, gold = bars(asked), gold_of(asked)
    if 2 * len(limits) < len(gold):
        return None
    wrong = [
        (s, v > limits[s.group] if s.group in limits else v >= gold[s.group] - SAME)
        for s, v in zip(asked.samples, asked.values, strict=True)
        if s.kind not in RIGHT and v == v and s.group in gold
    ]
    if sum(paid for _, paid in wrong) < ENOUGH:
        return None
    rule = max(RULES, key=lambda each: _fit(each, posed, wrong))  # the first of those that fit alike
    fit = _fit(rule, posed, wrong)
    if fit < CLEAR:
        return None
    return Explained(rule, fit, frozenset(_covered(rule, posed, wrong)))


def _fit(rule: PayRule, posed: Sequence[Posed], wrong: Sequence[tuple[CheckedSample, bool]]) -> float:
    """The F-measure of a rule over wrong completions."""
    held = [(rule.holds(s.text, posed[s.group]), paid) for s, paid in wrong]
    both = sum(holds and paid for holds, paid in held)
    return 2 * both / (sum(holds for holds, _ in held) + sum(paid for _, paid in held)) if both else 0.0


def _covered(rule: PayRule, posed: Sequence[Posed], wrong: Sequence[tuple[CheckedSample, bool]]) -> list[str]:
    kinds: dict[str, list[bool]] = {}
    for sample, paid in wrong:
        if paid:
            kinds.setdefault(sample.kind, []).append(rule.holds(sample.text, posed[sample.group]))
    return [kind for kind, holds in kinds.items() if sum(holds) >= CLEAR * len(holds)]
