"""The program in a completion, and tests one by one: plain text and syntax trees, nothing is run.

A completion is a program in a fence, a whole program, or continues the prompt, as in HumanEval (arXiv:2107.03374).
Leaves out: running programs (`program_tests.py`).
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Sequence

FENCED = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)(?:^[ \t]*```[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)


def program_of(completion: str, prompt: str = "", entry: str = "") -> str:
    """The program that a completion writes.

    With an `entry`, a function to define: the last fenced block that defines it, or all of the text if that does, below a
    prompt that is itself a program; else the continuation of the prompt, up to where the function ends. Without one: all
    fenced blocks, or all of the text.

    >>> print(program_of("Here:" + chr(10) + "```python" + chr(10) + "x = 1" + chr(10) + "```"))
    x = 1
    <BLANKLINE>
    >>> print(program_of("    return 2 * x" + chr(10) + "print(f(1))", "def f(x):" + chr(10), "f"))
    def f(x):
        return 2 * x
    """
    blocks = FENCED.findall(completion)
    if not entry:
        return "\n".join(blocks) if blocks else completion
    defines = re.compile(rf"^(?:async\s+)?(?:def\s+{re.escape(entry)}\b|{re.escape(entry)}\s*=)", re.MULTILINE)
    whole = [text for text in (blocks or [completion]) if defines.search(text)]
    if whole:
        return f"{prompt}\n\n{whole[-1]}" if prompt and is_program(prompt) else whole[-1]
    body = blocks[-1] if blocks else completion
    going_on = prompt + _own_lines(body)
    if (is_program(going_on) and body[:1].isspace()) or not body.strip():
        return going_on
    indented = prompt + textwrap.indent(textwrap.dedent(body), "    ")
    return indented if is_program(indented) else going_on


def _own_lines(body: str) -> str:
    """The lines of a function's body, up to the first that is none: HumanEval's stop words, and whatever else begins a line."""
    kept: list[str] = []
    for line in body.split("\n"):
        if kept and any(kept) and line and not line[0].isspace() and line[0] not in ")]}":
            break
        kept.append(line)
    return "\n".join(kept)


def is_program(text: str) -> bool:
    """Whether a text is Python."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def single_tests(test: str, tests: Sequence[str] = (), setup: str = "") -> list[str]:
    """Tests that each hold one assert: those of a list, or the asserts of a `check` function one at a time; asserts of a
    constant are none. Empty where asserts cannot be separated.

    >>> single_tests("", ["assert f(1) == 2", "assert f(2) == 4"], "import math")
    ['import math\\nassert f(1) == 2', 'import math\\nassert f(2) == 4']
    >>> print(single_tests("def check(f):" + chr(10) + "    assert f(1) == 2" + chr(10) + "    assert f(2) == 4")[1])
    def check(f):
        pass
        assert f(2) == 4
    """
    if tests:
        return [f"{setup}\n{each}" if setup else each for each in tests]
    try:
        count = len(_asserts(ast.parse(test)))
    except (SyntaxError, ValueError):
        return []
    return [_with_one(test, place) for place in range(count)]


def _asserts(tree: ast.AST) -> list[ast.Assert]:
    return [n for n in ast.walk(tree) if isinstance(n, ast.Assert) and not isinstance(n.test, ast.Constant)]


def _with_one(test: str, place: int) -> str:
    tree = ast.parse(test)
    kept = _asserts(tree)[place]

    class Others(ast.NodeTransformer):
        def visit_Assert(self, node: ast.Assert) -> ast.stmt:
            return node if node is kept else ast.copy_location(ast.Pass(), node)

    return ast.unparse(Others().visit(tree))
