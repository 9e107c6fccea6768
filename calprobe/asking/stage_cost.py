"""What is still to be asked, stage by stage, in tokens as servers count them: each request with its whole prompt."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from calprobe.asking.request_identity import requests_of
from calprobe.backends.protocol import Decoding, Dialogue, FollowUp, Pending
from calprobe.messages import counted
from calprobe.scoring.cost import LETTERS_OF_A_TOKEN

if TYPE_CHECKING:
    from calprobe.backends.local.chat import PromptWriter


_NAMED = 3  # stages that a line names


class TokenCounter(Protocol):
    """Counts tokens of what is sent."""

    counts: bool  # with the model's own tokenizer; else it guesses

    def opening(self, dialogue: Dialogue) -> int:
        """Of all in front of the first reply."""

    def follow_up(self, dialogue: Dialogue, follow_up: FollowUp) -> int:
        """Of all between a reply and the reply to the follow-up."""

    def replaced(self, dialogue: Dialogue, answer: str) -> int:
        """Of an answer that stands in the place of the first reply."""


class Tokenizing:
    """Counts with a model's tokenizer and chat template, which may refuse turns: CalprobeError."""

    counts = True

    def __init__(self, writer: PromptWriter) -> None:
        self.writer = writer

    def opening(self, dialogue: Dialogue) -> int:
        """See `TokenCounter`."""
        return len(self.writer.opening(dialogue).ids)

    def follow_up(self, dialogue: Dialogue, follow_up: FollowUp) -> int:
        """See `TokenCounter`."""
        return len(self.writer.follow_up(dialogue, follow_up).ids)

    def replaced(self, dialogue: Dialogue, answer: str) -> int:
        """See `TokenCounter`."""
        return len(self.writer.replaced(dialogue, answer).ids)


class Guessing:
    """Guesses from the letters, without what a chat template adds: within a factor of two for English."""

    counts = False

    def opening(self, dialogue: Dialogue) -> int:
        """See `TokenCounter`."""
        return _guess(*(message.text for message in dialogue.messages))

    def follow_up(self, dialogue: Dialogue, follow_up: FollowUp) -> int:
        """See `TokenCounter`."""
        return _guess(follow_up.text)

    def replaced(self, dialogue: Dialogue, answer: str) -> int:
        """See `TokenCounter`."""
        return _guess(answer)


def _guess(*texts: str) -> int:
    return math.ceil(sum(map(len, texts)) / LETTERS_OF_A_TOKEN)


@dataclass(frozen=True, slots=True)
class StageCost:
    """What the requests of one stage take, if none fails. Tokens are those of all requests together."""

    stage: str  # see `calprobe.runs.stages`
    requests: int
    prompt_tokens: int  # in front of the replies, without replies that are still to come
    quoted_tokens: int  # of these, at most: each follow-up has the reply that it is behind in its prompt
    reply_tokens: int  # at most


@dataclass(frozen=True, slots=True)
class AskCost:
    """What is still to be asked."""

    stages: tuple[StageCost, ...]
    counted: bool  # with the model's tokenizer; else tokens are guessed from letters
    exact: bool  # every prompt was looked at; else some of them

    @property
    def requests(self) -> int:
        """Of all stages."""
        return sum(stage.requests for stage in self.stages)

    @property
    def tokens_in(self) -> int:
        """Tokens of all prompts, at most."""
        return sum(stage.prompt_tokens + stage.quoted_tokens for stage in self.stages)

    @property
    def tokens_out(self) -> int:
        """Tokens of all replies, at most."""
        return sum(stage.reply_tokens for stage in self.stages)

    def describe(self) -> str:
        """Requests by stage, and tokens, in a line."""
        is_one = len(self.stages) == 1
        stages = [stage.stage if is_one else f"{stage.requests:,} {stage.stage}" for stage in self.stages]
        more = [f"{len(stages) - _NAMED} other stages"] if len(stages) > _NAMED + 1 else stages[_NAMED:]
        by_stage = ", ".join([*stages[:_NAMED], *more])
        about = "" if self.counted and self.exact else "about "
        tokens = f"tokens: {about}{self.tokens_in:,} in, {self.tokens_out:,} out at most"
        return f"{counted(self.requests, 'request')} ({by_stage}); {tokens}"


def cost_of(pendings: Iterable[Pending], tokens: TokenCounter, *, every: int = 1) -> AskCost:
    """What the missing replies take. A stage's tokens are those of its requests that are looked at, scaled to all.

    Args:
        pendings: dialogues that lack replies.
        tokens: raises CalprobeError for prompts that a chat template refuses.
        every: look at the prompts of every so many dialogues, and at the first of each stage.
    """
    requests, looked_at = Counter[str](), dict[str, list[_RequestCost]]()
    for place, pending in enumerate(pendings):
        missing = Counter(
            stage for stage, sample in requests_of(pending.dialogue) if (stage, sample) not in pending.known
        )
        requests += missing
        if place % every == 0 or missing.keys() - looked_at.keys():
            for request in _request_costs(pending, tokens):
                looked_at.setdefault(request.stage, []).append(request)
    stages = (_stage_cost(stage, count, looked_at[stage]) for stage, count in requests.items())
    return AskCost(tuple(stages), tokens.counts, every == 1)


class _RequestCost(NamedTuple):
    stage: str
    prompt: int
    quoted: int
    reply: int


def _request_costs(pending: Pending, tokens: TokenCounter) -> Iterator[_RequestCost]:
    dialogue, known = pending.dialogue, pending.known
    opening, longest = tokens.opening(dialogue), _longest(dialogue.decoding)
    behind = {follow_up.stage: tokens.follow_up(dialogue, follow_up) for follow_up in dialogue.follow_ups}
    for sample in dialogue.samples:
        reply = known.get((dialogue.stage, sample))
        if reply is None:
            yield _RequestCost(dialogue.stage, opening, 0, longest)
        for follow_up in dialogue.follow_ups:
            if (follow_up.stage, sample) in known:
                continue
            if follow_up.instead is not None:
                quoted, answer = 0, tokens.replaced(dialogue, follow_up.instead)
            else:
                quoted, answer = (longest, 0) if reply is None else (0, reply.tokens_out)
            prompt = opening + answer + behind[follow_up.stage]
            yield _RequestCost(follow_up.stage, prompt, quoted, _longest(follow_up.decoding))


def _stage_cost(stage: str, count: int, looked_at: Sequence[_RequestCost]) -> StageCost:
    scale = count / len(looked_at)
    columns = list(zip(*(request[1:] for request in looked_at), strict=True))
    return StageCost(stage, count, *(round(scale * sum(column)) for column in columns))


def _longest(decoding: Decoding) -> int:
    return decoding.max_new_tokens + (decoding.think_tokens or 0)
