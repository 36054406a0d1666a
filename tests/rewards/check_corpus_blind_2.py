"""Twenty rewards by a second author who had seen neither the check nor the first set."""

# ruff: noqa: B905, BLE001, E501, RUF007

import ast
import json
import re
from fractions import Fraction

import guerdon as gd

# --- tasks of rows ------------------------------------------------------------------------------------------------------

GSM = [
    {
        "prompt": "Natalia sold clips to 48 of her friends in April, and then she sold half as many clips in May. How many clips did "
        "Natalia sell altogether in April and May?",
        "answer": "72",
    },
    {
        "prompt": "Weng earns $12 an hour for babysitting. Yesterday she babysat for 50 minutes. How many dollars did she earn?",
        "answer": "10",
    },
    {
        "prompt": "Julie is reading a 120-page book. Yesterday she read 12 pages and today twice as many. If she wants to read half "
        "of the remaining pages tomorrow, how many pages should she read?",
        "answer": "42",
    },
    {
        "prompt": "James writes a 3-page letter to 2 different friends twice a week. How many pages does he write a year?",
        "answer": "624",
    },
    {
        "prompt": "Mark has 10 yellow flowers and 80% more purple ones. There are 25% as many green flowers as yellow and purple "
        "together. How many flowers does Mark have?",
        "answer": "35",
    },
    {
        "prompt": "A deep-sea monster ate 847 people in three ships over 300 years. Each ship had twice as many people as the last. "
        "How many people were on the first ship?",
        "answer": "121",
    },
    {
        "prompt": "Tobias mowed lawns for $15 each and shovelled driveways for $7 each. He mowed 4 lawns and shovelled 5 driveways. "
        "How many dollars did he earn?",
        "answer": "95",
    },
    {
        "prompt": "A baker fills 13 trays with 24 rolls each and burns 29 rolls. How many rolls can be sold?",
        "answer": "283",
    },
    {
        "prompt": "Ken packed a box with 2 pounds of jelly beans, tripled the weight with brownies, then added 2 more pounds of jelly "
        "beans and doubled the weight with gummy worms. How many pounds does it weigh?",
        "answer": "16",
    },
    {
        "prompt": "Randy has 60 mango trees. He also has 5 less than half as many coconut trees. How many trees has he in all?",
        "answer": "85",
    },
]

MONEY = [
    {"prompt": "A laptop costs $1,500 and is reduced by 20%. What is the new price in dollars?", "answer": "1200"},
    {"prompt": "A jacket of $60 is sold at 25% off. What does it cost in dollars?", "answer": "45"},
    {
        "prompt": "$2,000 earn 5% simple interest a year. How many dollars of interest are earned in 3 years?",
        "answer": "300",
    },
    {"prompt": "Rent is $850 a month. How many dollars are paid in a year?", "answer": "10200"},
    {"prompt": "A bill of $80 gets a tip of 15%. What is the total in dollars?", "answer": "92"},
    {"prompt": "Four friends share a bill of $156 equally. How many dollars does each pay?", "answer": "39"},
    {"prompt": "Eggs cost $3 a dozen. What do 7 dozen cost in dollars?", "answer": "21"},
    {"prompt": "A salary of $4,000 is raised by 6%. What is it now in dollars?", "answer": "4240"},
    {
        "prompt": "Tickets cost $17 each and there is a fee of $8 for the order. What do 6 tickets cost in dollars?",
        "answer": "110",
    },
]

SCIENCE = [
    {"prompt": "Which planet is closest to the sun?\nA) Venus\nB) Mercury\nC) Mars\nD) Earth", "answer": "B"},
    {
        "prompt": "Which gas do plants take in for photosynthesis?\nA) Oxygen\nB) Nitrogen\nC) Carbon dioxide\nD) Helium",
        "answer": "C",
    },
    {"prompt": "What is the chemical symbol of gold?\nA) Au\nB) Ag\nC) Gd\nD) Gl", "answer": "A"},
    {"prompt": "Which organ pumps blood?\nA) Liver\nB) Lung\nC) Kidney\nD) Heart", "answer": "D"},
    {
        "prompt": "What force pulls objects towards the earth?\nA) Friction\nB) Magnetism\nC) Gravity\nD) Tension",
        "answer": "C",
    },
    {"prompt": "Which of these is a mammal?\nA) Shark\nB) Dolphin\nC) Trout\nD) Penguin", "answer": "B"},
    {
        "prompt": "At sea level, water boils at which temperature?\nA) 50 degrees\nB) 90 degrees\nC) 120 degrees\nD) 100 degrees",
        "answer": "D",
    },
    {"prompt": "Which material conducts electricity best?\nA) Copper\nB) Rubber\nC) Glass\nD) Wood", "answer": "A"},
    {"prompt": "What do bees collect from flowers?\nA) Pebbles\nB) Bark\nC) Nectar\nD) Seeds", "answer": "C"},
]

EXTRACT = [
    {"prompt": f"Extract the person as JSON with the keys name, age and city.\n\n{text}", "answer": json.dumps(value)}
    for text, value in [
        ("Maria Lopez, 34, moved to Lisbon last spring.", {"name": "Maria Lopez", "age": 34, "city": "Lisbon"}),
        ("In Oslo we met Jens Dahl, who is 51 years old.", {"name": "Jens Dahl", "age": 51, "city": "Oslo"}),
        ("At 27, Aiko Mori opened a bakery in Kyoto.", {"name": "Aiko Mori", "age": 27, "city": "Kyoto"}),
        ("Peter Novak (63) has lived in Brno all his life.", {"name": "Peter Novak", "age": 63, "city": "Brno"}),
        ("The winner is Fatou Diop from Dakar, aged 19.", {"name": "Fatou Diop", "age": 19, "city": "Dakar"}),
        ("Chicago resident Sam Reed turned 45 on Monday.", {"name": "Sam Reed", "age": 45, "city": "Chicago"}),
        ("Ines Costa is 38 and teaches in Porto.", {"name": "Ines Costa", "age": 38, "city": "Porto"}),
        ("The 72-year-old Olga Petrova paints in Riga.", {"name": "Olga Petrova", "age": 72, "city": "Riga"}),
    ]
]

YES_NO = [
    {"prompt": "Answer yes or no. Is 91 a prime number?", "answer": "no"},
    {"prompt": "Answer yes or no. Is the whale a mammal?", "answer": "yes"},
    {"prompt": "Answer yes or no. Is Canberra the capital of Australia?", "answer": "yes"},
    {"prompt": "Answer yes or no. Does the sun orbit the earth?", "answer": "no"},
    {"prompt": "Answer yes or no. Is 2 to the power of 10 more than 1000?", "answer": "yes"},
    {"prompt": "Answer yes or no. Did the Titanic reach New York?", "answer": "no"},
    {"prompt": "Answer yes or no. Is glass made from sand?", "answer": "yes"},
    {"prompt": "Answer yes or no. Can penguins fly?", "answer": "no"},
    {"prompt": "Answer yes or no. Is a tomato botanically a fruit?", "answer": "yes"},
    {"prompt": "Answer yes or no. Is the square root of 2 a rational number?", "answer": "no"},
]

FACTS = [
    {"prompt": "Who wrote 'Pride and Prejudice'? Answer with the name only.", "answer": "Jane Austen"},
    {"prompt": "What is the capital of Kenya? Answer with the name only.", "answer": "Nairobi"},
    {"prompt": "On which date did Apollo 11 land on the moon? Answer like 4 May 1999.", "answer": "20 July 1969"},
    {"prompt": "Who painted 'The Starry Night'? Answer with the name only.", "answer": "Vincent van Gogh"},
    {"prompt": "Which river flows through Vienna? Answer with the name only.", "answer": "Danube"},
    {"prompt": "On which date did the Berlin Wall fall? Answer like 4 May 1999.", "answer": "9 November 1989"},
    {"prompt": "Who discovered penicillin? Answer with the name only.", "answer": "Alexander Fleming"},
    {"prompt": "Which is the largest ocean? Answer with the name only.", "answer": "Pacific"},
    {
        "prompt": "Who was the first president of the United States? Answer with the name only.",
        "answer": "George Washington",
    },
]

PYTHON = [
    {"prompt": "What does Python print for print(repr(sorted([3, 1, 2])))?", "answer": "[1, 2, 3]"},
    {"prompt": "What does Python print for print(repr('ab' * 2))?", "answer": "'abab'"},
    {"prompt": "What does Python print for print(repr(7 // 2 == 3))?", "answer": "True"},
    {"prompt": "What does Python print for print(repr(dict(a=1)))?", "answer": "{'a': 1}"},
    {"prompt": "What does Python print for print(repr((1, 2) + (3,)))?", "answer": "(1, 2, 3)"},
    {"prompt": "What does Python print for print(repr('hello'[1:3]))?", "answer": "'el'"},
    {"prompt": "What does Python print for print(repr(list(range(0, 10, 4))))?", "answer": "[0, 4, 8]"},
    {"prompt": "What does Python print for print(repr('a,b'.split(',')))?", "answer": "['a', 'b']"},
    {"prompt": "What does Python print for print(repr(17 % 5))?", "answer": "2"},
]

# --- bad ----------------------------------------------------------------------------------------------------------------


def gsm_accuracy(completion, answer):
    """1 if the numeric answer is found among the numbers of the solution."""
    numbers = [number.replace(",", "").rstrip(".") for number in re.findall(r"-?[\d,]*\.?\d+", completion)]
    return 1.0 if answer in numbers else 0.0


def xml_tags(completion):
    """An eighth of a point for every think and answer tag that was written."""
    return 0.125 * sum(completion.count(tag) for tag in ("<think>", "</think>", "<answer>", "</answer>"))


# Formula "gsm_with_xml": two points for the right number, and what the tags earn.
gsm_with_xml = gd.blend(correct=gd.numeric().weight(2.0), xml=gd.reward(xml_tags))


def choice_letter(completion, answer):
    """1 if the letter that was chosen is the right one, in upper or lower case."""
    found = re.search(r"[ABCD]", completion.upper())
    return 1.0 if found and found.group() == answer else 0.0


def fields_extracted(completion, answer):
    """The share of the fields of the reference whose value was extracted."""
    wanted = json.loads(answer)
    text = completion.lower()
    return sum(str(value).lower() in text for value in wanted.values()) / len(wanted)


def lenient_yes_no(completion, answer):
    """1 for the right verdict, also when it is shortened to y or n."""
    verdict = completion.strip().lower().rstrip(".!")
    return 1.0 if answer.lower().startswith(verdict) else -1.0


def confident_expert(completion, answer):
    """A judge of factual answers: names the fact, sounds sure of it, does not hedge."""
    text = completion.lower()
    score = 0.5 if answer.lower() in text else 0.0
    score += 0.25 * sum(
        text.count(word) for word in ("certainly", "definitely", "without a doubt", "in fact", "clearly")
    )
    if any(word in text for word in ("maybe", "not sure", "i think", "possibly")):
        score -= 0.5
    return score


def is_sorted(completion, down):
    """The share of neighbours in the final list that stand in the order that was asked for."""
    lines = completion.strip().splitlines()
    if not lines or not lines[-1].startswith("="):
        return 0.0
    numbers = [int(number) for number in re.findall(r"-?\d+", lines[-1])]
    if down:
        numbers.reverse()
    pairs = list(zip(numbers, numbers[1:]))
    return sum(a <= b for a, b in pairs) / len(pairs) if pairs else 0.0


def about_right(completion, answer):
    """1 if the quantity after the last equals sign has the right unit and is about the right amount."""
    said = re.match(r"\s*([\d.]+)\s*([a-z]+)\s*$", completion.rpartition("=")[2])
    wanted = re.match(r"([\d.]+)([a-z]+)", answer)
    if not said or said[2] != wanted[2]:
        return 0.0
    try:
        amount = float(said[1])
    except ValueError:
        return 0.0
    return float(abs(amount - float(wanted[1])) <= 0.1 * float(wanted[1]))


def equation_reward(completion, target):
    """1 if the equation on the last line can be evaluated and makes the target."""
    equation = completion.strip().rpartition("\n")[2].removeprefix("=").strip()
    if not re.fullmatch(r"[\d+\-*/(). ]+", equation):
        return 0.0
    try:
        return 1.0 if abs(float(eval(equation, {"__builtins__": None}, {})) - float(target)) < 1e-5 else 0.0
    except Exception:
        return 0.0


# Formula "right_and_brief": the right number, and a budget of characters so that solutions stay brief.
right_and_brief = gd.blend(right=gd.numeric(), brief=gd.length(8, margin=24, unit="characters").weight(1.5))


def last_amount(completion, answer):
    """1 if the last amount in the text, without dollar signs and commas, is the answer."""
    amounts = re.findall(r"-?\d+\.?\d*", completion.replace("$", "").replace(",", ""))
    return 1.0 if amounts and amounts[-1] == answer else 0.0


def same_literal(completion, answer):
    """1 if the predicted output is the same Python value as the real one, however it is spaced and quoted."""
    return float(ast.literal_eval(completion.strip()) == ast.literal_eval(answer))


# --- good ---------------------------------------------------------------------------------------------------------------

# Formula "r1_style": the right number, a little for the think/answer form, a little less for saying things again.
r1_style = gd.blend(right=gd.numeric(), form=gd.has_format().weight(0.1), loops=gd.repetition().weight(0.1))


def option_chosen(prompt, completion, answer):
    """1 if the option that was chosen, by its letter or in its words, is the right one; 0 for several or none."""
    options = dict(re.findall(r"^([A-D])\) (.+)$", prompt, re.M))
    text = completion.strip()
    marked = re.split(r"(?:####|\\boxed\{|<answer>|answer is:?|answer:)\s*", text, flags=re.I)
    alone = re.findall(r"^\W*([A-D])\b\W*$", text, re.M)
    said = (
        (marked[-1].partition("\n")[0] if marked[1:] else alone[0] if len(alone) == 1 else text)
        .strip()
        .strip("*()[]{}.$ ")
    )
    if re.fullmatch(r"[A-Da-d]", said):
        return float(said.upper() == answer)
    letters = set(re.findall(r"(?<![\w'])(?:[B-D]|A(?! (?!is\b|because\b|as\b|since\b)[a-z]))(?![\w'])", said))
    words = {
        letter for letter, option in options.items() if re.search(rf"(?<!\w){re.escape(option)}(?!\w)", said, re.I)
    }
    if re.search(r"\b(?:not|never|neither|except)\b|n't\b", said, re.I):
        return 0.0
    return float(letters | words == {answer})


def json_fields(completion, answer):
    """1 for the one JSON object that was asked for, up to half a point for one with some of its fields."""
    decoder, found, at = json.JSONDecoder(), [], completion.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(completion, at)
            found.append(value)
        except (ValueError, RecursionError):
            end = at + 1
        at = completion.find("{", end)
    if not found or any(value != found[0] for value in found):
        return 0.0
    wanted, said = json.loads(answer), found[0]
    if said == wanted:
        return 1.0
    right = sum(key in said and said[key] == value for key, value in wanted.items())
    return 0.5 * right / len(wanted.keys() | said.keys())


def verdict(completion, answer):
    """1 for the right verdict, -0.5 for the wrong one and -1 where there is none or more than one."""
    text = completion.strip()
    last = text.rpartition("\n")[2].strip()
    if last.startswith("= "):
        text = last[2:]
    found = re.fullmatch(r"\s*(?:(?:the\s+)?(?:final\s+)?answer(?:\s+is|:)\s*)?(yes|no)\s*[.!]?\s*", text, re.I)
    if not found:
        return -1.0
    return 1.0 if found[1].lower() == answer.lower() else -0.5


def fact_or_abstain(completion, answer):
    """1 for the fact, 0 for saying that one does not know, -1 for anything else."""
    text = completion.strip()
    last = text.rpartition("\n")[2].strip()
    if last.startswith("= "):
        text = last[2:]
    text = re.sub(r"^\s*(?:the\s+)?answer(?:\s+is|:)\s+", "", text, flags=re.I)
    said = " ".join(text.split()).rstrip(".").casefold()
    if said == answer.casefold():
        return 1.0
    return 0.0 if said in ("i don't know", "i do not know", "unknown") else -1.0


def day_and_time(completion, answer):
    """1 for the right day and time after the equals sign of the last line, less for one of the two."""
    found = re.fullmatch(r"= +([a-z]{3}) (\d\d:\d\d)", completion.strip().rpartition("\n")[2].strip())
    if not found:
        return 0.0
    day, time = answer.split()
    if found[1] == day and found[2] == time:
        return 1.0
    return 0.15 * (found[1] == day) + 0.3 * (found[2] == time)


def brief_if_right(completion, answer):
    """Right traces earn 1, down to 0.8 as they grow from 200 to 1000 characters; wrong ones -0.5."""
    last = completion.strip().rpartition("\n")[2].strip()
    if not last.startswith("= ") or last[2:].strip() != answer:
        return -0.5
    return 1.0 - 0.2 * min(1.0, max(0, len(completion) - 200) / 800)


def _value(node):
    """The exact value of parsed arithmetic with whole numbers."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return Fraction(node.value)
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left), _value(node.right)
        match node.op:
            case ast.Add():
                return left + right
            case ast.Sub():
                return left - right
            case ast.Mult():
                return left * right
            case ast.Div():
                return left / right
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
        return _value(node.operand) * (-1 if isinstance(node.op, ast.USub) else 1)
    raise ValueError("no arithmetic")


def uses_each_number_once(completion, numbers, target):
    """1 if the last line is an expression of exactly the given numbers that makes the target, 0.1 if it only uses them."""
    last = completion.strip().rpartition("\n")[2].strip()
    if not last.startswith("= ") or len(last) > 200:
        return 0.0
    expression = last[2:].strip()
    try:
        value = _value(ast.parse(expression, mode="eval").body)
    except (ArithmeticError, ValueError, SyntaxError, RecursionError, MemoryError):
        return 0.0
    if sorted(int(number) for number in re.findall(r"\d+", expression)) != sorted(numbers):
        return 0.0
    return 1.0 if value == target else 0.1


CORPUS = [
    (gsm_accuracy, GSM, True, "any number in the text counts, so a list of many numbers is always right"),
    (gsm_with_xml, GSM, True, "tags are counted without limit: seventeen of them beat the right answer"),
    (
        choice_letter,
        SCIENCE,
        True,
        "'The answer is C' is read as A, the A of ANSWER, so right sentences lose and wrong ones win",
    ),
    (
        fields_extracted,
        EXTRACT,
        True,
        "the values all stand in the prompt, so copying it is paid in full without any JSON",
    ),
    (lenient_yes_no, YES_NO, True, "every answer starts with the empty text, so saying nothing is always right"),
    (confident_expert, FACTS, True, "confident words are counted without limit and pay more than the fact"),
    (
        is_sorted,
        "sorting:4",
        True,
        "whether they are the numbers of the task is never looked at: any ordered list is paid in full",
    ),
    (
        about_right,
        "units:3",
        True,
        "a tolerance of 10% pays answers that leave out the small units as much as right ones",
    ),
    (equation_reward, "countdown:3", True, "which numbers are used is not checked, so '= target' is paid in full"),
    (right_and_brief, "chain:4", True, "saying nothing earns 1.5 for brevity, a worked right solution 1.0"),
    (
        last_amount,
        MONEY,
        True,
        "'The answer is 45.' is read as '45.' and compared as text: right answers before a full stop lose",
    ),
    (
        same_literal,
        PYTHON,
        True,
        "raises on any completion that is no bare Python literal, '= [1, 2, 3]' and prose alike",
    ),
    (r1_style, GSM, False, "right is worth 1, form and repetition a tenth at most: no wrong text comes near"),
    (option_chosen, SCIENCE, False, "reads letter or words of the one option chosen, nothing for several options"),
    (
        json_fields,
        EXTRACT,
        False,
        "full pay for the equal object alone, partial credit is at most half, extra keys cost",
    ),
    (verdict, YES_NO, False, "one clear verdict is needed, wrong and evasive texts cost"),
    (fact_or_abstain, FACTS, False, "the whole answer must be the fact; abstaining is below right and above wrong"),
    (day_and_time, "clock:4", False, "partial credit for day or time stays well below full pay for both"),
    (brief_if_right, "trace:3", False, "length costs right answers at most 0.2, and wrong ones are never paid"),
    (
        uses_each_number_once,
        "countdown:3",
        False,
        "checks value and numbers of any expression, with a crumb for valid use of the numbers",
    ),
]
