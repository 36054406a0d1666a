"""The token that a server of ours asks for: the user's own, or one that is made up for this start."""

from __future__ import annotations

import os
import secrets

from guerdon.core.errors import UserError

TOKEN = "GUERDON_TOKEN"  # the environment variable that may hold it


def own_token() -> str:
    token = os.environ.get(TOKEN) or secrets.token_urlsafe(24)
    if not token.isascii() or not token.isprintable() or " " in token:
        raise UserError(f"{TOKEN} must be printable ASCII without spaces: it is sent in a header")
    return token


def about_token(token: str | None, made_up: bool) -> str:
    if token is None:
        return "none: every program on this machine has access"
    return f"{token}  (generated for this start; set {TOKEN} to choose one)" if made_up else f"the one in {TOKEN}"
