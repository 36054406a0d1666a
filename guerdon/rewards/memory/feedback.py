"""People's ratings of samples, from a file of JSON lines that they, or the page they rate on, write to.

A line is one rating, in a form that needs nothing of this library:

    {"task": "addition/17", "completion": "so 42", "rating": 0.5, "by": "Ada"}

`task` is the task's key (`family/id`) or its id; in its place may stand `prompt`, the text that was shown.
In place of `completion` may stand `hash`, the SHA-256 of its UTF-8 bytes in hexadecimal. Whatever else a line has is
ignored.
Leaves out: how people are asked, beyond the files of a queue.
"""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any, ClassVar

from guerdon.core.errors import UserError
from guerdon.core.part import knob, live, part
from guerdon.core.score import Score
from guerdon.core.task import Task
from guerdon.data.lines import read_lines, shown
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.asking.knob_checks import check_plain

Key = tuple[str, str]  # (task or prompt, hash of the completion)
LARGEST = 1e300  # of a rating: the mean of some is still a number
ASKED, RATED = "asked", "rated"  # the two folders of a queue


@part
class human_feedback(Leaf):
    r"""The mean of the ratings that people gave to this completion of this task; without one it does not apply.

    `source` is a file of JSON lines (in this module's form), or a folder that is a queue: ratings are read from
    every `rated/*.jsonl` in it, and each sample without one is put into `asked/`, a JSON file each, at most `most` waiting at a
    time. A file that has changed is read again. A seed does not decide when ratings arrive: a run that is fed during training
    cannot be repeated to the bit. A line that is not a rating is refused when the reward is made; one that comes later makes
    samples fail, with the line's number, until it is fixed. Ratings are taken as they are: `.weight` and `.clip` scale them.

    Args:
        source: file of ratings, or folder of a queue.
        most: samples that may wait for a rating.

    >>> import pathlib, tempfile
    >>> import guerdon as gd
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "ratings.jsonl"
    >>> _ = file.write_text('{"prompt": "2+2?", "completion": "4", "rating": 1}\n')
    >>> liked = gd.human_feedback(str(file))
    >>> liked("4", prompt="2+2?").value, liked("5", prompt="2+2?")
    (1.0, None)
    """

    outside: ClassVar[bool] = True  # it puts questions where people look: a dry run leaves it out

    source: str = knob(hashed=False)
    most: int = knob(default=1000, ge=0)

    read: dict[Path, tuple[tuple[int, int], dict[Key, list[float]]]] = live()  # by file: its status, its ratings

    def __post_init__(self) -> None:
        check_plain(self)
        self.read = {}
        if not Path(self.source).exists():
            raise UserError(f"{self.source} is not there: ratings are a file of JSON lines, or a folder for them")
        self._refresh()

    def __call__(self, completion: str, prompt: str = "", task: Task | None = None) -> Score | None:
        self._refresh()
        digest = hash_of(completion)
        names = [prompt] if task is None else [task.key, task.id, prompt]
        ratings = [r for _, rated in self.read.values() for name in names for r in rated.get((name, digest), ())]
        if not ratings:
            self._ask(names[0], prompt, completion, digest)
            return None
        return Score(math.fsum(ratings) / len(ratings), why=f"{len(ratings)} ratings")

    def _refresh(self) -> None:
        """Read what is new or has changed, and forget what is gone."""
        there = {}
        for path in self._files():
            status = path.stat()
            there[path] = (status.st_mtime_ns, status.st_size)
        self.read = {path: kept for path, kept in self.read.items() if path in there}
        for path, now in there.items():
            if path not in self.read or self.read[path][0] != now:
                rated = _ratings(path)
                self.read[path] = (now, rated)
                for key in rated if self._is_queue else ():
                    self._question(key).unlink(missing_ok=True)

    @property
    def _is_queue(self) -> bool:
        return Path(self.source).is_dir()

    def _files(self) -> list[Path]:
        source = Path(self.source)
        return sorted((source / RATED).glob("*.jsonl")) if self._is_queue else [source]

    def _question(self, key: Key) -> Path:
        return Path(self.source) / ASKED / f"{hash_of(key[0])[:8]}-{key[1][:24]}.json"

    def _ask(self, name: str, prompt: str, completion: str, digest: str) -> None:
        """Put a sample into the queue, if there is one and it has room."""
        if not self._is_queue:
            return
        path = self._question((name, digest))
        path.parent.mkdir(exist_ok=True)
        if not path.exists() and sum(1 for _ in path.parent.iterdir()) < self.most:
            question = {"task": name, "prompt": prompt, "completion": completion, "hash": digest}
            half = path.with_suffix(".part")
            half.write_text(json.dumps(question, indent=2) + "\n", encoding="utf-8")
            half.replace(path)


def hash_of(completion: str) -> str:
    """The key of a completion in a file of ratings."""
    return hashlib.sha256(completion.encode()).hexdigest()


def _ratings(path: Path) -> dict[Key, list[float]]:
    """A file's ratings. A line without its end is still being written, and waits."""
    ratings: dict[Key, list[float]] = {}
    for line in read_lines(path, str(path)):
        if line.ended:
            place = f"{path}, line {line.number}"
            if line.fault:
                raise UserError(f"{place}: {line.fault}")
            key, rating = _rating(line.value, place)
            ratings.setdefault(key, []).append(rating)
    return ratings


def _rating(rating_line: Any, place: str) -> tuple[Key, float]:
    if not isinstance(rating_line, dict):
        raise UserError(
            f"{place}: a rating is an object like {{'task': ..., 'completion': ..., 'rating': 1}}, not {shown(rating_line)}"
        )
    name, text, digest, rating = (rating_line.get(n) for n in ("task", "completion", "hash", "rating"))
    name = rating_line.get("prompt") if name is None else name
    if not isinstance(name, str):
        raise UserError(f"{place}: which task it is about must be in task or prompt, as text")
    if not isinstance(text if text is not None else digest, str):
        raise UserError(f"{place}: what was rated must be in completion or hash, as text")
    if isinstance(rating, bool) or not isinstance(rating, int | float) or abs(rating) > LARGEST:
        raise UserError(f"{place}: rating must be a number, not {shown(rating)}")
    return (name, str(digest) if text is None else hash_of(text)), float(rating)
