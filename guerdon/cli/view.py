"""`guerdon view`: the studio, a local page that shows runs."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Annotated

import typer

from guerdon.cli.options import Json, Trust
from guerdon.cli.output import Output
from guerdon.cli.tokens import TOKEN, about_token, own_token
from guerdon.core.errors import UserError

PORT, TRIES = 7380, 20  # default port; and how many ports from there are tried


def view(
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUNS", help="Run folders, or folders that contain runs.  [default: runs]"),
    ] = None,
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(
            "--port", metavar="N", min=0, max=65535, help=f"Port; 0: any free one.  [default: {PORT}, or the next free]"
        ),
    ] = None,
    no_token: Annotated[bool, typer.Option("--no-token", help="Require no token; on a loopback address only.")] = False,
    browse: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    trust: Trust = False,
    as_json: Json = False,
) -> int:
    """Show runs on a local page: curves, rollouts, rewards, labels, audits.

    The page reads run folders, finished or running, and audits among them or in `audits` beside `runs`; it updates live. It
    writes only your labels, to the run's folder `labels`.

    Access needs the token in the printed address: the environment variable GUERDON_TOKEN, or one generated for this start.
    Ctrl-C stops it.
    """
    from guerdon.network.listening import is_loopback, url_of
    from guerdon.studio.library import Library
    from guerdon.studio.studio_app import make_app
    from guerdon.studio.studio_server import serve

    places = _places(runs)
    is_local = is_loopback(host, port or 0)
    if no_token and not is_local:
        raise UserError(f"{host} is reachable from other machines: without a token use 127.0.0.1")
    output, made_up = Output(as_json), not no_token and not os.environ.get(TOKEN)
    token = None if no_token else own_token()
    library = Library(places, trust)
    with _bound(host, port) as bound:
        url = url_of(bound)
        address = f"{url}/?token={token}" if made_up else url
        count = len(library.runs())
        output.finish({"url": url, "token": token if made_up else None, "runs": count})
        if not as_json:
            output.pairs({
                "runs": f"{count} in {', '.join(map(str, places))}",
                "open": address,
                "token": about_token(token, made_up),
                "stop": f"Ctrl-C, or kill {os.getpid()}",
            })  # fmt: skip
            if not is_local:
                output.say(
                    "warning: other machines can reach this, and the token is sent unencrypted: put a TLS proxy in front"
                )
        output.console.file.flush()
        if browse:
            import webbrowser

            webbrowser.open(address)
        serve(make_app(library, token=token, local=is_local), bound)
    return 0


def _places(runs: list[str] | None) -> list[Path]:
    places = [Path(run) for run in runs or ["runs"]]
    for place in places:
        if not place.is_dir():
            mend = (
                "name a run folder, or a folder that contains runs"
                if runs
                else "train something first, or name another folder"
            )
            raise UserError(f"{place} is not a folder: {mend}")
    return places


def _bound(host: str, port: int | None) -> socket.socket:
    """The port that was asked for; or the first that is free, where none was."""
    from guerdon.network.listening import listening

    if port is not None:
        return listening(host, port)
    for candidate in range(PORT, PORT + TRIES):
        try:
            return listening(host, candidate)
        except UserError:
            continue
    return listening(host, 0)
