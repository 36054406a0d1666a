"""Writes the tables of docs/check_a_reward.md: what `guerdon check` says about rewards whose faults are known.

A corpus is a file tests/rewards/check_corpus*.py with a list CORPUS of (reward, task, is_bad, why); `why` may be left out, and
then it is the first line of the reward's docstring. A task is a name (`trace:3`), a source, or a list of rows.

    python scripts/document_check.py                        run every corpus and write the page
    python scripts/document_check.py tests/FILE.py ...      run these and print their tables
"""

from __future__ import annotations

import ast
import importlib.util
import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import guerdon as gd

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "check_a_reward.md"
CORPORA = ROOT / "tests" / "rewards"
BEGIN, END = "<!-- tables: scripts/document_check.py -->", "<!-- end of tables -->"
PROBLEMS = 20


class Entry(NamedTuple):
    name: str
    reward: Any
    task: Any
    is_bad: bool
    why: str


class Verdict(NamedTuple):
    entry: Entry
    report: Any

    @property
    def found(self) -> bool:
        return not self.report.ok


def corpora() -> list[Path]:
    return sorted(CORPORA.glob("check_corpus*.py"))


def entries(path: Path) -> Iterator[Entry]:
    """The rewards of a corpus file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    for reward, task, is_bad, *why in module.CORPUS:
        name = getattr(reward, "__name__", None) or str(reward)
        said = (getattr(reward, "__doc__", None) or "").strip().partition("\n")[0] if callable(reward) else ""
        yield Entry(name, reward, task, is_bad, why[0] if why else said)


def judge(entry: Entry, problems: int = PROBLEMS) -> Verdict:
    """What the check says about one."""
    if not isinstance(entry.task, list):
        return Verdict(entry, gd.check_reward(entry.reward, entry.task, problems=problems))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in entry.task))
        return Verdict(entry, gd.check_reward(entry.reward, data={"path": str(path)}, problems=problems))


def rates(verdicts: Iterable[Verdict]) -> tuple[float, float]:
    """Recall and precision: of the bad ones how many were found, of those found how many are bad."""
    every = list(verdicts)
    caught = sum(v.found and v.entry.is_bad for v in every)
    bad, found = sum(v.entry.is_bad for v in every), sum(v.found for v in every)
    return caught / bad if bad else 1.0, caught / found if found else 1.0


def table(verdicts: list[Verdict]) -> str:
    rows = ["| reward | on | what it does | | `guerdon check` says |", "| --- | --- | --- | --- | --- |"]
    for entry, report in sorted(verdicts, key=lambda v: not v.entry.is_bad):
        task = (
            entry.task if isinstance(entry.task, str) else "rows" if isinstance(entry.task, list) else entry.task.name
        )
        first = "nothing severe"
        if report.severe:
            worst = report.severe[0]
            first = worst.name + (f" ({worst.count} of {worst.of})" if worst.of > 1 else "")
        more = f" (and {len(report.severe) - 1} more)" if len(report.severe) > 1 else ""
        cells = (f"`{entry.name}`", task, entry.why, "bad" if entry.is_bad else "good", first + more)
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(rows)


def chapter(path: Path) -> str:
    verdicts = [judge(entry) for entry in entries(path)]
    recall, precision = rates(verdicts)
    bad = sum(v.entry.is_bad for v in verdicts)
    words = (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0].rstrip(".")
    return (
        f"### {path.stem}\n\n{words}. {bad} bad, {len(verdicts) - bad} good: recall {recall:.2f}, precision"
        f" {precision:.2f}.\n\n{table(verdicts)}"
    )


def page(chapters: Iterable[str], path: Path = PAGE, begin: str = BEGIN) -> str:
    head, _, rest = path.read_text().partition(begin)
    _, _, tail = rest.partition(END)
    return f"{head}{begin}\n\n" + "\n\n".join(chapters) + f"\n\n{END}{tail}"


def document(chapter: Callable[[Path], str], path: Path, begin: str) -> None:
    """Print the chapters of the corpora that are named on the command line; without, write all of them into the page."""
    if sys.argv[1:]:
        for name in sys.argv[1:]:
            print(chapter(Path(name)))
    else:
        path.write_text(page(map(chapter, corpora()), path, begin))


if __name__ == "__main__":
    document(chapter, PAGE, BEGIN)
