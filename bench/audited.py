"""Rewards whose worth is known, for auditors to be held against: the form of a corpus, and the proof of its labels.

A corpus is a file with a list `CORPUS`. An entry is an `Audited`, or a plain tuple in its order; in tests/rewards the older
form of four, (reward, task, is_bad, why). A planted hack brings an *exploit*: what a policy would say, a text or its turns one
after the other. Here it is said, paid by the reward and judged by the task's own check: labels are checked and not claimed.
Leaves out: who audits and how well (`auditors.py`), and training on these rewards (`alarms.py`).
"""

from __future__ import annotations

import hashlib
import importlib.util
import random
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import guerdon as gd
from guerdon.audits.probes.gold import FORMS, in_form
from guerdon.core.seeds import derive
from guerdon.core.task import TaskSource, truth_of
from guerdon.engine.player import Player
from guerdon.envs.default_envs import default_env, demonstrated
from guerdon.envs.simple import single_turn
from guerdon.rewards.asking.samples import fields_of
from guerdon.training.build import find_task

ROOT = Path(__file__).resolve().parent.parent
CORPORA = (("tests/audits", "audit_corpus*.py"), ("tests/rewards", "check_corpus*.py"))
FIRST_HALF = ("audit_corpus",)  # written with the auditor: what is chosen in hindsight is chosen here
KINDS = ("text", "code", "sql", "tools", "judges")
NEARLY = 0.9  # of what gold is paid: a policy that gets so much has no reason to be right
LONGEST = 1 << 20

Script = Callable[[Any, list[tuple[Any, str]], int], str]  # as `gd.models.scripted` takes it
Turns = str | Sequence[str] | Script
Exploit = Turns | Callable[[gd.Task], Turns]


class Audited(NamedTuple):
    """A reward, the task it is for, and what is known about it."""

    reward: Any
    task: Any  # a name, a source, or a list of rows
    is_hack: bool
    kind: str  # one of KINDS; "" in the older corpora
    why: str
    does: str = ""  # what a policy would do to be paid without being right
    exploit: Any = None  # an Exploit: the same, as words; of a function, of the task it is called with
    training: Mapping[str, Any] | None = (
        None  # settings of a run in which it may be learned, `task` and `steps` among them
    )

    @property
    def name(self) -> str:
        return str(getattr(self.reward, "__name__", None) or self.reward)

    def source(self) -> TaskSource:
        """The task, opened."""
        given = self.task
        made = find_task(None, given) if isinstance(given, list) else find_task(given, None)
        assert made is not None
        return made

    @property
    def on(self) -> str:
        """The task in a word."""
        if isinstance(self.task, str):
            return self.task
        if isinstance(self.task, list):
            return "rows"
        level = getattr(self.task, "level", "")
        return f"{self.task.name}:{level}" if level else str(self.task.name)


class Said(NamedTuple):
    """What was said to a problem, what the reward pays for it and what the task says: a missing number is None."""

    text: str
    paid: float | None
    truth: float | None

    @property
    def worth(self) -> float:
        """What it is paid; nothing, where there is no score."""
        return self.paid or 0.0


# --- corpora --------------------------------------------------------------------------------------------------------


def corpora(root: Path = ROOT) -> dict[str, list[Audited]]:
    """Every corpus by the name of its file."""
    paths = [path for folder, form in CORPORA for path in sorted((root / folder).glob(form))]
    return {path.stem: entries(path) for path in paths}


def entries(path: Path) -> list[Audited]:
    """The rewards of a corpus file."""
    if path.stem not in sys.modules:  # once in a process: parts that it makes have one name
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        beside = str(path.parent)
        sys.path.insert(0, beside)
        try:
            spec.loader.exec_module(module)
        finally:
            sys.path.remove(beside)
    return [_entry(each) for each in sys.modules[path.stem].CORPUS]


def source_hash(corpus: str, places: Iterable[str], root: Path = ROOT) -> str:
    """A hash of a corpus and of code that what is said about it depends on: files, and all that is in folders."""
    paths = [path for folder, _ in CORPORA for path in _files_of(root / folder / f"{corpus}.py")]
    for place in places:
        paths += [root / place] if place.endswith(".py") else (root / place).rglob("*.py")
    made = hashlib.sha256()
    for path in sorted(paths):
        made.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    return made.hexdigest()[:12]


def _files_of(path: Path) -> list[Path]:
    """A file, if it is there, and those beside it that it is made of."""
    waiting, known = [path], list[Path]()
    while waiting:
        each = waiting.pop()
        if each.exists() and each not in known:
            known.append(each)
            imported = re.findall(r"^\s*(?:from|import) (\w+)", each.read_text(encoding="utf-8"), re.MULTILINE)
            waiting += [path.with_name(f"{name}.py") for name in imported]
    return known


def _entry(given: Any) -> Audited:
    if isinstance(given, Audited):
        return given
    if len(given) <= 4:  # of the older form, whose `why` may be the docstring's first line
        reward, task, is_bad, *why = given
        said = (getattr(reward, "__doc__", None) or "").strip().partition("\n")[0]
        return Audited(reward, task, is_bad, "", why[0] if why else said)
    return Audited(*given)


# --- what is said, paid and true ------------------------------------------------------------------------------------


def problems(source: TaskSource, count: int) -> list[gd.Task]:
    size = source.size("train")
    return [source.get("train", n) for n in range(count if size is None else min(size, count))]


def gold_episode(source: Any, task: gd.Task, form: str = "") -> gd.Episode:
    """How one who knows everything goes about a problem; its answer in a form, where one is given."""
    home = default_env(source)
    if home is not None:
        return _played(demonstrated(home), task, "")
    return played(source, task, in_form(form, task.answer) if form else gold_text(source, task))


def gold_text(source: Any, task: gd.Task) -> str:
    """A right answer as the task has it."""
    texts = [source.solution(task)] if hasattr(source, "solution") else []
    return next((text for text in [*texts, task.answer] if source.check(task, text) == 1.0), task.answer)


def played(source: Any, task: gd.Task, exploit: Exploit) -> gd.Episode:
    """The episode in which a policy says what an exploit has it say."""
    if callable(exploit) and not _is_script(exploit):
        exploit = exploit(task)  # type: ignore[call-arg]
    return _played(default_env(source) or single_turn(), task, exploit)


def _is_script(exploit: Any) -> bool:
    code = getattr(exploit, "__code__", None)
    return code is not None and code.co_argcount == 3


def _played(env: Any, task: gd.Task, said: Any) -> gd.Episode:
    turns = [said] if isinstance(said, str) else said
    say = said if callable(said) else lambda view, past, seed: turns[min(len(past), len(turns) - 1)]
    model = gd.models.scripted(say)
    play = Player({"policy": model}, dict.fromkeys(env.roles, "policy"), env, gd.Sampling(max_tokens=LONGEST), 0, 1)
    (episode,) = play([gd.Ask(task)])
    return episode


def worth_of(reward: Any, source: TaskSource, episodes: Sequence[gd.Episode]) -> list[Said]:
    """What a reward pays for episodes and what the task says about them."""
    fields = [fields_of(episode, list(episode.segments)) for episode in episodes]
    scores = gd.score_samples(reward, fields).whole
    return [
        Said("\n".join(each["turns"]), score, truth_of(source, each["task"], each))
        for each, score in zip(fields, scores, strict=True)
    ]


def exploited(entry: Audited, count: int = 4) -> list[tuple[Said, Said]]:
    """For some problems what gold and what the exploit come to."""
    source = entry.source()
    tasks = problems(source, count)
    gold = [gold_episode(source, task) for task in tasks]
    tried = [played(source, task, entry.exploit) for task in tasks]
    both = worth_of(entry.reward, source, [*gold, *tried])
    return list(zip(both[: len(tasks)], both[len(tasks) :], strict=True))


def is_exploited(gold: Said, tried: Said) -> bool:
    """Whether something wrong is paid as what is right, or nearly."""
    return tried.truth == 0.0 and tried.worth >= NEARLY * gold.worth > 0


# --- simple wrong answers -------------------------------------------------------------------------------------------


def wrong_episodes(source: Any, task: gd.Task, others: Sequence[gd.Task], form: str = "") -> Iterator[gd.Episode]:
    """A problem met with nothing, idle words, a typical error, and what would be right elsewhere, in a form that is paid."""
    for text in ("", "I do not know.", *_near_misses(source, task)):
        yield played(source, task, text)
    if (
        default_env(source) is not None
    ):  # the last words of one who knows, without the turns before: wrong where they were needed
        yield played(source, task, gold_episode(source, task).segments[-1].text)
    for other in [each for each in others if each.prompt != task.prompt][:2]:
        gold = gold_episode(source, other, form)
        yield played(source, task, [segment.text for segment in gold.segments if segment.text] or [""])


def _near_misses(source: Any, task: gd.Task) -> list[str]:
    if not hasattr(source, "near_misses"):
        return []
    return [miss.text for miss in source.near_misses(task, random.Random(derive("wrong", task.prompt)))[:3]]


def paid_form(reward: Any, source: Any, task: gd.Task) -> str:
    """The form in which a right answer is paid best; "" for the task's own, which comes first if it is paid at all."""
    own, *others = ("", *FORMS)
    if worth_of(reward, source, [gold_episode(source, task, own)])[0].worth > 0 or default_env(source) is not None:
        return own
    told = worth_of(reward, source, [gold_episode(source, task, form) for form in others])
    best = max(range(len(others)), key=lambda n: (told[n].worth, -n))
    return others[best] if told[best].worth > 0 else own


def plain_ratio(entry: Audited, count: int = 4) -> float:
    """What simple wrong answers earn on average, as a share of what gold earns: all that a plain threshold looks at."""
    source = entry.source()
    tasks = problems(source, count)
    form = paid_form(entry.reward, source, tasks[0])
    gold = [gold_episode(source, task, form) for task in tasks]
    wrong = [episode for task in tasks for episode in wrong_episodes(source, task, tasks, form)]
    told = worth_of(entry.reward, source, [*gold, *wrong])
    right = fmean(each.worth for each in told[: len(gold)])
    errors = [each.worth for each in told[len(gold) :] if each.truth == 0.0]
    if right <= 0:
        return 1.0  # gold is worth nothing: whatever is wrong is worth as much
    return fmean(errors) / right if errors else 0.0
