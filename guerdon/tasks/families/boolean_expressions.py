"""Boolean expressions: replace sub-expressions by their values, in any order, until one value is left."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence

from guerdon.core.part import knob, part
from guerdon.core.task import Task
from guerdon.tasks.family import Family, NearMiss, Problem, write_solution

LONGEST = 200  # characters of a line; the longest problem is about half of that
LINES = 5  # of a worked solution; each copies most of the one before
DEEPEST = 24  # nots and brackets inside one another
TOKEN = re.compile(r"\b(?:and|or|xor|not|t|f)\b|[()]")
LINE = re.compile(rf"(?: *(?:{TOKEN.pattern}))+")
STRENGTH = {"or": 1, "xor": 2, "and": 3, "not": 4}
NAMES = {True: "t", False: "f"}

Node = bool | tuple[str, tuple["Node", ...]]  # ("and", (True, ("not", (False,)))); a chain of one operator is one node


@part
class boolean(Family):
    """`boolean t and not (f or t) xor t`: `not` binds first, then `and`, then `xor`, then `or`.

        t and not t xor t
        t and f xor t
        f xor t
        t
        = t

    The worked solution evaluates on each line all that has only values in it. A step is right when it comes from the line
    before by putting values for sub-expressions, as many as one likes and in any order. Level n has n + 2 values.

    >>> import guerdon as gd
    >>> family = gd.tasks.boolean(level=1)
    >>> problem = family.get("train", 0)
    >>> problem.prompt, problem.answer, family.check(problem, "= f")
    ('boolean not t xor not (f or f)', 't', 0.0)
    """

    level: int = knob(default=1, ge=1, le=8)

    def make(self, draw: random.Random) -> Problem:
        node = grow(self.level + 2, draw)
        while depth(node) > LINES:
            node = grow(self.level + 2, draw)
        return posed(node)

    def read_problem(self, prompt: str) -> Problem | None:
        node = read(prompt.removeprefix("boolean "))
        if node is None or prompt != f"boolean {show(node)}" or depth(node) > LINES:
            return None
        return posed(node) if size(node) == self.level + 2 and grows(node) else None

    def canonical(self, problem: Problem) -> str:
        node = read(problem.meta["expression"])
        assert node is not None
        return show(in_order(node))

    def steps(self, task: Task) -> list[str]:
        return worked(problem(task))

    def first_wrong(self, task: Task, steps: Sequence[str]) -> int | None:
        before = problem(task)
        for i, step in enumerate(steps):
            now = read(step)
            if now is None or not reduces(before, now):
                return i
            before = now
        return None

    def blunders(self, task: Task, draw: random.Random) -> list[NearMiss]:
        node, steps = problem(task), self.steps(task)
        misses = [NearMiss(write_solution(steps, NAMES[not value(node)]), "answer miscopied", len(steps))]
        slips = list(every_slip(node))
        draw.shuffle(slips)
        for kind in sorted({kind for kind, _, _ in slips}):
            lines, at = next((lines, at) for kind_, lines, at in slips if kind_ == kind)
            misses.append(NearMiss(write_solution(lines, lines[-1]), kind, at))
        flat = read(task.meta["expression"], precedence=False)
        assert flat is not None
        if value(flat) != value(node):
            lines = worked(flat)
            wrong = self.first_wrong(task, lines)
            assert wrong is not None  # the last line is the wrong value
            misses.append(NearMiss(write_solution(lines, lines[-1]), "precedence ignored", wrong))
        return misses


def posed(node: Node) -> Problem:
    text = show(node)
    return Problem(f"boolean {text}", NAMES[value(node)], {"expression": text})


def problem(task: Task) -> Node:
    node = read(task.meta["expression"])
    assert node is not None
    return node


def grow(values: int, draw: random.Random) -> Node:
    """A random expression over so many values."""
    if values == 1:
        leaf: Node = draw.random() < 0.5
        return ("not", (leaf,)) if draw.random() < 0.25 else leaf
    cut = draw.choice(cuts(values))
    node = join(draw.choice(["and", "or", "xor"]), grow(cut, draw), grow(values - cut, draw))
    return ("not", (node,)) if draw.random() < 0.15 else node


def cuts(values: int) -> range:
    """How many of the values may stand left of an operator; an even cut keeps solutions short."""
    least = max(1, values // 3)
    return range(least, values - least + 1)


def grows(node: Node) -> bool:
    """Whether `grow` could produce an expression: no double `not`, and operators that cut values evenly enough."""
    if isinstance(node, bool):
        return True
    op, parts = node
    if op == "not":
        inner = parts[0]
        return isinstance(inner, bool) or (inner[0] != "not" and grows(inner))
    return all(map(grows, parts)) and cuts_evenly([size(part) for part in parts])


def cuts_evenly(sizes: Sequence[int]) -> bool:
    """Whether a chain of parts with so many values each can be cut, and each side again, down to single parts."""
    if len(sizes) == 1:
        return True
    allowed = cuts(sum(sizes))
    return any(
        sum(sizes[:at]) in allowed and cuts_evenly(sizes[:at]) and cuts_evenly(sizes[at:])
        for at in range(1, len(sizes))
    )


def in_order(node: Node) -> Node:
    """The expression with the parts of every operator in one order: for none of them does it matter."""
    return (node[0], tuple(sorted(map(in_order, node[1]), key=show))) if isinstance(node, tuple) else node


def size(node: Node) -> int:
    """How many values an expression has."""
    return sum(map(size, node[1])) if isinstance(node, tuple) else 1


def join(op: str, left: Node, right: Node) -> Node:
    """`left op right`; all three operators are associative, so a chain of one operator is one node."""
    parts: list[Node] = []
    for side in (left, right):
        parts += side[1] if isinstance(side, tuple) and side[0] == op else [side]
    return op, tuple(parts)


def show(node: Node) -> str:
    if isinstance(node, bool):
        return NAMES[node]
    op, parts = node
    texts = [
        f"({show(part)})" if isinstance(part, tuple) and STRENGTH[part[0]] < STRENGTH[op] else show(part)
        for part in parts
    ]
    return f"not {texts[0]}" if op == "not" else f" {op} ".join(texts)


# --- reading ------------------------------------------------------------------------------------------------------


def read(text: str, precedence: bool = True) -> Node | None:
    """The expression a text means, None when it means none. Without `precedence` operators go from left to right."""
    if len(text) > LONGEST or not LINE.fullmatch(text):
        return None
    tokens: list[str] = TOKEN.findall(text)[::-1]
    ranks = [["or"], ["xor"], ["and"]] if precedence else [["or", "xor", "and"]]
    node = read_chain(tokens, ranks, 0, 0)
    return None if tokens else node


def read_chain(tokens: list[str], ranks: list[list[str]], rank: int, depth: int) -> Node | None:
    """Operators of one rank with their operands, from the end of `tokens`, which it uses up."""
    if rank == len(ranks):
        return read_operand(tokens, ranks, depth)
    node = read_chain(tokens, ranks, rank + 1, depth)
    while node is not None and tokens and tokens[-1] in ranks[rank]:
        op = tokens.pop()
        right = read_chain(tokens, ranks, rank + 1, depth)
        node = None if right is None else join(op, node, right)
    return node


def read_operand(tokens: list[str], ranks: list[list[str]], depth: int) -> Node | None:
    token = tokens.pop() if tokens and depth < DEEPEST else ""
    if token in ("t", "f"):
        return token == "t"
    if token == "not":
        inner = read_operand(tokens, ranks, depth + 1)
        return None if inner is None else ("not", (inner,))
    if token == "(":
        node = read_chain(tokens, ranks, 0, depth + 1)
        return node if tokens and tokens.pop() == ")" else None
    return None


# --- evaluating ---------------------------------------------------------------------------------------------------


def value(node: Node) -> bool:
    if isinstance(node, bool):
        return node
    op, parts = node
    values = [value(part) for part in parts]
    if op == "not":
        return not values[0]
    return all(values) if op == "and" else any(values) if op == "or" else sum(values) % 2 == 1


def depth(node: Node) -> int:
    return 1 + max(map(depth, node[1])) if isinstance(node, tuple) else 0


def advance(node: Node, slips: Iterator[bool]) -> Node:
    """Evaluate everything that has only values in it; `slips` says of each, as one reads, whether it comes out wrong."""
    if isinstance(node, bool):
        return node
    op, parts = node
    if all(isinstance(part, bool) for part in parts):
        return value(node) != next(slips, False)
    return op, tuple(advance(part, slips) for part in parts)


def ready(node: Node) -> Iterator[Node]:
    """What `advance` evaluates, as one reads."""
    if isinstance(node, tuple):
        if all(isinstance(part, bool) for part in node[1]):
            yield node
        else:
            for part in node[1]:
                yield from ready(part)


def worked(node: Node) -> list[str]:
    lines = []
    while isinstance(node, tuple):
        node = advance(node, iter(()))
        lines.append(show(node))
    return lines


def reduces(old: Node, new: Node) -> bool:
    """Whether `new` is `old` with some sub-expressions replaced by their values."""
    if isinstance(new, bool):
        return value(old) is new
    return isinstance(old, tuple) and old[0] == new[0] and reduces_parts(old[0], old[1], new[1])


def reduces_parts(op: str, old: tuple[Node, ...], new: tuple[Node, ...]) -> bool:
    """The same for the parts of a chain, where neighbours may have become one value."""
    if not old or not new:
        return not old and not new
    if len(new) > len(old):
        return False
    if reduces(old[0], new[0]) and reduces_parts(op, old[1:], new[1:]):
        return True
    runs = range(2, len(old) + 1) if isinstance(new[0], bool) else ()
    return any(value((op, old[:n])) is new[0] and reduces_parts(op, old[n:], new[1:]) for n in runs)


def every_slip(node: Node) -> Iterator[tuple[str, list[str], int]]:
    """Every worked solution with one wrong value that makes the answer wrong: kind of error, lines, the wrong line."""
    truth, lines = value(node), list[str]()
    while isinstance(node, tuple):
        for i, wrong in enumerate(ready(node)):
            slipped = advance(node, iter([j == i for j in range(i + 1)]))
            if value(slipped) != truth:
                yield confusion(wrong), [*lines, show(slipped), *worked(slipped)], len(lines)
        node = advance(node, iter(()))
        lines.append(show(node))


def confusion(node: Node) -> str:
    """What was mistaken for what, when `node` comes out as the opposite of its value."""
    assert isinstance(node, tuple)
    op, parts = node
    if op == "not":
        return "not ignored"
    mixed = any(parts) and not all(parts)
    if op == "xor":
        return "xor read as or" if any(parts) and not value(node) else "value flipped"
    return ("and read as or" if op == "and" else "or read as and") if mixed else "value flipped"
