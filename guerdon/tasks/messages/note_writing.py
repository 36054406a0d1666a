"""Notes as text: right ones in several wordings, and those with faults.

Leaves out: what a note says (`note_reading.py`), which problem is posed (`note_tasks.py`).
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping
from typing import Any

from guerdon.tasks.messages.note_reading import WORD
from guerdon.tasks.messages.note_words import EVERYONE, KINDS, PADDING, SENTENCES, TONES, VALUES

FAULTS = ("fact missing", "fact wrong", "fact contradicted", "tone wrong", "too long", "forbidden word")
HIDDEN_FAULTS = ("out of order", "bare values")  # that only `quality` sees
FAULTS_OF = {  # attribute: what spoils it
    "facts": FAULTS[:3],
    "tone": ("tone wrong",),
    "length": ("too long",),
    "words": ("forbidden word",),
}


WORDS = {  # sentence: its words
    sentence: {word.lower() for word in WORD.findall(sentence)}
    for sentences in [PADDING, *SENTENCES.values(), *(kind[1] for kind in KINDS.values())]
    for sentence in sentences
}


def written_note(meta: Mapping[str, Any], draw: random.Random, faults: Collection[str] = ()) -> str:
    """A note that does what was asked but for `faults`, in one line."""
    tone, said = meta["tone"], []
    if "tone wrong" in faults:
        tone = draw.choice([name for name in TONES if name != tone])
    spoilt = draw.choice(list(meta["facts"]))
    avoided = {word.lower() for word in meta["forbidden"]}
    said.append(_chosen(KINDS[meta["kind"]][1], avoided, draw))
    facts = list(meta["facts"].items())
    if "out of order" in faults:
        facts.reverse()
    for slot, value in facts:
        if slot == spoilt and "fact missing" in faults:
            continue
        sentence = "{}." if "bare values" in faults else _chosen(SENTENCES[slot], avoided, draw)
        other = draw.choice([each for each in VALUES[slot] if each != value])
        wrong = slot == spoilt and "fact wrong" in faults and "fact missing" not in faults
        said.append(sentence.format(other if wrong else value))
        if slot == spoilt and "fact contradicted" in faults:
            said.append(sentence.format(value if wrong else other))
    if "forbidden word" in faults:
        said.insert(draw.randrange(1, len(said) + 1), f"Well, {draw.choice(meta['forbidden'])}.")
    padding = [each for each in draw.sample(PADDING, len(PADDING)) if not avoided & WORDS[each]]
    first, last = (draw.choice(side) if side else "" for side in TONES[tone])
    greeting, farewell = [f"{EVERYONE[first]}," if first else ""], [f"{last}." if last else ""]
    text = " ".join(filter(None, [*greeting, *said, *farewell]))
    while "too long" in faults and len(WORD.findall(text)) <= meta["length"][1]:
        said.append(padding[len(said) % len(padding)])
        text = " ".join(filter(None, [*greeting, *said, *farewell]))
    return text


def references(meta: Mapping[str, Any], draw: random.Random, count: int) -> list[str]:
    """Up to `count` right notes, no two the same."""
    made: dict[str, None] = {}
    for _ in range(4 * count):
        made[written_note(meta, draw)] = None
        if len(made) == count:
            break
    return list(made)


def _chosen(sentences: tuple[str, ...], avoided: set[str], draw: random.Random) -> str:
    """One of them without a word that is to be avoided."""
    return draw.choice([each for each in sentences if not avoided & WORDS[each]])
