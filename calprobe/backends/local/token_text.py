"""Text to token ids at the beginning of a prompt, inside a conversation, and with special tokens or without."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import Any

from calprobe.models import LoadedModel
from calprobe.models.tokenizers import TOKENIZER_LOCK

Ids = tuple[int, ...]

# Private-use character that goes into special tokens in a user's text, so that they are known for text afterwards.
_MARK = "\ue001"
# Text in front of a piece, so that the tokenizer reads it as the middle of a text; the first one serves whose tokens
# stay as they are: "a" and "Answer" could become one word, "." and a newline one token.
_ANCHORS = ("a", "1", ".", "\n")


class TokenText:
    """A model's tokenizer, as prompts need it."""

    def __init__(self, model: LoadedModel) -> None:
        self._tokenizer: Any = model.tokenizer
        self._start_token_id = model.start_token_id
        self._alone: dict[int, str] = {}
        self._anchor: Ids | None = None
        self._special = sorted(set(self._tokenizer.all_special_tokens), key=len, reverse=True)
        self._marked = re.compile("|".join(re.escape(_with_mark(token)) for token in self._special))

    def raw(self, text: str) -> Ids:
        """A text from its beginning: one start token, then its tokens; what looks like a special token is text."""
        return self._start_token_id, *self._without_start(self._ids(text, as_text=True))

    def inner(self, text: str) -> Ids:
        """A text that goes on inside another; what looks like a special token is text."""
        return tuple(self._inside(text, as_text=True))

    def chat(self, text: str) -> Ids:
        """What a chat template has rendered, of messages that went through `as_text`: from its beginning."""
        ids = self._pieces(text, beginning=True)
        start = self._start_token_id
        return tuple(ids[1:] if ids[:2] == [start, start] else ids)

    def inner_chat(self, text: str) -> Ids:
        """As `chat`, for what the template has rendered inside a conversation."""
        return tuple(self._pieces(text, beginning=False))

    def as_text(self, message: str) -> str:
        """A message in which nothing is a special token any more: `<s>` in a question is three characters."""
        for token in self._special:
            message = message.replace(token, _with_mark(token))
        return message

    def plain(self, text: str) -> str:
        """The text without what `as_text` put in."""
        return text.replace(_MARK, "")

    def decoded(self, ids: tuple[int, ...], with_special: bool = False) -> str:
        """The text of tokens, special ones left out or not."""
        with TOKENIZER_LOCK:
            text: str = self._tokenizer.decode(
                list(ids), skip_special_tokens=not with_special, clean_up_tokenization_spaces=False
            )
        return text

    def alone(self, token: int) -> str:
        """The text of one token as it stands inside a text, with its blank in front; empty of a special token."""
        if token not in self._alone:
            if self._anchor is None:
                self._anchor = self.inner(_ANCHORS[0])
            before = self.decoded(self._anchor)
            joined = self.decoded((*self._anchor, token))
            self._alone[token] = joined[len(before) :] if joined.startswith(before) else self.decoded((token,))
        return self._alone[token]

    def thought(self, ids: Ids, end: str, is_open: bool) -> int:
        """How many tokens of a reply are of its thought, which ends in the marker `end`, or has no end."""
        if is_open:
            return len(ids)
        return bisect_left(range(len(ids)), True, key=lambda n: end in self.decoded(ids[:n], with_special=True))

    def unmarked(self, text: str) -> str:
        """The text without special tokens, for one that was decoded with them."""
        for token in self._special:
            text = text.replace(token, "")
        return text

    def _pieces(self, text: str, beginning: bool) -> list[int]:
        ids: list[int] = []
        end = 0
        for match in [*self._marked.finditer(text), None]:
            before = text[end : match.start() if match else len(text)]
            if before:
                first = beginning and not end
                ids += self._ids(before, as_text=False) if first else self._inside(before, as_text=False)
            if match:
                ids += self._inside(self.plain(match.group()), as_text=True)
                end = match.end()
        return ids

    def _inside(self, text: str, as_text: bool) -> list[int]:
        """Tokens of a text that stands behind another, which some tokenizers tell by a space in front."""
        for anchor in _ANCHORS:
            alone, joined = (self._without_start(self._ids(t, as_text)) for t in (anchor, anchor + text))
            if joined[: len(alone)] == alone:
                return joined[len(alone) :]
        return self._without_start(self._ids(text, as_text))

    def _without_start(self, ids: list[int]) -> list[int]:
        # Some tokenizers put the start token in front in any case.
        return ids[1:] if ids[:1] == [self._start_token_id] else ids

    def _ids(self, text: str, as_text: bool) -> list[int]:
        with TOKENIZER_LOCK:
            encoded = self._tokenizer(text, add_special_tokens=False, split_special_tokens=as_text, verbose=False)
        ids: list[int] = encoded["input_ids"]
        return ids


def _with_mark(token: str) -> str:
    return token[:1] + _MARK + token[1:]
