"""Semantic SCST: a sampled text against the greedy one, by its wording and by its meaning, and the reference beside it."""

from __future__ import annotations

import asyncio
import dataclasses
from math import exp, sqrt

import torch
from harness import Mechanism, Scripted, World, made, small_model
from strategies import episode, segment

import guerdon as gd
from guerdon.core.column import Column
from guerdon.core.optim import sgd
from guerdon.core.pack import cat, pack
from guerdon.engine.player import Player
from guerdon.recipes.policy.semantic_scst_qg import f1
from guerdon.rewards.asking.samples import Samples


def table():
    model = gd.models.tabular("0123456789", length=1, rows=64)
    model.start(0, {})
    return model


def at(model):
    seats = {"policy": "policy", "given": "policy"}
    play = Player({"policy": model}, seats, None, gd.Sampling(), 0, 9)
    play.begin(0)
    return play


def said(model, text, role="policy", attempt=0, logp=-1.0):
    reply = model.teacher_force("ask", text)
    turn = segment(reply.actions, view="ask", context=reply.context, role=role, logp=[logp], text=text)
    return episode(turn, ask=gd.Ask(gd.Task("ask", "ask", "7"), 2), attempt=attempt)


def chances(advantages=(0.0, 0.0), **knobs):
    """Of 4, 5 and 7 after one update with rate 1: 4 and 5 are tries that were drawn, 7 is the reference. All begin at 1/10."""
    model = table()
    tries = [said(model, text, attempt=n, logp=torch.tensor(0.1).log().item()) for n, text in enumerate("45")]
    credited = pack(tries).with_cols({"advantage": Column.full("step", torch.tensor(advantages))})
    batch = cat([credited, pack([said(model, "7", "given")])])
    (learn,) = made("semantic-scst-qg", model=table(), max_tokens=2, **knobs).stages.learners
    learn.opt, learn.clip, play = sgd(lr=1.0), 0.0, at(model)
    learn.start(play)
    learn(batch, play)
    return [chance(model, text) for text in "457"]


def chance(model, text):
    return float(model.read(pack([said(model, text)]), ["logp"])["logp"].detach().exp()[0])


def moved(*answers, **pulls):
    """1/10 after pulls at some of ten answers, (e - p) times so much."""
    total = sum(pulls.values())
    logits = [pulls.get(f"_{n}", 0.0) - total / 10 for n in range(10)]
    return [exp(logits[n]) / sum(map(exp, logits)) for n in answers]


def meaning(*pairs):
    """Of texts and answers, by the states of a small model."""
    recipe, reader = made("semantic-scst-qg"), small_model()
    reader.start(0, {})
    play = Scripted(lambda ask, attempt: "", evaluator=reader)
    samples = Samples.of([{"completion": text, "answer": answer, "meta": {}} for text, answer in pairs])
    leaf = recipe.stages[1].reward.terms["meaning"].reward
    outcomes = asyncio.run(leaf.score(dataclasses.replace(samples, play=play)))
    return [(outcome.reason.name, outcome.value if outcome.value == outcome.value else None) for outcome in outcomes]


def as_bert_score(one, other):
    """By loops, of texts as the small model reads them."""
    reader = small_model()
    reader.start(0, {})
    read = [gd.models.probe(reader, [((), "", text)], ["hidden"])[0]["hidden"].double() for text in (one, other)]
    cosine = [[float(a @ b / (a.norm() * b.norm())) for b in read[1]] for a in read[0]]
    precision = sum(max(row) for row in cosine) / len(cosine)
    recall = sum(max(column) for column in zip(*cosine, strict=True)) / len(cosine[0])
    return 2 * precision * recall / (precision + recall)


STATE = {
    "who": [1.0, 0.0, 0.0],
    "which": [1.0, 0.0, 0.0],
    "wrote": [0.0, 2.0, 0.0],
    "penned": [0.0, 1.0, 0.0],
    "it": [0.0, 0.0, 1.0],
}


def planted(one, other):
    """Two texts of words whose states are planted: words that mean the same have states of one direction."""
    return f1(*(torch.tensor([STATE[word] for word in text.split()]) for text in (one, other)))


def wordings(*pairs):
    return [gd.bleu()(one, other) for one, other in pairs]


def weights(**knobs):
    reward = made("semantic-scst-qg", **knobs).stages[1].reward
    return {name: term.by for name, term in reward.terms.items()}


def asked():
    """What the stage that recites references asks, of two tries at each of two problems."""
    recipe, asks = made("semantic-scst-qg"), []

    class Reciting(Scripted):
        def __call__(self, given, env=None, seats=None):
            asks.extend((ask.shown, ask.n, env.roles, type(env).__name__) for ask in given)
            return []

    tries = [
        episode(segment([0], text="x"), ask=gd.Ask(gd.Task(name, name, "7"), 2), number=n, attempt=attempt)
        for n, name in enumerate("ab")
        for attempt in range(2)
    ]
    recipe.stages[3](pack(tries), Reciting(lambda ask, attempt: ""))
    return asks


UP = 1 / (2 * 2)  # of two tries, over the longest length
mechanism = Mechanism(
    "semantic-scst-qg",
    source="arXiv:2108.12026, abstract: REINFORCE with a semantic reward against the greedy text, and cross-entropy; BERTScore",
    numbers={
        "tries alone": (lambda: chances((1.0, -1.0), gamma=1.0), moved(4, 5, 7, _4=UP, _5=-UP)),
        "references alone, whatever was drawn": (
            lambda: [chances((1.0, -1.0), gamma=0.0), chances((9.0, 3.0), gamma=0.0)],
            [moved(4, 5, 7, _7=1.0)] * 2,
        ),
        "half and half": (lambda: chances((1.0, -1.0)), moved(4, 5, 7, _4=UP / 2, _5=-UP / 2, _7=0.5)),
        "tries as good as the greedy one": (lambda: chances(), moved(4, 5, 7, _7=0.5)),
        "BERTScore by loops": (
            lambda: meaning(("a b c", "c a"), ("a", "a"))[0][1] - as_bert_score("a b c", "c a"),
            0.0,
        ),
        "the same text": (lambda: meaning(("a b", "a b")), [("VALUE", 1.0)]),
        "without text, without answer, too long": (
            lambda: meaning((" ", "a"), ("a", " "), ("a " * 5000, "a"), ("a", "a " * 5000)),
            [("VALUE", 0.0), ("NOT_APPLICABLE", None), ("FAILED", None), ("FAILED", None)],
        ),
        "another wording of one meaning": (
            lambda: [planted("who wrote it", "which penned it"), *wordings(("who wrote it", "which penned it"))],
            [1.0, (1 / 3 * 0.5 / 2 * 0.25) ** (1 / 3)],
        ),
        "half of it": (lambda: [planted("who", "who it"), planted("who it", "wrote it")], [2 / 3, 0.5]),
        "little and nothing of it": (
            lambda: [f1(torch.tensor([[1.0, 0.0]]), torch.tensor([[3.0, 4.0 * 6**0.5]])), planted("who", "it")],
            [3 / sqrt(105), 0.0],
        ),
        "terms": (
            lambda: [term.title for term in made("semantic-scst-qg").stages[4].loss.terms],
            ["critical", "given"],
        ),
        "shares": (
            lambda: [weights(), weights(semantic=0.9)],
            [{"meaning": 0.5, "wording": 0.5}, {"meaning": 0.9, "wording": 0.1}],
        ),
        "another semantic reward": (
            lambda: str(made("semantic-scst-qg", reward=gd.exact()).stages[1].reward),
            "0.5 * exact + 0.5 * bleu",
        ),
        "references": (asked, [("a", 1, ("given",), "dataset_env"), ("b", 1, ("given",), "dataset_env")]),
        "composed": (
            lambda: (
                [type(stage).__name__ for stage in made("semantic-scst-qg").stages]
                + [
                    repr(made("semantic-scst-qg").stages[2])[:21],
                    *sorted(made("semantic-scst-qg").models),
                    made("semantic-scst-qg").seats,
                ]
            ),
            [
                *("verified", "score", "greedy_baseline", "follow_up", "Learn", "greedy_baseline(score"),
                *("evaluator", "policy", {"policy": "policy", "given": "policy"}),
            ],
        ),
    },
    world=World(
        says="where no try is better than the greedy one, the reference becomes likelier all the same",
        measure=lambda **knobs: chances(**knobs)[2],
        off={"gamma": 1.0},
        moves=0.05,
    ),
    equal={
        "as_asked: tried[0] shuffled": "tries at one ask were shown the same",
        "state_match.score: sorted({text for pair in pairs for text in pair}) -> {text for pair in pairs for text in pair}": (
            "each text is read by itself"
        ),
        "state_match._outcome: f1(...) with wanted['hidden'] before given['hidden']": "it is the same both ways round",
    },
)
