"""How often tries are right, how many different ones there are, how long they are and what they cost in tokens.

The cost counts all that a search sampled and dropped.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from statistics import fmean
from typing import Any, Literal

from guerdon.core.errors import UserError
from guerdon.core.part import knob, part
from guerdon.core.statistics import Z95, even_mean, pass_at_k
from guerdon.exams.exam import TRUTH, Sitting
from guerdon.exams.solved_problems import written
from guerdon.exams.tries import checked, powers, rights, texts, with_interval
from guerdon.rewards.text.overlap import EVERY_MARK, vote


@part
class accuracy:
    r"""`pass@k` $= 1 - \binom{n-c}{k} / \binom{n}{k}$ for a problem with $c$ right ones among $n$ tries, the mean over problems
    (Chen et al. 2021, arXiv:2107.03374): for every power of two up to the number of tries, and for that.

    Each comes with the ends of its 95 % interval over problems, `pass@k_low` and `pass@k_high` (Wilson's, on the effective
    number of problems). A problem that comes twice counts once, with all its tries. Tries that could not be checked are in
    no rate: their share is `missing`, and `tasks` are the problems that have others. With several kinds of problems `kinds`
    has the pass@1 of each. Where an exam's problems were drawn by kind, kinds weigh the same, and with one try at each
    `outcomes` gives which were solved, `sizes` how many there are of each kind. Unbiased.

    >>> import guerdon as gd
    >>> from guerdon.exams.example_sitting import example_sitting
    >>> numbers = gd.exams.accuracy()(example_sitting([["= 4", "= 5"], ["= 5", "= 5"]], answer="4"))
    >>> numbers["pass@1"], numbers["pass@2"], numbers["tasks"]
    (0.25, 0.5, 2)
    """

    needs = (TRUTH,)

    def __call__(self, sitting: Sitting) -> dict[str, Any]:
        batch, right, problems = sitting.batch, rights(sitting), checked(sitting)
        tried = [[k for ask in asks for k in ask] for asks in problems]
        episode = batch.episode[batch.leaf].tolist()
        kind = [batch.episodes[episode[tracks[0]]].task.kind for tracks in tried]
        numbers: dict[str, Any] = {"tasks": len(problems)}
        for k in powers(sitting.tries):
            by_kind: dict[str, list[float]] = defaultdict(list)
            for name, t in zip(kind, tried, strict=True):
                if len(t) >= k:
                    by_kind[name].append(pass_at_k(len(t), sum(right[i] for i in t), k))
            numbers |= with_interval(f"pass@{k}", by_kind, sitting.evenly)
            if k == 1 and len(by_kind) > 1:
                numbers["kinds"] = {name: fmean(rates) for name, rates in by_kind.items()}
        if sitting.evenly and sitting.tries == 1:
            numbers["outcomes"] = written(right[tracks[0]] for tracks in tried)
            numbers["sizes"] = [kind.count(name) for name in dict.fromkeys(kind)]
        seen = {episode[i] for tracks in tried for i in tracks}
        return {**numbers, "missing": 1.0 - len(seen) / len(batch.episodes)}


@part(name="length", aliases=("answer_length",))
class answer_length:
    r"""`length` $= \frac1K \sum_k T_k$: the mean number of steps (tokens) of the role's tries. Those that failed count for
    what they have. Where an exam's problems were drawn by kind, kinds weigh the same, and `length_low` and `length_high` are
    the ends of its 95 % interval.

    >>> import guerdon as gd
    >>> from guerdon.exams.example_sitting import example_sitting
    >>> gd.exams.answer_length()(example_sitting([["ab", "abcd"]]))
    {'length': 3.0}
    """

    def __call__(self, sitting: Sitting) -> dict[str, Any]:
        batch, tracks = sitting.batch, sitting.batch.tracks_of([sitting.exam.role])
        steps = batch.up(batch.length.double(), "track", of="segment")[tracks]
        if not sitting.evenly:
            return {"length": float(steps.sum() / max(1, len(steps)))}
        by_kind: dict[str, list[float]] = defaultdict(list)
        for episode, length in zip(batch.episode[batch.leaf][tracks].tolist(), steps.tolist(), strict=True):
            by_kind[batch.episodes[episode].task.kind].append(length)
        mean, error = even_mean(by_kind)
        return {"length": mean, "length_low": mean - Z95 * error, "length_high": mean + Z95 * error}


class _Votes:
    """What reads answers off tries."""

    answer: Literal["number", "text"]
    marks: tuple[str, ...]
    fallback: bool

    def answers(self, sitting: Sitting) -> list[Hashable | None]:
        """[K] the answer of each try, None where it has none."""
        return [vote(text, self.answer, self.marks, self.fallback) for text in texts(sitting)]


@part(name="majority", aliases=("majority_vote",))
class majority_vote(_Votes):
    r"""`majority@k`: how often the most common answer of `k` tries is right (self-consistency, Wang et al. 2022,
    arXiv:2203.11171), with its interval over problems.

    $\frac1m\sum_{a} \bar c_a$ over the $m$ answers with the most votes, $\bar c_a$ being how often $a$ was found right: a
    tie is as good as its members are on average. `k=0` takes all the tries of an ask; a smaller `k` takes them `k` at a
    time, and leaves a rest out. Tries without an answer do not vote; where none votes, one is as good as another. What an
    answer is, is as in the reward `majority`: what follows the last place of the first of `marks` that occurs, else the
    whole text or its last number.

    Args:
        k: tries of a vote; 0 takes all of an ask.
        answer: what is compared: the last number, or the text.
        marks: the answer follows the last place of the first that occurs.
        fallback: without a mark take the last number, or the whole text.

    >>> import guerdon as gd
    >>> from guerdon.exams.example_sitting import example_sitting
    >>> numbers = gd.exams.majority_vote()(example_sitting([["= 4", "= 4", "= 5"], ["= 4", "= 5", "= 6"]], answer="4"))
    >>> round(numbers["majority@3"], 4)
    0.6667
    """

    k: int = knob(default=0, ge=0)
    answer: Literal["number", "text"] = "text"
    marks: tuple[str, ...] = EVERY_MARK
    fallback: bool = True

    needs = (TRUTH,)

    def __call__(self, sitting: Sitting) -> dict[str, Any]:
        k = self.k or sitting.tries
        if k > sitting.tries:
            raise UserError(f"majority@{k} needs {k} tries at each problem, not {sitting.tries}: Exam(..., tries={k})")
        answers, right = self.answers(sitting), rights(sitting)
        each = []
        for asks in checked(sitting):
            groups = [ask[i : i + k] for ask in asks for i in range(0, len(ask) - k + 1, k)] if self.k else asks
            each += [fmean(voted([(answers[t], right[t]) for t in group]) for group in groups)] if groups else []
        return with_interval(f"majority@{k}", each)


def voted(tries: Sequence[tuple[Hashable | None, bool]]) -> float:
    """How often the most common answer is right, from each try's answer and whether it is right."""
    tally = Counter(given for given, _ in tries if given is not None)
    if not tally:
        return fmean(right for _, right in tries)
    most = max(tally.values())
    tied = [answer for answer, votes in tally.items() if votes == most]
    return fmean(fmean(right for given, right in tries if given == answer) for answer in tied)


@part
class coverage(_Votes):
    r"""`coverage`: the share of problems that at least one of all their tries solves, which is pass@n, with its interval; and
    `distinct_answers`, how many different answers a problem's tries gave on average, read as `majority_vote` reads them.

    No formula. Grows with the number of tries: compare exams with as many.

    Args:
        answer: what is compared: the last number, or the text.
        marks: the answer follows the last place of the first that occurs.
        fallback: without a mark take the last number, or the whole text.

    >>> import guerdon as gd
    >>> from guerdon.exams.example_sitting import example_sitting
    >>> numbers = gd.exams.coverage()(example_sitting([["= 4", "= 4", "= 5"], ["= 6", "= 5", "= 6"]], answer="4"))
    >>> numbers["coverage"], numbers["distinct_answers"]
    (0.5, 2.0)
    """

    answer: Literal["number", "text"] = "text"
    marks: tuple[str, ...] = EVERY_MARK
    fallback: bool = True

    needs = (TRUTH,)

    def __call__(self, sitting: Sitting) -> dict[str, Any]:
        answers, right = self.answers(sitting), rights(sitting)
        tried = [[k for ask in asks for k in ask] for asks in checked(sitting)]
        distinct = [len({answers[k] for k in tracks} - {None}) for tracks in tried]
        solved = [float(any(right[k] for k in tracks)) for tracks in tried]
        return {**with_interval("coverage", solved), "distinct_answers": fmean(distinct)}


@part
class tokens_spent:
    r"""`tokens` $= \frac1E \sum_e T_e$: the mean number of tokens that were sampled for a try. Of a search it is all that was
    sampled, whatever it kept; of a plain try its length. What scorers read is not in it. Unbiased.

    >>> import guerdon as gd
    >>> from guerdon.exams.example_sitting import example_sitting
    >>> gd.exams.tokens_spent()(example_sitting([["ab", "abcd"]]))
    {'tokens': 3.0}
    """

    def __call__(self, sitting: Sitting) -> dict[str, Any]:
        episodes = sitting.batch.episodes
        spent = [e.info.get("tokens", sum(len(s.actions) - s.given for s in e.segments)) for e in episodes]
        return {"tokens": fmean(spent) if spent else 0.0}
