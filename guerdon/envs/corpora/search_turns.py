"""Question and search in turns: the player searches a corpus, reads documents, and answers.

A turn is one move, in a line of its own or in tags, the first of them if there are several; text before it is the player's own:

    search: words      <search>words</search>      the `k` documents that fit best, an excerpt of each
    open: id           <open>id</open>             a document, page by page (`open: id 2`)
    = answer [id]      <answer>answer</answer>     the end; ids in brackets are what the answer rests on

The tags are those that Search-R1 (Jin et al. 2025, arXiv:2503.09516) and ReSearch (Chen et al. 2025, arXiv:2503.19470) were
trained with, down to `<information>` around what is shown in the first of them; `open` is ours.
Leaves out: where documents come from (`collection.py`) and what a right answer is (`cited_answers.py`).
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from guerdon.core.errors import UserError
from guerdon.core.part import knob, part
from guerdon.core.task import Ask, Conversation, Task
from guerdon.envs.corpora.cited_answers import judged, read_cited
from guerdon.envs.corpora.collection import OpenedCorpus, corpus, small_library
from guerdon.envs.corpora.documents import Document, documents_of
from guerdon.envs.world_turns import InTurns, Observed

READ = 20_000  # characters of a turn in which a move is looked for
KEPT = 200  # characters of a query that are recorded
MOVE = re.compile(
    r"<(?P<tag>search|open|answer)>(?P<inside>[^<]*)</(?P=tag)>"
    r"|^[ \t]*(?:(?P<word>search|open|answer)[ \t]*:|=(?=[ \t]))(?P<rest>[^\n]*)$",
    re.IGNORECASE | re.MULTILINE,
)
PAGE = re.compile(r"(.+?)\s+(?:page\s+)?([0-9]{1,6})")
LINES = "one move a turn: search: words | open: id | = answer"
TAGS = "One move a turn: <search>words</search>, <open>id</open> or <answer>answer</answer>."


class Move(NamedTuple):
    kind: str
    text: str


def read_move(said: str) -> Move | None:
    """The first move of a turn, after what was thought in `<think>`; None where there is none, or an empty one.

    >>> read_move("let me see" + chr(10) + "search: norvex founder"), read_move("<answer> Keldor </answer>"), read_move("= ")
    (Move(kind='search', text='norvex founder'), Move(kind='answer', text='Keldor'), None)
    """
    said = said[:READ]
    thought, closed, after = said.partition("</think>")
    match = MOVE.search(after if closed else thought)
    if match is None:
        return None
    text = " ".join((match["inside"] if match["tag"] else match["rest"]).split())
    return Move((match["tag"] or match["word"] or "answer").lower(), text) if text else None


class SearchWorld:
    """One episode: what was searched for, shown, opened and answered."""

    def __init__(self, env: searched, task: Task, shown: Any, library: OpenedCorpus) -> None:
        self.env, self.task, self.first, self.library = env, task, shown, library
        self.queries: list[str] = []
        self.shown: dict[str, None] = {}  # ids in the order in which they were first shown
        self.opened: list[str] = []
        self.given: str | None = None
        self.unread = 0

    def begin(self) -> Any:
        how = self._how()
        if isinstance(self.first, Conversation):
            return self.first.saying(f"{self.first.asked}\n\n{how}")
        return f"{self.first}\n{how}"

    def _how(self) -> str:
        if self.env.tags:
            return TAGS.replace("answer</", "answer [id]</") if self.task.meta.get("cite") else TAGS
        return f"{LINES} [id]" if self.task.meta.get("cite") else LINES

    def step(self, said: str) -> Observed:
        move = read_move(said)
        if move is None:
            self.unread += 1
            return Observed(self._framed(f"not understood. {self._how()}"))
        if move.kind == "search":
            return Observed(self._framed(self._searched(move.text)))
        if move.kind == "open":
            return Observed(self._framed(self._read(move.text)))
        self.given = move.text
        return Observed(over=True)

    def _searched(self, query: str) -> str:
        self.queries.append(query[:KEPT])
        hits = self.library.search(query, self.env.k)
        lines = []
        for hit in hits:
            piece = self.library.excerpt(hit.document, query, self.env.passage)
            title = f" {hit.document.title}:" if hit.document.title else ""
            lines.append(f"[{hit.document.id}]{title} {piece}")
            self.shown.setdefault(hit.document.id)
        return "\n".join(lines) or "no document holds any of these words"

    def _read(self, name: str) -> str:
        document, page = self.library.get(name), 1
        if document is None and (numbered := PAGE.fullmatch(name)):
            document, page = self.library.get(numbered[1]), int(numbered[2])
        if document is None:
            self.unread += 1
            return f"no document has the id {name[:60]}"
        pages = max(-(-len(document.text) // self.env.page), 1)
        if not 1 <= page <= pages:
            self.unread += 1
            return f"[{document.id}] has {pages} page{'s' if pages > 1 else ''}"
        self.shown.setdefault(document.id)
        self.opened.append(document.id)
        text = document.text[(page - 1) * self.env.page : page * self.env.page].strip()
        more = f"\n(page {page} of {pages})" if pages > 1 else ""
        return f"[{document.id}] {document.title}\n{text}{more}"

    def _framed(self, text: str) -> str:
        if not self.env.tags:
            return text
        return f"<information>{text.replace('</information>', '')}</information>"

    def gold(self) -> str:
        """The task's own queries (`gold` in its meta), then its answer, with what it rests on where that must be cited."""
        queries, meta = self.task.meta.get("gold", ()), self.task.meta
        tagged = self.env.tags
        if len(self.queries) < len(queries):
            query = queries[len(self.queries)]
            return f"<search>{query}</search>" if tagged else f"search: {query}"
        cited = "".join(f" [{one}]" for one in meta.get("relevant", ())) if meta.get("cite") else ""
        return f"<answer>{self.task.answer}{cited}</answer>" if tagged else f"= {self.task.answer}{cited}"

    def outcome(self) -> dict[str, Any]:
        told: dict[str, Any] = {"goal": 0.0 if self.task.answer else None}
        if self.given is not None:
            given = read_cited(self.given)
            told |= {"answer": given.answer, "cited": list(given.cited)}
            if self.task.answer:
                told |= judged(self.task, given, self.shown)
        relevant = {*map(str, self.task.meta.get("relevant", ()))}
        if relevant:
            told["recall"] = len(relevant & {*self.shown}) / len(relevant)
        told |= {"queries": self.queries, "ranking": [*self.shown], "opened": self.opened, "unread": self.unread}
        return told


@part
class searched(InTurns):
    """Search a `corpus` in at most `most` turns, then answer: `search: words` shows the `k` best documents, `passage`
    characters of each; `open: id` reads one, `page` characters at a time; `= answer [id]` ends. With `tags` it asks for
    `<search>words</search>` and `<answer>answer</answer>`; both forms are understood either way. Without a corpus it searches
    the documents that each task brings in its meta, `documents`.

    `info` then holds `goal` (1 for an answer that is the task's or one of its `aliases` in any case, without punctuation and
    articles), `answer`, `cited`, `queries`, `ranking` (the ids shown, in order), `recall` of the task's `relevant` documents,
    `opened`, and `unread`: moves that were not understood.

    Args:
        corpus: documents; those of the task when None.
        most: the most turns of an episode.
        k: documents that a search shows.
        passage: characters shown of each.
        page: characters that `open` shows at a time.
        tags: ask for tags in place of plain lines.
        seconds: time limit of an episode; 0 for none.

    >>> import guerdon as gd
    >>> library = gd.envs.corpus(["Keldor lies in Vastria.", "Norvex was founded in Keldor."])
    >>> def player(view, past, seed):
    ...     return "= Vastria" if past else "search: keldor"
    >>> rows = [{"question": "In which land is Keldor?", "answer": "Vastria"}] * 2
    >>> gd.evaluate(gd.models.scripted(player), data=rows, env=gd.envs.searched(library), tasks=1)["pass@1"]
    1.0
    """

    corpus: Any = None
    most: int = knob(default=6, ge=0)
    k: int = knob(default=3, ge=1)
    passage: int = knob(default=300, ge=20)
    page: int = knob(default=2000, ge=100)
    tags: bool = False
    role: str = "policy"
    seconds: float = knob(default=0.0, ge=0.0)

    def __post_init__(self) -> None:
        if self.corpus is not None and not isinstance(self.corpus, corpus):
            self.corpus = corpus(self.corpus)

    def open(self, ask: Ask, seed: int) -> SearchWorld:
        return SearchWorld(self, ask.task, ask.shown, self._library(ask.task))

    def _library(self, task: Task) -> OpenedCorpus:
        if self.corpus is not None:
            library: OpenedCorpus = self.corpus.open()
            return library
        return library_of(task)


def library_of(task: Task) -> OpenedCorpus:
    """The documents that a task brings along."""
    if "documents" not in task.meta:
        raise UserError(
            f"searched has nothing to search for {task.key}: give it a corpus, gd.envs.searched(gd.envs.corpus('docs/')), or"
            " tasks with `documents` in their meta"
        )
    rows = task.meta["documents"]
    if all(isinstance(row, list | tuple) and len(row) == 3 for row in rows):  # as generated worlds write them
        return small_library(tuple(Document(*row) for row in rows))
    return small_library(documents_of(rows))
