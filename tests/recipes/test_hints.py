"""Hints by hand: how a solution gets into an ask, who gets one and how much, what is then learned, and the recipe."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
from killing import killed_at
from refusals import refusal
from small import small_lm
from test_filters import Playing
from watching import Watched, train

import guerdon as gd
from guerdon import models
from guerdon.core.column import Column, Reason
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay
from guerdon.core.model import Reply
from guerdon.core.pack import pack
from guerdon.core.part import part
from guerdon.core.task import Ask, Sampling, Task
from guerdon.curricula.plain import uniform
from guerdon.engine.player import Player
from guerdon.envs.simple import single_turn
from guerdon.select.filters import at_least, with_spread
from guerdon.select.hints import hint, hinted, until_solved
from guerdon.tasks import load
from guerdon.tasks.families.tiny import Tiny
from guerdon.tasks.files import rows
from guerdon.training.build import RunRequest, build
from guerdon.training.catalog import listings


@part
class echo(Tiny):
    """Say the four letters: one guess in sixteen is right."""

    level: int = 1

    def make(self, draw):
        word = "".join(draw.choice("ab") for _ in range(4))
        return f"say {word}", word

    def solution(self, task):
        return task.answer


def problem(name="0", **fields):
    return Task(name, f"prompt {name}", **fields)


class Solved:
    """A source whose solutions are ten letters."""

    name = "solved"

    def solution(self, task):
        return "abcdefghij"


# --- a hint in an ask --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("share", "shown"), [(0.25, "ab"), (0.5, "abcde"), (0.75, "abcdefgh"), (1.0, "abcdefghij")])
def test_the_hint_in_a_prompt_is_a_share_of_characters(share, shown):
    made = hint(Solved(), template="{prompt} | {hint}").into(Ask(problem(), 3, note={"mine": 1}), share, ExamplePlay())
    assert made.shown == f"prompt 0 | {shown}"  # round(2.5) is 2, round(7.5) is 8
    assert (made.n, made.prefix, made.note) == (3, None, {"mine": 1, "hint": share})
    assert made.task == problem()  # the problem itself is as it was, for whoever checks it


def test_braces_in_problems_and_solutions_are_plain_text():
    source, ask = Solved(), Ask(problem(), prompt="{hint} {0} {")
    source.solution = lambda task: "{prompt}}{"
    assert (
        hint(source, template="{{{prompt}}} {hint}").into(ask, 1.0, ExamplePlay()).shown == "{{hint} {0} {} {prompt}}{"
    )


class Spelling:
    """A model that says a letter an action, and ends with -1."""

    def teacher_force(self, view, text, path=()):
        actions = np.array([*map(ord, text), -1])
        return Reply(np.array([7, 8]), actions, np.full(len(actions), np.nan, np.float32), text)


class Seated(Playing):
    models, seats = {"clerk": Spelling()}, {"policy": "clerk"}


@pytest.mark.parametrize(("share", "given"), [(0.25, 2), (0.5, 5), (0.75, 8), (1.0, 10)])
def test_the_hint_at_the_start_is_a_share_of_what_the_model_says(share, given):
    made = hint(Solved(), how="start").into(Ask(problem()), share, Seated())
    assert (made.prefix.segment, made.prefix.step, made.shown) == (0, given, "prompt 0")
    (segment,) = made.prefix.segments
    assert segment.actions[:given].tolist() == [ord(c) for c in "abcdefghij"[:given]]  # never the end of its turn


def test_a_role_without_a_seat_has_no_mouth():
    with pytest.raises(UserError, match="solver"):
        hint(Solved(), how="start", role="solver").into(Ask(problem()), 0.5, Seated())


@pytest.mark.parametrize(
    "template", ["{hint}", "no field", "{prompt} {hint} {answer}", "{prompt} {}", "{prompt} {hint"]
)
def test_a_template_without_its_two_fields_is_refused(template):
    with pytest.raises(UserError, match=r"hint.template"):
        hint(Solved(), template=template)


def test_solutions_come_from_a_column_of_ones_own_data(tmp_path):
    path = tmp_path / "mine.jsonl"
    lines = [{"prompt": f"p{i}", "answer": "42", "solution": "six by seven", "why": f"because {i}"} for i in range(4)]
    path.write_text("\n".join(map(json.dumps, lines)))
    source = rows(str(path))
    first = source.get("train", 0)
    assert hint(source).of(first) == "six by seven"
    assert hint(source, solution="why").of(first) == "because 0"
    assert hint(source, solution="answer").of(first) == "42"
    del lines[2]["why"]
    path.write_text("\n".join(map(json.dumps, lines)))
    with refusal(UserError, "mine/3"):
        hint(rows(str(path)), solution="why")  # when it is built, not at the step that first needs it


def test_generated_and_mixed_problems_bring_their_solutions():
    for name in ("countdown:4-7", "trace:3", "trace:3@8"):
        source = load(name)
        task = source.get("train", 0)
        assert source.check(task, hint(source).of(task)) == 1.0


def test_a_source_without_solutions_is_refused():
    with refusal(UserError):
        hint(load("parity"))


# --- who gets one, and how much ----------------------------------------------------------------------------------


class ByHint:
    """Scores tries by a table: (task, share of the solution) to the values of its tries."""

    needs, gives = (), ("correct",)

    def __init__(self, table):
        self.table = table

    def __call__(self, batch, play):
        found = [self.table[e.task.id, e.ask.note.get("hint", 0.0)][e.attempt] for e in batch.episodes]
        value = torch.tensor([math.nan if v is None else v for v in found])
        reason = torch.where(value.isnan(), int(Reason.FAILED), 0).to(torch.int8)
        return batch.with_cols({"correct": Column("track", value, reason)})


def ask_with_hints(table, names, **knobs):
    play, scores = Playing(), ByHint(table)
    first = scores(pack(play([Ask(problem(name), 2) for name in names])), play)
    batch = until_solved(hint(Solved()), [scores], **knobs)(first, play)
    return batch, play


TABLE = {
    ("easy", 0.0): (1.0, 0.0),
    ("hard", 0.0): (0.0, 0.0),
    ("hard", 0.25): (0.0, 1.0),
    ("harder", 0.0): (0.0, 0.0),
    ("harder", 0.25): (0.0, 0.0),
    ("harder", 0.5): (1.0, 1.0),
    ("hopeless", 0.0): (0.0, 0.0),
    ("hopeless", 0.25): (0.0, 0.0),
    ("hopeless", 0.5): (0.0, 0.0),
    ("hopeless", 0.75): (0.0, 0.0),
}


def test_hints_grow_until_a_try_is_right():
    batch, play = ask_with_hints(TABLE, ["easy", "hard", "harder", "hopeless"])
    asked = [(e.task.id, e.ask.note.get("hint", 0.0)) for e in batch.episodes[::2]]
    assert asked == [
        ("easy", 0.0), ("hard", 0.0), ("harder", 0.0), ("hopeless", 0.0),
        ("hard", 0.25), ("harder", 0.25), ("hopeless", 0.25),
        ("harder", 0.5), ("hopeless", 0.5),
        ("hopeless", 0.75),
    ]  # fmt: skip
    assert batch.episodes[-1].ask.shown.endswith(
        "begins like this:\nabcdefgh"
    )  # of the problem, not of the hint before
    assert batch.episodes[-1].ask.shown.count("begins") == 1
    assert play.metrics == {
        "hints/asked": 6.0,
        "hints/needed": 3 / 4,
        "hints/alone": 1 / 8,
        "hints/level": (0.25 + 0.5 + 0.75) / 3,
        "hints/solved": 2 / 3,
        "hints/hopeless": 1.0,
    }


def test_the_last_group_asked_takes_the_place_of_those_before_it():
    batch, play = ask_with_hints(TABLE, ["easy", "hard", "harder", "hopeless"])
    kept = at_least("hint", 0.0)(batch, play)
    left = {(e.task.id, e.ask.note.get("hint", 0.0)) for e in (batch.episodes[int(n)] for n in kept.episode)}
    assert left == {("easy", 0.0), ("hard", 0.25), ("harder", 0.5), ("hopeless", 0.75)}
    assert kept["hint"].tolist() == [0.0, 0.0, 0.25, 0.25, 0.5, 0.5, 0.75, 0.75]
    assert kept.count.tracks == 8  # as many as were asked for
    gone = batch.cols["hint"].missing
    assert int(gone.sum()) == 12
    assert set(batch.cols["hint"].reason[gone].tolist()) == {Reason.NOT_APPLICABLE}
    assert batch.cols["correct"].missing.sum() == 0  # what was thrown away stays in the record


def test_nothing_is_asked_where_all_is_solved():
    batch, play = ask_with_hints({("easy", 0.0): (1.0, 0.0), ("sure", 0.0): (1.0, 1.0)}, ["easy", "sure"])
    assert batch["hint"].tolist() == [0.0] * 4
    assert play.metrics == {"hints/asked": 0.0, "hints/needed": 0.0, "hints/alone": 3 / 4}


def test_what_has_no_score_is_not_known_to_be_hard():
    table = {("broken", 0.0): (None, None), ("half", 0.0): (None, 0.0), ("half", 0.5): (None, None)}
    batch, play = ask_with_hints(table, ["broken", "half"], shares=(0.5, 0.9))
    assert [e.task.id for e in batch.episodes[::2]] == ["broken", "half", "half"]  # and no more once it broke
    assert play.metrics["hints/hopeless"] == 1.0
    assert play.metrics["hints/solved"] == 0.0


def test_a_score_below_zero_is_no_success_and_one_above_it_is():
    table = {("bad", 0.0): (-1.0, -0.5), ("bad", 0.25): (-1.0, 0.1)}
    batch, _ = ask_with_hints(table, ["bad"])
    assert len(batch.episodes) == 4


def test_one_task_asked_twice_gets_its_hints_twice():
    batch, play = ask_with_hints(TABLE, ["hard", "hard"])
    assert at_least("hint", 0.0)(batch, play)["hint"].tolist() == [0.25] * 4


def test_single_tries_and_empty_batches():
    play, scores = Playing(), ByHint({("one", 0.0): (0.0,), ("one", 0.25): (1.0,)})
    stage = until_solved(hint(Solved()), [scores])
    batch = stage(scores(pack(play([Ask(problem("one"))])), play), play)
    assert batch["hint"].tolist()[1] == 0.25 and math.isnan(batch["hint"].tolist()[0])
    nothing = stage(scores(pack([]), play), play)
    assert len(nothing["hint"]) == 0


def test_before_its_step_nothing_is_detected():
    batch, play = ask_with_hints(TABLE, ["hard"], after=1)
    assert (batch.K, play.metrics["hints/asked"]) == (2, 0.0)


def test_bad_shares_and_scores_are_refused():
    for shares in ((0.5, 0.25), (0.0,), (0.5, 0.5), (0.5, 1.1)):
        with pytest.raises(UserError, match=r"until_solved.shares must rise"):
            until_solved(hint(Solved()), [], shares)
    with refusal(UserError, "until_solved", "with_spread"):
        until_solved(hint(Solved()), [with_spread()])
    assert until_solved(hint(Solved()), [], [0.5]).shares == (0.5,)  # a list, as the command line gives it


def test_a_cold_start_hints_everything_until_it_ends():
    play = Playing()
    drawn = hinted(uniform(echo(), tries=2), hint(echo(), template="{prompt} {hint}"), share=0.5, until=2)
    shares = []
    for play.step in range(4):
        asks = drawn.draw(2, play)
        shares.append([ask.note.get("hint", 0.0) for ask in asks])
        assert all((ask.shown != ask.task.prompt) == (play.step < 2) for ask in asks)
    assert shares == [[0.5, 0.5], [0.5, 0.5], [0.0, 0.0], [0.0, 0.0]]
    assert drawn.curriculum.drawn == 8


# --- given to a model --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def student(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lm")
    small_lm(folder)
    return str(folder)


def player(model, **how):
    model.start(0, {"policy": model})
    return Player({"policy": model}, {"policy": "policy"}, single_turn(), Sampling(**how), seed=1, steps=1)


def test_what_is_given_is_seen_said_and_free_and_never_learned(student):
    model = models.load(student)
    play, source = player(model, max_tokens=24), load("chain:1")
    task = source.get("train", 0)
    ask = hint(source, how="start").into(Ask(task, 4), 0.5, play)
    given = ask.prefix.step
    batch = pack(play([ask]))
    tokens = model.teacher_force(task.prompt, source.solution(task)).actions[:given]
    for g, episode in enumerate(batch.episodes):
        (segment,) = episode.segments
        assert segment.given == given > 0
        assert segment.actions[:given].tolist() == tokens.tolist()
        assert segment.text.startswith(model.decode(tokens.tolist()))  # so the answer is checked as a whole
        assert np.isnan(segment.logp[:given]).all() and not np.isnan(segment.logp[given:]).any()
        assert segment.context.tolist() == model.encode(task.prompt).tolist()  # the question is the plain one
        assert (batch.weight[batch.seg == g] > 0).tolist() == [n >= given for n in range(len(segment.actions))]
    assert batch.count.steps == batch.S - 4 * given == play.tokens


def test_what_is_learned_is_the_answer_to_the_hinted_question(student):
    """The loss reads the very tokens that were shown and said: the log-probs of sampling come out again."""
    model = models.load(student)
    play, source = player(model, max_tokens=24), load("chain:1")
    ask = Ask(source.get("train", 0), 2)
    for how in ("prompt", "start"):
        batch = pack(play([hint(source, how=how).into(ask, 0.5, play)]))
        learned = batch.weight > 0
        read = model.read(batch, ("logp",))["logp"].detach()
        torch.testing.assert_close(read[learned], batch.logp[learned], atol=2e-4, rtol=1e-3)
        plain = len(model.encode(ask.shown))
        assert (batch.context_length > plain).all() if how == "prompt" else (batch.context_length == plain).all()


# --- the recipe --------------------------------------------------------------------------------------------------


@pytest.fixture
def wish():
    table = {"tabular.vocab": "ab", "tabular.length": 4, "tabular.rows": 4096}
    return {
        "task": echo(),
        "model": "tabular",
        "settings": {**table, "prompts": 4, "tries": 4, "lr": 0.3, "how": "start"},
    }


def made(wish, name="ghpo", **settings):
    return build(RunRequest(name, wish["task"], wish["model"], settings={**wish["settings"], **settings})).recipe


def test_what_it_is_made_of(wish):
    recipe = made(wish, how="prompt")
    verified, again, credit, learn = recipe.stages
    assert again.scores == [verified]
    assert (again.shares, again.hint.how, again.after, again.column) == ((0.25, 0.5, 0.75), "prompt", 0, "correct")
    assert repr(credit) == "centre(reward='correct', by='ask')"
    assert repr(learn.on) == "at_least(column='hint', least=0.0)"
    assert type(recipe.curriculum).__name__ == "uniform"
    recipe.check()
    cold = made(wish, cold=3)
    assert repr(cold.curriculum).startswith("hinted(curriculum=uniform(")
    assert cold.curriculum.hint is cold.stages[1].hint
    assert (cold.curriculum.until, cold.stages[1].after) == (3, 3)


def test_it_is_listed_with_its_paper():
    assert listings()["ghpo"].paper == "arXiv:2507.10628"


def test_everything_asked_is_counted_and_only_what_was_said_is_learned(wish):
    run = Watched(made(wish), 3)
    for batch, row in zip(run.batches, run.rows, strict=True):
        assert row["episodes"] == batch.K == 4 * (4 + row["hints/asked"])
        given = sum(e.segments[0].given for e in batch.episodes)
        assert row["tokens"] == batch.S - given == batch.count.steps
        rows = run.recipe.stages[-1].rows(batch, run.play)
        assert rows.count.tracks == 16
        assert (rows.weight == 0).sum() == sum(batch.episodes[int(e)].segments[0].given for e in rows.episode)
    assert any(row["hints/asked"] for row in run.rows)
    drawn = run.recipe.curriculum.drawn
    assert drawn == 4 * 3  # hints are about the problems that were drawn


def plain_grpo(wish):
    """GRPO with the same knobs, its tries compared by ask."""
    settings = {k: v for k, v in wish["settings"].items() if k != "how"}
    return build(RunRequest("grpo", wish["task"], wish["model"], settings={**settings, "centre.by": "ask"})).recipe


def test_with_hints_most_groups_teach_something(wish):
    """Four letters right is one in sixteen: of groups of 4 tries, three in four have no right one."""
    helped, alone = (Watched(recipe, 6).rows for recipe in (made(wish), plain_grpo(wish)))
    silent = [sum(row["policy/silent"] for row in rows) / 6 for rows in (helped, alone)]
    assert silent[0] < 0.3 < silent[1]


def test_without_shares_it_is_grpo(wish):
    assert torch.equal(Watched(made(wish, shares=[]), 3).weights, Watched(plain_grpo(wish), 3).weights)


@pytest.mark.parametrize("how", ["start", "prompt"])
@pytest.mark.slow
def test_a_run_that_was_broken_off_goes_on_the_same(how, tmp_path, student):
    """On a language model: prefixes, prompts and hints are made again from what the run kept."""
    small = {"prompts": 2, "tries": 2, "lr": 3e-3, "max_tokens": 32, "how": how, "kl": 0.1, "cold": 1}
    wish = {"task": "chain", "model": student, "settings": small}
    whole = train("ghpo", tmp_path / "whole", wish)
    with killed_at(1):
        train("ghpo", tmp_path / "broken", wish, every=1)
    resumed = gd.train(resume=tmp_path / "broken")
    assert resumed.weights == whole.weights
    assert resumed.batch(1).same(whole.batch(1))
    notes = [[e.ask.note.get("hint") for e in whole.batch(step).episodes[::2]] for step in (0, 1)]
    assert notes == [[0.5, 0.5], [None, None, 0.25, 0.25, 0.5, 0.5, 0.75, 0.75]]
    assert resumed.metrics.drop_columns(["seconds"]) == whole.metrics.drop_columns(["seconds"])


def test_a_hint_takes_nothing_off_what_may_be_said(student):
    play, source = player(models.load(student), max_tokens=3), load("chain:3")
    ask = hint(source, how="start").into(Ask(source.get("train", 0)), 1.0, play)
    assert ask.prefix.step > 3
    batch = pack(play([ask]))
    assert (batch.count.steps, play.tokens) == (3.0, 3)
