"""Searches over lines, on a scripted model whose every line and value is known, and on models that sample."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from strategies import task

from guerdon import models, tasks
from guerdon.core.episode import End, Episode, Segment
from guerdon.core.errors import UserError
from guerdon.core.learn import Learn
from guerdon.core.optim import sgd
from guerdon.core.pack import pack
from guerdon.core.part import part
from guerdon.core.task import Ask, Sampling
from guerdon.engine.player import Player
from guerdon.envs.contrasting import side_by_side
from guerdon.envs.simple import single_turn
from guerdon.losses.imitation import sft
from guerdon.models import value_head
from guerdon.models.tables import tabular
from guerdon.rewards.stage.step_labels import line_labels
from guerdon.search import beam, log_ratio, lookahead, mcts, revise, vote
from guerdon.search.line_tree import chosen_path
from guerdon.search.step_scorers import monte_carlo_scorer, value_scorer
from guerdon.search.uct import TreePlace
from guerdon.select.filters import at_least

# --- a script -------------------------------------------------------------------------------------------------------------


class Script:
    """Seats whose one role says, after each text, the given next lines in turn; a line without an end of line is its last."""

    def __init__(self, says: dict[str, list[str]], max_tokens: int = 99) -> None:
        self.says, self.told = says, dict.fromkeys(says, 0)
        self.sampling, self.segments, self.asked = Sampling(max_tokens=max_tokens), [], []
        self.shown: list[object] = []

    def __getitem__(self, role):
        return self

    def text(self, number):
        if number is None or number < 0:
            return ""
        return self.text(self.segments[number].parent) + self.segments[number].text

    async def branch(self, ways, view, *, sampling=None, go_on=False):
        self.asked.append([self.text(way) for way in ways])
        self.shown.append(view)
        return [self._say(way, view, how, go_on) for way, how in zip(ways, sampling, strict=True)]

    def _say(self, way, view, how, go_on):
        before, text = self.text(way), ""
        while True:
            at, options = before + text, self.says[before + text]
            text += options[self.told[at] % len(options)]
            self.told[at] += 1
            if not text.endswith("\n") or "\n" in how.stop:
                break
        end = End.STOPPED if text.endswith("\n") else End.DONE
        size = max(1, len(text))
        said = Segment(
            "policy", view, [1], np.zeros(size), np.zeros(size), text, -1 if way is None else way, how, end=end
        )
        self.segments.append(said)
        return len(self.segments) - 1, said

    def room(self, after=None):
        return None

    def episode(self, **info):
        return Episode(Ask(task()), tuple(self.segments), info=info)


@part
class by_text:
    """A scorer that knows what each text is worth."""

    values: dict[str, float]
    reduce_steps: str = "last"

    async def steps(self, tree, lines):
        return [self.values[line.text] for line in lines]

    async def texts(self, tree, texts):
        return [self.values[text] for text in texts]


def played(env, script):
    """A coroutine that nobody interrupts: the script answers at once."""
    try:
        env.play(Ask(task()), script).send(None)
    except StopIteration as over:
        return over.value
    raise AssertionError("it waits for something")


def chosen(episode):
    """The text of the chosen way."""
    at, texts = episode.info["chosen"], []
    while at >= 0:
        texts.append(episode.segments[at].text)
        at = episode.segments[at].parent
    return "".join(reversed(texts))


TREE = {
    "": ["a\n", "b\n"],
    "a\n": ["c\n", "d\n"],
    "b\n": ["= 1", "e\n"],
    "a\nc\n": ["= 2"],
    "a\nd\n": ["= 3"],
    "b\ne\n": ["= 4"],
}
WORTH = {"a\n": 0.6, "b\n": 0.5, "a\nc\n": 0.7, "a\nd\n": 0.8, "b\n= 1": 0.9, "b\ne\n": 0.3,
         "a\nc\n= 2": 0.1, "a\nd\n= 3": 0.2, "b\ne\n= 4": 1.0}  # fmt: skip


# --- beams ----------------------------------------------------------------------------------------------------------------


def test_a_beam_keeps_the_ways_that_are_liked_best():
    script = Script(TREE)
    episode = played(beam(1, 2, by_text(WORTH)), script)
    assert script.asked == [["", ""], ["a\n", "a\n"], ["a\nd\n", "a\nd\n"]]  # 0.6 over 0.5, then 0.8 over 0.7
    assert chosen(episode) == "a\nd\n= 3"


def test_a_wider_beam_keeps_what_a_narrow_one_gave_up():
    script = Script(TREE)
    episode = played(beam(2, 2, by_text(WORTH)), script)
    # four first lines say two things; of c 0.7, d 0.8, = 1 0.9 and e 0.3 two are kept; = 1 is over and holds its place
    assert script.asked == [[""] * 4, ["a\n", "a\n", "b\n", "b\n"], ["a\nd\n", "a\nd\n"]]
    assert chosen(episode) == "b\n= 1"


def test_the_weakest_line_can_count():
    weakest = by_text({**WORTH, "a\nd\n= 3": 0.95}, "min")
    assert chosen(played(beam(2, 2, weakest), Script(TREE))) == "a\nd\n= 3"  # min(0.6, 0.8, 0.95) over min(0.5, 0.9)
    assert chosen(played(beam(2, 2, by_text({**WORTH, "a\nd\n= 3": 0.85})), Script(TREE))) == "b\n= 1"


def test_looking_ahead_likes_a_way_for_where_it_leads():
    says = {**TREE, "b\n": ["= 1"], "a\n": ["c\n"]}
    assert chosen(played(beam(1, 2, by_text(WORTH)), Script(says))) == "a\nc\n= 2"
    script = Script(says)
    episode = played(lookahead(1, 2, by_text(WORTH), ahead=1), script)
    assert chosen(episode) == "b\n= 1"  # a leads to c, worth 0.7, b to = 1, worth 0.9
    assert [s.sampling.temperature for s in episode.segments] == [1.0, 1.0, 0.0, 0.0, 1.0, 1.0]
    assert chosen(played(lookahead(1, 2, by_text(WORTH), ahead=0), Script(says))) == "a\nc\n= 2"


# --- trees ----------------------------------------------------------------------------------------------------------------


def test_the_upper_confidence_bound_by_hand():
    above = TreePlace(visits=10)
    above.below = [TreePlace(visits=6, total=4.2), TreePlace(visits=3, total=1.5), TreePlace(visits=1, total=0.3)]
    bounds = [0.7 + math.sqrt(math.log(10) / 6), 0.5 + math.sqrt(math.log(10) / 3), 0.3 + math.sqrt(math.log(10))]
    assert bounds == pytest.approx([1.3195, 1.3761, 1.8174], abs=1e-4)
    assert above.likely(1.0) is above.below[2]
    assert above.likely(0.1) is above.below[0]
    assert above.likely(0.4) is above.below[0] and above.likely(0.6) is above.below[2]


def test_values_are_averaged_into_every_place_above():
    start = TreePlace()
    first, second = TreePlace(above=start), TreePlace(above=start)
    deep = TreePlace(above=first)
    for place, value in ((first, 0.6), (second, 0.5), (deep, 0.9)):
        place.back_up(value)
    assert [(p.visits, p.total) for p in (start, first, second, deep)] == [
        (3, pytest.approx(2.0)),
        (2, pytest.approx(1.5)),
        (1, 0.5),
        (1, 0.9),
    ]


@pytest.mark.parametrize(("explore", "third"), [(0.0, "a\nd\n"), (math.sqrt(2), "b\n")])
def test_a_search_follows_the_bound(explore, third):
    """a comes to (0.6 + 0.7 + 0.8) / 3 = 0.7 after two visits below it, b stands at 0.5 after one: without the bonus a's best
    child is grown next; with it b is, 0.5 + sqrt(2 ln 4) = 2.17 over 0.7 + sqrt(2 ln(4) / 3) = 1.66."""
    script = Script(TREE)
    played(mcts(simulations=3, branch=2, scorer=by_text(WORTH), explore=explore), script)
    assert [ways[0] for ways in script.asked[:3]] == ["", "a\n", third]


def test_a_search_ends_with_the_best_that_is_over_or_goes_on_to_an_end():
    assert chosen(played(mcts(9, 2, by_text(WORTH)), Script(TREE))) == "b\ne\n= 4"  # worth 1.0, three lines down
    assert chosen(played(mcts(3, 2, by_text(WORTH)), Script(TREE))) == "b\n= 1"  # it was not come to
    assert chosen(played(mcts(1, 2, by_text(WORTH)), Script(TREE))) == "a\nc\n= 2"  # none is over: a, the best, goes on
    script = Script(TREE)
    played(mcts(999, 2, by_text(WORTH)), script)
    assert len(script.asked) == 6  # when all ways are over nothing is left to ask


def test_playing_out_is_the_mean_over_answers_and_they_may_be_chosen():
    right = SimpleNamespace(check=lambda task, text: float(text.endswith(("1", "3"))))
    script = Script(TREE)
    episode = played(mcts(1, 2, monte_carlo_scorer(right, tries=2)), script)
    assert script.asked == [["", ""], ["a\n", "a\n", "b\n", "b\n"]]
    assert {s.text for s in episode.segments[2:]} == {
        "c\n= 2",
        "d\n= 3",
        "= 1",
        "e\n= 4",
    }  # one in two is right, of each
    assert chosen(episode) == "a\nd\n= 3"


# --- votes and revisions --------------------------------------------------------------------------------------------------


def test_a_vote_is_the_majority_and_the_first_of_equals():
    says = {"": ["so\n= 5", "= 4", "then\n= 4", "= 5", "= 4 "]}
    assert chosen(played(vote(5), Script(says))) == "= 4"
    assert chosen(played(vote(4), Script(says))) == "so\n= 5"
    assert chosen(played(vote(3, answer="number", marks=("no mark",)), Script(says))) == "= 4"


def test_a_weighted_vote_goes_by_weight_and_shows_the_weightiest_try():
    says = {"": ["= 5", "= 4", "so\n", "= 5"], "so\n": ["= 4"]}
    weights = {"= 5": 0.9, "= 4": 0.3, "so\n": 0.0, "so\n= 4": 0.4}
    assert chosen(played(vote(4, by_text(weights)), Script(says))) == "= 5"
    assert chosen(played(vote(4, by_text({**weights, "= 5": 0.3})), Script(says))) == "so\n= 4"  # 0.7 over 0.6


def test_a_revision_is_shown_the_answer_before_it():
    script = Script({"": ["= 1", "= 2", "= 3"]})
    assert chosen(played(revise(2), script)) == "= 3"
    shown = task().prompt
    assert script.shown == [shown, f"revise\n{shown}\n= 1", f"revise\n{shown}\n= 2"]
    liked = by_text({"= 1": 0.2, "= 2": 0.8, "= 3": 0.5})
    assert chosen(played(revise(2, scorer=liked), Script({"": ["= 1", "= 2", "= 3"]}))) == "= 2"
    with pytest.raises(UserError, match=r"shows no \{answer\}"):
        revise(template="{prompt} again")


# --- limits and what is kept ----------------------------------------------------------------------------------------------


def test_lines_and_tokens_end_an_answer():
    episode = played(beam(1, 2, by_text(WORTH), lines=2), Script(TREE))
    assert chosen(episode) == "a\nd\n" and {s.end for s in episode.segments[2:]} == {End.CUT}
    script = Script(TREE, max_tokens=4)
    episode = played(beam(1, 2, by_text(WORTH)), script)
    assert [s.sampling.max_tokens for s in episode.segments] == [4, 4, 2, 2]  # what is left of the answer's four
    assert chosen(episode) == "a\nd\n" and episode.segments[episode.info["chosen"]].end is End.CUT


def test_the_chosen_way_alone_or_the_tree():
    tree, way = (played(beam(2, 2, by_text(WORTH), keep=keep), Script(TREE)) for keep in ("tree", "chosen"))
    assert [s.text for s in way.segments] == ["b\n", "= 1"] and [s.parent for s in way.segments] == [-1, 0]
    assert way.info == {"chosen": 1, "tokens": sum(len(s.actions) for s in tree.segments)}
    batch = chosen_path()(pack([tree]), None)
    assert batch["chosen"].sum() == 1 and len({*range(batch.G)} - {*batch.parent.tolist()}) == batch.K
    assert {s.end for s in tree.segments if s.text.startswith("=")} == {End.DONE}
    assert tree.segments[0].end is End.STOPPED and tree.segments[2].end is End.CUT  # gone on with; said twice, given up


# --- models that sample ---------------------------------------------------------------------------------------------------


@part
class by_length:
    """The longer the better."""

    reduce_steps: str = "last"

    async def steps(self, tree, lines):
        return [float(len(line.text)) for line in lines]


def table():
    return tabular("ab\n", spread=1.5)


def player(model, env, seed=0, **how):
    model.start(1, {})
    return Player({"policy": model}, {"policy": "policy"}, env, Sampling(**how), seed, 10)


ASKS = [Ask(task(n), 2) for n in "abc"]


@pytest.mark.sampled(1, "model")
@pytest.mark.parametrize("model", ["table", "sprig"])
def test_one_way_is_plain_sampling(model):
    is_small = model == "table"
    asks = ASKS if is_small else [Ask(tasks.load("equation:6").get("test", 0))]
    model = table() if is_small else models.load("sprig-1.1")
    plain = player(model, single_turn(), temperature=0.0, max_tokens=60)(asks)
    ways = (beam(1, 1, by_length()), lookahead(1, 1, by_length(), ahead=0), vote(1), mcts(1, 1, by_length()))
    for env in ways if is_small else ways[:1]:
        for one, other in zip(plain, player(model, env, temperature=0.0, max_tokens=60)(asks), strict=True):
            way = other.segments
            assert np.concatenate([s.actions for s in way]).tolist() == one.segments[0].actions.tolist()
            assert "".join(s.text for s in way) == one.segments[0].text and way[-1].end is one.segments[0].end


@pytest.mark.parametrize("env", [beam(2, 2, by_length(), lines=4), mcts(4, 2, by_length(), lines=4), vote(3)])
def test_all_that_was_sampled_is_counted_and_a_seed_says_it_all(env):
    kept = env.__class__(**{**vars(env), "keep": "chosen"})
    play = player(table(), env, max_tokens=20)
    tree, again = play(ASKS), player(table(), env, max_tokens=20)(ASKS)
    assert all(a.same(b) for a, b in zip(tree, again, strict=True))
    assert play.tokens == sum(e.info["tokens"] for e in tree) == sum(len(s.actions) for e in tree for s in e.segments)
    narrow = player(table(), kept, max_tokens=20)
    ways = narrow(ASKS)
    assert narrow.tokens == play.tokens and [chosen(e) for e in ways] == [chosen(e) for e in tree]
    assert not all(a.same(b) for a, b in zip(tree, player(table(), env, seed=1, max_tokens=20)(ASKS), strict=True))


def test_a_searched_tree_is_read_as_it_was_sampled():
    model = table()
    batch = pack(player(model, beam(2, 2, by_length(), lines=4), max_tokens=20)(ASKS))
    with torch.no_grad():
        torch.testing.assert_close(model.read(batch, ["logp"])["logp"], batch.logp, atol=1e-5, rtol=0)
    for e in batch.episodes:
        for s in e.segments:
            assert s.goes_on is (s.parent >= 0) and (s.parent < 0 or e.segments[s.parent].text.endswith("\n"))


def test_what_search_chose_can_be_imitated():
    model = table()
    play = player(model, beam(2, 2, by_length(), lines=4), max_tokens=20)
    batch = chosen_path()(pack(play(ASKS)), play)
    learn = Learn("policy", sft(), opt=sgd(lr=5.0), on=at_least("chosen"))
    with torch.no_grad():
        before = batch.up(model.read(batch, ["logp"])["logp"], "track")
    learn.start(play)
    learn(batch, play)
    with torch.no_grad():
        after = batch.up(model.read(batch, ["logp"])["logp"], "track")
    took = batch["chosen"] == 1
    assert int(took.sum()) == len(batch.episodes) and (after - before)[took].min() > 0
    assert (after - before)[took].mean() > (after - before)[~took].mean()


def test_a_head_is_read_at_the_very_tokens_it_is_trained_at():
    """Lines searched one by one, and the same answer recited whole: numbers at the ends of lines, by the labels' places."""
    source = tasks.load("equation:6")
    model = models.load("sprig-1.1", value=True)
    model.start(0, {})
    with torch.no_grad():
        value_head.head_of(model.decoder).weight.copy_(torch.linspace(-1, 1, model.config.hidden))
    seen: list[float] = []

    @part
    class noted(value_scorer):
        async def steps(self, tree, lines):
            seen.extend(values := await value_scorer.steps(self, tree, lines))
            return values

    ask = Ask(source.get("test", 0))
    play = player(model, beam(1, 1, noted("policy")), temperature=0.0, max_tokens=80)
    (episode,) = play([ask])
    text = chosen(episode)
    recited = pack(player(model, side_by_side())([Ask(ask.task, note={"say": [text]})]))
    labelled = line_labels(source)(recited, play).cols["labels"]
    with torch.no_grad():
        after = torch.sigmoid(model.read(recited, ["after"])["after"].double())
    ends = torch.nonzero(~labelled.missing).flatten()
    assert len(ends) == len(seen) == text.count("\n") + 1
    assert seen == pytest.approx(after[ends].tolist(), abs=1e-5)


def test_the_log_ratio_of_lines_sums_to_that_of_the_answer():
    model, other = table(), tabular("ab\n", spread=0.5)
    other.start(2, {})
    model.start(1, {})
    seen = {}

    @part
    class noted(log_ratio):
        async def steps(self, tree, lines):
            values = await log_ratio.steps(self, tree, lines)
            seen.update({line.number: value for line, value in zip(lines, values, strict=True)})
            return values

    env = beam(1, 1, noted("policy", "other", beta=0.5))
    play = Player({"policy": model, "other": other}, {"policy": "policy"}, env, Sampling(max_tokens=20), 0, 10)
    (episode,) = play([Ask(task("a"))])
    batch = pack([episode])
    with torch.no_grad():
        ours, theirs = (m.read(batch, ["logp"])["logp"].double() for m in (model, other))
    assert sum(seen.values()) == pytest.approx(0.5 * float((ours - theirs).sum()), abs=1e-5)
    with pytest.raises(UserError, match="both are 'policy'"):
        log_ratio("policy", "policy")
