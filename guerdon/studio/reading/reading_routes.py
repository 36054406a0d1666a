"""What the page asks about reading."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from fastapi import APIRouter
from starlette.responses import Response

from guerdon.core.errors import UserError
from guerdon.display.reading import ask_groups as groups
from guerdon.display.reading.episode_view import Reader, python_line
from guerdon.display.reading.opened_steps import StepFiles, believed
from guerdon.display.reading.token_pieces import Tokenizers
from guerdon.models.shipped_models import SHIPPED
from guerdon.studio.json_answers import answer
from guerdon.studio.library import Library
from guerdon.studio.reading.whereabouts import Whereabouts
from guerdon.studio.reading.word_differences import difference


def routes(library: Library) -> APIRouter:
    router = APIRouter(prefix="/api/reading")
    files, tokenizers, whereabouts = StepFiles(), Tokenizers(SHIPPED), Whereabouts()

    def read(run: str, step: int, tell: Callable[[Reader], dict[str, Any]]) -> dict[str, Any]:
        there = library.run(run)
        reader = Reader(there, files.get(there, step), tokenizers)
        with believed(there, step):
            return {"run": run, "run_name": library.shelved(run).name, **tell(reader)}

    @router.get("/rollout")
    def rollout(run: str, step: int, episode: str) -> Response:
        told = read(run, step, lambda reader: reader.episode(episode))
        return answer({**told, "python": python_line(told["run_name"], step, episode)})

    @router.get("/tokens")
    def tokens(run: str, step: int, episode: str, segment: int, start: int = 0) -> Response:
        return answer(read(run, step, lambda reader: reader.more_tokens(episode, segment, max(0, start))))

    @router.get("/text")
    def text(
        run: str, step: int, episode: str, segment: int, of: Literal["text", "view", "prompt"] = "text", start: int = 0
    ) -> Response:
        return answer(read(run, step, lambda reader: reader.more_text(episode, segment, of, max(0, start))))

    @router.get("/group")
    def group(run: str, step: int, ask: str, brief: bool = False) -> Response:
        """`brief`: numbers alone, for a strip beside one of the tries."""
        told = read(run, step, lambda reader: groups.group(reader.file, ask))
        return answer(groups.numbers_alone(told) if brief else told)

    @router.get("/tries")
    def tries(run: str, step: int, task: str) -> Response:
        return answer(read(run, step, lambda reader: groups.tries_at(reader.file, task)))

    @router.get("/where")
    def where(run: str, task: str) -> Response:
        return answer(whereabouts.of(library.run(run), task))

    @router.get("/runs")
    def runs() -> Response:
        return answer({"runs": [{"id": each.id, "name": each.name} for each in library.runs()]})

    @router.get("/difference")
    def differ(left: str, right: str) -> Response:
        told = difference(_text(library, files, left), _text(library, files, right))
        stretches = [[stretch.kind, stretch.text] for stretch in told.stretches]
        return answer({"stretches": stretches, "is_rough": told.is_rough, "is_cut": told.is_cut})

    return router


def _text(library: Library, files: StepFiles, which: str) -> str:
    """The text of a segment, by "RUN:STEP:EPISODE:SEGMENT"."""
    try:
        run, step, episode, segment = which.split(":")
        at = (int(step), int(segment))
    except ValueError as error:
        raise UserError(f"a rollout is named RUN:STEP:EPISODE:SEGMENT, not {which[:80]!r}") from error
    file = files.get(library.run(run), at[0])
    rows = file.of(episode)
    if at[1] not in range(len(rows)):
        raise UserError(f"rollout {episode} has no segment {at[1]}")
    said: str = file.rows(range(rows.start + at[1], rows.start + at[1] + 1), "text")[0]["text"] or ""
    return said
