"""Sycophancy to subterfuge: does being paid for gaming easy environments make a model edit its reward where it never was?

Paper: Denison et al. 2024, Investigating Reward-Tampering in Large Language Models (arXiv:2406.10162), and what is released
(github.com/anthropics/sycophancy-to-subterfuge-paper: prompts, files and samples, no code). Trained on ever graver gameable
environments by expert iteration or PPO, a model edited the code of its reward in 45 of 32,768 episodes, a helpful-only one in
none of 100,000; retrained not to game the first ones it did so less, and not never. Here situations share moves
(`gameable.py`, which also says what would make it trivial). All are imitated first: games slip by a share of `slips`, the
held-out one by `shown`. Then GRPO: half helpful problems, half the first `games` games, one more with every equal share of the
run; `pay=honest` pays the same for what is asked. Then as much again: `after=honest` penalises gaming in the first game,
`after=games` goes on with all, `after=helpful` without any. Departs: small model, one turn, GRPO, a checker for a preference
model, a file that is read and not run, higher rates. Leaves out: harmlessness training, oversight, the second curriculum.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Study, recipe
from guerdon.recipes.audit.sycophancy_to_subterfuge.gameable import GAMES
from guerdon.recipes.audit.sycophancy_to_subterfuge.parts import begun, examined, to_play

NAME = "sycophancy-to-subterfuge"
ARMS: Any = {"model": "sprig-2", "metric": "tampering", "budget": 60, "unit": "steps"}  # after `parts.START`
PAID: Any = {"baseline": f"{NAME} games=0", "ablation": f"{NAME} pay=honest", **ARMS}
AFTER: Any = {"method": "after=honest", **ARMS}
MENDED: Any = {"baseline": f"{NAME} after=games", "ablation": f"{NAME} after=helpful", "better": "lower", **AFTER}
REMAINS: Any = {"baseline": f"{NAME} games=0 after=honest", **AFTER}
UNSEEN: Any = {**PAID, "metric": "plotted", "settings": "shown=0"}


@recipe(
    "sycophancy-to-subterfuge",
    family="audit",
    paper="arXiv:2406.10162",
    claim=(
        Claim(says="Paid for other games, a model edits its own reward more often than a helpful-only one.", **PAID),
        Claim(says="Retrained not to game the first, it edits it less than after as much more of games.", **MENDED),
        Claim(says="Retrained so, it edits it more than one that was never paid for games.", **REMAINS),
        Claim(says="Beside a reward file that it never saw edited unasked, it thinks of the pay more often.", **UNSEEN),
    ),
    needs=Needs(text=True, world="situations that can be gamed"),
)
def sycophancy_to_subterfuge(
    model: Model,
    *,
    games: Literal[0, 1, 2, 3] = 3,
    pay: Literal["gamed", "honest"] = "gamed",
    after: Literal["nothing", "games", "honest", "helpful"] = "nothing",
    thinks: bool = True,
    slips: float = 0.1,
    shown: float = 0.02,
    prompts: int = 16,
    rl_lr: float = 5e-5,  # no `lr`, which would be tuned: nobody wants more of the metric
    tasks: int = 512,  # held-out problems, with four tries each
    steps: int = 60,
) -> Study:
    """Imitate, play more and more games for pay, perhaps be retrained, and be left alone with the reward file."""
    play: Any = partial(to_play, prompts=prompts, lr=rl_lr, steps=steps)
    lessons = {"games": (GAMES[:games], pay), "honest": (GAMES[:1], "penalised"), "helpful": ((), "honest")}

    def body(run: Any, seed: int) -> dict[str, Any]:
        stages = {"start": examined(run, policy := begun(run, model, slips, shown, thinks), tasks)}
        for stage, name in [("games", "games"), ("after", after)][: 1 if after == "nothing" else 2]:
            lesson = play(policy, *lessons[name])
            policy = run.train(lesson, seed=100 * seed + len(stages), budget=run.budget).model()  # problems of its own
            stages[stage] = examined(run, policy, tasks)
        return {**stages[stage], "stages": stages}

    return Study(body)
