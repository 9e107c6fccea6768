"""Does a tokenizer give the words of its own vocabulary? One that was built wrongly cuts them up, and says nothing."""

from __future__ import annotations

from typing import Any

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
    """Whole words, evenly spread over the vocabulary, with the id of each."""
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
