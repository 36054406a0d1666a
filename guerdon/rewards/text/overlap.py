"""How much two texts or programs share, and which answer a text gives: plain functions.

The tokens that SQuAD, BLEU and ROUGE count, and the counting; CodeBLEU (Ren et al. 2020, arXiv:2009.10297) on Python: n-grams,
keywords, and the shapes of syntax trees. Nothing is run.
Leaves out: stemming, languages that do not put spaces between words; CodeBLEU's match of data flow (the
other three parts weigh the same); marks, numbers and JSON (`text/answers.py`), algebra (`maths` in `answers.py`).
"""

from __future__ import annotations

import ast
import keyword
import math
import re
import string
from collections import Counter
from collections.abc import Sequence
from functools import reduce
from operator import or_

from guerdon.text.answers import EVERY_MARK as EVERY_MARK
from guerdon.text.answers import vote as vote

ARTICLES = re.compile(r"\b(?:a|an|the)\b")
NO_PUNCTUATION = dict.fromkeys(map(ord, string.punctuation))
SMOOTHED = {"floor": 0.1, "add-k": 1.0}  # the values Chen and Cherry (2014) use
SPLIT_OFF = re.compile("([" + re.escape("".join(c for c in string.punctuation if c not in "',-.")) + "])")
ESCAPES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))


def squad_tokens(text: str) -> list[str]:
    """Lower case, no ASCII punctuation, no articles, split at space: SQuAD's `normalize_answer`."""
    return ARTICLES.sub(" ", text.lower().translate(NO_PUNCTUATION)).split()


def bleu_tokens(text: str) -> list[str]:
    """The tokens of NIST's mteval-v13a: symbols stand alone; full stops, commas and dashes do unless they are in a number."""
    text = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for written, meant in ESCAPES:
        text = text.replace(written, meant)
    text = SPLIT_OFF.sub(r" \1 ", f" {text} ")
    text = re.sub(r"([^0-9])([.,])", r"\1 \2 ", text)
    text = re.sub(r"([.,])([^0-9])", r" \1 \2", text)
    return re.sub(r"([0-9])(-)", r"\1 \2 ", text).split()


def rouge_tokens(text: str) -> list[str]:
    """Runs of a-z and 0-9 in lower case: what ROUGE counts."""
    return re.findall(r"[a-z0-9]+", text.lower())


def ngrams(tokens: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(tokens[i:] for i in range(n)), strict=False))


def f1(shared: int, given: int, wanted: int) -> float:
    """The harmonic mean of precision `shared / given` and recall `shared / wanted`."""
    return 2 * shared / (given + wanted) if shared else 0.0


def sentence_bleu(given: Sequence[str], wanted: Sequence[Sequence[str]], order: int, smooth: str) -> float:
    """BLEU of one sentence against one or several, over the n-grams it is long enough to have. The formula stands at `bleu`."""
    logs, halvings = [], 0
    for n in range(1, min(order, len(given)) + 1):
        ours, theirs = ngrams(given, n), reduce(or_, (ngrams(each, n) for each in wanted))  # each as often as in any
        shared, total = float((ours & theirs).total()), float(ours.total())
        if n == 1 and not shared:  # a sentence without one right word is 0 under every smoothing
            return 0.0
        if smooth == "add-k" and n > 1:
            shared, total = shared + SMOOTHED[smooth], total + SMOOTHED[smooth]
        if not shared and smooth == "exp":
            halvings += 1
            shared = 0.5**halvings
        elif not shared and smooth == "floor":
            shared = SMOOTHED[smooth]
        if not shared:
            return 0.0
        logs.append(math.log(shared / total))
    if not logs:
        return 0.0
    closest = min((abs(len(each) - len(given)), len(each)) for each in wanted)[1]  # of two as close the shorter
    brevity = min(0.0, 1 - closest / len(given))
    return min(1.0, math.exp(brevity + sum(logs) / len(logs)))


def char_f(given: str, wanted: str, order: int, beta: float) -> float:
    """The F of the mean precision and recall of character n-grams, without spaces, over the orders both texts have."""
    ours, theirs = ("".join(text.split()) for text in (given, wanted))
    shares = []
    for n in range(1, order + 1):
        mine, right = ngrams(ours, n), ngrams(theirs, n)
        if mine and right:
            shared = (mine & right).total()
            shares.append((shared / mine.total(), shared / right.total()))
    if not shares:
        return 0.0
    precision, recall = (sum(side) / len(shares) for side in zip(*shares, strict=True))
    return (1 + beta**2) * precision * recall / (beta**2 * precision + recall) if precision + recall else 0.0


def longest_common(a: Sequence[str], b: Sequence[str]) -> int:
    """The length of the longest common subsequence, a whole row of the usual table at once as bits of a number
    (Hyyrö, "Bit-parallel LCS-length computation revisited", 2004): a zero bit is a place where the length grows."""
    places: dict[str, int] = {}
    for i, token in enumerate(a):
        places[token] = places.get(token, 0) | 1 << i
    every = row = (1 << len(a)) - 1
    for token in b:
        same = row & places.get(token, 0)
        row = ((row + same) | (row - same)) & every
    return len(a) - row.bit_count()


TOKENS = re.compile(r"[A-Za-z_]\w*|\d+|\*\*|//|[-+*/%=!<>]=|[^\s\w]")
HEAVY = 5.0  # how many times an ordinary word a keyword counts, as in the paper
FLOOR = SMOOTHED["floor"]


def code_bleu(given: str, wanted: str) -> float:
    r"""$\frac13(B + B_w + T)$: BLEU, BLEU whose single words are weighed, and the share of subtrees that are there.

    >>> code_bleu("def f(x): return x", "def f(x): return x"), code_bleu("", "def f(x): return x")
    (1.0, 0.0)
    """
    ours, theirs = TOKENS.findall(given), TOKENS.findall(wanted)
    return (bleu_of(ours, theirs) + bleu_of(ours, theirs, HEAVY) + subtrees_met(given, wanted)) / 3


def bleu_of(given: Sequence[str], wanted: Sequence[str], heavy: float = 1.0, order: int = 4) -> float:
    """BLEU over the n-grams that a program is long enough to have, with single words that are keywords counting `heavy` times;
    an order without a match counts as a tenth of one.

    >>> round(bleu_of(["return", "x"], ["return", "y"]), 4)  # (1/2 * 0.1/1) ** 0.5
    0.2236
    >>> round(bleu_of(["return", "x"], ["return", "y"], 5.0), 4)  # (5/6 * 0.1/1) ** 0.5
    0.2887
    """
    logs = []
    for n in range(1, min(order, len(given)) + 1):
        ours, theirs = ngrams(given, n), ngrams(wanted, n)
        shared, total = _weight(ours & theirs, n, heavy), _weight(ours, n, heavy)
        if n == 1 and not shared:
            return 0.0
        logs.append(math.log((shared or FLOOR) / total))
    if not logs:
        return 0.0
    return math.exp(min(0.0, 1 - len(wanted) / len(given)) + sum(logs) / len(logs))


def _weight(counted: Counter[tuple[str, ...]], n: int, heavy: float) -> float:
    if n > 1:
        return float(counted.total())
    return math.fsum(count * (heavy if keyword.iskeyword(word) else 1.0) for (word,), count in counted.items())


def subtrees_met(given: str, wanted: str) -> float:
    """The share of the wanted program's subtrees, by their shapes and without names and constants, that the other has, each
    as often; 0 where it is not a program.

    >>> subtrees_met("y + 1", "x + 2"), subtrees_met("x * 2", "x + 2")
    (1.0, 0.0)
    """
    ours, theirs = shapes(given), shapes(wanted)
    return (ours & theirs).total() / theirs.total() if theirs else 0.0


def shapes(program: str) -> Counter[str]:
    """The subtrees of a program with more than one node, as text; none where it is not a program.

    >>> sorted(shapes("x + 2"))
    ['(BinOp (Name) (Add) (Constant))', '(Expr (BinOp (Name) (Add) (Constant)))']
    """
    try:
        tree = ast.parse(program)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Counter()
    counted: Counter[str] = Counter()

    def shape(node: ast.AST) -> str:
        below = [shape(child) for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr_context)]
        said = f"({' '.join([type(node).__name__, *below])})"
        if below:
            counted[said] += 1
        return said

    for statement in tree.body:
        shape(statement)
    return counted


# --- items --------------------------------------------------------------------------------------------------------

PAIRS = {"[": "]", "(": ")", "{": "}", '"': '"', "'": "'", "“": "”", "`": "`"}


def items(text: str, separator: str) -> list[str]:
    """The items of a list in text: split at the pattern `separator`; brackets, bullets and quotes around them are taken off.

    >>> items('["red", "blue"]', ","), items("- red" + chr(10) + "- blue", r"[,\\n]")
    (['red', 'blue'], ['red', 'blue'])
    """
    text = text.strip().removeprefix("\\{").removesuffix("\\}")
    pieces = (piece or "" for piece in re.split(separator, _unwrapped(text)))
    bare = (_unwrapped(re.sub(r"^\s*[-*•]\s+", "", piece).strip()) for piece in pieces)
    return [item for item in bare if item]


def _unwrapped(text: str) -> str:
    return text[1:-1].strip() if len(text) > 1 and PAIRS.get(text[0]) == text[-1] else text
