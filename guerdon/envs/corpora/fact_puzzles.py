"""A question about a made-up world whose answer takes several documents, with all that is known about it.

The chain of facts that leads to the answer, the documents it stands in, the queries that find them, documents that are outdated
or not to be trusted and lead astray, and wrong answers of several kinds. `hops` asks for the answer, `claims` for a verdict.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from guerdon.core.task import Split
from guerdon.envs.corpora.collection import small_library
from guerdon.envs.corpora.documents import Document
from guerdon.envs.corpora.made_up_facts import BEGAN, BY_KIND, RELATIONS, Draft, Entity, MadeUpWorld, Relation, written

FOUND_AMONG = 3  # as many documents as `searched` shows
RULES = {
    "newer": "where documents disagree, the newer one is right.",
    "register": "where documents disagree, a register is right and a letter is wrong.",
}


@dataclass(frozen=True)
class PuzzleSetting:
    """What a level has: hops, documents, how many things are compared, other names, rules, and facts that are in no
    document."""

    hops: tuple[int, ...]
    documents: int
    compared: int = 0
    aliases: bool = False
    rules: tuple[str, ...] = ()
    unknown: bool = False


SETTINGS = (
    PuzzleSetting((1,), 6),
    PuzzleSetting((2,), 10),
    PuzzleSetting((2,), 16, compared=2),
    PuzzleSetting((3,), 24, aliases=True, unknown=True),
    PuzzleSetting((3,), 32, compared=2, rules=("newer",)),
    PuzzleSetting((3, 4), 40, compared=2, aliases=True, rules=("newer",), unknown=True),
    PuzzleSetting((4,), 56, compared=3, aliases=True, rules=("newer", "register")),
    PuzzleSetting((4,), 80, compared=3, aliases=True, rules=("newer", "register"), unknown=True),
)


@dataclass(frozen=True)
class Puzzle:
    """What is asked for, `asked`, as a noun phrase; `answer`, which the documents call `named`, None where none says.
    `relevant` are the ids of the chain's documents in its order, `queries` find them, `misses` are
    wrong answers by kind, `rule` says who is right."""

    asked: str
    kind: str
    answer: Entity | None
    named: str
    documents: tuple[Document, ...]
    relevant: tuple[str, ...]
    queries: tuple[str, ...]
    misses: dict[str, str]
    rule: str
    shape: str


@dataclass
class PuzzleMaker:
    """Makes one puzzle: the chain first, then what leads astray, then documents that have nothing to do with it."""

    world: MadeUpWorld
    setting: PuzzleSetting
    unknown: bool = False
    drafts: list[Draft] = field(default_factory=list)
    gold: list[int] = field(default_factory=list)  # places in drafts
    queries: list[tuple[str, str]] = field(default_factory=list)  # whom a document is about, and what is asked
    misses: dict[str, str] = field(default_factory=dict)

    @property
    def draw(self) -> random.Random:
        return self.world.draw

    def make(self) -> Puzzle | None:
        """A puzzle; None where no plain query finds one of its documents."""
        setting = self.setting
        compares = bool(setting.compared) and self.draw.random() < 0.4
        hops = self.draw.choice(setting.hops)
        relations = self._relations(hops if not compares else 1 + (hops > 2), compares)
        rule = self.draw.choice(setting.rules) if setting.rules else ""
        astray = self.draw.randrange(len(relations)) if rule and not self.unknown else -1
        asked, subject = self._compared(relations[0]) if compares else self._named(relations[0].of)
        answer, named = self._chain(subject, relations, astray, rule, shown=compares)
        asked = self._phrase(asked, relations)
        kind = relations[-1].to
        self._distract(relations, subject, kind)
        self._date(rule)
        documents, ids = written(self.drafts, self.draw)
        relevant = tuple(ids[at] for at in self.gold)
        shape = "comparison" if compares else "bridge"
        told = None if self.unknown else answer
        queries = self._gold_queries(tuple(documents), relevant)
        if queries is None:
            return None
        return Puzzle(asked, kind, told, named, tuple(documents), relevant, queries, self.misses, rule, shape)

    def _gold_queries(self, documents: tuple[Document, ...], relevant: Sequence[str]) -> tuple[str, ...] | None:
        """Queries that find the documents of the chain among the first `FOUND_AMONG`: name and noun, or else the name alone."""
        library, queries = small_library(documents), []
        for (name, noun), wanted in zip(self.queries, relevant, strict=True):
            for query in (f"{name} {noun}", name):
                if wanted in [hit.document.id for hit in library.search(query, FOUND_AMONG)]:
                    queries.append(query)
                    break
            else:
                return None
        return tuple(queries)

    # --- the chain -------------------------------------------------------------------------------------------------------

    def _relations(self, count: int, compares: bool) -> list[Relation]:
        """Relations one after the other, none twice."""
        first = [r for r in RELATIONS if not compares or r.of in BEGAN]
        chosen = [self.draw.choice(first)]
        while len(chosen) < count:
            more = [r for r in BY_KIND[chosen[-1].to] if r not in chosen]
            if not more:
                return self._relations(count, compares)
            chosen.append(self.draw.choice(more))
        return chosen

    def _phrase(self, asked: str, relations: Sequence[Relation]) -> str:
        for relation in relations:
            asked = f"the {self.draw.choice(relation.nouns)} of {asked}"
        return asked

    def _named(self, kind: str) -> tuple[str, Entity]:
        subject = self.world.entity(kind)
        return subject.name, subject

    def _compared(self, relation: Relation) -> tuple[str, Entity]:
        """Several things of a kind, of which the oldest is meant; each has a document."""
        several = [self.world.entity(relation.of) for _ in range(self.setting.compared)]
        years = self.draw.sample(range(1850, 1950), len(several))
        oldest = several[years.index(min(years))]
        for entity, year in zip(several, years, strict=True):
            self.queries.append((entity.name, f"{BEGAN[entity.kind]} year"))
            self.gold.append(len(self.drafts))
            told = [] if entity is oldest else [(relation, self._miss(relation.to, "of another compared"))]
            self.drafts.append(self.world.draft(entity, told, year))
        names = ", ".join(entity.name for entity in several[:-1]) + f" and {several[-1].name}"
        return f"whichever of {names} was {BEGAN[relation.of]} first", oldest

    def _miss(self, kind: str, why: str) -> str:
        name = self.world.entity(kind).name
        self.misses.setdefault(why, name)
        return name

    def _chain(
        self, subject: Entity, relations: Sequence[Relation], astray: int, rule: str, shown: bool
    ) -> tuple[Entity, str]:
        """Write the documents of the chain, which begins at `subject`; its last object is the answer, by the name that it has
        there."""
        mention = subject.name
        for at, relation in enumerate(relations):
            last = at == len(relations) - 1
            target = self.world.entity(relation.to, aliased=self.setting.aliases and self.draw.random() < 0.5)
            named = target.alias if target.alias and (not last or self.draw.random() < 0.5) else target.name
            told = [] if last and self.unknown else [(relation, named)]
            if shown and at == 0:  # it was compared, and has a document
                place = next(i for i, draft in enumerate(self.drafts) if draft.about is subject)
                self.drafts[place].sentences += [self.world.says(subject.name, *fact) for fact in told]
            else:
                place = len(self.drafts)
                self.gold.append(place)
                self.queries.append((mention, self.draw.choice(relation.nouns)))
                besides = self._besides(subject.kind, relation)
                facts = [*told, *besides] if self.draw.random() < 0.5 else [*besides, *told]
                self.drafts.append(self.world.draft(subject, facts))
            if at == astray:
                self._lead_astray(subject, relations[at:], place, rule)
            if not last:
                self.misses.setdefault("on the way", target.name)
            subject, mention = target, named
        if subject.alias:  # somewhere its two names stand together
            self.drafts.append(self.world.draft(subject, self._besides(subject.kind)))
        return subject, mention

    def _besides(self, kind: str, relation: Relation | None = None) -> list[tuple[Relation, str]]:
        """A fact that is not asked for; there has to be one where the asked one is missing."""
        others = [r for r in BY_KIND[kind] if r is not relation]
        if not others or (self.setting.documents < 10 and not self.unknown):
            return []
        other = self.draw.choice(others)
        return [(other, self.world.entity(other.to).name)]

    def _lead_astray(self, subject: Entity, relations: Sequence[Relation], place: int, rule: str) -> None:
        """A document that says otherwise, with a chain of its own behind it."""
        right = self.drafts[place]
        wrong = Draft(subject, [])
        years = self.draw.sample(range(1960, 2020), 2)
        if rule == "newer":
            right.year, wrong.year = max(years), min(years)
            right.source, wrong.source = self.draw.choices(("register", "letter"), k=2)
        else:
            right.year, wrong.year = years
            right.source, wrong.source = "register", "letter"
        self.drafts.append(wrong)
        about, draft = subject, wrong
        for relation in relations:
            target = self.world.entity(relation.to)
            draft.sentences.append(self.world.says(about.name, relation, target.name))
            if relation is not relations[-1]:
                draft = Draft(target, [])
                self.drafts.append(draft)
            about = target
        self.misses["outdated" if rule == "newer" else "not to be trusted"] = about.name

    # --- the rest --------------------------------------------------------------------------------------------------------

    def _distract(self, relations: Sequence[Relation], subject: Entity, kind: str) -> None:
        """Documents about others: with the same relations first, one of them about a namesake."""
        people = [d.about.name.split()[-1] for d in self.drafts if d.about.kind == "person"]
        turn = 0
        while len(self.drafts) < self.setting.documents:
            relation = relations[-1 - turn % len(relations)] if turn < 4 else self.draw.choice(RELATIONS)
            family = self.draw.choice(people) if relation.of == "person" and people and turn % 3 == 0 else ""
            other = self.world.entity(relation.of, family=family)
            facts = [(relation, self.world.entity(relation.to).name)]
            if relation.to == kind:
                self.misses.setdefault("of something else", facts[0][1])
            if self.draw.random() < 0.4:
                facts += self._besides(relation.of, relation)
            year = self.draw.randrange(1850, 1950) if other.kind in BEGAN and self.draw.random() < 0.3 else 0
            self.drafts.append(self.world.draft(other, facts, year))
            turn += 1

    def _date(self, rule: str) -> None:
        """Where documents can disagree, all of them say when and by whom they were written."""
        for draft in self.drafts if self.setting.rules else ():
            draft.source = draft.source or self.draw.choice(("register", "letter"))
            draft.year = draft.year or self.draw.randrange(1960, 2020)


def make_puzzle(level: int, split: Split, draw: random.Random, unknown: bool = False) -> Puzzle:
    """A puzzle of a level, drawn; `unknown`: no document says the last of its facts."""
    while True:
        puzzle = PuzzleMaker(MadeUpWorld(draw, split), SETTINGS[level - 1], unknown).make()
        if puzzle is not None:
            return puzzle
