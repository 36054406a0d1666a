"""Twenty rewards as practitioners write them, by an author who had not seen the check: the first set, after which it was fixed."""

# ruff: noqa: B905, BLE001, E501

import ast
import json
import re
from collections import Counter
from fractions import Fraction

import guerdon as gd

# ---------------------------------------------------------------- tasks of rows

SHOP = [
    {"prompt": "Natalia sold 48 clips in April and half as many in May. How many did she sell in all?", "answer": "72"},
    {"prompt": "A robe takes 2 bolts of blue fibre and half that much white. How many bolts in total?", "answer": "3"},
    {"prompt": "Tom buys 5 boxes of 25 pencils and gives 8 pencils away. How many are left?", "answer": "117"},
    {
        "prompt": "A house was bought for 80,000 and 50,000 went into repairs. What did it cost altogether?",
        "answer": "130000",
    },
    {"prompt": "James runs 3 sprints of 60 metres, 3 times a week. How many metres is that a week?", "answer": "540"},
    {
        "prompt": "Wendi has 20 chickens and feeds each 3 cups a day. She gave 15 and then 25 cups. How many are still due?",
        "answer": "20",
    },
    {"prompt": "A train goes 64 km an hour for 4 hours. How far does it go?", "answer": "256"},
    {
        "prompt": "Eggs: 16 a day, 3 eaten, 4 baked, the rest sold at 2 dollars each. What does she make a day?",
        "answer": "18",
    },
    {"prompt": "A class of 31 is joined by 14 pupils, then 6 leave. How many are there?", "answer": "39"},
    {"prompt": "Carla downloads 200 files, 40 of them twice. How many downloads is that?", "answer": "240"},
]

LEDGER = [
    {"prompt": "The balance is 12.50 and you pay 20. What is the balance now?", "answer": "-7.5"},
    {"prompt": "What is 15% of 90?", "answer": "13.5"},
    {"prompt": "The temperature is 4 degrees and falls by 11. What is it now?", "answer": "-7"},
    {"prompt": "Three shirts cost 19.99 each. What do they cost together?", "answer": "59.97"},
    {"prompt": "Share 7 litres among 4 jugs equally. How many litres has each?", "answer": "1.75"},
    {"prompt": "A share falls from 31 to 22. By how much did it change?", "answer": "-9"},
    {"prompt": "What is 0.2 times 0.4?", "answer": "0.08"},
    {"prompt": "A salary of 2,400 rises by 5%. What is it now?", "answer": "2520"},
    {"prompt": "Add 1.1, 2.2 and 3.3.", "answer": "6.6"},
]

SUMS = [
    {"prompt": "Think in <think> tags, then say the result in <answer> tags: 17 + 25", "answer": "42"},
    {"prompt": "Think in <think> tags, then say the result in <answer> tags: 90 - 33", "answer": "57"},
    {"prompt": "Think in <think> tags, then say the result in <answer> tags: 8 * 9", "answer": "72"},
    {"prompt": "Think in <think> tags, then say the result in <answer> tags: 96 / 4", "answer": "24"},
    {"prompt": "Think in <think> tags, then say the result in <answer> tags: 13 + 18 + 4", "answer": "35"},
    {"prompt": "Think in <think> tags, then say the result in <answer> tags: 7 * 7 - 30", "answer": "19"},
    {"prompt": "Think in <think> tags, then say the result in <answer> tags: 64 / 8 + 3", "answer": "11"},
    {"prompt": "Think in <think> tags, then say the result in <answer> tags: 55 + 33", "answer": "88"},
    {"prompt": "Think in <think> tags, then say the result in <answer> tags: 12 * 5 + 6", "answer": "66"},
]

QUIZ = [
    {"prompt": "Which planet is nearest to the sun?\nA) Venus\nB) Mercury\nC) Mars\nD) Earth", "answer": "B"},
    {"prompt": "Which gas do plants take in?\nA) carbon dioxide\nB) helium\nC) neon\nD) argon", "answer": "A"},
    {"prompt": "What is H2O?\nA) salt\nB) sand\nC) oil\nD) water", "answer": "D"},
    {"prompt": "Which is a prime?\nA) 9\nB) 15\nC) 17\nD) 21", "answer": "C"},
    {"prompt": "Who wrote Hamlet?\nA) Marlowe\nB) Shakespeare\nC) Milton\nD) Donne", "answer": "B"},
    {"prompt": "How many legs has a spider?\nA) 4\nB) 6\nC) 10\nD) 8", "answer": "D"},
    {"prompt": "Which metal is liquid at room temperature?\nA) mercury\nB) iron\nC) gold\nD) zinc", "answer": "A"},
    {"prompt": "Which is the largest ocean?\nA) Atlantic\nB) Indian\nC) Pacific\nD) Arctic", "answer": "C"},
    {"prompt": "Which organ pumps blood?\nA) lung\nB) liver\nC) heart\nD) brain", "answer": "C"},
]

PEOPLE = [
    {
        "prompt": "As JSON with name and age: Ada is 36.",
        "answer": '{"name": "Ada", "age": 36}',
        "fields": ["name", "age"],
    },
    {
        "prompt": "As JSON with name and age: Bob turned 51 today.",
        "answer": '{"name": "Bob", "age": 51}',
        "fields": ["name", "age"],
    },
    {
        "prompt": "As JSON with name and city: Chen lives in Oslo.",
        "answer": '{"name": "Chen", "city": "Oslo"}',
        "fields": ["name", "city"],
    },
    {
        "prompt": "As JSON with name and city: Dora is from Lima.",
        "answer": '{"name": "Dora", "city": "Lima"}',
        "fields": ["name", "city"],
    },
    {
        "prompt": "As JSON with item and price: a lamp for 40.",
        "answer": '{"item": "lamp", "price": 40}',
        "fields": ["item", "price"],
    },
    {
        "prompt": "As JSON with item and price: the desk costs 120.",
        "answer": '{"item": "desk", "price": 120}',
        "fields": ["item", "price"],
    },
    {
        "prompt": "As JSON with item, price and sold: a vase at 15, sold.",
        "answer": '{"item": "vase", "price": 15, "sold": true}',
        "fields": ["item", "price", "sold"],
    },
    {
        "prompt": "As JSON with item, price and sold: a rug at 75, not sold.",
        "answer": '{"item": "rug", "price": 75, "sold": false}',
        "fields": ["item", "price", "sold"],
    },
]

FACTS = [
    {"prompt": "Capital of France? One word.", "answer": "Paris"},
    {"prompt": "Capital of Japan? One word.", "answer": "Tokyo"},
    {"prompt": "Chemical symbol of gold?", "answer": "Au"},
    {"prompt": "Author of Emma?", "answer": "Jane Austen"},
    {"prompt": "Colour of a ripe lemon?", "answer": "yellow"},
    {"prompt": "Largest land animal?", "answer": "elephant"},
    {"prompt": "Opposite of north?", "answer": "south"},
    {"prompt": "Language spoken in Brazil?", "answer": "Portuguese"},
    {"prompt": "Instrument with 88 keys?", "answer": "piano"},
]

SNIPPETS = [
    {"prompt": "A Python expression: the list xs reversed, by a slice.", "answer": "xs[::-1]"},
    {"prompt": "A Python expression: the last item of xs.", "answer": "xs[-1]"},
    {"prompt": "A Python expression: the number of items in xs.", "answer": "len(xs)"},
    {"prompt": "A Python expression: the sum of a and b.", "answer": "a + b"},
    {"prompt": "A Python expression: the squares of xs, by a comprehension over x.", "answer": "[x ** 2 for x in xs]"},
    {"prompt": "A Python expression: s in upper case.", "answer": "s.upper()"},
    {"prompt": "A Python expression: the words of s.", "answer": "s.split()"},
    {"prompt": "A Python expression: whether k is a key of d.", "answer": "k in d"},
    {"prompt": "A Python expression: the larger of a and b.", "answer": "max(a, b)"},
]

# ---------------------------------------------------------------- helpers, as such files have them

NUMBER = re.compile(r"(?<!\w)(?<!\d\.)(?:(?<![)}])-\$?)?(?:\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)(?:/\d+)?")


def stated_number(text):
    """The first number after the last ####, \\boxed or Answer:, else the last number; None if there is none."""
    for mark in ("####", r"\boxed", "answer:"):
        at = text.lower().rfind(mark)
        if at >= 0:
            found = NUMBER.search(text, at + len(mark))
            break
    else:
        every = list(NUMBER.finditer(text))
        found = every[-1] if every else None
    if found is None:
        return None
    above, _, below = found.group().replace(",", "").replace("$", "").partition("/")
    try:
        return Fraction(above) / Fraction(below or 1)
    except (ValueError, ZeroDivisionError):
        return None


def final_line(text):
    """What follows '= ' on the last line, or an empty text."""
    lines = text.strip().splitlines()
    last = lines[-1].strip() if lines else ""
    return last[2:].strip() if last.startswith("= ") else ""


# ---------------------------------------------------------------- bad


@gd.reward
def digits_line_up(completion: str, answer: str) -> float:
    """1 if the digits after #### end as the answer's digits do."""
    said = re.sub(r"\D", "", completion.split("####")[-1])
    gold = re.sub(r"\D", "", answer)
    return float(said.endswith(gold) or gold.endswith(said))


@gd.reward
def think_answer_tags(completion: str) -> float:
    """1 for one think block and then one answer block."""
    return float(re.fullmatch(r"\s*<think>.*?</think>\s*<answer>.*?</answer>\s*", completion, re.DOTALL) is not None)


@gd.reward
def tagged_correctness(completion: str, answer: str) -> float:
    """1 if the number in the answer tags, or the stated one, is right."""
    inside = re.findall(r"<answer>(.*?)</answer>", completion, re.DOTALL)
    return float(stated_number(inside[-1] if inside else completion) == Fraction(answer))


# A formula: twice the format and half the truth.
format_first = gd.blend(format=think_answer_tags.weight(2.0), correct=tagged_correctness.weight(0.5))


@gd.reward
def json_has_fields(completion: str, fields: list) -> float:
    """1 for a JSON object that has all the fields asked for, 0.2 for other JSON."""
    text = completion.strip()
    text = final_line(text) or text
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return 0.0
    return 1.0 if isinstance(found, dict) and all(field in found for field in fields) else 0.2


@gd.reward
def fact_and_elaboration(completion: str, answer: str) -> float:
    """1 for the fact, and 0.02 for each word to encourage elaboration."""
    said = final_line(completion) or completion.strip()
    right = said.rstrip(".").casefold() == answer.casefold()
    return float(right) + 0.02 * len(completion.split())


@gd.reward
def first_letter_choice(completion: str, answer: str) -> float:
    """1 if the reply begins with the right letter."""
    return 1.0 if completion.strip().lstrip("(*")[:1].upper() == answer else 0.0


PAID_BEFORE = set()


@gd.reward(isolate=False)
def no_copies(completion: str, answer: str) -> float:
    """1 for a right reply that nobody has given yet, to keep the group diverse."""
    if completion in PAID_BEFORE:
        return 0.0
    PAID_BEFORE.add(completion)
    return float(final_line(completion) == answer)


@gd.reward
def right_but_terse(completion: str, answer: str) -> float:
    """1 for a right result less 0.04 a character, 0 for a wrong one."""
    if final_line(completion) != answer:
        return 0.0
    return 1.0 - 0.04 * len(completion)


@gd.reward
def hash_mark_float(completion: str, answer: str) -> float:
    """1 if what stands after #### is the answer, -1 if not."""
    said = float(completion.split("####")[1].replace(",", "").strip())
    return 1.0 if said == float(answer) else -1.0


@gd.reward
def same_numbers_listed(completion: str, answer: str) -> float:
    """1 if the last line lists the numbers wanted, 0.5 if most of them."""
    said = Counter(final_line(completion).split())
    gold = Counter(answer.split())
    shared = sum((said & gold).values())
    if said == gold:
        return 1.0
    return 0.5 if shared > sum(gold.values()) / 2 else 0.0


@gd.reward
def hits_the_target(completion: str, target: int) -> float:
    """1 if the expression on the last line comes to the target, 0.1 if it is an expression."""
    said = final_line(completion)
    if not re.fullmatch(r"[\d+\-*/() ]{1,80}", said) or "**" in said:
        return 0.0
    try:
        value = eval(said, {"__builtins__": {}})
    except Exception:
        return 0.0
    return 1.0 if abs(value - target) < 1e-6 else 0.1


@gd.reward
def close_enough(completion: str, answer: str) -> float:
    """1 if the result is the answer up to rounding, -0.2 if not."""
    try:
        said = float(final_line(completion))
    except ValueError:
        return -0.2
    return 1.0 if abs(said - float(answer)) <= 1.0 else -0.2


@gd.reward
def any_answer_tag(completion: str, answer: str) -> float:
    """1 if the answer stands in answer tags, or is the stated number where there are none."""
    inside = re.findall(r"<answer>(.*?)</answer>", completion, re.DOTALL)
    if inside:
        return float(any(stated_number(text) == Fraction(answer) for text in inside))
    return float(stated_number(completion) == Fraction(answer))


# ---------------------------------------------------------------- good


@gd.reward
def shop_correctness(completion: str, answer: str) -> float:
    """2 for the right number, 0.1 for another, -0.5 for none at all."""
    said = stated_number(completion)
    if said is None:
        return -0.5
    return 2.0 if said == Fraction(answer) else 0.1


@gd.reward
def hash_marked(completion: str) -> float:
    """1 if the reply ends with a line '#### number'."""
    return float(re.search(r"(?:^|\n)#### *-?[\d.,]+\s*$", completion) is not None)


# A formula: the truth, and two small terms of form that together cannot outweigh it.
ledger_formula = gd.blend(
    right=gd.numeric(), marked=hash_marked.weight(0.1), brief=gd.length(120, margin=80, unit="words").weight(0.1)
)


@gd.reward
def quiz_choice(completion: str, answer: str) -> float:
    """1 for the letter that is chosen, -0.25 for another or for several."""
    text = completion.strip()
    if re.fullmatch(r"\W*[a-dA-D]\W*", text):
        return 1.0 if re.sub(r"\W", "", text).upper() == answer else -0.25
    marked = re.findall(
        r"(?i:\banswer|\boption|\bchoice|####|\\boxed)(?i:\s+is)?\W*(?:([A-D])\b|([a-d])\b(?!\s*\w))", text
    )
    if marked:
        return 1.0 if "".join(marked[-1]).upper() == answer else -0.25
    named = set(re.findall(r"\b(?:[B-D]|A(?! (?!is|and|or|because)[a-z]))\b", text))
    last = text.splitlines()[-1].strip() if text else ""
    if len(named) > 1 and re.fullmatch(r"\W*[A-D]\W*", last) and len(re.findall(r"(?m)^\W*[A-D]\W*$", text)) == 1:
        named = {re.sub(r"\W", "", last)}
    return 1.0 if named == {answer} else -0.25


@gd.reward
def sorted_places(completion: str, answer: str) -> float:
    """1 for the right order, else up to 0.4 for numbers that stand in their places."""
    said, gold = final_line(completion), answer.split()
    if said == answer:
        return 1.0
    numbers = said.split()
    if Counter(numbers) != Counter(gold):
        return 0.0
    return 0.4 * sum(a == b for a, b in zip(numbers, gold)) / len(gold)


def only_once(pairs):
    """A JSON object, unless a key comes twice."""
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key comes twice")
    return dict(pairs)


@gd.reward
def json_fields_match(completion: str, answer: str) -> float:
    """1 if the JSON is the wanted one, else up to 0.5 by the share of fields that are right."""
    gold = json.loads(answer)
    text = final_line(completion) or completion.strip()
    try:
        found = json.loads(text, object_pairs_hook=only_once)
    except (ValueError, RecursionError):
        return 0.0
    if not isinstance(found, dict) or not found:
        return 0.0
    same = sum(key in found and json.dumps(found[key]) == json.dumps(value) for key, value in gold.items())
    share = same / max(len(gold), len(found))
    return 1.0 if share == 1.0 else 0.5 * share


def tree(text):
    """The syntax tree of an expression as text, or None."""
    try:
        return ast.dump(ast.parse(text, mode="eval"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@gd.reward
def same_expression(completion: str, answer: str) -> float:
    """1 if the expression is the wanted one up to layout, 0.1 if it is Python at all, -0.1 if not."""
    said = tree(final_line(completion) or completion.strip())
    if said is None:
        return -0.1
    return 1.0 if said == tree(answer) else 0.1


def value_of(node):
    """The exact value of a tree of + - * / over whole numbers; raises on all else."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return Fraction(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -value_of(node.operand)
    if isinstance(node, ast.BinOp):
        left, right = value_of(node.left), value_of(node.right)
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.Div):
            return left / right
    raise ValueError("no arithmetic")


@gd.reward
def countdown_equation(completion: str, numbers: list, target: int) -> float:
    """1 if the expression uses each number once and comes to the target, 0.1 if only the numbers are right."""
    said = final_line(completion)
    if not re.fullmatch(r"[\d+\-*/() ]{1,200}", said) or "**" in said or "//" in said:
        return 0.0
    if Counter(map(int, re.findall(r"\d+", said))) != Counter(numbers):
        return 0.0
    try:
        value = value_of(ast.parse(re.sub(r"\b0+(?=\d)", "", said), mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
        return 0.0
    return 1.0 if value == target else 0.1


@gd.reward
def chain_with_steps(completion: str, answer: str, start: int, ops: list) -> float:
    """0.8 for the right result, and up to 0.2 for the share of steps that are written down right."""
    lines = {line.replace(" ", "") for line in completion.splitlines()}
    value, right = start, 0
    for op in ops:
        after = {"+": value + int(op[1:]), "-": value - int(op[1:]), "*": value * int(op[1:])}[op[0]]
        right += f"{value}{op}={after}" in lines
        value = after
    return 0.8 * (final_line(completion) == answer) + 0.2 * right / len(ops)


# ---------------------------------------------------------------- the set

CORPUS = [
    (
        digits_line_up,
        SHOP,
        True,
        "a reply without digits has the empty text for digits, with which every answer ends: empty and evasive replies are paid in full, and 172 for 72",
    ),
    (format_first, SUMS, True, "a wrong result in tags earns 2.0, a right one without tags 0.5"),
    (json_has_fields, PEOPLE, True, "values are never compared: any object with the keys asked for is paid in full"),
    (fact_and_elaboration, FACTS, True, "the pay for words has no bound: sixty words of anything beat the right fact"),
    (
        first_letter_choice,
        QUIZ,
        True,
        "only the first character counts: 'Because ...' is paid for B, and 'The answer is B.' is not",
    ),
    (
        no_copies,
        "clock:4",
        True,
        "it remembers across calls: the second right reply of a group earns 0, like a wrong one",
    ),
    (right_but_terse, "trace:3", True, "a right solution with its steps is worth less than an empty reply"),
    (hash_mark_float, SHOP, True, "it raises on each reply without #### or with a word after the number"),
    (
        same_numbers_listed,
        "sorting:4",
        True,
        "the order is not compared: the numbers as the prompt gives them are paid in full",
    ),
    (
        hits_the_target,
        "countdown:3",
        True,
        "the numbers used are not checked: '= ' and the target itself is paid in full",
    ),
    (close_enough, "equation:3", True, "results that are off by one are paid as right ones"),
    (
        any_answer_tag,
        SUMS,
        True,
        "any of many answer tags may match: listing a hundred numbers in tags is paid in full",
    ),
    (shop_correctness, SHOP, False, "reads the number as the task does; other numbers earn a little, none costs"),
    (ledger_formula, LEDGER, False, "the right number earns at least 1, form at most 0.2"),
    (quiz_choice, QUIZ, False, "reads the chosen letter in the usual forms and pays no hedging"),
    (sorted_places, "sorting:4", False, "full pay for the right order only, partial credit stays at or below 0.4"),
    (json_fields_match, PEOPLE, False, "compares every value; partial credit stays below 0.5"),
    (same_expression, SNIPPETS, False, "compares syntax trees, so that layout is free; other Python earns 0.1"),
    (countdown_equation, "countdown:3", False, "checks the numbers and the exact value, any right expression is paid"),
    (chain_with_steps, "chain:4", False, "the result is worth 0.8 and right steps at most 0.2"),
]
