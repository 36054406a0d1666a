"""A Recipe is a method written as a composition of parts; a Study is one written as plain Python over several runs.

`@recipe` names a function that returns either. Its parameters `task`, `model` and `reward` are filled from what the user
chose; all its other parameters are the recipe's knobs. One made `on` another recipe is handed that recipe as `base`, and
changes what it does differently; it has the other's knobs too.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import warnings
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from guerdon.core.budget import Budget, Unit
from guerdon.core.errors import UserError, unknown
from guerdon.core.knob_values import check_value, parse, type_hints
from guerdon.core.lazy import in_notebook
from guerdon.core.learn import Learn, refuse_guided, row_groups
from guerdon.core.model import Model, check_guides, check_reader, is_read, level_of
from guerdon.core.needs import ROWS, Needs, Rows
from guerdon.core.part import (
    check_knobs,
    describe,
    find_part,
    fingerprint,
    is_part,
    knob,
    knobs,
    live,
    part,
    set_knob,
    set_known,
    walk,
)
from guerdon.core.problems import PROBLEMS, Problem
from guerdon.core.stages import Stages, put_stages
from guerdon.core.task import Sampling
from guerdon.core.wordings import ROLES, set_wording

SLOTS = ("task", "model", "reward")
BASE = "base"  # the parameter by which a recipe made on another is handed what that one made
ClaimKind = Literal["better", "at least as good", "equal", "cheaper", "bound", "slope"]
EXAM = 2000  # problems of a whole exam of a claim
RUN = ("ahead",)  # knobs of every recipe, whichever function builds it


@part
class Recipe:
    """The parts of a training run. `seats` says which model plays which role; a step draws `prompts` asks; `exams`
    measure progress on held-out problems and cost the run nothing. `ahead` plays the next step's episodes while this step's are
    learned from, with the weights from before this step: one update off-policy. A `budget` ends the run before its last step
    once it is spent.

    Args:
        models: models by name.
        curriculum: what draws the asks of a step.
        env: environment that plays them.
        seats: model of each role.
        sampling: how models sample.
        exams: evaluations on held-out problems.
        prompts: asks in a step.
        steps: length of the run.
        ahead: play the next step's episodes during the update, one update off-policy.
        budget: ends the run before its last step once it is spent.

    >>> import guerdon as gd
    >>> task = gd.tasks.load("parity")
    >>> learn = gd.Learn("policy", gd.losses.clipped(), opt=gd.adam(lr=0.3))
    >>> stages = [gd.rewards.verified(task), gd.credit.centre("correct"), learn]
    >>> models = {"policy": gd.models.tabular("01", length=1)}
    >>> reinforce = gd.Recipe(models, gd.curricula.uniform(task), gd.envs.single_turn(), stages)
    >>> [type(stage).__name__ for stage in reinforce.stages]
    ['verified', 'centre', 'Learn']
    """

    models: dict[str, Model]
    curriculum: Any
    env: Any
    stages: Any  # a list, which becomes `Stages`
    seats: dict[str, str] = knob(factory=lambda: {"policy": "policy"})
    sampling: Sampling = knob(factory=Sampling)
    exams: list[Any] = knob(factory=list)
    prompts: int = knob(default=16, ge=1)
    steps: int = knob(default=100, ge=0)
    ahead: bool = False
    budget: Budget | None = None
    called: Any = live()  # where its entry was called with objects: the task, and the environment that it then had

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "stages" and not isinstance(value, list | tuple):
            raise UserError(f"Recipe.stages must be a list of stages, not {value!r}")
        set_known(self, name, Stages(value) if name == "stages" else value)

    def but(
        self,
        *,
        before: Mapping[str, Any] | None = None,
        after: Mapping[str, Any] | None = None,
        replace: Mapping[str, Any] | None = None,
        **changes: Any,
    ) -> Recipe:
        """A copy with some things changed: a field (`prompts=8`), a part by its name (`centre=centre(std=False)`), or
        one knob of a part (`**{"centre.std": False}`). Stages go by their names too, one or a list of them:
        `before={"learn": stage}`, `after={"centre": [a, b]}`, `replace={"centre": other}`; replaced by `[]`, one is gone.

        What is new and shares parts with this recipe (its scores, its curriculum) shares them with the copy. Weights are not
        copied.
        """
        given: Any = [self, [before or {}, after or {}, replace or {}], changes]
        weights = [model.net for _, model in walk(given) if isinstance(model, Model) and model.net is not None]
        new: Recipe
        new, places, changes = copy.deepcopy(given, {id(net): net for net in weights})
        put_stages(new, *places)
        for name, value in changes.items():
            if name in knobs(new):
                setattr(new, name, value)
            elif "." in name:
                _set_dotted(new, name, value)
            else:
                _replace(new, find_part(new, name, knobs(new)), value)
        check_knobs(new)
        return new

    _repr_html_ = in_notebook

    @property
    def hash(self) -> str:
        return fingerprint(self)

    def check(self) -> None:
        """Refuse what can be known to be wrong before anything runs."""
        for role, seated in self.seats.items():
            if seated not in self.models:
                raise unknown(f"model in seat {role!r}", seated, self.models)
        for _, member in walk(self):  # the recipe's own environment, and those of parts that play for themselves
            seats = {**self.seats, **(getattr(member, "seats", None) or {})}
            for role in getattr(getattr(member, "env", None), "roles", ()):
                if role not in seats:
                    raise unknown("role without a seat", role, seats)
        for name, model in self.models.items():
            of = getattr(model, "of", None)
            if of is not None and of not in self.models:
                raise unknown(f"model that {name!r} copies", of, self.models)
        check_guides(self.sampling, self.models, self.seats.values())
        if self.sampling.weighted_guides:
            refuse_guided(self.stages)
        for _, member in walk(self):
            check_knobs(member)  # they may have been set since they were checked
            if isinstance(member, Learn):
                self._check_learn(member)
        for stage in self.stages:
            declares(stage, "stage", ("needs", "gives"))
        self._check_columns()
        for i, exam in enumerate(self.exams):
            if not hasattr(exam, "metrics"):
                raise UserError(f"a recipe's exams are a list of Exam(...), not {exam!r}")
            exam.check(self.models, self.seats, self.env, self.exams[:i])

    def _check_learn(self, learn: Learn) -> None:
        if learn.model not in self.models:
            raise unknown("model to learn", learn.model, self.models)
        declares(learn.loss, "loss", ("needs", "wants"))
        model = self.models[learn.model]
        if not model.trains:
            raise UserError(f"{learn.model!r} is a {type(model).__name__} and cannot be trained")
        for role, _ in row_groups(learn.loss):
            if isinstance(role, str):
                if role not in self.seats:
                    raise unknown("role whose tracks are learned", role, self.seats)
                check_reader(learn.model, self.models, {role: self.seats[role]})
        for want in learn.loss.wants:
            if level_of(want, model.readings(self.models)) is None:
                raise unknown(f"reading of {learn.model!r}", want, model.readings(self.models))

    def _check_columns(self) -> None:
        """Walk the stages in order: each needed column must be read from a model or given by a stage before it."""
        given: set[str] = set()
        for stage in self.stages:
            for need in stage.needs:
                if need not in given and not is_read(need, self.models):
                    later = [type(s).__name__ for s in self.stages if need in s.gives]
                    hint = f"; {later[0]} gives it, but comes later" if later else ""
                    readable = {f"{m}.{r}" for m, model in self.models.items() for r in model.readings(self.models)}
                    cause = unknown("column", need, given | readable)
                    raise UserError(
                        f"{type(stage).__name__} needs a column that nothing before it gives{hint}: {cause}"
                    )
                if need not in given:
                    check_reader(need.partition(".")[0], self.models, self.seats)
            given |= set(stage.gives)


def declares(thing: Any, kind: str, words: tuple[str, ...]) -> None:
    """Refuse a stage or loss that does not declare its columns."""
    for word in words:
        if not hasattr(thing, word):
            does = {"needs": "reads", "gives": "adds", "wants": "reads live from the model"}[word]
            raise UserError(
                f"{kind} {type(thing).__name__} has no `{word}`: add `{word} = (...)`, the columns that it {does}"
                f" (`{word} = ()`: none), to its class"
            )


def _set_dotted(root: Recipe, path: str, value: Any, *, text: bool = False) -> None:
    """Set a knob of a part, or the wording of a role wherever it is asked."""
    if path.startswith(ROLES):
        set_wording(root, path.removeprefix(ROLES), value)
    else:
        set_knob(root, path, value, text=text)


def _replace(root: Any, old: Any, new: Any) -> None:
    """Put `new` wherever `old` stands in the tree."""
    for _, holder in walk(root):
        for name, value in knobs(holder).items():
            if value is old:
                setattr(holder, name, new)
            elif isinstance(value, list):
                setattr(holder, name, [new if v is old else v for v in value])
            elif isinstance(value, dict):
                setattr(holder, name, {k: new if v is old else v for k, v in value.items()})


@part
class Study:
    """`body(run, seed)` is plain Python over `run.train(recipe)`, `run.eval(...)`, `run.play(...)` and, for what another
    library trains, `run.remember(key, make)` (`training/study.py`).

    Inner runs are memoised by their hash, so a killed study resumes by running again: what is done is read, not redone. The
    body finds its `budget` in `run.budget`; runs that it gives none share what is left of it.

    Args:
        body: the program, `body(run, seed)`.
        settings: its knobs, which are hashed.
        budget: what its runs may spend together.

    >>> import guerdon as gd
    >>> @gd.recipe("twice", family="mine")
    ... def twice(task, model):
    ...     '''Train, then train on from there.'''
    ...     def body(run, seed):
    ...         first = run.train("grpo", task=task, model=model, steps=20).model()
    ...         return {"after": run.eval(run.train("grpo", task=task, model=first, steps=20).model(), task)["pass@1"]}
    ...     return gd.Study(body)
    >>> twice.name
    'twice'
    """

    body: Callable[[Any, int], Any]
    settings: dict[str, Any] = knob(factory=dict)
    budget: Budget | None = knob(default=None, absent=None)
    recipe: str = knob(default="", hashed=False)  # whose body it is, where that is one of the package's

    def meant(self) -> dict[str, Any]:
        """A recipe of the package is known by its name and its settings: the code of its body is identified by what ran."""
        return {"body": self.recipe} if self.recipe else {}

    @property
    def hash(self) -> str:
        return fingerprint(self)


@dataclass(frozen=True)
class Claim:
    """A paper's word on its method, as an experiment at an equal budget. Everything that decides its numbers is in it.

    The method's `metric` is compared with `baseline`'s, and `effect` is the smallest difference that counts. `kind` is the kind
    of claim: "better"; "at least as good"; "equal"; "cheaper", less of the metric while `keeps` is at least as good, within
    `loss`; "bound", the metric itself is on the better side of `bound`; "slope", it gets better by `effect` or more with
    every doubling of a knob `along` some values (`tries=2,4,8`).

    `baseline` and `ablation` (the method without its idea) name a recipe, and knobs of it: `grpo kl=0.04 centre.std=false`;
    `method` has knobs of the method alone, `settings` those that all arms are given. `metric` is any number of any exam
    (`pass@1`, `rm/pair_accuracy`, `kinds/countdown:3`), at the end, or, after the word `mean`, on average over the budget;
    of a study a key of its result. `levels` are those of the task's that count (none: all). `start` is trained once, before
    the others and outside of their budget: all arms then begin with its policy; `start={"rm": "reward_model steps=60"}`
    prepares models by name, for the arms that have one. `model` names a version, so that no other is ever meant. `cuts`: the
    claim is about answers that the limit cuts, so worked solutions need not fit it. `exam` is how many problems a whole exam
    has: fewer where each costs much. `mechanism` names the number of an exam that the method's mechanism moves, of which
    higher is better: it is published beside the metric.

    Args:
        says: the claim in a sentence.
        kind: "better", "at least as good", "equal", "cheaper", "bound" or "slope".
        baseline: recipe to compare with, and its knobs.
        ablation: the method without its idea: a recipe and its knobs.
        method: knobs of the method alone.
        task: task of all arms.
        model: model of all arms, with its version.
        settings: knobs of all arms.
        start: training before the experiment, outside of its budget, or one for each model.
        metric: number of an exam, at the end, or after the word `mean` its average.
        better: direction of the metric.
        levels: levels of the task that count; all without any.
        effect: minimum effect.
        keeps: metric that must stay at least as good, for "cheaper".
        loss: how much worse that metric may be.
        bound: limit of the metric, for "bound".
        along: knob and its values, for "slope".
        cuts: answers may be cut by the limit.
        budget: what each run may spend.
        unit: unit of the budget.
        exam: problems of a whole exam.
        mechanism: number of the exam that the mechanism moves.

    >>> import guerdon as gd
    >>> claim = gd.Claim(says="It ends higher than GRPO.", baseline="grpo kl=0.04", task="countdown:4", budget=400_000)
    >>> claim.kind, claim.metric, claim.effect
    ('better', 'pass@1', 0.02)
    """

    says: str
    kind: ClaimKind = "better"
    baseline: str = "grpo"
    ablation: str = ""
    method: str = ""
    task: str = ""
    model: str = "sprig-1.1"
    settings: str = ""
    start: str | dict[str, str] = ""
    metric: str = "pass@1"
    better: Literal["higher", "lower"] = "higher"
    levels: tuple[int, ...] = ()
    effect: float = 0.02
    keeps: str = ""
    loss: float = 0.02
    bound: float = 0.0
    along: str = ""
    cuts: bool = False
    budget: float = 250_000
    unit: Unit = "tokens"
    exam: int = EXAM
    mechanism: str = ""

    def told(self) -> dict[str, Any]:
        """Its fields as they are written down. Those that came later are left out where a claim does not use them, so that
        claims registered before them are what they were."""
        later = {"exam": EXAM, "mechanism": ""}
        return {name: value for name, value in asdict(self).items() if name not in later or value != later[name]}


@dataclass(frozen=True)
class Screening:
    """The settings of the suite that a recipe is screened in (`guerdon list settings`), with knobs of the `method` alone, the
    `ablation` (the method without its idea: a recipe and its knobs) and `knobs` that all arms are given.

    Args:
        settings: settings of the suite.
        method: knobs of the method alone.
        ablation: the method without its idea: a recipe and its knobs.
        knobs: knobs of all arms.

    >>> import guerdon as gd
    >>> gd.Screening(settings=("noisy_judge",), ablation="mine idea=0").settings
    ('noisy_judge',)
    """

    settings: tuple[str, ...] = ("plain",)
    method: str = ""
    ablation: str = ""
    knobs: str = ""


@dataclass(frozen=True)
class RecipeEntry:
    """A named recipe: how to build it and what it claims."""

    name: str
    family: str
    paper: str
    claims: tuple[Claim, ...]
    function: Callable[..., Recipe | Study]
    on: RecipeEntry | None = None
    absent: Mapping[str, Any] = field(default_factory=dict, hash=False)
    needs: Needs = field(default_factory=Needs)
    screening: Screening | None = None
    helps: tuple[Problem, ...] = ()

    def __call__(self, *args: Any, **given: Any) -> Recipe | Study:
        """The recipe for a task, model and reward that are there as objects: `grpo(task, model, prompts=8)`."""
        names = [n for n, p in self.parameters().items() if p.kind is not inspect.Parameter.KEYWORD_ONLY]
        twice = [n for n in names[: len(args)] if n in given]
        if len(args) > len(names) or twice:
            named = f"{twice[0]} twice" if twice else f"{len(args)} values without a name"
            raise UserError(f"{self.name} was given {named}: it takes {', '.join(names)}, and knobs by their names")
        values = {**dict(zip(names, args, strict=False)), **given}
        for slot in ("task", "model"):
            if isinstance(values.get(slot), str):
                raise UserError(
                    f"{self.name}({slot}={values[slot]!r}) takes a {slot} itself, not its name: load it"
                    f" (guerdon.{slot}s.load), or use gd.train({self.name!r}, {slot}={values[slot]!r})"
                )
        settings = {n: v for n, v in values.items() if n not in SLOTS}
        made = self.build({n: v for n, v in values.items() if n in SLOTS}, settings, typed=settings)
        if isinstance(made, Recipe):
            made.called = (values.get("task"), made.env)
        return made

    @property
    def screened(self) -> Screening:
        """How it is screened: as it declares; else in the plain setting, with the ablation of its claims where one has one."""
        claimed = next((claim for claim in self.claims if claim.ablation), None)
        return self.screening or Screening(ablation=claimed.ablation if claimed is not None else "")

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        """The function, and those of the recipes it is made on."""
        return (self.function, *(self.on.functions if self.on is not None else ()))

    @property
    def about(self) -> str:
        return inspect.getdoc(self.function) or ""

    def parameters(self) -> dict[str, inspect.Parameter]:
        """By name: the recipe's own first, then what it has from the one it is made on. Its own defaults count."""
        own = {n: p for n, p in inspect.signature(self.function).parameters.items() if n != BASE}
        return own if self.on is None else {**own, **{n: p for n, p in self.on.parameters().items() if n not in own}}

    def hints(self) -> dict[str, Any]:
        return {**(self.on.hints() if self.on is not None else {}), **type_hints(self.function)}

    def knobs(self) -> dict[str, Any]:
        """The recipe's knobs with their defaults."""
        return {n: p.default for n, p in self.parameters().items() if n not in SLOTS}

    def make(self, used: Mapping[str, Any]) -> Recipe | Study:
        """Call the function, after that of the recipe it is made on. `used` are parameters that are not at their defaults."""
        own = inspect.signature(self.function).parameters
        if self.on is None:
            return self.function(**used)
        theirs = self.on.parameters()
        ours = {n: p.default for n, p in own.items() if n not in SLOTS and p.default is not inspect.Parameter.empty}
        base = self.on.make({n: v for n, v in {**ours, **used}.items() if n in theirs})
        return self.function(base, **{n: v for n, v in used.items() if n in own})

    def build(
        self, slots: Mapping[str, Any], settings: Mapping[str, Any], *, text: bool = False, typed: Container[str] = ()
    ) -> Recipe | Study:
        """The recipe for a task, model and reward. Dotted settings reach into its parts; `text` ones are parsed. Those that
        a user `typed` for this recipe must change something in it."""
        parameters, hints = self.parameters(), self.hints()
        used: dict[str, Any] = {}
        for slot in SLOTS:
            if slots.get(slot) is not None:
                if slot not in parameters:
                    raise UserError(f"{self.name} {self.needs.untaken(slot)}")
                used[slot] = slots[slot]
            elif slot in parameters and parameters[slot].default is inspect.Parameter.empty:
                raise UserError(f"recipe {self.name!r} needs a {slot}: --{slot} NAME")
        own = {k: v for k, v in settings.items() if "." not in k and k not in RUN}
        for name, value in own.items():
            if name in SLOTS or name not in parameters:
                raise unknown(f"knob of {self.name}", name, [*self.knobs(), *RUN])
            hint = hints.get(name)
            used[name] = parse(value, hint, f"{self.name}.{name}") if text else value
            check_value(f"{self.name}.{name}", used[name], hint, {})
        built = self.make(used)
        dotted = {k: v for k, v in settings.items() if "." in k or k in RUN}
        if isinstance(built, Study):
            if dotted:
                raise unknown(f"knob of {self.name}", next(iter(dotted)), self.knobs())
            values = {n: used.get(n, p.default) for n, p in parameters.items()}
            built.settings = {n: v for n, v in values.items() if n not in self.absent or v != self.absent[n]}
            built.recipe = self.name if self.function.__module__.startswith("guerdon.") else ""
            return built
        refuse_idle(self, built, used, [name for name in own if name in typed])
        for path, value in dotted.items():
            _set_dotted(built, path, value, text=text)
        return built


def recipe(
    name: str,
    *,
    family: str = "mine",
    paper: str = "",
    claim: Claim | tuple[Claim, ...] = (),
    screening: Screening | None = None,
    on: RecipeEntry | None = None,
    absent: Mapping[str, Any] | None = None,
    needs: Needs | None = None,
    data: Rows | None = None,
    helps: tuple[Problem, ...] = (),
) -> Callable[[Callable[..., Recipe | Study]], RecipeEntry]:
    """Name a function that builds a Recipe or a Study; `on` another recipe, one that changes what that one made. `claim`
    is its paper's claim, to be registered and run; `screening` the settings that it is screened in. `absent` is
    for knobs that joined a Study later: the values that mean what it did without them, which are not in its hash. `needs` is
    what it needs of data, model and machine, beside what the recipe that it is made on needs. `data="pairs"`, "labels" or
    "steps" is an older form of `needs=Needs(preferences=True)`, `labels` or `step_labels`. `helps` names the problems that it
    is for, as `guerdon advise` knows them; they are its own, not those of the recipe that it is made on.

    Args:
        name: name on the command line.
        family: group in lists.
        paper: arXiv id or address.
        claim: what the paper claims, to be registered and run.
        screening: settings it is screened in.
        on: recipe that it changes.
        absent: values of later knobs that are not hashed.
        needs: what it needs of data, model and machine.
        data: what rows of a user's file are; `needs` says it too.
        helps: problems it is for, of `guerdon advise`.

    >>> import guerdon as gd
    >>> @gd.recipe("mine", family="mine")
    ... def mine(task, model, lr: float = 0.1):
    ...     '''REINFORCE.'''
    ...     learn = gd.Learn("policy", gd.losses.clipped(), opt=gd.adam(lr=lr))
    ...     stages = [gd.rewards.verified(task), gd.credit.centre("correct", std=False), learn]
    ...     return gd.Recipe({"policy": model}, gd.curricula.uniform(task), gd.envs.single_turn(), stages)
    >>> mine.knobs(), mine.about
    ({'lr': 0.1}, 'REINFORCE.')
    """

    def enter(function: Callable[..., Recipe | Study]) -> RecipeEntry:
        claims = (claim,) if isinstance(claim, Claim) else claim
        first = next(iter(inspect.signature(function).parameters), "")
        if on is not None and first != BASE:
            raise UserError(
                f"recipe {name!r} is made on {on.name!r}, so its first parameter must be called {BASE} (what that one made)"
                + (f", not {first}" if first else "")
            )
        for problem in helps:
            if problem not in PROBLEMS:
                raise unknown(f"problem that recipe {name!r} helps with", problem, PROBLEMS)
        of_rows: dict[str, Any] = {name: True for name, rows in ROWS.items() if rows == data}
        all_needs = (needs or Needs()).over(Needs(**of_rows)).over(on.needs if on is not None else Needs())
        return RecipeEntry(name, family, paper, claims, function, on, absent or {}, all_needs, screening, helps)

    return enter


def refuse_idle(entry: RecipeEntry, built: Recipe, used: Mapping[str, Any], names: Iterable[str]) -> None:
    """Refuse a recipe if one of these knobs comes from the recipe it is made on, is not at its default, and leaves all that
    was built as it is without it: a method that replaces the loss of GRPO still takes GRPO's `clip`, and ignores it. Not of the
    recipe's own function, which may use a knob in some settings only."""
    if entry.on is None:
        return
    defaults, theirs, empty = entry.knobs(), entry.on.knobs(), inspect.Parameter.empty
    given = [n for n in names if n in theirs and defaults[n] is not empty and used[n] != defaults[n]]
    idle = [name for name in given if _is_same_without(name, built, entry.make, used)]
    if idle:
        raise UserError(
            f"{entry.name} does not use {' and '.join(idle)} of {entry.on.name}, the recipe it is made on: leave out"
            f" {' '.join(f'{name}={used[name]!r}' for name in idle)}"
        )


def _is_same_without(
    name: str, built: Recipe, make: Callable[[Mapping[str, Any]], Any], used: Mapping[str, Any]
) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they were given when it was built
            return _do_the_same(built, make({n: v for n, v in used.items() if n != name}))
    except UserError:  # without the knob it cannot be made
        return False


def _do_the_same(one: Recipe, other: Recipe) -> bool:
    """Whether two recipes are alike, but for models that nothing reads: GRPO's `kl` brings a reference along, which lies idle
    in a method that replaces the loss. If all else is alike, and complete without a model, nothing reads it."""
    if alike(one, other):
        return True
    apart = one.models.keys() ^ other.models.keys()
    lists = [
        {**knobs(each), "models": {n: m for n, m in each.models.items() if n not in apart}} for each in (one, other)
    ]
    if not apart or not alike(*lists):
        return False
    for each in (one, other):
        each.check()  # which refuses a recipe without a model
    return True


def alike(one: Any, other: Any) -> bool:
    """Whether two trees of parts have the same knobs everywhere, those among them that are in no hash. What both share is not
    inspected: the weights of models are not read here."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if is_part(one):
        return alike(knobs(one), knobs(other))
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and _all_alike(one.values(), (other[key] for key in one))
    if isinstance(one, list | tuple):
        return len(one) == len(other) and _all_alike(one, other)
    if dataclasses.is_dataclass(one) and not isinstance(one, type):
        names = [f.name for f in dataclasses.fields(one)]
        return _all_alike((getattr(one, n) for n in names), (getattr(other, n) for n in names))
    return bool(describe(one) == describe(other))


def _all_alike(some: Iterable[Any], others: Iterable[Any]) -> bool:
    return all(alike(a, b) for a, b in zip(some, others, strict=True))
