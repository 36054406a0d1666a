"""The tries of an exam by problem and ask, a rate over problems with its interval, and a record of every problem's outcome.

Records are what two runs that were evaluated on the same problems are compared by. A problem is known by a hash of its text, so
that two exams of one name with other problems are not taken for the same. Leaves out: the texts. Exams keep none.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.core.errors import RunStopped
from guerdon.core.statistics import Z95, even_mean, interval
from guerdon.core.task import Task
from guerdon.exams.exam import TRUTH, Sitting

Asked = list[list[int]]  # of one problem: for each time that it was asked the tracks of the tries that could be checked


def checked(sitting: Sitting) -> list[Asked]:
    """Every problem that has a checked try. One that comes twice counts once, with all its tries: intervals are over different
    problems. An evaluation without any is not a result, and the run stops with the first reason."""
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
    """[K] the last texts."""
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


DIGITS = 8  # of a problem's name: among 1,000 problems two share one in 1 of 8,000 exams


@dataclass(frozen=True)
class TriedProblem:
    """One problem: how many of its tries were checked, and how many of those were right."""

    kind: str
    right: int
    of: int


def problem_name(task: Task) -> str:
    """Of its content, wherever it comes from.

    >>> problem_name(Task("7", "2 + 2 =", "4")) == problem_name(Task("8", "2 + 2 =", "4"))
    True
    """
    text = json.dumps([task.family, task.prompt, task.answer])
    return hashlib.blake2b(text.encode(), digest_size=DIGITS // 2).hexdigest()


def tried_problems(sitting: Sitting) -> dict[str, TriedProblem]:
    """Every problem that has a checked try, by its name."""
    batch, column = sitting.batch, sitting.batch.cols[TRUTH]
    right, missing = (column.value >= 0.5).tolist(), column.missing.tolist()
    tried: dict[str, TriedProblem] = {}
    for k, episode in enumerate(batch.episode[batch.leaf].tolist()):
        if not missing[k]:
            task = batch.episodes[episode].task
            name = problem_name(task)
            before = tried.get(name, TriedProblem(task.kind, 0, 0))
            tried[name] = TriedProblem(task.kind, before.right + right[k], before.of + 1)
    return tried


def packed(tried: Mapping[str, TriedProblem], evenly: bool) -> dict[str, Any]:
    """As JSON, kind by kind: names one after the other, then as many hexadecimal numbers of one width. `of` is one number
    where all problems had as many tries. `evenly`: kinds weigh the same.

    >>> packed({"0123abcd": TriedProblem("sums:1", 2, 4), "89efab01": TriedProblem("sums:1", 4, 4)}, evenly=False)
    {'evenly': False, 'kinds': {'sums:1': {'names': '0123abcd89efab01', 'right': '24', 'of': 4}}}
    """
    by_kind: dict[str, dict[str, TriedProblem]] = {}
    for name, each in tried.items():
        by_kind.setdefault(each.kind, {})[name] = each
    return {"evenly": evenly, "kinds": {kind: _packed(each) for kind, each in by_kind.items()}}


def _packed(tried: Mapping[str, TriedProblem]) -> dict[str, Any]:
    of = [each.of for each in tried.values()]
    width = len(f"{max(of):x}")
    counts = of[0] if len(set(of)) == 1 else _hex(of, width)
    return {"names": "".join(tried), "right": _hex((each.right for each in tried.values()), width), "of": counts}


def _hex(numbers: Iterable[int], width: int) -> str:
    return "".join(f"{number:0{width}x}" for number in numbers)


def unpacked(value: Any) -> dict[str, TriedProblem]:
    """The problems again. What is not of our writing is a ValueError.

    >>> unpacked({"kinds": {"sums:1": {"names": "0123abcd89efab01", "right": "24", "of": 4}}})["89efab01"]
    TriedProblem(kind='sums:1', right=4, of=4)
    """
    tried: dict[str, TriedProblem] = {}
    try:
        for kind, each in value["kinds"].items():
            names = _pieces(each["names"], DIGITS)
            width = len(each["right"]) // len(names)
            right = [int(piece, 16) for piece in _pieces(each["right"], width)]
            of = each["of"]
            counts = [of] * len(names) if isinstance(of, int) else [int(piece, 16) for piece in _pieces(of, width)]
            for name, solved, tries in zip(names, right, counts, strict=True):
                if not 0 <= solved <= tries or tries == 0:
                    raise ValueError(f"{solved} right of {tries}")
                tried[name] = TriedProblem(kind, solved, tries)
    except (AttributeError, LookupError, TypeError, ZeroDivisionError) as error:
        raise ValueError(f"not the problems of an exam: {error}") from error
    return tried


def _pieces(text: str, width: int) -> list[str]:
    return [text[i : i + width] for i in range(0, len(text), width)]
