"""What a tokenizer puts around a text, and whether it gives the words of its own vocabulary."""

from __future__ import annotations

import threading
from typing import Any

from calprobe.errors import CalprobeError, UsageError
from calprobe.planning.token_rows import SpecialTokens
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
            f"the tokenizer of {name} gives no token for {_ANY_TEXT!r}, so what it puts around a text is unknown;"
            " give it an unknown token (unk_token, in tokenizer.json too)"
        )
    ids = encoded["input_ids"]
    return SpecialTokens(tuple(ids[: text[0]]), tuple(ids[text[-1] + 1 :]), int(tokenizer.mask_token_id))


_MARKS = ("▁", "Ġ")  # how SentencePiece and byte-level vocabularies write the space before a word
_SHORTEST = 3  # letters; shorter words are often pieces of other ones
_LOOKED_AT = 2000  # places of the vocabulary; 100 to 650 of them hold such words in those of 30,000 and more
_TRIED, _FEWEST = 200, 20  # words; fewer than 20 say nothing
_KEPT = 0.9  # right ones keep all (SmolLM2, Gemma 3), Gemma 3's under the wrong algorithm one word of 646


def words_in_pieces(tokenizer: Any) -> str | None:
    """What becomes of the vocabulary's own words if more than a tenth of those tried come out in pieces, else None.

    Up to 200 pieces of the vocabulary that are a space and 3 or more ASCII letters ("▁The", "Ġthe"), evenly spread,
    are encoded as words after another word: each must be its one token. Takes a few hundredths of a second. None
    too for a vocabulary with fewer than 20 such words.
    """
    words = _sample(tokenizer)
    if len(words) < _FEWEST:
        return None
    encoded = tokenizer([f"a {word}" for word in words], add_special_tokens=False).input_ids
    cut = {word: ids[1:] for (word, own), ids in zip(words.items(), encoded, strict=True) if ids[-1] != own}
    if len(words) - len(cut) >= _KEPT * len(words):
        return None
    word, pieces = next(iter(cut.items()))
    return f"{len(cut)} of {len(words)} words come out in pieces, {word} as {tokenizer.convert_ids_to_tokens(pieces)}"


def _sample(tokenizer: Any) -> dict[str, int]:
    """Words that are one token, evenly spread over the vocabulary, with the id of each."""
    size = tokenizer.backend_tokenizer.get_vocab_size(with_added_tokens=False)
    ids = list(range(0, size, max(1, size // _LOOKED_AT)))
    words = {
        piece[1:]: place
        for place, piece in zip(ids, tokenizer.convert_ids_to_tokens(ids), strict=True)
        if piece and piece.startswith(_MARKS) and _is_word(piece[1:])
    }
    spread = list(words)[:: max(1, len(words) // _TRIED)][:_TRIED]
    return {word: words[word] for word in spread}


def _is_word(text: str) -> bool:
    return len(text) >= _SHORTEST and text.isascii() and text.isalpha()
