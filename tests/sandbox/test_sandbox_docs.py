"""docs/sandbox.md: what it shows runs and prints what it says, and it names every cause, field and module-level limit."""

from __future__ import annotations

import re

import pytest
from attacks import PAGE

from guerdon.core.errors import UserError
from guerdon.rewards.asking.calls import CROSS, LATE, SPARE, STAY
from guerdon.sandbox import Cause, Limits, run_python
from guerdon.sandbox.boxed_sql import SHARED_BYTES, SHARED_CPU, SHARED_PART
from guerdon.sandbox.sandbox_pool import MOST_WORKERS
from guerdon.sandbox.shared_questions import MOST_QUERIES

BLOCKS = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_the_page_runs_and_prints_what_it_says(number, capsys):
    try:
        run_python("")
    except UserError as refused:
        pytest.skip(str(refused))
    code, printed = BLOCKS[number]
    exec(compile(code, str(PAGE), "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == printed


def test_the_page_says_what_the_code_says():
    text = PAGE.read_text()
    assert len(BLOCKS) == 3 and all(f"`{cause}`" in text for cause in Cause) and (LATE, SPARE) == (10.0, 30.0)
    assert all(f"`{field}`" in text for field in (*CROSS, *STAY))
    assert (MOST_QUERIES, SHARED_CPU, SHARED_BYTES, SHARED_PART, MOST_WORKERS) == (16, 0.1, 16 << 10, 0.25, 64)
    assert "at most 16" in text and "0.1 s of processor time and 16 KiB" in text and "at most 64" in text
    plain = Limits()
    assert (plain.memory, plain.disk, plain.output) == (256 << 20, 16 << 20, 64 << 10)
    assert f"Limits(cpu={plain.cpu}, wall={plain.wall}, memory=256 << 20, processes={plain.processes}, " in text
