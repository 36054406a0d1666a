"""Programming problems for a corpus of rewards: functions to go on with, functions over lists, and functions to repair."""

from __future__ import annotations

import guerdon as gd

# name, arguments, what is asked, the body, and calls with what they give
TO_GO_ON = [
    (
        "count_vowels",
        "text: str",
        "Count the vowels in text, upper case or lower.",
        "    return sum(c in 'aeiou' for c in text.lower())\n",
        [("''", 0), ("'Audio'", 4), ("'rhythm'", 0), ("'BEE keeper'", 5)],
    ),
    (
        "digit_sum",
        "n: int",
        "The sum of the digits of n, whatever its sign.",
        "    return sum(int(d) for d in str(abs(n)))\n",
        [("0", 0), ("507", 12), ("-91", 10), ("1000", 1)],
    ),
    (
        "second_largest",
        "xs: list",
        "The second largest of the different numbers in xs, None if there is none.",
        "    rest = sorted(set(xs))\n    return rest[-2] if len(rest) > 1 else None\n",
        [("[]", None), ("[4, 4]", None), ("[4, 9, 9, 1]", 4), ("[-3, -8, 0]", -3)],
    ),
    (
        "is_balanced",
        "text: str",
        "Whether every round bracket in text is closed, and none before it is opened.",
        "    depth = 0\n    for c in text:\n        depth += (c == '(') - (c == ')')\n"
        "        if depth < 0:\n            return False\n    return depth == 0\n",
        [("''", True), ("'(a)(b)'", True), ("')('", False), ("'((x)'", False)],
    ),
    (
        "collatz_steps",
        "n: int",
        "How many steps of Collatz's rule lead from n to 1.",
        "    steps = 0\n    while n != 1:\n        n = n // 2 if n % 2 == 0 else 3 * n + 1\n"
        "        steps += 1\n    return steps\n",
        [("1", 0), ("2", 1), ("6", 8), ("7", 16)],
    ),
    (
        "caesar",
        "text: str, by: int",
        "Move every lower-case letter of text on by so many places, around from z to a. Leave the rest.",
        "    moved = lambda c: chr((ord(c) - 97 + by) % 26 + 97) if 'a' <= c <= 'z' else c\n"
        "    return ''.join(map(moved, text))\n",
        [("'xyz', 3", "abc"), ("'Hi all', 1", "Hj bmm"), ("'cab', -2", "ayz"), ("'', 5", "")],
    ),
    (
        "longest_run",
        "xs: list",
        "The length of the longest run of equal neighbours in xs.",
        "    best = run = 0\n    for at, x in enumerate(xs):\n        run = run + 1 if at and x == xs[at - 1] else 1\n"
        "        best = max(best, run)\n    return best\n",
        [("[]", 0), ("[1, 1, 2, 2, 2, 1]", 3), ("[5]", 1), ("[3, 1, 3, 1]", 1)],
    ),
    (
        "roman_value",
        "text: str",
        "The value of a Roman number made of I, V, X, L and C.",
        "    value = {'I': 1, 'V': 5, 'X': 10, 'L': 50, 'C': 100}\n    total = 0\n    for a, b in zip(text, text[1:] + ' '):\n"
        "        total += -value[a] if value.get(b, 0) > value[a] else value[a]\n    return total\n",
        [("'XIV'", 14), ("'III'", 3), ("'XC'", 90), ("'CLXVI'", 166)],
    ),
]

# name, what is asked, a right program, and calls with what they give
OVER_LISTS = [
    (
        "running_means",
        "Write running_means(xs): the mean of the first number, of the first two, and so on.",
        "def running_means(xs):\n    return [sum(xs[: n + 1]) / (n + 1) for n in range(len(xs))]",
        [([1, 2, 6], [1.0, 1.5, 3.0]), ([4], [4.0]), ([0, -2, 5, 1], [0.0, -1.0, 1.0, 1.0])],
    ),
    (
        "halves",
        "Write halves(xs): every number halved, as a decimal number.",
        "def halves(xs):\n    return [x / 2 for x in xs]",
        [([1, 2, 3], [0.5, 1.0, 1.5]), ([-7], [-3.5]), ([10, 0], [5.0, 0.0])],
    ),
    (
        "shares",
        "Write shares(xs): what share of the total each number is.",
        "def shares(xs):\n    whole = sum(xs)\n    return [x / whole for x in xs]",
        [([1, 3], [0.25, 0.75]), ([5], [1.0]), ([2, 2, 4], [0.25, 0.25, 0.5])],
    ),
    (
        "differences",
        "Write differences(xs): from each number to the next.",
        "def differences(xs):\n    return [b - a for a, b in zip(xs, xs[1:])]",
        [([1, 4, 2], [3, -2]), ([10, 10], [0]), ([0, 1, 3, 6], [1, 2, 3])],
    ),
    (
        "clipped",
        "Write clipped(xs): numbers below 0 become 0, those above 1 become 1.",
        "def clipped(xs):\n    return [min(1, max(0, x)) for x in xs]",
        [([-1, 0.5, 3], [0, 0.5, 1]), ([2], [1]), ([0.1, -0.1], [0.1, 0])],
    ),
    (
        "centred",
        "Write centred(xs): every number less the mean of all.",
        "def centred(xs):\n    mean = sum(xs) / len(xs)\n    return [x - mean for x in xs]",
        [([1, 3], [-1.0, 1.0]), ([7], [0.0]), ([0, 0, 6], [-2.0, -2.0, 4.0])],
    ),
    (
        "cumulated",
        "Write cumulated(xs): the sum up to each number.",
        "def cumulated(xs):\n    return [sum(xs[: n + 1]) for n in range(len(xs))]",
        [([1, 2, 3], [1, 3, 6]), ([5], [5]), ([2, -2, 4], [2, 0, 4])],
    ),
]

# a right program, what stands wrong in it and what should, and asserts
TO_REPAIR = [
    (
        "def binary_search(xs, wanted):\n    low, high = 0, len(xs) - 1\n    while low <= high:\n"
        "        middle = (low + high) // 2\n"
        "        if xs[middle] == wanted:\n            return middle\n        if xs[middle] < wanted:\n"
        "            low = middle + 1\n        else:\n            high = middle - 1\n    return -1\n",
        ("low <= high", "low < high"),
        [
            "assert binary_search([1, 3, 5], 5) == 2",
            "assert binary_search([4], 4) == 0",
            "assert binary_search([], 1) == -1",
        ],
    ),
    (
        "def merged(xs, ys):\n    result, i, j = [], 0, 0\n    while i < len(xs) and j < len(ys):\n        if xs[i] <= ys[j]:\n"
        "            result.append(xs[i])\n            i += 1\n        else:\n            result.append(ys[j])\n"
        "            j += 1\n"
        "    return result + xs[i:] + ys[j:]\n",
        ("xs[i:] + ys[j:]", "xs[i:]"),
        [
            "assert merged([1, 4], [2, 9]) == [1, 2, 4, 9]",
            "assert merged([], [3]) == [3]",
            "assert merged([5], []) == [5]",
        ],
    ),
    (
        "def is_prime(n):\n    if n < 2:\n        return False\n    divisor = 2\n    while divisor * divisor <= n:\n"
        "        if n % divisor == 0:\n            return False\n        divisor += 1\n    return True\n",
        ("divisor * divisor <= n", "divisor * divisor < n"),
        ["assert not is_prime(9)", "assert is_prime(2)", "assert not is_prime(25)", "assert is_prime(31)"],
    ),
    (
        "def word_counts(text):\n    counts = {}\n    for word in text.lower().split():\n        word = word.strip('.,;!?')\n"
        "        if word:\n            counts[word] = counts.get(word, 0) + 1\n    return counts\n",
        ("counts.get(word, 0) + 1", "counts.get(word, 1) + 1"),
        ["assert word_counts('a b a') == {'a': 2, 'b': 1}", "assert word_counts('No, no!') == {'no': 2}"],
    ),
    (
        "def gcd_of_all(numbers):\n    result = 0\n    for number in numbers:\n        a, b = result, abs(number)\n"
        "        while b:\n            a, b = b, a % b\n        result = a\n    return result\n",
        ("a, b = b, a % b", "a, b = b, a // b"),
        ["assert gcd_of_all([12, 18]) == 6", "assert gcd_of_all([-9, 6, 15]) == 3", "assert gcd_of_all([]) == 0"],
    ),
    (
        "def flattened(nested):\n    flat = []\n    for item in nested:\n        if isinstance(item, list):\n"
        "            flat.extend(flattened(item))\n        else:\n            flat.append(item)\n    return flat\n",
        ("flat.extend(flattened(item))", "flat.append(flattened(item))"),
        ["assert flattened([1, [2, [3]]]) == [1, 2, 3]", "assert flattened([[], [4]]) == [4]"],
    ),
    (
        "def to_binary(n):\n    if n == 0:\n        return '0'\n    digits = ''\n    while n > 0:\n"
        "        digits = str(n % 2) + digits\n        n = n // 2\n    return digits\n",
        ("str(n % 2) + digits", "digits + str(n % 2)"),
        ["assert to_binary(6) == '110'", "assert to_binary(0) == '0'", "assert to_binary(11) == '1011'"],
    ),
]


def going_on() -> gd.TaskSource:
    """Rows as HumanEval has them."""
    rows = []
    for name, arguments, asked, body, calls in TO_GO_ON:
        asserts = "".join(f"    assert candidate({given}) == {gives!r}\n" for given, gives in calls)
        prompt = f'def {name}({arguments}):\n    """{asked}"""\n'
        rows.append(
            {
                "prompt": prompt,
                "canonical_solution": body,
                "entry_point": name,
                "test": f"def check(candidate):\n{asserts}",
            }
        )
    return gd.tasks.programs(rows)


def over_lists() -> gd.TaskSource:
    """Rows as MBPP has them, with their calls as data besides."""
    rows = []
    for name, text, code, calls in OVER_LISTS:
        tests = [f"assert [round(x, 6) for x in {name}({given})] == {gives}" for given, gives in calls]
        rows.append(
            {"text": text, "code": code, "test_list": tests, "function": name, "calls": [list(each) for each in calls]}
        )
    return gd.tasks.programs(rows)


def to_repair() -> gd.TaskSource:
    """A program with one wrong line to put right; the tests are not shown."""
    rows = []
    for code, (right, wrong), tests in TO_REPAIR:
        broken = code.replace(right, wrong)
        asked = f"This function has a bug. Write it again without the bug.\n```python\n{broken}```\n"
        rows.append({"text": asked, "code": code, "test_list": tests, "broken": broken})
    return gd.tasks.programs(rows, template="{{ text }}")
