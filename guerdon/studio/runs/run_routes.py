"""What the page asks about runs."""

from __future__ import annotations

from fastapi import APIRouter

from guerdon.studio.library import Library


def routes(library: Library) -> APIRouter:
    router = APIRouter(prefix="/api/runs")
    return router
