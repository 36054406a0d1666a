"""A made-up world: names that can be pronounced, who stands in which relation to whom, and documents that say so.

Every relation has one object for a subject: one birthplace, one founder. Each made-up word belongs to a split by its hash, so
that no name of a test world is ever seen in training.
Leaves out: what is asked about a world (`fact_puzzles.py`, `query_rewriting.py`).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from guerdon.core.seeds import derive
from guerdon.core.task import Split
from guerdon.envs.corpora.documents import Document

HELD_OUT = 5  # one word in five is a test world's
ONSETS = ("b", "br", "d", "dr", "f", "g", "gr", "h", "k", "l", "m", "n", "p", "r", "s", "st", "t", "tr", "v", "z")
PLAIN = ("b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z")  # after another syllable
VOWELS = ("a", "e", "i", "o", "u")
CODAS = ("", "", "", "l", "n", "r")
ENDINGS = {  # that distinguish kinds of things
    "person": ("an", "el", "in", "os", "ay", "ek", "ura"),
    "town": ("or", "aby", "eford", "ack", "olm"),
    "land": ("ia", "ara", "amark"),
    "firm": ("ex", "ix", "eco"),
    "book": ("une", "ote", "yre"),
}


@dataclass(frozen=True)
class Relation:
    """A relation: of which kind of thing, to which, the nouns that ask for it, and sentences that say it."""

    name: str
    of: str
    to: str
    nouns: tuple[str, ...]
    says: tuple[str, ...]


RELATIONS = (
    Relation("birthplace", "person", "town", ("birthplace", "native town"),
             ("{s} was born in {o}", "{s} is a native of {o}", "{o} is the birthplace of {s}")),
    Relation("employer", "person", "firm", ("employer", "workplace"),
             ("{s} works for {o}", "{s} is employed by {o}", "{o} pays {s} a wage")),
    Relation("teacher", "person", "person", ("teacher", "mentor"),
             ("{s} was taught by {o}", "{s} is a pupil of {o}", "{o} was the teacher of {s}")),
    Relation("founder", "firm", "person", ("founder", "creator"),
             ("{s} was founded by {o}", "{s} was set up by {o}", "{o} is the founder of {s}")),
    Relation("seat", "firm", "town", ("seat", "home town"),
             ("{s} is based in {o}", "{s} has its seat in {o}", "{o} is the home town of {s}")),
    Relation("land", "town", "land", ("land", "country"),
             ("{s} lies in {o}", "{s} is part of {o}", "{o} is the land around {s}")),
    Relation("mayor", "town", "person", ("mayor", "head"),
             ("{s} is led by its mayor {o}", "{s} has {o} as its mayor", "{o} is the mayor of {s}")),
    Relation("capital", "land", "town", ("capital", "chief town"),
             ("{s} has its capital in {o}", "{s} is governed from {o}", "{o} is the capital of {s}")),
    Relation("ruler", "land", "person", ("ruler", "monarch"),
             ("{s} is ruled by {o}", "{s} has {o} on its throne", "{o} is the ruler of {s}")),
    Relation("author", "book", "person", ("author", "writer"),
             ("{s} was written by {o}", "{s} is the work of {o}", "{o} is the author of {s}")),
    Relation("printer", "book", "firm", ("printer", "publisher"),
             ("{s} was printed by {o}", "{s} came out at {o}", "{o} is the publisher of {s}")),
)  # fmt: skip
BY_KIND = {kind: tuple(r for r in RELATIONS if r.of == kind) for kind in ENDINGS}
BEGAN = {"person": "born", "firm": "founded", "book": "written"}  # what can be older than another


@dataclass(frozen=True)
class Entity:
    """A person or a thing: its name, its kind, and another name it goes by, if any."""

    name: str
    kind: str
    alias: str = ""


@dataclass
class Draft:
    """A document to be: about what, in which year, from which source, in which sentences."""

    about: Entity
    sentences: list[str]
    year: int = 0
    source: str = ""

    @property
    def title(self) -> str:
        return f"{self.about.name} ({self.source} {self.year})" if self.source else self.about.name


@dataclass
class MadeUpWorld:
    """Draws names that were not used in it before, and writes sentences."""

    draw: random.Random
    split: Split
    used: set[str] = field(default_factory=set)

    def word(self, kind: str) -> str:
        """A made-up word that sounds like a name of this kind."""
        while True:
            begin = self.draw.choice(ONSETS) + self.draw.choice(VOWELS) + self.draw.choice(CODAS)
            middle = self.draw.choice(PLAIN) + self.draw.choice(VOWELS) if self.draw.random() < 0.3 else ""
            word = f"{begin}{middle}{self.draw.choice(PLAIN)}{self.draw.choice(ENDINGS[kind])}"
            if word not in self.used and (derive("made-up word", word) % HELD_OUT == 0) == (self.split == "test"):
                self.used.add(word)
                return word

    def entity(self, kind: str, aliased: bool = False, family: str = "") -> Entity:
        """A new one; a person may get the last name of another, `family`."""
        name = self.word(kind) if kind != "person" else f"{self.word(kind)} {family or self.word(kind)}"
        return Entity(name, kind, self.word(kind) if aliased else "")

    def says(self, subject: str, relation: Relation, object_name: str) -> str:
        return self.draw.choice(relation.says).format(s=subject, o=object_name)

    def draft(self, about: Entity, facts: Sequence[tuple[Relation, str]], year_began: int = 0) -> Draft:
        """A document about something, with its other name where it has one."""
        sentences = [self.says(about.name, relation, named) for relation, named in facts]
        if about.alias:
            sentences.insert(0, f"{about.name} is also called {about.alias}")
        if year_began:
            sentences.append(f"{about.name} was {BEGAN[about.kind]} in the year {year_began}")
        return Draft(about, sentences)


def written(drafts: Sequence[Draft], draw: random.Random) -> tuple[list[Document], list[str]]:
    """Documents in an uninformative order, numbered d1, d2, ...; and the id of each draft."""
    order = list(range(len(drafts)))
    draw.shuffle(order)
    ids = [""] * len(drafts)
    documents = []
    for number, at in enumerate(order, start=1):
        ids[at] = f"d{number}"
        documents.append(Document(ids[at], drafts[at].title, ". ".join(drafts[at].sentences) + "."))
    return documents, ids
