"""What the page asks about rollouts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from guerdon.core.errors import UserError
from guerdon.studio.json_answers import answer
from guerdon.studio.library import Library, ShelvedRun
from guerdon.studio.rollouts.facets import facets
from guerdon.studio.rollouts.index_shelf import IndexShelf
from guerdon.studio.rollouts.labelled_rows import label_counts, labelled, with_labels
from guerdon.studio.rollouts.matched_rows import matching
from guerdon.studio.rollouts.rollout_filters import RolloutFilter, filter_of
from guerdon.studio.rollouts.rollout_index import PLAIN, Indexed, RolloutIndex, rollout_files_in
from guerdon.studio.rollouts.saving import lines_of
from guerdon.studio.rollouts.searching import MEASURED, MOST, PAGE, RowOrder, RowPage, RowPlace, search

SAVING = 30.0  # seconds that rows to be saved may take
WAIT = 1.5  # seconds for which the first answer about a run waits for its first rows
MOST_RUNS = 500  # in the list of those that have rollouts
FILTERS = (
    "step", "text", "kind", "family", "level", "role", "end", "ask", "episode", "length", "where", "reason", "learned", "task",
)  # fmt: skip


def routes(library: Library) -> APIRouter:
    shelf = IndexShelf(library)

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        yield
        shelf.close()

    router = APIRouter(prefix="/api/rollouts", lifespan=lifespan)

    @router.get("")
    def rows(request: Request) -> Response:
        """A page of rows; with facets=1 also what all that were let through are like."""
        asked, page, with_facets = _filter(request), _page(request), request.query_params.get("facets") == "1"
        with shelf.indexes(request.query_params.getlist("run")) as indexes:
            given = labelled(indexes)
            asked = with_labels(asked, request.query_params.getlist("label"), given)
            with matching(shelf, indexes, asked, page.order.column, WAIT) as (matched, state):
                content = search(matched, page)
                if with_facets:
                    content["facets"] = {**facets(matched), "label": label_counts(matched, given)}
            told = [_about(index, each) for index, each in zip(indexes, state, strict=True)]
            return answer({**content, "runs": told})

    @router.get("/rows.jsonl")
    def saved(request: Request) -> Response:
        """What is let through as JSON lines; the header has how many of how many."""
        asked, order = _filter(request), _page(request).order
        with shelf.indexes(request.query_params.getlist("run")) as indexes:
            asked = with_labels(asked, request.query_params.getlist("label"), labelled(indexes))
            with matching(shelf, indexes, asked, order.column, WAIT, SAVING) as (matched, _):
                lines, many = lines_of(matched, order)
                ((total,),) = matched.ask("SELECT count(*) FROM matched", [])
        headers = {
            "content-disposition": 'attachment; filename="rollouts.jsonl"',
            "x-guerdon-rows": f"{many} of {total}",
        }
        return Response(lines, 200, headers, "application/x-ndjson")

    @router.get("/steps")
    def steps(request: Request) -> Response:
        """Those of which any of the runs has rollouts."""
        with shelf.indexes(request.query_params.getlist("run")) as indexes:
            for index in indexes:
                index.look()
            return answer({"steps": sorted({step for index in indexes for step in index.steps})})

    @router.get("/runs")
    def runs(request: Request) -> Response:
        """Runs that have rollouts, and how many files of them; and which of them was written last."""
        word = request.query_params.get("search", "").lower()
        named = [each for each in library.runs() if word in each.name.lower()]
        kept = {each: len(rollout_files_in(each.path / "rollouts")) for each in named}
        fit = [each for each, files in kept.items() if files]
        there = [{"id": each.id, "name": each.name, "files": kept[each]} for each in fit]
        last = max(fit, key=_written, default=None)
        return answer({"runs": there[:MOST_RUNS], "of": len(there), "last": None if last is None else last.id})

    return router


def _written(run: ShelvedRun) -> float:
    """When something happened in it last."""
    try:
        return (run.path / "events.jsonl").stat().st_mtime
    except OSError:
        return 0.0


def _filter(request: Request) -> RolloutFilter:
    return filter_of({name: request.query_params.getlist(name) for name in FILTERS})


def _page(request: Request) -> RowPage:
    asked = request.query_params
    after, before = (RowPlace.of(asked[name]) if asked.get(name) else None for name in ("after", "before"))
    columns = tuple(dict.fromkeys([*MEASURED, *asked.getlist("column")]))[:40]
    size = asked.get("size", str(PAGE))
    if not size.isascii() or not size.isdigit() or not 0 < int(size) <= MOST:
        raise UserError(f"size={size[:20]}: 1 to {MOST} rows can be asked for at once")
    return RowPage(RowOrder.of(asked.get("sort", "")), after, before, int(size), columns)


def _about(index: RolloutIndex, state: Indexed) -> dict[str, Any]:
    """A run, how far it is read, and what its columns are."""
    return {
        "id": index.shelved.id,
        "name": index.shelved.name,
        "columns": list(index.columns),
        "plain": [name for name in PLAIN if name not in ("prompt", "completion")],
        "indexed": {"files": state.files, "of": state.of, "rows": state.rows, "done": state.done},
        "faults": state.faults,
        "damaged": state.damaged,
    }
