"""The one token that stands in front of every statement and is never scored."""

from __future__ import annotations

from typing import Any

from calprobe.errors import UsageError
from calprobe.words import ModelKind

_END_OF_TEXT = "<|endoftext|>"  # GPT-2's name for it, kept by many families that set neither BOS nor EOS


def start_token_of(tokenizer: Any, kind: ModelKind, name: str) -> tuple[int, str]:
    """Id and text of the start token: BOS, else EOS, else `<|endoftext|>`; CLS before these for a masked model.

    Raises UsageError for a tokenizer with none of them: without a start token the first token has no score.
    """
    candidates = [tokenizer.bos_token, tokenizer.eos_token]
    if kind == "masked":
        candidates.insert(0, tokenizer.cls_token)
    if _END_OF_TEXT in tokenizer.get_vocab():
        candidates.append(_END_OF_TEXT)
    for token in candidates:
        if token is not None:
            return int(tokenizer.convert_tokens_to_ids(token)), str(token)
    raise UsageError(
        f"{name}: its tokenizer has no BOS, EOS or {_END_OF_TEXT} token to start a statement with;"
        " set bos_token in its tokenizer_config.json"
    )
