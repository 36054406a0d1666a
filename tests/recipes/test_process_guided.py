"""SCOPE, T-REG and TP-GRPO: what their own parts compute by hand, and that the recipes run."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest
import torch
from refusals import refusal
from scheduling import mostly_slow
from tolerances import rounding

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay, example_tries
from guerdon.core.pack import pack
from guerdon.core.task import Ask, Sampling
from guerdon.engine.player import Player
from guerdon.envs.contrasting import side_by_side
from guerdon.losses.policy import clipped
from guerdon.models import load
from guerdon.prove.arms import arms_of
from guerdon.recipes.process.scope.parts import parted, salvage, shaped, way_on
from guerdon.recipes.process.t_reg import opposite_prompts, spread_by_tokens
from guerdon.recipes.process.tp_grpo_thought.parts import by_line, each_line, paid_later, read_marks, thoughts
from guerdon.rewards import score, true_lines, verified
from guerdon.select.other_views import reworded
from guerdon.tasks import by_steps
from guerdon.tasks import load as load_task
from guerdon.tasks.roles import marks
from guerdon.training.catalog import find_recipe

FAMILY = load_task("equation:6-7")
QUIET = gd.Options(eval_tasks=0)


@pytest.fixture(scope="module")
def sprig():
    model = load("sprig-1.1")
    model.start(0, {})
    return model


def problem_of(index=0):
    task = FAMILY.get("train", index)
    return task, by_steps(FAMILY).steps(task)


def recited(sprig, *tries):
    """Tries as texts, each an episode of one turn that was said with log-prob -0.5 a token; and the `play` of it."""
    play = Player({"policy": sprig}, {"policy": "policy"}, side_by_side(tries=0), Sampling(), 0, 1)
    asks = {task.key: Ask(task, len(tries)) for task, _ in tries}
    episodes = []
    for n, (task, text) in enumerate(tries):
        (episode,) = play([Ask(task, note={"say": [text]})])
        (said,) = episode.segments
        told = said.but(logp=np.full(len(said.actions), -0.5, np.float32))
        episodes.append(episode.but(ask=asks[task.key], segments=(told,), number=list(asks).index(task.key), attempt=n))
    return pack(episodes), play


def judged(batch, play):
    for stage in (verified(FAMILY), score(true_lines(by_steps(FAMILY)), "judged")):
        batch = stage(batch, play)
    return batch


# --- SCOPE --------------------------------------------------------------------------------------------------------


def test_a_solution_goes_on_from_where_it_is_right():
    family = gd.tasks.equation(level=2)
    problem = family.get("train", 0)  # 9x+12=48
    assert way_on(family, problem, []) == family.solution(problem)
    assert way_on(family, problem, ["9x=36"]) == "9x=36\nx=4\n= 4"
    assert way_on(family, problem, ["18x=72"]) == "18x=72\nx=4\n= 4", "a way that the worked solution does not know"
    assert way_on(family, problem, ["9x=35"]) is None, "no way is right from a wrong line"


@pytest.mark.parametrize("name", ["chain:3", "trace:2", "modular:2", "sorting:2"])
def test_worked_solutions_go_on_after_any_of_their_own_lines_in_other_families(name):
    family = load_task(name)
    problem = family.get("train", 1)
    steps = family.steps(problem)
    assert {way_on(family, problem, steps[:n]) for n in range(len(steps) + 1)} == {family.solution(problem)}


def test_failed_tries_keep_their_right_lines_and_their_log_probs(sprig):
    task, steps = problem_of()
    right = by_steps(FAMILY).solution(task)
    wrong = "\n".join([*steps[:2], "x=99", "= 99"])
    batch, play = recited(sprig, (task, right), (task, wrong))
    batch = judged(batch, play)
    spent = play.tokens
    after = salvage(FAMILY, [verified(FAMILY)])(batch, play)
    texts = [episode.segments[0].text for episode in after.episodes]
    assert texts == [right, wrong, right]
    assert after["correct"].tolist() == [1.0, 0.0, 1.0]
    assert after.episodes[2].ask.note["salvaged"] == 2
    new = after.steps_by_track()[2]
    own = len(sprig.teacher_force(task.prompt, "\n".join(steps[:2]) + "\n").actions) - len(
        sprig.teacher_force(task.prompt, "").actions
    )
    assert after["off"][new].tolist() == [0.0] * own + [1.0] * (len(new) - own)
    assert after.logp[new].tolist() == [-0.5] * own + [0.0] * (len(new) - own)
    assert float(after["off"][torch.cat(after.steps_by_track()[:2])].sum()) == 0.0
    assert play.tokens - spent == len(new) - own, "what was kept is not paid for again"
    assert play.metrics["salvage/failed"] == 0.5 and play.metrics["salvage/joined"] == 1.0
    assert int(after.size("ask")) == 1, "it joins its group"


def test_without_keeping_the_whole_is_somebody_elses(sprig):
    task, steps = problem_of()
    batch, play = recited(sprig, (task, "\n".join([*steps[:2], "x=99", "= 99"])))
    after = salvage(FAMILY, [verified(FAMILY)], keep=False)(judged(batch, play), play)
    assert after["off"].tolist() == [0.0] * batch.S + [1.0] * (after.S - batch.S)
    assert play.metrics["salvage/kept"] == 0.0


def test_a_teacher_goes_on_from_the_kept_lines(sprig):
    task, steps = problem_of()
    batch, play = recited(sprig, (task, "\n".join([*steps[:-1], "x=99", "= 99"])))
    play.models["teacher"] = load("sprig-1.1")
    play.models["teacher"].start(0, {})
    play.models["teacher"].meter = play.meter
    play.env = gd.envs.single_turn()
    after = salvage(FAMILY, [verified(FAMILY)], "teacher")(judged(batch, play), play)
    for episode in after.episodes[1:]:  # sprig nearly always ends a solution that lacks its last step
        assert episode.ask.seats is None and episode.segments[0].given == 0
        assert episode.segments[0].text.startswith("\n".join(steps[:-1]))
        assert float(after.logp[after.steps_by_track()[1]][-1]) == 0.0


def test_what_is_still_wrong_joins_nothing(sprig):
    task, _ = problem_of()
    batch, play = recited(sprig, (task, "x=99\n= 99"))
    nothing = score(lambda completion: 0.0, "correct")
    after = salvage(FAMILY, [nothing])(judged(batch, play), play)
    assert after.K == 1 and play.metrics["salvage/joined"] == 0.0 and "salvage/kept" not in play.metrics


def test_what_others_said_pulls_by_the_policys_probability_shaped():
    """f(x) = x / (x + 0.1): its slope times x is 0.1 x / (x + 0.1)^2, and a clipped term of no advantage adds nothing."""
    batch = example_tries([[1.0, 0.0]], advantage=[2.0, -1.0], off=[1.0, 0.0])
    batch = parted()(batch, ExamplePlay())
    logp = torch.tensor([0.3, 1.0]).log().requires_grad_()
    loss = clipped(advantage="on_advantage") + shaped()
    value, _ = loss(batch, {"logp": logp, "entropy": torch.zeros(2)})
    value.backward()
    assert float(value.detach()) == pytest.approx((-2 * 0.3 / 0.4 + 1.0) / 2)
    assert logp.grad.tolist() == pytest.approx([-2 * 0.1 * 0.3 / 0.4**2 / 2, 0.5], abs=rounding(8))
    assert loss.silent(batch).tolist() == [False, False]


@pytest.mark.slow
def test_scope_trains_and_refuses_what_it_cannot_check(tmp_path):
    run = gd.train("scope", task="equation:6-7", model="sprig-1.1", steps=1, prompts=1, tries=8, max_tokens=80, options=QUIET, out=tmp_path / "run")  # fmt: skip  # noqa: E501
    numbers = run.metrics.to_pylist()[-1]
    assert numbers["salvage/joined"] > 0 and numbers["policy/off_probability"] > 0
    with refusal(UserError, "--set"):
        find_recipe("scope").build({"task": gd.tasks.successor(), "model": load("tabular")}, {})


# --- T-REG --------------------------------------------------------------------------------------------------------


def of_pair(*logp, alpha=2.0, **knobs):
    """The loss of a pair of answers of two tokens each and its gradient, where the reference found every token e^-1 likely and
    token rewards are 0.5, -0.5 in the better one and 0.5, -0.25 in the worse."""
    tokens = [0.5, -0.5, 0.5, -0.25]
    batch = example_tries([[1.0, 0.0]], steps=2, reference__logp=[-1.0] * 4, token_steps=tokens)
    batch = gd.select.paired()(batch, ExamplePlay())
    live = torch.tensor(logp).requires_grad_()
    value, noted = spread_by_tokens(alpha, **knobs)(batch, {"logp": live})
    value.backward()
    return float(value.detach()), live.grad.tolist(), noted


def test_a_pairs_reward_is_spread_by_hand():
    """h = 0.1 * (1 + 1) for the better and 0.1 * (-1 - 1) for the worse: w = sigma(-0.4). The better one's likelihood counts
    0.5 * 0 - 0.5 * 0, the worse one's 0.5 * -2 - 0.25 * -2 = -0.5."""
    value, slope, noted = of_pair(0.0, 0.0, -2.0, -2.0)
    w = 1 / (1 + np.exp(0.4))
    assert value == pytest.approx(2.0 * w * -0.1 * -0.5)
    assert slope == pytest.approx([-0.2 * w * r for r in (0.5, -0.5, 0.5, -0.25)])
    assert float(noted["pair_weight"]) == pytest.approx(w) and float(noted["token_reward"]) == pytest.approx(-0.125)
    assert of_pair(0.0, 0.0, -2.0, -2.0, weighted=False)[0] == pytest.approx(2.0 * -0.1 * -0.5)


def test_beside_dpo_a_sure_token_is_pushed_down_in_no_answer():
    """At the start w is 1/2, as in DPO's own gradient: a token of reward 1/2 in the worse answer is left where it is."""
    batch = example_tries([[1.0, 0.0]], steps=2, reference__logp=[-1.0] * 4, token_steps=[0.5, -0.5, 0.5, -0.5])
    batch = gd.select.paired()(batch, ExamplePlay())
    live = torch.full((4,), -1.0).requires_grad_()
    (gd.losses.dpo() + spread_by_tokens(2.0))(batch, {"logp": live})[0].backward()
    assert live.grad.tolist() == pytest.approx([-0.1, 0.0, 0.0, 0.1])


def test_with_even_rewards_nothing_about_tokens_is_left():
    """The better one's tokens have 0 on average, the worse one's 0.125."""
    _, slope, _ = of_pair(-1.0, -1.0, -1.0, -1.0, even=True)
    assert slope == pytest.approx([0.0, 0.0, -0.2 * 0.5 * 0.125, -0.2 * 0.5 * 0.125])


def test_token_rewards_are_those_of_two_readings(sprig):
    """Held against reciting the answer under each wording and reading that."""
    task, steps = problem_of()
    batch, play = recited(sprig, (task, "\n".join(steps)))
    play.models["reference"] = sprig
    reward = opposite_prompts("right\n{prompt}", "wrong\n{prompt}")
    found = score(reward, "token")(batch, play)["token_steps"]
    read = []
    for word in ("right", "wrong"):
        again, _ = recited(sprig, (task.__class__(task.key, f"{word}\n{task.prompt}", task.answer), "\n".join(steps)))
        read.append(sprig.read(again, ["logp"])["logp"].detach())
    assert found.tolist() == pytest.approx((torch.sigmoid(read[0] - read[1]) - 0.5).tolist(), abs=1e-5)
    assert float(found.abs().max()) > 0.001
    with pytest.raises(UserError, match="prompt"):
        opposite_prompts("right", "wrong")


def test_messages_are_worded_in_their_last_one():
    talk = [{"role": "system", "content": "s"}, {"role": "user", "content": "2+2"}]
    assert reworded("bad: {prompt}", talk) == [talk[0], {"role": "user", "content": "bad: 2+2"}]
    with pytest.raises(UserError, match="texts and messages"):
        reworded("bad: {prompt}", 3)


@pytest.mark.slow
def test_t_reg_trains_on_a_task(tmp_path):
    small = {"steps": 1, "prompts": 2}
    looks = {"options": gd.Options(eval_tasks=2, eval_tries=1), "exam_2.tasks": 2}
    run = gd.train("t-reg", task="chain:1", model="sprig-1.1", out=tmp_path / "task", **{**small, **looks})
    assert "policy/token_reward" in run.metrics.to_pylist()[-1]
    assert {"pass@1", "steps/prompts_lines_examined", "steps/implied_lines_examined"} <= set(run.evaluations[-1])


@pytest.mark.slow
def test_t_reg_trains_on_pairs_of_a_file(tmp_path):
    rows = tmp_path / "pairs.jsonl"
    rows.write_text("".join(f'{{"prompt": "{n}+2", "chosen": "{n + 2}", "rejected": "{n}"}}\n' for n in range(6)))
    run = gd.train("t-reg", data=str(rows), model="sprig-1.1", out=tmp_path / "file", steps=1, prompts=2, options=QUIET)
    assert "policy/pair_weight" in run.metrics.to_pylist()[-1]


def test_control_words_are_told_right_and_wrong_solutions():
    base = find_recipe("controlled").build({"task": load_task("chain:1"), "model": load("sprig-1.1")}, {})
    asks = base.curriculum.draw(6, ExamplePlay())
    family = load_task("chain:1")
    truth = {ask.shown.split()[0]: family.check(ask.task, *ask.note["say"]) for ask in asks}
    assert truth == {"right": 1.0, "wrong": 0.0, "chain": 1.0}
    assert [exam.name for exam in base.exams] == ["", "right", "wrong"]


# --- TP-GRPO ------------------------------------------------------------------------------------------------------


def thought_through(sprig, *tries, **knobs):
    batch, play = recited(sprig, *tries)
    batch = score(each_line(by_steps(FAMILY)), "judged")(verified(FAMILY)(batch, play), play)
    batch = gd.credit.centre("correct", std=False, gives_to="outcome")(batch, play)
    batch = thoughts(**knobs)(batch, play)
    values = [batch["advantage"][steps] for steps in batch.steps_by_track()]
    return batch, values, play


def runs(values):
    """A track's advantages, without repetition."""
    return [round(float(v), 4) for v, _ in groupby(values.tolist())]


def test_lines_are_joined_into_thoughts_by_hand(sprig):
    """Two of four tries are right: r_o is +-0.5 and r_c = 0.5 * 0.5. Right thoughts of right answers have r_o + r_c, the wrong
    one in their middle r_o; in wrong answers right lines have 0, wrong ones r_o, and right ones after them 0 again."""
    task, steps = problem_of()
    right = by_steps(FAMILY).solution(task)
    mended = "\n".join([steps[0], "x=99", *steps[1:], f"= {task.answer}"])
    wrong = "\n".join([*steps[:2], "x=99", "= 99"])
    odd = "\n".join([steps[0], "x=99", steps[1], "= 99"])
    _, values, play = thought_through(sprig, (task, right), (task, mended), (task, wrong), (task, odd), alpha=0.5)
    assert [runs(v) for v in values] == [[0.75], [0.75, 0.5, 0.75], [0.0, -0.5], [0.0, -0.5, 0.0, -0.5]]
    assert play.metrics["thoughts/mended"] == 0.5 and play.metrics["thoughts/judged"] == 1.0
    _, values, _ = thought_through(sprig, (task, right), (task, mended), (task, wrong), (task, odd), adaptive=False)
    assert [runs(v) for v in values][:2] == [[1.0], [1.0, 0.5, 1.0]]


def test_what_nobody_solves_goes_by_its_outcome(sprig):
    """With no right try r_o is 0 for all, and so is everything."""
    task, steps = problem_of()
    _, values, _ = thought_through(sprig, (task, f"{steps[0]}\n= 99"), (task, "x=99\n= 99"))
    assert [runs(v) for v in values] == [[0.0], [0.0]]


def test_however_many_thoughts_there_are_a_token_has_one_of_three_numbers():
    said = torch.tensor([1.0, -1.0] * 20 + [1.0])
    assert set(paid_later(said).tolist()) == {0.0, 1.0}
    assert set(paid_later(said[:-1]).tolist()) == {0.0, -1.0}
    assert by_line([1.0, -1.0, 1.0], [1, 2, 4], 6).tolist() == [1.0, 1.0, -1.0, 1.0, 1.0, 1.0]


def test_marks_of_a_verifier_are_read():
    text = "9x=36\nx=5\n= 5"
    assert read_marks(text, "9x=36 +\nx=5 -\n= no", right=False) == [1.0, 0.0, 0.0]
    assert read_marks(text, "9x=36 +\nx=5 -\n= no", right=True) == [1.0, 0.0, 1.0]
    assert read_marks(text, "9x=36 +\nx=5 +\n= 5 +\n= yes", right=True) == [1.0, 1.0, 1.0]
    assert read_marks(text, "9x=35 +\nx=5 +\n= 5 +\n= yes", right=True) is None, "other lines"
    assert read_marks(text, "9x=36 +", right=True) is None, "it went through one line and stopped"


def test_a_verifier_of_the_family_is_followed(sprig):
    """The exact marks beside copied lines, as sprig-1 writes them, give what the checker says up to the first wrong line."""
    task, steps = problem_of()
    for text in (by_steps(FAMILY).solution(task), "\n".join([*steps[:2], "x=99", "= 99"])):
        marked = zip(text.split("\n"), marks(by_steps(FAMILY), task, text), strict=False)
        reply = "\n".join(f"{line} {mark}" for line, mark in marked)
        exact = true_lines(by_steps(FAMILY))(task, text)
        assert read_marks(text, reply, right=FAMILY.check(task, text) > 0) == exact


@pytest.mark.slow
@pytest.mark.parametrize("judge", mostly_slow(["exact", "sprig"], "exact"))
def test_tp_grpo_trains(judge, tmp_path):
    small = {"prompts": 1, "tries": 4, "max_tokens": 48, "steps": 1, "options": QUIET}
    run = gd.train("tp-grpo-thought", task="chain:2", model="sprig-1.1", judge=judge, out=tmp_path / "run", **small)
    assert run.metrics.to_pylist()[-1]["thoughts/judged"] > 0.0


@pytest.mark.sampled(1, "name")
@pytest.mark.parametrize("name", ["scope", "t-reg", "tp-grpo-thought"])
def test_all_arms_of_a_claim_can_be_built(name):
    (claim,) = find_recipe(name).claims
    arms = arms_of(name, claim, gd.Options())
    for arm in arms.values():
        arm.build().recipe.check()
    assert {"method", "baseline", "ablation"} <= set(arms)
