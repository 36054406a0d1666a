"""Programming problems with unit tests, in the form of MBPP's rows and of HumanEval's, for rewards to be paid on."""

from __future__ import annotations


def mbpp(text: str, code: str, *tests: str) -> dict:
    """A row as MBPP has it."""
    return {"text": text, "code": code, "test_list": [f"assert {test}" for test in tests], "test_setup_code": ""}


def humaneval(head: str, says: str, body: str, *tests: str) -> dict:
    """A row as HumanEval has it."""
    name = head.partition("(")[0]
    lines = "\n".join(f"    assert candidate{test}" for test in tests)
    return {
        "prompt": f'def {head}:\n    """{says}"""\n',
        "canonical_solution": f"    {body}\n",
        "test": f"def check(candidate):\n{lines}\n",
        "entry_point": name,
    }


MBPP = [
    mbpp(
        "Write a function to count the vowels of a word.",
        "def count_vowels(word):\n    return sum(1 for c in word if c in 'aeiou')",
        "count_vowels('orchard') == 2",
        "count_vowels('sky') == 0",
        "count_vowels('queue') == 4",
    ),
    mbpp(
        "Write a function to find the second largest number of a list of different numbers.",
        "def second_largest(xs):\n    return sorted(xs)[-2]",
        "second_largest([4, 9, 7]) == 7",
        "second_largest([1, 2]) == 1",
        "second_largest([-5, -1, -9, -3]) == -3",
    ),
    mbpp(
        "Write a function to keep every k-th element of a list, beginning with the first.",
        "def every_kth(xs, k):\n    return xs[::k]",
        "every_kth([1, 2, 3, 4, 5], 2) == [1, 3, 5]",
        "every_kth([7, 8], 3) == [7]",
        "every_kth([], 4) == []",
    ),
    mbpp(
        "Write a function to tell whether a number is the sum of two squares of whole numbers.",
        "def two_squares(n):\n    return any(a * a + b * b == n for a in range(n + 1) for b in range(a + 1))",
        "two_squares(25) == True",
        "two_squares(7) == False",
        "two_squares(2) == True",
    ),
    mbpp(
        "Write a function to add up the digits of a number that is not negative.",
        "def digit_sum(n):\n    total = 0\n    while n > 0:\n        total += n % 10\n        n //= 10\n    return total",
        "digit_sum(493) == 16",
        "digit_sum(0) == 0",
        "digit_sum(1000) == 1",
    ),
    mbpp(
        "Write a function to turn the words of a sentence around and keep their order.",
        "def turned_words(text):\n    return ' '.join([word[::-1] for word in text.split(' ')])",
        "turned_words('abc de') == 'cba ed'",
        "turned_words('x') == 'x'",
        "turned_words('on top of it') == 'no pot fo ti'",
    ),
    mbpp(
        "Write a function to give the running maxima of a list.",
        "def running_maxima(xs):\n    return [max(xs[: i + 1]) for i in range(len(xs))]",
        "running_maxima([3, 1, 4, 1, 5]) == [3, 3, 4, 4, 5]",
        "running_maxima([2]) == [2]",
        "running_maxima([-4, -6, -1]) == [-4, -4, -1]",
    ),
    mbpp(
        "Write a function to find the greatest common divisor of two positive numbers.",
        "def common_divisor(a, b):\n    while b:\n        a, b = b, a % b\n    return a",
        "common_divisor(12, 18) == 6",
        "common_divisor(7, 5) == 1",
        "common_divisor(100, 75) == 25",
    ),
]

HUMANEVAL = [
    humaneval(
        "below_zero(moves: list) -> bool",
        "Whether an account that begins with nothing ever falls below zero.",
        "return any(sum(moves[: i + 1]) < 0 for i in range(len(moves)))",
        "([1, 2, -4, 5]) == True",
        "([1, 2, 3]) == False",
        "([]) == False",
        "([3, -3, 1]) == False",
    ),
    humaneval(
        "longest_word(words: list) -> str",
        "The longest word, the first of several; an empty text for an empty list.",
        "return max(words, key=len) if words else ''",
        "(['a', 'bbb', 'ccc']) == 'bbb'",
        "([]) == ''",
        "(['four', 'six']) == 'four'",
    ),
    humaneval(
        "without_repeats(xs: list) -> list",
        "The numbers that are in the list once alone, in their order.",
        "return [x for x in xs if xs.count(x) == 1]",
        "([1, 2, 3, 2, 4]) == [1, 3, 4]",
        "([5, 5]) == []",
        "([]) == []",
        "([9, 8]) == [9, 8]",
    ),
    humaneval(
        "is_palindrome(text: str) -> bool",
        "Whether a text reads the same from both ends, capital letters or not.",
        "return text.lower() == text.lower()[::-1]",
        "('Anna') == True",
        "('anne') == False",
        "('') == True",
    ),
    humaneval(
        "triangular(n: int) -> list",
        "The first n triangular numbers.",
        "return [k * (k + 1) // 2 for k in range(1, n + 1)]",
        "(4) == [1, 3, 6, 10]",
        "(0) == []",
        "(1) == [1]",
    ),
    humaneval(
        "count_upper(text: str) -> int",
        "How many capital letters stand at even places, counted from 0.",
        "return sum(1 for c in text[::2] if c.isupper())",
        "('AbCd') == 2",
        "('aBcD') == 0",
        "('') == 0",
        "('XYZ') == 2",
    ),
    humaneval(
        "clamp_all(xs: list, low: int, high: int) -> list",
        "Every number, moved to the nearest one between low and high.",
        "return [min(max(x, low), high) for x in xs]",
        "([1, 5, 9], 3, 7) == [3, 5, 7]",
        "([], 0, 1) == []",
        "([-2, 2], -1, 1) == [-1, 1]",
    ),
    humaneval(
        "collatz_steps(n: int) -> int",
        "How often a positive number is halved, or tripled plus one, until it is 1.",
        "return 0 if n == 1 else 1 + collatz_steps(n // 2 if n % 2 == 0 else 3 * n + 1)",
        "(1) == 0",
        "(6) == 8",
        "(8) == 3",
    ),
]
