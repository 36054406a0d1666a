"""`guerdon export`: a run's trained model in a folder that transformers and vLLM load."""

from __future__ import annotations

from typing import Annotated

import typer

from guerdon.cli.options import Json
from guerdon.cli.output import Output


def export(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A finished run's folder.")],
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Where to write: a new or empty folder.")],
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Which model of the run.  [default: policy, or the only one]"),
    ] = None,
    adapter: Annotated[
        bool, typer.Option("--adapter", help="The LoRA adapter alone, for peft, instead of merged weights.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an export that lies in DIR.")] = False,
    as_json: Json = False,
) -> int:
    """Write a run's trained model as a folder that transformers and vLLM load.

    With it come its tokenizer, its chat template and a model card, README.md, that says what it was made of and how it did
    on held-out problems. LoRA adapters are merged into the weights unless --adapter is given. A reward model is written as
    a sequence classifier.
    """
    from guerdon.loop.exporting import export as write

    output = Output(as_json)
    written = write(run, folder, name=name, adapter=adapter, force=force)
    if not as_json:
        output.pairs({
            "model": f"{written.model} of {run}",
            "as": f"{written.architecture}, {written.parameters:,} weights in {written.dtype}",
            "folder": f"{folder}  ({len(written.files)} files, {written.size / 1e6:,.1f} MB)",
            "card": f"{folder.rstrip('/')}/README.md",
        })  # fmt: skip
        for note in written.notes:
            output.say(f"note: {note}")
    output.finish({**written._asdict(), "folder": folder, "notes": list(written.notes)})
    return 0
