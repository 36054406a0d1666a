"""ReasonFlux-PRM's own part: what the steps of a thinking trace, and the trace as a whole, are worth beside its response.

Leaves out: how a scorer is taught and used by that (`recipes/process/scored_uses.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn.functional import normalize

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.extra_play import play_scored
from guerdon.core.field_columns import FieldColumns, Gives
from guerdon.core.model import Model
from guerdon.core.part import knob, part
from guerdon.core.play import Play, players
from guerdon.core.task import Task
from guerdon.models.probing import probe
from guerdon.recipes.process.scored_uses import WHOLE, on_lines, softly_mixed
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.model.model_reading import SampleTokens
from guerdon.select.hints import begun

ENDS = "</think>"  # where thinking ends in answers that say so


@dataclass(frozen=True)
class Trace:
    """A track in lines: thinking, and from line number `first` on the response."""

    track: int
    task: Task
    lines: list[str]
    ends: list[int]  # the step that each line ends on
    first: int
    right: float  # whether its answer is; NaN where nobody knows


def traces_of(batch: Batch, play: Play, source: Any, truth: str = "correct") -> list[Trace]:
    """Every track of the policy that did not fail and has a line. `truth` is the column of who is right."""
    samples = Samples.of_batch(batch, play, "policy")
    assert samples.track is not None
    tokens, names = SampleTokens(play, batch, samples.track, own=True), players(batch, play)
    traces = []
    for k, fields, steps in zip(samples.track.tolist(), samples.fields, tokens.steps(), strict=True):
        lines = [line.strip() for line in fields["completion"].split("\n") if line.strip()]
        ends = [int(piece[-1]) for piece in tokens.cut(steps, "line", names[k])]
        if lines and len(lines) == len(ends):
            first = response_from(lines, fields["task"], source)
            traces.append(Trace(k, fields["task"], lines, ends, first, float(batch[truth][k])))
    return traces


def response_from(lines: Sequence[str], task: Task, source: Any) -> int:
    """The number of the first line of the response."""
    marks = [n for n, line in enumerate(lines) if ENDS in line]
    if marks:
        return min(marks[-1] + 1, len(lines) - 1)
    worked = source.solution(task) if hasattr(source, "solution") else task.answer
    return max(0, len(lines) - sum(bool(line.strip()) for line in str(worked).split("\n")))


def quality(trace: Trace, source: Any) -> list[float]:
    """Of each line whether it follows, by the task's step checker: from the lines before it on the same way, or as the
    first of another way. The answer is right or not. NaN where there is no checker."""
    check, marks, way = getattr(source, "first_wrong", None), [], 0
    steps = trace.lines[:-1]
    for n, line in enumerate(steps):
        if check is None:
            marks.append(float("nan"))
        elif check(trace.task, steps[way : n + 1]) is None:
            marks.append(1.0)
        else:
            starts_anew = check(trace.task, [line]) is None
            way = n if starts_anew else n + 1
            marks.append(float(starts_anew))
    return [*marks, trace.right]


def template(trace: Trace) -> str:
    """The first half of a response's lines, as the beginning of an answer."""
    response = trace.lines[trace.first :]
    return "".join(f"{line}\n" for line in response[: len(response) // 2])


def encoded(model: Model, lines: Sequence[str]) -> dict[str, Tensor]:
    """The mean hidden state of each line by itself, of length 1."""
    different = list(dict.fromkeys(lines))
    readings = probe(model, [((), "", line) for line in different], ["hidden"])
    means = [torch.zeros(1) if read is None else read["hidden"].float().mean(0).cpu() for read in readings]
    return {line: normalize(mean, dim=0) for line, mean in zip(different, means, strict=True)}


def aligned(said: Tensor, first: int) -> Tensor:
    """How near each line is to the nearest of the response, which begins with line `first`."""
    return (said @ said[first:].T).max(-1).values.clamp(0.0, 1.0)


def coherent(said: Tensor, others: Sequence[Tensor], temperature: float) -> Tensor:
    """How much nearer each line is to the one before it than to `others`. NaN for the first, which has none before it, and for
    all where there are no others."""
    if not others:
        return torch.full((len(said),), float("nan"))
    before = (said[1:] * said[:-1]).sum(-1, keepdim=True)
    chances = torch.softmax(torch.cat([before, said[1:] @ torch.stack(list(others)).T], -1) / temperature, -1)
    return torch.cat([torch.full((1,), float("nan")), chances[:, 0]])


@part
class trace_labels(FieldColumns):
    r"""Labels for the lines $s_t$ of a trace whose response is $a$, $\sum_k\mathrm{softmax}(r_t)_k\,r_t^k$ over three
    scores between 0 and 1, and for the trace as a whole.

    Alignment is $\max_j\cos(\Phi(s_t),\Phi(a_j))$, the line against the nearest of the response (1 for those of the
    response). Coherence is
    $\frac{\exp(\cos(s_t,s_{t-1})/\tau)}{\exp(\cos(s_t,s_{t-1})/\tau)+\sum_{s'}\exp(\cos(s_t,s')/\tau)}$, the line before
    it against `negatives` lines of the step's other traces that this one does not have (left out where there are none).
    Quality is what the task's step checker says of it, each way by itself (left out where there is none). $\Phi$ is the mean
    hidden state of the model `encoder` over the line alone, $\tau$ the `temperature`. The whole is worth what share of
    `tries` that follow its template ends well: the template is the first half of the response, put in the mouth of who
    answers. The last line has no label: what is said after it is said of the whole. With `sees="response"` only lines of
    the response have one, by quality alone, and the whole is worth its outcome.

    A response begins after `</think>`, or else with the last lines of the answer, as many as a worked solution has. New
    tries count in the budget.

    >>> import guerdon as gd
    >>> task = gd.tasks.load("countdown:2")
    >>> trace_labels(task, gd.rewards.verified(task)).gives
    ('labels', 'whole')
    """

    task: Any
    score: Any
    encoder: str = "author"
    sees: Literal["trace", "response"] = "trace"
    tries: int = knob(default=2, ge=1)
    negatives: int = knob(default=16, ge=1)
    temperature: float = knob(default=0.1, gt=0.0)
    gives_to: Gives = "labels"

    shelf = "scores"

    @property
    def gives(self) -> tuple[str, ...]:
        return (self.gives_to, WHOLE)

    @property
    def needs(self) -> tuple[str, ...]:
        return (str(self.score.gives[0]),)

    def __call__(self, batch: Batch, play: Play) -> Batch:
        traces, label = traces_of(batch, play, self.task, self.needs[0]), torch.full((batch.S,), float("nan"))
        if self.sees == "response":
            for each in traces:
                label[each.ends[each.first :]] = torch.tensor(quality(each, self.task)[each.first :])
            return batch.with_cols({self.gives_to: on_lines(label), WHOLE: _on_tracks(batch[self.needs[0]])})
        lines = encoded(play.models[self.encoder], [line for each in traces for line in each.lines])
        drawn = [list(lines)[n] for n in torch.randperm(len(lines), generator=play.generator("negatives")).tolist()]
        for each in traces:
            said = torch.stack([lines[line] for line in each.lines])
            others = [lines[line] for line in drawn if line not in each.lines][: self.negatives]
            judged, fits = torch.tensor(quality(each, self.task)), coherent(said, others, self.temperature)
            scores = torch.stack([aligned(said, each.first), judged, fits], -1)
            label[each.ends[:-1]] = softly_mixed(scores)[:-1]
        return batch.with_cols({self.gives_to: on_lines(label), WHOLE: self._followed(batch, traces, play)})

    def _followed(self, batch: Batch, traces: Sequence[Trace], play: Play) -> Column:
        """How often tries that begin with the template of a trace end well."""
        asks, whole = [], torch.full((batch.K,), float("nan"))
        for each in traces:
            episode = batch.episodes[int(batch.episode[batch.leaf[each.track]])]
            ask = episode.ask.but(n=self.tries, sampling=episode.ask.sampling or episode.segments[0].sampling)
            asks.append(ask.but(prefix=begun(ask, template(each), play)))
        played = play_scored(asks, [self.score], play)
        if played.K:
            number, right = played.ask[played.leaf], played[self.needs[0]]
            for n, each in enumerate(traces):
                whole[each.track] = right[number == n].nanmean()
        return _on_tracks(whole)


def _on_tracks(value: Tensor) -> Column:
    reason = torch.where(value.isnan(), int(Reason.NOT_APPLICABLE), int(Reason.VALUE)).to(torch.int8)
    return Column("track", value, reason)
