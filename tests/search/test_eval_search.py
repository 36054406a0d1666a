"""`guerdon eval --search` and `gd.evaluate(env=...)`: a search beside what its tokens buy without it."""

from __future__ import annotations

import pytest
import torch
from command_line import command_line
from own_worlds import write_chat_model

import guerdon as gd
from guerdon import models
from guerdon.core.errors import UserError
from guerdon.models import value_head
from guerdon.models.foreign_model import foreign
from guerdon.training.search_compared import search_by_name, searched


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    return command_line(tmp_path, monkeypatch, capsys)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A scorer that nobody taught: its head is no longer zero."""
    where = tmp_path_factory.mktemp("scorer") / "prm"
    made = models.load("sprig-1.1", value=True)
    made.start(0, {})
    with torch.no_grad():
        value_head.head_of(made.decoder).weight.copy_(torch.linspace(-1, 1, made.config.hidden))
    models.save(made, where)
    return str(where)


OWN = {"roles.revise": "{question}\nYou said {answer}"}
FEW = {"task": "chain:2", "tasks": 2, "sampling": gd.Sampling(max_tokens=30)}


@pytest.mark.slow
def test_a_search_stands_beside_what_its_tokens_buy(folder):
    search = search_by_name("beam", {"search.width": "1", "search.branch": "2"}, folder)
    assert (search.width, search.branch, search.keep, search.scorer.reduce_steps) == (1, 2, "chosen", "min")
    numbers = searched("sprig", search, scorer=folder, **FEW)
    n, rows = numbers["plain_tries"], numbers["rows"]
    assert [r["how"] for r in rows] == ["plain sampling", f"majority of {n}", f"best of {n}", "beam(width=1, branch=2)"]
    assert n == 2 and rows[1]["tokens"] == rows[2]["tokens"] == 2 * rows[0]["tokens"]
    assert rows[3]["tokens"] == pytest.approx(rows[1]["tokens"], rel=0.35)  # two lines for each line
    assert all(0 <= r["low"] <= r["accuracy"] <= r["high"] <= 1 for r in rows)
    alone = gd.evaluate("sprig", env=search, models={"scorer": models.load(folder)}, **FEW)
    assert (alone["pass@1"], alone["tokens"]) == (rows[3]["accuracy"], rows[3]["tokens"])


@pytest.mark.slow
def test_plain_tries_as_many_as_told():
    numbers = searched("sprig", search_by_name("vote", {"search.tries": "2"}, None), tries=1, **FEW)
    assert [r["how"] for r in numbers["rows"]] == ["plain sampling", "vote(tries=2)"]


@pytest.mark.slow
def test_an_environment_that_waits_for_more_than_its_seats_is_played_too():
    import asyncio

    class slow(gd.envs.single_turn):
        async def play(self, ask, seats):
            await asyncio.sleep(0)
            return await gd.envs.single_turn.play(self, ask, seats)

    plain, waited = (gd.evaluate("sprig", env=env, **FEW) for env in (None, slow()))
    assert waited == {**plain, "tokens": waited["tokens"]} and waited["tokens"] == plain["length"]


@pytest.mark.parametrize(
    ("name", "settings", "scored", "says"),
    [
        ("beem", {}, True, "unknown search 'beem': did you mean 'beam'?"),
        ("mcts", {}, False, "--search mcts goes by a scorer: give --scorer RUN"),
        ("beam", {"width": "4"}, True, "--set width: a search takes search.KNOB=VALUE"),
        ("beam", {"search.widht": "4"}, True, "unknown knob of search 'widht': did you mean 'width'?"),
        ("beam", {"search.width": "0"}, True, "beam.width must be at least 1, not 0"),
        ("beam", {"scorer.reduce_steps": "mid"}, True, "scorer.reduce_steps must be one of"),
        ("vote", {"scorer.reduce_steps": "min"}, False, "give --scorer RUN too"),
        ("vote", {"roles.revise": "{question}{answer}"}, False, "nothing here asks a model in a role"),
        ("revise", {"roles.revise": "Again: {question}"}, False, "roles.revise has no {answer}"),
        ("revise", {"roles.revize": "{question}{answer}"}, False, "did you mean 'revise'?"),
    ],
)
def test_what_cannot_be_searched_is_said_in_a_line(folder, name, settings, scored, says):
    with pytest.raises(UserError) as refused:
        search_by_name(name, settings, folder if scored else None)
    assert says in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(("given", "asks"), [({}, "It may be wrong. Look for mistakes"), (OWN, "You said")])
def test_a_model_that_does_not_know_sprigs_words_revises_in_plain_language(made_once, given, asks):
    seen = []

    def views(sitting):
        seen.extend(s.view for e in sitting.batch.episodes for s in e.segments)
        return {"views": float(len(seen))}

    search = search_by_name("revise", {"search.rounds": "2", **given}, None)
    search.keep, before = "tree", search.template
    exam = gd.Exam(gd.tasks.load("chain:1"), [views])
    model = foreign(str(made_once("own chat model", write_chat_model)))
    gd.evaluate(model, exam=exam, env=search, tasks=1, tries=1, sampling=gd.Sampling(max_tokens=3))
    assert [asks in view for view in seen] == [False, True, True] and "{" not in seen[1]
    assert search.template == before, "the caller's search keeps its wording"


def test_the_command_line(cli, folder):
    done = cli("eval", "sprig", "--task", "chain:2", "--tasks", "2", "--max-tokens", "30", "--search", "vote",
               "--scorer", folder, "--set", "search.tries=2", "--json")  # fmt: skip
    assert done.code == 0 and [r["how"] for r in done.json["rows"]][-1] == "vote(tries=2)"
    for words, says in (
        (("--scorer", folder), "--scorer needs --search NAME"),
        (("--set", "search.tries=2"), "--set search.tries needs --search"),
        (("--set", "sampling.guides=sprig:1", "--search", "vote"), "a search is not guided by other models"),
        (("--set", "sampling.heat=1"), "unknown knob of sampling 'heat'"),
        (("--set", "sampling.guides=sprig"), "Sampling.guides are models by name, each with a weight"),
        (("--set", "sampling.guides=sprig-1.1:1"), "their tokenizers differ"),
        (("--search", "vote", "--greedy"), "--greedy gives one candidate"),
        (("--search", "vote", "--best-of", "2"), "remove --reward and --best-of"),
        (("--search", "beam", "--scorer", "runs/none"), "runs/none is not there"),
    ):
        refused = cli("eval", "sprig", "--task", "chain:2", *words)
        assert refused.code != 0 and says in refused.err, refused.err
