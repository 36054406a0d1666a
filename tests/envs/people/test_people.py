"""A user who must be asked, attempts with feedback, a planner with who carries it out."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
from refusals import refusal

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay
from guerdon.core.pack import pack
from guerdon.core.wordings import fit_wordings
from guerdon.engine.player import Player
from guerdon.envs.people.errands import ERRANDS
from guerdon.envs.people.simulated_user import UserAtHand
from guerdon.tasks.role_wordings import ROLE_WORDINGS

HOSTILE = (
    "",
    "x" * 5000,
    "\u202e\U0001f4a5\x00",
    "user: the day is friday.",
    "book:",
    "book: x=1",
    "book: day=friday, day=monday",
    "book: {day}",
)


def user(manner="plain", change=None, patience=6, **facts):
    meta = {"errand": "table", "facts": facts, "manner": manner, "patience": patience, "change": change}
    return UserAtHand(meta, seed=3)


def played(env, asks, seats=None, most=4096, **says):
    models = {role: gd.models.scripted(say) for role, say in says.items()}
    for model in models.values():
        model.start(0, models)
    return Player(models, seats or {role: role for role in models}, env, gd.Sampling(max_tokens=most), 5, 1)(asks)


# --- a user who must be asked -------------------------------------------------------------------------------------------


def test_a_plain_user_tells_what_he_is_asked_and_what_was_committed_is_held_against_it():
    world = user(day="friday", people="4")
    assert world.begin().startswith("i want to book a table. ask about day, time, people")
    assert world.step("On which DATE, please?").view == "the day is friday."
    assert world.step("and the menu?").view == "i do not mind the food."
    assert world.step("what day again?").view == "the day is friday."
    assert world.step("nice weather").view == "i do not understand."
    over = world.step("fine\nBook: day=Friday, guests=4, time=20")
    assert over.over and over.view == "thank you."
    told = world.outcome()
    assert told == {
        "goal": 1.0, "committed": {"day": "friday", "people": "4", "time": "20"}, "right": 2, "wanted": 2, "known": 1,
        "questions": 3, "needless": 2, "not_understood": 1, "patience": 2,
    }  # fmt: skip


def test_manners():
    terse = user("terse", day="friday", people="4")
    assert terse.step("day and people?").view == "friday."
    assert terse.step("time?").view == "any."
    two = user("two", day="friday", people="4", name="ada")
    assert two.step("the day?").view == "the day is friday. the people is 4."
    chatty = user("chatty", day="friday").step("day?").view
    assert chatty.startswith("well, last time the day was ") and chatty.endswith("now the day is friday, please.")
    fickle = user("fickle", {"day": "sunday"}, day="friday", people="4")
    assert fickle.step("day?").view == "the day is friday."
    assert fickle.step("people?").view == "the people is 4. wait, i changed my mind: the day is sunday now."
    fickle.step("book: day=friday, people=4")
    assert fickle.outcome()["goal"] == 0.0 and fickle.outcome()["right"] == 1


def test_patience_ends_and_hostile_words_are_answered_and_win_nothing():
    world = user(day="friday", people="4", patience=4)
    views = [world.step(said).view for said in HOSTILE[:3]]
    assert views == ["i do not understand."] * 3
    last = world.step(HOSTILE[3])
    assert last.over and last.view == "the day is friday. i have no more time."
    for said in HOSTILE[4:]:
        fresh = user(day="friday", people="4")
        fresh.step(said)
        assert fresh.outcome()["goal"] == 0.0 and fresh.outcome()["not_understood"] == 1


def test_errands_hold_together():
    """Each word of a form means one field, and a field's own name is what gold asks by."""
    for errand in ERRANDS.values():
        words = [word for blank in errand.form for word in (blank.name, *blank.words)]
        assert len(set(words)) == len(words) and len(errand.form) == 6
        assert not {"what", "is", "the"} & set(words)


@pytest.mark.parametrize("level", [1, 4, 6, 8])
def test_asking_keeps_the_contract_at_every_level(level):
    source = gd.envs.asking(level=level)
    assert gd.check_env(source, episodes=6)["goals"] == 6
    train = {str(source.get("train", i).meta["facts"]) for i in range(60)}
    assert not train & {str(source.get("test", i).meta["facts"]) for i in range(60)}
    assert source.get("test", 7) == source.get("test", 7)


@pytest.mark.slow
def test_gold_always_gets_there_and_chance_seldom():
    for level in range(1, 9):
        source, won = gd.envs.asking(level=level), 0
        assert gd.check_env(source, episodes=50)["goals"] == 50
        for i in range(300):
            world, draw = source.open(gd.Ask(source.get("train", i)), i), random.Random(i)
            over = False
            while not over:
                form = world.errand.form
                values = ", ".join(f"{blank.name}={draw.choice(blank.values)}" for blank in form)
                question = f"what is the {draw.choice(form).name}?"
                over = world.step(f"{world.errand.verb}: {values}" if draw.random() < 0.3 else question).over
            won += world.outcome()["goal"]
        assert won / 300 < 0.08


def test_limits_of_a_talk():
    source = gd.envs.asking(level=1, most=2)
    asks = [gd.Ask(source.get("train", 0))]
    (cut,) = played(source, asks, policy=lambda view, past, seed: "the street?")
    assert cut.info["cut"] == "turns" and cut.info["goal"] == 0.0
    (short,) = played(source, asks, most=3, policy=lambda view, past, seed: "the street?")
    assert short.info["cut"] == "tokens"


def test_another_seat_plays_the_user_as_the_page_shows(capsys):
    page = (Path(__file__).parents[3] / "docs" / "people_and_games.md").read_text()
    example, told = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL).groups()
    assert len(example.splitlines()) < 40
    names: dict[str, Any] = {}
    exec(example, names)
    assert capsys.readouterr().out == told
    source = names["source"]
    (episode,) = played(source, [gd.Ask(source.get("train", 0))], policy=names["clerk"], user=names["person"])
    assert episode.info["goal"] == {"policy": 1.0, "user": 1.0} and episode.info["questions"] == 6
    assert [s.role for s in episode.segments] == ["policy", "user"] * 6 + ["policy"]
    assert gd.check_env(source, episodes=4)["goals"] == 4


# --- attempts with feedback ---------------------------------------------------------------------------------------------

RIGHT, WRONG = "4*4=16\n16*5=80\n= 80", "4*4=16\n16*5=81\n= 81"


def attempts(source, says, **others):
    shown: list[str] = []

    def say(view, past, seed):
        shown.append(view)
        return says[min(len(shown), len(says)) - 1]

    (episode,) = played(source, [gd.Ask(source.get("train", 0))], policy=say, **others)
    return episode, shown


def test_feedback_comes_back_until_it_is_right():
    episode, shown = attempts(gd.envs.with_feedback("chain:1"), [WRONG, RIGHT])
    assert shown == ["chain 4 *4 *5", f"revise\nchain 4 *4 *5\n{WRONG}"]
    assert episode.info == {"goal": 1.0, "first_right": 2, "attempts": 2}
    assert episode.segments[1].parent == 0  # one conversation

    line = gd.envs.with_feedback("chain:1", "line", memory=False, most=2)
    episode, shown = attempts(line, [WRONG, WRONG])
    assert shown[1] == f"revise\nchain 4 *4 *5\n{WRONG}\n16*5=81 -"
    assert episode.info == {"goal": 0.0, "first_right": 0, "attempts": 2} and episode.segments[1].parent == -1
    task = line.get("train", 0)
    assert [line.told(task, a) for a in ("4*4=16\n16*5=80\n= 8", "4*4=16")] == ["= 8 -", "? -"]

    own = gd.envs.with_feedback(
        "chain:1", lambda task, answer: f"not {answer} {{prompt}}", template="{answer}|{feedback}"
    )
    assert attempts(own, ["{feedback}", RIGHT])[1][1] == "{feedback}|not {feedback} {prompt}"


def test_a_critic_in_another_seat_decides_when_it_is_enough():
    source = gd.envs.with_feedback("chain:1", "critic", most=3)
    verdicts = iter(["4*4=16 +\n16*5=81 -\n= no", "well\n= yes"])
    episode, shown = attempts(source, [WRONG, WRONG], critic=lambda view, past, seed: next(verdicts))
    assert episode.info == {"goal": {"policy": 0.0, "critic": 0.5}, "first_right": 0, "attempts": 2}
    assert shown[1].endswith("16*5=81 -\n= no")
    assert next(s.view for s in episode.segments if s.role == "critic") == f"verify\nchain 4 *4 *5\n{WRONG}"


def test_a_critic_that_follows_instructions_is_read_from_prose():
    source = gd.envs.with_feedback("chain:1", "critic", most=3, memory=False)
    fit_wordings(source, knows_roles=False)
    verdicts = iter(["Let me see.", "The answer is not right.", "**Verdict:** Yes."])
    episode, shown = attempts(source, [WRONG, WRONG, RIGHT], critic=lambda view, past, seed: next(verdicts))
    goal = {"policy": 1.0, "critic": 1.0}  # of the two that can be read
    assert episode.info == {"goal": goal, "first_right": 3, "attempts": 3, "unreadable": 1}
    asked = next(s.view for s in episode.segments if s.role == "critic")
    assert asked == ROLE_WORDINGS["verify"].plain.format(question="chain 4 *4 *5", answer=WRONG)
    assert shown[1].startswith(
        f"chain 4 *4 *5\n\nHere is an earlier answer to this:\n{WRONG}\n\nIt was checked: Let me see."
    )
    play = ExamplePlay()
    source.observe(pack([episode]), play)
    assert play.metrics == {"roles/verify/asked": 3.0, "roles/verify/unreadable": 1.0}
    mute, _ = attempts(source, [WRONG] * 3, critic=lambda view, past, seed: "Hm.")
    assert mute.info["goal"] == {"policy": 0.0} and mute.info["unreadable"] == 3


@pytest.mark.parametrize("feedback", ["verdict", "line", "critic"])
def test_with_feedback_keeps_the_contract(feedback):
    assert gd.check_env(gd.envs.with_feedback("chain:1-2", feedback), episodes=6)["nonsense"] == 6


def test_limits_and_refusals_of_attempts():
    source = gd.envs.with_feedback("chain:1")
    (cut,) = played(source, [gd.Ask(source.get("train", 0))], most=3, policy=lambda *_: WRONG)
    assert cut.info == {"goal": 0.0, "first_right": 0, "attempts": 1, "cut": "tokens"}
    with refusal(UserError):
        gd.envs.with_feedback("parity", "line")
    with pytest.raises(UserError, match="feedback='line'"):
        gd.envs.with_feedback("parity", 3)
    assert gd.tasks.load("with_feedback:chain:3").inner.level == 3


# --- a planner and who carries it out ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("two", [False, True])
def test_planner_and_executor_both_learn(two, tmp_path):
    source = gd.envs.planned("parity", ask="plan {prompt}")
    names = ("planner", "policy") if two else ("policy",)
    recipe = gd.Recipe(
        models={name: gd.models.tabular("01", length=1) for name in names},
        seats={"planner": names[0], "policy": "policy"},
        curriculum=gd.curricula.uniform(source, tries=4),
        env=source,
        stages=[
            gd.rewards.verified(source, role=("planner", "policy")),
            gd.credit.centre("correct", by="ask"),
            *(gd.Learn(name, gd.losses.clipped(), opt=gd.adam(lr=0.1)) for name in names),
        ],
        prompts=8,
    )
    run = gd.train(recipe, steps=2, seed=1, out=str(tmp_path / "run"))
    batch = run.batch(0)
    views = {s.role: s.view for s in batch.episodes[0].segments}
    plan = batch.episodes[0].segments[0].text
    assert views["planner"] == f"plan {batch.episodes[0].task.prompt}" and views["policy"].endswith(f"\n{plan}")
    learned = [role for role in ("planner", "policy") if batch["advantage"][batch.tracks_of([role])].abs().sum() > 0]
    assert learned == ["planner", "policy"]
    assert all(run.metrics[f"{name}/grad_norm"][0].as_py() > 0 for name in names)


def test_planned_keeps_the_contract_and_hides_the_problem():
    source = gd.envs.planned("chain:1", shows="plan", carry="do this:\n{plan}")
    assert gd.check_env(source, episodes=6) == {"episodes": 6, "turns": 12, "goals": 6, "restarts": 6, "nonsense": 6}
    (episode,) = played(
        source, [gd.Ask(source.get("train", 0))], planner=lambda *_: "a\n\nb", policy=lambda view, past, seed: view
    )
    assert episode.segments[1].text == "do this:\na\n\nb" and episode.info == {"goal": 0.0, "plan": 2}
    with refusal(UserError):
        gd.envs.planned("chain:1", carry="x")
