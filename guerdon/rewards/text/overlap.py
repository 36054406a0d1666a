"""How much two texts share: the tokens that SQuAD, BLEU and ROUGE count, and the counting.

Plain functions from text to numbers.
Leaves out: several references, stemming, languages that do not put spaces between words.
"""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Sequence

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


def sentence_bleu(given: Sequence[str], wanted: Sequence[str], order: int, smooth: str) -> float:
    """BLEU of one sentence over the n-grams it is long enough to have. The formula stands at `bleu`."""
    logs, halvings = [], 0
    for n in range(1, min(order, len(given)) + 1):
        ours, theirs = ngrams(given, n), ngrams(wanted, n)
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
    brevity = min(0.0, 1 - len(wanted) / len(given))
    return min(1.0, math.exp(brevity + sum(logs) / len(logs)))


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
