"""ReMax: the reward of the greedy answer to the same prompt is the baseline of every try at it."""

from __future__ import annotations

from math import log, nan

import torch
from harness import Mechanism, Scripted, World, made
from strategies import episode, segment

import guerdon as gd
from guerdon.core.pack import pack
from guerdon.credit.restart_values import greedy_baseline

P, WORTH = [0.5, 0.3, 0.2], {"a": 0.6, "b": 1.0, "c": 0.0}  # of three answers the first is the likeliest


class letters:
    """Problems that are answered by a letter, each of some worth; the second problem is worth half."""

    name = "letters"

    def get(self, split, index):
        return gd.Task(str(index), f"p{index % 2}", "b")

    def size(self, split):
        return 2

    def check(self, task, completion):
        return WORTH[completion] / (1 + int(task.prompt[1]))


def batch(*tries, tokens=None):
    """Tries at problems 0, 1 and so on, as texts, none for a try that failed; asked with a longest length or without."""
    eps = []
    for number, texts in enumerate(tries):
        ask = gd.Ask(letters().get("train", number), len(texts), sampling=tokens and gd.Sampling(max_tokens=tokens))
        for attempt, text in enumerate(texts):
            turn = segment(["abc".index(text or "a")], text=text or "", view=ask.shown)
            eps.append(episode(turn, ask=ask, number=number, attempt=attempt))
            if text is None:
                eps[-1] = eps[-1].but(info={"error": "no answer"})
    return pack(eps)


class Greedy(Scripted):
    """Plays the likeliest answer where it is asked at temperature 0, and what is wrong elsewhere; fails at `broken`."""

    def __init__(self, broken=""):
        def answer(ask, attempt):
            return None if ask.shown == broken else "a" if ask.sampling.temperature == 0 else "c"

        super().__init__(answer)
        self.asks = []

    def __call__(self, asks, env=None, seats=None):
        self.asks += [(ask.shown, ask.n, ask.sampling.max_tokens) for ask in asks]
        return super().__call__(asks, env, seats)


def credited(*tries, play=None, tokens=None, **knobs):
    made_of, play = made("remax", letters(), **knobs), play or Greedy()
    made_batch = batch(*tries, tokens=tokens)
    for stage in made_of.stages[:-1]:
        made_batch = stage(made_batch, play)
    return made_batch


def advantages(*tries, **knobs):
    return credited(*tries, **knobs)["advantage"].tolist()


def gradients(method="remax"):
    """Of every answer that may be drawn, with its probability: the gradient by the logits."""
    learner = made("remax", letters()).stages.learners[0]
    for action, text in enumerate("abc"):
        tried = credited([text])
        if method == "reinforce":
            tried.cols["advantage"].value[:] = WORTH[text]
        logits = torch.tensor(P).log().requires_grad_()
        logp = logits.log_softmax(0)[[action]]
        tried.logp[:] = logp.detach()
        learner.loss(tried, {"logp": logp, "entropy": torch.zeros(1)})[0].backward()
        yield P[action], -256 * logits.grad


def expected(method="remax"):
    return sum(p * gradient for p, gradient in gradients(method)).tolist()


def variance(method="remax"):
    mean = torch.tensor(expected(method))
    return float(sum(p * (gradient - mean).square().sum() for p, gradient in gradients(method)))


def true_gradient():
    mean = sum(p * w for p, w in zip(P, WORTH.values(), strict=True))
    return [p * (w - mean) for p, w in zip(P, WORTH.values(), strict=True)]


def asked():
    play = Greedy()
    credited(["a", "b"], ["c"], play=play, tokens=7)
    return play.asks


def noted(broken):
    play = Greedy(broken)
    credited(["a", "b"], ["c"], play=play)
    return [play.metrics["advantage/greedy"], play.metrics["advantage/no_baseline"]]


def moved_ratio():
    """The loss of two tries at ratios of 1.1, whose sum over steps is divided by tries and the longest length."""
    tried = credited(["b", "c"], max_tokens=10)
    live = {"logp": tried.logp + log(1.1), "entropy": torch.zeros(2)}
    return float(made("remax", letters(), max_tokens=10).stages.learners[0].loss(tried, live)[0])


def with_reward():
    recipe = made("remax", letters(), reward=gd.reward(lambda completion: 1.0))
    return [repr(stage) for stage in recipe.stages[1:3]]


mechanism = Mechanism(
    "remax",
    source="arXiv:2310.10505, algorithm 1: (r(y) - r(greedy y)) times the gradient of log pi(y)",
    also=[greedy_baseline],
    numbers={
        "less the greedy answer's reward": (lambda: advantages(["a", "b", "c"], ["b"]), [0.0, 0.4, -0.6, 0.2]),
        "each problem once more": (asked, [("p0", 1, 7), ("p1", 1, 7)]),
        "the gradient of REINFORCE, by enumeration": (
            lambda: [expected(), expected("reinforce")],
            [true_gradient()] * 2,
        ),
        "a greedy answer that fails": (
            lambda: credited(["a", "b"], ["b"], play=Greedy("p1"))["advantage"].tolist(),
            [0.0, 0.4, nan],
        ),
        "a try that fails": (lambda: advantages(["b", None]), [0.4, nan]),
        "what is noted": (lambda: [*noted(""), *noted("p1")], [0.5, 0.0, 0.6, 1 / 3]),
        "the loss": (moved_ratio, -1.1 * (0.4 - 0.6) / 20),
        "of a reward that is given": (
            with_reward,
            [
                "score(reward=reward(function=<lambda>))",
                "greedy_baseline(score=score(reward=reward(function=<lambda>)))",
            ],
        ),
        "composed": (
            lambda: (
                [repr(stage) for stage in made("remax", kl=0.1, lr=0.5, max_tokens=8).stages[2:]]
                + [made("remax", prompts=3, tries=2, steps=5, temperature=0.5).curriculum.tries]
            ),
            [
                "Learn(model='policy', loss=total(terms=[clipped(mean='constant', constant=8), kl(weight=0.1, mean='constant', "
                "constant=8)]), opt=adam(lr=0.5))",
                2,
            ],
        ),
        "held to its start by a term": (
            lambda: [sorted(made("remax", kl=0.1).models), sorted(made("remax").models)],
            [["policy", "reference"], ["policy"]],
        ),
        "sampled so": (
            lambda: [
                repr(made("remax", temperature=0.5, max_tokens=9).sampling),
                made("remax", prompts=3).prompts,
                made("remax", steps=5).steps,
            ],
            ["Sampling(temperature=0.5, max_tokens=9)", 3, 5],
        ),
    },
    world=World(
        says="the variance of the gradient is below that of REINFORCE without a baseline",
        measure=variance,
        off={"method": "reinforce"},
        moves=-0.05,
    ),
    equal={
        "greedy_baseline.__call__: -1 -> 1": "an ask that has a track was asked again",
        "greedy_baseline.__call__: with_step_column(...) with base before column": "of the two reasons the worse one is taken",
    },
)
