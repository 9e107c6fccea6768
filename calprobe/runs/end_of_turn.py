"""Which of the tokens that a server or a log shows are the text of a reply, and which only end the turn."""

from __future__ import annotations

import re
from collections.abc import Sequence

from calprobe.runs.thoughts import END_OF_THOUGHT

_SPECIAL = re.compile(rb"<\S+>|\[\S+\]")  # a special token that is spelt out: <|im_end|>, </s>, [EOS]


def tokens_of_text(pieces: Sequence[bytes], content: str, thought_apart: bool) -> int:
    """How many of the first tokens are text; the rest ends the turn.

    llama.cpp shows the end token without a text, vLLM's server spelt out; others do not show it. A reply that ends with
    the same characters keeps them: what the content has is text. White space does not count, as servers strip it.

    Args:
        pieces: what each token writes, in UTF-8.
        content: of the message.
        thought_apart: whether a thought, which the tokens may begin with, is left out of the content.

    >>> tokens_of_text([b"Dead", b".", b""], "Dead.", False), tokens_of_text([b"Yes", b"</s>"], "Yes", False)
    (2, 1)
    >>> tokens_of_text([b"Write ", b"</s>"], "Write </s>", False)
    2
    """
    count = _count(pieces, content.encode("utf-8", "surrogatepass").strip(), thought_apart)
    while count and not pieces[count - 1]:
        count -= 1
    return count


def ends_turn(token: str) -> bool:
    """Whether a token behind a reply is none of its text: without a text, or special and no end of a thought.

    >>> ends_turn("</s>"), ends_turn("</think>"), ends_turn("Rome")
    (True, False, False)
    """
    written = token.strip().encode("utf-8", "surrogatepass")
    return not written or (bool(_SPECIAL.fullmatch(written)) and not END_OF_THOUGHT.search(token))


def _count(pieces: Sequence[bytes], content: bytes, thought_apart: bool) -> int:
    """As `tokens_of_text`, perhaps with tokens without a text at the end."""
    written = b"".join(pieces)
    for count in range(len(pieces), -1, -1) if content else ():  # without any, nothing says where the text ends
        shown = written.strip()
        if len(shown) < len(content):
            break
        if shown == content or (thought_apart and shown.endswith(content)):
            return count
        written = written[: len(written) - len(pieces[count - 1])] if count else b""
    # Half a character has no exact text, and a server may rewrite the content: only a special token is told then.
    is_special = pieces and _SPECIAL.fullmatch(pieces[-1].strip()) and not content.endswith(pieces[-1].strip())
    return len(pieces) - 1 if is_special else len(pieces)
