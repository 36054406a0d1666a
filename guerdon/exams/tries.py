"""The tries of a sitting as metrics see them: problem by problem, ask by ask; and a rate over problems with its interval."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from guerdon.core.errors import RunStopped
from guerdon.core.statistics import Z95, even_mean, interval
from guerdon.exams.exam import TRUTH, Sitting

Asked = list[list[int]]  # of one problem: for each time that it was asked the tracks of the tries that could be checked


def checked(sitting: Sitting) -> list[Asked]:
    """Every problem that has a checked try. One that comes twice counts once, with all its tries: intervals are over different
    problems. A sitting without any is no result, and the run stops with the first reason there is."""
    batch, column = sitting.batch, sitting.batch.cols[TRUTH]
    by_problem: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    problem, ask = batch.task[batch.leaf].tolist(), batch.ask[batch.leaf].tolist()
    for k, missing in enumerate(column.missing.tolist()):
        if not missing:
            by_problem[problem[k]][ask[k]].append(k)
    if not by_problem:
        errors = [d["error"] for d in column.detail.values() if "error" in d]
        errors += [str(e.info["error"]) for e in batch.episodes if e.failed]
        first = errors[0] if errors else "no task could be checked"
        raise RunStopped(f"evaluation has no checked try: {first.strip().splitlines()[-1]}")
    return [list(asks.values()) for asks in by_problem.values()]


def rights(sitting: Sitting) -> list[bool]:
    """[K] whether a try is right; False also where it could not be checked."""
    return [value >= 0.5 for value in sitting.batch[TRUTH].tolist()]


def texts(sitting: Sitting) -> list[str]:
    """[K] what was said last."""
    batch = sitting.batch
    ends = zip(batch.episode[batch.leaf].tolist(), batch.place[batch.leaf].tolist(), strict=True)
    return [batch.episodes[e].segments[i].text for e, i in ends]


def with_interval(
    name: str, rates: Sequence[float] | Mapping[str, Sequence[float]], evenly: bool = False
) -> dict[str, float]:
    """The mean of a rate per problem, and as NAME_low and NAME_high the ends of its 95 % interval. Rates may come by kind of
    problem; `evenly`, kinds weigh the same."""
    by_kind = rates if isinstance(rates, Mapping) else {"": rates}
    if evenly and len(by_kind) > 1:
        mean, error = even_mean(by_kind)
        low, high = max(0.0, mean - Z95 * error), min(1.0, mean + Z95 * error)
    else:
        mean, low, high = interval([rate for each in by_kind.values() for rate in each])
    return {name: mean, f"{name}_low": low, f"{name}_high": high}


def powers(most: int) -> list[int]:
    """1, 2, 4, ... and `most` itself.

    >>> powers(6)
    [1, 2, 4, 6]
    """
    return sorted({1 << i for i in range(most.bit_length()) if 1 << i <= most} | {most})
