"""Reading rollouts in a browser, by keyboard alone."""

from __future__ import annotations

import shutil

import pytest
import torch
from strategies import episode, segment

from guerdon.core.column import Column, Reason
from guerdon.core.pack import pack
from guerdon.core.task import Ask, Task
from guerdon.runs.rollout_files import write_batch
from guerdon.runs.run import Run
from guerdon.studio.library import id_of

HOSTILE = "<img src=x onerror=alert(1)>\x1b \u202e <b>bold</b>"
LONG = 5_000  # characters, a token each


@pytest.fixture(scope="module")
def runs(tmp_path_factory, small_run):
    """A run with steps made by hand: 8 and 9 ask the same, one of the tries of 9 is a tree with a judge."""
    folder = tmp_path_factory.mktemp("browsed") / "runs" / "own"
    shutil.copytree(small_run / "first", folder)
    for step in (8, 9):
        write_batch(Run(folder).folder.rollouts(step), batch(step), step)
    return folder.parent


def acted(text, **fields):
    return segment([ord(c) for c in text], text=text, **fields)


def batch(step):
    task = Task("six", "What is 6*6 - 2?", "34", family="tools", meta={"<i>": 1})
    tools = [{"role": "user", "content": "6*6 - 2?"}, {"role": "tool", "name": "calc", "content": "36"}]
    tree = [acted("36 - 2", view=tools, given=2), acted(" = 34", parent=0), acted(" = 43", parent=0)]
    tries = [
        episode(*tree, acted("right", role="judge", parent=1, view="is it?"), step=step, ask=Ask(task, 3)),
        episode(acted(f"{HOSTILE} {step}"), step=step, attempt=1, ask=Ask(task, 3)),
        episode(acted("ab" * (LONG // 2)), step=step, attempt=2, ask=Ask(task, 3)),
        episode(acted("1"), step=step, number=1),
    ]
    made = pack(tries)
    why = torch.zeros(made.K, dtype=torch.int8)
    why[3] = Reason.FAILED
    reward = torch.arange(made.K, dtype=torch.float32).masked_fill(why > 0, float("nan"))
    advantage = Column.full("step", torch.linspace(-2, 2, made.S))
    return made.with_cols(
        {"advantage": advantage, "reward": Column("track", reward, why, {3: {"error": f"E\n{HOSTILE}"}})}
    )


def fits(page):
    return page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_a_rollout_is_read_by_keyboard_alone(browse, runs):
    run = id_of(runs / "own")
    opened = browse(runs, viewport={"width": 420, "height": 900}, color_scheme="dark")
    page = opened.go(f"/rollout/{run}/9/9.0.1")
    page.wait_for_selector(".bar-try")
    assert page.inner_text(".said-text").startswith("<img src=x onerror=alert(1)>␛ \\u202e <b>bold</b> 9")
    assert page.locator("img, .spoken b").count() == 0 and fits(page)
    assert page.locator(".scores .bad").first.inner_text() == "failed"

    page.keyboard.press("i")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    line = page.inner_text(".token-line")
    size = len(HOSTILE) + 2
    before = len("36 - 2") + 2 * len(" = 34") + len("right")
    steps = before + size + LONG + 1
    assert line.startswith(f"2 of {size}") and '"i"' in line and "id 105" in line and "log-prob −1" in line
    assert f"advantage {-2 + 4 * (before + 1) / (steps - 1):.4f}".replace("-", "−") in line
    assert page.inner_text("#told") == line.replace("\n", " ")

    page.keyboard.press("v")
    assert page.locator(".colour-bar select").evaluate("s => s.selectedOptions[0].text") == "log-prob"
    assert page.locator(".t.seq").count() == size and page.locator(".t.up, .t.down").count() == 0
    page.wait_for_url("**colour=logp")
    page.reload()
    page.wait_for_selector(".bar-try")
    assert page.locator(".t.seq").count() == size

    page.keyboard.press("a")  # all tries
    page.wait_for_selector("table.tries")
    assert fits(page) and page.locator("h2").all_inner_texts() == ["policy", "judge"]
    assert "4 tracks of 3 tries" in page.inner_text(".group-facts >> nth=0")
    page.keyboard.press("j")
    assert (
        page.locator("tr.current").get_attribute("data-episode") == "9.0.2"
    )  # its steps are the last, so the most liked
    page.keyboard.press("Enter")
    page.wait_for_selector(".bar-try")
    assert page.evaluate("location.pathname").endswith("/9/9.0.2")
    more = page.get_by_role("button", name="tokens: show more")
    assert more.inner_text().startswith("2,000 of 5,000")
    more.focus()
    page.keyboard.press("Enter")
    page.locator(".t[data-n]").nth(3999).wait_for()
    assert page.locator(".t[data-n]").count() == 4000


def test_a_tree_is_drawn_and_two_groups_stand_beside_each_other(browse, runs):
    run = id_of(runs / "own")
    opened = browse(runs)
    page = opened.go(f"/rollout/{run}/9/9.0.0?segment=2")
    page.wait_for_selector(".bar-try")
    assert page.locator("details.branch").count() == 3  # two branches, and the judge below the first
    assert page.locator(".turn.chosen").get_attribute("data-turn") == "2"
    assert page.inner_text(".message.tool") == "result of calc\n36"
    assert page.locator(".t.given").count() == 2
    assert page.locator(".track-scores[open]").count() == 3
    page.get_by_role("button", name="as a table").focus()
    page.keyboard.press("Enter")
    rows = page.locator("dialog tbody tr")
    assert rows.count() == len("36 - 2 = 34 = 43right") and "put in its mouth" in rows.first.inner_text()
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="detached")

    page.keyboard.press("e")  # the same prompt elsewhere
    page.wait_for_selector(".difference h2")
    assert page.evaluate("new URL(location).searchParams.get('right')") == f"{run}:8"
    assert page.locator(".both-means tbody tr").first.inner_text().split() == ["tries", "4", "4"]
    assert page.inner_text(".difference").endswith("They say the same, word for word.")
    page.keyboard.press("j")
    page.keyboard.press("J")
    page.locator(".diff ins", has_text="8").wait_for()
    assert (page.inner_text(".diff del"), page.inner_text(".diff ins")) == ("9", "8")
    page.set_viewport_size({"width": 420, "height": 900})
    assert fits(page)
    page.reload()
    page.wait_for_selector(".difference .diff")
    page.get_by_label("right step").select_option("9")
    page.wait_for_url("**right=*%3A9&**")

    opened.expected = ("404",)
    page = opened.go(f"/rollout/{run}/9/9.9.9")
    page.wait_for_selector("#fault:not([hidden])")
    assert page.inner_text("#fault") == "step 9 holds no rollout 9.9.9"
    page = opened.go("/beside")
    assert "Open a rollout" in page.inner_text(".empty")
