"""A problem in other words, with one number changed, or at another level but as close as possible.

Edits are tried on the text and the family parses the results: another wording has the same canonical form, and whatever is
written is a problem of the level that was asked for. No edit of a training problem is a held-out one.
Leaves out what only rewording by hand could find: a family is known by how it reads problems, nothing more.
"""

from __future__ import annotations

import difflib
import itertools
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from guerdon.core.task import Task
from guerdon.tasks.family import Family, Problem

JOINTS = (
    ", ",
    "; ",
    " + ",
    " / ",
    " xor ",
    " and ",
    " or ",
    " ",
    "=",
    "+",
    "*",
)  # what parts of a problem are joined by
WORDS = re.compile(r"(\b[a-z]+\b)")
PIECE = re.compile("[0-9]+|.")
DRAWS = 24  # problems of another level among which the closest is chosen, where no edit leads there
STRIDE = 24  # how far a number is changed at most: some must stay divisible
EDITS = 2000  # edits that are tried before that


@dataclass(frozen=True)
class Paraphrase:
    """A problem in other words, or the reason why there is none.

    Args:
        task: the problem with the new prompt, or None.
        reason: why there is none.

    >>> import guerdon as gd
    >>> gd.tasks.Paraphrase(None, "no other wording").task is None
    True
    """

    task: Task | None
    reason: str = ""


def paraphrase(
    source: Any, task: Task, draw: random.Random, reword: Callable[[str], str | None] | None = None
) -> Paraphrase:
    """The same problem in other words, as its family reads them, or a refusal with a reason; never another problem.

    The family must read the new text as the same problem, and the check of each wording must pass the worked solution of the
    other. Without `reword` parts of the prompt are put in another order, and variables of a program get other names;
    `reword=gd.tasks.in_plain_words` states `trace`, `equation`, `lookup` and `chain` in plain words.

    Args:
        source: the family that made the problem, or a mixture with it.
        task: the problem.
        draw: chooses among several wordings.
        reword: a function from a prompt to another wording of it, such as a model's, or None where it has none.

    >>> import random
    >>> import guerdon as gd
    >>> family = gd.tasks.load("equation:4")
    >>> task = family.get("train", 0)
    >>> task.prompt, gd.tasks.paraphrase(family, task, random.Random(0)).task.prompt
    ('equation 8x+12=6x+16', 'equation 6x+16=8x+12')
    >>> gd.tasks.paraphrase(family, task, random.Random(0), reword=lambda prompt: prompt.replace("16", "17")).reason
    "'equation 8x+12=6x+17' is not the same problem as 'equation 8x+12=6x+16'"
    """
    family = source.of(task) if hasattr(source, "of") else source
    if not isinstance(family, Family):
        return Paraphrase(None, f"{source.name} cannot read problems, so no wording of its own can be checked")
    own = itertools.chain(reordered(task.prompt), renamed(task.prompt))
    texts = [reword(task.prompt)] if reword is not None else _shuffled(own, draw)
    wrong = ""
    for text in texts:
        problem = family.same_problem(task, text) if text is not None and text != task.prompt else None
        if problem is None:
            wrong = wrong or f"{text!r} is not the same problem as {task.prompt!r}"
            continue
        new = Task(problem.prompt, problem.prompt, problem.answer, task.family, task.level, problem.meta)
        if family.check(new, family.solution(task)) == 1.0 == family.check(task, family.solution(new)):
            return Paraphrase(new)
        wrong = f"the solution of {task.prompt!r} is not right for {text!r}, or the other way round"
    if reword is None:
        return Paraphrase(
            None, f"{family.name} reads no other order of {task.prompt!r} as the same problem: give reword="
        )
    return Paraphrase(
        None, f"reword has no other wording of {task.prompt!r}" if texts[0] in (None, task.prompt) else wrong
    )


def rewritten(family: Family, task: Task, level: int, draw: random.Random) -> str:
    """A problem of `level` close to `task`: itself in another order if that level is its own and there is one, else with as
    little changed as can be."""
    there = at_level(family, level)
    held_out = family.holds_out(_problem(task))
    if level == family.level:
        same = family.canonical(_problem(task))
        for text in _shuffled(reordered(task.prompt), draw):
            other = family.read_problem(text)
            if other is not None and family.canonical(other) == same:
                return text
    for edits in (changed, changed_twice) if level == family.level else (shortened, lengthened, changed):
        for text in _shuffled(edits(task.prompt, draw), draw):
            other = there.read_problem(text)
            if other is not None and (held_out or not there.holds_out(other)):
                return text
    drawn = [there.get("train", draw.getrandbits(40)).prompt for _ in range(DRAWS)]
    return max(drawn, key=lambda text: difflib.SequenceMatcher(None, task.prompt, text, autojunk=False).ratio())


def is_rewrite(family: Family, task: Task, level: int, text: str) -> bool:
    """Whether a text is a problem of that level and, at the same level, says the same as `task` in other words or differs
    from it in one number, letter or sign, or in two."""
    other = at_level(family, level).read_problem(text)
    if other is None or text == task.prompt:
        return False
    if level != family.level:
        return True
    pieces = PIECE.findall(task.prompt), PIECE.findall(text)
    changes = sum(a != b for a, b in zip(*pieces, strict=False)) + abs(len(pieces[0]) - len(pieces[1]))
    return changes in (1, 2) or family.canonical(other) == family.canonical(_problem(task))


def at_level(family: Family, level: int) -> Family:
    make: Callable[..., Family] = type(family)
    return make(level=level)


def _problem(task: Task) -> Problem:
    return Problem(task.prompt, task.answer, task.meta)


def _shuffled(texts: Iterator[str], draw: random.Random) -> list[str]:
    several = list(dict.fromkeys(texts))
    draw.shuffle(several)
    return several[:EDITS]


def _cut(prompt: str) -> Iterator[tuple[str, str, list[str]]]:
    """The name of the family, and the rest of a prompt in parts, for every way they are joined."""
    name, _, rest = prompt.partition(" ")
    for joint in JOINTS:
        parts = rest.split(joint)
        if len(parts) > 1:
            yield name, joint, parts


def reordered(prompt: str) -> Iterator[str]:
    """The prompt with two of its parts exchanged."""
    for name, joint, parts in _cut(prompt):
        for i in range(len(parts)):
            for j in range(i):
                if parts[i] != parts[j]:
                    swapped = [*parts[:j], parts[i], *parts[j + 1 : i], parts[j], *parts[i + 1 :]]
                    yield f"{name} {joint.join(swapped)}"


def renamed(prompt: str) -> Iterator[str]:
    """A program with other names for its variables, every way there is."""
    name, _, program = prompt.partition(" ")
    names = sorted(set(re.findall(r"\b[a-d]\b", program)))
    for others in itertools.permutations("abcd", len(names)) if name == "trace" else ():
        table = dict(zip(names, others, strict=True))
        pieces = [str(piece) for piece in WORDS.split(program)]
        yield f"{name} {''.join(table.get(piece, piece) for piece in pieces)}"


def changed(prompt: str, draw: random.Random) -> Iterator[str]:
    """The prompt with one number, letter or sign changed."""
    for match in re.finditer(r"[0-9]+|\b[a-z]\b|[-+*<>]|(?<= )[a-j]+(?=:)", prompt):
        was = match[0]
        if was.isdigit():
            others = [str(abs(int(was) + by)) for by in range(-STRIDE, STRIDE + 1)]
        elif was.isalpha():
            at = draw.randrange(len(was))
            others = [was[:at] + letter + was[at + 1 :] for letter in "abcdefghijtf"]
        else:
            others = list("-+*<>")
        yield from (prompt[: match.start()] + other + prompt[match.end() :] for other in others if other != was)


def changed_twice(prompt: str, draw: random.Random) -> Iterator[str]:
    """The prompt with two of them changed, some ways of many."""
    once = list(changed(prompt, draw))
    for text in draw.sample(once, min(len(once), 4 * STRIDE)):
        yield from changed(text, draw)


def shortened(prompt: str, draw: random.Random) -> Iterator[str]:
    """The prompt without one of its parts."""
    for name, joint, parts in _cut(prompt):
        for i in range(len(parts)):
            yield f"{name} {joint.join([*parts[:i], *parts[i + 1 :]])}"


def lengthened(prompt: str, draw: random.Random) -> Iterator[str]:
    """The prompt with one of its parts said again at another place, as it is or with another number."""
    for name, joint, parts in _cut(prompt):
        for part in parts:
            number = re.sub("[0-9]+", lambda match: str(max(1, int(match[0]) + draw.choice((-1, 1, 2)))), part, count=1)
            at = draw.randrange(len(parts) + 1)
            for again in (part, number):
                yield f"{name} {joint.join([*parts[:at], again, *parts[at:]])}"
