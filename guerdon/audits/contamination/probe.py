"""Whether problems were in what a model was trained on by reinforcement: asked twice, greedily, and read.

Each problem is answered greedily; then the model is shown the problem with that answer and asked for a different one. Scores
are made of the entropies and log-probs of both answers (`detectors.py`), at temperature 1, over the whole vocabulary. All is
sampled through `play` and read through `probe`, with nothing billed to a run. Followed: Tao et al. (arXiv:2510.09259;
generate_full_data.py:194-224 of github.com/yongding-tao/RL-Data-Contamination), the second answer twice as long at most, the
first one cut where the context would not hold it. Different: their entropies are of the 50 likeliest tokens.

A score is not a proof. It says who looks as members do where members are known; without `members` it only orders problems, and
what orders them may be how easy they are: compare at equal accuracy (`check`), and against a model that cannot have seen
them.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from guerdon.audits.contamination import detectors
from guerdon.core.episode import Segment
from guerdon.core.errors import UserError
from guerdon.core.model import Model
from guerdon.core.seeds import derive
from guerdon.core.statistics import auc_interval
from guerdon.core.task import Ask, Sampling, Task
from guerdon.core.wordings import with_places, wording_of
from guerdon.engine.player import Player
from guerdon.envs.simple import single_turn
from guerdon.models.model_facts import knows_roles
from guerdon.models.probing import probe
from guerdon.tasks.role_wordings import RoleWording
from guerdon.tasks.roles import revise_view
from guerdon.training.build import find_model

AGAIN = RoleWording(
    "another_way",
    "another answer, in a different way",
    ("prompt", "answer"),
    revise_view("{prompt}", "{answer}"),
    "{prompt}\n\nHere is one answer, which may be right or wrong:\n{answer}\n\n"
    "Give another answer, found in a different way.",
)
WORDS = {
    "self_critique": "Self-Critique",
    "perplexity": "perplexity",
    "min_k": "Min-K%",
    "min_k_plus": "Min-K%++",
    "entropy": "mean entropy",
}
SPARE = 8  # tokens of the context that are left free beside what is shown and said


@dataclass(frozen=True)
class ProbedProblem:
    """One problem as it was asked twice, and its scores by detector: higher looks more as if it had been trained on."""

    task: Task
    answers: tuple[str, str]
    scores: dict[str, float]
    member: bool | None = None
    right: bool | None = None


@dataclass(frozen=True)
class ContaminationReport:
    """Scores of all problems, and where members are known how well each detector separates them: `auc`, and `balanced`, among
    problems answered alike (both right or both wrong), where answers were checked."""

    problems: tuple[ProbedProblem, ...]
    auc: dict[str, Separation] = field(default_factory=dict)
    balanced: dict[str, Separation] = field(default_factory=dict)
    findings: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(self.findings)

    def suspects(self, number: int = 10, by: str = "self_critique") -> list[ProbedProblem]:
        """The problems that look most as if they had been trained on."""
        scored = [each for each in self.problems if math.isfinite(each.scores[by])]
        return sorted(scored, key=lambda each: -each.scores[by])[:number]


def probe_contamination(
    model: Any,
    tasks: Sequence[Task],
    members: Sequence[bool] | Collection[str] | None = None,
    *,
    check: Callable[[Task, str], float | None] | None = None,
    max_tokens: int = 256,
    another_way: str = "",
    share: float = 0.2,
    resamples: int = 1000,
    seed: int = 0,
    at_once: int = 64,
) -> ContaminationReport:
    """Ask a model every problem twice and score how much it looks as if it had been trained on it.

    `model` is a name, a folder, a finished run's folder or a model. `members` are the problems it was trained on, as one truth
    for each of `tasks` or as their keys. `check` says which answers are right (a task source's `check`), for the comparison at
    equal accuracy. `another_way` is how the second answer is asked for, over `{prompt}` and `{answer}`, or a file of that: by
    default in the words that sprig was taught, and in a sentence for other models. `share` is the share of tokens of Min-K%.
    `at_once` problems are played and read together.

    Args:
        model: a name, a folder, a finished run's folder, or a model.
        tasks: the problems.
        members: those it was trained on: a truth for each of `tasks`, or their keys.
        check: decides which answers are right, for the comparison at equal accuracy.
        max_tokens: the most tokens of an answer.
        another_way: prompt of the second answer, with `{prompt}` and `{answer}`, or a file of it; empty: by the model.
        share: share of tokens in Min-K%.
        resamples: bootstrap samples.
        seed: of sampling and of the bootstrap.
        at_once: problems played together.

    >>> import guerdon as gd
    >>> chain = gd.tasks.load("chain:2")
    >>> report = gd.audits.probe_contamination("sprig", [chain.get("test", i) for i in range(4)], max_tokens=48)
    >>> sorted(report.problems[0].scores)
    ['entropy', 'min_k', 'min_k_plus', 'perplexity', 'self_critique']
    """
    if not tasks:
        raise UserError("no problems to probe: give some tasks")
    asked = find_model(model)
    if asked is None:
        raise UserError("no model to probe: give a name, a folder or a model")
    started = copy.copy(asked)
    started.start(seed, {"policy": started})
    known = _membership(tasks, members)
    wording = AGAIN.sprig if knows_roles(started) else AGAIN.plain
    if another_way:
        wording = with_places(wording_of(another_way, AGAIN.name), {name: name for name in AGAIN.fields}, AGAIN.name)
    how = Sampling(temperature=0.0, max_tokens=max_tokens)
    play = Player({"policy": started}, {"policy": "policy"}, single_turn(), how, derive(seed, "contamination"), 1)
    problems: list[ProbedProblem] = []
    for at in range(0, len(tasks), at_once):
        some = tasks[at : at + at_once]
        first = [episode.segments[-1] for episode in play([Ask(task) for task in some])]
        twice = how.but(max_tokens=2 * max_tokens)
        shown = [_shown_again(started, task, said, wording) for task, said in zip(some, first, strict=True)]
        second = [
            episode.segments[-1]
            for episode in play([Ask(t, prompt=text, sampling=twice) for t, text in zip(some, shown, strict=True)])
        ]
        scores = _scores(started, first, second, share)
        for task, one, other, scored in zip(some, first, second, scores, strict=True):
            right = None if check is None else check(task, one.text)
            member = None if known is None else known[len(problems)]
            problems.append(
                ProbedProblem(task, (one.text, other.text), scored, member, None if right is None else right > 0.5)
            )
    return report_of(problems, resamples, seed)


def report_of(problems: Sequence[ProbedProblem], resamples: int = 1000, seed: int = 0) -> ContaminationReport:
    """Summary of the scores: AUCs where members are known, and the findings in words."""
    names = list(problems[0].scores)
    areas: dict[str, Separation] = {}
    balanced: dict[str, Separation] = {}
    known = [each for each in problems if each.member is not None]
    if known:
        members = [bool(each.member) for each in known]
        checked = all(each.right is not None for each in known)
        for name in names:
            values = [each.scores[name] for each in known]
            areas[name] = separation(values, members, None, resamples, seed)
            if checked:
                balanced[name] = separation(values, members, [each.right for each in known], resamples, seed)
    return ContaminationReport(tuple(problems), areas, balanced, _words(problems, areas, balanced))


def _membership(tasks: Sequence[Task], members: Sequence[bool] | Collection[str] | None) -> list[bool] | None:
    if members is None:
        return None
    given = list(members)
    if all(isinstance(each, bool | np.bool_) for each in given):
        if len(given) != len(tasks):
            raise UserError(
                f"{len(given)} memberships for {len(tasks)} problems: give one for each, or the members' keys"
            )
        return [bool(each) for each in given]
    keys = {str(each) for each in given}
    if not keys & {task.key for task in tasks}:
        raise UserError(f"no problem has a key of `members`: keys look like {tasks[0].key!r}")
    return [task.key in keys for task in tasks]


def _shown_again(model: Model, task: Task, said: Segment, wording: str) -> str:
    """The problem with its first answer; of an answer that the context would not hold twice, as much as leaves room for it."""
    most, answer = model.max_positions, said.text
    while most is not None and answer:
        text = wording.format(prompt=task.prompt, answer=answer)
        if len(model.encode(Ask(task, prompt=text).shown)) + len(said.actions) + SPARE <= most:
            return text
        answer = answer[: len(answer) // 2]
    return wording.format(prompt=task.prompt, answer=answer)


def _scores(model: Model, first: Sequence[Segment], second: Sequence[Segment], share: float) -> list[dict[str, float]]:
    """By every detector that the model can be read for."""
    has_top = "top_logp" in model.readings({})
    want = ["logp", "entropy", *(["top_logp"] if has_top else [])]
    ones = _read(model, first, want)
    others = _read(model, second, ["entropy"])
    scores = []
    for one, other in zip(ones, others, strict=True):
        logp, entropy = one["logp"], one["entropy"]
        scored = {
            "self_critique": detectors.self_critique(entropy, other["entropy"]),
            "perplexity": detectors.perplexity(logp),
            "min_k": detectors.min_k(logp, share),
            "entropy": detectors.mean_entropy(entropy),
        }
        if has_top:
            scored["min_k_plus"] = detectors.min_k_plus(logp, entropy, one["top_logp"], share)
        scores.append(scored)
    return scores


def _read(model: Model, said: Sequence[Segment], want: Sequence[str]) -> list[Mapping[str, Any]]:
    """What a model says of answers after what was shown, as arrays; nothing of those it cannot look at."""
    readings = probe(model, [((), s.view, s.actions) for s in said], want)
    nothing = {name: np.zeros((0, 1) if name == "top_logp" else 0) for name in want}
    return [
        nothing if each is None else {name: value.double().cpu().numpy() for name, value in each.items()}
        for each in readings
    ]


def _words(
    problems: Sequence[ProbedProblem], areas: Mapping[str, Separation], balanced: Mapping[str, Separation]
) -> tuple[str, ...]:
    said = []
    same = sum(each.answers[0] == each.answers[1] for each in problems)
    said.append(f"{len(problems)} problems were asked twice; to {same} of them the same was said again, word for word.")
    for name, area in areas.items():
        telling = "distinguishes members from others" if area.tells else "does not distinguish members from others"
        at_equal = f"; at equal accuracy {balanced[name].auc:.3f}" if name in balanced else ""
        said.append(
            f"{WORDS[name]}: AUC {area.auc:.3f} ({area.low:.3f} to {area.high:.3f}) over {area.members} members and"
            f" {area.others} others{at_equal}: it {telling}."
        )
    if not areas:
        said.append("Without members the scores only order problems: compare with a model that cannot have seen them.")
    return tuple(said)


@dataclass(frozen=True)
class Separation:
    """The chance that a member has the higher score than another problem: 0.5 is guessing. `low` and `high` are 95 %."""

    auc: float
    low: float
    high: float
    members: int
    others: int

    @property
    def tells(self) -> bool:
        """Whether it is better than guessing, by its interval."""
        return self.low > 0.5


def separation(
    scores: Sequence[float],
    members: Sequence[bool],
    strata: Sequence[object] | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> Separation:
    """The area with a percentile bootstrap: members and others are resampled separately, each as many as there are. Problems
    without a score are left out."""
    values, of = np.asarray(scores, dtype=np.float64), np.asarray(members, dtype=bool)
    kept = np.isfinite(values)
    values, of = values[kept], of[kept]
    groups = None if strata is None else [each for each, is_kept in zip(strata, kept, strict=True) if is_kept]
    area = auc_interval(values, of, groups, resamples, seed)
    return Separation(*area, int(of.sum()), int((~of).sum()))
