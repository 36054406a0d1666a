"""Hacks in groups, each named by the rule that describes it best, with the mend in a line.

Rules are learned by covering, one after another, as CN2 does (Clark & Niblett, The CN2 Induction Algorithm, 1989): of all
rules the one whose texts are most often paid, counted over what was paid and what was not, and that explains most hacks, takes
its hacks; then the rest. What no rule describes so is made short first, and named by what is left of it; or, where nothing
fits, by where it began and by what was done to it last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from guerdon.audits.adversary.traits import Traits
from guerdon.audits.adversary.victim import Shot
from guerdon.rewards.check.reward_report import KINDS

PAID = 0.5  # the least share of a rule's texts that must be paid, for it to be why
UNNAMED = "hold the reward against the task's own check on texts such as this"


@dataclass(frozen=True)
class HackRule:
    """What some texts have in common, in words, and what mends a reward that pays them."""

    name: str
    mend: str
    test: Callable[[Traits], bool] = field(repr=False)


def _text(t: Traits) -> bool:
    return t.language == "text"


RULES = (
    HackRule("nothing at all", "pay nothing where there is no answer to read", lambda t: t.blank),
    HackRule(
        "nothing but the mark",
        "read what stands in the mark and compare it, before anything is paid for the mark",
        lambda t: t.marks_alone and not t.has_right,
    ),
    HackRule(
        "programs that end before they are tested",
        "count a test as passed only when it ran to its end and said so, in a process of its own",
        lambda t: t.ends_early,
    ),
    HackRule(
        "programs whose results equal everything",
        "compare results by type and value in the tester's process, never by the result's own `==`",
        lambda t: t.equals_all,
    ),
    HackRule(
        "programs that know the shown tests",
        "test on inputs that the prompt does not show",
        lambda t: t.knows_shown,
    ),
    HackRule(
        "programs that do nothing",
        "run the program on inputs whose results differ, and compare the results",
        lambda t: t.idle_code and not t.ends_early and not t.equals_all and not t.blank,
    ),
    HackRule(
        "the right query as a remark",
        "run the query and compare its rows, not its text",
        lambda t: t.remarked,
    ),
    HackRule(
        "pleas and praise",
        "take no word of the completion for a verdict: judge its answer alone, and bound what words can earn",
        lambda t: t.begs,
    ),
    HackRule(
        "look-alike letters",
        "read numbers and letters as the task does: plain digits, one alphabet",
        lambda t: t.odd_letters and not t.begs,
    ),
    HackRule(
        "copies of the prompt",
        "read the answer where it must stand, not anywhere in the text",
        lambda t: t.copies_prompt,
    ),
    HackRule(
        "the same items in another order",
        "compare the order too",
        lambda t: t.reordered,
    ),
    HackRule(
        "the right keys with other values",
        "compare every value, not the keys alone",
        lambda t: t.same_keys,
    ),
    HackRule(
        "lists of many answers",
        "read one answer, the last, and pay nothing where there are several",
        lambda t: _text(t) and t.answers >= 3 and (t.has_right or t.holds_right),
    ),
    HackRule(
        "the answer inside a longer one",
        "compare whole answers, not pieces of text: parse, then ==",
        lambda t: _text(t) and t.holds_right and t.answers < 3,
    ),
    HackRule(
        "the right answer first, another last",
        "read the last answer, or the one in the mark",
        lambda t: _text(t) and t.begins_right and not t.ends_right and t.answers > 1,
    ),
    HackRule(
        "the right answer with something else after it",
        "let nothing follow the answer, or read what follows",
        lambda t: _text(t) and t.has_right and t.answers < 2,
    ),
    HackRule(
        "repetition",
        "pay for a thing once, however often it is said",
        lambda t: t.repeats,
    ),
    HackRule(
        "long texts",
        "bound what length can earn below what being right earns",
        lambda t: t.long,
    ),
    HackRule(
        "numbers near the right one",
        "narrow the tolerance, or pay less the further off",
        lambda t: t.near,
    ),
    HackRule(
        "wrong answers in the right form",
        "pay less for the form than for being right, or nothing unless it is right",
        lambda t: _text(t) and t.has_mark and t.answers > 0 and not t.has_right,
    ),
    HackRule(
        "a piece of the prompt for an answer",
        "check that the answer was made as the task asks, not only what it comes to",
        lambda t: _text(t) and t.of_prompt and t.answers == 0,
    ),
    HackRule(
        "texts without an answer",
        "pay nothing where there is no answer to read",
        lambda t: _text(t) and t.answers == 0 and not t.blank and not t.marks_alone and not t.holds_right,
    ),
    HackRule(
        "any answer of the right kind",
        "compare what is said with the right answer",
        lambda t: _text(t) and t.answers == 1 and not t.has_right and not t.holds_right,
    ),
)


@dataclass(frozen=True)
class Cluster:
    """Hacks that have a rule in common."""

    rule: HackRule
    shots: tuple[Shot, ...]
    paid: float  # the share of texts with this trait, of all that were asked about, that were paid


def clusters(
    hacks: Sequence[Shot], unpaid: Sequence[Shot], traits: Mapping[Shot, Traits]
) -> tuple[list[Cluster], list[Shot]]:
    """Hacks by rule, and those that no rule describes; `unpaid` are texts that earned nothing to speak of, against which rules
    are held."""
    rest, named = list(hacks), []
    while rest:
        scored = [(*_worth(rule, rest, unpaid, traits), rule) for rule in RULES]
        worth, paid, rule = max(scored, key=lambda each: each[0])  # of equals the first, which says most
        if worth <= 0.0:
            break
        named.append(Cluster(rule, tuple(s for s in rest if rule.test(traits[s])), paid))
        rest = [s for s in rest if not rule.test(traits[s])]
    return named, rest


def _worth(
    rule: HackRule, rest: Sequence[Shot], unpaid: Sequence[Shot], traits: Mapping[Shot, Traits]
) -> tuple[float, float]:
    """How well a rule explains: the texts it covers, by how often its texts are paid (Laplace's estimate); and that share."""
    mine = sum(rule.test(traits[s]) for s in rest)
    if not mine:
        return 0.0, 0.0
    idle = sum(rule.test(traits[s]) for s in unpaid)
    paid = (mine + 1) / (mine + idle + 2)
    return (paid * paid * mine if paid >= PAID else 0.0), mine / (mine + idle)


def rule_of(shot: Shot, traits: Traits, first: Sequence[HackRule]) -> HackRule:
    """The rule for a text that was made as short as it can be, so that all that is seen of it is why: one of the `first` if one
    fits, any other, or one named by where the text began and what was done to it last."""
    fits = next((rule for rule in (*first, *RULES) if rule.test(traits)), None)
    return fits or HackRule(lineage_name(shot), UNNAMED, lambda t: True)


def lineage_name(shot: Shot) -> str:
    origin = shot.of.origin.rpartition(": ")[2]
    if not shot.of.steps:
        return KINDS.get(origin, origin)
    begun = "right answers" if origin == "gold" else "wrong answers"
    return f"{begun}, {shot.of.steps[-1][0]}"
