"""Which method to use for what one has and for the problem that one meets: the table behind `guerdon advise`,
`guerdon list recipes --for` and docs/methods.md.

Rows are recipes. What they help with and need stands at their declarations, what was measured in the package's evidence.
Methods that were measured and are not behind come first, by the lower bound of the 95 % interval of their difference, in units
of the minimum effect; then what was not measured; then what is behind. GRPO, the baseline of most, has the difference 0.
It reads recipes as text, needs no torch and trains nothing. Leaves out: what a file really has, which `train` checks.
"""

from __future__ import annotations

import functools
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.core.problems import Problem
from guerdon.evidence import proof_files
from guerdon.evidence.words import badge, difference
from guerdon.tasks.row_columns import ANSWERS, PROMPTS
from guerdon.training.catalog import Listing, every_listing
from guerdon.training.usable import OWN_MODELS

BASELINE = "grpo"
METRICS: dict[Problem, str] = {"long-answers": "length"}  # of the claims that are about a problem
SPRIG = "sprig"


@dataclass(frozen=True)
class Owned:
    """What a user may have: in words, the needs it meets, those that another column of the file would meet, what takes the
    place of answers, the file's usual name and flags, and the columns that it is known by."""

    about: str
    has: frozenset[str] = frozenset()
    could: frozenset[str] = frozenset()
    given: frozenset[str] = frozenset()
    file: str = "my.csv"
    flags: str = ""
    known_by: tuple[frozenset[str], ...] = ()


OWNED: dict[str, Owned] = {  # by the words of --have; a file is known by the first whose columns it has
    "tests": Owned(
        "programs with tests",
        frozenset({"answers", "tests", "finite", "one_turn"}),
        frozenset({"solutions", "kinds", "domains"}),
        file="programs.jsonl",
        flags="--prompt text --answer code --check python",
        known_by=(frozenset({"test_list"}), frozenset({"test", "entry_point"})),
    ),
    "preferences": Owned(
        "pairs of a better and a worse answer",
        frozenset({"preferences", "labels", "finite"}),
        file="pairs.jsonl",
        known_by=(frozenset({"chosen", "rejected"}), frozenset({"completions", "scores"})),
    ),
    "step-labels": Owned(
        "solutions whose steps are labelled right or wrong",
        frozenset({"step_labels", "finite"}),
        file="steps.jsonl",
        known_by=(frozenset({"completions", "labels"}), frozenset({"steps", "labels"})),
    ),
    "labels": Owned(
        "single answers that are labelled good or bad",
        frozenset({"labels", "finite"}),
        file="labels.jsonl",
        known_by=(frozenset({"completion", "label"}),),
    ),
    "answers": Owned(
        "problems with answers that can be checked",
        frozenset({"answers", "finite", "one_turn"}),
        frozenset({"solutions", "kinds", "domains"}),
        known_by=tuple(frozenset({name}) for name in ANSWERS),
    ),
    "judge": Owned(
        "a judge or another reward, and prompts",
        frozenset({"finite", "one_turn"}),
        frozenset({"kinds", "domains"}),
        frozenset({"reward"}),
        file="prompts.csv",
        flags="--answer none --reward judge.py:judge",
    ),
    "nothing": Owned(
        "prompts alone",
        frozenset({"finite", "one_turn"}),
        frozenset({"kinds", "domains"}),
        frozenset({"reward"}),
        file="prompts.csv",
        flags="--answer none --reward majority",
    ),
}
KINDS = ("kind", "category", "subject", "type", "topic", "domain")
COLUMNS = {  # needs that a column meets: its flag, and names that it goes by
    "solutions": ("--solution", ("solution", "rationale", "explanation", "code")),
    "kinds": ("--kind", KINDS),
    "domains": ("--kind", KINDS),
}


@dataclass(frozen=True)
class Measured:
    """What came of a recipe's claim: the word with the model, the difference, the baseline, what was not kept, the lower bound
    in units of the minimum effect, what it cost, and the claim itself."""

    word: str
    numbers: str
    baseline: str
    lost: str
    low: float
    cost: str
    claim: dict[str, Any]


@dataclass(frozen=True)
class Method:
    """A method as advice: its recipe, what was measured (None: nothing, on such data), and the command."""

    recipe: Listing
    measured: Measured | None
    command: str
    replaced: tuple[str, ...] = ()  # needs that something else takes the place of

    @property
    def is_baseline(self) -> bool:
        return self.recipe.name == BASELINE and not self.replaced

    @property
    def result(self) -> str:
        if self.measured is not None:
            lost = f", but {self.measured.lost} falls" if self.measured.lost else ""
            return f"{self.measured.word}: {self.measured.numbers} against {self.measured.baseline}{lost}"
        return "the baseline that most are measured against" if self.is_baseline else "not measured"


def for_problem(problem: Problem) -> list[Method]:
    """The methods for a problem on whatever data, ordered by what was measured.

    >>> [each.recipe.name for each in for_problem("hacking")][:2]
    ['g-ra', 'master-rm']
    """
    return sorted((_usual(each, problem) for each in every_listing().values() if problem in each.helps), key=_order)


def advise(
    have: Sequence[str], problem: Problem | None = None, model: str = "", data: str = "", columns: Collection[str] = ()
) -> list[Method]:
    """The methods that train on what one has, best first: those for the problem, and GRPO. Without a problem, or where no
    method is for it on such data, all of them, those first that need no replacement and are for no problem in particular.
    `columns` are those of the file `data`, where they are known.

    >>> [each.recipe.name for each in advise(["preferences"])], [each.recipe.name for each in advise(["labels"])]
    (['dpo', 'kto', 'reward_model', 'genarm', 'pedagogical-alignment', 't-reg', 'fspo', 'power-dl'], ['kto'])
    >>> advise(["labels"], model="sprig", data="thumbs.csv")[0].command
    'guerdon train kto --data thumbs.csv --model sprig'
    """
    tried = [_method(each, have, problem, model, data, columns) for each in every_listing().values()]
    there = [each for each in tried if each is not None]
    special = [each for each in there if problem in each.recipe.helps]
    if special:
        return sorted([*special, *(each for each in there if each.recipe.name == BASELINE)], key=_order)
    is_rewarded = "judge" in have  # whose reward is what they have, not a replacement

    def general(method: Method) -> tuple[Any, ...]:
        replaced = 0 if is_rewarded else len(method.replaced)
        return (replaced, bool(method.recipe.helps), method.recipe.family != "house", *_order(method))

    return sorted(there, key=general)


def have_of(columns: Collection[str]) -> str:
    """What a file has, in the words of --have, by its columns.

    >>> have_of(["Question", "Answer"]), have_of(["prompt", "chosen", "rejected"]), have_of(["prompt"])
    ('answers', 'preferences', 'nothing')
    """
    there = {name.lower() for name in columns}
    return next((word for word, each in OWNED.items() if any(names <= there for names in each.known_by)), "nothing")


def measured(recipe: str, problem: Problem | None = None, model: str = "") -> Measured | None:
    """What was measured of a recipe: with this model where it was; of several claims the one that is behind, or else the first.
    Claims that are about the problem by their metric go before others."""
    proofs = [each for each in _proofs() if each["recipe"] == recipe and not each.get("screened")]
    claims = [claim for proof in proofs for claim in proof["claims"]]
    if not claims:
        return None
    about = [
        each for each in claims if each["claim"]["metric"] == (METRICS.get(problem) if problem else None)
    ] or claims
    with_model = [each for each in about if model and each["claim"]["model"] == model] or about
    claim = next((each for each in with_model if each["word"] == "behind"), with_model[0])
    gap, asked = claim["against"]["baseline"], claim["claim"]
    numbers = f"{asked['metric']} {difference(gap)}"
    lost = asked["keeps"] if claim["word"] == "behind" and gap["low"] > 0 else ""
    return Measured(badge(claim), numbers, asked["baseline"], lost, gap["low"] / gap["effect"], _cost(claim), claim)


def is_stale(method: Method) -> bool:
    """Whether code that was measured has changed since."""
    known = method.measured
    return known is not None and any(
        bool(proof_files.stale(proof)) for proof in _proofs() if any(each is known.claim for each in proof["claims"])
    )


@functools.cache
def _proofs() -> list[dict[str, Any]]:
    return list(proof_files.verdicts(proof_files.SHIPPED).values())


def _cost(claim: dict[str, Any]) -> str:
    """Tokens and time of the method against its baseline's."""
    method, baseline = (claim["arms"][arm]["spent"] for arm in ("method", "baseline"))
    units = {"tokens": "tokens", "read": "tokens processed", "seconds": "time"}
    times = {words: method[unit] / baseline[unit] for unit, words in units.items() if baseline.get(unit)}
    return ", ".join(f"{value:.1f} x {words}" for words, value in times.items())


def _order(method: Method) -> tuple[Any, ...]:
    known = method.measured
    if known is not None:
        group, low = (2 if known.word.startswith("behind") else 0), known.low
    else:
        group, low = (0 if method.is_baseline else 1), 0.0
    house = (method.recipe.family != "house", method.recipe.name != BASELINE)
    return (group, -low, len(method.replaced), *house, method.recipe.name)


def _usual(recipe: Listing, problem: Problem) -> Method:
    """A method on the data that it is usually for."""
    tried = [_method(recipe, [word], problem) for word in ("answers", *OWNED)]
    there = [each for each in tried if each is not None]
    none = Method(
        recipe, measured(recipe.name, problem), f"guerdon train {recipe.name} --task NAME:LEVEL --model {SPRIG}"
    )
    return min(there, key=lambda each: len(each.replaced), default=none)


def _method(
    recipe: Listing,
    have: Sequence[str],
    problem: Problem | None,
    model: str = "",
    data: str = "",
    columns: Collection[str] = (),
) -> Method | None:
    """None if it does not train on what one has."""
    fit = _fit(recipe, have, model, columns)
    if fit is None:
        return None
    known = measured(recipe.name, problem, model)
    if fit.replaced and known is not None and not known.word.startswith("behind"):
        known = None  # something else was measured
    return Method(recipe, known, _command(recipe, have, model, data, columns, fit), fit.replaced)


@dataclass(frozen=True)
class _Fit:
    """How a recipe would run: needs that something else takes the place of, and the options that supply it."""

    replaced: tuple[str, ...]
    options: tuple[str, ...]


def _fit(recipe: Listing, have: Sequence[str], model: str, columns: Collection[str]) -> _Fit | None:
    """None if it does not run on what one has with this model; any model will do if there is none."""
    if "task" not in recipe.takes or recipe.needs.world:
        return None
    owned = [OWNED[word] for word in have]
    has = {name for each in owned for name in each.has}
    given = {name for each in owned for name in each.given} & {*recipe.takes}
    could = {name for each in owned for name in each.could if not columns or _column(name, columns)}
    if recipe.needs.rows != "problems" and not {*recipe.needs.names} & has:
        return None
    if recipe.needs.rows == "problems" and not any("one_turn" in each.has for each in owned):
        return None
    of_model = OWN_MODELS["sprig" if not model or _is_sprig(model) else "chat"]
    everything = {*has, *could, *of_model, "sandbox"}
    options, replaced = [], []
    for name in (name for of in ("data", "model") for name in recipe.needs.missing(of, everything)):
        ways = recipe.needs.instead(name)
        way = next((way for way in ways if {*way} <= given), None) or next((w for w in ways if "reward" not in w), None)
        if way is None:
            return None
        options += [f"--set {knob}=..." for knob in way if knob != "reward"]
        replaced += [name] if name != "second" else []
    supplied = [name for name in recipe.needs.names if name in could - has]
    options += [f"{COLUMNS[name][0]} {_column(name, columns) or 'COL'}" for name in supplied]
    return _Fit(tuple(replaced), tuple(dict.fromkeys(options)))


def _is_sprig(model: str) -> bool:
    return model.startswith(SPRIG)


def _column(need: str, columns: Collection[str]) -> str:
    return next((name for name in columns if name.lower() in COLUMNS[need][1]), "")


def _command(recipe: Listing, have: Sequence[str], model: str, data: str, columns: Collection[str], fit: _Fit) -> str:
    owned = max((OWNED[word] for word in have), key=lambda each: len({*recipe.needs.names} & each.has))
    flags = owned.flags
    if "reward" not in recipe.takes:
        flags = flags.partition(" --reward")[0]
    if columns:
        there = {name.lower() for name in columns}
        flags = flags if "code" in there else flags.replace("--answer code ", "")
        flags = flags if "text" in there else flags.replace("--prompt text ", "")
        if "--prompt" not in flags and not {*PROMPTS, "chosen"} & there:
            flags = f"--prompt COL {flags}".strip()
    words = ["guerdon train", recipe.name, f"--data {shlex.quote(data or owned.file)}", flags, *fit.options]
    return " ".join([*filter(None, words), f"--model {shlex.quote(model or SPRIG)}"])
