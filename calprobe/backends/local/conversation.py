"""A sample of a dialogue while it is asked, and the one reply of it that is being generated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from calprobe.backends.local.chat import Prompt, PromptWriter
from calprobe.backends.local.choosing import Draw
from calprobe.backends.local.closed import ReplyTree
from calprobe.backends.local.label_tokens import Ids, LabelForms
from calprobe.backends.local.noise import sample_key
from calprobe.backends.protocol import Dialogue
from calprobe.backends.request import Request
from calprobe.runs.alternatives import Alternatives
from calprobe.runs.replies import Finish, LabelScores, Reply
from calprobe.runs.thoughts import Split, split_thought


@dataclass(frozen=True, slots=True)
class Behind:
    """What a follow-up adds to a conversation."""

    prompt: Prompt  # between the reply and the follow-up's own reply
    instead: Prompt | None = None  # in the place of the reply; None: the reply
    tree: ReplyTree | None = None  # of the replies that are scored


@dataclass(slots=True, eq=False)
class Conversation:
    """One sample of a dialogue: its replies so far, and its tokens with the first of them."""

    dialogue: Dialogue
    sample: int
    prompt: Prompt
    behind: tuple[Behind, ...]  # of each follow-up
    replies: dict[str, Reply] = field(default_factory=dict)  # by stage, those known before among them
    ids: list[int] = field(default_factory=list)
    n_thought: int = 0  # tokens of the first reply at most on top of its budget: the thought's, and what ends it
    row: Ids = ()  # tokens that the model has forwarded in its row of the cache, from the first on

    @property
    def is_answered(self) -> bool:
        """Whether the first reply is there."""
        return self.dialogue.stage in self.replies

    @property
    def is_done(self) -> bool:
        """Whether all replies are there."""
        return self.is_answered and all(follow_up.stage in self.replies for follow_up in self.dialogue.follow_ups)

    @property
    def draws(self) -> bool:
        """Whether a token of its replies is drawn with noise."""
        decodings = (self.dialogue.decoding, *(follow_up.decoding for follow_up in self.dialogue.follow_ups))
        return any(decoding.temperature > 0 for decoding in decodings)

    @property
    def n_tokens(self) -> int:
        """At most, of prompt and reply."""
        reply = self.replies.get(self.dialogue.stage)
        most = self.dialogue.decoding.max_new_tokens + self.n_thought
        n_reply = most if reply is None else len(reply.token_ids or ())
        return len(self.prompt.ids) + n_reply

    def begin(self) -> Ids:
        """Forget what was forwarded; the tokens that come first: the prompt, with the reply if it is there."""
        reply = self.replies.get(self.dialogue.stage)
        self.ids = [*self.prompt.ids, *((reply.token_ids or ()) if reply else ())]
        self.row = ()
        return tuple(self.ids)

    @property
    def due(self) -> list[list[int]]:
        """The follow-ups without a reply, by number: a list for each answer that they are behind, first the reply.

        Those that share a beginning are side by side.
        """
        groups: dict[str | None, list[int]] = {None: []}
        for number, follow_up in enumerate(self.dialogue.follow_ups):
            if follow_up.stage not in self.replies:
                groups.setdefault(follow_up.instead, []).append(number)
        return [sorted(group, key=lambda number: self.behind[number].prompt.ids) for group in groups.values() if group]


@dataclass(slots=True, eq=False)
class Turn:
    """A reply while it is generated."""

    conversation: Conversation
    request: Request
    prompt: Prompt  # all in front of the reply
    forms: LabelForms | None  # None: no label scores are asked for
    tree: ReplyTree | None  # None: no replies of a closed set are scored
    budget: int  # tokens at most
    ending: Ids = ()  # tokens that end a thought which has reached its budget; empty: none does
    key: int = 0  # of its noise
    due: list[int] = field(default_factory=list)  # of `ending`, those that are still to be written
    is_past_thought: bool = False  # of a turn with `ending`: its thought is over, or it has none
    first_place: int = 0  # of the first token behind the thought that is no white space
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    firsts: list[Sequence[float]] = field(default_factory=list)  # log-probabilities of `forms.firsts` at each position
    ranks: Sequence[int] = ()  # [labels], at the first position, see `LabelScores.ranks`
    # At each position, that of the end token too: tokens with their log-probabilities, and the softmax's entropy.
    alternatives: list[tuple[Sequence[int], Sequence[float], float]] = field(default_factory=list)
    closed: LabelScores | None = None  # of the tree, once they are known
    finish: Finish | None = None  # None: goes on

    def __post_init__(self) -> None:
        request, dialogue = self.request, self.request.dialogue
        names = (dialogue.set, dialogue.question, dialogue.variant, dialogue.paraphrase, request.stage)
        self.key = sample_key(request.decoding.seed, *names, request.sample)

    @property
    def draw(self) -> Draw:
        """How the next token is chosen."""
        return Draw(self.request.decoding, self.key, len(self.tokens))

    @property
    def n_forwarded(self) -> int:
        """Tokens that the model forwards before the last one that was chosen."""
        return len(self.prompt.ids) + len(self.tokens) - 1

    def take(self, token: int, logprob: float, firsts: Sequence[float], ends: bool) -> None:
        """Take up a token that was chosen; `ends`: it is an end token, which is not part of the reply.

        NaN ends the reply with an error, and nothing is scored behind it.
        """
        if math.isnan(logprob):
            self.finish, self.forms, self.tree = "error", None, None
            return
        if self.forms is not None:
            self.firsts.append(firsts)
        if ends:
            self.finish = "stop"
            return
        self.tokens.append(token)
        self.logprobs.append(logprob)
        if len(self.tokens) >= self.budget:
            self.finish = "length"

    @property
    def places(self) -> list[int]:
        """Where label scores are given."""
        if self.forms is None:
            return []
        places = self.forms.places(self.tokens)
        return places if not self.first_place else sorted({place for place in places if place} | {self.first_place})

    @property
    def rests(self) -> list[tuple[int, Ids]]:
        """Places, and sequences of labels of which tokens behind the first are to be scored there."""
        return [(place, sequence) for place in self.places for sequence in (self.forms.long if self.forms else ())]

    def reply(self, writer: PromptWriter, rest: dict[tuple[int, Ids], float]) -> Reply:
        """The finished reply; `rest` as in `LabelForms.scores`."""
        ids = tuple(self.tokens)
        split = self._split(writer, ids)
        has_thought = split.reasoning is not None and writer.markers is not None
        thought = writer.tokens.thought(ids, writer.markers.end, split.is_open) if has_thought and writer.markers else 0
        places = self.places
        firsts = [self.firsts[place] for place in places]
        return Reply(
            **self.request.identity(),
            text=split.text,
            finish=self.finish or "length",
            prompt=self.prompt.text,
            prompt_ids=self.prompt.ids,
            token_ids=ids,
            logprobs=tuple(self.logprobs),
            reasoning=split.reasoning,
            reasoning_is_open=split.is_open,
            label_scores=self.closed
            if self.forms is None
            else self._placed(self.forms.scores(places, firsts, rest), split, writer),
            tokens_in=len(self.prompt.ids),
            tokens_out=len(ids) + (self.finish == "stop"),
            thought_tokens=thought,
            alternatives=self._alternatives(writer, thought) if self.request.alternatives else None,
        )

    def _alternatives(self, writer: PromptWriter, thought: int) -> Alternatives:
        positions = self.alternatives[thought : len(self.tokens)]
        text = writer.tokens.alone
        return Alternatives.of(
            [[(text(t), t, value) for t, value in zip(tokens, values, strict=True)] for tokens, values, _ in positions],
            [entropy for *_, entropy in positions],
            complete=True,
        )

    def _placed(self, scores: LabelScores, split: Split, writer: PromptWriter) -> LabelScores:
        """The scores with where their tokens stand in the reply, and the ranks of labels at the first position."""
        places = scores.positions.tolist()
        ranks = np.full(scores.logprobs.shape, -1, np.int64)
        ranks[[place == 0 for place in places]] = self.ranks
        starts = None
        if split.reasoning is None:
            starts = np.array([len(writer.tokens.decoded(tuple(self.tokens[:place]))) for place in places], np.int64)
        return replace(scores, starts=starts, ranks=ranks)

    def _split(self, writer: PromptWriter, ids: Ids) -> Split:
        if writer.markers is not None and not self.conversation.dialogue.raw:
            opened = writer.opens_thought(self.prompt.text)
            split = split_thought(writer.tokens.decoded(ids, with_special=True), writer.markers, opened)
            if split.reasoning is not None:
                return Split(writer.tokens.unmarked(split.reasoning), writer.tokens.unmarked(split.text), split.is_open)
        return Split(None, writer.tokens.decoded(ids), False)
