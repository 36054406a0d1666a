"""What is asked of a model: a Task (one problem), a TaskSource (where problems come from), an Ask (how to try it)."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from guerdon.core.errors import UserError
from guerdon.core.lazy import in_notebook
from guerdon.core.part import knob, label, part, set_known
from guerdon.core.shown_text import cut

if TYPE_CHECKING:
    from guerdon.core.episode import Segment

Split = Literal["train", "test"]


class Conversation(list[dict[str, Any]]):
    """Messages that a model is shown, `{"role": ..., "content": text}` each, the last of them the user's.

    As text (`str`) it is their contents, one after the other; in a template, `"{prompt} Be brief.".format(prompt=...)`, the
    user's last message, which `saying` replaces.

    >>> talk = Conversation([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2 + 2?"}])
    >>> f"{talk} Now!", talk.saying("3 + 3?")[-1]["content"], str(talk)
    ('2 + 2? Now!', '3 + 3?', 'Be brief.\\n\\n2 + 2?')
    """

    @property
    def asked(self) -> str:
        return str(self[-1]["content"])

    def saying(self, text: str) -> Conversation:
        return Conversation([*self[:-1], {**self[-1], "content": text}])

    def __format__(self, form: str) -> str:
        return format(self.asked, form)

    def __str__(self) -> str:
        return "\n\n".join(str(message["content"]) for message in self)


@dataclass(frozen=True)
class Task:
    """One problem. `id` is unique inside its family; `meta` holds whatever its checker needs, as JSON values. `view` are the
    messages that show it, where `prompt`, the user's last message, is not all there is to see: a system message, earlier turns.

    Args:
        id: unique inside the family.
        prompt: the problem as text; of a conversation what the user says last.
        answer: the right answer.
        family: kind of problem.
        level: difficulty.
        meta: JSON values for checkers and environments.
        view: messages that show the problem, where the prompt alone does not.

    >>> import guerdon as gd
    >>> task = gd.Task("7", "2 + 2 =", "4", family="sums", meta={"level": 1})
    >>> task.key, task.answer
    ('sums/7', '4')
    """

    id: str
    prompt: str
    answer: str = ""
    family: str = "task"
    level: int = 1
    meta: dict[str, Any] = field(default_factory=dict)
    view: Conversation | None = None

    def __post_init__(self) -> None:
        given: Any = self.view
        if isinstance(given, list) and not isinstance(given, Conversation):  # as a file gave it back
            object.__setattr__(self, "view", Conversation(given))

    def shown_fields(self) -> dict[str, Any]:
        """Its fields by name, without a view where it has none of its own."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {name: value for name, value in values.items() if name != "view" or value is not None}

    def __repr__(self) -> str:
        values = self.shown_fields()
        return f"Task({', '.join(f'{name}={cut(repr(value))}' for name, value in values.items())})"

    _repr_html_ = in_notebook

    @property
    def key(self) -> str:
        return f"{self.family}/{self.id}"

    @property
    def kind(self) -> str:
        """What sort of problem it is: what curricula choose among and accuracy is broken down by."""
        return f"{self.family}:{self.level}"


@runtime_checkable
class TaskSource(Protocol):
    """A stream of problems per split, addressed by index: the same index gives the same problem, always.

    One of several kinds of problems also has `kinds()`: a source for each kind by its name. One whose answers are not text has
    `check_track(task, track)`, asked in place of `check`: `track` has by name what a reward is given (`made`, `actions`, ...).

    One whose checks wait for something outside of this process also has `async check_later(task, completion)`, or
    `check_track_later(task, track)`, with the same verdict: runs ask it for many tries at once, as episodes end.
    With a `checks_later` that is False they need not.
    """

    @property
    def name(self) -> str: ...

    def size(self, split: Split) -> int | None:
        """How many problems the split has; None when it never ends."""

    def get(self, split: Split, index: int) -> Task: ...

    def check(self, task: Task, completion: str) -> float | None:
        """The truth: 1.0 right, 0.0 wrong, None when this task cannot be checked."""


def truth_of(source: TaskSource, task: Task, track: Mapping[str, Any]) -> float | None:
    """A source's verdict on a track: by its `check_track`, where it has one, else by `check` of the text. Without a text that
    could be checked, nothing."""
    look = getattr(source, "check_track", None)
    if look is None and makes_no_text(track.get("path") or ()):
        return None
    verdict: float | None = source.check(task, track["completion"]) if look is None else look(task, track)
    return verdict


def makes_no_text(path: Iterable[Segment]) -> bool:
    """Whether a track has no text and its actions are not tokens: something else was made of them, or they, or what was shown,
    are not whole numbers. A language model that generates nothing makes an empty text.

    >>> import guerdon as gd
    >>> makes_no_text([gd.Segment("policy", "go", [5], [1], [0.0], text="")])
    False
    >>> makes_no_text([gd.Segment("policy", "go", [5], [0.5], [0.0], text="")])
    True
    """
    done = [segment for segment in path if len(segment.actions) or segment.text]
    return not any(s.text for s in done) and any(
        s.made is not None or s.actions.dtype.kind == "f" or s.actions.ndim > 1 or s.context.dtype.kind == "f"
        for s in done
    )


def checks_later(source: TaskSource) -> bool:
    """Whether a source's verdicts are worth waiting for together: it has the async twin of what `truth_of` asks."""
    return _has_twin(source, "check_track" if hasattr(source, "check_track") else "check")


async def truth_later(source: TaskSource, task: Task, track: Mapping[str, Any]) -> float | None:
    """As `truth_of`, for a caller that can wait. A source that has nothing to wait for is asked as ever."""
    if not checks_later(source):
        return truth_of(source, task, track)
    if hasattr(source, "check_track"):
        return _verdict(source, await source.check_track_later(task, track))  # type: ignore[attr-defined]
    return None if makes_no_text(track.get("path") or ()) else await text_truth_later(source, task, track["completion"])


async def text_truth_later(source: TaskSource, task: Task, completion: str) -> float | None:
    """As the source's `check`, for a caller that can wait."""
    if not _has_twin(source, "check"):
        return source.check(task, completion)
    return _verdict(source, await source.check_later(task, completion))  # type: ignore[attr-defined]


def _has_twin(source: Any, name: str) -> bool:
    """Whether a source has an async twin of a method and means it. A class that overrides the method has to override the
    twin, or the two would give different verdicts."""
    twin = f"{name}_later"
    if inspect.iscoroutinefunction(getattr(source, name, None)):
        raise UserError(f"{label(source)}.{name} is async: call it {twin}, beside a plain {name}")
    if not hasattr(source, twin) or _written_in(source, twin) > _written_in(source, name):
        return False
    if not inspect.iscoroutinefunction(getattr(source, twin)):
        raise UserError(f"{label(source)}.{twin} is not async: write `async def {twin}`, or leave it out")
    return bool(getattr(source, "checks_later", True))


def _written_in(source: Any, name: str) -> int:
    """How far up among its classes an object has a method from; past the last, where it is handed on from elsewhere."""
    if name in getattr(source, "__dict__", ()):
        return -1
    classes = type(source).__mro__
    return next((at for at, each in enumerate(classes) if name in vars(each)), len(classes))


def _verdict(source: Any, value: Any) -> float | None:
    """What an async check gave, which is the truth of a run: nothing but a verdict passes."""
    is_number = hasattr(type(value), "__float__") and not isinstance(value, str)
    if value is None or (is_number and 0.0 <= float(value) <= 1.0):
        return None if value is None else float(value)
    raise ValueError(f"the check of {label(source)} gave {value!r}: a verdict is 1.0 (right), 0.0 (wrong), or None")


def kinds_of(source: TaskSource) -> dict[str, TaskSource]:
    """The kinds of problems in a source, each as a source of its own. A source that names none is one kind."""
    tell = getattr(source, "kinds", None)
    return dict(tell()) if tell is not None else {source.get("train", 0).kind: source}


@part
class Sampling:
    """How a model samples. `temperature=0` is greedy. The recorded log-prob is of this distribution, not the raw one.

    `guides` are other models of the run by name, each with a weight $w$: at every token $w\\log p_{guide}$ is added to the
    logits of the model that acts, before temperature and cuts. On a command line, `arm:0.5,other:-0.2`. A guide must be of the
    same kind and have the same tokens; weight 0 leaves it out.

    Args:
        temperature: divides the logits; 0 is greedy.
        max_tokens: the most tokens of a turn.
        top_k: keep the k likeliest tokens; 0 keeps all.
        top_p: keep the likeliest tokens up to this probability mass.
        min_p: keep tokens of at least this share of the likeliest one's probability.
        stop: strings that end a turn.
        guides: models whose log-probs are added, each `(name, weight)`.

    >>> import guerdon as gd
    >>> gd.Sampling(temperature=0.7, max_tokens=64, stop=("\\n\\n",))
    Sampling(temperature=0.7, max_tokens=64, stop=('\\n\\n',))
    """

    temperature: float = knob(default=1.0, ge=0.0)
    max_tokens: int = knob(default=256, ge=1)
    top_k: int = knob(default=0, ge=0)
    top_p: float = knob(default=1.0, gt=0.0, le=1.0)
    min_p: float = knob(default=0.0, ge=0.0, le=1.0)
    stop: tuple[str, ...] = ()
    guides: tuple[tuple[str, float], ...] = knob(default=(), absent=())

    def __setattr__(self, name: str, value: Any) -> None:
        set_known(self, name, _guides(value) if name == "guides" else value)

    def but(self, **changes: Any) -> Sampling:
        return dataclasses.replace(self, **changes)

    @property
    def cuts(self) -> bool:
        """Whether unlikely choices are left out."""
        return bool(self.top_k) or self.top_p < 1 or self.min_p > 0

    @property
    def weighted_guides(self) -> tuple[tuple[str, float], ...]:
        """Those that count."""
        return tuple(guide for guide in self.guides if guide[1]) if self.guides else ()

    def _key(self) -> tuple[Any, ...]:
        *others, _, guides = dataclasses.astuple(self)
        return (*others, tuple(self.stop), guides)  # a list of stops is the same as a tuple of them

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sampling) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def _guides(given: Any) -> tuple[tuple[str, float], ...]:
    """Names and weights of guides, as pairs or as a command line has them."""
    pairs = [each.rpartition(":")[::2] for each in given.split(",") if each] if isinstance(given, str) else given
    try:
        guides = tuple((name, float(weight)) for name, weight in pairs)
    except (TypeError, ValueError):
        guides = (("", 0.0),)
    if not all(isinstance(name, str) and name and math.isfinite(weight) for name, weight in guides):
        raise UserError(f"Sampling.guides are models by name, each with a weight: (('arm', 0.5),), not {given!r}")
    if len(dict(guides)) < len(guides):
        raise UserError(f"Sampling.guides name a model twice: {given!r}; add up its weights")
    return guides


@dataclass(frozen=True)
class Prefix:
    """Where a try starts: an earlier episode, up to `step` actions into its segment number `segment`.

    The environment runs again from its beginning, with the `seed` its dice had then; its first calls are answered from
    `segments`, so any environment that does the same for the same seed and actions can be restarted anywhere.
    """

    of: str
    segment: int
    step: int
    segments: tuple[Any, ...] = field(default=(), compare=False, repr=False)
    seed: int | None = None


@dataclass(frozen=True)
class Ask:
    """One request to the environment: `n` tries at a task.

    `prompt` shows something else than the task's own prompt (a hint, a budget line), `view` something that is not text
    (messages, a picture: an array); `sampling` overrides how the model samples; `prefix` starts from a place in an earlier
    episode; `seats` says which model plays which role for this ask alone; `note` is for later stages.

    Args:
        task: the problem.
        n: number of tries.
        prompt: text to show in place of the task's own prompt.
        sampling: how the model samples; the run's where it is None.
        prefix: place in an earlier episode from which the tries start.
        note: values for later stages and rewards, as JSON.
        view: what to show where that is not text: messages, or an array.
        seats: model of each role, for this ask alone.

    >>> import guerdon as gd
    >>> task = gd.Task("7", "2 + 2 =", "4")
    >>> gd.Ask(task, n=8).shown, gd.Ask(task, n=8, prompt="think first: 2 + 2 =").shown
    ('2 + 2 =', 'think first: 2 + 2 =')
    """

    task: Task
    n: int = 1
    prompt: str | None = None
    sampling: Sampling | None = None
    prefix: Prefix | None = None
    note: dict[str, Any] = field(default_factory=dict)
    view: Any = field(default=None, compare=False)
    seats: dict[str, str] | None = None

    def __post_init__(self) -> None:
        if self.n < 1:
            raise UserError(f"an Ask needs at least one try, not {self.n}")

    @property
    def shown(self) -> Any:
        """What the role that begins is shown: the ask's view; its prompt, in the messages of the task where it has some; the
        task's own messages or prompt."""
        if self.view is not None:
            return self.view
        talk = self.task.view
        if talk is None:
            return self.task.prompt if self.prompt is None else self.prompt
        return talk if self.prompt is None else talk.saying(self.prompt)

    def seated(self, seats: Mapping[str, str]) -> dict[str, str]:
        """Which model plays which role: `seats`, but where this ask has its own."""
        return {**seats, **(self.seats or {})}

    def but(self, **changes: Any) -> Ask:
        return dataclasses.replace(self, **changes)
