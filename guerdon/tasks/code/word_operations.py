"""The operations on words and on letters.

Leaves out: those on any list (`number_operations.py`).
"""

from __future__ import annotations

from guerdon.tasks.code.function_operations import Operation
from guerdon.tasks.code.number_operations import BOUND, OTHER

VOWELS = "aeiou"
LETTERS = tuple("abcdefghilmnoprst")
LENGTHS = (2, 3, 4, 5)

OPERATIONS = (
    Operation("starting", "keep", "{x}[0] == {k}", lambda w, k: w.startswith(k),
        ("keep the words that start with {k}", "keep only words beginning with {k}"), ("words",), constants=LETTERS,
        slips=(("ending", OTHER), ("holding", OTHER))),
    Operation("ending", "keep", "{x}[-1] == {k}", lambda w, k: w.endswith(k),
        ("keep the words that end with {k}", "keep only words ending in {k}"), ("words",), constants=LETTERS,
        slips=(("starting", OTHER), ("holding", OTHER))),
    Operation("holding", "keep", "{k} in {x}", lambda w, k: w.count(k) > 0,
        ("keep the words with the letter {k}", "keep only words that have a letter {k}"), ("words",), constants=LETTERS,
        slips=(("without", OTHER), ("starting", OTHER))),
    Operation("without", "keep", "{k} not in {x}", lambda w, k: w.count(k) == 0,
        ("drop the words with the letter {k}", "keep only words without a letter {k}"), ("words",), constants=LETTERS, rarity=2,
        slips=(("holding", OTHER),)),
    Operation("longer", "keep", "len({x}) > {k}", lambda w, k: bool(w[k:]),
        ("keep the words longer than {k}", "keep only words of more than {k} letters"), ("words",), constants=LENGTHS,
        slips=(("no_shorter", BOUND), ("shorter", BOUND))),
    Operation("no_shorter", "keep", "len({x}) >= {k}", lambda w, k: bool(w[k - 1 :]),
        ("keep the words of at least {k} letters", "drop the words shorter than {k}"), ("words",), constants=LENGTHS,
        slips=(("longer", BOUND),)),
    Operation("shorter", "keep", "len({x}) < {k}", lambda w, k: not w[k - 1 :],
        ("keep the words shorter than {k}", "keep only words of less than {k} letters"), ("words",), constants=LENGTHS[1:],
        slips=(("longer", BOUND), ("no_shorter", BOUND))),
    Operation("vowels", "keep", "{x} in 'aeiou'", lambda c, k: c in set(VOWELS),
        ("keep the vowels", "keep only letters that are vowels"), ("letters",), slips=(("consonants", OTHER),)),
    Operation("consonants", "keep", "{x} not in 'aeiou'", lambda c, k: c not in set(VOWELS),
        ("drop the vowels", "keep only letters that are no vowels"), ("letters",), slips=(("vowels", OTHER),)),
    Operation("not_letter", "keep", "{x} != {k}", lambda c, k: c not in {k}, ("drop every letter {k}", "leave out each {k}"),
        ("letters",), constants=LETTERS, slips=(("only_letter", OTHER),)),
    Operation("only_letter", "keep", "{x} == {k}", lambda c, k: c in {k}, ("keep every letter {k}", "keep only the letter {k}"),
        ("letters",), constants=LETTERS, slips=(("not_letter", OTHER),)),
    Operation("before", "keep", "{x} < {k}", lambda c, k: ord(c) < ord(k), ("keep the letters before {k} in the alphabet",),
        ("letters",), constants=LETTERS[4:], rarity=2, slips=(("up_to", BOUND),)),
    Operation("up_to", "keep", "{x} <= {k}", lambda c, k: ord(c) <= ord(k), ("keep the letters up to {k} in the alphabet",),
        ("letters",), constants=LETTERS[4:], rarity=3, slips=(("before", BOUND),)),
    Operation("turned", "change", "{x}[::-1]", lambda w, k: "".join(reversed(w)),
        ("write each word backwards", "reverse each word"), ("words",), slips=(("upper", OTHER),)),
    Operation("initial", "change", "{x}[0]", lambda w, k: w[:1], ("take the first letter of each",
        "replace each word by its first letter"), ("words",), slips=(("final", OTHER),)),
    Operation("final", "change", "{x}[-1]", lambda w, k: w[len(w) - 1], ("take the last letter of each",
        "replace each word by its last letter"), ("words",), rarity=2, slips=(("initial", OTHER),)),
    Operation("upper", "change", "{x}.upper()", lambda w, k: "".join(chr(ord(c) & ~32) for c in w),
        ("write each in capitals", "make each upper case"), ("words", "letters"), slips=(("twice", OTHER),)),
    Operation("twice", "change", "2 * {x}", lambda w, k: w + w, ("write each twice", "double each {one}"), ("words", "letters"),
        rarity=2, slips=(("upper", OTHER),)),
    Operation("length", "change", "len({x})", lambda w, k: sum(1 for _ in w), ("take the length of each",
        "replace each word by its length"), ("words",), "numbers", slips=(("vowel_count", OTHER),)),
    Operation("vowel_count", "change", "sum(c in 'aeiou' for c in {x})", lambda w, k: sum(map(w.count, VOWELS)),
        ("take how many vowels each has", "count the vowels of each word"), ("words",), "numbers", rarity=2,
        slips=(("length", OTHER),)),
    Operation("place", "change", "ord({x}) - 96", lambda c, k: ord(c) - ord("a") + 1,
        ("replace each letter by its place in the alphabet, a is 1",), ("letters",), "numbers", rarity=3),
    Operation("by_length", "whole", "sorted({xs}, key=len)",
        lambda ws, k: [w for n in range(12) for w in ws if len(w) == n] + [w for w in ws if len(w) > 11],
        ("sort them by length", "put short words first"), ("words",), rarity=2, slips=(("sorted", OTHER),)),
    Operation("spaced", "give", "' '.join({xs})", lambda ws, k: "".join(" " + w for w in ws)[1:],
        ("join them with spaces", "give one text with spaces between"), ("words",), slips=(("joined", OTHER),)),
    Operation("joined", "give", "''.join({xs})", lambda ws, k: "".join(map(str, ws)),
        ("join them", "give them as one text", "write them together"), ("words", "letters"), slips=(("count", OTHER),),
        loop=("text = ''", ("text += {x}",), "return text")),
    Operation("longest", "give", "max({xs}, key=len, default='')",
        lambda ws, k: next((w for w in ws if all(len(v) <= len(w) for v in ws)), ""),
        ("give the longest, the first in a tie ('' if none)",), ("words",), slips=(("shortest", OTHER),),
        loop=("best = ''", ("if len({x}) > len(best):", " best = {x}"), "return best")),
    Operation("shortest", "give", "min({xs}, key=len, default='')",
        lambda ws, k: next((w for w in ws if all(len(v) >= len(w) for v in ws)), ""),
        ("give the shortest, the first in a tie ('' if none)",), ("words",), slips=(("longest", OTHER),)),
)  # fmt: skip
