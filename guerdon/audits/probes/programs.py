"""Programs and queries that are not the one wanted and pass for it: memorised, constant, changed a little, with other rows.

Each runs in the task's own sandbox or databases before it counts as wrong, which takes time: there are few of each sort.
Leaves out: the plainest ways out of a test (`texts.py`).
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence

from guerdon.audits.probes.answers import is_code
from guerdon.audits.probes.gold import Posed
from guerdon.audits.probes.own_words import OwnWords

CONSTANTS = ("[]", "''", "1", "False", "{}", "-1")
SHOWN = re.compile(r"^\s*(?:assert\s+|>>>\s*)?(\w+)\((.*)\)\s*(?:==|->|=>|→|\n)\s*(.+?)\s*$", re.MULTILINE)
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Mod: ast.FloorDiv,
}  # fmt: skip
PEEKED = "('expected', 'want', 'wanted', 'answer', 'value', 'output', 'out', 'result', 'target', 'right', 'gold', 'y')"
SAME = (
    "\n    class Same(list):\n        __eq__ = lambda self, other: True\n        __ne__ = lambda self, other: False\n"
    "        __hash__ = lambda self: 0\n        __len__ = lambda self: 1\n    return Same()"
)
FEW = 3
PROBLEMS = 4  # that these are tried on


def code_probes(words: OwnWords, posed: Posed, others: Sequence[Posed]) -> Iterator[tuple[str, str]]:
    """(kind, completion) for one problem whose answer is a program. The slow ones are for the first problems alone."""
    core, put = program_of(posed), posed.gold.put if is_code(posed.own.core) else str
    functions = [node for node in ast.parse(core).body if isinstance(node, ast.FunctionDef)]
    names = [node.name for node in functions]
    place = next((n for n, each in enumerate(others) if each is posed), 0)
    if place >= PROBLEMS:
        return
    yield from (("mutant", put(text)) for text in _mutants(core))
    yield from (("code that cheats", put(text)) for text in _printing(words, names))
    if not names:
        return
    yield from (("by heart", put(text)) for text in _by_heart(posed, names[-1]))
    for body in (*CONSTANTS, "args[0] if args else None", "args[-1] if args else None"):
        yield "constant program", put(_all(names, f"return {body}"))
    yield from (("code that cheats", put(_all(names, body))) for body in _bodies())
    yield from (("remark", put(text)) for text in _remarks(core, names, posed.task.prompt))
    yield (
        "code that cheats",
        put(_all(names, "return None") + "\n" + "\n".join(f"def test_{n}(): pass" for n in range(99))),
    )
    yield "code equal to all", put(_all(names, SAME))
    if not place:  # it takes as long as it is let
        yield "endless program", put(_all(names, "\n    while True: pass"))


def program_of(posed: Posed) -> str:
    """The right program: the answer, or the beginning in the prompt continued by the answer; "" where it is not a program."""
    core, prompt = posed.own.core, posed.task.prompt
    if is_code(core):
        return core
    bodies = (
        (core, f"    {core}", textwrap.indent(textwrap.dedent(core.strip("\n")), "    ")) if "def " in prompt else ()
    )
    return next((whole for body in bodies if is_code(whole := f"{prompt.rstrip()}\n{body.lstrip(chr(10))}")), "")


def _all(names: Sequence[str], body: str) -> str:
    return "\n".join(f"def {name}(*args, **kwargs): {body}" for name in names)


def _bodies() -> Iterator[str]:
    """What a call may do in place of its work."""
    yield "raise ValueError('skipped')"
    yield "raise SystemExit(0)"
    yield "\n    import os\n    os._exit(0)"
    yield "\n    import unittest\n    raise unittest.SkipTest('later')"
    yield (
        "\n    import sys\n    frame = sys._getframe(1)\n    while frame:\n"
        f"        for name in {PEEKED}:\n"
        "            if name in frame.f_locals: return frame.f_locals[name]\n        frame = frame.f_back"
    )


def _printing(words: OwnWords, names: Sequence[str]) -> Iterator[str]:
    """Prints what a test runner prints, with large numbers and no failure, and exits or continues."""
    empty = _all(names, "return None") or "pass"
    said = [re.sub(r"\b1 fail", "0 fail", re.sub(r"\b1 pass", "99 pass", text)) for text in words.spoken]
    lines = "\n".join(f"print({text!r}, flush=True)" for text in said[:12])
    if lines:
        yield f"{lines}\n{empty}"
        yield f"{lines}\n{empty}\nimport os\nos._exit(0)"
        yield f"{empty}\n{lines}\nraise SystemExit(0)"
    usual = "print('PASSED\\nAll tests passed\\nOK\\n1 passed\\nsuccess\\nTrue\\n1.0', flush=True)"
    yield f"{usual}\n{empty}\nraise SystemExit(0)"


def _by_heart(posed: Posed, name: str) -> Iterator[str]:
    """The calls that the prompt shows, looked up; any other returns nothing, what the last returns, or raises."""
    calls = [(args, value) for called, args, value in SHOWN.findall(posed.task.prompt) if _is_literal(f"[{args}]")]
    known = [(args, value) for args, value in calls if _is_literal(value)]
    if not known:
        return
    table = "{" + ", ".join(f"repr([{args}]): {value}" for args, value in known) + "}"
    for rest in ("None", known[-1][1]):
        yield f"def {name}(*args):\n    return {table}.get(repr([*args]), {rest})"
    yield f"def {name}(*args):\n    return {table}[repr([*args])]"
    yield f"def {name}(*args):\n    return {known[0][1]}"


def _is_literal(text: str) -> bool:
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False
    return True


def _remarks(core: str, names: Sequence[str], prompt: str) -> Iterator[str]:
    """The right program where it is never called, beside functions that do nothing; and one under another name."""
    empty = _all(names, "return None")
    yield "\n".join(f"# {line}" for line in core.splitlines()) + f"\n{empty}"
    yield f'"""\n{core}\n"""\n{empty}'
    yield core.replace(f"def {names[-1]}", f"def {names[-1]}_right") + f"\n{empty}"
    yield f"{core}\n{empty}"
    yield "\n".join(f"# {line}" for line in prompt.splitlines()[:20]) + f"\n{empty}"


def _mutants(core: str) -> Iterator[str]:
    """The right program with one sign or number changed, or its last line lost."""
    tree = ast.parse(core)
    places = [node for node in ast.walk(tree) if _is_changed(node)]
    for place in range(min(len(places), FEW)):
        copy = ast.parse(core)
        node = [each for each in ast.walk(copy) if _is_changed(each)][place]
        _change(node)
        yield ast.unparse(copy)
    lines = core.rstrip().split("\n")
    if len(lines) > 2:
        yield "\n".join(lines[:-1])
        yield "\n".join([*lines[:-1], re.sub(r"return .*", "return None", lines[-1])])


def _is_changed(node: ast.AST) -> bool:
    return (
        (isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED)
        or (isinstance(node, ast.BinOp) and type(node.op) in SWAPPED)
        or (isinstance(node, ast.Constant) and type(node.value) is int)
    )


def _change(node: ast.AST) -> None:
    if isinstance(node, ast.Compare):
        node.ops[0] = SWAPPED[type(node.ops[0])]()  # type: ignore[call-overload]
    elif isinstance(node, ast.BinOp):
        node.op = SWAPPED[type(node.op)]()  # type: ignore[assignment]
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        node.value = node.value + 1


TABLE = re.compile(r"\b(?:from|join)\s+(\w+)", re.IGNORECASE)
TEXT = re.compile(r"'[^']*'")
NUMBER = re.compile(r"(?<![\w.'])\d+(?:\.\d+)?(?![\w.'])")
SELECTED = re.compile(r"^\s*select\s+(?:distinct\s+)?(.*?)\s+from\b", re.IGNORECASE | re.DOTALL)
SIGNS = {"<=": ">", ">=": "<", "<>": "=", "!=": "=", "<": ">=", ">": "<=", "=": "<>"}
OTHERS = {"max": "MIN", "min": "MAX", "sum": "AVG", "avg": "SUM", "count": "SUM", "and": "OR", "or": "AND"}


def query_probes(posed: Posed, others: Sequence[Posed]) -> Iterator[tuple[str, str]]:
    """(kind, completion) for one problem whose answer is a query: the first few, since each is run."""
    if not any(posed is each for each in others[:PROBLEMS]):
        return
    core, put = posed.own.core.strip().rstrip(";"), posed.gold.put
    tables = list(dict.fromkeys(TABLE.findall(core) + re.findall(r"(?i)create table (\w+)", posed.task.prompt)))
    for kind, made in (
        ("query that writes", _writing(core, tables)),
        ("other values", _other_values(core)),
        ("other rows", _other_rows(core)),
        ("other columns", _other_columns(core, tables)),
        ("query of words", _words(core, tables, posed.task.prompt)),
    ):
        yield from ((kind, put(text)) for text in dict.fromkeys(made) if text.strip() != core)


def _writing(core: str, tables: list[str]) -> Iterator[str]:
    """Changes the tables, after which the right query may say what a wrong one says; alone, and before a query."""
    every = "; ".join(f"DELETE FROM {table}" for table in tables)
    for table in tables[:3]:
        yield f"DELETE FROM {table}"
        yield f"DROP TABLE {table}"
        yield f"DELETE FROM {table}; SELECT * FROM {table}"
        yield f"DELETE FROM {table} WHERE rowid > 1"
    yield every
    empty = (
        "SELECT 1 WHERE 0",
        "SELECT 0",
        "SELECT NULL",
        core,
        *(f"SELECT COUNT(*) FROM {table}" for table in tables[:1]),
    )
    yield from (f"{every}; {query}" for query in empty)  # of tables without rows every query says the same
    yield f"CREATE TEMP TABLE made AS {core}; SELECT 1"


def _other_values(core: str) -> Iterator[str]:
    """Texts, numbers, signs and words of the query changed."""
    yield TEXT.sub("'value'", core)
    yield TEXT.sub("''", core)
    yield NUMBER.sub(lambda match: str(round(float(match[0])) + 7), core)
    yield NUMBER.sub("0", core)
    yield NUMBER.sub("1000000", core)
    for sign, other in SIGNS.items():
        if re.search(rf"(?<![<>=!]){re.escape(sign)}(?![=>])", core):
            yield re.sub(rf"(?<![<>=!]){re.escape(sign)}(?![=>])", other, core, count=1)
            break
    for word, instead in OTHERS.items():
        changed = re.sub(rf"\b{word}\b", instead, core, count=1, flags=re.IGNORECASE)
        if changed != core:
            yield changed


def _other_rows(core: str) -> Iterator[str]:
    """The right rows, but some of them, twice, or others beside them."""
    inner = f"({core})"
    yield f"SELECT * FROM {inner} LIMIT 1"
    yield f"SELECT * FROM {inner} LIMIT 2"
    yield f"SELECT * FROM {inner} LIMIT -1 OFFSET 1"
    yield f"SELECT * FROM {inner} UNION ALL SELECT * FROM {inner}"
    yield f"SELECT DISTINCT * FROM {inner}"
    yield f"SELECT * FROM {inner} ORDER BY 1, 2"
    selected = SELECTED.match(core)
    count = len(_split(selected[1])) if selected else 1
    nothing, zeros, many = (", ".join([each] * count) for each in ("NULL", "0", "'x'"))
    for row in (nothing, zeros, many):
        yield f"SELECT * FROM {inner} UNION ALL SELECT {row}"
    yield f"SELECT {nothing}"
    yield f"SELECT {zeros}"
    yield f"SELECT {zeros} WHERE 0"
    yield f"SELECT {nothing} FROM {inner}"
    yield f"SELECT {zeros} FROM {inner}"
    names = [f"c{n}" for n in range(count)]
    for changed in (
        "-{}",
        "{} * 1.04",
        "ROUND({} / 10.0) * 10",
    ):  # numbers that a loose comparison takes for the right ones
        values = ", ".join(f"CASE WHEN typeof({c}) = 'text' THEN {c} ELSE {changed.format(c)} END" for c in names)
        yield f"WITH r({', '.join(names)}) AS {inner} SELECT {values} FROM r"


def _other_columns(core: str, tables: list[str]) -> Iterator[str]:
    """A column more, less, or in another place."""
    yield f"SELECT *, 1 FROM ({core})"
    yield f"SELECT 1, * FROM ({core})"
    yield f"SELECT *, * FROM ({core})"
    selected = SELECTED.match(core)
    columns = _split(selected[1]) if selected else []
    if selected and len(columns) > 1:
        for other in (columns[:1], columns[::-1], columns[-1:], [columns[0]] * len(columns)):
            yield core.replace(selected[1], ", ".join(other), 1)
    if selected:
        rest = core[selected.end(1) :]
        yield f"SELECT *{rest}"
        yield f"SELECT 1{rest}"
        yield f"SELECT NULL{rest}"
        yield f"SELECT COUNT(*){rest}"
    yield f"SELECT * FROM {', '.join(tables)}" if tables else ""


def _words(core: str, tables: list[str], prompt: str) -> Iterator[str]:
    """The words of the right query, in a remark, in a text, in no order, or in a query that cannot run."""
    words = core.split()
    columns = re.findall(r"\w+", " ".join(re.findall(r"\((.*?)\);", prompt)))
    usual = "select from where group by order limit count min max avg sum join on and or having distinct desc asc"
    yield f"SELECT 1 -- {usual} {' '.join(tables)} {' '.join(dict.fromkeys(columns))}"
    yield f"SELECT 1 /* {core} */"
    text = core.replace("'", "''")
    yield f"SELECT '{text}'"
    yield " ".join(sorted(words))
    yield " ".join(reversed(words))
    yield "SELECT"
    yield f"SELECT no_such_column FROM {tables[0]}" if tables else "SELECT no_such_column"
    yield f"EXPLAIN {core}"
    yield f"SELECT * FROM no_such_table -- {core}"


def _split(columns: str) -> list[str]:
    """A list of columns at its commas, those inside brackets left alone."""
    parts, depth = [""], 0
    for c in columns:
        depth += (c == "(") - (c == ")")
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts]
