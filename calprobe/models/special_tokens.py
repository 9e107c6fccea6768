"""What a tokenizer puts around a statement, found by looking at what it does."""

from __future__ import annotations

import threading
from typing import Any

from calprobe.errors import CalprobeError, UsageError
from calprobe.statements.token_rows import SpecialTokens

_ANY_TEXT = "a"

# transformers keeps in the tokenizer whether special tokens in a text are split, and sets it before each call: two
# calls at once with different settings can give wrong ids without an error. So each call takes this lock.
TOKENIZER_LOCK = threading.Lock()


def special_tokens_of(tokenizer: Any) -> SpecialTokens:
    """The ids that `tokenizer` puts in front of and behind a text, either of them possibly none, and its mask token.

    They are those that it marks as special and that cover no text, on either side of the tokens of a short text.

    Raises UsageError if the tokenizer has no mask token: it does not belong to a masked model. Raises CalprobeError if
    it has neither a token for a plain letter nor one for what is unknown.
    """
    name = tokenizer.name_or_path or "this model"
    if tokenizer.mask_token_id is None:
        raise UsageError(
            f"the tokenizer of {name} has no mask token, without which nothing can be masked; set mask_token in its"
            " tokenizer_config.json"
        )
    with TOKENIZER_LOCK:
        encoded = tokenizer(_ANY_TEXT, return_offsets_mapping=True, return_special_tokens_mask=True)
    marks = zip(encoded["special_tokens_mask"], encoded["offset_mapping"], strict=True)
    text = [place for place, (special, (start, end)) in enumerate(marks) if not special or start < end]
    if not text:
        raise CalprobeError(
            f"the tokenizer of {name} gives no token for {_ANY_TEXT!r}, so what it puts around a text cannot be told;"
            " give it an unknown token (unk_token, in tokenizer.json too)"
        )
    ids = encoded["input_ids"]
    return SpecialTokens(tuple(ids[: text[0]]), tuple(ids[text[-1] + 1 :]), int(tokenizer.mask_token_id))
