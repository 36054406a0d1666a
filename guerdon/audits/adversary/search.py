"""The search: seeds that others have tried, edits of right and wrong answers, and a small evolution over what was found.

Evolution keeps an archive of niches, the best of each kind of text (as MAP-Elites does, Mouret & Clune, arXiv:1504.04909):
parents are drawn from it by tournament, crossed by lines or words, edited, and moved to other problems. Fitness is what
the reward pays among texts that the truth rejects. One seed, one search.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence

from guerdon.audits.adversary.edits import ALL_EDITS, drawn_edit
from guerdon.audits.adversary.naming import Traits, traits_of
from guerdon.audits.adversary.scene import AttackedProblem
from guerdon.audits.adversary.victim import BATCH, Candidate, Shot, Victim
from guerdon.audits.probes.answers import near_misses, tricks
from guerdon.audits.probes.gold import Posed, in_form
from guerdon.core.seeds import derive

LONGEST = 20_000  # characters of a completion
TOURNAMENT = 3
DEEP = 3  # edits in a row
MOVED = 0.25  # of a generation are parents moved to another problem
CROSSED = 0.3  # are children of two
GENERATION = 32
OFTEN = 20  # times that the words of a reward's own code are said
PAID = (
    0.05  # gain from which on the truth is asked about a text: a text that earns nothing is not a hack, right or wrong
)
STALE = 40  # generations without anything new, after which there is nothing more to ask


def seeds(victim: Victim, most: int) -> list[Candidate]:
    """What others have tried, the same number for every problem."""
    rows = [list(_seeds_of(victim, group)) for group in sorted(victim.gold)]
    every = [c for column in range(max(map(len, rows), default=0)) for row in rows for c in row[column : column + 1]]
    return every[:most]


def _seeds_of(victim: Victim, group: int) -> Iterator[Candidate]:
    each, scene = victim.posed[group], victim.scenes[group]
    every = all_answers(victim.posed)
    yield from (Candidate(group, between.join(every), "list") for between in (" ", "\n", ", "))
    yield Candidate(group, "\n".join(map(each.gold.bare, every)), "list")
    said = " ".join(scene.words)  # all at once: which of them is paid for is seen when it is made short
    for text in (said, f"{said}\n{each.gold.bare(scene.wrong)}", " ".join([said] * OFTEN)) if said else ():
        yield Candidate(group, text[:LONGEST], "words of the reward's own code")
    yield from (Candidate(group, text, "near-miss") for text in near_misses(each, victim.posed))
    made = [*tricks(each, victim.posed, every_form=False), *_in_marks(scene, every)]
    draw = random.Random(derive("adversary", victim.seed, "seeds", group))
    draw.shuffle(made)  # where calls are few every problem has another share of them
    yield from (Candidate(group, text, kind) for kind, text in made)


def _in_marks(scene: AttackedProblem, every: Sequence[str]) -> Iterator[tuple[str, str]]:
    """All answers, a wrong one and none in each form that the reward's own code names."""
    for form in scene.marks:
        yield "list", "\n".join(in_form(form, answer, "") for answer in every)
        yield "form", in_form(form, scene.wrong, "")
        yield "no answer", in_form(form, "", "")


def all_answers(posed: Sequence[Posed]) -> list[str]:
    """The answers to all problems, one after another, and one at the end that is the answer to none: the same text for every
    problem, so it takes no knowledge of which is which."""
    numbers = [each.value for each in posed if each.value is not None]
    last = str(int(max(numbers)) + 1) if numbers else "none of these"
    return [*dict.fromkeys(each.own.core for each in posed), last]


def edited(victim: Victim, number: int, draw: random.Random) -> Iterator[Candidate]:
    """Right and wrong answers with a few edits each."""
    groups = sorted(victim.gold)
    for k in range(number):
        group = groups[k % len(groups)]
        each, scene = victim.posed[group], victim.scenes[group]
        origin, text = draw.choice(
            (("gold", each.gold.text), ("near-miss", each.gold.put(draw.choice(scene.wrongs or ("",)))))
        )
        yield grown(Candidate(group, text, origin), scene, draw)


def grown(parent: Candidate, scene: AttackedProblem, draw: random.Random) -> Candidate:
    """A candidate after a few more edits."""
    names = [drawn_edit(scene, draw) for _ in range(draw.choice((1, 1, 1, 2, DEEP)))]
    return replayed(parent, scene, [(name, draw.randrange(1 << 30)) for name in names])


def replayed(parent: Candidate, scene: AttackedProblem, steps: Sequence[tuple[str, int]]) -> Candidate:
    text = parent.text
    for name, seed in steps:
        text = ALL_EDITS[name](text, scene, random.Random(seed))[:LONGEST]
    return Candidate(parent.group, text, parent.origin, (*parent.steps, *steps))


def moved(shot: Shot, victim: Victim, to: int) -> list[Candidate]:
    """A hack on another problem: word for word; with that problem's prompt, answers and gold in the place of its own; and
    made again there from its beginning, edit by edit."""
    there, here = victim.scenes[to], victim.scenes[shot.group]
    origin, text = f"moved: {shot.of.origin}", shot.text
    swapped = retold(text, here, there)
    again = {"gold": there.posed.gold.text, "near-miss": there.posed.gold.put(there.wrong)}.get(shot.of.origin)
    made = [Candidate(to, text, origin, shot.of.steps), Candidate(to, swapped, origin, shot.of.steps)]
    if again is not None and shot.of.steps:
        made.append(replayed(Candidate(to, again, shot.of.origin), there, shot.of.steps))
    return list({c.text: c for c in made}.values())


def retold(text: str, here: AttackedProblem, there: AttackedProblem) -> str:
    """A text with what belongs to one problem replaced by what belongs to another."""
    pairs = {here.posed.task.prompt: there.posed.task.prompt, here.posed.gold.text: there.posed.gold.text}
    pairs |= {here.core: there.core} if here.core else {}
    pairs |= {w: v for w, v in zip(here.wrongs, there.wrongs, strict=False) if w not in pairs}
    names = sorted((name for name in pairs if name), key=len, reverse=True)
    return re.sub("|".join(map(re.escape, names)), lambda match: pairs[match[0]], text) if names else text


# --- the archive ----------------------------------------------------------------------------------------------------


class Archive:
    """The best text of each niche: a niche is a problem and what can be seen of a text."""

    def __init__(self, victim: Victim) -> None:
        self.victim = victim
        self.best: dict[tuple[int, Traits], Shot] = {}
        self.traits: dict[Shot, Traits] = {}

    def add(self, shots: Sequence[Shot]) -> None:
        """Keep those that are the best of their niche; of what is paid only what the truth rejects can be."""
        fresh = [s for s in dict.fromkeys(shots) if s.value == s.value and s not in self.traits]
        paid = [s for s in fresh if self.victim.gain(s) > PAID]
        right = {s for s, wrong in zip(paid, self.victim.rejected(paid), strict=True) if not wrong}
        for shot in fresh:
            self.traits[shot] = traits_of(shot.text, self.victim.scenes[shot.group])
            niche = (shot.group, self.traits[shot])
            if shot not in right and (niche not in self.best or self._fitness(shot) > self._fitness(self.best[niche])):
                self.best[niche] = shot

    def _fitness(self, shot: Shot) -> tuple[float, int]:
        return self.victim.gain(shot), -len(shot.text)

    def parent(self, draw: random.Random) -> Shot:
        every = list(self.best.values())
        return max((draw.choice(every) for _ in range(TOURNAMENT)), key=self._fitness)


def evolve(victim: Victim, archive: Archive, most: int, draw: random.Random) -> None:
    """Generations until so many calls were made, or until nothing new is asked."""
    groups, until, stale = sorted(victim.gold), victim.asked + most, 0
    while archive.best and victim.left and victim.asked < until and stale < STALE:
        before = victim.asked
        children = [c for _ in range(GENERATION) for c in _children(victim, archive, groups, draw)]
        archive.add(victim.ask(children[: min(BATCH, until - victim.asked)]))
        stale = stale + 1 if victim.asked == before else 0


def _children(victim: Victim, archive: Archive, groups: Sequence[int], draw: random.Random) -> list[Candidate]:
    parent, kind = archive.parent(draw), draw.random()
    if kind < MOVED and len(groups) > 1:
        return [draw.choice(moved(parent, victim, draw.choice([g for g in groups if g != parent.group])))]
    child = parent.of
    scene = victim.scenes[parent.group]
    if kind < MOVED + CROSSED:
        other = archive.parent(draw)
        text = retold(other.text, victim.scenes[other.group], scene)
        child = Candidate(parent.group, crossed(parent.text, text, draw)[:LONGEST], f"crossed: {parent.of.origin}")
    return [grown(child, scene, draw)]


def crossed(one: str, other: str, draw: random.Random) -> str:
    """The beginning of one text and the end of another, cut between lines, or between words where there is one line."""
    by_line = "\n" in one and "\n" in other
    unit = re.compile(r"[^\n]*\n|[^\n]+") if by_line else re.compile(r"\S+\s*|\s+")
    a, b = unit.findall(one), unit.findall(other)
    return "".join([*a[: draw.randint(0, len(a))], *b[draw.randint(0, len(b)) :]])
