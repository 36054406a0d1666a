"""Translation into and out of a small made-up language: two word lists, another word order, endings. One right text each.

Velan has no articles, puts an adjective after its noun and the verb last, marks plural and past by endings and says `na`
before a verb that is denied.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from guerdon.core.part import knob, part
from guerdon.core.seeds import derive
from guerdon.core.task import Split, Task
from guerdon.tasks.family import HELD_OUT, NearMiss

NAME = "translation"
NOUNS = {
    "dog": "talu", "cat": "miro", "bird": "sefa", "horse": "doku", "farmer": "banti", "teacher": "velo", "doctor":
    "kemi", "sailor": "sona", "king": "rado", "queen": "rila", "boy": "tepo", "girl": "tepa", "house": "domu", "boat":
    "navi", "tree": "arbo", "river": "fluma", "stone": "petri", "garden": "horta", "lamp": "luna", "door": "porti",
}  # fmt: skip
VERBS = {
    "help": "jude", "follow": "sekve", "watch": "garde", "paint": "pinte", "push": "puse", "wash": "lave", "visit":
    "vizte", "clean": "klene", "call": "voke", "move": "muve", "love": "ame", "find": "trove",
}  # fmt: skip
ADJECTIVES = {
    "small": "eto", "big": "gran", "old": "anto", "young": "juno", "red": "rosu", "blue": "azu", "green": "verdu",
    "quiet": "silo", "happy": "feli", "tired": "laso", "brave": "kora", "dark": "nero",
}  # fmt: skip
WORDS = NOUNS | VERBS | ADJECTIVES
PLURAL, PAST, NOT, AND = "s", "d", "na", "ke"
IRREGULAR = {"find": "found"}
# level: adjectives at most, whether plural, "not" and past may occur, clauses
LEVELS = {
    1: (0, "", 1),
    2: (1, "", 1),
    3: (2, "", 1),
    4: (2, "p", 1),
    5: (2, "pn", 1),
    6: (2, "pnd", 1),
    7: (1, "pn", 2),
    8: (2, "pnd", 2),
}
RULES = {
    "": "{language} has no articles, an adjective comes after its noun, and the verb comes last.",
    "p": f"A noun in the plural ends in -{PLURAL}.",
    "n": f'"Not" is {NOT}, before the verb.',
    "d": f"A verb in the past ends in -{PAST}.",
    "2": f'"And" is {AND}.',
}
Direction = Literal["both", "to", "from"]
ASKED = "Translate this sentence from {source} into {target}, and write nothing else.\n{rules}{words}\n{text}\n"


@dataclass(frozen=True)
class Thing:
    """A noun with an adjective or without one."""

    noun: str
    adjective: str = ""
    plural: bool = False

    def english(self) -> str:
        return " ".join(filter(None, ["the", self.adjective, self.noun + "s" * self.plural]))

    def velan(self) -> str:
        return " ".join(filter(None, [NOUNS[self.noun] + PLURAL * self.plural, ADJECTIVES.get(self.adjective, "")]))


@dataclass(frozen=True)
class Clause:
    """Who does what to whom."""

    subject: Thing
    verb: str
    object: Thing
    denied: bool = False
    past: bool = False

    def english(self) -> str:
        helper = "did" if self.past else "do" if self.subject.plural else "does"
        if self.denied:
            verb = f"{helper} not {self.verb}"
        elif self.past:
            verb = IRREGULAR.get(self.verb, self.verb + ("d" if self.verb.endswith("e") else "ed"))
        else:
            verb = self.verb if self.subject.plural else self.verb + ("es" if self.verb.endswith("sh") else "s")
            verb = "watches" if verb == "watchs" else verb
        return f"{self.subject.english()} {verb} {self.object.english()}"

    def velan(self) -> str:
        verb = VERBS[self.verb] + PAST * self.past
        return " ".join(filter(None, [self.subject.velan(), self.object.velan(), NOT * self.denied, verb]))

    @property
    def words(self) -> list[str]:
        parts = [self.subject.noun, self.subject.adjective, self.verb, self.object.noun, self.object.adjective]
        return [word for word in parts if word]


@part
class translation:
    """A sentence to translate into or out of Velan, a made-up language: one right text, which differs by word order.

    The prompt states the rules of the level and lists the words needed, with as many others; with `shown=False` it states
    neither, for a model that has learned them. Level 1 has a subject, a verb and an object, level 2 and 3 adjectives, level 4
    plurals, level 5 denials, level 6 the past, level 7 and 8 two clauses. Letter case, outer quotes and a full stop do not
    count.

    Args:
        level: difficulty.
        direction: into Velan, out of it, or either.
        shown: the prompt states rules and words.

    >>> import guerdon as gd
    >>> family = gd.tasks.translation(level=3, direction="to", shown=False)
    >>> problem = family.get("train", 0)
    >>> problem.prompt.splitlines()[-1], problem.answer, family.check(problem, problem.answer.capitalize() + ".")
    ('the green teacher cleans the dark river', 'velo verdu fluma nero klene', 1.0)
    """

    level: int = knob(default=1, ge=1, le=8)
    direction: Direction = knob(default="both", choices=("both", "to", "from"))
    shown: bool = True

    @property
    def name(self) -> str:
        return NAME

    def size(self, split: Split) -> int | None:
        return None

    def get(self, split: Split, index: int) -> Task:
        """Problem number `index`. The sentence decides its split, in both directions."""
        draw = random.Random(derive(NAME, self.level, split, index))
        while True:
            clauses = drawn_clauses(draw, self.level)
            english = said(clauses, velan=False)
            if (derive(NAME, english) % HELD_OUT == 0) == (split == "test"):
                break
        texts = {"English": english, "Velan": said(clauses, velan=True)}
        source, target = ("English", "Velan") if self._is_to(draw) else ("Velan", "English")
        rules = f"{written_rules(self.level)}\n" if self.shown else ""
        words = f"Words: {written_words(clauses, draw, source)}\n" if self.shown else ""
        prompt = ASKED.format(source=source, target=target, rules=rules, words=words, text=texts[source])
        meta = {
            "english": english,
            "velan": texts["Velan"],
            "target": target,
            "clauses": [told(each) for each in clauses],
        }
        return Task(f"{target}: {english}", prompt, texts[target], NAME, self.level, meta)

    def _is_to(self, draw: random.Random) -> bool:
        either = draw.random() < 0.5
        return either if self.direction == "both" else self.direction == "to"

    def check(self, task: Task, completion: str) -> float | None:
        return float(plain(completion) == plain(task.answer))

    def explain(self, task: Task, completion: str) -> str:
        """Why a translation is wrong; nothing for a right one."""
        given, wanted = plain(completion).split(), plain(task.answer).split()
        if given == wanted:
            return ""
        if sorted(given) == sorted(wanted):
            return "the words are right, their order is not"
        at = next((i for i, pair in enumerate(zip(given, wanted, strict=False)) if pair[0] != pair[1]), None)
        if at is None:
            return f"{len(given)} words, not {len(wanted)}"
        return f"word {at + 1} is {given[at]!r}, not {wanted[at]!r}"

    def solution(self, task: Task) -> str:
        return task.answer

    def near_misses(self, task: Task, draw: random.Random) -> list[NearMiss]:
        """Translations with one error each."""
        first, *rest = clauses = [read_clause(each) for each in task.meta["clauses"]]
        velan = task.meta["target"] == "Velan"
        other = draw.choice([noun for noun in NOUNS if noun not in (first.subject.noun, first.object.noun)])
        texts = {
            "sides exchanged": said([replace(first, subject=first.object, object=first.subject), *rest], velan),
            "wrong word": said([replace(first, object=replace(first.object, noun=other)), *rest], velan),
            "verb out of place": _verb_first(task.answer),
            "last word missing": task.answer.rpartition(" ")[0],
            "denial changed": said([replace(first, denied=not first.denied), *rest], velan),
        }
        if first.past:
            texts["past lost"] = said([replace(first, past=False), *rest], velan)
        if first.subject.plural:
            texts["plural lost"] = said([replace(first, subject=replace(first.subject, plural=False)), *rest], velan)
        if len(clauses) > 1:
            texts["clauses exchanged"] = said([*rest, first], velan)
        return [NearMiss(text, kind, 0) for kind, text in texts.items() if self.check(task, text) == 0.0]


def drawn_clauses(draw: random.Random, level: int) -> list[Clause]:
    adjectives, features, count = LEVELS[level]
    clauses = []
    for _ in range(count):
        nouns, described = draw.sample(list(NOUNS), 2), draw.sample((0, 1), adjectives)
        many = [("p" in features and draw.random() < 0.5) for _ in nouns]
        things = [
            Thing(noun, draw.choice(list(ADJECTIVES)) if place in described else "", many[place])
            for place, noun in enumerate(nouns)
        ]
        denied, past = ("n" in features and draw.random() < 0.5), ("d" in features and draw.random() < 0.5)
        clauses.append(Clause(things[0], draw.choice(list(VERBS)), things[1], denied, past))
    return clauses


def said(clauses: Sequence[Clause], velan: bool) -> str:
    joint = f" {AND} " if velan else " and "
    return joint.join(each.velan() if velan else each.english() for each in clauses)


def told(clause: Clause) -> list[Any]:
    """A clause as JSON."""
    things = [[each.noun, each.adjective, each.plural] for each in (clause.subject, clause.object)]
    return [things[0], clause.verb, things[1], clause.denied, clause.past]


def read_clause(stored: Sequence[Any]) -> Clause:
    subject, verb, thing, denied, past = stored
    return Clause(Thing(*subject), verb, Thing(*thing), denied, past)


def written_rules(level: int) -> str:
    """The rules that a level needs."""
    _, features, count = LEVELS[level]
    return " ".join(RULES[each].format(language="Velan") for each in ["", *features, *(["2"] if count > 1 else [])])


def written_words(clauses: Sequence[Clause], draw: random.Random, source: str) -> str:
    """The words of some clauses with others among them."""
    needed = list(dict.fromkeys(word for clause in clauses for word in clause.words))
    others = draw.sample([word for word in WORDS if word not in needed], len(needed))
    listed = draw.sample([*needed, *others], len(needed) + len(others))
    pairs = [(word, WORDS[word]) if source == "English" else (WORDS[word], word) for word in listed]
    return ", ".join(f"{one} = {other}" for one, other in pairs) + "."


def plain(text: str) -> str:
    """A text without case, spaces that do not count, outer quotes and a full stop."""
    text = " ".join(text.strip()[:5000].split()).lower() if "\n" not in text.strip() else "\n"
    return text.strip("\"'").rstrip(".!").strip("\"'")


def _verb_first(text: str) -> str:
    last = text.split()
    return " ".join([*last[:1], last[-1], *last[1:-1]])
