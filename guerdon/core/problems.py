"""The problems of training that a recipe may be for, in a closed set of words: `@recipe(..., helps=("sparse",))`.

Unlike needs they are not inherited from the recipe that one is made `on`, are checked against nothing, and are in no hash.
It needs no torch: lists read them from the text of recipes.
"""

from __future__ import annotations

from typing import Literal

Problem = Literal[
    "sparse", "noisy-judge", "hacking", "long-answers", "unsound-steps", "uneven-difficulty", "few-labels"
]
PROBLEMS: dict[Problem, str] = {
    "sparse": "hardly any answer is right, so most groups have no signal",
    "noisy-judge": "the judge or reward model is often wrong, or says another thing each time",
    "hacking": "the reward rises without better answers",
    "long-answers": "answers are longer than they need to be",
    "unsound-steps": "right answers have wrong steps",
    "uneven-difficulty": "some problems are too easy or too hard to learn from",
    "few-labels": "few answers or steps are labelled",
}
