"""Rewards that know the answer: numbers done by hand, answers as models write them, near misses, and any text at all."""

from __future__ import annotations

import importlib.util
import json
import math
import random
import signal
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.core.part import fingerprint
from guerdon.core.schedule import linear
from guerdon.rewards.answers import (
    bleu,
    exact,
    json_schema,
    matches,
    maths,
    numeric,
    one_of,
    rouge_l,
    same_set,
    token_f1,
)
from guerdon.rewards.function import as_reward, reward
from guerdon.rewards.overlap import bleu_tokens, longest_common, rouge_tokens
from guerdon.rewards.reading import NOTHING, find_json, number

PROBLEMS = Path(__file__).parents[2].parent / "shared" / "data" / "gsm8k_train.jsonl"
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name"],
    "additionalProperties": False,
}
LATEX = st.text(alphabet="0123456789.,-−+/%$eE^{}()[]\\ \n#<>|\"'xab×_:", max_size=40)
TEXTS = st.one_of(
    st.text(max_size=80),
    LATEX,
    st.lists(
        st.sampled_from([r"\boxed{", "}", "####", "Answer:", r"\frac{1}{", "1,000", "-", "/", "^", "e9", "```"])
    ).map("".join),
)
EVERY = [
    exact(),
    exact(True, True, "<answer>"),
    one_of(),
    same_set(),
    same_set(ordered=True, partial=True, mark="Answer:"),
    numeric(),
    numeric(0.1, 0.1, percent="hundredth", fallback=False),
    matches(r"\d+", how="search"),
    json_schema(SCHEMA),
    token_f1(),
    bleu(),
    bleu(2, "floor", True),
    rouge_l(),
]


def needs_answer(part):
    return "answer" in as_reward(part).wants.names


# --- equal text ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "completion", "answer", "value"),
    [
        (exact(), " 42\n", "42", 1.0),
        (exact(), "42.", "42", 0.0),
        (exact(), "Paris", "paris", 0.0),
        (exact(casefold=True), "STRASSE", "straße", 1.0),
        (exact(), "New  York", "New York", 0.0),
        (exact(spaces=True), "New \n York", "New York", 1.0),
        (exact(), "", "42", 0.0),
        (exact(), "anything", "", None),
        (exact(), "", " ", None),
        (exact(mark="####"), "first #### 1, no: #### 2", "2", 1.0),
        (exact(mark="####"), "2", "2", 0.0),
        (exact(mark="<answer>"), "<Answer> 7 </answer> done", "7", 1.0),
        (exact(mark="<answer>"), "<answer>7", "7", 1.0),
        (exact(mark=r"\boxed"), r"\boxed{a{b}c} d", "a{b}c", 1.0),
        (exact(mark=r"\boxed"), r"\boxed{a{b", "a{b", 1.0),
        (one_of(), "NYC", "New York|NYC", 1.0),
        (one_of(), "New York|NYC", "New York|NYC", 0.0),
        (one_of(casefold=True, mark="Answer:"), "answer: nyc", "New York | NYC", 1.0),
        (one_of(separator=""), "a|b", "a|b", 1.0),
        (one_of(), "", "a||b", 0.0),
        (one_of(), "a", " | ", None),
    ],
)
def test_equal_text(part, completion, answer, value):
    assert part(completion, answer) == value


def test_a_task_may_list_its_answers():
    assert one_of()("b", "a", answers=["b", "c"]) == 1.0
    assert one_of()("a", "a", answers=["b", "c"]) == 0.0
    assert one_of()("3", answers=[3]) == 1.0


@pytest.mark.parametrize(
    ("part", "completion", "answer", "value"),
    [
        (same_set(), "c, a,b", "a, b, c", 1.0),
        (same_set(), "a, a, b", "a, b", 1.0),
        (same_set(), "a, b", "a, b, c", 0.0),
        (same_set(), "a, b, c, d", "a, b, c", 0.0),
        (same_set(), '["a b", "c"]', "c; a  b", 1.0),
        (same_set(), "- a\n* b\n• c", "{a, b, c}", 1.0),
        (same_set(), r"\{1, 2\}", "1, 2", 1.0),
        (same_set(), "-3, 2", "3, 2", 0.0),
        (same_set(), "", "a", 0.0),
        (same_set(), "a", "[]", None),
        (same_set(mark="Answer:"), "x, y. Answer: a, b", "a, b", 1.0),
        (same_set(mark="Answer:"), "a, b", "a, b", 0.0),
        (same_set(separator=r"\s+"), "a b", "b a", 1.0),
        (same_set(partial=True), "a, b, x", "a, b", 0.8),  # 2 * 2 / (3 + 2)
        (same_set(partial=True), "x", "a, b", 0.0),
        (same_set(ordered=True), "a, b", "a, b", 1.0),
        (same_set(ordered=True), "b, a", "a, b", 0.0),
        (same_set(ordered=True), "a, b, b", "a, b", 0.0),
        (same_set(ordered=True, partial=True), "a, x, c, d", "a, b, c", 0.5),  # 2 of the longer list's 4
    ],
)
def test_lists(part, completion, answer, value):
    assert part(completion, answer) == value


# --- numbers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("72", "72"),
        ("It is 72.", "72"),
        ("$1,080.50", "2161/2"),
        ("109,200,000", "109200000"),
        (r"1,\!080", "1080"),
        ("1{,}080", "1080"),
        ("1\u202f080", "1080"),
        ("1'000'000", "1000000"),
        ("-5", "-5"),
        ("−5", "-5"),
        ("–$5", "-5"),
        (r"-\$5", "-5"),
        ("+5", "5"),
        (".5", "1/2"),
        ("3/4", "3/4"),
        ("-3 / 4", "-3/4"),
        ("1 1/2", "3/2"),
        (r"\frac{3}{4}", "3/4"),
        (r"-\dfrac{ 3 }{4}", "-3/4"),
        (r"\frac{-3}{4}", "-3/4"),
        (r"2\tfrac{1}{2}", "5/2"),
        (r"\frac12", "1/2"),
        ("1e3", "1000"),
        ("2.5E-1", "1/4"),
        ("6.02 × 10^23", "602000000000000000000000"),
        (r"3 \times 10^{-4}", "3/10000"),
        ("3*10^2", "300"),
        ("2^{10}", "1024"),
        ("-2^2", "-4"),
        ("10^6", "1000000"),
        ("**42**", "42"),
        ("答案是42。", "42"),
        ("Rs.50", "50"),
        ("25%", "25"),
        (r"25\%", "25"),
    ],
)
def test_a_number_is_read(text, value):
    found = number(text, last=True)
    assert found is not None and str(found.value) == value


@pytest.mark.parametrize(
    "text", ["", "no", "CO2", "x_1", "cm^2", "x^{-2}", "1/0", "0^{-1}", "1e99999", "9" * 401, "½", r"\frac{1}{0}"]
)
def test_what_is_no_number(text):
    assert number(text) is None and number(text, last=True) is None


@pytest.mark.parametrize(
    ("completion", "answer"),
    [
        ("48/2 = 24 in May, 48+24 = 72.\n#### 72", "72"),
        ("#### 72 clips, 24 of them in May", "72"),
        ("The total is $1,080", "1080"),
        ("so 5 - 3 = 2", "2"),
        ("10-7=3", "3"),
        ("The area is 50 cm^2", "50"),
        ("It emits 50 g of CO2", "50"),
        (r"first \boxed{3}, then \boxed{4} since 3 < 4 < 5", "4"),
        ("Answer: 7 (I checked it 2 times)", "7"),
        ("**Answer:** 7", "7"),
        (r"\boxed{12}" + "\nAnswer: see above", "12"),
        ("x = -5", "-5"),
        ("0.50", "1/2"),
        ("75%", "75"),
        ("7", "The answer is 7"),
        ("12345678901234567890", "12345678901234567890"),
    ],
)
def test_right_numbers(completion, answer):
    assert numeric()(completion, answer) == 1.0


@pytest.mark.parametrize(
    ("completion", "answer"),
    [
        ("#### 73", "72"),
        ("72\n#### 73", "72"),
        ("72\n#### none", "72"),
        ("-5", "5"),
        ("5", "-5"),
        ("1.080", "1080"),
        ("1,08", "108"),
        ("0.333", "1/3"),
        ("12345678901234567891", "12345678901234567890"),
        ("10000000001", "10000000000"),
        ("75%", "0.75"),
        ("seven", "7"),
        ("", "0"),
        ("1/0", "1"),
        ("4/3", "3/4"),
        ("1e3", "1e4"),
    ],
)
def test_wrong_numbers(completion, answer):
    assert numeric()(completion, answer) == 0.0


def test_numbers_by_knob():
    assert numeric(absolute=0.3)("1.3", "1") == 1.0  # 0.3 is 3/10 here, and 1.3 - 1 is that exactly
    assert numeric(absolute=0.3)("1.31", "1") == 0.0
    assert numeric(relative=0.01)("101", "100") == 1.0 and numeric(relative=0.01)("99", "100") == 1.0
    assert numeric(relative=0.01)("101.01", "100") == 0.0 and numeric(relative=0.01)("-100", "100") == 0.0
    by_hundred = numeric(percent="hundredth")
    assert by_hundred("75%", "0.75") == 1.0 and by_hundred("75%", "75%") == 1.0 and by_hundred("75%", "75") == 0.0
    assert numeric(fallback=False)("it is 7", "7") == 0.0 and numeric(fallback=False)("#### 7", "7") == 1.0
    assert numeric(marks="=>")("7 => 8, 9", "8") == 1.0  # one mark need not be a tuple
    assert numeric(marks=())("#### 7, 8", "8") == 1.0
    assert numeric()("7", "") is None and numeric()("7", "unknown") is None


@pytest.mark.skipif(not PROBLEMS.exists(), reason="GSM8K is not here")
def test_every_gold_answer_of_gsm8k_is_right():
    part = numeric()
    for line in PROBLEMS.read_text().splitlines():
        solution = json.loads(line)["answer"]
        work, _, answer = solution.rpartition("####")
        assert part(solution, answer) == 1.0, solution
        assert part(solution, solution) == 1.0, solution
        off = str(int(answer.replace(",", "")) + 1)
        assert part(solution, off) == 0.0 and part(f"{work}#### {off}", answer) == 0.0, solution


@pytest.mark.parametrize(
    "piece", ["1", "1,", "1,000", "-", "1/", "1 ", "1e1", "^{1", r"\frac{", "1.1.", r"\boxed{", "10^1"]
)
def test_reading_a_number_takes_linear_time(piece):
    began = time.process_time()
    numeric()(piece * 20_000, "5")
    assert time.process_time() - began < 2.0  # a few hundredths; a quadratic reader takes minutes


# --- formulas -----------------------------------------------------------------------------------------------------

has_math_verify = pytest.mark.skipif(
    importlib.util.find_spec("math_verify") is None, reason="math-verify is not installed"
)


@has_math_verify
@pytest.mark.parametrize(
    ("completion", "answer", "value"),
    [
        (r"\boxed{\frac{2}{4}}", r"\frac{1}{2}", 1.0),
        (r"\boxed{0.5}", "1/2", 1.0),
        ("$x^2 + 2x + 1$", "(x+1)^2", 1.0),
        (r"\boxed{\{2, 1\}}", r"\{1,2\}", 1.0),
        (r"\boxed{(-\infty, 3)}", r"(-\infty, 3]", 0.0),
        (r"\boxed{\sqrt{8}}", r"$2\sqrt{2}$", 1.0),
        (r"\boxed{1,080}", "1080", 1.0),
        (r"\boxed{x+2}", "x+1", 0.0),
        (r"\boxed{-3}", "3", 0.0),
        ("no formula", "3", 0.0),
        ("", "3", 0.0),
        (r"\boxed{3}", "", None),
        (r"\boxed{3}", "$$", None),
    ],
)
def test_formulas(completion, answer, value):
    assert maths()(completion, answer) == value


@has_math_verify
def test_a_formula_that_takes_for_ever_times_out_and_leaves_no_alarm():
    handler = signal.getsignal(signal.SIGALRM)
    towers = as_reward(maths(seconds=0.5)).ask({"meta": {}, "completion": r"\boxed{10^{10^{10}}}", "answer": "7"})
    assert towers.reason is Reason.TIMED_OUT and math.isnan(towers.value)
    assert signal.getsignal(signal.SIGALRM) is handler and signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@has_math_verify
def test_formulas_are_compared_in_threads_too():
    found = []
    thread = threading.Thread(target=lambda: found.append(maths()(r"\boxed{\frac{2}{4}}", "0.5")))
    thread.start()
    thread.join()
    assert found == [1.0]


@has_math_verify
@settings(max_examples=40)
@given(st.one_of(st.text(max_size=30), LATEX.map(lambda text: f"${text[:12]}$")))
def test_formulas_never_raise(text):
    try:
        assert maths(seconds=2)(text, "7") in (0.0, 1.0)
        assert maths(seconds=2)("$7$", text) in (0.0, 1.0, None)
    except TimeoutError:
        pass  # drawn formulas such as 9^{9^9}


# --- patterns and JSON --------------------------------------------------------------------------------------------


def test_patterns():
    assert matches("a.b")("a\nb") == 1.0 and matches("a.b", dotall=False)("a\nb") == 0.0
    assert matches("yes")("Yes") == 0.0 and matches("yes", casefold=True)("Yes") == 1.0
    assert matches("b", how="search")("abc") == 1.0 and matches("b")("abc") == 0.0


@pytest.mark.parametrize(
    ("completion", "value"),
    [
        ('{"name": "Ada", "age": 36}', 1.0),
        ('Sure!\n```json\n{"name": "Ada"}\n```\nDone.', 1.0),
        ('```\n{"name": "Ada"}\n```', 1.0),
        ('See {this} [1]: {"name": "Ada"}', 0.0),  # the first JSON value is [1]
        ('See {this}: {"name": "Ada"} and [1]', 1.0),
        ('{"name": "Ada", "age": -1}', 0.0),
        ('{"name": "Ada", "born": 1815}', 0.0),
        ('{"name": "Ada",}', 0.0),
        ("{'name': 'Ada'}", 0.0),
        ('{"name": NaN}', 0.0),
        ('"Ada"', 0.0),
        ("Ada", 0.0),
        ("", 0.0),
        ("[" * 100_000, 0.0),
        ('{"name": ' * 5_000, 0.0),
        ('{"name": "Ada", "age": ' + "9" * 5_000 + "}", 0.0),
        ('{"name": "Ada", "age": 1e999}', 0.0),
    ],
)
def test_json_of_a_schema(completion, value):
    assert json_schema(SCHEMA)(completion) == value


def test_json_by_knob():
    text = 'Here: {"name": "Ada"}'
    assert json_schema(SCHEMA, alone=True)(text) == 0.0 and json_schema(SCHEMA, alone=True)(text[6:]) == 1.0
    assert json_schema()(text, schema=SCHEMA) == 1.0 and json_schema()(text) is None
    assert json_schema({"type": "array"})("null, then []") == 1.0 and json_schema(True)("null") == 1.0
    assert json_schema({"multipleOf": 0.1})("1" + "0" * 400) in (0.0, 1.0)
    assert find_json("null") is None and find_json("none") is NOTHING


def test_a_schema_that_refers_elsewhere_is_not_fetched():
    with pytest.raises(UserError, match="does not hold"):
        json_schema({"$ref": "https://example.com/schema.json"})("{}")
    inside = {"$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}, "$ref": "#/$defs/tree"}
    assert json_schema(inside)("[[], [[]]]") == 1.0 and json_schema(inside)("[[], [3]]") == 0.0
    assert json_schema(inside)("[" * 500 + "]" * 500) in (0.0, 1.0)


# --- shared words -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("completion", "answer", "value"),
    [
        ("The cat, sat!", "a cat sat", 1.0),
        ("the cat sat", "A cat sat down.", 0.8),  # 2 of 2 and 2 of 3
        ("cat cat", "cat", 2 / 3),
        ("dog", "cat", 0.0),
        ("", "cat", 0.0),
        ("an", "the", 1.0),  # nothing is left of either
        ("cat", "the", 0.0),
        ("theatre", "the", 0.0),
        ("cat", "", None),
    ],
)
def test_token_f1(completion, answer, value):
    found = token_f1()(completion, answer)
    assert found == value if value is None else found == pytest.approx(value)


def test_bleu_by_hand():
    wanted, said = "the cat sat on the mat", "the cat sat on a mat"
    # 1-grams 5/6, 2-grams 3/5, 3-grams 2/4, 4-grams 1/3; as long as the answer
    assert bleu()(said, wanted) == pytest.approx((5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25)
    assert bleu(2)(said, wanted) == pytest.approx((5 / 6 * 3 / 5) ** 0.5)
    # "the cat": one 1-gram pair and one 2-gram, each right; brevity exp(1 - 6/2)
    assert bleu()("the cat", wanted) == pytest.approx(math.exp(-2))
    # "cat the mat": 3/3, 1/2, then 3-grams 0 of 1, taken as half a match
    assert bleu()("cat the mat", wanted) == pytest.approx(math.exp(-1) * (1 * 1 / 2 * 0.5 / 1) ** (1 / 3))
    assert bleu(smooth="none")("cat the mat", wanted) == 0.0
    assert bleu()("dog", wanted) == 0.0 and bleu()("", wanted) == 0.0 and bleu()("x", "") is None
    assert bleu()(wanted, wanted) == 1.0 and bleu()(wanted.upper(), wanted) == 0.0
    assert bleu(casefold=True)(wanted.upper(), wanted) == 1.0


def test_rouge_l_by_hand():
    assert rouge_l()("police killed the gunman", "police kill the gunman") == pytest.approx(0.75)
    assert rouge_l()("the gunman police killed", "police kill the gunman") == pytest.approx(0.5)
    assert rouge_l()("", "a") == 0.0 and rouge_l()("a", "") is None and rouge_l()("猫", "猫") == 0.0


def sentences(seed, count=150):
    """Pairs of sentences that share words, with punctuation and numbers in them."""
    rng = random.Random(seed)
    words = [
        "the",
        "cat",
        "sat",
        "on",
        "a",
        "mat,",
        "3.5",
        "1,000",
        "well-known",
        "(so)",
        "it's",
        "&amp;",
        "end.",
        "É",
        "x-\ny",
        "2-3",
    ]
    return [
        (" ".join(rng.choices(words, k=rng.randint(1, 12))), " ".join(rng.choices(words, k=rng.randint(1, 12))))
        for _ in range(count)
    ]


@pytest.mark.parametrize("smooth", ["exp", "floor", "add-k", "none"])
def test_bleu_agrees_with_sacrebleu(smooth):
    sacre = pytest.importorskip("sacrebleu.metrics").BLEU(smooth_method=smooth, effective_order=True)
    for said, wanted in sentences(1):
        if smooth == "add-k" and len(bleu_tokens(said)) < 4:
            continue  # it takes orders above the length for fully right, which would pay for being short
        assert bleu(smooth=smooth)(said, wanted) == pytest.approx(sacre.sentence_score(said, [wanted]).score / 100)


@given(st.one_of(st.text(max_size=60), LATEX))
def test_tokens_agree_with_sacrebleu(text):
    tokenizer = pytest.importorskip("sacrebleu.tokenizers.tokenizer_13a").Tokenizer13a()
    assert bleu_tokens(text) == tokenizer(text.rstrip()).split()


def test_rouge_l_agrees_with_rouge_score():
    scorer = pytest.importorskip("rouge_score.rouge_scorer").RougeScorer(["rougeL"], use_stemmer=False)
    for said, wanted in sentences(2):
        assert rouge_l()(said, wanted) == pytest.approx(scorer.score(wanted, said)["rougeL"].fmeasure)


@given(st.text(max_size=60))
def test_tokens_agree_with_rouge_score(text):
    tokenize = pytest.importorskip("rouge_score.tokenize").tokenize
    assert rouge_tokens(text) == tokenize(text, None)


@given(st.text("abc", max_size=12), st.text("abc", max_size=12))
def test_the_longest_common_subsequence_is_that_of_the_table(a, b):
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1][j + 1] = table[i][j] + 1 if x == y else max(table[i][j + 1], table[i + 1][j])
    assert longest_common(a, b) == table[-1][-1]


# --- all of them --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", EVERY, ids=repr)
@given(TEXTS, TEXTS)
def test_any_text_has_a_score(part, completion, answer):
    given = {"completion": completion, **({"answer": answer} if needs_answer(part) else {})}
    found = part(**given)
    assert found is None or 0.0 <= found <= 1.0
    assert part(**given) == found


@pytest.mark.parametrize("part", [p for p in EVERY if needs_answer(p)], ids=repr)
def test_nothing_to_compare_with_is_not_applicable(part):
    assert part("7") is None and part("7", "") is None


@pytest.mark.parametrize("part", EVERY, ids=repr)
def test_each_is_a_reward_as_it_stands(part):
    sample = {"meta": {}, "completion": '{"name": "1"}', "answer": "1"}
    assert as_reward(part) is part and part.name == type(part).__name__
    assert part.ask(sample) == reward(part).ask(sample) and reward(part).name == part.name
    assert (part.weight(0.5) + part).explain(**sample).startswith("blend: ")
    assert fingerprint(part) != fingerprint(part.weight(0.5))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: matches("("), r"matches.pattern '\(' is no regular expression"),
        (lambda: matches(), "matches needs pattern"),
        (lambda: same_set(separator="["), "same_set.separator"),
        (lambda: numeric(absolute=-1), "numeric.absolute must be at least 0"),
        (lambda: numeric(absolute=math.inf), "numeric.absolute must be a finite number"),
        (lambda: numeric(relative=linear(0.0, 1.0)), "numeric.relative takes no schedule"),
        (lambda: numeric(percent="per cent"), "numeric.percent must be one of"),
        (lambda: numeric(marks=("####", "")), "numeric.marks holds texts to look for"),
        (lambda: json_schema({"type": "objekt"}), "is no JSON Schema"),
        (lambda: json_schema({"pattern": "("}), "is no JSON Schema"),
        (lambda: json_schema("object"), "a JSON schema is a dict"),
        (lambda: bleu(order=0), "bleu.order must be at least 1"),
        (lambda: exact(case=True), "unknown knob of exact"),
    ],
)
def test_bad_knobs_are_refused(make, message):
    with pytest.raises(UserError, match=message) as refused:
        make()
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("make", "extra"), [(maths, "maths"), (json_schema, "json")])
def test_a_missing_library_is_named_with_its_extra(monkeypatch, make, extra):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=rf"pip install 'guerdon\[{extra}\]'"):
        make()
