"""InTRO: at every place of a right try, tokens the policy might say, weighted by what knowing the answer makes of them."""

from __future__ import annotations

from math import inf, nan

import torch
from harness import Later, Mechanism, World, made
from strategies import episode, segment

import guerdon as gd
from guerdon.core.column import Column
from guerdon.core.pack import pack

TOKENS = [7, 3, 5]  # the likeliest tokens at every place
PLAIN = [[0.5, 0.3, 0.2], [0.2, 0.2, 0.6], [0.1, 0.8, 0.1], [1.0, 0.0, 0.0]]  # their chances at four places
KNOWING = {3: 0.6, 5: 0.3, 7: 0.1}  # what they are once the answer is shown


class Policy:
    """A model whose tokens have other chances below a question that shows the answer `42`."""

    def encode(self, view):
        self.view = view
        return [9, *([4, 2] if "42" in view else [])]

    def read(self, told, want):
        assert want == ["logp_at"] and not torch.is_grad_enabled()
        shown = [
            told.context.tolist()[start:] for start in (told.context_length.cumsum(0) - told.context_length).tolist()
        ]
        assert all(context[:3] == [9, 4, 2] for context in shown)
        assert all("42" in each.segments[0].view for each in told.episodes)
        named = told["candidates.top_token"]
        return {"logp_at": torch.tensor([[KNOWING[int(j)] for j in row] for row in named.tolist()]).log()}


def recipe(**knobs):
    return made("intro", "countdown:3", **knobs)


def batch(*lengths, plain=PLAIN, correct=None):
    """Tries of so many tokens, with the likeliest tokens of the policy at each."""
    ask = gd.Ask(gd.Task("0", "which?", "42"))
    tries = pack([episode(segment([7] * n, view="which?"), ask=ask, attempt=k) for k, n in enumerate(lengths)])
    top, S = torch.tensor(plain)[: sum(lengths)], sum(lengths)
    return tries.with_cols(
        {
            "correct": Column.full("track", torch.tensor(correct or [1.0] * len(lengths))),
            "policy.top_token": Column.full("step", torch.tensor([TOKENS] * S).double().view(S, 3)),
            "policy.top_logp": Column("step", top.log().view(S, 3), top.isnan().view(S, 3).any(1).to(torch.int8)),
        }
    )


def drawn(*lengths, policy=None, **knobs):
    """The batch with candidates and their weights, and what is noted."""
    play = Later(0, 1)
    play.models = {"policy": policy or Policy()}
    (stage,) = recipe(**knobs).stages[1:-1]
    return stage(batch(*lengths), play), play.metrics


def weights(*lengths, **knobs):
    """Whether each weight is min(knowing / plain, most), of the tokens that the policy's own chances draw; and how many."""
    most = knobs.get("most", 200.0)
    after, _ = drawn(*lengths, **knobs)
    tokens, weight = after["candidates.top_token"].tolist(), after["candidates.weight"].tolist()
    plain = [dict(zip(TOKENS, chances, strict=True)) for chances in PLAIN]
    expected = [
        [min(KNOWING[int(j)] / here[int(j)], most) for j in row] for here, row in zip(plain, tokens, strict=False)
    ]
    same = torch.allclose(torch.tensor(weight), torch.tensor(expected).view_as(torch.tensor(weight)))
    return [same, len(tokens), len(tokens[0]) if tokens else 0, "policy.top_token" in after.cols]


def counted():
    """The candidates of three places, and by hand from the policy's chances by the same random numbers."""
    tokens = drawn(3, candidates=40)[0]["candidates.top_token"].long()
    chances = torch.tensor(PLAIN[:3]).double()
    by_hand = torch.multinomial(chances, 40, True, generator=torch.Generator().manual_seed(0))
    return torch.equal(tokens, torch.tensor(TOKENS)[by_hand])


def unread():
    """The weights where the policy was not read, of a place that was given."""
    play = Later(0, 1)
    play.models = {"policy": Policy()}
    tries = batch(2, plain=[[nan] * 3, [1.0, 0.0, 0.0]])
    return recipe(candidates=1).stages[1](tries, play)["candidates.weight"].tolist()


def shown(**knobs):
    policy = Policy()
    drawn(1, policy=policy, **knobs)
    return policy.view


def loss(logp, weight, lengths, muted=(), mean="track"):
    """Of the log-probs of candidates at each place."""
    learner = recipe(candidates=2).stages.learners[0]
    learner.loss.mean = mean
    tries = batch(*lengths)
    for place in muted:
        tries.weight[place] = 0.0
    tries = tries.recount().with_cols({"candidates.weight": Column.full("step", torch.tensor(weight))})
    value, metrics = learner.loss(tries, {"logp_at": torch.tensor(logp)})
    return [float(value), float(metrics["candidate_weight"])]


def learned(**knobs):
    """The tries that are learned from, of a right, a wrong and a half right one."""
    play = Later(0, 1)
    return recipe(**knobs).stages.learners[0].on(batch(1, 1, 1, correct=[1.0, 0.0, 0.5]), play).K


def pull(candidates):
    """How much more a step of gradient descent raises the logit of the token that the answer makes likely (3) than of the one
    that was said (7)."""
    made_of = recipe(candidates=candidates)
    play = Later(0, 1)
    play.models = {"policy": Policy()}
    tries = batch(1)
    for stage in made_of.stages[1:-1]:
        tries = stage(tries, play)
    logits = torch.zeros(10)
    logits[TOKENS] = torch.tensor(PLAIN[0]).log() + 20
    logits.requires_grad_()
    logp = logits.log_softmax(0)
    live = {"logp": logp[tries.action]}
    if candidates:
        live["logp_at"] = logp[tries["candidates.top_token"].long()]
    made_of.stages.learners[0].loss(tries, live)[0].backward()
    return float(logits.grad[7] - logits.grad[3])


ROWS, W = [[-1.0, -3.0], [-2.0, -1.0], [-0.5, -4.0]], [[2.0, 0.0], [1.0, 3.0], [0.5, 0.5]]
COST = [(2 * 1) / 2, (2 + 3) / 2, (0.25 + 2) / 2]
mechanism = Mechanism(
    "intro",
    source="arXiv:2511.09865: -1 / (|z| n) sum_t sum_j w_tj log pi(v_tj), w = min(pi(v | x, y) / pi(v | x), 200), n = 5",
    numbers={
        "five candidates a place, weighted": (lambda: weights(2, 1), [True, 3, 5, False]),
        "cut": (lambda: weights(3, candidates=7, most=0.5), [True, 3, 7, False]),
        "drawn as the policy would": (counted, True),
        "no weight where nothing was read": (unread, [[0.0], [0.1]]),
        "nothing to weigh": (lambda: weights(), [True, 0, 0, False]),
        "the answer below the question": (
            lambda: [shown(show=how) for how in ("line", "sentence")],
            ["which?\n= 42", "which?\n(The answer is 42.)"],
        ),
        "the mean over candidates, places and tries": (
            lambda: loss(ROWS, W, (2, 1)),
            [((COST[0] + COST[1]) / 2 + COST[2]) / 2, 3.5 / 3],
        ),
        "a place that is not learned": (
            lambda: loss([ROWS[0], [-inf, -1.0], ROWS[2]], W, (2, 1), muted=[1])[0],
            (COST[0] + COST[2]) / 2,
        ),
        "over places": (lambda: loss(ROWS, W, (2, 1), mean="step")[0], sum(COST) / 3),
        "right tries alone": (lambda: [learned(), learned(candidates=0)], [1, 1]),
        "imitated as they are": (lambda: repr(recipe(candidates=0).stages.learners[0].loss), "sft(mean='track')"),
    },
    world=World(
        says="a right try said what is unlikely once the answer is known: what is likelier then is learned beside it",
        measure=pull,
        on={"candidates": 60},
        off={"candidates": 0},
        moves=0.3,
    ),
    equal={
        "candidates.__call__: 1.0 -> 2.0": "even chances, whatever their sum",
        "weighed_candidates.__call__: 0.0 -> 1.0": "of a place that weighs nothing",
    },
)
