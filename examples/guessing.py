"""Guess a number: an environment, its problems, and what one who knows everything would say."""

import guerdon as gd


class Guessing:
    def __init__(self, number):
        self.number, self.right = number, False

    def begin(self):
        return "guess a number from 1 to 100"

    def step(self, said):
        if not said.isdecimal() or len(said) > 3:
            return gd.envs.Observed("say a number")
        self.right = int(said) == self.number
        return gd.envs.Observed("higher" if int(said) < self.number else "lower", over=self.right)

    def gold(self):
        return str(self.number)

    def outcome(self):
        return {"goal": float(self.right)}


@gd.part
class numbers(gd.envs.InTurns, gd.envs.PlayedOut):
    most: int = 7
    name = "numbers"

    def open(self, ask, seed):
        return Guessing(ask.task.meta["number"])

    def size(self, split):
        return 50

    def get(self, split, index):
        number = 2 * index + 1 + (split == "test")
        return gd.Task(f"{number}", "guess a number from 1 to 100", family="numbers", meta={"number": number})
