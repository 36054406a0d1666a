"""What the page asks about labels."""

from __future__ import annotations

from fastapi import APIRouter

from guerdon.studio.library import Library


def routes(library: Library) -> APIRouter:
    router = APIRouter(prefix="/api/labels")
    return router
