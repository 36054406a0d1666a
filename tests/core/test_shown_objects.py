"""What a prompt and a notebook show of an object: short words, and HTML in which every text is escaped."""

from __future__ import annotations

import re

import pytest
import torch
from html_pages import is_harmless, words_of

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.core.exam_result import ExamResult
from guerdon.core.example import example_tries
from guerdon.core.pack import pack
from guerdon.core.shown_text import cut, number
from guerdon.display.html import escaped, page, table

HOSTILE = '<script>alert("1")</script><img src=x onerror=y>\x00\x1b[31m\u202e\ud800'


def hostile_episode() -> gd.Episode:
    turn = gd.Segment("policy", HOSTILE, context=[5], actions=[4, 1], logp=[-0.1, -0.2], text=HOSTILE)
    return gd.Episode(gd.Ask(gd.Task(HOSTILE, HOSTILE, HOSTILE, meta={"k": HOSTILE})), (turn,))


def hostile_objects():
    episode = hostile_episode()
    batch = pack([episode]).with_cols({HOSTILE: Column.full("track", torch.ones(1))})
    formula = gd.matches(re.escape(HOSTILE.replace("\ud800", "")))
    return {
        "task": episode.task,
        "episode": episode,
        "batch": batch,
        "part": gd.Sampling(stop=(HOSTILE,)),
        "formula": formula + gd.exact().weight(0.5),
        "result": ExamResult({HOSTILE: 0.5, "task": HOSTILE}),
        "recipe": gd.Recipe(
            {"policy": gd.models.tabular("01", length=1)},
            gd.curricula.uniform(gd.tasks.load("parity")),
            gd.envs.single_turn(),
            [
                gd.rewards.score(formula),
                gd.credit.centre("reward"),
                gd.Learn("policy", gd.losses.clipped(), opt=gd.adam(lr=0.3)),
            ],
        ),
    }


@pytest.mark.parametrize("name", list(hostile_objects()))
def test_no_text_acts_in_a_notebook(name):
    text = hostile_objects()[name]._repr_html_()
    assert is_harmless(text) and "&lt;script&gt;" in text


def test_a_lone_control_character_is_spelled_out():
    assert escaped("a\x00<b>\u202e") == "a\u2400&lt;b&gt;\\u202e"
    assert escaped(escaped("<")) == "&lt;"  # once
    assert page("t", "<b>").endswith("<strong>t</strong>&lt;b&gt;</div>")


def test_long_tables_and_texts_are_cut_and_counted():
    text = table(("n",), [(i,) for i in range(25)], most=20)
    assert text.count("<tr>") == 21 and "and 5 more" in text
    assert cut("x" * 1000, 105) == "x" * 50 + " ... " + "x" * 50 and cut("abc", 3) == "abc"
    assert [number(x) for x in (0.123456, 7, None, float("nan"), 1e9)] == ["0.1235", "7", "-", "-", "1e+09"]


def test_a_batch_is_a_few_lines():
    batch = example_tries([[1.0, 0.0], [None, 0.5]], steps=3)
    assert repr(batch) == (
        "Batch(4 episodes, 4 segments, 4 tracks, 12 steps)\n  reward  4 per track, mean 0.5, 1 missing"
    )
    html = words_of(batch._repr_html_())
    assert '<td>reward</td><td>track</td><td class="n">0.5</td><td class="n">4</td><td class="n">1</td>' in html
    assert "<td>failed</td>" in html  # the track whose score broke says why
    assert html.count("<tr>") == 2 + 1 + 4


def test_a_large_batch_shows_its_first_tracks():
    batch = example_tries([[float(i % 2) for i in range(40)]])
    html = words_of(batch._repr_html_())
    assert html.count("<td>policy</td>") == 10 and "and 30 more" in html
    assert len(repr(batch)) < 200


def test_a_column_of_steps_is_shown_by_its_mean():
    batch = example_tries([[1.0, 0.0]], steps=2, advantage=[1.0, 3.0, -1.0, -2.0])
    html = words_of(batch._repr_html_())
    rows = re.findall(r"<tr><td>0\.0\.\d</td>.*?</tr>", html)
    assert [re.findall(r'class="n">([^<]+)<', row) for row in rows] == [["1", "2"], ["0", "-1.5"]]


def test_columns_segments_episodes_and_tasks_are_one_line():
    column = Column("track", torch.tensor([1.0, float("nan")]), torch.tensor([0, int(Reason.FAILED)], dtype=torch.int8))
    assert repr(column) == "Column(2 per track, mean 1, 1 missing)"
    assert repr(Column.empty("step", 2)) == "Column(2 per step, mean -, 2 missing)"
    turn = gd.Segment("policy", "", context=[], actions=[4, 1], logp=[0.0, 0.0], text="y" * 500)
    episode = gd.Episode(gd.Ask(gd.Task("7", "2 + 2 =", "4", family="sums")), (turn,), step=3)
    assert repr(turn).startswith("Segment('policy', 2 actions, 'yyy") and len(repr(turn)) < 120
    assert repr(episode).startswith("Episode(3.0.0 of sums/7: 1 segment, 'yyy") and len(repr(episode)) < 130
    assert repr(episode.but(segments=(), info={"error": "broke"})) == "Episode(3.0.0 of sums/7: 0 segments, failed)"
    assert repr(episode.task) == "Task(id='7', prompt='2 + 2 =', answer='4', family='sums', level=1, meta={})"
    assert len(repr(gd.Task("1", "p" * 9000))) < 500


def test_a_formula_shows_terms_weights_and_knobs():
    formula = gd.blend(right=gd.exact(), brief=gd.length(256).weight(0.1)).gated_by(gd.matches("x"), least=1.0)
    html = words_of(formula._repr_html_())
    assert html.startswith('<div class="guerdon"><strong>(exact + 0.1 * length if matches &gt;= 1)</strong>')
    assert [row.split("</td><td>") for row in re.findall(r"<tr><td>(.*?)</td></tr>", html)] == [
        ["", "gate", "least=1.0"],
        ["reward", "blended", ""],
        ["reward.terms.right", "exact", ""],
        ["reward.terms.brief", "weighted", "by=0.1"],
        ["reward.terms.brief.reward", "length", "limit=256"],
        ["condition", "matches", "pattern=&#x27;x&#x27;"],
    ]


def test_a_part_shows_its_knobs_beside_their_defaults():
    html = words_of(gd.Sampling(temperature=0.5)._repr_html_())
    assert "<td>temperature</td><td>0.5</td><td>1.0</td>" in html and "<td>top_k</td><td>0</td><td></td>" in html


def test_a_recipe_shows_its_stages_by_the_names_they_are_set_by():
    html = words_of(hostile_objects()["recipe"]._repr_html_())
    assert "<strong>Recipe: score, centre, learn</strong>" in html
    assert "<td>learn</td><td>model=&#x27;policy&#x27;, loss=clipped(), opt=adam(lr=0.3)</td>" in html


def test_an_exam_result_is_a_dictionary_and_shows_its_intervals():
    result = ExamResult({"task": "chain", "pass@1": 0.5, "pass@1_low": 0.25, "pass@1_high": 0.75, "x_low": 1})
    assert result == dict(result) and repr(result).startswith("{'task': 'chain'")
    html = words_of(result._repr_html_())
    assert '<td>pass@1</td><td class="n">0.5</td><td class="n">0.25</td><td class="n">0.75</td>' in html
    assert "pass@1_low" not in html and "x_low" in html
