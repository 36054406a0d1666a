"""Questions about notes: which fact a question asks for, looked up exactly in the notes it is about.

A question asks for a slot by its words ("which day", "where") and picks notes by the values it names. Its answer is the
value that all picked notes have; it has none where no note, or notes that differ, are picked.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.tasks.messages.note_reading import MOST, values_in
from guerdon.tasks.messages.note_words import SLOTS, VALUES

Note = dict[str, str]
ASKED_BY = {  # slot: the words that ask for it
    "person": r"who|which person|what person",
    "day": r"which day|what day",
    "time": r"what time|which time|at what time",
    "place": r"where|which place|what place",
    "thing": r"which thing|what thing|what is needed|what to bring",
    "price": r"how much|what price|which price",
}
CUES = "who, which day, what time, where, which thing or how much"
ENDS = {  # slot: a question for it, with what the note is known by; two wordings
    "person": ("Who comes{}?", "Who is it that comes{}?"),
    "day": ("Which day is it{}?", "On what day is it{}?"),
    "time": ("What time is it{}?", "At what time does it start{}?"),
    "place": ("Where is it{}?", "At which place is it{}?"),
    "thing": ("Which thing is needed{}?", "What thing must I bring{}?"),
    "price": ("How much is it{}?", "What price is it{}?"),
}
KNOWN_BY = {
    "person": " with {}",
    "day": " on {}",
    "time": " at {}",
    "place": " in the {}",
    "thing": " with the {}",
    "price": " for {}",
}


def asked_slot(text: str) -> str | None:
    """The one slot a question asks for; None when it asks for none or several, or is no single question."""
    text = text[:MOST].strip()
    if text.count("?") != 1 or not text.endswith("?") or "\n" in text:
        return None
    slots = [slot for slot, words in ASKED_BY.items() if re.search(rf"\b(?:{words})\b", text, re.IGNORECASE)]
    return slots[0] if len(slots) == 1 else None


def meaning(text: str) -> tuple[str | None, frozenset[tuple[str, str]]]:
    """What a question asks for and the values it names: equal for two wordings of one question."""
    named = {(slot, value) for slot in SLOTS for value in values_in(text[:MOST], slot)}
    return asked_slot(text), frozenset(named)


def looked_up(text: str, notes: Sequence[Mapping[str, str]]) -> str | None:
    """The answer that these notes give to a question; None without one."""
    slot, named = meaning(text)
    if slot is None:
        return None
    picked = [note for note in notes if all(note.get(name, "").lower() == value for name, value in named)]
    answers = {note[slot] for note in picked if slot in note}
    given = any(name == slot for name, _ in named)  # a question that names its answer asks nothing
    return answers.pop() if len(answers) == 1 and not given and all(slot in note for note in picked) else None


def question(slot: str, keys: Mapping[str, str], wording: int = 0) -> str:
    """The question for a slot of the note with these values."""
    return ENDS[slot][wording].format("".join(KNOWN_BY[name].format(value) for name, value in keys.items()))


def keys_for(notes: Sequence[Note], at: int, slot: str) -> dict[str, str] | None:
    """The fewest values of a note by which a question finds it: one at least. None when there are none."""
    others = [name for name in notes[at] if name != slot]
    for count in range(1, len(others) + 1):
        for names in itertools.combinations(others, count):
            keys = {name: notes[at][name] for name in names}
            if looked_up(question(slot, keys), notes) == notes[at][slot]:
                return keys
    return None


def drawn_notes(draw: random.Random, count: int, slots: int) -> list[Note]:
    """Some notes, which have slots in common and differ in their values."""
    names = sorted(draw.sample(SLOTS, slots), key=SLOTS.index)
    few = {name: draw.sample(VALUES[name], min(len(VALUES[name]), count + 1)) for name in names}
    return [{name: draw.choice(few[name]) for name in names} for _ in range(count)]


def shared_meaning(text: str, wanted: str) -> float:
    """F1 of the slot and the values that two questions have in common."""
    (slot, named), (asked, names) = meaning(text), meaning(wanted)
    mine: set[Any] = {*named, *([slot] if slot else [])}
    theirs: set[Any] = {*names, *([asked] if asked else [])}
    return 2 * len(mine & theirs) / max(1, len(mine) + len(theirs))
