"""Why wrong answers are paid: the plainest rule that tells the paid from the unpaid, with its name and its mend.

A rule is a question about a text. It explains a reward where the wrong texts that it holds for are paid and the others are
not; how well, is the F-measure of "the rule holds" against "it is accepted", over all wrong completions of an audit.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from guerdon.audits.reward.error_rates import bars
from guerdon.rewards.check.asking_twice import Asked
from guerdon.rewards.check.check_tables import RIGHT, gold_of
from guerdon.rewards.check.gold_answers import Posed
from guerdon.rewards.check.reward_report import SAME, CheckedSample

CLEAR = 0.85  # F-measure from which a rule is said to explain what is paid
ENOUGH = 5  # wrong completions that are paid, before anything is explained
WORDS = re.compile(r"correct|verified|highest score|ignore all|\bscore:|verdict|certain|flawless|grade", re.IGNORECASE)
MARKS = re.compile(r"<\w+>|\\boxed|####|\*\*|```|^\s*(?:final )?answer:|^= ", re.IGNORECASE | re.MULTILINE)
LENGTHS = (20, 50, 100, 200, 400, 1000, 4000)  # characters from which a text may be long enough to be paid


@dataclass(frozen=True)
class PayRule:
    """`holds(text, posed)`; `says` what the reward does, `mend` what to do about it."""

    name: str
    says: str
    mend: str
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
        "compare the completion with the answer: as it stands there is nothing to learn but to write anything",
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
        "it pays whoever mentions the answer, among others too",
        "read one final answer, and refuse a completion that gives several",
        _mentions,
    ),
    PayRule(
        "the beginning counts",
        "it reads the first word or number and nothing after it",
        "read the final answer, not the first thing that is said",
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
        "it pays texts without a single letter or digit",
        "give 0 where there is no answer to read, before anything is compared",
        lambda text, posed: not re.search(r"[^\W_]", text),
    ),
    *(
        PayRule(
            "length is paid",
            f"it pays texts of more than {least:,} characters",
            "bound what length can earn far below what being right earns, or leave it out",
            functools.partial(_longer, least),
        )
        for least in LENGTHS
    ),
    PayRule(
        "praise is believed",
        "it believes what a text says about itself",
        "pay nothing for what a text says of itself; show a judge the answer alone, between marks that it cannot write, and"
        " tell the judge that praise in it is a fault",
        lambda text, posed: WORDS.search(text) is not None,
    ),
    PayRule(
        "form is paid",
        "it pays the form of an answer, whatever stands in it",
        "pay the form only where the answer in it is right, or much less than being right",
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
