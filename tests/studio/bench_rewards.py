"""Rewards for tests of the bench: sound ones, and such as break in every way. A module's text, for it is written to files."""

REWARDS = '''
import os
import sys
import time

import guerdon as gd


@gd.reward
def right(completion, answer):
    """Whether it is the answer."""
    return float(completion.strip() == answer)


@gd.reward
def brief(completion):
    return -len(completion) / 10


@gd.reward
def reasoned(completion):
    return gd.Score(0.5, "it has reasons")


def raises(completion):
    raise ValueError("no such thing as " + completion)


@gd.reward(timeout=0.3)
def hangs(completion):
    time.sleep(60)


def leaves(completion):
    sys.exit(3)


@gd.reward(isolate=False)
def leaves_here(completion):
    sys.exit(3)


@gd.reward(isolate=False)
def dies(completion):
    os._exit(1)


@gd.reward(isolate=False)
def never(completion):
    time.sleep(60)


@gd.reward(isolate=False)
def prints(completion):
    print("{}" * 1000)
    sys.stderr.write("loud")
    sys.__stdout__.flush()
    os.write(1, b"raw")
    return 1.0


def nothing(completion):
    return None


def not_a_number(completion):
    return float("nan")


def endless(completion):
    return float("inf")


def words(completion):
    return "good"


def numbered(completion, numbers, level=1):
    return float(sum(numbers)) * level


trained = gd.blend(right=right, brief=brief.weight(0.5))
nested = gd.blend(shaped=gd.blend(a=right, b=brief.weight(2.0)).clip(-1.0, 1.0).weight(0.25), why=reasoned)
broken = gd.blend(right=right, fine=reasoned, bad=gd.reward(raises).weight(0.0))
all_of_them = gd.blend(
    raises=raises, hangs=hangs, leaves=leaves, leaves_here=leaves_here, nothing=nothing, nan=not_a_number, inf=endless,
    words=words, prints=prints,
)
'''
