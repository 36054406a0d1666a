"""A page of the studio as one file: its scripts, its styles and the data that it shows, which needs no server.

What a run says is untrusted. It stands in the file as JSON in which no markup can begin, and becomes text nodes
(`page/dom.js`); the policy allows the page's own script and style by their hashes and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable
from typing import Any

from guerdon.core.json_values import json_value
from guerdon.core.shown_text import visible
from guerdon.display.report.bundle import bundled_script, bundled_style

BEGINNINGS = re.compile("[<>&\u2028\u2029]")  # of markup, of entities, of lines as JavaScript has them
DOCUMENT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body class="file">
<header class="bar"><b class="brand">guerdon</b><span class="room"></span>
<button type="button" id="theme" class="plain"></button></header>
<p id="fault" class="fault" role="alert" hidden></p>
<main id="view" class="view"></main>
<div id="told" class="visually-hidden" role="status" aria-live="polite"></div>
<noscript><div class="view">
{lines}
<p>Curves, rollouts and settings are drawn by the script of this file.</p>
</div></noscript>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def document(title: str, entry: str, data: Any, lines: Iterable[str]) -> str:
    """The file. `entry` is the script that draws it, `lines` are what it says where no script runs, the heading first."""
    script, style = bundled_script(entry), bundled_style()
    heading, *rest = map(_escaped, lines)
    return DOCUMENT.format(
        policy=f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'",
        title=_escaped(title),
        style=style,
        lines="\n".join([f"<h1>{heading}</h1>", *(f"<p>{line}</p>" for line in rest)]),
        data=as_json(data),
        script=script,
    )


def as_json(value: Any) -> str:
    r"""JSON that may stand between tags.

    >>> as_json({"said": "</script>&"})
    '{"said":"\\u003c/script\\u003e\\u0026"}'
    """
    text = json.dumps(json_value(value), allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return BEGINNINGS.sub(lambda each: f"\\u{ord(each[0]):04x}", text)


def _escaped(text: str) -> str:
    return html.escape(visible(text))


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
