"""Rewards of a completion's form, not of its content: tags, length, repetition.

They are to be added to, or gated by, a reward that knows the truth: alone, all of them are earned by empty or idle text.
Leaves out: lengths compared within a group, which `formula/algebra.py` can express.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

from guerdon.core.errors import UserError
from guerdon.core.part import knob, part
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.asking.guarded import Guarded
from guerdon.rewards.asking.knob_checks import check_pattern, check_plain
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.scores import Outcome
from guerdon.rewards.text.may_hang import matched
from guerdon.rewards.text.overlap import ngrams

Unit = Literal["actions", "words", "characters"]
SLOT = re.compile(r"\s*<([\w-]+)>\s*\.\.\.?\s*</\1>\s*")


@part
class has_format(Guarded):
    r"""1 if the completion has the form of `template`: each of its tags exactly once, in order, nothing outside them; else 0.

    The default is DeepSeek-R1's (arXiv:2501.12948); two dots match any text. With `partial`, the share of conditions that
    hold: one for each tag that stands there exactly once (open-r1's `tag_count_reward`) and one for order and nothing outside.
    `opened` is for prompts that end with the first tag. A `pattern` is used instead of the template: a regular expression for
    the whole completion, its dots matching line ends too, looked for in a worker process for at most `seconds`.

    Args:
        template: tags in order; two dots match any text.
        pattern: a regular expression in place of the template.
        partial: pay the share of conditions that hold.
        opened: the prompt ends with the first tag.

    >>> import guerdon as gd
    >>> gd.has_format()("<think>2+2</think>\n<answer>4</answer>"), gd.has_format()("<think>2+2<answer>4</answer>")
    (1.0, 0.0)
    >>> gd.has_format(partial=True)("<think>2+2<answer>4</answer>"), gd.has_format(pattern=r"A|B|C")("B")
    (0.6, 1.0)
    """

    template: str = "<think>..</think><answer>..</answer>"
    pattern: str = ""
    partial: bool = False
    opened: bool = False
    seconds: float = knob(default=1.0, gt=0.0)

    def __post_init__(self) -> None:
        check_plain(self)
        check_pattern("has_format.pattern", self.pattern)
        if self.pattern and (self.partial or self.opened):
            raise UserError("has_format: partial and opened are about tags; leave them out with a pattern")
        names = SLOT.findall(self.template)
        if not names or SLOT.sub("", self.template):
            raise UserError(
                f"has_format.template is tags in a row, like '<think>..</think><answer>..</answer>', not {self.template!r}"
            )
        if len({*names}) < len(names):
            raise UserError(f"has_format.template has a tag twice: {self.template!r}")

    def __call__(self, completion: str) -> float:
        if self.pattern:
            return matched(**self.given(completion=completion))
        names = SLOT.findall(self.template)
        tags = [tag for name in names for tag in (f"<{name}>", f"</{name}>")]
        text = tags[0] + completion if self.opened else completion
        once = sum(text.count(tag) == 1 for tag in tags)
        formed = once == len(tags) and _in_order(text, tags)
        return (once + formed) / (len(tags) + 1) if self.partial else float(formed)

    @property
    def waits(self) -> bool:
        return bool(self.pattern)

    def given(self, **fields: Any) -> dict[str, Any]:
        return {"pattern": self.pattern, **fields}

    @property
    def work(self) -> Callable[..., float]:
        return matched

    async def score(self, samples: Samples) -> list[Outcome]:
        return await (super().score(samples) if self.pattern else Leaf.score(self, samples))


def _in_order(text: str, tags: list[str]) -> bool:
    """Whether tags that occur once each follow each other with nothing but space before, between and after the pairs."""
    outside, end = [], 0
    for opening, closing in zip(tags[::2], tags[1::2], strict=True):
        start, stop = text.find(opening), text.find(closing)
        if not end <= start < stop:
            return False
        outside.append(text[end:start])
        end = stop + len(closing)
    return not "".join([*outside, text[end:]]).strip()


# --- length -------------------------------------------------------------------------------------------------------


def size(completion: str, actions: Sequence[Any] | None, unit: Unit) -> int:
    """How long a completion is. Where the unit is actions and these are unknown, that is an error."""
    if unit == "actions":
        if actions is None:
            raise UserError(
                "a length in tokens needs the completion's token ids, `actions`: name the tokenizer (tokenizer=...,"
                " gd.rewards.with_token_ids), or count in words (unit='words')"
            )
        return len(actions)
    return len(completion.split() if unit == "words" else completion)


@part
class length(Leaf):
    r"""A budget: $\mathrm{clip}(1 - (n - limit)/margin,\ 0,\ 1)$. 1 up to `limit`, then down to 0 over the next `margin`.

    The clipped line of L1's LCPO-Max (arXiv:2503.04697), without its factor for a right answer: multiply by one that knows.
    Lengths are in actions (a language model's tokens), words or characters. Outside a run actions are known only if they are
    given, or a tokenizer to count with.

    Args:
        limit: length up to which the reward is 1.
        margin: further length over which it falls to 0.
        unit: what length counts: "actions", "words" or "characters".

    >>> import guerdon as gd
    >>> [gd.length(4, margin=2, unit="words")(text) for text in ("a b c d", "a b c d e", "a b c d e f")]
    [1.0, 0.5, 0.0]
    """

    limit: int = knob(ge=0)
    margin: int = knob(default=0, ge=0)
    unit: Unit = "actions"

    def __post_init__(self) -> None:
        check_plain(self)

    def __call__(self, completion: str, actions: Sequence[Any] | None = None) -> float:
        n = size(completion, actions, self.unit)
        return 1.0 if n <= self.limit else max(0.0, 1 - (n - self.limit) / self.margin) if self.margin else 0.0


@part
class cosine_length(Leaf):
    r"""$r_L + \frac12 (r_0 - r_L)(1 + \cos\frac{\pi n}{limit})$: from $r_0$ for no length to $r_L$ at `limit`, with one pair
    for right answers (`right_short`, `right_long`) and one for wrong ones; `over` from `limit` on (arXiv:2502.03373).

    So a right answer should be short and a wrong one long: more thought where it is needed. `correct` is taken from the task's
    meta or the call; only 1 or True is right. Defaults are those of open-r1's `get_cosine_scaled_reward`, which has no `over`
    and lets the cosine turn back beyond `limit`; None stays at $r_L$ instead.

    Args:
        limit: length at which the curve ends.
        right_short: reward of a right answer of length 0.
        right_long: reward of a right answer at `limit`.
        wrong_short: reward of a wrong answer of length 0.
        wrong_long: reward of a wrong answer at `limit`.
        over: reward from `limit` on; None keeps that at `limit`.
        unit: what length counts: "actions", "words" or "characters".

    >>> import guerdon as gd
    >>> half = gd.cosine_length(4, unit="words")
    >>> half("a b", correct=True), half("a b", correct=False), half("a b c d e", correct=True)
    (0.75, -0.75, 0.5)
    """

    limit: int = knob(default=1000, ge=1)
    right_short: float = 1.0
    right_long: float = 0.5
    wrong_short: float = -1.0
    wrong_long: float = -0.5
    over: float | None = None
    unit: Unit = "actions"

    def __post_init__(self) -> None:
        check_plain(self)

    def __call__(self, completion: str, correct: float | None, actions: Sequence[Any] | None = None) -> float | None:
        if correct is None:
            return None
        n = size(completion, actions, self.unit)
        pair = (self.right_short, self.right_long) if correct == 1 else (self.wrong_short, self.wrong_long)
        if n >= self.limit:
            return pair[1] if self.over is None else self.over
        return pair[1] + 0.5 * (pair[0] - pair[1]) * (1 + math.cos(math.pi * n / self.limit))


@part
class overlong(Leaf):
    r"""DAPO's soft overlong punishment (arXiv:2503.14476, eq. 13): 0 up to `limit - margin`, then straight down to -1 at
    `limit`, -1 beyond. The defaults are the paper's: 16,384 tokens and 4,096 more in which the punishment grows.

    Args:
        limit: length from which the penalty is -1.
        margin: length before it over which the penalty grows.
        unit: what length counts: "actions", "words" or "characters".

    >>> import guerdon as gd
    >>> [gd.overlong(6, 2, unit="words")(text) for text in ("a b c d", "a b c d e", "a b c d e f g")]
    [0.0, -0.5, -1.0]
    """

    limit: int = knob(default=20480, ge=1)
    margin: int = knob(default=4096, ge=0)
    unit: Unit = "actions"

    def __post_init__(self) -> None:
        check_plain(self)
        if self.margin > self.limit:
            raise UserError(f"overlong.margin lies within its limit: at most {self.limit}, not {self.margin}")

    def __call__(self, completion: str, actions: Sequence[Any] | None = None) -> float:
        n = size(completion, actions, self.unit)
        beyond = n - (self.limit - self.margin)
        return 0.0 if beyond <= 0 else -min(1.0, beyond / self.margin) if self.margin else -1.0


@part
class repetition(Leaf):
    r"""$worst\,(1 - |\text{different n-grams}| / |\text{n-grams}|)$, at most 0: the share of repeated n-grams
    (arXiv:2502.03373, appendix C.2, in the form for whole completions that its code and open-r1 have).

    n-grams of words in lower case, or of characters, for scripts without spaces. A text shorter than one n-gram repeats
    nothing. `n=3` and `worst=-1` are open-r1's defaults.

    Args:
        n: length of the n-grams.
        worst: reward if all n-grams are repeats.
        unit: n-grams of words, or of characters.

    >>> import guerdon as gd
    >>> gd.repetition(2)("no no no no"), gd.repetition(2)("no one said so")
    (-0.6666666666666666, 0.0)
    """

    n: int = knob(default=3, ge=1)
    worst: float = knob(default=-1.0, le=0.0)
    unit: Literal["words", "characters"] = "words"

    def __post_init__(self) -> None:
        check_plain(self)

    def __call__(self, completion: str) -> float:
        text = completion.lower()
        counts = ngrams(text.split() if self.unit == "words" else list(text), self.n)
        again = counts.total() - len(counts)
        return self.worst * again / counts.total() if again else 0.0
