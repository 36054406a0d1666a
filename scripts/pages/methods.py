"""A page for every recipe of the package, and the evidence of those that have some."""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from guerdon.cli.knob_words import without_arguments
from guerdon.core.part import PARTS
from guerdon.core.recipe import RecipeEntry
from guerdon.evidence import proof_files
from guerdon.evidence.index import index
from guerdon.evidence.page import page
from guerdon.evidence.words import badge, others_of
from guerdon.training.catalog import find_recipe, listings, part_modules
from pages.discover import ROOT
from pages.part import part_knobs
from pages.prose import linked, markdown, table

EVIDENCE = "evidence/recipes"  # of the site
HEAD = """# Methods

Every recipe of the package. `guerdon show NAME` prints the same with its parts, `guerdon train NAME` trains it."""


def method_pages() -> dict[str, str]:
    """The pages of recipes, of their evidence, and the two indexes, by their places in the site."""
    every = proof_files.verdicts(proof_files.SHIPPED)
    stale = {name: why for name, proof in every.items() if (why := proof_files.stale(proof))}
    places = {"methods/index.md": methods_index(every)}
    for name in listings():
        places[f"methods/{name}.md"] = method_page(find_recipe(name), every.get(name), list(every.values()))
    for name, proof in every.items():
        around = f"[The recipe](../../methods/{proof['recipe']}.md) · [all evidence](all.md)\n"
        told = page(proof, stale.get(name, ""), others_of(proof, every.values()))
        places[f"{EVIDENCE}/{name}.md"] = f"{told}\n{around}"
    places[f"{EVIDENCE}/all.md"] = index(every, stale, proof_files.read_register(proof_files.SHIPPED))
    return places


def evidence_files() -> dict[str, Path]:
    """Figures beside the pages that show them, and all verdicts."""
    files = [path for path in proof_files.SHIPPED.iterdir() if path.suffix in (".svg", ".json")]
    return {f"{EVIDENCE}/{path.name}": path for path in sorted(files)}


def numbers() -> dict[str, str]:
    """Every seed's curve, beside the page that names it: each proof with its runs."""
    every = proof_files.read_all(proof_files.SHIPPED)
    return {f"{EVIDENCE}/{name}.json": json.dumps(proof) for name, proof in every.items()}


def navigation() -> list[Any]:
    families: dict[str, list[Any]] = {}
    for name, listing in sorted(listings().items()):
        families.setdefault(listing.family, []).append({name: f"methods/{name}.md"})
    order = sorted(families, key=lambda family: (family != "house", family))
    return ["methods/index.md", *({family.capitalize(): families[family]} for family in order)]


def methods_index(every: dict[str, dict[str, Any]]) -> str:
    lines = [HEAD]
    known = listings()
    for family in sorted({entry.family for entry in known.values()}, key=lambda name: (name != "house", name)):
        rows = []
        for name, entry in sorted(known.items()):
            if entry.family == family:
                words = "; ".join(badges(every[name], list(every.values()))) if name in every else ""
                link = f"[{words}](../{EVIDENCE}/{name}.md)" if words else ""
                rows.append([f"[{name}]({name}.md)", entry.about, linked(entry.paper), link])
        lines += [f"## {family.capitalize()}", table(["recipe", "what it is", "paper", "evidence"], rows)]
    return "\n\n".join(lines) + "\n"


def badges(proof: Mapping[str, Any], every: Sequence[Mapping[str, Any]]) -> list[str]:
    """The words of a recipe's claims, with all models that they were measured with."""
    return [badge(claim, others_of(proof, every)) for claim in proof["claims"]]


def method_page(entry: RecipeEntry, proof: Mapping[str, Any] | None, every: Sequence[Mapping[str, Any]] = ()) -> str:
    module = sys.modules[entry.function.__module__]
    knobs = [parameter for name, parameter in entry.parameters().items() if name in entry.knobs()]
    parts = [f"# {entry.name}", f"Family *{entry.family}*" + (f", {linked(entry.paper)}." if entry.paper else ".")]
    parts += [markdown(text) for text in (entry.about, inspect.getdoc(module)) if text]
    parts.append(
        f"Needs {entry.needs.in_full}. [Which data it trains on](../usable.md), [which method for which problem](../methods.md)."
    )
    if entry.claims:
        parts += ["## Claims", "\n".join(f"- {claim.says}" for claim in entry.claims)]
    if proof:
        words = " and ".join(f"**{each}**" for each in badges(proof, every))
        parts.append(f"{words}: [arms, costs and every seed](../{EVIDENCE}/{entry.name}.md).")
    parts += [
        "## Knobs",
        knob_table(knobs),
        "## Train it",
        f"```console\n$ guerdon train {entry.name} --model sprig\n```",
    ]
    own = own_parts(entry)
    parts += ["## Parts of its own"] * bool(own) + [own_part(cls) for cls in own]
    parts += ["## Source", *(source_of(name) for name in own_modules(entry))]
    return "\n\n".join(parts) + "\n"


def own_modules(entry: RecipeEntry) -> list[str]:
    """The modules that only this recipe wants: its own first, then those beside it where it has a folder of its own."""
    module = entry.function.__module__
    folder, _, name = module.rpartition(".")
    beside = [each for each in part_modules() if each.startswith(f"{folder}.")] if name == "recipe" else []
    return [module, *beside]


def own_parts(entry: RecipeEntry) -> list[type]:
    """The parts that are defined there."""
    own = own_modules(entry)
    for name in own:
        importlib.import_module(name)
    return [cls for cls in PARTS.values() if cls.__module__ in own]


def own_part(cls: type) -> str:
    return "\n\n".join([f"### {cls.__name__}", markdown(without_arguments(inspect.getdoc(cls) or "")), part_knobs(cls)])


def source_of(module: str) -> str:
    path = f"{module.replace('.', '/')}.py"
    return f"`{path}`\n\n```python\n{(ROOT / path).read_text().rstrip()}\n```"


def knob_table(knobs: list[inspect.Parameter]) -> str:
    if not knobs:
        return "None."
    rows = []
    for knob in knobs:
        annotation = knob.annotation if isinstance(knob.annotation, str) else getattr(knob.annotation, "__name__", "")
        given = knob.annotation is not inspect.Parameter.empty
        default = "required" if knob.default is inspect.Parameter.empty else f"`{knob.default!r}`"
        rows.append([f"`{knob.name}`", f"`{annotation}`" if given else "", default])
    return table(["knob", "type", "default"], rows)
