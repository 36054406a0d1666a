"""Which recipes train on which data of a user's own with which model: what recipes need against what such data and models have.

It reads recipes as text, needs no torch and trains nothing; `tests/recipes/test_usable.py` tries every cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from guerdon.core.needs import Needs, Rows
from guerdon.training.catalog import Listing, listings


@dataclass(frozen=True)
class OwnData:
    """A form of a user's own data: a title for tables, what it is, how it is given, what it has, and what it needs of a model.
    `rows`: what its rows are, if it is a file of one kind of rows alone."""

    title: str
    about: str
    given: str
    has: frozenset[str]
    needs: Needs = field(default_factory=Needs)
    rows: Rows | None = None


OWN_DATA = (
    OwnData(
        "answers",
        "problems with answers: columns question, answer",
        "--data FILE.csv",
        frozenset({"answers", "finite", "one_turn"}),
        rows="problems",
    ),
    OwnData(
        "pairs",
        "preferences: columns prompt, chosen, rejected",
        "--data FILE.jsonl",
        frozenset({"preferences", "labels", "finite"}),
        rows="pairs",
    ),
    OwnData(
        "steps",
        "solutions in labelled steps: columns prompt, completions, labels",
        "--data FILE.jsonl",
        frozenset({"step_labels", "finite"}),
        rows="steps",
    ),
    OwnData(
        "programs",
        "programs with tests: columns text, code, test_list, and one of kinds",
        "--data FILE.jsonl --answer code --solution code --kind COL --check python",
        frozenset({"answers", "solutions", "tests", "kinds", "domains", "finite", "one_turn"}),
        rows="problems",
    ),
    OwnData(
        "tools",
        "problems for several tools of your own",
        "--task FILE.py:NAME",
        frozenset({"answers", "solutions", "finite"}),
        Needs(tools=True),
    ),
    OwnData(
        "family",
        "a family of your own: a generator with a checker of steps",
        "--task FILE.py:NAME:LEVEL",
        frozenset(
            {
                "answers",
                "solutions",
                "errors",
                "step_checker",
                "preferences",
                "labels",
                "step_labels",
                "endless",
                "one_turn",
            }
        ),
    ),
)
FORMS = tuple(each.title for each in OWN_DATA)
OWN_MODELS: Mapping[str, frozenset[str]] = {  # by their words in tables
    "sprig": frozenset({"text", "decoder"}),
    "chat": frozenset({"text", "tools"}),
}
YES = "yes"


def missing(recipe: Listing, data: OwnData, model: str) -> tuple[str, ...]:
    """What a recipe needs and would not have, by the names of its needs."""
    data_has = {*data.has, *OWN_MODELS[model], "sandbox"}
    needs = recipe.needs.over(data.needs)
    return tuple(name for of in ("data", "model", "machine") for name in needs.missing(of, data_has))


def cell(recipe: Listing, data: OwnData) -> str:
    """With which models a recipe trains on such data: `yes` with both; one of them; `set` and knobs, with which it would; or
    nothing."""
    if data.rows is not None and data.rows != recipe.needs.rows and not (data.rows == "pairs" and recipe.needs.labels):
        return ""
    lacks = {model: missing(recipe, data, model) for model in OWN_MODELS}
    able = [model for model, names in lacks.items() if not names]
    if able:
        return YES if len(able) == len(OWN_MODELS) else able[0]
    fewest = min(lacks.values(), key=len)
    ways = [recipe.needs.instead(name) for name in fewest]
    if all(ways):
        return "set " + " ".join(" ".join(way[0]) for way in ways)
    return ""


def usable(every: Mapping[str, Listing] | None = None) -> dict[str, dict[str, str]]:
    """By recipe (None: of the package), what stands in its row: a cell for each form of data, or its fixed world.

    >>> table = usable()
    >>> table["grpo"]["answers"], table["grpo"]["pairs"], table["dpo"]["pairs"], table["grpo"]["tools"], table["rex"]["answers"]
    ('yes', '', 'yes', 'chat', '')
    """
    order = sorted(
        (listings() if every is None else every).values(), key=lambda r: (r.family != "house", r.family, r.name)
    )
    return {
        each.name: {data.title: cell(each, data) if "task" in each.takes else "" for data in OWN_DATA}
        | {"needs": str(each.needs)}
        for each in order
    }
