"""Supervised studies: their maths by hand, equal budgets, the same result for the same seed, and the recipes made of them."""

from __future__ import annotations

import json
import sys
from itertools import islice, pairwise, permutations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from killing import Killed
from refusals import refusal
from scheduling import examples, mostly_slow
from scipy.stats import spearmanr

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.core.optim import sgd
from guerdon.core.schedule import linear
from guerdon.core.seeds import generator
from guerdon.recipes.curriculum import curricula_in_federated_learning as federated
from guerdon.recipes.curriculum.curricula_in_federated_learning import (
    Clients,
    dirichlet_split,
    paced,
    ranking,
    visible,
)
from guerdon.recipes.curriculum.curriculum_designer import (
    distances,
    one_at_a_time,
    rank_agreement,
    similarity_score,
)
from guerdon.recipes.curriculum.cyclical_curriculum_learning import cycle, drawn
from guerdon.studies import classify
from guerdon.studies import digits as data
from guerdon.studies.classify import (
    RATES,
    accuracy,
    best_rate,
    fitted,
    gradient_norm,
    learn,
    loss,
    losses,
    network,
    shuffled,
)
from guerdon.studies.digits import Examples, digits
from guerdon.studies.schedules import rex
from guerdon.training.catalog import find_recipe
from guerdon.training.study import StudyRun

STUDIES = [
    "rex",
    "refined-linear-decay",
    "cyclical-curriculum-learning",
    "curricula-in-federated-learning",
    "curriculum-designer",
]


def numbered(n, classes=10):
    """Examples that can be told apart: the first pixel is the row."""
    return Examples(torch.arange(float(n))[:, None].repeat(1, data.PIXELS), torch.arange(n) % classes)


def rows(batches):
    return [batch.x[:, 0].long().tolist() for batch in batches]


def weights(net):
    return torch.cat([w.detach().flatten() for w in net.parameters()])


# --- digits and the classifier ------------------------------------------------------------------------------------


def test_a_split_leaves_nothing_out_and_nothing_twice():
    split = digits(3)
    assert [len(split.train), len(split.validation), len(split.test)] == [1000, 197, 600]
    images = torch.cat([split.train.x, split.validation.x, split.test.x])
    everything = data._load().x
    assert sorted(map(tuple, images.tolist())) == sorted(map(tuple, everything.tolist()))
    assert images.min() == 0.0 and images.max() == 1.0


def test_seeds_split_otherwise_and_a_seed_always_alike():
    assert torch.equal(digits(1).test.x, digits(1).test.x)
    assert not torch.equal(digits(1).test.x, digits(2).test.x)


def test_without_scikit_learn_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with refusal(UserError):
        data._load.__wrapped__()


def test_shuffles_draw_every_example_once_before_any_twice_and_stop_at_the_budget():
    found = rows(shuffled(numbered(10), 25, 4, 0))
    assert [len(batch) for batch in found] == [4, 4, 2, 4, 4, 2, 4, 1]
    flat = [row for batch in found for row in batch]
    assert sorted(flat[:10]) == sorted(flat[10:20]) == list(range(10))
    assert flat[:10] != flat[10:20]


def test_a_step_by_hand():
    """One weight matters: the gradient of the mean cross-entropy in the last bias is softmax minus the class, and SGD goes
    against it by the schedule's rate of that step."""
    net, one = network(0), Examples(torch.zeros(1, data.PIXELS), torch.tensor([3]))
    before = net[2].bias.detach().clone()
    with torch.no_grad():
        pull = net(one.x).softmax(1)[0] - torch.nn.functional.one_hot(torch.tensor(3), 10)
    learn(net, [one], sgd(lr=linear(0.5, 0.0)), 3)
    assert net[2].bias.detach() - before == pytest.approx(-0.5 * pull, abs=1e-6)
    told = []
    learn(
        net,
        [one, one],
        sgd(lr=0.1),
        2,
        lambda net, done: told.append((done, gradient_norm(net, 1), gradient_norm(net, 2))),
    )
    grads = torch.cat([w.grad.flatten() for w in net.parameters()])
    assert [done for done, *_ in told] == [1, 2]
    assert told[1][1:] == pytest.approx((float(grads.abs().sum()), float(grads.square().sum().sqrt())))


@pytest.mark.slow
def test_the_same_seed_learns_the_same_and_digits_are_learned():
    split = digits(0)
    a, b = (fitted(0, split.train, sgd(lr=rex(0.3), momentum=0.9), 100, 50) for _ in range(2))
    assert torch.equal(weights(a), weights(b))
    assert not torch.equal(weights(a), weights(fitted(1, split.train, sgd(lr=rex(0.3), momentum=0.9), 100, 50)))
    assert accuracy(a, split.test) > 0.9
    assert loss(a, split.test) == pytest.approx(float(losses(a, split.test).mean()))


def test_the_rate_with_the_lowest_loss_is_chosen_and_one_that_breaks_down_never():
    one = Examples(torch.zeros(1, data.PIXELS), torch.tensor([0]))

    def made(rate):
        net = network(0)
        with torch.no_grad():
            net[2].bias[0] = float("nan") if rate == RATES["sgd"][0] else -abs(rate - 0.3)
        return net

    assert best_rate("sgd", made, one) == 0.3


# --- sizes that go up and down ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "end", "alpha", "shares"),
    [
        (0.25, 1.0, 0.5, [0.25, 0.5, 1.0, 0.5, 0.25, 0.5, 1.0, 0.5, 0.25]),
        (0.3, 1.0, 0.5, [0.3, 0.6, 1.0, 0.5, 0.3, 0.6, 1.0]),
        (0.5, 0.8, 0.1, [0.5, 0.8, 0.5, 0.8]),
        (1.0, 1.0, 0.5, [1.0, 1.0, 1.0]),
    ],
)
def test_cycles_by_hand(start, end, alpha, shares):
    assert list(islice(cycle(start, end, alpha), len(shares))) == pytest.approx(shares)


def test_a_pass_draws_by_scores_without_replacement_and_the_budget_is_kept():
    scores = torch.tensor([1.0] * 8 + [1e-12] * 8, dtype=torch.float64)
    found = rows(drawn(numbered(16), scores, cycle(0.25, 1.0, 0.5), 40, 100, 0))
    assert [len(batch) for batch in found] == [4, 8, 16, 8, 4]
    assert all(len(set(batch)) == len(batch) for batch in found)
    assert max(found[0] + found[1] + found[3] + found[4]) < 8, "of the likely ones there are enough"
    assert sorted(found[2]) == list(range(16)) and max(found[2][:8]) >= 8, (
        "a whole pass is shuffled, not easy ones first"
    )
    assert [len(batch) for batch in rows(drawn(numbered(16), scores, cycle(0.25, 1.0, 0.5), 21, 3, 0))] == [
        3, 1, 3, 3, 2, 3, 3, 3,
    ]  # fmt: skip


# --- clients ------------------------------------------------------------------------------------------------------


@examples(0.3)
@given(st.integers(1, 12), st.floats(0.01, 100.0), st.integers(0, 1000))
def test_a_split_among_clients_deals_out_every_row_once(clients, alpha, seed):
    labels = torch.arange(200) % 10
    found = dirichlet_split(labels, clients, alpha, seed)
    assert len(found) == clients
    assert torch.cat(found).sort().values.tolist() == list(range(200))


def test_a_small_alpha_leaves_clients_few_classes():
    labels = torch.arange(1000) % 10

    def largest_class(alpha):
        split = [labels[own] for own in dirichlet_split(labels, 10, alpha, 0) if len(own)]
        return sum(float(own.bincount().max() / len(own)) for own in split) / len(split)

    assert largest_class(0.05) > 0.5 > 0.2 > largest_class(100.0)


def test_pacing_by_hand():
    """Of 50: a fifth at first, all from step 80 of 100, 30 half way there."""
    assert [visible(step, 100, 50, 0.2) for step in (0, 40, 79, 80, 100)] == [10, 30, 49, 50, 50]
    assert visible(0, 100, 50, 1.0) == 50
    assert visible(0, 10, 3, 0.2) == 1


@pytest.mark.parametrize("first", [0.2, 1.0])
def test_a_client_takes_its_steps_and_meets_the_front_of_its_order_first(first):
    ranked = torch.arange(40).flip(0)
    found = rows(paced(numbered(40), ranked, 63, 4, generator(0), first))
    assert len(found) == 63
    if first < 1:
        assert min(found[0] + found[1]) >= 32, "the first eight of the order"
        assert min(min(batch) for batch in found) == 0, "all in the end"


def test_orders_by_hand():
    net, own = network(0), digits(0).train[:30]
    hard = losses(net, own)
    easy_first = ranking(net, own, "curriculum", generator(0))
    assert all(a <= b for a, b in pairwise(hard[easy_first].tolist()))
    assert ranking(net, own, "anti", generator(0)).tolist() == easy_first.flip(0).tolist()
    assert sorted(ranking(net, own, "random", generator(0)).tolist()) == list(range(30))


def test_a_round_averages_by_how_many_examples_a_client_has():
    """Clients of 10 and 30 examples that cannot move: the average is what there was. Then one client alone is the average."""
    split = digits(0).train
    own = [torch.arange(10), torch.arange(10, 40), torch.arange(0)]
    net = network(0)
    still = Clients(split, own, sgd(lr=0.0), each_round=2)
    assert still.round(net, "curriculum", 0) == (10 // 10 + 1) * 10 + (30 // 10 + 1) * 10
    assert weights(net) == pytest.approx(weights(network(0)))

    def moved(rows, each_round):
        net = network(0)
        Clients(split, rows, sgd(lr=0.1), each_round=each_round, epochs=1, batch=100).round(net, "none", 0)
        return weights(net) - weights(network(0))

    small, large = moved([own[0]], 1), moved([own[1]], 1)  # one step of all their examples each
    assert moved(own[:2], 2) == pytest.approx(0.25 * small + 0.75 * large, abs=1e-6)


def test_all_orders_take_equally_many_steps():
    split = digits(0).train
    some = Clients(split, dirichlet_split(split.y, 20, 0.05, 0), sgd(lr=0.01), epochs=1)
    taken = {order: some.round(network(0), order, 0, 1) for order in ("curriculum", "anti", "random", "none")}
    assert len(set(taken.values())) == 1


# --- orders of classes --------------------------------------------------------------------------------------------


def test_distances_by_hand():
    """Means along two axes and between them: cosine distances 1 and 1 - 1/sqrt(2)."""
    x = torch.tensor([[2.0, 0.0], [4.0, 0.0], [0.0, 3.0], [1.0, 1.0]])
    apart = distances(Examples(x, torch.tensor([0, 0, 1, 2])), [0, 1, 2])
    near = 1 - 2**-0.5
    assert apart.tolist()[0] == pytest.approx([0.0, 1 / (1 + near), near / (1 + near)])
    assert apart.tolist()[2] == pytest.approx([0.5, 0.5, 0.0])


def test_the_score_of_an_order_by_hand():
    apart = torch.tensor([[0.0, 0.2, 0.8], [0.5, 0.0, 0.5], [0.6, 0.4, 0.0]], dtype=torch.float64)
    spread = apart.var(1, correction=0).tolist()  # 0.11556, 0.05556, 0.06222
    assert spread == pytest.approx([0.1155556, 0.0555556, 0.0622222], abs=1e-6)
    for order in permutations(range(3)):
        first, second, last = order
        by_hand = 1 - spread[first] / sum(spread) + apart[first, second] + 1 - apart[first, last]
        assert similarity_score(order, apart) == pytest.approx(float(by_hand))
    assert max(permutations(range(3)), key=lambda order: similarity_score(order, apart)) == (0, 2, 1)


def test_five_classes_count_two_pairs():
    """1 - spread, then first and last, second and last but one; the class in the middle is only met as the next."""
    apart = torch.rand(5, 5, generator=generator(0), dtype=torch.float64)
    spread = apart.var(1, correction=0)
    by_hand = 1 - spread[2] / spread.sum() + apart[2, 0] + 1 - apart[2, 3] + apart[0, 4] + 1 - apart[0, 1]
    assert similarity_score([2, 0, 4, 1, 3], apart) == pytest.approx(float(by_hand))


def test_classes_come_one_at_a_time_each_once_with_a_few_of_those_before():
    examples = numbered(60, classes=3)
    found = list(one_at_a_time(examples, [2, 0], 8, 3, 0))
    assert [len(batch) for batch in found] == [8, 8, 4, 11, 11, 7]
    first, second = found[:3], found[3:]
    assert {int(y) for batch in first for y in batch.y} == {2}
    assert sorted(r for batch in rows(first) for r in batch) == list(range(2, 60, 3))
    new = [r for batch in rows(second) for r in batch if r % 3 == 0]
    old = {r for batch in rows(second) for r in batch if r % 3 == 2}
    assert sorted(new) == list(range(0, 60, 3)) and len(old) == 3


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=3, max_size=20))
def test_agreement_is_spearmans(pairs):
    a, b = zip(*pairs, strict=True)
    if len(set(a)) > 1 and len(set(b)) > 1:
        assert rank_agreement(a, b) == pytest.approx(spearmanr(a, b).statistic)
    else:
        assert rank_agreement(a, b) == 0.0


# --- the recipes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STUDIES)
def test_a_recipe_is_a_study_whose_arms_can_all_be_built(name):
    entry = find_recipe(name)
    assert entry.claims and isinstance(entry.build({}, {}), gd.Study)
    for claim in entry.claims:
        for words in (claim.baseline, claim.ablation):
            if words:
                arm, *knobs = words.split()
                assert arm == name
                entry.build({}, dict(word.split("=") for word in [*knobs, *claim.settings.split()]), text=True)
    with pytest.raises(UserError, match="unknown knob"):
        entry.build({}, {"no_such_knob": 1})


def ended(folder, study, seed=0):
    """What a study comes to when it is run in a folder."""
    gd.train(study, out=folder, seed=seed)
    return json.loads((folder / "result.json").read_text())


SMALL = {
    "rex": ({"shares": (0.01,)}, "accuracy"),
    "refined-linear-decay": ({"steps": 40}, "loss"),
    "cyclical-curriculum-learning": ({"samples": 4000}, "accuracy"),
    "curricula-in-federated-learning": ({"rounds": 1, "clients": 50}, "gain"),
}


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.slow
def test_a_study_gives_what_its_claim_compares_and_the_same_for_the_same_seed(name, tmp_path):
    knobs, metric = SMALL[name]
    study = find_recipe(name).build({}, knobs)
    first = ended(tmp_path / "first", study, 5)
    assert first == ended(tmp_path / "second", study, 5)
    assert isinstance(first[metric], float)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    mostly_slow(["rex", "refined-linear-decay", "curricula-in-federated-learning"], "curricula-in-federated-learning"),
)
def test_a_killed_study_of_digits_does_not_repeat_what_it_learned(name, tmp_path, monkeypatch):
    study = find_recipe(name).build({}, SMALL[name][0])
    whole = ended(tmp_path / "whole", study, 5)
    taken = []
    plain = classify.learn
    for room in (classify, federated):
        monkeypatch.setattr(room, "learn", lambda *args: taken.append(1) or plain(*args))
    real = StudyRun.remember

    def killed(run, key, make):
        found = real(run, key, make)
        raise Killed if len(list(run.folder.inner.iterdir())) == 1 else None
        return found

    with monkeypatch.context() as patch:
        patch.setattr(StudyRun, "remember", killed)
        with pytest.raises(Killed):
            ended(tmp_path / "cut", study, 5)
    before, taken[:] = len(taken), []
    gd.train(study, resume=tmp_path / "cut")
    assert json.loads((tmp_path / "cut" / "result.json").read_text()) == whole
    resumed, taken[:] = len(taken), []
    assert ended(tmp_path / "again", study, 5) == whole and resumed == len(taken) - before < len(taken)


@pytest.mark.slow
def test_cyclical_arms_see_equally_many_samples_and_look_equally_often(tmp_path):
    entry = find_recipe("cyclical-curriculum-learning")
    curves = [
        ended(tmp_path / f"{start}", entry.build({}, {"start": start, "samples": 4000}))["curve"]
        for start in (0.25, 1.0)
    ]
    assert [len(curve) for curve in curves] == [40, 40]
    assert curves[0][-1]["spent"] == curves[1][-1]["spent"] == 4000


@pytest.mark.slow
def test_a_refinement_that_counts_its_first_run_has_half_the_steps(tmp_path):
    entry = find_recipe("refined-linear-decay")
    ends = {counted: ended(tmp_path / f"{counted}", entry.build({}, {"steps": 80, "count_first": counted}))["curve"][-1]["spent"] for counted in (False, True)}  # fmt: skip  # noqa: E501
    assert ends == {False: 80, True: 40}


@pytest.mark.slow
def test_the_designers_ranking_turned_round_agrees_as_little_as_it_agrees(monkeypatch, tmp_path):
    from guerdon.recipes.curriculum import curriculum_designer as room

    monkeypatch.setattr(room, "TAUGHT", 3)
    monkeypatch.setattr(room, "TOP", 2)
    found = {rank: ended(tmp_path / rank, find_recipe("curriculum-designer").build({}, {"rank": rank})) for rank in ("similarity", "reversed")}  # fmt: skip  # noqa: E501
    assert found["similarity"]["agreement"] == pytest.approx(-found["reversed"]["agreement"])


def test_a_finished_study_is_read_and_not_run_again(tmp_path):
    out = tmp_path / "study"
    gd.train("rex", shares=(0.01,), out=out, seed=1)
    result = json.loads((out / "result.json").read_text())
    assert result["accuracy"] == result["curve"][0]["value"] > 0.5
    written = (out / "result.json").stat().st_mtime_ns
    gd.train(resume=out)
    assert (out / "result.json").stat().st_mtime_ns == written
