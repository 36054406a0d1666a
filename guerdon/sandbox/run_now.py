"""One program, now: the shared sandboxes behind four functions that wait.

Leaves out: many at a time, and awaiting (`sandbox_pool.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from guerdon.sandbox.box_requests import Files
from guerdon.sandbox.limits import Isolation, Limits
from guerdon.sandbox.ran_program import Ran
from guerdon.sandbox.sandbox_pool import shared_sandbox

_DEFAULT = Limits()
_NONE: Files = MappingProxyType({})


def run_python(
    source: str, stdin: str = "", files: Files = _NONE, limits: Limits = _DEFAULT, isolation: Isolation = "full"
) -> Ran:
    """Run a Python script that nobody trusts: no network, no file of yours, an empty folder, and limits on all it uses.

    >>> from guerdon.sandbox import run_python
    >>> ran = run_python("import os; print(sorted(os.listdir('.')), dict(os.environ)['HOME'])")
    >>> ran.ok, ran.stdout
    (True, '[] /box\\n')
    >>> run_python("import socket; socket.create_connection(('127.0.0.1', 80))").error
    'was refused the system call socket: PermissionError: [Errno 1] Operation not permitted'
    """
    return shared_sandbox(isolation).python_now(source, stdin, files, limits)


def check_python(
    program: str, tests: str | Sequence[str], entry: str = "", limits: Limits = _DEFAULT, isolation: Isolation = "full"
) -> Ran:
    """Hold a program against unit tests that it cannot forge: they run in another process, which alone says what came of them.

    Tests are assert lines over the program's functions, or define `check(candidate)`; then `entry` names the function to check.

    >>> from guerdon.sandbox import check_python
    >>> check_python("def double(x): return 2 * x", ["assert double(2) == 4", "assert double('a') == 'aa'"]).ok
    True
    >>> ran = check_python("print('all tests passed'); import os; os._exit(0)", "assert double(2) == 4")
    >>> str(ran.cause), ran.error
    ('left', 'the program ended before its tests were through')
    """
    return shared_sandbox(isolation).check_now(program, tests, entry, limits=limits)


def run_sql(script: str, query: str, limits: Limits = _DEFAULT, isolation: Isolation = "full") -> Ran:
    """Ask a query that nobody trusts of the SQLite database that a script makes, in memory.

    >>> from guerdon.sandbox import run_sql
    >>> run_sql("create table t (a, b); insert into t values (1, 'x'), (2, 'y')", "select b, a from t where a > 1").value
    {'columns': ['b', 'a'], 'rows': [['y', 2]]}
    """
    return shared_sandbox(isolation).sql_now(script, query, limits)


def run_program(
    argv: Sequence[str], stdin: str = "", files: Files = _NONE, limits: Limits = _DEFAULT, isolation: Isolation = "full"
) -> Ran:
    """Execute an installed program by its path, without a shell.

    >>> from guerdon.sandbox import run_program
    >>> run_program(["/usr/bin/sort", "-n"], stdin="10\\n9\\n").stdout
    '9\\n10\\n'
    """
    return shared_sandbox(isolation).program_now(argv, stdin, files, limits)
