"""How much two programs share: their n-grams, their keywords, and the shapes of their syntax trees.

CodeBLEU (Ren et al. 2020, arXiv:2009.10297) in plain functions on Python. Nothing is run.
Leaves out: its fourth part, the match of data flow; the other three weigh the same.
"""

from __future__ import annotations

import ast
import keyword
import math
import re
from collections import Counter
from collections.abc import Sequence

from guerdon.rewards.text.overlap import SMOOTHED, ngrams

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
    """The share of the wanted program's subtrees, by their shapes and without names and constants, that the other has, each as
    often; 0 where it is no program.

    >>> subtrees_met("y + 1", "x + 2"), subtrees_met("x * 2", "x + 2")
    (1.0, 0.0)
    """
    ours, theirs = shapes(given), shapes(wanted)
    return (ours & theirs).total() / theirs.total() if theirs else 0.0


def shapes(program: str) -> Counter[str]:
    """The subtrees of a program with more than one node, as text; none where it is no program.

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
