"""The cache of judges' answers: an SQLite file that several processes may use at once.

A key is the hash of who is asked (address and model, or the weights), how, and what.
Secrets are not part of it, and a failed answer is never kept.
Left out: forgetting. Delete the file.
"""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.model import Model
from guerdon.core.part import describe
from guerdon.core.task import Sampling
from guerdon.core.user_folders import cache_folder
from guerdon.judges.answerer import Answerer, JudgeAnswer, JudgeQuestion
from guerdon.runs.checksums import is_whole, sealed
from guerdon.runs.whole_files import absolute

FORMAT = 1  # of keys and of what is stored
PATIENCE = 60.0  # seconds to wait for another process that writes
PAUSE = 0.01  # seconds between two looks whether it still does
KEPT = ("text", "choices", "tokens_in", "tokens_out")
AT_ONCE = 500  # keys in one query: SQLite takes no more than 999

Keep = Callable[[int, JudgeAnswer], None]


def default_place() -> Path:
    """The default place of kept answers: the user's cache folder."""
    return cache_folder() / "judges.sqlite"


class Cache:
    """A file of answers, open inside a `with` and not beyond: nothing is held across processes, threads or copies."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.db: sqlite3.Connection | None = None

    def __enter__(self) -> Cache:
        with self._file_errors():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.db = sqlite3.connect(self.path, timeout=PATIENCE)
            with contextlib.ExitStack() as undo:
                undo.callback(self.db.close)
                _patiently(self.db, "PRAGMA journal_mode=WAL")  # readers and a writer do not wait for each other
                self.db.execute("PRAGMA synchronous=NORMAL")
                self.db.execute(
                    "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL) WITHOUT ROWID"
                )
                undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        assert self.db is not None
        with self._file_errors():
            self.db.close()

    def get(self, keys: Sequence[str]) -> dict[str, JudgeAnswer]:
        """The answers that are known."""
        assert self.db is not None
        known: dict[str, JudgeAnswer] = {}
        with self._file_errors():
            for at in range(0, len(keys), AT_ONCE):
                some = keys[at : at + AT_ONCE]
                query = f"SELECT key, answer FROM answers WHERE key IN ({','.join('?' * len(some))})"
                for key, text in self.db.execute(query, some):
                    kept = json.loads(text)
                    if is_whole(kept):  # SQLite has no checksums: what is damaged inside it is asked again
                        known[key] = JudgeAnswer(**{name: kept[name] for name in KEPT}, cached=True)
        return known

    def put(self, key: str, answer: JudgeAnswer) -> None:
        assert self.db is not None and not answer.error, "what failed is asked again"
        text = json.dumps(sealed({name: describe(getattr(answer, name)) for name in KEPT}))
        with self._file_errors(), self.db:
            self.db.execute("INSERT OR REPLACE INTO answers (key, answer) VALUES (?, ?)", (key, text))

    @contextlib.contextmanager
    def _file_errors(self) -> Iterator[None]:
        """A fault of the file, in one line with the fix."""
        try:
            yield
        except (sqlite3.OperationalError, OSError) as error:
            raise UserError(
                f"the answers of judges cannot be kept in {self.path} ({error}): choose another file with cache=PATH, "
                "or do without with cache=False"
            ) from error
        except (sqlite3.DatabaseError, ValueError, TypeError, KeyError) as error:
            raise UserError(
                f"{self.path} is damaged or holds something else than answers of judges ({error}): delete it, or choose "
                "another file with cache=PATH"
            ) from error


def _patiently(db: sqlite3.Connection, statement: str) -> None:
    """Run a statement that SQLite refuses at once, without its own wait, while another process writes."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            db.execute(statement)
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        time.sleep(PAUSE)


class CachedAnswerer(Answerer):
    """An answerer that asks only what it does not know. Its `cache` is a file, True for the default place, False for none."""

    cache: bool | str
    sampling: Sampling

    def __post_init__(self) -> None:
        if isinstance(self.cache, str):  # the same file wherever this process goes
            self.cache = str(absolute(self.cache))

    @abc.abstractmethod
    def who(self, models: Mapping[str, Model]) -> dict[str, Any]:
        """What, together with a question, decides the answer."""

    @abc.abstractmethod
    async def fetch(
        self, questions: Sequence[JudgeQuestion], models: Mapping[str, Model], keep: Keep
    ) -> list[JudgeAnswer]:
        """Ask. `keep` is to be called with each answer's place as soon as it is there: what comes after may break."""

    def how(self, question: JudgeQuestion) -> Sampling:
        """How it is question: greedily and for one token where only the log-probs of the first word are wanted."""
        if question.choices and not question.thinks:
            return self.sampling.but(temperature=0.0, max_tokens=1, stop=())
        return self.sampling if question.temperature is None else self.sampling.but(temperature=question.temperature)

    async def answer(self, questions: Sequence[JudgeQuestion], models: Mapping[str, Model]) -> list[JudgeAnswer]:
        who = self.who(models)
        keys = [self._key(who, question) for question in questions]
        if not self.cache:
            return await self._once_each(keys, questions, models, {}, lambda key, answer: None)
        with Cache(default_place() if self.cache is True else Path(self.cache)) as cache:
            known = cache.get(list(dict.fromkeys(keys)))
            return await self._once_each(keys, questions, models, known, cache.put)

    async def _once_each(
        self,
        keys: Sequence[str],
        questions: Sequence[JudgeQuestion],
        models: Mapping[str, Model],
        known: Mapping[str, JudgeAnswer],
        put: Callable[[str, JudgeAnswer], None],
    ) -> list[JudgeAnswer]:
        """Every answer; of questions that are the same, one is asked and the others are hits."""
        new = {key: question for key, question in zip(keys, questions, strict=True) if key not in known}
        order = list(new)

        def keep(place: int, answer: JudgeAnswer) -> None:
            if not answer.error:
                put(order[place], answer)

        fresh = dict(zip(order, await self.fetch(list(new.values()), models, keep) if new else [], strict=True))
        given: set[str] = set()
        answers = []
        for key in keys:
            answers.append(dataclasses.replace(fresh[key], cached=key in given) if key in fresh else known[key])
            given.add(key)
        return answers

    def _key(self, who: Mapping[str, Any], question: JudgeQuestion) -> str:
        how = self.how(question)
        content = {
            "format": FORMAT,
            "who": who,
            "how": describe(how),
            "messages": question.messages,
            "choices": question.choices,
            "thinks": question.thinks,
            "seed": question.seed if how.temperature else 0,  # greedy answers are the same for every seed
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
