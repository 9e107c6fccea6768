"""The vocabulary of the tiny chat models: labels of `mini` and stretches of calprobe's prompts are a token each.

So a prompt is some twenty tokens, and a choice is answered by attention to one of them: the option that the model would
name. All other text falls into bytes. Blanks belong to the stretches around a label, so that a label is the same token
at the start of a line, inside a sentence and as a reply.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

PAD, START, END, SYSTEM, USER, ASSISTANT = "<pad>", "<s>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"
CHAT_SPECIAL = (PAD, START, END, SYSTEM, USER, ASSISTANT)
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
LETTERS = "ABCDEFGH"
_IN_WORD = r"(?![\p{L}\p{N}])"  # behind the last letter of a phrase
_NUMBER = r"(?:0\.[0-9]|1\.0)(?![0-9%.])|(?:[1-9]?0|100)%|10(?![0-9.])"  # on a scale of confidence


def make_chat_tokenizer(phrases: Iterable[str]) -> Tokenizer:
    """A tokenizer with a token for each phrase, each number of a scale, the label in front of an option, each byte.

    Of phrases that begin alike the longest one is taken.
    """
    options = {f"\n{letter}{mark} " for letter in LETTERS for mark in ".)"}
    several = sorted({*phrases, *options, ", ", "\n\n"}, key=lambda each: (-len(each), each))
    whole = "|".join(re.sub(r"([^\w\s])", r"\\\1", each) + _IN_WORD * each[-1].isalnum() for each in several)
    cut = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(f"{whole}|{_NUMBER}|[\\s\\S]"), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    numbers = [form for tenth in range(11) for form in (f"{tenth / 10:.1f}", f"{tenth * 10}%", str(tenth))]
    pieces = {"".join(piece for piece, _ in cut.pre_tokenize_str(each)) for each in (*several, *numbers)}
    entries = [*CHAT_SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    entries += sorted(pieces - set(entries))
    tokenizer = Tokenizer(models.BPE({entry: number for number, entry in enumerate(entries)}, [], ignore_merges=True))
    tokenizer.add_special_tokens(list(CHAT_SPECIAL))
    tokenizer.pre_tokenizer = cut
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer
