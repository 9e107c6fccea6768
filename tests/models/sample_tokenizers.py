"""Small fast tokenizers of the kinds that real models use, built without training."""

from __future__ import annotations

import string
from typing import Any

from tiny_models import loaded
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from calprobe.models import LoadedModel

SPECIALS = ["<pad>", "<s>", "</s>", "<unk>", "<mask>"]
WORDS = ["Paris", "Rome", "capital", "the", "France", "of", "is"]


def byte_level(trim_offsets: bool = False, merged: bool = True) -> PreTrainedTokenizerFast:
    """As GPT-2: bytes as letters, a word's space inside its token and its span; no BOS put in by itself."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = SPECIALS + alphabet
    merges: list[tuple[str, str]] = []
    for word in [f"Ġ{word}" for word in WORDS] if merged else []:
        for end in range(1, len(word)):
            pair = (word[:end], word[end])
            if pair not in merges:
                merges.append(pair)
                tokens.append(word[: end + 1])
    tokenizer = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=trim_offsets)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>", mask_token="<mask>"
    )


def sentence_piece(prepend: str = "always") -> PreTrainedTokenizerFast:
    """As Llama 2 and Gemma: `▁` for spaces, bytes for unknown letters, BOS put in by itself, padding on the left."""
    pieces = [(special, 0.0) for special in SPECIALS]
    pieces += [(f"<0x{byte:02X}>", -20.0) for byte in range(256)]
    pieces += [(letter, -6.0) for letter in "▁" + string.ascii_letters + string.punctuation]
    pieces += [(f"▁{word}", -2.0) for word in WORDS]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=SPECIALS.index("<unk>"), byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=prepend)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme=prepend)
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        padding_side="left",
    )


def word_piece() -> PreTrainedTokenizerFast:
    """As BERT uncased: words and `##` pieces, accents stripped, [CLS] and [SEP] put around, spaces in no token."""
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = string.ascii_lowercase + string.digits
    tokens = specials + list(letters) + [f"##{letter}" for letter in letters] + list(string.punctuation)
    tokens += [word.lower() for word in WORDS]
    tokenizer = Tokenizer(models.WordPiece({token: i for i, token in enumerate(tokens)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        pad_token="[PAD]",
        unk_token="[UNK]",
    )


def deaf() -> PreTrainedTokenizerFast:
    """Knows the letter a only and has no unknown token: every other letter vanishes without a trace."""
    tokenizer = Tokenizer(models.BPE(vocab={"<s>": 0, "a": 1}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"\s+"), "removed")
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>")


def roberta() -> PreTrainedTokenizerFast:
    """As RoBERTa: the bytes of `byte_level`, spans without a word's space, `<s>` and `</s>` put around."""
    tokenizer = byte_level(trim_offsets=True)
    around = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)])
    tokenizer.backend_tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=True), around])
    tokenizer.cls_token, tokenizer.sep_token = "<s>", "</s>"
    return tokenizer


def xlm_roberta() -> PreTrainedTokenizerFast:
    """As XLM-R: the pieces of `sentence_piece`, words cut at spaces only, `<s>` and `</s>` put around."""
    tokenizer = sentence_piece()
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    tokenizer.cls_token, tokenizer.sep_token, tokenizer.mask_token = "<s>", "</s>", "<mask>"
    return tokenizer


def with_tokenizer(tokenizer: Any, **changes: Any) -> LoadedModel:
    """The tokenizer as that of a loaded model, masked if it has a CLS token; there is no network."""
    kind = "masked" if getattr(tokenizer, "cls_token", None) else "causal"
    known = {"tokenizer": tokenizer, "start_token_id": 1, "start_token": "<s>", "kind": kind, "max_positions": None}
    return loaded(None, **(known | changes))
