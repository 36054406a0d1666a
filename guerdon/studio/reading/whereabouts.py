"""In which steps of a run a task was asked. Only the two columns that name tasks are read, once a file."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import Any

from guerdon.runs.run import Run
from guerdon.runs.whole_files import file_mark

KEPT = 20_000  # files of which it is known what they ask


class Whereabouts:
    def __init__(self) -> None:
        self._asked: dict[str, tuple[tuple[int, ...], Counter[str] | None]] = {}
        self._lock = threading.Lock()

    def of(self, run: Run, task: str) -> dict[str, Any]:
        """The steps that ask a task ("FAMILY/ID"), each with its number of segments, and how many files cannot be read."""
        steps, unreadable = [], 0
        for step in run.rollout_steps:
            asked = self._read(run.folder.rollouts(step))
            if asked is None:
                unreadable += 1
            elif task in asked:
                steps.append({"step": step, "tries": asked[task]})
        return {"task": task, "steps": steps, "unreadable": unreadable}

    def _read(self, path: Path) -> Counter[str] | None:
        mark = file_mark(path)
        kept = self._asked.get(str(path))
        if kept is None or kept[0] != mark:
            kept = mark, _tasks(path)
            with self._lock:
                while len(self._asked) >= KEPT:
                    self._asked.pop(next(iter(self._asked)))
                self._asked[str(path)] = kept
        return kept[1]


def _tasks(path: Path) -> Counter[str] | None:
    """How many tries there are at each task; None of a file that cannot be read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not path.is_file():
        return None
    try:
        with open(path, "rb") as file:  # by its handle: a name may be no text
            rows = pq.read_table(file, columns=["family", "task_id", "episode"]).to_pydict()
    except (OSError, KeyError, ValueError, pa.ArrowException):
        return None
    tries = set(zip(rows["episode"], rows["family"], rows["task_id"], strict=True))
    return Counter(f"{family}/{task}" for _, family, task in tries)
