"""Judges' answers from a model in this process: one that is loaded for it, or one of the run.

The log-probs of words are exact: each is read as the answer it would be.
Left out: models behind a server (`endpoints.py`).
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from guerdon import models as shelf
from guerdon.core.errors import UserError, unknown
from guerdon.core.model import Meter, Model, Reply, Request
from guerdon.core.part import knob, label, part
from guerdon.core.task import Sampling
from guerdon.engine.batching import answer
from guerdon.judges.answerer import Answerer, JudgeAnswer, JudgeQuestion, log_sum_exp, spellings
from guerdon.judges.cache import CachedAnswerer, Keep
from guerdon.models.probing import probe
from guerdon.models.shipped_models import SPRIGS
from guerdon.models.standin import behind
from guerdon.models.text import TextModel

ROOM = 16  # tokens that an answer must have left


def _greedy() -> Sampling:
    return Sampling(temperature=0.0, max_tokens=256)


@part
class local(CachedAnswerer):
    """A model that lies here: `local("sprig")`, a Hugging Face folder or a .gguf file. Its weights decide what is in the cache.

    It keeps this process busy: an episode is judged when all of the step have been played.

    Args:
        model: a shipped model's name, a folder, or a .gguf file.
        sampling: how it samples.
        cache: file of answers; True for the default place, False for none.

    >>> import guerdon as gd
    >>> judge = gd.judge(gd.local("sprig", cache=False), scale="yes")
    >>> tries = [{"prompt": "chain 8 +9 -6", "completion": f"8+9=17\\n17-6={n}\\n= {n}"} for n in (11, 12)]
    >>> gd.score_samples(judge, tries).whole
    [1.0, 0.0]
    """

    model: str = knob(default="sprig", hashed=False)
    sampling: Sampling = knob(factory=_greedy)
    cache: bool | str = knob(default=True, hashed=False)

    waits = False
    outside = False

    def identity(self) -> str:
        return _opened(self.model)[1]

    def in_process(self, models: Mapping[str, Model]) -> TextModel:
        return _opened(self.model)[0]

    def plays_roles(self, models: Mapping[str, Model]) -> bool:
        return _is_sprig(_opened(self.model)[0])

    def who(self, models: Mapping[str, Model]) -> dict[str, Any]:
        return {"weights": self.identity()}

    async def fetch(
        self, questions: Sequence[JudgeQuestion], models: Mapping[str, Model], keep: Keep
    ) -> list[JudgeAnswer]:
        answers = _answers(_opened(self.model)[0], questions, [self.how(each) for each in questions])
        for place, answered in enumerate(answers):
            keep(place, answered)
        return answers


@part
class run_model(CachedAnswerer):
    """A model of the run by its name, as it is now: `run_model("policy")` lets the policy judge itself. Never cached, for it
    learns.

    Args:
        name: name of a model of the run.
        sampling: how it samples.

    >>> import guerdon as gd
    >>> gd.judge(gd.run_model("critic"), scale="yes")
    judge(by=run_model(name='critic'), scale='yes')
    """

    name: str = "policy"
    sampling: Sampling = knob(factory=_greedy)

    waits = False
    outside = False
    cache = False

    def in_process(self, models: Mapping[str, Model]) -> TextModel:
        return self._named(models)

    def plays_roles(self, models: Mapping[str, Model]) -> bool:
        return _is_sprig(self._named(models))

    def who(self, models: Mapping[str, Model]) -> dict[str, Any]:
        return {"name": self.name}

    async def fetch(
        self, questions: Sequence[JudgeQuestion], models: Mapping[str, Model], keep: Keep
    ) -> list[JudgeAnswer]:
        model = copy.copy(self._named(models))
        model.meter = Meter()  # what is asked and answered is counted as that of all judges (`judging.py`)
        return _answers(model, questions, [self.how(each) for each in questions])

    def _named(self, models: Mapping[str, Model]) -> TextModel:
        if not models:
            raise UserError(f"run_model({self.name!r}) needs a training run: elsewhere use local(FOLDER)")
        if self.name not in models:
            raise unknown("model of this run", self.name, models)
        return _speaking(models[self.name], self.name)


def as_answerer(by: Any) -> Answerer:
    """Who answers, from the object itself or the name of a model that lies here."""
    answerer = local(by) if isinstance(by, str) else by
    if not isinstance(answerer, Answerer):
        raise UserError(f"a judge asks a model's name, local(...), endpoint(...) or run_model(...), not {by!r}")
    return answerer


@functools.lru_cache(8)
def _opened(name: str) -> tuple[TextModel, str]:
    """A started model and the hash of its weights. Shared by all judges and all copies of them."""
    model = _speaking(shelf.load(name), name)
    model.start(0, {})
    return model, str(model.identity())


def _speaking(model: Model, name: str) -> TextModel:
    speaker = behind(model)
    if not isinstance(speaker, TextModel):
        raise UserError(f"{name!r} is a {label(speaker)} and cannot judge: a judge is a language model")
    return speaker


def _is_sprig(model: TextModel) -> bool:
    """Whether it is a version of `sprig` or was trained from one: it has the same words and the same form of conversation."""
    return any(model.text_identity == _opened(folder.name)[0].text_identity for folder in SPRIGS)


def _answers(model: TextModel, questions: Sequence[JudgeQuestion], how: Sequence[Sampling]) -> list[JudgeAnswer]:
    views = [_view(each) for each in questions]
    sizes = [len(model.encode(view)) for view in views]
    fits = [size + ROOM <= model.max_positions for size in sizes]
    speak = [n for n, each in enumerate(questions) if fits[n] and (each.thinks or not each.choices)]
    requests = [Request((), views[n], how[n], questions[n].seed) for n in speak]
    replies = dict(zip(speak, answer(model, requests) if requests else [], strict=True))
    stems = {n: _stem(questions[n], replies.get(n)) for n, each in enumerate(questions) if fits[n] and each.choices}
    words = _word_logps(model, {n: (views[n], stem, questions[n]) for n, stem in stems.items() if stem is not None})
    answers = []
    for n, each in enumerate(questions):
        if not fits[n] or (stems.get(n) is not None and n not in words):
            error = f"a question of {sizes[n]} tokens leaves no room in a context of {model.max_positions}"
        else:
            error = f"it did not end in {' or '.join(each.choices)}" if n in stems and stems[n] is None else ""
        text, out = (replies[n].text, len(replies[n].actions)) if n in replies else ("", 0)
        answers.append(JudgeAnswer(text, words.get(n, {}), sizes[n], out, error=error))
    return answers


def _view(question: JudgeQuestion) -> list[dict[str, str]]:
    return [{"role": role, "content": text} for role, text in question.messages]


def _stem(question: JudgeQuestion, reply: Reply | None) -> str | None:
    """The text before the word whose alternatives are wanted; None when the reply does not end in one."""
    if reply is None:
        return ""
    text = reply.text.rstrip()
    word = next((word for word in question.choices if text.lower().endswith(word)), None)
    return None if word is None else text[: -len(word)]


def _word_logps(model: TextModel, wanted: Mapping[int, tuple[Any, str, JudgeQuestion]]) -> dict[int, dict[str, float]]:
    """For each question the log-prob of each word, in any of its spellings, after the text before it. Where that is too
    long for the model there is none."""
    rows = [
        (n, word, np.array(model.chat.tokens(stem + spelling), np.int64))
        for n, (view, stem, question) in wanted.items()
        for word in question.choices
        for spelling in (spellings(word) if not stem else (word,))
    ]
    read = probe(model, [((), wanted[n][0], actions) for n, _, actions in rows], ["logp"])
    mine_of: dict[int, list[tuple[str, np.ndarray, Tensor]]] = {n: [] for n in wanted}
    for (n, word, actions), one in zip(rows, read, strict=True):
        if one is None:
            mine_of.pop(n, None)
        elif n in mine_of:
            mine_of[n].append((word, actions, one["logp"].double()))
    word_logps: dict[int, dict[str, float]] = {}
    for n, mine in mine_of.items():
        shared = _shared([actions for _, actions, _ in mine])
        spelled = {(w, *actions.tolist()): float(p[shared:].sum()) for w, actions, p in mine}
        choices = wanted[n][2].choices
        word_logps[n] = {word: log_sum_exp(p for (w, *_), p in spelled.items() if w == word) for word in choices}
    return word_logps


def _shared(rows: Sequence[np.ndarray]) -> int:
    """How many tokens all of them begin with."""
    size = min(map(len, rows))
    return next((i for i in range(size) if len({int(row[i]) for row in rows}) > 1), size)
