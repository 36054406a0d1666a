"""A language model of a Llama shape, 135 M unless told, with random weights, as a Hugging Face folder that both arms load.

`python -m bench.random_model DIR`. Its language is words w0, w1, ... parted by spaces. Left out: any meaning.
"""

from __future__ import annotations

import argparse

import torch
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from bench.configs import SEED, SHAPES
from bench.problems import vocabulary
from guerdon.models.huggingface import CHAT_TEMPLATE
from guerdon.models.tokenizer import ASSISTANT, END, PAD, SPECIALS, USER


def write(folder: str, size: str = "135M") -> None:
    shape: dict[str, int] = {"tie_word_embeddings": True, **SHAPES[size]}
    words = vocabulary(shape["vocab_size"])
    config = LlamaConfig(**shape, bos_token_id=None, eos_token_id=words[END], pad_token_id=words[PAD])
    torch.manual_seed(SEED)
    with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
        LlamaForCausalLM._from_config(config, dtype=torch.bfloat16).save_pretrained(folder)
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in SPECIALS])
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END,
        pad_token=PAD,
        additional_special_tokens=[USER, ASSISTANT],
        chat_template=CHAT_TEMPLATE,
    ).save_pretrained(folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--size", choices=SHAPES, default="135M")
    asked = parser.parse_args()
    write(asked.folder, asked.size)
