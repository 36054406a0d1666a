"""A small tokenizer for a small model: one token a digit, one a line break, words learned from a text.

It is lossless for any text: ASCII characters are tokens themselves,
other characters fall back to the bytes of their UTF-8.
Byte-pair merges (arXiv:1508.07909) stay inside words, so a word keeps its tokens whatever stands around it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from guerdon.core.errors import UserError

PAD, USER, ASSISTANT, END = SPECIALS = ("<|pad|>", "<|user|>", "<|assistant|>", "<|end|>")
ASCII = tuple(map(chr, range(128)))
# the bytes of UTF-8 outside ASCII; 0xC0, 0xC1 and those above 0xF4 never occur
BYTES = tuple(f"<0x{b:02X}>" for b in range(0x80, 0xF5) if b not in (0xC0, 0xC1))
FEWEST = len(SPECIALS) + len(ASCII) + len(BYTES)
# a word or a sign with the space before it; spaces, digits, line breaks and what is not ASCII one by one
PIECES = r" ?[A-Za-z]+| ?[!-/:-@\[-`{-~]|[\s\S]"
LONGEST = 16  # characters of a token


def train_tokenizer(texts: Iterable[str], vocab_size: int = 512) -> Tokenizer:
    """Learn at most `vocab_size` tokens (at most 1024). Equal texts give an equal tokenizer."""
    if not FEWEST <= vocab_size <= 1024:
        raise UserError(f"vocab_size must be from {FEWEST} (every character and byte) to 1024, not {vocab_size}")
    trial = Tokenizer(models.BPE())
    trial.pre_tokenizer = _pieces()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size - len(SPECIALS) - len(BYTES),
        initial_alphabet=list(ASCII),
        limit_alphabet=len(ASCII),
        max_token_length=LONGEST,
        show_progress=False,
    )
    trial.train_from_iterator(_ascii_lines(texts), trainer)
    merges = [tuple(pair) for pair in json.loads(trial.to_str())["model"]["merges"]]
    names = (*SPECIALS, *ASCII, *BYTES, *(a + b for a, b in merges))
    vocab = {name: number for number, name in enumerate(dict.fromkeys(names))}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges, byte_fallback=True))
    tokenizer.pre_tokenizer = _pieces()
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in SPECIALS])
    return tokenizer


def _pieces() -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Split(Regex(PIECES), behavior="isolated")


def _ascii_lines(texts: Iterable[str]) -> Iterator[str]:
    """What merges are learned from: all the characters of the alphabet, and no others."""
    for text in texts:
        yield text.encode("ascii", "ignore").decode()
