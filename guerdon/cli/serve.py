"""`guerdon serve`: a reward behind HTTP, for trainers in other processes and other languages."""

from __future__ import annotations

import json
import os
import shlex
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from guerdon.cli.options import Json
from guerdon.cli.output import Output
from guerdon.cli.tokens import TOKEN, about_token, own_token

Headers = Annotated[float, typer.Option("--headers", metavar="SECONDS", help="Time limit for a request's headers.")]
Grace = Annotated[
    float, typer.Option("--grace", metavar="SECONDS", min=0, help="Time to finish running requests when stopped.")
]
Missing = Annotated[
    float | None,
    typer.Option(
        "--missing", metavar="NUMBER", help="OpenRLHF's value for a sample without a score.  [default: an error]"
    ),
]
Tokenizer = Annotated[
    str | None,
    typer.Option(
        "--tokenizer", metavar="MODEL", help="Model or folder whose tokenizer counts tokens of samples without ids."
    ),
]


def serve(
    reward: Annotated[
        str,
        typer.Argument(metavar="REWARD", help="FILE.py:NAME, a built-in reward (exact), or a reward model's run."),
    ],
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="N", min=0, max=65535, help="Port; 0: any free one.")] = 8000,
    no_token: Annotated[bool, typer.Option("--no-token", help="Require no token; on a loopback address only.")] = False,
    max_body: Annotated[float, typer.Option("--max-body", metavar="MIB", help="Maximum size of a request.")] = 16.0,
    max_samples: Annotated[
        int, typer.Option("--max-samples", metavar="N", min=1, help="Maximum samples per request.")
    ] = 1024,
    at_once: Annotated[
        int, typer.Option("--at-once", metavar="N", min=1, help="Requests scored at the same time.")
    ] = 16,
    queue: Annotated[
        int, typer.Option("--queue", metavar="N", min=0, help="Requests that may wait; further ones get a 429.")
    ] = 128,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="Time limit for a request, waiting included.")
    ] = 60.0,
    connections: Annotated[
        int,
        typer.Option(
            "--connections", metavar="N", min=1, help="Open connections; a new one closes the oldest idle one."
        ),
    ] = 1024,
    headers: Headers = 10.0,
    grace: Grace = 10.0,
    missing: Missing = None,
    tokenizer: Tokenizer = None,
    as_json: Json = False,
) -> int:
    """Serve a reward over HTTP.

    POST /score takes samples and returns a value for each, or the reason why there is none: not applicable, failed,
    timed out. POST /get_reward is OpenRLHF's remote reward. GET /metrics is for Prometheus, GET /docs is the manual.

    Clients need a token: the environment variable GUERDON_TOKEN, or one that is generated and printed at the start. Ctrl-C
    finishes running requests; a second one stops at once.
    """
    from guerdon.bridges.serve.runner import serve as run
    from guerdon.bridges.serve.serve_limits import ServeLimits
    from guerdon.rewards.asking.by_name import find_reward
    from guerdon.rewards.asking.token_ids import ids_by

    output, served = Output(as_json), find_reward(reward)
    made_up = not no_token and not os.environ.get(TOKEN)
    token = None if no_token else own_token()
    ids = None if tokenizer is None else ids_by(tokenizer)
    limits = ServeLimits(int(max_body * (1 << 20)), max_samples, at_once, queue, timeout, connections, headers)

    def started(url: str, formula: Any) -> None:
        output.finish({"url": url, "reward": str(formula), "token": token if made_up else None})
        if not as_json:
            _tell(output, url, formula, token, made_up, ids)

    how: dict[str, Any] = {"limits": limits, "grace": grace, "missing": missing, "tokenizer": ids}
    run(served, host=host, port=port, token=token, started=started, **how)
    return 0


def _tell(output: Output, url: str, formula: Any, token: str | None, made_up: bool, ids: Any) -> None:
    from guerdon.bridges.serve.scoring_queue import example_of
    from guerdon.network.listening import is_loopback

    shown = token if made_up or token is None else f"${TOKEN}"
    output.pairs({
        "reward": str(formula),
        "url": f"{url}  (try {url}/docs)",
        "token": about_token(token, made_up),
        "ask": _curl(url, shown, example_of(formula, ids)),
        "stop": f"Ctrl-C, or kill {os.getpid()}",
    })  # fmt: skip
    if not is_loopback(str(urlsplit(url).hostname)):
        output.say(
            "warning: other machines can reach this, and the token is sent unencrypted: put a TLS proxy in front"
        )
    output.console.file.flush()


def _curl(url: str, token: str | None, sample: dict[str, Any]) -> str:
    key = "" if token is None else f'-H "Authorization: Bearer {token}" '
    body = shlex.quote(json.dumps({"samples": [sample]}))
    return f"curl -s {key}-H 'Content-Type: application/json' -d {body} {url}/score"
