"""All tries at one ask, or at one task in a step: what each was paid, and whether there is anything to learn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from guerdon.core.arrays import loads
from guerdon.core.episode import End
from guerdon.display.reading import track_scores as scores
from guerdon.display.reading.opened_steps import StepFile
from guerdon.display.run.curve_titles import RANKS
from guerdon.display.text import ENDS, error_text
from guerdon.runs.run import Missing

SHOWN = 400  # characters of a try
MOST = 600  # tries
NAMES = ("text", "end", "info", "prompt", "answer", "ask", "given")

Told = dict[str, Any]


def group(file: StepFile, ask: str) -> Told:
    """The tries at an ask ("STEP.NUMBER")."""
    if ask in file.groups:
        return file.groups[ask]
    episodes = file.asks.get(ask)
    if episodes is None:
        raise Missing(f"step {file.step} holds no ask {ask[:40]}")
    order = list(file.asks)
    at = order.index(ask)
    near = {"before": order[at - 1] if at else None, "after": order[at + 1] if at + 1 < len(order) else None}
    file.groups[ask] = {"ask": ask, **near, **_together(file, episodes)}
    return file.groups[ask]


def numbers_alone(told: Told) -> Told:
    """A group without its texts."""
    names = ("episode", "segment", "reward", "correct", "advantage", "same")
    roles = [{**role, "tries": [{n: one[n] for n in names} for one in role["tries"]]} for role in told["roles"]]
    return {**told, "roles": roles}


def tries_at(file: StepFile, task: str) -> Told:
    """The tries at a task ("FAMILY/ID") in a step, of all asks."""
    episodes = file.tasks.get(task)
    if episodes is None:
        raise Missing(f"step {file.step} does not ask {task[:80]}")
    return {"ask": None, **_together(file, episodes)}


def _together(file: StepFile, episodes: Sequence[str]) -> Told:
    first = file.of(episodes[0]).start
    row = file.rows(range(first, first + 1), *NAMES)[0]
    own = loads(row["ask"])["prompt"]
    family, task = (file.plain[name][first] for name in ("family", "task_id"))
    ends = [(key, end) for key in episodes for end in file.ends_in(file.of(key))]
    roles = list(dict.fromkeys(file.plain["role"][end] for _, end in ends))
    prompt = row["prompt"] if own is None else own
    return {
        "step": file.step,
        "task": {"key": f"{family}/{task}", "prompt": prompt[: 4 * SHOWN], "answer": row["answer"][:SHOWN]},
        "tries": len(episodes),
        "broken": [_broken(file, key) for key in episodes if not file.ends_in(file.of(key))],
        "roles": [_role(file, role, [(k, e) for k, e in ends if file.plain["role"][e] == role]) for role in roles],
    }  # fmt: skip


def _broken(file: StepFile, key: str) -> Told:
    """An episode without an action."""
    info = loads(file.rows(file.of(key), "info")[0]["info"])
    return {"episode": key, "error": error_text(str(info.get("error", "")), "nobody acted").line}


def _role(file: StepFile, role: str, ends: Sequence[tuple[str, int]]) -> Told:
    """The tracks of one role, the most liked first."""
    tries = [_try(file, key, end) for key, end in ends[:MOST]]
    measure = next((name for name in RANKS if any(isinstance(each[name], float) for each in tries)), None)
    told = {
        "role": role,
        "in_all": len(ends),
        "parts": [n for n in file.columns if n.startswith("reward.") and any(n in each["parts"] for each in tries)],
        "measure": measure,
        "reward": spread([each["reward"] for each in tries]),
        "correct": spread([each["correct"] for each in tries]),
        "advantage": spread([each["advantage"] for each in tries]),
        "length": spread([float(each["length"]) for each in tries]),
        "signal": signal(tries, file.paired is None or any(end in file.paired for _, end in ends)),
    }
    ordered = sorted(tries, key=lambda each: (_worth(each["advantage"]), _worth(each["reward"])), reverse=True)
    return told | {"tries": _folded(ordered)}


def _worth(value: Any) -> float:
    return value if isinstance(value, float) else -math.inf


def _try(file: StepFile, key: str, end: int) -> Told:
    path = file.path(end)
    row = file.rows(range(end, end + 1), *NAMES)[0]
    told = {each["name"]: each for each in scores.of_track(file, end)}
    texts = [file.rows(range(r, r + 1), "text")[0]["text"] or "" for r in path[:-1]] + [row["text"] or ""]
    info = loads(row["info"])
    advantage = next((n for n in sorted(told, key=lambda n: n != "advantage") if "advantage" in n), "")
    return {
        "episode": key,
        "segment": file.plain["place"][end],
        "text": texts[-1][:SHOWN],
        "said": "\n".join(texts),
        "turns": len(path),
        "length": sum(len(v) for r in path if (v := file.list_at("logp", r)) is not None),
        "end": row["end"],
        "end_words": ENDS[End(row["end"])],
        "learned": file.plain["row"][end] >= 0,
        "is_weighed": any(bool(np.any(w)) for r in path if (w := _learned(file, r)) is not None),
        "error": error_text(str(info["error"]), "no message").line if "error" in info else None,
        "parts": {n: each["number"] for n, each in told.items() if n.startswith("reward.") and each["number"] is not None},
        **{name: told[name]["number"] if name in told else None for name in RANKS},
        "reasons": {name: told[name]["reason"] for name in RANKS if name in told and "reason" in told[name]},
        "advantage": told[advantage]["number"] if advantage else None,
        "has_advantage": bool(advantage),
    }  # fmt: skip


def _learned(file: StepFile, row: int) -> Any:
    """Of the steps of a row those that are learned from."""
    weight, muted = file.list_at("weight", row), file.list_at("muted", row)
    return weight if weight is None or muted is None else (weight != 0) & ~muted.astype(bool)


def spread(values: Sequence[Any]) -> Told | None:
    """How many there are, their mean, standard deviation (of a sample), least and largest; None of none."""
    there = [v for v in values if isinstance(v, float)]
    if not there:
        return None
    mean = sum(there) / len(there)
    deviation = math.sqrt(sum((v - mean) ** 2 for v in there) / (len(there) - 1)) if len(there) > 1 else 0.0
    return {"count": len(there), "mean": mean, "spread": deviation, "least": min(there), "largest": max(there)}


def signal(tries: Sequence[Told], is_paired: bool = True) -> Told:
    """Whether the tries teach anything, in words. `is_paired`: false where pairs are learned from, and none is of these."""
    kept = [each for each in tries if each["learned"]]
    if not kept:
        return {"is_there": False, "words": "a stage left all of these out: nothing is learned from them"}
    if not any(each["is_weighed"] for each in kept):
        return {"is_there": False, "words": "no token of these is learned from"}
    same = _alike(kept)
    if not any(each["has_advantage"] for each in kept):
        if is_paired:
            return {"is_there": True, "words": same}
        return {"is_there": False, "words": f"{same or 'no pair is made of these'}: nothing is learned from them"}
    advantages = [each["advantage"] for each in kept if isinstance(each["advantage"], float)]
    if not advantages:
        return {"is_there": False, "words": "none of these has an advantage: nothing is learned from them"}
    if not any(advantages):
        return {"is_there": False, "words": f"{same or 'every advantage is 0'}: nothing is learned from them"}
    return {"is_there": True, "words": ""}


def _alike(tries: Sequence[Told]) -> str:
    """What all of several tries have in common, in words: one reward, or that they are right or wrong; empty where nothing."""
    for name, words in (("reward", "were paid the same"), ("correct", "are right")):
        values = [each[name] for each in tries if isinstance(each[name], float)]
        if len(values) == len(tries) > 1 and min(values) == max(values):
            return f"all {len(tries)} {'are wrong' if name == 'correct' and not values[0] else words}"
    return ""


def _folded(tries: Sequence[Told]) -> list[Told]:
    """One of each text, with the others that are equal."""
    by_text: dict[str, Told] = {}
    for each in tries:
        said = each.pop("said")
        if said in by_text:
            by_text[said]["same"].append({name: each[name] for name in ("episode", "segment", "reward", "advantage")})
        else:
            by_text[said] = {**each, "same": []}
    return list(by_text.values())
