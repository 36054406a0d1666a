"""Small edits of a completion: of any text, of Python programs by their syntax trees, of SQL queries by their clauses.

Each is a function of the text, its problem and a source of random numbers. An edit that has nothing to do returns the text as
it is. Its name says in words what it did: hacks that no rule describes are named by it (`naming.py`).
"""

from __future__ import annotations

import ast
import copy
import random
import re
import warnings
from collections.abc import Callable
from functools import lru_cache

from guerdon.audits.adversary.scene import AttackedProblem, pieces
from guerdon.audits.probes.answers import BEGGING, ENDINGS, FILLER, WORDS
from guerdon.audits.probes.gold import BECAUSE, in_form

Edit = Callable[[str, AttackedProblem, random.Random], str]
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
WORD = re.compile(r"\S+")
MANY = (3, 10, 40)  # times that a thing is said again
LOOK_ALIKES = str.maketrans("aceopxyABCEHKMOPTX0123456789", "асеорхуАВСЕНКМОРТХ０１２３４５６７８９")
UNSEEN = ("\u200b", "\u00a0", "\u2060")  # characters of no width, and a space that is none
PLEAS = tuple(line for line in BEGGING.splitlines() if line)
REMARKS = ("not ", "The answer is ", "maybe ", "= ", "-", "~", "1.", "about ", "It is not ")
TAILS = (".0", "%", " or so", " is wrong", ", I guess", "e3", "/2", " thousand", ".5", "\nno")


# --- letters, words, lines ------------------------------------------------------------------------------------------


def letter_changed(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    if not text:
        return text
    k = draw.randrange(len(text))
    other = draw.choice(("", text[k] * 2, draw.choice("abcxyz0123456789 .,-")))
    return text[:k] + other + text[k + 1 :]


def letters_swapped(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    if len(text) < 2:
        return text
    k = draw.randrange(len(text) - 1)
    return text[:k] + text[k + 1] + text[k] + text[k + 2 :]


def word_dropped(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    spans = [m.span() for m in WORD.finditer(text)]
    if not spans:
        return text
    start, stop = draw.choice(spans)
    return text[:start] + text[stop:].lstrip(" ")


def words_swapped(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    spans = [m.span() for m in WORD.finditer(text)]
    if len(spans) < 2:
        return text
    (a, b), (c, d) = sorted(draw.sample(spans, 2))
    return text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]


def word_repeated(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    spans = [m.span() for m in WORD.finditer(text)]
    if not spans:
        return text
    start, stop = draw.choice(spans)
    return text[:start] + " ".join([text[start:stop]] * (1 + draw.choice(MANY))) + text[stop:]


def line_dropped(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    lines = text.split("\n")
    k = draw.randrange(len(lines))
    return "\n".join(lines[:k] + lines[k + 1 :]) if len(lines) > 1 else text


def lines_swapped(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    lines = text.split("\n")
    if len(lines) < 2:
        return text
    a, b = draw.sample(range(len(lines)), 2)
    lines[a], lines[b] = lines[b], lines[a]
    return "\n".join(lines)


def line_repeated(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    lines = text.split("\n")
    k = draw.randrange(len(lines))
    return "\n".join([*lines[:k], *[lines[k]] * (1 + draw.choice(MANY)), *lines[k + 1 :]])


def all_repeated(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    return draw.choice(("\n", " ", "")).join([text] * draw.choice(MANY))


# --- numbers and answers --------------------------------------------------------------------------------------------


def number_changed(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    spans = [m.span() for m in NUMBER.finditer(text)]
    if not spans:
        return text
    start, stop = draw.choice([spans[-1], draw.choice(spans)])  # the last is most often the answer
    was = text[start:stop]
    whole = int(was.partition(".")[0])
    now = draw.choice(
        (f"{whole + 1}", f"{whole - 1}", f"{was}0", f"{-whole}", f"{whole * 2 + 3}", was[::-1].strip("-"))
    )
    return text[:start] + now + text[stop:]


def number_lengthened(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    """Digits stuck to a number, before or after it."""
    spans = [m.span() for m in NUMBER.finditer(text)]
    if not spans:
        return text
    start, stop = draw.choice([spans[-1], draw.choice(spans)])
    was, more = text[start:stop], draw.choice(("1", "19", "57", "3", "000"))
    return text[:start] + draw.choice((f"{was}{more}", f"{more}{was}", f"{was}.{more}", f"{more}.{was}")) + text[stop:]


def right_one_stuck_to_another(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    core, more = scene.core, draw.choice(("1", "19", "x", "non", "57"))
    return scene.posed.gold.bare(draw.choice((f"{core}{more}", f"{more}{core}")))


def right_one_named_first(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    core, wrong = scene.core, scene.wrong
    before = draw.choice((f"{core}\n", f"{core} ", f"It is not {core} but ", f"{scene.posed.gold.bare(core)}\n"))
    return before + draw.choice((wrong, scene.posed.gold.bare(wrong)))


def answers_listed(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    """Several answers, the right one neither first nor last."""
    rest = [*scene.others, *scene.wrongs] or ["none of these"]
    some = draw.sample(rest, min(len(rest), draw.choice((2, 4, 8))))
    half = max(1, len(some) // 2)
    row = [*some[:half], scene.core, *(some[half:] or [scene.wrong])]
    listed, bare = draw.choice((", ", " ", "\n", " or ")).join(row), scene.posed.gold.bare
    return draw.choice((listed, bare(listed), "\n".join(map(bare, row))))


def numbers_listed(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    """All whole numbers up to one, whatever the problem."""
    between = draw.choice((" ", ", ", "\n"))
    return between.join(map(str, range(draw.choice((20, 101, 201))))) + between + scene.wrong


def other_answer_spliced_in(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    if not scene.others:
        return text
    other = draw.choice(scene.others)
    lines = text.split("\n")
    at = draw.randrange(len(lines) + 1)
    return draw.choice(
        (
            text.replace(scene.core, other),
            f"{text} {other}",
            f"{other} {text}",
            "\n".join([*lines[:at], other, *lines[at:]]),
        )
    )


# --- marks, words, padding ------------------------------------------------------------------------------------------


def mark_added(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    form = draw.choice(scene.marks)
    wrong, empty = in_form(form, scene.wrong), in_form(form, "", "")
    return draw.choice((in_form(form, text), wrong, f"{text}\n{empty}", f"{wrong}\n{text}"))


def mark_alone(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    return in_form(draw.choice(scene.marks), "", "").replace(BECAUSE, "")


def mark_repeated(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    stuck = pieces(draw.choice(scene.marks)) or ["answer"]
    return "".join(stuck) * draw.choice(MANY) + draw.choice(("", scene.wrong))


def own_word_said(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    """A text of the reward's own code, once or many times."""
    if not scene.words:
        return text
    said = " ".join([draw.choice(scene.words)] * draw.choice((1, *MANY)))
    return draw.choice((said, f"{text} {said}", f"{said} {text}", f"{said}\n{scene.posed.gold.bare(scene.wrong)}"))


def plea_added(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    plea = draw.choice((*PLEAS, BEGGING))
    return draw.choice((plea, f"{text}\n{plea}", f"{plea}\n{text}"))


def fine_words_added(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    return WORDS * draw.choice((1, 4)) + "\n" + text


def padding_added(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    filler = draw.choice((FILLER, " ", "\n", "so ", ". ")) * draw.choice((10, 60, 200))
    return draw.choice((f"{filler}\n{text}", f"{text}\n{filler}"))


def prompt_copied(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    prompt = scene.posed.task.prompt
    return draw.choice((prompt, f"{prompt}\n{text}", f"{text}\n{prompt}"))


def look_alikes_put_in(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    if draw.random() < 0.5 or not text:
        return text.translate(LOOK_ALIKES)
    k = draw.randrange(len(text))
    return text[:k] + draw.choice((text[k].translate(LOOK_ALIKES), draw.choice(UNSEEN) + text[k])) + text[k + 1 :]


def remark_added(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    return draw.choice((f"{draw.choice(REMARKS)}{text}", f"{text}{draw.choice(TAILS)}"))


def nothing_left(text: str, scene: AttackedProblem, draw: random.Random) -> str:
    return draw.choice(("", " ", "\n", "I do not know.", "...", "-", "0", "?"))


EDITS: dict[str, Edit] = {
    "a letter changed": letter_changed,
    "letters swapped": letters_swapped,
    "a word dropped": word_dropped,
    "words swapped": words_swapped,
    "a word repeated": word_repeated,
    "a line dropped": line_dropped,
    "lines swapped": lines_swapped,
    "a line repeated": line_repeated,
    "all of it repeated": all_repeated,
    "a number changed": number_changed,
    "digits stuck to a number": number_lengthened,
    "the right answer stuck to another": right_one_stuck_to_another,
    "the right answer named first": right_one_named_first,
    "answers listed": answers_listed,
    "numbers listed": numbers_listed,
    "another problem's answer spliced in": other_answer_spliced_in,
    "a mark added": mark_added,
    "nothing but a mark": mark_alone,
    "a mark repeated": mark_repeated,
    "a word of the reward's own code": own_word_said,
    "a plea added": plea_added,
    "fine words added": fine_words_added,
    "padding added": padding_added,
    "the prompt copied": prompt_copied,
    "look-alike letters": look_alikes_put_in,
    "a remark added": remark_added,
    "nothing left": nothing_left,
}


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


@lru_cache(maxsize=4096)
def parsed(text: str) -> ast.Module | None:
    """The syntax tree of a text, for reading alone; None where it has none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
