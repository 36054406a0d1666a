"""The words of notes: facts by slot, kinds of message, tones, words to avoid, and sentences that state them.

No sentence holds a value of a slot, a marker of a tone, or a rude word, so that what a text says is read exactly.
Leaves out: reading a text (`note_reading.py`), writing one (`note_writing.py`).
"""

from __future__ import annotations

import random
import re

VALUES: dict[str, tuple[str, ...]] = {  # of a slot: all values it can have
    "person": ("Maya", "Tom", "Ada", "Ben", "Lena", "Omar", "Ines", "Kofi", "Rosa", "Yuki", "Nils", "Vera"),
    "day": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "time": tuple(f"{hour}:{half}" for hour in range(9, 19) for half in ("00", "30")),
    "place": ("library", "cafe", "station", "office", "park", "gym", "school", "museum"),
    "thing": ("report", "key", "book", "lamp", "bike", "ladder", "cake", "ticket"),
    "price": tuple(f"{euros} euros" for euros in range(5, 96)),
}
SLOTS = tuple(VALUES)
PATTERNS = {  # what counts as naming a value, right or not
    slot: re.compile(
        {"time": r"\b\d+:\d+\b", "price": r"\b\d+ euros?\b"}.get(slot, rf"\b(?:{'|'.join(values)})\b"), re.IGNORECASE
    )
    for slot, values in VALUES.items()
}
SENTENCES: dict[str, tuple[str, ...]] = {  # that state a fact
    "person": ("{} will come too.", "Ask {} about it.", "{} knows more."),
    "day": ("It is on {}.", "We chose {}.", "{} suits everyone."),
    "time": ("We start at {}.", "It begins at {}.", "Be there by {}."),
    "place": ("Find us at the {}.", "The {} is where we meet.", "Go to the {}."),
    "thing": ("Bring the {}.", "You need the {}.", "Remember the {}."),
    "price": ("It costs {}.", "The price is {}.", "You pay {}."),
}
AVOIDABLE = {  # sentence: the word by which it can be forbidden
    sentence: re.findall(r"\b[a-z]{4,}\b", sentence.lower())[-1]
    for sentences in SENTENCES.values()
    for sentence in sentences
    if re.search(r"\b[a-z]{4,}\b", sentence.lower())
}
KINDS: dict[str, tuple[int, tuple[str, ...], tuple[str, ...]]] = {  # how often in 100, opening sentences, rude words
    "invitation": (34, ("You are welcome to join.", "Join our small party.", "This invites you."), ("loser", "boring")),
    "reminder": (24, ("Here is a reminder.", "Keep our plan in mind.", "A short reminder."), ("forgetful", "lazy")),
    "thank-you": (16, ("Thank you so much.", "Your help was great.", "Many thanks again."), ("finally", "cheap")),
    "order": (12, ("Here is our order.", "This is an order.", "An order from our team."), ("hurry", "useless")),
    "apology": (8, ("Our apologies for this.", "This was our fault.", "Please forgive us."), ("whatever", "overreact")),
    "complaint": (4, ("Something went wrong.", "This is a complaint.", "Our trust is gone."), ("idiot", "stupid")),
    "warning": (2, ("This is a warning.", "Caution is advised.", "There is a risk."), ("threat", "regret")),
}
FILLERS = ("very", "really", "actually", "basically", "literally", "honestly")
TONES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # words to begin with, words to end with
    "formal": (("Dear", "Greetings"), ("Sincerely", "Regards")),
    "friendly": (("Hi", "Hey"), ("Cheers", "Bye")),
    "plain": ((), ()),
}
EVERYONE = {"Dear": "Dear all", "Greetings": "Greetings all", "Hi": "Hi all", "Hey": "Hey all"}
PADDING = ("There is a lot to say here.", "More could be said of course.", "That would be all for now.")
ATTRIBUTES = ("facts", "tone", "length", "words")  # what a note is judged by
EQUAL = dict.fromkeys(ATTRIBUTES, 0.25)


def drawn_kind(draw: random.Random) -> str:
    """A kind of message, common ones more often."""
    return draw.choices(list(KINDS), [often for often, _, _ in KINDS.values()])[0]


def drawn_weights(draw: random.Random) -> dict[str, float]:
    """How much each attribute counts for a user: one or two count most, and all add up to 1."""
    raw = [draw.gammavariate(0.6, 1.0) + 0.02 for _ in ATTRIBUTES]
    shares = [round(each / sum(raw), 3) for each in raw[:-1]]
    return dict(zip(ATTRIBUTES, [*shares, round(1.0 - sum(shares), 3)], strict=True))
