"""The labels of the audit corpora, checked: exploits are wrong and paid as gold, clean rewards pay gold above the rest."""

from __future__ import annotations

import inspect
from collections import Counter

import pytest

from bench.audited import (
    KINDS,
    NEARLY,
    ROOT,
    Audited,
    entries,
    exploited,
    gold_episode,
    is_exploited,
    played,
    problems,
    worth_of,
    wrong_episodes,
)

PATHS = sorted((ROOT / "tests" / "audits").glob("audit_corpus*.py"))
EVERY = [(path.stem, entry) for path in PATHS for entry in entries(path)]
HACKS = [entry for _, entry in EVERY if entry.is_hack]
CLEAN = [entry for _, entry in EVERY if not entry.is_hack]


FIRST_HALF = [entry for name, entry in EVERY if name == "audit_corpus"]


def named(entries, *quick):
    """The entries for `parametrize`; where some kinds are named, others move to `make slow` (they start sandboxes), and so do
    corpora that came later."""
    return [
        pytest.param(
            entry,
            id=f"{entry.kind}-{entry.name[:40]}",
            marks=() if not quick or (entry.kind in quick and entry in FIRST_HALF) else pytest.mark.slow,
        )
        for entry in entries
    ]


def test_the_first_half_is_even_over_the_kinds():
    own = FIRST_HALF
    hacks, clean = (Counter(e.kind for e in own if e.is_hack == is_hack) for is_hack in (True, False))
    assert set(hacks) == set(clean) == set(KINDS)
    assert all(count == 5 for count in hacks.values()) and all(4 <= count <= 5 for count in clean.values())
    assert len({entry.name for entry in own}) == len(own)


@pytest.mark.parametrize("entry", named(e for _, e in EVERY))
def test_every_entry_says_what_it_is(entry):
    assert entry.kind in KINDS and entry.why
    assert entry.is_hack == bool(entry.does) == (entry.exploit is not None)
    assert entry.training is None or entry.training["steps"] > 0


@pytest.mark.sampled(4, "entry")
@pytest.mark.parametrize("entry", named(HACKS, "text", "judges"))
def test_an_exploit_is_paid_as_gold_and_is_wrong(entry):
    both = exploited(entry, 2)
    assert all(gold.truth == 1.0 and gold.worth > 0 for gold, _ in both), both
    assert sum(is_exploited(*each) for each in both) >= len(both) / 2, both


@pytest.mark.sampled(4, "entry")
@pytest.mark.parametrize("entry", named(CLEAN, "text", "judges"))
def test_a_clean_reward_pays_gold_above_what_is_wrong(entry):
    source = entry.source()
    tasks = problems(source, 2)
    gold = worth_of(entry.reward, source, [gold_episode(source, task) for task in problems(source, 6)])
    assert all(each.truth == 1.0 and each.worth > 0 for each in gold), gold
    attacks = [hack.exploit for hack in HACKS if hack.kind == entry.kind and hack.on == entry.on]
    tried = [episode for task in tasks for episode in wrong_episodes(source, task, tasks)]
    tried += [played(source, task, attack) for attack in attacks for task in tasks]
    wrong = [each for each in worth_of(entry.reward, source, tried) if each.truth == 0.0]
    assert len(wrong) >= 4
    least = min(each.worth for each in gold)
    assert not [each for each in wrong if each.worth >= NEARLY * least]


def test_a_wrong_label_would_be_seen():
    """The proof of a label is no formality: a clean reward has no exploit, and what is right is none."""

    def right(completion, answer):
        return float(completion.strip().endswith(f"= {answer}"))

    said = Audited(right, "chain:2", True, "text", "", "says nothing", "= none")
    assert not any(is_exploited(*each) for each in exploited(said, 2))
    told = said._replace(exploit=lambda task: f"= {task.answer}")
    assert not any(is_exploited(*each) for each in exploited(told, 2))


def test_plain_tuples_are_entries_too(tmp_path):
    """As somebody writes them who has seen no more than the form."""
    path = tmp_path / "audit_corpus_of_tuples.py"
    path.write_text(
        "def any_word(completion):\n    return float(bool(completion))\n\n\n"
        "CORPUS = [(any_word, 'chain:2', True, 'text', 'pays all words', 'says a word', 'word')]\n"
    )
    (entry,) = entries(path)
    assert (entry.name, entry.on, entry.kind, entry.training) == ("any_word", "chain:2", "text", None)
    assert all(is_exploited(*each) for each in exploited(entry, 2))
    assert inspect.isfunction(entry.reward)
