"""Made-up worlds hold what they promise: their texts alone lead to the answer, gold finds it, and nobody guesses it."""

import random
import re

import pytest

import guerdon as gd
from guerdon.envs.corpora.made_up_facts import RELATIONS
from guerdon.envs.corpora.word_index import words_of

LEVELS = range(1, 9)
SENTENCES = [
    (
        relation.name,
        re.compile("^" + re.escape(says).replace(r"\{s\}", "(?P<s>.+?)").replace(r"\{o\}", "(?P<o>.+?)") + "$"),
    )
    for relation in RELATIONS
    for says in relation.says
]
NOUNS = {noun: relation.name for relation in RELATIONS for noun in relation.nouns}


def known(task):
    """What the documents of a task say, read by rules of their own: facts in order of trust, other names, years."""
    told, aliases, years = [], {}, {}
    for name, title, text in task.meta["documents"]:
        about, dated, source = title.partition(" (")
        kind, _, year = source.strip(")").partition(" ")
        trust = {"newer": year, "register": kind == "register"} if dated else {"newer": "", "register": False}
        for sentence in text.rstrip(".").split(". "):
            if " is also called " in sentence:
                aliases[sentence.partition(" is also called ")[2]] = about
            elif match := re.fullmatch(r"(.+) was (?:born|founded|written) in the year (\d+)", sentence):
                years[match[1]] = int(match[2])
            else:
                ((relation, match),) = [
                    (r, m) for r, form in SENTENCES if (m := form.match(sentence)) and m["s"] == about
                ]
                told.append((relation, match["s"], match["o"], trust, name))
    return told, aliases, years


def solved(task, phrase):
    """The answer to a noun phrase, by the documents and the rule of the prompt; None where they do not say."""
    told, aliases, years = known(task)
    rule = "newer" if "the newer one is right" in task.prompt else "register"
    nouns = []
    while match := re.match(r"the (.+?) of (.*)", phrase):
        nouns.append(match[1])
        phrase = match[2]
    if match := re.fullmatch(r"whichever of (.+) was \w+ first", phrase):
        phrase = min(re.split(", | and ", match[1]), key=years.__getitem__)
    for noun in reversed(nouns):
        phrase = aliases.get(phrase, phrase)
        said = [(trust[rule], o) for relation, s, o, trust, _ in told if relation == NOUNS[noun] and s == phrase]
        if not said:
            return None
        phrase = max(said)[1]
    return aliases.get(phrase, phrase)


def tasks_of(source, count):
    return [source.get(split, index) for split in ("train", "test") for index in range(count)]


@pytest.mark.sampled(3, "count")
@pytest.mark.parametrize("count", [1, pytest.param(50, marks=pytest.mark.slow)])
@pytest.mark.parametrize("level", LEVELS)
def test_the_texts_alone_lead_to_the_answer(level, count):
    for task in tasks_of(gd.envs.hops(level), count):
        phrase = re.match(r"(?:who|what) is (.*)\?", task.prompt)[1]
        assert (solved(task, phrase) or "not known") == task.answer, task
    for task in tasks_of(gd.envs.claims(level), count):
        phrase, _, stated = re.match(r"claim: (.*)\.\n", task.prompt)[1].rpartition(" is ")
        truth, stated = solved(task, phrase), known(task)[1].get(stated, stated)
        label = "not enough information" if truth is None else "supported" if truth == stated else "refuted"
        assert label == task.answer, task


@pytest.mark.sampled(3, "level")
@pytest.mark.parametrize(
    ("level", "count"), [(1, 3), (5, 3), (8, 3), *[pytest.param(n, 50, marks=pytest.mark.slow) for n in LEVELS]]
)
@pytest.mark.parametrize("name", ["hops", "claims", "rewriting"])
def test_gold_reaches_the_goal_and_all_is_as_the_contract_has_it(name, level, count):
    assert gd.check_env(f"{name}:{level}", episodes=count)["goals"] == count


@pytest.mark.parametrize("source", [gd.envs.hops(4), gd.envs.claims(5)])
def test_near_misses_fail_and_gold_does_not(source):
    for task in tasks_of(source, 6):
        cited = "".join(f" [{one}]" for one in task.meta["relevant"]) if task.meta.get("cite") else ""
        assert source.check(task, f"so:\n= {task.answer}{cited}") == source.check(task, source.solution(task)) == 1.0
        assert all(source.check(task, f"= {alias.title()}{cited}") == 1.0 for alias in task.meta.get("aliases", ()))
        misses = source.near_misses(task, random.Random(0))
        assert len({miss.kind for miss in misses}) >= 2
        assert [miss.kind for miss in misses if source.check(task, miss.text) != 0.0] == []
        assert source.check(task, "") == source.check(task, f"search: {task.answer}") == 0.0


def test_nothing_can_be_said_without_looking():
    """The answer does not stand in the prompt, and a label or a "not known" is worth nothing unless one has looked."""
    for task in [task for level in (1, 3, 5, 7) for task in tasks_of(gd.envs.hops(level), 2)]:
        assert task.answer == "not known" or task.answer not in task.prompt
    for source in (gd.envs.hops(8), gd.envs.claims(8)):
        for task in tasks_of(source, 3):
            world = source.home.open(gd.Ask(task), 0)
            world.step(f"= {task.answer}" + "".join(f" [{one}]" for one in task.meta["relevant"]))
            assert world.outcome()["goal"] == float(
                task.answer not in ("not known", "supported", "refuted", "not enough information")
            )


def test_train_and_test_share_no_name():
    words = {"train": set(), "test": set()}
    for source in (gd.envs.hops(6), gd.envs.claims(6), gd.envs.rewriting(6)):
        for split, seen in words.items():
            for index in range(4):
                documents = source.get(split, index).meta["documents"]
                seen.update(word for _, title, _ in documents for word in words_of(title.partition(" (")[0]))
    assert not words["train"] & words["test"] and all(len(seen) > 300 for seen in words.values())


def test_a_dialogue_wants_its_questions_rewritten():
    source = gd.envs.rewriting(3)
    for task in tasks_of(source, 4):
        misses = source.near_misses(task, random.Random(0))
        worlds = [source.home.open(gd.Ask(task), 0) for _ in misses]
        assert misses and all(world.step(miss.text).pay < 1.0 for world, miss in zip(worlds, misses, strict=True))
    world = source.home.open(gd.Ask(task), 0)
    turns = task.meta["turns"]
    assert world.begin().startswith(
        f"user: {turns[0]['user']}\nassistant: {turns[0]['assistant']}\nuser: {turns[1]['user']}\n"
    )
    for said in ("", "= x", "?!", "\x00"):
        again = world.step(said)
        assert again.pay is None and not again.over and again.view.startswith("no query in that.")
    first = world.step(f"hm\nsearch: {turns[1]['query'].upper()}")
    assert first == gd.envs.Observed(f"assistant: {turns[1]['assistant']}\nuser: {turns[2]['user']}", 1.0)
    world.step("zzz")
    told = world.outcome()
    assert told["goal"] == told["recall"] == pytest.approx(1 / 3) and told["ranks"] == [1, 0] and told["unread"] == 4
    padded = " ".join(["zzz"] * 16 + [turns[3]["query"]])
    assert world.step(padded).over and world.outcome()["ranks"][-1] == 0  # only sixteen words are read


def test_worlds_are_drawn_by_their_index_alone():
    for source in (gd.envs.hops(7), gd.envs.claims(7), gd.envs.rewriting(7)):
        one, other, again = source.get("train", 3), source.get("train", 4), type(source)(7).get("train", 3)
        assert one == again != other and one.prompt != other.prompt
        one.meta["documents"].clear()
        assert source.get("train", 3) == again
