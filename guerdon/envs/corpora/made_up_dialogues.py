"""Dialogues about a made-up world, with questions that cannot be understood alone, and a passage for each answer.

A pronoun means the last thing that was spoken of and fits: only a firm has a seat. Passages say a relation by the noun that is
asked with: what has to be resolved is what is meant, not what else it could be called.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from guerdon.envs.corpora.documents import Document
from guerdon.envs.corpora.made_up_facts import BY_KIND, ENDINGS, Draft, Entity, MadeUpWorld, Relation, written


@dataclass(frozen=True)
class DialogueSetting:
    """What a level has: questions after the first, passages, and how they may refer to what was said."""

    questions: int
    passages: int
    ways: tuple[str, ...]


DIALOGUE_LEVELS = (
    DialogueSetting(1, 16, ("same",)),
    DialogueSetting(2, 32, ("same", "answer")),
    DialogueSetting(3, 48, ("same", "answer", "other")),
    DialogueSetting(3, 56, ("answer", "other", "earlier")),
    DialogueSetting(4, 64, ("answer", "other", "earlier")),
    DialogueSetting(4, 72, ("answer", "other", "earlier")),
    DialogueSetting(5, 84, ("answer", "other", "earlier")),
    DialogueSetting(6, 96, ("answer", "other", "earlier")),
)
SAYS = ("the {noun} of {s} is {o}", "{o} is the {noun} of {s}", "{s} has {o} as {noun}")
Fact = tuple[Relation, str, Entity]  # the relation, the noun that it goes by, the object


Step = tuple[Entity, Relation, str, Entity, str]  # whose, what, by which noun, the answer, and the question in words


@dataclass
class DialogueMaker:
    """Makes one dialogue: things and all their relations, a passage for each, then a walk over them."""

    world: MadeUpWorld
    setting: DialogueSetting
    facts: dict[Entity, list[Fact]] = field(default_factory=dict)
    drafts: list[Draft] = field(default_factory=list)
    place: dict[tuple[Entity, Relation], int] = field(default_factory=dict)
    nouns: dict[Relation, str] = field(default_factory=dict)  # by which this world's passages call relations

    @property
    def draw(self) -> random.Random:
        return self.world.draw

    def make(self) -> tuple[list[Document], list[dict[str, Any]]]:
        """The passages, and the turns: what the user says, the assistant answers, the passage it stands in and a gold query."""
        subject = self._told(self.draw.choice(tuple(ENDINGS)))
        relation, noun, answer = self.draw.choice(self.facts[subject])
        steps: list[Step] = [(subject, relation, noun, answer, f"{_ask(relation)} is the {noun} of {subject.name}?")]
        spoken = [subject, answer]  # in the order in which they were last spoken of
        asked = {(subject, relation)}
        while len(steps) <= self.setting.questions:
            subject, (relation, noun, answer), said = self._next(spoken, asked, steps[-1])
            asked.add((subject, relation))
            steps.append((subject, relation, noun, answer, said))
            spoken = [one for one in spoken if one not in (subject, answer)] + [subject, answer]
        kinds = sorted({step[0].kind for step in steps})  # what is asked is said of many others as well
        while len(self.drafts) < self.setting.passages:
            self._told(self.draw.choice(kinds))
        documents, ids = written(self.drafts, self.draw)
        turns = [
            {
                "user": said,
                "assistant": answer.name,
                "relevant": [ids[self.place[subject, relation]]],
                "query": f"{noun} of {subject.name}",
            }
            for subject, relation, noun, answer, said in steps
        ]
        return documents, turns

    def _told(self, kind: str, entity: Entity | None = None) -> Entity:
        """A thing with a passage for each of its relations."""
        entity = entity or self.world.entity(kind)
        self.facts[entity] = []
        for relation in BY_KIND[entity.kind]:
            noun = self.nouns.setdefault(relation, self.draw.choice(relation.nouns))
            fact = (relation, noun, self.world.entity(relation.to))
            self.facts[entity].append(fact)
            self.place[entity, relation] = len(self.drafts)
            self.drafts.append(Draft(entity, self._write(entity, fact)))
        return entity

    def _next(self, spoken: list[Entity], asked: set[tuple[Entity, Relation]], last: Step) -> tuple[Entity, Fact, str]:
        """The next question: about whom, what, and in which words."""
        kinds_after = [{one.kind for one in spoken[at + 1 :]} for at in range(len(spoken))]
        meant = [one for one, later in zip(spoken, kinds_after, strict=True) if one.kind not in later]  # by a pronoun
        subject, way = last[0], self.draw.choice(self.setting.ways)
        if way == "other":  # the same of something else
            other = self._told(subject.kind)
            fact = next(each for each in self.facts[other] if each[0] is last[1])
            return other, fact, self.draw.choice(("what about {}?", "and of {}?", "and for {}?")).format(other.name)
        wanted = {"same": [subject], "answer": [spoken[-1]], "earlier": spoken[:-2]}[way]
        for one in [*(e for e in wanted if e in meant), *reversed(meant)]:
            if one not in self.facts:
                self._told(one.kind, one)
            left = [f for f in self.facts[one] if (one, f[0]) not in asked]
            if left:
                fact = self.draw.choice(left)
                whose = "their" if one.kind == "person" else "its"
                form = self.draw.choice(("and {whose} {noun}?", "{ask} is {whose} {noun}?"))
                return one, fact, form.format(whose=whose, noun=fact[1], ask=_ask(fact[0]))
        other = self._told(self.draw.choice(tuple(ENDINGS)))  # all was asked: a new person, named
        fact = self.draw.choice(self.facts[other])
        return other, fact, f"{_ask(fact[0])} is the {fact[1]} of {other.name}?"

    def _write(self, entity: Entity, fact: Fact) -> list[str]:
        _, noun, target = fact
        return [self.draw.choice(SAYS).format(noun=noun, s=entity.name, o=target.name)]


def _ask(relation: Relation) -> str:
    return "who" if relation.to == "person" else "what"
