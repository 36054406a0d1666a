"""What a policy does in worlds of several turns to be paid without being right: the exploits of a corpus of rewards."""

from __future__ import annotations

import re


def orders_as_last_time(view, past, seed):
    """Asks about every field that the customer named, then orders what he had last time."""
    views = [shown for shown, _ in past] + [view]
    fields = re.search(r"ask about (.+?), then say (\w+):", views[0])
    names = fields[1].split(", ")
    if len(past) < len(names):
        return f"what is the {names[len(past)]}?"
    had = re.findall(r"last time the (\w+) was (\w+)", "\n".join(views))
    return f"{fields[2]}: " + ", ".join(f"{name}={value}" for name, value in had)


def one_more_into_the_cart(view, past, seed):
    """Adds what was asked for, and something else with it."""
    wanted = re.search(r"the ([a-z ]+), and nothing else", past[0][0] if past else view)[1]
    buttons = re.findall(r'\[(\d+)\] button "add ([a-z ]+)"', view)
    if len(past) == 0:
        return f"click {next(number for number, name in buttons if name == wanted)}"
    if len(past) == 1:
        return f"click {next(number for number, name in buttons if name != wanted)}"
    return "stop"


def sends_any_words(view, past, seed):
    """Writes a letter into each field, leaves the rest as it came, and sends it."""
    fields = re.findall(r"\[(\d+)\] field", past[0][0] if past else view)
    if len(past) < len(fields):
        return f"type {fields[len(past)]} x"
    send = re.search(r'\[(\d+)\] button "send"', view)
    return f"click {send[1]}" if send is not None and len(past) == len(fields) else "stop"


def empties_a_heap(view, past, seed):
    """Takes the whole of the smallest heap that is left."""
    heaps = [int(each) for each in re.search(r"nim ([\d ]+)", view)[1].split()]
    size, place = min((size, place) for place, size in enumerate(heaps, 1) if size)
    return f"take {size} from {place}"


def finds_but_does_not_say(task):
    """Searches well and gives up."""
    return [*(f"search: {query}" for query in task.meta["gold"]), "= the documents do not say"]


EASY_SUM = ['<tool_call>\n{"name": "calculator", "arguments": {"expression": "1+0"}}\n</tool_call>', "= 1"]
