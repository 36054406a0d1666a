"""Problems of four families in plain words: `trace`, `equation`, `lookup` and `chain`, from their notation.

The text is all there is: what is said in words has the same numbers, names and order as the notation, and so the same answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable

VERBS = {"+": "add", "-": "subtract", "*": "multiply by"}


def in_plain_words(prompt: str) -> str | None:
    """A problem of `chain`, `trace`, `equation` or `lookup` in plain words; None for any other text.

    For models that follow instructions, and as `reword` of `paraphrase`.

    Args:
        prompt: the problem in its family's notation.

    >>> import guerdon as gd
    >>> gd.tasks.in_plain_words("chain 7 +5 *3")
    'Start with 7, add 5, multiply by 3. What is the result?'
    >>> print(gd.tasks.in_plain_words("equation 3(x+4)-2=2x+7"), gd.tasks.in_plain_words("grid 1 2 / 3 4"))
    For which x is 3(x+4)-2 equal to 2x+7? None
    """
    name, _, rest = prompt.partition(" ")
    return WORDED[name](rest) if rest and name in WORDED else None


def _chain(rest: str) -> str | None:
    start, *ops = rest.split(" ")
    if not start.isdigit() or not ops or not all(re.fullmatch(r"[-+*]\d+", op) for op in ops):
        return None
    steps = ", ".join(f"{VERBS[op[0]]} {op[1:]}" for op in ops)
    return f"Start with {start}, {steps}. What is the result?"


def _equation(rest: str) -> str | None:
    left, equals, right = rest.partition("=")
    return f"For which x is {left} equal to {right}?" if equals and left and right and "=" not in right else None


def _lookup(rest: str) -> str | None:
    match = re.fullmatch(r"((?:\w+:\w+ )+); (\w+) (\d+) hops?", rest)
    if match is None:
        return None
    pairs = ", ".join(" to ".join(pair.split(":")) for pair in match[1].split())
    steps = "one step" if match[3] == "1" else f"{match[3]} steps"
    return f"The arrows go from {pairs}. Start at {match[2]} and follow the arrows for {steps}. Where are you?"


def _trace(rest: str) -> str | None:
    *program, last = rest.split("; ")
    if not program or not last.startswith("print "):
        return None
    lines = [re.sub(r"^for (\d): (.+)$", _repeated, line) for line in program]
    return "\n".join(["Run this program:", *lines, f"What is {last.removeprefix('print ')} at the end?"])


def _repeated(loop: re.Match[str]) -> str:
    return f"repeat {loop[1]} times: {loop[2].replace(', ', ' then ')}"


WORDED: dict[str, Callable[[str], str | None]] = {
    "chain": _chain,
    "equation": _equation,
    "lookup": _lookup,
    "trace": _trace,
}
