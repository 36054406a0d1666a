"""Addresses of servers and the keys that are sent to them.

An address may hold no secret: it stands in run.json, caches and messages.
A key is read from the environment when it is needed, is kept nowhere, and is removed from what a server sends back.
"""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from guerdon.core.errors import UserError

LINE = 200  # characters of a server's own description


def check_address(where: str, url: str, example: str, key_knob: str) -> None:
    """Refuse what is not an http address, or contains a password or a key; `where` and `key_knob` are the knobs to fix."""
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        str(parts.hostname).encode("idna")
    except ValueError:  # brackets that do not close, a port or a name that is none
        raise UserError(f"{where} is not an address: it should look like {example}") from None
    if not is_address or not (url.isascii() and url.isprintable() and " " not in url):
        raise UserError(f"{where} must be an address such as {example}, not {parts.path!r}")
    if parts.username or parts.password or parts.query:
        raise UserError(f"{where} may hold no password or key: put it into an environment variable, {key_knob}=NAME")


def key_in(variable: str) -> str:
    """The key that an environment variable holds, or nothing."""
    key = os.environ.get(variable, "").strip() if variable else ""
    if not (key.isascii() and (key.isprintable() and " " not in key)):
        raise UserError(f"the environment variable {variable} holds something that cannot be a key")
    return key


def without_key(text: str, key: str) -> str:
    """A text with the key struck out: some servers repeat it in their errors."""
    return text.replace(key, "***") if key else text


def in_one_line(text: str) -> str:
    """The start of a text, in a line."""
    line = " ".join(text.split())
    return line if len(line) <= LINE else f"{line[:LINE]}..."
