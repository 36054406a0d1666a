"""Short messages as a task: to write, to rewrite, or to ask about.

Leaves out: words (`note_words.py`), reading (`note_reading.py`), writing (`note_writing.py`), questions (`note_questions.py`),
users and what they say (`note_users.py`).
"""

from __future__ import annotations

import json
import random
from typing import Any, Literal

from guerdon.core.part import knob, part
from guerdon.core.seeds import derive
from guerdon.core.task import Split, Task
from guerdon.tasks.family import HELD_OUT, NearMiss
from guerdon.tasks.messages.note_questions import CUES, drawn_notes, keys_for, looked_up, question
from guerdon.tasks.messages.note_reading import WORD, read_note
from guerdon.tasks.messages.note_words import (
    AVOIDABLE,
    FILLERS,
    KINDS,
    SENTENCES,
    SLOTS,
    TONES,
    VALUES,
    drawn_kind,
    drawn_weights,
)
from guerdon.tasks.messages.note_writing import FAULTS, references, written_note

Form = Literal["write", "rewrite", "ask"]
# level: facts, forbidden words, words more or fewer than ours, faults of a draft, notes to ask about
LEVELS = {
    1: (2, 1, 6, 1, 1),
    2: (2, 1, 5, 1, 2),
    3: (3, 2, 5, 2, 2),
    4: (3, 2, 4, 2, 3),
    5: (4, 3, 4, 3, 3),
    6: (4, 3, 3, 3, 4),
    7: (5, 4, 3, 3, 5),
    8: (6, 5, 2, 3, 6),
}
WRITE = "Write a short message: {kind}. It must say all of this, and no second value for any of it:\n{facts}\n{rules}\n"
REWRITE = "Rewrite this message so that all its facts stay as they are.\n\n{draft}\n\n{rules}\n"
ASK = (
    "{notes}\nAsk one question about {these} to which the only answer is: {answer}\n"
    "Ask with one of: {cues}. Do not say the answer.\n"
)
DRAWN = 8  # right notes that a length is taken from


@part
class notes:
    """Short messages: facts that must be in it, a tone, a length, words that must not be.

    A note is right when every fact is named and no other value of its kind is, its tone is the one asked for (the prompt
    says by which words), it has as many words as asked and none of the forbidden ones. Level 1 has two facts and one
    forbidden word, level 8 six and five. Seven kinds of message, from 34 in 100 to 2 in 100, each with rude words of its own
    among the forbidden. `form="rewrite"` shows a message with faults whose facts must stay; `form="ask"` shows notes and a
    value, and wants the question it answers. Exact rewards: `note_score`; hackable: `note_proxy`; hidden: `note_quality`.

    With `users` every problem has a user, whose weights of the four attributes are in `meta`; users of held-out problems
    are others. `meta["references"]` has several right notes.

    Args:
        level: difficulty.
        form: what is asked for.
        users: number of users of training problems; 0 for none.
        references: right notes in `meta`; fewer where there are no more.

    >>> import guerdon as gd
    >>> family = gd.tasks.notes(level=1)
    >>> problem = family.get("train", 0)
    >>> family.check(problem, problem.answer), family.explain(problem, "Maya!").split("; ")[-1]
    (1.0, '1 words, not 4 to 20')
    """

    level: int = knob(default=1, ge=1, le=8)
    form: Form = knob(default="write", choices=("write", "rewrite", "ask"))
    users: int = knob(default=0, ge=0)
    references: int = knob(default=1, ge=1, le=5)

    @property
    def name(self) -> str:
        return "notes" if self.form == "write" else f"notes_{self.form}"

    def size(self, split: Split) -> int | None:
        return None

    def get(self, split: Split, index: int) -> Task:
        """Problem number `index`. The facts decide its split, whatever is done with them."""
        draw = random.Random(derive("notes", self.form, self.level, split, index))
        while True:
            made = self._notes(draw) if self.form == "ask" else self._facts(draw)
            if made and (derive("notes", canonical(made)) % HELD_OUT == 0) == (split == "test"):
                break
        prompt, answer, meta = self._asked(made) if self.form == "ask" else self._posed(made, draw)
        if self.users:
            user = derive("user", self.form, split, index) % self.users + (self.users if split == "test" else 0)
            meta |= {"user": f"u{user}", "weights": drawn_weights(random.Random(derive("weights", user)))}
        return Task(f"{derive(prompt) % (1 << 40):010x}", prompt, answer, self.name, self.level, meta)

    def check(self, task: Task, completion: str) -> float | None:
        if self.form == "ask":
            return float(looked_up(completion, task.meta["notes"]) == task.meta["value"])
        return float(read_note(task.meta, completion).is_right)

    def explain(self, task: Task, completion: str) -> str:
        """Why a completion is wrong; nothing for a right one."""
        if self.form != "ask":
            return read_note(task.meta, completion).why
        given = looked_up(completion, task.meta["notes"])
        return "" if given == task.meta["value"] else f"the answer is {given or 'none'}, not {task.meta['value']}"

    def solution(self, task: Task) -> str:
        return task.answer

    def near_misses(self, task: Task, draw: random.Random) -> list[NearMiss]:
        """Notes with one fault each, or questions for something else."""
        made = self._other_questions(task, draw) if self.form == "ask" else {
            fault: written_note(task.meta, draw, [fault]) for fault in FAULTS
        }  # fmt: skip
        return [NearMiss(text, kind, 0) for kind, text in made.items() if self.check(task, text) == 0.0]

    # --- making ---------------------------------------------------------------------------------------------------

    def _facts(self, draw: random.Random) -> dict[str, str]:
        return {slot: draw.choice(VALUES[slot]) for slot in draw.sample(SLOTS, LEVELS[self.level][0])}

    def _posed(self, facts: dict[str, str], draw: random.Random) -> tuple[str, str, dict[str, Any]]:
        _, avoided, slack, faults, _ = LEVELS[self.level]
        kind = drawn_kind(draw)
        meta: dict[str, Any] = {"kind": kind, "facts": facts, "order": list(facts)}
        meta["tone"] = draw.choice(list(TONES))
        meta["forbidden"] = drawn_forbidden(draw, kind, list(facts), avoided)
        right = references(meta, draw, DRAWN)
        sizes = [len(WORD.findall(text)) for text in right]
        meta["length"] = [max(3, min(sizes) - slack), min(max(sizes) + slack, 2 * min(sizes))]
        right = [text for text, size in zip(right, sizes, strict=True) if size <= meta["length"][1]]
        meta["references"] = right[: self.references]
        rules = written_rules(meta)
        if self.form == "write":
            listed = "\n".join(f"- {slot}: {value}" for slot, value in facts.items())
            prompt = WRITE.format(kind=kind, facts=listed, rules=rules)
        else:
            spoilt = ["forbidden word", *draw.sample(("tone wrong", "too long"), faults - 1)]
            meta["draft"] = written_note(meta, draw, spoilt)
            prompt = REWRITE.format(draft=meta["draft"], rules=rules)
        return prompt, right[0], meta

    def _notes(self, draw: random.Random) -> dict[str, Any] | None:
        slots, _, _, _, count = LEVELS[self.level]
        several = drawn_notes(draw, count, slots)
        at, slot = draw.randrange(count), draw.choice(list(several[0]))
        keys = keys_for(several, at, slot)
        return None if keys is None else {"notes": several, "value": several[at][slot], "slot": slot, "keys": keys}

    def _asked(self, meta: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
        several, slot, keys = meta["notes"], meta["slot"], meta["keys"]
        listed = "\n".join("Note: " + ", ".join(f"{name} {each}" for name, each in note.items()) for note in several)
        these = "this note" if len(several) == 1 else "these notes"
        wordings = [question(slot, keys, wording) for wording in (0, 1)][: self.references]
        prompt = ASK.format(notes=listed, these=these, answer=meta["value"], cues=CUES)
        return prompt, wordings[0], {**meta, "references": wordings}

    def _other_questions(self, task: Task, draw: random.Random) -> dict[str, str]:
        slot, keys, value = (task.meta[name] for name in ("slot", "keys", "value"))
        another = draw.choice([name for name in SLOTS if name != slot and name not in keys])
        name = draw.choice(list(keys))
        strange = draw.choice([each for each in VALUES[name] if each != keys[name]])
        return {
            "another fact": question(another, keys),
            "another note": question(slot, {**keys, name: strange}),
            "answer given away": question(slot, {**keys, slot: value}),
            "no question": task.answer.removesuffix("?") + ".",
            "two questions": f"{task.answer} {question(slot, keys, 1)}",
        }


def canonical(made: dict[str, Any]) -> str:
    """The same text for the same facts, or the same notes and value, in any order."""
    if "notes" in made:
        return json.dumps([sorted(json.dumps(note, sort_keys=True) for note in made["notes"]), made["value"]])
    return json.dumps(made, sort_keys=True)


def drawn_forbidden(draw: random.Random, kind: str, slots: list[str], count: int) -> list[str]:
    """Rude words of this kind of message, words that a plain way of stating a fact would use (one a slot), then fillers."""
    plain = [AVOIDABLE[draw.choice([each for each in SENTENCES[slot] if each in AVOIDABLE])] for slot in slots]
    rude = draw.choice(KINDS[kind][2])
    chosen = [rude, *draw.sample(plain, min(len(plain), count // 2))]
    chosen += draw.sample(FILLERS, max(0, count - len(chosen)))
    return draw.sample(chosen, len(chosen))


def written_rules(meta: dict[str, Any]) -> str:
    """The rules of a note in plain words."""
    tone, (low, high) = meta["tone"], meta["length"]
    first, last = TONES[tone]
    others = " or ".join(mark for name, sides in TONES.items() if name != tone for side in sides for mark in side)
    how = f"begin with the word {' or '.join(first)}, end with the word {' or '.join(last)}, and" if first else "do"
    return (
        f"Tone: {tone} ({how} not use {others}).\n"
        f"Length: {low} to {high} words.\nDo not use these words: {', '.join(meta['forbidden'])}."
    )
