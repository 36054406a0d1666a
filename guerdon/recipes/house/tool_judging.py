"""A judge that works with tools first: it solves the problem where it can call them, then judges each answer by that.

Left out: judges whose verdict is itself a turn with tools, tools that look at the answers, and models behind a server, which
play in no environment here. No recipe.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from guerdon.core.column import Reason
from guerdon.core.episode import Episode
from guerdon.core.part import knob, part
from guerdon.core.task import Ask, Sampling, Task
from guerdon.envs.tools.exact_arithmetic import calculator
from guerdon.envs.tools.tool_worlds import tool_turns
from guerdon.judges.judging import models_of
from guerdon.judges.pointwise import judge
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.scores import Outcome
from guerdon.text.answers import EVERY_MARK, vote

FOUND = "{prompt}\n\nThis was found out with tools, and may be wrong:\n{found}"


def _with_calculator() -> tool_turns:
    return tool_turns([calculator], most=16)


@part
class tool_assisted(Leaf):
    r"""What `judging` says of a sample after the judge's model has worked on the problem with tools: $(1-w)\,v + w\,a$.

    The model plays each problem once, greedily, in `env`, where it may call tools; its calls, their results and what it says at
    last is what was found. A judge that is asked in plain language is shown that with the problem, and $v$ is its verdict. A
    model that knows sprig's roles reads no such report: it verifies as it always does. $a$ is 1 where the sample gives the
    answer that was found, 0 where it gives another, and $w$ is `trust`; where the model came to no answer $w$ is 0. Answers
    are compared by their text, so it suits problems with one right answer. A verdict that cannot be read stays *failed*.

    Logs `NAME/calls`, the tool calls of a step, `NAME/call_errors` and `NAME/unanswered`, the problems without an answer; what
    was said with tools counts in a run's budget. Source: Anyprefer (Zhou et al. 2025, arXiv:2504.19276), whose judge is given
    what tools say about the problem.

    Args:
        judging: a `judge`, by a model in this process.
        env: where its model can call tools.
        trust: weight of agreement with the answer that was found.
        max_tokens: the most tokens of its turn with tools.
        name: name in metrics.

    >>> import guerdon as gd
    >>> tool_assisted(gd.judge(gd.run_model("judge"), scale="yes", sure=True)).env.most
    16
    """

    judging: judge
    env: Any = knob(factory=_with_calculator)
    trust: float = knob(default=0.5, ge=0.0, le=1.0)
    max_tokens: int = knob(default=256, ge=1)
    name: str = "tool_judge"

    alone = False

    @property
    def waits(self) -> bool:
        return self.judging.waits

    async def score(self, samples: Samples) -> list[Outcome]:
        problems = [str(each["task"].prompt if "task" in each else each["prompt"]) for each in samples.fields]
        worked = self.find({p: each["meta"] for p, each in zip(problems, samples.fields, strict=True)}, samples)
        in_role = self.judging.by.plays_roles(models_of(samples))
        shown = samples
        if not in_role:
            fields = [
                {**each, "prompt": FOUND.format(prompt=each["prompt"], found=report(worked[p]))}
                for p, each in zip(problems, samples.fields, strict=True)
            ]
            shown = dataclasses.replace(samples, fields=fields)
        outcomes = await self.judging.score(shown)
        return [
            self._weighed(outcome, answer_of(worked[p]), str(each["completion"]))
            for outcome, p, each in zip(outcomes, problems, samples.fields, strict=True)
        ]

    def _weighed(self, outcome: Outcome, answer: Any, completion: str) -> Outcome:
        if outcome.reason is not Reason.VALUE or answer is None:
            return outcome
        same = float(read_answer(completion) == answer)
        return outcome._replace(value=(1 - self.trust) * outcome.value + self.trust * same)

    def find(self, problems: Mapping[str, Mapping[str, Any]], samples: Samples) -> dict[str, Episode]:
        """What the judge's model does with each problem where it can call tools."""
        how = Sampling(temperature=0.0, max_tokens=self.max_tokens)
        asks = [Ask(Task(prompt, prompt, meta=dict(meta))) for prompt, meta in problems.items()]
        played, spent = self.judging.by.play(asks, self.env, models_of(samples), how, samples.seed)
        episodes = dict(zip(problems, played, strict=True))
        infos = [each.info for each in episodes.values()]
        self.judging.count(
            calls=sum(int(info.get("calls", 0)) for info in infos),
            call_errors=sum(sum(info.get("errors", {}).values()) for info in infos),
            unanswered=sum(answer_of(each) is None for each in episodes.values()),
            tokens_in=spent.read,
            tokens_out=spent.tokens,
        )
        return episodes


def answer_of(episode: Episode) -> Any:
    """The answer that was found with tools; None where there is none."""
    if not episode.info.get("answered"):
        return None
    return read_answer(episode.segments[-1].text)


def read_answer(text: str) -> Any:
    return vote(f"\n{text}", "text", EVERY_MARK, True)


def report(episode: Episode) -> str:
    """The calls of an episode with their results, and what was said at last."""
    calls = [f"{each['name']}({each['arguments']}) = {each['result']}" for each in episode.info.get("called", ())]
    return "\n".join([*calls, episode.segments[-1].text if episode.segments else ""]) or "nothing"
