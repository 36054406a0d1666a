"""What the page asks about labels: those of a run or a sample, which to give next; and a label given or taken back."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from guerdon.core.errors import UserError
from guerdon.runs.label_files import PAIRS, TRUTH, label, pair_rows, take_back, truth_rows
from guerdon.runs.labels import FOLDER, KINDS, PAIRED, LabelBook, Place, Row, read_labels
from guerdon.studio.json_answers import answer
from guerdon.studio.labels.label_agreement import agreement
from guerdon.studio.labels.label_queue import LINE, ORDERS, candidates, in_order, looked_at, pairs, unlabelled
from guerdon.studio.labels.labelled_samples import sample_row
from guerdon.studio.library import Library, ShelvedRun

NOTE = 20_000  # characters
PAGE = 200  # labels or samples in an answer
MODEL = "sprig"  # where the run had none that speaks


class SamplePlace(BaseModel):
    """A place in a run."""

    step: int = Field(ge=0)
    episode: str = Field(max_length=100)
    segment: int = Field(ge=0)

    @property
    def place(self) -> Place:
        return self.step, self.episode, self.segment


class GivenLabel(SamplePlace):
    """A label as the page sends it."""

    run: str
    kind: str
    note: str = Field("", max_length=NOTE)
    other: SamplePlace | None = None


class LabelUndo(BaseModel):
    """A wish to take back the last label: of the run, or of one sample; of any kind, or one."""

    run: str
    sample: SamplePlace | None = None
    kind: str = ""


def routes(library: Library) -> APIRouter:
    router = APIRouter(prefix="/api/labels")

    @router.get("")
    def labels(run: str, offset: int = Query(0, ge=0)) -> Response:
        return answer(_overview(library.shelved(run), offset))

    @router.get("/runs")
    def runs() -> Response:
        """Those that have something to label."""
        return answer({"runs": [about for each in library.runs() if (about := _in_short(each)) is not None]})

    @router.get("/of")
    def of(run: str, step: int, episode: str, segment: int) -> Response:
        shelved = library.shelved(run)
        return answer(_state(read_labels(shelved.path), (step, episode, segment)))

    @router.get("/queue")
    def queue(
        run: str, order: str = "high", seed: int = 0, labelled: bool = False, limit: int = Query(PAGE, ge=1, le=PAGE)
    ) -> Response:
        shelved = library.shelved(run)
        steps, kept = looked_at(shelved.run)
        every, book = candidates(shelved.run, steps), read_labels(shelved.path)
        chosen = in_order(every if labelled else unlabelled(every, book), order, seed)
        samples = [{**each.brief(), "kind": _kind(book, each.place)} for each in chosen[:limit]]
        return answer({"samples": samples, "there": len(chosen), "texts": len(every), "steps": steps, "kept": kept})

    @router.get("/pairs")
    def two(run: str, seed: int = 0, limit: int = Query(PAGE, ge=1, le=PAGE)) -> Response:
        shelved = library.shelved(run)
        steps, kept = looked_at(shelved.run)
        there = pairs(candidates(shelved.run, steps), read_labels(shelved.path), seed)
        rows = [{"left": left.brief(), "right": right.brief()} for left, right in there[:limit]]
        return answer({"pairs": rows, "there": len(there), "steps": steps, "kept": kept})

    @router.post("")
    def give(given: GivenLabel) -> Response:
        shelved = library.shelved(given.run)
        book = label(shelved.path, label_row(shelved, given))
        return answer({**_state(book, given.place), "counts": _counts(book)})

    @router.post("/undo")
    def undo(wish: LabelUndo) -> Response:
        shelved = library.shelved(wish.run)
        place = wish.sample.place if wish.sample else None
        book, taken = take_back(shelved.path, place, wish.kind)
        state = _state(book, place) if place else {}
        return answer({**state, "taken": None if taken is None else _brief(taken), "counts": _counts(book)})

    return router


def label_row(shelved: ShelvedRun, given: GivenLabel) -> Row:
    """The line that is kept: the label, and all of the text that it is about."""
    if given.kind not in KINDS:
        raise UserError(f"a label is one of {', '.join(KINDS)}, not {given.kind[:40]!r}")
    if given.kind == "note" and not given.note.strip():
        raise UserError("a note needs text: write it, or undo with `u`")
    row = {"kind": given.kind, **sample_row(shelved.run, given.place)}
    if given.note.strip():
        row["note"] = given.note.strip()
    if given.kind in PAIRED:
        if given.other is None:
            raise UserError(f"{given.kind!r} is about two samples: name the other one")
        other = sample_row(shelved.run, given.other.place)
        if other["prompt"] != row["prompt"]:
            raise UserError("only tries at the same prompt can be compared: choose another of this group")
        row["other"] = {
            name: other[name] for name in ("step", "episode", "segment", "completion", "reward") if name in other
        }
    return row


def _in_short(shelved: ShelvedRun) -> dict[str, Any] | None:
    """A run in a list; None for one that cannot be read, or keeps nothing that it sampled."""
    try:
        kept = len(shelved.run.rollout_steps)
        labels = len(read_labels(shelved.path).labels)
    except UserError:
        return None
    about = {"id": shelved.id, "name": shelved.name, "recipe": shelved.run.name, "steps": kept, "labels": labels}
    return about if kept else None


def _overview(shelved: ShelvedRun, offset: int) -> dict[str, Any]:
    """All about a run's labels; of the labels themselves a page, the last given first."""
    book = read_labels(shelved.path)
    last = book.labels[::-1]
    there = {TRUTH: len(truth_rows(book)), PAIRS: len(pair_rows(book))}
    return {
        "name": shelved.name,
        "labels": [_brief(row) for row in last[offset : offset + PAGE]],
        "counts": _counts(book),
        "damaged": book.damaged,
        "agreement": agreement(book),
        "files": [{"path": f"{shelved.name}/{FOLDER}/{name}", "rows": rows} for name, rows in there.items()],
        "commands": _commands(shelved, there),
        "orders": ORDERS,
    }


def _commands(shelved: ShelvedRun, there: dict[str, int]) -> list[dict[str, str]]:
    """What to type, of files that have something in them."""
    truth, pairs = (shlex.quote(f"{shelved.name}/{FOLDER}/{name}") for name in (TRUTH, PAIRS))
    config = shelved.run.config
    wish = config["wish"] if config.get("plain") and isinstance(config.get("wish"), dict) else {}
    reward = shlex.quote(wish.get("reward") or "REWARD")
    model = shlex.quote((wish.get("model") if config.get("models") else None) or MODEL)
    policy = (
        shlex.quote(shelved.name) if (shelved.folder.models / "policy").is_dir() and config.get("models") else model
    )
    lines = [
        (TRUTH, "what a reward says about them", f"guerdon check {reward} --labels {truth}"),
        (PAIRS, "a reward model of your own", f"guerdon train reward_model --data {pairs} --model {model}"),
        (PAIRS, "this policy, taught to prefer the better ones", f"guerdon train dpo --data {pairs} --model {policy}"),
        (TRUTH, "this policy, taught from good and bad alone", f"guerdon train kto --data {truth} --model {policy}"),
    ]
    return [{"words": words, "command": command} for name, words, command in lines if there[name]]


def _counts(book: LabelBook) -> dict[str, int]:
    counted = Counter(row["kind"] for row in book.labels)
    return {kind: counted[kind] for kind in KINDS}


def _kind(book: LabelBook, place: Place) -> str | None:
    return book.verdicts.get(place)


def _state(book: LabelBook, place: Place) -> dict[str, Any]:
    """What a sample is called now: its verdict, its note, and what it is better or worse than."""
    mine = book.of(place)
    return {
        "kind": _kind(book, place),
        "note": next((row["note"] for row in mine if row["kind"] == "note"), ""),
        "pairs": [_brief(row) for row in mine if row["kind"] in PAIRED],
    }


def _brief(row: Row) -> dict[str, Any]:
    """A label in a list."""
    place = {name: row[name] for name in ("kind", "step", "episode", "segment")}
    other = {name: row["other"].get(name) for name in ("step", "episode", "segment")} if row.get("other") else None
    text = row.get("completion")
    return {
        **place,
        "other": other,
        "note": str(row.get("note", ""))[:LINE],
        "task": f"{row.get('family')}/{row.get('task_id')}",
        "completion": text[:LINE] if isinstance(text, str) else "",
        "reward": row.get("reward"),
        "time": row.get("time"),
    }
