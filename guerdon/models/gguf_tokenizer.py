"""The tokenizer of a GGUF file, built from its metadata: byte-level BPE as GPT-2's, or SentencePiece's BPE as Gemma's.

The file names how text is cut before merging (`tokenizer.ggml.pre`) and leaves the rest to the reader;
the rules here are those of the tokenizer.json of the models it names.
Leaves out: other kinds (WordPiece, unigram), which are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from guerdon.core.errors import UserError
from guerdon.models.chat import Chat, Format
from guerdon.models.config import DecoderConfig

LONGEST = 1024  # characters of a token
CONTROL, USER_DEFINED = 3, 4  # kinds of tokens
SPACE = "▁"  # what SentencePiece writes for a space

LLAMA3_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2_SPLIT = LLAMA3_SPLIT.replace(r"\p{N}{1,3}", r"\p{N}")
SPLITS = {  # tokenizer.ggml.pre: the pattern words are cut with; None is GPT-2's own
    "default": None,
    "gpt-2": None,
    "smollm": None,
    "llama3": LLAMA3_SPLIT,
    "llama-v3": LLAMA3_SPLIT,
    "llama-bpe": LLAMA3_SPLIT,
    "qwen2": QWEN2_SPLIT,
    "deepseek-r1-qwen": QWEN2_SPLIT,
}
DIGITS = ("smollm",)  # every digit stands alone
WHOLE_WORDS = ("llama3", "llama-v3", "llama-bpe")  # a word that is a token is not merged together; texts begin with bos
COMPOSED = ("qwen2", "deepseek-r1-qwen")  # characters are composed first (NFC)


def chat_from(metadata: Mapping[str, Any], config: DecoderConfig, where: str) -> Chat:
    """The conversation format of a file with these metadata."""
    tokens = metadata.get("tokenizer.ggml.tokens")
    if not isinstance(tokens, list):
        raise UserError(f"{where} has no tokenizer.ggml.tokens: a file without its tokenizer is not supported")
    if not all(isinstance(token, str) and len(token) <= LONGEST for token in tokens):
        raise UserError(f"{where}: its tokens must be texts of at most {LONGEST} characters")
    if len(tokens) > config.vocab:
        raise UserError(f"{where} has {len(tokens)} tokens, the model only {config.vocab}: they do not fit")
    kind, pre = metadata.get("tokenizer.ggml.model"), metadata.get("tokenizer.ggml.pre", "default")
    if kind == "gpt2":
        tokenizer = _byte_level(tokens, metadata.get("tokenizer.ggml.merges") or [], pre, where)
    elif kind == "llama":
        tokenizer = _sentencepiece(metadata, tokens)
    else:
        raise UserError(f"{where}: tokenizers of type {kind!r} are not supported; 'gpt2' and 'llama' are")
    _add_tokens(tokenizer, tokens, metadata.get("tokenizer.ggml.token_type") or [])
    numbers = {
        "bos_token": metadata.get("tokenizer.ggml.bos_token_id"),
        "eos_token": metadata.get("tokenizer.ggml.eos_token_id"),
        "unk_token": metadata.get("tokenizer.ggml.unknown_token_id"),
        "pad_token": metadata.get("tokenizer.ggml.padding_token_id"),
    }
    ends = [
        n for n in dict.fromkeys((numbers["eos_token"], metadata.get("tokenizer.ggml.eot_token_id"))) if n is not None
    ]
    for number in (*ends, *(n for n in numbers.values() if n is not None)):
        if not isinstance(number, int) or not 0 <= number < config.vocab:
            raise UserError(f"{where}: token {number!a} is named, and the model has {config.vocab}")
    names = {key: tokens[n] for key, n in numbers.items() if n is not None and n < len(tokens)}
    tokenizer.add_special_tokens([AddedToken(name, normalized=False, special=True) for name in names.values()])
    usually = kind == "llama" or pre in WHOLE_WORDS
    starts = "bos_token" in names and bool(metadata.get("tokenizer.ggml.add_bos_token", usually))
    if starts:
        bos = names["bos_token"]
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{bos}:0 $A:0", pair=f"{bos}:0 $A:0 $B:0", special_tokens=[(bos, numbers["bos_token"])]
        )
    template = metadata.get("tokenizer.chat_template")
    return Chat(tokenizer, Format(template, names, (), tuple(ends), starts))


def _byte_level(tokens: Sequence[str], merges: Sequence[str], pre: str, where: str) -> Tokenizer:
    if pre not in SPLITS:
        raise UserError(f"{where}: tokenizer.ggml.pre {pre!r} is not supported; {', '.join(map(repr, SPLITS))} are")
    pairs = [(left, right) for left, right in (merge.split(" ", 1) for merge in merges)]
    vocab = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=pairs, ignore_merges=pre in WHOLE_WORDS))
    split = SPLITS[pre]
    cuts: list[Any] = [pre_tokenizers.Digits(individual_digits=True)] if pre in DIGITS else []
    if split is not None:
        cuts.append(pre_tokenizers.Split(Regex(split), behavior="isolated"))
    cuts.append(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=split is None))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(cuts)
    if pre in COMPOSED:
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _sentencepiece(metadata: Mapping[str, Any], tokens: list[str]) -> Tokenizer:
    """Spaces are a letter; what no token covers falls back to the bytes of its UTF-8."""
    is_gemma = str(metadata.get("general.architecture")).startswith("gemma")
    pieces = [SPACE * len(t) if t and not t.strip(" ") else t for t in tokens]  # files hold runs of spaces as such
    vocab = {token: number for number, token in enumerate(pieces)}
    scores = metadata.get("tokenizer.ggml.scores") or [0.0] * len(pieces)
    if is_gemma:  # whose scores do not follow the order that its merges were learned in; its numbers do
        scores = [-float(number) for number in range(len(pieces))]
    unknown = metadata.get("tokenizer.ggml.unknown_token_id")
    tokenizer = Tokenizer(
        models.BPE(
            vocab=vocab,
            merges=list(_merges(vocab, scores)),
            byte_fallback=True,
            fuse_unk=True,
            unk_token=None if unknown is None else pieces[unknown],
        )
    )
    prefix = bool(metadata.get("tokenizer.ggml.add_space_prefix", not is_gemma))
    spaces: list[Any] = [normalizers.Prepend(SPACE)] if prefix else []
    tokenizer.normalizer = normalizers.Sequence([*spaces, normalizers.Replace(" ", SPACE)])
    steps: list[Any] = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    if prefix:
        steps.append(decoders.Strip(content=" ", left=1))
    tokenizer.decoder = decoders.Sequence(steps)
    return tokenizer


def _merges(vocab: Mapping[str, int], scores: Sequence[float]) -> Iterator[tuple[str, str]]:
    """The file lists none: every way to put a token together from two, the best tokens first."""
    for token in sorted(vocab, key=lambda token: -scores[vocab[token]]):
        halves = [(token[:i], token[i:]) for i in range(1, len(token))]
        pairs = [(left, right) for left, right in halves if left in vocab and right in vocab]
        yield from sorted(pairs, key=lambda pair: (vocab[pair[0]], vocab[pair[1]]))


def _add_tokens(tokenizer: Tokenizer, tokens: Sequence[str], kinds: Sequence[int]) -> None:
    """Control tokens are special; those a user defined are found whole in any text, and are text."""
    for wanted, special in ((CONTROL, True), (USER_DEFINED, False)):
        named = [token for token, kind in zip(tokens, kinds, strict=False) if kind == wanted]
        known = [token for token in named if tokenizer.token_to_id(token) is not None]
        added = [AddedToken(token, normalized=False, special=special) for token in known]
        (tokenizer.add_special_tokens if special else tokenizer.add_tokens)(added)
