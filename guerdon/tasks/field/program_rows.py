"""Programming problems from a file: rows as HumanEval's (arXiv:2107.03374) or MBPP's (arXiv:2108.07732), checked by unit tests.

Leaves out: rows and their columns in general (`tasks/files.py`), the tests (`program_tests.py`).
"""

from __future__ import annotations

from typing import Any

from guerdon.core.errors import UserError
from guerdon.data.opening import open_records
from guerdon.tasks.files import rows
from guerdon.tasks.row_columns import named

SOLUTIONS = ("canonical_solution", "code", "solution", "answer")
ASKS = ("prompt", "text", "question", "instruction")
WITH_TESTS = "{{{{ {column} }}}}\nYour code should pass these tests:\n\n{{{{ test_list | join('\\n') }}}}\n"


def programs(path: Any, held_out: float = 0.1, prompt: str = "", answer: str = "", template: str = "") -> rows:
    r"""Programming problems from `path` (JSON lines, packed with gzip or not, or rows in Python), checked by running unit tests
    in the sandbox.

    A row has its tests as HumanEval's have (`test`, a `check(candidate)`, with `entry_point`) or as MBPP's (`test_list`, with
    `test_setup_code`). `prompt` and `answer` name the columns of the question and of a right program; they are guessed by usual
    names. MBPP's questions do not name the function, so tests are shown below them, as its paper does, unless a `template` says
    otherwise. It is `gd.tasks.rows(path, check_by="python")` with these columns; `--data FILE --check python`.

    Args:
        path: a file, or rows.
        held_out: share of the rows that is never trained on.
        prompt: column of the question.
        answer: column of a right program.
        template: prompt with the row's columns.

    >>> import guerdon as gd
    >>> row = {"text": "Double a number.", "code": "def f(x): return 2 * x", "test_list": ["assert f(2) == 4"]}
    >>> source = gd.tasks.programs([row, row])
    >>> problem = source.get("train", 0)
    >>> source.check(problem, "```python\ndef f(x):\n    return x + x\n```"), source.check(problem, "def f(x): return 5")
    (1.0, 0.0)
    """
    columns = open_records(path, str(path) if isinstance(path, str) else "data").columns
    ask, solution = prompt or _first(ASKS, columns, "prompt"), answer or _first(SOLUTIONS, columns, "answer")
    if not template and "test_list" in columns and "entry_point" not in columns:
        template = WITH_TESTS.format(column=ask)
    return rows(path, ask, solution, held_out, template=template, check_by="python")


def _first(usual: tuple[str, ...], there: tuple[str, ...], what: str) -> str:
    for name in usual:
        if name in there:
            return name
    raise UserError(f"no column looks like the {what} (columns: {named(there)}): say which, {what}='COLUMN'")
