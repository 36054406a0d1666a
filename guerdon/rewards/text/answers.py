"""Rewards that compare a completion with the truth: equal text, numbers, formulas, lists, patterns, JSON, shared words.

Each can be called as it stands, `exact()("4", "4")`, and is a term of any formula, `exact() + bleu().weight(0.1)`.
Without an answer to compare with, all return None: not applicable.
Leaves out: how answers are found in text (`text/answers.py`), the counting of shared words (`overlap.py`),
and anything that runs code or asks a model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Literal

from guerdon.core.errors import UserError
from guerdon.core.part import knob, part
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.asking.guarded import Guarded
from guerdon.rewards.asking.knob_checks import check_installed, check_pattern, check_plain
from guerdon.rewards.text.may_hang import matched, same_items
from guerdon.rewards.text.overlap import (
    bleu_tokens,
    char_f,
    f1,
    longest_common,
    rouge_tokens,
    sentence_bleu,
    squad_tokens,
)
from guerdon.tasks.slow_comparisons import fits_schema, same_formula, validator
from guerdon.text.answers import MARKS, final_number, marked, normal


@part
class exact(Leaf):
    """1 if the completion is the answer, space around both aside; else 0.

    `casefold` ignores case, `spaces` takes any run of space for one. With a `mark` ("Answer:", "<answer>", "####") only what
    follows its last place counts, and a completion without it is wrong.

    Args:
        casefold: ignore case.
        spaces: treat any run of white space as one space.
        mark: only what follows its last place counts.

    >>> import guerdon as gd
    >>> gd.exact()(" Paris\\n", "Paris"), gd.exact(casefold=True, mark="Answer:")("I think. Answer: paris", "Paris")
    (1.0, 1.0)
    """

    casefold: bool = False
    spaces: bool = False
    mark: str = ""

    def __post_init__(self) -> None:
        check_plain(self)

    def __call__(self, completion: str, answer: str = "") -> float | None:
        return _among(completion, (answer,), self.mark, self.casefold, self.spaces)


@part
class one_of(Leaf):
    """1 if the completion is one of several right answers, else 0; otherwise as `exact`.

    The right answers are the task's `answers` (a key of its meta) or, without them, `answer` split at `separator`.

    Args:
        separator: between the right answers in `answer`.
        casefold: ignore case.
        spaces: treat any run of white space as one space.
        mark: only what follows its last place counts.

    >>> import guerdon as gd
    >>> gd.one_of()("NYC", "New York | NYC"), gd.one_of()("NYC", answers=["New York"])
    (1.0, 0.0)
    """

    separator: str = "|"
    casefold: bool = False
    spaces: bool = False
    mark: str = ""

    def __post_init__(self) -> None:
        check_plain(self)

    def __call__(self, completion: str, answer: str = "", answers: Sequence[str] = ()) -> float | None:
        right = answers or (answer.split(self.separator) if self.separator else (answer,))
        return _among(completion, right, self.mark, self.casefold, self.spaces)


def _among(completion: str, right: Sequence[str], mark: str, casefold: bool, spaces: bool) -> float | None:
    wanted = {normal(str(each), casefold, spaces) for each in right} - {""}
    if not wanted:
        return None
    text = marked(completion, mark) if mark else completion
    return float(text is not None and normal(text, casefold, spaces) in wanted)


@part
class same_set(Guarded):
    r"""1 if the completion lists the answer's items, else 0. Items are split at the pattern `separator`; brackets, bullets
    and quotes around them do not count.

    As sets: order and repeats do not matter, and `partial` pays F1 $= 2|A \cap B| / (|A| + |B|)$. With `ordered`, as lists,
    and `partial` pays the share of places that agree, over the longer list. `mark` as in `exact`; `seconds` as in `matches`.

    Args:
        separator: pattern between items.
        ordered: compare places.
        partial: pay the share that agrees.
        casefold: ignore case.
        mark: only what follows its last place counts.

    >>> import guerdon as gd
    >>> gd.same_set()("[3, 1, 2]", "1, 2, 3"), gd.same_set(partial=True)("1, 2, 4", "1, 2, 3")
    (1.0, 0.6666666666666666)
    >>> gd.same_set(ordered=True)("3, 1, 2", "1, 2, 3"), gd.same_set(ordered=True, partial=True)("1, 3, 2", "1, 2, 3")
    (0.0, 0.3333333333333333)
    """

    separator: str = r"[,;\n]"
    ordered: bool = False
    partial: bool = False
    casefold: bool = False
    mark: str = ""
    seconds: float = knob(default=1.0, gt=0.0)

    def __post_init__(self) -> None:
        check_plain(self)
        check_pattern("same_set.separator", self.separator)

    def __call__(self, completion: str, answer: str = "") -> float | None:
        return same_items(**self.given(completion=completion, answer=answer))

    @property
    def work(self) -> Callable[..., float | None]:
        return same_items


@part
class numeric(Leaf):
    r"""1 if the completion's number $x$ is the answer's $y$: $|x - y| \le \max(a, r\,|y|)$, compared as exact fractions.

    The number is the first after the last place of the first of `marks` that occurs (GSM8K's "####", arXiv:2110.14168;
    MATH's \boxed, arXiv:2103.03874), else the last in the text, or, without `fallback`, none: wrong. Read are signs, thousands
    separators, fractions, powers and scientific notation, plain or in LaTeX. The tolerances `absolute` and `relative` are 0
    until a task asks for them. A percent sign is a `unit` to ignore, as in MATH's `is_equiv`, or a `hundredth`: 50% is 0.5.

    Args:
        absolute: absolute tolerance.
        relative: tolerance relative to the answer.
        marks: the number follows the last place of the first that occurs.
        fallback: without a mark take the last number.
        percent: ignore a percent sign, or divide by 100.

    >>> import guerdon as gd
    >>> gd.numeric()("48 / 2 = 24, 48 + 24 = 72 clips.\n#### 72", "72"), gd.numeric()(r"It is \boxed{\frac{3}{4}}.", "0.75")
    (1.0, 1.0)
    >>> gd.numeric()("about 3.14", "3.14159"), gd.numeric(absolute=0.01)("about 3.14", "3.14159")
    (0.0, 1.0)
    """

    absolute: float = knob(default=0.0, ge=0.0)
    relative: float = knob(default=0.0, ge=0.0)
    marks: str | tuple[str, ...] = MARKS
    fallback: bool = True
    percent: Literal["unit", "hundredth"] = "unit"

    def __post_init__(self) -> None:
        check_plain(self)
        if not all(isinstance(mark, str) and mark for mark in self.marks):
            raise UserError(f"numeric.marks holds texts to look for, like ('####',), not {self.marks!r}")

    def __call__(self, completion: str, answer: str = "") -> float | None:
        right, given = self._value(answer, True), self._value(completion, self.fallback)
        if right is None:
            return None
        if given is None:
            return 0.0
        # through their decimal spelling: 0.3 means 3/10, not the binary fraction just below it
        allowed = max(Fraction(str(self.absolute)), Fraction(str(self.relative)) * abs(right))
        return float(abs(given - right) <= allowed)

    def _value(self, text: str, fallback: bool) -> Fraction | None:
        parsed = final_number(text, self.marks, fallback)
        if parsed is None:
            return None
        return parsed.value / 100 if parsed.percent and self.percent == "hundredth" else parsed.value


@part
class maths(Guarded):
    r"""1 if the completion's formula equals the answer's, as Math-Verify decides it by algebra; else 0.

    Needs `pip install 'guerdon[maths]'`. The answer is one expression, in LaTeX or plain; in the completion \boxed counts
    first, then LaTeX between dollars, then plain numbers: of a bare `2x + 1` only the 2 is seen. Decimals agree to `digits`
    places; `strict` compares the names of variables and distinguishes sets from tuples; both defaults are Math-Verify's. Some
    formulas (10^{10^{10}}) take for ever: it works in a worker process, and after `seconds` (Math-Verify's 5, here for
    reading and comparing together) the score has timed out.

    Args:
        digits: decimal places that must agree.
        strict: compare names of variables, and distinguish sets from tuples.

    >>> import guerdon as gd
    >>> same = gd.maths()
    >>> same(r"so it is $\boxed{\frac{2}{4}}$", r"\frac{1}{2}"), same(r"$(x+1)^2$", "x^2+2x+1"), same("$x$", "x+1")
    (1.0, 1.0, 0.0)
    """

    digits: int = knob(default=6, ge=0)
    strict: bool = True
    seconds: float = knob(default=5.0, gt=0.0)

    def __post_init__(self) -> None:
        check_plain(self)
        check_installed("math_verify", "math-verify", "maths")

    def __call__(self, completion: str, answer: str = "") -> float | None:
        return same_formula(**self.given(completion=completion, answer=answer))

    @property
    def work(self) -> Callable[..., float | None]:
        return same_formula


@part
class matches(Guarded):
    r"""1 if the regular expression `pattern` matches the whole completion, or with `how="search"` a place in it; else 0.

    Python's `re` can take time exponential in the text for a pattern such as `(a+)+b`, and models find such texts: it works
    in a worker process, and after `seconds` the score has timed out.

    Args:
        pattern: regular expression.
        how: match the whole completion, or search in it.
        casefold: ignore case.

    >>> import guerdon as gd
    >>> gd.matches(r"\d+")("42"), gd.matches(r"\d+")("42 apples"), gd.matches(r"\d+", how="search")("42 apples")
    (1.0, 0.0, 1.0)
    """

    pattern: str
    how: Literal["fullmatch", "search"] = "fullmatch"
    casefold: bool = False
    dotall: bool = True  # a dot is any character: completions have lines
    seconds: float = knob(default=1.0, gt=0.0)

    def __post_init__(self) -> None:
        check_plain(self)
        check_pattern("matches.pattern", self.pattern)

    def __call__(self, completion: str) -> float:
        return matched(**self.given(completion=completion))

    @property
    def work(self) -> Callable[..., float]:
        return matched


@part
class json_schema(Guarded):
    """1 if the completion's JSON fits a JSON Schema (json-schema.org, draft 2020-12 unless it names another); else 0.

    Needs `pip install 'guerdon[json]'`. The JSON is the whole completion, else the first fenced block that is JSON, else the
    first object or array; with `whole` only the whole will do. Without a `schema` here, the task's own is taken (a key of its
    meta). References to other documents are never fetched. Its patterns can take for ever: it works in a worker process, and
    after `seconds` the score has timed out.

    Args:
        schema: the schema; the task's own when None.
        whole: the whole completion must be JSON.

    >>> import guerdon as gd
    >>> wanted = {"type": "object", "required": ["name"]}
    >>> gd.json_schema(wanted)('Here: {"name": "Ada"}'), gd.json_schema(wanted)('{"nom": "Ada"}'), gd.json_schema()("{}")
    (1.0, 0.0, None)
    """

    schema: Any = None
    whole: bool = False
    seconds: float = knob(default=1.0, gt=0.0)

    def __post_init__(self) -> None:
        check_plain(self)
        check_installed("jsonschema", "jsonschema", "json")
        if self.schema is not None:
            validator(self.schema)

    def __call__(self, completion: str, schema: Any = None) -> float | None:
        return fits_schema(**self.given(completion=completion, schema=schema))

    def given(self, **fields: Any) -> dict[str, Any]:
        arguments = super().given(**fields)
        return arguments if self.schema is None else {**arguments, "schema": self.schema}

    @property
    def work(self) -> Callable[..., float | None]:
        return fits_schema


@part
class token_f1(Leaf):
    r"""$F_1 = 2|C \cap A| / (|C| + |A|)$ over the words of completion and answer, repeats counted: SQuAD's F1
    (arXiv:1606.05250, normalised as in its evaluate-v2.0.py: lower case, without punctuation and articles).

    >>> import guerdon as gd
    >>> gd.token_f1()("the cat sat", "A cat sat down.")
    0.8
    """

    def __call__(self, completion: str, answer: str = "") -> float | None:
        if not answer.strip():
            return None
        given, right = squad_tokens(completion), squad_tokens(answer)
        if not given or not right:
            return float(given == right)
        return f1((Counter(given) & Counter(right)).total(), len(given), len(right))


@part
class bleu(Leaf):
    r"""$\min(1, e^{1 - |A|/|C|}) \exp\frac1N\sum_{n=1}^N \log p_n$, with $p_n$ the share of the completion's n-grams that are
    in the answer (Papineni et al., ACL 2002), from 0 to 1.

    For one sentence most $p_4$ are 0, so they are smoothed: `exp` halves the count for each order without a match (NIST's
    mteval-v13a, method 3 of Chen and Cherry, WMT 2014); `floor` puts 0.1 there, `add-k` adds 1 above order 1, `none` leaves 0.
    Tokens, smoothing and $N$, at most `order` and the completion's length, are those of sacreBLEU's `sentence_bleu`
    (arXiv:1804.08771); only for `add-k` sacreBLEU also counts orders above the length, as if all of them were right.

    Where the task has several right answers (`answers`, a key of its meta), an n-gram counts as often as it is in any of them,
    and $|A|$ is the length that is closest to the completion's, as in the paper.

    Args:
        order: longest n-gram.
        smooth: how orders without a match are counted.
        casefold: ignore case.

    >>> import guerdon as gd
    >>> round(gd.bleu()("the cat sat on a mat", "the cat sat on the mat"), 4)
    0.5373
    """

    order: int = knob(default=4, ge=1, le=9)
    smooth: Literal["exp", "floor", "add-k", "none"] = "exp"
    casefold: bool = False

    def __post_init__(self) -> None:
        check_plain(self)

    def __call__(self, completion: str, answer: str = "", answers: Sequence[str] = ()) -> float | None:
        right = [text for text in map(str, answers or (answer,)) if text.strip()]
        if not right:
            return None
        given, *wanted = (bleu_tokens(text.lower() if self.casefold else text) for text in (completion, *right))
        return sentence_bleu(given, wanted, self.order, self.smooth)


@part
class rouge_l(Leaf):
    """F1 of the longest common subsequence of words, $2L / (|C| + |A|)$ (Lin, "ROUGE", 2004), as `rouge-score` counts it
    without stemming. Only a-z and 0-9 are words: a text in another script has none and gets 0.

    >>> import guerdon as gd
    >>> gd.rouge_l()("the cat was found under the bed", "the cat was under the bed")
    0.9230769230769231
    """

    def __call__(self, completion: str, answer: str = "") -> float | None:
        if not answer.strip():
            return None
        given, right = rouge_tokens(completion), rouge_tokens(answer)
        return f1(longest_common(given, right), len(given), len(right))


@part
class chrf(Leaf):
    r"""$F_\beta$ of the mean precision and recall of character n-grams, spaces left out (chrF; Popović, WMT 2015), from 0 to
    1. Orders that one of the texts is too short for are left out, as in sacreBLEU's `sentence_chrf` (arXiv:1804.08771).

    Args:
        order: longest n-gram.
        beta: weight of recall.

    >>> import guerdon as gd
    >>> round(gd.chrf()("the cats sat on a mat", "the cat sat on the mat"), 3)
    0.52
    """

    order: int = knob(default=6, ge=1, le=12)
    beta: float = knob(default=2.0, gt=0.0)

    def __call__(self, completion: str, answer: str = "") -> float | None:
        return char_f(completion, answer, self.order, self.beta) if answer.strip() else None
