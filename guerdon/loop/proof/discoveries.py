"""Which of the claims that were registered together keep their word.

Of many claims some come out by chance. So a word must also survive control of the false discovery rate (Benjamini & Hochberg
1995) over its *batch*, the claims that were registered together: of the words that are said in a batch, 5 % at most are
expected to be false. A claim without evidence yet counts as p = 1.

**Old verdicts stay.** A recipe that is added later is in another batch, which no verdict here depends on. Within a batch, more
evidence only ever lowers a p: from 1 to that of the first look, and from look to look, for the adjusted p is the least over
looks. And lower p-values never take a discovery away. Let k be the largest number such that k of the m claims have a p of at
most rate * k / m; those are the discoveries. Where p-values fall, they are below that bound still, so the new largest number is
k or more, the new bound is no lower, and they are discoveries still. The number m is settled at registration, and which word it
is by the first look that says one. So a claim can go from *not known* to a word, and never back or to another.
"""

from __future__ import annotations

from collections.abc import Sequence

from guerdon.loop.proof.verdict import Verdict

FALSE_DISCOVERIES = 0.05


def discoveries(p: Sequence[float | None], rate: float = FALSE_DISCOVERIES) -> list[bool]:
    """Which claims of a batch are discoveries, by their adjusted p-values; None: there is no evidence yet.

    >>> discoveries([0.001, 0.03, None])  # bounds 1/60, 2/60, 3/60: 0.03 is the second smallest, and below the second
    [True, True, False]
    """
    known = [1.0 if each is None else each for each in p]
    bounds = [rate * k / len(known) for k in range(1, len(known) + 1)]
    passed = [bound for each, bound in zip(sorted(known), bounds, strict=True) if each <= bound]
    return [bool(passed) and each <= passed[-1] for each in known]


def settled(alone: Verdict, is_discovery: bool) -> Verdict:
    """What a word comes to beside the others of its batch. *Equal* is a word that can be false like any other.

    >>> settled("better", is_discovery=False)
    'not known'
    """
    return alone if is_discovery or alone == "not testable here" else "not known"
