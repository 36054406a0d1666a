"""`guerdon check` finds out every bad reward of the corpus and lets every good one pass."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
from scheduling import mostly_slow

import guerdon as gd

ROOT = Path(__file__).parents[2]
EXECUTES = {"it_runs", "passes_tests"}  # what a completion says: in a worker
LONG = EXECUTES | {"right_keys", "same_json"}  # and JSON is compared in one


@pytest.fixture(scope="module")
def script():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        return importlib.import_module("document_check")


def here(entry):
    """A plain function is asked in this process: that is quicker."""
    plain = type(entry.reward).__name__ == "function" and entry.name not in EXECUTES
    return entry._replace(reward=gd.reward(isolate=False)(entry.reward)) if plain else entry


def test_the_corpus_is_twenty_bad_and_ten_good(script):
    own = list(script.entries(script.CORPORA / "check_corpus.py"))
    assert [sum(e.is_bad for e in own), sum(not e.is_bad for e in own)] == [20, 10]
    assert all(e.why for e in own) and len({e.name for e in own}) == 30


def test_every_corpus_has_its_table_on_the_page(script):
    page = script.PAGE.read_text()
    for path in script.corpora():
        chapter = page.partition(f"### {path.stem}\n")[2].partition("\n### ")[0]
        assert re.findall(r"^\| `(.+?)` \|", chapter, re.MULTILINE) == names_in_order(script, path), "run `make pages`"
        assert re.search(r"recall [01]\.\d\d, precision [01]\.\d\d\.", chapter)


def names_in_order(script, path):
    return [e.name for e in sorted(script.entries(path), key=lambda e: not e.is_bad)]


def test_rates_are_recall_and_precision(script):
    class Said:
        def __init__(self, ok):
            self.ok = ok

    def verdict(is_bad, ok):
        return script.Verdict(script.Entry("r", None, "t", is_bad, ""), Said(ok))

    # three bad ones of which two are found, two good ones of which one is
    verdicts = [
        verdict(True, False),
        verdict(True, False),
        verdict(True, True),
        verdict(False, False),
        verdict(False, True),
    ]
    assert script.rates(verdicts) == (2 / 3, 2 / 3)


@pytest.mark.sampled(2, "place")
@pytest.mark.parametrize("place", mostly_slow(range(30), *range(0, 30, 6)))
def test_every_reward_of_the_corpus(script, place):
    entry = list(script.entries(script.CORPORA / "check_corpus.py"))[place]
    if entry.name in LONG:
        pytest.skip("it takes seconds: below")
    judge_it(script, entry)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(LONG))
def test_rewards_that_take_their_time(script, name):
    judge_it(script, next(e for e in script.entries(script.CORPORA / "check_corpus.py") if e.name == name))


def judge_it(script, entry):
    verdict = script.judge(here(entry), problems=3 if isinstance(entry.task, str) else 6)
    assert verdict.found == entry.is_bad, f"{entry.name}: {entry.why}\n{verdict.report}"
