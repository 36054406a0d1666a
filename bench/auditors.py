"""How well an auditor tells rewards with planted hacks from clean ones: `python -m bench.auditors`.

Every reward of every corpus (`audited.py`) is audited, `--jobs` at a time in processes beside, and written to
`records.jsonl` as soon as it is done; what is known of the same code is not done again. Told are recall, the share of bad
rewards that were flagged, and precision, the share of bad ones among those flagged, with Wilson's intervals, by kind and by
corpus, and every miss and false alarm by name. Beside them stands a plain threshold: flag a reward if simple wrong answers
earn more than a share of what gold does. That share is chosen in hindsight on the first half, which favours it there.
`--auditor audit` asks `gd.audit` in place of `gd.check_reward`. `--alarms` is another bench: `alarms.py`.
Leaves out: what corpora are (`audited.py`), how it looks (`auditors_page.py`).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import guerdon as gd
from bench import alarms
from bench.audited import FIRST_HALF, KINDS, Audited, corpora, plain_ratio, source_hash
from bench.auditors_page import markdown, renewed
from guerdon.core.errors import UserError
from guerdon.runs.whole_files import write_readable_json, write_text

Record = dict[str, Any]
RECORDS = "records.jsonl"
PLAIN = "plain"
AUDITS = ("guerdon/audits",)  # code whose change asks anew


# --- who audits -----------------------------------------------------------------------------------------------------


def _check(entry: Audited) -> Any:
    from guerdon.audits.auditing import check_reward

    return check_reward(entry.reward, entry.source(), progress=False)


def _audit(entry: Audited) -> Any:
    from guerdon.audits.auditing import audit  # type: ignore[import-not-found, unused-ignore]

    return audit(entry.reward, task=entry.source())


AUDITORS: dict[str, Callable[[Audited], Any]] = {"check": _check, "audit": _audit}


def judged(auditor: str, entry: Audited) -> Record:
    """What an auditor says about one reward. One that cannot say has flagged nothing, and its error is told."""
    began = time.monotonic()
    told: Record = {"ok": True, "says": [], "error": ""}
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # rewards may print
            if auditor == PLAIN:
                told = {"ratio": plain_ratio(entry), "error": ""}
            else:
                report = AUDITORS[auditor](entry)
                told |= {"ok": bool(report.ok), "says": [str(each) for each in getattr(report, "severe", ())][:3]}
    except UserError as error:
        told["error"] = str(error)
    return {**told, "seconds": round(time.monotonic() - began, 1)}


# --- asking ---------------------------------------------------------------------------------------------------------


def source_of(auditor: str, corpus: str) -> str:
    """A hash of all code that a verdict depends on."""
    return source_hash(corpus, ("bench/audited.py", *(() if auditor == PLAIN else AUDITS)))


def _asked(auditor: str, corpus: str, place: int) -> Record:
    """In a process of its own: one reward of a corpus."""
    return judged(auditor, corpora()[corpus][place])


def known_in(folder: Path) -> dict[tuple[str, ...], Record]:
    """What was written down, the last word on each."""
    path = folder / RECORDS
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {_key(record): record for record in map(json.loads, lines)}


def _key(record: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(record[name]) for name in ("auditor", "source", "corpus", "reward"))


def run_all(auditors: Sequence[str], folder: Path, jobs: int, only: Sequence[str] = ()) -> list[Record]:
    """Ask what is not known yet; all that is known of the code as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    known, wanted, every = known_in(folder), [], []
    for auditor in auditors:
        for corpus, rewards in corpora().items():
            source = source_of(auditor, corpus)
            for place, entry in enumerate(rewards):
                record = {"auditor": auditor, "source": source, "corpus": corpus, "reward": entry.name, **_facts(entry)}
                if only and corpus not in only:
                    continue
                every.append(_key(record))
                if _key(record) not in known:
                    wanted.append((record, place))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max(1, jobs), context) as pool, open(folder / RECORDS, "a") as out:
        asked = {pool.submit(_asked, r["auditor"], r["corpus"], place): r for r, place in wanted}
        for done, future in enumerate(as_completed(asked), 1):
            record = {**asked[future], **future.result()}
            known[_key(record)] = record
            out.write(json.dumps(record) + "\n")
            out.flush()
            print(f"{done} of {len(asked)}: {record['auditor']} {record['corpus']} {record['reward']}", flush=True)
    return [known[key] for key in every]


def _facts(entry: Audited) -> Record:
    return {"task": entry.on, "kind": entry.kind, "is_hack": entry.is_hack, "why": entry.why}


# --- telling --------------------------------------------------------------------------------------------------------


def rates(records: Iterable[Mapping[str, Any]]) -> Record:
    """Recall and precision with their intervals: None where there was nothing to find, or nothing was flagged."""
    every = list(records)
    hacks = [not r["ok"] for r in every if r["is_hack"]]
    flagged = [bool(r["is_hack"]) for r in every if not r["ok"]]
    return {
        "hacks": len(hacks),
        "clean": len(every) - len(hacks),
        "caught": sum(hacks),
        "flagged": len(flagged),
        "recall": gd.exams.interval(list(map(float, hacks))) if hacks else None,
        "precision": gd.exams.interval(list(map(float, flagged))) if flagged else None,
    }


def best_threshold(records: Iterable[Mapping[str, Any]]) -> float:
    """The share of gold's pay above which flagging has the best F1 in hindsight; of equally good ones the lowest."""
    every = list(records)
    tried: list[float] = [0.0, *sorted({r["ratio"] for r in every})]

    def f1(threshold: float) -> float:
        caught: int = sum(r["is_hack"] and r["ratio"] > threshold for r in every)
        counted: int = sum(r["is_hack"] for r in every) + sum(r["ratio"] > threshold for r in every)
        return 2 * caught / counted if counted else 0.0

    return max(tried, key=lambda each: (f1(each), -each))


def with_threshold(records: Iterable[Mapping[str, Any]], threshold: float) -> list[Record]:
    """What the plain threshold says."""
    return [{**r, "ok": r["ratio"] <= threshold, "says": []} for r in records]


def tell(records: Sequence[Record], auditor: str) -> Record:
    """All that is told, from records alone."""
    plain = [r for r in records if r["auditor"] == PLAIN and "ratio" in r]
    first = [r for r in plain if r["corpus"] in FIRST_HALF]
    threshold = best_threshold(first or plain)
    arms = {
        auditor: [r for r in records if r["auditor"] == auditor],
        "plain threshold": with_threshold(plain, threshold),
    }
    told: Record = {"auditor": auditor, "threshold": threshold, "by_corpus": {}, "by_kind": {}, "names": {}}
    for arm, mine in arms.items():
        told["by_corpus"][arm] = {c: rates(r for r in mine if r["corpus"] == c) for c in _order(mine, "corpus")}
        told["by_kind"][arm] = {k: rates(r for r in mine if r["kind"] == k) for k in KINDS}
        told["names"][arm] = [r for r in mine if bool(r["is_hack"]) == bool(r["ok"])]
    return told


def _order(records: Iterable[Mapping[str, Any]], key: str) -> list[str]:
    return list(dict.fromkeys(str(r[key]) for r in records))


def publish(told: Record, figures: Path, page: Path) -> None:
    """The numbers, and the page's tables."""
    write_readable_json(figures / f"auditors_{told['auditor']}.json", told)
    if page.exists():
        write_text(page, renewed(page.read_text(encoding="utf-8"), told["auditor"], markdown(told)))
    print(markdown(told))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--auditor", choices=AUDITORS, default="check")
    parser.add_argument("--only", nargs="+", default=[], help="these corpora, by the names of their files")
    parser.add_argument("--jobs", type=int, default=1, help="rewards at a time; with --alarms, runs")
    parser.add_argument("--runs", type=Path, default=Path("runs/auditors"))
    parser.add_argument("--figures", type=Path, default=Path("docs/figures"), help="where the numbers go")
    parser.add_argument("--page", type=Path, default=Path("docs/auditors_compared.md"))
    parser.add_argument("--alarms", action="store_true", help="train on the rewards, with the watch on")
    parser.add_argument("--seeds", type=int, default=1, help="with --alarms: runs of each reward")
    parser.add_argument("--model", default="sprig", help="with --alarms: the policy")
    parser.add_argument("--tell", action="store_true", help="with --alarms: run nothing, and tell what is known")
    args = parser.parse_args()
    try:
        if args.alarms:
            alarms.run_and_tell(args)
        else:
            records = run_all([args.auditor, PLAIN], args.runs, args.jobs, args.only)
            publish(tell(records, args.auditor), args.figures, args.page)
    except UserError as error:
        sys.exit(f"auditors: {error}")


if __name__ == "__main__":
    main()
