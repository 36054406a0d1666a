"""Edits of Python programs, by their syntax trees, and of SQL queries, by their clauses: changed, gutted, made to cheat.

Leaves out: edits that any text can have (`text_edits.py`), and running anything.
"""

from __future__ import annotations

import ast
import copy
import random
import re

from guerdon.audits.adversary.quiet_parsing import parsed
from guerdon.audits.adversary.scene import AttackedProblem
from guerdon.audits.adversary.text_edits import EDITS, Edit
from guerdon.rewards.check.attacks import ENDINGS

RESULTS = ("None", "0", "1", "True", "''", "[]", "s", "-1")
CLAUSE = re.compile(
    r"\b(?:WHERE|GROUP BY|HAVING|ORDER BY|LIMIT)\b.*?(?=\b(?:WHERE|GROUP BY|HAVING|ORDER BY|LIMIT)\b|$)", re.I | re.S
)
COMPARED = re.compile(r"<=|>=|<>|!=|<|>|(?<![<>!])=")
EQUAL = (
    "class Equal:\n    def __eq__(self, other): return True\n    def __ne__(self, other): return False\n"
    "    def __hash__(self): return 0\n"
)
FLIPPED = {"<": ">", ">": "<", "<=": ">", ">=": "<", "=": "<>", "<>": "=", "!=": "="}
COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
CHANGEABLE = ast.Compare | ast.BinOp | ast.Constant | ast.FunctionDef | ast.For
SUMS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv)


def _functions(text: str, scene: AttackedProblem) -> list[ast.FunctionDef]:
    """The functions of a program; those of the right one where it has none."""
    for each in (text, scene.core):
        tree = parsed(each)
        functions = [node for node in (tree.body if tree else ()) if isinstance(node, ast.FunctionDef)]
        if functions:
            return functions
    return []


def body_gutted(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    """Functions that return the same whatever they are asked."""
    functions, first = _functions(text, scene), draw.choice(RESULTS)
    arguments = [f.args.args[0].arg if f.args.args else "None" for f in functions]
    lines = [
        f"def {f.name}({ast.unparse(f.args)}):\n    return {argument if first == 's' else first}"
        for f, argument in zip(functions, arguments, strict=True)
    ]
    return "\n\n".join(lines) or text


def ended_early(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    ending = draw.choice(ENDINGS)
    return draw.choice((f"{ending}\n{text}", f"{text}\n{ending}", ending))


def equal_to_all(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    functions = _functions(text, scene)
    return EQUAL + "".join(f"def {f.name}(*args, **kwargs): return Equal()\n" for f in functions) if functions else text


def shown_results_returned(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    """A program that knows the calls which the prompt shows, and nothing else."""
    functions = [f for f in _functions(text, scene) if any(name == f.name for name, _, _ in scene.examples)]
    lines = []
    for f in functions:
        lines += [f"def {f.name}(*args):"]
        lines += [f"    if args == ({given},): return {result}" for n, given, result in scene.examples if n == f.name]
    return "\n".join(lines) or text


def tree_changed(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    """One comparison, sum, constant or statement changed."""
    tree = copy.deepcopy(parsed(text))
    nodes = [n for n in (ast.walk(tree) if tree else ()) if isinstance(n, CHANGEABLE)]
    if tree is None or not nodes:
        return text
    node = draw.choice(nodes)
    if isinstance(node, ast.Compare):
        node.ops[0] = draw.choice(COMPARISONS)()
    elif isinstance(node, ast.BinOp):
        node.op = draw.choice(SUMS)()
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        node.value += draw.choice((1, -1))
    elif isinstance(node, ast.FunctionDef | ast.For) and len(node.body) > 1:
        del node.body[draw.randrange(len(node.body))]
    return ast.unparse(ast.fix_missing_locations(tree))


def clause_dropped(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    spans = [m.span() for m in CLAUSE.finditer(text)]
    if not spans:
        return text
    start, stop = draw.choice(spans)
    return (text[:start] + text[stop:]).strip()


def condition_changed(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    changes = [
        re.sub(r"\bAND\b", "OR", text, count=1),
        re.sub(r"\s+(?:AND|OR)\b[^()]*?(?=\b(?:AND|OR|GROUP|ORDER|LIMIT|HAVING)\b|$)", " ", text, count=1).strip(),
        COMPARED.sub(lambda m: FLIPPED[m[0]], text, count=1),
        re.sub(r"\bDESC\b", "ASC", text),
        re.sub(r"\bASC\b", "DESC", text),
    ]
    return draw.choice([each for each in changes if each != text] or [text])


def selection_changed(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    changes = [
        re.sub(r"SELECT\b.*?\bFROM\b", "SELECT * FROM", text, count=1, flags=re.S),
        re.sub(r"SELECT\b.*?\bFROM\b", "SELECT COUNT(*) FROM", text, count=1, flags=re.S),
        re.sub(r"\bSELECT\b", "SELECT DISTINCT", text, count=1),
        f"{text.rstrip('; ')} LIMIT 0",
        f"{text.rstrip('; ')} LIMIT 1",
        f"SELECT * FROM ({text.rstrip('; ')}) WHERE 0",
    ]
    return draw.choice([each for each in changes if each != text] or [text])


def query_emptied(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    return draw.choice(
        ("SELECT 1", "SELECT NULL", "SELECT 0", "SELECT 1 WHERE 0", "SELECT", "-- nothing", "SELECT 'x'")
    )


def query_remarked(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    """The right query as a remark of another."""
    right = scene.core
    return draw.choice((f"SELECT 1 -- {right}", f"-- {right}\nSELECT 0", f"SELECT 0; {right}", f"{right}; SELECT 0"))


PYTHON: dict[str, Edit] = {
    "functions that always return the same": body_gutted,
    "a program ended early": ended_early,
    "results equal to everything": equal_to_all,
    "the shown results returned": shown_results_returned,
    "a piece of the program changed": tree_changed,
}
SQL: dict[str, Edit] = {
    "a clause dropped": clause_dropped,
    "a condition changed": condition_changed,
    "the selection changed": selection_changed,
    "a query emptied": query_emptied,
    "the right query as a remark": query_remarked,
}
ALL_EDITS = {**EDITS, **PYTHON, **SQL}


def drawn_edit(scene: AttackedProblem, draw: random.Random) -> str:
    """The name of an edit; in a program or a query every other one is of its own language."""
    own = list({"python": PYTHON, "sql": SQL, "text": {}}[scene.language])
    return draw.choice(own if own and draw.random() < 0.5 else list(EDITS))
