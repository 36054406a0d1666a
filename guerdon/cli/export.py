"""`guerdon export`: a run's trained model in a folder that transformers and vLLM load, or its rollouts as traces."""

from __future__ import annotations

from typing import Annotated

import typer

from guerdon.cli.options import Json
from guerdon.cli.output import Output
from guerdon.core.errors import UserError


def export(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A finished run's folder.")],
    folder: Annotated[
        str | None, typer.Argument(metavar="[DIR]", help="Output folder for the model: new or empty.")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Which model of the run.  [default: policy, or the only one]"),
    ] = None,
    adapter: Annotated[
        bool, typer.Option("--adapter", help="Write only the LoRA adapter, for peft, instead of merged weights.")
    ] = False,
    traces: Annotated[
        str | None,
        typer.Option(
            "--traces", metavar="FILE", help="Write the policy's stored rollouts as conversations (JSON lines) instead."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing export in DIR.")] = False,
    as_json: Json = False,
) -> int:
    """Write a run's trained model as a folder that transformers and vLLM load.

    The folder also holds the tokenizer, the chat template and a model card, README.md, with the training setup and held-out
    results. LoRA adapters are merged into the weights unless --adapter is given. A reward model is written as
    a sequence classifier.

    --traces FILE writes the policy's training rollouts instead: one conversation per line, in OpenAI's chat format with tool
    calls.
    """
    from guerdon.results.exporting import export as write

    output = Output(as_json)
    if traces is not None:
        return _export_traces(output, run, traces, folder)
    if folder is None:
        raise UserError("no destination: give a folder for the model, or --traces FILE for its rollouts")
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


def _export_traces(output: Output, run: str, path: str, folder: str | None) -> int:
    from pathlib import Path

    from guerdon.results.run_traces import export_traces

    if folder is not None:
        raise UserError(f"--traces {path} writes no model: remove {folder}, or export the model separately")
    if Path(path).exists():
        raise UserError(f"{path} already exists: name another file")
    count = export_traces(run, path)
    if not output.as_json:
        output.pairs({"traces": f"{count:,} conversations of {run}", "file": path})
    output.finish({"run": run, "traces": count, "file": path})
    return 0
