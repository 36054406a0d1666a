"""The two things every model does: `act` (sample) and `read` (score a batch).

The only place that knows tokens is a model.
A model is a part: its fields are its knobs, its weights live in `net`.
Environments and rewards speak in views and text; what a view looks like as numbers is the model's business alone.
"""

from __future__ import annotations

import abc
import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from guerdon.core.batch import Batch
from guerdon.core.column import Per
from guerdon.core.episode import End, Segment
from guerdon.core.errors import UserError, unknown
from guerdon.core.gradient_passes import steps_held
from guerdon.core.part import label
from guerdon.core.renamed import OldName, say_renamed
from guerdon.core.task import Sampling
from guerdon.core.tensor_hashes import frozen_hash, known_chain_hash

NEXT = "next:"  # how a reading begins that is the log-prob of the token named behind it, at a track's end
NOTHING: npt.NDArray[np.int64] = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Request:
    """One call of a model: its memory (`path`), what it is shown now, how to sample, and the seed that decides the draw."""

    path: tuple[Segment, ...]
    view: Any
    sampling: Sampling
    seed: int
    given: npt.NDArray[Any] = field(default_factory=lambda: NOTHING)  # actions already taken for it
    go_on: bool = False  # the turn of the path's last segment continues: it is not closed, and the view is inserted raw


@dataclass(frozen=True)
class Reply:
    context: npt.NDArray[Any]
    actions: npt.NDArray[Any]  # the given ones first
    logp: npt.NDArray[np.float32]
    text: str
    end: End = End.DONE
    made: Any = None  # what the actions produce where that is not text: a picture, a state


@dataclass
class Meter:
    """The cost of a step in tokens: generated (sampled, or teacher-forced to learn from) and processed; updates of weights; and
    steps of environments that are played in lock step. Who does it counts it."""

    tokens: int = 0
    read: int = 0
    updates: int = 0
    env_steps: int = 0


class Model(abc.ABC):
    """Base of all models. `net` holds the weights and is None until `start`; `version` counts the updates they have had. A
    run gives all of its models one `meter`; a model that reads adds what it reads to it."""

    reads: ClassVar[Mapping[str, Per]] = {"logp": "step"}
    trains: ClassVar[bool] = True
    takes_guides: ClassVar[bool] = False  # whether others of its class may guide its sampling
    apart: ClassVar[bool] = (
        False  # whether a step is read from its segment's context alone, without the steps before it
    )
    row: int = (
        0  # floats of a view, where a segment may have a row of context for each action, and one for the last view
    )
    net: nn.Module | None = None
    version: int = 0
    meter: Meter = Meter()  # of models outside of a run, where it is not used

    @abc.abstractmethod
    def build(self, seed: int) -> nn.Module:
        """Fresh weights."""

    def rebuilt(self, seed: int) -> nn.Module:
        """The net that a run of this seed began with, but for weights that its checkpoints hold."""
        return self.build(seed)

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer requests, all at once. A reply depends on its own request alone, never on which others came with it.

        Language models do not have it: the engine samples from them token by token, letting requests come and go.
        """
        raise NotImplementedError(f"a {type(self).__name__} does not act at once; sample from it with `engine.answer`")

    @abc.abstractmethod
    def encode(self, view: Any, path: Sequence[Segment] = ()) -> npt.NDArray[Any]:
        """A view as this model reads it after `path`, its own earlier segments: what becomes a segment's `context`."""

    def more(self, view: Any, path: Sequence[Segment] = ()) -> npt.NDArray[np.int64]:
        """The same where the turn of the path's last segment continues: raw, without closing or opening a turn."""
        return self.encode(view, path)

    @abc.abstractmethod
    def teacher_force(self, view: Any, text: str, path: Sequence[Segment] = ()) -> Reply:
        """The reply whose text is exactly `text`. Log-probs are NaN, because nothing was sampled."""

    recite = OldName("teacher_force")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "recite" in vars(cls) and "teacher_force" not in vars(cls):
            say_renamed(f"{cls.__name__}.recite", "teacher_force")
            cls.teacher_force = vars(cls)["recite"]  # type: ignore[method-assign]

    @abc.abstractmethod
    def read(self, batch: Batch, want: Sequence[str]) -> dict[str, Tensor]:
        """Numbers about the batch's steps or tracks under the weights as they are; differentiable, and where these are."""

    def readings(self, models: Mapping[str, Model]) -> Mapping[str, Per]:
        """What `read` can give, and at which level."""
        return self.reads

    def start(self, seed: int, models: Mapping[str, Model]) -> None:
        """Make the weights, unless they came with the model (loaded, or trained earlier)."""
        if self.net is None:
            self.net = self.build(seed)

    def identity(self) -> str | None:
        """What a run's hash must know beyond the knobs: the weights, where they did not come from the seed."""
        return weights_hash(self.net, self.frozen_weights()) if self.net is not None else None

    def frozen_weights(self) -> dict[str, nn.Parameter]:
        """The weights that training leaves as they are, by name: those below an adapter. Copies within a run share them, and
        no checkpoint holds them."""
        return {}

    def copied_weights(self) -> nn.Module:
        """A copy of the net that shares frozen weights."""
        return copy.deepcopy(self.weights, shared([self]))

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        return next((w.device for w in self.weights.parameters()), torch.device("cpu"))

    @property
    def vocabulary(self) -> Mapping[str, int] | None:
        """Its actions by name; None where they have none. Two models of text can read each other's actions if both have one."""
        return None

    @property
    def drawn_from(self) -> Any:
        """What its actions are drawn from: models with the same may guide each other."""
        return self.vocabulary

    @property
    def max_positions(self) -> int | None:
        """The most it can look at, what it is shown and what it does together; None where there is no limit."""
        return None

    @property
    def steps_at_once(self) -> int:
        """How many steps, and tokens before them, its device holds with ease in one pass with gradients."""
        return steps_held(self.kept_bytes, self.device)

    @property
    def kept_bytes(self) -> int:
        """Of each token, what a pass keeps for its gradients; 0 where that is not known."""
        return 0

    @property
    def weights(self) -> nn.Module:
        assert self.net is not None, "the model was not started"
        return self.net


def level_of(want: str, readings: Mapping[str, Per]) -> Per | None:
    """Of what a reading has a number each; None where it is none of these. `next:TOKEN` is one for every token."""
    return readings.get(f"{NEXT}TOKEN" if want.startswith(NEXT) else want)


def is_read(column: str, models: Mapping[str, Model]) -> bool:
    """Whether one of the models reads a column, `MODEL.READING`."""
    name, _, want = column.partition(".")
    return name in models and level_of(want, models[name].readings(models)) is not None


def check_reader(name: str, models: Mapping[str, Model], seats: Mapping[str, str]) -> None:
    """Refuse a model that would read the actions of models with other tokens: their numbers mean something else to it."""

    def behind(name: str) -> str:
        """The model that one copies, however many copies are in between; itself where it is no copy."""
        of = getattr(models[name], "of", None)
        return name if of is None else behind(of)

    reader, written = behind(name), {behind(model) for model in seats.values()}
    if reader in seats.values():
        return
    own = models[reader].vocabulary
    others = {each: other for each in written if (other := models[each].vocabulary) is not None}
    if own is None or len(others) < len(written) or any(other.items() <= own.items() for other in others.values()):
        return
    raise UserError(
        f"model {name!r} cannot read what {' and '.join(map(repr, sorted(others)))} wrote: their tokenizers differ; use a model"
        " with the same tokenizer"
    )


def check_guides(sampling: Sampling, models: Mapping[str, Model], acting: Iterable[str]) -> None:
    """Refuse guides that could not guide the models that act."""

    def behind(name: str) -> Model:
        of = getattr(models[name], "of", None)
        return models[name] if of is None or of not in models else behind(of)

    for guide, _ in sampling.guides:
        if guide not in models:
            raise unknown("model that guides", guide, models)
        for name in acting:
            own, other = behind(name), behind(guide)
            if not own.takes_guides or type(own) is not type(other):
                kinds = f"{name!r} is a {label(own)} and {guide!r} a {label(other)}"
                raise UserError(
                    f"{kinds}: sampling.guides need two language models that the engine runs (lm), or two tables"
                )
            if own.drawn_from != other.drawn_from:
                raise UserError(
                    f"{guide!r} cannot guide {name!r}: their tokenizers differ; use a model with the same tokenizer"
                )


def shared(models: Iterable[Model]) -> dict[int, Any]:
    """For `copy.deepcopy`: in place of copies, the frozen weights of these models, in the same memory. Each may go to another
    device by itself."""
    frozen = {id(weight): weight for model in models for weight in model.frozen_weights().values()}
    return {number: nn.Parameter(weight.detach(), weight.requires_grad) for number, weight in frozen.items()}


def weights_hash(net: nn.Module, frozen: Iterable[str] | None = None) -> str:
    """A hash of every tensor of a net, names and all: equal hashes mean equal weights to the last bit.

    The `frozen` ones, in a net of which something is trained those that are not, come in by a hash of their own.
    """
    tensors = dict(net.state_dict())
    if frozen is None:
        trains = {name: weight.requires_grad for name, weight in net.named_parameters()}
        frozen = [name for name, is_trained in trains.items() if not is_trained] if any(trains.values()) else []
    below = {name: tensors.pop(name) for name in frozen}
    return known_chain_hash(tensors, frozen_hash(below) if below else "")
