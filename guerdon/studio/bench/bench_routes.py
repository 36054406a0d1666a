"""What the page asks of a reward on the bench. All of it runs user code, so all requests must come from the page itself."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.responses import Response

from guerdon.core.errors import UserError
from guerdon.runs.run import Missing
from guerdon.studio.bench.bench_process import RewardName, RewardRooms
from guerdon.studio.json_answers import answer
from guerdon.studio.labels.label_queue import candidates
from guerdon.studio.labels.label_routes import SamplePlace
from guerdon.studio.labels.labelled_samples import sample_row
from guerdon.studio.library import Library
from guerdon.training.trust import check_trust, python_files

SECONDS = 25.0  # for texts: a function that hangs is stopped before, by itself
STEP_SECONDS = 300.0  # for the leaves of a stored step
ROWS = 64  # texts at once
TEXT = 20_000_000  # characters of one


class BenchedReward(BaseModel):
    """Which reward: one by name, or the run's own."""

    run: str = ""
    reward: str = Field("", max_length=1000)


class BenchRow(BaseModel):
    """A text to be scored, and the stored sample that it was made from, if it was."""

    completion: str = Field("", max_length=TEXT)
    origin: SamplePlace | None = None


class BenchTexts(BenchedReward):
    """Texts to be scored: tries at one prompt."""

    rows: list[BenchRow] = Field(max_length=ROWS)
    fields: dict[str, Any] = Field(default_factory=dict)
    step: int = Field(0, ge=0)
    weights: dict[str, float] = Field(default_factory=dict)


class BenchReplay(BenchedReward):
    """A stored step to be scored by the reward with other weights."""

    step: int = Field(ge=0)
    weights: dict[str, float] = Field(default_factory=dict)


class BenchProblem(BenchedReward):
    """A problem of a task that is named, to fill the fields with."""

    task: str = Field(min_length=1, max_length=1000)
    number: int = Field(0, ge=0)


def routes(library: Library) -> APIRouter:
    rooms = RewardRooms()

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        yield
        rooms.close()

    router = APIRouter(prefix="/api/bench", lifespan=lifespan)

    def asked(name: RewardName, do: str, given: dict[str, Any], limit: float) -> Response:
        said, changed = rooms.ask(name, do, given, limit)
        return answer({**said, "changed": changed, "mark": mark_of(name)})

    @router.post("/open")
    def opened(which: BenchedReward) -> Response:
        return asked(reward_name(library, which), "about", {}, SECONDS)

    @router.post("/mark")
    def mark(which: BenchedReward) -> Response:
        return answer({"mark": mark_of(reward_name(library, which))})

    @router.post("/score")
    def score(texts: BenchTexts) -> Response:
        rows = [
            {"completion": row.completion, "from": row.origin.model_dump() if row.origin else None}
            for row in texts.rows
        ]
        given = {"rows": rows, "fields": texts.fields, "step": texts.step, "weights": texts.weights}
        return asked(reward_name(library, texts), "score", given, SECONDS)

    @router.post("/replay")
    def replay(wish: BenchReplay) -> Response:
        name = reward_name(library, wish, with_recipe=True)
        return asked(name, "replay", {"step": wish.step, "weights": wish.weights}, STEP_SECONDS)

    @router.post("/problem")
    def problem(wish: BenchProblem) -> Response:
        return asked(reward_name(library, wish), "problem", {"task": wish.task, "number": wish.number}, SECONDS)

    _stored(router, library, rooms)
    return router


def _stored(router: APIRouter, library: Library, rooms: RewardRooms) -> None:
    """What a run offers for the bench; no user code is run for it."""

    @router.get("/sample")
    def sample(run: str, step: int, episode: str, segment: int) -> Response:
        stored = library.run(run)
        row = sample_row(stored, (step, episode, segment))
        group = episode.rpartition(".")[0]
        tries = [c.brief() for c in candidates(stored, [step]) if c.place[1].rpartition(".")[0] == group]
        return answer({**row, "prompt": row.get("asked", row["prompt"]), "tries": tries})

    @router.get("/samples")
    def samples(run: str, step: int | None = None) -> Response:
        rooms.prepare()
        stored = library.run(run)
        kept = stored.rollout_steps
        if not kept:
            raise Missing(f"{stored.folder.named} stores no rollouts: train with --rollouts-every 1")
        chosen = kept[-1] if step is None else step
        rows = sorted(candidates(stored, [chosen]), key=lambda c: c.place)
        own = stored.config["wish"]["reward"] if stored.config["plain"] else None
        listed = [each.brief() for each in rows[:400]]
        return answer({"samples": listed, "there": len(rows), "step": chosen, "steps": kept, "reward": own})


def reward_name(library: Library, which: BenchedReward, with_recipe: bool = False) -> RewardName:
    """The reward that is meant. What a run names runs only where its maker is trusted; what the user typed is the user's."""
    spec = which.reward.strip() or None
    shelved = library.shelved(which.run) if which.run else None
    files: list[str] = []
    if shelved is not None and (spec is None or with_recipe):
        config = shelved.run.config
        try:
            check_trust(shelved.name, config, library.trust)
        except UserError as error:
            why = str(error).partition(": look at them")[0]
            raise UserError(f"{why}: read them, then start the studio with `guerdon view --trust`") from error
        files = list(python_files(config).values()) if spec is None else []
    if spec is None and shelved is None:
        raise UserError("which reward? give FILE.py:NAME, or one on the shelf")
    if spec is not None and ".py" in spec:
        files = [spec.rpartition(":")[0]]
    return RewardName(spec, str(shelved.path) if shelved else None, tuple(files))


def mark_of(name: RewardName) -> str:
    """What changes when a file of the reward does, in a word."""
    return hashlib.sha256(repr(name.marks()).encode()).hexdigest()[:12]
