"""What is asked of worlds: whole episodes, with held-out seeds for exams; and stretches of streams to train on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.core.seeds import derive
from guerdon.core.task import Ask, Split, Task
from guerdon.worlds.gymnasium_world import title_of


@dataclass(frozen=True)
class episodes:
    """Whole episodes of an environment, as a source of problems. Those held out begin at seeds of their own, the same in every
    run; those to train on at a seed of each try's.

    Args:
        env: the environment, as `gd.worlds.gym` takes it.

    >>> import guerdon as gd
    >>> source = gd.worlds.episodes("CartPole-v1")
    >>> source.name, source.get("test", 0).meta == source.get("test", 0).meta, source.get("train", 0).meta
    ('CartPole-v1', True, {})
    """

    env: Any

    @property
    def name(self) -> str:
        return title_of(self.env)

    def size(self, split: Split) -> int | None:
        return None

    def get(self, split: Split, index: int) -> Task:
        meta = {"seed": derive("held-out episode", index) % 2**31} if split == "test" else {}
        return Task(f"{split}-{index}", "", family=self.name, meta=meta)


@part
class streams:
    """Each step, `steps` env steps of each of as many streams as are asked for: worlds that never stop, as PPO is trained in
    control. A step of the run has exactly as many env steps.

    Args:
        env: the environment, as `gd.worlds.gym` takes it.
        steps: env steps of each stream in a step of the run.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay
    >>> [ask.note for ask in gd.worlds.streams("CartPole-v1", steps=256).draw(2, ExamplePlay())]
    [{'stream': 0, 'steps': 256}, {'stream': 1, 'steps': 256}]
    """

    env: Any
    steps: int = knob(default=256, ge=1)

    def draw(self, n: int, play: Play) -> list[Ask]:
        name = title_of(self.env)
        tasks = [Task(f"stream-{i}", "", family=name) for i in range(n)]
        return [Ask(task, note={"stream": i, "steps": self.steps}) for i, task in enumerate(tasks)]
