"""The rewards of the settings: imperfect judges whose fault is known, each made of the task's own checker.

What they decide follows from the problem and the answer alone, so the same answer is always paid the same.
"""

from __future__ import annotations

import hashlib
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.part import knob, part
from guerdon.core.task import truth_of
from guerdon.rewards.asking.function import Leaf


def chance_of(*words: Any) -> float:
    """A number in [0, 1) that follows from some words.

    >>> chance_of("7 3", "7*3") == chance_of("7 3", "7*3"), chance_of("7 3", "7*3") == chance_of("7 3", "7+3")
    (True, False)
    """
    digest = hashlib.sha256("\n".join(map(str, words)).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


@part
class flipping_judge(Leaf):
    """The truth, flipped for a share of all answers."""

    source: Any
    share: float = knob(default=0.25, ge=0.0, le=1.0)

    def __call__(self, task: Any, completion: str, **track: Any) -> float | None:
        truth = truth_of(self.source, task, {"completion": completion, **track})
        if truth is None:
            return None
        return 1.0 - truth if chance_of(task.prompt, completion) < self.share else float(truth)


@part
class scarce_judge(Leaf):
    """The truth for a share of all problems; the others have no reward."""

    source: Any
    share: float = knob(default=0.25, ge=0.0, le=1.0)

    def __call__(self, task: Any, completion: str, **track: Any) -> float | None:
        if chance_of(task.prompt) >= self.share:
            return None
        return truth_of(self.source, task, {"completion": completion, **track})


@part
class styled_judge(Leaf):
    """The truth and a liking: `truth` times the truth, and the rest where the answer has the `style`, a text in it; of a style
    that is not `liked`, where it has not."""

    source: Any
    style: str = "*"
    truth: float = knob(default=0.5, ge=0.0, le=1.0)
    liked: int = knob(default=1, ge=0, le=1)

    def __call__(self, task: Any, completion: str, **track: Any) -> float | None:
        right = truth_of(self.source, task, {"completion": completion, **track})
        return (
            None
            if right is None
            else self.truth * right + (1.0 - self.truth) * float((self.style in completion) == bool(self.liked))
        )


@part
class lengthy_judge(Leaf):
    """A proxy that can be hacked: a little for the truth, the rest for lines, up to `lines` of them."""

    source: Any
    lines: int = knob(default=12, ge=1)
    truth: float = knob(default=0.2, ge=0.0, le=1.0)

    def __call__(self, task: Any, completion: str, **track: Any) -> float | None:
        right = truth_of(self.source, task, {"completion": completion, **track})
        long = min(1.0, len(completion.splitlines()) / self.lines)
        return None if right is None else self.truth * right + (1.0 - self.truth) * long


JUDGES: dict[str, Any] = {
    judge.__name__: judge for judge in (flipping_judge, scarce_judge, styled_judge, lengthy_judge)
}


def judge_of(words: str, source: Any) -> Leaf:
    """A judge from its words, `flipping_judge share=0.3`, over a task's checker."""
    name, *knobs = words.split()
    if name not in JUDGES:
        raise UserError(f"there is no judge {name!r}: choose one of {', '.join(JUDGES)}")
    given = dict(word.split("=", 1) for word in knobs)
    made: Leaf = JUDGES[name](
        source, **{k: v if k == "style" else float(v) if "." in v else int(v) for k, v in given.items()}
    )
    return made
