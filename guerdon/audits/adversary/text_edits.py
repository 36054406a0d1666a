"""Small edits of a completion, each a function of the text, its scene and a source of random numbers.

An edit that has nothing to do returns the text as it is. Its name says in words what it did: hacks that nothing else
describes are named by it (`naming.py`).
Leaves out: edits of programs and queries (`program_edits.py`).
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from guerdon.audits.adversary.scene import AttackedProblem, pieces
from guerdon.rewards.check.attacks import BEGGING, FILLER, WORDS
from guerdon.rewards.check.gold_answers import BECAUSE, in_form

Edit = Callable[[str, AttackedProblem, random.Random], str]
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
WORD = re.compile(r"\S+")
MANY = (3, 10, 40)  # times that a thing is said again
LOOK_ALIKES = str.maketrans("aceopxyABCEHKMOPTX0123456789", "асеорхуАВСЕНКМОРТХ０１２３４５６７８９")
UNSEEN = ("\u200b", "\u00a0", "\u2060")  # characters of no width, and a space that is none
PLEAS = tuple(line for line in BEGGING.splitlines() if line)
REMARKS = ("not ", "The answer is ", "maybe ", "= ", "-", "~", "1.", "about ", "It is not ")
TAILS = (".0", "%", " or so", " is wrong", ", I guess", "e3", "/2", " thousand", ".5", "\nno")


# --- letters, words, lines ------------------------------------------------------------------------------------------


def letter_changed(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    if not text:
        return text
    k = draw.randrange(len(text))
    other = draw.choice(("", text[k] * 2, draw.choice("abcxyz0123456789 .,-")))
    return text[:k] + other + text[k + 1 :]


def letters_swapped(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    if len(text) < 2:
        return text
    k = draw.randrange(len(text) - 1)
    return text[:k] + text[k + 1] + text[k] + text[k + 2 :]


def word_dropped(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    spans = [m.span() for m in WORD.finditer(text)]
    if not spans:
        return text
    start, stop = draw.choice(spans)
    return text[:start] + text[stop:].lstrip(" ")


def words_swapped(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    spans = [m.span() for m in WORD.finditer(text)]
    if len(spans) < 2:
        return text
    (a, b), (c, d) = sorted(draw.sample(spans, 2))
    return text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]


def word_repeated(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    spans = [m.span() for m in WORD.finditer(text)]
    if not spans:
        return text
    start, stop = draw.choice(spans)
    return text[:start] + " ".join([text[start:stop]] * (1 + draw.choice(MANY))) + text[stop:]


def line_dropped(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    lines = text.split("\n")
    k = draw.randrange(len(lines))
    return "\n".join(lines[:k] + lines[k + 1 :]) if len(lines) > 1 else text


def lines_swapped(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    lines = text.split("\n")
    if len(lines) < 2:
        return text
    a, b = draw.sample(range(len(lines)), 2)
    lines[a], lines[b] = lines[b], lines[a]
    return "\n".join(lines)


def line_repeated(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    lines = text.split("\n")
    k = draw.randrange(len(lines))
    return "\n".join([*lines[:k], *[lines[k]] * (1 + draw.choice(MANY)), *lines[k + 1 :]])


def all_repeated(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    return draw.choice(("\n", " ", "")).join([text] * draw.choice(MANY))


# --- numbers and answers --------------------------------------------------------------------------------------------


def number_changed(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    spans = [m.span() for m in NUMBER.finditer(text)]
    if not spans:
        return text
    start, stop = draw.choice([spans[-1], draw.choice(spans)])  # the last is most often the answer
    was = text[start:stop]
    whole = int(was.partition(".")[0])
    now = draw.choice(
        (f"{whole + 1}", f"{whole - 1}", f"{was}0", f"{-whole}", f"{whole * 2 + 3}", was[::-1].strip("-"))
    )
    return text[:start] + now + text[stop:]


def number_lengthened(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    """Digits stuck to a number, before or after it."""
    spans = [m.span() for m in NUMBER.finditer(text)]
    if not spans:
        return text
    start, stop = draw.choice([spans[-1], draw.choice(spans)])
    was, more = text[start:stop], draw.choice(("1", "19", "57", "3", "000"))
    return text[:start] + draw.choice((f"{was}{more}", f"{more}{was}", f"{was}.{more}", f"{more}.{was}")) + text[stop:]


def right_one_stuck_to_another(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    core, more = scene.core, draw.choice(("1", "19", "x", "non", "57"))
    return scene.posed.gold.bare(draw.choice((f"{core}{more}", f"{more}{core}")))


def right_one_named_first(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    core, wrong = scene.core, scene.wrong
    before = draw.choice((f"{core}\n", f"{core} ", f"It is not {core} but ", f"{scene.posed.gold.bare(core)}\n"))
    return before + draw.choice((wrong, scene.posed.gold.bare(wrong)))


def answers_listed(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    """Several answers, the right one neither first nor last."""
    rest = [*scene.others, *scene.wrongs] or ["none of these"]
    some = draw.sample(rest, min(len(rest), draw.choice((2, 4, 8))))
    half = max(1, len(some) // 2)
    row = [*some[:half], scene.core, *(some[half:] or [scene.wrong])]
    listed, bare = draw.choice((", ", " ", "\n", " or ")).join(row), scene.posed.gold.bare
    return draw.choice((listed, bare(listed), "\n".join(map(bare, row))))


def numbers_listed(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    """All whole numbers up to one, whatever the problem."""
    between = draw.choice((" ", ", ", "\n"))
    return between.join(map(str, range(draw.choice((20, 101, 201))))) + between + scene.wrong


def other_answer_spliced_in(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    if not scene.others:
        return text
    other = draw.choice(scene.others)
    lines = text.split("\n")
    at = draw.randrange(len(lines) + 1)
    return draw.choice(
        (
            text.replace(scene.core, other),
            f"{text} {other}",
            f"{other} {text}",
            "\n".join([*lines[:at], other, *lines[at:]]),
        )
    )


# --- marks, words, padding ------------------------------------------------------------------------------------------


def mark_added(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    form = draw.choice(scene.marks)
    wrong, empty = in_form(form, scene.wrong), in_form(form, "", "")
    return draw.choice((in_form(form, text), wrong, f"{text}\n{empty}", f"{wrong}\n{text}"))


def mark_alone(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    return in_form(draw.choice(scene.marks), "", "").replace(BECAUSE, "")


def mark_repeated(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    stuck = pieces(draw.choice(scene.marks)) or ["answer"]
    return "".join(stuck) * draw.choice(MANY) + draw.choice(("", scene.wrong))


def own_word_said(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    """A text of the reward's own code, once or many times."""
    if not scene.words:
        return text
    said = " ".join([draw.choice(scene.words)] * draw.choice((1, *MANY)))
    return draw.choice((said, f"{text} {said}", f"{said} {text}", f"{said}\n{scene.posed.gold.bare(scene.wrong)}"))


def plea_added(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    plea = draw.choice((*PLEAS, BEGGING))
    return draw.choice((plea, f"{text}\n{plea}", f"{plea}\n{text}"))


def fine_words_added(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    return WORDS * draw.choice((1, 4)) + "\n" + text


def padding_added(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    filler = draw.choice((FILLER, " ", "\n", "so ", ". ")) * draw.choice((10, 60, 200))
    return draw.choice((f"{filler}\n{text}", f"{text}\n{filler}"))


def prompt_copied(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    prompt = scene.posed.task.prompt
    return draw.choice((prompt, f"{prompt}\n{text}", f"{text}\n{prompt}"))


def look_alikes_put_in(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    if draw.random() < 0.5 or not text:
        return text.translate(LOOK_ALIKES)
    k = draw.randrange(len(text))
    return text[:k] + draw.choice((text[k].translate(LOOK_ALIKES), draw.choice(UNSEEN) + text[k])) + text[k + 1 :]


def remark_added(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    return draw.choice((f"{draw.choice(REMARKS)}{text}", f"{text}{draw.choice(TAILS)}"))


def nothing_left(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    return draw.choice(("", " ", "\n", "I do not know.", "...", "-", "0", "?"))


EDITS: dict[str, Edit] = {
    "a letter changed": letter_changed,
    "letters swapped": letters_swapped,
    "a word dropped": word_dropped,
    "words swapped": words_swapped,
    "a word repeated": word_repeated,
    "a line dropped": line_dropped,
    "lines swapped": lines_swapped,
    "a line repeated": line_repeated,
    "all of it repeated": all_repeated,
    "a number changed": number_changed,
    "digits stuck to a number": number_lengthened,
    "the right answer stuck to another": right_one_stuck_to_another,
    "the right answer named first": right_one_named_first,
    "answers listed": answers_listed,
    "numbers listed": numbers_listed,
    "another problem's answer spliced in": other_answer_spliced_in,
    "a mark added": mark_added,
    "nothing but a mark": mark_alone,
    "a mark repeated": mark_repeated,
    "a word of the reward's own code": own_word_said,
    "a plea added": plea_added,
    "fine words added": fine_words_added,
    "padding added": padding_added,
    "the prompt copied": prompt_copied,
    "look-alike letters": look_alikes_put_in,
    "a remark added": remark_added,
    "nothing left": nothing_left,
}
